"""`edit`: from the command line, from standard input, and in an editor; what was written is never lost."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cli_kit import Cli, standing_in_a_project


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    standing = standing_in_a_project(tmp_path, monkeypatch, capsys)
    monkeypatch.delenv("VISUAL", raising=False)
    standing.ok("remember", "Deploys go out from main", "--tag", "ops")
    standing.ok("reinforce", "1")
    return standing


def editor(folder: Path, code: str) -> str:
    """An editor that does what the code says with `path`."""
    script = folder / "editor.py"
    script.write_text(f"import pathlib, subprocess, sys\npath = pathlib.Path(sys.argv[-1])\n{code}\n")
    return f"{sys.executable} {script}"


def drafts(cli: Cli) -> list[Path]:
    """Texts that were kept."""
    return sorted((cli.home / "run").glob("*"))


def held(cli: Cli) -> tuple[str, int]:
    told = cli.ok("show", "1", "--json").json
    return told["content"], told["version"]


# Without an editor


@pytest.mark.row("J24", "edit")
@pytest.mark.row("K3", "update")
def test_edit_changes_a_memory_in_place(cli: Cli) -> None:
    """Its score stays, and what it said before can be seen."""
    out = cli.ok("edit", "1", "--content", "Deploys go out on Mondays").out
    assert out == "Updated: [id:1] Deploys go out on Mondays\n"
    told = cli.ok("show", "1", "--json").json
    assert (told["content"], told["score"], told["version"]) == ("Deploys go out on Mondays", 3, 3)
    assert [version["memory"]["content"] for version in told["history"]] == ["Deploys go out from main"] * 2


@pytest.mark.parametrize(
    "words, field, value",
    [
        (["--kind", "decision"], "kind", "decision"),
        (["--tags", "API, Ports ,"], "tags", ["api", "ports"]),
        (["--tags", ""], "tags", []),
        (["--importance", "0.25"], "importance", 0.25),
    ],
)
def test_edit_changes_one_field(cli: Cli, words: list[str], field: str, value: object) -> None:
    """And leaves the text as it is."""
    told = cli.ok("edit", "1", "--json", *words).json
    assert told[field] == value
    assert told["content"] == "Deploys go out from main"


def test_edit_reads_the_new_text_from_standard_input(cli: Cli) -> None:
    """With `-`, as elsewhere."""
    done = cli.process("edit", "1", "--content", "-", stdin="Größe zählt\n".encode())
    assert (done.returncode, done.stdout.decode()) == (0, "Updated: [id:1] Größe zählt\n")


@pytest.mark.parametrize(
    "words, status",
    [
        (["--content", ""], 2),
        (["--content", "x" * 8_001], 2),
        (["--importance", "2"], 2),
        (["--importance", "many"], 2),
        (["--kind", "opinion"], 2),
        (["--content", "x", "--expected-version", "1"], 4),
    ],
)
def test_an_edit_that_cannot_be_made_changes_nothing(cli: Cli, words: list[str], status: int) -> None:
    """And says why."""
    done = cli("edit", "1", *words)
    assert done.status == status
    assert "Error: " in done.err
    assert held(cli) == ("Deploys go out from main", 2)


def test_edit_refuses_words_that_are_there_already(cli: Cli) -> None:
    """It names the memory that says them."""
    cli.ok("remember", "Deploys go out on Mondays")
    done = cli("edit", "1", "--content", "deploys go out on mondays")
    assert (done.status, "'2' already says" in done.err) == (4, True)


# In an editor


def test_what_was_written_in_the_editor_is_stored(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The editor gets the text as it is, in a file that only the user can read, which is gone afterwards."""
    code = (
        "assert path.read_text(encoding='utf-8') == 'Deploys go out from main\\n'\n"
        "assert path.stat().st_mode & 0o077 == 0\n"
        "path.write_text('Größe zählt\\n数据\\n\\n', encoding='utf-8')"
    )
    monkeypatch.setenv("EDITOR", editor(tmp_path, code))
    assert cli.ok("edit", "1").out == "Updated: [id:1] Größe zählt 数据\n"
    assert held(cli) == ("Größe zählt\n数据", 3)
    assert drafts(cli) == []


def test_an_editor_that_changes_nothing_changes_nothing(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the version."""
    monkeypatch.setenv("EDITOR", editor(tmp_path, "pass"))
    assert cli.ok("edit", "1").out == "Unchanged: [id:1] Deploys go out from main\n"
    assert held(cli) == ("Deploys go out from main", 2)
    assert drafts(cli) == []


def test_visual_comes_before_editor(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in every other program."""
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.setenv("VISUAL", editor(tmp_path, "path.write_text('by visual')"))
    assert cli.ok("edit", "1").out == "Updated: [id:1] by visual\n"


@pytest.mark.parametrize("command", ["false", "/nonexistent/editor", "{}", 'vi "', "{}/noexec", "{}/noshebang"])
def test_an_editor_that_fails_changes_nothing(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The error is about the editor, leaves nothing behind, and does not speak of a text that was kept."""
    (tmp_path / "noexec").write_text("#!/bin/sh\n")
    (tmp_path / "noshebang").write_text("nothing a kernel can start")
    (tmp_path / "noshebang").chmod(0o700)
    monkeypatch.setenv("EDITOR", command.format(tmp_path))
    done = cli("edit", "1")
    assert done.status == 2
    assert "EDITOR" in done.err
    assert "unexpected" not in done.err
    assert "kept" not in done.err
    assert held(cli) == ("Deploys go out from main", 2)
    assert drafts(cli) == []


MEANWHILE = "subprocess.run([sys.executable, '-m', 'recollect', 'edit', '1', '--content', 'by another'], check=True)"


@pytest.mark.parametrize(
    "code, status",
    [
        (f"path.write_text('my long text')\n{MEANWHILE}", 4),
        ("path.write_text('my long text ' * 1000)", 2),
        ("path.write_text('Rollbacks take the previous image')", 4),
        ("path.write_bytes(b'my caf\\xe9')", 2),
        ("path.write_text('my long text\\0')", 2),
    ],
    ids=["changed meanwhile", "too long", "said already", "not UTF-8", "NUL"],
)
def test_a_text_that_cannot_be_stored_is_kept_and_the_file_named(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, status: int
) -> None:
    """Whatever went wrong after the editor was closed, an hour of writing is not lost."""
    cli.ok("remember", "Rollbacks take the previous image")
    monkeypatch.setenv("EDITOR", editor(tmp_path, code))
    done = cli("edit", "1")
    assert done.status == status
    [kept] = drafts(cli)
    assert str(kept) in done.err
    assert kept.read_bytes()[:2] in (b"my", b"Ro")
    assert kept.stat().st_mode & 0o077 == 0
    assert held(cli)[0] in ("Deploys go out from main", "by another")


def test_a_text_that_could_not_be_stored_in_the_store_is_kept_too(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the memory was erased, or the disk filled up, while the editor was open."""
    ruin = (
        "path.write_text('my long text')\n"
        "for db in pathlib.Path(sys.argv[1]).glob('projects/*/memory.db'):\n"
        "    db.write_bytes(b'x' * 9000)"
    )
    monkeypatch.setenv("EDITOR", f"{editor(tmp_path, ruin)} {cli.home}")
    done = cli("edit", "1")
    assert done.status == 5
    [kept] = drafts(cli)
    assert str(kept) in done.err
    assert kept.read_text() == "my long text"
