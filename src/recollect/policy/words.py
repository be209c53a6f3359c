"""How well the words of a text answer the words of a question: BM25 over fields, and over words that mean the same.

A question asks for words. Each may be met by variants of itself: the same word in other letters, a longer word it
begins, an alias, a word of like meaning. A text is credited with the best variant it holds, never with their sum, so
a long list of synonyms cannot outweigh the word itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..model import Memory, Passage, WordStatistics
from .query import index_words
from .stem import stem

SATURATION = 1.2
LENGTH = 0.75
_TOP = SATURATION + 1
"""What BM25 gives a word at most, in units of its rarity."""

MEMORY_FIELDS = (2.0, 1.5, 1.2, 1.0, 1.0)
"""How much a word counts in a memory's content, tags, paths, source and kind."""
PASSAGE_FIELDS = (2.0, 1.5, 2.0, 1.2)
"""How much a word counts in a passage's text, label, date and document."""
TURN_FIELDS = (2.0, 0.0, 2.0, 0.0)
"""In a session's turn the label is who speaks, which is evidence of its own, and the document says nothing."""


def memory_fields(memory: Memory) -> tuple[str, str, str, str, str]:
    """The stems under which a memory is indexed, field by field: content, tags, paths, source, kind."""
    return (
        stems_of(memory.content),
        stems_of(" ".join(memory.tags)),
        stems_of(" ".join(memory.files)),
        stems_of(memory.source.value),
        stems_of(memory.kind.value),
    )


def passage_fields(passage: Passage) -> tuple[str, str, str, str]:
    """The stems under which a passage is indexed, field by field: text, label, date, document."""
    return (
        stems_of(passage.text),
        stems_of(passage.label),
        stems_of(passage.day),
        stems_of(passage.document),
    )


def stems_of(text: str) -> str:
    """Every word of a text as its stem, repetitions included, with spaces between."""
    return " ".join(map(stem, index_words(text)))


@dataclass(frozen=True, slots=True)
class Asked:
    """A word of a question: as it was written, its stem, and the stems that meet it, each with how well."""

    word: str
    stem: str
    variants: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Held:
    """The asked words a text holds, as counts weighed by field, and how long the text is."""

    counts: Mapping[str, float]
    length: float

    @staticmethod
    def joined(texts: Iterable[Held]) -> Held:
        """Several texts as one."""
        counts: dict[str, float] = {}
        length = 0.0
        for text in texts:
            length += text.length
            for each, count in text.counts.items():
                counts[each] = counts.get(each, 0.0) + count
        return Held(counts, length)


def held(fields: Sequence[str], weights: Sequence[float], wanted: frozenset[str]) -> Held:
    """What of the wanted stems a text holds. A word of the main field counts one, one of another field its share."""
    counts: dict[str, float] = {}
    length = 0
    main = weights[0]
    for text, weight in zip(fields, weights, strict=True):
        if not text or not weight:
            continue
        stems = text.split()
        length += len(stems)
        # Few of a text's words are wanted ones: those are counted, and the others never looked at one by one.
        for each in wanted.intersection(stems):
            counts[each] = counts.get(each, 0.0) + stems.count(each) * weight / main
    return Held(counts, length)


def rarity(word: str, statistics: WordStatistics) -> float:
    """What finding a word is worth: Lucene's inverse document frequency, which is never negative.

    The plain one would call everything worthless in a young store, where every word is in half of the texts. A word
    that no text holds says no more than one that a single text holds.
    """
    holding = max(1, statistics.holding.get(word, 0))
    return math.log(1 + (max(statistics.texts, holding) - holding + 0.5) / (holding + 0.5))


@dataclass(frozen=True, slots=True)
class Query:
    """The words of a question against one corpus."""

    asked: tuple[Asked, ...]
    credit: Mapping[str, tuple[tuple[int, float], ...]]
    """For each stem, which of the asked words it meets, by number, and what meeting it so is worth."""
    mass: float
    """What a text would be worth that met every asked word in full."""
    average: float
    """How long a text is on average."""

    @property
    def stems(self) -> frozenset[str]:
        """Every stem that meets an asked word."""
        return frozenset(self.credit)


def posed(asked: Iterable[Asked], statistics: WordStatistics) -> Query:
    """The asked words, weighed by how rare they are in a corpus."""
    words = tuple(asked)
    worth = {each: rarity(each, statistics) for word in words for each in (word.stem, *word.variants)}
    credit: dict[str, list[tuple[int, float]]] = {}
    for number, word in enumerate(words):
        for variant, share in word.variants.items():
            # A rare synonym is worth no more than the word that was asked for.
            credit.setdefault(variant, []).append((number, share * min(worth[word.stem], worth[variant]) * _TOP))
    average = statistics.words / statistics.texts if statistics.texts else 1.0
    return Query(
        asked=words,
        credit={variant: tuple(met) for variant, met in credit.items()},
        mass=math.fsum(worth[word.stem] for word in words) * _TOP,
        average=max(1.0, average),
    )


def bm25(text: Held, query: Query, *, spans: int = 1) -> float:
    """What a text is worth for the asked words. `spans` is how many texts were joined to make this one."""
    if not text.counts:
        return 0.0
    norm = SATURATION * (1 - LENGTH + LENGTH * text.length / (query.average * spans))
    best = [0.0] * len(query.asked)
    for each, count in text.counts.items():
        share = count / (count + norm)
        for number, worth in query.credit[each]:
            if worth * share > best[number]:
                best[number] = worth * share
    return sum(best)


def best_variants(text: Held, asked: Iterable[Asked]) -> tuple[str, ...]:
    """How each asked word was met, for people: "auth", or "auth (login)" where a variant met it."""
    told = []
    for each in asked:
        met = max(
            (variant for variant in each.variants if variant in text.counts),
            key=each.variants.__getitem__,
            default=None,
        )
        if met is not None:
            told.append(each.word if met == each.stem else f"{each.word} ({met})")
    return tuple(told)


def pooled(parts: Iterable[WordStatistics]) -> WordStatistics:
    """The statistics of several spaces taken as one, so that relevance in one compares with the other."""
    texts = words = 0
    holding: dict[str, int] = {}
    for part in parts:
        texts += part.texts
        words += part.words
        for word, count in part.holding.items():
            holding[word] = holding.get(word, 0) + count
    return WordStatistics(texts=texts, words=words, holding=holding)
