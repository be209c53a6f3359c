"""What is defined for a space: aliases that widen a question, and seasons that memories wait for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from recollect import Anchor, InvalidInput, NotFound, Recollect
from recollect.engine.probe import GENERATED_ALIASES, OWN_ALIASES
from recollect.testing import FixedClock, temp_recollect

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(clock: FixedClock) -> Iterator[Recollect]:
    with temp_recollect(clock=clock, background=False) as opened:
        yield opened


@pytest.fixture
def wordy() -> Iterator[Recollect]:
    """One that finds by words alone, so that only aliases can bring words together."""
    with temp_recollect(settings={"recall.search": "fts5"}, background=False) as opened:
        opened.remember("The gateway listens on port 9000")
        opened.remember("The database is backed up at night")
        opened.remember("Lunch is at noon")
        yield opened


def found(memory: Recollect, question: str) -> list[str]:
    """What a question finds, best first."""
    return [hit.memory.ref for hit in memory.recall(question)]


def recalled(memory: Recollect, question: str = "when is the branch frozen?") -> bool:
    return any("branch" in hit.memory.content for hit in memory.recall(question, gate=False))


# Aliases


@pytest.mark.row("P8", "defaults", "expansion")
def test_aliases_that_everybody_knows_widen_a_question(wordy: Recollect) -> None:
    """And the reason names the word that was met."""
    [hit] = wordy.recall("db")
    assert hit.memory.ref == "2"
    assert "db (databas)" in next(why.detail for why in hit.why if why.factor == "words")
    assert ("db", ("database",)) in {(each.word, each.same) for each in wordy.aliases.list(built_in=True)}
    assert wordy.aliases.list() == ()


@pytest.mark.row("P8", "manual", "expansion")
def test_an_alias_of_ones_own_finds_what_says_the_other(wordy: Recollect) -> None:
    """In both directions, from the moment it is defined until it is removed."""
    assert found(wordy, "grpc-gw") == []
    made = wordy.aliases.define("gRPC-gw", "Gateway")
    assert (made.word, made.same, made.source) == ("grpc-gw", ("gateway",), "own")
    assert found(wordy, "grpc-gw") == ["1"]
    wordy.remember("grpc-gw needs two replicas")
    assert "4" in found(wordy, "gateway")
    assert wordy.aliases.remove("grpc-gw") == made
    assert found(wordy, "grpc-gw") == ["4"]
    with pytest.raises(NotFound, match="alias 'grpc-gw'"):
        wordy.aliases.remove("grpc-gw")


def test_an_alias_is_defined_anew_or_added_to(memory: Recollect) -> None:
    """As the caller says."""
    memory.aliases.define("k6", "load test")
    assert memory.aliases.define("K6", "benchmark", add=True).same == ("load test", "benchmark")
    assert memory.aliases.define("k6", "benchmark", "benchmark", "k6").same == ("benchmark",)
    assert [(each.word, each.same) for each in memory.aliases.list()] == [("k6", ("benchmark",))]
    assert memory.audit(newest_first=True)[0].action == "define"


@pytest.mark.parametrize(
    "given", [("k6",), ("k6", "k6"), ("", "x"), ("!!!", "x"), ("k6", "…"), ("x" * 65, "y"), ("k6", 5), ("a", "\x00")]
)
def test_what_is_no_alias_is_refused(memory: Recollect, given: tuple[str, ...]) -> None:
    """And nothing is defined."""
    with pytest.raises(InvalidInput):
        memory.aliases.define(*given)
    assert memory.aliases.list() == ()


def test_a_word_has_room_for_so_many_others(memory: Recollect) -> None:
    """Twelve."""
    memory.aliases.define("word", *(f"other{number}" for number in range(12)))
    with pytest.raises(InvalidInput, match="at most 12"):
        memory.aliases.define("word", "one more", add=True)


def test_a_secret_is_not_kept_in_an_alias(memory: Recollect) -> None:
    """As in no other text."""
    token = "ghp_" + "q7Zx2Lw9Kd4Rt8Bv1Nc6Ym3Hs5Jf0Pg7Ta2Ue"[:36]
    assert token.lower() not in str(memory.aliases.define("token", token))


@pytest.mark.row("P8", "generated", "expansion")
def test_aliases_are_made_of_the_names_of_a_project(wordy: Recollect) -> None:
    """From paths, symbols, tags and what looks like code; they widen questions like any other."""
    wordy.remember(
        "Orders go out by the fastest venue", files=[Anchor(path="src/orders.py", symbol="OrderRoutingEngine")]
    )
    wordy.remember("The ctx of a request carries its deadline", tags=["ctx"], files=["internal/context/deadline.go"])
    wordy.remember("`max_retry_budget` is three")
    assert found(wordy, "ore") == []
    made = {each.word: each for each in wordy.aliases.generate()}
    assert made["order routing engine"].same == ("ore",)
    assert made["context"].same == ("ctx",)
    assert made["max retry budget"].same == ("mrb",)
    assert {each.source for each in made.values()} == {"generated"}
    assert found(wordy, "mrb") == ["6"]
    assert set(wordy.aliases.list()) == set(made.values())


@pytest.mark.row("P8", "generated", "manual")
def test_generating_leaves_a_persons_own_aliases_alone(memory: Recollect) -> None:
    """They come first, and a generated one under the same word does not replace them."""
    memory.remember("x", files=[Anchor(path="a.py", symbol="OrderRoutingEngine")])
    memory.aliases.define("order routing engine", "router")
    memory.aliases.generate()
    assert [(each.word, each.same, each.source) for each in memory.aliases.list()] == [
        ("order routing engine", ("router",), "own"),
        ("order routing engine", ("ore",), "generated"),
    ]
    assert memory.aliases.remove("order routing engine").source == "own"
    assert memory.aliases.remove("order routing engine").source == "generated"
    assert memory.aliases.generate()[0].same == ("ore",)


def test_generating_again_follows_what_is_stored(memory: Recollect) -> None:
    """What is gone takes its aliases along; what is the same is not written twice."""
    memory.remember("x", files=[Anchor(path="a.py", symbol="OrderRoutingEngine")])
    memory.remember("y", files=[Anchor(path="b.py", symbol="PaymentRetryQueue")])
    assert {each.word for each in memory.aliases.generate()} == {"order routing engine", "payment retry queue"}
    before = memory.audit(limit=None)
    memory.aliases.generate()
    assert memory.audit(limit=None) == before
    memory.forget(1)
    assert {each.word for each in memory.aliases.generate()} == {"payment retry queue"}
    assert [entry.action for entry in memory.audit(newest_first=True, limit=2)] == ["undefine", "remove"]


def test_names_of_a_passing_memory_make_no_aliases(memory: Recollect) -> None:
    """They would outlive it."""
    memory.remember("x", files=[Anchor(path="a.py", symbol="OrderRoutingEngine")], scope="session", session="s1")
    assert memory.aliases.generate() == ()


def test_each_space_has_definitions_of_its_own(memory: Recollect) -> None:
    """The project's and the global ones."""
    memory.aliases.define("k6", "load test", space="global")
    memory.seasons.define("release-week", on=True, space="global")
    assert memory.aliases.list() == ()
    assert memory.seasons.list() == ()
    assert [each.word for each in memory.aliases.list(space="global")] == ["k6"]
    assert [each.name for each in memory.seasons.list(space="global")] == ["release-week"]
    with pytest.raises(InvalidInput, match="space"):
        memory.aliases.list(space="elsewhere")  # type: ignore[arg-type]


def test_definitions_that_are_not_what_they_should_be_are_passed_over(memory: Recollect) -> None:
    """As something newer may have written them."""
    from recollect.model import Define

    store = memory._parts.project()
    changes = [Define(sort=sort, name="x", value="text") for sort in (OWN_ALIASES, GENERATED_ALIASES, "season")]
    store.apply(changes, actor="test", now=START)
    memory.remember("The gateway listens on port 9000", season="x")
    assert memory.aliases.list() == ()
    assert [(each.name, each.active) for each in memory.seasons.list()] == [("x", False)]
    assert memory.recall("gateway").hits == ()


# Seasons


@pytest.mark.row("J10", "seasons")
def test_a_seasonal_memory_is_recalled_only_while_its_season_is_on(memory: Recollect) -> None:
    """However its name is written."""
    memory.remember("Freeze the branch on Monday", season="Release Week")
    assert memory.get(1).season == "release-week"
    assert not recalled(memory)
    state = memory.seasons.define("release week", on=True)
    assert (state.name, state.active, state.switched, state.memories) == ("release-week", True, True, 1)
    assert recalled(memory)
    memory.seasons.define("RELEASE-WEEK", on=False)
    assert not recalled(memory)


@pytest.mark.row("J10", "seasons")
def test_a_season_comes_round_by_its_rule(memory: Recollect, clock: FixedClock) -> None:
    """Every month anew, unless somebody says otherwise."""
    memory.remember("Freeze the branch before the books are closed", season="month-end")
    state = memory.seasons.define("month-end", rule="last 3 days of month")
    assert (state.active, state.rule, state.switched) == (False, "last 3 days of month", None)
    assert not recalled(memory)
    clock.now = datetime(2026, 3, 30, tzinfo=UTC)
    assert recalled(memory)
    assert not memory.seasons.define("month-end", on=False).active
    assert not recalled(memory)
    state = memory.seasons.define("month-end")
    assert (state.active, state.rule, state.switched) == (True, "last 3 days of month", None)
    clock.now = datetime(2026, 4, 2, tzinfo=UTC)
    assert not recalled(memory)
    assert memory.seasons.define("month-end", rule="day 2").active


@pytest.mark.row("J10", "seasons")
def test_a_switch_by_hand_ends_when_it_was_to_end(memory: Recollect, clock: FixedClock) -> None:
    """Then the rule decides again, if there is one."""
    memory.remember("Freeze the branch on Monday", season="release-week")
    until = START + timedelta(days=5)
    assert memory.seasons.define("release-week", on=True, until=until).until == until
    assert recalled(memory)
    clock.move(days=5)
    assert not recalled(memory)
    [state] = memory.seasons.list()
    assert (state.active, state.switched, state.until) == (False, None, None)


def test_seasons_tell_how_they_stand(memory: Recollect) -> None:
    """Those that are defined, and those that a memory waits for and nobody has defined."""
    memory.remember("Freeze the branch on Monday", season="release-week")
    memory.remember("Freeze it for good", season="release-week")
    memory.forget(2)
    memory.seasons.define("holidays", rule="12-15..01-05")
    assert [(each.name, each.active, each.rule, each.memories) for each in memory.seasons.list()] == [
        ("holidays", False, "12-15..01-05", 0),
        ("release-week", False, None, 1),
    ]
    memory.seasons.remove("Holidays")
    assert [each.name for each in memory.seasons.list()] == ["release-week"]
    with pytest.raises(NotFound, match="season 'holidays'"):
        memory.seasons.remove("holidays")


@pytest.mark.parametrize(
    "given",
    [
        {"name": ""},
        {"name": "x" * 65, "on": True},
        {"name": "release", "rule": "every blue moon"},
        {"name": "release", "rule": "month 3", "until": START + timedelta(days=1)},
        {"name": "release", "on": True, "until": START},
        {"name": "release", "on": True, "until": datetime(2030, 1, 1)},  # noqa: DTZ001
        {"name": "release", "on": True, "until": "tomorrow"},
    ],
    ids=lambda given: " ".join(map(str, given.values()))[:30],
)
def test_what_is_no_season_is_refused(memory: Recollect, given: dict[str, object]) -> None:
    """And nothing is defined."""
    with pytest.raises(InvalidInput):
        memory.seasons.define(**given)  # type: ignore[arg-type]
    assert memory.seasons.list() == ()


def test_a_season_that_nobody_defined_cannot_be_left_to_its_rule(memory: Recollect) -> None:
    """It has none."""
    with pytest.raises(NotFound, match="season 'release'"):
        memory.seasons.define("release")


@pytest.mark.row("J10", "session-only")
def test_a_session_memory_waits_for_no_season(memory: Recollect) -> None:
    """It is there in its session and nowhere else, whatever is on."""
    memory.remember("The branch is frozen in this session", scope="session", session="s1")
    memory.seasons.define("release-week", on=True)
    assert not recalled(memory)
    assert memory.recall("when is the branch frozen?", session="s1", gate=False)
    assert not memory.recall("when is the branch frozen?", session="s2", gate=False)


# Why not


@pytest.mark.row("X14", "absence")
def test_every_absence_has_its_reason(memory: Recollect) -> None:
    """The season, the session, the status, the filter, the limit, the gate; and what is there is there."""
    memory.remember("Freeze the branch on Monday", season="release-week")
    memory.remember("Freeze the branch in this session", scope="session", session="s1")
    memory.remember("Freeze the branch on Tuesday")
    memory.remember("Freeze the branch on Wednesday, all of you", tags=["team"])
    memory.remember("Freeze the branch on Friday")
    memory.forget(5)
    memory.remember("Lunch is at noon")
    steps = {ref: memory.why_not("freeze the branch", ref, limit=1) for ref in range(1, 7)}
    assert (steps[1].step, steps[1].detail) == ("season", "release-week is not on")
    assert (steps[2].step, "session:s1" in steps[2].detail) == ("reach", True)
    assert {steps[3].step, steps[4].step} == {"returned", "limit"}
    assert (steps[5].step, steps[5].detail) == ("status", "it is forgotten")
    assert steps[6].step in {"gate", "search"}
    limited = next(each for each in steps.values() if each.step == "limit")
    assert limited.place == 2
    assert limited.detail.startswith("place 2 of 1; score 0.")
    assert limited.why
    narrowed = memory.why_not("freeze the branch", 3, tags=["team"])
    assert (narrowed.step, narrowed.detail) == ("filter", "tags does not fit")
