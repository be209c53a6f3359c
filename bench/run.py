"""Measure what is promised, beside what the machine itself can do: one fsync, one bare start of Python.

    python bench/run.py [--quick | --large] [--json FILE]

Machines are shared and noisy, so every figure stands beside a yardstick taken in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from corpus import Corpus

import recollect
from recollect import Draft, Recollect


@dataclass(frozen=True)
class Figure:
    """One measurement and the most it may be."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = False

    @property
    def held(self) -> bool:
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target


RECALL = {10_000: (10, 25), 100_000: (15, 40), 1_000_000: (40, 100)}
"""By how many memories there are: what a recall may take at the median and the 95th percentile, its vector included."""


def milliseconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


def spread(times: list[float]) -> tuple[float, float]:
    """The median and the 95th percentile."""
    return statistics.median(times), statistics.quantiles(times, n=20)[18]


def yardsticks(folder: Path) -> list[Figure]:
    descriptor = os.open(folder / "fsync", os.O_WRONLY | os.O_CREAT)

    def one_fsync() -> None:
        os.pwrite(descriptor, b"x" * 4096, 0)
        os.fsync(descriptor)

    times = [milliseconds(one_fsync) for _ in range(200)]
    os.close(descriptor)
    median, late = spread(times)
    return [
        Figure("one fsync, p50", median, "ms"),
        Figure("one fsync, p95", late, "ms"),
        Figure("bare Python start", min(started("pass") for _ in range(15)), "ms"),
        Figure("load average", os.getloadavg()[0], ""),
    ]


def started(code: str) -> float:
    return milliseconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))


def start_up(bare: float) -> list[Figure]:
    program = str(Path(sys.executable).with_name("recollect"))
    imported = min(started("import recollect") for _ in range(15)) - bare
    opened = min(started("from recollect import Recollect, open") for _ in range(15)) - bare
    version = min(
        milliseconds(lambda: subprocess.run([program, "--version"], check=True, stdout=subprocess.DEVNULL))
        for _ in range(15)
    )
    return [
        Figure("import recollect, beyond a bare start", imported, "ms", 80),
        Figure("import recollect with the engine, beyond a bare start", opened, "ms"),
        Figure("recollect --version, beyond a bare start", version - bare, "ms", 150),
    ]


def writing(memory: Recollect, corpus: Corpus) -> list[Figure]:
    texts = list(corpus.memories(400))
    times = [milliseconds(lambda text=text: memory.remember(text)) for text in texts]  # type: ignore[misc]
    median, late = spread(times[50:])
    return [
        Figure("remember, acknowledged, p50", median, "ms"),
        Figure("remember, acknowledged, p95", late, "ms", 20),
    ]


def filled(memory: Recollect, texts: list[str]) -> Figure:
    start = time.perf_counter()
    for at in range(0, len(texts), 1_000):
        memory.remember_many([Draft(content=text, tags=("bench",)) for text in texts[at : at + 1_000]])
    rate = len(texts) / (time.perf_counter() - start)
    return Figure(f"remember_many, up to {len(texts):,} memories", rate, "memories/s", 1_000, at_least=True)


def asking(memory: Recollect, corpus: Corpus, texts: list[str], median: float, late: float) -> list[Figure]:
    questions = [corpus.question(text) for text in texts[:: len(texts) // 220]]
    for question in questions[:20]:
        memory.recall(question)
    times = [milliseconds(lambda asked=asked: memory.recall(asked)) for asked in questions[20:]]  # type: ignore[misc]
    p50, p95 = spread(times)
    where = f"recall, {len(texts):,} memories"
    return [
        Figure(f"{where}, p50", p50, "ms", median),
        Figure(f"{where}, p95", p95, "ms", late),
        Figure(
            f"resident memory, {len(texts):,} memories", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB"
        ),
    ]


def embedded(memory: Recollect) -> Figure:
    start = time.perf_counter()
    count = memory.embed_pending()
    rate = count / (time.perf_counter() - start)
    return Figure(f"vectors made, {count:,}", rate, "vectors/s")


def measure(sizes: tuple[int, ...]) -> list[Figure]:
    corpus = Corpus()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as name:
        folder = Path(name)
        figures = yardsticks(folder)
        bare = next(each.value for each in figures if each.name == "bare Python start")
        figures += start_up(bare)
        for count in sizes:
            median, late = RECALL[count]
            project = folder / f"project-{count}"
            project.mkdir()
            with recollect.open(project, home=folder / f"home-{count}", background=False) as memory:
                if count == 10_000:
                    figures += writing(memory, corpus)
                texts = list(corpus.memories(count))
                figures.append(filled(memory, texts))
                figures.append(embedded(memory))
                figures += asking(memory, corpus, texts, median, late)
        return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out the 100,000 memories")
    parser.add_argument("--large", action="store_true", help="measure a million memories too, which takes a while")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    options = parser.parse_args()
    figures = measure(tuple(RECALL)[: 1 if options.quick else 3 if options.large else 2])
    for each in figures:
        goal = "" if each.target is None else f"  {'≥' if each.at_least else '≤'} {each.target:g}"
        mark = "" if each.target is None else ("  ok" if each.held else "  MISSED")
        print(f"{each.name:58} {each.value:10.1f} {each.unit:11}{goal}{mark}")
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in figures], indent=2) + "\n", encoding="utf-8")
    return 0 if all(each.held for each in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
