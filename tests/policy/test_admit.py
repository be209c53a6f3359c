"""What may enter: text that can be kept, within limits, without secrets, stamped on the way in."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import (
    Anchor,
    Draft,
    InvalidInput,
    Kind,
    Memory,
    Origin,
    Procedure,
    Provenance,
    Recollect,
    Scope,
    Status,
    TooLarge,
)
from recollect.model import MemoryId, Uid
from recollect.policy.admit import Limits, admit, adopted, check_stored, check_text, compose
from recollect.policy.identity import content_hash, fingerprint
from recollect.testing import FixedClock, temp_recollect

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
UID = Uid("00000000-0000-4000-8000-000000000000")
CHANCE = random.Random(11)
TOKEN = "ghp_" + "".join(CHANCE.choices(string.ascii_letters + string.digits, k=36))
KEY_ID = "AKIA" + "".join(CHANCE.choices(string.ascii_uppercase + string.digits, k=16))


def short(value: object) -> str:
    """A name for a case that fits on a line."""
    return type(value).__name__ if type(value) is object else repr(value)[:60]


@pytest.fixture(scope="module")
def shared() -> Iterator[Recollect]:
    """A memory for cases that leave nothing in it."""
    with temp_recollect(clock=FixedClock()) as memory:
        memory.remember("something to change")
        yield memory


# Text that can be kept


@pytest.mark.parametrize(
    "text, problem",
    [
        ("", "is empty"),
        (" \n\t\u3000", "is empty"),
        ("a\x00b", "NUL"),
        ("a\ud800", "lone surrogate at position 1"),
        ("caf\udce9", "lone surrogate at position 3"),
        (None, "expected text"),
        (5, "expected text"),
        (b"bytes", "expected text"),
        (["a"], "expected text"),
    ],
)
def test_text_that_cannot_be_kept_is_refused(shared: Recollect, text: Any, problem: str) -> None:
    """For what it is, in a new memory and in a change."""
    for act in (lambda: shared.remember(text), lambda: shared.remember_many([Draft(content=text)])):
        with pytest.raises(InvalidInput, match=problem) as caught:
            act()
        assert caught.value.field == "content"
    if text is not None:
        with pytest.raises(InvalidInput, match=problem):
            shared.update(1, text)
    assert len(shared.audit()) == 1


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).filter(str.strip))
def test_any_other_text_is_kept_as_it_is(text: str) -> None:
    """Control characters, unassigned ones and every script."""
    assert check_text("content", text, len(text)) == text
    assert check_text("content", text, len(text)).encode()


# Limits


CASES: list[tuple[dict[str, object], dict[str, Any], str, str]] = [
    ({"write.content_limit": 10}, {"content": "x" * 11}, "content", "write.content_limit"),
    ({"write.tags_limit": 2}, {"tags": ["a", "b", "c"]}, "tags", "write.tags_limit"),
    ({"write.tag_length": 3}, {"tags": ["abcd"]}, "tag", "write.tag_length"),
    ({"write.paths_limit": 1}, {"files": ["a", "b"]}, "files", "write.paths_limit"),
    ({"write.payload_limit": 10}, {"payload": "x" * 9}, "payload", "write.payload_limit"),
    ({}, {"content": "x" * 8_001}, "content", "write.content_limit"),
    ({}, {"payload": ["x" * 70_000]}, "payload", "write.payload_limit"),
    ({}, {"files": ["x" * 1_025]}, "path", ""),
    ({}, {"session": "x" * 257}, "session_id", ""),
    ({}, {"agent": "x" * 257}, "agent", ""),
    ({}, {"snippet": "x" * 1_001}, "snippet", ""),
    ({}, {"reason": "x" * 1_001}, "reason", ""),
    ({}, {"triggers": ["x"] * 101}, "triggers", ""),
    ({}, {"triggers": ["x" * 1_001]}, "triggers", ""),
    ({}, {"procedure": Procedure(name="x" * 257)}, "procedure.name", ""),
    ({}, {"procedure": Procedure(name="x", steps=("y",) * 101)}, "procedure.steps", ""),
    ({}, {"key": "x" * 201}, "key", ""),
]


@pytest.mark.parametrize(
    "settings, given_, field, setting", CASES, ids=[f"{case[2]}-{n}" for n, case in enumerate(CASES)]
)
def test_more_than_a_limit_is_refused_whole(
    settings: dict[str, object], given_: dict[str, Any], field: str, setting: str
) -> None:
    """Nothing is cut; the error names the field, and the setting that would allow it."""
    with temp_recollect(settings=settings) as memory:
        with pytest.raises(TooLarge) as caught:
            memory.remember(**({"content": "x"} | given_))
        assert memory.count({}) == 0
    error = caught.value
    assert (error.field, error.setting) == (field, setting)
    assert error.size > error.limit
    assert (setting in error.hint) if setting else not error.hint


@pytest.mark.parametrize(
    "given_",
    [
        {"content": "x" * 8_000},
        {"content": "漢" * 8_000},
        {"tags": [f"tag-{number}" for number in range(32)]},
        {"tags": ["x" * 64]},
        {"files": [f"file-{number}" for number in range(64)]},
        {"session": "x" * 256},
        {"snippet": "x" * 1_000},
        {"payload": "x" * 65_534},
    ],
    ids=lambda given_: next(iter(given_)),
)
def test_as_much_as_a_limit_is_kept(given_: dict[str, Any]) -> None:
    """To the last character."""
    with temp_recollect() as memory:
        stored = memory.remember(**({"content": "x"} | given_)).memory
        assert memory.get(stored.ref) == stored
        assert stored.content == given_.get("content", "x")


def test_a_change_is_held_to_the_same_limits() -> None:
    """Content, tags and files of an edit, and tags one by one."""
    limits = {"write.content_limit": 20, "write.tags_limit": 2, "write.paths_limit": 1}
    with temp_recollect(settings=limits) as memory:
        ref = memory.remember("something", tags=["a", "b"]).ref
        with pytest.raises(TooLarge):
            memory.update(ref, "x" * 21)
        with pytest.raises(TooLarge):
            memory.update(ref, tags=["a", "b", "c"])
        with pytest.raises(TooLarge):
            memory.update(ref, files=["a", "b"])
        with pytest.raises(TooLarge):
            memory.tag(ref, "c")
        assert memory.get(ref).version == 1


# Values of the wrong type


@pytest.mark.parametrize(
    "field, value",
    [
        *product(["importance"], [-0.1, 1.1, float("nan"), float("inf"), -float("inf"), 10**400, "0.5", True]),
        *product(["confidence"], [-1, 2, float("nan"), 10**400, None, "high", []]),
        ("kind", "opinion"),
        ("kind", 5),
        ("kind", []),
        ("scope", "universe"),
        ("source", "hearsay"),
        ("tags", "auth"),
        ("tags", [5]),
        ("tags", [None]),
        ("tags", [""]),
        ("tags", ["#"]),
        ("tags", ["a,b"]),
        ("tags", ["a\x1bb"]),
        ("tags", ["a\x00"]),
        ("tags", 5),
        ("files", "auth.py"),
        ("files", [5]),
        ("files", [""]),
        ("files", ["a\x00"]),
        ("files", 5),
        ("session", 5),
        ("session", ""),
        ("agent", "a\x00"),
        ("host", "\ud800"),
        ("stage", "  "),
        ("season", 5),
        ("triggers", "auth"),
        ("triggers", [""]),
        ("triggers", [5]),
        ("triggers", 5),
        ("procedure", {"name": "deploy"}),
        ("procedure", "deploy"),
        ("procedure", Procedure(name="")),
        ("procedure", Procedure(name="x", steps=("",))),
        ("message_range", (5, 3)),
        ("message_range", (-1, 3)),
        ("message_range", (0, 2**31)),
        ("message_range", (1,)),
        ("message_range", (1, 2, 3)),
        ("message_range", ("a", "b")),
        ("message_range", "ab"),
        ("message_range", 5),
        ("valid_from", datetime(2026, 1, 1)),  # noqa: DTZ001
        ("valid_to", datetime(2026, 1, 1)),  # noqa: DTZ001
        ("valid_from", "2026-01-01"),
        ("valid_to", 5),
        ("snippet", None),
        ("snippet", 5),
        ("reason", "a\x00"),
        ("key", 5),
        ("key", ""),
        ("payload", object()),
        ("payload", {1, 2}),
        ("payload", b"bytes"),
        ("payload", float("nan")),
        ("payload", [float("inf")]),
        ("payload", {"deep": {"a": -float("inf")}}),
        ("payload", 2**63),
        ("payload", [-(10**400)]),
        ("payload", {1: "one"}),
        ("payload", {None: "none"}),
        ("payload", {"a": 1, 2: "b"}),
        ("payload", "a\x00"),
        ("payload", {"\ud800": 1}),
        ("payload", datetime(2026, 1, 1, tzinfo=UTC)),
    ],
    ids=short,
)
def test_a_value_that_cannot_be_taken_is_refused_in_the_words_of_the_product(
    shared: Recollect, field: str, value: Any
) -> None:
    """An agent that calls it wrongly is told what was wrong; nothing is stored."""
    before = shared.audit(limit=None)
    with pytest.raises(InvalidInput) as caught:
        shared.remember("a sound text", **{field: value})
    assert caught.value.problem
    assert shared.audit(limit=None) == before


@pytest.mark.parametrize(
    "draft",
    [
        Draft(content="x", kind="opinion"),  # type: ignore[arg-type]
        Draft(content="x", scope="universe"),  # type: ignore[arg-type]
        Draft(content="x", source="hearsay"),  # type: ignore[arg-type]
        {"content": "x"},
        5,
        None,
    ],
    ids=["kind", "scope", "source", "mapping", "number", "none"],
)
def test_a_draft_that_is_none_is_refused(shared: Recollect, draft: Any) -> None:
    """The fields of a draft are checked, whoever made it."""
    before = shared.audit(limit=None)
    with pytest.raises(InvalidInput):
        shared.remember_many([draft])
    assert shared.audit(limit=None) == before


def test_a_scope_written_as_a_word_is_that_scope() -> None:
    """A global memory never lands in the store of a project."""
    with temp_recollect() as memory:
        try:
            memory.remember_many([Draft(content="for everybody", scope="global")])  # type: ignore[arg-type]
        except InvalidInput:
            return
        assert (memory.count({}, space="project"), memory.count({}, space="global")) == (0, 1)


@pytest.mark.parametrize(
    "given_",
    [
        {"content": "a\x00"},
        {"importance": 10**400},
        {"importance": "high"},
        {"tags": "auth"},
        {"tags": [""]},
        {"files": "a.py"},
        {"season": ""},
        {"kind": "opinion"},
        {"clear": ["content"]},
        {"clear": ["uid"]},
        {"valid_from": datetime(2026, 1, 1)},  # noqa: DTZ001
        {"valid_to": "2026-01-01"},
        {"valid_from": NOW, "valid_to": NOW - timedelta(days=1)},
        {"season": "winter", "clear": ["season"]},
    ],
    ids=short,
)
def test_a_change_that_cannot_be_made_is_refused(shared: Recollect, given_: dict[str, Any]) -> None:
    """By the rules for a new memory, and the memory stays as it is."""
    before = shared.get(1)
    with pytest.raises(InvalidInput):
        shared.update(1, **given_)
    assert shared.get(1) == before


def test_an_end_before_the_beginning_is_refused(shared: Recollect) -> None:
    """Also when the change gives only one of the two."""
    with pytest.raises(InvalidInput, match="lies before valid_from"):
        shared.remember("x", valid_from=NOW, valid_to=NOW - timedelta(days=1))
    with temp_recollect() as memory:
        ref = memory.remember("holds for a while", valid_from=NOW).ref
        with pytest.raises(InvalidInput):
            memory.update(ref, valid_to=NOW - timedelta(days=1))


@pytest.mark.parametrize("scope, field", [("session", "session_id"), ("task", "task_id")])
def test_a_passing_memory_needs_what_it_belongs_to(shared: Recollect, scope: str, field: str) -> None:
    """Without a session or task it would belong to nobody."""
    with pytest.raises(InvalidInput) as caught:
        shared.remember("x", scope=scope)
    assert caught.value.field == field


@pytest.mark.parametrize("depth", [1, 20, 100, 300, 440, 460, 470, 480, 490, 500, 900, 5_000, 200_000])
def test_a_payload_that_is_taken_can_be_used_from_anywhere(depth: int) -> None:
    """However deep a program is when it reads it; one nested too deeply is refused at the door."""
    payload: Any = None
    for _ in range(depth):
        payload = [payload]

    def deep_down(frames: int, use: Callable[[], object]) -> object:
        return deep_down(frames - 1, use) if frames else use()

    with temp_recollect() as memory:
        try:
            ref = memory.remember("nested", payload=payload).ref
        except InvalidInput:
            assert depth > 20
            return
        deep_down(300, lambda: memory.reinforce(ref))
        deep_down(300, lambda: list(memory.export_lines()))


# Tags


@pytest.mark.parametrize(
    "given_, stored",
    [
        (["Auth"], ("auth",)),
        (["#auth", "##Auth", " auth "], ("auth",)),
        (["Rate Limit", "rate\tlimit"], ("rate-limit",)),
        (["b", "a", "b"], ("b", "a")),
        (["Café"], ("café",)),
        (["数据库"], ("数据库",)),
        (["c++", "c#"], ("c++", "c#")),
        ([], ()),
    ],
)
def test_tags_are_stored_in_one_spelling(given_: list[str], stored: tuple[str, ...]) -> None:
    """Without a leading #, in lower case, words joined by hyphens, each once in the order given."""
    with temp_recollect() as memory:
        first = memory.remember("one", tags=given_).memory
        assert first.tags == stored
        assert memory.update(first.ref, tags=given_).tags == stored
        second = memory.remember("two").memory
        assert memory.tag(second.ref, *given_).tags == stored
        assert memory.untag(second.ref, *given_).tags == ()


@pytest.mark.row("J10", "seasons")
@pytest.mark.parametrize("given_", ["release-week", "Release Week", "  RELEASE\tweek ", "release-Week"])
def test_a_season_is_stored_in_the_spelling_it_is_defined_under(given_: str) -> None:
    """Of a new memory and of a changed one; what cannot be the name of a season is refused."""
    with temp_recollect(background=False) as memory:
        assert memory.remember("x", season=given_).memory.season == "release-week"
        assert memory.update(1, season="other").season == "other"
        assert memory.update(1, season=given_).season == "release-week"
        for wrong in ("x" * 65, "a\x07b", " "):
            with pytest.raises(InvalidInput, match="season"):
                memory.update(1, season=wrong)


# Secrets


PLACES: dict[str, dict[str, Any]] = {
    "content": {"content": f"the token is {TOKEN}"},
    "tags": {"tags": [TOKEN]},
    "tag in words": {"tags": [f"token {TOKEN}"]},
    "upper-case key in a tag": {"tags": [KEY_ID]},
    "files": {"files": [f"/tmp/{TOKEN}/x.txt"]},
    "anchor symbol": {"files": [Anchor(path="a.py", symbol=TOKEN)]},
    "anchor hash": {"files": [Anchor(path="a.py", content_hash=TOKEN)]},
    "session": {"session": TOKEN},
    "task": {"task": TOKEN},
    "narrative": {"narrative": TOKEN},
    "agent": {"agent": TOKEN},
    "host": {"host": TOKEN},
    "triggers": {"triggers": [f"use {TOKEN}"]},
    "procedure name": {"procedure": Procedure(name=TOKEN)},
    "procedure trigger": {"procedure": Procedure(name="x", trigger=TOKEN)},
    "procedure steps": {"procedure": Procedure(name="x", steps=("a", f"export T={TOKEN}"))},
    "procedure prerequisites": {"procedure": Procedure(name="x", prerequisites=(TOKEN,))},
    "procedure warnings": {"procedure": Procedure(name="x", warnings=(TOKEN,))},
    "season": {"season": TOKEN},
    "stage": {"stage": TOKEN},
    "payload text": {"payload": f"token={TOKEN}"},
    "payload value": {"payload": {"a": [{"b": TOKEN}]}},
    "payload key": {"payload": {"a": {TOKEN: 1}}},
    "snippet": {"snippet": f"they said {TOKEN}"},
    "reason": {"reason": f"because of {TOKEN}"},
}


def kept_bytes(folder: Path) -> bytes:
    """Every byte of every file below a folder, in lower case."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()).lower()


@pytest.mark.row("J26", "secrets")
@pytest.mark.parametrize("place", PLACES)
def test_a_secret_reaches_the_disk_in_no_field(tmp_path: Path, place: str) -> None:
    """No file of the home holds it afterwards, in any case, and the memory says what was there."""
    (tmp_path / "project").mkdir()
    with recollect.open(tmp_path / "project", home=tmp_path / "home") as memory:
        stored = memory.remember(**({"content": "a harmless text"} | PLACES[place])).memory
        assert "redacted:" in str(stored)
        memory.reinforce(stored.ref)
        memory.backup()
    held = kept_bytes(tmp_path / "home")
    assert b"redacted:" in held
    assert TOKEN.lower().encode() not in held
    assert KEY_ID.lower().encode() not in held


@pytest.mark.parametrize("place", PLACES)
def test_whoever_gave_a_secret_is_told_that_it_was_left_out(place: str) -> None:
    """Wherever in the memory it was."""
    with temp_recollect() as memory:
        assert memory.remember(**({"content": "a harmless text"} | PLACES[place])).redacted
        assert not memory.remember("nothing secret", tags=["Mixed Case"], files=["a.py"], payload=[1]).redacted


@pytest.mark.row("J26", "secrets")
@pytest.mark.parametrize(
    "change",
    [
        lambda memory: memory.update(1, f"the token is {TOKEN}"),
        lambda memory: memory.update(1, tags=[TOKEN]),
        lambda memory: memory.update(1, files=[TOKEN]),
        lambda memory: memory.update(1, triggers=[TOKEN]),
        lambda memory: memory.update(1, procedure=Procedure(name=TOKEN)),
        lambda memory: memory.update(1, season=TOKEN),
        lambda memory: memory.tag(1, TOKEN),
        lambda memory: memory.tag(1, KEY_ID),
        lambda memory: memory.feedback(1, helpful=True, note=f"it needs {TOKEN}"),
        lambda memory: memory.remember_many([Draft(content=f"use {TOKEN}")]),
    ],
    ids=["content", "tags", "files", "triggers", "procedure", "season", "tag", "key in a tag", "note", "many"],
)
def test_a_secret_reaches_the_disk_by_no_change(tmp_path: Path, change: Callable[[Recollect], object]) -> None:
    """Not by an edit, a tag, a note or a batch."""
    (tmp_path / "project").mkdir()
    with recollect.open(tmp_path / "project", home=tmp_path / "home") as memory:
        memory.remember("a harmless text")
        change(memory)
    held = kept_bytes(tmp_path / "home")
    assert TOKEN.lower().encode() not in held
    assert KEY_ID.lower().encode() not in held


# From files


def stored(**given_: Any) -> Memory:
    """A memory as a file may claim it."""
    content = given_.pop("content", "Deploys go out from main")
    values: dict[str, Any] = {
        "id": MemoryId(9),
        "uid": UID,
        "content": content,
        "created_at": NOW - timedelta(days=900),
        "updated_at": NOW,
        "origin": Origin.USER_STATED,
        "trust": 1.0,
        "score": 40,
        "status": Status.PINNED,
        "fingerprint": fingerprint(content),
        "content_hash": content_hash(content),
        "provenance": (Provenance(origin=Origin.USER_STATED, at=NOW, reason="trust me"),),
    }
    return Memory(**(values | given_))


def test_a_memory_that_nobody_vouches_for_comes_in_as_an_import() -> None:
    """Its words stay, its standing does not, and what it claimed can be read."""
    taken = adopted(stored(tags=("a",), importance=0.75), limits=Limits(), now=NOW)
    assert (taken.content, taken.tags, taken.importance) == ("Deploys go out from main", ("a",), 0.75)
    assert (taken.origin, taken.trust, taken.status) == (Origin.IMPORTED, 0.6, Status.CANDIDATE)
    assert (taken.score, taken.created_at, taken.version) == (0, NOW, 1)
    [step] = taken.provenance
    assert step.origin is Origin.IMPORTED
    assert step.reason == (
        "claims origin user_stated, trust 1, status pinned, created 2023-09-13T12:00:00.000000Z, score +40"
    )


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(Status), st.sampled_from(Origin))
def test_no_claim_lifts_an_import_above_its_trust(trust: float, status: Status, origin: Origin) -> None:
    """And none makes it live without having proved itself; trust stays a number from 0 to 1."""
    taken = adopted(stored(trust=trust, status=status, origin=origin), limits=Limits(), now=NOW)
    assert 0 <= taken.trust <= 0.6
    assert taken.origin is Origin.IMPORTED
    assert taken.status not in (Status.CONFIRMED, Status.PINNED)


@pytest.mark.parametrize(
    "given_",
    [
        {"uid": "../../etc/passwd"},
        {"uid": ""},
        {"uid": UID.upper()[:-1] + "G"},
        {"content": ""},
        {"content": "a\x00"},
        {"content": "x" * 8_001},
        {"importance": 7.0},
        {"confidence": -1.0},
        {"tags": ("a,b",)},
        {"session_id": ""},
        {"scope": Scope.SESSION},
        {"payload": float("inf")},
        {"message_range": (9, 1)},
    ],
    ids=lambda given_: next(iter(given_)),
)
def test_an_import_is_held_to_the_same_rules(given_: dict[str, Any]) -> None:
    """A file cannot bring in what nobody could have stored."""
    with pytest.raises(InvalidInput):
        adopted(stored(**given_), limits=Limits(), now=NOW)


def test_secrets_in_an_import_are_left_out() -> None:
    """In its words and in everything else it brings."""
    claims = stored(content=f"use {TOKEN}", tags=(TOKEN,), session_id=TOKEN, payload={TOKEN: TOKEN}, triggers=(TOKEN,))
    taken = adopted(claims, limits=Limits(), now=NOW)
    assert TOKEN.lower() not in str(taken).lower()
    assert taken.fingerprint == fingerprint(taken.content)


def test_a_memory_of_our_own_is_taken_as_it_is() -> None:
    """Every field of it."""
    memory = stored()
    assert check_stored(memory) == memory


@pytest.mark.parametrize(
    "given_",
    [
        {"fingerprint": ""},
        {"content_hash": "b2:" + "0" * 64},
        {"content": "x", "fingerprint": fingerprint("X"), "content_hash": content_hash("X")},
        {"content": "a\x00"},
        {"content": " "},
        {"uid": "../../x"},
        {"id": MemoryId(-5)},
        {"version": 0},
        {"importance": 5.0},
        {"trust": -1.0},
        {"confidence": 2.0},
        {"tags": ("\ud800",)},
        {"tags": ("a\x00",)},
        {"session_id": "\ud800"},
        {"superseded_by": Uid("\ud800")},
        {"payload": "\ud800"},
        {"payload": float("inf")},
        {"scope": Scope.SESSION},
    ],
    ids=str,
)
def test_a_memory_that_could_not_have_been_stored_is_not_taken_at_its_word(given_: dict[str, Any]) -> None:
    """Not even from a file that is trusted: its hashes fit its words, and every field can be kept."""
    with pytest.raises(InvalidInput):
        check_stored(stored(**given_))


# Stamps


def test_an_admitted_draft_is_stamped_with_the_channel_and_the_time() -> None:
    """Nothing of that comes from the draft."""
    draft = admit(
        Draft(content="Deploys go out from main", session_id="s1", snippet="a talk", reason="said so"), Limits()
    )
    memory = compose(draft, uid=UID, origin=Origin.TOOL_OUTPUT, now=NOW)
    assert (memory.origin, memory.trust, memory.status) == (Origin.TOOL_OUTPUT, 0.3, Status.CONFIRMED)
    assert memory.created_at == memory.updated_at == memory.confirmed_at == NOW
    [step] = memory.provenance
    assert step == Provenance(origin=Origin.TOOL_OUTPUT, at=NOW, session_id="s1", snippet="a talk", reason="said so")


@given(
    st.builds(
        Draft,
        content=st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).filter(str.strip),
        kind=st.sampled_from(Kind),
        tags=st.lists(st.text(st.characters(codec="ascii"), max_size=8), max_size=3).map(tuple),
        importance=st.none() | st.floats(0, 1),
        payload=st.recursive(
            st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=5,
        ),
    )
)
def test_admitting_what_was_admitted_changes_nothing(draft: Draft) -> None:
    """A draft is either refused or clean."""
    try:
        clean = admit(draft, Limits())
    except InvalidInput:
        return
    assert admit(clean, Limits()) == clean
    assert replace(clean, content=draft.content, tags=draft.tags, payload=draft.payload) == draft
