"""Write the generated pages of the documentation, or with --check only say which are out of date.

A page is a path under the root and a function that returns its text; add one to `PAGES` and `make docs` writes it and
the tests keep it current.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import coverage_table
import reference_pages

ROOT = Path(__file__).resolve().parent.parent
PAGES: Mapping[str, Callable[[], str]] = {
    "docs/commands.md": reference_pages.commands,
    "docs/coverage.md": coverage_table.render,
    "docs/settings.md": reference_pages.settings,
}


def stale(root: Path = ROOT) -> list[str]:
    """The pages whose file does not say what it should."""
    return [name for name, render in PAGES.items() if _read(root / name) != render()]


def write(root: Path = ROOT) -> list[str]:
    """Bring every page up to date; the ones that were not."""
    old = stale(root)
    for name in old:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGES[name](), encoding="utf-8")
    return old


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def main(arguments: list[str]) -> int:
    if "--check" in arguments:
        old = stale()
        for name in old:
            print(f"{name} is out of date; run `make docs`")
        return 1 if old else 0
    for name in write():
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
