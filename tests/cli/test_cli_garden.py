"""The garden from the command line: planned, looked at, carried out, refused, undone; by people and by programs."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Cli, standing_in_a_project, surroundings

import recollect
from recollect import Origin, Scope
from recollect.testing import FixedClock

SAME = ("Deploys go out from the main branch on Tuesdays", "On Tuesdays deploys go out from the main branch")
TABS, NO_TABS = "Use tabs for indentation in Go files", "Do not use tabs for indentation in Go files"
FLAKY = "Flaky suites are retried once"
SORTS = {"conflict", "merge", "gone", "tags"}
STEP_KEYS = {"number", "sort", "state", "why", "before", "after", "retires"}
PLAN_KEYS = {"id", "sort", "made_at", "made_by", "live", "states", "retires"}
CARRIED_KEYS = {"faults", "plan", "done", "outdated", "waiting", "undone", "kept"}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


def plant(cli: Cli, scope: Scope = Scope.PROJECT) -> None:
    """Two that say the same, two that contradict, a tag that is misspelt, a file that is gone."""
    with recollect.open(
        cli.folder,
        clock=FixedClock(datetime.now(UTC)),
        origin=Origin.USER_STATED,
        background=False,
        settings={"consolidate.batch_limit": 0},
    ) as memory:
        for text in (*SAME, TABS, NO_TABS):
            memory.remember(text, scope=scope)
        for text in ("Tests need a fresh database", "Test data is made by factories"):
            memory.remember(text, scope=scope, tags=["test"])
        memory.remember(FLAKY, scope=scope, tags=["tests"])
        memory.remember("Reports are written there", scope=scope, files=["src/report.py"])


@pytest.fixture
def overgrown(cli: Cli) -> Cli:
    plant(cli)
    return cli


@pytest.fixture
def planned(overgrown: Cli) -> Cli:
    """With a plan that is there to be applied."""
    overgrown.ok("garden", "plan", "--no-clusters")
    return overgrown


def steps_of(cli: Cli, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli.ok("garden", "show", "--json", *words).json["steps"]
    return found


def number_of(cli: Cli, sort: str) -> str:
    [number] = [step["number"] for step in steps_of(cli) if step["sort"] == sort]
    return str(number)


def status_of(cli: Cli, ref: str) -> str:
    status: str = cli.ok("show", ref, "--json").json["status"]
    return status


def everything(cli: Cli) -> list[dict[str, Any]]:
    """Every memory with its links and its past."""
    refs = [each["ref"] for each in cli.ok("list", "--all", "--json").json]
    return [cli.ok("show", ref, "--json").json for ref in refs]


def on_a_terminal(cli: Cli, *words: str, typed: str = "") -> tuple[int, str]:
    """The exit status of a command, and what somebody sees who types this before a terminal."""
    leader, follower = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "recollect", *words],
        cwd=cli.folder,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=surroundings(TERM="dumb"),
    )
    os.close(follower)
    os.write(leader, typed.encode())
    said = b""
    with suppress(OSError):  # Linux says that the other end is gone in this way
        while piece := os.read(leader, 65_536):
            said += piece
    os.close(leader)
    return running.wait(timeout=60), said.decode()


# Planning


@pytest.mark.row("J25", "by-hand")
@pytest.mark.row("X4", "plan")
def test_plan_tells_what_would_be_done_and_does_nothing(overgrown: Cli) -> None:
    """How many steps of which sort, what would leave recall, each step with before and after, and what to do next."""
    before = everything(overgrown)
    out = overgrown.ok("garden", "plan").out
    first, *rest = out.splitlines()
    assert first.startswith("Plan 1: ")
    assert first.endswith("; 2 memories would leave recall.")
    assert "merges 1" in first
    assert f"    - [id:1] {SAME[0]}" in rest
    assert "    + [id:2] status: confirmed → superseded" in rest
    assert "    + [id:7] tags: tests → test" in rest
    assert rest[-1] == "`recollect garden apply` carries it out; what would leave recall waits for your yes."
    assert everything(overgrown) == before


def test_a_plan_for_programs(overgrown: Cli) -> None:
    """The plan and its steps, with every field by name."""
    told = overgrown.ok("garden", "plan", "--no-clusters", "--json").json
    assert set(told) == {"plan", "steps"}
    assert set(told["plan"]) == PLAN_KEYS
    assert (told["plan"]["made_by"], told["plan"]["states"]) == ("user", {"proposed": 4})
    assert {step["sort"] for step in told["steps"]} == SORTS
    assert all(set(step) == STEP_KEYS for step in told["steps"])
    assert steps_of(overgrown) == told["steps"]


def test_where_all_is_in_order_that_is_said(cli: Cli) -> None:
    """To people, to programs and in a file."""
    cli.ok("remember", "Tests run on two cores")
    assert cli.ok("garden", "plan", "--out", "plan.md").out == "All is in order.\n"
    assert (cli.folder / "plan.md").read_text() == "All is in order.\n"
    assert cli.ok("garden", "plan", "--json").json == {"plan": None, "steps": []}
    assert cli.ok("garden", "list").out == "No plans yet.\n"


def test_clusters_are_left_out_when_asked(overgrown: Cli) -> None:
    """With them there may be more steps, never fewer."""
    every = {step["sort"] for step in overgrown.ok("garden", "plan", "--json").json["steps"]}
    assert every - {"clusters"} == SORTS
    left = {step["sort"] for step in overgrown.ok("garden", "plan", "--no-clusters", "--json").json["steps"]}
    assert left == SORTS


@pytest.mark.row("X4", "plan")
def test_a_plan_can_be_read_in_a_file(overgrown: Cli) -> None:
    """All of it, in Markdown: a heading for each step, what is before, what would be after."""
    overgrown.ok("garden", "plan", "--no-clusters", "--out", "plan.md")
    text = (overgrown.folder / "plan.md").read_text(encoding="utf-8")
    assert text.startswith("# Garden plan 1\n\n4 steps; 2 of 8 live memories would leave recall, none is deleted.\n")
    for step in steps_of(overgrown):
        assert f"\n## {step['number']}. {step['sort']}: {step['why']}\n" in text
        for title in ("before", "after"):
            assert all(f"\n- {title}: {line}\n" in text for line in step[title])


def test_nothing_in_a_memory_can_fake_a_line_of_the_plan(cli: Cli) -> None:
    """Neither on the screen nor in the file."""
    forged = "Reports are there\n## 9. merge: all is well\n1. weak: gone\x1b[31m"
    with recollect.open(cli.folder, background=False) as memory:
        memory.remember(forged, files=["src/report.py"])
    out = cli.ok("garden", "plan", "--out", "plan.md").out
    text = (cli.folder / "plan.md").read_text(encoding="utf-8")
    assert "\x1b" not in out + text
    assert not [line for line in (out + text).splitlines() if line.startswith(("## 9.", "1. weak"))]


def test_a_file_that_cannot_be_written_is_told(overgrown: Cli) -> None:
    """With the status for it, and the plan is there all the same."""
    done = overgrown("garden", "plan", "--no-clusters", "--out", "nowhere/plan.md")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("Error: nowhere/plan.md: ")
    assert {step["sort"] for step in steps_of(overgrown)} == SORTS


# Looking


def test_show_tells_every_step_of_a_plan(planned: Cli) -> None:
    """The newest plan, or the one that is named."""
    out = planned.ok("garden", "show").out
    assert out == planned.ok("garden", "show", "1").out
    assert out.startswith("Plan 1: 4 steps (")
    for step in steps_of(planned):
        assert f"\n{step['number']}. {step['sort']}: {step['why']}\n" in out
        assert all(f"\n    - {line}\n" in out for line in step["before"])
        assert all(f"\n    + {line}\n" in out for line in step["after"])
    planned.ok("garden", "apply")
    assert "tags [done]: " in planned.ok("garden", "show").out


def test_more_than_a_few_steps_are_shown_on_request(cli: Cli) -> None:
    """The first ten, and how to see the others."""
    with recollect.open(cli.folder, background=False) as memory:
        for number in range(12):
            memory.remember(f"Suite number {number} is flaky", tags=["tests"])
        for number in range(13):
            memory.remember(f"Factory number {number} is fast", tags=["test"])
    out = cli.ok("garden", "plan", "--no-clusters").out
    steps = steps_of(cli)
    assert len(steps) >= 12
    assert f"… and {len(steps) - 10} more: `recollect garden show 1`" in out.splitlines()
    shown = cli.ok("garden", "show", "1").out
    assert all(f"\n{step['number']}. " in shown for step in steps)


def test_a_plan_that_was_carried_out_tells_what_it_did(planned: Cli) -> None:
    """The same as before, but for where its steps stand."""
    before = steps_of(planned)
    planned.ok("garden", "apply", "--yes")
    assert steps_of(planned) == [step | {"state": "done"} for step in before]


def test_list_names_the_plans_newest_first(planned: Cli) -> None:
    """Those of the garden and those that settled a conflict alike."""
    planned.ok("garden", "apply")
    planned.ok("conflicts", "resolve", "3", "4", "--keep", "4")
    rows = [line.split("\t") for line in planned.ok("garden", "list").out.splitlines()]
    assert [(row[0], row[1], row[3], row[4]) for row in rows] == [
        ("2", "conflict", "user", "done 1"),
        ("1", "garden", "user", "done 2, proposed 2"),
    ]
    told = planned.ok("garden", "list", "--json").json
    assert [set(each) for each in told] == [PLAN_KEYS, PLAN_KEYS]
    assert [each["id"] for each in told] == [2, 1]
    assert planned.ok("garden", "show").out.startswith("Plan 1: ")
    assert planned.ok("garden", "show", "2").out.startswith("Plan 2: 1 steps (resolve 1)")


# Carrying out


@pytest.mark.row("J25", "confirm")
def test_without_a_terminal_what_would_leave_recall_waits(planned: Cli) -> None:
    """The rest is done, and how to say yes is told."""
    out = planned.ok("garden", "apply").out
    assert out == (
        "Plan 1: 2 steps done; 2 wait for your yes: `recollect garden apply --yes`. "
        "`recollect garden undo 1` undoes it.\n"
    )
    assert [status_of(planned, ref) for ref in ("2", "8")] == ["confirmed", "confirmed"]
    assert planned.ok("show", "7", "--json").json["tags"] == ["test"]
    assert planned.ok("garden", "apply", "--yes").out == "Plan 1: 2 steps done. `recollect garden undo 1` undoes it.\n"
    assert [status_of(planned, ref) for ref in ("2", "8")] == ["superseded", "archived"]


@pytest.mark.parametrize("yes", ["--yes", "-y"])
def test_yes_does_all_of_it(planned: Cli, yes: str) -> None:
    """And a program is told in numbers."""
    told = planned.ok("garden", "apply", yes, "--json").json
    assert told == {"plan": 1, "done": 4, "outdated": 0, "waiting": 0, "undone": 0, "kept": 0, "faults": []}
    assert set(told) == CARRIED_KEYS
    assert planned("garden", "apply").status == 3


@pytest.mark.row("J25", "confirm")
@pytest.mark.parametrize("typed, statuses", [("y\n", ["superseded", "archived"]), ("n\n", ["confirmed", "confirmed"])])
def test_on_a_terminal_somebody_is_asked(planned: Cli, typed: str, statuses: list[str]) -> None:
    """A no leaves what would leave recall; the other steps are done either way."""
    status, said = on_a_terminal(planned, "garden", "apply", typed=typed)
    assert status == 0, said
    assert "By plan 1, 2 of 8 memories leave recall (none is deleted). Go on? [y/N]" in said
    assert [status_of(planned, ref) for ref in ("2", "8")] == statuses
    assert planned.ok("show", "7", "--json").json["tags"] == ["test"]


def test_somebody_who_is_asked_can_stop(planned: Cli) -> None:
    """Then nothing at all is done."""
    status, said = on_a_terminal(planned, "garden", "apply", typed="\x04")
    assert (status, "Stopped; nothing more was changed." in said) == (130, True)
    assert {step["state"] for step in steps_of(planned)} == {"proposed"}


def test_nobody_is_asked_where_nothing_would_leave_recall(planned: Cli) -> None:
    """There is nothing to agree to."""
    planned.ok("garden", "refuse", "--step", number_of(planned, "merge"), "--step", number_of(planned, "gone"))
    status, said = on_a_terminal(planned, "garden", "apply")
    assert (status, "Go on?" in said) == (0, False)


def test_only_the_steps_that_are_named(planned: Cli) -> None:
    """Of the plan that is named."""
    planned.ok("garden", "apply", "1", "--step", number_of(planned, "tags"))
    assert {step["sort"] for step in steps_of(planned) if step["state"] == "done"} == {"tags"}


def test_a_step_that_is_not_there_is_told(planned: Cli) -> None:
    """As it is where steps are refused."""
    assert planned("garden", "refuse", "--step", "99").status == 3
    assert planned("garden", "apply", "--step", "99").status == 3


def test_what_changed_meanwhile_is_left_and_told(planned: Cli) -> None:
    """The step is out of date."""
    planned.ok("tag", "2", "mine")
    out = planned.ok("garden", "apply", "--yes").out
    assert out.startswith("Plan 1: 3 steps done; 1 were out of date and not done. ")
    assert status_of(planned, "2") == "confirmed"


@pytest.mark.row("X4", "loss-limit")
def test_too_much_at_once_is_refused(cli: Cli) -> None:
    """With the status for it and how to allow it; nothing has changed."""
    with recollect.open(cli.folder, background=False) as memory:
        for text in ("Lunch", "Invoices", "Passwords", "Weather", "Maps", "Songs"):
            memory.remember(f"{text} are read", files=[f"src/{text}.py"])
    cli.ok("garden", "plan", "--no-clusters")
    done = cli("garden", "apply", "--yes")
    assert (done.status, done.out) == (4, "")
    assert "would retire 6 of 6 live memories" in done.err
    assert "--allow-loss" in done.err
    assert cli("garden", "apply", "--yes", "--json").error["type"] == "TooMuchLost"
    assert len(cli.ok("list", "--json").json) == 6
    assert cli.ok("garden", "apply", "--yes", "--allow-loss", "1").out.startswith("Plan 1: 6 steps done. ")
    assert cli.ok("list", "--json").json == []


# Refusing and undoing


@pytest.mark.row("J25", "refuse")
def test_what_is_refused_is_not_proposed_again(planned: Cli) -> None:
    """A step, or all that is left."""
    assert planned.ok("garden", "refuse", "--step", number_of(planned, "merge")).out == "1 steps refused.\n"
    planned.ok("garden", "plan", "--no-clusters")
    assert {step["sort"] for step in steps_of(planned)} == SORTS - {"merge"}
    assert planned.ok("garden", "refuse", "--json").json == {"refused": 3}
    assert planned.ok("garden", "plan", "--no-clusters").out == "All is in order.\n"
    assert status_of(planned, "2") == "confirmed"


@pytest.mark.row("J25", "undo")
@pytest.mark.row("X4", "undo")
def test_undo_brings_everything_back(planned: Cli) -> None:
    """Each memory with its links, its version and its past."""
    before = everything(planned)
    planned.ok("garden", "apply", "--yes")
    assert everything(planned) != before
    assert planned.ok("garden", "undo", "--yes").out == "Plan 1: 4 steps undone.\n"
    assert everything(planned) == before
    assert planned("garden", "undo", "--yes").status == 3
    assert planned.ok("doctor").status == 0


def test_undo_asks_first(planned: Cli) -> None:
    """A no, or nobody to answer, leaves things as they are."""
    planned.ok("garden", "apply")
    for answer in (b"n\n", b""):
        done = planned.process("garden", "undo", "1", stdin=answer)
        assert (done.returncode, done.stdout) == (130, b"")
        assert b"Undo plan 1?" in done.stderr
    done = planned.process("garden", "undo", stdin=b"y\n")
    assert (done.returncode, done.stdout) == (0, b"Plan 1: 2 steps undone.\n")
    assert b"Undo the newest plan that did anything?" in done.stderr


def test_what_somebody_changed_since_stays(planned: Cli) -> None:
    """And is told, to people and programs."""
    planned.ok("garden", "apply", "--yes")
    planned.ok("tag", "7", "mine")
    told = planned.ok("garden", "undo", "1", "--yes", "--json").json
    assert (told["undone"], told["kept"]) == (3, 1)
    assert planned.ok("garden", "undo", "1", "--yes").out == "Plan 1: 0 steps undone; 1 were changed since and stay.\n"
    assert planned.ok("show", "7", "--json").json["tags"] == ["test", "mine"]


# Elsewhere


def test_the_global_memory_has_plans_of_its_own(cli: Cli) -> None:
    """With references that can be typed; there is no working tree to check it against."""
    plant(cli, Scope.GLOBAL)
    out = cli.ok("garden", "plan", "--global", "--no-clusters").out
    assert f"    - [id:g1] {SAME[0]}" in out.splitlines()
    assert {step["sort"] for step in steps_of(cli, "--global")} == SORTS - {"gone"}
    assert cli.ok("garden", "list").out == "No plans yet.\n"
    assert cli("garden", "apply").status == 3
    assert cli.ok("garden", "apply", "--global", "--yes", "--json").json["done"] == 3
    assert status_of(cli, "g2") == "superseded"
    assert cli.ok("garden", "undo", "--global", "--yes").out == "Plan 1: 3 steps undone.\n"


def test_what_to_type_next_is_about_the_same_memory(cli: Cli) -> None:
    """A plan of the global memory is undone there."""
    plant(cli, Scope.GLOBAL)
    cli.ok("garden", "plan", "--global", "--no-clusters")
    assert "--global" in cli.ok("garden", "apply", "--global").out


@pytest.mark.parametrize(
    "words, status",
    [
        (["garden", "show"], 3),
        (["garden", "show", "7"], 3),
        (["garden", "show", "first"], 2),
        (["garden", "apply"], 3),
        (["garden", "apply", "7"], 3),
        (["garden", "apply", "--allow-loss", "much"], 2),
        (["garden", "refuse"], 3),
        (["garden", "refuse", "7"], 3),
        (["garden", "refuse", "--step", "one"], 2),
        (["garden", "undo", "--yes"], 3),
        (["garden", "undo", "7", "--yes"], 3),
        (["garden", "plan", "--out", "."], 2),
        (["garden", "weed"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_what_is_wrong_has_its_status(cli: Cli, words: list[str], status: int) -> None:
    """With a line on standard error, or an error for programs."""
    done = cli(*words)
    assert (done.status, done.out) == (status, "")
    assert "Error: " in done.err
    assert cli(*words, "--json").error["message"]


@pytest.mark.parametrize("command", ["plan", "show", "list", "apply", "refuse", "undo"])
def test_every_command_has_an_example_that_can_be_typed(cli: Cli, command: str) -> None:
    """In its own help and in that of the garden."""
    out = cli.ok("garden", command, "--help").out
    assert f"\n    recollect garden {command}" in out
    assert f"\n  {command} " in cli.ok("garden", "--help").out
