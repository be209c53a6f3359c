"""What a session leaves worth keeping, and what it came to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import Kind
from recollect.policy.deeds import Said
from recollect.policy.extract import findings
from recollect.policy.summary import summarised

LEAK = (
    "The root cause is that `pool.acquire()` in src/db/pool.py never releases the connection when the query times out."
)
CHOICE = "I'll use SQLite instead of PostgreSQL because the CLI must run without a server."
CUSTOM = "The codebase uses `Result` types for all service functions in src/services instead of exceptions."
PITFALL = "Note that `make migrate` will break if the database is not running."


def user(text: str, position: int = 1, *, injected: bool = False) -> Said:
    return Said(role="user", text=text, position=position, injected=injected)


def agent(text: str, position: int = 2, *, injected: bool = False) -> Said:
    return Said(role="assistant", text=text, position=position, injected=injected)


@pytest.mark.row("P2", "length")
@pytest.mark.parametrize(
    "text, kind", [(LEAK, Kind.DISCOVERY), (CHOICE, Kind.DECISION), (CUSTOM, Kind.PATTERN), (PITFALL, Kind.WARNING)]
)
def test_what_an_agent_says_about_the_code_is_found(text: str, kind: Kind) -> None:
    """Each in its category, tied to the message, at most 500 characters."""
    [found] = findings([user("Please have a look at it."), agent(text)])
    assert (found.kind, found.message, found.stated) == (kind, 2, False)
    assert 0 < len(found.content) <= 500


@pytest.mark.parametrize(
    "text",
    [
        "I will now look at the tests.",
        "Sure! Let me know if you need anything else.",
        f"```\n{LEAK}\n```",
        f"> {LEAK}",
        "# Plan",
        "",
    ],
)
def test_plans_chatter_code_and_quotes_are_no_findings(text: str) -> None:
    """In doubt nothing is found."""
    assert findings([user("Please have a look at it."), agent(text)]) == ()


def test_what_the_user_states_counts_as_the_users_word() -> None:
    """And what is asked for once does not."""
    [found] = findings([user("No, we use pnpm here, not npm. Now fix the build.")])
    assert (found.kind, found.stated, found.message) == (Kind.CORRECTION, True, 1)


@pytest.mark.row("X6")
def test_what_recollect_injected_is_never_found_again() -> None:
    """Neither as a turn of its own nor inside one; nor when the agent repeats it."""
    assert findings([user("Fix it."), agent(LEAK, injected=True)]) == ()
    marked = f"<project_memory>\n{LEAK}\n</project_memory>\nFix it."
    assert findings([user(marked)]) == ()
    assert findings([agent(CUSTOM, 1, injected=True), user("Go on.", 2), agent(CUSTOM, 3)]) == ()


@pytest.mark.row("K11", "session-end")
def test_a_summary_tells_what_was_asked_settled_and_learned() -> None:
    """Not simply the first sentences."""
    told = summarised(
        [user("Hello there. Fix the flaky upload test."), agent(LEAK), user("No, we use pnpm here, not npm.", 3)]
    )
    assert "upload test" in told
    assert "we use pnpm here" in told
    assert "pool.acquire()" in told
    assert len(told) <= 1_200


def test_a_session_in_which_nothing_happened_comes_to_nothing() -> None:
    """No summary is better than an empty one."""
    assert summarised([]) == ""


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool_result"]), st.text()), max_size=6))
def test_no_text_is_too_odd(turns: list[tuple[str, str]]) -> None:
    """Whatever was said, something or nothing comes of it, and nothing fails."""
    said = [Said(role=role, text=text, position=at) for at, (role, text) in enumerate(turns, 1)]  # type: ignore[arg-type]
    assert all(len(found.content) <= 500 for found in findings(said))
    assert len(summarised(said)) <= 1_200
