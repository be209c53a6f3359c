"""Which findings of a session become memories, with what status, and what becomes of candidates afterwards.

Signals are worth points, and enough of them promote a finding, once it is long and important enough. What the user
said, asked for or pinned needs neither. In explicit mode nothing counts but the asking. A finding that promoted itself
starts as a candidate and has to be used to be confirmed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

from ..model import Finding, Memory, Status
from .kinds import KINDS

PromotionMode: TypeAlias = Literal["weighted", "explicit"]

HIGH_IMPORTANCE = 0.7
"""From here on importance is a signal of its own."""

PENALTY = 0.8
"""What the importance of a candidate that nobody used is multiplied by, once."""


class PromotionSignal(StrEnum):
    """What speaks for keeping a finding beyond its session."""

    USER_INTENT = "user-intent"
    EXPLICIT_PIN = "explicit-pin"
    MULTI_SESSION = "multi-session"
    ERROR_RESOLUTION = "error-resolution"
    MULTI_AGENT = "multi-agent"
    HIGH_IMPORTANCE = "high-importance"

    @property
    def points(self) -> int:
        """How much it counts."""
        return _POINTS[self]


_POINTS = {
    PromotionSignal.USER_INTENT: 5,
    PromotionSignal.EXPLICIT_PIN: 5,
    PromotionSignal.MULTI_SESSION: 2,
    PromotionSignal.ERROR_RESOLUTION: 2,
    PromotionSignal.MULTI_AGENT: 1,
    PromotionSignal.HIGH_IMPORTANCE: 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """How readily findings are promoted: the points it takes, and what a finding must have to be looked at."""

    points: int
    importance: float
    length: int
    """In characters."""


PRESETS: dict[str, Preset] = {
    "conservative": Preset(points=4, importance=0.4, length=50),
    "balanced": Preset(points=3, importance=0.25, length=30),
    "aggressive": Preset(points=2, importance=0.15, length=20),
}
"""From the strictest to the readiest: each promotes whatever the one before it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """In how many sessions and from how many agents a finding has turned up, this time included."""

    sessions: int = 1
    agents: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Whether a finding is promoted, why, and the status it has if it is."""

    promote: bool
    status: Status
    points: int
    signals: tuple[PromotionSignal, ...]
    reason: str


class Quarantine(StrEnum):
    """What time has made of a candidate."""

    WAIT = "wait"
    CONFIRM = "confirm"
    PENALISE = "penalise"
    """Its importance is multiplied by `PENALTY`."""
    KEEP = "keep"


def judged(
    finding: Finding,
    seen: Seen,
    *,
    preset: str,
    mode: PromotionMode,
    asked: bool = False,
    pinned: bool = False,
) -> Judged:
    """Whether a finding becomes a memory, under a preset that `PRESETS` names.

    `asked` is a person's wish to remember this very finding, `pinned` their wish to have it always at hand. Either
    promotes it in both modes; what the user stated in passing is promoted only in weighted mode.
    """
    signals = tuple(_signals(finding, seen, asked=asked, pinned=pinned))
    points = sum(signal.points for signal in signals)
    if mode == "explicit":
        promote, reason = asked or pinned, _asked_reason(asked=asked, pinned=pinned)
    else:
        held = None if asked or pinned or finding.stated else _held_back(finding, PRESETS[preset])
        needed = PRESETS[preset].points
        promote = held is None and points >= needed
        reason = held or f"{points} of {needed} points: {', '.join(signals) or 'nothing speaks for it yet'}"
    return Judged(
        promote=promote,
        status=_status(finding, asked=asked, pinned=pinned),
        points=points,
        signals=signals,
        reason=reason,
    )


def lineage_trust(own: float, sources: Iterable[float]) -> float:
    """How far a memory made from others is trusted: no more than the least of them, and never more than by itself."""
    return min((own, *sources))


def after_quarantine(memory: Memory, now: datetime, *, hours: float, penalised: bool) -> Quarantine:
    """What becomes of a candidate that has waited its hours; a memory of any other status is kept as it is.

    Used since it was made, it is confirmed, whether or not it was `penalised` before. A clock that was set back makes
    nothing younger than new.
    """
    if memory.status is not Status.CANDIDATE:
        return Quarantine.KEEP
    if max(timedelta(0), now - memory.created_at) < timedelta(hours=hours):
        return Quarantine.WAIT
    if memory.access_count > 0 or memory.accessed_at is not None:
        return Quarantine.CONFIRM
    return Quarantine.KEEP if penalised else Quarantine.PENALISE


def _importance(finding: Finding) -> float:
    return KINDS[finding.kind].importance if finding.importance is None else finding.importance


def _signals(finding: Finding, seen: Seen, *, asked: bool, pinned: bool) -> Iterable[PromotionSignal]:
    given = {
        PromotionSignal.USER_INTENT: asked or finding.stated,
        PromotionSignal.EXPLICIT_PIN: pinned,
        PromotionSignal.MULTI_SESSION: seen.sessions >= 2,
        PromotionSignal.ERROR_RESOLUTION: finding.resolves,
        PromotionSignal.MULTI_AGENT: seen.agents >= 2,
        PromotionSignal.HIGH_IMPORTANCE: _importance(finding) >= HIGH_IMPORTANCE,
    }
    return (signal for signal in PromotionSignal if given[signal])


def _held_back(finding: Finding, preset: Preset) -> str | None:
    """Which filter stops a finding, in words."""
    length = len(finding.content.strip())
    if length < preset.length:
        return f"content is {length} characters, fewer than {preset.length}"
    importance = _importance(finding)
    if importance < preset.importance:
        return f"importance is {importance:.2g}, less than {preset.importance:.2g}"
    return None


def _asked_reason(*, asked: bool, pinned: bool) -> str:
    if pinned:
        return "it was pinned"
    return "it was asked for" if asked else "nobody asked for it, and nothing is promoted unasked"


def _status(finding: Finding, *, asked: bool, pinned: bool) -> Status:
    if pinned:
        return Status.PINNED
    return Status.CONFIRMED if asked or finding.stated else Status.CANDIDATE
