"""Where a memory came from and what came of it: walked in both directions, through sessions, tasks and narratives."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from ..errors import NotFound, RecollectError
from ..model import LinkKind, Memory, MemoryId
from ..store import Store
from .narratives import Narratives, memories_of
from .parts import Parts, Ref
from .session import Sessions, Turn
from .tasks import Tasks

_CHAIN = 50
_TURNS = 5
_OLDER_FIRST = frozenset({LinkKind.SUPERSEDES, LinkKind.DERIVED_FROM})


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """What a memory came about in: a session, a task, a narrative; and the other memories of it."""

    sort: str
    name: str
    title: str = ""
    memories: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kin:
    """A memory that this one came from, or that came of it."""

    memory: Memory
    relation: str
    """As in "supersedes", "derived from", "superseded by", "led to"."""
    steps: int = 1
    """How far away it is along the chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The chain of one memory."""

    memory: Memory
    made_in: tuple[Produced, ...] = ()
    turns: tuple[Turn, ...] = ()
    """What was said when it came about, where the transcript is there."""
    before: tuple[Kin, ...] = ()
    after: tuple[Kin, ...] = ()


def lineage(parts: Parts, ref: Ref, *, sessions: Sessions, tasks: Tasks, narratives: Narratives) -> Lineage:
    """Everything a memory came from and everything that came of it, nearest first."""
    store, memory = parts.find(ref)
    return Lineage(
        memory=memory,
        made_in=tuple(_made_in(store, memory, sessions, tasks, narratives)),
        turns=_turns(memory, sessions),
        before=_walked(store, memory, back=True),
        after=_walked(store, memory, back=False),
    )


def _made_in(store: Store, memory: Memory, sessions: Sessions, tasks: Tasks, narratives: Narratives) -> list[Produced]:
    found = []
    for sort, name in (("session", memory.session_id), ("task", memory.task_id), ("narrative", memory.narrative_id)):
        if name is None:
            continue
        title = ""
        try:
            if sort == "session":
                listed = sessions.listed(name)
                title = f"{listed.turns} turns" + (f" on {listed.host}" if listed.host else "")
            else:
                title = tasks.get(name).description if sort == "task" else narratives.get(name).title
        except NotFound:  # whoever wrote the memory may name what is kept elsewhere
            pass
        others = tuple(each for each in memories_of(store, f"{sort}_id", name) if each.uid != memory.uid)
        found.append(Produced(sort=sort, name=name, title=title, memories=others))
    return found


def _turns(memory: Memory, sessions: Sessions) -> tuple[Turn, ...]:
    if memory.session_id is None or memory.message_range is None:
        return ()
    first, last = memory.message_range
    try:
        return tuple(
            islice(
                (
                    turn
                    for turn in sessions.transcripts.read(memory.session_id, start=max(0, first - 1))
                    if turn.mark is None and first <= turn.seq <= last
                ),
                _TURNS,
            )
        )
    except RecollectError:  # no transcript, or one that cannot be read: the memory stands without
        return ()


def _walked(store: Store, memory: Memory, *, back: bool) -> tuple[Kin, ...]:
    """The chain in one direction, breadth first. A link to replace or derive starts at the newer memory."""
    found: dict[MemoryId, Kin] = {}
    edge: list[tuple[Memory, int]] = [(memory, 0)]
    while edge and len(found) < _CHAIN:
        here, steps = edge.pop(0)
        for link in store.links(here.id, kinds=_OLDER_FIRST):
            older, newer = MemoryId(int(link.target)), link.memory
            other = older if back else newer
            if here.id != (newer if back else older) or other in found or other == memory.id:
                continue
            kin = store.get(other)
            if kin is not None:
                found[other] = Kin(memory=kin, relation=_RELATIONS[link.kind, back], steps=steps + 1)
                edge.append((kin, steps + 1))
    return tuple(found.values())


_RELATIONS = {
    (LinkKind.SUPERSEDES, True): "took the place of",
    (LinkKind.SUPERSEDES, False): "gave way to",
    (LinkKind.DERIVED_FROM, True): "was made from",
    (LinkKind.DERIVED_FROM, False): "led to",
}
