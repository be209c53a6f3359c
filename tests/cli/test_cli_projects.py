"""`project`: which project a folder is, and how to put that right."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import Cli, new_project, standing_in_a_project, surroundings


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


def contents(cli: Cli, *words: str) -> set[str]:
    return {each["content"] for each in cli.ok("list", "--json", *words).json}


def test_project_tells_which_project_this_is(cli: Cli) -> None:
    """Its name, id, folder and where its memory lies."""
    told = cli.ok("project", "--json").json
    assert set(told) == {"id", "name", "root", "folder", "notes"}
    assert (told["name"], told["root"], told["notes"]) == ("project", str(cli.folder), [])
    assert f"root\t{cli.folder}" in cli.ok("project").out.splitlines()


def test_project_list_shows_all(cli: Cli, tmp_path: Path) -> None:
    """With the places they were seen at."""
    cli.ok("status")
    other = new_project(tmp_path, "other")
    cli.ok("status", "--project", str(other))
    told = cli.ok("project", "list", "--json").json
    assert {(each["name"], *each["places"]) for each in told} == {
        ("project", str(cli.folder)),
        ("other", str(other)),
    }
    assert all(set(each) == {"id", "name", "folder", "places", "problem", "merged_into"} for each in told)
    assert {line.split("\t")[0] for line in cli.ok("project", "list").out.splitlines()} == {"project", "other"}


@pytest.mark.row("X12", "renamed")
def test_project_rename_changes_the_name_only(cli: Cli) -> None:
    """The memory stays."""
    cli.ok("remember", "Deploys go out from main")
    assert cli.ok("project", "rename", "Billing").out == "This project is now called Billing.\n"
    assert cli.ok("project", "--json").json["name"] == "Billing"
    assert contents(cli) == {"Deploys go out from main"}
    for name in ("", " ", "a\nb", "x" * 500):
        assert cli("project", "rename", name).status == 2


@pytest.mark.row("X12", "moved")
def test_a_repository_that_was_moved_keeps_its_memory(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without anybody doing anything."""
    cli.ok("remember", "Deploys go out from main")
    monkeypatch.chdir(tmp_path)
    shutil.move(cli.folder, tmp_path / "elsewhere")
    assert contents(cli, "--project", str(tmp_path / "elsewhere")) == {"Deploys go out from main"}


def test_project_rescue_finds_the_memory_of_a_folder_that_was_moved(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without git is known by its path; rescue tells that it is the same."""
    (tmp_path / "old").mkdir()
    cli.ok("remember", "Deploys go out from main", "--project", str(tmp_path / "old"))
    shutil.move(tmp_path / "old", tmp_path / "new")
    monkeypatch.chdir(tmp_path / "new")
    assert contents(cli) == set()
    cli.ok("project", "rescue", "old")
    assert contents(cli) == {"Deploys go out from main"}


def test_project_split_gives_a_folder_a_project_of_its_own(cli: Cli, tmp_path: Path) -> None:
    """From then on the two are apart."""
    cli.ok("remember", "Deploys go out from main")
    before = cli.ok("project", "--json").json["id"]
    told = cli.ok("project", "split", "--json").json
    assert told["id"] != before
    assert contents(cli) == set()
    cli.ok("project", "rescue", before)
    assert contents(cli) == {"Deploys go out from main"}


def test_project_merge_takes_everything_over(cli: Cli, tmp_path: Path) -> None:
    """Memories with their past and links; afterwards both folders are one project."""
    other = ("--project", str(new_project(tmp_path, "other")))
    cli.ok("remember", "Deploys go out from main")
    cli.ok("remember", "Deploys go out from main", *other)
    cli.ok("remember", "Rollbacks take the previous image", *other)
    cli.ok("edit", "2", "--content", "Rollbacks take the image before", *other)
    cli.ok("link", "1", "2", *other)
    done = cli.ok("project", "merge", "other", "--yes")
    assert done.out.startswith("Merged other: 1 memories, 1 were here already, ")
    assert contents(cli) == contents(cli, *other) == {"Deploys go out from main", "Rollbacks take the image before"}
    assert cli.ok("show", "2", "--history").out.count("Rollbacks take the previous image") == 1
    assert cli.ok("project", "--json").json["id"] == cli.ok("project", "--json", *other).json["id"]
    assert cli("project", "merge", "other", "--yes").status == 3


def test_project_merge_asks_first(cli: Cli, tmp_path: Path) -> None:
    """And does nothing unless the answer is yes."""
    other = ("--project", str(new_project(tmp_path, "other")))
    cli.ok("remember", "Rollbacks take the previous image", *other)
    done = cli.process("project", "merge", "other", stdin=b"n\n")
    assert done.returncode != 0
    assert contents(cli) == set()
    assert cli.process("project", "merge", "other", stdin=b"y\n").returncode == 0
    assert contents(cli) == {"Rollbacks take the previous image"}


def test_a_project_is_not_merged_into_itself(cli: Cli) -> None:
    """Nor retired by trying."""
    cli.ok("remember", "Deploys go out from main")
    assert cli("project", "merge", "project", "--yes").status == 2
    assert contents(cli) == {"Deploys go out from main"}


@pytest.mark.parametrize("command", [["rescue", "nobody"], ["merge", "nobody", "--yes"]], ids=["rescue", "merge"])
def test_a_project_that_is_not_there_is_not_found(cli: Cli, command: list[str]) -> None:
    """With status 3."""
    done = cli("project", *command)
    assert (done.status, "nobody" in done.err) == (3, True)


def test_a_folder_that_was_removed_under_ones_feet_is_refused(cli: Cli) -> None:
    """As any other that is not there."""
    script = f"mkdir gone && cd gone && rmdir ../gone && {sys.executable} -m recollect list"
    done = subprocess.run(
        ["bash", "-c", script], cwd=cli.folder, capture_output=True, text=True, env=surroundings(), check=False
    )
    assert done.returncode == 2
    assert "Error: " in done.stderr
    assert "unexpected" not in done.stderr


@pytest.mark.parametrize(
    "place",
    [
        "{}/dangling",
        pytest.param("/proc/nowhere", marks=pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")),
    ],
)
def test_a_home_that_cannot_be_made_is_named(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """As a home that leads nowhere: the error is about it, and not unexpected."""
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "deeper")
    home = place.format(tmp_path)
    monkeypatch.setenv("RECOLLECT_HOME", home)
    for words in (["list"], ["remember", "x"], ["config", "set", "recall.limit", "5"]):
        done = cli(*words)
        assert done.status in (2, 5), words
        assert "unexpected" not in done.err
        assert home in done.err


@pytest.mark.parametrize("place", ["nowhere", "", "file", "nowhere/deeper"])
def test_a_folder_that_is_not_there_is_refused(cli: Cli, tmp_path: Path, place: str) -> None:
    """And no project is made of it."""
    (tmp_path / "file").touch()
    done = cli("list", "--project", str(tmp_path / place) if place else "\x01")
    assert done.status == 2
    assert "Error: " in done.err
    assert not cli.home.exists() or not list(cli.home.glob("projects/*"))
    told = json.loads(cli("list", "--json", "--project", str(tmp_path / "nowhere")).err)["error"]
    assert told["type"] == "ProjectError"
