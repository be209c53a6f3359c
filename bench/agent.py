"""Measure the memory agent: what handing context over costs while its model hangs, and what a long life does to it.

    python bench/agent.py [--count 1000] [--offers 20000] [--turns 0]

Handing over is measured with the queue full and the worker stuck; 1 ms is allowed for one in a hundred. With `--turns`
sessions go on for so many turns, each taking what the turn before found, with a model that stalls and fails at random;
then nothing may be lost or given twice, and the process may not grow. Beside one fsync and one bare start of Python
taken in the same run.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from corpus import Corpus
from numpy.typing import NDArray
from run import yardsticks

import recollect
from recollect import Draft, Recollect
from recollect.engine.context import Situation
from recollect.errors import EmbedderUnavailable
from recollect.model import Given
from recollect.testing import HashEmbedder

ALLOWED_MS = 1.0
WARM = 1_000
"""After so many turns the process has all it needs, and should grow no more."""
TOGETHER = 8
"""How many sessions go on at a time."""
LASTING = 25
"""How many turns a session has."""


class Moody(HashEmbedder):
    """A model that hangs when told to, and otherwise stalls and fails at random."""

    def __init__(self, seed: int = 7) -> None:
        super().__init__()
        self.pick = random.Random(seed)
        self.answers = threading.Event()
        self.answers.set()
        self.asked = threading.Event()
        self.moods = False
        self.stalled = self.failed = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.set()
        self.answers.wait()
        mood = self.pick.random() if self.moods else 1.0
        if mood < 0.02:
            self.failed += 1
            raise RuntimeError("the model fell over")
        if mood < 0.0205:
            self.failed += 1
            raise EmbedderUnavailable(self.model, "it is not there just now")
        if mood < 0.1:
            self.stalled += 1
            time.sleep(self.pick.uniform(0.01, 0.15))
        return super().embed(texts)


def resident() -> float:
    """MB of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def handing_over(memory: Recollect, model: Moody, prompts: Sequence[str], offers: int) -> bool:
    """How long handing over takes with everything stuck; whether that is within what is allowed."""
    model.asked.clear()
    model.answers.clear()
    memory.agent.offer(Situation(prompt=prompts[0], session="first"))
    model.asked.wait()
    taken = []
    for number in range(offers):
        situation = Situation(prompt=prompts[number % len(prompts)], session=f"s{number % 100}")
        start = time.perf_counter()
        memory.agent.offer(situation)
        taken.append((time.perf_counter() - start) * 1_000)
    dropped = memory.agent.dropped
    model.answers.set()
    taken.sort()
    late = taken[int(0.99 * offers)]
    print(
        f"handing over, queue full and worker stuck: p50 {taken[offers // 2]:.4f} ms, p99 {late:.4f} ms "
        f"({ALLOWED_MS:g} allowed), most {taken[-1]:.3f} ms; {dropped:,} of {offers:,} gave way to newer ones"
    )
    return late <= ALLOWED_MS


def soak(memory: Recollect, prompts: Sequence[str], turns: int, pick: random.Random) -> tuple[list[str], float]:
    """Let sessions go on for so many turns; the ids of what was taken, and by how many MB the process grew."""
    taken: list[str] = []
    warm = resident()
    for turn in range(turns):
        session = f"soak {turn % TOGETHER} of {turn // (TOGETHER * LASTING)}"
        context = memory.agent.take(session)
        if context.recollection.id:
            taken.append(context.recollection.id)
        topic = pick.choice(prompts) if pick.random() < 0.5 else prompts[turn // (TOGETHER * LASTING) % len(prompts)]
        memory.agent.offer(Situation(prompt=topic, session=session))
        time.sleep(pick.uniform(0.0, 0.03))
        if turn + 1 == WARM:
            warm = resident()
        if (turn + 1) % 1_000 == 0:
            print(f"  {turn + 1:,} turns: {resident():.0f} MB, {len(taken):,} taken", flush=True)
    return taken, resident() - warm


def twice(records: Sequence[Given]) -> int:
    """How many memories a session was given a second time on the same topic."""
    given = Counter((each.session, each.topic, item.ref) for each in records for item in each.items if item.ref)
    return sum(times - 1 for times in given.values())


def contents(memory: Recollect) -> list[str]:
    """All that is remembered, whatever became of it."""
    return sorted(each.content for each in memory._parts.project().query((), limit=None))


def sound(path: str, folder: str, before: Sequence[str], taken: Sequence[str]) -> bool:
    """Whether everything that was taken is on record once, nothing was given twice, and all memories are there."""
    with recollect.open(store=path, home=folder, background=False) as memory:
        records = memory._parts.project().given(limit=10**9)
        noted = Counter(str(record.id) for record in records)
        lost = sum(noted[each] == 0 for each in taken)
        doubled = sum(noted.values()) - len(noted) + len(taken) - len(set(taken))
        repeated = twice(records)
        same = contents(memory) == before
        damage = memory.verify_audit()
    items = sum(len(record.items) for record in records)
    print(
        f"{len(taken):,} contexts were taken, with {items:,} memories: {lost} not on record, {doubled} twice on record"
    )
    print(f"{repeated} memories given twice on one topic; {len(damage)} faults in the audit")
    print("the memories are the same as before" if same else "memories were lost or made")
    return same and not (lost or doubled or repeated or damage)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000, help="how many memories there are")
    parser.add_argument("--offers", type=int, default=20_000)
    parser.add_argument("--turns", type=int, default=0)
    given = parser.parse_args()
    logging.getLogger("recollect").addHandler(logging.NullHandler())  # a failing model is what is wanted here
    texts = list(Corpus().memories(given.count))
    pick = random.Random(3)
    prompts = [f"what do we know: {pick.choice(texts)}" for _ in range(200)]
    with tempfile.TemporaryDirectory() as folder:
        for each in yardsticks(Path(folder)):
            print(f"{each.name}: {each.value:.1f} {each.unit}")
        model, path = Moody(), str(Path(folder) / "memory.db")
        memory = recollect.open(store=path, home=folder, embedder=model, background=True)
        memory.remember_many([Draft(content=text) for text in texts])
        memory.embed_pending()
        before = contents(memory)
        fine = handing_over(memory, model, prompts, given.offers)
        model.moods = True
        taken, grown = soak(memory, prompts, given.turns, pick)
        start = time.perf_counter()
        memory.close()
        print(f"closed in {(time.perf_counter() - start) * 1_000:.0f} ms (2000 allowed)")
        if given.turns:
            print(f"{given.turns:,} turns; the model stalled {model.stalled:,} times and failed {model.failed:,} times")
            print(f"grown by {grown:.1f} MB after the first {WARM:,} turns")
        return 0 if sound(path, folder, before, taken) and fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
