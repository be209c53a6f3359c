"""Writing: remember, update, strengthen, link, tag, pin, forget. Each is a list of changes through one door."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from ..codec import canonical, encode
from ..errors import InvalidInput, NotFound, StoreError, TooLarge
from ..model import (
    OCCUPYING,
    Add,
    Change,
    Connect,
    Corpus,
    Disconnect,
    Draft,
    Edit,
    Link,
    LinkKind,
    Mark,
    Memory,
    Origin,
    Outcome,
    Provenance,
    Rate,
    Relation,
    Retag,
    Revise,
    Scope,
    Signals,
    Status,
    Vouch,
    Weigh,
)
from ..policy.access import PROPOSED, Right, may
from ..policy.admit import admit, admit_edit, check_text, clean_tags, clean_text, compose, share
from ..policy.kinds import TRUST
from ..policy.promote import lineage_trust
from ..policy.suspicion import suspicion
from ..store import Store
from .anchors import hash_in
from .consolidate import consolidated, read_against_others
from .events import Write
from .narratives import active_narrative
from .parts import Parts, Ref, new_uid, space_of

NOTE_LIMIT = 1_000
KEY_LIMIT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What became of a memory that was to be stored."""

    memory: Memory
    duplicate: bool
    """A memory already said this, in these or other words; it was strengthened instead."""
    redacted: bool
    """Something secret was left out before anything was stored."""
    supersedes: tuple[str, ...] = ()
    """The references of memories whose place it took."""
    contradicts: tuple[str, ...] = ()
    """The references of memories that it contradicts; each is a conflict that is open."""

    @property
    def ref(self) -> str:
        return self.memory.ref

    def __str__(self) -> str:
        return f"[id:{self.ref}] {self.memory.content}"


def remember(
    parts: Parts,
    drafts: Sequence[Draft],
    *,
    key: str | None,
    status: Status = Status.CONFIRMED,
    origin: Origin | None = None,
    sources: Sequence[Ref] = (),
) -> list[Remembered]:
    """Store drafts in one transaction. All of them, or none.

    What is derived from memories of the same space is trusted no more than the least trusted of them.
    """
    parts.switch.require_on()
    batch = parts.settings.write.batch_limit
    if len(drafts) > batch:
        raise TooLarge("memories", len(drafts), batch, unit="memories", setting="write.batch_limit")
    if not drafts:
        return []
    admitted = [_proposed(parts, admit(draft, parts.limits)) for draft in drafts]
    spaces = {space_of(draft.scope) for draft in admitted}
    if len(spaces) > 1:
        raise InvalidInput("scope", "global memories and others are stored in different places; write them apart")
    if key is not None:
        check_text("key", key, KEY_LIMIT)
    now = parts.clock()
    store = parts.store(spaces.pop())
    thread = active_narrative(store) if admitted[0].scope is not Scope.GLOBAL else None
    placed = [_in_thread(_anchored(draft, parts.root), thread) for draft in admitted]
    channel = origin or parts.origin
    composed = [_standing(compose(draft, uid=new_uid(now), origin=channel, now=now), status) for draft in placed]
    derived_from = [_in_space(parts, store, ref) for ref in sources]
    relations = tuple(
        Relation(kind=LinkKind.DERIVED_FROM, target=each.id, content_hash=each.content_hash) for each in derived_from
    )
    adds = [
        Add(
            memory=replace(memory, trust=lineage_trust(memory.trust, (each.trust for each in derived_from))),
            on_duplicate=Signals(importance=parts.settings.write.duplicate_importance, access=1),
            relations=relations,
        )
        for memory in composed
    ]
    receipt = store.apply(consolidated(parts, store, adds), actor=parts.actor, now=now, key=key)
    _embed_new(parts, store)
    _have_read(parts, store, [outcome.memory for outcome in receipt.outcomes])
    grown = sum(len(draft.content) for draft in admitted)
    parts.oversight.events.tell(Write(type="memory", path=store.url, delta=grown))
    return [
        _remembered(outcome, draft, as_given)
        for outcome, draft, as_given in zip(receipt.outcomes, admitted, drafts, strict=True)
    ]


def _have_read(parts: Parts, store: Store, memories: Sequence[Memory | None]) -> None:
    """Leave it to the background to have new memories read by a judge, if there is one."""
    if not (parts.background and parts.oversight.reads) or len(memories) > parts.settings.consolidate.batch_limit:
        return
    for memory in memories:
        if memory is not None and memory.active:
            parts.later(f"read {memory.uid}", partial(read_against_others, parts, store, memory))


def _standing(memory: Memory, status: Status) -> Memory:
    """The memory in the status it is to have; one in quarantine stays there."""
    return memory if memory.status is Status.QUARANTINED else replace(memory, status=status)


def _proposed(parts: Parts, draft: Draft) -> Draft:
    """What an agent would have hold everywhere and may not write there: kept in its project until a person decides."""
    if draft.scope is not Scope.GLOBAL or may(parts.role, Right.WRITE, "global"):
        return draft
    return replace(draft, scope=Scope.PROJECT, tags=(*draft.tags, PROPOSED))


def _anchored(draft: Draft, root: str) -> Draft:
    """A draft whose anchors tell what their files held when it was written, so that a change can be seen later."""
    if not root or draft.scope is Scope.GLOBAL or not draft.anchors:
        return draft
    anchors = tuple(
        anchor if anchor.content_hash else replace(anchor, content_hash=hash_in(root, anchor.path) or None)
        for anchor in draft.anchors
    )
    return replace(draft, anchors=anchors)


def _in_thread(draft: Draft, thread: str | None) -> Draft:
    """A draft as part of the narrative that is open, unless it names one."""
    return draft if thread is None or draft.narrative_id is not None else replace(draft, narrative_id=thread)


def _in_space(parts: Parts, store: Store, ref: Ref) -> Memory:
    found, memory = parts.find(ref)
    if found is not store:
        raise InvalidInput("derived_from", "links never cross from a project to the global space or back")
    return memory


def _embed_new(parts: Parts, store: Store) -> None:
    """Give new text its vector: at once where that costs next to nothing, otherwise in the background."""
    embedder = parts.meaning.wanted() if parts.meaning.ready else None
    if embedder is not None and embedder.local:
        with suppress(StoreError):  # stored is stored; a vector can follow
            parts.meaning.catch_up(store, Corpus.MEMORY, seconds=_IN_LINE)
    parts.wake()


_IN_LINE = 0.01


def _remembered(outcome: Outcome, admitted: Draft, given: Draft) -> Remembered:
    memory = outcome.memory
    if memory is None:
        raise NotFound("memory", "stored under this key before and erased since")
    left_out = _placeholders(admitted)
    return Remembered(
        memory=memory,
        duplicate=outcome.action == "reinforce",
        redacted=left_out > 0 and left_out > _placeholders(given),
        supersedes=_linked(memory, outcome.relations, LinkKind.SUPERSEDES),
        contradicts=_linked(memory, outcome.relations, LinkKind.CONTRADICTS),
    )


def _linked(memory: Memory, made: tuple[Relation, ...], kind: LinkKind) -> tuple[str, ...]:
    return tuple(replace(memory, id=each.target).ref for each in made if each.kind is kind)


def _placeholders(draft: Draft) -> int:
    return canonical(encode(draft)).count("[redacted:")


def update(parts: Parts, ref: Ref, edit: Edit, *, expected_version: int | None) -> Memory:
    """Change a memory in place."""
    store, memory = parts.find(ref)
    admitted = admit_edit(edit, parts.limits)
    now = parts.clock()
    step = Provenance(origin=parts.origin, at=now, reason=f"edited by {parts.actor}")
    change = Revise(id=memory.id, edit=admitted, provenance=step, expected_version=expected_version)
    changes: list[Change] = [change, *_doubts(parts, memory, admitted, now)]
    after = store.apply(changes, actor=parts.actor, now=now).outcomes[-1].memory
    assert after is not None
    if edit.content is not None:
        _embed_new(parts, store)
    return after


def _doubts(parts: Parts, memory: Memory, edit: Edit, now: datetime) -> Iterator[Change]:
    """What other words do to trust: the memory is trusted no more than where they come from, and may be kept apart."""
    if edit.content is None:
        return
    doubt = suspicion(edit.content, parts.origin) if memory.active else ""
    if TRUST[parts.origin] < memory.trust or doubt:
        why = f"quarantined: it {doubt}" if doubt else f"other words, by {parts.actor}"
        step = Provenance(origin=parts.origin, at=now, reason=why)
        yield Vouch(id=memory.id, trust=min(memory.trust, TRUST[parts.origin]), provenance=step)
    if doubt:
        yield Mark(id=memory.id, status=Status.QUARANTINED)


def reinforce(parts: Parts, ref: Ref) -> Memory:
    """This memory was useful: its score rises and its recency clock starts anew."""
    amount = parts.settings.write.reinforce
    return _weigh(parts, ref, Signals(score=amount, hit=True, confirm=True), "reinforce")


def demote(parts: Parts, ref: Ref) -> Memory:
    """This memory is stale or wrong: its score falls."""
    return _weigh(parts, ref, Signals(score=-parts.settings.write.demote), "demote")


def feedback(parts: Parts, ref: Ref, *, helpful: bool, note: str) -> Memory:
    """Record whether a memory helped: helpful raises strength and confidence, unhelpful lowers confidence."""
    store, memory = parts.find(ref)
    told = parts.settings.feedback
    signals = (
        Signals(strength=told.strength, confidence=told.helpful, access=1, confirm=True)
        if helpful
        else Signals(confidence=-told.unhelpful, access=1)
    )
    clean = clean_text("note", note, NOTE_LIMIT) if note else ""
    return _one(parts, store, Rate(id=memory.id, helpful=helpful, signals=signals, note=clean))


def retire(parts: Parts, ref: Ref, status: Status) -> Memory:
    """Take a memory out of recall: archived, search still finds it; forgotten, it is hidden from everything."""
    store, memory = parts.find(ref)
    if memory.status is Status.FORGOTTEN and status is not Status.FORGOTTEN:
        raise InvalidInput("status", f"memory {memory.ref} is forgotten; restore it first")
    return _one(parts, store, Mark(id=memory.id, status=status))


def pin(parts: Parts, ref: Ref, *, pinned: bool) -> Memory:
    """Keep a memory always at hand, or let a pinned one be ordinary again; one that is not pinned stays as it is."""
    store, memory = parts.find(ref)
    if not pinned and memory.status is not Status.PINNED:
        return memory
    if not memory.active:
        raise InvalidInput("status", f"memory {memory.ref} is {memory.status}; restore it before pinning it")
    return _one(parts, store, Mark(id=memory.id, status=Status.PINNED if pinned else Status.CONFIRMED))


def restore(parts: Parts, ref: Ref) -> Memory:
    """Bring a memory that is not live back to the status it had when it last was."""
    store, memory = parts.find(ref)
    if memory.active:
        return memory
    if memory.status is Status.QUARANTINED:
        raise InvalidInput("status", f"memory {memory.ref} is quarantined; confirm it if you vouch for it")
    return _one(parts, store, Mark(id=memory.id, status=_last_live_status(store, memory)))


def _last_live_status(store: Store, memory: Memory) -> Status:
    """The status a memory had when it last held a place; what was kept apart before is kept apart again."""
    held = [version.memory.status for version in store.history(memory.id) if version.memory.status in OCCUPYING]
    return held[-1] if held else Status.CONFIRMED


def tag(parts: Parts, ref: Ref, *, add: Iterable[str], remove: Iterable[str]) -> Memory:
    """Add and remove tags."""
    store, memory = parts.find(ref)
    limits = parts.limits
    added, removed = clean_tags(tuple(add), limits), clean_tags(tuple(remove), limits)
    total = len({*memory.tags, *added} - set(removed))
    if total > limits.tags:
        raise TooLarge("tags", total, limits.tags, unit="tags", setting="write.tags_limit")
    return _one(parts, store, Retag(id=memory.id, add=added, remove=removed))


def link(parts: Parts, ref: Ref, target: Ref, *, kind: LinkKind, weight: float) -> Link:
    """Connect two memories of one space. What is superseded leaves recall."""
    store, memory, other = _pair(parts, ref, target)
    if memory.status is Status.QUARANTINED and kind in (LinkKind.SUPERSEDES, LinkKind.CONTRADICTS):
        raise InvalidInput("memory", f"memory {memory.ref} is quarantined; what nobody vouches for replaces nothing")
    made = Link(memory=memory.id, kind=kind, target=other.id, weight=share("weight", weight), made_by=parts.actor)
    changes: list[Change] = [Connect(link=made)]
    if kind is LinkKind.SUPERSEDES and other.status is not Status.FORGOTTEN:
        changes.append(Mark(id=other.id, status=Status.SUPERSEDED, superseded_by=memory.uid))
    outcome = store.apply(changes, actor=parts.actor, now=parts.clock()).outcomes[0]
    assert outcome.link is not None
    return outcome.link


def unlink(parts: Parts, ref: Ref, target: Ref, *, kind: LinkKind) -> None:
    """Take a connection away. What was superseded by it comes back."""
    store, memory, other = _pair(parts, ref, target)
    changes: list[Change] = [Disconnect(memory=memory.id, kind=kind, target=other.id)]
    if kind is LinkKind.SUPERSEDES and other.superseded_by == memory.uid:
        changes.append(Mark(id=other.id, status=_last_live_status(store, other)))
    store.apply(changes, actor=parts.actor, now=parts.clock())


def _pair(parts: Parts, ref: Ref, target: Ref) -> tuple[Store, Memory, Memory]:
    store, memory = parts.find(ref)
    elsewhere, other = parts.find(target)
    if store is not elsewhere:
        raise InvalidInput("target", "links never cross from a project to the global space or back")
    return store, memory, other


def _weigh(parts: Parts, ref: Ref, signals: Signals, action: str) -> Memory:
    store, memory = parts.find(ref)
    return _one(parts, store, Weigh(id=memory.id, signals=signals, action=action))


def _one(parts: Parts, store: Store, change: Change) -> Memory:
    memory = store.apply([change], actor=parts.actor, now=parts.clock()).outcomes[0].memory
    assert memory is not None
    return memory
