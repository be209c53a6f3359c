"""What speaks for a text being the answer: its words, its meaning, and what stands around it.

Every sort of evidence is a number from 0 to 1 that means the same in every store: words as the share of the question's
word mass that a text meets, meaning as a cosine. So weights hold across stores, a sum of them can be called a
relevance, and a search can say that nothing is relevant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from .words import Held, Query, bm25


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """What a search knows of one text. `document` is "" for a text that stands alone."""

    held: Held
    cosine: float | None = None
    document: str = ""
    position: int = 0
    speaker: str = ""
    asks: bool = False
    """Whether it is a question: what follows it is more likely an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How much of each sort of evidence there is, or how much each sort counts."""

    words: float = 0.0
    near: float = 0.0
    """The words of the text and those one position away."""
    around: float = 0.0
    """The words of the text and those up to two positions away."""
    document: float = 0.0
    """The best texts of the same document."""
    meaning: float = 0.0
    speaker: float = 0.0
    """Who was asked about is who speaks."""
    answer: float = 0.0
    """The words of a question that stands just before the text."""
    question: float = 0.0
    """The text is itself a question."""

    def weighed(self, weights: Evidence) -> Evidence:
        """Each sort times its weight."""
        return Evidence(**{each: getattr(self, each) * getattr(weights, each) for each in SORTS})

    def sum(self, weights: Evidence) -> float:
        """What all sorts come to, each times its weight."""
        return (
            self.words * weights.words
            + self.near * weights.near
            + self.around * weights.around
            + self.document * weights.document
            + self.meaning * weights.meaning
            + self.speaker * weights.speaker
            + self.answer * weights.answer
            + self.question * weights.question
        )


SORTS = tuple(each.name for each in fields(Evidence))

MEMORIES = Evidence(words=0.55, meaning=0.45)
"""A memory stands alone."""
TURNS = Evidence(
    words=0.2, near=0.13, around=0.3, document=0.18, meaning=0.18, speaker=0.06, answer=0.16, question=-0.03
)
"""A turn is understood from its neighbours: the answer to a question seldom repeats the question's words."""
CHUNKS = Evidence(words=0.45, near=0.15, document=0.1, meaning=0.3)
"""Chunks of a file and knowledge items lean on each other less."""


def evidence(texts: Sequence[Text], query: Query, *, speakers: frozenset[str] = frozenset()) -> list[Evidence]:
    """The evidence for each text. Neighbours are looked for among the texts given; `speakers` are those asked about."""
    mass = query.mass or 1.0
    places = {(text.document, text.position): text for text in texts if text.document}
    words = [min(1.0, bm25(text.held, query) / mass) for text in texts]
    best = _best_of_documents(texts, words)
    asked = {
        (text.document, text.position): worth
        for text, worth in zip(texts, words, strict=True)
        if text.asks and text.document
    }
    found = []
    for text, worth in zip(texts, words, strict=True):
        alone = not text.document
        near, around = (0.0, 0.0) if alone else _joined(text, places, query)
        found.append(
            Evidence(
                words=worth,
                near=worth if alone else near / mass,
                around=worth if alone else around / mass,
                document=worth if alone else best[text.document],
                # A text whose vector is still to come is judged by its words.
                meaning=worth if text.cosine is None else max(0.0, text.cosine),
                speaker=float(len(speakers) == 1 and text.speaker in speakers),
                answer=asked.get((text.document, text.position - 1), 0.0),
                question=float(text.asks),
            )
        )
    return found


def _joined(text: Text, places: Mapping[tuple[str, int], Text], query: Query) -> tuple[float, float]:
    """BM25 of a text joined with its neighbours, up to one position away and up to two.

    What is missing at the edges counts as silence.
    """
    document, at = text.document, text.position
    whole, worth = text.held, []
    for reach in (1, 2):
        beside = (places.get((document, at - reach)), places.get((document, at + reach)))
        whole = Held.joined([whole, *[each.held for each in beside if each is not None]])
        worth.append(bm25(whole, query, spans=2 * reach + 1))
    return worth[0], worth[1]


_BEST = 3


def _best_of_documents(texts: Sequence[Text], words: Sequence[float]) -> dict[str, float]:
    """For each document the mean of its three best texts."""
    scores: dict[str, list[float]] = {}
    for text, worth in zip(texts, words, strict=True):
        scores.setdefault(text.document, []).append(worth)
    return {name: math.fsum(sorted(each)[-_BEST:]) / _BEST for name, each in scores.items()}
