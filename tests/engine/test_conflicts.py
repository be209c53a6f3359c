"""Conflicts: found, shown, settled one way or another, and opened again exactly as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import pytest

import recollect
from recollect import InvalidInput, LinkKind, NotFound, Recollect, Status
from recollect.engine.conflicts import SETTLED
from recollect.engine.parts import SpaceName
from recollect.engine.write import Remembered
from recollect.model import StepState
from recollect.store import Store
from recollect.testing import FixedClock

START = datetime(2026, 1, 1, tzinfo=UTC)
DEPLOY, NEVER = "Deploy on Fridays", "Never deploy on Fridays"
OTHERS = ["Coffee is served in the kitchen", "Invoices are rendered by the billing worker", "The scheduler uses UTC"]

Keep: TypeAlias = Literal["first", "second", "both", "neither"]
KEEPS: tuple[Keep, ...] = get_args(Keep)


@dataclass(frozen=True)
class Space:
    """One of the two spaces of a memory, and the conflict in it."""

    memory: Recollect
    name: SpaceName
    one: str
    two: str

    @property
    def store(self) -> Store:
        return self.memory._parts.store(self.name)

    def remember(self, text: str, **given: Any) -> Remembered:
        return self.memory.remember(text, scope=self.name, **given)

    def open_pairs(self) -> list[tuple[str, str]]:
        """The conflicts that are open, as references, the older first."""
        return [(each.older.ref, each.newer.ref) for each in self.memory.conflicts(space=self.name)]

    def statuses(self) -> tuple[Status, Status]:
        return self.memory.get(self.one).status, self.memory.get(self.two).status

    def dump(self) -> dict[str, object]:
        """Everything that is kept here, but for the audit and the plans, which tell of every change."""
        store = self.store
        memories = store.query(limit=None)
        return {
            "memories": [asdict(each) for each in memories],
            "history": {each.id: store.history(each.id) for each in memories},
            "links": sorted(map(repr, store.links(hidden=True))),
            "definitions": store.definitions(),
            "tags": store.tags(),
            "feedback": store.feedback(),
            "found": {word: [hit.memory.ref for hit in self.memory.search(word)] for word in ("deploy", "fridays")},
        }


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture(params=["memory", "disk"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Recollect]:
    (tmp_path / "project").mkdir()
    place = "memory:" if request.param == "memory" else None
    with recollect.open(
        tmp_path / "project", store=place, home=tmp_path / "home", clock=clock, actor="ada", background=False
    ) as opened:
        yield opened


SPACES: tuple[SpaceName, ...] = ("project", "global")


@pytest.fixture(params=SPACES)
def space(request: pytest.FixtureRequest, memory: Recollect, clock: FixedClock) -> Space:
    """A conflict among other memories."""
    for text in OTHERS:
        memory.remember(text, scope=request.param)
    one = memory.remember(DEPLOY, scope=request.param, tags=["ops"], files=["deploy.yml"], kind="decision")
    memory.reinforce(one.ref)
    memory.link(one.ref, f"{'g' if request.param == 'global' else ''}1", weight=0.5)
    clock.move(hours=1)
    two = memory.remember(NEVER, scope=request.param, tags=["ops"], kind="decision")
    assert two.contradicts == (one.ref,)
    clock.move(hours=1)
    return Space(memory, request.param, one.ref, two.ref)


only_project = pytest.mark.parametrize("space", ["project"], indirect=True)
only_disk = pytest.mark.parametrize("memory", ["disk"], indirect=True)
only_here = pytest.mark.parametrize("memory, space", [("disk", "project")], indirect=True)


# --- Found ----------------------------------------------------------------------------------------------------------

OPPOSING = [
    ("Always squash commits before merging", "Never squash commits before merging"),
    ("Use the shared cache in tests", "Avoid the shared cache in tests"),
    ("Enable debug logging in production", "Disable debug logging in production"),
    ("You should mock the network in unit tests", "You should not mock the network in unit tests"),
    ("Commit messages must mention the ticket", "Commit messages must not mention the ticket"),
    ("Do retry failed uploads", "Don't retry failed uploads"),
    ("Eval is allowed in templates", "Eval is forbidden in templates"),
    ("Deploy with a manual approval", "Deploy without a manual approval"),
    ("The sandbox can reach the network", "The sandbox cannot reach the network"),
    ("The login tests pass on Windows", "The login tests fail on Windows"),
]


@pytest.mark.row("P14", "detected", "shared-ground")
@pytest.mark.row("J6", "contradiction")
@pytest.mark.parametrize("shared", [{"files": ["ci.yml"]}, {"kind": "decision"}], ids=["files", "category"])
@pytest.mark.parametrize("one, other", OPPOSING)
@pytest.mark.parametrize("memory", ["memory"], indirect=True)
def test_opposing_phrases_on_shared_ground_are_paired(
    memory: Recollect, one: str, other: str, shared: dict[str, Any]
) -> None:
    """Whichever comes first, and nothing else is."""
    for first, second in ((one, other), (other, one)):
        for text in OTHERS:
            memory.remember(text, **shared)
        old = memory.remember(first, **shared)
        new = memory.remember(second, **shared)
        assert (new.contradicts, new.supersedes, new.duplicate) == ((old.ref,), (), False)
        [conflict] = memory.conflicts()
        assert (conflict.older.content, conflict.newer.content) == (first, second)
        for ref in (old.ref, new.ref):
            memory.forget(ref)


@pytest.mark.row("P14", "shared-ground")
@pytest.mark.parametrize(
    "one, other",
    [
        ("Use the shared cache in tests", "Avoid global state in the importer"),
        ("Always squash commits before merging", "Never merge on the day of a release"),
        ("Deploy on Fridays", "Never drink coffee at the keyboard"),
        ("Do not log passwords", "Log every request of the gateway"),
    ],
)
@pytest.mark.parametrize("memory", ["memory"], indirect=True)
def test_opposing_phrases_about_different_things_are_not_paired(memory: Recollect, one: str, other: str) -> None:
    """Though they are of one category and about one file."""
    memory.remember(one, kind="decision", files=["ci.yml"])
    assert memory.remember(other, kind="decision", files=["ci.yml"]).contradicts == ()
    assert memory.conflicts() == ()


def test_a_conflict_is_listed_with_when_and_by_whom(space: Space, clock: FixedClock) -> None:
    """The older one first, however it was found."""
    [conflict] = space.memory.conflicts(space=space.name)
    assert (conflict.older, conflict.newer) == (space.memory.get(space.one), space.memory.get(space.two))
    assert (conflict.since, conflict.found_by) == (conflict.newer.created_at, "ada")
    other: SpaceName = "global" if space.name == "project" else "project"
    assert space.memory.conflicts(space=other) == ()


def test_conflicts_are_listed_newest_first(space: Space, clock: FixedClock) -> None:
    """Each once, though both may have been linked with the other, and by hand."""
    clock.move(hours=1)
    third = space.remember("Coffee is not served in the kitchen").ref
    space.memory.link(space.one, space.two, kind="contradicts")
    first = f"{'g' if space.name == 'global' else ''}1"
    assert space.open_pairs() == [(first, third), (space.one, space.two)]


@only_disk
@pytest.mark.parametrize("way_out", ["forget", "archive"])
@pytest.mark.parametrize("which", ["one", "two"])
def test_what_is_not_live_is_in_no_conflict(space: Space, way_out: str, which: str) -> None:
    """Until it is back."""
    ref = getattr(space, which)
    getattr(space.memory, way_out)(ref)
    assert space.open_pairs() == []
    assert space.memory.recall("deploy on fridays").conflicts == ()
    space.memory.restore(ref)
    assert space.open_pairs() == [(space.one, space.two)]


# --- Shown ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("P14", "marked")
@pytest.mark.parametrize("profile", [None, "praxis", "words"])
def test_recall_marks_what_is_contradicted(space: Space, profile: str | None) -> None:
    """In the profile that is the default as in the others, with one of the two found or both."""
    found = space.memory.recall("deploy on fridays", profile=profile)
    assert {hit.memory.ref for hit in found} == {space.one, space.two}
    assert found.conflicts == ((space.one, space.two),)
    assert space.memory.recall("deploy on fridays", profile=profile, limit=1).conflicts == ((space.one, space.two),)
    assert space.memory.recall("coffee in the kitchen", profile=profile).conflicts == ()


@only_disk
@pytest.mark.row("P14", "marked")
@pytest.mark.parametrize("keep", KEEPS)
def test_recall_marks_no_conflict_that_was_settled(space: Space, keep: Keep) -> None:
    """And marks it again when it is opened again."""
    space.memory.resolve(space.one, space.two, keep=keep)
    assert space.memory.recall("deploy on fridays").conflicts == ()
    space.memory.reopen(space.one, space.two)
    assert space.memory.recall("deploy on fridays").conflicts == ((space.one, space.two),)


# --- Settled --------------------------------------------------------------------------------------------------------

AFTER: dict[Keep, tuple[Status, Status]] = {
    "first": (Status.CONFIRMED, Status.SUPERSEDED),
    "second": (Status.SUPERSEDED, Status.CONFIRMED),
    "both": (Status.CONFIRMED, Status.CONFIRMED),
    "neither": (Status.ARCHIVED, Status.ARCHIVED),
}


@pytest.mark.row("P14", "resolved")
@pytest.mark.parametrize("named", ["older first", "newer first"])
@pytest.mark.parametrize("keep", KEEPS)
def test_a_conflict_is_settled(space: Space, keep: Keep, named: str) -> None:
    """What is kept takes the place of what is not; nothing is deleted, and the conflict is gone."""
    refs = (space.one, space.two) if named == "older first" else (space.two, space.one)
    before = [space.memory.get(ref) for ref in refs]
    space.memory.resolve(*refs, keep=keep)
    after = [space.memory.get(ref) for ref in refs]
    assert tuple(each.status for each in after) == AFTER[keep]
    assert [each.content for each in after] == [each.content for each in before]
    by = {"first": (None, after[0].uid), "second": (after[1].uid, None)}.get(keep, (None, None))
    assert tuple(each.superseded_by for each in after) == by
    kinds = {link.kind for link in space.memory.links(refs[0]) if link.target == before[1].id}
    assert kinds == ({LinkKind.SUPERSEDES} if keep == "first" else set())
    assert space.open_pairs() == []
    assert space.memory.verify_audit(space=space.name) == ()


@pytest.mark.row("P14", "resolved")
@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("undo", ["reopen", "reopen the other way round", "undo the plan"])
def test_opening_a_conflict_again_leaves_everything_as_it_was(
    space: Space, clock: FixedClock, keep: Keep, undo: str
) -> None:
    """Both memories with their past, every link, every definition, and what search finds."""
    before = space.dump()
    clock.move(hours=1)
    plan = space.memory.resolve(space.one, space.two, keep=keep)
    assert space.dump() != before
    clock.move(hours=1)
    if undo == "undo the plan":
        assert space.memory.plans.undo(plan, space=space.name).undone == 1
    else:
        refs = (space.one, space.two) if undo == "reopen" else (space.two, space.one)
        space.memory.reopen(*refs)
    assert space.dump() == before
    assert space.open_pairs() == [(space.one, space.two)]
    assert space.memory.verify_audit(space=space.name) == ()
    assert all(check.ok for check in space.memory.doctor())


@only_disk
@pytest.mark.parametrize("keep", KEEPS)
def test_links_in_both_directions_are_settled_and_opened_again(space: Space, keep: Keep) -> None:
    """With the weights they had."""
    space.memory.link(space.one, space.two, kind="contradicts", weight=0.25)
    before = space.dump()
    space.memory.resolve(space.one, space.two, keep=keep)
    assert space.open_pairs() == []
    space.memory.reopen(space.one, space.two)
    assert space.dump() == before


def test_a_conflict_may_be_settled_and_opened_again_and_again(space: Space) -> None:
    """Each time as it was."""
    before = space.dump()
    for keep in (*KEEPS, *KEEPS):
        space.memory.resolve(space.one, space.two, keep=keep)
        with pytest.raises(NotFound):
            space.memory.resolve(space.one, space.two, keep=keep)
        space.memory.reopen(space.one, space.two)
        with pytest.raises(NotFound):
            space.memory.reopen(space.one, space.two)
        assert space.dump() == before
    assert [plan.states for plan in space.memory.plans.list(space=space.name)] == [{StepState.UNDONE: 1}] * 8


@only_disk
@pytest.mark.parametrize("keep", KEEPS)
def test_what_is_pinned_may_be_settled_by_a_person(space: Space, keep: Keep) -> None:
    """Who was asked; opened again, it is pinned."""
    space.memory.pin(space.one)
    before = space.dump()
    space.memory.resolve(space.one, space.two, keep=keep)
    assert (space.memory.get(space.one).status is Status.PINNED) is (keep in ("first", "both"))
    space.memory.reopen(space.one, space.two)
    assert space.dump() == before


def test_one_conflict_of_several_is_settled_alone(space: Space) -> None:
    """The others stay open."""
    first = f"{'g' if space.name == 'global' else ''}1"
    third = space.remember("Coffee is not served in the kitchen").ref
    space.memory.resolve(first, third, keep="second")
    assert space.open_pairs() == [(space.one, space.two)]
    space.memory.resolve(space.one, space.two, keep="neither")
    space.memory.reopen(first, third)
    assert space.open_pairs() == [(first, third)]
    assert space.statuses() == AFTER["neither"]


# --- Kept both ------------------------------------------------------------------------------------------------------


def test_both_that_are_kept_are_not_found_again_by_writing(space: Space, clock: FixedClock) -> None:
    """Saying either again, in these or other words, strengthens it."""
    space.memory.resolve(space.one, space.two, keep="both")
    clock.move(days=2)
    for text, ref in ((DEPLOY, space.one), (NEVER, space.two), ("Please deploy on Fridays", space.one)):
        done = space.remember(text)
        assert (done.duplicate, done.ref, done.contradicts) == (True, ref, ())
    assert space.open_pairs() == []


@pytest.mark.parametrize("keep", KEEPS)
def test_what_was_settled_is_not_found_again_by_the_garden(space: Space, keep: Keep) -> None:
    """It was looked at by somebody."""
    space.memory.resolve(space.one, space.two, keep=keep)
    plan = space.memory.plans.make(space=space.name)
    steps = space.memory.plans.describe(plan.id, space=space.name) if plan else ()
    assert [step for step in steps if step.sort in ("conflict", "supersede", "merge", "redundant")] == []
    assert space.open_pairs() == []


def test_the_garden_finds_what_was_never_looked_at(space: Space) -> None:
    """So that the test above can fail: the same two without a link are proposed as a conflict."""
    space.memory.unlink(space.two, space.one, kind="contradicts")
    assert space.open_pairs() == []
    plan = space.memory.plans.make(space=space.name)
    assert plan is not None
    assert "conflict" in [step.sort for step in space.memory.plans.describe(plan.id, space=space.name)]
    space.memory.plans.apply(plan.id, space=space.name)
    assert space.open_pairs() == [(space.one, space.two)]


def test_what_is_open_is_not_proposed_by_the_garden(space: Space) -> None:
    """It waits for somebody already."""
    plan = space.memory.plans.make(space=space.name)
    steps = space.memory.plans.describe(plan.id, space=space.name) if plan else ()
    assert "conflict" not in [step.sort for step in steps]


def test_that_both_are_kept_is_forgotten_when_it_is_opened_again(space: Space) -> None:
    """There is no definition left of it."""
    space.memory.resolve(space.one, space.two, keep="both")
    [kept] = space.store.definitions(SETTLED)
    assert kept.name == " ".join(sorted(space.memory.get(ref).uid for ref in (space.one, space.two)))
    assert kept.made_by == "ada"
    space.memory.reopen(space.one, space.two)
    assert space.store.definitions(SETTLED) == ()


# --- Refused --------------------------------------------------------------------------------------------------------


@only_disk
@pytest.mark.parametrize("keep", KEEPS)
def test_where_there_is_no_conflict_there_is_nothing_to_settle(space: Space, keep: Keep) -> None:
    """Nor to open again; nothing is written, not even a plan."""
    first, second = (f"{'g' if space.name == 'global' else ''}{number}" for number in (1, 2))
    space.memory.link(first, second, kind="relates-to")
    before, told = space.dump(), space.memory.audit(space=space.name, limit=None)
    for call in (space.memory.resolve, lambda one, two, keep: space.memory.reopen(one, two)):
        with pytest.raises(NotFound) as caught:
            call(first, second, keep=keep)
        assert caught.value.what == "conflict"
    with pytest.raises(NotFound):
        space.memory.reopen(space.one, space.two)
    assert space.dump() == before
    assert space.memory.audit(space=space.name, limit=None) == told
    assert space.memory.plans.list(space=space.name) == ()


def test_a_conflict_is_between_two_memories_of_one_space(space: Space) -> None:
    """Neither with itself nor across."""
    elsewhere = space.memory.remember(DEPLOY, scope="global" if space.name == "project" else "project").ref
    for other in (space.one, elsewhere):
        with pytest.raises(InvalidInput) as caught:
            space.memory.resolve(space.one, other, keep="first")
        assert caught.value.field == "other"
    with pytest.raises(NotFound):
        space.memory.reopen(space.one, elsewhere)
    with pytest.raises(NotFound):
        space.memory.resolve(space.one, "999", keep="first")
    assert space.open_pairs() == [(space.one, space.two)]


@only_here
@pytest.mark.parametrize("keep", ["", "all", "FIRST", "1", None, 1])
def test_what_to_keep_is_one_of_four_words(space: Space, keep: Any) -> None:
    """Anything else is refused before anything happens."""
    with pytest.raises(InvalidInput) as caught:
        space.memory.resolve(space.one, space.two, keep=keep)
    assert caught.value.field == "keep"
    assert space.memory.plans.list() == ()
    assert space.open_pairs() == [(space.one, space.two)]


CHANGES: dict[str, Callable[[Recollect, str], object]] = {
    "restore": lambda memory, ref: memory.restore(ref),
    "tag": lambda memory, ref: memory.tag(ref, "later"),
    "feedback": lambda memory, ref: memory.feedback(ref, helpful=False),
    "forget": lambda memory, ref: memory.forget(ref),
    "update": lambda memory, ref: memory.update(ref, importance=0.25),
}


@only_disk
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("keep, which", [("first", "two"), ("second", "one"), ("neither", "one"), ("neither", "two")])
def test_what_was_changed_since_is_not_opened_again(space: Space, keep: Keep, which: str, change: str) -> None:
    """It would undo that change too; nothing at all is undone."""
    space.memory.resolve(space.one, space.two, keep=keep)
    CHANGES[change](space.memory, getattr(space, which))
    before = space.dump()
    with pytest.raises(InvalidInput) as caught:
        space.memory.reopen(space.one, space.two)
    assert caught.value.field == "conflict"
    assert space.dump() == before


@only_disk
@pytest.mark.parametrize("change", sorted(set(CHANGES) - {"restore"}))
@pytest.mark.parametrize("keep, which", [("first", "one"), ("second", "two"), ("both", "one"), ("both", "two")])
def test_what_the_settling_left_alone_may_have_changed(space: Space, keep: Keep, which: str, change: str) -> None:
    """Opening it again keeps that change."""
    space.memory.resolve(space.one, space.two, keep=keep)
    CHANGES[change](space.memory, getattr(space, which))
    changed = space.memory.get(getattr(space, which))
    space.memory.reopen(space.one, space.two)
    assert space.memory.get(getattr(space, which)) == changed
    other = space.two if which == "one" else space.one
    assert space.memory.get(other).status is Status.CONFIRMED
    assert space.open_pairs() == ([] if change == "forget" else [(space.one, space.two)])


@only_disk
@pytest.mark.parametrize("keep", KEEPS)
def test_what_was_recalled_since_is_opened_again_all_the_same(space: Space, keep: Keep) -> None:
    """Being used changes nothing of what was decided; the use is kept."""
    before = space.memory.get(space.one)
    space.memory.resolve(space.one, space.two, keep=keep)
    space.memory.search("deploy on fridays", gate=False)
    space.memory._parts.habits.write()
    space.memory.reopen(space.one, space.two)
    after = space.memory.get(space.one)
    assert (after.status, after.version, after.content) == (before.status, before.version, before.content)
    assert after.access_count >= before.access_count


def superseded(memory: Recollect, ref: str) -> None:
    """Let something else take a memory's place."""
    memory.link(
        memory.remember("Fridays are for reading papers", scope=memory.get(ref).scope).ref, ref, kind="supersedes"
    )


@only_disk
@only_project
@pytest.mark.parametrize("kept", ["one", "two"])
@pytest.mark.parametrize(
    "way_out",
    [
        Recollect.forget,
        Recollect.archive,
        superseded,
    ],
)
def test_what_is_not_live_is_not_kept_instead_of_what_is(
    space: Space, way_out: Callable[[Recollect, str], object], kept: str
) -> None:
    """There is no open conflict to settle, and settling one would leave neither of the two in recall."""
    gone, stays = (space.one, space.two) if kept == "one" else (space.two, space.one)
    way_out(space.memory, gone)
    with pytest.raises(NotFound):
        space.memory.resolve(gone, stays, keep="first")
    assert space.memory.get(stays).active
