"""Commands on files: memories from the files that agents keep, and MEMORY.md, which shows them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from ...codec import encode
from .terminal import Terminal, command_options, indented, one_line, table, visible, width

if TYPE_CHECKING:
    from ...engine.migrate import Migrated
    from ...engine.mirror import Taken
    from ...model import Json


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only show what would be remembered.")
@click.option("--undo", "migration", metavar="ID", help="Forget what a migration added.")
@click.option("--list", "listed", is_flag=True, help="List the migrations there were.")
@command_options
def migrate(terminal: Terminal, paths: tuple[Path, ...], dry_run: bool, migration: str | None, listed: bool) -> None:
    """Make memories of CLAUDE.md, AGENTS.md, GEMINI.md, MEMORY.md and the like: one for each thing they say.

    Without PATHS, all such files of the project. Doing it again adds nothing, and `--undo` takes it back.

    \b
    Examples:
      recollect migrate --dry-run
      recollect migrate CLAUDE.md docs/notes
      recollect migrate --undo 20260501T120000
    """
    with terminal.memory() as memory, terminal.progress("Reading") as progress:
        if listed:
            found = memory.files.migrations(space=terminal.space)
            rows = [(name, str(count)) for name, count in found.items()]
            terminal.show(
                cast("Json", found), lambda: table(("migration", "memories"), rows) if rows else print("None yet.")
            )
            return
        if migration is not None:
            gone = memory.files.take_back(migration, space=terminal.space)
            terminal.show({"forgotten": gone}, lambda: print(f"{gone} memories forgotten."))
            return
        chosen = list(paths) or memory.files.known(Path.home())
        done = memory.files.migrate(chosen, space=terminal.space, dry_run=dry_run, progress=progress)
    terminal.show(_migrated_json(done, dry_run), lambda: _print_migrated(done, dry_run))


def _migrated_json(done: Migrated, dry_run: bool) -> Json:
    return {
        "migration": done.migration,
        "files": done.files,
        "pieces": done.pieces,
        "added": done.added,
        "known": done.known,
        "skipped": list(done.skipped),
        "memories": [{"kind": each.kind.value, "content": each.content} for each in done.drafts],
        "dry_run": dry_run,
    }


def _print_migrated(done: Migrated, dry_run: bool) -> None:
    if dry_run:
        for each in done.drafts:
            print(f"{each.kind:<13} {one_line(each.content, max(40, width() - 14))}")
    verb = "Would remember" if dry_run else "Remembered"
    print(f"{verb} {done.added} of {done.pieces} pieces from {done.files} files; {done.known} were known.")
    for line in done.skipped:
        print(visible(f"Skipped: {line}"))
    if done.migration:
        print(visible(f"`recollect migrate --undo {done.migration}` takes it back."))


@click.command()
@click.option("--confirm", "confirmed", is_flag=True, help="Also where more than a fifth of the lines were removed.")
@click.option("--keep", is_flag=True, help="Bring lines that were removed back instead.")
@command_options
def mirror(terminal: Terminal, confirmed: bool, keep: bool) -> None:
    """Bring MEMORY.md and the memory together: edits of the file come in, what has changed goes out.

    A person or an agent may edit the file: changed, added, moved and removed lines become changes. Every command does
    this by itself unless `mirror.auto` is off; here is where questions about it are answered.

    \b
    Examples:
      recollect mirror
      recollect mirror --confirm
      recollect mirror --global
    """
    with terminal.memory(mirrored=False) as memory:
        opened = memory.files.mirror_of(terminal.space)
        taken = opened.bring_back() if keep else opened.take_edits(confirmed=confirmed)
        written = opened.write()
        path = opened.path
    data = {"file": str(path), "written": written, **cast("dict[str, Json]", encode(taken, complete=True))}
    terminal.show(cast("Json", data), lambda: _print_taken(taken, path))


def _print_taken(taken: Taken, path: Path) -> None:
    for name in ("changed", "added", "removed", "moved", "restored", "kept", "later"):
        refs = getattr(taken, name)
        if refs:
            print(f"{name}: {', '.join(f'[id:{ref}]' for ref in refs)}")
    for one, other in taken.conflicts:
        print(f"conflict: [id:{one}] and [id:{other}]; `recollect conflicts`")
    if taken.waiting:
        count = len(taken.waiting)
        print(f"{count} lines are gone at once: `recollect mirror --confirm` forgets them, --keep brings them back.")
    for problem in taken.problems:
        print(indented(problem))
    print(visible(str(path)) if path.exists() else "Nothing is remembered yet, so there is no file.")


COMMANDS = (migrate, mirror)
