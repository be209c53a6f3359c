"""What the commands share: options, the memory they work on, and how things are shown to people and programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...errors import InvalidText, RecollectError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from ...engine import Recollect
    from ...engine.parts import SpaceName
    from ...engine.transfer import Progress
    from ...model import Json

ACTOR = "user"
_NARROWEST = 20
INPUT_LIMIT = 64 * 1024 * 1024


class Terminal:
    """One command's dealings with the person or program that called it."""

    def __init__(self, *, project: str, shared: bool, as_json: bool) -> None:
        self.project = project
        self.shared = shared
        self.as_json = as_json

    @property
    def space(self) -> SpaceName:
        """The space that the command is about."""
        return "global" if self.shared else "project"

    def memory(self, *, mirrored: bool = True, tasks: bool = False) -> AbstractContextManager[Recollect]:
        """The memory of the project, written to on behalf of the person at the keyboard.

        If `mirrored`, edits of the files that show it are taken in before, and the files are written after. Those of
        `tasks` are, if the command is about them, even where the settings leave it to people.
        """
        return _noted(self, mirrored, tasks)

    def note(self, text: str) -> None:
        """Tell something that is no part of the result."""
        print(f"Note: {visible(text)}", file=sys.stderr)

    def show(self, data: Json, text: Callable[[], None]) -> None:
        """Give the result: as JSON to a program, else as a person likes to read it."""
        if self.as_json:
            print(json.dumps(data, ensure_ascii=False, indent=2))
        else:
            text()

    def say(self, text: str) -> None:
        """A line for a person; nothing for a program."""
        if not self.as_json:
            print(text)

    @contextmanager
    def progress(self, words: str) -> Iterator[Progress]:
        """Show how far long work is, on a terminal that has somebody before it."""
        if self.as_json or not sys.stderr.isatty():
            yield lambda done, total: None
            return
        from rich.console import Console
        from rich.progress import Progress as Bar

        with Bar(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(words, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def _noted(terminal: Terminal, mirrored: bool, tasks: bool) -> Iterator[Recollect]:
    """The open memory; what it has to say about how it was opened goes to standard error at the end."""
    from ...model import Origin
    from ...opening import open as open_memory

    # No background: nothing outlives a command, and what has no vector yet gets one when it is next searched.
    memory = open_memory(terminal.project, actor=ACTOR, origin=Origin.USER_STATED, background=False)
    notes: list[str] = []
    try:
        if mirrored:
            news = memory.files.take_edits(tasks=tasks)
            notes += news.trouble if terminal.as_json else (*news.taken, *news.trouble)
        yield memory
        if mirrored:
            notes += memory.files.write()
    finally:
        for note in dict.fromkeys((*notes, *memory.notes)):
            terminal.note(note)
        memory.close()


_F = TypeVar("_F", bound=Callable[..., Any])


def command_options(function: _F) -> _F:
    """`--project`, `--global` and `--json`, which every command takes and gets as one `Terminal`."""

    @click.option(
        "--project", metavar="FOLDER", default=None, help="Work on the project of this folder [default: here]."
    )
    @click.option("--global", "shared", is_flag=True, help="Work on the global memory, which all projects share.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
    @click.pass_context
    def run(context: click.Context, /, project: str | None, shared: bool, as_json: bool, **given: Any) -> Any:
        outer: Terminal = context.obj
        terminal = Terminal(
            project=project or outer.project, shared=shared or outer.shared, as_json=as_json or outer.as_json
        )
        context.obj = terminal  # what was said of a group holds for its commands
        return context.invoke(function, terminal, **given)

    return update_wrapper(run, function)  # type: ignore[return-value]


def text_argument(words: Sequence[str], field: str) -> str:
    """Text given on the command line, or on standard input if it is `-`."""
    if list(words) == ["-"]:
        return standard_input(field)
    return " ".join(words)


def standard_input(field: str) -> str:
    """Everything on standard input, which must be UTF-8."""
    data = sys.stdin.buffer.read(INPUT_LIMIT + 1)
    if len(data) > INPUT_LIMIT:
        raise InvalidText(field, f"standard input holds more than {INPUT_LIMIT:,} bytes")
    try:
        return data.decode("utf-8").removeprefix("\ufeff").rstrip("\n")
    except UnicodeDecodeError as error:
        raise InvalidText(field, f"standard input is not UTF-8 at byte {error.start}") from error


def visible(text: str) -> str:
    """Text that cannot do anything to a terminal: control characters are spelled out."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else f"\\x{ord(character):02x}"
        for character in text
    )


def indented(text: str) -> str:
    """Text whose further lines stand back, so that none of them can pass for the beginning of another memory."""
    return visible(text).replace("\n", "\n      ")


def one_line(text: str, width: int) -> str:
    """The beginning of a text on one line."""
    line = " ".join(visible(text).split())
    return line if len(line) <= width else line[: max(1, width - 1)] + "…"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print a table; plain tab-separated lines when the output is not a terminal."""
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(one_line(cell, 100_000) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="dim", show_header=any(columns))
    for number, name in enumerate(columns):
        grid.add_column(name, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(visible(cell)) for cell in row))
    Console().print(grid)


def width() -> int:
    """How many characters fit in a line; without a terminal nothing needs to be cut."""
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 100_000
    return columns if columns >= _NARROWEST else 80  # a terminal may not know, and say 0


def report(error: BaseException, *, as_json: bool) -> None:
    """Say what went wrong and what can be done about it, on standard error."""
    hint = error.hint if isinstance(error, RecollectError) else ""
    match error:
        case RecollectError():
            message = str(error)
        case click.ClickException():
            message = error.format_message()
        case _:
            message = f"unexpected {type(error).__name__}: {error}"
    if as_json:
        told = {"error": {"type": type(error).__name__, "message": message, "hint": hint}}
        print(json.dumps(told, ensure_ascii=False), file=sys.stderr)
        return
    print(f"Error: {visible(message)}", file=sys.stderr)
    if hint:
        print(visible(hint), file=sys.stderr)
