"""Narratives: named threads of work across sessions. What is remembered while one is open belongs to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from ..codec import decode, encode
from ..errors import InvalidInput, NotFound
from ..model import Condition, Define, Memory, Op, Status
from ..policy.admit import clean_text
from ..store import Store
from .parts import Parts

SORT = "narrative"
TITLE_LIMIT = 200
SUMMARY_LIMIT = 8_000
_NUMBERED = re.compile(r"N-([0-9]{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrative:
    """A thread of work: active while it is open, with what it came to so far."""

    id: str
    title: str
    started: datetime
    closed: datetime | None = None
    summary: str = ""


def narratives(store: Store) -> tuple[Narrative, ...]:
    """Every narrative, the latest first."""
    found = (decode(Narrative, each.value) for each in store.definitions(SORT))
    return tuple(sorted(found, key=lambda each: (each.started, each.id), reverse=True))


def active_narrative(store: Store) -> str | None:
    """The narrative that is open; of several, the one that was begun last."""
    return next((each.id for each in narratives(store) if each.closed is None), None)


class Narratives:
    """The narratives of one project."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def list(self) -> tuple[Narrative, ...]:
        """Every narrative, the latest first."""
        return narratives(self._parts.project())

    def get(self, name: str) -> Narrative:
        """One narrative."""
        found = next((each for each in self.list() if each.id == name), None)
        if found is None:
            raise NotFound("narrative", name[:64])
        return found

    def start(self, title: str) -> Narrative:
        """Begin a narrative. What is remembered from now on belongs to it, until it is closed."""
        numbers = [int(found[1]) for each in self.list() if (found := _NUMBERED.fullmatch(each.id))]
        made = Narrative(
            id=f"N-{max(numbers, default=0) + 1:03d}",
            title=clean_text("title", title, TITLE_LIMIT),
            started=self._parts.clock(),
        )
        return _keep(self._parts, made)

    def tell(self, name: str, summary: str) -> Narrative:
        """Say what a narrative has come to so far, in place of what was said before."""
        return _keep(self._parts, replace(self.get(name), summary=clean_text("summary", summary, SUMMARY_LIMIT)))

    def close(self, name: str, *, summary: str | None = None) -> Narrative:
        """End a narrative, with what it came to if that is given."""
        there = self.get(name)
        if there.closed is not None:
            raise InvalidInput("narrative", f"{name} is closed already")
        told = there.summary if summary is None else clean_text("summary", summary, SUMMARY_LIMIT)
        return _keep(self._parts, replace(there, closed=self._parts.clock(), summary=told))

    def memories(self, name: str) -> tuple[Memory, ...]:
        """The memories that belong to a narrative, the latest first."""
        return memories_of(self._parts.project(), "narrative_id", self.get(name).id)


def memories_of(store: Store, field: str, name: str) -> tuple[Memory, ...]:
    """The memories that a session, task or narrative produced, the latest first; none that is forgotten."""
    shown = Condition("status", Op.NE, Status.FORGOTTEN.value)
    return store.query((Condition(field, Op.EQ, name), shown), limit=None)


def _keep(parts: Parts, narrative: Narrative) -> Narrative:
    parts.switch.require_on()
    change = Define(sort=SORT, name=narrative.id, value=encode(narrative))
    parts.project().apply([change], actor=parts.actor, now=parts.clock())
    return narrative
