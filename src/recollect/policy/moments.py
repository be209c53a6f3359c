"""Time expressions in an English question: "what did we decide last week", "before June 2025", "three days ago".

What is found is a half-open period that past moments are compared with, so a name that comes round again (a month, a
weekday, a summer) is the latest one that has begun and never a coming one. Days, weeks and months are those of the
clock that `now` shows; the bounds are told in UTC. Weeks begin on Monday, seasons of the year are northern and winter
belongs to the year it begins in.

Words are looked up one by one with a bounded look ahead: no text, however long or odd, takes more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_LAST_DAY = date.max.toordinal()
_DAY = timedelta(days=1)
_OPEN_SCALE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time that a text names: from `start` until just before `end`, both in UTC.

    What has no beginning ("before June 2025") starts with the calendar itself. `phrase` is the expression as written,
    with its preposition. A `vague` one ("recently", "a few weeks ago") is wide, because it does not say when.
    """

    start: datetime
    end: datetime
    phrase: str
    vague: bool = False


def periods(text: str, now: datetime) -> tuple[Period, ...]:
    """Every time expression of a text in the order it stands, resolved against `now`, which needs a time zone.

    What lies outside the years 1 to 9999 is cut there. Coming times that are only named relatively ("next week",
    "tomorrow") are none; a date written with its year is taken as it is.
    """
    reader = _Reader(text, _Calendar(now))
    found: list[Period] = []
    at = 0
    while at < reader.size:
        expression = reader.expression(at)
        if expression is None:
            at += 1
            continue
        start, end = expression.span
        phrase = text[reader.words[at].start : reader.words[expression.stop - 1].end]
        found.append(Period(start, end, phrase, expression.vague))
        at = expression.stop
    return tuple(found)


def closeness(moment: datetime, period: Period) -> float:
    """How well a moment fits a period, from 0 to 1: 1 inside, a half at one length of the period away from it.

    The length counts as a day at least. A period without a beginning has none, and fades by the month.
    """
    if period.start <= moment < period.end:
        return 1.0
    away = period.start - moment if moment < period.start else moment - period.end
    scale = _OPEN_SCALE if period.start == _FIRST else max(period.end - period.start, _DAY)
    return float(0.5 ** (away / scale))


# --- Words -----------------------------------------------------------------------------------------------------------

_WORD = re.compile(r"\w+|[^\w\s]")
_ISO_DAY = re.compile(r"([0-9]{2})(?:t[0-9]{2,6}z?)?")  # the time of a timestamp hangs on its day
_DIGITS = frozenset("0123456789")
_MARKS = frozenset(".,:/")
_SIGNS = frozenset("$€£#")
_SENTENCE_ENDS = frozenset({"", ".", "?", "!"})


def _numbered(words: str, first: int = 1) -> dict[str, int]:
    return {word: number for number, word in enumerate(words.split(), first)}


_MONTHS = _numbered("january february march april may june july august september october november december")
_SHORT_MONTHS = {name[:3]: month for name, month in _MONTHS.items() if name != "may"} | {"sept": 9}
_WEEKDAYS = _numbered("monday tuesday wednesday thursday friday saturday sunday", 0)
_SHORT_WEEKDAYS = {name[:3]: day for name, day in _WEEKDAYS.items()} | {"tues": 1, "thur": 3, "thurs": 3}
_DAY_NUMBERS = {f"{day}{ending}": day for day in range(1, 32) for ending in ("", "st", "nd", "rd", "th")}
_DAY_NUMBERS |= {f"{day:02}": day for day in range(1, 10)}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_QUARTERS = {f"q{number}": number for number in range(1, 5)}
_ORDINALS = _numbered("first second third fourth") | {"1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_NUMBERS = _numbered(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
) | {"a": 1, "an": 1, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
_LOOSE_NUMBERS = {"couple": (1, 3), "few": (2, 6), "several": (3, 9)}

_SHORT_UNITS = {"sec": "second", "min": "minute", "hr": "hour"}
_EXACT_UNITS = {"second": timedelta(seconds=1), "minute": timedelta(minutes=1), "hour": timedelta(hours=1)}
_DAY_UNITS = {"day": 1, "week": 7, "fortnight": 14}
_MONTH_UNITS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_LENGTHS = _DAY_UNITS | {unit: round(months * 30.44) for unit, months in _MONTH_UNITS.items()}
_UNITS = frozenset({*_EXACT_UNITS, *_DAY_UNITS, *_MONTH_UNITS, "weekend"})
_CALENDAR_UNITS = frozenset({"week", "month", "quarter", "year", "weekend"})
_HALVES = {"hour": ("minute", 30), "day": ("hour", 12), "week": ("day", 3), "month": ("day", 15), "year": ("month", 6)}
_IDIOMS = frozenset({"second", "minute", "day"})
"""What follows "last" in other senses, as in "a last minute change", unless it says "in the last minute"."""

_PARTS_OF_DAY = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
_PARTS = {"early": 0, "mid": 1, "late": 2, "beginning": 0, "start": 0, "middle": 1, "end": 2}
_PARTS_OF = frozenset({"beginning", "start", "middle", "end"})

_LOOSE_PHRASES: dict[tuple[str, ...], tuple[int, int]] = {  # from so many days ago until so many days ago
    ("recently",): (14, -1),
    ("lately",): (14, -1),
    ("these", "days"): (30, -1),
    ("other", "day"): (7, 0),
    ("a", "while", "ago"): (180, 14),
    ("a", "while", "back"): (180, 14),
    ("some", "time", "ago"): (180, 14),
    ("a", "long", "time", "ago"): (3650, 180),
    ("long", "ago"): (3650, 180),
    ("ages", "ago"): (3650, 180),
    ("just", "now"): (0, -1),
    ("a", "moment", "ago"): (0, -1),
}

_IN = frozenset({"in", "on", "during", "of", "over", "within", "at", "around", "throughout", "for"})
_UNTIL = frozenset({"until", "till", "by"})
_LEADS = _IN | _UNTIL | {"since", "after", "before", "between", "from"}
_YEAR_LEADS = frozenset("in of since before during by from between after until till throughout part beside".split())
_VERB_LEADS = frozenset({"in", "during", "since", "until", "till", "from", "between", "part"})
"""What makes a month of a "may" or "march" in small letters."""
_LASTING = frozenset({"in", "within", "over", "during"})
_QUALIFIERS = frozenset({"this", "last", "past", "previous"})
_COMING = frozenset({"next", "every", "each", "following", "coming", "upcoming", "any"})
"""What comes, or comes again and again, is no time that something happened at."""
_JOINS = frozenset({"to", "through", "thru", "-", "–", "—"})
_AFTER_MAY = frozenset("and or we i they he she the when with for about to as did was were".split())
_AFTER_SPRING = frozenset("boot framework security cloud data mvc".split())
_COUNTED = frozenset(
    "ms s sec secs second seconds minute minutes hour hours day days week weeks month months byte bytes kb mb gb tb "
    "kib mib gib px pixel pixels row rows line lines item items record records request requests user users token "
    "tokens char chars character characters word words file files entry entries time times step steps point points "
    "iteration iterations message messages event events page pages job jobs test tests call calls thread threads "
    "process processes connection connections dollar dollars euro euros people percent".split()
)
"""What a number before it counts; such a number is no year."""


class _Word(NamedTuple):
    text: str
    start: int
    end: int


_MARGIN = [_Word("", -1, -2)] * 32
"""Stands after the last word, and so before the first too: no look ahead or back leaves the list of words."""


class _Lead(NamedTuple):
    """What stands before the name of a time: a preposition (or "part", for "early" and its like), and "the"."""

    word: str = ""
    the: bool = False

    @property
    def given(self) -> bool:
        return bool(self.word) or self.the


# --- The calendar ----------------------------------------------------------------------------------------------------

_Span = tuple[datetime, datetime]
_Yearly = Callable[[int], _Span | None]


class _Calendar:
    """Days by their ordinal and months by their count since year 0, both of which may leave the calendar freely."""

    def __init__(self, now: datetime) -> None:
        self.zone: tzinfo = now.tzinfo or UTC
        self.present = _on_clock(now, UTC)
        self.day = now.toordinal()
        self.year = now.year
        self.month = now.year * 12 + now.month - 1
        self.day_of_month = now.day

    def days(self, first: int, after: int) -> _Span:
        """From the beginning of one day until that of another."""
        return self.at(first), self.at(after)

    def months(self, first: int, after: int) -> _Span:
        return self.days(_month_day(first), _month_day(after))

    def at(self, day: int, hour: int = 0) -> datetime:
        day += hour // 24
        if not 1 <= day <= _LAST_DAY:
            return _FIRST if day < 1 else _LAST
        return _on_clock(datetime.combine(date.fromordinal(day), time(hour % 24), tzinfo=self.zone), UTC)

    def months_ago(self, count: int) -> int:
        """The day so many months back, the last of its month where that has no such day."""
        month = self.month - count
        if month < 12:
            return 31 * (month - 12)  # as far before the calendar, for what lies around it
        return min(_month_day(month) + self.day_of_month, _month_day(month + 1)) - 1

    def rolling(self, unit: str, count: int) -> _Span:
        """The last so many units, up to now or to the end of the day."""
        if unit in _EXACT_UNITS:
            return _before(self.present, count * _EXACT_UNITS[unit]), self.present
        if unit == "weekend":
            saturday = self.ended_weekend()
            return self.days(saturday - 7 * (count - 1), saturday + 2)
        if unit in _DAY_UNITS:
            return self.days(self.day - count * _DAY_UNITS[unit], self.day + 1)
        return self.days(self.months_ago(count * _MONTH_UNITS[unit]), self.day + 1)

    def ago(self, unit: str, most: int, least: int) -> _Span:
        """Around so many units back, one unit wide; between two counts where it is not said how many."""
        if unit in _EXACT_UNITS:
            size = _EXACT_UNITS[unit]
            around = max(size, least * size / 2) / 2  # nobody who says "40 minutes ago" has looked at a clock
            return _before(self.present, most * size + around), _before(self.present, least * size - around)
        if unit == "weekend":
            saturday = self.ended_weekend() + 7
            return self.days(saturday - 7 * most, saturday - 7 * least + 2)
        length = _LENGTHS[unit]
        if unit in _DAY_UNITS:
            first, last = self.day - most * length, self.day - least * length
        else:
            first, last = (self.months_ago(count * _MONTH_UNITS[unit]) for count in (most, least))
        return self.days(first - length // 2, last + (length + 1) // 2)

    def unit(self, unit: str, back: int) -> _Span:
        """The calendar's own week, month, quarter, year or weekend: this one, or so many before it."""
        if unit == "weekend":
            saturday = self.begun_weekend() - 7 * back
            return self.days(saturday, saturday + 2)
        if unit == "week":
            monday = self.monday() - 7 * back
            return self.days(monday, monday + 7)
        size = _MONTH_UNITS[unit]
        first = (self.month // size - back) * size
        return self.months(first, first + size)

    def monday(self) -> int:
        return self.day - (self.day - 1) % 7

    def begun_weekend(self) -> int:
        """The Saturday of the latest weekend that has begun."""
        return self.day - (self.day + 1) % 7

    def ended_weekend(self) -> int:
        saturday = self.begun_weekend()
        return saturday if saturday + 2 <= self.day else saturday - 7

    def latest(self, yearly: _Yearly, fits: Callable[[_Span], bool], year: int | None = None) -> _Span | None:
        """The latest that fits of what comes every year, not after a year, which is the present one unless given."""
        latest = year or self.year
        spans = (yearly(each) for each in range(latest, latest - 9, -1))  # a leap day may be eight years away
        return next((span for span in spans if span is not None and span[0] < span[1] and fits(span)), None)

    def beside(self, span: _Span, unit: str, count: int, *, before: bool) -> _Span:
        """So many units just before or after a span; of a weekday or weekend, the nearest."""
        day = _on_clock(span[0] if before else span[1], self.zone).toordinal()
        if unit in _LENGTHS:
            size = count * _LENGTHS[unit]
            return self.days(day - size, day) if before else self.days(day, day + size)
        first, size = (5, 2) if unit == "weekend" else (_WEEKDAYS[unit], 1)
        day = day - size - (day - size - 1 - first) % 7 if before else day + (first + 1 - day) % 7
        return self.days(day, day + size)

    def begun(self, span: _Span) -> bool:
        return span[0] <= self.present

    def ended(self, span: _Span) -> bool:
        return span[1] <= self.present


def _month_day(month: int) -> int:
    """The first day of a month counted since year 0; outside the calendar, the day before or after all of it."""
    year, rest = divmod(month, 12)
    if 1 <= year <= 9999:
        return date(year, rest + 1, 1).toordinal()
    return 0 if year < 1 else _LAST_DAY + 1


def _on_clock(moment: datetime, zone: tzinfo) -> datetime:
    try:
        return moment.astimezone(zone)
    except (OverflowError, ValueError):  # an offset leads out of the calendar
        return _FIRST if moment.year < 5000 else _LAST


def _before(moment: datetime, length: timedelta) -> datetime:
    try:
        return moment - length
    except OverflowError:
        return _FIRST


# --- Reading ---------------------------------------------------------------------------------------------------------


class _Named(NamedTuple):
    """A time that some words name: a span, or one in every year where the words do not say which."""

    stop: int
    """The first word after it."""
    span: _Span | None
    yearly: _Yearly | None = None
    vague: bool = False
    dated: bool = False
    """Named by the calendar (a year, month, day) and not by its distance from now."""


class _Expression(NamedTuple):
    stop: int
    span: _Span
    vague: bool


class _Reader:
    """The words of one text, and what stands at each."""

    def __init__(self, text: str, calendar: _Calendar) -> None:
        self.calendar = calendar
        self.words = [_Word(match.group(), *match.span()) for match in _WORD.finditer(text)]
        self.size = len(self.words)
        self.words += _MARGIN
        self.low = [word.text.lower() for word in self.words]

    def title(self, at: int) -> bool:
        """Written like a name: "March", and neither "march" nor "MARCH"."""
        return self.words[at].text.istitle()

    def touches(self, at: int) -> bool:
        """Whether a word follows the one before it without a space."""
        return self.words[at].start == self.words[at - 1].end

    # An expression: what stands before it, one time or two, and what is meant by them.

    def expression(self, at: int) -> _Expression | None:
        low = self.low[at]
        if not (low in _LEADS or low in _READERS or low in _PARTS or low == "the" or low[0] in _DIGITS):
            return None
        if self.low[at - 1] in _COMING:
            return None
        lead = low if low in _LEADS else ""
        first = self.parted(at + bool(lead), lead)
        if first is None:
            return None
        meant = self.ranged(first, lead)
        if meant is None and lead != "between":
            meant = self.related(first, lead)
        return meant if meant is not None and meant.span[0] < meant.span[1] else None

    def parted(self, at: int, lead: str) -> _Named | None:
        """A time, or the early, middle or late part of one."""
        the = self.low[at] == "the"
        place = at + the
        part = _PARTS.get(self.low[place])
        if part is None:
            return self.named(place, _Lead(lead, the))
        if self.low[place] in _PARTS_OF:
            if self.low[place + 1] != "of":
                return None
            place += 2
        else:
            place += 2 if self.low[place + 1] == "-" else 1
        the = self.low[place] == "the"
        whole = self.named(place + the, _Lead("part", the))
        if whole is None:
            return None
        if whole.yearly is None:
            return whole._replace(span=None if whole.span is None else _third(whole.span, part))
        yearly = whole.yearly

        def part_of(year: int) -> _Span | None:
            span = yearly(year)
            return None if span is None else _third(span, part)

        return whole._replace(yearly=part_of)

    def ranged(self, first: _Named, lead: str) -> _Expression | None:
        """The stretch from one time to another: "between May and July", "from Monday to Wednesday", "May to July"."""
        if lead not in _IN and lead not in ("", "between", "from"):
            return None
        join = self.low[first.stop]
        if not (join in _JOINS or (lead == "between" and join == "and") or (lead == "from" and join in _UNTIL)):
            return None
        second = self.parted(first.stop + 1, "between")
        if second is None:
            return None
        if first.span is not None and second.yearly is not None:
            opening = first.span[0]
            spans = (second.yearly(opening.year + later) for later in range(10))
            end = next((span for span in spans if span is not None and span[0] >= opening), None)
        else:
            end = self.settled(second)
        if end is None:
            return None
        closing, start = end[0], first.span
        if first.yearly is not None:
            start = self.calendar.latest(first.yearly, lambda span: span[0] <= closing, closing.year + 1)
        if start is None or start[0] > closing:
            return None
        return _Expression(second.stop, (start[0], end[1]), first.vague or second.vague)

    def related(self, named: _Named, lead: str) -> _Expression | None:
        """One time, and what is said about it: since, after, before or until then."""
        calendar = self.calendar
        span = self.settled(named)
        if lead == "after" and named.yearly is not None:
            span = calendar.latest(named.yearly, calendar.ended) or span
        if span is None:
            return None
        evening = calendar.at(calendar.day + 1)
        if lead == "since":
            meant = (span[0], evening)
        elif lead == "after":
            meant = (span[1], evening)
        elif lead == "before":
            meant = (_FIRST, span[0])
        elif lead in _UNTIL and (lead != "by" or named.dated):  # "caused by yesterday's release" is no limit
            meant = (_FIRST, span[1])
        else:
            meant = span
        # Since or after what is still to come names nothing but that time.
        return _Expression(named.stop, meant if meant[0] < meant[1] else span, named.vague)

    def settled(self, named: _Named) -> _Span | None:
        if named.yearly is None:
            return named.span
        return self.calendar.latest(named.yearly, self.calendar.begun)

    def named(self, at: int, lead: _Lead) -> _Named | None:
        """The time whose name begins at a word, if one does."""
        low = self.low[at]
        if low[:1] in _DIGITS:
            return self.figures(at, lead)
        for read in _READERS.get(low, ()):
            found = read(self, at, lead)
            if found is not None:
                return found
        return None

    # Words that are a time by themselves.

    def plain_day(self, at: int, lead: _Lead) -> _Named | None:
        day = self.calendar.day
        if self.low[at] == "tonight":
            return _Named(at + 1, (self.calendar.at(day, 18), self.calendar.at(day, 30)))
        return self.part_of_day(at + 1, day - (self.low[at] == "yesterday"))

    def part_of_day(self, at: int, day: int) -> _Named:
        """A day, or the morning or evening of it where that is what stands next."""
        hours = _PARTS_OF_DAY.get(self.low[at])
        if hours is None:
            return _Named(at, self.calendar.days(day, day + 1))
        return _Named(at + 1, (self.calendar.at(day, hours[0]), self.calendar.at(day, hours[1])))

    def before_last(self, at: int, lead: _Lead) -> _Named | None:
        """ "The week before last", "the year 2024"."""
        unit = self.low[at]
        if self.low[at + 1 : at + 3] == ["before", "last"] and _unit(self.low[at + 3]) is None:
            return _Named(at + 3, self.calendar.ago(unit, 2, 2) if unit == "weekend" else self.calendar.unit(unit, 2))
        if unit == "year" and (year := self.year(at + 1)) and not self.counts(at + 2):
            return _Named(at + 2, self.calendar.months(year * 12, year * 12 + 12), dated=True)
        return None

    def beside(self, at: int, lead: _Lead) -> _Named | None:
        """ "The day before yesterday", "the week before 3 May", "the Friday after 2024-05-03"."""
        return self.neighbour(at, 1, lead)

    def neighbour(self, at: int, count: int, lead: _Lead) -> _Named | None:
        """So many units, or a weekday, before or after another time, which is not told by a neighbour in its turn."""
        unit, side = _unit(self.low[at]) or self.low[at], self.low[at + 1]
        if side not in ("before", "after") or unit in _EXACT_UNITS or lead.word in ("beside", "part"):
            return None
        anchor = self.parted(at + 2, "beside")
        span = None if anchor is None else self.settled(anchor)
        if anchor is None or span is None:
            return None
        found = self.calendar.beside(span, unit, count, before=side == "before")
        return _Named(anchor.stop, found) if self.calendar.begun(found) else None

    def loose(self, at: int, lead: _Lead) -> _Named | None:
        for length in (1, 2, 3, 4):
            phrase = tuple(self.low[place] for place in range(at, at + length))
            days = _LOOSE_PHRASES.get(phrase)
            if days is not None and (phrase[0] != "other" or lead.the):
                day = self.calendar.day
                return _Named(at + length, self.calendar.days(day - days[0], day - days[1]), vague=True)
        return None

    # Distances: "last 3 days", "two weeks ago".

    def qualified(self, at: int, lead: _Lead) -> _Named | None:
        """What follows this, last, past or previous."""
        which = self.low[at]
        unit = _unit(self.low[at + 1])
        if unit is not None and not self.low[at + 1].endswith("s"):
            span = self.whole_unit(which, unit, lead)
            return None if span is None else _Named(at + 2, span)
        if which != "this" and (counted := self.rolling(at + 1)) is not None:
            return counted
        hours = _PARTS_OF_DAY.get(self.low[at + 1])
        if hours is not None and which == ("last" if self.low[at + 1] == "night" else "this"):
            day = self.calendar.day - (which == "last")
            return _Named(at + 2, (self.calendar.at(day, hours[0]), self.calendar.at(day, hours[1])))
        return self.qualified_name(at + 1, which)

    def whole_unit(self, which: str, unit: str, lead: _Lead) -> _Span | None:
        calendar = self.calendar
        if which == "this":
            return calendar.unit(unit, 0) if unit in _CALENDAR_UNITS else None
        if unit in _IDIOMS and lead.word not in _LASTING:
            return None
        if unit == "weekend" or which == "past" or (which == "last" and unit not in _CALENDAR_UNITS):
            return calendar.rolling(unit, 1)
        return calendar.unit(unit, 1) if unit in _CALENDAR_UNITS else None

    def rolling(self, at: int) -> _Named | None:
        count = self.count(at)
        if count is None:
            return None
        most, least, place = count
        unit = _unit(self.low[place])
        return None if unit is None else _Named(place + 1, self.calendar.rolling(unit, most), vague=most != least)

    def qualified_name(self, at: int, which: str) -> _Named | None:
        """ "Last March", "this Friday", "last summer": what has ended, and for "this" what has begun."""
        low = self.low[at]
        if low in _WEEKDAYS or (low in _SHORT_WEEKDAYS and self.title(at)):
            day = _WEEKDAYS.get(low, _SHORT_WEEKDAYS.get(low, 0))
            back = (self.calendar.day - 1 - day) % 7
            return self.part_of_day(at + 1, self.calendar.day - (back if which == "this" else back or 7))
        if low in _SEASONS:
            named = None if self.low[at + 1] in _AFTER_SPRING else self.season_of_year(at)
        elif (low in _MONTHS and low not in _VERBS) or self.title(at):
            named = self.month_day(at, _Lead("part")) or self.month(at)
        else:
            named = None
        if named is None or named.yearly is None or which == "this":
            return named
        return named._replace(span=self.calendar.latest(named.yearly, self.calendar.ended), yearly=None)

    def distance(self, at: int, lead: _Lead) -> _Named | None:
        """ "Two weeks ago", "two weeks before 3 May"."""
        count = self.count(at)
        if count is None:
            return None
        most, least, place = count
        unit = _unit(self.low[place])
        return None if unit is None else self.back(place + 1, unit, most, least) or self.neighbour(place, most, lead)

    def half_ago(self, at: int, lead: _Lead) -> _Named | None:
        half = _HALVES.get(_unit(self.low[at + 2]) or "") if self.low[at + 1] in ("a", "an") else None
        return None if half is None else self.back(at + 3, half[0], half[1], half[1])

    def back(self, at: int, unit: str, most: int, least: int) -> _Named | None:
        # "back" alone says less: "a day back in the office".
        if self.low[at] == "ago" or (self.low[at] == "back" and not self.low[at + 1].isalpha()):
            return _Named(at + 1, self.calendar.ago(unit, most, least), vague=most != least)
        return None

    def count(self, at: int) -> tuple[int, int, int] | None:
        """How many at most, at least, and the word after: "3", "three", "a couple of", "a few"."""
        place = at + (self.low[at] == "a" and self.low[at + 1] in _LOOSE_NUMBERS)
        low = self.low[place]
        if low in _LOOSE_NUMBERS:
            least, most = _LOOSE_NUMBERS[low]
            return most, least, place + 1 + (self.low[place + 1] == "of")
        number = self.number(place) if low[:1] in _DIGITS else _NUMBERS.get(low)
        return (number, number, place + 1) if number else None

    def number(self, at: int) -> int | None:
        """A whole number of up to four digits, which is no part of a longer figure such as 2.5 or 1,000."""
        low = self.low[at]
        if not (len(low) <= 4 and low.isascii() and low.isdigit()) or self.inside_figure(at):
            return None
        return int(low)

    def inside_figure(self, at: int) -> bool:
        """Whether marks make a number part of a longer figure: 2.5, 1,000, 10:30, $5, 90%."""
        mark, tied = self.low[at - 1], self.touches(at)
        if tied and mark in _SIGNS:
            return True
        if tied and mark in _MARKS and self.touches(at - 1) and self.low[at - 2][:1] in _DIGITS:
            return mark != "," or not _is_year(self.low[at])  # "May 3,2024" is a date
        mark, following = self.low[at + 1], self.low[at + 2]
        if not self.touches(at + 1) or (mark == "," and _is_year(following)):
            return False
        return mark == "%" or (mark in _MARKS and self.touches(at + 2) and following[:1] in _DIGITS)

    # Dates.

    def figures(self, at: int, lead: _Lead) -> _Named | None:
        """What begins with a figure: a date, a distance, a year, or the ordinal of a quarter."""
        return (
            self.iso_date(at)
            or self.slashed_date(at)
            or self.day_month(at, lead)
            or self.distance(at, lead)
            or self.year_quarter(at)
            or self.bare_year(at, lead)
            or self.ordinal_quarter(at, lead)
        )

    def iso_date(self, at: int) -> _Named | None:
        """2024-05-03, 2024/05/03 or 2024-05."""
        mark = self.low[at + 1]
        if not _is_year(self.low[at]) or mark not in ("-", "/") or not (self.touches(at + 1) and self.touches(at + 2)):
            return None
        year, month = int(self.low[at]), self.low[at + 2]
        if not (len(month) == 2 and month.isascii() and month.isdigit()):
            return None
        if self.low[at + 3] == mark and self.touches(at + 3) and self.touches(at + 4):
            day = _ISO_DAY.fullmatch(self.low[at + 4])
            return None if day is None else self.days_of_month(at + 5, year, int(month), int(day[1]), int(day[1]))
        tied = self.touches(at) and self.low[at - 1] == "-"  # of a number such as CVE-2024-05
        if mark != "-" or tied or not 1 <= int(month) <= 12:
            return None
        return self.whole_month(at + 3, int(month), year)

    def slashed_date(self, at: int) -> _Named | None:
        """03/05/2024, but only where it cannot be read in two ways."""
        if self.low[at + 1] != "/" or self.low[at + 3] != "/" or not _is_year(self.low[at + 4]):
            return None
        together = all(self.touches(place) for place in range(at + 1, at + 5)) and not self.touches(at)
        one, other = _DAY_NUMBERS.get(self.low[at]), _DAY_NUMBERS.get(self.low[at + 2])
        if not together or one is None or other is None or (one <= 12 and other <= 12 and one != other):
            return None
        day, month = (one, other) if one > 12 else (other, one)
        return self.days_of_month(at + 5, int(self.low[at + 4]), month, day, day)

    def day_month(self, at: int, lead: _Lead) -> _Named | None:
        """ "3 May 2024", "3rd of May", "3-5 May"."""
        days = self.day_numbers(at)
        if days is None:
            return None
        first, last, _, place = days
        of = self.low[place] == "of"
        place += of
        month = self.month_number(place)
        if month is None:
            return None
        year, stop = self.year_of_month(place)
        verb = self.low[place] in _VERBS and not self.title(place)
        if verb and not (year or of or lead.word in _LEADS):  # "version 3 may break"
            return None
        return self.days_of_month(stop, year, month, first, last)

    def month_day(self, at: int, lead: _Lead) -> _Named | None:
        """ "May 3rd, 2024", "May 3", "May 3-5"."""
        month, days = self.month_number(at), self.day_numbers(self.after_month(at))
        if month is None or days is None:
            return None
        first, last, ordinal, place = days
        year, stop = self.year_after(place)
        if not (year or ordinal):
            if lead.word == "in":  # "in June 10 users signed up"
                return None
            full = self.low[at] in _MONTHS and self.low[at] not in _VERBS
            asks = self.low[at - 1] in _SENTENCE_ENDS and self.low[place].isalpha() and self.low[place] not in _JOINS
            named = self.title(at) and not (asks and self.low[at] in _VERBS)  # "May 10 users connect?"
            if not (full or named or lead.word):
                return None
        return self.days_of_month(stop, year, month, first, last)

    def month_year(self, at: int, lead: _Lead) -> _Named | None:
        """ "March 2025", "March of 2025", "March, 2025"; a month alone only where it surely is one."""
        named = self.month(at)
        if named is None or named.yearly is None or self.is_month(at, lead):
            return named
        return None

    def month(self, at: int) -> _Named | None:
        month = self.month_number(at)
        if month is None:
            return None
        year, stop = self.year_of_month(at)
        return self.whole_month(stop, month, year)

    def is_month(self, at: int, lead: _Lead) -> bool:
        """Whether a month's name without a year is meant as one: not "may" the verb, April the person, "dec" the base.

        The title-case names of a range vouch for each other, as in "May to July".
        """
        low, title = self.low[at], self.title(at)
        if low in _SURE_MONTHS:
            return True
        if title and self.low[at + 1] in _JOINS and self.month_number(at + 2) and self.title(at + 2):
            return True
        if low in _SHORT_MONTHS and low not in _MONTHS:
            return title and bool(lead.word)
        if low not in _VERBS:
            return bool(lead.word) or (lead.the and title)
        if title:
            return lead.given
        following = self.low[at + 1]
        return lead.word in _VERB_LEADS and (low != "may" or not following.isalpha() or following in _AFTER_MAY)

    def month_number(self, at: int) -> int | None:
        low = self.low[at]
        return _MONTHS.get(low) or _SHORT_MONTHS.get(low)

    def after_month(self, at: int) -> int:
        """The word after a month's name, and after the point of "Nov. 7"."""
        return at + 1 + (self.low[at] in _SHORT_MONTHS and self.low[at + 1] == "." and self.low[at + 2][:1] in _DIGITS)

    def year_of_month(self, at: int) -> tuple[int | None, int]:
        year, stop = self.year_after(self.after_month(at))
        return (year, stop) if year else (None, at + 1)

    def day_numbers(self, at: int) -> tuple[int, int, bool, int] | None:
        """The first and last day of "3", "3rd" or "3-5", whether an ordinal says it, and the word after."""
        first = _DAY_NUMBERS.get(self.low[at])
        if first is None or self.inside_figure(at):
            return None
        last = _DAY_NUMBERS.get(self.low[at + 2], 0) if self.low[at + 1] in _JOINS else 0
        ordinal = not self.low[at].isdigit()
        return (first, last, ordinal, at + 3) if last > first else (first, first, ordinal, at + 1)

    def year(self, at: int) -> int | None:
        low = self.low[at]
        dated = self.low[at + 1] == "-" and self.touches(at + 1) and _ISO_DAY.fullmatch(self.low[at + 2])
        return int(low) if _is_year(low) and not dated and not self.inside_figure(at) else None

    def year_after(self, at: int) -> tuple[int | None, int]:
        """The year of a date that has just been read, if one follows, and the word after all of it."""
        place = at + (self.low[at] in ("of", ","))
        year = self.year(place)
        if year:
            return year, place + 1
        if self.low[place] in ("this", "last") and self.low[place + 1] == "year" and self.low[at] != ",":
            year = self.calendar.year - (self.low[place] == "last")
            return (year, place + 2) if year else (None, at)
        return None, at

    def days_of_month(self, stop: int, year: int | None, month: int, first: int, last: int) -> _Named | None:
        def in_year(year: int) -> _Span | None:
            try:
                opening, closing = date(year, month, first), date(year, month, last)
            except ValueError:  # no such day in that year
                return None
            return self.calendar.days(opening.toordinal(), closing.toordinal() + 1)

        # 2024 has every day that any year has.
        if in_year(year or 2024) is None:
            return None
        return _Named(stop, in_year(year) if year else None, None if year else in_year, dated=True)

    def whole_month(self, stop: int, month: int, year: int | None, length: int = 1) -> _Named:
        def in_year(year: int) -> _Span:
            first = year * 12 + month - 1
            return self.calendar.months(first, first + length)

        return _Named(stop, in_year(year) if year else None, None if year else in_year, dated=True)

    def bare_year(self, at: int, lead: _Lead) -> _Named | None:
        """A year after a preposition, where it has begun and counts nothing: not "in 2000 ms", not "a size of 2048"."""
        year = self.year(at)
        if year is None or lead.word not in _YEAR_LEADS or lead.the or year > self.calendar.year or self.counts(at + 1):
            return None
        return _Named(at + 1, self.calendar.months(year * 12, year * 12 + 12), dated=True)

    def counts(self, at: int) -> bool:
        return self.low[at] in _COUNTED or (self.low[at] == "%" and self.touches(at))

    # Quarters, seasons, weekdays.

    def quarter(self, at: int, lead: _Lead) -> _Named | None:
        number = _QUARTERS[self.low[at]]
        place = at + 1 + (self.low[at + 1] == "-")
        year, stop = self.year_after(place)
        if year:
            return self.whole_month(stop, number * 3 - 2, year, 3)
        return self.whole_month(at + 1, number * 3 - 2, None, 3) if lead.word else None

    def year_quarter(self, at: int) -> _Named | None:
        year = self.year(at)
        place = at + 1 + (self.low[at + 1] == "-")
        number = _QUARTERS.get(self.low[place])
        return self.whole_month(place + 1, number * 3 - 2, year, 3) if year and number else None

    def ordinal_quarter(self, at: int, lead: _Lead) -> _Named | None:
        """ "Third quarter of 2025": always with its year, as things have quarters too."""
        number = _ORDINALS.get(self.low[at])
        if number is None or self.low[at + 1] != "quarter":
            return None
        year, stop = self.year_after(at + 2)
        return self.whole_month(stop, number * 3 - 2, year, 3) if year else None

    def season(self, at: int, lead: _Lead) -> _Named | None:
        """ "Spring 2025", "in the summer"; without a year, spring and fall need "the", being a framework and a verb."""
        named = self.season_of_year(at)
        if named.yearly is None:
            return named
        sure = self.low[at] not in ("spring", "fall") or (lead.the and not self.title(at))
        return named if sure and lead.word and self.low[at + 1] not in _AFTER_SPRING else None

    def season_of_year(self, at: int) -> _Named:
        year, stop = self.year_after(at + 1)
        return self.whole_month(stop, _SEASONS[self.low[at]], year, 3)

    def weekday(self, at: int, lead: _Lead) -> _Named | None:
        """The latest such day before today; of a week or date that is named beside it, that one."""
        low = self.low[at]
        if low not in _WEEKDAYS and not (lead.word and self.title(at)):
            return None
        weekday = _WEEKDAYS.get(low, _SHORT_WEEKDAYS.get(low, 0))
        place = at + 1 + (self.low[at + 1] in (",", "of"))
        if self.low[place] in ("last", "this") and self.low[place + 1] == "week":
            monday = self.calendar.monday() - 7 * (self.low[place] == "last")
            if monday + weekday <= self.calendar.day:
                return _Named(place + 2, self.calendar.days(monday + weekday, monday + weekday + 1))
        beside = _Lead("part")
        place = at + 1 + (self.low[at + 1] == ",")
        place += self.low[place] == "the"
        date_beside = self.day_month(place, beside) or self.month_day(place, beside) or self.iso_date(place)
        if date_beside is not None:
            return date_beside
        back = (self.calendar.day - 1 - weekday) % 7 or 7
        return self.part_of_day(at + 1, self.calendar.day - back)


def _unit(word: str) -> str | None:
    """The unit that a word names, in the singular."""
    single = word if word in _UNITS else word.removesuffix("s")
    single = _SHORT_UNITS.get(single, single)
    return single if single in _UNITS else None


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isascii() and word.isdigit() and word[:2] in ("19", "20")


def _third(span: _Span, part: int) -> _Span:
    """The early, middle or late third of a span, in whole days where it has some."""
    start, end = span
    size = (end - start) / 3
    if size > _DAY:
        size = timedelta(days=round(size / _DAY))
    return (start + part * size, end if part == 2 else start + (part + 1) * size)


_VERBS = frozenset({"may", "march"})
_SURE_MONTHS = frozenset(_MONTHS) - _VERBS - {"april", "june", "august"}

_Read = Callable[[_Reader, int, _Lead], _Named | None]


def _readers() -> dict[str, tuple[_Read, ...]]:
    """Which readers may find something at a word, in the order they are asked."""
    begins: dict[str, list[_Read]] = {}
    table: tuple[tuple[_Read, set[str]], ...] = (
        (_Reader.plain_day, {"today", "yesterday", "tonight"}),
        (_Reader.before_last, set(_CALENDAR_UNITS)),
        (_Reader.beside, {*_DAY_UNITS, *_MONTH_UNITS, "weekend", *_WEEKDAYS}),
        (_Reader.loose, {phrase[0] for phrase in _LOOSE_PHRASES}),
        (_Reader.qualified, set(_QUALIFIERS)),
        (_Reader.half_ago, {"half"}),
        (_Reader.distance, {*_NUMBERS, *_LOOSE_NUMBERS}),
        (_Reader.ordinal_quarter, set(_ORDINALS)),
        (_Reader.month_day, {*_MONTHS, *_SHORT_MONTHS}),
        (_Reader.month_year, {*_MONTHS, *_SHORT_MONTHS}),
        (_Reader.quarter, set(_QUARTERS)),
        (_Reader.season, set(_SEASONS)),
        (_Reader.weekday, {*_WEEKDAYS, *_SHORT_WEEKDAYS}),
    )
    for read, words in table:
        for word in words:
            begins.setdefault(word, []).append(read)
    return {word: tuple(reads) for word, reads in begins.items()}


_READERS = _readers()
