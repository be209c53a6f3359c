"""Which rows of numbers lie close together: vectors in, groups of their places out.

With the extra `clusters` these are the groups that HDBSCAN finds: the leaves of the tree that joining the closest first
makes. Comparing everything with everything, scikit-learn takes four times as long for twice as many. So beyond a few
thousand rows the same tree is made here, from the nearest neighbours of each row; it is not an approximation.

Without the extra, rows that are each among the other's nearest neighbours are joined, the closest first, down to a
closeness that follows from how close rows are in this model; two groups that have formed by themselves are joined only
where what lies between them is about as dense as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..store.contract import Floats

    Places: TypeAlias = NDArray[np.intp]

PLAIN = 3_000
"""Up to so many rows scikit-learn makes the tree, in about a second."""
NEIGHBOURS = 3
"""How many nearest neighbours of a row may be joined with it."""
LOOSEST = 0.5
"""How far below the mean closeness of nearest neighbours two may be and still be joined, in standard deviations."""
APART = 2.0
"""How far above the mean closeness of all pairs two must be to be joined, in standard deviations of that."""
CLOSE = 0.85
"""So close are two that say nearly the same, in any model and even where everything is about one thing."""
SADDLE = 0.25
"""How much less dense it may be between two groups than in them if they are to be one, in standard deviations."""
_SAME = 1e-6
_KNOWN = 15
"""How many nearest neighbours of a row are looked up for the tree; it only takes longer with others."""
_BLOCK = 256
_SLICES = 32
_NOT = -2.0
"""Less close than any two rows are."""


def dense(rows: Floats, least: int) -> list[list[int]]:
    """Groups of rows, none of which is zero, that lie close together, `least` or more in each."""
    if len(rows) < least:
        return []
    units = _units(rows)
    try:
        from sklearn.cluster import HDBSCAN
    except ImportError:
        return joined(units, least)
    if len(units) > PLAIN:
        return leaves(units, least) or joined(units, least)
    # The leaves of the tree: the widest groups it can make hold half of everything.
    found = HDBSCAN(min_cluster_size=least, min_samples=1, cluster_selection_method="leaf", copy=True)
    groups: dict[int, list[int]] = {}
    for place, number in enumerate(found.fit_predict(units.astype("float64")).tolist()):
        if number >= 0:
            groups.setdefault(number, []).append(place)
    return list(groups.values()) or joined(units, least)  # it sees no group where there is only one


def _units(rows: Floats) -> Floats:
    import numpy as np

    # The square of a very short vector is zero among short numbers.
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64)).astype(np.float32)
    units: Floats = rows / lengths[:, None]
    return units


def _neighbours(units: Floats, count: int) -> tuple[Places, Floats]:
    """The nearest neighbours of each row and how close they are, closest first; block by block, to save memory."""
    import numpy as np

    count = min(count, len(units) - 1)
    others = np.empty((len(units), count), dtype=np.intp)
    closeness = np.empty((len(units), count), dtype=np.float32)
    # Each column of slices laid upon each other holds one of the closest, if it is among the columns with the highest
    # tops: looking only there saves most of the time.
    width = -(-len(units) // _SLICES)
    room = np.full((min(_BLOCK, len(units)), _SLICES * width), _NOT, dtype=np.float32)
    for start in range(0, len(units), _BLOCK):
        block = units[start : start + _BLOCK]
        near = room[: len(block)]
        np.matmul(block, units.T, out=near[:, : len(units)])
        places = np.arange(len(block))
        near[places, start + places] = _NOT  # not its own neighbour
        tops = near.reshape(len(block), _SLICES, width).max(axis=1)
        columns = _highest(tops, min(count, width))
        likely = (columns[:, :, None] + width * np.arange(_SLICES)).reshape(len(block), -1)
        found = np.take_along_axis(near, likely, axis=1)
        best = _highest(found, count)
        likely, found = np.take_along_axis(likely, best, axis=1), np.take_along_axis(found, best, axis=1)
        order = np.lexsort((likely, -found), axis=1)
        others[start : start + _BLOCK] = np.take_along_axis(likely, order, axis=1)
        closeness[start : start + _BLOCK] = np.take_along_axis(found, order, axis=1)
    return others, closeness


def _highest(values: Floats, count: int) -> Places:
    """Where the highest values of each row are, in any order."""
    import numpy as np

    return np.argpartition(-values, count - 1, axis=1)[:, :count]


# --- The tree of HDBSCAN ----------------------------------------------------------------------------------------------


def leaves(units: Floats, least: int) -> list[list[int]]:
    """What HDBSCAN finds among two or more rows of length 1 with `min_samples=1` and `cluster_selection_method="leaf"`.

    That is: rows are joined, the closest first, and wherever two groups of `least` or more meet, each of them counts in
    which no two had met before. What is equally close is joined at once, so no order decides.

    scikit-learn would take this tree as a sparse matrix; but it goes down it by recursion in C, and a tree of very many
    levels would end the process.
    """
    import numpy as np

    ones, twos = np.array(_spanning(units), dtype=np.intp).T
    pieces = range(0, len(ones), _BLOCK)
    distances = np.concatenate(
        [np.linalg.norm(units[ones[at : at + _BLOCK]] - units[twos[at : at + _BLOCK]], axis=1) for at in pieces]
    )
    tree = _Tree(len(units), least)
    order = np.argsort(distances, kind="stable")
    ascending = zip(distances[order].tolist(), ones[order].tolist(), twos[order].tolist(), strict=True)
    for _, level in groupby(ascending, key=lambda edge: edge[0]):
        tree.join((one, two) for _, one, two in level)
    return tree.found


def _spanning(units: Floats) -> list[tuple[int, int]]:
    """The pairs of a smallest tree that connects all rows, by Borůvka's way: parts are joined, first each row alone."""
    import numpy as np

    others, closeness = _neighbours(units, _KNOWN)
    # A last column for what is found by looking at every row. Until then it says how close that can be at most.
    others = np.hstack([others, np.arange(len(units))[:, None]])
    closeness = np.hstack([closeness, closeness[:, -1:]])
    pairs: list[tuple[int, int]] = []
    part, count = np.arange(len(units)), len(units)
    while count > 1:
        above = list(range(count))
        for one, other in _ways_out(units, others, closeness, part):
            first, second = _root(above, int(part[one])), _root(above, int(part[other]))
            if first != second:
                above[first] = second
                pairs.append((one, other))
        names, numbers = np.unique([_root(above, each) for each in range(count)], return_inverse=True)
        part, count = numbers[part], len(names)
    return pairs


def _ways_out(units: Floats, others: Places, closeness: Floats, part: Places) -> list[tuple[int, int]]:
    """From each part the closest pair that leads out of it; not from the largest, since others lead into it.

    Nearly always it is known from the nearest neighbours. Every row is looked at where those of a row are all in its
    own part and nothing else shows that the part has a closer pair.
    """
    import numpy as np

    every = np.arange(len(units))
    first = (part[others] != part[:, None]).argmax(axis=1)
    target, near = others[every, first], closeness[every, first]
    inside = part[target] == part
    near[inside] = _NOT
    sizes = np.bincount(part)
    largest = sizes.argmax()
    best = np.full(len(sizes), _NOT, dtype=np.float32)
    np.maximum.at(best, part, near)
    unknown = np.flatnonzero(inside & (part != largest) & (closeness[:, -1] > best[part]))
    for start in range(0, len(unknown), _BLOCK):
        rows = unknown[start : start + _BLOCK]
        all_near = units[rows] @ units.T
        all_near[part[rows][:, None] == part] = _NOT
        target[rows] = others[rows, -1] = all_near.argmax(axis=1)
        near[rows] = closeness[rows, -1] = all_near[np.arange(len(rows)), target[rows]]
    order = np.lexsort((-near, part))
    chosen = np.delete(order[np.cumsum(sizes) - sizes], largest)
    return list(zip(chosen.tolist(), target[chosen].tolist(), strict=True))


class _Tree:
    """Groups that are joined, the closest pairs first, and those that had formed when they met others."""

    def __init__(self, count: int, least: int) -> None:
        self.found: list[list[int]] = []
        self._above = list(range(count))
        self._members: list[list[int] | None] = [[place] for place in range(count)]
        """By root; None of a group in which others have met."""
        self._least = least

    def join(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Make one group of all that these pairs connect, which are equally close."""
        meeting: dict[int, list[int]] = {}
        for one, other in pairs:
            first, second = _root(self._above, one), _root(self._above, other)
            here, there = meeting.pop(first, [first]), meeting.pop(second, [second])
            if len(here) < len(there):
                first, second, here, there = second, first, there, here
            self._above[second] = first
            here += there
            meeting[first] = here
        for root, roots in meeting.items():
            self._members[root] = self._met([self._members[each] for each in roots])

    def _met(self, groups: list[list[int] | None]) -> list[int] | None:
        formed = [group for group in groups if group is None or len(group) >= self._least]
        if len(formed) > 1:
            self.found += [group for group in formed if group is not None]
            return None
        if None in formed:
            return None
        whole, *rest = sorted((group for group in groups if group is not None), key=len, reverse=True)
        for group in rest:
            whole += group
        return whole


def _root(above: list[int], place: int) -> int:
    while above[place] != place:
        above[place] = above[above[place]]
        place = above[place]
    return place


# --- Joining mutual neighbours ----------------------------------------------------------------------------------------


def joined(units: Floats, least: int) -> list[list[int]]:
    """Groups, among two or more rows of length 1, of those that are each other's nearest neighbours."""
    import numpy as np

    others, closeness = _neighbours(units, NEIGHBOURS)
    first = closeness[:, 0]
    spread = float(first.std())
    loosest = min(CLOSE, max(float(first.mean()) - LOOSEST * spread, _ordinary(units)))
    # Each is among the other's nearest, or both say nearly the same: then there may be more of them than neighbours.
    mutual = closeness >= np.minimum(closeness[others, -1] - _SAME, CLOSE)
    ones, ranks = np.nonzero(mutual & (closeness >= loosest))
    twos = others[ones, ranks]
    order = np.lexsort((np.maximum(ones, twos), np.minimum(ones, twos), -closeness[ones, ranks]))
    forest = _Forest(len(units), least, SADDLE * spread)
    for at in order.tolist():
        forest.join(int(ones[at]), int(twos[at]), float(closeness[ones[at], ranks[at]]))
    return forest.groups()


def _ordinary(units: Floats) -> float:
    """How close two rows may be without that meaning anything, from the closeness of all pairs."""
    pairs = len(units) * (len(units) - 1)
    total, products = units.sum(axis=0), units.T @ units
    mean = (float(total @ total) - len(units)) / pairs
    square = (float((products * products).sum()) - len(units)) / pairs
    return float(mean + APART * max(0.0, square - mean * mean) ** 0.5)


class _Forest:
    """Groups that grow by being joined, the closest pairs first."""

    def __init__(self, count: int, least: int, saddle: float) -> None:
        self._above = list(range(count))
        self._size = [1] * count
        self._formed = [float("inf")] * count
        """How close the pair was that made a group large enough to be one; once it is."""
        self._least = least
        self._saddle = saddle

    def join(self, one: int, other: int, closeness: float) -> None:
        """Make one group of those of two rows, unless both are groups that are denser than what lies between them."""
        first, second = _root(self._above, one), _root(self._above, other)
        if first == second:
            return
        grown = [root for root in (first, second) if self._size[root] >= self._least]
        apart = len(grown) == 2 and min(self._formed[root] for root in grown) - closeness > self._saddle
        if apart and closeness < CLOSE:
            return
        keep, give = (first, second) if (self._size[first], second) >= (self._size[second], first) else (second, first)
        self._formed[keep] = max((self._formed[root] for root in grown), default=closeness)
        self._above[give] = keep
        self._size[keep] += self._size[give]

    def groups(self) -> list[list[int]]:
        """The groups that are large enough."""
        found: dict[int, list[int]] = {}
        for place in range(len(self._above)):
            found.setdefault(_root(self._above, place), []).append(place)
        return [group for group in found.values() if len(group) >= self._least]
