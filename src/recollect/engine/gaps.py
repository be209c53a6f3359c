"""Gaps: what was asked and nothing answered, logged with its context and looked at again when a session ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from ..codec import decode, encode
from ..model import Define
from ..policy.admit import clean_text
from ..policy.identity import fingerprint
from ..store import Store
from . import recall
from .parts import Parts
from .recall import Wish

SORT = "gap"
LONGEST = 2_000
MOST = 1_000
"""So many are kept; the oldest give way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something that memory did not know, in the context in which it was missed."""

    context: str
    at: datetime
    session: str = ""
    times: int = 1
    answered: bool = False
    """A memory answers it by now."""


def note(parts: Parts, context: str, *, session: str = "") -> Gap:
    """Log that nothing was known for a context. The same context once more is counted."""
    parts.switch.require_on()
    clean = clean_text("context", context[:LONGEST], LONGEST)
    store = parts.project()
    name = fingerprint(clean)
    there = {each.name: decode(Gap, each.value) for each in store.definitions(SORT)}
    gap = Gap(context=clean, at=parts.clock(), session=session[:256])
    if name in there:
        gap = replace(gap, times=there[name].times + 1)
    changes = [Define(sort=SORT, name=name, value=encode(gap))]
    others = sorted((known for known in there if known != name), key=lambda known: there[known].at)
    changes += [Define(sort=SORT, name=known) for known in others[: max(0, len(others) + 1 - MOST)]]
    store.apply(changes, actor=parts.actor, now=parts.clock())
    return gap


def gaps(store: Store, *, answered: bool = False) -> tuple[Gap, ...]:
    """The gaps that are open, or all, the latest first."""
    every = [decode(Gap, each.value) for each in store.definitions(SORT)]
    return tuple(sorted((gap for gap in every if answered or not gap.answered), key=lambda gap: gap.at, reverse=True))


def review(parts: Parts, session: str) -> int:
    """Look whether memory answers the gaps of a session by now. Returns how many are still open."""
    store = parts.project()
    still = 0
    for each in store.definitions(SORT):
        gap = decode(Gap, each.value)
        if gap.session != session or gap.answered:
            continue
        if recall.recall(parts, gap.context, Wish(limit=1)):
            known = Define(sort=SORT, name=each.name, value=encode(replace(gap, answered=True)))
            store.apply([known], actor=parts.actor, now=parts.clock())
        else:
            still += 1
    return still
