"""Tending: candidates that prove themselves, memories that have had their time, room that has to be made.

All of it is archiving and confirming, never deleting, and each time it is a plan that can be undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from ..model import (
    LIVE,
    Condition,
    Mark,
    Memory,
    MemoryId,
    Op,
    Order,
    Sight,
    Signals,
    Status,
    Step,
    StepState,
    Weigh,
    Where,
)
from ..policy.decay import crowded_out, due, expired, least_useful
from ..policy.promote import PENALTY, Quarantine, after_quarantine
from ..store import Store
from . import plans
from .parts import Parts

SORT = "tending"
EXPIRED = "expired"
UNPROVED = "unproved"
"""The sightings of memories past their TTL, and of candidates that lost importance because nobody used them."""
_PAGE = 2_000
_LIVE_WHERE = Condition("status", Op.IN, tuple(sorted(LIVE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tended:
    """What tending did."""

    confirmed: int = 0
    penalised: int = 0
    expired: int = 0
    evicted: int = 0
    pruned: int = 0
    seen: int = 0
    """Memories past their TTL that were seen so for the first time; they are archived if they still are in a day."""
    plan: int | None = None
    """The plan that undoes it, if anything was done."""


def tend(parts: Parts, store: Store, *, prune: bool = True) -> Tended:
    """Confirm and archive what is due in a space, as the settings say."""
    now = parts.clock()
    steps = list(_candidates(parts, store, now))
    overdue, fresh = _expired(parts, store, now)
    steps += [_archiving(each, "expire", "past the TTL of its kind for a day or longer") for each in overdue]
    gone = {each.id for each in overdue}
    steps += [_archiving(each, "evict", why) for each, why in _crowded(parts, store, now, gone)]
    gone |= {number for step in steps for number in step.retires}
    if prune:
        steps += [_archiving(each, "prune", why) for each, why in _outgrown(parts, store, now, gone)]
    plan = plans.propose(parts, store, SORT, steps) if steps else None
    if plan is not None:
        plans.perform(parts, store, plan, retiring=True, progress=plans.quiet)
        _note_penalised(parts, store, store.steps(plan, states=frozenset({StepState.DONE})))
    counts = {sort: sum(step.sort == sort for step in steps) for sort in ("confirm", "penalise", "evict", "prune")}
    return Tended(
        confirmed=counts["confirm"],
        penalised=counts["penalise"],
        expired=len(overdue),
        evicted=counts["evict"],
        pruned=counts["prune"],
        seen=fresh,
        plan=plan,
    )


def live_memories(store: Store, *where: Condition) -> Iterator[Memory]:
    """The live memories that pass conditions, oldest first, page by page."""
    above: Where = ()
    order = Order(field="id", newest_first=False)
    while page := store.query((_LIVE_WHERE, *where, *above), order=order, limit=_PAGE):
        yield from page
        above = (Condition("id", Op.GT, page[-1].id),)


def _candidates(parts: Parts, store: Store, now: datetime) -> Iterator[Step]:
    """The candidates whose time of waiting is over: the used are confirmed, the others lose a fifth, once."""
    penalised = store.sightings(UNPROVED)
    hours = parts.settings.promotion.quarantine_hours
    for memory in live_memories(store, Condition("status", Op.EQ, Status.CANDIDATE.value)):
        match after_quarantine(memory, now, hours=hours, penalised=memory.id in penalised):
            case Quarantine.CONFIRM:
                change: Mark | Weigh = Mark(id=memory.id, status=Status.CONFIRMED)
                yield _step(memory, "confirm", f"it was used within {hours:g} hours of waiting", change)
            case Quarantine.PENALISE:
                lost = memory.importance * (PENALTY - 1)
                change = Weigh(id=memory.id, signals=Signals(importance=lost), action="penalise")
                yield _step(memory, "penalise", f"nobody used it within {hours:g} hours", change)


def _note_penalised(parts: Parts, store: Store, steps: Iterable[Step]) -> None:
    lost = tuple(number for step in steps if step.sort == "penalise" for number, _ in step.expects)
    if lost:
        store.apply([Sight(sort=UNPROVED, seen=lost)], actor=parts.actor, now=parts.clock())


def _expired(parts: Parts, store: Store, now: datetime) -> tuple[list[Memory], int]:
    """What is past its TTL and was so a day ago; and how many are seen to be so for the first time."""
    table = parts.kinds
    past = {
        memory.id: memory
        for memory in live_memories(store, Condition("origin", Op.IN, ("extracted", "inferred")))
        if expired(memory, now, table)
    }
    since = store.sightings(EXPIRED)
    overdue = due(past, since, now)
    first = tuple(number for number in past if number not in since or since[number] > now)
    # What is about to be archived is not seen any more either, should it come back.
    over = tuple(number for number in since if number not in past or number in overdue)
    if first or over:
        store.apply([Sight(sort=EXPIRED, seen=first, gone=over)], actor=parts.actor, now=now)
    return [past[number] for number in sorted(overdue)], len(first)


def _crowded(parts: Parts, store: Store, now: datetime, gone: set[MemoryId]) -> Iterator[tuple[Memory, str]]:
    """What has to make room where there are more memories than the soft limit."""
    capacity = parts.settings.capacity
    if not capacity.soft_limit or plans.live_count(store) - len(gone) <= capacity.soft_limit:
        return
    left = (memory for memory in live_memories(store) if memory.id not in gone)
    why = f"more than {capacity.soft_limit:,} memories, and it is among the least important"
    for memory in crowded_out(left, now, keep=capacity.evict_to):
        yield memory, why


def _outgrown(parts: Parts, store: Store, now: datetime, gone: set[MemoryId]) -> Iterator[tuple[Memory, str]]:
    """The bottom percent, where what is live takes more than the store may.

    What is archived takes room too, so only the share of what is live counts: a store would else be archived whole.
    """
    told = parts.settings.prune
    every, live = store.count(), plans.live_count(store) - len(gone)
    if not told.max_size or not every or store.size() * live / every <= told.max_size:
        return
    left = (memory for memory in live_memories(store) if memory.id not in gone)
    why = f"the store is larger than {told.max_size:,} bytes, and it is in the bottom {told.percent:g} percent"
    for memory in least_useful(left, now, percent=told.percent):
        yield memory, why


def _archiving(memory: Memory, sort: str, why: str) -> Step:
    step = _step(memory, sort, why, Mark(id=memory.id, status=Status.ARCHIVED))
    return Step(
        sort=step.sort,
        key=step.key,
        why=step.why,
        changes=step.changes,
        expects=step.expects,
        retires=(memory.id,),
    )


def _step(memory: Memory, sort: str, why: str, change: Mark | Weigh) -> Step:
    return Step(
        sort=sort, key=f"{sort} {memory.uid}", why=why, changes=(change,), expects=((memory.id, memory.version),)
    )
