"""An agent's messages as prose: what was said by somebody, its paragraphs and items, and their sentences.

Code, tables, quotes, and blocks that a machine wrote into a message are no prose. A sentence has a shadow, a text of
the same length in small letters in which the names of code are filled in, so whatever is found in the shadow can be cut
out of the sentence as it was written. Everything is bounded: no text, however long or odd, takes more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_MOST = 60_000
"""Characters of a message that are read. Of a longer one the first and the last half as many."""

FILL = "ǂ"
"""What stands in a shadow for every character of code."""


class Passage(NamedTuple):
    """A paragraph or an item of a list, without emphasis, in one line."""

    text: str
    heading: str = ""
    """What it stands under: a heading, a line that is all emphasis, or one that leads in a list."""
    item: bool = False
    depth: int = 0
    section: str = ""
    """The last heading proper before it."""
    parent: str = ""
    """The item that it is an item of."""
    above: tuple[str, ...] = ()
    """Everything that it stands under, from the title of the message on."""


class Sentence(NamedTuple):
    """A sentence and its shadow."""

    text: str
    shadow: str


# --- Whose words they are --------------------------------------------------------------------------------------------

_MACHINE = re.compile(
    r"(?<!`)<(?P<closes>/)?(?:system-reminder|analysis|think|thinking|function_\w+|antml:\w+|task-notification|summary"
    r"|state_snapshot|teammate-message|tool_\w+|environment_context|user_instructions|local-command-\w+|command-\w+"
    r"|[\w-]{0,40}hook)(?![a-z])[^<>\n]{0,200}>(?!`)",
    re.IGNORECASE,
)
"""What a machine puts around words of its own. In backticks it is only spoken of."""


def _parted(marks: re.Pattern[str], text: str) -> tuple[str, str]:
    """What lies outside of marks and what lies between them. Those that close have the group `closes`."""
    sides: tuple[list[str], list[str]] = ([], [])
    inside, at = False, 0
    for mark in marks.finditer(text):
        if inside == (mark["closes"] is not None):
            sides[inside].append(text[at : mark.start()])
            inside, at = not inside, mark.end()
    sides[inside].append(text[at:])
    return "\n".join(sides[0]), "\n".join(sides[1])


# --- Passages --------------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"\s{0,12}(?:[-*+] )?(?:```|~~~)")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.{1,120}?)[\s#]*$|\s{0,8}\*\*([^*\n]{2,120}?)\*\*:?\s*$")
_NOT_PROSE = re.compile(
    r"\s*(?:[|>│├└┌⎿●⏺$%❯➜]|[-=*_]{3,}\s*$|</?[a-z][^>]{0,200}>\s*$|diff --git|@@ |[+-]{3} |API Error)"
)
_ITEM = re.compile(r"(\s{0,20})([-*+•–]|\d{1,2}[.)]|[✅✓✔☑❌✗⚠️]+)\s+")
_EMPHASIS = re.compile(r"(`[^`\n]{1,200}`)|\*\*|(?<![\w*])\*(?=\w)|(?<=\w)\*(?![\w*])")
_LINK = re.compile(r"\[([^\[\]\n]{1,120})\]\([^)\n]{1,300}\)")
_SIGNS = re.compile(r"[\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff]+\s*")


class _Outline:
    """What the next passage of a message stands under."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []
        self._lead = ""
        self._items: list[tuple[int, bool, str]] = []

    def under(self, titled: re.Match[str]) -> None:
        """A heading begins. One that is all emphasis lies below any other."""
        level = len(titled[1]) if titled[1] else _EMPHASISED
        self._headings = [each for each in self._headings if each[0] < level]
        self._headings.append((level, _plain(titled[2] or titled[3]).rstrip(":")))
        self._lead, self._items = "", []

    def paragraph(self, text: str, indent: int) -> Passage:
        """A paragraph. One that is indented goes on with the item before it."""
        self._items = [each for each in self._items if each[0] < indent]
        made = self._passage(text)
        if not self._items:
            self._lead = [*sentences(text)][-1].text if text.endswith(":") else ""
        return made

    def item(self, text: str, indent: int, *, numbered: bool) -> Passage:
        """An item. Without being indented it belongs to a numbered one that leads it in."""
        while self._items and not self._encloses(self._items[-1], indent, numbered=numbered):
            self._items.pop()
        leads = [self._lead, *(each[2] for each in self._items if each[2].endswith(":"))]
        made = self._passage(text)._replace(
            item=True,
            depth=indent,
            parent=self._items[-1][2] if self._items else "",
            above=(*(each[1] for each in self._headings), self._lead, *(each[2] for each in self._items)),
        )
        self._items.append((indent, numbered, text))
        return made._replace(heading=leads[-1][-120:].rstrip(":")) if leads[-1] else made

    def _passage(self, text: str) -> Passage:
        titles = tuple(each[1] for each in self._headings)
        section = next((title for level, title in reversed(self._headings) if level < _EMPHASISED), "")
        return Passage(text, titles[-1] if titles else "", section=section, above=titles)

    @staticmethod
    def _encloses(other: tuple[int, bool, str], indent: int, *, numbered: bool) -> bool:
        leads_in = other[1] and not numbered and other[2].endswith(":")
        return other[0] < indent or (other[0] == indent and leads_in)


_EMPHASISED = 7


def passages(text: str) -> Iterator[Passage]:
    """The prose of a message, in its order."""
    outline = _Outline()
    fenced = False
    starts: re.Match[str] | None = None
    indent = 0
    lines: list[str] = []
    for line in [*_parted(_MACHINE, _bounded(text))[0].split("\n"), ""]:
        fence = _FENCE.match(line) is not None
        fenced ^= fence
        begins, titled = _ITEM.match(line), _HEADING.match(line)
        plain = not (fenced or fence or titled or begins or _NOT_PROSE.match(line) or not line.strip())
        if plain and (lines or not line.startswith("    ")):
            indent = indent if lines else len(line) - len(line.lstrip())
            lines.append(line.strip())
            continue
        if lines and (whole := _plain(" ".join(lines))):
            numbered = starts is not None and starts[2][0].isdigit()
            yield outline.item(whole, indent, numbered=numbered) if starts else outline.paragraph(whole, indent)
        lines, starts = [], None
        if titled and not (fenced or fence):
            outline.under(titled)
        elif begins and not (fenced or fence):
            starts, indent = begins, len(begins[1])
            lines = [line[begins.end() :].strip()]


def _bounded(text: str) -> str:
    return text if len(text) <= _MOST else f"{text[: _MOST // 2]}\n\n{text[-_MOST // 2 :]}"


def _plain(text: str) -> str:
    """A text without emphasis, links and signs, in one line."""
    text = _EMPHASIS.sub(lambda found: found[1] or "", _LINK.sub(r"\1", _SIGNS.sub("", text)))
    return " ".join(text.split())


# --- Sentences -------------------------------------------------------------------------------------------------------

_SMALL = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)} | {ord("’"): "'", ord("‘"): "'"}
_SPAN = re.compile(r"`{1,2}[^`\n]{1,200}`{1,2}")
_IDENTIFIER = re.compile(
    r"\b[A-Za-z0-9]+_\w+(?:\(\))?|\b[a-z]+[A-Z]\w+(?:\(\))?|\b[A-Z][a-z0-9]+[A-Z]\w+(?:\.\w+){0,4}|\b\w+\(\)"
    r"|(?<![\w/.@-])(?:[\w@.-]{1,80}/){0,12}[\w-]{1,80}"
    r"\.(?:py|js|ts|tsx|jsx|rs|go|rb|exs?|java|kt|css|html|json|ya?ml|toml|md|sql|sh)\b"
)
_END = re.compile(r"[.!?]{1,3}[\"')\]]{0,2}(?=\s{1,8}[A-Z0-9`\"'(\[ǂ]|\s{0,8}$)")
_SHORTENED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|incl)\.$")


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a passage, in their order."""
    filled = _IDENTIFIER.sub(_fill, _SPAN.sub(_fill, text))
    shadow = filled.translate(_SMALL)
    begin = 0
    for mark in _END.finditer(filled):
        end = mark.end()
        if end < len(text) and _SHORTENED.search(shadow[max(begin, end - 6) : end]):
            continue
        yield Sentence(text[begin:end].strip(), shadow[begin:end].strip())
        begin = end
    if text[begin:].strip():
        yield Sentence(text[begin:].strip(), shadow[begin:].strip())


def first_clause(text: str) -> str:
    """A text up to its first full stop or semicolon."""
    end = re.search(r"[.;](?=\s|$)", _SPAN.sub(_fill, text))
    return (text[: end.start()] if end else text).rstrip(" :;,.")


def without_details(text: str) -> str:
    """A text that is long up to where its details begin, after a colon, a dash or a full stop."""
    if len(text) <= 100:
        return text.rstrip(" .:;")
    details = re.compile(r":(?=\s|$)| [-–—] ").search(_SPAN.sub(_fill, text), 20)
    return first_clause(text[: details.start()] if details else text)


def cut(text: str, most: int) -> str:
    """A text that is not too long, cut between words."""
    return text if len(text) <= most else text[: most - 1].rpartition(" ")[0].rstrip(" ,;:—–-") + "…"


def _fill(found: re.Match[str]) -> str:
    return FILL * len(found[0])
