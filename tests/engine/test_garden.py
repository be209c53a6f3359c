"""The garden: a whole memory looked over against a real working tree, tidied step by step, and put back as it was."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect import Draft, NotFound, Origin, Recollect, Scope, Status, StoreError
from recollect.engine.parts import SpaceName
from recollect.errors import TooMuchLost
from recollect.model import Change, Corpus, LinkKind, Memory, Order, Perform, Receipt, Revert, StepState
from recollect.policy.described import Described
from recollect.policy.garden import DOUBT
from recollect.store import Store, open_store
from recollect.testing import FixedClock, HashEmbedder

MOST_AT_ONCE = 64
"""So many steps are done in one transaction at most."""
UNCOMPARED: dict[str, object] = {"consolidate.batch_limit": 0}
"""Nothing is compared when it is written, as in an import; so there is something left for the garden."""

DUPLICATES = ("Deploys go out from the main branch on Tuesdays", "On Tuesdays deploys go out from the main branch")
REWORDED = (
    "The billing service retries failed payments three times",
    "Failed payments are retried three times by the billing service",
)
OLD_PORT, NEW_PORT = "The API listens on port 8080", "The API listens on port 9090"
TABS, NO_TABS = "Use tabs for indentation in Go files", "Do not use tabs for indentation in Go files"
CLOSE = (
    "The staging cluster runs three API replicas behind nginx",
    "The staging cluster runs three worker replicas behind nginx",
)
MAKE = "Ship it with `make deploy`, which takes two minutes"
REPORT = "Reports are written by src/legacy_report.py"
PLANT, LUNCH = "The office plant is called Gerald", "Lunch is at noon in the canteen"
FADED = "Perhaps the flag is read twice"
PLANTED = 18
RETIRED = {DUPLICATES[1], REWORDED[1], OLD_PORT, FADED, REPORT}
"""What an overgrown memory is to lose from recall."""


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


def commit(root: Path, files: dict[str, str | None]) -> None:
    """Write files, or remove those without a text, and commit that."""
    for name, text in files.items():
        path = root / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "a step")


@dataclass
class Plot:
    """A memory, the clock it goes by and the working tree that it speaks of."""

    memory: Recollect
    clock: FixedClock
    root: Path
    space: SpaceName = "project"
    refs: dict[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        return self.memory._parts.store(self.space)

    def remember(self, *texts: str, **given: Any) -> None:
        for text in texts:
            scope = {"scope": "global"} if self.space == "global" else {}
            self.refs[text] = self.memory.remember(text, **(scope | given)).ref

    def get(self, text: str) -> Memory:
        return self.memory.get(self.refs[text])

    def live(self) -> set[str]:
        return {each.content for each in self.memory.list(space=self.space, limit=1_000)}

    def plan(self, **given: Any) -> list[Described]:
        """The steps of a new plan; none where all is in order."""
        made = self.memory.plans.make(space=self.space, **given)
        return list(self.memory.plans.describe(made.id, space=self.space)) if made else []

    def tidy(self, **given: Any) -> None:
        """Make a plan and carry out all of it."""
        self.plan(**given)
        self.memory.plans.apply(retiring=True, allow_loss=1.0, space=self.space)


@pytest.fixture
def plot(tmp_path: Path) -> Iterator[Plot]:
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q")
    commit(
        root,
        {
            "src/app.py": "def start_app():\n    return 1\n",
            "src/legacy_report.py": "def legacy_report():\n    return 'words that are like no others in the tree'\n",
            "Makefile": "deploy:\n\t./ship\n\ntest:\n\tpytest\n",
        },
    )
    clock = FixedClock()
    with opened(root, clock) as memory:
        yield Plot(memory, clock, root)


@contextmanager
def opened(root: Path, clock: FixedClock, **given: Any) -> Iterator[Recollect]:
    settings = UNCOMPARED | given.pop("settings", {})
    values: dict[str, Any] = {"home": root.parent / "home", "clock": clock, "background": False} | given
    with recollect.open(root, settings=settings, **values) as memory:
        yield memory


@contextmanager
def bare(store: Store | str, clock: FixedClock | None = None, **settings: object) -> Iterator[Plot]:
    """A memory in a store of its own, without a working tree."""
    chosen = clock or FixedClock()
    with recollect.open(store=store, clock=chosen, background=False, settings=UNCOMPARED | settings) as memory:
        yield Plot(memory, chosen, Path())


def overgrow(plot: Plot) -> None:
    """Plant some of everything that the garden tends, and let time and the code move on."""
    plot.remember(DUPLICATES[0], tags=["deploy"], files=["Makefile"])
    plot.remember(DUPLICATES[1], tags=["ops"], importance=0.9)
    plot.remember(*REWORDED, OLD_PORT, TABS, NO_TABS, *CLOSE, MAKE, PLANT, LUNCH)
    plot.remember(REPORT, files=["src/legacy_report.py"])
    plot.remember("Tests need a fresh database", "Test data is made by factories", tags=["test"])
    plot.remember("Flaky suites are retried once", tags=["tests"])
    plot.remember(FADED, kind="reasoning", confidence=0.3)
    plot.memory.link(plot.refs[DUPLICATES[1]], plot.refs[PLANT], weight=0.3)
    plot.memory.aliases.define("k8s", "kubernetes")
    if plot.space == "project" and plot.root != Path():
        commit(plot.root, {"src/legacy_report.py": None, "Makefile": "test:\n\tpytest\n"})
    plot.clock.move(days=30)
    plot.remember(NEW_PORT)
    recall_together(plot)


def recall_together(plot: Plot, times: int = 4) -> None:
    for _ in range(times):
        found = plot.memory.recall(f"{PLANT} {LUNCH}", gate=False, limit=2)
        assert {hit.memory.content for hit in found} == {PLANT, LUNCH}
    plot.memory._parts.habits.write()


@pytest.fixture
def overgrown(plot: Plot) -> Plot:
    overgrow(plot)
    return plot


def dump(plot: Plot) -> dict[str, object]:
    """All that a store holds of knowledge: not the audit, not the plans, and no vectors."""
    store = plot.store
    memories = store.query(order=Order(field="id", newest_first=False), limit=None)
    clusters = store.clusters()
    return {
        "memories": memories,
        "history": [store.history(each.id) for each in memories],
        "links": sorted(map(str, store.links(hidden=True))),
        "definitions": store.definitions(),
        "clusters": clusters,
        "members": [store.members(each.id) for each in clusters],
        "tags": store.tags(),
        "feedback": store.feedback(),
        "together": store.together([each.id for each in memories]),
    }


def assert_sound(plot: Plot) -> None:
    assert [check for check in plot.memory.doctor() if not check.ok] == []
    assert plot.memory.verify_audit(space=plot.space) == ()


def of_sort(steps: Iterable[Described], sort: str) -> list[Described]:
    return [step for step in steps if step.sort == sort]


def texts_of(step: Described) -> set[str]:
    """What the memories of a step say."""
    return {line.partition("] ")[2] for line in step.before}


def only(steps: Iterable[Described], sort: str) -> Described:
    [step] = of_sort(steps, sort)
    return step


# --- What is proposed -------------------------------------------------------------------------------------------------


@pytest.mark.row("J25", "merge", "redundancy", "contradictions", "facts", "pruning", "relations", "tags", "by-hand")
@pytest.mark.row("J25", "link-strength", "clusters")
@pytest.mark.row("J15", "links")
@pytest.mark.row("X4", "plan")
def test_a_plan_proposes_what_is_to_be_done(overgrown: Plot) -> None:
    """Each trouble is a step of its own sort, about its own memories, with a reason; and there are no others."""
    steps = overgrown.plan()
    proposed = {step.sort: texts_of(step) for step in steps if step.sort != "clusters"}
    assert proposed == {
        "merge": set(DUPLICATES),
        "redundant": set(REWORDED),
        "supersede": {OLD_PORT, NEW_PORT},
        "conflict": {TABS, NO_TABS},
        "relate": set(CLOSE),
        "weak": {FADED},
        "check": {MAKE},
        "gone": {REPORT},
        "tags": {"Flaky suites are retried once"},
        "strengthen": {PLANT, LUNCH},
    }
    assert len(steps) == len(proposed) + len(of_sort(steps, "clusters"))
    assert only(steps, "merge").why.endswith("(closeness 1.00)")
    assert only(steps, "gone").why == "src/legacy_report.py was removed"
    assert only(steps, "check").why == "make deploy: Makefile has no deploy"
    assert {step.sort for step in steps if step.retires} == {"merge", "redundant", "supersede", "weak", "gone"}
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))


@pytest.mark.row("X4", "plan")
def test_planning_changes_nothing_but_the_plan(overgrown: Plot) -> None:
    """Memories, links, definitions and clusters are what they were; the audit tells of a proposal."""
    before = dump(overgrown)
    told = len(overgrown.memory.audit(limit=None))
    [*steps] = overgrown.plan()
    assert dump(overgrown) == before
    assert [entry.action for entry in overgrown.memory.audit(limit=None)[told:]] == ["propose"]
    [plan] = overgrown.memory.plans.list()
    assert (plan.sort, plan.states, plan.live, plan.retires) == (
        "garden",
        {"proposed": len(steps)},
        PLANTED,
        len(RETIRED),
    )


def test_a_memory_in_order_needs_no_plan(plot: Plot) -> None:
    """Nor does an empty one."""
    assert plot.memory.plans.make() is None
    plot.remember(PLANT, "Marek works from Kraków")
    assert plot.memory.plans.make() is None
    assert plot.memory.plans.list() == ()


def test_a_new_plan_takes_the_place_of_one_that_is_not_finished(overgrown: Plot) -> None:
    """What was proposed then cannot be applied any more; what was done stays done."""
    first = overgrown.plan()
    overgrown.memory.plans.apply(steps=[only(first, "tags").number])
    second = overgrown.plan()
    assert {step.sort for step in first} == {"tags"} | {step.sort for step in second}
    new, old = overgrown.memory.plans.list()
    assert old.states == {"done": 1, "dropped": len(first) - 1}
    assert overgrown.memory.plans.apply(old.id, retiring=True).done == 0
    assert overgrown.memory.plans.apply().plan == new.id


@pytest.mark.row("J25", "clusters")
def test_clusters_are_found_anew_unless_they_are_left_out(overgrown: Plot) -> None:
    """By the plan, and not before somebody applies it."""
    overgrown.remember(*(f"Invoice batch {number} is sent by the nightly billing run" for number in range(1, 7)))
    assert of_sort(overgrown.plan(clusters=False), "clusters") == []
    step = only(overgrown.plan(), "clusters")
    assert overgrown.memory.clusters() == ()
    overgrown.memory.plans.apply(steps=[step.number])
    assert len(overgrown.memory.clusters()) > 0
    assert overgrown.memory.clusters() == overgrown.memory.cluster()
    assert of_sort(overgrown.plan(), "clusters") == []


@pytest.mark.row("J25", "backfill")
def test_what_has_no_vector_gets_one_while_planning(plot: Plot) -> None:
    """So that nothing is overlooked."""
    plot.remember(*DUPLICATES, PLANT)
    assert plot.store.embedded(corpus=Corpus.MEMORY) == {}
    assert texts_of(only(plot.plan(), "merge")) == set(DUPLICATES)
    assert list(plot.store.embedded(corpus=Corpus.MEMORY).values()) == [3]


# --- What is never proposed -------------------------------------------------------------------------------------------

DISTINCT = [
    pytest.param(*pair, id=name)
    for name, pair in {
        "number": ("The API listens on port 8080", "The API listens on port 9090"),
        "count": (
            "Retries of the payment queue stop after 5 attempts",
            "Retries of the payment queue stop after 7 attempts",
        ),
        "number-word": ("Three replicas of the shop run in Frankfurt", "Four replicas of the shop run in Frankfurt"),
        "version": ("The worker image needs Python 3.11 to build", "The worker image needs Python 3.12 to build"),
        "name": (
            "Ana owns the payments service and its on-call rota",
            "Marek owns the payments service and its on-call rota",
        ),
        "language": ("Write commit messages in English", "Write commit messages in German"),
        "file": (
            "Settings of the shop are read from `shop.toml` at start",
            "Settings of the shop are read from `shop.yaml` at start",
        ),
        "day": ("Deploys of the shop go out on Tuesday morning", "Deploys of the shop go out on Thursday morning"),
        "negation": ("Feature flags are on in staging", "Feature flags are not on in staging"),
        "never": ("Deploy the shop on a Friday", "Never deploy the shop on a Friday"),
        "state": ("The bucket for invoices is public", "The bucket for invoices is private"),
    }.items()
]
ALIKE = [
    pytest.param(*pair, id=name)
    for name, pair in {
        "unit": ("The worker timeout is 30 seconds in production", "The worker timeout is 30 minutes in production"),
        "opposite": (
            "The login page shows the banner for logged in users",
            "The login page hides the banner for logged in users",
        ),
        "thing": (
            "The nightly backup of the orders database goes to the Frankfurt bucket",
            "The nightly backup of the users database goes to the Frankfurt bucket",
        ),
    }.items()
]


class Blunt(HashEmbedder):
    """A model to which all texts mean the same."""

    def embed(self, texts: Any) -> NDArray[np.float32]:
        return np.tile(np.array([1, 0, 0, 0], dtype=np.float32), (len(texts), 1))


def merged(plot: Plot, one: str, other: str) -> bool:
    """Whether a plan would let one of two memories go for saying the same."""
    plot.remember(one, other)
    return bool([step for step in plot.plan() if step.sort in ("merge", "redundant")])


@pytest.mark.parametrize("embedder", [None, Blunt(4)], ids=["built-in", "all-the-same"])
@pytest.mark.parametrize("one, other", DISTINCT)
@pytest.mark.row("J25", "merge")
def test_another_number_name_or_negation_is_another_memory(
    plot: Plot, one: str, other: str, embedder: Blunt | None
) -> None:
    """However close two are: closeness makes a candidate, and no more."""
    with opened(plot.root, plot.clock, embedder=embedder) as memory:
        assert not merged(Plot(memory, plot.clock, plot.root), one, other)


@pytest.mark.parametrize("one, other", ALIKE)
def test_one_plain_word_can_be_the_difference(plot: Plot, one: str, other: str) -> None:
    """Another unit, the opposite verb, another thing of the same sort."""
    assert not merged(plot, one, other)


def test_texts_of_which_nothing_is_close_are_left_alone(plot: Plot) -> None:
    """Where a model says that all is alike, that says nothing about any two."""
    with opened(plot.root, plot.clock, embedder=Blunt(4)) as memory:
        blunt = Plot(memory, plot.clock, plot.root)
        blunt.remember(PLANT, LUNCH, OLD_PORT, TABS)
        assert {step.sort for step in blunt.plan()} <= {"relate", "clusters"}


def test_what_belongs_to_a_session_or_task_is_not_tended(plot: Plot) -> None:
    """It ends with what it belongs to."""
    plot.remember(DUPLICATES[0], scope=Scope.SESSION, session="s1")
    plot.remember(DUPLICATES[1], scope=Scope.SESSION, session="s1")
    plot.remember(FADED, scope=Scope.TASK, task="t1", confidence=0.0)
    assert plot.plan() == []


@pytest.mark.row("J25", "pruning")
def test_what_is_pinned_is_never_retired(plot: Plot) -> None:
    """Not when it says the same, has faded, or when what it is about is gone; others may give way to it."""
    plot.remember(*DUPLICATES)
    plot.remember(REPORT, files=["src/legacy_report.py"])
    plot.remember(FADED, confidence=0.0)
    for text in (DUPLICATES[1], REPORT, FADED):
        plot.memory.pin(plot.refs[text])
    commit(plot.root, {"src/legacy_report.py": None})
    plot.tidy()
    assert plot.live() == {DUPLICATES[1], REPORT, FADED}
    assert plot.get(REPORT).confidence == pytest.approx(1.0 - DOUBT)


def test_two_that_are_pinned_both_stay(plot: Plot) -> None:
    """Somebody wanted both."""
    plot.remember(*DUPLICATES)
    for ref in plot.refs.values():
        plot.memory.pin(ref)
    assert plot.plan() == []


def test_a_memory_whose_file_is_there_is_not_proposed_for_the_archive(plot: Plot) -> None:
    """That a command it mentions is gone makes it less sure."""
    text = "The app starts in src/app.py; ship it with `make deploy`"
    plot.remember(text, files=["src/app.py"])
    commit(plot.root, {"Makefile": "test:\n\tpytest\n"})
    assert {step.sort for step in plot.plan()} == {"check"}


def test_what_only_the_one_that_goes_can_do_is_not_lost(plot: Plot) -> None:
    """A warning keeps coming up when the one that says the same without a trigger is pinned."""
    plot.remember(DUPLICATES[0], triggers=["git push"])
    plot.remember(DUPLICATES[1])
    plot.memory.pin(plot.refs[DUPLICATES[1]])
    plot.plan()
    if plot.memory.plans.list():
        plot.memory.plans.apply(retiring=True)
    assert [each.memory.content for each in plot.memory.triggered("git push origin main")] != []


@pytest.mark.row("P14", "resolved")
def test_what_somebody_settled_is_not_brought_up_again(plot: Plot) -> None:
    """Two that were both kept are no conflict any more, and of a known conflict nobody is told twice."""
    plot.remember(TABS, NO_TABS)
    plot.tidy()
    [conflict] = plot.memory.conflicts()
    assert {conflict.older.content, conflict.newer.content} == {TABS, NO_TABS}
    assert plot.plan() == []
    plot.memory.resolve(plot.refs[TABS], plot.refs[NO_TABS], keep="both")
    assert plot.memory.conflicts() == ()
    assert plot.plan() == []
    plot.memory.reopen(plot.refs[TABS], plot.refs[NO_TABS])
    assert len(plot.memory.conflicts()) == 1


# --- Carrying it out --------------------------------------------------------------------------------------------------


@pytest.mark.row("J25", "confirm")
def test_without_a_yes_nothing_leaves_recall(overgrown: Plot) -> None:
    """The other steps are done; those that retire wait, and can be done later."""
    steps, live = overgrown.plan(), overgrown.live()
    done = overgrown.memory.plans.apply()
    retiring = [step for step in steps if step.retires]
    assert (done.done, done.waiting, done.outdated) == (len(steps) - len(retiring), len(retiring), 0)
    assert overgrown.live() == live
    assert overgrown.get("Flaky suites are retried once").tags == ("test",)
    assert len(overgrown.memory.conflicts()) == 1
    later = overgrown.memory.plans.apply(retiring=True, allow_loss=1.0)
    assert (later.plan, later.done, later.waiting) == (done.plan, len(retiring), 0)
    assert overgrown.live() == live - RETIRED
    assert_sound(overgrown)


@pytest.mark.row(
    "J25", "merge", "redundancy", "contradictions", "facts", "pruning", "relations", "tags", "link-strength"
)
def test_with_a_yes_all_of_it_is_done(overgrown: Plot) -> None:
    """What was told is what there is; nothing is deleted, and search still finds what has left recall."""
    overgrown.plan()
    told = overgrown.memory.plans.describe()
    done = overgrown.memory.plans.apply(retiring=True, allow_loss=1.0)
    assert (done.done, done.waiting, done.outdated) == (len(told), 0, 0)
    kept = overgrown.get(DUPLICATES[0])
    assert (kept.tags, kept.files, kept.strength, kept.importance) == (("deploy", "ops"), ("Makefile",), 2, 0.9)
    for text, by in ((DUPLICATES[1], DUPLICATES[0]), (REWORDED[1], REWORDED[0]), (OLD_PORT, NEW_PORT)):
        assert (overgrown.get(text).status, overgrown.get(text).superseded_by) == ("superseded", overgrown.get(by).uid)
    assert [overgrown.get(text).status for text in (FADED, REPORT)] == ["archived", "archived"]
    assert overgrown.get(MAKE).confidence == pytest.approx(1.0 - DOUBT)
    assert overgrown.get("Flaky suites are retried once").tags == ("test",)
    assert {step.state for step in overgrown.memory.plans.describe()} == {"done"}
    assert OLD_PORT in {hit.memory.content for hit in overgrown.memory.search("port 8080")}
    weights = {
        (link.memory, link.target): link.weight
        for link in overgrown.store.links(kinds=frozenset({LinkKind.RELATES_TO}))
    }
    ids = {text: overgrown.get(text).id for text in (*CLOSE, DUPLICATES[0], PLANT, LUNCH)}
    assert weights[ids[CLOSE[0]], ids[CLOSE[1]]] == pytest.approx(0.916, abs=0.01)
    assert weights[ids[DUPLICATES[0]], ids[PLANT]] == 0.3
    assert weights[ids[PLANT], ids[LUNCH]] > 0.5
    assert_sound(overgrown)


def test_the_settings_can_say_that_nobody_need_agree(overgrown: Plot) -> None:
    """Then a plan is carried out whole, within the limit on loss."""
    with opened(
        overgrown.root, overgrown.clock, settings={"garden.confirm": False, "garden.loss_limit": 0.5}
    ) as memory:
        assert memory.plans.make() is not None
        assert memory.plans.apply().waiting == 0
    assert overgrown.live().isdisjoint(RETIRED)


def test_only_the_steps_that_are_named(overgrown: Plot) -> None:
    """The others are there to be done later."""
    steps = overgrown.plan()
    named = [only(steps, "tags").number, only(steps, "check").number]
    done = overgrown.memory.plans.apply(steps=named)
    assert (done.done, done.waiting) == (2, 0)
    assert {step.number for step in overgrown.memory.plans.describe() if step.state == "done"} == set(named)


@pytest.mark.row("J25", "undo")
@pytest.mark.row("X4", "undo")
@pytest.mark.parametrize("at_once", [True, False], ids=["at-once", "in-two-goes"])
def test_undoing_a_plan_brings_everything_back(overgrown: Plot, at_once: bool) -> None:
    """To the letter: memories with their versions and past, links, tags, clusters, definitions."""
    overgrown.memory.cluster()
    overgrown.remember("The office moved to the fourth floor")
    steps, before = overgrown.plan(), dump(overgrown)
    if not at_once:
        overgrown.memory.plans.apply()
    overgrown.clock.move(hours=1)
    overgrown.memory.plans.apply(retiring=True, allow_loss=1.0)
    assert dump(overgrown) != before
    overgrown.clock.move(days=1)
    undone = overgrown.memory.plans.undo()
    assert (undone.undone, undone.kept) == (len(steps), 0)
    assert dump(overgrown) == before
    assert {step.state for step in overgrown.memory.plans.describe()} == {"undone"}
    assert_sound(overgrown)
    assert {step.sort for step in overgrown.plan()} == {step.sort for step in steps}


def test_what_somebody_changed_since_is_not_undone(overgrown: Plot) -> None:
    """Their change stays, and how many stay is told; all else comes back."""
    steps = overgrown.plan()
    overgrown.memory.plans.apply(retiring=True, allow_loss=1.0)
    overgrown.memory.update(overgrown.refs[MAKE], tags=["mine"])
    undone = overgrown.memory.plans.undo()
    assert (undone.undone, undone.kept) == (len(steps) - 1, 1)
    assert overgrown.get(MAKE).tags == ("mine",)
    assert overgrown.live() >= RETIRED


def test_what_was_stored_again_since_is_not_there_twice(overgrown: Plot) -> None:
    """A memory whose words have a new place cannot come back to its old one; all the others do."""
    steps = overgrown.plan()
    overgrown.memory.plans.apply(retiring=True, allow_loss=1.0)
    again = overgrown.memory.remember(OLD_PORT)
    assert again.ref != overgrown.refs[OLD_PORT]
    undone = overgrown.memory.plans.undo()
    assert (undone.undone, undone.kept) == (len(steps) - 1, 1)
    assert overgrown.get(OLD_PORT).status is Status.SUPERSEDED
    assert overgrown.live() >= RETIRED
    assert_sound(overgrown)


def test_how_memories_were_used_meanwhile_is_kept_when_a_plan_is_undone(overgrown: Plot) -> None:
    """Recalling is no change that would keep a step from being undone."""
    overgrown.plan()
    overgrown.memory.plans.apply(retiring=True, allow_loss=1.0)
    uses = overgrown.get(DUPLICATES[0]).access_count
    assert overgrown.memory.recall(DUPLICATES[0], gate=False, limit=1)
    overgrown.memory._parts.habits.write()
    assert overgrown.memory.plans.undo().kept == 0
    assert overgrown.get(DUPLICATES[0]).access_count == uses + 1


def test_once_tidied_there_is_nothing_more_to_do(plot: Plot) -> None:
    """But for clusters, which are found among what is left."""
    plot.remember(*DUPLICATES, *REWORDED, OLD_PORT, TABS, NO_TABS, *CLOSE, PLANT, LUNCH)
    plot.remember("Tests need a fresh database", "Test data is made by factories", tags=["test"])
    plot.remember("Flaky suites are retried once", tags=["tests"])
    plot.clock.move(days=2)
    plot.remember(NEW_PORT)
    plot.tidy()
    again = plot.plan()
    assert {step.sort for step in again} <= {"clusters"}
    if again:
        plot.memory.plans.apply()
    assert plot.plan() == []


def test_a_memory_is_doubted_once_for_the_same_evidence(overgrown: Plot) -> None:
    """How often somebody tends the garden says nothing about the code."""
    overgrown.tidy()
    assert of_sort(overgrown.plan(), "check") == []


def test_a_link_grows_only_with_further_recalls(overgrown: Plot) -> None:
    """Tending the garden twice in a row is no use of a memory."""
    overgrown.tidy()
    assert of_sort(overgrown.plan(), "strengthen") == []
    recall_together(overgrown)
    assert of_sort(overgrown.plan(), "strengthen") != []


def test_many_that_say_the_same_come_down_to_one(plot: Plot) -> None:
    """In a few rounds, and what they had is not lost on the way."""
    words = ("deploys", "leave", "our", "main", "branch", "tuesdays", "noon")
    turned = [" ".join((*words[at:], *words[:at])) for at in range(len(words))]
    many = [*turned, *(f"{text}!" for text in map(str.upper, turned[:2]))]
    for number, text in enumerate(many):
        plot.remember(text, tags=[f"tag{number}"])
    rounds = 0
    while plot.memory.plans.make(clusters=False) is not None:
        plot.memory.plans.apply(retiring=True, allow_loss=1.0)
        rounds += 1
    assert rounds <= 4
    [left] = plot.memory.list()
    assert left.strength == len(set(plot.refs.values()))
    assert len(left.tags) == len(many)
    assert_sound(plot)


def test_the_steps_of_a_plan_do_not_outdate_each_other(plot: Plot) -> None:
    """Nobody else has changed anything, so nothing is told to be out of date."""
    plot.remember(OLD_PORT)
    plot.clock.move(days=2)
    plot.remember(NEW_PORT)
    with opened(plot.root, plot.clock, origin=Origin.IMPORTED) as memory:
        memory.remember("The API listens on port 7070")
    plot.plan()
    assert plot.memory.plans.apply(retiring=True).outdated == 0


# --- Refusing ---------------------------------------------------------------------------------------------------------


@pytest.mark.row("J25", "refuse")
def test_what_was_refused_is_not_proposed_again(overgrown: Plot) -> None:
    """Neither a step nor a whole plan; the rest can be carried out."""
    steps = overgrown.plan()
    assert overgrown.memory.plans.refuse(steps=[only(steps, "merge").number, only(steps, "weak").number]) == 2
    assert {step.sort for step in overgrown.plan()} == {step.sort for step in steps} - {"merge", "weak"}
    assert overgrown.memory.plans.refuse() == len(steps) - 2
    assert overgrown.plan() == []
    assert overgrown.live() >= RETIRED
    with pytest.raises(NotFound):
        overgrown.memory.plans.apply()


def test_refusing_twice_refuses_once(overgrown: Plot) -> None:
    """A step that was done cannot be refused any more."""
    [*steps] = overgrown.plan()
    number = only(steps, "tags").number
    overgrown.memory.plans.apply(steps=[number])
    assert overgrown.memory.plans.refuse(steps=[number]) == 0
    assert overgrown.memory.plans.refuse(steps=[number + 1]) == 1
    assert overgrown.memory.plans.refuse(steps=[number + 1]) == 0
    with pytest.raises(NotFound):
        overgrown.memory.plans.refuse(steps=[len(steps) + 1])


def test_refusing_clusters_does_not_refuse_those_of_other_memories(overgrown: Plot) -> None:
    """What was refused was these clusters, not all that will ever be found."""
    overgrown.remember(*(f"Invoice batch {number} is sent by the nightly billing run" for number in range(1, 7)))
    refused = only(overgrown.plan(), "clusters")
    overgrown.memory.plans.refuse(steps=[refused.number])
    assert of_sort(overgrown.plan(), "clusters") == []
    overgrown.remember(*(f"Refund case {number} waits for somebody of the finance team" for number in range(1, 7)))
    found = of_sort(overgrown.plan(), "clusters")
    assert [step.after for step in found] not in ([], [refused.after])


# --- What changes in between ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(lambda plot, ref: plot.memory.update(ref, "Deploys go out on Mondays"), id="edited"),
        pytest.param(lambda plot, ref: plot.memory.forget(ref), id="forgotten"),
        pytest.param(lambda plot, ref: plot.memory.reinforce(ref), id="reinforced"),
    ],
)
def test_a_step_about_what_has_changed_is_not_done(overgrown: Plot, meanwhile: Callable[[Plot, str], object]) -> None:
    """That it was out of date is told; all the others are done."""
    steps = overgrown.plan()
    meanwhile(overgrown, overgrown.refs[DUPLICATES[1]])
    changed = overgrown.get(DUPLICATES[1])
    done = overgrown.memory.plans.apply(retiring=True, allow_loss=1.0)
    assert (done.done, done.outdated, done.waiting) == (len(steps) - 1, 1, 0)
    assert overgrown.get(DUPLICATES[1]) == changed
    assert overgrown.get(DUPLICATES[0]).version == 1
    assert only(overgrown.memory.plans.describe(), "merge").state == "outdated"
    assert_sound(overgrown)


def test_a_change_by_somebody_else_while_a_plan_is_carried_out(overgrown: Plot) -> None:
    """They do not wait for the plan, and what they wrote is not overwritten."""
    steps = overgrown.plan()
    last = only(steps, "gone")
    with opened(overgrown.root, overgrown.clock) as another:

        def edit_once(done: int, total: int) -> None:
            if done == 1:
                another.update(overgrown.refs[REPORT], "Reports are written by src/app.py", files=["src/app.py"])

        carried = overgrown.memory.plans.apply(retiring=True, allow_loss=1.0, progress=edit_once)
    assert (carried.done, carried.outdated) == (len(steps) - 1, 1)
    assert overgrown.memory.plans.describe()[last.number - 1].state == "outdated"
    assert (overgrown.get(REPORT).status, overgrown.get(REPORT).files) == (Status.CONFIRMED, ("src/app.py",))


def test_members_that_left_since_are_in_no_cluster(overgrown: Plot) -> None:
    """Clusters expect no version of anything; forgetting a member leaves a sound store."""
    overgrown.plan()
    for text in (*CLOSE, *DUPLICATES):
        overgrown.memory.forget(overgrown.refs[text])
    overgrown.memory.plans.apply()
    assert_sound(overgrown)
    members = {one.content for each in overgrown.memory.clusters() for one in overgrown.memory.members(each.id)}
    assert members.isdisjoint({*CLOSE, *DUPLICATES})


# --- The limit on loss ------------------------------------------------------------------------------------------------


@pytest.mark.row("X4", "loss-limit")
def test_a_plan_that_would_retire_too_much_is_stopped(overgrown: Plot) -> None:
    """Before anything of it is done; with leave to lose more it goes through."""
    overgrown.plan()
    before = dump(overgrown)
    with pytest.raises(TooMuchLost) as stopped:
        overgrown.memory.plans.apply(retiring=True)
    assert (stopped.value.retires, stopped.value.live) == (len(RETIRED), PLANTED)
    with pytest.raises(TooMuchLost):
        overgrown.memory.plans.apply(retiring=True, allow_loss=(len(RETIRED) - 1) / PLANTED)
    assert dump(overgrown) == before
    assert overgrown.memory.plans.list()[0].states.keys() == {StepState.PROPOSED}
    assert overgrown.memory.plans.apply(retiring=True, allow_loss=(len(RETIRED) + 0.1) / PLANTED).waiting == 0
    assert overgrown.live().isdisjoint(RETIRED)


@pytest.mark.row("X4", "loss-limit")
def test_the_limit_holds_where_nobody_is_asked(overgrown: Plot) -> None:
    """The more so."""
    with opened(overgrown.root, overgrown.clock, settings={"garden.confirm": False}) as memory:
        memory.plans.make()
        with pytest.raises(TooMuchLost):
            memory.plans.apply()
    assert overgrown.live() >= RETIRED


def test_steps_that_retire_nothing_know_no_limit(overgrown: Plot) -> None:
    """And once enough was refused, the rest can be done."""
    steps = overgrown.plan()
    assert overgrown.memory.plans.apply(retiring=False).done == len([step for step in steps if not step.retires])
    overgrown.memory.plans.refuse(steps=[only(steps, "merge").number, only(steps, "weak").number])
    assert overgrown.memory.plans.apply(retiring=True).done == 3


def test_a_few_may_always_be_retired(plot: Plot) -> None:
    """In a small memory a tenth is less than one."""
    plot.remember(*DUPLICATES, *REWORDED)
    plot.plan()
    assert plot.memory.plans.apply(retiring=True).waiting == 0
    assert plot.live() == {DUPLICATES[0], REWORDED[0]}


def test_the_limit_is_for_what_is_to_be_done(overgrown: Plot) -> None:
    """One step that retires one memory of eighteen is within it."""
    steps = overgrown.plan()
    assert overgrown.memory.plans.apply(retiring=True, steps=[only(steps, "weak").number]).done == 1


# --- Interrupted ------------------------------------------------------------------------------------------------------


class Stopped(Exception):
    """Somebody pulled the plug."""


class Watched:
    """A real store that notes how much each transaction holds, and fails at one of them if told to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.sizes: list[int] = []
        self.fails_at: int | None = None

    def apply(self, changes: Iterable[Change], **given: Any) -> Receipt:
        asked = tuple(changes)
        if any(isinstance(change, Perform | Revert) for change in asked):
            if len(self.sizes) == self.fails_at:
                raise StoreError("here", "is full")
            self.sizes.append(len(asked))
        return self._store.apply(asked, **given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def statuses(plot: Plot) -> dict[str, Status]:
    return {text: plot.get(text).status for text in plot.refs}


@pytest.mark.parametrize("after", [1, 2, 3, 6])
@pytest.mark.row("X4", "plan")
def test_interrupted_it_goes_on_where_it_was(overgrown: Plot, after: int) -> None:
    """Whenever it stops, the store is sound and what was done is done; the same call does the rest."""
    steps = overgrown.plan()

    def stop(done: int, total: int) -> None:
        if done >= after:
            raise Stopped

    with pytest.raises(Stopped):
        overgrown.memory.plans.apply(retiring=True, allow_loss=1.0, progress=stop)
    assert_sound(overgrown)
    states = overgrown.memory.plans.list()[0].states
    assert states["done"] >= after
    assert sum(states.values()) == len(steps)
    rest = overgrown.memory.plans.apply(retiring=True, allow_loss=1.0)
    assert (rest.done, rest.outdated) == (len(steps) - states["done"], 0)
    assert overgrown.live().isdisjoint(RETIRED)
    assert overgrown.memory.plans.undo().undone == len(steps)
    assert_sound(overgrown)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_store_that_fails_midway_is_sound_and_can_be_gone_on_with(tmp_path: Path, at: int) -> None:
    """Carrying out and undoing alike, and the end is the same as without trouble."""
    watched = Watched(open_store(str(tmp_path / "memory.db")))
    with bare(cast(Store, watched)) as plot, bare("memory:") as untroubled:
        for each in (plot, untroubled):
            overgrow(each)
            each.plan()
        before = dump(plot)
        watched.fails_at = at
        with pytest.raises(StoreError):
            plot.memory.plans.apply(retiring=True, allow_loss=1.0)
        assert_sound(plot)
        watched.fails_at = None
        plot.memory.plans.apply(retiring=True, allow_loss=1.0)
        untroubled.memory.plans.apply(retiring=True, allow_loss=1.0)
        assert statuses(plot) == statuses(untroubled)
        watched.fails_at = len(watched.sizes) + at
        with pytest.raises(StoreError):
            plot.memory.plans.undo()
        assert_sound(plot)
        watched.fails_at = None
        plot.memory.plans.undo()
        assert dump(plot) == before


def test_planning_that_is_interrupted_leaves_no_plan(overgrown: Plot) -> None:
    """And can be begun again."""
    before = dump(overgrown)

    def stop(done: int, total: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        overgrown.memory.plans.make(progress=stop)
    assert (dump(overgrown), overgrown.memory.plans.list()) == (before, ())
    assert overgrown.memory.plans.make() is not None


@pytest.mark.row("X4", "plan")
def test_others_never_wait_long_for_the_store() -> None:
    """Hundreds of steps are many transactions, of which none holds more than a few of them."""
    watched = Watched(open_store("memory:"))
    with bare(cast(Store, watched)) as plot:
        plot.memory.remember_many([Draft(content=f"Note {number} of the log", tags=("test",)) for number in range(95)])
        plot.memory.remember_many([Draft(content=f"Entry {number} of it", tags=("tests",)) for number in range(90)])
        steps = of_sort(plot.plan(clusters=False), "tags")
        assert len(steps) == 90
        told: list[tuple[int, int]] = []
        done = plot.memory.plans.apply(
            steps=[step.number for step in steps], progress=lambda done, total: told.append((done, total))
        )
        assert (done.done, sum(watched.sizes)) == (90, 90)
        assert watched.sizes[0] == 1
        assert max(watched.sizes) <= MOST_AT_ONCE
        assert all(size <= 2 * before for before, size in zip(watched.sizes, watched.sizes[1:], strict=False))
        assert told == [(sum(watched.sizes[: at + 1]), 90) for at in range(len(watched.sizes))]


# --- Elsewhere --------------------------------------------------------------------------------------------------------


def test_the_global_memory_is_tended_by_itself(plot: Plot) -> None:
    """With the names of global memories, without a working tree, and without touching the project's."""
    plot.remember(*DUPLICATES)
    shared = Plot(plot.memory, plot.clock, plot.root, space="global")
    overgrow(shared)
    project, before = dump(plot), dump(shared)
    steps = shared.plan()
    assert {step.sort for step in steps} >= {"merge", "redundant", "supersede", "conflict", "relate", "weak", "tags"}
    assert {step.sort for step in steps}.isdisjoint({"check", "gone"})
    assert only(steps, "merge").before[0] == f"[id:g1] {DUPLICATES[0]}"
    assert plot.memory.plans.list() == ()
    shared.memory.plans.apply(retiring=True, allow_loss=1.0, space="global")
    assert shared.live().isdisjoint(RETIRED - {REPORT})
    shared.memory.plans.undo(space="global")
    assert (dump(shared), dump(plot)) == (before, project)
    assert_sound(shared)


def test_without_vectors_what_needs_none_is_done(overgrown: Plot) -> None:
    """Tags, facts, what has faded and what is recalled together."""
    with opened(overgrown.root, overgrown.clock, settings={"recall.search": "fts5"}) as memory:
        words = Plot(memory, overgrown.clock, overgrown.root, refs=overgrown.refs)
        assert {step.sort for step in words.plan()} == {"weak", "check", "gone", "tags", "strengthen"}
        words.tidy()
        assert words.live() == set(words.refs) - {FADED, REPORT}
        assert_sound(words)


def test_a_model_that_fails_is_no_reason_not_to_tend_the_rest(overgrown: Plot) -> None:
    """What needs no vectors is proposed."""
    embedder = HashEmbedder()
    embedder.trouble = "is not there"
    with opened(overgrown.root, overgrown.clock, embedder=embedder) as memory:
        assert memory.plans.make() is not None
        assert {"weak", "check", "gone", "tags"} <= {step.sort for step in memory.plans.describe()}


@pytest.mark.parametrize("format", ["sqlite", "json"])
def test_a_plan_outlives_the_process(tmp_path: Path, format: str) -> None:
    """It is carried out, and undone, by whoever opens the store next."""
    url = str(tmp_path / "memory.db") if format == "sqlite" else f"json:{tmp_path / 'memory.json'}"
    with bare(url) as first:
        overgrow(first)
        steps, before, refs, clock = first.plan(), dump(first), first.refs, first.clock
    with bare(url, clock) as second:
        assert list(second.memory.plans.describe()) == steps
        assert second.memory.plans.apply(retiring=True, allow_loss=1.0).done == len(steps)
    with bare(url, clock) as third:
        third.refs = refs
        assert third.get(OLD_PORT).status is Status.SUPERSEDED
        third.memory.plans.undo()
        assert dump(third) == before


@pytest.mark.parametrize("call", ["apply", "refuse", "undo", "describe"])
def test_there_must_be_a_plan(overgrown: Plot, call: str) -> None:
    """Of this number, or one at all that it can be done to."""
    with pytest.raises(NotFound):
        getattr(overgrown.memory.plans, call)()
    overgrown.plan()
    for number in (0, -1, 99):
        with pytest.raises(NotFound):
            getattr(overgrown.memory.plans, call)(number)


@pytest.mark.row("X4", "verified")
def test_what_a_plan_did_is_looked_at_afterwards(overgrown: Plot) -> None:
    """Nothing is amiss when all went as planned; a memory that leaves meanwhile is told."""
    overgrown.plan()
    assert overgrown.memory.plans.apply(retiring=True, allow_loss=1.0).faults == ()
    overgrown.memory.plans.undo()
    overgrown.plan()
    bystander = overgrown.memory.remember("A memory that no plan is about and that somebody else forgets").ref

    def meanwhile(done: int, total: int) -> None:
        if overgrown.memory.get(bystander).active:
            overgrown.memory.forget(bystander)

    carried = overgrown.memory.plans.apply(retiring=True, allow_loss=1.0, progress=meanwhile)
    assert [fault.partition(" memories")[2] for fault in carried.faults if "left recall" in fault] != []
