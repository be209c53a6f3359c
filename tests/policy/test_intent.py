"""What somebody wants right now: from prompts of every sort, quickly, and never with an exception."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.policy.intent import BACK, PROSE, QUOTED, intent, own_words_of

PROPOSAL = "I looked around. Shall I move the session cache to Redis?"

SMALL_TALK = [
    *("thanks!", "thank you so much", "hi", "hello there", "good morning", "great, thanks", "ok", "yes", "no", "sure"),
    *("lgtm", "perfect", "nice work", "cool", "go ahead", "continue", "please continue", "what is 2 + 2", "2 + 2 = ?"),
    *(
        "looks good to me",
        "sounds good",
        "do it",
        "wait",
        "hmm",
        "wow",
        "bye",
        "good night",
        "try again",
        "1",
        "",
        "  ",
    ),
    *("?", "!!!", "👍", "who are you?", "how are you today?", "tell me a joke", "42", "3.14"),
]


@pytest.mark.parametrize("prompt", SMALL_TALK)
def test_small_talk_is_idle(prompt: str) -> None:
    """There is nothing to look for, with or without something pleasant before it."""
    assert intent(prompt).idle
    assert intent(prompt, previous="You are welcome!").idle


ABOUT_SOMETHING = [
    *("install the dependencies", "run the tests", "which port does the gateway use?", "fix the parser"),
    *("rename UserStore", "why does CI fail?", "deploy", "thanks, now fix the login page", "add a retry to fetch()"),
]


@pytest.mark.parametrize("prompt", ABOUT_SOMETHING)
@pytest.mark.parametrize("previous", ["", PROPOSAL])
def test_what_is_about_something_is_looked_for_by_itself(prompt: str, previous: str) -> None:
    found = intent(prompt, previous=previous)
    assert found.query == prompt
    assert not found.points_back


POINTING_BACK = [
    *("yes", "yes, do that", "ok", "go ahead", "do it", "sure, please", "sounds good, ship it", "no, not that one"),
    *("the second one", "both", "try again", "continue", "let's do it", "that one", "a", "2"),
]


@pytest.mark.parametrize("prompt", POINTING_BACK)
def test_a_prompt_that_says_nothing_points_back(prompt: str) -> None:
    """What it answers is looked for with it; without anything before it there is nothing to look for."""
    found = intent(prompt, previous=PROPOSAL)
    assert found.points_back
    assert "session cache to Redis" in found.query
    assert intent(prompt).idle


@pytest.mark.parametrize("prompt", ["thanks", "thank you, that is all", "bye", "good night", "hello", "hi again"])
def test_a_parting_word_does_not_point_back(prompt: str) -> None:
    found = intent(prompt, previous=PROPOSAL)
    assert found.idle
    assert not found.points_back


@pytest.mark.parametrize("prompt", ["do the same for Postgres", "use that for sqlite", "no, both in Postgres please"])
def test_a_prompt_of_few_words_that_points_is_looked_for_together_with_what_it_points_at(prompt: str) -> None:
    found = intent(prompt, previous=PROPOSAL)
    assert found.points_back
    assert prompt in found.query
    assert "Redis" in found.query


def test_only_the_end_of_the_turn_before_counts() -> None:
    """That is where it asks and proposes; what it quotes does not count."""
    long = "The start is about penguins. " + "Filler words go here. " * 200 + "\n```\nsecret_code()\n```\n" + PROPOSAL
    found = intent("yes", previous=long)
    assert "Redis" in found.query
    assert "penguins" not in found.query
    assert "secret_code" not in found.query
    assert len(found.query) <= BACK + len("yes\n")


TRACE = """The import fails, can you look?
Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    from app import penguin
  File "/app/penguin.py", line 9, in load
    raise KeyError(name)
KeyError: 'feathers'
"""


def test_of_a_trace_the_error_counts_and_not_its_frames() -> None:
    found = intent(f"What is wrong here?\n```\n{TRACE}```")
    assert "KeyError: 'feathers'" in found.query
    assert "What is wrong here?" in found.query
    assert "line 9" not in found.query


QUOTED_LINES = [
    *(
        "> the gateway is penguin",
        "2026-01-01 12:00:00 INFO penguin",
        "[INFO] penguin",
        "$ penguin --run",
        "@@ penguin",
    ),
    *("    at penguin (x.js:1)", "    const penguin = 1;", '  File "penguin.py", line 1', "npm warn penguin"),
]


@pytest.mark.parametrize("line", QUOTED_LINES)
def test_what_is_quoted_is_not_what_is_wanted(line: str) -> None:
    found = intent(f"Explain the output of the linter\n{line}\nin one sentence")
    assert "penguin" not in found.query
    assert found.query.startswith("Explain the output of the linter")


@pytest.mark.parametrize(
    ("prompt", "files"),
    [
        ("fix src/app.py", ("src/app.py",)),
        ("look at ./lib/a.ts and Makefile.toml", ("lib/a.ts", "Makefile.toml")),
        ("what is e.g. this, i.e. that, v1.2?", ()),
        ("see https://example.com/a.html", ()),
        ("mail ada@example.com", ()),
        ("app.py, app.py and app.py", ("app.py",)),
        ("(see `docs/api.md`)", ("docs/api.md",)),
    ],
)
def test_files_that_are_named_are_in_play(prompt: str, files: tuple[str, ...]) -> None:
    assert intent(prompt).files == files
    assert intent(prompt, files=["x.py"]).files == ("x.py", *files)


@pytest.mark.parametrize(
    ("text", "words"),
    [("", ()), ("thanks a lot", ()), ("2 + 2", ()), ("the parser", ("parser",)), ("fix 3 parsers", ("fix", "parsers"))],
)
def test_words_of_its_own(text: str, words: tuple[str, ...]) -> None:
    assert own_words_of(text) == words


texts = st.text(max_size=400) | st.lists(
    st.sampled_from(["```", "~~~", "yes", "fix it", "> quoted", "  at x", "Error: no", "a/b.py", "\t", "", ";", "é😀"]),
    max_size=30,
).map("\n".join)


@given(prompt=texts, previous=texts, files=st.lists(st.text(max_size=20), max_size=4))
def test_it_never_raises_and_stays_within_bounds(prompt: str, previous: str, files: list[str]) -> None:
    found = intent(prompt, previous=previous, files=files)
    assert found == intent(prompt, previous=previous, files=files)
    assert len(found.query) <= PROSE + 1 + max(QUOTED + QUOTED // 4, BACK) + 1
    assert set(files) <= set(found.files)
    assert found.idle == (found.query == "")
    if found.points_back:
        assert previous.strip()


@given(prompt=texts)
def test_without_a_turn_before_nothing_points_back(prompt: str) -> None:
    assert not intent(prompt).points_back
    assert not intent(prompt, previous=" \n").points_back


HOSTILE = {
    "prose": "fix the parser ",
    "one word": "a",
    "spaces": " ",
    "dashes": "-",
    "dots": "a.",
    "slashes": "a/",
    "semicolons": "; ",
    "braces": "{ ",
    "punctuation": "!?",
    "backticks": "`",
    "fences": "```\n",
    "frames": "  at foo.bar (x.js:1)\n",
    "quoted names": "> " + "a." * 90 + "\n",
    "errors": "ERROR it failed\n",
    "at signs": "@@@-",
    "newlines": "\n",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("begin", ["", "> "], ids=["plain", "quoted"])
def test_hundreds_of_kilobytes_take_linear_time(unit: str, begin: str) -> None:
    """One line or many; what takes the square of its length would take minutes."""
    huge = begin + unit * (200_000 // len(unit))
    started = time.perf_counter()
    intent(huge, previous=huge)
    assert time.perf_counter() - started < 5
