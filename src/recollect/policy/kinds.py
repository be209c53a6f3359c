"""The kind table: how long each kind of knowledge stays fresh, how much it weighs, how important it starts out.

Half-lives govern confidence, TTLs say when an unused extracted or inferred memory may be archived (None: never by
age). Where the designs Recollect unites give a number it stands here; the others are ours, chosen beside the nearest
relative and marked so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from ..model import Kind, Origin


@dataclass(frozen=True, slots=True)
class Traits:
    """What one kind of memory is like."""

    half_life_days: float
    ttl_days: int | None
    weight: float
    importance: float
    meaning: str


KINDS: dict[Kind, Traits] = {
    Kind.FACT: Traits(30, None, 1.0, 0.5, "something that is so"),
    Kind.PREFERENCE: Traits(90, 365, 1.1, 0.9, "how the user likes things"),
    Kind.PROCEDURE: Traits(60, None, 1.1, 0.7, "how to do something, in steps"),
    Kind.CORRECTION: Traits(365, None, 1.3, 0.9, "the user put the agent right"),
    Kind.NEGATIVE: Traits(365, None, 1.3, 0.9, "something never to do"),
    Kind.DECISION: Traits(90, 90, 1.2, 0.9, "what was decided, and why"),
    Kind.ARCHITECTURE: Traits(180, 180, 1.2, 0.8, "how the parts fit together"),
    Kind.PATTERN: Traits(180, 180, 1.1, 0.8, "a convention or idiom"),
    Kind.WARNING: Traits(90, 30, 1.3, 0.8, "a pitfall to avoid"),
    Kind.DISCOVERY: Traits(30, 21, 1.0, 0.6, "something found out about the code"),
    Kind.ERROR: Traits(90, 90, 1.1, 0.85, "a failure and its lesson"),
    Kind.FILE_CHANGE: Traits(21, 21, 0.8, 0.4, "a notable change to a file"),
    Kind.TASK_PROGRESS: Traits(14, 14, 0.8, 0.4, "where a task stands"),
    Kind.SUMMARY: Traits(90, None, 0.9, 0.6, "what a session came to"),
    Kind.REASONING: Traits(7, 14, 0.7, 0.5, "a step of thought within a task"),
    Kind.TOOL_OUTPUT: Traits(7, 14, 0.7, 0.7, "what a tool answered within a task"),
}

INFERRED_HALF_LIFE_DAYS = 7.0
"""An inference fades fast, whatever its kind."""

TRUST: dict[Origin, float] = {
    Origin.USER_STATED: 1.0,
    Origin.USER_CORRECTED: 1.0,
    Origin.OBSERVED: 0.8,
    Origin.INFERRED: 0.5,
    Origin.EXTRACTED: 0.7,
    Origin.IMPORTED: 0.6,
    Origin.TOOL_OUTPUT: 0.3,
}
"""How far each origin is trusted. A memory made from others is trusted no more than the least of them."""


KindTable: TypeAlias = Mapping[Kind, Traits]


def kind_table(half_lives: Mapping[str, float | None], ttls: Mapping[str, int | None]) -> KindTable:
    """The kind table with other half-lives and TTLs, by the names of kinds, both in days; None leaves one as it is.

    A TTL of 0 is none: such a memory does not expire by age.
    """
    return {
        kind: replace(
            traits,
            half_life_days=half_lives.get(kind) or traits.half_life_days,
            ttl_days=traits.ttl_days if (ttl := ttls.get(kind)) is None else ttl or None,
        )
        for kind, traits in KINDS.items()
    }


def half_life_days(kind: Kind, origin: Origin, table: KindTable = KINDS) -> float:
    """Days after which confidence has fallen to 1/e, before access and trust are counted."""
    return INFERRED_HALF_LIFE_DAYS if origin is Origin.INFERRED else table[kind].half_life_days
