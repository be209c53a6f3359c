"""The versions that a MEMORY.md had: they come back as they were, few and small, and never wrong."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.formats.mirror_past import MOST_VERSIONS, past_from, past_json
from recollect.model import MemoryId
from recollect.policy.mirror import Entry, Version

NOTHING = Version(lines={})
lines = st.tuples(
    st.sampled_from(["", "Never"]), st.sampled_from(["", "Größe"]), st.sampled_from(["", "2026-02-01"]), st.text()
)
numbers = st.integers(1, 30).map(MemoryId)
versions = st.builds(
    Version, lines=st.dictionaries(numbers, lines, max_size=8), taken_out=st.frozensets(numbers, max_size=3)
)
histories = st.lists(versions, min_size=1, max_size=12)


def alike(found: tuple[Version, ...], expected: list[Version]) -> bool:
    """Whether these are those: the lines of a version are in no order."""
    return [(dict(each.lines), each.taken_out) for each in found] == [
        (dict(each.lines), each.taken_out) for each in expected
    ]


@given(history=histories)
def test_versions_come_back_as_they_were(history: list[Version]) -> None:
    """The last few, newest first, from the newest one on."""
    assert alike(past_from(past_json(history), history[0]), history[1:MOST_VERSIONS])


@given(history=histories, begun=versions)
def test_a_version_that_was_never_written_does_not_matter(history: list[Version], begun: Version) -> None:
    """Killed before the file was written, what came before the last one that was is still known."""
    if begun.name in {each.name for each in history}:
        return
    assert alike(past_from(past_json([begun, *history]), history[0]), history[1 : MOST_VERSIONS - 1])


@given(history=histories, newest=versions)
def test_what_does_not_follow_counts_for_nothing(history: list[Version], newest: Version) -> None:
    """Of another newest version nothing is known, rather than something wrong."""
    for found in past_from(past_json(history), newest):
        assert found.name in {each.name for each in history}


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "{}", "[1]", "[{}]", '[{"before": "NAME"}]', '[{"before": "NAME", "lines": {}}]'),
        '[{"before": "NAME", "lines": {"x": ["", "", "", ""]}, "taken_out": [], "name": "00000000"}]',
        '[{"before": "NAME", "lines": {"1": [1, 2]}, "taken_out": ["x"], "name": "00000000"}]',
    ],
)
def test_a_broken_file_is_no_past(text: str) -> None:
    """Whatever stands there, it is read without fail."""
    assert past_from(text.replace("NAME", NOTHING.name), NOTHING) == ()


def test_a_version_more_is_a_few_lines_more() -> None:
    """What two versions have in common is not told again; what is too much is left out, the oldest first."""
    entries = [Entry(id=MemoryId(at), text=f"Fact {at}") for at in range(1, 2_000)]
    some = [Version.of(entries[:length]) for length in range(1_900, 1_890, -1)]
    text = past_json(some)
    assert len(text) < 2_000
    assert "Fact" not in text
    assert len(past_from(text, some[0])) == MOST_VERSIONS - 1
    others = [Version.of(entries[at::2]) for at in (0, 1)] * 4
    assert len(json.loads(past_json(others))) == 2
