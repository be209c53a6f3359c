"""The regression budget: recall may get better and cheaper; this fails when it gets worse or dearer."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import recollect
from recollect import Recollect
from recollect.engine.parts import Clock
from recollect.evaluate import Report, evaluate
from recollect.evaluate.sets import Benchmark, Told, load_jsonl
from recollect.policy.tokens import estimate_tokens
from recollect.testing import FixedClock

HERE = Path(__file__).parent
BUDGET: dict[str, dict[str, float]] = tomllib.loads((HERE / "budget.toml").read_text(encoding="utf-8"))
HALVES = ("dev", "held")


@contextmanager
def _opened(clock: Clock) -> Iterator[Recollect]:
    with recollect.open(store="memory:", clock=clock, background=False) as memory:
        yield memory


@cache
def _set(half: str) -> Benchmark:
    return load_jsonl(HERE / half)


@cache
def _report(half: str) -> Report:
    return evaluate(_set(half), opener=_opened)


def _quality(half: str) -> dict[str, float]:
    report = _report(half)
    assert report.fresh_first is not None
    assert report.abstention is not None
    return {
        "recall_at_10": report.figures.mean.recall_10,
        "recall_at_5": report.figures.mean.recall_5,
        "mrr": report.figures.mean.mrr,
        "fresh_first": report.fresh_first.share,
        "abstained": report.abstention.abstained,
    }


@cache
def _cost() -> dict[str, float]:
    """What a question costs on average, in amounts that are the same on every machine."""
    work = next(each for each in _set("dev").collections if each.name.startswith("work"))
    clock = FixedClock(work.newest)
    found = []
    with _opened(clock) as memory:
        for item in work.items:
            assert isinstance(item, Told)
            memory.remember_many([item.draft])
        memory.embed_pending()
        found = [memory.recall(question.text) for question in work.questions]
    return {
        "tokens": fmean(sum(estimate_tokens(hit.memory.content) for hit in each) for each in found),
        "scored": fmean(each.scored for each in found),
        "read": fmean(each.read for each in found),
    }


@pytest.mark.row("J28", "quality")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("half", HALVES)
def test_recall_finds_what_it_found_before(half: str) -> None:
    """Quality on labelled questions about software work stays above its bounds."""
    for name, value in _quality(half).items():
        assert value >= BUDGET[half][name], f"{name} fell to {value:.3f}"
    abstention = _report(half).abstention
    assert abstention is not None
    assert abstention.wrongly <= BUDGET[half]["wrongly_empty"], f"wrongly empty rose to {abstention.wrongly:.3f}"


@pytest.mark.row("J28", "cost")
@pytest.mark.parametrize("amount", ["tokens", "scored", "read"])
def test_recall_costs_what_it_cost_before(amount: str) -> None:
    """Tokens returned, candidates weighed and memories read for a question stay below their bounds."""
    assert _cost()[amount] <= BUDGET["cost"][amount], f"{amount} rose to {_cost()[amount]:.1f}"


@pytest.mark.row("J28", "quality")
@pytest.mark.parametrize("half", HALVES)
def test_the_budget_fails_when_recall_gets_worse(half: str) -> None:
    """A ranking by words alone, which is what recall would fall back to, does not keep within the budget."""
    worse = evaluate(_set(half), opener=_opened, profile="words", gate=False)
    assert worse.figures.mean.recall_10 < BUDGET[half]["recall_at_10"]


def test_every_bound_is_a_real_one() -> None:
    """No bound is so loose that nothing could break it."""
    loose: list[Any] = [
        (part, name)
        for part in HALVES
        for name, bound in BUDGET[part].items()
        if (bound <= 0.05 and name != "wrongly_empty") or (name == "wrongly_empty" and bound >= 0.3)
    ]
    assert not loose
