"""Patience: what fails is left alone for a while, what fails again and again for good, and what is slow does less.

A kind of work whose breaker is open is not tried until a pause is over; then one process tries once, and the pause
doubles as long as that fails. An item that was tried so often is parked: it waits until somebody looks at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Literal, TypeAlias

OPENS = 5
"""After how many failures in a row a breaker opens."""
PAUSE = timedelta(seconds=30)
"""How long it stays open first."""
LONGEST = timedelta(hours=1)
"""How long it stays open at most before another try."""
MOST_TRIES = 5
"""How often an item is tried before it is parked."""
ITEMS_KEPT = 1_000
"""Of how many items the tries are kept."""

State: TypeAlias = Literal["closed", "open", "probing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """What is known of the failures of one kind of work."""

    kind: str
    failures: int = 0
    """How many there were in a row."""
    until: datetime | None = None
    """Before this moment it is not tried again."""
    probing: bool = False
    """Whether somebody is trying it again just now."""

    @property
    def state(self) -> State:
        """Whether work goes on as ever, waits, or is being tried again."""
        if self.until is None:
            return "closed"
        return "probing" if self.probing else "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """How often an item was tried in vain, and what went wrong last."""

    item: str
    count: int
    last: datetime
    why: str = ""

    @property
    def parked(self) -> bool:
        """Whether it is left alone from now on."""
        return self.count >= MOST_TRIES


def admitted(breaker: Breaker, now: datetime) -> Breaker | None:
    """The breaker after somebody begins, or None where it has to wait.

    Once the pause is over one may try; the others wait as long again, in case that one never comes back.
    """
    if breaker.until is None:
        return breaker
    ahead = breaker.until - now
    if timedelta(0) < ahead <= LONGEST:  # further ahead than any pause is a clock that was set back
        return None
    return replace(breaker, until=now + _pause(breaker.failures), probing=True)


def after_failure(breaker: Breaker, now: datetime) -> Breaker:
    """The breaker once a piece of work has failed."""
    failures = breaker.failures + 1
    until = now + _pause(failures) if failures >= OPENS else None
    return replace(breaker, failures=failures, until=until, probing=False)


def tried(known: Sequence[Tries], item: str, why: str, now: datetime) -> tuple[Tries, ...]:
    """The tries once an item was tried in vain once more; the longest ago leave first, and parked ones last."""
    before = next((each.count for each in known if each.item == item), 0)
    others = [each for each in known if each.item != item]
    if len(others) >= ITEMS_KEPT:
        others.sort(key=lambda each: (each.parked, each.last))
        del others[: len(others) - ITEMS_KEPT + 1]
    return (*others, Tries(item=item, count=before + 1, last=now, why=why))


def percentile(latencies: Sequence[float], share: float = 0.95) -> float:
    """The latency that this share of them does not exceed; 0 of none."""
    ranked = sorted(latencies)
    return ranked[max(0, ceil(share * len(ranked)) - 1)] if ranked else 0.0


def is_slow(latencies: Sequence[float], was: bool, *, least: int, degrade: float, healthy: float) -> bool:
    """Whether less is to be done, given whether less is done now. Between the thresholds, and where fewer than `least`
    were timed, it stays as it is."""
    if len(latencies) < least:
        return was
    high = percentile(latencies)
    return high > degrade or (was and high >= healthy)


def _pause(failures: int) -> timedelta:
    doubled = min(max(0, failures - OPENS), 16)
    return min(PAUSE * (1 << doubled), LONGEST)
