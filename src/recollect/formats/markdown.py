"""Markdown as people write it in the files of agents: text to blocks, and to words as they are read.

Close to CommonMark where that matters and lenient where people are: items indented by two, code between the steps of a
list that is not indented at all. Every pattern is bounded and no nesting is followed deeper than a few levels: no text
takes more than linear time.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item of a list: its own words, and whatever is nested in it."""

    line: int
    text: str
    blocks: tuple[Block, ...] = ()
    task: str = ""
    """"To do" or "Done", of an item with a box."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of a file.

    A text keeps a line break where the line after it says something of its own; the first row of a table is its head.
    """

    sort: Literal["heading", "text", "code", "list", "table"]
    line: int
    text: str = ""
    level: int = 0
    language: str = ""
    ordered: bool = False
    items: tuple[Item, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


class Label(NamedTuple):
    """What a text begins with in bold letters: "**Why:** because", "**Port** (local) — 8080"."""

    text: str
    end: int
    signed: bool
    """Whether a colon or a dash sets it off from what follows."""


def read(text: str) -> tuple[Mapping[str, str], list[Block]]:
    """What the front matter of a file says, by its keys, and the blocks that a reader sees."""
    front, lines = _opened(text)
    return front, _blocks(lines, 0)


def bare_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Every line of a file that a reader sees, without the marks at its beginning, and whether it is code.

    Headings, rules and fences are left out. Nothing here relies on how blocks are made of lines, so that one can be
    held against the other.
    """
    _, lines = _opened(text)
    fence = ""
    for line, below in zip(lines, [*lines[1:], _Line(0, "")], strict=True):
        if fence:
            fence = "" if _closes(line.text, fence) else fence
            if fence:
                yield line.text, True
        elif opening := _FENCE.match(line.text):
            fence = opening["mark"]
        elif not line.text or any(mark.match(line.text) for mark in (_HEADING, _RULE, _SEPARATOR)):
            continue
        elif not _SETEXT.match(below.text):
            said = _QUOTED.sub("", line.text)
            marker = _MARKER.match(said)
            said = _TASK.sub("", marker["rest"] if marker else said)
            for cell in said.split("|") if said.lstrip().startswith("|") else (said,):
                yield cell, False


# --- From text to lines ----------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    number: int
    text: str


_Lines: TypeAlias = Sequence[_Line]

_INDENT = re.compile(r"^[ \t]+")
_FENCE = re.compile(r"(?P<indent> *)(?P<mark>`{3,20}|~{3,20}) *(?P<language>[\w+#.-]{0,40})[^`\n]*$")
_GENERATED = ("claude-mem-context", "recollect-memory")
_HIDING = re.compile(rf"`[^`\n]{{1,500}}`|(?P<comment><!--)|<(?P<generated>{'|'.join(_GENERATED)})>")
_FRONT = re.compile(r"(?P<indent> *)(?P<key>[A-Za-z_][\w-]{0,40}): *(?P<value>.*)$")
_FRONT_OTHER = re.compile(r" *$| *#| *- | {2,}\S")
_MOST_FRONT = 80
_FOLDED = ("", ">", "|", ">-", "|-")


def _opened(text: str) -> tuple[Mapping[str, str], _Lines]:
    """What the front matter says, and the lines after it that a reader sees."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = [
        _Line(number, _INDENT.sub(lambda found: found[0].expandtabs(4), line.rstrip()))
        for number, line in enumerate(plain.translate(_NOWHERE).split("\n"), start=1)
    ]
    end = _front_end(lines)
    return _front(lines[1:end]), list(_seen(lines[end + 1 if end else 0 :]))


_MASK = "\ue000"
_NOWHERE = dict.fromkeys((0, ord(_MASK)))


def _front_end(lines: _Lines) -> int:
    """The line that closes the front matter; 0 where there is none."""
    if lines[0].text.rstrip() != "---":
        return 0
    for at in range(1, min(len(lines), _MOST_FRONT)):
        text = lines[at].text.rstrip()
        if text in ("---", "..."):
            return at
        if not _FRONT.match(text) and not _FRONT_OTHER.match(text):
            return 0
    return 0


def _front(lines: _Lines) -> dict[str, str]:
    """The values of front matter by their keys, whatever they are nested in; several of one key joined by commas."""
    values: dict[str, str] = {}
    key = ""
    for line in lines:
        found = _FRONT.match(line.text)
        if found and not (key and found["indent"] and values[key] in _FOLDED[1:]):
            key = found["key"].lower()
            values[key] = found["value"].strip().strip("\"'")
        elif key and line.text.strip():
            more = line.text.strip().removeprefix("- ").strip("\"'")
            values[key] = more if values[key] in _FOLDED else f"{values[key]}, {more}"
    return values


def _seen(lines: _Lines) -> Iterator[_Line]:
    """The lines without comments and without what other programs keep up to date; code is left as it is."""
    last: dict[str, int] = {}
    for line in lines:
        for closing in ("-->", *(f"</{tag}>" for tag in _GENERATED)):
            if closing in line.text:
                last[closing] = line.number
    fence = hidden = ""
    for number, text in lines:
        shown = text
        if fence:
            fence = "" if _closes(text, fence) else fence
        elif not hidden and (opening := _FENCE.match(text)):
            fence = opening["mark"]
        else:
            shown, hidden = _shown(text, hidden, {closing for closing, line in last.items() if number <= line})
        yield _Line(number, shown)


def _shown(text: str, hidden: str, coming: set[str]) -> tuple[str, str]:
    """What of a line is seen, and what ends the comment that is open after it. One that never ends is plain text."""
    shown: list[str] = []
    at = 0
    while True:
        if hidden:
            closed = text.find(hidden, at)
            if closed < 0:
                return "".join(shown), hidden
            at, hidden = closed + len(hidden), ""
        opening = _HIDING.search(text, at)
        while opening and _closing(opening) not in coming:
            opening = _HIDING.search(text, opening.end())
        shown.append(text[at : opening.start() if opening else None])
        if opening is None:
            return "".join(shown), ""
        at, hidden = opening.end(), _closing(opening)


def _closing(opening: re.Match[str]) -> str:
    if opening["comment"]:
        return "-->"
    return f"</{opening['generated']}>" if opening["generated"] else ""


def _closes(text: str, fence: str) -> bool:
    mark = text.strip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])


# --- From lines to blocks --------------------------------------------------------------------------------------------

_Taken: TypeAlias = tuple[list[Block], int]

_DEEPEST = 8
_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})(?P<text>\s.*)?$")
_RULE = re.compile(r" {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,}|={3,}|</?[a-z][\w-]{0,60}>)$")
_SETEXT = re.compile(r" {0,3}(?:=+|-{2,})$")
_QUOTED = re.compile(r" {0,3}> ?")
_ADMONITION = re.compile(r"\[!(\w{1,20})\] *")
_MARKER = re.compile(r"(?P<indent> *)(?P<mark>[-*+•‣◦]|(?P<number>\d{1,3})[.)])(?P<space> +|$)(?P<rest>.*)$")
_TASK = re.compile(r"\[(?P<box>[ xX✓~-])\] +")
_SEPARATOR = re.compile(r"\s*(?=[|:-])\|?(?: *:?-+:? *\|)*(?: *:?-+:?)?$")
_CELL = re.compile(r"\\\||`[^`]{1,500}`|[^|\\`]{1,500}|[^|]")


def _blocks(lines: _Lines, depth: int) -> list[Block]:
    blocks: list[Block] = []
    at = 0
    while at < len(lines):
        if not lines[at].text.strip():
            at += 1
            continue
        taken = next(found for take in _TAKERS if (found := take(lines, at, depth)))
        blocks += taken[0]
        at = taken[1]
    return blocks


def _take_code(lines: _Lines, at: int, depth: int) -> _Taken | None:
    opening = _FENCE.match(lines[at].text)
    if opening is None:
        return None
    end = _fence_end(lines, at, opening["mark"])
    indent = len(opening["indent"])
    body = "\n".join(_dedented(line.text, indent).rstrip() for line in lines[at + 1 : end])
    block = Block(sort="code", line=lines[at].number, text=body.strip("\n"), language=opening["language"].lower())
    return [block] if block.text.strip() else [], min(end + 1, len(lines))


def _fence_end(lines: _Lines, at: int, mark: str) -> int:
    return next((n for n in range(at + 1, len(lines)) if _closes(lines[n].text, mark)), len(lines))


def _dedented(text: str, indent: int) -> str:
    return text[min(indent, _indent(text)) :]


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _take_heading(lines: _Lines, at: int, depth: int) -> _Taken | None:
    found = _HEADING.match(lines[at].text)
    if found is None:
        return None
    text = _unclosed((found["text"] or "").strip())
    # Inside a quote or an item it heads nothing; it is said like the rest.
    block = Block(
        sort="text" if depth else "heading", line=lines[at].number, text=text, level=0 if depth else len(found["marks"])
    )
    return [block] if text else [], at + 1


def _unclosed(heading: str) -> str:
    """A heading without the signs that close it: "Title ##"."""
    bare = heading.rstrip("#")
    return bare.rstrip() if bare != heading and (not bare or bare[-1].isspace()) else heading


def _take_rule(lines: _Lines, at: int, depth: int) -> _Taken | None:
    return ([], at + 1) if _RULE.match(lines[at].text) else None


def _take_quote(lines: _Lines, at: int, depth: int) -> _Taken | None:
    if depth >= _DEEPEST or not _QUOTED.match(lines[at].text):
        return None
    end = at
    while end < len(lines) and _QUOTED.match(lines[end].text):
        end += 1
    inner = [_Line(line.number, _QUOTED.sub("", line.text, count=1)) for line in lines[at:end]]
    note = _ADMONITION.match(inner[0].text)
    if note:
        grave = note[1].upper() in ("WARNING", "CAUTION", "IMPORTANT")
        inner[0] = _Line(inner[0].number, f"{note[1].capitalize()}: " * grave + inner[0].text[note.end() :])
    return _blocks(inner, depth + 1), end


def _take_table(lines: _Lines, at: int, depth: int) -> _Taken | None:
    if not _begins_table(lines, at):
        return None
    end = at + 2
    while end < len(lines) and "|" in lines[end].text:
        end += 1
    rows = tuple(_cells(line.text) for number, line in enumerate(lines[at:end]) if number != 1)
    return [Block(sort="table", line=lines[at].number, rows=rows)], end


def _begins_table(lines: _Lines, at: int) -> bool:
    return (
        at + 1 < len(lines)
        and "|" in lines[at].text
        and "|" in lines[at + 1].text
        and bool(_SEPARATOR.match(lines[at + 1].text))
    )


def _cells(text: str) -> tuple[str, ...]:
    inner = text.strip().removeprefix("|")
    cells = [""]
    at = 0
    while at < len(inner):
        found = _CELL.match(inner, at)
        if found is None:
            cells.append("")
            at += 1
        else:
            cells[-1] += "|" if found[0] == "\\|" else found[0]
            at = found.end()
    return tuple(inline(cell) for cell in (cells[:-1] if len(cells) > 1 and not cells[-1].strip() else cells))


def _take_list(lines: _Lines, at: int, depth: int) -> _Taken | None:
    first = _MARKER.match(lines[at].text)
    if first is None or depth >= _DEEPEST:
        return None
    items: list[Item] = []
    end = at
    while end < len(lines) and (marker := _marker_like(lines[end].text, first)):
        stop = _item_end(lines, end, marker)
        items.append(_item(lines[end:stop], marker, depth))
        end = _after_blanks(lines, stop)
    kept = tuple(item for item in items if item.text or item.blocks)
    block = Block(sort="list", line=lines[at].number, items=kept, ordered=bool(first["number"]))
    return [block] if kept else [], end


def _after_blanks(lines: _Lines, at: int) -> int:
    while at < len(lines) and not lines[at].text.strip():
        at += 1
    return at


def _marker_like(text: str, first: re.Match[str]) -> re.Match[str] | None:
    """The marker of a line, if it is one more item of the list that began with the first."""
    found = _MARKER.match(text)
    if found is None or _RULE.match(text) or bool(found["number"]) != bool(first["number"]):
        return None
    return found if abs(len(found["indent"]) - len(first["indent"])) < 2 else None


def _item_end(lines: _Lines, at: int, marker: re.Match[str]) -> int:
    """Where an item ends: it holds what is indented more, and lines of its paragraph that are not."""
    inside = len(marker["indent"]) + 2
    end = at + 1
    while end < len(lines):
        text = lines[end].text
        if opening := _FENCE.match(text):
            closed = min(len(lines), _fence_end(lines, end, opening["mark"]) + 1)
            right_below = bool(marker["number"]) and bool(lines[end - 1].text)
            if len(opening["indent"]) < inside and not right_below and not _goes_on(lines, closed, marker):
                return end
            end = closed
        elif not text.strip():
            following = _after_blanks(lines, end)
            if following == len(lines) or not (
                _indent(lines[following].text) >= inside or (marker["number"] and _FENCE.match(lines[following].text))
            ):
                return end
            end = following
        elif _indent(text) >= inside or not (_interrupts(text) or _marker_like(text, marker)):
            end += 1
        else:
            return end
    return end


def _goes_on(lines: _Lines, at: int, marker: re.Match[str]) -> bool:
    """Whether a numbered list goes on after code that should have been indented."""
    following = _after_blanks(lines, at)
    found = _MARKER.match(lines[following].text) if following < len(lines) else None
    if found is None or not found["number"] or not marker["number"]:
        return False
    return int(found["number"]) == int(marker["number"]) + 1


def _item(lines: _Lines, marker: re.Match[str], depth: int) -> Item:
    indent = len(marker["indent"]) + len(marker["mark"]) + min(4, max(1, len(marker["space"])))
    task = _TASK.match(marker["rest"])
    rest = marker["rest"][task.end() :] if task else marker["rest"]
    inner = [_Line(lines[0].number, rest), *(_Line(each.number, _dedented(each.text, indent)) for each in lines[1:])]
    blocks = _blocks(inner, depth + 1)
    own = blocks[0].text if blocks and blocks[0].sort == "text" else ""
    state = ("Done" if task["box"] in "xX✓" else "To do") if task else ""
    return Item(line=lines[0].number, text=own, blocks=tuple(blocks[1:] if own else blocks), task=state)


def _take_text(lines: _Lines, at: int, depth: int) -> _Taken:
    said = [lines[at].text.strip()]
    end = at + 1
    while end < len(lines) and lines[end].text.strip() and not _interrupts(lines[end].text):
        if _begins_table(lines, end):
            break
        said.append(lines[end].text.strip().removesuffix("\\"))
        end += 1
    apart = _are_apart(said)
    text = said[0] + "".join(("\n" if apart or _is_labelled(line) else " ") + line for line in said[1:])
    if end < len(lines) and end == at + 1 and _SETEXT.match(lines[end].text) and not depth:
        level = 1 if "=" in lines[end].text else 2
        return [Block(sort="heading", line=lines[at].number, text=text, level=level)], end + 1
    return [Block(sort="text", line=lines[at].number, text=text)], end


def _are_apart(lines: Sequence[str]) -> bool:
    """Whether each line says something of its own, and none is just where a long one was broken."""
    if all(line.endswith((".", "!", "。", "！")) for line in lines):
        return True
    return len(lines) > 2 and all(line[0].isupper() and len(line) <= _SHORT_LINE for line in lines)


_SHORT_LINE = 100


def _is_labelled(line: str) -> bool:
    found = label(line)
    return found is not None and found.signed


def _interrupts(text: str) -> bool:
    """Whether a line begins something else than the paragraph it stands in."""
    if _FENCE.match(text) or _HEADING.match(text) or _RULE.match(text) or _QUOTED.match(text):
        return True
    marker = _MARKER.match(text)
    if marker is None or not marker["rest"] or marker["mark"] == "+":  # a line may well go on with a plus sign
        return False
    return marker["number"] in (None, "1", "2")


_TAKERS: tuple[Callable[[_Lines, int, int], _Taken | None], ...] = (
    *(_take_code, _take_heading, _take_rule, _take_quote, _take_table, _take_list, _take_text),
)


# --- From text to words ----------------------------------------------------------------------------------------------

_MASKED = re.compile(f"{_MASK}(\\d+){_MASK}")
_SPAN = re.compile(r"``[^\n]{1,500}?``|`[^`\n]{1,500}`")
_TARGET = r"\((?:<[^<>\n]{0,500}>|[^()\s]{0,800}(?:\([^()\s]{0,200}\)[^()\s]{0,200})?)(?:\s{1,4}\"[^\"\n]{0,200}\")?\)"
_BADGE = re.compile(rf"\[!\[[^\[\]\n]{{0,200}}\]{_TARGET}\]{_TARGET}")
_LINK = re.compile(rf"!?\[(?P<text>(?:[^\[\]\n]|\[[^\[\]\n]{{0,200}}\]){{1,400}})\](?:{_TARGET}|\[[^\[\]\n]{{0,80}}\])")
_EMPTY_IMAGE = re.compile(rf"!\[\]{_TARGET}")
_WIKI = re.compile(r"\[\[(?:[^\[\]|\n]{1,200}\|)?([^\[\]|\n]{1,200})\]\]")
_AUTOLINK = re.compile(r"<((?:https?|mailto):[^<>\s]{1,800})>")
_TAG = re.compile(
    r"</?(?:a|b|i|u|p|br|hr|em|kbd|sub|sup|img|div|span|code|strong|center|details|summary|small|table|thead|tbody|tr|"
    r"td|th|ul|ol|li|h[1-6]|picture|source|blockquote|pre|font|mark|ins)(?:\s[^<>]{0,500})?/?>",
    re.IGNORECASE,
)
_STRONG = re.compile(r"\*\*\*?(?=[^\s*])([^*]{1,900}?)(?<=[^\s*])\*\*\*?")
_EMPHASIS = re.compile(r"(?<![\w*\\])\*(?=[^\s*])([^*]{1,600}?)(?<=[^\s*\\])\*(?![\w*])")
_UNDERLINED = re.compile(r"(?<!\w)(__?)(?=[^\s_])([^_]{1,600}?)(?<=[^\s_])\1(?!\w)")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]()#+.!|<>~-])")
_BOLD = re.compile(
    r"\W{0,8}(?:\*\*(?P<bold>[^*\n]{1,120})\*\*|__(?P<under>[^_\n]{1,120})__)(?P<after> ?\([^()\n]{0,80}\))?"
    r" ?(?P<sign>[:：]|—|–|-(?= )|→)?"
)


def inline(text: str) -> str:
    """Text as it is read: without the marks of emphasis, links by their words, code as it is."""
    spans: list[str] = []

    def mask(found: re.Match[str]) -> str:
        spans.append(found[0])
        return f"{_MASK}{len(spans) - 1}{_MASK}"

    plain = _SPAN.sub(mask, text)
    plain = _EMPTY_IMAGE.sub("", _BADGE.sub("", plain))
    plain = _WIKI.sub(r"\1", _LINK.sub(r"\g<text>", plain))
    plain = _TAG.sub(" ", _AUTOLINK.sub(r"\1", plain))
    plain = _UNDERLINED.sub(_unmarked, _EMPHASIS.sub(r"\1", _STRONG.sub(r"\1", plain)))
    plain = html.unescape(_ESCAPED.sub(r"\1", plain))
    return " ".join(_MASKED.sub(lambda found: spans[int(found[1])], plain).split())


def _unmarked(found: re.Match[str]) -> str:
    return found[0] if found[1] == "__" and found[2].isidentifier() and found[2].islower() else found[2]


def label(text: str) -> Label | None:
    """The label that a text begins with, if it does."""
    found = _BOLD.match(text)
    if found is None:
        return None
    bold = found["bold"] or found["under"]
    signed = bool(found["sign"]) or bold.rstrip().endswith((":", "："))
    return Label(inline(bold + (found["after"] or "")), found.end(), signed)


_END = re.compile(r"[.!?…][\"'”’)\]*]{0,3}(?=\s+(?P<next>\S))|[。！？]+")
_SHORTENED = re.compile(
    r"(?:^|[\s(\[\"'])(?:e\.g|i\.e|etc|vs|approx|cf|resp|incl|no|fig|sec|mr|ms|dr|ca|aka|[a-z]|\d{1,2})\.$"
)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text; none ends inside code or after a short form."""
    shadow = _SPAN.sub(lambda found: "x" * len(found[0]), text)
    begin = 0
    for found in _END.finditer(shadow):
        end = found.end()
        following = found["next"] or ""
        if following.islower() or (following and _SHORTENED.search(shadow[max(begin, end - 12) : end].lower())):
            continue
        if said := text[begin:end].strip():
            yield said
        begin = end
    if said := text[begin:].strip():
        yield said


_BREAKS = ("; ", "；", " — ", ", ", "，", " ")


def folded(text: str, most: int) -> Iterator[str]:
    """A text in parts of at most that length, broken where it hurts least."""
    begin = 0
    while len(text) - begin > most:
        least, last = begin + most // 3, begin + most
        cuts = (text.rfind(mark, least, last) + len(mark) for mark in _BREAKS if text.find(mark, least, last) >= 0)
        cut = min(last, next(cuts, last))
        if part := text[begin:cut].strip():
            yield part
        begin = cut
    if part := text[begin:].strip():
        yield part
