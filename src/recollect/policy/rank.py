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


@dataclass(frozen=True, slots=True)
class Factor:
    """One named influence on a memory's place: what it is worth, and, for those who ask, what that was made from."""

    name: str
    value: Callable[[WordMatch, Asking], float]
    detail: Callable[[WordMatch, Asking], str]


def last_used(memory: Memory) -> datetime:
    """The moment recency counts from: the last hit, else creation."""
    return memory.last_hit_at or memory.created_at


def _words_detail(match: WordMatch, asking: Asking) -> str:
    return ", ".join(sorted(match.counts, key=lambda word: (asking.statistics.holding.get(word, 0), word)))


def _recency_detail(match: WordMatch, asking: Asking) -> str:
    word = "last hit" if match.memory.last_hit_at else "created"
    return f"{word} {age_days(last_used(match.memory), asking.now):.0f} days ago"


WORDS = Factor(
    "words", lambda match, asking: word_relevance(match.counts, match.length, asking.statistics), _words_detail
)
SCORE = Factor(
    "score", lambda match, _: score_weight(match.memory.score), lambda match, _: f"score {match.memory.score:+d}"
)
RECENCY = Factor("recency", lambda match, asking: recency_weight(last_used(match.memory), asking.now), _recency_detail)


@dataclass(frozen=True, slots=True)
class Profile:
    """A named way to rank: the product of its factors."""

    name: str
    factors: tuple[Factor, ...]


KOSHI = Profile("koshi", (WORDS, SCORE, RECENCY))
"""BM25 times reinforcement times recency; the model that asks is the semantic layer."""

PROFILES: dict[str, Profile] = {KOSHI.name: KOSHI}


def rank(matches: Iterable[WordMatch], profile: Profile, *, asking: Asking, limit: int) -> tuple[Hit, ...]:
    """The best hits under a profile, each with its reasons. Equals are ordered newest first, then by uid."""
    scored = [(match, [factor.value(match, asking) for factor in profile.factors]) for match in matches]
    scored.sort(key=lambda each: (-math.prod(each[1]), -each[0].memory.created_at.timestamp(), each[0].memory.uid))
    return tuple(_hit(match, values, profile, asking) for match, values in scored[:limit])


def _hit(match: WordMatch, values: list[float], profile: Profile, asking: Asking) -> Hit:
    why = tuple(
        Why(factor=factor.name, value=value, detail=factor.detail(match, asking))
        for factor, value in zip(profile.factors, values, strict=True)
    )
    return Hit(memory=match.memory, score=math.prod(values), why=why)
