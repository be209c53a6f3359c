"""Three tiers of memory and the context that is assembled from them.

    from recollect.tiers import ContextAssembler, ContextRequest

    with recollect.open() as memory:
        assembler = ContextAssembler.over(memory)
        with assembler.running("T-1") as task:
            task.add_reasoning("The retry loop never ends.", stage_id="analysis")
            package = assembler.build_context(job, ContextRequest(budget_tokens=2000))

The stores and what they keep their items in are those of `engine.tiers`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from .engine import Recollect
from .engine.tiers import ContextItem as ContextItem
from .engine.tiers import GlobalMemoryStore as GlobalMemoryStore
from .engine.tiers import InMemoryBackend as InMemoryBackend
from .engine.tiers import MemoryBackend as MemoryBackend
from .engine.tiers import ProjectMemoryStore as ProjectMemoryStore
from .engine.tiers import RecollectBackend as RecollectBackend
from .engine.tiers import TaskMemoryStore as TaskMemoryStore
from .errors import InvalidInput
from .model import Scope
from .policy.budget import pack, settled, shares


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPolicy:
    """How a context is cut when there is too much for it."""

    head_tail_preserve: int | None = None
    """So many items at each end, the most and the least important ones, come before those between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig:
    """How contexts are assembled."""

    context_policy: ContextPolicy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """How much context is wanted, and whose."""

    budget_tokens: int
    shares: Mapping[str, float] = field(default_factory=dict)
    """Other shares of the budget than 40/40/20, by `task`, `project` and `global`; the rest is divided as before."""
    profile: str = ""
    """The agent's, by a name that the assembler knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPackage:
    """What an agent is given to work with."""

    context_package_id: str
    items: list[ContextItem]
    """The most important first."""
    summary: str | None = None
    compression_ratio: float | None = None
    """The tokens that were selected, as a share of all that there were."""


class _Task(Protocol):
    """A task, as far as its context hangs on it."""

    @property
    def task_id(self) -> str:
        """Which task."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What is known of it; `project_id` says which project it belongs to."""


def _in_memory(scope: Scope, owner: str) -> MemoryBackend:
    return InMemoryBackend()


@dataclass
class ContextAssembler:
    """Puts a context together from the memory of a task, of its project and of all projects."""

    task_stores: dict[str, TaskMemoryStore] = field(default_factory=dict)
    project_stores: dict[str, ProjectMemoryStore] = field(default_factory=dict)
    global_store: GlobalMemoryStore = field(default_factory=lambda: GlobalMemoryStore(backend=InMemoryBackend()))
    memory_config: MemoryConfig | None = None
    profiles: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The shares of agents, by the names of their profiles."""
    backends: Callable[[Scope, str], MemoryBackend] = _in_memory
    """Makes what a task or project that is new here keeps its items in, from its scope and its name."""

    @classmethod
    def over(
        cls,
        memory: Recollect,
        *,
        confirmation_callback: Callable[[str], bool] | None = None,
        memory_config: MemoryConfig | None = None,
        profiles: Mapping[str, Mapping[str, float]] | None = None,
    ) -> Self:
        """One whose tiers are those of an open memory, so that they last."""
        return cls(
            global_store=GlobalMemoryStore(
                backend=memory.tier(Scope.GLOBAL), confirmation_callback=confirmation_callback
            ),
            memory_config=memory_config,
            profiles=profiles or {},
            backends=memory.tier,
        )

    def build_context(self, task: _Task, request: ContextRequest) -> ContextPackage:
        """What a task is given: as much of the three tiers as the budget has room for, the most important first.

        Each tier is sure of its share of the budget. What one does not need goes to what is most important of the rest.
        """
        sure = self._get_budget_allocation(request)
        project = self.project_store(task.metadata.get("project_id", "default"))
        found = [(Scope.TASK, item) for item in self.task_store(task.task_id).backend.list_all()]
        found += [(Scope.PROJECT, item) for item in project.backend.query({}, limit=sure["project"] // _ITEM)]
        found += [(Scope.GLOBAL, item) for item in self.global_store.backend.query({}, limit=sure["global"] // _ITEM)]
        selected = self._select_within_budget(found, request)
        every = sum(item.token_cost or 0 for _, item in found)
        taken = sum(item.token_cost or 0 for item in selected)
        return ContextPackage(
            context_package_id=f"ctx-{task.task_id}",
            items=selected,
            summary=None,
            compression_ratio=taken / (every or 1),
        )

    def task_store(self, task_id: str) -> TaskMemoryStore:
        """The memory of a task, which begins when it is first asked for."""
        if task_id not in self.task_stores:
            self.task_stores[task_id] = TaskMemoryStore(task_id, backend=self.backends(Scope.TASK, task_id))
        return self.task_stores[task_id]

    def project_store(self, project_id: str) -> ProjectMemoryStore:
        """The memory of a project."""
        if project_id not in self.project_stores:
            backend = self.backends(Scope.PROJECT, project_id)
            self.project_stores[project_id] = ProjectMemoryStore(project_id, backend=backend)
        return self.project_stores[project_id]

    @contextmanager
    def running(self, task_id: str) -> Iterator[TaskMemoryStore]:
        """The memory of a task for as long as it runs: completed, failed or cancelled, it is cleared at the end."""
        try:
            yield self.task_store(task_id)
        finally:
            self.cleanup_task(task_id)

    def cleanup_task(self, task_id: str) -> None:
        """Clear the memory of a task that has ended, even if it ran before this program began."""
        self.task_store(task_id).clear()
        del self.task_stores[task_id]

    def _get_budget_allocation(self, request: ContextRequest) -> dict[str, int]:
        """The tokens that each tier is sure of."""
        if request.profile and request.profile not in self.profiles:
            raise InvalidInput("profile", f"there is no profile {request.profile!r}")
        held = settled(profile=_scoped(self.profiles.get(request.profile, {})), request=_scoped(request.shares))
        divided = shares(
            request.budget_tokens, task=held[Scope.TASK], project=held[Scope.PROJECT], shared=held[Scope.GLOBAL]
        )
        return {scope.value: tokens for scope, tokens in divided.items()}

    def _select_within_budget(
        self, found: list[tuple[Scope, ContextItem]], request: ContextRequest
    ) -> list[ContextItem]:
        ordered = sorted(found, key=lambda each: (-(each[1].importance or 0), each[1].timestamp or ""))
        sure = {Scope(name): tokens for name, tokens in self._get_budget_allocation(request).items()}
        ends, between = self._ends(len(ordered))
        chosen: set[int] = set()
        spent: Counter[Scope] = Counter()
        # First the ends, then what each tier is sure of, then whatever there is room for.
        for places, most in ((ends, None), (between, sure), (between, None)):
            room = request.budget_tokens - spent.total()
            left = {tier: max(0, tokens - spent[tier]) for tier, tokens in most.items()} if most else {None: room}
            packed = pack(
                [place for place in places if place not in chosen],
                tokens=lambda place: ordered[place][1].token_cost or 0,
                part=(lambda place: ordered[place][0]) if most else (lambda place: None),
                ceilings=left,
                total=room,
            )
            chosen.update(packed.chosen)
            for place in packed.chosen:
                spent[ordered[place][0]] += ordered[place][1].token_cost or 0
        return [item for place, (_, item) in enumerate(ordered) if place in chosen]

    def _ends(self, size: int) -> tuple[list[int], list[int]]:
        """The places in a row of items that are filled first, and the others."""
        policy = self.memory_config.context_policy if self.memory_config else None
        kept = (policy.head_tail_preserve if policy else None) or 0
        at_ends = kept > 0 and size > 2 * kept
        ends = [place for place in range(size) if at_ends and (place < kept or place >= size - kept)]
        return ends, [place for place in range(size) if place not in set(ends)]


_ITEM = 10
"""About how many tokens an item takes, as far as it is guessed how many to read."""


def _scoped(wishes: Mapping[str, float]) -> dict[Scope, float]:
    for name in wishes:
        if name not in ("task", "project", "global"):
            raise InvalidInput("shares", f"{name!r} is not one of task, project, global")
    return {Scope(name): share for name, share in wishes.items()}
