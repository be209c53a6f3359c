"""Commands on the memory as a whole: how it stands, copies in and out, checks, settings, on and off."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import click

from ...codec import encode
from ...errors import BadFile
from .terminal import Terminal, command_options, table, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...engine.maintain import Overview, SpaceOverview
    from ...engine.meaning import Coverage
    from ...engine.oversight import Health
    from ...engine.surfaced import Reception
    from ...model import Json


@click.command()
@command_options
def status(terminal: Terminal) -> None:
    """How memory stands here.

    \b
    Example:
      recollect status
    """
    with terminal.memory() as memory:
        overview = memory.status()
    terminal.show(encode(overview, complete=True), lambda: _print_overview(overview))


def _print_overview(overview: Overview) -> None:
    state = "on" if overview.on else f"OFF {overview.off_where} (`recollect on` switches it on)"
    table(
        ("", ""),
        [
            ("memory", state),
            ("project", f"{overview.project}  ({overview.root})"),
            ("home", overview.home),
            ("search by", _SEARCH.get(overview.search, overview.search)),
            *_vector_rows(overview.vectors),
            *_given_rows(overview.given),
            *_health_rows(overview.health),
        ],
    )
    for trouble in overview.trouble:
        print(visible(f"\nTROUBLE: {trouble}"))
    for space in overview.spaces:
        print(f"\n{space.name}: {space.live:,} live memories, {space.bytes / 1e6:.1f} MB")
        table(("", ""), list(_space_rows(space)))


_SEARCH = {"hybrid": "words and meaning (hybrid)", "words": "words alone (fts5)"}


def _vector_rows(vectors: Iterable[Coverage]) -> Iterator[tuple[str, str]]:
    """How far the vectors are in all spaces together, and which model answers meanwhile."""
    together: dict[tuple[str, str, str], tuple[int, int]] = {}
    for each in vectors:
        key = (each.corpus.value, each.model, each.serving)
        done, total = together.get(key, (0, 0))
        together[key] = (done + each.done, total + each.total)
    for (corpus, model, serving), (done, total) in together.items():
        told = f"{model or 'no model'}: {done:,} of {total:,} {_TEXTS[corpus]}"
        if done < total:
            told += "; `recollect models embed` makes the rest"
        if serving != model:
            told += f"; {serving} answers meanwhile" if serving else "; words answer meanwhile"
        yield "vectors", told


def _given_rows(given: Reception | None) -> Iterator[tuple[str, str]]:
    """What agents were given lately."""
    if given is None or not given.prompts:
        return
    spoke = given.prompts - given.silent
    yield (
        "given, 7 days",
        f"{given.items:,} memories for {spoke:,} of {given.prompts:,} prompts, {given.tokens:,} tokens"
        + (f"; {given.withheld:,} withheld" if given.withheld else ""),
    )
    yield "received", f"{given.helpful:,} helpful, {given.unhelpful:,} not helpful"


def _health_rows(health: Health | None) -> Iterator[tuple[str, str]]:
    """Who judges and what that cost, if it is not rules alone; and that recall does less, if it does."""
    if health is None:
        return
    if health.judge != "rules":
        yield "judge", f"{health.judge}: asked {health.asked:,} times, rules stood in {health.fallbacks:,} times"
    for line in health.spend.lines if health.spend else ():
        if line.spent:
            most = "" if line.limit is None else f" of {line.limit:,.4g}"
            yield "spent", f"{line.spent:,.4g}{most} {line.measure} this {line.spell}"
    for note in health.spend.notes if health.spend else ():
        yield "background", note
    if health.degraded:
        yield (
            "recall",
            f"slow lately ({health.recall_p95_ms:.0f} ms at the 95th percentile), so it weighs fewer memories",
        )


_TEXTS = {"memory": "memories", "items": "items", "sessions": "session turns", "sources": "source chunks"}


def _space_rows(space: SpaceOverview) -> Iterator[tuple[str, str]]:
    for name, counts in (("kinds", space.by_kind), ("statuses", space.by_status)):
        if counts:
            yield f"  {name}", ", ".join(f"{value} {count:,}" for value, count in counts.items())
    yield "  audit", f"{space.audit_entries:,} entries, head {space.audit_head[:28]}…"
    yield (
        "  backups",
        f"{space.backups}, newest {space.newest_backup}" if space.backups else "none yet: `recollect backup`",
    )
    yield "  file", space.where


@click.command("export")
@click.argument("file", default="-")
@command_options
def export_memories(terminal: Terminal, file: str) -> None:
    """Write everything to FILE, or to standard output, as lines of JSON that lose nothing.

    \b
    Examples:
      recollect export memories.jsonl
      recollect export - | jq -r 'select(.record == "memory") | .content'
    """
    with terminal.memory() as memory, terminal.progress("Exporting") as progress:
        if file == "-":
            for line in memory.export_lines(space=terminal.space, progress=progress):
                sys.stdout.write(line)
            return
        path = memory.export_file(file, space=terminal.space, progress=progress)
    terminal.show({"file": str(path)}, lambda: print(f"Exported to {path}"))


@click.command("import")
@click.argument("file")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--trust", is_flag=True, help="Believe what the file says about origin, trust and times.")
@command_options
def import_memories(terminal: Terminal, file: str, dry_run: bool, trust: bool) -> None:
    """Take over an export. Doing it again changes nothing.

    A file that this home did not sign comes in as candidates, trusted as an import; its claims stay readable in
    `recollect show`. `-` reads standard input.

    \b
    Examples:
      recollect import memories.jsonl --dry-run
      recollect import memories.jsonl
    """
    with terminal.memory() as memory, _opened(file) as lines, terminal.progress("Importing") as progress:
        done = memory.import_lines(
            lines, name=file, space=terminal.space, trusted=trust, dry_run=dry_run, progress=progress
        )
    verb = "Would import" if dry_run else "Imported"
    text = (
        f"{verb}: {done.added} new, {done.updated} updated, {done.unchanged} unchanged, "
        f"{done.duplicates} already said by others, {done.links} links."
    )
    if not done.signed and not trust:
        text += " The file is not signed by this home, so it is trusted as an import."
        text += f" {done.dropped} earlier versions and verdicts were not taken." if done.dropped else ""
    terminal.show({**cast("dict[str, Json]", encode(done, complete=True)), "dry_run": dry_run}, lambda: print(text))


def _opened(file: str) -> AbstractContextManager[IO[bytes]]:
    try:
        return nullcontext(sys.stdin.buffer) if file == "-" else open(file, "rb")
    except OSError as error:
        raise BadFile(file, f"cannot be read ({error.strerror})") from error


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@command_options
def backup(terminal: Terminal, file: Path | None) -> None:
    """Write a verified copy of the store, by default beside it.

    \b
    Examples:
      recollect backup
      recollect backup /mnt/usb/memory.db
    """
    if file is not None and not file.parent.is_dir():
        raise BadFile(str(file.parent), "is not a folder that exists", hint="Make it first, or mount it.")
    with terminal.memory() as memory:
        path = memory.backup(file, space=terminal.space)
    terminal.show({"file": str(path)}, lambda: print(f"Backed up to {path}"))


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@command_options
def restore(terminal: Terminal, file: Path | None, yes: bool) -> None:
    """Make the store what a backup holds, by default the newest. What it is now is backed up first.

    \b
    Examples:
      recollect restore
      recollect restore /mnt/usb/memory.db --yes
    """
    if not yes:
        click.confirm(f"Replace the {terminal.space} memory by {file or 'the newest backup'}?", abort=True, err=True)
    with terminal.memory() as memory:
        chosen, safety = memory.restore_backup(file, space=terminal.space)
    terminal.show(
        {"restored": str(chosen), "before": str(safety) if safety else None},
        lambda: print(f"Restored {chosen}\nWhat was there before is {safety}"),
    )


@click.command("on")
@command_options
def switch_on(terminal: Terminal) -> None:
    """Resume capture, recall and injection here; with --global, everywhere.

    \b
    Examples:
      recollect on
      recollect on --global
    """
    with terminal.memory() as memory:
        memory.turn_on(everywhere=terminal.shared)
        still = memory.status().off_where
    text = f"Memory is still off {still}; `recollect on --global` switches it on." if still else "Memory is on."
    terminal.show({"on": still is None, "off_where": still}, lambda: print(text))


@click.command("off")
@command_options
def switch_off(terminal: Terminal) -> None:
    """Stop all capture, recall and injection here; with --global, everywhere.

    \b
    Examples:
      recollect off
      recollect off --global
    """
    with terminal.memory() as memory:
        memory.turn_off(everywhere=terminal.shared)
        where = memory.status().off_where
    terminal.show(
        {"on": False, "off_where": where}, lambda: print(f"Memory is off {where}. `recollect on` resumes it.")
    )


COMMANDS = (status, export_memories, import_memories, backup, restore, switch_on, switch_off)
