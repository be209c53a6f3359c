"""A model as a judge that one can rely on: in time, checked, counted, remembered; and rules for whatever it is not.

It never raises. A model is asked in a thread of its own, which is left behind at the deadline: no name server, proxy or
stubborn connection can hold up whoever asked. What it then still costs is told as well.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any, Generic, TypeAlias, cast

from ..policy.tokens import estimate_tokens
from .answers import read
from .asking import A, Judge, Question
from .model import Model, ModelFailed, Reason, Reply, Request
from .rules import RulesJudge
from .wording import worded

Allowed: TypeAlias = Callable[[str, int], bool]
"""Whether a question of that kind (`verify`, `extract` …) may be asked, which takes about so many tokens."""
Spent: TypeAlias = Callable[[int, int, int], None]
"""Told how many calls were made, and how many tokens went there and came back."""

_MOST_ASKING = 4
_EARLIER = 0.5
"""So many seconds before the deadline a model is to give up by itself, and end whatever it has started."""
_FAILURES = 3
_REST = 60.0
_LONGEST_REST = 3_600.0
_TROUBLE: frozenset[Reason] = frozenset({"late", "unreachable", "refused", "failed", "broken", "large"})
_UNPAID: frozenset[Reason] = frozenset({"unreachable", "refused", "failed"})
"""Failures of which no model knows. After any other, it has read the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a judge was asked, and what came of it."""

    asked: int = 0
    answered: int = 0
    """By the model, now."""
    cached: int = 0
    """By the model, before."""
    fallbacks: Mapping[Reason, int] = field(default_factory=dict)
    """By rules, by why."""
    calls: int = 0
    """Requests that went out."""
    tokens_in: int = 0
    tokens_out: int = 0


def always(_kind: str, _tokens: int) -> bool:
    """Allow everything."""
    return True


def quietly(_calls: int, _tokens_in: int, _tokens_out: int) -> None:
    """Tell nobody."""


class FallingBack:
    """A judge over a model, with rules behind it."""

    def __init__(
        self,
        model: Model,
        *,
        rules: Judge | None = None,
        deadline: float = 20.0,
        most_tokens: int = 1_024,
        allowed: Allowed = always,
        spent: Spent = quietly,
        clock: Callable[[], float] = time.monotonic,
        kept: int = 512,
    ) -> None:
        """`deadline` is in seconds; `kept` is how many answers are remembered."""
        self.name = model.name
        self._model = model
        self._rules = rules or RulesJudge()
        self._deadline = deadline
        self._most_tokens = most_tokens
        self._allowed = allowed
        self._spent = spent
        self._clock = clock
        self._kept = kept
        self._lock = Lock()
        self._known: OrderedDict[str, object] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._fallbacks: Counter[Reason] = Counter()
        self._asking = 0
        self._in_a_row = 0
        self._rests_until = 0.0

    @property
    def tally(self) -> Tally:
        """What came of it so far."""
        with self._lock:
            return Tally(**self._counts, fallbacks=dict(self._fallbacks))

    def ask(self, question: Question[A]) -> A:
        """The model's answer if it has a good one in time; otherwise that of the rules."""
        key = _key(question)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                self._counts.update(asked=1, cached=1)
                return cast(A, self._known[key])
        nonce = os.urandom(8).hex()
        request = worded(question, nonce=nonce, most_tokens=self._most_tokens)
        if request is None:
            return self._rules.ask(question)
        self._count(asked=1)
        try:
            answer = self._answer(question, request, nonce)
        except ModelFailed as failed:
            self._note(failed)
            return self._rules.ask(question)
        self._remember(key, answer)
        return answer

    # --- Asking ------------------------------------------------------------------------------------------------------

    def _answer(self, question: Question[A], request: Request, nonce: str) -> A:
        tokens = estimate_tokens(request.instructions) + estimate_tokens(request.material)
        with self._lock:
            if self._clock() < self._rests_until:
                raise ModelFailed("resting", "it failed too often, or asked to be left in peace")
            if self._asking >= _MOST_ASKING:
                raise ModelFailed("crowded", "too many are asking")
            self._asking += 1
        # Last of all: what is allowed is set aside, and only a request that is made gives back what it did not cost.
        if not self._allowed(request.task, tokens + request.most_tokens):
            with self._lock:
                self._asking -= 1
            raise ModelFailed("denied", "it was not allowed")
        outcome = _Outcome[A]()
        thread = Thread(
            target=self._work, args=(outcome, question, request, nonce, tokens), name="recollect-judge", daemon=True
        )
        thread.start()
        thread.join(self._deadline)
        if outcome.failed is not None:
            raise outcome.failed
        if not outcome.answers:
            # Still at it, or dead of something that a model must not raise, which Python has reported.
            raise ModelFailed("late" if thread.is_alive() else "failed", f"no answer in {self._deadline:g} seconds")
        return outcome.answers[0]

    def _work(self, outcome: _Outcome[A], question: Question[A], request: Request, nonce: str, tokens: int) -> None:
        try:
            reply = self._paid(request, tokens)
            outcome.answers.append(read(question, reply.text, nonce=nonce))
        except ModelFailed as failed:
            outcome.failed = failed
        finally:
            with self._lock:
                self._asking -= 1

    def _paid(self, request: Request, tokens: int) -> Reply:
        """What the model says, once what it cost is told, whatever it is worth."""
        try:
            reply = self._model.reply(request, seconds=self._deadline - min(_EARLIER, self._deadline / 10))
        except ModelFailed as failed:
            self._pay(calls=failed.calls, tokens_in=0 if failed.reason in _UNPAID else tokens, tokens_out=0)
            raise
        self._pay(
            calls=reply.calls,
            tokens_in=tokens if reply.tokens_in is None else reply.tokens_in,
            tokens_out=estimate_tokens(reply.text) if reply.tokens_out is None else reply.tokens_out,
        )
        return reply

    # --- Counting ----------------------------------------------------------------------------------------------------

    def _pay(self, *, calls: int, tokens_in: int, tokens_out: int) -> None:
        self._count(calls=calls, tokens_in=tokens_in, tokens_out=tokens_out)
        self._spent(calls, tokens_in, tokens_out)

    def _count(self, **more: int) -> None:
        with self._lock:
            self._counts.update(more)

    def _note(self, failed: ModelFailed) -> None:
        """Count a failure, and leave a model in peace that asks for it or keeps failing."""
        with self._lock:
            self._fallbacks[failed.reason] += 1
            if failed.reason not in _TROUBLE:
                return
            self._in_a_row += 1
            rest = min(failed.retry_after, _LONGEST_REST) or (_REST if self._in_a_row >= _FAILURES else 0.0)
            self._rests_until = max(self._rests_until, self._clock() + rest) if rest else self._rests_until

    def _remember(self, key: str, answer: object) -> None:
        with self._lock:
            self._counts["answered"] += 1
            self._in_a_row = 0
            self._known[key] = answer
            while len(self._known) > self._kept:
                self._known.popitem(last=False)


@dataclass(slots=True)
class _Outcome(Generic[A]):
    """What a thread hands over. One answer at most, in a list since an answer may be empty."""

    answers: list[A] = field(default_factory=list)
    failed: ModelFailed | None = None


def _key(question: Question[Any]) -> str:
    """What a question is known by: all that a model is told of it. Questions are values, and their text says that."""
    return hashlib.sha256(repr(question).encode("utf-8", "surrogatepass")).hexdigest()
