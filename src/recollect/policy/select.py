"""From a ranking to the results: what gives way to something newer, what is left out and why.

Each step takes hits in order and returns those that stay; what leaves is told to `Left` with the step's name, so that
anyone can ask why a memory is not among the results.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..model import Hit, Kind, Memory, Uid
from .words import stems_of


@dataclass(slots=True)
class Left:
    """Who left at which step, and by how much."""

    steps: dict[Uid, tuple[str, str]] = field(default_factory=dict)

    def tell(self, hit: Hit, step: str, detail: str) -> None:
        """The first step at which a memory left is the one that counts."""
        self.steps.setdefault(hit.memory.uid, (step, detail))


def gate(hits: Sequence[Hit], least: float, left: Left, *, exempt: Collection[Uid] = ()) -> list[Hit]:
    """Only what is relevant enough, or is exempt."""
    kept = []
    for hit in hits:
        if hit.relevance >= least or hit.memory.uid in exempt:
            kept.append(hit)
        else:
            left.tell(hit, "gate", f"relevance {hit.relevance:.2f} is below {least:.2f}")
    return kept


def top(hits: Sequence[Hit], most: int, left: Left, *, step: str = "limit") -> list[Hit]:
    """The first few."""
    for place, hit in enumerate(hits[most:], start=most + 1):
        last = hits[most - 1].score if most else 0.0
        left.tell(hit, step, f"place {place} of {most}; score {hit.score:.3f}, the last one in has {last:.3f}")
    return list(hits[:most])


def drop_worst(hits: Sequence[Hit], share: float, left: Left) -> list[Hit]:
    """Without the worst share of them."""
    kept = len(hits) - int(len(hits) * share)
    return top(hits, kept, left, step="worst")


def chosen(
    hits: Sequence[Hit], most: int, left: Left, *, per_source: int | None, said: Mapping[Uid, str] | None
) -> list[Hit]:
    """The first few, at most so many from one session, and one of those that say the same.

    What belongs to no session is not limited. `said` holds the stems of texts that are known already; None lets copies
    stand. Nothing beyond the last one that is chosen is looked at.
    """
    kept: list[Hit] = []
    texts: list[tuple[str, ...]] = []
    counts: dict[str, int] = {}
    for at, hit in enumerate(hits):
        if len(kept) == most:
            return top([*kept, *hits[at:]], most, left)
        source = hit.memory.session_id
        if per_source is not None and source is not None and counts.get(source, 0) >= per_source:
            left.tell(hit, "source", f"{per_source} better ones come from session {source}")
            continue
        words = () if said is None else _words(hit.memory, said)
        original = next((other for other, before in zip(kept, texts, strict=True) if _copies(words, before)), None)
        if original is not None:
            left.tell(hit, "copy", f"says nearly the same as [id:{original.memory.ref}]")
            continue
        kept.append(hit)
        texts.append(words)
        if source is not None:
            counts[source] = counts.get(source, 0) + 1
    return kept


_SAME = 0.85
_TELLING = re.compile(
    r"\d|^(?:not|no|nor|none|neither|never|without|cannot|t|"
    r"(?:do|does|did|is|are|was|were|wo|would|should|could|has|have|had|must|need)n)$"
)
"""Stems of numbers and negations; the t is what is left of "can't" without its "can"."""


def _words(memory: Memory, said: Mapping[Uid, str]) -> tuple[str, ...]:
    known = said.get(memory.uid)
    return tuple((stems_of(memory.content) if known is None else known).split())


def _copies(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether two texts say the same in nearly the same words and in the same order.

    A number or a negation makes a difference.
    """
    words, more = set(some), set(others)
    union = len(words | more)
    if not union or len(words & more) < _SAME * union or any(_TELLING.search(word) for word in words ^ more):
        return False
    shared = words & more
    return [word for word in some if word in shared] == [word for word in others if word in shared]


# --- What is newer comes first --------------------------------------------------------------------------------------

_CHANGE = re.compile(
    r"\b(?:now|no longer|any ?more|instead|from now on|since then|as of|currently|these days|actually|correction|"
    r"after all|back to|used to|formerly|previously|turns? out|took over|takes over|handed over|"
    r"(?:switch|mov|migrat|replac|chang|renam|dropp|bump|upgrad|downgrad|rais|lower|reduc|increas|retir|deprecat|"
    r"revert|supersed|remov|updat|stopp)(?:e|es|ed|ing)?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """When a newer memory is taken to speak of the same thing as an older one, and so to come before it."""

    overlap: float = 12.0
    change: float = 0.9
    kind: float = 2.5
    tags: float = 3.0
    files: float = 3.5
    correction: float = 1.0
    least: float = 5.5
    most: int = 3
    """How many newer ones are put before an older one."""
    relevance: float = 0.15
    """How relevant the newer one must be itself, as a share of the older one's score."""


RENEWAL = Renewal()


def renewed(
    hits: Sequence[Hit],
    bags: Mapping[Uid, frozenset[str]],
    worth: Mapping[str, float],
    *,
    rule: Renewal = RENEWAL,
    reach: int = 40,
) -> list[Hit]:
    """The hits, with what is newer on the same thing put just before what is older.

    `bags` holds the stems of each memory's text, `worth` how telling each stem is. Only the first few are looked at.
    """
    waiting = list(hits[:reach])
    mass = {hit.memory.uid: sum(worth.get(word, 0.0) for word in bags[hit.memory.uid]) for hit in waiting}
    changes: dict[Uid, bool] = {}
    placed: list[Hit] = []
    while waiting:
        first = waiting.pop(0)
        newer = []
        for at, hit in enumerate(waiting):
            if hit.memory.created_at <= first.memory.created_at or hit.score < rule.relevance * first.score:
                continue
            shared = sum(worth.get(word, 0.0) for word in bags[first.memory.uid] & bags[hit.memory.uid])
            strength = _alike(first.memory, hit.memory, rule)
            strength += rule.overlap * shared / (min(mass[first.memory.uid], mass[hit.memory.uid]) or 1.0)
            if rule.least - rule.change <= strength < rule.least:
                # Only where it decides: looking for words of change is what takes longest.
                if hit.memory.uid not in changes:
                    changes[hit.memory.uid] = bool(_CHANGE.search(hit.memory.content))
                strength += rule.change * changes[hit.memory.uid]
            if strength >= rule.least:
                newer.append((strength, -at))
        ahead = [-at for _, at in sorted(newer, reverse=True)[: rule.most]]
        placed += [waiting[at] for at in ahead]
        waiting = [hit for at, hit in enumerate(waiting) if at not in ahead]
        placed.append(first)
    return [*placed, *hits[reach:]]


def _alike(older: Memory, newer: Memory, rule: Renewal) -> float:
    """How much speaks for two memories being about the same thing, besides their words."""
    return (
        rule.kind * (older.kind is newer.kind)
        + rule.tags * (not set(older.tags).isdisjoint(newer.tags) if older.tags else False)
        + rule.files * (not set(older.files).isdisjoint(newer.files) if older.anchors else False)
        + rule.correction * (newer.kind is Kind.CORRECTION)
    )
