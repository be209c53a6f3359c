"""The steps of a plan as a person reads them: what there is, and what there would be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..model import (
    Change,
    Connect,
    Define,
    Disconnect,
    Mark,
    Memory,
    MemoryId,
    Regroup,
    Retag,
    Revise,
    Step,
    Vouch,
    Weigh,
)
from .evolve import marked, retagged, revised, vouched, weighed


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A step as a person reads it."""

    number: int
    sort: str
    state: str
    why: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    retires: bool


def described(step: Step, memories: Mapping[MemoryId, Memory], now: datetime) -> Described:
    """A step as a person reads it: what there is before, and what there would be after."""
    before: list[str] = []
    after: list[str] = []
    current = dict(memories)
    for change in step.changes:
        after += _told(change, current, now)
    for number, _ in step.expects:
        if number in memories:
            before.append(f"[id:{memories[number].ref}] {memories[number].content}")
    return Described(
        number=step.number,
        sort=step.sort,
        state=step.state.value,
        why=step.why,
        before=tuple(before),
        after=tuple(after),
        retires=bool(step.retires),
    )


def _told(change: Change, memories: dict[MemoryId, Memory], now: datetime) -> Iterator[str]:
    match change:
        case Connect(link=link):
            yield f"{_ref(link.memory, memories)} {link.kind} {_ref(link.target, memories)} ({link.weight:g})"
        case Disconnect():
            yield f"{_ref(change.memory, memories)} no longer {change.kind} {_ref(change.target, memories)}"
        case Define():
            yield f"noted as {change.sort}"
        case Regroup():
            sizes = Counter({label: len(members) for label, members in change.clusters})
            named = ", ".join(f"{label} ({size})" for label, size in sizes.most_common(_NAMED))
            yield f"{len(change.clusters)} clusters: {named}" if named else "no clusters"
        case Weigh() | Mark() | Retag() | Revise() | Vouch() if change.id in memories:
            before = memories[change.id]
            memories[change.id] = _evolved(change, before, now)
            yield from _differences(before, memories[change.id])


_NAMED = 5


def _evolved(change: Weigh | Mark | Retag | Revise | Vouch, memory: Memory, now: datetime) -> Memory:
    match change:
        case Weigh():
            return weighed(memory, change.signals, now)
        case Mark():
            return marked(memory, change.status, change.superseded_by, now)
        case Retag():
            return retagged(memory, change.add, change.remove, now)
        case Revise():
            return revised(memory, change.edit, change.provenance, now)
        case Vouch():
            return vouched(memory, change.trust, change.provenance, now)


def _differences(before: Memory, after: Memory) -> Iterator[str]:
    for name in ("content", "status", "importance", "confidence", "trust", "strength", "tags", "files"):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield f"[id:{before.ref}] {name}: {_shown(old)} → {_shown(new)}"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _ref(end: MemoryId | str, memories: Mapping[MemoryId, Memory]) -> str:
    if isinstance(end, int) and end in memories:
        return f"[id:{memories[end].ref}]"
    return f"[id:{end}]"
