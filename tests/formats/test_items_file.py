"""`items.json`: exactly the shape that other tools know, in an order that lasts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.formats.items_file import Cited, items_json
from recollect.policy.knowledge import Item, ItemType

AT = datetime(2026, 2, 5, 10, tzinfo=UTC)


def cited(file: str = "docs/Architecture.md", line: int = 45, name: str = "item_abc123", at: datetime = AT) -> Cited:
    item = Item(
        id=name,
        type=ItemType.DECISION,
        title="Use Fastify for API",
        content="We chose Fastify over Express for better TypeScript support and performance.",
        line=line,
        confidence=0.9,
    )
    return Cited(item=item, file=file, at=at)


@pytest.mark.row("B4", "citations")
def test_the_file_has_the_shape_that_is_known() -> None:
    """To the letter: names, their order, and how times are written."""
    assert items_json([cited()]) == (
        "[\n"
        "  {\n"
        '    "id": "item_abc123",\n'
        '    "type": "decision",\n'
        '    "title": "Use Fastify for API",\n'
        '    "content": "We chose Fastify over Express for better TypeScript support and performance.",\n'
        '    "sourceFile": "docs/Architecture.md",\n'
        '    "lineNumber": 45,\n'
        '    "confidence": 0.9,\n'
        '    "extractedAt": "2026-02-05T10:00:00Z"\n'
        "  }\n"
        "]\n"
    )


def test_without_items_it_is_an_empty_list() -> None:
    """Which is JSON as well."""
    assert items_json([]) == "[]\n"


def test_times_are_told_in_utc_to_the_second() -> None:
    """Whatever zone they were given in."""
    late = datetime(2026, 2, 5, 12, 0, 0, 987_654, tzinfo=timezone(timedelta(hours=2)))
    [told] = json.loads(items_json([cited(at=late)]))
    assert told["extractedAt"] == "2026-02-05T10:00:00Z"


@given(
    places=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(1, 3), st.sampled_from(["item_1", "item_2"])), unique=True
    ),
    order=st.randoms(use_true_random=False),
)
def test_the_order_does_not_depend_on_how_they_came(places: list[tuple[str, int, str]], order: object) -> None:
    """By file, then line; so a change of one file changes one place."""
    found = [cited(file, line, name) for file, line, name in places]
    shuffled = list(found)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    text = items_json(shuffled)
    assert text == items_json(found)
    assert [(each["sourceFile"], each["lineNumber"], each["id"]) for each in json.loads(text)] == sorted(places)
