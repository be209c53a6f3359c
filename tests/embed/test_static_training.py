"""How the built-in table is made: the texts it learns from, what a row is made of, and the mix that ships."""

from __future__ import annotations

import csv
import lzma
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import build_static
import train_static
from recollect.embed.wordpiece import WordPiece
from static_table import rows, texts

SOURCES = Path(build_static.__file__).with_name("static_text.tsv")
PIECES = WordPiece.read(build_static.FOLDER / "vocab.txt")
RUNS = [
    ["Deploys go out from the main branch.", "You can restart the server with a signal.", "Fixed a crash at start."],
    ["The user prefers tabs over spaces, because they are easier to reach."],
    ["To restore a backup of the database, stop the server first.", "It is kept in the folder of the project."] * 20,
]
DATES = re.compile(
    r"(\d{1,2}:\d\d [ap]m on )?(\d{4}-\d\d-\d\d( \d\d:\d\d)?|\d{1,2} [A-Z]\w+,? \d{4}|[A-Z]\w+ \d{1,2}, \d{4})"
)

prose = st.text(st.sampled_from("abc TheIs.?!'\"-(),2é\n"), max_size=120) | st.text(max_size=40)


@pytest.mark.parametrize(
    "paragraph, sentences",
    [
        (
            "* The server keeps a log of it. It is read at the start, and “never” again! Use it, or do not.",
            [
                "The server keeps a log of it.",
                'It is read at the start, and "never" again!',
                "Use it, or do not.",
            ],
        ),
        (
            "Too short here. The one after it is long enough to be kept.",
            ["The one after it is long enough to be kept."],
        ),
        ("See https://example.org/ for all of the details of this.", []),
        ("if (a == b) { return the value of it; }", []),
        ("Copyright 2020 by the authors of this work.", []),
        ("Это предложение не на английском языке.", []),
        ("RED GREEN BLUE AND the other ones", []),
        ("", []),
    ],
)
def test_sentences_are_cut_out_of_paragraphs(paragraph: str, sentences: list[str]) -> None:
    """Prose is kept; code, addresses, legal notices, other languages and scraps are not."""
    assert texts.cut(paragraph) == sentences


@given(prose)
def test_any_paragraph_can_be_cut(paragraph: str) -> None:
    """What is kept is of a bounded length, on one line, and is kept when it is cut again."""
    for sentence in texts.cut(" ".join(paragraph.split())):
        assert 4 <= len(sentence.split(" ")) <= 60
        assert texts.cut(sentence) == [sentence]


@pytest.mark.parametrize(
    "sentence, question",
    [
        ("Fixed a crash at the start.", "What was wrong with a crash at the start?"),
        ("To restore a backup, stop the server first.", "How do I restore a backup?"),
        ("You can restart the server with a signal.", "How can I restart the server with a signal?"),
        ("Tabs are preferred, because they are easier to reach.", "Why tabs are preferred?"),
        ("The cache is kept in memory.", "Where is the cache?"),
        ("When the disk is full, writing stops.", "What happens when the disk is full?"),
        ("The scheduler starts all of the jobs.", "What does the scheduler start?"),
    ],
)
def test_a_rule_makes_a_question_of_a_sentence(sentence: str, question: str) -> None:
    """One of several, by chance."""
    assert question in {texts.question(sentence, random.Random(seed)) for seed in range(60)}


def test_no_question_is_made_where_no_rule_fits() -> None:
    """Rather none than a senseless one."""
    assert texts.question("Hello again", random.Random(1)) is None


@given(prose, st.integers())
def test_questions_and_searches_can_be_made_of_anything(sentence: str, seed: int) -> None:
    """And are never empty; a search has no word that the sentence does not have."""
    asked, sought = (make(sentence, random.Random(seed)) for make in (texts.question, texts.search))
    assert asked is None or asked.strip()
    if sought is not None:
        assert all(word in sentence.lower() for word in sought.lower().split())


@given(st.integers())
def test_a_date_is_one_that_people_write(seed: int) -> None:
    """In one of five ways."""
    assert DATES.fullmatch(texts.date(random.Random(seed)))


def test_the_texts_of_a_sentence_follow_it_and_the_same_chance_makes_the_same() -> None:
    """Every sentence stands for itself first; the teacher is not shown the dates."""
    found = list(texts.made(RUNS, first=7, seed=3))
    assert found == list(texts.made(RUNS, first=7, seed=3))
    assert found != list(texts.made(RUNS, first=7, seed=4))
    told = [sentence for run in RUNS for sentence in run]
    assert [text.read for text in found if text.kind == texts.SENTENCE] == told
    assert {text.kind for text in found} == set(range(5))
    for text in found:
        if text.kind == texts.DATED:
            assert text.read.endswith(f" {text.taught}")
            assert DATES.fullmatch(text.read.removesuffix(f" {text.taught}"))
            assert text.taught.endswith(told[text.source - 7])
        else:
            assert text.read == text.taught
        if text.kind == texts.PASSAGE:
            assert text.read.startswith(told[text.source - 7])


def test_all_texts_are_cut_into_pieces_and_know_their_run(tmp_path: Path) -> None:
    """From the file as it is packed."""
    path = tmp_path / "text.xz"
    path.write_bytes(lzma.compress(("\n\n".join("\n".join(run) for run in RUNS) + "\n").encode()))
    runs = texts.read_runs(path)
    assert runs == RUNS
    corpus = texts.corpus(runs, PIECES, seed=3)
    made = list(texts.made(RUNS, first=0, seed=3))
    assert corpus.kinds.tolist() == [text.kind for text in made]
    assert corpus.read.flat.tolist() == [token for text in made for token in PIECES.tokens(text.read)]
    assert corpus.taught.lengths.tolist() == [len(PIECES.tokens(text.taught)) for text in made]
    assert set(corpus.runs[corpus.sources < 3]) == {0}
    assert set(corpus.runs) == {0, 1, 2}


def test_portions_leave_out_no_run_and_number_the_sentences() -> None:
    """Whatever their lengths."""
    runs = [["a sentence"] * (1 + number % 70) for number in range(900)]
    portions = list(texts.portions(runs))
    assert [run for _, some in portions for run in some] == runs
    count = 0
    for first, some in portions:
        assert first == count
        count += sum(map(len, some))
    assert len(portions) > 2


def test_a_row_that_has_learned_nothing_is_as_it_was() -> None:
    """And one that the text does not have moves only as all do."""
    base, own = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]])
    free = rows.freedom(np.array([[0.0], [50.0]]))
    weight, nothing = np.array([[9.0], [np.log(2.0)]]), np.zeros_like(base)
    assert np.array_equal(rows.formed(base, nothing, nothing[:, :1], shared=nothing, free=free), base)
    formed = rows.formed(base, own, weight, shared=np.full_like(base, 10), free=free)
    heavier = np.array([3.0, 4.0]) * 2**0.25
    assert np.allclose(formed[0], [11, 12])
    assert np.allclose(formed[1] - heavier, [11.75, 12])


@given(arrays(np.float64, 5, elements=st.floats(0, 1e9)))
def test_a_piece_is_the_freer_the_more_often_it_is_seen(counts: np.ndarray) -> None:
    """From 0, for one that is not seen, towards 1."""
    free = rows.freedom(np.sort(counts))
    assert (np.diff(free) >= 0).all()
    assert ((free >= 0) & (free <= 1)).all()


stored = arrays(np.float64, (4, 6), elements=st.floats(-100, 100, width=16)).map(build_static.quantised)


@given(stored, stored)
def test_a_mix_lies_half_way_between_its_tables(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]
) -> None:
    """To within half a step of its bytes; whichever comes first."""
    table, scales = build_static.mixed(one, other)
    middle = (build_static.restored(*one) + build_static.restored(*other)) / 2
    assert (np.abs(build_static.restored(table, scales) - middle) <= scales[:, None] * 0.5001).all()
    assert np.array_equal(build_static.mixed(other, one)[0], table)


def test_every_source_of_the_text_is_listed() -> None:
    """With a version, a licence and a number of sentences, and once."""
    with SOURCES.open(encoding="utf-8", newline="") as file:
        listed = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert all(all(source.values()) and None not in source for source in listed)
    assert {source["registry"] for source in listed} == {"debian", "npm", "pypi"}
    assert len({(source["registry"], source["package"]) for source in listed}) == len(listed)
    told = f"{sum(int(source['sentences']) for source in listed):,} {{}} from {len(listed)} sources"
    assert told.format("sentences of English") in (train_static.__doc__ or "")
    notice = (build_static.FOLDER / "NOTICE").read_text(encoding="utf-8")
    assert told.format("English sentences") in notice
