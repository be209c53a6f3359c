"""A memory with a judge, a governor and subscribers: what the engine asks of them, and what it does without them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from judge_kit import Api, served

import recollect
from recollect import Recollect, Situation
from recollect.engine.events import NAMES, Event
from recollect.model import LinkKind
from recollect.surfaces.cli import main

ASKS = "why does the nightly billing export fail?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    yield from served(tmp_path_factory.mktemp("api"))


@pytest.fixture
def api(server: Api) -> Api:
    return server.afresh()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Recollect]]:
    """Opens memories with a judge that speaks OpenAI's interface, and closes them in the end."""
    (tmp_path / "project").mkdir()
    open_now: list[Recollect] = []

    def opener(url: str = "", *, background: bool = False, **settings: Any) -> Recollect:
        chosen = {"judge.kind": "openai", "judge.url": url, "judge.model": "fake"} if url else {}
        memory = recollect.open(
            tmp_path / "project", home=tmp_path / "home", settings={**chosen, **settings}, background=background
        )
        open_now.append(memory)
        return memory

    yield opener
    for memory in open_now:
        memory.close()


def stock(memory: Recollect) -> None:
    memory.remember("The nightly billing export runs on the reporting replica")
    memory.remember("Invoices are numbered without gaps, by law")
    memory.remember("The billing team meets on Mondays")


def patient(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    assert condition()


@pytest.mark.row("J20", "verify")
@pytest.mark.row("J6", "judged")
def test_a_judge_decides_what_the_agent_gives_and_links_it(api: Api, opened: Callable[..., Recollect]) -> None:
    """In the background: what it finds of use is given, however unsure rules were, and what goes together is linked."""
    memory = opened(api.url("say"))
    stock(memory)
    api.says({"relevant": [1, 2], "links": [{"one": 1, "other": 2, "relation": "related"}]})
    memory.agent.offer(Situation(prompt=ASKS, session="s"))
    patient(lambda: bool(api.asked))
    patient(lambda: bool(memory.links("1")) or bool(memory.links("2")) or bool(memory.links("3")))
    given = memory.agent.take("s")
    assert len(given.recollection) == 2
    made = {link for number in "123" for link in memory.links(number) if link.kind is LinkKind.RELATES_TO}
    assert [link.made_by for link in made] == ["judge"]


@pytest.mark.row("J4", "judged")
def test_a_judge_says_what_a_memory_without_tags_is_about(api: Api, opened: Callable[..., Recollect]) -> None:
    """It is written down with what else was learned, in the agent's name."""
    memory = opened(api.url("say"))
    stock(memory)
    api.says({"relevant": [1], "links": [], "tags": ["exports"]})
    memory.agent.ask(Situation(prompt=ASKS, session="s"), deadline=20)
    patient(lambda: len(api.asked) >= 2)
    memory.agent.close()
    assert [each.tags for each in memory.list({}) if each.tags] == [("exports",)]
    assert memory.audit(limit=None)[-1].actor == "agent"


@pytest.mark.row("J20", "contradict")
def test_a_judge_reads_what_is_written_against_what_is_there(api: Api, opened: Callable[..., Recollect]) -> None:
    """A contradiction it sees becomes a conflict for people to settle; nothing gives way by its word alone."""
    memory = opened(api.url("say"), background=True)
    memory.remember("Releases of the billing service are cut from the main branch")
    api.says({"relations": [{"memory": 1, "relation": "contradicts"}]})
    memory.remember("The billing service ships its releases off of long-lived release branches")
    patient(lambda: bool(memory.conflicts()))
    [conflict] = memory.conflicts()
    assert (conflict.older.ref, conflict.newer.ref, conflict.found_by) == ("1", "2", "judge")
    assert memory.count() == 2


def test_a_judge_may_order_results(api: Api, opened: Callable[..., Recollect]) -> None:
    """If the settings want that of every recall."""
    memory = opened(api.url("say"), **{"judge.rerank": True})
    stock(memory)
    api.says({"order": [2, 1]})
    found = [hit.memory.ref for hit in memory.recall("billing", gate=False)]
    plain = opened()
    assert found[:2] == [hit.memory.ref for hit in plain.recall("billing", gate=False)][:2][::-1]


@pytest.mark.row("J20", "without")
@pytest.mark.parametrize("mode", ["error-500", "garbage", "refused"])
def test_without_a_good_answer_rules_decide(api: Api, opened: Callable[..., Recollect], mode: str) -> None:
    """The agent gets what it would get without a judge, and the failure is counted."""
    url = "http://127.0.0.1:9" if mode == "refused" else api.url("say" if mode == "garbage" else mode)
    api.says("certainly! here you go")
    memory = opened(url, **{"judge.timeout": 5.0})
    stock(memory)
    by_rules = memory.context(ASKS).recollection
    judged = memory.agent.ask(Situation(prompt=ASKS, session="s"), deadline=20)
    assert [item.ref for item in judged.recollection] == [item.ref for item in by_rules]
    health = memory.status().health
    assert health is not None
    assert health.asked >= 1
    assert health.fallbacks >= 1


def test_a_prompt_that_somebody_waits_for_is_read_to_no_model(api: Api, opened: Callable[..., Recollect]) -> None:
    """`context` answers at once, by rules; and where there is no background, `remember` asks nobody either."""
    memory = opened(api.url("say"))
    stock(memory)
    memory.context(ASKS)
    assert api.asked == []


@pytest.mark.row("J20", "extract")
def test_a_judge_reads_a_session_and_sums_it_up(api: Api, opened: Callable[..., Recollect]) -> None:
    """Its words are stored as extracted, never as the user's own."""
    memory = opened(api.url("say"))
    session = memory.session("s1")
    session.append("user", "Please look why the importer fails")
    session.append("assistant", "The header has a BOM; the importer now reads files with utf-8-sig.")
    api.says({"summary": "Asked: mend the importer", "memories": []})
    done = session.finalise()
    assert done.summary == "Asked: mend the importer"
    kept = [each for each in memory.list({}) if each.content == "Asked: mend the importer"]
    assert [each.origin.value for each in kept] == ["extracted"]


@pytest.mark.row("X3", "degrades")
@pytest.mark.row("X3", "calls")
@pytest.mark.row("X3", "spend")
def test_when_the_budget_is_spent_rules_take_over_and_status_says_so(
    api: Api,
    opened: Callable[..., Recollect],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not one request more than allowed goes out, in another process of the same home neither."""
    monkeypatch.setenv("RECOLLECT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RECOLLECT_GOVERNOR_CALLS_HOUR", "2")
    memory = opened(api.url("say"), **{"governor.calls_hour": 2})
    stock(memory)
    api.says({"relevant": [1], "links": []})
    for number in range(5):
        memory.agent.ask(Situation(prompt=f"{ASKS} attempt {number} of many", session="s"), deadline=20)
    assert len(api.asked) == 2
    again = opened(api.url("say"), **{"governor.calls_hour": 2})
    again.agent.ask(Situation(prompt=f"{ASKS} once more", session="t"), deadline=20)
    assert len(api.asked) == 2
    health = again.status().health
    assert health is not None
    assert health.spend is not None
    assert any("calls" in note for note in health.spend.notes)
    with pytest.raises(SystemExit):
        main(["--project", str(tmp_path / "project"), "status"])
    told = capsys.readouterr().out
    assert "2 of 2 calls this hour" in told
    assert "rules do the work until" in told


@pytest.mark.row("P10", "degrades", "recovers")
def test_a_slow_recall_does_less_until_it_is_fast_again(opened: Callable[..., Recollect]) -> None:
    """And says so."""
    memory = opened()
    stock(memory)
    slo = memory._parts.oversight.slo
    for _ in range(20):
        slo.timed(1_000)
    slow = memory.recall(ASKS)
    assert any("slow lately" in note for note in slow.notes)
    health = memory.status().health
    assert health is not None
    assert health.degraded
    for _ in range(200):
        slo.timed(1)
    assert not any("slow lately" in note for note in memory.recall(ASKS).notes)


@pytest.mark.row("B11", "memory:read", "memory:write", "memory:flush", "memory:compact", "memory:search")
def test_what_memory_does_is_told(opened: Callable[..., Recollect]) -> None:
    """All five, by ordinary calls; a subscriber that fails keeps nobody from hearing."""
    memory = opened(**{"compaction.keep_recent": 1})
    heard: list[Event] = []

    def broken(event: Event) -> None:
        raise RuntimeError("no")

    memory.events.subscribe(broken)
    memory.events.subscribe(heard.append)
    memory.remember("The nightly billing export runs on the replica")
    memory.recall("billing export")
    session = memory.session("s1")
    for number in range(6):
        session.append("user", f"We decided to use tool number {number} for the export, because it is faster.")
    session.compact(force=True)
    patient(lambda: {each.name for each in heard} >= set(NAMES))
    written = next(each for each in heard if each.name == "memory:write")
    assert written.payload()["delta"] == len("The nightly billing export runs on the replica")
    searched = next(each for each in heard if each.name == "memory:search")
    assert searched.payload() == {"query": "billing export", "results": ["1"]}
