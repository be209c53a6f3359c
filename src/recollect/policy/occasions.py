"""What an everyday request is an occasion for: the rules about the tools that it takes, though it names none of them.

Nobody who types "install the dependencies" says "pnpm". A rule about pnpm is wanted all the same. Words and vectors do
not bring the two together; that package managers install dependencies is knowledge of the trade, and here is a little
of it: for each activity, how people ask for it, and the names by which memories speak of its tools. Only for what is
asked for every day, and only where that is all that is asked: of anything else the words tell more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..model import Kind, Memory
from .intent import own_words_of

RULES = frozenset({Kind.CORRECTION, Kind.PREFERENCE, Kind.NEGATIVE, Kind.DECISION, Kind.PROCEDURE})
"""The kinds that say how something is to be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """An activity: what asks for it, and what its rules speak of."""

    name: str
    asked: re.Pattern[str]
    names: tuple[str, ...]

    def governs(self, memory: Memory) -> bool:
        """Whether a memory is a rule about this activity: one of its kinds, which names a tool of it early on."""
        return memory.kind in RULES and bool(self._named.search(memory.content[:_EARLY].lower()))

    @property
    def _named(self) -> re.Pattern[str]:
        return _NAMED[self.name]


_EARLY = 240
_SHORT = {
    "a": r"(?:(?:a|an|the|all|all the|some|new|my|our|this|these|missing|its|latest|required|dev|another)\s+){0,3}",
    "get": r"(?:install|reinstall|add|fetch|pull in|get|update|upgrade|bump|remove|uninstall|set ?up|restore)",
    "make": r"(?:write|add|create|make|generate|implement|draft|need|set ?up|build)",
    "run": r"(?:run|rerun|re-run|execute|start|launch|try)",
}


def _occasion(name: str, asked: str, names: str) -> Occasion:
    for short, words in _SHORT.items():
        asked = asked.replace(f"<{short}>", words)
    return Occasion(name=name, asked=re.compile(asked, re.IGNORECASE), names=tuple(names.split()))


OCCASIONS: tuple[Occasion, ...] = (
    _occasion(
        "installing packages",
        r"\b<get>\s+<a>(?:[\w@/.-]+\s+)?(?:dependenc(?:y|ies)|deps|packages?|modules?|librar(?:y|ies)|requirements|gems?|"
        r"crates?|node_modules)\b",
        "npm pnpm yarn bun pip uv poetry pipenv conda mamba bundler composer cargo nuget",
    ),
    _occasion(
        "running the tests",
        r"\b<run>\s+<a>(?:unit |whole |full )?(?:tests?|test suite|specs?|suite)\b"
        r"|\b(?:do|check (?:that|if|whether))\s+(?:the\s+)?tests\s+(?:still\s+)?pass\b",
        "pytest tox nox unittest jest vitest mocha rspec phpunit ctest nextest",
    ),
    _occasion(
        "formatting and linting",
        r"\b(?:format|reformat|lint|prettify)\s+(?:it|this|that|everything|the\s+(?:code|file|files|repo|repository|project))\b"
        r"|\b<run>\s+<a>(?:linter|formatter|lint)\b",
        "black ruff isort flake8 pylint prettier eslint biome gofmt gofumpt rustfmt clippy rubocop ktlint spotless "
        "stylelint clang-format golangci-lint",
    ),
    _occasion(
        "committing",
        r"\b(?:git\s+)?commit\s+(?:it|this|that|these|everything|all|the\s+changes?|my\s+changes?|now)\b"
        r"|\b<make>\s+<a>commit(?:\s+message)?\b",
        "commit commits conventional-commits gitmoji co-authored-by signed-off-by",
    ),
)
_NAMED = {
    each.name: re.compile(rf"(?<![\w.-])(?:{'|'.join(re.escape(name) for name in each.names)})(?![\w-])")
    for each in OCCASIONS
}
_LONGEST = 120
_BESIDES = 1


def occasions(prompt: str) -> tuple[Occasion, ...]:
    """What a prompt is an occasion for, if it asks for little else."""
    if len(prompt) > _LONGEST:
        return ()
    return tuple(each for each in OCCASIONS if (found := each.asked.search(prompt)) and _is_all(prompt, found))


def _is_all(prompt: str, found: re.Match[str]) -> bool:
    return len(own_words_of(f"{prompt[: found.start()]} {prompt[found.end() :]}")) <= _BESIDES


def governing(memories: Iterable[Memory], asked: Iterable[Occasion]) -> Iterator[tuple[Memory, Occasion]]:
    """The memories that are rules about what is asked for, each with the first such activity."""
    every = tuple(asked)
    for memory in memories:
        found = next((each for each in every if each.governs(memory)), None)
        if found is not None:
            yield memory, found
