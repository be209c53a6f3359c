"""Three tiers of memory as stores of items: a task's while it runs, a project's, and what holds everywhere.

An item is a memory seen from here. `RecollectBackend` keeps items as memories of the one store, with everything that
this brings (redaction, audit, history), and shows what else the tier remembers as items too. `InMemoryBackend` keeps
them in a dictionary and forgets them with the program. Nothing moves between tiers by itself: `promote` moves it.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, Protocol, TypeAlias, cast
from uuid import uuid4

from ..codec import HASH_PREFIX, digest
from ..errors import InvalidFilter, InvalidInput, NotFound, Refused
from ..model import (
    LIVE,
    Add,
    Change,
    Condition,
    Draft,
    Json,
    Kind,
    Mark,
    Memory,
    Op,
    Order,
    Origin,
    Scope,
    Signals,
    Status,
    Uid,
    Where,
)
from ..policy.admit import NAME_LIMIT, admit, check_text, clean_text, compose
from ..policy.identity import spelled_tag
from ..policy.query import holds, parse_limit
from ..store import Store
from . import promotion
from .parts import Clock, Parts
from .project import Project

_Filters: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One piece of context: what it is, where it came from, how important it is, and what it says."""

    context_item_id: str
    kind: str
    source: str = ""
    """`task/TASK/STAGE`, `task/TASK`, `project/PROJECT` or `global`."""
    timestamp: str | None = None
    tags: list[str] = field(default_factory=list)
    importance: float | None = None
    token_cost: int | None = None
    payload: dict[str, Any] = field(default_factory=dict)


class MemoryBackend(Protocol):
    """Where a tier keeps its items."""

    def add(self, item: ContextItem) -> None:
        """Keep an item, in place of the one with its id if there is one."""

    def query(self, filters: _Filters, limit: int = 100, order_by: str = "timestamp") -> list[ContextItem]:
        """The items that pass every filter, highest or newest first; `-field` reverses the order.

        `{"kind": "code"}` is equality, `{"tags": ["bug", "fix"]}` any of them, `{"importance": {"$gte": 0.7}}` one or
        more of $eq $ne $gt $gte $lt $lte.
        """

    def get(self, item_id: str) -> ContextItem | None:
        """The item with this id."""

    def delete(self, item_id: str) -> bool:
        """Let an item go; whether it was there."""

    def list_all(self) -> list[ContextItem]:
        """Every item, in the order in which they came."""

    def clear(self) -> None:
        """Let every item go."""

    def count(self) -> int:
        """How many items there are."""


@dataclass
class InMemoryBackend:
    """Items in a dictionary, by their ids. They are gone with the program."""

    items: dict[str, ContextItem] = field(default_factory=dict)

    def add(self, item: ContextItem) -> None:
        """Keep an item, in place of the one with its id if there is one."""
        self.items[item.context_item_id] = item

    def query(self, filters: _Filters, limit: int = 100, order_by: str = "timestamp") -> list[ContextItem]:
        """The items that pass every filter, highest or newest first; `-field` reverses the order."""
        return _queried(self.items.values(), filters, limit, order_by)

    def get(self, item_id: str) -> ContextItem | None:
        """The item with this id."""
        return self.items.get(item_id)

    def delete(self, item_id: str) -> bool:
        """Let an item go; whether it was there."""
        return self.items.pop(item_id, None) is not None

    def list_all(self) -> list[ContextItem]:
        """Every item, in the order in which they came."""
        return list(self.items.values())

    def clear(self) -> None:
        """Let every item go."""
        self.items.clear()

    def count(self) -> int:
        """How many items there are."""
        return len(self.items)


# --- Filters --------------------------------------------------------------------------------------------------------

_OPERATORS: Mapping[str, Callable[[Any, Any], object]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def _queried(items: Iterable[ContextItem], filters: _Filters, limit: int, order_by: str) -> list[ContextItem]:
    def place(item: ContextItem) -> tuple[bool, Any]:
        held = getattr(item, name, None)
        return held is not None, "" if held is None else held

    name = order_by.removeprefix("-")
    if name == "payload":
        raise InvalidFilter("order_by", "payload gives no order")
    found = [item for item in items if all(_passes(getattr(item, key, None), wish) for key, wish in filters.items())]
    found.sort(key=place, reverse=not order_by.startswith("-"))
    return found[: parse_limit(limit)]


def _passes(held: Any, wish: object) -> bool:
    if isinstance(wish, Mapping):
        return all(_compares(held, name, target) for name, target in wish.items())
    if isinstance(wish, list | tuple):
        return isinstance(held, list) and any(each in held for each in wish)
    return bool(held == wish)


def _compares(held: Any, name: str, target: object) -> bool:
    """Whether an operator says so. One that does not exist says no, and so does one between what has no order."""
    try:
        return name in _OPERATORS and bool(_OPERATORS[name](held, target))
    except TypeError:
        return False


# --- Items as memories of the one store -----------------------------------------------------------------------------

_KINDS = {"convention": Kind.PATTERN, "failure": Kind.ERROR}
_SAYS = ("text", "decision", "convention", "lesson", "preference", "pattern")
"""The parts of a payload that say what an item is about."""
_LONGEST_ID = 1_000
_MARK = "context_item"
"""Under this an item is kept in the payload of its memory."""


class RecollectBackend:
    """The memories of one tier as its items: those of a task, of the project, or of all projects.

    What was added comes back as it was, less its secrets; what was remembered otherwise is an item as well. Nothing is
    merged when it is added: the same words at another time are another item. What gives orders to a model and comes
    from nobody that is trusted is set apart as everywhere, and is no item.
    """

    def __init__(self, parts: Parts, scope: Scope, owner: str, identity: Project | None) -> None:
        """`owner` is the task, or the project by its name or id; "default" is the project that is open."""
        if scope is Scope.SESSION:
            raise InvalidInput("scope", "a session has no tier of its own; there are task, project and global")
        if scope is Scope.PROJECT and owner not in ("default", *((identity.name, identity.id) if identity else ())):
            raise Refused(f"this is not the memory of project {owner[:64]!r}; open that one")
        self._parts = parts
        self._scope = scope
        self._owner = clean_text("task_id", owner, NAME_LIMIT) if scope is Scope.TASK else owner
        self._origin = identity.id if identity else ""
        owned = f"task:{self._owner}" if scope is Scope.TASK else ""
        self._where: Where = (
            Condition("scope", Op.EQ, scope.value),
            Condition("owner", Op.EQ, owned),
            Condition("status", Op.IN, tuple(sorted(LIVE))),
        )

    # --- The contract ----------------------------------------------------------------------------------------------

    def add(self, item: ContextItem) -> None:
        """Keep an item as a memory, in place of the one with its id if there is one."""
        self._parts.switch.require_on()
        gone: list[Memory] = []
        for uid in self._uids(item.context_item_id):
            held = self._store.by_uid(uid)
            if held is None:
                break
            gone += [held] if held.active else []
        memory = self._composed(item, uid, "")
        twin = self._store.twin(memory)
        if twin is not None and all(each.id != twin.id for each in gone):
            memory = self._composed(item, uid, f" (again: {item.context_item_id})")
        out = [Mark(id=each.id, status=Status.FORGOTTEN) for each in gone]
        self._apply([*out, Add(memory=memory, on_duplicate=Signals())])
        self._parts.wake()

    def query(self, filters: _Filters, limit: int = 100, order_by: str = "timestamp") -> list[ContextItem]:
        """The items that pass every filter, highest or newest first; `-field` reverses the order."""
        kind = filters.get("kind")
        narrower = (Condition("kind", Op.EQ, _kind(kind).value),) if isinstance(kind, str) else ()
        return _queried(map(self._item, self._memories(*narrower)), filters, limit, order_by)

    def get(self, item_id: str) -> ContextItem | None:
        """The item with this id; that of a memory that was not added as an item is its uid."""
        found = self._find(item_id)
        return None if found is None else self._item(found)

    def delete(self, item_id: str) -> bool:
        """Forget the memory of an item, restorably; whether there was one."""
        found = self._find(item_id)
        if found is not None:
            self._apply([Mark(id=found.id, status=Status.FORGOTTEN)])
        return found is not None

    def list_all(self) -> list[ContextItem]:
        """Every item, in the order in which they came."""
        return [self._item(memory) for memory in self._memories()]

    def clear(self) -> None:
        """Archive what a task remembers; forget what a project or all projects do. Either can be restored."""
        status = Status.ARCHIVED if self._scope is Scope.TASK else Status.FORGOTTEN
        self._apply([Mark(id=memory.id, status=status) for memory in self._memories()])

    def count(self) -> int:
        """How many items there are."""
        return self._store.count(self._where)

    # --- Beyond it -------------------------------------------------------------------------------------------------

    def make_room(self, most: int) -> None:
        """Archive the lowest tenth of what was added as items, if there are more than so many; never what is pinned.

        What was remembered otherwise is not counted: the settings say how much of that there may be.
        """
        if self.count() <= most:
            return
        added = [memory for memory in self._memories() if _kept_of(memory) is not None]
        if len(added) <= most:
            return
        movable = [memory for memory in added if memory.status is not Status.PINNED]
        movable.sort(key=lambda memory: (memory.importance, memory.created_at, memory.id))
        self._apply([Mark(id=memory.id, status=Status.ARCHIVED) for memory in movable[: len(added) // 10]])

    def promote(self, item_id: str, to: RecollectBackend) -> ContextItem | None:
        """Let an item hold in a wider tier of the same memory, with where it came from; None if that is another's."""
        if to._parts is not self._parts:
            return None
        found = self._find(item_id)
        if found is None:
            raise NotFound("item", item_id[:64])
        return to._item(promotion.promote(self._parts, found.uid, to._scope, confirmed=True))

    # --- Inside ----------------------------------------------------------------------------------------------------

    @property
    def _store(self) -> Store:
        return self._parts.shared() if self._scope is Scope.GLOBAL else self._parts.project()

    def _apply(self, changes: list[Change]) -> None:
        if changes:
            self._store.apply(changes, actor=self._parts.actor, now=self._parts.clock())

    def _memories(self, *where: Condition) -> tuple[Memory, ...]:
        return self._store.query((*self._where, *where), order=Order(field="id", newest_first=False), limit=None)

    def _uids(self, item_id: str) -> Iterator[Uid]:
        """The uids that the memory of an item may have: a second one once the first was let go, and so on."""
        check_text("item_id", item_id, _LONGEST_ID, empty=True)
        for number in count():
            given = digest("context-item", self._origin, self._scope, self._owner, item_id, str(number))
            digits = given.removeprefix(HASH_PREFIX)[:32]
            yield Uid("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))

    def _find(self, item_id: str) -> Memory | None:
        for uid in self._uids(item_id):
            held = self._store.by_uid(uid)
            if held is None:
                break
            if holds(held, self._where):
                return held
        # What was remembered otherwise, or promoted: it has a uid of its own.
        found = self._store.by_uid(Uid(item_id))
        if found is not None and holds(found, self._where):
            return found
        return next((memory for memory in self._memories() if (_kept_of(memory) or {}).get("id") == item_id), None)

    def _composed(self, item: ContextItem, uid: Uid, suffix: str) -> Memory:
        limit = self._parts.limits.content - len(suffix)
        kept: Json = {
            "id": item.context_item_id,
            "tier": self._scope.value,
            "kind": item.kind,
            "source": item.source,
            "timestamp": item.timestamp,
            "tags": item.tags,
            "token_cost": item.token_cost,
            "payload": item.payload,
        }
        stage = item.source.removeprefix(f"task/{self._owner}/")
        draft = Draft(
            content=_text(item)[:limit] + suffix,
            kind=_kind(item.kind),
            scope=self._scope,
            tags=tuple(item.tags),
            importance=item.importance,
            task_id=self._owner if self._scope is Scope.TASK else None,
            stage=stage if self._scope is Scope.TASK and stage != item.source else None,
            payload={_MARK: kept},
        )
        origin = Origin.TOOL_OUTPUT if draft.kind is Kind.TOOL_OUTPUT else self._parts.origin
        memory = compose(admit(draft, self._parts.limits), uid=uid, origin=origin, now=self._parts.clock())
        told = cast(Mapping[str, Mapping[str, Json]], memory.payload)[_MARK]
        return replace(memory, payload={_MARK: {**told, "said": memory.content_hash}})

    def _item(self, memory: Memory) -> ContextItem:
        """A memory as an item: as it was added, except for what was changed about it since."""
        kept = _kept_of(memory) or {}
        moved = kept.get("tier") != self._scope.value
        kind, tags = str(kept.get("kind") or ""), [str(each) for each in cast(list[Json], kept.get("tags") or [])]
        if tuple(dict.fromkeys(map(spelled_tag, tags))) != memory.tags:
            tags = list(memory.tags)
        if moved:
            tags = [self._scope.value if tag == kept.get("tier") else tag for tag in tags]
        said = kept.get("said") == memory.content_hash
        return ContextItem(
            context_item_id=str(kept.get("id") or memory.uid),
            kind=kind if kind and _kind(kind) is memory.kind else memory.kind.value,
            source=self._source(memory) if moved else str(kept.get("source")),
            timestamp=cast(str | None, kept["timestamp"]) if kept else memory.created_at.isoformat(),
            tags=tags,
            importance=memory.importance,
            token_cost=cast(int | None, kept["token_cost"]) if said else memory.token_cost,
            payload=dict(cast(Mapping[str, Any], kept["payload"])) if said else {"text": memory.content},
        )

    def _source(self, memory: Memory) -> str:
        if self._scope is Scope.TASK:
            return f"task/{self._owner}/{memory.stage}" if memory.stage else f"task/{self._owner}"
        return f"project/{self._owner}" if self._scope is Scope.PROJECT else "global"


def _kept_of(memory: Memory) -> Mapping[str, Json] | None:
    """What a memory was added as, if it was added as an item."""
    payload = memory.payload
    kept = payload.get(_MARK) if isinstance(payload, Mapping) else None
    return kept if isinstance(kept, Mapping) and {"id", "payload", "timestamp", "token_cost"} <= kept.keys() else None


def _kind(kind: str) -> Kind:
    if kind in _KINDS:
        return _KINDS[kind]
    return Kind(kind) if kind in set(Kind) else Kind.FACT


def _text(item: ContextItem) -> str:
    """What an item says, as a memory says it."""
    payload = item.payload
    if isinstance(payload.get("tool_id"), str) and "output" in payload:
        return f"{payload['tool_id']}: {_written(payload['output'])}"
    said = next((payload[name] for name in _SAYS if isinstance(payload.get(name), str)), None)
    return _written(payload) if said is None else said


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


# --- The three tiers ------------------------------------------------------------------------------------------------


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _promoted(item_id: str, held: MemoryBackend, to: MemoryBackend, scope: Scope, source: str) -> ContextItem:
    """Move an item to a wider tier: there first, so that it is lost at no moment."""
    if isinstance(held, RecollectBackend) and isinstance(to, RecollectBackend):
        moved = held.promote(item_id, to)
        if moved is not None:
            return moved
    item = held.get(item_id)
    if item is None:
        raise NotFound("item", item_id[:64])
    tags = [scope.value if tag == item.source.partition("/")[0] else tag for tag in item.tags]
    raised = replace(item, source=source, tags=tags)
    to.add(raised)
    held.delete(item_id)
    return raised


@dataclass
class TaskMemoryStore:
    """What one task remembers while it runs. It is cleared when the task ends, however it ends."""

    task_id: str
    backend: MemoryBackend = field(default_factory=InMemoryBackend)
    clock: Clock = _utc_now

    def add_reasoning(self, text: str, stage_id: str) -> ContextItem:
        """Add what was thought at a stage."""
        item = ContextItem(
            context_item_id=f"reasoning-{stage_id}-{uuid4()}",
            kind="reasoning",
            source=f"task/{self.task_id}/{stage_id}",
            timestamp=self.clock().isoformat(),
            tags=["task", stage_id],
            importance=0.5,
            token_cost=len(text.split()),
            payload={"text": text},
        )
        self.backend.add(item)
        return item

    def add_tool_output(self, tool_id: str, output: Any) -> ContextItem:
        """Add what a tool answered. A backend that lasts takes plain JSON only."""
        item = ContextItem(
            context_item_id=f"tool-{tool_id}-{uuid4()}",
            kind="tool_output",
            source=f"task/{self.task_id}",
            timestamp=self.clock().isoformat(),
            tags=["task", "tool", tool_id],
            importance=0.7,
            token_cost=len(str(output).split()),
            payload={"tool_id": tool_id, "output": output},
        )
        self.backend.add(item)
        return item

    def get_stage_outputs(self, stage_id: str) -> list[ContextItem]:
        """Everything that came of a stage, the newest first."""
        return self.backend.query({"source": f"task/{self.task_id}/{stage_id}"}, limit=1000)

    def promote(self, item_id: str, to: ProjectMemoryStore) -> ContextItem:
        """Let an item outlive the task, in the memory of the project."""
        source = f"project/{to.project_id}"
        raised = _promoted(item_id, self.backend, to.backend, Scope.PROJECT, source)
        to.make_room()
        return raised

    def clear(self) -> None:
        """Let go of everything: the task has ended."""
        self.backend.clear()


class _Failure(Protocol):
    """What a failure is known by."""

    @property
    def code(self) -> Any:
        """What sort it is; an enumeration's member."""

    def dict(self) -> dict[str, Any]:
        """All of it, as plain values."""


@dataclass
class ProjectMemoryStore:
    """What one project knows across its tasks. No other project sees it."""

    project_id: str
    backend: MemoryBackend
    max_items: int = 1000
    """Above so many the lowest tenth leaves, by importance and then by age."""
    clock: Clock = _utc_now

    def add_decision(self, decision: str, tags: list[str]) -> ContextItem:
        """Add what was decided."""
        said = {"decision": decision}
        return self._add("decision", decision, said, tags=["decision", *tags], importance=0.9)

    def add_convention(self, convention: str, scope: str) -> ContextItem:
        """Add how things are done here."""
        said = {"convention": convention, "scope": scope}
        return self._add("convention", convention, said, tags=["convention", scope], importance=0.8)

    def add_failure(self, failure: _Failure | str, lesson: str) -> ContextItem:
        """Add what went wrong, by its signature or its code alone, and what was learned from it."""
        code = failure if isinstance(failure, str) else str(failure.code.value)
        said = {"failure": {"code": failure} if isinstance(failure, str) else failure.dict(), "lesson": lesson}
        return self._add("failure", lesson, said, tags=["failure", code], importance=0.85)

    def add_pattern(self, pattern: str, domain: str) -> ContextItem:
        """Add a pattern that recurs in this project."""
        said = {"pattern": pattern, "domain": domain}
        return self._add("pattern", pattern, said, tags=["pattern", domain], importance=0.7)

    def add_preference(self, preference: str, category: str) -> ContextItem:
        """Add how the user likes things in this project."""
        said = {"preference": preference, "category": category}
        return self._add("preference", preference, said, tags=["preference", category], importance=0.9)

    def query_decisions(self, tags: list[str] | None = None) -> list[ContextItem]:
        """What was decided, the newest first; with any of these tags, if some are named."""
        filters: dict[str, Any] = {"kind": "decision", "source": f"project/{self.project_id}"}
        return self.backend.query(filters | ({"tags": tags} if tags else {}), limit=100)

    def promote(self, item_id: str, to: GlobalMemoryStore) -> ContextItem | None:
        """Let an item hold in every project; None if the user declines. Refused where nobody can be asked."""
        if to.confirmation_callback is None:
            raise Refused(f"item {item_id[:64]} would be known in every project; that has to be confirmed")
        if not to.confirmation_callback(f"Make item {item_id} of project {self.project_id} known in every project?"):
            return None
        return _promoted(item_id, self.backend, to.backend, Scope.GLOBAL, "global")

    def make_room(self) -> None:
        """Let the lowest tenth go if there are too many items."""
        if isinstance(self.backend, RecollectBackend):
            self.backend.make_room(self.max_items)
        elif self.backend.count() > self.max_items:
            items = sorted(self.backend.list_all(), key=lambda item: (item.importance or 0, item.timestamp or ""))
            for item in items[: len(items) // 10]:
                self.backend.delete(item.context_item_id)

    def _add(
        self, kind: str, text: str, payload: Mapping[str, Any], *, tags: list[str], importance: float
    ) -> ContextItem:
        item = ContextItem(
            context_item_id=f"{kind}-{uuid4()}",
            kind=kind,
            source=f"project/{self.project_id}",
            timestamp=self.clock().isoformat(),
            tags=["project", *tags],
            importance=importance,
            token_cost=len(text.split()),
            payload=dict(payload),
        )
        self.backend.add(item)
        self.make_room()
        return item


@dataclass
class GlobalMemoryStore:
    """What holds in every project: how the user likes things, patterns that prove themselves anywhere."""

    backend: MemoryBackend
    confirmation_callback: Callable[[str], bool] | None = None
    """Asks the user a question, and says whether the answer is yes."""
    clock: Clock = _utc_now

    def add_preference(self, preference: str, category: str, require_confirmation: bool = False) -> ContextItem | None:
        """Add how the user likes things; None if the user is asked and declines."""
        asked = f"Add global preference: '{preference}' (category: {category})?"
        if require_confirmation and not self._agreed(asked):
            return None
        said = {"preference": preference, "category": category}
        return self._add("pref", "preference", preference, said, tag=category, importance=0.9)

    def add_pattern(self, pattern: str, domain: str) -> ContextItem:
        """Add a pattern that can be used anywhere."""
        said = {"pattern": pattern, "domain": domain}
        return self._add("pattern", "pattern", pattern, said, tag=domain, importance=0.7)

    def query_preferences(self, category: str | None = None) -> list[ContextItem]:
        """How the user likes things, the newest first; of one category, if it is named."""
        filters: dict[str, Any] = {"kind": "preference", "source": "global"}
        return self.backend.query(filters | ({"tags": [category]} if category else {}), limit=100)

    def clear_all(self) -> bool:
        """Let go of everything that holds everywhere; whether the user agreed."""
        if not self._agreed("DANGER: Clear ALL global memory? This cannot be undone."):
            return False
        self.backend.clear()
        return True

    def _agreed(self, question: str) -> bool:
        return self.confirmation_callback is None or self.confirmation_callback(question)

    def _add(
        self, prefix: str, kind: str, text: str, payload: Mapping[str, Any], *, tag: str, importance: float
    ) -> ContextItem:
        item = ContextItem(
            context_item_id=f"{prefix}-{uuid4()}",
            kind=kind,
            source="global",
            timestamp=self.clock().isoformat(),
            tags=["global", kind, tag],
            importance=importance,
            token_cost=len(text.split()),
            payload=dict(payload),
        )
        self.backend.add(item)
        return item
