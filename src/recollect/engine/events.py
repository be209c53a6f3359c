"""Events: what memory does, told to whoever wants to know, and never at the cost of whoever is served.

Telling puts an event on the queue of each subscriber and returns. Each has a thread of its own that ends when there is
nothing to tell, so a subscriber that fails or never returns holds up neither the memory nor the others; what its full
queue cannot take is counted and left out. The log (`recollect.events`, a line of JSON each) and OpenTelemetry are told
in the same way: the first where it is switched on, the second where the program has imported it.

In process, events carry their facts as they are. What is written to a log has secrets masked; telemetry gets sizes and
numbers, never texts.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import monotonic, time_ns
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ..codec import canonical
from ..errors import InvalidInput
from ..model import Json
from ..policy.redact import redact

if TYPE_CHECKING:
    from opentelemetry.context import Context as Around

QUEUE = 256
"""How many events may wait for one subscriber."""
LINGER = 1.0
"""For how many seconds a subscriber's thread waits for another event before it ends."""
_LOG = logging.getLogger("recollect.events")
_LOG.addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """Memory was loaded."""

    name: ClassVar[str] = "memory:read"
    type: str
    path: str
    size: int

    def payload(self) -> dict[str, Json]:
        """Its facts, under the names that are documented."""
        return {"type": self.type, "path": self.path, "size": self.size}


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Memory was written."""

    name: ClassVar[str] = "memory:write"
    type: str
    path: str
    delta: int
    """By how much it grew; less than nothing where it shrank."""

    def payload(self) -> dict[str, Json]:
        """Its facts, under the names that are documented."""
        return {"type": self.type, "path": self.path, "delta": self.delta}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """What a session is worth keeping was saved, before it is compacted."""

    name: ClassVar[str] = "memory:flush"
    session_id: str

    def payload(self) -> dict[str, Json]:
        """Its facts, under the names that are documented."""
        return {"sessionId": self.session_id}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """A session was compacted, from so many tokens to so many."""

    name: ClassVar[str] = "memory:compact"
    session_id: str
    before: int
    after: int

    def payload(self) -> dict[str, Json]:
        """Its facts, under the names that are documented."""
        return {"sessionId": self.session_id, "before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search was made, and gave these results, by their references."""

    name: ClassVar[str] = "memory:search"
    query: str
    results: tuple[str, ...]

    def payload(self) -> dict[str, Json]:
        """Its facts, under the names that are documented."""
        return {"query": self.query, "results": list(self.results)}


Event: TypeAlias = Read | Write | Flush | Compact | Search
NAMES = tuple(each.name for each in (Read, Write, Flush, Compact, Search))


@dataclass(frozen=True, slots=True)
class _Told:
    event: Event
    at: int
    """Nanoseconds since 1970."""
    around: Around | None = None


class Subscription:
    """One subscriber: its queue, and how it fared. Made by `Events.subscribe`."""

    def __init__(self, take: Callable[[_Told], None], names: frozenset[str]) -> None:
        self.names = names
        self.lost = 0
        """How many events its queue could not take."""
        self.failures = 0
        """How often it failed."""
        self._take = take
        self._waiting: deque[_Told] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._over = False

    def put(self, told: _Told) -> None:
        """Let it have an event, when it gets to it."""
        with self._changed:
            if self._over or told.event.name not in self.names:
                return
            if len(self._waiting) >= QUEUE:
                self.lost += 1
                return
            self._waiting.append(told)
            self._changed.notify()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="recollect-events", daemon=True)
                self._thread.start()

    def end(self, seconds: float) -> None:
        """Take no more, and wait so long for it to be told what it still waits for."""
        with self._changed:
            self._over = True
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    def _run(self) -> None:
        while (told := self._next()) is not None:
            try:
                self._take(told)
            except Exception as error:
                self.failures += 1
                if self.failures == 1:  # once is enough to know; a log in a loop helps nobody
                    _LOG.warning("a subscriber to %s failed: %s", told.event.name, type(error).__name__)

    def _next(self) -> _Told | None:
        """The next event, or None once there is none for a while; then this thread is done."""
        with self._changed:
            if not self._waiting and not self._over:
                self._changed.wait(LINGER)
            if self._waiting:
                return self._waiting.popleft()
            self._thread = None
            return None


class Events:
    """Where events are told, and where one subscribes to them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers: tuple[Subscription, ...] = ()
        self._log = Subscription(_logged, frozenset(NAMES))
        self._telemetry = Subscription(_Telemetry(), frozenset(NAMES))

    def subscribe(self, take: Callable[[Event], None], *, names: Iterable[str] = NAMES) -> Subscription:
        """Have a function called with every event of these names, in order, on a thread of its own."""
        wanted = frozenset(names)
        if unknown := sorted(wanted - set(NAMES)):
            raise InvalidInput("names", f"{unknown[0]!r} is not one of {', '.join(NAMES)}")
        made = Subscription(lambda told: take(told.event), wanted)
        with self._lock:
            self._subscribers = (*self._subscribers, made)
        return made

    def unsubscribe(self, subscription: Subscription) -> None:
        """Tell a subscriber nothing more. Doing it twice changes nothing."""
        with self._lock:
            self._subscribers = tuple(each for each in self._subscribers if each is not subscription)
        subscription.end(0)

    def tell(self, event: Event) -> None:
        """Tell everybody. Costs next to nothing, waits for nobody and never fails."""
        logs, traces = _LOG.isEnabledFor(logging.INFO), "opentelemetry" in sys.modules
        if not (self._subscribers or logs or traces):
            return
        told = _Told(event, time_ns(), _around() if traces else None)
        for each in self._subscribers:
            each.put(told)
        if logs:
            self._log.put(told)
        if traces:
            self._telemetry.put(told)

    def close(self, seconds: float = 1.0) -> None:
        """Stop telling, and wait so long at most for what was told to be heard."""
        until = monotonic() + seconds
        with self._lock:
            ending, self._subscribers = (*self._subscribers, self._log, self._telemetry), ()
        for each in ending:
            each.end(max(0.0, until - monotonic()))


def _logged(told: _Told) -> None:
    payload = told.event.payload()
    if isinstance(told.event, Search):
        payload["query"] = redact(told.event.query).text
    _LOG.info("%s", canonical({"event": told.event.name, "at": told.at // 1_000_000, **payload}))


def _around() -> Around | None:
    """The span that the event happened in, if there is one."""
    try:
        from opentelemetry.context import get_current
    except ImportError:
        return None
    return get_current()


class _Telemetry:
    """A span for each event under the span it happened in, and a counter. Made of the API, so the program's own set-up
    of OpenTelemetry decides where they go."""

    def __init__(self) -> None:
        self._ready = False

    def __call__(self, told: _Told) -> None:
        from opentelemetry import metrics, trace

        if not self._ready:
            meter = metrics.get_meter("recollect")
            self._tracer = trace.get_tracer("recollect")
            self._count = meter.create_counter("recollect.events", description="What memory did")
            self._ready = True
        span = self._tracer.start_span(
            told.event.name, context=told.around, start_time=told.at, attributes=_attributes(told.event)
        )
        span.end(told.at)
        self._count.add(1, {"event": told.event.name})


def _attributes(event: Event) -> dict[str, str | int]:
    """What telemetry is given: kinds, sizes and numbers. Queries and paths stay here."""
    match event:
        case Read():
            return {"recollect.type": event.type, "recollect.size": event.size}
        case Write():
            return {"recollect.type": event.type, "recollect.delta": event.delta}
        case Flush():
            return {"recollect.session": event.session_id}
        case Compact():
            sizes = {"recollect.before": event.before, "recollect.after": event.after}
            return {"recollect.session": event.session_id, **sizes}
        case Search():
            return {"recollect.query.length": len(event.query), "recollect.results": len(event.results)}
