"""What memories say about code, checked against the working tree.

A `WorkingTree` reads what is asked of it, once, and within bounds: its files, what git remembers of those that are
gone, the words of its text, the targets and scripts it offers, the versions it declares. `check` compares a memory
with it. Whatever cannot be read says nothing: no git, no folder, a file that is too large or leads out of the tree
make for fewer findings and never for an error.

Git is asked to list and to remember, and nothing in the repository can make it run a program, reach the network or
look elsewhere.
"""

from __future__ import annotations

import configparser
import hashlib
import json
import os
import re
import selectors
import stat
import subprocess
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from ..errors import ProjectError
from ..model import Memory
from ..policy.mentions import Mention, admits, mentions, plain_name
from .repository import existing, locate

State = Literal["gone", "moved", "changed", "unknown"]
_T = TypeVar("_T")

_MOST_FILES = 50_000
_MOST_FOLDERS = 20_000
MOST_TEXT = 1_000_000
"""The largest file whose words are looked at, in bytes."""
_MOST_WORDS_READ = 64_000_000
_MOST_MANIFESTS = 40
_MOST_MANIFEST = 200_000
_MOST_LOCKED = 8_000_000
_MOST_RULES = 2_000
_MOST_HASHED = 64_000_000
_MOST_TOLD = 32_000_000
_MOST_COMMITS = 5_000
_MOST_PATCHES = 500
_LIST_SECONDS = 10.0
_PAST_SECONDS = 5.0
_LONGEST_DETAIL = 300
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

PASSED_OVER = frozenset(
    ".git .hg .svn node_modules bower_components .venv venv __pycache__ .tox .nox .mypy_cache .pytest_cache "
    ".ruff_cache .cache .next .nuxt .gradle .idea dist build target site-packages .terraform Pods".split()
)
"""Folders that are not walked where git cannot say what is ignored: what is in them is made or downloaded."""
_NOT_THE_CODE = frozenset(
    "CLAUDE.md CLAUDE.local.md AGENTS.md GEMINI.md MEMORY.md copilot-instructions.md .cursorrules".split()
)
_NOT_THE_CODE_FOLDERS = frozenset({".claude", ".cursor", ".recollect"})
"""What agents were told. It says what memories say, so it proves nothing about the code."""
_DATA = frozenset(
    "json jsonl ndjson csv tsv lock svg map xml log po pot ipynb geojson sum snap har txt html sql".split()
)
"""Endings of text that may be too large to read without a name of the code going unseen."""
_ELSEWHERE = re.compile(r"/|~|[A-Za-z]:[\\/]|[a-z+]+://")
"""How paths begin that are not relative to the tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """One mention that the working tree does not bear out.

    `gone`: it is not there any more. `moved`: it is elsewhere, and `detail` says where when that is known. `changed`:
    it is there and not what it was. `unknown`: it is not there, and nothing says that it ever was. Only what is
    `strong` is evidence against the memory; the rest is a reason to look.
    """

    mention: Mention
    state: State
    detail: str
    strong: bool


def check(memory: Memory, tree: WorkingTree) -> tuple[Stale, ...]:
    """What the memory mentions and the tree does not have, in the order of its mentions. Nothing is never an error."""
    if not tree.root:
        return ()
    anchored = any(tree.knew(path) for path in memory.files)
    found = (_judged(mention, tree, anchored) for mention in mentions(memory))
    return tuple(stale for stale in found if stale)


def told(stale: Stale) -> str:
    """What is not borne out, in words that stand by themselves."""
    return stale.detail if stale.mention.text in stale.detail else f"{stale.mention.text}: {stale.detail}"


def file_hash(path: Path) -> str:
    """The SHA-256 of a file's bytes in hex, for the `content_hash` of an anchor; "" when it cannot be read."""
    try:
        with open(path, "rb", opener=lambda name, _: os.open(name, os.O_RDONLY | os.O_NONBLOCK)) as file:
            return digest(file)
    except (OSError, ValueError):  # a NUL in the path is a ValueError
        return ""


def hash_in(root: str, path: str) -> str:
    """The hash of a file of a tree, "" when it is none of its files or leads out of it."""
    relative = inside(root, path)
    place = os.path.realpath(os.path.join(root, relative)) if relative else ""
    return file_hash(Path(place)) if place.startswith(os.path.realpath(root) + os.sep) else ""


def inside(root: str, path: str) -> str:
    """A path as one relative to the root, "" when by its name it leads out of the root or is the root itself."""
    relative = path.removeprefix(root + "/") if path.startswith("/") else path
    if "\0" in relative or _ELSEWHERE.match(relative):
        return ""
    normal = os.path.normpath(relative)
    return "" if normal == "." or normal.split("/")[0] == ".." else normal


def opened(path: str, folder: int | None = None) -> BufferedReader:
    """A file, from an open folder if one is given. It does not follow a link, and it does not wait at a pipe."""
    return open(path, "rb", opener=lambda name, _: os.open(name, _READ_FLAGS, dir_fd=folder))


def content(file: BufferedReader, most: int = MOST_TEXT) -> bytes | None:
    """The bytes of an open file, None when it is no plain one or too large."""
    held = os.fstat(file.fileno())
    return file.read(most) if stat.S_ISREG(held.st_mode) and held.st_size <= most else None


def digest(file: BufferedReader) -> str:
    """The SHA-256 of an open file in hex, "" when it is no plain one or too large."""
    held = os.fstat(file.fileno())
    if not stat.S_ISREG(held.st_mode) or held.st_size > _MOST_HASHED:
        return ""
    return hashlib.file_digest(file, "sha256").hexdigest()


def is_binary(held: bytes) -> bool:
    """Whether content is no text."""
    return b"\0" in held[:8192]


def shown(detail: str) -> str:
    """Names of files are others' to choose: only what can be printed is told of them, and not all of a long one."""
    return "".join(char if char.isprintable() else "?" for char in detail[:_LONGEST_DETAIL])


# --- The working tree -------------------------------------------------------------------------------------------------


class _Listing(NamedTuple):
    """The files of a tree. `by_name` finds files and folders by their last part; `whole` is False when it was cut."""

    files: frozenset[str]
    by_name: Mapping[str, list[str]]
    whole: bool


class _Past(NamedTuple):
    """What is not at its place any more: paths and folders by their last part, and the new names of renamed ones."""

    by_name: Mapping[str, list[str]]
    moved: Mapping[str, str]


class _Words(NamedTuple):
    """The words of all text; `whole` is False when text was left unread that may hold others."""

    known: frozenset[str]
    whole: bool


class _Offer(NamedTuple):
    """The targets or scripts that the files of a runner define; `open` when they can define more than is seen."""

    names: frozenset[str]
    files: tuple[str, ...]
    open: bool = False


class _Declared(NamedTuple):
    """A version that a file of the tree asks for, or that a lock file settled on."""

    spec: str
    where: str
    caret: bool = False
    locked: bool = False


class WorkingTree:
    """The files under one folder. What is asked for is read when it is first asked for, and then kept."""

    def __init__(self, root: str, repository: str) -> None:
        self.root = root
        """The real path of the folder, "" when there is none and nothing will be found."""
        self._repository = repository
        self._inside: dict[str, bool] = {}
        self._words_of: dict[str, frozenset[str] | None] = {}

    @classmethod
    def read(cls, root: Path) -> WorkingTree:
        """The tree under `root`, inside a repository or not. A folder that does not exist is an empty tree."""
        try:
            real = existing(root)
        except ProjectError:
            return cls("", "")
        place = locate(real)
        return cls(real, place.root if place.common else "")

    # --- paths ---

    def inside(self, path: str) -> str:
        """A path relative to the root, "" when it leads out of the tree or is the root itself."""
        return inside(self.root, path)

    def find(self, path: str) -> str:
        """Where a path is now: at its place, or the first place that ends in it; "" when it is nowhere."""
        relative = self.inside(path)
        if not relative or self._is_there(relative):
            return relative
        ending = f"/{relative}"
        named = self._listing.by_name.get(os.path.basename(relative), ())
        return next((each for each in named if each.endswith(ending) and self._is_there(each)), "")

    def knew(self, path: str) -> bool:
        """Whether the path is in the tree or was once."""
        return bool(self.find(path) or self.former(path))

    def former(self, path: str) -> str:
        """The path that history knows as removed, renamed or deleted but not committed yet, "" when it knows none."""
        relative = self.inside(path)
        if not relative:
            return ""
        name, ending = os.path.basename(relative), f"/{relative}"
        known = (*self._past.by_name.get(name, ()), *self._listing.by_name.get(name, ()))
        same = (each for each in known if each == relative or each.endswith(ending))
        return next(same, "")

    def successor(self, former: str) -> str:
        """What a path that was renamed is called now, "" when that is gone as well."""
        for _ in range(20):
            former = self._past.moved.get(former, "")
            if not former or self._is_there(former):
                return former
        return ""

    def _is_there(self, path: str) -> bool:
        return self._stays_inside(os.path.dirname(path)) and os.path.lexists(os.path.join(self.root, path))

    def _stays_inside(self, folder: str) -> bool:
        """Whether no link on the way to a folder leads out of the tree."""
        if (known := self._inside.get(folder)) is None:
            real = os.path.realpath(os.path.join(self.root, folder))
            known = self._inside[folder] = real == self.root or real.startswith(self.root.rstrip("/") + "/")
        return known

    @property
    def whole(self) -> bool:
        """Whether all files could be listed. If not, one that is not found may be elsewhere."""
        return self._listing.whole

    @cached_property
    def _listing(self) -> _Listing:
        listed = ("ls-files", "--cached", "--others", "--exclude-standard", "-z")
        told, ended = self._git(*listed, seconds=_LIST_SECONDS)
        paths = [os.fsdecode(name) for name in told[: told.rfind(b"\0") + 1].split(b"\0") if name]
        if not paths:
            paths, ended = _walk(self.root)
        files = frozenset(paths[:_MOST_FILES])
        return _Listing(files, _by_name((*files, *_folders(files))), ended and len(paths) <= _MOST_FILES)

    # --- what git remembers ---

    def _git(self, *arguments: str, seconds: float = _PAST_SECONDS) -> tuple[bytes, bool]:
        """What git answers about this tree, as far as it got in its time, and whether it ended; nothing if it fails."""
        if not self._repository:
            return b"", True
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
        environment |= {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
        settings = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false")
        # The work tree is said outright, as the repository's own setting could name any folder of the machine.
        where = ("--git-dir", os.path.join(self._repository, ".git"), "--work-tree", self._repository)
        command = ("git", "-C", self.root, "--no-pager", *where, *settings, *arguments)
        return _answer(command, environment, seconds)

    @cached_property
    def _past(self) -> _Past:
        sort = ("--name-status", "--diff-filter=DR", "-z", "-M", "-l400", "--relative", "--ignore-submodules=all")
        safe = ("--no-ext-diff", "--no-textconv", "--no-color")
        staged, _ = self._git("diff-index", "--cached", *sort, *safe, "HEAD", "--")
        bound = ("--no-merges", f"--max-count={_MOST_COMMITS}", "--format=")
        logged, _ = self._git("log", *bound, *sort, *safe, "HEAD", "--")
        gone: set[str] = set()
        moved: dict[str, str] = {}
        for old, new in (*_changes(staged), *_changes(logged)):
            if old in gone:  # newest first: the last thing that befell a path counts
                continue
            gone.add(old)
            while new and old not in moved and old != new:
                moved[old] = new
                # A file that kept its name moved with its folder.
                (old, name), (new, same) = os.path.split(old), os.path.split(new)
                if name != same or not old:
                    break
        return _Past(_by_name((*gone, *_folders(gone))), moved)

    @cached_property
    def removed_words(self) -> frozenset[str]:
        """The words of lines that recent commits removed."""
        safe = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--submodule=short")
        bound = ("--no-merges", f"--max-count={_MOST_PATCHES}", "--format=", "--unified=0", "--relative")
        told, _ = self._git("log", "-p", *bound, *safe, "--ignore-submodules=all", "HEAD", "--")
        removed = (line for line in told.split(b"\n") if line.startswith(b"-") and not line.startswith(b"--- "))
        return _decoded(_words(b"\n".join(removed)))

    # --- text ---

    def content(self, path: str, most: int = MOST_TEXT) -> bytes | None:
        """The bytes of a file of the tree. None for what is no plain file, too large, unreadable or outside."""
        return self._read(path, lambda file: content(file, most))

    def hash_of(self, path: str) -> str:
        """As `file_hash`, but of nothing outside the tree."""
        return self._read(path, digest) or ""

    def _read(self, path: str, reading: Callable[[BufferedReader], _T]) -> _T | None:
        if not self._stays_inside(os.path.dirname(path)):
            return None
        try:
            with opened(os.path.join(self.root, path)) as file:
                return reading(file)
        except (OSError, ValueError):
            return None

    def words_of(self, path: str) -> frozenset[str] | None:
        """The words of one file, None when it is no text that can be read."""
        if path not in self._words_of:
            held = self.content(path)
            self._words_of[path] = None if held is None or is_binary(held) else _decoded(_words(held))
        return self._words_of[path]

    @cached_property
    def words(self) -> _Words:
        """The words of all text files and of all paths, less what agents were told."""
        known: set[bytes] = set()
        left, whole = _MOST_WORDS_READ, self._listing.whole
        for path in sorted(self._listing.files):
            known.update(_words(os.fsencode(path)))
            if _is_told_to_agents(path):
                continue
            held = self.content(path, min(MOST_TEXT, left))
            if held is None:
                whole = whole and not self._may_hold_code(path)
            elif not is_binary(held):
                left -= len(held)
                known.update(_words(held))
        return _Words(_decoded(known), whole)

    def _may_hold_code(self, path: str) -> bool:
        """Whether a file that was not read is one whose words would count."""
        if path.rpartition(".")[2] in _DATA or path.endswith(".min.js"):
            return False
        try:
            held = os.lstat(os.path.join(self.root, path))
            if not stat.S_ISREG(held.st_mode):
                return False
            with opened(os.path.join(self.root, path)) as file:
                return not is_binary(file.read(8192))
        except (OSError, ValueError):
            return False

    # --- what it offers and declares ---

    def _named(self, *names: str) -> list[str]:
        """Files of these names that say something, those nearest to the root first."""
        found = {path for name in names for path in self._listing.by_name.get(name, ()) if path in self._listing.files}
        return [path for path in sorted(found, key=_nearness)[:_MOST_MANIFESTS] if self.text(path)]

    def _like(self, pattern: re.Pattern[str]) -> list[str]:
        found = filter(pattern.search, self._listing.files)
        return sorted(found, key=_nearness)[:_MOST_MANIFESTS]

    def text(self, path: str) -> str:
        """A file that says what the tree offers or declares, "" when it cannot be read."""
        held = self.content(path, _MOST_LOCKED if "lock" in os.path.basename(path) else _MOST_MANIFEST)
        return "" if held is None else held.decode("utf-8", "replace")

    def table(self, path: str) -> dict[str, object]:
        """A TOML or JSON file as a table, empty when it is none."""
        with suppress(ValueError, RecursionError):
            return _table(json.loads(self.text(path)) if path.endswith(".json") else tomllib.loads(self.text(path)))
        return {}

    @cached_property
    def offers(self) -> Mapping[str, _Offer]:
        """What each runner whose files are here can be asked for."""
        makes = (*self._named("Makefile", "makefile", "GNUmakefile"), *self._like(_MAKE_PART))
        justs = self._named("justfile", "Justfile", ".justfile")
        packages = [path for path in self._named("package.json") if self.table(path)]
        scripts = {name for path in packages for name in _table(self.table(path).get("scripts"))}
        noxes = self._named("noxfile.py")
        sessions = {name for path in noxes for name in re.findall(r"def (\w+)|name=[\"']([\w.-]+)", self.text(path))}
        offers = {
            "make": _merged(makes, [_make_targets(self.text(path), self.find) for path in makes]),
            "just": _merged(justs, [_just_recipes(self.text(path)) for path in justs]),
            "npm": _Offer(frozenset(scripts), tuple(packages)),
            "tox": self._tox(),
            "nox": _Offer(frozenset(name for pair in sessions for name in pair), tuple(noxes)),
            "python": self._python_scripts(),
        }
        return {runner: offer for runner, offer in offers.items() if offer.files}

    def _tox(self) -> _Offer:
        """The factors of tox environments: one is known when each of its factors is."""
        factors = {path: _tox_factors(self.text(path), self.table(path)) for path in self._named("tox.ini", "tox.toml")}
        files = tuple(path for path, found in factors.items() if found)
        return _Offer(
            frozenset().union(*factors.values()), files, any("{" in each for path in files for each in factors[path])
        )

    def _python_scripts(self) -> _Offer:
        files = self._named("pyproject.toml", "Pipfile")
        names: set[str] = set()
        for path in files:
            table = self.table(path)
            tool = _table(table.get("tool"))
            for at in (table, _table(table.get("project")), _table(tool.get("poetry")), _table(tool.get("pdm"))):
                names.update(_table(at.get("scripts")))
            for environment in _table(_table(tool.get("hatch")).get("envs")).values():
                names.update(_table(_table(environment).get("scripts")))
        return _Offer(frozenset(names), tuple(files))

    @cached_property
    def versions(self) -> Mapping[str, tuple[_Declared, ...]]:
        """Every version that is declared or locked, by the plain name of what it is a version of."""
        found: defaultdict[str, list[_Declared]] = defaultdict(list)
        for path in self._named(*_READERS):
            for name, declared in _READERS[os.path.basename(path)](self, path):
                found[plain_name(name)].append(declared)
        for path in self._like(_REQUIREMENTS):
            for line in self.text(path).splitlines():
                for name, declared in _requirement(line, path):
                    found[plain_name(name)].append(declared)
        return {name: tuple(declared) for name, declared in found.items()}


def _walk(root: str) -> tuple[list[str], bool]:
    """The files under a folder where git cannot list them, and whether these are all."""
    found: list[str] = []
    for visited, (folder, folders, files) in enumerate(os.walk(root)):
        folders[:] = sorted(name for name in folders if name not in PASSED_OVER)
        found += (os.path.relpath(os.path.join(folder, name), root) for name in sorted(files))
        if len(found) > _MOST_FILES or visited > _MOST_FOLDERS:
            return found, False
    return found, True


def _folders(paths: Iterable[str]) -> set[str]:
    folders: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    return folders


def _nearness(path: str) -> tuple[int, str]:
    """What sorts paths by how near the root they are, and so that answers do not depend on the order of a set."""
    return path.count("/"), path


def _by_name(paths: Iterable[str]) -> Mapping[str, list[str]]:
    """Paths by their last part, those nearest to the root first."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(paths, key=_nearness):
        found[os.path.basename(path)].append(path)
    return dict(found)


def _answer(command: tuple[str, ...], environment: dict[str, str], seconds: float) -> tuple[bytes, bool]:
    """What a program writes until it ends, its time is over or it has written too much; and whether it ended."""
    deadline = time.monotonic() + seconds
    told = bytearray()
    try:
        running = subprocess.Popen(
            command,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, ValueError):
        return b"", True
    with running, selectors.DefaultSelector() as ready:
        assert running.stdout is not None
        ready.register(running.stdout, selectors.EVENT_READ)
        while len(told) < _MOST_TOLD and ready.select(max(0.0, deadline - time.monotonic())):
            part = os.read(running.stdout.fileno(), 1 << 20)
            if not part:
                return (bytes(told), True) if running.wait() == 0 else (b"", True)
            told += part
        running.kill()
    return bytes(told), False


def _changes(told: bytes) -> Iterator[tuple[str, str]]:
    """The paths that `--name-status -z` tells of, each with its new name or ""; an answer that was cut ends before."""
    fields = iter([os.fsdecode(field) for field in told[: told.rfind(b"\0") + 1].split(b"\0")])
    for field in fields:
        status = field.strip()
        if status == "D" and (old := next(fields, "")):
            yield old, ""
        elif status.startswith("R") and (old := next(fields, "")) and (new := next(fields, "")):
            yield old, new


# --- Words ------------------------------------------------------------------------------------------------------------

_WORD_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_ONLY_WORDS = bytes(byte if byte in _WORD_BYTES else 32 for byte in range(256))
_LONGEST_WORD = 100


def _words(content: bytes) -> set[bytes]:
    return set(content.translate(_ONLY_WORDS).split())


def _decoded(words: Iterable[bytes]) -> frozenset[str]:
    return frozenset(word.decode("ascii") for word in words if len(word) <= _LONGEST_WORD)


def _is_told_to_agents(path: str) -> bool:
    *folders, name = path.split("/")
    return name in _NOT_THE_CODE or not _NOT_THE_CODE_FOLDERS.isdisjoint(folders)


# --- Targets and scripts ----------------------------------------------------------------------------------------------

_MAKE_VARIABLE = re.compile(r"^([A-Za-z_]\w*)[ \t]*[:?]{0,2}=[ \t]*([^\n]{0,200})", re.MULTILINE)
_MAKE_PART = re.compile(r"\.mk\Z")
_MAKE_VALUE = re.compile(r"\$[({](\w+)[)}]")


def _rules(text: str) -> Iterator[tuple[str, str]]:
    """The lines that begin a rule, as what stands before the colon and after it."""
    for line in text.splitlines():
        head, colon, rest = line.partition(":")
        if colon and head.strip() and line[0] not in " \t#" and not rest.startswith(("=", ":=")):
            yield head, rest.lstrip(":")


def _make_targets(text: str, is_here: Callable[[str], object]) -> tuple[set[str], bool]:
    """The targets of a makefile, and whether variables or included files that are not here may make more of them."""
    values = dict(_MAKE_VARIABLE.findall(text))
    names: set[str] = set()
    for head, rest in islice(((head, rest) for head, rest in _rules(text) if "=" not in head), _MOST_RULES):
        listed = f"{head} {rest}" if ".PHONY" in head else head
        for _ in range(3):
            listed = _MAKE_VALUE.sub(lambda found: values.get(found[1], found[0]), listed[:2000])
        names.update(listed.split())
    includes = (line.split() for line in text.splitlines() if "include" in line[:10])
    included = {name for words in includes if words[0].lstrip("-s") == "include" for name in words[1:]}
    return names, any("$" in name for name in names) or not all(map(is_here, included))


def _just_recipes(text: str) -> tuple[set[str], bool]:
    """The recipes and aliases of a justfile, and whether other files may hold more of them."""
    names = {head.split()[0].lstrip("@") for head, _ in _rules(text)}
    firsts = [line.split()[:2] for line in text.splitlines()]
    names.update(words[1] for words in firsts if len(words) > 1 and words[0] == "alias")
    return names, any(words and words[0] in {"import", "import?", "mod", "mod?"} for words in firsts)


def _tox_factors(text: str, table: dict[str, object]) -> set[str]:
    """What the names of environments are put together from, in a file of either form."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    with suppress(configparser.Error):
        parser.read_string(text)
    sections = (section.removeprefix("testenv:") for section in parser.sections() if section.startswith("testenv:"))
    listed = (parser.get("tox", key, fallback="") for key in ("envlist", "env_list"))
    names = [*sections, *_table(table.get("env")), *map(str, _list(table.get("env_list")))]
    factors = {factor for name in names for factor in name.split("-")}
    return factors.union(*(re.findall(r"[A-Za-z_.]+|\d+", text) for text in listed))


def _merged(files: Iterable[str], parts: list[tuple[set[str], bool]]) -> _Offer:
    return _Offer(frozenset().union(*(names for names, _ in parts)), tuple(files), any(more for _, more in parts))


# --- Versions ---------------------------------------------------------------------------------------------------------

_Named = tuple[str, _Declared]
_REQUIREMENTS = re.compile(r"(?:^|/)requirements(?:/[^/]+|[^/]*)\.(?:txt|in)\Z")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;#@)]*)")
_LOCKED = re.compile(r'^name = "([^"\n]+)"\r?\nversion = "([^"\n]+)"', re.MULTILINE)
_GO_NEEDS = re.compile(r"^(?:require)?[ \t]*([\w.-]+(?:/[\w.~-]+)+)[ \t]+v(\d[\w.]*)", re.MULTILINE)
_GO_ITSELF = re.compile(r"^go[ \t]+(\d[\d.]*)", re.MULTILINE)
_NEEDED = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_CARGO_NEEDED = ("dependencies", "dev-dependencies", "build-dependencies")


def _table(value: object) -> dict[str, object]:
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def _requirement(line: object, where: str) -> Iterator[_Named]:
    """A requirement as Python packages write it; nothing for an option, a comment or an address."""
    if isinstance(line, str) and not line.lstrip().startswith(("-", "#")) and (found := _REQUIREMENT.match(line)):
        yield found[1], _Declared(found[2].strip(), where)


def _needs(table: object, where: str, *, caret: bool = False) -> Iterator[_Named]:
    """A table from names to versions, or to tables that have one."""
    for name, value in _table(table).items():
        spec = value if isinstance(value, str) else _table(value).get("version")
        if isinstance(spec, str):
            spec = spec.rpartition("@")[2] if spec.startswith("npm:") else spec
            is_version = not re.search(r"[/:]", spec)
            yield name, _Declared(spec if is_version else "", where, caret=caret)


def _of_pyproject(tree: WorkingTree, path: str) -> Iterator[_Named]:
    table = tree.table(path)
    project, poetry = _table(table.get("project")), _table(_table(table.get("tool")).get("poetry"))
    if isinstance(needed := project.get("requires-python"), str):
        yield "python", _Declared(needed, path)
    groups = (_table(project.get("optional-dependencies")), _table(table.get("dependency-groups")))
    lists = [project.get("dependencies"), *(each for group in groups for each in group.values())]
    for line in (line for lines in lists for line in _list(lines)):
        yield from _requirement(line, path)
    yield from _needs(poetry.get("dependencies"), path)
    for group in _table(poetry.get("group")).values():
        yield from _needs(_table(group).get("dependencies"), path)


def _of_package(tree: WorkingTree, path: str) -> Iterator[_Named]:
    table = tree.table(path)
    for key in (*_NEEDED, "engines", "volta"):
        yield from _needs(table.get(key), path)
    if isinstance(manager := table.get("packageManager"), str) and "@" in manager:
        name, _, version = manager.partition("@")
        yield name, _Declared(version.partition("+")[0], path)


def _of_cargo(tree: WorkingTree, path: str) -> Iterator[_Named]:
    table = tree.table(path)
    for at in (table, _table(table.get("workspace"))):
        for key in _CARGO_NEEDED:
            yield from _needs(at.get(key), path, caret=True)
        if isinstance(needed := _table(at.get("package")).get("rust-version"), str):
            yield "rust", _Declared(f">={needed}", path)


def _of_go(tree: WorkingTree, path: str) -> Iterator[_Named]:
    text = tree.text(path)
    yield from (("go", _Declared(f">={number}", path)) for number in _GO_ITSELF.findall(text))
    for module, number in _GO_NEEDS.findall(text):
        name = re.sub(r"/v\d+$", "", module).rpartition("/")[2]
        yield name, _Declared(number, path, caret=True)


def _of_lock(tree: WorkingTree, path: str) -> Iterator[_Named]:
    for name, number in _LOCKED.findall(tree.text(path)):
        yield name, _Declared(number, path, locked=True)


def _of_package_lock(tree: WorkingTree, path: str) -> Iterator[_Named]:
    for where, entry in _table(tree.table(path).get("packages")).items():
        number = _table(entry).get("version")
        if where.count("node_modules/") == 1 and isinstance(number, str):
            yield where.removeprefix("node_modules/"), _Declared(number, path, locked=True)


def _of_tool_versions(tree: WorkingTree, path: str) -> Iterator[_Named]:
    for line in tree.text(path).splitlines():
        name, _, numbers = line.partition("#")[0].strip().partition(" ")
        if name:
            yield name, _Declared(" || ".join(numbers.split()), path)


def _of_python_version(tree: WorkingTree, path: str) -> Iterator[_Named]:
    yield "python", _Declared(" || ".join(tree.text(path).split()[:9]), path)


def _of_node_version(tree: WorkingTree, path: str) -> Iterator[_Named]:
    yield "node", _Declared(tree.text(path).strip()[:40], path)


_READERS = {
    "pyproject.toml": _of_pyproject,
    "package.json": _of_package,
    "Cargo.toml": _of_cargo,
    "go.mod": _of_go,
    "uv.lock": _of_lock,
    "poetry.lock": _of_lock,
    "Cargo.lock": _of_lock,
    "package-lock.json": _of_package_lock,
    ".tool-versions": _of_tool_versions,
    ".python-version": _of_python_version,
    ".nvmrc": _of_node_version,
    ".node-version": _of_node_version,
}


# --- Judging one mention ----------------------------------------------------------------------------------------------

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ANY_PYTHON = re.compile(r"py(?:py)?\d*|python[\d.]*|py\d\.\d+")


def _stale(mention: Mention, state: State, detail: str, *, strong: bool) -> Stale:
    return Stale(mention=mention, state=state, detail=shown(detail), strong=strong)


def _judged(mention: Mention, tree: WorkingTree, anchored: bool) -> Stale | None:
    match mention.sort:
        case "path":
            return _path(mention, mention.text, tree, anchored=bool(mention.path))
        case "symbol":
            return _anchored_symbol(mention, tree) if mention.path else _symbol(mention, tree, anchored)
        case "version":
            return _version(mention, tree)
        case "command":
            return _path(mention, mention.path, tree, anchored=False) if mention.path else _command(mention, tree)


def _path(mention: Mention, path: str, tree: WorkingTree, *, anchored: bool) -> Stale | None:
    if not tree.inside(path):
        return None
    if found := tree.find(path):
        held = tree.hash_of(found) if mention.of else ""
        if held and held != mention.of:
            return _stale(mention, "changed", f"{found} has other content now", strong=False)
        return None
    if former := tree.former(path):
        if successor := tree.successor(former):
            return _stale(mention, "moved", f"renamed to {successor}", strong=True)
        return _stale(mention, "gone", f"{former} was removed", strong=True)
    if anchored:
        return _stale(mention, "gone", "not in the working tree", strong=True)
    if not tree.whole:
        return None
    return _stale(mention, "unknown", "not in the working tree", strong=False)


def _anchored_symbol(mention: Mention, tree: WorkingTree) -> Stale | None:
    """A file that is gone is told once, by its path."""
    path = tree.find(mention.path)
    words = tree.words_of(path) if path else None
    parts = _IDENTIFIER.findall(mention.text)
    if words is None or not mention.text.isascii() or words.issuperset(parts):
        return None
    if tree.words.known.issuperset(parts):
        detail = f"no longer in {path}; the name occurs elsewhere"
        return _stale(mention, "moved", detail, strong=True)
    return _stale(mention, "gone", f"no longer in {path}", strong=True)


def _symbol(mention: Mention, tree: WorkingTree, anchored: bool) -> Stale | None:
    """Only a name that no text holds: code of other projects is named in memories, too."""
    missing = [part for part in _IDENTIFIER.findall(mention.text) if part not in tree.words.known]
    if not missing or not tree.words.whole:
        return None
    names = ", ".join(missing)
    if tree.removed_words.issuperset(missing):
        return _stale(mention, "gone", f"{names}: removed, and in no file now", strong=True)
    state: State = "gone" if anchored else "unknown"
    return _stale(mention, state, f"{names}: in no file", strong=anchored)


def _version(mention: Mention, tree: WorkingTree) -> Stale | None:
    """What is declared leaves no room for it; weaker, where only the lock file has settled on another major version."""
    declared = tree.versions.get(mention.of, ())
    asked = [each for each in declared if not each.locked]
    locked = [each for each in declared if each.locked]
    fits = any(admits(each.spec, mention.text, caret=each.caret) for each in asked or locked)
    if not declared or (fits and not locked):
        return None
    if fits and any(admits(each.spec, mention.text, parts=1) for each in locked):
        return None
    told = (locked if fits else asked or locked)[0]
    detail = f"{told.where} has {mention.of} {told.spec[:60]}"
    return _stale(mention, "changed", detail, strong=not fits)


def _command(mention: Mention, tree: WorkingTree) -> Stale | None:
    runner, *_, name = mention.text.split()
    scripts = runner in {"npm", "pnpm", "yarn", "bun"}
    kind = "npm" if scripts else runner if runner in {"make", "just", "tox", "nox"} else "python"
    if runner == "cargo":
        return _xtask(mention, tree)
    offer = tree.offers.get(kind)
    if offer is None or offer.open or name in offer.names or _is_offered_otherwise(kind, name, tree):
        return None
    if kind == "python":
        # It may be a program of any package that is installed.
        return _stale(mention, "unknown", f"{name} is no script here", strong=False)
    strict = kind in {"make", "just"} or (runner in {"npm", "pnpm"} and " run " in mention.text)
    detail = f"{offer.files[0]} has no {name}"
    return _stale(mention, "gone", detail, strong=strict and "/" not in offer.files[0])


def _is_offered_otherwise(kind: str, name: str, tree: WorkingTree) -> bool:
    """Whether a runner knows a name without its files saying so."""
    match kind:
        case "make":
            return any("%" in each and fnmatchcase(name, each.replace("%", "*")) for each in tree.offers["make"].names)
        case "npm":
            return plain_name(name) in tree.versions or (name == "start" and bool(tree.find("server.js")))
        case "tox":
            factors = tree.offers["tox"].names
            parts = {factor: re.findall(r"[A-Za-z_.]+|\d+", factor) for factor in name.split("-")}
            return all(
                factor in factors or factors.issuperset(split) or _ANY_PYTHON.fullmatch(factor)
                for factor, split in parts.items()
            )
        case "python":
            own = plain_name(name) in tree.versions or _ANY_PYTHON.fullmatch(name)
            return bool(own) or tree.words.known.issuperset(_IDENTIFIER.findall(name))
        case _:
            return False


def _xtask(mention: Mention, tree: WorkingTree) -> Stale | None:
    if not tree.find("Cargo.toml") or tree.find("xtask") or "xtask" in tree.text(".cargo/config.toml"):
        return None
    return _stale(mention, "gone", "neither a crate nor an alias of that name", strong=False)
