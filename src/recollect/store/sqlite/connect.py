"""Connections to one SQLite file: a pool for reading, one at a time for writing, none carried over a fork."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from ...errors import StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, Unsupported
from .lock import Turnstile

OLDEST_ENGINE = 3_051_003
"""SQLite before 3.51.3 can lose committed data under WAL."""

_PRAGMAS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA journal_size_limit = 16777216",
)


def require_engine(version: int | None = None) -> None:
    """Refuse an SQLite that can lose what it acknowledged."""
    found = apsw.SQLITE_VERSION_NUMBER if version is None else version
    if found < OLDEST_ENGINE:
        raise Unsupported(f"SQLite {found} can lose committed data; {OLDEST_ENGINE} or newer is needed")


class Connections:
    """The connections of one store. A path of None is a database in memory, which has just one."""

    def __init__(self, path: Path | None, *, busy_timeout: float, lock_timeout: float) -> None:
        self._path = path
        self._busy_ms = int(busy_timeout * 1000)
        self._turnstile = Turnstile(path, timeout=lock_timeout) if path else None
        self._start()
        _OPEN.add(self)

    def _start(self) -> None:
        self._idle: list[apsw.Connection] = []
        self._writer: apsw.Connection | None = None
        self._snapshot = threading.local()
        # A database in memory is one connection, which readers and writers share in turn.
        self._alone = threading.RLock()
        self._closed = False

    @property
    def where(self) -> str:
        return str(self._path) if self._path else "memory:"

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection that sees the store as it was at one moment."""
        held: apsw.Connection | None = getattr(self._snapshot, "connection", None)
        if held is not None:
            yield held
        elif self._path is None:
            with self._alone, translated(self.where):
                yield self._memory()
        else:
            with translated(self.where), self._pooled() as connection:
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it, every `reading` of this thread is the same moment."""
        with self.reading() as connection:
            outer = getattr(self._snapshot, "connection", None)
            self._snapshot.connection = connection
            try:
                yield
            finally:
                self._snapshot.connection = outer

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """The one connection that writes, in a transaction that is committed when the block ends well."""
        with translated(self.where):
            if self._turnstile is None:
                with self._alone:
                    yield from self._transaction(self._memory())
            else:
                with self._turnstile.turn():
                    if self._writer is None:
                        self._writer = self.connect()
                    yield from self._transaction(self._writer)

    def _transaction(self, connection: apsw.Connection) -> Iterator[apsw.Connection]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException as error:
            self._roll_back(connection, error)
            raise

    def _roll_back(self, connection: apsw.Connection, error: BaseException) -> None:
        # Some errors roll back by themselves; and a rollback that fails must not hide what went wrong.
        with suppress(apsw.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        if isinstance(error, apsw.IOError | apsw.FullError) and connection is self._writer:
            # After a failed sync the kernel may have dropped the pages; this handle is not to be trusted again.
            self._writer = None
            with suppress(apsw.Error):
                connection.close()

    @contextmanager
    def exclusive(self) -> Iterator[apsw.Connection]:
        """The writer outside a transaction, while no other process writes: for migrating and restoring."""
        with translated(self.where):
            if self._turnstile is None:
                with self._alone:
                    yield self._memory()
            else:
                with self._turnstile.turn():
                    if self._writer is None:
                        self._writer = self.connect()
                    yield self._writer

    def connect(self) -> apsw.Connection:
        """A new connection, set up."""
        if self._closed:
            raise StoreError(self.where, "is closed")
        connection = apsw.Connection(str(self._path) if self._path else ":memory:")
        connection.set_busy_timeout(self._busy_ms)
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        return connection

    def _memory(self) -> apsw.Connection:
        if self._writer is None:
            self._writer = self.connect()
        return self._writer

    @contextmanager
    def _pooled(self) -> Iterator[apsw.Connection]:
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self.connect()
        try:
            yield connection
        except apsw.Error:
            connection.close()
            raise
        if self._closed:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Close every connection; one that is in use closes when its block ends."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def forget_inherited(self) -> None:
        """In a forked child: SQLite connections must be neither used nor closed there, so they are kept aside."""
        _INHERITED.extend(self._idle)
        if self._writer is not None:
            _INHERITED.append(self._writer)
        closed = self._closed
        if self._path is None:
            # The child's copy of a database in memory is its own; only the lock may be held by a lost thread.
            writer = self._writer
            self._start()
            self._writer = writer
        else:
            self._start()
        self._closed = closed


@contextmanager
def translated(where: str) -> Iterator[None]:
    """The engine's errors in the product's words."""
    try:
        yield
    except apsw.FullError as error:
        raise StoreFull(where, "the disk is full") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise StoreDamaged(where, f"is damaged ({error})") from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(where, "is locked by another program") from error
    except (apsw.ReadOnlyError, apsw.CantOpenError, apsw.PermissionsError) as error:
        raise StoreReadOnly(where, f"cannot be opened for writing ({error})") from error
    except apsw.IOError as error:
        raise StoreError(where, f"could not be read or written ({error})", hint="Check the disk.") from error
    except PermissionError as error:
        raise StoreReadOnly(where, f"cannot be opened ({error.strerror})") from error
    except apsw.ThreadingViolationError as error:  # pragma: no cover - a defect here, not a state of the store
        raise AssertionError("two threads used one connection") from error


_OPEN: weakref.WeakSet[Connections] = weakref.WeakSet()
_INHERITED: list[apsw.Connection] = []


def _forget_in_child() -> None:
    for each in list(_OPEN):
        each.forget_inherited()


os.register_at_fork(after_in_child=_forget_in_child)
