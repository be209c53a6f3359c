"""The export format: records to lines and back, and a signature that notices everything."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import BadFile, Kind, LinkKind, Memory, Origin, Procedure, Provenance, Scope, Source, Status, Version
from recollect.formats.portable import (
    LINE_LIMIT,
    Header,
    HeadRecord,
    LinkRecord,
    Record,
    key_id,
    read_lines,
    write_lines,
)
from recollect.model import Anchor, Feedback, MemoryId, Reinforcement, Uid

KEY = bytes(range(32))
NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
ONE = Uid("00000000-0000-4000-8000-000000000001")
TWO = Uid("00000000-0000-4000-8000-000000000002")

texts = st.text(max_size=12)
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
payloads = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
memories = st.builds(
    Memory,
    id=st.integers(1, 2**62).map(MemoryId),
    uid=st.just(ONE),
    version=st.integers(1, 1_000),
    content=texts,
    kind=st.sampled_from(Kind),
    scope=st.sampled_from(Scope),
    status=st.sampled_from(Status),
    importance=st.floats(0, 1),
    trust=st.floats(0, 1),
    score=st.integers(-1_000_000, 1_000_000),
    created_at=moments,
    updated_at=moments,
    last_hit_at=st.none() | moments,
    valid_to=st.none() | moments,
    origin=st.sampled_from(Origin),
    source=st.sampled_from(Source),
    provenance=st.lists(
        st.builds(Provenance, origin=st.sampled_from(Origin), at=moments, reason=texts), max_size=2
    ).map(tuple),
    reinforcements=st.lists(
        st.builds(Reinforcement, at=moments, message=st.none() | st.integers(0, 99)), max_size=2
    ).map(tuple),
    session_id=st.none() | texts,
    message_range=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
    anchors=st.lists(st.builds(Anchor, path=texts, symbol=st.none() | texts), max_size=2).map(tuple),
    tags=st.lists(texts, max_size=3).map(tuple),
    procedure=st.none() | st.builds(Procedure, name=texts, steps=st.lists(texts, max_size=2).map(tuple)),
    payload=payloads,
)


def sample() -> list[Record]:
    """One of each."""
    memory = Memory(
        id=MemoryId(1), uid=ONE, content="Café 数据 \u2028 \x85", created_at=NOW, updated_at=NOW, tags=("a",)
    )
    return [
        Header(space="project", counts={"memory": 1, "version": 1, "link": 1, "feedback": 1}),
        memory,
        Version(memory=memory, recorded_from=NOW, recorded_to=NOW),
        LinkRecord(
            memory=ONE,
            kind=LinkKind.RELATES_TO,
            target=TWO,
            weight=0.5,
            made_by="user",
            created_at=NOW,
            updated_at=NOW,
        ),
        Feedback(uid=ONE, helpful=True, at=NOW, actor="user", note="it was"),
        HeadRecord(seq=12, hash="b2:00", signed=True),
    ]


def written(records: list[Record], key: bytes = KEY) -> list[bytes]:
    return [line.encode() for line in write_lines(records, key=key)]


def read(lines: list[bytes], key: bytes = KEY) -> list[Record]:
    return list(read_lines(lines, key=key, name="a file"))


# There and back


def test_every_record_comes_back_equal() -> None:
    """And a line is a line, whatever its text holds."""
    lines = written(sample())
    assert read(lines) == sample()
    assert all(line.count(b"\n") == 1 and line.endswith(b"\n") for line in lines)


@given(st.lists(memories, max_size=4))
def test_any_memory_comes_back_equal(drawn: list[Memory]) -> None:
    """To the last digit, in every field."""
    records: list[Record] = [Header(space="global", counts={}), *drawn, HeadRecord(seq=0, hash="", signed=True)]
    assert read(written(records)) == records


@pytest.mark.row("J27", "readable")
def test_a_person_can_read_a_line() -> None:
    """Plain JSON with names for everything, times as dates, and text as text."""
    line = written(sample())[1].decode()
    assert "Café 数据" in line
    assert json.loads(line)["created_at"] == "2026-03-01T12:30:15.123456Z"
    assert set(json.loads(line)) >= {
        "record",
        "uid",
        "content",
        "kind",
        "scope",
        "status",
        "tags",
        "origin",
        "provenance",
    }


# The signature


def test_only_the_key_that_signed_vouches_for_a_file() -> None:
    """Anybody else reads the same records, unsigned."""
    [*records, head] = read(written(sample()), key=bytes(32))
    assert records == sample()[:-1]
    assert head == HeadRecord(seq=12, hash="b2:00", signed=False)


def test_the_name_of_a_key_does_not_give_it_away() -> None:
    """It differs from key to key, and is not the key."""
    assert key_id(KEY) != key_id(bytes(32))
    assert key_id(KEY) not in KEY.hex()
    assert KEY.hex().encode() not in b"".join(written(sample()))


def test_no_byte_can_be_changed_unnoticed() -> None:
    """A file with a flipped bit is refused, or unsigned, or says exactly what was signed."""
    lines = written(sample())
    data = b"".join(lines)
    chance = random.Random(3)
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << chance.randrange(8)
        try:
            records = read(bytes(damaged).splitlines(keepends=True))
        except BadFile:
            continue
        head = records[-1]
        assert records == sample() or not (isinstance(head, HeadRecord) and head.signed), damaged


def test_no_line_can_be_taken_away_added_doubled_or_moved_unnoticed() -> None:
    """Only the file as it was written is signed at its end."""
    lines = written(sample())
    tampered = [
        *(lines[:number] + lines[number + 1 :] for number in range(1, 5)),
        *(lines[:number] + lines[number : number + 1] + lines[number:] for number in range(1, 5)),
        [lines[0], lines[2], lines[1], *lines[3:]],
        [*lines, lines[1]],
        [*lines, lines[-1]],
        [*lines[:-1], written(sample(), key=bytes(32))[-1]],
    ]
    for each in tampered:
        head = read(each)[-1]
        assert not (isinstance(head, HeadRecord) and head.signed)


@pytest.mark.parametrize(
    "signature",
    [None, {}, "", [], 5, {"mac": None}, {"mac": 5}, {"mac": ""}, {"mac": "é"}, {"mac": "0" * 64}],
    ids=repr,
)
def test_a_signature_that_is_none_does_not_vouch(signature: object) -> None:
    """Whatever stands in its place."""
    lines = written(sample())
    head = {**json.loads(lines[-1]), "signature": signature}
    last = read([*lines[:-1], json.dumps(head).encode()])[-1]
    assert isinstance(last, HeadRecord)
    assert not last.signed


# Files that are none


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"not json\n",
        b"[]\n",
        b"null\n",
        b"5\n",
        b'"text"\n',
        b'{"record": "memory"',
        b"\xff\xfe\n",
        b'{"record": "memory", "content": "\xed\xa0\x80"}\n',
        b'{"record": "stranger"}\n',
        b"{}\n",
        b'{"record": null}\n',
        b'{"record": ["memory"]}\n',
        b'{"record": "header"}\n',
        b'{"record": "memory"}\n',
        b'{"record": "memory", "importance": NaN}\n',
        b'{"record": "memory", "importance": Infinity}\n',
        b'{"record": "feedback", "uid": 5}\n',
        b'{"record": "link", "from": "a"}\n',
        b'{"record": "version", "memory": {}}\n',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 10_000,
    ],
    ids=lambda line: ascii(line[:30]),
)
def test_a_line_that_is_no_record_is_refused_with_its_number(line: bytes) -> None:
    """Wherever in the file it stands."""
    lines = written(sample())
    for place in (1, 3, 5):
        with pytest.raises(BadFile) as caught:
            read([*lines[:place], line, *lines[place:]])
        assert (caught.value.path, caught.value.line) == ("a file", place + 1)


SPOILED: list[tuple[int, dict[str, Any]]] = [
    (0, {"format": "other"}),
    (0, {"record": "memory"}),
    (0, {"version": 2}),
    (0, {"version": "1"}),
    (0, {"version": None}),
    (0, {"counts": None}),
    (0, {"counts": []}),
    (0, {"counts": {"memory": "x"}}),
    (0, {"counts": {"memory": None}}),
    (0, {"counts": {"memory": [1]}}),
    (1, {"id": "x"}),
    (1, {"id": 2**63}),
    (1, {"uid": None}),
    (1, {"kind": "opinion"}),
    (1, {"kind": []}),
    (1, {"importance": "high"}),
    (1, {"importance": True}),
    (1, {"importance": 10**400}),
    (1, {"created_at": "yesterday"}),
    (1, {"created_at": 5}),
    (1, {"created_at": "0001-01-01T00:00:00+14:00"}),
    (1, {"tags": "a"}),
    (1, {"tags": [5]}),
    (1, {"message_range": [1]}),
    (1, {"provenance": [{}]}),
    (1, {"procedure": 5}),
    (1, {"stranger": 5}),
    (2, {"memory": None}),
    (2, {"recorded_to": None}),
    (3, {"kind": "friends-with"}),
    (3, {"kind": "has-tag"}),
    (3, {"weight": "heavy"}),
    (3, {"weight": 10**400}),
    (3, {"weight": 2}),
    (3, {"weight": -1}),
    (3, {"weight": None}),
    (3, {"to": None}),
    (3, {"to": "not a uid"}),
    (3, {"to": ONE}),
    (3, {"from": "\ud800"}),
    (3, {"created_at": "yesterday"}),
    (3, {"created_at": 5}),
    (4, {"helpful": "yes"}),
    (4, {"at": None}),
    (5, {"seq": "x"}),
    (5, {"seq": None}),
    (5, {"seq": [1]}),
]


@pytest.mark.parametrize("number, change", SPOILED, ids=[f"{number}-{change!r:.50}" for number, change in SPOILED])
def test_a_record_with_a_value_it_cannot_have_is_refused_with_its_line(number: int, change: dict[str, Any]) -> None:
    """In the words of the product, before anything is done with it."""
    lines = written(sample())
    lines[number] = json.dumps({**json.loads(lines[number]), **change}).encode() + b"\n"
    with pytest.raises(BadFile) as caught:
        read(lines)
    assert caught.value.line == number + 1


@pytest.mark.parametrize("number", range(6))
def test_a_number_beyond_all_numbers_is_refused_with_its_line(number: int) -> None:
    """JSON may write 1e999, which is no number that can be kept."""
    lines = written(sample())
    lines[number] = lines[number].replace(b"{", b'{"payload": 1e999, ', 1)
    lines[number] = lines[number].replace(b', "payload": null', b"")
    with pytest.raises(BadFile) as caught:
        read(lines)
    assert caught.value.line == number + 1


def test_a_line_without_end_is_refused() -> None:
    """It is not parsed to find that out."""
    with pytest.raises(BadFile, match="a line of more than") as caught:
        read([written(sample())[0], b" " * (LINE_LIMIT + 1)])
    assert caught.value.line == 2


def test_nothing_at_all_is_refused() -> None:
    """An empty file is no export."""
    with pytest.raises(BadFile, match="is empty"):
        read([])


@given(st.lists(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass"))))
def test_any_lines_are_records_or_a_bad_file(lines: list[bytes]) -> None:
    """With nothing, or a sound beginning, before them."""
    for start in ([], written(sample())[:2]):
        with suppress(BadFile):
            read([*start, *lines])


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=4,
)


@given(st.integers(0, 5), st.data())
def test_any_value_in_any_field_is_a_record_or_a_bad_file(number: int, data: st.DataObject) -> None:
    """No file breaks the reading in any other way."""
    lines = written(sample())
    held = json.loads(lines[number])
    name = data.draw(st.sampled_from(sorted(held)))
    lines[number] = json.dumps({**held, name: data.draw(values)}).encode("utf-8", "surrogatepass")
    with suppress(BadFile):
        read(lines)
