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
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TypeAlias
from weakref import WeakSet

from ..errors import RecollectError
from ..judge import InferTags, Linked, Relation
from ..model import Connect, Link, LinkKind, Memory, MemoryId, Scope, Tier
from ..policy.aftermath import Lessons, Served, is_gap
from ..store import Store
from . import cluster, gaps
from .context import Context, Contexts, Prepared, Situation
from .parts import Parts

_LOG = logging.getLogger("recollect")
_Key: TypeAlias = tuple[str, str]
"""Whose context it is: the session, and the agent of the session."""


@dataclass(frozen=True, slots=True)
class _Job:
    situation: Situation
    number: int
    """How many contexts were handed over before it in this process."""
    done: threading.Event
    """Nobody needs to wait for it any more: it was looked at, or gave way to another."""


class _Worker:
    """The one thread of a process that looks for memories in the background."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._waiting: OrderedDict[Agent, OrderedDict[_Key, _Job]] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._busy: Agent | None = None
        self._number = 0

    def put(self, agent: Agent, situation: Situation, most: int) -> threading.Event:
        """Let a context wait; a newer one has the place of one for the same session. Of too many, the oldest goes."""
        done = threading.Event()
        key = (situation.session, situation.agent)
        with self._wake:
            line = self._waiting.setdefault(agent, OrderedDict())
            if key in line:
                line[key].done.set()
            self._number += 1
            line[key] = _Job(situation, self._number, done)
            while len(line) > most:
                oldest = min(line, key=lambda each: line[each].number)
                line.pop(oldest).done.set()
                agent.dropped += 1
            self._start()
            self._wake.notify_all()
        return done

    def forget(self, agent: Agent, seconds: float) -> bool:
        """Let nothing wait for an agent any more, and wait until what is being done for it is done. Whether it is."""
        until = monotonic() + seconds
        with self._wake:
            for job in self._waiting.pop(agent, {}).values():
                job.done.set()
            while self._busy is agent and (left := until - monotonic()) > 0:
                self._wake.wait(left)
            return self._busy is not agent

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._run, name="recollect-agent", daemon=True)
            with suppress(RuntimeError):  # no more threads, or the process is ending: it waits for the next context
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        try:
            while self._do_next():
                pass
        finally:  # also after a failure that nobody foresaw: whoever is waiting is served by another thread
            with self._wake:
                self._thread = None
                if self._waiting:
                    self._start()

    def _do_next(self) -> bool:
        """Serve who has waited longest, one memory after the other; False after a while of nothing to do."""
        with self._wake:
            while not self._waiting:
                if not self._wake.wait(_IDLE) and not self._waiting:
                    return False
            agent, line = self._waiting.popitem(last=False)
            _, job = line.popitem(last=False)
            if line:
                self._waiting[agent] = line
            self._busy = agent
        try:
            prepared = agent.serve(job.situation)
            job.done.set()
            agent.learn(prepared, job.situation)
        finally:
            job.done.set()
            with self._wake:
                self._busy = None
                self._wake.notify_all()
        return True


_IDLE = 30.0
"""After so many seconds without anything to do the thread ends; the next context starts another."""
_LABELLED = 2
"""How many memories of one retrieval the judge is asked for tags of."""
_KNOWN_TAGS = 50
_JUDGED = 0.5
"""The weight of a link that a judge made."""
_WORKER = _Worker()
_AGENTS: WeakSet[Agent] = WeakSet()


def _begin_anew() -> None:
    """A process that was forked has none of its parent's threads, and what those were at is the parent's."""
    global _WORKER
    _WORKER = _Worker()
    for agent in _AGENTS:
        agent.begin()


os.register_at_fork(after_in_child=_begin_anew)


class Agent:
    """Looks for memories for the sessions of one open memory."""

    def __init__(self, parts: Parts, contexts: Contexts) -> None:
        self._parts = parts
        self._contexts = contexts
        self._closed = False
        self.dropped = 0
        """How many contexts were never looked at, because newer ones of other sessions came."""
        self.begin()
        _AGENTS.add(self)

    def begin(self) -> None:
        """Hold nothing yet, neither for anybody nor to be learned from."""
        self._lock = threading.Lock()
        self._ready: OrderedDict[_Key, Prepared] = OrderedDict()
        self._serving: _Key | None = None
        self._outdated = False
        self._taken: list[Served] = []
        self._lessons = Lessons()
        self._learning = threading.Lock()
        self._retrievals = 0

    # --- For the main agent ----------------------------------------------------------------------------------------

    def offer(self, situation: Situation) -> None:
        """Hand over what is going on. Never waits, and never fails; of several for one agent the newest counts."""
        self._put(situation)

    def take(self, session: str, agent: str = "") -> Context:
        """What was found for the context handed over before; nothing, if there is none or it is not ready."""
        with self._lock:
            return self._delivered((session, agent), self._ready.pop((session, agent), None))

    def ask(self, situation: Situation, *, deadline: float | None = None) -> Context:
        """What helps with this very prompt, within a deadline in seconds; after it, what was found before, if anything.

        `None` is the deadline of the settings.
        """
        seconds = self._parts.settings.recall.deadline_ms / 1_000 if deadline is None else deadline
        key = (situation.session, situation.agent)
        with self._lock:
            before = self._ready.pop(key, None)
        self._put(situation).wait(max(0.0, seconds))
        with self._lock:
            return self._delivered(key, self._ready.pop(key, before))

    def turn(self, situation: Situation) -> Context:
        """What to tell the main agent at this turn, as `recall.delivery` says.

        In the same turn, it is what helps with this very prompt, within the deadline. In the next one, it is what was
        found for the turn before, and this one is handed over.
        """
        if self._parts.settings.recall.delivery == "same-turn":
            return self.ask(situation)
        found = self.take(situation.session, situation.agent)
        self.offer(situation)
        return found

    def close(self, seconds: float = 1.5) -> None:
        """Finish what is at hand, write down what was learned, and stop; whoever closes waits for so long at most."""
        self._closed = True
        _WORKER.forget(self, seconds)
        with self._lock:
            self._ready.clear()
        self._gather()
        self._write_down()

    def _put(self, situation: Situation) -> threading.Event:
        if self._closed:
            done = threading.Event()
            done.set()
            return done
        return _WORKER.put(self, situation, self._parts.settings.agent.queue)

    def _delivered(self, key: _Key, prepared: Prepared | None) -> Context:
        """Note that it is given. The lock is held, so that what is being looked for meanwhile cannot be the same."""
        if prepared is None or self._closed:
            return Context()
        if prepared.memories:
            self._outdated = self._outdated or key == self._serving
            self._taken.append(Served(wanted=prepared.wanted, given=_for_its_sake(prepared)))
        return self._contexts.delivered(prepared)

    # --- In the background -----------------------------------------------------------------------------------------

    def serve(self, situation: Situation) -> Prepared:
        """Look for memories, and keep them for whoever takes them. The worker calls it."""
        key = (situation.session, situation.agent)
        while True:
            with self._lock:
                self._serving, self._outdated = key, False
            prepared = self._looked(situation)
            with self._lock:
                # What the same agent was given in the meantime must not be in it a second time.
                if self._outdated and not self._closed:
                    continue
                self._serving = None
                self._keep(key, prepared)
                return prepared

    def _looked(self, situation: Situation) -> Prepared:
        """What helps: by whoever reads, as long as the governor allows, and else by rules."""
        governor = self._parts.oversight.governor
        allowed = governor.allowed("agent", calls=0)
        with governor.at_work(allowed) if allowed else nullcontext():
            return self._contexts.prepare(situation, read=bool(allowed))

    def _keep(self, key: _Key, prepared: Prepared) -> None:
        if not self._closed:
            self._ready[key] = prepared
            self._ready.move_to_end(key)
            while len(self._ready) > self._parts.settings.agent.queue:
                self._ready.popitem(last=False)

    def learn(self, prepared: Prepared, situation: Situation) -> None:
        """Learn from a retrieval: links and gaps at once, the rest together with others. The worker calls it."""
        if self._closed or self._parts.switch.off_where():
            return
        served = Served(
            wanted=prepared.wanted, given=_for_its_sake(prepared), rejected=prepared.rejected, found=prepared.found
        )
        self._quietly(partial(self._note_gap, served, situation))
        self._quietly(partial(self._link, prepared.links))
        self._quietly(partial(self._label, served.given))
        self._gather(replace(served, given=()))  # what it gives counts once it is taken
        self._retrievals += 1
        if self._retrievals >= self._parts.settings.agent.cluster_every:
            self._retrievals = 0
            self._write_down()
            self._quietly(self._refresh)

    def _refresh(self) -> None:
        for store in self._parts.stores():
            cluster.refresh(self._parts, store)

    def _note_gap(self, served: Served, situation: Situation) -> None:
        if is_gap(served) and self._parts.settings.promotion.auto:
            gaps.note(self._parts, served.wanted.query, session=situation.session)

    def _link(self, links: Sequence[Linked]) -> None:
        """Keep what the judge says that memories are to each other. It takes nobody's place by that: people decide."""
        for each in links:
            kind = LinkKind.CONTRADICTS if each.relation is Relation.CONTRADICTS else LinkKind.RELATES_TO
            (store, one), (other_store, other) = self._parts.find(each.one), self._parts.find(each.other)
            known = store.links(one.id, kinds=frozenset({kind}))
            if store is not other_store or one.id == other.id or any(other.id in (x.memory, x.target) for x in known):
                continue
            link = Link(memory=one.id, kind=kind, target=other.id, weight=_JUDGED, made_by="judge")
            store.apply([Connect(link=link)], actor="agent", now=self._parts.clock())

    def _label(self, memories: Sequence[Memory]) -> None:
        """Ask whoever reads what memories without a tag are about."""
        oversight = self._parts.oversight
        bare = [memory for memory in memories if not memory.tags][:_LABELLED] if oversight.reads else []
        known = tuple(tag.name for tag in self._parts.project().tags()[:_KNOWN_TAGS]) if bare else ()
        for memory in bare:
            tags = oversight.judge.ask(InferTags(text=memory.content, known=known, most=1))
            with self._learning:
                for tag in tags[:1]:
                    self._lessons.tag(memory, tag)

    def _gather(self, *served: Served) -> None:
        """Add what was taken since the last time, and these, to what was learned."""
        with self._lock:
            taken, self._taken = self._taken, []
        with self._learning:
            for each in (*taken, *served):
                self._lessons.add(each)

    def _write_down(self) -> None:
        with self._learning:
            lessons, self._lessons = self._lessons, Lessons()
        for shared in (False, True):
            self._quietly(partial(self._write, lessons, shared=shared))

    def _write(self, lessons: Lessons, *, shared: bool) -> None:
        touched = lessons.touched(shared=shared)
        if not touched or self._parts.switch.off_where():
            return
        store: Store = self._parts.shared() if shared else self._parts.project()
        there: dict[MemoryId, Memory] = {}
        for number in touched:
            memory = store.get(number)
            if memory is not None and (memory.scope is Scope.GLOBAL) is shared:
                there[number] = memory
        changes = lessons.changes(there, shared=shared, tags=self._parts.settings.write.tags_limit)
        if changes:
            store.apply(changes, actor="agent", now=self._parts.clock())

    def _quietly(self, work: Callable[[], object]) -> None:
        """What is learned is worth having, and not worth failing for."""
        try:
            work()
        except RecollectError as error:
            _LOG.warning("the memory agent could not keep what it learned: %s", error)


def _for_its_sake(prepared: Prepared) -> tuple[Memory, ...]:
    """The memories that are given because of the prompt; what is pinned, or begins a session, is given in any case."""
    refs = {
        item.ref
        for item in prepared.context.recollection
        if item.tier is Tier.FOUND or any(why.factor == "trigger" for why in item.why)
    }
    return tuple(memory for memory in prepared.memories if memory.ref in refs)
