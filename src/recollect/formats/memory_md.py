"""MEMORY.md: memories as Markdown that people read and edit, and back.

    # Memory

    <!-- recollect 3f2a9c01-5e77b0aa: … -->

    ## Key Decisions

    - 2026-02-01: Chose SQLite over PostgreSQL <!-- 42 -->

    ## How To

    - Release <!-- 43 -->
      1. Raise the version
      2. Tag it

A comment at the end of an entry names its memory: hidden where Markdown is rendered, and one line with the entry, so
that it moves along. Further lines of an entry are indented below it. Entries are in the order of their ids, so a new
memory is a new line and nothing else, but for the name of the version where the file carries one. What Markdown or an
editor would spoil is written as a character reference, as `&#32;` for a space at the end of a line. What Markdown would
make a heading of, or an entry within the entry, has a backslash before it; lists further down in a text stay lists.
Front matter, the title and headings of somebody's own stay in place.

Any text can be read: what is not an entry of ours is one that somebody wrote, a bullet or a paragraph each.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TypeAlias

from ..errors import TooLarge
from ..model import Memory, MemoryId, Status
from ..policy.identity import canonical_text
from ..policy.mirror import DECISIONS, SECTIONS, SUMMARIES, Entry, Version, entry_of, own_tag

TITLE = "Memory"

_MARKER = re.compile(r"<!--[ \t]{0,4}([0-9]{1,18})[ \t]{0,4}-->")
_OURS = re.compile(
    r"<!-- recollect(?: ([0-9a-f]{4,16})(?:-([0-9a-f]{8}))?)?: .*-->"
    r"|\*?[0-9,]+ more memor(?:y|ies) did not fit here\b.*"
)
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_BULLET = re.compile(r"([ \t]*)[-*+](?:[ \t](.*))?")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_HEADED = r"#{1,6}(?:[ \t]|$)|=+$|(?:-[ \t]*)+$|(?:\*[ \t]*){3,}$|(?:_[ \t]*){3,}$|`{3,}[^`]*$|~{3,}"
"""What Markdown makes a heading, a rule or code of."""
_ITEM = r"[-*+>]|[0-9]{1,9}[.)]"
_FIRST = re.compile(rf"[0-9]{{1,9}}\\*(?=[.)](?:[ \t]|$))|\\*(?=[-*+](?:[ \t]|$)|>|{_HEADED})")
_FURTHER = re.compile(rf"(?:[ \t]*(?:{_ITEM})(?=[ \t])){{0,8}}[ \t]*\\*(?={_HEADED})")
"""A line up to where a backslash is needed, with those that stand there: the first of a text, or a further one."""
_UNMERGED = re.compile(r"(?:<{7}|>{7}|\|{7})(?: .*)?")
_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:: (.*))?", re.DOTALL)
_PROPERTY = re.compile(r"[\w-]+ ?:.*|[ \t#-].*|")
_AMPERSAND = re.compile(r"&(?=(?:amp;)*#[0-9]{1,7};)")
_REFERENCE = re.compile(r"&amp;(?=(?:amp;)*#[0-9]{1,7};)|&#([0-9]{1,7});")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = "\u200c\u200d"
_MOST_FRONT = 200

_ALSO_CALLED = {
    "decisions": DECISIONS,
    "preferences": "User Preferences",
    "never do": "Never",
    "patterns": "Conventions",
    "procedures": "How To",
    "how-to": "How To",
    "facts": "Project Context",
    "context": "Project Context",
    "lessons learned": "Lessons",
    "summaries": SUMMARIES,
}
_NAMED = {canonical_text(section): section for section in SECTIONS} | _ALSO_CALLED


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What of a file is no memory and stays: front matter, the title, headings that somebody made."""

    front: tuple[str, ...] = ()
    title: str = TITLE
    own: tuple[str, ...] = ()
    mark: str = ""
    """Which store the ids in the file are of; "" where it does not say."""
    shared: bool = False
    """Whether all projects share what it shows; then no section is called after one. Reading does not tell."""


PLAIN = Layout()


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A file as it was read. With `problems` it is not to be acted upon."""

    entries: tuple[Entry, ...] = ()
    layout: Layout = PLAIN
    version: str = ""
    """The name of the version that somebody edited; "" where the file does not say."""
    problems: tuple[str, ...] = ()


def written(
    memories: Iterable[Memory],
    *,
    limit: int,
    unseen: int = 0,
    layout: Layout = PLAIN,
    newline: str = "\n",
    named: bool = False,
) -> str:
    """Memories as the text of the file, within so many characters; if `named`, with the name of this version of it.

    Where not all fit, pinned ones come first, then the more important, then the newer; how many were left out, and how
    many more there are that are `unseen` here, is said in the last line. Raises `TooLarge` where there is no room even
    for that.
    """
    ranked = sorted(memories, key=lambda each: (each.status is not Status.PINNED, -each.importance, -each.id))
    entries = [entry_of(memory, layout.own) for memory in ranked]
    page = _Page(layout, newline, named=named)
    if not unseen and page.size <= limit and all(page.add(entry, limit) for entry in entries):
        return page.text()
    total = len(entries) + unseen
    page = _Page(layout, newline, named=named, reserve=total)
    if page.size > limit:
        raise TooLarge("mirror", page.size, limit, setting="mirror.limit")
    return page.text(total - sum(page.add(entry, limit) for entry in entries))


def parsed(text: str) -> Parsed:
    """The entries of a text. Whatever it is, each of its lines is part of one, or of its layout, or empty."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    unmerged = next((number for number, line in enumerate(lines, start=1) if _UNMERGED.fullmatch(line)), 0)
    if unmerged:
        return Parsed(problems=(f"line {unmerged}: a merge was not finished here; its conflict markers are still in",))
    if "\x00" in text:
        return Parsed(problems=("it is not text: it holds NUL characters",))
    front = _front(lines)
    reader = _Reader()
    for number, line in enumerate(lines[len(front) :], start=len(front) + 1):
        reader.read(number, line.rstrip())
    if reader.fence:
        return Parsed(problems=(f"line {reader.fenced_at}: a block of code begins here and never ends",))
    reader.close()
    layout = Layout(
        front=tuple(line.rstrip() for line in front),
        title=reader.title or "",
        own=tuple(reader.own_titles.values()),
        mark=reader.mark,
    )
    return Parsed(entries=tuple(reader.entries), layout=layout, version=reader.version)


# --- Writing ----------------------------------------------------------------------------------------------------------


class _Page:
    """The text of a file, as it fills. Room for saying that so many were left out can be reserved."""

    def __init__(self, layout: Layout, newline: str, *, named: bool, reserve: int = 0) -> None:
        self._layout = layout
        self._newline = newline
        self._named = named
        self._groups: dict[_Group, list[Entry]] = {}
        self.size = len(self.text(reserve))

    def add(self, entry: Entry, limit: int) -> bool:
        """Write an entry if there is room for it."""
        room = sum(len(line) + len(self._newline) for line in self._lines_for(entry))
        if self.size + room > limit:
            return False
        self._groups.setdefault(_group(entry), []).append(entry)
        self.size += room
        return True

    def _lines_for(self, entry: Entry) -> list[str]:
        """The lines of an entry, with the headings that it would be the first under."""
        lines = _entry_lines(entry)
        section, own, day = group = _group(entry)
        if group in self._groups:
            return lines
        if own:
            return ["", *lines]
        if day is not None:
            lines = ["", f"### {day}", "", *lines]
            return lines if any(section == each[0] for each in self._groups) else ["", self._heading(section), *lines]
        return ["", self._heading(section), "", *lines]

    def _heading(self, section: str) -> str:
        return f"## {section.removeprefix('Project ') if self._layout.shared else section}"

    def text(self, left_out: int = 0) -> str:
        """The whole text, which says how many were left out."""
        entries = (entry for group in self._groups.values() for entry in group)
        lines = [*_head(self._layout, f"-{Version.of(entries).name}" if self._named else "")]
        for section in SECTIONS:
            found = sorted(
                (group for group in self._groups if group[0] == section), key=lambda group: group[2] or _NO_DAY
            )
            for at, group in enumerate(found):
                lines += ["", self._heading(section)] if at == 0 else []
                lines += ["", f"### {group[2]}"] if group[2] is not None else []
                lines += ["", *self._group_lines(group)]
        for title in self._layout.own:
            lines += ["", f"## {title}"]
            if ("", title, None) in self._groups:
                lines += ["", *self._group_lines(("", title, None))]
        if left_out:
            noun = "memory" if left_out == 1 else "memories"
            lines += ["", f"*{left_out:,} more {noun} did not fit here; `recollect list` shows all.*"]
        while lines and not lines[0]:
            del lines[0]
        return "".join(f"{line}{self._newline}" for line in lines)

    def _group_lines(self, group: _Group) -> Iterator[str]:
        for entry in sorted(self._groups[group], key=lambda entry: entry.id or 0):
            yield from _entry_lines(entry)


_NO_DAY = date.min
_Group: TypeAlias = tuple[str, str, date | None]
"""A section, a heading of somebody's own, a day."""


def _group(entry: Entry) -> _Group:
    return entry.section, entry.own, entry.day if entry.section == SUMMARIES else None


def _head(layout: Layout, version: str) -> Iterator[str]:
    yield from layout.front
    if layout.title:
        yield from ("", f"# {layout.title}")
    named = f" {layout.mark}{version}" if layout.mark else ""
    yield from ("", f"<!-- recollect{named}: change, add, move and remove lines as you like; the numbers are ids -->")


def _entry_lines(entry: Entry) -> list[str]:
    day = f"{entry.day}: " if entry.section == DECISIONS else ""
    first, *rest = _encoded(entry.text)
    first, *rest = _escaped([day + first, *rest])
    marker = f" <!-- {entry.id} -->" if entry.id else ""
    return [f"- {first}{marker}", *(f"  {line}" if line else "" for line in rest)]


def _encoded(text: str) -> list[str]:
    """The lines of a text as they stand in the file. No line but the inner ones is empty."""
    core = text.strip("\n")
    before = len(text) - len(text.lstrip("\n")) if core else len(text)
    lines = [_encoded_line(line) for line in core.split("\n")]
    if lines[0][:1].isspace():
        lines[0] = _reference(lines[0][0]) + lines[0][1:]
    lines[0] = before * "&#10;" + lines[0]
    lines[-1] += (len(text) - len(core) - before) * "&#10;"
    return lines


def _encoded_line(line: str) -> str:
    line = _AMPERSAND.sub("&amp;", line).replace("<!--", "&#60;!--")
    if not line.isprintable():
        line = "".join(
            _reference(character) if _unseen(character, around=line[max(0, at - 1) : at + 2]) else character
            for at, character in enumerate(line)
        )
    return line[:-1] + _reference(line[-1]) if line[-1:].isspace() else line


def _escaped(lines: Sequence[str]) -> list[str]:
    """The lines of an entry with a backslash wherever Markdown would take one for more than text, code excepted."""
    code = _code(lines)
    escaped = [*lines]
    for at, line in enumerate(lines):
        found = None if at in code else (_FURTHER if at else _FIRST).match(line)
        if found:
            escaped[at] = f"{line[: found.end()]}\\{line[found.end() :]}"
    return escaped


def _unescaped(lines: Sequence[str]) -> list[str]:
    """The same without these backslashes."""
    code = _code(lines)
    plain = [*lines]
    for at, line in enumerate(lines):
        found = None if at in code else (_FURTHER if at else _FIRST).match(line)
        if found and found[0].endswith("\\"):
            plain[at] = f"{line[: found.end() - 1]}{line[found.end() :]}"
    return plain


def _code(lines: Sequence[str]) -> frozenset[int]:
    """Which lines are blocks of code, their fences included. A fence that nothing closes is none."""
    inside: set[int] = set()
    open_ended: dict[str, int] = {}
    for at, line in enumerate(lines):
        fence = None if at in inside else _FENCE.match(line)
        if not fence or len(fence[1]) >= open_ended.get(fence[1][0], len(line) + 1):
            continue
        end = next((end for end in range(at + 1, len(lines)) if _closes(lines[end], fence[1])), None)
        if end is None:
            open_ended[fence[1][0]] = len(fence[1])
        else:
            inside.update(range(at, end + 1))
    return frozenset(inside)


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def _unseen(character: str, *, around: str) -> bool:
    """Whether an editor may drop it or nobody sees it. Joiners are part of how some scripts and emoji are written."""
    if character in _JOINERS:
        return len(around) < 3 or around[0].isascii() or around[2].isascii()
    return character != "\t" and unicodedata.category(character) in _UNSEEN


def _reference(character: str) -> str:
    return f"&#{ord(character)};"


# --- Reading ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Open:
    """An entry that is being read."""

    entry: Entry
    indent: int
    bullet: bool
    lines: list[str] = field(default_factory=list)


class _Reader:
    """Reads a file line by line."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.title: str | None = None
        self.own_titles: dict[str, str] = {}
        self.mark = ""
        self.version = ""
        self.fence = ""
        self.fenced_at = 0
        self._section = ""
        self._own = ""
        self._day: date | None = None
        self._open: _Open | None = None
        self._blank = 0

    def read(self, number: int, line: str) -> None:
        """Take in one line, which has no white space at its end."""
        if self.fence:
            self._inside_fence(line)
        elif not line:
            self._blank += 1
        else:
            self._text(number, line)
            self._blank = 0

    def _text(self, number: int, line: str) -> None:
        ours = _OURS.fullmatch(line)
        bullet = _BULLET.fullmatch(line)
        indented = line.startswith(("  ", "\t"))
        if ours:
            self.mark = ours[1] or self.mark
            self.version = ours[2] or self.version
            self.close()
        elif indented and self._open is not None and self._open.bullet and not (bullet and _MARKER.search(line)):
            self._continue(line)
        elif _RULE.fullmatch(line):
            self.close()
        elif bullet:
            self._begin(number, (bullet[2] or "").lstrip(), indent=len(bullet[1]), bullet=True)
        elif found := _HEADING.fullmatch(line):
            self._heading(number, line, len(found[1]), _heading_name(found[2] or ""))
        else:
            self._paragraph(number, line)

    def _paragraph(self, number: int, line: str) -> None:
        """A line of plain text: it goes on where a paragraph or an entry stands right above it, as in Markdown."""
        fence = _FENCE.match(line)
        if self._open is None or self._blank or (fence and self._open.bullet):
            self._begin(number, line.strip(), indent=0, bullet=False)
        else:
            self._open.lines.append(line if fence else line.strip())
        if fence:
            self.fence, self.fenced_at = fence[1], number

    def _inside_fence(self, line: str) -> None:
        assert self._open is not None
        self._open.lines.append(line)
        if _closes(line, self.fence):
            self.fence = ""

    def _begin(self, number: int, text: str, *, indent: int, bullet: bool) -> None:
        self.close()
        entry = Entry(section=self._section, own=self._own, day=self._day, text="", line=number)
        self._open = _Open(entry, indent, bullet, [text])

    def _continue(self, line: str) -> None:
        assert self._open is not None
        lead = len(line) - len(line.lstrip(" "))
        text = line[1:] if line[0] == "\t" else line[min(lead, self._open.indent + 2) :]
        self._open.lines += [*[""] * self._blank, text]

    def _heading(self, number: int, line: str, level: int, name: str) -> None:
        self.close()
        if not name:
            return
        section = _NAMED.get(canonical_text(name).rstrip(":"))
        day = _day(name)
        if section is not None:
            self._section, self._own, self._day = section, "", None
        elif day is not None:
            self._day = day
        elif level == 1 and self.title is None and not (self.entries or self._section or self.own_titles):
            self.title = name
        elif tag := own_tag(name):
            self._own, self._day = self.own_titles.setdefault(tag, name), None
            self._section = self._section if level > 2 else ""
        else:
            self._begin(number, line.strip(), indent=0, bullet=False)
            self.close()

    def close(self) -> None:
        """The entry that was being read is complete."""
        if self._open is None:
            return
        entry, lines, ids = self._open.entry, [], []
        for line in self._open.lines:
            first, *rest = _MARKER.split(line)
            ids += rest[::2]
            bare = " ".join((first.rstrip(), *filter(None, map(str.strip, rest[1::2])))) if rest else line
            if bare or not rest:
                lines.append(bare if first.strip() else bare.lstrip())
        self._open = None
        text, day = _dated(_decoded("\n".join(_unescaped(lines))), entry)
        if text.strip():
            number = int(ids[0]) if ids else 0
            self.entries.append(replace(entry, text=text, day=day, id=MemoryId(number) if number else None))


def _heading_name(text: str) -> str:
    """What a heading says, without the signs that may close it."""
    words = text.split()
    while words and not words[-1].strip("#"):
        words.pop()
    return " ".join(words)


def _front(lines: Sequence[str]) -> Sequence[str]:
    """The front matter that a file begins with, its fences included."""
    if lines[0].rstrip() != "---":
        return ()
    for at, line in enumerate(lines[1:_MOST_FRONT], start=1):
        if line.rstrip() == "---":
            return lines[: at + 1]
        if not _PROPERTY.fullmatch(line):
            break
    return ()


def _dated(text: str, entry: Entry) -> tuple[str, date | None]:
    """What a decision says without the day before it, and that day."""
    found = _DAY.fullmatch(text) if entry.section == DECISIONS and not entry.own else None
    day = _day(found[1]) if found and (found[2] or "").strip() else None
    return (found[2], day) if found and day is not None else (text, entry.day)


def _day(text: str) -> date | None:
    if not _DAY.fullmatch(text) or len(text) != len("2026-02-01"):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _decoded(text: str) -> str:
    return _REFERENCE.sub(_referred, text) if "&" in text else text


def _referred(found: re.Match[str]) -> str:
    if found[1] is None:
        return "&"
    number = int(found[1])
    return chr(number) if number <= 0x10FFFF else found[0]
