"""As it was: what memory would have answered at a moment in the past."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Hit, InvalidInput, Recall, Recollect
from recollect.policy.rank import PROFILES
from recollect.testing import FixedClock, HashEmbedder

START = datetime(2026, 6, 1, tzinfo=UTC)
QUESTION = "which port does the API listen on"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture(params=["memory:", "{}/memory.db", "json:{}/memory.json"], ids=["memory", "sqlite", "json"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: FixedClock) -> Iterator[Recollect]:
    store = str(request.param).format(tmp_path)
    with recollect.open(store=store, clock=clock, background=False) as opened:
        yield opened


def said(found: Recall) -> list[str]:
    """What was found, best first."""
    return [hit.memory.content for hit in found]


def day(number: float) -> datetime:
    """So many days after the start."""
    return START + timedelta(days=number)


def why(hit: Hit) -> dict[str, str]:
    return {each.factor: each.detail for each in hit.why}


@pytest.fixture
def lived(memory: Recollect, clock: FixedClock) -> Recollect:
    """A memory made on day 0, changed on day 10, forgotten on day 20, brought back on day 30; it is day 40."""
    memory.remember("The API listens on port 8080")
    clock.move(days=10)
    memory.update(1, "The API listens on port 9090")
    clock.move(days=10)
    memory.forget(1)
    clock.move(days=10)
    memory.restore(1)
    clock.move(days=10)
    return memory


@pytest.mark.row("X15")
@pytest.mark.parametrize("profile", ["default", "koshi", "praxis", "brain", "cascade", "words", "vectors", "rrf"])
def test_a_moment_is_answered_from_what_was_held_then(lived: Recollect, profile: str) -> None:
    """What it said before an edit, what has been forgotten since, and nothing before it existed."""
    for moment, answer in (
        (day(-1), []),
        (day(0), ["The API listens on port 8080"]),
        (day(9.99), ["The API listens on port 8080"]),
        (day(10), ["The API listens on port 9090"]),
        (day(19), ["The API listens on port 9090"]),
        (day(25), []),
        (day(35), ["The API listens on port 9090"]),
        (day(4_000), ["The API listens on port 9090"]),
    ):
        found = lived.recall(QUESTION, as_of=moment, profile=profile)
        assert said(found) == answer, moment
        assert f"as of {moment:%Y-%m-%d %H:%M} UTC" in found.notes


def test_a_moment_may_be_told_in_any_time_zone(lived: Recollect) -> None:
    """But in some; the note tells it in UTC."""
    there = timezone(timedelta(hours=-8))
    found = lived.recall(QUESTION, as_of=day(9.9).astimezone(there))
    assert said(found) == ["The API listens on port 8080"]
    assert found.notes == ("as of 2026-06-10 21:36 UTC",)


@pytest.mark.parametrize("moment", [datetime(2026, 6, 2), "2026-06-02", 5, True], ids=repr)  # noqa: DTZ001
def test_a_moment_that_is_none_is_refused(lived: Recollect, moment: Any) -> None:
    """A time without its zone is not a moment."""
    with pytest.raises(InvalidInput, match="as_of"):
        lived.recall(QUESTION, as_of=moment)


def test_age_is_counted_up_to_that_moment(lived: Recollect) -> None:
    """Recency, and the times that a question names, are those of then."""
    [hit] = lived.recall(QUESTION, as_of=day(5))
    assert why(hit)["time"] == "created 5 days ago"
    [hit] = lived.recall(f"Yesterday, {QUESTION}", as_of=day(1.5), gate=False)
    assert "asked for Yesterday" in why(hit)["time"]
    assert next(each.value for each in hit.why if each.factor == "time") > 1


def test_filters_and_limits_hold_for_the_past(memory: Recollect, clock: FixedClock) -> None:
    """Judged by what the memory was then."""
    memory.remember("deploy alpha", kind="decision", tags=["ops"], files=["a.py"])
    memory.remember("deploy beta", kind="fact")
    memory.remember("deploy gamma", scope="global", tags=["ops"])
    clock.move(days=1)
    memory.untag(1, "ops")
    memory.update(2, kind="decision")
    then = {"as_of": day(0.5), "gate": False}
    assert set(said(memory.recall("deploy", tags=["ops"], **then))) == {"deploy alpha", "deploy gamma"}  # type: ignore[arg-type]
    assert set(said(memory.recall("deploy", kinds=["decision"], **then))) == {"deploy alpha"}  # type: ignore[arg-type]
    assert set(said(memory.recall("deploy", space="global", **then))) == {"deploy gamma"}  # type: ignore[arg-type]
    assert len(memory.recall("deploy", limit=2, **then)) == 2  # type: ignore[arg-type]
    assert said(memory.recall("deploy", near=["a.py"], **then))[0] == "deploy alpha"  # type: ignore[arg-type]


def test_what_was_not_yet_superseded_answers_for_its_time(memory: Recollect, clock: FixedClock) -> None:
    """And gives way afterwards."""
    memory.remember("Deploys go out on Fridays")
    clock.move(days=10)
    memory.remember("Deploys go out on Mondays")
    memory.link(2, 1, kind="supersedes")
    clock.move(days=10)
    question = "when do deploys go out"
    assert said(memory.recall(question, as_of=day(5))) == ["Deploys go out on Fridays"]
    assert said(memory.recall(question, as_of=day(15))) == ["Deploys go out on Mondays"]
    assert said(memory.recall(question)) == ["Deploys go out on Mondays"]


def test_the_past_is_found_by_meaning_too(memory: Recollect, clock: FixedClock) -> None:
    """With what it said then."""
    memory.remember("The cat sleeps on the sofa")
    memory.remember("The physician prescribed antibiotics for the infection")
    clock.move(days=1)
    memory.forget(2)
    found = memory.recall("doctor gave medicine against illness", as_of=day(0.5), gate=False)
    assert said(found)[0] == "The physician prescribed antibiotics for the infection"


def test_looking_back_leaves_nothing_behind(lived: Recollect, clock: FixedClock) -> None:
    """It is no use of the memory as it is now."""
    for _ in range(5):
        lived.recall(QUESTION, as_of=day(5))
    head = lived.audit()[-1]
    lived._parts.habits.write()
    assert lived.get(1).access_count == 0
    assert lived.audit()[-1] == head


def test_pinned_memories_of_today_do_not_stand_beside_answers_of_the_past(lived: Recollect) -> None:
    """What is given beside results must be from then as well."""
    lived.pin(1)
    assert lived.recall(QUESTION, profile="praxis").pinned
    assert lived.recall(QUESTION, profile="praxis", as_of=day(5)).pinned == ()


def test_a_model_that_fails_leaves_the_words_of_the_past(clock: FixedClock) -> None:
    """Recall does not fail with it."""
    embedder = HashEmbedder()
    with recollect.open(store="memory:", clock=clock, background=False, embedder=embedder) as memory:
        memory.remember("The API listens on port 8080")
        embedder.trouble = "it is down"
        assert said(memory.recall(QUESTION, as_of=day(0))) == ["The API listens on port 8080"]


def test_every_profile_answers_about_the_past(lived: Recollect) -> None:
    """None is left out of the tests above."""
    assert set(PROFILES) == {"default", "koshi", "praxis", "brain", "cascade", "words", "vectors", "rrf"}
