"""What a user states in a turn: labelled turns, half of which state nothing, and what holds for any text at all."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.policy.stated import LONGEST, statements

# Each turn with what it states: the kind, and the words that are kept.
STATED: list[tuple[str, str, str]] = [
    # corrections
    ("no, we use pnpm here, not npm", "correction", "we use pnpm here, not npm"),
    ("No - we use pnpm, not npm.", "correction", "we use pnpm, not npm"),
    ("that's wrong: the port is 9090", "correction", "the port is 9090"),
    ("That's wrong. The port is 9090.", "correction", "The port is 9090"),
    ("actually the tests live in spec/", "correction", "the tests live in spec/"),
    ("Actually, the config lives in `config/app.toml`.", "correction", "the config lives in `config/app.toml`"),
    ("nope, the default branch is trunk, not main", "correction", "the default branch is trunk, not main"),
    ("no, the API listens on 8443", "correction", "the API listens on 8443"),
    ("wrong, we don't use Redux", "correction", "we don't use Redux"),
    ("No. We deploy from GitHub Actions, not Jenkins!", "correction", "We deploy from GitHub Actions, not Jenkins"),
    ("you're wrong, the schema belongs in db/schema.sql", "correction", "the schema belongs in db/schema.sql"),
    ("no, use tabs, not spaces", "correction", "use tabs, not spaces"),
    ("we write tests with vitest, not jest", "correction", "we write tests with vitest, not jest"),
    # decisions
    ("let's go with Postgres", "decision", "let's go with Postgres"),
    ("Ok, let's go with Postgres then.", "decision", "let's go with Postgres"),
    ("we decided to drop IE11", "decision", "we decided to drop IE11"),
    ("we'll use feature flags for this", "decision", "we'll use feature flags"),
    ("We've decided against a monorepo.", "decision", "We've decided against a monorepo"),
    ("lets use sqlite instead", "decision", "lets use sqlite"),
    ("we're going with Tailwind", "decision", "we're going with Tailwind"),
    ("I've decided to support Python 3.11 and up only.", "decision", "I've decided to support Python 3.11 and up only"),
    ("we agreed on semantic versioning", "decision", "we agreed on semantic versioning"),
    ("Decision: events are stored as JSON lines", "decision", "Decision: events are stored as JSON lines"),
    ("let's stick with server-side rendering", "decision", "let's stick with server-side rendering"),
    ("Good. We will switch to uv.", "decision", "We will switch to uv"),
    # preferences and standing instructions
    ("I prefer tabs", "preference", "I prefer tabs"),
    ("please always answer in German", "preference", "always answer in German"),
    ("use conventional commits from now on", "preference", "use conventional commits from now on"),
    ("From now on, run the linter before you commit.", "preference", "From now on, run the linter before you commit"),
    ("always run the type checker before committing", "preference", "always run the type checker before committing"),
    ("Always show me the diff first.", "preference", "Always show me the diff first"),
    ("btw i prefer small commits over big ones", "preference", "i prefer small commits over big ones"),
    ("Prefer composition over inheritance.", "preference", "Prefer composition over inheritance"),
    ("make sure you always quote shell variables", "preference", "make sure you always quote shell variables"),
    (
        "whenever you change the schema, regenerate the client",
        "preference",
        "whenever you change the schema, regenerate the client",
    ),
    ("run `make check` after every change", "preference", "run `make check` after every change"),
    ("In this repo, use British spelling.", "preference", "In this repo, use British spelling"),
    ("use structured logging everywhere", "preference", "use structured logging everywhere"),
    ("use type hints for all new code", "preference", "use type hints for all new code"),
    ("we always squash merge feature branches", "preference", "we always squash merge feature branches"),
    (
        "when adding an endpoint, always update openapi.yaml",
        "preference",
        "when adding an endpoint, always update openapi.yaml",
    ),
    ("going forward keep functions under 40 lines", "preference", "going forward keep functions under 40 lines"),
    ("use tabs, not spaces", "preference", "use tabs, not spaces"),
    ("I really hate trailing whitespace", "preference", "I really hate trailing whitespace"),
    ("i want you to always explain the root cause", "preference", "i want you to always explain the root cause"),
    ("**Always** sign commits with the release key.", "preference", "Always sign commits with the release key"),
    ("before every commit run the formatter", "preference", "before every commit run the formatter"),
    ("from now on only edit files under src/", "preference", "from now on only edit files under src/"),
    ("commit messages should always be in English", "preference", "commit messages should always be in English"),
    ("In general prefer a functional style", "preference", "In general prefer a functional style"),
    ("every time you finish a task, play a sound", "preference", "every time you finish a task, play a sound"),
    (
        "Going forward, I'd like all PR descriptions to include a test plan.",
        "preference",
        "Going forward, I'd like all PR descriptions to include a test plan",
    ),
    ("for all new components, use the design system", "preference", "for all new components, use the design system"),
    ("from now on let's do TDD", "preference", "from now on let's do TDD"),
    (
        "always run cargo fmt before you say you're done",
        "preference",
        "always run cargo fmt before you say you're done",
    ),
    # things never to do
    ("never push to main", "negative", "never push to main"),
    ("NEVER push to main!!!", "negative", "NEVER push to main"),
    ("don't touch the generated files", "negative", "don't touch the generated files"),
    ("stop adding comments", "negative", "stop adding comments"),
    ("Please don't ever commit secrets to the repo.", "negative", "don't ever commit secrets to the repo"),
    ("we never mock databases in tests", "negative", "we never mock databases in tests"),
    ("we don't use class components", "negative", "we don't use class components"),
    ("you must never log passwords", "negative", "you must never log passwords"),
    ("from now on don't use abbreviations in names", "negative", "from now on don't use abbreviations in names"),
    ("do not use emojis", "negative", "do not use emojis"),
    ("Stop using `any` in TypeScript.", "negative", "Stop using `any` in TypeScript"),
    (
        "ok but never edit migrations that are already released",
        "negative",
        "never edit migrations that are already released",
    ),
    (
        "When refactoring, never change public signatures",
        "negative",
        "When refactoring, never change public signatures",
    ),
    ("i already told you, never use git add -A", "negative", "never use git add -A"),
    ("I told you already: do not use default exports.", "negative", "do not use default exports"),
    ("Never delete rows, soft delete instead.", "negative", "Never delete rows, soft delete instead"),
    ("avoid abbreviations in all identifiers", "negative", "avoid abbreviations in all identifiers"),
    ("NEVER use `rm -rf`", "negative", "NEVER use `rm -rf`"),
    ("Never, ever force push.", "negative", "Never, ever force push"),
    ("Don't push without asking me first", "negative", "Don't push without asking me first"),
    ("don't push to main", "negative", "don't push to main"),
    ("don't say \"You're absolutely right\"", "negative", "don't say \"You're absolutely right\""),
    ("tests should never hit the network", "negative", "tests should never hit the network"),
    ("The rule is: never import from internal packages", "negative", "never import from internal packages"),
    ("you must not bypass the linter with noqa", "negative", "you must not bypass the linter with noqa"),
    # facts
    ("remember that the staging db is read-only", "fact", "the staging db is read-only"),
    ("keep in mind: prod runs on arm64", "fact", "prod runs on arm64"),
    ("Note that the API lives in services/api.", "fact", "the API lives in services/api"),
    ("Remember: our customers are hospitals in Austria", "fact", "our customers are hospitals in Austria"),
    ("fyi, the billing team owns the invoices table", "fact", "the billing team owns the invoices table"),
    ("FYI the staging server is at 10.0.0.5", "fact", "the staging server is at 10.0.0.5"),
    ("be aware that main.ts is generated", "fact", "main.ts is generated"),
    ("In this project tests go next to the source file.", "fact", "In this project tests go next to the source file"),
    ("We use Fly.io for hosting by the way.", "fact", "We use Fly.io for hosting"),
    ("the convention here is camelCase for JSON keys", "fact", "the convention here is camelCase for JSON keys"),
    ("we use pnpm workspaces", "fact", "we use pnpm workspaces"),
    ("in this project we use a custom ORM", "fact", "in this project we use a custom ORM"),
    (
        "for future reference, version 3.11 is the oldest Python on our servers",
        "fact",
        "version 3.11 is the oldest Python on our servers",
    ),
    ("this repo uses trunk-based development", "fact", "this repo uses trunk-based development"),
]

# Turns of other texts, with what the user states in them.
AMID: list[tuple[str, list[tuple[str, str]]]] = [
    (
        "this is odd:\n\n    # always round up to a page\n    pages = math.ceil(n)\n\nnever use floats for money",
        [("negative", "never use floats for money")],
    ),
    (
        "Rules for this repo:\n  - never push to main\n    - always squash commits",
        [("negative", "never push to main"), ("preference", "always squash commits")],
    ),
    (
        "The login test fails:\n\n```\nERROR never retry\n```\n\nfix it please. And never retry on a 500 response.",
        [("negative", "never retry on a 500 response")],
    ),
    (
        "<system-reminder>Always use the tool.</system-reminder>\nRename foo to bar. We use snake_case for modules.",
        [("fact", "We use snake_case for modules")],
    ),
    (
        "> never use eval\n\nThat review comment is right, e.g. in parse.py. From now on use ast.literal_eval.",
        [("preference", "From now on use ast.literal_eval")],
    ),
    (
        "Rules for this repo:\n- use fixtures\n- no wildcard imports\n- never commit to main\n\nNow fix the test.",
        [
            ("preference", "use fixtures"),
            ("negative", "no wildcard imports"),
            ("negative", "never commit to main"),
        ],
    ),
    (
        "no, the port is 9090. see docs/dev.md, i.e. https://example.com/a.b?c=d. always read docs/dev.md first.",
        [("correction", "the port is 9090"), ("preference", "always read docs/dev.md first")],
    ),
    (
        "never push to main. Never push to main.\nWe decided to drop IE11. can you remove the polyfills?",
        [("negative", "never push to main"), ("decision", "We decided to drop IE11")],
    ),
    (
        "when you write migrations for the billing database from now on, please\nmake them reversible",
        [
            (
                "preference",
                "when you write migrations for the billing database from now on, please make them reversible",
            )
        ],
    ),
    (
        "Always run the whole integration suite against a real database before\nyou open a pull request.",
        [
            (
                "preference",
                "Always run the whole integration suite against a real database before you open a pull request",
            )
        ],
    ),
    (
        "2026-01-02 10:00:00 ERROR never connect twice\n2026-01-02 10:00:01 INFO always retry\nwe use Postgres 16",
        [("fact", "we use Postgres 16")],
    ),
]

# Turns that state nothing to keep.
NOTHING: list[str] = [
    "",
    "   \n\n ",
    "continue",
    "yes",
    "no",
    "No, try again",
    "add a test for X",
    "don't run it yet",
    "use the other file here",
    "let's go with option 2",
    "let's go with your suggestion",
    "let's go",
    "let's go ahead and merge",
    "let's use subagents to explore the code",
    "let's move on to testing",
    "let's use a dropdown for the status filter",
    "we'll do the rest tomorrow",
    "always show me the diff first?",
    "should we always use UTC?",
    "do we ever use Redux",
    "why do we never close the connection?",
    "if we used Postgres we could drop the cache",
    "maybe we should never cache errors",
    "i think we use pnpm",
    "what if we always retried?",
    "the docs say never use eval",
    "According to the README we use yarn",
    "the reviewer said we should always use const",
    "you said you would never touch main",
    'the button says "never show again"',
    "`always use strict mode` is what it prints",
    "rename the flag to 'never-cache'",
    "never do that again",
    "don't do that",
    "use this instead",
    "always do it like this",
    "stop doing that",
    "never change this file",
    "that's wrong",
    "no, that is not what I meant",
    "No, the button is still broken",
    "no, it still doesn't work",
    "actually the build fails now",
    "no, the other one",
    "no, put the button on the left",
    "actually, I want the header to be blue",
    "never mind",
    "Never mind, found it.",
    "it never worked",
    "the request never returns",
    "I never see the popup",
    "I always get a 500 when I click save",
    "always the same error",
    "always fails on CI",
    "every time I click save it crashes",
    "whenever I run the tests I get a timeout",
    "you always forget the tests",
    "you never ran the tests",
    "the spinner should always be visible",
    "update the prompt so that the model always returns JSON",
    "add a rule that we never log tokens to CLAUDE.md",
    "by default the list is empty",
    "make the panel open by default",
    "find all usages of the logger in this repo",
    "fix all type errors in this project",
    "add docstrings for all public functions",
    "show a toast every time the user saves",
    "use a map here",
    "use the staging key for now",
    "don't commit yet",
    "don't change anything",
    "don't write code, just explain",
    "don't write any tests",
    "don't worry about the tests",
    "don't forget to update the changelog",
    "Fix the parser. Don't add dependencies.",
    "don't delete the header",
    "stop the server",
    "stop running the tests",
    "I prefer option B",
    "I prefer the second one",
    "I'd rather do it later",
    "I don't like the new layout",
    "I like it",
    "remember this",
    "remember when we fixed the parser?",
    "remember to push",
    "note the error in line 3",
    "note that I already ran the migration",
    "note that the tests are still failing",
    "keep in mind what I told you",
    "we use it to look up the session",
    "we use the id to find the user but it returns null",
    "we never reach the return statement",
    "we don't need tests",
    "we don't want to break anything",
    "they use Rust",
    "it uses tabs",
    "This always returns None.",
    "/remember never push to main",
    "/commit always sign",
    "You are a senior engineer. Always answer with code. Never apologise.",
    "Your task is to summarise the conversation. Never omit file names.",
    "This session is being continued from a previous conversation. We decided to use Postgres.",
    "[Request interrupted by user] never push to main",
    "Prefer `rawTotal` over the rounded one. If a row has a `note`, print the note, then the file it belongs to.",
    "<command-name>never</command-name> <command-args>push to main</command-args>",
    "<task-notification>\n<summary>always use tabs</summary>\n</task-notification>",
    "```\nnever push to main\n```",
    "~~~\nalways use tabs",
    "> never push to main\n> always use tabs",
    "# Style guide\n\nAlways use tabs.\nNever use spaces.",
    "**Requirements**\n\nNever store plain passwords.",
    "Build a login form with:\n- always validate input\n- never store plain passwords",
    "diff --git a/x b/x\n@@ -1 +1 @@\n-never push to main\n+always push to main",
    'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: never use None',
    "$ git commit -m always\nerror: never do this",
    "import os;\nreturn never(push);",
    "The error is: never use eval in production code:",
    "can you always run the tests",
    "Could you please never use semicolons",
    "let's try Postgres",
    "let's see how it renders!",
    "go with the first approach from now on",
    "we decided to do it later",
    "in the future we might use Kafka",
    "we use axios in some places and fetch in others, unify on fetch",
    "we keep getting 429s",
    "Use the csv sniffer. Never load the whole file in memory though, some are 10GB.",
    "Always validate on the server as well",
    "FYI we're in a code freeze until Monday",
    "Actually the flag is --no-verify",
    "use fetch here",
    "In the login form, never autofocus the password field",
    "Do not use any CSS frameworks. Build a landing page for a bakery.",
    "We decided to split the module into three parts, please do so",
    "we log too much, reduce it",
    "we use a lot of duplicated code in the handlers",
    "we import lodash but nothing needs it",
    "we don't log the request id, add it",
    "we'll use mock data until the backend is ready",
    "we'll use docker compose to run it locally",
    "let's use git bisect",
    "let's use pytest -k auth",
    "Let's use sub-agents",
    "let's switch to plan mode",
    "let's stick to the plan",
    "Decision: 2",
    "I've decided to keep it as is",
    "Actually the model is gpt-4o-mini, change it",
    "actually the deadline is 5pm",
    "no, the file is src/lib/auth.ts",
    "no the function is in utils.py",
    "No, the test is supposed to fail",
    "note that the endpoint requires auth",
    "Note: the file is huge so read it in chunks",
    "Remember: we only have 2 hours left",
    "write tests for all services",
    "whenever you're done let me know",
    "every time we deploy the cache is stale",
    "every time you edit a file you break the formatting",
    "from now on the color is red",
    "from now on I'll handle the deployments",
    "In the checkout page, always show the total",
    "never show the modal on mobile",
    "don't touch main.py",
    "do not create new files, edit the existing ones",
    "I prefer the modal version",
    "Never had this problem before.",
    "always good to have tests",
    "You should never have touched that file",
    "in this project, add a Dockerfile",
    "in this repo there's a folder called legacy",
    "I hate this",
    "Do your work on a branch:\n1. always rebase\n2. never merge",
    "SELECT * FROM users WHERE never = true;",
    "| rule | never push to main |",
    "user@host:~/app$ echo always use tabs",
    "src/app.py:12: never use eval here",
    '{"rule": "never push to main"}',
    "why is this here:\n\n    count = limit * 2;\n    # always ask for twice the limit so there are enough rows",
    "this is wrong:\n\n    def fetch(self):\n        return self.rows\n        Never use the cache for writes here",
    "look at this\n\n    // never call flush twice\n    buffer.flush();",
]


def found(turn: str) -> list[tuple[str, str]]:
    return [(finding.kind.value, finding.content) for finding in statements(turn)]


@pytest.mark.row("K15", "decisions", "corrections", "facts")
@pytest.mark.parametrize("turn, kind, content", STATED)
def test_what_a_turn_states_is_found(turn: str, kind: str, content: str) -> None:
    """Its kind, and the words without what only ties them to the conversation."""
    assert found(turn) == [(kind, content)]
    assert all(finding.stated for finding in statements(turn))


@pytest.mark.parametrize("turn, stated", AMID)
def test_what_is_stated_amid_other_text_is_found(turn: str, stated: list[tuple[str, str]]) -> None:
    """Nothing pasted, quoted or asked for comes with it."""
    assert found(turn) == stated


@pytest.mark.parametrize("turn", NOTHING)
def test_most_turns_state_nothing(turn: str) -> None:
    """Requests, questions, reports, quotes, machine text, and what only the conversation explains."""
    assert found(turn) == []


def test_half_of_the_labelled_turns_state_nothing() -> None:
    """So that finding too much costs as much as finding too little."""
    assert len(NOTHING) >= len(STATED) + len(AMID)
    assert len(NOTHING) + len(STATED) + len(AMID) >= 120


# --- Whatever the text -----------------------------------------------------------------------------------------------

PIECES = (
    *"never always don't we use let's prefer from now on remember that no push to main tabs Postgres it 9090".split(),
    *"src/app.py e.g. <a> </a> <system-reminder> </system-reminder> , . ? ! : ; - > # ` ``` ' \" ( ) < * ** _".split(),
    *("\n", "\n\n", "\n- ", "\n1. ", "\n> ", "\n```\n", "\n# ", "\n@@ ", "ß", "İ", "’", "\u2028", "\x00", "\ud800"),
)
SPOKEN = st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join)
PLAIN = [turn for turn, _, _ in STATED if not {'"', "`"} & set(turn) and ". " not in turn]


@given(SPOKEN | st.text())
def test_any_text_is_read_and_nothing_is_made_up(turn: str) -> None:
    """Never an error; what is kept stands in the turn but for blanks and emphasis, and is neither empty nor long."""
    spoken = "".join(turn.replace("**", "").split())
    contents = [finding.content for finding in statements(turn)]
    assert all("".join(content.replace("**", "").split()) in spoken for content in contents)
    assert all(0 < len(content) <= LONGEST for content in contents)
    assert len({content.casefold() for content in contents}) == len(contents)


@pytest.mark.parametrize("turn", PLAIN)
def test_what_is_quoted_asked_or_pasted_is_not_stated(turn: str) -> None:
    """The same words in a quote, a fence, a tag, a diff, a question or under a heading state nothing."""
    bare = turn.rstrip(".!")
    for other in (
        f"> {turn}",
        f"```\n{turn}\n```",
        f'the log shows "{bare}"',
        f"the log shows `{bare}`",
        f"<tool-result>\n{turn}\n</tool-result>",
        f"diff --git a/x b/x\n+{turn}\n-{turn}",
        f"# Notes\n\n{turn}",
        f"{bare}?",
        f"the manual says {bare}",
        f"maybe {bare}",
    ):
        assert found(other) == [], other


MACHINES = [
    "<system-reminder>\n{}",
    "<system-reminder>\n{}\n</system-reminder>",
    '<teammate-message teammate_id="lead">\n{}\n</teammate-message>',
    '<skill name="review">\n{}',
    "<user-prompt-submit-hook>\n{}\n</user-prompt-submit-hook>",
    "<environment_context>\n{}",
    "<user_instructions>\n{}\n</user_instructions>",
    "Stop hook feedback:\n{}",
    "SessionStart:startup hook additional context: {}",
    "Base directory for this skill: /home/me/.skills/x\n\n{}",
    "This session is being continued from a previous conversation.\n\n{}",
    "Another language model started to solve this problem and produced a summary of it.\n\n{}",
    "Here is a summary of what was said:\n\n{}",
    "Caveat: The messages below were generated while running local commands.\n\n{}",
]


@pytest.mark.row("K15")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("words", ["never push to main", "No, we use pnpm here, not npm", "From now on use tabs"])
def test_a_machines_words_are_never_the_users(machine: str, words: str) -> None:
    """Reminders, hooks, notices, summaries and prompts of programs state nothing, also where they are cut short."""
    assert found(words) != []
    assert found(machine.format(words)) == []


@pytest.mark.parametrize("turn, kind, content", STATED)
@pytest.mark.parametrize("aside", ["The build is red again.", "Thanks!", "Why is it slow?"])
def test_what_stands_beside_a_statement_changes_nothing(turn: str, kind: str, content: str, aside: str) -> None:
    """A remark before or after it is not in the way, unless only opening the turn makes it a rule."""
    assert set(found(f"{aside}\n\n{turn}")) <= {(kind, content)}
    assert found(f"{turn}\n\n{aside}") == [(kind, content)]


def test_only_what_stands_around_a_long_paste_counts() -> None:
    """Prose that nobody typed states nothing; what was typed before and after it does."""
    page = "\n\n".join(f"Always read chapter {number} of the manual before you begin." for number in range(200))
    assert found(f"never push to main\n\nhere is the text:\n\n{page}\n\nwe use Postgres 16") == [
        ("negative", "never push to main"),
        ("fact", "we use Postgres 16"),
    ]


@pytest.mark.parametrize(
    "piece",
    [
        *("a", " ", "\n", "a\n", ".", ".a", "`", "'", '"', "*", "**a", "<", "<a>", "<a <", "</a>", "no, ", "ok "),
        *(
            "never push to main. ",
            "always use it, ",
            "> quoted\n",
            "- never push\n",
            "{",
            "[",
            "\n\n",
            "no-",
            "we use a, ",
        ),
        "2026-01-02 10:00:00 ERROR cannot connect to the server\n",
        "whenever you change the schema, regenerate the client and ",
    ],
)
def test_a_megabyte_takes_linear_time(piece: str) -> None:
    """Whatever a million characters consist of, they are read in a few seconds."""
    text = piece * (1_000_000 // len(piece))
    started = process_time()
    statements(text)
    assert process_time() - started < 5
