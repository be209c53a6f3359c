"""What serving memories teaches: which were of use together, what was missing, which label they have in common.

A retrieval knows what was found for a prompt and what of it was given. From that follow small changes, made later and
in batches: nothing here is done while somebody waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ..model import LIVE, Change, Memory, MemoryId, Retag, Scope, Signals, Status, Weigh
from .intent import Intent, own_words_of
from .query import query_words, telling_words
from .stem import stem

BOOST = 0.01
"""How much surer a memory is each time it is given to an agent."""
DECAY = 0.02
"""How much less sure each time a judge that read it found it of no use."""
MOST = 0.05
"""How far one batch may move a confidence."""
SUREST = {Status.CANDIDATE: 0.8, Status.CONFIRMED: 0.95, Status.PINNED: 0.95}
"""How sure being given makes a memory at most. That it was of use says little of whether it is true, and least of all
where nobody has confirmed it."""
LEAST_SURE = 0.3
"""How unsure being rejected makes it at most: what is of no use for some prompts is not wrong."""
SHARERS = 3
"""How many memories must have a word of the prompt in common before it becomes their tag."""
ENOUGH_TAGS = 5
"""A memory of so many tags gets no more by itself."""
NEAR = 0.9
"""How close the centres of two clusters must be for them to become one."""
_SHORTEST_TAG = 3
_HUNDRED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One retrieval as it ended."""

    wanted: Intent
    given: tuple[Memory, ...] = ()
    """What was given for the prompt's sake; not what is given in any case."""
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

    def add(self, served: Served) -> None:
        """Learn from one more."""
        for memory in served.given:
            self.weights[_key(memory)] += round(_HUNDRED * BOOST)
        for memory in served.rejected:
            self.weights[_key(memory)] -= round(_HUNDRED * DECAY)
        for memory, tag in common_tag(served.wanted, served.given):
            self.tags.setdefault(_key(memory), tag)

    def tag(self, memory: Memory, tag: str) -> None:
        """A memory is about this, says somebody who read it; what comes from its words comes first."""
        self.tags.setdefault(_key(memory), tag)

    def changes(self, memories: Mapping[MemoryId, Memory], *, shared: bool, tags: int = ENOUGH_TAGS) -> list[Change]:
        """What is to be written to one space, for memories that are still live there and may have so many tags.

        One change a memory at most, as each makes a version of it: whichever gets a tag is as sure as before.
        """
        found: list[Change] = []
        for number, memory in memories.items():
            if memory.status not in LIVE:
                continue
            tag = self.tags.get((shared, number))
            by = _moved(memory, self.weights[shared, number] / _HUNDRED)
            if tag and tag not in memory.tags and len(memory.tags) < min(tags, ENOUGH_TAGS):
                found.append(Retag(id=number, add=(tag,)))
            elif abs(by) >= BOOST / 2:
                found.append(Weigh(id=number, signals=Signals(confidence=by), action="served"))
        return found

    def touched(self, *, shared: bool) -> list[MemoryId]:
        """The memories of one space that it is about."""
        both = {*self.weights, *self.tags}
        return sorted(number for space, number in both if space is shared)


def _moved(memory: Memory, by: float) -> float:
    """By how much the confidence of a live memory is moved, where that much is called for."""
    step = max(-MOST, min(MOST, by))
    if step < 0:
        return -max(0.0, min(-step, memory.confidence - LEAST_SURE))
    return max(0.0, min(step, SUREST[memory.status] - memory.confidence))


def is_gap(served: Served) -> bool:
    """Whether memory should have known something and did not: a question of its own, and nothing near it."""
    return not served.given and not served.wanted.idle and not served.wanted.points_back and not served.found


def common_tag(wanted: Intent, memories: Sequence[Memory]) -> list[tuple[Memory, str]]:
    """The word of the prompt that most memories given for it have in common, if it names a thing and is no tag yet."""
    if len(memories) < SHARERS:
        return []
    bags = [_stems(memory.content) for memory in memories]
    tagged = {stem(tag) for memory in memories for tag in memory.tags}
    best: list[tuple[Memory, str]] = []
    for word in own_words_of(wanted.query):
        if _names(word) and stem(word) not in tagged:
            holders = [(memory, word) for memory, bag in zip(memories, bags, strict=True) if stem(word) in bag]
            best = max(best, holders, key=len)  # of as many holders, the word that comes first in the prompt
    return best if len(best) >= SHARERS else []


def _names(word: str) -> bool:
    """Whether a word of a prompt could be what something is about, rather than what is to be done about it."""
    return word.isalpha() and len(word) >= _SHORTEST_TAG and not word.endswith("ly") and stem(word) not in _no_tags()


_NO_TAGS = """
    use used using run fix add change update write read make create remove delete rename move copy open close start stop
    show list find search look check see say know think want need like prefer keep give take put set get let try help
    work call send return build implement refactor improve handle support allow prevent avoid ensure expect happen
    happens occur cause become seem mean live lives store stored keep happen begin end finish wait hold turn bring come
    leave break broke broken fail failed failing failure crash throw raise raised go goes went done listen talk belong
    contain include require depend follow apply replace switch enable disable configure install setup describe explain
    review decide choose pick convert merge split join load save
    never always often sometimes usually already still yet even ever again now then soon later today currently instead
    first second third last next previous before after since until once twice recent late early new old latest current
    good bad better best worse worst right wrong correct big small large long short high low fast slow slower quick same
    different similar other another many much several few lot less least more most whole entire full empty main real
    important possible able available necessary sure safe simple easy hard ready specific certain general common usual
    one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million
    zero half double single pair number count amount total
    second minute hour day week month year time date moment while monday tuesday wednesday thursday friday saturday
    sunday january february march april may june july august september october november december
    thing things stuff way ways case part piece kind sort type example reason point place line word name question answer
    problem issue idea bit side step result value default option people person someone somebody everyone everybody
    nobody user users team everything anything nothing something code file files folder project repo repository program
    script function method class module package variable bug error message text
    """
"""Words that requests are full of, whatever they are about. As tags, they would be on everything."""


@cache
def _no_tags() -> frozenset[str]:
    return frozenset(map(stem, _NO_TAGS.split()))


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in telling_words(query_words(text)))


def _key(memory: Memory) -> tuple[bool, MemoryId]:
    return memory.scope is Scope.GLOBAL, memory.id


def mergeable(near: Iterable[tuple[int, int, float]], *, least: float = NEAR) -> list[tuple[int, int]]:
    """The pairs of clusters that are close enough to be one, closest first, each cluster at most once."""
    taken: set[int] = set()
    pairs = []
    for one, other, close in sorted(near, key=lambda each: (-each[2], each[0], each[1])):
        if close >= least and not {one, other} & taken and one != other:
            taken |= {one, other}
            pairs.append((min(one, other), max(one, other)))
    return pairs
