"""Everyday requests and the rules that they are an occasion for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import Kind, Memory, MemoryId, Uid
from recollect.policy.occasions import OCCASIONS, RULES, governing, occasions

NOW = datetime(2026, 1, 1, tzinfo=UTC)
INSTALL, TESTS, FORMAT, COMMIT = (each.name for each in OCCASIONS)


def rule(content: str, kind: Kind = Kind.CORRECTION, number: int = 1) -> Memory:
    return Memory(
        id=MemoryId(number), uid=Uid(f"m{number}"), content=content, kind=kind, created_at=NOW, updated_at=NOW
    )


ASKED = [
    ("install the dependencies", INSTALL),
    ("Install all the missing packages please", INSTALL),
    ("can you add a new dependency?", INSTALL),
    ("update deps", INSTALL),
    ("run the tests", TESTS),
    ("please rerun the full test suite", TESTS),
    ("check that the tests still pass", TESTS),
    ("format the code", FORMAT),
    ("run the linter", FORMAT),
    ("lint this", FORMAT),
    ("commit this", COMMIT),
    ("write a commit message", COMMIT),
    ("git commit the changes", COMMIT),
]


@pytest.mark.parametrize(("prompt", "name"), ASKED)
def test_an_everyday_request_is_an_occasion(prompt: str, name: str) -> None:
    assert [each.name for each in occasions(prompt)] == [name]


@pytest.mark.parametrize(
    "prompt",
    [
        *("", "what is 2 + 2", "thanks", "explain dependency injection", "the dependencies are a mess", "test"),
        *("why do the tests of the billing worker fail on Windows?", "what does this commit do?", "format a date"),
        "install the dependencies, then migrate the billing database to Postgres and restart the gateway",
        "install the dependencies " + "please " * 40,
    ],
)
def test_what_asks_for_more_or_for_something_else_is_none(prompt: str) -> None:
    """Of anything else the words tell more."""
    assert occasions(prompt) == ()


GOVERNED = [
    ("No, use pnpm, never npm", INSTALL),
    ("We use uv, not pip", INSTALL),
    ("Always run pytest with -q", TESTS),
    ("Format with ruff, not Black", FORMAT),
    ("Commits are signed off", COMMIT),
    ("Use conventional-commits", COMMIT),
]


@pytest.mark.parametrize(("content", "name"), GOVERNED)
def test_a_rule_is_about_one_activity(content: str, name: str) -> None:
    memory = rule(content)
    assert [each.name for each in OCCASIONS if each.governs(memory)] == [name]
    assert [(found, each.name) for found, each in governing([memory], OCCASIONS)] == [(memory, name)]


@pytest.mark.parametrize(
    "content",
    [
        "The unicorn is called Yarnold",
        "pipx is fine",
        "a.pip",
        "word " * 80 + "use pnpm",
        "",
        "committee",
    ],
)
def test_what_names_no_tool_early_on_is_no_rule_about_it(content: str) -> None:
    assert not list(governing([rule(content)], OCCASIONS))


@pytest.mark.parametrize("kind", list(Kind))
def test_only_kinds_that_say_how_something_is_done_are_rules(kind: Kind) -> None:
    """A fact or a log line that names a tool is not."""
    assert bool(list(governing([rule("use pnpm", kind)], OCCASIONS))) == (kind in RULES)


@given(prompt=st.text(max_size=300), content=st.text(max_size=300))
def test_it_never_raises(prompt: str, content: str) -> None:
    asked = occasions(prompt)
    assert {memory.content for memory, _ in governing([rule(content)], asked)} <= {content}


@given(prompt=st.sampled_from([prompt for prompt, _ in ASKED]), before=st.sampled_from(["", "please ", "hey, ", "ok "]))
def test_politeness_makes_no_difference(prompt: str, before: str) -> None:
    assert occasions(before + prompt) == occasions(prompt)


@given(st.sets(st.sampled_from(OCCASIONS)), st.lists(st.sampled_from([content for content, _ in GOVERNED]), max_size=6))
def test_more_occasions_never_govern_less(asked: set[object], contents: list[str]) -> None:
    memories = [rule(content, number=n) for n, content in enumerate(contents)]
    some = [each for each in OCCASIONS if each in asked]
    found = {memory.id for memory, _ in governing(memories, some)}
    assert found <= {memory.id for memory, _ in governing(memories, OCCASIONS)}
    assert len(list(governing(memories, some))) == len(found)
