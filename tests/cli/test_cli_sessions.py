"""Commands on sessions and gaps: each does what the library does, for people and for programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import Cli, standing_in_a_project

import recollect

RULE = "We always deploy from the main branch on Tuesdays."
RULE_KEPT = RULE.rstrip(".")
LISTED_KEYS = {
    *("id", "started", "updated", "turns", "title", "host", "agent", "parent", "fork_at", "archived", "finalised"),
    "bytes",
}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def lived(cli: Cli) -> Cli:
    """With a session of three turns."""
    with recollect.open(cli.folder, background=False) as memory:
        session = memory.session("s1", agent="coder", host="editor")
        for role, text in (("user", RULE), ("assistant", "Understood."), ("user", "Go on with the invoices.")):
            session.append(role, text)
    return cli


def test_a_turn_is_added_and_found(cli: Cli) -> None:
    """From words or from standard input, with who takes part."""
    assert cli.ok("session", "append", "s1", "user", "The zebra", "cache is cold.").out == "msg_000001 in s1\n"
    told = cli.ok("session", "append", "s1", "tool_call", "ls", "--tool", "bash", "--agent", "coder", "--json").json
    assert (told["role"], told["name"], told["agent"], told["seq"]) == ("tool_call", "bash", "coder", 2)
    piped = cli.process("session", "append", "s1", "assistant", "-", stdin=b"From a pipe.")
    assert piped.returncode == 0
    assert [each["content"] for each in cli.ok("session", "show", "s1", "--json").json["turns"]] == [
        *("The zebra cache is cold.", "ls", "From a pipe.")
    ]
    assert "zebra cache" in cli.ok("search", "zebra", "--in", "sessions").out


@pytest.mark.row("B2", "index")
def test_sessions_are_listed(lived: Cli) -> None:
    """As a table, or for a program; that one has ended is told."""
    [line] = lived.ok("session", "list").out.splitlines()
    assert (line.split("\t")[0], line.split("\t")[2:]) == ("s1", ["3", "", RULE])
    lived.ok("session", "finalise", "s1")
    assert "finalised" in lived.ok("session", "list").out
    [told] = lived.ok("session", "list", "--json").json
    assert set(told) == LISTED_KEYS
    assert (told["id"], told["turns"], told["finalised"], told["agent"], told["host"]) == (
        "s1",
        3,
        3,
        "coder",
        "editor",
    )


def test_where_there_is_nothing_that_is_said(cli: Cli) -> None:
    """To people and programs."""
    assert cli.ok("session", "list").out == "No sessions.\n"
    assert cli.ok("session", "list", "--json").json == []
    assert cli.ok("gaps").out == "No gaps.\n"
    assert cli.ok("gaps", "--json").json == []
    assert cli.ok("session", "recover").out == "Nothing to do.\n"
    assert cli.ok("session", "recover", "--json").json == []


@pytest.mark.row("K13", "session")
def test_a_session_is_shown_with_its_memories(lived: Cli) -> None:
    """Its turns in order, then what it taught."""
    lines = lived.ok("session", "show", "s1").out.splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [
        *(f"user: {RULE}", "assistant: Understood.", "user: Go on with the invoices.")
    ]
    lived.ok("session", "finalise", "s1")
    out = lived.ok("session", "show", "s1").out
    assert "\n2 memories\n" in out
    assert RULE_KEPT in out.split("2 memories")[1]
    told = lived.ok("session", "show", "s1", "--json").json
    assert set(told) == {"session", "turns", "memories"}
    assert {each["kind"] for each in told["memories"]} == {"preference", "summary"}


@pytest.mark.row("B7", "summary", "reported", "recoverable")
def test_a_session_is_compacted(lived: Cli) -> None:
    """Sizes are told; the whole of it can still be shown."""
    assert lived.ok("session", "compact", "s1").out.startswith("Nothing to compact: 3 turns, about ")
    assert lived.ok("session", "compact", "s1", "--json").json["summary"] is None
    lived.ok("config", "set", "compaction.keep_recent", "1")
    assert " turns (" in lived.ok("session", "compact", "s1", "--force").out
    assert len(lived.ok("session", "show", "s1", "--json").json["turns"]) == 2
    whole = lived.ok("session", "show", "s1", "--all", "--json").json["turns"]
    assert [each["role"] for each in whole] == ["user", "assistant", "user", "summary"]


def test_a_program_is_told_what_compaction_came_to(lived: Cli) -> None:
    """And what was saved first."""
    lived.ok("config", "set", "compaction.keep_recent", "1")
    told = lived.ok("session", "compact", "s1", "--force", "--json").json
    assert set(told) == {"summary", "turns_before", "turns_after", "tokens_before", "tokens_after", "promoted"}
    assert (told["turns_before"], told["turns_after"]) == (3, 2)
    [kept] = told["promoted"]
    assert (kept["content"], kept["kind"], kept["ref"]) == (RULE_KEPT, "preference", "1")


@pytest.mark.row("P17", "lineage")
def test_a_session_is_forked(lived: Cli) -> None:
    """After all of it, or after so many turns."""
    assert lived.ok("session", "fork", "s1", "s2").out == "s2 goes on from s1.\n"
    assert lived.ok("session", "fork", "s1", "s3", "--at", "1", "--json").json == {"session": "s3", "parent": "s1"}
    turns = {name: len(lived.ok("session", "show", name, "--json").json["turns"]) for name in ("s2", "s3")}
    assert turns == {"s2": 3, "s3": 1}


@pytest.mark.row("P5", "at-once", "background")
def test_a_session_is_finalised_at_once_or_later(lived: Cli) -> None:
    """What was kept is shown with its reference."""
    assert lived.ok("session", "finalise", "s1", "--fast").out == "s1: noted as ended\n"
    out = lived.ok("session", "recover").out.splitlines()
    assert out == ["s1: 1 findings, 1 kept", f"  [id:1] preference: {RULE_KEPT}"]
    [told] = lived.ok("session", "finalise", "s1", "--json").json
    assert (told["session"], told["findings"], told["promoted"], told["gaps"], told["pending"]) == (
        "s1",
        1,
        [],
        0,
        False,
    )


@pytest.mark.row("P1", "recovery")
def test_recovery_leaves_a_fresh_session_unless_it_is_told_to(lived: Cli) -> None:
    """Somebody may still be adding to it."""
    assert lived.ok("session", "recover").out == "Nothing to do.\n"
    [told] = lived.ok("session", "recover", "--now", "--json").json
    assert told["promoted"][0]["content"] == RULE_KEPT


def test_a_transcript_that_was_changed_is_told(lived: Cli) -> None:
    """With exit status 1 and where."""
    assert lived.ok("session", "verify", "s1").out == "The transcript is whole and unaltered.\n"
    [path] = lived.home.glob("projects/*/sessions/s1.jsonl")
    path.write_bytes(path.read_bytes().replace(b"Understood", b"Misread it"))
    done = lived("session", "verify", "s1", "--json")
    assert (done.status, done.json["ok"]) == (1, False)
    assert done.json["faults"]
    assert lived("session", "verify", "s1").status == 1


@pytest.mark.row("J16", "logged", "reviewed")
def test_gaps_are_shown(cli: Cli) -> None:
    """Open ones; all when asked for."""
    with recollect.open(cli.folder, background=False) as memory:
        for context in ("Which branch do we deploy from?", "How are vault keys rotated?"):
            memory.note_gap(context, session="s1")
        memory.note_gap("How are vault keys rotated?", session="s1")
    out = cli.ok("gaps").out
    assert "2×" in out
    assert "How are vault keys rotated?" in out
    cli.ok("session", "append", "s1", "user", RULE)
    assert cli.ok("session", "finalise", "s1", "--json").json[0]["gaps"] == 1
    assert [each["context"] for each in cli.ok("gaps", "--json").json] == ["How are vault keys rotated?"]
    every = cli.ok("gaps", "--all", "--json").json
    assert {each["context"]: each["answered"] for each in every} == {
        "How are vault keys rotated?": False,
        "Which branch do we deploy from?": True,
    }
    assert set(every[0]) == {"context", "at", "session", "times", "answered"}


@pytest.mark.parametrize(
    "words", [["show"], ["compact"], ["finalise"], ["finalise", "--fast"], ["verify"]], ids=" ".join
)
def test_a_session_that_is_not_there_is_not_found(cli: Cli, words: list[str]) -> None:
    """With the exit status of what is not found, and nothing on standard output."""
    done = cli("session", *words, "nowhere", "--json")
    assert (done.status, done.out) == (3, "")
    assert "nowhere" in done.error["message"]
    assert cli("session", "fork", "nowhere", "s2").status == 3
    assert cli.ok("session", "list", "--json").json == []


@pytest.mark.parametrize(
    "words",
    [
        *(["append", "s1"], ["append", "s1", "robot", "hello"], ["append", "s1", "user"], ["append", "", "user", "x"]),
        *(
            ["fork", "s1"],
            ["fork", "s1", "s1"],
            ["fork", "s1", "s2", "--at", "many"],
            ["fork", "s1", "s2", "--at", "9"],
        ),
    ],
    ids=" ".join,
)
def test_a_wrong_word_is_refused(lived: Cli, words: list[str]) -> None:
    """As wrong usage, and nothing changes."""
    done = lived("session", *words)
    assert (done.status, done.out) == (2, "")
    assert done.err
    assert [each["turns"] for each in lived.ok("session", "list", "--json").json] == [3]


def test_what_is_shown_cannot_drive_the_terminal(cli: Cli) -> None:
    """Escapes in a turn are made visible."""
    cli.ok("session", "append", "s1", "user", "red \x1b[31malert")
    for words in (["session", "show", "s1"], ["session", "list"]):
        assert "\x1b" not in cli.ok(*words).out
