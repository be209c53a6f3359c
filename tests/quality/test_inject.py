"""What memory must keep to when it speaks up unasked: to the point, silent where nothing helps, there where it does."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

import recollect
from recollect import Recollect
from recollect.engine.parts import Clock
from recollect.evaluate.speaking import BUILT_IN, Spoken, load_prompts, speak

BUDGET: dict[str, dict[str, float]] = tomllib.loads(
    Path(__file__).with_name("inject").joinpath("budget.toml").read_text(encoding="utf-8")
)
SLACK = 0.05
"""How far a figure may be above its bound before the bound says too little."""


@contextmanager
def _opened(clock: Clock) -> Iterator[Recollect]:
    with recollect.open(store="memory:", clock=clock, background=False) as memory:
        yield memory


@cache
def _spoken(name: str) -> Spoken:
    return speak(load_prompts(BUILT_IN / f"{name}.jsonl"), _opened)


@pytest.mark.row("X2", "gate", "precision")
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("name", "figure"), [(name, figure) for name, bounds in BUDGET.items() for figure in bounds])
def test_precision_silence_and_coverage_hold(name: str, figure: str) -> None:
    found = {"precision": _spoken(name).precision, "silence": _spoken(name).silence, "coverage": _spoken(name).coverage}
    assert found[figure] >= BUDGET[name][figure], f"{figure} of {name} fell to {found[figure]:.3f}"
    assert found[figure] <= BUDGET[name][figure] + SLACK, f"{figure} of {name} is {found[figure]:.3f}: raise its bound"


def test_both_sets_are_large_enough_to_say_something() -> None:
    """With prompts of each sort, those that nothing helps with among them."""
    assert set(BUDGET) == {file.stem for file in BUILT_IN.glob("*.jsonl")}
    for name in BUDGET:
        assert _spoken(name).prompts >= 200
        assert _spoken(name).given >= 50
        assert {"direct", "task", "near", "chat", "general"} <= set(_spoken(name).sorts)
