"""The guided first run: three memories in a project of their own, a question, and why the answer was found."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import click

from .terminal import visible

TOLD = (
    ("decision", "We chose PostgreSQL over MySQL for the billing service, because of its row-level security.", "db"),
    ("correction", "Use pnpm in this repository, never npm: the lock file is pnpm's.", "tooling"),
    ("warning", "Never run the migrations in src/billing/migrations by hand; the deploy job does it.", "deploy"),
)
QUESTION = "which database does the billing service use, and why?"


@click.command()
def tour() -> None:
    """A guided first run in a temporary project; it touches nothing of yours.

    \b
    Example:
      recollect tour
    """
    from ...testing import temp_recollect

    with temp_recollect() as memory:
        print(
            "Recollect keeps what your coding agents learn. This is a temporary project; nothing of yours is touched.\n"
        )
        for kind, text, tag in TOLD:
            print(f'  recollect remember --kind {kind} --tag {tag} "{text}"')
            print(visible(f"  → {memory.remember(text, kind=kind, tags=[tag])}\n"))
        print(f'Now a question, in words of its own:\n\n  recollect recall --why "{QUESTION}"')
        for hit in memory.recall(QUESTION, limit=1):
            print(visible(f"  → {hit}\n\nWhy it was found (score {hit.score:.2f}: what is added up, times the rest):"))
            for why in hit.why:
                print(visible(f"  {'+' if why.adds else '×'} {why.factor:10} {why.value:6.2f}   {why.detail}".rstrip()))
    program = _program()
    print(
        "\nYour turn. In any folder of yours, type:\n\n"
        f'  {program} remember "something worth knowing here"\n'
        f'  {program} recall "a question about it"\n'
        f"  {program} status\n"
        f"  {program} --help\n"
    )


def _program() -> str:
    """What to type to run the command from anywhere."""
    if shutil.which("recollect"):
        return "recollect"
    installed = Path(sys.executable).with_name("recollect")
    return shlex.quote(str(installed)) if installed.exists() else f"{shlex.quote(sys.executable)} -m recollect"
