"""The memory agent: it looks for memories while the main agent works, and never lets it wait.

Context is handed over without waiting; what turn N made it find is taken at turn N+1, or in the same turn within a hard
deadline. There is one worker in a process, whatever number of memories are open. After each retrieval it learns from
it, in batches and in the background. Nothing that happens in here reaches the main agent.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TypeAlias

from ..errors import RecollectError
from ..judge import Linked, Relation
from ..model import Connect, Link, LinkKind, Memory, MemoryId, Scope
from ..policy.aftermath import Lessons, Served, is_gap
from ..store import Store
from . import cluster, gaps
from .context import Context, Contexts, Prepared, Situation
from .parts import Parts

_LOG = logging.getLogger("recollect")
_Key: TypeAlias = tuple[int, str, str]
"""Whose context it is: the memory, the session, the agent of the session."""


@dataclass(frozen=True, slots=True)
class _Job:
    agent: Agent
    situation: Situation
    done: threading.Event


class _Worker:
    """The one thread of a process that looks for memories in the background."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._waiting: OrderedDict[_Key, _Job] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._busy: Agent | None = None

    def put(self, key: _Key, job: _Job, most: int) -> int:
        """Let a job wait; a newer one takes the place of one for the same agent. Returns how many had to go for it."""
        with self._wake:
            old = self._waiting.pop(key, None)
            if old is not None:
                old.done.set()
            self._waiting[key] = job
            dropped = 0
            while sum(each.agent is job.agent for each in self._waiting.values()) > most:
                oldest = next(name for name, each in self._waiting.items() if each.agent is job.agent)
                self._waiting.pop(oldest).done.set()
                dropped += 1
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="recollect-agent", daemon=True)
                self._thread.start()
            self._wake.notify_all()
            return dropped

    def forget(self, agent: Agent, seconds: float) -> None:
        """Let nothing wait for an agent any more, and wait until what is being done for it is done."""
        until = monotonic() + seconds
        with self._wake:
            for key in [key for key, job in self._waiting.items() if job.agent is agent]:
                self._waiting.pop(key).done.set()
            while self._busy is agent and (left := until - monotonic()) > 0:
                self._wake.wait(left)

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._waiting:
                    if not self._wake.wait(_IDLE) and not self._waiting:
                        self._thread = None
                        return
                _, job = self._waiting.popitem(last=False)
                self._busy = job.agent
            try:
                job.agent.serve(job.situation)
            finally:
                job.done.set()
                with self._wake:
                    self._busy = None
                    self._wake.notify_all()


_IDLE = 30.0
"""After so many seconds without anything to do the thread ends; the next context starts another."""
_JUDGED = 0.5
"""The weight of a link that a judge made."""
_WORKER = _Worker()


def _begin_anew() -> None:
    """A process that was forked has none of its parent's threads."""
    global _WORKER
    _WORKER = _Worker()


os.register_at_fork(after_in_child=_begin_anew)


class Agent:
    """Looks for memories for the sessions of one open memory."""

    def __init__(self, parts: Parts, contexts: Contexts) -> None:
        self._parts = parts
        self._contexts = contexts
        self._lock = threading.Lock()
        self._ready: OrderedDict[tuple[str, str], Prepared] = OrderedDict()
        self._lessons = Lessons()
        self._closed = False
        self.dropped = 0
        """How many contexts were never looked at, because newer ones came."""

    # --- For the main agent ----------------------------------------------------------------------------------------

    def offer(self, situation: Situation) -> None:
        """Hand over what is going on. Never waits, and never fails; of several for one agent the newest counts."""
        self._put(situation)

    def take(self, session: str, agent: str = "") -> Context:
        """What was found for the context handed over before; nothing, if there is none or it is not ready."""
        with self._lock:
            prepared = self._ready.pop((session, agent), None)
        return Context() if prepared is None else self._contexts.delivered(prepared)

    def ask(self, situation: Situation, *, deadline: float | None = None) -> Context:
        """What helps with this very prompt, within a deadline in seconds; after it, what was found before, if anything.

        `None` is the deadline of the settings.
        """
        seconds = self._parts.settings.recall.deadline_ms / 1_000 if deadline is None else deadline
        with self._lock:
            before = self._ready.pop((situation.session, situation.agent), None)
        done = self._put(situation)
        done.wait(max(0.0, seconds))
        with self._lock:
            prepared = self._ready.pop((situation.session, situation.agent), None) or before
        return Context() if prepared is None else self._contexts.delivered(prepared)

    def close(self, seconds: float = 2.0) -> None:
        """Finish what is at hand, write down what was learned, and stop; whoever closes waits for so long at most."""
        self._closed = True
        _WORKER.forget(self, seconds)
        self._learn(all_of_it=True)

    def _put(self, situation: Situation) -> threading.Event:
        done = threading.Event()
        if self._closed:
            done.set()
            return done
        key = (id(self), situation.session, situation.agent)
        self.dropped += _WORKER.put(key, _Job(self, situation, done), self._parts.settings.agent.queue)
        return done

    # --- In the background -----------------------------------------------------------------------------------------

    def serve(self, situation: Situation) -> None:
        """Look for memories, keep them for whoever takes them, and learn from it. The worker calls it."""
        prepared = self._contexts.prepare(situation, read=True)
        with self._lock:
            key = (situation.session, situation.agent)
            self._ready[key] = prepared
            self._ready.move_to_end(key)
            while len(self._ready) > self._parts.settings.agent.queue:
                self._ready.popitem(last=False)
        served = Served(
            wanted=prepared.wanted, given=prepared.memories, rejected=prepared.rejected, found=prepared.found
        )
        self._lessons.add(served)
        self._quietly(lambda: self._note_gap(served, situation))
        self._quietly(lambda: self._link(prepared.links))
        self._learn()

    def _note_gap(self, served: Served, situation: Situation) -> None:
        if is_gap(served) and self._parts.settings.promotion.auto:
            gaps.note(self._parts, served.wanted.query, session=situation.session)

    def _link(self, links: Sequence[Linked]) -> None:
        """Keep what the judge says that memories are to each other. It takes nobody's place by that: people decide."""
        for each in links:
            kind = LinkKind.CONTRADICTS if each.relation is Relation.CONTRADICTS else LinkKind.RELATES_TO
            (store, one), (other_store, other) = self._parts.find(each.one), self._parts.find(each.other)
            if store is other_store and one.id != other.id:
                link = Link(memory=one.id, kind=kind, target=other.id, weight=_JUDGED, made_by="judge")
                store.apply([Connect(link=link)], actor="agent", now=self._parts.clock())

    def _learn(self, *, all_of_it: bool = False) -> None:
        """Write down what several retrievals taught, and look whether clusters have to follow."""
        every = 1 if all_of_it else self._parts.settings.agent.cluster_every
        if self._lessons.served < every:
            return
        lessons, self._lessons = self._lessons, Lessons()
        self._quietly(lambda: self._write(lessons, shared=False))
        self._quietly(lambda: self._write(lessons, shared=True))
        if not all_of_it:
            self._quietly(lambda: cluster.refresh(self._parts, self._parts.project()))

    def _write(self, lessons: Lessons, *, shared: bool) -> None:
        touched = lessons.touched(shared=shared)
        if not touched:
            return
        store: Store = self._parts.shared() if shared else self._parts.project()
        there: dict[MemoryId, Memory] = {}
        for number in touched:
            memory = store.get(number)
            if memory is not None and (memory.scope is Scope.GLOBAL) is shared:
                there[number] = memory
        changes = lessons.changes(there, shared=shared)
        if changes:
            store.apply(changes, actor="agent", now=self._parts.clock())

    def _quietly(self, work: Callable[[], object]) -> None:
        """What is learned is worth having, and not worth failing for."""
        try:
            work()
        except RecollectError as error:
            _LOG.warning("the memory agent could not keep what it learned: %s", error)
