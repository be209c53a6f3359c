"""Narratives: threads of work across sessions, and the memories that belong to them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import recollect
from recollect import InvalidInput, MemoryOff, NotFound, Recollect
from recollect.testing import FixedClock

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Recollect]:
    (tmp_path / "project").mkdir()
    with recollect.open(tmp_path / "project", home=tmp_path / "home", clock=clock, background=False) as memory:
        yield memory


@pytest.mark.row("K13", "narrative")
def test_what_is_remembered_while_one_is_open_belongs_to_it(memory: Recollect) -> None:
    """Neither what came before nor what comes after; the narrative leads back to it."""
    memory.remember("The moon is far away")
    told = memory.narratives.start("Move billing to PostgreSQL")
    kept = memory.remember("Invoices have a table of their own").memory
    memory.narratives.close(told.id)
    memory.remember("Tea is ready at four")
    assert kept.narrative_id == told.id == "N-001"
    assert [each.content for each in memory.narratives.memories("N-001")] == ["Invoices have a table of their own"]
    assert [each.narrative_id for each in memory.list({})].count(None) == 2


@pytest.mark.row("K13", "narrative", "session")
def test_what_a_session_taught_meanwhile_belongs_to_it_too(memory: Recollect) -> None:
    """Promoted memories and the summary, from several sessions."""
    memory.narratives.start("Deploys")
    for name, rule in (("s1", "We always deploy from the main branch."), ("s2", "Never commit to release directly.")):
        session = memory.session(name)
        session.append("user", rule)
        session.finalise()
    members = memory.narratives.memories("N-001")
    assert len(members) == memory.count() == 4
    assert {each.session_id for each in members} == {"s1", "s2"}


def test_a_memory_that_names_one_belongs_to_that(memory: Recollect) -> None:
    """And what is global belongs to none: a narrative is one of a project."""
    memory.narratives.start("Deploys")
    assert memory.remember("one", narrative="N-777").memory.narrative_id == "N-777"
    assert memory.remember("two", scope="global").memory.narrative_id is None
    assert [each.memory.narrative_id for each in memory.remember_many(["three", "four"])] == ["N-001", "N-001"]


def test_of_several_the_one_begun_last_is_meant(memory: Recollect, clock: FixedClock) -> None:
    """Until it is closed; then the one before it."""
    memory.narratives.start("first")
    clock.move(minutes=1)
    second = memory.narratives.start("second")
    assert memory.remember("a").memory.narrative_id == "N-002"
    memory.narratives.close(second.id)
    assert memory.remember("b").memory.narrative_id == "N-001"
    assert [each.id for each in memory.narratives.list()] == ["N-002", "N-001"]


def test_it_is_told_and_closed(memory: Recollect, clock: FixedClock) -> None:
    """With what it has come to so far, and in the end."""
    memory.narratives.start("Move billing")
    assert memory.narratives.tell("N-001", "The schema is there.").summary == "The schema is there."
    clock.move(days=1)
    closed = memory.narratives.close("N-001")
    assert (closed.started, closed.closed, closed.summary) == (START, START + timedelta(days=1), "The schema is there.")
    assert memory.narratives.get("N-001") == closed
    memory.narratives.start("Next")
    assert memory.narratives.close("N-002", summary="Done.").summary == "Done."


def test_a_forgotten_memory_is_not_shown(memory: Recollect) -> None:
    """Nor does it come back by way of its narrative."""
    memory.narratives.start("Deploys")
    memory.remember("one thing")
    memory.remember("quite another matter")
    memory.forget(1)
    assert [each.content for each in memory.narratives.memories("N-001")] == ["quite another matter"]


def test_what_makes_no_sense_is_refused(memory: Recollect) -> None:
    """No title, one that is too long, one that is not there, closing twice."""
    for title in ("", " ", "x" * 201):
        with pytest.raises(InvalidInput):
            memory.narratives.start(title)
    for act in (memory.narratives.get, memory.narratives.close, memory.narratives.memories):
        with pytest.raises(NotFound):
            act("N-009")
    memory.narratives.start("once")
    memory.narratives.close("N-001")
    with pytest.raises(InvalidInput, match="closed already"):
        memory.narratives.close("N-001")
    with pytest.raises(InvalidInput):
        memory.narratives.tell("N-001", "x" * 8_001)


def test_with_memory_off_none_is_begun(memory: Recollect) -> None:
    """It would be a memory of sorts."""
    memory.turn_off()
    with pytest.raises(MemoryOff):
        memory.narratives.start("off")
    assert memory.narratives.list() == ()


@pytest.mark.parametrize("act", ["tell", "close"])
def test_with_memory_off_none_is_changed(memory: Recollect, act: str) -> None:
    """Neither told nor closed."""
    memory.narratives.start("on")
    memory.turn_off()
    with pytest.raises(MemoryOff):
        memory.narratives.tell("N-001", "so far") if act == "tell" else memory.narratives.close("N-001")


def test_the_same_request_is_known_by_its_key_though_a_narrative_began_since(memory: Recollect) -> None:
    """Sent once more, it is done once."""
    first = memory.remember("Deploy from main", key="k")
    memory.narratives.start("Deploys")
    assert memory.remember("Deploy from main", key="k").memory.id == first.memory.id
