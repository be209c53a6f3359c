"""Clusters: groups of memories that lie close together in meaning, found by the machine and given readable labels.

With the extra `clusters` HDBSCAN finds them. Without it, memories that are each among the other's nearest neighbours
are joined, the closest first, down to a closeness that follows from how close memories are in this model; two
groups that have formed by themselves are joined only where what lies between them is about as dense as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ..embed import Embedder
from ..errors import InvalidInput, Refused
from ..model import LIVE, Cluster, Condition, Corpus, Entry, LinkKind, Memory, MemoryId, Op, Order, Regroup, Where
from ..policy.query import index_words, telling_words
from ..policy.stem import stem
from ..policy.words import rarity
from ..store import Store
from .parts import Parts, Ref

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..store.contract import Floats

MOST = 20_000
"""So many memories, the newest, are compared with each other; older ones join the cluster whose centre is nearest."""
NEIGHBOURS = 3
"""How many nearest neighbours of a memory may be joined with it."""
LOOSEST = 0.5
"""How far below the mean closeness of nearest neighbours two may be and still be joined, in standard deviations."""
APART = 2.0
"""How far above the mean closeness of all pairs two must be to be joined, in standard deviations of that."""
CLOSE = 0.85
"""So close are two that say nearly the same, in any model and even where everything is about one thing."""
SADDLE = 0.25
"""How much less dense it may be between two groups than in them if they are to be one, in standard deviations."""
LABELLED = 200
"""How many members of a cluster its label is made from."""
WORDS = 3
"""How many words a label has at most."""
_LIKELY = 20
_TELLING_SHARE = 0.6
_CATCH_UP = 600.0
_PAGE = 2_000
_BLOCK = 512

_Groups = list[list[MemoryId]]


def cluster(parts: Parts, store: Store, *, least: int) -> tuple[Cluster, ...]:
    """Group the live memories of a space anew, `least` at a time or more, and write it down if it has changed."""
    _check_least(least)
    embedder = _embedder(parts, store)
    groups = _grouped(store, embedder.model, least)
    wanted = tuple((_label(store, group), tuple(group)) for group in groups)
    there = tuple(
        (each.label, tuple(memory.id for memory in store.members(each.id) if memory.active))
        for each in sorted(store.clusters(), key=lambda each: each.id)
    )
    if wanted != there:
        store.apply([Regroup(clusters=wanted)], actor=parts.actor, now=parts.clock())
    return store.clusters()


def cluster_of(parts: Parts, ref: Ref) -> Cluster | None:
    """The cluster a memory is in; of one that came after the clustering, the one it would belong to, if any."""
    store, memory = parts.find(ref)
    known = {each.id: each for each in store.clusters()}
    for link in store.links(memory.id, kinds=frozenset({LinkKind.IN_CLUSTER})):
        return known.get(int(link.target))
    if not memory.active or memory.owner:
        return None
    embedder = _embedder(parts, store)
    _, rows = store.vectors(embedder.model, corpus=Corpus.MEMORY, items=[memory.id])
    chosen = nearest_cluster(store, embedder.model, rows[0]) if len(rows) else None
    return None if chosen is None else known.get(chosen)


def centroids(store: Store, model: str) -> dict[int, tuple[Floats, float]]:
    """The centre of each cluster, a vector of length 1, and how close to it one must be to be like its members.

    Made from the members' vectors whenever asked for, so it is right whatever became of them.
    """
    found = {}
    for each in store.clusters():
        members = [memory.id for memory in store.members(each.id) if memory.active]
        _, rows = store.vectors(model, corpus=Corpus.MEMORY, items=members)
        if len(rows):
            found[each.id] = _centre(rows)
    return found


def nearest_cluster(store: Store, model: str, vector: Floats) -> int | None:
    """The cluster whose centre a vector is nearest to, if it is about as close to it as members are."""
    best = max(
        ((float(vector @ centre), -number, reach) for number, (centre, reach) in centroids(store, model).items()),
        default=None,
    )
    return -best[1] if best is not None and best[0] >= best[2] else None


def _check_least(least: object) -> None:
    if not isinstance(least, int) or isinstance(least, bool) or least < 2:
        raise InvalidInput("least", f"{least!r} is not a number of memories from 2 on")


def _embedder(parts: Parts, store: Store) -> Embedder:
    """The model whose vectors there are, with none missing that could be made."""
    meaning = parts.meaning
    if meaning.on:
        meaning.catch_up(store, Corpus.MEMORY, seconds=_CATCH_UP)
    embedder = meaning.serving(store, Corpus.MEMORY) if meaning.on else None
    if embedder is None:
        why = meaning.trouble or "the setting recall.search is fts5"
        raise Refused(f"clusters are made of vectors, and there are none: {why}")
    return embedder


def _centre(rows: Floats) -> tuple[Floats, float]:
    import numpy as np

    mean = rows.mean(axis=0)
    centre = mean / (float(np.linalg.norm(mean)) or 1.0)
    closeness = rows @ centre
    return centre, float(closeness.mean() - closeness.std())


# --- Grouping -------------------------------------------------------------------------------------------------------


def _grouped(store: Store, model: str, least: int) -> _Groups:
    """The groups, the largest first, each in the order of ids."""
    numbers = _lasting(store)
    newest = sorted(islice(numbers, MOST))
    items, rows = _vectors(store, model, newest)
    groups = [[items[at] for at in group] for group in _dense(rows, least)] if len(items) >= least else []
    if groups:
        _join_older(store, model, numbers, groups)
    return sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group))


def _lasting(store: Store) -> Iterator[MemoryId]:
    """The live memories that belong to no session or task, newest first, page by page."""
    lasting: Where = (Condition("status", Op.IN, tuple(sorted(LIVE))), Condition("owner", Op.EQ, ""))
    below: Where = ()
    while page := store.query((*lasting, *below), order=Order(field="id"), limit=_PAGE):
        yield from (memory.id for memory in page)
        below = (Condition("id", Op.LT, page[-1].id),)


def _vectors(store: Store, model: str, numbers: Sequence[MemoryId]) -> tuple[list[MemoryId], Floats]:
    """Those that have a vector which points somewhere, and the vectors."""
    import numpy as np

    items, rows = store.vectors(model, corpus=Corpus.MEMORY, items=numbers)
    there = np.flatnonzero(rows.any(axis=1))
    return [MemoryId(items[at]) for at in there], rows[there]


def _join_older(store: Store, model: str, numbers: Iterator[MemoryId], groups: _Groups) -> None:
    """Put what was not compared with everything into the group whose centre is nearest, if it is near enough."""
    import numpy as np

    older = list(islice(numbers, _PAGE))
    if not older:
        return
    known = [_centre(store.vectors(model, corpus=Corpus.MEMORY, items=group)[1]) for group in groups]
    centres, reaches = np.stack([centre for centre, _ in known]), np.array([reach for _, reach in known])
    while older:
        items, rows = _vectors(store, model, older)
        closeness = rows @ centres.T
        best = closeness.argmax(axis=1)
        near = closeness[np.arange(len(items)), best] >= reaches[best]
        for item, group, fits in zip(items, best.tolist(), near.tolist(), strict=True):
            if fits:
                groups[group].append(item)
        older = list(islice(numbers, _PAGE))


def _dense(rows: Floats, least: int) -> list[list[int]]:
    """Groups of rows that lie close together, by their places."""
    try:
        from sklearn.cluster import HDBSCAN
    except ImportError:
        return _joined(rows, least)
    # The leaves of the tree: the widest groups it can make hold half of everything.
    found = HDBSCAN(min_cluster_size=least, min_samples=1, cluster_selection_method="leaf", copy=True)
    groups: dict[int, list[int]] = {}
    for place, number in enumerate(found.fit_predict(rows.astype("float64")).tolist()):
        if number >= 0:
            groups.setdefault(number, []).append(place)
    return list(groups.values()) or _joined(rows, least)  # it sees no group where there is only one


def _joined(rows: Floats, least: int) -> list[list[int]]:
    import numpy as np

    units = rows / np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    others, closeness = _neighbours(units)
    first = closeness[:, 0]
    spread = float(first.std())
    loosest = min(CLOSE, max(float(first.mean()) - LOOSEST * spread, _ordinary(units)))
    # Each is among the other's nearest, or both say nearly the same: then there may be more of them than neighbours.
    mutual = closeness >= np.minimum(closeness[others, -1] - _SAME, CLOSE)
    ones, ranks = np.nonzero(mutual & (closeness >= loosest))
    twos = others[ones, ranks]
    order = np.lexsort((np.maximum(ones, twos), np.minimum(ones, twos), -closeness[ones, ranks]))
    forest = _Forest(len(rows), least, SADDLE * spread)
    for at in order.tolist():
        forest.join(int(ones[at]), int(twos[at]), float(closeness[ones[at], ranks[at]]))
    return forest.groups()


_SAME = 1e-6


def _ordinary(units: Floats) -> float:
    """How close two rows may be without that meaning anything, from the closeness of all pairs."""
    pairs = len(units) * (len(units) - 1)
    total, products = units.sum(axis=0), units.T @ units
    mean = (float(total @ total) - len(units)) / pairs
    square = (float((products * products).sum()) - len(units)) / pairs
    return float(mean + APART * max(0.0, square - mean * mean) ** 0.5)


def _neighbours(units: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The nearest neighbours of each row and how close they are, closest first; block by block, to save memory."""
    import numpy as np

    count = min(NEIGHBOURS, len(units) - 1)
    others = np.empty((len(units), count), dtype=np.intp)
    closeness = np.empty((len(units), count), dtype=np.float32)
    for start in range(0, len(units), _BLOCK):
        near = units[start : start + _BLOCK] @ units.T
        places = np.arange(len(near))
        near[places, start + places] = -2.0  # not its own neighbour
        best = np.argpartition(-near, count - 1, axis=1)[:, :count]
        found = np.take_along_axis(near, best, axis=1)
        order = np.lexsort((best, -found), axis=1)
        others[start : start + _BLOCK] = np.take_along_axis(best, order, axis=1)
        closeness[start : start + _BLOCK] = np.take_along_axis(found, order, axis=1)
    return others, closeness


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
        first, second = self._root(one), self._root(other)
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
            found.setdefault(self._root(place), []).append(place)
        return [group for group in found.values() if len(group) >= self._least]

    def _root(self, place: int) -> int:
        while self._above[place] != place:
            self._above[place] = self._above[self._above[place]]
            place = self._above[place]
        return place


# --- Labels ---------------------------------------------------------------------------------------------------------


def _label(store: Store, members: Sequence[MemoryId]) -> str:
    """The two or three words that tell a group from the rest, as they are mostly written there."""
    entries = store.entries(members[:LABELLED], corpus=Corpus.MEMORY)
    holding = Counter(each for entry in entries for each in set(entry.fields[0].split()))
    statistics = store.statistics(holding, corpus=Corpus.MEMORY)
    worth = {each: count * rarity(each, statistics) for each, count in holding.items() if len(each) > 1}
    # What several members say comes before what one of them says.
    likely = sorted(worth, key=lambda each: (holding[each] < 2, -worth[each], each))[:_LIKELY]
    spelled = _spelled(entries, frozenset(likely))
    chosen: dict[str, float] = {}
    for each in likely:
        word = spelled.get(each, "")
        if not _tells(word) or any(word in other or other in word for other in chosen):
            continue
        if len(chosen) == WORDS - 1 and worth[each] < _TELLING_SHARE * max(chosen.values()):
            break
        chosen[word] = worth[each]
        if len(chosen) == WORDS:
            break
    return ", ".join(chosen) or "memories"


def _tells(word: str) -> bool:
    # Beside a word that tells, one that only holds sentences together is left out.
    return bool(word) and not word.isdecimal() and word in telling_words((word, "…"))


def _spelled(entries: Sequence[Entry], stems: frozenset[str]) -> dict[str, str]:
    """For each stem the word under which it occurs most."""
    counts: dict[str, Counter[str]] = {each: Counter() for each in stems}
    for entry in entries:
        for word in index_words(entry.of.content if isinstance(entry.of, Memory) else ""):
            if stem(word) in counts:
                counts[stem(word)][word] += 1
    return {each: min(found, key=lambda word: (-found[word], word)) for each, found in counts.items() if found}
