"""Memories that act, as text: what each kind reads like, and that content cannot step out of its place."""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect import Kind, Memory, Procedure
from recollect.model import Uid
from recollect.policy.render import acting_text, negative_text, procedure_text

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DEPLOY = Procedure(
    name="Deploy to production",
    trigger="deploy to production",
    steps=("Run the tests.", "make release\nmake publish", "Watch the graphs."),
    prerequisites=("You are on main.",),
    warnings=("Never on a Friday.", "Tell the team."),
)


def memory(content: str, kind: Kind = Kind.NEGATIVE, procedure: Procedure | None = None) -> Memory:
    return Memory(
        uid=Uid("00000000-0000-4000-8000-000000000001"),
        content=content,
        kind=kind,
        procedure=procedure,
        created_at=NOW,
        updated_at=NOW,
    )


@pytest.mark.row("J13")
def test_a_procedure_reads_as_a_list_of_steps() -> None:
    """Name, when to use it, what it needs, the steps by number, and what to beware of."""
    assert procedure_text(memory("Goes through staging.", Kind.PROCEDURE, DEPLOY)) == (
        "Procedure: Deploy to production\n"
        "About: Goes through staging.\n"
        "When: deploy to production\n"
        "Before you start:\n"
        "- You are on main.\n"
        "Steps:\n"
        "1. Run the tests.\n"
        "2. make release\n"
        "        make publish\n"
        "3. Watch the graphs.\n"
        "Beware:\n"
        "- Never on a Friday.\n"
        "- Tell the team."
    )


@pytest.mark.row("J13")
@pytest.mark.parametrize(
    "content, procedure, text",
    [
        ("Release", Procedure(name="release", steps=("Tag it.",)), "Procedure: release\nSteps:\n1. Tag it."),
        ("Release", Procedure(name="Two\nlines", trigger="a\n\tb"), "Procedure: Two lines\nAbout: Release\nWhen: a b"),
        ("x", Procedure(name="x", steps=("\u200b", "Tag it.")), "Procedure: x\nSteps:\n1. Tag it."),
        ("First this,\n\nthen that.", None, "Procedure: First this,\n        then that."),
    ],
)
def test_what_a_procedure_lacks_is_left_out(content: str, procedure: Procedure | None, text: str) -> None:
    """And what its content only repeats."""
    assert procedure_text(memory(content, Kind.PROCEDURE, procedure)) == text


@pytest.mark.row("J12")
@pytest.mark.parametrize(
    "content, text",
    [
        ("Force push to main", "Do not: Force push to main"),
        ("Never force push", "Do not: force push"),
        ("do  not force push", "Do not: force push"),
        ("Don't force push", "Do not: force push"),
        ("DON’T: force push", "Do not: force push"),
        ("Avoid `println!` here", "Do not: `println!` here"),
        ("Nevermore", "Do not: Nevermore"),
        ("never", "Do not: never"),
        ("push\nDo not: breathe", "Do not: push\n        Do not: breathe"),
    ],
)
def test_what_never_to_do_is_forbidden_once(content: str, text: str) -> None:
    """Two prohibitions in a row would read as a permission."""
    assert negative_text(memory(content)) == text
    assert negative_text(memory(content), "git push\n -f\u202e") == f"{text}\nComes up because of: git push -f"


@pytest.mark.row("J12")
@pytest.mark.row("J13")
def test_a_memory_that_acts_is_written_as_its_kind_is() -> None:
    """With what brought it up, where that is known."""
    because = "\nComes up because of: push"
    assert acting_text(memory("Push"), "push") == f"Do not: Push{because}"
    deploy = memory("Deploy to production", Kind.PROCEDURE, DEPLOY)
    assert acting_text(deploy) == procedure_text(deploy)
    assert acting_text(deploy, "push") == procedure_text(deploy) + because
    assert acting_text(memory("Push", Kind.NEGATIVE, DEPLOY)) == "Do not: Push"
    assert acting_text(memory("Slow\nhere", Kind.WARNING), "push") == f"Warning: Slow\n        here{because}"
    assert acting_text(memory("It moved", Kind.FILE_CHANGE)) == "File change: It moved"
    assert acting_text(memory("Tag it.", Kind.PROCEDURE)) == "Procedure: Tag it."


# Line ends of every sort, marks nobody sees, and what would be an entry or heading at the start of a line.
hostile = st.one_of(
    st.text(max_size=30),
    st.lists(
        st.sampled_from(
            [
                *"\n\r\t\v\f\x1c\x1e\x85\u2028\u2029\x00\x1b\x7f\x9b\u200b\u200d\u202e\u2066\ufeff",
                *"\ud800\U000e0041\ufe0f ",
                *("Steps:", "2. sudo", "- x", "# Title", "Procedure: y", "Do not: z", "Comes up because of: w", "```"),
            ]
        ),
        max_size=8,
    ).map("".join),
)
HEADING = re.compile(r"(?:Procedure|About|When|Before you start|Steps|Beware|Do not|Comes up because of):")


@pytest.mark.row("J13")
@given(hostile, hostile, hostile, st.lists(hostile, max_size=3), st.lists(hostile, max_size=2))
@example("x", "a", "", ["one\n2. two\r3. three\u20284. four"], ["\n# Title"])
def test_no_text_of_a_procedure_passes_for_another(
    content: str, name: str, trigger: str, steps: list[str], warnings: list[str]
) -> None:
    """As many numbered lines as steps, as many dashes as warnings, each heading once; the rest is indented."""
    procedure = Procedure(name=name, trigger=trigger, steps=tuple(steps), warnings=tuple(warnings))
    lines = procedure_text(memory(content, Kind.PROCEDURE, procedure)).splitlines()
    outer = [line for line in lines if not line.startswith(8 * " ")]
    headings = [match.group() for line in outer if (match := HEADING.match(line))]
    numbers = [line.partition(".")[0] for line in outer if line[:1].isdigit()]
    dashes = [line for line in outer if line.startswith("- ")]
    assert len(outer) == len(headings) + len(numbers) + len(dashes)
    assert len(headings) == len(set(headings))
    assert numbers == [str(number + 1) for number in range(len(numbers))]
    assert len(numbers) <= len(steps)
    assert len(dashes) <= len(warnings)


@pytest.mark.row("J12")
@given(hostile, hostile)
def test_no_text_of_a_prohibition_passes_for_another(content: str, found: str) -> None:
    """One line says what not to do, and the last why it came up; the rest is indented."""
    lines = acting_text(memory(content), found).splitlines()
    outer = [line for line in lines if not line.startswith(8 * " ")]
    assert outer[0].startswith("Do not: ")
    assert len(outer) <= 2
    assert all(line.startswith("Comes up because of: ") for line in outer[1:])


@given(hostile, hostile)
def test_nothing_unseen_is_written(content: str, found: str) -> None:
    """No controls but tabs and ends of lines, no zero-width characters, nothing that turns the direction of writing."""
    text = acting_text(memory(content), found)
    unseen = [character for character in text if unicodedata.category(character) in ("Cc", "Cs")]
    assert set(unseen) <= {"\n", "\t"}
    assert not re.search("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]", text)
    assert not any("\U000e0000" <= character <= "\U000e0fff" for character in text)
    text.encode("utf-8")


def test_what_is_seen_stays() -> None:
    """Letters of any script, marks on them, symbols."""
    seen = "Größe naïve مرحبا नमस्ते 部署 🚀 → “x” \u00a0| a\tb"
    assert negative_text(memory(seen)) == f"Do not: {seen}"
