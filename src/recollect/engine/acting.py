"""Kinds that act: warnings whose trigger a context touches, procedures for what it is about to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..codec import conform
from ..model import Memory
from ..policy.render import acting_text
from .definitions import active_seasons
from .parts import Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggered:
    """A memory that speaks up: the pattern that matched, what it matched, and the memory as it is to be read."""

    memory: Memory
    pattern: str
    found: str
    text: str


def triggered(
    parts: Parts, context: str, *, files: Iterable[str], session: str | None, task: str | None
) -> tuple[Triggered, ...]:
    """The live memories that a context triggers, most important first, of the project and the global space."""
    conform(str, context, "context")
    if parts.switch.off_where():
        return ()
    owners = {"", *([f"session:{session}"] if session else []), *([f"task:{task}"] if task else [])}
    named = tuple(files)
    found = []
    for store in parts.stores():
        seasons = active_seasons(store, parts.clock())
        for memory, match in parts.watch.matches(store, context[: parts.settings.recall.query_limit], named):
            if memory.owner in owners and (memory.season is None or memory.season in seasons):
                text = acting_text(memory, match.found)
                found.append(Triggered(memory=memory, pattern=match.pattern, found=match.found, text=text))
    return tuple(sorted(found, key=lambda each: (-each.memory.importance, each.memory.ref)))
