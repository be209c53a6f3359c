"""Habits: what is recalled together goes together, a little, and nobody waits for it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

import recollect
from recollect import Corpus, Hit, Passage, Recollect, Status, StoreReadOnly
from recollect.engine.habit import WAITING
from recollect.model import Together
from recollect.store import Store, open_store
from recollect.testing import FixedClock

START = datetime(2026, 6, 1, tzinfo=UTC)
DEADLINE = 20.0


@pytest.fixture(params=["memory:", "{}/memory.db", "json:{}/memory.json"], ids=["memory", "sqlite", "json"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recollect]:
    """Without a background: habits are written when the test says so."""
    store = str(request.param).format(tmp_path)
    with recollect.open(store=store, clock=FixedClock(START), background=False) as opened:
        yield opened


def company(memory: Recollect, number: int) -> dict[int, float]:
    """What a memory of the project goes with, and how strongly."""
    found: tuple[Together, ...] = memory._parts.project().together([memory.get(number).id])
    return {each.other: each.strength for each in found}


def together(hit: Hit) -> float:
    """What company was worth to a result."""
    return next(each.value for each in hit.why if each.factor == "together")


def deploys(memory: Recollect, count: int = 4) -> None:
    """Memories that one question finds."""
    memory.remember_many(
        [f"deploy of service {name}" for name in ("one", "two", "three", "four", "five", "six")[:count]]
    )


@pytest.mark.row("K12", "link", "strengthen")
def test_what_is_recalled_together_is_linked_and_the_link_grows(memory: Recollect) -> None:
    """Both ways, more with each time."""
    deploys(memory)
    memory.recall("deploy of service", gate=False)
    assert company(memory, 1) == {}
    memory._parts.habits.write()
    first = company(memory, 1)
    assert set(first) == {2, 3, 4}
    assert company(memory, 2).keys() == {1, 3, 4}
    for _ in range(3):
        memory.recall("deploy of service", gate=False)
    memory._parts.habits.write()
    assert all(company(memory, 1)[other] > strength for other, strength in first.items())


@pytest.mark.row("K12", "follow")
def test_company_lifts_a_result_within_bounds(memory: Recollect) -> None:
    """However often it was kept."""
    deploys(memory)
    before = {hit.memory.id: hit for hit in memory.recall("deploy of service", gate=False)}
    assert {together(hit) for hit in before.values()} == {1.0}
    lifted = []
    for _ in range(4):
        for _ in range(50):
            memory.recall("deploy of service", gate=False)
        memory._parts.habits.write()
        lifted.append(max(together(hit) for hit in memory.recall("deploy of service", gate=False)))
    assert 1.0 < lifted[0] <= lifted[-1] < 1.2
    assert lifted == sorted(lifted)


@pytest.mark.row("K4", "no-signal")
def test_being_recalled_is_counted_and_changes_nothing_else(memory: Recollect) -> None:
    """Neither the score nor the version, and the audit says nothing of it."""
    deploys(memory, 2)
    head = memory.status().spaces[0].audit_head
    for _ in range(3):
        memory.recall("deploy of service one", gate=False)
    memory._parts.habits.write()
    found = memory.get(1)
    assert (found.access_count, found.accessed_at) == (3, START)
    assert (found.score, found.version, found.last_hit_at, found.confidence) == (0, 1, None, 1.0)
    assert memory.status().spaces[0].audit_head == head
    assert memory.verify_audit() == ()
    assert memory.history(1) == ()
    assert all(check.ok for check in memory.doctor() if check.name.startswith("project"))


def test_only_the_first_few_of_an_answer_count_as_recalled_together(memory: Recollect) -> None:
    """What stands far below was hardly read."""
    deploys(memory, 6)
    found = memory.recall("deploy of service", gate=False)
    assert len(found) == 6
    memory._parts.habits.write()
    assert company(memory, found[-1].memory.id) == {}
    assert len(company(memory, found[0].memory.id)) == 4


def test_memories_of_two_spaces_are_not_linked(memory: Recollect) -> None:
    """Links never cross; each is counted where it lives."""
    memory.remember("deploy of service one")
    memory.remember("deploy of service two", scope="global")
    assert len(memory.recall("deploy of service", gate=False)) == 2
    memory._parts.habits.write()
    assert company(memory, 1) == {}
    assert memory.get("1").access_count == memory.get("g1").access_count == 1


def test_a_forgotten_memory_keeps_no_company(memory: Recollect) -> None:
    """Nor does it come back through it."""
    deploys(memory, 3)
    memory.recall("deploy of service", gate=False)
    memory._parts.habits.write()
    memory.forget(2)
    assert set(company(memory, 1)) == {3}
    assert memory.get(2).status is Status.FORGOTTEN


@pytest.mark.row("J15", "links")
def test_habits_are_written_when_a_memory_is_closed(tmp_path: Path) -> None:
    """And are there for the next one."""
    path = str(tmp_path / "memory.db")
    with recollect.open(store=path, background=False) as memory:
        deploys(memory, 2)
        memory.recall("deploy of service", gate=False)
        assert memory.get(1).access_count == 0
    with recollect.open(store=path, background=False) as memory:
        assert memory.get(1).access_count == 1
        assert set(company(memory, 1)) == {2}


def test_a_background_writes_habits_once_there_are_enough(tmp_path: Path) -> None:
    """Though nothing but questions comes."""
    with recollect.open(store=str(tmp_path / "memory.db")) as memory:
        deploys(memory, 2)
        for _ in range(WAITING):
            memory.recall("deploy of service", gate=False)
        until = time.monotonic() + DEADLINE
        while memory.get(1).access_count < WAITING and time.monotonic() < until:
            time.sleep(0.01)
        assert memory.get(1).access_count >= WAITING


def test_recall_itself_writes_nothing(tmp_path: Path) -> None:
    """Neither the store nor anything beside it changes, until the memory is closed."""
    path = tmp_path / "memory.db"
    with recollect.open(store=str(path), background=False) as memory:
        deploys(memory)
        memory.embed_pending()
        memory.recall("deploy of service")  # opens what is opened lazily
        store = memory._parts.project()
        before = (store.audit_head(), store.totals(), (tmp_path / "memory.db-wal").read_bytes())
        for profile in recollect.Settings.Recall.__annotations__["profile"].__args__:
            memory.recall("deploy of service", profile=profile, gate=False)
            memory.why_not("deploy of service", 1, profile=profile)
        memory.search("deploy of service")
        memory.recall("deploy of service", as_of=datetime.now(UTC))
        assert (store.audit_head(), store.totals(), (tmp_path / "memory.db-wal").read_bytes()) == before


class Sealed:
    """A store that can be read and not written, as one on a disk that has become read-only."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.refused: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name not in {"apply", "keep_vectors", "forget_vectors", "note_uses", "rebuild", "restore"}:
            return getattr(self.store, name)

        def refuse(*given: object, **more: object) -> None:
            self.refused.append(name)
            raise StoreReadOnly("memory.db", "cannot be written")

        return refuse


@pytest.mark.parametrize("embedded", [True, False], ids=["embedded", "without vectors"])
def test_a_store_that_cannot_be_written_can_be_recalled_from(tmp_path: Path, embedded: bool) -> None:
    """Habits and vectors that cannot be kept are let go of, in silence; closing does not fail either."""
    path = str(tmp_path / "memory.db")
    with recollect.open(store=path, background=False, settings={"recall.search": "fts5"}) as memory:
        deploys(memory)
        memory.file_passages([Passage(corpus=Corpus.SESSIONS, document="s", position=0, text="a deploy of one")])
    if embedded:
        with recollect.open(store=path, background=False) as memory:
            memory.embed_pending()
    sealed = Sealed(open_store(path))
    with recollect.open(store=cast(Store, sealed), background=True) as memory:
        for _ in range(WAITING + 1):
            assert len(memory.recall("deploy of service", gate=False)) == 4
        assert len(memory.search_passages("deploy")) == 1
        assert memory.why_not("deploy of service", 1, gate=False).step == "returned"
        assert memory.recall("deploy of service", gate=False).notes == ()
        with pytest.raises(StoreReadOnly):
            memory.remember("too late")
    assert set(sealed.refused) == {"note_uses", "apply"} | (set() if embedded else {"keep_vectors"})
