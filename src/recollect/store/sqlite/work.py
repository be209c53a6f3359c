"""`Rows` over SQLite: what carrying out a change reads and writes, inside one transaction."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import apsw

from ...codec import canonical, from_micros, to_micros
from ...errors import DuplicateMemory, StoreDamaged
from ...model import (
    OCCUPYING,
    AuditEntry,
    Corpus,
    Definition,
    Feedback,
    Json,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Passage,
    Regroup,
    Status,
    Step,
    StepState,
    Uid,
    Version,
)
from ...policy.identity import content_hash, state_hash
from ..audit import Head
from ..undoing import Numbered
from .index import (
    Tally,
    index_memory,
    index_passage,
    indexed_alike,
    unindex_memory,
    unindex_passage,
    write_tally,
)
from .rows import (
    SELECTED,
    definition_from,
    first_row,
    insert_row,
    read_memories,
    read_memory,
    row_hash,
    update_row,
    version_from,
    version_row,
)
from .steps import STEP_COLUMNS, step_from, write_step
from .vectors import drop_item_vectors


class SqliteRows:
    """The rows of one open transaction. `finish` must be called before it is committed."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._tallies = {corpus: Tally() for corpus in Corpus}
        self._tally = self._tallies[Corpus.MEMORY]
        self._head = read_head(connection, "audit_head")
        self._first_head = self._head

    def get(self, memory_id: MemoryId) -> Memory | None:
        return read_memory(self._connection, "m.id = ?", memory_id) if 0 < memory_id < 2**63 else None

    def by_uid(self, uid: Uid) -> Memory | None:
        return read_memory(self._connection, "m.uid = ?", uid)

    def twin(self, memory: Memory) -> Memory | None:
        return read_memory(
            self._connection,
            "m.fingerprint = ? AND m.scope = ? AND m.owner = ? AND (m.status = 'quarantined') = ?"
            " AND m.status IN ('candidate', 'confirmed', 'pinned', 'quarantined')",
            memory.fingerprint,
            memory.scope,
            memory.owner,
            int(memory.status is Status.QUARANTINED),
        )

    def insert(self, memory: Memory, state: str, recorded_at: datetime) -> Memory:
        stored = replace(memory, id=MemoryId(insert_row(self._connection, memory, state, recorded_at)))
        index_memory(self._connection, stored, self._tally)
        return stored

    def replace(self, before: Memory, after: Memory, state: str, now: datetime) -> None:
        since = from_micros(
            int(self._connection.execute("SELECT recorded_at FROM memories WHERE id = ?", (before.id,)).get)
        )
        # A clock that was set back must not make a version end before it began.
        until = max(now, since)
        self.add_version(before.id, Version(memory=before, recorded_from=since, recorded_to=until))
        update_row(self._connection, after, state, until)
        if not indexed_alike(before, after):
            unindex_memory(self._connection, after.id, self._tally)
            index_memory(self._connection, after, self._tally)
        if before.content != after.content or after.status is Status.FORGOTTEN:
            drop_item_vectors(self._connection, Corpus.MEMORY, [after.id])

    def add_version(self, memory_id: MemoryId, version: Version) -> None:
        self._connection.execute(
            "INSERT OR IGNORE INTO versions (memory_id, version, recorded_from, recorded_to, state, state_hash)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            version_row(replace(version, memory=replace(version.memory, id=memory_id))),
        )

    def remembered(self) -> list[Memory]:
        sql = f"SELECT {SELECTED} FROM memories m WHERE m.status <> 'forgotten' ORDER BY m.id"
        return list(read_memories(self._connection, sql))

    def put_link(self, link: Link) -> Link:
        assert isinstance(link.target, int)
        assert link.created_at is not None
        assert link.updated_at is not None
        there = first_row(
            self._connection,
            "SELECT made_by, created_at FROM links WHERE memory_id = ? AND kind = ? AND target_id = ?",
            *(link.memory, link.kind, link.target),
        )
        made_by, created = there or (link.made_by, to_micros(link.created_at))
        row = (link.memory, link.kind.value, link.target, link.weight, made_by, created, to_micros(link.updated_at))
        self._connection.execute(
            "INSERT OR REPLACE INTO links"
            " (memory_id, kind, target_id, weight, made_by, created_at, updated_at, row_hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, row_hash("links", row)),
        )
        return replace(link, made_by=made_by, created_at=from_micros(created))

    def drop_link(self, memory: MemoryId, kind: LinkKind, target: MemoryId) -> bool:
        self._connection.execute(
            "DELETE FROM links WHERE memory_id = ? AND kind = ? AND target_id = ?", (memory, kind, target)
        )
        return self._connection.changes() > 0

    def add_feedback(self, feedback: Feedback) -> bool:
        memory = first_row(self._connection, "SELECT id FROM memories WHERE uid = ?", feedback.uid)
        if memory is None:
            return False
        row = (memory[0], to_micros(feedback.at), feedback.actor, int(feedback.helpful), feedback.note)
        hashed = row_hash("feedback", row)
        known = "SELECT 1 FROM feedback WHERE memory_id = ? AND row_hash = ?"
        if first_row(self._connection, known, row[0], hashed):
            return False
        self._connection.execute(
            "INSERT INTO feedback (memory_id, at, actor, helpful, note, row_hash) VALUES (?, ?, ?, ?, ?, ?)",
            (*row, hashed),
        )
        return True

    def link(self, memory: MemoryId, kind: LinkKind, target: MemoryId) -> Link | None:
        row = first_row(
            self._connection,
            "SELECT weight, made_by, created_at, updated_at FROM links"
            " WHERE memory_id = ? AND kind = ? AND target_id = ?",
            *(memory, kind, target),
        )
        if row is None:
            return None
        return Link(
            memory=memory,
            kind=kind,
            target=target,
            weight=row[0],
            made_by=row[1],
            created_at=from_micros(row[2]),
            updated_at=from_micros(row[3]),
        )

    def highest_version(self, memory_id: MemoryId) -> int:
        row = first_row(self._connection, "SELECT version FROM rewound WHERE memory_id = ?", memory_id)
        return 0 if row is None else int(row[0])

    def step_aside(self, memories: tuple[MemoryId, ...]) -> None:
        self._connection.executemany(
            "UPDATE memories SET status = 'archived' WHERE id = ?", [(number,) for number in memories]
        )

    def put_clusters(self, first: int, last: int | None, clusters: tuple[Numbered, ...]) -> None:
        self.regroup(Regroup(clusters=(), first=first, last=last))
        for number, label, members in clusters:
            self.regroup(Regroup(clusters=((label, members),), first=number, last=number))

    def rewind(self, there: Memory, version: int) -> Memory:
        row = first_row(
            self._connection,
            "SELECT state, recorded_from, recorded_to FROM versions WHERE memory_id = ? AND version = ?",
            *(there.id, version),
        )
        if row is None:
            raise StoreDamaged("versions", f"version {version} of memory {there.ref} is gone")
        kept = version_from(*cast(tuple[str, int, int], row))
        before = replace(
            kept.memory,
            access_count=max(0, kept.memory.access_count + there.access_count),
            accessed_at=there.accessed_at or kept.memory.accessed_at,
            last_hit_at=there.last_hit_at or kept.memory.last_hit_at,
        )
        twin = self.twin(before) if before.status in OCCUPYING else None
        if twin is not None:
            raise DuplicateMemory(before.ref, twin.ref)
        self._connection.execute(
            "DELETE FROM versions WHERE memory_id = ? AND version >= ?", (there.id, kept.memory.version)
        )
        self._connection.execute(
            "INSERT INTO rewound (memory_id, version) VALUES (?, ?)"
            " ON CONFLICT (memory_id) DO UPDATE SET version = max(version, excluded.version)",
            (there.id, there.version),
        )
        update_row(self._connection, before, state_hash(before), kept.recorded_from)
        if not indexed_alike(there, before):
            unindex_memory(self._connection, before.id, self._tally)
            index_memory(self._connection, before, self._tally)
        if before.content != there.content or before.status is Status.FORGOTTEN:
            drop_item_vectors(self._connection, Corpus.MEMORY, [before.id])
        return before

    def clusters_between(self, first: int, last: int | None) -> tuple[Numbered, ...]:
        numbered = "BETWEEN ?1 AND ?2"
        bounds = (first, last if last is not None else 2**62)
        members: dict[int, list[MemoryId]] = {}
        for number, member in self._connection.execute(
            f"SELECT cluster_id, memory_id FROM memory_clusters WHERE cluster_id {numbered} ORDER BY 1, 2", bounds
        ):
            members.setdefault(number, []).append(MemoryId(member))
        labels: list[tuple[Any, ...]] = self._connection.execute(
            f"SELECT id, label FROM clusters WHERE id {numbered} ORDER BY id", bounds
        ).fetchall()
        return tuple((number, label, tuple(members.get(number, ()))) for number, label in labels)

    def regroup(self, change: Regroup) -> None:
        last = change.last if change.last is not None else 2**62
        self._connection.execute("DELETE FROM clusters WHERE id BETWEEN ? AND ?", (change.first, last))
        for number, (label, members) in enumerate(change.clusters, start=change.first):
            self._connection.execute("INSERT INTO clusters (id, label) VALUES (?, ?)", (number, label))
            self._connection.executemany(
                "INSERT INTO memory_clusters (memory_id, cluster_id) SELECT id, ?2 FROM memories WHERE id = ?1",
                [(member, number) for member in dict.fromkeys(members)],
            )

    def file_passage(self, passage: Passage) -> None:
        place = (passage.corpus.value, passage.document, passage.position)
        hashed = content_hash(passage.reading)
        row = (
            *(passage.label, passage.text, None if passage.at is None else to_micros(passage.at)),
            *(None if passage.payload is None else canonical(passage.payload), hashed),
        )
        there = first_row(
            self._connection,
            "SELECT id, content_hash FROM passages WHERE corpus = ? AND document = ? AND position = ?",
            *place,
        )
        if there is None:
            self._connection.execute(
                "INSERT INTO passages (id, corpus, document, position, label, text, at, payload, content_hash)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (passage.id or None, *place, *row),
            )
            number = self._connection.last_insert_rowid()
        else:
            number = int(there[0])
            unindex_passage(self._connection, passage.corpus, number, self._tallies[passage.corpus])
            self._connection.execute(
                "UPDATE passages SET label = ?, text = ?, at = ?, payload = ?, content_hash = ? WHERE id = ?",
                (*row, number),
            )
            if there[1] != hashed:
                drop_item_vectors(self._connection, passage.corpus, [number])
        index_passage(self._connection, replace(passage, id=number), self._tallies[passage.corpus])

    def unfile(self, corpus: Corpus, document: str, start: int) -> int:
        rows = self._connection.execute(
            "SELECT id FROM passages WHERE corpus = ? AND document = ? AND position >= ?", (corpus, document, start)
        ).fetchall()
        numbers = [cast(int, number) for (number,) in rows]
        drop_item_vectors(self._connection, corpus, numbers)
        for number in numbers:
            unindex_passage(self._connection, corpus, number, self._tallies[corpus])
        self._connection.executemany("DELETE FROM passages WHERE id = ?", [(number,) for number in numbers])
        return len(numbers)

    def sight(self, sort: str, memories: tuple[MemoryId, ...], at: datetime) -> None:
        self._connection.executemany(
            "INSERT INTO sightings (memory_id, sort, since) SELECT id, ?2, ?3 FROM memories WHERE id = ?1"
            " ON CONFLICT (sort, memory_id) DO UPDATE SET since = min(since, excluded.since)",
            [(number, sort, to_micros(at)) for number in memories if 0 < number < 2**63],
        )

    def unsight(self, sort: str, memories: tuple[MemoryId, ...]) -> None:
        self._connection.executemany(
            "DELETE FROM sightings WHERE sort = ? AND memory_id = ?",
            [(sort, number) for number in memories if 0 < number < 2**63],
        )

    def notice(self, fingerprint: str, session_id: str, agent: str, at: datetime) -> None:
        self._connection.execute(
            "INSERT OR IGNORE INTO findings (fingerprint, session_id, agent, at) VALUES (?, ?, ?, ?)",
            (fingerprint, session_id, agent, to_micros(at)),
        )

    def add_plan(self, sort: str, made_by: str, at: datetime, live: int) -> int:
        row = (sort, to_micros(at), made_by, live)
        self._connection.execute(
            "INSERT INTO plans (sort, made_at, made_by, live, row_hash) VALUES (?, ?, ?, ?, ?)",
            (*row, row_hash("plans", row)),
        )
        return self._connection.last_insert_rowid()

    def add_step(self, plan: int, step: Step) -> None:
        last = self._connection.execute("SELECT ifnull(max(number), 0) FROM steps WHERE plan_id = ?", (plan,)).get
        write_step(self._connection, plan, replace(step, number=int(last) + 1, state=StepState.PROPOSED), None, None)

    def has_plan(self, plan: int) -> bool:
        return 0 < plan < 2**63 and first_row(self._connection, "SELECT 1 FROM plans WHERE id = ?", plan) is not None

    def step(self, plan: int, number: int) -> tuple[Step, Json] | None:
        if not (0 < plan < 2**63 and 0 < number < 2**63):
            return None
        row = first_row(
            self._connection,
            f"SELECT {STEP_COLUMNS}, undo FROM steps WHERE plan_id = ? AND number = ?",
            *(plan, number),
        )
        if row is None:
            return None
        try:
            return step_from(row[:-1]), None if row[-1] is None else json.loads(row[-1])
        except ValueError as error:
            raise StoreDamaged(f"step {number} of plan {plan}", "what undoes it cannot be read") from error

    def settle_step(self, plan: int, number: int, state: StepState, undo: Json, at: datetime) -> None:
        found = self.step(plan, number)
        assert found is not None
        write_step(self._connection, plan, replace(found[0], state=state), undo, at)

    def definition(self, sort: str, name: str) -> Definition | None:
        row = first_row(
            self._connection,
            "SELECT sort, name, value, made_by, updated_at FROM definitions WHERE sort = ? AND name = ?",
            *(sort, name),
        )
        return None if row is None else definition_from(row)

    def define(self, definition: Definition) -> None:
        assert definition.updated_at is not None
        row = (
            *(definition.sort, definition.name, canonical(definition.value), definition.made_by),
            to_micros(definition.updated_at),
        )
        self._connection.execute(
            "INSERT OR REPLACE INTO definitions (sort, name, value, made_by, updated_at, row_hash)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (*row, row_hash("definitions", row)),
        )

    def undefine(self, sort: str, name: str) -> bool:
        self._connection.execute("DELETE FROM definitions WHERE sort = ? AND name = ?", (sort, name))
        return self._connection.changes() > 0

    def head(self) -> Head:
        return self._head

    def base(self) -> Head:
        return read_head(self._connection, "audit_base")

    def append_audit(self, entry: AuditEntry) -> None:
        write_audit(self._connection, entry)
        self._head = Head(entry.seq, entry.hash)

    def trim_audit(self, through: int) -> Head:
        base = Head(through, str(self._connection.execute("SELECT hash FROM audit WHERE seq = ?", (through,)).get))
        self._connection.execute("DELETE FROM audit WHERE seq <= ?", (through,))
        write_head(self._connection, "audit_base", base)
        return base

    def finish(self) -> None:
        """Write what was gathered along the way: word counts and the head of the audit."""
        for corpus, tally in self._tallies.items():
            write_tally(self._connection, tally, corpus)
        self._tallies = {corpus: Tally() for corpus in Corpus}
        self._tally = self._tallies[Corpus.MEMORY]
        if self._head != self._first_head:
            write_head(self._connection, "audit_head", self._head)


def read_head(connection: apsw.Connection, key: str) -> Head:
    """A point in the audit's chain that was written down."""
    row = first_row(connection, "SELECT value FROM meta WHERE key = ?", key)
    if row is None:
        return Head()
    seq, _, hashed = str(row[0]).partition(" ")
    if not seq.isdecimal():
        raise StoreDamaged("audit", f"its {key.removeprefix('audit_')} cannot be read")
    return Head(int(seq), hashed)


def write_head(connection: apsw.Connection, key: str, head: Head) -> None:
    """Write down a point in the audit's chain."""
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, f"{head.seq} {head.hash}"))


def write_audit(connection: apsw.Connection, entry: AuditEntry) -> None:
    """Store an audit entry as it is."""
    connection.execute(
        "INSERT INTO audit (seq, at, actor, action, uid, detail, state, prev, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            entry.seq,
            to_micros(entry.at),
            entry.actor,
            entry.action,
            entry.uid,
            canonical(entry.detail),
            entry.state,
            entry.prev,
            entry.hash,
        ),
    )


def audit_entry(row: tuple[Any, ...]) -> AuditEntry:
    """The entry that a row of the audit holds."""
    seq, at, actor, action, uid, detail, state, prev, hashed = row
    return AuditEntry(
        seq=seq,
        at=from_micros(at),
        actor=actor,
        action=action,
        uid=uid,
        detail=json.loads(detail),
        state=state,
        prev=prev,
        hash=hashed,
    )
