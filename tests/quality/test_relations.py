"""What the rules for duplicates and contradictions must keep to, on pairs that were labelled by hand."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import pytest

from recollect.embed.static import StaticEmbedder
from recollect.engine.meaning import Meaning
from recollect.evaluate.relations import Judgement, judge_pairs, load_pairs

HERE = Path(__file__).parent
BUDGET: dict[str, dict[str, float]] = tomllib.loads((HERE / "relations" / "budget.toml").read_text(encoding="utf-8"))


@cache
def _judged(name: str) -> Judgement:
    return judge_pairs(load_pairs(HERE / "relations" / f"{name}.jsonl"), Meaning(StaticEmbedder, lambda model: None))


@pytest.mark.row("J23")
@pytest.mark.row("P14")
@pytest.mark.parametrize(("name", "figure"), [(name, figure) for name, bounds in BUDGET.items() for figure in bounds])
def test_precision_and_recall_hold(name: str, figure: str) -> None:
    measure, _, verdict = figure.partition("_")
    judged = _judged(name)
    found = (judged.precision if measure == "precision" else judged.recall)[verdict]
    assert found >= BUDGET[name][figure], f"{figure} of {name} is {found:.3f}"


def test_every_half_is_large_enough_to_say_something() -> None:
    assert sum(_judged(name).pairs for name in BUDGET) >= 300
    assert all(sum(found.values()) >= 15 for name in BUDGET for found in _judged(name).counts.values())
