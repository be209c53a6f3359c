"""The governor: every piece of background work asks it first.

What is spent, which breakers are open and which items are parked lies in one small file of the home, so that every
process and every start share one budget. It is a file and not part of a store because a budget is no memory: it belongs
to no project, is worth no entry in an audit, and must not wait for, or hold up, whoever writes memories. It is changed
under a lock and replaced whole. Where it cannot be kept, nothing that it governs begins.

Nothing is written while nothing is done: asking for what costs nothing, and finding that all is well, leave it alone.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep, thread_time
from typing import TypeAlias, TypeVar

from ..codec import canonical, decode, encode
from ..config import Settings
from ..disk import private_folder, write_private
from ..errors import InvalidInput, StoreBusy, StoreError, StoreReadOnly
from ..policy.budgets import (
    MILLION,
    Book,
    Caps,
    Cost,
    Decision,
    Line,
    Measure,
    exhausted,
    lines,
    opened,
    reserve,
    settle,
)
from ..policy.patience import Breaker, Tries, admitted, after_failure, is_slow, percentile, tried

DEGRADED_TOP_K = 5
DEGRADED_CANDIDATES = 100
SMALL = 0.25
"""Below so many seconds, time is gathered before it is written down."""
LOCK_SECONDS = 5.0
"""How long the ledger is waited for. Whoever holds it does so for the time of one small write."""
_FILE = "governor.json"
_LOCK = "governor.lock"

_T = TypeVar("_T")
_Clock: TypeAlias = Callable[[], datetime]
_Change: TypeAlias = Callable[[Book | None], tuple[Book | None, _T]]


class Ledger:
    """The book that processes share, in a folder of the home; without a folder, one for this process alone."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._turn = threading.Lock()
        self._book: Book | None = Book()

    def read(self) -> Book | None:
        """The book as it stands, or None where it cannot be made out."""
        if self._folder is None:
            return self._book
        try:
            return _read(self._folder / _FILE)
        except OSError:
            return None

    def change(self, change: _Change[_T]) -> _T:
        """Let a function make a new book of the one that stands, alone among all processes.

        It is given None where the book cannot be made out. Raises `StoreError` where the book cannot be kept.
        """
        with self._turn:
            if self._folder is None:
                self._book, result = change(self._book)
                return result
            with _locked(self._folder):
                before = _read(self._folder / _FILE)
                after, result = change(before)
                if after is not None and after != before:
                    _write(self._folder / _FILE, after)
                return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What background work has cost and how it stands, for people to see."""

    lines: tuple[Line, ...] = ()
    kinds: tuple[tuple[str, Cost], ...] = ()
    """What each kind of work cost today; money in millionths."""
    breakers: tuple[Breaker, ...] = ()
    """Those that have failures to tell of."""
    parked: tuple[Tries, ...] = ()
    notes: tuple[str, ...] = ()
    """What is done by rules for the time being, and why."""


class Governor:
    """Says whether a piece of background work may begin, and keeps account of what it cost."""

    def __init__(self, settings: Settings, clock: _Clock, ledger: Ledger) -> None:
        self._caps = _caps(settings)
        self._clock = clock
        self._ledger = ledger
        self._small = Cost()
        self._lock = threading.Lock()

    def allowed(self, kind: str, *, tokens: int = 0, calls: int = 1) -> Decision:
        """Whether a piece of this kind may begin; if so, what it may cost at most is set aside.

        `tokens` is the most it can send and receive together. Work that calls no model passes `calls=0`. Whoever is
        told yes calls `spent` when it is done, whatever came of it.
        """
        cost = self._caps.worst(calls=calls, tokens=tokens)

        def ask(book: Book | None) -> tuple[Book, Decision]:
            now = self._clock()
            book = self._known(book, now)
            breaker = _breaker(book, kind)
            probe = admitted(breaker, now)
            if probe is None:
                return book, _waits(breaker)
            after, decision = reserve(book, self._caps, kind, cost, now)
            if not decision:
                return book, decision
            after = _with_breaker(after, probe)
            # That time has passed is nothing to write down.
            return (after if cost != Cost() or probe != breaker else book), decision

        try:
            return self._ledger.change(ask)
        except (OSError, StoreError) as error:
            return Decision(
                kind=kind, yes=False, reason=f"what is spent cannot be written down, so rules do it: {error}"
            )

    def room(self, kind: str, waiting: int) -> Decision:
        """Whether one more piece of this kind may wait where so many wait already."""
        if waiting < self._caps.queue:
            return Decision(kind=kind, yes=True)
        reason = f"{waiting:,} pieces of work wait already, and {self._caps.queue:,} is the most; this one is left out"
        return Decision(kind=kind, yes=False, reason=reason)

    def spent(
        self,
        decision: Decision,
        *,
        calls: int = 0,
        sent: int = 0,
        received: int = 0,
        wall: float = 0.0,
        cpu: float = 0.0,
    ) -> None:
        """Account for a piece of work that was allowed: its calls, its tokens, its seconds. Unused budget goes back."""
        cost = self._caps.cost(calls=calls, sent=sent, received=received, wall=wall, cpu=cpu)
        with self._lock:
            self._small = self._small.plus(replace(cost, calls=0, tokens=0, money=0))
            small, due = self._small, self._small.wall >= SMALL or self._small.cpu >= SMALL
            if not due and decision.held == Cost() and not (cost.calls or cost.tokens):
                return
            self._small = Cost()
        cost = replace(cost, wall=small.wall, cpu=small.cpu)

        def account(book: Book | None) -> tuple[Book, None]:
            now = self._clock()
            return settle(self._known(book, now), self._caps, decision, cost, now), None

        try:
            self._ledger.change(account)
        except (OSError, StoreError):  # what was set aside stays charged, and its time is told with the next
            with self._lock:
                self._small = self._small.plus(small)

    @contextmanager
    def at_work(self, decision: Decision) -> Iterator[Meter]:
        """Measure a piece of work that was allowed and account for it when the block ends, however it ends.

        The block tells the meter its calls and tokens; time it measures itself, of the processor that of this thread.
        """
        meter = Meter()
        began, used = monotonic(), thread_time()
        try:
            yield meter
        finally:
            wall, cpu = monotonic() - began, thread_time() - used
            self.spent(decision, calls=meter.calls, sent=meter.sent, received=meter.received, wall=wall, cpu=cpu)

    def failed(self, kind: str) -> None:
        """A piece of this kind failed. After several in a row its breaker opens."""

        def note(book: Book | None) -> tuple[Book, None]:
            now = self._clock()
            book = self._known(book, now)
            return _with_breaker(book, after_failure(_breaker(book, kind), now)), None

        self._noted(note)

    def worked(self, kind: str) -> None:
        """A piece of this kind went well: its breaker closes."""

        def note(book: Book | None) -> tuple[Book | None, None]:
            return (None if book is None else _with_breaker(book, Breaker(kind=kind))), None

        book = self._ledger.read()
        if book is not None and any(each.kind == kind for each in book.breakers):
            self._noted(note)

    def spend(self) -> Spend:
        """What was spent and how it stands now. Reading it changes nothing."""
        now = self._clock()
        book = opened(self._known(self._ledger.read(), now), now, self._caps)
        told = lines(book, self._caps, now)
        return Spend(
            lines=told,
            kinds=book.day.kinds if book.day else (),
            breakers=book.breakers,
            parked=tuple(each for each in book.tries if each.parked),
            notes=(
                *(_spent_note(each) for each in told if each.limit is not None and each.spent >= each.limit),
                *(_waits(each).reason for each in book.breakers if each.state != "closed"),
            ),
        )

    def _known(self, book: Book | None, now: datetime) -> Book:
        return exhausted(self._caps, now) if book is None else book

    def _noted(self, note: _Change[None]) -> None:
        try:
            self._ledger.change(note)
        except (OSError, StoreError):
            return  # a failure that cannot be written down keeps nobody from failing again later; budgets still hold


@dataclass(slots=True)
class Meter:
    """What a piece of work says of itself while it is measured."""

    calls: int = 0
    sent: int = 0
    received: int = 0


class Parking:
    """Items that fail whatever is done: after some tries they are left alone until somebody releases them."""

    def __init__(self, clock: _Clock, ledger: Ledger) -> None:
        self._clock = clock
        self._ledger = ledger

    def parked(self, item: str) -> bool:
        """Whether this item, named by a fingerprint, is left alone."""
        return any(each.item == item and each.parked for each in self._tries())

    def failed(self, item: str, why: str = "") -> Tries:
        """Note one more failure of an item, and get how often it was tried. Raises `StoreError` if it cannot be."""

        def note(book: Book | None) -> tuple[Book, Tries]:
            known = tried((book or Book()).tries, item, why[:200], self._clock())
            return replace(book or Book(), tries=known), known[-1]

        return self._ledger.change(note)

    def released(self, item: str) -> bool:
        """Let an item be tried again as if it had never failed; whether there was anything to let go."""

        def let_go(book: Book | None) -> tuple[Book | None, bool]:
            if book is None:
                return None, False
            left = tuple(each for each in book.tries if each.item != item)
            return replace(book, tries=left), len(left) < len(book.tries)

        return any(each.item == item for each in self._tries()) and self._ledger.change(let_go)

    def listed(self) -> tuple[Tries, ...]:
        """The items that are parked, the latest last."""
        return tuple(each for each in self._tries() if each.parked)

    def _tries(self) -> tuple[Tries, ...]:
        book = self._ledger.read()
        return book.tries if book else ()


class Slo:
    """Watches how long the latest recalls took; while they are slow, recall does less."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._latencies: deque[float] = deque(maxlen=settings.slo.window)
        self._slow = False
        self._lock = threading.Lock()

    def timed(self, milliseconds: float) -> None:
        """A recall took so long."""
        told = self._settings.slo
        with self._lock:
            self._latencies.append(milliseconds)
            self._slow = is_slow(
                self._latencies, self._slow, least=told.min_samples, degrade=told.degrade_ms, healthy=told.healthy_ms
            )

    @property
    def degraded(self) -> bool:
        """Whether recall is to do less."""
        return self._slow

    @property
    def p95(self) -> float:
        """The 95th percentile of the latest recalls, in milliseconds."""
        with self._lock:
            return percentile(self._latencies)

    def limits(self) -> tuple[int, int]:
        """How many of the best go on to the selection, and how many memories are scored, just now."""
        full = self._settings.recall
        if not self._slow:
            return full.top_k, full.candidates
        return min(full.top_k, DEGRADED_TOP_K), min(full.candidates, DEGRADED_CANDIDATES)


def _caps(settings: Settings) -> Caps:
    told = settings.governor

    def millionths(money: float | None) -> int | None:
        return None if money is None else int(money * MILLION)

    return Caps(
        hour={
            Measure.CALLS: told.calls_hour,
            Measure.TOKENS: told.tokens_hour,
            Measure.MONEY: millionths(told.money_hour),
            Measure.WALL: told.wall_hour,
        },
        day={
            Measure.CALLS: told.calls_day,
            Measure.TOKENS: told.tokens_day,
            Measure.MONEY: millionths(told.money_day),
        },
        cpu_share=told.cpu_share,
        queue=told.queue,
        price_in=told.price_in,
        price_out=told.price_out,
    )


def _breaker(book: Book, kind: str) -> Breaker:
    return next((each for each in book.breakers if each.kind == kind), Breaker(kind=kind))


def _with_breaker(book: Book, breaker: Breaker) -> Book:
    if breaker == _breaker(book, breaker.kind):
        return book
    others = tuple(each for each in book.breakers if each.kind != breaker.kind)
    return replace(book, breakers=others if breaker == Breaker(kind=breaker.kind) else (*others, breaker))


def _waits(breaker: Breaker) -> Decision:
    told = f"{breaker.kind} failed {breaker.failures} times in a row and is left alone for a while; rules do the work"
    return Decision(kind=breaker.kind, yes=False, reason=told, until=breaker.until)


def _spent_note(line: Line) -> str:
    return (
        f"the budget of {line.measure} for this {line.spell} is spent; rules do the work until {line.until:%H:%M} UTC"
    )


def _read(path: Path) -> Book | None:
    try:
        return decode(Book, json.loads(path.read_bytes()))
    except FileNotFoundError:
        return Book()
    except (ValueError, RecursionError, InvalidInput):
        return None


def _write(path: Path, book: Book) -> None:
    write_private(path, [canonical(encode(book)), "\n"])


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of the ledger. The system lets it go with the process, however that ends."""
    path = private_folder(folder) / _LOCK
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreReadOnly(str(path), f"cannot be opened ({error.strerror})") from error
    try:
        _wait_for(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, path: Path) -> None:
    """Wait for the lock, but not for ever: whoever holds it may have been stopped."""
    until = monotonic() + LOCK_SECONDS
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if monotonic() > until:
                raise StoreBusy(str(path), "is held by another process") from error
            sleep(0.005)
