"""The obligations of `rows.toml` and the tests that claim them agree, and the page that shows it is current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import coverage_table
import docs
from coverage_table import Claim, Row, Scan

ROWS = {"J1": Row("J1", "One", "Says one."), "K1": Row("K1", "Two", "Says two.", ("first", "second"))}


def scanned(folder: Path, source: str) -> Scan:
    (folder / "test_sample.py").write_text(source, encoding="utf-8")
    return coverage_table.scan(folder)


def test_every_marker_names_a_row_and_belongs_to_a_test() -> None:
    """No test claims what does not exist, and no claim is made by nothing."""
    wrong = coverage_table.problems(coverage_table.load_rows(), coverage_table.scan())
    assert not wrong, "\n" + "\n".join(wrong)


def test_generated_pages_are_current() -> None:
    """The generated documentation says what the sources say now."""
    old = docs.stale()
    assert not old, f"{', '.join(old)} out of date: run `make docs`"


def test_rows_are_well_formed() -> None:
    """Every row has a known group, a title, a sentence, and parts that are named once and plainly."""
    for row in coverage_table.load_rows().values():
        assert re.fullmatch(r"[A-Z][1-9]\d*", row.id), row.id
        assert row.id[0] in coverage_table.GROUPS, row.id
        assert row.title, row.id
        assert row.says.endswith("."), row.id
        assert len(set(row.parts)) == len(row.parts), row.id
        assert all(re.fullmatch(r"[a-z0-9]+([-:][a-z0-9]+)*", part) for part in row.parts), row.id


@pytest.mark.parametrize(
    "source, claims",
    [
        pytest.param(
            '@pytest.mark.row("J1")\ndef test_a(): ...',
            [("J1", (), "test_sample.py::test_a")],
            id="function",
        ),
        pytest.param(
            '@pytest.mark.row("K1", "first")\n@mark.row("J1")\nasync def test_a(): ...',
            [("K1", ("first",), "test_sample.py::test_a"), ("J1", (), "test_sample.py::test_a")],
            id="two-on-one",
        ),
        pytest.param(
            '@pytest.mark.row("J1")\nclass TestA:\n    pytestmark = pytest.mark.row("K1", "first", "second")\n'
            "    def test_a(self): ...",
            [("J1", (), "test_sample.py::TestA"), ("K1", ("first", "second"), "test_sample.py::TestA")],
            id="class",
        ),
        pytest.param(
            '@pytest.mark.row("J1")\nclass TestA(Contract): ...',
            [("J1", (), "test_sample.py::TestA")],
            id="class-that-inherits-its-tests",
        ),
        pytest.param(
            'pytestmark = [pytest.mark.slow, pytest.mark.row("J1")]\ndef test_a(): ...',
            [("J1", (), "test_sample.py")],
            id="module",
        ),
        pytest.param(
            'CASES: list[object] = [pytest.param(1, id="one", marks=pytest.mark.row("J1"))]\n'
            '@pytest.mark.parametrize("x", [*CASES, pytest.param(2, marks=[pytest.mark.row("K1", "first")])])\n'
            "def test_a(x): ...",
            [("J1", (), "test_sample.py::test_a[one]"), ("K1", ("first",), "test_sample.py::test_a")],
            id="parameters",
        ),
    ],
)
def test_markers_are_found_wherever_pytest_takes_them(
    tmp_path: Path, source: str, claims: list[tuple[str, tuple[str, ...], str]]
) -> None:
    """A claim counts on functions, classes, modules and parameters."""
    found = scanned(tmp_path, source)
    assert not found.problems
    assert [(claim.row, claim.parts, claim.test) for claim in found.claims] == claims


@pytest.mark.parametrize(
    "source, complaint",
    [
        pytest.param('@pytest.mark.row("Z9")\ndef test_a(): ...', "no row 'Z9'", id="unknown-row"),
        pytest.param('@pytest.mark.row("K1", "third")\ndef test_a(): ...', "'third' is no part of", id="unknown-part"),
        pytest.param('@pytest.mark.row("J1", "first")\ndef test_a(): ...', "it has none", id="part-of-a-whole"),
        pytest.param('@pytest.mark.row("J1")\ndef helper(): ...', "belongs to no test", id="not-a-test"),
        pytest.param('@pytest.mark.row("J1")\nclass TestA: ...', "belongs to no test", id="class-without-tests"),
        pytest.param('pytestmark = pytest.mark.row("J1")', "belongs to no test", id="module-without-tests"),
        pytest.param('UNUSED = [pytest.mark.row("J1")]', "belongs to no test", id="unused-constant"),
        pytest.param("@pytest.mark.row(ID)\ndef test_a(): ...", "plain strings", id="not-literal"),
        pytest.param("@pytest.mark.row()\ndef test_a(): ...", "plain strings", id="empty"),
    ],
)
def test_markers_that_prove_nothing_are_reported(tmp_path: Path, source: str, complaint: str) -> None:
    """A marker that is wrong or attached to no test is a complaint with file and line."""
    [wrong] = coverage_table.problems(ROWS, scanned(tmp_path, source))
    assert wrong.startswith("tests/test_sample.py:")
    assert complaint in wrong


def test_a_row_with_parts_is_proved_part_by_part() -> None:
    """A claim on the whole row leaves its parts unproved, and the summary counts them so."""
    found = Scan([Claim("K1", (), "a.py::test_whole", ""), Claim("K1", ("first",), "a.py::test_first", "")])
    page = coverage_table.render(ROWS, found)
    assert "**Proved: 0 of 2 rows, 1 of 3 parts.**" in page
    assert "| **K1** | **Two.** Says two. | 1 of 2 parts<br>`a.py::test_whole` |" in page
    assert "| | first | `a.py::test_first` |\n| | second | — |" in page
    assert "| **J1** | **One.** Says one. | — |" in page
