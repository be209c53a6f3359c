"""Tasks: what is to be done, in which order, and what keeps it from being done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

from ..errors import InvalidInput

MOST_CRITERIA = 50
LONGEST_TEXT = 2_000
LOWEST_PRIORITY = 1_000


class TaskStatus(StrEnum):
    """Where a task stands."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    ARCHIVED = "archived"


SETTLED = frozenset({TaskStatus.COMPLETED, TaskStatus.ARCHIVED})
"""A task that stands so holds up no other."""

_STEPS: Mapping[TaskStatus, frozenset[TaskStatus]] = {
    TaskStatus.PENDING: frozenset(
        {TaskStatus.IN_PROGRESS, TaskStatus.BLOCKED, TaskStatus.COMPLETED, TaskStatus.ARCHIVED}
    ),
    TaskStatus.IN_PROGRESS: frozenset({TaskStatus.PENDING, TaskStatus.BLOCKED, TaskStatus.COMPLETED}),
    TaskStatus.BLOCKED: frozenset({TaskStatus.PENDING, TaskStatus.IN_PROGRESS, TaskStatus.ARCHIVED}),
    TaskStatus.COMPLETED: frozenset({TaskStatus.PENDING, TaskStatus.ARCHIVED}),
    TaskStatus.ARCHIVED: frozenset({TaskStatus.PENDING}),
}
"""From where to where a task may go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One piece of work: the fields of `tasks.json`, in its order."""

    id: str
    milestone: str | None = None
    priority: int = 3
    """1 comes first."""
    status: TaskStatus = TaskStatus.PENDING
    description: str
    acceptance_criteria: tuple[str, ...] = ()
    created: date
    completed: date | None = None
    blocked_by: tuple[str, ...] = ()


def checked(task: Task, others: Mapping[str, Task]) -> Task:
    """The task, if it makes sense beside the others: a name, a text, blockers that are there, and no circle."""
    if not _ID.fullmatch(task.id):
        raise InvalidInput(
            "id", f"{task.id[:64]!r} is no name for a task; letters, digits, - and _ are, as in TASK-001"
        )
    if not task.description.strip() or len(task.description) > LONGEST_TEXT:
        raise InvalidInput("description", f"is empty or longer than {LONGEST_TEXT:,} characters")
    if not 1 <= task.priority <= LOWEST_PRIORITY:
        raise InvalidInput("priority", f"{task.priority} is not from 1, which comes first, to {LOWEST_PRIORITY:,}")
    if len(task.acceptance_criteria) > MOST_CRITERIA:
        raise InvalidInput("acceptance_criteria", f"are more than {MOST_CRITERIA}")
    for each in task.blocked_by:
        if each != task.id and each not in others:
            raise InvalidInput("blocked_by", f"there is no task {each}")
    circle = blocking_circle({**others, task.id: task})
    if circle:
        raise InvalidInput("blocked_by", f"would go round in a circle: {' → '.join(circle)}")
    return task


_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def blocking_circle(tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """Tasks that block each other in a circle, the first again at the end; empty if there is none."""
    done: set[str] = set()
    for start in sorted(tasks):
        path: list[str] = []
        ahead: list[tuple[str, bool]] = [(start, False)]
        while ahead:
            name, leaving = ahead.pop()
            if leaving:
                path.pop()
                done.add(name)
            elif name in path:
                return (*path[path.index(name) :], name)
            elif name not in done and name in tasks:
                path.append(name)
                ahead.append((name, True))
                ahead += ((other, False) for other in reversed(tasks[name].blocked_by))
    return ()


def open_blockers(task: Task, tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """The tasks that still hold a task up."""
    return tuple(each for each in task.blocked_by if each in tasks and tasks[each].status not in SETTLED)


def by_readiness(tasks: Iterable[Task]) -> list[Task]:
    """Tasks in the order in which they can be worked on: begun, ready, held up, done; each by priority and age."""
    known = {task.id: task for task in tasks}
    return sorted(known.values(), key=lambda task: (_rank(task, known), task.priority, task.created, task.id))


def ready(tasks: Sequence[Task]) -> list[Task]:
    """The tasks that can be begun now, the next first."""
    known = {task.id: task for task in tasks}
    return [
        task for task in by_readiness(tasks) if task.status is TaskStatus.PENDING and not open_blockers(task, known)
    ]


def _rank(task: Task, known: Mapping[str, Task]) -> int:
    if task.status is TaskStatus.IN_PROGRESS:
        return 0
    if task.status is TaskStatus.PENDING:
        return 2 if open_blockers(task, known) else 1
    return {TaskStatus.BLOCKED: 3, TaskStatus.COMPLETED: 4, TaskStatus.ARCHIVED: 5}[task.status]


def moved(task: Task, status: TaskStatus, tasks: Mapping[str, Task], today: date) -> Task:
    """The task in another status, if it may go there from where it is."""
    if status is task.status:
        return task
    if status not in _STEPS[task.status]:
        allowed = ", ".join(sorted(_STEPS[task.status]))
        raise InvalidInput("status", f"task {task.id} is {task.status} and can become {allowed}, not {status}")
    waiting = open_blockers(task, tasks)
    if waiting and status in (TaskStatus.IN_PROGRESS, TaskStatus.COMPLETED):
        raise InvalidInput("status", f"task {task.id} waits for {', '.join(waiting)}")
    completed = today if status is TaskStatus.COMPLETED else task.completed if status in SETTLED else None
    return replace(task, status=status, completed=completed)


def next_id(tasks: Iterable[str]) -> str:
    """The next name after those there are: TASK-001, TASK-002 …"""
    numbers = [int(found[1]) for each in tasks if (found := _NUMBERED.fullmatch(each))]
    return f"TASK-{max(numbers, default=0) + 1:03d}"


_NUMBERED = re.compile(r"TASK-([0-9]{1,18})")
