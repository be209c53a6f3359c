"""Ranking: the numbers a place in the results is made of, profile by profile."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from recollect import Anchor, Hit, Kind, Memory, Origin, Recollect, Settings, Status
from recollect.model import Uid, WordStatistics
from recollect.policy.kinds import KINDS
from recollect.policy.moments import Period
from recollect.policy.rank import (
    BASELINES,
    PROFILES,
    Asking,
    Candidate,
    calibrated,
    rank,
    recency_boost,
    recency_weight,
    score_weight,
    summed,
)
from recollect.policy.relevance import Evidence
from recollect.policy.spread import Reached
from recollect.policy.words import Asked, Held, bm25, posed
from recollect.testing import FixedClock, temp_recollect

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUERY = posed(
    [Asked("deploy", "deploy", {"deploy": 1.0})], WordStatistics(texts=100, words=1_000, holding={"deploy": 5})
)
ASKING = Asking(now=NOW, query=QUERY, settings={"vector_weight": 0.7, "text_weight": 0.3})
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
shares = st.floats(0, 1, allow_nan=False)

each_profile = pytest.mark.parametrize("name", sorted(PROFILES))


def uid(number: int) -> Uid:
    """One of many."""
    return Uid(f"{number:08x}-0000-4000-8000-000000000000")


def candidate(
    number: int = 0,
    *,
    count: float = 1.0,
    cosine: float | None = None,
    reached: Reached | None = None,
    together: float = 0.0,
    **memory: object,
) -> Candidate:
    """A memory that holds the word `deploy` among ten."""
    fields: dict[str, object] = {"content": "about a deploy", "created_at": NOW, "updated_at": NOW, **memory}
    found = Held({"deploy": count} if count else {}, 10)
    words = bm25(found, QUERY) / QUERY.mass
    return Candidate(
        memory=Memory(uid=uid(number), id=number, **fields),  # type: ignore[arg-type]
        held=found,
        evidence=Evidence(words=words, meaning=words if cosine is None else max(0.0, cosine)),
        cosine=cosine,
        reached=reached,
        together=together,
    )


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    """Memories of all sorts, found in all ways."""
    drawn = []
    for number in range(draw(st.integers(0, 6))):
        created = draw(moments)
        drawn.append(
            candidate(
                number,
                count=draw(st.floats(0, 20, allow_nan=False)),
                cosine=draw(st.none() | st.floats(-1, 1, allow_nan=False)),
                reached=draw(st.none() | st.builds(Reached, shares, st.integers(0, 2), st.just("1 relates-to 2"))),
                together=draw(shares),
                kind=draw(st.sampled_from(Kind)),
                origin=draw(st.sampled_from(Origin)),
                status=draw(st.sampled_from([Status.CANDIDATE, Status.CONFIRMED, Status.PINNED])),
                score=draw(st.integers(-40, 40)),
                importance=draw(shares),
                confidence=draw(shares),
                trust=draw(shares),
                access_count=draw(st.integers(0, 10_000)),
                created_at=created,
                updated_at=draw(moments),
                accessed_at=draw(st.none() | moments),
                last_hit_at=draw(st.none() | moments),
                anchors=(Anchor(path="a.py"),) if draw(st.booleans()) else (),
            )
        )
    return drawn


askings = st.builds(
    Asking,
    now=moments,
    query=st.just(QUERY),
    files=st.sampled_from([frozenset(), frozenset({"a.py"})]),
    periods=st.sampled_from([(), (Period(NOW - timedelta(days=7), NOW, "last week"),)]),
    settings=st.fixed_dictionaries({"vector_weight": st.floats(0, 10), "text_weight": st.floats(0, 10)}),
)


def factors(hit: Hit) -> dict[str, float]:
    """The value of each reason for a place."""
    return {why.factor: why.value for why in hit.why}


def detail(hit: Hit, factor: str) -> str:
    """What a reason was made from."""
    return next(why.detail for why in hit.why if why.factor == factor)


def alone(found: Candidate, profile: str, asking: Asking = ASKING) -> dict[str, float]:
    """The factors of one memory under a profile."""
    [hit] = rank([found], PROFILES[profile], asking)
    return factors(hit)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def koshi(clock: FixedClock) -> Iterator[Recollect]:
    """A memory that ranks by words, score and recency."""
    with temp_recollect(clock=clock, settings={"recall.profile": "koshi"}, background=False) as memory:
        yield memory


# Whatever the profile


@pytest.mark.row("X14", "presence")
@each_profile
@settings(max_examples=max(20, settings().max_examples // 4))
@given(pool=candidates(), asking=askings)
def test_a_score_is_the_sum_of_the_evidence_times_the_factors(name: str, pool: list[Candidate], asking: Asking) -> None:
    """Exactly: a place can always be explained."""
    for hit in rank(pool, PROFILES[name], asking):
        adds = [why.value for why in hit.why if why.adds]
        product = math.prod(why.value for why in hit.why if not why.adds)
        assert hit.score == pytest.approx(product * math.fsum(adds) if adds else product)
        assert hit.score == summed(hit.why) > 0
        assert 0 <= hit.relevance <= 1


@each_profile
@settings(max_examples=max(20, settings().max_examples // 4))
@given(pool=candidates(), asking=askings, seed=st.randoms(use_true_random=False))
def test_the_best_come_first_and_equals_newest_first(
    name: str, pool: list[Candidate], asking: Asking, seed: object
) -> None:
    """So the order is always the same, in whatever order they were found."""
    hits = rank(pool, PROFILES[name], asking)
    order = [(-hit.score, -hit.memory.created_at.timestamp(), hit.memory.uid) for hit in hits]
    assert order == sorted(order)
    assert {hit.memory.uid for hit in hits} <= {each.memory.uid for each in pool}
    assert len({hit.memory.uid for hit in hits}) == len(hits)
    shuffled = list(pool)
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    assert rank(shuffled, PROFILES[name], asking) == hits


@each_profile
@settings(max_examples=max(20, settings().max_examples // 4))
@given(pool=candidates(), told=st.integers(0, 9))
def test_telling_fewer_reasons_changes_no_place(name: str, pool: list[Candidate], told: int) -> None:
    """The first few carry theirs."""
    whole = rank(pool, PROFILES[name], ASKING)
    brief = rank(pool, PROFILES[name], ASKING, told=told)
    assert [(hit.memory.uid, hit.score, hit.relevance) for hit in brief] == [
        (hit.memory.uid, hit.score, hit.relevance) for hit in whole
    ]
    assert brief[:told] == whole[:told]
    assert all(hit.why == () for hit in brief[told:])


def test_equals_are_ordered_newest_first() -> None:
    """Where a profile does not look at age."""
    pool = [candidate(number, created_at=NOW - timedelta(days=10 - number)) for number in range(5)]
    assert [hit.memory.id for hit in rank(pool, PROFILES["words"], ASKING)] == [4, 3, 2, 1, 0]


def test_a_profile_is_known_by_its_name_and_says_what_it_does() -> None:
    """The name is what the setting says."""
    assert {name: profile.name for name, profile in PROFILES.items()} == {name: name for name in PROFILES}
    assert {"default", "koshi", "cascade", "praxis", "brain", *BASELINES} == set(PROFILES)
    assert all(profile.meaning for profile in PROFILES.values())


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_more_evidence_is_never_less_sure(one: float, other: float) -> None:
    """And what it comes to is a share."""
    assume(one <= other)
    assert 0 <= calibrated(one) <= calibrated(other) <= 1


# Words, reinforcement and recency: koshi


@pytest.mark.row("K2", "score")
@pytest.mark.parametrize("score, weight", [(3, 1.82), (0, 1.0), (-1, 0.82), (-5, 0.37), (6, 3.32)])
def test_a_score_weighs_what_the_design_says(score: int, weight: float) -> None:
    """e to the fifth of the score."""
    assert round(score_weight(score), 2) == weight
    assert round(alone(candidate(score=score), "koshi")["score"], 2) == weight


@pytest.mark.row("K2", "score")
@pytest.mark.parametrize("reinforced, demoted, weight", [(1, 0, 1.82), (0, 0, 1.0), (0, 1, 0.82), (0, 5, 0.37)])
def test_a_hit_tells_what_its_score_was_worth(koshi: Recollect, reinforced: int, demoted: int, weight: float) -> None:
    """Through the library, after reinforcing and demoting."""
    ref = koshi.remember("Deploys go out from main").ref
    for _ in range(reinforced):
        koshi.reinforce(ref)
    for _ in range(demoted):
        koshi.demote(ref)
    [hit] = koshi.recall("deploys")
    assert round(factors(hit)["score"], 2) == weight


@given(st.integers(), st.integers())
def test_a_higher_score_never_weighs_less(one: int, other: int) -> None:
    """And none weighs nothing or without bound."""
    assume(one <= other)
    assert 0 < score_weight(one) <= score_weight(other) < math.inf


@pytest.mark.parametrize("days, weight", [(0, 1.0), (1, 1 / 1.01), (100, 0.5), (300, 0.25), (-50, 1.0)])
def test_freshness_weighs_what_the_design_says(days: int, weight: float) -> None:
    """One over one and a hundredth a day; a time to come counts as today."""
    assert recency_weight(NOW - timedelta(days=days), NOW) == pytest.approx(weight)


@pytest.mark.row("K2", "creation")
def test_without_a_hit_recency_counts_from_creation(koshi: Recollect, clock: FixedClock) -> None:
    """A hundred days on, a memory is worth a half."""
    koshi.remember("Deploys go out from main")
    clock.move(days=100)
    [hit] = koshi.recall("deploys")
    assert factors(hit)["recency"] == pytest.approx(0.5)
    assert detail(hit, "recency") == "created 100 days ago"


@pytest.mark.row("K2", "last-hit")
def test_after_a_hit_recency_counts_from_it(koshi: Recollect, clock: FixedClock) -> None:
    """Reinforcing makes a memory fresh; demoting it later does not."""
    ref = koshi.remember("Deploys go out from main").ref
    clock.move(days=500)
    koshi.reinforce(ref)
    clock.move(days=300)
    koshi.demote(ref)
    [hit] = koshi.recall("deploys")
    assert factors(hit)["recency"] == pytest.approx(0.25)
    assert detail(hit, "recency") == "last hit 300 days ago"


def test_a_clock_that_was_set_back_makes_nothing_younger_than_new(koshi: Recollect, clock: FixedClock) -> None:
    """A memory from the future is worth what a new one is."""
    koshi.remember("Deploys go out from main")
    clock.move(days=-30)
    [hit] = koshi.recall("deploys")
    assert factors(hit)["recency"] == 1.0


@given(moments, moments)
def test_freshness_is_a_share(since: datetime, now: datetime) -> None:
    """Whatever the clocks show."""
    assert 0 < recency_weight(since, now) <= 1


@pytest.mark.row("K2", "relevance", "score", "last-hit", "creation")
@given(candidates(), askings)
def test_koshi_is_relevance_times_score_times_recency(pool: list[Candidate], asking: Asking) -> None:
    """The formula, written out once more."""
    by_uid = {each.memory.uid: each for each in pool}
    for hit in rank(pool, PROFILES["koshi"], asking):
        memory = hit.memory
        days = max(0.0, (asking.now - (memory.last_hit_at or memory.created_at)).total_seconds() / 86_400)
        expected = bm25(by_uid[memory.uid].held, QUERY) * math.exp(0.2 * memory.score) / (1 + 0.01 * days)
        assert hit.score == pytest.approx(expected)
        assert [why.factor for why in hit.why] == ["words", "score", "recency"]


@pytest.mark.row("K2", "relevance")
def test_the_memory_that_says_more_of_what_was_asked_comes_first(koshi: Recollect) -> None:
    """Among equals in score and age; what has none of the words is not there."""
    koshi.remember("Deploys of the website happen weekly")
    best = koshi.remember("Rollbacks of deploys take the previous image")
    koshi.remember("Nothing to do with it")
    found = koshi.recall("how do rollbacks of deploys work")
    assert found[0].memory.content == best.memory.content
    assert len(found) == 2


@pytest.mark.row("X14", "presence")
def test_every_hit_says_what_its_place_is_made_of(koshi: Recollect) -> None:
    """Each factor with its value and what it came from."""
    koshi.reinforce(koshi.remember("Deploys go out from main").ref)
    [hit] = koshi.recall("main deploys of today")
    assert [(why.factor, why.detail) for why in hit.why] == [
        ("words", "main, deploys"),
        ("score", "score +3"),
        ("recency", "last hit 0 days ago"),
    ]


def test_a_memory_is_worth_the_same_in_the_project_as_in_the_global_space(koshi: Recollect) -> None:
    """A small space does not make its words look rarer than a large one."""
    koshi.remember_many([f"note {number} of the project" for number in range(30)])
    koshi.remember("the quick deploy of Ada")
    koshi.remember("the quick deploy of Bob", scope="global")
    here, there = koshi.recall("quick deploy")
    assert {here.memory.ref, there.memory.ref} == {"31", "g1"}
    assert factors(here)["words"] == pytest.approx(factors(there)["words"])


# The walk: cascade


@pytest.mark.row("J10", "recency")
@pytest.mark.parametrize(
    "hours, boost", [(0, 1.5), (24, 1 + 0.5 / math.e), (48, 1 + 0.5 / math.e**2), (10_000, 1.0), (-24, 1.5)]
)
def test_recent_access_lifts_a_result(hours: int, boost: float) -> None:
    """1 + 0.5 e^(-hours/24), from the last access, else from creation."""
    assert recency_boost(NOW - timedelta(hours=hours), NOW) == pytest.approx(boost)
    way = Reached(0.5, 0, "found itself")
    old = NOW - timedelta(days=900)
    for times in (
        {"accessed_at": NOW - timedelta(hours=hours), "created_at": old},
        {"created_at": NOW - timedelta(hours=hours)},
    ):
        assert alone(candidate(reached=way, **times), "cascade")["recency"] == pytest.approx(boost)  # type: ignore[arg-type]


@pytest.mark.row("J11", "formula", "computed-on-read")
def test_cascade_weighs_by_confidence_as_it_is_now() -> None:
    """confidence · e^(-age/half-life) · (1 + 0.1 ln(uses + 1)) · trust, from when somebody last vouched for it."""
    found = candidate(
        reached=Reached(0.5, 0, "found itself"),
        kind=Kind.PREFERENCE,
        confidence=0.8,
        trust=0.9,
        access_count=9,
        created_at=NOW - timedelta(days=400),
        confirmed_at=NOW - timedelta(days=45),
    )
    expected = 0.8 * math.exp(-45 / 90) * (1 + 0.1 * math.log(10)) * 0.9
    assert alone(found, "cascade")["confidence"] == pytest.approx(expected)


@given(candidates(), askings)
def test_cascade_ranks_what_the_walk_came_to_and_nothing_else(pool: list[Candidate], asking: Asking) -> None:
    """Words play no part."""
    hits = rank(pool, PROFILES["cascade"], asking)
    reached = {each.memory.uid: each.reached for each in pool}
    for hit in hits:
        way = reached[hit.memory.uid]
        assert way is not None
        assert factors(hit)["cascade"] == way.score
        assert detail(hit, "cascade") == way.path
    assert rank([replace(each, held=Held({}, 1)) for each in pool], PROFILES["cascade"], asking) == hits


# Metadata: praxis


@pytest.mark.row("P9", "steps")
def test_praxis_multiplies_words_by_metadata() -> None:
    """Category, recency, access, file affinity and status, each a factor of its own."""
    found = candidate(
        kind=Kind.WARNING,
        status=Status.PINNED,
        access_count=7,
        anchors=(Anchor(path="a.py"),),
        updated_at=NOW - timedelta(days=14),
    )
    values = alone(found, "praxis", replace(ASKING, files=frozenset({"a.py"})))
    assert list(values) == ["words", "kind", "recency", "access", "files", "status"]
    assert values["kind"] == KINDS[Kind.WARNING].weight
    assert 0.5 < values["recency"] < 1
    assert values["access"] == pytest.approx(1 + 0.1 * 3)
    assert values["files"] > 1
    assert values["status"] > 1
    plain = alone(candidate(), "praxis")
    assert {plain[name] for name in ("kind", "recency", "access", "files", "status")} == {1.0}
    assert alone(candidate(status=Status.CANDIDATE), "praxis")["status"] < 1


@pytest.mark.row("P9", "limits")
def test_praxis_has_the_limits_of_its_design() -> None:
    """Fifteen go on, the worst three in ten are dropped, two of a session, five are given, five pinned beside them."""
    praxis, limits = PROFILES["praxis"], Settings().recall
    assert (praxis.top, praxis.per_source, praxis.injects, praxis.dropped) == (True, True, True, 0.3)
    assert (limits.top_k, limits.per_source, limits.inject, limits.pinned) == (15, 2, 5, 5)
    assert (limits.candidates, limits.deadline_ms) == (500, 200)


@given(st.integers(0, 10**9))
def test_use_helps_within_bounds(uses: int) -> None:
    """However often a memory was recalled."""
    assert 1 <= alone(candidate(access_count=uses), "praxis")["access"] <= 1.5


# The weighted sum: brain


@pytest.mark.row("B10", "hybrid")
@given(candidates(), st.floats(0, 10), st.floats(0, 10))
def test_brain_adds_cosine_and_words_at_their_weights(pool: list[Candidate], vector: float, text: float) -> None:
    """vector_weight · cosine + text_weight · BM25, the latter as a share of what the question asks for."""
    asking = replace(ASKING, settings={"vector_weight": vector, "text_weight": text})
    by_uid = {each.memory.uid: each for each in pool}
    for hit in rank(pool, PROFILES["brain"], asking):
        found = by_uid[hit.memory.uid]
        assert hit.score == pytest.approx(vector * (found.cosine or 0.0) + text * found.evidence.words)
        assert all(why.adds for why in hit.why)


# Baselines


def test_the_baselines_are_words_alone_and_meaning_alone() -> None:
    """To compare with."""
    wordy, close = candidate(1, count=3, cosine=0.1), candidate(2, count=0, cosine=0.9)
    assert [hit.memory.id for hit in rank([close, wordy], PROFILES["words"], ASKING)] == [1]
    assert [hit.memory.id for hit in rank([wordy, close], PROFILES["vectors"], ASKING)] == [2, 1]


@given(candidates())
def test_fusion_gives_each_list_one_over_sixty_and_the_place(pool: list[Candidate]) -> None:
    """Also where memories of two spaces have the same id."""
    twins = [replace(each, memory=replace(each.memory, id=1)) for each in pool]  # type: ignore[arg-type]
    hits = rank(twins, PROFILES["rrf"], ASKING)
    for name, value in (
        ("words", lambda each: bm25(each.held, QUERY)),
        ("meaning", lambda each: each.cosine or 0.0),
    ):
        listed = [each for each in twins if value(each) > 0]  # type: ignore[no-untyped-call]
        given_ = sorted((factors(hit)[name] for hit in hits if factors(hit)[name] > 0), reverse=True)
        assert given_ == [1 / (60 + place) for place in range(1, len(listed) + 1)]


# Ours


def test_a_question_that_names_a_time_favours_what_is_from_then() -> None:
    """By when it holds from, else by when it was stored."""
    week = Period(NOW - timedelta(days=14), NOW - timedelta(days=7), "last week")
    asking = replace(ASKING, periods=(week,))
    then = candidate(1, created_at=NOW - timedelta(days=10))
    since = candidate(2, valid_from=NOW - timedelta(days=10))
    now = candidate(3)
    long_ago = candidate(4, created_at=NOW - timedelta(days=400))
    values = [alone(each, "default", asking)["time"] for each in (then, since, now, long_ago)]
    assert values[0] == values[1] > values[2] > values[3] > 0
    [hit] = rank([since], PROFILES["default"], asking)
    assert detail(hit, "time") == "2026-02-19, asked for last week"


@given(candidates(), st.sampled_from([frozenset(), frozenset({"a.py"})]))
def test_what_is_known_besides_words_and_meaning_only_nudges(pool: list[Candidate], files: frozenset[str]) -> None:
    """No memory is lifted or sunk past one that answers clearly better."""
    asking = replace(ASKING, files=files)
    for hit in rank(pool, PROFILES["default"], asking):
        product = math.prod(why.value for why in hit.why if not why.adds)
        assert 0.3 < product < 3


@pytest.mark.row("K12", "follow")
@given(st.floats(0, 100), st.floats(0, 100))
def test_company_nudges_within_bounds(one: float, other: float) -> None:
    """Stronger company never counts less, and never much."""
    assume(one <= other)
    weaker, stronger = (alone(candidate(together=each), "default")["together"] for each in (one, other))
    assert 1 <= weaker <= stronger < 1.2


def test_a_memory_whose_vector_is_still_to_come_says_so() -> None:
    """Rather than showing a closeness that nobody measured."""
    [hit] = rank([candidate(cosine=None)], PROFILES["default"], ASKING)
    assert detail(hit, "meaning") == "no vector, so judged by its words"
    [hit] = rank([candidate(cosine=0.25)], PROFILES["default"], ASKING)
    assert detail(hit, "meaning") == "cosine 0.25"
