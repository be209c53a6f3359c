"""Single memories as text for a model or a person to read: what to do in steps, and what never to do.

What a memory holds was written by somebody, perhaps by somebody hostile. It stays in its place: all but the first line
of an entry are indented so far that they pass for no other entry or heading, in Markdown neither, and characters that
nobody sees are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..model import Kind, Memory
from .identity import canonical_text

# Controls but for tabs and what ends a line; halves of characters; what Unicode calls ignorable by default: zero-width
# characters, marks that turn the direction of writing, variation selectors, tags; marks of annotations; no characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_FURTHER_LINE = "\n" + 8 * " "
_PROHIBITION = re.compile(r"(?:do\s+not|don['’]t|never|avoid)(?:\s*:)?\s+", re.IGNORECASE)


def acting_text(memory: Memory, found: str = "") -> str:
    """A memory that comes up by itself, as its kind is written, and the text that brought it up, if that is known."""
    if memory.kind is Kind.NEGATIVE:
        return negative_text(memory, found)
    if memory.procedure is not None:
        return procedure_text(memory) + _brought_up_by(found)
    return f"{memory.kind.replace('_', ' ').capitalize()}: {_entry(memory.content)}{_brought_up_by(found)}"


def negative_text(memory: Memory, found: str = "") -> str:
    """What never to do, and the text that brought it up, if that is known."""
    content = _entry(memory.content)
    prohibition = _PROHIBITION.match(content)  # "Do not: never push" would say the opposite
    return f"Do not: {content[prohibition.end() if prohibition else 0 :]}{_brought_up_by(found)}"


def procedure_text(memory: Memory) -> str:
    """How to do something: its name, when to use it, what it needs first, the steps by number, what to beware of."""
    procedure = memory.procedure
    if procedure is None:
        return f"Procedure: {_entry(memory.content)}"
    lines = [f"Procedure: {one_line(procedure.name)}"]
    if canonical_text(memory.content) != canonical_text(procedure.name):
        lines.append(f"About: {_entry(memory.content)}")
    if procedure.trigger:
        lines.append(f"When: {one_line(procedure.trigger)}")
    lines += _listed("Before you start", procedure.prerequisites)
    lines += _listed("Steps", procedure.steps, numbered=True)
    lines += _listed("Beware", procedure.warnings)
    return "\n".join(lines)


def _listed(heading: str, texts: Iterable[str], *, numbered: bool = False) -> Iterator[str]:
    entries = [entry for entry in map(_entry, texts) if entry]
    if entries:
        yield f"{heading}:"
    for number, entry in enumerate(entries, start=1):
        yield f"{number}. {entry}" if numbered else f"- {entry}"


def _brought_up_by(found: str) -> str:
    line = one_line(found)
    return f"\nComes up because of: {line}" if line else ""


def _entry(text: str) -> str:
    """A text of several lines, below each other."""
    return _FURTHER_LINE.join(seen_lines(text))


def seen_lines(text: str) -> list[str]:
    """The lines of a text that say something, without anything that cannot be seen, each with its indentation."""
    lines = (line.rstrip() for line in _UNSEEN.sub("", text).splitlines())
    told = [line for line in lines if line]
    return [told[0].lstrip(), *told[1:]] if told else []


def one_line(text: str) -> str:
    """A text on one line, without anything that cannot be seen; no content can pass for another entry then."""
    return " ".join(_UNSEEN.sub("", text).split())
