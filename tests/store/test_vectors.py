"""Vectors in the SQLite store: the closest are found, of the right model, and nothing is found that is not there.

Run as a program (`python test_vectors.py PATH EXACT`), it searches and writes for tests of many processes: one command
a line as JSON, one answer a line.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.errors import InvalidInput
from recollect.model import Corpus, Passage
from recollect.store.sqlite.connect import Connections
from recollect.store.sqlite.schema import migrate
from recollect.store.sqlite.side_file import discard_side_files
from recollect.store.sqlite.vectors import (
    EVERYTHING,
    EXACT,
    Filter,
    Vectors,
    begin_epoch,
    drop_item_vectors,
    rebuild_vectors,
    vector_faults,
)

Floats: TypeAlias = NDArray[np.float32]

MODEL = "model-a"
OTHER = "model-b"
DIMENSION = 24
FEW = 40
"""So few that the sketches, and the file beside the store, come into play in a small test."""
INSERT = (
    "INSERT OR REPLACE INTO memories (id, uid, version, content, kind, scope, owner, status, importance, confidence,"
    " trust, strength, score, access_count, created_at, updated_at, origin, source, session_id, fingerprint,"
    " content_hash, token_cost, state_hash, recorded_at)"
    " VALUES (?1, 'u' || ?1, 1, ?2, 'fact', 'project', '', ?3, 0.5, 1, 1, ?4, 0, 0, ?1, ?1, 'observed', 'agent',"
    " ?4, ?2 || ?1, ?2, 1, 's', 0)"
)


def vector_of(text: str, dimension: int = DIMENSION) -> Floats:
    """The vector of a text: any, but always the same."""
    return np.random.default_rng(list(text.encode())).standard_normal(dimension, dtype=np.float32)


@dataclass
class Space:
    """A store of memories and passages, with nothing of it but what vectors need."""

    path: Path | None = None
    exact: int = EXACT
    connections: Connections = field(init=False)
    vectors: Vectors = field(init=False)

    def __post_init__(self) -> None:
        self.connections = Connections(self.path, busy_timeout=5, lock_timeout=10)
        with self.connections.exclusive() as connection:
            if self.path is not None:
                connection.pragma("journal_mode", "wal")
            list(migrate(connection, datetime(2026, 3, 1, tzinfo=UTC)))
        self.vectors = self.another()

    def another(self) -> Vectors:
        """What another process that begins now would have: the same store, and nothing in memory."""
        return Vectors(self.connections, self.path, exact=self.exact)

    @property
    def folder(self) -> Path:
        assert self.path is not None
        return self.path.with_name(f"{self.path.name}-vectors")

    def files(self) -> list[Path]:
        return sorted(self.folder.iterdir()) if self.folder.exists() else []

    def put(self, item: int, text: str, *, status: str = "confirmed", group: int = 0) -> None:
        """Store a memory, or change it as `apply` does."""
        self.put_all([(item, text, status, group)])

    def put_all(self, rows: list[tuple[int, str, str, int]]) -> None:
        with self.connections.writing() as connection:
            for item, text, status, _ in rows:
                there = connection.execute("SELECT content_hash FROM memories WHERE id = ?", (item,)).get
                if there is not None and (there != text or status == "forgotten"):
                    drop_item_vectors(connection, Corpus.MEMORY, [item])
            connection.executemany(INSERT, rows)
            self._count(connection)

    def file(self, *passages: Passage) -> list[int]:
        """Store passages whose content hash is their text."""
        with self.connections.writing() as connection:
            connection.executemany(
                "INSERT INTO passages (corpus, document, position, label, text, at, content_hash)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?5)",
                [
                    (
                        *(each.corpus.value, each.document, each.position, each.label, each.text),
                        None if each.at is None else int(each.at.timestamp()) * 1_000_000,
                    )
                    for each in passages
                ],
            )
            self._count(connection)
            return [number for (number,) in connection.execute("SELECT id FROM passages ORDER BY id")]

    def _count(self, connection: Any) -> None:
        connection.execute(
            "INSERT OR REPLACE INTO meta (key, value) SELECT 'index_size', count(*) || ' 0' FROM memories"
            " WHERE status <> 'forgotten' UNION ALL SELECT 'index_size:' || corpus, count(*) || ' 0' FROM passages"
            " GROUP BY corpus"
        )

    def keep(
        self,
        texts: dict[int, str],
        *,
        model: str = MODEL,
        corpus: Corpus = Corpus.MEMORY,
        vector: Callable[[str], Floats] = vector_of,
    ) -> int:
        rows = np.array([vector(text) for text in texts.values()], dtype=np.float32)
        with self.connections.writing() as connection:
            return self.vectors.keep(connection, model, list(texts.items()), rows, corpus=corpus)

    def fill(self, count: int, *, first: int = 1, groups: int = 7) -> None:
        """Memories with vectors."""
        items = range(first, first + count)
        self.put_all([(item, f"text {item}", "confirmed", item % groups) for item in items])
        self.keep({item: f"text {item}" for item in items})

    def drop(self, *items: int, erased: bool = False) -> None:
        with self.connections.writing() as connection:
            drop_item_vectors(connection, Corpus.MEMORY, items, erased=erased)

    def near(
        self,
        vector: Floats,
        *,
        by: Vectors | None = None,
        model: str = MODEL,
        corpus: Corpus = Corpus.MEMORY,
        condition: Filter = EVERYTHING,
        limit: int = 10,
    ) -> dict[int, float]:
        """What is closest, in its order."""
        with self.connections.reading() as connection:
            found = (by or self.vectors).nearest(
                connection, vector, model=model, corpus=corpus, condition=condition, limit=limit
            )
        assert len({each.item for each in found}) == len(found)
        assert [each.cosine for each in found] == sorted((each.cosine for each in found), reverse=True)
        return {each.item: each.cosine for each in found}

    def truth(self, vector: Floats, *, model: str = MODEL, condition: Filter = EVERYTHING) -> dict[int, float]:
        """How close every memory is that could be found, closest first, from the rows alone."""
        with self.connections.reading() as connection:
            items, rows = self.vectors.vectors(connection, model, corpus=Corpus.MEMORY)
            passing = {
                number
                for (number,) in connection.execute(
                    f"SELECT m.id FROM memories m WHERE m.status <> 'forgotten' AND {condition[0]}", condition[1]
                )
            }
        cosines = {
            item: float(row.astype(np.float64) @ vector / np.linalg.norm(row.astype(np.float64)))
            for item, row in zip(items, rows, strict=True)
            if row.any() and item in passing
        }
        length = float(np.linalg.norm(vector))
        return {item: cosine / length for item, cosine in sorted(cosines.items(), key=lambda each: -each[1])}

    def assert_right(
        self, vector: Floats, *, by: Vectors | None = None, condition: Filter = EVERYTHING, limit: int = 10
    ) -> None:
        """What is found is what a look at every row finds, but for the order of equals."""
        found = self.near(vector, by=by, condition=condition, limit=limit)
        truth = self.truth(vector, condition=condition)
        assert list(found.values()) == pytest.approx(list(truth.values())[:limit], abs=1e-5)
        assert found == pytest.approx({item: truth[item] for item in found}, abs=1e-5)

    def lacking(self, model: str = MODEL, *, corpus: Corpus = Corpus.MEMORY, limit: int = 1_000) -> list[int]:
        with self.connections.reading() as connection:
            return [each.item for each in self.vectors.unembedded(connection, model, corpus=corpus, limit=limit)]

    def embedded(self, corpus: Corpus = Corpus.MEMORY) -> dict[str, int]:
        with self.connections.reading() as connection:
            return self.vectors.embedded(connection, corpus=corpus)

    def forget(self, model: str, *, at_once: int = 20_000) -> int:
        """Let go of a model's vectors; in how many transactions."""
        for number in range(1, 1_000):
            with self.connections.writing() as connection:
                if not self.vectors.forget(connection, model, at_once=at_once):
                    return number
        raise AssertionError("there is no end to it")

    def faults(self) -> list[str]:
        with self.connections.reading() as connection:
            return list(vector_faults(connection))


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Space]:
    """A store in a file, with few enough vectors to be exact about."""
    made = Space(tmp_path / "memory.db", exact=FEW)
    yield made
    made.connections.close()


QUESTION = vector_of("a question")


# --- Finding what is closest ------------------------------------------------------------------------------------------

conditions: st.SearchStrategy[Filter] = st.one_of(
    st.just(EVERYTHING),
    st.integers(0, 5).map(lambda group: ("m.strength = ?", (group,))),
    st.integers(0, 5).map(lambda group: ("m.strength <> ?", (group,))),
    st.integers(0, 30).map(lambda item: ("m.created_at > ?", (item,))),
    st.integers(0, 5).map(lambda group: ("m.session_id = ?", (str(group),))),
)
rows_of_memories = st.lists(
    st.tuples(st.sampled_from(["confirmed", "confirmed", "confirmed", "archived", "forgotten"]), st.integers(0, 4)),
    max_size=30,
)


@pytest.mark.parametrize("exact", [EXACT, 4], ids=["exact", "sketched"])
@given(
    memories=rows_of_memories,
    condition=conditions,
    limit=st.integers(1, 40),
    dimension=st.integers(1, 140),
    seed=st.integers(0, 2**32),
)
def test_the_closest_that_pass_are_found(
    exact: int,
    memories: list[tuple[str, int]],
    condition: Filter,
    limit: int,
    dimension: int,
    seed: int,
) -> None:
    """Whatever is stored and asked for, it is what a look at every row finds: zeros, doubles and opposites among it."""
    space = Space(None, exact=exact)
    source = np.random.default_rng(seed)
    space.put_all([(item, f"text {item}", status, group) for item, (status, group) in enumerate(memories, start=1)])
    drawn = (
        source.standard_normal((len(memories), dimension))
        * source.choice([0.0, 1e-6, 1.0, 1e6], len(memories))[:, None]
    )
    drawn[source.random(len(memories)) < 0.2] = 1.0
    texts = {item: f"text {item}" for item in range(1, len(memories) + 1)}
    alive = sum(status != "forgotten" for status, _ in memories)
    if texts:
        assert space.keep(texts, vector=lambda text: drawn[int(text[5:]) - 1].astype(np.float32)) == alive
    asked = source.standard_normal(dimension).astype(np.float32)
    space.assert_right(asked, condition=condition, limit=limit)
    space.assert_right(asked, by=space.another(), condition=condition, limit=limit)


def clustered(count: int, seed: int, dimension: int = 128, clusters: int = 400) -> Floats:
    """Vectors of length 1 in clusters."""
    source = np.random.default_rng(seed)
    centres = np.random.default_rng(5).standard_normal((clusters, dimension), dtype=np.float32)
    drawn = centres[source.integers(0, clusters, count)]
    drawn += source.standard_normal((count, dimension), dtype=np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn


def test_nearly_all_of_the_closest_are_found_among_many(tmp_path: Path) -> None:
    """Of forty thousand, through any filter, at least 95 of a hundred of the true ten; by a new process as well."""
    space = Space(tmp_path / "memory.db")
    count, wanted = 40_000, 10
    stored, asked = clustered(count, 1), clustered(20, 2)
    items = np.arange(1, count + 1)
    space.put_all([(int(item), str(item), "confirmed", int(item) % 1_000) for item in items])
    space.keep({int(item): str(item) for item in items}, vector=lambda text: stored[int(text) - 1])
    filters: list[tuple[Filter, NDArray[np.bool_]]] = [
        (EVERYTHING, items > 0),
        (("m.strength % 10 = 3", ()), items % 10 == 3),
        (("m.strength % 100 = 3", ()), items % 100 == 3),
        (("m.strength = 3", ()), items % 1_000 == 3),
        (("m.session_id = ?", ("3",)), items % 1_000 == 3),
        (("m.strength = -1", ()), items < 0),
    ]
    cosines = np.vecdot(asked[:, None, :], stored)
    for by in (space.vectors, space.another()):
        for condition, passing in filters:
            right = 0
            most = min(wanted, int(passing.sum()))
            for question, close in zip(asked, cosines, strict=True):
                best = set(items[np.argsort(-np.where(passing, close, -2))[:most]].tolist())
                found = space.near(question, by=by, condition=condition, limit=wanted)
                assert len(found) == most
                right += len(best & found.keys())
            assert right >= 0.95 * most * len(asked), condition
    assert len(space.files()) == 1
    space.connections.close()


def test_a_zero_vector_is_kept_and_never_found(space: Space) -> None:
    """A text whose words no model knows has its vector, so that nobody tries again."""
    space.put(1, "one")
    space.put(2, "two")
    assert space.keep({1: "one", 2: "two"}, vector=lambda text: vector_of(text) * (text == "two")) == 2
    assert list(space.near(QUESTION)) == [2]
    assert space.near(np.zeros(DIMENSION, dtype=np.float32)) == {}
    assert space.lacking() == []
    with space.connections.reading() as connection:
        items, rows = space.vectors.vectors(connection, MODEL, corpus=Corpus.MEMORY)
        close = space.vectors.similarities(connection, QUESTION, [1, 2, 3], model=MODEL, corpus=Corpus.MEMORY)
    assert (items, rows.any(axis=1).tolist()) == ([1, 2], [False, True])
    assert close == {1: 0.0, 2: pytest.approx(space.near(QUESTION)[2])}


def test_vectors_come_back_almost_as_they_were(space: Space) -> None:
    """Eight bits a dimension: within half a step of the largest."""
    space.fill(5)
    with space.connections.reading() as connection:
        items, rows = space.vectors.vectors(connection, MODEL, corpus=Corpus.MEMORY, items=[4, 2, 99])
        nothing = space.vectors.vectors(connection, "unknown", corpus=Corpus.MEMORY)
    assert items == [2, 4]
    for item, row in zip(items, rows, strict=True):
        true = vector_of(f"text {item}")
        assert row == pytest.approx(true, abs=float(np.abs(true).max()) / 250)
    assert nothing[0] == []
    assert len(nothing[1]) == 0


@pytest.mark.parametrize(
    "bad",
    [
        np.full((1, DIMENSION), np.nan),
        np.full((1, DIMENSION), np.inf),
        np.ones((2, DIMENSION)),
        np.ones((1, 0)),
        np.ones(DIMENSION),
    ],
    ids=["nan", "infinite", "too many", "no dimension", "one row"],
)
def test_what_is_no_vector_is_refused(space: Space, bad: Floats) -> None:
    """A row for each text, of finite numbers; otherwise nothing is kept."""
    space.put(1, "one")
    with pytest.raises(InvalidInput), space.connections.writing() as connection:
        space.vectors.keep(connection, MODEL, [(1, "one")], bad.astype(np.float32), corpus=Corpus.MEMORY)
    assert space.embedded() == {}


# --- Models -----------------------------------------------------------------------------------------------------------


@pytest.mark.row("X10", "model-id")
def test_vectors_of_different_models_are_never_compared(space: Space) -> None:
    """Each vector names its model: a search finds those of the model it asks for, however close the others are."""
    space.put_all([(item, str(item), "confirmed", 0) for item in range(1, 101)])
    space.keep({item: str(item) for item in range(1, 61)})
    space.keep({item: str(item) for item in range(41, 101)}, model=OTHER, vector=lambda text: QUESTION)
    space.keep({1: "1"}, model="of three dimensions", vector=lambda text: QUESTION[:3])
    assert max(space.near(QUESTION, limit=100)) == 60
    assert max(space.near(QUESTION, limit=100).values()) < 0.9
    assert set(space.near(QUESTION, model=OTHER, limit=100)) == set(range(41, 101))
    assert space.near(QUESTION, model="unheard of") == {}
    assert space.near(QUESTION[:3], model="of three dimensions") == {1: pytest.approx(1.0, abs=1e-4)}
    assert space.embedded() == {MODEL: 60, OTHER: 60, "of three dimensions": 1}
    with space.connections.reading() as connection:
        close = space.vectors.similarities(connection, QUESTION, [1, 41, 100], model=OTHER, corpus=Corpus.MEMORY)
    assert close.keys() == {41, 100}


@pytest.mark.row("X10", "model-id")
def test_a_model_has_one_number_of_dimensions(space: Space) -> None:
    """A vector of another length cannot be of the same model, and cannot be a question to it."""
    space.fill(3)
    with pytest.raises(InvalidInput, match=f"{DIMENSION - 1} dimensions"):
        space.keep({1: "text 1"}, vector=lambda text: vector_of(text)[1:])
    with pytest.raises(InvalidInput, match=f"{DIMENSION - 1} dimensions"):
        space.near(QUESTION[1:])
    space.assert_right(QUESTION)


@pytest.mark.row("X10", "available")
def test_the_old_model_answers_while_the_new_one_is_taken_up(space: Space) -> None:
    """Batch by batch the new model gets its vectors; both can be searched all the while, and the old one goes last."""
    space.fill(120)
    before = space.near(QUESTION)
    while batch := space.lacking(OTHER, limit=25):
        assert batch == sorted(batch)
        space.keep({item: f"text {item}" for item in batch}, model=OTHER)
        assert space.near(QUESTION) == before
        assert len(space.near(QUESTION, model=OTHER, limit=200)) == space.embedded()[OTHER]
    assert space.embedded() == {MODEL: 120, OTHER: 120}
    assert space.forget(MODEL, at_once=50) == 3
    assert space.embedded() == {OTHER: 120}
    assert space.near(QUESTION) == {}
    assert space.near(QUESTION, model=OTHER) == before
    assert space.lacking() == list(range(1, 121))
    assert space.faults() == []


def test_a_model_whose_deletion_was_cut_short_stays_gone(space: Space) -> None:
    """From the first step on it is unknown; the next deletion, or a rebuild, takes what is left."""
    space.fill(30)
    with space.connections.writing() as connection:
        assert space.vectors.forget(connection, MODEL, at_once=10)
    assert space.near(QUESTION) == {}
    assert space.embedded() == {}
    space.keep({1: "text 1"})
    assert list(space.near(QUESTION)) == [1]
    space.forget("another")
    assert space.embedded() == {MODEL: 1}
    assert space.faults() == []


# --- Texts that change ------------------------------------------------------------------------------------------------


def test_a_text_that_has_changed_or_gone_keeps_no_vector(space: Space) -> None:
    """What was read before the change was made of another text."""
    space.put(1, "old")
    space.put(2, "stays")
    space.put(3, "going")
    space.put(1, "new")
    space.put(3, "going", status="forgotten")
    assert space.keep({1: "old", 2: "stays", 3: "going", 4: "never was"}) == 1
    assert list(space.near(QUESTION)) == [2]
    assert space.lacking() == [1]


@pytest.mark.parametrize("count", [20, 100], ids=["exact", "sketched"])
def test_the_vector_of_an_earlier_text_is_not_found(space: Space, count: int) -> None:
    """Not by who changed it, nor by others who have the old vector in memory, nor from the file beside the store."""
    space.fill(count)
    others = space.another()
    best = next(iter(space.near(QUESTION)))
    assert next(iter(space.near(QUESTION, by=others))) == best
    space.put(best, "changed")
    for by in (space.vectors, others, space.another()):
        assert best not in space.near(QUESTION, by=by, limit=count)
        space.assert_right(QUESTION, by=by)
    assert space.lacking() == [best]
    space.keep({best: "changed"}, vector=lambda text: -QUESTION)
    for by in (space.vectors, others, space.another()):
        assert list(space.near(QUESTION, by=by, limit=count))[-1] == best
    assert space.lacking() == []


@pytest.mark.parametrize("count", [30, 300], ids=["exact", "sketched"])
def test_forgetting_nearly_everything_leaves_the_rest_to_be_found(space: Space, count: int) -> None:
    """However many of the closest are gone, what is left is found."""
    space.fill(count)
    others = space.another()
    order = list(space.near(QUESTION, limit=count))
    space.near(QUESTION, by=others)
    space.put_all([(item, f"text {item}", "forgotten", 0) for item in order[:-3]])
    for by in (space.vectors, others, space.another()):
        assert list(space.near(QUESTION, by=by)) == order[-3:]
    assert space.lacking() == []
    space.put_all([(item, f"text {item}", "confirmed", 0) for item in order[:2]])
    assert space.lacking() == sorted(order[:2])


def test_a_moment_that_is_held_stays_as_it_was(space: Space) -> None:
    """In a snapshot, vectors that came later are not found, and those that were replaced later still are."""
    space.fill(100)
    before = space.near(QUESTION, limit=5)
    [best, *_] = before
    with space.connections.snapshot():
        assert space.near(QUESTION, limit=5) == before

        def meanwhile() -> None:
            space.put(1_000, "later")
            space.keep(
                {1_000: "later", best: f"text {best}"}, vector=lambda text: QUESTION * (1 if text == "later" else -1)
            )
            found = space.near(QUESTION, limit=5)
            assert next(iter(found)) == 1_000
            assert best not in found

        _in_thread(meanwhile)
        assert space.near(QUESTION, limit=5) == before
    assert next(iter(space.near(QUESTION))) == 1_000


def _in_thread(action: Callable[[], None]) -> None:
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            action()
        except BaseException as error:
            failed.append(error)
            raise

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join(timeout=60)
    assert not failed
    assert not thread.is_alive()


# --- What has no vector yet -------------------------------------------------------------------------------------------


def test_texts_without_a_vector_come_oldest_first_and_in_batches(space: Space) -> None:
    """Every batch makes progress, and one that changed meanwhile comes before the rest."""
    space.put_all([(item, f"text {item}", "confirmed", 0) for item in range(1, 301)])
    seen: list[int] = []
    while batch := space.lacking(limit=40):
        assert len(batch) == min(40, 300 - len(seen))
        assert batch == list(range(len(seen) + 1, len(seen) + len(batch) + 1))
        seen += batch
        space.keep({item: f"text {item}" for item in batch})
    space.put_all([(item, f"text {item}", "confirmed", 0) for item in range(301, 401)])
    assert space.lacking(limit=2) == [301, 302]
    space.put(7, "changed")
    assert space.lacking(limit=2) == [7, 301]
    with space.connections.reading() as connection:
        [first] = space.vectors.unembedded(connection, MODEL, corpus=Corpus.MEMORY, limit=1)
    assert (first.item, first.text, first.content_hash) == (7, "changed", "changed")


@pytest.mark.parametrize("missing", [[], [19_999, 20_000], [12]], ids=["nothing", "the newest", "one that changed"])
def test_asking_what_has_no_vector_costs_little(tmp_path: Path, missing: list[int]) -> None:
    """Twenty thousand memories are not looked through when none is missing, or what is missing is likely to be."""
    space = Space(tmp_path / "memory.db")
    texts = {item: f"text {item}" for item in range(1, 20_001) if item not in missing or item == 12}
    space.put_all([(item, text, "confirmed", 0) for item, text in texts.items()])
    space.keep(texts, vector=lambda text: QUESTION)
    space.put_all([(item, f"new {item}", "confirmed", 0) for item in missing])
    steps = 0

    def step() -> bool:
        nonlocal steps
        steps += 100
        return False

    with space.connections.reading() as connection:
        connection.set_progress_handler(step, 100)
        found = space.vectors.unembedded(connection, MODEL, corpus=Corpus.MEMORY, limit=100)
        connection.set_progress_handler(None)
    assert [each.item for each in found] == missing
    assert steps < (60_000 if missing == [19_999, 20_000] else 1_000)
    space.connections.close()


def test_passages_are_read_with_who_said_them_and_when(space: Space) -> None:
    """Each corpus has its own vectors; a passage and a memory with the same id are two things."""
    at = datetime(2026, 1, 3, tzinfo=UTC)
    turns = [
        Passage(corpus=Corpus.SESSIONS, document="s1", position=0, text="hello", label="Ada", at=at),
        Passage(corpus=Corpus.SESSIONS, document="s2", position=0, text="bye"),
    ]
    numbers = space.file(*turns, Passage(corpus=Corpus.SOURCES, document="a.py", position=0, text="import os"))
    space.fill(3)
    with space.connections.reading() as connection:
        found = space.vectors.unembedded(connection, MODEL, corpus=Corpus.SESSIONS, limit=9)
    assert [(each.item, each.text) for each in found] == [(numbers[0], turns[0].reading), (numbers[1], "bye")]
    assert turns[0].reading == "3 January 2026 Ada: hello"
    space.keep({numbers[0]: "hello", numbers[1]: "bye", numbers[2]: "import os"}, corpus=Corpus.SESSIONS)
    assert space.lacking(corpus=Corpus.SESSIONS) == []
    assert space.lacking(corpus=Corpus.SOURCES) == [numbers[2]]
    assert space.near(QUESTION, corpus=Corpus.SESSIONS).keys() == {numbers[0], numbers[1]}
    filtered: Filter = ("m.corpus = ? AND m.document = ?", ("sessions", "s2"))
    assert list(space.near(QUESTION, corpus=Corpus.SESSIONS, condition=filtered)) == [numbers[1]]
    assert space.near(QUESTION).keys() == {1, 2, 3}
    assert space.embedded(Corpus.SESSIONS) == {MODEL: 2}
    assert space.faults() == []


# --- Any course of events ---------------------------------------------------------------------------------------------

texts_of = st.sampled_from(["red", "green", "blue", "opposite"])
happenings = st.one_of(
    st.tuples(st.just("put"), st.integers(1, 12), texts_of),
    st.tuples(st.just("forget"), st.integers(1, 12), st.just("")),
    st.tuples(st.just("keep"), st.integers(1, 12), texts_of),
    st.tuples(st.just("keep all"), st.just(0), st.just("")),
    st.tuples(st.just("keep by another"), st.just(0), st.just("")),
    st.tuples(st.just("erase"), st.integers(1, 12), st.just("")),
    st.tuples(st.just("forget model"), st.just(0), st.just("")),
    st.tuples(st.just("rebuild"), st.just(0), st.just("")),
    st.tuples(st.just("damage"), st.integers(0, 10_000), st.just("")),
    st.tuples(st.just("restart"), st.just(0), st.just("")),
)


class Course:
    """A store, what its memories say, and two who search it, one of whom rarely does."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.texts: dict[int, str] = {}
        self.watching = space.another()

    def happen(self, what: str, number: int, text: str) -> None:
        space = self.space
        if what == "put":
            self.texts[number] = text
            space.put(number, text)
        elif what == "forget" and number in self.texts:
            space.put(number, self.texts.pop(number), status="forgotten")
        elif what == "keep":
            kept = space.keep({number: text})
            assert kept == (self.texts.get(number) == text)
        elif what.startswith("keep") and self.texts:
            with space.connections.writing() as connection:
                by = self.watching if what == "keep by another" else space.vectors
                rows = np.array([vector_of(text) for text in self.texts.values()])
                assert by.keep(connection, MODEL, list(self.texts.items()), rows, corpus=Corpus.MEMORY) == len(rows)
        elif what == "erase":
            space.drop(number, erased=True)
            space.vectors.discard()
        elif what == "forget model":
            space.forget(MODEL)
        elif what == "rebuild":
            with space.connections.writing() as connection:
                rebuild_vectors(connection)
        elif what == "damage":
            for path in space.files():
                damaged(path, number)
        elif what == "restart":
            space.vectors = space.another()


def damaged(path: Path, place: int) -> None:
    """Change one byte of a file, which nobody writes to in place."""
    raw = bytearray(path.read_bytes())
    raw[place % len(raw)] ^= 0x55
    fresh = path.with_suffix(".new")
    fresh.write_bytes(raw)
    fresh.replace(path)


@pytest.mark.parametrize("exact", [EXACT, 3], ids=["exact", "sketched"])
@settings(max_examples=30)
@given(events=st.lists(happenings, max_size=25))
def test_whatever_happens_the_answer_is_that_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory, exact: int, events: list[tuple[str, int, str]]
) -> None:
    """After every event, what is found is what the rows say, counts agree, and what lacks a vector is known."""
    folder = tmp_path_factory.mktemp("course")
    course = Course(Space(folder / "memory.db", exact=exact))
    space = course.space
    for place, (what, number, text) in enumerate(events):
        course.happen(what, number, text)
        space.assert_right(QUESTION, limit=4)
        if place % 4 == 3:
            space.assert_right(QUESTION, by=course.watching, limit=20)
        assert space.faults() == []
        with space.connections.reading() as connection:
            items, _ = space.vectors.vectors(connection, MODEL, corpus=Corpus.MEMORY)
        assert space.embedded().get(MODEL, 0) == len(items)
        assert space.lacking() == sorted(course.texts.keys() - set(items))
    space.connections.close()
    shutil.rmtree(folder)


# --- Many threads and processes ---------------------------------------------------------------------------------------


def test_threads_search_while_others_write(space: Space) -> None:
    """Nobody is disturbed, and everybody sees at last what was written."""
    space.fill(30)
    done = threading.Event()
    failed: list[BaseException] = []

    def search() -> None:
        try:
            while not done.is_set():
                found = space.near(QUESTION, limit=5)
                assert len(found) == 5
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for first in range(31, 431, 20):
        space.fill(20, first=first)
        space.drop(first)
    done.set()
    for thread in threads:
        thread.join(timeout=30)
    assert not failed
    space.assert_right(QUESTION, limit=50)


class Worker:
    """Another process on the same store."""

    def __init__(self, path: Path, exact: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(path), str(exact)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, what: str, *given: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([what, *given]) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def near(self, limit: int = 10) -> dict[int, float]:
        return dict(self.ask("near", limit))


@contextmanager
def workers(path: Path, exact: int, count: int) -> Iterator[list[Worker]]:
    started = [Worker(path, exact) for _ in range(count)]
    try:
        yield started
    finally:
        for worker in started:
            worker.process.kill()
            worker.process.communicate()


@pytest.mark.parametrize("exact", [EXACT, FEW], ids=["exact", "sketched"])
def test_processes_see_what_others_write_replace_and_delete(tmp_path: Path, exact: int) -> None:
    """At their next search, whether they have the vectors in memory or in the file beside the store."""
    space = Space(tmp_path / "memory.db", exact=exact)
    space.fill(100)
    with workers(tmp_path / "memory.db", exact, 2) as [one, two]:
        first = space.near(QUESTION)
        assert one.near() == two.near() == pytest.approx(first)
        [best, second, *_] = first

        assert one.ask("keep", 1_000, "a question") == 1
        assert next(iter(two.near())) == next(iter(space.near(QUESTION))) == 1_000

        assert two.ask("keep", best, f"text {best}", "minus") == 1
        assert best not in one.near()
        assert best not in space.near(QUESTION)
        assert list(one.near(200))[-1] == best

        assert one.ask("drop", 1_000, False)
        assert next(iter(two.near())) == next(iter(space.near(QUESTION))) == second

        assert two.ask("drop", second, True)
        assert second not in one.near(200)
        assert second not in space.near(QUESTION, limit=200)

        space.forget(MODEL)
        assert one.near() == two.near() == {}
        assert one.ask("keep", 5, "text 5") == 1
        assert list(two.near()) == list(space.near(QUESTION)) == [5]
    space.connections.close()


def test_a_child_searches_whatever_its_parent_was_doing(tmp_path: Path) -> None:
    """A fork in the middle of a search leaves no lock behind."""
    space = Space(tmp_path / "memory.db", exact=FEW)
    space.fill(100)
    space.connections.close()
    with workers(tmp_path / "memory.db", FEW, 1) as [worker]:
        assert worker.ask("fork", 10) == [0] * 10


# --- Beside the store -------------------------------------------------------------------------------------------------


def test_the_file_is_private_mapped_and_grows_along(space: Space) -> None:
    """Only its owner can read it; what came after it was written is found as well, until it is worth writing anew."""
    space.fill(100)
    space.assert_right(QUESTION)
    [path] = space.files()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    written = path.stat().st_ino
    space.fill(15, first=101)
    for by in (space.vectors, space.another()):
        space.assert_right(QUESTION, by=by, limit=50)
    assert path.stat().st_ino == written
    space.fill(15, first=201)
    for by in (space.vectors, space.another()):
        space.assert_right(QUESTION, by=by, limit=50)
    assert path.stat().st_ino != written
    assert space.files() == [path]


def test_no_file_is_written_where_none_can_be(space: Space) -> None:
    """A search does not fail for it."""
    space.folder.write_text("in the way")
    space.fill(100)
    for by in (space.vectors, space.another()):
        space.assert_right(QUESTION, by=by)
    space.vectors.discard()
    assert space.folder.read_text() == "in the way"


def cut(path: Path, size: int) -> None:
    """Make a file shorter."""
    raw = path.read_bytes()[:size]
    path.unlink()
    path.write_bytes(raw)


def test_a_file_that_is_cut_off_is_as_good_as_none(space: Space) -> None:
    """At any point: within the header, at its end, within and between the arrays."""
    space.fill(100)
    space.near(QUESTION)
    [path] = space.files()
    whole = path.read_bytes()
    source = random.Random(3)
    for size in [0, 1, 8, 100, 4_095, 4_096, 4_097, len(whole) - 1, *(source.randrange(len(whole)) for _ in range(30))]:
        cut(path, size)
        space.assert_right(QUESTION, by=space.another())
        assert path.read_bytes() == whole
    path.unlink()
    path.write_bytes(whole + b"more")
    space.assert_right(QUESTION, by=space.another())
    assert path.read_bytes() == whole


def test_a_file_with_other_bytes_is_found_out(space: Space) -> None:
    """Whichever byte is another one, the answer is right, and the file is written anew once that has been noticed."""
    space.fill(100)
    space.near(QUESTION)
    [path] = space.files()
    whole = path.read_bytes()
    source = random.Random(4)
    for place in [*range(0, 120, 3), *(source.randrange(len(whole)) for _ in range(120))]:
        damaged(path, place)
        changed = path.read_bytes()
        by = space.another()
        space.assert_right(QUESTION, by=by)
        assert not path.exists() or path.read_bytes() != changed or not whole[place], place
        path.unlink(missing_ok=True)
        path.write_bytes(whole)


def test_a_file_that_is_overwritten_while_it_is_mapped_is_found_out(space: Space) -> None:
    """As when another process discards it: what is read of it no longer fits, so it is not used."""
    space.fill(100)
    for by in (space.vectors, others := space.another()):
        space.assert_right(QUESTION, by=by)
    [path] = space.files()
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
    for by in (space.vectors, others, space.another()):
        space.assert_right(QUESTION, by=by)


def test_a_file_of_another_store_is_not_used(space: Space, tmp_path: Path) -> None:
    """Nor one that a copy of this store, which has gone its own way, has written."""
    space.fill(60)
    space.near(QUESTION)
    folders = [tmp_path / "another", tmp_path / "copy"]
    for folder in folders:
        folder.mkdir()
    with (
        space.connections.reading() as connection,
        closing(apsw.Connection(str(folders[1] / "memory.db"))) as target,
        target.backup("main", connection, "main") as copying,
    ):
        copying.step(-1)
    [ours] = space.files()
    space.fill(60, first=61)
    space.near(QUESTION)
    for folder in folders:
        theirs = Space(folder / "memory.db", exact=FEW)
        theirs.put_all([(item, f"text {item}", "confirmed", 0) for item in range(1, 121)])
        theirs.keep({item: f"text {item}" for item in theirs.lacking()}, vector=lambda text: -vector_of(text))
        theirs.near(QUESTION)
        [foreign] = theirs.files()
        shutil.copy(foreign, ours)
        space.assert_right(QUESTION, by=space.another())
        assert foreign.read_bytes() != ours.read_bytes()
        theirs.connections.close()


def test_an_older_epoch_is_not_used_and_does_not_stay(space: Space) -> None:
    """Whoever searches next removes every file of an earlier epoch, of whatever model."""
    space.fill(100)
    space.put_all([(item, f"text {item}", "confirmed", 0) for item in range(1, 101)])
    space.keep({item: f"text {item}" for item in range(1, 101)}, model=OTHER)
    space.near(QUESTION)
    space.near(QUESTION, model=OTHER)
    old = [path.read_bytes() for path in space.files()]
    assert len(old) == 2
    with space.connections.writing() as connection:
        begin_epoch(connection)
    space.assert_right(QUESTION)
    [path] = space.files()
    assert path.read_bytes() not in old


def test_nothing_of_a_vector_is_left_beside_the_store(space: Space, tmp_path: Path) -> None:
    """Files, also unfinished ones, are overwritten before they are removed: under another name they hold nothing."""
    space.fill(100)
    space.near(QUESTION)
    [path] = space.files()
    unfinished = path.with_name(f".{path.name}.1-1.tmp")
    unfinished.write_bytes(path.read_bytes())
    for number, each in enumerate((path, unfinished)):
        os.link(each, tmp_path / f"linked-{number}")
    space.drop(1, erased=True)
    discard_side_files(tmp_path / "memory.db")
    assert not space.folder.exists()
    assert not (tmp_path / "linked-0").read_bytes().strip(b"\0")
    assert not (tmp_path / "linked-1").read_bytes().strip(b"\0")
    space.assert_right(QUESTION)
    [path] = space.files()
    gone = np.rint(vector_of("text 1") * 127 / np.abs(vector_of("text 1")).max()).astype(np.int8).tobytes()
    kept = np.rint(vector_of("text 2") * 127 / np.abs(vector_of("text 2")).max()).astype(np.int8).tobytes()
    assert gone not in path.read_bytes()
    assert kept in path.read_bytes()


def test_an_abandoned_file_does_not_stay(space: Space) -> None:
    """What a process that died was writing is removed, once it is clear that nobody is writing it."""
    space.fill(100)
    space.near(QUESTION)
    [path] = space.files()
    new, old = (path.with_name(f".{path.name}.{number}.tmp") for number in (1, 2))
    new.write_bytes(b"just begun")
    old.write_bytes(path.read_bytes())
    os.utime(old, (0, 0))
    space.near(QUESTION, by=space.another())
    assert set(space.files()) == {path, new}


def test_a_store_in_memory_has_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many vectors it has."""
    monkeypatch.chdir(tmp_path)
    space = Space(None, exact=FEW)
    space.fill(100)
    space.assert_right(QUESTION)
    with space.connections.snapshot():
        space.assert_right(QUESTION)
    assert list(tmp_path.iterdir()) == []


# --- Upkeep -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage, told",
    [
        ("UPDATE vectors SET content_hash = 'x' WHERE item_id = 2", "vector 2 belongs to an earlier text"),
        ("DELETE FROM memories WHERE id = 2", "vector 2 belongs to a text that is forgotten or gone"),
        ("UPDATE vectors SET vector = x'00' WHERE item_id = 2", "vector 2 is of no model"),
        ("UPDATE meta SET value = '77' WHERE key GLOB 'vectors:*'", "the count of vectors is wrong"),
        ("DELETE FROM vectors WHERE item_id = 2", "the count of vectors is wrong"),
    ],
)
def test_what_does_not_fit_is_told_and_put_right(space: Space, damage: str, told: str) -> None:
    """A rebuild deletes what belongs to nothing and counts anew; the other vectors stay."""
    space.fill(5)
    with space.connections.writing() as connection:
        connection.execute(damage)
    space.vectors = space.another()
    space.near(QUESTION)
    assert told in space.faults()
    with space.connections.writing() as connection:
        rebuild_vectors(connection)
    assert space.faults() == []
    assert space.embedded() == {MODEL: len(space.near(QUESTION))}
    assert len(space.near(QUESTION)) >= 4


def test_vectors_cost_nothing_until_they_are_used() -> None:
    """Importing them does not import numpy, which takes longer than all the rest."""
    code = "import sys, recollect.store.sqlite.vectors; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- As a program -----------------------------------------------------------------------------------------------------


def serve(space: Space) -> None:
    """Carry out commands until there are no more."""
    for line in sys.stdin:
        what, *given = json.loads(line)
        answer: Any = None
        if what == "near":
            answer = list(space.near(QUESTION, limit=given[0]).items())
        elif what == "keep":
            item, text, *sign = given
            space.put(item, text)
            told = -QUESTION if sign else QUESTION
            answer = space.keep({item: text}, vector=lambda _, told=told: told)  # type: ignore[misc]
        elif what == "drop":
            space.drop(given[0], erased=given[1])
            if given[1]:
                space.vectors.discard()
            answer = True
        elif what == "fork":
            answer = [forked(space) for _ in range(given[0])]
        print(json.dumps(answer), flush=True)


def forked(space: Space) -> int:
    """Fork while another thread searches as fast as it can; how the child ended after a search of its own."""
    done = threading.Event()

    def search() -> None:
        while not done.is_set():
            space.vectors.close()
            space.near(QUESTION)

    thread = threading.Thread(target=search)
    thread.start()
    child = os.fork()
    if child == 0:
        # Killed by the alarm if it waits for a lock that nobody holds any more.
        import signal

        signal.alarm(20)
        os._exit(0 if len(space.near(QUESTION)) == 10 else 1)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    serve(Space(Path(sys.argv[1]), exact=int(sys.argv[2])))
