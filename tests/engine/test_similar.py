"""Find similar: what comes closest to a memory, from where, and why."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

import recollect
from recollect import InvalidInput, NotFound, Recall, Recollect
from recollect.testing import FixedClock, temp_recollect

START = datetime(2026, 1, 1, tzinfo=UTC)
TOLD = (
    "Deploys go out from main every Tuesday",
    "The release pipeline ships the main branch on Tuesdays",
    "Invoices are sent on the first day of the month",
    "The office plant is called Gerald",
)


@pytest.fixture
def memory() -> Iterator[Recollect]:
    with temp_recollect(clock=FixedClock(START), background=False) as opened:
        opened.remember_many(TOLD)
        yield opened


@pytest.fixture
def wordy() -> Iterator[Recollect]:
    """One that has no vectors."""
    with temp_recollect(settings={"recall.search": "fts5"}, background=False) as opened:
        opened.remember_many(TOLD)
        yield opened


def refs(found: Recall) -> list[str]:
    return [hit.memory.ref for hit in found]


@pytest.mark.row("J5", "find-similar")
def test_what_is_closest_in_meaning_comes_first(memory: Recollect) -> None:
    """Without the memory itself, and each with how close it is."""
    found = memory.similar(1)
    assert refs(found)[0] == "2"
    assert "1" not in refs(found)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    [why] = found[0].why
    assert (why.factor, why.value) == ("meaning", found[0].score)
    assert why.detail.startswith(f"cosine {found[0].score:.2f}; both say ")
    assert "main" in why.detail
    assert (found.query, found.notes) == ("similar to [id:1]", ())


def test_what_says_nearly_the_same_is_the_most_similar_of_all() -> None:
    """Only the memory itself is left out."""
    settings = {"consolidate.mode": "off"}
    with recollect.open(store="memory:", settings=settings, background=False) as memory:
        for text in ("Deploys go out from main", "Invoices are sent on Mondays", "Deploys go out from main!"):
            memory.remember(text)
        assert refs(memory.similar(1))[0] == "3"
        assert memory.similar(1)[0].score > 0.95


def test_a_global_memory_is_compared_too_and_can_be_asked_about(memory: Recollect) -> None:
    """Ids of the two spaces are told apart."""
    memory.remember("Never deploy on a Friday; the main branch goes out on Tuesdays", scope="global")
    assert "g1" in refs(memory.similar(1))
    found = memory.similar("g1")
    assert "g1" not in refs(found)
    assert set(refs(found)[:2]) == {"1", "2"}


@pytest.mark.parametrize("hide", ["forget", "supersede", "session", "season"])
def test_only_live_memories_of_now_and_everybody_are_found(memory: Recollect, hide: str) -> None:
    """Nothing forgotten, superseded, of a session or out of season."""
    match hide:
        case "forget":
            memory.forget(2)
        case "supersede":
            memory.link(3, 2, kind="supersedes")
        case "session":
            memory.forget(2)
            memory.remember("The main branch is shipped every Tuesday", scope="session", session="s1")
        case "season":
            memory.update(2, season="release week")
    assert not {"2", "5"} & set(refs(memory.similar(1)))
    if hide == "season":
        memory.seasons.define("release-week", on=True)
        assert refs(memory.similar(1))[0] == "2"


def test_what_was_forgotten_can_still_be_asked_about(memory: Recollect) -> None:
    """By somebody who knows its reference; its vector is made anew."""
    memory.forget(1)
    assert refs(memory.similar(1))[0] == "2"


@pytest.mark.parametrize("limit, count", [(None, 3), (1, 1), (0, 0), (50, 3)])
def test_there_are_as_many_as_asked_for(memory: Recollect, limit: int | None, count: int) -> None:
    """Where there are so many."""
    assert len(memory.similar(1, limit=limit)) == count


def test_without_vectors_the_most_telling_words_are_compared(wordy: Recollect) -> None:
    """And the note says so."""
    found = wordy.similar(1)
    assert refs(found)[0] == "2"
    [why] = found[0].why
    assert (why.factor, why.value) == ("words", found[0].score)
    assert 0 < why.value < 1
    assert set(why.detail.split(", ")) == {"main", "tuesday"}
    assert found.notes == ("compared by words alone",)
    assert "4" not in refs(found)


def test_a_model_that_is_missing_is_named(memory: Recollect) -> None:
    """Words stand in for it."""
    with temp_recollect(settings={"embed.model": "minilm"}, background=False) as other:
        other.remember_many(TOLD)
        found = other.similar(1)
    assert refs(found)[0] == "2"
    assert found.notes[0].startswith("compared by words alone: embedding model 'minilm'")


def test_what_cannot_be_compared_is_refused(memory: Recollect) -> None:
    """A reference to nothing, a limit that is none."""
    with pytest.raises(NotFound):
        memory.similar(99)
    with pytest.raises(InvalidInput):
        memory.similar(1, limit=-1)


def test_nothing_is_recalled_while_memory_is_off(memory: Recollect) -> None:
    """As with any question."""
    memory.turn_off()
    found = memory.similar(1)
    assert len(found) == 0
    assert found.notes[0].startswith("memory is switched off")


def test_looking_changes_nothing(memory: Recollect) -> None:
    """Neither the audit nor a memory."""
    before = memory.audit(limit=None), memory.list()
    memory.similar(1)
    memory.similar(3)
    assert (memory.audit(limit=None), memory.list()) == before
