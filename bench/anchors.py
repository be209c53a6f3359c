"""Measure how long it takes to see how the code of memories stands, beside one fsync and one start of Python.

    python bench/anchors.py [--files 50000] [--json FILE]

Twenty memories of each standing in a repository of many files, and twenty of all of them. Cold is the first look of an
open memory, warm is every later one, and the best of three counts. A call that searches for a file of which nothing is
known yet takes 20 ms longer: so many calls as it takes until that is known.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from run import Figure, milliseconds, spread, yardsticks

from recollect.engine.anchors import file_hash
from recollect.engine.standing import Standings
from recollect.model import Anchor, Memory, MemoryId, Standing, Uid

MEMORIES = 20
IN_FOLDER = 20
COLD = 15
WARM = 200
ALLOWED = 10.0
NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Repository:
    """A repository of Python files, some of which were changed, moved and removed after memories were tied to them."""

    def __init__(self, root: Path, files: int) -> None:
        self.root = root
        self._paths = [self._written(number) for number in range(files)]
        random.Random(11).shuffle(self._paths)
        self.memories = {
            Standing.UNCHANGED: self._tied(lambda path: None),
            Standing.CHANGED: self._tied(_grown),
            Standing.MOVED: self._tied(lambda path: path.rename(path.parent.parent / path.name)),
            Standing.GONE: self._tied(Path.unlink),
        }

    def _written(self, number: int) -> Path:
        folder = self.root / f"area_{number // 2_000}" / f"part_{number // 200}" / f"unit_{number // IN_FOLDER}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"module_{number}.py"
        path.write_text(f"def work_{number}(given):\n    return given + {number}\n" * 20, encoding="utf-8")
        return path

    def _tied(self, happens: Callable[[Path], object]) -> list[Memory]:
        """Memories about files, to each of which something then happens."""
        memories = []
        for _ in range(MEMORIES):
            path = self._paths.pop()
            anchor = Anchor(
                path=str(path.relative_to(self.root)),
                symbol=f"work_{path.stem.removeprefix('module_')}",
                content_hash=file_hash(path),
            )
            name = MemoryId(len(self._paths))
            memories.append(
                Memory(id=name, uid=Uid(str(name)), content="x", anchors=(anchor,), created_at=NOW, updated_at=NOW)
            )
            happens(path)
        return memories


def _grown(path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("def other(): ...\n")


def settled(standings: Standings, memories: list[Memory], wanted: set[Standing]) -> int:
    """How many calls it takes until each memory stands as it should."""
    for calls in range(1, 1_000):
        if {each.standing for each in standings.of(memories).values()} == wanted:
            return calls
    raise RuntimeError(f"the memories never stood as {wanted}")


def measured(root: Path, files: int) -> Iterator[Figure]:
    repository = Repository(root, files)
    time.sleep(2.1)  # what was written just now is read each time
    each_one = {str(standing): ({standing}, memories) for standing, memories in repository.memories.items()}
    mixed = [memory for memories in repository.memories.values() for memory in memories[: MEMORIES // 4]]
    for name, (wanted, memories) in {**each_one, "of all sorts": (set(repository.memories), mixed)}.items():
        yield from looked(root, f"{MEMORIES} memories {name}", memories, wanted)


def looked(root: Path, where: str, memories: list[Memory], wanted: set[Standing]) -> Iterator[Figure]:
    cold = [milliseconds(lambda: Standings(root).of(memories)) for _ in range(COLD)]
    standings = Standings(root)
    yield Figure(f"{where}, calls until that is known", settled(standings, memories, wanted), "")
    warm = [min(milliseconds(lambda: standings.of(memories)) for _ in range(3)) for _ in range(WARM)]
    for sort, times, most in (("cold", cold, None), ("warm", warm, ALLOWED)):
        for part, value in zip(("p50", "p95"), spread(times), strict=True):
            yield Figure(f"{where}, {sort}, {part}", value, "ms", most)
    yield Figure(f"{where}, warm, slowest", max(warm), "ms")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as name:
        (root := Path(name) / "repository").mkdir()
        figures = [*yardsticks(Path(name)), *measured(root, options.files)]
    for each in figures:
        goal = "" if each.target is None else f"  ≤ {each.target:g}"
        mark = "" if each.target is None else ("  ok" if each.held else "  MISSED")
        print(f"{each.name:58} {each.value:10.2f} {each.unit:4}{goal}{mark}")
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in figures], indent=2) + "\n", encoding="utf-8")
    return 0 if all(each.held for each in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
