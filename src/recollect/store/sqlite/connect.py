"""Connections to one SQLite file: a pool for reading, one at a time for writing, none carried over a fork."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from ...errors import StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, Unsupported
from .lock import Turnstile

OLDEST_ENGINE = 3_051_003
"""SQLite before 3.51.3 can lose committed data under WAL."""

_PRAGMAS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",  # on macOS, where a plain fsync does not reach the disk; nothing elsewhere
    "PRAGMA checkpoint_fullfsync = ON",
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
        self._gate = threading.Condition()
        self._in_use = 0
        self._idle: list[apsw.Connection] = []
        self._writer: apsw.Connection | None = None
        self._snapshot = threading.local()
        # A database in memory is one connection, which readers and writers share in turn.
        self._alone = threading.RLock()
        self._closed = False
        self._orphaned = False

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
            with translated(self.where), self._counted(), self._pooled() as connection:
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")

    @contextmanager
    def lasting(self) -> Iterator[apsw.Connection]:
        """Like `reading`, for a reader that takes its time: what is written meanwhile neither waits nor is seen."""
        if self._path is None and getattr(self._snapshot, "connection", None) is None:
            with closing(self._copied()) as copy:
                yield copy
        else:
            with self.reading() as connection:
                yield connection

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it, every `reading` of this thread is the same moment."""
        with self.lasting() as connection:
            outer = getattr(self._snapshot, "connection", None)
            self._snapshot.connection = connection
            try:
                yield
            finally:
                self._snapshot.connection = outer

    def _copied(self) -> apsw.Connection:
        """A database in memory has one connection, so a moment of it is a copy."""
        with self._alone, translated(self.where):
            copy = self.connect()
            with copy.backup("main", self._memory(), "main") as copying:
                copying.step(-1)
            return copy

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """The one connection that writes, in a transaction that is committed when the block ends well."""
        with translated(self.where):
            if self._turnstile is None:
                with self._alone:
                    yield from self._transaction(self._memory())
            else:
                with self._turnstile.turn(), self._counted():
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
                with self._turnstile.turn(), self._counted():
                    if self._writer is None:
                        self._writer = self.connect()
                    yield self._writer

    def overwrite(self, source: apsw.Connection, accept: Callable[[apsw.Connection], None]) -> None:
        """Make the whole database what another one holds; in memory, only once `accept` has not raised."""
        if self._path is None:
            with self._alone, translated(self.where):
                self._exchange(source, accept)
            return
        with self.exclusive() as writer:
            with writer.backup("main", source, "main") as copying:
                copying.step(-1)
            # FTS5 keeps parts of its index with the connection and does not notice that they were replaced.
            self._writer = None
            writer.close()

    def _exchange(self, source: apsw.Connection, accept: Callable[[apsw.Connection], None]) -> None:
        before, self._writer = self._writer, self.connect()
        try:
            with self._writer.backup("main", source, "main") as copying:
                copying.step(-1)
            accept(self._writer)
        except BaseException:
            self._writer.close()
            self._writer = before
            raise
        if before is not None:
            before.close()

    @contextmanager
    def fresh(self) -> Iterator[apsw.Connection]:
        """Like `reading`, on a connection of its own: FTS5 checks what a connection remembers, not what is there."""
        if self._path is None:
            with self.reading() as connection:
                yield connection
            return
        with translated(self.where), self._counted(), closing(self.connect()) as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """While it lasts, a connection is in use and a fork waits."""
        with self._gate:
            self._in_use += 1
        try:
            yield
        finally:
            with self._gate:
                self._in_use -= 1
                self._gate.notify_all()
                if self._closed and self._in_use == 0:
                    self._close_connections()

    def connect(self) -> apsw.Connection:
        """A new connection, set up."""
        if self._closed:
            raise StoreError(self.where, "is closed")
        if self._orphaned:
            raise StoreError(self.where, "was in use when this process was forked", hint="Open it in the new process.")
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
        except BaseException:
            # A cursor may have been left open, which would hold the connection to this moment.
            connection.close()
            raise
        self._idle.append(connection)

    def close(self) -> None:
        """Close every connection; while one is in use, when that use ends."""
        with self._alone, self._gate:
            self._closed = True
            if self._in_use == 0:
                self._close_connections()

    def _close_connections(self) -> None:
        while self._idle:
            self._idle.pop().close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def before_fork(self) -> None:
        """Have no connection open while the process is copied.

        SQLite counts the locks of a file in the memory of the process. A child that inherits the count believes it
        holds locks that only its parent has; then either may remove the log that the other is writing to.
        """
        self._gate.acquire()
        self._gate.wait_for(lambda: self._in_use == 0, timeout=_FORK_PATIENCE)
        if self._path is not None and self._in_use == 0:
            self._close_connections()

    def after_fork(self) -> None:
        """In the parent: go on."""
        self._gate.release()

    def begin_in_child(self) -> None:
        """In the child: start anew. What could not be closed before is kept aside, neither used nor closed."""
        closed, writer, in_use = self._closed, self._writer, self._in_use
        _INHERITED.extend((*self._idle, writer))
        self._start()
        self._closed = closed
        if self._path is None:
            self._writer = writer  # a copy of the database, which is the child's own
        else:
            self._orphaned = in_use > 0


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
    except apsw.ConstraintError as error:
        raise StoreError(where, f"refused a change that would break its rules ({error})") from error
    except PermissionError as error:
        raise StoreReadOnly(where, f"cannot be opened ({error.strerror})") from error
    except OSError as error:
        raise StoreError(where, f"cannot be used ({error.strerror})") from error
    except apsw.ConnectionClosedError as error:
        raise StoreError(where, "is closed") from error


_FORK_PATIENCE = 1.0
_OPEN: weakref.WeakSet[Connections] = weakref.WeakSet()
_INHERITED: list[apsw.Connection | None] = []
_FORKING = threading.Lock()
_AT_FORK: list[Connections] = []


def _before_fork() -> None:
    _FORKING.acquire()
    _AT_FORK[:] = _OPEN
    for each in _AT_FORK:
        each.before_fork()


def _after_fork() -> None:
    for each in _AT_FORK:
        each.after_fork()
    _AT_FORK.clear()
    _FORKING.release()


def _in_child() -> None:
    for each in _AT_FORK:
        each.begin_in_child()
    _AT_FORK.clear()
    _FORKING.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
