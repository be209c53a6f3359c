"""The walk over the graph: weights, depth, and the best of several ways."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Link, LinkKind
from recollect.model import MemoryId
from recollect.policy.spread import Edge, Node, Reached, edge_weight, edges_of, spread

ONE, TWO, THREE, FOUR, FIVE = (MemoryId(number) for number in range(1, 6))


def between(*links: Link) -> Callable[[Node], Iterable[Edge]]:
    """The steps that these links allow."""
    return lambda node: edges_of(node, links)


def link(memory: int, kind: LinkKind, target: int | str, weight: float = 1.0) -> Link:
    """An edge."""
    return Link(
        memory=MemoryId(memory),
        kind=kind,
        target=target if isinstance(target, str) else MemoryId(target),
        weight=weight,
    )


links = st.builds(
    link,
    st.integers(1, 5),
    st.sampled_from(LinkKind),
    st.integers(1, 5),
    st.floats(0, 1, allow_nan=False),
) | st.builds(link, st.integers(1, 5), st.just(LinkKind.HAS_TAG), st.sampled_from("xy"))
graphs = st.lists(links, max_size=10)
seeds = st.dictionaries(st.integers(1, 5).map(MemoryId), st.floats(0, 1, allow_nan=False), max_size=3)
decays = st.floats(0, 1, allow_nan=False)


@pytest.mark.row("J7", "edge-weights")
@pytest.mark.parametrize(
    "kind, weight",
    [
        (LinkKind.HAS_TAG, 0.8),
        (LinkKind.IN_CLUSTER, 0.6),
        (LinkKind.RELATES_TO, 0.45),
        (LinkKind.SUPERSEDES, 0.9),
        (LinkKind.CONTRADICTS, 0.3),
        (LinkKind.DERIVED_FROM, 0.3),
    ],
)
def test_a_link_weighs_what_the_design_says(kind: LinkKind, weight: float) -> None:
    """A relates-to link its own weight."""
    assert edge_weight(kind, 0.45) == weight


@pytest.mark.row("J7", "edge-weights", "depth-decay")
def test_a_memory_one_link_away_scores_the_links_weight_decayed_once() -> None:
    """And its path says how it was reached."""
    walk = between(
        link(1, LinkKind.RELATES_TO, 2, 0.5),
        link(1, LinkKind.SUPERSEDES, 3),
        link(4, LinkKind.CONTRADICTS, 1),
    )
    assert spread({ONE: 0.9}, walk, depth=2, decay=0.7) == {
        ONE: Reached(0.9, 0, "found itself"),
        TWO: Reached(0.5 * 0.7, 1, "1 relates-to 2"),
        THREE: Reached(0.9 * 0.7, 1, "1 supersedes 3"),
        FOUR: Reached(0.3 * 0.7, 1, "1 contradicts 4"),
    }


@pytest.mark.row("J7", "depth-decay", "max-depth")
@pytest.mark.parametrize("depth, reached", [(0, 1), (1, 2), (2, 3), (3, 4), (10, 5)])
def test_the_score_decays_with_each_link_and_the_walk_ends_at_its_depth(depth: int, reached: int) -> None:
    """A chain of four links, each of weight one."""
    walk = between(*(link(number, LinkKind.RELATES_TO, number + 1) for number in range(1, 5)))
    found = spread({ONE: 1.0}, walk, depth=depth, decay=0.7)
    assert [found[number].score for number in sorted(found)] == [pytest.approx(0.7**step) for step in range(reached)]
    assert [found[number].depth for number in sorted(found)] == list(range(reached))


@pytest.mark.row("J7", "both-ways")
@pytest.mark.parametrize(
    "kind, name, weight", [(LinkKind.HAS_TAG, "auth", 0.8), (LinkKind.IN_CLUSTER, 7, 0.6)], ids=["tag", "cluster"]
)
def test_tags_and_clusters_are_walked_both_ways(kind: LinkKind, name: str | int, weight: float) -> None:
    """From a memory to what it belongs to, and on to the others that belong there: two steps."""
    walk = between(link(1, kind, name), link(2, kind, name), link(3, kind, name))
    found = spread({ONE: 1.0}, walk, depth=2, decay=0.7)
    assert set(found) == {ONE, TWO, THREE}
    assert found[TWO].score == pytest.approx(weight * 0.7**2)
    assert found[TWO].path == f"1 {kind} {name} {kind} 2"
    assert set(spread({ONE: 1.0}, walk, depth=1, decay=0.7)) == {ONE}


def test_a_cluster_is_no_memory_of_the_same_number() -> None:
    """Nor a tag of one, however it is called."""
    walk = between(link(1, LinkKind.IN_CLUSTER, 2), link(2, LinkKind.RELATES_TO, 3), link(4, LinkKind.HAS_TAG, "2"))
    assert set(spread({ONE: 1.0}, walk, depth=3, decay=0.7)) == {ONE}


@pytest.mark.row("J7", "best-score")
def test_a_memory_reached_by_several_paths_keeps_its_best_score() -> None:
    """Whichever was walked first; and one that was found itself keeps that, if it is better."""
    both = (link(1, LinkKind.CONTRADICTS, 3), link(2, LinkKind.SUPERSEDES, 3))
    for order in (both, both[::-1]):
        assert spread({ONE: 1.0, TWO: 1.0}, between(*order), depth=2, decay=0.7)[THREE].score == pytest.approx(0.63)
    assert spread({ONE: 1.0, THREE: 0.95}, between(*both), depth=2, decay=0.7)[THREE].score == 0.95
    assert spread({TWO: 1.0, THREE: 0.1}, between(*both), depth=2, decay=0.7)[THREE].score == pytest.approx(0.63)


@given(seeds, graphs, st.integers(0, 4), decays)
def test_the_walk_ends_and_scores_stay_within_bounds(
    starts: dict[MemoryId, float], graph: list[Link], depth: int, decay: float
) -> None:
    """Whatever links there are, circles included: seeds are there, and what is further away scores less."""
    found = spread(starts, between(*graph), depth=depth, decay=decay)
    for number, score in starts.items():
        assert found[number].score >= score
    for way in found.values():
        assert 0 <= way.depth <= depth
        assert way.depth == 0 or way.score <= decay**way.depth
    assert all(isinstance(number, int) for number in found)


@given(seeds, graphs, st.integers(0, 3))
def test_a_deeper_walk_loses_nothing(starts: dict[MemoryId, float], graph: list[Link], depth: int) -> None:
    """What was reached stays reached, at least as well."""
    near = spread(starts, between(*graph), depth=depth, decay=0.7)
    far = spread(starts, between(*graph), depth=depth + 1, decay=0.7)
    for number, way in near.items():
        assert far[number].score >= way.score


@given(seeds, graphs)
def test_nobody_is_asked_twice_for_the_same_links(starts: dict[MemoryId, float], graph: list[Link]) -> None:
    """So a walk costs at most one look at each node."""
    asked: list[Node] = []

    def steps(node: Node) -> Iterable[Edge]:
        asked.append(node)
        return edges_of(node, graph)

    spread(starts, steps, depth=3, decay=0.7)
    assert len(asked) == len(set(asked))


def test_without_a_seed_nothing_is_reached() -> None:
    """However many links there are."""
    graph = [link(one, LinkKind.RELATES_TO, other) for one, other in itertools.combinations(range(1, 6), 2)]
    assert spread({}, between(*graph), depth=3, decay=0.7) == {}
