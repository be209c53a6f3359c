"""Measure what an agent waits for before each of its turns: what memory has to say about a prompt.

    python bench/context.py [--memories 100000] [--json FILE]

Beside one fsync and one bare start of Python taken in the same run. Among the memories are some that are pinned, some
that wait for a word or a file, and some that are checked against a working tree. One prompt in five is small talk; the
others are questions, every other one with files at work on. They come one after the other in a few sessions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from itertools import cycle
from pathlib import Path

from corpus import Corpus
from run import Figure, embedded, filled, milliseconds, spread, yardsticks

import recollect
from recollect import Recollect

PROMPTS = 250
WARM_UP = 30
FILES = 50
SESSIONS = 5
SMALL_TALK = ("thanks!", "ok", "go on", "yes, do that", "Great, that works now.", "hm, no", "hello there")


def tree(folder: Path) -> list[str]:
    """A small repository; the names of its files."""
    names = [f"src/part_{number}.py" for number in range(FILES)]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        stem = Path(name).stem
        (folder / name).write_text(f"def run_{stem}(value: int) -> int:\n    return value + 1\n", encoding="utf-8")
    steps = ("init -q", "add .", "-c user.name=bench -c user.email=bench@example.com commit -qm begin")
    for step in steps:
        subprocess.run(["git", *step.split()], cwd=folder, check=True)
    return names


def special(memory: Recollect, texts: Iterator[str], names: list[str]) -> int:
    """Memories that take more than looking them up: pinned, waiting, anchored, warning. How many there are."""
    count = 0
    for number, name in enumerate(names):
        text, stem = next(texts), Path(name).stem
        match number % 4:
            case 0:
                made = memory.remember(f"{text} `run_{stem}` in {name}", files=[name])
            case 1:
                made = memory.remember(f"Never {text}", kind="warning", triggers=[stem, max(text.split(), key=len)])
            case 2:
                made = memory.remember(text, kind="warning", triggers=[f"src/{stem}*"], files=[name])
            case _:
                made = memory.remember(text, kind="preference")
                memory.pin(made.memory.ref)
        count += bool(made)
    return count


def prompts(corpus: Corpus, texts: list[str], names: list[str]) -> Iterator[tuple[str, list[str]]]:
    """What is said to agents, with the files that they work on."""
    talk, files = cycle(SMALL_TALK), cycle(names)
    for number, text in enumerate(texts[:: len(texts) // PROMPTS][:PROMPTS]):
        if number % 5 == 4:
            yield next(talk), []
        else:
            yield f"How do we {corpus.question(text)}?", [next(files), next(files)] if number % 2 else []


def giving(memory: Recollect, corpus: Corpus, texts: list[str], names: list[str]) -> list[Figure]:
    times: dict[bool, list[float]] = {True: [], False: []}
    said = 0
    for number, (prompt, files) in enumerate(prompts(corpus, texts, names)):
        given: list[recollect.Context] = []

        def ask(prompt: str = prompt, files: list[str] = files, number: int = number) -> None:
            given.append(memory.context(prompt, files=files, session=f"s{number % SESSIONS}", agent="bench"))  # noqa: B023

        took = milliseconds(ask)
        if number >= WARM_UP:
            times[prompt in SMALL_TALK].append(took)
            said += bool(given[0])
    every = [*times[True], *times[False]]
    where = f"context, {len(texts):,} memories"
    return [
        Figure(f"{where}, p50", spread(every)[0], "ms", 20),
        Figure(f"{where}, p95", spread(every)[1], "ms", 50),
        Figure(f"{where}, questions alone, p50", spread(times[False])[0], "ms"),
        Figure(f"{where}, small talk alone, p50", spread(times[True])[0], "ms"),
        Figure("prompts for which something was said", 100 * said / len(every), "%"),
    ]


def measure(count: int) -> Iterator[Figure]:
    corpus = Corpus()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as name:
        folder = Path(name)
        (folder / "project").mkdir()
        names = tree(folder / "project")
        yield from yardsticks(folder)
        with recollect.open(folder / "project", home=folder / "home", background=False) as memory:
            texts = list(corpus.memories(count))
            yield filled(memory, texts)
            yield Figure("of them special", special(memory, corpus.memories(len(names)), names), "memories")
            yield embedded(memory)
            yield from giving(memory, corpus, texts, names)
        yield Figure("load average at the end", os.getloadavg()[0], "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=100_000, help="how many memories there are")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    options = parser.parse_args()
    figures = []
    for each in measure(options.memories):
        goal = "" if each.target is None else f"  {'≥' if each.at_least else '≤'} {each.target:g}"
        mark = "" if each.target is None else ("  ok" if each.held else "  MISSED")
        print(f"{each.name:58} {each.value:10.1f} {each.unit:11}{goal}{mark}", flush=True)
        figures.append(each)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in figures], indent=2) + "\n", encoding="utf-8")
    return 0 if all(each.held for each in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
