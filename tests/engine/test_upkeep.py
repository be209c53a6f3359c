"""Upkeep: backups and the ways back from damage, and a doctor who finds what is wrong."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

import recollect
from recollect import BadFile, Recollect, Refused, Status, StoreDamaged, StoreTooNew
from recollect.testing import FixedClock

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


def at(folder: Path, clock: FixedClock | None = None, **settings: object) -> Recollect:
    """The memory of a project below a folder, with a home beside it."""
    (folder / "project").mkdir(exist_ok=True)
    return recollect.open(folder / "project", home=folder / "home", clock=clock or FixedClock(START), settings=settings)


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Recollect]:
    with at(tmp_path, clock) as opened:
        opened.remember("Deploys go out from main", tags=["ops"], files=["deploy.sh"])
        opened.remember("Rollbacks take the previous image")
        opened.link(1, 2)
        opened.update(1, "Deploys go out from a release branch")
        yield opened


def store_file(memory: Recollect) -> Path:
    """The file of the project's store."""
    assert memory.identity
    return memory.identity.folder / "memory.db"


def contents(memory: Recollect) -> list[str]:
    return [each.content for each in memory.list({}, order_by="-id")]


def spoil(path: Path, *statements: str) -> None:
    """Change a store behind its back, as a stray tool or a bad disk might."""
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def overwrite_page_of(path: Path, text: str) -> None:
    """Fill the page of a store file that holds a text with zeros."""
    data = path.read_bytes()
    size = int.from_bytes(data[16:18], "big")
    page = data.index(text.encode()) // size
    with path.open("r+b") as file:
        file.seek(page * size)
        file.write(bytes(size))


# Backups


def test_a_backup_is_a_whole_private_copy(memory: Recollect, tmp_path: Path) -> None:
    """It lies with the others of its space, and is a store that can be opened."""
    path = memory.backup()
    assert memory.identity
    assert path.parent == memory.identity.folder / "backups"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert memory.status().spaces[0].newest_backup == str(path)
    with recollect.open(store=str(path), home=tmp_path / "home") as copy:
        assert copy.list({}) == memory.list({})
        assert copy.history(1) == memory.history(1)
        assert copy.audit(limit=None) == memory.audit(limit=None)


def test_each_space_has_its_own_backups(memory: Recollect, tmp_path: Path) -> None:
    """And a backup can be written anywhere."""
    memory.remember("Answers in British English", scope="global")
    shared = memory.backup(space="global")
    assert shared.parent == tmp_path / "home" / "global" / "backups"
    elsewhere = memory.backup(tmp_path / "usb" / "copy.db")
    assert elsewhere.is_file()
    assert [space.backups for space in memory.status().spaces] == [0, 1]
    with recollect.open(store=str(shared), home=tmp_path / "home") as copy:
        assert contents(copy) == ["Answers in British English"]


@pytest.mark.parametrize("keep, left", [(1, 1), (3, 3), (7, 5), (0, 1)])
def test_only_so_many_backups_are_kept_the_newest(tmp_path: Path, clock: FixedClock, keep: int, left: int) -> None:
    """The newest is never among those that go, nor is one written elsewhere."""
    with at(tmp_path, clock, **{"backup.keep": keep}) as memory:
        memory.remember("Deploys go out from main")
        made = []
        for _ in range(5):
            clock.move(seconds=1)
            made.append(memory.backup())
        kept = [path for path in made if path.exists()]
        assert kept == made[-left:]
        memory.backup(tmp_path / "other.db")
        assert [path for path in made if path.exists()] == kept


def test_restoring_brings_back_what_was_and_keeps_what_is(memory: Recollect, clock: FixedClock) -> None:
    """What was there before is backed up first, so that restoring can be undone."""
    before = memory.list({}), memory.history(1), memory.links(1), memory.audit(limit=None)
    backup = memory.backup()
    clock.move(hours=1)
    memory.remember("written after the backup")
    memory.forget(2)
    clock.move(hours=1)
    restored, safety = memory.restore_backup()
    assert restored == backup
    assert (memory.list({}), memory.history(1), memory.links(1), memory.audit(limit=None)) == before
    assert all(check.ok for check in memory.doctor())
    assert safety
    clock.move(hours=1)
    memory.restore_backup(safety)
    assert contents(memory)[-1] == "written after the backup"
    assert memory.get(2).status is Status.FORGOTTEN


def test_other_programs_see_what_was_restored_at_once(memory: Recollect, tmp_path: Path, clock: FixedClock) -> None:
    """Without opening the store again."""
    memory.backup()
    with at(tmp_path, clock) as other:
        other.remember("written after the backup")
        clock.move(hours=1)
        memory.restore_backup()
        assert other.count() == 2
        assert not other.recall("after")
        assert other.remember("and on it goes").ref == "3"
    assert memory.count() == 3


@pytest.mark.parametrize("what", ["missing", "empty", "garbage", "another database", "a cut copy", "a folder"])
def test_a_backup_that_is_none_is_refused_and_nothing_changes(memory: Recollect, tmp_path: Path, what: str) -> None:
    """It is looked at before anything is replaced."""
    bad = tmp_path / "bad.db"
    match what:
        case "empty":
            bad.touch()
        case "garbage":
            bad.write_bytes(os.urandom(9_000))
        case "another database":
            spoil(bad, "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)")
        case "a cut copy":
            memory.remember_many([f"note number {number} to fill pages" for number in range(300)])
            whole = memory.backup(tmp_path / "whole.db").read_bytes()
            bad.write_bytes(whole[: len(whole) // 2])
        case "a folder":
            bad.mkdir()
        case _:
            pass
    before = contents(memory), memory.audit(limit=None)
    with pytest.raises(BadFile) as caught:
        memory.restore_backup(bad)
    assert str(bad) in str(caught.value)
    assert (contents(memory), memory.audit(limit=None)) == before


def test_restoring_without_a_backup_says_how_to_make_one(memory: Recollect) -> None:
    """Before anything is touched."""
    with pytest.raises(BadFile, match="holds no backup") as caught:
        memory.restore_backup()
    assert "backup" in caught.value.hint


def test_a_backup_of_a_newer_version_is_left_alone(memory: Recollect, tmp_path: Path) -> None:
    """Upgrading is what helps."""
    backup = memory.backup(tmp_path / "newer.db")
    spoil(backup, "PRAGMA user_version = 99")
    with pytest.raises(StoreTooNew):
        memory.restore_backup(backup)
    assert memory.count() == 2


# Damage


@pytest.mark.row("P6", "backup-fallback")
def test_a_damaged_store_gives_way_to_its_newest_backup(memory: Recollect, tmp_path: Path) -> None:
    """The damaged file is kept, and somebody is told."""
    memory.backup()
    memory.remember("written after the backup")
    memory.close()
    path = store_file(memory)
    path.write_bytes(b"SQLite format 3\x00" + os.urandom(8_000))
    damaged = path.read_bytes()
    with at(tmp_path) as again:
        assert contents(again) == ["Deploys go out from a release branch", "Rollbacks take the previous image"]
        [note] = again.notes
        assert "was damaged" in note
        assert all(check.ok for check in again.doctor())
    [aside] = path.parent.glob("memory.db.damaged-*")
    assert aside.read_bytes() == damaged


def test_a_damaged_store_is_restored_from_a_backup_kept_elsewhere(memory: Recollect, tmp_path: Path) -> None:
    """Though it cannot even be opened; the damaged file is kept beside it."""
    backup = memory.backup(tmp_path / "usb.db")
    memory.close()
    path = store_file(memory)
    path.write_bytes(os.urandom(8_000))
    with at(tmp_path) as again:
        with pytest.raises(StoreDamaged) as caught:
            again.count()
        assert "salvage" in caught.value.hint
        restored, _ = again.restore_backup(backup)
        assert restored == backup
        assert again.count() == 2
        assert again.history(1)[0].memory.content == "Deploys go out from main"
    assert len(list(path.parent.glob("memory.db.damaged-*"))) == 1


def test_what_can_be_read_of_a_damaged_store_is_salvaged(tmp_path: Path) -> None:
    """A bad page costs the memories on it and no others; the damaged file is kept."""
    with at(tmp_path) as memory:
        memory.remember_many([f"note number {number} {'x' * 300}" for number in range(200)])
        path = store_file(memory)
    overwrite_page_of(path, "note number 100 ")
    with at(tmp_path) as memory:
        with pytest.raises(StoreDamaged):
            memory.count()
        kept, lost, aside = memory.salvage()
        assert kept + lost <= 200
        assert kept > 150
        assert memory.count() == kept
        assert memory.get(1).content.startswith("note number 0 ")
        assert memory.recall("number")
        assert all(check.ok for check in memory.doctor())
    assert aside.is_file()


def test_salvage_leaves_out_what_was_altered(memory: Recollect) -> None:
    """A memory whose words are not those of its hash is counted as lost."""
    path = store_file(memory)
    memory.close()
    spoil(path, "UPDATE memories SET content = 'Deploys go out from hell' WHERE id = 1")
    with at(path.parents[3]) as again:
        assert again.salvage()[:2] == (1, 1)
        assert contents(again) == ["Rollbacks take the previous image"]


def test_salvaging_a_sound_store_loses_nothing(memory: Recollect) -> None:
    """Only memories can be read from a damaged file; a store that is sound keeps its past and its links too."""
    before = memory.list({}), memory.history(1), memory.links(1), memory.audit(limit=None)
    with suppress(recollect.RecollectError):
        memory.salvage()
    assert (memory.list({}), memory.history(1), memory.links(1), memory.audit(limit=None)) == before


def test_there_is_nothing_to_salvage_where_there_is_no_store(tmp_path: Path) -> None:
    """And it says so."""
    with at(tmp_path) as memory, pytest.raises((BadFile, Refused)):
        memory.salvage()


# The doctor


FAULTS: dict[str, tuple[str, str, bool]] = {
    "a flipped word": (
        "UPDATE memories SET content = 'Deploys go out from hell' WHERE id = 1",
        "project: memories",
        False,
    ),
    "a forged score": ("UPDATE memories SET score = 99 WHERE id = 2", "project: memories", False),
    "a changed past": (
        "UPDATE versions SET state = replace(state, 'from main', 'from hell')",
        "project: versions",
        False,
    ),
    "a heavier link": ("UPDATE links SET weight = 0.25", "project: links and feedback", False),
    "a turned verdict": ("UPDATE feedback SET helpful = 0", "project: links and feedback", False),
    "a changed audit": ("UPDATE audit SET actor = 'nobody' WHERE seq = 1", "project: audit", False),
    "a cut audit": ("DELETE FROM audit WHERE seq = 2", "project: audit", False),
    "a memory that is gone": ("DELETE FROM memories WHERE id = 2", "project: audit", False),
    "lost words": ("DELETE FROM words WHERE rowid = 1", "project: word index", True),
    "wrong words": ("UPDATE words SET content = 'hell' WHERE rowid = 1", "project: word index", True),
    "wrong counts": ("UPDATE terms SET memories = memories + 1 WHERE word = 'deploi'", "project: word counts", True),
    "a wrong size": ("UPDATE meta SET value = '9 99' WHERE key = 'index_size'", "project: word counts", True),
    "a lost tag": ("DELETE FROM memory_tags", "project: tags and files", True),
    "a strange file": ("INSERT INTO memory_files VALUES ('strange.py', 2)", "project: tags and files", True),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_doctor_finds(memory: Recollect, name: str) -> None:
    """Each fault by its name; rebuilding puts right what is derived and pretends nothing about the rest."""
    statement, check, fixable = FAULTS[name]
    memory.feedback(2, helpful=True, note="it worked")
    assert all(each.ok for each in memory.doctor())
    spoil(store_file(memory), statement)
    found = {each.name: each for each in memory.doctor()}
    assert not found[check].ok
    assert found[check].fixable is fixable
    assert found[check].detail
    memory.doctor(rebuild=True)
    after = {each.name: each for each in memory.doctor()}
    assert after[check].ok is fixable
    if fixable:
        assert all(each.ok for each in after.values())
        assert [hit.memory.ref for hit in memory.recall("deploys")] == ["1"]


def test_the_doctor_looks_at_both_spaces(memory: Recollect, tmp_path: Path) -> None:
    """The global one too."""
    memory.remember("Answers in British English", scope="global")
    spoil(tmp_path / "home" / "global" / "memory.db", "DELETE FROM words")
    assert [each.name for each in memory.doctor() if not each.ok][:1] == ["global: word index"]
    assert all(each.ok for each in memory.doctor(rebuild=True))


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o640, 0o666])
@pytest.mark.parametrize("name", ["memory.db", "project.json", "."])
def test_the_doctor_finds_what_others_could_read(memory: Recollect, name: str, mode: int) -> None:
    """Rebuilding takes it away from them."""
    path = store_file(memory).parent / name
    path.chmod(mode | (0o100 if path.is_dir() else 0))
    [loose] = [each for each in memory.doctor() if not each.ok]
    assert (loose.name, loose.fixable) == ("file modes", True)
    assert str(path.resolve()) in loose.detail
    assert all(each.ok for each in memory.doctor(rebuild=True))
    assert not stat.S_IMODE(path.stat().st_mode) & 0o077


def test_everything_a_home_holds_is_private_whatever_the_umask(tmp_path: Path) -> None:
    """From the first moment on."""
    before = os.umask(0)
    try:
        with at(tmp_path) as memory:
            memory.remember("Deploys go out from main")
            memory.remember("Answers in British English", scope="global")
            memory.backup()
            memory.export_file(tmp_path / "home" / "export.jsonl")
            memory.turn_off()
            loose = [path for path in (tmp_path / "home").rglob("*") if path.stat().st_mode & 0o077]
            assert loose == []
            assert all(each.ok for each in memory.doctor())
    finally:
        os.umask(before)


def test_a_store_from_a_newer_version_is_left_exactly_as_it_is(memory: Recollect, tmp_path: Path) -> None:
    """It is refused before a byte is written."""
    path = store_file(memory)
    memory.close()
    spoil(path, "PRAGMA user_version = 99")
    before = path.read_bytes()
    with at(tmp_path) as again:
        for act in (again.count, lambda: again.recall("x"), lambda: again.remember("x")):
            with pytest.raises(StoreTooNew) as caught:
                act()
            assert "Upgrade" in caught.value.hint
        (wrong,) = [check for check in again.doctor() if not check.ok]
        assert wrong.name == "project: store"
        assert "Upgrade" in wrong.detail
    assert path.read_bytes() == before


# How things stand


def test_status_tells_how_memory_stands(memory: Recollect, tmp_path: Path) -> None:
    """Of the project and of the global space."""
    memory.remember("Answers in British English", scope="global", kind="preference")
    memory.forget(2)
    told = memory.status()
    assert (told.project, told.root, told.home) == ("project", str(tmp_path / "project"), str(tmp_path / "home"))
    assert (told.on, told.off_where, told.notes) == (True, None, ())
    here, shared = told.spaces
    assert (here.name, here.live, here.by_status, here.by_kind) == (
        "project",
        1,
        {"confirmed": 1, "forgotten": 1},
        {"fact": 1},
    )
    assert (shared.name, shared.live, shared.by_kind, shared.by_scope) == (
        "global",
        1,
        {"preference": 1},
        {"global": 1},
    )
    assert here.audit_entries == len(memory.audit(limit=None))
    assert here.audit_head.startswith(f"{here.audit_entries}:b2:")
    assert here.bytes > 0
    assert here.where == str(store_file(memory))


# What lies on disk


@pytest.mark.row("B13", "one-database")
def test_each_space_is_one_database_file(memory: Recollect, tmp_path: Path) -> None:
    """Closed, nothing but that file is needed: a copy of it is a whole store."""
    memory.remember("Answers in British English", scope="global")
    path = store_file(memory)
    held = memory.list({})
    memory.close()
    databases = [each.relative_to(tmp_path / "home") for each in (tmp_path / "home").rglob("*.db")]
    assert sorted(map(str, databases)) == ["global/memory.db", str(path.relative_to(tmp_path / "home"))]
    (tmp_path / "copy.db").write_bytes(path.read_bytes())
    with recollect.open(store=str(tmp_path / "copy.db"), home=tmp_path / "home") as copy:
        assert copy.list({}) == held


@pytest.mark.row("B13", "readable-files")
def test_everything_beside_the_database_is_text_a_person_can_read(memory: Recollect, tmp_path: Path) -> None:
    """Registrations, settings, switches and exports; only the database and the key are not text."""
    memory.turn_off()
    memory.export_file(tmp_path / "home" / "export.jsonl")
    (tmp_path / "home" / "config.toml").write_text("[recall]\nlimit = 5\n")
    memory.close()
    binary = {"memory.db", "key"}
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in (tmp_path / "home").rglob("*")
        if path.is_file() and path.name not in binary
    }
    assert {"project.json", "off", "export.jsonl", "config.toml"} <= {path.name for path in texts}
    assert all(text.isprintable() or "\n" in text or not text for text in texts.values())


def test_a_disk_that_cannot_be_written_leaves_the_backup_that_was_there(memory: Recollect, tmp_path: Path) -> None:
    """A backup that fails is no backup, and replaces none."""
    (tmp_path / "usb").mkdir()
    good = memory.backup(tmp_path / "usb" / "copy.db")
    held = good.read_bytes()
    (tmp_path / "file").touch()
    with pytest.raises(recollect.RecollectError):
        memory.backup(tmp_path / "file" / "copy.db")
    assert good.read_bytes() == held
    assert [path.name for path in good.parent.iterdir()] == ["copy.db"]


def test_a_store_is_not_backed_up_onto_itself(memory: Recollect) -> None:
    """The file in use would be pulled away from under every program that has it open."""
    path = store_file(memory)
    inode = path.stat().st_ino
    with pytest.raises(recollect.RecollectError):
        memory.backup(path)
    assert path.stat().st_ino == inode
    assert memory.count() == 2


def test_a_store_restored_from_itself_is_as_it_was(memory: Recollect) -> None:
    """Or that is refused; nothing hangs and nothing is lost."""
    before = memory.list({}), memory.audit(limit=None)
    with suppress(recollect.RecollectError):
        memory.restore_backup(store_file(memory))
    assert (memory.list({}), memory.audit(limit=None)) == before
    assert all(check.ok for check in memory.doctor())


def test_a_global_memory_that_cannot_be_used_does_not_take_the_project_with_it(tmp_path: Path) -> None:
    """Recall goes on with the project and says so; status and doctor name the trouble."""
    with at(tmp_path) as memory:
        memory.remember("Deploys go out from main")
        memory.remember("Answers in British English", scope="global")
    spoil(tmp_path / "home" / "global" / "memory.db", "DROP TABLE feedback")
    with at(tmp_path) as memory:
        found = memory.recall("deploys")
        assert [hit.memory.ref for hit in found] == ["1"]
        assert any("global memory could not be searched" in note for note in found.notes)
        with pytest.raises(StoreDamaged):
            memory.recall("deploys", space="global")
        told = memory.status()
        assert [space.name for space in told.spaces] == ["project"]
        assert any("the global memory cannot be used" in each for each in told.trouble)
        assert [check.name for check in memory.doctor() if not check.ok] == ["global: store"]
