"""`SqliteStore`: the contract over one SQLite file."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias, cast

import apsw

from ...codec import canonical, decode, encode, from_micros, to_micros
from ...errors import InvalidInput, KeyReused
from ...model import (
    LIVE,
    AuditEntry,
    Change,
    Check,
    Cluster,
    Corpus,
    Definition,
    Entry,
    Feedback,
    Given,
    Json,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Near,
    Order,
    Outcome,
    Plan,
    Receipt,
    Relation,
    Step,
    StepState,
    Tag,
    Together,
    Uid,
    Unembedded,
    Version,
    Where,
    WordSearch,
    WordStatistics,
)
from ..audit import Head
from ..changes import Work, request_hash
from ..contract import Options
from . import files, habits
from .check import audit_faults, check_store, check_word_index, rebuild_derived
from .connect import Connections, require_engine
from .filters import order_sql, tallied_sql, where_sql
from .rows import SELECTED, Value, all_rows, definition_from, first_row, read_memories, read_memory, version_from
from .search import (
    filter_sql,
    find_items,
    read_entries,
    read_spellings,
    read_statistics,
    read_texts,
    read_vocabulary,
)
from .steps import read_plans, read_seen, read_steps
from .vectors import Vectors
from .work import SqliteRows, audit_entry, read_head

if TYPE_CHECKING:
    from ..contract import Floats

REMEMBERED = timedelta(days=30)
"""How long an idempotency key is known."""


class SqliteStore:
    """One space in one SQLite file. Safe for many threads and many processes at once."""

    def __init__(
        self,
        connections: Connections,
        options: Options,
        *,
        url: str,
        notes: tuple[str, ...] = (),
        path: Path | None = None,
    ) -> None:
        self._connections = connections
        self._vectors = Vectors(connections, path)
        self._options = options
        self._url = url
        self._notes = notes

    @classmethod
    def open(cls, path: Path, options: Options) -> Self:
        """Open the file, creating, validating and migrating it; a damaged one gives way to its newest good backup."""
        require_engine()
        connections, notes = files.open_file(path, options)
        return cls(connections, options, url=str(path), notes=notes, path=path)

    @classmethod
    def in_memory(cls, options: Options) -> Self:
        """A store that ends with the process."""
        require_engine()
        connections = Connections(None, busy_timeout=options.busy_timeout, lock_timeout=options.lock_timeout)
        files.prepare(connections, backups=None)
        return cls(connections, options, url="memory:")

    @property
    def url(self) -> str:
        return self._url

    @property
    def notes(self) -> tuple[str, ...]:
        return self._notes

    # --- Writing ---------------------------------------------------------------------------------------------------

    def apply(self, changes: Iterable[Change], *, actor: str, now: datetime, key: str | None = None) -> Receipt:
        wanted = tuple(changes)
        with self._connections.writing() as connection:
            receipt = self._replay(connection, wanted, actor, key) if key is not None else None
            if receipt is not None:
                return receipt
            rows = SqliteRows(connection)
            work = Work(rows, actor=actor, now=now, bound=self._options.audit)
            receipt = Receipt(outcomes=work.carry_out(wanted))
            rows.finish()
            if key is not None:
                self._remember(connection, key, request_hash(wanted, actor), receipt, now)
            self._before_commit(connection)
        return receipt

    def _before_commit(self, connection: apsw.Connection) -> None:
        """For stores that keep their content elsewhere: the last moment at which a write can still fail."""

    def _replay(self, connection: apsw.Connection, changes: tuple[Change, ...], actor: str, key: str) -> Receipt | None:
        row = first_row(connection, "SELECT request_hash, outcomes FROM requests WHERE key = ?", key)
        if row is None:
            return None
        if row[0] != request_hash(changes, actor):
            raise KeyReused(key)
        outcomes = tuple(self._outcome(connection, *told) for told in json.loads(row[1]))
        return Receipt(outcomes=outcomes, replayed=True)

    def _outcome(
        self,
        connection: apsw.Connection,
        action: str,
        memory_id: int,
        kind: str,
        target: int,
        plan: int | None = None,
        relations: Sequence[Json] = (),
    ) -> Outcome:
        link = first_row(
            connection,
            "SELECT memory_id, kind, target_id, weight, made_by, created_at, updated_at FROM links"
            " WHERE memory_id = ? AND kind = ? AND target_id = ?",
            memory_id,
            kind,
            target,
        )
        memory = self._get(connection, memory_id) if memory_id else None
        return Outcome(
            action=action,
            memory=memory,
            link=_link(cast(_LinkRow, link)) if link else None,
            plan=plan,
            relations=tuple(decode(Relation, each) for each in relations),
        )

    def _remember(self, connection: apsw.Connection, key: str, request: str, receipt: Receipt, now: datetime) -> None:
        outcomes = canonical([_told(each) for each in receipt.outcomes])
        connection.execute("DELETE FROM requests WHERE at < ?", (to_micros(now - REMEMBERED),))
        connection.execute(
            "INSERT INTO requests (key, request_hash, at, outcomes) VALUES (?, ?, ?, ?)",
            (key, request, to_micros(now), outcomes),
        )

    # --- Reading ---------------------------------------------------------------------------------------------------

    def snapshot(self) -> AbstractContextManager[None]:
        return self._connections.snapshot()

    def get(self, memory_id: MemoryId) -> Memory | None:
        with self._connections.reading() as connection:
            return self._get(connection, memory_id)

    def _get(self, connection: apsw.Connection, memory_id: int) -> Memory | None:
        return read_memory(connection, "m.id = ?", memory_id) if _possible(memory_id) else None

    def by_uid(self, uid: Uid) -> Memory | None:
        with self._connections.reading() as connection:
            return read_memory(connection, "m.uid = ?", uid)

    def query(
        self, where: Where = (), *, order: Order = Order(), limit: int | None = 100, offset: int = 0
    ) -> tuple[Memory, ...]:
        condition, values = where_sql(where)
        with self._connections.reading() as connection:
            sql = f"SELECT {SELECTED} FROM memories m WHERE {condition} ORDER BY {order_sql(order)} LIMIT ? OFFSET ?"
            return tuple(read_memories(connection, sql, [*values, -1 if limit is None else limit, offset]))

    def twin(self, memory: Memory) -> Memory | None:
        with self._connections.reading() as connection:
            return SqliteRows(connection).twin(memory)

    def totals(self) -> dict[str, int]:
        with self._connections.reading() as connection:
            return {name: int(connection.execute(f"SELECT count(*) FROM {table}").get) for name, table in _TOTALS}

    def count(self, where: Where = ()) -> int:
        condition, values = where_sql(where)
        with self._connections.reading() as connection:
            return int(connection.execute(f"SELECT count(*) FROM memories m WHERE {condition}", values).get)

    def tally(self, field: str, where: Where = ()) -> dict[str, int]:
        table, column = tallied_sql(field)
        condition, values = where_sql(where)
        with self._connections.reading() as connection:
            rows = all_rows(
                connection,
                f"SELECT {column}, count(*) FROM {table} WHERE {condition} GROUP BY 1 ORDER BY 2 DESC, 1",
                values,
            )
            return {str(value): int(count) for value, count in rows}

    def links(
        self,
        memory_id: MemoryId | None = None,
        *,
        kinds: frozenset[LinkKind] = frozenset(LinkKind),
        hidden: bool = False,
    ) -> tuple[Link, ...]:
        found: list[Link] = []
        shown = "1" if hidden else None
        if memory_id is not None and not _possible(memory_id):
            return ()
        with self._connections.reading() as connection:
            for kind, sql in _LINK_QUERIES:
                if kind is None or kind in kinds:
                    touching = "1" if memory_id is None else _TOUCHING[kind]
                    bindings: dict[str, Value] = {} if memory_id is None else {"id": memory_id}
                    statement = sql.format(shown=shown or _SHOWN[kind], touching=touching)
                    found += [_link(cast(_LinkRow, row)) for row in connection.execute(statement, bindings)]
        return tuple(link for link in found if link.kind in kinds)

    def links_of(self, memories: Sequence[MemoryId], *, kinds: frozenset[LinkKind], limit: int) -> tuple[Link, ...]:
        listed, wanted = json.dumps(list(memories)), json.dumps(sorted(kinds))
        with self._connections.reading() as connection:
            rows = all_rows(
                connection,
                "SELECT l.memory_id, l.kind, l.target_id, l.weight, l.made_by, l.created_at, l.updated_at FROM ("
                " SELECT * FROM links WHERE memory_id IN (SELECT value FROM json_each(?1))"
                " UNION SELECT * FROM links WHERE target_id IN (SELECT value FROM json_each(?1))) l"
                " JOIN memories m ON m.id = l.memory_id JOIN memories t ON t.id = l.target_id"
                f" WHERE l.kind IN (SELECT value FROM json_each(?2)) AND {_SHOWN[None]}"
                " ORDER BY l.weight DESC, l.memory_id, l.target_id LIMIT ?3",
                (listed, wanted, limit),
            )
            return tuple(_link(cast(_LinkRow, row)) for row in rows)

    def group(self, kind: LinkKind, name: MemoryId | str, *, limit: int) -> tuple[MemoryId, ...]:
        if kind not in _GROUPS:
            raise InvalidInput("kind", f"a {kind} link makes no group")
        table, column = _GROUPS[kind]
        if isinstance(name, int) and not _possible(name):
            return ()
        with self._connections.reading() as connection:
            rows = all_rows(
                connection,
                f"SELECT m.id FROM {table} g JOIN memories m ON m.id = g.memory_id"
                f" WHERE g.{column} = ? AND m.status IN ({_LIVE_SQL}) ORDER BY m.id DESC LIMIT ?",
                (name, limit),
            )
            return tuple(MemoryId(number) for (number,) in rows)

    def tags(self) -> tuple[Tag, ...]:
        with self._connections.reading() as connection:
            rows = all_rows(
                connection,
                "SELECT t.tag, count(*) FROM memory_tags t JOIN memories m ON m.id = t.memory_id"
                f" WHERE m.status IN ({_LIVE_SQL}) GROUP BY 1 ORDER BY 2 DESC, 1",
            )
            return tuple(Tag(name=name, count=count) for name, count in rows)

    def clusters(self) -> tuple[Cluster, ...]:
        with self._connections.reading() as connection:
            rows = all_rows(
                connection,
                "SELECT c.id, c.label, count(m.memory_id) FROM clusters c"
                " LEFT JOIN (SELECT l.* FROM memory_clusters l JOIN memories k ON k.id = l.memory_id"
                " WHERE k.status <> 'forgotten') m ON m.cluster_id = c.id GROUP BY c.id ORDER BY 3 DESC, 1",
            )
            return tuple(Cluster(id=number, label=label, size=size) for number, label, size in rows)

    def members(self, cluster_id: int) -> tuple[Memory, ...]:
        with self._connections.reading() as connection:
            sql = (
                f"SELECT {SELECTED} FROM memory_clusters c JOIN memories m ON m.id = c.memory_id"
                " WHERE c.cluster_id = ? AND m.status <> 'forgotten' ORDER BY m.id"
            )
            return tuple(read_memories(connection, sql, (cluster_id if _possible(cluster_id) else 0,)))

    def history(self, memory_id: MemoryId) -> tuple[Version, ...]:
        with self._connections.reading() as connection:
            rows = all_rows(
                connection,
                "SELECT state, recorded_from, recorded_to FROM versions WHERE memory_id = ? ORDER BY version",
                (memory_id if _possible(memory_id) else 0,),
            )
            return tuple(version_from(*cast(tuple[str, int, int], row)) for row in rows)

    def feedback(self, uid: Uid | None = None) -> tuple[Feedback, ...]:
        with self._connections.reading() as connection:
            rows = all_rows(
                connection,
                "SELECT m.uid, f.helpful, f.at, f.actor, f.note FROM feedback f JOIN memories m ON m.id = f.memory_id"
                " WHERE ?1 IS NULL OR m.uid = ?1 ORDER BY f.rowid",
                (uid,),
            )
            return tuple(
                Feedback(uid=Uid(of), helpful=bool(helpful), at=from_micros(at), actor=actor, note=note)
                for of, helpful, at, actor, note in rows
            )

    def definitions(self, sort: str | None = None, *, name: str | None = None) -> tuple[Definition, ...]:
        given = {column: text for column, text in (("sort", sort), ("name", name)) if text is not None}
        # A condition that is not there, and not one that is always true: only so an index leads to the rest.
        condition = " AND ".join(f"{column} = ?" for column in given) or "1"
        with self._connections.reading() as connection:
            rows = all_rows(
                connection,
                f"SELECT sort, name, value, made_by, updated_at FROM definitions WHERE {condition} ORDER BY sort, name",
                tuple(given.values()),
            )
            return tuple(definition_from(row) for row in rows)

    def plans(self, *, limit: int = 20) -> tuple[Plan, ...]:
        with self._connections.reading() as connection:
            return tuple(read_plans(connection, limit))

    def steps(self, plan: int, *, states: frozenset[StepState] = frozenset(StepState)) -> tuple[Step, ...]:
        with self._connections.reading() as connection:
            return tuple(read_steps(connection, plan, states)) if _possible(plan) else ()

    def step_keys(self, states: frozenset[StepState], *, sort: str | None = None) -> frozenset[str]:
        with self._connections.reading() as connection:
            rows = all_rows(
                connection,
                "SELECT key FROM steps WHERE state IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR sort = ?2)",
                (json.dumps(sorted(states)), sort),
            )
            return frozenset(key for (key,) in cast(Iterable[tuple[str]], rows))

    def sightings(self, sort: str) -> dict[MemoryId, datetime]:
        with self._connections.reading() as connection:
            rows = all_rows(connection, "SELECT memory_id, since FROM sightings WHERE sort = ?", (sort,))
            return {MemoryId(number): from_micros(since) for number, since in rows}

    def seen(self, fingerprints: Collection[str]) -> dict[str, tuple[int, int]]:
        with self._connections.reading() as connection:
            return read_seen(connection, fingerprints)

    def pinned(self) -> tuple[Memory, ...]:
        with self._connections.reading() as connection:
            sql = f"SELECT {SELECTED} FROM memories m WHERE m.status = 'pinned' ORDER BY m.created_at DESC, m.id DESC"
            return tuple(read_memories(connection, sql))

    def acting(self) -> tuple[Memory, ...]:
        with self._connections.reading() as connection:
            sql = (
                f"SELECT {SELECTED} FROM memories m WHERE (m.triggers IS NOT NULL OR m.procedure IS NOT NULL)"
                f" AND m.status IN ({_LIVE_SQL}) ORDER BY m.id"
            )
            return tuple(read_memories(connection, sql))

    def acting_mark(self) -> int:
        with self._connections.reading() as connection:
            rows = all_rows(
                connection,
                "SELECT m.state_hash FROM memories m WHERE (m.triggers IS NOT NULL OR m.procedure IS NOT NULL)"
                f" AND m.status IN ({_LIVE_SQL}) ORDER BY m.id",
            )
            return hash(tuple(rows))

    def held_at(self, moment: datetime) -> Iterator[Memory]:
        when = to_micros(moment)
        with self._connections.lasting() as connection:
            sql = f"SELECT {SELECTED} FROM memories m WHERE m.recorded_at <= ? ORDER BY m.id"
            yield from read_memories(connection, sql, (when,))
            # A past that was recorded elsewhere may overlap; then the later version counts.
            rows = all_rows(
                connection,
                "SELECT v.state, v.recorded_from, v.recorded_to, max(v.version) FROM versions v"
                " JOIN memories m ON m.id = v.memory_id"
                " WHERE v.recorded_from <= ?1 AND v.recorded_to > ?1 AND m.recorded_at > ?1"
                " GROUP BY v.memory_id ORDER BY v.memory_id",
                (when,),
            )
            for row in rows:
                yield version_from(*cast(tuple[str, int, int], row[:3])).memory

    # --- Search ----------------------------------------------------------------------------------------------------

    def find(
        self, stems: tuple[str, ...], *, corpus: Corpus, where: Where = (), limit: int, postings: int
    ) -> WordSearch:
        with self._connections.reading() as connection:
            return find_items(connection, stems, corpus=corpus, where=where, limit=limit, postings=postings)

    def statistics(self, stems: Collection[str], *, corpus: Corpus) -> WordStatistics:
        with self._connections.reading() as connection:
            return read_statistics(connection, stems, corpus)

    def positions(self, corpus: Corpus, document: str) -> frozenset[int]:
        with self._connections.reading() as connection:
            sql = "SELECT position FROM passages WHERE corpus = ? AND document = ?"
            return frozenset(cast(int, position) for (position,) in connection.execute(sql, (corpus.value, document)))

    def spellings(self, stem: str, *, corpus: Corpus, limit: int) -> tuple[dict[str, int], dict[str, int]]:
        with self._connections.reading() as connection:
            return read_spellings(connection, stem, corpus=corpus, limit=limit)

    def vocabulary(self, *, corpus: Corpus, limit: int) -> dict[str, int]:
        with self._connections.reading() as connection:
            return read_vocabulary(connection, corpus, limit)

    def entries(
        self, items: Sequence[int], *, corpus: Corpus, where: Where = (), around: int = 0, payloads: bool = True
    ) -> tuple[Entry, ...]:
        with self._connections.reading() as connection:
            return read_entries(connection, items, corpus=corpus, where=where, around=around, payloads=payloads)

    def texts(self, items: Sequence[int], *, corpus: Corpus, where: Where = ()) -> dict[int, tuple[str, ...]]:
        with self._connections.reading() as connection:
            return read_texts(connection, items, corpus=corpus, where=where)

    def keep_vectors(self, model: str, texts: Sequence[tuple[int, str]], vectors: Floats, *, corpus: Corpus) -> int:
        with self._connections.writing() as connection:
            return self._vectors.keep(connection, model, texts, vectors, corpus=corpus)

    def nearest(self, vector: Floats, *, model: str, corpus: Corpus, where: Where = (), limit: int) -> tuple[Near, ...]:
        with self._connections.reading() as connection:
            return self._vectors.nearest(
                connection, vector, model=model, corpus=corpus, condition=filter_sql(corpus, where), limit=limit
            )

    def similarities(self, vector: Floats, items: Sequence[int], *, model: str, corpus: Corpus) -> dict[int, float]:
        with self._connections.reading() as connection:
            return self._vectors.similarities(connection, vector, items, model=model, corpus=corpus)

    def vectors(self, model: str, *, corpus: Corpus, items: Sequence[int] | None = None) -> tuple[list[int], Floats]:
        with self._connections.reading() as connection:
            return self._vectors.vectors(connection, model, corpus=corpus, items=items)

    def unembedded(self, model: str, *, corpus: Corpus, limit: int) -> tuple[Unembedded, ...]:
        with self._connections.reading() as connection:
            return self._vectors.unembedded(connection, model, corpus=corpus, limit=limit)

    def embedded(self, *, corpus: Corpus) -> dict[str, int]:
        with self._connections.reading() as connection:
            return self._vectors.embedded(connection, corpus=corpus)

    def forget_vectors(self, model: str) -> None:
        more = True
        while more:
            with self._connections.writing() as connection:
                more = self._vectors.forget(connection, model)
        self._vectors.discard()

    def note_uses(self, uses: Mapping[MemoryId, int], together: Sequence[Together], *, now: datetime) -> None:
        with self._connections.writing() as connection:
            habits.note_uses(connection, uses, together, now)
            self._before_commit(connection)

    def together(self, memories: Sequence[MemoryId]) -> tuple[Together, ...]:
        with self._connections.reading() as connection:
            return habits.read_together(connection, memories)

    def note_given(self, records: Sequence[Given]) -> None:
        with self._connections.writing() as connection:
            habits.note_given(connection, records)
            self._before_commit(connection)

    def given(self, *, session: str | None = None, limit: int = 20) -> tuple[Given, ...]:
        with self._connections.reading() as connection:
            return habits.read_given(connection, session, limit)

    # --- Audit and upkeep ------------------------------------------------------------------------------------------

    def audit(self, *, after: int = 0, limit: int | None = None, newest_first: bool = False) -> tuple[AuditEntry, ...]:
        with self._connections.reading() as connection:
            rows = all_rows(
                connection,
                "SELECT seq, at, actor, action, uid, detail, state, prev, hash FROM audit WHERE seq > ?"
                f" ORDER BY seq {'DESC' if newest_first else 'ASC'} LIMIT ?",
                (after, -1 if limit is None else limit),
            )
            return tuple(audit_entry(row) for row in rows)

    def audit_head(self) -> Head:
        with self._connections.reading() as connection:
            return read_head(connection, "audit_head")

    def verify_audit(self) -> tuple[str, ...]:
        with self._connections.reading() as connection:
            return tuple(audit_faults(connection))

    def check(self) -> tuple[Check, ...]:
        with self._connections.writing() as connection:
            full_text = check_word_index(connection)
        with self._connections.fresh() as connection:
            return (*check_store(connection), full_text)

    def rebuild(self) -> None:
        with self._connections.writing() as connection:
            rebuild_derived(connection)
        self._vectors.discard()

    def backup(self, path: Path) -> None:
        with self._connections.reading() as connection:
            files.write_backup(connection, path)

    def restore(self, path: Path) -> None:
        files.restore_backup(self._connections, path, self._before_commit)
        self._vectors.discard()

    def size(self) -> int:
        with self._connections.reading() as connection:
            return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))

    def close(self) -> None:
        self._vectors.close()
        self._connections.close()


_TOTALS = (
    ("memory", "memories"),
    ("version", "versions"),
    ("link", "links"),
    ("feedback", "feedback"),
    ("audit", "audit"),
    ("passage", "passages"),
    ("definition", "definitions"),
    ("plan", "plans"),
)
_LIVE_SQL = ", ".join(f"'{status}'" for status in sorted(LIVE))
_LINK_QUERIES: tuple[tuple[LinkKind | None, str], ...] = (
    (
        None,
        "SELECT l.memory_id, l.kind, l.target_id, l.weight, l.made_by, l.created_at, l.updated_at FROM links l"
        " JOIN memories m ON m.id = l.memory_id JOIN memories t ON t.id = l.target_id"
        " WHERE {shown} AND {touching} ORDER BY 1, 2, 3",
    ),
    (
        LinkKind.HAS_TAG,
        "SELECT l.memory_id, 'has-tag', l.tag, 1.0, '', NULL, NULL FROM memory_tags l"
        " JOIN memories m ON m.id = l.memory_id WHERE {shown} AND {touching} ORDER BY 1, 3",
    ),
    (
        LinkKind.IN_CLUSTER,
        "SELECT l.memory_id, 'in-cluster', l.cluster_id, 1.0, '', NULL, NULL FROM memory_clusters l"
        " JOIN memories m ON m.id = l.memory_id WHERE {shown} AND {touching} ORDER BY 1, 3",
    ),
)
"""Links as people made them, and those that follow from tags and clusters."""
_GROUPS = {LinkKind.HAS_TAG: ("memory_tags", "tag"), LinkKind.IN_CLUSTER: ("memory_clusters", "cluster_id")}
_SHOWN = {
    None: "m.status <> 'forgotten' AND t.status <> 'forgotten'",
    LinkKind.HAS_TAG: "m.status <> 'forgotten'",
    LinkKind.IN_CLUSTER: "m.status <> 'forgotten'",
}
_TOUCHING = {
    None: "(l.memory_id = :id OR l.target_id = :id)",
    LinkKind.HAS_TAG: "l.memory_id = :id",
    LinkKind.IN_CLUSTER: "l.memory_id = :id",
}


def _possible(number: int) -> bool:
    """Whether a number can be an id; what cannot be bound cannot be there."""
    return 0 < number < 2**63


def _told(outcome: Outcome) -> Json:
    link = outcome.link
    memory_id = outcome.memory.id if outcome.memory else 0
    relations = [encode(each) for each in outcome.relations]
    return [
        *(outcome.action, memory_id, link.kind.value if link else "", link.target if link else 0),
        *(outcome.plan, relations),
    ]


_LinkRow: TypeAlias = tuple[int, str, int | str, float, str, int | None, int | None]


def _link(row: _LinkRow) -> Link:
    memory_id, kind, target, weight, made_by, created, updated = row
    return Link(
        memory=MemoryId(memory_id),
        kind=LinkKind(kind),
        target=MemoryId(target) if isinstance(target, int) else target,
        weight=weight,
        made_by=made_by,
        created_at=None if created is None else from_micros(created),
        updated_at=None if updated is None else from_micros(updated),
    )
