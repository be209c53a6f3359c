"""Passages: turns of sessions, items of knowledge and chunks of files, searched beside the memories."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import Corpus, Excerpt, Excerpts, InvalidInput, MemoryOff, NotFound, Passage, Recollect
from recollect.policy.rank import PROFILES
from recollect.testing import FixedClock, HashEmbedder, temp_recollect

START = datetime(2026, 6, 18, tzinfo=UTC)
CHAT = [
    ("Ada", "What shall we name the new kitten?"),
    ("Bob", "I was thinking of Biscuit."),
    ("Ada", "Lovely. And how is the garden?"),
    ("Bob", "The tomatoes are nearly ripe."),
    ("Ada", "See you for dinner then."),
    ("Bob", "Until tonight."),
]
SOURCES = [Corpus.ITEMS, Corpus.SESSIONS, Corpus.SOURCES]


@pytest.fixture(params=["memory:", "{}/memory.db", "json:{}/memory.json"], ids=["memory", "sqlite", "json"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Recollect]:
    store = str(request.param).format(tmp_path)
    with recollect.open(store=store, clock=FixedClock(START), background=False) as opened:
        yield opened


def turns(document: str, said: list[tuple[str, str]], at: datetime | None = None) -> list[Passage]:
    """What was said in a session."""
    return [
        Passage(corpus=Corpus.SESSIONS, document=document, position=position, label=who, text=text, at=at)
        for position, (who, text) in enumerate(said)
    ]


def chunk(document: str, position: int, text: str, corpus: Corpus = Corpus.SOURCES, label: str = "") -> Passage:
    """A piece of a file."""
    return Passage(corpus=corpus, document=document, position=position, text=text, label=label)


def places(found: Excerpts) -> list[tuple[str, int]]:
    """Where what was found stands, best first."""
    return [(each.passage.document, each.passage.position) for each in found]


def why(excerpt: Excerpt) -> dict[str, float]:
    return {each.factor: each.value for each in excerpt.why}


# Scopes


@pytest.mark.row("B10", "items", "sessions", "sources", "memory")
def test_each_scope_is_searched_by_itself(memory: Recollect) -> None:
    """Memories by recall, the three sorts of passages by their names."""
    memory.remember("the signing keys are rotated yearly")
    for corpus in SOURCES:
        memory.file_passages([chunk("d", 0, f"signing keys of the {corpus}", corpus)])
    for corpus in SOURCES:
        for name in (corpus, corpus.value):
            [found] = memory.search_passages("signing keys", corpus=name)
            assert (found.passage.corpus, found.passage.text) == (corpus, f"signing keys of the {corpus}")
    assert [hit.memory.content for hit in memory.recall("signing keys")] == ["the signing keys are rotated yearly"]
    assert len(memory.search("signing keys")) == 1


def test_memories_are_no_passages(memory: Recollect) -> None:
    """They are remembered, recalled and forgotten."""
    with pytest.raises(InvalidInput, match="recall and search"):
        memory.search_passages("x", corpus="memory")
    with pytest.raises(InvalidInput, match="recall and search"):
        memory.unfile("memory", "d")
    with pytest.raises(InvalidInput, match="remembered"):
        memory.file_passages([chunk("d", 0, "x", Corpus.MEMORY)])
    with pytest.raises(InvalidInput, match="is not one of memory, items, sessions, sources"):
        memory.search_passages("x", corpus="everything")


@pytest.mark.row("B10", "keyword")
def test_keywords_alone_find_passages() -> None:
    """Without vectors, by setting or by profile."""
    pieces = [chunk("a.py", 0, "reads an invoice from disk"), chunk("a.py", 5, "paints a window")]
    with recollect.open(store="memory:", settings={"recall.search": "fts5"}, background=False) as memory:
        memory.file_passages(pieces)
        assert places(memory.search_passages("invoice", corpus="sources", profile="words")) == [("a.py", 0)]
        assert places(memory.search_passages("invoice", corpus="sources"))[0] == ("a.py", 0)
        assert memory.status().vectors == ()
    with recollect.open(store="memory:", background=False) as memory:
        memory.file_passages(pieces)
        assert places(memory.search_passages("invoice", corpus="sources", profile="words")) == [("a.py", 0)]


@pytest.mark.row("B10", "hybrid")
@pytest.mark.row("E10")
def test_passages_are_found_by_meaning(memory: Recollect) -> None:
    """No word of the question is in the text."""
    memory.file_passages(
        [
            chunk("a.md", 0, "Run the linter before you commit"),
            chunk("b.md", 0, "The physician prescribed antibiotics for the infection"),
            chunk("c.md", 0, "Invoices are rendered as PDF"),
        ]
    )
    assert places(memory.search_passages("doctor gave medicine against illness", corpus="sources"))[0] == ("b.md", 0)


@pytest.mark.row("B10", "hybrid")
@pytest.mark.parametrize("vector, text", [(0.7, 0.3), (1.0, 0.0), (0.0, 1.0), (3.0, 20.0)])
def test_brain_weighs_passages_as_the_settings_say(vector: float, text: float) -> None:
    """vector_weight times cosine plus text_weight times BM25."""
    settings = {"recall.vector_weight": vector, "recall.text_weight": text}
    with recollect.open(store="memory:", background=False, settings=settings) as memory:
        memory.file_passages(turns("s", CHAT))
        question = "what is the name of the kitten"
        plain = {each.passage.id: each for each in memory.search_passages(question, profile="vectors", limit=100)}
        found = memory.search_passages(question, profile="brain", limit=100)
        assert found
        for each in found:
            closeness = plain[each.passage.id].score if each.passage.id in plain else 0.0
            assert why(each)["meaning"] == pytest.approx(vector * closeness)
            assert each.score == pytest.approx(why(each)["meaning"] + why(each)["words"])
        if text:
            assert why(found[0])["words"] > 0


# Turns and their neighbours


def test_a_turn_is_found_with_the_help_of_what_stands_around_it(memory: Recollect) -> None:
    """The answer shares no word with the question that was asked, but follows one that does."""
    memory.file_passages([*turns("s1", CHAT), *turns("s2", [("Eve", "Biscuit tins are on sale.")] * 3)])
    found = memory.search_passages("what is the name of the new kitten", gate=False)
    assert places(found)[:2] == [("s1", 0), ("s1", 1)]
    answer = found[1]
    assert answer.passage.text == "I was thinking of Biscuit."
    assert why(answer)["answer"] > 0
    assert why(answer)["near"] > 0
    assert "words" not in why(answer)


def test_what_is_found_is_shown_with_its_neighbours(memory: Recollect) -> None:
    """Two on each side, of its own session, as far as there are any."""
    memory.file_passages([*turns("s1", CHAT), *turns("s0", CHAT[:1])])
    answer = memory.search_passages("tomatoes garden")
    found = dict(zip(places(answer), answer, strict=True))
    middle = found["s1", 3]
    assert [each.position for each in middle.before] == [1, 2]
    assert [each.position for each in middle.after] == [4, 5]
    assert {each.document for each in (*middle.before, *middle.after)} == {"s1"}
    [alone] = memory.search_passages("new kitten", document="s0")
    assert (alone.before, alone.after) == ((), ())


def test_it_matters_who_was_asked_about(memory: Recollect) -> None:
    """Of two who say the same, the one who was named comes first."""
    memory.file_passages(
        turns(
            "s",
            [
                ("Ada", "I would love a holiday."),
                ("Eve", "Me too."),
                ("Eve", "So."),
                ("Bob", "I would love a holiday."),
            ],
        )
    )
    for who, position in (("Ada", 0), ("Bob", 3)):
        found = memory.search_passages(f"what would {who} love", gate=False)
        assert places(found)[0] == ("s", position)
        assert why(found[0])["speaker"] > 0
        assert {each.passage.label for each in found if "speaker" in why(each)} == {who}
    both = memory.search_passages("what would Ada and Bob love", gate=False)
    assert not any("speaker" in why(each) for each in both)


def test_a_turn_is_found_by_its_date(memory: Recollect) -> None:
    """As people write it."""
    memory.file_passages(turns("early", [("Ada", "We went to the lake.")], datetime(2026, 3, 5, tzinfo=UTC)))
    memory.file_passages(turns("late", [("Ada", "We went to the lake.")], datetime(2026, 5, 5, tzinfo=UTC)))
    assert places(memory.search_passages("who went to the lake in March", gate=False))[0] == ("early", 0)
    assert places(memory.search_passages("who went to the lake in May 2026", gate=False))[0] == ("late", 0)
    assert memory.search_passages("lake")[0].passage.reading.endswith("2026 Ada: We went to the lake.")


def test_chunks_of_a_file_are_known_by_its_path_and_their_label(memory: Recollect) -> None:
    """A question may name either."""
    memory.file_passages(
        [
            chunk("src/billing/ledger.py", 0, "rounds half to even", label="round_amount"),
            chunk("src/web/page.py", 0, "rounds corners of boxes", label="paint"),
        ]
    )
    assert places(memory.search_passages("ledger rounds", corpus="sources"))[0] == ("src/billing/ledger.py", 0)
    assert places(memory.search_passages("paint rounds", corpus="sources"))[0] == ("src/web/page.py", 0)


# Narrowing


def test_a_search_can_be_of_one_document(memory: Recollect) -> None:
    """And of no other, whatever the others hold."""
    memory.file_passages([*turns("s1", CHAT), *turns("s2", CHAT), *turns("s3", CHAT[2:])])
    for profile in sorted(PROFILES):
        found = memory.search_passages("kitten", document="s2", profile=profile, gate=False, limit=100)
        assert found
        assert {each.passage.document for each in found} == {"s2"}
        assert {each.document for excerpt in found for each in (*excerpt.before, *excerpt.after)} == {"s2"}
    assert not memory.search_passages("kitten", document="nowhere")


@pytest.mark.parametrize("limit, results", [(0, 0), (1, 1), (3, 3), (100, 6)])
def test_there_are_as_many_passages_as_asked_for(memory: Recollect, limit: int, results: int) -> None:
    """All at most."""
    memory.file_passages(turns("s", CHAT))
    assert len(memory.search_passages("kitten garden dinner tonight", limit=limit, gate=False)) == results


def test_the_gate_leaves_out_what_is_hardly_relevant(memory: Recollect) -> None:
    """By default it stands open for passages."""
    memory.file_passages(turns("s", CHAT))
    question = "what is the capital of Mongolia"
    assert memory.search_passages(question)
    assert memory.search_passages(question, gate=False)
    assert not memory.search_passages(question, gate=True)


# Reasons and notes


@pytest.mark.row("X14", "presence")
@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("corpus", SOURCES)
def test_every_passage_explains_its_score(profile: str, corpus: Corpus) -> None:
    """Evidence added up, times the factors; the best first."""
    with recollect.open(store="memory:", background=False) as memory:
        memory.file_passages([chunk("d", at, text, corpus, who) for at, (who, text) in enumerate(CHAT)])
        found = memory.search_passages(
            "what is the name of the kitten of Ada", corpus=corpus, profile=profile, gate=False
        )
        assert found
        for each in found:
            adds = [reason.value for reason in each.why if reason.adds]
            product = 1.0
            for reason in each.why:
                product *= 1.0 if reason.adds else reason.value
            assert each.score == pytest.approx(product * sum(adds) if adds else product)
            assert 0 <= each.relevance <= 1
        assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_a_question_that_cannot_be_searched_says_so(memory: Recollect) -> None:
    """In the words that recall uses."""
    memory.file_passages(turns("s", CHAT))
    assert memory.search_passages("?!").notes == ("the question holds no word to look for",)
    assert memory.search_passages("kitten").notes == ()
    assert memory.search_passages("x" * 20_000).query == "x" * 10_000
    with pytest.raises(InvalidInput):
        memory.search_passages(None)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        memory.search_passages("kitten", profile="nonsense")


def test_a_model_that_fails_leaves_the_words() -> None:
    """And a note says so."""
    embedder = HashEmbedder()
    embedder.trouble = "it is down"
    with recollect.open(store="memory:", background=False, embedder=embedder) as memory:
        memory.file_passages(turns("s", CHAT))
        found = memory.search_passages("tomatoes")
        assert places(found)[0] == ("s", 3)
        assert found.notes == ("searched by words alone: embedding model 'hash-64': it is down",)


def test_a_switched_off_memory_files_and_finds_nothing() -> None:
    """Until it is switched on again."""
    with temp_recollect(background=False) as memory:
        memory.file_passages(turns("s", CHAT))
        memory.turn_off()
        found = memory.search_passages("kitten")
        assert (len(found), len(found.notes)) == (0, 1)
        assert "switched off" in found.notes[0]
        with pytest.raises(MemoryOff):
            memory.file_passages(turns("t", CHAT))
        memory.turn_on()
        assert memory.search_passages("kitten")


# Filing


def test_filing_again_replaces_what_was_at_the_place(memory: Recollect) -> None:
    """Its words and its meaning are those of the new text."""
    memory.file_passages(turns("s", CHAT))
    memory.search_passages("kitten")  # gives everything its vector
    assert memory.file_passages([chunk("s", 0, "The boiler was serviced in spring.", Corpus.SESSIONS, "Eve")]) == 1
    assert places(memory.search_passages("who serviced the boiler", gate=False))[0] == ("s", 0)
    assert ("s", 0) not in places(memory.search_passages("kitten", profile="words"))
    [first] = [
        each for each in memory.search_passages("kitten", limit=100, profile="vectors") if each.passage.position == 0
    ]
    [other] = [
        each for each in memory.search_passages("boiler", limit=100, profile="vectors") if each.passage.position == 0
    ]
    assert other.score > first.score
    assert all(each.done == each.total == 6 for each in memory.status().vectors)


def test_the_same_again_changes_nothing(memory: Recollect) -> None:
    """Neither the passages nor what is found."""
    memory.file_passages(turns("s", CHAT))
    before = memory.search_passages("kitten", gate=False)
    memory.file_passages(turns("s", CHAT))
    after = memory.search_passages("kitten", gate=False)
    assert [(each.passage.text, each.score) for each in after] == [(each.passage.text, each.score) for each in before]


def test_a_document_can_be_taken_out_from_a_position_on(memory: Recollect) -> None:
    """Of one corpus; others of the same name stay."""
    memory.file_passages([*turns("s", CHAT), *turns("t", CHAT), chunk("s", 0, "kitten in a file", Corpus.SOURCES)])
    memory.unfile(Corpus.SESSIONS, "s", start=2)
    left = memory.search_passages("kitten garden tomatoes dinner", document="s", limit=100, gate=False)
    assert {each.passage.position for each in left} == {0, 1}
    memory.unfile("sessions", "s")
    memory.unfile("sessions", "s")
    assert not memory.search_passages("kitten", document="s", gate=False)
    assert len(memory.search_passages("kitten garden", document="t", limit=100, gate=False)) == 6
    assert len(memory.search_passages("kitten", corpus="sources")) == 1


def test_many_passages_are_filed_in_one_call(memory: Recollect) -> None:
    """From any iterable."""
    count = memory.file_passages(chunk("big.txt", number, f"line about topic{number}") for number in range(2_345))
    assert count == 2_345
    assert places(memory.search_passages("topic1999", corpus="sources"))[0] == ("big.txt", 1_999)
    assert memory.file_passages([]) == 0


@pytest.mark.parametrize(
    "piece",
    [
        "text",
        None,
        chunk("d", 0, "a\x00b"),
        chunk("d", 0, "a\ud800b"),
        chunk("d\x00", 0, "x"),
        chunk("d", 0, "x", label="\ud800"),
    ],
    ids=range(6),
)
def test_what_cannot_be_stored_faithfully_is_refused(memory: Recollect, piece: Any) -> None:
    """And nothing of the call is filed."""
    with pytest.raises(InvalidInput):
        memory.file_passages([chunk("fine", 0, "a fine passage"), piece])
    assert not memory.search_passages("fine passage", corpus="sources", gate=False)


def test_filing_is_recorded_and_leaves_the_store_sound(memory: Recollect) -> None:
    """As every change is."""
    head = memory.status().spaces[0].audit_head
    memory.file_passages(turns("s", CHAT))
    memory.unfile("sessions", "s", start=3)
    assert memory.status().spaces[0].audit_head != head
    assert memory.verify_audit() == ()
    assert [check for check in memory.doctor() if not check.ok and check.name.startswith("project")] == []


def test_passages_last(tmp_path: Path) -> None:
    """With their vectors."""
    path = str(tmp_path / "memory.db")
    with recollect.open(store=path, background=False) as memory:
        memory.file_passages(turns("s", CHAT, START))
        memory.search_passages("kitten")
    with recollect.open(store=path, background=False) as memory:
        found = memory.search_passages("kitten")
        assert found[0].passage.at == START
        assert [(each.corpus, each.done, each.total) for each in memory.status().vectors] == [(Corpus.SESSIONS, 6, 6)]
