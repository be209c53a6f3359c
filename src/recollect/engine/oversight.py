"""What watches over an open memory: who judges, what that may cost, how fast recall is, who is told what happens."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from ..config import Settings
from ..judge import Allowed, FallingBack, Judge, Question, RulesJudge, Spent, Tally
from ..policy.budgets import Decision
from .events import Events
from .governor import Governor, Ledger, Parking, Slo, Spend

A = TypeVar("A")
_Leave: TypeAlias = Callable[[str, Callable[[], object]], None]
"""How work is left to the background: by a name under which it is done once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the background stands: what it may still spend, how fast recall is, how the judge did."""

    judge: str
    asked: int = 0
    fallbacks: int = 0
    """How often rules had to stand in for the judge."""
    spend: Spend | None = None
    recall_p95_ms: float = 0.0
    degraded: bool = False
    """Recall was slow lately, so it does less."""


class _Governed:
    """Between a judge and the governor: what was allowed is settled when it was spent."""

    def __init__(self, governor: Governor) -> None:
        self._governor = governor
        self._lock = threading.Lock()
        self._open: list[Decision] = []

    def allowed(self, kind: str, tokens: int) -> bool:
        """Whether a request of a kind may be made, which costs so many tokens at most."""
        decision = self._governor.allowed(f"judge {kind}", tokens=tokens)
        if decision:
            with self._lock:
                self._open.append(decision)
        return bool(decision)

    def spent(self, calls: int, sent: int, received: int) -> None:
        """What a request came to. All set aside for one is given back but for that."""
        with self._lock:
            decision = self._open.pop() if self._open else None
        if decision is not None:
            self._governor.spent(decision, calls=calls, sent=sent, received=received)


@dataclass
class Oversight:
    """Made once for an open memory."""

    settings: Settings
    clock: Callable[[], datetime]
    home: Path | None
    open_judge: Callable[[Allowed, Spent], Judge] | None = None
    events: Events = field(default_factory=Events)

    @cached_property
    def slo(self) -> Slo:
        """How fast recall is."""
        return Slo(self.settings)

    @cached_property
    def _ledger(self) -> Ledger:
        return Ledger(self.home / "run" if self.home else None)

    @cached_property
    def governor(self) -> Governor:
        """What background work may cost."""
        return Governor(self.settings, self.clock, self._ledger)

    @cached_property
    def parking(self) -> Parking:
        """What failed so often that it is left alone."""
        return Parking(self.clock, self._ledger)

    @cached_property
    def judge(self) -> Judge:
        """Who judges; rules, unless the settings name somebody."""
        if self.open_judge is None:
            return RulesJudge()
        governed = _Governed(self.governor)
        return self.open_judge(governed.allowed, governed.spent)

    def governed(self, kind: str, work: Callable[[], object]) -> bool:
        """Do a piece of work on this machine, if the governor allows; whether there is more of it, says the work."""
        allowed = self.governor.allowed(kind, calls=0)
        if not allowed:
            return False
        with self.governor.at_work(allowed):
            return bool(work())

    def leaving(self, leave: _Leave) -> _Leave:
        """The same way to leave work to the background, with the governor asked when its turn comes.

        What is not allowed then is not done: whoever left it must be able to do without, or to leave it again.
        """
        return lambda name, piece: leave(name, partial(self.governed, name.split()[0], piece))

    @property
    def reads(self) -> bool:
        """Whether somebody who reads judges, and not rules."""
        return self.open_judge is not None and self.judge.name != "rules"

    def ask(self, question: Question[A]) -> tuple[A, bool]:
        """What the judge answers, and whether somebody who reads did: rules may have had to stand in."""
        judge = self.judge
        if not isinstance(judge, FallingBack):
            return judge.ask(question), self.reads
        before = judge.tally
        answer = judge.ask(question)
        after = judge.tally
        return answer, after.answered + after.cached > before.answered + before.cached

    def health(self) -> Health:
        """How it all stands."""
        judge = self.judge
        tally = judge.tally if isinstance(judge, FallingBack) else Tally()
        return Health(
            judge=judge.name,
            asked=tally.asked,
            fallbacks=sum(tally.fallbacks.values()),
            spend=self.governor.spend(),
            recall_p95_ms=self.slo.p95,
            degraded=self.slo.degraded,
        )
