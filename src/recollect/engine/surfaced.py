"""What sessions were given already, so that nothing is said twice until the topic changes; and how it was received."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..errors import RecollectError, StoreError
from ..model import Condition, Feedback, Given, Op, Scope, Uid
from ..policy.budget import Use, learned
from ..policy.words import stems_of
from .parts import Parts

REMEMBERED = 256
"""For how many sessions it is kept at hand what they were given; the rest is read again."""
LOOKED_BACK = 200
"""How many recollections of a session are read to know what it was given."""
WAITING = 16
"""How many may wait to be written."""
LEARNED_FROM = 500
"""From how many of the latest recollections it is learned what is of use."""
_READ_AT_ONCE = 500
_SMALLEST = 1e-6
"""A share that the settings say is none; what nobody else wants may still go there."""
_SHARED = 0.1
"""What share of their words two texts on one topic have in common, where meaning cannot be had."""


@dataclass(frozen=True, slots=True)
class _Told:
    topic: int = 0
    query: str = ""
    refs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """What was given lately, what it cost, and how it was received."""

    prompts: int = 0
    silent: int = 0
    """For how many of them nothing was given."""
    items: int = 0
    tokens: int = 0
    withheld: int = 0
    helpful: int = 0
    """Verdicts on memories after they were given."""
    unhelpful: int = 0
    latest: datetime | None = None
    scopes: tuple[ScopeUse, ...] = ()
    """How useful the memory of each scope was, and what share of a budget it has for that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeUse:
    """What the memory of a scope was good for."""

    scope: Scope
    given: int
    """Tokens of it that were given."""
    useful: int
    """Tokens of what was found helpful after that, more often than not."""
    share: float
    """Its share of what may be found for a prompt, as learned from this."""


def tier_of(scope: Scope) -> Scope:
    """Whose share of a budget a memory takes: a session's is the task's."""
    return Scope.TASK if scope is Scope.SESSION else scope


class Surfaced:
    """What each agent of each session was given since its topic began."""

    def __init__(self, parts: Parts) -> None:
        """A prompt less like the one before than `agent.topic_similarity` begins a new topic."""
        self._parts = parts
        self._store = parts.project
        self._lock = threading.Lock()
        self._told: OrderedDict[tuple[str, str], _Told] = OrderedDict()
        self._waiting: list[Given] = []

    def since(self, session: str, agent: str, query: str, *, afresh: bool = False) -> tuple[int, frozenset[str]]:
        """The topic that a prompt belongs to, and what was given of it. `afresh` begins a new one in any case.

        A prompt without words of its own belongs to the topic before it. Without a session nothing is known.
        """
        if not session:
            return 0, frozenset()
        told = self._known(session, agent)
        if afresh or (query and told.query and not self._alike(told.query, query)):
            return told.topic + 1, frozenset()
        return told.topic, told.refs

    def note(self, record: Given) -> None:
        """That this was given. It is written down soon."""
        with self._lock:
            self._waiting.append(record)
            if record.session:
                key = (record.session, record.agent)
                before = self._told.get(key, _Told())
                refs = frozenset(item.ref for item in record.items if item.ref)
                if before.topic != record.topic:
                    before = _Told()
                self._told[key] = _Told(record.topic, record.query or before.query, before.refs | refs)
                self._told.move_to_end(key)
                while len(self._told) > REMEMBERED:
                    self._told.popitem(last=False)
            full = len(self._waiting) >= WAITING
        if full:
            self._parts.later("given", self.write)

    def write(self) -> None:
        """Write down what was given. A store that cannot be written loses the note, and nothing else."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        if waiting:
            with suppress(RecollectError):
                self._store().note_given(waiting)

    def reception(self, now: datetime, *, days: float = 7.0) -> Reception:
        """What was given in the last days, and how it was received."""
        self.write()
        store = self._store()
        since = now - timedelta(days=days)
        records = [each for each in store.given(limit=10_000) if each.at >= since]
        verdicts = self._verdicts(records)
        uses = self._uses(records, verdicts)
        held = self._learned(uses)
        return Reception(
            prompts=len(records),
            silent=sum(not record.items for record in records),
            items=sum(len(record.items) for record in records),
            tokens=sum(record.tokens for record in records),
            withheld=sum(record.withheld for record in records),
            helpful=sum(each.helpful for each in verdicts),
            unhelpful=sum(not each.helpful for each in verdicts),
            latest=records[0].at if records else None,
            scopes=tuple(
                ScopeUse(scope=scope, given=use.given, useful=use.useful, share=held[scope])
                for scope, use in uses.items()
            ),
        )

    def shares(self) -> dict[Scope, float]:
        """How what may be found for a prompt is divided among the scopes: as the settings say, moved by its use."""
        self.write()
        records = self._store().given(limit=LEARNED_FROM)
        return self._learned(self._uses(records, self._verdicts(records)))

    def _verdicts(self, records: Sequence[Given]) -> list[Feedback]:
        """What was said of memories after they were given."""
        first: dict[Uid, datetime] = {}
        for record in records:  # the latest first, so the earliest time stays
            first.update({item.uid: record.at for item in record.items if item.uid})
        return [each for each in self._feedback() if each.uid in first and each.at >= first[each.uid]]

    def _feedback(self) -> Iterator[Feedback]:
        yield from self._store().feedback()
        with suppress(StoreError):  # what is known here counts, even when what holds everywhere cannot be read
            yield from self._parts.shared().feedback()

    def _uses(self, records: Sequence[Given], verdicts: Iterable[Feedback]) -> dict[Scope, Use]:
        liked = Counter[Uid]()
        for each in verdicts:
            liked[each.uid] += 1 if each.helpful else -1
        items = [item for record in records for item in record.items if item.uid]
        near = self._near({item.uid for item in items if item.uid and not item.ref.startswith("g")})
        uses = dict.fromkeys((Scope.TASK, Scope.PROJECT, Scope.GLOBAL), Use())
        for item in items:
            tier = Scope.GLOBAL if item.ref.startswith("g") else Scope.TASK if item.uid in near else Scope.PROJECT
            was, useful = uses[tier], item.tokens if item.uid and liked[item.uid] > 0 else 0
            uses[tier] = Use(given=was.given + item.tokens, useful=was.useful + useful)
        return uses

    def _near(self, uids: Iterable[Uid]) -> set[Uid]:
        """Those of some memories of the project that hold for a task or a session only."""
        every = sorted(uids)
        found: set[Uid] = set()
        for at in range(0, len(every), _READ_AT_ONCE):
            where = (
                Condition("uid", Op.IN, tuple(every[at : at + _READ_AT_ONCE])),
                Condition("scope", Op.IN, (Scope.TASK.value, Scope.SESSION.value)),
            )
            found.update(memory.uid for memory in self._store().query(where, limit=None))
        return found

    def _learned(self, uses: dict[Scope, Use]) -> dict[Scope, float]:
        budget = self._parts.settings.budget
        told = {Scope.TASK: budget.task, Scope.PROJECT: budget.project, Scope.GLOBAL: budget.shared}
        base = {scope: max(share, _SMALLEST) for scope, share in told.items()}
        together = sum(base.values())
        least, most = min(base.values()) / together, max(base.values()) / together
        # All the way to the aim: it is worked out anew from all that is known, so there is nothing to approach it from.
        return learned(base, uses, base=base, least=min(0.1, least), most=max(0.7, most), weight=1.0)

    def _known(self, session: str, agent: str) -> _Told:
        with self._lock:
            if (session, agent) in self._told:
                return self._told[session, agent]
        records = [each for each in self._store().given(session=session, limit=LOOKED_BACK) if each.agent == agent]
        told = _Told(records[0].topic if records else 0)
        for record in records:
            if record.topic == told.topic:
                refs = told.refs | {item.ref for item in record.items if item.ref}
                told = replace(told, query=told.query or record.query, refs=refs)
        with self._lock:
            return self._told.setdefault((session, agent), told)

    def _alike(self, before: str, now: str) -> bool:
        meaning = self._parts.meaning
        embedder = meaning.built_in() if meaning.on else None
        vectors = meaning.embed(embedder, [before, now]) if embedder else None
        if vectors is not None and vectors[0].any() and vectors[1].any():
            return float(vectors[0] @ vectors[1]) >= self._parts.settings.agent.topic_similarity
        one, other = set(stems_of(before).split()), set(stems_of(now).split())
        return len(one & other) >= _SHARED * max(1, len(one | other))
