"""Find similar: the memories closest in meaning to one that is there, or by their words where there are no vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..embed import Embedder
from ..errors import StoreError
from ..model import LIVE, Condition, Corpus, Entry, Hit, Memory, Op, Recall, Where, Why
from ..policy.query import index_words, parse_limit, telling_words
from ..policy.stem import stem
from ..policy.words import rarity
from ..store import Store
from .definitions import active_seasons
from .parts import Parts, Ref, SpaceName

if TYPE_CHECKING:
    from ..store.contract import Floats

TELLING = 12
"""How many of a memory's words, the most telling, stand for it where there are no vectors."""
SHOWN = 5
"""How many shared words a reason names."""
CATCH_UP = 2.0
"""How many seconds may be spent on vectors that are missing."""

_SPACES: tuple[SpaceName, ...] = ("project", "global")


def similar(parts: Parts, ref: Ref, *, limit: int | None) -> Recall:
    """The live memories of both spaces that are closest to a given one, which is not among them, closest first."""
    home, memory = parts.find(ref)
    query = f"similar to [id:{memory.ref}]"
    wanted = parse_limit(parts.settings.recall.limit if limit is None else limit, most=1_000)
    off = parts.switch.off_where()
    if off:
        return Recall(query=query, notes=(f"memory is switched off {off}",))
    hits: list[Hit] = []
    notes: list[str] = []
    for name in _SPACES:
        try:
            look = _Look(parts, parts.store(name), memory, at_home=parts.store(name) is home)
            found, told = look.hits(wanted)
        except StoreError as error:
            if name == "project":
                raise
            found, told = [], [f"the global memory could not be searched: {error}"]
        hits += found
        notes += told
    hits.sort(key=lambda hit: (-hit.score, -hit.memory.created_at.timestamp(), hit.memory.uid))
    return Recall(query=query, hits=tuple(hits[:wanted]), notes=tuple(dict.fromkeys(notes)))


@dataclass(frozen=True, slots=True)
class _Look:
    """One space, looked through for what is like a memory."""

    parts: Parts
    store: Store
    memory: Memory
    at_home: bool

    def hits(self, wanted: int) -> tuple[list[Hit], list[str]]:
        """The closest of the space, and what kept the comparison from being complete."""
        meaning = self.parts.meaning
        if meaning.on:
            meaning.catch_up(self.store, Corpus.MEMORY, seconds=CATCH_UP)
        embedder = meaning.serving(self.store, Corpus.MEMORY) if meaning.on else None
        vector = None if embedder is None else self._vector(embedder)
        if embedder is None or vector is None:
            why = f": {meaning.trouble}" if meaning.trouble else ""
            return self._by_words(wanted), [f"compared by words alone{why}"]
        near = self.store.nearest(
            vector, model=embedder.model, corpus=Corpus.MEMORY, where=self._allowed(), limit=wanted + 1
        )
        cosines = {each.item: each.cosine for each in near if each.cosine > 0}
        telling = self._telling()
        hits = [
            _hit(memory, cosines[memory.id], "meaning", _told(cosines[memory.id], _shared(entry, telling)))
            for entry, memory in self._entries(list(cosines))
        ]
        return hits, list(self._missing(embedder))

    def _vector(self, embedder: Embedder) -> Floats | None:
        """The vector of the memory itself; made now where it has none here."""
        if self.at_home:
            _, rows = self.store.vectors(embedder.model, corpus=Corpus.MEMORY, items=[self.memory.id])
            if len(rows) and rows[0].any():
                return rows[0]  # type: ignore[no-any-return]
        return self.parts.meaning.vector(embedder, self.memory.content)

    def _missing(self, embedder: Embedder) -> Iterator[str]:
        total = self.store.statistics((), corpus=Corpus.MEMORY).texts
        lacking = total - self.store.embedded(corpus=Corpus.MEMORY).get(embedder.model, 0)
        if lacking > 0:
            yield f"{lacking:,} memories have no vector yet and were not compared; `recollect models embed` makes them"

    def _allowed(self) -> Where:
        """Live, of no session or task, and in season. The memory itself is left out afterwards."""
        on = active_seasons(self.store, self.parts.clock())
        return (
            Condition("status", Op.IN, tuple(sorted(LIVE))),
            Condition("owner", Op.EQ, ""),
            Condition("season", Op.IN, (None, *sorted(on))),
        )

    def _entries(self, items: Sequence[int]) -> Iterator[tuple[Entry, Memory]]:
        for entry in self.store.entries(items, corpus=Corpus.MEMORY):
            if isinstance(entry.of, Memory) and entry.of.uid != self.memory.uid:
                yield entry, entry.of

    def _telling(self) -> dict[str, tuple[str, float]]:
        """The most telling words of the memory by their stems, with what sharing one is worth."""
        words = telling_words(tuple(dict.fromkeys(index_words(self.memory.content))))
        spelled = {stem(word): word for word in reversed(words)}
        statistics = self.store.statistics(spelled, corpus=Corpus.MEMORY)
        worth = {each: rarity(each, statistics) for each in spelled}
        best = sorted(spelled, key=lambda each: (-worth[each], each))[:TELLING]
        return {each: (spelled[each], worth[each]) for each in best}

    def _by_words(self, wanted: int) -> list[Hit]:
        telling = self._telling()
        found = self.store.find(
            tuple(telling),
            corpus=Corpus.MEMORY,
            where=self._allowed(),
            limit=wanted + 1,
            postings=self.parts.settings.recall.postings,
        )
        mass = sum(worth for _, worth in telling.values()) or 1.0
        hits = []
        for entry, memory in self._entries(found.items):
            shared = _shared(entry, telling)
            share = sum(worth for _, worth in shared) / mass
            hits.append(_hit(memory, share, "words", ", ".join(word for word, _ in shared)))
        return hits


def _shared(entry: Entry, telling: dict[str, tuple[str, float]]) -> list[tuple[str, float]]:
    """The telling words that a memory's content holds, the most telling first."""
    held = set(entry.fields[0].split())
    return [told for each, told in telling.items() if each in held]


def _told(cosine: float, shared: Iterable[tuple[str, float]]) -> str:
    words = [word for word, _ in shared][:SHOWN]
    return f"cosine {cosine:.2f}" + (f"; both say {', '.join(words)}" if words else "")


def _hit(memory: Memory, closeness: float, factor: str, detail: str) -> Hit:
    why = (Why(factor=factor, value=closeness, detail=detail),)
    return Hit(memory=memory, score=closeness, why=why, relevance=max(0.0, min(1.0, closeness)))
