"""What a memory becomes: each mutation as a pure function from the memory before to the memory after."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from ..errors import InvalidInput
from ..model import LIVE, Edit, Memory, Origin, Provenance, Reinforcement, Signals, Status, Uid
from .identity import content_hash, fingerprint
from .tokens import estimate_tokens

COUNT_LIMIT = 1_000_000_000
"""Counters stop here instead of overflowing."""
BREADCRUMBS = 50
"""Reinforcements remembered; the newest are kept."""
TAGS, ANCHORS, TRIGGERS = 32, 64, 100
"""So many tags, files and triggers a memory has at most after it was repeated with others; what it has it keeps."""


def stepped(memory: Memory, now: datetime) -> Memory:
    """The next version. Its time never lies before the last one's, so that history has no gaps when a clock jumps."""
    return replace(memory, version=memory.version + 1, updated_at=max(now, memory.updated_at))


def weighed(memory: Memory, signals: Signals, now: datetime) -> Memory:
    """The memory with amounts added to its signals, each kept within its bounds."""
    return replace(
        stepped(memory, now),
        importance=_share(memory.importance + signals.importance),
        confidence=_share(memory.confidence + signals.confidence),
        strength=_count(memory.strength + signals.strength, least=0),
        score=_count(memory.score + signals.score, least=-COUNT_LIMIT),
        access_count=_count(memory.access_count + signals.access, least=0),
        accessed_at=now if signals.access else memory.accessed_at,
        last_hit_at=now if signals.hit else memory.last_hit_at,
        confirmed_at=now if signals.confirm else memory.confirmed_at,
    )


def repeated(memory: Memory, again: Memory, signals: Signals, now: datetime) -> Memory:
    """The memory after the same came in a second time, with a breadcrumb of where.

    Other words are kept with it, in case they said something else after all. It gains the tags, files and triggers that
    it did not have, and steps if it had none. Once the user has said it, it is trusted as the user is and no longer a
    candidate.
    """
    crumb = Reinforcement(
        at=now,
        session_id=again.session_id,
        message=again.message_range[0] if again.message_range else None,
        words="" if again.fingerprint == memory.fingerprint else again.content,
    )
    after = replace(
        weighed(memory, signals, now),
        reinforcements=(*memory.reinforcements, crumb)[-BREADCRUMBS:],
        tags=tuple(dict.fromkeys((*memory.tags, *again.tags)))[: max(TAGS, len(memory.tags))],
        anchors=tuple(dict.fromkeys((*memory.anchors, *again.anchors)))[: max(ANCHORS, len(memory.anchors))],
        triggers=tuple(dict.fromkeys((*memory.triggers, *again.triggers)))[: max(TRIGGERS, len(memory.triggers))],
        procedure=memory.procedure or again.procedure,
    )
    if again.origin not in (Origin.USER_STATED, Origin.USER_CORRECTED) or memory.trust >= again.trust:
        return after
    status = Status.CONFIRMED if memory.status is Status.CANDIDATE else memory.status
    provenance = (*memory.provenance, *again.provenance)
    return replace(after, trust=again.trust, status=status, provenance=provenance, confirmed_at=now)


def revised(memory: Memory, edit: Edit, step: Provenance | None, now: datetime) -> Memory:
    """The memory with new values in place: score and history stay, the last hit is refreshed."""
    given = {name: held for name in _EDITABLE if (held := getattr(edit, name)) is not None}
    emptied: dict[str, Any] = dict.fromkeys(edit.clear)
    after = replace(stepped(memory, now), last_hit_at=now, **given, **emptied)
    check_validity(after.valid_from, after.valid_to)
    if step is not None:
        after = replace(after, provenance=(*memory.provenance, step))
    if edit.content is None:
        return after
    return replace(
        after,
        fingerprint=fingerprint(edit.content),
        content_hash=content_hash(edit.content),
        token_cost=estimate_tokens(edit.content),
        confirmed_at=now,
    )


_EDITABLE = (
    *("content", "kind", "importance", "tags", "anchors", "triggers", "procedure", "season"),
    *("valid_from", "valid_to"),
)


def check_validity(valid_from: datetime | None, valid_to: datetime | None) -> None:
    """Refuse a time that ends before it begins."""
    if valid_from and valid_to and valid_to < valid_from:
        raise InvalidInput("valid_to", "lies before valid_from")


def marked(memory: Memory, status: Status, superseded_by: Uid | None, now: datetime) -> Memory:
    """The memory in another status. What superseded it is known only while it is superseded.

    Whoever brings a memory back vouches for it: its time starts anew, or it would be archived again at once.
    """
    by = superseded_by if status is Status.SUPERSEDED else None
    confirmed = now if status in LIVE and memory.status not in LIVE else memory.confirmed_at
    return replace(stepped(memory, now), status=status, superseded_by=by, confirmed_at=confirmed)


def vouched(memory: Memory, trust: float, step: Provenance, now: datetime) -> Memory:
    """The memory after somebody vouched for it: trusted this far, and sure of itself from now on."""
    provenance = (*memory.provenance, step)
    return replace(stepped(memory, now), trust=_share(trust), provenance=provenance, confirmed_at=now)


def retagged(memory: Memory, add: tuple[str, ...], remove: tuple[str, ...], now: datetime) -> Memory:
    """The memory with tags added and removed; the same memory if that changes nothing."""
    tags = tuple(tag for tag in dict.fromkeys((*memory.tags, *add)) if tag not in remove)
    return memory if tags == memory.tags else replace(stepped(memory, now), tags=tags)


def _share(value: float) -> float:
    # Sums of tenths drift (0.1 + 0.2); nine digits are more than any signal means.
    return round(max(0.0, min(1.0, value)), 9)


def _count(value: int, *, least: int) -> int:
    return max(least, min(COUNT_LIMIT, value))
