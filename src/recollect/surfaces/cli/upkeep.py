"""Commands on the memory as a whole: how it stands, copies in and out, checks, settings, on and off."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import click

from ...codec import encode, to_iso
from ...errors import BadFile, ConfigError
from .terminal import Terminal, command_options, table, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...config import Loaded
    from ...engine.maintain import Overview, SpaceOverview
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
            ("search by", overview.search),
        ],
    )
    for space in overview.spaces:
        print(f"\n{space.name}: {space.live:,} live memories, {space.bytes / 1e6:.1f} MB")
        table(("", ""), list(_space_rows(space)))


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


@click.group(invoke_without_command=True)
@click.option("--limit", "-n", type=int, default=20, show_default=True, help="How many entries, newest first.")
@command_options
def audit(terminal: Terminal, limit: int) -> None:
    """Who did what and when.

    \b
    Examples:
      recollect audit
      recollect audit verify
      recollect audit head
    """
    context = click.get_current_context()
    if context.invoked_subcommand:
        return
    with terminal.memory() as memory:
        entries = memory.audit(space=terminal.space, limit=limit, newest_first=True)
    rows = [
        (str(entry.seq), to_iso(entry.at)[:19].replace("T", " "), entry.actor, entry.action, entry.uid)
        for entry in entries
    ]
    terminal.show(
        [encode(entry, complete=True) for entry in entries],
        lambda: table(("seq", "time (UTC)", "actor", "action", "memory"), rows, right=(0,)),
    )


@audit.command()
@click.option("--head", help="A head noted down earlier, as `audit head` prints it; the audit must still hold it.")
@command_options
def verify(terminal: Terminal, head: str | None) -> int:
    """Find any edit, removal or reordering in the audit, and any memory changed behind its back.

    \b
    Examples:
      recollect audit verify
      recollect audit verify --head 12:b2:9f86d0…
    """
    with terminal.memory() as memory:
        faults = memory.verify_audit(space=terminal.space, head=head)
        told = memory.status()
    here = next(space for space in told.spaces if space.name == terminal.space)
    text = [f"The audit is not sound: {len(faults)} fault{'s' if len(faults) != 1 else ''}.", *faults]
    if not faults:
        text = [f"The audit is sound: {here.audit_entries:,} entries, head {here.audit_head}"]
    terminal.show(
        {"sound": not faults, "faults": list(faults), "entries": here.audit_entries, "head": here.audit_head},
        lambda: print("\n".join(visible(line) for line in text)),
    )
    return 1 if faults else 0


@audit.command()
@command_options
def head(terminal: Terminal) -> None:
    """Print the head of the audit, to be kept elsewhere and given to `audit verify --head` later.

    \b
    Example:
      recollect audit head
    """
    with terminal.memory() as memory:
        told = memory.status()
    here = next(space for space in told.spaces if space.name == terminal.space)
    terminal.show({"head": here.audit_head}, lambda: print(here.audit_head))


@click.command()
@click.option("--rebuild", is_flag=True, help="Make every index anew and put file modes right, then check.")
@click.option("--salvage", is_flag=True, help="Read what can be read from a damaged store into a new one.")
@command_options
def doctor(terminal: Terminal, rebuild: bool, salvage: bool) -> int:
    """Check everything: each memory by its hash, the audit, the indexes, the files.

    \b
    Examples:
      recollect doctor
      recollect doctor --rebuild
    """
    with terminal.memory() as memory:
        if salvage:
            kept, lost, aside = memory.salvage(space=terminal.space)
            terminal.say(f"Salvaged {kept} memories ({lost} could not be read). The damaged file is kept as {aside}.")
        checks = memory.doctor(rebuild=rebuild)
    rows = [("ok" if check.ok else "WRONG", check.name, check.detail) for check in checks]
    terminal.show([encode(check, complete=True) for check in checks], lambda: table(("", "what", ""), rows))
    wrong = [check for check in checks if not check.ok]
    if wrong and all(check.fixable for check in wrong):
        terminal.say("\nNothing of yours is lost: `recollect doctor --rebuild` puts this right.")
    elif wrong:
        terminal.say("\nSome of it cannot be recomputed: `recollect restore` brings back a backup.")
    return 1 if wrong else 0


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


# --- Settings ------------------------------------------------------------------------------------------------------


@click.group(invoke_without_command=True)
@click.option("--changed", is_flag=True, help="Only settings that are not at their default.")
@command_options
def config(terminal: Terminal, changed: bool) -> None:
    """Every setting with its value, default, meaning and where it was set.

    \b
    Examples:
      recollect config
      recollect config --changed
      recollect config get write.content_limit
      recollect config set write.content_limit 4000
    """
    if click.get_current_context().invoked_subcommand:
        return
    from ...config import declared

    loaded, _ = _loaded()
    shown = [each for each in declared() if not changed or loaded.sources[each.key] != "default"]
    data = [
        {
            "key": each.key,
            "value": cast("Json", loaded.value(each.key)),
            "default": cast("Json", each.default),
            "source": loaded.sources[each.key],
            "meaning": each.meaning,
            "type": each.type,
            "allowed": each.allowed,
            "env": each.env,
        }
        for each in shown
    ]
    terminal.show(data, lambda: _print_settings(data))


def _print_settings(data: list[dict[str, Json]]) -> None:
    for each in data:
        origin = (
            "" if each["source"] == "default" else f"  (set by {each['source']}; default {_spelled(each['default'])})"
        )
        print(visible(f"{each['key']} = {_spelled(each['value'])}{origin}"))
        print(visible(f"    {each['meaning']} {each['allowed']}".rstrip()))


def _spelled(value: Json) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


@config.command("get")
@click.argument("key")
@command_options
def config_get(terminal: Terminal, key: str) -> None:
    """Print one setting.

    \b
    Example:
      recollect config get recall.limit
    """
    loaded, _ = _loaded()
    value = cast("Json", loaded.value(key))
    terminal.show({"key": key, "value": value, "source": loaded.sources[key]}, lambda: print(_spelled(value)))


@config.command("set")
@click.argument("key")
@click.argument("value")
@command_options
def config_set(terminal: Terminal, key: str, value: str) -> None:
    """Set one setting in the home's config.toml, leaving the rest of the file as it is.

    \b
    Example:
      recollect config set recall.limit 20
    """
    from ...config import parse_value

    parsed = parse_value(key, value)
    path = _edit_config(key, parsed)
    terminal.show(
        {"key": key, "value": cast("Json", parsed), "file": str(path)},
        lambda: print(f"{key} = {_spelled(cast('Json', parsed))}"),
    )


@config.command("unset")
@click.argument("key")
@command_options
def config_unset(terminal: Terminal, key: str) -> None:
    """Let one setting have its default again.

    \b
    Example:
      recollect config unset recall.limit
    """
    loaded, _ = _loaded()
    loaded.value(key)
    path = _edit_config(key, None)
    terminal.show({"key": key, "file": str(path)}, lambda: print(f"{key} has its default again."))


def _loaded() -> tuple[Loaded, Path]:
    import os

    from ...config import home_folder, load

    home = home_folder(os.environ, sys.platform)
    return load(home, env=os.environ), home


def _edit_config(key: str, value: object) -> Path:
    """Change one key of the file, and leave the file alone if what comes out is not valid."""
    import os

    import tomlkit

    from ...config import home_folder, load
    from ...engine.home import make_home
    from ...engine.transfer import write_file

    home = make_home(home_folder(os.environ, sys.platform))
    path = home / "config.toml"
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8")) if path.exists() else tomlkit.document()
    except (ValueError, OSError) as error:
        raise ConfigError(key, f"the file cannot be read ({error})", where=str(path)) from error
    section, _, name = key.partition(".")
    if value is None:
        document.get(section, {}).pop(name, None)
    else:
        document.setdefault(section, tomlkit.table())[name] = value
    before = path.read_text(encoding="utf-8") if path.exists() else None
    write_file(path, [tomlkit.dumps(document)])
    try:
        load(home, env={})
    except ConfigError:
        write_file(path, [before or ""])
        raise
    return path


COMMANDS = (*(status, export_memories, import_memories, backup, restore, audit, doctor, switch_on, switch_off, config),)
