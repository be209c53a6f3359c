"""The audit shows tampering: whatever somebody changes in the file behind the store's back is found."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from store_kit import AGAIN, HOUR, NOW, SQLITE, add, apply, faults, full_memory, held, memory

from recollect.model import (
    Add,
    Change,
    Connect,
    Disconnect,
    Edit,
    Link,
    LinkKind,
    Mark,
    MemoryId,
    Put,
    Rate,
    Regroup,
    Retag,
    Revise,
    Signals,
    Status,
    Weigh,
)
from recollect.policy.identity import content_hash, fingerprint, state_hash
from recollect.store import Bound, Options, Store
from recollect.store.audit import Head, chained
from recollect.store.sqlite.rows import COLUMNS
from recollect.store.sqlite.work import read_head, write_audit, write_head

pytestmark = pytest.mark.row("P20", "tamper-evident")

Tamper = Callable[[apsw.Connection], object]

AUDIT_EDITS: dict[str, str] = {
    "seq": "UPDATE audit SET seq = seq + 1000 WHERE seq = ?",
    "at": "UPDATE audit SET at = at + 1 WHERE seq = ?",
    "actor": "UPDATE audit SET actor = actor || 'x' WHERE seq = ?",
    "action": "UPDATE audit SET action = iif(action = 'add', 'put', 'add') WHERE seq = ?",
    "uid": "UPDATE audit SET uid = iif(uid = '', 'x', '') WHERE seq = ?",
    "detail": """UPDATE audit SET detail = '{"forged":true}' WHERE seq = ?""",
    "state": "UPDATE audit SET state = 'b2:forged' WHERE seq = ?",
    "prev": "UPDATE audit SET prev = 'b2:forged' WHERE seq = ?",
    "hash": "UPDATE audit SET hash = 'b2:forged' WHERE seq = ?",
}
USAGE = {"access_count", "accessed_at", "last_hit_at"}
"""What use leaves behind is no part of what a memory says, and not vouched for."""
TIMES = ("created_at", "updated_at", "confirmed_at", "valid_from", "valid_to")
WORDS = {"kind": "error", "scope": "global", "status": "superseded", "origin": "imported", "source": "migration"}
LISTS = {
    "provenance": '[{"at":"2026-01-01T00:00:00.000000Z","origin":"user_stated"}]',
    "reinforcements": '[{"at":"2026-01-01T00:00:00.000000Z"}]',
    "message_range": "[1,2]",
    "anchors": '[{"path":"forged.py"}]',
    "tags": '["forged"]',
    "triggers": '["forged"]',
    "procedure": '{"name":"forged"}',
    "payload": '{"forged":true}',
}
NUMBERS = ("version", "importance", "confidence", "trust", "strength", "score", "token_cost")


def memory_edit(column: str) -> str:
    """The statement that gives one column of a memory another value, which is a possible one."""
    if column in WORDS or column in LISTS:
        value = {**WORDS, **LISTS}[column]
        return f"UPDATE memories SET {column} = '{value}' WHERE id = ?"
    if column in TIMES:
        return f"UPDATE memories SET {column} = coalesce({column}, 0) + 1 WHERE id = ?"
    if column in NUMBERS:
        return f"UPDATE memories SET {column} = {column} + 1 WHERE id = ?"
    return f"UPDATE memories SET {column} = coalesce({column}, '') || 'x' WHERE id = ?"


MEMORY_EDITS = {name: memory_edit(name) for name in COLUMNS if name not in {"id", *USAGE}}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a life behind it, closed, in one file."""
    folder = tmp_path_factory.mktemp("original")
    store = SQLITE.open(folder)
    live(store)
    store.close()
    return folder / "memory.db"


def live(store: Store) -> None:
    """One change of every kind and some more."""
    one, two, three = (add(store, f"memory {name}", tags=("x",)) for name in ("one", "two", "three"))
    apply(store, Put(memory=full_memory(status=Status.ARCHIVED)))
    pair = Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id, weight=0.5)
    changes: list[Change] = [
        Revise(id=one.id, edit=Edit(content="memory one, corrected")),
        Weigh(id=two.id, signals=Signals(score=3, hit=True)),
        Retag(id=two.id, add=("y",)),
        Rate(id=three.id, helpful=True, signals=Signals(strength=1)),
        Connect(link=pair),
        Disconnect(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id),
        Connect(link=pair),
        Regroup(clusters=(("all", (one.id, two.id, three.id)),)),
        Mark(id=three.id, status=Status.FORGOTTEN),
        Add(memory=memory("memory TWO"), on_duplicate=AGAIN),
        Mark(id=two.id, status=Status.PINNED),
    ]
    for hour, change in enumerate(changes):
        apply(store, change, now=NOW + hour * HOUR)
    assert store.verify_audit() == ()


def after(original: Path, folder: Path, tamper: Tamper) -> tuple[str, ...]:
    """What the store says about its audit once somebody has been at a copy of the file."""
    folder.mkdir(exist_ok=True)
    copy = folder / "memory.db"
    shutil.copy(original, copy)
    with closing(apsw.Connection(str(copy))) as connection:
        tamper(connection)
        assert connection.total_changes() > 0, "nothing was tampered with"
    store = SQLITE.open(folder)
    try:
        return store.verify_audit()
    finally:
        store.close()


def sql(statement: str, *values: int) -> Tamper:
    """Run one statement."""
    return lambda file: file.execute(statement, values)


def ids(original: Path, table: str, column: str) -> list[int]:
    """The numbers of all rows of a table."""
    with closing(apsw.Connection(str(original), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return [int(number) for (number,) in connection.execute(f"SELECT {column} FROM {table} ORDER BY 1")]


def test_an_untouched_store_is_sound(original: Path, tmp_path: Path) -> None:
    """Without tampering there is nothing to find, so that what the others find is the tampering."""
    assert after(original, tmp_path, sql("INSERT INTO meta VALUES ('note', 'by somebody')")) == ()


@pytest.mark.parametrize("column", AUDIT_EDITS)
def test_an_edited_entry_is_found(original: Path, tmp_path: Path, column: str) -> None:
    """No column of any entry can be changed unnoticed."""
    for number in ids(original, "audit", "seq"):
        assert after(original, tmp_path, sql(AUDIT_EDITS[column], number)), number


def test_a_deleted_entry_is_found(original: Path, tmp_path: Path) -> None:
    """The first, the last and every one between are missed."""
    for number in ids(original, "audit", "seq"):
        assert after(original, tmp_path, sql("DELETE FROM audit WHERE seq = ?", number)), number


def test_a_deleted_audit_is_found(original: Path, tmp_path: Path) -> None:
    """Taking all of it away is noticed, with and without what is written down about its ends."""
    assert after(original, tmp_path, sql("DELETE FROM audit"))
    ends = "DELETE FROM meta WHERE key IN ('audit_head', 'audit_base')"
    assert after(original, tmp_path, sql(f"DELETE FROM audit; {ends}"))


def swap(one: int, two: int) -> Tamper:
    """Exchange the numbers of two entries."""
    return lambda file: file.execute(
        "UPDATE audit SET seq = -:one WHERE seq = :one; UPDATE audit SET seq = :one WHERE seq = :two;"
        " UPDATE audit SET seq = :two WHERE seq = -:one",
        {"one": one, "two": two},
    )


def test_swapped_entries_are_found(original: Path, tmp_path: Path) -> None:
    """Neighbours and distant ones cannot change places."""
    last = max(ids(original, "audit", "seq"))
    for one, two in ((1, 2), (1, last), (last - 1, last), (3, 7)):
        assert after(original, tmp_path, swap(one, two)), (one, two)


def forge(*, head: bool, uid: str) -> Tamper:
    """Append an entry that follows the last one as it should, and perhaps say so at the head."""

    def tamper(file: apsw.Connection) -> None:
        entry = chained(read_head(file, "audit_head"), at=NOW, actor="eve", action="update", uid=uid, state="b2:forged")
        write_audit(file, entry)
        if head:
            write_head(file, "audit_head", Head(entry.seq, entry.hash))

    return tamper


def test_a_forged_entry_is_found(original: Path, tmp_path: Path) -> None:
    """An entry that nobody made does not fit: its hash, the head, or the memory it speaks of tells."""
    bad_hash = "INSERT INTO audit SELECT seq + 1, at, actor, action, uid, detail, state, hash, hash FROM audit"
    assert after(original, tmp_path, sql(f"{bad_hash} ORDER BY seq DESC LIMIT 1"))
    assert after(original, tmp_path, forge(head=False, uid=""))
    with closing(apsw.Connection(str(original), flags=apsw.SQLITE_OPEN_READONLY)) as file:
        known = str(file.execute("SELECT uid FROM memories WHERE id = 1").get)
    assert after(original, tmp_path, forge(head=True, uid=known))
    assert after(original, tmp_path, forge(head=True, uid="nobody"))


def test_a_cut_off_end_is_found(original: Path, tmp_path: Path) -> None:
    """Dropping the last changes and moving the head back leaves memories that the audit does not account for."""
    for keep in (0, 1, 4, max(ids(original, "audit", "seq")) - 1):

        def tamper(file: apsw.Connection, keep: int = keep) -> None:
            file.execute("DELETE FROM audit WHERE seq > ?", (keep,))
            last = file.execute("SELECT hash FROM audit WHERE seq = ?", (keep,)).get
            write_head(file, "audit_head", Head(keep, str(last)) if last else Head())

        assert after(original, tmp_path, tamper), keep


def fake_trim(through: int) -> Tamper:
    """Drop the first entries and claim that they were trimmed."""

    def tamper(file: apsw.Connection) -> None:
        base = Head(through, str(file.execute("SELECT hash FROM audit WHERE seq = ?", (through,)).get))
        file.execute("DELETE FROM audit WHERE seq <= ?", (through,))
        write_head(file, "audit_base", base)

    return tamper


def test_a_start_that_was_not_trimmed_is_found(original: Path, tmp_path: Path) -> None:
    """Only an entry of the chain itself can vouch for what is gone from its start."""
    for through in ids(original, "audit", "seq")[:-1]:
        assert after(original, tmp_path, fake_trim(through)), through


def test_a_start_that_was_trimmed_further_is_found(tmp_path: Path) -> None:
    """A bounded audit that was trimmed can be trimmed by nobody else."""
    store = SQLITE.open(tmp_path / "bounded", Options(audit=Bound(max_entries=20, trim_to=10)))
    for n in range(50):
        add(store, f"number {n}")
    assert store.verify_audit() == ()
    numbers = [entry.seq for entry in store.audit()]
    store.close()
    for through in numbers[:-1]:
        assert after(tmp_path / "bounded" / "memory.db", tmp_path / "copy", fake_trim(through)), through


@pytest.mark.parametrize("column", MEMORY_EDITS)
def test_a_memory_edited_behind_the_store_is_found(original: Path, tmp_path: Path, column: str) -> None:
    """No field of any memory can be changed unnoticed, whether it is remembered, archived or forgotten."""
    for number in ids(original, "memories", "id"):
        assert after(original, tmp_path, sql(MEMORY_EDITS[column], number)), number


def test_an_edit_that_brings_its_own_hashes_is_found(original: Path, tmp_path: Path) -> None:
    """Somebody who knows how hashes are made still cannot make the audit say so."""

    def tamper(file: apsw.Connection) -> None:
        forged = "memory one, forged"
        file.execute(
            "UPDATE memories SET content = ?, content_hash = ?, fingerprint = ?, state_hash = ? WHERE id = 1",
            (forged, content_hash(forged), fingerprint(forged), state_hash(memory(forged))),
        )

    assert after(original, tmp_path, tamper)


def test_a_deleted_memory_is_found(original: Path, tmp_path: Path) -> None:
    """A memory that vanished is missed."""
    for number in ids(original, "memories", "id"):
        assert after(original, tmp_path, sql("DELETE FROM memories WHERE id = ?", number)), number


def insert_copy(file: apsw.Connection) -> None:
    """Put a memory there that nobody added."""
    columns = [str(name) for (name,) in file.execute("SELECT name FROM pragma_table_info('memories')")]
    same = ", ".join(name for name in columns if name not in ("id", "uid", "status"))
    file.execute(
        f"INSERT INTO memories (uid, status, {same}) SELECT 'forged', 'archived', {same} FROM memories LIMIT 1"
    )


def test_an_inserted_memory_is_found(original: Path, tmp_path: Path) -> None:
    """A memory that no entry speaks of is noticed."""
    assert after(original, tmp_path, insert_copy)


UNREADABLE: dict[str, str] = {
    "a-time-out-of-range": "UPDATE audit SET at = 4611686018427387904 WHERE seq = 2",
    "no-json": "UPDATE audit SET detail = 'not json' WHERE seq = 2",
    "a-number-that-is-none": "UPDATE audit SET detail = '[NaN]' WHERE seq = 2",
    "endless-json": "UPDATE audit SET detail = replace(hex(zeroblob(50000)), '0', '[') WHERE seq = 2",
    "a-head-that-is-none": "UPDATE meta SET value = 'nothing' WHERE key = 'audit_head'",
    "a-base-that-is-none": "INSERT INTO meta VALUES ('audit_base', 'nothing at all')",
    "a-memory-time-out-of-range": "UPDATE memories SET created_at = 4611686018427387904 WHERE id = 1",
    "a-kind-that-is-none": "UPDATE memories SET kind = 'novel' WHERE id = 1",
    "a-payload-that-is-endless": "UPDATE memories SET payload = replace(hex(zeroblob(50000)), '0', '[') WHERE id = 1",
}


@pytest.mark.parametrize("edit", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_told_and_not_raised(original: Path, tmp_path: Path, edit: str) -> None:
    """A value that makes no sense is one more thing to find, in the audit and in the check of the whole store."""
    assert after(original, tmp_path, sql(edit))
    store = SQLITE.open(tmp_path)
    try:
        assert faults(store)
    finally:
        store.close()


def test_an_edited_version_is_found_by_the_check(original: Path, tmp_path: Path) -> None:
    """The past of a memory has its own hashes, which the check of the whole store compares."""
    edit = "UPDATE versions SET state = replace(state, 'memory one', 'memory won')"
    after(original, tmp_path, sql(edit))
    store = SQLITE.open(tmp_path)
    try:
        assert [check.name for check in store.check() if not check.ok] == ["versions"]
    finally:
        store.close()


def random_tamper(chance: random.Random, entries: list[int], memories: list[int]) -> tuple[str, Tamper]:
    """Something that somebody could do to the file, and what to call it."""
    entry, number = chance.choice(entries), chance.choice(memories)
    other = chance.choice([each for each in entries if each != entry])
    column, field = chance.choice(sorted(AUDIT_EDITS)), chance.choice(sorted(MEMORY_EDITS))
    return chance.choice(
        [
            (f"edit {column} of entry {entry}", sql(AUDIT_EDITS[column], entry)),
            (f"delete entry {entry}", sql("DELETE FROM audit WHERE seq = ?", entry)),
            (f"swap entries {entry} and {other}", swap(entry, other)),
            (f"claim {entry} entries trimmed", fake_trim(entry)),
            ("forge an entry", forge(head=False, uid=chance.choice(["", "nobody"]))),
            (f"edit {field} of memory {number}", sql(MEMORY_EDITS[field], number)),
            (f"delete memory {number}", sql("DELETE FROM memories WHERE id = ?", number)),
            ("insert a memory", insert_copy),
        ]
    )


def test_a_hundred_random_tamperings_are_all_found(original: Path, tmp_path: Path) -> None:
    """Whatever it is, it is found: a hundred of a hundred."""
    chance = random.Random(20)
    entries, memories = ids(original, "audit", "seq")[:-1], ids(original, "memories", "id")
    missed = []
    for _ in range(100):
        name, tamper = random_tamper(chance, entries, memories)
        if not after(original, tmp_path, tamper):
            missed.append(name)
    assert missed == []


def test_tampering_is_found_in_a_store_that_stays_open(tmp_path: Path) -> None:
    """The audit is read from the file each time it is verified."""
    store = SQLITE.open(tmp_path)
    live(store)
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as file:
        file.execute("UPDATE audit SET actor = 'eve' WHERE seq = 3")
    assert store.verify_audit()
    assert held(store, MemoryId(1)).content == "memory one, corrected"
    store.close()
