"""The documentation is complete, and its examples do what they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
import reference_pages
from recollect.config import declared

ROOT = Path(__file__).parent.parent
LIBRARY = (ROOT / "docs/library.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(path for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")))


@pytest.mark.parametrize("name", [name for name in recollect.__all__ if name != "__version__"])
def test_every_public_name_is_documented(name: str) -> None:
    """The page on the library mentions each name of the public surface."""
    assert re.search(rf"`[^`]*\b{name}\b[^`]*`|\b{name}\(", LIBRARY), f"{name} is not in docs/library.md"


@pytest.mark.parametrize("method", [name for name in dir(recollect.Recollect) if not name.startswith("_")])
def test_every_method_is_documented(method: str) -> None:
    """The page on the library mentions each method of `Recollect` that is not a plain attribute."""
    if callable(getattr(recollect.Recollect, method)):
        assert f"{method}(" in LIBRARY, f"{method} is not in docs/library.md"


def test_every_command_is_documented_with_an_example() -> None:
    """The page on commands has each of them, and each shows how it is typed."""
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    for path, command in reference_pages.all_commands():
        assert f"## `recollect {path}`" in page
        assert "Example" in (command.help or ""), f"`recollect {path}` has no example"


def test_every_setting_is_documented() -> None:
    """The page on settings has each key with its meaning."""
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    for setting in declared():
        assert f"| `{setting.key}` |" in page
        assert setting.meaning in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """No page points at a file that is not there."""
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} points at {target}"


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


PYTHON_BLOCKS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page.read_text(encoding="utf-8"), "python"))
    if "import" in block
]


@pytest.mark.parametrize("block", PYTHON_BLOCKS)
def test_python_examples_run(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every complete Python example runs as printed."""
    monkeypatch.chdir(tmp_path)
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_readme_examples_print_what_the_readme_says(tmp_path: Path) -> None:
    """Typed as printed in a new folder, each command answers as printed; dates are today's."""
    (session,) = blocks(README, "console")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, flags=re.MULTILINE):
        if command.startswith(". "):
            continue
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if expected:
            assert dateless(done.stdout) == dateless(expected)


def dateless(text: str) -> str:
    return re.sub(r"\d{4}-\d{2}-\d{2}", "DATE", text)


def test_no_page_names_a_machine_or_a_registry() -> None:
    """The project speaks of itself only."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    for name in listed:
        path = ROOT / name
        if path.suffix in {".md", ".toml", ".py", ".txt", ""} and path.is_file() and name != "tests/test_docs.py":
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not re.search(r"/work/(main|shared)|index-url|/root/\.", text), name
