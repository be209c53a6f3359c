"""Plans and their steps as rows, and the notes that tending memories keeps."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

import apsw

from ...codec import canonical, decode, encode, from_micros, to_micros
from ...errors import InvalidInput, StoreDamaged
from ...model import Change, Json, MemoryId, Plan, Step, StepState
from ..undoing import REVERSIBLE
from .rows import UNREADABLE, Value, all_rows, row_hash

STEP_COLUMNS = "number, sort, key, why, changes, expects, retires, state"
_SORTS: dict[str, type[Change]] = {kind.__name__: kind for kind in REVERSIBLE.__args__}


def write_step(connection: apsw.Connection, plan: int, step: Step, undo: Json, settled_at: datetime | None) -> None:
    """Write a step, in place of what it was."""
    try:
        changes: Json = [[type(change).__name__, encode(change)] for change in step.changes]
        written = canonical(changes)
        for name, data in json.loads(written):
            decode(_SORTS[name], data)
    except (TypeError, ValueError, RecursionError, InvalidInput) as error:
        raise InvalidInput("steps", f"a change cannot be written down ({error})") from error
    row: tuple[Value, ...] = (
        *(plan, step.number, step.sort, step.key, step.why),
        written,
        canonical([list(each) for each in step.expects]),
        canonical(list(step.retires)),
        step.state.value,
        None if undo is None else canonical(undo),
        None if settled_at is None else to_micros(settled_at),
    )
    connection.execute(
        f"INSERT OR REPLACE INTO steps (plan_id, {STEP_COLUMNS}, undo, settled_at, row_hash)"
        f" VALUES ({', '.join('?' * (len(row) + 1))})",
        (*row, row_hash("steps", row)),
    )


def step_from(row: tuple[Any, ...]) -> Step:
    """The step that a row of `STEP_COLUMNS` holds."""
    number, sort, key, why, changes, expects, retires, state = row
    try:
        return Step(
            number=number,
            sort=sort,
            key=key,
            why=why,
            changes=tuple(decode(_SORTS[name], data) for name, data in json.loads(changes)),
            expects=tuple((MemoryId(memory), version) for memory, version in json.loads(expects)),
            retires=tuple(MemoryId(memory) for memory in json.loads(retires)),
            state=StepState(state),
        )
    except UNREADABLE as error:
        raise StoreDamaged(f"step {number} of a plan", f"its row cannot be read ({error})") from error


def read_plans(connection: apsw.Connection, limit: int) -> Iterator[Plan]:
    """See `Store.plans`."""
    rows: list[tuple[Any, ...]] = connection.execute(
        "SELECT id, sort, made_at, made_by, live FROM plans ORDER BY id DESC LIMIT ?", (limit,)
    ).fetchall()
    for number, sort, made_at, made_by, live in rows:
        states = dict(connection.execute("SELECT state, count(*) FROM steps WHERE plan_id = ? GROUP BY 1", (number,)))
        retires = connection.execute(
            "SELECT ifnull(sum(json_array_length(retires)), 0) FROM steps WHERE plan_id = ? AND state = 'proposed'",
            (number,),
        ).get
        yield Plan(
            id=number,
            sort=sort,
            made_at=from_micros(made_at),
            made_by=made_by,
            live=live,
            states=states,
            retires=int(retires),
        )


def read_steps(connection: apsw.Connection, plan: int, states: Collection[StepState]) -> Iterator[Step]:
    """See `Store.steps`."""
    rows = all_rows(
        connection,
        f"SELECT {STEP_COLUMNS} FROM steps WHERE plan_id = ? AND state IN (SELECT value FROM json_each(?))"
        " ORDER BY number",
        (plan, json.dumps(sorted(states))),
    )
    return map(step_from, rows)


def read_seen(connection: apsw.Connection, fingerprints: Collection[str]) -> dict[str, tuple[int, int]]:
    """See `Store.seen`."""
    rows = all_rows(
        connection,
        "SELECT fingerprint, count(DISTINCT session_id), count(DISTINCT nullif(agent, '')) FROM findings"
        " WHERE fingerprint IN (SELECT value FROM json_each(?)) GROUP BY 1",
        (json.dumps(sorted(fingerprints)),),
    )
    return {each: (sessions, agents) for each, sessions, agents in rows}
