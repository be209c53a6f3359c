"""Time expressions: what period each means, what is none, and that no text does harm."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from time import process_time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.policy.moments import Period, closeness, periods

NOW = datetime(2026, 3, 18, 14, 30, tzinfo=UTC)  # a Wednesday
ALWAYS = datetime.min.replace(tzinfo=UTC)


def moment(text: str) -> datetime:
    return ALWAYS if text == "…" else datetime.fromisoformat(text).replace(tzinfo=UTC)


def told(text: str, now: datetime = NOW) -> list[tuple[str, str, str]]:
    """The periods of a text as a table shows them."""

    def shown(at: datetime) -> str:
        return "…" if at == ALWAYS else at.strftime("%Y-%m-%d" if at.time() == at.min.time() else "%Y-%m-%dT%H:%M")

    return [(found.phrase, shown(found.start), shown(found.end)) for found in periods(text, now)]


RELATIVE = {
    "today": ("2026-03-18", "2026-03-19"),
    "yesterday": ("2026-03-17", "2026-03-18"),
    "Yesterday": ("2026-03-17", "2026-03-18"),
    "yesterday morning": ("2026-03-17T05:00", "2026-03-17T12:00"),
    "tonight": ("2026-03-18T18:00", "2026-03-19T06:00"),
    "last night": ("2026-03-17T18:00", "2026-03-18T06:00"),
    "this morning": ("2026-03-18T05:00", "2026-03-18T12:00"),
    "this afternoon": ("2026-03-18T12:00", "2026-03-18T18:00"),
    "the day before yesterday": ("2026-03-16", "2026-03-17"),
    "this week": ("2026-03-16", "2026-03-23"),
    "last week": ("2026-03-09", "2026-03-16"),
    "previous week": ("2026-03-09", "2026-03-16"),
    "past week": ("2026-03-11", "2026-03-19"),
    "the week before last": ("2026-03-02", "2026-03-09"),
    "this weekend": ("2026-03-14", "2026-03-16"),
    "last weekend": ("2026-03-14", "2026-03-16"),
    "the weekend before last": ("2026-03-07", "2026-03-09"),
    "two weekends ago": ("2026-03-07", "2026-03-09"),
    "this month": ("2026-03-01", "2026-04-01"),
    "last month": ("2026-02-01", "2026-03-01"),
    "over the past month": ("2026-02-18", "2026-03-19"),
    "this quarter": ("2026-01-01", "2026-04-01"),
    "last quarter": ("2025-10-01", "2026-01-01"),
    "this year": ("2026-01-01", "2027-01-01"),
    "last year": ("2025-01-01", "2026-01-01"),
    "early last year": ("2025-01-01", "2025-05-03"),
    "the end of last month": ("2026-02-19", "2026-03-01"),
    "last 3 days": ("2026-03-15", "2026-03-19"),
    "in the last three days": ("2026-03-15", "2026-03-19"),
    "past two weeks": ("2026-03-04", "2026-03-19"),
    "previous 6 months": ("2025-09-18", "2026-03-19"),
    "last hour": ("2026-03-18T13:30", "2026-03-18T14:30"),
    "in the last hour": ("2026-03-18T13:30", "2026-03-18T14:30"),
    "in the last minute": ("2026-03-18T14:29", "2026-03-18T14:30"),
    "past 45 mins": ("2026-03-18T13:45", "2026-03-18T14:30"),
    "within the last day": ("2026-03-17", "2026-03-19"),
    "a day ago": ("2026-03-17", "2026-03-18"),
    "3 days ago": ("2026-03-15", "2026-03-16"),
    "ten days ago": ("2026-03-08", "2026-03-09"),
    "two weeks ago": ("2026-03-01", "2026-03-08"),
    "a month ago": ("2026-02-03", "2026-03-05"),
    "a year ago": ("2024-09-17", "2025-09-17"),
    "an hour ago": ("2026-03-18T13:00", "2026-03-18T14:00"),
    "2 hours ago": ("2026-03-18T12:00", "2026-03-18T13:00"),
    "40 minutes ago": ("2026-03-18T13:40", "2026-03-18T14:00"),
    "half a day ago": ("2026-03-17T23:30", "2026-03-18T05:30"),
    "two weeks back": ("2026-03-01", "2026-03-08"),
    "since yesterday": ("2026-03-17", "2026-03-19"),
    "since last week": ("2026-03-09", "2026-03-19"),
    "before last week": ("…", "2026-03-09"),
    "until yesterday": ("…", "2026-03-18"),
    "from yesterday to today": ("2026-03-17", "2026-03-19"),
}

WEEKDAYS = {
    "on Friday": ("2026-03-13", "2026-03-14"),
    "friday": ("2026-03-13", "2026-03-14"),
    "last Tuesday": ("2026-03-17", "2026-03-18"),
    "last tuesday": ("2026-03-17", "2026-03-18"),
    "this Monday": ("2026-03-16", "2026-03-17"),
    "this Wednesday": ("2026-03-18", "2026-03-19"),
    "on Wednesday": ("2026-03-11", "2026-03-12"),
    "this Thursday": ("2026-03-12", "2026-03-13"),
    "on Fri": ("2026-03-13", "2026-03-14"),
    "Monday morning": ("2026-03-16T05:00", "2026-03-16T12:00"),
    "on Monday last week": ("2026-03-09", "2026-03-10"),
    "Friday of last week": ("2026-03-13", "2026-03-14"),
    "since Monday": ("2026-03-16", "2026-03-19"),
    "Friday, 3 May 2024": ("2024-05-03", "2024-05-04"),
    "on Friday the 3rd of May": ("2025-05-03", "2025-05-04"),
}

MONTHS = {
    "in March": ("2026-03-01", "2026-04-01"),
    "in march": ("2026-03-01", "2026-04-01"),
    "in May": ("2025-05-01", "2025-06-01"),
    "in may": ("2025-05-01", "2025-06-01"),
    "in June": ("2025-06-01", "2025-07-01"),
    "in june": ("2025-06-01", "2025-07-01"),
    "January": ("2026-01-01", "2026-02-01"),
    "last March": ("2025-03-01", "2025-04-01"),
    "last February": ("2026-02-01", "2026-03-01"),
    "this January": ("2026-01-01", "2026-02-01"),
    "March 2025": ("2025-03-01", "2025-04-01"),
    "march 2025": ("2025-03-01", "2025-04-01"),
    "Mar 2025": ("2025-03-01", "2025-04-01"),
    "May 2025": ("2025-05-01", "2025-06-01"),
    "March of 2025": ("2025-03-01", "2025-04-01"),
    "in Sept": ("2025-09-01", "2025-10-01"),
    "early March": ("2026-03-01", "2026-03-11"),
    "mid March": ("2026-03-11", "2026-03-21"),
    "mid-March": ("2026-03-11", "2026-03-21"),
    "late March": ("2025-03-21", "2025-04-01"),
    "late March 2024": ("2024-03-21", "2024-04-01"),
    "in early may": ("2025-05-01", "2025-05-11"),
    "since June": ("2025-06-01", "2026-03-19"),
    "until June 2025": ("…", "2025-07-01"),
    "before June 2025": ("…", "2025-06-01"),
    "by June 2025": ("…", "2025-07-01"),
    "after June 2025": ("2025-07-01", "2026-03-19"),
    "after March": ("2025-04-01", "2026-03-19"),
    "between May and July 2025": ("2025-05-01", "2025-08-01"),
    "between November and February 2025": ("2024-11-01", "2025-03-01"),
    "between May and July": ("2025-05-01", "2025-08-01"),
    "from May to July": ("2025-05-01", "2025-08-01"),
    "from may to july": ("2025-05-01", "2025-08-01"),
    "from May 2024 until July": ("2024-05-01", "2024-08-01"),
    "May to July 2023": ("2023-05-01", "2023-08-01"),
    "May–July 2023": ("2023-05-01", "2023-08-01"),
    "Nov. 2024": ("2024-11-01", "2024-12-01"),
    "since June of last year": ("2025-06-01", "2026-03-19"),
    "in March last year": ("2025-03-01", "2025-04-01"),
    "2025-05": ("2025-05-01", "2025-06-01"),
}

DAYS = {
    "3 May 2024": ("2024-05-03", "2024-05-04"),
    "3 may 2024": ("2024-05-03", "2024-05-04"),
    "May 3rd, 2024": ("2024-05-03", "2024-05-04"),
    "May 3, 2024": ("2024-05-03", "2024-05-04"),
    "May 3,2024": ("2024-05-03", "2024-05-04"),
    "Mar 3 2024": ("2024-03-03", "2024-03-04"),
    "3rd of May": ("2025-05-03", "2025-05-04"),
    "the 3rd of march": ("2026-03-03", "2026-03-04"),
    "on March 18": ("2026-03-18", "2026-03-19"),
    "on March 19": ("2025-03-19", "2025-03-20"),
    "on may 3": ("2025-05-03", "2025-05-04"),
    "on Nov. 7": ("2025-11-07", "2025-11-08"),
    "Aug. 11, 2003": ("2003-08-11", "2003-08-12"),
    "3 Sept. 2024": ("2024-09-03", "2024-09-04"),
    "29 February": ("2024-02-29", "2024-03-01"),
    "3-5 May 2024": ("2024-05-03", "2024-05-06"),
    "May 3-5, 2024": ("2024-05-03", "2024-05-06"),
    "after 3 May 2024": ("2024-05-04", "2026-03-19"),
    "since 3 May 2024": ("2024-05-03", "2026-03-19"),
    "2024-05-03": ("2024-05-03", "2024-05-04"),
    "2024/05/03": ("2024-05-03", "2024-05-04"),
    "since 2024-05-03": ("2024-05-03", "2026-03-19"),
    "2024-05-03 to 2024-05-10": ("2024-05-03", "2024-05-11"),
    "the day before 3 May 2024": ("2024-05-02", "2024-05-03"),
    "the week before 3 May 2024": ("2024-04-26", "2024-05-03"),
    "in the week after 3 May 2024": ("2024-05-04", "2024-05-11"),
    "two days before 2024-05-03": ("2024-05-01", "2024-05-03"),
    "the month before June 2025": ("2025-05-02", "2025-06-01"),
    "the Friday before 3 May 2024": ("2024-04-26", "2024-04-27"),
    "the Friday before 4 May 2024": ("2024-05-03", "2024-05-04"),
    "the Sunday after 3 May 2024": ("2024-05-05", "2024-05-06"),
    "the weekend before 5 May 2024": ("2024-04-27", "2024-04-29"),
    "the weekend before 6 May 2024": ("2024-05-04", "2024-05-06"),
    "the weekend after 3 May 2024": ("2024-05-04", "2024-05-06"),
    "25/05/2024": ("2024-05-25", "2024-05-26"),
    "05/25/2024": ("2024-05-25", "2024-05-26"),
    "05/05/2024": ("2024-05-05", "2024-05-06"),
    "3 May 2030": ("2030-05-03", "2030-05-04"),
}

YEARS = {
    "in 2024": ("2024-01-01", "2025-01-01"),
    "during 2023": ("2023-01-01", "2024-01-01"),
    "since 2024": ("2024-01-01", "2026-03-19"),
    "before 2024": ("…", "2024-01-01"),
    "by 2024": ("…", "2025-01-01"),
    "in the year 2024": ("2024-01-01", "2025-01-01"),
    "mid-2024": ("2024-05-02", "2024-09-01"),
    "late 2024": ("2024-09-01", "2025-01-01"),
    "between 2023 and 2024": ("2023-01-01", "2025-01-01"),
    "from 2023 to 2024": ("2023-01-01", "2025-01-01"),
    "in 2023-2024": ("2023-01-01", "2025-01-01"),
    "Q3 2025": ("2025-07-01", "2025-10-01"),
    "2025 Q3": ("2025-07-01", "2025-10-01"),
    "q1 of 2025": ("2025-01-01", "2025-04-01"),
    "in Q3": ("2025-07-01", "2025-10-01"),
    "in Q1": ("2026-01-01", "2026-04-01"),
    "third quarter of 2025": ("2025-07-01", "2025-10-01"),
    "in the second quarter of last year": ("2025-04-01", "2025-07-01"),
    "4th quarter 2024": ("2024-10-01", "2025-01-01"),
    "last summer": ("2025-06-01", "2025-09-01"),
    "last winter": ("2025-12-01", "2026-03-01"),
    "this spring": ("2026-03-01", "2026-06-01"),
    "last spring": ("2025-03-01", "2025-06-01"),
    "spring 2025": ("2025-03-01", "2025-06-01"),
    "the summer of 2024": ("2024-06-01", "2024-09-01"),
    "fall 2024": ("2024-09-01", "2024-12-01"),
    "in the summer of last year": ("2025-06-01", "2025-09-01"),
    "winter 2024": ("2024-12-01", "2025-03-01"),
    "in summer": ("2025-06-01", "2025-09-01"),
    "in the fall": ("2025-09-01", "2025-12-01"),
}

LOOSE = {
    "recently": ("2026-03-04", "2026-03-19"),
    "lately": ("2026-03-04", "2026-03-19"),
    "these days": ("2026-02-16", "2026-03-19"),
    "the other day": ("2026-03-11", "2026-03-18"),
    "a while ago": ("2025-09-19", "2026-03-04"),
    "a while back": ("2025-09-19", "2026-03-04"),
    "a long time ago": ("2016-03-20", "2025-09-19"),
    "just now": ("2026-03-18", "2026-03-19"),
    "a few weeks ago": ("2026-02-01", "2026-03-08"),
    "a couple of days ago": ("2026-03-15", "2026-03-18"),
    "the last few days": ("2026-03-12", "2026-03-19"),
    "several months ago": ("2025-06-03", "2026-01-02"),
}


@pytest.mark.parametrize("phrase, bounds", [*RELATIVE.items(), *WEEKDAYS.items(), *MONTHS.items()])
@pytest.mark.parametrize("question", ["{}", "What did we decide {}?", "{}, we said; why"])
def test_a_phrase_means_its_period_wherever_it_stands(phrase: str, bounds: tuple[str, str], question: str) -> None:
    """Relative words, weekdays and months, alone and within a question."""
    [found] = periods(question.format(phrase), NOW)
    assert (found.phrase, found.start, found.end) == (phrase, *map(moment, bounds))
    assert not found.vague


@pytest.mark.parametrize("phrase, bounds", [*DAYS.items(), *YEARS.items()])
@pytest.mark.parametrize("question", ["{}", "What did we decide {}?", "{}, we said; why"])
def test_a_date_means_its_day_and_a_year_its_twelve_months(phrase: str, bounds: tuple[str, str], question: str) -> None:
    """Days, years, quarters and seasons of the year, alone and within a question."""
    [found] = periods(question.format(phrase), NOW)
    assert (found.phrase, found.start, found.end) == (phrase, *map(moment, bounds))
    assert not found.vague


@pytest.mark.parametrize("phrase, bounds", LOOSE.items())
def test_a_vague_phrase_means_a_wide_period_and_says_so(phrase: str, bounds: tuple[str, str]) -> None:
    """Whoever says "recently" did not say when."""
    [found] = periods(f"Which bug did we see {phrase}?", NOW)
    assert (found.phrase, found.start, found.end) == (phrase, *map(moment, bounds))
    assert found.vague


@pytest.mark.parametrize(
    "text",
    [
        "may I ask", "May I ask", "we may use it", "this may fail", "It MAY be absent", "the client may be gone",
        "version 3 may break", "the 3 may differ", "may 10 users connect", "May 10 users connect?", "log in may fail",
        "sign in may be broken", "march on", "they march in step", "to march", "ask April", "an august body",
        "a second", "the second try", "wait a minute", "give me a second", "now", "right now", "by now", "an hour",
        "per minute", "every day", "a day", "two weeks of work", "a last minute change", "my last day", "the last day",
        "last time", "at last", "the last word", "past due", "in the past", "half past three", "the previous line",
        "next week", "next Friday", "every Friday", "on Fridays", "tomorrow", "each March", "next summer",
        "in 2 days", "in three weeks",
        "port 2024", "on port 2024", "2024", "2024 rows", "in 2000 ms", "of 2000 rows", "a size of 2048", "in 8080",
        "in 2024.1", "of 1920x1080", "in 1800", "error 2024-1234", "CVE-2024-05", "2024-13-45", "2024-02-30",
        "03/05/2024", "13/13/2024", "1/2/3", "Feb 30",
        "2.5 weeks ago", "1,000 days ago", "0 days ago", "last 0 weeks", "10:30", "99999999999999999999 days ago",
        "Spring Boot", "in Spring", "the last Spring Boot upgrade", "spring is here", "fall back to http", "the fall",
        "the first quarter of the list", "Q3", "quarter", "sat on it", "the sun", "sun", "mon", "dec", "convert to dec",
        "last_week", "lastweek", "today_x", "xtoday", "a day back in the office", "between us",
        "the day after we met", "the week before the release", "since", "the",
        "in the", "early", "the end of", "mid-", "from to", "before", "ago", "weeks ago", "٣ days ago", "²", "Ⅳ", "",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    """Verbs, counts, ports, versions, idioms, coming times and dates that do not exist."""
    assert told(text) == []


@pytest.mark.parametrize(
    "text, found",
    [
        ("yesterday or last week?", ["yesterday", "last week"]),
        ("What changed since Monday in the api and in March in the ui", ["since Monday", "in March"]),
        ("yesterday's decision and last week's", ["yesterday", "last week"]),
        ("I may have said so in May; may I see it?", ["in May"]),
        ("moved from Tuesday to Friday", ["from Tuesday", "Friday"]),
        ("the log of 2024-05-03T10:00:00Z", ["of 2024-05-03T10"]),
        ("backup-2024-05-03.tar", ["2024-05-03"]),
        ("31 April 2024 does not exist, its month does", ["April 2024"]),
        ("in June 10 users signed up", ["in June"]),
        ("in 2024, 15 people left", ["in 2024"]),
        ("today today", ["today", "today"]),
        ("3 to 5 days ago", ["5 days ago"]),
        ("caused by yesterday's release", ["by yesterday"]),
        ("the January outage", ["the January"]),
        ("in March 2025 and in 2024", ["in March 2025", "in 2024"]),
    ],
)
def test_every_expression_is_found_in_its_order(text: str, found: list[str]) -> None:
    """A question may name several times, each once and as written."""
    assert [phrase for phrase, _, _ in told(text)] == found


@pytest.mark.parametrize(
    "now, phrase, bounds",
    [
        ("2026-03-15T12:00", "this weekend", ("2026-03-14", "2026-03-16")),
        ("2026-03-15T12:00", "last weekend", ("2026-03-07", "2026-03-09")),
        ("2026-03-16T12:00", "last weekend", ("2026-03-14", "2026-03-16")),
        ("2026-01-01T00:00", "yesterday", ("2025-12-31", "2026-01-01")),
        ("2026-01-01T00:00", "last quarter", ("2025-10-01", "2026-01-01")),
        ("2026-01-01T00:00", "last month", ("2025-12-01", "2026-01-01")),
        ("2026-03-31T12:00", "past month", ("2026-02-28", "2026-04-01")),
        ("2024-03-31T12:00", "past month", ("2024-02-29", "2024-04-01")),
        ("2026-02-10T12:00", "this winter", ("2025-12-01", "2026-03-01")),
        ("2026-02-10T12:00", "last winter", ("2024-12-01", "2025-03-01")),
        ("2026-07-10T12:00", "last summer", ("2025-06-01", "2025-09-01")),
        ("1904-02-28T12:00", "29 February", ("1896-02-29", "1896-03-01")),
        ("2036-07-10T12:00", "between May and July 2020", ("2020-05-01", "2020-08-01")),
        ("0001-01-01T05:00", "last 3 days", ("…", "0001-01-02")),
        ("0001-01-01T05:00", "today", ("…", "0001-01-02")),
    ],
)
def test_boundaries_of_the_calendar_are_kept(now: str, phrase: str, bounds: tuple[str, str]) -> None:
    """Turns of years, short months, weekends seen from within, and the first year there is."""
    [found] = periods(phrase, moment(now))
    assert (found.start, found.end) == tuple(map(moment, bounds))


@pytest.mark.parametrize("phrase", ["last week", "yesterday", "a year ago", "last summer", "in March"])
def test_what_lies_before_the_calendar_is_none(phrase: str) -> None:
    """In the first hours of year 1 there is no yesterday."""
    assert periods(phrase, datetime(1, 1, 1, 5, tzinfo=UTC)) == ()


def test_a_day_is_that_of_the_clock_that_was_asked_by() -> None:
    """At 23:30 in Berlin, today began at 22:00 or 23:00 UTC of the day before; in March the offset changes."""
    berlin = ZoneInfo("Europe/Berlin")
    [day] = periods("today", datetime(2026, 7, 1, 23, 30, tzinfo=berlin))
    assert (day.start, day.end) == (moment("2026-06-30T22:00"), moment("2026-07-01T22:00"))
    [month] = periods("in March", datetime(2026, 7, 1, 23, 30, tzinfo=berlin))
    assert (month.start, month.end) == (moment("2026-02-28T23:00"), moment("2026-03-31T22:00"))
    assert month.start.tzinfo is UTC


def test_a_day_that_a_place_skipped_is_none() -> None:
    """Samoa had no 30 December 2011."""
    assert periods("yesterday", datetime(2011, 12, 31, 12, tzinfo=ZoneInfo("Pacific/Apia"))) == ()


# --- Properties ------------------------------------------------------------------------------------------------------

VOCABULARY = (
    *"in on of by the since until before after between from to and early mid - late end start this last past".split(),
    *"previous next every a an couple few several half one two 3 12 31 2024 2025 1999 05 03 3rd 1st".split(),
    *"second first minute hour hours day days week weeks weekend month quarter year years decade ago back".split(),
    *"while yesterday today tonight morning night monday Friday Fri may May MAY march March June dec Dec".split(),
    *"spring Spring summer fall winter Q3 q1 recently lately other long now just we use boot rows , . / : %".split(),
    *"' ( 2024-05-03 25/05/2024".split(),
)
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12)), ZoneInfo("Europe/Berlin")])
NOWS = st.datetimes(timezones=ZONES) | st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1), timezones=ZONES)  # noqa: DTZ001
SPOKEN = st.lists(st.sampled_from(VOCABULARY), max_size=14).map(" ".join)
PAST = ("yesterday", "last", "past", "previous", "ago", "recently", "lately", "back")


@given(SPOKEN | st.text(), NOWS)
def test_any_text_at_any_time_gives_sane_periods(text: str, now: datetime) -> None:
    """Never an error; bounds in order and in UTC; phrases as they stand, one after the other."""
    at = 0
    for found in periods(text, now):
        assert found.start < found.end
        assert found.start.tzinfo is UTC
        assert found.end.tzinfo is UTC
        at = text.index(found.phrase, at) + len(found.phrase)


@given(SPOKEN, NOWS)
def test_a_phrase_read_again_means_the_same(text: str, now: datetime) -> None:
    """What was found needs nothing around it, so reading twice changes nothing."""
    for found in periods(text, now):
        assert periods(found.phrase, now) == (found,)


@given(SPOKEN, NOWS)
def test_words_of_the_past_name_no_coming_time(text: str, now: datetime) -> None:
    """A name without a year has begun; words of the past end by the end of the day, or of what they stand in."""
    for found in periods(text, now):
        words = found.phrase.lower().split()
        if not any(character.isdigit() for character in found.phrase):
            assert found.start <= now + timedelta(days=1)
        if words[0] in PAST and "to" not in words and "-" not in words:
            assert found.end <= now + timedelta(days=2)


@pytest.mark.parametrize(
    "piece",
    ["a", " ", "a ", "3 ", "3-", "2024-", "2024-05-", "in ", "the ", "last ", "in the last ", "between May and ",
     "May ", "yesterday ", "may 3 ", "9", "-", "/1",
     "early mid-", "from March to ", "\x00", "é", "²", "a few ", "1,", "1.",
     "a day before ", "the Friday after early ", "3 days before the "],
)  # fmt: skip
def test_long_texts_take_linear_time(piece: str) -> None:
    """A hundred thousand characters of anything are read in well under a second."""
    text = piece * (100_000 // len(piece))
    started = process_time()
    periods(text, NOW)
    assert process_time() - started < 0.9


# --- Closeness -------------------------------------------------------------------------------------------------------

MOMENTS = st.datetimes(timezones=st.just(UTC))


def test_closeness_halves_with_each_length_of_the_period() -> None:
    """A week away from a named week is a half, two weeks a quarter, on either side."""
    [week] = periods("last week", NOW)
    assert closeness(week.start, week) == 1.0
    assert closeness(week.end - timedelta(microseconds=1), week) == 1.0
    for weeks in (1, 2, 3):
        assert closeness(week.end + weeks * timedelta(days=7), week) == pytest.approx(0.5**weeks)
        assert closeness(week.start - weeks * timedelta(days=7), week) == pytest.approx(0.5**weeks)


def test_a_short_period_fades_by_the_day() -> None:
    """Whoever says "an hour ago" may be a few hours off."""
    [hour] = periods("an hour ago", NOW)
    assert closeness(hour.end + timedelta(days=1), hour) == pytest.approx(0.5)


def test_a_period_without_a_beginning_fades_by_the_month() -> None:
    """Its length is that of all time, by which nothing would ever fade."""
    [before] = periods("before June 2025", NOW)
    assert closeness(moment("1999-01-01"), before) == 1.0
    assert closeness(moment("2025-07-01"), before) == pytest.approx(0.5)


@given(MOMENTS, MOMENTS, MOMENTS, MOMENTS)
def test_closeness_is_a_share_that_only_falls_with_distance(a: datetime, b: datetime, c: datetime, d: datetime) -> None:
    """One inside, and of two moments on one side the nearer is never less close."""
    start, end = sorted((a, b))
    if start == end:
        return
    period = Period(start, end, "then", vague=False)
    for near, far in ((max(c, d), min(c, d)), (min(c, d), max(c, d))):
        assert 0.0 <= closeness(far, period) <= 1.0
        assert (closeness(near, period) == 1.0) or not start <= near < end
        if (near < start and near > far) or (near >= end and near < far):
            assert closeness(near, period) >= closeness(far, period)
