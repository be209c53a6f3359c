"""Measure how fast the triggers of many memories are looked for in a text, beside one fsync and one start of Python.

    python bench/triggers.py [--json FILE]

Ten thousand memories with one or two patterns each: 200 regular expressions, globs, phrases of procedures, and words as
they stand. The texts have 2,000 characters, name files and hold something that matches; the best of three looks counts.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

from corpus import Corpus
from run import Figure, milliseconds, spread, yardsticks

from recollect.model import MemoryId
from recollect.policy.triggers import Matcher

Triggers: TypeAlias = list[tuple[MemoryId, tuple[str, ...]]]

MEMORIES = 10_000
REGEXES = 200
GLOBS = 1_500
PROCEDURES = 1_500
CHARACTERS = 2_000
TEXTS = 200
FRESH = 15
_REGEX_SHAPES = (
    r"re:\b{0}\s+{1}\s+(-f|--{2})\b",
    r"re:(?i){0}.*{1}",
    r"re:{0}_\w+\({1}",
    r"re:({0}|{1}|{2})\s*=\s*['\"]\w+",
    r"re:\b{0}(s|ed|ing)?\s+{1}\b",
    r"re:\d{{3,5}}-{0}",
    r"re:\w+\.{0}\(",
    r"re:[A-Z]\w*{0}",
)
_GLOB_SHAPES = ("*.{0}", "{0}/*.{1}", "glob:**/{0}/**", "{0}_*.{1}", "src/{0}/*.py", "glob:*{0}*", "{0}/{1}/*.{{a,b}}")
_PHRASE_SHAPES = ("{0}", "{0}!", ".{0}", "{0} {1}", "{0} the {1}", "{0}.{1}(", "{0}-{1} {2}", "git {0} {1}")


class Work:
    """A seeded source of triggers and of texts in which some of them match."""

    def __init__(self) -> None:
        self._random = random.Random(11)
        self._corpus = Corpus()
        self._words = sorted({word for text in self._corpus.memories(2_000) for word in text.split() if len(word) > 3})

    def _filled(self, shape: str) -> str:
        return shape.format(*self._random.sample(self._words, 3))

    def triggers(self) -> Triggers:
        """The patterns of each memory; a fifth of those with words as they stand have two."""
        pick = self._random.choice
        patterns: list[tuple[str, ...]] = [(self._filled(pick(_REGEX_SHAPES)),) for _ in range(REGEXES)]
        patterns += [(self._filled(pick(_GLOB_SHAPES)),) for _ in range(GLOBS)]
        patterns += [(self._filled("words:{0} the {1} to {2}"),) for _ in range(PROCEDURES)]
        while len(patterns) < MEMORIES:
            patterns.append(tuple(self._filled(pick(_PHRASE_SHAPES)) for _ in range(pick((1, 1, 1, 1, 2)))))
        self._random.shuffle(patterns)
        return [(MemoryId(number), each) for number, each in enumerate(patterns, start=1)]

    def texts(self, triggers: Triggers) -> list[tuple[str, list[str]]]:
        """Texts, each with a dozen words of triggers and paths in it, and the files it is about."""
        return [(self._text(triggers), [self._filled("src/{0}/{1}.py") for _ in range(5)]) for _ in range(TEXTS)]

    def _text(self, triggers: Triggers) -> str:
        pieces = " ".join(self._corpus.memories(16)).split()
        for _, (pattern, *_) in self._random.sample(triggers, 6):
            pieces.insert(self._random.randrange(len(pieces) // 2), pattern.partition(":")[2] or pattern)
        for _ in range(6):
            pieces.insert(self._random.randrange(len(pieces) // 2), self._filled("{0}/{1}.{2}"))
        return " ".join(pieces)[:CHARACTERS]


def looked(matcher: Matcher, text: str, files: list[str]) -> float:
    return milliseconds(lambda: matcher.matches(text, files))


def measured() -> Iterator[Figure]:
    work = Work()
    triggers = work.triggers()
    texts = work.texts(triggers)
    where = f"{MEMORIES:,} memories"
    made = min(milliseconds(lambda: Matcher.of(triggers)) for _ in range(5))
    yield Figure(f"matcher made, {where}", made, "ms", 1_000)
    fresh = [(Matcher.of(triggers), text, files) for text, files in texts[:FRESH]]
    first = [looked(matcher, text, files) for matcher, text, files in fresh]
    matcher = Matcher.of(triggers)
    times = [min(looked(matcher, text, files) for _ in range(3)) for text, files in texts]
    found = [len(matcher.matches(text, files)) for text, files in texts]
    yield Figure(f"first text of a new matcher, {where}, p50", spread(first)[0], "ms", 5)
    for name, value in zip(("p50", "p95"), spread(times), strict=True):
        yield Figure(f"text matched, {where}, {name}", value, "ms", 5)
    yield Figure("memories that come up for a text", sum(found) / len(found), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as name:
        figures = [*yardsticks(Path(name)), *measured()]
    for each in figures:
        goal = "" if each.target is None else f"  {'≥' if each.at_least else '≤'} {each.target:g}"
        mark = "" if each.target is None else ("  ok" if each.held else "  MISSED")
        print(f"{each.name:58} {each.value:10.2f} {each.unit:11}{goal}{mark}")
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in figures], indent=2) + "\n", encoding="utf-8")
    return 0 if all(each.held for each in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
