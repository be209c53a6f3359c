"""Cron: when a schedule of five fields fires.

The fields are minute, hour, day of the month, month and weekday: `*`, numbers, the names `jan`-`dec` and `sun`-`sat`,
ranges `1-5`, steps `*/15`, `8-18/2` and `5/15` (from 5 on), and lists of these with commas. 0 and 7 are both Sunday.
`?` is `*`. As everywhere, where both the day and the weekday are told, either will do; a field that begins with `*`
does not count as told.

A schedule is read in a time zone. Where clocks are put forward, a time that is left out fires at the first moment after
it; where they are put back, a time that comes twice fires the first time only. A schedule for every hour knows nothing
of that: it fires whenever the clock on the wall shows one of its minutes, so it is neither missing nor doubled.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from ..errors import InvalidInput

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LONGEST = 366 * 9
"""Days from one 29th of February to the next at most, with some to spare."""
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("weekday", 0, 7, _WEEKDAYS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A schedule in a time zone."""

    times: tuple[tuple[int, int], ...]
    """The hours and minutes of a day at which it fires."""
    every_hour: bool
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""
    either: bool
    """Whether the day or the weekday is enough."""
    zone: tzinfo = UTC

    def next(self, after: datetime) -> datetime:
        """The first moment after this one at which it fires, in UTC."""
        return self._nearest(after, forward=True)

    def previous(self, at: datetime) -> datetime:
        """The last moment, up to and including this one, at which it fired, in UTC."""
        return self._nearest(at, forward=False)

    def on(self, day: date) -> bool:
        """Whether it fires on a day at all."""
        if day.month not in self.months:
            return False
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_day or by_weekday if self.either else by_day and by_weekday

    def _nearest(self, moment: datetime, *, forward: bool) -> datetime:
        step = _DAY if forward else -_DAY
        # A day early, because what clocks leave out at midnight fires on the day after.
        day = moment.astimezone(self.zone).date() - step
        for _ in range(_LONGEST):
            fires = _fires(self, day) if self.on(day) else ()
            at = bisect_right(fires, moment)
            if forward and at < len(fires):
                return fires[at]
            if not forward and at:
                return fires[at - 1]
            day += step
        raise InvalidInput("schedule", "does not fire in years")


@lru_cache(maxsize=8)
def _fires(cron: Cron, day: date) -> tuple[datetime, ...]:
    """The moments at which it fires on a day, in UTC and in order."""
    found: list[datetime] = []
    for hour, minute in cron.times:
        wall = datetime(day.year, day.month, day.day, hour, minute, tzinfo=cron.zone)
        first, second = wall.astimezone(UTC), wall.replace(fold=1).astimezone(UTC)
        if first <= second:
            found.append(first)
            if first < second and cron.every_hour:  # it comes twice
                found.append(second)
        elif not cron.every_hour:  # it is left out
            found.append(_jump(second, first, cron.zone))
    return tuple(sorted(found))


def parse_cron(text: str, *, zone: tzinfo = UTC, name: str = "schedule") -> Cron:
    """The schedule that five fields mean. `name` is what an error calls it."""
    parts = text.lower().split()
    if len(parts) != len(_FIELDS):
        raise InvalidInput(name, f"{text[:60]!r} has {len(parts)} fields; cron has five")
    minutes, hours, days, months, weekdays = (
        _values(part, each, name) for part, each in zip(parts, _FIELDS, strict=True)
    )
    either = parts[2][0] not in "*?" and parts[4][0] not in "*?"
    if not either and all(min(days) > _DAYS[month - 1] for month in months):
        raise InvalidInput(name, f"{text[:60]!r} never fires: no such month has such a day")
    return Cron(
        times=tuple((hour, minute) for hour in sorted(hours) for minute in sorted(minutes)),
        every_hour=len(hours) == 24,
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        either=either,
        zone=zone,
    )


def _values(text: str, field: _Field, name: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        span, stepped, step = part.partition("/")
        first, ranged, last = span.partition("-")
        if first in ("*", "?") and not ranged:
            low, high = field.least, 6 if field.name == "weekday" else field.most
        else:
            low = _number(first, field, name)
            high = _number(last, field, name) if ranged else (field.most if stepped else low)
        if low > high:
            raise InvalidInput(name, f"the {field.name} {part!r} runs backwards")
        every = _whole(step, f"the step of the {field.name}", name) if stepped else 1
        if not every:
            raise InvalidInput(name, f"the {field.name} {part!r} has no step")
        found.update(range(low, high + 1, every))
    return frozenset(found)


def _number(text: str, field: _Field, name: str) -> int:
    if text in field.names:
        return field.names.index(text) + field.least
    number = _whole(text, f"the {field.name}", name)
    if not field.least <= number <= field.most:
        raise InvalidInput(name, f"the {field.name} {number} is not from {field.least} to {field.most}")
    return number


def _whole(text: str, what: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise InvalidInput(name, f"{what} cannot be {text[:20]!r}")
    return int(text)


def _jump(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The moment between two at which the clocks of a zone jump, to the second."""
    seconds = int((after - before).total_seconds())
    offset = before.astimezone(zone).utcoffset()
    low, high = 0, seconds
    while high - low > 1:
        middle = (low + high) // 2
        if (before + timedelta(seconds=middle)).astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return before + timedelta(seconds=high)
