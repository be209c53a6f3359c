"""What the engine's modules are given to work with."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from ..config import Settings
from ..errors import NotFound, StoreError
from ..model import Memory, MemoryId, Origin, Scope, Uid
from ..policy.access import Role
from ..policy.admit import Limits
from ..policy.kinds import KindTable, kind_table
from ..store import Store
from .habit import Habits
from .meaning import Meaning
from .oversight import Oversight
from .rerank import Reranker
from .switch import Switch
from .watch import Watch

Clock: TypeAlias = Callable[[], datetime]
SpaceName: TypeAlias = Literal["project", "global"]
Ref: TypeAlias = int | str
"""How callers name a memory: 42, "42", "g42", "[id:42]" or a uid."""

_REF = re.compile(r"\[?(?:id:)?(g?)([0-9]{1,18})\]?")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The stores a call may reach, and everything that is decided when a program starts.

    There are exactly two stores: the project's own and the global one. No call can name a third.
    """

    project: Callable[[], Store]
    shared: Callable[[], Store]
    settings: Settings
    clock: Clock
    switch: Switch
    actor: str
    origin: Origin
    meaning: Meaning
    habits: Habits
    wake: Callable[[], None]
    """Tell the background, if there is one, that there may be something to do."""
    later: Callable[[str, Callable[[], object]], None]
    """Have a piece of work done soon, by a name under which it is done once; at once where there is no background."""
    reranker: Reranker
    watch: Watch
    oversight: Oversight
    background: bool = False
    """Whether there is somebody to leave what takes long to."""
    role: Role = Role.ADMIN
    root: str = ""
    """The working tree that memories of the project speak of; "" where there is none."""

    def store(self, space: SpaceName) -> Store:
        """The store of a space."""
        return self.shared() if space == "global" else self.project()

    def stores(self) -> Iterator[Store]:
        """The project's memory and the global one; what holds here is worth having even when that cannot be had."""
        yield self.project()
        with suppress(StoreError):
            yield self.shared()

    @property
    def limits(self) -> Limits:
        """How much one memory may hold, as the settings say."""
        write = self.settings.write
        return Limits(
            content=write.content_limit,
            tags=write.tags_limit,
            tag_length=write.tag_length,
            paths=write.paths_limit,
            payload=write.payload_limit,
        )

    @property
    def kinds(self) -> KindTable:
        """The kind table, with what the settings say otherwise."""
        return kind_table(asdict(self.settings.halflife), asdict(self.settings.ttl))

    def find(self, ref: Ref) -> tuple[Store, Memory]:
        """The memory that a reference names, and the store it is in."""
        text = str(ref).strip()
        found = _REF.fullmatch(text)
        if found:
            store = self.shared() if found[1] else self.project()
            memory = store.get(MemoryId(int(found[2])))
            if memory is not None:
                return store, memory
        elif _UID.fullmatch(text.lower()):
            for opened in (self.project, self.shared):
                store = opened()
                memory = store.by_uid(Uid(text.lower()))
                if memory is not None:
                    return store, memory
        raise NotFound("memory", text[:64])


def at_once(name: str, piece: Callable[[], object]) -> None:
    """There is no background to leave a piece of work to."""
    piece()


def space_of(scope: Scope) -> SpaceName:
    """The space in which memories of a scope live."""
    return "global" if scope is Scope.GLOBAL else "project"


def new_uid(now: datetime) -> Uid:
    """A UUID of version 7: unique everywhere, and in the order of time."""
    millis = max(0, int(now.timestamp() * 1000)) & (2**48 - 1)
    random = int.from_bytes(os.urandom(10), "big")
    value = millis << 80 | 7 << 76 | (random >> 68 & 0xFFF) << 64 | 2 << 62 | random & (2**62 - 1)
    digits = f"{value:032x}"
    return Uid("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))
