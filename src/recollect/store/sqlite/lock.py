"""A lock that many processes and threads take in turn.

SQLite's own write lock is not fair: of eight writers one can do thousands of writes while another does one, and a
single `flock` does little better. Here a writer queues on one file lock, the turnstile, and takes the second while
still standing in it; so whoever has just written goes to the back of the queue.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import StoreBusy


class Turnstile:
    """The write lock of one store. Not reentrant."""

    def __init__(self, store: Path, *, timeout: float) -> None:
        self._store = store
        self._timeout = timeout
        self._start()
        _TURNSTILES.add(self)

    def _start(self) -> None:
        self._threads = threading.Lock()
        # Held, waited for, or abandoned and still waited for by a thread: a forked child must close them all.
        self._open: set[int] = set()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock for the block. Raises `StoreBusy` if it is not had in time."""
        deadline = time.monotonic() + self._timeout
        if not self._threads.acquire(timeout=self._timeout):
            raise self._busy()
        try:
            gate = self._take("turn", deadline)
            try:
                hold = self._take("hold", deadline)
            finally:
                self._let_go(gate)
            try:
                yield
            finally:
                self._let_go(hold)
        finally:
            self._threads.release()

    def _take(self, name: str, deadline: float) -> int:
        path = f"{self._store}-{name}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._open.add(descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not self._flock_before(descriptor, deadline):
                raise self._busy() from None
        except OSError:
            self._let_go(descriptor)
            raise
        return descriptor

    def _let_go(self, descriptor: int) -> None:
        self._open.discard(descriptor)
        os.close(descriptor)

    def _flock_before(self, descriptor: int, deadline: float) -> bool:
        """Wait for a file lock until the deadline; on failure the descriptor is let go when the wait ends.

        `flock` cannot time out, so the wait is done by a thread that can be abandoned.
        """
        settled = threading.Lock()
        outcome: list[str] = []
        done = threading.Event()

        def settle(word: str) -> bool:
            with settled:
                outcome.append(word)
                return outcome[0] == word

        def wait() -> None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if not settle("taken"):
                self._let_go(descriptor)
            done.set()

        threading.Thread(target=wait, name="recollect-lock", daemon=True).start()
        done.wait(max(0.0, deadline - time.monotonic()))
        return not settle("abandoned")

    def _busy(self) -> StoreBusy:
        return StoreBusy(str(self._store), f"another process kept the write lock for {self._timeout:g} s")

    def begin_in_child(self) -> None:
        """In a forked child: drop what belongs to the parent without unlocking it there."""
        for descriptor in self._open:
            os.close(descriptor)
        self._start()


_TURNSTILES: weakref.WeakSet[Turnstile] = weakref.WeakSet()


def _in_child() -> None:
    for each in list(_TURNSTILES):
        each.begin_in_child()


os.register_at_fork(after_in_child=_in_child)
