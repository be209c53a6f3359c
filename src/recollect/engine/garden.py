"""The garden: the whole of a space looked over, and a plan of what to tidy.

Planning reads and writes nothing but the plan (and vectors that were missing). What the plan says is done by
`plans.perform`, step by step, and undone by `plans.undo`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..model import (
    Condition,
    Corpus,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Op,
    Plan,
    Status,
    Step,
    StepState,
)
from ..policy.compare import Said, Verdict, verdict
from ..policy.described import Described, described
from ..policy.garden import (
    STRENGTHENED,
    doubting,
    linking,
    mergeable,
    merging,
    regrouping,
    retagging,
    retiring,
    superseding,
    survivor,
    tag_spellings,
    weak,
)
from ..store import Store
from . import anchors, cluster, conflicts, plans
from .consolidate import Comparer, rule_of
from .neighbours import Pair, close_pairs, ordinary
from .parts import Parts
from .tending import live_memories
from .transfer import Progress

if TYPE_CHECKING:
    from ..store.contract import Floats

SORT = "garden"
COMPARED = 0.75
"""How close two memories must be to be compared at all."""
MOST_CLOSE = 0.92
"""Where everything is close to everything, this close is enough."""
RELATED = 0.85
"""How close two must be, each saying its own, to be linked."""
MOST_COMPARED = 4
"""With how many of the closest later ones a memory is compared."""
MOST_RELATED = 2
MOST_LINKS = 5_000
"""How many links of its own finding one plan proposes: what nobody reads back is wasted."""
TOGETHER = 3.0
"""How strongly two must have been recalled together for their link to grow."""
MEMBERS_AT_ONCE = 2_000
_CATCH_UP = 600.0
_PAGE = 2_000


class _Bed:
    """What one look at a space found, and the steps it comes to."""

    def __init__(self, parts: Parts, store: Store) -> None:
        self.parts = parts
        self.store = store
        self.now = parts.clock()
        self.memories = {memory.id: memory for memory in live_memories(store, Condition("owner", Op.EQ, ""))}
        self.refused = store.step_keys(frozenset({StepState.REFUSED}))
        for sort in _ONCE:
            self.refused |= store.step_keys(frozenset({StepState.DONE}), sort=sort)
        self.touched: set[MemoryId] = set()
        """Memories that a step changes; another step would find another version than it expects."""
        self.steps: list[Step] = []
        kinds = frozenset({LinkKind.RELATES_TO, LinkKind.CONTRADICTS, LinkKind.SUPERSEDES, LinkKind.DERIVED_FROM})
        self.linked: dict[frozenset[MemoryId], list[Link]] = {}
        self.links: dict[MemoryId, list[Link]] = {}
        for link in store.links(kinds=kinds):
            ends = frozenset((link.memory, MemoryId(int(link.target))))
            self.linked.setdefault(ends, []).append(link)
            for end in ends:
                self.links.setdefault(end, []).append(link)

    def free(self, *memories: Memory) -> bool:
        """Whether no step changes any of these memories yet."""
        return all(memory.id not in self.touched for memory in memories)

    def take(self, step: Step | None, *, changes: bool = True) -> bool:
        """Add a step, unless somebody has refused it before. Returns whether it was added."""
        if step is None or step.key in self.refused:
            return False
        self.steps.append(step)
        if changes:
            self.touched |= {number for number, _ in step.expects}
        return True


_ONCE = ("check", "strengthen")
"""Sorts of steps that the same evidence calls for only once."""


def make_plan(parts: Parts, store: Store, *, root: Path | None, clusters: bool, progress: Progress) -> Plan | None:
    """Look a space over and write down what to do about it; None where all is in order.

    A plan that was made before and is not finished gives way.
    """
    _set_aside(parts, store)
    bed = _Bed(parts, store)
    _compare_all(bed, progress)
    _find_weak(bed)
    if root is not None:
        _check_tree(bed, root, progress)
    _tidy_tags(bed)
    _strengthen(bed)
    if clusters:
        _regroup(bed)
    if not bed.steps:
        return None
    return plans.find_plan(store, plans.propose(parts, store, SORT, bed.steps))


def _set_aside(parts: Parts, store: Store) -> None:
    for plan in store.plans(limit=plans.LOOKED_BACK):
        if plan.sort == SORT and plan.states.get(StepState.PROPOSED):
            plans.drop(parts, store, plan.id)


def _compare_all(bed: _Bed, progress: Progress) -> None:
    """Merge what says the same, settle or mark what contradicts, link what is close."""
    items, rows = _vectors(bed)
    if len(items) < 2:
        return
    comparer = Comparer(bed.parts.meaning, rule_of(bed.parts.settings))
    settled = conflicts.settled(bed.store)
    same: list[tuple[Memory, Memory, float]] = []
    clashing: list[tuple[Said, Memory, Memory]] = []
    related: list[tuple[float, Memory, Memory]] = []
    least = min(MOST_CLOSE, max(COMPARED, ordinary(rows)))
    for pair in close_pairs(rows, least=least, most=MOST_COMPARED, progress=progress):
        older, newer = _in_time(bed.memories[items[pair.one]], bed.memories[items[pair.other]])
        says = comparer.said(older.content, newer.content, _known(comparer, pair))
        if says is Said.APART:
            if pair.cosine >= max(least, RELATED) and frozenset((older.id, newer.id)) not in bed.linked:
                related.append((pair.cosine, older, newer))
        elif says is Said.SAME:
            same.append((older, newer, pair.cosine))
        elif conflicts.pair_key(older, newer) not in settled:
            clashing.append((says, older, newer))
    _merge(bed, same)
    for says, older, newer in clashing:
        _contradiction(bed, comparer, says, older, newer)
    _relate(bed, related)


def _vectors(bed: _Bed) -> tuple[list[MemoryId], Floats]:
    import numpy as np

    meaning, store = bed.parts.meaning, bed.store
    if meaning.on:
        meaning.catch_up(store, Corpus.MEMORY, seconds=_CATCH_UP)
    embedder = meaning.serving(store, Corpus.MEMORY) if meaning.on else None
    if embedder is None:
        return [], np.empty((0, 0), dtype=np.float32)
    items, rows = store.vectors(embedder.model, corpus=Corpus.MEMORY)
    wanted = np.fromiter((item in bed.memories for item in items), dtype=bool, count=len(items))
    kept = np.flatnonzero(wanted & rows.any(axis=1))
    return [MemoryId(items[at]) for at in kept], rows[kept]


def _known(comparer: Comparer, pair: Pair) -> float | None:
    """How close two are as the comparer measures it, where that is what the pair says already."""
    return pair.cosine if comparer.measures_with_vectors else None


def _in_time(one: Memory, other: Memory) -> tuple[Memory, Memory]:
    older, newer = sorted((one, other), key=lambda memory: (memory.created_at, memory.id))
    return older, newer


def _contradiction(bed: _Bed, comparer: Comparer, says: Said, older: Memory, newer: Memory) -> None:
    """Propose that the newer takes the older one's place where that is plain; else mark that they contradict."""
    known = bed.linked.get(frozenset((older.id, newer.id)), ())
    if any(link.kind in (LinkKind.CONTRADICTS, LinkKind.SUPERSEDES) for link in known) or not bed.free(older, newer):
        return
    actor = bed.parts.actor
    found = verdict(says, older, newer, now=newer.created_at, rule=comparer.rule)
    if found is Verdict.SUPERSEDES:
        why = f"[id:{newer.ref}] is newer and says otherwise"
        bed.take(superseding(older, newer, why=why, actor=actor))
    elif found is Verdict.CONTRADICTS:
        why = "they cannot both hold, and it is not plain which does"
        step = linking(newer, older, LinkKind.CONTRADICTS, weight=1.0, sort="conflict", why=why, actor=actor)
        bed.take(step, changes=False)


def _merge(bed: _Bed, same: list[tuple[Memory, Memory, float]]) -> None:
    """Let the best of those that say the same stand for the others; only for those it was itself compared with."""
    partners: dict[MemoryId, dict[MemoryId, float]] = {}
    for one, other, cosine in same:
        partners.setdefault(one.id, {})[other.id] = cosine
        partners.setdefault(other.id, {})[one.id] = cosine
    similarity = bed.parts.settings.garden.similarity
    for number in sorted(partners, key=lambda number: (-len(partners[number]), number)):
        group = [bed.memories[each] for each in (number, *partners[number]) if each not in bed.touched]
        if len(group) < 2:
            continue
        kept = survivor(group)
        gone = [
            memory
            for memory in group
            if memory.id in partners[kept.id] and memory.status is not Status.PINNED and mergeable(kept, memory)
        ]
        if not gone:
            continue
        close = min(partners[kept.id][memory.id] for memory in gone)
        sort = "merge" if close >= similarity else "redundant"
        why = f"they say the same as [id:{kept.ref}] (closeness {close:.2f})"
        links = [link for memory in gone for link in bed.links.get(memory.id, ())]
        bed.take(merging(kept, gone, links, sort=sort, why=why, actor=bed.parts.actor))


def _relate(bed: _Bed, related: list[tuple[float, Memory, Memory]]) -> None:
    count: Counter[MemoryId] = Counter()
    made = 0
    for cosine, one, other in sorted(related, key=lambda each: (-each[0], each[1].id, each[2].id)):
        if made >= MOST_LINKS:
            break
        if max(count[one.id], count[other.id]) >= MOST_RELATED or not bed.free(one, other):
            continue
        why = f"they are close in meaning ({cosine:.2f})"
        step = linking(one, other, LinkKind.RELATES_TO, weight=cosine, sort="relate", why=why, actor=bed.parts.actor)
        if bed.take(step, changes=False):
            count[one.id] += 1
            count[other.id] += 1
            made += 1


def _find_weak(bed: _Bed) -> None:
    below, table = bed.parts.settings.garden.weak_confidence, bed.parts.kinds
    for memory in bed.memories.values():
        if bed.free(memory):
            bed.take(weak(memory, bed.now, below=below, table=table))


def _check_tree(bed: _Bed, root: Path, progress: Progress) -> None:
    """Look whether the working tree still has what memories mention."""
    tree = anchors.WorkingTree.read(root)
    for done, memory in enumerate(bed.memories.values(), start=1):
        if done % _PAGE == 0:
            progress(done, len(bed.memories))
        found = [each for each in anchors.check(memory, tree) if each.strong] if bed.free(memory) else []
        if not found:
            continue
        why = "; ".join(anchors.told(each) for each in found)
        lost = {each.mention.path for each in found if each.state == "gone" and each.mention.sort == "path"}
        gone = bool(memory.files) and lost.issuperset(memory.files) and memory.status is not Status.PINNED
        bed.take(retiring(memory, "gone", why) if gone else doubting(memory, why))


def _tidy_tags(bed: _Bed) -> None:
    spellings = tag_spellings(bed.store.tags())
    if spellings:
        for memory in bed.memories.values():
            if bed.free(memory):
                bed.take(retagging(memory, spellings))


def _strengthen(bed: _Bed) -> None:
    """Make the links heavier between what keeps being recalled together."""
    numbers = list(bed.memories)
    seen: set[frozenset[MemoryId]] = set()
    for start in range(0, len(numbers), _PAGE):
        for each in bed.store.together(numbers[start : start + _PAGE]):
            ends = frozenset((each.memory, each.other))
            one, other = bed.memories.get(each.memory), bed.memories.get(each.other)
            if each.strength < TOGETHER or ends in seen or one is None or other is None or not bed.free(one, other):
                continue
            seen.add(ends)
            step = _stronger(bed, one, other, each.strength)
            if step is not None:
                bed.take(step, changes=False)


def _stronger(bed: _Bed, one: Memory, other: Memory, strength: float) -> Step | None:
    there = [link for link in bed.linked.get(frozenset((one.id, other.id)), ()) if link.kind is LinkKind.RELATES_TO]
    weight = min(1.0, (there[0].weight if there else 1 - 1 / strength) + STRENGTHENED)
    if there and there[0].weight >= weight:
        return None
    if there and there[0].memory != one.id:
        one, other = other, one
    step = linking(
        one,
        other,
        LinkKind.RELATES_TO,
        weight=weight,
        sort="strengthen",
        why=f"they keep being recalled together (strength {strength:.1f})",
        actor=bed.parts.actor,
    )
    # Growing once more takes more recalls than it took before.
    return replace(step, key=f"{step.key} {int(strength)}")


def _regroup(bed: _Bed) -> None:
    meaning = bed.parts.meaning
    embedder = meaning.serving(bed.store, Corpus.MEMORY) if meaning.on else None
    if embedder is None:
        return
    wanted = cluster.planned_groups(bed.store, embedder.model, least=_LEAST)
    there = sorted(bed.store.clusters(), key=lambda each: each.id)
    now = tuple(
        (each.label, tuple(memory.id for memory in bed.store.members(each.id) if memory.active)) for each in there
    )
    if wanted != now:
        for step in regrouping(wanted, len(there), most=MEMBERS_AT_ONCE):
            bed.take(step, changes=False)


_LEAST = 3


def describe(store: Store, steps: Iterable[Step], now: datetime) -> Iterator[Described]:
    """The steps of a plan as a person reads them."""
    for step in steps:
        found = (_expected(store, number, version) for number, version in step.expects)
        yield described(step, {memory.id: memory for memory in found if memory is not None}, now)


def _expected(store: Store, number: MemoryId, version: int) -> Memory | None:
    """A memory as a step expects it; as it is now, where that version is not kept."""
    there = store.get(number)
    if there is None or there.version == version:
        return there
    return next((each.memory for each in store.history(number) if each.memory.version == version), there)
