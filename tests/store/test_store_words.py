"""Finding by words, for every engine and every corpus: what is found, in which order, and under which spellings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from store_kit import (
    AGAIN,
    DAY,
    ENGINES,
    NOW,
    POSTINGS,
    Engine,
    OpenSpace,
    add,
    answer,
    apply,
    beside,
    contents,
    faults,
    file,
    found,
    memory,
    passage,
    said,
    stems,
)

from recollect.errors import InvalidFilter
from recollect.model import (
    Add,
    Anchor,
    Condition,
    Corpus,
    Edit,
    Kind,
    Mark,
    Memory,
    Op,
    Passage,
    Revise,
    Source,
    Status,
    Unfile,
    Where,
    WordSearch,
)
from recollect.policy.query import WORD_LENGTH, parse_where
from recollect.policy.words import memory_fields
from recollect.store import Store

pytestmark = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)


@pytest.fixture
def store(engine: Engine, tmp_path: Path) -> Iterator[Store]:
    """One empty space."""
    spaces = OpenSpace(engine, tmp_path)
    yield spaces()
    spaces.close()


def put(store: Store, corpus: Corpus, *texts: str) -> None:
    """Store texts in a corpus, each as a memory or as the next passage of a document."""
    if corpus is Corpus.MEMORY:
        apply(store, *(Add(memory=memory(text), on_duplicate=AGAIN) for text in texts))
    else:
        start = store.statistics((), corpus=corpus).texts
        file(store, *(passage(text, corpus=corpus, position=n) for n, text in enumerate(texts, start)))


def texts_found(store: Store, question: str, corpus: Corpus, **given: Any) -> list[str]:
    """What the words of a question find in a corpus, best first."""
    asked = answer(store, question, corpus=corpus, **given)
    return [each.content for each in asked.memories] or said(asked.passages)


# --- The four corpora ------------------------------------------------------------------------------------------------

CORPORA = [
    pytest.param(Corpus.MEMORY, id="memory", marks=pytest.mark.row("B10", "memory", "keyword")),
    pytest.param(Corpus.ITEMS, id="items", marks=pytest.mark.row("B10", "items", "keyword")),
    pytest.param(Corpus.SESSIONS, id="sessions", marks=pytest.mark.row("B10", "sessions", "keyword")),
    pytest.param(Corpus.SOURCES, id="sources", marks=pytest.mark.row("B10", "sources", "keyword")),
]


@pytest.mark.parametrize("corpus", CORPORA)
def test_each_corpus_is_searched_alone(store: Store, corpus: Corpus) -> None:
    """The same words in all four are found where they are asked for, and counted there alone."""
    for each in Corpus:
        put(store, each, f"The zeppelin of {each}", "Something else")
    put(store, corpus, "A second zeppelin")
    asked = answer(store, "zeppelins", corpus=corpus)
    assert sorted(texts_found(store, "zeppelins", corpus)) == ["A second zeppelin", f"The zeppelin of {corpus}"]
    assert asked.statistics.holding == {"zeppelin": 2}
    assert asked.statistics.texts == 3
    assert store.vocabulary(corpus=corpus, limit=99)["zeppelin"] == 2
    for other in set(Corpus) - {corpus}:
        assert texts_found(store, "zeppelins", other) == [f"The zeppelin of {other}"]
        assert texts_found(store, "second", other) == []


@pytest.mark.parametrize("corpus", CORPORA)
def test_what_other_corpora_hold_changes_no_answer(store: Store, corpus: Corpus) -> None:
    """However often a word occurs elsewhere: what is found here, in which order, and how rare it is stays the same."""
    texts = ["common rare", "common word and another", "common", "rare and long " * 3, "rare", "nothing of it"]
    put(store, corpus, *texts)
    questions = ("common rare", "common", "rare", "word another")
    before = [answer(store, question, corpus=corpus) for question in questions]
    for other in set(Corpus) - {corpus}:
        put(store, other, *(f"rare rare {n} " + "and more " * (n % 5) for n in range(60)))
    assert [answer(store, question, corpus=corpus) for question in questions] == before
    assert [answer(store, "rare", corpus=corpus, limit=1, postings=9).search] == [
        WordSearch(items=before[2].search.items[:1])
    ]


@pytest.mark.parametrize("corpus", CORPORA)
def test_the_best_of_a_corpus_comes_first_and_the_limit_holds(store: Store, corpus: Corpus) -> None:
    """More of the words, and rarer ones, come before fewer; no more come than are asked for."""
    put(
        store,
        corpus,
        "the cache of the build",
        "the cache and the tests",
        *(f"the deploy number {n}" for n in range(8)),
    )
    assert texts_found(store, "build cache", corpus) == ["the cache of the build", "the cache and the tests"]
    assert len(texts_found(store, "deploy", corpus, limit=3)) == 3
    assert texts_found(store, "deploy", corpus, limit=0) == []


@pytest.mark.parametrize("corpus", Corpus)
def test_an_index_follows_what_is_changed_and_removed(store: Store, corpus: Corpus) -> None:
    """New words are found, old ones are not, and no count of them is left."""
    put(store, corpus, "Old parrot", "An old parrot stays")
    if corpus is Corpus.MEMORY:
        first = store.query(parse_where({"content": "Old parrot"}))[0].id
        apply(store, Revise(id=first, edit=Edit(content="New llama")))
    else:
        file(store, passage("New llama", corpus=corpus))
    assert texts_found(store, "llama", corpus) == ["New llama"]
    assert texts_found(store, "old parrot", corpus) == ["An old parrot stays"]
    assert store.statistics(("parrot", "llama", "new"), corpus=corpus).holding == {"parrot": 1, "llama": 1, "new": 1}
    if corpus is Corpus.MEMORY:
        for each in store.query():
            apply(store, Mark(id=each.id, status=Status.FORGOTTEN))
    else:
        apply(store, Unfile(corpus=corpus, document="s1"))
    assert store.vocabulary(corpus=corpus, limit=99) == {}
    assert (store.statistics((), corpus=corpus).texts, store.statistics((), corpus=corpus).words) == (0, 0)
    assert texts_found(store, "llama", corpus) == []
    assert faults(store) == []


# --- Fields ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("P7", "field-boosts")
def test_a_word_counts_most_in_the_content_then_in_tags_then_in_paths(store: Store) -> None:
    """Of memories as long as each other, the one that says the word comes before those that only carry it."""
    plain: dict[str, Any] = {"tags": ("four",), "anchors": (Anchor(path="five"),)}
    add(store, "one two three", **(plain | {"anchors": (Anchor(path="migration"),)}))
    add(store, "one migration two", **plain)
    add(store, "two three one", **(plain | {"source": Source.MIGRATION}))
    add(store, "three two one", **(plain | {"tags": ("migration",)}))
    for n in range(9):
        add(store, f"filler {n} words", **plain)
    assert found(store, "migrations") == ["one migration two", "three two one", "one two three", "two three one"]
    add(store, "two one three", **(plain | {"kind": Kind.PREFERENCE}))
    add(store, "one three two", **(plain | {"tags": ("preference",)}))
    assert found(store, "preference") == ["one three two", "two one three"]


@pytest.mark.row("P7", "field-boosts")
@pytest.mark.parametrize("corpus", beside)
def test_a_word_counts_most_in_the_text_then_in_the_label_then_in_the_document(store: Store, corpus: Corpus) -> None:
    """Of passages as long as each other, the one that says the word comes before those that only carry it."""
    plain: dict[str, Any] = {"corpus": corpus, "label": "four", "document": "five"}
    file(store, passage("one two three", **(plain | {"document": "march"})))
    file(store, passage("one march two", **(plain | {"position": 1})))
    file(store, passage("three two one", **(plain | {"position": 2, "label": "march"})))
    file(store, *(passage(f"filler {n} words", **(plain | {"position": n + 9})) for n in range(9)))
    assert texts_found(store, "march", corpus) == ["one march two", "three two one", "one two three"]


@pytest.mark.parametrize("corpus", beside)
def test_a_passage_is_found_by_its_text_label_date_and_document(store: Store, corpus: Corpus) -> None:
    """All that describes a passage is indexed beside its text."""
    told = passage("plain words", corpus=corpus, document="src/warm_cache.py", label="Ada Lovelace", at=NOW + 4 * DAY)
    file(store, told, passage("others", corpus=corpus, document="b", label="Bob", at=NOW - 400 * DAY))
    for question in ("plain", "warmcache", "cache", "lovelace", "March 2026", "5 March"):
        assert texts_found(store, question, corpus) == ["plain words"], question


# --- Entries ---------------------------------------------------------------------------------------------------------


def test_an_entry_holds_the_words_of_a_memory_field_by_field(store: Store) -> None:
    """Words are given as they are indexed: stems, repetitions included."""
    stored = add(
        store,
        "Deploys, deploys!",
        tags=("blue-green",),
        anchors=(Anchor(path="ops/deploy.yml"),),
        kind=Kind.PROCEDURE,
        source=Source.CONVERSATION,
    )
    [entry] = store.entries([stored.id], corpus=Corpus.MEMORY)
    assert entry.of == stored
    assert entry.fields == memory_fields(stored)
    assert entry.fields[0] == "deploi deploi"
    assert store.texts([stored.id], corpus=Corpus.MEMORY) == {stored.id: entry.fields}


def test_entries_are_given_once_each_for_those_that_pass(store: Store) -> None:
    """Ids that are not there, forgotten, or left out by the filter have no entry; one named twice has one."""
    one, two, three = add(store, "one", score=1), add(store, "two", score=2), add(store, "three", score=3)
    apply(store, Mark(id=three.id, status=Status.FORGOTTEN))
    asked = [two.id, one.id, one.id, three.id, 0, -1, 999, 2**63 - 1, 10**30]
    entries = store.entries(asked, corpus=Corpus.MEMORY)
    assert sorted(contents(tuple(each.of for each in entries if isinstance(each.of, Memory)))) == ["one", "two"]
    where = parse_where({"score": {"$gte": 2}})
    assert [each.of for each in store.entries(asked, corpus=Corpus.MEMORY, where=where)] == [two]
    assert list(store.texts(asked, corpus=Corpus.MEMORY, where=where)) == [two.id]
    assert store.entries([], corpus=Corpus.MEMORY) == ()
    assert store.texts([], corpus=Corpus.MEMORY) == {}


def test_very_many_items_are_read_at_once(store: Store) -> None:
    """A list of any length is one question."""
    one = add(store, "cache")
    file(store, passage("two"))
    many = [*range(10**6, 10**6 + 200_000), 1]
    assert [each.of for each in store.entries(many, corpus=Corpus.MEMORY)] == [one]
    assert [each.of.id for each in store.entries(many, corpus=Corpus.SESSIONS, around=3)] == [1]
    assert list(store.texts(many, corpus=Corpus.SESSIONS)) == [1]
    words = [f"word{n}" for n in range(50_000)]
    assert store.statistics([*words, "cach"], corpus=Corpus.MEMORY).holding == {"cach": 1}
    assert store.find((*words, "cach"), corpus=Corpus.MEMORY, limit=9, postings=POSTINGS).items == (one.id,)


STRANGE = [
    *("", " ", '"', "'", "(", "\x00", "*", "a" * 10**6),
    *(
        '" OR "zeppelin',
        "zeppelin*",
        "zeppelin OR three",
        "NEAR(zeppelin three)",
        "content:zeppelin",
        "zeppelin\x00",
        "^zeppelin",
    ),
]


@pytest.mark.parametrize("corpus", Corpus)
@pytest.mark.parametrize("strange", STRANGE, ids=lambda strange: repr(strange[:20]))
def test_no_stem_breaks_or_steers_a_search(store: Store, corpus: Corpus, strange: str) -> None:
    """What is no word of the index is found nowhere, and does not keep the others from being found."""
    put(store, corpus, "zeppelin two", "three")
    given: dict[str, Any] = {"corpus": corpus, "limit": 9, "postings": POSTINGS}
    assert len(store.find(("zeppelin",), **given).items) == 1
    assert store.find((strange,), **given) == WordSearch()
    assert store.find((strange, "three"), **given).items == store.find(("three",), **given).items != ()
    assert store.statistics((strange,), corpus=corpus).holding == {}
    store.spellings(strange, corpus=corpus, limit=9)


@pytest.mark.parametrize("corpus", Corpus)
def test_a_question_without_words_finds_nothing(store: Store, corpus: Corpus) -> None:
    """Neither no words at all nor words of an empty corpus are an error."""
    given: dict[str, Any] = {"corpus": corpus, "limit": 9, "postings": POSTINGS}
    assert store.find((), **given) == store.find(("zeppelin",), **given) == WordSearch()
    put(store, corpus, "zeppelin")
    assert store.find((), **given) == WordSearch()
    assert store.find(("zeppelin",), **given).items == (1,)
    assert store.find(("zeppelin",), corpus=corpus, limit=0, postings=POSTINGS).items == ()


def test_a_word_too_long_is_found_by_its_beginning(store: Store) -> None:
    """Stored text and questions are cut alike."""
    add(store, "x" * (WORD_LENGTH + 20))
    assert stems("x" * (WORD_LENGTH + 5)) == ("x" * WORD_LENGTH,)
    assert len(found(store, "x" * (WORD_LENGTH + 5))) == 1


# --- Filters ---------------------------------------------------------------------------------------------------------


def scattered(store: Store, corpus: Corpus) -> None:
    """Forty passages of four documents, two speakers and forty days; all say the same word."""
    file(
        store,
        *(
            passage(
                f"cache number {n}",
                corpus=corpus,
                document="abcd"[n % 4],
                position=n,
                label=("ada", "bob")[n % 2],
                at=NOW + n * DAY if n != 39 else None,
            )
            for n in range(40)
        ),
    )


FILTERS: list[Any] = [
    pytest.param((Condition("document", Op.EQ, "b"),), range(1, 40, 4), id="document"),
    pytest.param((Condition("document", Op.IN, ("b", "d", "z")),), range(1, 40, 2), id="documents"),
    pytest.param((Condition("document", Op.NE, "b"),), [n for n in range(40) if n % 4 != 1], id="not-a-document"),
    pytest.param((Condition("label", Op.EQ, "ada"),), range(0, 40, 2), id="label"),
    pytest.param((Condition("at", Op.GTE, NOW + 30 * DAY),), range(30, 39), id="since"),
    pytest.param((Condition("at", Op.LT, NOW + 3 * DAY),), range(3), id="before"),
    pytest.param((Condition("at", Op.EQ, None),), [39], id="without-a-date"),
    pytest.param((Condition("at", Op.IN, (NOW, None)),), [0, 39], id="dates"),
    pytest.param((Condition("position", Op.GT, 37),), [38, 39], id="position"),
    pytest.param((Condition("document", Op.EQ, "b"), Condition("at", Op.GT, NOW + 30 * DAY)), [33, 37], id="and"),
    pytest.param((Condition("document", Op.EQ, "b"), Condition("label", Op.EQ, "ada")), [], id="and-nothing"),
    pytest.param((Condition("document", Op.EQ, None),), [], id="no-document"),
    pytest.param((Condition("document", Op.EQ, "b' OR 1 --"),), [], id="a-quote-is-a-letter"),
]


@pytest.mark.parametrize("corpus", beside)
@pytest.mark.parametrize("where, expected", FILTERS)
def test_passages_are_filtered_by_document_label_date_and_position(
    store: Store, corpus: Corpus, where: Where, expected: list[int]
) -> None:
    """Filters hold before the limit is counted, for finding, reading and for the words alone."""
    for each in beside:
        scattered(store, each)
    numbers = {f"cache number {n}" for n in expected}
    assert set(texts_found(store, "cache", corpus, where=where, limit=50)) == numbers
    for limit in (1, 3):
        some = texts_found(store, "cache", corpus, where=where, limit=limit)
        assert len(some) == min(limit, len(numbers))
        assert set(some) <= numbers
    everyone = range(1, 200)
    entries = store.entries(everyone, corpus=corpus, where=where)
    assert {each.of.text for each in entries if isinstance(each.of, Passage)} == numbers
    assert set(store.texts(everyone, corpus=corpus, where=where)) == {each.of.id for each in entries}


@pytest.mark.parametrize("corpus", beside)
@pytest.mark.parametrize("field", ["corpus", "id", "text", "score", "tags", "1; DROP TABLE passages"])
def test_a_filter_that_passages_do_not_have_is_refused(store: Store, corpus: Corpus, field: str) -> None:
    """What a passage cannot be filtered by is told, whether anything would be found or not."""
    file(store, passage("cache", corpus=corpus))
    where = (Condition(field, Op.EQ, "x"),)
    for question in ("cache", "unheard", ""):
        with pytest.raises(InvalidFilter):
            store.find(stems(question), corpus=corpus, where=where, limit=9, postings=POSTINGS)
    with pytest.raises(InvalidFilter):
        store.entries([1], corpus=corpus, where=where)
    with pytest.raises(InvalidFilter):
        store.texts([1], corpus=corpus, where=where)


def test_a_filter_that_memories_do_not_have_is_refused(store: Store) -> None:
    """A condition made by hand is checked like one that was parsed."""
    where = (Condition("document", Op.EQ, "x"),)
    add(store, "cache")
    with pytest.raises(InvalidFilter):
        store.query(where)
    for question in ("cache", "unheard"):
        with pytest.raises(InvalidFilter):
            store.find(stems(question), corpus=Corpus.MEMORY, where=where, limit=9, postings=POSTINGS)


# --- Within the budget -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("corpus", Corpus)
def test_the_newest_that_hold_a_frequent_word_are_searched(store: Store, corpus: Corpus) -> None:
    """Where even the rarest word is over the budget, as many of the newest that hold it are ranked."""
    put(store, corpus, *(f"common {n}" for n in range(30)))
    asked = answer(store, "common", corpus=corpus, limit=50, postings=10)
    assert asked.search.newest_only
    assert sorted(texts_found(store, "common", corpus, limit=50, postings=10)) == sorted(
        f"common {n}" for n in range(20, 30)
    )
    assert not answer(store, "common", corpus=corpus, limit=50, postings=30).search.newest_only


@pytest.mark.parametrize("corpus", Corpus)
def test_a_frequent_word_of_long_ago_is_found(store: Store, corpus: Corpus) -> None:
    """That many others were stored since is no reason to find none of those that hold the word."""
    put(store, corpus, *(f"ancient {n}" for n in range(30)), *(f"later {n}" for n in range(100)))
    asked = answer(store, "ancient", corpus=corpus, limit=50, postings=10)
    assert {int(text.split()[1]) for text in texts_found(store, "ancient", corpus, limit=50, postings=10)} == set(
        range(20, 30)
    )
    assert asked.search.newest_only


def test_frequent_words_are_found_however_far_ids_lie_apart(store: Store) -> None:
    """A memory that came with a far higher id does not lift the budget, nor hide the others."""
    put(store, Corpus.MEMORY, *(f"common {n}" for n in range(30)))
    for position in range(20):
        file(store, passage("in between", position=position), passage("far", corpus=Corpus.ITEMS, position=position))
    put(store, Corpus.SESSIONS, *(f"common {n}" for n in range(30)))
    for corpus in (Corpus.MEMORY, Corpus.SESSIONS):
        assert len(texts_found(store, "common", corpus, limit=50, postings=10)) == 10


def test_all_of_a_named_document_is_searched_however_frequent_the_words(store: Store) -> None:
    """An old session is found by words that are in every session since."""
    file(store, *(passage(f"common {n}", document="old", position=n) for n in range(5)))
    file(store, *(passage(f"common {n}", document="new", position=n) for n in range(40)))
    for document, count, newest_only in (("old", 5, False), ("new", 10, True)):
        where = (Condition("document", Op.EQ, document),)
        search = store.find(("common",), corpus=Corpus.SESSIONS, where=where, limit=50, postings=10)
        assert (len(search.items), search.newest_only) == (count, newest_only)
    where = (Condition("document", Op.EQ, "old"),)
    search = store.find(("common", "3"), corpus=Corpus.SESSIONS, where=where, limit=2, postings=10)
    assert (search.skipped, len(search.items)) == (("common",), 1)


# --- Spellings and the vocabulary ------------------------------------------------------------------------------------


@pytest.mark.row("P7", "prefix")
@pytest.mark.parametrize("corpus", Corpus)
def test_longer_words_that_begin_alike_are_known_most_frequent_first(store: Store, corpus: Corpus) -> None:
    """Each comes with how many texts hold it; the word itself is not among them, nor words of another corpus."""
    put(store, corpus, "zab zabc zabcd", "zabcd", "zabcd zabx", "zabx", "zac", "za", "zab")
    for other in set(Corpus) - {corpus}:
        put(store, other, "zabother")
    longer, alike = store.spellings("zab", corpus=corpus, limit=9)
    assert list(longer.items()) == [("zabcd", 3), ("zabx", 2), ("zabc", 1)]
    assert alike == {}
    assert list(store.spellings("zab", corpus=corpus, limit=2)[0]) == ["zabcd", "zabx"]
    assert store.spellings("zab", corpus=corpus, limit=0) == ({}, {})
    assert store.spellings("zabcdef", corpus=corpus, limit=9)[0] == {}


@pytest.mark.row("P7", "fuzzy")
@pytest.mark.parametrize("corpus", Corpus)
@pytest.mark.parametrize(
    "slip, known",
    [
        pytest.param("zeppelim", True, id="wrong"),
        pytest.param("zepelin", True, id="missing"),
        pytest.param("zepppelin", True, id="added"),
        pytest.param("zeppleni", True, id="swapped-and-swapped"),
        pytest.param("zpeplein", True, id="twice"),
        pytest.param("zapplein", True, id="wrong-and-swapped"),
        pytest.param("zeplim", False, id="too-much-for-its-length"),
        pytest.param("zapqelim", False, id="thrice"),
        pytest.param("seppelin", False, id="at-its-beginning"),
        pytest.param("zeppel1n", False, id="no-word"),
        pytest.param("zeppelinxyz", False, id="longer"),
    ],
)
def test_a_word_that_nobody_holds_is_known_by_its_near_spellings(
    store: Store, corpus: Corpus, slip: str, known: bool
) -> None:
    """A letter wrong, missing, added or swapped is forgiven, two of them in a long word, none at its beginning."""
    put(store, corpus, "qzeppelin", "zeppelin cluster", "zeppelin", "zap")
    assert store.spellings(slip, corpus=corpus, limit=9) == ({}, {"zeppelin": 2} if known else {})


@pytest.mark.row("P7", "fuzzy")
@pytest.mark.parametrize("corpus", Corpus)
def test_a_word_that_somebody_holds_has_no_near_spellings(store: Store, corpus: Corpus) -> None:
    """Neither it nor the beginning of a longer one is taken for a slip; it is once nobody holds it any more."""
    put(store, corpus, "zeppelin zepelin", "zepe")
    assert store.spellings("zepelin", corpus=corpus, limit=9) == ({}, {})
    assert store.spellings("zepeli", corpus=corpus, limit=9) == ({"zepelin": 1}, {})
    assert store.spellings("zeppelim", corpus=corpus, limit=9) == ({}, {"zeppelin": 1, "zepelin": 1})
    assert list(store.spellings("zeppelim", corpus=corpus, limit=1)[1]) == ["zeppelin"]


@pytest.mark.parametrize("corpus", Corpus)
def test_the_vocabulary_is_the_most_frequent_words_and_how_many_texts_hold_each(store: Store, corpus: Corpus) -> None:
    """Counted once for each text, equals in the order of the alphabet, so many of them."""
    put(store, corpus, "zeta zeta alpha", "zeta alpha beta", "zeta")
    known = store.vocabulary(corpus=corpus, limit=99)
    assert {word: known[word] for word in ("zeta", "alpha", "beta")} == {"zeta": 3, "alpha": 2, "beta": 1}
    assert list(known.values()) == sorted(known.values(), reverse=True)
    assert list(known) == sorted(known, key=lambda word: (-known[word], word))
    assert list(store.vocabulary(corpus=corpus, limit=2)) == list(known)[:2]
    assert store.vocabulary(corpus=corpus, limit=0) == {}
    assert store.statistics(list(known), corpus=corpus).holding == known
