"""Transcripts after a crash: what was acknowledged is there, and what was not finished is set aside and reported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from recollect.engine.transcripts import Transcripts
from recollect.formats.transcript import Role, Turn

NOW = datetime(2026, 2, 5, 10, tzinfo=UTC)
SECRET = "hunter2-Sup3r"


def say(content: str) -> Turn:
    return Turn(role=Role.USER, content=content, timestamp=NOW)


def said(kept: Transcripts) -> list[str | None]:
    return [turn.content for turn in kept.read("s")]


def set_aside(folder: Path) -> list[str]:
    """What was set aside, in order; every entry has its time and size."""
    path = folder / "s.torn"
    entries = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    assert all(each["timestamp"] == "2026-02-05T10:00:00.000000Z" and each["bytes"] for each in entries)
    return [each["text"] for each in entries]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A session of three turns; the last has characters of several bytes. In memory where that can be: the files are
    cut by hand here, hundreds of times, and no disk need be waited for."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as name:
        kept = Transcripts(Path(name))
        kept.append("s", [say("one"), say("two")], now=NOW)
        kept.append("s", [say("drei: äöü 日本 😀")], now=NOW)
        yield Path(name)


def test_a_record_torn_at_any_byte_costs_only_itself(folder: Path) -> None:
    """Wherever the last record is cut, it is set aside, everything before it stays, and the chain goes on."""
    path = folder / "s.jsonl"
    whole = path.read_bytes()
    begin = whole.rindex(b"\n", 0, -1) + 1
    for end in range(begin, len(whole) + 1):
        path.write_bytes(whole[:end])
        kept = Transcripts(folder)
        fresh = kept.append("s", [say("next")], now=NOW)
        survives = end >= len(whole) - 1  # without its newline, a record is still all there
        torn = b"" if survives else whole[begin:end]
        assert said(kept) == ["one", "two", *(["drei: äöü 日本 😀"] if survives else []), "next"]
        assert [turn.seq for turn in fresh] == [len(said(kept))]
        assert kept.verify("s") == ()
        assert set_aside(folder) == ([torn.decode("utf-8", "backslashreplace")] if torn else [])
        reported = (f"session 's': an unfinished record of {len(torn):,} bytes was set aside",) if torn else ()
        assert kept.notes == reported
        assert kept.listed("s").turns == len(said(kept))
        (folder / "s.torn").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "left",
    [
        *(
            b"{",
            b"\x00" * 5_000,
            b"\x00\n\x00\n",
            b"not json\n",
            b'{"id":"msg_000004"\n',
            b"\n",
            b"\xff\xfe",
            b"null\n",
        ),
        b'{"id":"msg_000004","role":"user","content":"x"\n{"id":"msg_000005","role":"u',
        b"x" * 100_000,
    ],
)
@pytest.mark.parametrize("repaired", [False, True])
def test_whatever_a_crash_leaves_at_the_end_is_set_aside_once(folder: Path, left: bytes, repaired: bool) -> None:
    """Half lines, zeros and lines that are no JSON go, by repair or by the next append, and the file is as before."""
    path = folder / "s.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + left)
    kept = Transcripts(folder)
    assert len(said(kept)) == 3
    if repaired:
        assert kept.repair("s", now=NOW)
        assert path.read_bytes() == whole
        assert not kept.repair("s", now=NOW)
    kept.append("s", [say("next")], now=NOW)
    assert path.read_bytes().startswith(whole)
    assert len(said(kept)) == 4
    assert kept.verify("s") == ()
    assert [text.encode() for text in set_aside(folder)] == [left.decode("utf-8", "backslashreplace").encode()]
    assert f"session 's': an unfinished record of {len(left):,} bytes was set aside" in kept.notes


def test_a_whole_record_that_only_lacks_its_newline_gets_it(folder: Path) -> None:
    """Editors take newlines away; that is no reason to set a turn aside."""
    path = folder / "s.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    kept = Transcripts(folder)
    assert len(said(kept)) == 3
    assert not kept.repair("s", now=NOW)
    assert path.read_bytes() == whole
    assert kept.notes == ()


def test_a_session_that_never_got_beyond_its_first_record_begins_anew(tmp_path: Path) -> None:
    """With nothing whole in it, everything is set aside and the session starts at one."""
    (tmp_path / "s.jsonl").write_bytes(b'{"id":"msg_000001","role":"us')
    kept = Transcripts(tmp_path)
    assert kept.sessions() == []
    assert [turn.id for turn in kept.append("s", [say("one")], now=NOW)] == ["msg_000001"]
    assert kept.verify("s") == ()
    assert set_aside(tmp_path) == ['{"id":"msg_000001","role":"us']


def test_what_was_torn_twice_is_all_there(folder: Path) -> None:
    """What is set aside is added to what was set aside before."""
    kept = Transcripts(folder)
    for text in ("{first", "{second"):
        with (folder / "s.jsonl").open("a") as file:
            file.write(text)
        kept.repair("s", now=NOW)
    assert set_aside(folder) == ["{first", "{second"]


def test_what_is_set_aside_holds_no_secret(folder: Path) -> None:
    """Not even one that another program has left at the end of the file."""
    with (folder / "s.jsonl").open("a") as file:
        file.write(f'{{"id":"msg_000004","role":"user","content":"the password is {SECRET} ')
    Transcripts(folder).repair("s", now=NOW)
    assert all(SECRET.encode() not in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert "[redacted:password]" in set_aside(folder)[0]


NURSERY = """
import os, random, signal, sys, time
from datetime import UTC, datetime
from pathlib import Path
from recollect.engine.transcripts import Transcripts
from recollect.formats.transcript import Role, Turn

folder, ledger, kills = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
now = datetime(2026, 2, 5, 10, tzinfo=UTC)
chance = random.Random(7)


def write_for_ever(child):
    book = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    kept = Transcripts(folder)
    for number in range(1_000_000):
        # Some take more than one page, which is as much as is written in one step.
        content = f"{child} says {number} " + "word " * (20_000 if number % 7 == 3 else number % 50)
        written = kept.append("s", [Turn(role=Role.USER, content=content, timestamp=now)], now=now)
        os.write(book, f"{child} {number} {written[0].id}\\n".encode())
        if number % 5 == 2:
            kept.archive(datetime(2027, 1, 1, tzinfo=UTC))


for child in range(kills):
    pid = os.fork()
    if not pid:
        try:
            write_for_ever(child)
        finally:
            os._exit(1)
    time.sleep(chance.uniform(0.01, 0.15))
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), "a writer failed before it was killed"
"""
KILLS = 30


def test_no_kill_loses_a_turn_that_was_acknowledged(tmp_path: Path) -> None:
    """A writer that is killed again and again, as it appends and archives: every acknowledged turn is there."""
    folder, ledger = tmp_path / "sessions", tmp_path / "ledger"
    subprocess.run([sys.executable, "-c", NURSERY, str(folder), str(ledger), str(KILLS)], check=True)
    kept = Transcripts(folder)
    kept.append("s", [say("after all of it")], now=NOW)
    there = {turn.id: " ".join((turn.content or "").split(" ")[:3]) for turn in kept.read("s")}
    acknowledged = [line.split(" ") for line in ledger.read_text().splitlines()]
    assert [each for each in acknowledged if there.get(each[2]) != f"{each[0]} says {each[1]}"] == []
    assert len(acknowledged) > KILLS
    assert len({child for child, _, _ in acknowledged}) > KILLS // 2
    assert kept.verify("s") == ()
    assert kept.listed("s").turns == len(there)
    kept.archive(datetime(2027, 1, 1, tzinfo=UTC))
    assert sorted(path.name for path in folder.rglob("*s.jsonl*")) == ["s.jsonl.gz"]
