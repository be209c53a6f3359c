"""Memories as the entries of a file that people edit, and what their edits mean.

`base` is what was written and then edited, `theirs` what the file says now, `ours` what is remembered now. What
differs between the first two is an edit; it is carried over to the third. No side is ever lost: where a line was
changed in the file and in memory alike, memory keeps its own and takes the other in beside it, as a contradiction for
somebody to settle. What was left out of the file for want of room is in no `base`, so it is never taken for removed.

An editor may hold a text that has been written anew since. So the last few versions of the file are known, and an edit
is taken against the one that it was made in: what came later cannot be missing from it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import TypeAlias

from ..codec import HASH_PREFIX, canonical, digest
from ..model import UNSAVED, Draft, Edit, Kind, Memory, MemoryId, Procedure, Status
from .identity import canonical_text, content_hash, fingerprint

PINNED = "Pinned"
DECISIONS = "Key Decisions"
SUMMARIES = "Session Summaries"
SECTIONS: Mapping[str, tuple[Kind, ...]] = {
    PINNED: (),
    DECISIONS: (Kind.DECISION,),
    "User Preferences": (Kind.PREFERENCE,),
    "Corrections": (Kind.CORRECTION,),
    "Never": (Kind.NEGATIVE,),
    "Warnings": (Kind.WARNING,),
    "Conventions": (Kind.PATTERN,),
    "Architecture": (Kind.ARCHITECTURE,),
    "How To": (Kind.PROCEDURE,),
    "Project Context": (Kind.FACT,),
    "Lessons": (Kind.ERROR,),
    "Discoveries": (Kind.DISCOVERY,),
    "Progress": (Kind.TASK_PROGRESS, Kind.FILE_CHANGE),
    "Notes": (Kind.REASONING, Kind.TOOL_OUTPUT),
    SUMMARIES: (Kind.SUMMARY,),
}
"""The sections in their order, and the kinds that each shows; a new line is of the first of them."""

CLOSE = 0.8
"""How alike two texts must be for one to be the other, changed, where nothing else tells."""
ASKED_ABOVE = 3
ASKED_SHARE = 5
"""More removals than this, and more than one in so many, are not done unasked."""

_SECTION = {kind: section for section, kinds in SECTIONS.items() for kind in kinds}
_DATED = frozenset({DECISIONS, SUMMARIES})
_NAME_LENGTH = 256
_HASH_LENGTH = 16
_TAG_LENGTH = 64
_RESTORABLE = frozenset({Status.FORGOTTEN, Status.ARCHIVED, Status.SUPERSEDED})
_STEP = re.compile(r"[0-9]{1,4}[.)](?: (.*))?", re.DOTALL)
_DASHES = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One memory as the file shows it, or one line that somebody wrote."""

    id: MemoryId | None = None
    section: str = ""
    """One of `SECTIONS`, or "" outside of them."""
    own: str = ""
    """The heading of somebody's own that it stands under, or ""."""
    text: str
    day: date | None = None
    """The day that stands before it, or above it."""
    line: int = 0


Line: TypeAlias = tuple[str, str, str, str]
"""An entry without its words: its section, a heading of somebody's own, its day, and a hash of what it said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What the file showed at some time. Words are not kept here, so that what is erased is so."""

    lines: Mapping[MemoryId, Line]
    taken_out: frozenset[MemoryId] = frozenset()
    """What an edit of the file removed from it, before the next version was written."""

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Version:
        """The version that shows these entries."""
        return cls(lines={entry.id: _line(entry) for entry in entries if entry.id is not None})

    @property
    def name(self) -> str:
        """Eight digits that tell it from others."""
        told = canonical([[number, *line] for number, line in sorted(self.lines.items())])
        return digest("version", told).removeprefix(HASH_PREFIX)[:8]

    def entries(self, texts: Iterable[str]) -> tuple[Entry, ...]:
        """What it showed, as far as its words are among these texts."""
        said = {_words(text): text for text in texts}
        return tuple(
            Entry(id=number, section=section, own=own, day=date.fromisoformat(day) if day else None, text=said[words])
            for number, (section, own, day, words) in self.lines.items()
            if words in said
        )

    def lacks(self, newer: Version, theirs: Iterable[Entry]) -> tuple[MemoryId, ...]:
        """What a newer version shows, this one does not, and neither does the file."""
        there = {part for entry in theirs for part in (entry.id, _words(entry.text))}
        return tuple(
            number
            for number, line in newer.lines.items()
            if number not in self.lines and not {number, line[-1]} & there
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Amend:
    """A memory whose line was changed or moved: new values for it, and where it stands now."""

    memory: Memory
    line: int
    edit: Edit
    status: Status | None = None
    tagged: tuple[str, ...] = ()
    untagged: tuple[str, ...] = ()
    moved: bool = False

    @property
    def rewritten(self) -> bool:
        """Whether it says something else now."""
        return any((self.edit.content, self.edit.procedure, self.edit.valid_from))


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A memory whose line now says what another live memory says already; that one takes its place."""

    memory: Memory
    line: int
    into: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopt:
    """A line that is no memory yet. `against` is the one that it stands beside because both were changed."""

    draft: Draft
    line: int
    pinned: bool = False
    against: Memory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """A memory that had left, and whose line somebody brought back as it was."""

    memory: Memory
    line: int


MirrorEdit: TypeAlias = Amend | Merge | Adopt | Restore


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """What the edits of a file come to."""

    edits: tuple[MirrorEdit, ...] = ()
    removals: tuple[Memory, ...] = ()
    """Memories whose lines are gone. They are to be forgotten: archived, they would still be found, which is not what
    taking a line out means; forgotten, they can be restored."""
    asks: bool = False
    """So many are gone at once that somebody must say they are meant to be."""
    kept: tuple[Memory, ...] = ()
    """Memories whose lines are gone and that were changed meanwhile; they stay."""


def entry_of(memory: Memory, titles: Iterable[str] = ()) -> Entry:
    """A memory as the file shows it. `titles` are the headings of somebody's own; the tags of a memory choose one."""
    section = PINNED if memory.status is Status.PINNED else _SECTION[memory.kind]
    own = next((title for title in titles if own_tag(title) in memory.tags), "") if section != PINNED else ""
    section = "" if own else section
    day = (memory.valid_from or memory.created_at).astimezone(UTC).date() if section in _DATED else None
    return Entry(id=memory.id, section=section, own=own, text=_body(memory), day=day)


def own_tag(title: str) -> str:
    """The tag that memories under a heading of somebody's own carry; "" where it makes none."""
    return _DASHES.sub("-", canonical_text(title)).strip("-")[:_TAG_LENGTH].strip("-")


def contents(entry: Entry) -> frozenset[str]:
    """What a memory that an entry shows may hold as its text."""
    return frozenset({entry.text, _split(entry.text, "")[0]})


def reconciled(
    base: Sequence[Entry], theirs: Sequence[Entry], ours: Iterable[Memory], *, known: bool = True
) -> Reconciliation:
    """What the edits between `base` and `theirs` do to memories.

    `ours` holds, whatever their status, the memories that either names and those that say the same as one of their
    entries. If the file was written from another store its ids are not `known` here: then only texts tell which entry
    is which, and nothing is taken for removed.
    """
    memories = {memory.id: memory for memory in ours}
    book = _Book({memory.fingerprint: memory for memory in memories.values() if memory.active})
    pairs = _paired(base, theirs, known=known)
    unheard: list[Adopt] = []
    amends = [
        amend
        for at, was in pairs.items()
        for amend in _amended(theirs[at], was, memories.get(was.id or UNSAVED), unheard)
    ]
    edits: list[MirrorEdit] = [*_in_order(amends, book)]
    in_base = {was.id for was in base}
    for at, entry in enumerate(theirs):
        if at not in pairs:
            there = memories.get(entry.id) if known and entry.id is not None and entry.id not in in_base else None
            edits += _brought(entry, there, book, unheard)
    edits += filter(None, map(book.admitted, unheard))
    paired = {was.id for was in pairs.values()}
    left = [was for was in base if known and was.id not in paired]
    removals, kept = _gone(left, memories, book)
    asks = len(removals) > ASKED_ABOVE and len(removals) * ASKED_SHARE > len(base)
    return Reconciliation(edits=tuple(edits), removals=tuple(removals), asks=asks, kept=tuple(kept))


def edited_version(versions: Sequence[Version], theirs: Sequence[Entry], name: str = "") -> Version | None:
    """The version that somebody had open who saved this; `versions` come newest first.

    It is the one of this `name`, which the file carries; None if it is too old to be known. Without a name it is the
    one from which the file differs least, of several the newest. A file that is an older version to the letter was
    gone back to: what edits of the file removed since then is not part of what is returned, so that it is back.
    """
    if name:
        at = next((at for at, version in enumerate(versions) if version.name == name), None)
    else:
        at = min(range(len(versions)), key=lambda at: _difference(versions[at], theirs), default=None)
    if at is None:
        return None
    found = versions[at]
    gone = {number for version in versions[1 : at + 1] for number in version.taken_out}
    if not gone or _difference(found, theirs) != (0, 0):
        return found
    return replace(found, lines={number: line for number, line in found.lines.items() if number not in gone})


def _difference(version: Version, theirs: Iterable[Entry]) -> tuple[int, int]:
    """How many texts, and how many lines, are on one side only."""
    was, now = [*version.lines.values()], [_line(entry) for entry in theirs]
    return _unlike((line[-1] for line in was), (line[-1] for line in now)), _unlike(was, now)


def _unlike(some: Iterable[object], others: Iterable[object]) -> int:
    one, other = Counter(some), Counter(others)
    return ((one - other) + (other - one)).total()


def _line(entry: Entry) -> Line:
    return entry.section, entry.own, str(entry.day or ""), _words(entry.text)


def _words(text: str) -> str:
    return content_hash(text).removeprefix(HASH_PREFIX)[:_HASH_LENGTH]


class _Book:
    """Which live memory says what, while edits are carried out one after the other."""

    def __init__(self, says: dict[str, Memory]) -> None:
        self._says: dict[str, Memory | None] = {**says}
        self.heard: set[MemoryId] = set()
        """Memories that a line of the file speaks for, although it is not theirs."""

    def other(self, memory: Memory, content: str) -> Memory | None:
        """The other memory that says this already."""
        found = self._says.get(fingerprint(content))
        return found if found is not None and found.id != memory.id else None

    def rewrite(self, memory: Memory, content: str | None) -> None:
        """From now on a memory says this, or nothing."""
        self._says.pop(memory.fingerprint, None)
        if content is not None:
            self._says[fingerprint(content)] = memory

    def admitted(self, adopt: Adopt) -> Adopt | None:
        """A line that is to be a memory, unless somebody says it already; from now on somebody does.

        Where only its steps are new, they are part of its text: two memories never have the same text.
        """
        draft = adopt.draft
        words = fingerprint(draft.content)
        if words not in self._says:
            self._says[words] = None
            return adopt
        said_by = self._says[words]
        whole = _with_steps(draft.content, draft.procedure)
        if draft.procedure is not None and (said_by is None or _body(said_by) != whole):
            return self.admitted(replace(adopt, draft=replace(draft, content=whole, procedure=None)))
        if said_by is not None:
            self.heard.add(said_by.id)
        return None


def _amended(entry: Entry, was: Entry, memory: Memory | None, unheard: list[Adopt]) -> Iterator[Amend]:
    """What became of an entry that was written; what has to come in beside it goes to `unheard`."""
    text = _undated(entry, was)
    if memory is None or not memory.active:
        if text != was.text:
            unheard.append(_adoption(entry))
        return
    now = _body(memory)
    rewritten = text not in (was.text, now)
    if rewritten and now != was.text:
        unheard.append(_adoption(replace(entry, text=text), against=memory))
        rewritten = False
    edit = _rewriting(memory, text, entry) if rewritten else Edit()
    amend = _placed(Amend(memory=memory, line=entry.line, edit=edit), entry, was)
    if amend.moved or amend.rewritten:
        yield amend


def _in_order(amends: Sequence[Amend], book: _Book) -> Iterator[Amend | Merge]:
    """Amendments one after the other, so that no two memories say the same in between.

    What another one is about to give up is waited for. Where each waits for another, their lines have only changed
    places, and the words are all there.
    """
    waiting = {amend.memory.id: amend for amend in amends if amend.edit.content is not None}
    yield from (amend for amend in amends if amend.memory.id not in waiting)
    while waiting:
        for amend in waiting.values():
            assert amend.edit.content is not None
            other = book.other(amend.memory, amend.edit.content)
            if other is None or other.id not in waiting:
                break
        else:
            book.heard |= waiting.keys()
            return
        del waiting[amend.memory.id]
        book.rewrite(amend.memory, None if other else amend.edit.content)
        if other is None:
            yield amend
            continue
        book.heard.add(other.id)
        if amend.edit.procedure is not None:
            yield replace(amend, edit=replace(amend.edit, content=None))
        yield Merge(memory=amend.memory, line=amend.line, into=other)


def _placed(amend: Amend, entry: Entry, was: Entry) -> Amend:
    """The same, with what it means that the entry stands in another section, or under another day."""
    memory, edit = amend.memory, amend.edit
    if entry.section in _DATED and entry.day not in (None, was.day):
        assert entry.day is not None
        first = datetime.combine(entry.day, time(), UTC)
        if first != memory.valid_from and (memory.valid_to is None or first <= memory.valid_to):
            edit = replace(edit, valid_from=first)
    if (entry.section, entry.own) == (was.section, was.own) or not (entry.section or entry.own):
        return replace(amend, edit=edit)
    kinds = SECTIONS.get(entry.section, ())
    if kinds and memory.kind not in kinds:
        edit = replace(edit, kind=kinds[0])
    status = None
    if entry.section == PINNED:
        status = Status.PINNED if memory.status is not Status.PINNED else None
    elif memory.status is Status.PINNED:
        status = Status.CONFIRMED
    tagged = {own_tag(entry.own)} - {*memory.tags} if entry.own else set()
    untagged = {own_tag(was.own)} & {*memory.tags} if was.own and was.own != entry.own else set()
    return replace(
        amend,
        edit=edit,
        status=status,
        tagged=tuple(tagged),
        untagged=tuple(untagged),
        moved=bool(edit.kind or status or tagged or untagged),
    )


def _brought(entry: Entry, there: Memory | None, book: _Book, unheard: list[Adopt]) -> Iterator[Restore]:
    """What an entry is that was not written: a line that is back, or a new one, which goes to `unheard`."""
    if there is not None and there.status in _RESTORABLE and _body(there) == entry.text:
        if book.other(there, there.content) is None:
            book.rewrite(there, there.content)
            yield Restore(memory=there, line=entry.line)
        return
    unheard.append(_adoption(entry, against=there if there is not None and there.active else None))


def _gone(left: Iterable[Entry], memories: Mapping[MemoryId, Memory], book: _Book) -> tuple[list[Memory], list[Memory]]:
    """The memories whose lines were taken out, and those that have changed since and stay."""
    removals: list[Memory] = []
    kept: list[Memory] = []
    for was in left:
        memory = memories.get(was.id) if was.id is not None else None
        if memory is not None and memory.active and memory.id not in book.heard:
            (removals if _body(memory) == was.text else kept).append(memory)
    return removals, kept


# --- Which entry is which ---------------------------------------------------------------------------------------------


def _paired(base: Iterable[Entry], theirs: Sequence[Entry], *, known: bool) -> dict[int, Entry]:
    """Which written entry each entry of the file is, by its place among them.

    By its id where it says the same, else by what it says, else by its id, else by being alike and alone in that. What
    it says comes before the id, because ids are what gets lost, copied and swapped.
    """
    pairing = _Pairing(base, [entry.id if known else None for entry in theirs])
    for same in (_same_place, _same_text):
        for at, entry in enumerate(theirs):
            pairing.by_id(at, entry, same)
    for reading in (str, canonical_text):
        spoken: dict[str, Entry] = {}
        for was in pairing.free.values():
            spoken[reading(was.text)] = was
            if was.day is not None:
                spoken.setdefault(reading(f"{was.day}: {was.text}"), was)
        for at, entry in enumerate(theirs):
            if reading is str or not pairing.named(at):
                pairing.take(at, spoken.get(reading(entry.text)))
    pairing.closest_by_id(theirs)
    pairing.close(theirs)
    return dict(sorted(pairing.pairs.items()))


def _same_place(entry: Entry, was: Entry) -> bool:
    return (entry.section, entry.own, entry.text) == (was.section, was.own, was.text)


def _same_text(entry: Entry, was: Entry) -> bool:
    return _undated(entry, was) == was.text


class _Pairing:
    """Entries of the file and written ones, paired step by step."""

    def __init__(self, base: Iterable[Entry], ids: list[MemoryId | None]) -> None:
        self.free = {was.id: was for was in base if was.id is not None}
        self.pairs: dict[int, Entry] = {}
        self._ids = ids

    def take(self, at: int, was: Entry | None) -> None:
        if was is not None and was.id in self.free and at not in self.pairs:
            self.pairs[at] = self.free.pop(was.id)

    def named(self, at: int) -> Entry | None:
        """The written entry that an entry names by its id, unless another one is that."""
        number = self._ids[at]
        return self.free.get(number) if number is not None else None

    def by_id(self, at: int, entry: Entry, same: Callable[[Entry, Entry], bool]) -> None:
        was = self.named(at)
        if was is not None and same(entry, was):
            self.take(at, was)

    def closest_by_id(self, theirs: Sequence[Entry]) -> None:
        """An entry by its id, the one most alike where several carry it: a line that was copied and changed."""
        from rapidfuzz import fuzz  # only here and below: most starts compare nothing

        claims = [(at, was) for at in range(len(theirs)) if at not in self.pairs and (was := self.named(at))]
        alone = Counter(was.id for _, was in claims)
        ranked = [
            (0.0 if alone[was.id] == 1 else -fuzz.ratio(theirs[at].text, was.text), at, was) for at, was in claims
        ]
        for _, at, was in sorted(ranked, key=lambda claim: claim[:2]):
            self.take(at, was)

    def close(self, theirs: Sequence[Entry]) -> None:
        """Entries that are alike to one written entry and to no other, and that one to no other either."""
        from rapidfuzz import fuzz, process

        texts = {number: was.text for number, was in self.free.items()}
        lost = [at for at in range(len(theirs)) if at not in self.pairs]
        cutoff = 100 * CLOSE
        alike = {
            at: process.extract(theirs[at].text, texts, scorer=fuzz.ratio, score_cutoff=cutoff, limit=None)
            for at in (lost if texts else ())
        }
        wanted = Counter(number for found in alike.values() for _, _, number in found)
        for at, found in alike.items():
            if len(found) == 1 and wanted[found[0][2]] == 1:
                self.take(at, self.free.get(found[0][2]))


# --- From entries to memories -----------------------------------------------------------------------------------------


def _undated(entry: Entry, was: Entry) -> str:
    """What an entry says, without the day that it was written with and has carried into another section."""
    if was.day is not None and entry.day is None:
        return entry.text.removeprefix(f"{was.day}: ")
    return entry.text


def _adoption(entry: Entry, against: Memory | None = None) -> Adopt:
    """The memory that a line is to become."""
    kind = next(iter(SECTIONS.get(entry.section, ())), Kind.FACT)
    content, steps = _split(entry.text, "") if kind is Kind.PROCEDURE else (entry.text, ())
    draft = Draft(
        content=content,
        kind=kind,
        tags=(own_tag(entry.own),) if entry.own else (),
        procedure=Procedure(name=_name(content), steps=steps) if steps else None,
        valid_from=datetime.combine(entry.day, time(), UTC) if entry.day else None,
    )
    return Adopt(draft=draft, line=entry.line, pinned=entry.section == PINNED, against=against)


def _rewriting(memory: Memory, text: str, entry: Entry) -> Edit:
    """New values for a memory whose entry now reads like this."""
    if memory.procedure is None and SECTIONS.get(entry.section) != (Kind.PROCEDURE,):
        return Edit(content=text)
    content, steps = _split(text, memory.content)
    changed = content if content != memory.content else None
    before = memory.procedure
    if before is None:
        return Edit(content=changed, procedure=Procedure(name=_name(content), steps=steps) if steps else None)
    named_after = canonical_text(before.name) == canonical_text(_name(memory.content))
    after = replace(before, steps=steps, name=_name(content) if named_after and changed else before.name)
    return Edit(content=changed, procedure=after if after != before else None)


def _name(content: str) -> str:
    return content.strip().split("\n", 1)[0].strip()[:_NAME_LENGTH]


def _body(memory: Memory) -> str:
    return _with_steps(memory.content, memory.procedure)


def _with_steps(content: str, procedure: Procedure | None) -> str:
    """A text with steps below it, by number."""
    steps = procedure.steps if procedure else ()
    numbered = (f"{number}. {step}".replace("\n", "\n   ") for number, step in enumerate(steps, start=1))
    return "\n".join((content, *numbered))


def _split(text: str, content: str) -> tuple[str, tuple[str, ...]]:
    """A text and the steps at its end. `content` is what the text was before, which tells where the steps begin."""
    if text == content:
        return content, ()
    if content and text.startswith(f"{content}\n"):
        steps = _steps(text[len(content) + 1 :].split("\n"))
        if steps:
            return content, steps
    lines = text.split("\n")
    first = len(lines)
    for at in range(len(lines) - 1, 0, -1):
        if _STEP.fullmatch(lines[at]):
            first = at
        elif lines[at].strip() and not lines[at][0].isspace():
            break
    above = "\n".join(lines[:first])
    steps = _steps(lines[first:])
    nameless = not above.strip() or _STEP.fullmatch(lines[first - 1])
    return (text, ()) if nameless or not steps else (above, steps)


def _steps(lines: Sequence[str]) -> tuple[str, ...]:
    """The steps that lines hold; none if anything else stands among them."""
    steps: list[list[str]] = []
    for line in lines:
        found = _STEP.fullmatch(line)
        if found:
            steps.append([found[1] or ""])
        elif steps and (not line or line[0].isspace()):
            steps[-1].append(line[3:] if line.startswith("   ") else line.lstrip())
        else:
            return ()
    texts = ("\n".join(step) for step in steps)
    return tuple(text for text in texts if text.strip())
