"""Plans as users hold them: made by the garden, read, carried out, refused, undone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..model import Plan, StepState
from ..policy.described import Described
from ..policy.query import parse_limit
from ..store import Store
from . import garden, plans
from .parts import Parts, SpaceName
from .places import Places
from .plans import Carried
from .session import Finalised
from .transfer import Progress


def quiet(done: int, total: int) -> None:
    """No progress wanted."""


class Plans:
    """What tidies memory: each plan is a list of steps that can be undone to the letter."""

    def __init__(
        self,
        parts: Parts,
        space: Callable[[SpaceName], Store],
        places: Places,
        recover: Callable[[], Sequence[Finalised]],
    ) -> None:
        """`recover` finishes sessions that nobody finished."""
        self._parts = parts
        self._space = space
        self._places = places
        self._recover = recover

    def make(self, *, space: SpaceName = "project", clusters: bool = True, progress: Progress = quiet) -> Plan | None:
        """Look the whole memory over and write down what to tidy; None where all is in order.

        Sessions that ended without being finished are finished first, so that what they came to is looked over too.
        Nothing else is done yet.
        """
        store = self._space(space)
        if space == "project" and self._parts.settings.promotion.auto and not self._parts.switch.off_where():
            self._recover()
        return garden.make_plan(self._parts, store, root=self._places.tree(space), clusters=clusters, progress=progress)

    def list(self, *, space: SpaceName = "project", limit: int = 20) -> tuple[Plan, ...]:
        """The plans there are, newest first: of the garden, of tending, and of conflicts that were settled."""
        return self._space(space).plans(limit=parse_limit(limit))

    def describe(
        self, plan: int | None = None, *, space: SpaceName = "project", limit: int | None = None
    ) -> tuple[Described, ...]:
        """The steps of a plan as a person reads them: what, why, before and after; the newest garden plan if none."""
        store = self._space(space)
        chosen = plans.find_plan(store, plan, sort=None if plan else garden.SORT)
        steps = store.steps(chosen.id)[: None if limit is None else parse_limit(limit)]
        return tuple(garden.describe(store, steps, self._parts.clock()))

    def apply(
        self,
        plan: int | None = None,
        *,
        retiring: bool | None = None,
        steps: Iterable[int] = (),
        allow_loss: float | None = None,
        space: SpaceName = "project",
        progress: Progress = quiet,
    ) -> Carried:
        """Carry out a plan, or some steps of it; the newest that has steps to do if none is named.

        Steps by which memories leave recall are done only if `retiring`, or if the settings ask for no confirmation.
        More than `allow_loss` of what is live is not retired.
        """
        store, told = self._space(space), self._parts.settings.garden
        chosen = plans.find_plan(store, plan, state=StepState.PROPOSED)
        agreed = not told.confirm if retiring is None else retiring
        only = tuple(steps)
        if agreed:
            plans.check_loss(store, chosen, told.loss_limit if allow_loss is None else allow_loss, only)
        return plans.perform(self._parts, store, chosen.id, retiring=agreed, progress=progress, only=only)

    def refuse(self, plan: int | None = None, *, steps: Iterable[int] = (), space: SpaceName = "project") -> int:
        """Let steps of a plan, or all that are left of it, not be done nor proposed again. Returns how many."""
        store = self._space(space)
        chosen = plans.find_plan(store, plan, state=StepState.PROPOSED)
        return plans.refuse(self._parts, store, chosen.id, tuple(steps))

    def undo(self, plan: int | None = None, *, space: SpaceName = "project", progress: Progress = quiet) -> Carried:
        """Undo what a plan did, exactly; the newest that did anything if none is named.

        What somebody has changed since is left as it is.
        """
        store = self._space(space)
        chosen = plans.find_plan(store, plan, state=StepState.DONE)
        return plans.undo(self._parts, store, chosen.id, progress=progress)
