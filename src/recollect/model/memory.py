"""Memories, and what lies beside them: links, tags, clusters, verdicts, passages, definitions, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType, TypeAlias

MemoryId = NewType("MemoryId", int)
Uid = NewType("Uid", str)

UNSAVED = MemoryId(0)
"""The id of a memory that no store holds yet; the store gives it one."""

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None


class Kind(StrEnum):
    """What sort of knowledge a memory is. `policy.kinds` says how each behaves."""

    FACT = "fact"
    PREFERENCE = "preference"
    PROCEDURE = "procedure"
    CORRECTION = "correction"
    NEGATIVE = "negative"
    DECISION = "decision"
    ARCHITECTURE = "architecture"
    PATTERN = "pattern"
    WARNING = "warning"
    DISCOVERY = "discovery"
    ERROR = "error"
    FILE_CHANGE = "file_change"
    TASK_PROGRESS = "task_progress"
    SUMMARY = "summary"
    REASONING = "reasoning"
    TOOL_OUTPUT = "tool_output"


class Scope(StrEnum):
    """Where a memory holds. Global and project ones persist; session and task ones end with what they belong to."""

    GLOBAL = "global"
    PROJECT = "project"
    SESSION = "session"
    TASK = "task"


class Status(StrEnum):
    """Where a memory stands in its life."""

    CANDIDATE = "candidate"
    CONFIRMED = "confirmed"
    PINNED = "pinned"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"
    FORGOTTEN = "forgotten"
    QUARANTINED = "quarantined"


LIVE = frozenset({Status.CANDIDATE, Status.CONFIRMED, Status.PINNED})
"""The statuses in which a memory is recalled and injected unasked."""

OCCUPYING = LIVE | {Status.QUARANTINED}
"""The statuses in which a memory holds its place: its words cannot be stored a second time beside it."""


class Origin(StrEnum):
    """Where a memory came from, stamped by the channel it arrived on and never read from its text."""

    USER_STATED = "user_stated"
    USER_CORRECTED = "user_corrected"
    OBSERVED = "observed"
    INFERRED = "inferred"
    EXTRACTED = "extracted"
    IMPORTED = "imported"
    TOOL_OUTPUT = "tool_output"


class Source(StrEnum):
    """Which activity produced a memory; an indexed word, so it can be searched for."""

    CONVERSATION = "conversation"
    AGENT = "agent"
    EXTRACTION = "extraction"
    NARRATIVE = "narrative"
    MIGRATION = "migration"


class LinkKind(StrEnum):
    """The six kinds of edge. They all start at a memory."""

    HAS_TAG = "has-tag"
    IN_CLUSTER = "in-cluster"
    RELATES_TO = "relates-to"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"
    DERIVED_FROM = "derived-from"


BETWEEN_MEMORIES = frozenset({LinkKind.RELATES_TO, LinkKind.SUPERSEDES, LinkKind.CONTRADICTS, LinkKind.DERIVED_FROM})
"""The kinds whose target is a memory. The others follow from a memory's tags and clusters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """One step in where a memory came from; a memory keeps the whole chain, oldest first."""

    origin: Origin
    at: datetime
    session_id: str | None = None
    snippet: str = ""
    """What was being discussed."""
    reason: str = ""
    """Why the confidence is what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reinforcement:
    """A breadcrumb: the same knowledge turned up again."""

    at: datetime
    session_id: str | None = None
    message: int | None = None
    words: str = ""
    """How it was put this time, if otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A place in the code a memory is about, as it was at the time."""

    path: str
    symbol: str | None = None
    content_hash: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """How-to knowledge in steps."""

    name: str
    trigger: str = ""
    steps: tuple[str, ...] = ()
    prerequisites: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One discrete unit of knowledge, as the store holds it.

    Signals (`importance` to `access_count`) are base values: what has decayed since is computed from them and the
    time of asking, never written back.
    """

    id: MemoryId = UNSAVED
    uid: Uid
    version: int = 1
    content: str
    kind: Kind = Kind.FACT
    scope: Scope = Scope.PROJECT
    status: Status = Status.CONFIRMED

    importance: float = 0.5
    confidence: float = 1.0
    trust: float = 1.0
    strength: int = 1
    score: int = 0
    access_count: int = 0

    created_at: datetime
    updated_at: datetime
    accessed_at: datetime | None = None
    last_hit_at: datetime | None = None
    confirmed_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    origin: Origin = Origin.OBSERVED
    source: Source = Source.AGENT
    provenance: tuple[Provenance, ...] = ()
    reinforcements: tuple[Reinforcement, ...] = ()
    session_id: str | None = None
    task_id: str | None = None
    narrative_id: str | None = None
    message_range: tuple[int, int] | None = None
    agent: str | None = None
    host: str | None = None

    anchors: tuple[Anchor, ...] = ()
    tags: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    procedure: Procedure | None = None
    season: str | None = None
    stage: str | None = None
    payload: Json = None

    fingerprint: str = ""
    content_hash: str = ""
    token_cost: int = 0
    superseded_by: Uid | None = None

    @property
    def ref(self) -> str:
        """How people and models name it: `42`, or `g42` for a global one."""
        return f"g{self.id}" if self.scope is Scope.GLOBAL else str(self.id)

    @property
    def active(self) -> bool:
        """Whether it takes part in recall unasked."""
        return self.status in LIVE

    @property
    def files(self) -> tuple[str, ...]:
        """The paths it is about, each once, in order."""
        return tuple(dict.fromkeys(anchor.path for anchor in self.anchors))

    @property
    def owner(self) -> str:
        """What a passing memory belongs to, as `session:ID` or `task:ID`. A persistent one belongs to nobody: ""."""
        if self.scope is Scope.SESSION:
            return f"session:{self.session_id}"
        return f"task:{self.task_id}" if self.scope is Scope.TASK else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The part of a memory that whoever writes it may choose. Origin, trust and times are stamped on the way in."""

    content: str
    kind: Kind = Kind.FACT
    scope: Scope = Scope.PROJECT
    tags: tuple[str, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    importance: float | None = None
    confidence: float = 1.0
    source: Source = Source.AGENT
    session_id: str | None = None
    task_id: str | None = None
    narrative_id: str | None = None
    message_range: tuple[int, int] | None = None
    agent: str | None = None
    host: str | None = None
    triggers: tuple[str, ...] = ()
    procedure: Procedure | None = None
    season: str | None = None
    stage: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    payload: Json = None
    snippet: str = ""
    """What was being discussed; kept in the provenance."""
    reason: str = ""
    """Why the confidence is what it is; kept in the provenance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An edge from a memory to a memory (by id), a tag (by name) or a cluster (by id)."""

    memory: MemoryId
    kind: LinkKind
    target: MemoryId | str
    weight: float = 1.0
    made_by: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A tag node: a label and how many live memories carry it."""

    name: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A cluster node: memories that lie close together, found by the machine."""

    id: int
    label: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What the store held about a memory from one moment to another."""

    memory: Memory
    recorded_from: datetime
    recorded_to: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """One verdict on whether a memory helped."""

    uid: Uid
    helpful: bool
    at: datetime
    actor: str
    note: str = ""


class Corpus(StrEnum):
    """What can be searched: the memories, and three sorts of passages that lie beside them."""

    MEMORY = "memory"
    ITEMS = "items"
    """Knowledge items extracted from files."""
    SESSIONS = "sessions"
    """Turns of session transcripts."""
    SOURCES = "sources"
    """Chunks of source files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of a document that is kept elsewhere: a session's turn, a knowledge item, a chunk of a file.

    A passage is known by its corpus, its document (a session's id, a file's path) and its position there. It can be
    made anew from the document, so it has no history and is not exported.
    """

    id: int = 0
    corpus: Corpus
    document: str
    position: int
    text: str
    label: str = ""
    """Who says it, or what it is: a speaker, a heading, a symbol."""
    at: datetime | None = None
    payload: Json = None

    @property
    def day(self) -> str:
        """The day it is from, as people say it: "8 May 2023"; "" where it has none."""
        return f"{self.at.day} {_MONTHS[self.at.month - 1]} {self.at.year}" if self.at else ""

    @property
    def reading(self) -> str:
        """The passage as it is read: when, who, what."""
        when = f"{self.day} " if self.at else ""
        return f"{when}{self.label}: {self.text}" if self.label else f"{when}{self.text}"


_MONTHS = (  # not those of the machine's language: what is indexed under them must not depend on it
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """Something a person or the machine defined for a space, such as an alias or a season."""

    sort: str
    name: str
    value: Json
    made_by: str = ""
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something noticed in a session that may be promoted to a memory."""

    content: str
    kind: Kind = Kind.DISCOVERY
    importance: float | None = None
    """None is what its kind starts out with."""
    confidence: float = 0.7
    files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    stated: bool = False
    """The user said it in a turn of their own: a correction, a decision, a standing instruction."""
    resolves: bool = False
    """It is about an error that was resolved."""
    message: int | None = None
    """Which message of the session it was noticed in."""
