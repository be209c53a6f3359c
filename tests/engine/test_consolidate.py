"""Consolidation while writing: what says the same strengthens, what is newer replaces, and nothing is lost by it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from time import process_time
from typing import Any

import pytest

import recollect
from recollect import (
    Anchor,
    Draft,
    InvalidInput,
    Kind,
    LinkKind,
    Memory,
    NotFound,
    Origin,
    Procedure,
    Recollect,
    Scope,
    Status,
)
from recollect.embed import Embedder
from recollect.engine.consolidate import consolidated
from recollect.engine.parts import new_uid
from recollect.engine.write import Remembered
from recollect.model import Add, Finding, Provenance, Reinforcement, Signals
from recollect.policy.admit import compose
from recollect.policy.kinds import TRUST
from recollect.store import Store, open_store
from recollect.testing import FixedClock, HashEmbedder

START = datetime(2026, 1, 1, tzinfo=UTC)

PORT, PORT_AGAIN = "The API listens on port 8080", "Our API is listening on port 8080"
OTHER_PORT, MOVED_PORT = "The API listens on port 9090", "The API now listens on port 9090"
DEPLOY, NEVER = "Deploy on Fridays", "Never deploy on Fridays"
UNRELATED = "Coffee is served in the kitchen"


@dataclass
class Desk:
    """One project's memory, kept on disk or not, and those who write to it."""

    folder: Path
    clock: FixedClock
    search: str
    shared: Store | None
    """The one store that everybody is given; on disk each opens it for themselves."""
    opened: ExitStack = field(default_factory=ExitStack)

    def open(
        self,
        origin: Origin = Origin.OBSERVED,
        settings: Mapping[str, object] | None = None,
        *,
        actor: str = "library",
        embedder: Embedder | None = None,
    ) -> Recollect:
        """Somebody who writes here; an agent by default."""
        memory = recollect.open(
            self.folder / "project",
            store=self.shared,
            home=self.folder / "home",
            clock=self.clock,
            origin=origin,
            actor=actor,
            settings={"recall.search": self.search, **(settings or {})},
            embedder=embedder,
            background=False,
        )
        return self.opened.enter_context(memory)


PLACES = ["memory-hybrid", "disk-hybrid", "disk-fts5"]


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture(params=PLACES)
def desk(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Desk]:
    place, search = request.param.split("-")
    (tmp_path / "project").mkdir()
    shared = open_store("memory:") if place == "memory" else None
    made = Desk(folder=tmp_path, clock=clock, search=search, shared=shared)
    with made.opened:
        yield made


@pytest.fixture
def agent(desk: Desk) -> Recollect:
    return desk.open()


@pytest.fixture
def user(desk: Desk) -> Recollect:
    return desk.open(Origin.USER_STATED)


once = pytest.mark.parametrize("desk", ["disk-hybrid"], indirect=True)
"""For what does not depend on where memories are kept or how they are found."""


def live(memory: Recollect) -> list[str]:
    """What is recalled unasked, in the order it came."""
    return [each.content for each in memory.list(order_by="-id")]


def links(memory: Recollect, ref: str, kind: LinkKind) -> list[tuple[int, int]]:
    return [(link.memory, int(link.target)) for link in memory.links(ref) if link.kind is kind]


def candidate(agent: Recollect, text: str) -> Memory:
    """A memory that a finding was promoted to, and that nobody has confirmed."""
    [done] = agent.promote_findings([Finding(content=text, importance=0.8, resolves=True)], session="s0")
    assert done.remembered is not None
    assert done.remembered.memory.status is Status.CANDIDATE
    return done.remembered.memory


# --- The same in other words ----------------------------------------------------------------------------------------


@pytest.mark.row("J23", "duplicate", "breadcrumbs")
@pytest.mark.row("P15", "boost")
def test_the_same_in_other_words_strengthens_what_is_there(agent: Recollect, clock: FixedClock) -> None:
    """A tenth more important, with a breadcrumb, and with the tags and files it did not have; nothing new is stored."""
    first = agent.remember(PORT, tags=["net", "api"], files=["api.py"], session="s1").memory
    clock.move(hours=2)
    done = agent.remember(
        PORT_AGAIN,
        tags=["api", "http"],
        files=["api.py", Anchor(path="server.py", symbol="serve")],
        session="s2",
        message_range=(4, 6),
        importance=1.0,
    )
    assert (done.duplicate, done.supersedes, done.contradicts) == (True, (), ())
    after = done.memory
    assert (after.uid, after.content, after.version) == (first.uid, PORT, 2)
    assert after.importance == pytest.approx(first.importance + 0.1)
    assert (after.access_count, after.accessed_at) == (1, clock.now)
    assert after.reinforcements == (Reinforcement(at=clock.now, session_id="s2", message=4, words=PORT_AGAIN),)
    assert after.tags == ("net", "api", "http")
    assert after.files == ("api.py", "server.py")
    assert (after.session_id, after.origin, after.provenance) == ("s1", first.origin, first.provenance)
    assert agent.get(first.ref) == after
    assert live(agent) == [PORT]
    assert [version.memory for version in agent.history(first.ref)] == [first]
    [entry] = agent.audit(after=1)
    assert (entry.action, entry.uid, entry.detail) == ("reinforce", first.uid, {"duplicate": "near"})
    assert agent.verify_audit() == ()


@pytest.mark.row("J23", "breadcrumbs")
def test_every_repetition_leaves_its_own_breadcrumb(agent: Recollect, clock: FixedClock) -> None:
    """Whether in the same words or in others."""
    agent.remember(PORT, session="s1")
    moments = []
    said = (PORT_AGAIN, PORT, "the API listens on port 8080, always", PORT_AGAIN)
    for number, text in enumerate(said, start=2):
        clock.move(hours=1)
        moments.append(clock.now)
        assert agent.remember(text, session=f"s{number}", message_range=(number, number + 3)).duplicate
    after = agent.get(1)
    assert after.reinforcements == tuple(
        Reinforcement(at=at, session_id=f"s{number}", message=number, words="" if text == PORT else text)
        for number, (at, text) in enumerate(zip(moments, said, strict=True), start=2)
    )
    assert (after.importance, after.access_count) == (0.9, 4)


@once
def test_what_was_gained_is_searched_by(agent: Recollect) -> None:
    """The tags and files that came later are as good as the first."""
    agent.remember(PORT)
    agent.remember(PORT_AGAIN, tags=["http"], files=["server.py"])
    assert [hit.memory.content for hit in agent.recall("API port", tags=["http"])] == [PORT]
    assert [hit.memory.content for hit in agent.recall("API port", files=["server.py"])] == [PORT]
    assert {each.name for each in agent.tags()} == {"http"}


@once
@pytest.mark.parametrize(
    "carried",
    [
        {"payload": {"ticket": 42}},
        {"procedure": Procedure(name="open the port", steps=("open it",))},
        {"triggers": ["port"]},
        {"valid_to": START},
        {"season": "release"},
    ],
    ids=lambda carried: next(iter(carried)),
)
def test_what_carries_more_than_words_is_kept_beside(agent: Recollect, carried: dict[str, Any]) -> None:
    """So that it is not lost."""
    agent.remember(PORT)
    done = agent.remember(PORT_AGAIN, **carried)
    assert (done.duplicate, done.supersedes, done.contradicts) == (False, (), ())
    assert live(agent) == [PORT, PORT_AGAIN]


@pytest.mark.parametrize("way_out", ["forget", "archive"])
def test_only_what_is_live_is_compared_with(agent: Recollect, way_out: str) -> None:
    """What was taken out does not swallow what comes in."""
    first = agent.remember(PORT).ref
    getattr(agent, way_out)(first)
    done = agent.remember(PORT_AGAIN)
    assert not done.duplicate
    assert live(agent) == [PORT_AGAIN]


@once
@pytest.mark.parametrize("embedder", [None, HashEmbedder(), HashEmbedder(local=False)], ids=["own", "hash", "remote"])
def test_texts_are_compared_alike_whichever_model_finds_them(desk: Desk, embedder: Embedder | None) -> None:
    """Always by the model that is built in."""
    memory = desk.open(embedder=embedder)
    memory.remember_many([UNRELATED, PORT, "Invoices are rendered by the billing worker"])
    assert memory.remember(PORT_AGAIN).duplicate
    assert memory.remember(OTHER_PORT).contradicts == ("2",)
    assert len(live(memory)) == 4


@once
def test_a_model_that_fails_keeps_nothing_out(desk: Desk) -> None:
    """Then words find what there is to compare with."""
    embedder = HashEmbedder()
    memory = desk.open(embedder=embedder)
    memory.remember(PORT)
    embedder.trouble = "it is not there"
    assert memory.remember(PORT_AGAIN).duplicate
    assert memory.remember(UNRELATED).memory.content == UNRELATED
    assert memory.remember(OTHER_PORT).contradicts == ("1",)


# --- Whose word it is -----------------------------------------------------------------------------------------------

CHARGES, CHARGES_AGAIN = (
    "The payment worker retries failed charges three times",
    "Our payment worker retries failed charges 3 times",
)


@pytest.mark.parametrize("again", [CHARGES, CHARGES_AGAIN], ids=["same words", "other words"])
@pytest.mark.parametrize("origin", [Origin.USER_STATED, Origin.USER_CORRECTED])
def test_the_users_word_confirms_a_candidate(desk: Desk, clock: FixedClock, origin: Origin, again: str) -> None:
    """It is trusted as the user is from then on, and it is known that the user said so."""
    before = candidate(desk.open(), CHARGES)
    clock.move(hours=5)
    done = desk.open(origin).remember(again, session="s9")
    assert done.duplicate
    assert (done.memory.status, done.memory.trust, done.memory.origin) == (Status.CONFIRMED, 1.0, Origin.EXTRACTED)
    assert done.memory.confirmed_at == clock.now
    assert done.memory.provenance == (
        *before.provenance,
        Provenance(origin=origin, at=clock.now, session_id="s9"),
    )


@once
@pytest.mark.parametrize("again", [CHARGES, CHARGES_AGAIN], ids=["same words", "other words"])
@pytest.mark.parametrize("origin", sorted(set(Origin) - {Origin.USER_STATED, Origin.USER_CORRECTED}))
def test_nobody_elses_word_confirms_anything(desk: Desk, origin: Origin, again: str) -> None:
    """However often it is said and however far the one who says it is trusted."""
    before = candidate(desk.open(), CHARGES)
    other = desk.open(origin)
    for _ in range(3):
        done = other.remember(again)
        assert done.duplicate
        assert (done.memory.status, done.memory.trust) == (Status.CANDIDATE, TRUST[Origin.EXTRACTED])
        assert done.memory.provenance == before.provenance


@once
def test_the_users_word_never_lowers_trust_nor_unpins(user: Recollect) -> None:
    """What is pinned stays pinned."""
    user.remember(PORT)
    user.pin(1)
    after = user.remember(PORT_AGAIN).memory
    assert (after.status, after.trust) == (Status.PINNED, 1.0)


@once
def test_what_the_user_corrects_in_a_turn_replaces_what_an_agent_noted(desk: Desk, clock: FixedClock) -> None:
    """At once, as the user's own word."""
    agent = desk.open()
    agent.remember("Deploys go out from main")
    clock.move(minutes=5)
    [learned] = agent.learn("Actually, deploys go out from release instead of main.", session="s1")
    assert learned.remembered is not None
    assert (learned.remembered.memory.trust, learned.remembered.supersedes) == (1.0, ("1",))


# --- A newer value --------------------------------------------------------------------------------------------------


@pytest.mark.row("J23", "contradiction")
def test_another_value_takes_the_place_of_one_that_has_stood(agent: Recollect, clock: FixedClock) -> None:
    """The older one leaves recall, knows by what, and is linked; nothing of it is lost."""
    old = agent.remember(PORT, tags=["net"]).memory
    clock.move(hours=24)
    done = agent.remember(OTHER_PORT)
    assert (done.duplicate, done.supersedes, done.contradicts) == (False, (old.ref,), ())
    gone = agent.get(old.ref)
    assert (gone.status, gone.superseded_by, gone.content, gone.tags) == (
        Status.SUPERSEDED,
        done.memory.uid,
        PORT,
        ("net",),
    )
    assert links(agent, done.ref, LinkKind.SUPERSEDES) == [(done.memory.id, old.id)]
    assert live(agent) == [OTHER_PORT]
    assert [hit.memory.content for hit in agent.recall("which port does the API listen on")] == [OTHER_PORT]
    assert PORT in [hit.memory.content for hit in agent.search("port 8080")]
    assert [version.memory for version in agent.history(old.ref)] == [old]
    assert agent.conflicts() == ()
    assert agent.verify_audit() == ()


@pytest.mark.row("J23", "contradiction")
def test_another_value_too_soon_is_a_conflict(agent: Recollect, clock: FixedClock) -> None:
    """Both are kept until somebody decides."""
    agent.remember(PORT)
    clock.move(hours=23, minutes=59)
    done = agent.remember(OTHER_PORT)
    assert (done.supersedes, done.contradicts) == ((), ("1",))
    assert live(agent) == [PORT, OTHER_PORT]
    [conflict] = agent.conflicts()
    assert (conflict.older.ref, conflict.newer.ref, conflict.since, conflict.found_by) == (
        "1",
        "2",
        clock.now,
        "library",
    )


@once
@pytest.mark.parametrize("settled, hours, replaced", [(0.0, 0, True), (2.0, 1, False), (2.0, 2, True), (99, 98, False)])
def test_how_long_a_memory_must_have_stood_is_a_setting(
    desk: Desk, clock: FixedClock, settled: float, hours: float, replaced: bool
) -> None:
    """In hours."""
    memory = desk.open(settings={"consolidate.settled_hours": settled})
    memory.remember(PORT)
    clock.move(hours=hours)
    assert bool(memory.remember(OTHER_PORT).supersedes) is replaced


@once
def test_what_was_vouched_for_has_stood_since_then(agent: Recollect, clock: FixedClock) -> None:
    """Whoever has just confirmed it would not expect it to be gone."""
    agent.remember(PORT)
    clock.move(hours=30)
    agent.confirm(1)
    clock.move(hours=1)
    assert agent.remember(OTHER_PORT).contradicts == ("1",)


def test_that_something_has_changed_the_user_is_believed_at_once(desk: Desk, clock: FixedClock) -> None:
    """Others, once what was there has stood for a while."""
    desk.open().remember(PORT)
    clock.move(minutes=1)
    assert desk.open().remember("The API now listens on port 7070").contradicts == ("1",)
    done = desk.open(Origin.USER_STATED).remember(MOVED_PORT)
    assert "1" in done.supersedes
    assert desk.open().get(1).status is Status.SUPERSEDED


@pytest.mark.parametrize("said", [OTHER_PORT, MOVED_PORT])
def test_a_correction_replaces_at_once(desk: Desk, said: str) -> None:
    """By its kind, or because the user corrected somebody."""
    agent = desk.open()
    agent.remember(PORT)
    done = agent.remember(said, kind="correction")
    assert (done.supersedes, live(agent)) == (("1",), [said])


@pytest.mark.parametrize("origin, kind", [(Origin.USER_CORRECTED, Kind.FACT), (Origin.OBSERVED, Kind.CORRECTION)])
def test_a_correction_replaces_the_opposite_too(desk: Desk, origin: Origin, kind: Kind) -> None:
    """Which otherwise is a conflict, however old what it contradicts is."""
    agent = desk.open()
    agent.remember(DEPLOY)
    done = desk.open(origin).remember(NEVER, kind=kind)
    assert (done.supersedes, live(agent)) == (("1",), [NEVER])


def test_the_opposite_is_a_conflict_however_old(agent: Recollect, clock: FixedClock) -> None:
    """That somebody has changed their mind is not said."""
    agent.remember(DEPLOY)
    clock.move(days=400)
    assert agent.remember(NEVER).contradicts == ("1",)
    assert live(agent) == [DEPLOY, NEVER]


def test_a_value_that_changes_again_and_back_is_the_last_one(agent: Recollect, clock: FixedClock) -> None:
    """Each time the one before gives way, and the first comes back as a memory of its own."""
    ports = [PORT, OTHER_PORT, "The API listens on port 7070", PORT]
    for text in ports:
        agent.remember(text)
        clock.move(days=2)
    assert live(agent) == [PORT]
    assert [agent.get(number).content for number in (1, 2, 3, 4)] == ports
    assert [agent.get(number).superseded_by for number in (1, 2, 3)] == [agent.get(n).uid for n in (2, 3, 4)]
    assert [hit.memory.id for hit in agent.recall("API port")] == [4]


@once
def test_one_memory_may_replace_several(agent: Recollect, clock: FixedClock) -> None:
    """All that it says otherwise of."""
    agent.remember(PORT)
    agent.remember(OTHER_PORT)
    clock.move(days=2)
    done = agent.remember("The API listens on port 7070")
    assert sorted(done.supersedes) == ["1", "2"]
    assert live(agent) == ["The API listens on port 7070"]
    assert agent.conflicts() == ()


@pytest.mark.parametrize("who", [Origin.USER_STATED, Origin.USER_CORRECTED, Origin.OBSERVED])
def test_what_is_pinned_is_never_replaced_unasked(desk: Desk, clock: FixedClock, who: Origin) -> None:
    """Not even by a correction of the user's; it is a conflict."""
    desk.open().remember(PORT)
    desk.open().pin(1)
    clock.move(days=30)
    done = desk.open(who).remember(MOVED_PORT, kind="correction")
    assert (done.supersedes, done.contradicts) == ((), ("1",))
    assert desk.open().get(1).status is Status.PINNED


@pytest.mark.parametrize("kind", ["fact", "correction"])
@pytest.mark.parametrize("said", [OTHER_PORT, MOVED_PORT])
def test_what_is_trusted_less_never_replaces(desk: Desk, clock: FixedClock, said: str, kind: str) -> None:
    """An agent's observation stands beside the user's word as a conflict, however old that is."""
    desk.open(Origin.USER_STATED).remember(PORT)
    clock.move(days=365)
    done = desk.open().remember(said, kind=kind)
    assert (done.supersedes, done.contradicts) == ((), ("1",))
    assert live(desk.open()) == [PORT, said]


@once
@pytest.mark.parametrize("older, newer", list(permutations(Origin, 2)))
def test_trust_decides_between_any_two_origins(desk: Desk, clock: FixedClock, older: Origin, newer: Origin) -> None:
    """As much trust or more, never less."""
    desk.open(older).remember(PORT)
    clock.move(days=2)
    done = desk.open(newer).remember(OTHER_PORT)
    assert bool(done.supersedes) is (TRUST[newer] >= TRUST[older])
    assert bool(done.contradicts) is (TRUST[newer] < TRUST[older])


@once
def test_what_was_found_once_is_not_replaced_by_what_is_found_later(agent: Recollect, clock: FixedClock) -> None:
    """It is not made untrue by it."""
    agent.remember("The importer of the shop holds 8 workers", kind="discovery")
    clock.move(days=9)
    assert agent.remember("The importer of the shop holds 16 workers", kind="discovery").supersedes == ()


# --- What may be wished otherwise -----------------------------------------------------------------------------------


def test_in_ask_mode_nothing_is_replaced(desk: Desk, clock: FixedClock) -> None:
    """Each is a conflict for somebody to decide; the same in other words still strengthens."""
    settings = {"consolidate.mode": "ask"}
    agent, corrector = desk.open(settings=settings), desk.open(Origin.USER_CORRECTED, settings)
    agent.remember(PORT)
    clock.move(days=30)
    assert agent.remember(PORT_AGAIN).duplicate
    assert agent.remember(MOVED_PORT).contradicts == ("1",)
    done = corrector.remember("The API listens on port 7070", kind="correction")
    assert (done.supersedes, sorted(done.contradicts)) == ((), ["1", "2"])
    assert len(live(agent)) == 3
    assert len(agent.conflicts()) == 3


def test_in_off_mode_only_the_same_words_are_known(desk: Desk, clock: FixedClock) -> None:
    """Anything else is one more memory."""
    agent = desk.open(settings={"consolidate.mode": "off"})
    agent.remember(PORT)
    clock.move(days=30)
    for text in (PORT_AGAIN, OTHER_PORT):
        done = agent.remember(text, kind="correction")
        assert (done.duplicate, done.supersedes, done.contradicts) == (False, (), ())
    assert agent.remember(f"  {PORT.upper()}").duplicate
    assert live(agent) == [PORT, PORT_AGAIN, OTHER_PORT]
    assert agent.conflicts() == ()


@pytest.mark.parametrize("many, compared", [(3, True), (4, False)])
def test_a_large_batch_is_not_compared(desk: Desk, clock: FixedClock, many: int, compared: bool) -> None:
    """None of it; the same words are still known."""
    agent = desk.open(settings={"consolidate.batch_limit": 3})
    agent.remember_many([PORT, UNRELATED])
    clock.move(days=2)
    filler = [f"Shelf {letter} holds {letter * 3} boxes" for letter in "ab"][: many - 2]
    done = agent.remember_many([OTHER_PORT, UNRELATED, *filler])
    assert [each.supersedes for each in done] == [("1",) if compared else (), *[()] * (many - 1)]
    assert done[1].duplicate
    assert agent.get(1).active is not compared


@once
def test_what_comes_in_one_batch_is_all_stored_or_strengthens(agent: Recollect, clock: FixedClock) -> None:
    """Of several that say otherwise, the first replaces; of several that say the same, each leaves a breadcrumb."""
    agent.remember(PORT)
    agent.remember(DEPLOY)
    clock.move(days=2)
    done = agent.remember_many([OTHER_PORT, "The API listens on port 7070", "Please deploy on Fridays", DEPLOY])
    assert [each.duplicate for each in done] == [False, False, True, True]
    assert done[0].supersedes == ("1",)
    assert sorted(live(agent)) == sorted([DEPLOY, OTHER_PORT, "The API listens on port 7070"])
    assert len(agent.get(2).reinforcements) == 2


# --- Where it belongs -----------------------------------------------------------------------------------------------

REACHES: list[dict[str, Any]] = [
    {"scope": "project"},
    {"scope": "global"},
    {"scope": "session", "session": "s1"},
    {"scope": "session", "session": "s2"},
    {"scope": "task", "task": "s1"},
]


@pytest.mark.parametrize("said", [PORT_AGAIN, OTHER_PORT, MOVED_PORT])
@pytest.mark.parametrize("one, other", list(permutations(range(len(REACHES)), 2)))
def test_memories_of_different_reach_never_touch(
    tmp_path: Path, clock: FixedClock, one: int, other: int, said: str
) -> None:
    """No session's memory is repeated or replaced by the project's, and none of a project by what holds everywhere."""
    with recollect.open(store="memory:", home=tmp_path, clock=clock, background=False) as memory:
        first = memory.remember(PORT, **REACHES[one]).memory
        clock.move(days=2)
        done = memory.remember(said, kind="correction", **REACHES[other])
        assert (done.duplicate, done.supersedes, done.contradicts) == (False, (), ())
        assert memory.get(first.ref) == first


@pytest.mark.parametrize("reach", REACHES, ids=lambda reach: "-".join(reach.values()))
def test_memories_of_one_reach_do(agent: Recollect, clock: FixedClock, reach: dict[str, Any]) -> None:
    """In each of them."""
    first = agent.remember(PORT, **reach).ref
    assert agent.remember(PORT_AGAIN, **reach).duplicate
    clock.move(days=2)
    assert agent.remember(OTHER_PORT, **reach).supersedes == (first,)
    assert agent.get(first).status is Status.SUPERSEDED


# --- Nothing is lost ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [Status.CONFIRMED, Status.CANDIDATE])
def test_what_was_replaced_can_be_restored(desk: Desk, clock: FixedClock, status: Status) -> None:
    """To the status it had, with everything it was."""
    agent = desk.open()
    old, new = "The payment worker listens on port 8080", "The payment worker listens on port 9090"
    before = agent.remember(old, tags=["net"]).memory if status is Status.CONFIRMED else candidate(agent, old)
    clock.move(days=2)
    assert agent.remember(new, kind="correction").supersedes == ("1",)
    back = agent.restore(1)
    assert (back.status, back.superseded_by, back.tags, back.content) == (status, None, before.tags, old)
    assert live(agent) == [old, new]
    assert {hit.memory.content for hit in agent.recall("port of the payment worker")} == {old, new}


def test_what_was_replaced_comes_back_when_the_link_is_taken_away(agent: Recollect, clock: FixedClock) -> None:
    """Both hold then."""
    agent.remember(PORT)
    clock.move(days=2)
    new = agent.remember(OTHER_PORT).ref
    agent.unlink(new, 1, kind="supersedes")
    assert (agent.get(1).status, agent.get(1).superseded_by) == (Status.CONFIRMED, None)
    assert live(agent) == [PORT, OTHER_PORT]
    assert links(agent, new, LinkKind.SUPERSEDES) == []


def test_a_retry_after_something_was_replaced_changes_nothing(agent: Recollect, clock: FixedClock) -> None:
    """Nothing is replaced, linked or strengthened a second time, and the memory is the same."""
    agent.remember(PORT)
    clock.move(days=2)
    first = agent.remember(OTHER_PORT, key="k1")
    assert first.supersedes == ("1",)
    before = agent.audit(limit=None)
    clock.move(seconds=9)
    again = agent.remember(OTHER_PORT, key="k1")
    assert (again.memory, again.duplicate) == (first.memory, False)
    assert agent.audit(limit=None) == before


def test_a_retry_changes_nothing_whatever_happened_since(agent: Recollect, clock: FixedClock) -> None:
    """Though what it is compared with has changed: it was replaced itself, and what it replaced came back."""
    agent.remember(PORT)
    clock.move(days=2)
    first = agent.remember(OTHER_PORT, key="k1")
    agent.restore(1)
    clock.move(days=2)
    agent.remember("The API listens on port 7070")
    before = [agent.get(number) for number in (1, 2, 3)]
    again = agent.remember(OTHER_PORT, key="k1")
    assert (again.memory.uid, again.duplicate) == (first.memory.uid, False)
    assert [agent.get(number) for number in (1, 2, 3)] == before
    assert agent.count({"status": [each.value for each in Status]}) == 3


@pytest.mark.parametrize("text, told", [(PORT_AGAIN, "duplicate"), (OTHER_PORT, "contradicts")])
def test_a_retried_repetition_or_conflict_counts_once(agent: Recollect, text: str, told: str) -> None:
    """However often it is retried."""
    agent.remember(PORT)
    first = agent.remember(text, key="k1")
    assert getattr(first, told)
    for _ in range(3):
        again = agent.remember(text, key="k1")
        assert (again.memory, again.duplicate) == (first.memory, first.duplicate)
    assert len(agent.get(1).reinforcements) == (told == "duplicate")
    assert len(agent.conflicts()) == (told == "contradicts")


@pytest.mark.parametrize("hours", [1, 25], ids=["contradicts", "supersedes"])
def test_a_retry_is_told_what_the_first_was_told(agent: Recollect, clock: FixedClock, hours: float) -> None:
    """What it replaced and what it contradicts."""
    agent.remember(PORT)
    clock.move(hours=hours)
    first = agent.remember(OTHER_PORT, key="k1")
    assert agent.remember(OTHER_PORT, key="k1") == first


def ready(writers: list[Recollect]) -> list[Recollect]:
    """The same, each with its models open, so that nothing but the writing happens at the same moment."""
    for writer in writers:
        for drink in ("Coffee", "Tea", "Juice"):
            writer.remember(f"{drink} is served in the kitchen", scope="global")
    return writers


def at_once(writers: list[Recollect], texts: list[str]) -> list[Remembered]:
    """What became of texts that were stored at the same moment, each by a writer of its own."""
    done: list[Remembered] = []
    gate = threading.Barrier(len(texts))

    def write(writer: Recollect, text: str) -> None:
        gate.wait()
        done.append(writer.remember(text))

    threads = [
        threading.Thread(target=write, args=(writers[number % len(writers)], text)) for number, text in enumerate(texts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done


@pytest.mark.parametrize("own", [True, False], ids=["each its own", "one for all"])
def test_the_same_fact_in_different_words_at_once_loses_nothing(desk: Desk, own: bool) -> None:
    """Each text is a memory or a breadcrumb, and what is left to tidy is tidied by those that come later."""
    texts = [PORT, PORT_AGAIN, "The API listens on port 8080 always", "Our API listens on port 8080"]
    writers = ready([desk.open() for _ in range(len(texts) if own else 1)])
    for _ in range(5):
        done = at_once(writers, texts)
        assert len(done) == len(texts)
    memories = writers[0].list()
    assert len(memories) + sum(len(each.reinforcements) for each in memories) == 5 * len(texts)
    assert {each.content for each in memories} <= set(texts)
    assert writers[0].verify_audit() == ()
    assert all(check.ok for check in writers[0].doctor())


def test_changes_of_the_same_memory_at_once_lose_nothing(desk: Desk, clock: FixedClock) -> None:
    """The older one is replaced once, by the first; every newer one is there."""
    desk.open().remember(PORT)
    clock.move(days=2)
    texts = [f"The API listens on port {number}" for number in (9001, 9002, 9003, 9004)]
    done = at_once(ready([desk.open() for _ in texts]), texts)
    reader = desk.open()
    replaced = [each for each in done if "1" in each.supersedes]
    assert [each.memory.uid for each in replaced] == [reader.get(1).superseded_by]
    held = reader.list({"status": ["confirmed", "superseded"]})
    assert {each.content for each in held} == {PORT, *texts}
    assert live(reader)
    assert reader.verify_audit() == ()


# --- What is derived from others ------------------------------------------------------------------------------------


@pytest.mark.parametrize("origins", [[Origin.TOOL_OUTPUT], [Origin.USER_STATED, Origin.IMPORTED], [Origin.USER_STATED]])
def test_what_is_derived_is_trusted_no_more_than_its_sources(desk: Desk, origins: list[Origin]) -> None:
    """Nor more than who derived it; it is linked with each of them."""
    texts = [UNRELATED, "Invoices are rendered by the billing worker"]
    sources = [desk.open(origin).remember(text) for origin, text in zip(origins, texts, strict=False)]
    agent = desk.open()
    done = agent.remember("The office runs on coffee and invoices", derived_from=[each.ref for each in sources])
    assert done.memory.trust == min(TRUST[Origin.OBSERVED], *(TRUST[origin] for origin in origins))
    made = links(agent, done.ref, LinkKind.DERIVED_FROM)
    assert sorted(made) == [(done.memory.id, each.memory.id) for each in sources]
    assert (done.supersedes, done.contradicts) == ((), ())


@once
def test_trust_cannot_be_had_by_deriving(desk: Desk, clock: FixedClock) -> None:
    """What the user's channel makes of a tool's output replaces nothing that the user said."""
    user = desk.open(Origin.USER_STATED)
    user.remember(PORT)
    source = desk.open(Origin.TOOL_OUTPUT).remember(UNRELATED).ref
    clock.move(days=2)
    done = user.remember(OTHER_PORT, derived_from=[source], kind="correction")
    assert (done.memory.trust, done.supersedes, done.contradicts) == (TRUST[Origin.TOOL_OUTPUT], (), ("1",))


@once
def test_what_is_derived_may_replace_what_it_is_derived_from(agent: Recollect, clock: FixedClock) -> None:
    """With both links."""
    agent.remember(PORT)
    clock.move(days=2)
    done = agent.remember(OTHER_PORT, derived_from=[1])
    assert done.supersedes == ("1",)
    assert links(agent, done.ref, LinkKind.DERIVED_FROM) == links(agent, done.ref, LinkKind.SUPERSEDES) == [(2, 1)]


@once
def test_sources_must_be_there_and_in_the_same_space(agent: Recollect) -> None:
    """Or nothing is stored."""
    everywhere = agent.remember(UNRELATED, scope="global").ref
    with pytest.raises(InvalidInput) as caught:
        agent.remember(PORT, derived_from=[everywhere])
    assert caught.value.field == "derived_from"
    with pytest.raises(NotFound):
        agent.remember(PORT, derived_from=[99])
    assert agent.count() == 0


@once
def test_a_retry_is_the_same_request_though_a_source_is_trusted_more_by_now(desk: Desk) -> None:
    """Nothing that was asked for has changed."""
    agent, user = desk.open(), desk.open(Origin.USER_STATED)
    source = desk.open(Origin.TOOL_OUTPUT).remember(UNRELATED).ref
    first = agent.remember("The office runs on coffee", derived_from=[source], key="k1")
    user.confirm(source)
    assert agent.remember("The office runs on coffee", derived_from=[source], key="k1").memory == first.memory


@once
def test_every_source_is_linked(agent: Recollect) -> None:
    """However many there are."""
    texts = [f"Shelf {letter} holds the {letter * 4} boxes" for letter in "abcdefg"]
    sources = [each.ref for each in agent.remember_many(texts)]
    done = agent.remember("Seven shelves hold all the boxes", derived_from=sources)
    assert len(links(agent, done.ref, LinkKind.DERIVED_FROM)) == len(sources)


@once
def test_what_has_many_sources_still_replaces(agent: Recollect, clock: FixedClock) -> None:
    """What it says otherwise of leaves recall."""
    texts = [f"Shelf {letter} holds the {letter * 4} boxes" for letter in "abcde"]
    sources = [each.ref for each in agent.remember_many(texts)]
    old = agent.remember(PORT).ref
    clock.move(days=2)
    assert agent.remember(OTHER_PORT, derived_from=sources).supersedes == (old,)


# --- What it costs -------------------------------------------------------------------------------------------------


@once
def test_a_long_memory_is_stored_while_somebody_waits(agent: Recollect) -> None:
    """Beside others that are as long and have hardly a word in common."""
    sources = sorted(Path(recollect.__file__).parent.rglob("*.py"))
    words = sorted({word for each in sources for word in re.findall("[a-z]{4,9}", each.read_text("utf-8"))})
    texts = [f"common ground {' '.join(words[start::4])}"[:7_900] for start in range(4)]
    agent.remember_many(texts[:3])
    began = process_time()
    agent.remember(texts[3])
    assert process_time() - began < 1.0


# --- What is not as it should be ------------------------------------------------------------------------------------


@once
@pytest.mark.parametrize(
    "older, newer",
    [
        ("Run the linter before committing", "Run the linter after committing"),
        ("The pool holds at least 10 connections", "The pool holds at most 10 connections"),
        ("Copy the nightly dump from staging to production", "Copy the nightly dump from production to staging"),
        ("Restart the worker after every deploy", "Restart the order worker after every deploy"),
        ("Clients must retry failed uploads", "Clients may retry failed uploads"),
    ],
)
def test_what_says_something_else_is_stored(agent: Recollect, older: str, newer: str) -> None:
    """Beside what is there, or in its place."""
    agent.remember(older)
    agent.remember(newer)
    kept = agent.list({"status": [each.value for each in Status]})
    assert newer in [each.content for each in kept]


@once
@pytest.mark.parametrize("meanwhile", ["pinned", "vouched for by the user"])
def test_what_has_become_firm_between_comparing_and_writing_is_not_replaced(
    desk: Desk, clock: FixedClock, meanwhile: str
) -> None:
    """Another process may have pinned it or heard it from the user just now."""
    agent, user = desk.open(), desk.open(Origin.USER_STATED)
    agent.remember(PORT)
    clock.move(days=2)
    parts, now = agent._parts, clock.now
    new = compose(Draft(content=OTHER_PORT), uid=new_uid(now), origin=Origin.OBSERVED, now=now)
    [add] = consolidated(parts, parts.project(), [Add(memory=new, on_duplicate=Signals())])
    assert [each.kind for each in add.relations] == [LinkKind.SUPERSEDES]
    if meanwhile == "pinned":
        user.pin(1)
    else:
        assert user.remember(PORT_AGAIN).memory.trust == 1.0
    parts.project().apply([add], actor="library", now=now)
    assert agent.get(1).active


def test_scopes_are_those_of_the_model() -> None:
    """So that a new one gets its case above."""
    assert {reach["scope"] for reach in REACHES} == {scope.value for scope in Scope}
