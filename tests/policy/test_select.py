"""Selection: who stays, who leaves, and what is told about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Anchor, Hit, Kind, Memory
from recollect.model import Uid
from recollect.policy.select import RENEWAL, Left, Renewal, chosen, drop_worst, gate, renewed, top
from recollect.policy.words import stems_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LONG = (
    "the nightly export of the billing ledger runs on the reporting replica and writes parquet files to the archive "
    "bucket owned by finance"
)

Step = Callable[[Sequence[Hit], Left], list[Hit]]


def hit(
    number: int,
    content: str = "",
    *,
    score: float = 1.0,
    relevance: float = 1.0,
    session: str | None = None,
    age: int = 0,
    kind: Kind = Kind.FACT,
    tags: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
) -> Hit:
    """A result; without a content, one that says something of its own."""
    created = NOW - timedelta(days=age)
    memory = Memory(
        id=number,  # type: ignore[arg-type]
        uid=Uid(f"{number:08x}-0000-4000-8000-000000000000"),
        content=content or f"thing{number} alone",
        session_id=session,
        created_at=created,
        updated_at=created,
        kind=kind,
        tags=tags,
        anchors=tuple(Anchor(path=path) for path in files),
    )
    return Hit(memory=memory, score=score, why=(), relevance=relevance)


TEXTS = ["", LONG, f"{LONG} today", f"{LONG} 7", f"{LONG} not", "deploys go out from main"]


@st.composite
def rankings(draw: st.DrawFn) -> list[Hit]:
    """Results in order, some of them copies, some of one session."""
    scores = sorted(draw(st.lists(st.floats(0.01, 1), max_size=10)), reverse=True)
    return [
        hit(
            number,
            draw(st.sampled_from(TEXTS)),
            score=score,
            relevance=draw(st.floats(0, 1)),
            session=draw(st.sampled_from([None, "s1", "s2"])),
            age=draw(st.integers(0, 3)),
            kind=draw(st.sampled_from([Kind.FACT, Kind.CORRECTION])),
            tags=draw(st.sampled_from([(), ("ops",)])),
            files=draw(st.sampled_from([(), ("a.py",)])),
        )
        for number, score in enumerate(scores, start=1)
    ]


STEPS: dict[str, Step] = {
    "gate": lambda hits, left: gate(hits, 0.5, left),
    "limit": lambda hits, left: top(hits, 3, left),
    "worst": lambda hits, left: drop_worst(hits, 0.3, left),
    "source": lambda hits, left: chosen(hits, 100, left, per_source=2, said=None),
    "copy": lambda hits, left: chosen(hits, 100, left, per_source=None, said={}),
    "all": lambda hits, left: chosen(hits, 3, left, per_source=1, said={}),
}


def numbers(hits: Sequence[Hit]) -> list[int]:
    """Which, in order."""
    return [each.memory.id for each in hits]


# Every step


@pytest.mark.row("X14", "absence")
@pytest.mark.parametrize("name", STEPS)
@given(hits=rankings())
def test_what_stays_and_what_left_is_everything(name: str, hits: list[Hit]) -> None:
    """Nobody leaves unnoticed, nobody who stays is told to have left, and the order stays."""
    left = Left()
    kept = STEPS[name](hits, left)
    assert numbers(kept) == [number for number in numbers(hits) if number in set(numbers(kept))]
    assert {each.memory.uid for each in kept}.isdisjoint(left.steps)
    assert {each.memory.uid for each in kept} | set(left.steps) == {each.memory.uid for each in hits}
    for step, detail in left.steps.values():
        assert step in {"gate", "limit", "worst", "source", "copy"}
        assert detail


@pytest.mark.parametrize("name", STEPS)
@given(hits=rankings())
def test_doing_a_step_again_changes_nothing(name: str, hits: list[Hit]) -> None:
    """Except where a share of what is there is to leave."""
    kept = STEPS[name](hits, Left())
    if name != "worst":
        assert STEPS[name](kept, Left()) == kept


def test_the_first_step_at_which_a_memory_left_is_the_one_that_counts() -> None:
    """Later ones do not see it any more."""
    left = Left()
    left.tell(hit(1), "gate", "relevance 0.10 is below 0.30")
    left.tell(hit(1), "limit", "place 9 of 5")
    assert left.steps == {hit(1).memory.uid: ("gate", "relevance 0.10 is below 0.30")}


# One by one


@pytest.mark.parametrize("least, kept", [(0.0, [1, 2, 3]), (0.3, [1, 2]), (0.31, [1]), (1.0, [])])
def test_the_gate_lets_through_what_is_relevant_enough(least: float, kept: list[int]) -> None:
    """And tells the others by how much they missed it."""
    hits = [hit(1, relevance=0.9), hit(2, relevance=0.3), hit(3, relevance=0.0)]
    left = Left()
    assert numbers(gate(hits, least, left)) == kept
    assert [detail for _, detail in left.steps.values()] == [
        f"relevance {each.relevance:.2f} is below {least:.2f}" for each in hits if each.memory.id not in kept
    ]


@given(rankings(), st.integers(0, 12))
def test_a_limit_keeps_the_first(hits: list[Hit], most: int) -> None:
    """As many as there are, if they are fewer."""
    left = Left()
    assert top(hits, most, left) == hits[:most]
    assert set(left.steps) == {each.memory.uid for each in hits[most:]}


def test_a_limit_tells_the_place_and_the_score_that_was_needed() -> None:
    """So that a person sees how far it was."""
    left = Left()
    top([hit(1, score=0.5), hit(2, score=0.25)], 1, left)
    assert left.steps[hit(2).memory.uid] == ("limit", "place 2 of 1; score 0.250, the last one in has 0.500")


@pytest.mark.row("P9", "limits")
@pytest.mark.parametrize("there, stay", [(0, 0), (1, 1), (3, 3), (4, 3), (10, 7), (15, 11)])
def test_the_worst_three_in_ten_are_dropped(there: int, stay: int) -> None:
    """Rounded in favour of those who are there."""
    left = Left()
    assert numbers(drop_worst([hit(number) for number in range(there)], 0.3, left)) == list(range(stay))
    assert {step for step, _ in left.steps.values()} <= {"worst"}


@pytest.mark.row("P9", "limits")
@given(rankings(), st.integers(1, 4))
def test_no_session_gives_more_than_its_share(hits: list[Hit], most: int) -> None:
    """The best of each; what belongs to no session is not limited."""
    left = Left()
    kept = chosen(hits, 100, left, per_source=most, said=None)
    for session in ("s1", "s2"):
        theirs = [each.memory.id for each in hits if each.memory.session_id == session]
        assert [each.memory.id for each in kept if each.memory.session_id == session] == theirs[:most]
    assert [each for each in kept if each.memory.session_id is None] == [
        each for each in hits if each.memory.session_id is None
    ]


def test_what_makes_room_is_filled_from_below() -> None:
    """A copy or one too many of a session does not take a place from what comes after it."""
    hits = [
        hit(1, LONG, session="s1"),
        hit(2, f"{LONG} today"),
        hit(3, session="s1"),
        hit(4, session="s1"),
        hit(5),
        hit(6),
    ]
    left = Left()
    assert numbers(chosen(hits, 3, left, per_source=2, said={})) == [1, 3, 5]
    assert [step for step, _ in left.steps.values()] == ["copy", "source", "limit"]


# Copies


@pytest.mark.parametrize("changed", [LONG, LONG.upper(), f"{LONG}!", f"  {LONG}  ", f"{LONG} today"])
def test_of_two_that_say_nearly_the_same_the_better_one_stays(changed: str) -> None:
    """And the other is told of which it is a copy."""
    left = Left()
    assert numbers(chosen([hit(1, LONG), hit(2, changed)], 10, left, per_source=None, said={})) == [1]
    assert left.steps[hit(2).memory.uid] == ("copy", "says nearly the same as [id:1]")
    assert numbers(chosen([hit(1, LONG), hit(2, changed)], 10, Left(), per_source=None, said=None)) == [1, 2]


@pytest.mark.parametrize(
    "word",
    [
        *("5", "v2", "2026", "not", "no", "never", "without", "cannot", "neither", "nor", "can't", "don't", "doesn't"),
        *("didn't", "isn't", "aren't", "wasn't", "weren't", "won't", "wouldn't", "shouldn't", "couldn't", "hasn't"),
        *("haven't", "hadn't", "mustn't"),
    ],
)
def test_a_number_or_a_negation_makes_a_difference(word: str) -> None:
    """Even in a long text, wherever it stands."""
    words = LONG.split()
    for at in (0, 5, len(words)):
        changed = " ".join([*words[:at], word, *words[at:]])
        for pair in ([hit(1, LONG), hit(2, changed)], [hit(1, changed), hit(2, LONG)]):
            assert numbers(chosen(pair, 10, Left(), per_source=None, said={})) == [1, 2]


def test_another_number_makes_a_difference() -> None:
    """The same sentence about another version says something else."""
    pair = [hit(1, f"{LONG} since version 4"), hit(2, f"{LONG} since version 5")]
    assert numbers(chosen(pair, 10, Left(), per_source=None, said={})) == [1, 2]


def test_texts_without_words_are_no_copies_of_each_other() -> None:
    """There is nothing to compare."""
    assert numbers(chosen([hit(1, "🚀"), hit(2, "🔥")], 10, Left(), per_source=None, said={})) == [1, 2]


# What is newer


def renew(hits: Sequence[Hit], *, rule: Renewal = RENEWAL, reach: int = 20) -> list[Hit]:
    """Every word is worth the same."""
    bags = {each.memory.uid: frozenset(stems_of(each.memory.content).split()) for each in hits}
    return renewed(hits, bags, {word: 1.0 for bag in bags.values() for word in bag}, rule=rule, reach=reach)


@given(rankings(), st.integers(0, 12))
def test_renewal_neither_loses_nor_doubles_a_hit(hits: list[Hit], reach: int) -> None:
    """And leaves what is beyond its reach where it is."""
    found = renew(hits, reach=reach)
    assert sorted(numbers(found)) == sorted(numbers(hits))
    assert found[reach:] == hits[reach:]


@given(rankings())
def test_only_something_newer_and_relevant_enough_is_put_before_something_better(hits: list[Hit]) -> None:
    """Whoever overtook, overtook one that is older than itself and not too far ahead of it."""
    found = renew(hits)
    for place, each in enumerate(hits):
        overtaken = [other for other in hits[:place] if found.index(other) > found.index(each)]
        assert not overtaken or any(
            each.memory.created_at > other.memory.created_at and each.score >= RENEWAL.relevance * other.score
            for other in overtaken
        )


def the_pair(**newer: object) -> list[Hit]:
    """An old memory that answers a little better, and a new one on the same thing."""
    return [
        hit(1, "The export runs on the reporting replica", score=1.0, age=50, tags=("export",), files=("job.py",)),
        hit(2, **{"content": "The export now runs on the primary", "score": 0.9, **newer}),  # type: ignore[arg-type]
    ]


def test_what_is_newer_on_the_same_thing_comes_first() -> None:
    """It says how it is now."""
    assert numbers(renew(the_pair(tags=("export",), files=("job.py",)))) == [2, 1]


@pytest.mark.parametrize(
    "newer",
    [
        {"age": 50},
        {"age": 80},
        {"score": 0.01},
        {"content": "Lunch is at noon", "kind": Kind.PREFERENCE, "tags": (), "files": ()},
    ],
    ids=["as old", "older", "hardly relevant", "about something else"],
)
def test_what_is_not_newer_or_not_on_the_same_thing_stays_behind(newer: dict[str, object]) -> None:
    """However much else they share."""
    assert numbers(renew(the_pair(**{"tags": ("export",), "files": ("job.py",), **newer}))) == [1, 2]


@given(rankings())
def test_a_rule_that_asks_too_much_changes_nothing(hits: list[Hit]) -> None:
    """Where nothing can be enough."""
    assert renew(hits, rule=Renewal(least=1_000.0)) == hits


def test_of_several_newer_ones_the_one_that_is_most_on_the_same_thing_comes_first() -> None:
    """The others keep their places."""
    old, close = the_pair(tags=("export",), files=("job.py",))
    other = hit(3, "The import runs on the reporting replica", score=0.95, age=1, tags=("export",))
    found = numbers(renew([old, other, close]))
    assert found.index(2) < found.index(1)
    assert sorted(found) == [1, 2, 3]
