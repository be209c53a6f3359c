"""The transcripts of a project: one file a session, to which many processes append.

    sessions.json             the index, derived: made anew from the files where it is missing, damaged or behind
    <id>.jsonl                a session, one record a line (formats/transcript.py)
    <id>.torn                 what a crash left of records that were never acknowledged
    archive/<id>.jsonl.gz     a session that has not been used for long
    .locks/                   whoever writes to a session holds its lock; one file is the lock of many sessions

Readers hold no lock. A file that is there and not empty is always whole and newer than its archive, and there is no
moment at which neither is there, so a crash between two steps leaves nothing to decide.

A session that was forked begins with a mark that names its parent, and shares the parent's turns by reading them there.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import json
import os
import re
import secrets
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import IO, cast

from ..codec import conform, decode, digest, encode, to_iso
from ..disk import private_folder, sync_folder
from ..errors import InvalidInput, NotFound, StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, TooLarge
from ..formats import transcript
from ..formats.transcript import (
    Listed,
    Mark,
    Role,
    Turn,
    erased,
    following,
    line_of,
    numbered,
    redacted,
    seq_of,
    turn_from,
)
from ..policy.admit import NAME_LIMIT, check_text
from ..policy.redact import redact

__all__ = ["Listed", "Tail", "Transcripts"]

PATIENCE = 10.0
"""How many seconds a writer waits for the others."""
INDEX_ROOM = 128 * 1024
"""Up to how many bytes the index is rewritten with every append; a longer one follows when somebody asks for it."""
TURN_LIMIT = 16_000_000
"""Most characters in one turn's content."""
_SHORT_PATIENCE = 0.25
_TRIES = 50
_NAME_LENGTH = 200
_LOOK_BACK_BYTES = 4 * 1024 * 1024
_BLOCK = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """Where a session ends: its last turn's number, and the hash that the next record is chained to."""

    seq: int = 0
    hash: str = ""
    end: int = 0
    """Where the last whole record ends in the file."""
    closed: bool = True
    """Whether that record has its newline."""


class Transcripts:
    """The sessions in one folder. Any number of these, in any number of processes, may share it."""

    def __init__(self, folder: Path, *, patience: float = PATIENCE) -> None:
        self._folder = folder
        self._patience = patience
        self._index = folder / "sessions.json"
        self._notes: dict[str, None] = {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found amiss so far: unfinished records that were set aside, lines that are no turns."""
        return tuple(self._notes)

    # --- writing

    def append(self, session_id: str, turns: Iterable[Turn], *, now: datetime) -> list[Turn]:
        """Add turns to a session, which begins with its first. When it returns they are on the disk.

        Redacts every text before anything else. Numbers and ids are given here; what the turns bring is ignored.
        """
        checked = [redacted(_checked(turn)) for turn in turns]
        if not checked:
            return []
        with self._held(session_id, create=True) as descriptor:
            return self._write(session_id, descriptor, checked, now)

    def mark(self, session_id: str, mark: Mark, content: str = "", *, now: datetime) -> Turn:
        """Write down something about a session: its title, or that all of its turns so far are finalised."""
        if mark is Mark.FORK:
            raise InvalidInput("mark", "a fork is made, not marked")
        with self._held(session_id) as descriptor:
            record = redacted(Turn(role=Role.SYSTEM, content=content, timestamp=now, mark=mark))
            return self._write(session_id, descriptor, [record], now)[0]

    def fork(self, session_id: str, new_id: str, *, at: int | None = None, now: datetime) -> Listed:
        """Begin a session that shares the first `at` turns of another, or all of them, without copying any."""
        tail = self.tail(session_id)
        at = tail.seq if at is None else at
        if not 0 <= at <= tail.seq:
            raise InvalidInput("at", f"session {session_id!r} has {tail.seq} turns, and cannot be forked after {at}")
        begin = Tail(seq=at, hash=self._hash_at(session_id, at))
        content = f"forked from {session_id} after {at} turns"
        record = Turn(role=Role.SYSTEM, content=content, timestamp=now, mark=Mark.FORK, fork=(session_id, at))
        with self._held(new_id, create=True) as descriptor:
            if _tail_of(descriptor, os.fstat(descriptor).st_size).end:  # what a crash tore is no session
                raise InvalidInput("session", f"{new_id!r} is there already")
            self._write(new_id, descriptor, [record], now, begin)
        return self.listed(new_id)

    def repair(self, session_id: str, *, now: datetime) -> bool:
        """Set aside an unfinished record at the end of a session; whether there was one. Appending does it too."""
        with self._held(session_id) as descriptor:
            size = os.fstat(descriptor).st_size
            tail = _tail_of(descriptor, size)
            self._settle(session_id, descriptor, tail, size, now)
            if not tail.closed:
                _put(descriptor, b"\n", tail.end)
            return tail.end < size

    def erase(self, session_id: str, turn_ids: Iterable[str]) -> int:
        """Take what turns said out of the file that holds them, a parent's included; how many records were changed.

        Goes for the whole of a tool's call and result, and for whatever a crash has left of unfinished records.
        """
        wanted = frozenset(turn_ids)
        lineage = self._lineage(session_id)
        held = [{turn.id for turn in self._records(part) if _reached(turn, upto)} for part, upto in lineage]
        for each in sorted(wanted.difference(*held)):
            raise NotFound("turn", each)
        touched = [part for part, ids in zip(lineage, held, strict=True) if ids & wanted]
        return sum(self._erase_in(part, upto, wanted) for part, upto in touched)

    def archive(self, before: datetime) -> list[str]:
        """Compress the sessions that were not used since; which they were. They are read, and appended to, as ever."""
        return [
            entry.id
            for entry in self.sessions()
            if not entry.archived and entry.updated < before and self._archive(entry.id, before)
        ]

    # --- reading

    def read(self, session_id: str, *, start: int = 0) -> Iterator[Turn]:
        """The turns of a session after the first `start`, those that it shares with its parents first."""
        return self._view(self._lineage(session_id), start)

    def tail(self, session_id: str) -> Tail:
        """Where a session ends; its last line tells, as long as it is not archived."""
        with self._opened(session_id) as file:
            if isinstance(file, gzip.GzipFile):
                return _counted(file)
            return _tail_of(file.fileno(), os.fstat(file.fileno()).st_size)

    def verify(self, session_id: str) -> tuple[str, ...]:
        """What is wrong with the chain of a session and of what it shares. An unfinished record at the end is not."""
        faults: list[str] = []
        previous, seq = "", 0
        for part, upto in self._lineage(session_id):
            fork = self.fork_of(part)
            if fork is not None:
                seq = fork[1]
                try:
                    previous = self._hash_at(fork[0], seq)
                except NotFound:
                    faults.append(f"session {part!r}: its parent {fork[0]!r} is not there")
            found = transcript.verify(self._lines(part, upto), previous=previous, seq=seq)
            faults += found if part == session_id else [f"session {part!r}: {fault}" for fault in found]
        return tuple(faults)

    def fork_of(self, session_id: str) -> tuple[str, int] | None:
        """Which session this one was forked from, and after how many turns; None where it was not."""
        for line in self._lines(session_id):
            turn = _turn_or_none(line)
            return None if turn is None else turn.fork
        return None

    def listed(self, session_id: str) -> Listed:
        """One session as the index lists it, or would if it were up to date."""
        entry = self._derived(session_id, self._known().get(session_id))
        if entry is None:
            raise NotFound("session", session_id)
        return entry

    def unchanged(self, listed: Listed) -> bool:
        """Whether the file of a session ends where the index has it end: nothing came since, and nothing is torn."""
        with _spoken(self._index):
            return _size(self._plain(listed.id)) == listed.bytes

    def sessions(self) -> list[Listed]:
        """All sessions, the one that was used last first. Brings the index up to date."""
        with _spoken(self._index):
            known = self._known()
            there: dict[str, Listed] = {}
            for session_id, (archived, size) in self._found(known).items():
                entry = known.get(session_id)
                if entry is None or entry.archived != archived or not (archived or entry.bytes == size):
                    try:
                        entry = self._derived(session_id, entry)
                    except StoreDamaged as error:  # one that is damaged hides no other
                        self._note(str(error))
                if entry is not None:
                    there[session_id] = entry
        fresh = {session_id: entry for session_id, entry in there.items() if entry != known.get(session_id)}
        if fresh or known.keys() - there.keys() or not self._index.exists():
            with suppress(OSError, StoreError):  # on a disk that can only be read
                self._rewrite_index(fresh)
        return sorted(there.values(), key=lambda entry: (entry.updated, entry.id), reverse=True)

    # --- one file

    def _plain(self, session_id: str) -> Path:
        return self._folder / f"{_file_name(session_id)}.jsonl"

    def _packed(self, session_id: str) -> Path:
        return self._folder / "archive" / f"{_file_name(session_id)}.jsonl.gz"

    @contextmanager
    def _held(self, session_id: str, *, create: bool = False) -> Iterator[int]:
        """The session's file, open and locked, brought back from the archive where it is there."""
        path, packed = self._plain(session_id), self._packed(session_id)

        def require() -> None:
            if not create and not _size(path) and not packed.exists():
                raise NotFound("session", session_id)

        with _spoken(path):
            require()
            _made(self._folder)
            with self._locked(digest(session_id)[-2:]):
                require()
                if not _size(path) and packed.exists():
                    self._sweep(session_id)
                    _replace(path, _unpacked(packed))
                    packed.unlink()
                with _file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
                    yield descriptor

    @contextmanager
    def _locked(self, name: str, patience: float | None = None) -> Iterator[None]:
        # Never the transcript itself: it is replaced while it is locked.
        path = private_folder(self._folder / ".locks") / name
        with _file(path, os.O_RDWR | os.O_CREAT) as descriptor:
            _lock(descriptor, path, self._patience if patience is None else patience)
            try:
                yield
            finally:
                # Said, and not left to closing: a child that was forked meanwhile has the file open as well.
                fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _write(
        self, session_id: str, descriptor: int, turns: list[Turn], now: datetime, begin: Tail | None = None
    ) -> list[Turn]:
        """Put records at the end of a file that is held: one write, one wait for the disk."""
        size = os.fstat(descriptor).st_size
        tail = begin or _tail_of(descriptor, size)
        self._settle(session_id, descriptor, tail, size, now)
        lines, hash = ([] if tail.closed else [""]), tail.hash
        for turn in numbered(turns, tail.seq, lambda: _before(descriptor, tail.end)):
            line, hash = line_of(turn, hash, secrets.token_hex(16))
            lines.append(line)
        data = "".join(f"{line}\n" for line in lines).encode()
        _put(descriptor, data, tail.end)
        if not size:
            sync_folder(self._folder)
        written = [turn_from(line) for line in lines if line]
        self._follow(session_id, written, before=tail.end, after=tail.end + len(data))
        return written

    def _settle(self, session_id: str, descriptor: int, tail: Tail, size: int, now: datetime) -> None:
        """Set aside what follows the last whole record. It was never acknowledged: whoever wrote it was interrupted."""
        if tail.end >= size:
            return
        left = _content(descriptor)[tail.end :]
        # What this program writes is redacted; what others leave at the end of the file may not be.
        text = redact(left.decode("utf-8", "backslashreplace")).text
        entry = {"timestamp": to_iso(now), "bytes": len(left), "text": text}
        with _file(self._torn(session_id), os.O_WRONLY | os.O_APPEND | os.O_CREAT) as aside:
            _put(aside, (json.dumps(entry, ensure_ascii=False) + "\n").encode(), os.fstat(aside).st_size)
        sync_folder(self._folder)
        os.ftruncate(descriptor, tail.end)
        _sync(descriptor)
        self._note(f"session {session_id!r}: an unfinished record of {len(left):,} bytes was set aside")

    def _torn(self, session_id: str) -> Path:
        return self._folder / f"{_file_name(session_id)}.torn"

    def _sweep(self, session_id: str) -> None:
        """Remove what killed writers left of the session's files. The caller holds the session."""
        for path in (self._plain(session_id), self._packed(session_id)):
            _sweep(path)

    def _note(self, text: str) -> None:
        self._notes[text] = None

    def _erase_in(self, session_id: str, upto: int | None, wanted: frozenset[str]) -> int:
        changed = 0
        with self._held(session_id) as descriptor:
            lines = _split(_content(descriptor))
            for number, line in enumerate(lines):
                turn = _turn_or_none(line)
                if turn is not None and turn.content is not None and turn.id in wanted and _reached(turn, upto):
                    lines[number] = f"{erased(line.decode())}\n".encode()
                    changed += 1
            if changed:
                _replace(self._plain(session_id), lines)
            # Whatever else may hold a copy: what was torn, an archive that a crash left beside the file.
            self._torn(session_id).unlink(missing_ok=True)
            self._packed(session_id).unlink(missing_ok=True)
            self._sweep(session_id)
            sync_folder(self._folder)
            entry = self._derived(session_id, None)
            self._rewrite_index({} if entry is None else {session_id: entry})
        return changed

    def _archive(self, session_id: str, before: datetime) -> bool:
        path, packed = self._plain(session_id), self._packed(session_id)
        with suppress(NotFound), self._held(session_id) as descriptor:
            entry = self._derived(session_id, None)
            if entry is None or entry.updated >= before:
                return False
            data = _content(descriptor)
            self._sweep(session_id)
            _made(packed.parent)
            _replace(packed, [gzip.compress(data, mtime=0)])
            if b"".join(_unpacked(packed)) != data:
                packed.unlink()
                raise StoreError(str(packed), "does not read back as it was written")
            path.unlink()
            sync_folder(self._folder)
            self._rewrite_index({session_id: replace(entry, archived=True)})
            return True
        return False

    # --- reading a file

    @contextmanager
    def _opened(self, session_id: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
        """The session's file, or else its archive."""
        path, packed = self._plain(session_id), self._packed(session_id)
        with _spoken(path):
            file = _open_either(path, packed)
            if file is None:
                raise NotFound("session", session_id)
            with file:
                yield file

    def _lines(self, session_id: str, upto: int | None = None, *, after: int = 0) -> Iterator[bytes]:
        """The lines of a file, up to a turn; without one at the end that is not finished.

        Those of turns up to number `after` may be left out, where that is quickly done.
        """
        with self._opened(session_id) as file:
            if after and not isinstance(file, gzip.GzipFile):
                file.seek(_place_after(file.fileno(), after))
            for line in file:
                if not line.endswith(b"\n") and _turn_or_none(line) is None:
                    return
                if upto is not None and seq_of(line) > upto:
                    return
                yield line

    def _records(self, session_id: str, after: int = 0) -> Iterator[Turn]:
        """The turns and marks in a file, without those up to number `after`."""
        seq = 0
        for number, line in enumerate(self._lines(session_id, after=after), start=1):
            if 0 < (known := seq_of(line)) <= after:
                seq = known
                continue
            turn = _turn_or_none(line)
            if turn is None:
                self._note(f"session {session_id!r}: line {number} is not a turn; it was left where it is")
                continue
            turn = turn if turn.hash else replace(turn, seq=seq + 1)
            seq = turn.seq
            yield turn

    def _lineage(self, session_id: str) -> list[tuple[str, int | None]]:
        """The sessions whose turns are this one's, from the first on, each with the last turn that counts."""
        parts: list[tuple[str, int | None]] = [(session_id, None)]
        fork = self.fork_of(session_id)
        upto: int | None = None
        while fork is not None:
            parent, at = fork
            upto = at if upto is None else min(upto, at)
            if any(parent == part for part, _ in parts):
                self._note(f"session {session_id!r}: is among its own parents")
                break
            try:
                fork = self.fork_of(parent)
            except NotFound:
                self._note(f"session {session_id!r}: its parent {parent!r} is not there")
                break
            parts.append((parent, upto))
        return parts[::-1]

    def _view(self, lineage: list[tuple[str, int | None]], start: int) -> Iterator[Turn]:
        for session_id, upto in lineage:
            for turn in self._records(session_id, start):
                if upto is not None and turn.seq > upto:
                    break
                if turn.mark is None and turn.seq > start:
                    yield turn

    def _hash_at(self, session_id: str, at: int) -> str:
        """The hash of a turn by its number; "" before the first."""
        if not at:
            return ""
        turn = next(self.read(session_id, start=at - 1), None)
        return turn.hash if turn is not None and turn.seq == at else ""

    # --- the index

    def _found(self, known: Iterable[str]) -> dict[str, tuple[bool, int]]:
        """Every session there is: whether it is archived, and the size of its file."""
        found = {session_id: (True, size) for session_id, size in _named(self._folder / "archive", ".jsonl.gz")}
        found |= {session_id: (False, size) for session_id, size in _named(self._folder, ".jsonl") if size}
        for session_id in set(known) - found.keys():  # gone, or on its way from one folder to the other
            with suppress(NotFound), self._opened(session_id) as file:
                found[session_id] = isinstance(file, gzip.GzipFile), os.fstat(file.fileno()).st_size
        return found

    def _known(self) -> dict[str, Listed]:
        """What the index says, as far as it can be read."""
        try:
            entries = json.loads(self._index.read_bytes())["sessions"]
            return {entry.id: entry for entry in (decode(Listed, each) for each in entries)}
        except FileNotFoundError:
            return {}
        except (ValueError, KeyError, TypeError, RecursionError, InvalidInput):
            self._note("sessions.json was damaged; it was made anew from the transcripts")
            return {}

    def _derived(self, session_id: str, known: Listed | None) -> Listed | None:
        """What the file says of its session, read on from where the index left off; None where it says nothing."""
        entry = known
        try:
            with self._opened(session_id) as file:
                archived = isinstance(file, gzip.GzipFile)
                if entry is not None and entry.archived and archived:
                    return entry
                if entry is None or not _goes_on(file, entry.bytes):
                    entry = None
                    file.seek(0)
                at = file.tell()
                for line in file:
                    at += len(line)
                    turn = _turn_or_none(line)
                    closed = line.endswith(b"\n")
                    if turn is not None and (closed or turn.hash):  # of a numbered turn, twice is once
                        entry = following(entry, session_id, turn)
                    if entry is not None and closed:
                        entry = replace(entry, bytes=at)
        except NotFound:
            return None
        return None if entry is None else replace(entry, archived=archived)

    def _follow(self, session_id: str, written: list[Turn], *, before: int, after: int) -> None:
        """Bring the index after an append. It is derived: whatever goes wrong here, the next reader puts it right."""
        with suppress(OSError, StoreError), self._locked("index", _SHORT_PATIENCE):
            text = self._index_text()
            entry = _entry_in(text, session_id)
            if entry is not None and len(text) > INDEX_ROOM:
                return
            if entry is not None and not entry.archived and entry.bytes == before:
                for turn in written:
                    entry = following(entry, session_id, turn)
                entry = replace(entry, bytes=after)
            else:
                entry = self._derived(session_id, entry)
            if entry is not None:
                # Without waiting for the disk: that would cost more than the append itself.
                _replace(self._index, [_with_entry(text, entry)], durable=False)

    def _rewrite_index(self, fresh: Mapping[str, Listed]) -> None:
        """Put entries into the index, unless their files have changed since, and drop those whose files are gone."""
        if not self._folder.is_dir():
            return
        with self._locked("index"):
            _sweep(self._index)
            known = self._known()
            found = self._found(known)
            entries = {session_id: entry for session_id, entry in known.items() if session_id in found}
            for session_id, entry in fresh.items():
                archived, size = found.get(session_id, (None, 0))
                if entry.archived == archived and (archived or entry.bytes <= size):
                    entries[session_id] = entry
            ordered = sorted(entries.values(), key=lambda entry: (entry.started, entry.id))
            text = _HEAD + ",\n".join(map(_entry_line, ordered)).encode() + _FOOT
            _replace(self._index, [text], durable=False)

    def _index_text(self) -> bytes:
        """The text of the index, an empty one where it is missing or damaged."""
        with suppress(FileNotFoundError):
            text = self._index.read_bytes()
            if text.startswith(_HEAD) and text.endswith(_FOOT):
                return text
        return _HEAD + _FOOT


# --- names ------------------------------------------------------------------------------------------------------------


def _file_name(session_id: str) -> str:
    """A session's id as a name that stays in its folder, on disks that know no capitals as well.

    What is not a small letter, a digit, `_` or `-` is written as its bytes, so two ids never have the same name.
    """
    check_text("session", session_id, NAME_LIMIT)
    name = _UNSAFE.sub(lambda found: "".join(f"%{byte:02x}" for byte in found[0].encode()), session_id)
    if len(name) > _NAME_LENGTH:
        raise TooLarge("session", len(name), _NAME_LENGTH)
    return name


_UNSAFE = re.compile(r"[^a-z0-9_-]+")


def _session_id(name: str) -> str | None:
    """The id that `_file_name` made a name of; None for a name that it did not make."""
    try:
        data = re.sub(rb"%([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), name.encode())
        session_id = data.decode()
        return session_id if _file_name(session_id) == name else None
    except (UnicodeError, InvalidInput):
        return None


def _named(folder: Path, ending: str) -> Iterator[tuple[str, int]]:
    """The sessions that have a file with this ending in a folder, and its size."""
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        if entry.name.endswith(ending) and entry.is_file(follow_symlinks=False):
            session_id = _session_id(entry.name.removesuffix(ending))
            with suppress(FileNotFoundError):
                if session_id is not None:
                    yield session_id, entry.stat(follow_symlinks=False).st_size


# --- turns ------------------------------------------------------------------------------------------------------------


def _checked(turn: object) -> Turn:
    checked = conform(Turn, cast(Turn, turn), "turn")
    if checked.mark is not None or checked.content is None:
        raise InvalidInput("turn", "is a mark, or erased; only what was said can be appended")
    if len(checked.content) > TURN_LIMIT:
        raise TooLarge("content", len(checked.content), TURN_LIMIT)
    return checked


def _turn_or_none(line: bytes) -> Turn | None:
    try:
        return turn_from(line)
    except InvalidInput:
        return None


def _reached(turn: Turn, upto: int | None) -> bool:
    """Whether a record is part of a session that shares the turns of its file up to one, or has the file (None)."""
    return upto is None or (turn.mark is None and turn.seq <= upto)


# --- the lines of the index -------------------------------------------------------------------------------------------

_HEAD = b'{"version": 1, "sessions": [\n'
_FOOT = b"\n]}\n"


def _entry_line(entry: Listed) -> str:
    return json.dumps(encode(entry, complete=True), ensure_ascii=False)


def _place(text: bytes, session_id: str) -> tuple[int, int] | None:
    """Where the line of a session stands in the index. No text in it holds a newline, so no other begins like this."""
    sign = f'\n{{"id": {json.dumps(session_id, ensure_ascii=False)}, '.encode()
    start = text.find(sign)
    return None if start < 0 else (start + 1, text.index(b"\n", start + 1))


def _entry_in(text: bytes, session_id: str) -> Listed | None:
    place = _place(text, session_id)
    if place is None:
        return None
    try:
        return decode(Listed, json.loads(text[slice(*place)].rstrip(b",")))
    except (ValueError, InvalidInput):
        return None


def _with_entry(text: bytes, entry: Listed) -> bytes:
    """The index with one line put in, or in the place of the one that was there."""
    line = _entry_line(entry).encode()
    place = _place(text, entry.id)
    if place is not None:
        start, end = place
        return text[:start] + line + (b"," if text[end - 1 : end] == b"," else b"") + text[end:]
    body = text[len(_HEAD) : -len(_FOOT)] if len(text) > len(_HEAD + _FOOT) else b""
    return _HEAD + (body + b",\n" if body else b"") + line + _FOOT


# --- files ------------------------------------------------------------------------------------------------------------


@contextmanager
def _spoken(path: Path) -> Iterator[None]:
    """What the system refuses, in the product's words."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise StoreDamaged(str(path), f"its archive cannot be unpacked ({error})") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreFull(str(path), "there is no room on the disk") from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise StoreReadOnly(str(path), f"cannot be opened ({error.strerror})") from error
        raise StoreError(str(path), f"cannot be used ({error.strerror})") from error


@contextmanager
def _file(path: Path, flags: int) -> Iterator[int]:
    """An open file, readable only for its owner if it is made here; no link is followed to it."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path, patience: float) -> None:
    deadline = time.monotonic() + patience
    pause = 0.0005
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StoreBusy(str(path), f"another process kept its lock for {patience:g} s") from None
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


def _made(folder: Path) -> None:
    """Make a folder where there is none; those that had to be made survive a power cut."""
    missing = [] if folder.is_dir() else [each for each in (folder, *folder.parents) if not each.is_dir()]
    private_folder(folder)
    for each in missing:
        sync_folder(each.parent)


def _sync(descriptor: int) -> None:
    """Wait until the disk itself has it; on macOS `fsync` waits only for the disk's own memory."""
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def _put(descriptor: int, data: bytes, end: int) -> None:
    """Append to a file that ends at `end` and wait for the disk; on failure it ends there as before."""
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        _sync(descriptor)
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, end)
        raise


def _replace(path: Path, chunks: Iterable[bytes], *, durable: bool = True) -> None:
    """Write a file in one step: whoever opens it sees the old one or the new. The caller holds its name's lock."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(unfinished, flags, 0o600), "wb") as file:
            file.writelines(chunks)
            file.flush()
            if durable:
                _sync(file.fileno())
        os.replace(unfinished, path)
        if durable:
            sync_folder(path.parent)
    finally:
        with suppress(OSError):
            unfinished.unlink()


def _sweep(path: Path) -> None:
    """Remove what killed writers left of a file that they never finished. The caller holds its name's lock."""
    for each in path.parent.glob(f".{path.name}.*.tmp"):
        each.unlink(missing_ok=True)


def _size(path: Path) -> int:
    try:
        return path.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def _open_either(path: Path, packed: Path) -> IO[bytes] | gzip.GzipFile | None:
    """A file, or else its archive; it may be on its way from one to the other, and back again."""
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")
            if os.fstat(file.fileno()).st_size:
                return file
            file.close()
        with suppress(FileNotFoundError):
            return gzip.GzipFile(packed)
    return None


def _unpacked(packed: Path) -> Iterator[bytes]:
    with gzip.open(packed) as file:
        while block := file.read(1 << 20):
            yield block


def _content(descriptor: int) -> bytes:
    """All of a file, however long it is."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        return file.read()


def _split(data: bytes) -> list[bytes]:
    """Lines with their newlines, which alone end a line here."""
    *lines, last = data.split(b"\n")
    return [line + b"\n" for line in lines] + ([last] if last else [])


def _goes_on(file: IO[bytes] | gzip.GzipFile, at: int) -> bool:
    """Whether a line begins at a place of a file; the file is left there."""
    if at <= 0:
        return False
    file.seek(at - 1)
    return file.read(1) == b"\n"


def _lines_back(descriptor: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their places, the last first, reading no more than is asked for."""
    kept = b""
    at, block = end, _BLOCK
    while at > 0:
        size = min(block, at)
        at -= size
        block *= 2  # so that a long line takes time in proportion to its length
        kept = os.pread(descriptor, size, at) + kept
        while (cut := kept.rfind(b"\n", 0, len(kept) - 1)) >= 0:
            yield at + cut + 1, kept[cut + 1 :]
            kept = kept[: cut + 1]
    if kept:
        yield 0, kept


def _place_after(descriptor: int, after: int) -> int:
    """Where the records after a turn begin, if they all have a number and do not go too far back; else 0."""
    size = os.fstat(descriptor).st_size
    for start, line in _lines_back(descriptor, size):
        seq = seq_of(line)
        if not seq or size - start > _LOOK_BACK_BYTES:
            break
        if seq <= after:
            return start + len(line)
    return 0


def _tail_of(descriptor: int, size: int) -> Tail:
    """Where the last whole record ends, and what it says. What follows it was torn: no line, or not JSON."""
    for start, line in _lines_back(descriptor, size):
        turn = _turn_or_none(line)
        if turn is None and not _is_json(line):
            continue
        end, closed = start + len(line), line.endswith(b"\n")
        if turn is not None and turn.hash:
            return Tail(seq=turn.seq, hash=turn.hash, end=end, closed=closed)
        # Somebody else's line: only those before it can tell.
        return replace(_counted(_split(_content(descriptor)[:end])), end=end, closed=closed)
    return Tail()


def _counted(lines: Iterable[bytes]) -> Tail:
    """Where a chain stands after all of its lines."""
    seq, hash = 0, ""
    for line in lines:
        turn = _turn_or_none(line)
        if turn is not None:
            seq, hash = (turn.seq, turn.hash) if turn.hash else (seq + 1, hash)
    return Tail(seq=seq, hash=hash)


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.decode()), dict)
    except (ValueError, RecursionError):
        return False


def _before(descriptor: int, end: int) -> Iterator[Turn]:
    """The turns that end at a place, the last first, not too far back."""
    for start, line in _lines_back(descriptor, end):
        if end - start > _LOOK_BACK_BYTES:
            return
        turn = _turn_or_none(line)
        if turn is not None:
            yield turn
