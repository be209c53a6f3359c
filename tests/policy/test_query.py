"""Questions: what is looked up for any text, and what no text can do."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import InvalidFilter, Kind, Memory, Recollect, Status
from recollect.model import Condition, Op, Order
from recollect.policy.query import (
    FIELDS,
    LISTS,
    QUERY_WORDS,
    WORD_LENGTH,
    affordable,
    index_words,
    match_expression,
    parse_limit,
    parse_order,
    parse_where,
    query_words,
    telling_words,
)
from recollect.policy.stem import stem
from recollect.testing import temp_recollect

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

NOTES = (
    "Deploys go out from the main branch after review",
    "The rate limit of the public api is ninety requests",
    "Billing keeps invoices in postgres near the ledger",
    "Nobody edits content columns or tags by hand",
    "The column rowid is not a rank and source is not text",
    "Retry the upload twice and not more",
)

STEERING = (
    *("AND", "OR", "NOT", "NEAR", "NEAR/2", "NEAR(", '"', "'", "''", '""', "(", ")", "{", "}", "[", "]", "*", "^", "+"),
    *("-", ":", "--", ";", "/*", "*/", "\\", "%", "_", "?", "?1", ":x", "@x", "$1", "|", "||", ",", "\x00", "\ud800"),
    *("content:", "tags :", "{content tags}:", "- {content}:", "rank:", "rowid:", "words MATCH", "^deploys", "dep*"),
    *("' OR 1=1 --", '" OR "', "'; DROP TABLE memories; --", "bm25(words)", "UNION SELECT", "\n", "\t", "\u200b"),
    *("deploys", "branch", "limit", "postgres", "ledger", "content", "columns", "tags", "rowid", "rank", "text", "not"),
)


@pytest.fixture(scope="module")
def notes() -> Iterator[Recollect]:
    """A memory with a few notes that talk like queries."""
    with temp_recollect(settings={"recall.profile": "koshi"}) as memory:
        memory.remember_many(NOTES)
        yield memory


def said(memory: Recollect, question: str, **given_: Any) -> list[str]:
    """What a question finds."""
    return [hit.memory.content for hit in memory.recall(question, **given_)]


def words_of(memory: Memory) -> set[str]:
    """Every word under which a memory can be found."""
    told = (memory.content, " ".join(memory.tags), " ".join(memory.files), memory.source.value, memory.kind.value)
    return {word for text in told for word in index_words(text)}


def holders(memory: Recollect, question: str) -> set[str]:
    """What plain words would find: everything that holds any word of the question that says something, in any form."""
    asked = set(map(stem, telling_words(query_words(question))))
    return {each.content for each in memory.list() if asked & set(map(stem, words_of(each)))}


# The six steps


@pytest.mark.row("K7", "urls")
@pytest.mark.parametrize(
    "question, words",
    [
        ("https://example.com/deploy?x=1 branch", ("branch",)),
        ("branch http://user@host:80/a-b_c(d)", ("branch",)),
        ("www.example.com/path branch", ("branch",)),
        ("FTP://Example.Com branch", ("branch",)),
        ("see git+ssh://example.com/x.git, branch", ("see", "branch")),
        ("https://example.com/only", ()),
    ],
)
def test_addresses_are_dropped(question: str, words: tuple[str, ...]) -> None:
    """The parts of a URL are not what a question is about."""
    assert query_words(question) == words


@pytest.mark.row("K7", "hyphens")
def test_hyphens_split(notes: Recollect) -> None:
    """A compound is looked up by its parts and as one word."""
    assert query_words("rate-limit") == ("rate", "limit", "ratelimit")
    assert said(notes, "rate-limit") == [NOTES[1]]
    assert said(notes, "--rate--limit--") == [NOTES[1]]


@pytest.mark.row("K7", "punctuation")
@pytest.mark.parametrize("mark", [*"!\"#$%&'()*+,./:;<=>?@[\\]^`{|}~", "…", "“", "”", "。", "\x00", "\x1b", "\u202e"])
def test_punctuation_is_dropped(notes: Recollect, mark: str) -> None:
    """Around, between and in place of words."""
    assert query_words(f"{mark}invoices{mark} {mark} ledger{mark * 3}") == ("invoices", "ledger")
    assert said(notes, f"{mark}invoices{mark}") == [NOTES[2]]


@pytest.mark.row("K7", "single-characters")
@pytest.mark.parametrize(
    "question, words",
    [
        ("a b branch c", ("branch",)),
        ("don't", ("don",)),
        ("x", ("x",)),
        ("a b", ("a", "b")),
        ("5 9 branch", ("branch",)),
        ("我", ("我",)),
        ("我 branch", ("我", "branch")),
    ],
)
def test_single_characters_are_dropped_unless_nothing_else_is_left(question: str, words: tuple[str, ...]) -> None:
    """A letter says little beside a word; a character that is a word stays."""
    assert query_words(question) == words


@pytest.mark.row("K7", "quoting")
@given(st.lists(st.text(), max_size=5).map(tuple))
def test_every_word_is_quoted(words: tuple[str, ...]) -> None:
    """Inside quotes a word is a word; quotes of its own are doubled."""
    parts = ['"' + word.replace('"', '""') + '"' for word in words]
    assert match_expression(words) == " OR ".join(parts)
    assert all(part.count('"') % 2 == 0 for part in parts)


@pytest.mark.row("K7", "or-join")
def test_any_of_the_words_is_enough(notes: Recollect) -> None:
    """A memory that holds one word of a question is found, one that holds two before it."""
    assert match_expression(("ledger", "upload")) == '"ledger" OR "upload"'
    assert set(said(notes, "ledger upload unheard")) == {NOTES[2], NOTES[5]}
    assert said(notes, "upload ledger invoices")[0] == NOTES[2]


@pytest.mark.row("K7", "no-steering")
def test_two_thousand_questions_full_of_operators_find_what_their_words_find(notes: Recollect) -> None:
    """Operators, columns and quotes of the search engine are words like others, or nothing."""
    chance = random.Random(7)
    for _ in range(2_000):
        question = chance.choice(("", " ")).join(chance.choices(STEERING, k=chance.randint(1, 8)))
        assert set(said(notes, question, limit=1_000)) == holders(notes, question), question


@pytest.mark.row("K7", "no-steering")
@given(st.text() | st.lists(st.sampled_from(STEERING) | st.text(max_size=5)).map(" ".join))
def test_no_text_breaks_a_query(notes: Recollect, question: str) -> None:
    """Whatever is asked is answered, in recall and in search, and with what its words find."""
    assert set(said(notes, question, limit=1_000)) == holders(notes, question)
    assert {hit.memory.content for hit in notes.search(question, limit=1_000)} == holders(notes, question)


@pytest.mark.row("K7", "no-steering")
@pytest.mark.parametrize(
    "question, found",
    [
        ("postgres NOT ledger", [NOTES[2]]),
        ("NOT postgres", [NOTES[2]]),
        ("content: upload", [NOTES[5], NOTES[3]]),
        ("upl*", []),
        ("^upload", [NOTES[5]]),
        ('"rate limit"', [NOTES[1]]),
        ("NEAR(rate limit, 1)", [NOTES[1], NOTES[2]]),
        ("rowid:1", [NOTES[4]]),
    ],
)
def test_operators_mean_nothing(notes: Recollect, question: str, found: list[str]) -> None:
    """They neither exclude nor widen nor narrow."""
    assert sorted(said(notes, question)) == sorted(found)


@given(st.text())
def test_what_is_looked_up_is_letters_digits_and_marks(text: str) -> None:
    """Each word once, none too long, none too many, none with anything a query language could use."""
    words = query_words(text)
    assert len(words) == len(set(words)) <= QUERY_WORDS
    assert all(0 < len(word) <= WORD_LENGTH for word in words)
    assert not set("".join(words)) & set(" \t\n\"'()*:^-+{}[]\\/;,.%\x00")
    assert query_words(text) == words


# What was stored is found again


LITERALS = [
    *("parseHTTPResponse", "user_id", "auth/middleware.py", "C++", "C#", "F#", ".NET", "c++", "Café", "cafe", "CAFÉ"),
    *(
        "cafe\u0301",
        "数据库迁移",
        "データベース",
        "コーヒー",
        "데이터베이스",
        "ฐานข้อมูล",
        "हिन्दी",
        "डेटाबेस",
        "مُحَمَّد",
        "قاعدة",
    ),
    *(
        "שָׁלוֹם",
        "база",
        "Straße",
        "ﬁle",
        "ｆｕｌｌ",
        "İstanbul",
        "naïve",
        "k8s",
        "x86_64",
        "utf-8",
        "__init__",
        "snake_case_name",
    ),
    *(
        "SCREAMING_CASE",
        "kebab-case-name",
        "IOError",
        "getURL",
        "v1.2.3",
        "127.0.0.1",
        "foo::bar",
        "a.b.c.d",
        "$HOME",
        "R",
    ),
    *("x", "7", "我", "η", "ΑΒΓ", "ΣΊΣΥΦΟΣ", "ﷺ", "①", "½", "e\u0301", "ǅ", "ñ", "ø", "ł", "đ"),
]


@pytest.fixture(scope="module")
def library() -> Iterator[Recollect]:
    """Every literal in a memory of its own, among others."""
    with temp_recollect() as memory:
        memory.remember_many([f"note {number} on {literal}" for number, literal in enumerate(LITERALS)])
        memory.remember_many(NOTES)
        yield memory


@pytest.mark.parametrize("number", range(len(LITERALS)), ids=LITERALS)
def test_a_literal_that_was_stored_is_found_by_typing_it(library: Recollect, number: int) -> None:
    """Identifiers, paths, names made of punctuation, and words of every script."""
    assert f"note {number} on {LITERALS[number]}" in said(library, LITERALS[number], limit=1_000)


@pytest.mark.parametrize(
    "stored, asked",
    [
        ("parseHTTPResponse", "response"),
        ("parseHTTPResponse", "http"),
        ("parseHTTPResponse", "parsehttpresponse"),
        ("user_id", "userid"),
        ("user_id", "id"),
        ("auth/middleware.py", "middleware"),
        ("Café", "cafe"),
        ("cafe", "Café"),
        ("数据库迁移", "数据库"),
        ("数据库迁移", "迁移"),
        ("데이터베이스를", "데이터베이스"),
        ("ﬁle", "file"),
        ("Straße", "STRASSE"),
        ("rate-limit", "ratelimit"),
        ("ratelimit", "rate-limit"),
        ("C++", "c++"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ],
)
def test_a_word_is_found_by_its_parts_and_other_spellings(stored: str, asked: str) -> None:
    """What a question looks up is among what the text is indexed under."""
    assert set(query_words(asked)) & set(index_words(stored))


@given(st.text(min_size=1).filter(lambda text: "://" not in text and "www." not in text.lower()))
def test_a_text_holds_every_word_that_asking_for_it_looks_up(text: str) -> None:
    """Stored text and questions are cut by the same rules."""
    assert set(query_words(text)) <= set(index_words(text))


# Which words to look up


@given(st.dictionaries(st.text(min_size=1, max_size=4), st.integers(1, 1_000), max_size=12), st.integers(1, 2_000))
def test_the_rarest_words_are_looked_up_within_the_budget(counts: dict[str, int], budget: int) -> None:
    """Every word is either kept or skipped, the rarest is always kept, and no kept word is more frequent."""
    kept, skipped = affordable(counts, budget)
    assert sorted((*kept, *skipped)) == sorted(counts)
    assert bool(kept) == bool(counts)
    assert len(kept) <= 1 or sum(counts[word] for word in kept) <= budget
    assert max((counts[word] for word in kept), default=0) <= min((counts[word] for word in skipped), default=10_000)


@pytest.mark.parametrize(
    "question, telling",
    [
        ("which database does the billing service use and why", ("database", "billing", "service", "use")),
        ("where is it", ("where", "is", "it")),
        ("", ()),
        ("NOT", ("not",)),
        ("not postgres", ("postgres",)),
    ],
)
def test_words_that_say_nothing_are_left_out_unless_there_are_no_others(
    question: str, telling: tuple[str, ...]
) -> None:
    """In a young store rarity cannot tell `database` from `which`."""
    assert telling_words(query_words(question)) == telling


@given(st.lists(st.text(max_size=6) | st.sampled_from(["the", "why", "not", "it"]), unique=True).map(tuple))
def test_telling_words_are_some_of_the_words_in_their_order(words: tuple[str, ...]) -> None:
    """Never none, where there were some."""
    telling = telling_words(words)
    assert bool(telling) == bool(words)
    assert telling == tuple(word for word in words if word in telling)


# Filters


@pytest.mark.parametrize(
    "filters, conditions",
    [
        ({}, ()),
        ({"kind": "decision"}, (Condition("kind", Op.EQ, "decision"),)),
        ({"kind": Kind.DECISION}, (Condition("kind", Op.EQ, "decision"),)),
        ({"tags": ["auth", "db"]}, (Condition("tags", Op.IN, ("auth", "db")),)),
        ({"tags": ()}, (Condition("tags", Op.IN, ()),)),
        (
            {"importance": {"$gte": 0.7, "$lt": 1}},
            (Condition("importance", Op.GTE, 0.7), Condition("importance", Op.LT, 1)),
        ),
        ({"status": {"$in": {Status.PINNED}}}, (Condition("status", Op.IN, ("pinned",)),)),
        ({"created_at": {"$gt": "2026-03-01T12:00:00Z"}}, (Condition("created_at", Op.GT, NOW),)),
        ({"created_at": {"$gt": "2026-03-01 12:00"}}, (Condition("created_at", Op.GT, NOW),)),
        ({"created_at": NOW}, (Condition("created_at", Op.EQ, NOW),)),
        ({"session_id": None}, (Condition("session_id", Op.EQ, None),)),
    ],
)
def test_filters_are_read_as_callers_write_them(filters: dict[str, object], conditions: tuple[Condition, ...]) -> None:
    """A value is equality, a list membership, a mapping one or more operators."""
    assert parse_where(filters) == conditions


@pytest.mark.parametrize(
    "filters, field",
    [
        ({"knd": "fact"}, "knd"),
        ({5: "fact"}, "5"),
        ({"content'; --": "x"}, "content'; --"),
        ({"kind": "decisions"}, "kind"),
        ({"kind": 5}, "kind"),
        ({"kind": {"$like": "d%"}}, "kind"),
        ({"kind": {5: "d"}}, "kind"),
        ({"kind": {"$in": "fact"}}, "kind"),
        ({"importance": "high"}, "importance"),
        ({"importance": True}, "importance"),
        ({"importance": float("nan")}, "importance"),
        ({"importance": float("inf")}, "importance"),
        ({"importance": 10**400}, "importance"),
        ({"score": 2**63}, "score"),
        ({"score": -(10**400)}, "score"),
        ({"id": [1, "two"]}, "id"),
        ({"content": 5}, "content"),
        ({"content": b"x"}, "content"),
        ({"content": "a\x00b"}, "content"),
        ({"content": "\ud800"}, "content"),
        ({"tags": {"$in": ["a", object()]}}, "tags"),
        ({"created_at": "yesterday"}, "created_at"),
        ({"created_at": datetime(2026, 3, 1)}, "created_at"),  # noqa: DTZ001
        ({"created_at": 5}, "created_at"),
        ({"uid": [str(number) for number in range(10_001)]}, "uid"),
    ],
)
def test_a_filter_that_means_nothing_is_refused_by_name(filters: dict[Any, object], field: str) -> None:
    """With the field it was for."""
    with pytest.raises(InvalidFilter) as caught:
        parse_where(filters)
    assert caught.value.field == field


def test_as_many_values_as_a_filter_takes_can_be_asked_for_in_every_field(notes: Recollect) -> None:
    """What is accepted can be carried out, or is refused as a filter; never an error of the engine."""
    many = [f"word{number}" for number in range(10_000)]
    with suppress(InvalidFilter):
        assert notes.list(dict.fromkeys(("uid", "content", "session_id", "agent", "host", "season"), many)) == ()


@given(
    st.dictionaries(
        st.sampled_from(sorted(FIELDS)) | st.text(max_size=8),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.datetimes(),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(Op) | st.text(max_size=4), inner)
            ),
            max_leaves=4,
        ),
        max_size=3,
    )
)
def test_any_filter_is_carried_out_or_refused(notes: Recollect, filters: dict[str, object]) -> None:
    """No filter reaches the engine that the engine cannot take."""
    try:
        parse_where(filters)
    except InvalidFilter:
        return
    assert notes.count(filters) == len(notes.list(filters, limit=1_000))


@pytest.mark.parametrize(
    "written, order",
    [
        ("created_at", Order(field="created_at", newest_first=True)),
        ("-created_at", Order(field="created_at", newest_first=False)),
        ("timestamp", Order(field="created_at", newest_first=True)),
        ("-importance", Order(field="importance", newest_first=False)),
    ],
)
def test_an_order_is_a_field_and_a_minus_reverses_it(written: str, order: Order) -> None:
    """Highest or newest first, unless reversed."""
    assert parse_order(written) == order


@pytest.mark.parametrize("written", ["", "-", "--id", "nonsense", "id desc", "id; --", "tags", "-files", None, 5])
def test_an_order_that_means_nothing_is_refused(written: Any) -> None:
    """Unknown fields, and fields that hold several values."""
    with pytest.raises(InvalidFilter):
        parse_order(written)


@pytest.mark.parametrize("field", sorted(set(FIELDS) - LISTS))
def test_everything_that_can_be_filtered_can_be_ordered_by(notes: Recollect, field: str) -> None:
    """Both ways, and the one is the other reversed."""
    assert notes.list(order_by=f"-{field}") == notes.list(order_by=field)[::-1]


@pytest.mark.parametrize("limit", [-1, 1.5, "5", None, True, float("nan")])
def test_a_limit_that_is_no_number_of_results_is_refused(limit: object) -> None:
    """By the name of the field."""
    with pytest.raises(InvalidFilter) as caught:
        parse_limit(limit)
    assert caught.value.field == "limit"


@pytest.mark.parametrize("limit, taken", [(0, 0), (7, 7), (10**30, 1_000_000)])
def test_a_limit_beyond_everything_is_everything(limit: int, taken: int) -> None:
    """More than there can be is no mistake."""
    assert parse_limit(limit) == taken
