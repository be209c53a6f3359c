"""Undoing a step exactly: what it will touch is noted before, what it left is noted after.

Nothing is copied that is kept anyway: what a memory said before is its version, so the note holds only numbers. Of
links, definitions and clusters, which have no versions, it holds what they were.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol, TypeAlias

from ..codec import decode, encode
from ..errors import InvalidInput, StoreDamaged
from ..model import (
    Change,
    Connect,
    Define,
    Definition,
    Disconnect,
    Json,
    Link,
    LinkKind,
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

Numbered: TypeAlias = tuple[int, str, tuple[MemoryId, ...]]
"""A cluster: its number, its label, its members."""


class Touchable(Protocol):
    """The rows that a step can touch."""

    def get(self, memory_id: MemoryId) -> Memory | None: ...
    def rewind(self, there: Memory, version: int) -> Memory: ...
    def link(self, memory: MemoryId, kind: LinkKind, target: MemoryId) -> Link | None: ...
    def put_link(self, link: Link) -> Link: ...
    def drop_link(self, memory: MemoryId, kind: LinkKind, target: MemoryId) -> bool: ...
    def definition(self, sort: str, name: str) -> Definition | None: ...
    def define(self, definition: Definition) -> None: ...
    def undefine(self, sort: str, name: str) -> bool: ...
    def step_aside(self, memories: tuple[MemoryId, ...]) -> None: ...
    def put_clusters(self, first: int, last: int | None, clusters: tuple[Numbered, ...]) -> None: ...
    def clusters_between(self, first: int, last: int | None) -> tuple[Numbered, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Touched:
    """One memory: the version it had, the one it has now, and what use had left on it right after."""

    id: MemoryId
    before: int
    after: int = 0
    access_count: int = 0
    accessed_at: datetime | None = None
    last_hit_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edge:
    """One link: where it is, what it was, and what it became."""

    memory: MemoryId
    kind: LinkKind
    target: MemoryId
    before: Link | None = None
    after: Link | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """One definition: which, what it was, and what it became."""

    sort: str
    name: str
    before: Definition | None = None
    after: Definition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grouped:
    """The clusters of a range of numbers: what they were, and what they became."""

    first: int
    last: int | None
    before: tuple[Numbered, ...] = ()
    after: tuple[Numbered, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What a step touched."""

    memories: tuple[_Touched, ...] = ()
    links: tuple[_Edge, ...] = ()
    definitions: tuple[_Named, ...] = ()
    clusters: tuple[_Grouped, ...] = ()


REVERSIBLE = Revise | Weigh | Mark | Retag | Vouch | Connect | Disconnect | Define | Regroup
"""The changes that a step may consist of: those that can be undone to the letter."""


def outdated(step: Step, rows: Touchable) -> bool:
    """Whether something has changed since the step was planned, so that it may no longer be right."""
    for number, version in step.expects:
        found = rows.get(number)
        if found is None or found.version != version:
            return True
    return any(_already_gone(change, step.changes[:n], rows) for n, change in enumerate(step.changes))


def preimage(step: Step, rows: Touchable) -> Image:
    """What the step is about to touch, as it is now."""
    memories: dict[MemoryId, _Touched] = {}
    links: dict[tuple[MemoryId, LinkKind, MemoryId], _Edge] = {}
    definitions: dict[tuple[str, str], _Named] = {}
    clusters: list[_Grouped] = []
    for change in step.changes:
        for number in _memories_of(change):
            found = rows.get(number)
            if found is not None:
                memories.setdefault(number, _Touched(id=number, before=found.version))
        for memory, kind, target in _links_of(change):
            edge = _Edge(memory=memory, kind=kind, target=target, before=rows.link(memory, kind, target))
            links.setdefault((memory, kind, target), edge)
        if isinstance(change, Define):
            there = rows.definition(change.sort, change.name)
            named = _Named(sort=change.sort, name=change.name, before=there)
            definitions.setdefault((change.sort, change.name), named)
        if isinstance(change, Regroup):
            clusters.insert(0, _grouped(change, rows))
    return Image(
        memories=tuple(memories.values()),
        links=tuple(links.values()),
        definitions=tuple(definitions.values()),
        clusters=tuple(clusters),
    )


def with_afterimage(image: Image, rows: Touchable) -> Json:
    """The same with what the step left, to be kept until it is undone."""
    memories = []
    for each in image.memories:
        found = rows.get(each.id)
        assert found is not None
        memories.append(
            replace(
                each,
                after=found.version,
                access_count=found.access_count,
                accessed_at=found.accessed_at,
                last_hit_at=found.last_hit_at,
            )
        )
    return encode(
        replace(
            image,
            memories=tuple(memories),
            links=tuple(replace(each, after=rows.link(each.memory, each.kind, each.target)) for each in image.links),
            definitions=tuple(replace(each, after=rows.definition(each.sort, each.name)) for each in image.definitions),
            clusters=tuple(
                replace(each, after=rows.clusters_between(each.first, each.last)) for each in image.clusters
            ),
        )
    )


def kept_image(undo: Json) -> Image:
    """What was kept of a step that was carried out."""
    try:
        return decode(Image, undo)
    except InvalidInput as error:
        raise StoreDamaged("steps", f"what undoes a step cannot be read ({error})") from error


def changed_since(image: Image, rows: Touchable) -> bool:
    """Whether somebody has changed since what the step left; then undoing it would undo that too."""
    for each in image.memories:
        found = rows.get(each.id)
        if each.after != each.before and (found is None or found.version != each.after):
            return True
    return (
        any(
            each.after != each.before and rows.link(each.memory, each.kind, each.target) != each.after
            for each in image.links
        )
        or any(
            each.after != each.before and rows.definition(each.sort, each.name) != each.after
            for each in image.definitions
        )
        or any(
            each.after != each.before and rows.clusters_between(each.first, each.last) != each.after
            for each in image.clusters
        )
    )


def put_back(image: Image, rows: Touchable) -> Iterator[Memory]:
    """Make everything what it was; yields the memories that have changed by it."""
    there = {each.id: rows.get(each.id) for each in image.memories if each.after != each.before}
    rows.step_aside(tuple(there))
    for each in image.memories:
        found = there.get(each.id)
        if found is not None:
            used = replace(
                found,
                access_count=found.access_count - each.access_count,
                accessed_at=None if found.accessed_at == each.accessed_at else found.accessed_at,
                last_hit_at=None if found.last_hit_at == each.last_hit_at else found.last_hit_at,
            )
            yield rows.rewind(used, each.before)
    for edge in image.links:
        if edge.after == edge.before:
            continue
        if edge.after is not None:
            rows.drop_link(edge.memory, edge.kind, edge.target)
        if edge.before is not None:
            rows.put_link(edge.before)
    for named in image.definitions:
        if named.after == named.before:
            continue
        if named.before is not None:
            rows.define(named.before)
        elif named.after is not None:
            rows.undefine(named.sort, named.name)
    for clusters in image.clusters:
        if clusters.after != clusters.before:
            rows.put_clusters(clusters.first, clusters.last, clusters.before)


def _grouped(change: Regroup, rows: Touchable) -> _Grouped:
    new_last = change.first + len(change.clusters) - 1
    last = None if change.last is None else max(change.last, new_last)
    return _Grouped(first=change.first, last=last, before=rows.clusters_between(change.first, last))


def _already_gone(change: Change, earlier: tuple[Change, ...], rows: Touchable) -> bool:
    """Whether a change would take away what is not there, and what no earlier change of the step makes."""
    if isinstance(change, Disconnect):
        made = any(_links_of(change) == _links_of(each) for each in earlier if isinstance(each, Connect))
        return not made and rows.link(change.memory, change.kind, change.target) is None
    if isinstance(change, Define) and change.value is None:
        named = (change.sort, change.name)
        made = any((each.sort, each.name) == named for each in earlier if isinstance(each, Define))
        return not made and rows.definition(*named) is None
    return False


def _memories_of(change: Change) -> tuple[MemoryId, ...]:
    return (change.id,) if isinstance(change, Revise | Weigh | Mark | Retag | Vouch) else ()


def _links_of(change: Change) -> tuple[tuple[MemoryId, LinkKind, MemoryId], ...]:
    if isinstance(change, Connect) and not isinstance(change.link.target, str):
        return ((change.link.memory, change.link.kind, change.link.target),)
    if isinstance(change, Disconnect):
        return ((change.memory, change.kind, change.target),)
    return ()
