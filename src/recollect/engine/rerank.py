"""A place for a reranker: whoever opens a memory may put results in another order, and in no other way change them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Protocol

from ..judge import Candidate, Rerank
from ..model import Hit, Uid, Why
from .oversight import Oversight


class Reranker(Protocol):
    """Puts what was ranked in an order of its own, before results are selected from it."""

    def rerank(self, query: str, hits: tuple[Hit, ...]) -> Iterable[Hit]:
        """The hits, best first. Those left out come after the others, in the order they had."""


class AsRanked:
    """The reranker that comes with Recollect: it changes nothing."""

    def rerank(self, query: str, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """The hits as they are."""
        return hits


class ByJudge:
    """Lets whoever judges put the first of them in order; rules, which know no better, leave them as they are."""

    def __init__(self, oversight: Oversight) -> None:
        self._oversight = oversight

    def rerank(self, query: str, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """The hits, the first of them as the judge would have them."""
        if not self._oversight.reads:
            return hits
        first = {hit.memory.ref: hit for hit in hits[:READ]}
        candidates = tuple(
            Candidate(id=ref, text=hit.memory.content, kind=hit.memory.kind.value, relevance=hit.relevance)
            for ref, hit in first.items()
        )
        order = self._oversight.judge.ask(Rerank(query=query, candidates=candidates))
        return (*(first[ref] for ref in order), *hits[READ:])


READ = 20
"""How many results a judge is asked to put in order."""


def reranked(reranker: Reranker, query: str, hits: list[Hit]) -> tuple[list[Hit], tuple[str, ...]]:
    """The hits as a reranker orders them, and notes.

    It is foreign code: when it fails, or gives anything but some of what it was given, the hits stay as they were and
    a note says so. Only places are taken from it; a hit stays what it is and tells where it was moved from.
    """
    if not hits:
        return hits, ()
    places = {hit.memory.uid: at for at, hit in enumerate(hits)}
    try:
        wanted = [hit.memory.uid for hit in islice(reranker.rerank(query, tuple(hits)), len(hits) + 1)]
    except Exception as error:
        return hits, (f"the reranker failed and was left out: {type(error).__name__}: {str(error)[:_TOLD]}",)
    if len(set(wanted)) < len(wanted) or not set(wanted) <= places.keys():
        return hits, ("the reranker gave results that it was not given, or gave one twice, and was left out",)
    order: list[Uid] = list(dict.fromkeys([*wanted, *places]))
    return [_moved(hits[places[uid]], places[uid], at) for at, uid in enumerate(order)], ()


_TOLD = 200


def _moved(hit: Hit, before: int, after: int) -> Hit:
    if before == after:
        return hit
    moved = Why(factor="reranker", value=1.0, detail=f"moved from place {before + 1} to {after + 1}")
    return replace(hit, why=(*hit.why, moved))
