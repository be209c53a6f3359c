"""Files along their structure: what sort of text a file holds, where its comments are, and the pieces it falls into.

A document falls apart at its headings, code at what it declares at the top, configuration at its sections. A piece that
is too long is cut at blank lines, or between lines where there are none; one that is too short joins the next. Every
line that is not blank is in exactly one piece.

Nothing here parses a language. Lines, columns and a scan that tells strings and comments apart are enough to find a
seam, and they hold for code that does not compile.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import NamedTuple

MOST = 1_200
"""How many characters a chunk has at most, unless a single line has more."""
LEAST = 200
"""A shorter chunk is joined to the next where both fit into one."""
_LABEL = 160


class Sort(StrEnum):
    """What sort of text a file holds, which says where its seams are."""

    MARKDOWN = "markdown"
    RST = "rst"
    ASCIIDOC = "asciidoc"
    PLAIN = "plain"
    CODE = "code"
    CONFIG = "config"
    OTHER = "other"
    """Text of which nothing is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a file: its lines from `first` to `last`, and the headings or the symbol it belongs to."""

    label: str
    first: int
    last: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A comment or a string in code, from one character to before another."""

    comment: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a line declares: the word of the language for it (`class`, `fn` …), its name, and what stands before."""

    word: str
    name: str
    before: str


def sort_of(path: str) -> Sort:
    """The sort of a file, by its name."""
    name = path.rpartition("/")[2].lower()
    ending = name.rpartition(".")[2] if "." in name else ""
    if name in _NAMES:
        return _NAMES[name]
    return next((sort for sort, endings in _ENDINGS.items() if ending in endings), Sort.OTHER)


def lines_of(text: str) -> list[str]:
    """The lines of a text as editors count them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def chunks(text: str, *, path: str) -> tuple[Chunk, ...]:
    """The pieces a file falls into, in order; none of a file without words."""
    lines = lines_of(text)
    pages = _Pages(lines, sort_of(path), path)
    pieces = [piece for block in pages.blocks() for piece in pages.cut(block)]
    joiner = "." if pages.sort is Sort.CODE else " > "
    return tuple(
        Chunk(
            label=joiner.join(piece.path)[:_LABEL],
            first=piece.start + 1,
            last=piece.end,
            text="\n".join(lines[piece.start : piece.end]),
        )
        for piece in pages.joined(pieces)
    )


# --- Sorts of files ---------------------------------------------------------------------------------------------------

_ENDINGS = {
    Sort.MARKDOWN: frozenset("md markdown mdx mkd".split()),
    Sort.RST: frozenset(["rst", "rest"]),
    Sort.ASCIIDOC: frozenset(["adoc", "asciidoc"]),
    Sort.PLAIN: frozenset(["txt", "text"]),
    Sort.CODE: frozenset(
        "py pyi js jsx mjs cjs ts tsx mts cts vue svelte go rs java kt kts scala swift c h cc cpp cxx hh hpp hxx cs"
        " dart php proto groovy rb rake sh bash zsh fish pl pm r ex exs lua sql css scss less zig m mm".split()
    ),
    Sort.CONFIG: frozenset("toml ini cfg conf yaml yml json json5 jsonc properties tf hcl editorconfig mk".split()),
}
_NAMES = {
    **dict.fromkeys(("readme", "contributing", "authors", "changelog", "changes", "history", "news"), Sort.PLAIN),
    **dict.fromkeys(("makefile", "gnumakefile", "dockerfile", "containerfile", "justfile", "procfile"), Sort.CONFIG),
    **dict.fromkeys(("gemfile", "rakefile", "vagrantfile"), Sort.CODE),
    **dict.fromkeys(("cmakelists.txt", "requirements.txt", "constraints.txt"), Sort.CONFIG),
}
_SLASHES = frozenset(
    "js jsx mjs cjs ts tsx mts cts vue svelte go rs java kt kts scala swift c h cc cpp cxx hh hpp hxx cs dart php proto"
    " groovy css scss less zig m mm json5 jsonc".split()
)
_DASHES = frozenset(["sql", "lua"])


# --- Comments and strings ---------------------------------------------------------------------------------------------

# The end of each string and comment is optional, so that one which is never closed costs no second look at the rest.
_DOUBLE = r'"(?:[^"\\\n]+|\\[\s\S])*"?'
_SINGLE = r"'(?:[^'\\\n]+|\\[\s\S])*'?"
_RAW = r"`(?:[^`\\]+|\\[\s\S])*`?"
_CHARACTER = r"'(?:[^'\\\n]|\\[^\n']{1,10})'"
_BLOCK = r"/\*[\s\S]*?(?:\*/|\Z)"
_LONG = r'"""[\s\S]*?(?:"""|\Z)' + r"|'''[\s\S]*?(?:'''|\Z)"
_HASH_ALONE = r"(?<![^\s;(])#[^\n]*"


@cache
def _scanner(ending: str) -> re.Pattern[str]:
    """What finds the strings and comments of a language; the comments are the group."""
    if ending in ("py", "pyi"):
        return re.compile(rf"(?P<comment>#[^\n]*)|{_LONG}|{_DOUBLE}|{_SINGLE}")
    if ending == "rs":
        return re.compile(rf"(?P<comment>//[^\n]*|{_BLOCK})|{_DOUBLE}|{_CHARACTER}")
    if ending in _SLASHES:
        also = rf"|{_HASH_ALONE}" if ending == "php" else ""
        return re.compile(rf"(?P<comment>//[^\n]*|{_BLOCK}{also})|{_DOUBLE}|{_SINGLE}|{_RAW}")
    if ending in _DASHES:
        return re.compile(rf"(?P<comment>--[^\n]*|{_BLOCK})|{_DOUBLE}|{_SINGLE}")
    if ending in ("ini", "cfg", "conf", "properties"):
        return re.compile(r"(?m)(?P<comment>^[ \t]*[#;!][^\n]*)")
    if ending == "json":
        return re.compile(rf"(?P<comment>(?!))|{_DOUBLE}")
    return re.compile(rf"(?P<comment>{_HASH_ALONE})|{_DOUBLE}|{_SINGLE}")


def spans(text: str, *, path: str) -> Iterator[Span]:
    """The comments and strings of code or configuration, in order."""
    name = path.rpartition("/")[2].lower()
    for found in _scanner(name.rpartition(".")[2]).finditer(text):
        yield Span(comment=found["comment"] is not None, start=found.start(), end=found.end())


_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([^)]{0,40}\))?|unsafe"
    r"|const|inline|virtual|override|sealed|data|open|partial|declare|readonly|extern)\s+)*"
)
_DECLARES = re.compile(
    rf"(?P<before>{_MODIFIERS})(?P<word>class|def|func|function|fn|struct|enum|interface|trait|impl|type|module|namespace"
    r"|object|record|mod|protocol|extension|message|service|union|macro_rules!)\b\*?\s*"
    r"(?:\([^)]{0,80}\)\s*|<[^>]{0,80}>\s*)?(?P<name>[A-Za-z_$][\w$]*(?:[.:]{1,2}[A-Za-z_]\w*)*[?!]?)"
)
_DECLARES_VALUE = re.compile(rf"(?P<before>{_MODIFIERS})(?:let|const|var|val)\s+(?P<name>[A-Za-z_$][\w$]*)\s*[:=]")
_DECLARES_TABLE = re.compile(
    r"(?i:create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+|materialized\s+|virtual\s+)*"
    r"(?P<word>table|view|index|function|procedure|trigger|type)\s+(?:if\s+not\s+exists\s+)?)(?P<name>[\w.\"`]{1,120})"
)
_DECLARES_BODY = re.compile(
    r"(?:[A-Za-z_][\w\s*&:<>,~\[\]@]{0,120}?[\s*&:](?P<typed>~?[A-Za-z_]\w*)\s*\([^;]*"
    r"|(?P<bare>[A-Za-z_$][\w$]*)\s*\([^;]*\)[^;()]*\{)$"
)
_NO_NAME = frozenset(
    "if for while switch catch return else elif do with match unless until foreach sizeof new assert raise yield await"
    " import from throw delete typeof not and or in is del print case use".split()
)


def declared(line: str) -> Declared | None:
    """What a line of code declares, None where it declares nothing that has a name."""
    said = line.strip()[:300]
    found = _DECLARES.match(said) or _DECLARES_TABLE.match(said)
    if found is not None:
        kind = found.re is _DECLARES
        return Declared(
            word=found["word"].lower(), name=found["name"].strip('"`'), before=found["before"] if kind else ""
        )
    found = _DECLARES_VALUE.match(said)
    if found is not None:
        return Declared(word="value", name=found["name"], before=found["before"])
    found = _DECLARES_BODY.match(said)
    name = found["typed"] or found["bare"] if found else ""
    if not name or name in _NO_NAME or re.split(r"\W", said, maxsplit=1)[0] in _NO_NAME:
        return None
    return Declared(word="function", name=name, before="")


# --- Headings ---------------------------------------------------------------------------------------------------------


class Heading(NamedTuple):
    """A heading: the line it begins on, how many lines it takes, its depth and its words."""

    line: int
    lines: int
    depth: int
    title: str


def headings(lines: Sequence[str], sort: Sort) -> list[Heading]:
    """The headings of a document, those in fenced code left out; the first line is 0."""
    match sort:
        case Sort.MARKDOWN:
            return list(_markdown_headings(lines))
        case Sort.RST:
            return list(_rst_headings(lines))
        case Sort.ASCIIDOC:
            marked = (re.match(r"(={1,6})\s+(\S.{0,200})", line) for line in lines)
            fenced = fences(lines, sort)
            return [
                Heading(at, 1, len(found[1]), found[2].strip())
                for at, found in enumerate(marked)
                if found and not fenced[at]
            ]
        case _:
            return []


def fences(lines: Sequence[str], sort: Sort) -> list[bool]:
    """Which lines are, or enclose, what is no prose: fenced code, and what a document begins with for programs."""
    inside: list[bool] = []
    fence = ""
    if sort is Sort.MARKDOWN and lines and lines[0].rstrip() == "---":
        fence = "---" if "---" in (line.rstrip() for line in lines[1:200]) else ""
    for at, line in enumerate(lines):
        said = line.strip()
        found = _FENCE[sort].match(said) if sort in _FENCE else None
        inside.append(bool(fence or found))
        if not fence:
            fence = found[0] if found else ""
        elif at and (said == fence or (found and said == found[0] and said.startswith(fence))):
            fence = ""
    return inside


_FENCE = {Sort.MARKDOWN: re.compile(r"`{3,}(?!.*`)|~{3,}"), Sort.ASCIIDOC: re.compile(r"-{4,}$|\.{4,}$|```")}


def _markdown_headings(lines: Sequence[str]) -> Iterator[Heading]:
    fenced = fences(lines, Sort.MARKDOWN)
    for at, line in enumerate(lines):
        if fenced[at]:
            continue
        if found := re.match(r" {0,3}(#{1,6})\s+(\S.{0,200})", line):
            yield Heading(at, 1, len(found[1]), found[2].rstrip().rstrip("#").rstrip())
        elif at + 1 < len(lines) and line.strip() and re.fullmatch(r"(?:={3,}|-{3,})\s*", lines[at + 1]):
            alone = at == 0 or not lines[at - 1].strip()
            if alone and not fenced[at + 1] and not re.match(r"[\s>|*+-]|\d+[.)]", line):
                yield Heading(at, 2, 1 if lines[at + 1][0] == "=" else 2, line.strip()[:200])


def _rst_headings(lines: Sequence[str]) -> Iterator[Heading]:
    seen: list[str] = []
    for at, line in enumerate(lines[:-1]):
        under = lines[at + 1].rstrip()
        if not line.strip() or not _UNDERLINE.fullmatch(under) or len(under) < len(line.rstrip()) or line[0].isspace():
            continue
        if _UNDERLINE.fullmatch(line.rstrip()):
            continue
        over = at > 0 and lines[at - 1].rstrip() == under
        if at and lines[at - 1].strip() and not over:
            continue
        style = under[0] + ("^" if over else "")
        if style not in seen:
            seen.append(style)
        yield Heading(at - over, 2 + over, seen.index(style) + 1, line.strip()[:200])


_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}")


# --- Pieces -----------------------------------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """Lines from `start` to before `end`, and the headings above them or the names around them."""

    start: int
    end: int
    path: tuple[str, ...]


class _Pages:
    """The lines of a file, where its blocks begin, and where it may be cut."""

    def __init__(self, lines: Sequence[str], sort: Sort, path: str) -> None:
        self.sort = sort
        self._path = path
        self._lines = lines
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._whole = self._within()

    def _within(self) -> list[bool]:
        """Which lines begin inside something that is better not cut: a fence, a string or a comment of many lines."""
        if self.sort is not Sort.CODE:
            fenced = fences(self._lines, self.sort)
            return [inside and at > 0 and fenced[at - 1] for at, inside in enumerate(fenced)]
        within = [False] * len(self._lines)
        for span in spans("\n".join(self._lines), path=self._path):
            first = bisect_right(self._starts, span.start) - 1
            last = bisect_right(self._starts, max(span.start, span.end - 1)) - 1
            within[first + 1 : last + 1] = [True] * (last - first)
        return within

    def blocks(self) -> list[_Piece]:
        """The file from seam to seam."""
        match self.sort:
            case Sort.CODE:
                begun = self._declarations()
            case Sort.CONFIG:
                begun = self._sections()
            case _:
                begun = self._headed()
        begun = begun if begun and begun[0][0] == 0 else [(0, ()), *begun]
        ends = [*(at for at, _ in begun[1:]), len(self._lines)]
        return [_Piece(at, end, path) for (at, path), end in zip(begun, ends, strict=True)]

    def _headed(self) -> list[tuple[int, tuple[str, ...]]]:
        begun: list[tuple[int, tuple[str, ...]]] = []
        above: list[tuple[int, str]] = []
        for heading in headings(self._lines, self.sort):
            above = [*(each for each in above if each[0] < heading.depth), (heading.depth, heading.title)]
            begun.append((heading.line, tuple(title for _, title in above)))
        return begun

    def _sections(self) -> list[tuple[int, tuple[str, ...]]]:
        found = ((at, _SECTION.match(line[:200])) for at, line in enumerate(self._lines))
        return [(at, (name,)) for at, named in found if named and (name := next(filter(None, named.groups()), ""))]

    def _declarations(self) -> list[tuple[int, tuple[str, ...]]]:
        begun = [at for at in range(len(self._lines)) if self._begins(at, 0)]
        return [(at, self._named(at, end, 0)) for at, end in pairwise([*begun, len(self._lines)])]

    def _begins(self, at: int, indent: int) -> bool:
        """Whether something may begin on a line: at this column, after a blank line, not in the middle of a text."""
        line = self._lines[at]
        if self._whole[at] or _indent(line) != indent or line.strip()[:1] in _CLOSES:
            return False
        if at == 0 or not self._lines[at - 1].strip():
            return True
        before = self._lines[at - 1]
        return (
            declared(line) is not None and _indent(before) > indent and not before.rstrip().endswith((",", "(", "\\"))
        )

    def _named(self, start: int, end: int, indent: int) -> tuple[str, ...]:
        """The name that the first lines declare."""
        for at in range(start, min(end, start + _LOOKED_AT)):
            line = self._lines[at]
            if _indent(line) == indent and not self._whole[at] and (found := declared(line)):
                return (found.name,)
        return ()

    # --- cutting and joining

    def size(self, start: int, end: int) -> int:
        """How many characters the lines have."""
        return self._starts[end] - self._starts[start]

    def cut(self, block: _Piece) -> Iterator[_Piece]:
        """A block in pieces that are not too long, if its lines allow it."""
        if self.size(block.start, block.end) <= MOST:
            yield block
            return
        for part in self._members(block):
            yield from self._fitting(part)

    def _members(self, block: _Piece) -> list[_Piece]:
        """A long block of code apart at what it declares one step further in; anything else as it is."""
        if self.sort is not Sort.CODE or not block.path:
            return [block]
        indents = [_indent(line) for line in self._lines[block.start + 1 : block.end] if line.strip()]
        inner = min((each for each in indents if each > 0), default=0)
        begun = [at for at in range(block.start + 1, block.end) if inner and self._begins(at, inner)]
        ends = [*begun, block.end]
        parts = [_Piece(block.start, ends[0], block.path)]
        for at, end in pairwise(ends):
            parts.append(_Piece(at, end, (*block.path, *self._named(at, end, inner))))
        return parts

    def _fitting(self, block: _Piece) -> Iterator[_Piece]:
        start = block.start
        while self.size(start, block.end) > MOST:
            end = self._seam(start, block.end)
            yield _Piece(start, end, block.path)
            start = end
        yield _Piece(start, block.end, block.path)

    def _seam(self, start: int, end: int) -> int:
        """Where a piece that begins here ends best: before a blank line, the last that fits, or else before a line."""
        last = start + 1
        while last < end and self.size(start, last + 1) <= MOST:
            last += 1
        blank = [at for at in range(start + 1, last + 1) if at < end and not self._lines[at].strip()]
        far = [at for at in blank if self.size(start, at) >= LEAST]
        kept = [at for at in far if not self._whole[at]]
        return (kept or far or [last])[-1]

    def joined(self, pieces: Sequence[_Piece]) -> list[_Piece]:
        """The pieces without blank lines around them, those that are short with what follows."""
        kept: list[_Piece] = []
        for piece in filter(None, map(self._trimmed, pieces)):
            if kept and self.size(kept[-1].start, piece.end) <= MOST and self._belongs(kept[-1], piece):
                kept[-1] = _Piece(kept[-1].start, piece.end, _common(kept[-1].path, piece.path))
            else:
                kept.append(piece)
        return kept

    def _belongs(self, before: _Piece, piece: _Piece) -> bool:
        """Whether one is too short to stand alone: the first, or the second where it goes on with the same thing."""
        if self.size(before.start, before.end) < LEAST:
            return True
        return self.size(piece.start, piece.end) < LEAST and piece.path == before.path

    def _trimmed(self, piece: _Piece) -> _Piece | None:
        start, end = piece.start, piece.end
        while start < end and not self._lines[start].strip():
            start += 1
        while start < end and not self._lines[end - 1].strip():
            end -= 1
        return piece._replace(start=start, end=end) if start < end else None


_LOOKED_AT = 60
_CLOSES = frozenset(["}", ")", "]", ""])
_SECTION = re.compile(r"\[{1,2}([^\[\]]{1,120})\]{1,2}\s*(?:[#;].*)?$|([\w./%$()\"'-]{1,80})\s*:(?![=:])|FROM\s+(\S+)")


def _indent(line: str) -> int:
    """The column a line begins at; -1 of a blank one."""
    said = line.lstrip()
    return len(line) - len(said) if said else -1


def _common(one: tuple[str, ...], two: tuple[str, ...]) -> tuple[str, ...]:
    """What two labels have in common, or the longer one where the other is a part of it or is none."""
    if one == two[: len(one)]:
        return two
    if two == one[: len(two)]:
        return one
    same = 0
    while one[same] == two[same]:
        same += 1
    return one[:same] or (f"{one[-1]}, {two[-1]}",)
