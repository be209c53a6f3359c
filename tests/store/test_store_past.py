"""What the store held at a moment of the past, for every engine."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_kit import (
    AGAIN,
    DAY,
    ENGINES,
    HOUR,
    MEMORY,
    NOW,
    SQLITE,
    Engine,
    OpenSpace,
    add,
    apply,
    contents,
    file,
    full_memory,
    held,
    memory,
    only,
    passage,
)

from recollect.errors import RecollectError
from recollect.model import (
    Add,
    Change,
    Clear,
    Edit,
    Mark,
    Memory,
    MemoryId,
    Order,
    Put,
    Rate,
    Retag,
    Revise,
    Signals,
    Status,
    Version,
    Weigh,
)
from recollect.store import Store

TICK = timedelta(microseconds=1)
of_every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


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


def then(store: Store, moment: datetime) -> list[Memory]:
    """What the store held at a moment, by id."""
    return sorted(store.held_at(moment), key=lambda each: each.id)


def now_in(store: Store) -> list[Memory]:
    """What the store holds, by id."""
    return list(store.query(order=Order(field="id", newest_first=False), limit=None))


@of_every_engine
@pytest.mark.row("X15")
def test_each_moment_has_the_states_of_that_moment(store: Store) -> None:
    """Nothing before the first memory was stored; then each as it was, from the very moment it became so."""
    one = add(store, "one", now=NOW)
    revised = only(apply(store, Revise(id=one.id, edit=Edit(content="two")), now=NOW + HOUR))
    other = add(store, "other", now=NOW + 2 * HOUR)
    gone = only(apply(store, Mark(id=one.id, status=Status.FORGOTTEN), now=NOW + 3 * HOUR))
    for moment, expected in (
        (NOW - 9 * DAY, []),
        (NOW - TICK, []),
        (NOW, [one]),
        (NOW + HOUR - TICK, [one]),
        (NOW + HOUR, [revised]),
        (NOW + 2 * HOUR - TICK, [revised]),
        (NOW + 2 * HOUR, [revised, other]),
        (NOW + 3 * HOUR - TICK, [revised, other]),
        (NOW + 3 * HOUR, [gone, other]),
        (NOW + 999 * DAY, [gone, other]),
    ):
        assert then(store, moment) == expected, moment


@of_every_engine
def test_an_empty_store_held_nothing(store: Store) -> None:
    """Neither before anything was stored, nor where only passages are filed."""
    file(store, passage("no memory"))
    assert then(store, NOW + DAY) == []


@of_every_engine
@pytest.mark.parametrize("hours", [(1, 2, 3), (5, -3, 2), (-1, -2, -3), (0, 0, 0)], ids=str)
def test_any_moment_has_one_answer_when_the_clock_jumps(store: Store, hours: tuple[int, ...]) -> None:
    """Where the clock was set back, a state begins when the one before it ends; nothing is held twice or not at all."""
    first = add(store, "one")
    for hour in hours:
        apply(store, Weigh(id=first.id, signals=Signals(score=1)), now=NOW + hour * HOUR)
    scores = [[each.score for each in then(store, NOW + minutes * HOUR / 2)] for minutes in range(20)]
    assert all(len(each) == 1 for each in scores)
    assert scores == sorted(scores)
    assert scores[-1] == [3]
    assert then(store, NOW - TICK) == []


@of_every_engine
def test_a_past_that_came_with_a_memory_is_held(store: Store) -> None:
    """An imported memory is there from when it was recorded where it comes from, state by state."""
    wanted = full_memory(status=Status.PINNED, updated_at=NOW - 2 * DAY)
    earlier = replace(wanted, version=2, importance=0.25)
    past = Version(memory=earlier, recorded_from=NOW - 5 * DAY, recorded_to=NOW - 2 * DAY)
    apply(store, Put(memory=wanted, history=(past,)))
    assert then(store, NOW - 5 * DAY - TICK) == []
    assert then(store, NOW - 5 * DAY) == then(store, NOW - 2 * DAY - TICK) == [earlier]
    assert then(store, NOW - 2 * DAY) == then(store, NOW) == [wanted]


@of_every_engine
def test_a_past_that_overlaps_is_held_once(store: Store) -> None:
    """Where clocks elsewhere were ahead, or a past was written by hand, the later state counts."""
    wanted = memory("three", version=3)
    past = [
        Version(
            memory=replace(wanted, version=n, content=said),
            recorded_from=NOW + start * HOUR,
            recorded_to=NOW + end * HOUR,
        )
        for n, said, start, end in ((1, "one", -9, -4), (2, "two", -6, 5))
    ]
    apply(store, Put(memory=wanted, history=tuple(past)))
    for hour, said in ((-9, "one"), (-7, "one"), (-6, "two"), (-5, "two"), (-1, "two"), (0, "three"), (4, "three")):
        assert contents(tuple(then(store, NOW + hour * HOUR))) == [said], hour


@of_every_engine
def test_a_state_that_was_put_back_is_held_from_then_on(store: Store) -> None:
    """Undoing does not rewrite what was held meanwhile."""
    first = add(store, "one")
    second = only(apply(store, Revise(id=first.id, edit=Edit(content="two")), now=NOW + HOUR))
    back = only(apply(store, Put(memory=first), now=NOW + 2 * HOUR))
    assert [then(store, NOW + hour * HOUR) for hour in range(3)] == [[first], [second], [back]]
    assert back.content == "one"


@of_every_engine
def test_what_was_used_since_was_held_all_the_same(store: Store) -> None:
    """Habits do not write history: the past has the same states before and after."""
    first = add(store, "one")
    second = only(apply(store, Revise(id=first.id, edit=Edit(content="two")), now=NOW + HOUR))
    store.note_uses({first.id: 3}, (), now=NOW + DAY)
    assert then(store, NOW) == [first]
    [present] = then(store, NOW + HOUR)
    assert replace(present, access_count=0, accessed_at=None) == second


@of_every_engine
def test_the_past_lasts(store: Store, open_space: OpenSpace) -> None:
    """After opening again each moment has the same states."""
    first = add(store, "one")
    apply(store, Revise(id=first.id, edit=Edit(content="two")), now=NOW + HOUR)
    apply(store, Clear(), now=NOW + 2 * HOUR)
    moments = [NOW + step * HOUR / 2 for step in range(-1, 6)]
    before = [then(store, moment) for moment in moments]
    again = open_space.again(store)
    assert [then(again, moment) for moment in moments] == before


@of_every_engine
def test_the_past_is_restored_with_the_rest(store: Store, open_space: OpenSpace, tmp_path: Path) -> None:
    """A backup holds every moment before it was made."""
    first = add(store, "one")
    apply(store, Revise(id=first.id, edit=Edit(content="two")), now=NOW + HOUR)
    store.backup(tmp_path / "backup.db")
    other = open_space("other")
    other.restore(tmp_path / "backup.db")
    for hour in (-1, 0, 1, 2):
        assert then(other, NOW + hour * HOUR) == then(store, NOW + hour * HOUR)


@of_every_engine
def test_what_is_written_while_the_past_is_read_is_not_seen(store: Store) -> None:
    """A reader that takes its time sees one moment, whoever writes meanwhile, and keeps nobody waiting."""
    stored = [add(store, f"number {n}") for n in range(5)]
    reading = store.held_at(NOW)
    seen = [next(reading)]
    add(store, "by the same thread")
    other = threading.Thread(target=add, args=(store, "by another thread"))
    other.start()
    other.join(timeout=10)
    assert not other.is_alive()
    for each in stored:
        apply(store, Weigh(id=each.id, signals=Signals(score=1)), now=NOW + HOUR)
    assert sorted([*seen, *reading], key=lambda each: each.id) == stored
    assert len(then(store, NOW)) == 7


@of_every_engine
def test_a_reader_that_gives_up_holds_nobody_up(store: Store) -> None:
    """The past need not be read to its end."""
    for n in range(3):
        add(store, f"number {n}")
    reading = store.held_at(NOW)
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    add(store, "afterwards")
    assert len(then(store, NOW)) == 4


@of_every_engine
def test_a_snapshot_is_one_moment_of_the_past_too(store: Store) -> None:
    """Within it, what was held is what was known to be held."""
    first = add(store, "one")
    with store.snapshot():
        assert store.count() == 1
        apply(store, Weigh(id=first.id, signals=Signals(score=1)), now=NOW + HOUR)
        assert then(store, NOW + DAY) == [first]
    assert [each.score for each in then(store, NOW + DAY)] == [1]


# --- Properties ------------------------------------------------------------------------------------------------------

numbers = st.integers(1, 4).map(MemoryId)
said = st.sampled_from(["one", "two", "three", "four"])
changes: st.SearchStrategy[Change] = st.one_of(
    st.builds(lambda text: Add(memory=memory(text), on_duplicate=AGAIN), said),
    st.builds(lambda text: Add(memory=memory(text, status=Status.ARCHIVED), on_duplicate=AGAIN), said),
    st.builds(lambda number, text: Revise(id=number, edit=Edit(content=text)), numbers, said),
    st.builds(lambda number: Weigh(id=number, signals=Signals(score=1)), numbers),
    st.builds(lambda number, status: Mark(id=number, status=status), numbers, st.sampled_from(Status)),
    st.builds(lambda number: Retag(id=number, add=("x",)), numbers),
    st.builds(lambda number: Rate(id=number, helpful=True, signals=Signals(strength=1)), numbers),
    st.builds(Clear),
)
requests = st.lists(changes, min_size=1, max_size=3)


def carried_out(store: Store, life: Iterable[tuple[datetime, list[Change]]]) -> None:
    """Do all that can be done; what is refused is refused as a whole."""
    for now, request in life:
        with suppress(RecollectError):
            apply(store, *request, now=now)


@pytest.mark.row("X15")
@pytest.mark.parametrize("engine", [MEMORY, SQLITE], ids=lambda engine: engine.name)
@given(life=st.lists(st.tuples(st.integers(0, 3), requests), min_size=1, max_size=12), data=st.data())
def test_what_was_held_is_what_the_changes_up_to_then_had_made(
    engine: Engine, tmp_path_factory: Any, life: list[tuple[int, list[Change]]], data: st.DataObject
) -> None:
    """For any history and any moment: the memories are those of a store that carried out nothing later."""
    moments = [NOW + sum(hours for hours, _ in life[: n + 1]) * HOUR for n in range(len(life))]
    dated = [(moment, request) for moment, (_, request) in zip(moments, life, strict=True)]
    store = engine.open(tmp_path_factory.mktemp("space"))
    carried_out(store, dated)
    assert then(store, NOW - TICK) == []
    for moment in {*moments, NOW, data.draw(st.sampled_from(moments)) + data.draw(st.sampled_from([TICK, -TICK]))}:
        replayed = MEMORY.open(Path())
        carried_out(replayed, [(at, request) for at, request in dated if at <= moment])
        assert then(store, moment) == now_in(replayed), moment
        replayed.close()
    store.close()


@pytest.mark.row("X15")
@given(life=st.lists(st.tuples(st.integers(-3, 3), requests), min_size=1, max_size=12))
def test_a_clock_that_jumps_leaves_one_state_for_every_moment(life: list[tuple[int, list[Change]]]) -> None:
    """A memory's states follow each other; one that was made while the clock was back begins when the last one ends."""
    store = MEMORY.open(Path())
    timelines: dict[MemoryId, list[tuple[datetime, Memory]]] = {}
    now = NOW
    for hours, request in life:
        now += hours * HOUR
        carried_out(store, [(now, request)])
        for each in now_in(store):
            timeline = timelines.setdefault(each.id, [])
            if not timeline or timeline[-1][1] != each:
                timeline.append((max(now, timeline[-1][0]) if timeline else now, each))
    for step in range(-40, 41):
        moment = NOW + step * HOUR
        expected = [
            [state for since, state in timeline if since <= moment][-1]
            for _, timeline in sorted(timelines.items())
            if timeline[0][0] <= moment
        ]
        assert then(store, moment) == expected, moment
    assert [held(store, number) for number in sorted(timelines)] == [
        timelines[number][-1][1] for number in sorted(timelines)
    ]
    store.close()
