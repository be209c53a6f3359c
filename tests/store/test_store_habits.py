"""What using a store leaves behind, for every engine: how often memories were recalled, and which with which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_kit import DAY, ENGINES, HOUR, MEMORY, NOW, Engine, OpenSpace, add, apply, everything, faults, held

from recollect.model import (
    Edit,
    Given,
    GivenItem,
    Mark,
    MemoryId,
    Revise,
    Signals,
    Status,
    Tier,
    Together,
    Uid,
    Weigh,
)
from recollect.store import Store
from recollect.store.sqlite import habits
from recollect.store.sqlite.habits import PARTNERS

of_every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
NO_SUCH_IDS = [0, -1, 999, 2**63 - 1, 2**63, 10**30, -(10**30)]


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


def some(store: Store, count: int) -> list[MemoryId]:
    """So many memories."""
    return [add(store, f"number {n}").id for n in range(count)]


def recall(store: Store, *pairs: tuple[MemoryId, MemoryId], strength: float = 1.0, day: int = 0) -> None:
    """These pairs were recalled together."""
    together = [Together(memory=one, other=two, strength=strength) for one, two in pairs]
    store.note_uses({}, together, now=NOW + day * DAY)


def company(store: Store, memory_id: MemoryId) -> dict[MemoryId, float]:
    """With whom a memory was recalled, strongest first."""
    return {each.other: each.strength for each in store.together([memory_id])}


# --- Uses ------------------------------------------------------------------------------------------------------------


@of_every_engine
def test_a_use_is_counted_and_changes_nothing_else(store: Store) -> None:
    """Neither version, history nor audit know of it, and every check holds."""
    one, two = add(store, "one", access_count=4), add(store, "two")
    before = everything(store)
    store.note_uses({one.id: 3}, (), now=NOW + HOUR)
    used = replace(one, access_count=7, accessed_at=NOW + HOUR)
    assert held(store, one.id) == used
    assert held(store, two.id) == two
    assert everything(store) == before | {"memories": (used, two)}
    assert faults(store) == []
    assert store.verify_audit() == ()


@of_every_engine
def test_uses_add_up_and_the_last_one_is_remembered(store: Store) -> None:
    """A clock that was set back does not make the last use an earlier one."""
    [one] = some(store, 1)
    for hour, count in ((5, 1), (2, 10), (7, 100), (7, 0)):
        store.note_uses({one: count}, (), now=NOW + hour * HOUR)
    assert (held(store, one).access_count, held(store, one).accessed_at) == (111, NOW + 7 * HOUR)


@of_every_engine
@pytest.mark.parametrize("count, before, after", [(10**9, 5, 10**9), (1, 10**9, 10**9), (-9, 5, 0), (2**60, 0, 10**9)])
def test_uses_stay_within_their_bounds(store: Store, count: int, before: int, after: int) -> None:
    """As with every signal, no number leaves its range."""
    one = add(store, "one", access_count=before)
    store.note_uses({one.id: count}, (), now=NOW)
    assert held(store, one.id).access_count == after


@of_every_engine
def test_a_memory_that_was_used_changes_like_any_other(store: Store) -> None:
    """What is written after a use keeps the count, and what was there before it is kept with its own."""
    [one] = some(store, 1)
    store.note_uses({one: 2}, (), now=NOW + HOUR)
    apply(store, Revise(id=one, edit=Edit(content="revised")), now=NOW + DAY)
    apply(store, Weigh(id=one, signals=Signals(access=1)), now=NOW + 2 * DAY)
    assert held(store, one).access_count == 3
    assert [version.memory.access_count for version in store.history(one)] == [2, 2]
    assert faults(store) == []
    assert store.verify_audit() == ()


@of_every_engine
@pytest.mark.parametrize("number", NO_SUCH_IDS)
def test_uses_of_what_is_not_there_are_ignored(store: Store, number: int) -> None:
    """Any number may be given, beside others that are there."""
    one, two = some(store, 2)
    strange = MemoryId(number)
    store.note_uses({strange: 1, one: 1}, (), now=NOW)
    recall(store, (strange, one), (two, strange), (strange, strange), (one, two))
    assert held(store, one).access_count == 1
    assert company(store, one).keys() == {two}
    assert company(store, two).keys() == {one}
    assert company(store, strange) == {}
    assert faults(store) == []


@of_every_engine
def test_noting_nothing_is_no_error(store: Store) -> None:
    """No uses, no company, and nobody to ask for."""
    store.note_uses({}, (), now=NOW)
    assert store.together([]) == ()
    assert faults(store) == []


# --- Together --------------------------------------------------------------------------------------------------------


@of_every_engine
@pytest.mark.row("K12", "link")
def test_what_was_recalled_together_is_kept_together(store: Store) -> None:
    """Each knows the other, equally strongly; nobody else does, and nobody knows himself."""
    one, two, three, four = some(store, 4)
    recall(store, (one, two), (three, two), (four, four))
    assert company(store, one) == {two: 1.0}
    assert company(store, two) == {one: 1.0, three: 1.0}
    assert company(store, three) == {two: 1.0}
    assert company(store, four) == {}
    assert faults(store) == []


@of_every_engine
@pytest.mark.row("K12", "strengthen")
def test_what_is_recalled_together_again_grows_stronger(store: Store) -> None:
    """Each time adds, from either side, and what is recalled together more often comes first."""
    one, two, three = some(store, 3)
    recall(store, (one, three))
    grown = []
    for pair in ((one, two), (two, one), (one, two)):
        recall(store, pair)
        assert company(store, one)[two] == company(store, two)[one]
        grown.append(company(store, one)[two])
    assert grown == sorted(set(grown))
    assert list(company(store, one)) == [two, three]
    recall(store, (one, two), (two, one), (one, two))
    assert company(store, one)[two] == pytest.approx(grown[-1] * 0.98 + 3)


@of_every_engine
def test_what_is_not_recalled_together_any_more_fades(store: Store) -> None:
    """Whenever one of the two is recalled with others, what it had with this one fades, the same at both ends."""
    one, two, three, four = some(store, 4)
    recall(store, (one, two), strength=10.0)
    recall(store, (three, four))
    assert company(store, one)[two] == 10.0
    recall(store, (one, three))
    assert company(store, one)[two] == company(store, two)[one] < 10.0
    after_one = company(store, one)[two]
    recall(store, (two, four))
    assert company(store, one)[two] == company(store, two)[one] < after_one
    assert company(store, one)[two] == pytest.approx(10.0 * 0.98**2)


@of_every_engine
def test_a_memory_keeps_so_much_company_and_the_weakest_gives_way(store: Store) -> None:
    """The strongest stay; whoever had to go keeps its own side, and is back once it is strong enough."""
    hub, *others = some(store, PARTNERS + 4)
    for rank, other in enumerate(others[: PARTNERS + 1], start=1):
        recall(store, (hub, other), strength=10.0 * rank)
    weakest, *kept = others[: PARTNERS + 1]
    assert company(store, hub).keys() == set(kept)
    assert list(company(store, hub)) == kept[::-1]
    assert company(store, weakest).keys() == {hub}
    recall(store, (hub, others[-1]), strength=0.5)
    assert others[-1] not in company(store, hub)
    assert len(company(store, hub)) == PARTNERS
    for _ in range(3):
        recall(store, (hub, weakest), strength=6.0)
    assert company(store, hub)[weakest] == company(store, weakest)[hub]
    assert len(company(store, hub)) == PARTNERS
    assert faults(store) == []


@of_every_engine
def test_forgotten_memories_keep_no_company(store: Store) -> None:
    """They are in nobody's company and have none, until they are restored."""
    one, two, three = some(store, 3)
    recall(store, (one, two), (one, three), (two, three))
    before = {each: company(store, each) for each in (one, two, three)}
    apply(store, Mark(id=two, status=Status.FORGOTTEN))
    assert company(store, two) == {}
    assert company(store, one).keys() == {three}
    assert company(store, three).keys() == {one}
    apply(store, Mark(id=two, status=Status.CONFIRMED))
    assert {each: company(store, each) for each in (one, two, three)} == before


@of_every_engine
def test_the_company_of_several_is_read_at_once(store: Store) -> None:
    """All of it, strongest first, however often one is asked for, and of none that was not asked for."""
    one, two, three, four = some(store, 4)
    recall(store, (one, two), strength=1.0)
    recall(store, (three, four), strength=3.0)
    recall(store, (one, four), strength=2.0)
    read = store.together([one, three, one, MemoryId(999)])
    assert [(each.memory, each.other) for each in read] == [(three, four), (one, four), (one, two)]
    assert list(read) == sorted(read, key=lambda each: -each.strength)


@of_every_engine
def test_company_makes_no_link_and_no_entry(store: Store) -> None:
    """Habits are not knowledge: links, history, audit and counts know nothing of them."""
    one, two = some(store, 2)
    before = everything(store)
    recall(store, (one, two), strength=5.0)
    after = everything(store)
    assert after.pop("together") != before.pop("together")
    assert after == before
    assert store.links() == ()


@of_every_engine
def test_habits_last(store: Store, open_space: OpenSpace, tmp_path: Path) -> None:
    """They are there after opening again, and in a backup."""
    one, two, three = some(store, 3)
    store.note_uses({one: 2}, [Together(memory=one, other=two, strength=2.5)], now=NOW + HOUR)
    recall(store, (two, three))
    store.backup(tmp_path / "backup.db")
    before = everything(store)
    copy = open_space("copy")
    copy.restore(tmp_path / "backup.db")
    assert everything(copy) == before
    again = open_space.again(store)
    assert everything(again) == before
    assert held(again, one).access_count == 2
    assert faults(again) == []


# --- Properties ------------------------------------------------------------------------------------------------------

numbers = st.integers(1, 20).map(MemoryId)
pairs = st.builds(Together, memory=numbers, other=numbers, strength=st.floats(0.25, 9))


@pytest.mark.row("K12", "strengthen")
@given(recalls=st.lists(st.lists(pairs, max_size=15), max_size=12))
@settings(max_examples=settings().max_examples // 2)
def test_company_is_bounded_and_the_same_from_both_sides(recalls: list[list[Together]]) -> None:
    """Whatever is recalled: nobody keeps more than so many, and where two keep each other they do so equally."""
    store = MEMORY.open(Path())
    known = [add(store, f"number {n}").id for n in range(18)]
    for day, together in enumerate(recalls):
        store.note_uses({}, together, now=NOW + day * DAY)
    strengths = {(each.memory, each.other): each.strength for each in store.together(known)}
    for number in known:
        mine = [strength for (memory_id, _), strength in strengths.items() if memory_id == number]
        assert len(mine) <= PARTNERS
    recalled = {frozenset((each.memory, each.other)) for together in recalls for each in together}
    for (memory_id, other), strength in strengths.items():
        assert memory_id != other
        assert frozenset((memory_id, other)) in recalled
        assert strengths.get((other, memory_id), strength) == strength
        assert strength > 0
    for one, two in ((min(pair), max(pair)) for pair in recalled if len(pair) == 2 and pair <= set(known)):
        full = [number for number in (one, two) if len(company(store, number)) == PARTNERS]
        assert full or {(one, two), (two, one)} <= strengths.keys()
    assert faults(store) == []
    store.close()


# --- What agents were given ------------------------------------------------------------------------------------------


def gave(number: int, session: str = "s1", **given: Any) -> Given:
    """That something was given, so many minutes on."""
    item = GivenItem(uid=Uid(f"u{number}"), ref=str(number), tier=Tier.FOUND, tokens=7, relevance=0.5)
    return Given(id=f"r{number}", at=NOW + number * HOUR, session=session, items=(item,), tokens=7, **given)


@of_every_engine
def test_what_was_given_is_known_afterwards_the_latest_first(open_space: OpenSpace) -> None:
    """By session or all together, after closing too, and without a trace in versions and audit."""
    store = open_space()
    add(store, "one")
    before = everything(store)
    records = [gave(1), gave(2, "s2", agent="ada", query="why?", topic=3), gave(3)]
    store.note_given(records)
    store.note_given(records[:1])  # once more changes nothing
    assert store.given() == tuple(reversed(records))
    assert store.given(session="s1") == (records[2], records[0])
    assert store.given(limit=1) == (records[2],)
    assert store.given(session="nobody") == ()
    assert (everything(store), faults(store)) == (before, [])


@of_every_engine
def test_only_so_much_is_kept_of_what_was_given(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest give way."""
    monkeypatch.setattr(habits, "GIVEN_KEPT", 3)
    store.note_given([gave(number) for number in range(5)])
    store.note_given([gave(5)])
    assert [each.id for each in store.given()] == ["r5", "r4", "r3"]


@of_every_engine
def test_what_is_pinned_is_known_the_latest_first(store: Store) -> None:
    """And nothing else is."""
    numbers = some(store, 4)
    for place, number in enumerate(numbers[1:3]):
        apply(store, Mark(id=number, status=Status.PINNED), now=NOW + place * HOUR)
    assert {each.id for each in store.pinned()} == set(numbers[1:3])
    apply(store, Mark(id=numbers[1], status=Status.FORGOTTEN))
    assert [each.id for each in store.pinned()] == [numbers[2]]
