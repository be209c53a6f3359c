"""The contract of `Store`, one suite for every engine."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from store_kit import (
    AGAIN,
    DAY,
    HOUR,
    JSON,
    MEMORY,
    NOW,
    POSTINGS,
    SQLITE,
    Answer,
    Engine,
    OpenSpace,
    add,
    answer,
    apply,
    contents,
    everything,
    faults,
    file,
    filed,
    found,
    full_memory,
    held,
    memory,
    only,
    passage,
    said,
    uid,
)

from recollect.codec import canonical, encode
from recollect.errors import (
    BadFile,
    DuplicateMemory,
    InvalidFilter,
    InvalidInput,
    KeyReused,
    NotFound,
    RecollectError,
    StaleVersion,
    StoreError,
)
from recollect.model import (
    BETWEEN_MEMORIES,
    UNSAVED,
    Add,
    Anchor,
    Change,
    Clear,
    Condition,
    Connect,
    Corpus,
    Define,
    Disconnect,
    Drop,
    Edit,
    Feedback,
    File,
    Kind,
    Link,
    LinkKind,
    Mark,
    Memory,
    MemoryId,
    Notice,
    Op,
    Origin,
    Passage,
    Perform,
    Procedure,
    Propose,
    Provenance,
    Put,
    Rate,
    Refuse,
    Regroup,
    Reinforcement,
    Retag,
    Revise,
    Scope,
    Sight,
    Signals,
    Source,
    Status,
    Step,
    StepState,
    Tag,
    Together,
    Uid,
    Unfile,
    Version,
    Vouch,
    Weigh,
)
from recollect.policy.identity import content_hash, fingerprint, state_hash
from recollect.policy.query import parse_order, parse_where
from recollect.store import Bound, Options, Store

CASES = [
    pytest.param(MEMORY, id="memory", marks=pytest.mark.row("E2")),
    pytest.param(SQLITE, id="sqlite", marks=pytest.mark.row("E9", "sqlite")),
    pytest.param(JSON, id="json", marks=pytest.mark.row("E9", "json")),
]
pytestmark = pytest.mark.parametrize("engine", CASES)

NO_SUCH_IDS = [0, -1, 999, 2**63 - 1, 2**63, 10**30, -(10**30)]
SAID = Provenance(origin=Origin.USER_STATED, at=NOW, reason="said so")
NOTHING = Step(sort="tidy", key="k", why="to see", changes=())
"""A step that changes nothing."""


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


# --- Adding ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("E1", "add", "get")
def test_an_added_memory_is_there_as_it_was_given(store: Store) -> None:
    """Adding gives an id and changes nothing else."""
    fresh = memory("Deploys happen on Tuesdays")
    receipt = apply(store, Add(memory=fresh, on_duplicate=AGAIN))
    stored = only(receipt)
    assert receipt.outcomes[0].action == "add"
    assert not receipt.replayed
    assert stored.id > 0
    assert stored == replace(fresh, id=stored.id)
    assert store.get(stored.id) == store.by_uid(fresh.uid) == stored
    assert store.query() == (stored,)


def test_each_memory_gets_an_id_of_its_own(store: Store) -> None:
    """Ids are given in order, and the id an added memory claims is not taken."""
    first = add(store, "one")
    second = add(store, "two", id=MemoryId(first.id))
    third = add(store, "three", id=MemoryId(700))
    assert first.id < second.id < third.id < 700


@pytest.mark.row("P15", "fingerprint", "boost")
def test_the_same_words_again_strengthen_what_is_there(store: Store) -> None:
    """An exact duplicate, after normalising, adds nothing but importance, an access and a breadcrumb."""
    first = add(store, "Deploys happen on Tuesdays", importance=0.5)
    again = memory("  deploys HAPPEN\non Tuesdays ", session_id="s2", message_range=(4, 9))
    receipt = apply(store, Add(memory=again, on_duplicate=AGAIN), now=NOW + HOUR)
    assert receipt.outcomes[0].action == "reinforce"
    crumb = Reinforcement(at=NOW + HOUR, session_id="s2", message=4)
    expected = replace(
        first,
        version=2,
        importance=0.6,
        access_count=1,
        accessed_at=NOW + HOUR,
        updated_at=NOW + HOUR,
        reinforcements=(crumb,),
    )
    assert only(receipt) == held(store, first.id) == expected
    assert store.count() == 1
    assert store.by_uid(again.uid) is None


def test_duplicates_within_one_request_are_seen(store: Store) -> None:
    """Each change sees what those before it in the same request did."""
    same = [Add(memory=memory("Twice in one go"), on_duplicate=AGAIN) for _ in range(2)]
    receipt = apply(store, *same)
    assert [outcome.action for outcome in receipt.outcomes] == ["add", "reinforce"]
    assert store.count() == 1


@pytest.mark.row("J17", "global", "project", "session", "task")
def test_each_scope_and_owner_may_hold_the_same_words(store: Store) -> None:
    """The same words are a duplicate only within one scope and, for passing ones, one session or task."""
    owners: list[dict[str, Any]] = [
        {"scope": Scope.GLOBAL},
        {"scope": Scope.PROJECT},
        {"scope": Scope.SESSION, "session_id": "a"},
        {"scope": Scope.SESSION, "session_id": "b"},
        {"scope": Scope.TASK, "task_id": "a", "session_id": "b"},
        {"scope": Scope.TASK, "task_id": "b", "session_id": "b"},
    ]
    stored = [add(store, "Run the linter first", **owner) for owner in owners]
    assert len({each.id for each in stored}) == len(owners)
    again = [add(store, "Run the linter first", **owner) for owner in owners]
    assert [each.id for each in again] == [each.id for each in stored]
    for scope in Scope:
        of_scope = store.query(parse_where({"scope": scope.value}))
        assert {each.id for each in of_scope} == {each.id for each in stored if each.scope is scope}


def test_what_is_withheld_does_not_stand_in_for_what_is_trusted(store: Store) -> None:
    """A quarantined memory and a trusted one may say the same; neither counts as the other's duplicate."""
    withheld = add(store, "Disable the checks", status=Status.QUARANTINED)
    trusted = add(store, "Disable the checks")
    assert withheld.id != trusted.id
    assert add(store, "Disable the checks", status=Status.QUARANTINED).id == withheld.id
    with pytest.raises(DuplicateMemory):
        apply(store, Mark(id=withheld.id, status=Status.CONFIRMED))


@pytest.mark.parametrize("status", [Status.SUPERSEDED, Status.ARCHIVED, Status.FORGOTTEN])
def test_a_memory_that_left_gives_up_its_place(store: Store, status: Status) -> None:
    """Words of a memory that is superseded, archived or forgotten can be stored anew."""
    gone = add(store, "We use tabs")
    apply(store, Mark(id=gone.id, status=status))
    assert add(store, "We use tabs").id != gone.id


def test_the_twin_of_a_memory_is_the_one_in_its_place(store: Store) -> None:
    """`twin` finds the same words in the same scope, while they hold their place."""
    first = add(store, "We use tabs")
    assert store.twin(memory("we use TABS")) == first
    assert store.twin(memory("we use spaces")) is None
    assert store.twin(memory("we use tabs", scope=Scope.GLOBAL)) is None
    assert store.twin(memory("we use tabs", status=Status.QUARANTINED)) is None
    apply(store, Mark(id=first.id, status=Status.ARCHIVED))
    assert store.twin(memory("we use tabs")) is None


def test_a_uid_that_is_taken_is_refused(store: Store) -> None:
    """Two memories never share a uid; the second is refused in the product's words."""
    first = add(store, "one")
    with pytest.raises(RecollectError):
        add(store, "two", uid=first.uid)
    assert store.query() == (first,)


# --- Revising, weighing, marking, tagging, rating --------------------------------------------------------------------


@pytest.mark.row("K5", "keeps-score", "refreshes-hit")
def test_an_update_keeps_the_score_and_refreshes_the_hit(store: Store) -> None:
    """Correcting a memory keeps what it earned, and now is its last hit."""
    first = add(store, "Port is 8080", score=6, strength=3, access_count=4, last_hit_at=NOW - 90 * DAY)
    step = Provenance(origin=Origin.USER_CORRECTED, at=NOW + HOUR, reason="moved")
    change = Revise(id=first.id, edit=Edit(content="Port is 9090"), provenance=step)
    after = only(apply(store, change, now=NOW + HOUR))
    assert held(store, first.id) == after
    assert (after.id, after.uid, after.score, after.strength, after.access_count) == (first.id, first.uid, 6, 3, 4)
    assert after.last_hit_at == after.updated_at == after.confirmed_at == NOW + HOUR
    assert after.provenance == (*first.provenance, step)
    assert after.version == 2
    assert after.content == "Port is 9090"
    assert (after.fingerprint, after.content_hash) == (fingerprint(after.content), content_hash(after.content))


def test_an_update_changes_what_it_names_and_nothing_else(store: Store) -> None:
    """Fields that an edit leaves out stay; `clear` empties those it names."""
    first = add(store, "Warm the cache", season="release", valid_to=NOW + DAY, tags=("cache",), triggers=("warm",))
    edit = Edit(
        kind=Kind.PROCEDURE,
        importance=0.9,
        anchors=(Anchor(path="src/cache.py"),),
        procedure=Procedure(name="warm"),
        valid_from=NOW,
        clear=("season", "valid_to"),
    )
    after = only(apply(store, Revise(id=first.id, edit=edit), now=NOW + HOUR))
    expected = replace(
        first,
        version=2,
        updated_at=NOW + HOUR,
        last_hit_at=NOW + HOUR,
        kind=Kind.PROCEDURE,
        importance=0.9,
        anchors=(Anchor(path="src/cache.py"),),
        procedure=Procedure(name="warm"),
        valid_from=NOW,
        season=None,
        valid_to=None,
    )
    assert after == held(store, first.id) == expected


def test_an_update_is_found_by_its_new_words_only(store: Store) -> None:
    """The index follows the content, tags and files of an edit."""
    first = add(store, "Old parrot", tags=("norwegian",), anchors=(Anchor(path="fjord.txt"),))
    edit = Edit(content="New llama", tags=("ecuadorian",), anchors=(Anchor(path="volcano.txt"),))
    apply(store, Revise(id=first.id, edit=edit))
    for word in ("llama", "ecuadorian", "volcano"):
        assert found(store, word) == ["New llama"], word
    for word in ("parrot", "norwegian", "fjord"):
        assert found(store, word) == [], word
    assert store.count(parse_where({"tags": "norwegian"})) == store.count(parse_where({"files": "fjord.txt"})) == 0


def test_an_update_of_the_version_that_was_read_succeeds(store: Store) -> None:
    """An expected version that is still the present one lets the update through."""
    first = add(store, "one")
    after = only(apply(store, Revise(id=first.id, edit=Edit(importance=0.1), expected_version=1)))
    assert after.version == 2


def test_an_update_of_an_outdated_version_is_refused(store: Store) -> None:
    """Somebody else's change is not overwritten, and the error says which versions met."""
    first = add(store, "one")
    newer = only(apply(store, Revise(id=first.id, edit=Edit(importance=0.1))))
    with pytest.raises(StaleVersion) as caught:
        apply(store, Revise(id=first.id, edit=Edit(content="two"), expected_version=1))
    assert (caught.value.expected, caught.value.actual) == (1, 2)
    assert held(store, first.id) == newer


def test_an_update_cannot_make_a_duplicate(store: Store) -> None:
    """Taking over another memory's words is refused and names the other one."""
    one, two = add(store, "one"), add(store, "two")
    with pytest.raises(DuplicateMemory) as caught:
        apply(store, Revise(id=two.id, edit=Edit(content="ONE")))
    assert caught.value.existing == one.ref
    assert held(store, two.id) == two


@pytest.mark.parametrize(
    "given, signals, expected",
    [
        pytest.param({"importance": 0.95}, Signals(importance=0.1), {"importance": 1.0}, id="importance-top"),
        pytest.param({"importance": 0.05}, Signals(importance=-0.1), {"importance": 0.0}, id="importance-bottom"),
        pytest.param({"importance": 0.1}, Signals(importance=0.2), {"importance": 0.3}, id="importance-exact"),
        pytest.param({"confidence": 1.0}, Signals(confidence=0.05), {"confidence": 1.0}, id="confidence-top"),
        pytest.param({"confidence": 0.05}, Signals(confidence=-0.1), {"confidence": 0.0}, id="confidence-bottom"),
        pytest.param({"strength": 1}, Signals(strength=-5), {"strength": 0}, id="strength-bottom"),
        pytest.param({"strength": 10**9}, Signals(strength=1), {"strength": 10**9}, id="strength-top"),
        pytest.param({"score": 2}, Signals(score=3), {"score": 5}, id="score-up"),
        pytest.param({"score": -(10**9)}, Signals(score=-1), {"score": -(10**9)}, id="score-bottom"),
        pytest.param({"score": 10**9}, Signals(score=10**18), {"score": 10**9}, id="score-top"),
        pytest.param({"access_count": 0}, Signals(access=-1), {"access_count": 0, "accessed_at": NOW}, id="access"),
        pytest.param({}, Signals(hit=True), {"last_hit_at": NOW}, id="hit"),
        pytest.param({}, Signals(confirm=True), {"confirmed_at": NOW}, id="confirm"),
    ],
)
def test_signals_stay_within_their_bounds(
    store: Store, given: dict[str, Any], signals: Signals, expected: dict[str, Any]
) -> None:
    """Weighing adds amounts, and no signal leaves its range."""
    first = add(store, "one", **given)
    after = only(apply(store, Weigh(id=first.id, signals=signals, action="reinforce")))
    assert after == held(store, first.id) == replace(first, version=2, **expected)


@pytest.mark.parametrize(
    "before, after, action",
    [
        (Status.CONFIRMED, Status.PINNED, "pin"),
        (Status.PINNED, Status.CONFIRMED, "unpin"),
        (Status.CANDIDATE, Status.CONFIRMED, "promote"),
        (Status.CONFIRMED, Status.CANDIDATE, "demote-to-candidate"),
        (Status.CONFIRMED, Status.ARCHIVED, "evict"),
        (Status.CONFIRMED, Status.SUPERSEDED, "supersede"),
        (Status.CONFIRMED, Status.QUARANTINED, "quarantine"),
        (Status.CONFIRMED, Status.FORGOTTEN, "remove"),
        (Status.FORGOTTEN, Status.CONFIRMED, "restore"),
        (Status.FORGOTTEN, Status.PINNED, "restore"),
    ],
)
def test_marking_moves_a_memory_to_another_status(store: Store, before: Status, after: Status, action: str) -> None:
    """Each status is reached by the audit's own word for it, and nothing else changes."""
    first = add(store, "one", status=before)
    receipt = apply(store, Mark(id=first.id, status=after), now=NOW + HOUR)
    assert receipt.outcomes[0].action == action
    vouched = NOW + HOUR if before is Status.FORGOTTEN else first.confirmed_at
    expected = replace(first, status=after, version=2, updated_at=NOW + HOUR, confirmed_at=vouched)
    assert held(store, first.id) == expected


def test_a_superseded_memory_knows_by_what(store: Store) -> None:
    """What superseded a memory is kept while it is superseded, and gone when it is restored."""
    old, new = add(store, "old"), add(store, "new")
    apply(store, Mark(id=old.id, status=Status.SUPERSEDED, superseded_by=new.uid))
    assert held(store, old.id).superseded_by == new.uid
    apply(store, Mark(id=old.id, status=Status.CONFIRMED))
    assert held(store, old.id).superseded_by is None


def test_marking_with_the_status_it_has_changes_nothing(store: Store) -> None:
    """A mark that is already there makes no version and no audit entry."""
    first = add(store, "one", status=Status.PINNED)
    before = everything(store)
    assert apply(store, Mark(id=first.id, status=Status.PINNED)).outcomes[0].action == "unchanged"
    assert everything(store) == before


@pytest.mark.row("E1", "delete")
def test_a_forgotten_memory_is_out_of_sight_and_comes_back_whole(store: Store) -> None:
    """Forgetting takes a memory out of search, links and tags; restoring brings all of it back."""
    first = add(store, "Secret garden", tags=("roses",), anchors=(Anchor(path="garden.txt"),))
    other = add(store, "Another garden")
    apply(store, Connect(link=Link(memory=other.id, kind=LinkKind.RELATES_TO, target=first.id, weight=0.5)))
    links = store.links()
    apply(store, Mark(id=first.id, status=Status.FORGOTTEN))
    assert found(store, "secret garden roses") == ["Another garden"]
    assert store.links(other.id) == ()
    assert store.tags() == ()
    assert held(store, first.id).status is Status.FORGOTTEN
    apply(store, Mark(id=first.id, status=Status.CONFIRMED))
    assert found(store, "secret garden")[0] == "Secret garden"
    assert contents(store.query(parse_where({"tags": "roses", "files": "garden.txt"}))) == ["Secret garden"]
    assert store.links() == links


def test_restoring_a_memory_whose_words_were_stored_again_is_refused(store: Store) -> None:
    """A restored memory does not become somebody's twin."""
    first = add(store, "one")
    apply(store, Mark(id=first.id, status=Status.FORGOTTEN))
    again = add(store, "one")
    with pytest.raises(DuplicateMemory) as caught:
        apply(store, Mark(id=first.id, status=Status.CONFIRMED))
    assert caught.value.existing == again.ref
    assert held(store, first.id).status is Status.FORGOTTEN


def test_retagging_adds_and_removes_and_leaves_the_rest(store: Store) -> None:
    """Tags keep their order, come once each, and a change of none is no change."""
    first = add(store, "one", tags=("a", "b", "c"))
    after = only(apply(store, Retag(id=first.id, add=("d", "a"), remove=("b", "z")), now=NOW + HOUR))
    assert after == held(store, first.id) == replace(first, tags=("a", "c", "d"), version=2, updated_at=NOW + HOUR)
    before = everything(store)
    assert apply(store, Retag(id=first.id, add=("a",), remove=("b",))).outcomes[0].action == "unchanged"
    assert everything(store) == before


@pytest.mark.row("J14", "helpful")
def test_a_helpful_verdict_is_kept_and_strengthens(store: Store) -> None:
    """A verdict is recorded with who gave it, and its signals are added."""
    first = add(store, "one", confidence=0.5)
    signals = Signals(strength=1, confidence=0.05, access=1)
    change = Rate(id=first.id, helpful=True, signals=signals, note="saved an hour")
    after = only(apply(store, change, actor="ada", now=NOW + HOUR))
    assert (after.strength, after.confidence, after.access_count) == (2, 0.55, 1)
    verdict = Feedback(uid=first.uid, helpful=True, at=NOW + HOUR, actor="ada", note="saved an hour")
    assert store.feedback(first.uid) == store.feedback() == (verdict,)


@pytest.mark.row("J14", "unhelpful")
def test_an_unhelpful_verdict_weakens_down_to_nothing(store: Store) -> None:
    """Confidence falls by a tenth each time and never below nothing."""
    first = add(store, "one", confidence=0.15)
    for hour in range(3):
        change = Rate(id=first.id, helpful=False, signals=Signals(confidence=-0.1))
        apply(store, change, now=NOW + hour * HOUR)
    after = held(store, first.id)
    assert (after.confidence, after.strength) == (0.0, 1)
    assert [verdict.helpful for verdict in store.feedback()] == [False] * 3


def test_verdicts_are_told_apart_by_memory(store: Store) -> None:
    """Feedback is given for one memory or for all, oldest first."""
    one, two = add(store, "one"), add(store, "two")
    for hour, each in enumerate((one, two, one)):
        apply(store, Rate(id=each.id, helpful=hour != 1, signals=Signals()), now=NOW + hour * HOUR)
    assert [verdict.uid for verdict in store.feedback()] == [one.uid, two.uid, one.uid]
    assert [verdict.at for verdict in store.feedback(one.uid)] == [NOW, NOW + 2 * HOUR]
    assert store.feedback(Uid("nobody")) == ()


CHANGES_OF_ONE: list[Callable[[MemoryId], Change]] = [
    lambda number: Revise(id=number, edit=Edit(importance=0.1)),
    lambda number: Weigh(id=number, signals=Signals(score=1)),
    lambda number: Mark(id=number, status=Status.PINNED),
    lambda number: Retag(id=number, add=("x",)),
    lambda number: Vouch(id=number, trust=0.5, provenance=SAID),
    lambda number: Rate(id=number, helpful=True, signals=Signals()),
    lambda number: Connect(link=Link(memory=number, kind=LinkKind.RELATES_TO, target=MemoryId(1))),
    lambda number: Connect(link=Link(memory=MemoryId(1), kind=LinkKind.RELATES_TO, target=number)),
    lambda number: Disconnect(memory=number, kind=LinkKind.RELATES_TO, target=MemoryId(1)),
]


@pytest.mark.parametrize("number", NO_SUCH_IDS)
def test_changing_a_memory_that_is_not_there_is_refused(store: Store, number: int) -> None:
    """Every change says that there is no such memory, whatever number is asked for."""
    add(store, "one")
    before = everything(store)
    for change in CHANGES_OF_ONE:
        with pytest.raises(NotFound):
            apply(store, change(MemoryId(number)))
    assert everything(store) == before


# --- The graph -------------------------------------------------------------------------------------------------------


@pytest.mark.row("J3", "relates-to", "supersedes", "contradicts", "derived-from")
@pytest.mark.parametrize("kind", sorted(BETWEEN_MEMORIES))
def test_memories_are_linked_and_unlinked(store: Store, kind: LinkKind) -> None:
    """A link of each kind between memories is seen from both ends until it is removed."""
    one, two, three = (add(store, name) for name in ("one", "two", "three"))
    made = Link(memory=one.id, kind=kind, target=two.id, weight=0.25, made_by="ada")
    receipt = apply(store, Connect(link=made), now=NOW + HOUR)
    assert receipt.outcomes[0].action == "link"
    expected = replace(made, created_at=NOW + HOUR, updated_at=NOW + HOUR)
    assert receipt.outcomes[0].link == expected
    assert store.links(one.id) == store.links(two.id) == store.links() == (expected,)
    assert store.links(three.id) == store.links(kinds=frozenset(LinkKind) - {kind}) == ()
    assert apply(store, Disconnect(memory=one.id, kind=kind, target=two.id)).outcomes[0].action == "unlink"
    assert store.links() == ()


@pytest.mark.row("J3", "has-tag", "in-cluster")
def test_tags_and_clusters_are_links_too(store: Store) -> None:
    """What follows from tags and clusters is read like the links that were made."""
    one, two = add(store, "one", tags=("x", "y")), add(store, "two", tags=("y",))
    apply(store, Regroup(clusters=(("first", (one.id, two.id)), ("second", (two.id,)))))
    tagged = store.links(kinds=frozenset({LinkKind.HAS_TAG}))
    assert {(link.memory, link.target) for link in tagged} == {(one.id, "x"), (one.id, "y"), (two.id, "y")}
    clusters = {cluster.label: cluster.id for cluster in store.clusters()}
    grouped = store.links(two.id, kinds=frozenset({LinkKind.IN_CLUSTER}))
    assert {link.target for link in grouped} == set(clusters.values())
    assert {link.kind for link in store.links(one.id)} == {LinkKind.HAS_TAG, LinkKind.IN_CLUSTER}


@pytest.mark.row("J2", "memory", "tag", "cluster")
def test_every_kind_of_node_is_looked_up_directly(store: Store) -> None:
    """A memory by its id, a tag by its name, a cluster by its number."""
    one, two = add(store, "one", tags=("x",)), add(store, "two", tags=("x", "y"))
    apply(store, Regroup(clusters=(("pair", (one.id, two.id)),)))
    [cluster] = store.clusters()
    assert store.get(one.id) == one
    assert set(store.query(parse_where({"tags": "x"}))) == {one, two}
    assert store.members(cluster.id) == (one, two)
    assert store.members(cluster.id + 1) == ()


def test_linking_again_gives_the_link_its_new_weight(store: Store) -> None:
    """A link is there once; made again, it keeps when and by whom it was made first."""
    one, two = add(store, "one"), add(store, "two")
    made = Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id, weight=0.25, made_by="ada")
    apply(store, Connect(link=made))
    apply(store, Connect(link=replace(made, weight=0.5, made_by="bob")), now=NOW + HOUR)
    assert store.links() == (replace(made, weight=0.5, created_at=NOW, updated_at=NOW + HOUR),)


def test_what_is_told_of_a_link_is_what_is_stored(store: Store) -> None:
    """The link in the receipt is the link that is then read, for a new weight too."""
    one, two = add(store, "one"), add(store, "two")
    made = Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id, weight=0.25, made_by="ada")
    for hour, weight in enumerate((0.25, 0.5)):
        receipt = apply(store, Connect(link=replace(made, weight=weight)), now=NOW + hour * HOUR)
        assert store.links() == (receipt.outcomes[0].link,)


def test_a_link_with_a_past_keeps_it(store: Store) -> None:
    """A link that says when it was made is stored so, as an import needs it."""
    one, two = add(store, "one"), add(store, "two")
    made = Link(
        memory=one.id, kind=LinkKind.SUPERSEDES, target=two.id, created_at=NOW - 9 * DAY, updated_at=NOW - 2 * DAY
    )
    apply(store, Connect(link=made))
    assert store.links() == (made,)


@pytest.mark.parametrize("kind", [LinkKind.HAS_TAG, LinkKind.IN_CLUSTER])
def test_links_that_follow_from_others_are_not_made_by_hand(store: Store, kind: LinkKind) -> None:
    """Tags and clusters have their own changes."""
    one, two = add(store, "one"), add(store, "two")
    for target in (two.id, "x"):
        with pytest.raises(InvalidInput):
            apply(store, Connect(link=Link(memory=one.id, kind=kind, target=target)))
    with pytest.raises(InvalidInput):
        apply(store, Connect(link=Link(memory=one.id, kind=LinkKind.RELATES_TO, target="two")))


def test_a_memory_is_not_linked_to_itself(store: Store) -> None:
    """A link needs two ends."""
    one = add(store, "one")
    with pytest.raises(InvalidInput):
        apply(store, Connect(link=Link(memory=one.id, kind=LinkKind.RELATES_TO, target=one.id)))


def test_removing_a_link_that_is_not_there_is_refused(store: Store) -> None:
    """There is nothing to remove, in that direction or of that kind."""
    one, two = add(store, "one"), add(store, "two")
    apply(store, Connect(link=Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id)))
    for memory_id, kind, target in (
        (two.id, LinkKind.RELATES_TO, one.id),
        (one.id, LinkKind.CONTRADICTS, two.id),
        (one.id, LinkKind.HAS_TAG, two.id),
    ):
        with pytest.raises(NotFound):
            apply(store, Disconnect(memory=memory_id, kind=kind, target=target))


def test_links_to_what_is_forgotten_are_shown_on_request_only(store: Store) -> None:
    """A link with a forgotten end is hidden, and not lost."""
    one, two = add(store, "one"), add(store, "two")
    made = Link(memory=one.id, kind=LinkKind.DERIVED_FROM, target=two.id)
    apply(store, Connect(link=made))
    apply(store, Regroup(clusters=(("pair", (one.id, two.id)),)))
    for forgotten in (one, two):
        apply(store, Mark(id=forgotten.id, status=Status.FORGOTTEN))
        assert store.links(kinds=BETWEEN_MEMORIES) == ()
        assert store.links(forgotten.id) == ()
        assert [link.kind for link in store.links(kinds=BETWEEN_MEMORIES, hidden=True)] == [LinkKind.DERIVED_FROM]
        apply(store, Mark(id=forgotten.id, status=Status.CONFIRMED))
    assert store.links(kinds=BETWEEN_MEMORIES) == (replace(made, created_at=NOW, updated_at=NOW),)


def test_tags_are_counted_over_live_memories(store: Store) -> None:
    """The tags come most used first, and only live memories count."""
    add(store, "one", tags=("b", "a"))
    add(store, "two", tags=("a",), status=Status.CANDIDATE)
    add(store, "three", tags=("a", "c"), status=Status.PINNED)
    for status in Status:
        if status not in (Status.CANDIDATE, Status.CONFIRMED, Status.PINNED):
            add(store, f"gone {status}", tags=("a", "gone"), status=status)
    assert store.tags() == (Tag(name="a", count=3), Tag(name="b", count=1), Tag(name="c", count=1))


def test_regrouping_replaces_all_clusters(store: Store) -> None:
    """The clusters are those of the last regrouping, largest first; ids that are not there are left out."""
    one, two, three = (add(store, name) for name in ("one", "two", "three"))
    apply(store, Regroup(clusters=(("old", (one.id,)),)))
    wanted = (("small", (one.id,)), ("large", (one.id, two.id, three.id, MemoryId(999))), ("empty", ()))
    assert apply(store, Regroup(clusters=wanted)).outcomes[0].action == "regroup"
    clusters = store.clusters()
    assert [(cluster.label, cluster.size) for cluster in clusters] == [("large", 3), ("small", 1), ("empty", 0)]
    assert [store.members(cluster.id) for cluster in clusters] == [(one, two, three), (one,), ()]
    apply(store, Regroup(clusters=()))
    assert store.clusters() == ()


def test_a_cluster_is_as_large_as_its_members(store: Store) -> None:
    """A forgotten memory counts neither among the members nor in the size, until it is restored."""
    one, two = add(store, "one"), add(store, "two")
    apply(store, Regroup(clusters=(("pair", (one.id, two.id)),)))
    apply(store, Mark(id=one.id, status=Status.FORGOTTEN))
    [cluster] = store.clusters()
    assert contents(store.members(cluster.id)) == ["two"]
    assert cluster.size == 1
    apply(store, Mark(id=one.id, status=Status.CONFIRMED))
    assert store.clusters()[0].size == len(store.members(cluster.id)) == 2


@pytest.mark.row("J2", "tag", "cluster")
def test_a_group_is_live_and_its_newest_come_first(store: Store) -> None:
    """The members of a tag or cluster are given by their ids, so many of them, and only those that are live."""
    stored = [add(store, f"{status} {n}", tags=("x",), status=status) for n in range(2) for status in Status]
    add(store, "of another tag", tags=("xx", "y"))
    apply(store, Regroup(clusters=(("all", tuple(each.id for each in stored)), ("none", ()))))
    live = [each.id for each in reversed(stored) if each.active]
    clusters = {cluster.label: MemoryId(cluster.id) for cluster in store.clusters()}
    for kind, name in ((LinkKind.HAS_TAG, "x"), (LinkKind.IN_CLUSTER, clusters["all"])):
        assert list(store.group(kind, name, limit=99)) == live
        assert list(store.group(kind, name, limit=2)) == live[:2]
        assert store.group(kind, name, limit=0) == ()
    assert store.group(LinkKind.HAS_TAG, "unheard", limit=9) == ()
    assert store.group(LinkKind.IN_CLUSTER, clusters["none"], limit=9) == ()


@pytest.mark.parametrize("kind", sorted(BETWEEN_MEMORIES))
def test_a_link_between_memories_makes_no_group(store: Store, kind: LinkKind) -> None:
    """Only tags and clusters have members."""
    with pytest.raises(InvalidInput):
        store.group(kind, MemoryId(1), limit=9)


def test_the_links_of_many_memories_are_read_at_once(store: Store) -> None:
    """Those that touch any of them, heaviest first, each once; of the kinds asked for, and with no end forgotten."""
    one, two, three, four = (add(store, name) for name in ("one", "two", "three", "four"))
    for memory_id, kind, target, weight in (
        (one.id, LinkKind.RELATES_TO, two.id, 0.2),
        (two.id, LinkKind.CONTRADICTS, three.id, 0.9),
        (three.id, LinkKind.RELATES_TO, one.id, 0.5),
        (three.id, LinkKind.RELATES_TO, four.id, 0.7),
    ):
        apply(store, Connect(link=Link(memory=memory_id, kind=kind, target=target, weight=weight)))

    def weights(*memories: Memory, kinds: frozenset[LinkKind] = BETWEEN_MEMORIES, limit: int = 9) -> list[float]:
        links = store.links_of([each.id for each in memories], kinds=kinds, limit=limit)
        assert set(links) <= set(store.links(kinds=kinds))
        return [link.weight for link in links]

    assert weights(one, two) == [0.9, 0.5, 0.2]
    assert weights(one, one, two, three, four) == [0.9, 0.7, 0.5, 0.2]
    assert weights(one, two, limit=2) == [0.9, 0.5]
    assert weights(one, two, kinds=frozenset({LinkKind.CONTRADICTS})) == [0.9]
    assert weights(one, two, kinds=frozenset()) == weights() == weights(one, limit=0) == []
    apply(store, Mark(id=three.id, status=Status.FORGOTTEN))
    assert weights(one, two, three) == [0.2]


def test_a_member_named_twice_is_a_member_once(store: Store) -> None:
    """A cluster is a set, however its members are written down."""
    one = add(store, "one")
    apply(store, Regroup(clusters=(("twice", (one.id, one.id)),)))
    assert store.members(store.clusters()[0].id) == (one,)


# --- Putting, clearing -----------------------------------------------------------------------------------------------


def test_a_memory_that_is_put_keeps_its_id_and_its_past(store: Store) -> None:
    """Putting a memory that is not there brings it with id, version, history and verdicts."""
    wanted = full_memory(status=Status.PINNED)
    earlier = replace(wanted, version=2, importance=0.25, updated_at=NOW - 5 * DAY)
    past = Version(memory=earlier, recorded_from=NOW - 5 * DAY, recorded_to=wanted.updated_at)
    verdict = Feedback(uid=wanted.uid, helpful=True, at=NOW - DAY, actor="ada", note="good")
    receipt = apply(store, Put(memory=wanted, history=(past,), feedback=(verdict,)))
    assert receipt.outcomes[0].action == "put"
    assert only(receipt) == held(store, wanted.id) == wanted
    assert store.history(wanted.id) == (past,)
    assert store.feedback() == (verdict,)
    assert found(store, "warm the cache") == [wanted.content]


def test_a_memory_that_is_put_without_an_id_gets_one(store: Store) -> None:
    """An unsaved memory is stored under the next id."""
    wanted = memory("one")
    assert wanted.id == UNSAVED
    stored = only(apply(store, Put(memory=wanted)))
    assert stored.id > 0
    assert held(store, stored.id) == replace(wanted, id=stored.id)


def test_a_memory_that_is_put_under_a_taken_id_gets_another(store: Store) -> None:
    """Nobody's id is taken away, and the past comes along under the new one."""
    there = add(store, "one")
    wanted = memory("two", id=there.id, version=2)
    past = Version(memory=replace(wanted, version=1), recorded_from=NOW - DAY, recorded_to=NOW)
    stored = only(apply(store, Put(memory=wanted, history=(past,))))
    assert stored.id != there.id
    assert held(store, there.id) == there
    assert store.by_uid(wanted.uid) == stored == replace(wanted, id=stored.id)
    assert [version.memory.version for version in store.history(stored.id)] == [1]
    assert store.history(there.id) == ()


def test_the_past_of_a_memory_carries_the_id_it_has_here(store: Store) -> None:
    """Whoever follows an earlier version by its id comes back to the same memory."""
    there = add(store, "one")
    wanted = memory("two", id=there.id, version=2)
    past = Version(memory=replace(wanted, version=1), recorded_from=NOW - DAY, recorded_to=NOW)
    stored = only(apply(store, Put(memory=wanted, history=(past,))))
    assert [version.memory.id for version in store.history(stored.id)] == [stored.id]


@pytest.mark.parametrize("number", [-5, 2**63 - 1, 2**63, 10**30], ids=["negative", "largest", "too-large", "huge"])
def test_an_id_that_cannot_be_kept_does_no_harm(store: Store, number: int) -> None:
    """A memory that claims an impossible id is refused or gets another; afterwards adding works as before."""
    try:
        stored = only(apply(store, Put(memory=memory("strange", id=MemoryId(number)))))
    except RecollectError:
        assert store.count() == 0
    else:
        assert store.get(stored.id) == stored
    assert add(store, "ordinary").id > 0


def test_putting_over_a_memory_keeps_what_was_there_as_a_version(store: Store) -> None:
    """The memory is known by its uid, keeps its id, and loses nothing of its past."""
    there = add(store, "one", score=4)
    wanted = replace(there, id=MemoryId(900), content="two", fingerprint=fingerprint("two"), version=1, score=1)
    wanted = replace(wanted, content_hash=content_hash("two"))
    receipt = apply(store, Put(memory=wanted), now=NOW + HOUR)
    after = only(receipt)
    assert (after.id, after.uid, after.version) == (there.id, there.uid, 2)
    assert (after.content, after.score) == ("two", 1)
    assert store.get(there.id) == after
    [past] = store.history(there.id)
    assert past.memory == there
    assert found(store, "two") == ["two"]
    assert found(store, "one") == []


def test_putting_the_same_again_changes_nothing(store: Store) -> None:
    """Importing twice is importing once."""
    wanted = full_memory(status=Status.PINNED)
    verdict = Feedback(uid=wanted.uid, helpful=False, at=NOW, actor="ada")
    change = Put(memory=wanted, feedback=(verdict,))
    apply(store, change)
    before = everything(store)
    assert apply(store, change, now=NOW + HOUR).outcomes[0].action == "unchanged"
    assert everything(store) == before


def test_an_earlier_state_is_put_back(store: Store) -> None:
    """Undoing is putting: the content is the earlier one, and what was undone is in the history."""
    first = add(store, "one", importance=0.5)
    changed = only(apply(store, Revise(id=first.id, edit=Edit(content="two", importance=0.9)), now=NOW + HOUR))
    [past] = store.history(first.id)
    back = only(apply(store, Put(memory=past.memory), now=NOW + 2 * HOUR))
    assert (back.content, back.importance, back.version) == ("one", 0.5, 3)
    assert [version.memory for version in store.history(first.id)] == [first, changed]


def test_putting_words_that_somebody_else_has_is_refused(store: Store) -> None:
    """An import cannot make a duplicate of what is live; what is not live may say the same."""
    add(store, "one")
    with pytest.raises(DuplicateMemory):
        apply(store, Put(memory=memory("ONE")))
    two = add(store, "two")
    with pytest.raises(DuplicateMemory):
        apply(store, Put(memory=replace(two, content="one", fingerprint=fingerprint("one"))))
    only(apply(store, Put(memory=memory("ONE", status=Status.ARCHIVED))))
    assert sorted(contents(store.query())) == ["ONE", "one", "two"]


def test_lists_that_name_a_thing_twice_can_be_put(store: Store) -> None:
    """A file may hold a memory whose tags or paths repeat; it is stored or refused in the product's words."""
    wanted = memory("one", tags=("x", "x"), anchors=(Anchor(path="a"), Anchor(path="a", symbol="f")))
    try:
        apply(store, Put(memory=wanted))
    except RecollectError:
        assert store.count() == 0
    else:
        assert store.tags() == (Tag(name="x", count=1),)
        assert store.count(parse_where({"files": "a"})) == 1
    assert faults(store) == []


@pytest.mark.row("E1", "clear")
def test_clearing_forgets_every_memory_restorably(store: Store) -> None:
    """Afterwards nothing is found, whatever its status was, and each memory can be restored."""
    stored = [add(store, f"memory {status}", status=status) for status in Status]
    assert apply(store, Clear(), now=NOW + HOUR).outcomes[0].action == "clear"
    assert found(store, "memory") == []
    assert store.count(parse_where({"status": {"$ne": "forgotten"}})) == 0
    assert store.count() == len(stored)
    for each in stored:
        if each.status is not Status.FORGOTTEN:
            apply(store, Mark(id=each.id, status=each.status))
            assert replace(held(store, each.id), version=1, updated_at=NOW, confirmed_at=each.confirmed_at) == each
    assert faults(store) == []


# --- All or nothing, and once only -----------------------------------------------------------------------------------

FAILING: list[Any] = [
    pytest.param(Weigh(id=MemoryId(999), signals=Signals()), NotFound, id="not-found"),
    pytest.param(Revise(id=MemoryId(1), edit=Edit(), expected_version=7), StaleVersion, id="stale"),
    pytest.param(Revise(id=MemoryId(1), edit=Edit(content="two")), DuplicateMemory, id="duplicate"),
    pytest.param(Put(memory=memory("two")), DuplicateMemory, id="twin"),
    pytest.param(Connect(link=Link(memory=MemoryId(1), kind=LinkKind.HAS_TAG, target="x")), InvalidInput, id="has-tag"),
    pytest.param(Disconnect(memory=MemoryId(1), kind=LinkKind.CONTRADICTS, target=MemoryId(2)), NotFound, id="no-link"),
    pytest.param(File(passages=(passage("one", corpus=Corpus.MEMORY),)), InvalidInput, id="a-memory-to-file"),
    pytest.param(Define(sort="alias", name="unknown"), NotFound, id="no-definition"),
    pytest.param(Perform(plan=1, step=9), NotFound, id="no-step"),
    pytest.param(Propose(sort="x", steps=(replace(NOTHING, changes=(Clear(),)),)), InvalidInput, id="no-way-back"),
]


@pytest.mark.row("P20", "same-transaction")
@pytest.mark.parametrize("failing, error", FAILING)
def test_a_request_is_carried_out_whole_or_not_at_all(
    store: Store, failing: Change, error: type[RecollectError]
) -> None:
    """When a later change fails, nothing of the earlier ones stays: no row, no index entry, no audit entry."""
    one, two = add(store, "one"), add(store, "two", tags=("x",))
    apply(store, Connect(link=Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id)))
    file(store, *(passage(f"kept {n}", document="kept", position=n) for n in range(3)))
    before = everything(store)
    changes: list[Change] = [
        Add(memory=memory("unheard of"), on_duplicate=AGAIN),
        Put(memory=memory("never seen", id=MemoryId(50))),
        Weigh(id=one.id, signals=Signals(score=3)),
        Retag(id=two.id, add=("y",)),
        Rate(id=one.id, helpful=True, signals=Signals(strength=1)),
        Mark(id=two.id, status=Status.PINNED),
        Disconnect(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id),
        Regroup(clusters=(("all", (one.id, two.id)),)),
        File(passages=(passage("unheard"), passage("never", position=1))),
        Unfile(corpus=Corpus.SESSIONS, document="kept", start=1),
        Define(sort="alias", name="k8s", value=["kubernetes"]),
        Vouch(id=one.id, trust=0.5, provenance=SAID),
        Sight(sort="idle", seen=(one.id,)),
        Notice(fingerprints=("x",), session_id="s1"),
        Propose(sort="garden", steps=(replace(NOTHING, changes=(Retag(id=two.id, add=("z",)),)), NOTHING)),
        Perform(plan=1, step=1),
        Refuse(plan=1, step=2),
        failing,
    ]
    with pytest.raises(error):
        apply(store, *changes, key="k")
    assert everything(store) == before
    assert found(store, "unheard never") == []
    assert answer(store, "unheard never", corpus=Corpus.SESSIONS).passages == []
    assert (
        store.plans(),
        store.step_keys(frozenset({StepState.REFUSED})),
        store.sightings("idle"),
        store.seen(["x"]),
    ) == ((), frozenset(), {}, {})
    assert faults(store) == []
    apply(store, *changes[:-1], key="k")
    assert store.count() == 4
    assert sorted(said(filed(store))) == ["kept 0", "never", "unheard"]


def test_a_request_of_nothing_is_answered_with_nothing(store: Store) -> None:
    """No change, no entry, no error."""
    assert apply(store).outcomes == ()
    assert store.audit() == ()


def test_a_repeated_request_is_answered_without_being_done_again(store: Store) -> None:
    """With the same key, a retry changes nothing and returns the first receipt, marked as a replay."""

    def request() -> list[Change]:
        fresh = memory("one", provenance=(Provenance(origin=Origin.OBSERVED, at=NOW),))
        return [Add(memory=fresh, on_duplicate=AGAIN), Regroup(clusters=())]

    first = apply(store, *request(), key="k")
    before = everything(store)
    retried = [
        replace(change, memory=replace(change.memory, created_at=NOW + HOUR, updated_at=NOW + HOUR))
        if isinstance(change, Add)
        else change
        for change in request()
    ]
    again = apply(store, *retried, key="k", now=NOW + HOUR)
    assert again.replayed
    assert [outcome.action for outcome in again.outcomes] == [outcome.action for outcome in first.outcomes]
    assert [outcome.memory for outcome in again.outcomes] == [outcome.memory for outcome in first.outcomes]
    assert everything(store) == before


def test_a_repeated_link_is_answered_with_the_link(store: Store) -> None:
    """The first receipt comes back whole, with the link that it told of."""
    one, two = add(store, "one"), add(store, "two")
    change = Connect(link=Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id, weight=0.5))
    first = apply(store, change, key="k")
    again = apply(store, change, key="k", now=NOW + HOUR)
    assert again.replayed
    assert again.outcomes == first.outcomes


@pytest.mark.parametrize(
    "changes, actor",
    [
        pytest.param([Add(memory=memory("two"), on_duplicate=AGAIN)], "test", id="other-words"),
        pytest.param([Add(memory=memory("one", tags=("x",)), on_duplicate=AGAIN)], "test", id="other-tags"),
        pytest.param([Add(memory=memory("one"), on_duplicate=AGAIN)], "eve", id="other-actor"),
        pytest.param([Add(memory=memory("one"), on_duplicate=AGAIN)] * 2, "test", id="more"),
        pytest.param([Clear()], "test", id="other-change"),
    ],
)
def test_a_key_belongs_to_one_request(store: Store, changes: list[Change], actor: str) -> None:
    """Another request under a used key is refused and does nothing."""
    add_one = Add(memory=memory("one"), on_duplicate=AGAIN)
    apply(store, add_one, key="k")
    before = everything(store)
    with pytest.raises(KeyReused):
        apply(store, *changes, key="k", actor=actor)
    assert everything(store) == before
    assert apply(store, add_one, key="other").outcomes[0].action == "reinforce"


def test_a_key_of_a_request_that_failed_is_free(store: Store) -> None:
    """Only what was stored is remembered."""
    with pytest.raises(NotFound):
        apply(store, Weigh(id=MemoryId(1), signals=Signals()), key="k")
    assert not apply(store, Add(memory=memory("one"), on_duplicate=AGAIN), key="k").replayed


# --- Asking ----------------------------------------------------------------------------------------------------------


def five(store: Store) -> list[Memory]:
    """Five memories that differ in most things one can ask for."""
    return [
        add(store, "alpha", now=NOW, importance=0.1, score=5, tags=("x", "y"), agent="ada", kind=Kind.FACT),
        add(store, "beta", now=NOW + HOUR, importance=0.3, score=-2, tags=("y",), agent="bob", kind=Kind.DECISION),
        add(store, "gamma", now=NOW + 2 * HOUR, importance=0.5, anchors=(Anchor(path="src/a.py"),), season="winter"),
        add(store, "delta", now=NOW + 3 * HOUR, importance=0.7, valid_to=NOW + DAY, session_id="s1"),
        add(store, "epsilon", now=NOW + 4 * HOUR, importance=0.9, anchors=(Anchor(path="src/b.py"),), tags=("z",)),
    ]


QUESTIONS: list[Any] = [
    pytest.param({}, "alpha beta gamma delta epsilon", id="all"),
    pytest.param({"importance": 0.5}, "gamma", id="equal"),
    pytest.param({"importance": {"$eq": 0.5}}, "gamma", id="$eq"),
    pytest.param({"importance": {"$ne": 0.5}}, "alpha beta delta epsilon", id="$ne"),
    pytest.param({"importance": {"$gt": 0.5}}, "delta epsilon", id="$gt"),
    pytest.param({"importance": {"$gte": 0.5}}, "gamma delta epsilon", id="$gte"),
    pytest.param({"importance": {"$lt": 0.5}}, "alpha beta", id="$lt"),
    pytest.param({"importance": {"$lte": 0.5}}, "alpha beta gamma", id="$lte"),
    pytest.param({"importance": {"$gt": 0.1, "$lt": 0.9}}, "beta gamma delta", id="between"),
    pytest.param({"importance": {"$in": [0.1, 0.9, 4]}}, "alpha epsilon", id="$in"),
    pytest.param({"kind": ["decision", "error"]}, "beta", id="list-is-membership"),
    pytest.param({"kind": {"$in": []}}, "", id="in-nothing"),
    pytest.param({"score": {"$gte": -2, "$ne": 0}}, "alpha beta", id="whole-numbers"),
    pytest.param({"score": 5.0}, "alpha", id="a-float-for-a-whole-number"),
    pytest.param({"content": "alpha"}, "alpha", id="text"),
    pytest.param({"content": {"$gte": "d", "$lt": "f"}}, "delta epsilon", id="text-range"),
    pytest.param({"created_at": {"$gt": NOW + HOUR}}, "gamma delta epsilon", id="moment"),
    pytest.param({"created_at": {"$lte": "2026-03-01T13:00:00Z"}}, "alpha beta", id="moment-as-text"),
    pytest.param({"tags": "y"}, "alpha beta", id="tag"),
    pytest.param({"tags": ["x", "z"]}, "alpha epsilon", id="any-of-some-tags"),
    pytest.param({"tags": {"$ne": "y"}}, "gamma delta epsilon", id="without-a-tag"),
    pytest.param({"tags": {"$eq": "x", "$ne": "y"}}, "", id="tag-and-not-tag"),
    pytest.param({"files": "src/a.py"}, "gamma", id="file"),
    pytest.param({"files": {"$in": ["src/a.py", "src/b.py", "c"]}}, "gamma epsilon", id="any-of-some-files"),
    pytest.param({"files": {"$gte": "src/b"}}, "epsilon", id="file-range"),
    pytest.param({"agent": None}, "gamma delta epsilon", id="none"),
    pytest.param({"agent": {"$eq": None}}, "gamma delta epsilon", id="$eq-none"),
    pytest.param({"agent": {"$ne": None}}, "alpha beta", id="$ne-none"),
    pytest.param({"agent": {"$ne": "ada"}}, "beta gamma delta epsilon", id="$ne-includes-none"),
    pytest.param({"agent": ["ada", None]}, "alpha gamma delta epsilon", id="in-with-none"),
    pytest.param({"agent": {"$gt": None}}, "", id="nothing-is-greater-than-none"),
    pytest.param({"valid_to": {"$gt": NOW}}, "delta", id="none-is-not-greater"),
    pytest.param({"session_id": "s1", "importance": 0.7}, "delta", id="and"),
    pytest.param({"session_id": "s1", "importance": 0.5}, "", id="and-nothing"),
    pytest.param({"content": "'; DROP TABLE memories; --"}, "", id="a-quote-is-a-letter"),
]


@pytest.mark.row("E1", "query", "operators", "membership", "count")
@pytest.mark.parametrize("filters, expected", QUESTIONS)
def test_a_query_gives_what_its_filters_ask_for(store: Store, filters: dict[str, object], expected: str) -> None:
    """Each operator, membership and every comparison with None mean the same in every store."""
    five(store)
    where = parse_where(filters)
    assert contents(store.query(where, order=parse_order("-created_at"))) == expected.split()
    assert store.count(where) == len(expected.split())


@pytest.mark.parametrize(
    "filters",
    [
        {"colour": "red"},
        {"importance": {"$regex": ".*"}},
        {"importance": "high"},
        {"importance": {"$in": 0.5}},
        {"importance": 10**30},
        {"kind": "novel"},
        {"created_at": "yesterday"},
        {"content": "a\x00b"},
        {"content": "\ud800"},
        {"id; DROP TABLE memories": 1},
    ],
)
def test_a_filter_that_means_nothing_is_refused(store: Store, filters: dict[str, object]) -> None:
    """What cannot be asked is told before any store is asked."""
    with pytest.raises(InvalidFilter):
        store.query(parse_where(filters))


@pytest.mark.row("E1", "order", "list")
@pytest.mark.parametrize(
    "order_by, expected",
    [
        ("created_at", "epsilon delta gamma beta alpha"),
        ("-created_at", "alpha beta gamma delta epsilon"),
        ("timestamp", "epsilon delta gamma beta alpha"),
        ("importance", "epsilon delta gamma beta alpha"),
        ("-content", "alpha beta delta epsilon gamma"),
        ("score", "alpha epsilon delta gamma beta"),
        ("-score", "beta gamma delta epsilon alpha"),
        ("agent", "beta alpha epsilon delta gamma"),
        ("-agent", "gamma delta epsilon alpha beta"),
        ("id", "epsilon delta gamma beta alpha"),
    ],
)
def test_a_listing_comes_in_the_order_asked_for(store: Store, order_by: str, expected: str) -> None:
    """Highest or newest first unless reversed, equals by id, and what has no value counts as lowest."""
    five(store)
    assert contents(store.query(order=parse_order(order_by))) == expected.split()


def test_an_order_that_means_nothing_is_refused(store: Store) -> None:
    """Fields that hold several values give no order, and others must exist."""
    for name in ("tags", "-files", "colour", ""):
        with pytest.raises(InvalidFilter):
            store.query(order=parse_order(name))


@pytest.mark.row("E1", "limit")
def test_pages_follow_each_other_without_gap_or_overlap(store: Store) -> None:
    """Limit and offset cut the listing into pages; None is all of it, 0 none of it."""
    apply(store, *(Add(memory=memory(f"number {n}"), on_duplicate=AGAIN) for n in range(120)))
    whole = store.query(limit=None)
    assert len(whole) == 120
    assert store.query() == whole[:100]
    assert [each for start in range(0, 120, 7) for each in store.query(limit=7, offset=start)] == list(whole)
    assert store.query(limit=0) == store.query(offset=500) == ()
    assert store.query(limit=10**6) == whole


@pytest.mark.row("E1", "get")
@pytest.mark.parametrize("number", NO_SUCH_IDS)
def test_what_is_not_there_is_not_found(store: Store, number: int) -> None:
    """Any number may be asked for; reading about a memory that is not there gives nothing."""
    add(store, "one")
    assert store.get(MemoryId(number)) is None
    assert store.history(MemoryId(number)) == ()
    assert store.links(MemoryId(number)) == ()
    assert store.members(number) == ()
    assert store.by_uid(Uid(str(number))) is None
    assert store.group(LinkKind.IN_CLUSTER, MemoryId(number), limit=9) == ()
    assert store.links_of([MemoryId(number)], kinds=frozenset(LinkKind), limit=9) == ()
    assert store.together([MemoryId(number)]) == ()
    for corpus in Corpus:
        assert store.entries([number], corpus=corpus, around=3) == ()
        assert store.texts([number], corpus=corpus) == {}


def test_long_lists_can_be_asked_for(store: Store) -> None:
    """Several lists of the largest size that is allowed are one question like any other."""
    five(store)
    values = [f"no such {n}" for n in range(9_999)]
    filters: dict[str, object] = {"content": [*values, "alpha"], "agent": [*values, "ada"], "tags": [*values, "x"]}
    assert contents(store.query(parse_where({**filters, "uid": {"$ne": "x"}}))) == ["alpha"]
    assert contents(store.query(parse_where({**filters, "season": [*values, None]}))) == ["alpha"]


@pytest.mark.row("E1", "count")
def test_memories_are_counted_by_the_values_of_a_field(store: Store) -> None:
    """A tally gives each value that occurs and how many have it, under any filter."""
    five(store)
    assert store.tally("kind") == {"fact": 4, "decision": 1}
    assert store.tally("status") == {"confirmed": 5}
    assert store.tally("kind", parse_where({"importance": {"$lt": 0.4}})) == {"fact": 1, "decision": 1}
    assert store.tally("kind", parse_where({"agent": "nobody"})) == {}


def test_tags_and_files_are_tallied_one_by_one(store: Store) -> None:
    """A field of several values counts a memory under each of them."""
    five(store)
    assert store.tally("tags") == {"x": 1, "y": 2, "z": 1}
    assert store.tally("files") == {"src/a.py": 1, "src/b.py": 1}


def test_all_records_are_counted(store: Store) -> None:
    """Memories, versions, links, verdicts, audit entries, passages, definitions and plans, forgotten ones included."""
    assert set(store.totals().values()) == {0}
    one, two = add(store, "one"), add(store, "two")
    apply(store, Connect(link=Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id)))
    apply(store, Rate(id=one.id, helpful=True, signals=Signals()))
    apply(store, Mark(id=two.id, status=Status.FORGOTTEN))
    file(store, passage("one"), passage("two", position=1))
    apply(store, Define(sort="alias", name="k8s", value=["kubernetes"]))
    apply(store, Propose(sort="garden", steps=(NOTHING, NOTHING)))
    expected = {"memory": 2, "version": 2, "link": 1, "feedback": 1, "audit": 8, "passage": 2, "definition": 1}
    assert store.totals() == expected | {"plan": 1}


def test_a_definition_is_read_by_its_name(store: Store) -> None:
    """In one sort or in all of them; to know that there is none nothing has to be said of it."""
    for sort, name in (("season", "winter"), ("alias", "k8s"), ("alias", "db"), ("season", "db")):
        apply(store, Define(sort=sort, name=name, value=f"{sort} {name}"))
    assert [each.value for each in store.definitions("alias", name="db")] == ["alias db"]
    assert [each.value for each in store.definitions(name="db")] == ["alias db", "season db"]
    assert store.definitions("alias", name="winter") == store.definitions("", name="db") == ()
    assert store.definitions("alias", name="") == store.definitions("alias", name="DB") == ()


def plans_of(store: Store, read: Callable[[], object]) -> list[str]:
    """How SQLite finds the rows for a reading, a line for each table."""
    run: list[tuple[str, Any]] = []

    def traced(cursor: object, sql: str, bindings: Any) -> bool:
        run.append((sql, bindings))
        return True

    with store.snapshot(), cast(Any, store)._connections.reading() as connection:
        connection.exec_trace = traced
        try:
            read()
        finally:
            connection.exec_trace = None
        explained = [row for sql, bound in run for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", bound)]
    return [str(row[3]) for row in explained]


SPOKEN = (Condition("label", Op.EQ, "user"),)
BY_ID: dict[str, Callable[[Store, list[int]], object]] = {
    "entries": lambda store, items: store.entries(items, corpus=Corpus.SESSIONS, around=2),
    "filtered": lambda store, items: store.entries(items, corpus=Corpus.SESSIONS, where=SPOKEN),
    "texts": lambda store, items: store.texts(items, corpus=Corpus.SESSIONS),
    "find": lambda store, items: store.find(("one",), corpus=Corpus.SESSIONS, where=SPOKEN, limit=2, postings=POSTINGS),
    "definition": lambda store, items: store.definitions("alias", name="db"),
    "definitions": lambda store, items: store.definitions("alias"),
}


@pytest.mark.parametrize("read", BY_ID.values(), ids=BY_ID)
def test_a_few_among_many_are_looked_up_one_by_one(store: Store, read: Callable[[Store, list[int]], object]) -> None:
    """However many others there are: no table is scanned, and no index by what all of them share."""
    file(store, *(passage(f"one {number}", position=number, label="user") for number in range(20)))
    items = [each.id for each in filed(store)][:4]
    plans = plans_of(store, lambda: read(store, items))
    assert any("PRIMARY KEY" in line for line in plans), plans
    shared = [line for line in plans if line.endswith("(corpus=?)") or re.match(r"SCAN (m|p|n|definitions)\b", line)]
    assert shared == []


READS: dict[str, Callable[[Store, Memory], object]] = {
    "get": lambda store, one: store.get(one.id),
    "by_uid": lambda store, one: store.by_uid(one.uid),
    "query": lambda store, one: store.query(limit=1),
    "count": lambda store, one: store.count(),
    "totals": lambda store, one: store.totals(),
    "tally": lambda store, one: store.tally("kind"),
    "twin": lambda store, one: store.twin(one),
    "find": lambda store, one: store.find(("one",), corpus=Corpus.MEMORY, limit=1, postings=POSTINGS),
    "statistics": lambda store, one: store.statistics(("one",), corpus=Corpus.MEMORY),
    "spellings": lambda store, one: store.spellings("on", corpus=Corpus.MEMORY, limit=1),
    "vocabulary": lambda store, one: store.vocabulary(corpus=Corpus.MEMORY, limit=1),
    "entries": lambda store, one: store.entries([one.id], corpus=Corpus.MEMORY),
    "texts": lambda store, one: store.texts([one.id], corpus=Corpus.MEMORY),
    "held_at": lambda store, one: next(store.held_at(NOW)),
    "together": lambda store, one: store.together([one.id]),
    "given": lambda store, one: store.given(session="s1"),
    "definitions": lambda store, one: store.definitions(),
    "plans": lambda store, one: store.plans(),
    "steps": lambda store, one: store.steps(1),
    "refused": lambda store, one: store.step_keys(frozenset({StepState.REFUSED})),
    "sightings": lambda store, one: store.sightings("idle"),
    "seen": lambda store, one: store.seen(["x"]),
    "acting": lambda store, one: store.acting(),
    "pinned": lambda store, one: store.pinned(),
    "acting_mark": lambda store, one: store.acting_mark(),
    "links_of": lambda store, one: store.links_of([one.id], kinds=BETWEEN_MEMORIES, limit=1),
    "group": lambda store, one: store.group(LinkKind.HAS_TAG, "x", limit=1),
    "links": lambda store, one: store.links(one.id),
    "tags": lambda store, one: store.tags(),
    "clusters": lambda store, one: store.clusters(),
    "members": lambda store, one: store.members(1),
    "history": lambda store, one: store.history(one.id),
    "feedback": lambda store, one: store.feedback(one.uid),
    "audit": lambda store, one: store.audit(limit=1),
    "audit_head": lambda store, one: store.audit_head(),
    "verify_audit": lambda store, one: store.verify_audit(),
    "check": lambda store, one: store.check(),
    "size": lambda store, one: store.size(),
}


@pytest.mark.parametrize("name", READS)
def test_every_read_sees_what_was_stored_before_it(store: Store, name: str) -> None:
    """No read, whichever it is, leaves those after it in the past."""
    one = add(store, "one", tags=("x", "y"), score=1, triggers=("x",))
    two = add(store, "two", tags=("x",), triggers=("x",))
    apply(store, Connect(link=Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id)))
    apply(store, Regroup(clusters=(("pair", (one.id, two.id)),)))
    apply(store, Propose(sort="garden", steps=(NOTHING, NOTHING)), Refuse(plan=1, step=1), Refuse(plan=1, step=2))
    apply(store, Sight(sort="idle", seen=(one.id, two.id)), Notice(fingerprints=("x",), session_id="s1"))
    apply(store, Rate(id=one.id, helpful=True, signals=Signals()))
    for n in range(3):
        READS[name](store, one)
        fresh = add(store, f"fresh {n}")
        assert store.count() == 3 + n
        assert store.get(fresh.id) == fresh


def test_a_snapshot_is_one_moment(store: Store) -> None:
    """What others write meanwhile is not seen within it, and seen after it."""
    first = add(store, "first")
    other = threading.Thread(target=add, args=(store, "second"))
    with store.snapshot():
        assert store.count() == 1
        other.start()
        other.join(timeout=0.2)
        assert store.query() == (first,)
        with store.snapshot():
            assert found(store, "second") == []
        assert store.totals()["memory"] == 1
    other.join(timeout=10)
    assert not other.is_alive()
    assert sorted(contents(store.query())) == ["first", "second"]


def test_a_snapshot_does_not_see_what_its_own_thread_writes(store: Store) -> None:
    """Within a snapshot a write is refused, or stored and seen after it; the moment stays the same."""
    first = add(store, "first")
    written = True
    with store.snapshot():
        assert store.count() == 1
        try:
            add(store, "second")
        except RecollectError:
            written = False
        assert store.query() == (first,)
    assert store.count() == (2 if written else 1)


# --- Searching by words ----------------------------------------------------------------------------------------------

WORDS: list[Any] = [
    pytest.param("The deploy runs nightly", "deploy", id="word"),
    pytest.param("The deploy runs nightly", "DEPLOY?!", id="case-and-punctuation"),
    pytest.param("parseHTTPResponse is slow", "response", id="camel-case-part"),
    pytest.param("parseHTTPResponse is slow", "parsehttpresponse", id="camel-case-whole"),
    pytest.param("rename user_id first", "userid", id="snake-case-whole"),
    pytest.param("rename user_id first", "user", id="snake-case-part"),
    pytest.param("state-of-the-art", "art", id="hyphens"),
    pytest.param("Look at auth/middleware.py", "middleware", id="path-part"),
    pytest.param("Café Zürich naïve", "cafe zurich", id="accents-stored"),
    pytest.param("Cafe Zurich", "Café", id="accents-asked"),
    pytest.param("数据库在启动时迁移", "数据库", id="chinese"),
    pytest.param("データベースの移行は夜間に行う", "移行", id="japanese"),
    pytest.param("데이터베이스는 밤에 이전한다", "데이터베이스", id="korean"),
    pytest.param("база данных мигрирует ночью", "ДАННЫХ", id="russian"),
    pytest.param("Written in C++ and C#", "C++", id="c-plus-plus"),
    pytest.param("Port 8080 is taken", "8080", id="number"),
    pytest.param("Use NEAR and NOT carefully", "NOT NEAR", id="operators-are-words"),
]


@pytest.mark.row("K1", "content")
@pytest.mark.parametrize("content, question", WORDS)
def test_a_memory_is_found_by_its_words(store: Store, content: str, question: str) -> None:
    """Words, parts of identifiers, words with accents and scripts without spaces are all found."""
    add(store, content)
    add(store, "Something else altogether")
    assert found(store, question) == [content]


@pytest.mark.row("K1", "tags", "source")
def test_a_memory_is_found_by_its_tags_files_source_and_kind(store: Store) -> None:
    """All that describes a memory is indexed beside its content."""
    add(
        store,
        "plain words",
        tags=("deploy-day",),
        anchors=(Anchor(path="auth/middleware.py"),),
        source=Source.MIGRATION,
        kind=Kind.TASK_PROGRESS,
    )
    for question in ("deploy", "deployday", "middleware", "migration", "task progress"):
        assert found(store, question) == ["plain words"], question


def test_the_best_match_comes_first(store: Store) -> None:
    """A memory with more of the words, and rarer ones, comes before one with fewer."""
    for n in range(8):
        add(store, f"the deploy number {n}")
    add(store, "the cache and the tests")
    add(store, "the cache of the build")
    assert found(store, "build cache") == ["the cache of the build", "the cache and the tests"]


def test_a_search_tells_what_a_ranking_needs(store: Store) -> None:
    """Entries hold every word of a memory, field by field; statistics describe the corpus."""
    add(store, "cache the cache", kind=Kind.ERROR, source=Source.AGENT)
    add(store, "the build")
    add(store, "forgotten cache", status=Status.FORGOTTEN)
    asked = answer(store, "caches builds unheard")
    words = {entry.of.content: entry.fields for entry in asked.entries if isinstance(entry.of, Memory)}
    assert words == {
        "cache the cache": ("cach the cach", "", "", "agent", "error"),
        "the build": ("the build", "", "", "agent", "fact"),
    }
    assert (asked.statistics.texts, asked.statistics.words) == (2, 9)
    assert asked.statistics.holding == {"cach": 1, "build": 1}
    assert (asked.search.skipped, asked.search.newest_only) == ((), False)


def test_forgotten_memories_are_never_found(store: Store) -> None:
    """Every other status is found unless a filter leaves it out."""
    for status in Status:
        add(store, f"memory {status}", status=status)
    assert sorted(found(store, "memory")) == sorted(f"memory {s}" for s in Status if s is not Status.FORGOTTEN)
    assert found(store, "memory", where=parse_where({"status": "forgotten"})) == []
    assert found(store, "memory", where=parse_where({"status": "archived"})) == ["memory archived"]
    live = found(store, "memory", where=parse_where({"status": ["candidate", "confirmed", "pinned"]}))
    assert sorted(live) == ["memory candidate", "memory confirmed", "memory pinned"]


def test_a_search_obeys_its_filter_and_its_limit(store: Store) -> None:
    """Filters hold before the limit is counted."""
    for n in range(10):
        add(store, f"cache number {n}", importance=n / 10, tags=("odd",) if n % 2 else ())
    where = parse_where({"importance": {"$gte": 0.5}, "tags": "odd"})
    assert sorted(found(store, "cache", where=where)) == ["cache number 5", "cache number 7", "cache number 9"]
    assert len(found(store, "cache", limit=4)) == 4
    assert len(found(store, "cache", where=where, limit=2)) == 2
    assert found(store, "cache", limit=0) == []


@pytest.mark.parametrize(
    "question", ["", "?!", "unheard", "https://example.org/cache", '"', "cache* AND", "a" * 10_000]
)
def test_no_question_breaks_a_search(store: Store, question: str) -> None:
    """Whatever is asked, the answer is a list."""
    add(store, "something")
    assert found(store, question) == []


def test_frequent_words_are_skipped_when_rare_ones_will_do(store: Store) -> None:
    """Within the budget the rarest words are looked up; the others are still among the words of what these found."""
    fresh = [memory(f"common thing {n}" + " rare" * (n < 3)) for n in range(30)]
    apply(store, *(Add(memory=each, on_duplicate=AGAIN) for each in fresh))
    asked = answer(store, "common rare", limit=50, postings=10)
    assert (asked.search.skipped, asked.search.newest_only) == (("common",), False)
    assert len(asked.memories) == 3
    assert all({"common", "rare"} <= set(entry.fields[0].split()) for entry in asked.entries)
    assert asked.statistics.holding == {"common": 30, "rare": 3}
    complete = answer(store, "common rare", limit=50, postings=33)
    assert complete.search.skipped == ()
    assert len(complete.memories) == 30


def test_the_newest_are_searched_when_every_word_is_frequent(store: Store) -> None:
    """Where even the rarest word is over the budget, as many of the newest memories that hold it are looked at."""
    apply(store, *(Add(memory=memory(f"common {n}"), on_duplicate=AGAIN) for n in range(30)))
    asked = answer(store, "common", limit=50, postings=10)
    assert {each.content for each in asked.memories} == {f"common {n}" for n in range(20, 30)}
    assert (asked.search.skipped, asked.search.newest_only) == ((), True)


@pytest.mark.row("K4", "no-signal")
def test_reading_changes_nothing(store: Store) -> None:
    """A memory that was merely returned is as it was, and the audit too."""
    first = add(store, "cache")
    before = everything(store)
    for _ in range(3):
        assert found(store, "cache") == ["cache"]
        store.get(first.id)
        store.by_uid(first.uid)
        store.query()
        store.twin(first)
    assert everything(store) == before


# --- History ---------------------------------------------------------------------------------------------------------


def unbroken(versions: tuple[Version, ...]) -> bool:
    """Whether each version ends when the next begins, and none before it began."""
    times = [(version.recorded_from, version.recorded_to) for version in versions]
    return all(start <= end for start, end in times) and all(one[1] == two[0] for one, two in pairwise(times))


def test_history_holds_every_earlier_state(store: Store) -> None:
    """Each change leaves the state before it, from when to when it was so."""
    first = add(store, "one", importance=0.5)
    second = only(apply(store, Revise(id=first.id, edit=Edit(content="two")), now=NOW + HOUR))
    third = only(apply(store, Weigh(id=first.id, signals=Signals(score=3)), now=NOW + 2 * HOUR))
    assert store.history(first.id) == (
        Version(memory=first, recorded_from=NOW, recorded_to=NOW + HOUR),
        Version(memory=second, recorded_from=NOW + HOUR, recorded_to=NOW + 2 * HOUR),
    )
    assert held(store, first.id) == third
    assert store.history(add(store, "other").id) == ()


@pytest.mark.parametrize("hours", [(1, 2, 3), (5, -3, 2), (-1, -2, -3), (0, 0, 0)], ids=str)
def test_history_has_no_gap_when_the_clock_jumps(store: Store, hours: tuple[int, ...]) -> None:
    """Each state ends when the next begins, even where the clock was set back."""
    first = add(store, "one")
    for hour in hours:
        apply(store, Weigh(id=first.id, signals=Signals(score=1)), now=NOW + hour * HOUR)
    versions = store.history(first.id)
    assert [version.memory.version for version in versions] == [1, 2, 3]
    assert unbroken(versions)


@pytest.mark.parametrize("hours", [(1, 2), (-2, -1), (2, 1)], ids=str)
def test_history_has_no_gap_after_a_state_was_put_back(store: Store, hours: tuple[int, int]) -> None:
    """Putting back an earlier state begins a new time, so that any moment has one answer."""
    first = add(store, "one")
    apply(store, Revise(id=first.id, edit=Edit(content="two")), now=NOW + HOUR)
    [past] = store.history(first.id)
    changes: list[Change] = [Put(memory=past.memory), Weigh(id=first.id, signals=Signals(score=1))]
    for hour, change in zip(hours, changes, strict=True):
        apply(store, change, now=NOW + HOUR + hour * HOUR)
    versions = store.history(first.id)
    assert [version.memory.content for version in versions] == ["one", "two", "one"]
    assert unbroken(versions)


@pytest.mark.row("J8", "classification", "source", "lifecycle", "trust")
@pytest.mark.row("J9", "origins", "chain")
def test_every_field_survives(store: Store) -> None:
    """A memory in which nothing has its default value comes back equal, as itself and as an earlier version."""
    full = full_memory()
    apply(store, Put(memory=full))
    assert store.get(full.id) == full
    apply(store, Weigh(id=full.id, signals=Signals(score=1)))
    assert store.history(full.id)[0].memory == full
    for origin in Origin:
        steps = (Provenance(origin=origin, at=NOW, session_id="s", snippet="said so", reason="heard it"),)
        assert add(store, f"learned {origin}", origin=origin, provenance=steps).provenance == steps
        assert contents(store.query(parse_where({"origin": origin.value})))[0] == f"learned {origin}"


# --- Audit -----------------------------------------------------------------------------------------------------------

AUDITED: list[tuple[str, Callable[[Memory, Memory], Change]]] = [
    ("add", lambda one, two: Add(memory=memory("three"), on_duplicate=AGAIN)),
    ("reinforce", lambda one, two: Add(memory=memory("one"), on_duplicate=AGAIN)),
    ("update", lambda one, two: Revise(id=one.id, edit=Edit(content="four"))),
    ("demote", lambda one, two: Weigh(id=one.id, signals=Signals(score=-1), action="demote")),
    ("pin", lambda one, two: Mark(id=one.id, status=Status.PINNED)),
    ("remove", lambda one, two: Mark(id=one.id, status=Status.FORGOTTEN)),
    ("tag", lambda one, two: Retag(id=one.id, add=("x",))),
    ("link", lambda one, two: Connect(link=Link(memory=one.id, kind=LinkKind.CONTRADICTS, target=two.id))),
    ("unlink", lambda one, two: Disconnect(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id)),
    ("feedback", lambda one, two: Rate(id=one.id, helpful=True, signals=Signals())),
    ("put", lambda one, two: Put(memory=replace(one, importance=0.9))),
    ("put", lambda one, two: Put(memory=memory("five"))),
    ("regroup", lambda one, two: Regroup(clusters=(("pair", (one.id, two.id)),))),
    ("file", lambda one, two: File(passages=(passage("three", position=3), passage("four", position=4)))),
    ("unfile", lambda one, two: Unfile(corpus=Corpus.SESSIONS, document="s1")),
    ("define", lambda one, two: Define(sort="season", name="winter", value={"from": "12-01"})),
    ("undefine", lambda one, two: Define(sort="alias", name="k8s")),
    ("vouch", lambda one, two: Vouch(id=one.id, trust=0.5, provenance=SAID)),
    ("sight", lambda one, two: Sight(sort="idle", seen=(one.id, two.id))),
    ("notice", lambda one, two: Notice(fingerprints=("x", "y"), session_id="s1")),
    ("propose", lambda one, two: Propose(sort="garden", steps=(NOTHING, NOTHING))),
    ("step", lambda one, two: Perform(plan=1, step=1)),
    ("step", lambda one, two: Refuse(plan=1, step=1)),
    ("step", lambda one, two: Drop(plan=1, step=1)),
]


@pytest.mark.row("P20", "append-only")
@pytest.mark.parametrize("action, change", AUDITED, ids=[f"{n}-{case[0]}" for n, case in enumerate(AUDITED)])
def test_every_change_leaves_one_entry(store: Store, action: str, change: Callable[[Memory, Memory], Change]) -> None:
    """The audit says who did what to which memory when, and what state that left; earlier entries stay as they are."""
    one, two = add(store, "one"), add(store, "two")
    apply(store, Connect(link=Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id)))
    file(store, passage("zero"))
    apply(store, Define(sort="alias", name="k8s", value=["kubernetes"]))
    apply(store, Propose(sort="garden", steps=(NOTHING,)))
    before = store.audit()
    receipt = apply(store, change(one, two), actor="ada", now=NOW + HOUR)
    after = store.audit()
    assert after[:-1] == before
    entry = after[-1]
    changed = receipt.outcomes[0].memory
    assert (entry.seq, entry.at, entry.actor, entry.action) == (len(before) + 1, NOW + HOUR, "ada", action)
    assert (entry.uid, entry.state) == ((changed.uid, state_hash(changed)) if changed else ("", ""))
    assert entry.prev == before[-1].hash
    assert (store.audit_head().seq, store.audit_head().hash) == (entry.seq, entry.hash)
    assert store.verify_audit() == ()
    assert faults(store) == []


def test_clearing_leaves_an_entry_for_every_memory(store: Store) -> None:
    """Clearing is audited memory by memory and as a whole."""
    stored = [add(store, name) for name in ("one", "two")]
    before = len(store.audit())
    apply(store, Clear())
    assert [(entry.action, entry.uid) for entry in store.audit(after=before)] == [
        *(("remove", each.uid) for each in stored),
        ("clear", ""),
    ]
    assert store.verify_audit() == ()


def test_the_audit_is_read_in_parts(store: Store) -> None:
    """Entries beyond a number, so many of them, oldest or newest first."""
    for n in range(6):
        add(store, f"number {n}")
    whole = store.audit()
    assert [entry.seq for entry in whole] == [1, 2, 3, 4, 5, 6]
    assert store.audit(after=4) == whole[4:]
    assert store.audit(after=1, limit=2) == whole[1:3]
    assert store.audit(newest_first=True, limit=2) == whole[:3:-1]
    assert store.audit(after=6) == store.audit(limit=0) == ()


def test_the_audit_holds_no_content(store: Store) -> None:
    """Neither words, tags, notes nor names of what is stored, filed or defined can be read in the audit."""
    secret = "xK9vQ2mZt7Lp"
    one = add(store, f"the key is {secret}", tags=(secret.lower(),), anchors=(Anchor(path=f"{secret}.txt"),))
    two = add(store, f"another {secret}", session_id=secret, payload={secret: secret})
    changes: list[Change] = [
        Add(memory=memory(one.content, session_id=secret), on_duplicate=AGAIN),
        Revise(id=one.id, edit=Edit(content=f"{secret} it is", season=secret, triggers=(secret,))),
        Weigh(id=one.id, signals=Signals(score=1)),
        Retag(id=one.id, add=(f"{secret}2",)),
        Rate(id=one.id, helpful=False, signals=Signals(), note=secret),
        Connect(link=Link(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id, made_by=secret)),
        Disconnect(memory=one.id, kind=LinkKind.RELATES_TO, target=two.id),
        Put(memory=memory(f"put {secret}")),
        Regroup(clusters=((secret, (one.id,)),)),
        File(passages=(passage(secret, document=secret, label=secret, payload={secret: secret}),)),
        Unfile(corpus=Corpus.SESSIONS, document=secret),
        Define(sort="alias", name=secret, value=[secret]),
        Define(sort="alias", name=secret),
        Mark(id=one.id, status=Status.FORGOTTEN),
        Clear(),
    ]
    apply(store, *changes)
    rows = canonical([encode(entry) for entry in store.audit()])
    assert secret.lower() not in rows.lower()
    assert content_hash(one.content) not in rows
    assert fingerprint(one.content) not in rows


@pytest.mark.row("P20", "bounded")
def test_a_bounded_audit_stays_within_its_bound(open_space: OpenSpace) -> None:
    """It is cut back when it grows too long; what is left is a sound chain that says what was cut."""
    store = open_space("bounded", Options(audit=Bound(max_entries=20, trim_to=10)))
    lengths = []
    for n in range(60):
        add(store, f"number {n}")
        entries = store.audit()
        lengths.append(len(entries))
        numbers = [entry.seq for entry in entries]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert store.verify_audit() == ()
    assert max(lengths) <= 20
    assert min(lengths[20:]) == 10
    trims = [entry for entry in store.audit() if entry.action == "trim"]
    assert trims[-1].detail == {"through": store.audit()[0].seq - 1, "hash": store.audit()[0].prev}
    assert faults(store) == []
    assert store.count() == 60


def test_a_bounded_audit_takes_a_request_longer_than_itself(open_space: OpenSpace) -> None:
    """One large request leaves a sound audit too."""
    store = open_space("bounded", Options(audit=Bound(max_entries=5, trim_to=3)))
    apply(store, *(Add(memory=memory(f"number {n}"), on_duplicate=AGAIN) for n in range(50)))
    assert len(store.audit()) == 3
    assert store.verify_audit() == ()
    add(store, "one more")
    assert store.verify_audit() == ()
    assert faults(store) == []


@pytest.mark.parametrize("trim_to", [0, 1, 5, 6, 50])
def test_any_bound_leaves_a_sound_audit(open_space: OpenSpace, trim_to: int) -> None:
    """However much is to be left, writing goes on and the chain holds."""
    store = open_space("bounded", Options(audit=Bound(max_entries=5, trim_to=trim_to)))
    for n in range(20):
        add(store, f"number {n}")
        assert store.verify_audit() == ()
    assert store.count() == 20


# --- Upkeep ----------------------------------------------------------------------------------------------------------


BESIDE = [corpus for corpus in Corpus if corpus is not Corpus.MEMORY]


def some_passage(chance: random.Random, text: str) -> Passage:
    """A passage somewhere in one of two documents."""
    return passage(
        text,
        corpus=chance.choice(BESIDE),
        document=chance.choice("ab"),
        position=chance.randint(0, 9),
        label=chance.choice(("", "ada", "bob")),
        at=chance.choice((None, NOW, NOW + 40 * DAY)),
        payload=chance.choice((None, {"line": 7})),
    )


def busy_life(store: Store, seed: int, steps: int) -> None:
    """Many random changes; those that are refused are part of it."""
    chance = random.Random(seed)
    words = ("cache", "build", "deploy", "user_id", "naïve", "数据库", "parseHTTPResponse", "release", "token")
    for step in range(steps):
        number = MemoryId(chance.randint(1, 25))
        other = MemoryId(chance.randint(1, 25))
        text = " ".join(chance.choices(words, k=chance.randint(1, 4)))
        kind = chance.choice(sorted(BETWEEN_MEMORIES))
        changes: list[Change] = [
            Add(
                memory=memory(text, tags=(chance.choice(words),), status=chance.choice(list(Status))),
                on_duplicate=AGAIN,
            ),
            Add(memory=memory(f"{text} {step}", anchors=(Anchor(path=f"src/{step}.py"),)), on_duplicate=AGAIN),
            Revise(id=number, edit=Edit(content=text, tags=("edited",))),
            Revise(id=number, edit=Edit(kind=chance.choice(list(Kind)))),
            Weigh(id=number, signals=Signals(score=chance.randint(-9, 9), access=1, hit=True)),
            Mark(id=number, status=chance.choice(list(Status))),
            Retag(id=number, add=(text.replace(" ", "-"),), remove=("edited",)),
            Connect(link=Link(memory=number, kind=kind, target=other, weight=chance.random())),
            Disconnect(memory=number, kind=kind, target=other),
            Rate(id=number, helpful=chance.random() < 0.5, signals=Signals(strength=1), note=text),
            Put(memory=memory(f"{text} put", id=other, version=chance.randint(1, 5))),
            Regroup(clusters=((text, (number, other)) if number != other else (text, (number,)),)),
            File(passages=tuple(some_passage(chance, text) for _ in range(chance.randint(1, 3)))),
            Unfile(corpus=chance.choice(BESIDE), document=chance.choice("ab"), start=chance.randint(0, 9)),
            Define(sort=chance.choice(("alias", "season")), name=chance.choice(words), value=[text]),
            Define(sort="alias", name=chance.choice(words)),
            *([Clear()] if chance.random() < 0.1 else []),
        ]
        picked = chance.sample(changes, chance.randint(1, 3))
        try:
            apply(store, *picked, now=NOW + chance.randint(-5, 50) * HOUR)
        except RecollectError:
            continue
        store.note_uses({number: 1}, [Together(memory=number, other=other, strength=1.0)], now=NOW)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_store_is_sound_after_a_busy_life(store: Store, seed: int) -> None:
    """Whatever was done or refused, every check holds and the audit accounts for it."""
    busy_life(store, seed, 150)
    assert faults(store) == []
    assert store.verify_audit() == ()
    assert len(store.check()) >= 5


def test_a_check_between_writes_is_as_right_as_the_first(store: Store) -> None:
    """A store that is in use can be checked again and again."""
    for n in range(5):
        add(store, f"number {n}")
        assert faults(store) == []


QUESTIONS_OF_A_LIFE = ("cache", "build deploy", "数据", "response userid", "put", "March", "ada bob")


def answers(store: Store) -> dict[Corpus, list[Answer]]:
    """What a store that has led a busy life says to some questions, in every corpus."""
    return {
        corpus: [answer(store, asked, corpus=corpus, limit=50) for asked in QUESTIONS_OF_A_LIFE] for corpus in Corpus
    }


def test_rebuilding_changes_no_answer(store: Store) -> None:
    """What is derived comes out the same when it is made anew, and what is canonical is not touched."""
    busy_life(store, 4, 120)
    before = answers(store)
    content = everything(store)
    for corpus in Corpus:
        assert any(each.entries for each in before[corpus]), corpus
    store.rebuild()
    assert answers(store) == before
    assert everything(store) == content
    assert faults(store) == []


def test_a_backup_brings_everything_back(open_space: OpenSpace, tmp_path: Path) -> None:
    """A restored store equals the one that was backed up, and what it held before is gone."""
    source, target = open_space("source"), open_space("target")
    busy_life(source, 5, 100)
    add(target, "to be replaced")
    backup = tmp_path / "kept" / "backup.db"
    source.backup(backup)
    target.restore(backup)
    assert everything(target) == everything(source)
    assert answers(target) == answers(source)
    assert found(target, "replaced") == []
    assert faults(target) == []
    assert [path.name for path in backup.parent.iterdir()] == ["backup.db"]
    next_one = add(target, "life goes on")
    assert next_one.id > max(each.id for each in source.query(limit=None))
    assert faults(target) == []


def test_a_backup_is_of_the_moment_it_was_made(store: Store, tmp_path: Path) -> None:
    """Going back undoes what came later, and a backup may be written over an older one."""
    first = add(store, "first")
    backup = tmp_path / "backup.db"
    store.backup(backup)
    store.backup(backup)
    add(store, "second")
    apply(store, Weigh(id=first.id, signals=Signals(score=3)))
    store.restore(backup)
    assert store.query() == (first,)
    assert len(store.audit()) == 1
    assert store.verify_audit() == ()


@pytest.mark.parametrize("content", [None, b"", b"not a database", b"SQLite format 3\x00" + b"\x07" * 4096])
def test_a_file_that_is_no_backup_is_refused(store: Store, tmp_path: Path, content: bytes | None) -> None:
    """What is missing, empty or something else is not restored, and the store stays as it was."""
    add(store, "first")
    before = everything(store)
    path = tmp_path / "strange.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadFile):
        store.restore(path)
    assert everything(store) == before


# --- Lasting ---------------------------------------------------------------------------------------------------------


@pytest.mark.row("J27", "persistent")
def test_everything_is_there_after_opening_again(store: Store, open_space: OpenSpace) -> None:
    """Memories, their past, links, verdicts, clusters, audit, passages, definitions and habits outlast the process."""
    busy_life(store, 6, 120)
    ids = [each.id for each in store.query(limit=None)]
    apply(store, Regroup(clusters=(("small", (ids[0],)), ("large", tuple(ids[:4])))))
    before = everything(store)
    told = answers(store)
    again = open_space.again(store)
    assert again.notes == ()
    assert everything(again) == before
    assert answers(again) == told
    assert faults(again) == []
    assert add(again, "after opening again").id > max(ids)


def test_the_past_of_a_memory_that_got_another_id_lasts(store: Store, open_space: OpenSpace) -> None:
    """A past that came in under a taken id is still there, and with the right memory, after opening again."""
    there = add(store, "one")
    apply(store, Weigh(id=there.id, signals=Signals(score=1)))
    wanted = memory("two", id=there.id, version=2)
    past = Version(memory=replace(wanted, version=1), recorded_from=NOW - DAY, recorded_to=NOW)
    stored = only(apply(store, Put(memory=wanted, history=(past,))))
    before = store.history(there.id), store.history(stored.id)
    again = open_space.again(store)
    assert (again.history(there.id), again.history(stored.id)) == before
    assert [version.memory.content for version in again.history(stored.id)] == ["two"]


def test_a_forgotten_member_is_in_its_cluster_again_when_restored(store: Store, open_space: OpenSpace) -> None:
    """Membership outlasts both forgetting and opening again."""
    one, two = add(store, "one"), add(store, "two")
    apply(store, Regroup(clusters=(("pair", (one.id, two.id)),)))
    apply(store, Mark(id=one.id, status=Status.FORGOTTEN))
    again = open_space.again(store)
    apply(again, Mark(id=one.id, status=Status.CONFIRMED))
    assert contents(again.members(again.clusters()[0].id)) == ["one", "two"]


def test_a_key_is_known_after_opening_again(store: Store, open_space: OpenSpace) -> None:
    """A retry after a crash is still recognised."""
    change = Add(memory=memory("one"), on_duplicate=AGAIN)
    first = apply(store, change, key="k")
    again = open_space.again(store)
    replay = apply(again, change, key="k")
    assert replay.replayed
    assert only(replay) == only(first)
    with pytest.raises(KeyReused):
        apply(again, Clear(), key="k")


def test_a_restored_backup_lasts(store: Store, open_space: OpenSpace, tmp_path: Path) -> None:
    """What was restored is what is opened again."""
    add(store, "first")
    store.backup(tmp_path / "backup.db")
    before = everything(store)
    add(store, "second")
    store.restore(tmp_path / "backup.db")
    again = open_space.again(store)
    assert everything(again) == before
    assert faults(again) == []


def test_a_store_tells_what_it_is(engine: Engine, store: Store) -> None:
    """The URL opens it again, nothing is to be told about it, and what lasts has a size."""
    assert store.url
    assert store.notes == ()
    add(store, "one")
    assert store.size() > 0
    assert (store.url == "memory:") is not engine.lasts


def test_spaces_are_apart(open_space: OpenSpace) -> None:
    """What one space holds, no other one sees."""
    one, two = open_space("one"), open_space("two")
    add(one, "only here")
    assert set(two.totals().values()) == {0}
    assert found(two, "only here") == []


def test_a_closed_store_says_so(engine: Engine, tmp_path: Path) -> None:
    """Closing may be repeated; using a closed store is an error in the product's words."""
    store = engine.open(tmp_path)
    add(store, "one")
    store.close()
    store.close()
    with pytest.raises(StoreError):
        store.count()
    with pytest.raises(StoreError):
        add(store, "two")


def test_changes_may_be_given_one_at_a_time(store: Store) -> None:
    """Any iterable of changes is taken, and read once."""
    receipt = store.apply(
        (Add(memory=memory(name), on_duplicate=AGAIN) for name in ("one", "two")), actor="test", now=NOW, key="k"
    )
    assert len(receipt.outcomes) == store.count() == 2


def test_a_memory_with_a_new_uid_is_a_new_memory(store: Store) -> None:
    """Uids are looked up exactly."""
    fresh = uid()
    stored = add(store, "one", uid=fresh)
    assert store.by_uid(fresh) == stored
    assert store.by_uid(Uid(fresh.upper() + " ")) is None
