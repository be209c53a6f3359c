"""Commands on tasks, narratives and items: each does what the library does, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_kit import Cli, standing_in_a_project

TASK_KEYS = [
    *("id", "milestone", "priority", "status", "description", "acceptance_criteria", "created", "completed"),
    "blocked_by",
]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def busy(cli: Cli) -> Cli:
    """With two tasks, of which the more pressing one waits for the other."""
    cli.ok("task", "add", "Lock sessions", "-m", "M1", "-c", "green", "-c", "fast")
    cli.ok("task", "add", "Write the docs", "-p", "1", "-b", "TASK-001")
    return cli


def tasks_file(cli: Cli) -> Path:
    [path] = cli.home.glob("projects/*/tasks.json")
    return path


def shown(cli: Cli, *words: str) -> Any:
    return cli.ok(*words, "--json").json


# Tasks


@pytest.mark.row("B5", "milestone", "priority", "acceptance-criteria", "blocked-by")
def test_a_task_is_made(cli: Cli) -> None:
    """With all that can be said of it; a program gets it as the file has it."""
    assert cli.ok("task", "add", "Lock", "sessions").out == "Made: TASK-001 Lock sessions\n"
    told = shown(cli, "task", "add", "Docs", "--name", "docs", "-m", "M1", "-p", "1", "-c", "green", "-b", "TASK-001")
    assert list(told) == TASK_KEYS
    assert (told["id"], told["milestone"], told["priority"], told["status"]) == ("docs", "M1", 1, "pending")
    assert (told["acceptance_criteria"], told["blocked_by"]) == (["green"], ["TASK-001"])
    assert json.loads(tasks_file(cli).read_text("utf-8"))["tasks"][1] == told


def test_tasks_are_listed_in_order(busy: Cli) -> None:
    """All, or those of a milestone."""
    lines = busy.ok("task", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["TASK-001", "TASK-002"]
    assert "Lock sessions" in lines[0]
    assert [each["id"] for each in shown(busy, "task", "list", "-m", "M1")] == ["TASK-001"]


def test_the_next_task_is_shown(busy: Cli) -> None:
    """With when it is done; the one that waits is not it."""
    assert busy.ok("task", "next").out == "TASK-001  pending, priority 3, M1\n  Lock sessions\n  - green\n  - fast\n"
    assert shown(busy, "task", "next")["id"] == "TASK-001"
    busy.ok("task", "done", "TASK-001")
    assert busy.ok("task", "next").out == "TASK-002  pending, priority 1\n  Write the docs\n  after TASK-001\n"


def test_where_there_is_nothing_that_is_said(cli: Cli) -> None:
    """To people and programs."""
    assert cli.ok("task", "list").out == "No tasks.\n"
    assert cli.ok("task", "next").out == "Nothing is ready.\n"
    assert (shown(cli, "task", "list"), shown(cli, "task", "next")) == ([], None)
    assert cli.ok("narrative", "list").out == "No narratives.\n"
    assert cli.ok("items", "list").out == "No items: `recollect items extract` finds them.\n"
    assert (shown(cli, "narrative", "list"), shown(cli, "items", "list")) == ([], [])


@pytest.mark.row("B5", "status", "archive")
def test_tasks_are_moved(busy: Cli) -> None:
    """Several at once, with a word for each move."""
    busy.ok("task", "add", "Third")
    assert busy.ok("task", "start", "TASK-001", "TASK-003").out == (
        "Started: TASK-001 Lock sessions\nStarted: TASK-003 Third\n"
    )
    for word, said, status in (
        ("block", "Blocked", "blocked"),
        ("reopen", "Open again", "pending"),
        ("done", "Completed", "completed"),
        ("archive", "Archived", "archived"),
    ):
        assert busy.ok("task", word, "TASK-001").out == f"{said}: TASK-001 Lock sessions\n"
        assert shown(busy, "task", "show", "TASK-001")["status"] == status
    assert [each["status"] for each in shown(busy, "task", "start", "TASK-002")] == ["in_progress"]
    assert "TASK-001" not in busy.ok("task", "list").out
    assert "TASK-001" in busy.ok("task", "list", "--all").out


@pytest.mark.row("K13", "task")
def test_a_task_is_shown_with_its_memories(busy: Cli) -> None:
    """For people and programs."""
    busy.ok("remember", "The lock is a file", "--task", "TASK-001")
    out = busy.ok("task", "show", "TASK-001").out
    assert out.startswith("TASK-001  pending, priority 3, M1\n  Lock sessions\n")
    assert "The lock is a file" in out
    told = shown(busy, "task", "show", "TASK-001")
    assert [*told] == [*TASK_KEYS, "memories"]
    assert [each["content"] for each in told["memories"]] == ["The lock is a file"]


@pytest.mark.parametrize(
    "words, status, said",
    [
        (["show", "nowhere"], 3, "nowhere"),
        (["start", "nowhere"], 3, "nowhere"),
        (["start", "TASK-001", "nowhere"], 3, "nowhere"),
        (["start", "TASK-002"], 2, "waits for TASK-001"),
        (["add", "x", "-b", "nowhere"], 2, "no task nowhere"),
        (["add", "x", "--name", "TASK-001"], 2, "already"),
        (["add", "x", "--name", "no spaces"], 2, "no name for a task"),
        (["add", "x", "-p", "0"], 2, "priority"),
        (["add", ""], 2, "description"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_what_makes_no_sense_is_refused(busy: Cli, words: list[str], status: int, said: str) -> None:
    """With the reason and its exit status; nothing changes, not even the first of several."""
    before = tasks_file(busy).read_bytes()
    done = busy("task", *words, "--json")
    assert (done.status, done.out) == (status, "")
    assert said in done.error["message"]
    assert tasks_file(busy).read_bytes() == before


@pytest.mark.parametrize(
    "words", [["add"], ["start"], ["add", "x", "-p", "high"], ["finish", "TASK-001"]], ids=" ".join
)
def test_wrong_usage_is_two(cli: Cli, words: list[str]) -> None:
    """And nothing is made."""
    assert cli("task", *words).status == 2
    assert shown(cli, "task", "list", "--all") == []


@pytest.mark.parametrize("words", [["list"], ["next"], ["show", "TASK-001"], ["add", "more"], ["start", "TASK-001"]])
def test_edits_of_the_file_are_taken_first(busy: Cli, words: list[str]) -> None:
    """Whatever is asked of tasks."""
    path = tasks_file(busy)
    path.write_text(path.read_text("utf-8").replace("Lock sessions", "Lock every session"), "utf-8")
    busy.ok("task", *words)
    assert shown(busy, "task", "show", "TASK-001")["description"] == "Lock every session"


def test_a_malformed_file_is_left_and_told(busy: Cli) -> None:
    """On standard error; the tasks are listed as the store has them."""
    tasks_file(busy).write_text("{", "utf-8")
    done = busy("task", "list")
    assert (done.status, done.err.startswith("Note: tasks.json was left as it is: ")) == (0, True)
    assert "Lock sessions" in done.out
    assert tasks_file(busy).read_text("utf-8") == "{"


@pytest.mark.parametrize("words", [["add", "more"], ["start", "TASK-001"]], ids=" ".join)
def test_a_change_leaves_a_malformed_file_and_tells(busy: Cli, words: list[str]) -> None:
    """What somebody typed is not lost, in its place or beside it."""
    path = tasks_file(busy)
    path.write_text("{", "utf-8")
    done = busy("task", *words)
    assert any(each.read_text("utf-8") == "{" for each in path.parent.glob("tasks.json*"))
    assert "tasks.json" in done.err


# Narratives


@pytest.mark.row("K13", "narrative")
def test_a_narrative_is_begun_told_shown_and_closed(cli: Cli) -> None:
    """What is remembered meanwhile is listed with it."""
    assert cli.ok("narrative", "start", "Move", "billing").out == "Open: N-001 Move billing\n"
    cli.ok("remember", "Invoices have a table of their own")
    assert cli.ok("narrative", "tell", "N-001", "The schema", "is there.").out == "Told: N-001 Move billing\n"
    out = cli.ok("narrative", "show", "N-001").out
    assert out.startswith("N-001  Move billing  (open, since ")
    assert "\n  The schema is there.\n" in out
    assert "Invoices have a table" in out
    assert cli.ok("narrative", "close", "N-001", "--summary", "Done.").out == "Closed: N-001 Move billing\n"
    cli.ok("remember", "Tea is ready at four")
    told = shown(cli, "narrative", "show", "N-001")
    assert set(told) == {"id", "title", "started", "closed", "summary", "memories"}
    assert (told["summary"], [each["content"] for each in told["memories"]]) == (
        "Done.",
        ["Invoices have a table of their own"],
    )
    assert "closed" in cli.ok("narrative", "list").out
    assert [each["id"] for each in shown(cli, "narrative", "list")] == ["N-001"]


def test_a_program_is_told_of_each_step_of_a_narrative(cli: Cli) -> None:
    """As it stands afterwards."""
    assert shown(cli, "narrative", "start", "Move billing")["closed"] is None
    assert shown(cli, "narrative", "tell", "N-001", "so far")["summary"] == "so far"
    assert shown(cli, "narrative", "close", "N-001")["closed"].endswith("Z")


def test_a_narrative_that_is_not_there_or_closed_is_refused(cli: Cli) -> None:
    """Not found is three, a wrong step two."""
    for words in (["show", "N-009"], ["tell", "N-009", "x"], ["close", "N-009"]):
        assert cli("narrative", *words).status == 3
    cli.ok("narrative", "start", "once")
    cli.ok("narrative", "close", "N-001")
    assert cli("narrative", "close", "N-001").status == 2
    assert cli("narrative", "start", " ").status == 2


# Items


def test_items_are_read_from_the_project_and_listed(cli: Cli) -> None:
    """With the file and the line that they are from."""
    (cli.folder / "NOTES.md").write_text("# Notes\n\nDecision: use PostgreSQL for billing.\n\n- [ ] Write the docs\n")
    assert " 1 files read" in f" {cli.ok('items', 'extract').out}"
    assert shown(cli, "items", "extract")["unchanged"] == 1
    every = shown(cli, "items", "list")
    assert {each["type"] for each in every} >= {"decision", "task"}
    assert [each["type"] for each in shown(cli, "items", "list", "--type", "decision")] == ["decision"]
    assert shown(cli, "items", "list", "--file", "other.md") == []
    assert "NOTES.md:3" in cli.ok("items", "list", "--type", "decision").out
    assert "PostgreSQL" in cli.ok("search", "PostgreSQL billing", "--in", "items").out


def test_only_items_or_only_chunks_are_read_when_asked(cli: Cli) -> None:
    """And anything else is wrong usage."""
    (cli.folder / "NOTES.md").write_text("# Notes\n\nDecision: use PostgreSQL for billing.\n")
    told = shown(cli, "items", "extract", "NOTES.md", "--only", "sources")
    assert (told["items"], told["chunks"] > 0) == (0, True)
    assert shown(cli, "items", "extract", "--only", "items")["items"] > 0
    assert cli("items", "extract", "--only", "moons").status == 2


@pytest.mark.parametrize("group", ["task", "narrative", "items", "session", "gaps"])
def test_help_shows_examples(cli: Cli, group: str) -> None:
    """Of the group, and of each of its commands."""
    assert f"  recollect {group}" in cli.ok(group, "--help").out
