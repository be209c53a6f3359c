"""A host's own command line as the model: who has Claude Code, Codex, Gemini CLI or OpenCode needs no key for it.

Each is run once a question, headless, in an empty folder of its own, with its hooks, plugins, MCP servers and tools
switched off: the material is somebody's text, and nothing in it may make a host do anything. Recollect's own hooks see
`RECOLLECT_HOOKS=off` and do nothing, so that no judge is asked about the work of a judge. The question goes in through
a file, never through arguments that others on the machine could read, and the host's whole process group ends with it.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .http import count, dug
from .model import ModelFailed, Reply, Request

HOOKS = "RECOLLECT_HOOKS"
"""The environment variable that is `off` where Recollect's hooks are to do nothing."""

_LARGEST_OUTPUT = 4 * 1024 * 1024
_LINGERS = 0.2
_OF_ANOTHER = (
    *("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID"),
    *("CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA"),
    *("GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR", "GEMINI_CWD"),
)
"""What a host tells what it runs, by which a host inside would take itself for part of that session."""


@dataclass(frozen=True, slots=True)
class _Host:
    """How one host is run without a person."""

    arguments: Callable[[Request, Path, Mapping[str, str]], list[str]]
    """Of a request, the folder it is run in, which this may put files into, and the environment."""
    model: str
    """The option that names a model."""
    read: Callable[[str, Path], Reply]
    """The reply in what it printed, or left in its folder."""
    environment: Mapping[str, str]
    instructed: bool = False
    """Whether the instructions are among the arguments; otherwise they come before the material."""


class CommandModel:
    """`Model` behind a host's command line."""

    def __init__(self, host: str, *, env: Mapping[str, str], command: str | None = None, model: str = "") -> None:
        """`host` is one of `HOSTS`; `command` is its program, if it is not found under its own name."""
        self.name = f"command:{host}" + (f":{model}" if model else "")
        self._host = HOSTS[host]
        self._program = os.path.expanduser(command) if command else host
        self._model = model
        self._env = {
            **{name: value for name, value in env.items() if name not in _OF_ANOTHER},
            **self._host.environment,
            HOOKS: "off",
        }

    def reply(self, request: Request, *, seconds: float) -> Reply:
        """What it says. Raises ModelFailed."""
        from tempfile import TemporaryDirectory

        until = time.monotonic() + seconds
        try:
            with TemporaryDirectory(prefix="recollect-judge-", ignore_cleanup_errors=True) as name:
                folder = Path(name)
                arguments = [self._program, *self._host.arguments(request, folder, self._env)]
                arguments += [self._host.model, self._model] if self._model else []
                said = request.material if self._host.instructed else f"{request.instructions}\n\n{request.material}"
                printed = _run(arguments, said, folder / _WORK, env=self._env, until=until)
                return self._host.read(printed, folder)
        except OSError as error:
            raise ModelFailed("unreachable", f"{self._program} cannot be run ({type(error).__name__})") from None


_WORK = "work"


def _run(arguments: Sequence[str], said: str, folder: Path, *, env: Mapping[str, str], until: float) -> str:
    """What a program prints, given a text to read, in an empty folder. Nothing of it is left running."""
    folder.mkdir(exist_ok=True)
    question = folder.parent / "question"
    question.write_text(said, encoding="utf-8")
    with (
        question.open("rb") as text,
        subprocess.Popen(
            arguments,
            stdin=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=env,
            start_new_session=True,
        ) as process,
    ):
        try:
            printed = b"".join(_output(process, until))
        finally:
            with suppress(ProcessLookupError, PermissionError):  # the group may have ended by itself
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        raise ModelFailed("failed", f"{arguments[0]} ended with status {process.returncode}")
    return printed.decode("utf-8", "replace")


def _output(process: subprocess.Popen[bytes], until: float) -> Iterator[bytes]:
    """What a process prints until it ends, though some child of it may go on holding the pipe."""
    assert process.stdout is not None
    size = 0
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            if not waiting.select(min(left, _LINGERS)):
                if process.poll() is not None:
                    return
                continue
            chunk = os.read(process.stdout.fileno(), 65_536)
            if not chunk:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, until - time.monotonic()))
                    return
                break
            size += len(chunk)
            if size > _LARGEST_OUTPUT:
                raise ModelFailed("large", f"it printed more than {_LARGEST_OUTPUT:,} bytes")
            yield chunk
    raise ModelFailed("late", "it did not answer in time")


# --- Hosts -----------------------------------------------------------------------------------------------------------


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _events(printed: str) -> Iterator[Any]:
    """What a host printed, a JSON object a line."""
    return (event for line in printed.splitlines() if (event := _json(line)) is not None)


def _said(text: object, *, tokens_in: int | None = None, tokens_out: int | None = None) -> Reply:
    if not isinstance(text, str):
        raise ModelFailed("malformed", "it printed no answer")
    return Reply(text=text, tokens_in=tokens_in, tokens_out=tokens_out)


def _claude_arguments(request: Request, _folder: Path, _env: Mapping[str, str]) -> list[str]:
    return [
        *("-p", "--output-format", "json", "--json-schema", json.dumps(request.schema)),
        *("--system-prompt", request.instructions, "--tools", "", "--strict-mcp-config", "--safe-mode"),
        *("--settings", json.dumps({"disableAllHooks": True}), "--no-session-persistence"),
    ]


def _claude_read(printed: str, _folder: Path) -> Reply:
    answer = _json(printed)
    if dug(answer, "is_error"):
        raise ModelFailed("failed", "it says that it failed")
    structured = dug(answer, "structured_output")
    text = json.dumps(structured) if isinstance(structured, dict) else dug(answer, "result")
    usage = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    parts = [count(dug(answer, "usage", each)) for each in usage]
    tokens_in = None if parts[0] is None else sum(each or 0 for each in parts)
    return _said(text, tokens_in=tokens_in, tokens_out=count(dug(answer, "usage", "output_tokens")))


def _codex_arguments(request: Request, folder: Path, env: Mapping[str, str]) -> list[str]:
    schema = folder / "schema.json"
    schema.write_text(json.dumps(request.schema), encoding="utf-8")
    off = ("hooks", "plugins", "apps", "shell_tool", "unified_exec", "view_image", "multi_agent")
    return [
        *("exec", "--ephemeral", "--skip-git-repo-check", "--sandbox", "read-only", "--ignore-rules", "--json"),
        *(word for each in off for word in ("--disable", each)),
        *("-c", 'web_search="disabled"', "-c", "project_doc_max_bytes=0", *_without_servers(env)),
        *("--output-schema", str(schema), "-o", str(folder / "answer"), "-"),
    ]


def _without_servers(env: Mapping[str, str]) -> list[str]:
    """What switches off each MCP server of the user's; all of their settings where that is the only way."""
    import tomllib  # only here: no other host needs it

    folder = Path(env.get("CODEX_HOME") or Path(env.get("HOME", "/")) / ".codex")
    try:
        servers = dug(tomllib.loads((folder / "config.toml").read_text(encoding="utf-8")), "mcp_servers")
    except (OSError, ValueError, RecursionError):
        return []  # it has none that it could read either
    names = list(servers) if isinstance(servers, dict) else []
    if not all(name.isascii() and name.replace("-", "").replace("_", "").isalnum() for name in names):
        return ["--ignore-user-config"]
    return [word for name in names for word in ("-c", f"mcp_servers.{name}.enabled=false")]


def _codex_read(printed: str, folder: Path) -> Reply:
    with suppress(FileNotFoundError):
        data = (folder / "answer").read_bytes()[:_LARGEST_OUTPUT]
        usage = next(
            (dug(event, "usage") for event in _events(printed) if dug(event, "type") == "turn.completed"), None
        )
        return _said(
            data.decode("utf-8", "replace"),
            tokens_in=count(dug(usage, "input_tokens")),
            tokens_out=count(dug(usage, "output_tokens")),
        )
    raise ModelFailed("malformed", "it left no answer")


def _gemini_arguments(_request: Request, folder: Path, _env: Mapping[str, str]) -> list[str]:
    settings = {"hooksConfig": {"enabled": False}, "tools": {"core": ["none"]}, "skills": {"enabled": False}}
    (folder / _WORK / ".gemini").mkdir(parents=True)
    (folder / _WORK / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return [
        *("--approval-mode", "default", "--extensions", "none"),
        *("--allowed-mcp-server-names", "none", "-o", "json", "-p", "Answer as told above."),
    ]


def _gemini_read(printed: str, _folder: Path) -> Reply:
    answer = _json(printed)
    models = dug(answer, "stats", "models")
    tokens = [dug(each, "tokens") for each in models.values()] if isinstance(models, dict) else []
    into = [number for each in tokens if (number := count(dug(each, "prompt"))) is not None]
    out = [number for each in tokens if (number := count(dug(each, "candidates"))) is not None]
    return _said(dug(answer, "response"), tokens_in=sum(into) if into else None, tokens_out=sum(out) if out else None)


def _opencode_arguments(_request: Request, _folder: Path, _env: Mapping[str, str]) -> list[str]:
    return ["run", "--pure", "--format", "json"]


def _opencode_read(printed: str, _folder: Path) -> Reply:
    events = list(_events(printed))
    texts = [dug(event, "part", "text") for event in events if dug(event, "type") == "text"]
    ends = [dug(event, "part", "tokens") for event in events if dug(event, "type") == "step_finish"]
    into = [number for each in ends if (number := count(dug(each, "input"))) is not None]
    out = [number for each in ends if (number := count(dug(each, "output"))) is not None]
    return _said(
        "".join(each for each in texts if isinstance(each, str)) if texts else None,
        tokens_in=sum(into) if into else None,
        tokens_out=sum(out) if out else None,
    )


_OPENCODE = {
    "permission": {"*": "deny"},
    "tools": {"*": False},
    "plugin": [],
    "share": "disabled",
    "instructions": [],
}

HOSTS: Mapping[str, _Host] = {
    "claude": _Host(_claude_arguments, "--model", _claude_read, {"DISABLE_AUTOUPDATER": "1"}, instructed=True),
    "codex": _Host(_codex_arguments, "-m", _codex_read, {}),
    "gemini": _Host(_gemini_arguments, "-m", _gemini_read, {"GEMINI_CLI_TRUST_WORKSPACE": "true"}),
    "opencode": _Host(
        _opencode_arguments,
        "-m",
        _opencode_read,
        {
            "OPENCODE_CONFIG_CONTENT": json.dumps(_OPENCODE),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_CLAUDE_CODE": "1",
        },
    ),
}
"""The hosts that can be asked, by the name of their program."""
