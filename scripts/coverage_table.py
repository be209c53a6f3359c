"""Which test proves which obligation, read from the sources of the tests without running them.

`tests/rows.toml` lists the obligations; `@pytest.mark.row("J3", "has-tag")` claims one. A marker counts on a test, on a
class of tests, in `pytestmark`, and on a `pytest.param` of a parametrised test; a constant of the module that holds any
of these counts where it is used. This module finds the markers, says what is wrong with them, and renders the table. It
does not say whether a test passes: pytest does.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

TESTS = Path(__file__).resolve().parent.parent / "tests"
UNPROVED = "—"
GROUPS = {
    "J": "Graph memory with an asynchronous memory agent",
    "K": "Full-text memory, where the model is the semantic layer",
    "B": "Working, episodic, long-term, extracted and task memory",
    "P": "Findings of a session promoted to the memory of a project",
    "E": "Three tiers with explicit paging",
    "X": "What users of every memory ask for and seldom get",
}

Proofs: TypeAlias = Mapping[tuple[str, str], list[str]]
"""The tests for each row and part; the part is empty where a claim names the row alone."""


@dataclass(frozen=True)
class Row:
    """One obligation. Without parts it is a single thing to prove."""

    id: str
    title: str
    says: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A test says that it proves a row, or some parts of it."""

    row: str
    parts: tuple[str, ...]
    test: str
    where: str


@dataclass
class Scan:
    """What the markers in the tests claim, and what is wrong with those that claim nothing."""

    claims: list[Claim] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def load_rows(path: Path = TESTS / "rows.toml") -> dict[str, Row]:
    """The obligations, in the order of the file."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        name: Row(name, table["title"], table["says"], tuple(table.get("parts", ()))) for name, table in tables.items()
    }


def scan(tests: Path = TESTS) -> Scan:
    """Every claim that a test under this folder makes."""
    found = Scan()
    for path in sorted(tests.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        _Module(path.relative_to(tests).as_posix(), tree, found).read()
    return found


def problems(rows: Mapping[str, Row], found: Scan) -> list[str]:
    """Markers that attach to no test, and claims about rows or parts that do not exist."""
    wrong = list(found.problems)
    for claim in found.claims:
        if (row := rows.get(claim.row)) is None:
            wrong.append(f"{claim.where}: there is no row {claim.row!r}")
            continue
        known = f"its parts are {', '.join(row.parts)}" if row.parts else "it has none"
        wrong += [
            f"{claim.where}: {part!r} is no part of row {row.id}; {known}"
            for part in claim.parts
            if part not in row.parts
        ]
    return wrong


def render(rows: Mapping[str, Row] | None = None, found: Scan | None = None) -> str:
    """The page `docs/coverage.md`."""
    rows = load_rows() if rows is None else rows
    proofs = _proofs(scan() if found is None else found)
    groups = {group: [row for row in rows.values() if row.id.startswith(group)] for group in GROUPS}
    page = [
        "# Coverage",
        "",
        "<!-- Generated from tests/rows.toml and the tests. Do not edit; run `make docs`. -->",
        "",
        "What Recollect owes its users, row by row, and the tests that prove it. A row with parts is proved when every",
        f"part is; `{UNPROVED}` marks what no test proves yet.",
        "",
        f"**Proved: {_summary(rows.values(), proofs)}.**",
        "",
        "| | group | proved |",
        "|---|---|---|",
        *(f"| {group} | {GROUPS[group]} | {_summary(members, proofs)} |" for group, members in groups.items()),
    ]
    for group, members in groups.items():
        page += ["", f"## {group} · {GROUPS[group]}", "", "| row | what | proved by |", "|---|---|---|"]
        page += [line for row in members for line in _lines(row, proofs)]
    return "\n".join(page) + "\n"


def _proofs(found: Scan) -> Proofs:
    proofs: dict[tuple[str, str], list[str]] = {}
    for claim in found.claims:
        for part in claim.parts or ("",):
            tests = proofs.setdefault((claim.row, part), [])
            if claim.test not in tests:
                tests.append(claim.test)
    return proofs


def _things(row: Row) -> list[tuple[str, str]]:
    """What has to be proved for a row: each part, or the row itself."""
    return [(row.id, part) for part in row.parts or ("",)]


def _summary(rows: Collection[Row], proofs: Proofs) -> str:
    whole = sum(all(thing in proofs for thing in _things(row)) for row in rows)
    things = [thing for row in rows for thing in _things(row)]
    return f"{whole} of {len(rows)} rows, {sum(thing in proofs for thing in things)} of {len(things)} parts"


def _lines(row: Row, proofs: Proofs) -> Iterator[str]:
    """The table rows of one obligation: itself, then its parts."""
    tests = _cell(proofs.get((row.id, ""), []))
    if row.parts:
        count = f"{sum((row.id, part) in proofs for part in row.parts)} of {len(row.parts)} parts"
        tests = count if tests == UNPROVED else f"{count}<br>{tests}"
    yield f"| **{row.id}** | **{row.title}.** {row.says.replace('|', chr(92) + '|')} | {tests} |"
    for part in row.parts:
        yield f"| | {part} | {_cell(proofs.get((row.id, part), []))} |"


def _cell(tests: list[str]) -> str:
    return "<br>".join(f"`{test}`".replace("|", r"\|") for test in tests) or UNPROVED


class _Module:
    """One file of tests, while its markers are read."""

    def __init__(self, name: str, tree: ast.Module, found: Scan) -> None:
        self.name = name
        self.tree = tree
        self.found = found
        self.constants = dict(_constants(tree))
        self.attached: set[ast.Call] = set()

    def read(self) -> None:
        self.read_body(self.tree.body, self.name, has_tests=_has_tests(self.tree.body))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and _is_row(node) and node not in self.attached:
                self.found.problems.append(f"tests/{self.name}:{node.lineno}: this row marker belongs to no test")

    def read_body(self, body: list[ast.stmt], owner: str, *, has_tests: bool) -> None:
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value) if has_tests:
                    self.claim(value, owner)
                case ast.FunctionDef() | ast.AsyncFunctionDef() if node.name.startswith("test"):
                    for decorator in node.decorator_list:
                        self.claim(decorator, f"{owner}::{node.name}")
                case ast.ClassDef():
                    # A `Test` class may own no test and inherit them all from a contract.
                    tests = _has_tests(node.body) or (node.name.startswith("Test") and bool(node.bases))
                    for decorator in node.decorator_list if tests else ():
                        self.claim(decorator, f"{owner}::{node.name}")
                    self.read_body(node.body, f"{owner}::{node.name}", has_tests=tests)

    def claim(self, expression: ast.expr, test: str) -> None:
        """Credit the test with every row marker in the expression, constants of the module included."""
        for call, case in self.rows_in(expression, "", frozenset()):
            self.attached.add(call)
            where = f"tests/{self.name}:{call.lineno}"
            words = [word.value for word in call.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
            if call.keywords or not words or len(words) != len(call.args):
                self.found.problems.append(f"{where}: a row marker takes plain strings, the row and then its parts")
            else:
                self.found.claims.append(Claim(words[0], tuple(words[1:]), test + case, where))

    def rows_in(self, node: ast.AST, case: str, seen: frozenset[str]) -> Iterator[tuple[ast.Call, str]]:
        if isinstance(node, ast.Name) and node.id in self.constants and node.id not in seen:
            yield from self.rows_in(self.constants[node.id], case, seen | {node.id})
        if isinstance(node, ast.Call) and _is_row(node):
            yield node, case
            return
        case = _case_id(node) or case
        for child in ast.iter_child_nodes(node):
            yield from self.rows_in(child, case, seen)


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name != "pytestmark":
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _has_tests(body: list[ast.stmt]) -> bool:
    return any(
        node.name.startswith("test")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        else isinstance(node, ast.ClassDef) and _has_tests(node.body)
        for node in body
    )


def _is_row(call: ast.Call) -> bool:
    return ast.unparse(call.func) in {"pytest.mark.row", "mark.row"}


def _case_id(node: ast.AST) -> str:
    """`[name]` for a `pytest.param(…, id="name")`, else nothing."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in {"pytest.param", "param"}:
        for keyword in node.keywords:
            if keyword.arg == "id" and isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str):
                return f"[{keyword.value.value}]"
    return ""
