"""MEMORY.md: the file that shows the long-term memory of a project, or the global one, and takes edits back.

What was last written is kept beside the store, so that a difference is known for an edit; of a few versions before it
is kept what they showed, for whoever had one of them open. Edits come in by the same door as everything else, and only
then the file is written anew. A file that cannot be read is left as it is.

Killed at any point, the next call goes on from there: what was taken in already is found to be there, and the text
that was about to be written is kept under another name until the file holds it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

from ..codec import HASH_PREFIX, digest
from ..disk import private_folder, write_private
from ..errors import (
    BadFile,
    ConfigError,
    DuplicateMemory,
    InvalidInput,
    KeyReused,
    NotFound,
    RecollectError,
    StaleVersion,
    StoreBusy,
    StoreError,
    TooLarge,
)
from ..formats.memory_md import PLAIN, Layout, Parsed, parsed, written
from ..formats.mirror_past import past_from, past_json
from ..model import (
    LIVE,
    Add,
    Change,
    Condition,
    Edit,
    LinkKind,
    Mark,
    Memory,
    MemoryId,
    Op,
    Order,
    Origin,
    Outcome,
    Provenance,
    Relation,
    Retag,
    Revise,
    Scope,
    Signals,
    Status,
    Where,
)
from ..policy.admit import admit, admit_edit, clean_tags, compose
from ..policy.identity import fingerprint
from ..policy.mirror import (
    Adopt,
    Amend,
    Entry,
    Merge,
    MirrorEdit,
    Reconciliation,
    Restore,
    Version,
    contents,
    edited_version,
    entry_of,
    reconciled,
)
from ..policy.redact import redact
from ..store import Store
from .parts import Parts, SpaceName, new_uid
from .project import Project
from .repository import patiently

NAME = "MEMORY.md"
ACTOR = NAME
"""Who the audit says made the changes: whoever edited the file, which nobody can tell."""

_SHARED_TITLE = "Global Memory"
_PATIENCE = 10.0
_SETTLE = 0.05
"""Seconds for which a file that was only just written is given time to be written whole."""
_QUIET = 0.5
"""Seconds for which the watcher leaves a file alone after it has changed, while somebody may still be saving it."""
_TRIES = 5
_LARGEST = 2 * 1024 * 1024
_USUAL_LINE = 50
_LIVE = Condition("status", Op.IN, tuple(sorted(LIVE)))
_PINNED = Condition("status", Op.EQ, Status.PINNED.value)

_Removals: TypeAlias = Literal["ask", "do", "undo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What was taken from the file, by the references of the memories."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    conflicts: tuple[tuple[str, str], ...] = ()
    """What memory says and what the file says, where both were changed; each is a conflict that is open."""
    kept: tuple[str, ...] = ()
    """Memories whose lines were removed and that were changed meanwhile; they stay."""
    later: tuple[str, ...] = ()
    """Memories that are not in the file and seem to have come after somebody opened it; they stay."""
    waiting: tuple[str, ...] = ()
    """So many lines were removed at once that somebody must confirm it; until then the file is not written."""
    problems: tuple[str, ...] = ()
    """Why the file, or what is left of it, was not taken; it stays as it is."""


class Mirror:
    """The file that shows the memories of one project, or the global ones.

    `folder` is that of the space under the home, where what was last written is kept. With a `root`, the file lies in
    a working tree and must really be inside it, whatever links lead there.
    """

    def __init__(
        self, parts: Parts, path: Path, *, folder: Path, root: Path | None = None, space: SpaceName = "project"
    ) -> None:
        self.path = path
        self._space = space
        self._scope = Scope.GLOBAL if space == "global" else Scope.PROJECT
        self._shown: Where = (_LIVE, Condition("scope", Op.EQ, self._scope.value))
        self._parts = parts
        self._folder = folder
        self._root = root
        # Worktrees of one project share its folder and have a file each.
        where = "" if path.parent == folder else f".{_short(str(path))}"
        self._base = folder / f".{NAME}{where}.base"
        self._next = folder / f".{NAME}{where}.next"
        self._past = folder / f".{NAME}{where}.past"
        self._lock = folder / f".{NAME}{where}.lock"
        self._mark = _short(folder.name)

    @classmethod
    def of(cls, parts: Parts, project: Project) -> Mirror:
        """The mirror of a project where the settings place it. Raises `ConfigError` if that is outside its root."""
        chosen = parts.settings.mirror.path
        if chosen is None:
            return cls(parts, project.folder / NAME, folder=project.folder)
        path = Path(os.path.normpath(project.root / chosen))
        if not any(path.is_relative_to(root) for root in (project.root, os.path.realpath(project.root))):
            raise ConfigError("mirror.path", f"{chosen!r} is not inside {project.root}", where="settings")
        return cls(parts, path, folder=project.folder, root=project.root)

    @classmethod
    def shared(cls, parts: Parts, home: Path) -> Mirror:
        """The mirror of the memories that all projects share."""
        folder = home / "global"
        return cls(parts, folder / NAME, folder=folder, space="global")

    def write(self) -> bool:
        """Write what is remembered, if the file says something else and holds no edits. Returns whether it did.

        Where nothing is remembered no file is made. Raises `BadFile` or `TooLarge` where the file cannot be what it
        should be.
        """
        if self._parts.switch.off_where():
            return False
        with self._locked():
            found = self._read()
            if found is not None and not self._last_written(found):
                return False
            try:
                return self._put(found, self._layout(found))
            except _Overtaken:
                return False

    def edited(self) -> bool:
        """Whether the file is not as it was last written."""
        with self._locked():
            found = self._read()
            return found is not None and not self._last_written(found)

    def take_edits(self, *, confirmed: bool = False, origin: Origin = Origin.OBSERVED) -> Taken:
        """Carry edits of the file over to memory, then write it anew. Nothing happens where there are none.

        `confirmed` also forgets what was removed where that is more than a fifth at once, and takes over a file that
        was there before Recollect came. An `origin` other than observed is for callers who know who edited it.
        """
        return self._take("do" if confirmed else "ask", origin)

    def bring_back(self, *, origin: Origin = Origin.OBSERVED) -> Taken:
        """Carry edits over but for removals: the lines come back."""
        return self._take("undo", origin)

    def watch(
        self, stop: threading.Event, *, interval: float = 2.0, told: Callable[[Taken], None] = lambda taken: None
    ) -> None:
        """Take edits soon after they are made and write what has changed in memory, until `stop` is set.

        Whatever came of an edit is `told`. A store that is busy or a disk that is full is tried again.
        """
        seen: object = None
        head: object = None
        while True:
            with suppress(RecollectError, OSError):
                state = self._state()
                if state != seen and not stop.wait(_QUIET if seen else 0) and self._state() == state:
                    taken = self.take_edits()
                    seen = state  # not what it is now: somebody may have saved it again meanwhile
                    if taken != Taken():
                        told(taken)
                current = self._store().audit_head()
                if current != head:
                    self.write()
                    head = current
            if stop.wait(interval):
                return

    # --- Taking edits ------------------------------------------------------------------------------------------------

    def _take(self, removals: _Removals, origin: Origin) -> Taken:
        off = self._parts.switch.off_where()
        if off:
            return Taken(problems=(f"memory is switched off {off}",))
        try:
            with self._locked():
                for _ in range(_TRIES):
                    with suppress(StaleVersion, DuplicateMemory, NotFound, KeyReused, _Overtaken):
                        return self._take_once(removals, origin)
        except (BadFile, TooLarge) as error:
            return Taken(problems=(str(error),))
        return Taken(problems=(f"{self.path}: it keeps changing; it is read again next time",))

    def _take_once(self, removals: _Removals, origin: Origin) -> Taken:
        found = self._read()
        if found is None:
            self._put(None, self._layout(None))
            return Taken()
        if self._last_written(found):
            return Taken()
        theirs = self._parsed(found)
        versions = self._versions()
        if not versions and theirs.layout.mark != self._mark and theirs.entries and removals != "do":
            # It may have come with somebody else's repository.
            command = "recollect mirror --global" if self._space == "global" else "recollect mirror"
            takes = f"`{command} --confirm` makes memories of its {len(theirs.entries):,} entries"
            problem = f"was not written here and was left as it is; {takes}"
            return Taken(problems=(f"{self.path}: {problem}",))
        store, now = self._store(), self._parts.clock()
        with store.snapshot():
            head = store.audit_head()
            base = self._written_before(store, versions, theirs)
            theirs = _redacted(theirs, base.entries)
            result = self._reconciled(store, base.entries, theirs)
        waits = bool(result.removals) and (removals == "undo" or (removals == "ask" and result.asks))
        work = _Work(self._parts, self._scope, origin, now, str(self.path), Taken(later=base.later))
        work.plan(replace(result, removals=() if waits else result.removals))
        if work.changes:
            # The state of the store is in the key: the same lines may be added, forgotten and added again.
            key = digest("mirror", found.decode("utf-8", "replace"), head.hash)
            work.done(store.apply(work.changes, actor=ACTOR, now=now, key=key).outcomes)
            self._parts.wake()
        if waits and removals == "ask":
            return replace(work.taken, waiting=_refs(result.removals))
        gone = () if waits else result.removals
        return self._written_anew(found, theirs.layout, work.taken, frozenset(memory.id for memory in gone))

    def _written_anew(self, found: bytes, layout: Layout, taken: Taken, gone: frozenset[MemoryId]) -> Taken:
        """Write the file after its edits were taken, which were so whether it can be written or not."""
        try:
            self._put(found, layout, gone)
        except (BadFile, TooLarge, StoreError) as error:
            return replace(taken, problems=(str(error),))
        except _Overtaken:
            pass  # somebody saved it meanwhile: what is new in it is taken next time
        return taken

    def _reconciled(self, store: Store, base: tuple[Entry, ...], theirs: Parsed) -> Reconciliation:
        numbers = sorted({int(entry.id) for entry in (*base, *theirs.entries) if entry.id is not None})
        named = store.query((Condition("id", Op.IN, tuple(numbers)),), limit=None) if numbers else ()
        words = sorted({fingerprint(text) for entry in theirs.entries for text in contents(entry)})
        saying = store.query((*self._shown, Condition("fingerprint", Op.IN, tuple(words))), limit=None) if words else ()
        ours = {memory.id: memory for memory in (*named, *saying) if memory.scope is self._scope}
        return reconciled(base, theirs.entries, ours.values(), known=self._knows(theirs))

    def _store(self) -> Store:
        return self._parts.store(self._space)

    # --- The file ----------------------------------------------------------------------------------------------------

    def _put(self, found: bytes | None, layout: Layout, gone: frozenset[MemoryId] = frozenset()) -> bool:
        """Write what is remembered over what was found. What was saved since then is not overwritten.

        `gone` is what an edit of the file has removed.
        """
        if found is None and not self._store().count(self._shown):
            return False
        text = self._text(layout, "\r\n" if found and b"\r\n" in found else "\n")
        data = text.encode()
        if data == found and self._kept(self._base) == text:
            return False
        path = self._real()
        try:
            private_folder(self._folder)
            self._keep_past(text, gone)
            if data == found:
                write_private(self._base, [text])
                return False
            write_private(self._next, [text])
            if self._read() != found:
                self._next.unlink()
                raise _Overtaken
            mode = stat.S_IMODE(path.stat().st_mode) if found is not None else 0o600
            path.parent.mkdir(parents=True, exist_ok=True)
            write_private(path, [text])
            path.chmod(mode)
            os.replace(self._next, self._base)
        except OSError as error:
            raise StoreError(str(path), f"cannot be written ({error.strerror})") from error
        return True

    def _text(self, layout: Layout, newline: str) -> str:
        """What is remembered, as text. Of many memories only those are read that may fit."""
        store, limit = self._store(), self._parts.settings.mirror.limit
        most = limit // _USUAL_LINE + 1
        with store.snapshot():
            total = store.count(self._shown)
            memories = _most_important(store, self._shown, most)
            while len(memories) < total and sum(len(memory.content) for memory in memories) < limit:
                most *= 2
                memories = _most_important(store, self._shown, most)
        layout = replace(layout, mark=self._mark, shared=self._space == "global")
        # In a repository the name would be a line more in every difference, and a conflict in every merge.
        named = self._root is None
        return written(memories, limit=limit, unseen=total - len(memories), layout=layout, newline=newline, named=named)

    def _layout(self, found: bytes | None) -> Layout:
        """What of the file is no memory: of the one that is there, else of the one that was written."""
        text = self._kept(self._base) if found is None else self._decoded(found)
        if text is None:
            return replace(PLAIN, title=_SHARED_TITLE) if self._space == "global" else PLAIN
        return parsed(text).layout

    def _last_written(self, found: bytes) -> bool:
        """Whether the file is as it was written; what a process that was killed had yet to do is done."""
        with suppress(OSError):
            if found == _bytes(self._kept(self._next)):
                os.replace(self._next, self._base)
            elif found == _bytes(self._kept(self._base)):
                self._next.unlink(missing_ok=True)
        return found == _bytes(self._kept(self._base))

    # --- What was written before --------------------------------------------------------------------------------------

    def _versions(self) -> tuple[Version, ...]:
        """The versions of the file that are known, newest first; none if none was written.

        A process that was killed while writing leaves a text of which nobody knows whether it was ever to be seen.
        """
        texts = [text for path in (self._next, self._base) if (text := self._kept(path)) is not None]
        found = [Version.of(parsed(text).entries) for text in texts]
        return (*found, *past_from(self._kept(self._past) or "", found[-1])) if found else ()

    def _keep_past(self, text: str, gone: frozenset[MemoryId]) -> None:
        """Let what was last written be a version of the past, now that this text is about to be written.

        Killed in between, the text that was last written is the newest still, and what came before it is found.
        """
        newest, versions = Version.of(parsed(text).entries), self._versions()
        if versions and versions[0].name != newest.name:
            past = past_json((newest, replace(versions[0], taken_out=gone), *versions[1:]))
            write_private(self._past, [past])

    def _written_before(self, store: Store, versions: tuple[Version, ...], theirs: Parsed) -> _Before:
        """What the file said before somebody edited it. Of an edit that does not name its version that is a guess."""
        ours = theirs.layout.mark == self._mark
        name = theirs.version if ours else ""
        version = edited_version(versions, theirs.entries, name)
        if version is None:
            if not ours:
                return _Before()
            version = Version.of(self._unchanged(store, theirs.entries))
        elif name:
            return _Before(entries=self._entries(store, version, theirs))
        later = version.lacks(versions[0], theirs.entries) if versions and self._knows(theirs) else ()
        shown = store.query((*self._shown, Condition("id", Op.IN, later)), limit=None) if later else ()
        there = _refs(sorted(shown, key=lambda memory: memory.id))
        return _Before(entries=self._entries(store, version, theirs), later=there)

    def _knows(self, theirs: Parsed) -> bool:
        """Whether the ids in a file are those of this store."""
        return theirs.layout.mark in ("", self._mark)

    def _entries(self, store: Store, version: Version, theirs: Parsed) -> tuple[Entry, ...]:
        """The entries of a version, whose words the file, the one last written, or memory has."""
        texts = [entry.text for entry in theirs.entries]
        texts += [entry.text for path in (self._next, self._base) for entry in parsed(self._kept(path) or "").entries]
        found = {entry.id for entry in version.entries(texts)}
        texts += [text for number in version.lines if number not in found for text in _bodies(store, number)]
        return version.entries(texts)

    def _unchanged(self, store: Store, theirs: Iterable[Entry]) -> Iterator[Entry]:
        """The entries that say what their memories say or once said, where nothing else is known of their version."""
        for entry in theirs:
            if entry.id is not None and entry.text in _bodies(store, entry.id):
                yield entry

    def _parsed(self, found: bytes) -> Parsed:
        text = self._decoded(found)
        if not text.strip():
            hint = "Remove the file to have it written anew."
            raise BadFile(str(self.path), "is empty; nothing was taken for removed", hint=hint)
        result = parsed(text)
        if result.problems:
            raise BadFile(str(self.path), f"{'; '.join(result.problems)}. It was left as it is")
        return result

    def _decoded(self, found: bytes) -> str:
        try:
            return found.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = found.count(b"\n", 0, error.start) + 1
            raise BadFile(str(self.path), "is not UTF-8 text. It was left as it is", line=line) from error

    def _kept(self, path: Path) -> str | None:
        with suppress(OSError, UnicodeDecodeError):
            return path.read_bytes().decode()
        return None

    def _real(self) -> Path:
        """Where the file really lies, inside the root."""
        real = Path(os.path.realpath(self.path))
        if self._root is not None and not real.is_relative_to(os.path.realpath(self._root)):
            raise BadFile(str(self.path), f"a link leads out of {self._root}. It was left as it is")
        return real

    def _read(self) -> bytes | None:
        """The file as it is, or None if there is none; whole, if somebody is just saving it."""
        before = self._state()
        for _ in range(_TRIES):
            if before is None or not 0 <= time.time_ns() - before[0] < _SETTLE * 1e9:
                break
            time.sleep(_SETTLE)
            before = self._state()
        try:
            descriptor = os.open(self._real(), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadFile(str(self.path), f"cannot be read ({error.strerror})") from error
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode) or about.st_size > max(_LARGEST, 8 * self._parts.settings.mirror.limit):
            os.close(descriptor)
            raise BadFile(str(self.path), "is not an ordinary file of ordinary size. It was left as it is")
        with os.fdopen(descriptor, "rb") as file:
            return file.read()

    def _state(self) -> tuple[int, int, int] | None:
        with suppress(OSError):
            about = os.stat(self.path)
            return about.st_mtime_ns, about.st_size, about.st_ino
        return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One process at a time reads and writes the file."""
        private_folder(self._folder)
        try:
            descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(str(self._lock), f"cannot be written ({error.strerror})") from error
        try:
            patiently(lambda: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB), seconds=_PATIENCE)
        except BlockingIOError as error:
            os.close(descriptor)
            raise StoreBusy(str(self.path), "another process is reading or writing it") from error
        try:
            yield
        finally:
            # A process forked meanwhile shares the descriptor, so closing it would not be enough.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)


def _most_important(store: Store, shown: Where, most: int) -> tuple[Memory, ...]:
    """The memories that are shown first: so many pinned ones, then others, in the order in which they are."""
    order = Order(field="importance", newest_first=True)
    pinned = store.query((*shown, _PINNED), order=order, limit=most)
    others = (*shown, Condition("status", Op.NE, Status.PINNED.value))
    return (*pinned, *store.query(others, order=order, limit=most - len(pinned))) if len(pinned) < most else pinned


def _bodies(store: Store, number: MemoryId) -> tuple[str, ...]:
    """What the file shows of a memory, and has shown of it before."""
    states = (store.get(number), *(version.memory for version in store.history(number)))
    return tuple(entry_of(memory).text for memory in states if memory is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """What was written before somebody edited it."""

    entries: tuple[Entry, ...] = ()
    later: tuple[str, ...] = ()
    """What has come since and is not in the file, where it is not sure that it has."""


class _Overtaken(Exception):
    """Somebody saved the file while its edits were being taken."""


@dataclass(slots=True)
class _Work:
    """Edits as changes, and what came of them."""

    parts: Parts
    scope: Scope
    origin: Origin
    now: datetime
    name: str
    taken: Taken = Taken()
    changes: list[Change] = field(default_factory=list)
    _of: list[MirrorEdit | Memory] = field(default_factory=list)

    def plan(self, result: Reconciliation) -> None:
        """The changes that edits come to. Raises `BadFile` for a line that cannot be a memory."""
        for edit in result.edits:
            try:
                self._add(edit, self._changes(edit))
            except InvalidInput as error:
                raise BadFile(self.name, f"{error}. It was left as it is", line=edit.line) from error
        for memory in result.removals:
            self._add(memory, [Mark(id=memory.id, status=Status.FORGOTTEN)])
        self.taken = replace(self.taken, kept=_refs(result.kept))

    def _add(self, edit: MirrorEdit | Memory, changes: Iterable[Change]) -> None:
        for change in changes:
            self.changes.append(change)
            self._of.append(edit)

    def _changes(self, edit: MirrorEdit) -> list[Change]:
        match edit:
            case Amend():
                return self._amending(edit)
            case Merge():
                memory = edit.memory
                return [Mark(id=memory.id, status=Status.SUPERSEDED, superseded_by=edit.into.uid)]
            case Restore():
                return [Mark(id=edit.memory.id, status=Status.CONFIRMED)]
            case Adopt():
                return [self._adopting(edit)]
        assert_never(edit)

    def _amending(self, amend: Amend) -> list[Change]:
        memory, limits = amend.memory, self.parts.limits
        changes: list[Change] = []
        if amend.edit != Edit():
            step = Provenance(origin=self.origin, at=self.now, reason=f"edited in {NAME}")
            edit = admit_edit(amend.edit, limits)
            changes.append(Revise(id=memory.id, edit=edit, provenance=step, expected_version=memory.version))
        if amend.status is not None:
            changes.append(Mark(id=memory.id, status=amend.status))
        if amend.tagged or amend.untagged:
            changes.append(Retag(id=memory.id, add=clean_tags(amend.tagged, limits), remove=amend.untagged))
        return changes

    def _adopting(self, adopt: Adopt) -> Add:
        draft = admit(replace(adopt.draft, scope=self.scope, reason=f"written in {NAME}"), self.parts.limits)
        memory = compose(draft, uid=new_uid(self.now), origin=self.origin, now=self.now)
        status = Status.PINNED if adopt.pinned else Status.CONFIRMED
        against = adopt.against
        relations = (
            (Relation(kind=LinkKind.CONTRADICTS, target=against.id, content_hash=against.content_hash),)
            if against is not None
            else ()
        )
        return Add(memory=replace(memory, status=status), on_duplicate=Signals(), relations=relations)

    def done(self, outcomes: Iterable[Outcome]) -> None:
        """Say what the changes did."""
        refs: dict[str, dict[str, None]] = {name: {} for name in ("changed", "added", "removed", "moved", "restored")}
        conflicts: list[tuple[str, str]] = []
        for edit, outcome in zip(self._of, outcomes, strict=True):
            memory = outcome.memory
            if memory is None:  # repeated under a key whose memory was erased since
                continue
            match edit:
                case Adopt(against=None):
                    refs["added"][memory.ref] = None
                case Adopt(against=Memory() as against):
                    conflicts.append((against.ref, memory.ref))
                case Amend():
                    refs["changed"] |= {memory.ref: None} if edit.rewritten else {}
                    refs["moved"] |= {memory.ref: None} if edit.moved else {}
                case Merge():
                    refs["changed"][memory.ref] = None
                case Restore():
                    refs["restored"][memory.ref] = None
                case Memory():
                    refs["removed"][memory.ref] = None
        told = {name: tuple(found) for name, found in refs.items()}
        self.taken = replace(self.taken, **told, conflicts=tuple(conflicts))


def _redacted(theirs: Parsed, base: Iterable[Entry]) -> Parsed:
    """A file without secrets. What was written before has none, or it is known."""
    written_before = {entry.text for entry in base}
    entries = (
        entry if entry.text in written_before else replace(entry, text=redact(entry.text).text)
        for entry in theirs.entries
    )
    layout = theirs.layout
    titles = {title: redact(title).text for title in ("", *layout.own)}
    clean = replace(
        layout,
        front=tuple(redact(line).text for line in layout.front),
        title=redact(layout.title).text,
        own=tuple(titles[title] for title in layout.own),
    )
    return Parsed(entries=tuple(replace(entry, own=titles[entry.own]) for entry in entries), layout=clean)


def _refs(memories: Iterable[Memory]) -> tuple[str, ...]:
    return tuple(memory.ref for memory in memories)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _short(text: str) -> str:
    return digest("mirror", text).removeprefix(HASH_PREFIX)[:8]
