"""Files that people and agents keep: those that memories are made from, and the one that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import ProjectError
from . import migrate
from .migrate import Migrated
from .mirror import Mirror
from .parts import Parts, SpaceName
from .project import Project
from .transfer import Progress


class Files:
    """The files of one project."""

    def __init__(self, parts: Parts, identity: Project | None) -> None:
        self._parts = parts
        self._identity = identity

    @property
    def mirror(self) -> Mirror:
        """`MEMORY.md`, which shows the project's memories and takes edits back."""
        if self._identity is None:
            raise ProjectError("a memory without a project has no MEMORY.md")
        return Mirror.of(self._parts, self._identity)

    def known(self, home: Path) -> list[Path]:
        """The memory and instruction files of agents that lie in the project; `home` is the user's own folder."""
        return migrate.known_files(self._identity.root, home) if self._identity else []

    def migrate(
        self,
        paths: Sequence[Path],
        *,
        space: SpaceName = "project",
        dry_run: bool = False,
        progress: Progress = lambda done, total: None,
    ) -> Migrated:
        """Make memories of what such files say, one for each thing they say. Doing it again adds nothing."""
        root = self._identity.root if self._identity else None
        return migrate.migrate(self._parts, paths, space=space, root=root, dry_run=dry_run, progress=progress)

    def take_back(self, migration: str, *, space: SpaceName = "project") -> int:
        """Forget what a migration added, but for what somebody has changed since. Returns how many."""
        return migrate.unmigrate(self._parts, migration, space=space)

    def migrations(self, *, space: SpaceName = "project") -> dict[str, int]:
        """The migrations of which there are memories, newest first, and how many there are of each."""
        return migrate.migrations(self._parts, space=space)
