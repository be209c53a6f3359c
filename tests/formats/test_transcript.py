"""Transcripts: a turn to a line and back, a chain that notices everything, and lines that forget what they said."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import InvalidInput
from recollect.codec import digest
from recollect.formats.transcript import (
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
    verify,
)
from recollect.model import Json

NOW = datetime(2026, 2, 5, 10, tzinfo=UTC)
SALT = "5a" * 16

texts = st.text(max_size=40)
words = st.text(max_size=12)
moments = st.datetimes(
    datetime(1000, 1, 1),  # noqa: DTZ001 - the zone is given beside it
    datetime(9000, 1, 1),  # noqa: DTZ001
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]),
)
inputs = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
ids = st.builds("{}_{:06d}".format, st.sampled_from(["msg", "tool", "summary"]), st.integers(1, 10**12))
turns = st.builds(
    Turn,
    id=ids,
    role=st.sampled_from([role for role in Role if role is not Role.SUMMARY]),
    content=texts,
    name=words,
    input=inputs,
    timestamp=moments,
    agent=words,
    host=words,
    ref=words,
    injected=st.booleans(),
    seq=st.integers(0, 10**12),
) | st.builds(
    Turn,
    id=ids,
    role=st.just(Role.SUMMARY),
    content=texts,
    timestamp=moments,
    covers=st.none() | st.tuples(ids, ids),
    seq=st.integers(0, 10**12),
)


def turn(number: int, content: str = "", **fields: Any) -> Turn:
    """The numbered turn of a session, which the user says unless told otherwise."""
    made: dict[str, Any] = {"role": Role.USER, "timestamp": NOW + timedelta(seconds=number), **fields}
    return Turn(id=f"msg_{number:06d}", content=content, seq=number, **made)


def chain_of(*given: Turn, previous: str = "") -> list[str]:
    """The lines of turns, each chained to the one before."""
    lines = []
    for number, each in enumerate(given):
        line, previous = line_of(each, previous, digest(SALT, str(number)))
        lines.append(line)
    return lines


FIVE = [turn(number, f"what was said {number}") for number in range(1, 6)]


def altered(line: str, **fields: Json) -> str:
    """The line with some of its fields changed, as somebody with an editor would."""
    return json.dumps({**json.loads(line), **fields})


# --- the shape


@pytest.mark.row("B2", "shape")
def test_the_fields_that_every_transcript_has_come_first_and_as_they_are() -> None:
    """A line begins with exactly the fields, order and spelling of the documented shape."""
    given = [
        turn(1, "Hello"),
        turn(2, "Hi there!", role=Role.ASSISTANT),
        replace(turn(3, role=Role.TOOL_CALL, name="read", input={"path": "README.md"}), id="tool_000003"),
        replace(turn(4, "# Project...", role=Role.TOOL_RESULT), id="tool_000003"),
    ]
    begins = [
        '{"id":"msg_000001","role":"user","content":"Hello","timestamp":"2026-02-05T10:00:01Z",',
        '{"id":"msg_000002","role":"assistant","content":"Hi there!","timestamp":"2026-02-05T10:00:02Z",',
        '{"id":"tool_000003","role":"tool_call","name":"read","input":{"path":"README.md"},'
        '"timestamp":"2026-02-05T10:00:03Z",',
        '{"id":"tool_000003","role":"tool_result","content":"# Project...","timestamp":"2026-02-05T10:00:04Z",',
    ]
    for line, begin in zip(chain_of(*given), begins, strict=True):
        assert line.startswith(begin), line


@pytest.mark.row("B2", "shape")
@pytest.mark.parametrize(
    "line",
    [
        '{"id":"msg_001","role":"user","content":"Hello","timestamp":"2026-02-05T10:00:00Z"}',
        '{"id":"tool_001","role":"tool_call","name":"read","input":{"path":"a"},"timestamp":"2026-02-05T10:00:02Z"}',
        '{"id":"tool_001","role":"tool_result","content":"# Project...","timestamp":"2026-02-05T10:00:03Z"}',
    ],
)
def test_lines_of_the_documented_shape_alone_are_read_and_reported(line: str) -> None:
    """What another program wrote is a turn, and the chain says that it was not written here."""
    assert turn_from(line).hash == ""
    assert verify([line]) == (f"line 1 ({turn_from(line).id}) has no hash; something else wrote it",)


@given(given=turns)
def test_a_turn_comes_back_from_its_line(given: Turn) -> None:
    """Whatever text, input and time a turn has, its line is one line and gives the same turn."""
    line, hash = line_of(given, "b2:before", SALT)
    back = turn_from(line)
    assert "\n" not in line
    assert turn_from(line.encode()) == back
    assert replace(back, salt="", content_hash="", hash="") == given
    assert (back.salt, back.hash) == (SALT, hash)
    assert seq_of(line.encode()) == given.seq
    assert seq_of(erased(line).encode()) == given.seq


@given(st.lists(turns, max_size=6))
def test_whatever_is_chained_verifies_with_and_without_what_was_said(given: list[Turn]) -> None:
    """A chain holds, and holds still when any or all of its lines are erased."""
    lines = chain_of(*(replace(each, seq=number) for number, each in enumerate(given, start=1)))
    assert verify(lines) == ()
    assert verify([erased(line) if number % 2 else line for number, line in enumerate(lines)]) == ()
    assert verify(map(erased, lines)) == ()


@pytest.mark.row("B14", "timestamped")
@pytest.mark.parametrize("gone", ["id", "role", "content", "timestamp"])
def test_a_line_without_a_field_that_it_needs_is_no_turn(gone: str) -> None:
    """Every turn has an id, a role, a content and a time."""
    record = json.loads(chain_of(FIVE[0])[0])
    del record[gone]
    with pytest.raises(InvalidInput, match=gone):
        turn_from(json.dumps(record))


LINE = chain_of(FIVE[0])[0]


@pytest.mark.parametrize(
    "line",
    [
        *("", "null", "[]", '"text"', "{", LINE[:-1], LINE + "x", LINE * 2, "{}", "\ufeff" + LINE),
        *(b"\xff\xfe", b"\x00" * 40, LINE.encode("utf-16"), LINE.encode()[:-20] + b"\xc3"),
        *("[" * 100_000, '{"id":' * 100_000, '{"n":1' + "0" * 5_000 + "}"),
        altered(LINE, id=""),
        altered(LINE, id="../../etc/passwd"),
        altered(LINE, id=7),
        altered(LINE, role="owner"),
        altered(LINE, role=None),
        altered(LINE, content=7),
        altered(LINE, content=["text"]),
        altered(LINE, timestamp="yesterday"),
        altered(LINE, timestamp=1_770_000_000),
        altered(LINE, name=None),
        altered(LINE, injected="yes"),
        altered(LINE, covers=["msg_000001", "msg_000002"]),
        altered(LINE, role="summary", covers=["msg_000001"]),
        altered(LINE, role="summary", covers=["msg_000001", "the last"]),
        altered(LINE, fork=["other", 3]),
        altered(LINE, mark="fork"),
        altered(LINE, mark="fork", fork=["other", -1]),
        altered(LINE, mark="fork", fork=["", 1]),
        altered(LINE, mark="bookmark"),
        altered(LINE, seq=-1),
        altered(LINE, seq="1"),
        altered(LINE, hash=1),
        altered(LINE, content="\ud800"),
        LINE.replace('"seq":1', '"seq":NaN'),
        LINE.replace('"seq":1', '"input":1e999,"seq":1'),
    ],
)
def test_what_is_no_turn_is_refused_and_reported(line: str | bytes) -> None:
    """Anything else than a turn raises, and in a chain it is one fault at its line."""
    with pytest.raises(InvalidInput):
        turn_from(line)
    before, after = chain_of(*FIVE[:3]), chain_of(*FIVE[:4])[3]
    faults = verify([*before, line, after])
    assert [fault.split(":")[0] for fault in faults] == ["line 4 is not a turn"]


@pytest.mark.parametrize(
    "given",
    [
        turn(1, "\udc80"),
        turn(1, input={"a": float("nan")}),
        turn(1, input={"a": float("inf")}),
        turn(1, input={"a": {1, 2}}),
        turn(1, input=b"bytes"),
        turn(1, name="\ud800"),
        replace(turn(1), content=None),
        replace(turn(1), id="one"),
        turn(1, timestamp=datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))),
        turn(1, covers=("msg_000001", "msg_000001")),
        turn(1, fork=("other", 1)),
    ],
)
def test_a_turn_that_could_not_be_read_back_is_not_written(given: Turn) -> None:
    """There is no line for what no line could hold."""
    with pytest.raises(InvalidInput):
        line_of(given, "", SALT)


def test_fields_that_only_a_later_version_knows_are_left_alone_and_covered() -> None:
    """A line with more fields is read; the chain covers them, and erasing keeps them."""
    record = json.loads(chain_of(FIVE[0])[0])
    later = json.dumps({**record, "mood": "calm"})
    assert turn_from(later) == turn_from(chain_of(FIVE[0])[0])
    assert json.loads(erased(later))["mood"] == "calm"
    assert verify([later]) == ("line 1 (msg_000001) does not follow from the record before it",)


# --- the chain


@pytest.mark.parametrize(
    "field, value",
    [
        ("content", "something else"),
        ("content", ""),
        ("input", {"more": 1}),
        ("salt", "00" * 16),
        ("timestamp", "2026-02-05T10:00:03.000001Z"),
        ("role", "assistant"),
        ("id", "msg_000009"),
        ("agent", "another"),
        ("host", "another"),
        ("name", "another"),
        ("ref", "another"),
        ("injected", True),
        ("content_hash", digest("another")),
        ("hash", digest("another")),
        ("seq", 9),
    ],
)
def test_the_chain_notices_every_change(field: str, value: Json) -> None:
    """Whatever is changed on a line, that line or the next one is told of it."""
    lines = chain_of(*FIVE)
    lines[2] = altered(lines[2], **{field: value})
    faults = verify(lines)
    assert faults
    assert all(fault.startswith(("line 3 (", "line 4 (")) for fault in faults)


def test_the_chain_notices_lines_that_are_missing_doubled_or_out_of_order() -> None:
    """A line that does not follow from the one before it is a fault."""
    lines = chain_of(*FIVE)
    assert verify([lines[0], *lines[2:]])[0] == "line 2 (msg_000003) is number 3 where 2 was to come"
    assert verify([lines[0], lines[0], *lines[1:]])
    assert verify([lines[1], lines[0], *lines[2:]])
    assert verify(lines[1:])
    assert verify(lines[2:], previous=turn_from(lines[1]).hash, seq=2) == ()


@given(given=turns)
def test_an_erased_line_keeps_its_hashes_and_nothing_that_was_said(given: Turn) -> None:
    """What a turn said cannot be told from its erased line, not even by guessing: the salt is gone."""
    said = f"unlikely words {given.seq}"
    line, hash = line_of(replace(given, content=said, input={"said": said}), "", SALT)
    empty = erased(line)
    back = turn_from(empty)
    assert said not in empty
    assert SALT not in empty
    assert (back.content, back.input, back.salt) == (None, None, "")
    assert (back.hash, back.content_hash) == (hash, turn_from(line).content_hash)
    assert replace(back, content=said, input={"said": said}, salt=SALT) == turn_from(line)
    assert erased(empty) == empty


def test_the_same_words_have_another_hash_under_another_salt() -> None:
    """Nobody who knows a hash can find out that two turns say the same."""
    first, second = (turn_from(line_of(FIVE[0], "", salt)[0]) for salt in ("00" * 16, "01" * 16))
    assert first.content_hash != second.content_hash


def test_a_mark_has_the_number_of_the_turn_before_it() -> None:
    """Marks are chained like turns and take no number of their own."""
    mark = Turn(id="mark_000002", role=Role.SYSTEM, content="A title", timestamp=NOW, mark=Mark.TITLE, seq=2)
    lines = chain_of(*FIVE[:2], mark, *FIVE[2:])
    assert verify(lines) == ()
    assert turn_from(lines[2]).mark is Mark.TITLE
    assert verify(chain_of(*FIVE[:2], replace(mark, seq=3), *FIVE[2:]))


# --- ids


def call(ref: str = "", name: str = "read") -> Turn:
    return Turn(role=Role.TOOL_CALL, name=name, ref=ref, timestamp=NOW)


def result(ref: str = "", name: str = "") -> Turn:
    return Turn(role=Role.TOOL_RESULT, content="done", name=name, ref=ref, timestamp=NOW)


MESSAGE = Turn(role=Role.ASSISTANT, content="Let me look.", timestamp=NOW)


@pytest.mark.parametrize(
    "given, expected",
    [
        ([MESSAGE, call(), result(), MESSAGE], "msg_1 tool_2 tool_2 msg_4"),
        ([call(), result(), call(), result()], "tool_1 tool_1 tool_3 tool_3"),
        ([call(), call(), result(), result()], "tool_1 tool_2 tool_1 tool_2"),
        ([call("x"), call("y"), result("y"), result("x")], "tool_1 tool_2 tool_2 tool_1"),
        ([call("x"), MESSAGE, result("x")], "tool_1 msg_2 tool_1"),
        ([call(name="read"), call(name="grep"), result(name="grep")], "tool_1 tool_2 tool_2"),
        ([call(), MESSAGE, result()], "tool_1 msg_2 tool_3"),
        ([result()], "tool_1"),
        ([call("x"), result("z")], "tool_1 tool_2"),
        ([call("x"), result("tool_000001")], "tool_1 tool_1"),
        ([replace(MESSAGE, role=Role.SUMMARY, covers=("msg_1", "msg_1"))], "summary_1"),
        ([replace(MESSAGE, mark=Mark.TITLE), MESSAGE], "mark_0 msg_1"),
    ],
)
def test_a_tools_result_has_the_id_of_its_call(given: list[Turn], expected: str) -> None:
    """Calls and results are paired by the host's own name for them, or in their order."""

    def short(each: Turn) -> str:
        return each.id.replace("00000", "")

    assert " ".join(map(short, numbered(given, 0, lambda: iter(())))) == expected
    apart: list[Turn] = []
    for each in given:
        before = apart[::-1]
        apart += numbered([each], before[0].seq if before else 0, partial(iter, before))
    assert " ".join(map(short, apart)) == expected


@given(st.lists(st.sampled_from([MESSAGE, call(), result(), call("x"), result("x")]), max_size=30), st.integers(0, 99))
def test_numbers_rise_by_one_and_only_results_share_an_id(given: list[Turn], start: int) -> None:
    """Whatever comes, each turn has the next number, and an id of its own unless it answers a call."""
    done = numbered(given, start, lambda: iter(()))
    assert [each.seq for each in done] == list(range(start + 1, start + 1 + len(given)))
    assert all(first.seq + 1 == second.seq for first, second in pairwise(done))
    own = [each.id for each in done if each.role is not Role.TOOL_RESULT]
    assert len(set(own)) == len(own)


# --- the index


def test_what_the_index_says_follows_from_the_records() -> None:
    """Times, number, title, host, agent, fork and finalisation are told by the records alone."""
    at = NOW + timedelta(minutes=1)
    said = [
        Turn(id="mark_000003", role=Role.SYSTEM, timestamp=NOW, mark=Mark.FORK, fork=("parent", 3), seq=3, hash="x"),
        replace(turn(4, "Injected words", injected=True, host="codex"), hash="x"),
        replace(turn(5, "\n  Fix   the\x1b login page\nplease", agent="main", host="gemini"), hash="x"),
        replace(turn(6, "And the other one", timestamp=at), hash="x"),
        Turn(id="mark_000006", role=Role.SYSTEM, timestamp=NOW, mark=Mark.FINALISED, seq=6, hash="x"),
        replace(turn(7, "Not a summary", role=Role.ASSISTANT, timestamp=at), hash="x"),
    ]
    entry: Listed | None = None
    for each in said:
        entry = following(entry, "child", each)
    assert entry == Listed(
        id="child",
        started=NOW,
        updated=at,
        turns=7,
        title="Fix the login page",
        host="codex",
        agent="main",
        parent="parent",
        fork_at=3,
        finalised=6,
    )
    named = following(entry, "child", Turn(role=Role.SYSTEM, content="Login", timestamp=NOW, mark=Mark.TITLE))
    assert (named.title, named.updated) == ("Login", at)


@given(texts)
def test_a_title_is_one_short_line(said: str) -> None:
    """Whatever is said first, the list shows one line that can be printed."""
    title = following(None, "s", turn(1, said * 9)).title
    assert len(title) <= 80
    assert title.isprintable()


# --- redaction

SECRET = "hunter2-Sup3r"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "given, gone",
    [
        ({"content": f"my password is {SECRET}"}, SECRET),
        ({"input": {"command": f"curl -u admin:{SECRET} https://example.com"}}, SECRET),
        ({"input": {"password": SECRET}}, SECRET),
        ({"input": {"env": {"DB_PASSWORD": SECRET}}}, SECRET),
        ({"input": {"args": ["--user", "root", "--password", SECRET]}}, SECRET),
        ({"input": [["mysql", "-u", "root", f"-p{SECRET}"]]}, SECRET),
        ({"input": {"card": 4111111111111111}}, "4111111111111111"),
        ({"input": {"to": ["ann.smith@corp.io"]}}, "ann.smith@corp.io"),
        ({"input": {"ann.smith@corp.io": True}}, "ann.smith@corp.io"),
        ({"input": {"lines": KEY.split("\n")}}, "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn"),
        ({"input": f"password={SECRET}"}, SECRET),
        ({"input": {"id": "Zk9vQ2xLw8Rt5YbN3mPq7AsD1fGh"}}, "Zk9vQ2xLw8Rt5YbN3mPq7AsD1fGh"),
        ({"name": "ann.smith@corp.io"}, "ann.smith@corp.io"),
        ({"agent": "ann.smith@corp.io"}, "ann.smith@corp.io"),
        ({"host": "ann.smith@corp.io"}, "ann.smith@corp.io"),
        ({"ref": "ann.smith@corp.io"}, "ann.smith@corp.io"),
    ],
)
def test_no_text_of_a_turn_keeps_a_secret(given: dict[str, Any], gone: str) -> None:
    """Wherever a secret stands, and whatever gives it away, the turn that is written has it masked."""
    before = turn(1, **{"role": Role.TOOL_CALL, **given})
    line, _ = line_of(redacted(before), "", SALT)
    assert gone in str(before)
    assert gone not in line
    assert "[redacted:" in line


def has_names(each: Turn) -> bool:
    return "\x00" not in each.name + each.agent + each.host + each.ref


@given(turns.filter(has_names))
def test_redaction_keeps_the_shape_and_settles(given: Turn) -> None:
    """What is redacted once is redacted; and a turn without secrets in it is as it was."""
    once = redacted(given)
    assert redacted(once) == once
    assert replace(once, content="", input=None, name="", agent="", host="", ref="") == replace(
        given, content="", input=None, name="", agent="", host="", ref=""
    )
    if "[redacted:" not in str(once):
        assert once == given


def test_keys_that_look_the_same_when_redacted_stay_apart() -> None:
    """No value is lost because two keys were masked."""
    held = redacted(turn(1, input={"ann@corp.io": 1, "bob@corp.io": 2, "eve@corp.io": 3})).input
    assert held == {"[redacted:email]": 1, "[redacted:email] 2": 2, "[redacted:email] 3": 3}


@pytest.mark.parametrize(
    "half, whole",
    [("cut off \ud83d", "cut off \ufffd"), ("\ud83d\ude00", "😀"), ("a\x00b", "a\x00b"), ("plain", "plain")],
)
def test_half_characters_do_not_stop_a_turn(half: str, whole: str) -> None:
    """Output that was cut inside a character is written with a replacement for it."""
    done = redacted(turn(1, half, input={"text": [half]}))
    assert (done.content, done.input) == (whole, {"text": [whole]})
    assert verify([line_of(done, "", SALT)[0]]) == ()


@pytest.mark.parametrize("name", ["name", "agent", "host", "ref"])
@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "x" * 257])
def test_a_name_that_is_none_is_refused(name: str, text: str) -> None:
    """Names are short and can be written as they are."""
    with pytest.raises(InvalidInput, match=name):
        redacted(turn(1, **{name: text}))


@pytest.mark.parametrize("held", [{"a": {1}}, b"bytes", {"a": float("nan")}, {"a": 10**5_000}])
def test_an_input_that_is_no_json_is_refused(held: Any) -> None:
    """What could not be written is refused before anything is."""
    with pytest.raises(InvalidInput):
        redacted(turn(1, input=held))
