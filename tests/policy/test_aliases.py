"""Aliases: what a word is widened to, from the table, by hand and from a project's own names."""

from __future__ import annotations

from collections.abc import Mapping
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.policy.aliases import DEFAULT_ALIASES, MOST_ALIASES, alias_map, expand, generated_aliases
from recollect.policy.query import query_words
from recollect.policy.stem import stem

DEFAULTS = alias_map(DEFAULT_ALIASES)


@pytest.mark.row("P8")
@pytest.mark.parametrize(
    "asked, found",
    [
        ("auth", {"authentication", "login", "authorization"}),
        ("db", {"database"}),
        ("databases", {"db"}),
        ("api", {"endpoint"}),
        ("k8s", {"kubernetes"}),
        ("Kubernetes", {"k8s"}),
        ("repositories", {"repo"}),
        ("configure", {"config", "cfg"}),
        ("environments", {"env"}),
        ("dependency", {"deps"}),
        ("postgres", {"pg", "postgresql"}),
        ("doc", {"documentation"}),
        ("func", {"fn", "function"}),
        ("folder", {"dir", "directory"}),
        ("params", {"parameter"}),
        ("pr", {"pull", "merge", "request"}),
        ("i18n", {"internationalization"}),
        ("time zone", {"tz", "timezone"}),
        ("C++", {"cpp"}),
        ("merge requests", {"pr", "pull"}),
    ],
)
def test_a_common_term_is_found_by_what_it_is_also_called(asked: str, found: set[str]) -> None:
    """Out of the box, in any case and with any ending."""
    widened = expand(query_words(asked), DEFAULTS)
    assert found <= {word for same in widened.values() for word in same}


@pytest.mark.row("P8")
@pytest.mark.parametrize(
    "asked", ["author", "access", "local", "initial", "set", "go", "merge", "user", "request a day"]
)
def test_a_word_of_the_same_stem_is_not_taken_for_an_alias(asked: str) -> None:
    """The author of a note has nothing to do with authorization, nor a merge alone with a merge request."""
    found = {word for same in expand(query_words(asked), DEFAULTS).values() for word in same}
    assert found <= {"req", "usr"}


@pytest.mark.row("P8")
def test_the_table_of_defaults_is_written_as_questions_are() -> None:
    """Every term is in the spelling that words are looked up in, and no group is empty or repeats itself."""
    assert 80 <= len(DEFAULT_ALIASES) <= 130
    for key, values in DEFAULT_ALIASES.items():
        assert values
        for term in (key, *values):
            assert all(query_words(word)[0] == word for word in term.split())
        assert len({key, *values}) == 1 + len(values)
        assert set(values) <= set(DEFAULTS[key])


@pytest.mark.row("P8")
def test_what_a_group_shares_with_another_does_not_join_them() -> None:
    """Auth is either, but authentication is not authorization."""
    assert {"authentication", "authorization"} <= set(DEFAULTS["auth"])
    assert "authorization" not in DEFAULTS["authentication"]


@pytest.mark.row("P8")
def test_aliases_made_by_hand_are_spelled_as_questions_are() -> None:
    """Case, hyphens and signs do not matter; what stands for itself, or is empty, is left out."""
    mine = alias_map({"Merge-Request": ["MR", "C#", ""], "www.example.org": ["x"], "self": ["Self", "selfs"]})
    assert mine == {
        "merge request": ("mr", "csharp"),
        "mr": ("merge request", "csharp"),
        "csharp": ("merge request", "mr"),
    }
    assert expand(("merge", "requests"), mine) == {"merge": ("mr", "csharp"), "requests": ("mr", "csharp")}


@pytest.mark.row("P8")
def test_aliases_made_by_hand_come_before_the_defaults() -> None:
    """The first map is the first heard, and the others are still heard."""
    both = alias_map({"db": ["ledger"]}, DEFAULT_ALIASES)
    assert expand(("db",), both) == {"db": ("ledger", "database")}
    assert expand(("ledger",), both) == {"ledger": ("db",)}


@pytest.mark.row("P8")
@pytest.mark.parametrize(
    "words, widened",
    [
        (("db", "database"), {}),
        (("db", "databases"), {}),
        (("which", "db"), {"db": ("database",)}),
        (("nothing", "known"), {}),
        ((), {}),
        (("todo",), {}),
        (("rollout",), {"rollout": ("ship", "production")}),
        (("ship", "it", "to", "production"), {"ship": ("rollout",), "production": ("rollout", "prod")}),
        (("ship", "soon"), {}),
    ],
)
def test_a_question_is_widened_by_what_it_does_not_ask_for_yet(
    words: tuple[str, ...], widened: dict[str, tuple[str, ...]]
) -> None:
    """Several words count together, without their function words; what is asked for already is not added."""
    aliases = alias_map({"rollout": ["ship it to production"], "todo": ["to do"]}, DEFAULT_ALIASES)
    assert expand(words, aliases) == widened


# --- Generated -------------------------------------------------------------------------------------------------------


@pytest.mark.row("P8")
@pytest.mark.parametrize(
    "names, found",
    [
        (["order_routing_engine"], {"order routing engine": ("ore",)}),
        (["OrderRoutingEngine"], {"order routing engine": ("ore",)}),
        (["src/order-routing-engine.py"], {"order routing engine": ("ore",)}),
        (["order_routing"], {}),
        (["is_word_start", "order_2_go", "a_b_c"], {}),
        (["add_new_data"], {}),
        (["parse_remote_css", "css"], {"parse remote css": ("prc",)}),
        (["cfg", "config"], {"config": ("cfg",)}),
        (["load_cfg", "AppConfig"], {"config": ("cfg",)}),
        (["msg", "messages"], {"messages": ("msg",)}),
        (["msg", "message", "messages", "missing"], {"message": ("msg",)}),
        (["mgr", "user_manager"], {"manager": ("mgr",)}),
        (["ctx", "context"], {"context": ("ctx",)}),
        (["auth", "authentication"], {"authentication": ("auth",)}),
        (["auth", "authentication", "authorization"], {"authentication": ("auth",), "authorization": ("auth",)}),
        (["auth"], {}),
        (["authentication"], {}),
        (["webhook", "web_hook"], {"web hook": ("webhook",)}),
        (["webhook_url", "WebHook"], {"web hook": ("webhook",)}),
        (["webhook"], {}),
        (["work", "workshop", "data", "database", "add", "address"], {}),
        (["print", "printable", "find", "findall", "all", "deploy", "deployment", "test", "testing"], {}),
        (["try", "temporary", "the", "thermometer"], {}),
        ([], {}),
        (["", "...", "数据库", "é", "1_2_3"], {}),
    ],
)
def test_a_projects_names_tell_its_abbreviations(names: list[str], found: dict[str, tuple[str, ...]]) -> None:
    """Initials, words cut short, words without vowels, words written together; and nothing that only looks so."""
    assert generated_aliases(names) == found


@pytest.mark.row("P8")
def test_an_abbreviation_of_too_many_words_is_left_out() -> None:
    """What could be one of four things says nothing."""
    three = ["ref", "reference", "refinery", "refugee"]
    assert set(generated_aliases(three)) == {"reference", "refinery", "refugee"}
    assert generated_aliases([*three, "referendum"]) == {}
    engines = ["order_routing_engine", "order_replay_engine", "order_retry_engine"]
    assert len(generated_aliases(engines)) == 3
    assert generated_aliases([*engines, "open_risk_export"]) == {}


@pytest.mark.row("P8")
def test_of_too_many_abbreviations_the_best_proved_stay() -> None:
    """A short form that occurs by itself comes before initials, and those of frequent names before others."""
    names = ["cfg", "config", "order_routing_engine", "price_feed_reader", "price_feed_reader"]
    assert generated_aliases(names, limit=1) == {"config": ("cfg",)}
    assert set(generated_aliases(names, limit=2)) == {"config", "price feed reader"}
    assert generated_aliases(names, limit=0) == {}


@pytest.mark.row("P8")
def test_generated_aliases_widen_questions_both_ways() -> None:
    """They are one more map among the others."""
    aliases = alias_map(
        DEFAULT_ALIASES, generated_aliases(["OrderRoutingEngine", "web_hook", "webhook", "mgr", "manager"])
    )
    assert expand(("ore",), aliases) == {"ore": ("order", "routing", "engine")}
    assert set(expand(("order", "routing", "engines"), aliases)["order"]) == {"ore"}
    assert expand(("web", "hooks"), aliases) == {"web": ("webhook",), "hooks": ("webhook",)}
    assert expand(("managers",), aliases) == {"managers": ("mgr",)}


@pytest.mark.row("P8")
def test_many_names_are_read_quickly() -> None:
    """A large project has tens of thousands of names."""
    clusters = [first + second for first in "bcdfghklmnprst" for second in "bcdfghklmnprst"]
    syllables = [first + vowel for first in "bcdfghklmnprst" for vowel in "aeiou"]
    names = [f"{one}{two}t_{two}{three}r" for one in syllables for two in syllables for three in syllables[:5]]
    names += [f"{one}{two}" for one in clusters for two in clusters]
    started = process_time()
    generated_aliases(names)
    assert process_time() - started < 5


# --- Properties ------------------------------------------------------------------------------------------------------

TERMS = st.text(st.sampled_from("abcDé数 -_1#"), max_size=8) | st.sampled_from(
    ["db", "Database", "sign in", "to do", "ci"]
)
MAPS = st.dictionaries(TERMS, st.lists(TERMS, max_size=20), max_size=8)
WORDS = st.lists(st.sampled_from([*DEFAULTS, "databases", "the", "zebra"]), max_size=8).map(
    lambda terms: tuple(dict.fromkeys(word for term in terms for word in term.split()))
)
PARTS = st.sampled_from("order routing engine cfg config msg message auth authentication web hook webhook mgr".split())
NAMES = st.lists(
    st.lists(PARTS, min_size=1, max_size=4).flatmap(
        lambda parts: st.sampled_from(["_".join(parts), "-".join(parts), "".join(map(str.title, parts))])
    )
    | st.text(max_size=12),
    max_size=12,
)


@pytest.mark.row("P8")
@given(MAPS, MAPS)
def test_aliases_are_mutual_bounded_and_never_of_themselves(
    one: dict[str, list[str]], two: dict[str, list[str]]
) -> None:
    """Whatever the maps hold, and united again they are the same."""
    aliases = alias_map(one, two)
    for term, others in aliases.items():
        assert term not in others
        assert 1 <= len(others) <= MOST_ALIASES
        assert len(set(others)) == len(others)
        assert all(term in aliases[other] for other in others)
        assert term == " ".join(term.lower().split())


@pytest.mark.row("P8")
@given(WORDS, MAPS)
def test_widening_adds_only_words_that_were_not_asked(words: tuple[str, ...], mine: Mapping[str, list[str]]) -> None:
    """Every key was asked, no word is added that has the stem of an asked one, and the number is bounded."""
    asked = {stem(word) for word in words}
    for word, same in expand(words, alias_map(mine, DEFAULT_ALIASES)).items():
        assert word in words
        assert 1 <= len(same) <= MOST_ALIASES
        assert all(stem(each) not in asked and " " not in each for each in same)


@pytest.mark.row("P8")
@given(NAMES, st.integers(0, 5))
def test_the_order_of_names_does_not_matter(names: list[str], limit: int) -> None:
    """The same names give the same aliases, of which a lower limit keeps some."""
    shuffled = sorted(names, key=lambda name: (len(name), name[::-1]))
    found = generated_aliases(names)
    assert generated_aliases(shuffled) == found
    fewer = generated_aliases(names, limit=limit)
    assert sum(map(len, fewer.values())) <= limit
    assert all(set(short) <= set(found[long]) for long, short in fewer.items())
    assert all(long not in short for long, short in found.items())
