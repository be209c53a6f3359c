"""The files of agents as discrete memories: what becomes a piece, what it says by itself, and that nothing is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.formats.agent_files import GROUP, MOST, Piece, coverage, pieces
from recollect.model import Draft, Kind, Procedure
from recollect.policy.admit import Limits, admit
from recollect.policy.identity import canonical_text


def said(text: str, name: str = "CLAUDE.md", **told: bool) -> list[str]:
    """The contents of the pieces of a file."""
    return [piece.content for piece in pieces(text, name=name, **told)]


SPLIT = {
    "items by themselves": (
        "- Use tabs for indentation in Go code\n- Never commit generated files\n",
        ["Use tabs for indentation in Go code", "Never commit generated files"],
    ),
    "an item with its continuation": (
        "- Keep the lockfile small and\n  update one package at a time\n\n  That also goes for transitive ones.\n",
        [
            "Keep the lockfile small and update one package at a time\nThat also goes for transitive ones.",
        ],
    ),
    "an item with a few details": (
        "- Catch specific errors where possible:\n  - files: `OSError`\n  - JSON: `ValueError`\n",
        ["Catch specific errors where possible:\n- files: `OSError`\n- JSON: `ValueError`"],
    ),
    "many details each under the item's words": (
        "- Testing\n"
        "  - run `make test` before committing\n"
        f"  - name a test after what it shows {'and so on ' * 20}\n"
        f"  - keep fixtures next to the test {'and so on ' * 20}\n",
        [
            "Testing: run `make test` before committing",
            f"Testing: name a test after what it shows {'and so on ' * 20}".strip(),
            f"Testing: keep fixtures next to the test {'and so on ' * 20}".strip(),
        ],
    ),
    "scraps of a list together": (
        "## Supported\n- Linux\n- macOS\n- FreeBSD\n",
        ["Supported: Linux; macOS; FreeBSD"],
    ),
    "rules under an introduction": (
        "When you touch the parser:\n- Run the fuzzer for at least a minute\n- Update the grammar in the docs\n",
        [
            "When you touch the parser: Run the fuzzer for at least a minute",
            "When you touch the parser: Update the grammar in the docs",
        ],
    ),
    "fragments with their introduction": (
        "Run the slow tests, especially after:\n- refactoring\n- a new dependency\n",
        ["Run the slow tests, especially after:\n- refactoring\n- a new dependency"],
    ),
    "a statement with its reason": (
        "Deploys go out on Mondays only.\n\n**Why:** Support is staffed then.\n\n**How to apply:** Merge on Fridays.\n",
        ["Deploys go out on Mondays only. Why: Support is staffed then. How to apply: Merge on Fridays."],
    ),
    "code with the sentence before it": (
        "## Build\nBuild it all with one command:\n\n```bash\nmake all\n```\nIt takes a minute or two on a laptop.\n",
        [
            "Build it all with one command:\n```bash\nmake all\n```",
            "Build: It takes a minute or two on a laptop.",
        ],
    ),
    "code under a heading": ("## Build\n```\nmake all\n```\n", ["Build:\n```\nmake all\n```"]),
    "rows as statements": (
        "## Skills\n| Skill | When to use it |\n|---|---|\n"
        "| `testing` | Running tests, coverage, writing new tests of any kind |\n| `colours` | |\n",
        [
            "Skills: Skill: `testing`; When to use it: Running tests, coverage, writing new tests of any kind",
            "Skills: Skill: `colours`",
        ],
    ),
    "short rows together": (
        "## Ports\n|Name|Port|\n|-|-|\n|web|80|\n|db|5432|\n",
        ["Ports: Name: web; Port: 80; Name: db; Port: 5432"],
    ),
    "labelled lines each": (
        "**Docs**: they live in `docs/public`\n**Deploy**: happens on every push to main\n",
        ["Docs: they live in `docs/public`", "Deploy: happens on every push to main"],
    ),
    "lines that are sentences each": (
        "I like short answers.\nAlways explain what a command does.\n",
        ["I like short answers.", "Always explain what a command does."],
    ),
    "a label as a heading": (
        "**Respond when:**\n\n- Somebody asks you a question directly\n- You can add something of real value\n",
        [
            "Respond when: Somebody asks you a question directly",
            "Respond when: You can add something of real value",
        ],
    ),
    "links by their words": (
        "- See the [guide](docs/guide.md) before you write ![a](b.png) tests\n",
        ["See the guide before you write a tests"],
    ),
    "tasks as such": (
        "## Milestone\n- [x] Parser written and covered by tests\n- [ ] Release notes are to be written\n",
        ["Milestone: Done: Parser written and covered by tests", "To do: Release notes are to be written"],
    ),
    "quotes like the rest": (
        "> The staging server is called heron.\n",
        ["The staging server is called heron."],
    ),
    "the index of a memory": (
        "# Memory Index\n- [Tabs](tabs.md) — the user likes tabs more than spaces\n",
        ["Tabs — the user likes tabs more than spaces"],
    ),
    "a file of one line": ("Use tabs.", ["Use tabs."]),
    "nothing": ("\n\n", []),
}


@pytest.mark.row("K9", "main-file")
@pytest.mark.parametrize("text, contents", SPLIT.values(), ids=SPLIT)
def test_a_file_is_split_into_what_it_says(text: str, contents: list[str]) -> None:
    """A list item, a rule, a decision with its reason; never a whole section."""
    assert said(text) == contents


BOILERPLATE = [
    "# CLAUDE.md\n",
    "This file provides guidance to Claude Code (claude.ai/code) when working with code in this repository.\n",
    "This document provides instructions for AI coding agents working in this repository.\n",
    "[![ci](https://a.b/c.svg)](https://a.b) ![](logo.png)\n",
    "## Contents\n- [One](#one)\n- [Two](#two)\n  - [Three](#three)\n",
    "@AGENTS.md\n",
    "*Last updated: 2026-01-01*\n",
    "## License\n\nMIT\n",
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software\n",
    "<!-- MANUAL ADDITIONS START -->\n",
    "<claude-mem-context>\n# Recent\n\nNo context yet.\n</claude-mem-context>\n",
    "---\ndescription: Rules\nalwaysApply: true\n---\n",
    "# A heading\n## and another\n",
    "---\n\n***\n",
]


@pytest.mark.parametrize("text", BOILERPLATE)
def test_boilerplate_and_headings_alone_are_no_memories(text: str) -> None:
    """They are left out, and do not count as lost."""
    assert said(text) == []
    assert coverage(text, ()) == 1.0


def test_a_file_tree_is_one_memory_however_large() -> None:
    """Its deepest levels go first when it is too large."""
    deep = "".join(f"│   ├── module_number_{number}.py  # what it is for\n" for number in range(100))
    [piece] = pieces(f"## Layout\n```\nsrc/\n├── core/\n{deep}└── web/\n```\n", name="AGENTS.md")
    assert piece.kind is Kind.ARCHITECTURE
    assert piece.content == "Layout:\n```\nsrc/\n├── core/\n└── web/\n```"


KINDS = [
    ("- Never force-push to main", Kind.NEGATIVE),
    ("- DO NOT edit the generated files", Kind.NEGATIVE),
    ("- Avoid shortening names of variables", Kind.NEGATIVE),
    ("- The loop never returns on its own", Kind.FACT),
    ("- Never returns, so there is no need for an exit code", Kind.PATTERN),
    ("- We chose Postgres over MySQL because of its JSON support", Kind.DECISION),
    ("## Decisions\n- Postgres instead of MySQL, for its JSON support", Kind.DECISION),
    ("- Prefer integration tests over unit tests", Kind.PREFERENCE),
    ("- The user likes short answers without apologies", Kind.PREFERENCE),
    ("## User Preferences\n- Compact layouts with little space between things", Kind.PREFERENCE),
    ("- ⚠ The migration drops the old table", Kind.WARNING),
    ("## Gotchas\n- The cache is keyed by tenant and by locale", Kind.WARNING),
    ("- Careful with the cache: it is shared between tenants", Kind.WARNING),
    ("1. Clone the repository\n2. Run `make setup`\n3. Open the editor", Kind.PROCEDURE),
    ("## Build\n```bash\nmake\n```", Kind.PROCEDURE),
    ("- Lint: `npm run lint`", Kind.PROCEDURE),
    ("- FORBIDDEN: `pip install`", Kind.WARNING),
    ("- Always pass an encoding to open()", Kind.PATTERN),
    ("- Public functions must have docstrings", Kind.PATTERN),
    ("## Naming\n- Lower case with dashes for folders of components", Kind.PATTERN),
    ("## Architecture\n- The gateway talks to the workers over a queue", Kind.ARCHITECTURE),
    ("- [ ] Write the release notes for the next version", Kind.TASK_PROGRESS),
    ("- The staging server is called heron", Kind.FACT),
]


@pytest.mark.parametrize("text, kind", KINDS)
def test_the_words_tell_what_kind_it_is(text: str, kind: Kind) -> None:
    """And where they do not, the heading does."""
    [piece] = pieces(text, name="AGENTS.md")
    assert piece.kind is kind


PERSONAL = "- Always use uv for Python projects"


@pytest.mark.parametrize(
    "text, name, personal",
    [
        (PERSONAL, "CLAUDE.md", True),
        (PERSONAL, "CLAUDE.local.md", False),
        (PERSONAL, "memory/user_tools.md", False),
        (f"---\nname: tools\nmetadata:\n  type: user\n---\n{PERSONAL}", "tools.md", False),
        (f"---\nname: tools\ntype: feedback\n---\n{PERSONAL}", "tools.md", False),
    ],
)
def test_what_a_person_always_wants_is_a_preference(text: str, name: str, personal: bool) -> None:
    """In a file of their own; in a project's file it is a convention."""
    assert [piece.kind for piece in pieces(text, name=name, personal=personal)] == [Kind.PREFERENCE]
    assert [piece.kind for piece in pieces(PERSONAL, name="CLAUDE.md")] == [Kind.PATTERN]


@pytest.mark.parametrize(
    "text, content",
    [
        ("## Git hygiene\n- Never force-push", "Never force-push (Git hygiene)"),
        ("- **NO COLOURS**: Never use colours in style sheets.", "Never use colours in style sheets (NO COLOURS)"),
        ("## Rules\n- Never force-push", "Never force-push"),
        ("> [!WARNING]\n> Do not run this twice.", "Do not run this twice."),
    ],
)
def test_a_prohibition_comes_first(text: str, content: str) -> None:
    """It is shown after "do not", so a heading before it would turn it round."""
    [piece] = pieces(text, name="AGENTS.md")
    assert (piece.kind, piece.content) == (Kind.NEGATIVE, content)


def test_a_numbered_list_of_steps_is_one_procedure() -> None:
    """With its steps apart, code and all; and the words of all of them to be found by."""
    text = (
        "## Releasing\nTo release a version:\n"
        "1. Run the whole suite\n2. Build it:\n   ```sh\n   make dist\n   ```\n3. Push the tag\n"
    )
    [piece] = pieces(text, name="AGENTS.md")
    build = "Build it:\n```sh\nmake dist\n```"
    assert piece.procedure == Procedure(
        name="To release a version", steps=("Run the whole suite", build, "Push the tag")
    )
    assert piece.content == f"To release a version:\n1. Run the whole suite\n2. {build}\n3. Push the tag"


def test_code_between_steps_need_not_be_indented() -> None:
    """People forget to; the steps are the same."""
    [piece] = pieces("1. Install it\n```\nnpm i\n```\n\n2. Run it\n```\nnpm start\n```\n", name="AGENTS.md")
    assert piece.procedure is not None
    assert piece.procedure.steps == ("Install it\n```\nnpm i\n```", "Run it\n```\nnpm start\n```")


def test_a_checklist_is_one_procedure() -> None:
    """Its boxes are to be ticked each time, so they are nothing that is to be done once."""
    [piece] = pieces("## Release checklist\n- [ ] Changelog written\n- [ ] Tag pushed\n", name="AGENTS.md")
    assert piece.procedure == Procedure(name="Release checklist", steps=("Changelog written", "Tag pushed"))


def test_a_numbered_list_that_is_no_order_is_split() -> None:
    """Principles are numbered to be counted, not to be followed one after the other."""
    text = "## Four principles\n1. Privacy comes first in everything\n2. Memory is files on a disk\n"
    assert said(text) == ["Privacy comes first in everything", "Memory is files on a disk"]


def test_headings_say_where_a_piece_belongs() -> None:
    """As its section, in its tags, and before it where it would not make sense alone."""
    text = (
        "# Guide\n## Testing\n### Code Coverage\n- Line rate: 95 %\n- Run the suite in `tests/unit/test_a.py` first\n"
    )
    rate, run = pieces(text, name="AGENTS.md")
    assert (rate.content, run.content) == (
        "Code Coverage: Line rate: 95 %",
        "Run the suite in `tests/unit/test_a.py` first",
    )
    assert rate.section == run.section == "Guide > Testing > Code Coverage"
    assert rate.tags == run.tags == ("code", "coverage", "testing")
    assert (rate.line, run.line) == (4, 5)
    assert (rate.files, run.files) == ((), ("tests/unit/test_a.py",))


@pytest.mark.parametrize(
    "text, content",
    [
        ("## Payment service\n### Status\n- Slow on Mondays", "Payment service: Status: Slow on Mondays"),
        ("## Payment service\n### Notes\n- Slow on Mondays", "Payment service: Slow on Mondays"),
        ("## Payment service\n- It is slow on Mondays, as always", "Payment service: It is slow on Mondays, as always"),
        ("## Payment service\n- The payment service is slow on Mondays", "The payment service is slow on Mondays"),
        ("## 3. ✅ Payment service!\n- Slow on Mondays", "Payment service: Slow on Mondays"),
        ("# AGENTS.md - Payment service\n- Slow on Mondays", "Payment service: Slow on Mondays"),
        ("# CLAUDE.md\n- Slow on Mondays", "Slow on Mondays"),
        ("---\nname: payment-service\n---\n- Slow on Mondays", "payment service: Slow on Mondays"),
    ],
)
def test_a_heading_stands_before_what_needs_it(text: str, content: str) -> None:
    """Once, and not where the words say it already."""
    assert said(text) == [content]


def test_rules_for_some_files_say_so() -> None:
    """As Cursor, Copilot and Claude Code write it; for all files is nothing to say."""
    for key in ("globs", "applyTo", "paths"):
        [piece] = pieces(
            f"---\ndescription: Web rules\n{key}: src/**/*.ts\n---\n- Use named exports only\n", name="a.mdc"
        )
        assert piece.section == "Web rules (src/**/*.ts)"
        [piece] = pieces(f"---\ndescription: Web rules\n{key}: '**'\n---\n- Use named exports only\n", name="a.mdc")
        assert piece.section == "Web rules"


def test_a_topic_file_says_what_it_describes() -> None:
    """Its description is a memory where it is a statement, and no more than a title where it is not."""
    front = "---\nname: push-hangs\ndescription: {}\nmetadata:\n  type: project\n---\n\nBody text is here.\n"
    statement = "The push is stuck because the helper waits for a window."
    assert said(front.format(statement)) == [statement, "push hangs: Body text is here."]
    assert said(front.format("Notes on pushing")) == ["push hangs: Body text is here."]


def test_long_prose_is_cut_between_sentences() -> None:
    """Into groups of about the same length; what follows a label is read under it."""
    prose = [f"The queue number {n} is drained by one worker, which is started with the service." for n in range(12)]
    found = said(f"**Queues.** {' '.join(prose)}\n")
    assert len(found) == 3
    assert all(len(content) <= GROUP + 20 and content.endswith("with the service.") for content in found)
    assert [content.partition(" ")[0] for content in found] == ["Queues.", "Queues:", "Queues:"]


def test_the_same_is_told_once() -> None:
    """However often a file says it."""
    assert said("- Use tabs in Go code always\n- Use  tabs in go code always\n\nUse tabs in Go code always\n") == [
        "Use tabs in Go code always"
    ]


def test_a_lower_limit_is_kept_to() -> None:
    """Nothing is longer than may be stored, and nothing is lost for it."""
    text = f"## Code\n```python\n{chr(10).join(f'value_{number} = {number}' for number in range(300))}\n```\n"
    found = pieces(text, name="AGENTS.md", most=200)
    assert all(len(piece.content) <= 200 for piece in found)
    assert coverage(text, found) == 1.0


def test_coverage_notices_what_is_missing() -> None:
    """By words that stood next to each other, so that other pieces cannot make up for them."""
    text = "- Use tabs in Go code\n- Go code is in the code folder, use it\n"
    both = pieces(text, name="AGENTS.md")
    assert coverage(text, both) == 1.0
    assert coverage(text, both[:1]) == pytest.approx(7 / 14)
    assert coverage(text, ()) == 0.0


WORDS = st.one_of(
    st.integers(0, 10**6).map("word{}".format),
    st.sampled_from("cache queue must never use always not `code` **bold** src/a.py 42 数据库".split()),
)
NAMES = st.integers(0, 10**6).map("named{}".format)
LINES = st.tuples(NAMES, st.lists(WORDS, max_size=11)).map(lambda line: " ".join((line[0], *line[1])))
RULES = st.tuples(st.sampled_from(["Never use", "Do not", "Use", "Run", "It is"]), LINES).map(" ".join)
ITEMS = st.lists(st.tuples(st.integers(0, 3), LINES), min_size=1, max_size=6).map(
    lambda items: "\n".join(f"{'  ' * depth}- {line}" for depth, line in items)
)
PARTS = st.one_of(
    LINES.map(lambda line: f"## {line}"),
    LINES,
    RULES,
    RULES.map(lambda line: f"- {line}"),
    LINES.map(lambda line: f"{line}:"),
    LINES.map(lambda line: f"**{line.replace('*', '')}**"),
    LINES.map(lambda line: f"**Why:** {line}"),
    ITEMS,
    st.lists(LINES, min_size=1, max_size=5).map(lambda lines: "\n".join(f"{n}. {x}" for n, x in enumerate(lines, 1))),
    st.tuples(LINES, LINES).map(lambda cells: f"|a|b|\n|-|-|\n|{cells[0]}|{cells[1]}|"),
    LINES.map(lambda line: f"```bash\n{line}\n```"),
    LINES.map(lambda line: f"> {line}"),
    LINES.map(lambda line: f"- [ ] {line}"),
)
DOCUMENTS = st.lists(PARTS, max_size=10).map("\n\n".join)
ANY_TEXT = st.one_of(DOCUMENTS, st.text(max_size=300), st.text(alphabet="#-*`|>1. \n:abc[]()<!", max_size=300))
LIMITS = Limits()


@given(DOCUMENTS)
def test_no_words_are_lost(text: str) -> None:
    """Whatever is put together of headings, lists, tables, code and prose."""
    assert coverage(text, pieces(text, name="AGENTS.md")) >= 0.9


@given(ANY_TEXT, st.booleans())
def test_every_piece_may_be_stored(text: str, personal: bool) -> None:
    """Of any text at all: it is admitted as it is, short enough, each once, with a place in the file."""
    found = pieces(text, name="AGENTS.md", personal=personal)
    assert len({canonical_text(piece.content) for piece in found}) == len(found)
    for piece in found:
        draft = Draft(content=piece.content, kind=piece.kind, tags=piece.tags, procedure=piece.procedure)
        assert admit(draft, LIMITS).tags == piece.tags
        assert 0 < len(piece.content) <= MOST
        assert 1 <= piece.line <= text.count("\n") + text.count("\r") + 1
        assert len(piece.section) <= 1_000


@given(ANY_TEXT)
def test_a_prohibition_is_never_turned_round(text: str) -> None:
    """Every piece of that kind begins with what forbids."""
    for piece in pieces(text, name="AGENTS.md"):
        if piece.kind is Kind.NEGATIVE:
            assert re.match(r"(?i)(?:do\s+not|don['’]t|never|avoid)\b", piece.content)


@given(DOCUMENTS)
def test_where_a_file_comes_from_does_not_matter(text: str) -> None:
    """With other line endings and a mark of byte order it says the same."""
    assert pieces("\ufeff" + text.replace("\n", "\r\n"), name="a.md") == pieces(text, name="a.md")


@given(DOCUMENTS, DOCUMENTS)
def test_sections_do_not_change_each_other(one: str, other: str) -> None:
    """What a file says under one heading is said whatever stands above it."""
    below = "# Second\n\n" + other
    alone = {piece.content for piece in pieces(below, name="a.md")}
    together = {piece.content for piece in pieces(f"# First\n\n{one}\n\n{below}", name="a.md")}
    assert alone <= together


def test_pieces_are_values() -> None:
    """Equal when they say the same in the same place."""
    assert pieces("Use tabs.", name="a.md") == (
        Piece(content="Use tabs.", kind=Kind.PATTERN, tags=(), section="", line=1, files=()),
    )
