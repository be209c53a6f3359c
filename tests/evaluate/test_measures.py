"""The measures: by hand on small rankings, and what holds for all of them."""

from __future__ import annotations

import math
from dataclasses import asdict
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.evaluate.measures import (
    Score,
    average,
    fresh_first,
    interval,
    judge,
    ndcg_at,
    percentile,
    recall_at,
    reciprocal_rank,
)

items = st.integers(0, 30).map(str)
rankings = st.lists(items, max_size=25, unique=True)
golds = st.sets(items, min_size=1, max_size=12)
shares = st.floats(0, 1)

RANKED = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]


def judged(ranked: list[str], gold: set[str], documents: dict[str, str] | None = None) -> Score:
    return judge(ranked, gold, documents=documents or {})


# By hand


@pytest.mark.parametrize(
    "gold, at_5, at_10",
    [
        ({"a"}, 1.0, 1.0),
        ({"e"}, 1.0, 1.0),
        ({"f"}, 0.0, 1.0),
        ({"k"}, 0.0, 0.0),
        ({"a", "f", "l", "z"}, 0.25, 0.5),
    ],
)
def test_recall_is_the_share_of_the_gold_that_was_found(gold: set[str], at_5: float, at_10: float) -> None:
    """Whatever else was found."""
    assert (recall_at(RANKED, gold, 5), recall_at(RANKED, gold, 10)) == (at_5, at_10)


@pytest.mark.parametrize(
    "gold, expected",
    [
        ({"a"}, 1.0),
        ({"b"}, 1 / math.log2(3)),  # 0.6309
        ({"c"}, 0.5),
        ({"a", "c"}, 1.5 / (1 + 1 / math.log2(3))),  # 0.9197
        ({"b", "z"}, (1 / math.log2(3)) / (1 + 1 / math.log2(3))),  # 0.3869
        ({"k"}, 0.0),
    ],
)
def test_ndcg_counts_a_find_less_the_later_it_comes(gold: set[str], expected: float) -> None:
    """By the logarithm of its place, against the best order there could be."""
    assert ndcg_at(RANKED, gold, 10) == pytest.approx(expected)


def test_ndcg_expects_no_more_than_fits() -> None:
    """With more gold than places, a list of nothing but gold is perfect."""
    assert ndcg_at(RANKED, {*RANKED, "z"}, 10) == pytest.approx(1.0)


@pytest.mark.parametrize("gold, expected", [({"a"}, 1.0), ({"d", "b"}, 0.5), ({"l"}, 1 / 12), ({"z"}, 0.0)])
def test_the_reciprocal_rank_is_that_of_the_first_find(gold: set[str], expected: float) -> None:
    """However late it comes."""
    assert reciprocal_rank(RANKED, gold) == expected


@pytest.mark.parametrize(
    "ranked, expected",
    [
        (["new", "old"], True),
        (["x", "new", "old", "older"], True),
        (["new"], True),
        (["old", "new"], False),
        (["older", "new", "old"], False),
        (["old"], False),
        ([], False),
    ],
)
def test_fresh_comes_first_only_if_it_was_found(ranked: list[str], expected: bool) -> None:
    """And before everything that it replaced."""
    assert fresh_first(ranked, {"new"}, {"old", "older"}) is expected


def test_an_answer_is_judged_by_every_measure() -> None:
    """Two of three found among the first ten, the first of them in second place."""
    score = judge(RANKED, {"b", "g", "l"}, documents={}, tokens=120)
    gained = 1 / math.log2(3) + 1 / math.log2(8)
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert asdict(score) == pytest.approx(
        {
            "recall_5": 1 / 3,
            "recall_10": 2 / 3,
            "recall_all_10": 0.0,
            "hit_10": 1.0,
            "ndcg_10": gained / ideal,
            "mrr": 0.5,
            "session_recall_5": 1 / 3,
            "tokens": 120.0,
        }
    )


def test_sessions_are_counted_once_and_in_the_order_they_came_up() -> None:
    """Eight turns of the first session do not keep the others out of the first five."""
    documents = {**dict.fromkeys(RANKED[:8], "one"), "i": "two", "j": "three", "k": "four", "l": "five", "m": "six"}
    ranked = [*RANKED, "m"]
    assert judged(ranked, {"l"}, documents).session_recall_5 == 1.0
    assert judged(ranked, {"m"}, documents).session_recall_5 == 0.0
    assert judged(ranked, {"a", "b", "m"}, documents).session_recall_5 == 0.5


def test_what_was_found_twice_counts_where_it_came_first() -> None:
    """A repetition takes no place."""
    assert judged(["a", "a", "a", "a", "a", "b"], {"a", "b"}) == judged(["a", "b"], {"a", "b"})


def test_figures_are_plain_averages() -> None:
    """Every question counts the same."""
    good, bad = judged(["a"], {"a"}), judged(["x"], {"a", "b"})
    figures = average([good, bad, bad, bad])
    assert figures.questions == 4
    assert figures.mean.recall_10 == figures.mean.mrr == figures.mean.session_recall_5 == 0.25
    low, high = figures.interval
    assert 0.0 <= low < 0.25 < high <= 1.0


@pytest.mark.parametrize(
    "values, share, expected",
    [
        ([3.0, 1.0, 2.0], 0.5, 2.0),
        ([4.0, 1.0, 2.0, 3.0], 0.5, 2.0),
        ([float(each) for each in range(1, 101)], 0.95, 95.0),
        ([float(each) for each in range(1, 1001)], 0.025, 25.0),
        ([float(each) for each in range(1, 1001)], 0.975, 975.0),
        ([7.0], 0.95, 7.0),
        ([1.0, 2.0], 0.0, 1.0),
        ([1.0, 2.0], 1.0, 2.0),
    ],
)
def test_a_percentile_is_one_of_the_values(values: list[float], share: float, expected: float) -> None:
    """The one that so many of them do not exceed."""
    assert percentile(values, share) == expected


def test_the_interval_narrows_with_more_questions() -> None:
    """To about what the normal distribution says: 1.96 standard errors on each side."""
    few, many = interval([0.0, 1.0] * 20), interval([0.0, 1.0] * 500)
    assert many[1] - many[0] < few[1] - few[0]
    assert list(many) == pytest.approx([0.469, 0.531], abs=0.01)


# For all


@given(rankings, golds)
def test_every_share_is_from_0_to_1(ranked: list[str], gold: set[str]) -> None:
    """And finding more places' worth never finds less."""
    score = judged(ranked, gold)
    shares = [value for name, value in asdict(score).items() if name != "tokens"]
    assert all(0.0 <= share <= 1.0 + 1e-12 for share in shares)
    assert score.recall_5 <= score.recall_10 <= score.hit_10
    assert score.recall_all_10 <= score.recall_10
    assert (score.hit_10 == 0) == (score.ndcg_10 == 0)
    assert score.mrr >= score.hit_10 / 10


@given(golds, rankings)
def test_a_perfect_ranking_is_perfect(gold: set[str], others: list[str]) -> None:
    """As long as there is not more gold than places."""
    few = sorted(gold)[:5]
    score = judged([*few, *(item for item in others if item not in few)], set(few))
    assert [value for name, value in asdict(score).items() if name != "tokens"] == pytest.approx([1.0] * 7)


@given(rankings, golds, st.randoms(use_true_random=False))
def test_what_looks_at_the_first_ten_as_a_whole_ignores_their_order(
    ranked: list[str], gold: set[str], chance: Random
) -> None:
    """Recall and hits do; what comes after them changes nothing either."""
    first, rest = ranked[:10], ranked[10:]
    chance.shuffle(first)
    one, other = judged(ranked, gold), judged([*first, *reversed(rest)], gold)
    assert (one.recall_10, one.recall_all_10, one.hit_10) == (other.recall_10, other.recall_all_10, other.hit_10)


@given(rankings, golds)
def test_a_find_that_moves_up_never_lowers_a_measure(ranked: list[str], gold: set[str]) -> None:
    """Gold that changes places with what stands before it is for the better."""
    before = judged(ranked, gold)
    place = next((n for n in range(1, len(ranked)) if ranked[n] in gold and ranked[n - 1] not in gold), None)
    if place is None:
        return
    ranked[place - 1], ranked[place] = ranked[place], ranked[place - 1]
    after = judged(ranked, gold)
    assert all(getattr(after, name) >= value - 1e-12 for name, value in asdict(before).items())


@given(st.lists(shares, min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_the_interval_is_about_the_mean_and_the_same_every_time(values: list[float], chance: Random) -> None:
    """In whatever order the questions were asked."""
    low, high = interval(values, resamples=200)
    assert min(values) - 1e-12 <= low <= high <= max(values) + 1e-12
    shuffled = list(values)
    chance.shuffle(shuffled)
    assert interval(shuffled, resamples=200) == (low, high)
    if len(set(values)) == 1:
        assert low == pytest.approx(fmean(values)) == high


@given(st.lists(shares, min_size=1, max_size=60), shares)
def test_so_many_values_are_not_above_a_percentile(values: list[float], share: float) -> None:
    """And it is the smallest of which that is true."""
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-6
    assert sum(value < found for value in values) < max(share * len(values), 1e-6) + 1e-6
