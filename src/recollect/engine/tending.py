"""Tending: candidates that prove themselves, memories that have had their time, room that has to be made.

All of it is archiving and confirming, never deleting, and each time it is a plan that can be undone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
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
"""The sort of sighting that memories past their TTL are noted under."""
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
    overdue, fresh = _expired(parts, store, now)
    bed = _Bed(store)
    for memory in overdue:
        bed.archive(memory, "expire", "past the TTL of its kind for a day or longer")
    for memory, why in _crowded(parts, store, now, bed.gone):
        bed.archive(memory, "evict", why)
    if prune:
        for memory, why in _outgrown(parts, store, now, bed.gone):
            bed.archive(memory, "prune", why)
    bed.steps += [step for step in _candidates(parts, store, now) if step.expects[0][0] not in bed.gone]
    plan = plans.propose(parts, store, SORT, bed.steps) if bed.steps else None
    done: tuple[Step, ...] = ()
    if plan is not None:
        plans.perform(parts, store, plan, retiring=True, progress=plans.quiet)
        done = store.steps(plan, states=frozenset({StepState.DONE}))
    counts = Counter(step.sort for step in done)
    return Tended(
        confirmed=counts["confirm"],
        penalised=counts["penalise"],
        expired=counts["expire"],
        evicted=counts["evict"],
        pruned=counts["prune"],
        seen=fresh,
        plan=plan,
    )


class _Bed:
    """The steps that archive, one a memory, and none that somebody has refused or undone before."""

    def __init__(self, store: Store) -> None:
        self.steps: list[Step] = []
        self.gone: set[MemoryId] = set()
        self._unwanted = store.step_keys(frozenset({StepState.REFUSED, StepState.UNDONE}))

    def archive(self, memory: Memory, sort: str, why: str) -> None:
        """Plan to archive a memory."""
        step = _archiving(memory, sort, why)
        if step.key not in self._unwanted:
            self.steps.append(step)
            self.gone.add(memory.id)


def live_memories(store: Store, *where: Condition) -> Iterator[Memory]:
    """The live memories that pass conditions, oldest first, page by page."""
    above: Where = ()
    order = Order(field="id", newest_first=False)
    while page := store.query((_LIVE_WHERE, *where, *above), order=order, limit=_PAGE):
        yield from page
        above = (Condition("id", Op.GT, page[-1].id),)


def _candidates(parts: Parts, store: Store, now: datetime) -> Iterator[Step]:
    """The candidates whose time of waiting is over: the used are confirmed, the others lose a fifth, once."""
    over = frozenset({StepState.DONE, StepState.UNDONE, StepState.REFUSED})
    penalised = store.step_keys(over, sort="penalise")
    hours = parts.settings.promotion.quarantine_hours
    for memory in live_memories(store, Condition("status", Op.EQ, Status.CANDIDATE.value)):
        match after_quarantine(memory, now, hours=hours, penalised=f"penalise {memory.uid}" in penalised):
            case Quarantine.CONFIRM:
                change: Mark | Weigh = Mark(id=memory.id, status=Status.CONFIRMED)
                yield _step(memory, "confirm", f"it was used within {hours:g} hours of waiting", change)
            case Quarantine.PENALISE:
                lost = memory.importance * (PENALTY - 1)
                change = Weigh(id=memory.id, signals=Signals(importance=lost), action="penalise")
                yield _step(memory, "penalise", f"nobody used it within {hours:g} hours", change)


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
