"""Tasks: made, moved, ordered and archived; `tasks.json` shows them, and what is edited there comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import InvalidInput, MemoryOff, NotFound, Recollect
from recollect.engine.tasks import TakenTasks
from recollect.policy.tasks import TaskStatus
from recollect.testing import FixedClock

START = datetime(2026, 2, 5, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Recollect]:
    (tmp_path / "project").mkdir()
    with recollect.open(tmp_path / "project", home=tmp_path / "home", clock=clock, background=False) as memory:
        yield memory


def path(memory: Recollect) -> Path:
    assert memory.identity
    return memory.identity.folder / "tasks.json"


def shown(memory: Recollect) -> list[dict[str, Any]]:
    """What the file holds."""
    tasks: list[dict[str, Any]] = json.loads(path(memory).read_text("utf-8"))["tasks"]
    return tasks


def edit(memory: Recollect, tasks: list[dict[str, Any]]) -> None:
    """Save the file, as an editor does."""
    path(memory).write_text(json.dumps({"tasks": tasks}), "utf-8")


def names(memory: Recollect, **given: Any) -> list[str]:
    return [each.id for each in memory.tasks.list(**given)]


# Living


@pytest.mark.row("B5", "milestone", "priority", "status", "acceptance-criteria", "blocked-by")
def test_the_file_has_the_agreed_shape(memory: Recollect) -> None:
    """Field by field, in this order, and nothing else."""
    memory.tasks.create(
        "Implement session locking",
        milestone="M1",
        priority=1,
        criteria=["Lock acquired before execution", "Lock released after"],
    )
    assert path(memory).read_text("utf-8") == (
        "{\n"
        '  "tasks": [\n'
        "    {\n"
        '      "id": "TASK-001",\n'
        '      "milestone": "M1",\n'
        '      "priority": 1,\n'
        '      "status": "pending",\n'
        '      "description": "Implement session locking",\n'
        '      "acceptance_criteria": [\n'
        '        "Lock acquired before execution",\n'
        '        "Lock released after"\n'
        "      ],\n"
        '      "created": "2026-02-05",\n'
        '      "completed": null,\n'
        '      "blocked_by": []\n'
        "    }\n"
        "  ]\n"
        "}\n"
    )
    assert path(memory).stat().st_mode & 0o077 == 0


@pytest.mark.row("B5", "status")
def test_a_task_goes_its_way(memory: Recollect, clock: FixedClock) -> None:
    """Begun, blocked, opened again, completed with its date, archived; the file follows each step."""
    memory.tasks.create("Write the docs")
    clock.move(days=3)
    for status in ("in_progress", "blocked", "pending", "completed"):
        assert memory.tasks.move("TASK-001", status).status == status
        assert shown(memory)[0]["status"] == status
    assert (memory.tasks.get("TASK-001").completed, shown(memory)[0]["completed"]) == (date(2026, 2, 8), "2026-02-08")
    clock.move(days=1)
    assert memory.tasks.move("TASK-001", TaskStatus.ARCHIVED).completed == date(2026, 2, 8)
    assert memory.tasks.move("TASK-001", "pending").completed is None


@pytest.mark.row("B5", "archive")
def test_a_milestone_is_archived_with_what_it_completed(memory: Recollect) -> None:
    """What is not completed, or of another milestone, stays; what is archived is shown when asked for."""
    for name, milestone in (("a", "M1"), ("b", "M1"), ("c", "M2")):
        memory.tasks.create("work", name=name, milestone=milestone)
    for name in ("a", "c"):
        memory.tasks.move(name, "completed")
    assert [each.id for each in memory.tasks.archive_milestone("M1")] == ["a"]
    assert (names(memory), names(memory, archived=True)) == (["b", "c"], ["b", "c", "a"])
    assert names(memory, milestone="M1", archived=True) == ["b", "a"]
    assert memory.tasks.archive_milestone("M1") == ()


@pytest.mark.row("B5", "priority", "blocked-by")
def test_tasks_are_listed_in_the_order_they_can_be_worked_on(memory: Recollect) -> None:
    """And the next is the most pressing one that nothing holds up."""
    assert memory.tasks.next() is None
    tasks = memory.tasks
    tasks.create("later", name="later", priority=5)
    tasks.create("first", name="first", priority=2)
    tasks.create("held", name="held", priority=1, blocked_by=["first"])
    tasks.create("begun", name="begun", priority=9)
    tasks.move("begun", "in_progress")
    assert names(memory) == ["begun", "first", "later", "held"]
    assert tasks.next() == tasks.get("first")
    tasks.move("first", "completed")
    assert names(memory) == ["begun", "held", "later", "first"]
    assert tasks.next() == tasks.get("held")


@pytest.mark.row("B5", "blocked-by")
def test_a_task_that_waits_for_another_is_not_begun(memory: Recollect) -> None:
    """Nor completed; once the other is done, it is."""
    memory.tasks.create("first")
    memory.tasks.create("second", blocked_by=["TASK-001", "TASK-001"])
    assert memory.tasks.get("TASK-002").blocked_by == ("TASK-001",)
    for status in ("in_progress", "completed"):
        with pytest.raises(InvalidInput, match="waits for TASK-001"):
            memory.tasks.move("TASK-002", status)
    memory.tasks.move("TASK-001", "completed")
    assert memory.tasks.move("TASK-002", "in_progress").status is TaskStatus.IN_PROGRESS


@pytest.mark.row("B5", "blocked-by")
def test_blockers_that_make_no_sense_are_refused(memory: Recollect) -> None:
    """One that is not there, itself, or a circle; nothing is changed."""
    for name in ("a", "b", "c"):
        memory.tasks.create("work", name=name)
    memory.tasks.change("b", blocked_by=["a"])
    memory.tasks.change("c", blocked_by=["b"])
    before = path(memory).read_bytes()
    with pytest.raises(InvalidInput, match="no task nowhere"):
        memory.tasks.create("work", blocked_by=["nowhere"])
    with pytest.raises(InvalidInput, match="circle: a → a"):
        memory.tasks.change("a", blocked_by=["a"])
    with pytest.raises(InvalidInput, match="circle: a → c → b → a"):
        memory.tasks.change("a", blocked_by=["c"])
    assert path(memory).read_bytes() == before


def test_a_task_is_changed_field_by_field(memory: Recollect) -> None:
    """What is not given stays; an empty milestone takes it away."""
    memory.tasks.create("work", milestone="M1", priority=2, criteria=["green"])
    changed = memory.tasks.change("TASK-001", description="more work", criteria=["green", "fast"])
    assert (changed.description, changed.acceptance_criteria) == ("more work", ("green", "fast"))
    assert (changed.milestone, changed.priority) == ("M1", 2)
    assert memory.tasks.change("TASK-001", milestone="", priority=7) == memory.tasks.get("TASK-001")
    assert (memory.tasks.get("TASK-001").milestone, memory.tasks.get("TASK-001").priority) == (None, 7)


@pytest.mark.parametrize(
    "given",
    [
        {"description": " "},
        {"description": "x" * 2_001},
        {"description": "x", "name": "no spaces"},
        {"description": "x", "name": "../up"},
        {"description": "x", "priority": 0},
        {"description": "x", "priority": 1_001},
        {"description": "x", "criteria": [""]},
        {"description": "x", "criteria": ["c"] * 51},
        {"description": "x", "milestone": "m" * 257},
    ],
    ids=str,
)
def test_a_task_that_makes_no_sense_is_refused(memory: Recollect, given: dict[str, Any]) -> None:
    """And no file is written."""
    with pytest.raises(InvalidInput):
        memory.tasks.create(**given)
    assert (memory.tasks.list(), path(memory).exists()) == ((), False)


def test_names_are_taken_once_and_must_be_there(memory: Recollect) -> None:
    """The numbers go on after the highest."""
    memory.tasks.create("work", name="TASK-041")
    assert memory.tasks.create("more").id == "TASK-042"
    with pytest.raises(InvalidInput, match="already"):
        memory.tasks.create("again", name="TASK-041")
    for act in (memory.tasks.get, lambda name: memory.tasks.move(name, "completed"), memory.tasks.change):
        with pytest.raises(NotFound):
            act("TASK-001")
    with pytest.raises(InvalidInput, match="not one of"):
        memory.tasks.move("TASK-041", "finished")


@pytest.mark.row("B14", "logged")
def test_the_audit_names_the_task_and_where_it_stands(memory: Recollect) -> None:
    """Not what it says."""
    memory.tasks.create("a private matter")
    memory.tasks.move("TASK-001", "in_progress")
    assert [each.detail for each in memory.audit() if each.action == "define"] == [
        {"sort": "task", "note": {"task": "TASK-001", "status": status}} for status in ("pending", "in_progress")
    ]
    assert "private" not in repr(memory.audit())
    assert memory.verify_audit() == ()


def test_secrets_are_hidden(memory: Recollect) -> None:
    """In the store and in the file, also if they were typed into the file."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    memory.tasks.create(f"use {secret}", criteria=[f"with {secret}"])
    edit(memory, [shown(memory)[0] | {"milestone": f"after {secret}"}])
    memory.tasks.take_edits()
    assert (memory.tasks.get("TASK-001").milestone or "").startswith("after")
    assert secret not in path(memory).read_text("utf-8") + repr(memory.tasks.list())


def test_with_memory_off_tasks_are_read_and_not_written(memory: Recollect) -> None:
    """The file neither."""
    memory.tasks.create("work")
    before = path(memory).read_bytes()
    memory.turn_off()
    with pytest.raises(MemoryOff):
        memory.tasks.move("TASK-001", "completed")
    with pytest.raises(MemoryOff):
        memory.tasks.create("more")
    assert (names(memory), path(memory).read_bytes()) == (["TASK-001"], before)


def test_with_memory_off_no_edit_is_taken(memory: Recollect) -> None:
    """It waits in the file until memory is on."""
    memory.tasks.create("work")
    memory.turn_off()
    edit(memory, [shown(memory)[0] | {"priority": 1}])
    with suppress(MemoryOff):
        memory.tasks.take_edits()
    assert memory.tasks.get("TASK-001").priority == 3


@pytest.mark.row("K13", "task")
def test_a_task_leads_to_the_memories_that_it_produced(memory: Recollect) -> None:
    """Those that name it."""
    memory.tasks.create("work")
    made = memory.remember("The lock is a file", task="TASK-001")
    memory.remember("The moon is far away")
    assert [each.content for each in memory.list({"task_id": "TASK-001"})] == ["The lock is a file"]
    assert made.memory.task_id == "TASK-001"


def test_a_store_without_a_folder_keeps_tasks_and_no_file(tmp_path: Path) -> None:
    """There is nowhere to put one."""
    with recollect.open(store="memory:", home=tmp_path) as memory:
        memory.tasks.create("work")
        memory.tasks.write()
        assert memory.tasks.take_edits() == TakenTasks()
        assert names(memory) == ["TASK-001"]
    assert not list(tmp_path.rglob("tasks.json"))


# Edits


@pytest.fixture
def edited(memory: Recollect) -> Recollect:
    """Two tasks, of which the second waits for the first."""
    memory.tasks.create("first", milestone="M1")
    memory.tasks.create("second", blocked_by=["TASK-001"])
    return memory


def test_a_file_that_nobody_changed_brings_nothing(edited: Recollect) -> None:
    """Neither a change nor an entry in the audit; nor does one that is gone."""
    before = edited.audit(limit=None)
    assert edited.tasks.take_edits() == TakenTasks()
    path(edited).unlink()
    assert edited.tasks.take_edits() == TakenTasks()
    assert edited.audit(limit=None) == before


def test_a_task_that_was_added_to_the_file_is_taken(edited: Recollect) -> None:
    """With what is not said as it is by default; the file then has all of it."""
    edit(edited, [*shown(edited), {"id": "docs", "description": "Write the docs", "created": "2026-02-01"}])
    assert edited.tasks.take_edits() == TakenTasks(added=("docs",))
    task = edited.tasks.get("docs")
    assert (task.description, task.created, task.priority, task.status) == (
        "Write the docs",
        date(2026, 2, 1),
        3,
        TaskStatus.PENDING,
    )
    assert [each["id"] for each in shown(edited)] == ["TASK-001", "TASK-002", "docs"]
    assert shown(edited)[2]["blocked_by"] == []
    assert edited.tasks.take_edits() == TakenTasks()
    assert edited.audit(newest_first=True)[0].actor == "library in tasks.json"


@pytest.mark.parametrize(
    "field, value",
    [
        ("milestone", "M2"),
        ("milestone", None),
        ("priority", 1),
        ("status", "in_progress"),
        ("description", "the very first"),
        ("acceptance_criteria", ["green"]),
        ("created", "2025-12-31"),
        ("completed", "2026-02-04"),
    ],
)
def test_a_field_that_was_changed_in_the_file_is_taken(edited: Recollect, field: str, value: Any) -> None:
    """It alone."""
    first, second = shown(edited)
    edit(edited, [first | {field: value}, second])
    assert edited.tasks.take_edits() == TakenTasks(changed=("TASK-001",))
    assert shown(edited) == [first | {field: value}, second]


@pytest.mark.row("B5", "archive")
def test_a_task_that_was_removed_from_the_file_is_archived(edited: Recollect) -> None:
    """Nothing is lost; what waited for it does not wait any more."""
    edit(edited, shown(edited)[1:])
    assert edited.tasks.take_edits() == TakenTasks(archived=("TASK-001",))
    assert edited.tasks.get("TASK-001").status is TaskStatus.ARCHIVED
    assert [each["status"] for each in shown(edited)] == ["archived", "pending"]
    assert edited.tasks.next() == edited.tasks.get("TASK-002")


def test_what_both_changed_stays_as_the_store_has_it(edited: Recollect) -> None:
    """The file as it was is set aside; fields that only it changed are taken all the same."""
    assert edited.identity
    base = edited.identity.folder / ".tasks.json.base"
    old = base.read_bytes()
    first, second = shown(edited)
    edited.tasks.change("TASK-001", description="as the store has it")
    base.write_bytes(old)  # as if the edit had begun before the change
    edit(edited, [first | {"description": "as the file has it", "priority": 1}, second])
    theirs = path(edited).read_bytes()
    assert edited.tasks.take_edits() == TakenTasks(changed=("TASK-001",), kept=("TASK-001",))
    task = edited.tasks.get("TASK-001")
    assert (task.description, task.priority) == ("as the store has it", 1)
    [aside] = edited.identity.folder.glob("tasks.json.edited-*")
    assert (aside.name, aside.read_bytes()) == ("tasks.json.edited-20260205T090000Z", theirs)
    assert shown(edited)[0]["description"] == "as the store has it"


MALFORMED = [
    "",
    "{",
    "[]",
    '{"tasks": {}}',
    '{"tasks": [1]}',
    '{"tasks": [{"id": "x"}]}',
    '{"tasks": [{"id": "x", "description": "d", "created": "soon"}]}',
    '{"tasks": [{"id": "x", "description": "d", "created": "2026-01-01", "colour": "red"}]}',
    '{"tasks": [{"id": "x", "description": "d", "created": "2026-01-01", "blocked_by": ["nowhere"]}]}',
    '{"tasks": [{"id": "x", "description": "d", "created": "2026-01-01", "blocked_by": ["x"]}]}',
    '{"tasks": [{"id": "x y", "description": "d", "created": "2026-01-01"}]}',
    '{"tasks": [{"id": "x", "description": " ", "created": "2026-01-01"}]}',
]


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_file_is_left_as_it_is_with_a_message(edited: Recollect, text: str) -> None:
    """Nothing of it is taken, not even what is sound."""
    before = edited.tasks.list(archived=True)
    path(edited).write_text(text, "utf-8")
    taken = edited.tasks.take_edits()
    assert taken == TakenTasks(problem=taken.problem)
    assert taken.problem.startswith("tasks.json was left as it is: ")
    assert (path(edited).read_text("utf-8"), edited.tasks.list(archived=True)) == (text, before)


@pytest.mark.parametrize("text", [b'{"tasks": [', b'{"tasks": []}', b"\xff\xfe"], ids=["malformed", "sound", "binary"])
def test_a_change_does_not_overwrite_what_somebody_typed(edited: Recollect, text: bytes) -> None:
    """It is still there: in its place, beside it, or taken."""
    assert edited.identity
    path(edited).write_bytes(text)
    edited.tasks.create("third")
    kept = any(each.read_bytes() == text for each in edited.identity.folder.glob("tasks.json*"))
    assert kept or edited.tasks.get("TASK-001").status is TaskStatus.ARCHIVED


def test_a_task_that_both_made_stays_as_the_store_has_it(edited: Recollect) -> None:
    """Under the same name; the file is set aside."""
    assert edited.identity
    base = edited.identity.folder / ".tasks.json.base"
    old, tasks = base.read_bytes(), shown(edited)
    edited.tasks.create("the store's third")
    base.write_bytes(old)  # as if the store's had not been written out yet
    edit(edited, [*tasks, {"id": "TASK-003", "description": "the file's third", "created": "2026-02-05"}])
    assert edited.tasks.take_edits().kept == ("TASK-003",)
    assert edited.tasks.get("TASK-003").description == "the store's third"
