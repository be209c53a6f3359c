"""Memories against the working tree: real repositories with the real git, and trees that are broken or hostile."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import process_time

import pytest

from recollect.engine import anchors
from recollect.engine.anchors import Stale, WorkingTree, check, file_hash
from recollect.model import Anchor, Memory, Uid

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def memory(content: str = "Something", *files: Anchor) -> Memory:
    return Memory(uid=Uid("m"), content=content, anchors=files, created_at=NOW, updated_at=NOW)


def git(folder: Path, *arguments: str, given: str = "") -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, input=given, capture_output=True, check=True, text=True)
    return done.stdout


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def commit(root: Path, files: dict[str, str] | None = None) -> None:
    write(root, files or {})
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "a step")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with one file and one commit."""
    folder = tmp_path / "tool"
    folder.mkdir()
    git(folder, "init", "-q")
    commit(folder, {"src/app.py": "def start_app():\n    return 1\n"})
    return folder


def found(content: str, root: Path, *files: Anchor) -> list[tuple[str, str, bool]]:
    return [(each.mention.text, each.state, each.strong) for each in stale(content, root, *files)]


def stale(content: str, root: Path, *files: Anchor) -> tuple[Stale, ...]:
    return check(memory(content, *files), WorkingTree.read(root))


# --- all of it --------------------------------------------------------------------------------------------------------


@pytest.mark.row("J25", "facts")
def test_what_a_memory_says_is_checked_against_the_code(root: Path) -> None:
    """While it is true nothing is said of it; after the code moved on, each fact that fell is told, with what is so."""
    commit(
        root,
        {
            "src/auth/login.py": "class SessionStore:\n    def renew_token(self): ...\n",
            "src/auth/old.py": "def legacy_hash(): return 'some longer text so that this file is like no other'\n",
            "pyproject.toml": '[project]\nrequires-python = ">=3.11,<3.12"\n',
            "Makefile": "deploy:\n\t./ship\n\ntest:\n\tpytest\n",
        },
    )
    facts = memory(
        "Sign-in is in src/auth/login.py and `legacy_hash()` in src/auth/old.py. It needs Python 3.11. "
        "Ship it with `make deploy`.",
        Anchor(path="src/auth/login.py", symbol="SessionStore.renew_token"),
        Anchor(path="src/app.py", symbol="start_app", content_hash=file_hash(root / "src/app.py")),
    )
    assert check(facts, WorkingTree.read(root)) == ()

    git(root, "mv", "src/auth/login.py", "src/auth/session.py")
    git(root, "rm", "-q", "src/auth/old.py")
    commit(
        root,
        {
            "src/app.py": "def run():\n    return 1\n",
            "pyproject.toml": '[project]\nrequires-python = ">=3.12"\n',
            "Makefile": "test:\n\tpytest\n",
        },
    )
    told = [(each.mention.text, each.state, each.strong, each.detail) for each in check(facts, WorkingTree.read(root))]
    assert told == [
        ("src/auth/login.py", "moved", True, "renamed to src/auth/session.py"),
        ("src/app.py", "changed", False, "src/app.py has other content now"),
        ("start_app", "gone", True, "no longer in src/app.py"),
        ("legacy_hash", "gone", True, "legacy_hash: removed, and in no file now"),
        ("src/auth/old.py", "gone", True, "src/auth/old.py was removed"),
        ("3.11", "changed", True, "pyproject.toml has python >=3.12"),
        ("make deploy", "gone", True, "Makefile has no deploy"),
    ]


# --- paths ------------------------------------------------------------------------------------------------------------


def test_a_path_that_is_there_or_ends_one_that_is(root: Path) -> None:
    """Memories name files from the root, from a package or by name alone; folders, ignored and new files count."""
    write(root, {".gitignore": "local.toml\n", "config/local.toml": "", "src/new_one.py": ""})
    content = "`src/`, src/app.py, app.py, `config/local.toml`, new_one.py and ./src/app.py are used"
    assert found(content, root) == []


def test_a_path_nobody_knows_is_a_weak_finding(root: Path) -> None:
    """It may be about another project."""
    assert found("see src/nowhere.py", root) == [("src/nowhere.py", "unknown", False)]


def test_an_anchored_path_that_is_not_there_is_gone(root: Path) -> None:
    """The memory itself says that it was there, with or without a line."""
    told = found("Something", root, Anchor(path="src/nowhere.py:12"), Anchor(path=str(root / "src/no.py")))
    assert told == [("src/nowhere.py", "gone", True), (str(root / "src/no.py"), "gone", True)]


def test_a_rename_is_followed_to_the_last_name(root: Path) -> None:
    """Through several commits, and to nothing where the last name is gone as well."""
    for old, new in (("src/app.py", "src/main.py"), ("src/main.py", "src/entry.py")):
        git(root, "mv", old, new)
        commit(root)
    assert [each.detail for each in stale("see src/app.py", root)] == ["renamed to src/entry.py"]
    git(root, "rm", "-q", "src/entry.py")
    commit(root)
    assert found("see src/app.py", root) == [("src/app.py", "gone", True)]


def test_a_folder_that_was_renamed(root: Path) -> None:
    """It moved where its files went under their own names."""
    commit(root, {"src/auth/a.py": "alpha = 1\n" * 9, "src/auth/b.py": "beta = 2\n" * 9})
    git(root, "mv", "src/auth", "src/identity")
    commit(root)
    assert [each.detail for each in stale("all under `src/auth/`", root)] == ["renamed to src/identity"]


def test_what_is_not_committed_yet_counts(root: Path) -> None:
    """A file deleted on disk only, and a rename that is only staged."""
    commit(root, {"src/other.py": "other = 3\n" * 9})
    (root / "src/other.py").unlink()
    git(root, "mv", "src/app.py", "src/main.py")
    assert found("src/other.py and src/app.py", root) == [("src/other.py", "gone", True), ("src/app.py", "moved", True)]


def test_a_path_that_came_back_is_there(root: Path) -> None:
    """What history removed does not matter for what is there; and of several ends the last one counts."""
    git(root, "mv", "src/app.py", "src/main.py")
    commit(root)
    commit(root, {"src/app.py": "again = 1\n"})
    assert found("see src/app.py", root) == []
    git(root, "rm", "-q", "src/app.py")
    commit(root)
    assert found("see src/app.py", root) == [("src/app.py", "gone", True)]


def test_a_part_of_a_repository(root: Path) -> None:
    """A tree that begins below the root of its repository knows its own part, by its own paths."""
    commit(root, {"web/page.ts": "let a = 1\n", "web/old.ts": "let b = 'something else entirely'\n"})
    git(root, "rm", "-q", "web/old.ts", "src/app.py")
    commit(root)
    told = found("page.ts, old.ts, web/page.ts and app.py", root / "web")
    assert told == [("old.ts", "gone", True), ("web/page.ts", "unknown", False), ("app.py", "unknown", False)]


def test_a_linked_worktree_has_its_own_files(root: Path, tmp_path: Path) -> None:
    """Its index and head are not those of the main one."""
    git(root, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = tmp_path / "side"
    git(side, "mv", "src/app.py", "src/side.py")
    commit(side)
    assert found("see src/app.py", root) == []
    assert [each.detail for each in stale("see src/app.py", side)] == ["renamed to src/side.py"]


def test_content_that_changed_is_told_by_its_hash(root: Path) -> None:
    """The hash is of the bytes of the file."""
    held = file_hash(root / "src/app.py")
    assert held == hashlib.sha256((root / "src/app.py").read_bytes()).hexdigest()
    assert found("Something", root, Anchor(path="src/app.py", content_hash=held)) == []
    write(root, {"src/app.py": "def start_app(): ...\n"})
    assert found("Something", root, Anchor(path="src/app.py", content_hash=held)) == [("src/app.py", "changed", False)]


def test_what_has_no_hash(tmp_path: Path) -> None:
    """Folders, pipes and what is not there."""
    os.mkfifo(tmp_path / "pipe")
    assert [file_hash(tmp_path / name) for name in ("", "pipe", "missing", "a\0b")] == ["", "", "", ""]


# --- symbols ----------------------------------------------------------------------------------------------------------


def test_a_symbol_in_any_text_is_there(root: Path) -> None:
    """In code, in other text, and as the name of a file."""
    commit(root, {"docs/notes.txt": "call other_name first", "src/third_name.py": "", "a.js": "const { fooBar } = x"})
    content = "`start_app()`, `other_name`, `third_name` and `fooBar`"
    assert found(content, root) == []


def test_a_symbol_that_is_nowhere(root: Path) -> None:
    """Weak on its own; strong when history removed it, or when the memory is anchored to this tree."""
    commit(root, {"src/extra.py": "def once_here(): ...\n"})
    commit(root, {"src/extra.py": "def now_here(): ...\n"})
    assert found("`never_here` and `once_here`", root) == [
        ("never_here", "unknown", False),
        ("once_here", "gone", True),
    ]
    assert found("`never_here`", root, Anchor(path="src/app.py")) == [("never_here", "gone", True)]
    assert found("`now_here.never_here`", root) == [("now_here.never_here", "unknown", False)]


def test_an_anchor_of_another_tree_makes_nothing_strong(root: Path) -> None:
    """The path is gone by the memory's word; what its text names may belong there, too."""
    told = found("`never_here`", root, Anchor(path="lib/foreign.rb"))
    assert told == [("lib/foreign.rb", "gone", True), ("never_here", "unknown", False)]


def test_an_anchored_symbol_must_be_in_its_file(root: Path) -> None:
    """Elsewhere it has moved, nowhere it is gone, and a file that is gone is told once."""
    commit(root, {"src/b.py": "def start_other(): ...\n"})
    told = [
        *found("x", root, Anchor(path="src/app.py", symbol="start_app")),
        *found("x", root, Anchor(path="src/app.py", symbol="start_other")),
        *found("x", root, Anchor(path="src/app.py", symbol="Nothing.at_all")),
        *found("x", root, Anchor(path="src/none.py", symbol="start_app")),
    ]
    assert told == [("start_other", "moved", True), ("Nothing.at_all", "gone", True), ("src/none.py", "gone", True)]


def test_what_agents_were_told_proves_nothing(root: Path) -> None:
    """A memory is not true because a file of memories says the same."""
    commit(root, {"CLAUDE.md": "call only_told()", ".claude/memory/a.md": "`only_told`", "src/.cursor/x": "only_told"})
    assert found("`only_told()` is slow", root) == [("only_told", "unknown", False)]


def test_text_that_was_not_read_may_hold_the_name(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A source file that is too large silences names; data and pictures of that size do not."""
    monkeypatch.setattr(anchors, "_MOST_WORDS_READ", 1_000)
    commit(root, {"data.json": json.dumps(["x" * 2_000])})
    (root / "picture.py").write_bytes(b"\0" * 2_000)
    assert found("`never_here`", root) == [("never_here", "unknown", False)]
    commit(root, {"src/large.py": "x = 1\n" * 1_000})
    assert found("`never_here`", root) == []


# --- versions ---------------------------------------------------------------------------------------------------------

PYPROJECT = """
[project]
requires-python = ">=3.12"
dependencies = ["pydantic>=2.5,<3", "httpx[http2] ~= 0.27 ; python_version > '3'", "tool @ https://x/y.whl"]
[project.optional-dependencies]
dev = ["pytest==8.4.1"]
[dependency-groups]
lint = ["ruff>=0.5"]
"""
POETRY = '[tool.poetry.dependencies]\npython = "^3.11"\ndjango = { version = "^4.2" }\n'
PACKAGE = json.dumps(
    {
        "dependencies": {"react": "^18.2.0", "zod": "workspace:*"},
        "devDependencies": {"typescript": "~5.4.2"},
        "engines": {"node": ">=20"},
        "packageManager": "pnpm@9.1.0+sha512.abc",
    }
)
CARGO = '[package]\nrust-version = "1.75"\n[dependencies]\ntokio = { version = "1.38" }\nserde = "1"\n'
GO = "module x\n\ngo 1.22\n\nrequire (\n\tgithub.com/go-redis/redis/v9 v9.5.1\n)\n"
UV_LOCK = '[[package]]\nname = "numpy"\nversion = "2.1.3"\n'
NPM_LOCK = json.dumps({"packages": {"": {}, "node_modules/react": {"version": "19.0.0"}}})


@pytest.mark.parametrize(
    "name, text, content, told",
    [
        ("pyproject.toml", PYPROJECT, "needs Python 3.12", []),
        ("pyproject.toml", PYPROJECT, "needs Python 3.11", [("3.11", "changed", True)]),
        ("pyproject.toml", PYPROJECT, "Python 3.11+ is fine", []),
        ("pyproject.toml", PYPROJECT, "uses pydantic 2.9", []),
        ("pyproject.toml", PYPROJECT, "uses pydantic 1.10", [("1.10", "changed", True)]),
        ("pyproject.toml", PYPROJECT, "uses httpx 0.28", []),
        ("pyproject.toml", PYPROJECT, "uses httpx 1.0", [("1.0", "changed", True)]),
        ("pyproject.toml", PYPROJECT, "uses pytest 7.4", [("7.4", "changed", True)]),
        ("pyproject.toml", PYPROJECT, "uses ruff 0.4", [("0.4", "changed", True)]),
        ("pyproject.toml", PYPROJECT, "uses Django 4.2", []),
        ("pyproject.toml", POETRY, "on Python 3.10", [("3.10", "changed", True)]),
        ("pyproject.toml", POETRY, "uses Django 5.0", [("5.0", "changed", True)]),
        ("requirements/dev.txt", "# x\n-r a.txt\nDjango==4.2.7 --hash=a\n", "uses Django 4.2", []),
        ("requirements-dev.txt", "Django==5.0.1\n", "uses Django 4.2", [("4.2", "changed", True)]),
        ("package.json", PACKAGE, "uses React 18 with TypeScript 5.4", []),
        ("package.json", PACKAGE, "uses React 17", [("17", "changed", True)]),
        ("package.json", PACKAGE, "TypeScript 4.9 is pinned", [("4.9", "changed", True)]),
        ("package.json", PACKAGE, "node 18 is enough", [("18", "changed", True)]),
        ("package.json", PACKAGE, "uses pnpm 8", [("8", "changed", True)]),
        ("package.json", PACKAGE, "uses zod 3.22", []),
        ("Cargo.toml", CARGO, "tokio 1.40 and serde 1.0.200", []),
        ("Cargo.toml", CARGO, "uses tokio 0.2 on Rust 1.70", [("0.2", "changed", True), ("1.70", "changed", True)]),
        ("go.mod", GO, "built with Golang 1.21", [("1.21", "changed", True)]),
        ("go.mod", GO, "uses redis 8.0", [("8.0", "changed", True)]),
        (".python-version", "3.12.4\n", "on Python 3.11", [("3.11", "changed", True)]),
        (".nvmrc", "v20.11.0\n", "on Node 18", [("18", "changed", True)]),
        (".nvmrc", "lts/iron\n", "on Node 18", []),
        (".tool-versions", "nodejs 20.1.0\npython 3.12.1 3.11.9 # two\n", "Python 3.11 and Node 20", []),
        ("uv.lock", UV_LOCK, "uses numpy 1.26", [("1.26", "changed", True)]),
        ("package-lock.json", NPM_LOCK, "uses React 18", [("18", "changed", True)]),
    ],
)
def test_versions(root: Path, name: str, text: str, content: str, told: list[tuple[str, str, bool]]) -> None:
    """What is declared contradicts a version just when it leaves no room for it."""
    commit(root, {name: text})
    assert found(content, root) == told


def test_any_declaration_that_admits_a_version_is_enough(root: Path) -> None:
    """Parts of one tree may use different versions."""
    commit(root, {"a/package.json": '{"dependencies": {"react": "^17"}}', "b/package.json": PACKAGE})
    assert found("uses React 17", root) == []
    assert found("uses React 16", root) == [("16", "changed", True)]


def test_a_lock_file_of_another_major_version_is_a_weak_finding(root: Path) -> None:
    """The range admits it, and what is in use is another one."""
    commit(root, {"pyproject.toml": '[project]\ndependencies = ["numpy>=1.20"]\n', "uv.lock": UV_LOCK})
    assert found("uses numpy 1.26", root) == [("1.26", "changed", False)]
    assert found("uses numpy 2.0", root) == []


# --- commands ---------------------------------------------------------------------------------------------------------

MAKEFILE = (
    "STAMP := .ready\nX ?= y\n.PHONY: all lint\nall lint: $(STAMP)\n\techo a:b\n$(STAMP):\nbuild/%.o: %.c\nfix::\n"
    "# note: this\ninclude more.mk\n"
)
JUSTFILE = "set shell := ['sh']\nname := 'x'\nalias b := build\n@build target='a': lint\n  echo\nlint:\n"
SCRIPTS = json.dumps({"scripts": {"lint": "eslint .", "test": "vitest"}, "devDependencies": {"vitest": "1"}})
TOX = "[tox]\nenvlist = py{311,312}-django{42,50}, docs\n[testenv:lint]\n"
NOX = "import nox\n@nox.session\ndef lint(session): ...\n"
PYTHON = '[project]\ndependencies = ["pytest"]\n[project.scripts]\nserve = "a:b"\n'


@pytest.mark.parametrize(
    "name, text, content, told",
    [
        ("Makefile", MAKEFILE, "`make all`, `make lint`, `make fix` and `make extra`", []),
        ("Makefile", MAKEFILE, "`make deploy`", [("make deploy", "gone", True)]),
        ("Makefile", MAKEFILE, "`make note`", [("make note", "gone", True)]),
        ("Makefile", "%: x\n\techo\n", "`make deploy`", []),
        ("Makefile", "$(wildcard x):\n", "`make deploy`", []),
        ("Makefile", "a:\ninclude $(D)/x.mk\n", "`make deploy`", []),
        ("docs/Makefile", "html:\n", "`make html`", []),
        ("docs/Makefile", "html:\n", "`make pdf`", [("make pdf", "gone", False)]),
        ("README.md", "", "`make deploy`, `npm run lint`, `tox -e lint`, `just x` and `uv run y`", []),
        ("justfile", JUSTFILE, "`just build`, `just b` and `just lint`", []),
        ("justfile", JUSTFILE, "`just deploy`", [("just deploy", "gone", True)]),
        ("justfile", "import 'x.just'\na:\n", "`just deploy`", []),
        ("package.json", SCRIPTS, "`npm run lint`, `npm test`, `pnpm vitest` and `yarn lint`", []),
        ("package.json", SCRIPTS, "`npm run build`", [("npm run build", "gone", True)]),
        ("package.json", SCRIPTS, "`yarn build`", [("yarn build", "gone", False)]),
        ("package.json", SCRIPTS, "`npm start`", [("npm start", "gone", False)]),
        ("tox.ini", TOX, "`tox -e lint`, `tox -e py311-django42`, `tox -e docs` and `tox -e py310`", []),
        ("tox.ini", TOX, "`tox -e types`", [("tox -e types", "gone", False)]),
        (
            "tox.toml",
            'env_list = ["docs"]\n[env.lint]\n',
            "`tox -e lint,docs,types`",
            [("tox -e types", "gone", False)],
        ),
        ("noxfile.py", NOX, "`nox -s lint`", []),
        ("noxfile.py", NOX, "`nox -s types`", [("nox -s types", "gone", False)]),
        ("pyproject.toml", PYTHON, "`uv run serve`, `uv run pytest` and `uv run python`", []),
        ("pyproject.toml", PYTHON, "`poetry run migrate`", [("poetry run migrate", "unknown", False)]),
        ("Cargo.toml", "", "cargo xtask", [("cargo xtask", "gone", False)]),
        ("xtask/Cargo.toml", "", "cargo xtask", []),
        ("scripts/seed.sh", "", "`./scripts/seed.sh`", []),
        ("scripts/seed.sh", "", "`./scripts/drop.sh`", [("./scripts/drop.sh", "unknown", False)]),
    ],
)
def test_commands(root: Path, name: str, text: str, content: str, told: list[tuple[str, str, bool]]) -> None:
    """A target that its runner's file does not have is gone, unless the file can make more than it says."""
    commit(root, {name: text, **({"more.mk": "extra:\n"} if "more.mk" in text else {})})
    assert found(content, root) == told


# --- what cannot be read ----------------------------------------------------------------------------------------------


def test_no_folder(tmp_path: Path) -> None:
    """Nothing is there, so nothing is said."""
    write(tmp_path, {"file": ""})
    for name in ("missing", "file", "a\0b"):
        assert found("src/app.py, `make all`, Python 3.1 and `some_name`", tmp_path / name, Anchor(path="x.py")) == []


def test_no_git(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tree is walked, less what is made or downloaded; there is no history to make anything strong."""
    write(root, {"node_modules/x/only_there.js": "deep_name", "Makefile": "all:\n"})
    monkeypatch.setenv("PATH", str(tmp_path))
    content = "app.py, only_there.js, `start_app`, `deep_name` and `make no`"
    expected = [
        ("only_there.js", "unknown", False),
        ("deep_name", "unknown", False),
        ("make no", "gone", True),
    ]
    assert found(content, root) == expected
    (root / ".git").rename(tmp_path / "elsewhere")
    assert found(content, root) == expected


@pytest.mark.parametrize("ruined", ["", "index", "HEAD", "config"])
def test_a_repository_without_a_commit_or_in_ruins(tmp_path: Path, ruined: str) -> None:
    """What git cannot say is not held against the memory."""
    git(tmp_path, "init", "-q")
    write(tmp_path, {"src/a.py": "some_name = 1"})
    if ruined:
        (tmp_path / ".git" / ruined).write_bytes(b"junk")
    assert found("src/a.py has `some_name`", tmp_path) == []
    assert found("src/b.py", tmp_path) == [("src/b.py", "unknown", False)]


def test_nothing_outside_the_tree_is_looked_at(root: Path, tmp_path: Path) -> None:
    """Neither through links, nor up the folders, nor by absolute paths; not even to say whether it is there."""
    write(tmp_path, {"outside/secret.py": "secret_name = 1", "outside/Makefile": "steal:\n"})
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "file.py").symlink_to(tmp_path / "outside/secret.py")
    (root / "Makefile").symlink_to(tmp_path / "outside/Makefile")
    commit(root)
    secret = Anchor(path="link/secret.py", symbol="no_such", content_hash="00")
    linked = Anchor(path="file.py", symbol="no_such", content_hash="00")
    above = Anchor(path="../outside/secret.py", symbol="no_such", content_hash="00")
    absolute = Anchor(path=str(tmp_path / "outside/secret.py"), symbol="no_such", content_hash="00")
    told = found("`secret_name`, `make steal`", root, secret, linked, above, absolute)
    assert told == [("link/secret.py", "gone", True), ("secret_name", "gone", True)]


def test_a_folder_that_became_a_link_out(root: Path, tmp_path: Path) -> None:
    """Git still lists what was under it; what is behind the link is not read for it."""
    write(tmp_path, {"outside/app.py": "behind_the_link = 1"})
    (root / "src/app.py").unlink()
    (root / "src").rmdir()
    (root / "src").symlink_to(tmp_path / "outside")
    tree = WorkingTree.read(root)
    assert tree.content("src/app.py") is None
    assert "behind_the_link" not in tree.words.known


def test_odd_files_do_no_harm(root: Path) -> None:
    """Pipes, pictures, broken manifests and names in no encoding."""
    os.mkfifo(root / "pipe.py")
    (root / "image.py").write_bytes(b"\0\xff" * 100)
    (root / "latin.py").write_bytes(b"caf\xe9_name = known_name\n")
    Path(os.fsdecode(os.fsencode(root) + b"/odd\xff.py")).write_text("", encoding="utf-8")
    broken = ("pyproject.toml", "package.json", "Cargo.toml", "tox.ini", "package-lock.json", "uv.lock", "go.mod")
    write(root, dict.fromkeys(broken, "[[[{{{ =") | {"a/package.json": "[1]", "b/package.json": "[" * 100_000})
    content = "`known_name` in image.py, pipe.py, Python 3.1, React 1, `npm test`, `tox -e a`, `uv run known_name`"
    told = found(
        content, root, Anchor(path="pipe.py", symbol="a"), Anchor(path="image.py", symbol="b", content_hash="c")
    )
    assert told == [("image.py", "changed", False)]


def test_a_name_of_a_file_is_told_as_it_can_be_printed(root: Path) -> None:
    """A rename to something unprintable does not end up raw in what is shown."""
    odd = os.fsencode(root) + b"/src/a\n\x1b\xff.py"
    git(root, "mv", "src/app.py", os.fsdecode(odd))
    commit(root)
    assert [each.detail for each in stale("see src/app.py", root)] == ["renamed to src/a???.py"]


SIGNATURE = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----"
HOSTILE: dict[str, Callable[[str], str]] = {
    "fsmonitor": lambda program: f"[core]\n\tfsmonitor = {program}\n",
    "signatures": lambda program: f"[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {program}\n",
    "external diff": lambda program: f"[diff]\n\texternal = {program}\n",
    "diff driver": lambda program: f'[diff "evil"]\n\tcommand = {program}\n\ttextconv = {program}\n',
    "filter": lambda program: f'[filter "evil"]\n\tclean = {program}\n\tsmudge = {program}\n\trequired = true\n',
    "pager": lambda program: f"[core]\n\tpager = {program}\n[pager]\n\tlog = true\n\tls-files = true\n",
    "alias": lambda program: f"[alias]\n\tlog = !{program}\n\tls-files = !{program}\n",
}


@pytest.mark.parametrize("way", HOSTILE)
def test_nothing_in_a_repository_makes_git_run_a_program(root: Path, tmp_path: Path, way: str) -> None:
    """Whatever its configuration and attributes say."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
    program.chmod(0o755)
    commit(root, {".gitattributes": "*.py diff=evil filter=evil\n", "src/b.py": "gone_name = 1\n"})
    git(root, "rm", "-q", "src/b.py")
    commit(root)
    signed = git(root, "cat-file", "commit", "HEAD").replace("\n\n", f"\n{SIGNATURE}\n\n", 1)
    git(root, "reset", "-q", git(root, "hash-object", "-t", "commit", "-w", "--stdin", given=signed).strip())
    with open(root / ".git" / "config", "a", encoding="utf-8") as config:
        config.write(HOSTILE[way](str(program)))
    write(root, {"src/app.py": "changed = 1\n"})
    assert found("src/b.py had `gone_name`", root) == [("src/b.py", "gone", True), ("gone_name", "gone", True)]
    assert not (tmp_path / "ran").exists()


def test_a_repository_cannot_name_another_work_tree(root: Path, tmp_path: Path) -> None:
    """Its setting is not heard."""
    write(tmp_path, {"outside/secret.py": "secret_name = 1"})
    git(root, "config", "core.worktree", str(tmp_path / "outside"))
    assert found("secret.py, `secret_name` and app.py", root) == [
        ("secret.py", "unknown", False),
        ("secret_name", "unknown", False),
    ]


def test_variables_of_git_around_us_are_not_heard(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hook of git sets them for another repository."""
    git(root, "rm", "-q", "src/app.py")
    commit(root)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "nothing"))
    assert found("see src/app.py", root) == [("src/app.py", "gone", True)]


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_a_tree_that_is_too_large_is_cut_and_says_less(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is at its place is found; what is not may be in the part that was cut off."""
    write(root, {f"lib/f{number}.py": "" for number in range(20)})
    monkeypatch.setattr(anchors, "_MOST_FILES", 10)
    assert found("lib/f19.py, f19.py and `no_name`", root) == []
    assert not WorkingTree.read(root).whole


@pytest.mark.parametrize("limit", ["_MOST_FILES", "_MOST_FOLDERS"])
def test_a_walk_is_cut_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """Without git there are bounds, too, and a cut is noticed."""
    write(tmp_path / "plain", {f"lib{number}/f.py": "" for number in range(30)})
    monkeypatch.setattr(anchors, limit, 10)
    tree = WorkingTree.read(tmp_path / "plain")
    assert not tree.whole
    assert len(tree._listing.files) < 20


def test_a_history_that_is_too_long_is_cut(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest part of it is known, and the end of what was cut is not taken for a name."""
    for number in range(4):
        commit(root, {f"src/part{number}.py": f"value{number} = {number}\n" * 9})
    for number in range(4):
        git(root, "rm", "-q", f"src/part{number}.py")
        commit(root)
    monkeypatch.setattr(anchors, "_MOST_TOLD", 22)
    monkeypatch.setattr(os, "read", lambda fd, most, read=os.read: read(fd, min(most, 1)))
    tree = WorkingTree.read(root)
    told = [(each.mention.text, each.state) for each in check(memory("src/part3.py and src/part0.py"), tree)]
    assert told == [("src/part3.py", "gone"), ("src/part0.py", "unknown")]
    assert set(tree._past.by_name) == {"src", "part3.py"}


def test_one_memory_takes_less_than_a_millisecond(root: Path) -> None:
    """Once the facts of the tree are read."""
    commit(root, {"Makefile": MAKEFILE, "pyproject.toml": PYPROJECT, "package.json": PACKAGE})
    tree = WorkingTree.read(root)
    facts = memory(
        "The login flow is in src/auth/login.py and `start_app()` calls UserStore.find; it needs Python 3.10 and "
        "React 18. Run `make lint` before `npm run build`.",
        Anchor(path="src/app.py", symbol="start_app"),
    )
    assert len(check(facts, tree)) == 4

    def once() -> float:
        start = process_time()
        for _ in range(50):
            check(facts, tree)
        return (process_time() - start) / 50

    assert min(once() for _ in range(5)) < 0.001


def test_a_large_tree_is_read_in_seconds(tmp_path: Path) -> None:
    """Four thousand files, a fifth of what is promised, in a fifth of the time."""
    text = "".join(f"def name_{number}(a, b): return other_{number}(a)\n" for number in range(40))
    write(tmp_path / "large", {f"src/p{part}/m{number}.py": text for part in range(80) for number in range(50)})
    start = process_time()
    tree = WorkingTree.read(tmp_path / "large")
    assert found_in(tree, "`name_7` and `no_name` in m49.py") == ["no_name"]
    assert process_time() - start < 4


def found_in(tree: WorkingTree, content: str) -> list[str]:
    return [each.mention.text for each in check(memory(content), tree)]
