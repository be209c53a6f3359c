"""How the code that memories are tied to stands, looked at just before they are shown.

`anchors.check` takes its time, asks git and reads the prose of a memory; here only its anchors count, no program is
run, and what has not changed since the last look costs one look at the file. Of an anchor it is said:

- UNCHANGED: the file has the content it had. Without a hash to compare: the file is there, and names the symbol.
- CHANGED: the file has other content. A symbol that is still in it makes no difference to that, and the note says so.
- MOVED: the file is not at its place, and one other can be it: that of the same name and content; that which defines
  the symbol; that whose path ends in the anchor's; or, with nothing to compare, the only one of its name. Or the file
  is there without the symbol, and one file beside it defines it.
- GONE: the file is not there, and the whole tree was searched for it since. Or the file is there, does not so much as
  name the symbol, and no one file beside it defines it.
- UNTIED: nothing can be said. The path leads out of the folder, is a pattern, cannot be read, is missing where things
  are made or downloaded, or is too much to read at once.

A tree may be too large to search while somebody waits, so a search goes on from call to call. Until it is through, a
file that is not at its place is CHANGED and not GONE: what is gone is withheld, and that must not happen by mistake.

Nothing outside the folder is opened or looked at: folders are opened one from the other without following links, and a
link is followed by hand, as far as it stays inside.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import Enum
from io import BufferedReader
from itertools import islice
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Generic, NamedTuple, TypeVar

from ..errors import ProjectError
from ..model import Anchor, Memory, Scope, Standing
from .anchors import MOST_TEXT, PASSED_OVER, content, digest, inside, is_binary, opened, shown
from .repository import existing

_MOST_READ = 64_000_000
_MOST_KEPT = 10_000
_MOST_OPEN = 48
_MOST_ALIKE = 64
_MOST_BESIDE = 40
_MOST_IN_FOLDER = 20_000
_MOST_SEARCHED = 500_000
_DEEPEST = 64
_MOST_LINKS = 20
_SETTLED_NS = 2_000_000_000
"""How long a file must have been left alone before its state stands for its content: clocks of files are coarse."""
_FRESH_SECONDS = 30.0
_KNOWN_SECONDS = 0.004
"""How long a call goes on with a search that can only better what is known."""
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LINE_OF_FILE = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)\Z")
_PATTERN = re.compile(r"[*?<>{}]")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """How the code of one memory stands, with a note for each anchor that is not as it was."""

    standing: Standing = Standing.UNTIED
    notes: tuple[str, ...] = ()


def together(standings: Iterable[Standing]) -> Standing:
    """How a memory stands, by its anchors: gone only when each of them is, and else changed when any is not there."""
    found = set(standings)
    if found == {Standing.GONE}:
        return Standing.GONE
    if Standing.GONE in found:
        return Standing.CHANGED
    order = (Standing.CHANGED, Standing.MOVED, Standing.UNCHANGED)
    return next((each for each in order if each in found), Standing.UNTIED)


class Standings:
    """How memories stand in one folder. It keeps what it learned of files; calls from several threads take turns."""

    def __init__(self, root: Path | None, *, patience: float = 0.02) -> None:
        """`patience` is for how many seconds a call may search the tree for files that are not at their place."""
        self._root = ""
        if root is not None:
            with suppress(ProjectError):
                self._root = existing(root)
        self._patience = patience
        self._turn = Lock()
        self._hashes = _Known[str]()
        self._symbols = _Known[_Presence]()
        self._searches = _Searches()

    def of(self, memories: Iterable[Memory]) -> dict[str, Checked]:
        """How each memory stands, by its `ref`. A global memory is tied to no folder. Never an error."""
        wanted = {memory.ref: () if memory.scope is Scope.GLOBAL else memory.anchors for memory in memories}
        anchors = dict.fromkeys(anchor for each in wanted.values() for anchor in each)
        told = self._told(anchors) if anchors and self._root else {}
        return {ref: _checked([told[anchor] for anchor in each if anchor in told]) for ref, each in wanted.items()}

    def _told(self, anchors: Iterable[Anchor]) -> dict[Anchor, _Told]:
        with self._turn, suppress(OSError), _Tree(self._root) as tree:
            look = _Look(tree, self._hashes, self._symbols)
            paths = {anchor: _path_of(self._root, anchor) for anchor in anchors}
            there = {path: look.at(path) is not None for path in paths.values() if _may_be_missed(path)}
            self._searches.note(there)
            if missing := [path for path, is_there in there.items() if not is_there]:
                self._searches.go_on(tree, missing, self._patience)
            return {anchor: self._of(anchor, path, look) for anchor, path in paths.items()}
        return {}

    def _of(self, anchor: Anchor, path: str, look: _Look) -> _Told:
        if not path:
            return _UNTIED
        if (seen := look.at(path)) is None:
            return self._missing(anchor, path, look)
        if stat.S_ISDIR(seen.state.st_mode):
            return _folder(anchor, path)
        if not stat.S_ISREG(seen.state.st_mode):
            return _UNTIED
        return _file(anchor, path, seen, look)

    def _missing(self, anchor: Anchor, path: str, look: _Look) -> _Told:
        if not _may_be_missed(path):
            return _UNTIED
        alike = self._searches.alike(path)
        at = {seen.path: seen for each in alike[:_MOST_ALIKE] if (seen := look.at(each)) and seen.path}
        if place := _elsewhere(anchor, path, [*at.values()], look):
            return _Told(Standing.MOVED, f"{path} is not there any more; {place} may be what it is now")
        if len(alike) > _MOST_ALIKE or not self._searches.is_through(path):
            return _Told(Standing.CHANGED, f"{path} is not there any more; whether it is elsewhere is not known")
        return _Told(Standing.GONE, f"{path} is not there any more")


# --- One anchor -------------------------------------------------------------------------------------------------------


class _Told(NamedTuple):
    standing: Standing
    note: str = ""


_UNTIED = _Told(Standing.UNTIED)
_UNCHANGED = _Told(Standing.UNCHANGED)


def _checked(told: list[_Told]) -> Checked:
    notes = dict.fromkeys(shown(each.note) for each in told if each.note)
    return Checked(standing=together(each.standing for each in told), notes=tuple(notes))


def _path_of(root: str, anchor: Anchor) -> str:
    """The path of an anchor from the root, "" when it is none that is looked up."""
    path = inside(root, _LINE_OF_FILE.sub("", anchor.path))
    return "" if path.count("/") > _DEEPEST else path


def _may_be_missed(path: str) -> bool:
    """Whether it says something that a path is not there: neither a pattern nor what is made or downloaded."""
    return bool(path) and not _PATTERN.search(path) and PASSED_OVER.isdisjoint(path.split("/"))


def _folder(anchor: Anchor, path: str) -> _Told:
    if anchor.content_hash:
        return _Told(Standing.CHANGED, f"{path} is a folder now")
    return _UNTIED if anchor.symbol else _UNCHANGED


def _file(anchor: Anchor, path: str, seen: _Seen, look: _Look) -> _Told:
    """How an anchor stands whose file is at its place."""
    held = look.hash_of(seen) if anchor.content_hash else ""
    if held and held == anchor.content_hash:
        return _UNCHANGED
    presence = look.presence(seen, anchor.symbol) if anchor.symbol else _Presence.UNKNOWN
    if anchor.symbol and presence in {_Presence.NAMED, _Presence.ABSENT}:
        beside = [each.path for each in look.beside(seen) if look.presence(each, anchor.symbol) is _Presence.DEFINED]
        if len(beside) == 1:
            return _Told(Standing.MOVED, f"{anchor.symbol} is not in {path} any more, but in {beside[0]}")
        if presence is _Presence.ABSENT:
            return _Told(Standing.GONE, f"{anchor.symbol} is not in {path} any more")
    if held:
        kept = "" if presence is _Presence.UNKNOWN else f"; {anchor.symbol} is still in it"
        return _Told(Standing.CHANGED, f"{path} has changed since{kept}")
    unread = anchor.content_hash or (anchor.symbol and presence is _Presence.UNKNOWN)
    return _UNTIED if unread else _UNCHANGED


def _elsewhere(anchor: Anchor, path: str, alike: list[_Seen], look: _Look) -> str:
    """The one file that a missing one can be, "" when there is none or there are several."""
    same = [each for each in alike if anchor.content_hash and look.hash_of(each) == anchor.content_hash]
    fitting = [each for each in alike if _fits(anchor, each, look)]
    ending = f"/{path}".casefold()
    longer = [each for each in fitting if f"/{each.path}".casefold().endswith(ending)]
    alone = fitting if anchor.symbol or not anchor.content_hash else []
    return next((found[0].path for found in (same, longer, alone) if len(found) == 1), "")


def _fits(anchor: Anchor, seen: _Seen, look: _Look) -> bool:
    """Whether a file or folder elsewhere has the symbol, where there is one to have."""
    if stat.S_ISDIR(seen.state.st_mode):
        return not anchor.symbol and not anchor.content_hash
    return not anchor.symbol or look.presence(seen, anchor.symbol) is _Presence.DEFINED


# --- Symbols ----------------------------------------------------------------------------------------------------------

_MOST_PLACES = 200
_NEAR = 200
_NAME = re.compile(r"[^\W\d]\w*")
_DEFINES = re.compile(
    r"(?:\b(?:def|class|function|func|fn|fun|const|let|var|val|type|interface|struct|enum|trait|union|module|mod|"
    r"namespace|object|record|protocol|sub|proc|impl|typedef)[ \t*&]|#[ \t]*define[ \t]|\bmacro_rules![ \t])"
    r"[ \t]*(?:\([^()\n]{0,100}\)[ \t]*)?(?:[\w.:]{1,80}(?:\.|::))?\Z"
)
"""What stands before a name where it is defined."""
_OPENS = re.compile(r"[ \t]*(?:[\w<>\[\],.*&:?@]{1,60}[ \t]+){0,6}(?:[\w.:]{1,80}(?:\.|::))?[*&\"']{0,2}\Z")
"""What may stand between the beginning of a line and a name that is given a value or a body there."""
_GIVEN = re.compile(r"[\"']?[ \t]*(?:=(?![=>])|:|\([^;\n]{0,200}[{:][ \t]*(?:\n|\Z))")


class _Presence(Enum):
    UNKNOWN = "unknown"
    """It is no text, or cannot be read now."""
    ABSENT = "absent"
    NAMED = "named"
    DEFINED = "defined"


def _presence(text: str, symbol: str) -> _Presence:
    """How a text has a symbol such as `Session.renew`: as all of its names, and the last as one that is defined."""
    names = _NAME.findall(symbol)
    if not all(any(_places(text, name)) for name in names[:-1]):
        return _Presence.ABSENT
    found = _Presence.ABSENT if names else _Presence.NAMED
    for start in islice(_places(text, names[-1]) if names else (), _MOST_PLACES):
        found, end = _Presence.NAMED, start + len(names[-1])
        before = text[max(text.rfind("\n", 0, start) + 1, start - _NEAR) : start]
        opens = _OPENS.match(before) and _GIVEN.match(text[end : end + _NEAR])
        if opens or _DEFINES.search(before):
            return _Presence.DEFINED
    return found


def _places(text: str, name: str) -> Iterator[int]:
    """Where a name stands as a word of its own."""
    return (found.start() for found in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text))


# --- What is read, and what is kept of it -----------------------------------------------------------------------------

_Signature = tuple[int, int, int, int, int]


class _Seen(NamedTuple):
    """What is at a path, its links followed; of neither sort when that cannot be said."""

    path: str = ""
    state: os.stat_result = os.stat_result((0,) * 10)

    @property
    def signature(self) -> _Signature:
        return _signature(self.state)


def _signature(state: os.stat_result) -> _Signature:
    """What differs when content does: a change sets the last of these, whatever is done to the others."""
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


class _Known(Generic[_T]):
    """What was learned of files when they were last read, good for as long as they look the same."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], tuple[_Signature, _T]] = {}

    def get(self, seen: _Seen, about: str = "") -> _T | None:
        held = self._held.get((seen.path, about))
        return held[1] if held and held[0] == seen.signature else None

    def keep(self, seen: _Seen, learned: _T, about: str = "") -> None:
        """Not of a file that was just written: it may be written again without looking any different."""
        if time.time_ns() - seen.state.st_ctime_ns < _SETTLED_NS:
            return
        if len(self._held) >= _MOST_KEPT:
            self._held.clear()
        self._held[seen.path, about] = (seen.signature, learned)


class _Look:
    """The files of a tree as they are during one call. Each is looked at once, and only so much is read of all."""

    def __init__(self, tree: _Tree, hashes: _Known[str], symbols: _Known[_Presence]) -> None:
        self._tree, self._hashes, self._symbols = tree, hashes, symbols
        self._left = _MOST_READ
        self._at: dict[str, _Seen | None] = {}
        self._beside: dict[tuple[str, str], list[_Seen]] = {}

    def at(self, path: str) -> _Seen | None:
        """What is at a path, None when nothing is."""
        if path not in self._at:
            try:
                self._at[path] = self._tree.look(path)
            except (FileNotFoundError, NotADirectoryError):
                self._at[path] = None
            except (OSError, ValueError):  # a name that cannot be encoded is a ValueError
                self._at[path] = _Seen()
        return self._at[path]

    def hash_of(self, seen: _Seen) -> str:
        """The hash of a file, "" when it cannot be read now."""
        found = self._hashes.get(seen)
        if found is None:
            found = self._read(seen, digest) or ""
            if found:
                self._hashes.keep(seen, found)
        return found

    def presence(self, seen: _Seen, symbol: str) -> _Presence:
        """How a file has a symbol."""
        found = self._symbols.get(seen, symbol)
        if found is None:
            held = self._read(seen, content) if seen.state.st_size <= MOST_TEXT else None
            if held is None:
                return _Presence.UNKNOWN
            found = _Presence.UNKNOWN if is_binary(held) else _presence(held.decode("utf-8", "replace"), symbol)
            self._symbols.keep(seen, found, symbol)
        return found

    def _read(self, seen: _Seen, reading: Callable[[BufferedReader], _T]) -> _T | None:
        """What is read of a file that is still the one that was seen, if enough is left of what one call may read."""
        if not stat.S_ISREG(seen.state.st_mode) or seen.state.st_size > self._left:
            return None
        with suppress(OSError, ValueError), self._tree.file(seen.path) as file:
            if _signature(os.fstat(file.fileno())) == seen.signature:
                self._left -= seen.state.st_size
                return reading(file)
        return None

    def beside(self, seen: _Seen) -> list[_Seen]:
        """The other plain files of its folder that end as it does, unless there are many."""
        folder, name = os.path.split(seen.path)
        _, ending = os.path.splitext(name)
        if (folder, ending) not in self._beside:
            paths: list[str] = []
            with suppress(OSError):
                names = (entry.name for entry in islice(self._tree.entries(folder), _MOST_IN_FOLDER))
                paths = sorted(os.path.join(folder, each) for each in names if os.path.splitext(each)[1] == ending)
            found = [self.at(path) for path in paths] if len(paths) <= _MOST_BESIDE else []
            self._beside[folder, ending] = [each for each in found if each and each.path]
        return [each for each in self._beside[folder, ending] if each.path != seen.path]


# --- Staying inside ---------------------------------------------------------------------------------------------------


class _Tree:
    """The folders under a root, opened one from the other for the time of a call, and never through a link."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._folders: dict[str, int] = {}
        self._closing = ExitStack()

    def __enter__(self) -> _Tree:
        """Raises OSError when the root is not there."""
        self.folder("")
        return self

    def __exit__(self, sort: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        self._folders.clear()
        self._closing.close()

    def folder(self, path: str) -> int:
        """A descriptor of a folder, good until the next is asked for."""
        if path in self._folders:
            return self._folders[path]
        if len(self._folders) > _MOST_OPEN:
            self._close()
        at, parent = "", None
        for name in ("", *path.split("/")) if path else ("",):
            at = f"{at}/{name}" if at else name
            if at not in self._folders:
                self._folders[at] = os.open(name or self._root, _FOLDER_FLAGS, dir_fd=parent)
                self._closing.callback(os.close, self._folders[at])
            parent = self._folders[at]
        return self._folders[path]

    def look(self, path: str) -> _Seen:
        """What is at a path. Raises OSError: EXDEV when a link leads out, as the system itself would call it."""
        try:
            state = self._state(path)
        except OSError as error:
            if error.errno not in {errno.ENOTDIR, errno.ELOOP}:
                raise
            path = self._followed(path)
            state = self._state(path)
        if stat.S_ISLNK(state.st_mode):
            path = self._followed(path)
            state = self._state(path)
        return _Seen(path, state)

    def _state(self, path: str) -> os.stat_result:
        if not path:
            return os.fstat(self.folder(""))
        folder, name = os.path.split(path)
        return os.stat(name, dir_fd=self.folder(folder), follow_symlinks=False)

    def _followed(self, path: str) -> str:
        """A path without links, each of them followed by hand."""
        ahead, real = path.split("/")[::-1], list[str]()
        links = 0
        while ahead:
            match ahead.pop():
                case "" | ".":
                    continue
                case ".." if real:
                    real.pop()
                case "..":
                    raise OSError(errno.EXDEV, "leads out of the folder")
                case name if stat.S_ISLNK(self._state("/".join((*real, name))).st_mode):
                    links += 1
                    target = os.readlink(name, dir_fd=self.folder("/".join(real)))
                    if target.startswith("/"):
                        target, real = self._below(target), []
                    if links > _MOST_LINKS or target.count("/") > _DEEPEST:
                        raise OSError(errno.ELOOP, "too many links")
                    ahead.extend(target.split("/")[::-1])
                case name:
                    real.append(name)
        return "/".join(real)

    def _below(self, target: str) -> str:
        """What follows the root in a path from the top."""
        above = self._root.rstrip("/") + "/"
        if not f"{target}/".startswith(above):
            raise OSError(errno.EXDEV, "leads out of the folder")
        return target[len(above) :]

    def file(self, path: str) -> BufferedReader:
        """A file by a path without links."""
        folder, name = os.path.split(path)
        return opened(name, self.folder(folder))

    def entries(self, path: str) -> Iterator[os.DirEntry[str]]:
        with os.scandir(self.folder(path)) as found:
            yield from found


# --- Searching the tree -----------------------------------------------------------------------------------------------


class _Search:
    """A walk over the tree for files and folders of some names, case aside: what lies near first, in many steps."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.begun = time.monotonic()
        self.found: defaultdict[str, list[str]] = defaultdict(list)
        self.whole = True
        """False once something was left out, so that what was not found may still be there."""
        self._names = frozenset(map(_name, paths))
        # Round by round: the folders on the way to a path, then those beside them, then those within.
        near = (str(folder) for path in paths for folder in Path(path).parents)
        self._ahead = deque(dict.fromkeys(["" if folder == "." else folder for folder in (*near, ".")]))
        self._met = set(self._ahead)
        self._left = _MOST_SEARCHED

    @property
    def over(self) -> bool:
        return not self._ahead

    def go_on(self, tree: _Tree, until: float) -> None:
        """Look into folders till the time is over, and into one at least."""
        while self._ahead:
            with suppress(OSError, ValueError):  # a folder that is not there any more, or that cannot be read
                self._look_into(tree, self._ahead.popleft())
            if self._left < 0:
                self._ahead.clear()
                self.whole = False
            if time.monotonic() >= until:
                break

    def _look_into(self, tree: _Tree, folder: str) -> None:
        within = f"{folder}/" if folder else ""
        for count, entry in enumerate(tree.entries(folder)):
            if count == _MOST_IN_FOLDER:
                self.whole = False
                break
            self._left -= 1
            if (name := entry.name.casefold()) in self._names:
                self.found[name].append(within + entry.name)
            if entry.is_dir(follow_symlinks=False) and entry.name not in PASSED_OVER:
                path = within + entry.name
                if path not in self._met and path.count("/") < _DEEPEST:
                    self._met.add(path)
                    self._ahead.append(path)


class _Searches:
    """Which paths are missing, and what the searches for them have found."""

    def __init__(self) -> None:
        self._missing: dict[str, int] = {}
        """By path, the first search that can tell where it went: one that began when it was missing already."""
        self._begun = 0
        self._running: _Search | None = None
        self._last: _Search | None = None
        self._through = 0
        """How many searches are over: those begun, less the one that is running."""

    def note(self, there: Mapping[str, bool]) -> None:
        """Take note of paths that were looked at."""
        if len(self._missing) > _MOST_KEPT:
            self._missing.clear()
        for path, is_there in there.items():
            if is_there:
                self._missing.pop(path, None)
            else:
                self._missing.setdefault(path, self._begun + 1)

    def is_through(self, path: str) -> bool:
        """Whether the whole tree was searched for a path since it is missing."""
        return self._last is not None and self._last.whole and self._missing.get(path, self._begun + 1) <= self._through

    def alike(self, path: str) -> list[str]:
        """What has the name of a path, of what was found so far; those nearest to the root first."""
        searches = [each for each in (self._running, self._last) if each]
        found = {each for search in searches for each in search.found.get(_name(path), ())}
        return sorted(found, key=lambda each: (each.count("/"), each))

    def go_on(self, tree: _Tree, missing: Iterable[str], patience: float) -> None:
        """Search while there is patience; shortly when something is known already of all that is missing just now."""
        if self._running is None and not self._is_new and self._is_fresh:
            return
        urgent = any(self._missing[path] > self._through and not self.alike(path) for path in missing)
        until = time.monotonic() + (patience if urgent else min(patience, _KNOWN_SECONDS))
        while True:
            if self._running is None:
                self._begun += 1
                self._running = _Search(self._missing)
            self._running.go_on(tree, until)
            if not self._running.over:
                return
            self._last, self._running, self._through = self._running, None, self._begun
            if not self._is_new or time.monotonic() >= until:
                return

    @property
    def _is_new(self) -> bool:
        """Whether something is missing for which no search is through."""
        return max(self._missing.values(), default=0) > self._through

    @property
    def _is_fresh(self) -> bool:
        return self._last is not None and time.monotonic() - self._last.begun < _FRESH_SECONDS


def _name(path: str) -> str:
    return os.path.basename(path).casefold()
