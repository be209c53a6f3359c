"""Consolidation when something is written: what is there already that says the same, or the opposite?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta

from ..config import Settings
from ..judge import Candidate, Relate
from ..judge import Relation as LinkedAs
from ..model import (
    LIVE,
    Add,
    Condition,
    Connect,
    Corpus,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Op,
    Relation,
    Status,
    Where,
)
from ..policy.compare import Claim, Consolidation, Said, Verdict, claim_of, said, verdict
from ..policy.query import index_words, telling_words
from ..policy.stem import stem
from ..store import Store
from .meaning import Meaning
from .parts import Parts

CLOSE = 0.6
"""How close (a cosine) two words must be to count as the same where two memories are compared."""
MOST_RELATIONS = 5
_POSTINGS = 2_000


class Comparer:
    """Compares memories, with the built-in model's idea of which words and texts are alike.

    Always that model, whichever finds memories: the thresholds were found with it.
    """

    def __init__(self, meaning: Meaning, rule: Consolidation) -> None:
        self.rule = rule
        self._meaning = meaning
        self._claims: dict[str, Claim] = {}
        self._kin: dict[tuple[str, str], bool] = {}

    @property
    def measures_with_vectors(self) -> bool:
        """Whether the vectors in the store are those of the model that texts are compared with."""
        wanted = self._meaning.wanted()
        return wanted is not None and wanted is self._meaning.built_in()

    def said(self, older: str, newer: str, cosine: float | None = None) -> Said:
        """What the newer text says beside the older one."""
        close = self.closeness(newer, [older])[0] if cosine is None else cosine
        return said(self._claim(older), self._claim(newer), alike=self._alike, cosine=close, rule=self.rule)

    def closeness(self, text: str, others: list[str]) -> list[float | None]:
        """How close a text is to others in meaning; None where that is not known."""
        embedder = self._meaning.built_in()
        vectors = embedder.embed([text, *others]) if embedder is not None else None
        if vectors is None:
            return [None] * len(others)
        return [float(each) for each in (vectors[1:] * vectors[0]).sum(axis=1)]

    def _claim(self, text: str) -> Claim:
        if text not in self._claims:
            if len(self._claims) >= _CLAIMS_KEPT:
                self._claims.clear()
            self._claims[text] = claim_of(text)
        return self._claims[text]

    def _alike(self, one: str, other: str) -> bool:
        pair = (one, other) if one < other else (other, one)
        if pair not in self._kin:
            kinship = self._meaning.kinship()
            self._kin[pair] = kinship is not None and bool(kinship.close([one], [other], least=CLOSE, most=1).get(one))
        return self._kin[pair]


_CLAIMS_KEPT = 10_000


def rule_of(settings: Settings) -> Consolidation:
    """When memories are the same or replace each other, as the settings say."""
    told = settings.consolidate
    return Consolidation(supersede=told.mode == "auto", settled=timedelta(hours=told.settled_hours))


def consolidated(parts: Parts, store: Store, adds: list[Add]) -> list[Add]:
    """The same additions, each with what it was found to be to memories that are there."""
    told = parts.settings.consolidate
    if told.mode == "off" or len(adds) > told.batch_limit:
        return adds
    comparer = Comparer(parts.meaning, rule_of(parts.settings))
    return [_related(parts, store, comparer, add) for add in adds]


def _related(parts: Parts, store: Store, comparer: Comparer, add: Add) -> Add:
    new = add.memory
    if new.status is Status.QUARANTINED:  # what nobody vouches for takes nobody's place and opens no conflict
        return add
    relations: list[Relation] = []
    near = _neighbours(parts, store, new)
    for other, close in zip(near, comparer.closeness(new.content, [each.content for each in near]), strict=True):
        says = comparer.said(other.content, new.content, close)
        match verdict(says, other, new, now=new.created_at, rule=comparer.rule):
            case Verdict.SAME:
                return replace(add, same_as=_to(other, LinkKind.RELATES_TO))
            case Verdict.SUPERSEDES:
                relations.append(_to(other, LinkKind.SUPERSEDES))
            case Verdict.CONTRADICTS:
                relations.append(_to(other, LinkKind.CONTRADICTS))
    return replace(add, relations=(*add.relations, *relations[:MOST_RELATIONS]))


def _to(memory: Memory, kind: LinkKind) -> Relation:
    return Relation(kind=kind, target=memory.id, content_hash=memory.content_hash)


def _neighbours(parts: Parts, store: Store, new: Memory) -> list[Memory]:
    """The live memories of the same reach that are closest to a new one, by meaning and by words."""
    most = parts.settings.consolidate.neighbours
    where: Where = (
        Condition("status", Op.IN, tuple(sorted(LIVE))),
        Condition("owner", Op.EQ, new.owner),
    )
    items: dict[int, None] = {}
    embedder = parts.meaning.wanted()
    if embedder is not None and embedder.local:
        vector = parts.meaning.vector(embedder, new.content)
        if vector is not None:
            near = store.nearest(vector, model=embedder.model, corpus=Corpus.MEMORY, where=where, limit=most)
            items.update(dict.fromkeys(each.item for each in near))
    words = _telling_stems(index_words(new.content))
    found = store.find(tuple(words), corpus=Corpus.MEMORY, where=where, limit=most, postings=_POSTINGS)
    items.update(dict.fromkeys(found.items))
    return list(_alike_in_words(store, items, where, frozenset(words)))


def _alike_in_words(store: Store, items: Iterable[int], where: Where, words: frozenset[str]) -> Iterator[Memory]:
    """The memories that have enough words in common with a new one for a comparison to be worth it."""
    wanted = [MemoryId(item) for item in items]
    for entry in store.entries(wanted, corpus=Corpus.MEMORY, where=where):
        theirs = frozenset(_telling_stems(entry.fields[0].split()))
        if isinstance(entry.of, Memory) and len(words & theirs) * _IN_COMMON >= min(len(words), len(theirs)):
            yield entry.of


def _telling_stems(words: Sequence[str]) -> dict[str, None]:
    return dict.fromkeys(stem(word) for word in telling_words(tuple(words)))


_IN_COMMON = 4
"""One in so many words of the shorter text must be in the longer one too."""


def read_against_others(parts: Parts, store: Store, new: Memory) -> None:
    """Have whoever judges read a new memory against those close to it. What contradicts it becomes a conflict.

    A judge takes nobody's place: what it calls the same or newer is left to people and rules.
    """
    near = {each.ref: each for each in _neighbours(parts, store, new) if each.uid != new.uid}
    if not near:
        return
    candidates = tuple(Candidate(id=ref, text=each.content, kind=each.kind.value) for ref, each in near.items())
    asked = Relate(new=Candidate(id=new.ref, text=new.content, kind=new.kind.value), candidates=candidates)
    known = {link.target for link in store.links(new.id, kinds=frozenset({LinkKind.CONTRADICTS}))}
    for found in parts.oversight.judge.ask(asked):
        other = near.get(found.other) or near.get(found.one)
        if found.relation is LinkedAs.CONTRADICTS and other is not None and other.id not in known:
            link = Link(memory=new.id, kind=LinkKind.CONTRADICTS, target=other.id, made_by="judge")
            store.apply([Connect(link=link)], actor="agent", now=parts.clock())
