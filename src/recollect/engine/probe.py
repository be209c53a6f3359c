"""Finding candidates: from a question to words and their variants, to items found by words and by meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from ..embed import Embedder
from ..model import Corpus, Near, Where, WordSearch
from ..policy.aliases import DEFAULT_ALIASES, alias_map, expand
from ..policy.query import query_words, telling_words
from ..policy.rank import Profile
from ..policy.stem import stem
from ..policy.words import Asked, Query, pooled, posed
from ..store import Store
from .meaning import Meaning

if TYPE_CHECKING:
    from ..store.contract import Floats

ALIAS = 0.9
PREFIX = 0.6
FUZZY = 0.7
"""What a variant of an asked word is worth: an alias, a longer word that it begins, a near spelling."""
VARIANTS = 12
"""How many longer words or near spellings are looked for."""
SHORTEST_PREFIX = 3
RARE = 2
"""A word that fewer items hold than this may be the beginning of another, or misspelled."""
KIN = 0.3
"""The least likeness in meaning that makes a word stand for another."""
MOST_KIN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What one store gave for a question."""

    store: Store
    asked: tuple[Asked, ...]
    found: WordSearch = field(default_factory=WordSearch)
    near: tuple[Near, ...] = ()
    vector: Floats | None = None
    embedder: Embedder | None = None
    fields: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """The words of every item that may be returned, field by field."""

    @property
    def items(self) -> list[int]:
        """Everything that was found, by words first."""
        return list(dict.fromkeys([*self.found.items, *(each.item for each in self.near)]))

    def cosines(self, corpus: Corpus, items: list[int]) -> dict[int, float]:
        """How close items are in meaning, those found by words alone included."""
        if self.vector is None or self.embedder is None:
            return {}
        known = {each.item: each.cosine for each in self.near}
        rest = [item for item in items if item not in known]
        if rest:
            known |= self.store.similarities(self.vector, rest, model=self.embedder.model, corpus=corpus)
        return known


def asked_words(query: str) -> tuple[str, ...]:
    """The words of a question that say what it is about."""
    return telling_words(query_words(query))


def aliases_of(store: Store) -> Mapping[str, tuple[str, ...]]:
    """What means the same in a space: what people defined, the defaults, and what the project's names say."""
    return _united(_defined(store, OWN_ALIASES), _defined(store, GENERATED_ALIASES))


OWN_ALIASES, GENERATED_ALIASES = "alias", "alias-generated"
"""The sorts of definitions that hold aliases: a person's own, and those made from a project's names."""
_Groups: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]


def _defined(store: Store, sort: str) -> _Groups:
    found = ((each.name, each.value) for each in store.definitions(sort))
    return tuple((name, tuple(map(str, value))) for name, value in found if isinstance(value, list))


@lru_cache(maxsize=16)
def _united(own: _Groups, generated: _Groups) -> Mapping[str, tuple[str, ...]]:
    # A term has room for so many others: a person's own come first, guesses last.
    return alias_map(dict(own), DEFAULT_ALIASES, dict(generated))


def asked_of(store: Store, words: tuple[str, ...], corpus: Corpus, *, varied: bool) -> tuple[Asked, ...]:
    """The asked words with the variants under which this store may know them."""
    asked = {stem(word): Asked(word, stem(word), {stem(word): 1.0}) for word in reversed(words)}
    ordered = [asked[each] for each in dict.fromkeys(map(stem, words))]
    if not varied:
        return tuple(ordered)
    same = expand(words, aliases_of(store))
    holding = store.statistics(list(asked), corpus=corpus).holding
    return tuple(_varied(store, each, same.get(each.word, ()), holding, corpus) for each in ordered)


def _varied(store: Store, asked: Asked, aliases: Iterable[str], holding: Mapping[str, int], corpus: Corpus) -> Asked:
    variants = {stem(word): ALIAS for word in aliases}
    if len(asked.stem) >= SHORTEST_PREFIX and holding.get(asked.stem, 0) < RARE:
        longer, alike = store.spellings(asked.stem, corpus=corpus, limit=VARIANTS)
        variants |= dict.fromkeys(alike, FUZZY)
        # A longer word may be another word; only where few begin so is it likely the same.
        variants |= {word: PREFIX * len(asked.stem) / len(word) for word in longer if len(longer) < VARIANTS}
    return replace(asked, variants={**variants, asked.stem: 1.0})


def probe(
    store: Store,
    words: tuple[str, ...],
    text: str,
    *,
    meaning: Meaning,
    profile: Profile,
    corpus: Corpus,
    where: Where,
    pool: int,
    postings: int,
) -> Probed:
    """Search one store by words and by meaning, as a profile asks for."""
    if not store.statistics((), corpus=corpus).texts:
        return Probed(store=store, asked=())
    asked = asked_of(store, words, corpus, varied=profile.varied)
    found = WordSearch()
    if profile.words:
        stems = tuple(dict.fromkeys(variant for each in asked for variant in each.variants))
        found = store.find(stems, corpus=corpus, where=where, limit=pool, postings=postings)
    if not profile.vectors or not meaning.on:
        return Probed(store=store, asked=asked, found=found)
    embedder = meaning.serving(store, corpus)
    vector = meaning.vector(embedder, text) if embedder is not None else None
    near: tuple[Near, ...] = ()
    if vector is not None and embedder is not None:
        near = store.nearest(vector, model=embedder.model, corpus=corpus, where=where, limit=pool)
    return Probed(store=store, asked=asked, found=found, near=near, vector=vector, embedder=embedder)


IN_LINE = 0.05
"""How many seconds a search may spend on vectors that are still missing."""


def weighed_query(
    probes: list[Probed], texts: Iterable[str], meaning: Meaning, *, softened: bool, corpus: Corpus
) -> Query:
    """The asked words against all spaces together, with words of like meaning that the texts found (stems) hold."""
    asked = _merged(probes)
    if softened:
        kinship = meaning.kinship()
        if kinship is not None:
            there = set(" ".join(texts).split())
            close = kinship.close([each.stem for each in asked], there, least=KIN, most=MOST_KIN)
            asked = [replace(each, variants={**close.get(each.stem, {}), **each.variants}) for each in asked]
    stems = {variant for each in asked for variant in each.variants} | {each.stem for each in asked}
    statistics = pooled(each.store.statistics(stems, corpus=corpus) for each in probes)
    return posed(asked, statistics)


def _merged(probes: list[Probed]) -> list[Asked]:
    """The asked words with the variants of every space."""
    merged: dict[str, Asked] = {}
    for each in probes:
        for asked in each.asked:
            known = merged.get(asked.stem)
            variants = {**known.variants, **asked.variants} if known else asked.variants
            merged[asked.stem] = replace(asked, variants=variants)
    return list(merged.values())


def meaning_notes(probes: list[Probed], meaning: Meaning, profile: Profile) -> tuple[str, ...]:
    """What a search by meaning had to do without, in words."""
    if not (profile.vectors and meaning.on and meaning.trouble):
        return ()
    served = next((each.embedder.model for each in probes if each.vector is not None and each.embedder), None)
    how = "by words alone" if served is None else f"with the vectors of {served}"
    return (f"searched {how}: {meaning.trouble}",)


def limits_of(probes: list[Probed]) -> tuple[str, ...]:
    """What kept the search from being complete, in words."""
    spelled = {asked.stem: asked.word for each in probes for asked in each.asked}
    skipped = sorted({spelled.get(stem, stem) for each in probes for stem in each.found.skipped})
    told = []
    if skipped:
        told.append(f"too frequent to look for: {', '.join(skipped)}")
    if any(each.found.newest_only for each in probes):
        told.append("the words are in so many memories that only the newest were searched")
    return tuple(told)
