"""Memories as rows: columns to values and back, and the derived rows that go with each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias, cast

import apsw

from ...codec import canonical, decode, digest, encode, from_micros, to_micros
from ...errors import InvalidInput, StoreDamaged
from ...model import (
    Anchor,
    Definition,
    Json,
    Kind,
    Memory,
    Origin,
    Procedure,
    Provenance,
    Reinforcement,
    Scope,
    Source,
    Status,
    Version,
)
from ...policy.identity import state_hash

Value: TypeAlias = int | float | str | None

_TIMES = frozenset({"created_at", "updated_at", "accessed_at", "last_hit_at", "confirmed_at", "valid_from", "valid_to"})
_WORDS: dict[str, dict[str, StrEnum]] = {
    name: {word.value: word for word in words}
    for name, words in (("kind", Kind), ("scope", Scope), ("status", Status), ("origin", Origin), ("source", Source))
}
_LISTS: dict[str, type] = {"provenance": Provenance, "reinforcements": Reinforcement, "anchors": Anchor}
_PLAIN_LISTS = frozenset({"tags", "triggers", "message_range"})

COLUMNS = (
    *("id", "uid", "version", "content", "kind", "scope", "status", "importance", "confidence", "trust", "strength"),
    *("score", "access_count", "created_at", "updated_at", "accessed_at", "last_hit_at", "confirmed_at"),
    *("valid_from", "valid_to", "origin", "source", "session_id", "task_id", "narrative_id", "agent", "host"),
    *("season", "stage", "fingerprint", "content_hash", "token_cost", "superseded_by", "provenance"),
    *("reinforcements", "message_range", "anchors", "tags", "triggers", "procedure", "payload"),
)
"""A memory's fields in the order its row is read and written."""

SELECTED = ", ".join(f"m.{name}" for name in COLUMNS)
_STORED = (*COLUMNS, "owner", "state_hash", "recorded_at")
_INSERT = f"INSERT INTO memories ({', '.join(_STORED)}) VALUES ({', '.join('?' * len(_STORED))})"
_UPDATE = f"UPDATE memories SET {', '.join(f'{name} = ?' for name in _STORED[1:])} WHERE id = ?"


UNREADABLE = (ValueError, KeyError, TypeError, OverflowError, RecursionError, InvalidInput)
"""What comes of decoding a value that was damaged or made up."""


def _to_json(held: object) -> str:
    return canonical(encode(held))


def _values_of(kind: type) -> Callable[[str], object]:
    def decode_values(text: str) -> object:
        return tuple(decode(kind, item) for item in json.loads(text))

    return decode_values


def _plain_values(text: str) -> object:
    return tuple(json.loads(text))


def _procedure(text: str) -> object:
    return decode(Procedure, json.loads(text))


_WRITERS: dict[str, Callable[[Any], Value]] = {
    **dict.fromkeys(_TIMES, to_micros),
    **dict.fromkeys((*_LISTS, *_PLAIN_LISTS, "procedure", "payload"), _to_json),
}
_READERS: dict[str, Callable[[Any], object]] = {
    **dict.fromkeys(_TIMES, from_micros),
    **{name: words.__getitem__ for name, words in _WORDS.items()},
    **{name: _values_of(kind) for name, kind in _LISTS.items()},
    **dict.fromkeys(_PLAIN_LISTS, _plain_values),
    "procedure": _procedure,
    "payload": json.loads,
}
_COLUMN_WRITERS = [(name, _WRITERS.get(name)) for name in COLUMNS]
_COLUMN_READERS = [(name, _READERS.get(name)) for name in COLUMNS]


def to_row(memory: Memory, state: str, recorded_at: datetime) -> list[Value]:
    """The values of a memory's row, in the order of the stored columns."""
    row: list[Value] = []
    for name, write in _COLUMN_WRITERS:
        held = getattr(memory, name)
        row.append(None if held is None or held == () else write(held) if write else held)
    return [*row, memory.owner, state, to_micros(recorded_at)]


def from_row(row: tuple[Any, ...]) -> Memory:
    """The memory that a row of `COLUMNS` holds."""
    try:
        values: dict[str, Any] = {
            name: read(held) if read else held
            for (name, read), held in zip(_COLUMN_READERS, row, strict=False)
            if held is not None
        }
        return Memory(**values)
    except UNREADABLE as error:
        raise StoreDamaged(f"memory {row[0]}", f"its row cannot be read ({error})") from error


def read_memories(
    connection: apsw.Connection, sql: str, bindings: tuple[Value, ...] | list[Value] = ()
) -> Iterator[Memory]:
    """The memories of a query that selects `SELECTED` first."""
    return map(from_row, connection.execute(sql, bindings))


def read_memory(connection: apsw.Connection, condition: str, *values: Value) -> Memory | None:
    """The one memory for which a condition over `memories m` holds."""
    row = first_row(connection, f"SELECT {SELECTED} FROM memories m WHERE {condition}", *values)
    return None if row is None else from_row(row)


def all_rows(connection: apsw.Connection, sql: str, values: Any = ()) -> list[Any]:
    """Every row at once. A cursor that somebody holds while its connection runs something else is never let go of."""
    return connection.execute(sql, values).fetchall()


def first_row(connection: apsw.Connection, sql: str, *values: Value) -> tuple[Any, ...] | None:
    """The first row of a query, or None. The query is run to its end: a cursor left open would hold its connection to
    the moment of that query, and later reads on it would not see what was written since.
    """
    rows = connection.execute(sql, values).fetchall()
    return rows[0] if rows else None


def insert_row(connection: apsw.Connection, memory: Memory, state: str, recorded_at: datetime) -> int:
    """Store a memory's row; an id of 0 takes the next free one. Returns the id."""
    row = to_row(memory, state, recorded_at)
    if not row[0]:
        row[0] = None
    connection.execute(_INSERT, row)
    return connection.last_insert_rowid()


def update_row(connection: apsw.Connection, memory: Memory, state: str, recorded_at: datetime) -> None:
    """Write a memory over the row it has."""
    connection.execute(_UPDATE, [*to_row(memory, state, recorded_at)[1:], memory.id])


def row_hash(table: str, values: Iterable[Value]) -> str:
    """What vouches for a row of links or feedback: a hash over all its other columns, in their order."""
    return digest(table, canonical(list(values)))


def version_row(version: Version) -> list[Value]:
    """The values of a version's row."""
    state = canonical(encode(version.memory))
    return [
        version.memory.id,
        version.memory.version,
        to_micros(version.recorded_from),
        to_micros(version.recorded_to),
        state,
        state_hash(version.memory),
    ]


def version_from(state: str, recorded_from: int, recorded_to: int) -> Version:
    """The version that a row holds."""
    try:
        memory = decode(Memory, cast(Json, json.loads(state)))
    except UNREADABLE as error:
        raise StoreDamaged("versions", f"a version cannot be read ({error})") from error
    return Version(memory=memory, recorded_from=from_micros(recorded_from), recorded_to=from_micros(recorded_to))


def definition_from(row: tuple[Any, ...]) -> Definition:
    """The definition that a row holds."""
    sort, name, value, made_by, updated = row
    try:
        return Definition(
            sort=sort, name=name, value=json.loads(value), made_by=made_by, updated_at=from_micros(updated)
        )
    except UNREADABLE as error:
        raise StoreDamaged(f"definition of {sort} {name}", f"its row cannot be read ({error})") from error
