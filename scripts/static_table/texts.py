"""The texts that the table learns from: sentences, and what is made of them by rule. Needs no torch.

Each sentence stands for itself and, now and then, for a passage it begins, a question that it may answer, a search that
it should be found by, and a line with a date and perhaps a speaker before it. Everything follows from the sentences and
a seed.
"""

from __future__ import annotations

import lzma
import random
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.embed.wordpiece import WordPiece

SENTENCE, PASSAGE, QUESTION, SEARCH, DATED = range(5)
MOST_TOKENS = 150  # of one text; the rest of it is not read
PORTION = 5_000  # sentences that are worked on together, with chance of their own

Run = list[str]
"""Sentences that follow each other in what they were taken from."""

_GRAMMAR = frozenset(
    "the a an is are was were be been of to in for on with and or not this that it as by from at you i we he she they "
    "if can will when which has have do does your its use used no all any into".split()
)
_STOP = _GRAMMAR.union(
    "being them had did my our their his her than then there here so such but each more most may might must should "
    "would could also only just about over under out up these those what who how why where whose very one some other "
    "between both same using".split()
)

# How sentences were cut out of the paragraphs of packages, and which were kept.
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")
_TYPESET = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\xa0": " ", "\xad": None})
_FOREIGN = re.compile(r"[^\x00-\x7f‘’“”–—à-ÿ]")
_NOT_PROSE = re.compile(
    r"[{}\\|]|={2,}|-{4,}|_{3,}|\.{4,}|[<>]{2}|https?://|www\.|\$\(|->|::|;\s*$|\)\s*\(|&&|^[a-z_]+\(|Copyright|"
    r"\(c\) \d|all rights reserved|WARRANT|licensed under|@\w+\.\w+|^\W*\d[\d.]*\W*$|\ufffd",
    re.I,
)

# Which sentences answer which questions.
_BE = re.compile(r"^((?:\S+ ){0,6}?\S+) (is|are|was|were) (.{6,})$")
_TO = re.compile(r"^To (\w[^,]{8,80}), ")
_CAN = re.compile(r"\b(?:you|users|we|one|it) (?:can|could|may|must|should|need to|have to) (\w[^.;:,()]{8,80})", re.I)
_BECAUSE = re.compile(r"^(.{12,140}?),? (?:because|since|so that|due to|as a result of) ")
_WHEN = re.compile(r"\b(when|if|after|before|while|unless) ([^,.;:()]{10,80})", re.I)
_DOES = re.compile(r"^((?:The|A|An|This|Our|Your|Its) (?:\S+ ){1,3}?)(\w+s) ((?:\S+ ?){2,12})")
_DONE = {
    "Added": "add", "Fixed": "fix", "Removed": "remove", "Made": "make", "Changed": "change", "Moved": "move",
    "Updated": "update", "Renamed": "rename", "Dropped": "drop", "Enabled": "enable", "Disabled": "disable",
    "Improved": "improve", "Implemented": "implement", "Replaced": "replace",
}  # fmt: skip
_DO = re.compile(
    r"^(Add|Fix|Remove|Use|Make|Allow|Support|Avoid|Update|Change|Move|Rename|Drop|Enable|Disable|Set|Run|Install|Check|"
    r"Create|Build|Handle|Improve|Implement|Ensure|Prevent|Replace|Return|Show|Skip|Store|Write|Read|Delete|Configure|"
    rf"Restore|Start|Stop|Print|Increase|Reduce|Correct|Convert|Document|Introduce|{'|'.join(_DONE)})\s+(.{{6,120}})$"
)
_NOUNS = re.compile(r"\b(?:the|a|an|this|our|your|my|his|her|their|each|every|no) ((?:[\w'-]+ ){0,3}[\w'-]+)", re.I)
_ABOUT = (
    "What is the {}?", "Where is the {}?", "How does the {} work?", "Why was the {} changed?", "Which {} do we use?",
    "What happened to the {}?", "Who is responsible for the {}?", "When did the {} change?", "Tell me about the {}.",
    "Is there a problem with the {}?", "How many of the {} are there?", "What do we know about the {}?",
    "What did you say about the {}?", "How do I find the {}?", "{}?", "What about the {}?",
)  # fmt: skip
_NAMES = (
    "Anna Ben Carla David Elena Frank Grace Henry Ines James Kate Liam Maria Noah Olivia Paul Rita Sam Tina Victor "
    "Wendy Yusuf Zoe Marek Priya Chen Amir Sofia Lucas Emma"
).split()
_MONTHS = "January February March April May June July August September October November December".split()


class Text(NamedTuple):
    """What the table reads, what the teacher is given for it, and the number of the sentence it was made of."""

    read: str
    taught: str
    kind: int
    source: int


@dataclass(frozen=True)
class Tokens:
    """Texts as the numbers of their pieces, one text after the other, and how many each has."""

    flat: NDArray[np.uint16]
    lengths: NDArray[np.int32]


@dataclass(frozen=True)
class Corpus:
    """All texts: as the table reads them, as the teacher does, and for each its kind, its sentence and its run."""

    read: Tokens
    taught: Tokens
    kinds: NDArray[np.int8]
    sources: NDArray[np.int32]
    runs: NDArray[np.int32]


def cut(paragraph: str) -> list[str]:
    """The sentences of a paragraph that are worth learning from."""
    parts = _END.split(paragraph.strip().translate(_TYPESET))
    return [sentence for part in parts if _is_prose(sentence := part.strip().lstrip("*-> ").strip())]


def _is_prose(sentence: str) -> bool:
    count = sentence.count(" ") + 1
    if not 4 <= count <= 60 or len(sentence) > 460 or _NOT_PROSE.search(sentence) or _FOREIGN.search(sentence):
        return False
    words = _WORD.findall(sentence)
    grammar = sum(word.lower() in _GRAMMAR for word in words)
    return (
        len(words) >= max(4, 0.7 * count)
        and sum(map(len, words)) >= 0.72 * len(sentence.replace(" ", ""))
        and (grammar > 0 or count < 6)
        and (grammar > 1 or count < 14)
        and sum(len(word) == 1 for word in words) <= 0.25 * len(words)
        and sum(word.isupper() and len(word) > 1 for word in words) <= 0.4 * len(words)
        and all(len(word) <= 30 for word in sentence.split())
    )


def read_runs(path: Path) -> list[Run]:
    """The sentences of an xz file: one a line, with an empty line between those that do not follow each other."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [run.split("\n") for run in file.read().strip("\n").split("\n\n") if run]


def question(sentence: str, dice: random.Random) -> str | None:
    """A question that the sentence may answer, where a rule makes one."""
    plain = sentence.rstrip(" .!:;")
    low = plain if plain[1:2].isupper() else plain[:1].lower() + plain[1:]
    made = [*_of_what_is_done(plain), *_of_what_is_so(plain, low)]
    nouns = [each for each in _NOUNS.findall(plain) if len(each) > 5]
    if nouns:
        made.append(dice.choice(_ABOUT).format(_shortened(dice.choice(nouns))))
    return dice.choice(made) if made else None


def _of_what_is_done(plain: str) -> Iterator[str]:
    if found := _DO.match(plain):
        verb, rest = _DONE.get(found[1], found[1].lower()), found[2]
        yield from (f"How do I {verb} {rest}?", f"Did we {verb} {rest}?", f"Why {verb} {rest}?")
        if verb == "fix":
            yield from (f"What was wrong with {rest}?", f"What is the cause of {rest}?")
    if found := _TO.match(plain):
        yield from (f"How do I {found[1]}?", f"How to {found[1]}", f"What do I need to {found[1]}?")
    if found := _CAN.search(plain):
        yield from (f"How can I {found[1]}?", f"How do I {found[1]}?", f"Can I {found[1]}?")


def _of_what_is_so(plain: str, low: str) -> Iterator[str]:
    if found := _BECAUSE.match(low):
        yield from (f"Why {found[1]}?", f"What is the reason that {found[1]}?")
    if found := _WHEN.search(low):
        moment = f"{found[1].lower()} {found[2]}"
        yield from (f"What happens {moment}?", f"What should I do {moment}?")
    if found := _BE.match(low):
        subject, verb, rest = found.groups()
        yield from (f"What {verb} {subject}?", f"{verb.capitalize()} {subject} {rest}?", f"What {verb} {rest}?")
        if any(place in rest for place in (" in ", " at ", " on ")):
            yield f"Where {verb} {subject}?"
    if found := _DOES.match(plain):
        yield f"What does {found[1].strip().lower()} {found[2][:-1]}?"
        yield f"What {found[2]} {found[3].strip()}?"


def _shortened(nouns: str) -> str:
    """Up to the first word that is none of its own, and at least one word."""
    words = nouns.split()
    for place, word in enumerate(words[1:], 1):
        if word.lower() in _STOP:
            return " ".join(words[:place])
    return nouns


def search(sentence: str, dice: random.Random) -> str | None:
    """A few words of the sentence, as one might type them to find it."""
    words = [word.strip(".,;:!?()\"'") for word in sentence.split()]
    telling = [word for word in words if word and word.lower() not in _STOP]
    if len(telling) < 3:
        return None
    if dice.random() < 0.5:
        picked = sorted(dice.sample(range(len(telling)), min(len(telling), dice.randint(2, 5))))
        return " ".join(telling[place] for place in picked).lower()
    count = dice.randint(3, 9)
    start = dice.randrange(max(1, len(words) - count))
    return " ".join(words[start : start + count])


def date(dice: random.Random) -> str:
    """Some day, with or without the time, in one of the ways people write it."""
    day, month, year = dice.randint(1, 28), dice.randint(1, 12), dice.randint(2015, 2027)
    hour, minute = dice.randint(1, 12), dice.randint(0, 59)
    name, half = _MONTHS[month - 1], dice.choice(("am", "pm"))
    return dice.choice(
        (
            f"{year}-{month:02}-{day:02}",
            f"{day} {name} {year}",
            f"{name} {day}, {year}",
            f"{year}-{month:02}-{day:02} {hour:02}:{minute:02}",
            f"{hour}:{minute:02} {half} on {day} {name}, {year}",
        )
    )


def made(runs: list[Run], *, first: int, seed: int) -> Iterator[Text]:
    """The texts of some runs, the first sentence of which has the number `first`."""
    dice = random.Random(f"{seed} {first}")
    number = first
    for run in runs:
        for place, sentence in enumerate(run):
            yield Text(sentence, sentence, SENTENCE, number)
            if place + 1 < len(run) and dice.random() < 0.25:
                words = " ".join(run[place : place + dice.randint(2, 5)]).split()
                passage = " ".join(words[: dice.randint(40, 110)])
                yield Text(passage, passage, PASSAGE, number)
            if dice.random() < 0.4 and (asked := question(sentence, dice)):
                yield Text(asked, asked, QUESTION, number)
            if dice.random() < 0.12 and (sought := search(sentence, dice)):
                yield Text(sought, sought, SEARCH, number)
            if dice.random() < 0.06:
                said = f"{dice.choice(_NAMES)}: {sentence}" if dice.random() < 0.7 else sentence
                # The teacher is not shown the date: a table that adds up pieces must learn to make little of it.
                yield Text(f"{date(dice)} {said}", said, DATED, number)
            number += 1


def portions(runs: list[Run]) -> Iterator[tuple[int, list[Run]]]:
    """The runs, some at a time, with the number of their first sentence."""
    first = count = start = 0
    for end, run in enumerate(runs, 1):
        count += len(run)
        if count >= PORTION or end == len(runs):
            yield first, runs[start:end]
            first, count, start = first + count, 0, end


def corpus(runs: list[Run], pieces: WordPiece, *, seed: int) -> Corpus:
    """All texts of the runs, cut into pieces; those of a single piece are left out."""
    read, taught = (array("H"), array("i")), (array("H"), array("i"))
    kinds, sources = array("b"), array("i")
    for first, some in portions(runs):
        for text in made(some, first=first, seed=seed):
            mine = theirs = pieces.tokens(text.read, limit=MOST_TOKENS)
            if len(mine) < 2:
                continue
            if text.kind == DATED:
                theirs = pieces.tokens(text.taught, limit=MOST_TOKENS)
            for (flat, lengths), tokens in ((read, mine), (taught, theirs)):
                flat.extend(tokens)
                lengths.append(len(tokens))
            kinds.append(text.kind)
            sources.append(text.source)
    run_of = np.repeat(np.arange(len(runs), dtype=np.int32), [len(run) for run in runs])
    held = Tokens(np.asarray(read[0]), np.asarray(read[1])), Tokens(np.asarray(taught[0]), np.asarray(taught[1]))
    return Corpus(*held, np.asarray(kinds), np.asarray(sources), run_of[np.asarray(sources)])
