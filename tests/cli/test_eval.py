"""`eval`: labelled sets of each form through the command line, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_kit import Cli, standing_in_a_project

FACTS = (
    *("The kiln reached cone six", "The tent leaked in Scotland", "The choir rehearses on Thursdays"),
    *("The beehives survived the winter", "The puppy chewed the accordion", "Grandfather repaired church clocks"),
    *("The ferry to Bornholm was late", "The hallway is turquoise", "The violin is from Cremona"),
    *("The unicycle has a flat tyre", "The sauna is insulated", "The podcast got a new jingle"),
)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return standing_in_a_project(tmp_path, monkeypatch, capsys)


def lines(path: Path, records: list[dict[str, object]]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


@pytest.fixture
def jsonl(tmp_path: Path) -> str:
    told: list[dict[str, object]] = [
        {"memory": f"m{n}", "text": fact, "kind": "fact", "date": f"2025-06-{n + 1:02}", "tags": [], "files": []}
        for n, fact in enumerate(FACTS)
    ]
    asked: list[dict[str, object]] = [
        {"question": "q1", "text": "Who repaired church clocks?", "gold": ["m5"], "category": "words"},
        {"question": "q2", "text": "What did the puppy chew?", "gold": ["m4"], "category": "words", "stale": ["m0"]},
        {"question": "q3", "text": "xylophone zeppelin kumquat", "gold": [], "category": "absent"},
    ]
    return lines(tmp_path / "work.jsonl", told + asked)


@pytest.fixture
def locomo(tmp_path: Path) -> str:
    turns = [
        [{"dia_id": f"D{s}:{n}", "speaker": "Ada", "text": FACTS[4 * s + n - 5]} for n in range(1, 5)]
        for s in (1, 2, 3)
    ]
    sessions: dict[str, object] = {f"session_{s}": turns[s - 1] for s in (1, 2, 3)}
    sessions |= {f"session_{s}_date_time": f"1:56 pm on {s} May, 2023" for s in (1, 2, 3)}
    asked = [
        {"question": "What was late to Bornholm?", "evidence": ["D2:3"], "category": 2},
        {
            "question": "Who repaired church clocks, and what did the puppy chew?",
            "evidence": ["D2:2; D2:1"],
            "category": 1,
        },
        {"question": "When did the violin break?", "evidence": ["D3:1"], "category": 5},
    ]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"sample_id": "c", "conversation": sessions, "qa": asked}]))
    return str(path)


@pytest.fixture
def beir(tmp_path: Path) -> str:
    folder = tmp_path / "crafts"
    lines(folder / "corpus.jsonl", [{"_id": f"d{n}", "title": "", "text": fact} for n, fact in enumerate(FACTS)])
    lines(folder / "queries.jsonl", [{"_id": "1", "text": "beehives in winter"}])
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\td3\t1\n")
    return str(folder)


def test_eval_prints_the_figures_of_memories(cli: Cli, jsonl: str) -> None:
    """One line for what counts, one for each category, and what else there is to know."""
    out = cli.ok("eval", "jsonl", jsonl).out
    rows = {line.split("\t")[0].strip(): line.split("\t")[1:] for line in out.splitlines() if "\t" in line}
    assert out.startswith("work.jsonl: profile ")
    assert rows["all that count"] == ["2", *["100.0"] * 7]
    assert rows["words"] == rows["with the gate"] == rows["all that count"]
    assert rows["recall@10"] == ["100.0 to 100.0 (95 % interval)"]
    assert rows["fresh first"] == ["100.0 % of 1 questions about what has changed"]
    assert rows["nothing, rightly"] == ["100.0 % of 1 questions that nothing answers"]
    assert rows["nothing, wrongly"] == ["0.0 % of 2 questions that something answers"]
    assert "latency" in rows
    assert "tokens" in rows
    assert "ahead" not in out


def test_eval_prints_how_far_ahead_the_profile_is(cli: Cli, locomo: str) -> None:
    """Of each baseline, in points."""
    out = cli.ok("eval", "locomo", locomo, "--compare").out
    rows = {line.split("\t")[0].strip(): line.split("\t")[1:] for line in out.splitlines() if "\t" in line}
    assert "How far ahead" in out
    assert rows["words"] == ["100.0", rows["words"][1], "100.0", "+0.0", "+0.0 to +0.0"]
    assert set(rows) >= {"vectors", "rrf", "temporal", "multi-hop", "adversarial, apart", "nothing, adversarial"}


def test_eval_for_programs(cli: Cli, locomo: str) -> None:
    """Shares from 0 to 1; adversarial questions only apart."""
    told = cli.ok("eval", "locomo", locomo, "--compare", "--json").json
    assert (told["questions"], told["recall@10"], told["session"]["recall@5"]) == (2, 1.0, 1.0)
    assert set(told["baselines"]) == {"words", "vectors", "rrf"}
    assert set(told["categories"]) == {"temporal", "multi-hop"}
    assert (told["adversarial"]["questions"], told["gate"], told["model"]) == (1, False, "static")
    assert told["latency_ms"]["p50"] <= told["latency_ms"]["p95"]
    assert cli.ok("--json", "eval", "locomo", locomo).json["baselines"] == {}


def test_eval_takes_a_folder_of_beir(cli: Cli, beir: str) -> None:
    """With its documents as passages."""
    told = cli.ok("eval", "beir", beir, "--json").json
    assert (told["benchmark"], told["questions"], told["mrr"], told["categories"]) == ("crafts", 1, 1.0, {})


def test_eval_takes_a_profile_and_the_gate(cli: Cli, jsonl: str) -> None:
    """And says which it was."""
    told = cli.ok("eval", "jsonl", jsonl, "--profile", "words", "--no-gate", "--json").json
    assert (told["profile"], told["gate"]) == ("words", False)
    assert "gated" not in told
    assert "abstention" not in told
    told = cli.ok("eval", "jsonl", jsonl, "--gate", "--json").json
    assert told["gate"] is True
    assert told["abstention"]["questions"] == 1


def test_eval_can_ask_fewer_questions(cli: Cli, jsonl: str) -> None:
    """For a first look."""
    assert cli.ok("eval", "jsonl", jsonl, "--limit-questions", "1", "--json").json["questions"] == 1


def test_eval_leaves_no_trace(cli: Cli, jsonl: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the person's memory, which it does not need, nor among the temporary files."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    cli.ok("eval", "jsonl", jsonl)
    assert not cli.home.exists()
    assert list(temporary.iterdir()) == []


def test_eval_uses_the_persons_settings_and_not_their_memory(cli: Cli, jsonl: str) -> None:
    """A memory of theirs that would answer is not found, and memory that is off is no obstacle."""
    cli.ok("remember", "--global", "Grandfather repaired church clocks, said the neighbour")
    cli.ok("config", "set", "recall.profile", "koshi")
    cli.ok("off", "--global")
    told = cli.ok("eval", "jsonl", jsonl, "--json").json
    assert (told["profile"], told["mrr"]) == ("koshi", 1.0)


@pytest.mark.parametrize(
    "words, said",
    [
        (["nonsense", "{path}"], "'nonsense' is not one of"),
        (["jsonl"], "needs the PATH of a labelled set"),
        (["jsonl", "/nonexistent.jsonl"], "/nonexistent.jsonl: cannot be read"),
        (["jsonl", "{path}", "--limit-questions", "0"], "0 is not in the range"),
        (["jsonl", "{path}", "--profile", "nonsense"], "recall.profile"),
        (["jsonl", "{path}", "--profile", "word"], "Did you mean words?"),
        (["jsonl", "{path}", "--model", "nonsense"], "embed.model"),
        (["locomo", "{path}"], "is not JSON"),
        (["beir", "{path}"], "corpus.jsonl: cannot be read"),
    ],
)
def test_eval_refuses_what_it_cannot_run(cli: Cli, jsonl: str, words: list[str], said: str) -> None:
    """With status 2 and nothing on standard output."""
    done = cli("eval", *(word.format(path=jsonl) for word in words))
    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_eval_names_the_line_that_is_wrong(cli: Cli, jsonl: str) -> None:
    """Before anything is loaded."""
    with Path(jsonl).open("a") as file:
        file.write('{"question": "q9", "text": "Which?", "gold": ["m99"]}\n')
    error = cli("eval", "jsonl", jsonl, "--json").error
    assert error["type"] == "BadFile"
    assert error["message"] == f"{jsonl}, line {len(FACTS) + 4}: 'm99' is no memory of this file"


def test_eval_says_which_model_is_not_there(cli: Cli, jsonl: str) -> None:
    """Rather than print figures of something else."""
    done = cli("eval", "jsonl", jsonl, "--model", "minilm")
    assert (done.status, done.out) == (1, "")
    assert "embedding model 'minilm'" in done.err
    assert "recollect models install minilm" in done.err
