"""How good an answer is: a ranking and what should be in it to numbers from 0 to 1, and numbers to averages.

A ranking is the ids of what was found, best first. Gold is the ids of what answers the question, never empty here;
a question that nothing answers is a matter of abstention, which `run` counts.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from statistics import fmean

RESAMPLES = 1_000
SEED = 20_260_101
CONFIDENCE = 0.95


def recall_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """The share of the gold that is among the first `k`."""
    return len(set(ranked[:k]) & set(gold)) / len(set(gold))


def ndcg_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain of the first `k`, each of which is either gold or not."""
    wanted = set(gold)
    gained = math.fsum(_discount(place) for place, item in enumerate(ranked[:k]) if item in wanted)
    return gained / math.fsum(map(_discount, range(min(k, len(wanted)))))


def _discount(place: int) -> float:
    return 1 / math.log2(place + 2)


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """One divided by the place of the first gold; 0 if there is none."""
    return next((1 / place for place, item in enumerate(ranked, start=1) if item in gold), 0.0)


def fresh_first(ranked: Sequence[str], gold: Collection[str], stale: Collection[str]) -> bool:
    """Whether gold was found, and before everything that is out of date."""
    return next((item in gold for item in ranked if item in gold or item in stale), False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How well one question was answered, or many on average. Shares are from 0 to 1."""

    recall_5: float
    recall_10: float
    recall_all_10: float
    """1 if all of the gold is among the first ten."""
    hit_10: float
    """1 if any of the gold is among the first ten."""
    ndcg_10: float
    mrr: float
    session_recall_5: float
    """The share of the gold documents that are among the first five documents, each counted once."""
    tokens: float
    """What a model spends on reading the first ten."""


def judge(ranked: Sequence[str], gold: Collection[str], *, documents: Mapping[str, str], tokens: float = 0.0) -> Score:
    """Judge one answer. An item that was found twice counts where it came first; one without a document is its own."""
    places = list(dict.fromkeys(ranked))
    found = recall_at(places, gold, 10)
    seen = list(islice(dict.fromkeys(documents.get(item, item) for item in places), 5))
    return Score(
        recall_5=recall_at(places, gold, 5),
        recall_10=found,
        recall_all_10=float(found == 1.0),
        hit_10=float(found > 0.0),
        ndcg_10=ndcg_at(places, gold, 10),
        mrr=reciprocal_rank(places, gold),
        session_recall_5=recall_at(seen, {documents.get(item, item) for item in gold}, 5),
        tokens=tokens,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The average over some questions, and between what the true recall@10 probably lies."""

    questions: int
    mean: Score
    interval: tuple[float, float]


def average(scores: Sequence[Score]) -> Figures:
    """The figures of at least one question."""
    columns = zip(*map(astuple, scores), strict=True)
    names = Score.__dataclass_fields__
    return Figures(
        questions=len(scores),
        mean=Score(**dict(zip(names, map(fmean, columns), strict=True))),
        interval=interval([score.recall_10 for score in scores]),
    )


def interval(values: Sequence[float], *, resamples: int = RESAMPLES, seed: int = SEED) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean: as many values drawn at random, with repetition, again and again.

    The same values give the same interval, in whatever order they come.
    """
    chance, held = random.Random(seed), sorted(values)
    means = [fmean(chance.choices(held, k=len(held))) for _ in range(resamples)]
    tail = (1 - CONFIDENCE) / 2
    return percentile(means, tail), percentile(means, 1 - tail)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of the values that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered) - 1e-9) - 1)]
