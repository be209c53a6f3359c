"""Migration: the files in which agents were told things become discrete memories, and can be taken back.

Nothing that is there is touched by it: what is known already is left as it is, not even strengthened, and new memories
are not compared with others when they are written (the garden does so later, by a plan of its own). So a migration is
undone exactly by forgetting what it added.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import InvalidInput, NotFound
from ..formats.agent_files import MOST, Piece, pieces
from ..model import (
    OCCUPYING,
    Anchor,
    Condition,
    Draft,
    Mark,
    Memory,
    MemoryId,
    Op,
    Order,
    Origin,
    Scope,
    Source,
    Status,
    Step,
    StepState,
)
from ..policy.admit import admit, compose
from ..store import Store
from . import plans
from .parts import Parts, SpaceName, new_uid
from .transfer import Progress
from .write import remember

MOST_BYTES = 2 * 1024 * 1024
"""A larger file is no file of instructions."""
SORT = "unmigrate"
"""The sort of the plans by which migrations are taken back."""

_STAGE = "migration:"
_AT_ONCE = 200
_LONGEST_SNIPPET = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """What a migration did, or in a dry run would do."""

    migration: str
    """What `unmigrate` takes; "" where nothing was added."""
    files: int
    pieces: int
    added: int
    known: int
    """Pieces that were there already, or that another file of the same migration says too."""
    skipped: tuple[str, ...]
    """What could not be taken, each with the reason."""
    drafts: tuple[Draft, ...]
    """What was added, or in a dry run would be, without secrets."""


def migrate(
    parts: Parts, paths: Sequence[Path], *, space: SpaceName, root: Path | None, dry_run: bool, progress: Progress
) -> Migrated:
    """Make memories of what files say; of a folder, of the Markdown in it. Doing it again adds nothing.

    `root` is the working folder of the project. A file that cannot be taken is skipped, with the reason.
    """
    if not dry_run:
        parts.switch.require_on()
    batch = _Batch(parts, space, root)
    for path in _files(paths):
        batch.read(path)
    store = parts.store(space)
    page = min(_AT_ONCE, parts.settings.write.batch_limit)
    fresh = list(_unknown(parts, store, batch.drafts))
    added = len(fresh) if dry_run else 0
    for start in range(0, len(fresh), page):
        some = fresh[start : start + page]
        if not dry_run:
            stored = remember(_uncompared(parts), some, key=None, origin=Origin.IMPORTED)
            added += sum(not each.duplicate for each in stored)
        progress(start + len(some), len(fresh))
    return Migrated(
        migration=batch.migration if added and not dry_run else "",
        files=batch.files,
        pieces=batch.pieces,
        added=added,
        known=len(batch.drafts) - added,
        skipped=tuple(batch.skipped),
        drafts=tuple(fresh),
    )


def unmigrate(parts: Parts, migration: str, *, space: SpaceName) -> int:
    """Forget what a migration added, but for what somebody has changed since. Returns how many were forgotten.

    It is done by a plan, so that undoing that plan brings them back.
    """
    store = parts.store(space)
    added = store.query((Condition("stage", Op.EQ, _STAGE + migration),), order=_BY_ID, limit=None)
    if not added:
        raise NotFound("migration", migration[:64])
    steps = [_forgetting(memory, migration) for memory in added if memory.active and memory.version == 1]
    if not steps:
        return 0
    plan = plans.propose(parts, store, SORT, steps)
    return plans.perform(parts, store, plan, retiring=True, progress=plans.quiet).done


def migrations(parts: Parts, *, space: SpaceName) -> dict[str, int]:
    """The migrations of which there are live memories, newest first, and how many there are of each."""
    where = (Condition("source", Op.EQ, Source.MIGRATION), Condition("status", Op.IN, tuple(sorted(OCCUPYING))))
    found = parts.store(space).tally("stage", where)
    named = {stage.removeprefix(_STAGE): count for stage, count in found.items() if stage.startswith(_STAGE)}
    return dict(sorted(named.items(), reverse=True))


_BY_ID = Order(field="id", newest_first=False)


def _forgetting(memory: Memory, migration: str) -> Step:
    return Step(
        sort=SORT,
        key=f"{SORT} {memory.uid}",
        why=f"migration {migration} is taken back",
        changes=(Mark(id=memory.id, status=Status.FORGOTTEN),),
        expects=((memory.id, memory.version),),
        retires=(memory.id,),
    )


def _uncompared(parts: Parts) -> Parts:
    """The same parts, with which nothing that is written is compared with what is there."""
    settings = parts.settings
    return replace(parts, settings=replace(settings, consolidate=replace(settings.consolidate, mode="off")))


def _unknown(parts: Parts, store: Store, drafts: Iterable[Draft]) -> Iterator[Draft]:
    """The drafts that say what no memory says yet, each once.

    What was migrated before and has left recall since is known, too: somebody did not want it, or it was replaced.
    Only what left because the migration was taken back may come again.
    """
    gone = tuple(sorted(set(Status) - OCCUPYING))
    where = (Condition("source", Op.EQ, Source.MIGRATION), Condition("status", Op.IN, gone))
    former = {memory.fingerprint: memory.id for memory in store.query(where, order=_BY_ID, limit=None)}
    undone = _taken_back(store) if former else frozenset()
    settled = {mark for mark, number in former.items() if number not in undone}
    now = parts.clock()
    for draft in drafts:
        memory = compose(draft, uid=new_uid(now), origin=Origin.IMPORTED, now=now)
        if memory.fingerprint not in settled and store.twin(memory) is None:
            yield draft
        settled.add(memory.fingerprint)


def _taken_back(store: Store) -> frozenset[MemoryId]:
    done = frozenset({StepState.DONE})
    return frozenset(
        number
        for plan in store.plans(limit=plans.LOOKED_BACK)
        if plan.sort == SORT
        for step in store.steps(plan.id, states=done)
        for number, _ in step.expects
    )


class _Batch:
    """The files of one migration, read one by one, and the drafts they come to."""

    def __init__(self, parts: Parts, space: SpaceName, root: Path | None) -> None:
        uid = new_uid(parts.clock())
        self.migration = f"{uid[:8]}{uid[9:13]}-{uid[-4:]}"
        self.files = 0
        self.pieces = 0
        self.drafts: list[Draft] = []
        self.skipped: list[str] = []
        self._limits = parts.limits
        self._space = space
        self._root = root.resolve() if root is not None and space == "project" else None

    def read(self, path: Path) -> None:
        """Take what a file says, or note why that cannot be."""
        name = _told_name(path, self._root)
        text, trouble = _text(path)
        if trouble:
            self.skipped.append(f"{name}: {trouble}")
            return
        self.files += 1
        found = pieces(text, name=name, personal=self._space == "global", most=min(MOST, self._limits.content))
        self.pieces += len(found)
        for piece in found:
            try:
                self.drafts.append(admit(self._draft(piece, path, name), self._limits))
            except InvalidInput as error:
                self.skipped.append(f"{name}, line {piece.line}: {error}")

    def _draft(self, piece: Piece, path: Path, name: str) -> Draft:
        limits = self._limits
        return Draft(
            content=piece.content,
            kind=piece.kind,
            scope=Scope.GLOBAL if self._space == "global" else Scope.PROJECT,
            tags=tuple(tag for tag in piece.tags if len(tag) <= limits.tag_length)[: limits.tags],
            anchors=tuple(dict.fromkeys(self._anchors(piece, path)))[: limits.paths],
            source=Source.MIGRATION,
            procedure=piece.procedure,
            stage=_STAGE + self.migration,
            snippet=piece.section[:_LONGEST_SNIPPET],
            reason=f"from {name}, line {piece.line}",
        )

    def _anchors(self, piece: Piece, path: Path) -> Iterator[Anchor]:
        """The files of the project that a piece names.

        Not the file it was read from: that is often deleted once it is migrated, and nothing else is gone with it.
        """
        root = self._root
        if root is None:
            return
        for named in piece.files:
            inside = _inside(root / named, root) or _inside(path.parent / named, root)
            if inside:
                yield Anchor(path=inside)


# --- Files ------------------------------------------------------------------------------------------------------------

_PROJECT_FILES = (
    *("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/**/*.md", ".claude/memory/**/*.md"),
    *("AGENTS.md", "AGENTS.override.md", "GEMINI.md", "MEMORY.md", "memory/**/*.md", "CONVENTIONS.md"),
    *(".cursorrules", ".cursor/rules/**/*.mdc", ".cursor/rules/**/*.md"),
    *(".github/copilot-instructions.md", ".github/instructions/**/*.md"),
    *(".windsurfrules", ".windsurf/rules/**/*.md", ".clinerules", ".clinerules/**/*.md"),
)
_USER_FILES = (
    *(".claude/CLAUDE.md", ".claude/rules/**/*.md", ".codex/AGENTS.md", ".codex/memories/MEMORY.md"),
    *(".codex/memories/memory_summary.md", ".gemini/GEMINI.md", ".config/opencode/AGENTS.md"),
)
_IN_FOLDER = ("**/*.md", "**/*.mdc")
_NOT_IN_SLUG = re.compile(r"[^A-Za-z0-9]")


def known_files(root: Path, home: Path) -> list[Path]:
    """The files in which agents were told things about a project, each once; `home` is the user's own folder.

    None of them lies outside the project, but for those that Claude Code keeps about it in the home.
    """
    found = [*_matching(root, _PROJECT_FILES)]
    for place in dict.fromkeys((root.absolute(), root.resolve())):
        slug = _NOT_IN_SLUG.sub("-", place.as_posix())
        found += _matching(home / ".claude" / "projects" / slug / "memory", _IN_FOLDER)
    return list({path.resolve(): path for path in reversed(found)}.values())[::-1]


def user_files(home: Path) -> list[Path]:
    """The files in which a user tells agents things about all projects; what they say belongs in the global space."""
    return list({path.resolve(): path for path in reversed(list(_matching(home, _USER_FILES)))}.values())[::-1]


def _matching(folder: Path, patterns: Iterable[str]) -> Iterator[Path]:
    """The files of a folder that match, in order. What a link leads to outside of it is left out."""
    inside = folder.resolve()
    for pattern in patterns:
        yield from sorted(path for path in folder.glob(pattern) if _inside(path, inside))


def _inside(path: Path, folder: Path) -> str:
    """A file's path relative to a folder that it really lies in; "" where it is none or lies elsewhere."""
    try:
        real = path.resolve()
        return real.relative_to(folder).as_posix() if real.is_relative_to(folder) and real.is_file() else ""
    except (OSError, ValueError, RuntimeError):  # a NUL in the path; links that lead round in a circle
        return ""


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if os.path.isdir(path):  # unlike a path's own method, never raises
            yield from _matching(path, _IN_FOLDER)
        else:
            yield path


def _told_name(path: Path, root: Path | None) -> str:
    """How a file is called in what is stored: relative to the project, or by its bare name; no more than that."""
    name = (_inside(path, root) if root is not None else "") or path.name
    return "".join(sign if sign.isprintable() else "?" for sign in name)


def _text(path: Path) -> tuple[str, str]:
    """What a file holds; or "" and why it cannot be read."""
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, os.O_RDONLY | os.O_NONBLOCK)) as file:
            held = os.fstat(file.fileno())
            if not stat.S_ISREG(held.st_mode):
                return "", "is not a file"
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # a NUL in the path is a ValueError
        return "", f"cannot be read ({getattr(error, 'strerror', None) or error})"
    if len(content) > MOST_BYTES:
        return "", f"is larger than {MOST_BYTES:,} bytes"
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\0" in content and not wide:
        return "", "is not text"
    try:
        return content.decode("utf-16" if wide else "utf-8-sig"), ""
    except UnicodeDecodeError:
        return "", "is not UTF-8 text"
