"""Recalling: from which spaces, within which limits, and whose memories."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Hit, InvalidInput, Kind, NotFound, Recall, Recollect, Scope, Status
from recollect.errors import StoreError
from recollect.policy.rank import PROFILES
from recollect.testing import FixedClock, HashEmbedder, temp_recollect

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
    assert ("the old deploy" in said(memory.recall("deploy"))) is recalled
    assert ("the old deploy" in said(memory.search("deploy"))) is searched


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
    few = {"recall.postings": 5, "recall.search": "fts5"}
    with temp_recollect(settings=few) as memory:
        memory.remember_many([f"common note {number}" for number in range(40)])
        found = memory.recall("common")
        assert found
        assert any("only the newest" in note for note in found.notes)
        assert min(hit.memory.id for hit in found) > 30
        assert memory.recall("39").notes == ()


# By words and by meaning


@pytest.fixture(params=["memory:", "{}/memory.db"], ids=["memory", "sqlite"])
def plain(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recollect]:
    """A memory without a background, so that nothing happens but what a test does."""
    store = str(request.param).format(tmp_path)
    with recollect.open(store=store, clock=FixedClock(START), background=False) as opened:
        yield opened


def in_store(settings: dict[str, object] | None = None, *, clock: FixedClock | None = None) -> Recollect:
    """A memory of its own in no file."""
    return recollect.open(store="memory:", settings=settings, clock=clock or FixedClock(START), background=False)


def why(hit: Hit) -> dict[str, float]:
    """The value of each factor."""
    return {each.factor: each.value for each in hit.why}


def detail(hit: Hit, factor: str) -> str:
    """What a factor was made from."""
    return next(each.detail for each in hit.why if each.factor == factor)


UNRELATED = [
    "Invoices are rendered as PDF by the billing worker",
    "The cat sleeps on the sofa",
    "Run the linter before you commit",
    "Holiday requests go to Maria",
]


@pytest.mark.row("E10")
@pytest.mark.row("B10", "memory", "hybrid")
def test_what_means_the_same_in_other_words_is_found(plain: Recollect) -> None:
    """No word of the question is in the memory."""
    plain.remember_many(UNRELATED)
    plain.remember("The physician prescribed antibiotics for the infection")
    found = plain.recall("doctor gave medicine against illness", gate=False)
    assert said(found)[0] == "The physician prescribed antibiotics for the infection"
    assert detail(found[0], "meaning").startswith("cosine 0.")
    assert found.notes == ()


@pytest.mark.row("B12", "search-provider")
@pytest.mark.row("B10", "memory", "keyword")
def test_words_alone_find_what_holds_them() -> None:
    """With search by words, meaning plays no part, and nothing is embedded."""
    with in_store({"recall.search": "fts5"}) as memory:
        memory.remember_many(UNRELATED)
        memory.remember("The physician prescribed antibiotics for the infection")
        assert said(memory.recall("who prescribed antibiotics")) == [
            "The physician prescribed antibiotics for the infection"
        ]
        assert not memory.recall("doctor gave medicine against illness", gate=False)
        assert (memory.status().search, memory.status().vectors) == ("words", ())


@pytest.mark.row("X2", "gate")
@pytest.mark.parametrize("question", ["what is the capital of Mongolia", "how do penguins breathe under water"])
def test_a_question_about_nothing_stored_is_answered_with_nothing(plain: Recollect, question: str) -> None:
    """Unless hardly relevant results are asked for."""
    plain.remember_many(UNRELATED)
    assert said(plain.recall(question)) == []
    assert said(plain.search(question)) == []
    assert plain.recall(question, gate=False)
    assert plain.search(question, gate=False)


def test_the_gate_is_a_setting() -> None:
    """Nothing passes a gate of one, everything one of zero."""
    question = "which worker renders invoices"
    with in_store({"recall.gate": 1.0}) as memory:
        memory.remember_many(UNRELATED)
        assert not memory.recall(question)
        assert memory.why_not(question, 1).step == "gate"
    with in_store({"recall.gate": 0.0}) as memory:
        memory.remember_many(UNRELATED)
        assert len(memory.recall(question)) > 1


@pytest.mark.row("P7", "prefix", "fuzzy")
@pytest.mark.row("P8", "expansion", "defaults")
@pytest.mark.parametrize("profile", ["default", "praxis"])
@pytest.mark.parametrize(
    "question, met",
    [("kuber", "kuber (kubernet)"), ("kubrenetes", "kubrenetes (kubernet)"), ("k8s", "k8s (kubernet)")],
    ids=["beginning", "misspelled", "alias"],
)
def test_beginnings_misspellings_and_aliases_find_a_word(profile: str, question: str, met: str) -> None:
    """And the reason says as what it was met."""
    with in_store({"recall.search": "fts5"}) as memory:
        memory.remember_many(UNRELATED)
        memory.remember("Production runs on Kubernetes")
        found = memory.recall(question, profile=profile, gate=False)
        assert said(found) == ["Production runs on Kubernetes"]
        assert detail(found[0], "words") == met
        assert not memory.recall(question, profile="koshi")


@pytest.mark.row("X14", "presence")
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_every_result_explains_its_score_whatever_the_profile(plain: Recollect, profile: str) -> None:
    """Through the library: evidence added up, times the factors."""
    plain.remember_many(UNRELATED)
    plain.remember("Invoices of the shop are sent on Mondays", tags=["billing"], scope="global")
    for number in range(30):
        plain.remember(f"invoice run number {number}", session="nightly")
    plain.embed_pending()
    found = plain.recall("when are invoices sent", profile=profile, gate=False, limit=30)
    assert found
    for hit in found:
        assert hit.why
        adds = [each.value for each in hit.why if each.adds]
        product = 1.0
        for each in hit.why:
            product *= 1.0 if each.adds else each.value
        assert hit.score == pytest.approx(product * sum(adds) if adds else product)
    assert {hit.memory.uid for hit in found} == {
        hit.memory.uid for hit in plain.recall("when are invoices sent", profile=profile, gate=False, limit=30)
    }


def test_a_result_that_comes_up_from_far_below_is_explained_too(plain: Recollect) -> None:
    """Many of one session stand before it and leave."""
    plain.remember_many([recollect.Draft(content=f"release notes release {n}", session_id="s1") for n in range(30)])
    plain.remember("Of one release among the many things that happen in a long year we know little")
    found = plain.recall("release notes", gate=False, limit=5)
    assert len(found) == 3
    assert all(hit.why for hit in found)


def test_a_profile_that_does_not_exist_is_not_found(plain: Recollect) -> None:
    """By its name."""
    with pytest.raises(NotFound, match="no profile 'nonsense'"):
        plain.recall("x", profile="nonsense")


# The profiles through the real thing


@pytest.mark.row("J7", "similarity-threshold", "initial-hits", "max-depth", "max-results", "both-ways", "depth-decay")
def test_cascade_walks_from_what_is_similar_to_what_is_linked() -> None:
    """Each of the five parameters does what it says."""
    question = "which database stores the orders"

    def cascade(**settings: object) -> list[tuple[str, float]]:
        with in_store({f"cascade.{name}": value for name, value in settings.items()}) as memory:
            memory.remember_many(UNRELATED)
            seed = memory.remember("The database that stores the orders is PostgreSQL", tags=["storage"]).ref
            linked = memory.remember("Ask Priya before touching anything").ref
            tagged = memory.remember("Backups are tested quarterly", tags=["storage"]).ref
            beyond = memory.remember("Quarterly drills are led by Tom").ref
            memory.link(seed, linked, weight=0.5)
            memory.link(tagged, beyond, kind="derived-from")
            found = memory.recall(question, profile="cascade")
            names = {seed: "seed", linked: "linked", tagged: "tagged", beyond: "beyond"}
            return [(names[hit.memory.ref], why(hit)["cascade"]) for hit in found]

    usual = dict(cascade())
    assert usual.keys() == {"seed", "linked", "tagged"}
    assert usual["linked"] == pytest.approx(0.5 * 0.7)
    assert usual["tagged"] == pytest.approx(0.8 * 0.7**2)
    assert dict(cascade(depth=3))["beyond"] == pytest.approx(0.3 * 0.7**3)
    assert dict(cascade(depth=0)).keys() == {"seed"}
    assert dict(cascade(depth=1)).keys() == {"seed", "linked"}
    assert dict(cascade(edge_decay=0.5))["linked"] == pytest.approx(0.5 * 0.5)
    assert cascade(similarity_threshold=1.0) == []
    assert [name for name, _ in cascade(results=2)] == [name for name, _ in cascade()][:2]
    assert len(cascade(similarity_threshold=0.0, initial_hits=1)) == 3


@pytest.mark.row("J7", "best-score")
@pytest.mark.row("J3", "relates-to")
def test_links_rescue_what_neither_words_nor_meaning_would_find(plain: Recollect) -> None:
    """Its reason is the way that led to it."""
    plain.remember_many(UNRELATED)
    seed = plain.remember("The database that stores the orders is PostgreSQL").ref
    lost = plain.remember("Ask Priya before touching anything").ref
    question = "which database stores the orders"
    assert lost not in {hit.memory.ref for hit in plain.recall(question)}
    plain.link(lost, seed, weight=0.9)
    found = {hit.memory.ref: hit for hit in plain.recall(question, profile="cascade")}
    assert detail(found[lost], "cascade") == f"{seed} relates-to {lost}"


def test_a_link_from_the_best_lifts_a_result() -> None:
    """A little."""
    with in_store() as memory:
        memory.remember_many([f"deploy notes of service {number}" for number in range(20)])
        before = {hit.memory.id: hit for hit in memory.recall("deploy notes", gate=False, limit=20)}
        last = [hit.memory.id for hit in memory.recall("deploy notes", gate=False, limit=20)][-1]
        best = next(iter(before))
        memory.link(best, last, weight=1.0)
        after = {hit.memory.id: hit for hit in memory.recall("deploy notes", gate=False, limit=20)}
        assert why(before[last])["links"] == 1.0
        assert 1.0 < why(after[last])["links"] < 1.2
        assert detail(after[last], "links") == f"{best} relates-to {last}"


@pytest.mark.row("P9", "steps", "limits")
def test_praxis_gives_five_results_and_pinned_memories_beside_them() -> None:
    """Fifteen of the best go on, the worst three in ten leave, two of a session stay, five are given."""
    with in_store({"recall.profile": "praxis"}) as memory:
        for number in range(30):
            memory.remember(f"deploy note number {number}", session=f"s{number % 10}")
        for number in range(7):
            memory.pin(memory.remember(f"pinned rule number {number}").ref)
        found = memory.recall("deploy note", limit=100)
        assert len(found) == 5
        assert len(found.pinned) == 5
        assert all(each.status is Status.PINNED for each in found.pinned)
        steps = {memory.why_not("deploy note", each.id).step for each in memory.list({"status": "confirmed"})}
        assert steps == {"returned", "top", "worst", "limit"} | (steps & {"source"})
        assert (
            len(
                [
                    1
                    for each in memory.list({"status": "confirmed"})
                    if memory.why_not("deploy note", each.id).step == "top"
                ]
            )
            == 15
        )


@pytest.mark.row("P9", "limits")
@pytest.mark.parametrize("top, left", [(15, 5), (4, 16), (100, 0)])
def test_how_many_go_on_to_the_final_selection_can_be_set(top: int, left: int) -> None:
    """By a setting."""
    with in_store({"recall.profile": "praxis", "recall.top_k": top}) as memory:
        memory.remember_many([f"deploy note number {number}" for number in range(20)])
        steps = [memory.why_not("deploy note", number).step for number in range(1, 21)]
        assert steps.count("top") == left


@pytest.mark.row("P9", "limits")
def test_praxis_takes_two_of_a_session() -> None:
    """Even where one session has the best of everything."""
    with in_store({"recall.profile": "praxis"}) as memory:
        for number in range(8):
            memory.remember(f"deploy note {number}", session="talkative")
        memory.remember("deploy note deploy note", session="quiet")
        found = memory.recall("deploy note")
        assert [hit.memory.session_id for hit in found] == ["quiet", "talkative", "talkative"]
        left = [memory.why_not("deploy note", number) for number in range(1, 9)]
        assert sum(each.step == "source" for each in left) + sum(each.step == "worst" for each in left) == 6
        assert all(each.detail == "2 better ones come from session talkative" for each in left if each.step == "source")


@pytest.mark.row("P9", "steps")
@pytest.mark.row("P14", "marked")
def test_praxis_tells_of_conflicts_among_its_results() -> None:
    """As long as both sides are live."""
    with in_store({"recall.profile": "praxis"}) as memory:
        one = memory.remember("deploy on fridays is fine").ref
        other = memory.remember("never deploy on fridays").ref
        memory.link(one, other, kind="contradicts")
        assert memory.recall("deploy on fridays").conflicts == ((one, other),)
        memory.link(other, one, kind="supersedes")
        assert memory.recall("deploy on fridays").conflicts == ()
        assert memory.recall("deploy on fridays", profile="default").conflicts == ()


@pytest.mark.row("P9", "time-cut")
def test_praxis_stops_when_its_time_is_up_and_says_so(tmp_path: Path) -> None:
    """What was found so far is the answer: opening the project's store takes longer than a thousandth of a second."""
    settings = {"recall.profile": "praxis", "recall.deadline_ms": 1}
    (tmp_path / "p").mkdir()
    with recollect.open(tmp_path / "p", home=tmp_path / "home", background=False) as memory:
        memory.remember("a deploy of the project")
        memory.remember("a deploy of everybody", scope="global")
    with recollect.open(tmp_path / "p", home=tmp_path / "home", settings=settings, background=False) as memory:
        found = memory.recall("deploy")
        assert said(found) == ["a deploy of the project"]
        assert found.notes == ("the time was up before the global memory was searched",)
        assert "time was up" not in "".join(memory.recall("deploy", profile="default").notes)


@pytest.mark.row("B10", "hybrid")
@pytest.mark.parametrize("vector, text", [(0.7, 0.3), (0.0, 1.0), (1.0, 0.0), (2.5, 10.0)])
def test_brain_weighs_meaning_and_words_as_the_settings_say(vector: float, text: float) -> None:
    """vector_weight times cosine plus text_weight times BM25."""
    settings = {"recall.vector_weight": vector, "recall.text_weight": text, "recall.profile": "brain"}
    question = "which worker renders invoices"
    with in_store(settings) as memory, in_store() as usual:
        for each in (memory, usual):
            each.remember_many(UNRELATED)
        unit = {hit.memory.id: why(hit) for hit in usual.recall(question, profile="brain")}
        for hit in memory.recall(question):
            assert why(hit)["meaning"] == pytest.approx(unit[hit.memory.id]["meaning"] / 0.7 * vector)
            assert why(hit)["words"] == pytest.approx(unit[hit.memory.id]["words"] / 0.3 * text)


def test_the_profile_is_a_setting_that_a_call_may_overrule() -> None:
    """By name."""
    with in_store({"recall.profile": "koshi"}) as memory:
        memory.remember("a deploy")
        assert [each.factor for each in memory.recall("deploy")[0].why] == ["words", "score", "recency"]
        assert [each.factor for each in memory.recall("deploy", profile="words")[0].why] == ["words"]


# What was superseded


@pytest.mark.row("J3", "supersedes")
@pytest.mark.parametrize("search", ["hybrid", "fts5"])
def test_a_superseded_memory_gives_way_to_what_superseded_it(search: str) -> None:
    """Over a whole chain, though only the oldest holds the words that were asked for."""
    with in_store({"recall.search": search}) as memory:
        memory.remember_many(UNRELATED)
        oldest = memory.remember("The cache is kept in Memcached on the web hosts").ref
        middle = memory.remember("Sessions live in Redis").ref
        newest = memory.remember("Everything transient sits inside Valkey nowadays").ref
        memory.link(middle, oldest, kind="supersedes")
        memory.link(newest, middle, kind="supersedes")
        found = memory.recall("where is the cache kept on the web hosts")
        assert [hit.memory.ref for hit in found] == [newest]
        assert detail(found[0], "links").startswith("supersedes [id:")
        assert memory.why_not("where is the cache kept", oldest).step == "superseded"
        assert memory.why_not("where is the cache kept", newest).step == "returned"
        assert oldest in {hit.memory.ref for hit in memory.search("cache")}
        memory.unlink(newest, middle, kind="supersedes")
        assert memory.recall("where is the cache kept on the web hosts")[0].memory.ref == middle


def test_what_superseded_a_memory_must_pass_the_filters_itself() -> None:
    """A filter is never walked around."""
    with in_store({"recall.search": "fts5"}) as memory:
        old = memory.remember("Deploys go out on Fridays", kind="decision", tags=["ops"]).ref
        new = memory.remember("Ship whenever the build is green", kind="fact").ref
        memory.link(new, old, kind="supersedes")
        question = "do deploys go out on Fridays"
        assert [hit.memory.ref for hit in memory.recall(question)] == [new]
        assert not memory.recall(question, kinds=["decision"])
        assert not memory.recall(question, tags=["ops"])
        assert not memory.recall(question, kinds=["fact"])


@pytest.mark.row("J10", "seasons")
def test_what_superseded_a_memory_waits_for_its_season() -> None:
    """It is not brought in by what it superseded."""
    with in_store() as memory:
        old = memory.remember("Deploys go out on Fridays").ref
        new = memory.remember("No deploys at all", season="release-week").ref
        memory.link(new, old, kind="supersedes")
        assert not memory.recall("do deploys go out on Fridays", gate=False)
        assert memory.why_not("do deploys go out on Fridays", new).step == "season"


@pytest.mark.row("J10", "session-only")
def test_a_session_does_not_hand_its_memory_on_by_superseding() -> None:
    """What holds only there stays there, whatever it superseded."""
    with in_store() as memory:
        old = memory.remember("Deploys go out on Fridays").ref
        mine = memory.remember("Ship right now", scope="session", session="s1").ref
        memory.link(mine, old, kind="supersedes")
        question = "do deploys go out on Fridays"
        assert not memory.recall(question, gate=False)
        assert [hit.memory.ref for hit in memory.recall(question, session="s1")] == [mine]
        assert memory.why_not(question, mine).step == "reach"


@pytest.mark.row("J10", "session-only")
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_no_profile_shows_a_sessions_memory_elsewhere(profile: str) -> None:
    """Neither as a result, nor linked, nor pinned beside the results, nor from the past."""
    clock = FixedClock(START)
    with in_store(clock=clock) as memory:
        shown = memory.remember("The deploy key is rotated monthly", tags=["ops"]).ref
        secret = memory.remember("The deploy key is under the mat", scope="session", session="s1", tags=["ops"]).ref
        memory.link(shown, secret)
        memory.pin(secret)
        clock.move(days=1)
        for given in ({}, {"session": "s2"}, {"task": "s1"}, {"as_of": clock.now}):
            found = memory.recall("where is the deploy key", profile=profile, gate=False, **given)
            assert secret not in {hit.memory.ref for hit in found}
            assert secret not in {each.ref for each in found.pinned}
            assert secret not in {end for pair in found.conflicts for end in pair}
        mine = memory.recall("where is the deploy key", profile=profile, gate=False, session="s1")
        assert secret in {hit.memory.ref for hit in mine}


# When, where and from whom


def dated(memory: Recollect, clock: FixedClock, *notes: tuple[int, str]) -> None:
    """Remember each so many days ago."""
    now = clock.now
    for days, text in notes:
        clock.now = now - timedelta(days=days)
        memory.remember(text)
    clock.now = now


@pytest.mark.parametrize(
    "when, first",
    [("last week", "Tuesdays"), ("in March", "Mondays"), ("today", "Fridays"), ("", "Fridays")],
)
def test_a_question_that_names_a_time_prefers_what_is_from_then(when: str, first: str) -> None:
    """Without one, the newest on the same thing."""
    clock = FixedClock(datetime(2026, 6, 18, 12, tzinfo=UTC))
    with in_store({"consolidate.mode": "off"}, clock=clock) as memory:
        dated(
            memory,
            clock,
            (100, "We decided to cut the release branch on Mondays"),
            (9, "We decided to cut the release branch on Tuesdays"),
            (0, "We decided to cut the release branch on Fridays"),
        )
        found = memory.recall(f"what did we decide about the release branch {when}", gate=False)
        assert said(found)[0].endswith(first)
        assert (f"asked for {when}" in detail(found[0], "time")) is bool(when)


def test_what_is_newer_on_the_same_thing_comes_first() -> None:
    """An answer of a year ago is history."""
    clock = FixedClock(START)
    with in_store({"consolidate.mode": "ask"}, clock=clock) as memory:
        memory.remember("The API of the shop listens on port 8080", kind="fact", tags=["api"], files=["api.py"])
        clock.move(days=200)
        memory.remember("The API of the shop listens on port 9090 now", kind="fact", tags=["api"], files=["api.py"])
        assert said(memory.recall("which port does the API of the shop listen on")) == [
            "The API of the shop listens on port 9090 now",
            "The API of the shop listens on port 8080",
        ]


@pytest.mark.parametrize("profile", ["default", "praxis"])
def test_a_memory_of_the_files_at_work_on_is_favoured(plain: Recollect, profile: str) -> None:
    """Which files those are decides the order, and the reason names them."""
    plain.remember("Retries are capped at five attempts in the uploader", files=["upload.py"])
    plain.remember("Retries are capped at nine attempts in the importer", files=["import.py", "x.py"])
    question = "how many attempts are retries capped at"
    for near, first in ((["upload.py"], "uploader"), (["import.py", "other.py"], "importer")):
        found = plain.recall(question, near=near, profile=profile, gate=False)
        assert said(found)[0].endswith(first)
        assert len(found) == 2
        assert detail(found[0], "files") == near[0]
    assert {why(hit)["files"] for hit in plain.recall(question, profile=profile, gate=False)} == {1.0}


def test_a_session_does_not_fill_the_results() -> None:
    """Two of each; how many is a setting, and what belongs to none is not limited."""
    with in_store() as memory:
        for number in range(6):
            memory.remember(f"deploy of service {number}", session="s1")
            memory.remember(f"deploy of machine {number}")
        found = memory.recall("deploy", gate=False, limit=100)
        assert sum(hit.memory.session_id == "s1" for hit in found) == 2
        assert sum(hit.memory.session_id is None for hit in found) == 6
    with in_store({"recall.per_source": 1}) as memory:
        memory.remember_many([recollect.Draft(content=f"deploy {number}", session_id="s1") for number in range(4)])
        assert len(memory.recall("deploy", gate=False)) == 1


def test_near_copies_come_once() -> None:
    """The best of them; one that differs in a number or a negation is no copy."""
    text = (
        "The nightly export of the billing ledger runs on the reporting replica and writes files to the archive bucket"
    )
    with in_store() as memory:
        memory.remember_many([text, f"{text}!!", f"{text} today", f"{text} 2", f"{text}, not"])
        found = memory.recall("where does the nightly export of the billing ledger run", gate=False)
        assert len(found) == 3
        copies = [memory.why_not("where does the nightly export run", number) for number in range(1, 6)]
        assert sorted(each.step for each in copies) == ["copy", "copy", "returned", "returned", "returned"]
        assert all("says nearly the same as [id:" in each.detail for each in copies if each.step == "copy")
        assert len(memory.recall("where does the nightly export run", gate=False, profile="koshi")) == 5


# Why not


@pytest.mark.row("X14", "absence")
def test_an_absence_names_the_step_at_which_a_memory_left() -> None:
    """Whatever the step, with the amount."""
    with temp_recollect(clock=FixedClock(START), background=False) as memory:
        memory.remember_many(UNRELATED)
        forgotten = memory.remember("Deploys go out on Fridays").ref
        memory.forget(forgotten)
        mine = memory.remember("Deploys are mine", scope="session", session="s1").ref
        shared = memory.remember("Deploys are announced", scope="global").ref
        deploys = [memory.remember(f"Deploys of kind number{number} go out from main").ref for number in range(12)]
        question = "do deploys go out from main"

        def step(ref: str, **given: Any) -> str:
            absent = memory.why_not(question, ref, **given)
            assert absent.detail
            assert absent.memory.ref == ref
            return absent.step

        assert step(forgotten) == "status"
        assert step(mine) == "reach"
        assert step(shared, space="project") == "space"
        assert step(deploys[0], kinds=["decision"]) == "filter"
        assert step("1") == "gate"
        steps = [step(ref) for ref in deploys]
        assert steps.count("returned") == len(memory.recall(question))
        assert set(steps) <= {"returned", "limit", "copy"}
        assert memory.why_not("?!", deploys[0]).step == "question"
        with pytest.raises(NotFound):
            memory.why_not(question, 999)
        memory.turn_off()
        assert step(deploys[0]) == "off"


@pytest.mark.row("X14", "absence")
def test_a_memory_that_the_search_did_not_find_says_by_how_much() -> None:
    """There were so many better ones that it was not even looked at."""
    with in_store({"recall.candidates": 10}) as memory:
        memory.remember_many([f"deploy of the service number {number}" for number in range(40)])
        lost = memory.remember("The cat sleeps on the sofa").ref
        absent = memory.why_not("deploy of the service", lost)
        assert absent.step == "search"
        assert "it holds none of the words; cosine" in absent.detail
        assert "found by meaning has" in absent.detail


@pytest.mark.row("X14", "absence")
def test_what_was_returned_is_told_with_its_place_and_reasons(plain: Recollect) -> None:
    """The same as recall gives."""
    plain.remember_many(UNRELATED)
    found = plain.recall("which worker renders invoices")
    for place, hit in enumerate(found, start=1):
        absent = plain.why_not("which worker renders invoices", hit.memory.ref)
        assert (absent.step, absent.place, absent.why) == ("returned", place, hit.why)


def test_asking_why_leaves_nothing_behind() -> None:
    """It is a look at the search, not a use of the memory."""
    with in_store() as memory:
        memory.remember("a deploy")
        for _ in range(3):
            memory.why_not("deploy", 1)
        memory._parts.habits.write()
        assert memory.get(1).access_count == 0


# A global memory that cannot be used


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_the_project_answers_though_the_global_memory_cannot(tmp_path: Path, profile: str) -> None:
    """And says what is missing, once; the past answers likewise."""
    home = tmp_path / "home"
    (tmp_path / "p").mkdir()
    with recollect.open(tmp_path / "p", home=home, background=False) as memory:
        memory.remember("a deploy of the project")
        memory.pin(1)
    (home / "global").mkdir(exist_ok=True)
    (home / "global" / "memory.db").write_bytes(b"this is no database" * 1_000)
    with recollect.open(tmp_path / "p", home=home, background=False) as memory:
        for moment in (None, datetime.now(UTC)):
            found = memory.recall("deploy of the project", profile=profile, as_of=moment, gate=False)
            assert said(found) == ["a deploy of the project"]
            assert sum("global memory could not be searched" in note for note in found.notes) == 1
        with pytest.raises(StoreError):
            memory.recall("deploy", space="global", profile=profile)


# A reranker


class Reordering:
    """A reranker that does what it is told, and notes what it was given."""

    def __init__(self, order: Callable[[tuple[Hit, ...]], Any]) -> None:
        self.order = order
        self.asked: list[tuple[str, tuple[Hit, ...]]] = []

    def rerank(self, query: str, hits: tuple[Hit, ...]) -> Iterable[Hit]:
        self.asked.append((query, hits))
        found: Iterable[Hit] = self.order(hits)
        return found


def reranking(order: Callable[[tuple[Hit, ...]], Any], **settings: object) -> tuple[Recollect, Reordering]:
    """A memory of five deploys with a reranker."""
    reranker = Reordering(order)
    memory = recollect.open(
        store="memory:", clock=FixedClock(START), background=False, reranker=reranker, settings=settings
    )
    memory.remember_many([f"deploy of service {name}" for name in ("one", "two", "three", "four", "five")])
    return memory, reranker


QUESTION = "deploy of service"


@pytest.mark.row("P21", "default")
@pytest.mark.row("P9", "steps")
def test_without_a_reranker_places_are_those_of_the_ranking() -> None:
    """The one that comes with it changes nothing."""
    memory, _ = reranking(lambda hits: hits)
    with memory, in_store() as usual:
        usual.remember_many([each.content for each in reversed(memory.list())])
        assert [hit.score for hit in memory.recall(QUESTION)] == [hit.score for hit in usual.recall(QUESTION)]
        assert said(memory.recall(QUESTION)) == said(usual.recall(QUESTION))
        scores = [hit.score for hit in usual.recall(QUESTION, profile="words")]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.row("P21", "hook")
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_reranker_orders_what_was_ranked_before_results_are_selected(profile: str) -> None:
    """The limit is drawn in its order, and a hit tells where it was moved from."""
    memory, reranker = reranking(lambda hits: hits[::-1])
    with memory:
        found = memory.recall(QUESTION, profile=profile, gate=False, limit=2)
        [(query, given)] = reranker.asked
        assert query == QUESTION
        assert len(given) == 5
        assert said(found) == [hit.memory.content for hit in given[::-1]][:2]
        assert detail(found[0], "reranker") == "moved from place 5 to 1"
        assert found.notes == ()
        plain = {hit.memory.uid: hit for hit in given}
        for hit in found:
            assert hit.score == plain[hit.memory.uid].score
            assert why(hit).get("reranker", 1.0) == 1.0


@pytest.mark.row("P21", "hook")
def test_what_a_reranker_leaves_out_comes_after_the_others() -> None:
    """In the order it had; it may look at the first few only."""
    memory, reranker = reranking(lambda hits: [hits[3], hits[1]])
    with memory:
        found = memory.recall(QUESTION, gate=False)
        given = reranker.asked[0][1]
        assert said(found) == [given[at].memory.content for at in (3, 1, 0, 2, 4)]
        assert memory.why_not(QUESTION, found[0].memory.ref).place == 1


def failing(error: BaseException) -> Callable[[tuple[Hit, ...]], Any]:
    """A reranker that raises this."""

    def order(hits: tuple[Hit, ...]) -> Any:
        raise error

    return order


def endless(hits: tuple[Hit, ...]) -> Iterator[Hit]:
    """A reranker that never ends."""
    while True:
        yield hits[0]


@pytest.mark.row("P21", "hook")
@pytest.mark.parametrize(
    "order, told",
    [
        (failing(ValueError("no such model")), "ValueError: no such model"),
        (failing(recollect.RecollectError("broken")), "RecollectError: broken"),
        (failing(ZeroDivisionError()), "ZeroDivisionError"),
        (lambda hits: None, "TypeError"),
        (lambda hits: 5, "TypeError"),
        (lambda hits: ["a", "b"], "AttributeError"),
        (lambda hits: [*hits, hits[0]], "gave one twice"),
        (lambda hits: [replace(hits[0], memory=replace(hits[0].memory, uid="made-up")), *hits], "was not given"),
        (endless, "gave one twice"),
    ],
    ids=["value", "own", "any", "none", "number", "texts", "twice", "invented", "endless"],
)
def test_a_reranker_that_fails_is_left_out_with_a_note(order: Callable[[tuple[Hit, ...]], Any], told: str) -> None:
    """It can spoil neither the results nor the call."""
    memory, reranker = reranking(order)
    with memory:
        found = memory.recall(QUESTION, gate=False)
        assert said(found) == [hit.memory.content for hit in reranker.asked[0][1]]
        assert len(found.notes) == 1
        assert told in found.notes[0]
        assert "left out" in found.notes[0]


def test_a_reranker_changes_nothing_of_a_hit() -> None:
    """Only places are taken from it."""
    memory, reranker = reranking(
        lambda hits: [replace(hit, score=99.0, memory=replace(hit.memory, content="lies")) for hit in hits[::-1]]
    )
    with memory:
        found = memory.recall(QUESTION, gate=False)
        given = reranker.asked[0][1]
        assert said(found) == [hit.memory.content for hit in given[::-1]]
        assert [hit.score for hit in found] == [hit.score for hit in given[::-1]]


def test_a_reranker_is_not_asked_about_nothing() -> None:
    """Nor does a person who interrupts it have to wait."""
    memory, reranker = reranking(lambda hits: hits)
    with memory:
        memory.recall("?!")
        assert reranker.asked == []
    memory, _ = reranking(failing(KeyboardInterrupt()))
    with memory, pytest.raises(KeyboardInterrupt):
        memory.recall(QUESTION)


def test_another_model_can_be_given_when_opening() -> None:
    """Any that fulfils the protocol."""
    with temp_recollect(embedder=HashEmbedder(32), background=False) as memory:
        memory.remember("deploys go out from main")
        assert said(memory.recall("main deploys go out")) == ["deploys go out from main"]
        assert [(each.model, each.done) for each in memory.status().vectors] == [("hash-32", 1)]
