"""What is defined for a space: words that mean the same, and seasons, whose memories wait for their time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from ..errors import InvalidInput, NotFound
from ..model import LIVE, Condition, Corpus, Define, Definition, Memory, Op, Order
from ..policy.admit import clean_text
from ..policy.aliases import DEFAULT_ALIASES, MOST_ALIASES, generated_aliases
from ..policy.query import query_words
from ..policy.seasons import Season, active, parse_rule, season_from, season_name, told
from ..policy.stem import stem
from ..store import Store
from .parts import Parts
from .probe import GENERATED_ALIASES, OWN_ALIASES

TERM_LENGTH = 64
NAMED = 20_000
"""From how many memories, the newest, names are collected."""
FREQUENT = 20
"""A word that so many memories hold, or more, is a word of its own and short for nothing."""
_VOCABULARY = 1_000
_PAGE = 500
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:[./]\w+)+|[A-Za-z_]+_\w+|\b[A-Za-z]*[a-z][A-Z]\w*")
"""What stands out in a text as a name from code: dotted, a path, snake_case or camelCase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A term, the terms that mean the same, and who says so."""

    word: str
    same: tuple[str, ...]
    source: Literal["own", "generated", "built-in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seasonal:
    """A season as it stands. Without a rule and a switch it is never active: nobody has said when it is."""

    name: str
    active: bool
    rule: str | None = None
    switched: bool | None = None
    """Switched on or off by hand; None leaves it to the rule."""
    until: datetime | None = None
    """When the switch ends."""
    memories: int = 0
    """How many live memories carry the label."""


# --- Aliases --------------------------------------------------------------------------------------------------------


def define_alias(parts: Parts, store: Store, word: str, same: Iterable[str], *, add: bool) -> Alias:
    """Let a term mean the same as others, in place of what a person defined it as or, with `add`, beside that."""
    name = _term(word)
    known = [each for each in _aliases(store.definitions(OWN_ALIASES), "own") if each.word == name and add]
    given = [*(term for each in known for term in each.same), *map(_term, same)]
    others = tuple(term for term in dict.fromkeys(given) if term != name)
    if not others:
        raise InvalidInput("alias", f"{name!r} needs another word that means the same")
    if len(others) > MOST_ALIASES:
        raise InvalidInput("alias", f"{len(others)} words for {name!r} where at most {MOST_ALIASES} are allowed")
    _define(parts, store, Define(sort=OWN_ALIASES, name=name, value=list(others)))
    return Alias(word=name, same=others, source="own")


def remove_alias(parts: Parts, store: Store, word: str) -> Alias:
    """Take an alias away: a person's own, or else a generated one, which comes back when they are generated anew."""
    name = _term(word)
    found = next((each for each in aliases(store) if each.word == name), None)
    if found is None:
        raise NotFound("alias", name)
    _define(parts, store, Define(sort=OWN_ALIASES if found.source == "own" else GENERATED_ALIASES, name=name))
    return found


def aliases(store: Store, *, built_in: bool = False) -> tuple[Alias, ...]:
    """The aliases of a space, a person's own first; those that every space has only if asked for."""
    found = [
        *_aliases(store.definitions(OWN_ALIASES), "own"),
        *_aliases(store.definitions(GENERATED_ALIASES), "generated"),
    ]
    if built_in:
        found += [Alias(word=word, same=same, source="built-in") for word, same in DEFAULT_ALIASES.items()]
    return tuple(found)


def generate_aliases(parts: Parts, store: Store) -> tuple[Alias, ...]:
    """Define what the names in a space say about its abbreviations, in place of what they said before.

    Names are paths, symbols, tags, and what looks like code in the words of memories. A person's own aliases stay.
    """
    vocabulary = store.vocabulary(corpus=Corpus.MEMORY, limit=_VOCABULARY)
    pairs = generated_aliases(name for memory in _newest(store) for name in _names(memory))
    wanted = {}
    for word, shorter in pairs.items():
        kept = [short for short in shorter if vocabulary.get(stem(short), 0) < FREQUENT]
        if kept:
            wanted[word] = kept
    there = {each.name: each.value for each in store.definitions(GENERATED_ALIASES)}
    changes = [
        *(Define(sort=GENERATED_ALIASES, name=name) for name in there if name not in wanted),
        *(
            Define(sort=GENERATED_ALIASES, name=name, value=same)
            for name, same in wanted.items()
            if there.get(name) != same
        ),
    ]
    if changes:
        store.apply(changes, actor=parts.actor, now=parts.clock())
    return tuple(_aliases(store.definitions(GENERATED_ALIASES), "generated"))


def _aliases(definitions: Iterable[Definition], source: Literal["own", "generated"]) -> Iterator[Alias]:
    for each in definitions:
        if isinstance(each.value, list):
            yield Alias(word=each.name, same=tuple(map(str, each.value)), source=source)


def _term(text: object) -> str:
    term = " ".join(clean_text("alias", text, TERM_LENGTH).lower().split())
    if not query_words(term):
        raise InvalidInput("alias", f"{term!r} holds no word to look for")
    return term


def _newest(store: Store) -> Iterator[Memory]:
    """The newest live memories that belong to no session or task, page by page."""
    lasting = (Condition("status", Op.IN, tuple(sorted(LIVE))), Condition("owner", Op.EQ, ""))
    below: tuple[Condition, ...] = ()
    for _ in range(0, NAMED, _PAGE):
        page = store.query((*lasting, *below), order=Order(field="id"), limit=_PAGE)
        yield from page
        if len(page) < _PAGE:
            return
        below = (Condition("id", Op.LT, page[-1].id),)


def _names(memory: Memory) -> Iterator[str]:
    for anchor in memory.anchors:
        yield anchor.path
        if anchor.symbol is not None:
            yield anchor.symbol
    yield from memory.tags
    yield from _IDENTIFIER.findall(memory.content)


# --- Seasons --------------------------------------------------------------------------------------------------------


def define_season(
    parts: Parts, store: Store, name: str, *, on: bool | None, rule: str | None, until: datetime | None
) -> Seasonal:
    """Switch a season on or off, or leave it to its rule; a rule that is given replaces the one it had."""
    label, now = season_name(name), parts.clock()
    there = _defined(store).get(label)
    if there is None and on is None and rule is None:
        raise NotFound("season", label)
    _check_end(on, until, now)
    season = replace(
        there or Season(label),
        rule=parse_rule(rule) if rule is not None else there.rule if there else None,
        switched=on,
        until=until,
    )
    _define(parts, store, Define(sort="season", name=label, value=told(season)))
    return _standing(season, store, now)


def _check_end(on: bool | None, until: object, now: datetime) -> None:
    if until is None:
        return
    if on is None:
        raise InvalidInput("until", "only a switch by hand ends; a rule says itself when it holds")
    if not isinstance(until, datetime) or until.tzinfo is None:
        raise InvalidInput("until", "is not a time with a time zone")
    if until <= now:
        raise InvalidInput("until", f"{until:%Y-%m-%d %H:%M} is past")


def seasons(parts: Parts, store: Store) -> tuple[Seasonal, ...]:
    """Every season that is defined or that a live memory waits for, by name."""
    now, defined, waiting = parts.clock(), _defined(store), _waiting(store)
    names = sorted(defined.keys() | waiting.keys())
    return tuple(_standing(defined.get(name) or Season(name), store, now, waiting.get(name, 0)) for name in names)


def remove_season(parts: Parts, store: Store, name: str) -> None:
    """Define a season no longer. Memories keep its label and wait for somebody to define it again."""
    _define(parts, store, Define(sort="season", name=season_name(name)))


def active_seasons(store: Store, now: datetime) -> frozenset[str]:
    """The labels whose memories rank now."""
    return frozenset(name for name, season in _defined(store).items() if active(season, now))


def _defined(store: Store) -> Mapping[str, Season]:
    return {
        each.name: season_from(each.name, each.value)
        for each in store.definitions("season")
        if isinstance(each.value, dict)
    }


def _waiting(store: Store) -> Mapping[str, int]:
    labelled = (Condition("status", Op.IN, tuple(sorted(LIVE))), Condition("season", Op.NE, None))
    return store.tally("season", labelled)


def _standing(season: Season, store: Store, now: datetime, memories: int | None = None) -> Seasonal:
    over = season.until is not None and season.until <= now
    return Seasonal(
        name=season.name,
        active=active(season, now),
        rule=None if season.rule is None else str(season.rule),
        switched=None if over else season.switched,
        until=None if over else season.until,
        memories=_waiting(store).get(season.name, 0) if memories is None else memories,
    )


def _define(parts: Parts, store: Store, change: Define) -> None:
    store.apply([change], actor=parts.actor, now=parts.clock())
