"""What is derived from a row: the words of memories and passages in the full-text index, tags, files, word counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import cast

import apsw

from ...model import Corpus, Memory, Passage, Status
from ...policy.words import MEMORY_FIELDS, PASSAGE_FIELDS, memory_fields, passage_fields
from .rows import first_row


@dataclass(frozen=True, slots=True)
class WordIndex:
    """Where the words of a corpus are kept and counted."""

    corpus: Corpus
    table: str
    fields: tuple[str, ...]
    boosts: tuple[float, ...]

    @property
    def size_key(self) -> str:
        return "index_size" if self.corpus is Corpus.MEMORY else f"index_size:{self.corpus}"

    @property
    def score(self) -> str:
        """What the best match is least in, as SQL."""
        return f"bm25({self.table}, {', '.join(map(str, self.boosts))})"

    @property
    def rows(self) -> str:
        """The table whose rows are indexed, under the name that filters use."""
        return "memories m" if self.corpus is Corpus.MEMORY else "passages m"


def index_of(corpus: Corpus) -> WordIndex:
    """The index of a corpus."""
    if corpus is Corpus.MEMORY:
        return WordIndex(corpus, "words", ("content", "tags", "files", "source", "kind"), MEMORY_FIELDS)
    return WordIndex(corpus, f"{corpus}_words", ("content", "label", "moment", "document"), PASSAGE_FIELDS)


@dataclass(slots=True)
class Tally:
    """Changes to the statistics of an index, gathered over a transaction and written once at its end."""

    holding: Counter[str] = field(default_factory=Counter)
    texts: int = 0
    words: int = 0

    def count(self, fields: Iterable[str | None], change: int) -> None:
        """One text more, or less, with these words."""
        words = [word for each in fields if each for word in each.split()]
        self.texts += change
        self.words += change * len(words)
        for word in set(words):
            self.holding[word] += change


def index_memory(connection: apsw.Connection, memory: Memory, tally: Tally) -> None:
    """Enter a memory in every index. A forgotten one is in none."""
    if memory.status is Status.FORGOTTEN:
        return
    fields = memory_fields(memory)
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


def index_passage(connection: apsw.Connection, passage: Passage, tally: Tally) -> None:
    """Enter a passage in the index of its corpus."""
    fields = passage_fields(passage)
    table = index_of(passage.corpus).table
    connection.execute(
        f"INSERT INTO {table} (rowid, content, label, moment, document) VALUES (?, ?, ?, ?, ?)",
        (passage.id, *fields),
    )
    tally.count(fields, 1)


def unindex_passage(connection: apsw.Connection, corpus: Corpus, passage_id: int, tally: Tally) -> None:
    """Remove a passage from the index of its corpus, under the words that it was entered with."""
    table = index_of(corpus).table
    for fields in connection.execute(
        f"SELECT content, label, moment, document FROM {table} WHERE rowid = ?", (passage_id,)
    ).fetchall():
        tally.count(cast(tuple[str | None, ...], fields), -1)
    connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (passage_id,))


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


def read_size(connection: apsw.Connection, corpus: Corpus = Corpus.MEMORY) -> tuple[int, int]:
    """How many texts the index of a corpus holds, and how many words."""
    row = first_row(connection, "SELECT value FROM meta WHERE key = ?", index_of(corpus).size_key)
    texts, _, words = str(row[0]).partition(" ") if row else ("0", "", "0")
    return int(texts), int(words)


def write_tally(connection: apsw.Connection, tally: Tally, corpus: Corpus = Corpus.MEMORY) -> None:
    """Add what was gathered to the statistics of a corpus."""
    moved = [(word, change) for word, change in tally.holding.items() if change]
    if moved or tally.words or tally.texts:
        texts, words = read_size(connection, corpus)
        connection.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
            (index_of(corpus).size_key, f"{texts + tally.texts} {words + tally.words}"),
        )
    fewer = [word for word, change in moved if change < 0]
    if corpus is Corpus.MEMORY:
        connection.executemany(
            "INSERT INTO terms (word, memories) VALUES (?, ?)"
            " ON CONFLICT (word) DO UPDATE SET memories = memories + excluded.memories",
            moved,
        )
        connection.executemany("DELETE FROM terms WHERE word = ? AND memories <= 0", [(word,) for word in fewer])
        return
    connection.executemany(
        "INSERT INTO passage_terms (corpus, word, passages) VALUES (?, ?, ?)"
        " ON CONFLICT (corpus, word) DO UPDATE SET passages = passages + excluded.passages",
        [(corpus.value, word, change) for word, change in moved],
    )
    connection.executemany(
        "DELETE FROM passage_terms WHERE corpus = ? AND word = ? AND passages <= 0",
        [(corpus.value, word) for word in fewer],
    )
