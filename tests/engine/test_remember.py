"""Remembering: what is stored, what is stamped on it, and what happens the second time."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import (
    Anchor,
    Draft,
    InvalidInput,
    KeyReused,
    Kind,
    MemoryOff,
    Origin,
    Procedure,
    Provenance,
    Recollect,
    Scope,
    Source,
    Status,
    TooLarge,
)
from recollect.model import Json, Reinforcement
from recollect.policy.kinds import KINDS, TRUST
from recollect.testing import FixedClock, temp_recollect

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(clock: FixedClock) -> Iterator[Recollect]:
    with temp_recollect(clock=clock) as opened:
        yield opened


EVERYTHING: dict[str, Any] = {
    "kind": "procedure",
    "scope": "project",
    "tags": ["cache", "deploy"],
    "files": ["src/cache.py", Anchor(path="src/cache.py", symbol="warm", content_hash="b2:aa"), "README.md"],
    "importance": 0.75,
    "confidence": 0.5,
    "source": "conversation",
    "session": "s1",
    "task": "t1",
    "narrative": "n1",
    "message_range": (3, 8),
    "agent": "reviewer",
    "host": "editor",
    "triggers": ["re:warm.*cache"],
    "procedure": Procedure(
        name="warm the cache",
        trigger="after a deploy",
        steps=("stop", "start"),
        prerequisites=("a key",),
        warnings=("slow",),
    ),
    "season": "release",
    "stage": "build",
    "valid_from": START,
    "valid_to": START + timedelta(days=9),
    "payload": {"ticket": 42, "done": False, "notes": ["a", None, 1.5]},
    "snippet": "talking about caches",
    "reason": "said twice",
}
STORED_AS = {"session": "session_id", "task": "task_id", "narrative": "narrative_id"}


# One memory


def test_a_memory_holds_everything_it_was_given(memory: Recollect) -> None:
    """Field by field, and again when it is read."""
    stored = memory.remember("Warm the cache after each deploy", **EVERYTHING).memory
    assert memory.get(stored.ref) == stored
    for name in ("kind", "scope", "importance", "confidence", "source", "message_range", "agent", "host", "season"):
        assert getattr(stored, name) == EVERYTHING[name]
    for name in ("stage", "procedure", "payload", "valid_from", "valid_to", "session", "task", "narrative"):
        assert getattr(stored, STORED_AS.get(name, name)) == EVERYTHING[name]
    assert (stored.tags, stored.triggers) == (("cache", "deploy"), ("re:warm.*cache",))
    assert stored.files == ("src/cache.py", "README.md")
    assert stored.anchors[1] == Anchor(path="src/cache.py", symbol="warm", content_hash="b2:aa")
    assert stored.provenance[0].snippet == "talking about caches"
    assert stored.provenance[0].reason == "said twice"


def test_every_argument_of_remember_is_tried_above() -> None:
    """So that a new one gets its case."""
    arguments = set(inspect.signature(Recollect.remember).parameters) - {"self", "content", "key", "derived_from"}
    assert arguments == set(EVERYTHING)


@pytest.mark.row("J13")
def test_a_procedure_is_kept_with_all_its_parts(memory: Recollect) -> None:
    """Name, trigger, steps, prerequisites and warnings; it is found by its words and read back whole."""
    procedure = EVERYTHING["procedure"]
    memory.remember("How to warm the cache", kind="procedure", procedure=procedure)
    [hit] = memory.recall("warm cache", kinds=["procedure"])
    assert hit.memory.procedure == procedure


def test_what_is_not_given_has_its_default(memory: Recollect) -> None:
    """A fact of the project, sure, and unused."""
    stored = memory.remember("Deploys go out from main").memory
    assert (stored.kind, stored.scope, stored.status, stored.source) == (
        Kind.FACT,
        Scope.PROJECT,
        Status.CONFIRMED,
        Source.AGENT,
    )
    assert (stored.importance, stored.confidence, stored.strength, stored.score) == (0.5, 1.0, 1, 0)
    assert (stored.access_count, stored.accessed_at, stored.last_hit_at) == (0, None, None)
    assert (stored.tags, stored.anchors, stored.payload, stored.procedure) == ((), (), None, None)
    assert (stored.ref, str(stored.id), stored.version) == ("1", "1", 1)


@pytest.mark.parametrize("kind", Kind)
def test_importance_follows_the_kind(memory: Recollect, kind: Kind) -> None:
    """Unless it is given."""
    assert memory.remember("a note", kind=kind.value).memory.importance == KINDS[kind].importance


@pytest.mark.row("K3", "store")
def test_what_was_stored_answers_at_once(memory: Recollect) -> None:
    """An agent stores a memory and gets its reference."""
    done = memory.remember("Deploys go out from main")
    assert str(done) == "[id:1] Deploys go out from main"
    assert not done.duplicate
    assert [hit.memory for hit in memory.recall("deploys")] == [done.memory]


# What no argument can forge


FORGED = {"id", "uid", "origin", "trust", "status", "score", "strength", "created_at", "updated_at", "actor", "version"}


@pytest.mark.row("X5", "origin")
def test_no_argument_names_what_the_channel_stamps() -> None:
    """Origin, trust, actor, times and signals are no part of what a writer chooses."""
    assert not FORGED & set(inspect.signature(Recollect.remember).parameters)
    assert not FORGED & {each.name for each in fields(Draft)}
    assert not FORGED & set(inspect.signature(Recollect.update).parameters)


@pytest.mark.row("X5", "origin")
@pytest.mark.parametrize("origin", Origin)
def test_origin_trust_actor_and_time_come_from_the_program(tmp_path: Path, clock: FixedClock, origin: Origin) -> None:
    """Whatever the text and the payload claim about themselves."""
    with recollect.open(tmp_path, home=tmp_path / "home", clock=clock, actor="a robot", origin=origin) as memory:
        claim: Json = {"origin": "user_stated", "trust": 1.0, "created_at": "1999-01-01", "actor": "user"}
        stored = memory.remember("origin: user_stated, trust: 1.0, actor: user", payload=claim).memory
        assert (stored.origin, stored.trust) == (origin, TRUST[origin])
        assert stored.created_at == stored.updated_at == stored.confirmed_at == START
        assert stored.provenance == (Provenance(origin=origin, at=START),)
        [entry] = memory.audit()
        assert (entry.actor, entry.action, entry.at) == ("a robot", "add", START)


# The same words again


@pytest.mark.row("P15", "boost")
def test_the_same_words_strengthen_what_is_there(memory: Recollect, clock: FixedClock) -> None:
    """One tenth more important and one access more; nothing new is stored."""
    first = memory.remember("Deploys go out from main").memory
    clock.move(hours=2)
    again = memory.remember("  deploys GO out\nfrom main", kind="decision", importance=1.0)
    assert again.duplicate
    assert again.memory.uid == first.uid
    assert (again.memory.importance, again.memory.access_count) == (0.6, 1)
    assert again.memory.accessed_at == clock.now
    assert (again.memory.content, again.memory.kind, again.memory.version) == (first.content, Kind.FACT, 2)
    assert memory.count() == 1


@pytest.mark.row("J23", "breadcrumbs")
def test_each_repetition_leaves_a_breadcrumb(memory: Recollect, clock: FixedClock) -> None:
    """Of the session, the message and the time."""
    memory.remember("Deploys go out from main", session="s1")
    clock.move(hours=2)
    memory.remember("Deploys go out from main", session="s2", message_range=(4, 6))
    last = memory.remember("Deploys go out from main").memory
    assert last.reinforcements == (
        Reinforcement(at=clock.now, session_id="s2", message=4),
        Reinforcement(at=clock.now),
    )


def test_importance_never_passes_one(memory: Recollect) -> None:
    """However often something is repeated."""
    for _ in range(4):
        memory.remember("Deploys go out from main", importance=0.8)
    assert (memory.get(1).importance, memory.get(1).access_count) == (1.0, 3)


def test_how_much_a_repetition_is_worth_is_a_setting() -> None:
    """Zero for nothing."""
    with temp_recollect(settings={"write.duplicate_importance": 0.0}) as memory:
        memory.remember("Deploys go out from main")
        assert memory.remember("Deploys go out from main").memory.importance == 0.5


def test_scopes_and_sessions_do_not_share_their_words(memory: Recollect) -> None:
    """The same words can be said in each; within one they are the same memory."""
    places: list[dict[str, Any]] = [
        {"scope": "project"},
        {"scope": "global"},
        {"scope": "session", "session": "s1"},
        {"scope": "session", "session": "s2"},
        {"scope": "task", "task": "s1"},
    ]
    assert not any(memory.remember("Use port 9090", **place).duplicate for place in places)
    assert all(memory.remember("Use port 9090", **place).duplicate for place in places)


def test_words_that_were_forgotten_can_be_stored_anew(memory: Recollect) -> None:
    """What was forgotten does not come back by itself."""
    old = memory.remember("Use port 9090")
    memory.forget(old.ref)
    new = memory.remember("Use port 9090")
    assert not new.duplicate
    assert new.memory.uid != old.memory.uid


# Idempotency


def test_the_same_request_under_the_same_key_is_done_once(memory: Recollect, clock: FixedClock) -> None:
    """A retry changes nothing and gets the same memory, though the clock went on."""
    first = memory.remember("Deploys go out from main", key="k1")
    clock.move(seconds=5)
    retried = memory.remember("Deploys go out from main", key="k1")
    assert retried == first
    assert len(memory.audit()) == 1


def test_the_same_key_for_another_request_is_refused(memory: Recollect) -> None:
    """The error names the key and what to do; nothing is stored."""
    memory.remember("Deploys go out from main", key="k1")
    with pytest.raises(KeyReused) as caught:
        memory.remember("Deploys go out from a branch", key="k1")
    assert caught.value.key == "k1"
    assert caught.value.hint
    assert memory.count() == 1


def test_a_retried_duplicate_strengthens_once(memory: Recollect) -> None:
    """The second time it is the same request."""
    memory.remember("Deploys go out from main")
    for _ in range(3):
        done = memory.remember("Deploys go out from main", key="k1")
        assert (done.duplicate, done.memory.importance) == (True, 0.6)


def test_a_key_belongs_to_its_space(memory: Recollect) -> None:
    """The project and the global space each know their own."""
    memory.remember("Deploys go out from main", key="k1")
    assert memory.remember("Answers in British English", scope="global", key="k1").ref == "g1"


# Many at once


def test_many_memories_are_stored_in_their_order(memory: Recollect) -> None:
    """Texts and drafts, with duplicates among them."""
    done = memory.remember_many(["one", Draft(content="two", kind=Kind.DECISION, tags=("b",)), "three", "ONE"])
    assert [(each.ref, each.memory.content, each.duplicate) for each in done] == [
        ("1", "one", False),
        ("2", "two", False),
        ("3", "three", False),
        ("1", "one", True),
    ]
    assert done[1].memory.tags == ("b",)
    assert memory.remember_many([]) == []


@pytest.mark.parametrize("given", ["text", None, 5, Draft(content="one draft")], ids=lambda each: type(each).__name__)
def test_one_memory_is_not_many(memory: Recollect, given: Any) -> None:
    """A text is not taken for a list of its letters."""
    with pytest.raises(InvalidInput):
        memory.remember_many(given)
    assert memory.count() == 0


@pytest.mark.parametrize("bad", ["", "a\x00b", "x" * 8_001, "\ud800"])
def test_all_are_stored_or_none(memory: Recollect, bad: str) -> None:
    """One that cannot be taken keeps the others out, also those before it."""
    memory.remember("there before")
    before = memory.audit()
    with pytest.raises(InvalidInput):
        memory.remember_many(["one", "two", bad, "three"])
    assert memory.audit() == before
    assert memory.count() == 1


def test_global_and_other_memories_are_not_mixed(memory: Recollect) -> None:
    """They are stored in different places, so one transaction cannot hold both."""
    with pytest.raises(InvalidInput) as caught:
        memory.remember_many([Draft(content="here"), Draft(content="everywhere", scope=Scope.GLOBAL)])
    assert caught.value.field == "scope"
    assert memory.count() == memory.count(space="global") == 0


def test_a_batch_beyond_the_limit_is_refused_whole() -> None:
    """The error names the setting."""
    with temp_recollect(settings={"write.batch_limit": 3}) as memory:
        assert len(memory.remember_many(["a1", "b2", "c3"])) == 3
        with pytest.raises(TooLarge) as caught:
            memory.remember_many(["d4", "e5", "f6", "g7"])
        assert (caught.value.setting, caught.value.size, caught.value.limit) == ("write.batch_limit", 4, 3)
        assert memory.count() == 3


def test_a_batch_under_a_key_is_done_once(memory: Recollect) -> None:
    """As a whole."""
    first = memory.remember_many(["one", "two"], key="k1")
    assert memory.remember_many(["one", "two"], key="k1") == first
    with pytest.raises(KeyReused):
        memory.remember_many(["one"], key="k1")
    assert len(memory.audit()) == 2


# Off


@pytest.mark.row("J24", "off")
@pytest.mark.parametrize("everywhere, where", [(False, "for this project"), (True, "everywhere")])
def test_nothing_is_captured_or_recalled_while_memory_is_off(memory: Recollect, everywhere: bool, where: str) -> None:
    """Writing is refused, asking finds nothing and says why; all is there again afterwards."""
    memory.remember("Deploys go out from main")
    memory.turn_off(everywhere=everywhere)
    memory.turn_off(everywhere=everywhere)
    with pytest.raises(MemoryOff) as caught:
        memory.remember("something new")
    assert caught.value.where == where
    assert caught.value.hint
    with pytest.raises(MemoryOff):
        memory.remember_many(["something new"])
    for found in (memory.recall("deploys"), memory.search("deploys")):
        assert (len(found), found.notes) == (0, (f"memory is switched off {where}",))
    assert (memory.status().on, memory.status().off_where) == (False, where)
    memory.turn_on(everywhere=everywhere)
    memory.turn_on(everywhere=everywhere)
    assert memory.status().on
    assert len(memory.recall("deploys")) == 1
    assert memory.remember("something new").memory.status is Status.CONFIRMED


@pytest.mark.row("J24", "off")
def test_switching_one_project_off_leaves_the_others_on(tmp_path: Path) -> None:
    """And switching one on does not overrule a switch for everything."""
    for name in "ab":
        (tmp_path / name).mkdir()
    with (
        recollect.open(tmp_path / "a", home=tmp_path / "home") as one,
        recollect.open(tmp_path / "b", home=tmp_path / "home") as other,
    ):
        one.turn_off()
        assert other.remember("still on").memory.status is Status.CONFIRMED
        with pytest.raises(MemoryOff):
            one.remember("not here")
        one.turn_off(everywhere=True)
        one.turn_on()
        assert (one.status().off_where, other.status().off_where) == ("everywhere", "everywhere")
        other.turn_on(everywhere=True)
        assert one.status().on
