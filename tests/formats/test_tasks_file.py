"""`tasks.json`: the agreed shape, and back without loss."""

from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.formats.tasks_file import task_from, task_json, tasks_from, tasks_json
from recollect.model import Json
from recollect.policy.tasks import Task, TaskStatus

AGREED = """{
  "tasks": [
    {
      "id": "TASK-001",
      "milestone": "M1",
      "priority": 1,
      "status": "pending",
      "description": "Implement session locking",
      "acceptance_criteria": ["Lock acquired before execution", "Lock released after"],
      "created": "2026-02-05",
      "completed": null,
      "blocked_by": []
    }
  ]
}
"""
LOCKING = Task(
    id="TASK-001",
    milestone="M1",
    priority=1,
    status=TaskStatus.PENDING,
    description="Implement session locking",
    acceptance_criteria=("Lock acquired before execution", "Lock released after"),
    created=date(2026, 2, 5),
)
LEAST: dict[str, Json] = {"id": "x", "description": "work", "created": "2026-01-01"}

text = st.text(st.characters(codec="utf-8"), max_size=20)
some_task = st.builds(
    Task,
    id=st.text(min_size=1, max_size=8),
    milestone=st.none() | text,
    priority=st.integers(-5, 2_000),
    status=st.sampled_from(TaskStatus),
    description=text,
    acceptance_criteria=st.lists(text, max_size=3).map(tuple),
    created=st.dates(),
    completed=st.none() | st.dates(),
    blocked_by=st.lists(text, max_size=3).map(tuple),
)


@pytest.mark.row("B5", "milestone", "priority", "status", "acceptance-criteria", "blocked-by")
def test_the_agreed_shape_is_read_and_written() -> None:
    """The same fields in the same order."""
    assert tasks_from(AGREED) == [LOCKING]
    assert json.loads(tasks_json([LOCKING])) == json.loads(AGREED)
    assert list(task_json(LOCKING)) == list(json.loads(AGREED)["tasks"][0])


@given(st.lists(some_task, max_size=5, unique_by=lambda each: each.id))
def test_what_is_written_is_read_back(tasks: list[Task]) -> None:
    """Every field, in the order of ids; written again it is the same text."""
    written = tasks_json(tasks)
    assert tasks_from(written) == sorted(tasks, key=lambda each: each.id)
    assert tasks_json(tasks_from(written)) == written
    assert written.endswith("}\n")


def test_letters_of_every_script_stay_readable() -> None:
    """Nobody has to read escapes."""
    assert "数据库 é" in tasks_json([Task(id="x", description="数据库 é", created=date(2026, 1, 1))])


def test_what_is_left_out_is_as_it_is_by_default() -> None:
    """Only an id, a description and a date are needed."""
    assert task_from(LEAST) == Task(id="x", description="work", created=date(2026, 1, 1))


@pytest.mark.parametrize("field", LEAST)
def test_what_is_needed_is_missed(field: str) -> None:
    """By its name."""
    with pytest.raises(InvalidInput, match=f"has no {field}"):
        task_from({name: value for name, value in LEAST.items() if name != field})


@pytest.mark.parametrize(
    "field, value",
    [
        *(("id", 1), ("id", None), ("milestone", 1), ("priority", "1"), ("priority", 1.5), ("priority", True)),
        *(("priority", None), ("status", "finished"), ("status", None), ("description", None), ("created", None)),
        *(("created", "yesterday"), ("created", "2026-02-30"), ("completed", 1), ("completed", "")),
        *(("acceptance_criteria", "green"), ("acceptance_criteria", [1]), ("blocked_by", {}), ("blocked_by", [None])),
    ],
)
def test_a_wrong_value_is_refused_with_its_task(field: str, value: Json) -> None:
    """So that whoever typed it finds it."""
    with pytest.raises(InvalidInput) as refused:
        task_from({**LEAST, field: value})
    assert ("task x" in str(refused.value)) == (field != "id")


@pytest.mark.parametrize(
    "written, said",
    [
        *(("", "not JSON"), ("{", "not JSON"), ("[" * 100_000, "not JSON"), ("9" * 5_000, "not JSON")),
        *(("null", "no object"), ("[]", "no object"), ("{}", "no object"), ('{"tasks": {}}', "no object")),
        *(('{"tasks": [[]]}', "a task is an object"), ('{"tasks": [{}]}', "without an id")),
        ('{"tasks": [{"id": "x", "description": "d", "created": "2026-01-01", "colour": 1}]}', "not known: colour"),
        (json.dumps({"tasks": [LEAST, LEAST]}), "the task x twice"),
    ],
    ids=range(12),
)
def test_what_is_no_tasks_file_is_refused(written: str, said: str) -> None:
    """With one kind of error, whatever is wrong with it."""
    with pytest.raises(InvalidInput, match=said):
        tasks_from(written)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*LEAST, "status"]), inner, max_size=4),
    max_leaves=8,
)


@given(values)
def test_no_json_brings_it_down(value: object) -> None:
    """It is read, or refused with the one kind of error."""
    for whole in (value, {"tasks": value}, {"tasks": [value]}):
        try:
            assert all(isinstance(each, Task) for each in tasks_from(json.dumps(whole)))
        except InvalidInput:
            continue
