"""Words: what a text is worth for the words that were asked for."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recollect import Anchor, Corpus, Kind, Memory, Passage, Source
from recollect.model import Uid, WordStatistics
from recollect.policy.words import (
    MEMORY_FIELDS,
    PASSAGE_FIELDS,
    TURN_FIELDS,
    Asked,
    Held,
    Query,
    best_variants,
    bm25,
    held,
    memory_fields,
    passage_fields,
    pooled,
    posed,
    rarity,
    stems_of,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORDS = "abcdef"
words = st.sampled_from(WORDS)
amounts = st.floats(0.1, 500, allow_nan=False)
counts = st.dictionaries(words, amounts)
lengths = st.floats(0, 10_000, allow_nan=False)
corpora = st.builds(
    WordStatistics,
    texts=st.integers(0, 1_000),
    words=st.integers(0, 100_000),
    holding=st.dictionaries(words, st.integers(0, 2_000)),
)
shares = st.floats(0, 1, allow_nan=False)


def plain(*asked: str) -> list[Asked]:
    """Words that are met by themselves alone."""
    return [Asked(word, word, {word: 1.0}) for word in asked]


@st.composite
def questions(draw: st.DrawFn) -> list[Asked]:
    """Asked words with any variants, each word itself among them."""
    stems = draw(st.lists(words, max_size=4, unique=True))
    return [Asked(word, word, {**draw(st.dictionaries(words, shares)), word: 1.0}) for word in stems]


# What a text holds


@pytest.mark.row("P7", "field-boosts")
@pytest.mark.row("K1", "content", "tags", "source")
@pytest.mark.parametrize(
    "field, count",
    [("content", 1.0), ("tags", 0.75), ("files", 0.6), ("source", 0.5), ("kind", 0.5)],
)
def test_a_word_counts_by_the_field_it_stands_in(field: str, count: float) -> None:
    """Content 2, tags 1.5, paths 1.2 and the rest 1, told as shares of the content's."""
    memory = Memory(
        uid=Uid("0" * 8 + "-0000-4000-8000-000000000000"),
        content="rollback" if field == "content" else "something",
        tags=("rollback",) if field == "tags" else (),
        anchors=(Anchor(path="ops/rollback"),) if field == "files" else (),
        source=Source.AGENT,
        kind=Kind.WARNING,
        created_at=NOW,
        updated_at=NOW,
    )
    wanted = {"source": "agent", "kind": stems_of("warning")}.get(field, "rollback")
    found = held(memory_fields(memory), MEMORY_FIELDS, frozenset({wanted}))
    assert found.counts == {wanted: pytest.approx(count)}
    assert MEMORY_FIELDS[:3] == (2.0, 1.5, 1.2)


@given(
    st.lists(st.lists(words, max_size=6).map(" ".join), min_size=4, max_size=4),
    st.lists(st.sampled_from([0.0, 1.0, 1.2, 1.5, 2.0]), min_size=3, max_size=3),
    st.frozensets(words),
)
def test_what_is_held_is_the_sum_over_the_fields(
    fields: list[str], weights: list[float], wanted: frozenset[str]
) -> None:
    """Repetitions count, what was not asked for only makes the text longer, and a field of no weight is not there."""
    weighed = [2.0, *weights]
    found = held(fields, weighed, wanted)
    for word in WORDS:
        total = sum(text.split().count(word) * weight / 2 for text, weight in zip(fields, weighed, strict=True))
        assert found.counts.get(word, 0.0) == pytest.approx(total if word in wanted else 0.0)
    assert found.length == sum(len(text.split()) for text, weight in zip(fields, weighed, strict=True) if weight)
    assert set(found.counts) <= wanted


def test_a_passage_is_known_by_its_text_label_date_and_document() -> None:
    """A turn only by what is said and when: who speaks is evidence of its own."""
    passage = Passage(
        corpus=Corpus.SESSIONS, document="s1", position=0, text="we rollback on fridays", label="Ada", at=NOW
    )
    fields = passage_fields(passage)
    wanted = frozenset({"rollback", "ada", "march", "s1"})
    assert held(fields, PASSAGE_FIELDS, wanted).counts == {"rollback": 1.0, "ada": 0.75, "march": 1.0, "s1": 0.6}
    assert set(held(fields, TURN_FIELDS, wanted).counts) == {"rollback", "march"}
    assert passage_fields(Passage(corpus=Corpus.ITEMS, document="d", position=0, text="x"))[2] == ""


@given(st.lists(st.builds(Held, counts, lengths), max_size=5))
def test_joined_texts_hold_what_all_of_them_hold(texts: list[Held]) -> None:
    """Whatever the order."""
    whole = Held.joined(texts)
    assert whole.length == pytest.approx(sum(text.length for text in texts))
    assert dict(whole.counts) == {
        word: pytest.approx(sum(text.counts.get(word, 0.0) for text in texts))
        for word in {word for text in texts for word in text.counts}
    }


# BM25


def textbook(count: float, length: float, average: float, texts: int, holding: int) -> float:
    """What one word is worth by the formula as it is usually written, with Lucene's inverse document frequency."""
    idf = math.log(1 + (texts - holding + 0.5) / (holding + 0.5))
    return idf * count * (1.2 + 1) / (count + 1.2 * (1 - 0.75 + 0.75 * length / average))


@pytest.mark.row("K2", "relevance")
@given(
    st.dictionaries(words, amounts),
    st.integers(1, 2_000),
    st.integers(1, 1_000),
    st.integers(1, 40),
    st.dictionaries(words, st.integers(0, 1_000)),
)
def test_for_plain_words_it_is_bm25(
    held_counts: dict[str, float], length: int, texts: int, average: int, holding: dict[str, int]
) -> None:
    """The textbook's formula, summed over the asked words that the text holds."""
    holding = {word: min(texts, count) for word, count in holding.items()}
    query = posed(plain(*"abcd"), WordStatistics(texts=texts, words=texts * average, holding=holding))
    found = Held({word: count for word, count in held_counts.items() if word in "abcd"}, length)
    expected = sum(
        textbook(count, length, average, texts, max(1, holding.get(word, 0))) for word, count in found.counts.items()
    )
    assert bm25(found, query) == pytest.approx(expected)


@given(counts, lengths, questions(), corpora)
def test_the_mass_of_a_question_is_what_no_text_exceeds(
    held_counts: dict[str, float], length: float, asked: list[Asked], statistics: WordStatistics
) -> None:
    """So that a share of it means the same in every store; a text that has nearly all comes near it."""
    query = posed(asked, statistics)
    found = Held({word: count for word, count in held_counts.items() if word in query.stems}, length)
    assert 0 <= bm25(found, query) <= query.mass * (1 + 1e-9)
    full = Held(dict.fromkeys((each.stem for each in asked), 1e9), 1)
    assert bm25(full, query) == pytest.approx(query.mass, rel=1e-6)


@given(counts, lengths, questions(), corpora, words, amounts)
def test_holding_a_word_more_often_is_never_worth_less(
    held_counts: dict[str, float],
    length: float,
    asked: list[Asked],
    statistics: WordStatistics,
    word: str,
    more: float,
) -> None:
    """In texts of one length."""
    query = posed(asked, statistics)
    assume(word in query.stems)
    found = {each: count for each, count in held_counts.items() if each in query.stems}
    richer = {**found, word: found.get(word, 0.0) + more}
    assert bm25(Held(richer, length), query) >= bm25(Held(found, length), query) - 1e-12


@given(counts, lengths, amounts, questions(), corpora)
def test_the_same_in_a_longer_text_is_never_worth_more(
    held_counts: dict[str, float], length: float, more: float, asked: list[Asked], statistics: WordStatistics
) -> None:
    """A word among few says more than among many; joined texts count as long as they are together."""
    query = posed(asked, statistics)
    found = {each: count for each, count in held_counts.items() if each in query.stems}
    assert bm25(Held(found, length + more), query) <= bm25(Held(found, length), query) + 1e-12
    assert bm25(Held(found, 3 * length), query, spans=3) == pytest.approx(bm25(Held(found, length), query))


@given(amounts, lengths, st.dictionaries(words, shares, min_size=1), corpora)
def test_a_variant_is_never_worth_more_than_the_word_itself(
    count: float, length: float, variants: dict[str, float], statistics: WordStatistics
) -> None:
    """Not even a rare one, nor all of them together."""
    query = posed([Asked("word", "word", {**variants, "word": 1.0})], statistics)
    itself = bm25(Held({"word": count * len(variants)}, length), query)
    assert bm25(Held(dict.fromkeys(variants, count), length), query) <= itself * (1 + 1e-9)
    for variant in variants:
        assert bm25(Held({variant: count}, length), query) <= bm25(Held({"word": count}, length), query) * (1 + 1e-9)


@given(counts, lengths, questions(), corpora)
def test_more_ways_to_meet_a_word_never_cost_a_text_anything(
    held_counts: dict[str, float], length: float, asked: list[Asked], statistics: WordStatistics
) -> None:
    """A text is credited with the best variant it holds."""
    without = posed(plain(*(each.stem for each in asked)), statistics)
    found = {each: count for each, count in held_counts.items() if each in without.stems}
    assert bm25(Held(found, length), posed(asked, statistics)) >= bm25(Held(found, length), without) - 1e-12


@given(corpora, words)
def test_a_word_in_every_text_still_counts(statistics: WordStatistics, word: str) -> None:
    """In a young store every word is in half of the texts; and numbers that contradict each other break nothing."""
    assert 0 < rarity(word, statistics) < math.inf


@given(st.lists(st.integers(1, 1_000), min_size=3, max_size=3, unique=True).map(sorted))
def test_a_rarer_word_is_worth_more(drawn: list[int]) -> None:
    """Held by fewer texts."""
    rarer, other, texts = drawn
    statistics = WordStatistics(texts=texts, words=texts, holding={"a": rarer, "b": other})
    assert rarity("a", statistics) > rarity("b", statistics)


def test_a_question_against_an_empty_corpus_is_answered() -> None:
    """Nothing divides by nothing."""
    empty = WordStatistics(holding={})
    assert posed([], empty) == Query(asked=(), credit={}, mass=0.0, average=1.0)
    query = posed(plain("a"), empty)
    assert bm25(Held({}, 0), query) == 0.0
    assert 0 < bm25(Held({"a": 1.0}, 1), query) < query.mass


# Telling people


@pytest.mark.row("X14", "presence")
def test_how_a_word_was_met_is_told_with_the_best_variant() -> None:
    """The word alone where the text holds it itself."""
    asked = [
        Asked("auth", "auth", {"login": 0.9, "sso": 0.5, "auth": 1.0}),
        Asked("database", "databas", {"db": 0.9, "databas": 1.0}),
        Asked("nowhere", "nowher", {"nowher": 1.0}),
    ]
    assert best_variants(Held({"sso": 1.0, "login": 1.0, "databas": 1.0}, 5), asked) == ("auth (login)", "database")


# Statistics of several spaces


@given(st.lists(corpora, max_size=4))
def test_pooled_statistics_are_those_of_one_space_that_holds_all(parts: list[WordStatistics]) -> None:
    """Sums, whatever the order."""
    whole = pooled(parts)
    assert whole.texts == sum(part.texts for part in parts)
    assert whole.words == sum(part.words for part in parts)
    assert whole.holding == {
        word: sum(part.holding.get(word, 0) for part in parts) for word in {w for p in parts for w in p.holding}
    }
    assert pooled(reversed(parts)) == whole
