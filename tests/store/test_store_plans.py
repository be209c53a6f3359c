"""Plans, for every engine: written down, carried out step by step, and undone to the letter; and the notes around them.

A step that was undone leaves nothing behind but the audit's word of it: every memory with its past, every link,
definition and cluster is what it was before. The random plans at the end hold the store to that.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from store_kit import (
    AGAIN,
    DAY,
    ENGINES,
    HOUR,
    JSON,
    MEMORY,
    NOW,
    SQLITE,
    Engine,
    OpenSpace,
    add,
    apply,
    everything,
    faults,
    found,
    full_memory,
    held,
    memory,
    only,
    passage,
)

from recollect.errors import DuplicateMemory, InvalidInput, KeyReused, NotFound, RecollectError
from recollect.model import (
    BETWEEN_MEMORIES,
    OCCUPYING,
    Add,
    Anchor,
    Change,
    Clear,
    Connect,
    Corpus,
    Define,
    Disconnect,
    Drop,
    Edit,
    File,
    Json,
    Kind,
    Link,
    LinkKind,
    Mark,
    Memory,
    MemoryId,
    Notice,
    Order,
    Origin,
    Outcome,
    Perform,
    Plan,
    Procedure,
    Propose,
    Provenance,
    Put,
    Rate,
    Refuse,
    Regroup,
    Reinforcement,
    Relation,
    Retag,
    Revert,
    Revise,
    Sight,
    Signals,
    Status,
    Step,
    StepState,
    Together,
    Unfile,
    Version,
    Vouch,
    Weigh,
)
from recollect.policy.identity import fingerprint
from recollect.store import Bound, Options, Store
from recollect.store.undoing import REVERSIBLE

of_every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
NO_SUCH_IDS = [0, -1, 999, 2**63 - 1, 2**63, 10**30, -(10**30)]
LEFT = sorted(frozenset(Status) - {Status.CANDIDATE, Status.CONFIRMED, Status.PINNED})
"""The statuses in which a memory is not live."""
STEP = Provenance(origin=Origin.USER_STATED, at=NOW + HOUR, session_id="s9", snippet="about it", reason="said so")


@pytest.fixture
def open_space(engine: Engine, tmp_path: Path) -> Iterator[OpenSpace]:
    """Spaces that are closed in the end."""
    spaces = OpenSpace(engine, tmp_path)
    yield spaces
    spaces.close()


@pytest.fixture
def store(open_space: OpenSpace) -> Store:
    """One empty space."""
    return open_space()


def outcome(store: Store, change: Change, *, now: datetime = NOW, actor: str = "test") -> Outcome:
    """What became of the only change of a request."""
    [told] = apply(store, change, now=now, actor=actor).outcomes
    return told


def action(store: Store, change: Change, *, now: datetime = NOW) -> str:
    """The word for what became of the only change of a request."""
    return outcome(store, change, now=now).action


def step(*changes: Change, **given: Any) -> Step:
    """A step that consists of these changes."""
    values: dict[str, Any] = {"sort": "merge", "key": "merge:1,2", "why": "They say the same.", "changes": changes}
    return Step(**(values | given))


def propose(store: Store, *steps: Step, plan: int | None = None, now: datetime = NOW) -> int:
    """Write down steps; returns the number of their plan."""
    told = outcome(store, Propose(sort="garden", steps=steps, live=store.count(), plan=plan), now=now)
    assert told.action == "propose"
    assert told.plan is not None
    return told.plan


def related(one: Memory, kind: LinkKind = LinkKind.RELATES_TO, weight: float = 1.0) -> Relation:
    """A relation to a memory as it is now."""
    return Relation(kind=kind, target=one.id, content_hash=one.content_hash, weight=weight)


def link_to(one: Memory, two: Memory, kind: LinkKind = LinkKind.RELATES_TO, weight: float = 1.0) -> Connect:
    """A link between two memories."""
    return Connect(link=Link(memory=one.id, kind=kind, target=two.id, weight=weight))


def state_of(store: Store) -> dict[str, object]:
    """All that a store holds, but for what only ever grows: the audit, and what became of its plans."""
    memories = store.query(order=Order(field="id", newest_first=False), limit=None)
    clusters = store.clusters()
    return {
        "memories": memories,
        "history": [store.history(each.id) for each in memories],
        "links": sorted(store.links(hidden=True), key=lambda each: (each.memory, each.kind, str(each.target))),
        "definitions": store.definitions(),
        "clusters": clusters,
        "members": [store.members(each.id) for each in clusters],
        "feedback": store.feedback(),
        "tags": store.tags(),
        "words": store.vocabulary(corpus=Corpus.MEMORY, limit=10_000),
        "acting": store.acting(),
        "together": store.together([each.id for each in memories]),
        "sightings": store.sightings("idle"),
    }


def past_of(store: Store) -> list[list[Memory]]:
    """What the store says it held at two moments."""
    return [sorted(store.held_at(NOW + hours * HOUR), key=lambda each: each.id) for hours in (0, 4)]


def plans_of(store: Store) -> list[tuple[Plan, tuple[Step, ...]]]:
    """Every plan with its steps."""
    return [(each, store.steps(each.id)) for each in store.plans(limit=10_000)]


def assert_sound(store: Store) -> None:
    """Every check holds and the audit accounts for every memory."""
    assert faults(store) == []
    assert store.verify_audit() == ()


@dataclass(frozen=True)
class Garden:
    """A store with a little of everything that a step can touch: memories with a past, links, clusters, definitions."""

    store: Store
    one: Memory
    two: Memory
    gone: Memory
    full: Memory
    """No field of this one has its default value."""


def planted(store: Store) -> Garden:
    """A garden in an empty store."""
    fresh = [
        memory("Deploys happen on Tuesdays", tags=("deploy", "day"), score=2, triggers=("deploy",)),
        memory("The cache is warmed first", anchors=(Anchor(path="src/cache.py"),), access_count=5),
        memory("We used to deploy by hand", tags=("day",)),
    ]
    receipt = apply(store, *(Add(memory=each, on_duplicate=AGAIN) for each in fresh), Put(memory=full_memory()))
    one, two, gone, full = (told.memory for told in receipt.outcomes if told.memory)
    alias = Define(sort="alias", name="k8s", value=["kubernetes"])
    apply(store, link_to(one, two, weight=0.25), link_to(two, full, LinkKind.CONTRADICTS), alias, actor="ada")
    apply(
        store,
        Weigh(id=one.id, signals=Signals(score=1, access=1, hit=True)),
        Mark(id=gone.id, status=Status.FORGOTTEN),
        Rate(id=two.id, helpful=True, signals=Signals(strength=1)),
        link_to(one, two, weight=0.5),
        link_to(full, gone),
        Regroup(clusters=(("all", (one.id, two.id, gone.id)), ("empty", ()), ("pair", (two.id, full.id)))),
        Define(sort="season", name="winter", value={"from": "12-01", "to": "02-28"}),
        Sight(sort="idle", seen=(one.id,)),
        now=NOW + HOUR,
    )
    store.note_uses({two.id: 1}, [Together(memory=one.id, other=two.id, strength=1.0)], now=NOW + 3 * HOUR)
    return Garden(store, *(held(store, each.id) for each in (one, two, gone, full)))


@pytest.fixture
def garden(store: Store) -> Garden:
    """A planted garden."""
    return planted(store)


# --- Adding what is like something that is there ---------------------------------------------------------------------


@of_every_engine
@pytest.mark.row("J23", "breadcrumbs")
def test_the_same_in_other_words_strengthens_what_is_there(store: Store) -> None:
    """It gains importance, an access, tags it did not have, and a breadcrumb with session, message and time."""
    first = add(store, "Deploys happen on Tuesdays", importance=0.5, tags=("old",))
    again = memory("We deploy every Tuesday", session_id="s2", message_range=(4, 9), tags=("new",))
    told = outcome(store, Add(memory=again, on_duplicate=AGAIN, same_as=related(first)), now=NOW + HOUR)
    expected = replace(
        first,
        version=2,
        importance=0.6,
        access_count=1,
        accessed_at=NOW + HOUR,
        updated_at=NOW + HOUR,
        reinforcements=(Reinforcement(at=NOW + HOUR, session_id="s2", message=4, words=again.content),),
        tags=("old", "new"),
    )
    assert told == Outcome(action="reinforce", memory=expected)
    assert store.query() == (expected,)
    assert store.by_uid(again.uid) is None
    entry = store.audit()[-1]
    assert (entry.action, entry.uid, entry.detail) == ("reinforce", first.uid, {"duplicate": "near"})
    assert_sound(store)


@of_every_engine
@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param(lambda one: Revise(id=one.id, edit=Edit(content="Deploys happen on Fridays")), id="changed"),
        *(pytest.param(lambda one, to=to: Mark(id=one.id, status=to), id=to.value) for to in LEFT),
    ],
)
def test_what_is_no_longer_said_is_not_strengthened(store: Store, meanwhile: Callable[[Memory], Change]) -> None:
    """Where the other one has changed or left since it was looked at, the memory is added."""
    first = add(store, "Deploys happen on Tuesdays")
    apply(store, meanwhile(first))
    changed = held(store, first.id)
    told = outcome(store, Add(memory=memory("We deploy on Tuesday"), on_duplicate=AGAIN, same_as=related(first)))
    assert told.action == "add"
    assert store.count() == 2
    assert held(store, first.id) == changed
    assert_sound(store)


@of_every_engine
@pytest.mark.parametrize("number", NO_SUCH_IDS)
def test_what_is_like_something_that_is_gone_is_added(store: Store, number: int) -> None:
    """Neither `same_as` nor a relation to a memory that is not there keeps the new one out."""
    nobody = Relation(kind=LinkKind.SUPERSEDES, target=MemoryId(number), content_hash="b2:00")
    told = outcome(store, Add(memory=memory("one"), on_duplicate=AGAIN, same_as=nobody, relations=(nobody,)))
    assert told.action == "add"
    assert store.count() == 1
    assert store.links(hidden=True) == ()


@of_every_engine
def test_a_change_of_anything_but_the_words_leaves_it_the_same(store: Store) -> None:
    """A memory that was pinned, tagged or weighed meanwhile still says what it said."""
    first = add(store, "Deploys happen on Tuesdays")
    apply(store, Mark(id=first.id, status=Status.PINNED), Retag(id=first.id, add=("x",)))
    told = outcome(store, Add(memory=memory("We deploy on Tuesday"), on_duplicate=AGAIN, same_as=related(first)))
    assert told.action == "reinforce"
    assert told.memory == held(store, first.id)
    assert (held(store, first.id).version, store.count()) == (4, 1)


@of_every_engine
def test_the_very_same_words_come_before_like_ones(store: Store) -> None:
    """Where one memory says it in the same words and another in other words, the first is strengthened."""
    exact, like = add(store, "one"), add(store, "number one")
    change = Add(memory=memory("ONE"), on_duplicate=AGAIN, same_as=related(like), relations=(related(like),))
    assert outcome(store, change) == Outcome(action="reinforce", memory=held(store, exact.id))
    assert held(store, exact.id).version == 2
    assert held(store, like.id) == like
    assert store.links() == ()


@of_every_engine
def test_what_strengthens_another_relates_to_nothing(store: Store) -> None:
    """The relations of a memory that was not added are not made, and nothing is superseded by it."""
    like, old = add(store, "number one"), add(store, "old")
    relations = (related(old, LinkKind.SUPERSEDES),)
    change = Add(memory=memory("one"), on_duplicate=AGAIN, same_as=related(like), relations=relations)
    assert action(store, change) == "reinforce"
    assert held(store, old.id) == old
    assert store.links() == ()


@of_every_engine
def test_what_a_new_memory_supersedes_leaves_recall(store: Store) -> None:
    """It is linked, knows by what it was superseded, and gives up its place."""
    old = add(store, "Deploys happen on Tuesdays")
    before = len(store.audit())
    relations = (related(old, LinkKind.SUPERSEDES, 0.75),)
    change = Add(memory=memory("Deploys happen on Fridays"), on_duplicate=AGAIN, relations=relations)
    told = outcome(store, change, now=NOW + HOUR, actor="ada")
    new = told.memory
    assert new is not None
    assert (told.action, new.version, told.relations) == ("add", 1, relations)
    assert held(store, old.id) == replace(
        old, status=Status.SUPERSEDED, superseded_by=new.uid, version=2, updated_at=NOW + HOUR
    )
    [made] = store.links()
    assert made == Link(
        memory=new.id,
        kind=LinkKind.SUPERSEDES,
        target=old.id,
        weight=0.75,
        made_by="ada",
        created_at=NOW + HOUR,
        updated_at=NOW + HOUR,
    )
    told_of = [(entry.action, entry.uid) for entry in store.audit(after=before)]
    assert told_of == [("add", new.uid), ("link", new.uid), ("supersede", old.uid)]
    assert store.twin(memory(old.content)) is None
    assert_sound(store)


@of_every_engine
@pytest.mark.parametrize("kind", [LinkKind.CONTRADICTS, LinkKind.DERIVED_FROM, LinkKind.RELATES_TO])
def test_other_relations_are_links_and_no_more(store: Store, kind: LinkKind) -> None:
    """Of a relation that does not supersede, both memories stay as they are."""
    other = add(store, "Deploys happen on Tuesdays")
    change = Add(memory=memory("Friday it is"), on_duplicate=AGAIN, relations=(related(other, kind, 0.5),))
    new = outcome(store, change).memory
    assert new is not None
    [made] = store.links()
    assert (made.memory, made.kind, made.target, made.weight) == (new.id, kind, other.id, 0.5)
    assert held(store, other.id) == other
    assert_sound(store)


@of_every_engine
def test_a_relation_to_what_has_changed_is_skipped(store: Store) -> None:
    """Each relation is made on its own: those to memories that changed or left are not, the others are."""
    changed, left, there = add(store, "changed"), add(store, "left"), add(store, "there")
    relations = tuple(related(each, LinkKind.SUPERSEDES) for each in (changed, left, there))
    apply(store, Revise(id=changed.id, edit=Edit(content="changed since")))
    apply(store, Mark(id=left.id, status=Status.ARCHIVED))
    before = held(store, changed.id), held(store, left.id)
    told = outcome(store, Add(memory=memory("new"), on_duplicate=AGAIN, relations=relations))
    new = told.memory
    assert new is not None
    assert told.relations == relations[2:]
    assert [(each.memory, each.target) for each in store.links()] == [(new.id, there.id)]
    assert (held(store, changed.id), held(store, left.id)) == before
    assert held(store, there.id).superseded_by == new.uid


@of_every_engine
@pytest.mark.parametrize("kind", [LinkKind.HAS_TAG, LinkKind.IN_CLUSTER])
def test_a_relation_that_is_none_between_memories_is_refused(store: Store, kind: LinkKind) -> None:
    """And the memory that was to have it is not stored either."""
    other = add(store, "there")
    before = everything(store)
    with pytest.raises(InvalidInput):
        apply(store, Add(memory=memory("new"), on_duplicate=AGAIN, relations=(related(other, kind),)))
    assert everything(store) == before


@of_every_engine
def test_what_a_memory_is_found_to_be_like_is_no_part_of_the_request(store: Store) -> None:
    """A retry under the same key finds other things there, and is answered with what the first one did."""
    old = add(store, "old")
    fresh = memory("new")
    relations = (related(old, LinkKind.SUPERSEDES),)
    first = apply(store, Add(memory=fresh, on_duplicate=AGAIN, relations=relations), key="k")
    before = everything(store)
    retries = [
        Add(memory=memory("new"), on_duplicate=AGAIN),
        Add(memory=memory("new"), on_duplicate=AGAIN, same_as=related(only(first))),
        Add(memory=memory("new"), on_duplicate=AGAIN, relations=(related(only(first), LinkKind.CONTRADICTS),)),
    ]
    for retry in retries:
        again = apply(store, retry, key="k", now=NOW + HOUR)
        assert again.replayed
        assert only(again) == only(first)
        assert again.outcomes[0].action == "add"
    assert everything(store) == before
    with pytest.raises(KeyReused):
        apply(store, Add(memory=memory("other"), on_duplicate=AGAIN, relations=relations), key="k")


# --- Vouching, sighting, noticing, acting ----------------------------------------------------------------------------


@of_every_engine
@pytest.mark.parametrize("trust, becomes", [(0.9, 0.9), (0.1, 0.1), (1.5, 1.0), (-1.0, 0.0)])
def test_vouching_sets_how_far_a_memory_is_trusted(store: Store, trust: float, becomes: float) -> None:
    """Trust, its provenance and the moment of confirmation change, and nothing else."""
    known = Provenance(origin=Origin.EXTRACTED, at=NOW)
    first = add(store, "one", trust=0.3, provenance=(known,), confidence=0.4)
    told = outcome(store, Vouch(id=first.id, trust=trust, provenance=STEP), now=NOW + HOUR)
    expected = replace(
        first,
        version=2,
        trust=becomes,
        provenance=(known, STEP),
        confirmed_at=NOW + HOUR,
        updated_at=NOW + HOUR,
    )
    assert (told.action, told.memory) == ("vouch", expected)
    assert held(store, first.id) == expected
    assert [each.memory for each in store.history(first.id)] == [first]
    assert store.audit()[-1].detail == {"from": 0.3, "to": becomes}
    assert_sound(store)


@of_every_engine
@pytest.mark.parametrize("number", NO_SUCH_IDS)
def test_nobody_vouches_for_what_is_not_there(store: Store, number: int) -> None:
    """It is refused, whatever number is asked for."""
    with pytest.raises(NotFound):
        apply(store, Vouch(id=MemoryId(number), trust=1.0, provenance=STEP))
    assert store.audit() == ()


@of_every_engine
def test_a_memory_is_in_a_condition_since_it_was_first_seen_so(store: Store) -> None:
    """Seeing it again changes nothing, until it is seen no longer; each sort of condition is on its own."""
    one, two = add(store, "one"), add(store, "two")
    assert store.sightings("idle") == {}
    assert action(store, Sight(sort="idle", seen=(one.id,)), now=NOW) == "sight"
    apply(store, Sight(sort="idle", seen=(one.id, two.id)), now=NOW + HOUR)
    apply(store, Sight(sort="weak", seen=(two.id,)), now=NOW + 2 * HOUR)
    assert store.sightings("idle") == {one.id: NOW, two.id: NOW + HOUR}
    assert store.sightings("weak") == {two.id: NOW + 2 * HOUR}
    apply(store, Sight(sort="idle", gone=(one.id,)), now=NOW + 3 * HOUR)
    assert store.sightings("idle") == {two.id: NOW + HOUR}
    assert store.sightings("weak") == {two.id: NOW + 2 * HOUR}
    apply(store, Sight(sort="idle", seen=(one.id,), gone=(two.id,)), now=NOW + 4 * HOUR)
    assert store.sightings("idle") == {one.id: NOW + 4 * HOUR}
    assert_sound(store)


@of_every_engine
def test_a_sighting_from_the_future_gives_way_to_now(store: Store) -> None:
    """A clock that was ahead once does not make a memory wait for it."""
    one = add(store, "one")
    apply(store, Sight(sort="idle", seen=(one.id,)), now=NOW + 99 * DAY)
    apply(store, Sight(sort="idle", seen=(one.id,)), now=NOW)
    assert store.sightings("idle") == {one.id: NOW}


@of_every_engine
def test_sighting_makes_no_version(store: Store) -> None:
    """It is a note beside a memory, which stays as it is, also when it is forgotten."""
    one = add(store, "one")
    apply(store, Sight(sort="idle", seen=(one.id,)))
    assert (held(store, one.id), store.history(one.id)) == (one, ())
    apply(store, Mark(id=one.id, status=Status.FORGOTTEN))
    assert store.sightings("idle") == {one.id: NOW}


@of_every_engine
def test_what_is_not_there_is_not_sighted(store: Store) -> None:
    """Memories that somebody else removed meanwhile are passed over."""
    one = add(store, "one")
    nobody = tuple(map(MemoryId, NO_SUCH_IDS))
    apply(store, Sight(sort="idle", seen=(*nobody, one.id, *nobody)))
    assert store.sightings("idle") == {one.id: NOW}
    apply(store, Sight(sort="idle", gone=nobody))
    assert store.sightings("idle") == {one.id: NOW}
    assert_sound(store)


@of_every_engine
def test_sessions_and_agents_that_noticed_a_finding_are_counted_once_each(store: Store) -> None:
    """Who noticed it again in the same session counts once, and an agent without a name does not count as one."""
    noticed = [
        *[("s1", "ada", ("x", "y")), ("s1", "ada", ("x",)), ("s1", "bob", ("x",))],
        *[("s2", "ada", ("x", "z")), ("s3", "", ("x", "z")), ("s3", "", ("z",))],
    ]
    for hour, (session, agent, names) in enumerate(noticed):
        change = Notice(fingerprints=tuple(map(fingerprint, names)), session_id=session, agent=agent)
        assert action(store, change, now=NOW + hour * HOUR) == "notice"
    x, y, z, never = map(fingerprint, ("x", "y", "z", "never"))
    assert store.seen([x, y, z, never]) == {x: (3, 2), y: (1, 1), z: (2, 1)}
    assert store.seen({y}) == {y: (1, 1)}
    assert store.seen([]) == store.seen([never]) == {}
    assert_sound(store)


@of_every_engine
def test_the_live_memories_that_act_are_listed(store: Store) -> None:
    """Those with triggers or a procedure, in order, while they are live and as long as they have them."""
    add(store, "neither")
    triggered = add(store, "triggered", triggers=("deploy.*",), status=Status.CANDIDATE)
    procedure = add(store, "procedure", kind=Kind.PROCEDURE, procedure=Procedure(name="warm"))
    both = add(store, "both", triggers=("x",), procedure=Procedure(name="x"), status=Status.PINNED)
    for status in LEFT:
        add(store, f"a {status} one", triggers=("x",), status=status)
    assert store.acting() == (triggered, procedure, both)
    apply(store, Revise(id=triggered.id, edit=Edit(triggers=())))
    apply(store, Revise(id=procedure.id, edit=Edit(clear=("procedure",))))
    assert store.acting() == (both,)
    apply(store, Mark(id=both.id, status=Status.FORGOTTEN))
    assert store.acting() == ()


ACTING: list[tuple[str, Callable[[Memory, Memory], list[Change]]]] = [
    ("added", lambda one, left: [Add(memory=memory("new", triggers=("x",)), on_duplicate=AGAIN)]),
    ("revised", lambda one, left: [Revise(id=one.id, edit=Edit(triggers=("y",)))]),
    ("reworded", lambda one, left: [Revise(id=one.id, edit=Edit(content="other words"))]),
    ("silenced", lambda one, left: [Revise(id=one.id, edit=Edit(triggers=()))]),
    ("retired", lambda one, left: [Mark(id=one.id, status=Status.ARCHIVED)]),
    ("restored", lambda one, left: [Mark(id=left.id, status=Status.CONFIRMED)]),
    ("exchanged", lambda one, left: [Mark(id=one.id, status=left.status), Mark(id=left.id, status=one.status)]),
    ("cleared", lambda one, left: [Clear()]),
]


@of_every_engine
@pytest.mark.parametrize("change", [change for _, change in ACTING], ids=[name for name, _ in ACTING])
def test_whoever_watches_what_acts_sees_that_it_has_changed(
    store: Store, change: Callable[[Memory, Memory], list[Change]]
) -> None:
    """The mark is another one after each change of what acts, done directly, in a plan or by undoing it."""
    one = add(store, "one", triggers=("x",))
    left = add(store, "left", triggers=("x",), status=Status.ARCHIVED)
    add(store, "another", procedure=Procedure(name="warm"))
    changes = change(one, left)
    turns: list[list[Change]] = [changes]
    if all(isinstance(each, REVERSIBLE) for each in changes):
        plan = propose(store, step(*changes))
        turns = [[Perform(plan=plan, step=1)], [Revert(plan=plan, step=1)], changes]
    for turn in turns:
        before = store.acting_mark()
        assert store.acting_mark() == before
        apply(store, *turn, now=NOW + HOUR)
        assert store.acting_mark() != before


# --- Written down ----------------------------------------------------------------------------------------------------


@of_every_engine
@pytest.mark.row("X4", "plan")
def test_a_plan_is_there_as_it_was_proposed(garden: Garden) -> None:
    """Steps come back as they were given, numbered in order; proposing does nothing to what they are about."""
    store, one, two = garden.store, garden.one, garden.two
    wanted = [
        step(Mark(id=two.id, status=Status.ARCHIVED), expects=((two.id, two.version),), retires=(two.id,)),
        step(*every_sort(garden), sort="tidy", key="tidy:1", why="A – “long” 理由", retires=(one.id, two.id)),
        step(sort="nothing", key="", why=""),
    ]
    before = state_of(store)
    change = Propose(sort="garden", steps=tuple(wanted), live=7)
    told = outcome(store, change, now=NOW + HOUR, actor="ada")
    assert (told.action, told.memory, told.link) == ("propose", None, None)
    assert told.plan is not None
    assert store.steps(told.plan) == tuple(replace(each, number=n) for n, each in enumerate(wanted, start=1))
    [plan] = store.plans()
    assert plan == Plan(
        id=told.plan,
        sort="garden",
        made_at=NOW + HOUR,
        made_by="ada",
        live=7,
        states={"proposed": 3},
        retires=3,
    )
    assert state_of(store) == before
    entry = store.audit()[-1]
    assert (entry.action, entry.uid, entry.actor) == ("propose", "", "ada")
    assert entry.detail == {"plan": told.plan, "sort": "garden", "steps": 3}
    assert_sound(store)


@of_every_engine
def test_a_plan_may_get_more_steps(garden: Garden) -> None:
    """They are numbered on, and the plan stays who made it, when, and for how many."""
    store = garden.store
    plan = propose(store, step(key="a"), step(key="b"))
    [first] = store.plans()
    told = outcome(store, Propose(sort="other", steps=(step(key="c"),), live=99, plan=plan), now=NOW + DAY, actor="eve")
    assert told.plan == plan
    assert [(each.number, each.key) for each in store.steps(plan)] == [(1, "a"), (2, "b"), (3, "c")]
    assert store.plans() == (replace(first, states={"proposed": 3}),)
    assert_sound(store)


@of_every_engine
def test_plans_are_listed_newest_first(garden: Garden) -> None:
    """So many of them, each with how many of its steps stand where and how many memories it would retire yet."""
    store, one, two = garden.store, garden.one, garden.two
    first = propose(store, step(key="a", retires=(one.id, two.id)), step(key="b", retires=(one.id,)), step(key="c"))
    second = propose(store, step(key="d"))
    empty = propose(store)
    apply(store, Perform(plan=first, step=2), Refuse(plan=first, step=3))
    listed = store.plans()
    assert [each.id for each in listed] == [empty, second, first]
    assert [each.states for each in listed] == [{}, {"proposed": 1}, {"proposed": 1, "done": 1, "refused": 1}]
    assert [each.retires for each in listed] == [0, 0, 2]
    assert store.plans(limit=2) == listed[:2]
    assert store.plans(limit=0) == ()
    assert store.totals()["plan"] == 3


@of_every_engine
def test_steps_are_asked_for_by_where_they_stand(garden: Garden) -> None:
    """All of a plan, or those in some states, in order; of a plan that is not there, none."""
    store = garden.store
    plan = propose(store, *(step(key=key) for key in "abcd"))
    apply(store, Perform(plan=plan, step=4), Refuse(plan=plan, step=2))
    apply(store, Perform(plan=plan, step=1), Revert(plan=plan, step=1))

    def keys(*states: StepState) -> str:
        return "".join(each.key for each in store.steps(plan, states=frozenset(states)))

    assert keys(*StepState) == "abcd"
    assert keys(StepState.PROPOSED) == "c"
    assert keys(StepState.DONE, StepState.REFUSED) == "bd"
    assert keys(StepState.UNDONE) == "a"
    assert keys() == keys(StepState.OUTDATED) == ""
    for number in NO_SUCH_IDS:
        assert store.steps(number) == ()


IRREVERSIBLE: list[Change] = [
    Add(memory=memory("new"), on_duplicate=AGAIN),
    Put(memory=memory("put")),
    Rate(id=MemoryId(1), helpful=True, signals=Signals()),
    Clear(),
    File(passages=(passage("one"),)),
    Unfile(corpus=Corpus.SESSIONS, document="s1"),
    Sight(sort="idle", seen=(MemoryId(1),)),
    Notice(fingerprints=("x",), session_id="s1"),
    Propose(sort="garden", steps=()),
    Perform(plan=1, step=1),
    Revert(plan=1, step=1),
    Drop(plan=1, step=1),
    Refuse(plan=1, step=1),
]


def test_every_change_can_be_undone_or_is_refused_in_a_plan() -> None:
    """A new kind of change joins one of the two lists of this file when it joins the union."""
    assert {type(each) for each in IRREVERSIBLE} | set(REVERSIBLE.__args__) == set(Change.__args__)
    assert not {type(each) for each in IRREVERSIBLE} & set(REVERSIBLE.__args__)


@of_every_engine
@pytest.mark.row("X4", "plan")
@pytest.mark.parametrize("change", IRREVERSIBLE, ids=lambda change: type(change).__name__)
def test_what_cannot_be_undone_cannot_be_planned(garden: Garden, change: Change) -> None:
    """A plan with such a step is refused whole, before anything of it is written down."""
    store = garden.store
    before = everything(store)
    good = step(Retag(id=garden.one.id, add=("x",)))
    for bad in (step(change), step(Retag(id=garden.one.id, add=("x",)), change)):
        with pytest.raises(InvalidInput):
            propose(store, good, bad)
    assert everything(store) == before
    assert store.plans() == ()


@of_every_engine
@pytest.mark.parametrize("number", NO_SUCH_IDS)
def test_a_step_that_is_not_there_is_not_found(garden: Garden, number: int) -> None:
    """Neither in a plan that is there nor in one that is not."""
    store = garden.store
    plan = propose(store, step())
    before = everything(store), plans_of(store)
    for change in (Perform, Revert, Refuse, Drop):
        for where in ({"plan": plan, "step": number}, {"plan": number, "step": 1}):
            with pytest.raises(NotFound):
                apply(store, change(**where))
    assert (everything(store), plans_of(store)) == before


@of_every_engine
@pytest.mark.parametrize("number", [0, -1, 999, 2**63 - 1])
def test_a_plan_that_is_not_there_gets_no_steps(garden: Garden, number: int) -> None:
    """It is refused, and no step of it is left behind."""
    before = everything(garden.store)
    with pytest.raises(NotFound):
        propose(garden.store, step(), plan=number)
    assert everything(garden.store) == before
    assert garden.store.plans() == ()


# --- Carried out and undone ------------------------------------------------------------------------------------------

Changes: TypeAlias = Callable[[Garden], list[Change]]


def every_sort(garden: Garden) -> list[Change]:
    """Every sort of change a step may have, several of them to one memory and to one link."""
    one, two, full = garden.one, garden.two, garden.full
    return [
        Revise(id=one.id, edit=Edit(content="Deploys happen daily", tags=("daily",)), provenance=STEP),
        Weigh(id=one.id, signals=Signals(score=-4, access=3, hit=True)),
        Vouch(id=one.id, trust=0.2, provenance=STEP),
        Retag(id=one.id, add=("tidy",), remove=("daily",)),
        Mark(id=two.id, status=Status.SUPERSEDED, superseded_by=one.uid),
        link_to(one, two, LinkKind.SUPERSEDES, 0.125),
        link_to(one, two, weight=0.75),
        Disconnect(memory=two.id, kind=LinkKind.CONTRADICTS, target=full.id),
        Define(sort="alias", name="k8s"),
        Define(sort="alias", name="pg", value=["postgres", {"n": 1.5}]),
        Regroup(clusters=(("fresh", (one.id,)),)),
        Mark(id=one.id, status=Status.PINNED),
    ]


REVISED = Edit(
    content="Deploys happen on Fridays",
    kind=Kind.DECISION,
    importance=0.875,
    tags=("friday",),
    anchors=(Anchor(path="deploy.sh", symbol="main"),),
    triggers=("friday", "deploy"),
    procedure=Procedure(name="deploy", steps=("a", "b")),
    season="winter",
    valid_from=NOW,
    valid_to=NOW + DAY,
)
SIGNALS = Signals(importance=0.25, confidence=-0.5, strength=3, score=-9, access=2, hit=True, confirm=True)


def marked(name: str, status: Status) -> Changes:
    """Bring a memory of the garden to a status."""
    return lambda garden: [Mark(id=getattr(garden, name).id, status=status)]


DOABLE: dict[str, Changes] = {
    "revise": lambda g: [Revise(id=g.one.id, edit=REVISED, provenance=STEP)],
    "revise-one-field": lambda g: [Revise(id=g.two.id, edit=Edit(importance=0.75))],
    "revise-clearing": lambda g: [
        Revise(id=g.full.id, edit=Edit(clear=("procedure", "season", "valid_from", "valid_to")))
    ],
    "weigh": lambda g: [Weigh(id=g.full.id, signals=SIGNALS, action="demote")],
    "weigh-nothing": lambda g: [Weigh(id=g.one.id, signals=Signals())],
    **{f"mark-{status}": marked("one", status) for status in Status},
    **{f"mark-full-{status}": marked("full", status) for status in Status},
    "restore-a-forgotten-one": marked("gone", Status.CONFIRMED),
    "supersede": lambda g: [Mark(id=g.one.id, status=Status.SUPERSEDED, superseded_by=g.two.uid)],
    "retag": lambda g: [Retag(id=g.one.id, add=("x", "y"), remove=("deploy",))],
    "retag-nothing": lambda g: [Retag(id=g.one.id, add=("deploy",), remove=("z",))],
    "vouch": lambda g: [Vouch(id=g.full.id, trust=0.125, provenance=STEP)],
    "connect": lambda g: [link_to(g.two, g.one, LinkKind.DERIVED_FROM, 0.375)],
    "connect-again": lambda g: [link_to(g.one, g.two, weight=0.875)],
    "connect-with-a-past": lambda g: [
        Connect(link=replace(link_to(g.one, g.full).link, made_by="eve", created_at=NOW - DAY, updated_at=NOW - HOUR))
    ],
    "disconnect": lambda g: [Disconnect(memory=g.one.id, kind=LinkKind.RELATES_TO, target=g.two.id)],
    "disconnect-a-forgotten-one": lambda g: [Disconnect(memory=g.full.id, kind=LinkKind.RELATES_TO, target=g.gone.id)],
    "disconnect-and-connect": lambda g: [
        Disconnect(memory=g.one.id, kind=LinkKind.RELATES_TO, target=g.two.id),
        link_to(g.one, g.two, weight=0.0625),
    ],
    "define": lambda g: [Define(sort="alias", name="pg", value=["postgres"])],
    "define-anew": lambda g: [Define(sort="alias", name="k8s", value={"nested": [1, 2.5, None, "數"]})],
    "undefine": lambda g: [Define(sort="alias", name="k8s")],
    "undefine-and-define": lambda g: [
        Define(sort="alias", name="k8s"),
        Define(sort="alias", name="k8s", value=["kubernetes"]),
    ],
    "define-and-undefine": lambda g: [
        Define(sort="alias", name="pg", value=["postgres"]),
        Define(sort="alias", name="pg"),
    ],
    "regroup": lambda g: [Regroup(clusters=(("x", (g.one.id, g.full.id)),))],
    "regroup-to-none": lambda g: [Regroup(clusters=())],
    "regroup-to-more": lambda g: [Regroup(clusters=tuple((f"c{n}", (g.two.id,)) for n in range(5)))],
    "regroup-the-end": lambda g: [Regroup(clusters=(("x", (g.one.id,)),), first=2)],
    "regroup-beyond": lambda g: [Regroup(clusters=(("x", (g.one.id,)),), first=4)],
    "regroup-some": lambda g: [Regroup(clusters=(("x", (g.one.id,)),), first=2, last=2)],
    "regroup-to-fewer": lambda g: [Regroup(clusters=(("x", ()),), first=1, last=3)],
    "regroup-beyond-the-last": lambda g: [Regroup(clusters=(("x", (g.one.id,)), ("y", ())), first=3, last=3)],
    "regroup-into-room-that-was-made": lambda g: [
        Regroup(clusters=(), first=3),
        Regroup(clusters=(("x", (g.one.id,)), ("y", ()), ("z", (g.two.id,))), first=1, last=2),
    ],
    "regroup-twice": lambda g: [
        Regroup(clusters=(("x", (g.one.id,)), ("y", ()), ("z", (g.full.id,))), first=3),
        Regroup(clusters=(("v", (g.two.id,)),), first=2, last=4),
        Regroup(clusters=(), first=1, last=1),
    ],
    "nothing": lambda g: [],
    "many-to-one": lambda g: [Weigh(id=g.one.id, signals=Signals(score=n, access=n)) for n in range(4)],
    "away-and-back": lambda g: [
        Mark(id=g.one.id, status=Status.FORGOTTEN),
        Revise(id=g.one.id, edit=REVISED),
        Mark(id=g.one.id, status=g.one.status),
        Revise(id=g.one.id, edit=Edit(content=g.one.content)),
    ],
    "every-sort": every_sort,
}
UNCHANGING = {"nothing", "retag-nothing", "mark-confirmed", "define-and-undefine"}
"""What leaves everything as it is even while it is done."""


@pytest.mark.row("X4", "preimage")
@pytest.mark.parametrize("engine", [MEMORY], ids=["memory"])
def test_every_sort_of_change_that_can_be_planned_is_tried(garden: Garden) -> None:
    """What can be undone is undone here, each sort on its own and all together."""
    tried = {type(each) for changes in DOABLE.values() for each in changes(garden)}
    assert tried == set(REVERSIBLE.__args__) == {type(each) for each in every_sort(garden)}


@of_every_engine
@pytest.mark.row("X4", "preimage", "undo")
@pytest.mark.row("J25", "confirm", "undo")
@pytest.mark.parametrize("name", DOABLE)
def test_a_step_is_done_and_undone_to_the_letter(garden: Garden, name: str) -> None:
    """Everything is what it was: all fields of all memories, their past, links, definitions and clusters."""
    store = garden.store
    changes = DOABLE[name](garden)
    before, past = state_of(store), past_of(store)
    plan = propose(store, step(*changes))
    assert_sound(store)
    assert outcome(store, Perform(plan=plan, step=1), now=NOW + 5 * HOUR, actor="ada") == Outcome(
        action="perform", plan=plan
    )
    assert_sound(store)
    done = state_of(store)
    assert (done == before) is (name in UNCHANGING)
    assert [each.state for each in store.steps(plan)] == [StepState.DONE]
    assert outcome(store, Revert(plan=plan, step=1), now=NOW + 9 * HOUR, actor="bob") == Outcome(
        action="revert", plan=plan
    )
    assert state_of(store) == before
    assert past_of(store) == past
    assert [each.state for each in store.steps(plan)] == [StepState.UNDONE]
    assert_sound(store)


@pytest.mark.parametrize("engine", [MEMORY], ids=["memory"])
@pytest.mark.parametrize("name", DOABLE)
def test_a_step_does_what_its_changes_do(open_space: OpenSpace, name: str) -> None:
    """Carried out in a plan, changes come to the same as without one, and so does what follows them."""
    planned, plain = (planted(open_space(space)) for space in ("planned", "plain"))
    plan = propose(planned.store, step(*DOABLE[name](planned)))
    apply(planned.store, Perform(plan=plan, step=1), now=NOW + 5 * HOUR)
    apply(plain.store, *DOABLE[name](plain), now=NOW + 5 * HOUR)
    assert without_uids(state_of(planned.store)) == without_uids(state_of(plain.store))
    told = [entry.action for entry in planned.store.audit() if entry.action not in ("propose", "step")]
    assert told == [entry.action for entry in plain.store.audit()]


def without_uids(value: object) -> object:
    """What a store holds, with nothing in it that no two memories share."""
    if isinstance(value, Memory):
        return replace(value, uid=None, superseded_by=value.superseded_by and "somebody")  # type: ignore[arg-type]
    if isinstance(value, Version):
        return replace(value, memory=without_uids(value.memory))  # type: ignore[arg-type]
    if isinstance(value, dict):
        return {name: without_uids(each) for name, each in value.items() if name != "feedback"}
    if isinstance(value, tuple | list):
        return [without_uids(each) for each in value]
    return value


@of_every_engine
def test_what_was_undone_is_found_by_its_old_words(garden: Garden) -> None:
    """Words, tags and files are looked up as before, and those in between are known no more."""
    store = garden.store
    plan = propose(store, step(Revise(id=garden.one.id, edit=REVISED)))
    apply(store, Perform(plan=plan, step=1))
    assert (found(store, "tuesdays"), found(store, "fridays")) == ([], ["Deploys happen on Fridays"])
    apply(store, Revert(plan=plan, step=1))
    assert (found(store, "tuesdays"), found(store, "fridays")) == (["Deploys happen on Tuesdays"], [])
    assert found(store, "friday") == []


@of_every_engine
def test_life_goes_on_after_a_step_was_undone(garden: Garden) -> None:
    """The past has no trace of the step; only the numbers of its versions are not given again."""
    store, one = garden.store, garden.one
    plan = propose(store, step(*every_sort(garden)))
    apply(store, Perform(plan=plan, step=1), now=NOW + 5 * HOUR)
    used = held(store, one.id).version
    apply(store, Revert(plan=plan, step=1), now=NOW + 6 * HOUR)
    after = only(apply(store, Retag(id=one.id, add=("later",)), now=NOW + 7 * HOUR))
    assert after == replace(one, tags=(*one.tags, "later"), version=used + 1, updated_at=NOW + 7 * HOUR)
    history = store.history(one.id)
    assert [each.memory.version for each in history] == [1, 2]
    assert history[-1].memory == one
    assert [each.recorded_from for each in history[1:]] == [each.recorded_to for each in history[:-1]]
    assert history[-1].recorded_to == NOW + 7 * HOUR
    again = propose(store, step(*every_sort(garden)))
    before = state_of(store)
    apply(store, Perform(plan=again, step=1), now=NOW + 8 * HOUR)
    assert action(store, Revert(plan=again, step=1), now=NOW + 9 * HOUR) == "revert"
    assert state_of(store) == before
    assert_sound(store)


@of_every_engine
def test_steps_that_build_on_each_other_are_undone_newest_first(garden: Garden) -> None:
    """An earlier one cannot be undone before the later one; after it, each state comes back in turn."""
    store, one = garden.store, garden.one
    steps = [
        step(Retag(id=one.id, add=("x",)), expects=((one.id, one.version),)),
        step(Retag(id=one.id, add=("y",)), expects=((one.id, one.version + 1),)),
    ]
    plan = propose(store, *steps)
    states = [state_of(store)]
    for number in (1, 2):
        assert action(store, Perform(plan=plan, step=number)) == "perform"
        states.append(state_of(store))
    assert action(store, Revert(plan=plan, step=1)) == "changed-since"
    assert state_of(store) == states.pop()
    for number in (2, 1):
        assert action(store, Revert(plan=plan, step=number)) == "revert"
        assert state_of(store) == states.pop()
    assert_sound(store)


@of_every_engine
def test_steps_are_done_and_undone_within_one_request(garden: Garden) -> None:
    """Each sees what those before it did, and together they leave nothing."""
    store, one = garden.store, garden.one
    plan = propose(store, step(Retag(id=one.id, add=("x",))), step(Mark(id=one.id, status=Status.ARCHIVED)))
    before = state_of(store)
    turns: list[Change] = [
        *(Perform(plan=plan, step=number) for number in (1, 2)),
        *(Revert(plan=plan, step=number) for number in (2, 1)),
    ]
    receipt = apply(store, *turns)
    assert [told.action for told in receipt.outcomes] == ["perform", "perform", "revert", "revert"]
    assert state_of(store) == before
    assert_sound(store)


@of_every_engine
def test_the_audit_tells_of_a_step_and_of_its_undoing(garden: Garden) -> None:
    """Each change by its own word, then the step; when undone, each memory with the state it has again."""
    store, one, two = garden.store, garden.one, garden.two
    changes: list[Change] = [Retag(id=one.id, add=("x",)), Mark(id=two.id, status=Status.ARCHIVED), link_to(two, one)]
    plan = propose(store, step(*changes))
    start = store.audit_head().seq
    first_states = {entry.uid: entry.state for entry in store.audit() if entry.uid}
    apply(store, Perform(plan=plan, step=1), now=NOW + 5 * HOUR, actor="ada")
    done = store.audit(after=start)
    assert [(entry.action, entry.uid) for entry in done] == [
        *[("tag", one.uid), ("evict", two.uid), ("link", two.uid), ("step", "")]
    ]
    assert done[-1].detail == {"plan": plan, "step": 1, "state": "done"}
    apply(store, Revert(plan=plan, step=1), now=NOW + 6 * HOUR, actor="bob")
    undone = store.audit(after=done[-1].seq)
    assert [(entry.action, entry.uid, entry.actor) for entry in undone] == [
        *[("undo", one.uid, "bob"), ("undo", two.uid, "bob"), ("step", "", "bob")]
    ]
    assert [entry.state for entry in undone[:2]] == [first_states[one.uid], first_states[two.uid]]
    assert undone[-1].detail == {"plan": plan, "step": 1, "state": "undone"}


@of_every_engine
def test_the_audit_of_a_plan_holds_no_content(garden: Garden) -> None:
    """Neither what a step is about, why, nor what it changes can be read there."""
    store, one = garden.store, garden.one
    secret = "xK9vQ2mZt7Lp"
    told = Provenance(origin=Origin.INFERRED, at=NOW, snippet=secret, reason=secret)
    changes: list[Change] = [
        Revise(id=one.id, edit=Edit(content=secret, tags=(secret.lower(),)), provenance=told),
        Vouch(id=one.id, trust=0.5, provenance=told),
        Define(sort="alias", name=secret, value=[secret]),
        Regroup(clusters=((secret, (one.id,)),)),
    ]
    plan = propose(store, step(*changes, key=secret, why=secret), step(key=secret, why=secret))
    apply(store, Perform(plan=plan, step=1), Refuse(plan=plan, step=2))
    apply(store, Notice(fingerprints=(fingerprint(secret), secret), session_id=secret, agent=secret))
    apply(store, Revert(plan=plan, step=1))
    rows = repr(store.audit()).lower()
    assert secret.lower() not in rows
    assert fingerprint(secret) not in rows


@of_every_engine
def test_a_short_audit_does_not_keep_a_step_from_being_undone(open_space: OpenSpace) -> None:
    """What is needed to undo is not in the audit, which may be cut at any time."""
    garden = planted(open_space("bounded", Options(audit=Bound(max_entries=6, trim_to=2))))
    store = garden.store
    plan = propose(store, step(*every_sort(garden)))
    before = state_of(store)
    apply(store, Perform(plan=plan, step=1))
    assert_sound(store)
    assert action(store, Revert(plan=plan, step=1)) == "revert"
    assert state_of(store) == before
    assert_sound(store)


def at_state(garden: Garden, state: StepState) -> int:
    """A plan whose only step stands so."""
    store, one = garden.store, garden.one
    outdated = state is StepState.OUTDATED
    expected = one.version + 5 if outdated else one.version
    plan = propose(store, step(Retag(id=one.id, add=("x",)), expects=((one.id, expected),)))
    ways: dict[StepState, list[Change]] = {
        StepState.PROPOSED: [],
        StepState.DONE: [Perform(plan=plan, step=1)],
        StepState.REFUSED: [Refuse(plan=plan, step=1)],
        StepState.DROPPED: [Drop(plan=plan, step=1)],
        StepState.OUTDATED: [Perform(plan=plan, step=1)],
        StepState.UNDONE: [Perform(plan=plan, step=1), Revert(plan=plan, step=1)],
    }
    apply(store, *ways[state])
    assert store.steps(plan)[0].state is state
    return plan


MOVES = {
    (StepState.PROPOSED, Perform): ("perform", StepState.DONE),
    (StepState.PROPOSED, Refuse): ("refuse", StepState.REFUSED),
    (StepState.PROPOSED, Drop): ("drop", StepState.DROPPED),
    (StepState.DONE, Revert): ("revert", StepState.UNDONE),
}


@of_every_engine
@pytest.mark.row("J25", "confirm", "refuse", "undo")
@pytest.mark.parametrize("state", StepState)
@pytest.mark.parametrize("change", [Perform, Revert, Refuse, Drop])
def test_a_step_moves_from_where_it_stands(
    garden: Garden, state: StepState, change: type[Perform | Revert | Refuse | Drop]
) -> None:
    """It is done, refused or dropped once, and undone once; anything else changes nothing, not even the audit."""
    store = garden.store
    plan = at_state(garden, state)
    before = everything(store), plans_of(store)
    told = outcome(store, change(plan=plan, step=1), now=NOW + 5 * HOUR)
    word, becomes = MOVES.get((state, change), ("unchanged", state))
    assert told == Outcome(action=word, plan=plan)
    assert store.steps(plan)[0].state is becomes
    assert ((everything(store), plans_of(store)) == before) is (word == "unchanged")
    assert_sound(store)


@of_every_engine
@pytest.mark.row("J25", "refuse")
def test_what_was_refused_is_known_by_its_key(garden: Garden) -> None:
    """Over all plans, and only what somebody refused; what was dropped, done or waits may be proposed again."""
    store = garden.store
    assert store.step_keys(frozenset({StepState.REFUSED})) == frozenset()
    first = propose(store, step(key="a"), step(key="b"), step(key="c"))
    apply(store, Drop(plan=first, step=3))
    second = propose(store, step(key="a"), step(key="d"))
    apply(store, Refuse(plan=first, step=1), Refuse(plan=second, step=2), Perform(plan=first, step=2))
    apply(store, Refuse(plan=first, step=2), Perform(plan=second, step=1))
    assert store.step_keys(frozenset({StepState.REFUSED})) == {"a", "d"}


# --- Changed meanwhile -----------------------------------------------------------------------------------------------

MEANWHILE: dict[str, Callable[[Memory], Change]] = {
    "weighed": lambda one: Weigh(id=one.id, signals=Signals(score=1)),
    "revised": lambda one: Revise(id=one.id, edit=Edit(importance=0.125)),
    "marked": lambda one: Mark(id=one.id, status=Status.PINNED),
    "forgotten": lambda one: Mark(id=one.id, status=Status.FORGOTTEN),
    "retagged": lambda one: Retag(id=one.id, add=("hers",)),
    "vouched": lambda one: Vouch(id=one.id, trust=0.5, provenance=STEP),
    "rated": lambda one: Rate(id=one.id, helpful=False, signals=Signals(confidence=-0.1)),
    "put": lambda one: Put(memory=replace(one, importance=0.0625)),
    "said-again": lambda one: Add(memory=memory(one.content), on_duplicate=AGAIN),
    "cleared": lambda one: Clear(),
}


@of_every_engine
@pytest.mark.row("X4", "plan")
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_a_step_about_what_has_changed_is_not_carried_out(garden: Garden, meanwhile: str) -> None:
    """It is outdated, and nothing of it is done, also where it would change other memories."""
    store, one, two = garden.store, garden.one, garden.two
    expects = ((two.id, two.version), (one.id, one.version))
    plan = propose(store, step(Mark(id=two.id, status=Status.ARCHIVED), expects=expects, retires=(two.id,)))
    apply(store, MEANWHILE[meanwhile](one), now=NOW + HOUR)
    before = state_of(store)
    told = outcome(store, Perform(plan=plan, step=1), now=NOW + 2 * HOUR)
    assert told == Outcome(action="outdated", plan=plan)
    assert state_of(store) == before
    assert store.steps(plan)[0].state is StepState.OUTDATED
    assert (store.plans()[0].states, store.plans()[0].retires) == ({"outdated": 1}, 0)
    assert store.audit()[-1].detail == {"plan": plan, "step": 1, "state": "outdated"}
    assert_sound(store)


@of_every_engine
@pytest.mark.parametrize("number", NO_SUCH_IDS)
def test_a_step_about_what_is_gone_is_not_carried_out(garden: Garden, number: int) -> None:
    """A memory that it expects and that is not there outdates it."""
    store = garden.store
    before = state_of(store)
    plan = propose(store, step(Retag(id=garden.one.id, add=("x",)), expects=((MemoryId(number), 1),)))
    assert action(store, Perform(plan=plan, step=1)) == "outdated"
    assert state_of(store) == before


@of_every_engine
def test_a_link_that_is_gone_outdates_the_step_that_removes_it(garden: Garden) -> None:
    """Somebody else has done it already."""
    store, one, two = garden.store, garden.one, garden.two
    removal = Disconnect(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id)
    plan = propose(store, step(Retag(id=one.id, add=("x",)), removal))
    apply(store, removal)
    before = state_of(store)
    assert action(store, Perform(plan=plan, step=1)) == "outdated"
    assert state_of(store) == before


@of_every_engine
def test_use_does_not_outdate_a_step(garden: Garden) -> None:
    """What was recalled since the plan was made says the same as before, and being undone keeps the count."""
    store, one, two = garden.store, garden.one, garden.two
    plan = propose(store, step(Mark(id=one.id, status=Status.ARCHIVED), expects=((one.id, one.version),)))
    store.note_uses({one.id: 2}, [Together(memory=one.id, other=two.id, strength=1.0)], now=NOW + 4 * HOUR)
    before = state_of(store)
    assert held(store, one.id) == replace(one, access_count=one.access_count + 2, accessed_at=NOW + 4 * HOUR)
    assert action(store, Perform(plan=plan, step=1), now=NOW + 5 * HOUR) == "perform"
    assert action(store, Revert(plan=plan, step=1), now=NOW + 6 * HOUR) == "revert"
    assert state_of(store) == before


@of_every_engine
def test_a_step_that_fails_is_not_done_in_part(garden: Garden) -> None:
    """An error in its last change leaves nothing of those before it, and the step where it stood."""
    store, one, two = garden.store, garden.one, garden.two
    before = everything(store)
    taken = Revise(id=one.id, edit=Edit(content=two.content))
    plan = propose(store, step(Retag(id=two.id, add=("x",)), link_to(two, one), Regroup(clusters=()), taken))
    proposed = everything(store), plans_of(store)
    with pytest.raises(DuplicateMemory):
        apply(store, Perform(plan=plan, step=1))
    assert (everything(store), plans_of(store)) == proposed
    assert before["memories"] == proposed[0]["memories"]
    apply(store, Revise(id=two.id, edit=Edit(content="Something else")))
    assert action(store, Perform(plan=plan, step=1)) == "perform"
    assert_sound(store)


@of_every_engine
@pytest.mark.row("X4", "undo")
@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_undoing_a_step_does_not_undo_what_came_after_it(garden: Garden, meanwhile: str) -> None:
    """Where somebody has changed a memory since, the answer says so and nothing is changed."""
    store, one, two = garden.store, garden.one, garden.two
    plan = propose(store, step(Retag(id=two.id, add=("x",)), Retag(id=one.id, add=("y",)), link_to(two, one)))
    apply(store, Perform(plan=plan, step=1), now=NOW + 5 * HOUR)
    apply(store, MEANWHILE[meanwhile](one), now=NOW + 6 * HOUR)
    before = everything(store), plans_of(store)
    assert outcome(store, Revert(plan=plan, step=1)) == Outcome(action="changed-since", plan=plan)
    assert (everything(store), plans_of(store)) == before
    assert store.steps(plan)[0].state is StepState.DONE


BESIDE_MEANWHILE: dict[str, tuple[Changes, Changes]] = {
    "a-link-was-weighed": (DOABLE["connect"], lambda g: [link_to(g.two, g.one, LinkKind.DERIVED_FROM, 0.5)]),
    "a-link-was-made-again": (DOABLE["connect"], DOABLE["connect"]),
    "a-link-was-removed": (
        DOABLE["connect"],
        lambda g: [Disconnect(memory=g.two.id, kind=LinkKind.DERIVED_FROM, target=g.one.id)],
    ),
    "a-removed-link-is-back": (DOABLE["disconnect"], DOABLE["connect-again"]),
    "a-definition-was-changed": (DOABLE["define"], lambda g: [Define(sort="alias", name="pg", value=["mine"])]),
    "the-same-was-defined": (DOABLE["define-anew"], DOABLE["define-anew"]),
    "a-definition-was-removed": (DOABLE["define-anew"], DOABLE["undefine"]),
    "what-was-undefined-is-back": (DOABLE["undefine"], DOABLE["define-anew"]),
}


@of_every_engine
@pytest.mark.row("X4", "undo")
@pytest.mark.parametrize("name", BESIDE_MEANWHILE)
def test_undoing_a_step_does_not_undo_another_link_or_definition(garden: Garden, name: str) -> None:
    """What somebody made of a link or a definition since is theirs."""
    store = garden.store
    planned, meanwhile = BESIDE_MEANWHILE[name]
    plan = propose(store, step(Retag(id=garden.full.id, add=("x",)), *planned(garden)))
    apply(store, Perform(plan=plan, step=1), now=NOW + 5 * HOUR)
    apply(store, *meanwhile(garden), now=NOW + 6 * HOUR, actor="eve")
    before = everything(store), plans_of(store)
    assert outcome(store, Revert(plan=plan, step=1)) == Outcome(action="changed-since", plan=plan)
    assert (everything(store), plans_of(store)) == before


@of_every_engine
def test_what_a_step_did_not_touch_may_change_before_it_is_undone(garden: Garden) -> None:
    """Other memories, links and definitions keep what became of them."""
    store, one, two, full = garden.store, garden.one, garden.two, garden.full
    plan = propose(store, step(Retag(id=one.id, add=("x",)), DOABLE["define"](garden)[0], link_to(one, full)))
    others: list[Change] = [
        *(Weigh(id=two.id, signals=Signals(score=5)), Revise(id=full.id, edit=Edit(importance=0.25))),
        *(link_to(two, one), Define(sort="alias", name="db", value=["sqlite"])),
        Disconnect(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id),
    ]
    apply(store, Perform(plan=plan, step=1))
    apply(store, *others, now=NOW + 6 * HOUR)
    changed = everything(store)
    assert action(store, Revert(plan=plan, step=1)) == "revert"
    assert held(store, one.id) == one
    assert [held(store, each.id).version for each in (two, full)] == [two.version + 1, full.version + 1]
    undone = everything(store)
    assert set(undone["links"]) < set(changed["links"])  # type: ignore[call-overload]
    assert {each.name for each in store.definitions()} == {"k8s", "winter", "db"}
    assert_sound(store)


USED: dict[str, Changes] = {
    "retagged": lambda g: [Retag(id=g.two.id, add=("x",))],
    "weighed": lambda g: [Weigh(id=g.two.id, signals=Signals(access=7, hit=True))],
    "weighed-down": lambda g: [Weigh(id=g.two.id, signals=Signals(access=-99))],
    "revised": lambda g: [Revise(id=g.two.id, edit=Edit(content="The cache is warmed last"))],
    "twice": lambda g: [*DOABLE["retag"](g), *USED["weighed"](g), *USED["revised"](g)],
    "unchanged": lambda g: [Retag(id=g.two.id, remove=("z",))],
}


@of_every_engine
@pytest.mark.parametrize("name", USED)
def test_use_in_between_survives_the_undoing(garden: Garden, name: str) -> None:
    """How often a memory was recalled while the step was done, and when, is kept; all else is what it was."""
    store, one, two = garden.store, garden.one, garden.two
    plan = propose(store, step(*USED[name](garden)))
    apply(store, Perform(plan=plan, step=1), now=NOW + 5 * HOUR)
    for hour in (6, 7):
        store.note_uses({two.id: 2}, [Together(memory=one.id, other=two.id, strength=1.0)], now=NOW + hour * HOUR)
    together = store.together([one.id])
    assert action(store, Revert(plan=plan, step=1), now=NOW + 8 * HOUR) == "revert"
    assert held(store, two.id) == replace(two, access_count=two.access_count + 4, accessed_at=NOW + 7 * HOUR)
    assert held(store, one.id) == one
    assert store.together([one.id]) == together
    assert_sound(store)


@of_every_engine
def test_use_between_two_steps_survives_the_undoing_of_both(garden: Garden) -> None:
    """Counted after the first step and after the second, kept through both."""
    store, two = garden.store, garden.two
    plan = propose(store, *[step(*USED["weighed"](garden)), step(*USED["revised"](garden))])
    for number in (1, 2):
        apply(store, Perform(plan=plan, step=number), now=NOW + (4 + number) * HOUR)
        store.note_uses({two.id: number}, [], now=NOW + (6 + number) * HOUR)
    for number in (2, 1):
        assert action(store, Revert(plan=plan, step=number), now=NOW + 9 * HOUR) == "revert"
    assert held(store, two.id) == replace(two, access_count=two.access_count + 3, accessed_at=NOW + 8 * HOUR)
    assert_sound(store)


# --- Vectors ---------------------------------------------------------------------------------------------------------


def embed(store: Store, *memories: Memory) -> int:
    """Keep a vector of each memory, if it still says what it said."""
    rows = [(each.id, each.content_hash) for each in memories]
    return store.keep_vectors("model", rows, np.ones((len(rows), 4), np.float32), corpus=Corpus.MEMORY)


def embedded(store: Store) -> list[int]:
    """The memories that have a vector."""
    return sorted(store.vectors("model", corpus=Corpus.MEMORY)[0])


@of_every_engine
def test_a_vector_does_not_outlast_the_text_it_is_of(garden: Garden) -> None:
    """Neither doing a step nor undoing it leaves a memory with the vector of another text."""
    store, one, two = garden.store, garden.one, garden.two
    assert embed(store, one, two) == 2
    plan = propose(store, step(Revise(id=one.id, edit=REVISED), Mark(id=two.id, status=Status.ARCHIVED)))
    apply(store, Perform(plan=plan, step=1))
    assert embedded(store) == [two.id]
    assert embed(store, held(store, one.id)) == 1
    apply(store, Revert(plan=plan, step=1))
    assert embedded(store) == [two.id]
    assert one.id in [each.item for each in store.unembedded("model", corpus=Corpus.MEMORY, limit=9)]
    assert embed(store, one) == 1
    assert_sound(store)


# --- Lasting ---------------------------------------------------------------------------------------------------------


def tended(garden: Garden) -> dict[StepState, int]:
    """A plan for each state that a step can be in, and notes of every sort."""
    store, one, two = garden.store, garden.one, garden.two
    propose(store, step(*every_sort(garden), key="never done"), step(key="refused"))
    apply(store, Refuse(plan=1, step=2))
    apply(store, Sight(sort="weak", seen=(one.id, two.id)), now=NOW + HOUR)
    apply(store, Notice(fingerprints=("x", "y"), session_id="s1", agent="ada"))
    apply(store, Notice(fingerprints=("x",), session_id="s2", agent="bob"))
    quiet = [state for state in StepState if state is not StepState.DONE]
    plans: dict[StepState, int] = {state: at_state(garden, state) for state in quiet}
    plans[StepState.DONE] = propose(store, step(*every_sort(garden)))
    apply(store, Perform(plan=plans[StepState.DONE], step=1), now=NOW + 5 * HOUR)
    return plans


def notes_of(store: Store) -> list[object]:
    """What a store has noted for decisions that are yet to come."""
    return [
        store.sightings("idle"),
        store.sightings("weak"),
        store.seen(["x", "y", "z"]),
        store.step_keys(frozenset({StepState.REFUSED})),
    ]


@of_every_engine
@pytest.mark.row("X4", "plan", "preimage")
def test_plans_are_there_after_opening_again(garden: Garden, open_space: OpenSpace) -> None:
    """With their steps, with what undoes them, and with the notes; a step that was done before is undone after."""
    before = state_of(garden.store)
    plans = tended(garden)
    told = everything(garden.store), plans_of(garden.store), notes_of(garden.store)
    store = open_space.again(garden.store)
    assert (everything(store), plans_of(store), notes_of(store)) == told
    assert_sound(store)
    assert action(store, Revert(plan=plans[StepState.DONE], step=1)) == "revert"
    assert state_of(store) == before
    assert action(store, Perform(plan=plans[StepState.PROPOSED], step=1)) == "perform"
    assert propose(store, step()) > max(plans.values())
    again = open_space.again(store)
    assert [again.steps(plans[state])[0].state for state in (StepState.DONE, StepState.PROPOSED)] == ["undone", "done"]
    assert_sound(again)


@of_every_engine
@pytest.mark.row("X4", "plan", "preimage")
def test_a_backup_brings_plans_back(garden: Garden, open_space: OpenSpace, tmp_path: Path) -> None:
    """With everything that is needed to go on with them, or to undo what was done, in another store too."""
    before = state_of(garden.store)
    plans = tended(garden)
    told = everything(garden.store), plans_of(garden.store), notes_of(garden.store)
    garden.store.backup(tmp_path / "backup.db")
    apply(garden.store, Revert(plan=plans[StepState.DONE], step=1), Clear())
    other = open_space("other")
    propose(other, step(key="to be replaced"))
    for store in (garden.store, other):
        store.restore(tmp_path / "backup.db")
        assert (everything(store), plans_of(store), notes_of(store)) == told
        assert_sound(store)
        assert action(store, Revert(plan=plans[StepState.DONE], step=1)) == "revert"
        assert state_of(store) == before
        assert_sound(store)


# --- What a plan meets in the world ----------------------------------------------------------------------------------


@of_every_engine
@pytest.mark.parametrize("how", ["takes-over", "swaps"])
def test_words_that_went_from_one_memory_to_another_go_back(store: Store, how: str) -> None:
    """A step in which one memory gives up its words and another takes them is undone like any other."""
    one, two = add(store, "one"), add(store, "two")
    ways: dict[str, list[Change]] = {
        "takes-over": [Mark(id=one.id, status=Status.ARCHIVED), Revise(id=two.id, edit=Edit(content="one"))],
        "swaps": [
            Revise(id=one.id, edit=Edit(content="neither")),
            Revise(id=two.id, edit=Edit(content="one")),
            Revise(id=one.id, edit=Edit(content="two")),
        ],
    }
    before = state_of(store)
    plan = propose(store, step(*ways[how]))
    apply(store, Perform(plan=plan, step=1))
    assert action(store, Revert(plan=plan, step=1)) == "revert"
    assert state_of(store) == before
    assert_sound(store)


@of_every_engine
def test_words_that_were_stored_again_since_are_not_stored_twice(store: Store) -> None:
    """What a step retired cannot come back beside a memory that says the same; the answer says so."""
    one = add(store, "one")
    plan = propose(store, step(Mark(id=one.id, status=Status.ARCHIVED)))
    apply(store, Perform(plan=plan, step=1))
    add(store, "ONE")
    before = everything(store), plans_of(store)
    with suppress(DuplicateMemory):
        assert action(store, Revert(plan=plan, step=1)) == "changed-since"
    assert (everything(store), plans_of(store)) == before


@of_every_engine
def test_clusters_come_back_under_their_numbers(store: Store) -> None:
    """Also where numbers between them are free."""
    one = add(store, "one")
    apply(store, Regroup(clusters=(("low", (one.id,)),)), Regroup(clusters=(("high", (one.id,)),), first=10))
    before = state_of(store)
    plan = propose(store, step(Regroup(clusters=())))
    apply(store, Perform(plan=plan, step=1))
    assert action(store, Revert(plan=plan, step=1)) == "revert"
    assert state_of(store) == before


@of_every_engine
def test_clusters_that_were_made_since_stay(garden: Garden) -> None:
    """Undoing a step that regrouped does not take away how somebody grouped them after it."""
    store = garden.store
    plan = propose(store, step(Regroup(clusters=(("planned", (garden.one.id,)),))))
    apply(store, Perform(plan=plan, step=1))
    apply(store, Regroup(clusters=(("hers", (garden.two.id,)),)), actor="eve")
    before = everything(store), plans_of(store)
    assert action(store, Revert(plan=plan, step=1)) == "changed-since"
    assert (everything(store), plans_of(store)) == before


@of_every_engine
def test_a_memory_that_is_forgotten_again_keeps_no_vector(garden: Garden) -> None:
    """What a step restored and its undoing takes back leaves no vector behind."""
    store, gone = garden.store, garden.gone
    plan = propose(store, step(Mark(id=gone.id, status=Status.CONFIRMED)))
    apply(store, Perform(plan=plan, step=1))
    assert embed(store, gone) == 1
    assert action(store, Revert(plan=plan, step=1)) == "revert"
    assert embedded(store) == []
    assert_sound(store)


@of_every_engine
def test_a_repeated_request_is_answered_with_the_whole_first_answer(garden: Garden) -> None:
    """With the number of the plan, without which nobody can go on, and with the relations that were made."""
    store = garden.store
    requests: dict[str, Change] = {
        "plan": Propose(sort="garden", steps=(step(),)),
        "relations": Add(memory=memory("new"), on_duplicate=AGAIN, relations=(related(garden.one),)),
    }
    for key, change in requests.items():
        first = apply(store, change, key=key)
        again = apply(store, change, key=key, now=NOW + HOUR)
        assert again.replayed
        assert again.outcomes == first.outcomes


@of_every_engine
@pytest.mark.parametrize(
    "number, steps",
    [
        pytest.param(999, (), id="no-steps"),
        pytest.param(2**63, (), id="no-steps-and-no-number"),
        pytest.param(2**63, (step(),), id="no-number"),
        pytest.param(-(10**30), (step(),), id="less-than-any-number"),
    ],
)
def test_a_plan_that_is_not_there_is_not_found(garden: Garden, number: int, steps: tuple[Step, ...]) -> None:
    """Whatever number is asked for, and however many steps it is to get."""
    before = everything(garden.store)
    with pytest.raises(NotFound):
        propose(garden.store, *steps, plan=number)
    assert everything(garden.store) == before


@of_every_engine
@pytest.mark.parametrize("state", sorted(set(StepState) - {StepState.PROPOSED}))
def test_a_step_that_is_proposed_waits(garden: Garden, state: StepState) -> None:
    """A step that was read from an earlier plan, where it was settled, is proposed like a new one."""
    store = garden.store
    old = at_state(garden, state)
    plan = propose(store, *store.steps(old))
    assert store.steps(plan)[0].state is StepState.PROPOSED


@of_every_engine
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(Define(sort="alias", name="x", value=float("nan")), id="no-number"),
        pytest.param(Define(sort="alias", name="x", value={1, 2}), id="no-json"),  # type: ignore[arg-type]
        pytest.param(Retag(id=MemoryId(2**63), add=("x",)), id="no-id"),
        pytest.param(Weigh(id=MemoryId(1), signals=Signals(score=10**30)), id="no-count"),
    ],
)
def test_a_step_that_could_not_be_read_again_is_not_written(garden: Garden, change: Change) -> None:
    """It is refused when it is proposed, in the product's words; no plan is left that nobody can read."""
    store = garden.store
    with pytest.raises(RecollectError):
        propose(store, step(change))
    assert plans_of(store) == []
    assert_sound(store)


@of_every_engine
def test_the_number_of_a_version_that_was_undone_is_not_given_again(garden: Garden) -> None:
    """A step that was planned for what another step left is not carried out once that was undone and changed."""
    store, one = garden.store, garden.one
    first = propose(store, step(Retag(id=one.id, add=("x",))))
    apply(store, Perform(plan=first, step=1))
    seen = held(store, one.id)
    second = propose(store, step(Mark(id=one.id, status=Status.ARCHIVED), expects=((seen.id, seen.version),)))
    apply(store, Revert(plan=first, step=1))
    apply(store, Revise(id=one.id, edit=Edit(content="Something else altogether")))
    changed = held(store, one.id)
    assert changed.version > seen.version
    apply(store, Perform(plan=second, step=1))
    assert held(store, one.id) == changed
    assert store.steps(second)[0].state is StepState.OUTDATED


@of_every_engine
def test_whoever_watches_what_acts_sees_others_in_its_place(store: Store) -> None:
    """As many memories of the same age, whose numbers add up to the same, are others nevertheless."""
    fresh = [Add(memory=memory(name, triggers=("x",)), on_duplicate=AGAIN) for name in ("a", "b", "c", "d")]
    a, b, c, d = (told.memory.id for told in apply(store, *fresh).outcomes if told.memory)
    away = [step(*(Mark(id=number, status=Status.ARCHIVED) for number in pair)) for pair in ((b, c), (a, d))]
    plan = propose(store, *away)
    apply(store, Perform(plan=plan, step=1), now=NOW + HOUR)
    before = store.acting(), store.acting_mark()
    apply(store, Perform(plan=plan, step=2), Revert(plan=plan, step=1), now=NOW + 2 * HOUR)
    assert store.acting() != before[0]
    assert store.acting_mark() != before[1]


@of_every_engine
def test_a_definition_that_is_gone_outdates_the_step_that_removes_it(garden: Garden) -> None:
    """Somebody else has done it already, as with a link."""
    store = garden.store
    plan = propose(store, step(Define(sort="alias", name="k8s")))
    apply(store, Define(sort="alias", name="k8s"))
    assert action(store, Perform(plan=plan, step=1)) == "outdated"


@of_every_engine
def test_a_step_may_remove_a_link_that_it_has_made(garden: Garden) -> None:
    """Each change of a step sees what those before it did, as in any request."""
    store, one, full = garden.store, garden.one, garden.full
    removal = Disconnect(memory=one.id, kind=LinkKind.RELATES_TO, target=full.id)
    plan = propose(store, step(link_to(one, full), removal))
    assert action(store, Perform(plan=plan, step=1)) == "perform"


@of_every_engine
def test_what_a_step_left_alone_does_not_keep_it_from_being_undone(garden: Garden) -> None:
    """A change that changed nothing does not tie a step to the memory, whatever becomes of that."""
    store, one, two = garden.store, garden.one, garden.two
    nothing = Retag(id=one.id, add=one.tags)
    plan = propose(store, step(Retag(id=one.id, add=("x",))), step(nothing, Retag(id=two.id, add=("x",))))
    before = state_of(store)
    apply(store, Perform(plan=plan, step=1), Perform(plan=plan, step=2))
    assert action(store, Revert(plan=plan, step=1)) == "revert"
    assert action(store, Revert(plan=plan, step=2)) == "revert"
    assert state_of(store) == before


@of_every_engine
def test_a_past_with_a_version_too_many_costs_nothing(store: Store) -> None:
    """A memory that came with a version of its own number is what it was after a step was undone."""
    wanted = memory("now", version=2)
    other = memory("elsewhere", uid=wanted.uid, version=2)
    past = Version(memory=other, recorded_from=NOW - DAY, recorded_to=NOW - HOUR)
    one = only(apply(store, Put(memory=wanted, history=(past,))))
    plan = propose(store, step(Retag(id=one.id, add=("x",))))
    apply(store, Perform(plan=plan, step=1))
    apply(store, Revert(plan=plan, step=1))
    assert held(store, one.id) == one
    assert_sound(store)


# --- Any plan --------------------------------------------------------------------------------------------------------

WORDS = ("cache", "build", "deploy", "user_id", "naïve", "数据库", "parseHTTPResponse", "release")
SORTS = ("alias", "season")
Edge: TypeAlias = tuple[MemoryId, LinkKind, MemoryId]


@dataclass(frozen=True)
class Freedom:
    """What random plans may do beyond the ordinary."""

    words: bool = False
    """Give a memory words that another one gave up, in the same plan."""
    numbers: bool = False
    """Leave numbers of clusters free between others."""
    clusters: bool = True


class Sketch:
    """What a random plan may build on: the plainest model of a store, kept in step with the changes it plans."""

    def __init__(self, state: dict[str, Any], chance: random.Random, freedom: Freedom) -> None:
        self.state, self.chance, self.freedom = state, chance, freedom
        memories: tuple[Memory, ...] = state["memories"]
        self.numbers = [each.id for each in memories]
        self.uids = [each.uid for each in memories]
        self.said = {each.id: each.content for each in memories}
        self.status = {each.id: each.status for each in memories}
        self.owners = {place: {number} for number in self.numbers if (place := self.place(number))}
        between = [each for each in state["links"] if each.kind in BETWEEN_MEMORIES]
        self.links: set[Edge] = {(each.memory, each.kind, each.target) for each in between}
        self.names = {(each.sort, each.name) for each in state["definitions"]}
        self.clusters = {each.id for each in state["clusters"]}

    def step(self, store: Store) -> Step:
        """The next step: one to five changes that can be carried out one after the other."""
        removable = set(self.links)
        changes = [self.change(removable) for _ in range(self.chance.randint(1, 5))]
        if self.freedom.words and self.chance.random() < 0.5:
            changes += self.exchange()
        touched = {getattr(each, "id", None) for each in changes} - {None}
        expects = tuple((number, held(store, number).version) for number in self.numbers if number in touched)
        return step(*changes, expects=expects, key=str(self.chance.random()))

    def change(self, removable: set[Edge]) -> Change:
        """Any change that can be carried out. A link that the step makes it does not remove."""
        ways: list[Callable[[], Change]] = [
            *(self.revise, self.revise, self.weigh, self.mark, self.mark, self.retag, self.vouch, self.connect),
            *(lambda: self.disconnect(removable), self.define, self.regroup if self.freedom.clusters else self.weigh),
        ]
        return self.chance.choice(ways)()

    def place(
        self, number: MemoryId, content: str | None = None, status: Status | None = None
    ) -> tuple[str, bool] | None:
        """The place that a memory holds, or would hold."""
        status = status or self.status[number]
        said = self.said[number] if content is None else content
        return (fingerprint(said), status is Status.QUARANTINED) if status in OCCUPYING else None

    def settle(self, number: MemoryId, content: str, status: Status) -> bool:
        """Give a memory words and a status, if nobody has its place, or had it before where that is not free."""
        place = self.place(number, content, status)
        if place is not None:
            holders = {each for each in self.numbers if self.place(each) == place} - {number}
            if holders or (not self.freedom.words and self.owners.get(place, set()) - {number}):
                return False
            self.owners.setdefault(place, set()).add(number)
        self.said[number], self.status[number] = content, status
        return True

    def revise(self) -> Change:
        """New words, other values, or both."""
        number, chance = self.chance.choice(self.numbers), self.chance
        content: str | None = f"{chance.choice(WORDS)} {chance.choice(WORDS)} {chance.randint(1, 200)}"
        if self.freedom.words and chance.random() < 0.5:
            content = self.said[chance.choice(self.numbers)]
        if content is not None and not self.settle(number, content, self.status[number]):
            content = None
        edit = Edit(
            content=content,
            kind=chance.choice([None, *Kind]),
            importance=chance.choice([None, round(chance.random(), 3)]),
            tags=chance.choice([None, tuple(chance.sample(WORDS, 2))]),
            anchors=chance.choice([None, (), (Anchor(path=f"src/{chance.choice(WORDS)}.py", symbol="main"),)]),
            triggers=chance.choice([None, (), (chance.choice(WORDS),)]),
            procedure=chance.choice([None, Procedure(name="warm", steps=tuple(chance.sample(WORDS, 3)))]),
            valid_from=chance.choice([None, NOW - DAY]),
            valid_to=chance.choice([None, NOW + DAY]),
            clear=chance.choice([(), ("season",)]),
        )
        return Revise(id=number, edit=edit, provenance=chance.choice([None, STEP]))

    def exchange(self) -> list[Change]:
        """Two memories swap what they say, or one leaves and the other says it from then on."""
        one, two = self.chance.sample(self.numbers, 2)
        said, says = self.said[one], self.said[two]
        if self.chance.random() < 0.5:
            wanted: list[tuple[MemoryId, str, Status]] = [(one, said, Status.ARCHIVED), (two, said, self.status[two])]
        else:
            between = f"between {self.chance.random()}"
            wanted = [(one, between, self.status[one]), (two, said, self.status[two]), (one, says, self.status[one])]
        changes: list[Change] = []
        for number, content, status in wanted:
            before = self.said[number]
            if not self.settle(number, content, status):
                break
            same = content == before
            changes.append(Mark(id=number, status=status) if same else Revise(id=number, edit=Edit(content=content)))
        return changes

    def weigh(self) -> Change:
        """Other signals."""
        chance = self.chance
        signals = Signals(
            importance=round(chance.uniform(-1, 1), 3),
            confidence=round(chance.uniform(-1, 1), 3),
            strength=chance.randint(-3, 3),
            score=chance.randint(-9, 9),
            access=chance.randint(-3, 3),
            hit=chance.random() < 0.5,
            confirm=chance.random() < 0.5,
        )
        return Weigh(id=chance.choice(self.numbers), signals=signals, action=chance.choice(["weigh", "demote"]))

    def mark(self) -> Change:
        """Another status, or none where its place is taken."""
        number, status = self.chance.choice(self.numbers), self.chance.choice(list(Status))
        if not self.settle(number, self.said[number], status):
            status = Status.ARCHIVED
            self.settle(number, self.said[number], status)
        by = self.chance.choice([None, *self.uids]) if status is Status.SUPERSEDED else None
        return Mark(id=number, status=status, superseded_by=by)

    def retag(self) -> Change:
        """Tags more and less."""
        more, less = (tuple(self.chance.sample(WORDS, self.chance.randint(0, 2))) for _ in range(2))
        return Retag(id=self.chance.choice(self.numbers), add=more, remove=less)

    def vouch(self) -> Change:
        """Somebody vouches for a memory."""
        return Vouch(id=self.chance.choice(self.numbers), trust=round(self.chance.random(), 3), provenance=STEP)

    def connect(self) -> Change:
        """A link, new or once more, with or without a past."""
        chance = self.chance
        one, two = chance.sample(self.numbers, 2)
        kind = chance.choice(sorted(BETWEEN_MEMORIES))
        self.links.add((one, kind, two))
        since = chance.choice([None, NOW - chance.randint(1, 99) * DAY])
        return Connect(link=Link(memory=one, kind=kind, target=two, weight=round(chance.random(), 3), created_at=since))

    def disconnect(self, removable: set[Edge]) -> Change:
        """One link less, if there is one."""
        left = sorted(removable & self.links)
        if not left:
            return self.connect()
        memory_id, kind, target = edge = self.chance.choice(left)
        self.links.remove(edge)
        return Disconnect(memory=memory_id, kind=kind, target=target)

    def define(self) -> Change:
        """Something new, something else, or nothing any more."""
        sort, name = named = self.chance.choice(SORTS), self.chance.choice(WORDS)
        if named in self.names and self.chance.random() < 0.4:
            self.names.remove(named)
            return Define(sort=sort, name=name)
        self.names.add(named)
        values: list[Json] = [[name], {"from": "12-01", "n": self.chance.random()}, "text", 0, False, 1.5, [[]]]
        return Define(sort=sort, name=name, value=self.chance.choice(values))

    def regroup(self) -> Change:
        """Other clusters: all of them, those from a number on, or some in between."""
        chance, most = self.chance, max(self.clusters, default=0)
        first = chance.randint(1, most + (4 if self.freedom.numbers else 1))
        last = chance.choice([None, chance.randint(first, first + 3)])
        beyond = {number for number in self.clusters if last is not None and number > last}
        room = min(beyond, default=first + 5) - first
        count = chance.randint(0, room) if self.freedom.numbers or not beyond else room
        kept = {number for number in self.clusters if number < first} | beyond
        self.clusters = kept | set(range(first, first + count))
        groups = tuple(
            (chance.choice(WORDS), tuple(chance.sample(self.numbers, chance.randint(0, 4)))) for _ in range(count)
        )
        return Regroup(clusters=groups, first=first, last=last)


def overgrown(store: Store, chance: random.Random) -> None:
    """About 25 memories with a past, tags, links, definitions and clusters, and some that have left."""
    for n in range(25):
        status = chance.choice([Status.CONFIRMED, Status.CONFIRMED, *Status])
        add(store, f"{chance.choice(WORDS)} number {n}", tags=(chance.choice(WORDS),), status=status, season="winter")
    sketch = Sketch(state_of(store), chance, Freedom())
    for _ in range(60):
        apply(store, sketch.change(set(sketch.links)), now=NOW + chance.randint(-5, 5) * HOUR)


@contextmanager
def telling(steps: list[Step]) -> Iterator[None]:
    """Say of a failure by which plan it came about."""
    try:
        yield
    except (AssertionError, RecollectError) as error:
        error.add_note("The plan:")
        for number, each in enumerate(steps, start=1):
            error.add_note(f"step {number}, expecting {each.expects}:")
            for change in each.changes:
                error.add_note(f"    {change}")
        raise


def assert_alike(actual: dict[str, object], expected: dict[str, object]) -> None:
    """Two states of a store are the same; if not, say what differs and nothing else."""
    for name, before in expected.items():
        after = actual[name]
        if isinstance(before, tuple | list) and isinstance(after, tuple | list):
            gone, new = ([each for each in one if each not in two] for one, two in ((before, after), (after, before)))
            assert gone == new == [], f"of the {name}, these are gone: {gone}\nand these are new: {new}"
        assert after == before, f"{name} were {before}\nand are {after}"


def tend(store: Store, sketch: Sketch, *, in_order: bool = True, undo: bool = True) -> None:
    """Carry out one random plan step by step, and undo it, newest step first or in any order."""
    chance, steps = sketch.chance, list[Step]()
    plan = 0
    with telling(steps):
        for number in range(1, chance.randint(1, 6) + 1):
            steps.append(sketch.step(store))
            plan = outcome(store, Propose(sort="garden", steps=(steps[-1],), plan=plan or None)).plan or 0
            moment = NOW + chance.randint(-5, 50) * HOUR
            assert action(store, Perform(plan=plan, step=number), now=moment) == "perform"
        left = list(range(1, len(steps) + 1)) if undo else []
        while left:
            number = left[-1] if in_order else chance.choice(left)
            told = action(store, Revert(plan=plan, step=number), now=NOW + 60 * HOUR)
            assert told == "revert" or (told == "changed-since" and number != left[-1])
            left = [each for each in left if told != "revert" or each != number]
        if undo:
            assert_alike(state_of(store), sketch.state)


ORDINARY, WITHOUT_CLUSTERS = Freedom(), Freedom(clusters=False)
SHORT = Options(audit=Bound(max_entries=300, trim_to=100))


def tend_often(space: Store, seed: int, plans: int, freedom: Freedom, *, in_order: bool = True) -> None:
    """So many random plans in one store, and a few more that are left done, so that memories have a longer past."""
    chance = random.Random(seed)
    overgrown(space, chance)
    state = state_of(space)
    for turn in range(1, plans + 1):
        try:
            tend(space, Sketch(state, chance, freedom), in_order=in_order)
        except (AssertionError, RecollectError) as error:
            error.add_note(f"It was plan {turn} of seed {seed}.")
            raise
        if turn % max(10, plans // 10) == 0:
            tend(space, Sketch(state, chance, freedom), undo=False)
            assert_sound(space)
            state = state_of(space)
    assert_sound(space)


@pytest.mark.row("X4", "plan", "preimage", "undo")
@pytest.mark.row("J25", "undo")
@pytest.mark.parametrize(
    "engine, plans",
    [
        pytest.param(MEMORY, 1_000, id="memory"),
        pytest.param(SQLITE, 60, id="sqlite"),
        pytest.param(JSON, 25, id="json"),
    ],
)
def test_any_plan_is_undone_to_the_letter(open_space: OpenSpace, plans: int) -> None:
    """Whatever its steps did, undone newest first they leave every memory, past, link, definition and cluster alike."""
    tend_often(open_space("garden", SHORT), 1, plans, ORDINARY)


@pytest.mark.row("X4", "undo")
@pytest.mark.parametrize("engine", [MEMORY], ids=["memory"])
def test_the_steps_of_any_plan_are_undone_in_any_order(open_space: OpenSpace) -> None:
    """A step that a later one builds on waits for that one; in the end everything is as it was."""
    tend_often(open_space("garden", SHORT), 2, 150, WITHOUT_CLUSTERS, in_order=False)


@pytest.mark.row("X4", "undo")
@pytest.mark.parametrize("engine", [MEMORY], ids=["memory"])
@pytest.mark.parametrize(
    "freedom",
    [
        pytest.param(Freedom(words=True), id="words-change-hands"),
        pytest.param(Freedom(numbers=True), id="numbers-of-clusters-are-free"),
    ],
)
def test_any_plan_is_undone_whatever_it_does(open_space: OpenSpace, freedom: Freedom) -> None:
    """Words that change hands within a step, and clusters whose numbers have gaps, are put back like anything else."""
    tend_often(open_space("garden", SHORT), 3, 150, freedom)
