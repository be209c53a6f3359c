"""Seasons: labels such as "end-of-sprint" under which a memory ranks only while the label is active.

A season is active by a rule about the date, or because somebody switched it on or off, for good or until a time. Days
are those of the clock that `now` shows, and every range holds its first and its last.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, assert_never

from ..codec import from_iso, to_iso
from ..errors import InvalidInput
from ..model import Json

NAME_LENGTH = 64
RULE_LENGTH = 400
MOST_CONDITIONS = 6

_DATE = date(2024, 1, 1)
"""Of a leap year, which has every day that any year has."""
_MONTHS = "january february march april may june july august september october november december".split()
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


@dataclass(frozen=True, slots=True)
class _Range:
    """Part of something that comes round: months, days of a month, weekdays, or days of a year as month × 100 + day.

    Where it begins after it ends, it goes over the turn of the year, month or week.
    """

    of: Literal["month", "day", "weekday", "year"]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Once:
    first: date
    last: date


@dataclass(frozen=True, slots=True)
class _MonthEnd:
    days: int


@dataclass(frozen=True, slots=True)
class _Cycle:
    """The first days of every so many days, counted from one of them."""

    start: date
    every: int
    days: int


_Condition = _Range | _Once | _MonthEnd | _Cycle


@dataclass(frozen=True, slots=True)
class Rule:
    """When a season is: conditions on the date, all of which hold. `str(rule)` is a text that `parse_rule` takes."""

    conditions: tuple[_Condition, ...]

    def __str__(self) -> str:
        return " and ".join(map(_spelled, self.conditions))


@dataclass(frozen=True, slots=True)
class Season:
    """A label and when it is active: by its rule, unless `switched` on or off by hand, which ends at `until`."""

    name: str
    rule: Rule | None = None
    switched: bool | None = None
    until: datetime | None = None


def season_name(text: object) -> str:
    """A label in its one spelling: lower case, words joined by hyphens."""
    if not isinstance(text, str):
        raise InvalidInput("season", f"{text!r} is not a name")
    name = "-".join(text.lower().split())
    if not name:
        raise InvalidInput("season", "a season needs a name, such as release-week")
    if len(name) > NAME_LENGTH:
        raise InvalidInput(
            "season", f"{name[:20]!r}… has {len(name)} characters where at most {NAME_LENGTH} are allowed"
        )
    if not name.isprintable():
        raise InvalidInput("season", f"{name!r} holds a character that cannot be shown")
    return name


def active(season: Season, now: datetime) -> bool:
    """Whether memories of a season rank now. A season without a rule is active only while switched on."""
    if season.switched is not None and (season.until is None or now < season.until):
        return season.switched
    return season.rule is not None and all(_holds(condition, now.date()) for condition in season.rule.conditions)


def told(season: Season) -> dict[str, Json]:
    """A season without its name, as JSON; what is not set is left out."""
    data: dict[str, Json] = {}
    if season.rule is not None:
        data["rule"] = str(season.rule)
    if season.switched is not None:
        data["switched"] = season.switched
    if season.until is not None:
        data["until"] = to_iso(season.until)
    return data


def season_from(name: object, data: object) -> Season:
    """The season that `told` told, or one that was written by hand. Keys that mean nothing here are ignored."""
    label = season_name(name)
    if not isinstance(data, Mapping):
        raise InvalidInput("season", f"{label} is told by {data!r} and not by a table")
    rule, switched, until = data.get("rule"), data.get("switched"), data.get("until")
    if switched is not None and not isinstance(switched, bool):
        raise InvalidInput("season", f"{label} can be switched true or false, not {switched!r}")
    if until is not None and not isinstance(until, str):
        raise InvalidInput("season", f"{label} can be switched until a time, not {until!r}")
    return Season(
        name=label,
        rule=None if rule is None else parse_rule(rule),
        switched=switched,
        until=None if until is None else from_iso(until, "season"),
    )


# --- Rules -----------------------------------------------------------------------------------------------------------


def parse_rule(text: object) -> Rule:
    """The rule that a text says. One that means nothing raises `InvalidInput` and is told what does.

    | rule | active |
    |---|---|
    | `12-15..01-05` | between these days of every year, over the new year here |
    | `month 12`, `months 6..8`, `months jun..aug` | in these months |
    | `day 25..31` | on these days of every month |
    | `weekday fri`, `weekdays mon..thu` | on these days of the week |
    | `2026-03-01..2026-03-14` | once |
    | `last 3 days of month` | at the end of every month |
    | `every 2 weeks from 2026-01-05 for 3 days` | on the first three days of every sprint |

    Several joined with "and" must all hold.
    """
    if not isinstance(text, str):
        raise InvalidInput("season", f"{text!r} is not a rule; {_EXAMPLES}")
    if len(text) > RULE_LENGTH:
        raise InvalidInput("season", f"a rule of {len(text)} characters where at most {RULE_LENGTH} are allowed")
    parts = " ".join(text.lower().split()).split(" and ")
    if len(parts) > MOST_CONDITIONS:
        raise InvalidInput("season", f"{len(parts)} conditions where at most {MOST_CONDITIONS} can be joined")
    return Rule(tuple(map(_condition, parts)))


_EXAMPLES = (
    'write "12-15..01-05", "month 12", "months 6..8", "day 25..31", "weekday fri", "weekdays mon..thu", '
    '"2026-03-01..2026-03-14", "last 3 days of month", "every 2 weeks from 2026-01-05 for 3 days", or several of them '
    'joined with "and"'
)
_TO = r" ?(?:\.\.|…|to) ?"
_RANGE = re.compile(rf"(month|day|weekday)s? ([a-z0-9]+)(?:{_TO}([a-z0-9]+))?", re.ASCII)
_YEAR_RANGE = re.compile(rf"([0-9]{{1,2}})-([0-9]{{1,2}})(?:{_TO}([0-9]{{1,2}})-([0-9]{{1,2}}))?")
_ONCE = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:{_TO}([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}))?")
_MONTH_END = re.compile(r"(?:the )?last (?:([0-9]{1,2}) days|day) of (?:the |every )?month")
_CYCLE = re.compile(
    r"every (?:([0-9]{1,3}) )?(day|week)s? from ([0-9]{4}-[0-9]{2}-[0-9]{2}) for ([0-9]{1,3}) (day|week)s?"
)


def _condition(text: str) -> _Condition:
    for pattern, read in _READERS:
        match = pattern.fullmatch(text)
        if match is not None:
            return read(match)
    raise InvalidInput("season", f"{text!r} is no rule; {_EXAMPLES}")


def _range(match: re.Match[str]) -> _Condition:
    of, first, last = match.groups()
    if of == "month":
        return _Range("month", _month(first), _month(last or first))
    if of == "weekday":
        return _Range("weekday", _weekday(first), _weekday(last or first))
    return _Range("day", _day_of_month(first), _day_of_month(last or first))


def _year_range(match: re.Match[str]) -> _Condition:
    month, day, last_month, last_day = match.groups()
    return _Range("year", _day_of_year(month, day), _day_of_year(last_month or month, last_day or day))


def _once(match: re.Match[str]) -> _Condition:
    first, last = _date(match[1]), _date(match[2] or match[1])
    if last < first:
        raise InvalidInput("season", f"{match[0]!r} ends before it begins")
    return _Once(first, last)


def _month_end(match: re.Match[str]) -> _Condition:
    days = int(match[1] or 1)
    if not 1 <= days <= 31:
        raise InvalidInput("season", f"a month has no last {days} days")
    return _MonthEnd(days)


def _cycle(match: re.Match[str]) -> _Condition:
    every = int(match[1] or 1) * (7 if match[2] == "week" else 1)
    days = int(match[4]) * (7 if match[5] == "week" else 1)
    if not 1 <= days <= every:
        raise InvalidInput("season", f"{match[0]!r} should last between one day and the {every} until it comes again")
    return _Cycle(_date(match[3]), every, days)


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], _Condition]], ...] = (
    (_RANGE, _range),
    (_YEAR_RANGE, _year_range),
    (_ONCE, _once),
    (_MONTH_END, _month_end),
    (_CYCLE, _cycle),
)


def _month(word: str) -> int:
    return _number(word, 12, "month") if word.isdigit() else 1 + _index(word, _MONTHS, "month")


def _weekday(word: str) -> int:
    return _index(word, _WEEKDAYS, "day of the week")


def _index(word: str, names: list[str], what: str) -> int:
    """Where a name stands among the names, by its first three letters or more of it."""
    found = [at for at, name in enumerate(names) if len(word) >= 3 and name.startswith(word)]
    if not found:
        raise InvalidInput("season", f"{word!r} is no {what}; they are {', '.join(name[:3] for name in names)}")
    return found[0]


def _day_of_month(word: str) -> int:
    return _number(word, 31, "day of a month")


def _number(word: str, most: int, what: str) -> int:
    if not (word.isdigit() and len(word) <= 2 and 1 <= int(word) <= most):
        raise InvalidInput("season", f"{word!r} is no {what}; they go from 1 to {most}")
    return int(word)


def _day_of_year(month: str, day: str) -> int:
    try:
        _DATE.replace(month=int(month), day=int(day))
    except ValueError as error:
        raise InvalidInput("season", f"no year has a {month}-{day}; days are written month-day, as 12-24") from error
    return int(month) * 100 + int(day)


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput("season", f"there is no {text}; dates are written as 2026-03-01") from error


def _holds(condition: _Condition, day: date) -> bool:
    match condition:
        case _Range(of, first, last):
            value = _value(of, day)
            return first <= value <= last if first <= last else value >= first or value <= last
        case _Once(first=opening, last=closing):
            return opening <= day <= closing
        case _MonthEnd(days):
            return day.day > monthrange(day.year, day.month)[1] - days
        case _Cycle(start, every, days):
            return day >= start and (day - start).days % every < days
        case _:
            assert_never(condition)


def _value(of: Literal["month", "day", "weekday", "year"], day: date) -> int:
    match of:
        case "month":
            return day.month
        case "day":
            return day.day
        case "weekday":
            return day.weekday()
        case "year":
            return day.month * 100 + day.day
        case _:
            assert_never(of)


def _spelled(condition: _Condition) -> str:
    match condition:
        case _Range("year", first, last):
            opens, closes = (f"{each // 100:02}-{each % 100:02}" for each in (first, last))
            return opens if first == last else f"{opens}..{closes}"
        case _Range(of, first, last):
            one, other = ((_WEEKDAYS[each][:3] if of == "weekday" else str(each)) for each in (first, last))
            return f"{of} {one}" if first == last else f"{of}s {one}..{other}"
        case _Once(first=opening, last=closing):
            return f"{opening}" if opening == closing else f"{opening}..{closing}"
        case _MonthEnd(days):
            return f"last {days} days of month" if days > 1 else "last day of month"
        case _Cycle(start, every, days):
            often = f"{every} days" if every % 7 else f"{every // 7} weeks"
            return f"every {often} from {start} for {days} days"
        case _:
            assert_never(condition)
