"""Which project a folder is.

A repository carries its project's id in its common git configuration (`recollect.project`), so all its worktrees are
one project and it may be moved or renamed. The id is random: knowing where a repository came from, or what it is
called, is not enough to be taken for it. A folder without git is known by its real path.

A new clone joins a registered project when its origin and its first commits both match, and says so; `split` undoes
that for good. Nothing found *inside* a working tree can make a folder part of another project: a bare repository in
the tree is not looked at, and a `.git` link counts only when the repository it leads to points back at the folder.

Registrations are `<home>/projects/<slug>-<hash of the id>/project.json`. A known repository is recognised by reading
two small files, without a lock, a write or a subprocess; everything else happens under one lock.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import json
import os
import re
import stat
import subprocess
import time
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import unquote, urlsplit

from recollect.errors import NotFound, ProjectError

__all__ = ["Project", "Registered", "find", "known", "rename", "rescue", "resolve", "retire", "split"]

_T = TypeVar("_T")
_Roots = tuple[str, ...]
_FORMAT = 1
_FILE = "project.json"
_LISTS = ("git_dirs", "folders", "remotes", "roots", "refused")
_MOST_SEEN = 20
_MOST_ROOTS = 64
_LONGEST_NAME = 100
_SHORTEST_PREFIX = 8
_REGISTRY_PATIENCE = 10.0
_CONFIG_PATIENCE = 1.0
_ROOTS_AGAIN = timedelta(days=1)

# Only a random id may stand in a git configuration: a path id can be computed by anyone who guesses the path.
_GIT_ID = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}")
_ID = re.compile(rf"{_GIT_ID.pattern}|path-[0-9a-f]{{32}}")
_LOCK_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FOLDER_NAME = re.compile(r".+-[0-9a-f]{12}")
_PORTS = {"ssh": 22, "git+ssh": 22, "ssh+git": 22, "https": 443, "http": 80, "git": 9418}
_SCP_LIKE = re.compile(r"(?:[^/]*@)?(\[[^/\]]+\]|[^/:\[\]]+):(?!:)(.+)", re.DOTALL)
_SPLIT_HINT = "`recollect project split` parts them"


@dataclass(frozen=True, slots=True)
class Project:
    """The project a folder is. `notes` are for a person; `joined` is true on the call that joined an existing one."""

    id: str
    name: str
    folder: Path
    """Its folder under the home."""
    root: Path
    """The working folder: the top of this worktree, or the folder itself."""
    notes: tuple[str, ...] = ()
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Registered:
    """A registration as its `project.json` tells it. With a `problem`, only `name` and `folder` mean anything."""

    id: str
    name: str
    folder: Path
    created: datetime | None = None
    git_dirs: tuple[str, ...] = ()
    """Common git folders seen carrying the id, newest first: for people, never used to recognise anything."""
    folders: tuple[str, ...] = ()
    """Real paths that are this project by themselves: plain folders, and git folders that could not be written."""
    remotes: tuple[str, ...] = ()
    """Origins seen, newest first, as `host/path` or `file:/path`, without credentials."""
    roots: tuple[str, ...] = ()
    roots_tried: datetime | None = None
    refused: tuple[str, ...] = ()
    """Projects it was parted from. One with refusals was set apart, so new clones do not join it either."""
    merged_into: str = ""
    problem: Literal["", "missing", "damaged", "unreadable", "newer"] = ""

    @property
    def places(self) -> tuple[Path, ...]:
        """The working folders seen, as a person would name them."""
        return tuple(dict.fromkeys(Path(place.removesuffix("/.git")) for place in (*self.git_dirs, *self.folders)))


def resolve(folder: Path, *, home: Path, now: datetime, join: bool = True) -> Project:
    """The project `folder` belongs to, registered now if it was not.

    With `join=False` a new clone gets a project of its own and does not join later. Raises `ProjectError` when the
    folder does not exist or the registry under `home` cannot be used.
    """
    place = _locate(_existing(folder))
    return _recognise(place, home=home, now=now) or _register(place, home=home, now=now, join=join)


def known(home: Path) -> tuple[Registered, ...]:
    """Every registration under `home`, ordered by folder name: retired ones and those with a problem too."""
    return tuple(_read(folder) for folder in _project_folders(home))


def find(name_or_id: str, *, home: Path) -> Registered:
    """The project with this id, folder name or name, or whose id begins with these eight or more characters.

    A retired project answers to its id and folder name only, with the project it went into. Raises `NotFound`, or
    `ProjectError` when several share the name.
    """
    records = [record for record in known(home) if name_or_id]
    live = [record for record in records if not record.merged_into]
    exact = [record for record in records if name_or_id in (record.id, record.folder.name)]
    unread = [replace(r, id=name_or_id) for r in live if r.problem and r.folder.name.endswith(_suffix(name_or_id))]
    named = [record for record in live if record.name == name_or_id]
    begun = [record for record in live if len(name_or_id) >= _SHORTEST_PREFIX and record.id.startswith(name_or_id)]
    matches = exact[:1] or unread[:1] or named or begun
    if not matches:
        raise NotFound("project", name_or_id)
    if len(matches) > 1:
        hint = f"Say which: {', '.join(record.folder.name for record in matches)}."
        raise ProjectError(f"{name_or_id!r} is {len(matches)} projects", hint=hint)
    return _follow(matches[0], home=home)


def rename(project_id: str, name: str, *, home: Path) -> Registered:
    """Give a project another display name; its folder stays where it is."""
    shown = name.strip()
    if not shown or not shown.isprintable() or len(shown) > _LONGEST_NAME:
        raise ProjectError(f"{name!r} is no name", hint=f"Use 1 to {_LONGEST_NAME} printable characters on one line.")
    with _locked(home):
        return _write(replace(_follow(_required(project_id, home=home), home=home), name=shown))


def split(folder: Path, *, home: Path, now: datetime) -> Project:
    """Give this folder, with all worktrees of its repository, a new project that does not join another again."""
    place = _locate(_existing(folder))
    roots = _roots(place.common)
    with _locked(home):
        config = _read_config(place.common)
        before = _current(place, config, home=home)
        apart = [before] if before else _matching(place, config, roots, home=home)
        fresh = replace(_new(uuid.uuid4().hex, place, home=home, now=now), refused=tuple(record.id for record in apart))
        return _move(place, _Choice(fresh), roots, home=home, now=now)


def rescue(folder: Path, registered_id: str, *, home: Path, now: datetime) -> Project:
    """Make this folder, with all worktrees of its repository, part of a registered project.

    For a folder that was moved, or a repository that lost its git configuration. Memories it gathered as another
    project stay with that project.
    """
    place = _locate(_existing(folder))
    roots = _roots(place.common)
    with _locked(home):
        if _lookup(registered_id, home=home) is None:
            raise NotFound("project", registered_id)
        target, notes = _registration(registered_id, place, home=home, now=now)
        if not place.common:
            # What is gone was moved here: a new folder in the old place is not this project.
            target = replace(target, folders=tuple(path for path in target.folders if os.path.lexists(path)))
        return _move(place, _Choice(target, notes), roots, home=home, now=now)


def retire(project_id: str, *, home: Path, into: str) -> None:
    """Record that a project was merged into another, which its folders are from now on. Move its memories first."""
    with _locked(home):
        old = _required(project_id, home=home)
        new = _follow(_required(into, home=home), home=home)
        if new.id == old.id:
            raise ProjectError(f"project {old.name!r} cannot be merged into itself")
        _write(replace(old, merged_into=new.id))


# --- settling ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Place:
    """Where a folder stands, in real paths. `common` is the git folder its worktrees share, "" without git."""

    root: str
    common: str = ""
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return self.common or self.root


@dataclass(frozen=True, slots=True)
class _Choice:
    record: Registered
    notes: tuple[str, ...] = ()
    joined: bool = False


def _recognise(place: _Place, *, home: Path, now: datetime) -> Project | None:
    """The project, when it is registered and there is nothing new to write down. Reads only, runs nothing."""
    config = _read_config(place.common)
    record = _current(place, config, home=home)
    if record is None or record.merged_into or _updated(record, place, config, now=now) != record:
        return None
    # Being known by its path is enough for a repository only while its id cannot be written.
    if place.common and not config.id and _is_writable(place.common):
        return None
    return _project(record, place, config.notes)


def _register(place: _Place, *, home: Path, now: datetime, join: bool) -> Project:
    config = _read_config(place.common)
    before = _current(place, config, home=home)
    # Git may take seconds over a long history, so it runs before the lock is taken.
    unsettled = not config.id or before is None or _wants_roots(before, place.common, now=now)
    roots = _roots(place.common) if unsettled else ()
    with _locked(home):
        config = _read_config(place.common)
        if not place.common:
            choice = _choose_folder(place, home=home, now=now)
        elif config.id:
            choice = _Choice(*_registration(config.id, place, home=home, now=now))
        else:
            choice = _choose_repository(place, config, roots, home=home, now=now, join=join)
            choice = _mark(place, choice, over="", home=home, now=now)
        record = _updated(choice.record, place, config, now=now, roots=roots)
        _keep(record, place, home=home)
        return _project(record, place, config.notes + choice.notes, joined=choice.joined)


def _choose_folder(place: _Place, *, home: Path, now: datetime) -> _Choice:
    here, own_id = _by_path(place.root, home=home), _path_id(place.root)
    derived = _lookup(own_id, home=home)
    if here or (derived and derived.problem):
        return _Choice(*_registration(here.id if here else own_id, place, home=home, now=now))
    # A readable registration that does not name this folder was moved elsewhere: its id is in use there.
    free_id = uuid.uuid4().hex if derived else own_id
    return _Choice(_new(free_id, place, home=home, now=now), _doubt_notes(place, [], home=home))


def _choose_repository(
    place: _Place, config: _Config, roots: _Roots, *, home: Path, now: datetime, join: bool
) -> _Choice:
    """What a repository without an id is: what it is known to be by its path, what it matches, or a new project."""
    here = _by_path(place.common, home=home)
    if here and not _foreign(here, config) and _holds(roots, here.roots):
        return _Choice(here)
    matching = _matching(place, config, roots, home=home)
    if join and len(matching) == 1:
        why = f"its origin {config.remote} and first commit {roots[0][:12]} are the same; {_SPLIT_HINT}"
        note = f"this clone joined project {matching[0].name!r} ({matching[0].folder.name}): {why}"
        return _Choice(matching[0], (note,), joined=True)
    plain = _by_path(place.root, home=home)
    if join and plain and not config.remote:
        return _Choice(plain, (f"this folder became a repository and stays project {plain.name!r}; {_SPLIT_HINT}",))
    fresh = _new(uuid.uuid4().hex, place, home=home, now=now)
    if not join:
        return _Choice(replace(fresh, refused=tuple(record.id for record in matching)))
    return _Choice(fresh, _doubt_notes(place, matching, home=home))


def _mark(place: _Place, choice: _Choice, *, over: str, home: Path, now: datetime) -> _Choice:
    """Put the id of the choice in the git configuration in place of `over`; settle for its path, or the id there."""
    record = choice.record
    wanted = _git_id(record, place, home=home, now=now)
    held = _write_id(place.common, wanted, over=over)
    if held == wanted:
        return replace(choice, record=replace(record, folders=_without(place.common, record.folders)))
    if held:
        # Another process, with another home perhaps, was first: its id counts, or there would be two.
        return _Choice(*_registration(held, place, home=home, now=now))
    if over:
        hint = "Make it writable, or remove a config.lock that was left behind, and repeat the command."
        raise ProjectError(f"{place.common}/config could not be changed", hint=hint)
    note = f"{place.common}/config could not be written, so this repository is known by its path until it can"
    record = replace(record, folders=_newest(place.common, record.folders))
    return replace(choice, record=record, notes=(*choice.notes, note))


def _move(place: _Place, choice: _Choice, roots: _Roots, *, home: Path, now: datetime) -> Project:
    """Make `place` what was chosen, whatever it was before."""
    config = _read_config(place.common)
    choice = _mark(place, choice, over=config.id, home=home, now=now) if place.common else choice
    record = _updated(choice.record, place, config, now=now, roots=roots)
    _keep(record, place, home=home)
    return _project(record, place, choice.notes)


def _keep(record: Registered, place: _Place, *, home: Path) -> None:
    """Write `record` if it changed, and take `place` out of every other registration: one path is one project."""
    if _read(record.folder) != record:
        _write(record)
    for other in known(home):
        folders, git_dirs = _without(place.key, other.folders), _without(place.key, other.git_dirs)
        if not other.problem and other.id != record.id and (folders, git_dirs) != (other.folders, other.git_dirs):
            _write(replace(other, folders=folders, git_dirs=git_dirs))


def _current(place: _Place, config: _Config, *, home: Path) -> Registered | None:
    """What this place is registered as, if it is and that can be read; still retired only if its target is gone."""
    record = _lookup(config.id or _path_id(place.key), home=home)
    if config.id:
        return _follow(record, home=home) if record and not record.problem else None
    if record and not record.problem and place.key in record.folders:
        return _follow(record, home=home)
    return _by_path(place.key, home=home)


def _by_path(path: str, *, home: Path) -> Registered | None:
    return next((_follow(record, home=home) for record in known(home) if path in record.folders), None)


def _matching(place: _Place, config: _Config, roots: _Roots, *, home: Path) -> list[Registered]:
    """The projects this clone may join: none if it is another user's, which git itself would not trust."""
    if not config.remote or not roots or os.stat(place.common).st_uid != os.geteuid():
        return []
    found = [r for r in known(home) if config.remote in r.remotes and not r.refused and _holds(roots, r.roots)]
    origin = _cloned_from(config.remote)
    parent = _current(origin, _read_config(origin.common), home=home) if origin else None
    if origin and parent and _holds(roots, parent.roots or _roots(origin.common)):
        found.append(parent)
    live = {record.id: record for record in (_follow(record, home=home) for record in found)}
    return [record for record in live.values() if not record.merged_into]


def _holds(roots: _Roots, recorded: _Roots) -> bool:
    """Whether a history has all recorded first commits. It may have gained others; unknown matches only unknown."""
    return set(recorded) <= set(roots) and bool(recorded) == bool(roots)


def _foreign(record: Registered, config: _Config) -> bool:
    return bool(config.remote) and config.remote not in record.remotes


def _updated(record: Registered, place: _Place, config: _Config, *, now: datetime, roots: _Roots = ()) -> Registered:
    """The record with what this place tells about it: equal to `record` when it tells nothing new."""
    if not place.common:
        return record if place.root in record.folders else replace(record, folders=_newest(place.root, record.folders))
    if place.common not in record.git_dirs:
        record = replace(record, git_dirs=_newest(place.common, record.git_dirs))
    if _foreign(record, config):
        record = replace(record, remotes=_newest(config.remote, record.remotes))
    if _wants_roots(record, place.common, now=now):
        record = replace(record, roots=roots, roots_tried=None if roots else _second(now))
    return record


def _wants_roots(record: Registered, common: str, *, now: datetime) -> bool:
    """Whether to ask git: not when known, not when there is no commit, and not again soon when it did not answer."""
    if record.roots or not _has_history(common):
        return False
    return record.roots_tried is None or now - record.roots_tried > _ROOTS_AGAIN


def _newest(item: str, items: tuple[str, ...]) -> tuple[str, ...]:
    kept = (item, *_without(item, items))
    if len(kept) > _MOST_SEEN:
        # Paths that are gone make room first; a mapping that still serves is the last to be dropped.
        kept = tuple(sorted(kept, key=lambda path: path.startswith("/") and not os.path.lexists(path)))
    return kept[:_MOST_SEEN]


def _without(item: str, items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(other for other in items if other != item)


# --- what is said -----------------------------------------------------------------------------------------------------
def _project(record: Registered, place: _Place, notes: tuple[str, ...], *, joined: bool = False) -> Project:
    said = tuple(_printable(note) for note in place.notes + notes)
    return Project(record.id, record.name, record.folder, Path(place.root), said, joined)


def _printable(text: str) -> str:
    """Paths and names may hold anything; what is shown must not move the cursor or pretend to be another line."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _doubt_notes(place: _Place, matching: list[Registered], *, home: Path) -> tuple[str, ...]:
    """Why what is registered anew did not become a project one might have expected."""
    records = known(home)
    broken = tuple(f"{record.folder / _FILE} is {record.problem}" for record in records if record.problem)
    before = [r for r in records if place.common in (*r.git_dirs, *r.folders) or place.root in r.folders]
    why = "matches more than one project" if matching else "is new in a place that was known before"
    names = " or ".join(f"{record.name!r} ({record.folder.name})" for record in matching or before)
    doubt = f"this repository {why} and starts empty; `recollect project rescue` makes it {names}"
    return (*broken, doubt) if names else broken


def _broken(record: Registered) -> ProjectError:
    hints = {"newer": "Upgrade Recollect to use it.", "unreadable": "Check its owner and mode."}
    hint = hints.get(record.problem, "Using Recollect in one of its folders writes it anew.")
    return ProjectError(f"{record.folder / _FILE} is {record.problem}", hint=hint)


def _unusable(error: OSError) -> ProjectError:
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return ProjectError(f"the projects cannot be read or written: {what}", hint="Check the owner, mode and disk space.")


# --- the registry -----------------------------------------------------------------------------------------------------
def _path_id(path: str) -> str:
    return f"path-{blake2b(os.fsencode(path), digest_size=16).hexdigest()}"


def _suffix(project_id: str) -> str:
    return "-" + blake2b(project_id.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def _second(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(microsecond=0)


def _new(project_id: str, place: _Place, *, home: Path, now: datetime) -> Registered:
    name = _title(place)
    folder = home / "projects" / f"{_slug(name)}{_suffix(project_id)}"
    return Registered(project_id, name, folder, _second(now))


def _title(place: _Place) -> str:
    """The folder's name; for a linked worktree that of its repository."""
    shared = os.path.dirname(place.common) if os.path.basename(place.common).startswith(".") else place.root
    name = os.path.basename(shared if place.common else place.root)
    return _printable(name)[:_LONGEST_NAME].strip() or "project"


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._]+", "-", plain).strip("-._")[:40].strip("-._") or "project"


def _project_folders(home: Path, suffix: str = "") -> list[Path]:
    projects = home / "projects"
    try:
        names = os.listdir(projects)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unusable(error) from error
    return [projects / name for name in sorted(names) if name.endswith(suffix) and _FOLDER_NAME.fullmatch(name)]


def _lookup(project_id: str, *, home: Path) -> Registered | None:
    """The registration of an id, by the hash in the folder's name, whatever that folder is called otherwise."""
    found = [_read(folder) for folder in _project_folders(home, _suffix(project_id))]
    records = [record for record in found if record.problem or record.id == project_id]
    return min(records, key=lambda record: bool(record.problem), default=None)


def _follow(record: Registered, *, home: Path) -> Registered:
    """Where a retired project went. `retire` makes no circles; one made by hand ends where it began to repeat."""
    passed = {record.id}
    while record.merged_into and record.merged_into not in passed:
        passed.add(record.merged_into)
        following = _lookup(record.merged_into, home=home)
        if following is None or following.problem:
            break
        record = following
    return record


def _required(project_id: str, *, home: Path) -> Registered:
    record = _lookup(project_id, home=home)
    if record is None:
        raise NotFound("project", project_id)
    if record.problem:
        raise _broken(record)
    return record


def _registration(project_id: str, place: _Place, *, home: Path, now: datetime) -> tuple[Registered, tuple[str, ...]]:
    """The live registration of an id: as stored, made anew when there is none, repaired when it is broken."""
    stored = _lookup(project_id, home=home)
    if stored is None:
        return _new(project_id, place, home=home, now=now), ()
    if not stored.problem:
        live = _follow(stored, home=home)
        if not live.merged_into:
            return live, ()
        target = _lookup(live.merged_into, home=home)
        if target and target.problem:
            return _registration(live.merged_into, place, home=home, now=now)
        return live, (f"project {live.name!r} was merged into one that is gone, and is used again",)
    if stored.problem in ("unreadable", "newer"):
        raise _broken(stored)
    aside = _set_aside(stored.folder / _FILE) if stored.problem == "damaged" else None
    kept = f"; the old one is kept as {aside.name}" if aside else ""
    note = f"{stored.folder / _FILE} was {stored.problem} and is written anew{kept}"
    return replace(stored, id=project_id, created=_second(now), problem=""), (note,)


def _git_id(record: Registered, place: _Place, *, home: Path, now: datetime) -> str:
    """An id of the project that may stand in a git configuration: its own, or one that leads to it."""
    if _GIT_ID.fullmatch(record.id):
        return record.id
    leading = [other.id for other in known(home) if other.merged_into == record.id and _GIT_ID.fullmatch(other.id)]
    if not leading:
        leading.append(_write(replace(_new(uuid.uuid4().hex, place, home=home, now=now), merged_into=record.id)).id)
    return leading[0]


def _read(folder: Path) -> Registered:
    """The registration in a folder; what cannot be had as it should be is a `problem`, never an exception."""
    nothing = Registered("", folder.name[:-13], folder)
    try:
        return _parsed(json.loads((folder / _FILE).read_bytes()), folder)
    except (FileNotFoundError, NotADirectoryError):
        return replace(nothing, problem="missing")
    except (OSError, RecursionError):
        # Too deep may be the file or our caller's stack: not the proof of damage that would set the file aside.
        return replace(nothing, problem="unreadable")
    except ValueError:
        return replace(nothing, problem="damaged")


def _parsed(data: dict[str, object], folder: Path) -> Registered:
    """Raises `ValueError` for anything that is not as `_write` writes it."""
    match data:
        case {"format": int(number)} if number > _FORMAT:
            return Registered("", folder.name[:-13], folder, problem="newer")
        case {"format": 1, "id": str(id_), "name": str(name), "created": str(created), "merged_into": str(merged)}:
            if not _ID.fullmatch(id_) or not folder.name.endswith(_suffix(id_)):
                raise ValueError(id_)
        case _:
            raise ValueError("not a registration")
    git_dirs, folders, remotes, roots, refused = (_texts(data.get(key)) for key in _LISTS)
    tried = _texts([data.get("roots_tried") or ""])[0]
    since, last_try = (_second(datetime.fromisoformat(text)) if text else None for text in (created, tried))
    return Registered(id_, name, folder, since, git_dirs, folders, remotes, roots, last_try, refused, merged)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(value)
    return tuple(value)


def _write(record: Registered) -> Registered:
    """Replace a registration, durably and all at once. Only under the lock, which makes one temporary name enough."""
    data = {"format": _FORMAT} | asdict(record)
    del data["folder"], data["problem"]
    _private_folder(record.folder)
    target, temporary = record.folder / _FILE, record.folder / f"{_FILE}.new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as file:
        os.fchmod(fd, 0o600)
        file.write(json.dumps(data, indent=2, default=datetime.isoformat).encode() + b"\n")
        file.flush()
        os.fsync(fd)
    os.rename(temporary, target)
    _sync_folder(record.folder)
    return record


def _set_aside(path: Path) -> Path:
    """Keep a damaged file under a name that is free."""
    names = (f"{path.name}.damaged{f'-{number}' if number > 1 else ''}" for number in itertools.count(1))
    return path.rename(next(free for name in names if not os.path.lexists(free := path.with_name(name))))


def _private_folder(path: Path) -> None:
    """A folder of this user alone from the start; one that exists keeps its mode."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
        os.chmod(path, 0o700)
        _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """The one lock around every change of the registry. What the disk refuses meanwhile is a `ProjectError`."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        _private_folder(home)
        _private_folder(home / "projects")
        fd = os.open(home / "projects" / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(fd, 0o600)
            _patiently(lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB), seconds=_REGISTRY_PATIENCE)
            yield
        finally:
            # A process forked meanwhile shares the descriptor, so closing it would not be enough.
            fcntl.flock(fd, fcntl.LOCK_UN)
            os.close(fd)
    except BlockingIOError:
        hint = "Try again; if it stays, a process using Recollect may be stopped or hung."
        raise ProjectError("another process keeps the projects locked", hint=hint) from None
    except OSError as error:
        raise _unusable(error) from error


def _patiently(attempt: Callable[[], _T], *, seconds: float) -> _T:
    """`attempt` until nobody else holds the lock it takes; its last error when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except (BlockingIOError, FileExistsError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)


# --- git: where the repository is -------------------------------------------------------------------------------------
def _existing(folder: Path) -> str:
    with suppress(ValueError):  # a NUL in the path
        if os.path.isdir(real := os.path.realpath(folder)):
            return real
    raise ProjectError(f"{str(folder)!r} is not a folder that exists")


def _locate(folder: str) -> _Place:
    """The repository `folder` lies in, found as git finds it but for bare ones, or the folder itself."""
    roots = (folder, *map(str, Path(folder).parents))
    return next((place for root in roots if (place := _repository_at(root))), _Place(folder))


def _repository_at(root: str) -> _Place | None:
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
        return None if stat.S_ISDIR(kind) else _Place(root, notes=(note,))
    common = os.path.realpath(os.path.join(git_dir, _first_line(os.path.join(git_dir, "commondir"))))
    if _points_back(root, link, git_dir, common):
        return _Place(root, common)
    remedy = "`git worktree repair` or `git config core.worktree` makes it do so"
    return _Place(root, notes=(f"{link} leads to {common}, which does not point back at this folder; {remedy}",))


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
    worktree = _read_config(common).worktree
    return bool(worktree) and os.path.realpath(os.path.join(common, worktree)) == root


def _cloned_from(remote: str) -> _Place | None:
    """The repository on this machine that `remote` names, working or bare."""
    path = remote.removeprefix("file:")
    place = _repository_at(path) if path != remote else None
    bare = path != remote and place is None and os.path.isfile(os.path.join(path, "HEAD"))
    return _Place(path, path) if bare else place if place and place.common else None


def _has_history(common: str) -> bool:
    """Whether asking for first commits can succeed. A shallow clone does not have them, whatever git answers."""
    config, shallow = os.path.join(common, "config"), os.path.join(common, "shallow")
    # Git would wait forever on a configuration that is a pipe.
    if not common or not os.path.isfile(config) or os.path.exists(shallow):
        return False
    head = _first_line(os.path.join(common, "HEAD")).removeprefix("ref:").strip()
    stored = any(os.path.exists(os.path.join(common, name)) for name in (head, "packed-refs", "reftable"))
    return stored or _COMMIT.fullmatch(head) is not None


def _roots(common: str) -> _Roots:
    """The first commits of HEAD, sorted; none when git is missing, too slow, or has no answer."""
    if not _has_history(common):
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


# --- git: its configuration -------------------------------------------------------------------------------------------

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
class _Config:
    """What we read in a git configuration. `marks` are the places of our own key in `text`."""

    text: str = ""
    id: str = ""
    remote: str = ""
    worktree: str = ""
    marks: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()


def _read_config(common: str) -> _Config:
    """The configuration of a repository; an empty one when it cannot be read, or there is no repository."""
    if not common:
        return _Config()
    try:
        return _parse_config(_content(os.path.join(common, "config")), os.path.dirname(common))
    except OSError:
        return _Config()


def _parse_config(raw: bytes, base: str) -> _Config:
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
    good = [value for value in ids if _GIT_ID.fullmatch(value)]
    bad = [value for value in ids if value not in good]
    notes = tuple(f"recollect.project = {value[:60]!r} is no project id and is ignored" for value in bad)
    remote = _remote(urls[0], base) if urls else ""
    return _Config(text, good[-1] if good else "", remote, worktree, tuple(marks), notes)


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


def _is_writable(common: str) -> bool:
    """Whether the configuration could be written just now: git's lock is taken and given back."""
    path = os.path.join(common, "config")
    try:
        _content(path)
        os.close(os.open(f"{path}.lock", _LOCK_FLAGS, 0o600))
        os.unlink(f"{path}.lock")
    except OSError:
        return False
    return True


def _write_id(common: str, project_id: str, *, over: str) -> str:
    """Put the id into the configuration by git's own protocol, unless it holds another id than `over`.

    Returns the id it holds afterwards, "" when it could not be written.
    """
    path = os.path.join(common, "config")
    try:
        fd = _patiently(lambda: os.open(f"{path}.lock", _LOCK_FLAGS, 0o600), seconds=_CONFIG_PATIENCE)
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
        _sync_folder(Path(common))
    except OSError:
        return project_id if renamed else ""
    finally:
        # Once renamed, a lock of that name is somebody else's.
        if not renamed:
            with suppress(OSError):
                os.unlink(f"{path}.lock")
    return project_id


def _marked(held: _Config, project_id: str) -> str:
    text, entry = held.text, f"project = {project_id}"
    for start, end in reversed(held.marks):
        text = text[:start] + entry + text[end:]
        entry = ""
    if held.marks:
        return text
    # A backslash at the end would swallow the line break after it.
    gap = "\n\n" if text.endswith(("\\", "\\\n")) else "\n" if text and not text.endswith("\n") else ""
    return f"{text}{gap}[recollect]\n\t{entry}\n"
