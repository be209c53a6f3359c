"""Context: what an agent is given for one prompt, part by part, and why.

A `Recollection` holds whole texts in the order in which they are read. How it is written for a host is
`policy.written`'s concern; how much of each part fits is `policy.budget`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import overload

from .asking import Why
from .memory import Kind, Uid


class Tier(StrEnum):
    """The parts of a recollection, in the order in which they are read."""

    PINNED = "pinned"
    """Always given: what somebody pinned."""
    ACTING = "acting"
    """Warnings and procedures whose trigger the prompt touches."""
    FOUND = "found"
    """What the prompt made recall find."""
    BRIDGE = "bridge"
    """What other agents of the same session found."""
    SUMMARY = "summary"
    """What earlier sessions came to."""


class Standing(StrEnum):
    """How the code a memory is tied to stands, as against when the memory was made."""

    UNTIED = "untied"
    """It is tied to no code, or nothing can be said of it."""
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    MOVED = "moved"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """The most tokens each part of a recollection may take, and all of them together."""

    total: int
    pinned: int
    """Pinned memories, and what comes up by itself."""
    bridge: int
    found: int
    summary: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollected:
    """One text that is given to an agent, whole, with the reasons for it."""

    tier: Tier
    text: str
    """What it says, as it was stored."""
    ref: str = ""
    """The memory, by the name models use for it: `42`, `g42`; "" for what is no memory."""
    kind: Kind = Kind.FACT
    tokens: int = 0
    """About how many tokens it takes when written out."""
    at: datetime | None = None
    relevance: float = 1.0
    why: tuple[Why, ...] = ()
    standing: Standing = Standing.UNTIED
    notes: tuple[str, ...] = ()
    """What a reader must know of it: what has changed in the code, what is said against it."""
    trusted: bool = True
    """False for what nobody vouches for: shown as a quotation, and only when asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withheld:
    """A memory that was about to be given and was not, and the reason."""

    ref: str
    tier: Tier
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection(Sequence[Recollected]):
    """What is given to an agent for one prompt. Empty is an answer too: nothing would help."""

    id: str = ""
    """By which it is spoken of later, when it is told how it was received."""
    query: str = ""
    """What was looked for: the present intent, not the whole context."""
    items: tuple[Recollected, ...] = ()
    conflicts: tuple[tuple[str, str], ...] = ()
    """Pairs of references that contradict each other, one of them among the items."""
    withheld: tuple[Withheld, ...] = ()
    allocation: Allocation | None = None
    tokens: int = 0
    """About how many tokens the items take."""
    compression: float = 1.0
    """The tokens that were given, as a share of those that might have been."""
    notes: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Recollected: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Recollected, ...]: ...
    def __getitem__(self, index: int | slice) -> Recollected | tuple[Recollected, ...]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Recollected]:
        return iter(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenItem:
    """One item of what was given: which memory, as which part, at what cost."""

    uid: Uid | None = None
    """None for what is no memory."""
    ref: str = ""
    tier: Tier = Tier.FOUND
    tokens: int = 0
    relevance: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """That a recollection was given, or that none was: so that its use can be measured, and nothing is said twice."""

    id: str
    at: datetime
    session: str = ""
    agent: str = ""
    host: str = ""
    topic: int = 0
    """How often the session had changed its topic by then."""
    query: str = ""
    items: tuple[GivenItem, ...] = ()
    withheld: int = 0
    tokens: int = 0
