"""Changes: values that describe one mutation each. They are the only way a store is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from .memory import (
    Anchor,
    Corpus,
    Feedback,
    Json,
    Kind,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Passage,
    Procedure,
    Provenance,
    Status,
    Uid,
    Version,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """Amounts to add to a memory's signals. Results stay within their bounds; `hit` also resets the recency clock."""

    importance: float = 0.0
    confidence: float = 0.0
    strength: int = 0
    score: int = 0
    access: int = 0
    hit: bool = False
    confirm: bool = False
    """Somebody vouched for it: confidence ages from now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """How a memory that is being stored stands to one that is there, and what that one said when this was found.

    It is made only if that one is still live and still says the same.
    """

    kind: LinkKind
    target: MemoryId
    content_hash: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """Store a new memory; where a live one already says exactly this, give that one `on_duplicate` instead.

    The same holds for `same_as`, which says it in other words. What the new one supersedes leaves recall.
    """

    memory: Memory
    on_duplicate: Signals
    same_as: Relation | None = None
    relations: tuple[Relation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """New values for a memory's fields; None leaves one as it is, `clear` empties the optional ones it names."""

    content: str | None = None
    kind: Kind | None = None
    importance: float | None = None
    tags: tuple[str, ...] | None = None
    anchors: tuple[Anchor, ...] | None = None
    triggers: tuple[str, ...] | None = None
    procedure: Procedure | None = None
    season: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    clear: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """Update a memory in place: identity, score and history stay, the last hit is refreshed."""

    id: MemoryId
    edit: Edit
    provenance: Provenance | None = None
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Weigh:
    """Strengthen or weaken a memory."""

    id: MemoryId
    signals: Signals
    action: str = "weigh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Move a memory to another status: pin, forget, archive, supersede, restore."""

    id: MemoryId
    status: Status
    superseded_by: Uid | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retag:
    """Add and remove tags, leaving the others."""

    id: MemoryId
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect:
    """Make a link between two memories, or give an existing one this weight."""

    link: Link


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect:
    """Remove a link between two memories."""

    memory: MemoryId
    kind: LinkKind
    target: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Record a verdict on a memory, with what it does to its signals."""

    id: MemoryId
    helpful: bool
    signals: Signals
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Bring a memory to exactly this state, with its past: import, restore and undo.

    The memory is known by its uid. It keeps its id where that is free, and the id it has where it is there already.
    """

    memory: Memory
    history: tuple[Version, ...] = ()
    feedback: tuple[Feedback, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Regroup:
    """Replace clusters by these: a label, and the ids of its members. They are numbered from `first` on.

    Those that are numbered from `first` up to `last` give way; without a `last`, all from `first` on.
    """

    clusters: tuple[tuple[str, tuple[MemoryId, ...]], ...]
    first: int = 1
    last: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clear:
    """Forget every memory of the space, restorably."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """Index passages of documents, each in place of the one that was at its position."""

    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfile:
    """Take the passages of a document out of the index, from a position on."""

    corpus: Corpus
    document: str
    start: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Define:
    """Define something under a name, in place of what it was; without a value, define it no longer."""

    sort: str
    name: str
    value: Json = None
    note: Json = None
    """What the audit says of it besides its sort; nothing that anybody may want erased."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vouch:
    """Somebody who may do so vouches for a memory: it is trusted this far from now on."""

    id: MemoryId
    trust: float
    provenance: Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """Note that memories were seen in a condition, unless it is noted already; of others note it no longer."""

    sort: str
    seen: tuple[MemoryId, ...] = ()
    gone: tuple[MemoryId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Note in which session and by which agent findings turned up, each known by its fingerprint."""

    fingerprints: tuple[str, ...]
    session_id: str
    agent: str = ""


class StepState(StrEnum):
    """Where a step of a plan stands."""

    PROPOSED = "proposed"
    DONE = "done"
    REFUSED = "refused"
    OUTDATED = "outdated"
    """What it was about had changed before it was carried out, so it was not."""
    UNDONE = "undone"
    DROPPED = "dropped"
    """Nobody decided on it before another plan was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a plan: changes that are carried out together or not at all, and why."""

    number: int = 0
    sort: str
    key: str
    """What it is about. A step that was refused is known by it when it is proposed again."""
    why: str
    changes: tuple[Change, ...]
    expects: tuple[tuple[MemoryId, int], ...] = ()
    """The memories it is about, each with the version that it was planned for."""
    retires: tuple[MemoryId, ...] = ()
    """The memories that leave recall by it. Such a step waits for somebody to agree."""
    state: StepState = StepState.PROPOSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done to a space, step by step: proposed, looked at, carried out, and undone if need be."""

    id: int
    sort: str
    made_at: datetime
    made_by: str
    live: int
    """How many memories were live when it was made."""
    states: Mapping[str, int]
    """How many steps stand where."""
    retires: int = 0
    """How many memories would leave recall by steps that are proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Propose:
    """Write down steps as a new plan, or as more steps of one."""

    sort: str
    steps: tuple[Step, ...]
    live: int = 0
    plan: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Perform:
    """Carry out a step of a plan, keeping what is needed to undo it exactly."""

    plan: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Revert:
    """Undo a step: everything it touched is as it was before, to the letter."""

    plan: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Let go of a step of a plan that nobody decided on; it may be proposed again."""

    plan: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """Let a step of a plan not be done, and not be proposed again."""

    plan: int
    step: int


Change: TypeAlias = (
    Add
    | Revise
    | Weigh
    | Mark
    | Retag
    | Connect
    | Disconnect
    | Rate
    | Put
    | Regroup
    | Clear
    | File
    | Unfile
    | Define
    | Vouch
    | Sight
    | Notice
    | Propose
    | Perform
    | Revert
    | Refuse
    | Drop
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one change. `action` is the audit's word for it; `memory` is the memory afterwards."""

    action: str
    memory: Memory | None = None
    link: Link | None = None
    plan: int | None = None
    relations: tuple[Relation, ...] = ()
    """How a memory that was stored was found to stand to others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof that changes were stored. `replayed` says an earlier request with the same key had stored them."""

    outcomes: tuple[Outcome, ...]
    replayed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One line of the audit. It holds hashes of content, never content."""

    seq: int
    at: datetime
    actor: str
    action: str
    uid: str
    detail: Json
    state: str
    """Hash of the memory as this entry left it, or ""."""
    prev: str
    hash: str
