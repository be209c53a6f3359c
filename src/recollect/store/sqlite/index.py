"""What is derived from a memory's row: its words in the full-text index, its tags and files, counts of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

import apsw

from ...model import Memory, Status
from ...policy.query import index_words
from ...policy.stem import stem
from .rows import first_row


def lexemes(memory: Memory) -> tuple[str, str, str, str, str]:
    """The stems under which a memory is indexed, field by field: content, tags, files, source, kind."""
    return (
        _stems(memory.content),
        _stems(" ".join(memory.tags)),
        _stems(" ".join(memory.files)),
        _stems(memory.source.value),
        _stems(memory.kind.value),
    )


def _stems(text: str) -> str:
    return " ".join(map(stem, index_words(text)))


@dataclass(slots=True)
class Tally:
    """Changes to the statistics of the index, gathered over a transaction and written once at its end."""

    holding: Counter[str] = field(default_factory=Counter)
    memories: int = 0
    words: int = 0

    def count(self, fields: Iterable[str | None], change: int) -> None:
        """One memory more, or less, with these words."""
        words = [word for each in fields if each for word in each.split()]
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
    for tag in dict.fromkeys(memory.tags):
        connection.execute("INSERT INTO memory_tags (tag, memory_id) VALUES (?, ?)", (tag, memory.id))
    for path in memory.files:
        connection.execute("INSERT INTO memory_files (path, memory_id) VALUES (?, ?)", (path, memory.id))
    tally.count(fields, 1)


def unindex_memory(connection: apsw.Connection, memory_id: int, tally: Tally) -> None:
    """Remove a memory from every index; leaves nothing behind, not even the count of a word only it held."""
    for fields in connection.execute(
        "SELECT content, tags, files, source, kind FROM words WHERE rowid = ?", (memory_id,)
    ).fetchall():
        tally.count(cast(tuple[str | None, ...], fields), -1)
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
    row = first_row(connection, "SELECT value FROM meta WHERE key = 'index_size'")
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
