"""Seasons: when a label is active, by its rule and by hand, and what is no rule."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import InvalidInput
from recollect.policy.seasons import (
    NAME_LENGTH,
    RULE_LENGTH,
    Season,
    active,
    parse_rule,
    season_from,
    season_name,
    told,
)

pytestmark = pytest.mark.row("J10")


def on(day: str) -> datetime:
    return datetime.fromisoformat(day).replace(tzinfo=UTC)


def by(rule: str) -> Season:
    return Season("some-time", parse_rule(rule))


@pytest.mark.parametrize(
    "rule, days, others",
    [
        ("12-15..01-05", "2025-12-15 2025-12-31 2026-01-01 2026-01-05", "2025-12-14 2026-01-06 2026-07-01"),
        ("03-01..03-14", "2026-03-01 2030-03-14", "2026-02-28 2026-03-15"),
        ("3-1 to 3-14", "2026-03-01 2030-03-14", "2026-02-28 2026-03-15"),
        ("12-24", "2026-12-24", "2026-12-23 2026-12-25"),
        ("02-29", "2024-02-29 2028-02-29", "2024-02-28 2026-02-28 2026-03-01"),
        ("02-20..02-29", "2026-02-28 2024-02-29", "2026-03-01 2024-03-01"),
        ("month 12", "2026-12-01 2026-12-31", "2026-11-30 2027-01-01"),
        ("Month  December", "2026-12-01 2026-12-31", "2026-11-30 2027-01-01"),
        ("months 6..8", "2026-06-01 2026-08-31", "2026-05-31 2026-09-01"),
        ("months jun..aug", "2026-06-01 2026-08-31", "2026-05-31 2026-09-01"),
        ("months 11..2", "2026-11-01 2026-12-31 2026-02-28", "2026-10-31 2026-03-01"),
        ("day 25..31", "2026-02-25 2026-02-28 2026-03-31", "2026-02-24 2026-03-01"),
        ("day 1", "2026-02-01", "2026-02-02"),
        ("days 28..3", "2026-02-28 2026-03-03", "2026-03-04 2026-03-27"),
        ("weekday fri", "2026-03-20", "2026-03-19 2026-03-21"),
        ("weekdays mon..thu", "2026-03-16 2026-03-19", "2026-03-15 2026-03-20"),
        ("weekdays friday..monday", "2026-03-20 2026-03-21 2026-03-23", "2026-03-19 2026-03-24"),
        ("2026-03-01..2026-03-14", "2026-03-01 2026-03-14", "2025-03-05 2026-02-28 2026-03-15 2027-03-05"),
        ("2026-03-01", "2026-03-01", "2026-02-28 2026-03-02"),
        ("last 3 days of month", "2026-02-26 2026-02-28 2024-02-29 2026-04-28", "2026-02-25 2024-02-26 2026-03-01"),
        ("last day of the month", "2026-02-28 2024-02-29", "2026-02-27 2024-02-28"),
        ("every 2 weeks from 2026-01-05 for 3 days", "2026-01-05 2026-01-07 2026-01-19", "2026-01-04 2026-01-08"),
        ("every 2 weeks from 2026-01-05 for 3 days", "2026-02-02", "2026-01-12 2026-01-22 2025-12-22"),
        ("every week from 2026-01-05 for 1 day", "2026-01-05 2026-01-12", "2026-01-06"),
        ("every 10 days from 2026-01-05 for 1 week", "2026-01-11 2026-01-15", "2026-01-12 2026-01-14"),
        ("month 3 and weekday fri", "2026-03-20", "2026-03-19 2026-04-03"),
        ("last 5 days of month and weekdays mon..fri", "2026-03-31", "2026-03-28 2026-03-20"),
        ("month 2 and day 30", "", "2026-02-28 2026-03-30"),
    ],
)  # fmt: skip
def test_a_rule_is_active_on_its_days_and_on_no_others(rule: str, days: str, others: str) -> None:
    """Each form of rule, at its edges."""
    season = by(rule)
    assert [day for day in days.split() if not active(season, on(day))] == []
    assert [day for day in others.split() if active(season, on(day))] == []
    assert parse_rule(str(season.rule)) == season.rule


@pytest.mark.parametrize(
    "rule, hint",
    [
        ("", "write"), ("whenever", "last 3 days of month"), ("month", "month 12"), ("month 13", "from 1 to 12"),
        ("month 0", "from 1 to 12"), ("months 6..", "months 6..8"), ("months jun..sometime", "jan, feb"),
        ("month ju", "jan, feb"), ("day 32", "from 1 to 31"), ("day x", "from 1 to 31"), ("weekday 5", "mon, tue"),
        ("weekday someday", "mon, tue"), ("13-01..13-05", "month-day"), ("02-30", "month-day"),
        ("12-15..", "12-15..01-05"),
        ("2026-02-30..2026-03-01", "there is no 2026-02-30"), ("2026-03-14..2026-03-01", "ends before it begins"),
        ("last 0 days of month", "no last 0 days"), ("last 40 days of month", "no last 40 days"),
        ("every 2 weeks from 2026-01-05 for 15 days", "until it comes again"),
        ("every 2 weeks from 2026-01-05 for 0 days", "until it comes again"),
        ("every 0 weeks from 2026-01-05 for 1 days", "until it comes again"),
        ("every 2 weeks from 2026-13-05 for 1 days", "there is no 2026-13-05"),
        ("month 3 and", "write"), ("and month 3", "write"), ("month 3 or month 4", "write"),
        ("month ٣", "write"), ("month 3\x00", "write"),
        ("month 3 " * 100, "at most"), ("day 1 and " * 7 + "day 1", "joined"),
        (None, "is not a rule"), (3, "is not a rule"),
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused_with_what_would_be_one(rule: object, hint: str) -> None:
    """The message says what is wrong or shows how it is done."""
    with pytest.raises(InvalidInput) as refused:
        parse_rule(rule)
    assert refused.value.field == "season"
    assert hint in refused.value.problem


def test_a_switch_overrules_the_rule_until_it_ends() -> None:
    """Switched on in summer, it is active in winter; when the switch ends by itself, the rule counts again."""
    summer = parse_rule("months 6..8")
    january, july = on("2026-01-10"), on("2026-07-10")
    assert active(Season("hot", summer, switched=True), january)
    assert not active(Season("hot", summer, switched=False), july)
    ending = Season("hot", summer, switched=True, until=on("2026-01-11"))
    assert active(ending, january)
    assert not active(ending, on("2026-01-11"))
    assert active(ending, july)


def test_without_rule_and_switch_a_season_is_never_active() -> None:
    """A label that nobody defined does not rank by itself; one that is only switched ends with its switch."""
    assert not active(Season("unknown"), on("2026-01-10"))
    assert active(Season("crunch", switched=True), on("2026-01-10"))
    assert not active(Season("crunch", switched=True, until=on("2026-01-10")), on("2026-01-10"))


def test_a_day_is_that_of_the_clock_that_was_asked_by() -> None:
    """At eleven in the evening in New York it is still Friday there."""
    evening = datetime(2026, 3, 20, 23, tzinfo=timezone(timedelta(hours=-5)))
    assert active(by("weekday fri"), evening)
    assert not active(by("weekday fri"), evening.astimezone(UTC))


@pytest.mark.parametrize(
    "text, name",
    [
        ("end-of-sprint", "end-of-sprint"),
        ("End of Sprint", "end-of-sprint"),
        ("  release \t week\n", "release-week"),
        ("Été", "été"),
        ("x" * NAME_LENGTH, "x" * NAME_LENGTH),
    ],
)
def test_a_label_has_one_spelling(text: str, name: str) -> None:
    """However it is typed."""
    assert season_name(text) == name
    assert season_name(name) == name


@pytest.mark.parametrize("text", ["", " \n", "x" * (NAME_LENGTH + 1), "a\x00b", "\ud800", "a\u200bb", None, 7])
def test_what_is_no_label_is_refused(text: object) -> None:
    """Empty, too long, or with what cannot be shown."""
    with pytest.raises(InvalidInput, match="season"):
        season_name(text)


@pytest.mark.parametrize(
    "season, data",
    [
        (Season("a"), {}),
        (Season("a", parse_rule("month 12 and weekday fri")), {"rule": "month 12 and weekday fri"}),
        (Season("a", None, switched=False), {"switched": False}),
        (
            Season("a", parse_rule("02-29"), switched=True, until=on("2026-01-10")),
            {"rule": "02-29", "switched": True, "until": "2026-01-10T00:00:00.000000Z"},
        ),
    ],
)
def test_a_season_is_told_by_what_is_set(season: Season, data: dict[str, object]) -> None:
    """In JSON, and back."""
    assert told(season) == data
    assert season_from("A", json.loads(json.dumps(told(season)))) == season


def test_a_season_of_a_later_version_is_read_as_far_as_it_is_known() -> None:
    """Keys that mean nothing here are ignored, and so are those that are empty."""
    data = {"rule": "month 12", "colour": "green", "switched": None, "until": None}
    assert season_from("Winter Time", data) == Season("winter-time", parse_rule("month 12"))


@pytest.mark.parametrize(
    "name, data",
    [
        ("", {}), ("a", None), ("a", []), ("a", "month 12"), ("a", {"rule": "nonsense"}), ("a", {"rule": 12}),
        ("a", {"switched": "on"}), ("a", {"switched": 1}), ("a", {"until": "soon"}), ("a", {"until": 5}),
        ("a", {"rule": ""}),
    ],
)  # fmt: skip
def test_a_malformed_season_is_refused(name: object, data: object) -> None:
    """Rather than taken for one that is never active."""
    with pytest.raises(InvalidInput, match="season"):
        season_from(name, data)


# --- Properties ------------------------------------------------------------------------------------------------------

DAYS = st.dates(date(1, 1, 1), date(9990, 12, 31))
YEAR_DAYS = st.dates(date(2024, 1, 1), date(2024, 12, 31)).map(lambda day: day.strftime("%m-%d"))
YEARLY = st.one_of(
    st.builds("{}..{}".format, YEAR_DAYS, YEAR_DAYS),
    st.builds("months {}..{}".format, st.integers(1, 12), st.integers(1, 12)),
    st.builds("day {}..{}".format, st.integers(1, 31), st.integers(1, 31)),
)
CYCLES = st.tuples(DAYS, st.integers(1, 60), st.integers(1, 60)).map(
    lambda cycle: f"every {cycle[1]} weeks from {cycle[0]} for {min(cycle[2], 7 * cycle[1])} days"
)
OTHERS = st.one_of(
    st.sampled_from(["weekday fri", "weekdays sat..sun", "last day of month"]),
    st.builds("last {} days of month".format, st.integers(1, 31)),
    st.tuples(DAYS, DAYS).map(lambda days: f"{min(days)}..{max(days)}"),
    CYCLES,
)
RULES = st.lists(YEARLY | OTHERS, min_size=1, max_size=6).map(" and ".join)


def at(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


@given(YEARLY, DAYS, st.integers(1, 9))
def test_a_yearly_rule_says_the_same_every_year(rule: str, day: date, years: int) -> None:
    """For every day that both years have."""
    try:
        later = day.replace(year=day.year + years)
    except ValueError:  # 29 February
        return
    assert active(by(rule), at(day)) == active(by(rule), at(later))


@given(YEAR_DAYS, YEAR_DAYS, DAYS)
def test_a_range_and_its_rest_make_up_the_year(first: str, last: str, day: date) -> None:
    """A range is active between its ends; turned round, it is active on the ends and on all other days."""
    inside, outside = active(by(f"{first}..{last}"), at(day)), active(by(f"{last}..{first}"), at(day))
    ends = day.strftime("%m-%d") in (first, last)
    assert (inside and outside) == ends
    assert inside or outside or first == last


@given(CYCLES, DAYS)
def test_a_sprint_comes_again_after_its_weeks(rule: str, day: date) -> None:
    """Once it has begun, every such day is like the one a cycle later."""
    weeks, start = int(rule.split()[1]), date.fromisoformat(rule.split()[4])
    if day >= start:
        assert active(by(rule), at(day)) == active(by(rule), at(day + timedelta(weeks=weeks)))
    else:
        assert not active(by(rule), at(day))


@given(RULES, DAYS)
def test_a_rule_told_and_read_again_is_the_same(rule: str, day: date) -> None:
    """Its text is one that is understood, and joined rules hold where each does."""
    season = by(rule)
    assert season_from("some-time", told(season)) == season
    assert len(str(season.rule)) <= RULE_LENGTH
    assert active(season, at(day)) == all(active(by(part), at(day)) for part in rule.split(" and "))


@given(st.text(max_size=60) | st.text(st.sampled_from("0123456789-. months of weeks every last day and"), max_size=60))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    """Nothing else happens to it."""
    try:
        rule = parse_rule(text)
    except InvalidInput:
        return
    assert parse_rule(str(rule)) == rule


@given(st.text(max_size=80))
def test_any_label_is_spelled_once_or_refused(text: str) -> None:
    """A name that was made is its own name."""
    try:
        name = season_name(text)
    except InvalidInput:
        return
    assert season_name(name) == name
    assert 1 <= len(name) <= NAME_LENGTH
