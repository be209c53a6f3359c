"""What the tests of the stores share: the engines, sample memories, and strategies for random ones.

A further engine joins the contract by one more `Engine` here and one more case in `test_contract.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from recollect.model import (
    Add,
    Anchor,
    Change,
    Corpus,
    Definition,
    Entry,
    File,
    Kind,
    Memory,
    MemoryId,
    Order,
    Origin,
    Passage,
    Procedure,
    Provenance,
    Receipt,
    Reinforcement,
    Scope,
    Signals,
    Source,
    Status,
    Uid,
    Where,
    WordSearch,
    WordStatistics,
)
from recollect.policy.identity import content_hash, fingerprint
from recollect.policy.query import query_words
from recollect.policy.stem import stem
from recollect.policy.tokens import estimate_tokens
from recollect.store import Options, Store, open_store

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
AGAIN = Signals(importance=0.1, access=1)
"""What storing the same words a second time does."""
POSTINGS = 100_000


@dataclass(frozen=True)
class Engine:
    """One way to keep a space, and how to name it inside a folder."""

    name: str
    url: Callable[[Path], str]
    lasts: bool
    """Whether what was stored is there again after closing and opening."""

    def open(self, folder: Path, options: Options | None = None) -> Store:
        return open_store(self.url(folder), options or Options())


MEMORY = Engine("memory", lambda folder: "memory:", lasts=False)
SQLITE = Engine("sqlite", lambda folder: str(folder / "memory.db"), lasts=True)
JSON = Engine("json", lambda folder: f"json:{folder / 'memory.json'}", lasts=True)
ENGINES = (MEMORY, SQLITE, JSON)


class OpenSpace:
    """Opens spaces of the engine under test, each by its name."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._open: list[Store] = []

    def __call__(self, name: str = "space", options: Options | None = None) -> Store:
        self._open.append(self._engine.open(self._folder / name, options))
        return self._open[-1]

    def again(self, space: Store) -> Store:
        """The space as whoever opens it next finds it."""
        if not self._engine.lasts:
            pytest.skip("ends with the process")
        self._open.remove(space)
        space.close()
        self._open.append(open_store(space.url))
        return self._open[-1]

    def close(self) -> None:
        for space in self._open:
            space.close()


_uids = count(1)


def uid() -> Uid:
    """A uid that no other memory of this run has."""
    return Uid(f"{next(_uids):08x}-0000-4000-8000-000000000000")


def memory(content: str = "The build runs on Python 3.11", **given: Any) -> Memory:
    """A memory no store holds yet, with hashes that fit its content."""
    values: dict[str, Any] = {
        "uid": uid(),
        "content": content,
        "created_at": NOW,
        "updated_at": NOW,
        "fingerprint": fingerprint(content),
        "content_hash": content_hash(content),
        "token_cost": estimate_tokens(content),
    }
    return Memory(**(values | given))


def apply(store: Store, *changes: Change, now: datetime = NOW, actor: str = "test", key: str | None = None) -> Receipt:
    """Carry out changes, as somebody, at some time."""
    return store.apply(changes, actor=actor, now=now, key=key)


def only(receipt: Receipt) -> Memory:
    """The memory that the only change of a request left."""
    [outcome] = receipt.outcomes
    assert outcome.memory is not None
    return outcome.memory


def add(store: Store, content: str, *, now: datetime = NOW, **given: Any) -> Memory:
    """Store a memory and return it as stored."""
    fresh = memory(content, **({"created_at": now, "updated_at": now} | given))
    return only(apply(store, Add(memory=fresh, on_duplicate=AGAIN), now=now))


def held(store: Store, memory_id: MemoryId) -> Memory:
    """The memory with this id, which must be there."""
    found = store.get(memory_id)
    assert found is not None
    return found


def contents(memories: tuple[Memory, ...]) -> list[str]:
    """What memories say, in their order."""
    return [each.content for each in memories]


def stems(question: str) -> tuple[str, ...]:
    """The words to look up for a question, without their endings."""
    return tuple(dict.fromkeys(map(stem, query_words(question))))


@dataclass(frozen=True)
class Answer:
    """All that a store says to the words of a question: what was found, best first, and how often the words occur."""

    search: WordSearch
    entries: tuple[Entry, ...]
    statistics: WordStatistics

    @property
    def memories(self) -> list[Memory]:
        return [entry.of for entry in self.entries if isinstance(entry.of, Memory)]

    @property
    def passages(self) -> list[Passage]:
        return [entry.of for entry in self.entries if isinstance(entry.of, Passage)]


def answer(
    store: Store,
    question: str,
    *,
    corpus: Corpus = Corpus.MEMORY,
    where: Where = (),
    limit: int = 20,
    postings: int = POSTINGS,
) -> Answer:
    """Ask as a search does: find, and then read what was found."""
    search = store.find(stems(question), corpus=corpus, where=where, limit=limit, postings=postings)
    entries = {entry.of.id: entry for entry in store.entries(search.items, corpus=corpus)}
    assert len(entries) == len(search.items) == len(set(search.items)), "everything that is found can be read, once"
    assert store.texts(search.items, corpus=corpus) == {number: entry.fields for number, entry in entries.items()}
    ordered = tuple(entries[MemoryId(number)] for number in search.items)
    return Answer(search, ordered, store.statistics(stems(question), corpus=corpus))


def found(store: Store, question: str, *, where: Where = (), limit: int = 20, postings: int = POSTINGS) -> list[str]:
    """What the memories say that the words of a question find, best first."""
    return [each.content for each in answer(store, question, where=where, limit=limit, postings=postings).memories]


def passage(text: str = "We deploy on Tuesdays", **given: Any) -> Passage:
    """A passage that is not filed yet: the first turn of a session, unless it is said to be another."""
    values: dict[str, Any] = {"corpus": Corpus.SESSIONS, "document": "s1", "position": 0, "text": text}
    return Passage(**(values | given))


def file(store: Store, *passages: Passage, now: datetime = NOW) -> None:
    """Index passages."""
    apply(store, File(passages=passages), now=now)


def filed(store: Store, *, at_most: int = 1_000) -> list[Passage]:
    """Every passage of every corpus, by id."""
    read = [entry.of for corpus in Corpus for entry in store.entries(range(1, at_most), corpus=corpus)]
    passages = [each for each in read if isinstance(each, Passage)]
    assert len(passages) == store.totals()["passage"], "all of them have been read"
    return sorted(passages, key=lambda each: each.id)


def said(passages: Iterable[Passage]) -> list[str]:
    """What passages say, in their order."""
    return [each.text for each in passages]


def unfiled(passages: Iterable[Passage]) -> list[Passage]:
    """Passages as they were before they were filed, to compare with."""
    return [replace(each, id=0) for each in passages]


def everything(store: Store) -> dict[str, object]:
    """All that a store holds and says, to compare with what another one does."""
    memories = store.query(order=Order(field="id", newest_first=False), limit=None)
    clusters = store.clusters()
    return {
        "memories": memories,
        "history": [store.history(each.id) for each in memories],
        "links": set(store.links(hidden=True)),
        "feedback": store.feedback(),
        "tags": store.tags(),
        "clusters": clusters,
        "members": [store.members(each.id) for each in clusters],
        "audit": store.audit(),
        "head": store.audit_head(),
        "passages": filed(store),
        "definitions": store.definitions(),
        "together": store.together([each.id for each in memories]),
    }


def faults(store: Store) -> list[str]:
    """What a check of the store complains about."""
    return [f"{check.name}: {check.detail}" for check in store.check() if not check.ok]


# --- Random values ----------------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
"""Any text that can be stored: no NUL, no lone surrogate."""
names = texts.filter(str.strip)
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
shares = st.floats(0, 1)
counts = st.integers(-1_000_000_000, 1_000_000_000)
payloads = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def tuples_of(each: st.SearchStrategy[Any], *, unique: bool = False) -> st.SearchStrategy[tuple[Any, ...]]:
    """Tuples of up to three."""
    return st.lists(each, max_size=3, unique=unique).map(tuple)


provenances = st.builds(
    Provenance, origin=st.sampled_from(Origin), at=moments, session_id=st.none() | texts, snippet=texts, reason=texts
)
reinforcements = st.builds(
    Reinforcement, at=moments, session_id=st.none() | texts, message=st.none() | st.integers(0, 2**31)
)
anchors = st.builds(Anchor, path=names, symbol=st.none() | texts, content_hash=st.none() | texts)
procedures = st.builds(
    Procedure,
    name=texts,
    trigger=texts,
    steps=tuples_of(texts),
    prerequisites=tuples_of(texts),
    warnings=tuples_of(texts),
)
ranges = st.tuples(st.integers(0, 100), st.integers(0, 100)).map(lambda pair: (min(pair), max(pair)))
maybe_moments = st.none() | moments
maybe_texts = st.none() | texts

memories = st.builds(
    memory,
    content=names,
    id=st.integers(1, 2**53).map(MemoryId),
    version=st.integers(1, 1_000),
    kind=st.sampled_from(Kind),
    scope=st.sampled_from(Scope),
    status=st.sampled_from(Status),
    importance=shares,
    confidence=shares,
    trust=shares,
    strength=counts,
    score=counts,
    access_count=counts,
    created_at=moments,
    updated_at=moments,
    accessed_at=maybe_moments,
    last_hit_at=maybe_moments,
    confirmed_at=maybe_moments,
    valid_from=maybe_moments,
    valid_to=maybe_moments,
    origin=st.sampled_from(Origin),
    source=st.sampled_from(Source),
    provenance=tuples_of(provenances),
    reinforcements=tuples_of(reinforcements),
    session_id=maybe_texts,
    task_id=maybe_texts,
    narrative_id=maybe_texts,
    message_range=st.none() | ranges,
    agent=maybe_texts,
    host=maybe_texts,
    anchors=tuples_of(anchors),
    tags=tuples_of(names, unique=True),
    triggers=tuples_of(texts),
    procedure=st.none() | procedures,
    season=maybe_texts,
    stage=maybe_texts,
    payload=payloads,
    superseded_by=st.none() | names.map(Uid),
)
beside = [corpus for corpus in Corpus if corpus is not Corpus.MEMORY]
passages = st.builds(
    Passage,
    corpus=st.sampled_from(beside),
    document=texts,
    position=st.integers(0, 2**63 - 1),
    text=texts,
    label=texts,
    at=maybe_moments,
    payload=payloads,
)
values = payloads.filter(lambda value: value is not None)
"""What can be defined: anything but nothing."""
definitions = st.builds(Definition, sort=texts, name=texts, value=payloads, made_by=texts, updated_at=maybe_moments)


def full_memory(**given: Any) -> Memory:
    """A memory in which no field has its default value."""
    step = Provenance(
        origin=Origin.INFERRED, at=NOW - DAY, session_id="s0", snippet="about caches", reason="said twice"
    )
    values: dict[str, Any] = {
        "id": MemoryId(77),
        "version": 3,
        "kind": Kind.PROCEDURE,
        "scope": Scope.TASK,
        "status": Status.SUPERSEDED,
        "importance": 0.75,
        "confidence": 0.625,
        "trust": 0.5,
        "strength": 4,
        "score": -2,
        "access_count": 9,
        "created_at": NOW - 9 * DAY,
        "updated_at": NOW - 2 * DAY,
        "accessed_at": NOW - HOUR,
        "last_hit_at": NOW - 2 * HOUR,
        "confirmed_at": NOW - 3 * HOUR,
        "valid_from": NOW - 30 * DAY,
        "valid_to": NOW + 30 * DAY,
        "origin": Origin.USER_CORRECTED,
        "source": Source.CONVERSATION,
        "provenance": (step, Provenance(origin=Origin.USER_CORRECTED, at=NOW, session_id="s1", reason="corrected")),
        "reinforcements": (Reinforcement(at=NOW - HOUR, session_id="s1", message=12),),
        "session_id": "s1",
        "task_id": "t1",
        "narrative_id": "n1",
        "message_range": (3, 8),
        "agent": "reviewer",
        "host": "editor",
        "anchors": (Anchor(path="src/cache.py", symbol="warm", content_hash="b2:aa"), Anchor(path="README.md")),
        "tags": ("cache", "deploy"),
        "triggers": ("warm.*cache",),
        "procedure": Procedure(
            name="warm the cache",
            trigger="after a deploy",
            steps=("stop", "start"),
            prerequisites=("a key",),
            warnings=("slow",),
        ),
        "season": "release",
        "stage": "build",
        "payload": {"ticket": 42, "done": False, "notes": ["a", None, 1.5]},
        "superseded_by": Uid("ffffffff-0000-4000-8000-000000000000"),
    }
    full = memory("Warm the cache after each deploy", **(values | given))
    assert all(getattr(full, each.name) != each.default for each in fields(full)), "a field has its default value"
    return full
