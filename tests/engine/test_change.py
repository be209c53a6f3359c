"""Changing what is remembered: edits, signals, verdicts, links, tags, and the ways out and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

import recollect
from recollect import (
    Anchor,
    DuplicateMemory,
    InvalidInput,
    InvalidText,
    Kind,
    LinkKind,
    NotFound,
    Origin,
    Procedure,
    Recollect,
    StaleVersion,
    Status,
    TooLarge,
)
from recollect.testing import FixedClock, temp_recollect

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(clock: FixedClock) -> Iterator[Recollect]:
    with temp_recollect(clock=clock) as opened:
        opened.remember("Deploys go out from main")
        yield opened


def actions(memory: Recollect) -> list[str]:
    """What the audit says was done."""
    return [entry.action for entry in memory.audit(limit=None)]


# Updating


@pytest.mark.row("K3", "update")
@pytest.mark.row("K5", "keeps-score", "refreshes-hit")
def test_an_update_changes_the_text_in_place(memory: Recollect, clock: FixedClock) -> None:
    """Score, age and identity stay, now is its last hit, and what it said before is kept."""
    before = memory.reinforce(1)
    clock.move(days=3)
    after = memory.update(1, "Deploys go out from a release branch")
    assert (after.id, after.uid, after.score, after.created_at) == (1, before.uid, 3, START)
    assert after.last_hit_at == after.confirmed_at == after.updated_at == clock.now
    assert after.version == before.version + 1
    assert [version.memory.content for version in memory.history(1)] == ["Deploys go out from main"] * 2
    assert [hit.memory.content for hit in memory.recall("release branch")] == [after.content]
    assert not memory.recall("main")


@pytest.mark.parametrize(
    "given, field, value",
    [
        ({"kind": "decision"}, "kind", Kind.DECISION),
        ({"importance": 0.25}, "importance", 0.25),
        ({"tags": ["B", "a"]}, "tags", ("b", "a")),
        ({"tags": []}, "tags", ()),
        ({"files": ["a.py", Anchor(path="b.py")]}, "files", ("a.py", "b.py")),
        ({"triggers": ["on deploy"]}, "triggers", ("on deploy",)),
        ({"procedure": Procedure(name="deploy")}, "procedure", Procedure(name="deploy")),
        ({"season": "winter"}, "season", "winter"),
        ({"valid_from": START}, "valid_from", START),
        ({"valid_to": START}, "valid_to", START),
    ],
)
def test_an_update_changes_what_it_gives_and_leaves_the_rest(
    memory: Recollect, given: dict[str, Any], field: str, value: object
) -> None:
    """One field, and the step is added to where it came from."""
    before = memory.get(1)
    after = memory.update(1, **given)
    assert getattr(after, field) == value
    assert (after.content, after.origin, after.trust) == (before.content, before.origin, before.trust)
    assert after.provenance[:-1] == before.provenance
    assert after.provenance[-1].reason == "edited by library"


def test_an_update_can_empty_optional_fields(memory: Recollect) -> None:
    """By naming them."""
    memory.update(1, season="winter", procedure=Procedure(name="x"), valid_from=START, valid_to=START)
    after = memory.update(1, clear=["season", "procedure", "valid_from", "valid_to"])
    assert (after.season, after.procedure, after.valid_from, after.valid_to) == (None, None, None, None)


def test_an_update_against_an_old_version_is_refused(memory: Recollect) -> None:
    """Nobody's edit is lost: the error says which version is there now."""
    memory.update(1, "Deploys go out on Mondays", expected_version=1)
    with pytest.raises(StaleVersion) as caught:
        memory.update(1, "Deploys go out on Fridays", expected_version=1)
    assert (caught.value.ref, caught.value.expected, caught.value.actual) == ("1", 1, 2)
    assert memory.get(1).content == "Deploys go out on Mondays"


def test_two_live_memories_never_say_the_same(memory: Recollect) -> None:
    """An update that would make them is refused, with the one to keep."""
    memory.remember("Something else")
    with pytest.raises(DuplicateMemory) as caught:
        memory.update(2, "deploys go out from MAIN")
    assert (caught.value.ref, caught.value.existing) == ("2", "1")
    assert memory.get(2).content == "Something else"


# Signals


@pytest.mark.row("K3", "reinforce", "demote")
@pytest.mark.row("K4", "reinforce", "demote")
def test_reinforcing_adds_three_and_demoting_takes_one(memory: Recollect, clock: FixedClock) -> None:
    """Reinforcing also makes it fresh; demoting does not."""
    clock.move(days=5)
    raised = memory.reinforce(1)
    assert (raised.score, raised.last_hit_at, raised.confirmed_at) == (3, clock.now, clock.now)
    clock.move(days=5)
    lowered = memory.demote(1)
    assert (lowered.score, lowered.last_hit_at) == (2, raised.last_hit_at)
    assert actions(memory) == ["add", "reinforce", "demote"]


@pytest.mark.row("K4", "reinforce", "demote")
def test_both_weights_are_settings() -> None:
    """Each by its own key."""
    with temp_recollect(settings={"write.reinforce": 7, "write.demote": 4}) as memory:
        memory.remember("Deploys go out from main")
        assert memory.reinforce(1).score == 7
        assert memory.demote(1).score == 3


@pytest.mark.row("K4", "no-signal")
def test_what_is_merely_returned_gets_no_signal(memory: Recollect, clock: FixedClock) -> None:
    """Asking and looking leave every row as it was; only time has passed."""
    memory.remember_many([f"note {number} on deploys" for number in range(20)])
    memory.link(1, 2)
    before = (memory.list({}, limit=100), memory.audit(limit=None), list(memory.export_lines()))
    clock.move(days=1)
    for _ in range(3):
        assert len(memory.recall("deploys", limit=50)) == 21
        assert len(memory.search("deploys main", limit=50)) == 21
        memory.get(1), memory.list(), memory.count(), memory.history(1), memory.links(1), memory.tags()
        memory.status(), memory.doctor(), memory.verify_audit()
    assert (memory.list({}, limit=100), memory.audit(limit=None), list(memory.export_lines())) == before


@pytest.mark.row("J14", "helpful")
def test_helpful_raises_strength_and_confidence(memory: Recollect, clock: FixedClock) -> None:
    """By one and by a twentieth, and confidence ages from now."""
    memory.remember("Perhaps port 9090", confidence=0.5)
    clock.move(days=2)
    after = memory.feedback(2, helpful=True, note="it was")
    assert (after.strength, after.confidence, after.access_count) == (2, 0.55, 1)
    assert after.confirmed_at == after.accessed_at == clock.now
    for _ in range(12):
        after = memory.feedback(2, helpful=True)
    assert (after.strength, after.confidence) == (14, 1.0)


@pytest.mark.row("J14", "unhelpful")
def test_unhelpful_lowers_confidence(memory: Recollect, clock: FixedClock) -> None:
    """By a tenth, down to nothing; strength stays."""
    clock.move(days=2)
    after = memory.feedback(1, helpful=False, note="the branch has changed")
    assert (after.strength, after.confidence, after.access_count) == (1, 0.9, 1)
    assert after.confirmed_at == START
    for _ in range(12):
        after = memory.feedback(1, helpful=False)
    assert (after.strength, after.confidence) == (1, 0.0)


def test_what_feedback_is_worth_are_settings() -> None:
    """All three."""
    with temp_recollect(
        settings={"feedback.helpful": 0.25, "feedback.unhelpful": 0.5, "feedback.strength": 3}
    ) as memory:
        memory.remember("Deploys go out from main", confidence=0.5)
        assert memory.feedback(1, helpful=True).confidence == 0.75
        assert memory.get(1).strength == 4
        assert memory.feedback(1, helpful=False).confidence == 0.25


@pytest.mark.parametrize("note", ["a\x00", "\ud800", "x" * 1_001, "x" * 9_000, "  "], ids=lambda note: repr(note[:5]))
def test_a_note_that_cannot_be_kept_is_refused_as_a_note(memory: Recollect, note: str) -> None:
    """The error is about the note, and the memory gets no verdict."""
    with pytest.raises((InvalidText, TooLarge)) as caught:
        memory.feedback(1, helpful=True, note=note)
    assert caught.value.field == "note"
    assert memory.get(1).version == 1


# Out and back


@pytest.mark.row("J24", "delete")
def test_a_forgotten_memory_is_hidden_from_everything_and_comes_back(memory: Recollect) -> None:
    """Recall, search, lists, tags and links know nothing of it; restoring brings all of that back."""
    memory.remember("Rollbacks take the previous image", tags=["ops"])
    memory.link(1, 2)
    assert memory.forget(2).status is Status.FORGOTTEN
    assert not memory.recall("rollbacks")
    assert not memory.search("rollbacks")
    assert [each.ref for each in memory.list()] == ["1"]
    assert (memory.tags(), memory.links(1)) == ((), ())
    assert memory.get(2).status is Status.FORGOTTEN
    assert memory.restore(2).status is Status.CONFIRMED
    assert [hit.memory.ref for hit in memory.recall("rollbacks")] == ["2"]
    assert len(memory.links(1)) == 1
    assert actions(memory)[-2:] == ["remove", "restore"]


def test_a_pinned_memory_is_pinned_again_when_it_is_restored(memory: Recollect) -> None:
    """It comes back in the status it had when it last was live."""
    memory.pin(1)
    memory.forget(1)
    assert memory.restore(1).status is Status.PINNED


@pytest.mark.parametrize("act", ["forget", "restore", "pin", "unpin"])
def test_doing_it_twice_changes_nothing(memory: Recollect, act: str) -> None:
    """No version and no entry in the audit."""
    if act == "unpin":
        memory.pin(1)
    getattr(memory, act)(1)
    before = (memory.get(1), memory.audit(limit=None))
    assert getattr(memory, act)(1) == before[0]
    assert (memory.get(1), memory.audit(limit=None)) == before


def test_pinning_and_unpinning(memory: Recollect) -> None:
    """Back to confirmed; an ordinary memory stays as it is."""
    assert memory.unpin(1).version == 1
    assert memory.pin(1).status is Status.PINNED
    assert memory.unpin(1).status is Status.CONFIRMED
    assert actions(memory) == ["add", "pin", "unpin"]


def test_a_forgotten_memory_is_not_pinned(memory: Recollect) -> None:
    """It is restored first."""
    memory.forget(1)
    with pytest.raises(InvalidInput, match="restore it before pinning"):
        memory.pin(1)


def test_a_memory_whose_words_were_stored_anew_is_not_restored(memory: Recollect) -> None:
    """There would be two."""
    memory.forget(1)
    memory.remember("Deploys go out from main")
    with pytest.raises(DuplicateMemory):
        memory.restore(1)


# Links


@pytest.mark.row("J3", "relates-to", "contradicts", "derived-from")
@pytest.mark.row("J6", "given")
@pytest.mark.parametrize("kind", ["relates-to", "contradicts", "derived-from"])
def test_a_link_is_seen_from_both_ends(memory: Recollect, clock: FixedClock, kind: str) -> None:
    """With its weight, its maker and its times; unlinking takes it away."""
    memory.remember("Rollbacks take the previous image")
    made = memory.link(1, 2, kind=kind, weight=0.25)
    assert (made.memory, made.kind, made.target, made.weight) == (1, LinkKind(kind), 2, 0.25)
    assert (made.made_by, made.created_at, made.updated_at) == ("library", START, START)
    assert memory.links(1) == memory.links(2) == (made,)
    clock.move(hours=1)
    again = memory.link(1, 2, kind=kind, weight=0.75)
    [held] = memory.links(1)
    assert (held.weight, held.created_at, held.updated_at) == (0.75, START, clock.now)
    assert again.weight == 0.75
    memory.unlink(1, 2, kind=kind)
    assert memory.links(1) == ()


@pytest.mark.row("J3", "supersedes")
def test_what_is_superseded_leaves_recall_until_the_link_is_gone(memory: Recollect) -> None:
    """Search still finds it, and it knows by what it was superseded."""
    new = memory.remember("Deploys go out from a release branch").memory
    memory.link(2, 1, kind="supersedes")
    old = memory.get(1)
    assert (old.status, old.superseded_by) == (Status.SUPERSEDED, new.uid)
    assert [hit.memory.ref for hit in memory.recall("deploys")] == ["2"]
    assert {hit.memory.ref for hit in memory.search("deploys")} == {"1", "2"}
    memory.unlink(2, 1, kind="supersedes")
    assert (memory.get(1).status, memory.get(1).superseded_by) == (Status.CONFIRMED, None)
    assert {hit.memory.ref for hit in memory.recall("deploys")} == {"1", "2"}


def test_superseding_a_forgotten_memory_does_not_bring_it_back(memory: Recollect) -> None:
    """It stays hidden from everything until it is restored."""
    memory.remember("Deploys go out from a release branch")
    memory.forget(1)
    with suppress(recollect.RecollectError):
        memory.link(2, 1, kind="supersedes")
    assert memory.get(1).status is Status.FORGOTTEN
    assert [hit.memory.ref for hit in memory.search("deploys")] == ["2"]


def test_a_pinned_memory_that_was_superseded_comes_back_pinned(memory: Recollect) -> None:
    """Taking the link away leaves things as they were before it was made."""
    memory.pin(1)
    memory.remember("Deploys go out from a release branch")
    memory.link(2, 1, kind="supersedes")
    memory.unlink(2, 1, kind="supersedes")
    assert memory.get(1).status is Status.PINNED


def test_links_never_cross_spaces(memory: Recollect) -> None:
    """Nor do they lead to themselves, or to tags and clusters by hand."""
    memory.remember("Answers in British English", scope="global")
    for ends in ((1, "g1"), ("g1", 1)):
        with pytest.raises(InvalidInput, match="never cross"):
            memory.link(*ends)
    with pytest.raises(InvalidInput, match="to itself"):
        memory.link(1, 1)
    memory.remember("Another note")
    for kind in ("has-tag", "in-cluster", "friends-with"):
        with pytest.raises(InvalidInput):
            memory.link(1, 2, kind=kind)
    for weight in (-0.1, 1.1, float("nan"), "0.5", 10**400):
        with pytest.raises(InvalidInput):
            memory.link(1, 2, weight=weight)  # type: ignore[arg-type]
    assert memory.links(1) == ()


def test_a_link_that_is_not_there_cannot_be_taken_away(memory: Recollect) -> None:
    """The error names it."""
    memory.remember("Another note")
    memory.link(1, 2)
    with pytest.raises(NotFound) as caught:
        memory.unlink(1, 2, kind="contradicts")
    assert (caught.value.what, caught.value.ref) == ("link", "1 contradicts 2")


# Tags


@pytest.mark.row("J4", "given")
def test_tags_are_added_and_taken_away(memory: Recollect) -> None:
    """The others stay; tags in use are counted, most used first."""
    memory.remember("Rollbacks take the previous image", tags=["ops"])
    assert memory.tag(1, "Ops", "#release train").tags == ("ops", "release-train")
    assert [(tag.name, tag.count) for tag in memory.tags()] == [("ops", 2), ("release-train", 1)]
    assert memory.untag(1, "ops", "never there").tags == ("release-train",)
    assert [link.target for link in memory.links(1)] == ["release-train"]
    before = memory.audit(limit=None)
    memory.tag(1, "release-train")
    memory.untag(1, "ops")
    assert memory.audit(limit=None) == before


# References


@pytest.mark.row("K6", "ids")
def test_an_agent_acts_on_a_result_by_the_id_it_was_shown(memory: Recollect) -> None:
    """`[id:N]`, as a hit prints it."""
    [hit] = memory.recall("deploys")
    shown = str(hit).split("]")[0] + "]"
    assert shown == "[id:1]"
    assert memory.reinforce(shown).score == 3
    assert memory.update(shown, "Deploys go out on Mondays").content == "Deploys go out on Mondays"


@pytest.mark.parametrize("spell", [int, str, lambda n: f"[id:{n}]", lambda n: f"id:{n}", lambda n: f"  {n} "])
def test_a_memory_is_named_in_several_ways(memory: Recollect, spell: Callable[[int], object]) -> None:
    """By number, as shown, and by uid in either case."""
    shared = memory.remember("Answers in British English", scope="global").memory
    assert memory.get(spell(1)).ref == "1"  # type: ignore[arg-type]
    assert memory.get(memory.get(1).uid.upper()).ref == "1"
    for ref in ("g1", "[id:g1]", shared.uid):
        assert memory.get(ref) == shared


REFS = [
    0,
    -1,
    2,
    10**30,
    "",
    "g1",
    "x",
    "1.0",
    "1 2",
    "１",
    "[id:]",
    "00000000-0000-4000-8000-000000000000",
    "../1",
    "\x00",
]


@pytest.mark.parametrize("ref", REFS, ids=repr)
def test_a_reference_to_nothing_is_not_found_by_any_call(memory: Recollect, ref: Any) -> None:
    """Neither by a reading nor by a changing one, and nothing happens."""
    before = memory.audit(limit=None)
    calls: list[Callable[[], object]] = [
        lambda: memory.get(ref),
        lambda: memory.history(ref),
        lambda: memory.links(ref),
        lambda: memory.update(ref, "x"),
        lambda: memory.reinforce(ref),
        lambda: memory.demote(ref),
        lambda: memory.feedback(ref, helpful=True),
        lambda: memory.forget(ref),
        lambda: memory.restore(ref),
        lambda: memory.pin(ref),
        lambda: memory.unpin(ref),
        lambda: memory.tag(ref, "a"),
        lambda: memory.untag(ref, "a"),
        lambda: memory.link(1, ref),
        lambda: memory.link(ref, 1),
        lambda: memory.unlink(1, ref),
    ]
    for call in calls:
        with pytest.raises(NotFound) as caught:
            call()
        assert caught.value.what == "memory"
    assert memory.audit(limit=None) == before


# The audit


@pytest.mark.row("P20", "append-only")
def test_every_change_is_in_the_audit_and_the_audit_is_sound(memory: Recollect) -> None:
    """Under its own word, by the actor, in order; earlier heads still hold."""
    memory.remember("Another note")
    head = memory.status().spaces[0].audit_head
    memory.update(1, "Deploys go out on Mondays")
    memory.reinforce(1)
    memory.feedback(1, helpful=True)
    memory.tag(1, "ops")
    memory.link(1, 2, kind="supersedes")
    memory.unlink(1, 2, kind="supersedes")
    memory.pin(1)
    assert actions(memory) == [
        *("add", "add", "update", "reinforce", "feedback", "tag", "link", "supersede", "unlink", "promote", "pin"),
    ]
    assert {entry.actor for entry in memory.audit()} == {"library"}
    assert memory.verify_audit() == memory.verify_audit(head=head) == ()
    assert memory.verify_audit(head=head[:-1] + "x") != ()
    with pytest.raises(InvalidInput):
        memory.verify_audit(head="nonsense")


def test_an_edit_by_another_channel_is_a_step_of_that_channel(memory: Recollect) -> None:
    """The origin of the memory stays what it was."""
    assert memory.get(1).origin is Origin.OBSERVED
    assert [step.origin for step in memory.update(1, "Deploys go out on Mondays").provenance] == [Origin.OBSERVED] * 2


@pytest.mark.parametrize("limit, entries", [(0, 0), (1, 1), (10**9, 2), (None, 2)])
def test_the_audit_is_read_in_pages(memory: Recollect, limit: int | None, entries: int) -> None:
    """From either end, beyond any sequence number."""
    memory.reinforce(1)
    assert len(memory.audit(limit=limit)) == entries
    assert [entry.seq for entry in memory.audit(newest_first=True)] == [2, 1]
    assert [entry.seq for entry in memory.audit(after=1)] == [2]
    assert memory.audit(after=2**62) == memory.audit(after=10**30) == ()


@pytest.mark.parametrize("given", [{"limit": -5}, {"after": -1}, {"limit": "5"}, {"after": "x"}], ids=str)
def test_a_page_of_the_audit_that_means_nothing_is_refused(memory: Recollect, given: dict[str, Any]) -> None:
    """As any other limit is."""
    with pytest.raises(InvalidInput):
        memory.audit(**given)


@pytest.mark.parametrize("cluster", [10**30, -1, "x", None], ids=repr)
def test_a_cluster_that_is_not_there_has_no_members(memory: Recollect, cluster: Any) -> None:
    """Or the number is refused; never an error of the engine."""
    with suppress(InvalidInput):
        assert memory.members(cluster) == ()
