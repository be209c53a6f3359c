"""Budgets: nothing is overdrawn however processes take turns, and what is refused says why and until when."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.codec import decode, encode
from recollect.policy.budgets import (
    BURST,
    KINDS_KEPT,
    MILLION,
    OTHERS,
    Book,
    Caps,
    Cost,
    Decision,
    Measure,
    exhausted,
    lines,
    reserve,
    settle,
)
from recollect.policy.patience import (
    ITEMS_KEPT,
    LONGEST,
    MOST_TRIES,
    OPENS,
    PAUSE,
    Breaker,
    Tries,
    admitted,
    after_failure,
    is_slow,
    percentile,
    tried,
)

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CAPS = Caps(
    hour={"calls": 6, "tokens": 1_000, "money": 900},
    day={"calls": 9, "tokens": 1_500, "money": 1_400},
    cpu_share=0.5,
    price_in=0.5,
    price_out=1.25,
)
AMPLE = Caps(cpu_share=1_000)

# One move of somebody: to ask for so many calls and tokens, to settle with a part of them, to die, or time passing.
ASKS = st.tuples(st.just("ask"), st.integers(0, 3), st.integers(0, 400))
SETTLES = st.tuples(st.just("settle"), st.integers(0, 7), st.floats(0, 1))
DIES = st.tuples(st.just("die"), st.integers(0, 7), st.just(0))
PASSES = st.tuples(st.just("pass"), st.sampled_from((1, 1_700, 3_600)), st.just(0))


@pytest.mark.row("X3", "tokens", "calls")
@given(st.lists(st.one_of(ASKS, ASKS, SETTLES, DIES, PASSES), max_size=80))
def test_no_interleaving_overdraws_a_budget(moves: list[tuple[str, int, float]]) -> None:
    """What was really spent in an hour or a day is never more than the budget, whoever asks, settles or dies when."""
    book, now = Book(), NOON
    waiting: list[Decision] = []
    spent: list[tuple[datetime, Cost]] = []  # what was really spent, or may be by whoever was told yes
    for move, first, second in moves:
        if move == "pass":
            now += timedelta(seconds=first)
        elif move == "ask":
            book, decision = reserve(book, CAPS, "judge", CAPS.worst(calls=first, tokens=int(second)), now)
            waiting += [decision] if decision else []
        elif waiting:
            decision = waiting.pop(first % len(waiting))
            used = int(decision.held.tokens * second)
            cost = CAPS.cost(calls=decision.held.calls, sent=used // 2, received=used - used // 2)
            if move == "settle":
                book = settle(book, CAPS, decision, cost, now)
            spent.append((decision.at or now, cost if move == "settle" else decision.held))
        every = [*spent, *((decision.at or now, decision.held) for decision in waiting)]
        assert overdrawn(every) == []


def overdrawn(spent: list[tuple[datetime, Cost]]) -> list[tuple[str, str]]:
    """The budgets that what was spent at these moments overdraws, by counting it up."""
    totals: dict[tuple[str, str], Cost] = defaultdict(Cost)
    for at, cost in spent:
        for spell, moment in (("hour", at.strftime("%Y-%m-%d %H")), ("day", at.strftime("%Y-%m-%d"))):
            totals[spell, moment] = totals[spell, moment].plus(cost)
    limits = {"hour": CAPS.hour, "day": CAPS.day}
    return [
        (moment, name)
        for (spell, moment), total in totals.items()
        for name, limit in limits[spell].items()
        if getattr(total, name) > (limit or 0)
    ]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 500), st.floats(0, 1)), max_size=20))
def test_what_is_charged_is_what_was_really_spent_once_all_is_settled(work: list[tuple[str, int, float]]) -> None:
    """Setting aside and settling leaves neither a debt nor a gift, in the whole and for each kind."""
    book, real = Book(), Cost()
    for kind, tokens, share in work:
        book, decision = reserve(book, AMPLE, kind, AMPLE.worst(calls=1, tokens=tokens), NOON)
        cost = AMPLE.cost(calls=1, sent=int(tokens * share))
        book = settle(book, AMPLE, decision, cost, NOON)
        real = real.plus(cost)
    if work:
        assert book.hour is not None
        assert book.hour.spent == real
        parts = Cost()
        for _, part in book.hour.kinds:
            parts = parts.plus(part)
        assert parts == real


def test_what_is_left_of_an_hour_that_is_over_is_no_gift_to_the_next() -> None:
    """It goes back to the day only."""
    book, early = reserve(Book(), CAPS, "judge", CAPS.worst(calls=1, tokens=500), NOON)
    later = NOON + timedelta(hours=1)
    book, _ = reserve(book, CAPS, "judge", CAPS.worst(calls=1, tokens=400), later)
    book = settle(book, CAPS, early, CAPS.cost(calls=1, sent=100), later)
    assert book.hour is not None
    assert book.day is not None
    assert (book.hour.spent.tokens, book.day.spent.tokens) == (400, 500)


def test_work_that_cost_more_than_it_said_is_charged_in_full() -> None:
    """And nothing else begins until the hour is over."""
    book, decision = reserve(Book(), CAPS, "judge", CAPS.worst(calls=1, tokens=100), NOON)
    book = settle(book, CAPS, decision, CAPS.cost(calls=1, sent=1_200), NOON)
    assert book.hour is not None
    assert book.hour.spent.tokens == 1_200
    _, refused = reserve(book, CAPS, "judge", CAPS.worst(calls=1, tokens=1), NOON)
    assert not refused
    assert refused.until == NOON + timedelta(hours=1)
    _, later = reserve(book, CAPS, "judge", CAPS.worst(calls=1, tokens=1), NOON + timedelta(hours=1))
    assert later


@pytest.mark.row("X3", "degrades")
@pytest.mark.parametrize(
    "caps, cost, reason",
    [
        (
            Caps(hour={"calls": 0}),
            Cost(calls=1),
            "used up its calls for this hour (0 of 0); until it is over, rules do",
        ),
        (Caps(day={"tokens": 10}), Cost(tokens=11), "tokens for this day (0 of 10, and this needs 11); until"),
        (
            Caps(hour={"money": MILLION}),
            Cost(money=MILLION + 1),
            "money for this hour (0 of 1, and this needs 1.000001)",
        ),
        (Caps(hour={"wall": 0}), Cost(), "its seconds at work for this hour (0 of 0)"),
        (Caps(cpu_share=0), Cost(), "has had its 0% of a processor; it goes on shortly"),
    ],
)
def test_a_refusal_says_what_is_spent_and_what_is_done_instead(caps: Caps, cost: Cost, reason: str) -> None:
    """In words for people, with the moment at which to ask again."""
    _, refused = reserve(Book(), caps, "judge", cost, NOON)
    assert not refused
    assert reason in refused.reason
    assert refused.until is not None
    assert refused.until > NOON


def test_what_needs_nothing_of_a_spent_budget_goes_on() -> None:
    """Rules call no model, so that no calls are left does not stop them."""
    caps = Caps(hour={"calls": 0, "tokens": 0, "money": 0})
    assert reserve(Book(), caps, "garden", Cost(), NOON)[1]


@pytest.mark.row("X3", "cpu")
@given(st.lists(st.tuples(st.floats(0, 300), st.floats(0, 20)), max_size=40), st.floats(0.01, 2))
def test_the_processor_is_shared_out_over_time(pieces: list[tuple[float, float]], share: float) -> None:
    """Never more than the share of the time that passed, a burst, and the one piece that overdrew it."""
    caps = replace(AMPLE, cpu_share=share)
    book, now, used, largest = Book(), NOON, 0.0, 0.0
    for pause, seconds in pieces:
        now += timedelta(seconds=pause)
        book, decision = reserve(book, caps, "garden", Cost(), now)
        if decision:
            book = settle(book, caps, decision, Cost(cpu=seconds), now)
            used, largest = used + seconds, max(largest, seconds)
        else:
            assert decision.until is not None
            assert decision.until > now
            assert reserve(book, caps, "garden", Cost(), max(decision.until, now))[1]
        passed = (now - NOON).total_seconds()
        assert used <= share * passed + share * BURST + largest + 1e-6


def test_a_clock_set_back_gives_nothing_back() -> None:
    """Not within the hour and not to the hour before; only another day altogether begins anew."""
    book, _ = reserve(Book(), CAPS, "judge", Cost(calls=6), NOON)
    for back in (timedelta(minutes=1), timedelta(minutes=50)):
        assert not reserve(book, CAPS, "judge", Cost(calls=1), NOON - back)[1]
    assert reserve(book, CAPS, "judge", Cost(calls=1), NOON - timedelta(days=40))[1]


def test_a_book_that_is_lost_leaves_nothing_for_this_hour() -> None:
    """Not knowing what was spent is no leave to spend it again; the next hour is a new one."""
    book = exhausted(CAPS, NOON)
    for cost in (Cost(calls=1), Cost(tokens=1), Cost(money=1)):
        assert not reserve(book, CAPS, "judge", cost, NOON)[1]
        assert reserve(book, CAPS, "judge", cost, NOON + timedelta(hours=1))[1]


@pytest.mark.row("X3", "spend")
def test_every_budget_is_a_line_for_people() -> None:
    """With what is spent, what is left and when it begins anew; money in units."""
    book, decision = reserve(Book(), CAPS, "judge", CAPS.worst(calls=2, tokens=400), NOON)
    book = settle(book, CAPS, decision, CAPS.cost(calls=2, sent=200, received=100, wall=1.5, cpu=2.0), NOON)
    shown = {(each.measure, each.spell): each for each in lines(book, CAPS, NOON + timedelta(minutes=1))}
    assert set(shown) == {(name.value, spell) for name in Measure for spell in ("hour", "day")} | {("cpu", "minute")}
    money = shown["money", "hour"]
    assert (money.spent, money.limit, money.left) == (225 / MILLION, 900 / MILLION, 675 / MILLION)
    assert shown["tokens", "day"].left == 1_200
    assert shown["wall", "day"].limit is None
    assert shown["wall", "day"].left is None
    assert shown["calls", "day"].until == NOON + timedelta(hours=12)
    assert shown["cpu", "minute"].spent == 0  # two seconds drain in four


def test_kinds_beyond_measure_are_told_together() -> None:
    """A kind with a name of its own for each piece does not make the book grow."""
    book = Book()
    for number in range(KINDS_KEPT + 10):
        book, decision = reserve(book, AMPLE, f"kind {number}", Cost(calls=2), NOON)
        book = settle(book, AMPLE, decision, Cost(calls=1), NOON)
    assert book.day is not None
    assert len(book.day.kinds) == KINDS_KEPT + 1
    assert dict(book.day.kinds)[OTHERS] == Cost(calls=10)


@given(st.integers(0, 5), st.integers(0, 1_000), st.floats(0, 100))
def test_a_book_is_the_same_when_it_was_written_down(calls: int, tokens: int, cpu: float) -> None:
    """It travels through JSON without loss."""
    book, decision = reserve(Book(), AMPLE, "judge", Cost(calls=calls, tokens=tokens), NOON)
    book = settle(book, AMPLE, decision, Cost(calls=calls, cpu=cpu), NOON)
    breaker = after_failure(Breaker(kind="judge"), NOON)
    book = replace(book, breakers=(breaker,), tries=tried((), "b2:1", "too long", NOON))
    assert decode(Book, encode(book)) == book


# Patience


@given(st.lists(st.tuples(st.integers(0, 7_200), st.booleans()), max_size=120))
def test_failing_work_is_never_tried_in_a_tight_loop(moves: list[tuple[int, bool]]) -> None:
    """Once open, tries are at least a pause apart; a success at any of them closes it."""
    breaker, now, last = Breaker(kind="judge"), NOON, NOON - PAUSE
    for seconds, works in moves:
        now += timedelta(seconds=seconds)
        was = breaker
        begun = admitted(breaker, now)
        if begun is None:
            assert was.until is not None
            assert now < was.until
            continue
        if was.state != "closed":
            assert now - last >= PAUSE
            assert admitted(begun, now) is None, "one at a time"
        last = now
        breaker = Breaker(kind="judge") if works else after_failure(begun, now)
        assert breaker.state == ("open" if breaker.failures >= OPENS else "closed")


def test_pauses_double_up_to_the_longest() -> None:
    """And a prober that never comes back holds the others up only as long."""
    breaker, pauses = Breaker(kind="judge"), []
    for _ in range(OPENS + 10):
        breaker = after_failure(breaker, NOON)
        if breaker.until is not None:
            pauses.append(breaker.until - NOON)
    assert pauses[:3] == [PAUSE, PAUSE * 2, PAUSE * 4]
    assert pauses[-1] == LONGEST
    probing = admitted(breaker, NOON + LONGEST)
    assert probing is not None
    assert probing.state == "probing"
    assert admitted(probing, NOON + LONGEST + timedelta(minutes=59)) is None
    assert admitted(probing, NOON + LONGEST * 2) is not None
    assert admitted(breaker, NOON - timedelta(days=1)) is not None, "a clock that was set back holds nothing up"


@given(st.lists(st.sampled_from("abcd"), max_size=40))
def test_an_item_is_parked_after_five_tries(items: list[str]) -> None:
    """Each on its own account."""
    known: tuple[Tries, ...] = ()
    for number, item in enumerate(items):
        known = tried(known, item, "why", NOON + timedelta(seconds=number))
    assert {each.item: each.count for each in known} == {item: items.count(item) for item in items}
    assert {each.item for each in known if each.parked} == {item for item in items if items.count(item) >= MOST_TRIES}


def test_tries_do_not_pile_up_and_parked_items_stay() -> None:
    """The longest ago leave, unless they are parked."""
    known = tuple(Tries(item=f"{n}", count=1, last=NOON + timedelta(seconds=n)) for n in range(ITEMS_KEPT))
    known = (replace(known[0], count=MOST_TRIES), *known[1:])
    after = tried(known, "new", "", NOON)
    assert len(after) == ITEMS_KEPT
    assert {"0", "new"} <= {each.item for each in after}
    assert "1" not in {each.item for each in after}


@given(st.lists(st.floats(0, 10_000), min_size=1, max_size=150))
def test_the_percentile_is_the_least_that_covers_its_share(latencies: list[float]) -> None:
    """As somebody would count it by hand."""
    high = percentile(latencies)
    assert sum(each <= high for each in latencies) >= 0.95 * len(latencies)
    assert sum(each < high for each in latencies) < 0.95 * len(latencies)


@pytest.mark.parametrize(
    "latencies, was, slow",
    [
        pytest.param([900] * 4, False, False, marks=pytest.mark.row("P10", "few-samples")),
        pytest.param([10] * 4, True, True, marks=pytest.mark.row("P10", "few-samples")),
        pytest.param([301] * 5, False, True, marks=pytest.mark.row("P10", "degrades")),
        ([300] * 5, False, False),
        ([250] * 50, True, True),
        ([250] * 50, False, False),
        ([200] * 50, True, True),
        pytest.param([199] * 50, True, False, marks=pytest.mark.row("P10", "recovers")),
        ([10] * 95 + [900] * 5, False, False),
        ([10] * 94 + [900] * 6, False, True),
    ],
)
def test_slow_recalls_degrade_and_healthy_ones_recover(latencies: list[float], was: bool, slow: bool) -> None:
    """Above 300 ms less is done, below 200 ms everything again, between them it stays."""
    assert is_slow(latencies, was, least=5, degrade=300, healthy=200) is slow
