"""`tasks.json`: tasks in a shape that other tools know, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date
from typing import cast

from ..errors import InvalidInput
from ..model import Json
from ..policy.tasks import Task, TaskStatus


def tasks_json(tasks: Iterable[Task]) -> str:
    """The whole file, in the order of ids, so that a change changes few lines."""
    ordered = sorted(tasks, key=lambda task: task.id)
    return json.dumps({"tasks": [task_json(task) for task in ordered]}, ensure_ascii=False, indent=2) + "\n"


def task_json(task: Task) -> dict[str, Json]:
    """One task as the file has it."""
    return {
        "id": task.id,
        "milestone": task.milestone,
        "priority": task.priority,
        "status": task.status.value,
        "description": task.description,
        "acceptance_criteria": list(task.acceptance_criteria),
        "created": task.created.isoformat(),
        "completed": task.completed.isoformat() if task.completed else None,
        "blocked_by": list(task.blocked_by),
    }


def tasks_from(text: str) -> list[Task]:
    """The tasks that a file holds. Raises InvalidInput, with the task and field, where it is not what it should be."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("tasks.json", f"is not JSON ({error})") from error
    listed = document.get("tasks") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise InvalidInput("tasks.json", 'is no object with a list of "tasks"')
    tasks = [task_from(cast(Json, each)) for each in listed]
    names = [task.id for task in tasks]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput("tasks.json", f"has the task {twice} twice")
    return tasks


def task_from(data: Json) -> Task:
    """One task from its JSON; fields that are not known are refused rather than lost."""
    if not isinstance(data, Mapping):
        raise InvalidInput("tasks.json", "a task is an object")
    name = data.get("id")
    where = f"task {name}" if isinstance(name, str) else "a task without an id"
    unknown = set(data) - set(_FIELDS)
    if unknown:
        raise InvalidInput(where, f"has a field that is not known: {sorted(unknown)[0]}")
    try:
        return Task(
            id=_text(data["id"]),
            milestone=None if data.get("milestone") is None else _text(data["milestone"]),
            priority=_whole(data.get("priority", 3)),
            status=TaskStatus(_text(data.get("status", "pending"))),
            description=_text(data["description"]),
            acceptance_criteria=_texts(data.get("acceptance_criteria", [])),
            created=date.fromisoformat(_text(data["created"])),
            completed=None if data.get("completed") is None else date.fromisoformat(_text(data["completed"])),
            blocked_by=_texts(data.get("blocked_by", [])),
        )
    except KeyError as error:
        raise InvalidInput(where, f"has no {error.args[0]}") from error
    except (TypeError, ValueError) as error:
        raise InvalidInput(where, str(error)) from error


_FIELDS = (
    *("id", "milestone", "priority", "status", "description", "acceptance_criteria", "created", "completed"),
    "blocked_by",
)


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _whole(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _texts(value: Json) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list of texts")
    return tuple(_text(each) for each in value)
