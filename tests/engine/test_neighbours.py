"""Pairs that lie close together: the same as every number of every pair compared, whatever the vectors are like.

Of many wide vectors the last numbers are left out at first. That no pair of real texts is lost by it is shown on the
texts of the quality sets.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.embed.static import StaticEmbedder
from recollect.engine.neighbours import HEAD, MOST_IN_FULL, Pair, close_pairs, ordinary

Units: TypeAlias = NDArray[np.float32]

ROUNDING = 1e-5
"""How far two ways of computing one cosine may be apart."""
BLOCK = 128
"""Vectors are taken so many at a time; the shapes below end before, at and after the end of one."""
CROWD = BLOCK + MOST_IN_FULL
"""Of so many rows, however close they all are, every pair is looked at."""
TEXTS = Path(__file__).parent.parent / "quality" / "dev"


def units(rows: NDArray[np.floating]) -> Units:
    """Rows of length 1; a row of zeros stays what it is."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True) if len(rows) else np.ones((0, 1))
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def random_rows(seed: int, count: int, width: int) -> Units:
    """Rows that point anywhere."""
    return units(np.random.default_rng(seed).normal(size=(count, width)))


def clustered(seed: int, count: int, width: int, *, centres: int = 5, spread: float = 0.15) -> Units:
    """Rows around a few centres."""
    random = np.random.default_rng(seed)
    middle = random.normal(size=(centres, width))
    return units(middle[random.integers(centres, size=count)] + spread * random.normal(size=(count, width)))


def repeated(seed: int, count: int, width: int) -> Units:
    """Few different rows, each many times."""
    few = random_rows(seed, max(1, count // 4), width)
    return few[np.random.default_rng(seed).integers(len(few), size=count)]


def narrow(seed: int, count: int, width: int) -> Units:
    """Rows that differ in three of their numbers alone; the others never vary."""
    rows = np.zeros((count, width))
    rows[:, width - 3 :] = np.random.default_rng(seed).normal(size=(count, 3))
    return units(rows)


def in_one_place(seed: int, count: int, width: int) -> Units:
    """The same row again and again."""
    return np.repeat(random_rows(seed, 1, width), count, axis=0)


def with_holes(seed: int, count: int, width: int) -> Units:
    """Clusters among which every third row points nowhere."""
    rows = clustered(seed, count, width)
    rows[::3] = 0
    return rows


SHAPES = {each.__name__: each for each in (random_rows, clustered, repeated, narrow, in_one_place, with_holes)}


def brute(rows: Units, least: float) -> dict[tuple[int, int], float]:
    """Every pair that is close enough, by comparing all with all in full precision."""
    full = rows.astype(np.float64)
    cosines = full @ full.T
    pairs = zip(*np.nonzero(np.triu(cosines >= least, k=1)), strict=True)
    return {(int(one), int(other)): float(cosines[one, other]) for one, other in pairs}


def assert_same(rows: Units, least: float) -> None:
    """All pairs are found, none else; of those just at the edge, either may be so."""
    found = {(pair.one, pair.other): pair.cosine for pair in close_pairs(rows, least=least, most=len(rows) + 1)}
    sure, possible = brute(rows, least + ROUNDING), brute(rows, least - ROUNDING)
    assert found.keys() >= sure.keys()
    assert found.keys() <= possible.keys()
    assert all(abs(cosine - possible[pair]) < ROUNDING for pair, cosine in found.items())


@pytest.mark.parametrize("count", [0, 1, 2, 3, BLOCK - 1, BLOCK, BLOCK + 1, CROWD])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_pairs_are_those_of_comparing_all_with_all(shape: str, count: int) -> None:
    """For every shape of vectors, for more and fewer of them than one block holds."""
    for width in (8, HEAD):
        rows = SHAPES[shape](count, count, width)
        assert rows.shape == (count, width)
        for least in (-1.0, 0.5, 0.95):
            assert_same(rows, least)


@pytest.mark.parametrize("least", [0.75, 0.85, 0.92])
def test_the_pairs_of_real_texts_are_found(least: float) -> None:
    """All of them, and the closer ones are not those that everything is."""
    rows = StaticEmbedder().embed(sorted(set(real_texts())))
    rows = rows[rows.any(axis=1)]
    assert rows.shape[1] > HEAD
    assert len(rows) > 5 * BLOCK
    assert_same(rows, least)
    assert len(list(close_pairs(rows, least=least, most=len(rows)))) > 5


def real_texts() -> Iterator[str]:
    """Everything that stands in the quality sets as a sentence."""
    for path in sorted(TEXTS.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield from sentences(json.loads(line))


def sentences(value: object) -> Iterator[str]:
    match value:
        case str() if len(value) > 25:
            yield value
        case dict():
            for each in value.values():
                yield from sentences(each)
        case list():
            for each in value:
                yield from sentences(each)


@pytest.mark.parametrize("width", [HEAD + 1, 3 * HEAD, 256])
def test_what_is_nearly_the_same_is_found_among_many_wide_vectors(width: int) -> None:
    """Whatever is left out at first, copies that differ by a little are found, and nothing that is not close."""
    rows = random_rows(width, 600, width)
    nearly = units(rows[:200] + 0.02 * random_rows(1, 200, width))
    found = {(pair.one, pair.other) for pair in close_pairs(np.vstack((rows, nearly)), least=0.9, most=9)}
    assert found == {(at, 600 + at) for at in range(200)}


@given(
    st.sampled_from(sorted(SHAPES)),
    st.integers(0, 2**32 - 1),
    st.integers(0, 60),
    st.integers(4, 2 * HEAD),
    st.floats(-1, 1),
)
def test_any_vectors_at_any_closeness(shape: str, seed: int, count: int, width: int, least: float) -> None:
    """Nothing that the bound lets go would have been close enough."""
    assert_same(SHAPES[shape](seed, count, width), least)


@given(st.sampled_from(sorted(SHAPES)), st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(0, 5))
def test_of_each_row_the_closest_later_ones_are_given(shape: str, seed: int, count: int, most: int) -> None:
    """At most so many; none that was left out is closer than one that was given."""
    rows, least = SHAPES[shape](seed, count, 24), 0.3
    cosines = brute(rows, least - ROUNDING)
    given_for: dict[int, list[Pair]] = {}
    for pair in close_pairs(rows, least=least, most=most):
        given_for.setdefault(pair.one, []).append(pair)
    for one in range(count):
        mine = given_for.get(one, [])
        later = sorted((cosine for pair, cosine in cosines.items() if pair[0] == one), reverse=True)
        sure = sum(cosine >= least + ROUNDING for cosine in later)
        assert min(most, sure) <= len(mine) <= min(most, len(later))
        assert len({pair.other for pair in mine}) == len(mine)
        assert all(pair.other > one for pair in mine)
        assert all(abs(pair.cosine - best) < ROUNDING for pair, best in zip(mine, later, strict=False))
        assert [pair.cosine for pair in mine] == sorted((pair.cosine for pair in mine), reverse=True)


def test_the_pairs_come_in_the_order_of_rows() -> None:
    """The same vectors give the same pairs in the same order, by row, then the closest first."""
    rows = clustered(7, 300, 96)
    once = list(close_pairs(rows, least=0.6, most=3))
    assert once == list(close_pairs(rows, least=0.6, most=3))
    assert [pair.one for pair in once] == sorted(pair.one for pair in once)


def test_rows_without_a_direction_are_close_to_nothing() -> None:
    """Texts without a known word have no vector that points anywhere."""
    rows = np.zeros((5, 16), dtype=np.float32)
    assert list(close_pairs(rows, least=0.5, most=9)) == []


def test_no_vectors_at_all() -> None:
    """Not even a width."""
    assert list(close_pairs(np.empty((0, 0), dtype=np.float32), least=0.5, most=9)) == []


def test_progress_is_told_block_by_block_up_to_the_whole() -> None:
    """So that who waits sees it move; the last word is that all is done."""
    told: list[tuple[int, int]] = []
    rows = random_rows(1, 2 * BLOCK + 1, 8)
    pairs = close_pairs(rows, least=0.9, most=1, progress=lambda done, total: told.append((done, total)))
    assert list(pairs) == list(close_pairs(rows, least=0.9, most=1))
    assert len(told) > 1
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1] == (len(rows), len(rows))
    assert {total for _, total in told} == {len(rows)}


@pytest.mark.parametrize("count", [CROWD, 1_000])
def test_many_alike_take_no_room_to_speak_of(count: int) -> None:
    """A memory full of texts that are nearly the same is the one that needs tending most."""
    alike = clustered(3, count, 256, centres=1, spread=0.3)
    tracemalloc.start()
    try:
        for pair in close_pairs(alike, least=0.75, most=4):
            assert pair.cosine >= 0.75
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000_000


def test_in_a_crowd_everybody_still_has_their_closest() -> None:
    """Of many that are the same, each is given as many as were asked for."""
    rows = in_one_place(3, 3 * BLOCK, 64)
    found = [pair.one for pair in close_pairs(rows, least=0.75, most=4)]
    assert [found.count(one) for one in range(len(rows))] == [4] * (len(rows) - 4) + [3, 2, 1, 0]


def test_who_stands_beside_a_crowd_is_not_overlooked() -> None:
    """Two that are close to each other are found, however many others are the same."""
    two = np.zeros((2, 64))
    two[:, 0], two[1, 1] = 1.0, 0.5
    rows = np.vstack((units(two), in_one_place(3, 3 * BLOCK, 64)))
    assert (0, 1) in brute(rows, 0.85)
    assert (0, 1) in {(pair.one, pair.other) for pair in close_pairs(rows, least=0.75, most=4)}


# --- How close is ordinary ------------------------------------------------------------------------------------------


def test_of_a_few_rows_nothing_is_ordinary() -> None:
    """They say too little about the rest."""
    assert ordinary(in_one_place(1, 199, 8)) == 0.0
    assert ordinary(np.empty((0, 0), dtype=np.float32)) == 0.0


@pytest.mark.parametrize("shape", ["random_rows", "clustered", "repeated", "narrow", "in_one_place"])
def test_what_is_ordinary_is_told_from_all_pairs(shape: str) -> None:
    """Their mean and four deviations, without making them."""
    rows = SHAPES[shape](5, 300, 24)
    full = rows.astype(np.float64)
    cosines = (full @ full.T)[~np.eye(300, dtype=bool)]
    assert ordinary(rows) == pytest.approx(cosines.mean() + 4 * cosines.std(), abs=1e-2)
