"""Marks around what Recollect gives to an agent, by which it is known again wherever it turns up.

A host puts the text into a message, a system reminder, a file or a string of JSON, escapes its angle brackets, indents
it or cuts its middle out; `[recollect:begin 3f9a2c11]` … `[recollect:end 3f9a2c11]` lives through all of that. The
number is made up for each text, so nobody who wrote a memory can have known it, and what is written between the marks
goes through `defused` first.

What counts as Recollect's:

- what lies between a begin and an end with the same number of 2 to 64 hexadecimal digits;
- with 8 digits or more also what follows a begin that nothing ends, to the end of the text, and what precedes an end
  that nothing began, for a host may have cut off the other one;
- what lies within `<recollect …>` or `<project_memory …>`, or follows such a tag that nothing closes.

Whoever merely writes about a mark, without a number or with a short one, loses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..errors import InvalidInput

TAG = "project_memory"
"""The element that holds what is written as XML."""
OPENS = "about"
"""The first field of what is written as JSON. It holds the begin mark; fields sorted by name stay between the marks."""

_GAP = r"(?:\s|\\{1,8}[nrt]){0,16}"
_QUOTE = r'(?:\\{0,8}"|&quot;|&#34;)'
_LESS = r"(?:<|&(?:amp;){0,4}lt;|\\{1,8}u003c)"
_MORE = r"(?:>|&(?:amp;){0,4}gt;|\\{1,8}u003e)"
_TAGS = rf"(?:recollect|{TAG})(?![a-z])"
_MARK = re.compile(
    rf"(?P<held>\{{{_GAP}{_QUOTE}{OPENS}{_QUOTE}{_GAP}:{_GAP}{_QUOTE})?\[recollect:begin\s{{1,16}}(?P<begins>[0-9a-f]{{2,64}})\]"
    rf"|\[recollect:end\s{{1,16}}(?P<ends>[0-9a-f]{{2,64}})\]"
    rf"|{_LESS}(?P<closes>/)?{_TAGS}[^<>\n]{{0,120}}?{_MORE}",
    re.IGNORECASE,
)
_REST = re.compile(rf"{_QUOTE}{_GAP}\}}")
"""What closes the object whose last field is an end mark."""
_FORGED = re.compile(rf"({_LESS})(?=/?{_TAGS})|(\[)(?=recollect:)|(<)(?=\|\w{{1,40}}\|>)", re.IGNORECASE)
_SURE = 8
"""Digits of a number that nobody writes by chance, nor guesses."""
_VALID = re.compile(rf"[0-9a-f]{{{_SURE},64}}")


def begin_mark(nonce: str) -> str:
    """The mark before a text. Its number is made up anew for each."""
    return f"[recollect:begin {_checked(nonce)}]"


def end_mark(nonce: str) -> str:
    """The mark after a text, with the same number as before it."""
    return f"[recollect:end {_checked(nonce)}]"


def defused(text: str, nonce: str) -> str:
    """A text in which nothing passes for a mark, a tag of ours or the number, nor for a model's own sign of control.

    A dot is put into each of them, so a reader sees what was there.
    """
    text = _FORGED.sub(lambda found: f"{found[0]}·", text)
    # Only the first digit is taken, as the rest may be where the number begins once more.
    return re.sub(f"({_checked(nonce)[0]})(?={nonce[1:]})", r"\1·", text, flags=re.IGNORECASE)


def own_words(text: str) -> str:
    """A text without what Recollect gave to it."""
    return "\n".join(_parted(text)[0])


def injected_words(text: str) -> str:
    """What Recollect gave to a text."""
    return "\n".join(_parted(text)[1])


def is_marked(text: str) -> bool:
    """Whether some of a text is Recollect's."""
    return bool(_parted(text)[1])


def _checked(nonce: str) -> str:
    if not _VALID.fullmatch(nonce):
        raise InvalidInput("nonce", f"{nonce!r} is not {_SURE} to 64 hexadecimal digits in small letters")
    return nonce


class _Mark(NamedTuple):
    start: int
    end: int
    begins: str = ""
    """The number of a begin mark; "" for any other."""
    ends: str = ""
    """The number of an end mark; "" for any other."""
    closes: bool = False
    """A tag that closes."""
    held: bool = False
    """A begin mark in the first field of an object."""


def _marks(text: str) -> Iterator[_Mark]:
    for found in _MARK.finditer(text):
        begins, ends = (found["begins"] or "").lower(), (found["ends"] or "").lower()
        yield _Mark(*found.span(), begins, ends, found["closes"] is not None, found["held"] is not None)


def _parted(text: str) -> tuple[list[str], list[str]]:
    """What lies outside of the marks and what lies between them, in order."""
    marks = list(_marks(text))
    last_end = {mark.ends: mark.start for mark in marks if mark.ends}
    outside: list[str] = []
    inside: list[str] = []
    opened: _Mark | None = None
    at = 0
    for mark in marks:
        if opened is None:
            if mark.begins:
                opens = len(mark.begins) >= _SURE or last_end.get(mark.begins, -1) > mark.start
            else:
                opens = not mark.ends and not mark.closes
            if opens:
                outside.append(text[at : mark.start])
                opened, at = mark, mark.end
            elif len(mark.ends) >= _SURE:
                outside.append("")
                inside.append(text[at : mark.start])
                at = mark.end
        elif mark.closes if not opened.begins else mark.ends == opened.begins:
            inside.append(text[at : mark.start])
            rest = _REST.match(text, mark.end) if opened.held else None
            opened, at = None, rest.end() if rest else mark.end
    (outside if opened is None else inside).append(text[at:])
    return outside, inside
