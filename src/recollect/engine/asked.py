"""What callers ask for, as they ask for it, turned into the values of the model; refused where it means nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

from ..errors import InvalidInput
from ..model import LIVE, Anchor, Condition, Kind, Op, Status, Where
from ..policy.query import parse_where
from ..store import Head, Store
from .parts import SpaceName

_LIVE = Condition("status", Op.IN, tuple(sorted(LIVE)))


def listed(where: Mapping[str, object] | None) -> Where:
    """The conditions of a listing: all that are live, or what a filter asks for, forgotten ones only by name."""
    if where is None:
        return (_LIVE,)
    conditions = parse_where(where)
    if any(condition.field == "status" for condition in conditions):
        return conditions
    return (*conditions, Condition("status", Op.NE, Status.FORGOTTEN.value))


_Choice = TypeVar("_Choice", bound=StrEnum)


def choice(kinds: type[_Choice], value: str, field: str) -> _Choice:
    """The member that a word names."""
    try:
        return kinds(value)
    except ValueError as error:
        raise InvalidInput(field, f"{value!r} is not one of {', '.join(kinds)}") from error


def texts_of(field: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Several texts; one alone is a mistake."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InvalidInput(field, "expected several texts; put them in a list")
    return tuple(texts)


def anchors_of(files: Iterable[str | Anchor]) -> tuple[Anchor, ...]:
    """Files, or places in them, as anchors."""
    if isinstance(files, str) or not isinstance(files, Iterable):
        raise InvalidInput("files", "expected several paths; put them in a list")
    return tuple(each if isinstance(each, Anchor) else Anchor(path=each) for each in files)


def narrowed(kinds: Iterable[Kind | str], tags: Iterable[str], files: Iterable[str]) -> Where:
    """The conditions for any of these kinds, tags and files."""
    wanted = {
        "kind": tuple(choice(Kind, kind, "kind") for kind in texts_of("kinds", kinds)),
        "tags": texts_of("tags", tags),
        "files": texts_of("files", files),
    }
    return parse_where({field: values for field, values in wanted.items() if values})


def space_name(space: str) -> SpaceName:
    """The space that a word names."""
    match space:
        case "project" | "global":
            return space
    raise InvalidInput("space", f"{space!r} is not one of project, global")


def parse_head(text: str) -> Head:
    """A head of the audit that somebody noted down."""
    seq, _, hashed = text.partition(":")
    if not seq.isdecimal() or len(seq) > 18 or not hashed:
        raise InvalidInput("head", f"{text[:64]!r} is not a head such as 12:b2:…")
    return Head(int(seq), hashed)


def holds_head(store: Store, head: Head) -> bool:
    """Whether the audit has, or had, this head."""
    if head == store.audit_head() or head == Head():
        return True
    found = store.audit(after=head.seq - 1, limit=1)
    return bool(found) and (found[0].seq, found[0].hash) == (head.seq, head.hash)
