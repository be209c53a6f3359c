"""Measure search by meaning in the SQLite store, beside one fsync and one bare start of Python.

    python bench/vectors.py [--quick] [--json FILE]

Vectors are random ones of 256 dimensions that lie in a thousand clusters. Every search asks for ten. A new process is
measured with the files in the memory of the system, as they are when the machine has been in use.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from run import Figure, milliseconds, spread, yardsticks

from recollect.model import Corpus
from recollect.store.sqlite.connect import Connections
from recollect.store.sqlite.schema import migrate
from recollect.store.sqlite.side_file import discard_side_files
from recollect.store.sqlite.vectors import EVERYTHING, Filter, Vectors

Floats: TypeAlias = NDArray[np.float32]

MODEL = "bench"
SEED = 7
DIMENSION = 256
CLUSTERS = 1_000
BATCH = 10_000
WANTED = 10
QUESTIONS = 200


@dataclass(frozen=True)
class Choice:
    """A filter, and one in how many memories passes it."""

    name: str
    condition: Filter
    one_in: int


CHOICES = (
    Choice("any", EVERYTHING, 1),
    Choice("one in ten", ("m.strength % 10 = 0", ()), 10),
    Choice("one in a hundred", ("m.strength % 100 = 0", ()), 100),
    Choice("one in a thousand", ("m.strength = 0", ()), 1_000),
    Choice("one in a thousand, by an index", ("m.session_id = ?", ("0",)), 1_000),
)
Closest: TypeAlias = list[tuple[NDArray[np.int64], Floats]]
"""For each question the items that are closest, and how close they are."""


class Cloud:
    """A seeded source of vectors. Every source has the same clusters, and vectors of its own in them."""

    def __init__(self, number: int) -> None:
        self._random = np.random.default_rng([SEED, number])
        centres = np.random.default_rng(SEED).standard_normal((CLUSTERS, DIMENSION), dtype=np.float32)
        self._centres = self._unit(centres)

    def some(self, count: int) -> Floats:
        scattered = self._random.standard_normal((count, DIMENSION), dtype=np.float32) / np.float32(DIMENSION**0.5)
        return self._unit(self._centres[self._random.integers(0, CLUSTERS, count)] + scattered)

    def batches(self, count: int) -> Iterator[Floats]:
        for start in range(0, count, BATCH):
            yield self.some(min(BATCH, count - start))

    def _unit(self, vectors: Floats) -> Floats:
        lengths: Floats = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / lengths).astype(np.float32)


def connected(path: Path) -> Connections:
    return Connections(path, busy_timeout=5, lock_timeout=10)


def filled(path: Path, count: int, questions: Floats) -> tuple[Figure, dict[str, Closest]]:
    """Make a store of memories with vectors; how fast vectors were kept, and what is closest to each question."""
    connections = connected(path)
    with connections.exclusive() as writer:
        writer.pragma("journal_mode", "wal")
        list(migrate(writer, datetime.now(UTC)))
    vectors = Vectors(connections, path)
    nothing = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
    closest: dict[str, Closest] = {choice.name: [nothing] * len(questions) for choice in CHOICES}
    first, took = 1, 0.0
    for batch in Cloud(1).batches(count):
        items = np.arange(first, first + len(batch))
        with connections.writing() as connection:
            connection.executemany(MEMORY, [(item, "word " * 60, item % 1_000) for item in items.tolist()])
            connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('index_size', ?)", (f"{items[-1]} 0",))
        start = time.perf_counter()
        with connections.writing() as connection:
            texts = [(item, f"hash {item}") for item in items.tolist()]
            vectors.keep(connection, MODEL, texts, batch, corpus=Corpus.MEMORY)
        took += time.perf_counter() - start
        for number, cosines in enumerate(questions @ batch.T):
            for choice in CHOICES:
                passing = items % choice.one_in == 0
                before = closest[choice.name][number]
                closest[choice.name][number] = closer(before, (items[passing], cosines[passing]))
        first += len(batch)
    connections.close()
    return Figure(f"vectors kept, up to {count:,}", count / took, "vectors/s"), closest


def closer(
    one: tuple[NDArray[np.int64], Floats], other: tuple[NDArray[np.int64], Floats]
) -> tuple[NDArray[np.int64], Floats]:
    """The closest of both."""
    items, cosines = np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
    if len(items) > WANTED:
        first = np.argpartition(cosines, -WANTED)[-WANTED:]
        items, cosines = items[first], cosines[first]
    return items, cosines


MEMORY = (
    "INSERT INTO memories (id, uid, version, content, kind, scope, owner, status, importance, confidence, trust,"
    " strength, score, access_count, created_at, updated_at, origin, source, session_id, fingerprint, content_hash,"
    " token_cost, state_hash, recorded_at)"
    " VALUES (?1, 'uid ' || ?1, 1, ?2, 'fact', 'project', '', 'confirmed', 0.5, 1, 1, ?3, 0, 0, ?1, ?1, 'observed',"
    " 'agent', ?3, 'print ' || ?1, 'hash ' || ?1, 60, 'state', 0)"
)


# --- In a process of its own ------------------------------------------------------------------------------------------


def resident() -> tuple[float, float]:
    """Megabytes of memory: of its own, and of files that are mapped. Known on Linux only."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except FileNotFoundError:
        return 0.0, 0.0
    held = dict(line.split(":", 1) for line in status.splitlines())
    own, mapped = (int(held[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile"))
    return own, mapped


def searched(path: Path, questions: Floats, condition: Filter) -> dict[str, object]:
    """What a new process sees: the first search, the others, what they found, and the memory they took."""
    own, mapped = resident()
    with closing(connected(path)) as connections:
        vectors = Vectors(connections, path)
        found: list[list[int]] = []

        def search(question: Floats) -> None:
            with connections.reading() as connection:
                near = vectors.nearest(
                    connection, question, model=MODEL, corpus=Corpus.MEMORY, condition=condition, limit=WANTED
                )
            found.append([each.item for each in near])

        first = milliseconds(lambda: search(questions[0]))
        times = [milliseconds(lambda asked=asked: search(asked)) for asked in questions]  # type: ignore[misc]
        own_now, mapped_now = resident()
    return {
        "first": first,
        "times": times,
        "found": found[1:],
        "own": own_now - own,
        "mapped": mapped_now - mapped,
    }


def in_new_process(path: Path, asked: Path, condition: Filter = EVERYTHING) -> dict[str, object]:
    told = subprocess.run(
        [sys.executable, __file__, "--search", path, "--questions", asked, "--condition", json.dumps(condition)],
        check=True,
        stdout=subprocess.PIPE,
    )
    seen: dict[str, object] = json.loads(told.stdout)
    return seen


# --- All of it --------------------------------------------------------------------------------------------------------


def measured(folder: Path, count: int) -> Iterator[Figure]:
    questions = Cloud(2).some(QUESTIONS)
    asked = folder / "questions.npy"
    np.save(asked, questions)
    path = folder / f"memory-{count}.db"
    kept, closest = filled(path, count, questions)
    yield kept
    where = f"{count:,} vectors"
    seen = in_new_process(path, asked)
    yield Figure(f"{where}, first search, all read from the table", _number(seen["first"]), "ms")
    for choice in CHOICES:
        seen = in_new_process(path, asked, choice.condition)
        if choice.one_in == 1:
            yield Figure(f"{where}, first search, mapped if they are many", _number(seen["first"]), "ms")
            yield Figure(f"{where}, memory of its own", _number(seen["own"]), "MB")
            yield Figure(f"{where}, memory shared with the file", _number(seen["mapped"]), "MB")
        median, late = spread(seen["times"])  # type: ignore[arg-type]
        targets = {10_000: (5.0, 15.0), 100_000: (10.0, 30.0)}.get(count) if choice.one_in == 1 else None
        yield Figure(f"{where}, {choice.name}, p50", median, "ms", targets and targets[0])
        yield Figure(f"{where}, {choice.name}, p95", late, "ms", targets and targets[1])
        best = [set(items.tolist()) for items, _ in closest[choice.name]]
        found: list[list[int]] = seen["found"]  # type: ignore[assignment]
        right = sum(len(true.intersection(got)) for true, got in zip(best, found, strict=True))
        share = 100 * right / sum(map(len, best))
        yield Figure(f"{where}, {choice.name}, of the true ten found", share, "%", 95, at_least=True)
    discard_side_files(path)
    path.unlink()


def _number(value: object) -> float:
    assert isinstance(value, float)
    return value


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out the million vectors")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    for hidden in ("--search", "--questions"):
        parser.add_argument(hidden, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--condition", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search:
        print(json.dumps(searched(options.search, np.load(options.questions), options.condition)))
        return 0
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as name:
        for each in _all(Path(name), quick=options.quick):
            figures.append(each)
            goal = "" if each.target is None else f"  {'≥' if each.at_least else '≤'} {each.target:g}"
            mark = "" if each.target is None else ("  ok" if each.held else "  MISSED")
            print(f"{each.name:62} {each.value:10.1f} {each.unit:11}{goal}{mark}", flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in figures], indent=2) + "\n", encoding="utf-8")
    return 0 if all(each.held for each in figures) else 1


def _all(folder: Path, *, quick: bool) -> Iterator[Figure]:
    yield from yardsticks(folder)
    for count in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
        yield from measured(folder, count)


if __name__ == "__main__":
    sys.exit(main())
