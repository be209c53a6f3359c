"""Recollect's own export: one JSON object a line, lossless, signed at the end.

    {"record": "header", "format": "recollect", "version": 1, "space": "project", "counts": {"memory": 2, …}}
    {"record": "memory", "id": 1, "uid": "…", "content": "…", …}
    {"record": "version", "memory": {…}, "recorded_from": "…", "recorded_to": "…"}
    {"record": "link", "from": "<uid>", "kind": "relates-to", "to": "<uid>", "weight": 0.5, …}
    {"record": "feedback", "uid": "…", "helpful": true, …}
    {"record": "definition", "sort": "alias", "name": "db", "value": ["database"], …}
    {"record": "audit_head", "seq": 12, "hash": "b2:…", "signature": {"key": "…", "mac": "…"}}

The signature covers every byte before its line and the head itself. Whoever has the home's key can tell that nothing
was altered since; anybody else can read the file all the same.
"""

from __future__ import annotations

import hmac
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, TypeAlias

from ..codec import canonical, decode, encode, to_iso
from ..errors import BadFile, InvalidInput
from ..model import BETWEEN_MEMORIES, Definition, Feedback, Json, LinkKind, Memory, Uid, Version
from ..policy.admit import check_text, check_uid, share

FORMAT = "recollect"
VERSION = 1
LINE_LIMIT = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What the file says about itself."""

    space: str
    counts: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRecord:
    """A link by the uids of its ends, which hold in any store."""

    memory: Uid
    kind: LinkKind
    target: Uid
    weight: float
    made_by: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadRecord:
    """Where the audit stood when the file was written, and whether the file's signature holds."""

    seq: int
    hash: str
    signed: bool


Record: TypeAlias = Header | Memory | Version | LinkRecord | Feedback | Definition | HeadRecord


def write_lines(records: Iterable[Record], *, key: bytes) -> Iterator[str]:
    """The lines of an export. The head must come last; its line carries the signature."""
    seal = hmac.new(key, digestmod=sha256)
    for record in records:
        data = _to_json(record)
        if isinstance(record, HeadRecord):
            seal.update(canonical(data).encode())
            data["signature"] = {"key": key_id(key), "mac": seal.hexdigest()}
        line = json.dumps(data, ensure_ascii=False) + "\n"
        seal.update(line.encode())
        yield line


def read_lines(lines: Iterable[bytes | str], *, key: bytes, name: str) -> Iterator[Record]:
    """The records of an export, checked one by one. `name` is what errors call the file."""
    if isinstance(lines, str | bytes) or not isinstance(lines, Iterable):
        raise InvalidInput("lines", "expected the lines of an export")
    seal = hmac.new(key, digestmod=sha256)
    number = 0
    for number, line in enumerate(lines, start=1):
        raw = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
        if not isinstance(raw, bytes):
            raise InvalidInput("lines", f"expected a line, not {type(raw).__name__}")
        data = _parse(raw, name, number)
        try:
            yield _header(data) if number == 1 else _from_json(data, seal)
        except (InvalidInput, ValueError) as error:
            raise BadFile(name, str(error), line=number) from error
        seal.update(raw)
    if not number:
        raise BadFile(name, "is empty")


def key_id(key: bytes) -> str:
    """A name for a key that does not give it away."""
    return sha256(b"recollect key id\0" + key).hexdigest()[:16]


def _to_json(record: Record) -> dict[str, Json]:
    match record:
        case Header():
            return {
                "record": "header",
                "format": FORMAT,
                "version": VERSION,
                "space": record.space,
                "counts": record.counts,
            }
        case LinkRecord():
            return {
                "record": "link",
                "from": record.memory,
                "kind": record.kind.value,
                "to": record.target,
                "weight": record.weight,
                "made_by": record.made_by,
                "created_at": to_iso(record.created_at),
                "updated_at": to_iso(record.updated_at),
            }
        case HeadRecord():
            return {"record": "audit_head", "seq": record.seq, "hash": record.hash}
        case Memory() | Version() | Feedback() | Definition():
            state = encode(record, complete=True)
            assert isinstance(state, dict)
            return {"record": type(record).__name__.lower(), **state}


def _parse(raw: bytes, name: str, number: int) -> dict[str, Any]:
    if len(raw) > LINE_LIMIT:
        raise BadFile(name, f"a line of more than {LINE_LIMIT:,} bytes", line=number)
    try:
        data = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise BadFile(name, f"is not JSON ({error})", line=number) from error
    if not isinstance(data, dict):
        raise BadFile(name, "is not an object", line=number)
    return data


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_constant(text)


def _header(data: dict[str, Any]) -> Header:
    if data.get("record") != "header" or data.get("format") != FORMAT:
        raise InvalidInput("header", "the file does not begin with the header of a Recollect export")
    if data.get("version") != VERSION:
        raise InvalidInput("version", f"is {data.get('version')!r}; this Recollect reads {VERSION}")
    counts = data.get("counts")
    if not isinstance(counts, dict) or not all(type(count) is int for count in counts.values()):
        raise InvalidInput("counts", "is not a number for each sort of record")
    return Header(space=str(data.get("space", "project")), counts=counts)


def _from_json(data: dict[str, Any], seal: hmac.HMAC) -> Record:
    kind = data.pop("record", None)
    match kind:
        case "memory":
            return decode(Memory, data)
        case "version":
            return decode(Version, data)
        case "feedback":
            return decode(Feedback, data)
        case "link":
            return _link(data)
        case "definition":
            return _definition(data)
        case "audit_head":
            return _head(data, seal)
    raise InvalidInput("record", f"{kind!r} is not a kind of record")


def _definition(data: dict[str, Any]) -> Definition:
    record = decode(Definition, data)
    for field, text in (("sort", record.sort), ("name", record.name)):
        check_text(field, text, _NAME_LIMIT)
    if record.value is None:
        raise InvalidInput("value", "a definition needs one")
    return record


_NAME_LIMIT = 1_000


def _head(data: dict[str, Any], seal: hmac.HMAC) -> HeadRecord:
    """The head with the verdict on the signature, over everything read so far."""
    signature = data.pop("signature", None)
    expected = seal.copy()
    expected.update(canonical({"record": "audit_head", **data}).encode())
    mac = signature.get("mac") if isinstance(signature, dict) else None
    signed = isinstance(mac, str) and hmac.compare_digest(mac.encode(), expected.hexdigest().encode())
    return replace(decode(HeadRecord, {**data, "signed": False}), signed=signed)


def _link(data: dict[str, Any]) -> LinkRecord:
    ends = {"memory": data.pop("from", None), "target": data.pop("to", None)}
    record = decode(LinkRecord, {**data, **ends}, "link")
    check_text("link", record.memory + record.target + record.made_by, LINE_LIMIT)
    for end in (record.memory, record.target):
        check_uid(end)
    if record.kind not in BETWEEN_MEMORIES or record.memory == record.target:
        raise InvalidInput("link", f"a {record.kind} link cannot lead there")
    return replace(record, weight=share("weight", record.weight))
