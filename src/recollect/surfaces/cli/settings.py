"""Commands on settings."""

from __future__ import annotations

import os
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import cast

import click

from ...config import Loaded, Settings, declared, home_folder, load, parse_value
from ...disk import private_folder
from ...engine.transfer import write_file
from ...errors import ConfigError
from ...model import Json
from .terminal import Terminal, command_options, visible


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
        changed = each["source"] != "default"
        told = f"set by {each['source']}; default {_spelled(each['default'])}" if changed else "default"
        print(visible(f"{each['key']} = {_spelled(each['value'])}  ({told})"))
        allowed = f" ({each['allowed']})" if each["allowed"] else ""
        print(visible(f"    {each['meaning']}{allowed}"))


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
    path = _edit_config(key, None)
    terminal.show({"key": key, "file": str(path)}, lambda: print(f"{key} has its default again."))


def _loaded() -> tuple[Loaded, Path]:
    home = home_folder(os.environ, sys.platform)
    return load(home, env=os.environ), home


def _edit_config(key: str, value: object) -> Path:
    """Change one key of the file, and leave a valid file alone if what would come out is not valid."""
    import tomlkit

    home = private_folder(home_folder(os.environ, sys.platform))
    path = home / "config.toml"
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        document = tomlkit.parse(before)
    except (ValueError, OSError) as error:
        raise ConfigError(key, f"the file cannot be read ({error})", where=str(path)) from error
    section, _, name = key.partition(".")
    held = document.setdefault(section, tomlkit.table()) if value is not None else document.get(section, {})
    if not isinstance(held, MutableMapping):
        raise ConfigError(key, f"{section} is not a section of the file", where=str(path))
    if value is None and name in held:
        # No check: somebody who takes one mistake out must not be stopped by another.
        held.pop(name)
        write_file(path, [tomlkit.dumps(document)])
    elif value is None:
        Loaded(settings=Settings(), sources={}).value(key)  # a key that does not exist is told
    else:
        held[name] = value
        write_file(path, [tomlkit.dumps(document)])
        try:
            load(home, env={})
        except ConfigError:
            write_file(path, [before])
            raise
    return path
