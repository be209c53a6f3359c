"""The file of a store: made private, opened, validated, migrated, backed up and put back."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import apsw

from ...disk import private_folder, sync_folder
from ...errors import BadFile, RecollectError, StoreDamaged, StoreError
from ..contract import Options
from .check import rebuild_derived
from .connect import Connections, translated
from .lock import Turnstile
from .rows import first_row
from .schema import APPLICATION_ID, MIGRATIONS, migrate, pending, verify_shape, version_of
from .side_file import discard_side_files
from .vectors import begin_epoch

CHECKED_AT_OPEN = 4_000_000
"""A file of up to this many bytes is checked whenever it is opened, in some milliseconds; a larger one daily."""
_DAY = 86_400


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
    """Make the file if it is not there, so that SQLite gives its -wal and -shm files the same mode.

    A file that is there is never opened here, only looked at: closing it again would take away the locks that SQLite
    holds on it for other connections of this process, and with them what those connections write.
    """
    private_folder(path.parent)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        if path.is_dir():
            raise
        new = path.stat().st_size == 0
    else:
        os.fchmod(descriptor, 0o600)
        os.close(descriptor)
        new = True
    newest = next(iter(backups_in(backups)), None)
    if new and newest:
        notes.append(f"{path} was missing or empty and is new; {newest} can be restored")


def _refuse_newer(path: Path) -> None:
    """Turn away from a newer store without a byte written beside it; an ordinary connection would make its log."""
    uri = f"{path.absolute().as_uri()}?immutable=1"
    with (
        suppress(apsw.Error),
        closing(apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)) as peek,
    ):
        if peek.pragma("application_id") == APPLICATION_ID:
            pending(peek, str(path))


def _validated(connections: Connections, path: Path, backups: Path | None) -> list[str]:
    with connections.reading() as connection:
        _check(connection, path)
        wal = connection.pragma("journal_mode") == "wal"
    if not wal:
        with connections.exclusive() as writer:
            writer.pragma("journal_mode", "wal")
    return prepare(connections, backups=backups)


def _check(connection: apsw.Connection, path: Path) -> None:
    """Refuse what is not ours or newer; look for damage where that is due."""
    _refuse_foreign(connection, str(path))
    pending(connection, str(path))
    mark = path.with_name(path.name + "-checked")
    large = path.stat().st_size > CHECKED_AT_OPEN
    if not large or _older_than_a_day(mark):
        _quick_check(connection, str(path))
        if large:
            mark.touch(mode=0o600)
            mark.chmod(0o600)


def _refuse_foreign(connection: apsw.Connection, where: str) -> None:
    """Leave alone a database that some other program keeps here."""
    ours = connection.pragma("application_id") == APPLICATION_ID
    if not ours and first_row(connection, "SELECT 1 FROM sqlite_schema LIMIT 1"):
        raise StoreError(where, "is a database of another program", hint="Nothing of it was changed.")


def _older_than_a_day(mark: Path) -> bool:
    with suppress(FileNotFoundError):
        return time.time() - mark.stat().st_mtime > _DAY
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
        _bring_up_to_date(writer)
    return notes


def _bring_up_to_date(connection: apsw.Connection) -> None:
    for _ in migrate(connection, datetime.now(UTC)):
        pass
    if _stale(connection):
        with connection:
            rebuild_derived(connection)


def _stale(connection: apsw.Connection) -> bool:
    return first_row(connection, "SELECT 1 FROM meta WHERE key = 'stale'") is not None


# --- Backups -------------------------------------------------------------------------------------------------------


def backups_in(folder: Path | None, pattern: str = "*.db") -> list[Path]:
    """The backups of a folder, newest first."""
    if folder is None or not folder.is_dir():
        return []
    return sorted(folder.glob(pattern), key=lambda path: (path.stat().st_mtime, path.name), reverse=True)


def write_backup(source: apsw.Connection, path: Path) -> None:
    """Copy a store as it is at one moment. The file is verified before it gets its name."""
    if path.exists() and source.filename and path.samefile(source.filename):
        raise StoreError(str(path), "is the store itself")
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


def restore_backup(connections: Connections, path: Path, accept: Callable[[apsw.Connection], None]) -> None:
    """Make the store what a backup holds, as one transaction: others see the old content, then the new."""
    with translated(connections.where), closing(open_backup(path)) as source, closing(_current_copy(source)) as current:
        connections.overwrite(current, accept)


def _current_copy(source: apsw.Connection) -> apsw.Connection:
    """A copy in memory that has the present schema, so that what replaces a store needs no more work after it."""
    copy = apsw.Connection(":memory:")
    with copy.backup("main", source, "main") as copying:
        copying.step(-1)
    _bring_up_to_date(copy)
    with copy:
        begin_epoch(copy)  # vectors that other processes hold are not those of the backup
    return copy


def _sound(path: Path) -> bool:
    """Whether the file has been put right since it was found damaged."""
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            return str(connection.execute("PRAGMA quick_check(1)").get) == "ok"
    except apsw.Error:
        return False


def set_aside(path: Path) -> Path:
    """Move a store file with all that belongs to it out of the way; nothing of it is deleted."""
    aside = path.with_name(f"{path.name}.damaged-{_stamp()}")
    for ending in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{ending}", f"{aside}{ending}")
    # What lies beside it was made from it, and does not fit whatever takes its place.
    discard_side_files(path)
    return aside


def _stand_in(path: Path, options: Options, damage: StoreDamaged) -> str:
    """Put the damaged file aside and the newest good backup in its place; what is said of it."""
    with Turnstile(path, timeout=options.lock_timeout).turn():
        if _sound(path):
            return f"{path} was damaged and has been replaced by another process"
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
