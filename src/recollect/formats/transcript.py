"""The transcript of a session: one turn a line, and back.

    {"id":"msg_000001","role":"user","content":"Hello","timestamp":"2026-02-05T10:00:00Z","seq":1,"salt":…,"hash":…}
    {"id":"tool_000002","role":"tool_call","name":"read","input":{"path":"README.md"},"timestamp":…,"seq":2,…}
    {"id":"tool_000002","role":"tool_result","content":"# Project…","timestamp":…,"seq":3,…}

What a turn says is hashed with a salt of its own, and each line's hash is made of the line before, of that hash and of
everything else on the line. So a line can lose its content and its salt: nobody can guess what it said, and the chain
still holds. A line with a `mark` is no turn; it says something about the session: its title, what it was forked from,
that it was finalised. Lines without hashes, as other programs write them, are read and reported.

Pure: salts and times are arguments. Not here: files and locks; `engine/transcripts.py` has those.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain, count, islice
from typing import Any

from ..codec import canonical, decode, digest, encode, to_iso
from ..errors import InvalidInput, InvalidText
from ..model import Json
from ..policy.admit import NAME_LIMIT, clean_text
from ..policy.redact import Finding, redact


class Role(StrEnum):
    """Who speaks, or what a record is."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    SUMMARY = "summary"
    """Stands for a range of turns, which stay where they are."""


class Mark(StrEnum):
    """What a record says about its session instead of being one of its turns."""

    FORK = "fork"
    TITLE = "title"
    FINALISED = "finalised"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One record of a session. Who hands one in leaves `id` and the last four fields empty; they are filled in."""

    id: str = ""
    role: Role
    content: str | None = ""
    """None: erased."""
    name: str = ""
    """Which tool, for a call or its result."""
    input: Json = None
    timestamp: datetime
    agent: str = ""
    host: str = ""
    ref: str = ""
    """The host's own name for it. A tool's result has that of its call, so that both get the same id here."""
    covers: tuple[str, str] | None = None
    """For a summary: the ids of the first and the last turn that it stands for."""
    injected: bool = False
    """Whether Recollect itself put this text in front of the agent."""
    mark: Mark | None = None
    fork: tuple[str, int] | None = None
    """For a fork's mark: the session that it was forked from, and how many of its turns it shares."""
    seq: int = 0
    """Which turn of the session it is, from 1; a mark has the number of the turn before it."""
    salt: str = ""
    content_hash: str = ""
    hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A session as the index lists it."""

    id: str
    started: datetime
    updated: datetime
    """When its last turn is from; of a fork without turns, when it was forked."""
    turns: int = 0
    """How many it has, those that it shares with its parent included."""
    title: str = ""
    """As it was given, or else the beginning of what the user said first."""
    host: str = ""
    agent: str = ""
    parent: str = ""
    fork_at: int = 0
    """How many turns it shares with its parent."""
    archived: bool = False
    finalised: int = 0
    """How many turns it had when it was last finalised; 0: never."""
    bytes: int = 0
    """Up to where the file was read for this."""


def line_of(turn: Turn, previous_hash: str, salt: str) -> tuple[str, str]:
    """The line for a turn, without its newline, and the hash that the next one is chained to."""
    if turn.content is None:
        raise InvalidInput("content", "is erased; it cannot be written again")
    _check(turn)
    try:
        record = _with_hashes(_spelled(turn), previous_hash, salt)
        line = _text_of(record)
        line.encode()
    except UnicodeEncodeError as error:
        raise InvalidText("turn", "holds a lone surrogate") from error
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInput("turn", f"is not plain JSON of ordinary size ({error})") from error
    return line, str(record["hash"])


def turn_from(line: str | bytes) -> Turn:
    """The turn of a line. Raises `InvalidInput` for anything that is not one."""
    return _turn(_record(line))


def seq_of(line: bytes) -> int:
    """The number of a line's turn without reading all of it; 0 where it cannot be told so quickly.

    It is written after every text that could look like it.
    """
    found = _SEQ.match(line, line.rfind(b'"seq":'))
    return int(found[1]) if found else 0


def erased(line: str) -> str:
    """The line without what its turn said: content and input are null, the salt is gone, the hashes are the same."""
    record = _record(line)
    _turn(record)
    emptied: dict[str, Json] = {"id": record.pop("id"), "role": record.pop("role"), "content": None}
    for name, value in record.items():
        if name not in ("content", "salt"):
            emptied[name] = None if name == "input" else value
    return _text_of(emptied)


def numbered(turns: Iterable[Turn], seq: int, before: Callable[[], Iterator[Turn]]) -> list[Turn]:
    """The turns with their numbers and ids. `before` gives those before them, the last first."""
    done: list[Turn] = []
    for turn in turns:
        seq += turn.mark is None
        prefix = "mark" if turn.mark else _PREFIXES.get(turn.role, "msg")
        call = _call_of(turn, chain(reversed(done), before())) if turn.role is Role.TOOL_RESULT else None
        done.append(replace(turn, seq=seq, id=call.id if call is not None else f"{prefix}_{seq:06d}"))
    return done


def following(entry: Listed | None, session_id: str, turn: Turn) -> Listed:
    """What the index says of a session after one more record."""
    entry = entry or Listed(id=session_id, started=turn.timestamp, updated=turn.timestamp)
    match turn.mark:
        case Mark.FORK if turn.fork is not None:
            return replace(entry, parent=turn.fork[0], fork_at=turn.fork[1], turns=turn.seq)
        case Mark.TITLE:
            return replace(entry, title=_title(turn.content) or entry.title)
        case Mark.FINALISED:
            return replace(entry, finalised=turn.seq)
    said_first = turn.role is Role.USER and not turn.injected
    return replace(
        entry,
        updated=turn.timestamp,
        turns=turn.seq if turn.hash else entry.turns + 1,
        title=entry.title or (_title(turn.content) if said_first else ""),
        host=entry.host or turn.host,
        agent=entry.agent or turn.agent,
    )


def verify(lines: Iterable[str | bytes], *, previous: str = "", seq: int = 0) -> tuple[str, ...]:
    """What is wrong with a chain of lines that begins after the hash `previous` and turn number `seq`."""
    faults: list[str] = []
    unread = False
    for number, line in enumerate(lines, start=1):
        try:
            record = _record(line)
            turn = _turn(record)
        except InvalidInput as error:
            faults.append(f"line {number} is not a turn: {error}")
            unread = True
            continue
        found = _faults(record, turn, previous, seq, after_gap=unread)
        faults += [f"line {number} ({turn.id}) {fault}" for fault in found]
        previous = turn.hash or previous
        seq = turn.seq if turn.hash else seq + 1
        unread = False
    return tuple(faults)


def redacted(turn: Turn) -> Turn:
    """The turn as it may be hashed and written: no secrets and no personal data in any text of it, wherever it stands.

    In a tool's input a text is looked at by itself and together with its key and its neighbours: `{"password": "…"}`
    and `["--password", "…"]` are secrets though neither word is. Half characters become U+FFFD.
    """
    try:
        held = _redacted_json(_whole_characters(encode(turn.input)))
        canonical(held)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("input", f"is not plain JSON of ordinary size ({error})") from error
    return replace(
        turn,
        content=None if turn.content is None else redact(_whole_text(turn.content)).text,
        input=held,
        name=clean_text("name", turn.name, NAME_LIMIT, empty=True),
        agent=clean_text("agent", turn.agent, NAME_LIMIT, empty=True),
        host=clean_text("host", turn.host, NAME_LIMIT, empty=True),
        ref=clean_text("ref", turn.ref, NAME_LIMIT, empty=True),
    )


_UNCHAINED = ("content", "input", "salt", "hash")
_ID = re.compile(r"[a-z]{1,16}_[0-9]{1,18}")
_SEQ = re.compile(rb'"seq":([0-9]{1,18}),"(?:salt|content_hash)":')


def _check(turn: Turn) -> None:
    """Refuse what says two things at once."""
    if not _ID.fullmatch(turn.id):
        raise InvalidInput("id", f"{turn.id[:64]!r} is not the id of a turn")
    if turn.covers is not None and (turn.role is not Role.SUMMARY or not all(map(_ID.fullmatch, turn.covers))):
        raise InvalidInput("covers", "is for a summary: the ids of the first and the last turn that it stands for")
    if (turn.fork is not None) is not (turn.mark is Mark.FORK):
        raise InvalidInput("fork", "is for the mark of a fork, and needed there")
    if turn.seq < 0 or (turn.fork is not None and (turn.fork[1] < 0 or not turn.fork[0])):
        raise InvalidInput("seq", "is not the number of a turn")


# --- ids and titles -------------------------------------------------------------------------------------------------

_PREFIXES = {Role.TOOL_CALL: "tool", Role.TOOL_RESULT: "tool", Role.SUMMARY: "summary"}
_LOOK_BACK = 256
_TITLE_LENGTH = 80


def _call_of(result: Turn, before: Iterator[Turn]) -> Turn | None:
    """The call that a tool's result answers: the one it names, or else the oldest since the last message that has no
    answer yet. What was called before a message has its answer or was given up."""
    waiting: Turn | None = None
    answered: set[str] = set()
    for turn in islice(before, _LOOK_BACK):
        if turn.role is Role.TOOL_CALL:
            if result.ref and result.ref in (turn.ref, turn.id):
                return turn
            if not result.ref and turn.id not in answered and turn.name in (result.name or turn.name, ""):
                waiting = turn
        elif turn.role is Role.TOOL_RESULT:
            answered.add(turn.id)
        elif not result.ref and turn.mark is None:
            break
    return waiting


def _title(text: str | None) -> str:
    """The first line that says something, short enough for a list."""
    line = next((line for line in (text or "").splitlines() if line.strip()), "")
    line = "".join(filter(str.isprintable, " ".join(line.split())))
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1] + "…"


# --- a turn as a record -----------------------------------------------------------------------------------------------


def _spelled(turn: Turn) -> dict[str, Json]:
    """The fields of a record: those that every transcript has first, then ours, without those that say nothing."""
    call = turn.role is Role.TOOL_CALL
    record: dict[str, Json] = {"id": turn.id, "role": turn.role.value}
    if turn.content or not call:
        record["content"] = turn.content
    if call:
        record |= {"name": turn.name, "input": encode(turn.input)}
    record["timestamp"] = to_iso(turn.timestamp).replace(".000000Z", "Z")
    if not call and turn.input is not None:
        record["input"] = encode(turn.input)
    if not call and turn.name:
        record["name"] = turn.name
    for name in ("agent", "host", "ref", "covers", "injected", "mark", "fork"):
        if value := getattr(turn, name):
            record[name] = encode(value)
    return {**record, "seq": turn.seq}


def _with_hashes(record: dict[str, Json], previous: str, salt: str) -> dict[str, Json]:
    record = {**record, "salt": salt, "content_hash": _content_hash(record, salt)}
    return {**record, "hash": _chained(record, previous)}


def _content_hash(record: Mapping[str, Json], salt: str) -> str:
    return digest(salt, canonical({"content": record.get("content", ""), "input": record.get("input")}))


def _chained(record: Mapping[str, Json], previous: str) -> str:
    """Covers every field that erasing leaves, also those that only a later version knows."""
    return digest(previous, canonical({name: value for name, value in record.items() if name not in _UNCHAINED}))


def _text_of(record: Mapping[str, Json]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _record(line: str | bytes) -> dict[str, Any]:
    try:
        text = line.decode() if isinstance(line, bytes) else line
        record = json.loads(text, parse_constant=_refused, parse_float=_finite)
        if _HALF.search(text):
            canonical(record).encode()
    except (ValueError, RecursionError) as error:
        raise InvalidInput("line", f"is not JSON ({error})") from error
    if not isinstance(record, dict):
        raise InvalidInput("line", "is not an object")
    return record


_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # half a character, unless its other half follows


def _refused(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


def _turn(record: Mapping[str, Any]) -> Turn:
    if "content" not in record and record.get("role") != Role.TOOL_CALL:
        raise InvalidInput("turn", "content is missing")
    turn = decode(Turn, {name: value for name, value in record.items() if name in _FIELDS}, "turn")
    _check(turn)
    return turn


_FIELDS = frozenset(each.name for each in fields(Turn))


def _faults(record: Mapping[str, Json], turn: Turn, previous: str, seq: int, *, after_gap: bool) -> Iterator[str]:
    """What is wrong with one record. After a gap, how it follows from the one before cannot be told."""
    if not turn.hash:
        yield "has no hash; something else wrote it"
        return
    expected = seq + (turn.mark is None)
    if turn.seq != expected and not after_gap:
        yield f"is number {turn.seq} where {expected} was to come"
    if turn.content is not None and _content_hash(record, turn.salt) != turn.content_hash:
        yield "does not say what it said when it was written"
    if _chained(record, previous) != turn.hash and not after_gap:
        yield "does not follow from the record before it"


# --- redaction --------------------------------------------------------------------------------------------------------


def _whole_text(text: str) -> str:
    """Half characters, as cut-off output has them, joined where both halves are there and replaced where not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _whole_characters(value: Json) -> Json:
    if isinstance(value, str):
        return _whole_text(value)
    if isinstance(value, dict):
        return {_whole_text(key): _whole_characters(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_characters(item) for item in value]
    return value


def _redacted_json(value: Json) -> Json:
    """`value` with the findings masked that its texts have alone, or as one text in their order."""
    leaves = list(_leaves(value, ""))
    findings = redact("".join(before + leaf for before, leaf in leaves)).findings
    masked: list[str] = []
    at = 0
    for before, leaf in leaves:
        at += len(before)
        masked.append(redact(_masked(leaf, at, findings)).text)
        at += len(leaf)
    return _refilled(value, iter(masked))


def _leaves(value: Json, before: str) -> Iterator[tuple[str, str]]:
    """Every key, text and number in order, with what stands before it when they are read as one text."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield "\n", key
            yield from _leaves(item, ": ")
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, " ")
    elif value is not None and not isinstance(value, bool):
        yield before, str(value)


def _masked(leaf: str, at: int, findings: tuple[Finding, ...]) -> str:
    """A leaf that stands at `at`, with those parts of it masked that findings cover."""
    parts: list[str] = []
    done = 0
    for finding in findings[bisect_right(findings, at, key=lambda each: each.end) :]:
        start, end = max(0, finding.start - at), min(len(leaf), finding.end - at)
        if start >= len(leaf):
            break
        parts += leaf[done:start], f"[redacted:{finding.kind}]"
        done = end
    return "".join(parts) + leaf[done:]


def _refilled(value: Json, leaves: Iterator[str]) -> Json:
    """`value` with its leaves replaced, in the order of `_leaves`. Keys that now look the same stay apart."""
    if isinstance(value, dict):
        filled: dict[str, Json] = {}
        for item in value.values():
            key = next(leaves)
            free = next(each for each in _spellings(key) if each not in filled)
            filled[free] = _refilled(item, leaves)
        return filled
    if isinstance(value, list):
        return [_refilled(item, leaves) for item in value]
    if value is None or isinstance(value, bool):
        return value
    text = next(leaves)
    return value if text == str(value) else text


def _spellings(key: str) -> Iterator[str]:
    yield key
    yield from (f"{key} {number}" for number in count(2))
