"""Labelled pairs of memories through the rules that decide what a new memory is to one that is there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import cast

from ..codec import EPOCH, decode
from ..engine.consolidate import Comparer
from ..engine.meaning import Meaning
from ..errors import BadFile, InvalidInput
from ..model import Draft, Json, Kind, Memory, Origin, Uid
from ..policy.admit import compose
from ..policy.compare import Consolidation, Verdict, verdict

EXPECTED = {
    "same": Verdict.SAME,
    "replaces": Verdict.SUPERSEDES,
    "conflicts": Verdict.CONTRADICTS,
    "distinct": Verdict.NEW,
}
"""What is to happen for each label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPair:
    """Two memories, the time between them, and what somebody who read both says they are to each other."""

    id: str
    older: str
    newer: str
    older_kind: Kind
    newer_kind: Kind
    hours: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How often each verdict was given, and how often it was right."""

    pairs: int
    counts: Mapping[str, Mapping[str, int]]
    """By label, then by verdict."""
    precision: Mapping[str, float]
    recall: Mapping[str, float]


def load_pairs(path: Path) -> tuple[LabelledPair, ...]:
    """Read a file of labelled pairs, one JSON object a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(str(path), f"cannot be read ({error})") from error
    return tuple(_pairs(path, lines))


def _pairs(path: Path, lines: Sequence[str]) -> Iterator[LabelledPair]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            pair = decode(LabelledPair, cast(Json, json.loads(line)))
        except (ValueError, InvalidInput) as error:
            raise BadFile(f"{path}, line {number}", f"is no labelled pair ({error})") from error
        if pair.label not in EXPECTED:
            raise BadFile(f"{path}, line {number}", f"{pair.label!r} is not one of {', '.join(EXPECTED)}")
        yield pair


def judge_pairs(pairs: Sequence[LabelledPair], meaning: Meaning, rule: Consolidation | None = None) -> Judgement:
    """Decide every pair as if an agent had written both, and count."""
    rule = rule or Consolidation()
    comparer = Comparer(meaning, rule)
    counts: dict[str, Counter[str]] = {label: Counter() for label in EXPECTED}
    for pair in pairs:
        older = _written(pair.older, pair.older_kind, "older", 0.0)
        newer = _written(pair.newer, pair.newer_kind, "newer", pair.hours)
        says = comparer.said(older.content, newer.content)
        counts[pair.label][verdict(says, older, newer, now=newer.created_at, rule=rule)] += 1
    return Judgement(
        pairs=len(pairs),
        counts={label: dict(found) for label, found in counts.items()},
        precision={
            right.value: _share(counts[label][right], _given(counts, right)) for label, right in EXPECTED.items()
        },
        recall={right.value: _share(counts[label][right], counts[label].total()) for label, right in EXPECTED.items()},
    )


def _written(text: str, kind: Kind, uid: str, hours: float) -> Memory:
    now = EPOCH + timedelta(hours=hours)
    return compose(Draft(content=text, kind=kind), uid=Uid(uid), origin=Origin.OBSERVED, now=now)


def _given(counts: Mapping[str, Counter[str]], verdict: Verdict) -> int:
    return sum(found[verdict] for found in counts.values())


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
