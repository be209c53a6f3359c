"""Ranking: the numbers a place in the results is made of."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recollect import Hit, Memory
from recollect.model import Uid, WordMatch, WordStatistics
from recollect.policy.rank import (
    KOSHI,
    PROFILES,
    Asking,
    age_days,
    pooled,
    rank,
    recency_weight,
    score_weight,
    word_rarity,
    word_relevance,
)
from recollect.testing import FixedClock, temp_recollect

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
counts = st.integers(1, 1_000)
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


def factors(hit: Hit) -> dict[str, float]:
    """The value of each reason for a place."""
    return {why.factor: why.value for why in hit.why}


def matched(number: int, *, score: int = 0, created: datetime = NOW, hit: datetime | None = None) -> WordMatch:
    """A memory that holds the word `deploy` once among ten."""
    memory = Memory(
        uid=Uid(f"{number:08x}-0000-4000-8000-000000000000"),
        content="about a deploy",
        score=score,
        created_at=created,
        updated_at=created,
        last_hit_at=hit,
    )
    return WordMatch(memory=memory, counts={"deploy": 1}, length=10)


def corpus(memories: int = 100, words: int = 1_000, **holding: int) -> WordStatistics:
    """What is known of a space."""
    return WordStatistics(memories=memories, words=words, holding=holding or {"deploy": 5})


# Reinforcement


@pytest.mark.row("K2", "score")
@pytest.mark.parametrize("score, weight", [(3, 1.82), (0, 1.0), (-1, 0.82), (-5, 0.37), (6, 3.32)])
def test_a_score_weighs_what_the_design_says(score: int, weight: float) -> None:
    """e to the fifth of the score."""
    assert round(score_weight(score), 2) == weight


@pytest.mark.row("K2", "score")
@pytest.mark.parametrize("reinforced, demoted, weight", [(1, 0, 1.82), (0, 0, 1.0), (0, 1, 0.82), (0, 5, 0.37)])
def test_a_hit_tells_what_its_score_was_worth(reinforced: int, demoted: int, weight: float) -> None:
    """Through the library, after reinforcing and demoting."""
    with temp_recollect(clock=FixedClock()) as memory:
        ref = memory.remember("Deploys go out from main").ref
        for _ in range(reinforced):
            memory.reinforce(ref)
        for _ in range(demoted):
            memory.demote(ref)
        [hit] = memory.recall("deploys")
    assert round(factors(hit)["score"], 2) == weight


@given(st.integers(), st.integers())
def test_a_higher_score_never_weighs_less(one: int, other: int) -> None:
    """And none weighs nothing or without bound."""
    assume(one <= other)
    assert 0 < score_weight(one) <= score_weight(other) < math.inf


# Recency


@pytest.mark.parametrize("days, weight", [(0, 1.0), (1, 1 / 1.01), (100, 0.5), (300, 0.25), (-50, 1.0)])
def test_freshness_weighs_what_the_design_says(days: int, weight: float) -> None:
    """One over one and a hundredth a day; a time to come counts as today."""
    assert recency_weight(NOW - timedelta(days=days), NOW) == pytest.approx(weight)


@pytest.mark.row("K2", "creation")
def test_without_a_hit_recency_counts_from_creation() -> None:
    """A hundred days on, a memory is worth a half."""
    clock = FixedClock()
    with temp_recollect(clock=clock) as memory:
        memory.remember("Deploys go out from main")
        clock.move(days=100)
        [hit] = memory.recall("deploys")
    assert factors(hit)["recency"] == pytest.approx(0.5)
    assert next(why.detail for why in hit.why if why.factor == "recency") == "created 100 days ago"


@pytest.mark.row("K2", "last-hit")
def test_after_a_hit_recency_counts_from_it() -> None:
    """Reinforcing makes a memory fresh; demoting it later does not."""
    clock = FixedClock()
    with temp_recollect(clock=clock) as memory:
        ref = memory.remember("Deploys go out from main").ref
        clock.move(days=500)
        memory.reinforce(ref)
        clock.move(days=300)
        memory.demote(ref)
        [hit] = memory.recall("deploys")
    assert factors(hit)["recency"] == pytest.approx(0.25)
    assert next(why.detail for why in hit.why if why.factor == "recency") == "last hit 300 days ago"


def test_a_clock_that_was_set_back_makes_nothing_younger_than_new() -> None:
    """A memory from the future is worth what a new one is."""
    clock = FixedClock()
    with temp_recollect(clock=clock) as memory:
        memory.remember("Deploys go out from main")
        clock.move(days=-30)
        [hit] = memory.recall("deploys")
    assert factors(hit)["recency"] == 1.0


@given(moments, moments)
def test_age_is_never_negative_and_freshness_never_above_one(since: datetime, now: datetime) -> None:
    """Whatever the clocks show."""
    assert age_days(since, now) >= 0
    assert 0 < recency_weight(since, now) <= 1


# Words


def relevance(count: int, length: int, holding: int, memories: int = 1_000) -> float:
    """What one word is worth."""
    return word_relevance({"w": count}, length, corpus(memories, memories * 20, w=holding))


@given(counts, counts, counts, counts)
def test_holding_a_word_more_often_is_worth_more(count: int, more: int, length: int, holding: int) -> None:
    """In texts of one length."""
    assert relevance(count, length, holding) < relevance(count + more, length, holding)


@given(counts, counts, counts, counts)
def test_the_same_in_a_longer_text_is_worth_less(count: int, length: int, more: int, holding: int) -> None:
    """A word among few says more than among many."""
    assert relevance(count, length, holding) > relevance(count, length + more, holding)


@given(counts, counts, st.integers(1, 999), st.integers(1, 999))
def test_a_rarer_word_is_worth_more(count: int, length: int, rarer: int, other: int) -> None:
    """Held by fewer memories."""
    assume(rarer < other)
    assert relevance(count, length, rarer) > relevance(count, length, other)


@given(
    st.dictionaries(st.sampled_from("abcdef"), counts),
    st.integers(0, 10_000),
    st.builds(
        WordStatistics,
        memories=st.integers(0, 1_000),
        words=st.integers(0, 100_000),
        holding=st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2_000)),
    ),
)
def test_relevance_is_never_negative(held: dict[str, int], length: int, statistics: WordStatistics) -> None:
    """Not for words that every memory holds, nor where statistics and memories disagree."""
    assert 0 <= word_relevance(held, length, statistics) < math.inf


@given(st.integers(0, 1_000), st.integers(0, 1_000))
def test_a_word_in_every_memory_still_counts(holding: int, memories: int) -> None:
    """In a young store every word is in half of the memories."""
    assert word_rarity(holding, memories) > 0


@pytest.mark.row("K2", "relevance")
def test_relevance_is_bm25() -> None:
    """The formula, written out once more."""
    statistics = corpus(10, 80, deploy=3, main=6)
    found = word_relevance({"deploy": 2, "main": 1}, 12, statistics)
    norm = 1.2 * (1 - 0.75 + 0.75 * 12 / 8)
    deploy = math.log(1 + (10 - 3 + 0.5) / (3 + 0.5)) * 2 * 2.2 / (2 + norm)
    main = math.log(1 + (10 - 6 + 0.5) / (6 + 0.5)) * 1 * 2.2 / (1 + norm)
    assert found == pytest.approx(deploy + main)


@pytest.mark.row("K2", "relevance")
def test_the_memory_that_says_more_of_what_was_asked_comes_first() -> None:
    """Among equals in score and age."""
    with temp_recollect(clock=FixedClock()) as memory:
        memory.remember("Deploys of the website happen weekly")
        best = memory.remember("Rollbacks of deploys take the previous image")
        memory.remember("Nothing to do with it")
        found = memory.recall("how do rollbacks of deploys work")
    assert found[0].memory.content == best.memory.content
    assert len(found) == 2


# Statistics of several spaces


@given(
    st.lists(
        st.builds(
            WordStatistics,
            memories=st.integers(0, 100),
            words=st.integers(0, 1_000),
            holding=st.dictionaries(st.sampled_from("abc"), st.integers(1, 50)),
        ),
        max_size=4,
    )
)
def test_pooled_statistics_are_those_of_one_space_that_holds_all(parts: list[WordStatistics]) -> None:
    """Sums, whatever the order."""
    whole = pooled(parts)
    assert whole.memories == sum(part.memories for part in parts)
    assert whole.words == sum(part.words for part in parts)
    assert whole.holding == {
        word: sum(part.holding.get(word, 0) for part in parts) for word in {w for p in parts for w in p.holding}
    }
    assert pooled(reversed(parts)) == whole


def test_a_memory_is_worth_the_same_in_the_project_as_in_the_global_space() -> None:
    """A small space does not make its words look rarer than a large one."""
    with temp_recollect(clock=FixedClock()) as memory:
        memory.remember_many([f"note {number} of the project" for number in range(30)])
        memory.remember("the quick deploy of Ada")
        memory.remember("the quick deploy of Bob", scope="global")
        here, there = memory.recall("quick deploy")
    assert {here.memory.ref, there.memory.ref} == {"31", "g1"}
    assert factors(here)["words"] == pytest.approx(factors(there)["words"])


# The product


@given(
    st.lists(st.tuples(st.integers(-20, 20), moments, st.none() | moments), min_size=1, max_size=12),
    moments,
    st.integers(0, 15),
)
def test_a_place_is_the_product_of_its_reasons_and_the_best_come_first(
    drawn: list[tuple[int, datetime, datetime | None]], now: datetime, limit: int
) -> None:
    """Equals are ordered newest first, so that the order is always the same."""
    matches = [matched(n, score=s, created=created, hit=hit) for n, (s, created, hit) in enumerate(drawn)]
    hits = rank(matches, KOSHI, asking=Asking(now, corpus()), limit=limit)
    assert len(hits) == min(limit, len(matches))
    for hit in hits:
        assert hit.score == math.prod(why.value for why in hit.why)
        assert [why.factor for why in hit.why] == ["words", "score", "recency"]
        since = hit.memory.last_hit_at or hit.memory.created_at
        expected = score_weight(hit.memory.score) * recency_weight(since, now)
        assert hit.score == pytest.approx(word_relevance({"deploy": 1}, 10, corpus()) * expected)
    order = [(-hit.score, -hit.memory.created_at.timestamp(), hit.memory.uid) for hit in hits]
    assert order == sorted(order)
    assert hits == rank(reversed(matches), KOSHI, asking=Asking(now, corpus()), limit=limit)


@pytest.mark.row("X14", "presence")
def test_every_hit_says_what_its_place_is_made_of() -> None:
    """Each factor with its value and what it came from."""
    with temp_recollect(clock=FixedClock()) as memory:
        memory.reinforce(memory.remember("Deploys go out from main").ref)
        [hit] = memory.recall("main deploys of today")
    assert hit.score == math.prod(why.value for why in hit.why)
    assert [(why.factor, why.detail) for why in hit.why] == [
        ("words", "deploys, main"),
        ("score", "score +3"),
        ("recency", "last hit 0 days ago"),
    ]


def test_a_profile_is_known_by_its_name() -> None:
    """The name is what the setting says."""
    assert {name: profile.name for name, profile in PROFILES.items()} == {"koshi": "koshi"}
