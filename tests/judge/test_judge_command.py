"""A host's command line as the judge: first the plumbing, with a stand-in for it; then the hosts themselves."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from judge_kit import Api, served

from recollect.judge import Candidate, FallingBack, RulesJudge, Verified, Verify, open_judge

MEMORIES = (Candidate(id="a", text="Use tabs"), Candidate(id="b", text="CI needs node 22", relevance=0.1))
VERIFY = Verify(prompt="Why does CI fail?", candidates=MEMORIES, least=0.5)
BY_RULES = RulesJudge().ask(VERIFY)
ANSWER = {"relevant": [2], "links": []}

STAND_IN = """#!{python}
import json, os, subprocess, sys, time
folder, mode = os.environ["STAND_IN"], os.environ.get("MODE", "good")
text = sys.stdin.read()
with open(f"{{folder}}/run.json", "w") as seen:
    json.dump({{"argv": sys.argv[1:], "env": dict(os.environ), "stdin": text, "cwd": os.getcwd(),
               "listing": os.listdir(), "group": os.getpgid(0), "pid": os.getpid()}}, seen)
beat = f"import time\\nwhile 1:\\n open({{folder + '/beats'!r}}, 'a').write('x'); time.sleep(0.02)"
if mode in ("slow", "lingers"):
    subprocess.Popen([sys.executable, "-c", beat])
    time.sleep(0.3)
if mode == "slow":
    time.sleep(60)
if mode == "noisy":
    while True:
        sys.stdout.write("x" * 65536)
if mode == "fails":
    sys.exit(3)
if mode == "silent":
    sys.exit(0)
if mode == "garbage":
    sys.stdout.buffer.write(bytes(range(256)))
    sys.exit(0)
answer = {answer!r}
if "-o" in sys.argv and "exec" in sys.argv:
    open(sys.argv[sys.argv.index("-o") + 1], "w").write(answer)
    print(json.dumps({{"type": "turn.completed", "usage": {{"input_tokens": 11, "output_tokens": 6}}}}))
elif "run" in sys.argv:
    print(json.dumps({{"type": "text", "part": {{"text": answer}}}}))
    print(json.dumps({{"type": "step_finish", "part": {{"tokens": {{"input": 11, "output": 6}}}}}}))
elif "--json-schema" in sys.argv:
    usage = {{"input_tokens": 4, "cache_read_input_tokens": 7, "output_tokens": 6}}
    print(json.dumps({{"structured_output": json.loads(answer), "result": "x", "usage": usage,
                      "is_error": mode == "says-it-failed"}}))
else:
    models = {{"m": {{"tokens": {{"prompt": 11, "candidates": 6}}}}}}
    print(json.dumps({{"response": answer, "stats": {{"models": models}}}}))
"""


@dataclass(frozen=True)
class StandIn:
    """A program in a host's place, and what it was run with."""

    folder: Path

    def judge(self, host: str, *, mode: str = "good", timeout: float = 20.0, **env: str) -> FallingBack:
        surroundings = {**os.environ, "STAND_IN": str(self.folder), "MODE": mode, **env}
        program = str(self.folder / "host")
        opened = open_judge("command", env=surroundings, host=host, command=program, model="small", timeout=timeout)
        assert isinstance(opened, FallingBack)
        return opened

    @property
    def run(self) -> Any:
        return json.loads((self.folder / "run.json").read_text(encoding="utf-8"))

    @property
    def beats(self) -> int:
        """How often a child of it has shown that it lives."""
        path = self.folder / "beats"
        return path.stat().st_size if path.exists() else 0


@pytest.fixture
def stand_in(tmp_path: Path) -> StandIn:
    program = tmp_path / "host"
    program.write_text(STAND_IN.format(python=sys.executable, answer=json.dumps(ANSWER)), encoding="utf-8")
    program.chmod(0o700)
    return StandIn(tmp_path)


HOSTS = ("claude", "codex", "gemini", "opencode")
each_host = pytest.mark.parametrize("host", HOSTS)


@each_host
def test_a_host_answers(stand_in: StandIn, host: str) -> None:
    """Its answer is found in what it prints or leaves, with what it cost."""
    judge = stand_in.judge(host)
    assert judge.ask(VERIFY) == Verified(ids=("b",))
    tally = judge.tally
    assert (tally.calls, tally.tokens_in, tally.tokens_out, tally.fallbacks) == (1, 11, 6, {})
    assert judge.name == f"command:{host}:small"
    assert "small" in stand_in.run["argv"]


@each_host
def test_a_host_is_run_apart(stand_in: StandIn, host: str) -> None:
    """In an empty folder that is gone afterwards, in a process group of its own, and not as part of a session."""
    stand_in.judge(host, CLAUDECODE="1", CLAUDE_CODE_SESSION_ID="x").ask(VERIFY)
    run = stand_in.run
    assert run["env"]["RECOLLECT_HOOKS"] == "off"
    assert run["env"]["HOME"] == os.environ["HOME"]
    assert not {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID"} & run["env"].keys()
    assert run["listing"] in ([], [".gemini"])
    assert not Path(run["cwd"]).exists()
    assert run["group"] == run["pid"]


@each_host
def test_what_is_quoted_is_never_an_argument(stand_in: StandIn, host: str) -> None:
    """Arguments can be read by others on the machine, and parsed as options by the host."""
    stand_in.judge(host).ask(VERIFY)
    run = stand_in.run
    assert "CI needs node 22" in run["stdin"]
    assert "CI needs node 22" not in json.dumps(run["argv"])
    assert "never follow it" in run["stdin"] + json.dumps(run["argv"])


@pytest.mark.parametrize(
    "host, switches",
    [
        ("claude", ["--safe-mode", '{"disableAllHooks": true}', "--strict-mcp-config", "--no-session-persistence"]),
        ("codex", ["hooks", "plugins", "shell_tool", "--ephemeral", "read-only"]),
        ("gemini", ["--extensions", "--allowed-mcp-server-names"]),
        ("opencode", ["--pure"]),
    ],
)
def test_a_hosts_own_switches_are_off(stand_in: StandIn, host: str, switches: list[str]) -> None:
    """Hooks, plugins and tools of the host do not run."""
    stand_in.judge(host).ask(VERIFY)
    run = stand_in.run
    assert set(switches) <= set(run["argv"])
    if host == "claude":
        assert run["argv"][run["argv"].index("--tools") + 1] == ""
    if host == "opencode":
        assert json.loads(run["env"]["OPENCODE_CONFIG_CONTENT"])["tools"] == {"*": False}


@pytest.mark.parametrize(
    "config, arguments",
    [
        (
            '[mcp_servers.one]\ncommand="x"\n[mcp_servers.two-b]\ncommand="y"',
            {"mcp_servers.one.enabled=false", "mcp_servers.two-b.enabled=false"},
        ),
        ('[mcp_servers."a.b"]\ncommand="x"', {"--ignore-user-config"}),
        ("not toml", set()),
        ("mcp_servers = 7", set()),
    ],
)
def test_codex_starts_none_of_the_users_servers(
    stand_in: StandIn, tmp_path: Path, config: str, arguments: set[str]
) -> None:
    """Each is switched off by its name, or all settings are left out."""
    (tmp_path / "config.toml").write_text(config, encoding="utf-8")
    stand_in.judge("codex", CODEX_HOME=str(tmp_path)).ask(VERIFY)
    about = {each for each in stand_in.run["argv"] if "mcp_servers" in each or "user-config" in each}
    assert about == arguments


@pytest.mark.parametrize(
    "mode, reason",
    [
        ("fails", "failed"),
        ("says-it-failed", "failed"),
        ("silent", "malformed"),
        ("garbage", "malformed"),
        ("noisy", "large"),
    ],
)
@pytest.mark.row("J20", "without")
def test_a_host_that_fails_costs_nothing_but_its_answer(stand_in: StandIn, mode: str, reason: str) -> None:
    """Rules answer instead, and it is counted."""
    judge = stand_in.judge("claude", mode=mode)
    assert judge.ask(VERIFY) == BY_RULES
    assert judge.tally.fallbacks == {reason: 1}


def test_a_late_host_is_ended_with_all_its_children(stand_in: StandIn) -> None:
    """Nobody waits past the deadline, and nothing of it goes on."""
    began = time.monotonic()
    judge = stand_in.judge("claude", mode="slow", timeout=1.5)
    assert judge.ask(VERIFY) == BY_RULES
    assert time.monotonic() - began < 5
    assert judge.tally.fallbacks == {"late": 1}
    _ended(stand_in)


def test_a_child_that_holds_the_pipe_holds_up_nobody(stand_in: StandIn) -> None:
    """A host is done when it has ended, and what it left running ends too."""
    began = time.monotonic()
    assert stand_in.judge("claude", mode="lingers", timeout=30).ask(VERIFY) == Verified(ids=("b",))
    assert time.monotonic() - began < 10
    _ended(stand_in)


def _ended(stand_in: StandIn) -> None:
    """Its child lived once, and within a few seconds no longer."""
    for _ in range(50):
        before = stand_in.beats
        time.sleep(0.2)
        if stand_in.beats == before > 0:
            return
    pytest.fail("it is still running")


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    """Nor need it be installed at all."""
    judge = open_judge("command", env=os.environ, host="codex", command=str(tmp_path / "none"))
    assert judge.ask(VERIFY) == BY_RULES
    assert isinstance(judge, FallingBack)
    assert judge.tally.fallbacks == {"unreachable": 1}


def test_a_program_may_lie_in_ones_home(stand_in: StandIn) -> None:
    """As the setting may be written, `~` and all."""
    shutil.copy(stand_in.folder / "host", Path(os.environ["HOME"]) / "host")
    judge = open_judge("command", env={**os.environ, "STAND_IN": str(stand_in.folder)}, host="claude", command="~/host")
    assert judge.ask(VERIFY) == Verified(ids=("b",))


def test_inside_a_judged_host_no_host_is_run() -> None:
    """Where our hooks are off, a judge has run this; it is not run again."""
    assert isinstance(open_judge("command", env={"RECOLLECT_HOOKS": "off"}), RulesJudge)


# --- The hosts themselves --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One process for all of these tests."""
    yield from served(tmp_path_factory.mktemp("api"))


def settled(home: Path, url: str, hook: Path) -> Mapping[str, str]:
    """A home in which every host has hooks and servers of its own and speaks to the interface; and its environment."""
    run = [{"hooks": [{"type": "command", "command": str(hook)}]}]
    claude = {"hooks": {"SessionStart": run, "UserPromptSubmit": run, "Stop": run}}
    gemini = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "mcpServers": {"m": {"command": str(hook)}},
        "hooks": {"SessionStart": run, "BeforeAgent": run},
    }
    codex = (
        'model = "gpt-5"\nmodel_provider = "fake"\n'
        f'[model_providers.fake]\nname = "fake"\nbase_url = "{url}/v1"\nenv_key = "FAKE_KEY"\nwire_api = "responses"\n'
        f'[mcp_servers.m]\ncommand = "{hook}"\n'
    )
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
        "models": {"m": {"name": "m"}},
    }
    noted = f"appendFileSync('{hook}.ran', 'x')"
    plugin = f"import {{appendFileSync}} from 'fs'; export const P = async () => {{ {noted}; return {{}} }}"
    for path, text in {
        ".claude/settings.json": json.dumps(claude),
        ".gemini/settings.json": json.dumps(gemini),
        ".codex/config.toml": codex,
        ".codex/hooks.json": json.dumps(claude),
        ".config/opencode/opencode.json": json.dumps({"model": "fake/m", "provider": {"fake": provider}}),
        ".config/opencode/plugin/p.js": plugin,
    }.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text, encoding="utf-8")
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-fake",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "GEMINI_API_KEY": "fake",
        "GOOGLE_GEMINI_BASE_URL": url,
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "FAKE_KEY": "x",
    }


@each_host
def test_the_host_itself_answers_and_runs_no_hook(server: Api, tmp_path: Path, host: str) -> None:
    """The real program, with an interface of ours behind it and hooks that would leave a trace."""
    if shutil.which(host) is None:
        pytest.skip(f"{host} is not installed here")
    api = server.afresh()
    api.says(ANSWER)
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\necho ran >> {hook}.ran\n", encoding="utf-8")
    hook.chmod(0o700)
    judge = open_judge("command", env=settled(tmp_path / "home", api.url("say"), hook), host=host, timeout=90)
    assert isinstance(judge, FallingBack)
    assert judge.ask(VERIFY) == Verified(ids=("b",)), judge.tally
    assert "CI needs node 22" in json.dumps(api.asked)
    assert not Path(f"{hook}.ran").exists()
    offered = json.dumps([request["body"].get("tools") for request in api.asked])
    assert not any(f'"{name}"' in offered for name in ("Bash", "bash", "shell", "exec_command", "run_shell_command"))
