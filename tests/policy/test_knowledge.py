"""What files say: each sort of item from each sort of file, what is left alone, and ids that last."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.policy.knowledge import CONTENT, TITLE, Item, items, unfit, unfit_text


def told(text: str, path: str) -> list[tuple[int, str, str, str]]:
    return [(each.line, each.type.value, each.title, each.content) for each in items(text, path=path)]


def of(kind: str, text: str, path: str) -> list[tuple[int, str]]:
    """The lines and titles of the items of one type."""
    return [(line, title) for line, sort, title, _ in told(text, path) if sort == kind]


# Decisions


@pytest.mark.row("B4", "decisions", "citations")
@pytest.mark.parametrize(
    "path, text, expected",
    [
        (
            "docs/Architecture.md",
            "# API\n\nIt is small.\nWe chose Fastify over Express for better TypeScript\nsupport and performance.\n",
            (4, "Use Fastify over Express for better TypeScript support and performance"),
        ),
        ("a.md", "We decided to keep one file per project, because people sync it.", (1, "Keep one file per project")),
        ("a.md", "After much debate we opted not to cache the answers at all.", (1, "Do not cache the answers at all")),
        (
            "a.md",
            "- Postgres was chosen over MySQL for its row security.",
            (1, "Postgres was chosen over MySQL for its row security"),
        ),
        (
            "a.md",
            "Decision: store every session in one file of its own.",
            (1, "Store every session in one file of its own"),
        ),
        ("a.rs", "// We settled on tokio because everything else uses it.\n", (1, "Use tokio")),
    ],
)
def test_what_was_decided(path: str, text: str, expected: tuple[int, str]) -> None:
    """Sentences that say so, in documents and in comments."""
    assert of("decision", text, path) == [expected]


RECORD = (
    "# 2. Use Fastify for API\n\nDate: 2026-02-05\n\n## Status\n\n{status}\n\n## Context\n\nWe need a server.\n\n"
    "## Decision\n\nWe chose Fastify over Express\nfor better types.\n\n## Consequences\n\nWe decided to drop it.\n"
)


@pytest.mark.row("B4", "decisions")
def test_a_decision_record_is_one_decision() -> None:
    """Under its title, with the words of its decision; what else it weighs is no decision of its own."""
    text = RECORD.format(status="Accepted")
    [(line, _, title, content)] = [each for each in told(text, "docs/adr/0002-fastify.md") if each[1] == "decision"]
    assert (line, title, content) == (15, "Use Fastify for API", "We chose Fastify over Express for better types.")
    front = "---\nstatus: accepted\n---\n# Use Postgres\n\n## Decision Outcome\n\nChosen option: Postgres, as is.\n"
    assert of("decision", front, "docs/decisions/0001-postgres.md") == [(8, "Use Postgres")]


@pytest.mark.parametrize("status", ["Rejected", "Superseded by 3", "Proposed", "Deprecated"])
def test_a_record_that_does_not_hold_says_nothing(status: str) -> None:
    """What was rejected, replaced or not agreed on yet."""
    assert told(RECORD.format(status=status), "docs/adr/0002-fastify.md") == []


@pytest.mark.parametrize(
    "sentence",
    [
        "If we chose Fastify over Express, the types would be better.",
        "We might have decided to keep it.",
        "Why did they choose Fastify over Express for this?",
        "We chose",
    ],
)
def test_what_is_weighed_is_not_decided(sentence: str) -> None:
    """Conditions, questions and fragments."""
    assert of("decision", sentence, "a.md") == []


# Tasks


@pytest.mark.row("B4", "tasks", "citations")
@pytest.mark.parametrize(
    "path, text, expected",
    [
        (
            "a.py",
            'x = "# TODO: not this"\ny = 1  # TODO(ada): use a set here\n',
            (2, "use a set here", "TODO(ada): use a set here"),
        ),
        (
            "a.go",
            "// FIXME: close the file\n// when reading fails\nfunc f() {}\n",
            (1, "close the file when reading fails", "FIXME: close the file when reading fails"),
        ),
        (
            "a.ts",
            "/* HACK: works around the driver */",
            (1, "works around the driver", "HACK: works around the driver"),
        ),
        (
            "a.sh",
            "#!/bin/sh\n# XXX handle spaces in names\n",
            (2, "handle spaces in names", "XXX handle spaces in names"),
        ),
        ("a.sql", "SELECT 1; -- TODO: add an index\n", (1, "add an index", "TODO: add an index")),
        (
            "a.yaml",
            "a: 'it # TODO: not this'\n# TODO: pin the version\n",
            (2, "pin the version", "TODO: pin the version"),
        ),
        (
            "A.java",
            "/**\n * Reads pages.\n * @param x the x\n * @todo close it in time\n */\nclass A {}\n",
            (4, "close it in time", "@todo close it in time"),
        ),
        (
            "a.md",
            "# Plan\n\n- [x] first of all\n- [ ] write the second\n  part of it\n",
            (4, "write the second part of it", "write the second part of it"),
        ),
        ("a.md", "TODO: say how it is installed\n", (1, "say how it is installed", "TODO: say how it is installed")),
        ("a.rst", ".. todo:: say how it is installed\n", (1, "say how it is installed", "say how it is installed")),
    ],
)
def test_what_is_to_be_done(path: str, text: str, expected: tuple[int, str, str]) -> None:
    """Markers with their owner in comments, open boxes in documents; never what stands in a string."""
    assert [(line, title, content) for line, sort, title, content in told(text, path) if sort == "task"] == [expected]


@pytest.mark.parametrize(
    "path, text",
    [
        ("a.py", "# the TODO list is elsewhere\n"),
        ("a.py", "# TODOS are collected by a tool\n"),
        ("a.md", "The word TODO marks what is open.\n"),
        ("a.md", "```\n- [ ] an example\n# TODO: of an example\n```\n"),
        ("a.md", "<!--\n- [ ] hidden from readers\n-->\n"),
        (".github/pull_request_template.md", "- [ ] I have written tests\n"),
    ],
)
def test_what_only_mentions_a_task_is_none(path: str, text: str) -> None:
    """Markers in the middle of a sentence, examples, templates."""
    assert of("task", text, path) == []


# Notes


@pytest.mark.row("B4", "notes", "citations")
@pytest.mark.parametrize(
    "path, text, line",
    [
        ("a.md", "> [!WARNING]\n> Never share the key\n> with anybody.\n", 2),
        ("a.md", "> **Warning:** Never share the key with anybody.\n", 1),
        ("a.md", "**Warning:** Never share the key\nwith anybody.\n", 1),
        ("a.md", '!!! warning "Keys"\n    Never share the key with anybody.\n', 2),
        ("a.md", ":::warning\nNever share the key with anybody.\n:::\n", 2),
        ("a.rst", ".. warning::\n\n   Never share the key\n   with anybody.\n", 3),
        ("a.rst", ".. warning:: Never share the key with anybody.\n", 1),
        ("a.adoc", "WARNING: Never share the key with anybody.\n", 1),
        ("a.adoc", "[WARNING]\n====\nNever share the key with anybody.\n====\n", 3),
        ("a.py", "# WARNING: Never share the key with anybody.\n", 1),
        ("a.toml", "a = 1\n# Warning: Never share the key with anybody.\n", 2),
    ],
)
def test_what_is_to_be_noted(path: str, text: str, line: int) -> None:
    """Callouts in every form that documents have for them, and markers in comments."""
    [item] = items(text, path=path)
    assert (item.line, item.type, item.title) == (line, "note", "Never share the key with anybody")
    assert item.content.upper().startswith("WARNING: NEVER")


def test_what_somebody_else_said_is_not_noted() -> None:
    """A quotation is no callout."""
    assert told("> We chose Fastify over Express, and it must always be so.\n", "a.md") == []


# Entities


@pytest.mark.row("B4", "entities", "citations")
@pytest.mark.parametrize(
    "path, text, expected",
    [
        ("a.md", "# Recollect\n\nRecollect is a memory for agents that lasts.\n", (3, "Recollect")),
        ("a.md", "A **space** is a store isolated from every other.\n", (1, "space")),
        ("a.md", "## Glossary\n\n- **scope** — where a memory applies\n", (3, "scope")),
        ("a.md", "## Names\n\n| term | meaning |\n|---|---|\n| `scope` | where a memory applies |\n", (5, "scope")),
        ("a.md", "Scope\n: where a memory applies\n", (2, "Scope")),
        ("a.adoc", "scope:: where a memory applies\n", (1, "scope")),
        ("a.py", 'class Walk:\n    """A walk over links. It ends."""\n', (2, "Walk")),
        ("a.go", "// Walk goes over the links.\ntype Walk struct{}\n", (1, "Walk")),
        ("a.rs", "/// A walk over links.\n#[derive(Debug)]\npub struct Walk<'a> {}\n", (1, "Walk")),
        ("a.ts", "/** A walk over links. */\nexport interface Walk {}\n", (1, "Walk")),
        ("A.java", "/**\n * A walk over links.\n */\n@Singleton\npublic class Walk {}\n", (2, "Walk")),
        ("a.rb", "# A walk over links.\nclass Walk\nend\n", (1, "Walk")),
        ("a.cpp", "/// A walk over links.\nclass Walk {};\n", (1, "Walk")),
    ],
)
def test_what_things_are(path: str, text: str, expected: tuple[int, str]) -> None:
    """Definitions in documents, glossaries, and public types with the first sentence of their documentation."""
    assert of("entity", text, path) == [expected]


@pytest.mark.parametrize(
    "path, text",
    [
        ("a.md", "It is a memory for agents that lasts.\n"),
        ("a.md", "The reason is a bug of the driver.\n"),
        ("a.md", "What matters is the order of things.\n"),
        ("a.md", "- **scope** — a list that is no glossary\n"),
        ("a.md", "## Definitions\n\n| call | does |\n|---|---|\n| `scope()` | says where a memory applies |\n"),
        ("a.py", 'class _Walk:\n    """A walk over links."""\n'),
        ("a.py", 'class Walk:\n    """Nothing much."""\n'),
        ("a.go", "// walk goes over the links.\ntype walk struct{}\n"),
        ("a.rs", "/// A walk over links.\nstruct Walk {}\n"),
        ("tests/test_a.py", 'class Walk:\n    """A walk over links."""\n'),
        ("a.py", 'class Walk:\n    x = """A text of some length."""\n'),
    ],
)
def test_what_defines_nothing_is_no_entity(path: str, text: str) -> None:
    """Pronouns, reasons, what is private, and what only tests have."""
    assert of("entity", text, path) == []


# Claims


@pytest.mark.row("B4", "claims", "citations")
@pytest.mark.parametrize(
    "path, text, expected",
    [
        (
            "a.md",
            "Hello.\nThe server supports up to 500 connections.\n",
            (2, "The server supports up to 500 connections"),
        ),
        ("a.md", "- Never commit a generated file\n", (1, "Never commit a generated file")),
        ("a.md", "## Python\n\n- Requires version 3.11 or newer\n", (3, "Python: Requires version 3.11 or newer")),
        ("a.md", "Tokens expire after 15 minutes.\n", (1, "Tokens expire after 15 minutes")),
        (
            "a.md",
            "Readers never import `engine/__init__.py` again.\n",
            (1, "Readers never import `engine/__init__.py` again"),
        ),
        (
            "a.py",
            'def f() -> None:\n    """Write it.\n\n    The lock must be held by then.\n    """\n',
            (4, "f: The lock must be held by then"),
        ),
        (
            "a.go",
            "// The lock must be held by every writer.\nfunc f() {}\n",
            (1, "The lock must be held by every writer"),
        ),
    ],
)
def test_what_holds(path: str, text: str, expected: tuple[int, str]) -> None:
    """Whole sentences that oblige, offer or limit; what documents a symbol under its name."""
    assert of("claim", text, path) == [expected]


@pytest.mark.parametrize(
    "path, text",
    [
        ("a.md", "It must always be done like this.\n"),
        ("a.md", "Must the server always run with it?\n"),
        ("a.md", "You can always ask somebody about that.\n"),
        ("a.md", "The value that must never change is here.\n"),
        ("a.md", "    The server must never be stopped.\n"),
        ("CHANGELOG.md", "The server now supports 500 connections.\n"),
        ("tests/a.md", "The server must never be stopped.\n"),
        ("LICENSE", "The software must never be sold.\n"),
        ("a.py", 'def f() -> None:\n    """What must always be there."""\n'),
        ("a.py", 'def f() -> None:\n    """Write.\n\n    Args:\n        x: The size must be even.\n    """\n'),
        ("a.py", "# This must be the first thing here.\n"),
        ("a.c", "// Copyright 2026.\n// The software must never be sold.\n"),
        ("a.zzz", "The server must never be stopped.\n"),
    ],
)
def test_what_leans_on_its_place_is_no_claim(path: str, text: str) -> None:
    """Pronouns, questions, relative clauses, code, what was true once, and what lawyers wrote."""
    assert of("claim", text, path) == []


# Shape


def test_each_is_there_once_and_keeps_its_id() -> None:
    """An id depends on file, type and content alone, not on where in the file it stands."""
    text = "# TODO: use a set here\n# TODO: name it better\n"
    first = {each.title: each.id for each in items(text, path="a.py")}
    moved = {each.title: each.id for each in items(f"import os\n\n{text}\n{text}", path="a.py")}
    assert first == moved
    assert set(first) == {"use a set here", "name it better"}
    assert all(re.fullmatch(r"item_[0-9a-f]{12}", each) for each in first.values())
    assert not set(first.values()) & {each.id for each in items(text, path="b.py")}


def test_what_is_long_is_cut_at_a_word() -> None:
    """Titles and contents fit, and say that something follows."""
    [item] = items("# TODO: " + "wonderful " * 200, path="a.py")
    assert len(item.title) <= TITLE
    assert len(item.content) <= CONTENT
    assert item.title.endswith("wonderful…")
    assert item.content.endswith("wonderful…")


def test_markup_is_taken_off() -> None:
    """Links, emphasis and roles; what is set as code stays."""
    text = "The **server** supports [up to 500](http://x/y) *connections* of `a_b_c` always.\n"
    [item] = items(text, path="a.md")
    assert item.content == "The server supports up to 500 connections of `a_b_c` always."


def test_sentences_know_their_line() -> None:
    """Also in the middle of a paragraph, and after an abbreviation."""
    text = (
        "Some readers wait, e.g. Those of old.\nThe rest is fast. Writers must\nalways queue up."
        " Tokens expire after 15 minutes.\n"
    )
    assert of("claim", text, "a.md") == [(2, "Writers must always queue up"), (3, "Tokens expire after 15 minutes")]


def checked(found: tuple[Item, ...], lines: int) -> None:
    assert list(found) == sorted(found, key=lambda item: (item.line, item.id))
    assert len({item.id for item in found}) == len(found)
    for item in found:
        assert 1 <= item.line <= lines
        assert 0 < len(item.title) <= TITLE
        assert 0 < len(item.content) <= CONTENT
        assert 0 < item.confidence <= 1


PIECES = st.sampled_from(
    [
        *(
            "# TODO: do it now",
            "- [ ] open box here",
            "> [!NOTE]",
            "> Never do this to it.",
            "!!! note",
            "    body of it now",
        ),
        *(
            ":::note",
            ":::",
            ".. note::",
            "[NOTE]",
            "====",
            "| a | b |",
            "|---|---|",
            "## Glossary",
            "- **a** — b c d",
            ": def of it",
        ),
        *(
            "class A:",
            '    """A thing of use."""',
            "/**",
            " * Must always hold.",
            " */",
            "type A struct{",
            "// NOTE: a b c d e",
        ),
        *(
            "We chose a over b for c.",
            "A is a thing of some use.",
            "It must never be so at all.",
            "",
            "",
            "```",
            "---",
            "x::",
            "- ",
            "<!--",
            "-->",
        ),
        *("Status: accepted", "## Decision", "# ADR 1: Use it"),
    ]
)
PATHS = st.sampled_from(
    "a.md a.rst a.adoc a.txt a.py a.go a.rs a.ts a.rb a.sql a.sh a.toml docs/adr/1.md README a.zzz".split()
)


@given(lines=st.lists(PIECES, max_size=40), path=PATHS)
def test_whatever_the_structure_items_are_well_formed(lines: list[str], path: str) -> None:
    """Sizes, lines, order and ids hold for any arrangement."""
    checked(items("\n".join(lines), path=path), max(1, len(lines)))


@given(text=st.text(max_size=300), path=PATHS)
def test_any_text_can_be_read(text: str, path: str) -> None:
    """Whatever characters it holds."""
    checked(items(text, path=path), text.count("\n") + text.count("\r") + 1)


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "`",
        "*",
        "**a",
        "_a ",
        "<a",
        "Must be. ",
        "/* ",
        "# TODO: a\n",
        "> a\n",
        "| a |\n",
        "is a b ",
        "(",
        "!!! note\n",
    ],
)
@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.md", "a.rst"])
def test_hostile_text_costs_no_more_than_its_length(piece: str, path: str) -> None:
    """Nothing that repeats is looked at again and again."""
    begun = time.process_time()
    items(piece * (300_000 // len(piece)), path=path)
    assert time.process_time() - begun < 5


# Files that are not read


@pytest.mark.row("J26", "ignored-files")
@pytest.mark.parametrize(
    "path",
    [
        *(
            ".env",
            ".env.local",
            "app/.env.example",
            "prod.env",
            ".envrc",
            "server.pem",
            "a/id_rsa",
            "id_ed25519.pub",
            "x.key",
        ),
        *(".npmrc", ".netrc", "credentials.json", "config/secrets.yaml", "db_password.txt", "app-secrets.prod.toml"),
        *(
            "infra/main.tfstate",
            "prod.tfvars",
            ".aws/config",
            ".ssh/config",
            "secrets/readme.md",
            "service-account.json",
        ),
    ],
)
def test_files_that_may_hold_secrets_are_never_read(path: str) -> None:
    """By their name, whatever is in them."""
    assert unfit(path) == "may hold secrets"


@pytest.mark.parametrize(
    "path, why",
    [
        ("poetry.lock", "is a lock file"),
        ("web/package-lock.json", "is a lock file"),
        ("pnpm-lock.yaml", "is a lock file"),
        ("go.sum", "is a lock file"),
        ("vendor/a/b.go", "is not this project's own"),
        ("web/node_modules/a/index.js", "is not this project's own"),
        ("dist/app.js", "is made by a program"),
        ("app.min.js", "is made by a program"),
        ("api_pb2.py", "is made by a program"),
        ("data.csv", "is data"),
        ("logo.PNG", "is data"),
    ],
)
def test_files_that_nobody_wrote_are_not_read(path: str, why: str) -> None:
    """With the reason."""
    assert unfit(path) == why


@pytest.mark.parametrize(
    "path",
    [
        "src/secrets.py",
        "docs/secrets.md",
        "credentials.go",
        "environment.md",
        "keyboard.ts",
        "lock.py",
        "src/vendors.py",
        "README",
        "tokens.md",
    ],
)
def test_files_with_names_that_only_sound_like_it_are_read(path: str) -> None:
    """Code and documents about secrets hold none."""
    assert unfit(path) == ""


@pytest.mark.parametrize(
    "path, text, why",
    [
        ("a.go", "// Code generated by protoc. DO NOT EDIT.\n", "is made by a program"),
        ("a.py", "# @generated by a tool\n", "is made by a program"),
        ("a.md", "<!-- Made by a script, do not edit. -->\n# A\n", "is made by a program"),
        ("a.js", "x" * 6_000, "has lines that nobody wrote"),
        ("a.json", '{\n"a": 1\n}\n' * 8_000, "is data"),
        ("a.md", "# How to edit\n\nDo not edit generated files.\n", ""),
        ("a.md", "x" * 6_000, ""),
        ("a.py", "x = 1\n", ""),
    ],
)
def test_texts_that_nobody_wrote_are_not_read_on(path: str, text: str, why: str) -> None:
    """What says so of itself, and what has lines no person writes."""
    assert unfit_text(text, path=path) == why
