"""What the tests of the command line share: a project to stand in, and two ways to run a command there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recollect.surfaces.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it said to a program."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """What it told a program about an error."""
        told: dict[str, str] = json.loads(self.err)["error"]
        return told


class Cli:
    """The command line, standing in a project."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capture = capture

    @property
    def home(self) -> Path:
        return Path(os.environ["RECOLLECT_HOME"])

    def __call__(self, *words: str) -> Done:
        """Run a command in this process, which is quick."""
        self._capture.readouterr()
        with pytest.raises(SystemExit) as left:
            main(list(words))
        said = self._capture.readouterr()
        assert isinstance(left.value.code, int)
        return Done(left.value.code, said.out, said.err)

    def ok(self, *words: str) -> Done:
        """Run a command that must end well, with nothing to complain about."""
        done = self(*words)
        assert (done.status, done.err) == (0, ""), done
        return done

    def process(
        self, *words: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command in a process of its own, as a shell does."""
        return subprocess.run(
            [sys.executable, "-m", "recollect", *words],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            env=surroundings(**(env or {})),
            check=False,
            timeout=60,
        )


def surroundings(**more: str) -> dict[str, str]:
    """The environment of the test, without what would change how Python itself prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") or name == "PYTHONPATH"}
    return kept | more


def new_project(tmp_path: Path, name: str = "project") -> Path:
    """A repository of its own."""
    folder = tmp_path / name
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def standing_in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """A command line in a fresh project; use it as a fixture."""
    folder = new_project(tmp_path)
    monkeypatch.chdir(folder)
    return Cli(folder, capsys)
