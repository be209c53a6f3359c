"""Clusters: groups of memories that lie close together in meaning, found by the machine and given readable labels.

`grouping` finds the groups among the vectors; here is which memories are grouped, and what the groups are called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from ..embed import Embedder
from ..errors import InvalidInput, Refused
from ..model import (
    LIVE,
    Cluster,
    Condition,
    Corpus,
    Entry,
    LinkKind,
    Memory,
    MemoryId,
    Op,
    Order,
    Regroup,
    Where,
    WordStatistics,
)
from ..policy.aftermath import NEAR, mergeable
from ..policy.query import index_words, telling_words
from ..policy.stem import stem
from ..policy.words import rarity
from ..store import Store
from .grouping import dense
from .parts import Parts, Ref

if TYPE_CHECKING:
    from ..store.contract import Floats

MOST = 100_000
"""So many memories, the newest, are compared with each other; older ones join the cluster whose centre is nearest."""
LABELLED = 200
"""How many members of a cluster its label is made from."""
WORDS = 3
"""How many words a label has at most."""
_LIKELY = 20
_TELLING_SHARE = 0.6
_CATCH_UP = 600.0
_PAGE = 2_000

_Groups = list[list[MemoryId]]
_Portion = Sequence[Sequence[MemoryId]]


def cluster(parts: Parts, store: Store, *, least: int) -> tuple[Cluster, ...]:
    """Group the live memories of a space anew, `least` at a time or more, and write it down if it has changed."""
    _check_least(least)
    wanted = planned_groups(store, _embedder(parts, store).model, least=least)
    there = tuple((each.label, _members(store, each)) for each in sorted(store.clusters(), key=lambda each: each.id))
    if wanted != there:
        store.apply([Regroup(clusters=wanted)], actor=parts.actor, now=parts.clock())
    return store.clusters()


def planned_groups(store: Store, embedder_model: str, *, least: int) -> tuple[tuple[str, tuple[MemoryId, ...]], ...]:
    """What `cluster` would write: a label and the members of each group, the largest first. Changes nothing.

    Only memories that have a vector of this model are grouped.
    """
    _check_least(least)
    groups = _grouped(store, embedder_model, least)
    portions = _portions(group[:LABELLED] for group in groups)
    labels = [label for portion in portions for label in _labels(store, portion)]
    return tuple((label, tuple(group)) for label, group in zip(labels, groups, strict=True))


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
    return _centres_of(store, model, {each.id: _members(store, each) for each in store.clusters()})


def _centres_of(store: Store, model: str, members: Mapping[int, Sequence[MemoryId]]) -> dict[int, tuple[Floats, float]]:
    centres = [centre for portion in _portions(members.values()) for centre in _centres(store, model, portion)]
    return {number: centre for number, centre in zip(members, centres, strict=True) if centre is not None}


def nearest_cluster(store: Store, model: str, vector: Floats) -> int | None:
    """The cluster whose centre a vector is nearest to, if it is about as close to it as members are."""
    return _nearest(centroids(store, model), vector)


def _nearest(centres: Mapping[int, tuple[Floats, float]], vector: Floats) -> int | None:
    near = ((float(vector @ centre), -number, reach) for number, (centre, reach) in centres.items())
    best = max(near, default=None)
    return -best[1] if best is not None and best[0] >= best[2] else None


def _members(store: Store, cluster: Cluster) -> tuple[MemoryId, ...]:
    """The live members of a cluster, in the order of ids."""
    return store.group(LinkKind.IN_CLUSTER, MemoryId(cluster.id), limit=cluster.size)[::-1]


def _centres(store: Store, model: str, groups: _Portion) -> Iterator[tuple[Floats, float] | None]:
    """The centre of each group and how close its members are to it; None where no member has a vector."""
    items, rows = store.vectors(model, corpus=Corpus.MEMORY, items=[each for group in groups for each in group])
    place = {item: at for at, item in enumerate(items)}
    for group in groups:
        places = [place[each] for each in group if each in place]
        yield _centre(rows[places]) if places else None


def _portions(groups: Iterable[Sequence[MemoryId]]) -> Iterator[_Portion]:
    """The same groups, several at a time: of thousands of small ones, each would be a reading of its own."""
    portion: list[Sequence[MemoryId]] = []
    for group in groups:
        portion.append(group)
        if sum(map(len, portion)) >= _PAGE:
            yield portion
            portion = []
    if portion:
        yield portion


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
    items, rows = _vectors(store, model, sorted(islice(numbers, MOST)))
    places = dense(rows, least)
    groups = [[items[at] for at in group] for group in places]
    if groups:
        known = [_centre(rows[group]) for group in places]
        del rows
        _join_older(store, model, numbers, groups, known)
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


def _join_older(
    store: Store, model: str, numbers: Iterator[MemoryId], groups: _Groups, known: Sequence[tuple[Floats, float]]
) -> None:
    """Put what was not compared with everything into the group whose centre is nearest, if it is near enough."""
    import numpy as np

    centres, reaches = np.stack([centre for centre, _ in known]), np.array([reach for _, reach in known])
    while older := list(islice(numbers, _PAGE)):
        items, rows = _vectors(store, model, older)
        closeness = rows @ centres.T
        best = closeness.argmax(axis=1)
        near = closeness[np.arange(len(items)), best] >= reaches[best]
        for item, group, fits in zip(items, best.tolist(), near.tolist(), strict=True):
            if fits:
                groups[group].append(item)


# --- Labels ---------------------------------------------------------------------------------------------------------


def _labels(store: Store, groups: _Portion) -> Iterator[str]:
    everyone = [each for group in groups for each in group]
    entries = {int(entry.of.id): entry for entry in store.entries(everyone, corpus=Corpus.MEMORY)}
    stems = {each for entry in entries.values() for each in entry.fields[0].split()}
    statistics = store.statistics(stems, corpus=Corpus.MEMORY)
    for group in groups:
        yield _label([entries[each] for each in group if each in entries], statistics)


def _label(entries: Sequence[Entry], statistics: WordStatistics) -> str:
    """The two or three words that tell a group from the rest, as they are mostly written there."""
    holding = Counter(each for entry in entries for each in set(entry.fields[0].split()))
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


# --- Between two clusterings ----------------------------------------------------------------------------------------


def refresh(parts: Parts, store: Store) -> int:
    """Let memories that came after the clustering join the cluster they belong to, and let near clusters become one.

    Clustering anew is the garden's. Those that stay as they are keep their numbers. Returns how many changed.
    """
    clusters = store.clusters()
    embedder = parts.meaning.serving(store, Corpus.MEMORY) if clusters else None
    if embedder is None:
        return 0
    before = {each.id: _members(store, each) for each in clusters}
    members = {number: list(each) for number, each in before.items()}
    centres = _centres_of(store, embedder.model, before)
    _join_loose(store, embedder.model, members, centres)
    for kept, gone in mergeable(_near_pairs(centres)):
        members[kept] += members.pop(gone)
    # What goes comes first, for no memory is in two.
    changes = [Regroup(clusters=(), first=number, last=number) for number in before if number not in members]
    for each in clusters:
        if each.id in members and len(members[each.id]) != len(before[each.id]):
            group = (each.label, tuple(sorted(members[each.id])))
            changes.append(Regroup(clusters=(group,), first=each.id, last=each.id))
    if changes:
        store.apply(changes, actor="agent", now=parts.clock())
    return len(changes)


def _join_loose(
    store: Store, model: str, members: dict[int, list[MemoryId]], centres: Mapping[int, tuple[Floats, float]]
) -> None:
    """The newest memories that are in no cluster, each to the nearest centre that it is as close to as members are."""
    settled = {number for each in members.values() for number in each}
    where = (Condition("status", Op.IN, tuple(sorted(LIVE))), Condition("owner", Op.EQ, ""))
    newest = store.query(where, order=Order(field="id"), limit=_LOOSE)
    items, rows = _vectors(store, model, [each.id for each in newest if each.id not in settled])
    for item, row in zip(items, rows, strict=True):
        chosen = _nearest(centres, row)
        if chosen is not None:
            members[chosen].append(item)


def _near_pairs(centres: Mapping[int, tuple[Floats, float]]) -> Iterator[tuple[int, int, float]]:
    """Clusters that may be near each other, two and two, and how close their centres are."""
    import numpy as np

    numbers = sorted(centres)
    every = np.stack([centres[number][0] for number in numbers]) if numbers else np.empty((0, 0))
    for at, number in enumerate(numbers):
        closeness = every[at + 1 :] @ every[at]
        for other in np.flatnonzero(closeness >= NEAR).tolist():
            yield number, numbers[at + 1 + other], float(closeness[other])


_LOOSE = 500
"""Of how many of the newest memories it is looked whether they belong to a cluster."""
