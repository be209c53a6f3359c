"""What using the store leaves behind: how often memories were recalled, which together, and what agents were given.

Habits are not knowledge: they make no version and no audit entry, and a lost one is no loss.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

import apsw

from ...codec import decode, encode, to_micros
from ...model import Given, MemoryId, Together
from .rows import all_rows

PARTNERS = 12
"""How many others a memory is kept together with; the weakest give way, so that the graph stays sparse."""
GIVEN_KEPT = 10_000
"""Of how many recollections it is known that they were given."""
_FADING = 0.98
"""What remains of a strength each time the memory is recalled with others."""


def note_uses(
    connection: apsw.Connection, uses: Mapping[MemoryId, int], together: Sequence[Together], now: datetime
) -> None:
    """Count recalls, and strengthen what was recalled together, within a transaction. See `Store.note_uses`."""
    moment = to_micros(now)
    connection.executemany(
        "UPDATE memories SET access_count = max(0, min(access_count + ?1, 1000000000)),"
        " accessed_at = max(?2, ifnull(accessed_at, ?2)) WHERE id = ?3",
        [(count, moment, number) for number, count in uses.items() if _possible(number)],
    )
    pairs = [each for each in together if _possible(each.memory) and _possible(each.other)]
    touched = sorted({number for each in pairs for number in (each.memory, each.other)})
    listed = json.dumps(touched)
    connection.execute(
        "UPDATE together SET strength = strength * ?1 WHERE memory_id IN (SELECT value FROM json_each(?2))"
        " OR other_id IN (SELECT value FROM json_each(?2))",
        (_FADING, listed),
    )
    for each in pairs:
        _strengthen(connection, each, moment)
    connection.executemany(
        "DELETE FROM together WHERE memory_id = ?1 AND other_id NOT IN"
        " (SELECT other_id FROM together WHERE memory_id = ?1 ORDER BY strength DESC, at DESC, other_id LIMIT ?2)",
        [(each, PARTNERS) for each in touched],
    )


def _strengthen(connection: apsw.Connection, pair: Together, moment: int) -> None:
    """Both keep the other, at the same strength. One that had to give way may be kept again, as strong as it is at the
    other end.
    """
    connection.execute(
        "INSERT INTO together (memory_id, other_id, strength, at)"
        " SELECT a.id, b.id, ?3 + coalesce((SELECT max(strength) FROM together"
        " WHERE (memory_id, other_id) IN (VALUES (?1, ?2), (?2, ?1))), 0), ?4"
        " FROM memories a, memories b WHERE a.id = ?1 AND b.id = ?2 AND a.id <> b.id"
        " ON CONFLICT (memory_id, other_id) DO UPDATE SET strength = excluded.strength, at = excluded.at",
        (pair.memory, pair.other, pair.strength, moment),
    )
    connection.execute(
        "INSERT INTO together (memory_id, other_id, strength, at)"
        " SELECT other_id, memory_id, strength, at FROM together WHERE memory_id = ?1 AND other_id = ?2"
        " ON CONFLICT (memory_id, other_id) DO UPDATE SET strength = excluded.strength, at = excluded.at",
        (pair.memory, pair.other),
    )


def _possible(number: int) -> bool:
    return 0 < number < 2**63


def read_together(connection: apsw.Connection, memories: Sequence[MemoryId]) -> tuple[Together, ...]:
    """See `Store.together`. Forgotten memories keep no company."""
    rows = all_rows(
        connection,
        "SELECT t.memory_id, t.other_id, t.strength FROM together t"
        " JOIN memories m ON m.id = t.memory_id JOIN memories o ON o.id = t.other_id"
        " WHERE t.memory_id IN (SELECT value FROM json_each(?))"
        " AND m.status <> 'forgotten' AND o.status <> 'forgotten'"
        " ORDER BY t.strength DESC, t.memory_id, t.other_id",
        (json.dumps(list(memories)),),
    )
    return tuple(
        Together(memory=MemoryId(memory), other=MemoryId(other), strength=strength) for memory, other, strength in rows
    )


def note_given(connection: apsw.Connection, records: Sequence[Given]) -> None:
    """See `Store.note_given`. The same record a second time is the same record."""
    connection.executemany(
        "INSERT OR IGNORE INTO given (id, at, session, record) VALUES (?, ?, ?, ?)",
        [(each.id, to_micros(each.at), each.session, json.dumps(encode(each))) for each in records],
    )
    connection.execute(
        "DELETE FROM given WHERE rowid <= (SELECT rowid FROM given ORDER BY rowid DESC LIMIT 1 OFFSET ?)", (GIVEN_KEPT,)
    )


def read_given(connection: apsw.Connection, session: str | None, limit: int) -> tuple[Given, ...]:
    """See `Store.given`."""
    asked, values = ("", ()) if session is None else (" WHERE session = ?", (session,))
    rows = all_rows(
        connection, f"SELECT record FROM given{asked} ORDER BY at DESC, rowid DESC LIMIT ?", (*values, limit)
    )
    return tuple(decode(Given, json.loads(record)) for (record,) in rows)
