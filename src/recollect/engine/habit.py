"""Habits: what is recalled is counted, and what is recalled together is linked; in batches, off the read path."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import combinations

from ..errors import RecollectError
from ..model import Memory, MemoryId, Scope, Together
from ..store import Store

COMPANY = 5
"""How many of the first results count as recalled together."""
WAITING = 64
"""How many recalls are gathered before they are written, if nothing else comes first."""


@dataclass(slots=True)
class _Gathered:
    uses: Counter[MemoryId] = field(default_factory=Counter)
    together: Counter[tuple[MemoryId, MemoryId]] = field(default_factory=Counter)


class Habits:
    """What recalls leave behind, gathered until it is written. Losing some of it is no loss."""

    def __init__(self, stores: Callable[[bool], Store], clock: Callable[[], datetime]) -> None:
        """`stores` gives the store of the project, or the global one for True."""
        self._stores = stores
        self._clock = clock
        self._lock = threading.Lock()
        self._gathered: dict[bool, _Gathered] = {}
        self._recalls = 0
        self.accesses = 0
        """How many memories were recalled so far, each time counted."""

    def noticed(self, memories: Sequence[Memory]) -> None:
        """These were recalled together, the best first. Costs next to nothing."""
        if not memories:
            return
        with self._lock:
            self._recalls += 1
            for shared in (False, True):
                numbers = [each.id for each in memories if (each.scope is Scope.GLOBAL) is shared]
                if numbers:
                    gathered = self._gathered.setdefault(shared, _Gathered())
                    gathered.uses.update(numbers)
                    self.accesses += len(numbers)
                    gathered.together.update(combinations(sorted(numbers[:COMPANY]), 2))

    @property
    def full(self) -> bool:
        """Whether enough has come together to be written."""
        return self._recalls >= WAITING

    def write(self) -> None:
        """Write down what was gathered. A store that cannot be written loses the habit, and nothing else."""
        with self._lock:
            gathered, self._gathered, self._recalls = self._gathered, {}, 0
        for shared, each in gathered.items():
            together = [
                Together(memory=memory, other=other, strength=float(times))
                for (memory, other), times in each.together.items()
            ]
            with suppress(RecollectError):
                self._stores(shared).note_uses(each.uses, together, now=self._clock())
