"""Plans: written down first, carried out step by step, and undone exactly.

Every step is a transaction of its own with a few others, so that nobody waits long for the store. Whatever stops the
work, the store is valid, the steps that were done are done, and the same call goes on with the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Literal, TypeVar

from ..errors import DuplicateMemory, NotFound, TooMuchLost
from ..model import LIVE, Condition, Drop, Op, Perform, Plan, Propose, Refuse, Revert, Step, StepState
from ..store import Store
from .parts import Parts
from .transfer import Progress

LOCKED = 0.03
"""For about so many seconds at a time the store is kept from other writers."""
_PROPOSED_AT_ONCE = 200
_MOST_AT_ONCE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What became of the steps of a plan."""

    plan: int
    done: int = 0
    outdated: int = 0
    """What these were about had changed in the meantime, so they were not done."""
    waiting: int = 0
    """By these memories would leave recall; somebody has to agree."""
    undone: int = 0
    kept: int = 0
    """Somebody has changed since what these had done, so they were not undone."""
    faults: tuple[str, ...] = ()
    """What was looked at afterwards and is not as it was planned; nothing, unless something went wrong."""


def live_count(store: Store) -> int:
    """How many memories are live."""
    return store.count((Condition("status", Op.IN, tuple(sorted(LIVE))),))


def propose(parts: Parts, store: Store, sort: str, steps: Sequence[Step]) -> int:
    """Write a plan down. Returns its number."""
    live = live_count(store)
    plan: int | None = None
    for start in range(0, len(steps), _PROPOSED_AT_ONCE):
        some = tuple(steps[start : start + _PROPOSED_AT_ONCE])
        change = Propose(sort=sort, steps=some, live=live, plan=plan)
        plan = store.apply([change], actor=parts.actor, now=parts.clock()).outcomes[0].plan
    assert plan is not None, "a plan without steps is not written down"
    return plan


def find_plan(
    store: Store,
    number: int | None,
    *,
    sort: str | None = None,
    state: Literal[StepState.PROPOSED, StepState.DONE] | None = None,
) -> Plan:
    """A plan by its number; without one, the newest of a sort that has steps in a state."""
    for plan in store.plans(limit=LOOKED_BACK):
        if plan.id == number or (
            number is None and sort in (None, plan.sort) and (state is None or plan.states.get(state))
        ):
            return plan
    if number is None:
        raise NotFound(_WANTED[state], "")
    raise NotFound("plan", str(number))


_WANTED: dict[StepState | None, str] = {
    None: "plan",
    StepState.PROPOSED: "plan with steps left to do",
    StepState.DONE: "plan that has done anything",
}


LOOKED_BACK = 1_000


def perform(
    parts: Parts, store: Store, plan: int, *, retiring: bool, progress: Progress, only: Sequence[int] = ()
) -> Carried:
    """Carry out the steps of a plan that are proposed; those that retire memories only if that is agreed to."""
    wanted = _chosen(store, plan, only)
    steps = [step.number for step in wanted if retiring or not step.retires]
    live = live_count(store)
    actions = _in_turns(parts, store, steps, lambda number: Perform(plan=plan, step=number), progress)
    done = {number for number, action in zip(steps, actions, strict=True) if action == "perform"}
    return Carried(
        plan=plan,
        done=len(done),
        outdated=actions.count("outdated"),
        waiting=len(wanted) - len(steps),
        faults=tuple(_faults(store, [step for step in wanted if step.number in done], live)),
    )


def _faults(store: Store, done: Sequence[Step], live_before: int) -> Iterator[str]:
    """Whether what a plan was to keep is still there, and no more is gone than it said."""
    retired = {number for step in done for number in step.retires}
    lost = live_before - live_count(store)
    if lost > len(retired):
        yield f"{lost:,} memories left recall instead of {len(retired):,}; `recollect garden undo` brings them back"
    for number in sorted({number for step in done for number, _ in step.expects} - retired):
        found = store.get(number)
        if found is None or not found.active:
            yield f"memory {number} was to stay and is not live"


def _chosen(store: Store, plan: int, only: Sequence[int]) -> list[Step]:
    """The steps of a plan that are proposed, or those of them that are named."""
    if only:
        unknown = set(only) - {step.number for step in store.steps(plan)}
        if unknown:
            raise NotFound("step", f"{min(unknown)} of plan {plan}")
    proposed = store.steps(plan, states=frozenset({StepState.PROPOSED}))
    return [step for step in proposed if not only or step.number in only]


def check_loss(store: Store, plan: Plan, limit: float, only: Sequence[int] = ()) -> None:
    """Refuse a plan, or steps of it, that would retire more of what is live than is allowed."""
    retires = len({number for step in _chosen(store, plan.id, only) for number in step.retires})
    if retires > max(_ALWAYS_ALLOWED, limit * plan.live):
        raise TooMuchLost(plan.id, retires, plan.live, limit)


_ALWAYS_ALLOWED = 3
"""In a small memory, so few may always be retired."""


def undo(parts: Parts, store: Store, plan: int, *, progress: Progress) -> Carried:
    """Undo the steps of a plan that were done, the last first."""
    done = store.steps(plan, states=frozenset({StepState.DONE}))
    steps = [step.number for step in reversed(done)]
    actions = _in_turns(parts, store, steps, lambda number: Revert(plan=plan, step=number), progress)
    return Carried(plan=plan, undone=actions.count("revert"), kept=actions.count("changed-since"))


def refuse(parts: Parts, store: Store, plan: int, steps: Sequence[int]) -> int:
    """Let steps of a plan not be done, all that are proposed if none is named. Returns how many were refused."""
    numbers = steps or [step.number for step in store.steps(plan, states=frozenset({StepState.PROPOSED}))]
    actions = _in_turns(parts, store, numbers, lambda number: Refuse(plan=plan, step=number), quiet)
    return actions.count("refuse")


def drop(parts: Parts, store: Store, plan: int) -> None:
    """Let go of the steps of a plan that nobody decided on. They may be proposed again."""
    waiting = [step.number for step in store.steps(plan, states=frozenset({StepState.PROPOSED}))]
    _in_turns(parts, store, waiting, lambda number: Drop(plan=plan, step=number), quiet)


def quiet(done: int, total: int) -> None:
    """Nobody waits for it."""


_C = TypeVar("_C", Perform, Revert, Refuse, Drop)


def _in_turns(
    parts: Parts, store: Store, steps: Sequence[int], change: Callable[[int], _C], progress: Progress
) -> list[str]:
    """Carry out a change for each step, as many at a time as take about as long as the store may be held."""
    actions: list[str] = []
    at_once = 1
    while len(actions) < len(steps):
        some = steps[len(actions) : len(actions) + at_once]
        began = monotonic()
        try:
            receipt = store.apply([change(number) for number in some], actor=parts.actor, now=parts.clock())
        except DuplicateMemory:
            # Its words were stored again since. One by one, so that it alone is left as it is.
            actions += ["changed-since"] if at_once == 1 else []
            at_once = 1
            continue
        took = max(monotonic() - began, 1e-4)
        actions += [outcome.action for outcome in receipt.outcomes]
        at_once = max(1, min(_MOST_AT_ONCE, 2 * at_once, int(len(some) * LOCKED / took)))
        progress(len(actions), len(steps))
    return actions
