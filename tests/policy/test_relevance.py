"""Evidence: what speaks for a text, always as a number from 0 to 1."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import WordStatistics
from recollect.policy.relevance import CHUNKS, MEMORIES, SORTS, TURNS, Evidence, Text, evidence
from recollect.policy.words import Asked, Held, Query, bm25, posed

STATISTICS = WordStatistics(texts=50, words=500, holding={"a": 3, "b": 20, "c": 1})


def asked(*words: str) -> Query:
    """A question of these words."""
    return posed([Asked(word, word, {word: 1.0}) for word in words], STATISTICS)


QUERY = asked("a", "b", "c")
holdings = st.builds(
    Held, st.dictionaries(st.sampled_from("abc"), st.floats(0.5, 20, allow_nan=False)), st.floats(1, 200)
)
texts = st.builds(
    Text,
    held=holdings,
    cosine=st.none() | st.floats(-1, 1, allow_nan=False),
    document=st.sampled_from(["", "one", "two"]),
    position=st.integers(0, 6),
    speaker=st.sampled_from(["", "Ada", "Bob"]),
    asks=st.booleans(),
)


def unique_places(drawn: list[Text]) -> list[Text]:
    """At most one text at each place of a document."""
    return list({(text.document, text.position): text for text in drawn}.values())


pools = st.lists(texts, max_size=12).map(unique_places)


def saying(word: str, *, document: str = "s", position: int = 0, **given: object) -> Text:
    """A text of eight words, one of them this one."""
    return replace(Text(held=Held({word: 1.0} if word else {}, 8), document=document, position=position), **given)  # type: ignore[arg-type]


@given(pools, st.frozensets(st.sampled_from(["Ada", "Bob", "Eve"])))
def test_every_sort_of_evidence_is_a_number_from_0_to_1(pool: list[Text], speakers: frozenset[str]) -> None:
    """So that weights hold in every store and their sum can be called a relevance."""
    found = evidence(pool, QUERY, speakers=speakers)
    assert len(found) == len(pool)
    for each in found:
        for sort in SORTS:
            assert 0 <= getattr(each, sort) <= 1 + 1e-9


@given(pools, st.randoms(use_true_random=False))
def test_the_order_of_the_texts_decides_nothing(pool: list[Text], chance: object) -> None:
    """Each text gets what it would get anywhere among the others."""
    shuffled = list(pool)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    there = dict(zip(((text.document, text.position) for text in shuffled), evidence(shuffled, QUERY), strict=True))
    for text, speaks in zip(pool, evidence(pool, QUERY), strict=True):
        assert speaks == there[text.document, text.position]


@given(pools, pools)
def test_only_texts_of_the_same_document_speak_for_each_other(pool: list[Text], elsewhere: list[Text]) -> None:
    """What another document holds, or a text that stands alone, changes nothing."""
    mine = [replace(text, document="mine") for text in pool]
    mine = unique_places(mine)
    others = [replace(text, document="" if number % 2 else "other") for number, text in enumerate(elsewhere)]
    together = evidence([*mine, *unique_places(others)], QUERY)
    assert together[: len(mine)] == evidence(mine, QUERY)


@given(texts, pools)
def test_a_text_that_stands_alone_is_judged_by_itself(text: Text, pool: list[Text]) -> None:
    """Its neighbours are itself, and nobody asked it anything."""
    alone = replace(text, document="", position=1)
    question = replace(text, document="", position=0, asks=True)
    speaks = evidence([alone, question, *pool], QUERY)[0]
    assert speaks.near == speaks.around == speaks.document == speaks.words
    assert speaks.answer == 0
    assert speaks == evidence([alone], QUERY)[0]


@given(holdings)
def test_words_are_the_share_of_the_questions_mass_that_a_text_meets(found: Held) -> None:
    """By BM25, which never reaches the whole."""
    [speaks] = evidence([Text(held=found)], QUERY)
    assert speaks.words == pytest.approx(bm25(found, QUERY) / QUERY.mass)


@given(st.lists(holdings, min_size=7, max_size=7))
def test_neighbours_are_read_with_a_text(found: list[Held]) -> None:
    """One position on each side for `near`, two for `around`."""
    pool = [Text(held=each, document="s", position=at) for at, each in enumerate(found)]
    speaks = evidence(pool, QUERY)[3]
    assert speaks.near == pytest.approx(bm25(Held.joined(found[2:5]), QUERY, spans=3) / QUERY.mass)
    assert speaks.around == pytest.approx(bm25(Held.joined(found[1:6]), QUERY, spans=5) / QUERY.mass)


def test_a_turn_is_helped_by_the_words_around_it() -> None:
    """The answer to a question seldom repeats the question's words."""
    pool = [saying("a", position=1), saying("", position=2), saying("", position=6)]
    _, beside, far = evidence(pool, QUERY)
    assert beside.words == far.words == 0
    assert beside.near > far.near == 0
    assert beside.around > far.around == 0
    assert beside.sum(TURNS) > far.sum(TURNS)


def test_what_is_missing_at_the_edge_of_a_document_counts_as_silence() -> None:
    """The first turn of a session is not worth more for having no one before it."""
    edge = evidence([saying("a", position=0), saying("", position=1)], QUERY)[0]
    inside = evidence([saying("", position=0), saying("a", position=1), saying("", position=2)], QUERY)[1]
    assert edge.words == inside.words
    assert edge.near == pytest.approx(inside.near, rel=0.5)


def test_what_follows_a_question_may_be_its_answer() -> None:
    """The words of the question count for the text just after it, and for no other."""
    pool = [saying("a", position=1, asks=True), saying("", position=2), saying("", position=3)]
    question, answer, later = evidence(pool, QUERY)
    assert answer.answer == question.words > 0
    assert question.answer == later.answer == 0
    assert (question.question, answer.question, later.question) == (1.0, 0.0, 0.0)
    plain = evidence([replace(pool[0], asks=False), *pool[1:]], QUERY)
    assert plain[1].answer == 0


@pytest.mark.parametrize(
    "asked_about, spoke", [({"Ada"}, 1.0), ({"Bob"}, 0.0), ({"Ada", "Bob"}, 0.0), (set(), 0.0), ({""}, 0.0)]
)
def test_it_counts_that_the_one_asked_about_speaks(asked_about: set[str], spoke: float) -> None:
    """Where exactly one was asked about; with two, neither turn is more likely the answer."""
    [speaks] = evidence([saying("a", speaker="Ada")], QUERY, speakers=frozenset(asked_about))
    assert speaks.speaker == spoke


def test_a_document_is_worth_the_mean_of_its_three_best_texts() -> None:
    """However many it has; with fewer than three the missing ones count as nothing."""
    strong, weak = Held({"a": 5.0, "c": 5.0}, 8), Held({"b": 1.0}, 60)
    many = [Text(held=held, document="s", position=10 * at) for at, held in enumerate([strong, strong, strong, weak])]
    found = evidence(many, QUERY)
    assert [each.document for each in found] == [pytest.approx(found[0].words)] * 4
    [single] = evidence(many[:1], QUERY)
    assert single.document == pytest.approx(single.words / 3)


def test_a_text_whose_vector_is_still_to_come_is_judged_by_its_words() -> None:
    """And meaning that points the other way is no evidence against it."""
    pending, opposite, close = evidence(
        [saying("a", position=at, cosine=cosine) for at, cosine in ((0, None), (10, -0.4), (20, 0.7))], QUERY
    )
    assert pending.meaning == pending.words
    assert opposite.meaning == 0
    assert close.meaning == pytest.approx(0.7)


def test_a_question_without_words_has_no_evidence_in_words() -> None:
    """And nothing divides by nothing."""
    [speaks] = evidence([Text(held=Held({}, 5), cosine=0.5)], posed([], STATISTICS))
    assert speaks == Evidence(meaning=0.5)


weights = st.builds(Evidence, **{sort: st.floats(-1, 1, allow_nan=False) for sort in SORTS})


@given(weights, weights)
def test_a_sum_is_what_the_weighed_sorts_come_to(speaks: Evidence, counts: Evidence) -> None:
    """Told one by one, or all at once."""
    weighed = speaks.weighed(counts)
    assert speaks.sum(counts) == pytest.approx(math.fsum(getattr(weighed, sort) for sort in SORTS), abs=1e-9)


@pytest.mark.parametrize("counts", [MEMORIES, TURNS, CHUNKS], ids=["memories", "turns", "chunks"])
def test_the_weights_make_a_relevance(counts: Evidence) -> None:
    """All evidence there can be comes to about one, and none to nothing."""
    assert Evidence().sum(counts) == 0
    most = sum(max(0.0, getattr(counts, sort)) for sort in SORTS)
    assert 0.5 < most < 2
