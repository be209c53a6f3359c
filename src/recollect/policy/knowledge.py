"""What a project's files say: decisions, tasks, claims, entities and notes, each with the line it stands on.

Documents are read as prose, code for its comments and its documentation. What is taken is what says of itself what it
is: a marker (`TODO`, `NOTE`, an open check box), a form (an accepted decision record, a glossary, a documented class),
or a sentence that commits to something and can be understood alone. The rest is left: an item that is wrong costs more
than one that is missing, as the files themselves can be searched.

Some files are not to be read at all: `unfit` and `unfit_text` say which, and why. Not here: reading files, what a
project itself has ignored, and masking secrets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from ..codec import HASH_PREFIX, digest
from .chunks import Declared, Heading, Sort, declared, fences, headings, lines_of, sort_of, spans

TITLE = 80
CONTENT = 500
"""How many characters a title and a content have at most."""


class ItemType(StrEnum):
    """What sort of knowledge an item is."""

    ENTITY = "entity"
    CLAIM = "claim"
    TASK = "task"
    DECISION = "decision"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that a file says. The id is the same for as long as the file says it."""

    id: str
    type: ItemType
    title: str
    content: str
    line: int
    confidence: float


def items(text: str, *, path: str) -> tuple[Item, ...]:
    """What a file says, in the order of its lines; each thing once. `path` says what sort of file it is."""
    sort = sort_of(path)
    if _NOTHING_SAID.search(path) or (sort is Sort.OTHER and not text.startswith("#!")):
        return ()
    lines = lines_of(text)
    if sort in (Sort.CODE, Sort.CONFIG, Sort.OTHER):
        found = list(_of_code(lines, path))
    else:
        found = _of_document(lines, path, sort)
    kept: dict[str, Item] = {}
    for each in found:
        item = _item(each, path)
        kept.setdefault(item.id, item)
    return tuple(sorted(kept.values(), key=lambda item: (item.line, item.id)))


_NOTHING_SAID = re.compile(r"(?i)(?:^|/)(?:licen[cs]e|copying|notice|authors|code_of_conduct)[^/]*$|_template\b")
_NO_CLAIMS = re.compile(
    r"(?i)(?:^|/)(?:change(?:s|log)|history|news|releases?)[^/]*$|(?:^|/)(?:tests?|specs?|fixtures)/"
)
"""What was true once, and what tests say of themselves."""
_TEST = re.compile(
    r"(?i)(?:^|/)(?:tests?|specs?|__tests__|testdata|fixtures)/|(?:^|/)test_[^/]*$|[._-](?:test|spec)s?\.\w+$"
)


class _Found(NamedTuple):
    """An item before it has an id."""

    type: ItemType
    title: str
    content: str
    line: int
    confidence: float


def _item(found: _Found, path: str) -> Item:
    content = _cut(found.content, CONTENT)
    hashed = digest("item", path, found.type.value, content).removeprefix(HASH_PREFIX)
    return Item(
        id=f"item_{hashed[:12]}",
        type=found.type,
        title=_cut(found.title.rstrip(" .:;,"), TITLE) or _cut(content, TITLE),
        content=content,
        line=found.line,
        confidence=found.confidence,
    )


def _cut(text: str, most: int) -> str:
    """A text that is not too long, ended where a word ends."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    return (head.rpartition(" ")[0] or head).rstrip(" ,;:(") + "…"


# --- Files that are not read ------------------------------------------------------------------------------------------

_DATA = r"json|ya?ml|toml|ini|txt|cfg|conf|csv|properties|xml|env"
_UNFIT = (
    (
        "may hold secrets",
        re.compile(
            r"(?i)(?:^|/)(?:\.env[^/]*|[^/]*\.env|\.?(?:netrc|pgpass|npmrc|pypirc|htpasswd|git-credentials|dockercfg)"
            r"|id_(?:rsa|dsa|ecdsa|ed25519)[^/]*|kubeconfig|known_hosts|authorized_keys"
            r"|[^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|crt|cer|der|gpg|asc|tfstate|tfvars|ovpn|age)(?:\.\w+)?"
            rf"|(?:[\w-]*[_.-])?(?:credentials?|secrets?|passwords?|service[-_]?account)(?:[_.-][\w-]+)*\.(?:{_DATA})"
            r"|credentials|secrets)$"
            r"|(?:^|/)(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker|\.?secrets)/"
        ),
    ),
    (
        "is a lock file",
        re.compile(r"(?i)[^/]\.lock$|(?:^|[-/.])lock\.(?:json|ya?ml)$|(?:^|/)(?:go\.sum|npm-shrinkwrap\.json)$"),
    ),
    (
        "is not this project's own",
        re.compile(
            r"(?i)(?:^|/)(?:vendor|third[_-]party|node_modules|bower_components|site-packages|\.venv|venv|pods|\.yarn"
            r"|__pycache__|\.git|\.recollect|\.tox|\.cache|\.(?:mypy|pytest|ruff)_cache)/"
        ),
    ),
    (
        "is made by a program",
        re.compile(
            r"(?i)(?:^|/)dist/|\.(?:min|bundle|generated)\.\w+$|\.(?:map|snap)$|_pb2(?:_grpc)?\.pyi?$|\.pb\.(?:go|cc|h)$"
            r"|\.g\.dart$"
        ),
    ),
    (
        "is data",
        re.compile(
            r"(?i)\.(?:csv|tsv|jsonl|ndjson|geojson|har|log|po|pot|ipynb|svg|sum|patch|diff|out|dat|xml|plist|lst)$"
            r"|\.(?:png|jpe?g|gif|webp|avif|ico|bmp|tiff?|psd|mp[34]|wav|ogg|flac|mov|avi|webm|woff2?|ttf|otf|eot|pdf"
            r"|docx?|xlsx?|pptx?|odt|zip|gz|tgz|bz2|xz|zst|7z|rar|tar|jar|war|whl|egg|class|pyc|so|o|a|dll|dylib|exe|bin"
            r"|wasm|db|sqlite3?|parquet|npy|npz|pkl|pt|onnx|safetensors|gguf|dmg|iso|deb|rpm)$"
        ),
    ),
)
_MADE = re.compile(
    r"(?i)@generated\b|\bdo not edit\b(?!\s+\w+\s+(?:if|unless))|\bauto-?generated (?:by|from|file|code)"
    r"|code generated by"
)
_LONGEST_LINE = 5_000
_MOST_DATA = 64_000


def unfit(path: str) -> str:
    """Why a file of this name is never read; "" if it may be."""
    return next((why for why, pattern in _UNFIT if pattern.search(path)), "")


def unfit_text(text: str, *, path: str) -> str:
    """Why a text is not worth reading on: nobody wrote it by hand; "" if somebody may have."""
    sort = sort_of(path)
    if sort in (Sort.CODE, Sort.CONFIG, Sort.OTHER):
        if _MADE.search(text[:1_000]):
            return "is made by a program"
        if any(len(line) > _LONGEST_LINE for line in text.split("\n")):
            return "has lines that nobody wrote"
        if path.lower().endswith(".json") and len(text) > _MOST_DATA:
            return "is data"
        return ""
    head = text[:1_000]
    comment = head[: head.find("-->") + 3] if head.lstrip().startswith("<!--") else ""
    return "is made by a program" if _MADE.search(comment) else ""


# --- What is read -----------------------------------------------------------------------------------------------------


class _Place(StrEnum):
    """Where a text stands, which says what it may be."""

    PROSE = "prose"
    BULLET = "bullet"
    OPEN = "open"
    """A box that is not checked."""
    CALLOUT = "callout"
    TERM = "term"
    """A term and its definition."""
    COMMENT = "comment"
    DOC = "doc"
    """What documents a symbol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    """Some lines that belong together, each with its number; `about` is the heading or the symbol they stand under."""

    place: _Place
    lines: tuple[tuple[int, str], ...]
    about: str = ""
    mark: str = ""
    """The word of a callout, or the term that is defined."""

    @property
    def line(self) -> int:
        return self.lines[0][0]

    @property
    def text(self) -> str:
        return " ".join(said.strip() for _, said in self.lines)

    def sentences(self) -> Iterator[tuple[str, int]]:
        """Each sentence in plain words, with the line it begins on."""
        text = self.text
        starts = [0]
        for _, said in self.lines:
            starts.append(starts[-1] + len(said.strip()) + 1)
        begin = 0
        for end in (*_ends(text), len(text)):
            said = _plain(text[begin:end]) if end - begin <= _LONGEST else ""
            if said:
                lead = len(text[begin:end]) - len(text[begin:end].lstrip())
                yield said, self.lines[bisect_right(starts, begin + lead) - 1][0]
            begin = end


_LONGEST = 2 * CONTENT
_END = re.compile(r"[.!?][)\"'`*_]{0,3}(?=\s+(?:[\"'(\[*_]{0,3}[A-Z0-9]|`))")
_NO_END = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|fig|no|dr|mr|ms|st|[a-z])\.$", re.IGNORECASE)


def _ends(text: str) -> list[int]:
    """Where sentences end, abbreviations passed over."""
    return [
        found.end() for found in _END.finditer(text) if not _NO_END.search(text[max(0, found.end() - 12) : found.end()])
    ]


_MARKUP = (
    (re.compile(r"!\[[^\]]{0,200}\]\([^)]{0,500}\)"), ""),
    (re.compile(r"\[([^\]]{1,300})\]\([^)\s]{0,500}(?:\s\"[^\"]{0,200}\")?\)"), r"\1"),
    (re.compile(r"\[\^[^\]]{1,40}\]"), ""),
    (re.compile(r"`([^`<]{1,200}) <[^>`]{1,500}>`__?"), r"\1"),
    (re.compile(r":[a-z][\w:+-]{1,30}:`~?([^`]{1,200})`"), r"`\1`"),
    (re.compile(r"``([^`]{1,200})``"), r"`\1`"),
    (re.compile(r"\{@\w+\s+([^}]{1,200})\}"), r"`\1`"),
    (re.compile(r"\*\*(`[^`]{1,200}`)\*\*"), r"\1"),
)
_EMPHASIS = (
    (re.compile(r"</?[a-zA-Z][^<>]{0,200}>"), ""),
    (re.compile(r"\\([^\w\s])"), r"\1"),
    (re.compile(r"\*\*([^*]{1,300})\*\*|__([^_]{1,300})__"), r"\1\2"),
    (re.compile(r"(?<![\w*])\*([^*\s][^*]{0,200})\*(?![\w*])|(?<![\w_])_([^_\s][^_]{0,200})_(?![\w_])"), r"\1\2"),
)


def _plain(text: str) -> str:
    """A text without its markup; what is set as code stays as it is."""
    if not re.search(r"[\[`*_<\\{]", text):
        return " ".join(text.split())
    for pattern, kept in _MARKUP:
        text = pattern.sub(kept, text)
    parts = re.split(r"(`[^`]{1,300}`)", text)
    for pattern, kept in _EMPHASIS:
        parts[::2] = [pattern.sub(kept, part) for part in parts[::2]]
    return " ".join("".join(parts).split())


# --- Documents --------------------------------------------------------------------------------------------------------


def _of_document(lines: Sequence[str], path: str, sort: Sort) -> list[_Found]:
    record = _Record.read(lines, path, sort)
    if record.rejected:
        return []
    units = list(_Reader(lines, sort).units())
    found = [each for unit in units for each in _said(unit, path, code=False, opens=True)]
    if record.decided is None:
        return found
    around = {each for each in found if each.type is ItemType.DECISION}
    return [record.decided, *(each for each in found if each not in around)]


class _Reader:
    """A document, line by line, in units of prose."""

    def __init__(self, lines: Sequence[str], sort: Sort) -> None:
        self._lines = lines
        self._sort = sort
        self._fenced = fences(lines, sort)
        self._headings: dict[int, Heading] = {each.line: each for each in headings(lines, sort)}
        self._at = 0
        self._about = ""
        self._glossary = 0
        self._explains = False

    def units(self) -> Iterator[_Unit]:
        """All of them, in order."""
        while self._at < len(self._lines):
            heading = self._headings.get(self._at)
            if heading is not None:
                self._enter(heading)
            elif self._fenced[self._at] or not self._lines[self._at].strip():
                self._at += 1
            else:
                yield from self._next()

    def _enter(self, heading: Heading) -> None:
        self._at += heading.lines
        self._about = _plain(heading.title)
        if not self._glossary or heading.depth <= self._glossary:
            self._glossary = heading.depth if _GLOSSARY.search(self._about) else 0

    def _next(self) -> Iterator[_Unit]:
        line = self._lines[self._at]
        said = line.strip()
        if found := _CALLOUT_BLOCK.match(said):
            yield from self._callout(found)
        elif said.startswith("<!--"):
            self._skip_to("-->")
        elif said.startswith("|"):
            yield from self._table_row()
        elif said.startswith(">"):
            yield from self._quote()
        elif self._sort is Sort.RST and said.startswith(".."):
            self._skip_body()
        elif found := _BULLET.match(line):
            yield from self._bullet(found)
        elif _NO_PROSE.match(line):
            self._at += 1
        else:
            yield from self._paragraph()

    def _taken(self, first: str, *, deeper: int | None = None) -> list[tuple[int, str]]:
        """The lines of one paragraph from here on; those of a bullet are `deeper` than it."""
        taken = [(self._at + 1, first)]
        self._at += 1
        while self._at < len(self._lines) and not self._fenced[self._at] and self._at not in self._headings:
            line = self._lines[self._at]
            if not line.strip() or _BULLET.match(line) or line.lstrip().startswith(("|", ">", "<!--", "..", ":::")):
                break
            if deeper is not None and len(line) - len(line.lstrip()) <= deeper:
                break
            taken.append((self._at + 1, line))
            self._at += 1
        return taken

    def _paragraph(self) -> Iterator[_Unit]:
        taken = self._taken(self._lines[self._at])
        first, last = taken[0][1].strip(), taken[-1][1].rstrip()
        if len(taken) > 1 and taken[1][1].lstrip().startswith(": "):
            yield self._unit(_Place.TERM, [(taken[1][0], taken[1][1].lstrip()[2:]), *taken[2:]], mark=_bare(first))
        elif self._sort is Sort.ASCIIDOC and (found := re.match(r"(\S.{0,60}?)::\s+(\S.*)", first)):
            yield self._unit(_Place.TERM, [(taken[0][0], found[2]), *taken[1:]], mark=_bare(found[1]))
        elif found := _LABEL.match(first):
            yield self._unit(_Place.CALLOUT, [(taken[0][0], found["rest"]), *taken[1:]], mark=found["mark"].lower())
        else:
            yield self._unit(_Place.PROSE, taken)
        if self._sort is Sort.RST and last.endswith("::"):
            self._skip_body()

    def _bullet(self, found: re.Match[str]) -> Iterator[_Unit]:
        indent = len(found["indent"])
        number = self._at + 1
        taken = self._taken(found["rest"], deeper=indent)
        if found["box"] is not None:
            if found["box"] == "[ ]":
                yield self._unit(_Place.OPEN, taken)
            return
        term = _TERM.match(found["rest"])
        marked = _LABEL.match(found["rest"])
        if marked:
            yield self._unit(_Place.CALLOUT, [(number, marked["rest"]), *taken[1:]], mark=marked["mark"].lower())
        elif term and self._glossary:
            yield self._unit(_Place.TERM, [(number, term["rest"]), *taken[1:]], mark=_bare(term["term"]))
        else:
            yield self._unit(_Place.BULLET, taken)

    def _table_row(self) -> Iterator[_Unit]:
        """A row of a table that says of itself that it explains words."""
        cells = [cell.strip() for cell in self._lines[self._at].strip().strip("|").split("|")]
        below = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        ruled = _RULED.fullmatch(below) is not None
        if ruled:
            self._explains = len(cells) > 1 and bool(_WORD.fullmatch(cells[0]) and _MEANING.match(cells[1]))
        if self._explains and not ruled and len(cells) > 1 and cells[0] and not _RULED.fullmatch("".join(cells)):
            yield self._unit(_Place.TERM, [(self._at + 1, cells[1])], mark=_bare(cells[0]))
        self._at += 1

    def _quote(self) -> Iterator[_Unit]:
        """A callout that is set as a quotation; what somebody else said is no knowledge of this project."""
        taken: list[tuple[int, str]] = []
        while self._at < len(self._lines) and self._lines[self._at].lstrip().startswith(">"):
            taken.append((self._at + 1, self._lines[self._at].lstrip().lstrip("> ")))
            self._at += 1
        marked = _ALERT.match(taken[0][1]) or _LABEL.match(taken[0][1])
        if marked is not None:
            body = [(taken[0][0], marked["rest"]), *taken[1:]]
            kept = [(number, said) for number, said in body if said.strip()]
            if kept:
                yield self._unit(_Place.CALLOUT, kept, mark=marked["mark"].lower())

    def _callout(self, found: re.Match[str]) -> Iterator[_Unit]:
        """`!!! note`, `:::note`, `.. note::` and `[NOTE]` with what belongs to them."""
        mark = next(filter(None, found.groups()), "").lower()
        first = said if (said := found.string[found.end() :].strip()) and self._sort is Sort.RST else ""
        number = self._at + 1
        fence = {":": ":::", "[": "===="}.get(found.string[0], "")
        self._at += 1
        if fence == "====" and self._at < len(self._lines) and not self._lines[self._at].startswith("===="):
            fence = ""
        elif fence == "====":
            self._at += 1
        taken = [(number, first)] if first else []
        while self._at < len(self._lines) and not self._over(fence, started=bool(taken), framed=found.string[0] == "["):
            if self._lines[self._at].strip():
                taken.append((self._at + 1, self._lines[self._at]))
            self._at += 1
        self._at += bool(fence)
        if taken:
            yield self._unit(_Place.OPEN if mark == "todo" else _Place.CALLOUT, taken, mark=mark)

    def _over(self, fence: str, *, started: bool, framed: bool) -> bool:
        """Whether the body of a callout ends before this line."""
        line = self._lines[self._at]
        if fence:
            return line.strip().startswith(fence)
        if not line.strip():
            return started
        return not framed and not line[0].isspace()

    def _skip_to(self, end: str) -> None:
        while self._at < len(self._lines) and end not in self._lines[self._at]:
            self._at += 1
        self._at += 1

    def _skip_body(self) -> None:
        """Over what is set deeper: the body of a directive, or code."""
        self._at += self._at < len(self._lines) and self._lines[self._at].lstrip().startswith("..")
        while self._at < len(self._lines) and (not self._lines[self._at].strip() or self._lines[self._at][0].isspace()):
            self._at += 1

    def _unit(self, place: _Place, lines: Iterable[tuple[int, str]], *, mark: str = "") -> _Unit:
        return _Unit(place=place, lines=tuple(lines), about=self._about, mark=mark)


_MARKS = "note|warning|important|caution|danger|attention"
_GLOSSARY = re.compile(r"(?i)\b(?:glossary|terminology|terms|definitions|vocabulary|the words)\b")
_RULED = re.compile(r"\s*\|?[\s|:-]*-[\s|:-]*")
_WORD = re.compile(r"(?i)[*_]*(?:term|word|concept|acronym|abbreviation)s?[*_]*")
_MEANING = re.compile(r"(?i)[*_]*(?:meaning|definition|means|explanation|description)\b")
_CALLOUT_BLOCK = re.compile(
    rf"(?i)(?:!!!|\?\?\?\+?)\s+({_MARKS})\b|:::\s*({_MARKS})\b|\.\.\s+({_MARKS}|todo)::|\[({_MARKS})\]$"
)
_ALERT = re.compile(rf"(?i)\[!(?P<mark>{_MARKS})\](?P<rest>.*)")
_LABEL = re.compile(
    rf"(?:[*_]{{1,2}})?(?P<mark>(?i:{_MARKS})|N\.?B\.?)(?:[*_]{{1,2}})?:(?:[*_]{{1,2}})?\s+(?P<rest>\S.*)"
)
_BULLET = re.compile(r"(?P<indent>\s*)(?:[-*+•]|\d{1,3}[.)])\s+(?P<box>\[[ xX~*-]\])?\s*(?P<rest>\S.*)")
_TERM = re.compile(r"(?P<term>\*\*[^*]{1,60}\*\*|`[^`]{1,60}`|[\w][^:—–]{0,50}?)(?:\s*:|\s+[—–-])\s+(?P<rest>\S.*)")
_NO_PROSE = re.compile(r"(?: {4}|\t)|\s*(?:\[[^\]]{1,80}\]:\s|</?[a-zA-Z!]|!\[|:[a-z-]+:\s|={3,}|-{3,}|\*{3,}|//)")


# --- Decision records -------------------------------------------------------------------------------------------------

_RECORD = re.compile(
    r"(?i)(?:^|/)(?:adrs?|decisions?|decision[-_]records?|architecture[-_]decisions?)/[^/]+$|(?:^|/)adr[-_]?\d"
)
_STATUS = re.compile(r"(?i)[\s*_>-]*status[*_]*\s*:[\s*_]*(?P<said>[a-z]+)")
_OUT = frozenset("rejected superseded deprecated proposed draft declined withdrawn obsolete".split())
_DECISION = re.compile(r"(?i)^(?:the\s+)?decision(?:\s+outcome)?\b(?!\s+drivers)")


class _Record(NamedTuple):
    """What a decision record decides; `rejected` when it decides nothing, or no longer."""

    decided: _Found | None = None
    rejected: bool = False

    @classmethod
    def read(cls, lines: Sequence[str], path: str, sort: Sort) -> _Record:
        """The record in a file, an empty one where it is none."""
        found = headings(lines, sort)
        title = found[0].title if found else ""
        if not (_RECORD.search(path) or re.match(r"(?i)adr[ -]?\d", title)) or path.lower().endswith("readme.md"):
            return cls()
        status = _status(lines, found)
        if status in _OUT:
            return cls(rejected=True)
        section = next((each for each in found if _DECISION.search(each.title)), None)
        if section is None:
            return cls()
        body = _section(lines, found, section)
        said = next((unit for unit in _Reader(body, sort).units() if len(unit.text) > 20), None)
        if said is None:
            return cls()
        name = re.sub(r"(?i)^(?:adr[\s#-]*)?\d*[\s.:—–-]*", "", _plain(title)) or _plain(title)
        line = section.line + section.lines + said.line
        content = _plain(said.text[:_LONGEST])
        confidence = 0.95 if status in ("accepted", "approved", "adopted", "implemented") else 0.8
        return cls(_Found(ItemType.DECISION, name, content, line, confidence))


def _status(lines: Sequence[str], found: Sequence[Heading]) -> str:
    """The status a record has, in one word; "" when it says none."""
    for line in lines[:60]:
        if said := _STATUS.match(line):
            return said["said"].lower()
    section = next((each for each in found if each.title.strip().lower() == "status"), None)
    words = re.findall(r"[A-Za-z]+", " ".join(_section(lines, found, section))) if section else []
    return words[0].lower() if words else ""


def _section(lines: Sequence[str], found: Sequence[Heading], section: Heading) -> Sequence[str]:
    """The lines under a heading, up to the next that is as high."""
    after = (each.line for each in found if each.line > section.line and each.depth <= section.depth)
    return lines[section.line + section.lines : next(after, len(lines))]


# --- Code -------------------------------------------------------------------------------------------------------------


def _of_code(lines: Sequence[str], path: str) -> Iterator[_Found]:
    text = "\n".join(lines)
    about: dict[str, int] = {}
    for unit in _comments(text, lines, path):
        if unit.place is _Place.DOC and unit.mark and unit.mark not in about and not _TEST.search(path):
            about[unit.mark] = unit.line
            yield from _documented(unit)
        for at, part in enumerate(_paragraphs(unit)):
            yield from _said(part, path, code=True, opens=at == 0)


def _comments(text: str, lines: Sequence[str], path: str) -> Iterator[_Unit]:
    """The comments of a file, those that follow one another line by line as one, and the texts that document it."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    ending = path.rpartition(".")[2].lower()
    python = ending in ("py", "pyi")
    block: list[tuple[int, str]] = []
    alone = False
    for span in spans(text, path=path):
        number = bisect_right(starts, span.start)
        leads = not text[starts[number - 1] : span.start].strip(" \trRuU")
        if not span.comment and not (python and leads and text.startswith(('"""', "'''"), span.start)):
            continue
        said = text[span.start : span.end].split("\n")
        if block and (not span.comment or len(said) > 1 or not (alone and leads) or number != block[-1][0] + 1):
            yield _commented(block, lines, ending)
            block = []
        if not span.comment:
            yield from _docstring(text, span.start, said, number)
            continue
        alone = leads
        block += [(number + at, line) for at, line in enumerate(said)]
        if len(said) > 1:
            yield _commented(block, lines, ending)
            block = []
    if block:
        yield _commented(block, lines, ending)


_LEAD = re.compile(r"\s*(?:/\*\*?|\*/|///?!?|\*(?!/)|#+!?|--+|;+)[ \t]?")


def _commented(block: Sequence[tuple[int, str]], lines: Sequence[str], ending: str) -> _Unit:
    """A comment without its signs, as the documentation of what is declared right below it."""
    kept = tuple((number, _LEAD.sub("", line, count=1).removesuffix("*/").rstrip()) for number, line in block)
    below = block[-1][0]
    while below < len(lines) and re.match(r"\s*(?:@\w|#\[|\[\w+[\](]|template\s*<)", lines[below]):
        below += 1
    found = None if ending in ("py", "pyi") or below >= len(lines) else declared(lines[below])
    if found is None or found.word == "value":
        return _Unit(place=_Place.COMMENT, lines=kept)
    signed = ending == "rb" or block[0][1].lstrip().startswith(("/**", "///", "//!"))
    if not signed and kept[0][1].split(" ", 1)[0] != found.name:  # as Go has it
        return _Unit(place=_Place.COMMENT, lines=kept)
    mark = found.name if _is_public_type(found, ending) else ""
    return _Unit(place=_Place.DOC, lines=kept, about=found.name, mark=mark)


_TYPES = frozenset("class struct enum interface trait protocol record type union".split())


def _is_public_type(found: Declared, ending: str) -> bool:
    if found.word not in _TYPES or found.name.startswith("_") or "private" in found.before:
        return False
    if ending in ("rs", "cs", "swift"):  # where what is not said to be public is not
        return re.search(r"\b(?:pub|public|open)\b", found.before) is not None
    return ending != "go" or found.name[0].isupper()


_OPENS = re.compile(r"(?m)^[ \t]*(?:async[ \t]+)?(class|def)[ \t]+(\w+)")


def _docstring(text: str, start: int, said: Sequence[str], number: int) -> Iterator[_Unit]:
    """A string that documents a module, a class or a function of Python; nothing where it is only a string."""
    quote = text[start : start + 3]
    lines = [said[0].removeprefix(quote), *said[1:]]
    lines[-1] = lines[-1].rstrip().removesuffix(quote)
    kept = tuple((number + at, line) for at, line in enumerate(lines))
    before = text[max(0, start - 2_000) : start].rstrip(" \t\nrRuU")
    if not before.strip() or (start < 3_000 and all(_is_aside(line) for line in before.split("\n"))):
        yield _Unit(place=_Place.DOC, lines=kept)
        return
    if not before.endswith(":"):
        return
    opened = list(_OPENS.finditer(before))
    if opened:
        word, name = opened[-1].groups()
        public = word == "class" and not name.startswith("_")
        yield _Unit(place=_Place.DOC, lines=kept, about=name, mark=name if public else "")


def _is_aside(line: str) -> bool:
    return not line.strip() or line.startswith("#")


def _documented(unit: _Unit) -> Iterator[_Found]:
    """A public class, as the first sentence of its documentation tells it."""
    first = next(iter(_paragraphs(unit)), None)
    if first is None:
        return
    said, line = next(first.sentences(), ("", 0))
    said = re.sub(r"^@\w+\s+", "", said)
    if len(said.split()) >= 3 and not re.search(r"\s=\s|>>>", said) and not _TASK.match(said):
        content = said if said.startswith(unit.mark) else f"{unit.mark}: {said}"
        yield _Found(ItemType.ENTITY, unit.mark, content, line, 0.9)


_LICENCE = re.compile(r"(?i)copyright|licen[cs]ed? |spdx-|all rights reserved|permission is hereby|warrant(?:y|ies)")
_FOR_TOOLS = re.compile(
    r"(?i)\s*(?:noqa|type:|pylint|mypy:|ruff:|flake8|isort|pragma|eslint|prettier|tslint|@ts-|nolint|go:|clang-|```"
    r"|region\b|endregion|coding[:=]|vim:|!|cspell|istanbul|c8 |jshint|global |@\w+|:\w[\w ]*:(?:\s|$)|>>>|\$ |={3,}"
    r"|-{3,})"
)


_ARGUMENTS = re.compile(
    r"(?i)(?:args|arguments|param(?:eter)?s|returns?|raises|throws|yields|attributes|examples?|usage|see also)\s*:?$"
    r"|[@:\\](?:param|return|throws|raises|arg|type|tparam|example)|# (?:arguments|examples|panics|errors|safety)"
)
"""Where the documentation of a symbol turns to its details."""


def _paragraphs(unit: _Unit) -> Iterator[_Unit]:
    """A comment in paragraphs and bullets, without what is there for tools or lawyers, and without code."""
    if _LICENCE.search(unit.text[:2_000]):
        return
    taken: list[tuple[int, str]] = []
    example = details = False
    for number, line in unit.lines:
        said = line.strip()
        marked = bool(_TASK.match(said) or _LABEL.match(said))
        bullet = _BULLET.match(line)
        passed_over = not marked and (not said or example or details or bool(_FOR_TOOLS.match(said)))
        details = details or (unit.place is _Place.DOC and bool(_ARGUMENTS.match(said)))
        if said.startswith("```"):
            example = not example
        if taken and (passed_over or marked or bullet or details):
            yield replace(unit, lines=tuple(taken))
            taken = []
        if not passed_over and (marked or not details):
            taken.append((number, bullet["rest"] if bullet and not bullet["box"] else line))
    if taken:
        yield replace(unit, lines=tuple(taken))


# --- What is said -----------------------------------------------------------------------------------------------------


def _said(unit: _Unit, path: str, *, code: bool, opens: bool) -> Iterator[_Found]:
    """The items of one unit; `opens` when it is the first of a text."""
    text = _plain(unit.text[:_LONGEST])
    match unit.place:
        case _Place.OPEN:
            if len(text.split()) > 1:
                yield _Found(ItemType.TASK, text, text, unit.line, 0.9)
            return
        case _Place.CALLOUT:
            if len(text.split()) > 3:
                yield _Found(ItemType.NOTE, text, f"{unit.mark.upper()}: {text}", unit.line, 0.9)
            return
        case _Place.TERM:
            if unit.mark and len(text.split()) > 1 and len(unit.mark.split()) <= 5:
                yield _Found(ItemType.ENTITY, unit.mark, f"{unit.mark}: {text}", unit.line, 0.9)
            return
    if task := _TASK.match(text):
        if len(task["rest"]) > 3 and (code or task["sign"]):
            yield _Found(ItemType.TASK, task["rest"], text, unit.line, 0.9)
        return
    if marked := _LABEL.match(text):
        if len(marked["rest"].split()) > 3:
            yield _Found(ItemType.NOTE, marked["rest"], text, unit.line, 0.85)
        return
    if decided := _LABELLED_DECISION.match(text):
        yield _Found(ItemType.DECISION, _capital(decided["rest"]), decided["rest"], unit.line, 0.9)
        return
    for at, (said, line) in enumerate(unit.sentences()):
        yield from _stated(replace(unit, lines=((line, said),)), said, path, first=opens and at == 0)


_TASK = re.compile(
    r"(?:@?(?:TODO|FIXME|HACK|XXX)|@todo)\b(?:\s?\([^)]{1,60}\)|\s?\[[^\]]{1,60}\])?(?P<sign>\s*[:—-])?\s+(?P<rest>\S.*)",
    re.DOTALL,
)
_LABELLED_DECISION = re.compile(
    r"(?:Decision|Decided|DECISION)(?:\s+\(\d[\d-]{3,}\))?:\s+(?P<rest>\S.{15,})", re.DOTALL
)


def _stated(unit: _Unit, said: str, path: str, *, first: bool) -> Iterator[_Found]:
    """What one sentence commits to: a decision, a definition or a claim."""
    line = unit.line
    if not _is_whole(said, unit.place):
        return
    if decided := _DECIDED.search(said):
        if not _UNSURE.search(said):
            yield _Found(ItemType.DECISION, _decision_title(said, decided), said, line, 0.85)
        return
    written = unit.place in (_Place.PROSE, _Place.BULLET)
    defined = _DEFINED.match(said) if written else None
    if defined and not _NO_TERM.match(defined["term"]) and (first or defined["term"] == unit.about):
        yield _Found(ItemType.ENTITY, _bare(defined["term"]), said, line, 0.75)
        return
    if _TEST.search(path) or _NO_CLAIMS.search(path):
        return
    # The first sentence about a symbol says what it is, in words that would claim something elsewhere.
    if unit.place is _Place.DOC and (first or unit.about.startswith("_")):
        return
    strength = _strength(said) - (0.0 if written else 0.1)
    leans = bool(unit.about) and (unit.place is _Place.DOC or _NO_SUBJECT.match(said) is not None)
    if strength < 0.5 or (not leans and _NO_SUBJECT.match(said)):
        return
    # A comment speaks of the lines around it; only what must hold, said without them, is more than that.
    if unit.place is _Place.COMMENT and (strength < 0.7 or _LOCAL.search(said)):
        return
    content = f"{unit.about}: {said}" if leans else said
    yield _Found(ItemType.CLAIM, content, content, line, round(strength, 2))


def _is_whole(said: str, place: _Place) -> bool:
    """Whether a sentence can be understood where it is not read in its place."""
    if not 25 <= len(said) <= CONTENT or not 5 <= len(said.split()) <= 60:
        return False
    if said.endswith(("?", ":", ",", ";")) or _LEANS.match(said):
        return False
    if place is not _Place.BULLET and said[-1:] not in ".!)`\"'":
        return False
    return said[0].isupper() or said[0] in "`\"'" or said[0].isdigit()


_LEANS = re.compile(
    r"(?i)(?:this|that|these|those|it|its|they|their|he|she|his|her|there|here|and|but|or|so|then|thus|hence|however"
    r"|therefore|otherwise|also|instead|such|both|neither|either|which|whose|what|why|how|who|if so|if not|as such"
    r"|with(?:out)? (?:it|them|this|these|that)|for example|e\.g\.|i\.e\.|note that|in that case|likewise|yet"
    r"|nor|some|others?|another|each of|one of|the same|several|any other|(?:an?|any|the|every) \w+ ones?"
    r"|the (?:former|latter|first|second|third|last|rest|others?|two)|still|again|even|too|because|since|while|although"
    r"|though|whereas|maybe|perhaps|let's|let us|see|returns?|raises?|first|second|third|finally|next|one|two|three)\b"
)
_DECIDED = re.compile(
    r"(?i)\b(?:we|i|the team)(?:'ve| have| had)?\s+(?:(?:finally|therefore|instead|also|deliberately)\s+)?"
    r"(?:(?P<to>(?:decided|chose|opted|agreed|elected)(?:\s+not)?\s+to)|(?P<on>chose|picked|settled on|opted for"
    r"|went with|decided (?:on|against)|agreed on|standardi[sz]ed on|adopted))\s+"
    r"|\b(?:was|were|has been|have been)\s+(?P<was>chosen|picked|selected)"
    r"\s+(?:over|because|instead of|rather than|for its)\b"
)
_UNSURE = re.compile(
    r"(?i)\b(?:if we|unless we|could have|would have|might|may have|when we|until we|once we|whether)\b"
)
_DEFINED = re.compile(
    r"(?P<term>(?:(?:an?|the)\s+)?(?:`[^`]{1,60}`|\"[^\"]{1,60}\"|[A-Z][\w./+#-]*|(?<=[aA] )[\w-]+|(?<=[aA]n )[\w-]+"
    r"|(?<=[tT]he )[\w-]+)(?:\s+[\w./+#-]+){0,3}?)(?:\s+\([^)]{1,60}\))?"
    r"\s+(?:is|are)\s+(?P<kind>an?|the)\s+(?:\S+\s+){2,}\S",
    re.IGNORECASE,
)
_NO_TERM = re.compile(
    r"(?i).*\b(?:that|which|who|what|whose|there|it|this|these|when|where|if|and|or|of the|in the|on the|to|not|with"
    r"|for|by|as|at|from|only|is|are|was|be|has|have|you|we|he|she|they|one|first|second|third|last|next|goal|idea|point"
    r"|reason|result|problem|question|answer|difference|default|purpose|aim|rest|example|advantage|downside|trick|issue"
    r"|cost|price|order|value|name|main|best|most|more|other|same|way|exception|rule|figure|number|above|below|following"
    r"|each|every|all|any|no|some|everything|anything|nothing|something|nobody|everybody|somebody|whoever|whatever)\b"
)
_OBLIGES = re.compile(
    r"(?i)\b(?:must(?: not)?|shall(?: not)?|never|always|cannot|may not|is required|are required|is forbidden"
    r"|are forbidden|is not allowed|are not allowed|guarantees?|only ever|under no circumstances|is mandatory)\b"
)
_RELATIVE = re.compile(
    r"(?i)\b(?:that|which|who|what|whose|whatever|whoever|where|than|if|when|unless|while|how \w+)(?:\s+\S+){0,3}\s+$"
)
"""What makes an obligation a part of a description: "a text that must …"."""
_OFFERS = re.compile(
    r"(?i)\b(?:requires?|supports?|does not support|do not support|is not supported|are not supported|unsupported"
    r"|defaults? to|is limited to|are limited to|depends on|is compatible with|works only|runs only)\b\s+\S+"
)
_LIMITS = re.compile(
    r"(?i)\b(?:at most|at least|no more than|no less than|up to|within|every|after|limit(?:ed)? (?:is|of|to)|maximum"
    r"|minimum|max|min|expires? (?:after|in)|timeout (?:is|of))\s+(?:of\s+|is\s+)?(?:about\s+)?[`$€]?\d[\d_,.]*"
    r"|\b(?:is|are|has|have|takes?|lasts?|holds?|keeps?|allows?|waits?|costs?|fades?|sends?|retries|exceeds?)\b"
    r"[^.;]{0,60}?\b\d[\d_,.]*\s?(?:ms|milliseconds?|seconds?|minutes?|hours?|days?|weeks?|months?|years?|bytes?|[kmg]i?b|%|percent"
    r"|characters?|tokens?|requests?|connections?|entries|rows|files|lines|retries|times)\b"
)
_NO_CLAIM = re.compile(
    r"(?i)\b(?:i think|we think|believes?|likely|almost|probably|might|maybe|perhaps|could|would|imagine|suppose"
    r"|hopefully|please|thanks?|i|my|todo)\b|\bif you\b|\byou (?:can|may|will|could)\b|…$|\.\.\.$"
)


def _strength(said: str) -> float:
    """How sure it is that a sentence claims something of the project; 0 when it does not."""
    if _NO_CLAIM.search(said) or _UNSURE.search(said):
        return 0.0
    if any(not _RELATIVE.search(said[: found.start()]) for found in _OBLIGES.finditer(said)):
        return 0.8
    if _LIMITS.search(said):
        return 0.75
    return 0.7 if _OFFERS.search(said) else 0.0


_LOCAL = re.compile(r"(?i)\b(?:we|our|this|these|those|here|below|above|it|its|them|now|first|yet|already)\b")
_NO_SUBJECT = re.compile(
    r"(?:Must|Shall|Cannot|Requires?|Supports?|Defaults?|Depends|Guarantees?|Expires?|Limited|Is|Has|Does|May"
    r"|Never \w+s)\b"
)


def _decision_title(said: str, decided: re.Match[str]) -> str:
    """What was decided, as an order: "Use Fastify"."""
    rest = re.split(r"\s*[,;(]\s*|\s+(?:because|since|so that|as it|in order)\b", said[decided.end() :], maxsplit=1)[0]
    if decided["was"]:
        return said
    if decided["on"]:
        negated = "against" in decided["on"].lower()
        return f"{'Not' if negated else 'Use'} {rest}"
    negated = " not" in decided["to"].lower()
    return f"Do not {rest}" if negated else _capital(rest)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _bare(term: str) -> str:
    """A term without its article and its quotes."""
    return re.sub(r"(?i)^(?:an?|the)\s+", "", re.sub(r"[`\"]", "", _plain(term)))
