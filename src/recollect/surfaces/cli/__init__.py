"""The command line. Start-up is a promise: what a command does not need is not imported."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from ...errors import RecollectError

EXIT_CODES = {
    0: "done",
    1: "a check found something wrong, or an unexpected error",
    2: "the command or a value in it was wrong",
    3: "no such memory, link, version or project",
    4: "refused: memory is off, somebody else changed it, it is there already",
    5: "the store could not be used: busy, full, read-only, damaged, too new",
    130: "interrupted",
}
"""What the exit status of every command means."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run one command and exit with its status."""
    given = sys.argv[1:] if arguments is None else arguments
    if given in (["--version"], ["-V"]):
        from ...version import __version__

        with suppress(BrokenPipeError):
            print(f"recollect {__version__}", flush=True)
        _silence_output()
        sys.exit(0)
    _speak_utf8()
    sys.exit(_run(given))


def _speak_utf8() -> None:
    """Memories hold any script; what the locale says about the terminal must not make printing one fail."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _run(arguments: list[str]) -> int:
    from ...errors import RecollectError, Unsupported
    from ...support import require_platform

    try:
        require_platform()
    except Unsupported as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1

    import click

    from .terminal import report

    as_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    try:
        status = _invoke(arguments)
        sys.stdout.flush()
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        if as_json:
            report(error, as_json=True)
        else:
            error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("Stopped; nothing more was changed.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0  # the reader has gone, as after `| head`
    except RecollectError as error:
        report(error, as_json=as_json)
        return exit_code(error)
    except Exception as error:
        report(error, as_json=as_json)
        return 1
    finally:
        _silence_output()
    return status


def _invoke(arguments: list[str]) -> int:
    import os

    from .app import app

    if "_RECOLLECT_COMPLETE" in os.environ:
        app.main(arguments, prog_name="recollect")
    # Not `app.main`, which turns a reader that has gone into a failure.
    with app.make_context("recollect", list(arguments)) as context:
        status: object = app.invoke(context)
    return status if isinstance(status, int) else 0


def _silence_output() -> None:
    """Give out what is left; where that cannot be, Python must not complain once more when it closes the stream."""
    import os

    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def exit_code(error: RecollectError) -> int:
    """The status that an error of the product ends a command with."""
    from ... import errors

    match error:
        case errors.InvalidInput() | errors.ConfigError() | errors.BadFile() | errors.ProjectError():
            return 2
        case errors.NotFound():
            return 3
        case errors.Refused():
            return 4
        case errors.StoreError():
            return 5
    return 1
