"""Upkeep: how things stand, checks and repairs, backups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import BadFile, StoreError
from ..model import LIVE, Check, Condition, Op, Put
from ..store import Store, backups_in, salvaged, set_aside
from .home import loose_files
from .meaning import Coverage
from .oversight import Health
from .parts import Parts, SpaceName
from .surfaced import Reception

OWN = "memory-*.db"
"""Backups that we made and may clear away; whatever else lies among them belongs to somebody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceOverview:
    """How one space stands."""

    name: SpaceName
    where: str
    live: int
    by_status: dict[str, int] = field(default_factory=dict)
    by_kind: dict[str, int] = field(default_factory=dict)
    by_scope: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    audit_entries: int = 0
    audit_head: str = ""
    backups: int = 0
    newest_backup: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """How memory stands here."""

    project: str
    project_id: str
    root: str
    home: str
    on: bool
    off_where: str | None
    search: str
    spaces: tuple[SpaceOverview, ...]
    notes: tuple[str, ...]
    vectors: tuple[Coverage, ...] = ()
    """How far the vectors are."""
    trouble: tuple[str, ...] = ()
    """Spaces or models that cannot be used, and why."""
    health: Health | None = None
    """Who judges, what that has cost, and how fast recall is."""
    given: Reception | None = None
    """What agents were given in the last days, at what cost, and how it was received."""


def space_overview(parts: Parts, name: SpaceName, backups: Path | None) -> SpaceOverview:
    """How a space stands."""
    store = parts.store(name)
    live = (Condition("status", Op.IN, tuple(sorted(LIVE))),)
    kept = backups_in(backups, OWN)
    with store.snapshot():
        head = store.audit_head()
        return SpaceOverview(
            name=name,
            where=store.url,
            live=store.count(live),
            by_status=store.tally("status"),
            by_kind=store.tally("kind", live),
            by_scope=store.tally("scope", live),
            bytes=store.size(),
            audit_entries=store.totals()["audit"],
            audit_head=f"{head.seq}:{head.hash}",
            backups=len(kept),
            newest_backup=str(kept[0]) if kept else None,
        )


def back_up(parts: Parts, store: Store, target: Path | None, folder: Path | None) -> Path:
    """Write a backup, by default among the space's own, of which the oldest go when there are enough."""
    if target is None and folder is None:
        raise BadFile("backup", "a store without a folder needs a file to be backed up to")
    stamp = parts.clock().strftime("%Y%m%dT%H%M%S%fZ")
    path = target or _unused((folder or Path()) / f"memory-{stamp}.db")
    store.backup(path)
    if target is None:
        for old in backups_in(folder, OWN)[max(1, parts.settings.backup.keep) :]:
            old.unlink(missing_ok=True)
    return path


def _unused(path: Path) -> Path:
    """The path, or one after it in the alphabet: a clock that stands still must not overwrite a backup."""
    number = 1
    while path.exists():
        path = path.with_name(f"{path.stem.rstrip('+')}{'+' * number}.db")
        number += 1
    return path


def bring_back(parts: Parts, store: Store, source: Path | None, folder: Path | None) -> tuple[Path, Path | None]:
    """Restore a backup, by default the newest, after backing up what is there. Returns both files."""
    chosen = source or next(iter(backups_in(folder, OWN)), None)
    if chosen is None:
        raise BadFile(str(folder), "holds no backup", hint="`recollect backup` makes one.")
    safety = back_up(parts, store, None, folder) if folder else None
    store.restore(chosen)
    return chosen, safety


def salvage(parts: Parts, path: Path, space: SpaceName) -> tuple[int, int, Path]:
    """Put a damaged file aside and start a new store with what can be read of it: kept, lost, and where it is now."""
    if not path.is_file():
        raise BadFile(str(path), "there is no such store file to salvage from")
    memories = list(salvaged(path))
    aside = set_aside(path)
    store = parts.store(space)
    whole = [memory for memory in memories if memory is not None]
    for start in range(0, len(whole), _PAGE):
        puts = [Put(memory=memory) for memory in whole[start : start + _PAGE]]
        store.apply(puts, actor=parts.actor, now=parts.clock())
    return len(whole), len(memories) - len(whole), aside


_PAGE = 500


def examine(stores: dict[SpaceName, Callable[[], Store]], home: Path | None, *, rebuild: bool) -> tuple[Check, ...]:
    """Look everything over; with `rebuild`, make derived data anew first."""
    found: list[Check] = []
    for name, open_space in stores.items():
        try:
            store = open_space()
        except StoreError as error:
            found.append(Check(name=f"{name}: store", ok=False, detail=f"{error} {error.hint}".strip()))
            continue
        if rebuild:
            store.rebuild()
        found += [
            Check(name=f"{name}: {check.name}", ok=check.ok, detail=check.detail, fixable=check.fixable)
            for check in store.check()
        ]
    if home is not None:
        loose = [str(path) for path in loose_files(home)]
        detail = f"others can read {', '.join(loose[:3])}" if loose else "only you can read your memory"
        found.append(Check(name="file modes", ok=not loose, detail=detail, fixable=True))
    return tuple(found)


def tighten(home: Path) -> None:
    """Take away from others what only the owner should have."""
    for path in list(loose_files(home)):
        path.chmod(0o700 if path.is_dir() else 0o600)
