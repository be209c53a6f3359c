"""Disks that go wrong on purpose: one that remembers every write for a power cut, one that fails at the n-th."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512


@dataclass(frozen=True)
class Step:
    """One thing that happened to a file: write, sync, truncate, delete; or, with no file, an acknowledgement."""

    what: str
    file: str = ""
    at: int = 0
    data: bytes = b""


class Disk(apsw.VFS):
    """The disk that SQLite uses while it is in place; `told` hears of everything before it happens and may raise."""

    def __init__(self, told: Callable[[Step], None]) -> None:
        self._base = apsw.vfs_names()[0]
        self._told = told
        super().__init__(f"disk-{id(self)}", self._base, makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802 - SQLite's names
        return _File(self._base, self._told, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self._told(Step("delete", Path(filename).name))
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(self, base: str, told: Callable[[Step], None], name: Any, flags: Any) -> None:
        path = name.filename() if hasattr(name, "filename") else str(name)
        self._name = Path(path).name
        self._told = told
        super().__init__(base, name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._told(Step("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._told(Step("sync", self._name))
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._told(Step("truncate", self._name, newsize))
        super().xTruncate(newsize)


def after_a_power_cut(steps: list[Step], folder: Path, chance: random.Random) -> None:
    """Write what could be on the disk if the power went after these steps.

    What was synced is there. Of the rest any part may be, in any combination, and a write may be torn at a sector.
    """
    disk: dict[str, bytearray] = {}
    waiting: dict[str, list[Step]] = {}
    for step in steps:
        if step.what in ("write", "truncate"):
            waiting.setdefault(step.file, []).append(step)
        elif step.what == "sync":
            for each in waiting.pop(step.file, []):
                _carry_out(disk, each)
        elif step.what == "delete":
            disk.pop(step.file, None)
            waiting.pop(step.file, None)
    for each in (step for unsynced in waiting.values() for step in unsynced if chance.random() < 0.5):
        torn = each.what == "write" and len(each.data) >= SECTOR and chance.random() < 0.2
        end = chance.randrange(0, len(each.data) + 1, SECTOR) if torn else len(each.data)
        _carry_out(disk, Step(each.what, each.file, each.at, each.data[:end]))
    folder.mkdir()
    for name, content in disk.items():
        if name.endswith((".db", "-wal")):
            (folder / name).write_bytes(content)


def _carry_out(disk: dict[str, bytearray], step: Step) -> None:
    content = disk.setdefault(step.file, bytearray())
    if step.what == "truncate":
        del content[step.at :]
        return
    content.extend(bytes(max(0, step.at + len(step.data) - len(content))))
    content[step.at : step.at + len(step.data)] = step.data
