"""What is promoted: the documents' numbers as tables, and what holds whatever the numbers are."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Kind, Memory
from recollect.model import Finding, Status, Uid
from recollect.policy.kinds import KINDS
from recollect.policy.promote import (
    PENALTY,
    PRESETS,
    Judged,
    Preset,
    PromotionMode,
    PromotionSignal,
    Quarantine,
    Seen,
    after_quarantine,
    judged,
    lineage_trust,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ONCE = Seen()
LONG = "The cache is keyed by tenant, so a test that changes the tenant has to clear it."
PLAIN = Finding(content=LONG, importance=0.5)

findings = st.builds(
    Finding,
    content=st.text(max_size=60),
    kind=st.sampled_from(Kind),
    importance=st.none() | st.floats(0, 1),
    stated=st.booleans(),
    resolves=st.booleans(),
)
sightings = st.builds(Seen, sessions=st.integers(1, 4), agents=st.integers(1, 4))
presets = st.sampled_from(sorted(PRESETS))
modes: st.SearchStrategy[PromotionMode] = st.sampled_from(["weighted", "explicit"])
moments = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
memories = st.builds(
    Memory,
    uid=st.just(Uid("00000000-0000-4000-8000-000000000000")),
    content=st.just("something"),
    status=st.sampled_from(Status),
    access_count=st.integers(0, 3),
    accessed_at=st.none() | moments,
    created_at=moments,
    updated_at=st.just(NOW),
)
CANDIDATE = Memory(
    uid=Uid("00000000-0000-4000-8000-000000000000"),
    content="something",
    status=Status.CANDIDATE,
    created_at=NOW - timedelta(hours=24),
    updated_at=NOW,
)


def weighted(finding: Finding, seen: Seen = ONCE, *, preset: str = "balanced") -> Judged:
    return judged(finding, seen, preset=preset, mode="weighted")


# --- Signals -------------------------------------------------------------------------------------------------------


@pytest.mark.row("P3", "signals")
@pytest.mark.parametrize(
    "signal, points",
    [
        ("user-intent", 5),
        ("explicit-pin", 5),
        ("multi-session", 2),
        ("error-resolution", 2),
        ("multi-agent", 1),
        ("high-importance", 1),
    ],
)
def test_a_signal_is_worth_its_points(signal: str, points: int) -> None:
    """As the table of the design has it."""
    assert PromotionSignal(signal).points == points
    assert len(PromotionSignal) == 6


@pytest.mark.row("P3", "signals")
@pytest.mark.parametrize(
    "finding, seen, signals",
    [
        (PLAIN, ONCE, []),
        (PLAIN, Seen(sessions=2), ["multi-session"]),
        (PLAIN, Seen(agents=2), ["multi-agent"]),
        (replace(PLAIN, resolves=True), ONCE, ["error-resolution"]),
        (replace(PLAIN, importance=0.7), ONCE, ["high-importance"]),
        (replace(PLAIN, importance=0.69), ONCE, []),
        (replace(PLAIN, importance=None, kind=Kind.DECISION), ONCE, ["high-importance"]),
        (replace(PLAIN, importance=None, kind=Kind.DISCOVERY), ONCE, []),
        (replace(PLAIN, stated=True), ONCE, ["user-intent"]),
        (
            replace(PLAIN, stated=True, resolves=True, importance=1),
            Seen(sessions=9, agents=9),
            ["user-intent", "multi-session", "error-resolution", "multi-agent", "high-importance"],
        ),
    ],
)
def test_signals_are_read_from_the_finding_and_where_it_was_seen(
    finding: Finding, seen: Seen, signals: list[str]
) -> None:
    """Each by itself, at its edge, and all together; points are their sum."""
    verdict = weighted(finding, seen)
    assert list(verdict.signals) == signals
    assert verdict.points == sum(PromotionSignal(signal).points for signal in signals)


@pytest.mark.row("P3", "conservative", "balanced", "aggressive")
@pytest.mark.parametrize(
    "preset, needed, importance, length",
    [("conservative", 4, 0.4, 50), ("balanced", 3, 0.25, 30), ("aggressive", 2, 0.15, 20)],
)
def test_presets_have_the_numbers_of_the_design(preset: str, needed: int, importance: float, length: int) -> None:
    """Points to be promoted, and the two filters, each at its edge."""
    assert PRESETS[preset] == Preset(points=needed, importance=importance, length=length)
    enough = Seen(sessions=2, agents=2)
    edge = Finding(content="x" * length, importance=importance, resolves=True)
    assert weighted(edge, enough, preset=preset).promote
    assert not weighted(replace(edge, content="x" * (length - 1)), enough, preset=preset).promote
    assert not weighted(replace(edge, importance=importance - 0.01), enough, preset=preset).promote
    two, three = replace(PLAIN, resolves=True), replace(PLAIN, resolves=True, importance=0.8)
    assert weighted(two, preset=preset).promote == (needed <= 2)
    assert weighted(three, preset=preset).promote == (needed <= 3)
    assert weighted(two, Seen(sessions=2), preset=preset).promote


@pytest.mark.parametrize(
    "finding, seen, mode, reason",
    [
        (PLAIN, ONCE, "weighted", "0 of 3 points: nothing speaks for it yet"),
        (PLAIN, Seen(sessions=2), "weighted", "2 of 3 points: multi-session"),
        (PLAIN, Seen(sessions=2, agents=3), "weighted", "3 of 3 points: multi-session, multi-agent"),
        (replace(PLAIN, content=" twelve chars"), ONCE, "weighted", "content is 12 characters, fewer than 30"),
        (replace(PLAIN, importance=0.2), ONCE, "weighted", "importance is 0.2, less than 0.25"),
        (PLAIN, Seen(sessions=2), "explicit", "nobody asked for it, and nothing is promoted unasked"),
    ],
)
def test_a_verdict_says_why(finding: Finding, seen: Seen, mode: PromotionMode, reason: str) -> None:
    """In words that a person can read and check."""
    assert judged(finding, seen, preset="balanced", mode=mode).reason == reason


# --- Asked, pinned, stated -----------------------------------------------------------------------------------------


@pytest.mark.row("P3", "bypass")
@pytest.mark.parametrize("preset", PRESETS)
def test_a_wish_skips_the_filters(preset: str) -> None:
    """However short and unimportant the finding is."""
    tiny = Finding(content="use tabs", importance=0.0)
    assert not weighted(tiny, Seen(sessions=9, agents=9), preset=preset).promote
    assert weighted(replace(tiny, stated=True), preset=preset).status is Status.CONFIRMED
    assert weighted(replace(tiny, stated=True), preset=preset).promote
    asked = judged(tiny, ONCE, preset=preset, mode="weighted", asked=True)
    assert (asked.promote, asked.status) == (True, Status.CONFIRMED)
    pinned = judged(tiny, ONCE, preset=preset, mode="weighted", pinned=True)
    assert (pinned.promote, pinned.status) == (True, Status.PINNED)


@pytest.mark.row("E6", "never-unasked")
@given(findings, sightings, presets)
def test_in_explicit_mode_nothing_is_promoted_unasked(finding: Finding, seen: Seen, preset: str) -> None:
    """Not even what the user said; asking or pinning does it, whatever the finding is like."""
    assert not judged(finding, seen, preset=preset, mode="explicit").promote
    assert judged(finding, seen, preset=preset, mode="explicit", asked=True).promote
    assert judged(finding, seen, preset=preset, mode="explicit", pinned=True).promote


@given(findings, sightings, presets, modes, st.booleans(), st.booleans())
def test_status_says_whose_word_it_is(
    finding: Finding, seen: Seen, preset: str, mode: PromotionMode, asked: bool, pinned: bool
) -> None:
    """A pin is pinned, a person's word confirmed, everything else has to prove itself; every verdict has a reason."""
    verdict = judged(finding, seen, preset=preset, mode=mode, asked=asked, pinned=pinned)
    if pinned:
        assert verdict.status is Status.PINNED
    else:
        assert verdict.status is (Status.CONFIRMED if asked or finding.stated else Status.CANDIDATE)
    assert verdict.reason.strip()
    assert verdict.points == sum(signal.points for signal in verdict.signals)


# --- Whatever the numbers ------------------------------------------------------------------------------------------


@pytest.mark.row("P3", "filters")
@given(findings, sightings, presets)
def test_nothing_below_the_filters_promotes_itself(finding: Finding, seen: Seen, preset: str) -> None:
    """Only the user's own word passes them."""
    importance = KINDS[finding.kind].importance if finding.importance is None else finding.importance
    limits = PRESETS[preset]
    if len(finding.content.strip()) < limits.length or importance < limits.importance:
        assert weighted(finding, seen, preset=preset).promote == finding.stated


@given(findings, sightings, presets, modes, st.booleans(), st.booleans())
def test_more_signals_never_speak_against_a_finding(
    finding: Finding, seen: Seen, preset: str, mode: PromotionMode, asked: bool, pinned: bool
) -> None:
    """What is promoted stays promoted when more speaks for it, and points never fall."""
    before = judged(finding, seen, preset=preset, mode=mode, asked=asked, pinned=pinned)
    stronger = [
        judged(finding, seen, preset=preset, mode=mode, asked=True, pinned=pinned),
        judged(finding, seen, preset=preset, mode=mode, asked=asked, pinned=True),
        *(
            judged(more, often, preset=preset, mode=mode, asked=asked, pinned=pinned)
            for more, often in [
                (replace(finding, stated=True), seen),
                (replace(finding, resolves=True), seen),
                (replace(finding, importance=1.0), seen),
                (finding, replace(seen, sessions=seen.sessions + 1)),
                (finding, replace(seen, agents=seen.agents + 1)),
            ]
        ),
    ]
    for after in stronger:
        assert after.points >= before.points
        assert after.promote >= before.promote


@given(findings, sightings)
def test_presets_are_ordered(finding: Finding, seen: Seen) -> None:
    """Whatever conservative promotes balanced does, and whatever balanced promotes aggressive does."""
    verdicts = [weighted(finding, seen, preset=preset).promote for preset in ("conservative", "balanced", "aggressive")]
    assert verdicts == sorted(verdicts)


# --- Lineage -------------------------------------------------------------------------------------------------------


@pytest.mark.row("X5", "lineage")
@given(st.floats(0, 1), st.lists(st.floats(0, 1)))
def test_trust_is_the_least_over_the_lineage(own: float, sources: list[float]) -> None:
    """It is one of the values, and none of them is lower; a source more never raises it."""
    trust = lineage_trust(own, sources)
    assert trust in [own, *sources]
    assert all(trust <= value for value in [own, *sources])
    assert lineage_trust(own, [*sources, 0.5]) <= trust
    assert lineage_trust(own, []) == own


# --- Quarantine ----------------------------------------------------------------------------------------------------


@pytest.mark.row("P4", "confirmed", "penalised", "pinned")
@pytest.mark.parametrize(
    "memory, penalised, verdict",
    [
        (replace(CANDIDATE, created_at=NOW - timedelta(hours=24) + timedelta(seconds=1)), False, Quarantine.WAIT),
        (replace(CANDIDATE, created_at=NOW, access_count=3), False, Quarantine.WAIT),
        (CANDIDATE, False, Quarantine.PENALISE),
        (CANDIDATE, True, Quarantine.KEEP),
        (replace(CANDIDATE, access_count=1), False, Quarantine.CONFIRM),
        (replace(CANDIDATE, accessed_at=NOW), False, Quarantine.CONFIRM),
        (replace(CANDIDATE, access_count=1), True, Quarantine.CONFIRM),
        (replace(CANDIDATE, status=Status.PINNED), False, Quarantine.KEEP),
        (replace(CANDIDATE, status=Status.CONFIRMED, access_count=1), False, Quarantine.KEEP),
    ],
)
def test_a_candidate_after_a_day(memory: Memory, penalised: bool, verdict: Quarantine) -> None:
    """Used, it is confirmed; unused, it loses a fifth of its importance once; nothing else is touched."""
    assert after_quarantine(memory, NOW, hours=24, penalised=penalised) is verdict
    assert pytest.approx(0.2) == 1 - PENALTY


@given(memories, moments, st.floats(0, 1_000), st.booleans())
def test_only_candidates_change_and_only_once_they_have_waited(
    memory: Memory, now: datetime, hours: float, penalised: bool
) -> None:
    """The penalty falls once; a clock that was set back counts as no time gone by."""
    verdict = after_quarantine(memory, now, hours=hours, penalised=penalised)
    if memory.status is not Status.CANDIDATE:
        assert verdict is Quarantine.KEEP
    if verdict is Quarantine.PENALISE:
        assert not penalised
        assert after_quarantine(memory, now, hours=hours, penalised=True) is Quarantine.KEEP
    if now < memory.created_at:
        assert verdict is after_quarantine(memory, memory.created_at, hours=hours, penalised=penalised)
