"""The schema, as an append-only list of migrations. A migration that was released is never changed again.

Canonical: memories, versions, links, feedback, audit, requests, definitions, plans, steps. Derived, and rebuilt on
request: memory_tags, memory_files, words, terms, and the same for passages. Clusters are derived too, but by the
garden, and vectors by an embedder; passages are derived from their documents. What was recalled together is a habit,
not knowledge; sightings and findings are notes for decisions that are yet to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

import apsw

from ...codec import digest, to_iso
from ...errors import StoreDamaged, StoreTooNew

APPLICATION_ID = 0x5245434F
"""Marks the file as ours: "RECO"."""


WORD_INDEX = """
CREATE VIRTUAL TABLE words USING fts5 (
    content, tags, files, source, kind, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
"""
"""The full-text index. It takes words as `policy.query` cut them, so its own tokeniser has only spaces to split at."""


_CANONICAL = """
CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    content TEXT NOT NULL,
    kind TEXT NOT NULL,
    scope TEXT NOT NULL,
    owner TEXT NOT NULL,
    status TEXT NOT NULL,
    importance REAL NOT NULL,
    confidence REAL NOT NULL,
    trust REAL NOT NULL,
    strength INTEGER NOT NULL,
    score INTEGER NOT NULL,
    access_count INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    accessed_at INTEGER,
    last_hit_at INTEGER,
    confirmed_at INTEGER,
    valid_from INTEGER,
    valid_to INTEGER,
    origin TEXT NOT NULL,
    source TEXT NOT NULL,
    session_id TEXT,
    task_id TEXT,
    narrative_id TEXT,
    agent TEXT,
    host TEXT,
    season TEXT,
    stage TEXT,
    fingerprint TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    token_cost INTEGER NOT NULL,
    superseded_by TEXT,
    provenance TEXT,
    reinforcements TEXT,
    message_range TEXT,
    anchors TEXT,
    tags TEXT,
    triggers TEXT,
    procedure TEXT,
    payload TEXT,
    state_hash TEXT NOT NULL,
    recorded_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX memories_twin ON memories (fingerprint, scope, owner, status = 'quarantined')
    WHERE status IN ('candidate', 'confirmed', 'pinned', 'quarantined');
CREATE INDEX memories_created ON memories (created_at);
CREATE INDEX memories_session ON memories (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX memories_task ON memories (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX memories_narrative ON memories (narrative_id) WHERE narrative_id IS NOT NULL;

CREATE TABLE versions (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    recorded_from INTEGER NOT NULL,
    recorded_to INTEGER NOT NULL,
    state TEXT NOT NULL,
    state_hash TEXT NOT NULL,
    PRIMARY KEY (memory_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE links (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    target_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    weight REAL NOT NULL,
    made_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    row_hash TEXT NOT NULL,
    PRIMARY KEY (memory_id, kind, target_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_target ON links (target_id);

CREATE TABLE feedback (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    helpful INTEGER NOT NULL,
    note TEXT NOT NULL,
    row_hash TEXT NOT NULL
) STRICT;
CREATE INDEX feedback_memory ON feedback (memory_id);

CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    uid TEXT NOT NULL,
    detail TEXT NOT NULL,
    state TEXT NOT NULL,
    prev TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;
CREATE INDEX audit_uid ON audit (uid);

CREATE TABLE requests (
    key TEXT PRIMARY KEY,
    request_hash TEXT NOT NULL,
    at INTEGER NOT NULL,
    outcomes TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_at ON requests (at);

CREATE TABLE clusters (id INTEGER PRIMARY KEY, label TEXT NOT NULL) STRICT;
CREATE TABLE memory_clusters (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    cluster_id INTEGER NOT NULL REFERENCES clusters (id) ON DELETE CASCADE,
    PRIMARY KEY (memory_id, cluster_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_clusters_cluster ON memory_clusters (cluster_id);

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""


def m001_memories(connection: apsw.Connection) -> None:
    """What cannot be recomputed: memories with their past, links, feedback, audit, and answered requests."""
    connection.execute(_CANONICAL)


def m002_index(connection: apsw.Connection) -> None:
    """What is derived: tags and files by name, the full-text index, and how many memories hold each word."""
    connection.execute(
        """
        CREATE TABLE memory_tags (
            tag TEXT NOT NULL,
            memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
            PRIMARY KEY (tag, memory_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX memory_tags_memory ON memory_tags (memory_id);
        CREATE TABLE memory_files (
            path TEXT NOT NULL,
            memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
            PRIMARY KEY (path, memory_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX memory_files_memory ON memory_files (memory_id);
        CREATE TABLE terms (word TEXT PRIMARY KEY, memories INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        """
    )
    connection.execute(WORD_INDEX)
    mark_stale(connection)


def passage_index(table: str) -> str:
    """The full-text index of one sort of passages. Each has one: how rare a word is in one says nothing of another."""
    return f"""
        CREATE VIRTUAL TABLE {table} USING fts5 (
            content, label, moment, document, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* Co Mn Mc'"
        );
        INSERT INTO {table} ({table}, rank) VALUES ('secure-delete', 1);
        """


def m003_search(connection: apsw.Connection) -> None:
    """What recall by meaning needs: vectors, passages beside the memories, what is recalled together, definitions."""
    connection.execute(
        """
        CREATE TABLE definitions (
            sort TEXT NOT NULL,
            name TEXT NOT NULL,
            value TEXT NOT NULL,
            made_by TEXT NOT NULL,
            updated_at INTEGER NOT NULL,
            row_hash TEXT NOT NULL,
            PRIMARY KEY (sort, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE passages (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            corpus TEXT NOT NULL,
            document TEXT NOT NULL,
            position INTEGER NOT NULL,
            label TEXT NOT NULL,
            text TEXT NOT NULL,
            at INTEGER,
            payload TEXT,
            content_hash TEXT NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX passages_place ON passages (corpus, document, position);
        CREATE TABLE passage_terms (
            corpus TEXT NOT NULL,
            word TEXT NOT NULL,
            passages INTEGER NOT NULL,
            PRIMARY KEY (corpus, word)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE models (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            dimension INTEGER NOT NULL
        ) STRICT;
        -- In the order in which they were written, so that a process can fetch what came after what it has.
        CREATE TABLE vectors (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            model_id INTEGER NOT NULL REFERENCES models (id),
            corpus TEXT NOT NULL,
            item_id INTEGER NOT NULL,
            content_hash TEXT NOT NULL,
            vector BLOB NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX vectors_item ON vectors (corpus, item_id, model_id);

        CREATE TABLE together (
            memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
            other_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
            strength REAL NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (memory_id, other_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX together_other ON together (other_id);
        """
    )
    for table in ("items_words", "sessions_words", "sources_words"):
        connection.execute(passage_index(table))


def m004_lifecycle(connection: apsw.Connection) -> None:
    """What tending memories needs: plans with their steps, since when a memory is in a condition, findings noticed."""
    connection.execute(
        """
        CREATE TABLE plans (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            sort TEXT NOT NULL,
            made_at INTEGER NOT NULL,
            made_by TEXT NOT NULL,
            live INTEGER NOT NULL,
            row_hash TEXT NOT NULL
        ) STRICT;
        -- Changes and what undoes them name memories by id and version; no text of theirs is copied here.
        CREATE TABLE steps (
            plan_id INTEGER NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            sort TEXT NOT NULL,
            key TEXT NOT NULL,
            why TEXT NOT NULL,
            changes TEXT NOT NULL,
            expects TEXT NOT NULL,
            retires TEXT NOT NULL,
            state TEXT NOT NULL,
            undo TEXT,
            settled_at INTEGER,
            row_hash TEXT NOT NULL,
            PRIMARY KEY (plan_id, number)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX steps_key ON steps (key);
        CREATE INDEX steps_state ON steps (state, plan_id);

        CREATE TABLE sightings (
            memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
            sort TEXT NOT NULL,
            since INTEGER NOT NULL,
            PRIMARY KEY (sort, memory_id)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX sightings_memory ON sightings (memory_id);

        CREATE TABLE findings (
            fingerprint TEXT NOT NULL,
            session_id TEXT NOT NULL,
            agent TEXT NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (fingerprint, session_id, agent)
        ) STRICT, WITHOUT ROWID;

        -- Version numbers that an undone step used up; they are not given again.
        CREATE TABLE rewound (
            memory_id INTEGER PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
            version INTEGER NOT NULL
        ) STRICT;

        CREATE INDEX memories_acting ON memories (id, status, state_hash)
            WHERE triggers IS NOT NULL OR procedure IS NOT NULL;
        CREATE INDEX memories_candidate ON memories (id) WHERE status = 'candidate';
        """
    )


def m005_context(connection: apsw.Connection) -> None:
    """What agents were given, so that it can be measured and is not said twice; and what is always given."""
    connection.execute(
        """
        CREATE TABLE given (
            id TEXT PRIMARY KEY,
            at INTEGER NOT NULL,
            session TEXT NOT NULL,
            record TEXT NOT NULL
        ) STRICT;
        CREATE INDEX given_session ON given (session, at);
        CREATE INDEX given_at ON given (at);

        CREATE INDEX memories_pinned ON memories (created_at) WHERE status = 'pinned';
        """
    )


def mark_stale(connection: apsw.Connection) -> None:
    """Ask for the derived rows to be made anew before the store is next used, whatever happens in between."""
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('stale', 'index')")


MIGRATIONS: tuple[Callable[[apsw.Connection], None], ...] = (
    m001_memories,
    m002_index,
    m003_search,
    m004_lifecycle,
    m005_context,
)

SHAPE = "b2:aa4b76025e1d9b121611105fdb35c41e5f4a4aea31070eb3cea3cb4c95751d95"
"""Hash of the present schema, as SQLite tells it; a file whose schema is another one is not trusted."""


def version_of(connection: apsw.Connection) -> int:
    """How many migrations a file has had."""
    return int(connection.pragma("user_version"))


def shape_of(connection: apsw.Connection) -> str:
    """Hash of every table and index we made. What others added, and FTS5's own tables, do not count."""
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
        " AND tbl_name IN (SELECT value FROM json_each(?)) ORDER BY name",
        (_TABLES_JSON,),
    )
    return digest("shape", *(f"{name}\n{sql}" for name, sql in rows))


_TABLES_JSON = (
    '["memories","versions","links","feedback","audit","requests","clusters","memory_clusters","meta",'
    '"memory_tags","memory_files","words","terms",'
    '"definitions","passages","items_words","sessions_words","sources_words","passage_terms",'
    '"models","vectors","together",'
    '"plans","steps","sightings","findings","rewound","given"]'
)


def pending(connection: apsw.Connection, where: str) -> bool:
    """Whether a file needs migrating. Raises, without having written, if it comes from a newer version."""
    found = version_of(connection)
    if found > len(MIGRATIONS):
        raise StoreTooNew(where, found, len(MIGRATIONS))
    return found < len(MIGRATIONS)


def migrate(connection: apsw.Connection, now: datetime) -> Iterator[str]:
    """Bring a file up to the present schema, each step in a transaction of its own; yields the steps done."""
    for number in range(version_of(connection), len(MIGRATIONS)):
        step = MIGRATIONS[number]
        with connection:
            step(connection)
            connection.execute(
                "INSERT INTO meta (key, value) VALUES (?, ?)", (f"migration:{step.__name__}", to_iso(now))
            )
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", number + 1)
        yield step.__name__


def verify_shape(connection: apsw.Connection, where: str) -> None:
    """Refuse a file whose schema is not what its version says, instead of failing somewhere later."""
    if shape_of(connection) != SHAPE:
        raise StoreDamaged(where, "its tables are not those of its schema version")
