"""What an agent is given for a prompt: the right things in the right order, within a budget, and never an exception."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import Anchor, Kind, Origin, Procedure, Recollect, Status, StoreReadOnly
from recollect.engine.anchors import file_hash
from recollect.engine.context import Context
from recollect.model import Finding, Mark, Scope, Standing, Tier
from recollect.policy.budget import PART_OF, allocate, ceilings_of
from recollect.policy.marks import is_marked
from recollect.policy.promote import PromotionSignal
from recollect.policy.written import HOSTS, Style
from recollect.store import Store, open_store
from recollect.testing import FixedClock, HashEmbedder, temp_recollect

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

START = datetime(2026, 1, 1, tzinfo=UTC)
GATEWAY = "The gateway listens on port 9000"
ASKS_GATEWAY = "which port does the gateway listen on?"
BILLING = "The billing worker retries three times with backoff"
ASKS_BILLING = "why does the billing worker retry three times?"
FACTS = (
    GATEWAY,
    BILLING,
    "Deploys go out from main on Fridays",
    "Integration tests need a running Postgres",
    "Translations live in locales/de.json",
    "Search results are cached for ten minutes",
    "The mobile app talks to the API over gRPC",
)
STORES = ["memory:", "{}/memory.db", "json:{}/memory.json"]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture(params=STORES, ids=["memory", "sqlite", "json"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Recollect]:
    """A memory of some facts, in each sort of store."""
    store = str(request.param).format(tmp_path)
    with recollect.open(store=store, home=tmp_path / "home", clock=clock, background=False) as opened:
        stock(opened)
        yield opened


@pytest.fixture
def project(clock: FixedClock) -> Iterator[Recollect]:
    """A project with a folder of its own, and some facts."""
    with temp_recollect(clock=clock, background=False) as opened:
        stock(opened)
        yield opened


def stock(memory: Recollect) -> None:
    memory.remember_many(list(FACTS))
    memory.embed_pending()


def refs(context: Context) -> list[str]:
    return [item.ref for item in context.recollection]


def tiers(context: Context) -> list[Tier]:
    return [item.tier for item in context.recollection]


def reasons(context: Context) -> dict[str, str]:
    """Why each memory that was withheld was."""
    return {each.ref: each.reason for each in context.recollection.withheld}


def ref_of(memory: Recollect, content: str, **more: Any) -> str:
    return memory.remember(content, **more).memory.ref


# --- What is given, and in which order --------------------------------------------------------------------------------


@pytest.mark.row("P11", "retrieved")
@pytest.mark.row("X2", "gate")
def test_a_prompt_brings_up_what_helps_with_it_and_nothing_else(memory: Recollect) -> None:
    """One memory of seven for a question about it, with the reasons; nothing for what none of them helps with."""
    told = memory.context(ASKS_GATEWAY)
    [item] = told.recollection
    assert (item.ref, item.tier, item.text) == ("1", Tier.FOUND, GATEWAY)
    assert GATEWAY in told.text
    assert str(told) == told.text
    assert told
    assert any(why.factor == "helps" and why.value == item.relevance for why in item.why)
    for prompt in ("what is 2 + 2", "thanks!", "hello", "", "write a haiku about the sea", "implement quicksort in Go"):
        silent = memory.context(prompt)
        assert (bool(silent), silent.text, len(silent.recollection)) == (False, "", 0), prompt


@pytest.mark.row("X2", "gate")
def test_the_gate_is_its_own_and_stricter_than_that_of_a_search(memory: Recollect) -> None:
    """What a search shows is not for that put into a prompt."""
    shown = {"why is search slow?": "6", "cache the avatars for an hour": "6", "write tests for the parser": "4"}
    for prompt, ref in shown.items():
        assert ref in [hit.memory.ref for hit in memory.recall(prompt)]
        assert refs(memory.context(prompt)) == []


@pytest.mark.row("X2", "gate")
def test_the_gate_can_be_set(tmp_path: Path) -> None:
    for gate, found in ((0.0, True), (1.0, False)):
        with recollect.open(store="memory:", background=False, settings={"recall.inject_gate": gate}) as memory:
            stock(memory)
            assert bool(memory.context("why is search slow?")) is found


def test_a_correction_comes_up_for_what_takes_its_tool(memory: Recollect) -> None:
    """The main job: nobody who says "install the dependencies" says "pnpm"."""
    ref = ref_of(memory, "No, use pnpm, never npm", kind="correction")
    told = memory.context("install the dependencies")
    assert refs(told) == [ref]
    assert told.recollection[0].why[0].factor == "occasion"
    assert refs(memory.context("what is 2 + 2")) == []


@pytest.mark.row("P11", "pinned", "retrieved", "summaries")
@pytest.mark.row("J12")
@pytest.mark.row("J13")
def test_the_parts_come_in_the_order_of_reading(memory: Recollect) -> None:
    """Pinned, warnings and procedures, what was found, what other agents found, what sessions came to."""
    summary = ref_of(memory, "Session of Monday: the gateway was moved to port 9000", kind="summary")
    bridge = ref_of(memory, "The canary is broken", scope="session", session="s1", agent="scout")
    pinned = ref_of(memory, "Answer in British English")
    memory.pin(pinned)
    warning = ref_of(memory, "Never restart it by hand", kind="negative", triggers=["gateway"], importance=0.9)
    steps = Procedure(name="Change a port", trigger="gateway", steps=("Edit ports.toml", "Restart"))
    procedure = ref_of(memory, "How ports are changed", kind="procedure", procedure=steps, importance=0.5)
    told = memory.context(ASKS_GATEWAY, session="s1", agent="main", start=True)
    assert refs(told) == [pinned, warning, procedure, "1", bridge, summary]
    assert tiers(told) == [Tier.PINNED, Tier.ACTING, Tier.ACTING, Tier.FOUND, Tier.BRIDGE, Tier.SUMMARY]
    assert "Edit ports.toml" in told.text
    places = [told.text.index(f"- [id:{ref}]") for ref in refs(told)]
    assert places == sorted(places)


@pytest.mark.row("P11", "pinned")
def test_pinned_memories_are_given_whatever_is_asked(memory: Recollect) -> None:
    memory.pin("7")
    assert refs(memory.context("what is 2 + 2")) == ["7"]
    assert refs(memory.context(ASKS_GATEWAY)) == ["7", "1"]


def test_a_memory_that_comes_up_thrice_is_given_once_and_first(memory: Recollect) -> None:
    """Pinned, triggered and found: it is pinned. What comes between keeps its place."""
    both = ref_of(memory, "The gateway wants a certificate", kind="negative", triggers=["gateway"], importance=0.1)
    other = ref_of(memory, "Ask the network team first", kind="negative", triggers=["gateway"], importance=0.9)
    memory.pin(both)
    told = memory.context("which certificate does the gateway want?", start=True)
    assert refs(told)[:2] == [both, other]
    assert tiers(told)[:2] == [Tier.PINNED, Tier.ACTING]
    assert len(set(refs(told))) == len(told.recollection)


def test_a_session_that_begins_is_told_what_holds_in_any_case(memory: Recollect) -> None:
    """The most important warnings, what the last sessions came to, and the tasks that are open."""
    weak = [ref_of(memory, f"Mind the {name}", kind="warning", importance=0.2) for name in ("gap", "dog", "step")]
    strong = [ref_of(memory, f"Beware of the {n}", kind="negative", importance=0.9) for n in ("leopard", "lion", "ox")]
    latest = [ref_of(memory, f"Session {n} was about shaders", kind="summary") for n in (1, 2, 3)][1:]
    memory.tasks.create("Port the renderer")
    told = memory.context(start=True)
    acting = [item.ref for item in told.recollection if item.tier is Tier.ACTING]
    assert set(strong) < set(acting)
    assert len(acting) == 5
    assert len(set(acting) & set(weak)) == 2
    assert {item.ref for item in told.recollection if item.tier is Tier.SUMMARY} == {"", *latest}
    assert "Port the renderer" in told.text
    assert not memory.context()


def test_a_summary_that_answers_comes_last(memory: Recollect) -> None:
    """It is found as others are, and read after them."""
    ref = ref_of(memory, "Session: the gateway port went from 8000 to 9000", kind="summary")
    told = memory.context("why did the gateway port go from 8000 to 9000?")
    assert refs(told)[-1] == ref
    assert tiers(told)[-1] is Tier.SUMMARY


def test_the_query_is_the_present_intent(memory: Recollect) -> None:
    """Not the log that was pasted with it, but the turn before where the prompt only points back."""
    log = "\n".join(f"2026-01-01 12:00:{n:02} INFO translations loaded from locales" for n in range(60))
    told = memory.context(f"{ASKS_GATEWAY}\n{log}")
    assert refs(told) == ["1"]
    assert "translations" not in told.recollection.query
    assert refs(
        memory.context("yes, do that", previous="Shall I look why the billing worker retries three times?")
    ) == ["2"]
    assert refs(memory.context("thank you", previous="Shall I look why the billing worker retries three times?")) == []


def test_what_is_tied_to_a_file_in_play_comes_up_by_its_trigger(memory: Recollect) -> None:
    ref = ref_of(memory, "Keys are rotated by the vault", kind="negative", triggers=["*.pem"])
    assert refs(memory.context("look at this", files=["certs/server.pem"])) == [ref]
    assert refs(memory.context("look at certs/server.pem")) == [ref]
    assert refs(memory.context("look at this", files=["certs/readme.txt"])) == []


def test_memory_out_of_season_is_not_given(memory: Recollect) -> None:
    """Not as a warning when a session begins, nor from another agent; once its season is on, it is."""
    warning = ref_of(memory, "No deploys in the freeze", kind="warning", season="freeze")
    bridge = ref_of(memory, "The freeze has an exception", scope="session", session="s", agent="a", season="freeze")
    told = memory.context(start=True, session="s", agent="b")
    assert refs(told) == []
    assert reasons(told)[warning] == reasons(told)[bridge] == "its season, freeze, is not now"
    memory.seasons.define("freeze", on=True)
    assert set(refs(memory.context(start=True, session="s", agent="b"))) == {warning, bridge}


def test_memories_of_other_tasks_and_sessions_are_not_given(memory: Recollect) -> None:
    mine = ref_of(memory, "The beacon of this task is green", scope="task", task="t1")
    memory.remember("The beacon of that task is red", scope="task", task="t2")
    memory.remember("The beacon of the session is blue", scope="session", session="s2")
    asked = "which colour has the beacon of the task?"
    assert refs(memory.context(asked, task="t1", session="s1")) == [mine]
    assert refs(memory.context(asked)) == []


def test_global_memories_are_given_too(memory: Recollect) -> None:
    memory.pin(ref_of(memory, "Answer in British English", scope="global"))
    memory.remember("Semaphore CI builds every pull request twice", scope="global")
    assert refs(memory.context("why does Semaphore CI build every pull request twice?")) == ["g1", "g2"]


def test_contradictions_are_told(memory: Recollect) -> None:
    ref = ref_of(memory, "The gateway port is 8000, where the gateway listens")
    memory.link(ref, "1", kind="contradicts")
    told = memory.context(ASKS_GATEWAY)
    assert told.recollection.conflicts
    assert "verify which holds" in told.text


# --- Nothing twice ----------------------------------------------------------------------------------------------------


@pytest.mark.row("J18", "no-repeat", "topic-change")
def test_nothing_is_said_twice_until_the_topic_changes(memory: Recollect) -> None:
    """The same topic: withheld, pinned ones too. Another one, and the first again: given anew."""
    memory.pin("7")
    assert refs(memory.context(ASKS_GATEWAY, session="s")) == ["7", "1"]
    again = memory.context("so which port does the gateway listen on now?", session="s")
    assert refs(again) == []
    assert set(reasons(again)) == {"7", "1"}
    assert set(reasons(again).values()) == {"given before, on this topic"}
    assert refs(memory.context("thanks", session="s")) == []
    assert refs(memory.context(ASKS_BILLING, session="s")) == ["7", "2"]
    assert refs(memory.context(ASKS_GATEWAY, session="s")) == ["7", "1"]
    assert refs(memory.context(ASKS_GATEWAY, session="s", asked=True)) == ["7", "1"]


# --- Budget -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def full() -> Iterator[Recollect]:
    """More of everything than any budget holds."""
    with recollect.open(store="memory:", clock=FixedClock(START), background=False) as memory:
        for n in range(5):
            memory.pin(ref_of(memory, f"Pinned rule {n}: " + "mind the gateway port " * (n + 1) ** 2))
            memory.remember(f"Never touch {n} " + "by hand " * 20, kind="negative", triggers=["gateway"])
            memory.remember(f"The gateway port {9000 + n} is for tenant {n} " + "of the port " * n * 8)
            memory.remember(f"The gateway port of session {n} was long " + "and long " * 30, kind="summary")
        for n in range(30):
            memory.remember(f"Scout finding {n} " + f"word{n} " * 3 * n, scope="session", session="s", agent="scout")
        memory.embed_pending()
        yield memory


@pytest.mark.row("P12", "all-consumers")
@pytest.mark.row("P22", "shared-budget")
@given(remaining=st.none() | st.integers(-10, 150_000), host=st.sampled_from([*HOSTS, "", "unheard of"]))
def test_all_that_is_given_fits_into_one_budget(full: Recollect, remaining: int | None, host: str) -> None:
    """The total and every part's ceiling hold, no memory is cut, and the host gets no more than it takes."""
    told = full.context(
        "which gateway port is it?", remaining=remaining, host=host, session="s", asked=True, start=True
    )
    found = told.recollection
    allocation = allocate(remaining)
    assert found.allocation == allocation
    assert found.tokens == sum(item.tokens for item in found) <= allocation.total
    for part, ceiling in ceilings_of(allocation).items():
        assert sum(item.tokens for item in found if PART_OF[item.tier] is part) <= ceiling
    caps = HOSTS.get(host, HOSTS["default"]).caps
    assert caps.characters is None or len(told.text.encode("utf-16-le")) // 2 <= caps.characters
    assert caps.tokens is None or len(told.text.encode()) <= 4 * caps.tokens
    for item in found:
        assert all(line.strip() in told.text for line in item.text.splitlines()), item.ref
    assert {item.ref for item in found}.isdisjoint(each.ref for each in found.withheld)
    assert is_marked(told.text) == bool(found)


@pytest.mark.row("P12", "all-consumers")
def test_what_has_no_room_is_named_with_the_reason(full: Recollect) -> None:
    told = full.context("which gateway port is it?", remaining=8_000, session="s", asked=True, start=True)
    left = set(reasons(told).values())
    assert "over the part's budget" in left
    assert left <= {"over the part's budget", "over the total"}
    assert told.recollection.compression < 0.5
    assert not full.context("which gateway port is it?", remaining=0, asked=True)


def test_what_the_host_has_no_room_for_is_exact_even_without_references(tmp_path: Path) -> None:
    """Tasks have no reference; the one that is dropped is the one that is not in the text."""
    settings = {"budget.share": 1.0, "budget.ceiling": 1_000_000}
    with recollect.open(store="memory:", home=tmp_path, settings=settings, background=False) as memory:
        for n in range(5):
            memory.tasks.create(f"Number {n} " + "of the tasks that are long " * 72)
        told = memory.context(start=True, host="claude-code")
    texts = [item.text for item in told.recollection]
    assert len(texts) == 4
    assert all(text.strip() in told.text for text in texts)
    assert [each.reason for each in told.recollection.withheld] == ["the host has no room for it"]
    assert told.recollection.tokens == sum(item.tokens for item in told.recollection)


def test_other_ceilings_can_be_asked_for(full: Recollect) -> None:
    """Per part; and what is no part is an error inside, so nothing is given."""
    told = full.context("which gateway port is it?", session="s", asked=True, ceilings={"bridge": 0, "found": 0})
    assert not {Tier.BRIDGE, Tier.FOUND} & set(tiers(told))
    assert told.recollection.allocation is not None
    assert told.recollection.allocation.bridge == 0


@pytest.mark.row("E11")
def test_what_was_found_is_divided_by_what_proved_useful(clock: FixedClock) -> None:
    """With room for a few, the scope whose memories helped gets more of it than it had."""
    names = "alder birch cedar dogwood elm fir ginkgo hazel iris juniper kauri larch maple nutmeg oak pine".split()
    asked = "how is the harbour beacon painted?"
    settings = {"recall.inject": 20, "recall.inject_gate": 0.0}
    with recollect.open(store="memory:", clock=clock, background=False, settings=settings) as memory:
        for n, name in enumerate(names[:7]):
            memory.remember(f"The harbour beacon {name} is painted with {names[n - 3]} stripes on {names[n - 5]} wood")
            memory.remember(f"A beacon such as {name} is made of {names[n - 3]} and {names[n - 5]}", scope="global")
        memory.embed_pending()

        def shares() -> tuple[int, int]:
            told = memory.context(asked, ceilings={"found": 150})
            assert told.recollection.tokens <= 150
            scopes = [ref.startswith("g") for ref in refs(told)]
            return scopes.count(False), scopes.count(True)

        before = shares()
        assert min(before) >= 1  # each scope has a share, whichever of them is found more relevant
        for _ in range(60):
            memory.context(asked)
        for n in range(1, 8):
            memory.feedback(f"g{n}", helpful=True)
        after = shares()
        used = memory.status().given
    assert after[1] > before[1], (before, after)
    assert used is not None
    scopes = {each.scope: each for each in used.scopes}
    assert list(scopes) == [Scope.TASK, Scope.PROJECT, Scope.GLOBAL]
    assert scopes[Scope.GLOBAL].useful == scopes[Scope.GLOBAL].given > 0 == scopes[Scope.PROJECT].useful
    assert scopes[Scope.GLOBAL].share > 0.3
    assert scopes[Scope.PROJECT].share < 0.4
    assert sum(each.share for each in used.scopes) == pytest.approx(1)


@pytest.mark.row("E11")
def test_a_scope_without_a_share_does_not_break_anything() -> None:
    settings = {"recall.inject": 20, "recall.inject_gate": 0.0, "budget.shared": 0.0}
    with recollect.open(store="memory:", background=False, settings=settings) as memory:
        for n in range(8):
            memory.remember(f"The beacon {n} of the harbour is bright", scope="global")
        memory.embed_pending()
        assert memory.context("how bright are the beacons of the harbour?", ceilings={"found": 60})


# --- Memories tied to code --------------------------------------------------------------------------------------------


@pytest.mark.row("X1", "withheld", "marked")
def test_memories_are_checked_against_the_code(project: Recollect) -> None:
    """Unchanged: given as it is. Changed: given with a note. Gone: withheld, and offered for review."""
    assert project.identity is not None
    file = project.identity.root / "zephyr.py"
    file.write_text("def renew_lease():\n    return 1\n")
    digest = file_hash(file)
    assert digest
    anchor = Anchor(path="zephyr.py", symbol="renew_lease", content_hash=digest)
    ref = ref_of(project, "renew_lease in zephyr.py renews the zephyr lease every hour", files=[anchor])
    asked = "how often is the zephyr lease renewed?"
    told = project.context(asked)
    assert refs(told) == [ref]
    assert told.recollection[0].standing is Standing.UNCHANGED
    assert "Note:" not in told.text
    file.write_text("def renew_lease():\n    return 2\n")
    told = project.context(asked)
    assert refs(told) == [ref]
    assert told.recollection[0].standing is Standing.CHANGED
    assert "Note: the code has changed since" in told.text
    file.unlink()
    told = project.context(asked)
    assert refs(told) == []
    assert "zephyr.py is not there any more" in reasons(told)[ref]
    assert ref in [stale.memory.ref for stale in project.review().stale]
    told = project.context(asked, asked=True)
    assert refs(told) == [ref]
    assert "the code is gone" in told.text


@pytest.mark.row("X1", "withheld")
def test_a_pinned_memory_of_code_that_is_gone_is_withheld_too(project: Recollect) -> None:
    ref = ref_of(project, "gone.py holds the keys", files=["gone.py"])
    project.pin(ref)
    assert refs(project.context("what is 2 + 2")) == []


# --- Trust ------------------------------------------------------------------------------------------------------------


@pytest.mark.row("X5", "not-injected")
@pytest.mark.parametrize("how", ["found", "pinned", "triggered", "bridge", "start"])
def test_what_nobody_vouches_for_is_not_given_unasked(clock: FixedClock, tmp_path: Path, how: str) -> None:
    """However it comes up; when it is asked for, it is a quotation that says where it comes from."""
    path = str(tmp_path / "memory.db")
    with recollect.open(store=path, origin=Origin.TOOL_OUTPUT, clock=clock, background=False) as tool:
        more: dict[str, Any] = {"triggers": ["kiln"], "kind": "negative"} if how in ("triggered", "start") else {}
        more |= {"scope": "session", "session": "s", "agent": "scout"} if how == "bridge" else {}
        ref = ref_of(tool, "The kiln is heated to nine hundred degrees", **more)
        tool.embed_pending()
    with recollect.open(store=path, clock=clock, background=False) as memory:
        if how == "pinned":
            memory.pin(ref)
        prompt = "" if how == "start" else "how hot is the kiln heated, nine hundred degrees?"
        told = memory.context(prompt, session="s", agent="main", start=how == "start")
        assert refs(told) == []
        assert told.text == ""
        assert reasons(told) == {ref: "nobody vouches for it: tool_output"}
        asked = memory.context(prompt, session="s", agent="main", start=how == "start", asked=True)
    [item] = asked.recollection
    assert item.ref == ref
    assert not item.trusted
    assert "Unverified quotation" in asked.text
    assert "from tool output" in asked.text
    assert "| " in asked.text


@pytest.mark.row("X5", "not-injected")
def test_what_is_in_quarantine_is_shown_only_when_asked_for(memory: Recollect) -> None:
    memory._parts.project().apply(
        [Mark(id=memory._parts.find("1")[1].id, status=Status.QUARANTINED)], actor="test", now=START
    )
    assert memory.get("1").status is Status.QUARANTINED
    assert refs(memory.context(ASKS_GATEWAY)) == []
    [item] = memory.context(ASKS_GATEWAY, asked=True).recollection
    assert item.ref == "1"
    assert not item.trusted


# --- Several agents ---------------------------------------------------------------------------------------------------


@pytest.mark.row("P22", "at-once")
@pytest.mark.row("P23", "identity")
def test_what_one_agent_finds_reaches_the_others_at_once(memory: Recollect) -> None:
    """The next prompt of any other agent of the session has it, once, and says whose it is; its finder does not."""
    ref = ref_of(memory, "The canary is broken", scope="session", session="s", agent="scout")
    for agent in ("main", "builder", ""):
        told = memory.context("what is 2 + 2", session="s", agent=agent)
        assert refs(told) == [ref]
        assert tiers(told) == [Tier.BRIDGE]
        assert "found by scout in this session" in told.text
        assert refs(memory.context("what is 2 + 3", session="s", agent=agent)) == []
    assert refs(memory.context("what is 2 + 2", session="s", agent="scout")) == []
    assert refs(memory.context("what is 2 + 2", session="t", agent="main")) == []
    assert refs(memory.context("what is 2 + 2", agent="main")) == []


@pytest.mark.row("P22", "at-once")
def test_what_was_promoted_from_a_session_reaches_its_other_agents(memory: Recollect) -> None:
    """Also where it holds for the whole project, and where the agent that found it has no name."""
    ref = ref_of(memory, "The cache is keyed by tenant", session="s", agent="scout")
    unnamed = ref_of(memory, "The shards are numbered from one", session="s")
    assert set(refs(memory.context("what is 2 + 2", session="s", agent="main"))) == {ref, unnamed}
    assert refs(memory.context("what is 2 + 2", session="s", agent="scout")) == [unnamed]


@pytest.mark.row("P23", "signal")
def test_two_agents_that_find_the_same_count(memory: Recollect) -> None:
    """One agent's finding waits; found by a second one, that is a signal, and it becomes a memory for all."""
    finding = Finding(content="The index of the ledger is rebuilt at midnight", importance=0.5)
    [alone] = memory.promote_findings([finding], session="s", agent="scout")
    [again] = memory.promote_findings([finding], session="s", agent="scout")
    assert PromotionSignal.MULTI_AGENT not in {*alone.judged.signals, *again.judged.signals}
    [both] = memory.promote_findings([finding], session="s", agent="builder")
    assert PromotionSignal.MULTI_AGENT in both.judged.signals


# --- Switched off -----------------------------------------------------------------------------------------------------


def test_tools_mode_gives_nothing_unasked() -> None:
    """Pinned ones neither; what is asked for is given."""
    with recollect.open(store="memory:", background=False, settings={"recall.mode": "tools"}) as memory:
        stock(memory)
        memory.pin("7")
        told = memory.context(ASKS_GATEWAY, start=True)
        assert (told.text, len(told.recollection)) == ("", 0)
        assert told.recollection.notes == ("memories are given only when a tool asks for them",)
        assert refs(memory.context(ASKS_GATEWAY, asked=True)) == ["7", "1"]


@pytest.mark.parametrize("everywhere", [True, False], ids=["everywhere", "here"])
def test_switched_off_it_gives_and_records_nothing(project: Recollect, everywhere: bool) -> None:
    project.pin("7")
    project.turn_off(everywhere=everywhere)
    for asked in (True, False):
        told = project.context(ASKS_GATEWAY, start=True, asked=asked, session="s")
        assert (told.text, len(told.recollection)) == ("", 0)
        assert "switched off" in told.recollection.notes[0]
    project.turn_on(everywhere=everywhere)
    assert project._parts.project().given() == ()
    assert refs(project.context(ASKS_GATEWAY, session="s")) == ["7", "1"]


# --- What is recorded -------------------------------------------------------------------------------------------------


def test_every_recollection_is_recorded(memory: Recollect, clock: FixedClock) -> None:
    """What was given, as which part and at what cost, and silence too; and how it was received is told."""
    memory.pin("7")
    told = memory.context(ASKS_GATEWAY, session="s", agent="main", host="codex")
    memory.context(ASKS_GATEWAY, session="s", agent="main", host="codex")
    clock.move(minutes=1)
    memory.feedback("1", helpful=True)
    memory.feedback("7", helpful=False)
    memory.feedback("2", helpful=True)  # which was not given
    received = memory.status().given
    silent, spoken = memory._parts.project().given()
    assert (spoken.id, spoken.session, spoken.agent, spoken.host) == (told.recollection.id, "s", "main", "codex")
    assert [(item.ref, item.tier, item.tokens) for item in spoken.items] == [
        (item.ref, item.tier, item.tokens) for item in told.recollection
    ]
    assert [item.uid for item in spoken.items] == [memory.get(item.ref).uid for item in spoken.items]
    assert spoken.query == ASKS_GATEWAY
    assert spoken.at == START
    assert (silent.items, silent.withheld, silent.tokens) == ((), 2, 0)
    assert received is not None
    assert (received.prompts, received.silent, received.items, received.withheld) == (2, 1, 2, 2)
    assert (received.helpful, received.unhelpful, received.tokens) == (1, 1, spoken.tokens)


def test_feedback_on_global_memories_counts(memory: Recollect, clock: FixedClock) -> None:
    memory.pin(ref_of(memory, "Answer in British English", scope="global"))
    assert refs(memory.context("what is 2 + 2")) == ["g1"]
    memory.feedback("g1", helpful=True)
    received = memory.status().given
    assert received is not None
    assert (received.helpful, received.unhelpful) == (1, 0)


def test_verdicts_before_it_was_given_and_old_recollections_do_not_count(memory: Recollect, clock: FixedClock) -> None:
    memory.context(ASKS_GATEWAY)
    clock.move(days=8)
    memory.feedback("2", helpful=True)
    clock.move(minutes=1)
    memory.context(ASKS_BILLING)
    received = memory.status().given
    assert received is not None
    assert (received.prompts, received.items, received.helpful, received.latest) == (1, 1, 0, clock.now)


def test_no_secret_of_a_prompt_is_written_down(memory: Recollect) -> None:
    key = "AKIA" + "IOSFODNN7" + "QXMPLWZ"
    memory.context(f"which port does the gateway listen on, with {key}?", session="s")
    memory._contexts.surfaced.write()
    [record] = memory._parts.project().given()
    assert key not in record.query
    assert "gateway" in record.query


# --- Failures ---------------------------------------------------------------------------------------------------------


def silenced(context: Context, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing was given, and the log says why."""
    assert (context.text, len(context.recollection)) == ("", 0)
    assert context.recollection.notes == ("memory failed; its log says why",)
    [record] = [each for each in caplog.records if each.name == "recollect" and each.levelno == logging.ERROR]
    assert record.message == "no context could be given"
    assert record.exc_info
    caplog.clear()


@pytest.mark.row("P11", "failure")
def test_a_closed_memory_yields_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with temp_recollect(background=False) as memory:
        stock(memory)
    silenced(memory.context(ASKS_GATEWAY), caplog)


@pytest.mark.row("P11", "failure")
@pytest.mark.parametrize("which", ["project", "global"])
def test_a_damaged_store_breaks_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture, which: str) -> None:
    """Without the project's memory nothing is given; without the global one, what holds here is given all the same."""
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    with recollect.open(folder, home=home, background=False) as memory:
        stock(memory)
        memory.remember("Answer in British English", scope="global")
        files = [Path(memory._parts.store("project").url), Path(memory._parts.store("global").url)]
    file = files[which == "global"]
    assert file.is_file()
    for part in file.parent.glob(f"{file.name}*"):
        part.write_bytes(b"this is no database, and never was one " * 200)
    with recollect.open(folder, home=home, background=False) as memory:
        context = memory.context(ASKS_GATEWAY, session="s")
        if which == "project":
            silenced(context, caplog)
        else:
            assert "gateway" in context.text


class Breaking(HashEmbedder):
    """A model that breaks down as no model should."""

    broken = False

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.broken:
            raise RuntimeError("the model fell over")
        return super().embed(texts)


@pytest.mark.row("P11", "failure")
def test_a_model_that_breaks_yields_nothing_and_one_that_is_away_is_done_without(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = Breaking()
    with temp_recollect(embedder=model, background=False) as memory:
        stock(memory)
        assert refs(memory.context(ASKS_GATEWAY)) == ["1"]
        model.broken = True
        silenced(memory.context(ASKS_GATEWAY), caplog)
        model.broken, model.trouble = False, "it is being downloaded"
        words_alone = memory.context(ASKS_GATEWAY)
        assert words_alone.recollection.notes == ()
        assert set(refs(words_alone)) <= {"1"}
        model.trouble = ""
    assert not caplog.records


class Sealed:
    """A store that can be read and not written, as one in a folder that has become read-only."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __getattr__(self, name: str) -> Any:
        if name not in {"apply", "keep_vectors", "forget_vectors", "note_uses", "note_given", "rebuild", "restore"}:
            return getattr(self.store, name)

        def refuse(*given: object, **more: object) -> None:
            raise StoreReadOnly("memory.db", "cannot be written")

        return refuse


@pytest.mark.row("P11", "failure")
def test_a_store_that_cannot_be_written_gives_what_it_holds(tmp_path: Path) -> None:
    """The records are lost, and nothing else; within the process nothing is said twice still."""
    path = str(tmp_path / "memory.db")
    with recollect.open(store=path, background=False) as memory:
        stock(memory)
    with recollect.open(store=cast(Store, Sealed(open_store(path))), background=False) as memory:
        assert refs(memory.context(ASKS_GATEWAY, session="s")) == ["1"]
        for _ in range(40):
            assert refs(memory.context(ASKS_GATEWAY, session="s")) == []
    with recollect.open(store=path, background=False) as memory:
        assert memory._parts.project().given() == ()


@pytest.mark.row("P11", "failure")
@pytest.mark.parametrize("ceilings", [{"nowhere": 1}, {"found": -1}])
def test_an_impossible_wish_yields_nothing(
    memory: Recollect, caplog: pytest.LogCaptureFixture, ceilings: dict[str, int]
) -> None:
    silenced(memory.context(ASKS_GATEWAY, ceilings=ceilings), caplog)
    assert refs(memory.context(ASKS_GATEWAY)) == ["1"]


@given(prompt=st.text(max_size=300), previous=st.text(max_size=100), file=st.text(max_size=60))
def test_no_prompt_makes_it_fail(full: Recollect, prompt: str, previous: str, file: str) -> None:
    """Whatever is typed, there is an answer, and it is no failure."""
    told = full.context(prompt, previous=previous, files=[file], session=prompt[:20], agent=previous[:5])
    assert told.recollection.notes == ()


@pytest.mark.parametrize("style", list(Style))
def test_each_style_can_be_asked_for(memory: Recollect, style: Style) -> None:
    told = memory.context(ASKS_GATEWAY, style=style)
    assert GATEWAY in told.text
    assert is_marked(told.text)
    assert told.recollection[0].kind is Kind.FACT
