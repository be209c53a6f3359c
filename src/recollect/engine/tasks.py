"""Task memory: kept in the store, shown in `tasks.json`, and taken back from there when somebody edits it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TypeAlias

from ..disk import write_private
from ..errors import InvalidInput, NotFound
from ..formats.tasks_file import task_from, task_json, tasks_from, tasks_json
from ..model import OCCUPYING, Change, Condition, Define, Json, Mark, Op, Status
from ..policy.admit import clean_text
from ..policy.tasks import LONGEST_TEXT, SETTLED, Task, TaskStatus, by_readiness, checked, moved, next_id, ready
from ..store import Store
from .parts import Parts

_Changes: TypeAlias = list[Change]

SORT = "task"
FILE = "tasks.json"
_BASE = ".tasks.json.base"


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenTasks:
    """What was taken over from an edited `tasks.json`."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """Tasks of which the file and the store had changed the same field; the store's stands, the file is set aside."""
    problem: str = ""
    """Why nothing was taken over; the file is as it was."""


class Tasks:
    """The tasks of one project."""

    def __init__(self, parts: Parts, folder: Path | None) -> None:
        """`folder` is where `tasks.json` lies; None keeps none."""
        self._parts = parts
        self._folder = folder

    def list(self, *, milestone: str | None = None, archived: bool = False) -> tuple[Task, ...]:
        """The tasks in the order in which they can be worked on."""
        return tuple(
            task
            for task in by_readiness(self._all().values())
            if (archived or task.status is not TaskStatus.ARCHIVED) and milestone in (None, task.milestone)
        )

    def get(self, name: str) -> Task:
        """One task."""
        found = self._all().get(name)
        if found is None:
            raise NotFound("task", name[:64])
        return found

    def next(self) -> Task | None:
        """The task to begin next: the most pressing one that nothing holds up; None where there is none."""
        return next(iter(ready(tuple(self._all().values()))), None)

    def to_do(self, most: int = 5) -> tuple[str, ...]:
        """What is being worked on and what can be begun, a line each for an agent to read."""
        doing = [task for task in self.list() if task.status is TaskStatus.IN_PROGRESS]
        waiting = [task for task in ready(tuple(self._all().values())) if task not in doing]
        return tuple(
            f"Task {task.id} ({task.status.replace('_', ' ')}): {task.description}"
            for task in [*doing, *waiting][:most]
        )

    def create(
        self,
        description: str,
        *,
        name: str | None = None,
        milestone: str | None = None,
        priority: int = 3,
        criteria: Iterable[str] = (),
        blocked_by: Iterable[str] = (),
    ) -> Task:
        """Make a task; without a name it gets the next number."""
        there = self._all()
        if name is not None and name in there:
            raise InvalidInput("name", f"there is a task {name} already")
        task = Task(
            id=name or next_id(there),
            milestone=_clean("milestone", milestone),
            priority=priority,
            description=clean_text("description", description, LONGEST_TEXT),
            acceptance_criteria=tuple(clean_text("criteria", each, LONGEST_TEXT) for each in criteria),
            created=self._parts.clock().date(),
            blocked_by=tuple(dict.fromkeys(blocked_by)),
        )
        return self._keep(checked(task, there))

    def change(
        self,
        name: str,
        *,
        description: str | None = None,
        milestone: str | None = None,
        priority: int | None = None,
        criteria: Iterable[str] | None = None,
        blocked_by: Iterable[str] | None = None,
    ) -> Task:
        """Give a task other values; None leaves one as it is."""
        there = self._all()
        before = self.get(name)
        after = replace(
            before,
            description=before.description
            if description is None
            else clean_text("description", description, LONGEST_TEXT),
            milestone=before.milestone if milestone is None else _clean("milestone", milestone or None),
            priority=before.priority if priority is None else priority,
            acceptance_criteria=before.acceptance_criteria
            if criteria is None
            else tuple(clean_text("criteria", each, LONGEST_TEXT) for each in criteria),
            blocked_by=before.blocked_by if blocked_by is None else tuple(dict.fromkeys(blocked_by)),
        )
        return self._keep(checked(after, there))

    def move(self, name: str, status: TaskStatus | str) -> Task:
        """Start, finish, block, reopen or archive a task. Nothing does this by itself.

        When a task ends, done or given up, what belongs to it alone is archived with it; promote first what should
        stay.
        """
        try:
            wanted = TaskStatus(status)
        except ValueError as error:
            raise InvalidInput("status", f"{status!r} is not one of {', '.join(TaskStatus)}") from error
        there = self._all()
        return self._keep(moved(self.get(name), wanted, there, self._parts.clock().date()))

    def archive_milestone(self, milestone: str) -> tuple[Task, ...]:
        """Archive the completed tasks of a milestone."""
        done = [
            task for task in self._all().values() if task.milestone == milestone and task.status is TaskStatus.COMPLETED
        ]
        return tuple(self.move(task.id, TaskStatus.ARCHIVED) for task in done)

    # --- The file --------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write `tasks.json`, if it is not what it should be already."""
        if self._folder is None:
            return
        text = tasks_json(self._all().values())
        for name in (FILE, _BASE):
            path = self._folder / name
            if _bytes(path) != text.encode():
                write_private(path, [text])

    def take_edits(self) -> TakenTasks:
        """Take over what somebody changed in `tasks.json` since it was last written.

        Each field by itself: what only the file changed is taken, what both changed to something else stays as the
        store has it, and then the file as it was is kept beside it.
        """
        data = self._edited()
        if data is None or self._folder is None:
            return TakenTasks()
        self._parts.switch.require_on()
        try:
            edited = data.decode("utf-8-sig")
            theirs = {task.id: task for task in tasks_from(edited)}
            before = {task.id: task for task in tasks_from((self._folder / _BASE).read_text(encoding="utf-8"))}
            taken = self._merge(before, theirs)
        except (InvalidInput, UnicodeDecodeError) as error:
            return TakenTasks(problem=f"{FILE} was left as it is: {error}")
        if taken.kept:
            stamp = self._parts.clock().strftime("%Y%m%dT%H%M%SZ")
            write_private(self._folder / f"{FILE}.edited-{stamp}", [edited])
        self.write()
        return taken

    def _merge(self, before: dict[str, Task], theirs: dict[str, Task]) -> TakenTasks:
        ours = self._all()
        wanted: dict[str, Task] = {}
        kept: list[str] = []
        for name, task in theirs.items():
            if name not in ours:
                wanted[name] = task
                continue
            merged, clash = _merged(before.get(name), ours[name], task)
            if merged != ours[name]:
                wanted[name] = merged
            if clash:
                kept.append(name)
        gone = [name for name in before if name not in theirs and name in ours]
        for name in gone:
            wanted[name] = replace(ours[name], status=TaskStatus.ARCHIVED)
        together = {**ours, **wanted}
        settled = [checked(_redacted(task), together) for task in wanted.values()]
        changes = [change for task in settled for change in self._changes(task)]
        if changes:
            self._store.apply(changes, actor=f"{self._parts.actor} in {FILE}", now=self._parts.clock())
        return TakenTasks(
            added=tuple(name for name in wanted if name not in ours),
            changed=tuple(name for name in wanted if name in ours and name not in gone),
            archived=tuple(gone),
            kept=tuple(kept),
        )

    # --- The store -------------------------------------------------------------------------------------------------

    @property
    def _store(self) -> Store:
        return self._parts.project()

    def _all(self) -> dict[str, Task]:
        return {each.name: task_from(each.value) for each in self._store.definitions(SORT)}

    def _keep(self, task: Task) -> Task:
        self._parts.switch.require_on()
        self._store.apply(self._changes(task), actor=self._parts.actor, now=self._parts.clock())
        # An edit that nobody has taken back yet is not written over: it is taken back first, or left where it is.
        if self._edited() is None or not self.take_edits().problem:
            self.write()
        return task

    def _changes(self, task: Task) -> _Changes:
        """What it takes to have a task stand so: one that has ended takes its memories along."""
        defined = _defined(task)
        if task.status not in SETTLED:
            return [defined]
        where = (
            Condition("owner", Op.EQ, f"task:{task.id}"),
            Condition("status", Op.IN, tuple(sorted(OCCUPYING))),
        )
        own = self._store.query(where, limit=None)
        return [defined, *(Mark(id=memory.id, status=Status.ARCHIVED) for memory in own)]

    def _edited(self) -> bytes | None:
        """What somebody has made of `tasks.json` since it was last written; None if it is as it was."""
        if self._folder is None:
            return None
        found, base = _bytes(self._folder / FILE), _bytes(self._folder / _BASE)
        return None if found is None or base is None or found == base else found


def as_json(task: Task) -> dict[str, Json]:
    """A task as `tasks.json` has it."""
    return task_json(task)


def _defined(task: Task) -> Define:
    return Define(sort=SORT, name=task.id, value=task_json(task), note={"task": task.id, "status": task.status.value})


def _redacted(task: Task) -> Task:
    return replace(
        task,
        milestone=_clean("milestone", task.milestone),
        description=clean_text("description", task.description, LONGEST_TEXT),
        acceptance_criteria=tuple(clean_text("criteria", each, LONGEST_TEXT) for each in task.acceptance_criteria),
    )


def _clean(field: str, text: str | None) -> str | None:
    return None if text is None else clean_text(field, text, _NAME)


_NAME = 256


_NOTHING = object()
"""What a field was that neither side had before."""


def _merged(before: Task | None, ours: Task, theirs: Task) -> tuple[Task, bool]:
    """The store's task with what only the file changed, and whether both changed the same to something else."""
    taken: dict[str, object] = {}
    clash = False
    for name in (each.name for each in fields(Task)):
        base = getattr(before, name) if before is not None else _NOTHING
        here, there = getattr(ours, name), getattr(theirs, name)
        if there in (base, here):
            continue
        if here == base:
            taken[name] = there
        else:
            clash = True
    return replace(ours, **taken) if taken else ours, clash  # type: ignore[arg-type]


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
