"""What the tests of judges share: a language model's interface that runs in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SERVER = Path(__file__).with_name("fake_api.py")


@dataclass(frozen=True)
class Api:
    """The interface: where it is, what it is to say, and what it was asked."""

    folder: Path
    port: int

    def url(self, mode: str) -> str:
        """Where it behaves in that way."""
        return f"http://127.0.0.1:{self.port}/{mode}"

    def says(self, answer: object) -> None:
        """What it answers from now on."""
        text = answer if isinstance(answer, str) else json.dumps(answer)
        (self.folder / "answer").write_text(text, encoding="utf-8")

    @property
    def asked(self) -> list[Any]:
        """Every request that arrived."""
        log = self.folder / "requests.jsonl"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [json.loads(line) for line in lines]

    def afresh(self) -> Api:
        """The same, asked nothing yet."""
        (self.folder / "requests.jsonl").unlink(missing_ok=True)
        self.says("")
        return self


def served(folder: Path) -> Iterator[Api]:
    """The interface for as long as it is needed; use it as a fixture."""
    with subprocess.Popen([sys.executable, str(_SERVER), str(folder)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Api(folder, int(process.stdout.readline()))
        process.kill()
