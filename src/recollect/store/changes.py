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
    Drop,
    Edit,
    Feedback,
    File,
    Json,
    Link,
    LinkKind,
    Mark,
    Memory,
    MemoryId,
    Notice,
    Outcome,
    Passage,
    Perform,
    Propose,
    Put,
    Rate,
    Refuse,
    Regroup,
    Relation,
    Retag,
    Revert,
    Revise,
    Sight,
    Status,
    Step,
    StepState,
    Uid,
    Unfile,
    Version,
    Vouch,
    Weigh,
)
from ..policy.evolve import marked, repeated, retagged, revised, vouched, weighed
from ..policy.identity import state_hash
from .audit import TRIM, Bound, Head, chained
from .undoing import REVERSIBLE, Numbered, changed_since, kept_image, outdated, preimage, put_back, with_afterimage

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
    def regroup(self, change: Regroup) -> None: ...
    def clusters_between(self, first: int, last: int | None) -> tuple[Numbered, ...]:
        """The clusters numbered so, in order, with their members."""

    def put_clusters(self, first: int, last: int | None, clusters: tuple[Numbered, ...]) -> None:
        """Replace the clusters numbered so by these, each under its own number."""

    def file_passage(self, passage: Passage) -> None:
        """Index a passage in place of the one at its position; else under its id, or under a new one if it has none."""

    def unfile(self, corpus: Corpus, document: str, start: int) -> int:
        """Drop a document's passages from a position on; returns how many there were."""

    def definition(self, sort: str, name: str) -> Definition | None: ...
    def define(self, definition: Definition) -> None: ...
    def undefine(self, sort: str, name: str) -> bool: ...
    def link(self, memory: MemoryId, kind: LinkKind, target: MemoryId) -> Link | None: ...
    def rewind(self, there: Memory, version: int) -> Memory:
        """Make a memory what it was in an earlier version, as if those since had never been; how it was used stays.

        Their numbers are not given again: whoever read one of them must not take another for it.
        """

    def highest_version(self, memory_id: MemoryId) -> int:
        """The highest version number that a memory had and has no longer; 0 if it was never rewound."""

    def step_aside(self, memories: tuple[MemoryId, ...]) -> None:
        """Let memories hold no place for a moment, so that they can be put back in any order."""

    def sight(self, sort: str, memories: tuple[MemoryId, ...], at: datetime) -> None:
        """Note since when memories are in a condition. A note from the future, left by a clock that was wrong, goes."""

    def unsight(self, sort: str, memories: tuple[MemoryId, ...]) -> None: ...
    def notice(self, fingerprint: str, session_id: str, agent: str, at: datetime) -> None: ...
    def has_plan(self, plan: int) -> bool: ...
    def add_plan(self, sort: str, made_by: str, at: datetime, live: int) -> int: ...
    def add_step(self, plan: int, step: Step) -> None:
        """Write down a step as the last of a plan."""

    def step(self, plan: int, number: int) -> tuple[Step, Json] | None:
        """A step, and what was kept to undo it."""

    def settle_step(self, plan: int, number: int, state: StepState, undo: Json, at: datetime) -> None: ...
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
            fixed = replace(fixed, narrative_id=None)  # which one is open is no part of what was asked for
            # What it is found to be like depends on what is there, which the first request has changed.
            sources = tuple(each for each in change.relations if each.kind is LinkKind.DERIVED_FROM)
            change = replace(change, memory=replace(fixed, provenance=(), trust=1.0), same_as=None, relations=sources)
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
                self._rows.regroup(change)
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
            case Vouch():
                return self._vouch(change)
            case Sight():
                return self._sight(change)
            case Notice():
                return self._notice(change)
            case Propose():
                return self._propose(change)
            case Perform():
                return self._perform(change)
            case Revert():
                return self._revert(change)
            case Refuse():
                return self._let_go(change, StepState.REFUSED, "refuse")
            case Drop():
                return self._let_go(change, StepState.DROPPED, "drop")
        assert_never(change)

    def _add(self, change: Add) -> Outcome:
        existing = self._rows.twin(change.memory)
        if existing is not None:
            after = repeated(existing, change.memory, change.on_duplicate, self._now)
            return self._store("reinforce", existing, after, detail={"duplicate": True})
        alike = self._still(change.same_as) if change.same_as else None
        if alike is not None:
            after = repeated(alike, change.memory, change.on_duplicate, self._now)
            return self._store("reinforce", alike, after, detail={"duplicate": "near"})
        state = state_hash(change.memory)
        memory = self._rows.insert(replace(change.memory, id=UNSAVED), state, self._now)
        self._log("add", memory, state, detail={"kind": memory.kind.value, "origin": memory.origin.value})
        made = tuple(made for relation in change.relations if (made := self._relate(memory, relation)))
        return Outcome(action="add", memory=memory, relations=made)

    def _still(self, relation: Relation) -> Memory | None:
        """The memory that a relation was found to, if it is still live and still says what it did."""
        found = self._rows.get(relation.target)
        return found if found and found.active and found.content_hash == relation.content_hash else None

    def _relate(self, memory: Memory, relation: Relation) -> Relation | None:
        other = self._still(relation)
        if other is None:
            return None
        if relation.kind is LinkKind.SUPERSEDES and (other.status is Status.PINNED or other.trust > memory.trust):
            relation = replace(relation, kind=LinkKind.CONTRADICTS)  # somebody vouched for it in the meantime
        self._connect(
            Link(
                memory=memory.id,
                kind=relation.kind,
                target=other.id,
                weight=relation.weight,
                made_by=self._actor,
            )
        )
        if relation.kind is LinkKind.SUPERSEDES:
            self._mark(other, Mark(id=other.id, status=Status.SUPERSEDED, superseded_by=memory.uid))
        return relation

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
            if version.memory.version < stored.version:
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
        next_version = max(there.version, self._rows.highest_version(there.id)) + 1
        after = replace(wanted, id=there.id, version=max(wanted.version, next_version))
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
        detail: Json = {"sort": change.sort} | ({} if change.note is None else {"note": change.note})
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

    def _vouch(self, change: Vouch) -> Outcome:
        before = self._memory(change.id)
        after = vouched(before, change.trust, change.provenance, self._now)
        return self._store("vouch", before, after, detail={"from": before.trust, "to": after.trust})

    def _sight(self, change: Sight) -> Outcome:
        self._rows.sight(change.sort, change.seen, self._now)
        self._rows.unsight(change.sort, change.gone)
        detail: Json = {"sort": change.sort, "seen": len(change.seen), "gone": len(change.gone)}
        self._log("sight", detail=detail)
        return Outcome(action="sight")

    def _notice(self, change: Notice) -> Outcome:
        for each in change.fingerprints:
            self._rows.notice(each, change.session_id, change.agent, self._now)
        self._log("notice", detail={"findings": len(change.fingerprints)})
        return Outcome(action="notice")

    def _propose(self, change: Propose) -> Outcome:
        for each in (each for step in change.steps for each in step.changes):
            if not isinstance(each, REVERSIBLE):
                raise InvalidInput("steps", f"a step cannot consist of {type(each).__name__}, which cannot be undone")
        plan = change.plan
        if plan is None:
            plan = self._rows.add_plan(change.sort, self._actor, self._now, change.live)
        elif not self._rows.has_plan(plan):
            raise NotFound("plan", str(plan))
        for step in change.steps:
            self._rows.add_step(plan, step)
        self._log("propose", detail={"plan": plan, "sort": change.sort, "steps": len(change.steps)})
        return Outcome(action="propose", plan=plan)

    def _perform(self, change: Perform) -> Outcome:
        step, _ = self._step(change.plan, change.step)
        if step.state is not StepState.PROPOSED:
            return Outcome(action="unchanged", plan=change.plan)
        if outdated(step, self._rows):
            self._settle(change, StepState.OUTDATED, None)
            return Outcome(action="outdated", plan=change.plan)
        before = preimage(step, self._rows)
        for each in step.changes:
            self._carry_out(each)
        self._settle(change, StepState.DONE, with_afterimage(before, self._rows))
        return Outcome(action="perform", plan=change.plan)

    def _revert(self, change: Revert) -> Outcome:
        step, undo = self._step(change.plan, change.step)
        if step.state is not StepState.DONE:
            return Outcome(action="unchanged", plan=change.plan)
        kept = kept_image(undo)
        if changed_since(kept, self._rows):
            return Outcome(action="changed-since", plan=change.plan)
        for memory in put_back(kept, self._rows):
            self._log("undo", memory, state_hash(memory), detail={"plan": change.plan, "step": change.step})
        self._settle(change, StepState.UNDONE, None)
        return Outcome(action="revert", plan=change.plan)

    def _let_go(self, change: Refuse | Drop, state: StepState, action: str) -> Outcome:
        step, _ = self._step(change.plan, change.step)
        if step.state is not StepState.PROPOSED:
            return Outcome(action="unchanged", plan=change.plan)
        self._settle(change, state, None)
        return Outcome(action=action, plan=change.plan)

    def _step(self, plan: int, number: int) -> tuple[Step, Json]:
        found = self._rows.step(plan, number)
        if found is None:
            raise NotFound("step", f"{number} of plan {plan}")
        return found

    def _settle(self, change: Perform | Revert | Refuse | Drop, state: StepState, undo: Json) -> None:
        self._rows.settle_step(change.plan, change.step, state, undo, self._now)
        self._log("step", detail={"plan": change.plan, "step": change.step, "state": state.value})

    def _memory(self, memory_id: MemoryId | str) -> Memory:
        found = self._rows.get(MemoryId(memory_id)) if isinstance(memory_id, int) else None
        if found is None:
            raise NotFound("memory", str(memory_id))
        return found

    def _store(self, action: str, before: Memory, after: Memory, *, detail: Json) -> Outcome:
        """Write the memory's next version, keep the one before, and log it."""
        if after.fingerprint != before.fingerprint or after.status is not before.status:
            self._refuse_twin(after)
        after = replace(after, version=max(after.version, self._rows.highest_version(before.id) + 1))
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
