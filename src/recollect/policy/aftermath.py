"""What serving memories teaches: which were of use together, what was missing, which label they have in common.

A retrieval knows what was found for a prompt and what of it was given. From that follow small changes, made later and
in batches: nothing here is done while somebody waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..model import LIVE, Change, Memory, MemoryId, Retag, Scope, Signals, Weigh
from .intent import Intent, own_words_of
from .query import query_words, telling_words
from .stem import stem

BOOST = 0.01
"""How much surer a memory is each time it is given to an agent."""
DECAY = 0.02
"""How much less sure each time a judge that read it found it of no use."""
MOST = 0.05
"""How far one batch may move a confidence."""
SHARERS = 3
"""How many memories must have a word of the prompt in common before it becomes their tag."""
_SHORTEST_TAG = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One retrieval as it ended."""

    wanted: Intent
    given: tuple[Memory, ...] = ()
    rejected: tuple[Memory, ...] = ()
    """Found, read by a judge, and found of no use; rules reject nobody."""
    found: int = 0
    """How many had anything to do with it."""


@dataclass(slots=True)
class Lessons:
    """What several retrievals taught, gathered until it is written."""

    weights: Counter[tuple[bool, MemoryId]] = field(default_factory=Counter)
    """By how many hundredths to move the confidence of each memory, by whether it is global."""
    tags: dict[tuple[bool, MemoryId], str] = field(default_factory=dict)
    served: int = 0

    def add(self, served: Served) -> None:
        """Learn from one more."""
        self.served += 1
        for memory in served.given:
            self.weights[_key(memory)] += round(100 * BOOST)
        for memory in served.rejected:
            self.weights[_key(memory)] -= round(100 * DECAY)
        for memory, tag in common_tag(served.wanted, served.given):
            self.tags.setdefault(_key(memory), tag)

    def changes(self, memories: Mapping[MemoryId, Memory], *, shared: bool) -> list[Change]:
        """What is to be written to one space, for memories that are still live there."""
        found: list[Change] = []
        for number, memory in memories.items():
            if memory.status not in LIVE:
                continue
            by = max(-MOST, min(MOST, self.weights[shared, number] / 100))
            after = max(0.0, min(1.0, memory.confidence + by))
            if abs(after - memory.confidence) >= BOOST / 2:
                found.append(Weigh(id=number, signals=Signals(confidence=after - memory.confidence), action="served"))
            tag = self.tags.get((shared, number))
            if tag and tag not in memory.tags:
                found.append(Retag(id=number, add=(tag,)))
        return found

    def touched(self, *, shared: bool) -> list[MemoryId]:
        """The memories of one space that it is about."""
        both = {*self.weights, *self.tags}
        return sorted(number for space, number in both if space is shared)


def is_gap(served: Served) -> bool:
    """Whether memory should have known something and did not: a question of its own, and nothing near it."""
    return not served.given and not served.wanted.idle and not served.wanted.points_back and not served.found


def common_tag(wanted: Intent, memories: Sequence[Memory]) -> list[tuple[Memory, str]]:
    """The word of the prompt that memories given for it have in common, if none of their tags says it yet."""
    if len(memories) < SHARERS:
        return []
    asked = {stem(word): word for word in own_words_of(wanted.query) if word.isalpha() and len(word) >= _SHORTEST_TAG}
    bags = [_stems(memory.content) for memory in memories]
    for root, word in asked.items():
        holders = [memory for memory, bag in zip(memories, bags, strict=True) if root in bag]
        tagged = any(stem(tag) == root for memory in memories for tag in memory.tags)
        if len(holders) >= SHARERS and not tagged:
            return [(memory, word) for memory in holders]
    return []


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in telling_words(query_words(text)))


def _key(memory: Memory) -> tuple[bool, MemoryId]:
    return memory.scope is Scope.GLOBAL, memory.id


def mergeable(near: Iterable[tuple[int, int, float]], *, least: float = 0.9) -> list[tuple[int, int]]:
    """The pairs of clusters that are close enough to be one, closest first, each cluster at most once."""
    taken: set[int] = set()
    pairs = []
    for one, other, close in sorted(near, key=lambda each: (-each[2], each[0], each[1])):
        if close >= least and not {one, other} & taken and one != other:
            taken |= {one, other}
            pairs.append((min(one, other), max(one, other)))
    return pairs
