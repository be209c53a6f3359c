"""Cron: when schedules fire, against somebody who looks at the clock on the wall every minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import InvalidInput
from recollect.policy.cron import parse_cron

MINUTE = timedelta(minutes=1)
WINDOW = 2 * 24 * 60
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "sun mon tue wed thu fri sat".split()
# Where clocks jump, or do not: by an hour, by half of one, at midnight, by a day; and a leap day.
PLACES = [
    ("UTC", "2026-02-27"),
    ("UTC", "2028-02-28"),
    ("Asia/Kolkata", "2026-12-31"),
    ("Europe/Berlin", "2026-03-28"),
    ("Europe/Berlin", "2026-10-24"),
    ("America/New_York", "2026-03-07"),
    ("America/New_York", "2026-10-31"),
    ("Australia/Lord_Howe", "2026-04-04"),
    ("Australia/Lord_Howe", "2026-10-03"),
    ("America/Sao_Paulo", "2018-11-03"),
    ("America/Sao_Paulo", "2018-02-17"),
    ("Pacific/Apia", "2011-12-29"),
]


@st.composite
def parts(draw: st.DrawFn, least: int, most: int, names: list[str] | None = None) -> tuple[str, set[int]]:
    """One part of a field, as text, and what it means."""
    low = draw(st.integers(least, most))
    high = draw(st.integers(low, most))
    step = draw(st.integers(1, 40))
    said = names[low - least] if names and draw(st.booleans()) else str(low)
    forms = [
        ("*", set(range(least, most + 1))),
        (said, {low}),
        (f"{said}-{high}", set(range(low, high + 1))),
        (f"*/{step}", set(range(least, most + 1, step))),
        (f"{low}-{high}/{step}", set(range(low, high + 1, step))),
        (f"{said}/{step}", set(range(low, (7 if names == WEEKDAYS else most) + 1, step))),
    ]
    return draw(st.sampled_from(forms))


@st.composite
def field(draw: st.DrawFn, least: int, most: int, names: list[str] | None = None) -> tuple[str, set[int]]:
    """A whole field."""
    drawn = draw(st.lists(parts(least, most, names), min_size=1, max_size=3))
    return ",".join(text for text, _ in drawn), set().union(*(values for _, values in drawn))


FIELDS = st.tuples(
    field(0, 59),
    field(0, 23),
    field(1, 31) | st.just(("*", set(range(1, 32)))),
    field(1, 12, MONTHS),
    field(0, 6, WEEKDAYS),
)
Fields = tuple[tuple[str, set[int]], ...]


def shown(fields: Fields, wall: datetime) -> bool:
    """Whether a schedule has this minute of the clock on the wall."""
    minutes, hours, days, months, weekdays = (values for _, values in fields)
    by_day, by_weekday = wall.day in days, wall.isoweekday() % 7 in {day % 7 for day in weekdays}
    told = all(not text.startswith("*") for text, _ in (fields[2], fields[4]))
    on = by_day or by_weekday if told else by_day and by_weekday
    return wall.minute in minutes and wall.hour in hours and wall.month in months and on


def watched(fields: Fields, zone: tzinfo, start: datetime) -> list[datetime]:
    """The minutes of a window at which it fires, by looking at every one of them."""
    every_hour = len(fields[1][1]) == 24
    fired = []
    for number in range(WINDOW):
        moment = start + number * MINUTE
        wall, before = moment.astimezone(zone), (moment - MINUTE).astimezone(zone)
        left_out = []
        missing = before.replace(tzinfo=None) + MINUTE
        while not every_hour and missing < wall.replace(tzinfo=None):
            left_out.append(missing)
            missing += MINUTE
        here = shown(fields, wall) and (every_hour or not wall.fold)
        if here or any(shown(fields, each) for each in left_out):
            fired.append(moment)
    return fired


@given(FIELDS, st.sampled_from(PLACES), st.integers(0, 24 * 60))
def test_a_schedule_fires_when_somebody_who_looks_every_minute_sees_it(
    fields: Fields, place: tuple[str, str], offset: int
) -> None:
    """Each next and each previous moment, over days on which clocks jump."""
    zone = ZoneInfo(place[0])
    start = datetime.fromisoformat(place[1]).replace(tzinfo=UTC) + offset * MINUTE
    text = " ".join(text for text, _ in fields)
    expected = watched(fields, zone, start)
    try:
        cron = parse_cron(text, zone=zone)
    except InvalidInput:
        assert expected == [], "what never fires is refused"
        return
    end = start + WINDOW * MINUTE
    found = []
    moment = cron.next(start - MINUTE)
    while moment < end:
        found.append(moment)
        moment = cron.next(moment)
    assert found == expected
    for before, after in pairwise(expected):
        assert cron.previous(after - timedelta(seconds=1)) == before
        assert cron.previous(after) == after


@pytest.mark.parametrize(
    "text, after, fires",
    [
        ("0 4 * * *", "2026-01-01T03:59:59", "2026-01-01T04:00"),
        ("0 4 * * *", "2026-01-01T04:00", "2026-01-02T04:00"),
        ("*/15 8-18 * * mon-fri", "2026-01-02T18:45", "2026-01-05T08:00"),  # a Friday
        ("0 0 1 * *", "2026-01-31T12:00", "2026-02-01T00:00"),
        ("30 4 * * 7", "2026-01-01T00:00", "2026-01-04T04:30"),
        ("30 4 * * 0", "2026-01-01T00:00", "2026-01-04T04:30"),
        ("0 0 29 2 *", "2096-03-01T00:00", "2104-02-29T00:00"),
        ("0 0 13 * fri", "2026-01-01T00:00", "2026-01-02T00:00"),  # either will do
        ("0 0 */2 * fri", "2026-01-01T00:00", "2026-01-09T00:00"),  # a star is not told, so both must hold
        ("5/20 1 * JAN ?", "2026-01-01T00:00", "2026-01-01T01:05"),
        ("59 23 31 dec *", "2026-12-31T23:59", "2027-12-31T23:59"),
    ],
)
def test_what_people_write_fires_when_they_mean(text: str, after: str, fires: str) -> None:
    """A table of schedules in UTC."""
    moment = datetime.fromisoformat(after).replace(tzinfo=UTC)
    assert parse_cron(text).next(moment) == datetime.fromisoformat(fires).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text, zone, after, fires",
    [
        # 02:30 is left out on 29 March, and comes twice on 25 October.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T00:30Z"]),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]),
        ("30 * * * *", "Europe/Berlin", "2026-03-29T00:30Z", ["2026-03-29T01:30Z", "2026-03-29T02:30Z"]),
        ("30 * * * *", "Europe/Berlin", "2026-10-25T00:00Z", ["2026-10-25T00:30Z", "2026-10-25T01:30Z"]),
        ("0 4 * * *", "Asia/Kolkata", "2026-01-01T00:00Z", ["2026-01-01T22:30Z", "2026-01-02T22:30Z"]),
    ],
)
def test_clocks_that_are_put_forward_and_back(text: str, zone: str, after: str, fires: list[str]) -> None:
    """What is left out fires after it, what comes twice fires once, and every hour is every hour."""
    cron = parse_cron(text, zone=ZoneInfo(zone))
    moment = datetime.fromisoformat(after)
    for each in fires:
        moment = cron.next(moment)
        assert moment == datetime.fromisoformat(each)
        assert cron.previous(moment) == moment


@pytest.mark.parametrize(
    "text, problem",
    [
        ("", "has 0 fields"),
        ("* * * *", "has 4 fields"),
        ("0 4 * * * *", "has 6 fields"),
        ("60 * * * *", "the minute 60 is not from 0 to 59"),
        ("* 24 * * *", "the hour 24 is not from 0 to 23"),
        ("* * 0 * *", "the day 0 is not from 1 to 31"),
        ("* * * 13 *", "the month 13 is not from 1 to 12"),
        ("* * * * 8", "the weekday 8 is not from 0 to 7"),
        ("* * * may-feb *", "runs backwards"),
        ("*/0 * * * *", "has no step"),
        ("*/x * * * *", "the step of the minute cannot be 'x'"),
        ("1, * * * *", "the minute cannot be ''"),
        ("-5 * * * *", "the minute cannot be ''"),
        ("*-5 * * * *", "the minute cannot be '*'"),
        ("² * * * *", "the minute cannot be '²'"),
        ("0 0 * * fri#2", "the weekday cannot be 'fri#2'"),
        ("0 0 30 2 *", "never fires"),
        ("0 0 31 4,6 *", "never fires"),
    ],
)
def test_what_is_no_schedule_is_refused_with_its_problem(text: str, problem: str) -> None:
    """The field and what is wrong with it."""
    with pytest.raises(InvalidInput, match=r"backup\.schedule: ") as error:
        parse_cron(text, name="backup.schedule")
    assert problem in str(error.value)


@given(st.text(alphabet="0123456789*/,-? abcjanmonfri#", max_size=40))
def test_no_text_does_anything_but_parse_or_be_refused(text: str) -> None:
    """And whatever parses fires."""
    try:
        cron = parse_cron(text)
    except InvalidInput:
        return
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert cron.previous(moment) <= moment < cron.next(moment)
