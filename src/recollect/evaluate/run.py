"""A labelled set through the real store and engine: load each collection, ask its questions, judge the answers.

Every collection gets an empty store, which whoever calls opens; the clock stands at the date of what is being told, and
then at the moment of each question. Nothing is asked before everything is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from statistics import fmean
from time import perf_counter
from typing import TypeAlias, TypeVar

from ..engine import Recollect
from ..engine.parts import Clock
from ..engine.transfer import Progress
from ..errors import EmbedderUnavailable
from ..model import Corpus, Json
from ..policy.tokens import estimate_tokens
from .measures import Figures, Score, average, fresh_first, interval, judge, percentile
from .sets import Benchmark, Collection, Filed, Question, Told

BASELINES = ("words", "vectors", "rrf")
"""Profiles that anybody could have written in an afternoon: BM25, cosine, and the two fused by their ranks."""
DEPTH = 50
"""How many results are asked for; fewer would not reach five sessions."""
READ = 10
"""How many of them are counted as read."""
_BATCH = 200

Opener: TypeAlias = Callable[[Clock], AbstractContextManager[Recollect]]
"""Opens a memory that holds nothing, lives by the given clock, and is gone afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long a search took, in milliseconds."""

    p50: float
    p95: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """The adversarial questions: what was found for them, and how many the gate answered with nothing."""

    figures: Figures
    abstained: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstention:
    """How well the gate tells what is known from what is not, in shares of the questions of each sort."""

    absent: int
    abstained: float
    """Rightly: of the questions that nothing answers."""
    answerable: int
    wrongly: float
    """Of the questions that something answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """In which share of the questions about what has changed the new came before all of the old."""

    questions: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A simple profile on the same questions, and how far ahead of it the chosen one is at recall@10."""

    figures: Figures
    ahead: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came out. `gate` says whether it was on for `figures`; `gated` are the figures with it, where both ran."""

    benchmark: str
    profile: str
    model: str
    gate: bool
    figures: Figures
    categories: Mapping[str, Figures]
    latency: Latency
    gated: Figures | None = None
    adversarial: Apart | None = None
    abstention: Abstention | None = None
    fresh_first: Freshness | None = None
    baselines: Mapping[str, Baseline] = field(default_factory=dict)


def evaluate(
    benchmark: Benchmark,
    *,
    opener: Opener,
    profile: str | None = None,
    gate: bool | None = None,
    compare: bool = False,
    progress: Progress = lambda done, total: None,
) -> Report:
    """Run a benchmark under a profile, or the one that the settings name.

    Without a word about the gate, the ranking is judged without it, and then once more with it. `compare` puts the
    same questions to the baselines, which have none.
    """
    passes = list(_passes(profile, gate, compare=compare))
    steps = sum(
        2 * len(each.items) + sum(one.asks(question) for one in passes for question in each.questions)
        for each in benchmark.collections
    )
    told = _Steps(progress, steps)
    answers: dict[str, list[_Answer]] = {each.name: [] for each in passes}
    model = ""
    for collection in benchmark.collections:
        clock = _Moment(collection.newest)
        with opener(clock) as memory:
            profile = profile or memory.settings.recall.profile
            for each in passes:  # what is wrong with a profile or the model is told before anything is loaded
                _search(memory, collection, collection.questions[0].text, each)
            model = _embedding(memory)
            names = _load(memory, clock, collection, told)
            _embedding(memory)
            _search(memory, collection, collection.questions[0].text, passes[0])  # the first one is always slow
            for each in passes:
                answers[each.name] += _ask(memory, clock, collection, names, each, told)
    return _report(benchmark, answers, profile=profile or "", model=model, gate=gate)


# --- Asking --------------------------------------------------------------------------------------------------------

_RANKED, _GATED = "", "gated"


@dataclass(frozen=True, slots=True)
class _Pass:
    """One round of questions: under which profile, with or without the gate, and which ones."""

    name: str
    profile: str | None
    gate: bool

    def asks(self, question: Question) -> bool:
        if self.name in BASELINES:
            return question.counted
        return self.gate or bool(question.gold)


def _passes(profile: str | None, gate: bool | None, *, compare: bool) -> Iterator[_Pass]:
    yield _Pass(_RANKED, profile, bool(gate))
    if gate is None:
        yield _Pass(_GATED, profile, True)
    if compare:
        yield from (_Pass(name, name, False) for name in BASELINES)


@dataclass(frozen=True, slots=True)
class _Answer:
    question: Question
    score: Score | None
    """None where nothing answers the question, so that no ranking of it is better than another."""
    fresh: bool
    empty: bool
    seconds: float


class _Moment:
    """The clock of a store that is being told things and asked."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class _Steps:
    """Counts what was done and passes it on."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self.done, self._total = progress, 0, total

    def reach(self, done: int) -> None:
        if done > self.done:
            self.done = done
            self._progress(done, self._total)


_Key: TypeAlias = str | tuple[str, int]
"""What the engine knows an item by: a memory's uid, or a passage's document and position."""


@dataclass(frozen=True, slots=True)
class _Names:
    """The way from what the engine found back to the ids of the set."""

    ids: Mapping[_Key, str]
    same: Mapping[str, str] = field(default_factory=dict)
    """Memories that say the same are one memory, known by the id of the first."""

    def gold(self, ids: Sequence[str]) -> frozenset[str]:
        return frozenset(self.same.get(each, each) for each in ids)

    def ranked(self, found: Sequence[tuple[_Key, str]]) -> list[str]:
        """What is none of the set's takes its place all the same."""
        return [self.ids.get(key, str(key)) for key, _ in found]


def _load(memory: Recollect, clock: _Moment, collection: Collection, told: _Steps) -> _Names:
    memories = [item for item in collection.items if isinstance(item, Told)]
    passages = [item for item in collection.items if isinstance(item, Filed)]
    ids: dict[_Key, str] = {}
    same: dict[str, str] = {}
    for at, group in groupby(sorted(memories, key=lambda item: item.at), key=lambda item: item.at):
        clock.now = at
        for batch in _batches(list(group)):
            for item, stored in zip(batch, memory.remember_many([each.draft for each in batch]), strict=True):
                same[item.id] = ids.setdefault(stored.memory.uid, item.id)
            told.reach(told.done + len(batch))
    clock.now = collection.newest
    for filed in _batches(passages):
        memory.file_passages(item.passage for item in filed)
        ids |= {(item.passage.document, item.passage.position): item.id for item in filed}
        told.reach(told.done + len(filed))
    before = told.done
    memory.embed_pending(progress=lambda done, total: told.reach(before + done))
    told.reach(before + len(collection.items))
    return _Names(ids, same)


def _embedding(memory: Recollect) -> str:
    """The model whose vectors are searched. Where not all are there, figures would be of something else."""
    overview, model = memory.status(), memory.settings.embed.model
    if overview.search == "words":
        return "none"
    if overview.trouble or any(each.done < each.total for each in overview.vectors):
        raise EmbedderUnavailable(model, "not everything could be given a vector", hint=" ".join(overview.trouble))
    return model


_Item = TypeVar("_Item")


def _batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


def _ask(
    memory: Recollect, clock: _Moment, collection: Collection, names: _Names, run: _Pass, told: _Steps
) -> Iterator[_Answer]:
    documents, newest = collection.documents, collection.newest
    for question in filter(run.asks, collection.questions):
        clock.now = question.asked or newest
        start = perf_counter()
        found = _search(memory, collection, question.text, run)
        seconds = perf_counter() - start
        ranked, gold = names.ranked(found), names.gold(question.gold)
        tokens = sum(estimate_tokens(text) for _, text in found[:READ])
        yield _Answer(
            question,
            judge(ranked, gold, documents=documents, tokens=tokens) if gold else None,
            fresh_first(ranked, gold, names.gold(question.stale)),
            not found,
            seconds,
        )
        told.reach(told.done + 1)


def _search(memory: Recollect, collection: Collection, text: str, run: _Pass) -> list[tuple[_Key, str]]:
    """What is found, as the engine's key and the text that would be read."""
    corpus = collection.corpus
    if corpus is Corpus.MEMORY:
        hits = memory.recall(text, limit=DEPTH, profile=run.profile, gate=run.gate)
        return [(hit.memory.uid, hit.memory.content) for hit in hits]
    excerpts = memory.search_passages(text, corpus=corpus, limit=DEPTH, profile=run.profile, gate=run.gate)
    passages = [excerpt.passage for excerpt in excerpts]
    return [((each.document, each.position), each.reading) for each in passages]


# --- Counting up ---------------------------------------------------------------------------------------------------


def _report(
    benchmark: Benchmark, answers: Mapping[str, Sequence[_Answer]], *, profile: str, model: str, gate: bool | None
) -> Report:
    ranked = answers[_RANKED]
    gated = answers.get(_GATED, ranked if gate else None)
    counted = _scores(ranked)
    return Report(
        benchmark=benchmark.name,
        profile=profile,
        model=model,
        gate=bool(gate),
        figures=average(counted),
        categories={
            name: average(_scores(ranked, name))
            for name in dict.fromkeys(each.question.category for each in ranked if each.question.counted)
            if name
        },
        latency=Latency(
            p50=percentile([each.seconds * 1_000 for each in ranked], 0.5),
            p95=percentile([each.seconds * 1_000 for each in ranked], 0.95),
        ),
        gated=average(_scores(answers[_GATED])) if _GATED in answers else None,
        adversarial=_adversarial(ranked, gated),
        abstention=_abstention(gated or ()),
        fresh_first=_freshness(ranked),
        baselines={name: _baseline(counted, _scores(answers[name])) for name in BASELINES if name in answers},
    )


def _scores(answers: Sequence[_Answer], category: str | None = None) -> list[Score]:
    """The scores that count, of one category or of all."""
    return [
        each.score
        for each in answers
        if each.score and each.question.counted and category in (None, each.question.category)
    ]


def _adversarial(ranked: Sequence[_Answer], gated: Sequence[_Answer] | None) -> Apart | None:
    scores = [each.score for each in ranked if each.score and each.question.apart]
    if not scores:
        return None
    empty = [each.empty for each in gated or () if each.question.apart]
    return Apart(figures=average(scores), abstained=fmean(empty) if empty else None)


def _abstention(gated: Sequence[_Answer]) -> Abstention | None:
    absent = [each.empty for each in gated if not each.question.gold]
    answerable = [each.empty for each in gated if each.question.counted]
    if not absent:
        return None
    return Abstention(
        absent=len(absent), abstained=fmean(absent), answerable=len(answerable), wrongly=fmean(answerable)
    )


def _freshness(ranked: Sequence[_Answer]) -> Freshness | None:
    fresh = [each.fresh for each in ranked if each.question.counted and each.question.stale]
    return Freshness(questions=len(fresh), share=fmean(fresh)) if fresh else None


def _baseline(chosen: Sequence[Score], simple: Sequence[Score]) -> Baseline:
    """Question by question: where both find the same, chance has no say in which is ahead."""
    ahead = [ours.recall_10 - theirs.recall_10 for ours, theirs in zip(chosen, simple, strict=True)]
    return Baseline(figures=average(simple), ahead=fmean(ahead), interval=interval(ahead))


# --- For programs --------------------------------------------------------------------------------------------------


def report_json(report: Report) -> dict[str, Json]:
    """A report as programs read it; shares are from 0 to 1, and what the set has no questions for is left out."""
    data: dict[str, Json] = {
        "benchmark": report.benchmark,
        "profile": report.profile,
        "model": report.model,
        "gate": report.gate,
        **_figures_json(report.figures),
        "interval": _pair(report.figures.interval),
        "categories": {name: _figures_json(each) for name, each in report.categories.items()},
        "baselines": {name: _baseline_json(each) for name, each in report.baselines.items()},
        "latency_ms": {"p50": round(report.latency.p50, 3), "p95": round(report.latency.p95, 3)},
    }
    if report.gated:
        data["gated"] = _figures_json(report.gated)
    if report.adversarial:
        abstained = report.adversarial.abstained
        data["adversarial"] = {
            **_figures_json(report.adversarial.figures),
            **({} if abstained is None else {"abstained": round(abstained, 4)}),
        }
    if told := report.abstention:
        data["abstention"] = {
            "questions": told.absent,
            "abstained": round(told.abstained, 4),
            "answerable": told.answerable,
            "wrongly_abstained": round(told.wrongly, 4),
        }
    if fresh := report.fresh_first:
        data["fresh_first"] = {"questions": fresh.questions, "share": round(fresh.share, 4)}
    return data


def _figures_json(figures: Figures) -> dict[str, Json]:
    mean = figures.mean
    return {
        "questions": figures.questions,
        "recall@5": round(mean.recall_5, 4),
        "recall@10": round(mean.recall_10, 4),
        "recall_all@10": round(mean.recall_all_10, 4),
        "hit@10": round(mean.hit_10, 4),
        "ndcg@10": round(mean.ndcg_10, 4),
        "mrr": round(mean.mrr, 4),
        "session": {"recall@5": round(mean.session_recall_5, 4)},
        "tokens": round(mean.tokens, 1),
    }


def _baseline_json(baseline: Baseline) -> dict[str, Json]:
    return {
        **_figures_json(baseline.figures),
        "ahead": round(baseline.ahead, 4),
        "ahead_interval": _pair(baseline.interval),
    }


def _pair(ends: tuple[float, float]) -> list[Json]:
    return [round(end, 4) for end in ends]
