"""The memory agent: handed context without waiting, asked a turn later, and learning from what was given."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

import recollect
from recollect import Kind, LinkKind, Recollect, Status, StoreReadOnly
from recollect.engine import agent as background
from recollect.engine.context import Context, Situation
from recollect.judge import Linked, Question, Relation, RulesJudge, Verified, Verify
from recollect.model import Regroup
from recollect.store import Store, open_store
from recollect.testing import FixedClock, HashEmbedder, temp_recollect

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEADLINE = 20.0
GATEWAY = "The gateway listens on port 9000"
ASKS_GATEWAY = "which port does the gateway listen on?"
BILLING = "The billing worker retries three times with backoff"
ASKS_BILLING = "why does the billing worker retry three times?"
LOCALES = "Translations live in locales/de.json"
ASKS_LOCALES = "where do the translations in locales live?"
ASKS_THREE = "does the billing worker retry, what does the billing worker need, where does it log"
NOBODY_KNOWS = "how is the telescope calibrated against Jupiter?"
FACTS = (GATEWAY, BILLING, LOCALES, "Deploys go out from main on Fridays", "Search results are cached for ten minutes")


class Door(HashEmbedder):
    """A model that answers only while its door is open, and says when somebody is waiting before it."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = threading.Event()
        self.opened.set()
        self.knocked = threading.Event()
        self.breaks = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if threading.current_thread().name == "recollect-agent":
            self.knocked.set()
            self.opened.wait(DEADLINE)
            if self.breaks:
                raise RuntimeError("the model fell over")
        return super().embed(texts)

    def shut(self) -> None:
        self.knocked.clear()
        self.opened.clear()


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.opened.set()
    assert rests()


@pytest.fixture
def memory(door: Door) -> Iterator[Recollect]:
    with temp_recollect(clock=FixedClock(), embedder=door, background=False) as opened:
        stock(opened)
        yield opened


def stock(memory: Recollect, texts: Sequence[str] = FACTS) -> None:
    memory.remember_many(list(texts))
    memory.embed_pending()


def ask(prompt: str, session: str = "s", **more: Any) -> Situation:
    return Situation(prompt=prompt, session=session, **more)


def wait_for(true: Callable[[], bool]) -> bool:
    until = time.monotonic() + DEADLINE
    while not true() and time.monotonic() < until:
        time.sleep(0.002)
    return true()


def rests() -> bool:
    """Whether the worker of this process comes to rest: nothing waits, and nothing is being done."""
    worker = background._WORKER
    return wait_for(lambda: not worker._waiting and worker._busy is None)


def threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "recollect-agent" and each.is_alive()]


def texts(context: Context) -> list[str]:
    return [item.text for item in context.recollection]


def served(memory: Recollect, prompt: str, session: str = "s", **more: Any) -> Context:
    """A context handed over, and what it brought, once the worker is done with it."""
    memory.agent.offer(ask(prompt, session, **more))
    assert rests()
    return memory.agent.take(session, more.get("agent", ""))


# --- Nobody waits ---------------------------------------------------------------------------------------------------


@pytest.mark.row("J1", "never-blocks")
def test_handing_over_never_waits_whatever_hangs(memory: Recollect, door: Door) -> None:
    """With the worker stuck in a model that never answers, and the queue full; 1 ms is allowed for one in a hundred."""
    door.shut()
    agent = memory.agent
    agent.offer(ask(ASKS_GATEWAY, "first"))
    assert door.knocked.wait(DEADLINE)

    def late() -> float:
        taken = []
        for number in range(2_000):
            situation = ask(ASKS_GATEWAY, f"s{number % 100}")
            began = time.perf_counter()
            agent.offer(situation)
            taken.append(time.perf_counter() - began)
        return sorted(taken)[1_980]

    # The best of some rounds: this machine may be at other work.
    assert min(late() for _ in range(5)) <= 0.001
    began = time.perf_counter()
    assert not agent.take("s1")
    assert time.perf_counter() - began < 0.1
    assert not door.opened.is_set()


@pytest.mark.row("J1", "next-turn")
def test_what_a_turn_asks_for_is_taken_at_the_next(memory: Recollect, door: Door) -> None:
    agent = memory.agent
    assert agent.take("s") == Context()
    door.shut()
    agent.offer(ask(ASKS_GATEWAY))
    assert agent.take("s") == Context()
    door.opened.set()
    assert rests()
    assert texts(agent.take("s")) == [GATEWAY]
    assert agent.take("s") == Context()


def test_results_are_kept_apart_by_session_and_agent(memory: Recollect) -> None:
    agent = memory.agent
    agent.offer(ask(ASKS_GATEWAY, "s"))
    agent.offer(ask(ASKS_BILLING, "s", agent="reviewer"))
    agent.offer(ask(ASKS_LOCALES, "t"))
    assert rests()
    assert texts(agent.take("s", "reviewer")) == [BILLING]
    assert texts(agent.take("t")) == [LOCALES]
    assert texts(agent.take("s")) == [GATEWAY]
    assert agent.take("nobody") == Context()


@pytest.mark.row("J1", "one-per-process")
def test_all_memories_of_a_process_share_one_worker(memory: Recollect) -> None:
    with temp_recollect(background=False) as other, temp_recollect(background=False) as third:
        for each in (other, third):
            stock(each)
        everyone = (memory, other, third)
        for session in ("s", "t"):
            for each in everyone:
                each.agent.offer(ask(ASKS_GATEWAY, session))
        assert len(threads()) == 1
        assert rests()
        assert [texts(each.agent.take(session)) for each in everyone for session in "st"] == [[GATEWAY]] * 6
        assert len(threads()) == 1


def test_no_memory_is_kept_waiting_by_the_many_sessions_of_another(memory: Recollect, door: Door) -> None:
    """They are served in turns."""
    with temp_recollect(background=False) as other:
        stock(other)
        door.shut()
        for number in range(10):
            memory.agent.offer(ask(ASKS_GATEWAY, f"s{number}"))
        assert door.knocked.wait(DEADLINE)
        other.agent.offer(ask(ASKS_GATEWAY))
        assert next(iter(background._WORKER._waiting)) is memory.agent
        door.opened.set()
        assert wait_for(lambda: bool(other.agent._ready))
        assert rests()


def test_a_session_in_a_hurry_does_not_lose_its_place(memory: Recollect, door: Door) -> None:
    """Whoever hands over again and again would be served last each time, if each began at the end of the line."""
    door.shut()
    memory.agent.offer(ask(ASKS_GATEWAY, "first"))
    assert door.knocked.wait(DEADLINE)
    for prompt, session in ((ASKS_GATEWAY, "hasty"), (ASKS_GATEWAY, "calm"), (ASKS_BILLING, "hasty")):
        memory.agent.offer(ask(prompt, session))
    [line] = background._WORKER._waiting.values()
    assert [(key[0], job.situation.prompt) for key, job in line.items()] == [
        ("hasty", ASKS_BILLING),
        ("calm", ASKS_GATEWAY),
    ]


# --- The queue ------------------------------------------------------------------------------------------------------


@pytest.mark.row("J1", "bounded-queue")
@pytest.mark.parametrize("most", [1, 3, 16])
def test_of_too_many_contexts_the_newest_are_looked_at(door: Door, most: int) -> None:
    with temp_recollect(embedder=door, background=False, settings={"agent.queue": most}) as memory:
        stock(memory)
        door.shut()
        memory.agent.offer(ask(ASKS_GATEWAY, "first"))
        assert door.knocked.wait(DEADLINE)
        for number in range(30):
            memory.agent.offer(ask(ASKS_GATEWAY, f"s{number}"))
            assert len(background._WORKER._waiting[memory.agent]) == min(number + 1, most)
        assert memory.agent.dropped == 30 - most
        door.opened.set()
        assert rests()
        found = [number for number in range(30) if memory.agent.take(f"s{number}")]
        assert found == list(range(30 - most, 30))


@pytest.mark.row("J1", "bounded-queue")
def test_results_that_nobody_takes_do_not_pile_up(door: Door) -> None:
    with temp_recollect(embedder=door, background=False, settings={"agent.queue": 4}) as memory:
        stock(memory)
        for number in range(12):
            memory.agent.offer(ask(ASKS_GATEWAY, f"s{number}"))
            assert rests()
        assert len(memory.agent._ready) == 4
        assert [bool(memory.agent.take(f"s{number}")) for number in (7, 8, 11)] == [False, True, True]


def test_a_newer_context_takes_the_place_of_an_older_one(memory: Recollect, door: Door) -> None:
    door.shut()
    memory.agent.offer(ask(ASKS_LOCALES, "other"))
    assert door.knocked.wait(DEADLINE)
    for prompt in (ASKS_GATEWAY, ASKS_LOCALES, ASKS_BILLING):
        memory.agent.offer(ask(prompt))
    door.opened.set()
    assert rests()
    assert texts(memory.agent.take("s")) == [BILLING]
    assert memory.agent.take("s") == Context()
    assert memory.agent.dropped == 0


def test_the_one_dropped_is_the_one_handed_over_longest_ago(door: Door) -> None:
    """Even if an older one of the same session had its place before it."""
    with temp_recollect(embedder=door, background=False, settings={"agent.queue": 2}) as memory:
        stock(memory)
        door.shut()
        memory.agent.offer(ask(ASKS_GATEWAY, "first"))
        assert door.knocked.wait(DEADLINE)
        for session in ("a", "b", "a", "c"):
            memory.agent.offer(ask(ASKS_GATEWAY, session))
        assert [key[0] for key in background._WORKER._waiting[memory.agent]] == ["a", "c"]


# --- What counts as given ------------------------------------------------------------------------------------------


def test_nothing_counts_as_given_until_it_is_taken(memory: Recollect) -> None:
    memory.agent.offer(ask(ASKS_GATEWAY))
    assert rests()
    memory._contexts.surfaced.write()
    assert memory._parts.project().given() == ()
    assert memory._parts.habits.accesses == 0
    memory.agent.take("s")
    memory._contexts.surfaced.write()
    [record] = memory._parts.project().given()
    assert [item.ref for item in record.items] == ["1"]
    assert memory._parts.habits.accesses == 1


def test_what_a_newer_result_replaced_was_never_given(memory: Recollect) -> None:
    """So it is given when it is asked for again."""
    for prompt in (ASKS_GATEWAY, ASKS_BILLING):
        memory.agent.offer(ask(prompt))
        assert rests()
    assert texts(memory.agent.take("s")) == [BILLING]
    assert texts(served(memory, ASKS_GATEWAY)) == [GATEWAY]


@pytest.mark.row("J18", "no-repeat", "topic-change")
def test_what_was_taken_is_not_given_again_until_the_topic_changes(memory: Recollect) -> None:
    assert texts(served(memory, ASKS_GATEWAY)) == [GATEWAY]
    assert texts(served(memory, "so which port does the gateway listen on now?")) == []
    assert texts(served(memory, ASKS_LOCALES)) == [LOCALES]
    assert texts(served(memory, ASKS_GATEWAY)) == [GATEWAY]
    assert texts(served(memory, ASKS_GATEWAY, session="another")) == [GATEWAY]


@pytest.mark.row("J18", "no-repeat")
@pytest.mark.parametrize("by", ["take", "ask"])
def test_what_is_taken_while_the_next_is_looked_for_is_not_in_the_next(memory: Recollect, door: Door, by: str) -> None:
    memory.agent.offer(ask(ASKS_GATEWAY))
    assert rests()
    door.shut()
    again = ask("which port did the gateway listen on?")
    if by == "take":
        memory.agent.offer(again)
        assert door.knocked.wait(DEADLINE)
        assert texts(memory.agent.take("s")) == [GATEWAY]
    else:
        assert texts(memory.agent.ask(again, deadline=0.1)) == [GATEWAY]
    door.opened.set()
    assert rests()
    assert texts(memory.agent.take("s")) == []


# --- In the same turn -----------------------------------------------------------------------------------------------


def test_asking_brings_what_helps_with_this_very_prompt(memory: Recollect) -> None:
    memory.agent.offer(ask(ASKS_BILLING))
    assert rests()
    assert texts(memory.agent.ask(ask(ASKS_GATEWAY), deadline=DEADLINE)) == [GATEWAY]
    assert memory.agent.take("s") == Context()
    assert texts(served(memory, ASKS_BILLING)) == [BILLING]


@pytest.mark.row("J1", "never-blocks")
@pytest.mark.parametrize("deadline", [None, 0.0, 0.05, -1.0])
def test_after_the_deadline_there_is_what_was_found_before(
    memory: Recollect, door: Door, deadline: float | None
) -> None:
    """And what was asked for is there at the next turn."""
    agent = memory.agent
    agent.offer(ask(ASKS_BILLING))
    assert rests()
    door.shut()
    began = time.monotonic()
    late = agent.ask(ask(ASKS_GATEWAY), deadline=deadline)
    assert time.monotonic() - began < 1.0
    assert texts(late) == [BILLING]
    assert agent.ask(ask(ASKS_LOCALES, "t"), deadline=0.01) == Context()
    door.opened.set()
    assert rests()
    assert texts(agent.take("s")) == [GATEWAY]
    assert texts(agent.take("t")) == [LOCALES]


def test_the_deadline_is_that_of_the_settings(door: Door) -> None:
    with temp_recollect(embedder=door, background=False, settings={"recall.deadline_ms": 400}) as memory:
        stock(memory)
        door.shut()
        began = time.monotonic()
        memory.agent.ask(ask(ASKS_GATEWAY))
        assert 0.4 <= time.monotonic() - began < 2.0


def test_whoever_asks_waits_for_the_answer_and_not_for_what_is_learned_from_it(tmp_path: Path) -> None:
    """The store is slow to be written, as when another process holds it, and a gap is to be noted."""
    slow = Slow(open_store(str(tmp_path / "memory.db")))
    with recollect.open(store=cast(Store, slow), background=False) as memory:
        stock(memory)
        slow.seconds = 1.0
        began = time.monotonic()
        assert not memory.agent.ask(ask(NOBODY_KNOWS), deadline=DEADLINE)
        assert time.monotonic() - began < 0.9
        assert rests()
        assert len(memory.gaps()) == 1
        slow.seconds = 0.0


class Slow:
    """A store that takes its time over writing, or fails at it as no store should."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.seconds = 0.0
        self.failure: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "apply":
            time.sleep(self.seconds)
            if self.failure:
                raise self.failure
        return getattr(self.store, name)


# --- What goes wrong ------------------------------------------------------------------------------------------------


def test_a_model_that_breaks_costs_one_context(memory: Recollect, door: Door, caplog: pytest.LogCaptureFixture) -> None:
    door.breaks = True
    broken = served(memory, ASKS_GATEWAY)
    assert (broken.text, broken.recollection.notes) == ("", ("memory failed; its log says why",))
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    caplog.clear()
    door.breaks = False
    assert texts(served(memory, ASKS_GATEWAY)) == [GATEWAY]
    assert not caplog.records
    assert len(threads()) == 1


def test_what_cannot_be_learned_is_logged_and_no_more(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Slow(open_store(str(tmp_path / "memory.db")))
    with recollect.open(store=cast(Store, store), background=False) as memory:
        stock(memory)
        store.failure = StoreReadOnly("memory.db", "cannot be written")
        assert not served(memory, NOBODY_KNOWS)
        assert [record.levelno for record in caplog.records] == [logging.WARNING]
        assert texts(served(memory, ASKS_GATEWAY)) == [GATEWAY]
        store.failure = None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_failure_that_nobody_foresaw_stops_nobody_else(tmp_path: Path, door: Door) -> None:
    """Those that wait already are served, without anybody handing over anything more."""
    store = Slow(open_store(str(tmp_path / "memory.db")))
    with recollect.open(store=cast(Store, store), embedder=door, background=False) as memory:
        stock(memory)
        store.failure = ZeroDivisionError()
        door.shut()
        memory.agent.offer(ask(NOBODY_KNOWS, "first"))
        assert door.knocked.wait(DEADLINE)
        memory.agent.offer(ask(ASKS_GATEWAY))
        door.opened.set()
        assert wait_for(lambda: ("s", "") in memory.agent._ready)
        assert texts(memory.agent.take("s")) == [GATEWAY]
        assert rests()
        assert wait_for(lambda: len(threads()) == 1)
        store.failure = None


def test_a_memory_that_is_switched_off_looks_for_nothing_and_learns_nothing(memory: Recollect) -> None:
    served(memory, ASKS_GATEWAY)
    memory.turn_off()
    assert not served(memory, ASKS_BILLING)
    assert not served(memory, NOBODY_KNOWS)
    memory.agent.close()
    memory.turn_on()
    assert memory.gaps() == ()


@pytest.mark.row("J1", "one-per-process")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("busy", [False, True], ids=["resting", "busy"])
def test_a_forked_process_has_a_worker_of_its_own(tmp_path: Path, door: Door, busy: bool) -> None:
    """What the parent found is the parent's to give. A store that was in use meanwhile has to be opened again."""
    path = str(tmp_path / "memory.db")
    with recollect.open(store=path, embedder=door, background=False) as memory:
        stock(memory)
        memory.agent.offer(ask(ASKS_BILLING, "before"))
        assert rests()
        if busy:
            door.shut()
            memory.agent.offer(ask(ASKS_LOCALES))
            assert door.knocked.wait(DEADLINE)
        child = os.fork()
        if not child:
            status = 1
            try:
                nothing = memory.agent.take("before")
                mine = recollect.open(store=path, background=False) if busy else memory
                found = mine.agent.ask(ask(ASKS_GATEWAY), deadline=DEADLINE)
                status = 0 if not nothing and texts(found) == [GATEWAY] and len(threads()) == 1 else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        door.opened.set()
        assert rests()
        assert texts(memory.agent.take("before")) == [BILLING]
        assert texts(memory.agent.take("s")) == ([LOCALES] if busy else [])


def test_many_threads_hand_over_and_take_at_once(memory: Recollect) -> None:
    """Each session gets what it asked for, once, whatever the others do."""
    known = ((ASKS_GATEWAY, GATEWAY), (ASKS_BILLING, BILLING), (ASKS_LOCALES, LOCALES))
    got: dict[int, list[str]] = {number: [] for number in range(12)}

    def talk(number: int) -> None:
        def took() -> bool:
            got[number] += texts(memory.agent.take(f"s{number}"))
            return bool(got[number])

        for _ in range(8):
            memory.agent.offer(ask(known[number % 3][0], f"s{number}"))
            time.sleep(0.005)
            took()
        wait_for(took)

    running = [threading.Thread(target=talk, args=(number,)) for number in got]
    for each in running:
        each.start()
    for each in running:
        each.join(2 * DEADLINE)
    assert rests()
    for number in got:
        got[number] += texts(memory.agent.take(f"s{number}"))
    assert got == {number: [known[number % 3][1]] for number in got}


# --- The end --------------------------------------------------------------------------------------------------------


def test_closing_takes_less_than_two_seconds_and_does_nothing_afterwards(tmp_path: Path, door: Door) -> None:
    """With a model that never answers. What was acknowledged is there, and what comes too late leaves no trace."""
    path = str(tmp_path / "memory.db")
    memory = recollect.open(store=path, embedder=door, background=False)
    stock(memory)
    assert texts(served(memory, ASKS_GATEWAY)) == [GATEWAY]
    door.shut()
    agent = memory.agent
    agent.offer(ask(ASKS_BILLING))
    assert door.knocked.wait(DEADLINE)
    agent.offer(ask(ASKS_LOCALES, "waiting"))
    began = time.monotonic()
    memory.close()
    assert time.monotonic() - began < 2.0
    with recollect.open(store=path, background=False) as again:
        before = list(again.export_lines())[1:]  # after the head, which tells the time
    door.opened.set()
    assert rests()
    assert (agent.take("s"), agent.take("waiting")) == (Context(), Context())
    with recollect.open(store=path, background=False) as again:
        assert list(again.export_lines())[1:] == before
        assert len(again.list()) == len(FACTS)
        assert [[item.ref for item in each.items] for each in again._parts.project().given()] == [["1"]]
        assert again.verify_audit() == ()


def test_closing_finishes_what_is_at_hand(memory: Recollect, door: Door) -> None:
    """When it is soon done."""
    door.shut()
    memory.agent.offer(ask(NOBODY_KNOWS))
    assert door.knocked.wait(DEADLINE)
    threading.Timer(0.2, door.opened.set).start()
    began = time.monotonic()
    memory.agent.close()
    assert 0.1 < time.monotonic() - began < 1.4
    assert background._WORKER._busy is None


def test_nothing_is_done_after_it_was_closed(memory: Recollect, door: Door) -> None:
    agent = memory.agent
    agent.offer(ask(ASKS_GATEWAY))
    assert rests()
    agent.close()
    door.knocked.clear()
    agent.offer(ask(ASKS_BILLING))
    began = time.monotonic()
    assert agent.ask(ask(ASKS_BILLING), deadline=DEADLINE) == Context()
    assert agent.take("s") == Context()
    agent.close()
    assert time.monotonic() - began < 1.0
    assert not door.knocked.is_set()


def test_closing_one_memory_leaves_the_others_theirs(memory: Recollect, door: Door) -> None:
    with temp_recollect(background=False) as other:
        stock(other)
        door.shut()
        memory.agent.offer(ask(ASKS_GATEWAY))
        assert door.knocked.wait(DEADLINE)
        other.agent.offer(ask(ASKS_BILLING))
        memory.agent.close(0.05)
        door.opened.set()
        assert rests()
        assert texts(other.agent.take("s")) == [BILLING]


def test_a_memory_that_is_only_opened_starts_no_worker(memory: Recollect) -> None:
    before = set(threads())
    assert memory.agent.take("s") == Context()
    memory.agent.close()
    assert set(threads()) <= before


# --- What it learns -------------------------------------------------------------------------------------------------


def unsure(memory: Recollect, texts: Sequence[str], confidence: float = 0.5) -> None:
    for text in texts:
        memory.remember(text, confidence=confidence)
    memory.embed_pending()


@pytest.fixture
def eager(door: Door) -> Iterator[Recollect]:
    """A memory that writes down what it learned after every other retrieval."""
    with temp_recollect(
        clock=FixedClock(), embedder=door, background=False, settings={"agent.cluster_every": 2}
    ) as opened:
        unsure(opened, FACTS)
        yield opened


@pytest.mark.row("J15", "boost")
def test_what_was_given_is_a_little_surer_and_what_was_only_found_is_not(eager: Recollect) -> None:
    eager.agent.offer(ask(ASKS_BILLING, "never taken"))
    assert rests()
    assert texts(served(eager, ASKS_GATEWAY)) == [GATEWAY]
    assert eager.get(1).confidence == 0.5
    served(eager, ASKS_LOCALES)
    served(eager, NOBODY_KNOWS)
    assert [eager.get(number).confidence for number in (1, 2, 3, 4)] == [0.51, 0.5, 0.51, 0.5]
    assert [entry.actor for entry in eager.audit() if entry.action == "served"] == ["agent", "agent"]


def test_what_was_learned_is_written_when_it_closes(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with recollect.open(store=path, background=False) as memory:
        unsure(memory, FACTS)
        assert texts(served(memory, ASKS_GATEWAY)) == [GATEWAY]
        assert memory.get(1).confidence == 0.5
    with recollect.open(store=path, background=False) as memory:
        assert memory.get(1).confidence == 0.51
        assert memory.get(2).confidence == 0.5
        assert memory.verify_audit() == ()


def test_what_is_given_in_any_case_is_no_surer_for_it(eager: Recollect) -> None:
    """What is pinned, and what is told when a session begins."""
    eager.remember("Answer in British English", confidence=0.5)
    eager.pin(6)
    eager.remember("Never push to main by hand", kind=Kind.WARNING, confidence=0.5)
    given = texts(served(eager, ASKS_GATEWAY, start=True))
    assert len(given) == 3
    assert not served(eager, ASKS_GATEWAY)
    assert [eager.get(number).confidence for number in (1, 6, 7)] == [0.51, 0.5, 0.5]


@pytest.mark.row("J15", "boost")
def test_a_memory_that_holds_everywhere_learns_in_its_own_space(eager: Recollect) -> None:
    eager.remember("The telescope is calibrated against Jupiter", scope="global", confidence=0.5)
    eager.embed_pending()
    assert texts(served(eager, NOBODY_KNOWS)) == ["The telescope is calibrated against Jupiter"]
    served(eager, ASKS_GATEWAY)
    assert eager.get("g1").confidence == 0.51
    assert eager.get("1").confidence == 0.5


def test_a_memory_that_was_forgotten_meanwhile_is_left_alone(eager: Recollect) -> None:
    served(eager, ASKS_GATEWAY)
    eager.forget(1)
    served(eager, ASKS_BILLING)
    served(eager, ASKS_LOCALES)
    assert eager.get(1).status is Status.FORGOTTEN
    assert eager.get(1).confidence == 0.5


@pytest.fixture
def knowing() -> Iterator[Recollect]:
    """One that knows what words mean, and three things of one matter."""
    with temp_recollect(clock=FixedClock(), background=False, settings={"agent.cluster_every": 2}) as opened:
        unsure(opened, (*FACTS, "The billing worker logs to stderr", "The billing worker needs Redis"))
        yield opened


@pytest.mark.row("J15", "links")
def test_what_was_given_together_is_linked(knowing: Recollect) -> None:
    """By the same hand as what is recalled together."""
    memory = knowing
    given = served(memory, ASKS_THREE)
    numbers = sorted(int(item.ref) for item in given.recollection)
    assert numbers == [2, 6, 7]
    memory._parts.habits.write()
    for number in numbers:
        found = memory._parts.project().together([memory.get(number).id])
        assert {each.other for each in found} == set(numbers) - {number}


@pytest.mark.row("J15", "tags")
def test_what_memories_on_one_thing_have_in_common_becomes_their_tag(knowing: Recollect) -> None:
    """Each gets one version by that, and not another one for having been given."""
    given = served(knowing, ASKS_THREE)
    assert sorted(int(item.ref) for item in given.recollection) == [2, 6, 7]
    served(knowing, ASKS_GATEWAY)
    assert [knowing.get(number).tags for number in (2, 6, 7)] == [("billing",)] * 3
    assert [knowing.get(number).version for number in (2, 6, 7)] == [2, 2, 2]
    assert knowing.get(1).tags == ()


@pytest.mark.row("J15", "gaps")
@pytest.mark.row("J16", "logged")
def test_what_nobody_knows_is_logged_with_its_context(memory: Recollect) -> None:
    """What is pinned is given in any case, and answers nothing."""
    memory.remember("Answer in British English")
    memory.pin(6)
    served(memory, f"{NOBODY_KNOWS} my key is sk-ant-api03-{'a1B2' * 24}", start=True)
    [gap] = memory.gaps()
    assert NOBODY_KNOWS in gap.context
    assert "a1B2" not in gap.context
    assert (gap.session, gap.times) == ("s", 1)


@pytest.mark.row("J15", "gaps")
@pytest.mark.parametrize("prompt", [ASKS_GATEWAY, "thanks!", "yes, do that", "", "go ahead"])
def test_what_is_known_or_no_question_is_no_gap(memory: Recollect, prompt: str) -> None:
    served(memory, prompt, previous="Shall I calibrate the telescope against Jupiter?")
    served(memory, prompt, previous="Shall I calibrate the telescope against Jupiter?")
    assert memory.gaps() == ()


class Reader:
    """A judge that keeps what names a word, and says that the first two are related."""

    name = "reader"

    def __init__(self, word: str) -> None:
        self.word = word

    def ask(self, question: Question[Any]) -> Any:
        if not isinstance(question, Verify):
            return RulesJudge().ask(question)
        ids = [each.id for each in question.candidates]
        links = [Linked(one=ids[0], other=ids[1], relation=Relation.RELATED)] if len(ids) > 1 else []
        return Verified(
            ids=tuple(each.id for each in question.candidates if self.word in each.text), links=tuple(links)
        )


@pytest.mark.row("J15", "decay", "links")
def test_what_a_judge_read_and_found_of_no_use_is_a_little_less_sure(eager: Recollect) -> None:
    unsure(eager, ["The billing worker logs to stderr"])
    eager._parts.oversight.open_judge = lambda allowed, spent: Reader("stderr")
    assert texts(served(eager, "restart the billing worker")) == ["The billing worker logs to stderr"]
    served(eager, "thanks")
    served(eager, "thanks")
    served(eager, "thanks")
    assert eager.get(2).confidence == 0.48
    assert eager.get(6).confidence == 0.51
    assert eager.get(1).confidence == 0.5
    [link] = eager._parts.project().links(kinds=frozenset({LinkKind.RELATES_TO}))
    assert {link.memory, link.target} == {2, 6}


def test_a_link_that_is_there_stays_as_it_is(eager: Recollect) -> None:
    """A judge says the same again with each retrieval; what somebody weighed is not its to weigh."""
    unsure(eager, ["The billing worker logs to stderr"])
    eager.link(2, 6, weight=0.9)
    eager._parts.oversight.open_judge = lambda allowed, spent: Reader("stderr")
    for session in "abc":
        served(eager, "restart the billing worker", session)
    [link] = eager._parts.project().links(kinds=frozenset({LinkKind.RELATES_TO}))
    assert link.weight == 0.9


@pytest.mark.row("J15", "cluster-refresh")
def test_clusters_are_refreshed_after_fifty_retrievals(memory: Recollect) -> None:
    for text in ("logs to stderr", "needs Redis", "runs nightly"):
        memory.remember(f"The billing worker {text}")
    memory.embed_pending()
    store = memory._parts.project()
    numbers = [memory.get(number).id for number in (6, 7, 8)]
    store.apply([Regroup(clusters=(("billing", tuple(numbers)),))], actor="test", now=memory._parts.clock())
    memory.remember("The billing worker logs to Redis nightly")
    memory.embed_pending()
    for number in range(49):
        memory.agent.offer(ask(ASKS_LOCALES, f"s{number}"))
        assert rests()
    assert {each.id for each in memory.members(1)} == {6, 7, 8}
    memory.agent.offer(ask(ASKS_LOCALES, "s49"))
    assert rests()
    assert {each.id for each in memory.members(1)} >= {6, 7, 8, 9}


@pytest.mark.row("J1", "next-turn")
@pytest.mark.parametrize("delivery", ["next-turn", "same-turn"])
def test_a_turn_is_served_as_the_settings_say(delivery: str) -> None:
    """With what the turn before made it find, or with what helps now."""
    with temp_recollect(clock=FixedClock(), settings={"recall.delivery": delivery}, background=False) as opened:
        opened.remember_many(list(FACTS))
        first = opened.agent.turn(Situation(prompt=ASKS_GATEWAY, session="s"))
        assert rests()
        second = opened.agent.turn(Situation(prompt=ASKS_BILLING, session="s"))
        expected = (ASKS_GATEWAY, ASKS_BILLING) if delivery == "same-turn" else ("", ASKS_GATEWAY)
        assert (first.recollection.query, second.recollection.query) == expected
