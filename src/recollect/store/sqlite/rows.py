"""Memories as rows: columns to values and back, and the derived rows that go with each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import apsw

from ...codec import canonical, decode, encode, from_micros, to_micros
from ...errors import InvalidInput, StoreDamaged
from ...model import (
    Anchor,
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
from ...policy.query import index_words

_TIMES = frozenset({"created_at", "updated_at", "accessed_at", "last_hit_at", "confirmed_at", "valid_from", "valid_to"})
_WORDS: dict[str, Callable[[str], object]] = {
    "kind": Kind,
    "scope": Scope,
    "status": Status,
    "origin": Origin,
    "source": Source,
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
_STORED = (*COLUMNS, "owner", "state_hash")
_INSERT = f"INSERT INTO memories ({', '.join(_STORED)}) VALUES ({', '.join('?' * len(_STORED))})"
_UPDATE = f"UPDATE memories SET {', '.join(f'{name} = ?' for name in _STORED[1:])} WHERE id = ?"

Value = None | int | float | str


def _to_column(name: str, held: Any) -> Value:
    if held is None or held == ():
        return None
    if name in _TIMES:
        return to_micros(held)
    if name in _LISTS or name in _PLAIN_LISTS or name in ("procedure", "payload"):
        return canonical(encode(held))
    return cast(Value, held)


def _from_column(name: str, held: Any) -> Any:
    if name in _TIMES:
        return from_micros(held)
    if name in _WORDS:
        return _WORDS[name](held)
    if name in _LISTS:
        return tuple(decode(_LISTS[name], item, name) for item in json.loads(held))
    if name in _PLAIN_LISTS:
        return tuple(json.loads(held))
    if name == "procedure":
        return decode(Procedure, json.loads(held), name)
    return json.loads(held) if name == "payload" else held


def to_row(memory: Memory) -> list[Value]:
    """The values of a memory's row, in the order of the stored columns."""
    row = [_to_column(name, getattr(memory, name)) for name in COLUMNS]
    return [*row, memory.owner, state_hash(memory)]


def from_row(row: tuple[Any, ...]) -> Memory:
    """The memory that a row of `COLUMNS` holds."""
    try:
        values = {name: _from_column(name, held) for name, held in zip(COLUMNS, row, strict=False) if held is not None}
        return Memory(**values)
    except (ValueError, TypeError, InvalidInput) as error:
        raise StoreDamaged(f"memory {row[0]}", f"its row cannot be read ({error})") from error


def read_memories(
    connection: apsw.Connection, sql: str, bindings: tuple[Value, ...] | list[Value] = ()
) -> Iterator[Memory]:
    """The memories of a query that selects `SELECTED` first."""
    cursor = connection.execute(sql, bindings)
    for row in cursor:
        yield from_row(row)


def insert_row(connection: apsw.Connection, memory: Memory) -> int:
    """Store a memory's row; an id of 0 takes the next free one. Returns the id."""
    row = to_row(memory)
    if not row[0]:
        row[0] = None
    connection.execute(_INSERT, row)
    return connection.last_insert_rowid()


def update_row(connection: apsw.Connection, memory: Memory) -> None:
    """Write a memory over the row it has."""
    connection.execute(_UPDATE, [*to_row(memory)[1:], memory.id])


def version_row(memory_id: int, version: Version) -> list[Value]:
    """The values of a version's row."""
    state = canonical(encode(version.memory))
    return [
        memory_id,
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
    except (ValueError, InvalidInput) as error:
        raise StoreDamaged("versions", f"a version cannot be read ({error})") from error
    return Version(memory=memory, recorded_from=from_micros(recorded_from), recorded_to=from_micros(recorded_to))


# --- What is derived from a memory's row ---------------------------------------------------------------------------


def lexemes(memory: Memory) -> tuple[str, str, str, str, str]:
    """The words under which a memory is indexed, field by field: content, tags, files, source, kind."""
    return (
        " ".join(index_words(memory.content)),
        " ".join(index_words(" ".join(memory.tags))),
        " ".join(index_words(" ".join(memory.files))),
        memory.source.value,
        " ".join(index_words(memory.kind.value)),
    )


@dataclass(slots=True)
class Tally:
    """Changes to the statistics of the index, gathered over a transaction and written once at its end."""

    holding: Counter[str] = field(default_factory=Counter)
    memories: int = 0
    words: int = 0

    def count(self, fields: Iterable[str], change: int) -> None:
        """One memory more, or less, with these words."""
        words = [word for each in fields for word in each.split()]
        self.memories += change
        self.words += change * len(words)
        for word in set(words):
            self.holding[word] += change


def index_memory(connection: apsw.Connection, memory: Memory, tally: Tally) -> None:
    """Enter a memory in every index. A forgotten one is in none."""
    if memory.status is Status.FORGOTTEN:
        return
    fields = lexemes(memory)
    connection.execute(
        "INSERT INTO words (rowid, content, tags, files, source, kind) VALUES (?, ?, ?, ?, ?, ?)",
        (memory.id, *fields),
    )
    for tag in memory.tags:
        connection.execute("INSERT INTO memory_tags (tag, memory_id) VALUES (?, ?)", (tag, memory.id))
    for path in memory.files:
        connection.execute("INSERT INTO memory_files (path, memory_id) VALUES (?, ?)", (path, memory.id))
    tally.count(fields, 1)


def unindex_memory(connection: apsw.Connection, memory_id: int, tally: Tally) -> None:
    """Remove a memory from every index; leaves nothing behind, not even the count of a word only it held."""
    for fields in connection.execute(
        "SELECT content, tags, files, source, kind FROM words WHERE rowid = ?", (memory_id,)
    ).fetchall():
        tally.count(map(str, fields), -1)
    for statement in (
        "DELETE FROM words WHERE rowid = ?",
        "DELETE FROM memory_tags WHERE memory_id = ?",
        "DELETE FROM memory_files WHERE memory_id = ?",
    ):
        connection.execute(statement, (memory_id,))


def indexed_alike(before: Memory, after: Memory) -> bool:
    """Whether the indexes need not be touched."""
    return (
        before.content == after.content
        and before.tags == after.tags
        and before.files == after.files
        and before.kind is after.kind
        and before.source is after.source
        and (before.status is Status.FORGOTTEN) == (after.status is Status.FORGOTTEN)
    )


def read_size(connection: apsw.Connection) -> tuple[int, int]:
    """How many memories the index holds, and how many words."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'index_size'").fetchone()
    memories, _, words = str(row[0]).partition(" ") if row else ("0", "", "0")
    return int(memories), int(words)


def write_tally(connection: apsw.Connection, tally: Tally) -> None:
    """Add what was gathered to the statistics of the index."""
    moved = [(word, change) for word, change in tally.holding.items() if change]
    if moved or tally.words or tally.memories:
        memories, words = read_size(connection)
        connection.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('index_size', ?)",
            (f"{memories + tally.memories} {words + tally.words}",),
        )
    connection.executemany(
        "INSERT INTO terms (word, memories) VALUES (?, ?)"
        " ON CONFLICT (word) DO UPDATE SET memories = memories + excluded.memories",
        moved,
    )
    connection.executemany(
        "DELETE FROM terms WHERE word = ? AND memories <= 0", [(word,) for word, change in moved if change < 0]
    )
