"""The files in which agents are told things, cut into discrete memories: CLAUDE.md, AGENTS.md, MEMORY.md, rules …

Each block of such a file says one thing or several: a list item with its details, a few sentences, a row of a table,
code with the sentence that introduces it. Headings say nothing by themselves; they are where a piece belongs, and they
stand before it where it would not make sense alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ..codec import EPOCH
from ..model import Kind, Memory, Procedure, Uid
from ..policy.identity import canonical_text, spelled_tag
from ..policy.mentions import mentions
from .markdown import Block, Item, bare_lines, folded, inline, label, read, sentences

MOST = 2_000
"""The longest a piece may be. Only code, file trees and steps come near it."""
GROUP = 400
"""The longest that sentences are put together, and that details stay with what they belong to."""
REASONED = 600
"""The longest that a statement may be together with its reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One thing that a file says."""

    content: str
    kind: Kind
    tags: tuple[str, ...]
    """The telling words of the headings it stands under."""
    section: str
    """Those headings, outermost first: "Testing > Coverage"."""
    line: int
    files: tuple[str, ...]
    """The paths it names."""
    procedure: Procedure | None = None


def pieces(text: str, *, name: str, personal: bool = False, most: int = MOST) -> tuple[Piece, ...]:
    """What a file says, piece by piece in its order, each once and none longer than `most` characters.

    `name` is the file's, which may tell that it is about a person; `personal` says so in any case.
    """
    front, blocks = read(text)
    personal = personal or front.get("type") in ("user", "feedback") or bool(_PERSONAL.search(name))
    cutter = _Cutter(title=_title(front), scope=_applies_to(front), most=max(_LEAST, most))
    if front.get("type") in _TOPICS or front.get("node_type") == "memory":
        cutter.describe(front.get("description", ""))
    cutter.walk(blocks)
    found: dict[str, Piece] = {}
    for told in cutter.told:
        piece = _piece(told, personal=personal)
        for content in _cut(piece.content, cutter.most):
            found.setdefault(canonical_text(content), replace(piece, content=content))
    return tuple(found.values())


def coverage(text: str, told: Iterable[Piece]) -> float:
    """The share of a file's words, headings and boilerplate aside, that are in some piece next to a word they stood
    next to, or in its section; 1.0 where there are none."""
    kept: set[tuple[str, ...]] = set()
    for piece in told:
        for words in (_words(piece.content), *map(_words, piece.section.split(" > "))):
            kept.update((word,) for word in words)
            kept.update(pairwise(words))
    total = found = 0
    for line, code in bare_lines(text):
        if (_TREE.match(line) or _BOX.search(line)) if code else (_is_boilerplate(line) or _TO_ANCHOR.fullmatch(line)):
            continue
        words = _words(line)
        pairs = [pair in kept for pair in pairwise(words)] or [tuple(words) in kept]
        total += len(words)
        found += sum(any(pairs[max(0, at - 1) : at + 1]) for at in range(len(words)))
    return found / total if total else 1.0


_LEAST = 100
_TOPICS = frozenset({"user", "feedback", "project", "reference"})
_PERSONAL = re.compile(r"(?:^|/)(?:user[._-][^/]*|USER\.md|SOUL\.md|CLAUDE\.local\.md)$")
_WORD = re.compile(r"\w+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Characters of languages that are written without spaces, or with few."""


def _words(text: str) -> list[str]:
    return _WORD.findall(inline(text).casefold())


# --- What is not worth a memory ---------------------------------------------------------------------------------------

_BOILERPLATE = re.compile(
    r"\W*(?:"
    r"this (?:file|document) (?:provides|contains|gives|offers) (?:\w+ ){0,4}"
    r"(?:guidance|guidelines|instructions|context|information)"
    r" (?:to|for) (?:[\w.()/-]+,? ){0,12}(?:when )?(?:working|in|with|on)\b.{0,80}"
    r"|guidance for (?:[\w.()/-]+,? ){0,8}(?:when )?working (?:with|in|on)\b.{0,80}"
    r"|@[\w~./-]{1,200}"
    r"|(?:last|date) (?:updated|modified|reviewed)\W.{0,60}|最后更新.{0,40}"
    r"|auto-?generated (?:from|by|on)\b.{0,120}"
    r"|back to top|table of contents|toc|目录"
    r"|permission is hereby granted, free of charge.*|the software is provided [\"“]as is.*|spdx-license-identifier:.*"
    r"|copyright (?:\(c\)|©|\d{4}).{0,120}"
    r"|(?:this project is )?(?:released|licensed|distributed) under (?:the )?.{0,120}"
    r"|(?:mit|apache[ -]2\.0|bsd|gpl\w*)(?: license)?"
    r")\W*",
    re.IGNORECASE | re.DOTALL,
)
_TO_ANCHOR = re.compile(r"\W*\[[^\n]{1,200}?\]\(#[^()\n]{0,300}(?:\([^()\n]{0,80}\)[^()\n]{0,80})?\)\W*")
_TREE = re.compile(r"\s*[│├└]|\s*\|--|[^\n]{0,60}(?:├──|└──)")
_BOX = re.compile(r"[┌┐└┘├┤┬┴┼─│╔╗╚╝═║▼▲]")


def _is_boilerplate(text: str) -> bool:
    """Whether a paragraph or an item says nothing that is worth keeping."""
    words = inline(text)
    return not _WORD.search(words) or (len(words) < MOST and bool(_BOILERPLATE.fullmatch(words)))


def _is_contents(block: Block) -> bool:
    """Whether a list is a table of contents: nothing but links within the file."""
    return bool(block.items) and all(
        _TO_ANCHOR.fullmatch(item.text) and all(each.sort == "list" and _is_contents(each) for each in item.blocks)
        for item in block.items
    )


def _is_tree(code: str) -> bool:
    """Whether code shows the files of a folder."""
    lines = [line for line in code.split("\n") if line.strip()]
    return len(lines) > 2 and sum(bool(_TREE.match(line)) for line in lines) * 2 >= len(lines)


def _pruned(tree: str, most: int) -> str:
    """A file tree without its deepest levels, as far as it has to be cut to fit."""
    lines = [line for line in tree.split("\n") if line.strip()]
    depths = [len(line) - len(line.lstrip(" │|├└─-")) for line in lines]
    for deepest in sorted(set(depths), reverse=True):
        kept = "\n".join(line for line, depth in zip(lines, depths, strict=True) if depth <= deepest)
        if len(kept) <= most:
            return kept
    return "\n".join(lines)[:most]


# --- From blocks to what is told --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """One thing that is told: the words, what they are to be read under, and where they stand."""

    text: str
    context: str
    line: int
    heads: tuple[str, ...]
    section: str
    code: str = ""
    hint: Kind | None = None
    procedure: Procedure | None = None


@dataclass(slots=True, kw_only=True)
class _Cutter:
    """Goes through the blocks of a file and notes what each tells."""

    title: str
    scope: str
    most: int
    told: list[_Told] = field(default_factory=list)
    _heads: list[tuple[int, str]] = field(default_factory=list)

    def describe(self, text: str) -> None:
        """Note what a topic file says about itself."""
        for group in _groups(inline(text)) if _stands_alone(inline(text)) else ():
            self._say(group, line=1, context="")

    def walk(self, blocks: Sequence[Block]) -> None:
        """Note what all the blocks tell, each with what follows it where they belong together."""
        at = 0
        while at < len(blocks):
            at = self._take(blocks, at)

    def _take(self, blocks: Sequence[Block], at: int) -> int:
        """Note what a block tells. Returns where the next one is that was not told with it."""
        block = blocks[at]
        match block.sort:
            case "heading":
                self._enter(block.level, block.text)
            case "text" if not _is_boilerplate(block.text):
                return self._take_text(blocks, at)
            case "code":
                self._take_code(block)
            case "list":
                self._take_items(block)
            case "table":
                self._take_rows(block)
        return at + 1

    def _enter(self, level: int, text: str) -> None:
        self._heads = [head for head in self._heads if head[0] < level]
        name = _head(text)
        self._heads.append((level, "" if _EMPTY_HEAD.fullmatch(name) else name))

    def _take_text(self, blocks: Sequence[Block], at: int) -> int:
        block = blocks[at]
        following = blocks[at + 1] if at + 1 < len(blocks) else None
        after = following.sort if following else "heading"
        if _is_label(block.text) and after != "heading" and not (following and _is_label(following.text)):
            return self._take_labelled(blocks, at)
        if following and after in ("list", "table") and _introduces(block.text):
            take = self._take_items if after == "list" else self._take_rows
            take(following, inline(block.text))
            return at + 2
        self._tell(block.text, line=block.line)
        named = _lead(block.text)[0]
        if following and after == "list" and named:
            self._take_items(following, named)
            return at + 2
        return at + 1

    def _take_labelled(self, blocks: Sequence[Block], at: int) -> int:
        """Note what stands under a label that has a line of its own: the next block, and code right after it."""
        outside = self._heads
        self._enter(_LABEL_LEVEL, blocks[at].text)
        following = blocks[at + 1]
        if following.sort == "list":
            self._take_items(following, _head(blocks[at].text))
            end = at + 2
        else:
            end = self._take(blocks, at + 1)
        if end < len(blocks) and blocks[end].sort == "code":
            end = self._take(blocks, end)
        self._heads = outside
        return end

    # --- Words ------------------------------------------------------------------------------------------------------

    def _say(self, text: str, *, line: int, context: str, code: str = "", hint: Kind | None = None) -> None:
        heads = self._place()
        section = " > ".join(heads) or self.title
        section = f"{section} ({self.scope})".strip() if self.scope else section
        told = _Told(text=text, context=context, line=line, heads=heads, section=section, code=code, hint=hint)
        self.told.append(told)

    def _place(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(head for _, head in self._heads if head))

    def _context(self, below: str = "") -> str:
        """The nearest heading, with the one above it where it is too plain to say anything.

        `below` is what stands under it already; the nearest heading may be just that.
        """
        heads = self._place()
        if heads and _same(heads[-1], below):
            heads = heads[:-1]
        if not heads:
            return self.title
        if not _is_plain(heads[-1]):
            return heads[-1]
        above = next((head for head in reversed(heads[:-1]) if not _is_plain(head)), self.title)
        return _joined(above, heads[-1])

    def _tell(self, text: str, *, line: int, context: str | None = None, task: str = "") -> None:
        """Note a paragraph or the words of an item, in groups of sentences; a reason joins what it is for."""
        for part in text.split("\n"):
            named, words = _lead(part)
            if _is_boilerplate(part) or (_BELONGS.fullmatch(named) and context is None and self._join(words)):
                continue
            for number, group in enumerate(_groups(words)):
                if context is not None:
                    under = context
                elif number and named:
                    under = named
                else:
                    under = "" if _stands_alone(group) else self._context()
                self._say_task(task, group, line=line, context=under)

    def _say_task(self, task: str, text: str, *, line: int, context: str) -> None:
        hint = Kind.TASK_PROGRESS if task else None
        self._say(f"{task}: {text}" if task else text, line=line, context=context, hint=hint)

    def _join(self, words: str) -> bool:
        """Put words to what was told last, if that stands in the same place and there is room."""
        last = self._last()
        if last is None or last.code or len(last.context) + len(last.text) + len(words) >= REASONED:
            return False
        ended = last.text if last.text[-1:] in ".!?。！？…:;" or "\n" in last.text else f"{last.text}."
        self.told[-1] = replace(last, text=f"{ended}\n{words}" if "\n" in last.text else f"{ended} {words}")
        return True

    def _last(self) -> _Told | None:
        """What was told last under the same headings, if it is words that more can be put to."""
        last = self.told[-1] if self.told else None
        return last if last is not None and last.heads == self._place() and not last.procedure else None

    # --- Code and tables ----------------------------------------------------------------------------------------------

    def _take_code(self, block: Block) -> None:
        """Put code to the words right before it; with none, it is told under its heading."""
        hint = None
        chunks = [block.text]
        if _is_tree(block.text):
            hint = Kind.ARCHITECTURE
            chunks = [_pruned(block.text, self.most // 2)]
        elif _SHELL.fullmatch(block.language) or (not block.language and _PROMPT.match(block.text)):
            hint = Kind.PROCEDURE
            chunks = _code_chunks(block.text, GROUP)
        elif len(block.text) > self.most // 2:
            chunks = _code_chunks(block.text, self.most // 2)
        last = self._last()
        if last is not None and not last.code:
            code = _fenced(chunks.pop(0), block.language)
            self.told[-1] = replace(last, code=code, hint=last.hint or hint)
        for chunk in chunks:
            drawn = Kind.ARCHITECTURE if _BOX.search(chunk) else hint
            code = _fenced(chunk, block.language)
            self._say("", line=block.line, context=self._context(), code=code, hint=drawn)

    def _take_rows(self, block: Block, parent: str = "") -> None:
        head, *rows = block.rows
        context = self._parent(parent, block.line) if parent else self._context()
        said = [(block.line + 2 + at, _row(head, row)) for at, row in enumerate(rows) if any(row)]
        if all(len(text) <= _SHORT_ROW for _, text in said):
            said = [(block.line, text) for text in _packed(text for _, text in said)]
        for line, text in said:
            self._say(text, line=line, context=context)

    # --- Lists --------------------------------------------------------------------------------------------------------

    def _take_items(self, block: Block, parent: str = "") -> None:
        """Note the items of a list. `parent` is what introduces it, if anything does."""
        if _is_contents(block):
            return
        items = tuple(item for item in block.items if item.blocks or not _is_boilerplate(item.text))
        name = self._name(parent)
        steps = _are_steps(items, name) if block.ordered else _CHECKLIST.search(name)
        if steps and self._take_steps(items, name, block.line):
            return
        whole = _whole(f"{name}:", [replace(block, items=items)]) if parent and _are_details(items) else ""
        if whole and len(whole) <= GROUP:
            alone = _stands_alone(parent) or not _same(name, parent)
            self._say(whole, line=block.line, context="" if alone else self._context(parent))
        elif len(items) > 1 and all(map(_is_scrap, items)):
            for text in _packed(inline(item.text) for item in items):
                self._say(text, line=block.line, context=name)
        else:
            context = self._parent(parent, block.line) if parent else None
            for item in items:
                self._take_item(item, context)

    def _name(self, parent: str) -> str:
        """What a list is called: what introduces it, with what stands above that where it says little."""
        bare = parent.rstrip(":： ")
        plain = (bare.isascii() and " " not in bare) or _is_plain(bare)
        return _joined(self._context(parent), bare) if plain else bare

    def _parent(self, parent: str, line: int) -> str:
        """What the items of a split list are read under; a parent that is long is told by itself, too."""
        if len(parent) <= _LONGEST_PARENT:
            return self._name(parent)
        self._tell(parent, line=line)
        return _lead(parent)[0] or self._context()

    def _take_steps(self, items: Sequence[Item], name: str, line: int) -> bool:
        """Note an ordered list as one procedure, unless it is too long for that."""
        steps = tuple(_whole(inline(item.text), item.blocks) for item in items)
        text = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
        if len(text) + len(name) > min(_MOST_STEPS, self.most) or any(len(step) > _LONGEST_STEP for step in steps):
            return False
        self._say(text, line=line, context=name, hint=Kind.PROCEDURE)
        procedure = Procedure(name=name[:_LONGEST_NAME] or "Steps", steps=steps)
        self.told[-1] = replace(self.told[-1], procedure=procedure)
        return True

    def _take_item(self, item: Item, context: str | None) -> None:
        """Note an item with its details; where they are many, each by itself under the item's words."""
        words = inline(item.text)
        whole = _whole(words, item.blocks)
        if not item.blocks:
            self._tell(item.text, line=item.line, context=context, task=item.task)
        elif len(whole) <= GROUP:
            under = ("" if _stands_alone(words) else self._context()) if context is None else context
            self._say_task(item.task, whole, line=item.line, context=under)
        else:
            self._take_details(item, words, context)

    def _take_details(self, item: Item, words: str, context: str | None) -> None:
        named = _lead(item.text)[0] or _shortened(words)
        nested = any(block.sort in ("list", "table") for block in item.blocks)
        base = self._context() if context is None else context
        under = named if len(named.split()) > 1 else _joined(base, named)
        outside = self._heads
        if nested and named:
            self._heads = [*outside, (_LABEL_LEVEL + 1 + len(outside), named)]
        if words and (not nested or len(words) > len(named) + 3):
            self._tell(item.text, line=item.line, context=base if context is not None else None, task=item.task)
        for block in item.blocks:
            match block.sort:
                case "list":
                    self._take_items(block, under)
                case "table":
                    self._take_rows(block, under)
                case "code":
                    self._take_code(block)
                case _:
                    self._tell(block.text, line=block.line, context=under)
        self._heads = outside


_LABEL_LEVEL = 7
_SHORT_ROW = 60
_MOST_STEPS = 1_600
_LONGEST_STEP = 900
_LONGEST_NAME = 200
_LONGEST_HEAD = 100
_LONGEST_PARENT = 120
_EMPTY_HEAD = re.compile(
    r"[\w.-]+\.mdc?|(?:project )?memory(?: index)?|index|general|notes?|other|misc(?:ellaneous)?|main|instructions",
    re.IGNORECASE,
)
"""Headings that say nothing at all: what a file is called, that it is one."""
_AFTER_FILE_NAME = re.compile(r"^[\w.-]+\.mdc? ?[-—–:] ?(?=\w)")
_PLAIN_HEAD = re.compile(
    r"(?:overview|commands?|usage|examples?|important|rules?|setup|status|details?|summary|guidelines?|pattern"
    r"|reference|requirements|key \w+|quick start|tips|features|background|context|introduction"
    r"|description|project(?: (?:overview|context))?|development|resources|links)",
    re.IGNORECASE,
)
_NOISE = r"[^\w`\"'(]*"
_HEAD_NOISE = re.compile(rf"^{_NOISE}(?:\d{{1,3}}(?:\.\d{{1,3}}){{0,3}}[.):]\s{_NOISE})?")
_BELONGS = re.compile(
    r"(?:the )?(?:why(?: it matters| not)?|reason(?:ing)?|rationale|because|how(?: to (?:apply|fix|check))?|apply"
    r"|(?:root )?causes?|fix(?:es)?|solutions?|workarounds?|symptoms?|rule|impact|consequences?|result|lesson|evidence"
    r"|problem|remedy|when|trade-?offs?|alternatives?|原因|解决)",
    re.IGNORECASE,
)
_SHELL = re.compile(r"(?:ba|z|fi|c)?sh|shell|console|terminal|shell-?session|powershell|pwsh|ps1|cmd|bat(?:ch)?")
_RUNNERS = (
    r"(?:npm|npx|pnpm|yarn|bun|make|git|docker|uv|uvx|pip3?|python3?|pytest|cargo|go|dotnet|curl|cd|composer|php|bundle|"
    r"rails|mvn|gradle|kubectl|terraform|brew|apt|gh|\./[\w./-]{1,80})"
)
_PROMPT = re.compile(rf"\s*(?:#[^\n]*\n\s*){{0,5}}(?:\$ |(?:sudo )?{_RUNNERS}\s)")


def _title(front: Mapping[str, str]) -> str:
    """What a file without headings is about, as its front matter says."""
    name = front.get("title") or front.get("name") or front.get("description", "")
    return _head(name if " " in name else " ".join(re.split(r"[-_]+", name)))


def _applies_to(front: Mapping[str, str]) -> str:
    """The files that rules hold for, as the tools write it that have such rules."""
    found = next((front[key] for key in ("globs", "applyto", "paths") if front.get(key)), "")
    return found.strip("[] ")[:_LONGEST_HEAD] if found not in ("**", "**/*", "*") else ""


def _head(text: str) -> str:
    """A heading as a context: its words, without numbers and signs around them, cut where it is long."""
    words = _HEAD_NOISE.sub("", inline(text)).rstrip(":：.!?#—–- ")
    words = _AFTER_FILE_NAME.sub("", words)
    if len(words) > _LONGEST_HEAD:
        parts = re.split(r" [·—–|(→-]+ ?|[.;] ", words)
        words = next((part for part in parts if 8 < len(part) <= _LONGEST_HEAD), next(folded(words, _LONGEST_HEAD)))
    return words.rstrip(":：.!?—–- ") if _WORD.search(words) else ""


def _is_plain(head: str) -> bool:
    """Whether a heading could stand anywhere, so that it says nothing about where it does."""
    return bool(_PLAIN_HEAD.fullmatch(head) or _BELONGS.fullmatch(head))


def _is_label(text: str) -> bool:
    """Whether a paragraph is nothing but a label: a heading by another look."""
    found = label(text)
    if found is None or len(text) > _LONGEST_HEAD or _WORD.search(text[found.end :]):
        return False
    return not (found.text.endswith((".", "!", "。", "！")) and _stands_alone(found.text))


def _introduces(text: str) -> bool:
    """Whether a paragraph leads on to the list or table after it."""
    words = inline(text)
    return words.endswith((":", "：")) or ("\n" not in text and len(words) <= 60 and words[-1:] not in ".!?。！？…")


def _lead(text: str) -> tuple[str, str]:
    """The label that a text begins with, if it does, and the whole text as it is read."""
    found = label(text)
    words = inline(text)
    if found is not None and (found.signed or found.text.endswith((".", "!"))):
        return _head(found.text), words
    plain = _PLAIN_LABEL.match(words)
    return (plain[1] if plain else ""), words


_PLAIN_LABEL = re.compile(r"((?:[A-Z][\w /-]{1,40}(?=:\s)|[\u3040-\ud7af]\w{0,12}(?=[:：])))[:：]\s?")


def _shortened(words: str) -> str:
    """What the details of an item without a label are read under: its words where they are few, or their beginning."""
    bare = words.rstrip(":： ")
    if len(bare) <= _LONGEST_HEAD:
        return bare
    return next(folded(next(sentences(bare), ""), _LONGEST_HEAD), "").rstrip(",;:— ")


def _joined(outer: str, inner: str) -> str:
    return f"{outer}: {inner}" if outer and inner and not _same(outer, inner) else outer or inner


def _same(one: str, other: str) -> bool:
    return canonical_text(one).strip(":： ") == canonical_text(other).strip(":： ")


def _groups(text: str) -> list[str]:
    """A text as groups of sentences of about the same length, none too long unless one sentence is."""
    if len(text) <= GROUP:
        return [text] if text else []
    even = -(-len(text) // -(-len(text) // GROUP))
    groups = [""]
    for sentence in (part for each in sentences(text) for part in folded(each, GROUP + GROUP // 2)):
        joined = f"{groups[-1]} {sentence}".strip()
        if groups[-1] and (len(joined) > GROUP or len(groups[-1]) + len(sentence) // 2 > even):
            groups.append(sentence)
        else:
            groups[-1] = joined
    return groups


def _cut(content: str, most: int) -> Iterator[str]:
    """A piece in parts that may be stored, at the ends of lines where it has any."""
    if len(content) <= most:
        yield content
        return
    yield from _packed((part for line in content.split("\n") for part in folded(line, most)), most, between="\n")


def _packed(texts: Iterable[str], most: int = GROUP, *, between: str = "; ") -> list[str]:
    """Short texts put together, as many at a time as fit."""
    packed: list[str] = []
    for text in texts:
        if packed and len(packed[-1]) + len(between) + len(text) <= most:
            packed[-1] += between + text
        else:
            packed.append(text)
    return packed


def _fenced(code: str, language: str) -> str:
    mark = "````" if "```" in code else "```"
    return f"{mark}{language}\n{code}\n{mark}"


def _code_chunks(code: str, most: int) -> list[str]:
    """Code as it is, or where it is long in parts that were set apart by empty lines."""
    if len(code) <= most + most // 2:
        return [code]
    return _packed(re.split(r"\n\s*\n", code), most, between="\n\n")


def _row(head: Sequence[str], row: Sequence[str]) -> str:
    """A row of a table as a statement: column, value, column, value."""
    named = (f"{head[at]}: {cell}" if at < len(head) and head[at] else cell for at, cell in enumerate(row) if cell)
    return "; ".join(named)


def _whole(words: str, blocks: Iterable[Block]) -> str:
    """Words with everything that is nested under them, in lines."""
    lines = [words] if words else []
    for block in blocks:
        match block.sort:
            case "list":
                lines += _listed(block)
            case "code":
                lines.append(_fenced(block.text, block.language))
            case "table":
                lines += [f"- {_row(block.rows[0], row)}" for row in block.rows[1:] if any(row)]
            case _:
                lines.append(inline(block.text))
    return "\n".join(lines)


def _listed(block: Block) -> Iterator[str]:
    for number, item in enumerate(block.items, start=1):
        mark = f"{number}." if block.ordered else "-"
        words = f"{item.task}: {inline(item.text)}" if item.task else inline(item.text)
        yield f"{mark} {_whole(words, item.blocks)}".replace("\n", "\n  ")


def _are_details(items: Sequence[Item]) -> bool:
    """Whether the items of a list say little without what introduces them."""
    alone = sum(_stands_alone(inline(item.text)) or bool(item.task) for item in items)
    return alone * 2 < len(items)


def _is_scrap(item: Item) -> bool:
    """Whether an item is too little to be a memory by itself: a name, a word or two."""
    words = inline(item.text)
    if item.blocks or item.task or len(words) > 40 or len(words.split()) > 4:
        return False
    return not _RULING.match(words) and not _lead(item.text)[0]


# --- Whether words stand alone, and what they are ---------------------------------------------------------------------

_LEANING = frozenset(
    "it its this that these those they them their he she his her same also and but or so then otherwise instead "
    "however therefore thus such both either neither here there above below example e.g i.e again still not if when "
    "because which where while until after before once plus another other others only".split()
)
"""Words that lean on something before them when a text begins with one."""
_ACTIONS = frozenset(
    "add adjust annotate append apply ask assign assume batch build call capture cast catch change check choose "
    "clean clear click clone close code collect combine commit compare compile complete compute configure confirm "
    "connect consider consult convert copy create cut declare define delete deploy derive describe design detect "
    "disable do document download drop edit embed emit enable ensure establish evaluate execute expect explain "
    "export extend extract fetch fill filter find fix flag flush focus follow format generate get give go grep "
    "group guard handle hide identify imitate implement import include increment index initialize inject inspect "
    "install instantiate investigate invoke isolate keep launch leave link lint list load locate log look maintain "
    "make map mark match measure mention merge migrate mirror mock move name navigate note notify open order "
    "organize output override pass pause pick pin place plan point pop prepare present preserve print process "
    "produce provide publish pull push put query raise rank read rebase rebuild record redirect reduce refactor "
    "refer reference register release reload remove rename render repeat replace replicate report request require "
    "reset resolve respect restart restore retry return reuse revert review rewrite rotate route run save scan "
    "schedule search see select send separate serve set share ship show simplify skip sort specify spin split "
    "squash start state stick stop store strip submit suggest support switch sync tag take target tell test track "
    "translate treat trigger trim try type understand update upgrade upload use validate verify view visit wait "
    "walk warn watch wire work wrap write".split()
)
_RULING = re.compile(
    r"(?:always|never|do|don['’]t|avoid|prefer|must|should|no|only|ensure|make sure|keep|be|please|remember|treat|"
    r"favou?r|limit|forbidden|mandatory|required)\b",
    re.IGNORECASE,
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|must|should|shall|can|cannot|can['’]t|will|won['’]t|may|might|does|do|"
    r"doesn['’]t|don['’]t|isn['’]t|aren['’]t|uses?|runs?|requires?|needs?|lives?|contains?|provides?|returns?|supports?|"
    r"means?|holds?|owns?|handles?|goes|go|belongs?|comes?|makes?|takes?|keeps?|gives?|causes?|fails?|breaks?|works?|"
    r"defaults?|follows?|covers?|shows?|sits?|stores?|reads?|writes?|creates?|calls?|lets?|ensures?|allows?|prevents?|"
    r"expects?|throws?|raises?|exists?|depends?|applies|apply|includes?|passes|sends?|loads?|starts?|enables?|"
    r"represents?|consists?|serves?|manages?|defines?|implements?)\b",
    re.IGNORECASE,
)
_CALL = re.compile(r"important|note|notes|critical|warning|caution|rule|tip|remember|always|mandatory", re.IGNORECASE)
"""Labels that say how much a sentence matters, not what it is about."""
_FIRST = re.compile(r"\W*([\w'’]+(?:\.\w)?)(\s)?")


def _first_word(text: str) -> str:
    found = _FIRST.match(text)
    return found[1].lower() if found else ""


def _asks(text: str) -> bool:
    """Whether a text begins by telling somebody to do something."""
    found = _FIRST.match(text)
    return found is not None and bool(found[2]) and found[1].lower() in _ACTIONS


def _stands_alone(text: str) -> bool:
    """Whether words make sense to somebody who does not see what stands around them."""
    first = _first_word(text)
    if not first or first in _LEANING:
        return False
    named = _PLAIN_LABEL.match(text)
    if named:
        rest = text[named.end() :]
        told = " " in named[1] or _CALL.fullmatch(named[1])
        return bool(told) and len(rest.split()) >= 8 and _stands_alone(rest)
    if len(_WIDE.findall(text)) >= 16:
        return True
    if len(text.split()) < 5:
        return False
    return first in ("i", "we", "you") or bool(_RULING.match(text)) or _asks(text) or bool(_FINITE.search(text))


_CHECKLIST = re.compile(r"\bcheck-?lists?\b|检查清单", re.IGNORECASE)
_STEP_CUE = re.compile(
    r"\b(?:steps?|how to|workflow|process|procedure|setup|set up|setting up|install\w*|checklist|recipe|protocol|"
    r"before \w+ing|to \w+:|when \w+ing|deploy\w*|releas\w+|first run|every session|in order|sequence)\b"
    r"|步骤|流程|部署",
    re.IGNORECASE,
)


def _are_steps(items: Sequence[Item], name: str) -> bool:
    """Whether a numbered list is something to do in that order, and not just numbered."""
    doing = sum(_asks(inline(item.text)) or any(block.sort == "code" for block in item.blocks) for item in items)
    return len(items) > 1 and (doing * 2 >= len(items) if _STEP_CUE.search(name) else doing * 4 >= len(items) * 3)


_PROHIBITION = re.compile(r"(?:do\s+not|don['’]t|avoid|never(?!\s+\w*[^\Ws]s\b))(?:\s*:)?\s+\S", re.IGNORECASE)
"""What forbids something; "never returns" only tells."""
_DECIDED = re.compile(
    r"\b(?:we|i|the team|team|operator|user)(?:['’]ve| have)? (?:\w+ )?"
    r"(?:chose|decided|opted|picked|settled|agreed|went with)\b"
    r"|^(?:key |design )?decisions?\b.{0,20}:|^(?:chose|decided) |我们决定|决策[:：]",
    re.IGNORECASE,
)
_DECIDED_HEAD = re.compile(r"\b(?:decisions|decision log|adrs?)\b", re.IGNORECASE)
_WARNED = re.compile(
    r"⚠|❗|🚨|\b(?:warning|caution|careful|beware|gotchas?|pitfalls?|caveats?|danger(?:ous)?|watch out|silently|"
    r"forbidden|prohibited|known (?:issues?|bugs?)|breaks|will fail|must not)\b"
    r"|\b(?:do|does|is|are|can|will|must) (?-i:NOT)\b|\b(?-i:NEVER)\b|注意|警告",
    re.IGNORECASE,
)
_WARNING_HEAD = re.compile(
    r"\b(?:gotchas?|pitfalls?|caveats?|known (?:issues?|bugs?)|warnings?|troubleshooting|mistakes|anti-?patterns?)\b"
    r"|陷阱",
    re.IGNORECASE,
)
_PREFERRED = re.compile(
    r"^(?:[\w /-]{1,40}: )?prefers?\b|\b(?:user|i|operator|owner) (?:\w+ )?(?:prefers?|likes?|wants?|favou?rs?|"
    r"dislikes?|hates?|expects?|values?)\b",
    re.IGNORECASE,
)
_PREFERRED_HEAD = re.compile(r"\bpreferences?\b|偏好", re.IGNORECASE)
_DEMANDED = re.compile(
    r"\b(?:always|must|should|only use|required|mandatory|ensure|make sure)\b|^(?:use|keep|follow)\b",
    re.IGNORECASE,
)
_COMMANDED = re.compile(rf"(?:[^`]{{0,60}}[:—-] )?`(?:sudo )?{_RUNNERS} [^`]*`|run `", re.IGNORECASE)
_BUILT_HEAD = re.compile(
    r"\b(?:architecture|structure|design|layout|components?|modules?|director(?:y|ies)|folders?|data (?:flow|model)|"
    r"schema|tech(?:nology)? stack|stack|key (?:files|paths)|file locations|services)\b|架构|结构",
    re.IGNORECASE,
)
_CONVENTION_HEAD = re.compile(
    r"\b(?:conventions?|style|guidelines?|standards?|rules?|patterns?|naming|best practices|principles|quality)\b"
    r"|规范|规则",
    re.IGNORECASE,
)


def _kind(told: _Told, *, personal: bool) -> Kind:
    """What sort of knowledge it is, by its words first and by its headings then."""
    heads = " / ".join(told.heads[-2:])
    bare = _unlabelled(told.text)
    if told.procedure or told.hint is Kind.TASK_PROGRESS:
        return told.hint or Kind.PROCEDURE
    if _PROHIBITION.match(bare) and not _BELONGS.fullmatch(_lead(told.text)[0]):
        return Kind.NEGATIVE
    nearest = told.heads[-1] if told.heads else ""
    if _DECIDED.search(told.text) or _DECIDED_HEAD.search(nearest):
        return Kind.DECISION
    wished = _PREFERRED.search(told.text) or _PREFERRED_HEAD.search(heads)
    if wished or (personal and (_RULING.match(bare) or _asks(bare))):
        return Kind.PREFERENCE
    if told.hint is Kind.ARCHITECTURE:
        return told.hint
    if _WARNED.search(told.text) or _WARNING_HEAD.search(nearest):
        return Kind.WARNING
    if told.hint or _COMMANDED.match(told.text):
        return Kind.PROCEDURE
    if _DEMANDED.search(bare) or _RULING.match(bare) or _CONVENTION_HEAD.search(heads):
        return Kind.PATTERN
    return Kind.ARCHITECTURE if _BUILT_HEAD.search(heads) else Kind.FACT


def _unlabelled(text: str) -> str:
    named = _PLAIN_LABEL.match(text)
    return text[named.end() :] if named else text


_TAGLESS = frozenset(
    "the and for with from into this that are was not you your our its how what when where why which who use using "
    "notes note overview general section part other misc new all any key main common file files rules rule about "
    "via per md index memory todo done important project info details more".split()
)
_MOST_TAGS = 5
_LONGEST_TAG = 40


def _tags(heads: Sequence[str]) -> tuple[str, ...]:
    """The telling words of the nearest headings."""
    below = heads[1:] or heads  # the first one names the file
    words = (spelled_tag(word.strip("-_+")) for head in reversed(below[-2:]) for word in _TAG.findall(head))
    telling = (
        word
        for word in words
        if word not in _TAGLESS and (2 < len(word) <= _LONGEST_TAG or _WIDE.match(word)) and not word[0].isdigit()
    )
    return tuple(dict.fromkeys(telling))[:_MOST_TAGS]


_TAG = re.compile(r"[\w+#-]{2,40}")


def _piece(told: _Told, *, personal: bool) -> Piece:
    kind = _kind(told, personal=personal)
    content = _content(told, kind)
    named = mentions(Memory(uid=Uid(""), content=content, created_at=EPOCH, updated_at=EPOCH))
    return Piece(
        content=content,
        kind=kind,
        tags=_tags(told.heads),
        section=told.section,
        line=told.line,
        files=tuple(dict.fromkeys(mention.text for mention in named if mention.sort == "path")),
        procedure=told.procedure,
    )


def _content(told: _Told, kind: Kind) -> str:
    """The words with what they are read under before them.

    A prohibition comes first in any case: it is shown after "do not", so words before it would turn it round.
    """
    text = told.text
    context = "" if _says_already(told) else told.context.rstrip(":： ")
    after = ""
    if kind is Kind.NEGATIVE:
        bare = _unlabelled(text)
        above = text[: len(text) - len(bare)].rstrip(": ") or context
        after = f"({above})" if above and not _is_plain(above) and not _CALL.fullmatch(above) else ""
        text, after = (
            (bare, after) if told.code or "\n" in bare else (f"{bare.rstrip('.')} {after}" if after else bare, "")
        )
    elif context and text:
        text = f"{context}:\n{text}" if told.procedure else f"{context}: {text}"
    elif context:
        text = f"{context}:"
    return "\n".join(part for part in (text, told.code, after) if part)


def _says_already(told: _Told) -> bool:
    """Whether a text has the telling words of the heading that it stands under in it."""
    if told.context not in told.heads and (told.heads or not told.section.startswith(told.context)):
        return False
    telling = {word for word in _words(told.context) if len(word) > 3}
    return bool(telling) and telling <= set(_words(told.text[: 2 * len(told.context) + 80]))
