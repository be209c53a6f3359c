"""Where a memory comes in the results, and why.

A ranking profile is data: a name and its factors. Each factor is a pure function with a name, and a hit keeps the
value of each, so that a place can always be explained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..model import Hit, Memory, Why, WordMatch, WordStatistics

SCORE_STEP = 0.2
RECENCY_STEP = 0.01
_SCORE_LIMIT = 500
"""Beyond it, exp() would only tell infinities apart."""


def score_weight(score: int, *, step: float = SCORE_STEP) -> float:
    """What reinforcement is worth: 1 at score 0, 1.82 at 3, 0.37 at -5."""
    return math.exp(step * max(-_SCORE_LIMIT, min(_SCORE_LIMIT, score)))


def recency_weight(since: datetime, now: datetime, *, step: float = RECENCY_STEP) -> float:
    """What freshness is worth: 1 today, a half after a hundred days. A time in the future counts as today."""
    return 1 / (1 + step * age_days(since, now))


def age_days(since: datetime, now: datetime) -> float:
    """Days from then to now, never negative: a clock that was set back makes nothing younger than new."""
    return max(0.0, (now - since).total_seconds() / 86_400)


BM25_SATURATION = 1.2
BM25_LENGTH = 0.75


def word_relevance(counts: Mapping[str, int], length: int, statistics: WordStatistics) -> float:
    """BM25: how well a text of `length` words that holds words so often answers a question for them.

    The usual formula with the inverse document frequency of Lucene, which is never negative: in a young store, where
    every word is in half of the memories, the plain one would call everything worthless.
    """
    average = statistics.words / statistics.memories if statistics.memories else 1.0
    norm = BM25_SATURATION * (1 - BM25_LENGTH + BM25_LENGTH * length / max(average, 1.0))
    return math.fsum(
        word_rarity(statistics.holding.get(word, 0), statistics.memories)
        * (count * (BM25_SATURATION + 1) / (count + norm))
        for word, count in counts.items()
    )


def word_rarity(holding: int, memories: int) -> float:
    """What finding a word is worth when `holding` of all memories have it."""
    return math.log(1 + (max(memories, holding) - holding + 0.5) / (holding + 0.5))


def pooled(parts: Iterable[WordStatistics]) -> WordStatistics:
    """The statistics of several spaces taken as one, so that relevance in one compares with the other."""
    memories = words = 0
    holding: dict[str, int] = {}
    for part in parts:
        memories += part.memories
        words += part.words
        for word, count in part.holding.items():
            holding[word] = holding.get(word, 0) + count
    return WordStatistics(memories=memories, words=words, holding=holding)


@dataclass(frozen=True, slots=True)
class Asking:
    """What a ranking needs to know besides the memory: when it is asked, and the corpus it is asked of."""

    now: datetime
    statistics: WordStatistics


Factor = Callable[[WordMatch, Asking], Why]


def _words(match: WordMatch, asking: Asking) -> Why:
    rarest_first = sorted(match.counts, key=lambda word: (asking.statistics.holding.get(word, 0), word))
    relevance = word_relevance(match.counts, match.length, asking.statistics)
    return Why(factor="words", value=relevance, detail=", ".join(rarest_first))


def _score(match: WordMatch, asking: Asking) -> Why:
    return Why(factor="score", value=score_weight(match.memory.score), detail=f"score {match.memory.score:+d}")


def _recency(match: WordMatch, asking: Asking) -> Why:
    since = last_used(match.memory)
    days = age_days(since, asking.now)
    word = "last hit" if match.memory.last_hit_at else "created"
    return Why(factor="recency", value=recency_weight(since, asking.now), detail=f"{word} {days:.0f} days ago")


def last_used(memory: Memory) -> datetime:
    """The moment recency counts from: the last hit, else creation."""
    return memory.last_hit_at or memory.created_at


@dataclass(frozen=True, slots=True)
class Profile:
    """A named way to rank: the product of its factors."""

    name: str
    factors: tuple[Factor, ...]


KOSHI = Profile("koshi", (_words, _score, _recency))
"""BM25 times reinforcement times recency; the model that asks is the semantic layer."""

PROFILES: dict[str, Profile] = {KOSHI.name: KOSHI}


def rank(matches: Iterable[WordMatch], profile: Profile, *, asking: Asking, limit: int) -> tuple[Hit, ...]:
    """The best hits under a profile, each with its reasons. Equals are ordered newest first, then by uid."""
    hits = [_hit(match, profile, asking) for match in matches]
    hits.sort(key=lambda hit: (-hit.score, -hit.memory.created_at.timestamp(), hit.memory.uid))
    return tuple(hits[:limit])


def _hit(match: WordMatch, profile: Profile, asking: Asking) -> Hit:
    why = tuple(factor(match, asking) for factor in profile.factors)
    return Hit(memory=match.memory, score=math.prod(each.value for each in why), why=why)
