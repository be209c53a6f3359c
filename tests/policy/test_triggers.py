"""Triggers: which patterns may be stored, what each form matches, and that no pattern or text does harm."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect import InvalidInput, Procedure
from recollect.model import MemoryId
from recollect.policy.query import index_words
from recollect.policy.stem import stem
from recollect.policy.triggers import (
    FOUND_LENGTH,
    TRIGGER_LENGTH,
    Match,
    Matcher,
    checked_trigger,
    procedure_trigger,
)

ONE = MemoryId(1)


def found(pattern: str, context: str, *files: str) -> str | None:
    """What one pattern is found as, or None where it does not match."""
    matches = Matcher.of([(ONE, (pattern,))]).matches(context, files)
    return matches[0].found if matches else None


# --- What may be stored ----------------------------------------------------------------------------------------------


@pytest.mark.row("J12")
@pytest.mark.parametrize(
    "text, stored",
    [
        ("println!", "println!"),
        ("  force \n push ", "force push"),
        (".env", ".env"),
        ("=>", "=>"),
        ("*.pem", "glob:*.pem"),
        ("migrations/*.sql", "glob:migrations/*.sql"),
        ("src/**", "glob:src/**"),
        ("test_*.py", "glob:test_*.py"),
        ("*.{ts,tsx}", "glob:*.{ts,tsx}"),
        ("glob:Dockerfile", "glob:Dockerfile"),
        ("glob: my notes/*", "glob:my notes/*"),
        ("char*", "char*"),
        ("**kwargs", "**kwargs"),
        ("what?", "what?"),
        ("a*b c.d", "a*b c.d"),
        (r"re:\bgit\s+push\s+(-f|--force)\b", r"re:\bgit\s+push\s+(-f|--force)\b"),
        ("re: two spaces  ", "re: two spaces  "),
        (r"/push\s+-f/", r"re:push\s+-f"),
        (r" /a\/b/ ", r"re:a\/b"),
        ("/drop table/i", "re:(?i)drop table"),
        ("/etc/nginx/", "/etc/nginx/"),
        ("words:deploy to production", "words:deploy to production"),
        ("*." + "x" * (TRIGGER_LENGTH - 2), "glob:*." + "x" * (TRIGGER_LENGTH - 2)),
    ],
)
def test_a_pattern_is_stored_in_one_spelling(text: str, stored: str) -> None:
    """Its form is told by a prefix where it is not words; and what is stored stays as it is."""
    assert checked_trigger(text) == stored
    assert checked_trigger(stored) == stored


@pytest.mark.row("J12")
@pytest.mark.parametrize(
    "text, told",
    [
        ("", "is empty"),
        (" \t\n", "is empty"),
        ("glob: ", "is empty"),
        ("re:", "is empty"),
        ("x" * (TRIGGER_LENGTH + 1), "at most 300"),
        ("half \ud83d", "lone surrogate"),
        (".", "almost any text"),
        ("the", "almost any text"),
        ("To the", "almost any text"),
        ("words:to the", "no word that says"),
        ("words:!?", "no word that says"),
        ("*", "almost any path"),
        ("**", "almost any path"),
        ("**/*", "almost any path"),
        ("*.*", "almost any path"),
        ("glob:[a-z]*", "almost any path"),
        ("glob:!*.env", "write the paths to match"),
        ("glob:[z-a]x", "no pattern for paths"),
        ("re:.*", "almost any text"),
        (r"re:\w+", "almost any text"),
        (r"re:\b", "almost any text"),
        (r"re:\s", "almost any text"),
        ("re:(drop)?", "almost any text"),
        ("re:(drop", r"'(drop' cannot be used: missing )"),
        ("re:[b-a]", "invalid character class range: b-a"),
        (r"re:\yes", r"'\yes' cannot be used"),
        ("re:foo(?=bar)", "looking ahead or behind, (?=…), is not supported"),
        ("re:foo(?!bar)", "looking ahead or behind"),
        ("re:(?<=foo)bar", "looking ahead or behind"),
        ("re:(?<!foo)bar", "looking ahead or behind"),
        (r"re:(\w)\1", "referring back"),
        ("re:(?P<one>a)(?P=one)", "referring back"),
        ("re:(a{1000}){1000}", "repeats too much"),
        ("re:((a{100}){100}){100}", "repeats too much"),
        (r"re:\p{L}{500}", "repeats too much"),
        ("re:x.{900}", "repeats too much"),
        ("re:" + "x\n(", r"'x\n('"),
    ],
)
def test_what_is_no_pattern_or_matches_anything_is_refused_in_plain_words(text: str, told: str) -> None:
    """The person who wrote it can see what to change."""
    with pytest.raises(InvalidInput) as refused:
        checked_trigger(text)
    assert refused.value.field == "triggers"
    assert told in refused.value.problem


patterns = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="ab .*?/[]{}!-,\\", max_size=12),
    st.text(alphabet="ab .*?/[]{}!-,\\", max_size=12).map("glob:".__add__),
    st.text(alphabet="ab.*+?()[]{}|^$\\1dwsbB -=<>!:Pi", max_size=14).map("re:".__add__),
    st.text(alphabet="ab./\\ i", max_size=10).map("/{}/".format),
    st.text(max_size=20).map("words:".__add__),
    st.sampled_from(["re:(a{1000}){1000}", "re:(a+)+$", "\ud800", "glob:[z-a]b", "x" * 400]),
)
contexts = st.one_of(st.text(max_size=60), st.text(alphabet="abA .*/-1!\n\ud800éßİK", max_size=30))


@given(patterns)
def test_a_pattern_is_refused_or_stays_as_it_was_stored(text: str) -> None:
    """Nothing but a refusal is raised, whatever is written."""
    try:
        stored = checked_trigger(text)
    except InvalidInput:
        return
    assert checked_trigger(stored) == stored


# --- Words as they stand ---------------------------------------------------------------------------------------------


@pytest.mark.row("J12")
@pytest.mark.parametrize(
    "pattern, context, told",
    [
        ("println!", 'println!("x")', "println!"),
        ("println!", "PrintLn!", "PrintLn!"),
        ("println!", "println", None),
        ("env", "environment", None),
        ("env", "my_env", None),
        ("env", "set ENV=1", "ENV"),
        (".env", "cat prod.env", ".env"),
        (".env", "the .environment", None),
        (".env", "the .env.local", ".env"),
        ("force push", "git  FORCE\n push", "FORCE push"),
        ("force push", "force-push", None),
        ("force push", "forcepush", None),
        ("force push", "to force pushes", None),
        ("force push", "reinforce push", None),
        ("eval(", "medieval(x) eval (x)", None),
        ("eval(", "x = eval(y)", "eval("),
        ("--no-verify", "git commit --no-verify", "--no-verify"),
        ("a b a c", "a b a b a c", "a b a c"),
        ("Straße", "STRASSE", "STRASSE"),
        ("caf\u00e9", "cafe\u0301 noir", "caf\u00e9"),
        ("caf\u00e9", "cafe noir", None),
        ("部署", "请部署到生产", "部署"),
        ("배포", "배포를 시작", "배포"),
        ("部署 生产", "部署生产", None),
    ],
)
def test_words_match_as_whole_words(pattern: str, context: str, told: str | None) -> None:
    """In any case, with any white space; where a pattern begins or ends with a sign, anything may be beside it."""
    assert found(pattern, context) == told


@pytest.mark.row("J12")
@given(st.text(min_size=1, max_size=40), st.text(max_size=40), st.text(max_size=40))
@example("a\u0301", "e", "\u0301")
@example("ǰ", "", "")
def test_words_are_found_in_any_text_that_holds_them(pattern: str, before: str, after: str) -> None:
    """With spaces around them, whatever else the text holds."""
    try:
        stored = checked_trigger(pattern)
    except InvalidInput:
        return
    if stored.startswith(("re:", "glob:", "words:")):
        return
    context = f"{before} {pattern} {after}"
    (match,) = Matcher.of([(ONE, (stored,))]).matches(context)
    assert match.pattern == stored
    assert match.found


@pytest.mark.row("J12")
def test_words_and_expressions_are_looked_for_in_each_path_too() -> None:
    """Somebody who opens .env is to be warned as is somebody who writes of it; but no phrase spans two paths."""
    assert found(".env", "", "config/.env") == ".env"
    assert found(r"re:^src/.*\.sql$", "no path here", "a.py", "src/a.sql") == "src/a.sql"
    assert found("one two", "", "one", "two") is None
    assert found("words:deploy production", "deploy", "production") is None


# --- Paths -----------------------------------------------------------------------------------------------------------


@pytest.mark.row("J12")
@pytest.mark.parametrize(
    "pattern, paths, others",
    [
        ("*.pem", "key.pem a/b/Key.PEM /etc/ssl/x.pem .pem", "key.pem.txt pem a.pem/b"),
        ("glob:.env", ".env a/.env", "prod.env .env.local"),
        ("glob:**/*.env", ".env prod.env a/b/prod.env", "prod.env/x"),
        ("migrations/*.sql", "migrations/1.sql ./migrations/1.sql /w/app/migrations/1.sql", "migrations/a/1.sql 1.sql"),
        ("migrations/*.sql", "", "xmigrations/1.sql migrations/1.sqlx"),
        ("a/**/b.c", "a/b.c a/x/b.c a/x/y/b.c z/a/x/b.c", "ab.c a/xb.c"),
        ("src/**", "src/a src/a/b.py x/src/a", "src src/ xsrc/a"),
        ("glob:build/", "build/a x/build/a/b", "build build/"),
        ("/etc/*.d", "/etc/x.d etc/x.d", "/a/etc/x.d"),
        ("~/.ssh/*", "~/.ssh/id /home/u/.ssh/id", "ssh/id"),
        ("./run_*.sh", "run_a.sh a/run_b.sh", "xrun_a.sh"),
        ("foo**/bar.c", "foox/bar.c foo/bar.c", "foo/x/bar.c"),
        ("glob:v?.txt", "v1.txt", "v.txt v12.txt v/.txt"),
        ("glob:v[0-9].txt", "v1.txt", "va.txt v12.txt"),
        ("glob:v[!0-9].txt", "va.txt", "v1.txt v/.txt"),
        ("glob:v[1.txt", "v[1.txt", "v1.txt"),
        (r"glob:v\*.txt", "v*.txt", "v1.txt"),
        ("*.{ts,tsx}", "a.ts b/a.tsx", "a.t a.ts,tsx"),
        ("{src,lib}/*_test.*", "src/a_test.py lib/b_test.c", "bin/a_test.py"),
        ("glob:a+b(c).txt", "a+b(c).txt", "aab(c).txt"),
    ],
)
def test_a_path_pattern_matches_as_in_a_gitignore_file(pattern: str, paths: str, others: str) -> None:
    """An asterisk stays within a folder, two go through all; a bare name is looked for in every folder."""
    assert [path for path in paths.split() if found(pattern, "", path) != path] == []
    assert [path for path in others.split() if found(pattern, "", path) is not None] == []


@pytest.mark.row("J12")
@pytest.mark.parametrize(
    "context, told",
    [
        ("Open `config/.env`, please", "config/.env"),
        ("see (a/b.env).", "a/b.env"),
        ("b.env:12: bad", "b.env"),
        ("cat --file=$HOME/x.env", "HOME/x.env"),
        ("It is in b.env.", "b.env"),
        ("the env is set", None),
        ("x.environment", None),
        ("... . / env", None),
    ],
)
def test_paths_are_found_in_a_text(context: str, told: str | None) -> None:
    """Where something stands that looks like one."""
    assert found("*.env", context) == told


@pytest.mark.row("J12")
def test_a_bare_word_in_a_text_is_no_path() -> None:
    """A pattern for files that begin with "test" has nothing to do with testing."""
    assert found("glob:test*", "we are testing") is None
    assert found("glob:test*", "we are testing", "a/testing") == "a/testing"


# --- Regular expressions ---------------------------------------------------------------------------------------------


@pytest.mark.row("J12")
@pytest.mark.parametrize(
    "pattern, context, told",
    [
        (r"re:\bgit\s+push\s+(-f|--force)\b", "then git push  --force origin", "git push --force"),
        (r"re:\bgit\s+push\s+(-f|--force)\b", "git push origin", None),
        ("re:Drop", "drop", None),
        ("re:(?i)Drop", "DROP", "DROP"),
        ("/drop table/i", "DROP TABLE x", "DROP TABLE"),
        ("re:a.c", "a\nc", None),
        ("re:(?s)a.c", "a\nc", "a c"),
        ("re:É+", "éÉÉ", "ÉÉ"),
        (r"re:^rm\b", "rm x", "rm"),
        (r"re:^rm\b", "do rm x", None),
    ],
)
def test_an_expression_matches_as_it_is_written(pattern: str, context: str, told: str | None) -> None:
    """With case, unless it says otherwise."""
    assert found(pattern, context) == told


@pytest.mark.row("J12")
def test_what_was_found_is_told_in_one_line_of_limited_length() -> None:
    """An expression may match a whole file."""
    told = found("re:(?s)BEGIN.*END", "BEGIN\n" + "x y\n" * 1_000 + "END")
    assert told is not None
    assert told.startswith("BEGIN x y x y")
    assert told.endswith("…")
    assert len(told) == FOUND_LENGTH


@pytest.mark.row("J12")
@pytest.mark.parametrize(
    "pattern, context, matches",
    [
        ("re:(a+)+$", "a" * 50_000 + "b", False),
        ("re:(a+)+$", "a" * 50_000, True),
        ("re:(a|aa)+b(a|aa)+c$", "a" * 25_000 + "b" + "a" * 25_000, False),
        ("re:(x*)*(x*)*(x*)*y", "x" * 50_000, False),
        ("re:(.*)(.*)(.*)(.*)(.*)[^x]y", "x" * 20_000, False),
        ("re:a.{100}$", "a" * 20_000, True),
        ("glob:" + "*a" * 100 + "*b", "/" + "a" * 50_000, False),
        ("glob:" + "**/a/" * 50 + "b", "a/" * 20_000 + "c", False),
        ("!" * TRIGGER_LENGTH, "?!" * 20_000, False),
        ("!" * (TRIGGER_LENGTH - 1) + "?", "!" * 5_000, False),
        ("words:" + " ".join(f"w{number}" for number in range(70)), "w1 w2 " * 8_000, False),
    ],
    ids=lambda value: str(value)[:20],
)
def test_no_pattern_takes_more_than_a_moment(pattern: str, context: str, matches: bool) -> None:
    """Where other engines try forever, the time grows with the text and no faster."""
    assert checked_trigger(pattern) == pattern
    assert (found(pattern, context) is not None) is matches


@pytest.mark.row("J12")
def test_very_many_long_expressions_are_looked_for_all_the_same() -> None:
    """More letters than one automaton holds."""
    words = [hashlib.shake_128(bytes([number % 256, number // 256])).hexdigest(125) for number in range(1_000)]
    many = Matcher.of([(MemoryId(number), (f"re:{word}$",)) for number, word in enumerate(words)])
    assert [match.memory for match in many.matches(words[0])] == [0]
    assert [match.memory for match in many.matches("", [words[999], words[500]])] == [500, 999]


# --- Procedures ------------------------------------------------------------------------------------------------------


@pytest.mark.row("J13")
@pytest.mark.parametrize(
    "trigger, pattern",
    [
        ("", ""),
        ("  ", ""),
        ("deploy to production", "words:deploy to production"),
        ("words:deploy", "words:deploy"),
        ("migrations/*.sql", "migrations/*.sql"),
        ("re:deploy(ing)?", "re:deploy(ing)?"),
    ],
)
def test_a_procedure_comes_up_by_the_words_of_its_trigger(trigger: str, pattern: str) -> None:
    """Unless its trigger is a pattern of another form, or it has none."""
    assert procedure_trigger(Procedure(name="A way", trigger=trigger)) == pattern


FAR = "and so on " * 30


@pytest.mark.row("J13")
@pytest.mark.parametrize(
    "trigger, context, told",
    [
        ("deploy to production", "Please deploy this to production.", "deploy … production"),
        ("deploy to production", "Production deploys are next", "production … deploys"),
        ("Deploying to Production", "deploy production", "deploy … production"),
        ("deploy to production", "deploy the new billing service to the production cluster", "deploy … production"),
        ("deploy to production", "deployToProduction()", "deploy … production"),
        ("deploy to production", "we deploy often", None),
        ("deploy to production", f"In production it is slow. {FAR} Then deploy.", None),
        ("deploy to production", f"production {FAR} deploy {FAR} deploy to production", "deploy … production"),
        ("when rotating the API keys", "rotate our api key", "rotate … api … key"),
        ("pre-release", "a pre release", "pre … release"),
        ("C++ build", "how to build C++ code", "build … cplusplus"),
        ("release", "releasing it", "releasing"),
        ("部署生产", "请部署生产环境", "部署 … 署生 … 生产"),
    ],
)
def test_the_words_of_a_phrase_match_close_together(trigger: str, context: str, told: str | None) -> None:
    """In any form and order, with a sentence's worth of others between them and no more."""
    assert found(procedure_trigger(Procedure(name="A way", trigger=trigger)), context) == told


@pytest.mark.row("J13")
@given(st.lists(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8), min_size=1, max_size=20))
def test_a_phrase_is_found_where_it_stands(words: list[str]) -> None:
    """However long it is."""
    pattern = "words:" + " ".join(words)
    try:
        checked_trigger(pattern)
    except InvalidInput:
        return
    assert found(pattern, f"Here: {' '.join(words).upper()}.") is not None


# --- Many memories ---------------------------------------------------------------------------------------------------


@pytest.mark.row("J12")
def test_each_memory_is_told_once_by_the_pattern_that_matched_most() -> None:
    """In the order of the memories; patterns that several share bring up all of them."""
    matcher = Matcher.of(
        [
            (MemoryId(7), ("push", "git push --force", "git push")),
            (MemoryId(2), ("Push",)),
            (MemoryId(3), ("pull",)),
            (MemoryId(2), ("words:force main",)),
        ]
    )
    assert matcher.matches("now git push --force to main") == (
        Match(memory=MemoryId(2), pattern="words:force main", found="force … main"),
        Match(memory=MemoryId(7), pattern="git push --force", found="git push --force"),
    )
    assert matcher.matches("PUSH") == (
        Match(memory=MemoryId(2), pattern="Push", found="PUSH"),
        Match(memory=MemoryId(7), pattern="push", found="PUSH"),
    )
    assert matcher.matches("") == Matcher.of([]).matches("push", ["push.py"]) == ()


@pytest.mark.row("J12")
def test_a_stored_pattern_that_is_no_good_leaves_the_others_alone() -> None:
    """It was stored before patterns were checked, or by another program."""
    bad = (
        "re:(",
        "re:(?=a)",
        "re:.*",
        "glob:[z-a]b",
        "glob:*",
        "",
        "the",
        "words:",
        "\ud800",
        "x" * 5_000,
        "re:a{999}{999}",
    )
    matcher = Matcher.of([(MemoryId(1), bad), (MemoryId(2), ("push", *bad)), (MemoryId(3), (*bad, "re:pu.h"))])
    assert [match.memory for match in matcher.matches("the push (", ["b"])] == [2, 3]


@given(
    st.lists(st.tuples(st.integers(1, 5).map(MemoryId), st.lists(patterns, max_size=3).map(tuple)), max_size=6),
    contexts,
    st.lists(contexts, max_size=3),
)
def test_nothing_is_raised_for_any_pattern_or_text(
    memories: list[tuple[MemoryId, tuple[str, ...]]], context: str, files: list[str]
) -> None:
    """What comes up is told in order, once, by a pattern that the memory has."""
    matches = Matcher.of(memories).matches(context, files)
    told = [match.memory for match in matches]
    assert told == sorted(set(told))
    for match in matches:
        assert any(memory == match.memory and match.pattern in has for memory, has in memories)
        assert "\n" not in match.found
        assert len(match.found) <= FOUND_LENGTH


# --- Against the plainest way ----------------------------------------------------------------------------------------


def plainly(pattern: str, context: str, files: list[str]) -> str | None:
    """What one checked pattern is found as, the slow way."""
    form, body = re.fullmatch("(words|glob|re|):?(.*)", pattern, re.DOTALL).groups()  # type: ignore[union-attr]
    if form == "words":
        return words_plainly(body, index_words(context))
    if form == "glob":
        paths = [*files, *(path.rstrip(".") for path in re.findall(r"[\w./]+", context))]
        fitting = (path for path in paths if ("/" in path or "." in path or path in files) and fits(body, path))
        return next(fitting, None)
    phrase = r"\s+".join(map(re.escape, body.split()))
    first, last = (r"\b" if body[at].isalnum() else "" for at in (0, -1))
    hits = (re.search(body if form else f"(?i){first}{phrase}{last}", text) for text in (context, *files))
    return next((" ".join(hit.group().split()) for hit in hits if hit), None)


def words_plainly(phrase: str, words: list[str]) -> str | None:
    wanted = {stem(word) for word in phrase.split()}
    for end in range(len(words)):
        window = words[max(0, end + 1 - len(phrase.split()) - 8) : end + 1]
        if wanted <= set(map(stem, window)):
            last = {stem(word): place for place, word in enumerate(window)}
            return " … ".join(window[place] for place in sorted(last[each] for each in wanted))
    return None


def fits(glob: str, path: str) -> bool:
    """A path pattern of names, asterisks and slashes, folder by folder."""

    def from_here(wanted: list[str], given: list[str]) -> bool:
        if not wanted or not given:
            return wanted == given
        if wanted[0] == "**" and len(wanted) > 1:
            return any(from_here(wanted[1:], given[skipped:]) for skipped in range(len(given)))
        if wanted == ["**"]:
            return any(given)
        name = ".*".join(map(re.escape, re.split(r"\*+", wanted[0])))
        return re.fullmatch(name, given[0], re.IGNORECASE) is not None and from_here(wanted[1:], given[1:])

    wanted, given = glob.strip("/").split("/"), path.split("/")
    if glob.startswith("/"):
        starts = [path.removeprefix("/").split("/")]
    else:
        starts = [given[start:] for start in range(len(given))]
    if glob.endswith("/"):
        return any(from_here(wanted, parts[:end]) for parts in starts for end in range(len(parts)) if any(parts[end:]))
    return any(from_here(wanted, parts) for parts in starts)


def small_expressions() -> st.SearchStrategy[str]:
    atoms = st.sampled_from(["a", "b", "ab", "bb a", "[ab]", ".", r"\s", r"\b", "A"])
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
            st.tuples(inner, st.sampled_from(["+", "?", "{2}"])).map(lambda two: f"(?:{two[0]}){two[1]}"),
        ),
        max_leaves=5,
    )


segments = st.sampled_from(["a", "b", "*", "**", "a*", "*.b", "ab", "*b*"])
small_patterns = st.one_of(
    st.text(alphabet="abA .!", min_size=1, max_size=5),
    small_expressions().map("re:".__add__),
    st.tuples(st.sampled_from(["", "/"]), st.lists(segments, min_size=1, max_size=4), st.sampled_from(["", "/"])).map(
        lambda parts: f"glob:{parts[0]}{'/'.join(parts[1])}{parts[2]}"
    ),
    st.lists(st.sampled_from(["deploy", "deploys", "main", "bbb"]), min_size=1, max_size=3).map(
        lambda words: "words:" + " ".join(words)
    ),
)
small_texts = st.one_of(
    st.text(alphabet="abA .!/\n", max_size=16),
    st.lists(st.sampled_from(["deploy", "deployed", "main", "bbb", "x", "y"]), max_size=14).map(" ".join),
)
small_paths = st.lists(st.sampled_from(["a", "b", "ab", "aB", "x.b", "a.b"]), min_size=1, max_size=4).map("/".join)


def known(memories: list[tuple[MemoryId, str]]) -> Iterator[tuple[MemoryId, str]]:
    for memory, pattern in memories:
        try:
            yield memory, checked_trigger(pattern)
        except InvalidInput:
            continue


@pytest.mark.row("J12")
@given(
    st.lists(st.tuples(st.integers(1, 4).map(MemoryId), small_patterns), max_size=8),
    small_texts,
    st.lists(small_paths, max_size=3),
)
@example([(ONE, "glob:**/a/**")], "x/a/b", ["a"])
@example([(ONE, "words:deploy main"), (ONE, "re:main")], "deploy x x x x x x x x main", [])
@example([(ONE, "words:deploy main")], "deploy x x x x x x x x x main", [])
def test_many_at_once_match_as_each_would_alone(
    memories: list[tuple[MemoryId, str]], context: str, files: list[str]
) -> None:
    """The index finds what trying pattern by pattern finds, in the same place."""
    best: dict[MemoryId, tuple[int, str, str]] = {}
    for memory, pattern in known(memories):
        told = plainly(pattern, context, files)
        if told is not None:
            best[memory] = max(best.get(memory, (-1, "", "")), (len(told), pattern, told))
    matches = Matcher.of([(memory, (pattern,)) for memory, pattern in known(memories)]).matches(context, files)
    assert {match.memory: (len(match.found), match.pattern, match.found) for match in matches} == best
