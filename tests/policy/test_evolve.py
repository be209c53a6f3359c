"""What a memory becomes: each change within bounds, one version at a time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Anchor, Kind, Memory, Origin, Procedure, Provenance, Status
from recollect.model import Edit, Reinforcement, Signals, Uid
from recollect.policy.evolve import (
    ANCHORS,
    BREADCRUMBS,
    COUNT_LIMIT,
    TAGS,
    marked,
    repeated,
    retagged,
    revised,
    stepped,
    vouched,
    weighed,
)
from recollect.policy.identity import content_hash, fingerprint
from recollect.policy.tokens import estimate_tokens

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

moments = st.datetimes(datetime(1950, 1, 1), datetime(2150, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
counts = st.integers(-COUNT_LIMIT, COUNT_LIMIT)
tags = st.lists(st.sampled_from(["api", "auth", "db", "deploy", "ci"]), unique=True, max_size=4).map(tuple)

memories = st.builds(
    Memory,
    uid=st.just(Uid("00000000-0000-4000-8000-000000000000")),
    content=st.just("Deploys go out from main"),
    version=st.integers(1, 1_000),
    status=st.sampled_from(Status),
    importance=st.floats(0, 1),
    confidence=st.floats(0, 1),
    strength=st.integers(0, COUNT_LIMIT),
    score=counts,
    access_count=st.integers(0, COUNT_LIMIT),
    created_at=moments,
    updated_at=moments,
    accessed_at=st.none() | moments,
    last_hit_at=st.none() | moments,
    confirmed_at=st.none() | moments,
    tags=tags,
    provenance=st.just((Provenance(origin=Origin.OBSERVED, at=NOW),)),
)
signals = st.builds(
    Signals,
    importance=st.floats(-2, 2),
    confidence=st.floats(-2, 2),
    strength=counts,
    score=counts,
    access=counts,
    hit=st.booleans(),
    confirm=st.booleans(),
)
edits = st.builds(
    Edit,
    content=st.none() | st.text(min_size=1),
    kind=st.none() | st.sampled_from(Kind),
    importance=st.none() | st.floats(0, 1),
    tags=st.none() | tags,
    season=st.none() | st.text(min_size=1),
    procedure=st.none() | st.just(Procedure(name="deploy")),
    anchors=st.none() | st.just((Anchor(path="a.py"),)),
)
changes = st.one_of(
    st.builds(lambda given_: lambda memory, now: weighed(memory, given_, now), signals),
    st.builds(lambda edit: lambda memory, now: revised(memory, edit, None, now), edits),
    st.builds(lambda status: lambda memory, now: marked(memory, status, None, now), st.sampled_from(Status)),
    st.builds(lambda given_: lambda memory, now: repeated(memory, memory, given_, now), signals),
    st.just(stepped),
)


@given(memories, signals, moments)
def test_signals_stay_within_their_bounds(memory: Memory, given_: Signals, now: datetime) -> None:
    """Shares between 0 and 1, counters where they cannot overflow."""
    after = weighed(memory, given_, now)
    assert 0 <= after.importance <= 1
    assert 0 <= after.confidence <= 1
    assert 0 <= after.strength <= COUNT_LIMIT
    assert 0 <= after.access_count <= COUNT_LIMIT
    assert abs(after.score) <= COUNT_LIMIT


@given(memories, signals, moments)
def test_a_signal_moves_its_value_its_own_way(memory: Memory, given_: Signals, now: datetime) -> None:
    """Up for more, down for less, and not at all for nothing."""
    after = weighed(memory, given_, now)
    moved = [
        (given_.importance, after.importance, memory.importance, 1e-9),
        (given_.confidence, after.confidence, memory.confidence, 1e-9),
        (given_.strength, after.strength, memory.strength, 0),
        (given_.score, after.score, memory.score, 0),
        (given_.access, after.access_count, memory.access_count, 0),
    ]
    for change, then, before, drift in moved:
        if change >= 0:
            assert then >= before - drift
        if change <= 0:
            assert then <= before + drift


@given(memories, changes, moments)
def test_every_change_is_one_version_on_and_never_back_in_time(memory: Memory, change: object, now: datetime) -> None:
    """A clock that jumps back leaves no gap in history; identity and origin stay."""
    assert callable(change)
    after = change(memory, now)
    assert after.version == memory.version + 1
    assert after.updated_at == max(now, memory.updated_at)
    for kept in ("id", "uid", "created_at", "origin", "trust", "scope", "source", "session_id"):
        assert getattr(after, kept) == getattr(memory, kept)


@pytest.mark.parametrize(
    "given_, moved",
    [
        (Signals(hit=True), {"last_hit_at"}),
        (Signals(access=1), {"accessed_at"}),
        (Signals(confirm=True), {"confirmed_at"}),
        (Signals(score=-1), set()),
        (Signals(hit=True, access=1, confirm=True), {"last_hit_at", "accessed_at", "confirmed_at"}),
    ],
)
def test_only_what_happened_gets_the_time_it_happened(given_: Signals, moved: set[str]) -> None:
    """Each clock of a memory is its own."""
    then = NOW - timedelta(days=9)
    memory = Memory(uid=Uid(""), content="x", created_at=then, updated_at=then)
    after = weighed(memory, given_, NOW)
    clocks = {"last_hit_at", "accessed_at", "confirmed_at"}
    assert {name for name in clocks if getattr(after, name) == NOW} == moved
    assert {name for name in clocks if getattr(after, name) is None} == clocks - moved


def test_adding_tenths_does_not_drift() -> None:
    """Ten times a tenth is one."""
    memory = Memory(uid=Uid(""), content="x", created_at=NOW, updated_at=NOW, importance=0.0)
    for tenths in range(1, 11):
        memory = weighed(memory, Signals(importance=0.1), NOW)
        assert memory.importance == tenths / 10


def test_breadcrumbs_are_kept_up_to_a_number_newest_last() -> None:
    """Each tells when, and in which session and message."""
    memory = Memory(uid=Uid(""), content="x", created_at=NOW, updated_at=NOW)
    for number in range(BREADCRUMBS + 5):
        again = Memory(
            uid=Uid(""),
            content="x",
            created_at=NOW,
            updated_at=NOW,
            session_id=f"s{number}",
            message_range=(number, number + 2),
        )
        memory = repeated(memory, again, Signals(access=1), NOW)
    assert len(memory.reinforcements) == BREADCRUMBS
    assert memory.reinforcements[-1] == Reinforcement(at=NOW, session_id="s54", message=54)
    assert memory.reinforcements[0].session_id == "s5"


BY_USER = (Origin.USER_STATED, Origin.USER_CORRECTED)
FILES = tuple(Anchor(path=f"{number}.py") for number in range(ANCHORS + 6))
LABELS = tuple(f"t{number}" for number in range(TAGS + 8))

told = st.builds(
    lambda memory, **given_: replace(memory, **given_),
    memories,
    origin=st.sampled_from(Origin),
    trust=st.sampled_from([0.0, 0.3, 0.6, 0.8, 1.0]),
    anchors=st.lists(st.sampled_from(FILES), unique=True).map(tuple),
)


@given(told, told, signals, moments)
def test_only_the_users_word_is_worth_more_than_a_repetition(
    memory: Memory, again: Memory, given_: Signals, now: datetime
) -> None:
    """Trust rises to the user's and never falls; a candidate is one no longer; nobody else's word does either."""
    after = repeated(memory, again, given_, now)
    raised = again.origin in BY_USER and again.trust > memory.trust
    assert after.trust == (again.trust if raised else memory.trust)
    assert after.provenance == (memory.provenance + again.provenance if raised else memory.provenance)
    candidate = memory.status is Status.CANDIDATE
    assert after.status is (Status.CONFIRMED if raised and candidate else memory.status)
    assert after.origin is memory.origin
    if raised:
        assert after.confirmed_at == now


@given(told, told, signals, moments)
def test_a_repetition_adds_what_was_not_there_and_changes_no_word(
    memory: Memory, again: Memory, given_: Signals, now: datetime
) -> None:
    """Tags and files in the order they came, each once; the text, the kind and where it belongs stay."""
    after = repeated(memory, replace(again, content="Deploys leave from main", kind=Kind.WARNING), given_, now)
    assert after.tags == tuple(dict.fromkeys((*memory.tags, *again.tags)))
    every = tuple(dict.fromkeys((*memory.anchors, *again.anchors)))
    assert after.anchors == every[: max(ANCHORS, len(memory.anchors))]
    for kept in ("content", "kind", "uid", "created_at", "session_id", "superseded_by"):
        assert getattr(after, kept) == getattr(memory, kept)
    weighted = weighed(memory, given_, now)
    for moved in ("importance", "confidence", "strength", "score", "access_count", "last_hit_at", "version"):
        assert getattr(after, moved) == getattr(weighted, moved)


@pytest.mark.parametrize(
    "has, comes, left",
    [
        (0, 3, 3),
        (TAGS - 2, 8, TAGS),
        (TAGS, 8, TAGS),
        (TAGS + 3, 3, TAGS + 3),
    ],
)
def test_repetitions_do_not_pile_up_tags_without_end(has: int, comes: int, left: int) -> None:
    """Up to a number; what it has beyond that it keeps."""
    memory = Memory(uid=Uid(""), content="x", created_at=NOW, updated_at=NOW, tags=LABELS[:has])
    again = replace(memory, tags=LABELS[-comes:])
    after = repeated(memory, again, Signals(), NOW)
    assert len(after.tags) == left
    assert after.tags[:has] == memory.tags


@pytest.mark.parametrize("has, comes, left", [(0, 3, 3), (ANCHORS - 1, 4, ANCHORS), (ANCHORS + 2, 2, ANCHORS + 2)])
def test_repetitions_do_not_pile_up_files_without_end(has: int, comes: int, left: int) -> None:
    """Up to a number; what it has beyond that it keeps."""
    memory = Memory(uid=Uid(""), content="x", created_at=NOW, updated_at=NOW, anchors=FILES[:has])
    after = repeated(memory, replace(memory, anchors=FILES[-comes:]), Signals(), NOW)
    assert len(after.anchors) == left
    assert after.anchors[:has] == memory.anchors


def test_the_user_who_repeats_what_the_user_said_adds_no_step() -> None:
    """Where it came from is known already; it is one more breadcrumb."""
    stated = (Provenance(origin=Origin.USER_STATED, at=NOW),)
    memory = Memory(
        uid=Uid(""),
        content="x",
        created_at=NOW,
        updated_at=NOW,
        origin=Origin.USER_STATED,
        trust=1.0,
        provenance=stated,
    )
    after = repeated(memory, memory, Signals(), NOW)
    assert (after.provenance, len(after.reinforcements)) == (stated, 1)


@given(memories, st.floats(-3, 3), moments)
def test_vouching_sets_trust_within_bounds_and_says_by_whom(memory: Memory, trust: float, now: datetime) -> None:
    """One version on, sure of itself from now; nothing else changes."""
    step = Provenance(origin=Origin.USER_STATED, at=now, reason="confirmed")
    after = vouched(memory, trust, step, now)
    assert after == replace(
        stepped(memory, now),
        trust=after.trust,
        provenance=(*memory.provenance, step),
        confirmed_at=now,
    )
    assert after.trust == pytest.approx(min(1.0, max(0.0, trust)), abs=1e-9)
    assert 0 <= after.trust <= 1


@given(memories, edits, moments)
def test_an_edit_changes_what_it_gives_and_nothing_else(memory: Memory, edit: Edit, now: datetime) -> None:
    """Score and history stay; the last hit is now; hashes follow the text."""
    after = revised(memory, edit, None, now)
    assert after.score == memory.score
    assert after.last_hit_at == now
    for name in ("content", "kind", "importance", "tags", "season", "procedure", "anchors"):
        given_ = getattr(edit, name)
        assert getattr(after, name) == (getattr(memory, name) if given_ is None else given_)
    if edit.content is not None:
        assert after.fingerprint == fingerprint(edit.content)
        assert after.content_hash == content_hash(edit.content)
        assert after.token_cost == estimate_tokens(edit.content)
        assert after.confirmed_at == now


def test_an_edit_adds_a_step_to_where_the_memory_came_from() -> None:
    """At the end of the chain."""
    memory = Memory(
        uid=Uid(""),
        content="x",
        created_at=NOW,
        updated_at=NOW,
        provenance=(Provenance(origin=Origin.OBSERVED, at=NOW),),
    )
    step = Provenance(origin=Origin.USER_CORRECTED, at=NOW, reason="edited")
    assert revised(memory, Edit(kind=Kind.DECISION), step, NOW).provenance == (*memory.provenance, step)


def test_a_field_that_is_cleared_is_empty() -> None:
    """Only those that are named."""
    memory = Memory(uid=Uid(""), content="x", created_at=NOW, updated_at=NOW, season="winter", valid_to=NOW)
    after = revised(memory, Edit(clear=("season",)), None, NOW)
    assert (after.season, after.valid_to) == (None, NOW)


@given(memories, st.sampled_from(Status), moments)
def test_what_superseded_a_memory_is_known_only_while_it_is_superseded(
    memory: Memory, status: Status, now: datetime
) -> None:
    """Restoring it forgets by what."""
    by = Uid("11111111-0000-4000-8000-000000000000")
    after = marked(memory, status, by, now)
    assert after.status is status
    assert after.superseded_by == (by if status is Status.SUPERSEDED else None)


@given(memories, tags, tags, moments)
def test_tags_are_a_set_in_the_order_they_came(
    memory: Memory, add: tuple[str, ...], remove: tuple[str, ...], now: datetime
) -> None:
    """The same memory comes back when nothing changes."""
    after = retagged(memory, add, remove, now)
    assert set(after.tags) == (set(memory.tags) | set(add)) - set(remove)
    assert len(set(after.tags)) == len(after.tags)
    assert [tag for tag in after.tags if tag in memory.tags] == [tag for tag in memory.tags if tag in after.tags]
    assert (after is memory) == (after.tags == memory.tags)
