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
        self._held: list[int] = []

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
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not _flock_before(descriptor, deadline):
                raise self._busy() from None
        except OSError:
            os.close(descriptor)
            raise
        self._held.append(descriptor)
        return descriptor

    def _let_go(self, descriptor: int) -> None:
        self._held.remove(descriptor)
        os.close(descriptor)

    def _busy(self) -> StoreBusy:
        return StoreBusy(str(self._store), f"another process kept the write lock for {self._timeout:g} s")

    def forget_inherited(self) -> None:
        """In a forked child: drop what belongs to the parent without unlocking it there."""
        for descriptor in self._held:
            os.close(descriptor)
        self._start()


def _flock_before(descriptor: int, deadline: float) -> bool:
    """Wait for a file lock until the deadline; on failure the descriptor is closed, now or when the wait ends.

    `flock` cannot time out, so the wait is done by a thread that can be abandoned.
    """
    settled = threading.Lock()
    outcome: list[str] = []

    def settle(word: str) -> bool:
        with settled:
            outcome.append(word)
            return outcome[0] == word

    done = threading.Event()

    def wait() -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not settle("taken"):
            os.close(descriptor)
        done.set()

    threading.Thread(target=wait, name="recollect-lock", daemon=True).start()
    done.wait(max(0.0, deadline - time.monotonic()))
    return not settle("abandoned")


_TURNSTILES: weakref.WeakSet[Turnstile] = weakref.WeakSet()


def _forget_in_child() -> None:
    for each in list(_TURNSTILES):
        each.forget_inherited()


os.register_at_fork(after_in_child=_forget_in_child)
