"""What time does to a memory: functions of what is stored and of now, never written back.

Also which memories have had their time. Nothing here deletes: what expires or has to make room goes to the archive.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from ..model import Memory, MemoryId, Origin, Status
from .kinds import KINDS, KindTable, half_life_days

WEEKLY = 0.95
"""What is left of importance after a week without use."""
CANDIDATE = 0.9
"""How much less a memory counts that has yet to prove itself."""
SURVIVES = 3
"""A memory that was used so often outlives its TTL."""
RECENT = timedelta(hours=24)
"""What was made or used so recently does not have to make room."""
SIGHTINGS_APART = timedelta(hours=24)
"""How far apart the two times must be at which a memory was seen to have expired."""
EXPIRING = frozenset({Origin.EXTRACTED, Origin.INFERRED})
"""Only what the machine made of something expires by age; what somebody said does not."""


def age_days(since: datetime, now: datetime) -> float:
    """Days from then to now, never negative: a clock that was set back makes nothing younger than new."""
    return max(0.0, (now - since).total_seconds() / 86_400)


def confidence_at(memory: Memory, now: datetime, table: KindTable = KINDS) -> float:
    """How sure a memory still is: its confidence, faded with age, helped by use, weighed by trust in where it is from.

    confidence * e^(-age / half-life) * (1 + 0.1 ln(uses + 1)) * trust, between 0 and 1; the age counts from when
    somebody last vouched for it.
    """
    age = age_days(memory.confirmed_at or memory.created_at, now)
    fading = math.exp(-age / half_life_days(memory.kind, memory.origin, table))
    use = 1 + 0.1 * math.log(memory.access_count + 1)
    return max(0.0, min(1.0, memory.confidence * fading * use * memory.trust))


def importance_at(memory: Memory, now: datetime) -> float:
    """How important a memory still is: 5 % less for each week without use, resisted by use; what is pinned stays.

    importance * 0.95^(days since use / 7) * 0.9 for a candidate * min(1, 0.5 + 0.05 * uses)
    """
    if memory.status is Status.PINNED:
        return memory.importance
    unused: float = WEEKLY ** (age_days(memory.accessed_at or memory.created_at, now) / 7)
    standing = CANDIDATE if memory.status is Status.CANDIDATE else 1.0
    return memory.importance * unused * standing * min(1.0, 0.5 + 0.05 * memory.access_count)


def expired(memory: Memory, now: datetime, table: KindTable = KINDS) -> bool:
    """Whether a memory is past the TTL of its kind, counted from when somebody last vouched for it.

    Never what is pinned, what was used three times, or what anybody stated, observed or imported.
    """
    ttl = table[memory.kind].ttl_days
    if ttl is None or memory.origin not in EXPIRING or not memory.active or memory.status is Status.PINNED:
        return False
    return memory.access_count < SURVIVES and age_days(memory.confirmed_at or memory.created_at, now) > ttl


def due(seen: Collection[MemoryId], since: Mapping[MemoryId, datetime], now: datetime) -> frozenset[MemoryId]:
    """Which of the memories that are seen to have expired now were seen so a day ago or longer.

    A clock that jumps ahead makes everything look old at once; so one look is not enough.
    """
    return frozenset(each for each in seen if each in since and now - since[each] >= SIGHTINGS_APART)


def crowded_out(memories: Iterable[Memory], now: datetime, *, keep: int) -> list[Memory]:
    """Which memories have to make room so that `keep` are left, the least important first.

    Never what is pinned, nor what was made or used within a day; so more than `keep` may be left.
    """
    there = list(memories)
    movable = [memory for memory in there if memory.status is not Status.PINNED and not _recent(memory, now)]
    movable.sort(key=lambda memory: (importance_at(memory, now), memory.created_at, memory.id))
    return movable[: max(0, len(there) - keep)]


def least_useful(memories: Iterable[Memory], now: datetime, *, percent: float) -> list[Memory]:
    """The bottom percent by score and recency: e^(0.2 * score) / (1 + 0.01 * days since use), the lowest first.

    Never what is pinned, nor what was made or used within a day.
    """
    there = list(memories)
    movable = [memory for memory in there if memory.status is not Status.PINNED and not _recent(memory, now)]
    movable.sort(key=lambda memory: (_usefulness(memory, now), memory.created_at, memory.id))
    return movable[: math.ceil(len(there) * percent / 100)]


def _usefulness(memory: Memory, now: datetime) -> float:
    # The score is bounded: beyond a hundred in either direction nothing is decided any more.
    weight = math.exp(0.2 * max(-100, min(100, memory.score)))
    return weight / (1 + 0.01 * age_days(memory.last_hit_at or memory.created_at, now))


def _recent(memory: Memory, now: datetime) -> bool:
    return now - max(memory.created_at, memory.accessed_at or memory.created_at) < RECENT
