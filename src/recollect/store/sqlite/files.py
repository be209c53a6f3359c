"""The file of a store: made private, opened, validated, migrated, backed up and put back."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import apsw

from ...errors import BadFile, RecollectError, StoreDamaged, StoreError, StoreTooNew
from ..contract import Options
from .check import rebuild_derived
from .connect import Connections, translated
from .lock import Turnstile
from .schema import APPLICATION_ID, MIGRATIONS, migrate, pending, verify_shape, version_of

CHECKED_AT_OPEN = 4_000_000
"""A file of up to this many bytes is checked whenever it is opened, in some milliseconds; a larger one daily."""
_DAY = 86_400


def private_folder(folder: Path) -> None:
    """Make a folder that only its owner can enter, whatever the umask."""
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_file(path: Path, options: Options) -> tuple[Connections, tuple[str, ...]]:
    """Connections to a validated, current store file, and notes on what had to be done to have it."""
    notes: list[str] = []
    with translated(str(path)):
        _make_private(path, options.backups, notes)
        _refuse_newer(path)

    def connections() -> Connections:
        return Connections(path, busy_timeout=options.busy_timeout, lock_timeout=options.lock_timeout)

    opened = connections()
    try:
        notes += _validated(opened, path, options.backups)
    except StoreDamaged as damage:
        opened.close()
        notes.append(_stand_in(path, options, damage))
        opened = connections()
        notes += _validated(opened, path, options.backups)
    with opened.reading() as connection:
        verify_shape(connection, str(path))
    return opened, tuple(notes)


def _make_private(path: Path, backups: Path | None, notes: list[str]) -> None:
    private_folder(path.parent)
    try:
        # SQLite gives its -wal and -shm files the mode of this one.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    os.fchmod(descriptor, 0o600)
    os.close(descriptor)
    newest = next(iter(backups_in(backups)), None)
    if newest:
        notes.append(f"{path} was not there and is new and empty; {newest} can be restored")


def _refuse_newer(path: Path) -> None:
    """Look at the file's header before SQLite does, so that a newer store is refused without a byte written."""
    with path.open("rb") as file:
        header = file.read(100)
    ours = header[68:72] == APPLICATION_ID.to_bytes(4, "big")
    found = int.from_bytes(header[60:64], "big")
    if ours and found > len(MIGRATIONS):
        raise StoreTooNew(str(path), found, len(MIGRATIONS))


def _validated(connections: Connections, path: Path, backups: Path | None) -> list[str]:
    with connections.reading() as connection:
        pending(connection, str(path))
        if _due(path):
            _quick_check(connection, str(path))
            _checked_mark(path).touch(mode=0o600)
    return prepare(connections, backups=backups)


def _checked_mark(path: Path) -> Path:
    return path.with_name(path.name + "-checked")


def _due(path: Path) -> bool:
    if path.stat().st_size <= CHECKED_AT_OPEN:
        return True
    with suppress(FileNotFoundError):
        return time.time() - _checked_mark(path).stat().st_mtime > _DAY
    return True


def _quick_check(connection: apsw.Connection, where: str) -> None:
    found = connection.execute("PRAGMA quick_check(1)").get
    if found != "ok":
        raise StoreDamaged(where, f"is damaged ({found})")


def prepare(connections: Connections, *, backups: Path | None) -> list[str]:
    """Bring the schema up to date, keeping a copy of an older store first, and rebuild what that left stale."""
    with connections.reading() as connection:
        behind = pending(connection, connections.where)
        old = version_of(connection)
        stale = not behind and _stale(connection)
    if not behind and not stale:
        return []
    notes: list[str] = []
    with connections.exclusive() as writer:
        if old and backups and pending(writer, connections.where):
            keep = backups / f"memory-before-schema-{len(MIGRATIONS)}-{_stamp()}.db"
            write_backup(writer, keep)
            notes.append(f"upgraded from schema {old}; a copy from before is {keep}")
        for _ in migrate(writer, datetime.now(UTC)):
            pass
        if _stale(writer):
            with writer:
                rebuild_derived(writer)
    return notes


def _stale(connection: apsw.Connection) -> bool:
    return connection.execute("SELECT 1 FROM meta WHERE key = 'stale'").fetchone() is not None


# --- Backups -------------------------------------------------------------------------------------------------------


def backups_in(folder: Path | None) -> list[Path]:
    """The backups of a folder, newest first."""
    if folder is None or not folder.is_dir():
        return []
    return sorted(folder.glob("*.db"), key=lambda path: path.stat().st_mtime, reverse=True)


def write_backup(source: apsw.Connection, path: Path) -> None:
    """Copy a store as it is at one moment. The file is verified before it gets its name."""
    with translated(str(path)):
        private_folder(path.parent)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
            unfinished.chmod(0o600)
            _copy(source, unfinished)
            os.replace(unfinished, path)
            sync_folder(path.parent)
        except OSError as error:
            raise StoreError(str(path), f"could not be written ({error.strerror})") from error
        finally:
            for leftover in (unfinished, unfinished.with_name(unfinished.name + "-journal")):
                leftover.unlink(missing_ok=True)


def _copy(source: apsw.Connection, path: Path) -> None:
    target = apsw.Connection(str(path))
    try:
        target.execute("PRAGMA synchronous = FULL")
        with target.backup("main", source, "main") as copying:
            copying.step(-1)
        # A backup is one file that needs no other beside it.
        target.pragma("journal_mode", "delete")
        _quick_check(target, str(path))
    finally:
        target.close()


def open_backup(path: Path) -> apsw.Connection:
    """A read-only connection to a backup that is whole, ours, and not from a newer version."""
    if not path.is_file():
        raise BadFile(str(path), "there is no such backup")
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        if int(connection.pragma("application_id")) != APPLICATION_ID:
            raise BadFile(str(path), "is not a Recollect store")
        pending(connection, str(path))
        _quick_check(connection, str(path))
    except apsw.Error as error:
        raise BadFile(str(path), f"is not a sound backup ({error})") from error
    return connection


def restore_backup(connections: Connections, path: Path) -> None:
    """Make the store what a backup holds, as one transaction: others see the old content, then the new."""
    source = open_backup(path)
    try:
        with connections.exclusive() as writer, writer.backup("main", source, "main") as copying:
            copying.step(-1)
    finally:
        source.close()
    prepare(connections, backups=None)


def set_aside(path: Path) -> Path:
    """Move a store file with all that belongs to it out of the way; nothing of it is deleted."""
    aside = path.with_name(f"{path.name}.damaged-{_stamp()}")
    for ending in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{ending}", f"{aside}{ending}")
    return aside


def _stand_in(path: Path, options: Options, damage: StoreDamaged) -> str:
    """Put the damaged file aside and the newest good backup in its place; what is said of it."""
    with Turnstile(path, timeout=options.lock_timeout).turn():
        for backup in backups_in(options.backups):
            try:
                source = open_backup(backup)
            except RecollectError:
                continue
            aside = set_aside(path)
            try:
                write_backup(source, path)
            finally:
                source.close()
            return (
                f"{path} was damaged; the backup {backup.name} stands in for it. "
                f"The damaged file is kept as {aside.name}; what was stored after the backup may still be in it."
            )
    raise StoreDamaged(
        str(path),
        f"{damage.problem}, and no good backup is in {options.backups}",
        hint="`recollect doctor --salvage` reads what can still be read into a new store.",
    )


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
