"""Whether a memory is worth interrupting a model for: a judgement of its own, stricter than that of a search.

A search may show what is perhaps of use; whoever reads it chooses. What is put into a prompt unasked has to be right,
or agents learn to look past it. So the probability that a memory helps is judged from more than how relevant it is:
also from how much of what the memory is about the prompt names, how rare the rarest word is that they share, and how
far the memory is behind the best one. The weights were fitted to labelled prompts (`recollect eval inject`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ..model import Hit, Memory, Why, WordStatistics
from .intent import Intent
from .occasions import governing, occasions
from .query import query_words, telling_words
from .relevance import MEMORIES
from .stem import stem
from .words import rarity

_LIKELY = 0.75
"""How sure it is that a rule helps with what it is a rule for, when the prompt asks for nothing else."""
_RULES = 2
"""How many rules on one thing there may be; more are about something narrower than what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Signs:
    """What speaks for a memory helping with a prompt, each from 0 to 1 but for the count."""

    words: float
    meaning: float
    behind: float
    """How much less relevant it is than the best one found."""
    named: float
    """How much of what the memory is about the prompt names, by weight of the words."""
    rarest: float
    """How rare the rarest word is that both have, as a share of how rare a word can be."""
    shared: int
    """How many telling words both have, up to six."""


_WEIGHTS = _Signs(words=4.33, meaning=8.10, behind=-4.95, named=5.68, rarest=1.97, shared=0)
_SHARED_WEIGHT = 0.115
_BIAS = -8.55
_MOST_SHARED = 6


def stems_needed(hits: Sequence[Hit], wanted: Intent) -> frozenset[str]:
    """The stems whose frequency the judgement asks for."""
    return frozenset().union(_stems(wanted.query), *(_stems(hit.memory.content) for hit in hits))


def worthwhile(hits: Sequence[Hit], wanted: Intent, among: WordStatistics, *, least: float) -> list[Hit]:
    """Those of the found memories that are sure enough to help, surest first, with how sure that is as relevance."""
    asked = _stems(wanted.query)
    best = max((hit.relevance for hit in hits), default=0.0)
    judged = [_judged(hit, _signs(hit, asked, best, among)) for hit in hits]
    return sorted((hit for hit in judged if hit.relevance >= least), key=lambda hit: -hit.relevance)


def rules_for(prompt: str, memories: Sequence[Memory]) -> list[Hit]:
    """The rules about the tools that an everyday request takes, though it names none of them."""
    found = list(governing(memories, occasions(prompt)))
    counts = Counter(occasion.name for _, occasion in found)
    return [
        Hit(memory=memory, score=_LIKELY, relevance=_LIKELY, why=(_because(occasion.name),))
        for memory, occasion in found
        if counts[occasion.name] <= _RULES
    ]


def _because(name: str) -> Why:
    return Why(factor="occasion", value=_LIKELY, detail=f"a rule about {name}")


@lru_cache(maxsize=256)  # each memory is judged twice for a prompt, and often again for the next
def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in telling_words(query_words(text)))


def _signs(hit: Hit, asked: frozenset[str], best: float, among: WordStatistics) -> _Signs:
    why = {each.factor: each.value for each in hit.why}
    theirs = _stems(hit.memory.content)
    weights = {word: rarity(word, among) for word in theirs}
    shared = theirs & asked
    most = math.log(1 + max(0.5, among.texts - 0.5) / 1.5)
    return _Signs(
        words=why.get("words", 0.0) / MEMORIES.words,
        meaning=why.get("meaning", 0.0) / MEMORIES.meaning,
        behind=best - hit.relevance,
        named=sum(weights[word] for word in shared) / (sum(weights.values()) or 1.0),
        rarest=min(1.0, max((weights[word] for word in shared), default=0.0) / most),
        shared=min(_MOST_SHARED, len(shared)),
    )


def _judged(hit: Hit, signs: _Signs) -> Hit:
    total = (
        _BIAS
        + _WEIGHTS.words * signs.words
        + _WEIGHTS.meaning * signs.meaning
        + _WEIGHTS.behind * signs.behind
        + _WEIGHTS.named * signs.named
        + _WEIGHTS.rarest * signs.rarest
        + _SHARED_WEIGHT * signs.shared
    )
    sure = 1 / (1 + math.exp(-total))
    told = f"names {signs.named:.0%} of it, shares {signs.shared} telling words, {signs.behind:.2f} behind the best"
    return replace(hit, relevance=sure, why=(*hit.why, Why(factor="helps", value=sure, detail=told)))
