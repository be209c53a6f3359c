"""Memory on and off: for one project, or everywhere.

Off is a small file, so that whoever is about to capture, recall or inject can see it without opening a store.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ..codec import to_iso
from ..disk import private_folder, write_private
from ..errors import MemoryOff

_NAME = "off"


@dataclass(frozen=True, slots=True)
class Switch:
    """Whether memory is on for a project folder within a home. Without folders, as in tests, it is always on."""

    home: Path | None = None
    project: Path | None = None

    def off_where(self) -> str | None:
        """Where it is switched off, in words; None when it is on."""
        if self.home and (self.home / _NAME).exists():
            return "everywhere"
        if self.project and (self.project / _NAME).exists():
            return "for this project"
        return None

    def require_on(self) -> None:
        """Refuse to go on while memory is off."""
        where = self.off_where()
        if where:
            raise MemoryOff(where)

    def turn_off(self, *, everywhere: bool, actor: str, now: datetime) -> None:
        """Switch off. Doing it twice changes nothing."""
        write_private(private_folder(self._folder(everywhere)) / _NAME, [f"{to_iso(now)} {actor}\n"])

    def turn_on(self, *, everywhere: bool) -> None:
        """Switch on. Doing it twice changes nothing."""
        (self._folder(everywhere) / _NAME).unlink(missing_ok=True)

    def _folder(self, everywhere: bool) -> Path:
        folder = self.home if everywhere else self.project
        if folder is None:
            raise MemoryOff("nowhere: this memory has no folder to keep a switch in")
        return folder
