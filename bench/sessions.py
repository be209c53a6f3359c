"""Measure sessions: how long a turn takes until it is safe, and a search in all that was ever said.

    python bench/sessions.py [--turns 100000] [--json FILE]

Beside one fsync and one bare start of Python taken in the same run. Turns to search are filed in batches, as a recovery
files them; those that are timed come one by one, as an agent says them, and a background makes findings of them.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

from corpus import Corpus
from run import Figure, embedded, milliseconds, spread, yardsticks

import recollect
from recollect import Recollect
from recollect.formats.transcript import Role, Turn
from recollect.model import Corpus as Where
from recollect.model import Passage

APPENDED = 1_000
FINISHED = 1_000
A_SESSION = 200
A_SHORT_SESSION = 10
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ROLES = ("user", "assistant")


def appending(memory: Recollect, corpus: Corpus, fsync: float) -> list[Figure]:
    """Turns one by one; with one in ten findings of the latest ones are due, as the settings have it."""
    session = memory.session("appended", agent="bench")
    every = memory.settings.session.checkpoint_every
    times = [
        milliseconds(lambda text=text, role=ROLES[number % 2]: session.append(role, text))  # type: ignore[misc]
        for number, text in enumerate(corpus.memories(APPENDED))
    ]
    reading = times[every - 1 :: every]
    plain = [took for number, took in enumerate(times, start=1) if number % every]
    median, late = spread(times[100:])
    return [
        Figure("append a turn, p50", median, "ms"),
        Figure("append a turn beyond one fsync, p95 of both", late - fsync, "ms", 5),
        Figure("append a turn with which no findings are due, p95", spread(plain[90:])[1], "ms"),
        Figure("append a turn with which findings are due, p95", spread(reading[10:])[1], "ms"),
    ]


def recovering(memory: Recollect, corpus: Corpus) -> list[Figure]:
    """What every start does first, when there is nothing left to do."""
    for number in range(FINISHED):
        session = memory.session(f"finished-{number}")
        turns = zip(cycle(ROLES), corpus.memories(A_SHORT_SESSION), strict=False)
        session.extend([Turn(role=Role(role), content=text, timestamp=datetime.now(UTC)) for role, text in turns])
        session.finalise()
    took = min(milliseconds(memory.sessions.recover) for _ in range(5))
    return [Figure(f"recover, {FINISHED:,} finished sessions", took, "ms", 1_000)]


def passages(texts: list[str]) -> Iterator[Passage]:
    """Turns of many sessions."""
    for number, text in enumerate(texts):
        session, position = divmod(number, A_SESSION)
        yield Passage(
            corpus=Where.SESSIONS,
            document=f"session-{session}",
            position=position + 1,
            text=text,
            label=ROLES[number % 2],
            at=BEGIN + timedelta(seconds=number),
            payload={"id": f"msg_{position + 1:06}"},
        )


def filled(memory: Recollect, texts: list[str]) -> Figure:
    start = time.perf_counter()
    memory.file_passages(passages(texts))
    return Figure(f"turns filed, {len(texts):,}", len(texts) / (time.perf_counter() - start), "turns/s")


def asking(memory: Recollect, corpus: Corpus, texts: list[str]) -> list[Figure]:
    questions = [corpus.question(text) for text in texts[:: len(texts) // 220]]

    def ask(question: str) -> None:
        assert memory.search_passages(question, corpus="sessions").excerpts

    for question in questions[:20]:
        ask(question)
    p50, p95 = spread([milliseconds(lambda asked=asked: ask(asked)) for asked in questions[20:]])  # type: ignore[misc]
    where = f"search, {len(texts):,} turns"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        Figure(f"{where}, p50", p50, "ms", 40),
        Figure(f"{where}, p95", p95, "ms", 100),
        Figure(f"resident memory, {len(texts):,} turns", peak, "MB"),
    ]


def measure(turns: int) -> Iterator[Figure]:
    corpus = Corpus()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as name:
        folder = Path(name)
        (folder / "project").mkdir()
        marks = yardsticks(folder)
        yield from marks
        fsync = next(each.value for each in marks if each.name == "one fsync, p95")
        with recollect.open(folder / "project", home=folder / "home") as memory:
            yield from appending(memory, corpus, fsync)
        with recollect.open(folder / "project", home=folder / "home", background=False) as memory:
            yield from recovering(memory, corpus)
            texts = list(corpus.memories(turns))
            yield filled(memory, texts)
            yield embedded(memory)
            yield from asking(memory, corpus, texts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=100_000, help="how many turns are searched")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    options = parser.parse_args()
    figures = []
    for each in measure(options.turns):
        goal = "" if each.target is None else f"  {'≥' if each.at_least else '≤'} {each.target:g}"
        mark = "" if each.target is None else ("  ok" if each.held else "  MISSED")
        print(f"{each.name:58} {each.value:10.1f} {each.unit:11}{goal}{mark}", flush=True)
        figures.append(each)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in figures], indent=2) + "\n", encoding="utf-8")
    return 0 if all(each.held for each in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
