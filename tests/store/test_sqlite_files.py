"""The files of the lasting stores: private, validated, migrated, backed up, and right when something goes wrong."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, cast

import apsw
import numpy as np
import pytest
from store_kit import (
    HOUR,
    JSON,
    NOW,
    SQLITE,
    add,
    answer,
    apply,
    contents,
    everything,
    faults,
    file,
    filed,
    found,
    held,
    memory,
    passage,
    said,
)

from recollect.errors import RecollectError, StoreDamaged, StoreError, StoreFull, StoreInUse, StoreTooNew, Unsupported
from recollect.model import (
    Anchor,
    Change,
    Clear,
    Connect,
    Corpus,
    Define,
    Edit,
    File,
    Given,
    Link,
    LinkKind,
    Mark,
    MemoryId,
    Notice,
    Perform,
    Propose,
    Put,
    Rate,
    Regroup,
    Retag,
    Revert,
    Revise,
    Sight,
    Signals,
    Status,
    Step,
    StepState,
    Together,
    Unfile,
    Weigh,
)
from recollect.policy.identity import content_hash, fingerprint
from recollect.store import Options, Store, open_store, salvaged
from recollect.store.sqlite import SqliteStore, files
from recollect.store.sqlite.connect import Connections, require_engine
from recollect.store.sqlite.schema import APPLICATION_ID, MIGRATIONS, SHAPE, shape_of

CANONICAL = [
    *("memories", "versions", "links", "feedback", "audit", "requests", "clusters", "memory_clusters", "meta"),
    *("definitions", "passages", "together"),
    *("plans", "steps", "sightings", "findings", "given"),
]


def sha(path: Path) -> str:
    """What a file holds, in one word."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def listing(folder: Path) -> dict[str, str]:
    """Every file below a folder and what it holds."""
    return {str(path.relative_to(folder)): sha(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def fill(store: Store) -> None:
    """A little of everything."""
    one = add(
        store, "The cache is warmed by parseHTTPResponse", tags=("cache",), anchors=(Anchor(path="src/cache.py"),)
    )
    two = add(store, "Deploys happen on Tuesdays", tags=("deploy",))
    gone = add(store, "A forgotten zebra")
    apply(store, Connect(link=Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id, weight=0.5)), key="k")
    apply(store, Revise(id=two.id, edit=Edit(content="Deploys happen on Fridays")), now=NOW + HOUR)
    apply(store, Rate(id=one.id, helpful=True, signals=Signals(strength=1), note="it did"))
    apply(store, Regroup(clusters=(("pair", (one.id, two.id)),)))
    apply(store, Mark(id=gone.id, status=Status.FORGOTTEN))


def fill_beside(store: Store) -> None:
    """A little of everything that lies beside the memories."""
    file(
        store,
        passage("Who warms the cache?", label="ada", at=NOW),
        passage("The zeppelin does.", position=1, label="bob", at=NOW + HOUR, payload={"line": 7}),
        passage("def warm(): ...", corpus=Corpus.SOURCES, document="src/cache.py"),
        passage("The cache holds a day", corpus=Corpus.ITEMS, document="README.md"),
    )
    apply(store, Define(sort="alias", name="k8s", value=["kubernetes"]))
    store.note_uses({MemoryId(1): 2}, [Together(memory=MemoryId(1), other=MemoryId(2), strength=2.0)], now=NOW)


def fill_plans(store: Store) -> None:
    """A plan with a step that is done and one that waits, and a note of each sort."""
    planned: list[Change] = [Define(sort="alias", name="pg", value=["postgres"]), Regroup(clusters=())]
    steps = tuple(Step(sort="tidy", key=f"k{n}", why="to see", changes=(each,)) for n, each in enumerate(planned))
    apply(store, Propose(sort="garden", steps=steps, live=2))
    apply(store, Perform(plan=1, step=1), Sight(sort="idle", seen=(MemoryId(1),)))
    apply(store, Notice(fingerprints=("x",), session_id="s1", agent="ada"))
    store.note_given([Given(id="r1", at=NOW, session="s1")])


def connections(store: Store) -> Connections:
    """What a store works with underneath."""
    return cast(SqliteStore, store)._connections


@pytest.fixture
def permissive_umask() -> Iterator[None]:
    """The most careless umask there is."""
    before = os.umask(0)
    yield
    os.umask(before)


# --- Privacy -------------------------------------------------------------------------------------------------------


def modes(folder: Path) -> dict[str, int]:
    """The mode of everything below a folder."""
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


@pytest.mark.usefixtures("permissive_umask")
@pytest.mark.parametrize("engine", [SQLITE, JSON], ids=["sqlite", "json"])
def test_every_file_is_for_its_owner_alone(tmp_path: Path, engine: Any) -> None:
    """Database, log, locks, marks and backups are 0600 and new folders 0700, whatever the umask."""
    folder = tmp_path / "stores" / "deep" / "space"
    store = engine.open(folder)
    add(store, "one")
    add(store, "two")
    store.backup(tmp_path / "kept" / "backup.db")
    while_open = modes(tmp_path)
    store.close()
    for path, mode in {**while_open, **modes(tmp_path)}.items():
        assert mode == (0o700 if (tmp_path / path).is_dir() else 0o600), f"{path} has {mode:o}"
    names = {Path(path).name for path in while_open}
    expected = {"sqlite": {"memory.db", "memory.db-wal", "memory.db-shm"}, "json": {"memory.json", "memory.json.bak"}}
    assert expected[engine.name] <= names
    assert "backup.db" in names


# --- Schema --------------------------------------------------------------------------------------------------------


def test_the_shape_that_is_written_down_is_the_shape_of_a_new_store(tmp_path: Path) -> None:
    """A change of the schema without a migration, or without a new shape, is noticed here."""
    SQLITE.open(tmp_path).close()
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        assert shape_of(connection) == SHAPE
        assert connection.pragma("user_version") == len(MIGRATIONS)
        assert connection.pragma("application_id") == APPLICATION_ID


def at_shape(path: Path, steps: int) -> apsw.Connection:
    """A file as it was after the first migrations only."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    for number, step in enumerate(MIGRATIONS[:steps], start=1):
        with connection:
            step(connection)
            connection.execute("INSERT INTO meta (key, value) VALUES (?, 'then')", (f"migration:{step.__name__}",))
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", number)
    return connection


def columns_of(connection: apsw.Connection, schema: str, table: str) -> set[str]:
    """The columns a table has there, none if there is no such table."""
    return {str(name) for (name,) in connection.execute("SELECT name FROM pragma_table_info(?, ?)", (table, schema))}


def copy_rows(connection: apsw.Connection, sample: Path) -> None:
    """Fill the tables that an older shape has from a present store, column by column."""
    connection.execute("ATTACH ? AS sample", (str(sample),))
    for table in CANONICAL:
        shared = ", ".join(sorted(columns_of(connection, "main", table) & columns_of(connection, "sample", table)))
        if shared:
            only = "WHERE key LIKE 'audit%'" if table == "meta" else ""
            connection.execute(f"INSERT INTO main.{table} ({shared}) SELECT {shared} FROM sample.{table} {only}")
    connection.execute("DETACH sample")


@pytest.mark.row("P6", "migrations", "older-data")
@pytest.mark.parametrize("steps", range(1, len(MIGRATIONS)), ids=lambda steps: f"from-{steps}")
def test_a_store_of_every_earlier_shape_is_taken_over_whole(tmp_path: Path, steps: int) -> None:
    """Its rows, past, links and audit are there, everything is indexed, and a copy from before is kept."""
    sample = SQLITE.open(tmp_path / "sample")
    fill(sample)
    sample.backup(tmp_path / "sample.db")
    (tmp_path / "old").mkdir()
    with closing(at_shape(tmp_path / "old" / "memory.db", steps)) as connection:
        copy_rows(connection, tmp_path / "sample.db")
    kept = tmp_path / "kept"
    store = SQLITE.open(tmp_path / "old", Options(backups=kept))
    assert everything(store) == everything(sample)
    for question in ("cache", "response", "fridays", "zebra", "src"):
        assert answer(store, question) == answer(sample, question)
    assert found(store, "cache response") == ["The cache is warmed by parseHTTPResponse"]
    for each in (store, sample):
        fill_beside(each)
    assert everything(store) == everything(sample)
    assert faults(store) == []
    [copy] = kept.iterdir()
    assert any(copy.name in note for note in store.notes)
    with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        assert connection.pragma("user_version") == steps
        assert connection.execute("SELECT count(*) FROM memories").get == 3
    store.close()
    again = SQLITE.open(tmp_path / "old")
    assert again.notes == ()
    again.close()
    sample.close()


def without_later_tables(path: Path, steps: int, empty: Path) -> None:
    """Make a present store file what it was when there were only the first migrations, its indexes full and current."""
    with closing(at_shape(empty, steps)) as then, closing(apsw.Connection(str(path))) as connection:
        names = "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'index') AND name NOT GLOB 'sqlite_*'"
        known = set(then.execute(names))
        for kind, name in set(connection.execute(names).fetchall()) - known:
            connection.execute(f"DROP {kind} IF EXISTS {name}")
        for step in MIGRATIONS[steps:]:
            connection.execute("DELETE FROM meta WHERE key = ?", (f"migration:{step.__name__}",))
        connection.pragma("user_version", steps)
        assert shape_of(connection) == shape_of(then), "it has the very tables that it had then"


@pytest.mark.row("P6", "migrations", "older-data")
def test_a_store_of_before_there_were_plans_is_taken_over_whole(tmp_path: Path) -> None:
    """Nothing of it is made anew or lost, not even a vector; and from then on it holds plans."""
    store = SQLITE.open(tmp_path)
    fill(store)
    fill_beside(store)
    one = held(store, MemoryId(1))
    store.keep_vectors("model", [(one.id, one.content_hash)], np.ones((1, 4), np.float32), corpus=Corpus.MEMORY)
    before, told = everything(store), answer(store, "cache response")
    store.close()
    without_later_tables(tmp_path / "memory.db", 3, tmp_path / "then.db")
    kept = tmp_path / "kept"
    store = SQLITE.open(tmp_path, Options(backups=kept))
    assert len(list(kept.iterdir())) == len(store.notes) == 1
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        assert connection.pragma("user_version") == len(MIGRATIONS) > 3
        assert shape_of(connection) == SHAPE
    assert everything(store) == before
    assert answer(store, "cache response") == told
    assert store.vectors("model", corpus=Corpus.MEMORY)[0] == [one.id]
    assert (
        store.plans(),
        store.step_keys(frozenset({StepState.REFUSED})),
        store.sightings("idle"),
        store.acting(),
    ) == ((), frozenset(), {}, ())
    assert faults(store) == []
    step = Step(sort="tidy", key="k", why="to see", changes=(Retag(id=one.id, add=("x",)),))
    apply(store, Propose(sort="garden", steps=(step,)))
    for turn, version in ((Perform(plan=1, step=1), one.version + 1), (Revert(plan=1, step=1), one.version)):
        apply(store, turn)
        assert held(store, one.id).version == version
    assert everything(store)["memories"] == before["memories"]
    assert faults(store) == []
    store.close()


@pytest.mark.row("P6", "migrations")
def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    """A file that was made and never filled, as after a crash at the first start, is a new store."""
    (tmp_path / "memory.db").touch(mode=0o600)
    store = SQLITE.open(tmp_path)
    fill(store)
    assert faults(store) == []
    store.close()


@pytest.mark.row("P6", "migrations")
def test_a_migration_that_was_killed_is_finished(tmp_path: Path) -> None:
    """A process that dies after one step leaves a file that the next one brings up to date."""
    path = tmp_path / "memory.db"
    script = """
        import os, signal, sys
        from datetime import UTC, datetime
        import apsw
        from recollect.store.sqlite.schema import migrate
        next(iter(migrate(apsw.Connection(sys.argv[1]), datetime.now(UTC))))
        os.kill(os.getpid(), signal.SIGKILL)
    """
    assert run(script, path).returncode < 0
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.pragma("user_version") == 1
    store = SQLITE.open(tmp_path)
    fill(store)
    assert faults(store) == []
    store.close()


@pytest.mark.row("P6", "migrations")
def test_an_index_that_was_left_stale_is_made_anew(tmp_path: Path) -> None:
    """A process that dies between the last step and the rebuilding leaves a mark, and the next one rebuilds."""
    store = SQLITE.open(tmp_path)
    fill(store)
    fill_beside(store)
    before = everything(store)
    store.close()
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        connection.execute(
            "DELETE FROM words; DELETE FROM terms; DELETE FROM memory_tags; DELETE FROM memory_files;"
            "DELETE FROM sessions_words; DELETE FROM items_words; DELETE FROM sources_words; DELETE FROM passage_terms;"
            "DELETE FROM meta WHERE key GLOB 'index_size*'; INSERT INTO meta VALUES ('stale', 'index')"
        )
    store = SQLITE.open(tmp_path)
    assert everything(store) == before
    assert found(store, "tuesdays fridays") == ["Deploys happen on Fridays"]
    assert said(answer(store, "zeppelin", corpus=Corpus.SESSIONS).passages) == ["The zeppelin does."]
    assert faults(store) == []
    store.close()
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        assert connection.execute("SELECT count(*) FROM meta WHERE key = 'stale'").get == 0


def test_a_newer_store_is_left_untouched(tmp_path: Path) -> None:
    """A store of a later version is refused without a byte written, and nothing new lies beside it."""
    store = SQLITE.open(tmp_path)
    fill(store)
    store.close()
    newer = len(MIGRATIONS) + 1
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        connection.pragma("user_version", newer)
    before = listing(tmp_path)
    with pytest.raises(StoreTooNew) as caught:
        SQLITE.open(tmp_path, Options(backups=tmp_path))
    assert (caught.value.found, caught.value.known) == (newer, newer - 1)
    assert listing(tmp_path) == before


def test_a_store_that_another_is_just_upgrading_is_refused(tmp_path: Path) -> None:
    """What the newer version has written and not yet moved into the file itself counts too."""
    store = SQLITE.open(tmp_path)
    fill(store)
    store.close()
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as newer:
        newer.pragma("user_version", len(MIGRATIONS) + 1)
        before = sha(tmp_path / "memory.db")
        with pytest.raises(StoreTooNew):
            SQLITE.open(tmp_path)
        assert sha(tmp_path / "memory.db") == before


@pytest.mark.row("P6", "validation")
@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX memories_created",
        "DROP TABLE terms",
        "ALTER TABLE memories ADD COLUMN mood TEXT",
        "ALTER TABLE links RENAME COLUMN weight TO heft",
        "CREATE INDEX extra ON memories (content)",
        "CREATE TRIGGER spy AFTER INSERT ON memories BEGIN DELETE FROM audit; END",
        "CREATE TRIGGER words_spy AFTER INSERT ON memories BEGIN DELETE FROM audit; END",
        "DROP TABLE sessions_words",
        "ALTER TABLE definitions ADD COLUMN mood TEXT",
        "DROP INDEX passages_place",
    ],
)
def test_tables_that_are_not_those_of_the_version_are_refused(tmp_path: Path, change: str) -> None:
    """A schema that was altered behind the version's back is told when the store is opened, not somewhere later."""
    store = SQLITE.open(tmp_path)
    fill(store)
    store.close()
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        connection.execute(change)
    with pytest.raises(StoreDamaged):
        SQLITE.open(tmp_path)


def test_tables_of_others_do_no_harm(tmp_path: Path) -> None:
    """What somebody keeps beside our tables is none of our business."""
    SQLITE.open(tmp_path).close()
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        connection.execute("CREATE TABLE notes_of_mine (note TEXT); CREATE VIEW recent AS SELECT * FROM memories")
    SQLITE.open(tmp_path).close()


@pytest.mark.parametrize("version", [0, 1, len(MIGRATIONS), 99])
def test_a_database_of_somebody_else_is_refused_and_left_as_it_is(tmp_path: Path, version: int) -> None:
    """Pointing at another program's database does not turn it into a store."""
    path = tmp_path / "memory.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('https://example.org')")
        connection.pragma("user_version", version)
    before = sha(path)
    with pytest.raises(RecollectError):
        SQLITE.open(tmp_path)
    assert sha(path) == before


@pytest.mark.parametrize("engine", [SQLITE, JSON], ids=["sqlite", "json"])
@pytest.mark.parametrize("obstacle", ["folder-in-its-place", "file-in-the-way"])
def test_a_place_where_no_store_can_be_is_told(tmp_path: Path, engine: Any, obstacle: str) -> None:
    """What cannot be opened is an error in the product's words."""
    if obstacle == "folder-in-its-place":
        Path(engine.url(tmp_path).removeprefix("json:")).mkdir()
        folder = tmp_path
    else:
        (tmp_path / "file").write_text("in the way")
        folder = tmp_path / "file"
    with pytest.raises(RecollectError):
        engine.open(folder)


# --- Damage --------------------------------------------------------------------------------------------------------


def overwrite_pages(path: Path) -> None:
    """Zeros over everything from the second page on."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(size - 4096))


def overwrite_one_page(path: Path) -> None:
    """Noise over one page in the middle."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xa5" * 4096)


def cut(path: Path) -> None:
    """Half of the file is gone."""
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def cut_short(path: Path) -> None:
    """The file ends in the middle of its first page."""
    os.truncate(path, 1000)


def spoil_header(path: Path) -> None:
    """The file does not look like a database."""
    with path.open("r+b") as file:
        file.write(b"garbage!" * 12)


def replace_all(path: Path) -> None:
    """Something else lies there."""
    path.write_text("This is not the file you are looking for.\n" * 300)


DAMAGE = [overwrite_pages, overwrite_one_page, cut, cut_short, spoil_header, replace_all]


def damaged_store(folder: Path, damage: Callable[[Path], None], kept: Path) -> tuple[dict[str, object], bytes]:
    """A store with two backups that got damaged after the second; what that one holds, and the damaged bytes."""
    store = SQLITE.open(folder)
    fill(store)
    store.backup(kept / "first.db")
    add(store, "In the second backup")
    store.backup(kept / "second.db")
    before = everything(store)
    add(store, "In no backup")
    store.close()
    for age, name in ((200, "first.db"), (100, "second.db")):
        os.utime(kept / name, (1_700_000_000 - age, 1_700_000_000 - age))
    damage(folder / "memory.db")
    return before, (folder / "memory.db").read_bytes()


@pytest.mark.row("P6", "validation", "backup-fallback")
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_damaged_store_gives_way_to_its_newest_good_backup(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """The store opens with what the backup holds and says so; the damaged file is kept aside."""
    kept = tmp_path / "kept"
    before, damaged = damaged_store(tmp_path / "space", damage, kept)
    store = SQLITE.open(tmp_path / "space", Options(backups=kept))
    assert everything(store) == before
    [note] = store.notes
    [aside] = (tmp_path / "space").glob("memory.db.damaged-*[0-9Z]")
    assert "second.db" in note
    assert aside.name in note
    assert aside.read_bytes() == damaged
    assert stat.S_IMODE((tmp_path / "space" / "memory.db").stat().st_mode) == 0o600
    assert faults(store) == []
    add(store, "Life goes on")
    store.close()
    again = SQLITE.open(tmp_path / "space", Options(backups=kept))
    assert again.notes == ()
    assert found(again, "life") == ["Life goes on"]
    again.close()


@pytest.mark.row("P6", "backup-fallback")
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_damaged_backup_is_passed_over(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """The newest backup that is sound stands in, not the newest of all."""
    kept = tmp_path / "kept"
    damaged_store(tmp_path / "space", spoil_header, kept)
    when = (kept / "second.db").stat().st_mtime
    damage(kept / "second.db")
    os.utime(kept / "second.db", (when, when))
    store = SQLITE.open(tmp_path / "space", Options(backups=kept))
    assert "first.db" in store.notes[0]
    assert found(store, "second backup") == []
    assert faults(store) == []
    store.close()


@pytest.mark.row("P6", "backup-fallback")
def test_a_backup_that_cannot_be_used_is_passed_over(tmp_path: Path) -> None:
    """A database of somebody else and a store of a newer version do not stand in, nor an older sort of file."""
    kept = tmp_path / "kept"
    damaged_store(tmp_path / "space", cut, kept)
    with closing(apsw.Connection(str(kept / "foreign.db"))) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    shutil.copy(kept / "second.db", kept / "newer.db")
    with closing(apsw.Connection(str(kept / "newer.db"))) as connection:
        connection.pragma("user_version", len(MIGRATIONS) + 1)
    (kept / "empty.db").touch()
    store = SQLITE.open(tmp_path / "space", Options(backups=kept))
    assert "second.db" in store.notes[0]
    store.close()


@pytest.mark.row("P6", "validation")
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("backups", ["no-folder", "empty-folder", "none-good"])
def test_a_damaged_store_without_a_good_backup_is_left_as_it_is(
    tmp_path: Path, damage: Callable[[Path], None], backups: str
) -> None:
    """It is told that it is damaged, and the file stays where it is for whoever can still read it."""
    kept = tmp_path / "kept"
    damaged_store(tmp_path / "space", damage, tmp_path / "elsewhere")
    if backups != "no-folder":
        kept.mkdir()
    if backups == "none-good":
        (kept / "bad.db").write_bytes(b"not a backup")
    before = sha(tmp_path / "space" / "memory.db")
    with pytest.raises(StoreDamaged):
        SQLITE.open(tmp_path / "space", Options(backups=None if backups == "no-folder" else kept))
    assert sha(tmp_path / "space" / "memory.db") == before
    assert list((tmp_path / "space").glob("*.damaged*")) == []


@pytest.mark.row("P6", "validation")
def test_a_store_that_lost_all_its_bytes_does_not_pass_for_a_new_one(tmp_path: Path) -> None:
    """An empty file where backups are known is told of, as a missing one is, or gives way to the newest."""
    kept = tmp_path / "kept"
    damaged_store(tmp_path / "space", lambda path: os.truncate(path, 0), kept)
    store = SQLITE.open(tmp_path / "space", Options(backups=kept))
    assert any("second.db" in note for note in store.notes)
    store.close()


def test_a_missing_store_is_new_and_its_backups_are_named(tmp_path: Path) -> None:
    """A store that is not there is made, and a person is told what could be restored."""
    kept = tmp_path / "kept"
    store = SQLITE.open(tmp_path / "space")
    fill(store)
    store.backup(kept / "only.db")
    store.close()
    (tmp_path / "space" / "memory.db").unlink()
    store = SQLITE.open(tmp_path / "space", Options(backups=kept))
    assert store.count() == 0
    assert any("only.db" in note for note in store.notes)
    store.close()


@pytest.mark.row("P6", "backup-fallback")
def test_what_was_stored_after_a_backup_stood_in_is_not_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that find the store damaged, the second does not put the backup over what the first has stored since."""
    kept = tmp_path / "kept"
    damaged_store(tmp_path / "space", spoil_header, kept)
    stand_in = files._stand_in

    def overtaken(path: Path, options: Options, damage: StoreDamaged) -> Any:
        monkeypatch.setattr(files, "_stand_in", stand_in)
        first = SQLITE.open(tmp_path / "space", Options(backups=kept))
        add(first, "Stored by the first")
        first.close()
        return stand_in(path, options, damage)

    monkeypatch.setattr(files, "_stand_in", overtaken)
    second = SQLITE.open(tmp_path / "space", Options(backups=kept))
    assert found(second, "first") == ["Stored by the first"]
    second.close()


def test_what_is_whole_in_a_damaged_file_is_read(tmp_path: Path) -> None:
    """Salvaging gives every memory that is still whole, and says of each that is not."""
    store = SQLITE.open(tmp_path)
    fill(store)
    stored = store.query(limit=None)
    store.close()
    path = tmp_path / "memory.db"
    assert sorted(each.uid for each in salvaged(path) if each) == sorted(each.uid for each in stored)
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("UPDATE memories SET content = 'forged' WHERE id = 1")
        connection.execute("UPDATE memories SET kind = 'novel' WHERE id = 2")
    found_again = list(salvaged(path))
    assert [each.id for each in found_again if each] == [3]
    assert found_again.count(None) == 2


@pytest.mark.timeout(20)
def test_salvaging_takes_no_longer_for_ids_that_lie_far_apart(tmp_path: Path) -> None:
    """A memory that came in with a high id does not make all the numbers below it be asked for."""
    store = SQLITE.open(tmp_path)
    add(store, "an ordinary one")
    apply(store, Put(memory=memory("one with a high id", id=MemoryId(2**40))))
    store.close()
    assert sorted(each.id for each in salvaged(tmp_path / "memory.db") if each) == [1, 2**40]


# --- How a file is used --------------------------------------------------------------------------------------------


def pragmas(store: Store) -> dict[str, object]:
    """How the connections of a store are set up."""
    names = ("journal_mode", "synchronous", "secure_delete", "foreign_keys", "trusted_schema")
    with connections(store).reading() as reader:
        reading = {name: reader.pragma(name) for name in names}
    with connections(store).writing() as writer:
        writing = {name: writer.pragma(name) for name in names}
    assert reading == writing
    return reading


IN_FORCE = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1, "trusted_schema": 0}


def test_connections_are_set_up_to_keep_what_they_acknowledge(tmp_path: Path) -> None:
    """Write-ahead log, full synchronisation, and deletion that overwrites, for every connection."""
    store = SQLITE.open(tmp_path)
    fill(store)
    assert pragmas(store) == IN_FORCE
    for _ in range(2):
        for table in ("words", "items_words", "sessions_words", "sources_words"):
            with connections(store).reading() as connection:
                assert connection.execute(f"SELECT v FROM {table}_config WHERE k = 'secure-delete'").get == 1
        store.rebuild()
    store.close()


def test_a_restored_store_is_set_up_like_any_other(tmp_path: Path) -> None:
    """Restoring a backup, which is one plain file, leaves the store with its write-ahead log."""
    store = SQLITE.open(tmp_path)
    fill(store)
    store.backup(tmp_path / "backup.db")
    store.restore(tmp_path / "backup.db")
    assert pragmas(store) == IN_FORCE
    store.close()
    again = SQLITE.open(tmp_path)
    assert pragmas(again) == IN_FORCE
    again.close()


def test_a_store_that_a_backup_stands_in_for_is_set_up_like_any_other(tmp_path: Path) -> None:
    """After damage, too, readers and writers do not wait for each other."""
    damaged_store(tmp_path / "space", spoil_header, tmp_path / "kept")
    store = SQLITE.open(tmp_path / "space", Options(backups=tmp_path / "kept"))
    assert pragmas(store) == IN_FORCE
    store.close()


def test_a_backup_put_in_place_by_hand_is_set_up_like_any_other(tmp_path: Path) -> None:
    """A person may copy a backup to where the store was."""
    store = SQLITE.open(tmp_path / "one")
    fill(store)
    (tmp_path / "two").mkdir()
    store.backup(tmp_path / "two" / "memory.db")
    copy = SQLITE.open(tmp_path / "two")
    assert everything(copy) == everything(store)
    assert pragmas(copy) == IN_FORCE
    copy.close()
    store.close()


def test_a_row_that_cannot_be_read_costs_no_connection(tmp_path: Path) -> None:
    """A read that fails half way leaves nothing open that would keep the log from being emptied."""
    store = SQLITE.open(tmp_path)
    fill(store)
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        connection.execute("UPDATE memories SET kind = 'novel' WHERE id = 2")
    store.count()
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        with pytest.raises(StoreDamaged):
            store.query()
    assert len(os.listdir("/dev/fd")) <= before + 4
    store.close()


@pytest.mark.row("K1", "one-file")
def test_a_closed_store_is_one_file_that_can_be_copied(tmp_path: Path) -> None:
    """The file alone, taken elsewhere, is the whole store."""
    store = SQLITE.open(tmp_path / "one")
    fill(store)
    before = everything(store)
    store.close()
    (tmp_path / "two").mkdir()
    shutil.copy(tmp_path / "one" / "memory.db", tmp_path / "two" / "memory.db")
    copy = SQLITE.open(tmp_path / "two")
    assert everything(copy) == before
    assert found(copy, "parse response") == ["The cache is warmed by parseHTTPResponse"]
    assert faults(copy) == []
    copy.close()


INDEX_TABLES = {
    "words": "content || tags || files",
    "words_content": "c0 || c1 || c2",
    "words_data": "CAST(block AS TEXT)",
    "terms": "word",
    "memory_tags": "tag",
    "memory_files": "path",
}


PASSAGE_TABLES = {
    "passages": "text || label || document || ifnull(payload, '')",
    "sources_words": "content || label || document",
    "sources_words_content": "c0 || c1 || c3",
    "sources_words_data": "CAST(block AS TEXT)",
    "passage_terms": "word",
}


def traces(path: Path, word: str, tables: dict[str, str] = INDEX_TABLES) -> list[str]:
    """The index tables in which a word still stands."""
    with closing(apsw.Connection(str(path))) as connection:
        return [
            table
            for table, text in tables.items()
            if connection.execute(f"SELECT count(*) FROM {table} WHERE instr(lower({text}), ?)", (word,)).get
        ]


@pytest.mark.parametrize("how", ["forget", "clear", "revise"])
def test_words_that_left_leave_no_trace_in_the_index(tmp_path: Path, how: str) -> None:
    """When nobody can find a memory by a word any more, no index holds the word."""
    store = SQLITE.open(tmp_path)
    add(store, "An ordinary memory", tags=("plain",), anchors=(Anchor(path="plain.py"),))
    one = add(store, "The zyxwvut is here", tags=("zyxwvut",), anchors=(Anchor(path="src/zyxwvut.py"),))
    path = tmp_path / "memory.db"
    assert traces(path, "zyxwvut") == list(INDEX_TABLES)
    plain = Edit(content="Nothing here", tags=(), anchors=())
    changes: dict[str, Change] = {
        "forget": Mark(id=one.id, status=Status.FORGOTTEN),
        "clear": Clear(),
        "revise": Revise(id=one.id, edit=plain),
    }
    apply(store, changes[how])
    assert traces(path, "zyxwvut") == []
    assert found(store, "zyxwvut") == []
    assert faults(store) == []
    store.close()


@pytest.mark.parametrize("how", ["unfile", "unfile-the-end", "file-anew"])
def test_passages_that_left_leave_no_trace(tmp_path: Path, how: str) -> None:
    """What was unfiled, or filed over, stands neither in the table nor in any index."""
    store = SQLITE.open(tmp_path)
    plain = [passage(f"plain {n}", corpus=Corpus.SOURCES, document="a.py", position=n) for n in range(3)]
    file(store, *plain)
    secret = {"label": "zyxwvut", "payload": {"zyxwvut": 1}, "corpus": Corpus.SOURCES}
    file(store, passage("The zyxwvut", document="a.py", position=3, **secret))
    file(store, passage("Another zyxwvut", document="zyxwvut.py", **secret))
    path = tmp_path / "memory.db"
    assert traces(path, "zyxwvut", PASSAGE_TABLES) == list(PASSAGE_TABLES)
    changes: dict[str, list[Change]] = {
        "unfile": [Unfile(corpus=Corpus.SOURCES, document=name) for name in ("a.py", "zyxwvut.py")],
        "unfile-the-end": [
            Unfile(corpus=Corpus.SOURCES, document="a.py", start=3),
            Unfile(corpus=Corpus.SOURCES, document="zyxwvut.py"),
        ],
        "file-anew": [
            File(passages=(passage("Plain", corpus=Corpus.SOURCES, document="a.py", position=3),)),
            Unfile(corpus=Corpus.SOURCES, document="zyxwvut.py"),
        ],
    }
    apply(store, *changes[how])
    assert traces(path, "zyxwvut", PASSAGE_TABLES) == []
    assert answer(store, "zyxwvut", corpus=Corpus.SOURCES).passages == []
    assert faults(store) == []
    store.close()


def test_what_was_indexed_under_other_words_leaves_none_of_them_behind(tmp_path: Path) -> None:
    """An index made by an earlier version is undone as it was made, not as it would be made today."""
    store = SQLITE.open(tmp_path)
    one = add(store, "Deploying")
    file(store, passage("Deploying"))
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        connection.execute(
            "UPDATE words SET content = 'deploying'; UPDATE terms SET word = 'deploying' WHERE word = 'deploi';"
            "UPDATE sessions_words SET content = 'deploying';"
            "UPDATE passage_terms SET word = 'deploying' WHERE word = 'deploi'"
        )
    apply(store, Mark(id=one.id, status=Status.FORGOTTEN), Unfile(corpus=Corpus.SESSIONS, document="s1"))
    for corpus in Corpus:
        assert store.vocabulary(corpus=corpus, limit=9) == {}
    assert faults(store) == []
    store.close()


def test_an_engine_that_loses_data_is_refused() -> None:
    """SQLite versions that can lose acknowledged data under a write-ahead log do not get near a store."""
    with pytest.raises(Unsupported):
        require_engine(3_050_004)
    require_engine(3_051_003)
    require_engine()


def test_derived_rows_that_went_wrong_are_found_and_made_anew(tmp_path: Path) -> None:
    """A check names what does not fit, says that rebuilding puts it right, and it does."""
    store = SQLITE.open(tmp_path)
    fill(store)
    fill_beside(store)
    for damage in (
        "UPDATE terms SET memories = 9 WHERE word = 'cach'",
        "DELETE FROM memory_tags",
        "DELETE FROM memory_files",
        "INSERT INTO memory_tags VALUES ('stray', 2)",
        "DELETE FROM words WHERE rowid = 1",
        "UPDATE words SET content = 'other' WHERE rowid = 1",
        "INSERT INTO words (rowid, content, tags, files, source, kind) VALUES (3, 'zebra', '', '', '', '')",
        "INSERT INTO words (rowid, content) VALUES (3, 'zebra')",
        "UPDATE meta SET value = '7 7' WHERE key = 'index_size'",
        "DELETE FROM words_data WHERE id > 10",
        "UPDATE passage_terms SET passages = 9 WHERE word = 'cach'",
        "DELETE FROM passage_terms WHERE corpus = 'sources'",
        "INSERT INTO passage_terms VALUES ('items', 'stray', 1)",
        "DELETE FROM sessions_words WHERE rowid = 1",
        "UPDATE sessions_words SET label = 'eve' WHERE rowid = 1",
        "INSERT INTO items_words (rowid, content, label, moment, document) VALUES (1, 'zebra', '', '', '')",
        "INSERT INTO sources_words (rowid, content) VALUES (99, 'zebra')",
        "UPDATE meta SET value = '7 7' WHERE key = 'index_size:sessions'",
        "DELETE FROM sources_words_data WHERE id > 10",
    ):
        with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
            connection.execute(damage)
        bad = [check for check in store.check() if not check.ok]
        assert bad, damage
        assert all(check.fixable for check in bad if check.name != "file"), damage
        assert ("full text" in [check.name for check in bad]) == ("words_data" in damage), damage
        store.rebuild()
        assert faults(store) == [], damage
    store.close()


BEYOND_REBUILDING = [
    ("UPDATE definitions SET value = '[\"forged\"]'", "links and feedback"),
    ("UPDATE definitions SET made_by = 'eve'", "links and feedback"),
    ("UPDATE plans SET live = 99", "links and feedback"),
    ("UPDATE plans SET made_by = 'eve'", "links and feedback"),
    ("UPDATE steps SET why = 'forged' WHERE number = 2", "links and feedback"),
    ("UPDATE steps SET state = 'done' WHERE number = 2", "links and feedback"),
    ("UPDATE steps SET changes = '[]' WHERE number = 1", "links and feedback"),
    ("UPDATE steps SET undo = NULL WHERE number = 1", "links and feedback"),
    ("UPDATE steps SET settled_at = 0 WHERE number = 1", "links and feedback"),
    ("UPDATE passages SET text = 'forged' WHERE id = 2", "passages"),
    ("UPDATE passages SET label = 'eve' WHERE id = 2", "passages"),
    ("UPDATE passages SET at = 0 WHERE id = 2", "passages"),
    ("UPDATE passages SET corpus = 'novel' WHERE id = 2", "passages"),
    ("UPDATE passages SET corpus = 'memory' WHERE id = 2", "passages"),
    ("UPDATE passages SET payload = '{' WHERE id = 2", "passages"),
]


@pytest.mark.parametrize("damage, name", BEYOND_REBUILDING)
def test_what_was_altered_behind_the_store_is_found(tmp_path: Path, damage: str, name: str) -> None:
    """A definition, passage or plan that is not what was stored is told of, and rebuilding does not hide it."""
    store = SQLITE.open(tmp_path)
    fill(store)
    fill_beside(store)
    fill_plans(store)
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        connection.execute(damage)
    assert [check.name for check in store.check() if not check.ok and not check.fixable] == [name]
    with suppress(StoreDamaged):
        store.rebuild()
    assert name in [check.name for check in store.check() if not check.ok]
    store.close()


def test_a_definition_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """What was altered to be no JSON is an error in the product's words."""
    store = SQLITE.open(tmp_path)
    fill_beside(store)
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        connection.execute("UPDATE definitions SET value = '{'")
    with pytest.raises(StoreDamaged):
        store.definitions()
    store.close()


@pytest.mark.parametrize(
    "damage",
    [
        *("changes = '{'", "changes = '[[\"Clear\", {}]]'", "changes = '[[\"Mark\", {}]]'", "changes = '[[]]'"),
        *("expects = '[1]'", "retires = '{'"),
    ],
)
def test_a_step_that_cannot_be_read_is_told(tmp_path: Path, damage: str) -> None:
    """What was altered to be no step, or one that cannot be undone, is an error in the product's words."""
    store = SQLITE.open(tmp_path)
    fill(store)
    fill_plans(store)
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        connection.execute(f"UPDATE steps SET {damage} WHERE number = 2")
    with pytest.raises(StoreDamaged):
        store.steps(1)
    before = everything(store)
    with pytest.raises(StoreDamaged):
        apply(store, Perform(plan=1, step=2))
    assert everything(store) == before
    assert [check.name for check in store.check() if not check.ok] == ["links and feedback"]
    store.close()


@pytest.mark.parametrize("undo", ["'{'", "'[]'", "'{\"memories\": 1}'", "NULL"])
def test_a_step_whose_way_back_cannot_be_read_is_told(tmp_path: Path, undo: str) -> None:
    """It is not undone by guessing."""
    store = SQLITE.open(tmp_path)
    fill(store)
    fill_plans(store)
    with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
        connection.execute(f"UPDATE steps SET undo = {undo} WHERE number = 1")
    before = everything(store)
    with pytest.raises(StoreDamaged):
        apply(store, Revert(plan=1, step=1))
    assert everything(store) == before
    store.close()


# --- No room -------------------------------------------------------------------------------------------------------


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a small program of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Where there is no room a write fails as a whole; what was stored before is there, and writing goes on later."""
    store = SQLITE.open(tmp_path)
    add(store, "number 0")
    with connections(store).exclusive() as writer:
        pages = int(writer.pragma("page_count"))
        writer.pragma("max_page_count", pages + 20)
    stored = ["number 0"]

    more = (add(store, f"number {n}", payload="x" * 4000).content for n in range(1, 200))
    with pytest.raises(StoreFull):
        stored.extend(more)
    assert len(stored) > 1
    assert contents(store.query(limit=None))[::-1] == stored
    assert faults(store) == []
    add(store, "there is room again")
    assert store.count() == len(stored) + 1
    assert faults(store) == []
    store.close()


@pytest.mark.parametrize("engine, limit", [(SQLITE, 3_000_000), (JSON, 300_000)], ids=["sqlite", "json"])
def test_a_file_that_may_not_grow_loses_nothing_that_was_acknowledged(tmp_path: Path, engine: Any, limit: int) -> None:
    """A limit that the system sets is like a full disk, and the same process goes on when it is lifted."""
    script = """
        import json, resource, sys
        from datetime import UTC, datetime
        sys.path.insert(0, sys.argv[2])
        from store_kit import AGAIN, NOW, add
        from recollect.errors import StoreError
        from recollect.store import open_store
        store = open_store(sys.argv[1])
        stored, error = [], None
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
        for n in range(500):
            try:
                stored.append(add(store, f"number {n}", payload="x" * 3000).content)
            except StoreError as caught:
                error = type(caught).__name__
                break
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        stored.append(add(store, "there is room again").content)
        print(json.dumps({"stored": stored, "error": error}))
    """
    done = run(script, engine.url(tmp_path), Path(__file__).parent, limit)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["error"] in ("StoreFull", "StoreError")
    store = engine.open(tmp_path)
    assert contents(store.query(limit=None))[::-1] == told["stored"]
    assert len(told["stored"]) > 5
    assert faults(store) == []
    store.close()


# --- The JSON file -------------------------------------------------------------------------------------------------


@pytest.mark.row("J27", "readable")
def test_the_json_file_can_be_read_by_a_person(tmp_path: Path) -> None:
    """It is plain JSON in plain words, and what a person corrects in it is taken over."""
    store = JSON.open(tmp_path)
    add(store, "Grüße aus Köln", tags=("greeting",))
    store.close()
    path = tmp_path / "memory.json"
    text = path.read_text(encoding="utf-8")
    assert '"content": "Grüße aus Köln"' in text
    assert json.loads(text)["memories"][0]["tags"] == ["greeting"]
    path.write_text(text.replace("Köln", "Bonn"), encoding="utf-8")
    store = JSON.open(tmp_path)
    [edited] = store.query()
    assert edited.content == "Grüße aus Bonn"
    assert (edited.fingerprint, edited.content_hash) == (fingerprint(edited.content), content_hash(edited.content))
    assert found(store, "bonn") == ["Grüße aus Bonn"]
    assert found(store, "koln") == []
    store.close()


@pytest.mark.row("P6", "backup-fallback")
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": "other"}', b"\xff\xfe", b"[" * 100_000])
def test_the_file_before_stands_in_for_json_that_does_not_parse(tmp_path: Path, content: bytes) -> None:
    """The store opens as it was one write before, says so, and keeps the file that could not be read."""
    store = JSON.open(tmp_path)
    add(store, "first")
    before = everything(store)
    add(store, "second")
    store.close()
    (tmp_path / "memory.json").write_bytes(content)
    store = JSON.open(tmp_path)
    assert everything(store) == before
    assert "memory.json.bak" in store.notes[0]
    assert [path.read_bytes() for path in tmp_path.glob("*.damaged*")] == [content]
    assert faults(store) == []
    add(store, "third")
    store.close()
    store = JSON.open(tmp_path)
    assert store.notes == ()
    assert sorted(contents(store.query())) == ["first", "third"]
    store.close()


def test_a_json_store_without_anything_readable_is_told(tmp_path: Path) -> None:
    """Where neither file can be read, neither is touched, and the store can be opened once one is put right."""
    store = JSON.open(tmp_path)
    add(store, "first")
    add(store, "second")
    store.close()
    path, backup = tmp_path / "memory.json", tmp_path / "memory.json.bak"
    good = backup.read_bytes()
    for each in (path, backup):
        each.write_text("broken")
    with pytest.raises(StoreDamaged):
        JSON.open(tmp_path)
    assert path.read_text() == backup.read_text() == "broken"
    path.write_bytes(good)
    store = JSON.open(tmp_path)
    assert contents(store.query()) == ["first"]
    store.close()


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda doc: doc["memories"][0].update(kind="novel"), id="a-kind-that-is-none"),
        pytest.param(lambda doc: doc["memories"][0].pop("uid"), id="a-missing-field"),
        pytest.param(lambda doc: doc["memories"].append(doc["memories"][0]), id="a-memory-twice"),
        pytest.param(lambda doc: doc.update(memories={}), id="no-list"),
        pytest.param(lambda doc: doc.update(links=[[1, "relates-to", 99, 1.0, "", 0, 0]]), id="a-link-to-nothing"),
        pytest.param(lambda doc: doc.update(links=[[1]]), id="half-a-link"),
        pytest.param(lambda doc: doc.update(clusters=[["pair"]]), id="half-a-cluster"),
        pytest.param(lambda doc: doc.update(audit=[{"seq": 1}]), id="half-an-entry"),
        pytest.param(lambda doc: doc.update(requests=[["k", {}, [], None]]), id="a-strange-request"),
        pytest.param(lambda doc: doc["memories"][0].update(id=10**30), id="an-id-out-of-range"),
        pytest.param(lambda doc: doc["passages"][0].update(corpus="novel"), id="a-corpus-that-is-none"),
        pytest.param(lambda doc: doc["passages"][0].update(corpus="memory"), id="a-passage-among-memories"),
        pytest.param(lambda doc: doc["passages"][1].update(id=1), id="two-passages-of-one-id"),
        pytest.param(lambda doc: doc["passages"][0].pop("text"), id="half-a-passage"),
        pytest.param(lambda doc: doc.update(definitions=[["alias", "k8s"]]), id="half-a-definition"),
        pytest.param(lambda doc: doc["definitions"].append(doc["definitions"][0]), id="a-definition-twice"),
        pytest.param(lambda doc: doc.update(together=[[1, 99, 1.0, 0]]), id="together-with-nothing"),
        pytest.param(lambda doc: doc.update(plans=[["garden"]]), id="half-a-plan"),
        pytest.param(lambda doc: doc["plans"].append(doc["plans"][0]), id="a-plan-twice"),
        pytest.param(lambda doc: doc.update(plans=[]), id="steps-of-no-plan"),
        pytest.param(lambda doc: doc["steps"][0].pop(), id="half-a-step"),
        pytest.param(lambda doc: doc.update(sightings=[[99, "idle", 0]]), id="a-sighting-of-nothing"),
        pytest.param(lambda doc: doc.update(findings=[["x", None, "", 0]]), id="a-finding-of-no-session"),
    ],
)
def test_a_json_file_that_makes_no_sense_is_told(tmp_path: Path, spoil: Callable[[Any], object]) -> None:
    """Whatever a person did to it, the answer is an error in the product's words, and the file is left alone."""
    store = JSON.open(tmp_path)
    fill(store)
    fill_beside(store)
    fill_plans(store)
    store.close()
    path = tmp_path / "memory.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    spoil(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    before = sha(path)
    with pytest.raises(StoreDamaged):
        JSON.open(tmp_path)
    assert sha(path) == before


def test_a_json_file_of_before_there_were_passages_and_plans_is_taken_over(tmp_path: Path) -> None:
    """What an older version did not write is not missed."""
    store = JSON.open(tmp_path)
    fill(store)
    before = everything(store)
    store.close()
    path = tmp_path / "memory.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    for name in ("passages", "definitions", "together", "plans", "steps", "sightings", "findings"):
        assert document.pop(name) == []
    path.write_text(json.dumps(document), encoding="utf-8")
    store = JSON.open(tmp_path)
    assert everything(store) == before
    fill_beside(store)
    fill_plans(store)
    assert (len(filed(store)), len(store.steps(1))) == (4, 2)
    assert faults(store) == []
    store.close()


def test_a_newer_json_store_is_left_untouched(tmp_path: Path) -> None:
    """A later version's file is refused as it is, and its backup does not stand in."""
    store = JSON.open(tmp_path)
    add(store, "first")
    add(store, "second")
    store.close()
    path = tmp_path / "memory.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"version": 1,', '"version": 2,', 1), encoding="utf-8")
    before = listing(tmp_path)
    with pytest.raises(StoreTooNew):
        JSON.open(tmp_path)
    assert listing(tmp_path) == before


def test_a_json_store_belongs_to_one_at_a_time(tmp_path: Path) -> None:
    """A second opener is refused, in this process and in another, until the first has closed."""
    store = JSON.open(tmp_path)
    add(store, "first")
    with pytest.raises(StoreInUse):
        JSON.open(tmp_path)
    script = """
        import sys
        from recollect.errors import StoreInUse
        from recollect.store import open_store
        try:
            open_store(sys.argv[1])
        except StoreInUse:
            sys.exit(7)
    """
    assert run(script, JSON.url(tmp_path)).returncode == 7
    add(store, "second")
    store.close()
    assert run(script, JSON.url(tmp_path)).returncode == 0
    again = JSON.open(tmp_path)
    assert again.count() == 2
    again.close()


def failing_once(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, call: int, code: int) -> None:
    """Let one call of a function fail as if the disk had refused it."""
    real = getattr(owner, name)
    calls = iter(range(1, 1_000))

    def maybe(*given: Any, **named: Any) -> Any:
        if next(calls) == call:
            raise OSError(code, os.strerror(code))
        return real(*given, **named)

    monkeypatch.setattr(owner, name, maybe)


@pytest.mark.parametrize(
    "name, call, code, error",
    [
        ("fsync", 1, errno.EIO, StoreError),
        ("fsync", 1, errno.ENOSPC, StoreFull),
        ("replace", 1, errno.ENOSPC, StoreFull),
        ("replace", 2, errno.ENOSPC, StoreFull),
        ("replace", 2, errno.EACCES, StoreError),
    ],
)
def test_a_json_file_that_could_not_be_saved_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: int, code: int, error: type[StoreError]
) -> None:
    """A write that fails is neither in the file nor in the open store, and the next one works."""
    store = JSON.open(tmp_path)
    fill(store)
    fill_beside(store)
    before = everything(store)
    on_disk = sha(tmp_path / "memory.json")
    with monkeypatch.context() as patched:
        failing_once(patched, os, name, call, code)
        with pytest.raises(error):
            apply(store, Weigh(id=MemoryId(1), signals=Signals(score=1)), Clear(), File(passages=(passage("new"),)))
    assert everything(store) == before
    assert sha(tmp_path / "memory.json") == on_disk
    assert faults(store) == []
    add(store, "afterwards")
    after = everything(store)
    store.close()
    store = JSON.open(tmp_path)
    assert store.notes == ()
    assert everything(store) == after
    store.close()


def test_a_json_store_works_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system that has none, the file before is kept all the same."""
    store = JSON.open(tmp_path)
    add(store, "first")
    before = sha(tmp_path / "memory.json")
    failing_once(monkeypatch, os, "link", 1, errno.EPERM)
    add(store, "second")
    assert sha(tmp_path / "memory.json.bak") == before
    store.close()


def test_a_restore_that_could_not_be_saved_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The open store and its file agree also when restoring fails."""
    store = JSON.open(tmp_path)
    add(store, "first")
    store.backup(tmp_path / "backup.db")
    add(store, "second")
    before = everything(store)
    with monkeypatch.context() as patched:
        failing_once(patched, os, "replace", 2, errno.ENOSPC)
        with pytest.raises(StoreFull):
            store.restore(tmp_path / "backup.db")
    assert everything(store) == before
    store.close()
    store = JSON.open(tmp_path)
    assert everything(store) == before
    store.close()


def test_an_unknown_kind_of_store_is_refused(tmp_path: Path) -> None:
    """A URL of another kind is not taken for a file name."""
    with pytest.raises(RecollectError):
        open_store("https://example.org/memory")
    store = open_store(f"sqlite:{tmp_path / 'memory.db'}")
    assert (tmp_path / "memory.db").is_file()
    store.close()
