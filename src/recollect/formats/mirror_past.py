"""The versions of a MEMORY.md before the one that was last written, in a small file beside the store.

Each is told by how it differs from the one after it, so that a version more is a few lines more. It names the one after
it: what cannot be followed from the newest version on, as after a kill or a change by hand, counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise

from ..codec import canonical
from ..model import UNSAVED, Json, MemoryId
from ..policy.mirror import Line, Version

MOST_VERSIONS = 8
_MOST_LINES = 4_000


def past_json(versions: Sequence[Version]) -> str:
    """The versions after the first, newest first; as many as are kept."""
    past: list[Json] = []
    room = _MOST_LINES
    for newer, older in pairwise(versions[:MOST_VERSIONS]):
        lines: dict[str, Json] = {
            str(number): list(line) for number, line in older.lines.items() if newer.lines.get(number) != line
        }
        lines |= {str(number): None for number in newer.lines if number not in older.lines}
        room -= len(lines)
        if room < 0:
            break
        taken_out: list[Json] = [*sorted(older.taken_out)]
        past.append({"name": older.name, "before": newer.name, "lines": lines, "taken_out": taken_out})
    return f"{canonical(past)}\n"


def past_from(text: str, newest: Version) -> tuple[Version, ...]:
    """The versions before the newest one, newest first, as far as they can be followed."""
    try:
        told = json.loads(text)
    except ValueError:
        return ()
    found = [newest]
    for each in told if isinstance(told, list) else ():
        version = _before(found[-1], each)
        if version is not None:
            found.append(version)
    return tuple(found[1:])


def _before(newer: Version, told: Json) -> Version | None:
    """The version that is told to come before another; None where it does not."""
    if not isinstance(told, dict) or told.get("before") != newer.name:
        return None
    differs, taken_out = told.get("lines"), told.get("taken_out")
    if not isinstance(differs, dict) or not isinstance(taken_out, list):
        return None
    lines = {**newer.lines}
    for name, value in differs.items():
        number = MemoryId(int(name)) if name.isdecimal() else UNSAVED
        lines.pop(number, None)
        if (line := _line(value)) is not None:
            lines[number] = line
    version = Version(
        lines=lines, taken_out=frozenset(MemoryId(number) for number in taken_out if isinstance(number, int))
    )
    return version if version.name == told.get("name") else None


def _line(told: Json) -> Line | None:
    match told:
        case [str() as section, str() as own, str() as day, str() as words]:
            return section, own, day, words
    return None
