"""Transcripts on disk: appended to by many, forked, archived, erased, and listed in an index that can be lost."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import InvalidInput, NotFound, RecollectError
from recollect.engine import transcripts as engine_transcripts
from recollect.engine.transcripts import Transcripts
from recollect.errors import StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, TooLarge
from recollect.formats.transcript import Listed, Mark, Role, Turn

NOW = datetime(2026, 2, 5, 10, tzinfo=UTC)
LATER = NOW + timedelta(days=31)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "project" / "sessions"


@pytest.fixture
def kept(folder: Path) -> Transcripts:
    return Transcripts(folder)


def say(content: str, role: Role = Role.USER, **fields: Any) -> Turn:
    return Turn(**{"role": role, "content": content, "timestamp": NOW, **fields})


def talk(kept: Transcripts, session: str, *said: str) -> list[Turn]:
    """Append turns one by one, each a second after the one before."""
    written: list[Turn] = []
    for each in said:
        at = NOW + timedelta(seconds=len(written))
        written += kept.append(session, [say(each, timestamp=at)], now=at)
    return written


def heard(kept: Transcripts, session: str, start: int = 0) -> list[str | None]:
    return [turn.content for turn in kept.read(session, start=start)]


def everything(folder: Path) -> bytes:
    """Every byte under a folder, names included, archives unpacked."""
    found = b""
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found += path.name.encode() + (gzip.decompress(data) if path.suffix == ".gz" else data)
    return found


# --- appending and reading


@pytest.mark.row("B2", "shape")
@pytest.mark.row("B14", "timestamped")
def test_what_is_appended_is_read_back_in_order(kept: Transcripts, folder: Path) -> None:
    """A session is one file of one record a line; ids and numbers are given here, and a result has its call's id."""
    kept.append("s1", [say("Hello", host="codex", agent="main")], now=NOW)
    batch = [
        say("Let me look.", Role.ASSISTANT),
        say("", Role.TOOL_CALL, name="read", input={"path": "README.md"}, ref="call-7"),
    ]
    written = kept.append("s1", batch, now=NOW)
    written += kept.append("s1", [say("# Project", Role.TOOL_RESULT, ref="call-7")], now=NOW)
    written += kept.append("s1", [say("All of it", Role.SUMMARY, covers=("msg_000001", "msg_000002"))], now=NOW)
    turns = list(kept.read("s1"))
    assert [turn.id for turn in turns] == [
        *("msg_000001", "msg_000002", "tool_000003", "tool_000003", "summary_000005"),
    ]
    assert [turn.seq for turn in turns] == [1, 2, 3, 4, 5]
    assert turns[1:] == written
    assert (turns[0].host, turns[0].agent, turns[2].input) == ("codex", "main", {"path": "README.md"})
    lines = (folder / "s1.jsonl").read_text().splitlines()
    assert [json.loads(line)["timestamp"] for line in lines] == ["2026-02-05T10:00:00Z"] * 5
    assert kept.verify("s1") == ()
    assert kept.notes == ()


@pytest.mark.row("B2", "append-only")
@pytest.mark.row("B14", "append-only")
def test_appending_leaves_what_is_there_byte_for_byte(kept: Transcripts, folder: Path) -> None:
    """A transcript only grows: summaries, marks and further turns leave every byte before them as it was."""
    path = folder / "s.jsonl"
    before = b""
    steps: list[Callable[[], object]] = [
        lambda: talk(kept, "s", "one", "two"),
        lambda: kept.mark("s", Mark.TITLE, "A title", now=NOW),
        lambda: kept.append("s", [say("1 to 2", Role.SUMMARY, covers=("msg_000001", "msg_000002"))], now=NOW),
        lambda: kept.mark("s", Mark.FINALISED, now=NOW),
        lambda: kept.fork("s", "other", now=NOW),
        lambda: talk(kept, "s", "three"),
    ]
    for step in steps:
        step()
        after = path.read_bytes()
        assert after.startswith(before)
        before = after
    assert heard(kept, "s") == ["one", "two", "1 to 2", "three"]


def test_reading_goes_on_from_where_one_left_off(kept: Transcripts) -> None:
    """`start` turns are left out, across marks, and beyond the end there is nothing."""
    talk(kept, "s", *"abc")
    kept.mark("s", Mark.TITLE, "t", now=NOW)
    talk(kept, "s", *"de")
    for start in range(7):
        assert heard(kept, "s", start) == list("abcde"[start:])
    assert kept.tail("s").seq == 5


def test_nothing_appended_is_no_session(kept: Transcripts, folder: Path) -> None:
    """No turns, no file; and a session that is not there cannot be read, marked, forked or repaired."""
    assert kept.append("s", [], now=NOW) == []
    assert kept.sessions() == []
    assert not folder.exists()
    calls: list[Callable[[], object]] = [
        lambda: kept.read("s"),
        lambda: kept.tail("s"),
        lambda: kept.listed("s"),
        lambda: kept.verify("s"),
        lambda: kept.erase("s", ["msg_000001"]),
        lambda: kept.mark("s", Mark.FINALISED, now=NOW),
        lambda: kept.fork("s", "t", now=NOW),
        lambda: kept.repair("s", now=NOW),
    ]
    for call in calls:
        with pytest.raises(NotFound):
            call()
    assert not folder.exists()


@pytest.mark.parametrize(
    "turn",
    [
        "text",
        None,
        say("x", timestamp=NOW.replace(tzinfo=None)),
        say("x", timestamp="2026-02-05"),
        replace(say("x"), role=cast(Any, "owner")),
        replace(say("x"), content=cast(Any, 7)),
        replace(say("x"), content=None),
        say("x", input={"a": float("nan")}),
        say("x", mark=Mark.TITLE),
        say("x", covers=("msg_000001", "msg_000001")),
    ],
)
def test_what_is_no_turn_is_refused_whole(kept: Transcripts, turn: Any) -> None:
    """One bad turn in a batch, and nothing of the batch is written."""
    talk(kept, "s", "before")
    with pytest.raises(InvalidInput):
        kept.append("s", [say("fine"), turn], now=NOW)
    assert heard(kept, "s") == ["before"]
    with pytest.raises(InvalidInput):
        kept.mark("s", Mark.FORK, now=NOW)


def test_a_turn_has_a_size_that_it_may_not_exceed(kept: Transcripts) -> None:
    """A turn over the limit is refused, not cut."""
    with pytest.raises(TooLarge):
        kept.append("s", [say("x" * (engine_transcripts.TURN_LIMIT + 1))], now=NOW)


@pytest.mark.parametrize("size", [10, 20_000, 3_000_000])
def test_the_end_is_found_behind_lines_of_any_length(kept: Transcripts, size: int) -> None:
    """The next number and hash come from the last line, however long it is."""
    for number in range(3):
        kept.append("s", [say("word " * (size // 5))], now=NOW)
        assert kept.tail("s").seq == number + 1
    assert kept.verify("s") == ()


# --- many at once

APPENDER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from recollect.engine.transcripts import Transcripts
from recollect.formats.transcript import Role, Turn

folder, name, times = sys.argv[1:]
kept = Transcripts(Path(folder))
now = datetime(2026, 2, 5, 10, tzinfo=UTC)
sys.stdin.readline()
for number in range(int(times)):
    said = [Turn(role=Role.USER, content=f"{name} says {number}", timestamp=now)]
    kept.append("shared", said, now=now)
    if number % 10 == 0:
        kept.append(f"own-{name}-{number}", said, now=now)
"""
PROCESSES, TIMES = 4, 100


def test_processes_append_to_one_session_without_losing_anything(kept: Transcripts, folder: Path) -> None:
    """Four processes, a hundred turns each: all there, in each one's order, one chain, ids unique, all listed."""
    running = [
        subprocess.Popen([sys.executable, "-c", APPENDER, str(folder), str(n), str(TIMES)], stdin=subprocess.PIPE)
        for n in range(PROCESSES)
    ]
    for each in running:  # together, once all have started
        assert each.stdin is not None
        each.stdin.write(b"\n")
        each.stdin.close()
    assert [each.wait() for each in running] == [0] * PROCESSES
    turns = list(kept.read("shared"))
    for n in range(PROCESSES):
        own = [turn.content for turn in turns if turn.content and turn.content.startswith(f"{n} ")]
        assert own == [f"{n} says {number}" for number in range(TIMES)]
    assert len({turn.id for turn in turns}) == PROCESSES * TIMES
    assert kept.verify("shared") == ()
    listed = {entry["id"]: entry["turns"] for entry in json.loads((folder / "sessions.json").read_text())["sessions"]}
    assert listed == {
        "shared": PROCESSES * TIMES,
        **{f"own-{n}-{m}": 1 for n in range(PROCESSES) for m in range(0, TIMES, 10)},
    }
    assert kept.notes == ()


def test_threads_append_archive_erase_and_read_at_once(kept: Transcripts) -> None:
    """Whatever the others do to the file meanwhile, no turn is lost and the chain holds."""
    talk(kept, "s", "first")
    done = threading.Event()
    failures: list[BaseException] = []

    def until_done(work: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            try:
                while not done.is_set():
                    work()
            except BaseException as error:
                failures.append(error)
                raise

        return run

    others = [
        lambda: kept.archive(LATER),
        lambda: kept.erase("s", ["msg_000001"]),
        lambda: sum(1 for _ in kept.read("s")),
        lambda: kept.listed("s"),
        lambda: kept.sessions()[0],
    ]
    threads = [threading.Thread(target=until_done(work)) for work in others]
    for thread in threads:
        thread.start()
    try:
        for number in range(30):
            kept.append("s", [say(f"turn {number}")], now=NOW)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert heard(kept, "s") == [None, *(f"turn {number}" for number in range(30))]
    assert kept.verify("s") == ()
    assert kept.listed("s").turns == 31
    assert kept.notes == ()


def test_a_writer_does_not_wait_for_ever(folder: Path) -> None:
    """A lock that is not let go is reported after a while; afterwards everything goes on."""
    kept = Transcripts(folder, patience=0.05)
    talk(kept, "s", "one")
    with kept._held("s"), pytest.raises(StoreBusy):
        kept.append("s", [say("two")], now=NOW)
    talk(kept, "s", "three")
    assert heard(kept, "s") == ["one", "three"]


def test_an_index_that_is_kept_locked_delays_no_turn(kept: Transcripts, folder: Path) -> None:
    """The index is derived: whoever cannot write it goes on, and the next reader puts it right."""
    talk(kept, "s", "one")
    with kept._locked("index"):
        talk(kept, "s", "two")
    assert json.loads((folder / "sessions.json").read_text())["sessions"][0]["turns"] == 1
    assert kept.listed("s").turns == 2
    assert [entry.turns for entry in kept.sessions()] == [2]
    assert json.loads((folder / "sessions.json").read_text())["sessions"][0]["turns"] == 2


# --- the index


@pytest.mark.row("B2", "index")
def test_every_append_is_in_the_index(kept: Transcripts, folder: Path) -> None:
    """The index follows each append, and says of each session what its records say."""
    for number in range(1, 4):
        kept.append("b", [say(f"Turn {number}", host="gemini")], now=NOW)
        kept.append("a", [say(f"Other {number}", agent="main")], now=NOW)
        entries = json.loads((folder / "sessions.json").read_text())["sessions"]
        assert [(each["id"], each["turns"]) for each in entries] == [("b", number), ("a", number)]
    entry = kept.listed("b")
    assert (entry.title, entry.host, entry.agent) == ("Turn 1", "gemini", "")
    assert (entry.started, entry.updated, entry.archived, entry.finalised) == (NOW, NOW, False, 0)
    kept.mark("b", Mark.TITLE, "Named by mail to ann.smith@corp.io", now=NOW)
    kept.mark("b", Mark.FINALISED, now=NOW)
    talk(kept, "b", "one more")
    entry = kept.listed("b")
    assert (entry.title, entry.finalised, entry.turns) == ("Named by mail to [redacted:email]", 3, 4)


@pytest.mark.row("B2", "index")
@pytest.mark.parametrize(
    "damage",
    [
        lambda index: index.unlink(),
        lambda index: index.write_bytes(b""),
        lambda index: index.write_bytes(b"\x00" * 400),
        lambda index: index.write_text("[]"),
        lambda index: index.write_text('{"version": 1, "sessions": [\n{"id": 7}\n]}\n'),
        lambda index: index.write_bytes(index.read_bytes()[:-40]),
        lambda index: index.write_text(index.read_text().replace('"turns": ', '"turns": "x')),
        lambda index: index.write_text(index.read_text().replace('"id": "s"', '"id": "gone"')),
    ],
    ids=["missing", "empty", "zeros", "list", "wrong", "cut", "types", "renamed"],
)
@pytest.mark.parametrize("appending", [False, True])
def test_the_index_is_made_anew_from_the_files(
    kept: Transcripts, folder: Path, damage: Callable[[Path], object], appending: bool
) -> None:
    """However the index is lost, what it said is there again when it is asked, and on disk."""
    talk(kept, "s", "one", "two")
    talk(kept, "old", "three")
    kept.fork("s", "child", at=1, now=NOW)
    kept.mark("s", Mark.TITLE, "Title", now=NOW)
    kept.mark("s", Mark.FINALISED, now=NOW)
    assert kept.archive(NOW + timedelta(milliseconds=1)) == ["old", "child"]
    before = {entry.id: entry for entry in kept.sessions()}
    damage(folder / "sessions.json")
    if appending:
        talk(kept, "new", "four")
        before["new"] = Transcripts(folder).listed("new")
    assert {entry.id: entry for entry in Transcripts(folder).sessions()} == before
    written = json.loads((folder / "sessions.json").read_text())["sessions"]
    assert {each["id"]: each["turns"] for each in written} == {id: entry.turns for id, entry in before.items()}


def test_a_session_whose_file_is_gone_is_not_listed(kept: Transcripts, folder: Path) -> None:
    """The files say what there is."""
    talk(kept, "s", "one")
    talk(kept, "t", "one")
    (folder / "s.jsonl").unlink()
    assert [entry.id for entry in kept.sessions()] == ["t"]
    assert b'"id": "s"' not in (folder / "sessions.json").read_bytes()


def test_the_index_follows_a_file_that_was_put_in_the_place_of_another(kept: Transcripts, folder: Path) -> None:
    """Whatever an editor or a backup makes of a transcript, the index says what is there now."""
    kept.append("s", [say("One thing", host="codex")], now=NOW)
    talk(kept, "s", "two", "three")
    talk(kept, "t", "Another thing")
    assert kept.listed("s").turns == 3
    (folder / "s.jsonl").write_bytes((folder / "t.jsonl").read_bytes())
    for entry in (kept.listed("s"), next(each for each in kept.sessions() if each.id == "s")):
        assert (entry.turns, entry.title, entry.host) == (1, "Another thing", "")


def test_a_line_of_somebody_else_without_a_newline_is_counted_once(kept: Transcripts, folder: Path) -> None:
    """However often the index is asked for: as soon as a turn follows it."""
    talk(kept, "s", "one")
    with (folder / "s.jsonl").open("a") as file:
        file.write('{"id":"msg_002","role":"user","content":"two","timestamp":"2026-02-05T10:00:00Z"}')
    for _ in range(3):
        assert [entry.turns for entry in kept.sessions()] == [1]
    talk(kept, "s", "three")
    assert [turn.seq for turn in kept.read("s")] == [1, 2, 3]
    assert kept.listed("s").turns == kept.sessions()[0].turns == 3


def test_a_long_index_is_not_written_with_every_append(
    kept: Transcripts, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond its room the index follows when it is asked for; new sessions are put in at once."""
    monkeypatch.setattr(engine_transcripts, "INDEX_ROOM", 100)
    talk(kept, "s", "one", "two", "three")
    talk(kept, "t", "one")
    written = json.loads((folder / "sessions.json").read_text())["sessions"]
    assert [(each["id"], each["turns"]) for each in written] == [("s", 1), ("t", 1)]
    assert [(entry.id, entry.turns) for entry in kept.sessions()] == [("s", 3), ("t", 1)]
    written = json.loads((folder / "sessions.json").read_text())["sessions"]
    assert [(each["id"], each["turns"]) for each in written] == [("s", 3), ("t", 1)]


def test_the_last_used_session_comes_first(kept: Transcripts) -> None:
    """Sessions are listed as people look for them."""
    for day, session in enumerate(["b", "c", "a"]):
        kept.append(session, [say("x", timestamp=NOW + timedelta(days=day))], now=NOW)
    assert [entry.id for entry in kept.sessions()] == ["a", "c", "b"]


# --- forking


@pytest.mark.row("P17", "lineage")
def test_a_fork_shares_its_past_and_goes_its_own_way(kept: Transcripts, folder: Path) -> None:
    """Parent and child have the same turns up to the fork, by reference, and different ones after it."""
    talk(kept, "a", "a1", "a2", "a3", "a4")
    forked = kept.fork("a", "b", at=2, now=NOW)
    assert (forked.parent, forked.fork_at, forked.turns) == ("a", 2, 2)
    assert heard(kept, "b") == ["a1", "a2"]
    own = talk(kept, "b", "b3", "b4")
    talk(kept, "a", "a5")
    assert [turn.id for turn in own] == ["msg_000003", "msg_000004"]
    assert heard(kept, "b") == ["a1", "a2", "b3", "b4"]
    assert heard(kept, "a") == ["a1", "a2", "a3", "a4", "a5"]
    assert heard(kept, "b", 1) == ["a2", "b3", "b4"]
    assert heard(kept, "b", 3) == ["b4"]
    assert b'"content":"a1"' not in (folder / "b.jsonl").read_bytes()
    assert kept.verify("a") == kept.verify("b") == ()
    assert kept.listed("b").turns == 4


def test_forks_of_forks_are_read_through_to_the_first(kept: Transcripts) -> None:
    """Three deep, forked at, before and after the points where the parents were forked."""
    talk(kept, "a", "a1", "a2", "a3")
    kept.fork("a", "b", at=2, now=NOW)
    talk(kept, "b", "b3", "b4")
    kept.fork("b", "c", at=3, now=NOW)
    talk(kept, "c", "c4")
    kept.fork("c", "d", now=NOW)
    talk(kept, "d", "d5")
    kept.fork("d", "early", at=1, now=NOW)
    kept.fork("d", "at", at=2, now=NOW)
    kept.fork("d", "empty", at=0, now=NOW)
    expected = {
        "c": ["a1", "a2", "b3", "c4"],
        "d": ["a1", "a2", "b3", "c4", "d5"],
        "early": ["a1"],
        "at": ["a1", "a2"],
        "empty": [],
    }
    for session, turns in expected.items():
        assert heard(kept, session) == turns
        assert kept.tail(session).seq == len(turns)
        talk(kept, session, "more")
        assert heard(kept, session) == [*turns, "more"]
        assert [turn.seq for turn in kept.read(session)] == list(range(1, len(turns) + 2))
        assert kept.verify(session) == ()
    assert kept.notes == ()


def test_a_change_in_the_shared_past_is_noticed_in_every_child(kept: Transcripts, folder: Path) -> None:
    """The chain of a child goes on from its parent's."""
    talk(kept, "a", "the first", "the second", "the third")
    kept.fork("a", "b", at=2, now=NOW)
    kept.fork("b", "c", now=NOW)
    path = folder / "a.jsonl"
    before = path.read_text()
    path.write_text(before.replace("the second", "another"))
    assert kept.verify("c") == ("session 'a': line 2 (msg_000002) does not say what it said when it was written",)
    path.write_text(before.replace("the third", "another"))
    assert kept.verify("c") == ()
    first, _, third = before.splitlines(keepends=True)
    path.write_text(first + third)
    assert kept.verify("c") != ()
    path.unlink()
    assert "session 'b': its parent 'a' is not there" in kept.verify("c")
    assert heard(kept, "c") == []
    assert kept.notes


@pytest.mark.parametrize("at", [-1, 3, 10**9])
def test_no_session_is_forked_where_it_has_no_turn(kept: Transcripts, at: int) -> None:
    """A fork is at one of the turns, or before the first."""
    talk(kept, "a", "a1", "a2")
    with pytest.raises(InvalidInput):
        kept.fork("a", "b", at=at, now=NOW)
    assert [entry.id for entry in kept.sessions()] == ["a"]


def test_a_fork_does_not_take_the_place_of_a_session(kept: Transcripts) -> None:
    """An id that is taken, here or in the archive, is refused and left as it is."""
    talk(kept, "a", "a1")
    talk(kept, "b", "b1")
    for _ in range(2):
        with pytest.raises(InvalidInput):
            kept.fork("a", "b", now=NOW)
        with pytest.raises(InvalidInput):
            kept.fork("a", "a", now=NOW)
        assert (heard(kept, "a"), heard(kept, "b")) == (["a1"], ["b1"])
        kept.archive(LATER)


def test_sessions_that_are_their_own_parents_end(kept: Transcripts, folder: Path) -> None:
    """Files that somebody has put in a circle are read once and reported."""
    talk(kept, "a", "a1")
    kept.fork("a", "b", now=NOW)
    kept.fork("b", "c", now=NOW)
    (folder / "a.jsonl").write_bytes((folder / "c.jsonl").read_bytes())
    assert heard(kept, "c") == []
    assert kept.verify("c") != ()
    assert any("among its own parents" in note for note in kept.notes)


# --- the archive


@pytest.mark.row("B2", "archive")
def test_sessions_that_were_not_used_for_long_go_to_the_archive_and_back(kept: Transcripts, folder: Path) -> None:
    """Archived sessions are compressed, listed and read as before; an append brings one back."""
    talk(kept, "old", "one", "two")
    kept.append("new", [say("three", timestamp=LATER)], now=LATER)
    plain = (folder / "old.jsonl").read_bytes()
    turns = list(kept.read("old"))
    assert kept.archive(LATER) == ["old"]
    assert kept.archive(LATER) == []
    assert sorted(path.name for path in folder.rglob("*.jsonl*")) == ["new.jsonl", "old.jsonl.gz"]
    assert gzip.decompress((folder / "archive" / "old.jsonl.gz").read_bytes()) == plain
    assert list(kept.read("old")) == turns
    assert heard(kept, "old", 1) == ["two"]
    assert kept.tail("old").seq == 2
    assert kept.verify("old") == ()
    assert (kept.listed("old").archived, kept.listed("old").turns) == (True, 2)
    kept.append("old", [say("three", timestamp=LATER)], now=LATER)
    assert heard(kept, "old") == ["one", "two", "three"]
    assert (folder / "old.jsonl").read_bytes().startswith(plain)
    assert list((folder / "archive").iterdir()) == []
    assert kept.verify("old") == ()
    assert (kept.listed("old").archived, kept.listed("old").turns) == (False, 3)


def test_children_do_not_notice_that_their_parent_is_archived(kept: Transcripts) -> None:
    """A fork of an archived session, made before or after, is read, appended to and verified as ever."""
    talk(kept, "a", "a1", "a2")
    kept.fork("a", "b", at=1, now=NOW)
    kept.fork("b", "c", now=NOW)
    talk(kept, "c", "c2")
    assert sorted(kept.archive(LATER)) == ["a", "b", "c"]
    kept.fork("c", "d", now=NOW)
    talk(kept, "d", "d3")
    assert heard(kept, "d") == ["a1", "c2", "d3"]
    assert [kept.verify(session) for session in "abcd"] == [()] * 4
    assert [entry.archived for entry in sorted(kept.sessions(), key=lambda entry: entry.id)] == [True] * 3 + [False]


@pytest.mark.row("B2", "archive")
@pytest.mark.parametrize("appended", [False, True])
def test_a_crash_while_archiving_leaves_one_whole_session(kept: Transcripts, folder: Path, appended: bool) -> None:
    """With the archive written and the file still there, the file counts, and the next archiving settles it."""
    talk(kept, "s", "one", "two")
    plain = (folder / "s.jsonl").read_bytes()
    kept.archive(LATER)
    (folder / "s.jsonl").write_bytes(plain)
    (folder / ".s.jsonl.99.tmp").write_bytes(plain[:40])
    (folder / "archive" / ".s.jsonl.gz.99.tmp").write_bytes(b"\x1f\x8b")
    if appended:
        talk(kept, "s", "three")
    expected = ["one", "two", "three"][: 2 + appended]
    assert heard(kept, "s") == expected
    assert not kept.listed("s").archived
    assert kept.archive(LATER) == ["s"]
    assert heard(kept, "s") == expected
    assert kept.verify("s") == ()
    assert sorted(path.name for path in folder.rglob("*.gz*")) == ["s.jsonl.gz"]


def test_an_empty_file_beside_an_archive_is_nothing(kept: Transcripts, folder: Path) -> None:
    """A writer that was killed as it brought a session back has taken nothing away."""
    talk(kept, "s", "one")
    kept.archive(LATER)
    (folder / "s.jsonl").touch()
    assert heard(kept, "s") == ["one"]
    assert kept.listed("s").archived
    talk(kept, "s", "two")
    assert heard(kept, "s") == ["one", "two"]


@pytest.mark.parametrize("damage", [lambda data: data[:-12], lambda data: b"\x00" * 50, lambda data: data[:10]])
def test_a_damaged_archive_is_reported_and_left_as_it_is(
    kept: Transcripts, folder: Path, damage: Callable[[bytes], bytes]
) -> None:
    """What cannot be unpacked is neither read as if it were whole nor written over."""
    talk(kept, "s", "one", "two")
    kept.archive(LATER)
    packed = folder / "archive" / "s.jsonl.gz"
    packed.write_bytes(damage(packed.read_bytes()))
    left = packed.read_bytes()
    with pytest.raises(StoreDamaged):
        heard(kept, "s")
    with pytest.raises(StoreDamaged):
        talk(kept, "s", "three")
    assert packed.read_bytes() == left
    talk(kept, "other", "fine")
    assert sorted(entry.id for entry in kept.sessions()) == ["other", "s"]
    (folder / "sessions.json").unlink()
    assert [entry.id for entry in kept.sessions()] == ["other"]
    assert any("cannot be unpacked" in note for note in kept.notes)


def test_an_archive_that_does_not_read_back_does_not_replace_the_file(
    kept: Transcripts, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file goes only when what is in the archive has been read and compared."""
    talk(kept, "s", "one", "two")
    pack = gzip.compress
    with monkeypatch.context() as lossy:
        lossy.setattr(gzip, "compress", lambda data, mtime: pack(data[:-1], mtime=mtime))
        with pytest.raises(StoreError):
            kept.archive(LATER)
    assert heard(kept, "s") == ["one", "two"]
    assert sorted(path.name for path in folder.rglob("*.jsonl*")) == ["s.jsonl"]
    assert kept.archive(LATER) == ["s"]


# --- erasing


def test_what_is_erased_is_nowhere_and_the_chain_still_holds(kept: Transcripts, folder: Path) -> None:
    """Content, input, title and what a crash left are gone from every file; everything else is as it was."""
    kept.append("s", [say("zanzibar is first", host="codex")], now=NOW)
    calling = say("", Role.TOOL_CALL, name="grep", input={"for": ["zanzibar"]})
    kept.append("s", [calling, say("zanzibar found", Role.TOOL_RESULT), say("two", Role.ASSISTANT)], now=NOW)
    with (folder / "s.jsonl").open("ab") as file:
        file.write(b'{"id":"msg_000005","role":"user","content":"zanzibar unfini')
    assert kept.repair("s", now=NOW)
    for leftover in (".s.jsonl.99.tmp", ".sessions.json.99.tmp"):
        (folder / leftover).write_bytes(b"zanzibar")
    before = list(kept.read("s"))
    assert b"zanzibar" in everything(folder)
    assert kept.erase("s", ["msg_000001", "tool_000002"]) == 3
    after = list(kept.read("s"))
    assert b"zanzibar" not in everything(folder)
    assert [(turn.content, turn.input) for turn in after] == [(None, None)] * 3 + [("two", None)]
    assert [(turn.id, turn.hash, turn.timestamp, turn.name) for turn in after] == [
        (turn.id, turn.hash, turn.timestamp, turn.name) for turn in before
    ]
    assert kept.verify("s") == ()
    assert (kept.listed("s").turns, kept.listed("s").host, kept.listed("s").title) == (4, "codex", "")
    talk(kept, "s", "after")
    assert kept.verify("s") == ()
    assert kept.erase("s", ["msg_000001"]) == 0


def test_whoever_read_before_it_was_erased_does_not_put_it_back(kept: Transcripts, folder: Path) -> None:
    """An entry that was made of a file which has been replaced since is not written to the index."""
    talk(kept, "s", "zanzibar")
    before = kept.listed("s")
    kept.erase("s", ["msg_000001"])
    kept._rewrite_index({"s": before})
    assert b"zanzibar" not in everything(folder)


def test_only_what_was_named_is_erased_or_nothing(kept: Transcripts) -> None:
    """An id that is not there stops it before anything is changed."""
    talk(kept, "s", "one", "two", "three")
    with pytest.raises(NotFound, match="msg_000009"):
        kept.erase("s", ["msg_000001", "msg_000009"])
    assert heard(kept, "s") == ["one", "two", "three"]
    assert kept.erase("s", ["msg_000002"]) == 1
    assert heard(kept, "s") == ["one", None, "three"]


def test_the_shared_past_is_erased_where_it_is(kept: Transcripts) -> None:
    """A child's turn of the past is erased in the parent; one of the same id after the fork is the other's own."""
    talk(kept, "a", "a1", "a2", "a3")
    kept.fork("a", "b", at=2, now=NOW)
    talk(kept, "b", "b3")
    kept.fork("b", "c", now=NOW)
    kept.archive(LATER)
    assert kept.erase("c", ["msg_000001", "msg_000003"]) == 2
    assert heard(kept, "a") == [None, "a2", "a3"]
    assert heard(kept, "b") == heard(kept, "c") == [None, "a2", None]
    assert [kept.verify(session) for session in "abc"] == [()] * 3


def test_a_title_can_be_erased(kept: Transcripts, folder: Path) -> None:
    """The mark that gave the title has an id like any turn."""
    talk(kept, "s", "one")
    mark = kept.mark("s", Mark.TITLE, "zanzibar", now=NOW)
    assert kept.listed("s").title == "zanzibar"
    assert kept.erase("s", [mark.id]) == 1
    assert kept.listed("s").title == "one"
    assert b"zanzibar" not in everything(folder)


def test_erasing_in_the_archive_leaves_no_copy(kept: Transcripts, folder: Path) -> None:
    """Also when a crash has left an archive beside the file."""
    talk(kept, "s", "zanzibar", "two")
    kept.archive(LATER)
    packed = (folder / "archive" / "s.jsonl.gz").read_bytes()
    talk(kept, "s", "three")
    (folder / "archive" / "s.jsonl.gz").write_bytes(packed)
    assert b"zanzibar" in everything(folder)
    kept.erase("s", ["msg_000001"])
    assert b"zanzibar" not in everything(folder)
    assert heard(kept, "s") == [None, "two", "three"]


# --- what others write


def test_lines_that_others_wrote_are_read_and_chained_after(kept: Transcripts, folder: Path) -> None:
    """A transcript of the documented shape alone can be gone on with; the chain says which lines it does not cover."""
    folder.mkdir(parents=True)
    lines = [f'{{"id":"msg_00{n}","role":"user","content":"{n}","timestamp":"2026-02-05T10:00:0{n}Z"}}' for n in (1, 2)]
    (folder / "s.jsonl").write_text("\n".join(lines) + "\n")
    assert [(turn.seq, turn.content) for turn in kept.read("s")] == [(1, "1"), (2, "2")]
    assert [turn.id for turn in talk(kept, "s", "3")] == ["msg_000003"]
    with (folder / "s.jsonl").open("a") as file:
        file.write(lines[0].replace("msg_001", "msg_004") + "\n")
    assert [turn.seq for turn in talk(kept, "s", "5")] == [5]
    assert heard(kept, "s") == ["1", "2", "3", "1", "5"]
    assert kept.listed("s").turns == 5
    assert [fault.split(" has")[0] for fault in kept.verify("s")] == [
        *("line 1 (msg_001)", "line 2 (msg_002)", "line 4 (msg_004)"),
    ]


def test_a_line_that_is_no_turn_is_reported_and_stays(kept: Transcripts, folder: Path) -> None:
    """Damage in the middle costs the line it is on; the file keeps it, also when another turn is erased."""
    talk(kept, "s", "one", "two", "three")
    first, _, third = (folder / "s.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "s.jsonl").write_bytes(first + b"\xff\x00 nonsense\n" + third)
    assert heard(kept, "s") == ["one", "three"]
    assert kept.notes == ("session 's': line 2 is not a turn; it was left where it is",)
    assert len(kept.verify("s")) == 1
    assert [turn.seq for turn in talk(kept, "s", "four")] == [4]
    kept.erase("s", ["msg_000001"])
    assert b"\xff\x00 nonsense\n" in (folder / "s.jsonl").read_bytes()
    assert heard(kept, "s") == [None, "three", "four"]
    assert len(kept.verify("s")) == 1
    assert kept.listed("s").turns == 4


def test_a_line_that_only_a_later_version_understands_is_not_set_aside(kept: Transcripts, folder: Path) -> None:
    """Whatever is whole JSON was not torn."""
    talk(kept, "s", "one")
    with (folder / "s.jsonl").open("a") as file:
        file.write('{"id":"msg_000002","role":"oracle","content":"?","timestamp":"2026-02-05T10:00:00Z","seq":2}\n')
    talk(kept, "s", "three")
    assert b"oracle" in (folder / "s.jsonl").read_bytes()
    assert not (folder / "s.torn").exists()
    assert heard(kept, "s") == ["one", "three"]


# --- names

HOSTILE = [
    *("../../escape", "/etc/passwd", "..", ".", ".hidden", "a/b", "a\\b", "sessions", "archive", "a.b", "a b", "-rf"),
    *(
        "Abc",
        "abc",
        "ABC",
        "%41bc",
        "\u00e9",
        "e\u0301",
        "日本",
        "😀",
        "con",
        "x\ny",
        "\x1b[31m",
        "*",
        "a.jsonl",
        "s.torn",
    ),
    *("~root", "$HOME", "`id`", "x" * 200, "A" * 60, "toolu_01AbC", "4b5c7a2e-1d2f-4c3b-9a8e-7f6d5c4b3a21"),
]


def test_session_ids_stay_in_the_folder_and_apart(kept: Transcripts, folder: Path, tmp_path: Path) -> None:
    """Whatever a host calls a session: its files lie in the folder, and no two clash where capitals do not count."""
    for session in HOSTILE:
        talk(kept, session, f"said in {session}")
    files = [path.name for path in folder.iterdir() if path.is_file()]
    assert len({name.lower() for name in files}) == len(files) == len(HOSTILE) + 1
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-%.") for name in files)
    for _ in range(2):
        assert sorted(entry.id for entry in Transcripts(folder).sessions()) == sorted(HOSTILE)
        for session in HOSTILE:
            assert heard(kept, session) == [f"said in {session}"]
            assert kept.verify(session) == ()
        (folder / "sessions.json").unlink()
        kept.archive(LATER)
    for session in HOSTILE:
        kept.fork(session, f"{session[:50]}/2", now=NOW)
        assert heard(kept, f"{session[:50]}/2") == [f"said in {session}"]
    assert [path.name for path in tmp_path.rglob("*") if path.is_dir()] == ["project", "sessions", ".locks", "archive"]


@pytest.mark.parametrize("session", ["", "  ", "a\x00b", "\ud800", "x" * 201, "A" * 70, "日" * 30, None, 7, b"s"])
def test_what_cannot_be_a_name_is_refused(kept: Transcripts, folder: Path, session: Any) -> None:
    """An id that is no text, or too long to be a name, is refused before anything is written."""
    with pytest.raises(InvalidInput):
        kept.append(session, [say("x")], now=NOW)
    assert not list(folder.rglob("*.jsonl"))


@given(st.text(min_size=1, max_size=60))
def test_a_file_name_can_be_read_back(session: str) -> None:
    """Every id that has a name is told by it, in any case."""
    try:
        name = engine_transcripts._file_name(session)
    except InvalidInput:
        return
    assert engine_transcripts._session_id(name) == session
    assert name == name.lower()
    assert "/" not in name
    assert "." not in name


@pytest.mark.parametrize("name", ["Abc", "%4", "%zz", "%C3%A9", "%61", "a.b", "%ff", "", "..", "x" * 201])
def test_a_file_that_was_not_named_here_is_no_session(kept: Transcripts, folder: Path, name: str) -> None:
    """Files that other programs put into the folder are left alone."""
    talk(kept, "s", "one")
    (folder / f"{name}.jsonl").write_bytes((folder / "s.jsonl").read_bytes())
    assert [entry.id for entry in kept.sessions()] == ["s"]


def test_a_link_is_not_followed(kept: Transcripts, folder: Path, tmp_path: Path) -> None:
    """A link in the place of a transcript leads nowhere: what it points to is neither read nor written."""
    talk(kept, "s", "one")
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes((folder / "s.jsonl").read_bytes())
    before = outside.read_bytes()
    (folder / "t.jsonl").symlink_to(outside)
    with pytest.raises(StoreError):
        talk(kept, "t", "two")
    with pytest.raises(StoreError):
        heard(kept, "t")
    assert outside.read_bytes() == before
    assert [entry.id for entry in kept.sessions()] == ["s"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_can_read_what_is_written(kept: Transcripts, folder: Path, umask: int) -> None:
    """Files are 0600 and folders 0700, whatever the umask."""
    before = os.umask(umask)
    try:
        talk(kept, "s", "one", "two")
        with (folder / "s.jsonl").open("ab") as file:
            file.write(b"{torn")
        kept.repair("s", now=NOW)
        kept.fork("s", "t", now=NOW)
        kept.erase("s", ["msg_000001"])
        with (folder / "t.jsonl").open("ab") as file:
            file.write(b"{torn")
        kept.repair("t", now=NOW)
        kept.archive(NOW + timedelta(milliseconds=1))
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    folders = {path.name for path in (folder, *folder.rglob("*")) if path.is_dir()}
    assert folders == {"sessions", "archive", ".locks"}
    assert {name: mode for name, mode in modes.items() if mode != (0o700 if name in folders else 0o600)} == {}
    assert {"t.torn", "t.jsonl.gz", "s.jsonl", "sessions.json", "archive"} <= modes.keys()


# --- secrets


def test_no_secret_reaches_the_disk(kept: Transcripts, folder: Path) -> None:
    """Content, input, names, titles and the index are redacted before they are written or hashed."""
    secret, mail = "hunter2-Sup3r", "ann.smith@corp.io"
    said = [
        say(f"my password is {secret}, mail me at {mail}"),
        say("", Role.TOOL_CALL, name=mail, input={"args": ["--password", secret], "password": secret}),
        say(f"DB_PASSWORD={secret}", Role.TOOL_RESULT, agent=mail, host=mail, ref=mail),
    ]
    written = kept.append("s", said, now=NOW)
    kept.mark("s", Mark.TITLE, f"password is {secret}", now=NOW)
    with (folder / "s.jsonl").open("a") as file:
        file.write(f'{{"id":"msg_000004","role":"user","content":"my password is {secret} and {mail}')
    kept.repair("s", now=NOW)
    kept.fork("s", "t", now=NOW)
    kept.archive(LATER)
    found = everything(folder)
    assert secret.encode() not in found
    assert mail.encode() not in found
    assert b"[redacted:password]" in found
    assert written == list(kept.read("s"))


# --- disks


def test_what_is_acknowledged_has_been_waited_for(
    kept: Transcripts, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An append waits once for the file, after its last byte; the first of a session for the folder as well."""
    synced: list[tuple[str, int]] = []
    wait = os.fsync

    def noticed(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        synced.append((path.name, path.stat().st_size if path.is_file() else 0))
        wait(descriptor)

    monkeypatch.setattr(os, "fsync", noticed)
    talk(kept, "s", "one")
    assert synced[-2:] == [("s.jsonl", (folder / "s.jsonl").stat().st_size), ("sessions", 0)]
    assert {name for name, _ in synced[:-2]} == {"project", folder.parent.parent.name}
    synced.clear()
    kept.append("s", [say("two"), say("three")], now=NOW)
    assert synced == [("s.jsonl", (folder / "s.jsonl").stat().st_size)]


class FullDisk:
    """A disk that takes some bytes and then no more."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._write = os.write

    def write(self, descriptor: int, data: memoryview) -> int:
        if self._room <= 0:
            raise OSError(28, "No space left on device")
        taken = self._write(descriptor, data[: self._room])
        self._room -= taken
        return taken


@pytest.mark.parametrize("room", [0, 1, 100])
def test_a_full_disk_leaves_the_session_as_it_was(
    kept: Transcripts, folder: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """A turn for which there is no room is refused, nothing of it stays, and later turns are taken again."""
    talk(kept, "s", "one")
    before = (folder / "s.jsonl").read_bytes()
    with monkeypatch.context() as full:
        full.setattr(os, "write", FullDisk(room).write)
        with pytest.raises(StoreFull):
            talk(kept, "s", "two")
    assert (folder / "s.jsonl").read_bytes() == before
    talk(kept, "s", "three")
    assert heard(kept, "s") == ["one", "three"]
    assert kept.verify("s") == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_can_be_read(kept: Transcripts, folder: Path) -> None:
    """Reading needs no lock and no index; writing is refused in the product's words."""
    talk(kept, "s", "one")
    (folder / "sessions.json").unlink()
    folder.chmod(0o500)
    (folder / "s.jsonl").chmod(0o400)
    try:
        assert heard(kept, "s") == ["one"]
        assert [entry.id for entry in kept.sessions()] == ["s"]
        with pytest.raises(StoreReadOnly):
            talk(kept, "s", "two")
        with pytest.raises(RecollectError):
            talk(kept, "t", "two")
    finally:
        folder.chmod(0o700)


def test_a_listed_session_is_a_plain_value(kept: Transcripts) -> None:
    """What the index says can be compared and kept."""
    talk(kept, "s", "one")
    assert kept.listed("s") == Listed(id="s", started=NOW, updated=NOW, turns=1, title="one", bytes=kept.tail("s").end)
