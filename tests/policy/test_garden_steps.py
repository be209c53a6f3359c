"""The steps of a garden plan: who is kept, what is gained, what waits for a yes, and how it is told.

Every step is also carried out in a real store and undone there: nothing of it may be left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import (
    Add,
    Anchor,
    Connect,
    Define,
    Disconnect,
    Edit,
    Kind,
    Link,
    LinkKind,
    Mark,
    Memory,
    MemoryId,
    Order,
    Origin,
    Perform,
    Propose,
    Provenance,
    Regroup,
    Retag,
    Revert,
    Revise,
    Scope,
    Signals,
    Status,
    Step,
    StepState,
    Tag,
    Uid,
    Vouch,
    Weigh,
)
from recollect.policy.described import Described, described
from recollect.policy.evolve import ANCHORS, TAGS
from recollect.policy.garden import (
    DOUBT,
    doubting,
    linking,
    merging,
    regrouping,
    retagging,
    retiring,
    superseding,
    survivor,
    tag_spellings,
    weak,
)
from recollect.policy.identity import content_hash, fingerprint
from recollect.policy.kinds import kind_table
from recollect.store import Store, open_store

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
DAY = timedelta(days=1)
WHY = "because"
_uids = count(1)


def memory(content: str = "Deploys go out from main", **given: Any) -> Memory:
    """A memory with hashes that fit its content."""
    values: dict[str, Any] = {
        "uid": Uid(f"{next(_uids):08x}-0000-4000-8000-000000000000"),
        "created_at": NOW - DAY,
        "updated_at": NOW - DAY,
        "fingerprint": fingerprint(content),
        "content_hash": content_hash(content),
    }
    return Memory(content=content, **(values | given))


def numbered(*memories: Memory) -> tuple[Memory, ...]:
    """The same memories under ids from 1 on."""
    return tuple(replace(each, id=MemoryId(number)) for number, each in enumerate(memories, start=1))


def related(one: Memory, other: Memory, kind: LinkKind = LinkKind.RELATES_TO, weight: float = 0.5) -> Link:
    """A link that somebody else made."""
    return Link(memory=one.id, kind=kind, target=other.id, weight=weight, made_by="ada", created_at=NOW - DAY)


# --- Who is kept ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "better, worse",
    [
        pytest.param({"status": Status.PINNED, "trust": 0.3}, {"trust": 1.0, "strength": 9}, id="pinned"),
        pytest.param({"trust": 0.3}, {"status": Status.CANDIDATE, "trust": 1.0, "strength": 9}, id="proved-itself"),
        pytest.param({"trust": 0.8}, {"trust": 0.7, "strength": 99}, id="trusted"),
        pytest.param({"strength": 3}, {"strength": 2, "access_count": 99}, id="strong"),
        pytest.param({"access_count": 3}, {"access_count": 2, "created_at": NOW - 9 * DAY}, id="used"),
        pytest.param({"created_at": NOW - 9 * DAY}, {}, id="old"),
    ],
)
@pytest.mark.row("J25", "merge")
def test_who_is_kept(better: dict[str, Any], worse: dict[str, Any]) -> None:
    """Each mark of a better memory counts before all that come after it, in whichever order they are looked at."""
    good, bad = numbered(memory(**better), memory(**worse))
    for one, other in ((good, bad), (bad, good)):
        assert survivor([one, other]) is good
        assert survivor([replace(one, id=MemoryId(8)), replace(other, id=MemoryId(7))]).uid == good.uid


def test_of_equals_the_first_is_kept() -> None:
    """So that two looks at the same memories come to the same plan."""
    one, two, three = numbered(memory(), memory(), memory())
    assert survivor([three, two, one]) is one


# --- Merging ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bed:
    """A store with memories in it."""

    store: Store
    memories: tuple[Memory, ...]

    def now(self, one: Memory) -> Memory:
        """A memory as it is at the moment."""
        found = self.store.get(one.id)
        assert found is not None
        return found

    def carry_out(self, *steps: Step) -> None:
        """Propose steps and do them all."""
        plan = self._applied(Propose(sort="garden", steps=steps, live=len(self.memories)))
        for number in range(1, len(steps) + 1):
            self._applied(Perform(plan=plan, step=number))
        assert [step.state for step in self.store.steps(plan)] == [StepState.DONE] * len(steps)

    def undo(self) -> None:
        """Undo all that was done by the newest plan, the last first."""
        [plan] = self.store.plans(limit=1)
        for step in reversed(self.store.steps(plan.id)):
            self._applied(Revert(plan=plan.id, step=step.number))
        assert {step.state for step in self.store.steps(plan.id)} == {StepState.UNDONE}

    def _applied(self, change: Propose | Perform | Revert) -> int:
        [outcome] = self.store.apply([change], actor="gardener", now=LATER).outcomes
        assert outcome.plan is not None
        return outcome.plan

    def state(self) -> dict[str, object]:
        """All that a step could touch."""
        memories = self.store.query(order=Order(field="id", newest_first=False), limit=None)
        return {
            "memories": memories,
            "history": [self.store.history(each.id) for each in memories],
            "links": sorted(map(str, self.store.links(hidden=True))),
            "definitions": self.store.definitions(),
            "clusters": [(each, self.store.members(each.id)) for each in self.store.clusters()],
            "tags": self.store.tags(),
        }


def planted(*memories: Memory, links: Sequence[tuple[int, LinkKind, int]] = ()) -> Bed:
    """Memories in a store of their own, the first under number 1; links by number."""
    store = open_store("memory:")
    adds = [Add(memory=each, on_duplicate=Signals()) for each in memories]
    outcomes = store.apply(adds, actor="test", now=NOW).outcomes
    assert [outcome.action for outcome in outcomes] == ["add"] * len(adds)
    for one, kind, other in links:
        made = Link(memory=MemoryId(one), kind=kind, target=MemoryId(other), weight=0.5, made_by="ada")
        store.apply([Connect(link=made)], actor="ada", now=NOW)
    return Bed(store, tuple(outcome.memory for outcome in outcomes if outcome.memory))


def merge(kept: Memory, *gone: Memory, links: Sequence[Link] = ()) -> Step:
    """A step that lets one memory stand for others."""
    return merging(kept, gone, links, sort="merge", why=WHY, actor="gardener")


@pytest.mark.row("J25", "merge")
def test_what_is_kept_gains_what_the_others_had() -> None:
    """Tags, files and strength add up, the highest importance counts; the others leave recall for it."""
    app, shop = Anchor(path="src/app.py"), Anchor(path="src/shop.py", symbol="Cart")
    bed = planted(
        memory("one", tags=("deploy", "day"), anchors=(app,), strength=2, importance=0.4),
        memory("two", tags=("ops", "day"), anchors=(app, shop), strength=3, importance=0.9),
        memory("three", tags=("release",), strength=1, importance=0.2),
    )
    one, two, three = bed.memories
    bed.carry_out(merge(one, two, three))
    kept = bed.now(one)
    assert kept.content == "one"
    assert kept.tags == ("deploy", "day", "ops", "release")
    assert kept.anchors == (app, shop)
    assert kept.strength == 2 + 3 + 1
    assert kept.importance == 0.9
    assert kept.status is Status.CONFIRMED
    for gone in (two, three):
        assert (bed.now(gone).status, bed.now(gone).superseded_by) == (Status.SUPERSEDED, one.uid)
        assert bed.now(gone).content == gone.content
        assert any(link.memory == one.id and link.target == gone.id for link in bed.store.links(gone.id))


def test_what_is_kept_loses_nothing() -> None:
    """It stays as important as it is where the others are less so."""
    bed = planted(memory("one", importance=0.9), memory("two", importance=0.1))
    bed.carry_out(merge(*bed.memories))
    assert bed.now(bed.memories[0]).importance == 0.9


@pytest.mark.row("J25", "merge")
def test_what_was_linked_with_those_that_go_is_linked_with_what_stays() -> None:
    """From both ends, with its kind, its weight and who made it; nothing is linked with itself."""
    kept, gone, also, other = numbered(memory(), memory(), memory(), memory())
    links = [
        related(gone, other, weight=0.25),
        related(other, also, LinkKind.DERIVED_FROM),
        related(gone, also),
        related(kept, gone, LinkKind.CONTRADICTS),
        related(gone, other, LinkKind.SUPERSEDES),
        related(kept, other),
    ]
    moved = [change.link for change in merge(kept, gone, also, links=links).changes if isinstance(change, Connect)]
    assert [link for link in moved if link.kind is not LinkKind.SUPERSEDES] == [
        replace(links[0], memory=kept.id),
        replace(links[1], target=kept.id),
    ]
    assert [(link.memory, link.target) for link in moved if link.kind is LinkKind.SUPERSEDES] == [
        (kept.id, gone.id),
        (kept.id, also.id),
    ]


def test_links_to_tags_and_clusters_are_not_moved() -> None:
    """They follow from tags, and clusters are found anew."""
    kept, gone = numbered(memory(), memory())
    links = [
        Link(memory=gone.id, kind=LinkKind.HAS_TAG, target="deploy"),
        Link(memory=gone.id, kind=LinkKind.IN_CLUSTER, target=MemoryId(3)),
    ]
    assert len([each for each in merge(kept, gone, links=links).changes if isinstance(each, Connect)]) == 1


@pytest.mark.parametrize("own", [0, TAGS - 1, TAGS, TAGS + 3])
def test_no_more_tags_and_files_than_a_memory_may_have(own: int) -> None:
    """What it has already it keeps, even beyond that."""
    tags, more = tuple(f"tag{number}" for number in range(own)), tuple(f"more{number}" for number in range(TAGS))
    files = tuple(Anchor(path=f"a/{number}.py") for number in range(2 * own))
    others = tuple(Anchor(path=f"b/{number}.py") for number in range(ANCHORS))
    bed = planted(memory("one", tags=tags, anchors=files), memory("two", tags=more, anchors=others))
    bed.carry_out(merge(*bed.memories))
    kept = bed.now(bed.memories[0])
    assert kept.tags[:own] == tags
    assert len(kept.tags) == max(TAGS, own)
    assert kept.anchors[: len(files)] == files
    assert len(kept.anchors) == max(ANCHORS, len(files))


def test_a_merge_is_known_by_its_memories_whoever_is_kept() -> None:
    """So that what was refused is known again; a merge of others is another."""
    one, two, three = numbered(memory(), memory(), memory())
    assert merge(one, two, three).key == merge(three, one, two).key
    assert len({merge(one, two).key, merge(one, three).key, superseding(one, two, why=WHY, actor="").key}) == 3


def test_a_merge_expects_its_memories_as_they_are() -> None:
    """Whoever changes one of them in between outdates it; only those that go are retired."""
    kept, gone = numbered(memory(version=3), memory(version=5))
    step = merge(kept, gone)
    assert step.expects == ((kept.id, 3), (gone.id, 5))
    assert step.retires == (gone.id,)


# --- Other steps ------------------------------------------------------------------------------------------------------


@pytest.mark.row("J25", "contradictions")
def test_a_newer_memory_takes_the_place_of_an_older_one() -> None:
    """The older one is superseded by it, and nothing else changes."""
    bed = planted(memory("port 8080"), memory("port 9090"))
    older, newer = bed.memories
    step = superseding(older, newer, why=WHY, actor="gardener")
    assert step.retires == (older.id,)
    bed.carry_out(step)
    assert bed.now(newer) == newer
    assert (bed.now(older).status, bed.now(older).superseded_by) == (Status.SUPERSEDED, newer.uid)
    [link] = bed.store.links(older.id)
    assert (link.memory, link.kind, link.target, link.made_by) == (newer.id, LinkKind.SUPERSEDES, older.id, "gardener")


@pytest.mark.parametrize("weight, kept", [(0.12345, 0.123), (1.0, 1.0), (1.7, 1.0)])
def test_a_link_weighs_no_more_than_one(weight: float, kept: float) -> None:
    """Nor is it more exact than anybody can mean."""
    one, two = numbered(memory(), memory())
    step = linking(one, two, LinkKind.RELATES_TO, weight=weight, sort="relate", why=WHY, actor="gardener")
    link = Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id, weight=kept, made_by="gardener")
    assert (step.changes, step.retires) == ((Connect(link=link),), ())


@pytest.mark.parametrize(
    "given, faded",
    [
        pytest.param({"confidence": 0.049}, True, id="unsure"),
        pytest.param({"confidence": 0.05}, False, id="just-sure-enough"),
        pytest.param({"confidence": 0.0, "strength": 0}, True, id="weaker-than-new"),
        pytest.param({"confidence": 0.0, "strength": 2}, False, id="strengthened-once"),
        pytest.param({"confidence": 0.0, "status": Status.PINNED}, False, id="pinned"),
        pytest.param({"confidence": 0.0, "status": Status.CANDIDATE}, True, id="candidate"),
        pytest.param({"confidence": 1.0, "created_at": NOW - 95 * DAY}, True, id="old-fact"),
        pytest.param({"confidence": 1.0, "created_at": NOW - 85 * DAY}, False, id="not-so-old-fact"),
        pytest.param({"created_at": NOW - 95 * DAY, "confirmed_at": NOW - 9 * DAY}, False, id="vouched-for"),
        pytest.param({"created_at": NOW - 95 * DAY, "kind": Kind.DECISION}, False, id="lasting-kind"),
        pytest.param({"created_at": NOW - 25 * DAY, "origin": Origin.INFERRED}, True, id="inferred"),
    ],
)
@pytest.mark.row("J25", "pruning")
def test_what_has_faded_is_for_the_archive(given: dict[str, Any], faded: bool) -> None:
    """Confidence below 0.05 as it is now, and never strengthened; what is pinned stays."""
    one = memory(id=MemoryId(1), **({"created_at": NOW} | given))
    step = weak(one, NOW, below=0.05)
    assert (step is not None) is faded
    if step is not None:
        assert step.changes == (Mark(id=one.id, status=Status.ARCHIVED),)
        assert step.retires == (one.id,)
        assert "nothing ever strengthened it" in step.why


def test_how_fast_a_kind_fades_is_for_the_settings_to_say() -> None:
    """A table with another half-life comes to another end."""
    one = memory(id=MemoryId(1), created_at=NOW - 20 * DAY)
    assert weak(one, NOW, below=0.05) is None
    assert weak(one, NOW, below=0.05, table=kind_table({"fact": 5.0}, {})) is not None


@pytest.mark.row("J25", "facts")
def test_what_the_tree_speaks_against_is_less_sure() -> None:
    """It stays in recall. Other evidence makes another step."""
    bed = planted(memory("Ship it with make deploy", confidence=0.9))
    [one] = bed.memories
    step = doubting(one, "Makefile has no deploy")
    assert step.retires == ()
    assert step.key != doubting(one, "Makefile has no ship").key
    bed.carry_out(step)
    assert bed.now(one).confidence == pytest.approx(0.9 - DOUBT)
    assert bed.now(one).active


# --- Tags -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tags, usual",
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"test": 3, "tests": 1}, {"tests": "test"}, id="plural"),
        pytest.param({"test": 1, "tests": 3}, {"test": "tests"}, id="the-more-used"),
        pytest.param({"tests": 2, "test": 2}, {"tests": "test"}, id="of-equals-the-first-by-name"),
        pytest.param(
            {"front-end": 4, "frontend": 2, "front_end": 1},
            {"frontend": "front-end", "front_end": "front-end"},
            id="separators",
        ),
        pytest.param({"deploy": 3, "deploys": 2, "deploying": 1}, {"deploys": "deploy"}, id="no-other-endings"),
        pytest.param({"api": 1, "app": 1, "auth": 1}, {}, id="different"),
        pytest.param({"c": 2, "c++": 1, "cs": 1, "css": 1}, {}, id="short"),
    ],
)
@pytest.mark.row("J25", "tags")
def test_tags_that_are_other_spellings(tags: dict[str, int], usual: dict[str, str]) -> None:
    """Each goes to the spelling that is used most; what is another word stays."""
    named = [Tag(name=name, count=number) for name, number in tags.items()]
    assert tag_spellings(named) == usual
    assert tag_spellings(named[::-1]) == usual


@pytest.mark.parametrize("one, other", [("ios", "io"), ("news", "new"), ("general", "generate"), ("organ", "organize")])
def test_tags_that_only_look_alike_are_left_alone(one: str, other: str) -> None:
    """Nobody is asked before tags are tidied."""
    assert tag_spellings([Tag(name=one, count=1), Tag(name=other, count=2)]) == {}


@given(st.dictionaries(st.text("abcs-_", min_size=1, max_size=6), st.integers(1, 9), max_size=8))
def test_tidying_tags_once_is_enough(counts: dict[str, int]) -> None:
    """A spelling leads to one that is itself usual, and a memory that is tidied needs no more tidying."""
    spellings = tag_spellings([Tag(name=name, count=number) for name, number in counts.items()])
    assert spellings.keys().isdisjoint(spellings.values())
    one = memory(id=MemoryId(1), tags=tuple(counts))
    step = retagging(one, spellings)
    assert (step is None) == (not spellings)
    if step is not None:
        [change] = step.changes
        assert isinstance(change, Retag)
        left = tuple(tag for tag in dict.fromkeys((*one.tags, *change.add)) if tag not in change.remove)
        assert retagging(replace(one, tags=left), spellings) is None
        assert set(left) == {spellings.get(tag, tag) for tag in one.tags}
        assert len(left) == len(set(left))


def test_a_memory_gets_its_tags_in_their_usual_spelling() -> None:
    """Where it has both, one is left; the others stay."""
    spellings = {"tests": "test", "deploys": "deploy"}
    one = memory(id=MemoryId(1), tags=("tests", "deploy", "deploys", "ci"))
    step = retagging(one, spellings)
    assert step is not None
    assert step.changes == (Retag(id=one.id, add=("test",), remove=("tests", "deploys")),)
    assert step.why == "#tests is mostly written #test, #deploys is mostly written #deploy"
    assert step.retires == ()
    assert retagging(memory(tags=("ci",)), spellings) is None


# --- Clusters ---------------------------------------------------------------------------------------------------------

groups = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=5, unique=True).map(tuple), max_size=12).map(
    lambda found: [(f"group {number}", tuple(map(MemoryId, members))) for number, members in enumerate(found)]
)


@given(groups, st.integers(0, 15), st.integers(1, 12))
@pytest.mark.row("J25", "clusters")
def test_clusters_are_replaced_a_part_at_a_time(
    wanted: list[tuple[str, tuple[MemoryId, ...]]], there: int, most: int
) -> None:
    """The parts follow each other without a gap, the last reaches to the end, and together they are all clusters."""
    steps = list(regrouping(wanted, there, most=most))
    assert (not steps) == (not wanted and not there)
    changes = [change for step in steps for change in step.changes if isinstance(change, Regroup)]
    assert len(changes) == len(steps)
    assert [group for change in changes for group in change.clusters] == wanted
    first = 1
    for change in changes:
        assert change.first == first
        first += len(change.clusters)
        assert change.last == (None if change is changes[-1] else first - 1)
        assert sum(len(members) for _, members in change.clusters[:-1]) < most
    assert len({step.key for step in steps}) == len(steps)
    assert all(step.retires == () for step in steps)


@given(groups, groups, st.integers(1, 12))
def test_the_clusters_are_those_that_were_wanted(
    old: list[tuple[str, tuple[MemoryId, ...]]], new: list[tuple[str, tuple[MemoryId, ...]]], most: int
) -> None:
    """In whatever parts they are replaced, whatever there was; and undoing brings back what there was."""
    bed = planted(*(memory(f"number {number}") for number in range(6)))
    bed.store.apply([Regroup(clusters=tuple(old))], actor="test", now=NOW)
    steps = list(regrouping(new, len(old), most=most))
    before = bed.state()
    if steps:
        bed.carry_out(*steps)
    found = [(each.label, sorted(one.id for one in bed.store.members(each.id))) for each in bed.store.clusters()]
    assert sorted(found) == sorted((label, sorted(group)) for label, group in new)
    if steps:
        bed.undo()
    assert bed.state() == before


# --- For people to read -----------------------------------------------------------------------------------------------


def told(step: Step, *memories: Memory) -> Described:
    return described(step, {each.id: each for each in memories}, LATER)


def step_of(*changes: Any, about: Sequence[Memory] = ()) -> Step:
    expects = tuple((each.id, each.version) for each in about)
    return Step(number=7, sort="check", key="k", why=WHY, changes=changes, expects=expects)


ONE, TWO = numbered(memory("first", tags=("a",), confidence=0.5), memory("second"))
VOUCHED = Provenance(origin=Origin.USER_STATED, at=NOW)


@pytest.mark.parametrize(
    "change, after",
    [
        pytest.param(
            Connect(link=Link(memory=ONE.id, kind=LinkKind.CONTRADICTS, target=TWO.id, weight=0.25)),
            ["[id:1] contradicts [id:2] (0.25)"],
            id="connect",
        ),
        pytest.param(
            Disconnect(memory=ONE.id, kind=LinkKind.RELATES_TO, target=TWO.id),
            ["[id:1] no longer relates-to [id:2]"],
            id="disconnect",
        ),
        pytest.param(Define(sort="settled", name="x", value=1), ["noted as settled"], id="define"),
        pytest.param(
            Regroup(clusters=(("small", (ONE.id,)), ("large", (ONE.id, TWO.id)))),
            ["2 clusters: large (2), small (1)"],
            id="regroup",
        ),
        pytest.param(Regroup(clusters=()), ["no clusters"], id="regroup-to-none"),
        pytest.param(
            Weigh(id=ONE.id, signals=Signals(strength=2, confidence=-0.25)),
            ["[id:1] confidence: 0.5 → 0.25", "[id:1] strength: 1 → 3"],
            id="weigh",
        ),
        pytest.param(Mark(id=ONE.id, status=Status.ARCHIVED), ["[id:1] status: confirmed → archived"], id="mark"),
        pytest.param(Retag(id=ONE.id, add=("b",)), ["[id:1] tags: a → a, b"], id="retag"),
        pytest.param(Retag(id=ONE.id, remove=("a",)), ["[id:1] tags: a → none"], id="untag"),
        pytest.param(
            Revise(id=ONE.id, edit=Edit(content="third", anchors=(Anchor(path="x.py"),))),
            ["[id:1] content: first → third", "[id:1] files: none → x.py"],
            id="revise",
        ),
        pytest.param(Vouch(id=ONE.id, trust=0.8, provenance=VOUCHED), ["[id:1] trust: 1 → 0.8"], id="vouch"),
    ],
)
@pytest.mark.row("X4", "plan")
def test_a_step_tells_what_is_before_and_after(change: Any, after: list[str]) -> None:
    """For every sort of change, in words; with the text of all memories that it is about."""
    found = told(step_of(change, about=(ONE, TWO)), ONE, TWO)
    assert list(found.after) == after
    assert found.before == ("[id:1] first", "[id:2] second")
    assert (found.number, found.sort, found.state, found.why, found.retires) == (7, "check", "proposed", WHY, False)


def test_what_is_gone_is_told_by_its_number() -> None:
    """A plan can still be read when a memory in it has been erased."""
    link = Connect(link=Link(memory=ONE.id, kind=LinkKind.RELATES_TO, target=TWO.id))
    found = told(step_of(link, Mark(id=TWO.id, status=Status.ARCHIVED), about=(ONE, TWO)), ONE)
    assert found.before == ("[id:1] first",)
    assert found.after == ("[id:1] relates-to [id:2] (1)",)


def test_changes_of_one_memory_are_told_one_after_the_other() -> None:
    """Each begins where the one before it ended."""
    twice = step_of(*[Weigh(id=ONE.id, signals=Signals(strength=1))] * 2, about=(ONE,))
    assert told(twice, ONE).after == ("[id:1] strength: 1 → 2", "[id:1] strength: 2 → 3")


def test_a_global_memory_is_told_by_its_global_name() -> None:
    """As it has to be typed."""
    shared = memory("everywhere", id=MemoryId(4), scope=Scope.GLOBAL)
    found = told(retiring(shared, "weak", WHY), shared)
    assert found.before == ("[id:g4] everywhere",)
    assert found.after == ("[id:g4] status: confirmed → archived",)
    assert found.retires


# --- Any step, carried out and undone ---------------------------------------------------------------------------------

TAG_NAMES = ("deploy", "deploys", "test", "tests", "ops")
LINKED = (LinkKind.RELATES_TO, LinkKind.CONTRADICTS, LinkKind.DERIVED_FROM, LinkKind.SUPERSEDES)
shares = st.floats(0, 1).map(lambda value: round(value, 3))
some_memories = st.lists(
    st.fixed_dictionaries(
        {
            "tags": st.lists(st.sampled_from(TAG_NAMES), unique=True, max_size=4).map(tuple),
            "anchors": st.lists(st.sampled_from([Anchor(path=f"{name}.py") for name in "abc"]), unique=True).map(tuple),
            "importance": shares,
            "confidence": shares,
            "trust": shares,
            "strength": st.integers(0, 5),
            "access_count": st.integers(0, 5),
            "status": st.sampled_from([Status.CANDIDATE, Status.CONFIRMED, Status.PINNED]),
        }
    ),
    min_size=4,
    max_size=4,
)
some_links = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(LINKED), st.integers(1, 4)).filter(lambda link: link[0] != link[2]),
    unique=True,
    max_size=6,
)


def every_step(bed: Bed) -> Iterator[Step]:
    """A step of each sort about the same memories."""
    kept = survivor(bed.memories)
    gone = [each for each in bed.memories if each is not kept][:2]
    one, two, three, _ = bed.memories
    yield merging(kept, gone, bed.store.links(), sort="merge", why=WHY, actor="gardener")
    yield superseding(one, two, why=WHY, actor="gardener")
    yield linking(one, two, LinkKind.CONTRADICTS, weight=1.0, sort="conflict", why=WHY, actor="gardener")
    yield linking(two, one, LinkKind.RELATES_TO, weight=0.7, sort="relate", why=WHY, actor="gardener")
    yield retiring(three, "gone", WHY)
    yield doubting(three, WHY)
    yield from (step for each in bed.memories if (step := retagging(each, tag_spellings(bed.store.tags()))))
    yield from (step for each in bed.memories if (step := weak(each, NOW, below=0.5)))
    yield from regrouping([("pair", (one.id, two.id)), ("rest", (three.id,))], 1, most=1)


@given(some_memories, some_links)
@pytest.mark.row("X4", "preimage", "undo")
@pytest.mark.row("J25", "undo")
def test_every_step_can_be_undone_to_the_letter(
    given_memories: list[dict[str, Any]], links: list[tuple[int, LinkKind, int]]
) -> None:
    """Whatever the memories are like and however they are linked, nothing of it is left."""
    bed = planted(*(memory(f"number {at}", **each) for at, each in enumerate(given_memories)), links=links)
    bed.store.apply([Regroup(clusters=(("old", (MemoryId(4),)),))], actor="test", now=NOW)
    before = bed.state()
    for step in every_step(bed):
        bed.carry_out(step)
        assert bed.state() != before or not step.expects
        bed.undo()
        assert bed.state() == before
    assert not [check for check in bed.store.check() if not check.ok]
    assert bed.store.verify_audit() == ()


@given(some_memories, some_links)
@pytest.mark.row("X4", "plan")
def test_a_step_does_what_it_tells(
    given_memories: list[dict[str, Any]], links: list[tuple[int, LinkKind, int]]
) -> None:
    """What its memories are afterwards is what was told, and nothing that was not told has changed."""
    bed = planted(*(memory(f"number {at}", **each) for at, each in enumerate(given_memories)), links=links)
    for step in every_step(bed):
        lines = told(step, *bed.memories).after
        bed.carry_out(step)
        for before in bed.memories:
            after = bed.now(before)
            for name in ("content", "status", "importance", "confidence", "trust", "strength", "tags", "files"):
                of_it = [line for line in lines if line.startswith(f"[id:{before.ref}] {name}: ")]
                assert bool(of_it) == (getattr(before, name) != getattr(after, name)), (step, name)
            assert after.active or before.id in step.retires
        bed.undo()
