"""Which memories wait for what: their triggers, compiled once and kept until one of them changes."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple
from weakref import WeakKeyDictionary

from ..model import Memory, MemoryId
from ..policy.triggers import Match, Matcher, procedure_trigger
from ..store import Head, Store


class _Waiting(NamedTuple):
    """The memories of a store that wait for something, as of a point in its audit."""

    head: Head
    mark: int
    memories: dict[MemoryId, Memory]
    matcher: Matcher


class Watch:
    """The triggers of the stores that one open memory has."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: WeakKeyDictionary[Store, _Waiting] = WeakKeyDictionary()

    def matches(self, store: Store, context: str, files: Iterable[str]) -> list[tuple[Memory, Match]]:
        """The memories of a space that a context triggers."""
        waiting = self._current(store)
        return [(waiting.memories[match.memory], match) for match in waiting.matcher.matches(context, files)]

    def _current(self, store: Store) -> _Waiting:
        head = store.audit_head()
        with self._lock:
            known = self._known.get(store)
            if known is None or known.head != head:
                mark = store.acting_mark()
                # Most writes touch no memory that waits for anything.
                known = (
                    known._replace(head=head) if known is not None and known.mark == mark else _made(store, head, mark)
                )
                self._known[store] = known
            return known


def _made(store: Store, head: Head, mark: int) -> _Waiting:
    memories = {memory.id: memory for memory in store.acting()}
    patterns = (
        (memory.id, (*memory.triggers, *((procedure_trigger(memory.procedure),) if memory.procedure else ())))
        for memory in memories.values()
    )
    return _Waiting(head, mark, memories, Matcher.of(patterns))
