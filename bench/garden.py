"""Measure the garden: how long planning takes, how long applying keeps others from writing, how much memory it needs.

    python bench/garden.py [--count 100000] [--apply 2000]

Beside one fsync and one bare start of Python taken in the same run.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from corpus import Corpus
from run import yardsticks

import recollect
from recollect import Draft, Recollect

PATTERNS = (
    "The {a} service listens on port {n}",
    "{a} jobs in {b} are retried {n} times before they fail",
    "Use {a} for formatting the {b} package, not {c}",
    "Deploys of {a} to {b} go through {c} and need {n} approvals",
    "The {a} table in {b} is partitioned by {c} every {n} days",
    "Never call {a} from {b} while {c} holds the lock",
    "Tests of {a} live in tests/{b} and take {n} seconds",
)


def texts(count: int) -> Iterator[str]:
    """Three tenths of sentences after a few patterns, a tenth of near copies, the rest unlike each other."""
    pick = random.Random(11)
    plain = Corpus().memories(count)
    names = sorted({word for text in Corpus(3).memories(400) for word in text.split() if len(word) > 4})
    made: list[str] = []
    for _ in range(count):
        kind = pick.random()
        if kind < 0.1 and made:
            words = pick.choice(made).split()
            text = " ".join(["Note:", *words]) if pick.random() < 0.5 else " ".join([*words, "please"])
        elif kind < 0.4:
            a, b, c = (pick.choice(names) for _ in range(3))
            text = pick.choice(PATTERNS).format(a=a, b=b, c=c, n=pick.randint(1, 9_999))
        else:
            text = next(plain)
        made.append(text)
        yield text


def fill(memory: Recollect, count: int) -> None:
    drafts = [Draft(content=text) for text in texts(count)]
    for start in range(0, count, 5_000):
        memory.remember_many(drafts[start : start + 5_000])
    memory.embed_pending()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--apply", type=int, default=2_000, help="how many steps to carry out and undo")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for each in yardsticks(Path(folder)):
            print(f"{each.name}: {each.value:.1f} {each.unit}")
        with recollect.open(store=str(Path(folder) / "memory.db"), home=folder, background=False) as memory:
            fill(memory, given.count)
            print(f"{memory.count():,} memories live")
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            start = time.perf_counter()
            plan = memory.plans.make(clusters=False)
            took = time.perf_counter() - start
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            assert plan is not None
            steps = sum(plan.states.values())
            print(f"planned in {took:.1f} s (60 s allowed): {steps:,} steps, {plan.retires:,} would leave recall")
            print(f"peak memory {peak:.0f} MB ({before:.0f} MB before planning)")
            apply_and_undo(memory, plan.id, min(steps, given.apply))


def apply_and_undo(memory: Recollect, plan: int, steps: int) -> None:
    """Carry out the first steps and undo them, watching how long the store is held each time."""
    held: list[float] = []
    last = time.perf_counter()

    def progress(done: int, total: int) -> None:
        nonlocal last
        now = time.perf_counter()
        held.append((now - last) * 1000)
        last = now

    wanted = range(1, steps + 1)
    last = time.perf_counter()
    memory.plans.apply(plan, retiring=True, steps=wanted, allow_loss=1.0, progress=progress)
    # The first covers reading the plan as well; what holds the lock is no more than the time between two of them.
    print(f"{steps:,} steps applied; the store was held at most {max(held[1:]):.0f} ms at a time (200 allowed)")
    held.clear()
    last = start = time.perf_counter()
    done = memory.plans.undo(plan, progress=progress)
    print(f"{done.undone:,} undone in {time.perf_counter() - start:.1f} s, held at most {max(held[1:]):.0f} ms")


if __name__ == "__main__":
    main()
