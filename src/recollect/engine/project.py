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

import fcntl
import itertools
import json
import os
import re
import unicodedata
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from ..disk import private_folder, write_private
from ..errors import NotFound, ProjectError
from .repository import (
    GIT_ID,
    GitConfig,
    Place,
    Roots,
    cloned_from,
    existing,
    first_commits,
    has_history,
    is_writable,
    locate,
    patiently,
    read_config,
    write_id,
)

__all__ = ["Project", "Registered", "find", "known", "rename", "rescue", "resolve", "retire", "split"]

_FORMAT = 1
_FILE = "project.json"
_LISTS = ("git_dirs", "folders", "remotes", "roots", "refused")
_MOST_SEEN = 20
_LONGEST_NAME = 100
_SHORTEST_PREFIX = 8
_REGISTRY_PATIENCE = 10.0
_ROOTS_AGAIN = timedelta(days=1)

_ID = re.compile(rf"{GIT_ID.pattern}|path-[0-9a-f]{{32}}")
_FOLDER_NAME = re.compile(r".+-[0-9a-f]{12}")
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
    place = locate(existing(folder))
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
    place = locate(existing(folder))
    roots = first_commits(place.common)
    with _locked(home):
        config = read_config(place.common)
        before = _current(place, config, home=home)
        apart = [before] if before else _matching(place, config, roots, home=home)
        fresh = replace(_new(uuid.uuid4().hex, place, home=home, now=now), refused=tuple(record.id for record in apart))
        return _move(place, _Choice(fresh), roots, home=home, now=now)


def rescue(folder: Path, registered_id: str, *, home: Path, now: datetime) -> Project:
    """Make this folder, with all worktrees of its repository, part of a registered project.

    For a folder that was moved, or a repository that lost its git configuration. Memories it gathered as another
    project stay with that project.
    """
    place = locate(existing(folder))
    roots = first_commits(place.common)
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
class _Choice:
    record: Registered
    notes: tuple[str, ...] = ()
    joined: bool = False


def _recognise(place: Place, *, home: Path, now: datetime) -> Project | None:
    """The project, when it is registered and there is nothing new to write down. Reads only, runs nothing."""
    config = read_config(place.common)
    record = _current(place, config, home=home)
    if record is None or record.merged_into or _updated(record, place, config, now=now) != record:
        return None
    # Being known by its path is enough for a repository only while its id cannot be written.
    if place.common and not config.id and is_writable(place.common):
        return None
    return _project(record, place, config.notes)


def _register(place: Place, *, home: Path, now: datetime, join: bool) -> Project:
    config = read_config(place.common)
    before = _current(place, config, home=home)
    # Git may take seconds over a long history, so it runs before the lock is taken.
    unsettled = not config.id or before is None or _wants_roots(before, place.common, now=now)
    roots = first_commits(place.common) if unsettled else ()
    with _locked(home):
        config = read_config(place.common)
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


def _choose_folder(place: Place, *, home: Path, now: datetime) -> _Choice:
    here, own_id = _by_path(place.root, home=home), _path_id(place.root)
    derived = _lookup(own_id, home=home)
    if here or (derived and derived.problem):
        return _Choice(*_registration(here.id if here else own_id, place, home=home, now=now))
    # A readable registration that does not name this folder was moved elsewhere: its id is in use there.
    free_id = uuid.uuid4().hex if derived else own_id
    return _Choice(_new(free_id, place, home=home, now=now), _doubt_notes(place, [], home=home))


def _choose_repository(
    place: Place, config: GitConfig, roots: Roots, *, home: Path, now: datetime, join: bool
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


def _mark(place: Place, choice: _Choice, *, over: str, home: Path, now: datetime) -> _Choice:
    """Put the id of the choice in the git configuration in place of `over`; settle for its path, or the id there."""
    record = choice.record
    wanted = _git_id(record, place, home=home, now=now)
    held = write_id(place.common, wanted, over=over)
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


def _move(place: Place, choice: _Choice, roots: Roots, *, home: Path, now: datetime) -> Project:
    """Make `place` what was chosen, whatever it was before."""
    config = read_config(place.common)
    choice = _mark(place, choice, over=config.id, home=home, now=now) if place.common else choice
    record = _updated(choice.record, place, config, now=now, roots=roots)
    _keep(record, place, home=home)
    return _project(record, place, choice.notes)


def _keep(record: Registered, place: Place, *, home: Path) -> None:
    """Write `record` if it changed, and take `place` out of every other registration: one path is one project."""
    if _read(record.folder) != record:
        _write(record)
    for other in known(home):
        folders, git_dirs = _without(place.key, other.folders), _without(place.key, other.git_dirs)
        if not other.problem and other.id != record.id and (folders, git_dirs) != (other.folders, other.git_dirs):
            _write(replace(other, folders=folders, git_dirs=git_dirs))


def _current(place: Place, config: GitConfig, *, home: Path) -> Registered | None:
    """What this place is registered as, if it is and that can be read; still retired only if its target is gone."""
    record = _lookup(config.id or _path_id(place.key), home=home)
    if config.id:
        return _follow(record, home=home) if record and not record.problem else None
    if record and not record.problem and place.key in record.folders:
        return _follow(record, home=home)
    return _by_path(place.key, home=home)


def _by_path(path: str, *, home: Path) -> Registered | None:
    return next((_follow(record, home=home) for record in known(home) if path in record.folders), None)


def _matching(place: Place, config: GitConfig, roots: Roots, *, home: Path) -> list[Registered]:
    """The projects this clone may join: none if it is another user's, which git itself would not trust."""
    if not config.remote or not roots or os.stat(place.common).st_uid != os.geteuid():
        return []
    found = [r for r in known(home) if config.remote in r.remotes and not r.refused and _holds(roots, r.roots)]
    origin = cloned_from(config.remote)
    parent = _current(origin, read_config(origin.common), home=home) if origin else None
    if origin and parent and _holds(roots, parent.roots or first_commits(origin.common)):
        found.append(parent)
    live = {record.id: record for record in (_follow(record, home=home) for record in found)}
    return [record for record in live.values() if not record.merged_into]


def _holds(roots: Roots, recorded: Roots) -> bool:
    """Whether a history has all recorded first commits. It may have gained others; unknown matches only unknown."""
    return set(recorded) <= set(roots) and bool(recorded) == bool(roots)


def _foreign(record: Registered, config: GitConfig) -> bool:
    return bool(config.remote) and config.remote not in record.remotes


def _updated(record: Registered, place: Place, config: GitConfig, *, now: datetime, roots: Roots = ()) -> Registered:
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
    if record.roots or not has_history(common):
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
def _project(record: Registered, place: Place, notes: tuple[str, ...], *, joined: bool = False) -> Project:
    said = tuple(_printable(note) for note in place.notes + notes)
    return Project(record.id, record.name, record.folder, Path(place.root), said, joined)


def _printable(text: str) -> str:
    """Paths and names may hold anything; what is shown must not move the cursor or pretend to be another line."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def _doubt_notes(place: Place, matching: list[Registered], *, home: Path) -> tuple[str, ...]:
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


def _new(project_id: str, place: Place, *, home: Path, now: datetime) -> Registered:
    name = _title(place)
    folder = home / "projects" / f"{_slug(name)}{_suffix(project_id)}"
    return Registered(project_id, name, folder, _second(now))


def _title(place: Place) -> str:
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


def _registration(project_id: str, place: Place, *, home: Path, now: datetime) -> tuple[Registered, tuple[str, ...]]:
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


def _git_id(record: Registered, place: Place, *, home: Path, now: datetime) -> str:
    """An id of the project that may stand in a git configuration: its own, or one that leads to it."""
    if GIT_ID.fullmatch(record.id):
        return record.id
    leading = [other.id for other in known(home) if other.merged_into == record.id and GIT_ID.fullmatch(other.id)]
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
    """Replace a registration, durably and all at once. Only under the lock."""
    data = {"format": _FORMAT} | asdict(record)
    del data["folder"], data["problem"]
    write_private(private_folder(record.folder) / _FILE, [json.dumps(data, indent=2, default=datetime.isoformat), "\n"])
    return record


def _set_aside(path: Path) -> Path:
    """Keep a damaged file under a name that is free."""
    names = (f"{path.name}.damaged{f'-{number}' if number > 1 else ''}" for number in itertools.count(1))
    return path.rename(next(free for name in names if not os.path.lexists(free := path.with_name(name))))


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """The one lock around every change of the registry. What the disk refuses meanwhile is a `ProjectError`."""
    try:
        private_folder(home / "projects")
        fd = os.open(home / "projects" / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(fd, 0o600)
            patiently(lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB), seconds=_REGISTRY_PATIENCE)
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
