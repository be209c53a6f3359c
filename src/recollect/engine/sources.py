"""The files of a project: what they say, as items, and the pieces they fall into, as chunks. Both can be searched.

What git lists is read, less what an ignore file names, what may hold secrets, and what nobody wrote by hand. A text is
masked before anything is made of it. Of each file is noted what it was when it was read, in the same step in which its
passages are filed; so whenever this is cut off, the next time goes on where it stopped. A file that is as it was is not
read, and one that says the same as another is not stored again. What is gone, or ignored from now on, takes its
passages with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from pathspec import GitIgnoreSpec

from ..codec import canonical, decode, digest, encode, from_iso, to_iso
from ..disk import private_folder, write_private
from ..errors import InvalidInput, NotFound, ProjectError
from ..formats.items_file import Cited as Cited
from ..formats.items_file import item_json, items_json
from ..model import Change, Corpus, Define, Definition, File, Json, Passage, Unfile
from ..policy.chunks import chunks
from ..policy.knowledge import Item, ItemType, items, unfit, unfit_text
from ..policy.redact import redact
from ..store import Store
from .anchors import WorkingTree
from .parts import Parts
from .repository import existing, locate
from .transfer import Progress

What: TypeAlias = Literal["items", "sources"]
SORT = "source"
"""The sort of definition that notes what a file was when it was read."""
FILE = "items.json"
IGNORE_FILES = (".gitignore", ".secretsignore", ".recollectignore")
RULES = 1
"""Counted up whenever other items or chunks are made of the same text, so that every file is read anew."""

_WRITTEN = ".items.json.written"
_MOST_BYTES = 1_000_000
_MOST_RULES = 200_000
_BATCH_PASSAGES = 80
_BATCH_FILES = 50
_FRESH = 2_000_000_000
"""A file that was changed so few nanoseconds ago may change again without its time telling."""
_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What came of it. `read` and `unchanged` are the files that count; items and chunks are those of the ones read."""

    files: int = 0
    """How many files were looked at, those that were skipped included."""
    read: int = 0
    unchanged: int = 0
    items: int = 0
    chunks: int = 0
    expired: int = 0
    """How many files are gone or ignored from now on; what they said has left the index."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Files that were not read, each with the reason."""
    notes: tuple[str, ...] = ()


def extract(
    parts: Parts,
    root: Path,
    *,
    paths: Sequence[str] = (),
    what: Collection[What] = ("items", "sources"),
    progress: Callable[[int, int], None],
    folder: Path | None = None,
) -> Extracted:
    """Read the files under `root`, or of those only what lies under `paths`, and index what they say.

    What was made of a file before is kept up to date even where `what` does not name it. `folder` is where `items.json`
    is written.
    """
    parts.switch.require_on()
    wanted = _wanted(what)
    tree = _Files.under(root)
    asked = _asked(tree, paths)
    ignored = _Ignored(tree)
    store = parts.project()
    work = _Work(parts, store, wanted, _known(store))
    listed = sorted(path for path in tree.files if asked(path))
    for done, path in enumerate(listed, start=1):
        why = _unnamed(path) or unfit(path) or ignored.why(path) or work.take(tree, path)
        if why:
            work.skip(path, why)
        progress(done, len(listed))
    work.finish(tree, lambda path: asked(path) and (tree.whole or not tree.has(path)))
    parts.wake()
    notes = (*ignored.notes, *(_write_items(parts, store, folder) if folder else ()))
    return work.done(files=len(listed), notes=notes)


def _wanted(what: Collection[str]) -> frozenset[Corpus]:
    if isinstance(what, str) or not what or not set(what) <= {"items", "sources"}:
        raise InvalidInput("what", "is not items, sources or both")
    return frozenset(Corpus(each) for each in what)


def _asked(tree: _Files, paths: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path is one of these, or lies under one."""
    if isinstance(paths, str):
        raise InvalidInput("paths", "expected several paths; put them in a list")
    asked: list[str] = []
    for path in paths:
        real = os.path.realpath(path) if path.startswith("/") else path
        inside = tree.inside(real)
        if not inside and os.path.normpath(os.path.join(tree.root, real)) != tree.root:
            raise InvalidInput("paths", f"{path!r} is not inside {tree.root}")
        asked.append(inside)
    folders = tuple(f"{path}/" for path in asked)
    return lambda path: not paths or "" in asked or path in asked or path.startswith(folders)


def _unnamed(path: str) -> str:
    """Why a file cannot be told by its name."""
    if any("\ud800" <= character <= "\udfff" for character in path):
        return "has a name that is not UTF-8"
    return "has a name that holds what is never stored" if redact(path).findings else ""


# --- Which files ------------------------------------------------------------------------------------------------------


class _Files(WorkingTree):
    """A working tree, for all of its files."""

    @classmethod
    def under(cls, root: Path) -> _Files:
        """The tree under a folder. Raises ProjectError if there is none: nothing is to expire for want of a folder."""
        real = existing(root)
        place = locate(real)
        return cls(real, place.root if place.common else "")

    @property
    def base(self) -> str:
        """The folder from which on ignore files count: that of the repository, or the root."""
        return self._repository or self.root

    @property
    def files(self) -> frozenset[str]:
        """What git tracks or would track, or else what lies under the root."""
        return self._listing.files

    def has(self, path: str) -> bool:
        """Whether there is a file at a path."""
        return self._is_there(path)

    def state(self, path: str) -> os.stat_result | None:
        """What a plain file is like, without a look inside; None of anything else."""
        with suppress(OSError, ValueError):
            held = os.lstat(os.path.join(self.root, path))
            return held if stat.S_ISREG(held.st_mode) else None
        return None


class _Ignored:
    """What the ignore files of a tree name, each with those in the folders above it, as git reads them.

    Git itself leaves out what is ignored and not tracked. Here a file that is tracked counts as ignored as well, and
    there may be no git.
    """

    def __init__(self, tree: _Files) -> None:
        self._base = tree.base
        above = os.path.relpath(tree.root, tree.base)
        self._above = "" if above == "." else f"{above}/"
        self._specs: dict[str, GitIgnoreSpec | None] = {}
        self._folders: dict[str, str] = {}
        self.notes: list[str] = []

    def why(self, path: str) -> str:
        """Which ignore file names a path of the tree, or a folder on the way to it; "" when none does."""
        whole = self._above + path
        return self._of_folder(os.path.dirname(whole)) or self._named(whole)

    def _of_folder(self, folder: str) -> str:
        if not folder:
            return ""
        if folder not in self._folders:
            self._folders[folder] = self._of_folder(os.path.dirname(folder)) or self._named(f"{folder}/")
        return self._folders[folder]

    def _named(self, path: str) -> str:
        for name in IGNORE_FILES:
            folder = path.rstrip("/")
            while folder:
                folder = os.path.dirname(folder)
                spec = self._spec(os.path.join(folder, name))
                found = spec.check_file(path.removeprefix(f"{folder}/") if folder else path).include if spec else None
                if found:
                    return f"is ignored by {name}"
                if found is not None:  # the nearest file that names it decides
                    break
        return ""

    def _spec(self, path: str) -> GitIgnoreSpec | None:
        if path not in self._specs:
            held = _text_of(os.path.join(self._base, path))
            self._specs[path] = self._parsed(path, held) if held else None
        return self._specs[path]

    def _parsed(self, path: str, text: str) -> GitIgnoreSpec:
        kept = [line for line in text.splitlines() if _is_pattern(line)]
        for number, line in enumerate(text.splitlines(), start=1):
            if not _is_pattern(line):
                self.notes.append(f"{path}, line {number}: is no pattern, so it ignores nothing")
        return GitIgnoreSpec.from_lines(kept, backend="simple")


@cache
def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line], backend="simple")
    except (ValueError, re.error):
        return False
    return True


def _text_of(path: str) -> str:
    """A small file of text, "" where there is none."""
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            return file.read(_MOST_RULES).decode("utf-8-sig", "replace")
    except OSError:
        return ""


# --- What was read ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A file as it was when it was read, and how much was made of it; None where nothing was to be."""

    hash: str
    size: int
    mtime: int
    items: int | None = None
    chunks: int | None = None
    rules: int
    at: str = ""
    """When what it says was made of it."""
    same: str = ""
    """The file that says the same, of which the passages are; a copy has none."""

    @property
    def holds(self) -> bool:
        """Whether what is noted counts, and the passages are its own."""
        return self.rules == RULES and not self.same

    @property
    def made(self) -> frozenset[Corpus]:
        counts = {Corpus.ITEMS: self.items, Corpus.SOURCES: self.chunks}
        return frozenset(corpus for corpus, count in counts.items() if count is not None)

    @classmethod
    def of(cls, definition: Definition) -> _Source | None:
        """What a definition notes; None where it is not what it should be, and the file is read anew."""
        value = definition.value
        with suppress(InvalidInput):
            source = decode(cls, value)
            from_iso(source.at)
            return source
        return None

    def begun(self) -> _Source:
        """The same before all of its passages are filed; it counts none, and the file is read anew."""
        items, chunks = (None if count is None else 0 for count in (self.items, self.chunks))
        return replace(self, rules=0, items=items, chunks=chunks)

    def defined(self, path: str) -> Define:
        """The change that notes it."""
        return Define(sort=SORT, name=path, value=encode(self, complete=True))


def _known(store: Store) -> Mapping[str, _Source | None]:
    """Every file that was read before, by its path; None of a note that says nothing.

    Notes can come from elsewhere, as by an import, without the passages they speak of. Then none is relied on.
    """
    noted = {each.name: _Source.of(each) for each in store.definitions(SORT)}
    sources = [source for source in noted.values() if source]
    told = {
        Corpus.ITEMS: sum(source.items or 0 for source in sources),
        Corpus.SOURCES: sum(source.chunks or 0 for source in sources),
    }
    if all(store.statistics((), corpus=corpus).texts >= count for corpus, count in told.items()):
        return noted
    return {path: source and replace(source, rules=0) for path, source in noted.items()}


class _Text(NamedTuple):
    """The text of a file, masked, and what the file was like before it was read."""

    text: str
    hash: str
    size: int
    mtime: int


class _Work:
    """Files that are read one by one and written a few at a time."""

    def __init__(
        self, parts: Parts, store: Store, wanted: frozenset[Corpus], known: Mapping[str, _Source | None]
    ) -> None:
        self._parts = parts
        self._store = store
        self._wanted = wanted
        self._known = known
        self._owners = {source.hash: path for path, source in known.items() if source and source.holds}
        self._left = set(known)
        self._copies: list[str] = []
        self._current: set[str] = set()
        self._counts = Counter[str]()
        self._skipped: dict[str, str] = {}
        self._passages: list[Passage] = []
        self._cuts: list[Unfile] = []
        self._notes: dict[str, _Source] = {}

    def done(self, *, files: int, notes: tuple[str, ...]) -> Extracted:
        """What came of it."""
        return Extracted(files=files, skipped=tuple(self._skipped.items()), notes=notes, **self._counts)

    def take(self, tree: _Files, path: str, *, settled: bool = False) -> str:
        """Read one file, if it is not what it was. Returns why nothing is made of it, or "".

        What may be a copy waits until all others are `settled`, as the one that it is a copy of may be gone.
        """
        state = tree.state(path)
        if state is None:
            return "is no plain file"
        if state.st_size > _MOST_BYTES:
            return "is larger than 1 MB"
        known = self._known.get(path)
        wanted = self._wanted | (known.made if known else frozenset())
        if known is None or known.made != wanted or known.rules != RULES:
            known = None
        elif known.same and not settled:
            self._copies.append(path)
            return ""
        elif (known.size, known.mtime) == (state.st_size, state.st_mtime_ns) and self._stands(known, path, wanted):
            return self._met(path, known.same)
        read = _read(tree, path, state)
        if isinstance(read, str):
            return read
        return self._taken(path, read, known, wanted, settled=settled)

    def _taken(self, path: str, read: _Text, known: _Source | None, wanted: frozenset[Corpus], *, settled: bool) -> str:
        if known is None or known.hash != read.hash:
            self._disown(path)
        owner = self._owner(read.hash, path, wanted) if read.text.strip() else ""
        if owner and not settled:
            self._copies.append(path)
            return ""
        if known and known.hash == read.hash and known.same == owner:
            self._notes[path] = replace(known, size=read.size, mtime=read.mtime)
            return self._met(path, owner)
        self._make(path, read, wanted, owner)
        return f"says the same as {owner}" if owner else ""

    def _stands(self, known: _Source, path: str, wanted: frozenset[Corpus]) -> bool:
        """Whether what is noted holds as far as others are concerned: a copy is one of the same file still."""
        return not known.same or self._owner(known.hash, path, wanted) == known.same

    def _owner(self, hashed: str, path: str, wanted: frozenset[Corpus]) -> str:
        """The other file that says the same and of which all that is wanted was made, or ""."""
        owner = self._owners.get(hashed, "")
        known = self._known.get(owner)
        made = owner in self._current or (known is not None and known.made >= wanted)
        return owner if made and owner != path else ""

    def _disown(self, path: str) -> None:
        known = self._known.get(path)
        if known and self._owners.get(known.hash) == path:
            del self._owners[known.hash]

    def finish(self, tree: _Files, is_gone: Callable[[str], bool]) -> None:
        """Settle what waited, write the rest, and let go of the files that are gone or no longer to be read."""
        for path in self._left.difference(self._copies):
            if is_gone(path) or path in self._skipped:
                self._disown(path)
        for path in self._copies:
            if why := self.take(tree, path, settled=True):
                self.skip(path, why)
        self.write()
        self._expire(path for path in self._left if is_gone(path) or path in self._skipped)

    def _met(self, path: str, owner: str) -> str:
        """A file that is as it was."""
        self._keep(path)
        if owner:
            return f"says the same as {owner}"
        self._counts["unchanged"] += 1
        return ""

    def _keep(self, path: str) -> None:
        self._left.discard(path)
        self._current.add(path)
        if len(self._passages) >= _BATCH_PASSAGES or len(self._notes) >= _BATCH_FILES:
            self.write()

    def _make(self, path: str, read: _Text, wanted: frozenset[Corpus], owner: str) -> None:
        made: dict[Corpus, list[Passage]] = {corpus: [] for corpus in wanted}
        if not owner:
            made = {corpus: _MADE[corpus](read.text, path) for corpus in wanted}
            self._owners[read.hash] = path
            self._counts["read"] += 1
        for corpus, passages in made.items():
            # Each takes the place of the one that was there, which keeps its vector if it says the same.
            self._passages += passages
            self._cuts.append(Unfile(corpus=corpus, document=path, start=len(passages)))
            self._counts["items" if corpus is Corpus.ITEMS else "chunks"] += len(passages)
        self._notes[path] = _Source(
            hash=read.hash,
            size=read.size,
            mtime=read.mtime,
            items=len(made[Corpus.ITEMS]) if Corpus.ITEMS in made else None,
            chunks=len(made[Corpus.SOURCES]) if Corpus.SOURCES in made else None,
            rules=RULES,
            at=to_iso(self._parts.clock()),
            same=owner,
        )
        self._keep(path)

    def skip(self, path: str, why: str) -> None:
        """Tell of a file that it is not read."""
        self._skipped[path] = why

    def write(self) -> None:
        """Write what was read, in one step with the notes on the files; in several where it is too much for one.

        Then the files are noted as not read to the end before the first step, so that being cut off leaves no doubt.
        """
        first = self._passages[:_BATCH_PASSAGES]
        rest = self._passages[_BATCH_PASSAGES:]
        if len(rest) > _BATCH_PASSAGES // 2:
            self._apply([*(source.begun().defined(path) for path, source in self._notes.items()), _filed(first)])
            while len(rest) > _BATCH_PASSAGES:
                self._apply([_filed(rest[:_BATCH_PASSAGES])])
                rest = rest[_BATCH_PASSAGES:]
            first, rest = rest, []
        filed: list[Change] = [_filed([*first, *rest])] if first else []
        changes = [*filed, *self._cuts, *(source.defined(path) for path, source in self._notes.items())]
        if changes:
            self._apply(changes)
        self._passages, self._cuts, self._notes = [], [], {}

    def _expire(self, paths: Iterable[str]) -> None:
        """Take out what files said that are no longer to be read."""
        gone = sorted(paths)
        for start in range(0, len(gone), _BATCH_FILES):
            some = gone[start : start + _BATCH_FILES]
            try:
                self._apply([change for path in some for change in (*_cleared(path), Define(sort=SORT, name=path))])
            except NotFound:  # somebody else was at it at the same time
                for path in some:
                    self._apply(_cleared(path))
                    with suppress(NotFound):
                        self._apply([Define(sort=SORT, name=path)])
        self._counts["expired"] = len(gone)

    def _apply(self, changes: Sequence[Change]) -> None:
        self._store.apply(changes, actor=self._parts.actor, now=self._parts.clock())


def _filed(passages: Sequence[Passage]) -> Change:
    return File(passages=tuple(passages))


def _cleared(path: str) -> list[Change]:
    return [Unfile(corpus=Corpus.ITEMS, document=path), Unfile(corpus=Corpus.SOURCES, document=path)]


def _read(tree: _Files, path: str, state: os.stat_result) -> _Text | str:
    """The text of a file with its secrets masked, or why there is none."""
    held = tree.content(path, _MOST_BYTES)
    if held is None:
        return "cannot be read"
    if b"\0" in held:
        return "is binary"
    try:
        text = held.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "is not UTF-8"
    if why := unfit_text(text, path=path):
        return why
    masked = _masked(text)
    fresh = time.time_ns() - state.st_mtime_ns < _FRESH
    hashed = digest("source", masked)
    return _Text(masked, hashed, state.st_size, -1 if fresh else state.st_mtime_ns)


def _masked(text: str) -> str:
    """A text without its secrets, each of its lines still at its number."""
    for _ in range(3):
        found = redact(text).findings
        if not found:
            return text
        parts: list[str] = []
        done = 0
        for each in found:
            lines = text.count("\n", each.start, each.end)
            parts += text[done : each.start], f"[redacted:{each.kind}]", "\n" * lines
            done = each.end
        text = "".join((*parts, text[done:]))
    return ""


def _item_passages(text: str, path: str) -> list[Passage]:
    return [
        Passage(
            corpus=Corpus.ITEMS,
            document=path,
            position=position,
            label=f"{item.type.value} {item.title}",
            text=item.content,
            payload={
                "id": item.id,
                "type": item.type.value,
                "title": item.title,
                "line": item.line,
                "confidence": item.confidence,
            },
        )
        for position, item in enumerate(items(text, path=path))
    ]


def _chunk_passages(text: str, path: str) -> list[Passage]:
    return [
        Passage(
            corpus=Corpus.SOURCES,
            document=path,
            position=position,
            label=chunk.label,
            text=chunk.text,
            payload={"first": chunk.first, "last": chunk.last},
        )
        for position, chunk in enumerate(chunks(text, path=path))
    ]


_MADE: Mapping[Corpus, Callable[[str, str], list[Passage]]] = {
    Corpus.ITEMS: _item_passages,
    Corpus.SOURCES: _chunk_passages,
}


# --- items.json -------------------------------------------------------------------------------------------------------


def listed_items(parts: Parts) -> tuple[Cited, ...]:
    """Every item that files were found to say, in the order of files and lines."""
    store = parts.project()
    with store.snapshot():
        return tuple(_listed(store))


def _listed(store: Store) -> Iterator[Cited]:
    noted = {each.name: source for each in store.definitions(SORT) if (source := _Source.of(each))}
    count = store.statistics((), corpus=Corpus.ITEMS).texts
    # No model is called "", so no item has a vector of it: these are all there are.
    found = [each.item for each in store.unembedded("", corpus=Corpus.ITEMS, limit=count)]
    cited: list[Cited] = []
    for start in range(0, len(found), _PAGE):
        for entry in store.entries(found[start : start + _PAGE], corpus=Corpus.ITEMS):
            assert isinstance(entry.of, Passage)
            source, item = noted.get(entry.of.document), _item_of(entry.of)
            if source and item:
                cited.append(Cited(item=item, file=entry.of.document, at=from_iso(source.at)))
    yield from sorted(cited, key=lambda each: (each.file, each.item.line, each.item.id))


def _whole(value: Json) -> int:
    return value if isinstance(value, int) else 0


def _item_of(passage: Passage) -> Item | None:
    """The item that a passage was made of; None of one that somebody else filed."""
    told = passage.payload
    if not isinstance(told, dict) or told.get("type") not in set(ItemType):
        return None
    confidence = told.get("confidence")
    return Item(
        id=str(told.get("id")),
        type=ItemType(str(told["type"])),
        title=str(told.get("title")),
        content=passage.text,
        line=_whole(told.get("line")),
        confidence=float(confidence) if isinstance(confidence, int | float) else 0.0,
    )


def _write_items(parts: Parts, store: Store, folder: Path) -> tuple[str, ...]:
    """Write `items.json`, unless it is what it should be. One that somebody edited is set aside and never read."""
    path = private_folder(folder) / FILE
    state = digest("sources", *(canonical([each.name, each.value]) for each in store.definitions(SORT)))
    written = _written(folder)
    there = _hash_of(path)
    if there and [state, there] == written[:2]:
        return ()
    text = items_json(listed_items(parts))
    hashed = hashlib.sha256(text.encode()).hexdigest()
    notes = () if there in ("", hashed, *written[1:]) else (_set_aside(parts, path),)
    # What is about to be written is noted first: whenever this is cut off, the file is known as one of ours.
    write_private(folder / _WRITTEN, [json.dumps([state, hashed, *written[1:4]])])
    if there != hashed:
        write_private(path, [text])
    return notes


def _written(folder: Path) -> list[str]:
    """What `items.json` was last made from, and the hashes of what was written, the last one first."""
    try:
        told = json.loads((folder / _WRITTEN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return [""]
    return [str(each) for each in told] if isinstance(told, list) and told else [""]


def _hash_of(path: Path) -> str:
    """The hash of a file; "" where there is none, "?" where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(path.stat().st_mode) else "?"
    except FileNotFoundError:
        return ""
    except OSError:
        return "?"


def _set_aside(parts: Parts, path: Path) -> str:
    stamp = parts.clock().strftime("%Y%m%dT%H%M%SZ")
    names = (f"{FILE}.edited-{stamp}{again}" for again in ("", *(f"-{number}" for number in range(2, 1_000))))
    aside = next(each for name in names if not os.path.lexists(each := path.with_name(name)))
    os.replace(path, aside)
    return f"{FILE} is made from the files and was changed by somebody; what it was is kept as {aside.name}"


def as_json(cited: Cited) -> Json:
    """An item as `items.json` has it."""
    return item_json(cited)


class Items:
    """The knowledge of one project's own files."""

    def __init__(self, parts: Parts, root: Path | None, folder: Path | None) -> None:
        """`root` is the working tree, `folder` where `items.json` lies."""
        self._parts = parts
        self._root = root
        self._folder = folder

    def extract(
        self,
        paths: Sequence[str] = (),
        *,
        what: Sequence[What] = ("items", "sources"),
        progress: Progress | None = None,
    ) -> Extracted:
        """Read the files that have changed, or those named; what deleted and ignored files said expires."""
        self._parts.switch.require_on()
        if self._root is None:
            raise ProjectError("a memory without a project has no files to read")
        quiet: Progress = progress or (lambda done, total: None)
        return extract(self._parts, self._root, paths=paths, what=what, progress=quiet, folder=self._folder)

    def restore_file(self) -> tuple[str, ...]:
        """Write `items.json` as it should be, if it was ever written and is not; what somebody changed is set aside.

        Returns what is to be told of that.
        """
        if self._folder is None or self._parts.switch.off_where() or not (self._folder / _WRITTEN).exists():
            return ()
        return _write_items(self._parts, self._parts.project(), self._folder)

    def list(self) -> tuple[Cited, ...]:
        """Every item, by file and line."""
        return listed_items(self._parts)
