"""Where things lie: beside which folder backups, transcripts and keys of one open memory are kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import BadFile
from ..policy.access import Right, Role, require
from .home import signing_key
from .parts import SpaceName
from .project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The folders of one open memory; a store that was opened by itself has none."""

    identity: Project | None
    home: Path | None
    role: Role = Role.ADMIN

    def backups(self, space: SpaceName) -> Path | None:
        """Where the backups of a space lie."""
        require(self.role, Right.READ, space)
        if space == "project":
            return self.identity.folder / "backups" if self.identity else None
        return self.home / "global" / "backups" if self.home else None

    def store_file(self, space: SpaceName) -> Path:
        """The file of a space's store."""
        require(self.role, Right.WRITE, space)  # whoever asks for the file is about to replace it
        backups = self.backups(space)
        if backups is None:
            raise BadFile(space, "is not kept in a folder of its own")
        return backups.parent / "memory.db"

    def tree(self, space: SpaceName) -> Path | None:
        """The working tree that memories of a space speak of."""
        require(self.role, Right.READ, space)
        return self.identity.root if self.identity and space == "project" else None

    def sessions(self, told: str | None) -> Path:
        """Where transcripts lie: where the settings say, else beside the store."""
        require(self.role, Right.READ, "project")
        if told is not None:
            return (self.identity.root if self.identity else Path()) / Path(told).expanduser()
        folder = self.identity.folder if self.identity else self.home
        if folder is None:
            raise BadFile("sessions", "a memory without a folder keeps no transcripts", hint="Set session.path.")
        return folder / "sessions"

    def key(self) -> bytes:
        """The key that exports are signed with."""
        require(self.role, Right.READ, "project")
        if self.home is None:
            raise BadFile("export", "a memory without a home folder has no key to sign with")
        return signing_key(self.home)
