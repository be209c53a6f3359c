"""The contract that every store fulfils, and how one may be told to behave."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from ..model import (
    AuditEntry,
    Change,
    Check,
    Cluster,
    Feedback,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Order,
    Receipt,
    Tag,
    Uid,
    Version,
    Where,
    WordSearch,
)
from .audit import Bound, Head


class Store(Protocol):
    """One space of memories."""

    @property
    def url(self) -> str:
        """What `open_store` was given to open it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know about how it was opened, such as a backup that had to stand in."""

    def apply(self, changes: Iterable[Change], *, actor: str, now: datetime, key: str | None = None) -> Receipt:
        """Carry out all the changes with their audit in one transaction, or none of them.

        When it returns, they survive a crash. With an idempotency `key`, repeating the same request changes nothing
        and returns the first receipt; another request under the same key raises `KeyReused`.
        """

    def snapshot(self) -> AbstractContextManager[None]:
        """Within it, all reads of this thread see the store as it was at one moment."""

    def get(self, memory_id: MemoryId) -> Memory | None:
        """The memory with this id, whatever its status."""

    def by_uid(self, uid: Uid) -> Memory | None:
        """The memory with this uid, whatever its status."""

    def query(
        self, where: Where = (), *, order: Order = Order(), limit: int | None = 100, offset: int = 0
    ) -> tuple[Memory, ...]:
        """The memories for which every condition holds, in order; equals by id. None is without limit."""

    def twin(self, memory: Memory) -> Memory | None:
        """The memory that holds the place this one would take: the same words in the same scope, live or withheld."""

    def count(self, where: Where = ()) -> int:
        """How many memories there are for which every condition holds."""

    def totals(self) -> dict[str, int]:
        """How many records of each sort there are: memory, version, link, feedback, audit."""

    def tally(self, field: str, where: Where = ()) -> dict[str, int]:
        """How many memories there are for each value of a field."""

    def search(self, words: tuple[str, ...], *, where: Where = (), limit: int, postings: int) -> WordSearch:
        """The memories that hold any of the words, whatever their endings, best BM25 first, forgotten ones never.

        At most about `postings` index entries are read: the rarest words first, and where even those are too many,
        the newest memories only.
        """

    def links(
        self,
        memory_id: MemoryId | None = None,
        *,
        kinds: frozenset[LinkKind] = frozenset(LinkKind),
        hidden: bool = False,
    ) -> tuple[Link, ...]:
        """The links of these kinds that touch a memory, or all. Those with a forgotten end only if `hidden`."""

    def tags(self) -> tuple[Tag, ...]:
        """Every tag that a live memory carries, most used first."""

    def clusters(self) -> tuple[Cluster, ...]:
        """Every cluster, largest first."""

    def members(self, cluster_id: int) -> tuple[Memory, ...]:
        """The memories of a cluster."""

    def history(self, memory_id: MemoryId) -> tuple[Version, ...]:
        """What the store held about a memory before, oldest first."""

    def feedback(self, uid: Uid | None = None) -> tuple[Feedback, ...]:
        """Verdicts on one memory, or on all, oldest first."""

    def audit(self, *, after: int = 0, limit: int | None = None, newest_first: bool = False) -> tuple[AuditEntry, ...]:
        """Audit entries beyond a sequence number."""

    def audit_head(self) -> Head:
        """Where the audit stands."""

    def verify_audit(self) -> tuple[str, ...]:
        """Every fault in the audit and between it and the memories; empty when all is sound."""

    def check(self) -> tuple[Check, ...]:
        """Look at everything: canonical rows by their hashes, derived data against them."""

    def rebuild(self) -> None:
        """Make every derived thing anew from the canonical rows."""

    def backup(self, path: Path) -> None:
        """Write a consistent, verified copy; the file appears whole or not at all."""

    def restore(self, path: Path) -> None:
        """Take over everything from a backup, in one step that other processes see at once."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None:
        """Let go of the store. Everything acknowledged is already safe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a store behaves; nothing here changes what it holds."""

    lock_timeout: float = 10.0
    busy_timeout: float = 5.0
    audit: Bound = Bound()
    backups: Path | None = None
    """Where backups lie that may stand in for a damaged store."""
