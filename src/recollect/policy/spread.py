"""Walking the graph from what was found: breadth-first over links, each kind of link with its weight.

Tags and clusters are walked both ways: from a memory to what it belongs to, and on to the others that belong there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..model import Link, LinkKind, MemoryId

Node: TypeAlias = MemoryId | tuple[LinkKind, MemoryId | str]
"""A memory by its id; a tag or a cluster by the kind of link that leads to it and its name or number."""

EDGE_WEIGHTS = {LinkKind.HAS_TAG: 0.8, LinkKind.IN_CLUSTER: 0.6, LinkKind.SUPERSEDES: 0.9}
"""How strong a link is by its kind. A relates-to link has a weight of its own."""
OTHER_EDGES = 0.3
GROUPS = frozenset({LinkKind.HAS_TAG, LinkKind.IN_CLUSTER})


@dataclass(frozen=True, slots=True)
class Reached:
    """A memory that the walk came to: its score, how many links away it is, and over what it was reached."""

    score: float
    depth: int
    path: str


@dataclass(frozen=True, slots=True)
class Edge:
    """One step of the walk."""

    kind: LinkKind
    weight: float
    target: Node


def edge_weight(kind: LinkKind, weight: float) -> float:
    """What walking a link is worth."""
    if kind is LinkKind.RELATES_TO:
        return weight
    return EDGE_WEIGHTS.get(kind, OTHER_EDGES)


def edges_of(node: Node, links: Iterable[Link]) -> list[Edge]:
    """The steps that links allow from a node."""
    steps = []
    for link in links:
        group = (link.kind, link.target) if link.kind in GROUPS else None
        if link.memory == node:
            steps.append(Edge(link.kind, link.weight, group or _memory(link.target)))
        elif node == (group or link.target):
            steps.append(Edge(link.kind, link.weight, link.memory))
    return steps


def _memory(target: MemoryId | str) -> MemoryId:
    assert not isinstance(target, str)
    return target


def spread(
    seeds: Mapping[MemoryId, float], edges: Callable[[Node], Iterable[Edge]], *, depth: int, decay: float
) -> dict[MemoryId, Reached]:
    """Every memory that the walk comes to, seeds included, each with the best of the scores it was reached with.

    A step from a node at depth d to a memory gives it the link's weight times decay^(d + 1). A node is walked from
    once; a memory reached by several paths keeps its best score.
    """
    found = {number: Reached(score, 0, "found itself") for number, score in seeds.items()}
    queue: deque[tuple[Node, int, str]] = deque((number, 0, str(number)) for number in seeds)
    visited: set[Node] = set()
    while queue:
        node, away, path = queue.popleft()
        if away >= depth or node in visited:
            continue
        visited.add(node)
        for edge in edges(node):
            if edge.target in visited:
                continue
            told = f"{path} {edge.kind} {edge.target if not isinstance(edge.target, tuple) else edge.target[1]}"
            if not isinstance(edge.target, tuple):
                score = edge_weight(edge.kind, edge.weight) * decay ** (away + 1)
                best = found.get(edge.target)
                if best is None or score > best.score:
                    found[edge.target] = Reached(score, away + 1, told)
            queue.append((edge.target, away + 1, told))
    return found
