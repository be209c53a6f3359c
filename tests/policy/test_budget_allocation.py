"""Budgets: the documents' tables, and what holds whatever the numbers are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.model import Allocation, Recollected, Scope, Tier
from recollect.policy.budget import (
    PART_OF,
    SHARES,
    LeftOut,
    Packed,
    Part,
    Use,
    allocate,
    ceilings_of,
    learned,
    pack,
    settled,
    shares,
)

TABLE = {
    100_000: (5_000, 400, 2_300, 1_500, 600),
    50_000: (4_000, 320, 1_840, 1_196, 600),
    20_000: (1_600, 200, 700, 500, 200),
    8_000: (640, 200, 500, 300, 200),
}
"""Remaining context: total, always-inject, context bridge, retrieval, session summary."""

TASK, PROJECT, SHARED = Scope.TASK, Scope.PROJECT, Scope.GLOBAL
sizes = st.integers(-1_000, 300_000)
portions = st.floats(0.001, 1)
tops = st.integers(0, 20_000)


# --- The table ------------------------------------------------------------------------------------------------------


@pytest.mark.row("P12", "table")
@pytest.mark.parametrize("remaining, tokens", TABLE.items())
def test_the_table_holds_to_the_token(remaining: int, tokens: tuple[int, ...]) -> None:
    """At the four sizes of the document the allocation is the document's."""
    assert astuple(allocate(remaining)) == tokens


@pytest.mark.row("P12", "table")
@pytest.mark.parametrize(
    "remaining, tokens",
    [
        pytest.param(14_000, (1_120, 200, 600, 400, 200), id="half way from 8k to 20k"),
        pytest.param(35_000, (2_800, 260, 1_270, 848, 400), id="half way from 20k to 50k"),
        pytest.param(62_500, (5_000, 340, 1_955, 1_272, 600), id="the total is at its ceiling"),
        pytest.param(75_000, (5_000, 360, 2_070, 1_348, 600), id="half way from 50k to 100k"),
        pytest.param(4_000, (320, 100, 250, 150, 100), id="half of the least row"),
        pytest.param(100, (8, 2, 6, 3, 2), id="next to nothing"),
        pytest.param(12, (0, 0, 0, 0, 0), id="less than a token"),
        pytest.param(0, (0, 0, 0, 0, 0), id="nothing"),
        pytest.param(-5, (0, 0, 0, 0, 0), id="less than nothing"),
        pytest.param(1_000_000, TABLE[100_000], id="beyond the table"),
        pytest.param(None, TABLE[100_000], id="unknown"),
    ],
)
def test_between_and_beyond_the_rows(remaining: int | None, tokens: tuple[int, ...]) -> None:
    """Parts are linear between rows and shrink with the total below them; the total has its own formula."""
    assert astuple(allocate(remaining)) == tokens


@pytest.mark.parametrize(
    "allocation, same",
    [
        pytest.param(allocate(25_000, share=0.16), allocate(50_000), id="twice the share at half the size"),
        pytest.param(allocate(None, share=0.04), allocate(50_000), id="half the share of an unknown size"),
        pytest.param(
            allocate(100_000, ceiling=10_000),
            Allocation(total=8_000, pinned=640, bridge=3_680, found=2_392, summary=1_200),
            id="twice the ceiling: the 50k row, doubled",
        ),
        pytest.param(
            allocate(100_000, ceiling=500),
            Allocation(total=500, pinned=40, bridge=230, found=150, summary=60),
            id="a tenth of the ceiling: the 100k row, a tenth",
        ),
        pytest.param(
            allocate(100_000, ceiling=0), Allocation(total=0, pinned=0, bridge=0, found=0, summary=0), id="nothing"
        ),
        pytest.param(
            allocate(8_000, pinned=600, bridge=0, summary=10_000),
            Allocation(total=640, pinned=600, bridge=0, found=300, summary=640),
            id="ceilings of one's own, up to the total",
        ),
        pytest.param(allocate(0, pinned=600), allocate(0), id="nothing is left for anybody"),
        pytest.param(allocate(0, share=1.0), allocate(0), id="all of nothing"),
    ],
)
def test_other_shares_and_ceilings_scale_the_table(allocation: Allocation, same: Allocation) -> None:
    """The share says where the table is read, the ceiling how large it is, and a part's own ceiling replaces it."""
    assert allocation == same


@given(remaining=sizes, share=portions, ceiling=tops)
def test_an_allocation_stays_within_its_share(remaining: int, share: float, ceiling: int) -> None:
    """The total is the share up to the ceiling, in whole tokens; no part is more than it, and none is negative."""
    got = allocate(remaining, share=share, ceiling=ceiling)
    exact = min(max(0, remaining) * share, ceiling)
    assert exact - 1 < got.total <= exact + 1e-6
    assert all(0 <= tokens <= got.total for tokens in astuple(got))


@given(first=sizes, second=sizes, share=portions, ceiling=tops)
def test_more_context_never_gives_less(first: int, second: int, share: float, ceiling: int) -> None:
    """Total and parts all grow with what is left, and with the share."""
    less, more = sorted((first, second))
    small, large = allocate(less, share=share, ceiling=ceiling), allocate(more, share=share, ceiling=ceiling)
    assert all(one <= other for one, other in zip(astuple(small), astuple(large), strict=True))
    wide = allocate(less, share=min(1.0, 2 * share), ceiling=ceiling)
    assert all(one <= other for one, other in zip(astuple(small), astuple(wide), strict=True))


@given(low=st.sampled_from([8_000, 20_000, 50_000]), part=st.floats(0, 1))
def test_parts_lie_on_the_line_between_two_rows(low: int, part: float) -> None:
    """Between two rows each part is as far from one as the size is."""
    high = next(above for above in sorted(TABLE) if above > low)
    remaining = round(low + part * (high - low))
    for got, below, above in zip(astuple(allocate(remaining))[1:], TABLE[low][1:], TABLE[high][1:], strict=True):
        assert got == pytest.approx(below + (above - below) * (remaining - low) / (high - low), abs=1)


@pytest.mark.parametrize(
    "refused, field",
    [
        (lambda: allocate(1, share=0), "share"),
        (lambda: allocate(1, share=-0.1), "share"),
        (lambda: allocate(1, share=1.1), "share"),
        (lambda: allocate(1, share=math.nan), "share"),
        (lambda: allocate(1, share=math.inf), "share"),
        (lambda: allocate(1, ceiling=-1), "ceiling"),
        (lambda: allocate(1, found=-1), "found"),
    ],
)
def test_an_allocation_that_means_nothing_is_refused(refused: Callable[[], Allocation], field: str) -> None:
    """Shares outside 0 to 1 and ceilings below nothing are errors that name the field."""
    with pytest.raises(InvalidInput) as caught:
        refused()
    assert caught.value.field == field


def test_parts_and_tiers_agree() -> None:
    """Every tier belongs to a part; ceilings come in the order in which parts are filled."""
    assert set(PART_OF) == set(Tier)
    assert ceilings_of(allocate(100_000)) == dict(zip(Part, (400, 2_300, 1_500, 600), strict=True))
    assert list(ceilings_of(allocate(0))) == [Part.PINNED, Part.BRIDGE, Part.FOUND, Part.SUMMARY]


# --- Shares ---------------------------------------------------------------------------------------------------------


@pytest.mark.row("E7", "shares")
@pytest.mark.parametrize(
    "budget, named, tokens",
    [
        (1_000, {}, (400, 400, 200)),
        (1_001, {}, (400, 400, 200)),
        (3, {}, (1, 1, 0)),
        (0, {}, (0, 0, 0)),
        (1_000, {"task": 0.7, "project": 0.2, "shared": 0.1}, (700, 200, 100)),
        (100, {"task": 0.29, "project": 0.57, "shared": 0.14}, (29, 57, 14)),
        (1_000, {"task": 0.8, "project": 0.8, "shared": 0.4}, (400, 400, 200)),
        (1_000, {"task": 0.1, "project": 0.1, "shared": 0.1}, (100, 100, 100)),
    ],
)
def test_a_budget_is_divided_by_tier(budget: int, named: dict[str, float], tokens: tuple[int, ...]) -> None:
    """40/40/20 in whole tokens, or what is asked for; too much is scaled down."""
    assert shares(budget, **named) == dict(zip((TASK, PROJECT, SHARED), tokens, strict=True))


weights = st.floats(1e-6, 10)


@given(budget=st.integers(0, 10**15), task=weights, project=weights, shared=weights)
def test_shares_never_sum_to_more_than_the_budget(budget: int, task: float, project: float, shared: float) -> None:
    """Whatever is asked for, the parts are whole, not negative and together within the budget."""
    got = shares(budget, task=task, project=project, shared=shared)
    assert sum(got.values()) <= budget
    assert min(got.values()) >= 0


@pytest.mark.row("E7", "by-request", "by-profile")
@pytest.mark.parametrize(
    "profile, request_, expected",
    [
        pytest.param(None, None, (0.4, 0.4, 0.2), id="defaults"),
        pytest.param({TASK: 0.7}, None, (0.7, 0.2, 0.1), id="a profile; the others divide the rest"),
        pytest.param(None, {SHARED: 0.5}, (0.25, 0.25, 0.5), id="a request"),
        pytest.param({TASK: 0.7}, {TASK: 0.1}, (0.1, 0.6, 0.3), id="a request over the profile"),
        pytest.param({TASK: 0.7}, {PROJECT: 0.6}, (0.35, 0.6, 0.05), id="a request beside a profile"),
        pytest.param({TASK: 0.6, PROJECT: 0.3, SHARED: 0.1}, None, (0.6, 0.3, 0.1), id="all named"),
        pytest.param({}, {}, (0.4, 0.4, 0.2), id="nothing named"),
    ],
)
def test_requests_and_profiles_change_the_division(
    profile: dict[Scope, float] | None, request_: dict[Scope, float] | None, expected: tuple[float, ...]
) -> None:
    """What is named last holds; the others divide the rest in proportion to what they had."""
    got = settled(profile=profile, request=request_)
    assert list(got) == [TASK, PROJECT, SHARED]
    assert tuple(got.values()) == pytest.approx(expected)


@pytest.mark.parametrize("share", [0, -0.1, math.nan, math.inf, -math.inf])
def test_shares_that_are_none_are_refused(share: float) -> None:
    """Zero, negative and non-finite shares are errors, wherever they come from."""
    for refused in (
        lambda: shares(100, task=share),
        lambda: shares(100, shared=share),
        lambda: settled(profile={PROJECT: share}),
        lambda: settled(request={PROJECT: share}),
        lambda: learned({**SHARES, TASK: share}, {}),
    ):
        with pytest.raises(InvalidInput):
            refused()


@pytest.mark.parametrize(
    "refused, field",
    [
        (lambda: shares(-1), "budget"),
        (lambda: settled(request={TASK: 1.0}), "request"),
        (lambda: settled(profile={TASK: 0.6, PROJECT: 0.5}), "profile"),
        (lambda: settled(profile={TASK: 0.6, PROJECT: 0.5, SHARED: 0.1}), "profile"),
        (lambda: settled(request={Scope.SESSION: 0.2}), "request"),
    ],
)
def test_a_division_that_cannot_be_is_refused(refused: Callable[[], object], field: str) -> None:
    """Shares that leave nothing for the others, or of what has no share, are errors that name where they stood."""
    with pytest.raises(InvalidInput) as caught:
        refused()
    assert caught.value.field == field


# --- Shares that learn ----------------------------------------------------------------------------------------------

uses = st.integers(0, 200_000).flatmap(lambda given: st.builds(Use, given=st.just(given), useful=st.integers(0, given)))
evidence = st.fixed_dictionaries({TASK: uses, PROJECT: uses, SHARED: uses})
divisions = st.tuples(*[st.floats(0.1, 1)] * 3).map(
    lambda some: dict(zip((TASK, PROJECT, SHARED), (one / sum(some) for one in some), strict=True))
)


def repeated(times: int, used: dict[Scope, Use]) -> dict[Scope, float]:
    held = dict(SHARES)
    for _ in range(times):
        held = learned(held, used)
    return held


@pytest.mark.row("E11")
def test_shares_follow_what_was_used() -> None:
    """A tier whose items help more than others' gains a little each time, and those that help less lose."""
    used = {TASK: Use(given=40_000, useful=4_000), PROJECT: Use(given=40_000, useful=30_000), SHARED: Use(given=20_000)}
    once, twice, often = (repeated(times, used) for times in (1, 2, 200))
    assert SHARES[PROJECT] < once[PROJECT] < twice[PROJECT] < often[PROJECT] <= 0.7
    assert SHARES[TASK] > once[TASK] > often[TASK]
    assert often[SHARED] == pytest.approx(0.1)
    assert once[PROJECT] - SHARES[PROJECT] < 0.1


@pytest.mark.row("E11")
def test_the_formula_is_the_one_that_is_documented() -> None:
    """One step, worked out by hand."""
    used = {TASK: Use(given=5_000, useful=5_000), PROJECT: Use(given=5_000), SHARED: Use()}
    # The average is 1/2; the rates are (5000 + 2500) / 10000, 2500 / 10000 and 2500 / 5000, so 1.5, 0.5 and 1 times it.
    aims = (0.6, 0.2, 0.2)
    expected = {scope: SHARES[scope] + 0.5 * (aim - SHARES[scope]) for scope, aim in zip(SHARES, aims, strict=True)}
    assert learned(SHARES, used, weight=0.5) == pytest.approx(expected)


@pytest.mark.row("E11")
@given(held=divisions, used=evidence, weight=st.floats(0, 1))
def test_learned_shares_are_shares(held: dict[Scope, float], used: dict[Scope, Use], weight: float) -> None:
    """They sum to 1 within their bounds, come the same every time, and can be used to divide a budget."""
    got = learned(held, used, weight=weight)
    assert sum(got.values()) == pytest.approx(1)
    assert all(0.1 <= share <= 0.7 for share in got.values())
    assert got == learned(held, used, weight=weight)
    assert sum(shares(1_000, task=got[TASK], project=got[PROJECT], shared=got[SHARED]).values()) <= 1_000


@given(start=divisions, used=evidence, weight=st.floats(0, 1))
def test_one_step_is_a_small_one(start: dict[Scope, float], used: dict[Scope, Use], weight: float) -> None:
    """From shares within bounds, no step is longer than the weight allows."""
    held = learned(start, {}, weight=0)
    got = learned(held, used, weight=weight)
    assert math.dist(list(held.values()), list(got.values())) <= weight * math.sqrt(2) + 1e-9


@given(held=divisions, given_=st.integers(0, 50_000))
def test_shares_go_back_without_evidence(held: dict[Scope, float], given_: int) -> None:
    """Each step without anything useful is nearer to the defaults, and they are reached."""
    used = dict.fromkeys(SHARES, Use(given=given_))
    path = [learned(held, {}, weight=0)]
    for _ in range(60):
        path.append(learned(path[-1], used))
    far = [math.dist(list(SHARES.values()), list(step.values())) for step in path]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(far))
    assert far[-1] < 1e-4


@given(rate=st.floats(0.1, 1), tokens=st.tuples(*[st.integers(1_000, 100_000)] * 3))
def test_being_given_more_is_no_merit(rate: float, tokens: tuple[int, ...]) -> None:
    """Tiers that are useful at the same rate keep the defaults, however much of each was given."""
    used = {scope: Use(given=given, useful=round(given * rate)) for scope, given in zip(SHARES, tokens, strict=True)}
    assert learned(SHARES, used) == pytest.approx(SHARES, abs=1e-3)


@given(used=evidence, more=st.integers(1, 10_000))
def test_more_use_never_lowers_a_share(used: dict[Scope, Use], more: int) -> None:
    """The same tokens with more of them useful give a tier at least as much."""
    task = used[TASK]
    better = Use(given=task.given, useful=min(task.given, task.useful + more))
    # With nothing useful at all there is no evidence, and the defaults may be more than a first success is worth.
    if any(use.useful for use in used.values()):
        assert learned(SHARES, {**used, TASK: better})[TASK] >= learned(SHARES, used)[TASK] - 1e-9


def test_another_base_is_what_shares_go_back_to() -> None:
    """A profile's own division takes the place of the defaults."""
    base = {TASK: 0.2, PROJECT: 0.5, SHARED: 0.3}
    assert learned(base, {}, base=base) == pytest.approx(base)
    assert learned(SHARES, {}, base=base, weight=1) == pytest.approx(base)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: learned(SHARES, {}, least=0.4),
        lambda: learned(SHARES, {}, least=0),
        lambda: learned(SHARES, {}, most=0.3),
        lambda: learned(SHARES, {}, most=1.1),
        lambda: learned(SHARES, {}, least=math.nan),
        lambda: learned(SHARES, {}, weight=1.5),
        lambda: learned(SHARES, {}, weight=math.nan),
        lambda: learned({TASK: 1.0}, {}),
        lambda: learned({}, {}, base={}),
        lambda: learned(SHARES, {TASK: Use(given=1, useful=2)}),
        lambda: learned(SHARES, {TASK: Use(given=-1, useful=-1)}),
    ],
)
def test_learning_from_what_cannot_be_is_refused(refused: Callable[[], object]) -> None:
    """Bounds that no shares meet, other tiers and impossible counts are errors."""
    with pytest.raises(InvalidInput):
        refused()


# --- Packing --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Item:
    """Something with a cost and a part, told from others by its number."""

    number: int
    part: str
    cost: int


def items(*some: tuple[str, int]) -> list[Item]:
    return [Item(number, part, cost) for number, (part, cost) in enumerate(some)]


def packed(candidates: list[Item], ceilings: dict[str, int], total: int, head_tail: int = 0) -> Packed[Item]:
    return pack(
        candidates,
        tokens=lambda item: item.cost,
        part=lambda item: item.part,
        ceilings=ceilings,
        total=total,
        head_tail=head_tail,
    )


def numbers(got: Packed[Item]) -> list[int]:
    return [item.number for item in got.chosen]


PART_OVER, TOTAL_OVER = "over the part's budget", "over the total"


@pytest.mark.parametrize(
    "some, ceilings, total, chosen, reasons",
    [
        pytest.param([("a", 3), ("a", 4)], {"a": 9}, 9, [0, 1], {}, id="all fits"),
        pytest.param([("a", 9)], {"a": 9}, 9, [0], {}, id="to the last token"),
        pytest.param([("a", 5), ("a", 5), ("a", 3)], {"a": 9}, 99, [0, 2], {1: PART_OVER}, id="a smaller one later"),
        pytest.param([("a", 2), ("a", 8), ("a", 1)], {"a": 9}, 99, [0, 2], {1: PART_OVER}, id="the better one stays"),
        pytest.param([("b", 6), ("a", 6)], {"a": 9, "b": 9}, 10, [1], {0: TOTAL_OVER}, id="parts in their order"),
        pytest.param([("b", 6), ("a", 6)], {"b": 9, "a": 9}, 10, [0], {1: TOTAL_OVER}, id="in the other order"),
        pytest.param([("a", 11)], {"a": 9}, 10, [], {0: PART_OVER}, id="over both: the part says so first"),
        pytest.param([("a", 1)], {"a": 0}, 10, [], {0: PART_OVER}, id="a part with nothing"),
        pytest.param([("a", 1)], {"a": 1}, 0, [], {0: TOTAL_OVER}, id="a total of nothing"),
        pytest.param([("a", 0)], {"a": 0}, 0, [0], {}, id="what costs nothing fits"),
        pytest.param([], {"a": 1}, 1, [], {}, id="no candidates"),
    ],
)
def test_whole_items_fill_parts_in_order(
    some: list[tuple[str, int]], ceilings: dict[str, int], total: int, chosen: list[int], reasons: dict[int, str]
) -> None:
    """What fits goes in, what does not is skipped with the reason, and results keep their order."""
    got = packed(items(*some), ceilings, total)
    assert numbers(got) == chosen
    assert {one.item.number: one.reason for one in got.left} == reasons


@pytest.mark.row("E7", "head-tail")
@pytest.mark.parametrize(
    "head_tail, chosen",
    [(0, [0, 1, 2]), (1, [0, 1, 5]), (2, [0, 1, 5]), (3, [0, 1, 2]), (9, [0, 1, 2])],
)
def test_head_and_tail_come_before_the_middle(head_tail: int, chosen: list[int]) -> None:
    """The first and last few are considered first; where they are everything, the order is as it was."""
    candidates = items(("a", 3), ("a", 3), ("a", 3), ("a", 3), ("a", 4), ("a", 3))
    assert numbers(packed(candidates, {"a": 9}, 9, head_tail)) == chosen


@pytest.mark.row("E7", "head-tail")
def test_head_and_tail_survive_whatever_their_part() -> None:
    """The last of the order goes in though its part is filled after another that could take it all."""
    candidates = items(("b", 2), ("a", 4), ("a", 4), ("b", 2))
    assert numbers(packed(candidates, {"a": 10, "b": 10}, 8)) == [1, 2]
    assert numbers(packed(candidates, {"a": 10, "b": 10}, 8, head_tail=1)) == [0, 1, 3]


@pytest.mark.row("E7", "compression")
@pytest.mark.parametrize(
    "costs, total, compression",
    [([], 5, 1.0), ([0, 0], 5, 1.0), ([2, 3], 5, 1.0), ([2, 6], 5, 0.25), ([6], 5, 0.0), ([0, 6], 5, 0.0)],
)
def test_compression_is_what_was_chosen_of_all(costs: list[int], total: int, compression: float) -> None:
    """Chosen tokens over all tokens; 1 when there is nothing."""
    assert packed(items(*(("a", cost) for cost in costs)), {"a": 99}, total).compression == compression


PARTS = ("a", "b", "c")
candidate_lists = st.lists(st.tuples(st.sampled_from(PARTS), st.integers(0, 20)), max_size=14).map(
    lambda some: items(*some)
)
ceiling_maps = st.permutations(PARTS).flatmap(
    lambda order: st.tuples(*[st.integers(0, 40)] * 3).map(lambda most: dict(zip(order, most, strict=True)))
)
totals = st.integers(0, 60)


@given(candidates=candidate_lists, ceilings=ceiling_maps, total=totals, head_tail=st.integers(0, 5))
def test_packing_keeps_every_bound(
    candidates: list[Item], ceilings: dict[str, int], total: int, head_tail: int
) -> None:
    """Within the total, every part within its ceiling, order kept, nothing cut, nothing lost, and each reason true."""
    got = packed(candidates, ceilings, total, head_tail)
    spent = {part: sum(item.cost for item in got.chosen if item.part == part) for part in PARTS}
    assert got.tokens == sum(spent.values()) <= total
    assert all(spent[part] <= ceilings[part] for part in PARTS)
    assert numbers(got) == sorted(numbers(got))
    assert [one.item.number for one in got.left] == sorted(one.item.number for one in got.left)
    assert sorted([*got.chosen, *(one.item for one in got.left)], key=lambda item: item.number) == candidates
    for one in got.left:
        room = ceilings[one.item.part] - spent[one.item.part] if one.reason == PART_OVER else total - got.tokens
        assert one.item.cost > room
    assert 0 <= got.compression <= 1


@given(candidates=candidate_lists, ceilings=ceiling_maps, total=totals)
def test_nothing_gives_way_to_what_is_preferred_less(
    candidates: list[Item], ceilings: dict[str, int], total: int
) -> None:
    """An item that was left out would not fit on top of what was preferred to it."""
    got = packed(candidates, ceilings, total)
    order = list(ceilings)

    def turn(item: Item) -> tuple[int, int]:
        return order.index(item.part), item.number

    for one in got.left:
        before = [item for item in got.chosen if turn(item) < turn(one.item)]
        own = sum(item.cost for item in before if item.part == one.item.part)
        assert (
            own + one.item.cost > ceilings[one.item.part] or sum(item.cost for item in before) + one.item.cost > total
        )


@given(candidates=candidate_lists, ceilings=ceiling_maps, total=totals, more=st.integers(0, 20))
def test_a_larger_total_reaches_as_far_at_least(
    candidates: list[Item], ceilings: dict[str, int], total: int, more: int
) -> None:
    """What went in before the first item that was over the total still does; and with room for all, all goes in."""
    order = list(ceilings)
    turns = sorted(candidates, key=lambda item: (order.index(item.part), item.number))
    small, large = packed(candidates, ceilings, total), packed(candidates, ceilings, total + more)
    over = {one.item for one in small.left if one.reason == TOTAL_OVER}
    first = next((at for at, item in enumerate(turns) if item in over), len(turns))
    assert {item for item in turns[:first] if item in small.chosen} <= set(large.chosen)
    everything = sum(item.cost for item in candidates)
    assert packed(candidates, dict.fromkeys(PARTS, everything), everything).chosen == tuple(candidates)


def test_an_allocation_is_filled_with_a_recollection() -> None:
    """Pinned and acting share one ceiling; what is pinned comes before the bridge, that before finds and summaries."""
    allocation = allocate(8_000)
    offered = [
        Recollected(tier=tier, text=f"{tier} {number}", tokens=120)
        for tier in (Tier.SUMMARY, Tier.FOUND, Tier.BRIDGE, Tier.ACTING, Tier.PINNED)
        for number in (1, 2)
    ]
    got = pack(
        offered,
        tokens=lambda item: item.tokens,
        part=lambda item: PART_OF[item.tier],
        ceilings=ceilings_of(allocation),
        total=allocation.total,
    )
    assert [item.text for item in got.chosen] == ["found 1", "found 2", "bridge 1", "bridge 2", "acting 1"]
    assert LeftOut(item=offered[0], reason="over the total") in got.left
    assert got.tokens == 600


@pytest.mark.parametrize(
    "refused, field",
    [
        (lambda: packed(items(("a", -1)), {"a": 1}, 1), "tokens"),
        (lambda: packed(items(("z", 1)), {"a": 1}, 1), "part"),
        (lambda: packed([], {"a": 1}, 1, head_tail=-1), "head_tail"),
    ],
)
def test_packing_what_cannot_be_is_refused(refused: Callable[[], object], field: str) -> None:
    """Costs below nothing, parts without a ceiling and a negative head and tail are errors."""
    with pytest.raises(InvalidInput) as caught:
        refused()
    assert caught.value.field == field
