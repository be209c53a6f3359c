"""`items.json`: what a project's files say, in a shape that other tools know."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from ..codec import to_iso
from ..model import Json
from ..policy.knowledge import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """An item, the file it stands in, and when it was found there."""

    item: Item
    file: str
    at: datetime


def items_json(items: Iterable[Cited]) -> str:
    """The whole file, in the order of files and lines, so that a change changes few lines."""
    ordered = sorted(items, key=lambda each: (each.file, each.item.line, each.item.id))
    return json.dumps([item_json(each) for each in ordered], ensure_ascii=False, indent=2) + "\n"


def item_json(cited: Cited) -> dict[str, Json]:
    """One item as the file has it."""
    return {
        "id": cited.item.id,
        "type": cited.item.type.value,
        "title": cited.item.title,
        "content": cited.item.content,
        "sourceFile": cited.file,
        "lineNumber": cited.item.line,
        "confidence": cited.item.confidence,
        "extractedAt": to_iso(cited.at.replace(microsecond=0)).replace(".000000Z", "Z"),
    }
