"""What is done by itself at its time: the garden looked over, room made, old sessions archived, backups made."""

from __future__ import annotations

from ..errors import ProjectError, Refused
from . import maintain, tending
from .parts import Parts
from .places import Places
from .plans import live_count
from .schedule import Run, Schedule, planned, time_zone
from .session import Sessions
from .tidying import Plans


def schedule(parts: Parts, places: Places, sessions: Sessions, plans: Plans) -> Schedule:
    """The chores of a project. What takes memories out of recall waits for a person, unless the settings say else."""
    identity = places.identity
    if identity is None:
        raise ProjectError("a memory without a project has no schedule")

    def garden(run: Run) -> None:
        plan = plans.make()
        run.note("planned")
        if plan is not None:
            plans.apply(plan.id)

    def pruning(run: Run) -> None:
        tending.tend(parts, parts.project(), prune=True)

    def retention(run: Run) -> None:
        sessions.recover()
        run.note("recovered")
        sessions.archive()

    def backup(run: Run) -> None:
        maintain.back_up(parts, parts.project(), None, places.backups("project"))

    def is_full() -> bool:
        store, limit, size = parts.project(), parts.settings.capacity.soft_limit, parts.settings.prune.max_size
        live, every = live_count(store), store.count()
        return bool((limit and live > limit) or (size and every and store.size() * live / every > size))

    if parts.switch.off_where():
        raise Refused("memory is switched off, and so are its chores")
    jobs = planned(
        parts.settings,
        time_zone(parts.settings.governor.zone, {}),
        {"garden": garden, "pruning": pruning, "retention": retention, "backup": backup},
        {"pruning": is_full},
    )
    made = Schedule(jobs, identity.folder / "chores", parts.clock, parts.oversight.governor)
    parts.oversight.events.subscribe(lambda event: made.used(), names=("memory:search", "memory:write"))
    return made
