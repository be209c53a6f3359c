"""Sets of memories and prompts: what is wrong with one is said by its line, and figures are what one counts by hand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import recollect
from recollect import BadFile, Kind, Recollect
from recollect.engine.parts import Clock
from recollect.evaluate.speaking import BUILT_IN, load_prompts, speak
from recollect.model import Json

MEMORIES: list[dict[str, Json]] = [
    {"memory": "port", "content": "The gateway listens on port 9000"},
    {"memory": "pnpm", "content": "No, use pnpm, never npm", "kind": "correction", "tags": ["tools"]},
    {"memory": "locales", "text": "Translations live in locales/de.json", "files": ["locales/de.json"]},
    {"memory": "cache", "content": "Search results are cached for ten minutes"},
]


def written(path: Path, *lines: dict[str, Json] | str) -> Path:
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines) + "\n")
    return path


@contextmanager
def opened(clock: Clock) -> Iterator[Recollect]:
    with recollect.open(store="memory:", clock=clock, background=False) as memory:
        yield memory


def test_a_set_is_read(tmp_path: Path) -> None:
    prompt: dict[str, Json] = {"prompt": "p1", "text": "hi\u2028there", "gold": ["port"], "sort": "chat", "ignored": 1}
    line = json.dumps(prompt, ensure_ascii=False)  # with an end of line of another sort inside
    found = load_prompts(written(tmp_path / "set.jsonl", *MEMORIES, "", line))
    assert (found.name, list(found.memories)) == ("set", ["port", "pnpm", "locales", "cache"])
    assert found.memories["pnpm"].kind is Kind.CORRECTION
    assert found.memories["locales"].content == "Translations live in locales/de.json"
    assert [anchor.path for anchor in found.memories["locales"].anchors] == ["locales/de.json"]
    [asked] = found.prompts
    assert (asked.id, asked.text, asked.gold, asked.sort) == ("p1", "hi\u2028there", ("port",), "chat")


WRONG = [
    ("not json", "line 2.*neither a memory nor a prompt"),
    ("[" * 100_000, "line 2"),
    ("[]", "line 2"),
    ("1", "line 2"),
    ('{"neither": 1}', "line 2"),
    ('{"memory": 5, "content": "x"}', "line 2"),
    ('{"memory": "m"}', "line 2"),
    ('{"memory": "m", "content": "  "}', "line 2.*empty"),
    ('{"memory": "m", "content": 5}', "line 2"),
    ('{"memory": "m", "content": "x", "kind": "nonsense"}', "line 2"),
    ('{"memory": "m", "content": "x", "files": "a.py"}', "line 2"),
    ('{"memory": "port", "content": "x"}', "line 2.*twice"),
    ('{"prompt": "p"}', "line 2"),
    ('{"prompt": "p", "text": ["x"]}', "line 2"),
    ('{"prompt": "p", "text": "x", "gold": "port"}', "line 2"),
    ('{"prompt": "p1", "text": "x"}', "line 3.*twice"),
    ('{"prompt": "p", "text": "x", "gold": ["nobody"]}', "knows no memory 'nobody'"),
]


@pytest.mark.parametrize(("line", "told"), WRONG, ids=[line[:40] for line, _ in WRONG])
def test_what_is_wrong_is_said_by_its_line(tmp_path: Path, line: str, told: str) -> None:
    path = written(tmp_path / "set.jsonl", MEMORIES[0], line, {"prompt": "p1", "text": "x"})
    with pytest.raises(BadFile, match=told):
        load_prompts(path)


def test_a_file_that_cannot_be_read_or_asks_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    written(tmp_path / "empty.jsonl", MEMORIES[0])
    for name, told in (
        ("nowhere.jsonl", "cannot be read"),
        (".", "cannot be read"),
        ("binary.jsonl", "cannot be read"),
    ):
        with pytest.raises(BadFile, match=told):
            load_prompts(tmp_path / name)
    with pytest.raises(BadFile, match="holds no prompt"):
        load_prompts(tmp_path / "empty.jsonl")


@pytest.mark.row("X2", "precision")
def test_the_figures_are_what_one_counts_by_hand(tmp_path: Path) -> None:
    """Two given and one of them right; one of two left alone rightly; one of two that something helps with."""
    prompts: list[dict[str, Json]] = [
        {"prompt": "right", "text": "which port does the gateway listen on?", "gold": ["port"], "sort": "direct"},
        {"prompt": "missed", "text": "make it quicker", "gold": ["cache"], "sort": "task"},
        {"prompt": "quiet", "text": "thanks!", "sort": "chat"},
        {"prompt": "loud", "text": "install the dependencies", "sort": "near"},
    ]
    seen: list[tuple[int, int]] = []
    tested = load_prompts(written(tmp_path / "set.jsonl", *MEMORIES, *prompts))
    found = speak(tested, opened, progress=lambda done, total: seen.append((done, total)))
    assert (found.name, found.memories, found.prompts, found.given) == ("set", 4, 4, 2)
    assert (found.precision, found.silence, found.coverage) == (0.5, 0.5, 0.5)
    assert found.sorts == {"direct": 1.0, "task": 0.0, "chat": 1.0, "near": 0.0}
    assert 5 < found.tokens < 20
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_share_of_nothing_is_one(tmp_path: Path) -> None:
    tested = load_prompts(written(tmp_path / "set.jsonl", MEMORIES[0], {"prompt": "p", "text": "thanks"}))
    found = speak(tested, opened)
    assert (found.precision, found.silence, found.coverage, found.given, found.tokens) == (1.0, 1.0, 1.0, 0, 0.0)


def test_memories_that_say_the_same_are_one_and_either_name_is_right(tmp_path: Path) -> None:
    prompt: dict[str, Json] = {"prompt": "p", "text": "which port does the gateway listen on?", "gold": ["port"]}
    twin: dict[str, Json] = {**MEMORIES[0], "memory": "port again"}
    found = speak(load_prompts(written(tmp_path / "set.jsonl", *MEMORIES, twin, prompt)), opened)
    assert (found.precision, found.coverage, found.given) == (1.0, 1.0, 1)


def test_the_sets_that_come_with_it_can_be_read() -> None:
    names = sorted(file.stem for file in BUILT_IN.glob("*.jsonl"))
    assert names == ["dev", "held"]
    assert all(len(load_prompts(BUILT_IN / f"{name}.jsonl").prompts) >= 200 for name in names)
