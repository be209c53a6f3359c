"""What sessions were given already: by topic and agent, across processes, within bounds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import recollect
from recollect import Recollect
from recollect.engine import surfaced
from recollect.engine.surfaced import LOOKED_BACK, REMEMBERED, WAITING, Reception, Surfaced
from recollect.model import Given, GivenItem
from recollect.testing import FixedClock

START = datetime(2026, 1, 1, tzinfo=UTC)
GATEWAY = "which port does the gateway listen on?"
GATEWAY_AGAIN = "and which port does the gateway use for TLS?"
LOCALES = "where do the translations live?"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Recollect]:
    with recollect.open(store=str(tmp_path / "memory.db"), clock=clock, background=False) as opened:
        yield opened


@pytest.fixture
def told(memory: Recollect) -> Surfaced:
    return memory._contexts.surfaced


@pytest.fixture
def record(clock: FixedClock) -> Callable[..., Given]:
    """Makes records, each later than the one before."""
    count = 0

    def made(*refs: str, session: str = "s", agent: str = "", topic: int = 0, query: str = "") -> Given:
        nonlocal count
        count += 1
        clock.move(seconds=1)
        items = tuple(GivenItem(ref=ref, tokens=10) for ref in refs)
        return Given(id=f"r{count}", at=clock.now, session=session, agent=agent, topic=topic, query=query, items=items)

    return made


Made = Callable[..., Given]


# --- Topics --------------------------------------------------------------------------------------------------------


@pytest.mark.row("J18", "no-repeat")
def test_what_was_given_on_a_topic_is_known_until_it_changes(told: Surfaced, record: Made) -> None:
    assert told.since("s", "", GATEWAY) == (0, frozenset())
    told.note(record("1", "2", query=GATEWAY))
    told.note(record("3", query=GATEWAY_AGAIN))
    assert told.since("s", "", GATEWAY) == (0, frozenset({"1", "2", "3"}))


@pytest.mark.row("J18", "topic-change")
@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        (GATEWAY, GATEWAY, True),
        (GATEWAY, GATEWAY_AGAIN, True),
        ("why does the billing worker retry?", "make the billing worker retry five times", True),
        (GATEWAY, LOCALES, False),
        ("why does the billing worker retry?", "how long are search results cached?", False),
        (GATEWAY, "", True),  # nothing of its own: thanks, yes
    ],
)
@pytest.mark.parametrize("search", ["hybrid", "fts5"])
def test_a_topic_changes_when_a_prompt_is_unlike_the_one_before(
    clock: FixedClock, record: Made, before: str, now: str, same: bool, search: str
) -> None:
    """By meaning, and by words where meaning is not to be had."""
    settings = {"recall.search": search}
    with recollect.open(store="memory:", clock=clock, settings=settings, background=False) as memory:
        told = memory._contexts.surfaced
        told.note(record("1", query=before))
        assert told.since("s", "", now) == ((0, frozenset({"1"})) if same else (1, frozenset()))


@pytest.mark.row("J18", "topic-change")
def test_how_alike_prompts_must_be_can_be_set(clock: FixedClock, record: Made) -> None:
    for least, same in ((0.0, True), (1.0, False)):
        settings = {"agent.topic_similarity": least}
        with recollect.open(store="memory:", clock=clock, settings=settings, background=False) as memory:
            told = memory._contexts.surfaced
            told.note(record("1", query=GATEWAY))
            assert (told.since("s", "", GATEWAY_AGAIN)[0] == 0) is same


def test_the_prompt_before_counts_and_not_the_first_one(told: Surfaced, record: Made) -> None:
    """A conversation that drifts stays on its topic; a prompt without words of its own moves nothing."""
    told.note(record("1", query=GATEWAY))
    told.note(record("2", query=""))
    assert told.since("s", "", GATEWAY_AGAIN) == (0, frozenset({"1", "2"}))
    assert told.since("s", "", LOCALES) == (1, frozenset())


@pytest.mark.row("J18", "topic-change")
@pytest.mark.parametrize("reopened", [False, True], ids=["same process", "another"])
def test_a_session_that_begins_anew_begins_a_topic_that_its_first_prompt_belongs_to(
    memory: Recollect, tmp_path: Path, clock: FixedClock, record: Made, reopened: bool
) -> None:
    """What was given when it began again is not given a second time with the prompt after it, whatever that is."""
    told = memory._contexts.surfaced
    told.note(record("1", "2", query=GATEWAY))
    topic, known = told.since("s", "", "", afresh=True)
    assert (topic, known) == (1, frozenset())
    told.note(record("1", topic=topic))
    if reopened:
        memory.close()
        memory = recollect.open(store=str(tmp_path / "memory.db"), clock=clock, background=False)
        told = memory._contexts.surfaced
    assert told.since("s", "", LOCALES) == (1, frozenset({"1"}))
    told.note(record("5", topic=1, query=LOCALES))
    assert told.since("s", "", GATEWAY) == (2, frozenset())
    memory.close()


# --- Sessions and agents -------------------------------------------------------------------------------------------


@pytest.mark.row("J18", "no-repeat")
def test_each_agent_of_each_session_has_its_own(told: Surfaced, record: Made) -> None:
    told.note(record("1", agent="main", query=GATEWAY))
    told.note(record("2", agent="scout", query=LOCALES))
    told.note(record("3", session="t", agent="main", query=GATEWAY))
    assert told.since("s", "main", GATEWAY)[1] == {"1"}
    assert told.since("s", "scout", LOCALES)[1] == {"2"}
    assert told.since("s", "", GATEWAY)[1] == frozenset()
    assert told.since("t", "main", GATEWAY)[1] == {"3"}


def test_without_a_session_nothing_is_known(told: Surfaced, record: Made) -> None:
    told.note(record("1", session="", query=GATEWAY))
    assert told.since("", "", GATEWAY) == (0, frozenset())


# --- Processes -----------------------------------------------------------------------------------------------------


@pytest.mark.row("J18", "no-repeat", "topic-change")
def test_it_is_known_after_reopening(memory: Recollect, tmp_path: Path, clock: FixedClock, record: Made) -> None:
    """Topic, agents and what was given since the topic began; not what was given before that."""
    told = memory._contexts.surfaced
    told.note(record("1", agent="main", query=GATEWAY))
    told.note(record("2", agent="main", topic=1, query=LOCALES))
    told.note(record("3", agent="main", topic=1))
    told.note(record("9", agent="scout", query=GATEWAY))
    memory.close()
    with recollect.open(store=str(tmp_path / "memory.db"), clock=clock, background=False) as again:
        told = again._contexts.surfaced
        assert told.since("s", "main", LOCALES) == (1, frozenset({"2", "3"}))
        assert told.since("s", "main", GATEWAY) == (2, frozenset())
        assert told.since("s", "scout", GATEWAY_AGAIN) == (0, frozenset({"9"}))


ASK = """
import json, sys, recollect
with recollect.open(store=sys.argv[1], background=False) as memory:
    print(json.dumps([item.ref for item in memory.context(sys.argv[2], session="s").recollection]))
"""


@pytest.mark.row("J18", "no-repeat", "topic-change")
def test_it_is_known_to_processes_that_follow_each_other(tmp_path: Path) -> None:
    """As hooks do: each prompt in a process of its own."""
    path = str(tmp_path / "memory.db")
    with recollect.open(store=path, background=False) as memory:
        facts = ("The gateway listens on port 9000", "Translations live in locales/de.json", "Deploys go out from main")
        memory.remember_many(facts)
        memory.embed_pending()

    def asked(prompt: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", ASK, path, prompt], env=dict(os.environ), capture_output=True, check=True, timeout=60
        )
        return list(json.loads(done.stdout))

    assert [asked(prompt) for prompt in (GATEWAY, GATEWAY, LOCALES, GATEWAY)] == [["1"], [], ["2"], ["1"]]


# --- Bounds --------------------------------------------------------------------------------------------------------


def test_only_so_many_sessions_are_kept_at_hand_and_the_rest_is_read_again(told: Surfaced, record: Made) -> None:
    for n in range(REMEMBERED + 20):
        told.note(record(str(n), session=f"s{n}", query=GATEWAY))
    assert len(told._told) == REMEMBERED
    told.write()
    assert told.since("s0", "", GATEWAY) == (0, frozenset({"0"}))


def test_records_are_written_in_batches(memory: Recollect, told: Surfaced, record: Made) -> None:
    store = memory._parts.project()
    for n in range(WAITING - 1):
        told.note(record(str(n)))
    assert store.given() == ()
    told.note(record("last"))
    assert len(store.given()) == WAITING
    assert told._waiting == []


def test_of_a_long_session_the_latest_records_are_read(
    memory: Recollect, tmp_path: Path, clock: FixedClock, record: Made
) -> None:
    told = memory._contexts.surfaced
    for n in range(LOOKED_BACK + 40):
        told.note(record(str(n), query=GATEWAY))
    memory.close()
    with recollect.open(store=str(tmp_path / "memory.db"), clock=clock, background=False) as again:
        known = again._contexts.surfaced.since("s", "", GATEWAY)[1]
    assert known == {str(n) for n in range(40, LOOKED_BACK + 40)}


def test_a_store_that_is_gone_loses_the_record_and_nothing_else(memory: Recollect, record: Made) -> None:
    told = memory._contexts.surfaced
    memory.close()
    for n in range(WAITING + 1):
        told.note(record(str(n), query=GATEWAY))
    assert told.since("s", "", GATEWAY)[1] == {str(n) for n in range(WAITING + 1)}


# --- How it was received -------------------------------------------------------------------------------------------


def test_nothing_was_given_yet(told: Surfaced, clock: FixedClock) -> None:
    found = told.reception(clock.now)
    assert (found.prompts, found.items, found.latest) == (0, 0, None)
    assert [(use.given, use.useful) for use in found.scopes] == [(0, 0)] * 3
    assert [use.share for use in found.scopes] == pytest.approx([0.4, 0.4, 0.2])


@pytest.mark.row("E11")
def test_use_is_counted_by_scope(memory: Recollect, told: Surfaced, clock: FixedClock) -> None:
    """Tokens of what was given, and of what was called helpful more often than not; a session's are the task's."""
    made = [
        memory.remember("The beacon is green", scope="task", task="t").memory,
        memory.remember("The beacon is red", scope="session", session="s").memory,
        memory.remember("Deploys go out from main").memory,
        memory.remember("Translations live in locales").memory,
        memory.remember("Answer in British English", scope="global").memory,
    ]
    items = tuple(GivenItem(uid=memory_.uid, ref=memory_.ref, tokens=10 * n) for n, memory_ in enumerate(made, 1))
    told.note(Given(id="r", at=clock.now, items=items, tokens=150))
    clock.move(seconds=1)
    for ref, helpful in (("1", True), ("3", True), ("3", False), ("g1", True)):
        memory.feedback(ref, helpful=helpful)
    found: Reception = told.reception(clock.now)
    assert [(use.scope, use.given, use.useful) for use in found.scopes] == [
        ("task", 30, 10),
        ("project", 70, 0),
        ("global", 50, 50),
    ]
    assert (found.helpful, found.unhelpful) == (3, 1)
    assert {use.scope: use.share for use in found.scopes} == pytest.approx(told.shares())


def test_what_is_read_in_pieces_is_read_whole(
    memory: Recollect, told: Surfaced, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surfaced, "_READ_AT_ONCE", 3)
    made = [memory.remember(f"Beacon number {n}", scope="session", session="s").memory for n in range(8)]
    made += [memory.remember(f"Harbour number {n}").memory for n in range(8)]
    assert told._near(each.uid for each in made) == {each.uid for each in made[:8]}
