"""Reading what can still be read from a damaged store file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import apsw

from ...errors import StoreDamaged
from ...model import Memory
from ...policy.identity import content_hash
from .rows import read_memory


def salvaged(path: Path) -> Iterator[Memory | None]:
    """Every memory of a damaged file that is still whole; None for each that is not.

    Rows are asked for one by one, so that a bad page costs only the memories on it.
    """
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        for number in _ids(connection):
            try:
                found = read_memory(connection, "m.id = ?", number)
            except (apsw.Error, StoreDamaged):
                yield None
                continue
            if found is not None:
                yield found if content_hash(found.content) == found.content_hash else None


def _ids(connection: apsw.Connection) -> Iterable[int]:
    """The ids there are, from an index that needs no page of the table; else all there are likely to have been."""
    for index in ("memories_created", "sqlite_autoindex_memories_1"):
        try:
            rows = connection.execute(f"SELECT id FROM memories INDEXED BY {index} ORDER BY 1").fetchall()
        except apsw.Error:
            continue
        return [number for (number,) in rows if isinstance(number, int)]
    return range(1, min(_highest_id(connection), _LIKELY) + 1)


_LIKELY = 10_000_000


def _highest_id(connection: apsw.Connection) -> int:
    for sql in ("SELECT seq FROM sqlite_sequence WHERE name = 'memories'", "SELECT max(id) FROM memories"):
        try:
            found = connection.execute(sql).get
        except apsw.Error:
            continue
        if isinstance(found, int):
            return found
    return 0
