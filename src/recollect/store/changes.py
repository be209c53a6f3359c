"""Carrying out changes: one implementation for every engine.

An engine offers `Rows`, the few reads and writes a change needs, inside a transaction it has begun. What a memory
becomes is decided by `policy.evolve`; what is written, in which order, and what the audit says of it is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol, assert_never

from ..codec import EPOCH, canonical, digest, encode
from ..errors import DuplicateMemory, InvalidInput, NotFound, StaleVersion
from ..model import (
    BETWEEN_MEMORIES,
    OCCUPYING,
    UNSAVED,
    Add,
    AuditEntry,
    Change,
    Clear,
    Connect,
    Corpus,
    Define,
    Definition,
    Disconnect,
    Edit,
    Feedback,
    File,
    Json,
    Link,
    LinkKind,
    Mark,
    Memory,
    MemoryId,
    Outcome,
    Passage,
    Put,
    Rate,
    Regroup,
    Retag,
    Revise,
    Status,
    Uid,
    Unfile,
    Version,
    Weigh,
)
from ..policy.evolve import marked, repeated, retagged, revised, weighed
from ..policy.identity import state_hash
from .audit import TRIM, Bound, Head, chained

BIGGEST_KEPT_ID = 2**53
"""A memory from elsewhere keeps its id up to here; beyond, the ids of later ones would run out."""


class Rows(Protocol):
    """What an engine must offer to have changes carried out."""

    def get(self, memory_id: MemoryId) -> Memory | None: ...
    def by_uid(self, uid: Uid) -> Memory | None: ...
    def twin(self, memory: Memory) -> Memory | None:
        """The memory that holds the place this one would take: same words, scope and owner, equally trusted or not."""

    def insert(self, memory: Memory, state: str, recorded_at: datetime) -> Memory:
        """Store a new memory under its id, or under a new one if it has none; return it as stored."""

    def replace(self, before: Memory, after: Memory, state: str, now: datetime) -> None:
        """Write what a memory has become over what it was, and keep what it was as a version that ends now."""

    def add_version(self, memory_id: MemoryId, version: Version) -> None:
        """Keep a version that was recorded elsewhere, unless there is one of that number."""

    def remembered(self) -> list[Memory]:
        """Every memory that is not forgotten."""

    def put_link(self, link: Link) -> Link:
        """Make a link, or give the one that is there a new weight; return it as stored."""

    def drop_link(self, memory: MemoryId, kind: LinkKind, target: MemoryId) -> bool: ...
    def add_feedback(self, feedback: Feedback) -> bool: ...
    def regroup(self, clusters: tuple[tuple[str, tuple[MemoryId, ...]], ...]) -> None: ...
    def file_passage(self, passage: Passage) -> None:
        """Index a passage in place of the one at its position; else under its id, or under a new one if it has none."""

    def unfile(self, corpus: Corpus, document: str, start: int) -> int:
        """Drop a document's passages from a position on; returns how many there were."""

    def define(self, definition: Definition) -> None: ...
    def undefine(self, sort: str, name: str) -> bool: ...
    def head(self) -> Head: ...
    def base(self) -> Head: ...
    def append_audit(self, entry: AuditEntry) -> None: ...
    def trim_audit(self, through: int) -> Head:
        """Drop the entries up to a sequence number; return where the chain then begins."""


def request_hash(changes: tuple[Change, ...], actor: str) -> str:
    """What makes two requests the same: what they ask for and who asks. Stamps that differ on a retry do not count."""
    asked: list[Json] = []
    for change in changes:
        if isinstance(change, Add):
            fixed = replace(change.memory, uid=Uid(""), created_at=_NEVER, updated_at=_NEVER, confirmed_at=_NEVER)
            change = replace(change, memory=replace(fixed, provenance=()))
        elif isinstance(change, Revise):
            change = replace(change, provenance=None)
        asked.append([type(change).__name__, encode(change)])
    return digest("request", actor, canonical(asked))


_NEVER = EPOCH


class Work:
    """Changes being carried out within one transaction."""

    def __init__(self, rows: Rows, *, actor: str, now: datetime, bound: Bound) -> None:
        self._rows = rows
        self._actor = actor
        self._now = now
        self._bound = bound
        self._head = rows.head()

    def carry_out(self, changes: Iterable[Change]) -> tuple[Outcome, ...]:
        """Do them in order; each sees what those before it did."""
        outcomes = tuple(self._carry_out(change) for change in changes)
        self._trim()
        return outcomes

    def _carry_out(self, change: Change) -> Outcome:
        match change:
            case Add():
                return self._add(change)
            case Revise():
                return self._revise(change)
            case Weigh():
                return self._weigh(change)
            case Mark():
                return self._mark(self._memory(change.id), change)
            case Retag():
                return self._retag(change)
            case Connect():
                return self._connect(change.link)
            case Disconnect():
                return self._disconnect(change)
            case Rate():
                return self._rate(change)
            case Put():
                return self._put(change)
            case Regroup():
                self._rows.regroup(change.clusters)
                self._log("regroup", detail={"clusters": len(change.clusters)})
                return Outcome(action="regroup")
            case Clear():
                return self._clear()
            case File():
                return self._file(change)
            case Unfile():
                return self._unfile(change)
            case Define():
                return self._define(change)
        assert_never(change)

    def _add(self, change: Add) -> Outcome:
        existing = self._rows.twin(change.memory)
        if existing is not None:
            after = repeated(existing, change.memory, change.on_duplicate, self._now)
            return self._store("reinforce", existing, after, detail={"duplicate": True})
        state = state_hash(change.memory)
        memory = self._rows.insert(replace(change.memory, id=UNSAVED), state, self._now)
        self._log("add", memory, state, detail={"kind": memory.kind.value, "origin": memory.origin.value})
        return Outcome(action="add", memory=memory)

    def _revise(self, change: Revise) -> Outcome:
        before = self._memory(change.id)
        if change.expected_version not in (None, before.version):
            raise StaleVersion(before.ref, change.expected_version, before.version)
        after = revised(before, change.edit, change.provenance, self._now)
        return self._store("update", before, after, detail={"fields": _given(change.edit)})

    def _weigh(self, change: Weigh) -> Outcome:
        before = self._memory(change.id)
        after = weighed(before, change.signals, self._now)
        return self._store(change.action, before, after, detail=encode(change.signals))

    def _mark(self, before: Memory, change: Mark) -> Outcome:
        if before.status is change.status and before.superseded_by == change.superseded_by:
            return Outcome(action="unchanged", memory=before)
        after = marked(before, change.status, change.superseded_by, self._now)
        detail: Json = {"from": before.status.value, "to": after.status.value}
        return self._store(_mark_action(before.status, after.status), before, after, detail=detail)

    def _retag(self, change: Retag) -> Outcome:
        before = self._memory(change.id)
        after = retagged(before, change.add, change.remove, self._now)
        if after is before:
            return Outcome(action="unchanged", memory=before)
        return self._store("tag", before, after, detail={"tags": len(after.tags)})

    def _connect(self, link: Link) -> Outcome:
        if link.kind not in BETWEEN_MEMORIES or isinstance(link.target, str):
            raise InvalidInput("kind", f"a {link.kind} link follows from tags or clusters and is not made by hand")
        memory, target = self._memory(link.memory), self._memory(link.target)
        if memory.id == target.id:
            raise InvalidInput("target", "a memory cannot be linked to itself")
        wanted = replace(link, created_at=link.created_at or self._now, updated_at=link.updated_at or self._now)
        made = self._rows.put_link(wanted)
        self._log(
            "link",
            memory,
            state_hash(memory),
            detail={"kind": link.kind.value, "to": target.uid, "weight": link.weight},
        )
        return Outcome(action="link", memory=memory, link=made)

    def _disconnect(self, change: Disconnect) -> Outcome:
        memory, target = self._memory(change.memory), self._memory(change.target)
        if not self._rows.drop_link(memory.id, change.kind, target.id):
            raise NotFound("link", f"{memory.ref} {change.kind} {target.ref}")
        self._log("unlink", memory, state_hash(memory), detail={"kind": change.kind.value, "to": target.uid})
        return Outcome(action="unlink", memory=memory)

    def _rate(self, change: Rate) -> Outcome:
        before = self._memory(change.id)
        verdict = Feedback(uid=before.uid, helpful=change.helpful, at=self._now, actor=self._actor, note=change.note)
        self._rows.add_feedback(verdict)
        after = weighed(before, change.signals, self._now)
        return self._store("feedback", before, after, detail={"helpful": change.helpful})

    def _put(self, change: Put) -> Outcome:
        there = self._rows.by_uid(change.memory.uid)
        if there is not None and state_hash(there) == state_hash(change.memory):
            return Outcome(action="unchanged", memory=there)
        stored = self._put_new(change) if there is None else self._put_over(there, change.memory)
        for version in change.history:
            self._rows.add_version(stored.id, version)
        for verdict in change.feedback:
            self._rows.add_feedback(verdict)
        self._log("put", stored, state_hash(stored), detail={"version": stored.version, "known": there is not None})
        return Outcome(action="put", memory=stored)

    def _put_new(self, change: Put) -> Memory:
        wanted = change.memory
        self._refuse_twin(wanted)
        if not 0 < wanted.id <= BIGGEST_KEPT_ID or self._rows.get(wanted.id) is not None:
            wanted = replace(wanted, id=UNSAVED)
        # Where its history ends, the time of what it says now begins.
        since = max((version.recorded_to for version in change.history), default=wanted.updated_at)
        return self._rows.insert(wanted, state_hash(wanted), min(since, self._now))

    def _put_over(self, there: Memory, wanted: Memory) -> Memory:
        """The state that was there becomes a version, so that nothing is lost whichever of the two was newer."""
        after = replace(wanted, id=there.id, version=max(wanted.version, there.version + 1))
        self._refuse_twin(after)
        self._rows.replace(there, after, state_hash(after), self._now)
        return after

    def _refuse_twin(self, memory: Memory) -> None:
        if memory.status in OCCUPYING:
            twin = self._rows.twin(memory)
            if twin is not None and twin.uid != memory.uid:
                raise DuplicateMemory(memory.ref, twin.ref)

    def _clear(self) -> Outcome:
        memories = self._rows.remembered()
        for memory in memories:
            self._store("remove", memory, marked(memory, Status.FORGOTTEN, None, self._now), detail={"clear": True})
        self._log("clear", detail={"memories": len(memories)})
        return Outcome(action="clear")

    def _file(self, change: File) -> Outcome:
        counts: dict[str, int] = {}
        for passage in change.passages:
            self._rows.file_passage(_filed(passage))
            counts[passage.corpus.value] = counts.get(passage.corpus.value, 0) + 1
        self._log("file", detail={"passages": counts})
        return Outcome(action="file")

    def _unfile(self, change: Unfile) -> Outcome:
        start = max(0, change.start)
        gone = self._rows.unfile(change.corpus, change.document, start) if start <= _LAST_POSITION else 0
        if not gone:
            return Outcome(action="unchanged")
        self._log("unfile", detail={"corpus": change.corpus.value, "passages": gone})
        return Outcome(action="unfile")

    def _define(self, change: Define) -> Outcome:
        # What people call a thing is content, which the audit does not hold.
        detail: Json = {"sort": change.sort}
        if change.value is None:
            if not self._rows.undefine(change.sort, change.name):
                raise NotFound(change.sort, change.name)
            self._log("undefine", detail=detail)
            return Outcome(action="undefine")
        definition = Definition(sort=change.sort, name=change.name, value=change.value, made_by=self._actor)
        _refuse_unwritable("value", change.value)
        self._rows.define(replace(definition, updated_at=self._now))
        self._log("define", detail=detail)
        return Outcome(action="define")

    def _memory(self, memory_id: MemoryId | str) -> Memory:
        found = self._rows.get(MemoryId(memory_id)) if isinstance(memory_id, int) else None
        if found is None:
            raise NotFound("memory", str(memory_id))
        return found

    def _store(self, action: str, before: Memory, after: Memory, *, detail: Json) -> Outcome:
        """Write the memory's next version, keep the one before, and log it."""
        if after.fingerprint != before.fingerprint or after.status is not before.status:
            self._refuse_twin(after)
        state = state_hash(after)
        self._rows.replace(before, after, state, self._now)
        self._log(action, after, state, detail=detail)
        return Outcome(action=action, memory=after)

    def _log(self, action: str, memory: Memory | None = None, state: str = "", *, detail: Json) -> None:
        entry = chained(
            self._head,
            at=self._now,
            actor=self._actor,
            action=action,
            uid=memory.uid if memory else "",
            detail=detail,
            state=state,
        )
        self._rows.append_audit(entry)
        self._head = Head(entry.seq, entry.hash)

    def _trim(self) -> None:
        """Keep a bounded audit within its bound; the trimming is itself an entry, which vouches for what is gone."""
        length = self._head.seq - self._rows.base().seq
        if not self._bound.max_entries or length <= self._bound.max_entries:
            return
        # One of the entries kept is the one that records this.
        kept = min(max(0, self._bound.trim_to - 1), length - 1)
        base = self._rows.trim_audit(self._head.seq - kept)
        self._log(TRIM, detail={"through": base.seq, "hash": base.hash})


def _given(edit: Edit) -> Json:
    state = encode(edit)
    return sorted(state) if isinstance(state, dict) else []


def _filed(passage: Passage) -> Passage:
    """A passage as it is filed: under no id of elsewhere, and at a moment of which the day is the day in UTC."""
    if passage.corpus is Corpus.MEMORY:
        raise InvalidInput("corpus", "memories are added, not filed")
    if not 0 <= passage.position <= _LAST_POSITION:
        raise InvalidInput("position", f"{passage.position} is not a position in a document")
    _refuse_unwritable("payload", passage.payload)
    return replace(passage, id=0, at=passage.at and passage.at.astimezone(UTC))


_LAST_POSITION = 2**63 - 1


def _refuse_unwritable(field: str, value: Json) -> None:
    try:
        canonical(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(field, f"cannot be written as JSON ({error})") from error


def _mark_action(before: Status, after: Status) -> str:
    if before is Status.PINNED and after is Status.CONFIRMED:
        return "unpin"
    if before is Status.FORGOTTEN:
        return "restore"
    return _ACTIONS[after]


_ACTIONS = {
    Status.CANDIDATE: "demote-to-candidate",
    Status.CONFIRMED: "promote",
    Status.PINNED: "pin",
    Status.SUPERSEDED: "supersede",
    Status.ARCHIVED: "evict",
    Status.FORGOTTEN: "remove",
    Status.QUARANTINED: "quarantine",
}
