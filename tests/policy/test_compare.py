"""What two memories are to each other: a table of pairs, what holds for any text, and what is to happen then."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import process_time
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from recollect import Kind, Memory, Origin, Procedure, Status
from recollect.model import Uid
from recollect.policy.compare import Consolidation, Said, Verdict, claim_of, said, verdict

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RULE = Consolidation()
SAME, CHANGED, OTHER, OPPOSED, APART = Said.SAME, Said.CHANGED, Said.OTHER, Said.OPPOSED, Said.APART

KIN = {frozenset(pair.split("/")) for pair in ("deploy/releas", "script/program", "error/failur")}


def alike(one: str, other: str) -> bool:
    """The few stems that mean the same here."""
    return frozenset((one, other)) in KIN


def heard(older: str, newer: str, cosine: float | None = None) -> Said:
    """What the newer text says beside the older one."""
    return said(claim_of(older), claim_of(newer), alike=alike, cosine=cosine, rule=RULE)


# --- Pairs ----------------------------------------------------------------------------------------------------------

PAIRS = [
    # The same, put in another way
    (SAME, "Deploys go out from the main branch", "deploys go out from the MAIN branch!"),
    (SAME, "The API listens on port 8080", "Our API is listening on port 8080"),
    (SAME, "Use tabs for indentation", "Please always use tabs for indentation"),
    (SAME, "Postgres is the production database", "PostgreSQL is the prod database"),
    (SAME, "Sessions expire after 30 minutes", "Sessions expire after 30 min"),
    (SAME, "The build takes five minutes", "The build takes 5 minutes"),
    (SAME, "The queue holds 1,000 jobs", "The queue holds 1000 jobs"),
    (SAME, "The queue holds 10k jobs", "The queue holds 10000 jobs"),
    (SAME, "Never push to main without review", "Don't push to main without review"),
    (SAME, "`make lint` checks the code style", "make lint checks code style"),
    (SAME, "Every release is signed by Maria", "Each release is signed by Maria"),
    (SAME, "Run migrations before deploying the workers", "Run migrations before you deploy the workers"),
    (SAME, "The nightly job writes errors to a file", "The nightly job writes failures to a file"),
    # Another value of the same
    (OTHER, "The API listens on port 8080", "The API listens on port 9090"),
    (OTHER, "Sessions expire after 30 minutes", "Sessions expire after 45 minutes"),
    (OTHER, "The retry limit is 3", "The retry limit is five"),
    (OTHER, "The production database is PostgreSQL", "The production database is MySQL"),
    (OTHER, "Backups of the shop are stored in Frankfurt", "Backups of the shop are stored in Dublin"),
    (OTHER, "Carla's office is in Berlin", "Carla's office is in Paris"),
    (OTHER, "The release train leaves on Tuesday", "The release train leaves on Thursday"),
    (OTHER, "The theme colour is blue", "The theme colour is green"),
    (OTHER, "The worker is restarted by systemd", "The worker is restarted by supervisord"),
    (OTHER, "Customers are billed in euros", "Customers are billed in dollars"),
    (OTHER, "The API is documented in docs/api.md", "The API is documented in docs/rest.md"),
    (OTHER, "The search index is rebuilt on Sunday", "The search index is rebuilt on Monday"),
    (OTHER, "Results of the search page are in ascending order", "Results of the search page are in descending order"),
    # Another value, and that the old one holds no longer
    (CHANGED, "The API listens on port 8080", "The API now listens on port 9090"),
    (CHANGED, "Sessions expire after 30 minutes", "Sessions expire after 45 minutes now"),
    (CHANGED, "The production database is PostgreSQL", "The production database was switched to MySQL"),
    (CHANGED, "The production database is PostgreSQL", "We migrated from PostgreSQL to MySQL in production databases"),
    (CHANGED, "The test suite runs with nose", "The test suite runs with pytest instead of nose"),
    (CHANGED, "Logs are shipped to Splunk", "Logs are no longer shipped to Splunk"),
    (CHANGED, "The staging cluster has 4 nodes", "The staging cluster was reduced to 2 nodes"),
    (CHANGED, "Feature flags come from LaunchDarkly", "LaunchDarkly was removed; feature flags come from a table"),
    (CHANGED, "The monthly report is built by cron", "The monthly report is now built by Airflow"),
    # The opposite
    (OPPOSED, "Deploy on Fridays", "Never deploy on Fridays"),
    (OPPOSED, "Do not cache user profiles", "Cache user profiles"),
    (OPPOSED, "Always squash commits before merging", "Never squash commits before merging"),
    (OPPOSED, "Use the shared cache in tests", "Avoid the shared cache in tests"),
    (OPPOSED, "Commit messages must mention the ticket", "Commit messages must not mention the ticket"),
    (OPPOSED, "Force pushes are allowed on feature branches", "Force pushes are forbidden on feature branches"),
    (OPPOSED, "Deploy with a manual approval", "Deploy without a manual approval"),
    (OPPOSED, "The sandbox can reach the network", "The sandbox cannot reach the network"),
    (OPPOSED, "The nightly job is enabled on staging", "The nightly job is disabled on staging"),
    (OPPOSED, "The login tests pass on Windows", "The login tests fail on Windows"),
    (OPPOSED, "Set debug to true in development", "Set debug to false in development"),
    (OPPOSED, "The feature flag new_checkout is on", "The feature flag new_checkout is off"),
    (OPPOSED, "The parser does not support comments", "The parser supports comments"),
    # What was measured once is not made untrue by another measurement; both cannot be the one that happened.
    (OPPOSED, "The March outage took 20 minutes", "The March outage took 50 minutes"),
    # About something else
    (APART, "Coffee is served in the kitchen", "The scheduler uses UTC"),
    (APART, "The API listens on port 8080", "The worker listens on port 8080"),
    (APART, "Alice reviews the payment code", "Bob reviews the search code"),
    (APART, "The client times out after 5 seconds", "The server times out after 30 seconds"),
    (APART, "The upload limit is 10 MB", "The download limit is 50 MB"),
    (APART, "The staging database is MySQL", "The production database is PostgreSQL"),
    (APART, "The frontend is written in TypeScript", "The backend is written in Go"),
    (APART, "Invoices are sent by the billing worker", "Reminders are sent by the billing worker"),
    (APART, "Tests for the parser are in tests/parser", "Tests for the lexer are in tests/lexer"),
    (APART, "Environment variable DB_URL is read by the API", "Environment variable DB_USER is read by the API"),
    (APART, "Users in Germany pay 19 percent VAT", "Users in France pay 20 percent VAT"),
    (APART, "The March report lists 12 incidents", "The April report lists 15 incidents"),
    (APART, "On Monday the build took 5 minutes", "On Tuesday the build took 9 minutes"),
    (APART, "Version 2.1 was released in March", "Version 2.2 was released in June"),
    (APART, "We cache images for 5 minutes", "We cache scripts for 10 minutes"),
    # Another limit of the same thing
    (APART, "The rate limit is 100 requests per user", "The rate limit is 500 requests per key"),
    (APART, "The soft limit is 100 files", "The hard limit is 200 files"),
    (APART, "The minimum password length is 8", "The maximum password length is 64"),
    (APART, "The pool holds at least 10 connections", "The pool holds at most 50 connections"),
    (APART, "Uploads may be as large as 5 MB", "Uploads may be as large as 5 GB"),
    (APART, "Invoices are sent before 9 in the morning", "Invoices are sent after 7 in the morning"),
    # One item of several
    (APART, "The API listens on port 8080", "The API also listens on port 9090"),
    (APART, "The gateway depends on Redis in production", "The gateway depends on Kafka in production"),
    (APART, "We support PostgreSQL", "We support MySQL"),
    (APART, "Allowed formats: JSON, YAML", "Allowed formats: JSON, TOML, XML"),
    (APART, "The installer supports Windows", "The installer also supports macOS"),
    (APART, "Alice owns the billing module", "Alice owns the search module"),
    (APART, "The API accepts JSON bodies", "The API accepts XML bodies"),
    (APART, "Do not log passwords", "Do not log tokens"),
    # Which comes first
    (APART, "The search service must start before billing", "The billing service must start before search"),
    (APART, "Migrate the users table before the orders table", "Migrate the orders table before the users table"),
    (APART, "We chose Redis over Memcached", "We chose Memcached over Redis"),
    # With an exception, or in other words than any that are known here
    (APART, "Deploys need an approval", "Deploys need an approval unless it is a hotfix"),
    (APART, "Use ruff for linting except in vendored code", "Use ruff for linting"),
    (APART, "Every change is looked at by a colleague", "All code is reviewed before it is merged"),
    # Too little in common to be sure what it is about
    (APART, "The repository is public", "The repository is private"),
    (APART, "Alice works on the parser", "Alice works on the lexer"),
    # Other languages, whose words are not known
    (APART, "デプロイは金曜日に行う", "デプロイは月曜日に行う"),
    (APART, "部署在星期五进行", "部署不在星期五进行"),
    # Nothing said
    (APART, "", "anything at all"),
    (APART, "", ""),
    (APART, "!!!", "???"),
]


def test_there_are_enough_pairs_of_every_sort() -> None:
    """None of the five is left to one or two examples."""
    assert len(PAIRS) >= 80
    for each in Said:
        assert sum(pair[0] is each for pair in PAIRS) >= 9


@pytest.mark.row("J23", "duplicate", "contradiction")
@pytest.mark.parametrize("expected, older, newer", PAIRS)
def test_what_a_newer_text_says_beside_an_older_one(expected: Said, older: str, newer: str) -> None:
    """By words alone, where nothing is known of their closeness."""
    assert heard(older, newer) is expected


HINTED = (
    "Integration tests need a running Redis container",
    "Integration tests need a running Redis container locally",
)


@pytest.mark.parametrize(
    "expected, cosine, pair",
    [
        (SAME, None, HINTED),
        (SAME, 1.0, HINTED),
        (SAME, 0.67, HINTED),
        (APART, 0.66, HINTED),
        (APART, 0.0, HINTED),
        (APART, -1.0, HINTED),
        # Even the very words must be close in meaning, if it is known how close they are.
        (SAME, 0.65, (HINTED[0], HINTED[0])),
        (APART, 0.64, (HINTED[0], HINTED[0])),
        # The closer, the less need be said in the same words.
        (SAME, 0.7, ("Integration tests need a running Redis", "Integration tests need a Redis container")),
        (APART, 0.69, ("Integration tests need a running Redis", "Integration tests need a Redis container")),
        (APART, None, ("Integration tests need a running Redis", "Integration tests need a Redis, locally or on CI")),
        # No closeness makes one of two.
        (OTHER, 1.0, ("The API listens on port 8080", "The API listens on port 9090")),
        (OPPOSED, 1.0, ("Deploy on Fridays", "Never deploy on Fridays")),
        (APART, 1.0, ("The API listens on port 8080", "The worker listens on port 8080")),
        (APART, 1.0, ("We support PostgreSQL", "We support MySQL")),
        (APART, 1.0, ("", "")),
    ],
)
def test_closeness_can_only_keep_two_apart_or_allow_other_words(
    expected: Said, cosine: float | None, pair: tuple[str, str]
) -> None:
    """It is a condition, never a reason."""
    assert heard(*pair, cosine) is expected


def test_a_restatement_that_tells_of_a_change_is_no_repetition() -> None:
    """Whoever says "now" says that it was otherwise; the other way round the news has become a fact."""
    old, news = "The API listens on port 8080", "The API is now listening on port 8080"
    assert heard(old, news) is APART
    assert heard(news, old) is SAME


# What is taken for the same is not stored a second time, so here a mistake loses what somebody said.


@pytest.mark.parametrize(
    "older, newer",
    [
        # Another unit or version
        ("The gateway waits 10s for the upstream health check", "The gateway waits 10ms for the upstream health check"),
        ("Upload files of up to 5 mb to the storage bucket", "Upload files of up to 5 gb to the storage bucket"),
        ("The mobile clients call v2 of the payment endpoint", "The mobile clients call v3 of the payment endpoint"),
        # One word for another, in the middle of the same words
        ("The rate limit is 100 requests per user", "The rate limit is 100 requests per key"),
        ("Read the first line of the settings for the version", "Read the last line of the settings for the version"),
        ("The gateway sends the client certificate on", "The gateway sends the server certificate on"),
        ("Rotate the left sidebar icons when the panel opens", "Rotate the right sidebar icons when the panel opens"),
        ("Anna approved the design of the import page", "Anna rejected the design of the import page"),
        ("The backup job copies customer invoices to storage", "The backup job copies customer contracts to storage"),
        ("Nur Administratoren dürfen Konten löschen", "Nur Administratoren dürfen Konten anlegen"),
    ],
)
def test_one_word_for_another_may_be_another_thing(older: str, newer: str) -> None:
    """However much else is the same."""
    assert heard(older, newer) is not SAME
    assert heard(newer, older) is not SAME


TWO = "the newer text is taken for the older one in other words, and what it says is lost"


@pytest.mark.parametrize(
    "older, newer",
    [
        # Another qualifier
        ("The pool holds at least 10 connections", "The pool holds at most 10 connections"),
        ("Run the linter before committing", "Run the linter after committing"),
        ("The pool keeps more than 5 idle connections open", "The pool keeps fewer than 5 idle connections open"),
        ("Alert when the disk usage of the host is > 80%", "Alert when the disk usage of the host is < 80%"),
        ("Some tests of the payment module are flaky on CI", "All tests of the payment module are flaky on CI"),
        ("Retry the upload if the server answers 503", "Retry the upload unless the server answers 503"),
        ("Only admins may delete user accounts", "Admins may delete user accounts"),
        ("Clients must retry failed uploads", "Clients may retry failed uploads"),
        # Another sign
        ("A seat of the hosted plan costs $5", "A seat of the hosted plan costs €5"),
        ("The office clock shows UTC-5 in the winter", "The office clock shows UTC+5 in the winter"),
        # The other way round
        ("Copy the nightly dump from staging to production", "Copy the nightly dump from production to staging"),
        ("The parser calls the lexer", "The lexer calls the parser"),
        ("The billing module depends on the search module", "The search module depends on the billing module"),
        ("Alice reports to Bob", "Bob reports to Alice"),
        # A word that is passed over tells two things apart
        ("Old clients send XML to the gateway", "New clients send XML to the gateway"),
        ("Restart the worker after every deploy", "Restart the order worker after every deploy"),
        ("The backup is copied to Dublin on Sunday", "The full backup is copied to Dublin on Sunday"),
        # One word more makes it another thing
        ("The API of the shop listens on port 8080", "The internal API of the shop listens on port 8080"),
        ("Restart the worker on the host after a deploy", "Restart the billing worker on the host after a deploy"),
    ],
)
def test_what_says_something_else_is_not_taken_for_the_same(older: str, newer: str) -> None:
    """Whatever else it is."""
    assert heard(older, newer) is not SAME


@pytest.mark.parametrize("word", ["possible", "new"])
def test_a_word_that_has_an_opposite_says_something(word: str) -> None:
    """Otherwise the two are never told apart."""
    assert len(claim_of(f"{word} thing").stems) == 2


def test_long_texts_that_differ_at_the_end_are_not_the_same() -> None:
    """A memory may have 8,000 characters."""
    start = "The import page shows every customer of the region. " * 80
    assert heard(f"{start} The export key is red.", f"{start} The export key is blue and 9 long.") is not SAME


@pytest.mark.parametrize(
    "older, newer",
    [
        ("Bug 1234 is about the login form", "Bug 1235 is about the login form"),
        ("Ticket PAY-12 is blocked by legal", "Ticket PAY-13 is blocked by legal"),
        ("Line 40 of parser.py raises a KeyError", "Line 90 of parser.py raises a KeyError"),
        ("Error 404 means the page is gone", "Error 410 means the page is gone"),
        ("HTTP 429 is retried by the client", "HTTP 503 is retried by the client"),
        ("Room 12 is for the design team", "Room 14 is for the design team"),
        ("Version 2.1 of the SDK is broken", "Version 2.3 of the SDK is broken"),
        ("The build is broken on Windows", "The build is broken on Linux"),
        ("The pipeline has a step for lint", "The pipeline has a step for tests"),
        ("The cache is cleared on deploy", "The cache is cleared on login"),
    ],
)
def test_what_is_about_another_thing_is_no_other_value(older: str, newer: str) -> None:
    """After a day, the newer one would take the older one's place."""
    assert heard(older, newer) is APART


# --- Any text -------------------------------------------------------------------------------------------------------

CODE = st.sampled_from(
    [
        "def f(x): return {**x, 'a': [1, 2]}  # not `b`",
        "SELECT * FROM t WHERE a <> 'b' AND c IS NOT NULL;",
        "```sh\ncurl -X POST https://example.com:8443/v1/a?b=c#d | jq '.[0]'\n```",
        "git push --force-with-lease origin HEAD:refs/heads/main~3^2",
        "C:\\Users\\a\\b.txt ~/a/../b @scope/pkg@^1.2.3 a.b.c() foo_bar FooBar 0x1F 1e-9",
        "// instead of a/b/c:\n* moved from x to y\n- ``\n`",
        "İstanbul ǅ ß ﬁ Ⅷ ½ ٣ 𝟗 e\u0301 \u200b\u202e 👩‍👩‍👧 \x00 \ud800",
    ]
)
TEXTS = st.one_of(
    st.text(), CODE, st.lists(CODE, max_size=4).map(" ".join), st.builds(lambda a, b: a + b, CODE, st.text())
)


@given(TEXTS, TEXTS, st.none() | st.floats(-1, 1), st.booleans())
@example("a" * 100_000, "a " * 50_000, None, True)
@example("naïve ½ " * 20_000, "١٢٣ " * 9_000, 0.5, False)
def test_no_text_is_too_strange(older: str, newer: str, cosine: float | None, kin: bool) -> None:
    """Neither what people write, nor code, nor noise; whichever words are alike."""
    told = said(claim_of(older), claim_of(newer), alike=lambda one, other: kin, cosine=cosine, rule=RULE)
    assert told in Said


@given(TEXTS)
@example("not " * 2_000 + "x")
def test_a_text_says_the_same_as_itself(text: str) -> None:
    """If it says anything."""
    claim = claim_of(text)
    assert heard(text, text) is (SAME if claim.tokens else APART)
    assert heard(text, text, 1.0) is (SAME if claim.tokens else APART)


@given(TEXTS)
def test_a_text_never_says_the_same_as_what_denies_it(text: str) -> None:
    """Whatever it is about."""
    assume(not claim_of(text).denies)
    for denied in (f"never {text}", f"do not {text}"):
        assert heard(text, denied) is not SAME
        assert heard(denied, text) is not SAME


NOUNS = "cache queue worker parser customer invoice report index deploy release script table".split()
PHRASES = [*NOUNS, "Redis", "Kafka", "`make lint`", "docs/api.md", "is", "on", "uses", "the", "after", "before", "not"]
TOLD = ["never", "now", "moved", "instead", "over", "and", "for", ",", "."]


def joined(words: list[str]) -> str:
    return " ".join(words)


@st.composite
def rewordings(draw: st.DrawFn) -> tuple[str, str]:
    """A sentence, and the same with a few words changed, left out or added."""
    words = draw(st.lists(st.sampled_from([*PHRASES, *TOLD, "5", "8080"]), min_size=2, max_size=9))
    after = list(words)
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(after)))
        gone = draw(st.integers(0, 1))
        after[place : place + gone] = draw(st.lists(st.sampled_from([*PHRASES, *TOLD]), max_size=1))
    return joined(words), joined(after)


@given(rewordings())
@example(("The API listens on port 8080", "The API now listens on port 8080"))
@example(("the queue worker uses the invoice index", "the queue worker uses the invoice index Redis"))
def test_sameness_holds_both_ways_except_for_news_and_names(pair: tuple[str, str]) -> None:
    """A newer text that tells of a change, or of something by name, is more than a repetition; an older one was that.

    So it is not quite symmetric: if the newer one says the same as the older one, then the other way round too, unless
    the older one tells of a change that the newer one leaves out, or names something that the newer one does not.
    """
    older, newer = map(claim_of, pair)
    if heard(*pair) is SAME and heard(pair[1], pair[0]) is not SAME:
        news = bool(older.changes) and not newer.changes
        assert news or older.of_sort("name") - newer.stems


@given(st.lists(st.sampled_from(NOUNS), min_size=1, max_size=6, unique=True), st.data())
def test_other_numbers_are_never_the_same(words: list[str], data: st.DataObject) -> None:
    """Wherever they stand, however much else is said alike."""
    numbers = st.integers(0, 10**9) | st.integers(0, 30)
    texts = []
    for chosen in (data.draw(st.sets(numbers, max_size=3)), data.draw(st.sets(numbers, max_size=3))):
        places = [(data.draw(st.integers(0, len(words))), number) for number in chosen]
        said_so = list(words)
        for place, number in sorted(places, reverse=True):
            said_so.insert(place, str(number))
        texts.append((chosen, joined(said_so)))
    (old, older), (new, newer) = texts
    assume(old != new)
    for cosine in (None, 1.0):
        assert heard(older, newer, cosine) is not SAME


@given(st.lists(st.sampled_from(PHRASES), min_size=1, max_size=8).map(joined))
def test_politeness_case_and_full_stops_change_nothing(text: str) -> None:
    """What is said stays what it is."""
    assume(claim_of(text).tokens)
    for put in (f"{text}.", f"please {text}", f"{text} please!", text.replace("the ", "our ")):
        assert heard(text, put) is SAME


# --- Time -----------------------------------------------------------------------------------------------------------

LONG = 100_000
QUICK = 0.4
"""Seconds of this process's own time for two texts of 100 kB; a writer waits for it."""


def filled(piece: str) -> str:
    return (piece * (LONG // len(piece) + 1))[:LONG]


def spent(older: str, newer: str) -> float:
    """How long two texts take to compare."""
    began = process_time()
    heard(older, newer)
    return process_time() - began


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a",
            "1",
            "`",
            "/",
            "a/",
            "a.b",
            "1.1",
            "a_",
            "x:",
            "a'a-",
            "aB",
            "é",
            "漢",
            "\n",
            " ",
            "://",
            "0",
            "1e-",
            "@",
        ),
        *("per x ", "least ", "is now ", "cache queue is removed, ", "word ", "`a` ", "we moved from a to b. "),
        "not x ",
        "over y ",
        "-",
        ".-",
    ],
)
def test_long_texts_take_a_bounded_time(piece: str) -> None:
    """No text, however made, keeps a writer waiting."""
    text = filled(piece)
    assert spent(text, text) < QUICK
    assert spent("The cache and the queue", f"The cache and the queue {text}") < QUICK


# --- What is to happen ----------------------------------------------------------------------------------------------


def memory(**given_: Any) -> Memory:
    """A memory that has stood for two days, of an agent's own observation."""
    then = NOW - timedelta(hours=48)
    held: dict[str, Any] = {"content": "x", "created_at": then, "updated_at": then, "trust": 0.8}
    return Memory(uid=Uid(""), **(held | given_))


def decided(told: Said, older: dict[str, Any], newer: dict[str, Any], rule: Consolidation = RULE) -> Verdict:
    fresh: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}
    return verdict(told, memory(**older), memory(**(fresh | newer)), now=NOW, rule=rule)


YOUNG: dict[str, Any] = {"created_at": NOW - timedelta(hours=1)}
AT_ONCE: dict[str, Any] = {"created_at": NOW}
BARELY: dict[str, Any] = {"created_at": NOW - timedelta(hours=24)}
NOT_YET: dict[str, Any] = {"created_at": NOW - timedelta(hours=24) + timedelta(seconds=1)}
VOUCHED: dict[str, Any] = {"confirmed_at": NOW - timedelta(hours=1)}
AHEAD: dict[str, Any] = {"created_at": NOW + timedelta(days=3)}
PINNED: dict[str, Any] = {"status": Status.PINNED}
USER: dict[str, Any] = {"origin": Origin.USER_STATED, "trust": 1.0}
CORRECTED: dict[str, Any] = {"origin": Origin.USER_CORRECTED, "trust": 1.0}
CORRECTION: dict[str, Any] = {"kind": Kind.CORRECTION}
ANY: dict[str, Any] = {}
NEW, TWICE, TAKES, AGAINST = Verdict.NEW, Verdict.SAME, Verdict.SUPERSEDES, Verdict.CONTRADICTS

VERDICTS = [
    # Nothing to do with each other: new, whoever says it
    (APART, ANY, ANY, NEW),
    (APART, PINNED, CORRECTED, NEW),
    # The same: repeated, whoever says it, whatever it stood for
    (SAME, ANY, ANY, TWICE),
    (SAME, PINNED, ANY, TWICE),
    (SAME, USER, {"trust": 0.3}, TWICE),
    (SAME, YOUNG, USER, TWICE),
    (SAME, {"status": Status.CANDIDATE}, CORRECTED, TWICE),
    # Another value: a change once the old one has stood for a day
    (OTHER, ANY, ANY, TAKES),
    (OTHER, BARELY, ANY, TAKES),
    (OTHER, NOT_YET, ANY, AGAINST),
    (OTHER, YOUNG, ANY, AGAINST),
    (OTHER, AT_ONCE, ANY, AGAINST),
    (OTHER, YOUNG, USER, AGAINST),
    (OTHER, VOUCHED, ANY, AGAINST),
    (OTHER, AHEAD, ANY, AGAINST),
    (OTHER, {"status": Status.CANDIDATE}, ANY, TAKES),
    # What happened once is not made untrue
    *((OTHER, {"kind": kind}, ANY, AGAINST) for kind in (Kind.DISCOVERY, Kind.ERROR, Kind.FILE_CHANGE, Kind.SUMMARY)),
    (OTHER, {"kind": Kind.TASK_PROGRESS}, ANY, AGAINST),
    *((OTHER, {"kind": kind}, ANY, TAKES) for kind in (Kind.DECISION, Kind.PREFERENCE, Kind.ARCHITECTURE)),
    # That it has changed: believed of the user at once, of others once it has stood
    (CHANGED, ANY, ANY, TAKES),
    (CHANGED, YOUNG, ANY, AGAINST),
    (CHANGED, YOUNG, USER, TAKES),
    (CHANGED, AT_ONCE, USER, TAKES),
    (CHANGED, VOUCHED, ANY, AGAINST),
    (CHANGED, {"kind": Kind.DISCOVERY}, ANY, TAKES),
    # The opposite, without a word that it was otherwise: somebody has to decide
    (OPPOSED, ANY, ANY, AGAINST),
    (OPPOSED, ANY, USER, AGAINST),
    (OPPOSED, YOUNG, USER, AGAINST),
    # A correction holds at once
    *((told, age, CORRECTION, TAKES) for told in (OTHER, CHANGED, OPPOSED) for age in (ANY, YOUNG, AT_ONCE)),
    *((told, YOUNG, CORRECTED, TAKES) for told in (OTHER, CHANGED, OPPOSED)),
    (OPPOSED, {"kind": Kind.DISCOVERY}, CORRECTED, TAKES),
    (OTHER, USER, CORRECTED, TAKES),
    # What is trusted less takes nobody's place, correction or not
    *((told, USER, ANY, AGAINST) for told in (OTHER, CHANGED, OPPOSED)),
    *((told, USER, CORRECTION, AGAINST) for told in (OTHER, CHANGED, OPPOSED)),
    (CHANGED, {"trust": 0.8}, {"trust": 0.79}, AGAINST),
    (CHANGED, {"trust": 0.8}, {"trust": 0.8}, TAKES),
    (CHANGED, {"trust": 0.3}, {"trust": 0.8}, TAKES),
    # What is pinned gives way to nobody
    *((told, PINNED, who, AGAINST) for told in (OTHER, CHANGED, OPPOSED) for who in (ANY, USER, CORRECTED, CORRECTION)),
    # Of another season: both
    *((told, {"season": "winter"}, ANY, NEW) for told in Said),
    *((told, ANY, {"season": "winter"} | CORRECTED, NEW) for told in Said),
    *((told, {"season": "summer"}, {"season": "winter"}, NEW) for told in Said),
    (SAME, {"season": "winter"}, {"season": "winter"}, TWICE),
    (OTHER, {"season": "winter"}, {"season": "winter"}, TAKES),
    # What carries more than its text is no repetition
    (SAME, ANY, {"payload": {"a": 1}}, NEW),
    (SAME, {"payload": {"a": 1}}, {"payload": {"a": 1}}, TWICE),
    (SAME, {"payload": {"a": 1}}, {"payload": {"a": 2}}, NEW),
    (SAME, {"payload": {"a": 1}}, ANY, TWICE),
    (SAME, ANY, {"procedure": Procedure(name="a")}, NEW),
    (SAME, {"procedure": Procedure(name="a")}, {"procedure": Procedure(name="b")}, NEW),
    (SAME, {"procedure": Procedure(name="a")}, ANY, TWICE),
    (SAME, ANY, {"triggers": ("a",)}, NEW),
    (SAME, {"triggers": ("a", "b")}, {"triggers": ("b",)}, TWICE),
    (SAME, {"triggers": ("a",)}, {"triggers": ("a", "b")}, NEW),
    (SAME, ANY, {"valid_to": NOW}, NEW),
    (SAME, {"valid_to": NOW}, ANY, NEW),
    (SAME, {"valid_from": NOW}, {"valid_to": NOW}, NEW),
    (SAME, {"valid_from": NOW, "valid_to": NOW}, {"valid_from": NOW, "valid_to": NOW}, TWICE),
    # But it may take a place, or be against
    (OTHER, ANY, {"payload": {"a": 1}, "triggers": ("a",)}, TAKES),
    (OPPOSED, {"procedure": Procedure(name="a")}, ANY, AGAINST),
]


@pytest.mark.row("J23", "duplicate", "contradiction")
@pytest.mark.parametrize("told, older, newer, expected", VERDICTS)
def test_what_is_to_happen(told: Said, older: dict[str, Any], newer: dict[str, Any], expected: Verdict) -> None:
    """From what is said, and from who says it, of what, and when."""
    assert decided(told, older, newer) is expected


@pytest.mark.parametrize("told, older, newer, expected", VERDICTS)
def test_nothing_takes_a_place_where_that_is_not_wished(
    told: Said, older: dict[str, Any], newer: dict[str, Any], expected: Verdict
) -> None:
    """What would have is against it; all else is as it was."""
    asked = replace(RULE, supersede=False)
    assert decided(told, older, newer, asked) is (AGAINST if expected is TAKES else expected)


@pytest.mark.parametrize(
    "settled, hours, expected",
    [(0, 0, TAKES), (1, 0.5, AGAINST), (1, 1, TAKES), (100, 99, AGAINST), (100, 100, TAKES)],
)
def test_how_long_a_memory_must_have_stood_is_a_rule(settled: float, hours: float, expected: Verdict) -> None:
    """To the moment."""
    rule = replace(RULE, settled=timedelta(hours=settled))
    assert decided(OTHER, {"created_at": NOW - timedelta(hours=hours)}, ANY, rule) is expected


def test_what_holds_at_other_times_contradicts_nothing() -> None:
    """One ended before the other began."""
    older, newer = {"valid_to": NOW - timedelta(days=9)}, {"valid_from": NOW}
    assert decided(OTHER, older, newer) is NEW


memories = st.builds(
    memory,
    created_at=st.integers(-100, 100).map(lambda hours: NOW - timedelta(hours=hours)),
    confirmed_at=st.none() | st.integers(-100, 100).map(lambda hours: NOW - timedelta(hours=hours)),
    trust=st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]),
    status=st.sampled_from(Status),
    kind=st.sampled_from(Kind),
    origin=st.sampled_from(Origin),
    season=st.sampled_from([None, None, "winter"]),
    payload=st.none() | st.just({"a": 1}),
    triggers=st.sampled_from([(), ("a",)]),
)


@given(st.sampled_from(Said), memories, memories, st.booleans())
def test_nobody_gives_way_to_less_trust_nor_when_pinned_nor_unwished(
    told: Said, older: Memory, newer: Memory, supersede: bool
) -> None:
    """Whatever is said and whoever says it; and only what is said to be the same is taken for the same."""
    found = verdict(told, older, newer, now=NOW, rule=replace(RULE, supersede=supersede))
    if found is TAKES:
        assert supersede
        assert older.status is not Status.PINNED
        assert newer.trust >= older.trust
        assert told in (CHANGED, OTHER, OPPOSED)
    assert (found is TWICE) <= (told is SAME)
    assert (told is APART) <= (found is NEW)
    assert (found in (TAKES, AGAINST)) <= (older.season == newer.season)
