"""The review inbox: what waits for somebody to decide."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from ..model import Condition, Corpus, Memory, Op, Plan, Status, StepState, Where
from ..policy.access import PROPOSED
from ..policy.decay import age_days
from ..policy.render import one_line
from ..store import Store
from . import anchors, conflicts, plans
from .conflicts import Conflict
from .parts import Parts
from .tending import live_memories

MOST_STALE = 200
"""How many stale memories are looked at for whether recent sessions still speak of them."""
RECENT_SESSIONS = timedelta(days=30)
STILL_SPOKEN_OF = 0.6
"""How close a turn of a recent session must be for a memory to be spoken of still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleMemory:
    """A memory that may have had its time, and why."""

    memory: Memory
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """What waits for a decision in a space."""

    candidates: tuple[Memory, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    plans: tuple[Plan, ...] = ()
    """Plans with steps that nobody has agreed to yet."""
    stale: tuple[StaleMemory, ...] = ()
    quarantined: tuple[Memory, ...] = ()
    proposed: tuple[Memory, ...] = ()
    """What an agent would have hold everywhere."""

    @property
    def prompt(self) -> str:
        """What an agent is told to do about the stale ones; "" where there are none."""
        if not self.stale:
            return ""
        lines = [
            f"- [id:{each.memory.ref}] {one_line(each.memory.content)} ({one_line(each.why)})" for each in self.stale
        ]
        return "\n".join(
            (
                "These memories may be out of date. Keep what still holds (reinforce it), put right what has changed "
                "(update it), and forget what no longer does. Leave alone what you cannot judge.",
                *lines,
            )
        )


def inbox(parts: Parts, store: Store, root: Path | None) -> Inbox:
    """What waits for a decision in a space: candidates, proposals, conflicts, plans, what is stale."""
    return Inbox(
        candidates=tuple(live_memories(store, Condition("status", Op.EQ, Status.CANDIDATE.value))),
        conflicts=conflicts.conflicts(store),
        plans=tuple(plan for plan in store.plans(limit=plans.LOOKED_BACK) if plan.states.get(StepState.PROPOSED)),
        stale=tuple(stale(parts, store, root)),
        quarantined=store.query((Condition("status", Op.EQ, Status.QUARANTINED.value),), limit=None),
        proposed=tuple(live_memories(store, Condition("tags", Op.EQ, PROPOSED))),
    )


def stale(parts: Parts, store: Store, root: Path | None) -> list[StaleMemory]:
    """The memories that nobody has referred to for long, or whose files have changed; offered, never taken away."""
    now = parts.clock()
    days = parts.settings.garden.stale_days
    tree = anchors.WorkingTree.read(root) if root is not None else None
    found, unused = [], []
    for memory in live_memories(store, Condition("owner", Op.EQ, "")):
        if memory.status is Status.PINNED:
            continue
        changed = [each for each in anchors.check(memory, tree) if each.state != "unknown"] if tree else []
        if changed:
            found.append(StaleMemory(memory=memory, why="; ".join(anchors.told(each) for each in changed)))
        elif age_days(last_reference(memory), now) >= days:
            unused.append(memory)
    unused.sort(key=lambda memory: (last_reference(memory), memory.id))
    for memory in unused[:MOST_STALE]:
        if not _spoken_of(parts, store, memory, now):
            since = last_reference(memory)
            found.append(StaleMemory(memory=memory, why=f"nobody has referred to it since {since:%Y-%m-%d}"))
    return found


def last_reference(memory: Memory) -> datetime:
    """When a memory was last made, changed, vouched for or used."""
    times = (memory.updated_at, memory.accessed_at, memory.confirmed_at, memory.last_hit_at)
    return max(time for time in (memory.created_at, *times) if time is not None)


def _spoken_of(parts: Parts, store: Store, memory: Memory, now: datetime) -> bool:
    """Whether a recent session speaks of what a memory is about."""
    embedder = parts.meaning.serving(store, Corpus.SESSIONS) if parts.meaning.on else None
    if embedder is None or not embedder.local:
        return False
    _, rows = store.vectors(embedder.model, corpus=Corpus.MEMORY, items=[memory.id])
    if not len(rows):
        return False
    where: Where = (Condition("at", Op.GTE, now - RECENT_SESSIONS),)
    near = store.nearest(rows[0], model=embedder.model, corpus=Corpus.SESSIONS, where=where, limit=1)
    return bool(near) and near[0].cosine >= STILL_SPOKEN_OF
