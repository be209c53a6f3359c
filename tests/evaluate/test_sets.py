"""Labelled sets: read as they are published, checked as a whole, and refused with the place of what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import BadFile
from recollect.evaluate import Benchmark, Collection, Filed, Question, Told, spread
from recollect.evaluate.sets import UNDATED, load_beir, load_jsonl, load_locomo
from recollect.model import Anchor, Corpus, Draft, Kind, Passage


def lines(path: Path, *records: object) -> Path:
    """A file with a line for each record; text stands as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in records))
    return path


def turn(name: str, speaker: str, text: str, **more: str) -> dict[str, str]:
    return {"dia_id": name, "speaker": speaker, "text": text, **more}


CONVERSATION: dict[str, object] = {
    "speaker_a": "Ada",
    "speaker_b": "Bo",
    "session_10_date_time": "12:09 am on 13 September, 2023",
    "session_10": [turn("D10:1", "Bo", "The kiln is fixed.")],
    "session_2_date_time": "1:56 pm on 8 May, 2023",
    "session_2": [
        turn("D2:1", "Ada", "Look at this!", blip_caption="a photo of a blue vase", query="vase"),
        turn("D2:2", "Bo", "", blip_caption="a photo of a kiln"),
        turn("D2:3", "Ada", " "),
    ],
    "session_11_date_time": "3:00 pm on 2 October, 2023",
}


def asked(text: str, evidence: object, category: object = 4) -> dict[str, object]:
    return {"question": text, "answer": "…", "evidence": evidence, "category": category}


def locomo(path: Path, *questions: object, conversation: Mapping[str, object] = CONVERSATION) -> Path:
    path.write_text(json.dumps([{"sample_id": "conv-1", "conversation": conversation, "qa": list(questions)}]))
    return path


def refused(path: Path, load: Callable[[Path], Benchmark]) -> BadFile:
    with pytest.raises(BadFile) as caught:
        load(path)
    return caught.value


# LoCoMo


def test_a_conversation_is_a_collection_of_its_turns(tmp_path: Path) -> None:
    """In the order of its sessions, with the date, the speaker and what an image shows; turns of nothing left out."""
    path = locomo(tmp_path / "l.json", asked("Is the kiln fixed?", ["D10:1"]))
    [conversation] = load_locomo(path).collections
    told = [
        (each.id, each.passage.document, each.passage.position, each.passage.label, each.passage.text)
        for each in conversation.items
        if isinstance(each, Filed)
    ]
    assert told == [
        ("D2:1", "session_2", 0, "Ada", "Look at this! [a photo of a blue vase]"),
        ("D2:2", "session_2", 1, "Bo", "[a photo of a kiln]"),
        ("D10:1", "session_10", 0, "Bo", "The kiln is fixed."),
    ]
    dates = [each.passage.at for each in conversation.items if isinstance(each, Filed)]
    assert dates == [datetime(2023, 5, 8, 13, 56, tzinfo=UTC)] * 2 + [datetime(2023, 9, 13, 0, 9, tzinfo=UTC)]
    assert (conversation.name, conversation.corpus) == ("conv-1", Corpus.SESSIONS)
    assert conversation.newest == datetime(2023, 9, 13, 0, 9, tzinfo=UTC)
    assert conversation.documents == {"D2:1": "session_2", "D2:2": "session_2", "D10:1": "session_10"}


@pytest.mark.parametrize(
    "evidence, gold",
    [
        (["D2:1"], ("D2:1",)),
        (["D2:1; D10:1"], ("D2:1", "D10:1")),
        (["D10:1 D2:1", "D2:1"], ("D10:1", "D2:1")),
        (["D2:1;D99:1", "D", "D:2:1", 7], ("D2:1",)),
    ],
)
def test_evidence_is_taken_apart_and_what_names_no_turn_is_dropped(
    tmp_path: Path, evidence: list[object], gold: tuple[str, ...]
) -> None:
    """Each turn once."""
    [conversation] = load_locomo(locomo(tmp_path / "l.json", asked("Which?", evidence))).collections
    assert [each.gold for each in conversation.questions] == [gold]


def test_questions_without_evidence_are_left_out_and_adversarial_ones_stand_apart(tmp_path: Path) -> None:
    """The other four sorts count."""
    path = locomo(
        tmp_path / "l.json",
        *(asked(f"Question {category}?", ["D2:1"], category) for category in range(1, 6)),
        *(asked("Nothing?", []), asked("Nowhere?", ["D99:9"]), {"question": "None?", "category": 1}),
    )
    questions = load_locomo(path).questions
    assert [(each.id, each.category, each.counted, each.apart) for each in questions] == [
        ("conv-1:1", "multi-hop", True, False),
        ("conv-1:2", "temporal", True, False),
        ("conv-1:3", "open-domain", True, False),
        ("conv-1:4", "single-hop", True, False),
        ("conv-1:5", "adversarial", False, True),
    ]


@pytest.mark.parametrize(
    "change, problem",
    [
        ({"session_2_date_time": "8 May 2023"}, "session_2_date_time: '8 May 2023' is not a time such as"),
        ({"session_2_date_time": None}, "session_2: session_2_date_time is missing or not text"),
        ({"session_2": "hello"}, "session_2: session_2 is missing or not a list"),
        ({"session_2": ["hello"]}, "session_2, turn 1: is not an object"),
        ({"session_2": [{"dia_id": "D2:1", "speaker": "Ada"}]}, "session_2, turn 1: text is missing or not text"),
        ({"session_2": [turn("D2:1", "Ada", "a\x00b")]}, "session_2, turn 1: holds a NUL character"),
        ({"session_2": [{"speaker": "Ada", "text": "x"}]}, "session_2, turn 1: dia_id is missing or not text"),
    ],
)
def test_a_conversation_that_is_not_one_is_refused(tmp_path: Path, change: dict[str, object], problem: str) -> None:
    """With the session and the turn."""
    path = locomo(tmp_path / "l.json", asked("Which?", ["D10:1"]), conversation={**CONVERSATION, **change})
    error = refused(path, load_locomo)
    assert f"conversation 1: {problem}" in error.problem
    assert str(path) in str(error)


@pytest.mark.parametrize(
    "question, problem",
    [
        (asked("Which?", ["D10:1"], 6), "question conv-1:1: category 6 is not one of 1 to 5"),
        (asked("Which?", ["D10:1"], True), "question conv-1:1: category is missing or not a whole number"),
        (asked("Which?", "D10:1"), "question conv-1:1: evidence is missing or not a list"),
        (asked(" ", ["D10:1"]), "question conv-1:1: is empty"),
        ("Which?", "question conv-1:1: is not an object"),
        (asked("Which?", []), "has no question that something in it answers"),
        (asked("Which?", ["D10:1"], 5), "has no question that something in it answers"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(tmp_path: Path, question: object, problem: str) -> None:
    """With its place; and so is a file without any."""
    assert problem in refused(locomo(tmp_path / "l.json", question), load_locomo).problem


@pytest.mark.parametrize(
    "text, line, problem",
    [
        ("", 1, "is not JSON"),
        ('[\n{"sample_id": 1,\n]', 3, "is not JSON"),
        ("{}", 0, "is not a list of conversations"),
        ("[3]", 0, "conversation 1: conversation: is not an object"),
        ("[{}]", 0, "conversation 1: conversation: conversation is missing or not an object"),
        ("[]", 0, "has no question"),
        ("[" * 100_000, 0, "is not JSON"),
        ("[" + "1" * 5_000 + "]", 0, "is not JSON"),
    ],
    ids=["empty", "broken", "object", "number", "bare", "nothing", "deep", "long-number"],
)
def test_a_file_that_is_not_locomo_is_refused(tmp_path: Path, text: str, line: int, problem: str) -> None:
    """With the line where the JSON ends to be JSON."""
    path = tmp_path / "l.json"
    path.write_text(text)
    error = refused(path, load_locomo)
    assert (error.line, error.path) == (line, str(path))
    assert error.problem.startswith(problem)


@pytest.mark.parametrize("load", [load_locomo, load_jsonl, load_beir])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, load: Callable[[Path], Benchmark]) -> None:
    """Whatever it should have been."""
    assert "cannot be read" in refused(tmp_path / "nowhere", load).problem
    (tmp_path / "latin").mkdir()
    for name in ("corpus.jsonl", "queries.jsonl", "x.jsonl"):
        (tmp_path / "latin" / name).write_bytes(b'{"text": "caf\xe9"}')
    path = tmp_path / "latin" if load is load_beir else tmp_path / "latin" / "x.jsonl"
    assert "is not UTF-8 at byte 13" in refused(path, load).problem


# Lines of memories and questions


def memory(name: str, text: str, **more: object) -> dict[str, object]:
    return {"memory": name, "text": text, **more}


def question(name: str, text: str, *gold: str, **more: object) -> dict[str, object]:
    return {"question": name, "text": text, "gold": list(gold), **more}


def test_a_file_of_lines_is_a_collection_of_memories(tmp_path: Path) -> None:
    """With everything that the lines say; a byte order mark, empty lines and fields for others are passed over."""
    path = lines(
        tmp_path / "work.jsonl",
        "\ufeff"
        + json.dumps(
            memory("m1", "Deploys go out from main", kind="decision", date="2025-06-02", tags=["ops"], files=["a.py"])
        ),
        "",
        question("q1", "Where from?", "m1", "m1", category="words", asked="2025-07-01T12:00:00Z", stale=["m2"]),
        memory("m2", "Deploys go out from trunk", date="2025-01-02T03:04:05+01:00", author="Ada"),
        memory("m3", "Größe zählt"),
        question("q2", "Why not?"),
    )
    [collection] = load_jsonl(path).collections
    assert collection == Collection(
        name="work",
        items=(
            Told(
                id="m1",
                draft=Draft(
                    content="Deploys go out from main",
                    kind=Kind.DECISION,
                    tags=("ops",),
                    anchors=(Anchor(path="a.py"),),
                ),
                at=datetime(2025, 6, 2, tzinfo=UTC),
            ),
            Told(
                id="m2",
                draft=Draft(content="Deploys go out from trunk"),
                at=datetime(2025, 1, 2, 2, 4, 5, tzinfo=UTC),
            ),
            Told(id="m3", draft=Draft(content="Größe zählt"), at=datetime(2025, 1, 2, 2, 4, 5, tzinfo=UTC)),
        ),
        questions=(
            Question(
                id="q1",
                text="Where from?",
                gold=("m1",),
                category="words",
                asked=datetime(2025, 7, 1, 12, tzinfo=UTC),
                stale=("m2",),
            ),
            Question(id="q2", text="Why not?", gold=()),
        ),
    )
    assert (collection.corpus, collection.newest) == (Corpus.MEMORY, datetime(2025, 6, 2, tzinfo=UTC))
    assert [each.counted for each in collection.questions] == [True, False]


def test_every_file_of_a_folder_is_a_collection(tmp_path: Path) -> None:
    """In the order of their names; one that asks nothing is left out, and ids belong to their file."""
    lines(tmp_path / "set" / "b.jsonl", memory("m", "One"), question("q", "One?", "m"))
    lines(tmp_path / "set" / "a.jsonl", memory("m", "Two"), question("q", "Two?", "m"), question("x", "Three?"))
    lines(tmp_path / "set" / "c.jsonl", memory("m", "Nobody asks"))
    lines(tmp_path / "set" / "notes.txt", "not a set")
    read = load_jsonl(tmp_path / "set")
    assert (read.name, [each.name for each in read.collections]) == ("set", ["a", "b"])
    assert [each.text for each in read.questions] == ["Two?", "Three?", "One?"]


def test_memories_without_dates_take_place_on_a_fixed_day(tmp_path: Path) -> None:
    """So that the figures do not depend on the day they were made."""
    [collection] = load_jsonl(lines(tmp_path / "x.jsonl", memory("m", "One"), question("q", "One?", "m"))).collections
    assert collection.newest == UNDATED


@pytest.mark.parametrize(
    "wrong, problem",
    [
        ("{", "is not JSON"),
        ("[1]", "is not an object"),
        ({"text": "x"}, "is not either a memory or a question"),
        ({"memory": "a", "question": "b", "text": "x", "gold": []}, "is not either a memory or a question"),
        ({"memory": "m2"}, "text is missing"),
        (memory("m2", ""), "content: is empty"),
        (memory("m2", "a\ud800"), "content: holds a lone surrogate"),
        (memory("", "x"), "id: is empty"),
        (memory("m1", "again"), "id: 'm1' was there before"),
        ({"memory": 7, "text": "x"}, "line.memory: expected text"),
        (memory("m2", "x", kind="opinion"), "line.kind: 'opinion' is not one of"),
        (memory("m2", "x", date="yesterday"), "line.date: 'yesterday' is not a date or time"),
        (memory("m2", "x", tags="ops"), "line.tags: expected a list"),
        (memory("m2", "x", tags=[" "]), "tag: is empty"),
        ({"question": "q2", "text": "x"}, "gold is missing"),
        (question("q2", " "), "text: is empty"),
        (question("q1", "again", "m1"), "id: 'q1' was there before"),
        (question("q2", "x", "m9"), "'m9' is no memory of this file"),
        (question("q2", "x", "m1", stale=["m9"]), "'m9' is no memory of this file"),
        (question("q2", "x", "m1", asked="noon"), "line.asked: 'noon' is not a date or time"),
    ],
    ids=lambda value: json.dumps(value)[:60] if not isinstance(value, str) else None,
)
def test_a_line_that_means_nothing_is_refused(tmp_path: Path, wrong: object, problem: str) -> None:
    """With the file and the line."""
    path = lines(tmp_path / "x.jsonl", memory("m1", "One"), question("q1", "One?", "m1"), wrong)
    error = refused(path, load_jsonl)
    assert (error.path, error.line) == (str(path), 3)
    assert problem in error.problem


def test_a_set_that_asks_nothing_is_refused(tmp_path: Path) -> None:
    """A folder without a file, a file without a question, or with none that has an answer."""
    (tmp_path / "empty").mkdir()
    assert "holds no file that ends in .jsonl" in refused(tmp_path / "empty", load_jsonl).problem
    for records in ([memory("m", "One")], [question("q", "Anything?")], []):
        path = lines(tmp_path / "x.jsonl", *records)
        assert "has no question that something in it answers" in refused(path, load_jsonl).problem


# BEIR


def beir(
    folder: Path,
    *,
    corpus: Sequence[object] = (
        {"_id": "d1", "title": "Kilns", "text": "A kiln fires clay.", "metadata": {}},
        {"_id": "d2", "title": "", "text": "Glass is blown."},
        {"_id": "d3", "title": "Only a title", "text": ""},
        {"_id": "d4", "text": "", "title": ""},
    ),
    queries: Sequence[object] = ({"_id": "1", "text": "What fires clay?"}, {"_id": "2", "text": "Not judged"}),
    judgements: Sequence[str] = ("query-id\tcorpus-id\tscore", "1\td1\t1", "1\td3\t2", "1\td2\t0"),
) -> Path:
    lines(folder / "corpus.jsonl", *corpus)
    lines(folder / "queries.jsonl", *queries)
    lines(folder / "qrels" / "test.tsv", *judgements)
    return folder


def test_a_beir_folder_is_a_collection_of_sources(tmp_path: Path) -> None:
    """Each document a passage; only queries that were judged, and only what was judged to answer them."""
    [collection] = load_beir(beir(tmp_path / "clay")).collections
    assert collection.items == (
        Filed(id="d1", passage=source("d1", "A kiln fires clay.", "Kilns")),
        Filed(id="d2", passage=source("d2", "Glass is blown.")),
        Filed(id="d3", passage=source("d3", "Only a title")),
    )
    assert collection.questions == (Question(id="1", text="What fires clay?", gold=("d1", "d3")),)
    assert (collection.name, collection.corpus, collection.newest) == ("clay", Corpus.SOURCES, UNDATED)


def source(document: str, text: str, label: str = "") -> Passage:
    return Passage(corpus=Corpus.SOURCES, document=document, position=0, text=text, label=label)


@pytest.mark.parametrize(
    "given_, file, line, problem",
    [
        ({"corpus": [{"_id": "d1", "text": "x"}, {"text": "y"}]}, "corpus.jsonl", 2, "_id is missing"),
        ({"corpus": [{"_id": "d1", "text": "x"}] * 2}, "corpus.jsonl", 2, "'d1' was there before"),
        ({"corpus": ["{"]}, "corpus.jsonl", 1, "is not JSON"),
        ({"corpus": [{"_id": "d1", "text": None}]}, "corpus.jsonl", 1, "line.text: expected text"),
        ({"queries": [{"_id": "1", "text": ""}]}, "queries.jsonl", 1, "text: is empty"),
        ({"judgements": ["1\td1\t1", "1 d1 1"]}, "qrels/test.tsv", 2, "is not a query, a document and a whole number"),
        ({"judgements": ["1\td1\tyes"]}, "qrels/test.tsv", 1, "is not a query, a document and a whole number"),
        ({"judgements": ["9\td1\t1"]}, "qrels/test.tsv", 1, "there is no query '9'"),
        ({"judgements": ["", "1\td9\t1"]}, "qrels/test.tsv", 2, "there is no document 'd9'"),
    ],
)
def test_a_beir_folder_that_does_not_hold_together_is_refused(
    tmp_path: Path, given_: dict[str, Sequence[object]], file: str, line: int, problem: str
) -> None:
    """With the file and the line."""
    error = refused(beir(tmp_path / "clay", **given_), load_beir)  # type: ignore[arg-type]
    assert (error.path, error.line) == (str(tmp_path / "clay" / file), line)
    assert problem in error.problem


def test_a_beir_folder_in_which_nothing_answers_is_refused(tmp_path: Path) -> None:
    """It would have no figures."""
    folder = beir(tmp_path / "clay", judgements=["query-id\tcorpus-id\tscore", "1\td1\t0"])
    assert "has no question" in refused(folder, load_beir).problem


# Fewer questions


def sized(*sizes: tuple[int, int, int]) -> Benchmark:
    """Collections with so many questions that count, stand apart, and have no answer."""
    made = []
    for number, (counted, apart, absent) in enumerate(sizes):
        questions = (
            *(Question(id=f"{number}c{n}", text="?", gold=("x",)) for n in range(counted)),
            *(Question(id=f"{number}a{n}", text="?", gold=("x",), apart=True) for n in range(apart)),
            *(Question(id=f"{number}n{n}", text="?", gold=()) for n in range(absent)),
        )
        made.append(Collection(name=str(number), items=(), questions=questions))
    return Benchmark(name="sized", collections=tuple(made))


def test_fewer_questions_come_from_all_over_the_set() -> None:
    """As many of each sort, evenly; what is not asked of is not loaded."""
    thin = spread(sized((4, 2, 0), (4, 0, 1), (0, 0, 1)), 2)
    assert [each.id for each in thin.questions] == ["0c0", "0a0", "0a1", "1c0", "1n0", "2n0"]
    assert [each.name for each in spread(sized((5, 0, 0), (0, 3, 0), (5, 0, 0)), 1).collections] == ["0", "1"]


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=4), st.integers(1, 30))
def test_no_more_than_asked_for_and_no_fewer_than_there_are(sizes: list[tuple[int, int, int]], most: int) -> None:
    """Of each sort, in their order."""
    whole = sized(*sizes)
    thin = spread(whole, most)
    assert [each for each in whole.questions if each in thin.questions] == list(thin.questions)
    for sort in ("c", "a", "n"):
        there = sum(each.id[1] == sort for each in whole.questions)
        assert sum(each.id[1] == sort for each in thin.questions) == min(most, there)
