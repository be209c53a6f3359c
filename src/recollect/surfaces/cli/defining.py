"""Commands on what is defined: words that mean the same, and seasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ...codec import encode
from .asking import moment
from .terminal import Terminal, command_options, table, visible

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from ...engine.definitions import Alias, Seasonal


# --- Aliases --------------------------------------------------------------------------------------------------------


@click.group("alias", invoke_without_command=True)
@command_options
def alias(terminal: Terminal) -> None:
    """Words that mean the same, so that a question for one finds what says the other.

    \b
    Examples:
      recollect alias
      recollect alias add grpc-gw gateway
      recollect alias generate
    """
    if not click.get_current_context().invoked_subcommand:
        _list_aliases(terminal, everything=False)


@alias.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that are built in.")
@command_options
def list_aliases(terminal: Terminal, everything: bool) -> None:
    """Your own aliases, and those generated from the project's names.

    \b
    Examples:
      recollect alias list
      recollect alias list --all
    """
    _list_aliases(terminal, everything=everything)


def _list_aliases(terminal: Terminal, *, everything: bool) -> None:
    with terminal.memory() as memory:
        found = memory.aliases.list(space=terminal.space, built_in=everything)
    _show_aliases(terminal, found, nothing="No aliases of your own yet; --all shows those that are built in.")


def _show_aliases(terminal: Terminal, found: Iterable[Alias], *, nothing: str) -> None:
    listed = list(found)
    rows = [(each.word, ", ".join(each.same), each.source) for each in listed]
    terminal.show(
        [encode(each, complete=True) for each in listed],
        lambda: table(("word", "the same as", "source"), rows) if rows else print(nothing),
    )


@alias.command("add")
@click.argument("word")
@click.argument("same", nargs=-1, required=True)
@command_options
def add_alias(terminal: Terminal, word: str, same: tuple[str, ...]) -> None:
    """Let WORD mean the same as others, beside what it means already.

    \b
    Examples:
      recollect alias add grpc-gw gateway
      recollect alias add k6 "load test" benchmark
    """
    with terminal.memory() as memory:
        known = memory.aliases.define(word, *same, space=terminal.space, add=True)
    terminal.show(encode(known, complete=True), lambda: None)
    terminal.say(visible(f"Added: {known.word} means the same as {', '.join(known.same)}"))


@alias.command("remove")
@click.argument("word")
@command_options
def remove_alias(terminal: Terminal, word: str) -> None:
    """Take an alias away. A generated one comes back with the next `alias generate`.

    \b
    Example:
      recollect alias remove grpc-gw
    """
    with terminal.memory() as memory:
        gone = memory.aliases.remove(word, space=terminal.space)
    terminal.show(encode(gone, complete=True), lambda: None)
    terminal.say(visible(f"Removed: {gone.word} meant the same as {', '.join(gone.same)}"))


@alias.command("generate")
@command_options
def generate_aliases(terminal: Terminal) -> None:
    """Make aliases of the names in memory: paths, symbols, tags, code. Your own stay as they are.

    \b
    Example:
      recollect alias generate
    """
    with terminal.memory() as memory:
        made = memory.aliases.generate(space=terminal.space)
    _show_aliases(terminal, made, nothing="The names here say nothing about abbreviations.")


# --- Seasons --------------------------------------------------------------------------------------------------------


@click.group("season", invoke_without_command=True)
@command_options
def season(terminal: Terminal) -> None:
    """Seasons: labels such as release-week whose memories are recalled only while the season is on.

    \b
    Examples:
      recollect remember "Freeze the branch on Monday" --season release-week
      recollect season on release-week
      recollect season
    """
    if not click.get_current_context().invoked_subcommand:
        _list_seasons(terminal)


@season.command("list")
@command_options
def list_seasons(terminal: Terminal) -> None:
    """Every season: whether it is on, by what, and how many memories wait for it.

    \b
    Example:
      recollect season list
    """
    _list_seasons(terminal)


def _list_seasons(terminal: Terminal) -> None:
    with terminal.memory() as memory:
        found = memory.seasons.list(space=terminal.space)
    rows = [(each.name, "on" if each.active else "off", _by(each), str(each.memories)) for each in found]
    terminal.show(
        [encode(each, complete=True) for each in found],
        lambda: (
            table(("season", "", "by", "memories"), rows, right=(3,))
            if rows
            else print("There are no seasons yet: `recollect season --help`.")
        ),
    )


def _by(each: Seasonal) -> str:
    """What decides whether a season is on."""
    if each.switched is not None:
        return "hand" + (f", until {each.until:%Y-%m-%d %H:%M} UTC" if each.until else "")
    return f"rule: {each.rule}" if each.rule else "nobody: `recollect season on` or `define` says when it is"


_until = click.option(
    "--until",
    metavar="DATE",
    callback=moment,
    help="When that ends: a day (its end), or a time such as 2026-03-14T18:00.",
)


@season.command("on")
@click.argument("name")
@_until
@command_options
def season_on(terminal: Terminal, name: str, until: datetime | None) -> None:
    """Recall the memories of a season from now on, whatever its rule says.

    \b
    Examples:
      recollect season on release-week
      recollect season on release-week --until 2026-03-14
    """
    with terminal.memory() as memory:
        _show_season(terminal, memory.seasons.define(name, on=True, until=until, space=terminal.space))


@season.command("off")
@click.argument("name")
@_until
@command_options
def season_off(terminal: Terminal, name: str, until: datetime | None) -> None:
    """Do not recall the memories of a season, whatever its rule says.

    \b
    Example:
      recollect season off release-week
    """
    with terminal.memory() as memory:
        _show_season(terminal, memory.seasons.define(name, on=False, until=until, space=terminal.space))


@season.command("auto")
@click.argument("name")
@command_options
def season_auto(terminal: Terminal, name: str) -> None:
    """Leave a season to its rule again.

    \b
    Example:
      recollect season auto release-week
    """
    with terminal.memory() as memory:
        _show_season(terminal, memory.seasons.define(name, space=terminal.space))


@season.command("define")
@click.argument("name")
@click.argument("rule", nargs=-1, required=True)
@command_options
def define_season(terminal: Terminal, name: str, rule: tuple[str, ...]) -> None:
    """Say by a rule when a season is: days of the year, months, days of the week, sprints. Days are those of UTC.

    \b
    Examples:
      recollect season define holidays 12-15..01-05
      recollect season define month-end "last 3 days of month"
      recollect season define sprint-start "every 2 weeks from 2026-01-05 for 3 days"
      recollect season define friday weekday fri
    """
    with terminal.memory() as memory:
        _show_season(terminal, memory.seasons.define(name, rule=" ".join(rule), space=terminal.space))


@season.command("remove")
@click.argument("name")
@command_options
def remove_season(terminal: Terminal, name: str) -> None:
    """Define a season no longer. Its memories keep the label, and wait.

    \b
    Example:
      recollect season remove release-week
    """
    with terminal.memory() as memory:
        memory.seasons.remove(name, space=terminal.space)
    terminal.show({"removed": name}, lambda: print(visible(f"Removed: {name}")))


def _show_season(terminal: Terminal, known: Seasonal) -> None:
    held = f"{known.memories} memor{'y' if known.memories == 1 else 'ies'}"
    state = "on" if known.active else "off"
    terminal.show(
        encode(known, complete=True),
        lambda: print(visible(f"{known.name} is {state}, by {_by(known)}; {held}")),
    )


COMMANDS = (alias, season)
