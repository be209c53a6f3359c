"""The kind table: complete, and with the numbers of the designs it unites."""

from __future__ import annotations

import pytest

from recollect import Kind, Origin
from recollect.policy.kinds import KINDS, TRUST, half_life_days
from recollect.testing import temp_recollect


def test_every_kind_has_traits_and_every_origin_a_trust() -> None:
    """Within bounds, and each explained in words."""
    assert list(KINDS) == list(Kind)
    assert set(TRUST) == set(Origin)
    assert all(0 < trust <= 1 for trust in TRUST.values())
    for traits in KINDS.values():
        assert traits.half_life_days > 0
        assert traits.ttl_days is None or traits.ttl_days > 0
        assert traits.weight > 0
        assert 0 <= traits.importance <= 1
        assert traits.meaning


@pytest.mark.parametrize(
    "kind, days",
    [(Kind.CORRECTION, 365), (Kind.NEGATIVE, 365), (Kind.PREFERENCE, 90), (Kind.FACT, 30), (Kind.PROCEDURE, 60)],
)
def test_half_lives_are_those_of_the_design(kind: Kind, days: int) -> None:
    """A negative memory counts as a correction."""
    assert half_life_days(kind, Origin.OBSERVED) == days


@pytest.mark.parametrize("kind", Kind)
def test_an_inference_fades_within_a_week_whatever_its_kind(kind: Kind) -> None:
    """Any other origin leaves the half-life to the kind."""
    assert half_life_days(kind, Origin.INFERRED) == 7
    for origin in set(Origin) - {Origin.INFERRED}:
        assert half_life_days(kind, origin) == KINDS[kind].half_life_days


@pytest.mark.parametrize(
    "kind, days",
    [
        (Kind.TASK_PROGRESS, 14),
        (Kind.DISCOVERY, 21),
        (Kind.FILE_CHANGE, 21),
        (Kind.WARNING, 30),
        (Kind.DECISION, 90),
        (Kind.ERROR, 90),
        (Kind.PATTERN, 180),
        (Kind.ARCHITECTURE, 180),
        (Kind.PREFERENCE, 365),
    ],
)
def test_times_to_live_are_those_of_the_design(kind: Kind, days: int) -> None:
    """In days, by category."""
    assert KINDS[kind].ttl_days == days


@pytest.mark.parametrize("kind, importance", [(Kind.DECISION, 0.9), (Kind.ERROR, 0.85), (Kind.PREFERENCE, 0.9)])
def test_importances_are_those_of_the_design(kind: Kind, importance: float) -> None:
    """A failure is an error with its lesson."""
    assert KINDS[kind].importance == importance


def test_what_the_user_said_is_trusted_most_and_what_a_tool_said_least() -> None:
    """An import is trusted less than what was observed."""
    assert TRUST[Origin.USER_STATED] == TRUST[Origin.USER_CORRECTED] == max(TRUST.values()) == 1.0
    assert TRUST[Origin.TOOL_OUTPUT] == min(TRUST.values())
    assert TRUST[Origin.IMPORTED] == 0.6 < TRUST[Origin.OBSERVED]


@pytest.mark.parametrize("kind", Kind)
def test_a_memory_starts_as_important_as_its_kind(kind: Kind) -> None:
    """Unless the writer says otherwise."""
    with temp_recollect() as memory:
        assert memory.remember("a note", kind=kind).memory.importance == KINDS[kind].importance
        assert memory.remember("another note", kind=kind, importance=0.25).memory.importance == 0.25
