"""Reading: recall by words, ranked and explained. Reading changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import InvalidText, StoreError
from ..model import LIVE, Condition, Op, Recall, Status, Where, WordSearch
from ..policy.query import parse_limit, query_words, telling_words
from ..policy.rank import PROFILES, Asking, pooled, rank
from .parts import Parts, SpaceName

POOL = 5
"""How many candidates are ranked for each result asked for: the ranking may reorder what the words found."""
LEAST_POOL = 50

_SPACES: tuple[SpaceName, ...] = ("project", "global")

FOUND_BY_SEARCH = frozenset(Status) - {Status.FORGOTTEN, Status.QUARANTINED}
"""What a search may show: everything that was not forgotten and is not withheld."""


def recall(
    parts: Parts,
    query: object,
    *,
    where: Where,
    limit: int | None,
    session: str | None,
    task: str | None,
    space: SpaceName | None,
    statuses: frozenset[Status] = LIVE,
) -> Recall:
    """The memories that answer a question best, from one space or from the project and the global one."""
    if not isinstance(query, str):
        raise InvalidText("query", f"expected text, not {type(query).__name__}")
    settings = parts.settings.recall
    asked = query[: settings.query_limit]
    off = parts.switch.off_where()
    if off:
        return Recall(query=asked, notes=(f"memory is switched off {off}",))
    words = telling_words(query_words(asked))
    wanted = parse_limit(settings.limit if limit is None else limit, most=1_000)
    if not words or not wanted:
        return Recall(query=asked, notes=() if words else ("the question holds no word to look for",))
    pool = max(LEAST_POOL, wanted, min(POOL * wanted, settings.candidates))
    allowed = (*where, _standing(statuses), _reach(session, task))
    found: list[WordSearch] = []
    trouble: list[str] = []
    for name in _SPACES if space is None else (space,):
        try:
            found.append(parts.store(name).search(words, where=allowed, limit=pool, postings=settings.postings))
        except StoreError as error:
            if space is not None or name == "project":
                raise
            # What holds here is worth having even when what holds everywhere cannot be had.
            trouble.append(f"the global memory could not be searched: {error}")
    asking = Asking(parts.clock(), pooled(each.statistics for each in found))
    matches = [match for each in found for match in each.matches]
    hits = rank(matches, PROFILES[settings.profile], asking=asking, limit=wanted)
    return Recall(query=asked, hits=hits, notes=(*trouble, *_limits(found)))


def _limits(found: list[WordSearch]) -> Iterator[str]:
    """What kept the search from being complete, in words."""
    skipped = sorted({word for each in found for word in each.skipped})
    if skipped:
        yield f"too frequent to look for: {', '.join(skipped)}"
    if any(each.newest_only for each in found):
        yield "the words are in so many memories that only the newest were searched"


def _standing(statuses: frozenset[Status]) -> Condition:
    return Condition("status", Op.IN, tuple(sorted(statuses)))


def _reach(session: str | None, task: str | None) -> Condition:
    """A passing memory is for its own session or task and nobody else."""
    own = (f"session:{session}" if session else "", f"task:{task}" if task else "")
    return Condition("owner", Op.IN, tuple(dict.fromkeys(("", *own))))
