"""What time does to a memory: worked out when asked, within bounds, whatever the clocks show."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Kind, Memory, Origin
from recollect.model import Uid
from recollect.policy.decay import age_days, confidence_at
from recollect.policy.kinds import KINDS

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
shares = st.floats(0, 1, allow_nan=False)
memories = st.builds(
    Memory,
    uid=st.just(Uid("00000000-0000-4000-8000-000000000000")),
    content=st.just("something"),
    kind=st.sampled_from(Kind),
    origin=st.sampled_from(Origin),
    confidence=shares,
    trust=shares,
    access_count=st.integers(0, 10**9),
    created_at=moments,
    updated_at=st.just(NOW),
    confirmed_at=st.none() | moments,
)
FACT = Memory(uid=Uid("00000000-0000-4000-8000-000000000000"), content="x", created_at=NOW, updated_at=NOW)


@given(moments, moments)
def test_age_is_never_negative(since: datetime, now: datetime) -> None:
    """A clock that was set back makes nothing younger than new."""
    assert age_days(since, now) == max(0.0, (now - since).total_seconds() / 86_400)


@given(memories, moments)
def test_confidence_stays_between_0_and_1(memory: Memory, now: datetime) -> None:
    """However old, however much used, whatever the clocks show."""
    assert 0 <= confidence_at(memory, now) <= 1


@pytest.mark.row("J11", "computed-on-read")
@given(memories, moments, st.floats(0, 1_000))
def test_confidence_never_rises_by_waiting(memory: Memory, now: datetime, days: float) -> None:
    """Time alone makes nothing surer; asking twice at one moment gives the same."""
    later = now + timedelta(days=days)
    assert confidence_at(memory, later) <= confidence_at(memory, now) == confidence_at(memory, now)


@given(memories, moments, st.timedeltas(timedelta(0), timedelta(days=3_650)))
def test_a_clock_that_jumps_back_makes_nothing_surer_than_it_was_when_new(
    memory: Memory, now: datetime, jump: timedelta
) -> None:
    """Before its own beginning a memory is as sure as at its beginning."""
    since = memory.confirmed_at or memory.created_at
    assert confidence_at(memory, since - jump) == confidence_at(memory, since)


@pytest.mark.row("J11", "formula")
@given(memories, moments)
def test_use_and_vouching_never_make_it_less_sure(memory: Memory, now: datetime) -> None:
    """A memory that is used fades more slowly, and one that somebody vouched for starts anew."""
    used = replace(memory, access_count=memory.access_count + 100)
    vouched = replace(memory, confirmed_at=max(memory.confirmed_at or memory.created_at, now))
    assert confidence_at(used, now) >= confidence_at(memory, now)
    assert confidence_at(vouched, now) >= confidence_at(memory, now)


@pytest.mark.row("J11", "formula", "half-lives")
@pytest.mark.parametrize("kind", Kind)
def test_confidence_follows_the_formula_with_the_half_life_of_its_kind(kind: Kind) -> None:
    """After one half-life it is 1/e of what it was, times use, times trust."""
    half_life = KINDS[kind].half_life_days
    memory = replace(FACT, kind=kind, confidence=0.9, trust=0.5, access_count=4)
    expected = 0.9 * math.exp(-1) * (1 + 0.1 * math.log(5)) * 0.5
    assert confidence_at(memory, NOW + timedelta(days=half_life)) == pytest.approx(expected)


@pytest.mark.row("J11", "inferred")
@pytest.mark.parametrize("kind", Kind)
def test_an_inference_fades_in_a_week_whatever_its_kind(kind: Kind) -> None:
    """Seven days."""
    memory = replace(FACT, kind=kind, origin=Origin.INFERRED, confidence=1.0, trust=1.0)
    assert confidence_at(memory, NOW + timedelta(days=7)) == pytest.approx(math.exp(-1))
