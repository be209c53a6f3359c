"""The order of tasks: what can be begun, where a task may go, what blocks what."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.policy.tasks import (
    SETTLED,
    Task,
    TaskStatus,
    blocking_circle,
    by_readiness,
    checked,
    moved,
    next_id,
    open_blockers,
    ready,
)

DAY = date(2026, 2, 5)
PENDING, BEGUN, BLOCKED, DONE, ARCHIVED = TaskStatus
NAMES = ("a", "b", "c", "d", "e")


def task(
    name: str,
    status: TaskStatus = PENDING,
    *blockers: str,
    priority: int = 3,
    age: int = 0,
    completed: date | None = None,
) -> Task:
    return Task(
        id=name,
        status=status,
        description="work",
        priority=priority,
        created=DAY - timedelta(days=age),
        completed=completed,
        blocked_by=blockers,
    )


tasks = st.builds(
    lambda statuses, blockers, priorities: {
        name: task(name, status, *sorted(held), priority=priority)
        for name, status, held, priority in zip(NAMES, statuses, blockers, priorities, strict=True)
    },
    st.lists(st.sampled_from(TaskStatus), min_size=5, max_size=5),
    st.lists(st.sets(st.sampled_from(NAMES), max_size=3), min_size=5, max_size=5),
    st.lists(st.integers(1, 4), min_size=5, max_size=5),
)


# Order


def test_tasks_stand_in_the_order_they_can_be_worked_on() -> None:
    """Begun, ready, held up, blocked, done, archived; the other fields decide only within each."""
    expected = [
        task("z", BEGUN, priority=9),
        task("a", priority=5),
        task("b", PENDING, "a", priority=1),
        task("c", BLOCKED, priority=1),
        task("d", DONE, priority=1),
        task("e", ARCHIVED, priority=1),
    ]
    for mixed in permutations(expected):
        assert by_readiness(mixed) == expected


def test_among_equals_priority_then_age_then_name() -> None:
    """1 comes first, then what has waited longest."""
    expected = [task("z", priority=1), task("y", priority=2, age=3), task("a", priority=2), task("b", priority=2)]
    assert by_readiness(reversed(expected)) == expected


@given(tasks)
def test_what_is_ready_waits_for_nothing(known: dict[str, Task]) -> None:
    """And what waits for nothing is ready, in the order of the whole list."""
    found = ready(tuple(known.values()))
    wanted = [
        each
        for each in by_readiness(known.values())
        if each.status is PENDING and all(known[name].status in SETTLED for name in each.blocked_by)
    ]
    assert found == wanted


@given(tasks, st.randoms())
def test_the_order_does_not_depend_on_how_they_come(known: dict[str, Task], chance: object) -> None:
    """Each is there once."""
    mixed = list(known.values())
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert by_readiness(mixed) == by_readiness(known.values())
    assert sorted(each.id for each in by_readiness(mixed)) == list(NAMES)


def test_a_blocker_that_is_gone_holds_nothing_up() -> None:
    """Nor one that is done or archived."""
    held = task("x", PENDING, "gone", "done", "archived", "open", "begun")
    known = {
        each.id: each
        for each in (held, task("done", DONE), task("archived", ARCHIVED), task("open"), task("begun", BEGUN))
    }
    assert open_blockers(held, known) == ("open", "begun")


# Moves


ALLOWED = {
    *((PENDING, BEGUN), (PENDING, BLOCKED), (PENDING, DONE), (PENDING, ARCHIVED)),
    *((BEGUN, PENDING), (BEGUN, BLOCKED), (BEGUN, DONE)),
    *((BLOCKED, PENDING), (BLOCKED, BEGUN), (BLOCKED, ARCHIVED)),
    *((DONE, PENDING), (DONE, ARCHIVED), (ARCHIVED, PENDING)),
}


@pytest.mark.row("B5", "status")
@pytest.mark.parametrize("start", TaskStatus)
@pytest.mark.parametrize("end", TaskStatus)
def test_a_task_goes_where_it_may(start: TaskStatus, end: TaskStatus) -> None:
    """Elsewhere it is refused, with where it could go; to stay is no move."""
    there = task("x", start)
    if start is end:
        assert moved(there, end, {"x": there}, DAY) is there
    elif (start, end) in ALLOWED:
        assert moved(there, end, {"x": there}, DAY).status is end
    else:
        with pytest.raises(InvalidInput, match=f"is {start} and can become"):
            moved(there, end, {"x": there}, DAY)


@pytest.mark.parametrize(
    "start, end, before, after",
    [
        (PENDING, DONE, None, DAY),
        (DONE, ARCHIVED, date(2025, 1, 1), date(2025, 1, 1)),
        (PENDING, ARCHIVED, None, None),
        (DONE, PENDING, DAY, None),
        (ARCHIVED, PENDING, DAY, None),
        (BEGUN, DONE, None, DAY),
    ],
)
def test_it_is_dated_when_it_is_completed(
    start: TaskStatus, end: TaskStatus, before: date | None, after: date | None
) -> None:
    """Archived it keeps that date, opened again it has none."""
    there = task("x", start, completed=before)
    assert moved(there, end, {"x": there}, DAY).completed == after


@given(tasks, st.sampled_from(NAMES), st.sampled_from(TaskStatus))
def test_no_move_begins_what_waits(known: dict[str, Task], name: str, status: TaskStatus) -> None:
    """Nor completes it; and nothing but the status and the date changes."""
    try:
        after = moved(known[name], status, known, DAY)
    except InvalidInput:
        return
    if status is not known[name].status and status in (BEGUN, DONE):
        assert open_blockers(known[name], known) == ()
    assert (after.status, after.blocked_by, after.description) == (status, known[name].blocked_by, "work")


# Circles


@given(tasks)
def test_a_circle_is_told_exactly_if_there_is_one(known: dict[str, Task]) -> None:
    """Each step of it is a task and what blocks it; without one, the tasks can be put in a line."""
    circle = blocking_circle(known)
    if circle:
        assert circle[0] == circle[-1]
        assert all(after in known[before].blocked_by for before, after in pairwise(circle))
        return
    left = dict(known)
    while left:
        free = [name for name, each in left.items() if not set(each.blocked_by) & left.keys()]
        assert free
        for name in free:
            del left[name]


def test_a_long_line_of_blockers_is_no_circle() -> None:
    """However long it is; its end tied to its beginning is one."""
    line = {f"t{number}": task(f"t{number}", PENDING, f"t{number + 1}") for number in range(2_000)}
    assert blocking_circle(line) == ()
    tied = line | {"t2000": task("t2000", PENDING, "t0")}
    assert len(blocking_circle(tied)) == 2_002


@pytest.mark.row("B5", "blocked-by")
@pytest.mark.parametrize(
    "wrong, said",
    [
        (task("x", PENDING, "nowhere"), "no task nowhere"),
        (task("x", PENDING, "x"), "circle: x → x"),
        (task("a", PENDING, "b"), "circle: a → b → a"),
        (task("-x"), "no name"),
        (task("x" * 65), "no name"),
        (task("x", priority=0), "priority"),
        (task("x", priority=1_001), "priority"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: Task, said: str) -> None:
    """With what is wrong."""
    others = {"a": task("a"), "b": task("b", PENDING, "a")}
    with pytest.raises(InvalidInput, match=said):
        checked(wrong, others)


def test_what_makes_sense_comes_back_as_it_is() -> None:
    """At the edges of what is allowed."""
    for right in (task("x" * 64), task("TASK-001", priority=1_000), task("a.b_c-d", PENDING, "a", priority=1)):
        assert checked(right, {"a": task("a")}) is right


# Names


@pytest.mark.parametrize(
    "there, name",
    [
        ([], "TASK-001"),
        (["TASK-001", "TASK-009"], "TASK-010"),
        (["docs", "TASK-x", "task-7", "TASK-7b"], "TASK-001"),
        (["TASK-999"], "TASK-1000"),
        (["TASK-7"], "TASK-008"),
    ],
)
def test_the_next_name_follows_the_highest(there: list[str], name: str) -> None:
    """Names that are no numbers do not count."""
    assert next_id(there) == name


@given(st.sets(st.integers(0, 10**9 - 1).map("TASK-{:03d}".format) | st.text(max_size=9), max_size=9))
def test_the_next_name_is_free(there: set[str]) -> None:
    """Whatever there is."""
    assert next_id(there) not in there


def test_the_next_name_is_free_after_a_very_high_one() -> None:
    """A task with that name would be overwritten."""
    assert next_id(["TASK-999999999", "TASK-1000000000"]) != "TASK-1000000000"
