"""What is defined for a space, as users hold it: words that mean the same, and seasons."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ..store import Store
from . import definitions
from .definitions import Alias, Seasonal
from .parts import Parts, SpaceName


class Aliases:
    """Words that mean the same when questions are asked."""

    def __init__(self, parts: Parts, space: Callable[[SpaceName], Store]) -> None:
        self._parts = parts
        self._space = space

    def define(self, word: str, *same: str, space: SpaceName = "project", add: bool = False) -> Alias:
        """Let a word mean the same as others; `add` keeps what it was defined as."""
        return definitions.define_alias(self._parts, self._space(space), word, same, add=add)

    def remove(self, word: str, *, space: SpaceName = "project") -> Alias:
        """Take an alias away; returns what it was. A generated one comes back when they are generated anew."""
        return definitions.remove_alias(self._parts, self._space(space), word)

    def list(self, *, space: SpaceName = "project", built_in: bool = False) -> tuple[Alias, ...]:
        """Which words mean the same here: a person's own, those generated, and if asked for those built in."""
        return definitions.aliases(self._space(space), built_in=built_in)

    def generate(self, *, space: SpaceName = "project") -> tuple[Alias, ...]:
        """Make aliases of the names in a space (paths, symbols, tags, code), in place of those made before."""
        return definitions.generate_aliases(self._parts, self._space(space))


class Seasons:
    """Labels of memories that are recalled only at times."""

    def __init__(self, parts: Parts, space: Callable[[SpaceName], Store]) -> None:
        self._parts = parts
        self._space = space

    def define(
        self,
        name: str,
        *,
        on: bool | None = None,
        rule: str | None = None,
        until: datetime | None = None,
        space: SpaceName = "project",
    ) -> Seasonal:
        """Switch a season on or off, until a time if one is given, or with neither leave it to its rule.

        A memory with the label of a season is recalled only while the season is active. `rule` says when that is, as
        "12-15..01-05" or "last 3 days of month"; None keeps the rule it has.
        """
        return definitions.define_season(self._parts, self._space(space), name, on=on, rule=rule, until=until)

    def list(self, *, space: SpaceName = "project") -> tuple[Seasonal, ...]:
        """Every season that is defined or that a live memory waits for, and whether it is active now."""
        return definitions.seasons(self._parts, self._space(space))

    def remove(self, name: str, *, space: SpaceName = "project") -> None:
        """Define a season no longer. Memories keep its label, and wait."""
        definitions.remove_season(self._parts, self._space(space), name)
