"""The steps of a garden plan: what is to be done about memories, why, and what they would be afterwards.

Each step is a list of changes that can be undone to the letter. By those that retire memories, memories leave recall;
nothing is ever deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from ..codec import digest
from ..model import (
    BETWEEN_MEMORIES,
    Change,
    Connect,
    Edit,
    Link,
    LinkKind,
    Mark,
    Memory,
    MemoryId,
    Regroup,
    Retag,
    Revise,
    Signals,
    Status,
    Step,
    Tag,
    Weigh,
)
from .decay import confidence_at
from .evolve import ANCHORS, TAGS, TRIGGERS
from .kinds import KINDS, KindTable

DOUBT = 0.2
"""How much confidence a memory loses when the working tree speaks against it."""
STRENGTHENED = 0.1
"""How much heavier a link gets when its ends keep being recalled together."""


def survivor(memories: Iterable[Memory]) -> Memory:
    """Which of several memories that say the same is kept: the pinned, the most trusted, the strongest, the oldest."""
    return min(
        memories,
        key=lambda memory: (
            memory.status is not Status.PINNED,
            memory.status is Status.CANDIDATE,
            -memory.trust,
            -memory.strength,
            -memory.access_count,
            memory.created_at,
            memory.id,
        ),
    )


def merging(kept: Memory, gone: Sequence[Memory], links: Iterable[Link], *, sort: str, why: str, actor: str) -> Step:
    """Let one memory stand for others that say the same. It gains their tags, files, strength and links."""
    changes: list[Change] = [
        Weigh(
            id=kept.id,
            signals=Signals(
                strength=sum(memory.strength for memory in gone),
                importance=max(0.0, max(memory.importance for memory in gone) - kept.importance),
            ),
            action="merge",
        )
    ]
    tags = tuple(dict.fromkeys(tag for memory in gone for tag in memory.tags if tag not in kept.tags))
    if room := max(0, TAGS - len(kept.tags)):
        changes += [Retag(id=kept.id, add=tags[:room])] if tags else []
    gained = _gained(kept, gone)
    if gained != Edit():
        changes.append(Revise(id=kept.id, edit=gained))
    for memory in gone:
        made = Link(memory=kept.id, kind=LinkKind.SUPERSEDES, target=memory.id, made_by=actor)
        changes += [Connect(link=made), Mark(id=memory.id, status=Status.SUPERSEDED, superseded_by=kept.uid)]
    changes += _moved(kept, gone, links)
    everyone = (kept, *gone)
    return Step(
        sort=sort,
        key=_key(sort, everyone),
        why=why,
        changes=tuple(changes),
        expects=tuple((memory.id, memory.version) for memory in everyone),
        retires=tuple(memory.id for memory in gone),
    )


def mergeable(kept: Memory, gone: Memory) -> bool:
    """Whether one memory can stand for another without anything being lost that no edit can carry over."""
    return (
        gone.payload in (None, kept.payload)
        and (gone.procedure is None or kept.procedure in (None, gone.procedure))
        and (gone.valid_from, gone.valid_to, gone.season) == (kept.valid_from, kept.valid_to, kept.season)
    )


def _gained(kept: Memory, gone: Sequence[Memory]) -> Edit:
    """What the memory that stays takes over: files, triggers, steps."""
    anchors = tuple(dict.fromkeys((*kept.anchors, *(each for memory in gone for each in memory.anchors))))
    triggers = tuple(dict.fromkeys((*kept.triggers, *(each for memory in gone for each in memory.triggers))))
    steps = next((memory.procedure for memory in gone if memory.procedure), None)
    return Edit(
        anchors=None if anchors == kept.anchors else anchors[: max(ANCHORS, len(kept.anchors))],
        triggers=None if triggers == kept.triggers else triggers[: max(TRIGGERS, len(kept.triggers))],
        procedure=steps if kept.procedure is None else None,
    )


def _moved(kept: Memory, gone: Sequence[Memory], links: Iterable[Link]) -> list[Change]:
    """What those that go were linked with, linked with the one that stays."""
    leaving = {memory.id for memory in gone}
    inside = leaving | {kept.id}
    found: dict[tuple[MemoryId, LinkKind, MemoryId], Change] = {}
    for link in links:
        if link.kind not in BETWEEN_MEMORIES or link.kind is LinkKind.SUPERSEDES or isinstance(link.target, str):
            continue
        ends = tuple(kept.id if end in leaving else end for end in (link.memory, link.target))
        if {link.memory, link.target} <= inside or ends == (link.memory, link.target):
            continue
        found[ends[0], link.kind, ends[1]] = Connect(link=replace(link, memory=ends[0], target=ends[1]))
    return list(found.values())


def superseding(older: Memory, newer: Memory, *, why: str, actor: str) -> Step:
    """Let a newer memory take the place of an older one."""
    made = Link(memory=newer.id, kind=LinkKind.SUPERSEDES, target=older.id, made_by=actor)
    return Step(
        sort="supersede",
        key=_key("supersede", (older, newer)),
        why=why,
        changes=(Connect(link=made), Mark(id=older.id, status=Status.SUPERSEDED, superseded_by=newer.uid)),
        expects=((older.id, older.version), (newer.id, newer.version)),
        retires=(older.id,),
    )


def linking(one: Memory, other: Memory, kind: LinkKind, *, weight: float, sort: str, why: str, actor: str) -> Step:
    """Link two memories, or give their link another weight."""
    link = Link(memory=one.id, kind=kind, target=other.id, weight=round(min(1.0, weight), 3), made_by=actor)
    return Step(
        sort=sort,
        key=_key(sort, (one, other)),
        why=why,
        changes=(Connect(link=link),),
        expects=((one.id, one.version), (other.id, other.version)),
    )


def weak(memory: Memory, now: datetime, *, below: float, table: KindTable = KINDS) -> Step | None:
    """Archive a memory that has grown too unsure and that nothing ever strengthened; None where that is not so."""
    sure = confidence_at(memory, now, table)
    if sure >= below or memory.strength > 1 or memory.status is Status.PINNED:
        return None
    return retiring(memory, "weak", f"its confidence has faded to {sure:.3f}, and nothing ever strengthened it")


def retiring(memory: Memory, sort: str, why: str) -> Step:
    """Send a memory to the archive."""
    return Step(
        sort=sort,
        key=_key(sort, (memory,)),
        why=why,
        changes=(Mark(id=memory.id, status=Status.ARCHIVED),),
        expects=((memory.id, memory.version),),
        retires=(memory.id,),
    )


def doubting(memory: Memory, why: str) -> Step:
    """Let a memory be less sure that the working tree speaks against."""
    return Step(
        sort="check",
        key=f"{_key('check', (memory,))} {why}",
        why=why,
        changes=(Weigh(id=memory.id, signals=Signals(confidence=-DOUBT), action="doubt"),),
        expects=((memory.id, memory.version),),
    )


def tag_spellings(tags: Sequence[Tag]) -> dict[str, str]:
    """For each tag that is but another spelling of a more used one, that one: "test" for "tests"."""
    best: dict[str, str] = {}
    for tag in sorted(tags, key=lambda tag: (-tag.count, tag.name)):
        best.setdefault(_spelling(tag.name), tag.name)
    return {tag.name: best[_spelling(tag.name)] for tag in tags if best[_spelling(tag.name)] != tag.name}


def _spelling(tag: str) -> str:
    """A tag without what people write one way or the other: separators, and the s of an ordinary plural."""
    plain = tag.replace("_", "").replace("-", "").replace(".", "")
    plural = len(plain) > _SHORT_WORD and plain.endswith("s") and not plain.endswith(("ss", "us", "is", "ous"))
    return plain[:-1] if plural else plain


_SHORT_WORD = 4
"""The s of a word of so few letters may well be part of it: news, ios, aws."""


def retagging(memory: Memory, spellings: Mapping[str, str]) -> Step | None:
    """Give a memory tags in their usual spelling; None where all are."""
    other = tuple(tag for tag in memory.tags if tag in spellings)
    if not other:
        return None
    usual = tuple(dict.fromkeys(spellings[tag] for tag in other if spellings[tag] not in memory.tags))
    return Step(
        sort="tags",
        key=_key("tags", (memory,)),
        why=", ".join(f"#{tag} is mostly written #{spellings[tag]}" for tag in other),
        changes=(Retag(id=memory.id, add=usual, remove=other),),
        expects=((memory.id, memory.version),),
    )


def regrouping(wanted: Sequence[tuple[str, tuple[MemoryId, ...]]], there: int, *, most: int) -> Iterator[Step]:
    """Replace the clusters, at most so many members at a time; `there` is how many clusters there are now."""
    first = 1
    waiting: list[tuple[str, tuple[MemoryId, ...]]] = []
    for at, group in enumerate(wanted, start=1):
        waiting.append(group)
        if sum(len(members) for _, members in waiting) >= most and at < len(wanted):
            yield _regrouping(waiting, first, at)
            first, waiting = at + 1, []
    if waiting or there >= first:
        yield _regrouping(waiting, first, None)


def _regrouping(groups: list[tuple[str, tuple[MemoryId, ...]]], first: int, last: int | None) -> Step:
    return Step(
        sort="clusters",
        key=f"clusters {digest('clusters', *(f'{label} {members}' for label, members in groups))}",
        why=f"memories that lie close together now make {len(groups)} clusters from number {first} on",
        changes=(Regroup(clusters=tuple(groups), first=first, last=last),),
    )


def _key(sort: str, memories: Iterable[Memory]) -> str:
    return " ".join((sort, *sorted(memory.uid for memory in memories)))
