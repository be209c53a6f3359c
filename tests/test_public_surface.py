"""The public surface: what can be imported, and what importing costs."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import recollect

SOURCE = Path(recollect.__file__).read_text(encoding="utf-8")


def declared_for_type_checkers() -> dict[str, str]:
    """The names imported where only type checkers look, and the module each comes from."""
    [block] = [node for node in ast.parse(SOURCE).body if isinstance(node, ast.If)]
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    found: dict[str, str] = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, "without `as`, a type checker does not take it for exported"
            found[alias.name] = node.module or ""
    return found


def modules_after(code: str) -> set[str]:
    """What is loaded in a fresh interpreter after running some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print('|'.join(sys.modules), file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=False,
    )
    return set(done.stderr.strip().splitlines()[-1].split("|"))


def test_the_names_are_sorted_and_each_once() -> None:
    """So that a new one is noticed where it is added."""
    assert recollect.__all__ == sorted(set(recollect.__all__))


@pytest.mark.parametrize("name", recollect.__all__)
def test_every_name_can_be_imported(name: str) -> None:
    """And is what its module holds; everything in it says what it is."""
    value = getattr(recollect, name)
    if name == "__version__":
        assert re.fullmatch(r"\d+\.\d+\.\d+", value)
        return
    home = importlib.import_module(f"recollect.{declared_for_type_checkers()[name]}")
    assert value is getattr(home, name)
    assert inspect.getdoc(value)


def test_type_checkers_and_programs_see_the_same_names() -> None:
    """The lazy table and the imports for type checkers are one list."""
    lazy = {name: home for home, names in recollect._HOMES.items() for name in names}
    assert declared_for_type_checkers() == lazy
    assert set(recollect.__all__) == {*lazy, "__version__"}


def test_dir_shows_the_public_names() -> None:
    """And `from recollect import *` brings them."""
    assert dir(recollect) == recollect.__all__
    space: dict[str, object] = {}
    exec("from recollect import *", space)
    assert set(recollect.__all__) <= set(space)


def test_a_name_that_does_not_exist_is_missing_as_usual() -> None:
    """The error names the module and the name."""
    with pytest.raises(AttributeError, match="module 'recollect' has no attribute 'Recolect'"):
        recollect.Recolect  # noqa: B018
    assert not hasattr(recollect, "nonsense")


def test_errors_and_values_are_all_public() -> None:
    """Whatever a call may raise can be caught by name."""
    errors = importlib.import_module("recollect.errors")
    tree = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert tree <= set(recollect.__all__)


def test_importing_the_package_loads_next_to_nothing() -> None:
    """Neither the engine nor the database nor the command line."""
    loaded = modules_after("import recollect")
    own = {name for name in loaded if name.startswith("recollect")}
    assert own <= {"recollect", "recollect.version", "recollect.support"}
    assert not loaded & {"apsw", "click", "rich", "tomlkit", "asyncio", "json", "dataclasses", "hypothesis", "numpy"}


def test_asking_for_the_version_loads_no_command_line() -> None:
    """It is printed before anything else is looked at."""
    asking = "try: main(['--version'])\nexcept SystemExit as left: assert not left.code"
    loaded = modules_after(f"from recollect.surfaces.cli import main\n{asking}")
    assert not loaded & {"click", "apsw", "rich", "recollect.engine", "recollect.model"}


@pytest.mark.parametrize("word", ["NotFound", "Memory", "Kind", "Passage", "Absence", "EmbedderUnavailable"])
def test_using_a_value_or_an_error_loads_no_database(word: str) -> None:
    """A program that only catches or names things does not pay for storing them."""
    heavy = {"apsw", "click", "numpy", "recollect.engine", "recollect.store", "recollect.embed"}
    assert not modules_after(f"from recollect import {word}") & heavy


def test_naming_what_a_model_must_fulfil_loads_no_model(tmp_path: Path) -> None:
    """Nor does opening a memory that searches by words alone, and using it."""
    assert not modules_after("from recollect import Embedder") & {"apsw", "click", "numpy"}
    place = f"{str(tmp_path)!r}, home={str(tmp_path / 'home')!r}, settings={{'recall.search': 'fts5'}}"
    code = f"import recollect\nwith recollect.open({place}) as memory: memory.remember('x'); memory.recall('x')"
    assert "numpy" not in modules_after(code)


def test_opening_a_memory_loads_no_command_line(tmp_path: Path) -> None:
    """Nor what only a terminal needs."""
    place = f"{str(tmp_path)!r}, home={str(tmp_path / 'home')!r}"
    code = f"import recollect\nwith recollect.open({place}) as memory: memory.remember('x')"
    loaded = modules_after(code)
    assert "apsw" in loaded
    assert not loaded & {"click", "rich", "tomlkit", "asyncio", "recollect.surfaces"}


def test_the_package_says_that_it_is_typed() -> None:
    """Type checkers of other programs use its annotations."""
    assert (Path(recollect.__file__).parent / "py.typed").is_file()


def test_the_version_is_that_of_the_project() -> None:
    """One number, wherever it is asked for."""
    project = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    dynamic = re.search(r'^dynamic = .*"version"', project, flags=re.MULTILINE)
    assert dynamic or f'version = "{recollect.__version__}"' in project


def test_the_example_of_the_package_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As its docstring shows it."""
    monkeypatch.chdir(tmp_path)
    lines = inspect.cleandoc(recollect.__doc__ or "").splitlines()
    code = "\n".join(line[4:] for line in lines if line.startswith("    "))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[id:1] Deploys go out from main, never from a branch.\n"
