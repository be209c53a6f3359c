"""The store in one JSON file that a person can read: SQLite in memory, saved whole with every write.

For one process at a time. A write is acknowledged when the new file has replaced the old one on disk; the file before
it is kept as `.bak` and stands in when the main one does not parse.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import apsw

from ..codec import decode, encode, from_micros
from ..disk import private_folder, write_private
from ..errors import InvalidInput, RecollectError, StoreDamaged, StoreError, StoreFull, StoreInUse, StoreTooNew
from ..model import AuditEntry, Feedback, Json, Memory, Passage, Version
from ..policy.identity import content_hash, fingerprint, state_hash
from ..policy.tokens import estimate_tokens
from .audit import Head
from .contract import Options
from .sqlite.connect import Connections, require_engine, translated
from .sqlite.files import prepare
from .sqlite.search import read_passages
from .sqlite.steps import STEP_COLUMNS
from .sqlite.store import SqliteStore
from .sqlite.work import SqliteRows, read_head, write_audit, write_head

FORMAT = "recollect-store"
VERSION = 1


class JsonStore(SqliteStore):
    """One space in one JSON file."""

    def __init__(self, path: Path, options: Options) -> None:
        require_engine()
        self._path = path
        self._process = os.getpid()
        with translated(str(path)):
            private_folder(path.parent)
            self._lock = _take(path)
        connections = Connections(None, busy_timeout=options.busy_timeout, lock_timeout=options.lock_timeout)
        prepare(connections, backups=None)
        try:
            with translated(str(path)):
                document, notes = _read(path)
            if document is not None:
                _load(connections, document, str(path))
        except RecollectError:
            os.close(self._lock)
            raise
        super().__init__(connections, options, url=f"json:{path}", notes=notes)

    def _before_commit(self, connection: apsw.Connection) -> None:
        if os.getpid() != self._process:
            raise StoreInUse(str(self._path), "belongs to the process that this one was forked from")
        _save(self._path, json.dumps(self._document(connection), ensure_ascii=False, indent=2) + "\n")

    def _document(self, connection: apsw.Connection) -> dict[str, Json]:
        memories = sorted(self.query(limit=None), key=lambda memory: memory.id)
        rows = connection.execute("SELECT id, recorded_at FROM memories").fetchall()
        recorded = {number: cast(int, at) for number, at in rows}
        return {
            "format": FORMAT,
            "version": VERSION,
            "memories": [{**_json(each), "recorded_at": recorded[each.id]} for each in memories],
            "versions": [encode(each) for memory in memories for each in self.history(memory.id)],
            "links": [list(row) for row in connection.execute(f"SELECT {_LINK_COLUMNS} FROM links")],
            "feedback": [encode(each) for each in self.feedback()],
            "clusters": [list(row) for row in connection.execute("SELECT id, label FROM clusters ORDER BY id")],
            "members": [list(row) for row in connection.execute("SELECT memory_id, cluster_id FROM memory_clusters")],
            "audit": [encode(each) for each in self.audit()],
            "audit_base": encode(read_head(connection, "audit_base")),
            "definitions": [list(row) for row in connection.execute(f"SELECT {_DEFINITION_COLUMNS} FROM definitions")],
            "passages": [encode(each) for each in read_passages(connection)],
            "together": [list(row) for row in connection.execute(f"SELECT {_TOGETHER_COLUMNS} FROM together")],
            **{table: _rows(connection, table, columns) for table, columns in _LIFECYCLE},
            "requests": [list(row) for row in connection.execute(f"SELECT {_REQUEST_COLUMNS} FROM requests")],
        }

    def size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def close(self) -> None:
        super().close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


_LINK_COLUMNS = "memory_id, kind, target_id, weight, made_by, created_at, updated_at, row_hash"
_REQUEST_COLUMNS = "key, request_hash, at, outcomes"
_DEFINITION_COLUMNS = "sort, name, value, made_by, updated_at, row_hash"
_TOGETHER_COLUMNS = "memory_id, other_id, strength, at"
_LIFECYCLE = (
    ("plans", "id, sort, made_at, made_by, live, row_hash"),
    ("steps", f"plan_id, {STEP_COLUMNS}, undo, settled_at, row_hash"),
    ("sightings", "memory_id, sort, since"),
    ("findings", "fingerprint, session_id, agent, at"),
    ("rewound", "memory_id, version"),
    ("given", "id, at, session, record"),
)


def _rows(connection: apsw.Connection, table: str, columns: str) -> Json:
    return [list(row) for row in connection.execute(f"SELECT {columns} FROM {table}")]


def _take(path: Path) -> int:
    """Hold the file's lock for as long as the store is open."""
    descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise StoreInUse(str(path), "is open in another process") from None
    return descriptor


def _backup_path(path: Path) -> Path:
    return path.with_name(path.name + ".bak")


def _read(path: Path) -> tuple[Mapping[str, Json] | None, tuple[str, ...]]:
    """The document on disk, or the one before it where it does not parse; None where there is neither."""
    backup = _backup_path(path)
    if not path.exists() and not backup.exists():
        return None, ()
    try:
        return _parse(path), ()
    except StoreDamaged as damage:
        if not backup.exists():
            raise
        document = _parse(backup)
        aside = path.with_name(path.name + ".damaged")
        if path.exists():
            os.replace(path, aside)
        return document, (f"{path} could not be read ({damage.problem}); {backup.name} stands in for it",)


def _parse(path: Path) -> Mapping[str, Json]:
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise StoreDamaged(str(path), "is missing") from error
    except (ValueError, RecursionError) as error:
        raise StoreDamaged(str(path), f"is not JSON ({error})") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise StoreDamaged(str(path), "is not a Recollect store")
    version = document.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise StoreTooNew(str(path), version if isinstance(version, int) else 0, VERSION)
    return document


def _load(connections: Connections, document: Mapping[str, Json], where: str) -> None:
    """Fill the database in memory. Rows come in as they are: they were audited when they were written."""
    try:
        with connections.writing() as connection:
            rows = SqliteRows(connection)
            for data in _items(document, "memories"):
                _insert(rows, data)
            for data in _items(document, "versions"):
                version = decode(Version, data)
                rows.add_version(version.memory.id, version)
            for data in _items(document, "feedback"):
                rows.add_feedback(decode(Feedback, data))
            for data in _items(document, "passages"):
                rows.file_passage(decode(Passage, data))
            _load_tables(connection, document)
            rows.finish()
            _load_audit(connection, document)
    except (InvalidInput, apsw.Error, TypeError, ValueError, OverflowError, StoreError) as error:
        raise StoreDamaged(where, f"holds something that cannot be read ({error})") from error


def _json(memory: Memory) -> dict[str, Json]:
    state = encode(memory)
    assert isinstance(state, dict)
    return state


def _insert(rows: SqliteRows, data: Json) -> None:
    if not isinstance(data, dict):
        raise InvalidInput("memories", "expected objects")
    recorded_at = data.pop("recorded_at", None)
    memory = _with_hashes(decode(Memory, data))
    since = from_micros(recorded_at) if isinstance(recorded_at, int) else memory.updated_at
    rows.insert(memory, state_hash(memory), since)


def _load_tables(connection: apsw.Connection, document: Mapping[str, Json]) -> None:
    for name, table, columns in _TABLES:
        marks = ", ".join("?" * len(columns.split(",")))
        connection.executemany(
            f"INSERT INTO {table} ({columns}) VALUES ({marks})",
            [cast(list[str], row) for row in _items(document, name)],
        )


_TABLES = (
    ("links", "links", _LINK_COLUMNS),
    ("requests", "requests", _REQUEST_COLUMNS),
    ("definitions", "definitions", _DEFINITION_COLUMNS),
    ("together", "together", _TOGETHER_COLUMNS),
    ("clusters", "clusters", "id, label"),
    ("members", "memory_clusters", "memory_id, cluster_id"),
    *((table, table, columns) for table, columns in _LIFECYCLE),
)


def _load_audit(connection: apsw.Connection, document: Mapping[str, Json]) -> None:
    head = base = decode(Head, document.get("audit_base") or {})
    for data in _items(document, "audit"):
        entry = decode(AuditEntry, data)
        write_audit(connection, entry)
        head = Head(entry.seq, entry.hash)
    write_head(connection, "audit_base", base)
    write_head(connection, "audit_head", head)


def _items(document: Mapping[str, Json], name: str) -> list[Json]:
    found = document.get(name, [])
    if not isinstance(found, list):
        raise InvalidInput(name, "expected a list")
    return found


def _with_hashes(memory: Memory) -> Memory:
    """A person may have edited the text: what is computed from it follows."""
    return replace(
        memory,
        fingerprint=fingerprint(memory.content),
        content_hash=content_hash(memory.content),
        token_cost=estimate_tokens(memory.content),
    )


def _copy(path: Path, kept: Path) -> None:
    try:
        os.link(path, kept)
    except OSError:  # a file system without hard links
        shutil.copy2(path, kept)


def _save(path: Path, text: str) -> None:
    """Replace the file in one step, keeping the one before it."""
    try:
        if path.exists():
            kept = path.with_name(f".{path.name}.bak.tmp")
            kept.unlink(missing_ok=True)
            _copy(path, kept)
            os.replace(kept, _backup_path(path))
        write_private(path, [text])
    except OSError as error:
        problem = f"could not be written ({error.strerror})"
        raise (StoreFull if error.errno == errno.ENOSPC else StoreError)(str(path), problem) from error
