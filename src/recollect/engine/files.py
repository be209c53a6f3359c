"""Files that people and agents keep: those that memories are made from, and those that show them.

Whoever works on a memory for somebody, as the command line does, calls `take_edits` before and `write` after. Both
cost next to nothing where nothing has changed, because what was last seen of each file is noted beside the store; and
neither ever fails, because the work itself does not need them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProjectError, RecollectError, StoreError
from . import migrate
from .migrate import Migrated
from .mirror import Mirror, Taken
from .parts import Parts, SpaceName
from .project import Project
from .sources import FILE as ITEMS
from .sources import Items
from .tasks import FILE as TASKS
from .tasks import TakenTasks, Tasks
from .transfer import Progress

_SEEN = ".mirror.seen"
_SETTLED = 100_000_000
"""Nanoseconds after which a file that is saved again has another time, whatever the file system."""
_STORES = ("memory.db", "memory.json")
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What came of edits of the files, in words for a person."""

    taken: tuple[str, ...] = ()
    trouble: tuple[str, ...] = ()
    """What could not be taken, or waits for somebody to decide."""


class Files:
    """The files of one project, and the one that shows the global memories."""

    def __init__(self, parts: Parts, identity: Project | None) -> None:
        self._parts = parts
        self._identity = identity

    # --- Files that show memories ------------------------------------------------------------------------------------

    @property
    def mirror(self) -> Mirror:
        """`MEMORY.md`, which shows the project's memories and takes edits back."""
        return self.mirror_of("project")

    def mirror_of(self, space: SpaceName) -> Mirror:
        """The `MEMORY.md` of the project, or that of the global memories."""
        home = self._parts.switch.home
        if space == "global" and home is not None:
            return Mirror.shared(self._parts, home)
        if space == "project" and self._identity is not None:
            return Mirror.of(self._parts, self._identity)
        raise ProjectError(f"a memory without a {'home' if space == 'global' else 'project'} has no MEMORY.md")

    def take_edits(self, *, tasks: bool = False) -> News:
        """Take over what somebody has changed in `MEMORY.md`, in the global one and in `tasks.json`.

        An `items.json` that somebody has changed is set aside, and written as it was. A file that is as it was when it
        was last looked at is not opened. Nothing happens while memory is off, nor while `mirror.auto` is; but for
        `tasks`, if they are what this is about.
        """
        news = [each for space, folder in self._in_step() for each in self._taken(space, _Seen(folder))]
        if tasks and not self._parts.settings.mirror.auto and self._identity and not self._parts.switch.off_where():
            news.append(self._taken_tasks(_Seen(self._identity.folder)))
        return News(
            taken=tuple(line for each in news for line in each.taken),
            trouble=tuple(line for each in news for line in each.trouble),
        )

    def write(self) -> tuple[str, ...]:
        """Write `MEMORY.md`, and the global one, if memory has changed since it was written; returns what went wrong.

        An empty memory gets no file. Nothing happens while `mirror.auto` or memory is off.
        """
        trouble: list[str] = []
        for space, folder in self._in_step():
            if any((folder / name).exists() for name in _STORES):
                try:
                    self._write(space, _Seen(folder))
                except (RecollectError, OSError) as error:
                    trouble.append(str(error))
        return tuple(trouble)

    def _in_step(self) -> Iterator[tuple[SpaceName, Path]]:
        """The spaces whose files are kept in step with them, and their folders."""
        if not self._parts.settings.mirror.auto or self._parts.switch.off_where():
            return
        if self._identity is not None:
            yield "project", self._identity.folder
        if self._parts.switch.home is not None:
            yield "global", self._parts.switch.home / "global"

    def _taken(self, space: SpaceName, seen: _Seen) -> Iterator[News]:
        try:
            mirror = self.mirror_of(space)
            yield seen.unless_same(mirror.path, lambda: _mirror_news(mirror.take_edits(), mirror.path, space))
        except (RecollectError, OSError) as error:
            yield News(trouble=(str(error),))
        if space == "global":
            return
        yield self._taken_tasks(seen)
        items = Items(self._parts, None, seen.folder)
        try:
            yield seen.unless_same(seen.folder / ITEMS, lambda: News(trouble=items.restore_file()))
        except (RecollectError, OSError) as error:
            yield News(trouble=(f"{ITEMS}: {error}",))

    def _taken_tasks(self, seen: _Seen) -> News:
        tasks = Tasks(self._parts, seen.folder)
        try:
            return seen.unless_same(seen.folder / TASKS, lambda: _task_news(tasks.take_edits()))
        except (RecollectError, OSError) as error:
            return News(trouble=(f"{TASKS}: {error}",))

    def _write(self, space: SpaceName, seen: _Seen) -> None:
        try:
            head = self._parts.store(space).audit_head().hash
        except StoreError:
            return  # not the mirror's trouble; whoever needs the store is told
        mirror = self.mirror_of(space)
        shown = f"{head} in {self._parts.settings.mirror.limit}"
        if seen.shown(mirror.path) != shown and (mirror.write() or not mirror.edited()):
            # The head as it was before: what has changed while the file was written makes it another one.
            seen.note(mirror.path, shown=shown)

    # --- Files that memories are made from ---------------------------------------------------------------------------

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


class _Seen:
    """What was last seen of the files of a folder: the date of each, and what it shows.

    Losing it, or a part of it to another process, costs one look more.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / _SEEN

    def unless_same(self, path: Path, look: Callable[[], News]) -> News:
        """What a look at a file brings; nothing if the file is as it was when a look brought nothing."""
        date, known = _date(path), self._all().get(str(path), {})
        # Without a date, a file that was written and is gone must not pass for one that never was.
        if date == known.get("date") and ("date" in known or not known):
            return News()
        news = look()
        if news == News() and date == _date(path) and (date is None or time.time_ns() - max(date[:2]) > _SETTLED):
            self.note(path, date=date)
        return news

    def shown(self, path: Path) -> object:
        """What a file was written from."""
        return self._all().get(str(path), {}).get("shown")

    def note(self, path: Path, **seen: object) -> None:
        """Remember this of a file."""
        known = self._all()
        known[str(path)] = {**known.get(str(path), {}), **seen}
        unfinished = self._path.with_name(f"{_SEEN}.{os.getpid()}")
        with suppress(OSError):
            unfinished.write_text(json.dumps(known), encoding="utf-8")
            unfinished.chmod(0o600)
            os.replace(unfinished, self._path)

    def _all(self) -> dict[str, dict[str, object]]:
        try:
            known = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return {name: seen for name, seen in known.items() if isinstance(seen, dict)} if isinstance(known, dict) else {}


def _date(path: Path) -> list[int] | None:
    """What changes when a file is saved, moved over or made readable; None where there is none."""
    try:
        about = path.stat()
    except OSError:
        return None
    return [about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino]


def _mirror_news(taken: Taken, path: Path, space: SpaceName) -> News:
    """What was taken from a `MEMORY.md`, in words."""
    command = "recollect mirror --global" if space == "global" else "recollect mirror"
    words = ("changed", "added", "removed", "moved", "restored")
    done = [f"{word} {_named(refs)}" for word in words if (refs := getattr(taken, word))]
    trouble = [*taken.problems]
    if taken.conflicts:
        both = _named([here for here, _ in taken.conflicts])
        trouble.append(f"{path}: {both} was changed there and here; both are kept, `recollect conflicts` settles it")
    if taken.kept:
        trouble.append(f"{path}: {_named(taken.kept)} was removed there and changed here, and stays")
    if taken.later:
        new = _named(taken.later)
        trouble.append(f"{path}: {new} came after what was edited there, and stays; `recollect forget` takes it out")
    if taken.waiting:
        gone = f"{len(taken.waiting):,} lines are gone at once"
        trouble.append(f"{path}: {gone}: `{command} --confirm` forgets them, `--keep` brings them back")
    return News(taken=(f"{path}: {', '.join(done)}",) if done else (), trouble=tuple(trouble))


def _task_news(taken: TakenTasks) -> News:
    """What could not be taken from a `tasks.json`, in words; what could is seen in the list of tasks."""
    trouble = [taken.problem] if taken.problem else []
    if taken.kept:
        names = _listed(taken.kept)
        trouble.append(f"{TASKS}: {names} was changed there and here; the file as it was is kept beside it")
    return News(trouble=tuple(trouble))


def _named(refs: Iterable[str]) -> str:
    return _listed([f"[id:{ref}]" for ref in refs])


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return " ".join(names) if more <= 1 else f"{' '.join(names[:_MOST_NAMED])} and {more} more"
