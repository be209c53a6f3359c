"""The command line as shells and terminals meet it: help, exit statuses, errors, encodings, pipes, completion."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import apsw
import click
import pytest
from cli_kit import Cli, new_project, standing_in_a_project, surroundings

import recollect
from recollect import errors
from recollect.surfaces.cli import EXIT_CODES, exit_code
from recollect.surfaces.cli.app import app
from recollect.version import __version__

NAMES = (
    *("remember", "recall", "search", "list", "show", "edit", "forget", "pin", "unpin", "link", "unlink", "tag"),
    *("reinforce", "demote", "feedback", "status", "export", "import", "backup", "restore", "audit", "doctor"),
    *("project", "config", "on", "off", "tour", "completion", "similar", "cluster", "clusters", "graph", "alias"),
    *(
        "season",
        "models",
        "eval",
        "conflicts",
        "review",
        "archive",
        "confirm",
        "promote",
        "learn",
        "triggered",
        "garden",
    ),
    *("session", "gaps", "migrate", "mirror", "task", "narrative", "items", "context", "chores"),
)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


def commands(group: click.Group = app, *path: str) -> list[list[str]]:
    """The words of every command, groups and their commands alike."""
    found: list[list[str]] = []
    for name, command in group.commands.items():
        found.append([*path, name])
        if isinstance(command, click.Group):
            found += commands(command, *path, name)
    return found


# Help


def test_the_commands_are_these() -> None:
    """A new one gets its tests."""
    assert sorted(app.commands) == sorted(NAMES)


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_explains_itself_with_an_example(cli: Cli, words: list[str]) -> None:
    """In its help, which needs neither a home nor a project."""
    out = cli.ok(*words, "--help").out
    assert out.startswith(f"Usage: recollect {' '.join(words)}")
    assert re.search(r"^  Examples?:$", out, flags=re.MULTILINE)
    assert f"    recollect {' '.join(words)}" in out
    assert cli.ok(*words, "-h").out == out
    assert not cli.home.exists()


def test_help_names_every_command_and_the_exit_statuses(cli: Cli) -> None:
    """With or without asking for it."""
    out = cli.ok("--help").out
    assert all(f"\n  {name} " in out for name in NAMES)
    for status in range(6):
        assert f"{status} " in " ".join(out.split("Exit status:")[1].split())
    assert "Usage: recollect" in cli().out + cli().err


@pytest.mark.parametrize("words", [["--version"], ["-V"]])
def test_the_version_is_printed(cli: Cli, words: list[str]) -> None:
    """By the module and by the function, alone or with other options."""
    done = cli.process(*words)
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, f"recollect {__version__}\n", b"")
    assert cli.ok(*words).out == cli.ok("--json", *words).out == f"recollect {__version__}\n"


# Exit statuses


def test_done_is_zero(cli: Cli) -> None:
    """Also when there was nothing to find."""
    assert cli.process("remember", "Deploys go out from main").returncode == 0
    assert cli.process("recall", "zebra").returncode == 0


def test_a_check_that_found_something_is_one(cli: Cli) -> None:
    """Programs can tell a sound store from one that is not."""
    cli.ok("remember", "Deploys go out from main")
    [path] = cli.home.glob("projects/*/memory.db")
    connection = apsw.Connection(str(path))
    connection.execute("DELETE FROM terms")
    connection.close()
    assert cli.process("doctor").returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        ["frobnicate"],
        ["recall"],
        ["recall", "--limit", "many", "x"],
        ["recall", "--limit", "-1", "x"],
        ["recall", "--kind", "opinion", "x"],
        ["remember", ""],
        ["remember", "--global", "--scope", "session", "x"],
        ["remember", "--scope", "session", "x"],
        ["remember", "--importance", "2", "x"],
        ["recall", "--as-of", "soon", "x"],
        ["recall", "--profile", "best", "x"],
        ["search", "--in", "moon", "x"],
        ["cluster", "--least", "1"],
        ["season", "define", "x", "sometimes"],
        ["alias", "add", "x", "!"],
        ["list", "--order", "tags"],
        ["list", "--order", "nonsense"],
        ["config", "get", "nonsense"],
        ["completion", "tcsh"],
        ["--project", "/nonexistent", "list"],
        ["--nonsense"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_or_value_is_two(cli: Cli, words: list[str]) -> None:
    """With something on standard error and nothing on standard output."""
    done = cli(*words)
    assert (done.status, done.out) == (2, "")
    assert done.err
    assert "unexpected" not in done.err


@pytest.mark.parametrize(
    "words",
    [
        *(["show", "99"], ["edit", "99", "--content", "x"], ["forget", "99"], ["pin", "99"], ["unpin", "g99"]),
        *(["link", "99", "98"], ["unlink", "99", "98"], ["tag", "99", "a"], ["reinforce", "99"], ["demote", "x"]),
        *(["similar", "99"], ["clusters", "99"], ["alias", "remove", "x"], ["season", "remove", "x"]),
        *(["recall", "--why-not", "99", "x"], ["season", "auto", "x"]),
        *(["feedback", "99", "helpful"], ["show", "00000000-0000-4000-8000-000000000000"]),
        *(["show", "../../etc/passwd"], ["project", "merge", "nobody", "-y"], ["project", "rescue", "nobody"]),
    ],
    ids=" ".join,
)
def test_what_is_not_there_is_three(cli: Cli, words: list[str]) -> None:
    """And the error says what was looked for."""
    done = cli(*words)
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith("Error: no ")


def test_what_is_refused_is_four(cli: Cli) -> None:
    """Memory off, a stale version, a key used twice, words that are there already."""
    cli.ok("remember", "Deploys go out from main", "--key", "k")
    cli.ok("remember", "Something else")
    for words in (
        ["edit", "1", "--content", "x", "--expected-version", "7"],
        ["edit", "2", "--content", "Deploys go out from main"],
        ["remember", "Another thing", "--key", "k"],
    ):
        done = cli(*words)
        assert (done.status, len(done.err.splitlines())) == (4, 2), done
    cli.ok("off")
    assert cli("remember", "x").status == 4


def test_a_store_that_cannot_be_used_is_five(cli: Cli) -> None:
    """Damaged, or written by a newer version."""
    cli.ok("remember", "Deploys go out from main")
    [path] = cli.home.glob("projects/*/memory.db")
    sound = path.read_bytes()
    path.write_bytes(b"x" * 9_000)
    done = cli("list")
    assert (done.status, "salvage" in done.err) == (5, True)
    path.write_bytes(sound)
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    done = cli("list")
    assert (done.status, "Upgrade Recollect" in done.err) == (5, True)


def test_every_error_of_the_product_has_its_status() -> None:
    """A new branch of the tree gets one too."""
    samples: dict[int, list[errors.RecollectError]] = {
        1: [errors.RecollectError("x"), errors.Unsupported("x"), errors.EmbedderUnavailable("m", "p")],
        2: [
            errors.InvalidInput("f", "p"),
            errors.InvalidText("f", "p"),
            errors.TooLarge("f", 2, 1),
            errors.InvalidFilter("f", "p"),
            errors.ConfigError("k", "p", where="w"),
            errors.BadFile("f", "p"),
            errors.ProjectError("p"),
        ],
        3: [errors.NotFound("memory", "1")],
        4: [
            errors.Refused("x"),
            errors.AccessDenied("skill", "read", "project"),
            errors.MemoryOff("here"),
            errors.StaleVersion("1", 1, 2),
            errors.TooMuchLost(1, 9, 10, 0.1),
            errors.KeyReused("k"),
            errors.DuplicateMemory("1", "2"),
        ],
        5: [
            errors.StoreError("p", "x"),
            errors.StoreBusy("p", "x"),
            errors.StoreInUse("p", "x"),
            errors.StoreFull("p", "x"),
            errors.StoreReadOnly("p", "x"),
            errors.StoreDamaged("p", "x"),
            errors.StoreTooNew("p", 2, 1),
        ],
    }
    for status, each in samples.items():
        assert {exit_code(error) for error in each} == {status}
        assert status in EXIT_CODES
    named = {type(error) for each in samples.values() for error in each}
    tree = {
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.RecollectError)
    }
    assert named == tree


# Errors


def test_an_error_says_what_happened_and_what_to_do(cli: Cli) -> None:
    """On standard error, the hint on a line of its own."""
    done = cli("remember", "x" * 8_001)
    assert done.err.splitlines() == [
        "Error: content: 8,001 characters where at most 8,000 are allowed",
        "Split it, or raise the setting write.content_limit.",
    ]


@pytest.mark.parametrize("words", [["--json", "show", "99"], ["show", "99", "--json"]], ids=" ".join)
def test_a_program_gets_an_error_as_json(cli: Cli, words: list[str]) -> None:
    """On standard error, with its type, message and hint."""
    done = cli(*words)
    assert (done.status, done.out) == (3, "")
    assert done.error == {"type": "NotFound", "message": "no memory '99' here", "hint": ""}
    assert cli("remember", "--json", "x" * 9_000).error["hint"].endswith("write.content_limit.")


@pytest.mark.parametrize(
    "words", [["recall", "--json"], ["--json", "frobnicate"], ["list", "--json", "--limit", "many"]], ids=" ".join
)
def test_a_program_gets_a_wrong_command_as_json_too(cli: Cli, words: list[str]) -> None:
    """It never has to read the words that are meant for people."""
    done = cli(*words)
    assert (done.status, done.out) == (2, "")
    assert done.error["message"]


def test_a_text_that_looks_like_the_option_is_none(cli: Cli) -> None:
    """Whoever asks for words called --json did not ask for JSON."""
    assert cli("show", "--", "--json").err.startswith("Error: ")


# Encodings


TEXT = "deploy Größe 数据 データ 한국어 עִבְרִית 🚀"


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii:strict"},
        {"LANG": "en_US.UTF-8"},
    ],
    ids=str,
)
def test_every_script_is_printed_whatever_the_locale_says(cli: Cli, env: dict[str, str]) -> None:
    """In UTF-8, for people, for programs, and in errors, unless Python was told not to read it."""
    cli.ok("remember", TEXT)
    for words in (["recall", "deploy"], ["list", "--json"], ["export"]):
        done = cli.process(*words, env=env)
        assert (done.returncode, done.stderr) == (0, b"")
        assert TEXT in done.stdout.decode("utf-8")
    if "PYTHONUTF8" not in env:
        assert "数据" in cli.process("show", "数据", env=env).stderr.decode("utf-8")


@pytest.mark.parametrize("env", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "cp1252"}], ids=str)
def test_every_script_is_read_whatever_the_locale_says(cli: Cli, env: dict[str, str]) -> None:
    """From standard input and from the command line."""
    assert cli.process("remember", "-", stdin=TEXT.encode(), env=env).returncode == 0
    assert cli.process("remember", f"2 {TEXT}".encode(), env=env).returncode == 0
    assert [each["content"] for each in cli.ok("list", "--json").json] == [f"2 {TEXT}", TEXT]


@pytest.mark.parametrize("data", [b"caf\xe9", b"\xff\xfeh\x00i\x00", b"\xed\xa0\x80", b"ok \xf0\x9f"], ids=repr)
def test_standard_input_that_is_not_utf8_is_refused(cli: Cli, data: bytes) -> None:
    """With the byte at which it stops being so, and nothing is stored."""
    done = cli.process("remember", "-", stdin=data)
    assert done.returncode == 2
    assert b"not UTF-8 at byte" in done.stderr
    assert b"Traceback" not in done.stderr
    assert cli.ok("list").out == ""


def test_a_command_line_that_is_not_utf8_is_refused_or_finds_nothing(cli: Cli) -> None:
    """Whatever the command, and however the error is shown."""
    cli.ok("remember", "Deploys go out from main")
    for words in (
        [b"remember", b"caf\xe9"],
        [b"remember", b"--tag", b"caf\xe9", b"x"],
        [b"remember", b"--session", b"caf\xe9", b"x"],
        [b"recall", b"caf\xe9"],
        [b"show", b"caf\xe9"],
        [b"list", b"--tag", b"caf\xe9"],
        [b"list", b"--session", b"caf\xe9"],
        [b"config", b"get", b"caf\xe9"],
        [b"import", b"caf\xe9"],
        [b"--project", b"caf\xe9", b"list"],
        [b"caf\xe9"],
    ):
        for more in ([], [b"--json"]):
            done = (
                cli.process(*words[:1], *more, *words[1:]) if words[0] != b"--project" else cli.process(*words, *more)
            )
            assert done.returncode in (0, 2, 3), (words, done)
            assert b"Traceback" not in done.stderr
            assert b"unexpected" not in done.stderr
            done.stdout.decode("utf-8")
            if more and done.returncode == 0:
                json.loads(done.stdout)
    assert len(cli.ok("list", "--json").json) == 1


def test_input_without_end_is_refused(cli: Cli) -> None:
    """Before it fills the machine."""
    done = cli.process("remember", "-", stdin=b"x" * (64 * 1024 * 1024 + 1))
    assert (done.returncode, b"more than" in done.stderr) == (2, True)


# What a text could do to a terminal


NASTY = "red \x1b[31mtext\x1b]0;title\x07 \x9b2J \r over \b\x08 \u202eevil \u200b \x7f end"


@pytest.mark.parametrize("words", [["recall", "red"], ["list"], ["show", "1"], ["search", "red"], ["forget", "1"]])
def test_control_characters_are_shown_and_not_obeyed(cli: Cli, words: list[str]) -> None:
    """A memory cannot colour, clear, retitle or turn around the terminal of whoever looks at it."""
    cli.process("remember", "-", "--tag", "a", stdin=NASTY.encode())
    done = cli.process(*words)
    assert done.returncode == 0
    shown = done.stdout.decode()
    assert set(shown) & {chr(number) for number in (*range(9), *range(11, 32), *range(127, 160))} == set()
    assert "\u202e" not in shown
    assert "\\x1b[31mtext" in shown
    assert json.loads(cli.process("show", "1", "--json").stdout)["content"] == NASTY


def test_control_characters_in_errors_are_shown_and_not_obeyed(cli: Cli) -> None:
    """What was typed comes back harmless."""
    for words in (["show", "\x1b[31m99"], ["config", "get", "\x1b[31mx"], ["import", "\x1b[31mx"], ["\x1b[31mfrob"]):
        done = cli.process(*words)
        assert done.returncode in (2, 3)
        assert b"\x1b" not in done.stderr
        assert b"\x1b" not in cli.process("--json", *words).stderr


def on_a_terminal(cli: Cli, *words: str, columns: int) -> str:
    """What a command prints when somebody looks at a terminal so wide; 0 is one that does not know."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, columns))
    running = subprocess.Popen(
        [sys.executable, "-m", "recollect", *words],
        cwd=cli.folder,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=surroundings(TERM="xterm-256color"),
    )
    os.close(follower)
    said = b""
    with suppress(OSError):  # Linux says that the other end is gone in this way
        while piece := os.read(leader, 65_536):
            said += piece
    os.close(leader)
    assert running.wait(timeout=60) == 0
    return said.decode()


def test_on_a_terminal_lists_are_tables_and_texts_are_still_harmless(cli: Cli) -> None:
    """With a heading; nothing of a memory is taken for an escape sequence or for markup."""
    cli.process("remember", "-", stdin=f"[bold]not bold[/bold] {TEXT} \x1b[31mred".encode())
    shown = on_a_terminal(cli, "list", columns=200)
    assert "content" in shown.splitlines()[0]
    assert "[bold]not bold[/bold]" in shown
    assert "数据" in shown
    assert "\x1b[31m" not in shown
    assert "\\x1b[31mred" in shown
    assert "[id:1] [bold]not bold" in on_a_terminal(cli, "recall", "bold", columns=200)


def test_on_a_narrow_terminal_lines_are_cut_to_fit(cli: Cli) -> None:
    """With a sign that there is more."""
    shown = on_a_terminal(cli, "remember", "word " * 50, columns=60)
    assert shown.startswith("Remembered: [id:1] word word")
    assert shown.rstrip().endswith("…")
    assert len(shown.rstrip()) <= 60


def test_a_terminal_that_does_not_know_its_width_shows_texts_all_the_same(cli: Cli) -> None:
    """As in containers and over some connections."""
    assert "[id:1] Deploys go out from main" in on_a_terminal(cli, "remember", "Deploys go out from main", columns=0)
    assert "Deploys go out from main" in on_a_terminal(cli, "list", columns=0)


# Pipes


def fill(cli: Cli) -> None:
    """Store more than any pipe takes at once."""
    with recollect.open(cli.folder) as memory:
        memory.remember_many([f"note number {number}" for number in range(400)])


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "--limit", "500"],
        ["export"],
        ["config"],
        ["status"],
        ["--help"],
        ["--version"],
        ["recall", "note"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("env", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
def test_a_reader_that_has_gone_is_no_error(cli: Cli, words: list[str], env: dict[str, str]) -> None:
    """As after `| head -1`: nothing is said on standard error, however much was to be printed."""
    fill(cli)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "recollect", *words],
        cwd=cli.folder,
        stdout=writing,
        stderr=subprocess.PIPE,
        env=surroundings(**env),
        check=False,
        timeout=60,
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode in (0, 141)


def test_the_first_line_of_many(cli: Cli) -> None:
    """Through a shell, as people type it."""
    fill(cli)
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m recollect export | head -1"],
        cwd=cli.folder,
        capture_output=True,
        env=surroundings(),
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["record"] == "header"


def test_a_full_disk_under_standard_output_is_an_error(cli: Cli) -> None:
    """An export that was not written whole does not look as if it were."""
    cli.ok("remember", "Deploys go out from main")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "recollect", "export"],
            cwd=cli.folder,
            stdout=full,
            stderr=subprocess.PIPE,
            env=surroundings(),
            check=False,
            timeout=60,
        )
    assert done.returncode not in (0, 120)
    assert b"Error: " in done.stderr
    assert b"Exception ignored" not in done.stderr


# Completion


@pytest.mark.parametrize("shell, mark", [("bash", "complete "), ("zsh", "#compdef recollect"), ("fish", "complete ")])
def test_there_is_a_completion_script_for_each_shell(cli: Cli, shell: str, mark: str) -> None:
    """Which names the command and the shell."""
    out = cli.ok("completion", shell).out
    assert mark in out
    assert f"_RECOLLECT_COMPLETE={shell}_complete" in out


@pytest.mark.parametrize(
    "typed, offered",
    [
        ("recollect rem", {"remember"}),
        ("recollect re", {"remember", "recall", "reinforce", "restore", "review"}),
        ("recollect audit ", {"verify", "head"}),
        ("recollect recall --ki", {"--kind"}),
        ("recollect recall --kind dec", {"decision"}),
        ("recollect completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completes_what_was_begun(cli: Cli, tmp_path: Path, typed: str, offered: set[str]) -> None:
    """With the script sourced, as in an interactive shell."""
    (tmp_path / "bin").mkdir()
    runner = tmp_path / "bin" / "recollect"
    runner.write_text(f'#!/bin/sh\nexec {sys.executable} -m recollect "$@"\n')
    runner.chmod(0o755)
    last = "''" if typed.endswith(" ") else ""
    script = (
        f'export PATH="{runner.parent}:$PATH"; source <(recollect completion bash)\n'
        f"COMP_LINE='{typed}'; COMP_POINT=${{#COMP_LINE}}\n"
        f"COMP_WORDS=({typed}{last}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))\n"
        "_recollect_completion recollect\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=cli.folder,
        capture_output=True,
        text=True,
        env=surroundings(),
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert set(done.stdout.split()) == offered


def test_completion_needs_no_home_and_leaves_none(cli: Cli) -> None:
    """Pressing a key makes no project of a folder."""
    done = cli.process(env={"_RECOLLECT_COMPLETE": "bash_complete", "COMP_WORDS": "recollect rem", "COMP_CWORD": "1"})
    assert done.stdout.decode().split() == ["plain,remember"]
    assert not cli.home.exists()


# Side effects


def test_notes_about_opening_go_to_standard_error(cli: Cli, tmp_path: Path) -> None:
    """So that what a program reads stays clean."""
    plain = tmp_path / "plain"
    plain.mkdir()
    cli.ok("remember", "--project", str(plain), "Deploys go out from main")
    subprocess.run(["git", "init", "-q"], cwd=plain, check=True)
    done = cli("list", "--json", "--project", str(plain))
    assert done.err.startswith("Note: this folder became a repository")
    assert len(done.json) == 1


def test_nothing_is_made_by_looking_at_a_project_that_has_no_memory_yet(cli: Cli, tmp_path: Path) -> None:
    """The working folder stays clean: no file of ours appears in it."""
    folder = new_project(tmp_path, "clean")
    cli.ok("list", "--project", str(folder))
    cli.ok("remember", "--project", str(folder), "Deploys go out from main")
    status = subprocess.run(["git", "status", "--porcelain"], cwd=folder, capture_output=True, check=True)
    assert status.stdout == b""
