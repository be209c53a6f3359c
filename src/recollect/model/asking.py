"""Asking: what a search is narrowed by, what it finds, and the reasons for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias, overload

from .memory import Memory, MemoryId, Passage


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
