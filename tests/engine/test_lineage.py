"""Where a memory came from and what came of it, walked from either end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

import recollect
from recollect import Recollect
from recollect.surfaces.cli.app import app
from recollect.testing import FixedClock

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Recollect]:
    (tmp_path / "project").mkdir()
    with recollect.open(tmp_path / "project", home=tmp_path / "home", clock=clock, background=False) as memory:
        yield memory


@pytest.mark.row("K13", "session")
def test_a_memory_leads_to_the_turn_that_it_came_from_and_to_what_else_came_of_it(memory: Recollect) -> None:
    """Session, task and narrative, each with its other memories."""
    memory.narratives.start("Move to pnpm")
    task = memory.tasks.create("Swap the package manager")
    session = memory.session("s1", agent="ada", host="claude-code")
    session.append("user", "Hello there")
    session.append("user", "No, use pnpm, never npm, in this repository.")
    session.append("assistant", "Understood, pnpm it is.")
    session.finalise()
    told = next(each for each in memory.list({}) if "pnpm" in each.content and each.kind != "summary")
    other = memory.remember("Lock files are committed", session="s1", task=task.id).memory

    chain = memory.lineage(told.ref)
    assert "never npm" in (chain.turns[0].content or "")
    made = {each.sort: each for each in chain.made_in}
    assert made.keys() == {"session", "narrative"}
    assert "3 turns on claude-code" in made["session"].title
    assert made["narrative"].title == "Move to pnpm"
    assert other.uid in {each.uid for each in made["session"].memories}
    back = {each.sort: each for each in memory.lineage(other.ref).made_in}
    assert back["task"].title == "Swap the package manager"
    assert told.uid in {each.uid for each in back["session"].memories}


@pytest.mark.row("K13", "session")
def test_the_chain_is_walked_in_both_directions(memory: Recollect, clock: FixedClock) -> None:
    """From the oldest to the newest and from the newest to the oldest, nearest first, each once."""
    notes = []
    for number in range(4):
        notes.append(memory.remember(f"Step {number}: a remark of its own kind, {'abcd'[number] * 9}").memory)
        clock.move(minutes=1)
    for newer, older in zip(notes[1:], notes, strict=False):
        memory.link(newer.ref, older.ref, kind="derived-from")
    memory.link(notes[0].ref, notes[3].ref, kind="derived-from")  # a circle has to end
    first, last = memory.lineage(notes[1].ref), memory.lineage(notes[2].ref)
    assert [(each.memory.ref, each.relation, each.steps) for each in first.before][:2] == [
        (notes[0].ref, "was made from", 1),
        (notes[3].ref, "was made from", 2),
    ]
    assert (first.after[0].memory.ref, first.after[0].relation) == (notes[2].ref, "led to")
    assert last.before[0].memory.ref == notes[1].ref
    assert len({each.memory.ref for each in first.before}) == len(first.before) == 3


def test_what_is_kept_elsewhere_is_named_all_the_same(memory: Recollect) -> None:
    """A session nobody recorded here, a task of another tool, and a transcript that cannot be read."""
    made = memory.remember("Odd", session="elsewhere", task="T-999", narrative="N-999").memory
    chain = memory.lineage(made.ref)
    assert [(each.sort, each.name, each.title) for each in chain.made_in] == [
        ("session", "elsewhere", ""),
        ("task", "T-999", ""),
        ("narrative", "N-999", ""),
    ]
    assert not chain.turns
    assert not (*chain.before, *chain.after)


@pytest.mark.row("K13", "session")
def test_show_walks_it(memory: Recollect, tmp_path: Path) -> None:
    """For people and for programs."""
    old = memory.remember("The cache lives in Redis").memory
    new = memory.remember("The cache lives in Valkey", session="s9").memory
    memory.link(new.ref, old.ref, kind="supersedes")
    flags = ["--project", str(tmp_path / "project"), "show", new.ref]
    told = CliRunner().invoke(app, flags, env={"RECOLLECT_HOME": str(tmp_path / "home")})
    assert "Made in session s9" in told.output
    assert f"took the place of [id:{old.ref}] The cache lives in Redis" in told.output
    read = CliRunner().invoke(app, [*flags, "--json"], env={"RECOLLECT_HOME": str(tmp_path / "home")})
    assert json.loads(read.output)["lineage"]["before"][0]["ref"] == old.ref


@pytest.mark.row("J25", "missed-sessions")
def test_the_garden_finishes_sessions_that_nobody_finished(memory: Recollect, clock: FixedClock) -> None:
    """What they came to is in memory afterwards, once; a session still going on is left alone."""
    memory.session("crashed").append("user", "No, use pnpm, never npm, in this repository.")
    clock.move(hours=3)
    memory.session("live").append("user", "No, use ruff, never flake8, in this repository.")
    memory.plans.make()
    kept = [each.content for each in memory.list({})]
    assert any("pnpm" in each for each in kept)
    assert not any("ruff" in each for each in kept)
    count = len(kept)
    clock.move(minutes=1)
    memory.plans.make()
    assert len(memory.list({})) == count
    clock.move(days=1)
    memory.plans.make()
    assert any("ruff" in each.content for each in memory.list({}))
