"""Reference pages written from the program itself: its commands and its settings."""

from __future__ import annotations

from collections.abc import Iterator

import click

from recollect.config import declared
from recollect.model import Kind
from recollect.surfaces.cli import EXIT_CODES
from recollect.surfaces.cli.app import app

_NOTE = "<!-- Written by `make docs`; edit the program, not this page. -->\n"


def commands() -> str:
    """`docs/commands.md`: the help of every command, and what exit statuses mean."""
    statuses = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES.items())
    sections = "".join(
        f"\n## `recollect {path}`\n\n```text\n{_help(path, command)}\n```\n" for path, command in all_commands()
    )
    return (
        f"# Commands\n\n{_NOTE}\n"
        "Every command but `tour` and `completion` takes `--json` for programs, `--project FOLDER` for another project "
        "than this folder's, and `--global` for the memory that all projects share. A memory is named by its number "
        "(`42`; `g42` for a global one), as `[id:42]`, or by its uid. A KIND is one of "
        f"{', '.join(f'`{kind}`' for kind in Kind)}.\n\n"
        f"| exit status | meaning |\n|---|---|\n{statuses}{sections}"
    )


def all_commands() -> Iterator[tuple[str, click.Command]]:
    """Every command with its path, groups before what is in them."""
    for name in sorted(app.commands):
        command = app.commands[name]
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", command.commands[inner]) for inner in sorted(command.commands))


def _help(path: str, command: click.Command) -> str:
    # As in the program itself, where a command inherits from the one above it how help is asked for.
    above = click.Context(app, info_name="recollect", **app.context_settings, terminal_width=100)
    context = click.Context(command, parent=above, info_name=path)
    return command.get_help(context).strip()


def settings() -> str:
    """`docs/settings.md`: every setting with its default and meaning."""
    rows = "".join(
        f"| `{each.key}` | {_default(each.default)} | {each.meaning} {_allowed(each.unit, each.allowed)}|\n"
        for each in declared()
    )
    return (
        f"# Settings\n\n{_NOTE}\n"
        "A setting is given in `config.toml` in the home folder (`[write]`, then `content_limit = 4000`), or in the "
        "environment (`RECOLLECT_WRITE_CONTENT_LIMIT=4000`), or by the program (`recollect.open(settings={…})`); each "
        "overrules the one before. `recollect config` shows what holds and where it was set; "
        "`recollect config set KEY VALUE` changes the file. A key that does not exist or a value that cannot be is "
        "refused, with the nearest right one named.\n\n"
        f"| setting | default | meaning |\n|---|---|---|\n{rows}"
    )


def _default(value: object) -> str:
    if value is None:
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _allowed(unit: str, allowed: str) -> str:
    told = ", ".join(part for part in (unit, allowed) if part)
    return f"({told}) " if told else ""
