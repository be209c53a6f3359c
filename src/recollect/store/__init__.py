"""The store: the only code that knows how memories are kept.

`Store` is the contract; SQLite, memory and one JSON file fulfil it alike, and one suite of tests holds all of them to
it. A store is one space, isolated from every other. It is written through `apply` and nothing else.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidInput
from .audit import Bound, Head
from .contract import Options, Store
from .json_file import JsonStore
from .sqlite import SqliteStore
from .sqlite.files import backups_in, set_aside
from .sqlite.salvage import salvaged

__all__ = ["Bound", "Head", "Options", "Store", "backups_in", "open_store", "salvaged", "set_aside"]


def open_store(url: str, options: Options = Options()) -> Store:
    """Open the store that a URL names: `memory:`, `json:PATH`, or the path of a SQLite file.

    It is created if it is not there, validated if it is, and brought up to the present schema.
    """
    if url == "memory:":
        return SqliteStore.in_memory(options)
    if url.startswith("json:"):
        return JsonStore(Path(url.removeprefix("json:")), options)
    if "://" in url:
        raise InvalidInput(
            "store", f"{url.split(':')[0]!r} is not a kind of store; there are memory:, json:PATH and a path"
        )
    return SqliteStore.open(Path(url.removeprefix("sqlite:")), options)
