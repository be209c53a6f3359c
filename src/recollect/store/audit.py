"""The audit as a chain: every entry hashes the one before it, so none can be changed, removed or moved unnoticed.

Entries hold hashes of content, never content. A bounded audit drops its oldest entries; the entry that records the
trimming vouches for where the chain now begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from ..codec import canonical, digest, to_iso
from ..model import AuditEntry, Json

GENESIS = "b2:" + "0" * 64
TRIM = "trim"


@dataclass(frozen=True, slots=True)
class Head:
    """A point in the chain: the last entry before it, and its hash."""

    seq: int = 0
    hash: str = GENESIS


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """How long the audit may grow before it is cut back to `trim_to` entries; 0 is without bound."""

    max_entries: int = 0
    trim_to: int = 0


def chained(
    head: Head, *, at: datetime, actor: str, action: str, uid: str = "", detail: Json = None, state: str = ""
) -> AuditEntry:
    """The entry that follows `head`."""
    seq = head.seq + 1
    return AuditEntry(
        seq=seq,
        at=at,
        actor=actor,
        action=action,
        uid=uid,
        detail=detail,
        state=state,
        prev=head.hash,
        hash=_entry_hash(head.hash, seq, at, actor, action, uid, detail, state),
    )


def chain_faults(entries: Iterable[AuditEntry], *, base: Head, head: Head) -> list[str]:
    """Everything that is wrong with a chain, in plain words; an empty list is a sound one."""
    faults: list[str] = []
    at = base
    vouched: Head | None = None
    for entry in entries:
        if entry.seq != at.seq + 1:
            faults.append(f"entry {at.seq + 1} is missing or out of order (found {entry.seq})")
        if entry.prev != at.hash:
            faults.append(f"entry {entry.seq} does not follow the one before it")
        if entry.hash != _rehash(entry):
            faults.append(f"entry {entry.seq} was altered")
        if entry.action == TRIM and isinstance(entry.detail, dict):
            vouched = Head(_whole(entry.detail.get("through")), str(entry.detail.get("hash")))
        at = Head(entry.seq, entry.hash)
    if at != head:
        faults.append(f"the chain ends at entry {at.seq}, but its head is entry {head.seq}")
    if base.seq and vouched != base:
        faults.append(f"no entry vouches for the {base.seq} entries that are gone from the start")
    return faults


def _rehash(entry: AuditEntry) -> str:
    return _entry_hash(entry.prev, entry.seq, entry.at, entry.actor, entry.action, entry.uid, entry.detail, entry.state)


def _entry_hash(prev: str, seq: int, at: datetime, actor: str, action: str, uid: str, detail: Json, state: str) -> str:
    return digest("audit", prev, canonical([seq, to_iso(at), actor, action, uid, detail, state]))


def _whole(value: object) -> int:
    return value if isinstance(value, int) else -1
