"""Export and import: everything of a space to lines and back.

A file that this home signed is taken at its word and comes back equal. Any other file's claims (who said it, when, how
far it is trusted) are kept as provenance, and what it brings is trusted no more than any import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..disk import write_private
from ..errors import BadFile, DuplicateMemory, InvalidInput
from ..formats.portable import Header, HeadRecord, LinkRecord, Record, read_lines, write_lines
from ..model import (
    BETWEEN_MEMORIES,
    OCCUPYING,
    Change,
    Condition,
    Connect,
    Define,
    Definition,
    Feedback,
    Link,
    Memory,
    MemoryId,
    Op,
    Order,
    Put,
    Scope,
    Uid,
    Version,
)
from ..policy.admit import adopted, check_stored
from ..policy.identity import state_hash
from ..store import Store
from .parts import Parts, SpaceName

_PAGE = 500
Progress = Callable[[int, int], None]
"""Told how many of how many are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did, or in a dry run would do."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    links: int = 0
    definitions: int = 0
    signed: bool = False
    dropped: int = 0
    """Versions, verdicts and definitions that an unsigned file claimed; they are not taken."""


def export_lines(parts: Parts, space: SpaceName, *, key: bytes, progress: Progress) -> Iterator[str]:
    """The lines of an export, all of one moment."""
    store = parts.store(space)
    with store.snapshot():
        yield from write_lines(_records(store, space, progress), key=key)


def _records(store: Store, space: SpaceName, progress: Progress) -> Iterator[Record]:
    links = store.links(kinds=BETWEEN_MEMORIES, hidden=True)
    counts = {name: count for name, count in store.totals().items() if name not in ("audit", "passage")}
    total = counts["memory"]
    yield Header(space=space, counts=counts)
    uids: dict[MemoryId, Uid] = {}
    for memory in _all(store):
        uids[memory.id] = memory.uid
        yield memory
        yield from store.history(memory.id)
        progress(len(uids), total)
    for link in links:
        assert isinstance(link.target, int)
        assert link.created_at is not None
        assert link.updated_at is not None
        yield LinkRecord(
            memory=uids[link.memory],
            kind=link.kind,
            target=uids[MemoryId(link.target)],
            weight=link.weight,
            made_by=link.made_by,
            created_at=link.created_at,
            updated_at=link.updated_at,
        )
    yield from store.feedback()
    yield from store.definitions()
    head = store.audit_head()
    yield HeadRecord(seq=head.seq, hash=head.hash, signed=True)


def _all(store: Store) -> Iterator[Memory]:
    last = 0
    while page := store.query(
        (Condition("id", Op.GT, last),), order=Order(field="id", newest_first=False), limit=_PAGE
    ):
        yield from page
        last = page[-1].id


def write_file(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a private file that appears whole or not at all."""
    if not path.name or path.is_dir():
        raise BadFile(str(path), "is a folder, not a file")
    try:
        write_private(path, lines)
    except OSError as error:
        raise BadFile(str(path), f"could not be written ({error.strerror})") from error


class _Bundle:
    """A whole export in memory, its signature checked."""

    def __init__(self, lines: Iterable[bytes | str], *, key: bytes, name: str) -> None:
        self.memories: list[Memory] = []
        self.versions: dict[Uid, list[Version]] = {}
        self.feedback: dict[Uid, list[Feedback]] = {}
        self.links: list[LinkRecord] = []
        self.definitions: list[Definition] = []
        self.signed = False
        counts: dict[str, int] = {}
        for record in read_lines(lines, key=key, name=name):
            # Only a signature at the very end covers everything.
            self.signed = isinstance(record, HeadRecord) and record.signed
            match record:
                case Header():
                    counts = record.counts
                case Memory():
                    self.memories.append(record)
                case Version():
                    self.versions.setdefault(record.memory.uid, []).append(record)
                case Feedback():
                    self.feedback.setdefault(record.uid, []).append(record)
                case LinkRecord():
                    self.links.append(record)
                case Definition():
                    self.definitions.append(record)
                case HeadRecord():
                    pass
        held = {
            "memory": len(self.memories),
            "version": sum(map(len, self.versions.values())),
            "link": len(self.links),
            "feedback": sum(map(len, self.feedback.values())),
            "definition": len(self.definitions),
        }
        for sort, number in held.items():
            if counts.get(sort, number) != number:
                raise BadFile(name, f"says it holds {counts[sort]} {sort} records but holds {number}; it was cut off")


def import_lines(
    parts: Parts,
    lines: Iterable[bytes | str],
    space: SpaceName,
    *,
    key: bytes,
    name: str,
    trusted: bool,
    dry_run: bool,
    progress: Progress,
) -> Imported:
    """Take over what a file holds. Doing it again changes nothing; a file that is not sound changes nothing at all."""
    bundle = _Bundle(lines, key=key, name=name)
    own = bundle.signed or trusted
    try:
        wanted = [_adopted(parts, _moved(memory, space), own) for memory in bundle.memories]
    except InvalidInput as error:
        raise BadFile(name, str(error)) from error
    taken = _Import(parts, parts.store(space), bundle, own=own, dry_run=dry_run)
    for done, memory in enumerate(wanted, start=1):
        taken.take(memory)
        progress(done, len(wanted))
    taken.flush()
    taken.connect()
    taken.define()
    return replace(taken.tally, signed=bundle.signed)


def _adopted(parts: Parts, memory: Memory, own: bool) -> Memory:
    return check_stored(memory) if own else adopted(memory, limits=parts.limits, now=parts.clock())


def _moved(memory: Memory, space: SpaceName) -> Memory:
    """A memory in the scope that the space it comes into can hold."""
    if space == "global":
        return replace(memory, scope=Scope.GLOBAL)
    return replace(memory, scope=Scope.PROJECT) if memory.scope is Scope.GLOBAL else memory


class _Import:
    """One import under way: memories in batches, each batch a transaction."""

    def __init__(self, parts: Parts, store: Store, bundle: _Bundle, *, own: bool, dry_run: bool) -> None:
        self._parts = parts
        self._store = store
        self._bundle = bundle
        self._own = own
        self._dry_run = dry_run
        self._waiting: list[tuple[str, Put]] = []
        self._coming: set[Uid] = set()
        self.tally = Imported()

    def take(self, wanted: Memory) -> None:
        """Decide what becomes of one memory."""
        there = self._store.by_uid(wanted.uid)
        if there is not None and self._unchanged(there, wanted):
            self._count("unchanged")
            return
        twin = self._store.twin(wanted) if wanted.status in OCCUPYING else None
        if twin is not None and twin.uid != wanted.uid:
            self._count("duplicates")
            return
        word = "added" if there is None else "updated"
        history, verdicts = self._bundle.versions.get(wanted.uid, []), self._bundle.feedback.get(wanted.uid, [])
        if not self._own:
            self._count("dropped", len(history) + len(verdicts))
            history, verdicts = [], []
        self._waiting.append((word, Put(memory=wanted, history=tuple(history), feedback=tuple(verdicts))))
        if len(self._waiting) >= _PAGE:
            self.flush()

    def _unchanged(self, there: Memory, wanted: Memory) -> bool:
        if self._own:
            return state_hash(there) == state_hash(wanted) or there.updated_at > wanted.updated_at
        # Stamps of an unsigned import differ every time; what it says is what counts, and a memory that was
        # trusted more than an import before is not overwritten by one.
        return there.content == wanted.content or there.trust > wanted.trust

    def flush(self) -> None:
        """Store what was decided so far."""
        waiting, self._waiting = self._waiting, []
        try:
            self._apply([put for _, put in waiting])
            done = waiting
        except DuplicateMemory:
            # Two memories of the file say the same, or somebody stored the same meanwhile: one by one then.
            done = [each for each in waiting if self._stored_alone(each[1])]
        for word, put in done:
            self._count(word)
            self._coming.add(put.memory.uid)

    def _stored_alone(self, put: Put) -> bool:
        try:
            self._apply([put])
        except DuplicateMemory:
            self._count("duplicates")
            return False
        return True

    def connect(self) -> None:
        """Make the file's links between memories that are there; in a dry run, that would be."""
        known = {
            (link.memory, link.kind, link.target, link.weight)
            for link in self._store.links(kinds=BETWEEN_MEMORIES, hidden=True)
        }
        changes: list[Change] = []
        for record in self._bundle.links:
            if not self._will_be_there(record.memory) or not self._will_be_there(record.target):
                continue
            link = self._link(record)
            if link is None or (link.memory, link.kind, link.target, link.weight) not in known:
                self._count("links")
                changes += [Connect(link=link)] if link else []
        self._apply(changes)

    def define(self) -> None:
        """Take over aliases and seasons, from a file that is taken at its word: they steer what is recalled."""
        if not self._own:
            self._count("dropped", len(self._bundle.definitions))
            return
        there = {(each.sort, each.name): each.value for each in self._store.definitions()}
        wanted = [each for each in self._bundle.definitions if there.get((each.sort, each.name)) != each.value]
        self._count("definitions", len(wanted))
        self._apply([Define(sort=each.sort, name=each.name, value=each.value) for each in wanted])

    def _will_be_there(self, uid: Uid) -> bool:
        return uid in self._coming or self._store.by_uid(uid) is not None

    def _link(self, record: LinkRecord) -> Link | None:
        memory, target = self._store.by_uid(record.memory), self._store.by_uid(record.target)
        if memory is None or target is None:
            return None
        return Link(
            memory=memory.id,
            kind=record.kind,
            target=target.id,
            weight=record.weight,
            made_by=record.made_by if self._own else self._parts.actor,
            created_at=record.created_at if self._own else None,
            updated_at=record.updated_at if self._own else None,
        )

    def _apply(self, changes: Sequence[Change]) -> None:
        if changes and not self._dry_run:
            self._store.apply(changes, actor=self._parts.actor, now=self._parts.clock())

    def _count(self, word: str, more: int = 1) -> None:
        self.tally = replace(self.tally, **{word: getattr(self.tally, word) + more})
