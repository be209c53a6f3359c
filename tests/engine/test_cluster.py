"""Clusters: which memories are found to belong together, how they are called, and where later ones go."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import recollect
from recollect import Draft, InvalidInput, Recollect, Refused, Scope
from recollect.engine import cluster, grouping
from recollect.model import Regroup
from recollect.testing import FixedClock, HashEmbedder, temp_recollect

Units: TypeAlias = NDArray[np.float32]

WORK = Path(__file__).parent.parent / "quality" / "dev" / "work.jsonl"

TOPICS = {
    "deploy": (
        "Deploys go out from main on Tuesdays",
        "A rollback of a deploy takes the previous image",
        "The deploy job waits for the smoke tests",
        "Production deploys need an approval by the release captain",
        "After a failed deploy the pipeline rolls back by itself",
        "Deploy notes are posted in the releases channel",
    ),
    "invoice": (
        "Invoices are sent on the first day of the month",
        "The billing service talks to Stripe",
        "A failed payment is retried three times before the invoice is cancelled",
        "Refunds need the approval of finance",
        "Invoice numbers are never reused, not even after a refund",
        "VAT is computed by the billing service per country",
    ),
    "database": (
        "Postgres runs in version 16 with row level security",
        "Database migrations run before the new pods start",
        "Slow queries are logged after 200 ms by Postgres",
        "Never drop a column in the same migration that stops using it",
        "The database replica lags up to 40 seconds",
        "Indexes are created concurrently in migrations",
    ),
}
ALONE = ("Marek works from Kraków", "The office plant is called Gerald", "Lunch is at noon on Thursdays")


@pytest.fixture(autouse=True)
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way that everybody has."""
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)


@pytest.fixture
def hdbscan(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The other way, where it is installed."""
    monkeypatch.delitem(sys.modules, "sklearn.cluster")
    return pytest.importorskip("sklearn.cluster").HDBSCAN


@pytest.fixture
def memory() -> Iterator[Recollect]:
    with temp_recollect(clock=FixedClock(), background=False) as opened:
        yield opened


@pytest.fixture
def stocked(memory: Recollect) -> Recollect:
    memory.remember_many([*(text for texts in TOPICS.values() for text in texts), *ALONE])
    return memory


def topic(text: str) -> str:
    return next((name for name, texts in TOPICS.items() if text in texts), "")


def contents(memory: Recollect) -> list[list[str]]:
    """What each cluster holds."""
    return [[each.content for each in memory.members(found.id)] for found in memory.clusters()]


# Discovery


@pytest.mark.row("J5", "discovery")
def test_memories_on_the_same_thing_are_found_to_belong_together(stocked: Recollect) -> None:
    """Each cluster is of one topic, each topic has one, and what stands alone is in none."""
    found = stocked.cluster()
    assert len(found) >= len(TOPICS)
    assert found == stocked.clusters()
    topics = [{topic(text) for text in texts} for texts in contents(stocked)]
    assert all(len(each) == 1 for each in topics)
    assert set.union(*topics) == set(TOPICS)
    assert [each.size for each in found] == sorted((each.size for each in found), reverse=True)
    assert found[0].size >= 5


@pytest.mark.row("J5", "discovery")
def test_a_label_names_what_a_cluster_is_about(stocked: Recollect) -> None:
    """In words as its members write them, two or three of them."""
    labels = {topic(stocked.members(each.id)[0].content): each.label for each in stocked.cluster()}
    assert "deploy" in labels["deploy"]
    assert "invoice" in labels["invoice"] or "billing" in labels["invoice"]
    assert "migration" in labels["database"] or "postgres" in labels["database"]
    said = {word for text in stocked.list(limit=100) for word in text.content.lower().replace(",", "").split()}
    for label in labels.values():
        words = label.split(", ")
        assert 2 <= len(words) <= 3
        assert set(words) <= said


def test_clustering_again_changes_nothing(stocked: Recollect) -> None:
    """The same memories give the same clusters, and the audit tells of the first time only."""
    first = stocked.cluster(), contents(stocked), stocked.audit(limit=None)
    assert stocked.audit(newest_first=True)[0].action == "regroup"
    assert (stocked.cluster(), contents(stocked), stocked.audit(limit=None)) == first
    with temp_recollect(clock=FixedClock(), background=False) as other:
        other.remember_many([each.content for each in stocked.list(order_by="-id", limit=100)])
        assert (other.cluster(), contents(other)) == first[:2]


def test_clustering_follows_what_is_stored(stocked: Recollect) -> None:
    """A topic that was forgotten has no cluster any more."""
    stocked.cluster()
    for each in stocked.list(limit=100):
        if topic(each.content) == "deploy":
            stocked.forget(each.ref)
    stocked.cluster()
    assert "deploy" not in {topic(text) for texts in contents(stocked) for text in texts}


def test_members_are_reached_by_links_of_the_graph(stocked: Recollect) -> None:
    """From a memory to its cluster."""
    [found, *_] = stocked.cluster()
    member = stocked.members(found.id)[0]
    assert ("in-cluster", found.id) in {(link.kind.value, link.target) for link in stocked.links(member.ref)}


def test_only_what_persists_is_grouped(stocked: Recollect) -> None:
    """A session's memories are for that session alone."""
    texts = [f"Deploys go out from main on {day}" for day in ("Mondays", "Wednesdays", "Fridays", "Sundays")]
    stocked.remember_many([Draft(content=text, scope=Scope.SESSION, session_id="s1") for text in texts])
    stocked.cluster()
    assert not set(texts) & {text for each in contents(stocked) for text in each}


@pytest.mark.parametrize("least", [2, 3, 5])
def test_no_cluster_is_smaller_than_asked_for(stocked: Recollect, least: int) -> None:
    """The more are asked for, the fewer clusters there are."""
    assert all(each.size >= least for each in stocked.cluster(least=least))


def test_unrelated_memories_make_no_cluster(memory: Recollect) -> None:
    """Nearest among few is not near."""
    assert memory.cluster() == ()
    memory.remember_many(["Deploys go out from main", "The gateway listens on port 9000", *ALONE])
    assert memory.cluster() == ()
    assert memory.audit(newest_first=True)[0].action == "add"


def test_many_that_say_the_same_are_one_cluster(memory: Recollect) -> None:
    """However many are equally close."""
    memory.remember_many([f"The deploy number {number} went out from main" for number in range(30)])
    memory.remember_many(ALONE)
    assert [each.size for each in memory.cluster()] == [30]


def test_the_global_memory_has_clusters_of_its_own(stocked: Recollect) -> None:
    """They are not mixed with the project's."""
    stocked.remember_many([Draft(content=text, scope=Scope.GLOBAL) for texts in TOPICS.values() for text in texts])
    assert stocked.cluster(space="global")
    assert stocked.clusters() == ()


def test_real_notes_make_sensible_groups(memory: Recollect) -> None:
    """Of a project's 260 notes many find company, in groups of a size to read, whose members more often share tags."""
    told = [note for line in WORK.read_text(encoding="utf-8").splitlines() if "memory" in (note := json.loads(line))]
    memory.remember_many([Draft(content=note["text"], tags=tuple(note["tags"])) for note in told])
    found = memory.cluster()
    assert 10 <= len(found) <= 45
    assert 60 <= sum(each.size for each in found) <= 190
    assert found[0].size <= 30

    def sharing(pairs: list[tuple[set[str], set[str]]]) -> float:
        tagged = [(one, other) for one, other in pairs if one and other]
        return sum(bool(one & other) for one, other in tagged) / len(tagged)

    everything = list(combinations([set(note["tags"]) for note in told], 2))
    members = [[set(each.tags) for each in memory.members(group.id)] for group in found]
    assert sharing([pair for group in members for pair in combinations(group, 2)]) > 2 * sharing(everything)


def test_more_memories_than_can_all_be_compared_join_what_the_newest_made(
    stocked: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the nearest centre, if they are near enough."""
    stocked.remember_many([f"The deploy number {number} went out from main" for number in range(230, 200, -1)])
    monkeypatch.setattr(cluster, "MOST", 20)
    [found] = stocked.cluster()
    older = {each.content for each in stocked.members(found.id)[:-20]}
    assert older
    assert all("deploy number" in text for text in older)


@pytest.mark.usefixtures("hdbscan")
@pytest.mark.parametrize("plain", [grouping.PLAIN, 0], ids=["few", "many"])
def test_hdbscan_finds_them_where_it_is_installed(
    stocked: Recollect, monkeypatch: pytest.MonkeyPatch, plain: int
) -> None:
    """The extra changes how they are found, and not what they are; nor does it matter how many there are."""
    monkeypatch.setattr(grouping, "PLAIN", plain)
    assert stocked.cluster()
    assert all(len({topic(text) for text in texts} - {""}) == 1 for texts in contents(stocked))
    first = contents(stocked)
    stocked.cluster()
    assert contents(stocked) == first


@pytest.mark.usefixtures("hdbscan")
@pytest.mark.parametrize("plain", [grouping.PLAIN, 0], ids=["few", "many"])
def test_hdbscan_leaves_a_single_group_to_the_way_without_it(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch, plain: int
) -> None:
    """It sees no group where there is nothing that it is apart from."""
    monkeypatch.setattr(grouping, "PLAIN", plain)
    memory.remember_many([f"Deploys go out from main on {day}, always" for day in ("Tuesdays", "Fridays", "Sundays")])
    assert [each.size for each in memory.cluster()] == [3]


def test_a_plan_is_what_would_be_written_and_writes_nothing(stocked: Recollect) -> None:
    """Labels and members, the largest group first; afterwards it is there as planned."""
    store, before = stocked._parts.project(), stocked.audit(limit=None)
    stocked.embed_pending()
    planned = cluster.planned_groups(store, "static-1", least=3)
    assert planned
    assert stocked.clusters() == ()
    assert stocked.audit(limit=None) == before
    written = [(each.label, tuple(found.id for found in stocked.members(each.id))) for each in stocked.cluster()]
    assert list(planned) == written
    assert cluster.planned_groups(store, "static-1", least=3) == planned
    assert cluster.planned_groups(store, "another model", least=3) == ()
    with pytest.raises(InvalidInput, match="least"):
        cluster.planned_groups(store, "static-1", least=1)


@pytest.mark.parametrize("page", [1, 7, 1_000])
def test_it_does_not_matter_how_much_is_read_at_once(
    stocked: Recollect, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    """Labels and centres are the same for one group at a time as for all of them."""
    found = stocked.cluster()
    centres = cluster.centroids(stocked._parts.project(), "static-1")
    monkeypatch.setattr(cluster, "_PAGE", page)
    assert stocked.cluster() == found
    again = cluster.centroids(stocked._parts.project(), "static-1")
    assert again.keys() == centres.keys() == {each.id for each in found}
    for number, (centre, reach) in centres.items():
        assert again[number][0] == pytest.approx(centre, abs=1e-6)
        assert again[number][1] == pytest.approx(reach, abs=1e-6)


def test_what_cannot_be_clustered_is_refused(memory: Recollect) -> None:
    """Groups of one, and a memory without vectors."""
    for least in (1, 0, -3, True, "3", 2.5):
        with pytest.raises(InvalidInput, match="least"):
            memory.cluster(least=least)  # type: ignore[arg-type]
    with temp_recollect(settings={"recall.search": "fts5"}) as wordy, pytest.raises(Refused, match="fts5"):
        wordy.cluster()
    with temp_recollect(settings={"embed.model": "minilm"}) as broken, pytest.raises(Refused, match="minilm"):
        broken.cluster()


# Centroids


@pytest.mark.row("J5", "centroids")
def test_a_later_memory_belongs_to_the_cluster_whose_centre_it_is_near(stocked: Recollect) -> None:
    """Without clustering anew; and one that is near to none belongs to none."""
    stocked.cluster()
    later = stocked.remember("A deploy takes the image that the release pipeline made")
    found = stocked.cluster_of(later.ref)
    assert found is not None
    assert "deploy" in found.label
    assert later.memory.id not in {each.id for each in stocked.members(found.id)}
    assert stocked.cluster_of(stocked.remember("Gerald the plant wants water on Thursdays").ref) is None


def test_a_member_is_in_its_cluster(stocked: Recollect) -> None:
    """Every one of every cluster."""
    for found in stocked.cluster():
        assert {stocked.cluster_of(each.ref) for each in stocked.members(found.id)} == {found}


def test_a_memory_that_is_not_live_belongs_to_no_cluster_it_was_not_in(stocked: Recollect) -> None:
    """Nor one of a session."""
    stocked.cluster()
    passing = stocked.remember("Deploys go out from main", scope="session", session="s1")
    assert stocked.cluster_of(passing.ref) is None


@pytest.mark.row("J5", "centroids")
def test_a_centre_is_the_mean_of_what_its_members_mean_now(stocked: Recollect) -> None:
    """So it moves when one of them is forgotten."""
    [found, *_] = stocked.cluster()
    store, model = stocked._parts.project(), "static-1"
    before, reach = cluster.centroids(store, model)[found.id]
    assert float(before @ before) == pytest.approx(1)
    assert 0 < reach < 1
    stocked.forget(stocked.members(found.id)[0].ref)
    after, _ = cluster.centroids(store, model)[found.id]
    assert 0.5 < float(before @ after) < 0.9999
    assert cluster.nearest_cluster(store, model, after) == found.id


# Grouping


def scattered(count: int, *, seed: int, copies: int = 0) -> Units:
    """Rows of length 1 around some middles, some closely and some loosely; the last ones are copies of others."""
    chance = np.random.default_rng(seed)
    middles = chance.standard_normal((max(2, count // 20), 24))
    spreads = chance.uniform(0.2, 1.5, len(middles))
    chosen = chance.integers(0, len(middles), count)
    rows = middles[chosen] + spreads[chosen, None] * chance.standard_normal((count, 24))
    if copies:
        rows[count - copies :] = rows[chance.integers(0, max(1, (count - copies) // 4), copies)]
    units: Units = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return units


def tree_by_comparing_all(units: Units) -> list[tuple[float, int, int]]:
    """A smallest tree over all rows, by Prim's way: the row that is nearest to the tree comes next."""
    distances = np.linalg.norm(units[:, None] - units[None], axis=2)
    edges, to = [], np.zeros(len(units), dtype=int)
    away, outside = distances[0].copy(), np.arange(len(units)) > 0
    while outside.any():
        new = int(np.where(outside, away, np.inf).argmin())
        edges.append((float(away[new]), int(to[new]), new))
        outside[new] = False
        closer = distances[new] < away
        away[closer], to[closer] = distances[new][closer], new
    return edges


def leaves_from_the_top(units: Units, least: int) -> set[frozenset[int]]:
    """What HDBSCAN calls leaves, from its definition: take the longest edges away until nothing large falls apart."""
    found = set()
    waiting = [(frozenset(range(len(units))), frozenset(range(len(units))), tree_by_comparing_all(units))]
    while waiting:
        group, core, edges = waiting.pop()
        longest = max((length for length, _, _ in edges), default=0.0)
        rest = [edge for edge in edges if edge[0] < longest]
        large = [part for part in parts(core, rest) if len(part) >= least]
        for part in large:
            inner = [edge for edge in rest if edge[1] in part]
            waiting.append((part if len(large) > 1 else group, part, inner))
        if not large and len(group) < len(units):
            found.add(group)
    return found


def parts(places: frozenset[int], edges: list[tuple[float, int, int]]) -> list[frozenset[int]]:
    """What these edges connect."""
    group = {place: {place} for place in places}
    for _, one, other in edges:
        whole = group[one] | group[other]
        group.update(dict.fromkeys(whole, whole))
    return [frozenset(each) for each in {id(each): each for each in group.values()}.values()]


@given(st.integers(2, 60), st.integers(0, 40), st.integers(2, 6), st.integers(0, 2**32))
def test_groups_from_neighbours_are_those_of_the_whole_tree(count: int, copies: int, least: int, seed: int) -> None:
    """However few there are, and however many of them are the same."""
    units = scattered(count, seed=seed, copies=min(copies, count - 1))
    assert set(map(frozenset, grouping.leaves(units, least))) == leaves_from_the_top(units, least)


@pytest.mark.parametrize("copies", [0, 200, 550])
def test_where_neighbours_do_not_lead_out_every_row_is_looked_at(copies: int) -> None:
    """Groups of more rows than neighbours are known have to be connected too."""
    units = scattered(600, seed=3, copies=copies)
    found = grouping.leaves(units, 3)
    assert len(found) > 10
    assert set(map(frozenset, found)) == leaves_from_the_top(units, 3)


@pytest.mark.row("J5", "discovery")
@pytest.mark.parametrize("least", [2, 3, 8])
def test_many_are_grouped_as_plain_hdbscan_would(hdbscan: Any, least: int) -> None:
    """From nearest neighbours comes the same as from comparing everything with everything."""
    units = scattered(3_000, seed=5)
    plain = hdbscan(min_cluster_size=least, min_samples=1, cluster_selection_method="leaf", copy=True)
    groups: dict[int, list[int]] = {}
    for place, number in enumerate(plain.fit_predict(units.astype(np.float64)).tolist()):
        groups.setdefault(number, []).append(place)
    del groups[-1]
    assert len(groups) > 50
    assert sorted(map(sorted, grouping.leaves(units, least))) == sorted(groups.values())


@pytest.mark.parametrize("length", [1e-30, 1e-3, 1e15])
def test_only_where_vectors_point_decides(length: float) -> None:
    """Not how long they are, not even if they are too short to be squared."""
    units = scattered(200, seed=1)
    found = grouping.dense(units, 3)
    assert found
    assert grouping.dense(units * np.float32(length), 3) == found


@given(st.integers(2, 80), st.integers(2, 6), st.integers(0, 2**32))
def test_joined_neighbours_are_in_one_group_each(count: int, least: int, seed: int) -> None:
    """None is smaller than asked for, and their order is not what makes them."""
    units = scattered(count, seed=seed)
    found = grouping.joined(units, least)
    everyone = [place for group in found for place in group]
    assert len(everyone) == len(set(everyone))
    assert all(len(group) >= least for group in found)
    turned = grouping.joined(units[::-1].copy(), least)
    assert {frozenset(count - 1 - place for place in group) for group in turned} == set(map(frozenset, found))


# Between two clusterings


class Compass(HashEmbedder):
    """A model that reads where a text points, in degrees; a text without a number points nowhere."""

    def __init__(self) -> None:
        super().__init__(2)
        self.model = "compass"

    def embed(self, texts: Sequence[str]) -> Units:
        found = [[float(each) for each in re.findall(r"\d+", text)] for text in texts]
        turned = np.deg2rad([numbers[0] if numbers else 0.0 for numbers in found])
        there = np.array([bool(numbers) for numbers in found])[:, None]
        rows: Units = (np.stack([np.cos(turned), np.sin(turned)], axis=1) * there).astype(np.float32)
        return rows


@pytest.fixture(params=["memory:", "{}/memory.db", "json:{}/memory.json"], ids=["memory", "sqlite", "json"])
def pointing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recollect]:
    """Two clusters, of what points about north and about east, in each sort of store."""
    store = str(request.param).format(tmp_path)
    settings = {"consolidate.mode": "off"}
    with recollect.open(
        store=store, home=tmp_path / "home", clock=FixedClock(), embedder=Compass(), settings=settings, background=False
    ) as memory:
        points(memory, 0, 4, 8, 12, 90, 94, 98, 102)
        clustered(memory, ("north", 1, 2, 3, 4), ("east", 5, 6, 7, 8))
        yield memory


def points(memory: Recollect, *degrees: int) -> list[int]:
    """The numbers of new memories that point there."""
    made = [memory.remember(f"needle {each} of the compass").memory.id for each in degrees]
    memory.embed_pending()
    return list(made)


def clustered(memory: Recollect, *clusters: tuple[Any, ...]) -> None:
    groups = tuple((label, tuple(memory.get(each).id for each in members)) for label, *members in clusters)
    memory._parts.project().apply([Regroup(clusters=groups)], actor="test", now=memory._parts.clock())


def refreshed(memory: Recollect) -> int:
    return cluster.refresh(memory._parts, memory._parts.project())


def held(memory: Recollect) -> dict[tuple[int, str], set[int]]:
    return {(each.id, each.label): {int(member.id) for member in memory.members(each.id)} for each in memory.clusters()}


@pytest.mark.row("J15", "cluster-refresh")
def test_what_came_later_joins_the_cluster_it_is_near(pointing: Recollect) -> None:
    """What is near none is in none, and nothing is clustered anew."""
    north, east, between, *others = points(pointing, 6, 96, 45, 200, 201, 202)
    assert refreshed(pointing) == 2
    assert held(pointing) == {(1, "north"): {1, 2, 3, 4, north}, (2, "east"): {5, 6, 7, 8, east}}
    assert all(pointing.cluster_of(each) is None for each in (between, *others))


@pytest.mark.row("J15", "cluster-refresh")
def test_refreshing_again_changes_nothing(pointing: Recollect) -> None:
    points(pointing, 6, 96, 45)
    assert refreshed(pointing) == 2
    before, entries = held(pointing), pointing.audit(limit=None)
    assert refreshed(pointing) == 0
    assert held(pointing) == before
    assert pointing.audit(limit=None) == entries
    assert pointing.verify_audit() == ()


def test_a_cluster_that_nothing_joins_is_not_written(pointing: Recollect) -> None:
    before = len(pointing.audit(limit=None))
    points(pointing, 96)
    assert refreshed(pointing) == 1
    assert [entry.action for entry in pointing.audit(limit=None)][before:] == ["add", "regroup"]


@pytest.mark.parametrize("text", ["needle of the compass", "needle 6 of a session", "needle 6 forgotten"])
def test_what_points_nowhere_or_does_not_last_joins_none(pointing: Recollect, text: str) -> None:
    clustered(pointing, ("scattered", 1, 5))  # so far apart that even what points nowhere is as near as they are
    last = "session" in text
    made = pointing.remember(text, scope="session" if last else "project", session="s" if last else None).memory
    pointing.embed_pending()
    if "forgotten" in text:
        pointing.forget(made.id)
    refreshed(pointing)
    assert int(made.id) not in {each for members in held(pointing).values() for each in members}


@pytest.mark.row("J15", "cluster-merge")
def test_clusters_that_came_near_each_other_become_one(pointing: Recollect) -> None:
    """It has the name and the number of the first; the others keep theirs."""
    points(pointing, 200, 204)
    clustered(pointing, ("north", 1, 2), ("also north", 3, 4), ("east", 5, 6, 7, 8), ("south", 9, 10))
    assert refreshed(pointing) == 2
    assert held(pointing) == {(1, "north"): {1, 2, 3, 4}, (3, "east"): {5, 6, 7, 8}, (4, "south"): {9, 10}}
    assert refreshed(pointing) == 0


@pytest.mark.row("J15", "cluster-merge")
def test_what_joins_and_what_merges_comes_together(pointing: Recollect) -> None:
    clustered(pointing, ("north", 1, 2), ("also north", 3, 4), ("east", 5, 6, 7, 8))
    [new] = points(pointing, 10)
    assert refreshed(pointing) == 2
    assert held(pointing) == {(1, "north"): {1, 2, 3, 4, new}, (3, "east"): {5, 6, 7, 8}}


def test_clusters_that_are_apart_stay_apart(pointing: Recollect) -> None:
    before = held(pointing)
    assert refreshed(pointing) == 0
    assert held(pointing) == before


@pytest.mark.parametrize("settings", [{}, {"recall.search": "fts5"}])
def test_without_clusters_or_meaning_there_is_nothing_to_refresh(settings: dict[str, object]) -> None:
    with temp_recollect(clock=FixedClock(), background=False, settings=settings) as memory:
        memory.remember_many(TOPICS["deploy"])
        if settings:
            clustered(memory, ("deploys", 1, 2, 3))
        assert refreshed(memory) == 0


def test_many_clusters_are_refreshed_in_no_time(tmp_path: Path) -> None:
    """Every pair of them is looked at, which must not take a step of Python each."""
    count = 1_500
    with recollect.open(store=str(tmp_path / "memory.db"), home=tmp_path, background=False) as memory:
        memory.remember_many([f"word{number} stands for number{number}" for number in range(count)])
        memory.embed_pending()
        clustered(memory, *((f"c{number}", number) for number in range(1, count + 1)))
        began = time.process_time()
        refreshed(memory)
        assert time.process_time() - began < 5.0
