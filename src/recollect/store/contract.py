"""The contract that every store fulfils, and how one may be told to behave."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ..model import (
    AuditEntry,
    Change,
    Check,
    Cluster,
    Corpus,
    Definition,
    Entry,
    Feedback,
    Given,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Near,
    Order,
    Plan,
    Receipt,
    Step,
    StepState,
    Tag,
    Together,
    Uid,
    Unembedded,
    Version,
    Where,
    WordSearch,
    WordStatistics,
)
from .audit import Bound, Head

if TYPE_CHECKING:
    import numpy

    Floats: TypeAlias = numpy.ndarray[Any, numpy.dtype[numpy.float32]]
    """One vector, or several as rows."""


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
        """How many records of each sort there are: memory, version, link, feedback, audit, passage, definition and
        plan."""

    def tally(self, field: str, where: Where = ()) -> dict[str, int]:
        """How many memories there are for each value of a field."""

    # --- Search. An item is the id of a memory, or of a passage.

    def find(
        self, stems: tuple[str, ...], *, corpus: Corpus, where: Where = (), limit: int, postings: int
    ) -> WordSearch:
        """The items that hold any of these words (stems), best BM25 first, forgotten memories never.

        At most about `postings` index entries are read: the rarest words first, and where even those are too many,
        the newest items only; of a document that a filter names, all. Passages can be filtered by `document`, `label`,
        `at` and `position`.
        """

    def statistics(self, stems: Collection[str], *, corpus: Corpus) -> WordStatistics:
        """How large a corpus is, and how many of its items hold each of these stems, unless none does."""

    def spellings(self, stem: str, *, corpus: Corpus, limit: int) -> tuple[dict[str, int], dict[str, int]]:
        """The most frequent longer stems that begin with this one; and, where no item holds it or one of those, stems
        that are spelled almost like it, closest first. Both with the number of items that hold them.
        """

    def entries(
        self, items: Sequence[int], *, corpus: Corpus, where: Where = (), around: int = 0, payloads: bool = True
    ) -> tuple[Entry, ...]:
        """The items for which every condition holds, with their words; and of passages those up to `around` positions
        away in the same document, whether the conditions hold for them or not.

        Without `payloads`, passages come without theirs, for whoever reads many to choose a few.
        """

    def texts(self, items: Sequence[int], *, corpus: Corpus, where: Where = ()) -> dict[int, tuple[str, ...]]:
        """The words of the items for which every condition holds: what `entries` gives, without what they are of."""

    def vocabulary(self, *, corpus: Corpus, limit: int) -> dict[str, int]:
        """The most frequent stems and how many items hold each."""

    def positions(self, corpus: Corpus, document: str) -> frozenset[int]:
        """The positions of a document that are filed."""

    def keep_vectors(self, model: str, texts: Sequence[tuple[int, str]], vectors: Floats, *, corpus: Corpus) -> int:
        """Keep vectors, one row for each text, given as its item and content hash. Returns how many were kept.

        A text that has changed or gone since it was read keeps none.
        """

    def nearest(self, vector: Floats, *, model: str, corpus: Corpus, where: Where = (), limit: int) -> tuple[Near, ...]:
        """The items closest in meaning, closest first, that have a vector of this model; forgotten memories never."""

    def similarities(self, vector: Floats, items: Sequence[int], *, model: str, corpus: Corpus) -> dict[int, float]:
        """How close some items are; those without a vector of this model are left out."""

    def vectors(self, model: str, *, corpus: Corpus, items: Sequence[int] | None = None) -> tuple[list[int], Floats]:
        """The vectors of some items, or of all, with the item of each row; those without one are left out."""

    def unembedded(self, model: str, *, corpus: Corpus, limit: int) -> tuple[Unembedded, ...]:
        """Texts without a vector of this model, oldest first; forgotten memories need none."""

    def embedded(self, *, corpus: Corpus) -> dict[str, int]:
        """How many vectors there are of each model."""

    def forget_vectors(self, model: str) -> None:
        """Let go of all vectors of a model."""

    def held_at(self, moment: datetime) -> Iterator[Memory]:
        """Every memory as the store held it at a moment."""

    def note_uses(self, uses: Mapping[MemoryId, int], together: Sequence[Together], *, now: datetime) -> None:
        """Count that memories were recalled, and strengthen what was recalled together.

        Habits, not knowledge: nothing here makes a version or an entry in the audit.
        """

    def together(self, memories: Sequence[MemoryId]) -> tuple[Together, ...]:
        """What was recalled together with these memories, strongest first; nothing that is forgotten."""

    def note_given(self, records: Sequence[Given]) -> None:
        """Note what was given to agents. Habits like the others; the oldest of many give way."""

    def given(self, *, session: str | None = None, limit: int = 20) -> tuple[Given, ...]:
        """What was given lately, or to one session, the latest first."""

    def definitions(self, sort: str | None = None, *, name: str | None = None) -> tuple[Definition, ...]:
        """What is defined, of a sort or under a name if one is given, in the order of names.

        Of what is known by both there is one at most, and nothing else is read to find it.
        """

    def plans(self, *, limit: int = 20) -> tuple[Plan, ...]:
        """The plans there are, newest first."""

    def steps(self, plan: int, *, states: frozenset[StepState] = frozenset(StepState)) -> tuple[Step, ...]:
        """The steps of a plan that stand so, in order."""

    def step_keys(self, states: frozenset[StepState], *, sort: str | None = None) -> frozenset[str]:
        """The keys of all steps, of a sort if one is named, that stand so."""

    def sightings(self, sort: str) -> dict[MemoryId, datetime]:
        """Which memories are noted to be in a condition, and since when."""

    def seen(self, fingerprints: Collection[str]) -> dict[str, tuple[int, int]]:
        """In how many sessions and by how many agents findings were noticed; those never noticed are left out."""

    def pinned(self) -> tuple[Memory, ...]:
        """The pinned memories, the latest first."""

    def acting(self) -> tuple[Memory, ...]:
        """The live memories that have triggers or are procedures."""

    def acting_mark(self) -> int:
        """A number that is another one whenever `acting` has changed; cheaper than looking. Good in this process."""

    def links(
        self,
        memory_id: MemoryId | None = None,
        *,
        kinds: frozenset[LinkKind] = frozenset(LinkKind),
        hidden: bool = False,
    ) -> tuple[Link, ...]:
        """The links of these kinds that touch a memory, or all. Those with a forgotten end only if `hidden`."""

    def links_of(self, memories: Sequence[MemoryId], *, kinds: frozenset[LinkKind], limit: int) -> tuple[Link, ...]:
        """The links of these kinds between memories that touch any of these, heaviest first, no end forgotten."""

    def group(self, kind: LinkKind, name: MemoryId | str, *, limit: int) -> tuple[MemoryId, ...]:
        """The live memories that carry a tag or belong to a cluster, newest first."""

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
