"""A repository as git keeps it on disk: where it is, where it came from, and the id it carries for us.

Nothing here runs git except to ask for first commits, and then nothing in the repository can make it run a program,
reach the network or look elsewhere.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from ..disk import sync_folder
from ..errors import ProjectError

Roots = tuple[str, ...]
_MOST_ROOTS = 64
_CONFIG_PATIENCE = 1.0
_LOCK_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PORTS = {"ssh": 22, "git+ssh": 22, "ssh+git": 22, "https": 443, "http": 80, "git": 9418}
_SCP_LIKE = re.compile(r"(?:[^/]*@)?(\[[^/\]]+\]|[^/:\[\]]+):(?!:)(.+)", re.DOTALL)
_T = TypeVar("_T")

# Only a random id may stand in a git configuration: a path id can be computed by anyone who guesses the path.
GIT_ID = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a folder stands, in real paths. `common` is the git folder its worktrees share, "" without git."""

    root: str
    common: str = ""
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.common or self.root


def patiently(attempt: Callable[[], _T], *, seconds: float) -> _T:
    """`attempt` until nobody else holds the lock it takes; its last error when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except (BlockingIOError, FileExistsError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


def existing(folder: Path) -> str:
    with suppress(ValueError, OSError):  # a NUL in the path, or a current folder that is gone
        if os.path.isdir(real := os.path.realpath(folder)):
            return real
    raise ProjectError(f"{str(folder)!r} is not a folder that exists")


def locate(folder: str) -> Place:
    """The repository `folder` lies in, found as git finds it but for bare ones, or the folder itself."""
    roots = (folder, *map(str, Path(folder).parents))
    return next((place for root in roots if (place := _repository_at(root))), Place(folder))


def _repository_at(root: str) -> Place | None:
    """The repository whose working folder is `root`: a plain folder with a note where its link proves nothing."""
    link = os.path.join(root, ".git")
    try:
        kind = os.stat(link).st_mode
    except OSError:
        return None
    target = "gitdir: .git" if stat.S_ISDIR(kind) else _first_line(link)
    git_dir = os.path.realpath(os.path.join(root, target.removeprefix("gitdir:").strip()))
    if not target.startswith("gitdir:") or not os.path.lexists(os.path.join(git_dir, "HEAD")):
        # Git, too, looks further up past a folder of that name, but not past a file.
        note = f"{link} leads to no repository, so the folder counts as one without git"
        return None if stat.S_ISDIR(kind) else Place(root, notes=(note,))
    common = os.path.realpath(os.path.join(git_dir, _first_line(os.path.join(git_dir, "commondir"))))
    if _points_back(root, link, git_dir, common):
        return Place(root, common)
    remedy = "`git worktree repair` or `git config core.worktree` makes it do so"
    return Place(root, notes=(f"{link} leads to {common}, which does not point back at this folder; {remedy}",))


def _points_back(root: str, link: str, git_dir: str, common: str) -> bool:
    """Whether the repository itself says that `root` is one of its working folders.

    Without this an unpacked archive with a `.git` file could name any repository on the machine and read its memory.
    """
    if git_dir != common:
        if os.path.dirname(git_dir) != os.path.join(common, "worktrees"):
            return False
        back = _first_line(os.path.join(git_dir, "gitdir"))
        return os.path.realpath(os.path.join(git_dir, back)) == os.path.realpath(link)
    if git_dir.startswith(os.path.join(root, "")):
        return True
    worktree = read_config(common).worktree
    return bool(worktree) and os.path.realpath(os.path.join(common, worktree)) == root


def cloned_from(remote: str) -> Place | None:
    """The repository on this machine that `remote` names, working or bare."""
    path = remote.removeprefix("file:")
    place = _repository_at(path) if path != remote else None
    bare = path != remote and place is None and os.path.isfile(os.path.join(path, "HEAD"))
    return Place(path, path) if bare else place if place and place.common else None


def has_history(common: str) -> bool:
    """Whether asking for first commits can succeed. A shallow clone does not have them, whatever git answers."""
    config, shallow = os.path.join(common, "config"), os.path.join(common, "shallow")
    # Git would wait forever on a configuration that is a pipe.
    if not common or not os.path.isfile(config) or os.path.exists(shallow):
        return False
    head = _first_line(os.path.join(common, "HEAD")).removeprefix("ref:").strip()
    stored = any(os.path.exists(os.path.join(common, name)) for name in (head, "packed-refs", "reftable"))
    return stored or _COMMIT.fullmatch(head) is not None


def first_commits(common: str) -> Roots:
    """The first commits of HEAD, sorted; none when git is missing, too slow, or has no answer."""
    if not has_history(common):
        return ()
    # Nothing in the repository or around us may run a program, reach the network, or redirect git elsewhere; an
    # explicit --git-dir also spares the owner check, which guards against just that.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    environment |= {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
    settings = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    command = ("git", "--no-pager", "--git-dir", common, *settings, "rev-list", "--max-parents=0", "HEAD", "--")
    try:
        done = subprocess.run(
            command, env=environment, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = sorted(line for line in done.stdout.decode("ascii", "replace").split() if _COMMIT.fullmatch(line))
    return tuple(found[:_MOST_ROOTS]) if done.returncode == 0 else ()


def _first_line(path: str) -> str:
    """The first line of a small file of git's, "" when there is none."""
    try:
        return os.fsdecode(_content(path)).partition("\n")[0].rstrip("\r")
    except OSError:
        return ""


def _content(path: str) -> bytes:
    """A file of git's. A symbolic link, which would borrow another repository's, and a pipe are errors."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return file.read()


# --- its configuration ---

# Every way through a value ends in a match, so there is nothing to try twice and a hostile file takes linear time.
_VALUE = r'(?:[^"\\\n#;]|\\(?:\r?\n|.)|"(?:[^"\\\n]|\\(?:\r?\n|.))*(?:"|(?P<torn>\\?\Z|(?=\n))))*'
_CONFIG_ITEM = re.compile(
    rf"""[ \t\r\n]*(?:
        \[(?P<section>[A-Za-z0-9.-]+)(?:[ \t]+"(?P<subsection>(?:[^"\\\n]|\\.)*)")?\]
      | (?P<key>[A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(?P<value>{_VALUE}))?(?P<rest>[^\n]*)
      | [^\n]+ | \Z
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class GitConfig:
    """What we read in a git configuration. `marks` are the places of our own key in `text`."""

    text: str = ""
    id: str = ""
    remote: str = ""
    worktree: str = ""
    marks: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()


def read_config(common: str) -> GitConfig:
    """The configuration of a repository; an empty one when it cannot be read, or there is no repository."""
    if not common:
        return GitConfig()
    try:
        return _parse_config(_content(os.path.join(common, "config")), os.path.dirname(common))
    except OSError:
        return GitConfig()


def _parse_config(raw: bytes, base: str) -> GitConfig:
    """As git reads it, less `include`: who may write an included file is not for us to judge.

    Of several ids the last well-formed one counts. Lines git would reject are passed over. Relative origins are
    relative to `base`.
    """
    text = raw.decode("utf-8", "surrogateescape")
    ids: list[str] = []
    marks: list[tuple[int, int]] = []
    urls: list[str] = []
    worktree = section = ""
    for item in _CONFIG_ITEM.finditer(text, text.startswith("\ufeff")):
        if item["section"]:
            # [remote.origin] is an older way to write [remote "origin"].
            name = item["section"].lower().replace(".", " ", 1)
            section = name if item["subsection"] is None else f"{name} {item['subsection']}"
        if not item["key"] or item["torn"] is not None or item["rest"].strip()[:1] not in ("", "#", ";"):
            continue
        match section, item["key"].lower():
            case "recollect", "project":
                ids.append(_unquoted(item["value"] or ""))
                marks.append((item.start("key"), item.end()))
            case "remote origin", "url":
                urls.append(_unquoted(item["value"] or ""))
            case "core", "worktree":
                worktree = _unquoted(item["value"] or "")
    good = [value for value in ids if GIT_ID.fullmatch(value)]
    bad = [value for value in ids if value not in good]
    notes = tuple(f"recollect.project = {value[:60]!r} is no project id and is ignored" for value in bad)
    remote = _remote(urls[0], base) if urls else ""
    return GitConfig(text, good[-1] if good else "", remote, worktree, tuple(marks), notes)


def _unquoted(value: str) -> str:
    escapes = {"n": "\n", "t": "\t", "b": "\b", "\n": "", "\r\n": ""}
    return re.sub(r'\\(\r?\n|.)|"', lambda m: escapes.get(m[1], m[1]) if m[1] else "", value.strip())


def _remote(url: str, base: str) -> str:
    """A remote in the one form that is compared and stored, "" when it has none.

    User, password, scheme and default port fall away; the host is lower case; so is nothing else, as hosts may tell
    paths apart by case.
    """
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme == "file" and separator:
        return _local_remote(unquote(rest[max(rest.find("/"), 0) :]))
    if separator and "/" not in scheme:
        try:
            parts = urlsplit(url, allow_fragments=False)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return ""
        if scheme not in _PORTS or parts.query:
            return ""
        where, path = host if port in (None, _PORTS[scheme]) else f"{host}:{port}", unquote(parts.path)
    elif found := _SCP_LIKE.fullmatch(url):
        where, path = found[1].lower().strip("[]"), found[2]
    else:
        return _local_remote(os.path.join(base, url)) if url and "::" not in url else ""
    path = "/".join(part for part in path.split("/") if part).removesuffix(".git")
    return f"{where.rstrip('.')}/{path}" if where and path else ""


def _local_remote(path: str) -> str:
    real = os.path.realpath(path)
    if not os.path.exists(real) and os.path.exists(f"{real}.git"):
        real += ".git"
    return "file:" + real.removesuffix("/.git")


def is_writable(common: str) -> bool:
    """Whether the configuration could be written just now: git's lock is taken and given back."""
    path = os.path.join(common, "config")
    try:
        _content(path)
        os.close(os.open(f"{path}.lock", _LOCK_FLAGS, 0o600))
        os.unlink(f"{path}.lock")
    except OSError:
        return False
    return True


def write_id(common: str, project_id: str, *, over: str) -> str:
    """Put the id into the configuration by git's own protocol, unless it holds another id than `over`.

    Returns the id it holds afterwards, "" when it could not be written.
    """
    path = os.path.join(common, "config")
    try:
        fd = patiently(lambda: os.open(f"{path}.lock", _LOCK_FLAGS, 0o600), seconds=_CONFIG_PATIENCE)
    except OSError:
        return ""
    renamed = False
    try:
        with open(fd, "wb") as file:
            # All of this is written back, so "could not be read" must not look like "empty" here.
            held = _parse_config(_content(path), common)
            if held.id and held.id != over:
                return held.id
            text = _marked(held, project_id).encode("utf-8", "surrogateescape")
            if _parse_config(text, common).id != project_id:
                return ""
            file.write(text)
            file.flush()
            before = os.stat(path)
            with suppress(PermissionError):
                os.fchown(fd, before.st_uid, before.st_gid)
            os.fchmod(fd, stat.S_IMODE(before.st_mode))
            os.fsync(fd)
        os.rename(f"{path}.lock", path)
        renamed = True
        sync_folder(Path(common))
    except OSError:
        return project_id if renamed else ""
    finally:
        # Once renamed, a lock of that name is somebody else's.
        if not renamed:
            with suppress(OSError):
                os.unlink(f"{path}.lock")
    return project_id


def _marked(held: GitConfig, project_id: str) -> str:
    text, entry = held.text, f"project = {project_id}"
    for start, end in reversed(held.marks):
        text = text[:start] + entry + text[end:]
        entry = ""
    if held.marks:
        return text
    # A backslash at the end would swallow the line break after it.
    gap = "\n\n" if text.endswith(("\\", "\\\n")) else "\n" if text and not text.endswith("\n") else ""
    return f"{text}{gap}[recollect]\n\t{entry}\n"
