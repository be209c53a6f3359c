"""Looking a store over: canonical rows against their hashes, derived rows against the canonical ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import apsw

from ...errors import StoreDamaged
from ...model import Check, Corpus, Memory
from ...policy.identity import content_hash, fingerprint, state_hash
from ...policy.words import memory_fields, passage_fields
from ..audit import chain_faults
from .index import Tally, index_memory, index_of, index_passage, read_size, write_tally
from .rows import COLUMNS, SELECTED, UNREADABLE, from_row, read_memories, row_hash, version_from
from .schema import WORD_INDEX, passage_index
from .search import read_passages
from .steps import STEP_COLUMNS
from .vectors import rebuild_vectors, vector_faults
from .work import audit_entry, read_head

_NAMED = 5
"""How many faults of one sort are named; the rest are counted."""


def check_word_index(connection: apsw.Connection) -> Check:
    """Whether FTS5's inner pages match its text. It takes its commands as inserts, so this needs the write lock."""
    try:
        for table in (index_of(corpus).table for corpus in Corpus):
            connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
    except apsw.CorruptError:
        return Check(name="full text", ok=False, detail="the full-text index does not match its text", fixable=True)
    return Check(name="full text", ok=True, detail="the full-text index matches its text", fixable=True)


def check_store(connection: apsw.Connection) -> Iterator[Check]:
    """Every check that only reads, in the order a person would want to read them."""
    for name, faults, fixable, fine in _CHECKS:
        try:
            found = list(faults(connection))
        except (apsw.CorruptError, apsw.NotADBError, StoreDamaged) as error:
            found = [f"it cannot be read ({error})"]
        yield Check(name=name, ok=not found, detail=_told(found) if found else fine, fixable=fixable)


def _told(faults: list[str]) -> str:
    more = f"; and {len(faults) - _NAMED} more" if len(faults) > _NAMED else ""
    return "; ".join(faults[:_NAMED]) + more


def _engine_faults(connection: apsw.Connection) -> Iterator[str]:
    for (line,) in connection.execute("PRAGMA integrity_check(20)"):
        if line != "ok":
            yield str(line)


def _foreign_key_faults(connection: apsw.Connection) -> Iterator[str]:
    for table, rowid, *_ in connection.execute("PRAGMA foreign_key_check"):
        yield f"row {rowid} of {table} belongs to nothing"


def _memory_faults(connection: apsw.Connection) -> Iterator[str]:
    rows = connection.execute(f"SELECT {SELECTED}, m.state_hash FROM memories m ORDER BY m.id")
    for row in rows:
        try:
            memory = from_row(row[: len(COLUMNS)])
        except StoreDamaged as error:
            yield str(error)
            continue
        if state_hash(memory) != row[-1]:
            yield f"memory {memory.ref} is not what was stored"
        elif content_hash(memory.content) != memory.content_hash or fingerprint(memory.content) != memory.fingerprint:
            yield f"memory {memory.ref} has hashes of another text"


def _version_faults(connection: apsw.Connection) -> Iterator[str]:
    for number, version, state, hashed in connection.execute(
        "SELECT memory_id, version, state, state_hash FROM versions"
    ):
        try:
            held = version_from(state, 0, 0).memory
        except StoreDamaged as error:
            yield f"version {version} of memory {number}: {error}"
            continue
        if state_hash(held) != hashed:
            yield f"version {version} of memory {number} is not what was stored"


def _row_faults(connection: apsw.Connection) -> Iterator[str]:
    for table, columns in (
        ("links", "memory_id, kind, target_id, weight, made_by, created_at, updated_at"),
        ("feedback", "memory_id, at, actor, helpful, note"),
        ("definitions", "sort, name, value, made_by, updated_at"),
        ("plans", "sort, made_at, made_by, live"),
        ("steps", f"plan_id, {STEP_COLUMNS}, undo, settled_at"),
    ):
        for *row, hashed in connection.execute(f"SELECT {columns}, row_hash FROM {table}"):
            if row_hash(table, row) != hashed:
                yield f"a row of {table} ({row[0]}) is not what was stored"


def audit_faults(connection: apsw.Connection) -> Iterator[str]:
    """Faults in the chain, and memories that are not as the audit says they were left."""
    entries = (
        audit_entry(row)
        for row in connection.execute(
            "SELECT seq, at, actor, action, uid, detail, state, prev, hash FROM audit ORDER BY seq"
        )
    )
    try:
        base, head = read_head(connection, "audit_base"), read_head(connection, "audit_head")
        yield from chain_faults(entries, base=base, head=head)
    except UNREADABLE as error:
        yield f"an entry cannot be read ({error})"
        return
    except StoreDamaged as error:
        yield str(error)
        return
    yield from _unlogged(connection, complete=base.seq == 0)


def _unlogged(connection: apsw.Connection, *, complete: bool) -> Iterator[str]:
    """Memories that are not as their last audit entry left them. A `complete` audit knows every memory there is."""
    logged: dict[str, str] = {
        uid: state
        for uid, state, _ in connection.execute("SELECT uid, state, max(seq) FROM audit WHERE uid <> '' GROUP BY uid")
    }
    for row in connection.execute(f"SELECT {SELECTED} FROM memories m"):
        uid = str(row[1])
        expected = logged.pop(uid, None)
        if expected is None and complete:
            yield f"memory {uid} was put there without an audit entry"
        elif expected is not None and _state_of(row) != expected:
            yield f"memory {uid} was changed without an audit entry"
    for uid in logged:
        yield f"memory {uid} is gone without an audit entry"


def _state_of(row: tuple[Any, ...]) -> str:
    try:
        return state_hash(from_row(row))
    except StoreDamaged:
        return ""


def _word_index_faults(connection: apsw.Connection) -> Iterator[str]:
    rows = connection.execute("SELECT rowid, content, tags, files, source, kind FROM words")
    indexed = {row[0]: row[1:] for row in rows}
    for memory in _indexable(connection):
        if indexed.pop(memory.id, None) != memory_fields(memory):
            yield f"memory {memory.ref} is indexed under other words than its own"
    for stray in indexed:
        yield f"the index holds memory {stray}, which is forgotten or gone"


def _count_faults(connection: apsw.Connection) -> Iterator[str]:
    counted = Tally()
    for row in connection.execute("SELECT content, tags, files, source, kind FROM words"):
        counted.count(row, 1)
    if read_size(connection) != (counted.texts, counted.words):
        yield "the size of the index is wrong"
    held = {str(word): count for word, count in connection.execute("SELECT word, memories FROM terms")}
    for word in counted.holding.keys() | held.keys():
        if counted.holding[word] != held.get(word, 0):
            yield f"the count of a word is {held.get(word, 0)} instead of {counted.holding[word]}"


def _name_index_faults(connection: apsw.Connection) -> Iterator[str]:
    tags = set(connection.execute("SELECT memory_id, tag FROM memory_tags").fetchall())
    files = set(connection.execute("SELECT memory_id, path FROM memory_files").fetchall())
    for memory in _indexable(connection):
        if {(memory.id, tag) for tag in memory.tags} - tags or {(memory.id, path) for path in memory.files} - files:
            yield f"a tag or file of memory {memory.ref} is not indexed"
        tags -= {(memory.id, tag) for tag in memory.tags}
        files -= {(memory.id, path) for path in memory.files}
    for number, _ in tags | files:
        yield f"the index gives memory {number} a tag or file it does not have"


def _indexable(connection: apsw.Connection) -> Iterator[Memory]:
    return read_memories(connection, f"SELECT {SELECTED} FROM memories m WHERE m.status <> 'forgotten'")


def _passage_faults(connection: apsw.Connection) -> Iterator[str]:
    hashes = dict(connection.execute("SELECT id, content_hash FROM passages"))
    for passage in read_passages(connection):
        if content_hash(passage.reading) != hashes[passage.id]:
            yield f"passage {passage.id} is not what was filed"


def _passage_index_faults(connection: apsw.Connection) -> Iterator[str]:
    indexed: dict[tuple[Corpus, int], tuple[Any, ...]] = {}
    for corpus in _BESIDE:
        rows = connection.execute(f"SELECT rowid, content, label, moment, document FROM {index_of(corpus).table}")
        indexed |= {(corpus, row[0]): row[1:] for row in rows}
    counted = {corpus: Tally() for corpus in _BESIDE}
    for passage in read_passages(connection):
        fields = passage_fields(passage)
        counted[passage.corpus].count(fields, 1)
        if indexed.pop((passage.corpus, passage.id), None) != fields:
            yield f"passage {passage.id} is indexed under other words than its own"
    for corpus, stray in indexed:
        yield f"the index of {corpus} holds passage {stray}, which is not there"
    for corpus, tally in counted.items():
        held = dict(connection.execute("SELECT word, passages FROM passage_terms WHERE corpus = ?", (corpus.value,)))
        if read_size(connection, corpus) != (tally.texts, tally.words) or held != dict(tally.holding):
            yield f"the word counts of {corpus} are wrong"


_BESIDE: tuple[Corpus, ...] = tuple(corpus for corpus in Corpus if corpus is not Corpus.MEMORY)


def rebuild_derived(connection: apsw.Connection) -> None:
    """Make the derived rows anew from the memories, inside the caller's transaction."""
    # Dropping the whole index is the one way that also works when its inner pages do not match its text.
    connection.execute("DELETE FROM memory_tags; DELETE FROM memory_files; DELETE FROM terms; DROP TABLE words")
    connection.execute(WORD_INDEX)
    connection.execute("DELETE FROM meta WHERE key IN ('stale', 'index_size')")
    tally = Tally()
    for memory in list(_indexable(connection)):
        index_memory(connection, memory, tally)
    write_tally(connection, tally)
    _rebuild_passages(connection)
    rebuild_vectors(connection)


def _rebuild_passages(connection: apsw.Connection) -> None:
    connection.execute("DELETE FROM passage_terms; DELETE FROM meta WHERE key GLOB 'index_size:*'")
    for table in (index_of(corpus).table for corpus in _BESIDE):
        connection.execute(f"DROP TABLE {table}")
        connection.execute(passage_index(table))
    tallies = {corpus: Tally() for corpus in _BESIDE}
    for passage in list(read_passages(connection)):
        index_passage(connection, passage, tallies[passage.corpus])
    for corpus, tally in tallies.items():
        write_tally(connection, tally, corpus)


_CHECKS: tuple[tuple[str, Callable[[apsw.Connection], Iterator[str]], bool, str], ...] = (
    ("file", _engine_faults, False, "the file is sound"),
    ("references", _foreign_key_faults, False, "every row belongs to a memory"),
    ("memories", _memory_faults, False, "every memory is as it was stored"),
    ("versions", _version_faults, False, "every earlier version is as it was stored"),
    ("links and feedback", _row_faults, False, "every link, verdict, definition and plan is as it was stored"),
    ("audit", audit_faults, False, "the audit is complete and unaltered"),
    ("word index", _word_index_faults, True, "every memory is indexed under its words"),
    ("word counts", _count_faults, True, "word counts are right"),
    ("tags and files", _name_index_faults, True, "tags and files are indexed"),
    ("passages", _passage_faults, False, "every passage is as it was filed"),
    ("passage index", _passage_index_faults, True, "every passage is indexed under its words"),
    ("vectors", vector_faults, True, "every vector belongs to its text"),
)
