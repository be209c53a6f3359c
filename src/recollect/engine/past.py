"""As it was: what memory would have answered at a moment in the past, from what the store held then."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from ..model import Entry, Hit, Memory, Where, WordStatistics
from ..policy.moments import periods
from ..policy.query import holds
from ..policy.rank import Asking, Candidate, Profile, rank
from ..policy.relevance import Text, evidence
from ..policy.spread import Reached
from ..policy.stem import stem
from ..policy.words import MEMORY_FIELDS, Asked, held, memory_fields, posed
from ..store import Store
from .meaning import Meaning

EMBEDDED = 500
"""How many of the best by words are judged by their meaning too."""


def ranked_at(
    stores: list[Store],
    words: tuple[str, ...],
    text: str,
    *,
    moment: datetime,
    where: Where,
    profile: Profile,
    meaning: Meaning,
    files: frozenset[str],
    settings: dict[str, float],
) -> list[Hit]:
    """What the stores held then, ranked. There is no index of the past, so every memory is looked at.

    Nor are the links known that there were, so nothing is walked.
    """
    then = [memory for store in stores for memory in store.held_at(moment) if holds(memory, where)]
    entries = [Entry(of=memory, fields=memory_fields(memory)) for memory in then]
    asked = [Asked(word, stem(word), {stem(word): 1.0}) for word in words]
    query = posed(asked, _statistics(entries))
    texts = [Text(held=held(entry.fields, MEMORY_FIELDS, query.stems)) for entry in entries]
    found = sorted(
        zip(then, texts, evidence(texts, query), strict=True), key=lambda each: (-each[2].words, -each[0].id)
    )
    cosines = _cosines([memory for memory, _, _ in found[:EMBEDDED]], text, meaning) if profile.vectors else {}
    judged = [
        Text(held=known.held, cosine=cosines.get(memory.uid, 0.0) if cosines else None) for memory, known, _ in found
    ]
    candidates = [
        Candidate(
            memory=memory,
            held=known.held,
            evidence=speaks,
            cosine=known.cosine,
            reached=None if profile.words else Reached(max(0.0, known.cosine or 0.0), 0, "found itself"),
        )
        for (memory, _, _), known, speaks in zip(found, judged, evidence(judged, query), strict=True)
    ]
    asking = Asking(now=moment, query=query, files=files, periods=periods(text, moment), settings=settings)
    return rank(candidates, profile, asking)


def _statistics(entries: list[Entry]) -> WordStatistics:
    holding: Counter[str] = Counter()
    words = 0
    for entry in entries:
        stems = [word for each in entry.fields for word in each.split()]
        words += len(stems)
        holding.update(set(stems))
    return WordStatistics(texts=len(entries), words=words, holding=holding)


def _cosines(memories: list[Memory], text: str, meaning: Meaning) -> dict[str, float]:
    """How close memories are to a question. A local model only: thousands of texts do not go over a network."""
    embedder = meaning.wanted() if meaning.on else None
    if embedder is None or not embedder.local or not memories:
        return {}
    vector = meaning.vector(embedder, text)
    if vector is None:
        return {}
    rows = meaning.embed(embedder, [memory.content for memory in memories])
    if rows is None:
        return {}
    return {memory.uid: float(cosine) for memory, cosine in zip(memories, rows @ vector, strict=True)}
