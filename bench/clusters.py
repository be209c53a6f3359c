"""Measure how long it takes to find clusters and how much memory that needs, both with HDBSCAN and without it.

    python bench/clusters.py [--count N] [--agree] [--texts FILE]

Texts are made up: themes, each told several times in other words; or they are the lines of a file. With `--agree` the
groups that are made from nearest neighbours are compared with those of scikit-learn's plain HDBSCAN, which compares
everything with everything. What needs scikit-learn is left out where that is not installed.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np
from corpus import Corpus
from numpy.typing import NDArray
from run import Figure

import recollect
from recollect import Draft
from recollect.embed.static import StaticEmbedder
from recollect.engine.grouping import leaves

SEED = 7
COMPARED = 3_000
LEAST = 3
BATCH = 1_000
WAYS = {"hdbscan": "HDBSCAN", "neighbours": "mutual neighbours"}
MISSING = 'left out: HDBSCAN and the comparison with it, which need scikit-learn (pip install "recollect[clusters]")'


def told() -> Iterator[str]:
    """Themes without end, each told up to eleven times, every time with a fifth of its words replaced by others."""
    chance = random.Random(SEED)
    other = " ".join(Corpus(SEED + 1).memories(2_000)).split()
    for theme in chain.from_iterable(Corpus(SEED + seed).memories(10_000) for seed in range(2, 1_000)):
        for _ in range(chance.randint(1, 11)):
            yield " ".join(chance.choice(other) if chance.random() < 0.2 else word for word in theme.split())


def texts_of(path: Path | None, count: int) -> list[str]:
    """So many different texts: of a file, or made up."""
    lines = told() if path is None else filter(None, map(str.strip, path.read_text(encoding="utf-8").splitlines()))
    different: dict[str, None] = {}
    while len(different) < count and (more := dict.fromkeys(islice(lines, count - len(different)))):
        different |= more
    return list(different)


def installed() -> bool:
    try:
        import sklearn.cluster  # noqa: F401
    except ImportError:
        return False
    return True


# --- In a process of its own, whose memory is its own ---------------------------------------------------------------


def fill(folder: Path, path: Path | None, count: int) -> dict[str, float]:
    """Store the texts and make their vectors; how many there are."""
    texts = texts_of(path, count)
    (folder / "project").mkdir()
    with recollect.open(folder / "project", home=folder / "home", background=False) as memory:
        for at in range(0, len(texts), BATCH):
            memory.remember_many([Draft(content=text) for text in texts[at : at + BATCH]])
        memory.embed_pending()
    return {"memories": len(texts)}


def cluster(folder: Path, way: str) -> dict[str, float]:
    """Find the clusters; how long it took, how much memory the process has had at most, and what was found."""
    if way == "neighbours":
        sys.modules["sklearn.cluster"] = None  # type: ignore[assignment]
    with recollect.open(folder / "project", home=folder / "home", background=False) as memory:
        start = time.perf_counter()
        found = memory.cluster(least=LEAST)
        seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "clusters": len(found),
        "members": sum(each.size for each in found),
    }


def in_new_process(*words: str) -> dict[str, float]:
    ran = subprocess.run([sys.executable, __file__, *words], check=True, stdout=subprocess.PIPE)
    seen: dict[str, float] = json.loads(ran.stdout)
    return seen


# --- Agreement --------------------------------------------------------------------------------------------------------


def agreement(texts: list[str]) -> Iterator[Figure]:
    """How far the groups agree, as the adjusted Rand index: 1 is the same, 0 is by chance."""
    from sklearn.cluster import HDBSCAN
    from sklearn.metrics import adjusted_rand_score

    units = StaticEmbedder().embed(texts)
    units = units[units.any(axis=1)]
    plain = HDBSCAN(min_cluster_size=LEAST, min_samples=1, cluster_selection_method="leaf", copy=True)
    start = time.perf_counter()
    one = plain.fit_predict(units.astype(np.float64))
    yield Figure(f"plain HDBSCAN, {len(units):,} memories", time.perf_counter() - start, "s")
    start = time.perf_counter()
    found = leaves(units, LEAST)
    yield Figure(f"from nearest neighbours, {len(units):,} memories", time.perf_counter() - start, "s")
    other = np.full(len(units), -1)
    for number, group in enumerate(found):
        other[group] = number
    both = (one >= 0) & (other >= 0)
    yield Figure("in clusters of plain HDBSCAN", float((one >= 0).sum()), "memories")
    yield Figure("in clusters from nearest neighbours", float((other >= 0).sum()), "memories")
    yield Figure("agreement on all", adjusted_rand_score(alone(one), alone(other)), "ARI", 0.9, at_least=True)
    yield Figure(
        "agreement on what both cluster", adjusted_rand_score(one[both], other[both]), "ARI", 0.9, at_least=True
    )


def alone(numbers: NDArray[np.intp]) -> NDArray[np.intp]:
    """The same, where each that is in no cluster counts as one by itself."""
    return np.where(numbers < 0, len(numbers) + np.arange(len(numbers)), numbers)


# --- All of it --------------------------------------------------------------------------------------------------------


def measured(path: Path | None, count: int) -> Iterator[Figure]:
    given = [] if path is None else [f"--texts={path}"]
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as name:
        memories = in_new_process(f"--fill={name}", f"--count={count}", *given)["memories"]
        for way, title in WAYS.items():
            if way == "hdbscan" and not installed():
                continue
            seen = in_new_process(f"--cluster={name}", f"--way={way}")
            where = f"{memories:,} memories, {title}"
            yield Figure(f"{where}, all of it", seen["seconds"], "s", 600)
            yield Figure(f"{where}, peak memory", seen["peak"], "MB", 1_000)
            yield Figure(f"{where}, clusters", seen["clusters"], "")
            yield Figure(f"{where}, in clusters", seen["members"], "memories")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000, metavar="N", help="how many memories; 0 for none")
    parser.add_argument("--agree", action="store_true", help=f"also compare with plain HDBSCAN, at {COMPARED:,}")
    parser.add_argument("--texts", type=Path, metavar="FILE", help="take the lines of this file")
    for hidden in ("--fill", "--cluster"):
        parser.add_argument(hidden, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=tuple(WAYS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fill:
        print(json.dumps(fill(options.fill, options.texts, options.count)))
        return 0
    if options.cluster:
        print(json.dumps(cluster(options.cluster, options.way)))
        return 0
    if not installed():
        print(MISSING)
    figures = measured(options.texts, options.count) if options.count else iter(())
    if options.agree and installed():
        figures = chain(figures, agreement(texts_of(options.texts, COMPARED)))
    held = True
    for each in figures:
        goal = "" if each.target is None else f"  {'≥' if each.at_least else '≤'} {each.target:g}"
        mark = "" if each.target is None else ("  ok" if each.held else "  MISSED")
        print(f"{each.name:58} {each.value:10.3f} {each.unit:11}{goal}{mark}", flush=True)
        held = held and each.held
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
