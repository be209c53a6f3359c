"""Budgets: what background work may cost, what it has cost, and whether the next piece of it may begin.

A piece of work is charged in full before it begins and gets back what it did not use when it is done. So however many
processes take turns, no budget is overdrawn; and a process that dies on the way has paid for all that it set aside.
Hours and days are those of UTC. Money is counted in millionths, so that sums are exact.

Of processor time and time at work nobody knows beforehand how much it will be. They are charged afterwards, and a piece
may overdraw them; then nothing else begins until that is made good. For the processor, time makes it good: what was
used drains away at the share that is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil
from typing import Literal, TypeAlias

from .patience import Breaker, Tries

MILLION = 1_000_000
BURST = 60.0
"""For how many seconds' worth of its share the processor may be used at one go."""
KINDS_KEPT = 32
"""For how many kinds of work it is told apart what they cost; the rest are told together."""
OTHERS = "others"


class Measure(StrEnum):
    """What is counted."""

    CALLS = "calls"
    TOKENS = "tokens"
    MONEY = "money"
    WALL = "wall"


Spell: TypeAlias = Literal["hour", "day"]
_LENGTHS: dict[Spell, timedelta] = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
_SPELLS: tuple[Spell, ...] = ("hour", "day")
_WORDS = {Measure.CALLS: "calls", Measure.TOKENS: "tokens", Measure.MONEY: "money", Measure.WALL: "seconds at work"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What something costs or has cost."""

    calls: int = 0
    tokens: int = 0
    money: int = 0
    """In millionths."""
    wall: float = 0.0
    """Seconds at work."""
    cpu: float = 0.0
    """Seconds of a processor."""

    def plus(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Cost)})

    def less(self, other: Cost) -> Cost:
        """What is left of this without the other, and never below nothing."""
        return Cost(
            **{each.name: max(0, getattr(self, each.name) - getattr(other, each.name)) for each in fields(Cost)}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The budgets, by what they are for; None is no limit. Money in millionths, like every cost."""

    hour: Mapping[str, float | None] = field(default_factory=dict)
    day: Mapping[str, float | None] = field(default_factory=dict)
    cpu_share: float = 0.25
    queue: int = 1_000
    price_in: float = 0.0
    """What a million tokens cost that are sent."""
    price_out: float = 0.0

    def limit(self, spell: Spell, measure: Measure) -> float | None:
        """The most that may be spent of this in such a spell of time."""
        return (self.hour if spell == "hour" else self.day).get(measure)

    def cost(self, *, calls: int = 0, sent: int = 0, received: int = 0, wall: float = 0.0, cpu: float = 0.0) -> Cost:
        """What so many calls and tokens cost, priced; a broken millionth counts as a whole one."""
        money = ceil(max(0, sent) * self.price_in + max(0, received) * self.price_out)
        tokens = max(0, sent) + max(0, received)
        return Cost(calls=max(0, calls), tokens=tokens, money=money, wall=max(0.0, wall), cpu=max(0.0, cpu))

    def worst(self, *, calls: int, tokens: int) -> Cost:
        """The most that so many calls and tokens can cost: each token at the higher price."""
        dear = max(self.price_in, self.price_out)
        return Cost(calls=max(0, calls), tokens=max(0, tokens), money=ceil(max(0, tokens) * dear))


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """What was spent in one spell of time, what is set aside among it."""

    start: datetime
    spent: Cost = Cost()
    kinds: tuple[tuple[str, Cost], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """All that processes have to know of each other's spending and failures."""

    hour: Purse | None = None
    day: Purse | None = None
    cpu: float = 0.0
    """Seconds of a processor that were used and have not drained away."""
    drained: datetime | None = None
    """When they were last looked at."""
    breakers: tuple[Breaker, ...] = ()
    tries: tuple[Tries, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether a piece of work may begin. Where not, rules do it instead, and `reason` is what people are told."""

    kind: str
    yes: bool
    reason: str = ""
    until: datetime | None = None
    """When asking again may be answered otherwise."""
    held: Cost = Cost()
    """What was set aside for it."""
    at: datetime | None = None

    def __bool__(self) -> bool:
        """Whether it may."""
        return self.yes


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One budget as people see it. Money is in units again; no `limit` is no limit."""

    measure: str
    spell: str
    spent: float
    limit: float | None
    until: datetime

    @property
    def left(self) -> float | None:
        """What may still be spent."""
        return None if self.limit is None else max(0.0, self.limit - self.spent)


def opened(book: Book, now: datetime, caps: Caps) -> Book:
    """The book at this moment: spells that are over begin anew, and what has drained away is gone.

    A clock that is set back gives nothing back: only one that says it is another spell altogether opens a new one.
    """
    passed = max(0.0, (now - book.drained).total_seconds()) if book.drained else 0.0
    return replace(
        book,
        hour=_current(book.hour, now, "hour"),
        day=_current(book.day, now, "day"),
        cpu=max(0.0, book.cpu - passed * caps.cpu_share),
        drained=now,
    )


def reserve(book: Book, caps: Caps, kind: str, cost: Cost, now: datetime) -> tuple[Book, Decision]:
    """Set aside what a piece of work may cost at most, if every budget holds that much."""
    book = opened(book, now, caps)
    refusal = _refusal(book, caps, kind, cost, now)
    if refusal is not None:
        return book, refusal
    if cost != Cost():
        book = _charged(book, kind, cost, now)
    return book, Decision(kind=kind, yes=True, held=cost, at=now)


def settle(book: Book, caps: Caps, decision: Decision, cost: Cost, now: datetime) -> Book:
    """Charge what a piece of work really cost in place of what was set aside.

    What was set aside in a spell that is over is past; what it cost beyond that is charged now. Work that cost more
    than it said is charged in full, and the budgets may be overdrawn by that much: say the most beforehand.
    """
    book = opened(book, now, caps)
    unused = replace(decision.held, cpu=0.0).less(cost)
    book = _charged(book, decision.kind, cost.less(decision.held), now)
    book = replace(book, cpu=book.cpu + cost.cpu)
    for spell in _SPELLS:
        purse = _purse(book, spell, now)
        if decision.at is not None and purse.start <= decision.at:
            book = _put(book, spell, _changed(purse, decision.kind, lambda spent: spent.less(unused)))
    return book


def exhausted(caps: Caps, now: datetime) -> Book:
    """The book to begin with where the one before cannot be read: this hour counts as spent, so nothing is overdrawn
    in it by not knowing."""
    book = opened(Book(), now, caps)
    full = {measure.value: ceil(limit) for measure in Measure if (limit := caps.limit("hour", measure)) is not None}
    return replace(book, hour=Purse(start=_start(now, "hour"), spent=Cost(**full)))


def lines(book: Book, caps: Caps, now: datetime) -> tuple[Line, ...]:
    """Every budget, with what is spent of it at this moment."""
    book = opened(book, now, caps)
    told = [
        Line(
            measure=measure.value,
            spell=spell,
            spent=getattr(purse.spent, measure) / _unit(measure),
            limit=None if limit is None else limit / _unit(measure),
            until=purse.start + _LENGTHS[spell],
        )
        for spell in _SPELLS
        for purse in [_purse(book, spell, now)]
        for measure in Measure
        for limit in [caps.limit(spell, measure)]
    ]
    room = caps.cpu_share * BURST
    return (*told, Line(measure="cpu", spell="minute", spent=book.cpu, limit=room, until=_drained_by(book, caps, now)))


def _refusal(book: Book, caps: Caps, kind: str, cost: Cost, now: datetime) -> Decision | None:
    for spell in reversed(_SPELLS):
        purse = _purse(book, spell, now)
        for measure in Measure:
            limit = caps.limit(spell, measure)
            spent, wanted = getattr(purse.spent, measure), getattr(cost, measure)
            if limit is not None and _overdraws(measure, spent, wanted, limit):
                unit = _unit(measure)
                more = f", and this needs {wanted / unit:,.10g}" if spent < limit else ""
                reason = (
                    f"background work has used up its {_WORDS[measure]} for this {spell} "
                    f"({spent / unit:,.10g} of {limit / unit:,.10g}{more}); until it is over, rules do the work"
                )
                return Decision(kind=kind, yes=False, reason=reason, until=purse.start + _LENGTHS[spell])
    if book.cpu >= caps.cpu_share * BURST:
        reason = f"background work has had its {caps.cpu_share:.0%} of a processor; it goes on shortly"
        return Decision(kind=kind, yes=False, reason=reason, until=_drained_by(book, caps, now))
    return None


def _overdraws(measure: Measure, spent: float, wanted: float, limit: float) -> bool:
    """What needs nothing of a measure may go on without it; but whatever is done takes time."""
    return spent >= limit if measure is Measure.WALL else wanted > 0 and spent + wanted > limit


def _unit(measure: Measure) -> int:
    return MILLION if measure is Measure.MONEY else 1


def _drained_by(book: Book, caps: Caps, now: datetime) -> datetime:
    """When enough has drained away for work to go on; in a day, where nothing ever does."""
    over = book.cpu - caps.cpu_share * BURST
    if over < 0:
        return now
    seconds = over / caps.cpu_share + 1 if caps.cpu_share else 86_400.0
    return now + timedelta(seconds=min(seconds, 86_400.0))


def _start(now: datetime, spell: Spell) -> datetime:
    start = now.replace(minute=0, second=0, microsecond=0)
    return start if spell == "hour" else start.replace(hour=0)


def _current(purse: Purse | None, now: datetime, spell: Spell) -> Purse:
    start = _start(now, spell)
    if purse is None or abs(start - purse.start) > _LENGTHS[spell] or start > purse.start:
        return Purse(start=start)
    return purse


def _purse(book: Book, spell: Spell, now: datetime) -> Purse:
    return _current(book.hour if spell == "hour" else book.day, now, spell)


def _put(book: Book, spell: Spell, purse: Purse) -> Book:
    return replace(book, hour=purse) if spell == "hour" else replace(book, day=purse)


def _charged(book: Book, kind: str, cost: Cost, now: datetime) -> Book:
    for spell in _SPELLS:
        book = _put(book, spell, _changed(_purse(book, spell, now), kind, cost.plus))
    return book


def _changed(purse: Purse, kind: str, change: Callable[[Cost], Cost]) -> Purse:
    """The purse once its whole, and the part that this kind of work has in it, are changed alike."""
    known = dict(purse.kinds)
    name = kind if kind in known or len(known) < KINDS_KEPT else OTHERS
    known[name] = change(known.get(name, Cost()))
    return replace(purse, spent=change(purse.spent), kinds=tuple(known.items()))
