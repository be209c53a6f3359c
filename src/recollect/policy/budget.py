"""How many tokens what is given to an agent may take, how they are divided, and what goes in.

`allocate` says how much each part of a recollection may take, from how much context is left. `shares` divides a budget
among task, project and global memory, and `learned` moves that division towards what proved useful. `pack` fills parts
with whole items. Not here: how many tokens a text is; `policy.tokens` estimates that.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Literal, TypeAlias, TypeVar

from ..errors import InvalidInput
from ..model import Allocation, Scope, Tier

# --- The parts of a recollection ------------------------------------------------------------------------------------


class Part(StrEnum):
    """What has a ceiling of its own in an `Allocation`, in the order in which parts are filled."""

    PINNED = "pinned"
    BRIDGE = "bridge"
    FOUND = "found"
    SUMMARY = "summary"


PART_OF: dict[Tier, Part] = {
    Tier.PINNED: Part.PINNED,
    Tier.ACTING: Part.PINNED,
    Tier.FOUND: Part.FOUND,
    Tier.BRIDGE: Part.BRIDGE,
    Tier.SUMMARY: Part.SUMMARY,
}
"""Which part's tokens each tier takes."""

_CEILING = 5_000
_UNKNOWN = 100_000
"""How much context is taken to be left when nobody knows."""

_WISHES = (0, 640, 1_600, 4_000, 8_000)
"""What 8 % of 0, 8k, 20k, 50k and 100k tokens come to, before the ceiling."""

_MOST = {
    Part.PINNED: (0, 200, 200, 320, 400),
    Part.BRIDGE: (0, 500, 700, 1_840, 2_300),
    Part.FOUND: (0, 300, 500, 1_196, 1_500),
    Part.SUMMARY: (0, 200, 200, 600, 600),
}
"""The most tokens of each part at each of these, under a ceiling of 5,000."""


def allocate(
    remaining: int | None,
    *,
    share: float = 0.08,
    ceiling: int = _CEILING,
    pinned: int | None = None,
    bridge: int | None = None,
    found: int | None = None,
    summary: int | None = None,
) -> Allocation:
    """How much may be given when so much context is left; None is taken for 100,000 tokens, less than none for none.

    | left | total | pinned | bridge | found | summary |
    |---|---|---|---|---|---|
    | 100k | 5000 | 400 | 2300 | 1500 | 600 |
    | 50k | 4000 | 320 | 1840 | 1196 | 600 |
    | 20k | 1600 | 200 | 700 | 500 | 200 |
    | 8k | 640 | 200 | 500 | 300 | 200 |

    The total is a share of what is left, up to the ceiling. Each part is linear between the rows, falls to nothing with
    the total below the last row and stays as it is above the first. A part is a ceiling: all of them together may be
    more than the total.

    With another `share` the table is read where 8 % comes to as much: with twice the share, at twice the size. With
    another `ceiling` the whole table is drawn to that scale, sizes and tokens alike. A part that is named has that
    ceiling instead of the table's, and no part has more than the total.
    """
    if not (math.isfinite(share) and 0 < share <= 1):
        raise InvalidInput("share", f"{share!r} is not above 0 and at most 1")
    own = {Part.PINNED: pinned, Part.BRIDGE: bridge, Part.FOUND: found, Part.SUMMARY: summary}
    for name, tokens in [("ceiling", ceiling), *own.items()]:
        if tokens is not None and tokens < 0:
            raise InvalidInput(name, f"{tokens!r} tokens are less than none")
    wish = max(0, _UNKNOWN if remaining is None else remaining) * share
    total = _whole(min(wish, ceiling))
    if not total:
        return Allocation(total=0, pinned=0, bridge=0, found=0, summary=0)
    scale = ceiling / _CEILING

    def most(part: Part) -> int:
        named = own[part]
        return min(total, _whole(_between(_MOST[part], wish / scale) * scale) if named is None else named)

    return Allocation(
        total=total,
        pinned=most(Part.PINNED),
        bridge=most(Part.BRIDGE),
        found=most(Part.FOUND),
        summary=most(Part.SUMMARY),
    )


def ceilings_of(allocation: Allocation) -> dict[Part, int]:
    """The ceiling of each part, in the order in which parts are filled."""
    return {
        Part.PINNED: allocation.pinned,
        Part.BRIDGE: allocation.bridge,
        Part.FOUND: allocation.found,
        Part.SUMMARY: allocation.summary,
    }


def _between(values: Sequence[int], wish: float) -> float:
    """A part's tokens at a wish, on the line between its neighbours in the table."""
    if wish >= _WISHES[-1]:
        return values[-1]
    above = max(1, bisect_left(_WISHES, wish))
    low, high = _WISHES[above - 1], _WISHES[above]
    return values[above - 1] + (values[above] - values[above - 1]) * ((wish - low) / (high - low))


def _whole(tokens: float) -> int:
    """Whole tokens, no more than there are: what floating point lost below a whole number is given back first."""
    return math.floor(tokens + 1e-9)


# --- Shares of the tiers --------------------------------------------------------------------------------------------

SHARES: dict[Scope, float] = {Scope.TASK: 0.4, Scope.PROJECT: 0.4, Scope.GLOBAL: 0.2}
"""How a budget is divided unless a profile, a request or experience says otherwise."""

_SLACK = 1e-9
"""By how much shares that were written as decimals may miss 1."""


def shares(budget: int, *, task: float = 0.4, project: float = 0.4, shared: float = 0.2) -> dict[Scope, int]:
    """The tokens of task, project and global (`shared`) memory out of a budget, in the order in which they are filled.

    Together they are never more than the budget: shares that come to more than 1 are scaled down to it. Ones that come
    to less leave the rest to nobody.
    """
    if budget < 0:
        raise InvalidInput("budget", f"{budget!r} tokens are less than none")
    wishes = {Scope.TASK: task, Scope.PROJECT: project, Scope.GLOBAL: shared}
    _check_shares(wishes)
    together = max(1.0, sum(wishes.values()))
    left = budget
    tokens = {}
    for scope, share in wishes.items():
        tokens[scope] = min(left, _whole(budget * (share / together)))
        left -= tokens[scope]
    return tokens


def settled(
    *,
    profile: Mapping[Scope, float] | None = None,
    request: Mapping[Scope, float] | None = None,
    base: Mapping[Scope, float] = SHARES,
) -> dict[Scope, float]:
    """The shares that hold for a request: the base, changed by the agent's profile, changed by the request.

    Each time, a share that is named is as it is named, and the others divide the rest among them in proportion to what
    they had. Shares that are named in one place and leave nothing for the others are refused.
    """
    held = dict(base)
    for field, wishes in (("profile", profile), ("request", request)):
        if not wishes:
            continue
        _check_shares(wishes)
        if unknown := [scope for scope in wishes if scope not in held]:
            raise InvalidInput(field, f"{unknown[0]!r} has no share of the budget")
        others = sum(share for scope, share in held.items() if scope not in wishes)
        rest = 1 - sum(wishes.values())
        if rest < -_SLACK or (others and rest <= _SLACK):
            raise InvalidInput(field, "its shares leave nothing for the others" if others else "its shares are over 1")
        held = {scope: wishes[scope] if scope in wishes else rest * share / others for scope, share in held.items()}
    return held


def _check_shares(wishes: Mapping[Scope, float]) -> None:
    for scope, share in wishes.items():
        if not (math.isfinite(share) and share > 0):
            raise InvalidInput(str(scope), f"{share!r} is no share of a budget")


# --- Shares that learn ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How many tokens of a tier were given, and how many of them were of items that helped or were used."""

    given: int = 0
    useful: int = 0


_FEW = 5_000
"""As many tokens with average luck are added to what is known of a tier, so that a few items prove little."""


def learned(
    shares: Mapping[Scope, float],
    used: Mapping[Scope, Use],
    *,
    base: Mapping[Scope, float] = SHARES,
    least: float = 0.1,
    most: float = 0.7,
    weight: float = 0.2,
) -> dict[Scope, float]:
    """Shares that have moved a little from where they are towards what proved useful. They sum to 1.

    With r = Σ useful / Σ given over all tiers, a tier's rate is rₖ = (usefulₖ + 5000 r) / (givenₖ + 5000). The aim is
    baseₖ · rₖ / r, scaled to sum to 1, and the shares go `weight` of the way to it. Then all are shifted by one amount
    and held between `least` and `most` so that they sum to 1 again. The aim hangs on the base and not on the shares, so
    a tier does not gain from having been given more; without evidence, or when nothing was useful, the aim is the base.
    """
    if not shares or shares.keys() != base.keys():
        raise InvalidInput("shares", "are not of the tiers that the base divides")
    if not (0 < least <= (1 + _SLACK) / len(shares) and 1 >= most >= (1 - _SLACK) / len(shares)):
        raise InvalidInput("least, most", f"{len(shares)} shares from {least!r} to {most!r} cannot sum to 1")
    if not 0 <= weight <= 1:
        raise InvalidInput("weight", f"{weight!r} is not from 0 to 1")
    _check_shares(shares)
    _check_shares(base)
    uses = {scope: used.get(scope, Use()) for scope in shares}
    for scope, use in uses.items():
        if not 0 <= use.useful <= use.given:
            raise InvalidInput(str(scope), f"{use.useful!r} useful tokens of {use.given!r} cannot be")
    now = _scaled(shares)
    aim = _scaled({scope: base[scope] * luck for scope, luck in _lucks(uses).items()})
    return _held({scope: now[scope] + weight * (aim[scope] - now[scope]) for scope in now}, least, most)


def _lucks(uses: Mapping[Scope, Use]) -> dict[Scope, float]:
    """How many times as useful as the average token one of each tier is; 1 where nothing is known."""
    given = sum(use.given for use in uses.values())
    useful = sum(use.useful for use in uses.values())
    if not useful:
        return dict.fromkeys(uses, 1.0)
    average = useful / given
    return {scope: (use.useful / average + _FEW) / (use.given + _FEW) for scope, use in uses.items()}


def _scaled(shares: Mapping[Scope, float]) -> dict[Scope, float]:
    together = sum(shares.values())
    return {scope: share / together for scope, share in shares.items()}


def _held(shares: Mapping[Scope, float], least: float, most: float) -> dict[Scope, float]:
    """The nearest shares within bounds that sum to 1: all shifted by the same amount, then held."""

    def shifted(by: float) -> dict[Scope, float]:
        return {scope: min(most, max(least, share + by)) for scope, share in shares.items()}

    low, high = -1.0, 1.0
    for _ in range(60):  # halves the interval to less than a float can tell apart
        middle = (low + high) / 2
        if sum(shifted(middle).values()) < 1:
            low = middle
        else:
            high = middle
    return shifted(high)


# --- Packing --------------------------------------------------------------------------------------------------------

_Item = TypeVar("_Item")
_Part = TypeVar("_Part", bound=Hashable)

_Reason: TypeAlias = Literal["over the part's budget", "over the total"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut(Generic[_Item]):
    """An item that did not fit, and where."""

    item: _Item
    reason: _Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed(Generic[_Item]):
    """What went in and what did not, each in the order in which it was handed in."""

    chosen: tuple[_Item, ...]
    left: tuple[LeftOut[_Item], ...]
    tokens: int
    """Of what was chosen."""
    compression: float
    """The tokens that were chosen, as a share of all that were there; 1 where there were none."""


def pack(
    candidates: Sequence[_Item],
    *,
    tokens: Callable[[_Item], int],
    part: Callable[[_Item], _Part],
    ceilings: Mapping[_Part, int],
    total: int,
    head_tail: int = 0,
) -> Packed[_Item]:
    """Whole items, in order of preference, as long as they fit into their part and into the total.

    Parts are filled in the order of `ceilings`. What does not fit is skipped and smaller ones after it may still go in;
    so an item is left out only for what was preferred to it. The first and the last `head_tail` of all candidates come
    before those between them, whatever their part.
    """
    places = {name: place for place, name in enumerate(ceilings)}
    costs = [tokens(item) for item in candidates]
    parts = [part(item) for item in candidates]
    _check_packing(costs, parts, places, head_tail)

    def turn(at: int) -> tuple[bool, int, int]:
        between = bool(head_tail) and head_tail <= at < len(candidates) - head_tail
        return between, places[parts[at]], at

    rooms = dict(ceilings)
    room = total
    reasons: dict[int, _Reason] = {}
    for at in sorted(range(len(candidates)), key=turn):
        if costs[at] > rooms[parts[at]]:
            reasons[at] = "over the part's budget"
        elif costs[at] > room:
            reasons[at] = "over the total"
        else:
            rooms[parts[at]] -= costs[at]
            room -= costs[at]
    taken, offered = sum(cost for at, cost in enumerate(costs) if at not in reasons), sum(costs)
    return Packed(
        chosen=tuple(item for at, item in enumerate(candidates) if at not in reasons),
        left=tuple(LeftOut(item=candidates[at], reason=reasons[at]) for at in sorted(reasons)),
        tokens=taken,
        compression=taken / offered if offered else 1.0,
    )


def _check_packing(costs: Sequence[int], parts: Sequence[_Part], places: Mapping[_Part, int], head_tail: int) -> None:
    for cost, name in zip(costs, parts, strict=True):
        if cost < 0:
            raise InvalidInput("tokens", f"{cost!r} tokens are less than none")
        if name not in places:
            raise InvalidInput("part", f"{name!r} has no ceiling")
    if head_tail < 0:
        raise InvalidInput("head_tail", f"{head_tail!r} is less than none")
