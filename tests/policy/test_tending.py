"""Decay, expiry and making room: the documents' numbers worked out by hand, and what holds whatever the numbers are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Kind, Memory, Origin, Status
from recollect.model import MemoryId, Uid
from recollect.policy.decay import (
    EXPIRING,
    confidence_at,
    crowded_out,
    due,
    expired,
    importance_at,
    least_useful,
)
from recollect.policy.kinds import INFERRED_HALF_LIFE_DAYS, KINDS, half_life_days, kind_table

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
UID = Uid("00000000-0000-4000-8000-000000000000")
PLAIN = Memory(uid=UID, content="something", created_at=NOW, updated_at=NOW)
EXTRACTED = replace(PLAIN, origin=Origin.EXTRACTED)
moments = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
spans = st.timedeltas(timedelta(0), timedelta(days=3_650))
memories = st.builds(
    Memory,
    uid=st.just(UID),
    content=st.just("something"),
    kind=st.sampled_from(Kind),
    origin=st.sampled_from(Origin),
    status=st.sampled_from(Status),
    importance=st.floats(0, 1),
    confidence=st.floats(0, 1),
    trust=st.floats(0, 1),
    score=st.integers(-(10**9), 10**9),
    access_count=st.integers(0, 30),
    created_at=moments,
    updated_at=st.just(NOW),
    accessed_at=st.none() | moments,
    last_hit_at=st.none() | moments,
    confirmed_at=st.none() | moments,
)
groups = st.lists(memories, max_size=20).map(
    lambda found: [replace(each, id=MemoryId(number)) for number, each in enumerate(found, start=1)]
)


def days(number: float) -> datetime:
    """So many days after what is plain was made."""
    return NOW + timedelta(days=number)


def aged(number: float, **other: object) -> Memory:
    """A memory that was made so many days ago and never used since."""
    return replace(PLAIN, created_at=days(-number), **other)  # type: ignore[arg-type]


# --- Confidence ----------------------------------------------------------------------------------------------------


@pytest.mark.row("J11", "half-lives", "formula", "inferred")
@pytest.mark.parametrize(
    "kind, origin, after, uses, expected",
    [
        # 0.9 * e^(-age / half-life) * (1 + 0.1 ln(uses + 1)) * 0.8, with the document's half-lives
        (Kind.FACT, Origin.OBSERVED, 0, 0, 0.72),
        (Kind.FACT, Origin.OBSERVED, 30, 0, 0.264_873_198),
        (Kind.FACT, Origin.OBSERVED, 30, 3, 0.301_592_420),
        (Kind.FACT, Origin.OBSERVED, 90, 0, 0.035_846_689),
        (Kind.PROCEDURE, Origin.OBSERVED, 30, 0, 0.436_702_075),
        (Kind.PREFERENCE, Origin.OBSERVED, 90, 9, 0.325_862_505),
        (Kind.CORRECTION, Origin.OBSERVED, 365, 0, 0.264_873_198),
        (Kind.CORRECTION, Origin.INFERRED, 7, 0, 0.264_873_198),
        (Kind.FACT, Origin.INFERRED, 14, 1, 0.104_195_527),
    ],
)
def test_confidence_is_what_the_formula_gives_by_hand(
    kind: Kind, origin: Origin, after: float, uses: int, expected: float
) -> None:
    """Nine tenths sure, trusted by four fifths."""
    memory = replace(PLAIN, kind=kind, origin=origin, confidence=0.9, trust=0.8, access_count=uses)
    assert confidence_at(memory, days(after)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.row("J11", "half-lives")
def test_the_half_lives_are_those_of_the_document() -> None:
    """A correction lasts a year, an inference a week."""
    told = {Kind.CORRECTION: 365, Kind.PREFERENCE: 90, Kind.FACT: 30, Kind.PROCEDURE: 60}
    assert {kind: KINDS[kind].half_life_days for kind in told} == told
    assert INFERRED_HALF_LIFE_DAYS == 7


@pytest.mark.row("J11", "formula")
def test_confidence_ages_from_when_somebody_last_vouched() -> None:
    """Not from when it was made."""
    vouched = aged(300, confirmed_at=days(-30))
    assert confidence_at(vouched, NOW) == confidence_at(aged(30), NOW) > confidence_at(aged(300), NOW)


@pytest.mark.row("J11", "half-lives")
@given(st.sampled_from(Kind), st.floats(0.01, 36_500), st.floats(0, 1_000))
def test_a_half_life_that_is_set_takes_the_place_of_the_table_s(kind: Kind, wanted: float, after: float) -> None:
    """For its kind, and for no other; an inference keeps its week."""
    table = kind_table({kind.value: wanted}, {})
    memory = replace(PLAIN, kind=kind)
    expected = min(1.0, max(0.0, 2.718281828459045 ** (-after / wanted)))
    assert confidence_at(memory, days(after), table) == pytest.approx(expected, abs=1e-9)
    assert {each: table[each] for each in Kind if each is not kind} == {
        each: KINDS[each] for each in Kind if each is not kind
    }
    assert half_life_days(kind, Origin.INFERRED, table) == INFERRED_HALF_LIFE_DAYS


# --- Importance ----------------------------------------------------------------------------------------------------


@pytest.mark.row("P19", "decay")
@pytest.mark.parametrize(
    "importance, status, unused, uses, expected",
    [
        # importance * 0.95^(days / 7) * 0.9 for a candidate * min(1, 0.5 + 0.05 * uses)
        (1.0, Status.CONFIRMED, 0, 0, 0.5),
        (1.0, Status.CONFIRMED, 0, 10, 1.0),
        (1.0, Status.CONFIRMED, 0, 11, 1.0),
        (1.0, Status.CONFIRMED, 7, 10, 0.95),
        (0.8, Status.CONFIRMED, 14, 4, 0.5054),
        (0.8, Status.CANDIDATE, 14, 4, 0.45486),
        (0.6, Status.CANDIDATE, 0, 0, 0.27),
        (0.9, Status.CONFIRMED, 364, 10, 0.062_498_556),
        (0.9, Status.PINNED, 3_640, 0, 0.9),
    ],
)
def test_importance_is_what_the_formula_gives_by_hand(
    importance: float, status: Status, unused: float, uses: int, expected: float
) -> None:
    """Five percent a week without use, resisted by use, less for a candidate, and not at all for what is pinned."""
    memory = replace(PLAIN, importance=importance, status=status, access_count=uses)
    assert importance_at(memory, days(unused)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.row("P19", "decay")
def test_importance_fades_from_the_last_use() -> None:
    """Not from when it was made, once it was used."""
    used = aged(700, accessed_at=days(-7), importance=1.0, access_count=10)
    assert importance_at(used, NOW) == pytest.approx(0.95)


@pytest.mark.row("P19", "decay")
@given(memories, moments)
def test_importance_stays_between_0_and_what_it_was(memory: Memory, now: datetime) -> None:
    """Whatever the clocks show."""
    assert 0 <= importance_at(memory, now) <= memory.importance <= 1


@pytest.mark.row("P19", "decay")
@given(memories, moments, spans)
def test_importance_never_rises_by_waiting(memory: Memory, now: datetime, span: timedelta) -> None:
    """Time alone makes nothing more important."""
    assert importance_at(memory, now + span) <= importance_at(memory, now)


@pytest.mark.row("P19", "decay")
@given(memories, spans)
def test_a_clock_that_was_set_back_makes_nothing_more_important(memory: Memory, span: timedelta) -> None:
    """Before its last use a memory is as important as at its last use."""
    since = memory.accessed_at or memory.created_at
    assert importance_at(memory, since - span) == importance_at(memory, since)


@pytest.mark.row("P19", "decay")
@pytest.mark.row("P4", "pinned")
@given(memories, moments)
def test_what_is_pinned_never_fades(memory: Memory, now: datetime) -> None:
    """However long ago it was used, if ever."""
    assert importance_at(replace(memory, status=Status.PINNED), now) == memory.importance


@given(memories, moments, st.integers(1, 10))
def test_use_never_makes_a_memory_less_important(memory: Memory, now: datetime, more: int) -> None:
    """And a candidate never counts more than it would if it were confirmed."""
    used = replace(memory, access_count=memory.access_count + more)
    assert importance_at(used, now) >= importance_at(memory, now)
    candidate, confirmed = (replace(memory, status=each) for each in (Status.CANDIDATE, Status.CONFIRMED))
    assert importance_at(candidate, now) <= importance_at(confirmed, now)


# --- What has expired ----------------------------------------------------------------------------------------------

TTLS = {
    Kind.TASK_PROGRESS: 14,
    Kind.DISCOVERY: 21,
    Kind.FILE_CHANGE: 21,
    Kind.WARNING: 30,
    Kind.DECISION: 90,
    Kind.ERROR: 90,
    Kind.PATTERN: 180,
    Kind.ARCHITECTURE: 180,
    Kind.PREFERENCE: 365,
}
"""The document's table."""


@pytest.mark.row("P19", "ttl")
@pytest.mark.parametrize("kind, ttl", TTLS.items())
@pytest.mark.parametrize("origin", sorted(EXPIRING))
def test_a_kind_expires_after_the_days_that_the_document_gives(kind: Kind, ttl: int, origin: Origin) -> None:
    """Not on the day itself, and from then on for ever."""
    memory = replace(PLAIN, kind=kind, origin=origin)
    assert not expired(memory, days(ttl))
    assert expired(memory, days(ttl) + timedelta(seconds=1))
    assert expired(memory, days(ttl + 10_000))


@pytest.mark.row("P19", "ttl")
@pytest.mark.parametrize("kind", [Kind.FACT, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.SUMMARY])
def test_what_the_document_gives_no_time_does_not_expire(kind: Kind) -> None:
    """Not in a century."""
    assert not expired(replace(EXTRACTED, kind=kind), days(36_500))


@pytest.mark.row("P19", "exemptions")
@pytest.mark.parametrize("uses", range(6))
def test_what_was_used_three_times_outlives_its_ttl(uses: int) -> None:
    """Twice is not enough."""
    assert expired(replace(EXTRACTED, kind=Kind.DISCOVERY, access_count=uses), days(9_999)) == (uses < 3)


@pytest.mark.row("P19", "exemptions")
@given(memories, moments)
def test_only_what_a_machine_made_and_nobody_kept_expires(memory: Memory, now: datetime) -> None:
    """Nothing pinned, nothing that anybody said or saw, nothing that is not live."""
    if expired(memory, now):
        assert memory.origin in {Origin.EXTRACTED, Origin.INFERRED}
        assert memory.status in {Status.CANDIDATE, Status.CONFIRMED}
        assert memory.access_count < 3
        assert now - (memory.confirmed_at or memory.created_at) > timedelta(days=14)


@pytest.mark.row("P19", "ttl")
@given(memories, moments, spans)
def test_what_has_expired_stays_so(memory: Memory, now: datetime, span: timedelta) -> None:
    """Until somebody vouches for it: then its time begins anew."""
    assert not expired(memory, now) or expired(memory, now + span)
    assert not expired(replace(memory, confirmed_at=now), now)


@given(memories, spans)
def test_a_clock_that_was_set_back_expires_nothing(memory: Memory, span: timedelta) -> None:
    """There is no age below nothing."""
    assert not expired(memory, (memory.confirmed_at or memory.created_at) - span)


@pytest.mark.row("P19", "ttl")
@given(st.sampled_from(Kind), st.integers(1, 36_500))
def test_a_ttl_that_is_set_takes_the_place_of_the_table_s(kind: Kind, wanted: int) -> None:
    """For its kind, and for no other."""
    table = kind_table({}, {kind.value: wanted})
    memory = replace(EXTRACTED, kind=kind)
    assert not expired(memory, days(wanted), table)
    assert expired(memory, days(wanted) + timedelta(seconds=1), table)
    assert {each: table[each] for each in Kind if each is not kind} == {
        each: KINDS[each] for each in Kind if each is not kind
    }


@pytest.mark.row("P19", "ttl")
@pytest.mark.parametrize("kind", Kind)
def test_a_ttl_of_0_is_never_and_none_leaves_the_table_as_it_is(kind: Kind) -> None:
    """The half-life is another matter."""
    never, as_it_is = kind_table({}, {kind.value: 0}), kind_table({kind.value: None}, {kind.value: None})
    assert not expired(replace(EXTRACTED, kind=kind), days(36_500), never)
    assert never[kind].half_life_days == KINDS[kind].half_life_days
    assert as_it_is == KINDS


@pytest.mark.parametrize("hours, archived", [(0, False), (23.99, False), (24, True), (1_000, True), (-1_000, False)])
def test_a_memory_is_due_once_it_was_seen_so_a_day_ago(hours: float, archived: bool) -> None:
    """One look is not enough, and neither is a look that lies in the future."""
    seen = MemoryId(7)
    assert due([seen], {seen: NOW - timedelta(hours=hours)}, NOW) == (frozenset({seen}) if archived else frozenset())


@given(st.sets(st.integers(1, 9)), st.dictionaries(st.integers(1, 9), moments), moments)
def test_only_what_is_seen_now_and_was_seen_before_is_due(
    seen: set[int], since: dict[int, datetime], now: datetime
) -> None:
    """What was seen once and is well again is left alone."""
    noted = {MemoryId(number): moment for number, moment in since.items()}
    assert due({MemoryId(number) for number in seen}, noted, now) <= seen & since.keys()


# --- Who has to make room ------------------------------------------------------------------------------------------


def protected(memory: Memory, now: datetime) -> bool:
    """Whether a memory never has to make room."""
    return memory.status is Status.PINNED or any(
        now - moment < timedelta(hours=24) for moment in (memory.created_at, memory.accessed_at) if moment
    )


@pytest.mark.row("P19", "eviction", "exemptions")
@pytest.mark.row("E4", "eviction")
@given(groups, moments, st.integers(0, 25))
def test_the_least_important_make_room_and_no_more_of_them_than_must(
    found: list[Memory], now: datetime, keep: int
) -> None:
    """Nothing pinned, nothing new, nothing just used; and nothing stays that is worth less than what goes."""
    gone = crowded_out(found, now, keep=keep)
    free = [memory for memory in found if not protected(memory, now)]
    assert len(gone) == min(max(0, len(found) - keep), len(free))
    assert all(not protected(memory, now) for memory in gone)
    worth = [importance_at(memory, now) for memory in gone]
    assert worth == sorted(worth)
    stay = [importance_at(memory, now) for memory in free if memory not in gone]
    assert not worth or not stay or max(worth) <= min(stay)


@pytest.mark.row("P19", "eviction")
def test_what_fades_is_what_decides_who_makes_room() -> None:
    """0.9 unused for two years is worth 0.0021, 0.3 used last week 0.16; of equals the first goes."""
    great = aged(730, id=MemoryId(1), importance=0.9)
    small = aged(730, id=MemoryId(2), importance=0.3, access_count=1, accessed_at=days(-7))
    assert importance_at(great, NOW) == pytest.approx(0.002_138_468, abs=1e-9)
    assert importance_at(small, NOW) == pytest.approx(0.156_75)
    assert crowded_out([great, small], NOW, keep=1) == [great]
    first, second = (aged(10, id=MemoryId(number)) for number in (3, 4))
    assert crowded_out([second, first], NOW, keep=1) == [first]


@pytest.mark.row("P19", "exemptions")
@pytest.mark.parametrize("hours, stays", [(0, True), (23.9, True), (24, False), (24.1, False), (-5_000, True)])
def test_a_day_is_what_protects(hours: float, stays: bool) -> None:
    """Since it was made, or since it was used; what seems to be from the future is new."""
    ago = NOW - timedelta(hours=hours)
    made, used = replace(PLAIN, created_at=ago), aged(900, accessed_at=ago)
    assert (crowded_out([made], NOW, keep=0) == []) is stays
    assert (crowded_out([used], NOW, keep=0) == []) is stays
    assert (least_useful([made], NOW, percent=100) == []) is stays


# --- What a store that is too large lets go of ---------------------------------------------------------------------


def order(found: Sequence[Memory]) -> list[int]:
    return [memory.id for memory in least_useful(found, NOW, percent=100)]


@pytest.mark.row("K8", "lowest-first")
@pytest.mark.parametrize(
    "one, other",
    [
        # e^(0.2 score) / (1 + 0.01 days), the lower first: by hand
        (aged(86, score=3), aged(2)),  # 1.8221 / 1.86 = 0.9796, 1 / 1.02 = 0.9804
        (aged(2), aged(85, score=3)),  # 0.9804, 1.8221 / 1.85 = 0.9849
        (aged(2, score=-1), aged(24)),  # 0.8187 / 1.02 = 0.8027, 1 / 1.24 = 0.8065
        (aged(25), aged(2, score=-1)),  # 1 / 1.25 = 0.8000, 0.8027
        (aged(2, score=-5), aged(170)),  # 0.3679 / 1.02 = 0.3607, 1 / 2.70 = 0.3704
        (aged(180), aged(2, score=-5)),  # 1 / 2.80 = 0.3571, 0.3607
        (aged(900), aged(900, last_hit_at=days(-2))),  # the last hit counts where there is one
        (aged(3, score=-(10**9)), aged(3, score=-1)),  # bounds keep it a number
        (aged(3, score=1), aged(3, score=10**9)),
    ],
)
def test_score_and_recency_decide_what_is_least_useful(one: Memory, other: Memory) -> None:
    """By the formula that ranks results, without the question."""
    pair = [replace(other, id=MemoryId(2)), replace(one, id=MemoryId(1))]
    assert order(pair) == order(pair[::-1]) == [1, 2]


@pytest.mark.row("K8", "lowest-first")
@pytest.mark.parametrize(
    "count, percent, gone", [(200, 1, 2), (250, 1, 3), (10, 1, 1), (10, 100, 10), (0, 50, 0), (40, 25, 10)]
)
def test_the_bottom_percent_goes(count: int, percent: float, gone: int) -> None:
    """At least one where there is any, so that a small store gets smaller too."""
    found = [aged(10 + number, id=MemoryId(number + 1)) for number in range(count)]
    oldest = [memory.id for memory in reversed(found)][:gone]
    assert [memory.id for memory in least_useful(found, NOW, percent=percent)] == oldest


@pytest.mark.row("K8", "lowest-first")
@given(groups, moments, st.floats(0.01, 100))
def test_nothing_pinned_and_nothing_new_is_let_go_of(found: list[Memory], now: datetime, percent: float) -> None:
    """And never more than the percent, rounded up."""
    gone = least_useful(found, now, percent=percent)
    assert all(not protected(memory, now) for memory in gone)
    assert len(gone) <= len(found) * percent / 100 + 1
    assert len({memory.id for memory in gone}) == len(gone)
