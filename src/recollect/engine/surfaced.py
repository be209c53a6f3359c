"""What sessions were given already, so that nothing is said twice until the topic changes; and how it was received."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..errors import RecollectError
from ..model import Given
from ..policy.words import stems_of
from ..store import Store
from .meaning import Meaning

REMEMBERED = 256
"""For how many sessions it is kept at hand what they were given; the rest is read again."""
LOOKED_BACK = 200
"""How many recollections of a session are read to know what it was given."""
WAITING = 16
"""How many may wait to be written."""
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


class Surfaced:
    """What each agent of each session was given since its topic began."""

    def __init__(self, store: Callable[[], Store], meaning: Meaning, *, least: float) -> None:
        """A prompt less like the one before than `least` begins a new topic."""
        self._store = store
        self._meaning = meaning
        self._least = least
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
                known = before.refs if before.topic == record.topic else frozenset()
                self._told[key] = _Told(record.topic, record.query or before.query, known | refs)
                self._told.move_to_end(key)
                while len(self._told) > REMEMBERED:
                    self._told.popitem(last=False)
            full = len(self._waiting) >= WAITING
        if full:
            self.write()

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
        first: dict[str, datetime] = {}
        for record in records:  # the latest first, so the earliest time stays
            first.update({item.uid: record.at for item in record.items if item.uid})
        verdicts = [each for each in store.feedback() if each.uid in first and each.at >= first[each.uid]]
        return Reception(
            prompts=len(records),
            silent=sum(not record.items for record in records),
            items=sum(len(record.items) for record in records),
            tokens=sum(record.tokens for record in records),
            withheld=sum(record.withheld for record in records),
            helpful=sum(each.helpful for each in verdicts),
            unhelpful=sum(not each.helpful for each in verdicts),
            latest=records[0].at if records else None,
        )

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
        embedder = self._meaning.built_in() if self._meaning.on else None
        vectors = self._meaning.embed(embedder, [before, now]) if embedder else None
        if vectors is not None and vectors[0].any() and vectors[1].any():
            return float(vectors[0] @ vectors[1]) >= self._least
        one, other = set(stems_of(before).split()), set(stems_of(now).split())
        return len(one & other) >= _SHARED * max(1, len(one | other))
