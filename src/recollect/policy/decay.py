"""What time does to a memory's signals: functions of what is stored and of now, never written back."""

from __future__ import annotations

import math
from datetime import datetime

from ..model import Memory
from .kinds import half_life_days


def age_days(since: datetime, now: datetime) -> float:
    """Days from then to now, never negative: a clock that was set back makes nothing younger than new."""
    return max(0.0, (now - since).total_seconds() / 86_400)


def confidence_at(memory: Memory, now: datetime) -> float:
    """How sure a memory still is: its confidence, faded with age, helped by use, weighed by trust in where it is from.

    confidence * e^(-age / half-life) * (1 + 0.1 ln(uses + 1)) * trust, between 0 and 1; the age counts from when
    somebody last vouched for it.
    """
    age = age_days(memory.confirmed_at or memory.created_at, now)
    fading = math.exp(-age / half_life_days(memory.kind, memory.origin))
    use = 1 + 0.1 * math.log(memory.access_count + 1)
    return max(0.0, min(1.0, memory.confidence * fading * use * memory.trust))
