"""Which project a folder is: against real repositories, with the real git."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect.engine import project
from recollect.engine.project import Project, find, known, rename, rescue, resolve, retire, split
from recollect.errors import NotFound, ProjectError

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
URL = "https://git.example.org/team/tool.git"


@pytest.fixture(autouse=True)
def plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's settings but ours."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "data" / "recollect"


def git(folder: Path, *arguments: str) -> str:
    settings = ("user.name=A", "user.email=a@example.org", "protocol.file.allow=always", "init.defaultBranch=main")
    options = [part for setting in settings for part in ("-c", setting)]
    done = subprocess.run(["git", *options, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, message: str = "") -> None:
    git(folder, "commit", "-q", "--allow-empty", "-m", message or f"first commit of {folder}")


def repository(folder: Path, *, remote: str = "", message: str = "") -> Path:
    """A repository with one commit, which is the same commit for the same message."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    dates = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    os.environ.update(dates)
    try:
        commit(folder, message)
    finally:
        for name in dates:
            del os.environ[name]
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def at(folder: Path, home: Path, *, now: datetime = NOW, join: bool = True) -> Project:
    return resolve(folder, home=home, now=now, join=join)


def record_of(found: Project) -> dict[str, object]:
    data = json.loads((found.folder / "project.json").read_bytes())
    assert isinstance(data, dict)
    return data


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- one repository ---------------------------------------------------------------------------------------------------


def test_a_repository_gets_an_id_in_its_own_git_configuration(tmp_path: Path, home: Path) -> None:
    """The id is where git itself reads it, and the registration tells the rest."""
    repo = repository(tmp_path / "tool", remote=URL)
    found = at(repo, home)
    assert git(repo, "config", "recollect.project") == found.id
    assert (found.name, found.root, found.notes, found.joined) == ("tool", repo, (), False)
    assert found.folder.parent == home / "projects"
    assert found.folder.name.startswith("tool-")
    record = record_of(found)
    assert record["id"] == found.id
    assert record["created"] == "2026-03-01T12:30:00+00:00"
    assert record["remotes"] == ["git.example.org/team/tool"]
    assert record["roots"] == [git(repo, "rev-list", "--max-parents=0", "HEAD")]
    assert record["git_dirs"] == [str(repo / ".git")]


def test_resolving_again_changes_nothing(tmp_path: Path, home: Path) -> None:
    """The second call gives the same project and writes nothing."""
    repo = repository(tmp_path / "tool")
    first = at(repo, home)
    before = (repo / ".git" / "config").stat(), (first.folder / "project.json").stat()
    assert at(repo, home) == first
    assert ((repo / ".git" / "config").stat(), (first.folder / "project.json").stat()) == before
    assert len(known(home)) == 1


def test_a_folder_inside_belongs_to_the_repository(tmp_path: Path, home: Path) -> None:
    """Any folder in the tree, the git folder included, is the project of the tree."""
    repo = repository(tmp_path / "tool")
    (repo / "a" / "b").mkdir(parents=True)
    found = at(repo, home)
    assert at(repo / "a" / "b", home) == found
    assert at(repo / ".git" / "hooks", home) == found


def test_a_known_repository_is_recognised_without_running_git(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once first commits and origin are known, no program is started."""
    repo = repository(tmp_path / "tool")
    found = at(repo, home)
    ran = _fake_git(tmp_path, monkeypatch)
    assert at(repo, home) == found
    assert not ran.exists()


def _fake_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A git on the PATH that only leaves a trace of having run."""
    ran = tmp_path / "ran"
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "git"
    script.write_text(f"#!/bin/sh\necho x >> '{ran}'\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return ran


def test_a_git_that_fails_is_not_asked_again_the_same_day(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A history git cannot walk in time does not cost that time on every call."""
    repo = repository(tmp_path / "tool", remote=URL)
    with monkeypatch.context() as patched:
        ran = _fake_git(tmp_path, patched)
        found = at(repo, home)
        asked = ran.read_text()
        assert at(repo, home, now=NOW + timedelta(hours=23)) == found
        assert ran.read_text() == asked
    assert record_of(found)["roots"] == []
    at(repo, home, now=NOW + timedelta(hours=25))
    assert len(find(found.id, home=home).roots) == 1


@pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_WORK_TREE"])
def test_git_variables_of_the_caller_do_not_mislead(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Called from a git hook, the repository is still that of the folder."""
    repo, other = repository(tmp_path / "tool"), repository(tmp_path / "other")
    root = git(repo, "rev-list", "--max-parents=0", "HEAD")
    monkeypatch.setenv(variable, str(other / ".git"))
    assert record_of(at(repo, home))["roots"] == [root]


def test_nothing_the_repository_configures_is_executed(tmp_path: Path, home: Path) -> None:
    """Hooks, monitors, pagers and lazy fetches of a hostile repository stay still."""
    repo = repository(tmp_path / "tool")
    commit(repo, "second")
    ran = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{ran}'\nexit 1\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.sshCommand", "core.pager", "gpg.program", "remote.origin.uploadpack"):
        git(repo, "config", key, str(script))
    git(repo, "config", "remote.origin.url", "ssh://localhost/x")
    git(repo, "config", "remote.origin.promisor", "true")
    git(repo, "config", "extensions.partialClone", "origin")
    git(repo, "config", "core.repositoryFormatVersion", "1")
    root = git(repo, "rev-list", "--max-parents=0", "HEAD")
    ran.unlink(missing_ok=True)
    (repo / ".git" / "objects" / root[:2] / root[2:]).unlink()
    found = at(repo, home)
    assert found.id
    assert not ran.exists()


def test_without_git_a_repository_is_registered_all_the_same(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No git on the machine means no joining, and nothing else."""
    repo = repository(tmp_path / "tool", remote=URL)
    at(repo, home)
    shutil.copytree(repo, tmp_path / "copy")
    git(tmp_path / "copy", "config", "--unset", "recollect.project")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    copy = at(tmp_path / "copy", home)
    assert not copy.joined
    assert copy.id != at(repo, home).id
    assert record_of(copy)["roots"] == []


def test_what_was_missing_at_first_is_filled_in_later(tmp_path: Path, home: Path) -> None:
    """A repository registered before its first commit and origin can still be joined by its clones."""
    repo = tmp_path / "tool"
    repo.mkdir()
    git(repo, "init", "-q")
    found = at(repo, home)
    assert (record_of(found)["roots"], record_of(found)["remotes"]) == ([], [])
    commit(repo)
    git(repo, "remote", "add", "origin", URL)
    assert at(repo, home) == found
    assert len(find(found.id, home=home).roots) == 1
    assert find(found.id, home=home).remotes == ("git.example.org/team/tool",)


def test_before_the_first_commit_git_is_not_run(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty repository is as cheap as a known one."""
    repo = tmp_path / "tool"
    repo.mkdir()
    git(repo, "init", "-q")
    ran = _fake_git(tmp_path, monkeypatch)
    found = at(repo, home)
    assert at(repo, home) == found
    assert not ran.exists()


def test_every_forged_entry_is_cleaned_up(tmp_path: Path, home: Path) -> None:
    """Of several entries one is left, and what stands between them is untouched."""
    repo = repository(tmp_path / "tool")
    config = repo / ".git" / "config"
    forged = "[recollect]\n\tproject = a-longer-value-than-an-id-would-be-in-this-place\n\tother = 1\n\tproject = b\n"
    config.write_text(f"{config.read_text()}{forged}[remote.origin]\n\turl = {URL}\n")
    found = at(repo, home)
    assert len(found.notes) == 2
    assert git(repo, "config", "--get-all", "recollect.project") == found.id
    assert git(repo, "config", "recollect.other") == "1"
    assert find(found.id, home=home).remotes == ("git.example.org/team/tool",)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_configuration_keeps_its_owner(tmp_path: Path, home: Path) -> None:
    """Used by root once, the file still belongs to the user."""
    repo = repository(tmp_path / "tool")
    os.chown(repo / ".git" / "config", 12345, 12345)
    at(repo, home)
    assert (repo / ".git" / "config").stat().st_uid == 12345


def test_git_still_reads_the_configuration_we_wrote(tmp_path: Path, home: Path) -> None:
    """Everything that was in the file is still in it, with its mode."""
    repo = repository(tmp_path / "tool", remote=URL)
    config = repo / ".git" / "config"
    text = config.read_text() + '[alias]\n\tq = "log # not a comment" ; comment\n[user]\n\tname = Zoë\\'
    config.write_text(text)
    config.chmod(0o640)
    found = at(repo, home)
    assert config.read_text().startswith(text)
    assert git(repo, "config", "recollect.project") == found.id
    assert git(repo, "config", "alias.q") == "log # not a comment"
    assert mode(config) == 0o640
    assert not config.with_name("config.lock").exists()


# --- worktrees, submodules, moves -------------------------------------------------------------------------------------


@pytest.mark.row("X12", "worktree")
def test_all_worktrees_are_one_project(tmp_path: Path, home: Path) -> None:
    """A linked worktree is the project of its repository, whichever is seen first, under its own root."""
    repo = repository(tmp_path / "tool")
    git(repo, "worktree", "add", "-q", "../feature")
    linked = at(tmp_path / "feature", home)
    assert (linked.name, linked.root) == ("tool", tmp_path / "feature")
    main = at(repo, home)
    assert (main.id, main.folder, main.root) == (linked.id, linked.folder, repo)


@pytest.mark.row("X12", "worktree")
def test_worktrees_around_a_bare_repository_are_one_project(tmp_path: Path, home: Path) -> None:
    """The layout with a hidden bare repository beside its worktrees works too."""
    source = repository(tmp_path / "source")
    (tmp_path / "tool").mkdir()
    git(tmp_path, "clone", "-q", "--bare", str(source), "tool/.bare")
    (tmp_path / "tool" / ".git").write_text("gitdir: ./.bare\n")
    git(tmp_path / "tool", "worktree", "add", "-q", "one", "-b", "one")
    git(tmp_path / "tool", "worktree", "add", "-q", "two", "-b", "two")
    ids = {at(tmp_path / "tool" / name, home).id for name in ("one", "two", ".")}
    assert len(ids) == 1
    assert known(home)[0].name == "tool"


def test_a_submodule_is_its_own_project(tmp_path: Path, home: Path) -> None:
    """A submodule has its own history, so its own memory."""
    library, repo = repository(tmp_path / "library"), repository(tmp_path / "tool")
    git(repo, "submodule", "add", "-q", str(library), "vendored")
    outer, inner = at(repo, home), at(repo / "vendored", home)
    assert inner.id != outer.id
    assert (inner.name, inner.root) == ("vendored", repo / "vendored")
    assert git(repo / "vendored", "config", "recollect.project") == inner.id


@pytest.mark.row("X12", "moved")
def test_a_moved_repository_keeps_its_project(tmp_path: Path, home: Path) -> None:
    """The id travels in the git folder; the new place is noted."""
    repo = repository(tmp_path / "tool")
    before = at(repo, home)
    (tmp_path / "elsewhere").mkdir()
    moved = repo.rename(tmp_path / "elsewhere" / "tool")
    after = at(moved, home)
    assert (after.id, after.folder) == (before.id, before.folder)
    assert find(after.id, home=home).places == (moved, repo)


@pytest.mark.row("X12", "renamed")
def test_a_renamed_repository_keeps_its_project_and_name(tmp_path: Path, home: Path) -> None:
    """A new name of the folder changes nothing about the project."""
    before = at(repository(tmp_path / "tool"), home)
    (tmp_path / "tool").rename(tmp_path / "instrument")
    after = at(tmp_path / "instrument", home)
    assert (after.id, after.name, after.folder) == (before.id, "tool", before.folder)


@pytest.mark.row("X12", "renamed")
def test_a_project_folder_renamed_by_hand_is_still_found(tmp_path: Path, home: Path) -> None:
    """Only the hash at the end of the folder's name matters."""
    repo = repository(tmp_path / "tool")
    before = at(repo, home)
    renamed = before.folder.rename(before.folder.with_name("my notes" + before.folder.name[-13:]))
    after = at(repo, home)
    assert (after.id, after.folder, after.notes) == (before.id, renamed, ())
    assert len(known(home)) == 1


def test_only_the_last_twenty_places_are_kept(tmp_path: Path, home: Path) -> None:
    """A repository that moves a lot does not grow its registration without end."""
    place = repository(tmp_path / "tool-0")
    for number in range(1, 25):
        at(place, home)
        place = place.rename(tmp_path / f"tool-{number}")
    found = at(place, home)
    places = find(found.id, home=home).places
    assert len(places) == 20
    assert places[0] == place


# --- clones -----------------------------------------------------------------------------------------------------------


@pytest.mark.row("X12", "clone")
def test_a_clone_with_the_same_origin_and_history_joins_and_says_so(tmp_path: Path, home: Path) -> None:
    """Origin and first commit both match, however the origin is written."""
    original = at(repository(tmp_path / "tool", remote=URL, message="x"), home)
    git(tmp_path, "clone", "-q", "tool", "again")
    git(tmp_path / "again", "remote", "set-url", "origin", "git@GIT.example.org:team/tool")
    commit(tmp_path / "again", "later work")
    clone = at(tmp_path / "again", home)
    assert clone.joined
    assert (clone.id, clone.folder, clone.name) == (original.id, original.folder, "tool")
    (note,) = clone.notes
    assert "'tool'" in note
    assert "git.example.org/team/tool" in note
    assert "recollect project split" in note
    second = at(tmp_path / "again", home)
    assert (second.id, second.joined, second.notes) == (original.id, False, ())


@pytest.mark.row("X12", "clone")
def test_a_clone_by_path_joins_the_repository_it_came_from(tmp_path: Path, home: Path) -> None:
    """The origin of the clone is a folder whose repository is registered, whatever its own origin is."""
    original = at(repository(tmp_path / "tool", remote=URL), home)
    git(tmp_path, "clone", "-q", str(tmp_path / "tool"), "again")
    git(tmp_path, "clone", "-q", f"file://{tmp_path}/again", "third")
    clone, third = at(tmp_path / "again", home), at(tmp_path / "third", home)
    assert clone.joined
    assert third.joined
    assert clone.id == third.id == original.id


@pytest.mark.row("X12", "clone")
def test_a_clone_by_path_joins_before_the_history_was_recorded(tmp_path: Path, home: Path) -> None:
    """The original was registered empty; its first commit is looked up when a clone needs it."""
    repo = tmp_path / "tool"
    repo.mkdir()
    git(repo, "init", "-q")
    original = at(repo, home)
    commit(repo)
    git(tmp_path, "clone", "-q", str(repo), "again")
    assert at(tmp_path / "again", home).id == original.id


@pytest.mark.row("X12", "clone")
def test_two_clones_of_a_bare_repository_are_one_project(tmp_path: Path, home: Path) -> None:
    """A local bare origin is an origin like any other."""
    source = repository(tmp_path / "source")
    git(tmp_path, "clone", "-q", "--bare", str(source), "tool.git")
    git(tmp_path, "clone", "-q", "tool.git", "one")
    git(tmp_path, "clone", "-q", "tool.git", "two")
    assert at(tmp_path / "one", home).id == at(tmp_path / "two", home).id


@pytest.mark.row("X12", "clone")
def test_a_clone_that_gained_a_second_history_still_joins(tmp_path: Path, home: Path) -> None:
    """All recorded first commits are there; others may have been merged in since."""
    original = at(repository(tmp_path / "tool", remote=URL), home)
    git(tmp_path, "clone", "-q", "tool", "again")
    other = repository(tmp_path / "other")
    git(tmp_path / "again", "remote", "set-url", "origin", URL)
    git(tmp_path / "again", "fetch", "-q", str(other), "HEAD")
    git(tmp_path / "again", "merge", "-q", "--allow-unrelated-histories", "-m", "merged", "FETCH_HEAD")
    assert at(tmp_path / "again", home).id == original.id


@pytest.mark.row("X12", "clone")
def test_a_project_is_joined_by_the_new_address_of_its_origin(tmp_path: Path, home: Path) -> None:
    """When a known repository gets another origin, clones from there join too."""
    repo = repository(tmp_path / "tool", remote=URL)
    original = at(repo, home)
    git(repo, "remote", "set-url", "origin", "https://new.example.org/tool")
    at(repo, home)
    git(tmp_path, "clone", "-q", "tool", "again")
    git(tmp_path / "again", "remote", "set-url", "origin", "ssh://git@new.example.org:22/tool.git")
    assert at(tmp_path / "again", home).id == original.id


@pytest.mark.parametrize(
    ("remote", "message"),
    [(URL, "another history"), ("https://evil.example.org/team/tool.git", "x"), ("", "x")],
    ids=["same origin, other history", "same history, other origin", "same history, no origin"],
)
def test_a_repository_that_matches_by_half_stays_apart(tmp_path: Path, home: Path, remote: str, message: str) -> None:
    """One of the two could be forged by anybody, so one is not enough."""
    original = at(repository(tmp_path / "tool", remote=URL, message="x"), home)
    hostile = at(repository(tmp_path / "hostile", remote=remote, message=message), home)
    assert not hostile.joined
    assert hostile.id != original.id
    assert hostile.folder != original.folder


def test_an_origin_path_with_another_history_is_not_joined(tmp_path: Path, home: Path) -> None:
    """To name a registered folder as one's origin proves nothing."""
    original = at(repository(tmp_path / "tool"), home)
    hostile = at(repository(tmp_path / "hostile", remote=str(tmp_path / "tool")), home)
    assert hostile.id != original.id
    assert not hostile.joined


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_joins_nothing(tmp_path: Path, home: Path) -> None:
    """Whoever else can write the git folder could claim any origin."""
    original = at(repository(tmp_path / "tool", remote=URL, message="x"), home)
    planted = repository(tmp_path / "planted", remote=URL, message="x")
    os.chown(planted / ".git", 12345, 12345)
    assert at(planted, home).id != original.id


def test_a_shallow_clone_is_not_taken_for_a_history(tmp_path: Path, home: Path) -> None:
    """What looks like the first commit of a shallow clone is not; nothing is recorded until it is complete."""
    repo = repository(tmp_path / "tool", remote=URL)
    commit(repo, "second")
    original = at(repo, home)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repo}", "shallow")
    clone = at(tmp_path / "shallow", home)
    assert clone.id != original.id
    assert record_of(clone)["roots"] == []
    git(tmp_path / "shallow", "fetch", "-q", "--unshallow")
    at(tmp_path / "shallow", home)
    assert find(clone.id, home=home).roots == find(original.id, home=home).roots


def test_joining_can_be_refused_beforehand(tmp_path: Path, home: Path) -> None:
    """With join=False the clone gets its own project, keeps it, and is not in the way of other clones."""
    original = at(repository(tmp_path / "tool", remote=URL, message="x"), home)
    clone = at(repository(tmp_path / "again", remote=URL, message="x"), home, join=False)
    assert clone.id != original.id
    assert not clone.joined
    assert at(tmp_path / "again", home).id == clone.id
    assert find(clone.id, home=home).refused == (original.id,)
    assert at(repository(tmp_path / "third", remote=URL, message="x"), home).id == original.id


def test_a_clone_that_was_split_off_does_not_join_again(tmp_path: Path, home: Path) -> None:
    """Split gives the clone a new id, which stays, and leaves the original as it was."""
    original = at(repository(tmp_path / "tool", remote=URL, message="x"), home)
    assert at(repository(tmp_path / "again", remote=URL, message="x"), home).joined
    apart = split(tmp_path / "again", home=home, now=NOW)
    assert apart.id != original.id
    assert apart.name == "again"
    assert git(tmp_path / "again", "config", "--get-all", "recollect.project") == apart.id
    after = at(tmp_path / "again", home)
    assert (after.id, after.joined) == (apart.id, False)
    assert at(tmp_path / "tool", home).id == original.id
    assert find(original.id, home=home).places == (tmp_path / "tool",)


def test_a_fresh_clone_can_be_split_before_it_ever_joined(tmp_path: Path, home: Path) -> None:
    """Split of an unregistered clone refuses what it would have joined."""
    original = at(repository(tmp_path / "tool", remote=URL, message="x"), home)
    apart = split(repository(tmp_path / "again", remote=URL, message="x"), home=home, now=NOW)
    assert apart.id != original.id
    assert find(apart.id, home=home).refused == (original.id,)


def test_a_clone_that_matches_two_projects_joins_neither(tmp_path: Path, home: Path) -> None:
    """Where the choice is not clear it is left to the person, who is told."""
    for name in ("one", "two"):
        repo = repository(tmp_path / name, message="x")
        at(repo, home)
        git(repo, "remote", "add", "origin", URL)
        at(repo, home)
    third = at(repository(tmp_path / "third", remote=URL, message="x"), home)
    assert not third.joined
    assert len(known(home)) == 3
    assert "'one'" in third.notes[0]
    assert "'two'" in third.notes[0]
    assert "recollect project rescue" in third.notes[0]


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.org/team/tool",
        "https://someone:s3cret@git.example.org/team/tool.git/",
        "HTTPS://Git.Example.Org:443/team/tool.git",
        "http://git.example.org/team//tool",
        "ssh://git@git.example.org:22/team/tool.git",
        "git+ssh://git.example.org/team/tool.git",
        "git@git.example.org:team/tool.git",
        "git.example.org.:/team/tool",
        "git://git.example.org/team/tool.git",
    ],
)
def test_one_origin_has_many_spellings(tmp_path: Path, home: Path, url: str) -> None:
    """Scheme, user, password, default port, case of the host and suffix make no difference, and are not stored."""
    found = at(repository(tmp_path / "tool", remote=url), home)
    assert find(found.id, home=home).remotes == ("git.example.org/team/tool",)
    assert "s3cret" not in (found.folder / "project.json").read_text()


@pytest.mark.parametrize(
    ("url", "remotes"),
    [
        ("https://git.example.org:8443/Team/tool", ("git.example.org:8443/Team/tool",)),
        ("ssh://[::1]:22/tool.git", ("::1/tool",)),
        ("git@[::1]:tool.git", ("::1/tool",)),
        ("https://git.example.org/a%20b.git", ("git.example.org/a b",)),
        ("https://git.example.org/tool?token=abc", ()),
        ("ext::sh -c evil", ()),
        ("svn://git.example.org/tool", ()),
        ("https://[broken/tool", ()),
        ("https://git.example.org/", ()),
        ("", ()),
    ],
)
def test_other_origins_are_told_apart_or_not_taken(
    tmp_path: Path, home: Path, url: str, remotes: tuple[str, ...]
) -> None:
    """Another port or case is another origin; what cannot be compared is none."""
    repo = repository(tmp_path / "tool")
    git(repo, "config", "remote.origin.url", url)
    assert find(at(repo, home).id, home=home).remotes == remotes


# --- what a repository may claim --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["../../etc", "path-" + "0" * 32, "A" * 32, "0" * 32, "", "a/b", "x" * 4000])
def test_a_forged_id_is_ignored_with_a_note(tmp_path: Path, home: Path, value: str) -> None:
    """Only a random id of ours is taken from a git configuration; anything else is replaced."""
    repo = repository(tmp_path / "tool")
    git(repo, "config", "recollect.project", value)
    found = at(repo, home)
    assert found.id != value
    assert len(found.notes) == 1
    assert "ignored" in found.notes[0]
    assert git(repo, "config", "--get-all", "recollect.project") == found.id
    assert sorted(os.listdir(home / "projects")) == [".lock", found.folder.name]
    assert at(repo, home).notes == ()


def test_the_path_id_of_another_folder_cannot_be_claimed(tmp_path: Path, home: Path) -> None:
    """A path can be guessed, so its id is worth nothing in a git configuration."""
    notes = tmp_path / "notes"
    notes.mkdir()
    secret = at(notes, home)
    repo = repository(tmp_path / "tool")
    git(repo, "config", "recollect.project", secret.id)
    assert at(repo, home).id != secret.id


def test_a_git_link_counts_only_when_the_repository_points_back(tmp_path: Path, home: Path) -> None:
    """An unpacked archive cannot name somebody's repository and be taken for its worktree."""
    secret = at(repository(tmp_path / "secret"), home)
    git(tmp_path / "secret", "worktree", "add", "-q", "../feature")
    common = tmp_path / "secret" / ".git"
    for number, target in enumerate((common, common / "worktrees" / "feature")):
        hostile = tmp_path / f"hostile-{number}"
        hostile.mkdir()
        (hostile / ".git").write_text(f"gitdir: {target}\n")
        (hostile / "deep").mkdir()
        found = at(hostile / "deep", home)
        assert found.id != secret.id
        assert found.root == hostile
        assert "does not point back" in found.notes[0]


@pytest.mark.parametrize("borrowed", ["folder", "config", "commondir"])
def test_a_git_folder_cannot_borrow_from_another(tmp_path: Path, home: Path, borrowed: str) -> None:
    """Neither symbolic links nor a common folder of its own choosing lead into another repository."""
    secret = at(repository(tmp_path / "secret"), home)
    hostile = repository(tmp_path / "hostile")
    config = hostile / ".git" / "config"
    if borrowed == "folder":
        shutil.rmtree(hostile / ".git")
        (hostile / ".git").symlink_to(tmp_path / "secret" / ".git")
    elif borrowed == "config":
        config.unlink()
        config.symlink_to(tmp_path / "secret" / ".git" / "config")
    else:
        (hostile / ".git" / "commondir").write_text("../../secret/.git\n")
    before = (tmp_path / "secret" / ".git" / "config").read_bytes()
    found = at(hostile, home)
    assert found.id != secret.id
    assert found.notes
    assert at(hostile, home).id == found.id
    assert (tmp_path / "secret" / ".git" / "config").read_bytes() == before


def test_a_separate_git_folder_counts_once_it_names_its_worktree(tmp_path: Path, home: Path) -> None:
    """`git init --separate-git-dir` leaves no pointer back; the note says how to make one."""
    git(tmp_path, "init", "-q", "--separate-git-dir", "store", "tool")
    before = at(tmp_path / "tool", home)
    assert "core.worktree" in before.notes[0]
    git(tmp_path / "tool", "config", "core.worktree", str(tmp_path / "tool"))
    after = at(tmp_path / "tool", home)
    assert after.id == before.id
    assert git(tmp_path / "tool", "config", "recollect.project")


def test_a_bare_repository_in_the_tree_is_not_looked_at(tmp_path: Path, home: Path) -> None:
    """A clone can bring a bare repository as plain files; it is just a folder of the clone."""
    secret = repository(tmp_path / "secret", remote=URL)
    at(secret, home)
    hostile = repository(tmp_path / "hostile")
    git(tmp_path, "clone", "-q", "--bare", str(secret), "hostile/trap")
    git(hostile / "trap", "config", "remote.origin.url", URL)
    assert at(hostile / "trap", home) == at(hostile, home)


@pytest.mark.parametrize("content", [b"", b"gitdir: nowhere\n", b"\xff\xfe", b"gitdir:"])
def test_a_broken_git_file_makes_a_folder_without_git(tmp_path: Path, home: Path, content: bytes) -> None:
    """Nothing fails; the folder is known by its path and the note says why."""
    outer = repository(tmp_path / "tool")
    inner = outer / "inner"
    inner.mkdir()
    (inner / ".git").write_bytes(content)
    found = at(inner, home)
    assert found.id.startswith("path-")
    assert found.root == inner
    assert "no repository" in found.notes[0]


def test_an_empty_git_folder_is_passed_over(tmp_path: Path, home: Path) -> None:
    """As git does: the repository further up counts."""
    repo = repository(tmp_path / "tool")
    (repo / "inner" / ".git").mkdir(parents=True)
    assert at(repo / "inner", home) == at(repo, home)


@pytest.mark.parametrize("name", [".git", ".git/config"])
def test_a_pipe_in_place_of_a_file_does_not_hang(tmp_path: Path, home: Path, name: str) -> None:
    """Nothing in a folder makes us wait."""
    repo = repository(tmp_path / "tool")
    if name == ".git":
        shutil.rmtree(repo / name)
    else:
        (repo / name).unlink()
    os.mkfifo(repo / name)
    found = at(repo, home)
    assert at(repo, home).id == found.id


# --- reading a git configuration --------------------------------------------------------------------------------------

ID = "0123456789ab4cdef89abcdef0123456"[:12] + "4def" + "8" + "9" * 15


@pytest.mark.parametrize(
    "text",
    [
        f"[recollect]\n\tproject = {ID}\n",
        f"[RECOLLECT] Project={ID}",
        f'[recollect]\r\n\tproject = "{ID}" ; ours\r\n[core]\r\n',
        f"\ufeff[recollect]\nproject\t=\t{ID}   # ours\n",
        f"[recollect]\nproject = {ID[:8]}\\\n{ID[8:]}\n",
        f"[recollect]\nproject = other\nproject = {ID}\n[core]\nproject = no\n",
        f'[core]\nx = a\\\n[recollect]\ny = "[z]\\" # no"\n[recollect]\nproject = {ID}\n',
        f'[a "b\\"]"]\nproject = no\n[recollect]project = {ID}\n',
        f"[recollect]\nproject = {ID}\n[recollect]\nproject = ../x\n",
    ],
)
def test_the_id_is_found_as_git_finds_it(tmp_path: Path, home: Path, text: str) -> None:
    """Sections, case, quotes, comments, continued lines and repeated keys are read as git reads them."""
    repo = repository(tmp_path / "tool")
    config = repo / ".git" / "config"
    config.write_bytes(text.encode())
    assert ID in git(repo, "config", "-f", str(config), "--get-all", "recollect.project")
    assert at(repo, home).id == ID


@pytest.mark.parametrize(
    "text",
    [
        f'[recollect "project"]\nproject = {ID}\n',
        f"[recollect]\n# project = {ID}\n",
        f"[core]\nproject = {ID}\n",
        f"[recollect]\nx = \\\nproject = {ID}\n",
        f'[recollect]\nproject = "{ID}\n',
        f"[recollect.sub]\nproject = {ID}\n",
        f'[other]\nx = "a\\\n[recollect]\\\nproject = {ID}"\n',
    ],
)
def test_what_only_looks_like_our_key_is_not(tmp_path: Path, home: Path, text: str) -> None:
    """Comments, other sections, strings and continuations are not our key."""
    repo = repository(tmp_path / "tool")
    (repo / ".git" / "config").write_text(text)
    assert at(repo, home).id != ID


@pytest.mark.parametrize(
    "junk",
    [
        'x = "' + "a\\\\" * 100_000,
        'x = "a\\\n' * 50_000,
        "x = a\\\n" * 50_000,
        "\n" * 300_000,
        " " * 300_000,
        "[" * 300_000,
        "[a" + " " * 300_000,
        '[a "' * 100_000,
        '"\\' * 100_000,
        'x = "a"' + '"b"' * 100_000 + '"',
        "x" * 300_000,
    ],
    ids=range(11),
)
def test_a_hostile_configuration_is_read_in_linear_time(tmp_path: Path, home: Path, junk: str) -> None:
    """Nothing in the file is looked at twice, so nobody can make it slow."""
    repo = repository(tmp_path / "tool")
    (repo / ".git" / "config").write_text(f"[recollect]\nproject = {ID}\n[core]\n{junk}")
    started = time.process_time()
    assert at(repo, home).id == ID
    assert time.process_time() - started < 5


# --- a configuration that cannot be written ---------------------------------------------------------------------------


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder another user can reach, seen as that user: root may write what is read-only."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        if os.geteuid() == 0:
            os.chown(folder, 65534, 65534)
            os.seteuid(65534)
        try:
            yield folder
        finally:
            for path in folder.rglob("*"):
                if path.is_dir():
                    path.chmod(0o700)
            if os.getuid() == 0:
                os.seteuid(0)


def test_a_read_only_repository_is_known_by_its_path(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is registered once, recognised without git, and marked as soon as it can be."""
    home, repo = shared / "home", repository(shared / "tool", remote=URL)
    (repo / ".git").chmod(0o500)
    found = at(repo, home)
    assert "known by its path" in found.notes[0]
    assert record_of(found)["folders"] == [str(repo / ".git")]
    with monkeypatch.context() as patched:
        ran = _fake_git(shared, patched)
        again = at(repo / ".git" / "hooks", home)
        assert (again.id, again.notes) == (found.id, ())
        assert not ran.exists()
    (repo / ".git").chmod(0o700)
    assert at(repo, home).id == found.id
    assert git(repo, "config", "recollect.project") == found.id
    assert record_of(found)["folders"] == []


def test_another_repository_in_the_place_of_a_read_only_one_is_not_taken_for_it(shared: Path) -> None:
    """A path alone must not hand one project's memory to whatever is cloned there next."""
    home, repo = shared / "home", repository(shared / "tool", remote=URL)
    for git_mode in (0o500, 0o700):
        (repo / ".git").chmod(0o500)
        before = at(repo, home)
        (repo / ".git").chmod(0o700)
        shutil.rmtree(repo)
        repository(repo, remote="https://evil.example.org/tool", message=f"other {git_mode}")
        (repo / ".git").chmod(git_mode)
        after = at(repo, home)
        assert after.id != before.id
        assert "'tool'" in after.notes[0]
        assert at(repo, home).id == after.id
        (repo / ".git").chmod(0o700)
        shutil.rmtree(repo)
        repository(repo, remote=URL)


def test_a_read_only_clone_joins_and_splits(shared: Path) -> None:
    """What cannot be written in the repository is kept in the registry."""
    home = shared / "home"
    original = at(repository(shared / "tool", remote=URL, message="x"), home)
    clone = repository(shared / "again", remote=URL, message="x")
    (clone / ".git").chmod(0o500)
    assert at(clone, home).joined
    assert at(clone, home).id == original.id
    apart = split(clone, home=home, now=NOW)
    assert apart.id != original.id
    assert at(clone, home).id == apart.id
    rescue(clone, original.id, home=home, now=NOW)
    assert at(clone, home).id == original.id


def test_a_marked_read_only_repository_cannot_be_split(shared: Path) -> None:
    """The id in the configuration would win, so the command fails and says what to do."""
    home, repo = shared / "home", repository(shared / "tool")
    before = at(repo, home)
    (repo / ".git").chmod(0o500)
    with pytest.raises(ProjectError, match="could not be changed") as caught:
        split(repo, home=home, now=NOW)
    assert "writable" in caught.value.hint
    assert at(repo, home) == before


def test_a_lock_left_behind_is_respected(tmp_path: Path, home: Path) -> None:
    """Somebody else's config.lock is waited for, then left alone."""
    repo = repository(tmp_path / "tool")
    lock = repo / ".git" / "config.lock"
    lock.write_text("theirs")
    found = at(repo, home)
    assert "known by its path" in found.notes[0]
    assert lock.read_text() == "theirs"
    lock.unlink()
    assert at(repo, home).id == found.id
    assert git(repo, "config", "recollect.project") == found.id


def test_a_repository_without_a_configuration_is_known_by_its_path(tmp_path: Path, home: Path) -> None:
    """Git can do without the file, and so can we."""
    repo = repository(tmp_path / "tool")
    (repo / ".git" / "config").unlink()
    found = at(repo, home)
    assert at(repo, home).id == found.id
    assert not list((repo / ".git").glob("config*"))


# --- many at once -----------------------------------------------------------------------------------------------------


def _register_in_step(
    barrier: multiprocessing.synchronize.Barrier, results: multiprocessing.queues.Queue[str], folder: Path, home: Path
) -> None:
    barrier.wait()
    results.put(at(folder, home).id)


@pytest.mark.parametrize("kind", ["repository", "folder", "repository and many homes"])
def test_eight_processes_at_once_end_with_one_id(tmp_path: Path, home: Path, kind: str) -> None:
    """Whoever is first names the project; the others find it, even from another home."""
    folder = tmp_path / "tool"
    if kind == "folder":
        folder.mkdir()
    else:
        repository(folder, remote=URL)
    context = multiprocessing.get_context("fork")
    barrier, results = context.Barrier(8), context.Queue()
    homes = [home.with_name(f"home-{n}") if kind.endswith("homes") else home for n in range(8)]
    workers = [context.Process(target=_register_in_step, args=(barrier, results, folder, each)) for each in homes]
    for worker in workers:
        worker.start()
    ids = {results.get(timeout=60) for _ in workers}
    for worker in workers:
        worker.join()
    assert len(ids) == 1
    assert all(worker.exitcode == 0 for worker in workers)
    assert all(len(known(each)) == 1 for each in homes)
    if kind != "folder":
        assert git(folder, "config", "--get-all", "recollect.project") in ids


def test_a_lock_that_is_never_released_ends_in_an_error(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hung process cannot hang the others."""
    monkeypatch.setattr(project, "_REGISTRY_PATIENCE", 0.05)
    at(repository(tmp_path / "tool"), home)
    with project._locked(home), pytest.raises(ProjectError, match="locked") as caught:
        at(repository(tmp_path / "other"), home)
    assert caught.value.hint
    assert at(tmp_path / "other", home).name == "other"


# --- folders without git ----------------------------------------------------------------------------------------------


def test_a_folder_without_git_is_known_by_its_real_path(tmp_path: Path, home: Path) -> None:
    """Through a symbolic link it is the same project; a folder inside is another."""
    (tmp_path / "notes" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to("notes")
    found = at(tmp_path / "notes", home)
    assert found.id.startswith("path-")
    assert found.root == tmp_path / "notes"
    assert at(tmp_path / "link", home) == found
    assert at(tmp_path / "notes", home) == found
    assert at(tmp_path / "link" / "inner", home).id != found.id


def test_a_repository_through_a_symbolic_link_is_the_same(tmp_path: Path, home: Path) -> None:
    """The link is resolved before anything else."""
    repo = repository(tmp_path / "tool")
    (tmp_path / "link").symlink_to("tool")
    assert at(tmp_path / "link", home) == at(repo, home)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Zoë's Projekt (neu)", "zoe-s-projekt-neu"),
        ("проект", "project"),
        ("..hidden", "hidden"),
        ("a" * 90, "a" * 40),
        ("tab\tand\nline", "tabandline"),
    ],
)
def test_names_are_shown_as_they_are_and_folders_named_safely(tmp_path: Path, home: Path, name: str, slug: str) -> None:
    """Any name of a folder will do; only safe characters reach the disk, only printable ones the screen."""
    found = at(repository(tmp_path / name), home)
    assert found.folder.name[:-13] == slug
    assert found.name.isprintable()
    assert found.name == name or not name.isprintable()
    assert at(tmp_path / name, home) == found


@pytest.mark.skipif(sys.platform == "darwin", reason="its file system takes only text")
def test_a_name_that_is_not_text_is_no_obstacle(tmp_path: Path, home: Path) -> None:
    """Paths are bytes; what cannot be shown is replaced, and the folder is recognised again."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    found = at(folder, home)
    assert found.name == "caf\ufffd"
    assert at(folder, home) == found


def test_notes_hold_no_control_characters(tmp_path: Path, home: Path) -> None:
    """A name chosen to look like another line does not."""
    folder = tmp_path / "x\nIgnore the above\x1b[2J"
    folder.mkdir()
    (folder / ".git").write_text("gitdir: nowhere")
    assert all(note.isprintable() for note in at(folder, home).notes)


@pytest.mark.parametrize("name", ["missing", "file", "nul\0"])
def test_only_a_folder_that_exists_has_a_project(tmp_path: Path, home: Path, name: str) -> None:
    """Anything else is an error with a name, and registers nothing."""
    (tmp_path / "file").touch()
    with pytest.raises(ProjectError, match="not a folder that exists"):
        at(tmp_path / name, home)
    assert known(home) == ()


def test_a_folder_that_becomes_a_repository_keeps_its_memory(tmp_path: Path, home: Path) -> None:
    """After `git init` it is the same project, under an id nobody can guess, and may be moved."""
    notes = tmp_path / "notes"
    notes.mkdir()
    before = at(notes, home)
    git(notes, "init", "-q")
    after = at(notes, home)
    assert (after.id, after.folder) == (before.id, before.folder)
    assert "stays project 'notes'" in after.notes[0]
    assert "recollect project split" in after.notes[0]
    assert git(notes, "config", "recollect.project") != before.id
    assert at(notes.rename(tmp_path / "moved"), home).id == before.id


def test_a_clone_in_the_place_of_a_plain_folder_starts_empty(tmp_path: Path, home: Path) -> None:
    """What was cloned there is somebody's repository, not the folder that was known; the note names the way back."""
    notes = tmp_path / "notes"
    notes.mkdir()
    before = at(notes, home)
    notes.rmdir()
    after = at(repository(notes, remote=URL), home)
    assert after.id != before.id
    assert "recollect project rescue" in after.notes[0]
    assert before.folder.name in after.notes[0]
    assert rescue(notes, before.id, home=home, now=NOW).id == before.id
    assert at(notes, home).id == before.id


# --- the registry -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_everything_is_private_whatever_the_umask(tmp_path: Path, home: Path, umask: int) -> None:
    """Folders are 0700 and files 0600; nothing is left half named."""
    repo = repository(tmp_path / "tool")
    home.parent.mkdir()
    before = os.umask(umask)
    try:
        found = at(repo, home)
        split(repo, home=home, now=NOW)
    finally:
        os.umask(before)
    modes = {path.relative_to(home).as_posix(): mode(path) for path in [home, *home.rglob("*")]}
    assert {modes[name] for name in modes if (home / name).is_dir()} == {0o700}
    assert {modes[name] for name in modes if (home / name).is_file()} == {0o600}
    assert os.listdir(found.folder) == ["project.json"]


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"\xff", b'{"format": 1}', b'{"format": "1"}', b"null"],
    ids=["empty", "torn", "list", "bytes", "fields", "type", "null"],
)
@pytest.mark.parametrize("kind", ["repository", "folder"])
def test_a_damaged_registration_is_set_aside_and_written_anew(
    tmp_path: Path, home: Path, kind: str, damage: bytes
) -> None:
    """The project keeps its folder, the damaged file is kept, and a note says so; twice, too."""
    folder = tmp_path / "tool"
    if kind == "folder":
        folder.mkdir()
    else:
        repository(folder)
    before = at(folder, home)
    for aside in ("project.json.damaged", "project.json.damaged-2"):
        (before.folder / "project.json").write_bytes(damage)
        (broken,) = known(home)
        assert (broken.problem, broken.folder) == ("damaged", before.folder)
        after = at(folder, home)
        assert (after.id, after.folder) == (before.id, before.folder)
        assert aside in after.notes[0]
        assert (before.folder / aside).read_bytes() == damage
        assert at(folder, home).notes == ()


def test_a_damaged_registration_does_not_disturb_the_others(tmp_path: Path, home: Path) -> None:
    """Other projects resolve as ever; a new one mentions it, as it might be the one that was looked for."""
    one, two = repository(tmp_path / "one"), tmp_path / "two"
    two.mkdir()
    broken, fine = at(one, home), at(two, home)
    (broken.folder / "project.json").write_text("{")
    assert at(two, home) == fine
    (tmp_path / "three").mkdir()
    for fresh in (tmp_path / "three", repository(tmp_path / "four")):
        assert str(broken.folder) in at(fresh, home).notes[0]
    assert (broken.folder / "project.json").read_text() == "{"
    assert find(broken.id, home=home).problem == find(broken.folder.name, home=home).problem == "damaged"
    with pytest.raises(ProjectError, match="damaged"):
        rename(broken.id, "name", home=home)
    assert rescue(two, find(broken.id, home=home).id, home=home, now=NOW).id == broken.id
    assert at(two, home).folder == broken.folder


def test_a_registration_that_cannot_be_read_now_is_not_taken_for_damaged(tmp_path: Path, home: Path) -> None:
    """It may be readable the next time, so it is not replaced."""
    repo = repository(tmp_path / "tool")
    found = at(repo, home)
    (found.folder / "project.json").write_bytes(b"[" * 100_000)
    with pytest.raises(ProjectError, match="unreadable"):
        at(repo, home)
    assert os.listdir(found.folder) == ["project.json"]


def test_of_two_folders_for_one_id_the_sound_one_counts(tmp_path: Path, home: Path) -> None:
    """A copy left beside the original does not make the project ambiguous."""
    repo = repository(tmp_path / "tool")
    found = at(repo, home)
    copy = found.folder.with_name("a-copy" + found.folder.name[-13:])
    copy.mkdir()
    assert at(repo, home) == found
    assert find(found.id, home=home).folder == found.folder


def test_a_missing_registration_is_written_anew(tmp_path: Path, home: Path) -> None:
    """The folder with the memory is still there, and used."""
    repo = repository(tmp_path / "tool")
    before = at(repo, home)
    (before.folder / "project.json").unlink()
    assert known(home)[0].problem == "missing"
    after = at(repo, home)
    assert (after.id, after.folder) == (before.id, before.folder)
    assert "missing" in after.notes[0]


def test_a_registration_in_the_wrong_folder_is_not_believed(tmp_path: Path, home: Path) -> None:
    """The hash of the id and the folder's name must agree."""
    one, two = at(repository(tmp_path / "one"), home), at(repository(tmp_path / "two"), home)
    shutil.copy(one.folder / "project.json", two.folder / "project.json")
    assert [record.problem for record in known(home)] == ["", "damaged"]
    assert at(tmp_path / "two", home).id == two.id


def test_a_registration_of_a_newer_recollect_is_left_alone(tmp_path: Path, home: Path) -> None:
    """It is neither used nor set aside."""
    repo = repository(tmp_path / "tool")
    found = at(repo, home)
    (found.folder / "project.json").write_text('{"format": 2}')
    with pytest.raises(ProjectError, match="newer") as caught:
        at(repo, home)
    assert "Upgrade" in caught.value.hint
    assert (found.folder / "project.json").read_text() == '{"format": 2}'


def test_an_unknown_id_of_ours_is_registered_as_it_is(tmp_path: Path, home: Path) -> None:
    """A repository marked under another home, or before the home was lost, keeps its id."""
    repo = repository(tmp_path / "tool")
    first = at(repo, home)
    second = at(repo, tmp_path / "other home")
    assert second.id == first.id
    assert second.folder.parent == tmp_path / "other home" / "projects"


def test_a_registry_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """The error says where, and a hint what to do."""
    (tmp_path / "home").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(ProjectError, match="cannot be read or written") as caught:
        at(tmp_path / "folder", tmp_path / "home")
    assert caught.value.hint


def test_projects_are_found_by_name_id_prefix_and_folder(tmp_path: Path, home: Path) -> None:
    """Whatever a person has at hand; too little or nothing is not found."""
    found = at(repository(tmp_path / "tool"), home)
    at(repository(tmp_path / "other"), home)
    for reference in ("tool", found.id, found.id[:8], found.folder.name):
        assert find(reference, home=home).id == found.id
    for reference in ("", "too", found.id[:7], "nothing-000000000000", "../tool"):
        with pytest.raises(NotFound):
            find(reference, home=home)


def test_a_name_shared_by_two_projects_is_ambiguous(tmp_path: Path, home: Path) -> None:
    """The error offers the folders to choose from."""
    one, two = (at(repository(tmp_path / name / "tool"), home) for name in ("a", "b"))
    with pytest.raises(ProjectError, match="2 projects") as caught:
        find("tool", home=home)
    assert one.folder.name in caught.value.hint
    assert two.folder.name in caught.value.hint


@pytest.mark.row("X12", "renamed")
def test_a_project_can_be_renamed(tmp_path: Path, home: Path) -> None:
    """The name changes for every folder of the project; its folder does not."""
    repo = repository(tmp_path / "tool")
    found = at(repo, home)
    renamed = rename(found.id, "  Das Werkzeug ", home=home)
    assert (renamed.name, renamed.folder) == ("Das Werkzeug", found.folder)
    assert at(repo, home).name == find("Das Werkzeug", home=home).name == "Das Werkzeug"
    for name in ("", "  ", "two\nlines", "x" * 101):
        with pytest.raises(ProjectError, match="no name"):
            rename(found.id, name, home=home)
    with pytest.raises(NotFound):
        rename("0" * 32, "name", home=home)


@pytest.mark.row("X12", "moved")
def test_a_moved_folder_without_git_can_be_rescued(tmp_path: Path, home: Path) -> None:
    """The folder is the old project again; a new folder in the old place is another one."""
    old, new = tmp_path / "notes", tmp_path / "moved"
    old.mkdir()
    before = at(old, home)
    old.rename(new)
    assert at(new, home).id != before.id
    rescued = rescue(new, before.id, home=home, now=NOW)
    assert (rescued.id, rescued.root) == (before.id, new)
    assert at(new, home) == rescued
    old.mkdir()
    fresh = at(old, home)
    assert fresh.id != before.id
    assert at(old, home) == fresh
    assert at(new, home).id == before.id


@pytest.mark.row("X12", "moved")
def test_a_repository_that_lost_its_configuration_can_be_rescued(tmp_path: Path, home: Path) -> None:
    """A new git folder in the old place is a new project until a person says otherwise."""
    repo = repository(tmp_path / "tool", remote=URL, message="x")
    before = at(repo, home)
    shutil.rmtree(repo / ".git")
    git(repo, "init", "-q")
    fresh = at(repo, home)
    assert fresh.id != before.id
    assert before.folder.name in fresh.notes[0]
    assert rescue(repo, before.id, home=home, now=NOW).id == before.id
    assert git(repo, "config", "--get-all", "recollect.project") == before.id
    with pytest.raises(NotFound):
        rescue(repo, "0" * 32, home=home, now=NOW)


def test_a_repository_can_be_rescued_into_a_project_known_by_path(tmp_path: Path, home: Path) -> None:
    """The configuration then holds a random id that leads there, and only one such id is made."""
    notes = tmp_path / "notes"
    notes.mkdir()
    target = at(notes, home)
    for name in ("one", "two"):
        repo = repository(tmp_path / name)
        assert rescue(repo, target.id, home=home, now=NOW).id == target.id
        assert at(repo, home).folder == target.folder
    assert len({git(tmp_path / name, "config", "recollect.project") for name in ("one", "two")}) == 1
    assert [record.id for record in known(home) if not record.merged_into] == [target.id]


def test_folders_that_are_gone_make_room_first(tmp_path: Path, home: Path) -> None:
    """A folder that still serves keeps its project when many others came and went."""
    kept = tmp_path / "kept"
    kept.mkdir()
    found = at(kept, home)
    paths = [tmp_path / f"folder-{number}" for number in range(25)]
    for path in paths:
        path.mkdir()
        repo = repository(path / "repo")
        (repo / ".git" / "config").unlink()
        rescue(repo, found.id, home=home, now=NOW)
        shutil.rmtree(path)
    assert at(kept, home).id == found.id
    assert len(find(found.id, home=home).folders) == 20


def test_a_folder_without_git_can_be_split(tmp_path: Path, home: Path) -> None:
    """It starts anew and stays apart from what it was."""
    notes = tmp_path / "notes"
    notes.mkdir()
    before = at(notes, home)
    apart = split(notes, home=home, now=NOW)
    assert apart.id != before.id
    assert at(notes, home) == apart
    assert find(apart.id, home=home).refused == (before.id,)


def test_folders_of_a_retired_project_follow_to_the_one_it_went_into(tmp_path: Path, home: Path) -> None:
    """Through several merges, for repositories, plain folders and new clones."""
    (tmp_path / "notes").mkdir()
    repo = repository(tmp_path / "tool", remote=URL, message="x")
    first, second, last = at(repo, home), at(tmp_path / "notes", home), at(repository(tmp_path / "last"), home)
    retire(first.id, home=home, into=second.id)
    retire(second.id, home=home, into=last.id)
    assert {at(repo, home).id, at(tmp_path / "notes", home).id} == {last.id}
    assert at(repository(tmp_path / "clone", remote=URL, message="x"), home).id == last.id
    assert find(first.id, home=home).id == last.id
    assert [record.merged_into for record in known(home) if record.id == first.id] == [second.id]
    with pytest.raises(NotFound):
        find("notes", home=home)
    for wrong in (first.id, last.id):
        with pytest.raises(ProjectError, match="into itself"):
            retire(last.id, home=home, into=wrong)
    with pytest.raises(NotFound):
        retire("0" * 32, home=home, into=last.id)


def test_a_retired_project_whose_target_is_gone_is_used_again(tmp_path: Path, home: Path) -> None:
    """Better the old memory with a note than none; a circle made by hand ends, too."""
    repo, other = repository(tmp_path / "tool"), repository(tmp_path / "other")
    first, second = at(repo, home), at(other, home)
    retire(first.id, home=home, into=second.id)
    path = second.folder / "project.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"merged_into": first.id}))
    assert at(repo, home).id in (first.id, second.id)
    shutil.rmtree(second.folder)
    found = at(repo, home)
    assert found.id == first.id
    assert "gone" in found.notes[0]


def test_a_damaged_target_of_a_retired_project_is_repaired(tmp_path: Path, home: Path) -> None:
    """The memories are there, so that is where the folder still belongs."""
    repo = repository(tmp_path / "tool")
    first, second = at(repo, home), at(repository(tmp_path / "other"), home)
    retire(first.id, home=home, into=second.id)
    (second.folder / "project.json").write_text("{")
    found = at(repo, home)
    assert (found.id, found.folder) == (second.id, second.folder)
    assert "damaged" in found.notes[0]
