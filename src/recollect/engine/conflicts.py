"""Conflicts: memories that contradict each other, and how somebody settles which of them holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..errors import InvalidInput, NotFound
from ..model import (
    Change,
    Connect,
    Define,
    Disconnect,
    Link,
    LinkKind,
    Mark,
    Memory,
    MemoryId,
    Status,
    Step,
    StepState,
)
from ..store import Store
from . import plans
from .parts import Parts, Ref

SORT = "conflict"
SETTLED = "settled"
"""The sort of definition that keeps two memories from being taken for a conflict again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two live memories of which not both can hold, the older first."""

    older: Memory
    newer: Memory
    since: datetime | None
    found_by: str


def conflicts(store: Store) -> tuple[Conflict, ...]:
    """The conflicts of a space that are open, the newest first."""
    found = []
    for link in store.links(kinds=frozenset({LinkKind.CONTRADICTS})):
        ends = [store.get(MemoryId(int(end))) for end in (link.memory, link.target)]
        live = sorted((end for end in ends if end is not None and end.active), key=lambda end: (end.created_at, end.id))
        if len(live) == len(ends):
            found.append(Conflict(older=live[0], newer=live[1], since=link.created_at, found_by=link.made_by))
    pairs = {(each.older.id, each.newer.id): each for each in found}
    return tuple(sorted(pairs.values(), key=lambda each: (each.newer.id, each.older.id), reverse=True))


def pair_key(one: Memory, other: Memory) -> str:
    """What two memories are known by, whichever is named first."""
    return " ".join(sorted((one.uid, other.uid)))


def settled(store: Store) -> frozenset[str]:
    """The pairs that somebody said are no conflict."""
    return frozenset(each.name for each in store.definitions(SETTLED))


def resolve(parts: Parts, ref: Ref, other: Ref, *, keep: str) -> int:
    """Settle a conflict: keep the `first` of the two, the `second`, `both` or `neither`. Returns what undoes it.

    What is not kept is superseded by what is, or archived where neither is kept. Nothing is deleted.
    """
    store, one = parts.find(ref)
    elsewhere, two = parts.find(other)
    if store is not elsewhere or one.id == two.id:
        raise InvalidInput("other", "a conflict is between two memories of one space")
    links = _between(store, one, two) if one.active and two.active else []
    if not links:
        raise NotFound("conflict", f"between {one.ref} and {two.ref}")
    changes: list[Change] = [Disconnect(memory=link.memory, kind=link.kind, target=_id(link)) for link in links]
    changes += _kept(one, two, keep, parts.actor)
    retired = tuple(change.id for change in changes if isinstance(change, Mark))
    step = Step(
        sort="resolve",
        key=pair_key(one, two),
        why=f"{parts.actor} kept {_WORDS[keep].format(one=one.ref, two=two.ref)}",
        changes=tuple(changes),
        expects=((one.id, one.version), (two.id, two.version)),
        retires=retired,
    )
    plan = plans.propose(parts, store, SORT, [step])
    done = plans.perform(parts, store, plan, retiring=True, progress=plans.quiet)
    if not done.done:
        raise NotFound("conflict", f"between {one.ref} and {two.ref}: somebody has just changed one of them")
    return plan


_WORDS = {"first": "{one} over {two}", "second": "{two} over {one}", "both": "both", "neither": "neither"}


def _kept(one: Memory, two: Memory, keep: str, actor: str) -> list[Change]:
    match keep:
        case "first":
            return _superseding(one, two, actor)
        case "second":
            return _superseding(two, one, actor)
        case "both":
            return [Define(sort=SETTLED, name=pair_key(one, two), value={"kept": "both"})]
        case "neither":
            return [Mark(id=each.id, status=Status.ARCHIVED) for each in (one, two)]
    raise InvalidInput("keep", f"{keep!r} is not one of first, second, both, neither")


def _superseding(kept: Memory, gone: Memory, actor: str) -> list[Change]:
    return [
        Connect(link=Link(memory=kept.id, kind=LinkKind.SUPERSEDES, target=gone.id, made_by=actor)),
        Mark(id=gone.id, status=Status.SUPERSEDED, superseded_by=kept.uid),
    ]


def reopen(parts: Parts, ref: Ref, other: Ref) -> None:
    """Undo how a conflict was settled: both are as they were, and it is open again."""
    store, one = parts.find(ref)
    _, two = parts.find(other)
    key = pair_key(one, two)
    for plan in store.plans(limit=plans.LOOKED_BACK):
        if plan.sort != SORT or not plan.states.get(StepState.DONE):
            continue
        if any(step.key == key for step in store.steps(plan.id)):
            if plans.undo(parts, store, plan.id, progress=plans.quiet).kept:
                raise InvalidInput("conflict", "one of the two was changed since; undoing would undo that too")
            return
    raise NotFound("conflict", f"between {one.ref} and {two.ref} that was settled")


def _between(store: Store, one: Memory, two: Memory) -> list[Link]:
    links = store.links(one.id, kinds=frozenset({LinkKind.CONTRADICTS}))
    return [link for link in links if {link.memory, link.target} == {one.id, two.id}]


def _id(link: Link) -> MemoryId:
    assert isinstance(link.target, int)
    return MemoryId(link.target)
