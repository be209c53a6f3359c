"""Tending a memory: what proves itself, what has had its time, and what makes room; archived, never deleted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, cast

import pytest

import recollect
from recollect import Draft, Kind, Memory, Origin, Recollect, Status, Version
from recollect.engine.tending import Tended
from recollect.model import Change, Finding, Perform, Receipt, StepState
from recollect.policy.decay import importance_at
from recollect.store import Store, open_store
from recollect.testing import FixedClock

START = datetime(2026, 1, 1, tzinfo=UTC)
STORES = ["memory:", "{}/memory.db", "json:{}/memory.json"]
EVERY = [status.value for status in Status]
DEADLINE = 20.0
PLACES = ("billing", "search", "login", "email", "report", "export", "ledger", "backup")
THINGS = ("logs", "keys", "jobs", "data", "mail", "forms", "tables", "caches")
NOTES = [f"The {place} service keeps its {thing} in bucket {place[0]}{thing}" for place in PLACES for thing in THINGS]
"""Sentences that say different things."""


class Opener(Protocol):
    """Opens a memory of the store under test; a second time, what the first left is there if the store lasts."""

    def __call__(self, *, origin: Origin = Origin.OBSERVED, **settings: object) -> Recollect: ...


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture(params=STORES, ids=["memory", "sqlite", "json"])
def opened(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Opener]:
    """Without a background: what is tended is tended when the test says so."""
    with ExitStack() as memories:

        def open_one(*, origin: Origin = Origin.OBSERVED, **settings: object) -> Recollect:
            told = {"consolidate.mode": "off", **{key.replace("__", "."): value for key, value in settings.items()}}
            store = str(request.param).format(tmp_path)
            memory = recollect.open(store=store, clock=clock, settings=told, origin=origin, background=False)
            return memories.enter_context(memory)

        yield open_one


@pytest.fixture
def memory(opened: Opener) -> Recollect:
    return opened()


def all_of(memory: Recollect) -> list[tuple[Memory, tuple[Version, ...]]]:
    """Every memory there is, whatever its status, with its past."""
    found = memory.list({"status": EVERY}, order_by="id", limit=10_000)
    return [(each, memory.history(each.ref)) for each in found]


def live(memory: Recollect) -> list[int]:
    return sorted(each.id for each in memory.list(limit=10_000))


def archived(memory: Recollect) -> list[int]:
    return sorted(each.id for each in memory.list({"status": "archived"}, limit=10_000))


def use(memory: Recollect, question: str, times: int = 1) -> None:
    """Recall something, and have it noted."""
    for _ in range(times):
        assert memory.recall(question, limit=1, gate=False).hits
    memory._parts.habits.write()


def candidates(memory: Recollect, notes: Sequence[str]) -> None:
    """Findings that promote themselves: lessons from errors, important enough."""
    found = [Finding(content=note, kind=Kind.ERROR, importance=0.8, resolves=True) for note in notes]
    done = memory.promote_findings(found, session="s1")
    assert {each.remembered and each.remembered.memory.status for each in done} == {Status.CANDIDATE}


def head(memory: Recollect) -> str:
    return memory.status().spaces[0].audit_head


def sound(memory: Recollect) -> bool:
    """Whether the store of the project is in order, and its audit too."""
    return memory.verify_audit() == () and all(each.ok for each in memory.doctor() if each.name.startswith("project"))


# --- Time to live --------------------------------------------------------------------------------------------------

TTLS = {
    14: {Kind.TASK_PROGRESS, Kind.REASONING, Kind.TOOL_OUTPUT},
    21: {Kind.DISCOVERY, Kind.FILE_CHANGE},
    30: {Kind.WARNING},
    90: {Kind.DECISION, Kind.ERROR},
    180: {Kind.PATTERN, Kind.ARCHITECTURE},
    365: {Kind.PREFERENCE},
}
"""The document's table, and the two kinds of a task."""


def one_of_each_kind(memory: Recollect) -> None:
    memory.remember_many([Draft(content=note, kind=kind) for note, kind in zip(NOTES, Kind, strict=False)])


@pytest.mark.row("P19", "ttl")
@pytest.mark.parametrize("origin", [Origin.EXTRACTED, Origin.INFERRED])
def test_each_kind_leaves_when_its_time_is_up(opened: Opener, clock: FixedClock, origin: Origin) -> None:
    """Seen once past its days, and archived a day after that; what the table gives no time stays."""
    memory = opened(origin=origin)
    one_of_each_kind(memory)
    gone: set[Kind] = set()
    for ttl, kinds in TTLS.items():
        clock.now = START + timedelta(days=ttl)
        assert memory.tend() == Tended()
        clock.move(seconds=1)
        assert memory.tend() == Tended(seen=len(kinds))
        clock.move(hours=23, minutes=59)
        assert memory.tend() == Tended()
        clock.move(minutes=1)
        assert memory.tend().expired == len(kinds)
        gone |= kinds
        assert {each.kind for each in memory.list({"status": "archived"})} == gone
    clock.move(days=36_500)
    assert memory.tend() == memory.tend() == Tended()
    assert {each.kind for each in memory.list()} == set(Kind) - gone
    assert sound(memory)


@pytest.mark.row("P19", "exemptions")
@pytest.mark.parametrize("origin", sorted(set(Origin) - {Origin.EXTRACTED, Origin.INFERRED}))
def test_what_somebody_said_saw_or_brought_does_not_expire(opened: Opener, clock: FixedClock, origin: Origin) -> None:
    """Whatever its kind."""
    memory = opened(origin=origin)
    one_of_each_kind(memory)
    for _ in range(3):
        clock.move(days=4_000)
        assert memory.tend() == Tended()
    assert len(live(memory)) == len(Kind)


@pytest.mark.row("P19", "exemptions")
def test_what_is_pinned_or_was_used_three_times_outlives_its_ttl(opened: Opener, clock: FixedClock) -> None:
    """Used twice, it goes."""
    memory = opened(origin=Origin.EXTRACTED)
    memory.remember_many([Draft(content=note, kind=Kind.TASK_PROGRESS) for note in NOTES[:4]])
    memory.pin(1)
    use(memory, NOTES[1], times=3)
    use(memory, NOTES[2], times=2)
    assert [memory.get(number).access_count for number in (1, 2, 3, 4)] == [0, 3, 2, 0]
    for _ in range(3):
        clock.move(days=20)
        memory.tend()
    assert (live(memory), archived(memory)) == ([1, 2], [3, 4])


@pytest.mark.row("P19", "ttl")
def test_vouching_for_a_memory_starts_its_time_anew(opened: Opener, clock: FixedClock) -> None:
    """Also after it was seen to have expired: the sighting is over."""
    memory = opened(origin=Origin.EXTRACTED)
    memory.remember(NOTES[0], kind="task_progress")
    clock.move(days=15)
    assert memory.tend().seen == 1
    memory.confirm(1)
    clock.move(days=1)
    assert memory.tend() == Tended()
    clock.move(days=14)
    assert memory.tend() == Tended(seen=1)
    clock.move(days=1)
    assert memory.tend().expired == 1


@pytest.mark.row("P19", "ttl")
def test_ttls_are_settings(opened: Opener, clock: FixedClock) -> None:
    """Discoveries may go sooner, facts may go at all, and with 0 task progress stays for ever."""
    memory = opened(origin=Origin.EXTRACTED, ttl__discovery=2, ttl__fact=3, ttl__task_progress=0)
    kinds = (Kind.DISCOVERY, Kind.FACT, Kind.TASK_PROGRESS)
    memory.remember_many([Draft(content=note, kind=kind) for note, kind in zip(NOTES, kinds, strict=False)])
    clock.move(days=2, seconds=1)
    assert memory.tend().seen == 1
    clock.move(days=1)
    assert (memory.tend().expired, archived(memory)) == (1, [1])
    clock.move(days=1)
    memory.tend()
    clock.move(days=4_000)
    memory.tend()
    assert (live(memory), archived(memory)) == ([3], [1, 2])


# --- Clocks that jump ----------------------------------------------------------------------------------------------


@pytest.mark.row("P19", "ttl")
def test_a_clock_set_ten_years_ahead_archives_nothing(opened: Opener, clock: FixedClock) -> None:
    """Not at once; and once it is right again, nothing, until the true time has come."""
    memory = opened(origin=Origin.EXTRACTED)
    one_of_each_kind(memory)
    before = all_of(memory)
    clock.move(days=3_650)
    assert memory.tend() == Tended(seen=11)
    clock.move(hours=23)
    assert memory.tend() == Tended()
    clock.now = START + timedelta(hours=1)
    for _ in range(13):
        assert memory.tend() == Tended()
        clock.move(days=1)
    assert all_of(memory) == before


@pytest.mark.row("P19", "ttl")
def test_a_sighting_from_the_future_counts_from_now(opened: Opener, clock: FixedClock) -> None:
    """What a wrong clock noted neither hastens the true time nor puts it off."""
    memory = opened(origin=Origin.EXTRACTED)
    memory.remember(NOTES[0], kind="task_progress")
    clock.move(days=3_650)
    assert memory.tend().seen == 1
    clock.now = START + timedelta(days=15)
    assert memory.tend() == Tended(seen=1)
    clock.move(hours=23)
    assert memory.tend() == Tended()
    clock.move(hours=1)
    assert memory.tend().expired == 1


@pytest.mark.row("P19", "eviction")
def test_a_clock_set_back_makes_nobody_make_room(opened: Opener, clock: FixedClock) -> None:
    """What seems to be from the future is new."""
    memory = opened(capacity__soft_limit=10)
    memory.remember_many(NOTES[:12])
    clock.now = START - timedelta(days=400)
    assert memory.tend() == Tended()


@pytest.mark.parametrize("store", STORES[1:], ids=["sqlite", "json"])
def test_a_sighting_is_kept_from_one_opening_to_the_next(tmp_path: Path, clock: FixedClock, store: str) -> None:
    """Seen by one, archived by another."""
    place = store.format(tmp_path)

    def tended() -> Tended:
        with recollect.open(store=place, clock=clock, origin=Origin.EXTRACTED, background=False) as memory:
            memory.remember(NOTES[0], kind="task_progress") if not memory.count({}) else None
            return memory.tend()

    assert tended() == Tended()
    clock.move(days=15)
    assert tended() == Tended(seen=1)
    clock.move(days=1)
    assert tended().expired == 1


# --- What is archived is not gone ----------------------------------------------------------------------------------


@pytest.mark.row("K8", "archive", "searchable")
def test_what_was_archived_is_found_by_search_and_can_be_restored(opened: Opener, clock: FixedClock) -> None:
    """Recall passes it over; its words, its past and its id are all there."""
    memory = opened(origin=Origin.EXTRACTED)
    memory.remember(NOTES[0], kind="task_progress", tags=["billing"])
    for days in (15, 1):
        clock.move(days=days)
        memory.tend()
    assert not memory.recall(NOTES[0], gate=False).hits
    [hit] = memory.search(NOTES[0])
    assert (hit.memory.status, hit.memory.tags) == (Status.ARCHIVED, ("billing",))
    assert memory.restore(1).status is Status.CONFIRMED
    assert [each.memory.id for each in memory.recall(NOTES[0])] == [1]


@pytest.mark.row("P19", "ttl", "eviction")
def test_undoing_brings_everything_back_to_the_letter(opened: Opener, clock: FixedClock) -> None:
    """Every memory with its past is what it was before it was tended, a step at a time."""
    memory = opened(origin=Origin.EXTRACTED, capacity__soft_limit=12)
    memory.remember_many([Draft(content=note, kind=Kind.TASK_PROGRESS, importance=1.0) for note in NOTES[:3]])
    memory.remember_many(NOTES[3:13])
    candidates(memory, NOTES[13:15])
    use(memory, NOTES[13])
    clock.move(days=15)
    before = all_of(memory)
    first = memory.tend()
    assert (first.confirmed, first.penalised, first.evicted, first.seen) == (1, 1, 4, 3)
    clock.move(days=1)
    between = all_of(memory)
    second = memory.tend()
    assert (second.expired, second.evicted) == (3, 0)
    for done, as_it_was in ((second, between), (first, before)):
        carried = memory.plans.undo(done.plan)
        assert (carried.undone, carried.kept) == (done.expired + done.evicted + done.confirmed + done.penalised, 0)
        assert all_of(memory) == as_it_was
    assert sound(memory)


def test_what_somebody_changed_since_is_not_undone(opened: Opener, clock: FixedClock) -> None:
    """The others are."""
    memory = opened(origin=Origin.EXTRACTED)
    memory.remember_many([Draft(content=note, kind=Kind.TASK_PROGRESS) for note in NOTES[:2]])
    for days in (15, 1):
        clock.move(days=days)
        memory.tend()
    memory.tag(1, "kept")
    carried = memory.plans.undo()
    assert (carried.undone, carried.kept) == (1, 1)
    assert (live(memory), archived(memory)) == ([2], [1])


def test_the_time_of_what_is_brought_back_starts_anew(opened: Opener, clock: FixedClock) -> None:
    """Whoever restores a memory vouches for it."""
    memory = opened(origin=Origin.EXTRACTED)
    memory.remember(NOTES[0], kind="task_progress")
    for days in (15, 1):
        clock.move(days=days)
        memory.tend()
    memory.restore(1)
    clock.move(days=14)
    assert memory.tend() == Tended()
    clock.move(days=1)
    assert memory.tend() == Tended(seen=1)
    assert live(memory) == [1]


# --- Making room ---------------------------------------------------------------------------------------------------


def crowd(memory: Recollect, count: int) -> None:
    """Memories of the same age, the later the more important."""
    drafts = [Draft(content=note, importance=(number + 1) / 100) for number, note in enumerate(NOTES[:count])]
    memory.remember_many(drafts)


@pytest.mark.row("P19", "eviction")
@pytest.mark.row("E4", "eviction")
def test_above_the_limit_the_least_important_leave_down_to_the_lower_mark(opened: Opener, clock: FixedClock) -> None:
    """Thirty may stay; of one more, four leave, and twenty-seven are left."""
    memory = opened(capacity__soft_limit=30)
    crowd(memory, 30)
    clock.move(days=2)
    assert memory.tend() == Tended()
    memory.remember(NOTES[30], importance=0.31)
    clock.move(days=2)
    done = memory.tend()
    assert (done.evicted, archived(memory), len(live(memory))) == (4, [1, 2, 3, 4], 27)
    assert memory.tend() == Tended()
    assert done.plan is not None
    assert [each.why for each in memory.plans.describe(done.plan)] == [
        "more than 30 memories, and it is among the least important"
    ] * 4


def test_the_lower_mark_is_a_setting(opened: Opener, clock: FixedClock) -> None:
    """As the limit is; without one, nobody makes room."""
    memory = opened(capacity__soft_limit=10, capacity__evict_to=5)
    crowd(memory, 11)
    clock.move(days=2)
    assert (memory.tend().evicted, live(memory)) == (6, [7, 8, 9, 10, 11])


def test_without_a_limit_nobody_makes_room(memory: Recollect, clock: FixedClock) -> None:
    """Sixty-four memories, ten years on."""
    crowd(memory, len(NOTES))
    clock.move(days=3_650)
    assert memory.tend() == Tended()


@pytest.mark.row("P19", "exemptions")
def test_what_is_pinned_new_or_just_used_does_not_make_room(opened: Opener, clock: FixedClock) -> None:
    """However unimportant it is."""
    memory = opened(capacity__soft_limit=10)
    crowd(memory, 12)
    memory.pin(1)
    clock.move(days=30)
    use(memory, NOTES[1])
    memory.remember(NOTES[20], importance=0.0)
    clock.move(hours=23)
    assert memory.tend().evicted == 4
    assert archived(memory) == [3, 4, 5, 6]
    clock.move(hours=1)
    assert memory.get(2).access_count == 1


@pytest.mark.row("P19", "exemptions", "eviction")
def test_where_everything_is_new_all_of_it_stays(opened: Opener, clock: FixedClock) -> None:
    """More than the limit, until a day has passed."""
    memory = opened(capacity__soft_limit=10)
    crowd(memory, 20)
    clock.move(hours=23)
    assert memory.tend() == Tended()
    clock.move(hours=1)
    assert (memory.tend().evicted, len(live(memory))) == (11, 9)


@pytest.mark.row("P19", "decay", "eviction")
def test_importance_as_it_has_faded_decides(opened: Opener, clock: FixedClock) -> None:
    """What was important once and is never used leaves before what is small and in use."""
    memory = opened(capacity__soft_limit=10)
    memory.remember_many([Draft(content=note, importance=0.9) for note in NOTES[:6]])
    memory.remember_many([Draft(content=note, importance=0.2) for note in NOTES[6:12]])
    clock.move(days=700)
    for note in NOTES[6:12]:
        use(memory, note)
    clock.move(days=2)
    worth = {number: importance_at(memory.get(number), clock.now) for number in (1, 7)}
    assert worth[1] < worth[7]
    assert (memory.tend().evicted, live(memory)) == (3, [4, 5, 6, 7, 8, 9, 10, 11, 12])


@pytest.mark.row("P19", "ttl", "eviction")
def test_what_has_expired_leaves_first_and_may_make_room_enough(opened: Opener, clock: FixedClock) -> None:
    """Then nobody else has to."""
    memory = opened(origin=Origin.EXTRACTED, capacity__soft_limit=10)
    memory.remember_many([Draft(content=note, kind=Kind.TASK_PROGRESS, importance=0.9) for note in NOTES[:3]])
    memory.remember_many([Draft(content=note, importance=0.1) for note in NOTES[3:12]])
    clock.move(days=13, hours=23, minutes=59)
    for note in NOTES[:12]:
        use(memory, note)
    clock.move(hours=12)
    assert memory.tend() == Tended(seen=3)
    clock.move(days=1)
    done = memory.tend()
    assert (done.expired, done.evicted, archived(memory)) == (3, 0, [1, 2, 3])


@pytest.mark.row("P19", "eviction")
@pytest.mark.row("E4", "eviction")
@pytest.mark.parametrize("preset, limit, left", [("praxis", 3_000, 2_700), ("tiers", 1_000, 900)])
def test_the_documents_limits_are_presets(clock: FixedClock, preset: str, limit: int, left: int) -> None:
    """At the limit nobody leaves; one more, and a tenth makes room."""
    told = {"capacity.preset": preset, "recall.search": "fts5"}
    with recollect.open(store="memory:", clock=clock, settings=told, background=False) as memory:
        memory.remember_many([f"The ticket {number} was closed by reviewer {number * 7}" for number in range(limit)])
        clock.move(days=2)
        assert memory.tend() == Tended()
        memory.remember("One ticket too many")
        clock.move(days=2)
        done = memory.tend()
        assert (done.evicted, memory.count()) == (limit + 1 - left, left)
        assert memory.count({"status": EVERY}) == limit + 1


@pytest.mark.row("P19", "eviction")
@pytest.mark.parametrize("used", [False, True], ids=["penalised", "confirmed"])
def test_candidates_whose_waiting_is_over_make_room_too(opened: Opener, clock: FixedClock, used: bool) -> None:
    """What is told to have left has left, and no more are there than the lower mark says."""
    memory = opened(capacity__soft_limit=10)
    candidates(memory, NOTES[:12])
    for note in NOTES[:12] if used else ():
        use(memory, note)
    clock.move(days=2)
    done = memory.tend()
    assert done.evicted == len(archived(memory)) == 3
    assert len(live(memory)) == 9


# --- A store that is too large -------------------------------------------------------------------------------------


def filled(memory: Recollect, count: int = 200) -> int:
    """How large a store is that holds so many notes."""
    memory.remember_many([f"The ticket {number} was closed by reviewer {number * 7}" for number in range(count)])
    return memory._parts.project().size()


@pytest.fixture
def pruned(tmp_path: Path, clock: FixedClock) -> Iterator[Callable[..., Recollect]]:
    """A store of two hundred notes, opened with a limit that is a share of its size."""
    place = str(tmp_path / "memory.db")
    with recollect.open(store=place, clock=clock, settings={"recall.search": "fts5"}, background=False) as memory:
        size = filled(memory)
    clock.move(days=3)
    with ExitStack() as memories:

        def open_one(share: float, **settings: object) -> Recollect:
            told = {"recall.search": "fts5", "prune.max_size": int(size * share)}
            told |= {key.replace("__", "."): value for key, value in settings.items()}
            return memories.enter_context(recollect.open(store=place, clock=clock, settings=told, background=False))

        yield open_one


@pytest.mark.row("K8", "size-limit")
def test_below_the_size_limit_nothing_is_pruned(pruned: Callable[..., Recollect], clock: FixedClock) -> None:
    """A memory whose score is eight below nothing lives for ever if there is room."""
    memory = pruned(1.5)
    for _ in range(8):
        memory.demote(7)
    clock.move(days=3_650)
    assert memory.tend() == Tended()
    assert memory.get(7).score == -8


@pytest.mark.row("K8", "size-limit", "lowest-first", "archive", "searchable")
def test_above_it_the_bottom_percent_goes_to_the_archive(pruned: Callable[..., Recollect], clock: FixedClock) -> None:
    """Two of two hundred: the lowest by score and by when they last helped."""
    memory = pruned(0.95)
    memory.demote(11)
    memory.demote(23)
    memory.demote(23)
    memory.reinforce(1)
    clock.move(days=2)
    done = memory.tend()
    assert (done.pruned, archived(memory)) == (2, [11, 23])
    assert {each.memory.id for each in memory.search("ticket 22 closed by reviewer 154", limit=200)} >= {23}
    assert memory.restore(23).active


@pytest.mark.row("K8", "lowest-first")
@pytest.mark.parametrize("percent, gone", [(10, 20), (0.1, 1), (100, 200)])
def test_how_much_goes_at_a_time_is_a_setting(pruned: Callable[..., Recollect], percent: float, gone: int) -> None:
    """Rounded up."""
    assert pruned(0.95, prune__percent=percent).tend().pruned == gone


@pytest.mark.row("K8", "lowest-first")
def test_what_is_pinned_or_new_is_not_pruned(pruned: Callable[..., Recollect]) -> None:
    """Not even where everything has to go."""
    memory = pruned(0.5, prune__percent=100)
    memory.pin(5)
    new = memory.remember("The newest note of all").memory.id
    memory.tend()
    assert live(memory) == [5, new]


@pytest.mark.row("K8", "size-limit")
def test_a_store_whose_live_part_is_small_is_not_pruned_again_and_again(pruned: Callable[..., Recollect]) -> None:
    """The archive takes room too; were that counted, a store would be archived whole."""
    memory = pruned(0.9)
    for _ in range(200):
        if not memory.tend().pruned:
            break
    left = live(memory)
    assert 0 < len(left) < 200
    assert len(left) + len(archived(memory)) == 200
    before = head(memory)
    for _ in range(5):
        assert memory.tend() == Tended()
    assert (live(memory), head(memory)) == (left, before)


def test_tending_without_pruning_leaves_a_large_store_alone(pruned: Callable[..., Recollect]) -> None:
    """As the background does: the size is looked at on a schedule."""
    assert pruned(0.5).tend(prune=False) == Tended()


@pytest.mark.row("K8", "size-limit")
@pytest.mark.parametrize("store", ["memory:", "json:{}/memory.json"], ids=["memory", "json"])
def test_every_store_is_pruned_by_its_size(tmp_path: Path, clock: FixedClock, store: str) -> None:
    """In memory and as JSON."""
    told = {"recall.search": "fts5", "prune.max_size": 20_000, "prune.percent": 5}
    place = store.format(tmp_path)
    with recollect.open(store=place, clock=clock, settings=told, background=False) as memory:
        filled(memory, 100)
        clock.move(days=3)
        assert memory.tend().pruned == 5
        assert memory.count({"status": EVERY}) == 100


# --- Candidates ----------------------------------------------------------------------------------------------------


@pytest.mark.row("P4", "confirmed", "penalised", "recallable")
def test_after_a_day_a_used_candidate_is_confirmed_and_an_unused_one_loses_a_fifth(
    memory: Recollect, clock: FixedClock
) -> None:
    """Not a minute before; and it is recalled meanwhile, or it could never prove itself."""
    candidates(memory, NOTES[:2])
    use(memory, NOTES[0])
    clock.move(hours=23, minutes=59)
    assert memory.tend() == Tended()
    clock.move(minutes=1)
    done = memory.tend()
    assert (done.confirmed, done.penalised) == (1, 1)
    used, unused = memory.get(1), memory.get(2)
    assert (used.status, used.importance) == (Status.CONFIRMED, 0.8)
    assert (unused.status, unused.importance) == (Status.CANDIDATE, 0.64)
    assert [each.memory.id for each in memory.recall(NOTES[1], limit=1)] == [2]


@pytest.mark.row("P4", "penalised", "confirmed")
def test_the_fifth_is_lost_once_and_use_still_confirms(memory: Recollect, clock: FixedClock) -> None:
    """However often it is tended, and however late it is used."""
    candidates(memory, NOTES[:1])
    for _ in range(10):
        clock.move(days=3)
        memory.tend()
    assert memory.get(1).importance == 0.64
    use(memory, NOTES[0])
    assert memory.tend().confirmed == 1
    clock.move(days=3)
    assert memory.tend() == Tended()
    assert (memory.get(1).status, memory.get(1).importance) == (Status.CONFIRMED, 0.64)


@pytest.mark.row("P4", "penalised")
def test_a_penalty_that_was_undone_is_not_given_again(memory: Recollect, clock: FixedClock) -> None:
    """It was lost once."""
    candidates(memory, NOTES[:1])
    before = all_of(memory)
    clock.move(days=2)
    memory.plans.undo(memory.tend().plan)
    assert all_of(memory) == before
    clock.move(days=2)
    assert memory.tend() == Tended()


@pytest.mark.row("P4", "pinned")
def test_a_pinned_candidate_is_neither_penalised_nor_confirmed(memory: Recollect, clock: FixedClock) -> None:
    """It is pinned, and stays as important as it was."""
    candidates(memory, NOTES[:1])
    memory.pin(1)
    clock.move(days=500)
    assert memory.tend() == Tended()
    assert (memory.get(1).status, memory.get(1).importance) == (Status.PINNED, 0.8)


@pytest.mark.row("P4", "confirmed", "penalised")
def test_how_long_a_candidate_waits_is_a_setting(opened: Opener, clock: FixedClock) -> None:
    """Two hours, say."""
    memory = opened(promotion__quarantine_hours=2)
    candidates(memory, NOTES[:1])
    clock.move(hours=1, minutes=59)
    assert memory.tend() == Tended()
    clock.move(minutes=1)
    assert memory.tend().penalised == 1


def test_what_somebody_remembered_is_no_candidate(memory: Recollect, clock: FixedClock) -> None:
    """It has nothing to prove."""
    memory.remember(NOTES[0], importance=0.8)
    clock.move(days=30)
    assert memory.tend() == Tended()
    assert memory.get(1).importance == 0.8


class Killed(BaseException):
    """The process is gone."""


class Dying:
    """A store of a process that is killed just before it writes a change that `fatal` picks out."""

    def __init__(self, store: Store, fatal: Callable[[Change], bool]) -> None:
        self._store = store
        self._fatal = fatal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def apply(self, changes: Sequence[Change], *, actor: str, now: datetime, key: str | None = None) -> Receipt:
        wanted = tuple(changes)
        if any(map(self._fatal, wanted)):
            raise Killed
        return self._store.apply(wanted, actor=actor, now=now, key=key)


def takes_a_fifth(change: Change) -> bool:
    return isinstance(change, Perform)


@pytest.mark.row("P4", "penalised")
@pytest.mark.parametrize("fatal", [takes_a_fifth])
def test_the_fifth_is_lost_once_though_the_process_is_killed(
    tmp_path: Path, clock: FixedClock, fatal: Callable[[Change], bool]
) -> None:
    """Wherever that happens; tending goes on where it was."""
    place = str(tmp_path / "memory.db")
    with recollect.open(store=place, clock=clock, background=False) as memory:
        candidates(memory, NOTES[:1])
    clock.move(days=2)
    dying = cast(Store, Dying(open_store(place), fatal))
    with recollect.open(store=dying, clock=clock, background=False) as memory, suppress(Killed):
        memory.tend()
    with recollect.open(store=place, clock=clock, background=False) as memory:
        for _ in range(3):
            memory.tend()
            assert memory.get(1).importance == 0.64


# --- All of it, for a long time ------------------------------------------------------------------------------------


@pytest.mark.row("K8", "archive")
@pytest.mark.row("P19", "ttl", "eviction")
def test_nothing_is_ever_deleted(opened: Opener, clock: FixedClock) -> None:
    """Half a year of writing, using and tending: what there is only grows, and every word of it is still there."""
    memory = opened(origin=Origin.EXTRACTED, capacity__soft_limit=20, prune__max_size=1, prune__percent=3)
    there: dict[int, str] = {}
    for week in range(26):
        for number in range(2):
            at = (2 * week + number) % len(NOTES)
            memory.remember(NOTES[at], kind=list(Kind)[at % len(Kind)])
        if week % 5 == 0:
            use(memory, NOTES[2 * week % len(NOTES)])
        clock.move(days=7 if week % 3 else 1)
        memory.tend()
        now = {int(each.id): each.content for each, _ in all_of(memory)}
        assert there.items() <= now.items()
        there = now
    states = {each.status for each, _ in all_of(memory)}
    assert states == {Status.CONFIRMED, Status.ARCHIVED}
    assert len(there) == 52
    assert sound(memory)


def test_tending_writes_nothing_where_there_is_nothing_to_do(memory: Recollect, clock: FixedClock) -> None:
    """Not even that it looked."""
    memory.remember_many(NOTES[:5])
    clock.move(days=5)
    before = head(memory)
    assert memory.tend() == Tended()
    assert (head(memory), memory.plans.list()) == (before, ())


def test_each_space_is_tended_for_itself(opened: Opener, clock: FixedClock) -> None:
    """The global one only when it is asked for."""
    memory = opened(capacity__soft_limit=10)
    memory.remember_many([Draft(content=note, scope=recollect.Scope.GLOBAL) for note in NOTES[:11]])
    memory.remember_many(NOTES[:5])
    clock.move(days=2)
    assert memory.tend() == Tended()
    assert memory.tend(space="global").evicted == 2
    assert (memory.count(), memory.count(space="global")) == (5, 9)
    assert [each.sort for each in memory.plans.list(space="global")] == ["tending"]


def test_a_plan_of_tending_can_be_read(opened: Opener, clock: FixedClock) -> None:
    """What was done, why, and what each memory was before."""
    memory = opened(origin=Origin.EXTRACTED)
    memory.remember(NOTES[0], kind="task_progress")
    clock.move(days=15)
    memory.tend()
    clock.move(days=1)
    done = memory.tend()
    [plan] = memory.plans.list()
    assert (plan.id, plan.sort, plan.states, plan.retires) == (done.plan, "tending", {StepState.DONE: 1}, 0)
    [step] = memory.plans.describe(done.plan)
    assert (step.sort, step.state, step.retires) == ("expire", "done", True)
    assert step.why == "past the TTL of its kind for a day or longer"
    assert NOTES[0] in "".join(step.before)


@pytest.mark.row("J11", "half-lives")
def test_a_half_life_that_is_set_counts_in_the_ranking(opened: Opener, clock: FixedClock) -> None:
    """A fact that fades in a day is hardly believed after ten."""
    memory = opened(halflife__fact=1)
    memory.remember(NOTES[0])
    clock.move(days=10)
    [hit] = memory.recall(NOTES[0], profile="cascade", gate=False)
    assert next(each.value for each in hit.why if each.factor == "confidence") < 0.001


@pytest.mark.row("J11", "half-lives")
def test_a_half_life_that_is_set_counts_in_the_garden(opened: Opener, clock: FixedClock) -> None:
    """What fades in a day is proposed for the archive after ten, and what does not is not."""
    for half_life, proposed in ((1, ["weak"]), (3_000, [])):
        memory = opened(halflife__fact=half_life)
        if not memory.count():
            memory.remember(NOTES[0])
        clock.now = START + timedelta(days=100)
        plan = memory.plans.make(clusters=False)
        assert [step.sort for step in memory.plans.describe(plan.id)] == proposed if plan else proposed == []
        memory.close()
        clock.now = START


# --- In the background ---------------------------------------------------------------------------------------------


def wait_for(there: Callable[[], bool], seconds: float = DEADLINE) -> bool:
    """Whether something comes true in time."""
    until = time.monotonic() + seconds
    while not there() and time.monotonic() < until:
        time.sleep(0.01)
    return there()


def at_rest(memory: Recollect) -> bool:
    """Whether the background has tended what was opened and gone to sleep, so that the clock can be moved."""
    background = memory._background
    assert background is not None
    return wait_for(lambda: memory._tended == 0 and background._thread is None)


@pytest.fixture
def crowded(tmp_path: Path, clock: FixedClock) -> Callable[..., Recollect]:
    """A store on disk with eleven memories, all with vectors, that opens with room for ten."""
    place = str(tmp_path / "memory.db")
    with recollect.open(store=place, clock=clock, settings={"consolidate.mode": "off"}, background=False) as memory:
        crowd(memory, 11)
        memory.embed_pending()

    def open_one(**settings: object) -> Recollect:
        told = {"consolidate.mode": "off", "capacity.soft_limit": 10}
        told |= {key.replace("__", "."): value for key, value in settings.items()}
        return recollect.open(store=place, clock=clock, settings=told)

    return open_one


@pytest.mark.row("P19", "on-load")
def test_a_memory_is_tended_when_it_is_opened_and_written_to(
    crowded: Callable[..., Recollect], clock: FixedClock
) -> None:
    """Nobody asks for it and nobody waits for it."""
    clock.move(days=2)
    with crowded() as memory:
        memory.remember(NOTES[40], importance=0.9)
        assert wait_for(lambda: memory.count() == 9)
        assert archived(memory) == [1, 2, 3]
        assert memory.plans.undo().undone == 3


@pytest.mark.row("P19", "on-load")
def test_a_memory_is_tended_when_it_is_opened_and_only_read(
    crowded: Callable[..., Recollect], clock: FixedClock
) -> None:
    """Whoever opens it may never write."""
    clock.move(days=2)
    with crowded() as memory:
        memory.recall(NOTES[10])
        assert wait_for(lambda: memory.count() == 9, seconds=4.0)


@pytest.mark.row("P19", "on-access")
def test_a_memory_is_tended_again_after_so_many_accesses(crowded: Callable[..., Recollect], clock: FixedClock) -> None:
    """When it was opened all were too new to leave; many recalls later some are not."""
    with crowded(capacity__evict_every=50) as memory:
        memory.remember(NOTES[40], importance=0.9)
        assert at_rest(memory)
        clock.move(days=2)
        for _ in range(70):
            memory.recall(NOTES[10], limit=1, gate=False)
        assert wait_for(lambda: memory.count() == 9)
        assert archived(memory) == [1, 2, 3]


@pytest.mark.row("P19", "on-access")
def test_before_that_it_is_not_tended_again(crowded: Callable[..., Recollect], clock: FixedClock) -> None:
    """Seventy accesses are not yet a hundred."""
    with crowded(capacity__evict_every=100) as memory:
        memory.remember(NOTES[40], importance=0.9)
        assert at_rest(memory)
        clock.move(days=2)
        for _ in range(70):
            memory.recall(NOTES[10], limit=1, gate=False)
        assert wait_for(lambda: memory.get(11).access_count >= 64)
        assert memory.count() == 12


@pytest.mark.row("P19", "on-access")
def test_accesses_are_counted_and_not_recalls(crowded: Callable[..., Recollect], clock: FixedClock) -> None:
    """Six recalls of ten memories each are sixty accesses, which is more than fifty."""
    with crowded(capacity__evict_every=50) as memory:
        memory.remember(NOTES[40], importance=0.9)
        assert at_rest(memory)
        clock.move(days=2)
        for _ in range(6):
            assert len(memory.recall("service keeps its bucket", gate=False, limit=10)) == 10
        assert memory._parts.habits.accesses == 60
        assert wait_for(lambda: memory.count() < 12, seconds=4.0)


@pytest.mark.row("P19", "on-load")
def test_a_background_that_is_not_wanted_tends_nothing(tmp_path: Path, clock: FixedClock) -> None:
    """Then `tend` is the only way."""
    told = {"consolidate.mode": "off", "capacity.soft_limit": 10}
    with recollect.open(store=str(tmp_path / "memory.db"), clock=clock, settings=told, background=False) as memory:
        crowd(memory, 12)
        clock.move(days=2)
        memory.remember(NOTES[40])
        assert memory._background is None
        assert memory.count() == 13
        assert memory.tend().evicted == 4


@pytest.mark.row("P19", "eviction")
def test_two_who_tend_at_once_do_it_once(tmp_path: Path, clock: FixedClock) -> None:
    """Each memory leaves by one plan, and no more leave than would have by one."""
    place, told = str(tmp_path / "memory.db"), {"consolidate.mode": "off", "capacity.soft_limit": 30}
    with ExitStack() as stack:
        both = [
            stack.enter_context(
                recollect.open(store=place, clock=clock, settings=told, origin=Origin.EXTRACTED, background=False)
            )
            for _ in range(2)
        ]
        both[0].remember_many([Draft(content=note, kind=Kind.TASK_PROGRESS) for note in NOTES[:10]])
        both[0].remember_many(NOTES[10:50])
        for days in (15, 1):
            clock.move(days=days)
            with ThreadPoolExecutor(2) as threads:
                list(threads.map(Recollect.tend, both))
        memory = both[0]
        assert len(live(memory)) == 27
        assert {each.version for each in memory.list({"status": "archived"})} == {2}
        assert sum(plan.states.get(StepState.DONE, 0) for plan in memory.plans.list()) == 23
        assert sound(memory)
