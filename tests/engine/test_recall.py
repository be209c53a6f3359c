"""Recalling: from which spaces, within which limits, and whose memories."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import InvalidInput, Kind, Recall, Recollect, Scope, Status
from recollect.testing import FixedClock, temp_recollect

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def memory() -> Iterator[Recollect]:
    with temp_recollect(clock=FixedClock(START)) as opened:
        yield opened


def named(value: object) -> str:
    """A name for a case; sets have no order to name them by."""
    return str(value) if isinstance(value, dict) else ""


def said(found: Recall) -> list[str]:
    """What was found, best first."""
    return [hit.memory.content for hit in found]


# Spaces and scopes


@pytest.mark.row("J17", "global", "project")
@pytest.mark.row("K3", "query")
def test_recall_answers_from_the_project_and_the_global_space(tmp_path: Path) -> None:
    """A global memory is known in every project, one of a project only there; references tell them apart."""
    for name in "ab":
        (tmp_path / name).mkdir()
    with (
        recollect.open(tmp_path / "a", home=tmp_path / "home") as one,
        recollect.open(tmp_path / "b", home=tmp_path / "home") as other,
    ):
        one.remember("Deploys of this project go out from main")
        one.remember("Deploys are announced in the chat", scope="global")
        assert {hit.memory.ref for hit in one.recall("deploys")} == {"1", "g1"}
        assert [(hit.memory.ref, hit.memory.scope) for hit in other.recall("deploys")] == [("g1", Scope.GLOBAL)]


@pytest.mark.row("J10", "session-only")
@pytest.mark.row("J17", "session", "task")
@pytest.mark.parametrize(
    "asking, found",
    [
        ({}, {"note for everybody"}),
        ({"session": "s1"}, {"note for everybody", "note for the first session"}),
        ({"session": "s2"}, {"note for everybody", "note for the second session"}),
        ({"task": "t1"}, {"note for everybody", "note for the task"}),
        ({"session": "s1", "task": "t1"}, {"note for everybody", "note for the first session", "note for the task"}),
        ({"session": "t1", "task": "s1"}, {"note for everybody"}),
        ({"session": ""}, {"note for everybody"}),
        ({"session": "s"}, {"note for everybody"}),
        ({"session": "%"}, {"note for everybody"}),
        ({"session": "S1"}, {"note for everybody"}),
        ({"session": "None"}, {"note for everybody"}),
    ],
)
def test_a_passing_memory_is_for_its_own_session_or_task(
    memory: Recollect, asking: dict[str, str], found: set[str]
) -> None:
    """And for nobody else, in recall and in search."""
    memory.remember("note for everybody")
    memory.remember("note for the first session", scope="session", session="s1")
    memory.remember("note for the second session", scope="session", session="s2")
    memory.remember("note for the task", scope="task", task="t1", session="s2")
    question = "note"
    assert set(said(memory.recall(question, **asking))) == found  # type: ignore[arg-type]
    assert set(said(memory.search(question, **asking))) == found  # type: ignore[arg-type]


@pytest.mark.row("K13", "session", "narrative", "task")
def test_what_produced_a_memory_leads_back_to_its_memories(memory: Recollect) -> None:
    """A memory names its session, narrative and task, and each of those lists its memories."""
    memory.remember("first", session="s1", narrative="n1", task="t1")
    memory.remember("second", session="s1", narrative="n2", task="t2")
    memory.remember("third")
    stored = memory.get(1)
    assert (stored.session_id, stored.narrative_id, stored.task_id) == ("s1", "n1", "t1")
    for field, value, listed in (
        ("session_id", "s1", {"first", "second"}),
        ("narrative_id", "n1", {"first"}),
        ("task_id", "t2", {"second"}),
    ):
        assert {each.content for each in memory.list({field: value})} == listed


# Narrowing


@pytest.fixture
def varied(memory: Recollect) -> Recollect:
    """Five deploys that differ."""
    memory.remember("deploy alpha", kind="decision", tags=["ops"], files=["a.py"])
    memory.remember("deploy beta", kind="warning", tags=["ops", "db"], files=["b.py"])
    memory.remember("deploy gamma", kind="fact", tags=["web"], files=["a.py", "b.py"])
    memory.remember("deploy delta", kind="fact")
    memory.remember("deploy omega", kind="decision", scope="global", tags=["ops"])
    return memory


@pytest.mark.parametrize(
    "narrowed, found",
    [
        ({"kinds": ["decision"]}, {"alpha", "omega"}),
        ({"kinds": [Kind.DECISION, "warning"]}, {"alpha", "beta", "omega"}),
        ({"tags": ["ops"]}, {"alpha", "beta", "omega"}),
        ({"tags": ["db", "web"]}, {"beta", "gamma"}),
        ({"files": ["a.py"]}, {"alpha", "gamma"}),
        ({"kinds": ["fact"], "files": ["b.py"]}, {"gamma"}),
        ({"kinds": ["fact"], "tags": ["ops"]}, set()),
        ({"tags": ["Ops"]}, {"alpha", "beta", "omega"}),
        ({"tags": ["#ops"]}, {"alpha", "beta", "omega"}),
    ],
    ids=named,
)
def test_recall_is_narrowed_by_kinds_tags_and_files(
    varied: Recollect, narrowed: dict[str, Any], found: set[str]
) -> None:
    """Any of several of one sort, all of the sorts given; a tag is written as it may be when storing."""
    assert {text.split()[1] for text in said(varied.recall("deploy", **narrowed))} == found


@pytest.mark.parametrize(
    "where, found",
    [
        ({"importance": {"$gte": 0.85}}, {"alpha", "omega"}),
        ({"kind": {"$ne": "fact"}, "tags": "db"}, {"beta"}),
        ({"scope": "global"}, {"omega"}),
        ({"status": "forgotten"}, set()),
    ],
    ids=named,
)
def test_search_is_narrowed_by_any_filter(varied: Recollect, where: dict[str, object], found: set[str]) -> None:
    """Forgotten memories stay forgotten, whatever is asked."""
    varied.forget(4)
    assert {text.split()[1] for text in said(varied.search("deploy", where=where))} == found


@pytest.mark.parametrize(
    "narrowed", [{"kinds": ["opinion"]}, {"kinds": "fact"}, {"tags": "ops"}, {"files": "a.py"}], ids=str
)
def test_a_narrowing_that_means_nothing_is_refused(varied: Recollect, narrowed: dict[str, Any]) -> None:
    """One text where several are expected is a mistake, not a list of letters."""
    with pytest.raises(InvalidInput):
        varied.recall("deploy", **narrowed)


@pytest.mark.parametrize(
    "status, recalled, searched",
    [
        (Status.CONFIRMED, True, True),
        (Status.PINNED, True, True),
        (Status.SUPERSEDED, False, True),
        (Status.FORGOTTEN, False, False),
    ],
)
def test_what_is_no_longer_live_is_found_by_search_only(
    memory: Recollect, status: Status, recalled: bool, searched: bool
) -> None:
    """And what was forgotten by neither."""
    memory.remember("the old deploy")
    memory.remember("the new way")
    match status:
        case Status.PINNED:
            memory.pin(1)
        case Status.SUPERSEDED:
            memory.link(2, 1, kind="supersedes")
        case Status.FORGOTTEN:
            memory.forget(1)
        case _:
            pass
    assert bool(memory.recall("deploy")) is recalled
    assert bool(memory.search("deploy")) is searched


# Limits


@pytest.mark.parametrize("limit, results", [(0, 0), (1, 1), (7, 7), (None, 10), (40, 40), (1_000, 60), (10**12, 60)])
def test_there_are_as_many_results_as_asked_for(memory: Recollect, limit: int | None, results: int) -> None:
    """Ten by default, all at most; asking for none is no mistake."""
    memory.remember_many([f"deploy number {number}" for number in range(60)])
    assert len(memory.recall("deploy", limit=limit)) == results


def test_the_default_number_of_results_is_a_setting() -> None:
    """For recall and search."""
    with temp_recollect(settings={"recall.limit": 3}) as memory:
        memory.remember_many([f"deploy number {number}" for number in range(6)])
        assert len(memory.recall("deploy")) == len(memory.search("deploy")) == 3


@pytest.mark.parametrize("limit", [-1, 1.5, "5", True])
def test_a_number_of_results_that_is_none_is_refused(memory: Recollect, limit: Any) -> None:
    """In every call that takes one."""
    memory.remember("a deploy")
    with pytest.raises(InvalidInput):
        memory.recall("deploy", limit=limit)
    with pytest.raises(InvalidInput):
        memory.search("deploy", limit=limit)
    with pytest.raises(InvalidInput):
        memory.list(limit=limit)
    with pytest.raises(InvalidInput):
        memory.list(offset=limit)


@pytest.mark.parametrize("question", ["", "   ", "?!…", "🚀", "https://example.com", "\x00", "\ud800"], ids=ascii)
def test_a_question_without_words_finds_nothing_and_says_so(memory: Recollect, question: str) -> None:
    """It is no error to ask nothing."""
    memory.remember("a deploy")
    found = memory.recall(question)
    assert (len(found), found.notes) == (0, ("the question holds no word to look for",))


@pytest.mark.parametrize("question", [None, 5, b"deploy", ["deploy"]], ids=repr)
def test_a_question_that_is_no_text_is_refused(memory: Recollect, question: Any) -> None:
    """In the words of the product."""
    memory.remember("a deploy")
    with pytest.raises(InvalidInput):
        memory.recall(question)
    with pytest.raises(InvalidInput):
        memory.search(question)


@pytest.mark.parametrize(
    "question",
    [
        "deploy " * 150_000,
        "x" * 1_000_000,
        " ".join(map(str, range(170_000))),
        "漢" * 1_000_000,
        "a-" * 500_000,
        "_" * 1_000_000,
        "https://" * 125_000,
        "aB" * 500_000,
        "e\u0301" * 500_000,
        '"' * 1_000_000,
        "c++" * 333_000,
    ],
    ids=lambda question: ascii(question[:8]),
)
def test_a_question_of_a_million_characters_is_answered_at_once(memory: Recollect, question: str) -> None:
    """What is beyond the limit is not read."""
    memory.remember("a deploy")
    began = time.perf_counter()
    found = memory.recall(question)
    assert time.perf_counter() - began < 1.0
    assert len(found.query) <= 10_000


def test_how_much_of_a_question_is_read_is_a_setting() -> None:
    """And the result says what was asked."""
    with temp_recollect(settings={"recall.query_limit": 10}) as memory:
        memory.remember("a rollback")
        found = memory.recall("deploy and rollback")
        assert (found.query, len(found)) == ("deploy and", 0)


def test_words_that_are_too_frequent_are_left_out_and_named() -> None:
    """The rarer words of the question still find everything that holds them."""
    with temp_recollect(settings={"recall.postings": 20}) as memory:
        memory.remember_many([f"deploy of service number{number}" for number in range(60)])
        memory.remember("deploy rollback plan")
        found = memory.recall("deploy rollback")
        assert said(found) == ["deploy rollback plan"]
        assert found.notes == ("too frequent to look for: deploy",)
        assert len(memory.recall("deploy", limit=5)) == 5


# Lists


def test_a_list_is_of_the_live_memories_newest_first(memory: Recollect) -> None:
    """In pages that neither overlap nor leave anything out."""
    memory.remember_many([f"note {number}" for number in range(25)])
    memory.forget(7)
    pages = [each.id for start in range(0, 30, 10) for each in memory.list(limit=10, offset=start)]
    assert pages == [number for number in range(25, 0, -1) if number != 7]
    assert memory.count() == 24
    assert memory.count({}) == memory.count({"kind": "fact"}) == 24
    assert memory.count({"status": list(Status)}) == 25
    assert [each.id for each in memory.list({"status": "forgotten"})] == [7]
    assert memory.list(limit=0) == memory.list(offset=10**12) == ()


def test_each_space_is_listed_by_its_name(varied: Recollect) -> None:
    """And there is no third."""
    assert [each.content for each in varied.list(space="global")] == ["deploy omega"]
    assert (varied.count(space="project"), varied.count(space="global")) == (4, 1)
    assert [tag.name for tag in varied.tags(space="global")] == ["ops"]
    for name in ("list", "count", "tags", "clusters", "audit", "backup", "verify_audit", "export_lines"):
        for space in ("", "Global", "other", "../b", None):
            with pytest.raises(InvalidInput):
                getattr(varied, name)(space=space)


# Many threads


@pytest.mark.parametrize("store", ["memory:", "json:{}/memory.json", "{}/memory.db", None], ids=str)
def test_many_threads_use_one_memory_from_its_first_call_on(tmp_path: Path, store: str | None) -> None:
    """Nothing is lost, whichever thread comes first, and reading goes on meanwhile."""
    (tmp_path / "project").mkdir()
    place = store.format(tmp_path) if store else None
    start = threading.Barrier(16)
    failures: list[BaseException] = []

    def work(memory: Recollect, number: int) -> None:
        try:
            start.wait()
            memory.remember(f"deploy of service {number}")
            memory.recall("deploy")
        except BaseException as error:
            failures.append(error)

    with recollect.open(tmp_path / "project", home=tmp_path / "home", store=place) as memory:
        threads = [threading.Thread(target=work, args=(memory, number)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert memory.count() == 16
        assert memory.verify_audit() == ()


def test_a_memory_that_was_closed_is_closed(memory: Recollect) -> None:
    """Closing it twice is fine; using it then is an error, not a store opened in secret."""
    memory.remember("a deploy")
    memory.close()
    memory.close()
    with pytest.raises(recollect.RecollectError):
        memory.remember("too late")


def test_a_question_that_only_reached_the_newest_memories_says_so(tmp_path: Path) -> None:
    """Nothing is left out in silence."""
    few = {"recall.postings": 5}
    with temp_recollect(settings=few) as memory:
        memory.remember_many([f"common note {number}" for number in range(40)])
        found = memory.recall("common")
        assert found
        assert any("only the newest" in note for note in found.notes)
        assert min(hit.memory.id for hit in found) > 30
        assert memory.recall("39").notes == ()
