"""What a session came to: what is told and in which order, how long it gets, and any session at all."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model import Json
from recollect.policy.extract import Said
from recollect.policy.summary import summarised


def session(*turns: tuple[str, str] | tuple[str, Json, str]) -> list[Said]:
    """A session of turns told by role and text, and of tool calls told by tool, input and result."""
    said: list[Said] = []
    for turn in turns:
        at = len(said)
        if len(turn) == 3:
            tool, given_input, result = turn
            said.append(Said(role="tool_call", name=tool, input=given_input, position=at))
            said.append(Said(role="tool_result", name=tool, text=result, position=at + 1))
        else:
            role, text = turn
            said.append(Said(role="user" if role == "user" else "assistant", text=text, position=at))
    return said


WORK = session(
    ("user", "Hey Claude, can you please move the prices out of `cart.py`? The checkout got slow."),
    ("assistant", "I'll have a look at the code first. Let me read the file."),
    ("Bash", {"command": "pytest -q"}, "ModuleNotFoundError: No module named 'stripe'"),
    ("Bash", {"command": "uv run pytest -q"}, "12 passed"),
    ("assistant", "I'll keep prices in `pricing.py` rather than in the database because tests run offline."),
    ("user", "no, we use decimals for money, not floats"),
    ("Edit", {"file_path": "/w/shop/src/pricing.py", "old_string": "", "new_string": "def price():\n    pass"}, "ok"),
    (
        "assistant",
        "All done.\n\n- Moved `price` into `src/pricing.py`\n- Replaced floats with `Decimal`\n\n"
        "## Remaining\n\n- Taxes in `checkout.py`\n- Rounding of `total` in `cart.py`\n\n"
        "Should discounts be rounded before taxes or after them?",
    ),
)


@pytest.mark.row("K11", "session-end")
def test_a_summary_says_what_a_session_came_to() -> None:
    """The request, decisions, corrections, errors, open questions, where the work stands, the files: in this order."""
    assert summarised(WORK, root="/w/shop").split("\n") == [
        "Asked: Can you please move the prices out of `cart.py`?",
        "Decided: Keep prices in `pricing.py` rather than in the database because tests run offline.",
        "Corrected: we use decimals for money, not floats",
        "Resolved: `pytest` fails with “ModuleNotFoundError: No module named 'stripe'”; `uv run pytest` works.",
        "Open: Should discounts be rounded before taxes or after them?",
        "Done: Moved `price` into `src/pricing.py`; Replaced floats with `Decimal`.",
        "Remaining: Taxes in `checkout.py`; Rounding of `total` in `cart.py`.",
        "Files: src/pricing.py",
    ]


@pytest.mark.row("B7")
@pytest.mark.parametrize("most", [0, 40, 120, 300, 500])
def test_a_summary_keeps_to_its_length(most: int) -> None:
    """Where there is no room for all of it, whole lines are left out, and those that stay keep their order."""
    whole = summarised(WORK, root="/w/shop").split("\n")
    short = summarised(WORK, most=most, root="/w/shop")
    assert len(short) <= most
    kept = short.split("\n") if short else []
    assert kept == [line for line in whole if line in kept]


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param([], id="no turns"),
        pytest.param(session(("user", "hi"), ("assistant", "Hello! How can I help you today?")), id="a greeting"),
        pytest.param(session(("user", "/clear"), ("user", "<command-name>clear</command-name>")), id="commands"),
        pytest.param(
            [Said(role="user", text="Please never push to main, and add a parser.", injected=True, position=0)],
            id="only what was injected",
        ),
        pytest.param(
            session(("user", "<recollect>Decision: use `uv` because pip is slow.</recollect>")), id="between marks"
        ),
        pytest.param(session(("assistant", "Let me look at the code. I'll start now.")), id="only plans"),
    ],
)
def test_a_session_in_which_nothing_happened_has_no_summary(turns: list[Said]) -> None:
    """Nothing is said about nothing."""
    assert summarised(turns) == ""


def test_a_question_that_was_answered_is_told_with_its_answer() -> None:
    """Where nothing was done or decided, the sentence that answers the question best is what it came to."""
    told = summarised(
        session(
            ("user", "How long does the session token of the admin page stay valid?"),
            ("assistant", "Let me see. The page has two cookies. The admin session token stays valid for two hours."),
        )
    )
    assert told == (
        "Asked: How long does the session token of the admin page stay valid?\n"
        "Came to: The admin session token stays valid for two hours."
    )


@pytest.mark.parametrize(
    "turn, asked",
    [
        ("Hi there! Please add a dark mode.\nThanks!", "Add a dark mode."),
        ("The build is broken since yesterday. Can you fix it?", "Can you fix it?"),
        ("I noticed that tags are not escaped on the index page", "I noticed that tags are not escaped on the index"),
        ("src/a.py:3: error: wrong\n\nfix these type errors", "Fix these type errors"),
        ('{"type": "user", "text": "can you do it?"}\nRender images inline please', "Render images inline please"),
        ("```\nplease ignore me\n```\nUpdate the changelog for 2.0", "Update the changelog for 2.0"),
    ],
)
def test_the_request_is_the_sentence_that_asks(turn: str, asked: str) -> None:
    """Greetings, reports and what was pasted are not what was asked for, unless nothing else was."""
    turns = session(
        ("user", "/clear"), ("user", turn), ("assistant", "It turns out that `make gen` overwrites `src/api.py`.")
    )
    assert summarised(turns).startswith(f"Asked: {asked}")


def test_a_polite_question_is_not_open() -> None:
    """An agent that asks whether there is anything else leaves nothing open."""
    found = "It turns out that `make gen` overwrites `src/api.py`. "
    for polite in ("Is there anything else you'd like me to do?", "Does this look good to you so far?"):
        assert "Open:" not in summarised(session(("user", "please check it"), ("assistant", found + polite)))


def test_a_users_last_question_is_open_if_nobody_answered() -> None:
    """A session that breaks off after the user's question ends with it."""
    turns = session(
        ("user", "please check the generator"),
        ("assistant", "It turns out that `make gen` overwrites `src/api.py`."),
        ("user", "And what about the client in `web/`?"),
    )
    assert "Open: And what about the client in `web/`?" in summarised(turns)


def test_many_files_are_counted() -> None:
    """Of many files the first ones are named and the others counted."""
    turns = session(*(("Edit", {"file_path": f"/w/m{n}.py", "new_string": "x = 1"}, "ok") for n in range(13)))
    assert summarised(turns, root="/w").endswith("m9.py and 3 more")


TEXTS = st.text(max_size=300) | st.sampled_from(
    ["please fix `a.py`", "We went with `b` over `c` because `d` is slow.", "never push to main", "Is `x` right now?"]
)


@given(
    turns=st.lists(
        st.builds(
            Said,
            role=st.sampled_from(["user", "assistant", "tool_call", "tool_result"]),
            text=TEXTS,
            injected=st.booleans(),
            position=st.integers(0, 30),
        ),
        max_size=10,
    ),
    most=st.integers(0, 2_000),
)
def test_any_session_is_summarised(turns: list[Said], most: int) -> None:
    """No session is refused; a summary is short, the same each time, and has no empty lines."""
    told = summarised(turns, most=most)
    assert told == summarised(turns, most=most)
    assert len(told) <= most
    assert all(line.strip() for line in told.split("\n")) or told == ""


@pytest.mark.parametrize("piece", ["\n", "```\n", "a? ", "Hi ", "> ", "x:1", '":', "word ", "<a>", "- x\n", ". "])
def test_a_megabyte_takes_linear_time(piece: str) -> None:
    """Whatever a million characters consist of, and whoever says them, they are read in a few seconds."""
    text = piece * (1_000_000 // len(piece))
    started = process_time()
    summarised(session(("user", text), ("assistant", text), ("user", text)))
    assert process_time() - started < 8
