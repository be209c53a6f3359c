"""What stands between a model and whoever asks: memory, permission, rest, a deadline, and rules."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import pytest

from recollect.judge import Candidate, FallingBack, ModelFailed, Reply, Request, RulesJudge, Verified, Verify

MEMORIES = (Candidate(id="a", text="one"), Candidate(id="b", text="two", relevance=0.1))


def question(prompt: str = "What?") -> Verify:
    return Verify(prompt=prompt, candidates=MEMORIES, least=0.5)


BY_RULES = RulesJudge().ask(question())
GOOD = '{"relevant": [2], "links": []}'


@dataclass
class Scripted:
    """A model on this machine that does as it is told."""

    does: Callable[[], Reply] = lambda: Reply(text=GOOD)
    name: str = "scripted"
    asked: list[Request] = field(default_factory=list)

    def reply(self, request: Request, *, seconds: float) -> Reply:
        self.asked.append(request)
        return self.does()


def failing(**facts: float) -> Callable[[], Reply]:
    def does() -> Reply:
        raise ModelFailed("failed", "it did", **facts)  # type: ignore[arg-type]

    return does


def test_answers_are_remembered_by_what_was_asked() -> None:
    """The same question is not asked twice, whatever the search thinks of it; another one is."""
    model = Scripted()
    judge = FallingBack(model)
    judge.ask(question())
    surer = Verify(prompt="What?", candidates=(MEMORIES[0], Candidate(id="b", text="two", relevance=0.8)), least=0.1)
    assert judge.ask(surer) == Verified(ids=("b",))
    assert len(model.asked) == 1
    other_ids = Verify(prompt="What?", candidates=(MEMORIES[0], Candidate(id="z", text="two")))
    assert judge.ask(other_ids) == Verified(ids=("z",))
    assert len(model.asked) == 2


def test_memory_is_bounded_and_forgets_the_oldest() -> None:
    """A long life does not fill the machine."""
    model = Scripted()
    judge = FallingBack(model, kept=2)
    for prompt in ("1", "2", "1", "3", "1", "2"):
        judge.ask(question(prompt))
    assert [request.material.split('"request":"')[1][0] for request in model.asked] == ["1", "2", "3", "2"]


def test_whoever_governs_is_asked_first_and_told_after() -> None:
    """Without leave there is no request; tokens are estimated where a model does not say."""
    leave: list[tuple[str, int]] = []
    spent: list[tuple[int, int, int]] = []

    def allowed(kind: str, tokens: int) -> bool:
        leave.append((kind, tokens))
        return len(leave) > 1

    model = Scripted()
    judge = FallingBack(model, most_tokens=700, allowed=allowed, spent=lambda *told: spent.append(told))
    assert judge.ask(question()) == BY_RULES
    assert (model.asked, spent, judge.tally.fallbacks) == ([], [], {"denied": 1})
    assert judge.ask(question()) == Verified(ids=("b",))
    kind, tokens = leave[1]
    ((calls, tokens_in, tokens_out),) = spent
    assert (kind, calls, tokens) == ("verify", 1, tokens_in + 700)
    assert tokens_in > 100
    assert 5 < tokens_out < 30


def test_one_that_keeps_failing_is_left_in_peace_for_a_while() -> None:
    """Three failures in a row are enough, and a minute later it gets another chance."""
    now = [1000.0]
    model = Scripted(does=failing())
    judge = FallingBack(model, clock=lambda: now[0])
    for prompt in "12345":
        assert judge.ask(question(prompt)) == BY_RULES
    assert len(model.asked) == 3
    assert judge.tally.fallbacks == {"failed": 3, "resting": 2}
    now[0] += 61
    model.does = lambda: Reply(text=GOOD)
    assert judge.ask(question("6")) == Verified(ids=("b",))


@pytest.mark.parametrize("asked_for, rests", [(7.0, 7.0), (1e9, 3_600.0)])
def test_a_rest_that_is_asked_for_is_kept_and_bounded(asked_for: float, rests: float) -> None:
    """No endpoint can switch itself off for good."""
    now = [0.0]
    model = Scripted(does=failing(retry_after=asked_for))
    judge = FallingBack(model, clock=lambda: now[0])
    judge.ask(question("1"))
    now[0] = rests - 0.1
    judge.ask(question("2"))
    now[0] = rests + 0.1
    judge.ask(question("3"))
    assert judge.tally.fallbacks == {"failed": 2, "resting": 1}


def test_the_deadline_holds_for_a_model_that_never_answers() -> None:
    """It is left behind; a few at a time, and the next ones do not even ask."""
    stop = threading.Event()

    def hangs() -> Reply:
        stop.wait(30)
        return Reply(text=GOOD)

    model = Scripted(does=hangs)
    set_aside: list[int] = []

    def allowed(kind: str, tokens: int) -> bool:
        set_aside.append(tokens)
        return True

    # Every rest is over at once.
    judge = FallingBack(model, deadline=0.05, clock=count(step=1e6).__next__, allowed=allowed)
    for prompt in "12":
        assert judge.ask(question(prompt)) == BY_RULES
    crowd = [threading.Thread(target=judge.ask, args=(question(f"crowd {at}"),)) for at in range(5)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join(10)
    stop.set()
    assert judge.tally.fallbacks == {"late": 4, "crowded": 3}
    assert len(model.asked) == len(set_aside) == 4, "nothing is set aside for whoever does not even ask"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_model_that_breaks_its_word_does_not_break_whoever_asks() -> None:
    """Whatever somebody's own model raises, there is an answer."""

    def breaks() -> Reply:
        raise ZeroDivisionError("a model must not")

    judge = FallingBack(Scripted(does=breaks))
    assert judge.ask(question()) == BY_RULES
    assert judge.tally.fallbacks == {"failed": 1}


def test_many_threads_share_one_judge() -> None:
    """Every question is counted once, by what came of it."""
    judge = FallingBack(Scripted())
    threads = [threading.Thread(target=judge.ask, args=(question(str(at % 3)),)) for at in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(10)
    tally = judge.tally
    assert tally.asked == 12 == tally.answered + tally.cached + sum(tally.fallbacks.values())
