"""The vocabulary: frozen values, and closed unions of them.

Nothing here does anything. A `Memory` is what is known, a `Change` describes one mutation, a `Hit` is a result with
its reasons. Identity and storage are the store's concern; times are UTC and always given, never read from a clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType, TypeAlias, overload

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


# --- Changes: the only way a store is written ----------------------------------------------------------------------


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
class Add:
    """Store a new memory; where a live one already says exactly this, give that one `on_duplicate` instead."""

    memory: Memory
    on_duplicate: Signals


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
    """Replace all clusters by these: a label, and the ids of its members."""

    clusters: tuple[tuple[str, tuple[MemoryId, ...]], ...]


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


Change: TypeAlias = (
    Add | Revise | Weigh | Mark | Retag | Connect | Disconnect | Rate | Put | Regroup | Clear | File | Unfile | Define
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one change. `action` is the audit's word for it; `memory` is the memory afterwards."""

    action: str
    memory: Memory | None = None
    link: Link | None = None


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


# --- Asking --------------------------------------------------------------------------------------------------------


class Op(StrEnum):
    """The operators of a filter. `IN` is list membership."""

    EQ = "$eq"
    NE = "$ne"
    GT = "$gt"
    GTE = "$gte"
    LT = "$lt"
    LTE = "$lte"
    IN = "$in"


Scalar: TypeAlias = str | int | float | datetime | None


@dataclass(frozen=True, slots=True)
class Condition:
    """One test that a memory must pass. For tags and files, `IN` asks whether any of them is among the values."""

    field: str
    op: Op
    value: Scalar | tuple[Scalar, ...]


Where: TypeAlias = tuple[Condition, ...]
"""Conditions that must all hold; an empty one lets everything through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The order of a listing."""

    field: str = "created_at"
    newest_first: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WordStatistics:
    """What BM25 needs to know of a corpus: texts, words in all, and in how many texts each word (a stem) occurs."""

    texts: int = 0
    words: int = 0
    holding: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSearch:
    """What a search by words found, the best of it first, and which words were too frequent to look for."""

    items: tuple[int, ...] = ()
    skipped: tuple[str, ...] = ()
    newest_only: bool = False
    """Even the rarest word was too frequent, so older texts were not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """A text that a search by meaning found, and how close it is: a cosine."""

    item: int
    cosine: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """A text that has no vector of a model yet."""

    item: int
    text: str
    content_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory, or a passage, with the words (stems) it is indexed under, field by field, the main text first."""

    of: Memory | Passage
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """How often two memories were recalled together, as a strength that grows with each time."""

    memory: MemoryId
    other: MemoryId
    strength: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """One reason for a result's place: a factor of the ranking, its value, and what it was computed from."""

    factor: str
    value: float
    detail: str = ""
    adds: bool = False
    """Evidence that is added up, as against a factor that multiplies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A result and the reasons that put it where it is.

    `score` is what the evidence adds up to, times the factors. `relevance` is how sure the search is that this
    answers the question, from 0 to 1.
    """

    memory: Memory
    score: float
    why: tuple[Why, ...]
    relevance: float = 1.0

    def __str__(self) -> str:
        return f"[id:{self.memory.ref}] {self.memory.content}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(Sequence[Hit]):
    """The hits for a question, best first, and notes on anything that limited the search."""

    query: str
    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()
    pinned: tuple[Memory, ...] = ()
    """Pinned memories, where the ranking profile gives them beside the results."""
    conflicts: tuple[tuple[str, str], ...] = ()
    """Pairs of references that contradict each other, one of them among the results."""
    scored: int = 0
    """How many candidates were weighed."""
    read: int = 0
    """How many memories were read from the store."""

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A passage that was found, with the reasons for its place and what stands around it."""

    passage: Passage
    score: float
    why: tuple[Why, ...]
    relevance: float = 1.0
    before: tuple[Passage, ...] = ()
    after: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpts(Sequence[Excerpt]):
    """The passages found for a question, best first, and notes on anything that limited the search."""

    query: str
    excerpts: tuple[Excerpt, ...] = ()
    notes: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Excerpt: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Excerpt, ...]: ...
    def __getitem__(self, index: int | slice) -> Excerpt | tuple[Excerpt, ...]:
        return self.excerpts[index]

    def __len__(self) -> int:
        return len(self.excerpts)

    def __iter__(self) -> Iterator[Excerpt]:
        return iter(self.excerpts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """Why a memory is not among the results for a question: the step at which it left, and by how much."""

    memory: Memory
    step: str
    detail: str
    place: int | None = None
    """Its place among everything that was ranked, if it came that far."""
    why: tuple[Why, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at, in plain words."""

    name: str
    ok: bool
    detail: str
    fixable: bool = False
    """Whether rebuilding derived data puts it right."""
