"""`context`, what `status` says of it, and `eval inject`: for people and for programs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cli_kit import Cli, standing_in_a_project

from recollect.evaluate import speaking

GATEWAY = "The gateway listens on port 9000"
ASKED = "which port does the gateway listen on?"


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


@pytest.fixture
def stocked(cli: Cli) -> Cli:
    """With some memories, a correction among them."""
    for fact in (GATEWAY, "Translations live in locales/de.json", "Search results are cached for ten minutes"):
        cli.ok("remember", fact)
    cli.ok("remember", "--kind", "correction", "No, use pnpm, never npm")
    return cli


# --- context -------------------------------------------------------------------------------------------------------


def test_it_prints_what_an_agent_would_be_told(stocked: Cli) -> None:
    lines = stocked.ok("context", *ASKED.split()).out.splitlines()
    assert lines[0].startswith("[recollect:begin ")
    assert lines[2] == "Related:"
    assert lines[3].endswith(GATEWAY)
    assert lines[-1].startswith("[recollect:end ")
    assert "No, use pnpm, never npm" in stocked.ok("context", "install the dependencies").out


def test_it_prints_nothing_when_nothing_would_help(stocked: Cli) -> None:
    for prompt in ("what is 2 + 2", "thanks", "implement quicksort"):
        assert stocked.ok("context", prompt).out == ""
    assert stocked.ok("context").out == ""


def test_it_writes_for_a_host_or_in_a_style(stocked: Cli) -> None:
    assert stocked.ok("context", "--host", "claude-code", ASKED).out.startswith('<project_memory nonce="')
    assert "### Related" in stocked.ok("context", "--host", "gemini", ASKED).out
    assert stocked("context", "--style", "papyrus", ASKED).status == 2


@pytest.mark.row("J18", "no-repeat", "topic-change")
def test_it_says_nothing_twice_to_a_session(stocked: Cli) -> None:
    said = [bool(stocked.ok("context", "--session", "s", ASKED).out) for _ in range(2)]
    assert said == [True, False]
    assert "locales" in stocked.ok("context", "--session", "s", "where do the translations live?").out
    assert GATEWAY in stocked.ok("context", "--session", "s", ASKED).out
    assert GATEWAY in stocked.ok("context", "--session", "s", "--asked", ASKED).out


def test_json_tells_everything(stocked: Cli) -> None:
    told = stocked.ok("context", "--json", "--session", "s", ASKED).json
    [item] = told["items"]
    assert (item["ref"], item["tier"], item["text"]) == ("1", "found", GATEWAY)
    assert GATEWAY in told["text"]
    assert told["allocation"]["total"] == 5_000
    assert {why["factor"] for why in item["why"]} >= {"helps"}
    again = stocked.ok("context", "--json", "--session", "s", ASKED).json
    assert (again["text"], again.get("items", [])) == ("", [])
    assert again["withheld"] == [{"ref": "1", "tier": "found", "reason": "given before, on this topic"}]


@pytest.mark.row("X2", "gate")
def test_why_tells_the_reasons_what_was_withheld_and_the_cost(stocked: Cli) -> None:
    out = stocked.ok("context", "--why", "--session", "s", ASKED).out
    assert "found [id:1]" in out
    assert "helps" in out
    assert "of 5000 tokens" in out
    again = stocked.ok("context", "--why", "--session", "s", ASKED).out
    assert "withheld: found [id:1], given before, on this topic" in again
    assert "Nothing that is sure to help." in stocked.ok("context", "--why", "thanks").out


def test_a_session_that_begins_and_files_at_work_on(stocked: Cli) -> None:
    assert "No, use pnpm, never npm" in stocked.ok("context", "--start").out
    stocked.ok("remember", "--kind", "negative", "--trigger", "*.pem", "Keys are rotated by the vault")
    assert "rotated" in stocked.ok("context", "--file", "a/b.pem", "look here").out
    pointed = stocked.ok("context", "--previous", "Shall I see which port the gateway listens on?", "yes please")
    assert GATEWAY in pointed.out


def test_switched_off_or_left_to_tools_it_is_silent(stocked: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    stocked.ok("pin", "1")
    monkeypatch.setenv("RECOLLECT_RECALL_MODE", "tools")
    assert stocked.ok("context", ASKED).out == ""
    assert "only when a tool asks" in stocked.ok("context", "--why", ASKED).out
    monkeypatch.delenv("RECOLLECT_RECALL_MODE")
    stocked.ok("off")
    assert stocked.ok("context", ASKED).out == ""


@pytest.mark.row("P11", "failure")
def test_a_damaged_store_is_no_error_for_the_agent(stocked: Cli) -> None:
    """Nothing on standard output and a good end; what is wrong is on standard error."""
    for file in stocked.home.rglob("memory.db*"):
        file.write_bytes(b"this is no database, and never was one " * 200)
    done = stocked.process("context", ASKED)
    assert (done.returncode, done.stdout) == (0, b"")


# --- status --------------------------------------------------------------------------------------------------------


@pytest.mark.row("X2", "precision")
@pytest.mark.row("E11")
def test_status_shows_what_was_given_and_how_it_was_received(stocked: Cli) -> None:
    assert "given, 7 days" not in stocked.ok("status").out
    stocked.ok("context", "--session", "s", ASKED)
    stocked.ok("context", "--session", "s", ASKED)
    stocked.ok("reinforce", "1")
    stocked.ok("feedback", "1", "helpful")
    out = stocked.ok("status").out
    assert "1 memories for 1 of 2 prompts" in out
    assert "1 withheld" in out
    assert "1 helpful, 0 not helpful" in out
    given = stocked.ok("status", "--json").json["given"]
    assert (given["prompts"], given["silent"], given["items"], given["helpful"]) == (2, 1, 1, 1)
    scopes = {each["scope"]: each for each in given["scopes"]}
    assert scopes["project"]["useful"] == scopes["project"]["given"] > 0 == scopes["global"]["given"]
    assert sum(each["share"] for each in scopes.values()) == pytest.approx(1)


# --- eval inject ---------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> str:
    records: list[dict[str, object]] = [
        {"memory": "port", "content": GATEWAY},
        {"memory": "pnpm", "content": "No, use pnpm, never npm", "kind": "correction"},
        {"memory": "cache", "content": "Search results are cached for ten minutes"},
        {"prompt": "p1", "text": ASKED, "gold": ["port"], "sort": "direct"},
        {"prompt": "p2", "text": "thanks", "sort": "chat"},
        {"prompt": "p3", "text": "install the dependencies", "gold": ["pnpm"], "sort": "task"},
        {"prompt": "p4", "text": "make it quicker", "gold": ["cache"], "sort": "paraphrase"},
    ]
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return str(path)


@pytest.mark.row("X2", "precision")
def test_eval_inject_measures_a_set(stocked: Cli, small: str) -> None:
    """Precision, silence and coverage; the person's own memory is neither read nor written."""
    lines = stocked.ok("eval", "inject", small).out.splitlines()
    assert [line.split()[:7] for line in lines] == [["small", "3", "4", "100.0", "100.0", "66.7", "2"]]
    told = stocked.ok("eval", "inject", small, "--json").json
    assert (told["precision"], told["silence"], told["given"]) == (1.0, 1.0, 2)
    assert told["coverage"] == pytest.approx(2 / 3)
    assert told["sorts"] == {"direct": 1.0, "chat": 1.0, "task": 1.0, "paraphrase": 0.0}
    assert stocked.ok("status", "--json").json["given"]["prompts"] == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nonsense\n", "line 1"),
        ('{"prompt": "p", "text": "x", "gold": ["nobody"]}\n', "knows no memory 'nobody'"),
        ("", "holds no prompt"),
    ],
)
def test_eval_inject_says_what_is_wrong_with_a_file(cli: Cli, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    done = cli("eval", "inject", str(path))
    assert done.status == 2
    assert told in done.err
    assert done.out == ""
    missing = cli("eval", "inject", str(tmp_path / "nowhere.jsonl"))
    assert missing.status == 2
    assert "cannot be read" in missing.err


@pytest.mark.row("X2", "precision")
def test_eval_inject_without_a_path_measures_the_sets_that_come_with_it(
    cli: Cli, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, in order; here small ones lie in their place, as the real ones take their time."""
    assert sorted(file.name for file in speaking.BUILT_IN.iterdir()) == ["dev.jsonl", "held.jsonl"]
    for name in ("one", "two"):
        shutil.copy(small, cli.folder / f"{name}.jsonl")
    monkeypatch.setattr(speaking, "BUILT_IN", cli.folder)
    assert [each["name"] for each in cli.ok("eval", "inject", "--json").json] == ["one", "two"]
    assert [line.split()[0] for line in cli.ok("eval", "inject").out.splitlines()] == ["one", "two"]
    assert cli("eval", "jsonl").status == 2
