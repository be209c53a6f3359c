"""The judge that is always there: no model, no network, the rules of `policy` and what the search already knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import combinations
from typing import Any, Final, TypeAlias, cast

from ..model import Finding
from ..policy.compare import Consolidation, Said, claim_of, said
from ..policy.extract import findings
from ..policy.identity import spelled_tag
from ..policy.query import query_words
from ..policy.stem import stem
from ..policy.summary import summarised
from .asking import (
    A,
    Candidate,
    Extract,
    InferTags,
    Linked,
    Question,
    Relate,
    Relation,
    Rerank,
    Summarise,
    Verified,
    Verify,
)

Compare: TypeAlias = Callable[[str, str], Said]
"""What a newer text, given second, says beside an older one."""

_MEANS: Mapping[Said, Relation] = {
    Said.SAME: Relation.SAME,
    Said.CHANGED: Relation.SUPERSEDES,
    Said.OTHER: Relation.CONTRADICTS,
    Said.OPPOSED: Relation.CONTRADICTS,
}
_MOST_COMPARED = 20


def said_plainly(older: str, newer: str) -> Said:
    """What a newer text says beside an older one, by its words alone."""
    return said(_claim(older), _claim(newer), alike=_never, cosine=None, rule=Consolidation())


_claim = lru_cache(maxsize=256)(claim_of)


def _never(_one: str, _other: str) -> bool:
    return False


class RulesJudge:
    """Judges by rules. `compare` may know more of what words mean than the words themselves do."""

    name: Final = "rules"

    def __init__(self, compare: Compare = said_plainly) -> None:
        self._compare = compare
        self._rules: Mapping[type[Question[Any]], Callable[[Any], object]] = {
            Verify: self._verify,
            Extract: _extract,
            Relate: self._relate,
            Summarise: _summarise,
            Rerank: _rerank,
            InferTags: _infer_tags,
        }

    def ask(self, question: Question[A]) -> A:
        """The answer of the rules."""
        return cast(A, self._rules[type(question)](question))

    def _verify(self, question: Verify) -> Verified:
        kept = [each for each in question.candidates if each.relevance >= question.least]
        pairs = combinations(kept[:_MOST_COMPARED], 2)
        links = [
            Linked(one=one.id, other=other.id, relation=Relation.CONTRADICTS)
            for one, other in pairs
            if self._compare(one.text, other.text) in (Said.OTHER, Said.OPPOSED)
        ]
        return Verified(ids=_once(kept), links=tuple(links))

    def _relate(self, question: Relate) -> tuple[Linked, ...]:
        found = ((each, self._compare(each.text, question.new.text)) for each in question.candidates)
        return tuple(
            Linked(one=question.new.id, other=each.id, relation=_MEANS[says]) for each, says in found if says in _MEANS
        )


def _once(candidates: Iterable[Candidate]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.id for each in candidates))


def _extract(question: Extract) -> tuple[Finding, ...]:
    return findings(question.turns, root=question.root)


def _summarise(question: Summarise) -> str:
    return summarised(question.turns, most=question.most, root=question.root)


def _rerank(question: Rerank) -> tuple[str, ...]:
    return _once(question.candidates)


def _infer_tags(question: InferTags) -> tuple[str, ...]:
    """The tags in use whose every word is in the text."""
    there = {stem(word) for word in query_words(question.text)}
    spelled = dict.fromkeys(filter(None, map(spelled_tag, question.known)))
    suiting = (tag for tag in spelled if (words := _stems(tag)) and words <= there)
    return tuple(suiting)[: question.most]


def _stems(tag: str) -> set[str]:
    return {stem(word) for word in query_words(tag)}
