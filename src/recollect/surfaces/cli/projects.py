"""Commands on projects: which one this folder is, and how to put that right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .terminal import Terminal, command_options, table, visible

if TYPE_CHECKING:
    from ...engine.project import Project, Registered
    from ...model import Json


@click.group("project", invoke_without_command=True)
@command_options
def project(terminal: Terminal) -> None:
    """Which project this folder is; `project list` shows all.

    \b
    Examples:
      recollect project
      recollect project list
      recollect project rename "Billing"
    """
    if click.get_current_context().invoked_subcommand:
        return
    with terminal.memory() as memory:
        found = memory.identity
    assert found is not None
    _show_project(terminal, found)


def _show_project(terminal: Terminal, found: Project) -> None:
    rows = [("name", found.name), ("id", found.id), ("root", str(found.root)), ("memory", str(found.folder))]
    data: Json = {
        "id": found.id,
        "name": found.name,
        "root": str(found.root),
        "folder": str(found.folder),
        "notes": list(found.notes),
    }
    terminal.show(data, lambda: table(("", ""), rows))


@project.command("list")
@command_options
def list_projects(terminal: Terminal) -> None:
    """Every project that has a memory here.

    \b
    Example:
      recollect project list
    """
    from ...engine.project import known

    found = known(_home())
    rows = [
        (each.name, each.id[:12], each.problem or ("merged" if each.merged_into else ""), _places(each))
        for each in found
    ]
    terminal.show([_registered_json(each) for each in found], lambda: table(("name", "id", "state", "seen at"), rows))


@project.command()
@click.argument("name")
@command_options
def rename(terminal: Terminal, name: str) -> None:
    """Give this project another name.

    \b
    Example:
      recollect project rename "Billing"
    """
    from ...engine.project import rename as rename_project

    with terminal.memory() as memory:
        assert memory.identity is not None
        renamed = rename_project(memory.identity.id, name, home=_home())
    terminal.show(_registered_json(renamed), lambda: print(visible(f"This project is now called {renamed.name}.")))


@project.command()
@command_options
def split(terminal: Terminal) -> None:
    """Give this folder a project of its own, which never joins the other again.

    \b
    Example:
      recollect project split
    """
    from ...engine.project import split as split_project
    from ...opening import utc_now

    _show_project(terminal, split_project(Path(terminal.project), home=_home(), now=utc_now()))


@project.command()
@click.argument("other")
@command_options
def rescue(terminal: Terminal, other: str) -> None:
    """Make this folder the project OTHER, whose folder was moved or whose git configuration was lost.

    \b
    Examples:
      recollect project list
      recollect project rescue old-name
    """
    from ...engine.project import find
    from ...engine.project import rescue as rescue_project
    from ...opening import utc_now

    home = _home()
    chosen = find(other, home=home)
    _show_project(terminal, rescue_project(Path(terminal.project), chosen.id, home=home, now=utc_now()))


@project.command()
@click.argument("other")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@command_options
def merge(terminal: Terminal, other: str, yes: bool) -> None:
    """Take everything that the project OTHER remembers into this one; from then on, both are this one.

    \b
    Example:
      recollect project merge old-name
    """
    from ...engine.project import find, retire
    from ...opening import merge as merge_projects

    home = _home()
    chosen = find(other, home=home)
    if not yes:
        click.confirm(f"Merge everything of {chosen.name} into this project?", abort=True, err=True)
    with terminal.memory() as memory, terminal.progress("Merging") as progress:
        done = merge_projects(memory, chosen, progress=progress)
        assert memory.identity is not None
        retire(chosen.id, home=home, into=memory.identity.id)
    text = f"Merged {chosen.name}: {done.added} memories, {done.duplicates} were here already, {done.links} links."
    terminal.show(
        {"merged": chosen.id, "added": done.added, "duplicates": done.duplicates}, lambda: print(visible(text))
    )


def _home() -> Path:
    import os

    from ...config import home_folder
    from ...disk import private_folder

    return private_folder(home_folder(os.environ, sys.platform))


def _places(each: Registered) -> str:
    return ", ".join(str(place) for place in each.places)


def _registered_json(each: Registered) -> Json:
    return {
        "id": each.id,
        "name": each.name,
        "folder": str(each.folder),
        "places": [str(place) for place in each.places],
        "problem": each.problem,
        "merged_into": each.merged_into,
    }
