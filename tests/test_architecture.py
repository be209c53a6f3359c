"""The shape of the code base, as tests. Budgets only ever go down; lists of exceptions only ever shrink.

Each rule is a function from the modules of a package to complaints. The package must earn none; and each rule is shown
a small package that breaks it, so that a rule which has gone blind is noticed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = "recollect"
TESTS = Path(__file__).resolve().parent
SOURCE = TESTS.parent / "src" / PACKAGE

VALUES = {"model", "errors"}
LAYERS: dict[str, set[str]] = {  # who may import whom; the layers of a package, or the modules at its root
    "version": set(),
    "support": {"errors"},
    "disk": {"errors"},
    "model": set(),
    "errors": set(),
    "codec": VALUES,
    "policy": VALUES | {"codec"},
    "config": VALUES,
    "store": VALUES | {"codec", "disk", "policy"},
    "embed": VALUES | {"policy", "disk"},
    "judge": VALUES | {"policy"},
    "hosts": VALUES | {"codec", "policy"},
    "formats": VALUES | {"codec", "policy"},
    "engine": VALUES | {"config", "codec", "disk", "policy", "store", "embed", "judge", "hosts", "formats"},
    "evaluate": VALUES | {"codec", "policy", "engine"},
    "adapters": VALUES | {"codec", "policy", "engine"},
    "opening": VALUES | {"config", "disk", "engine", "policy", "store", "embed", "judge"},
    "aio": {"engine"},
    "tiers": VALUES | {"engine", "policy"},
    "testing": VALUES | {"config", "engine", "opening", "store", "embed", "judge"},
    "surfaces": VALUES
    | {
        "version",
        "support",
        "codec",
        "disk",
        "config",
        "policy",
        "engine",
        "opening",
        "testing",
        "hosts",
        "evaluate",
        "embed",
    },
    "__init__": VALUES | {"version", "support", "config", "engine", "opening", "aio", "policy"},
    "__main__": {"surfaces"},
}

MAX_FUNCTION_LINES = 60  # without the docstring
MAX_FUNCTION_LINES_P90 = 30
MAX_MODULE_LINES = 900
MAX_PUBLIC_NAMES = 12
MAX_MOCKS_PER_TEST = 0.05

LONG_FUNCTIONS: set[str] = set()  # "module.py:function"
VOCABULARIES = {
    "model/__init__.py",
    "model/memory.py",
    "model/change.py",
    "model/asking.py",
    "model/context.py",
    "errors.py",
}  # their whole purpose is to name things, so names are not a cost there
BROAD_EXCEPT_EDGES = {
    "surfaces/cli/__init__.py",  # where a failure becomes a message and an exit status
    "engine/context.py",  # where an agent is served: whatever fails, it goes on without memory
    "engine/events.py",  # where somebody else's subscriber is called: whatever it raises, nobody else notices
    "engine/rerank.py",  # where somebody else's reranker is called: whatever it raises, recall goes on without it
}
LAZY_EDGES = re.compile(r"__init__\.py|surfaces/(cli|hook)\.py|surfaces/cli/.*")  # start-up time is a promise there

PURE = {"model", "codec", "policy"}
IMPURE_MODULES = {
    *("apsw", "asyncio", "httpx", "logging", "os", "pathlib", "random", "secrets", "shutil", "socket", "sqlite3"),
    *("subprocess", "tempfile", "threading", "time"),
}
IMPURE_CALLS = re.compile(r"(\w+\.)*(now|utcnow|today)|open|print|input")
DATABASES = {"apsw", "psycopg", "sqlite3"}
SQL = re.compile(
    r"\s*(SELECT\s.+\sFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s.+\sSET|DELETE\s+FROM|CREATE\s|PRAGMA\s)", re.S
)
EMPTY_WORDS = {"handler", "helper", "helpers", "manager", "processor", "service", "util", "utils"}
MOCKS = re.compile(r"(\w+\.)*(Mock|MagicMock|AsyncMock|create_autospec)|((unittest\.)?mock\.|mocker\.)?patch(\.\w+)?")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """One module of the package imports another, by its dotted name inside the package ("" is the package itself)."""

    target: str
    lazy: bool
    line: int


@dataclass(frozen=True)
class Module:
    """One source file of the package, by its path inside it."""

    path: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source, filename=self.path)

    @property
    def name(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".").removesuffix("__init__").removesuffix(".")

    @property
    def layer(self) -> str:
        return self.path.split("/")[0].removesuffix(".py")

    def nodes(self) -> Iterator[ast.AST]:
        return ast.walk(self.tree)

    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes() if isinstance(node, Function))

    def imported(self) -> Iterator[tuple[int, str]]:
        """The first name of every absolute import, with its line."""
        for node in self.nodes():
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.lineno, node.module.split(".")[0]


Modules = list[Module]
Complaints = Iterable[str]


def load(root: Path) -> Modules:
    return [
        Module(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.py"))
    ]


def own_imports(module: Module, known: set[str]) -> Iterator[Import]:
    """What the module imports of its own package at run time; blocks for type checkers do not run."""
    package = [PACKAGE, *module.path.removesuffix(".py").split("/")][:-1]

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for statement in node.orelse:
                yield from walk(statement, lazy)
            return
        if isinstance(node, ast.Import | ast.ImportFrom):
            for target in targets(node):
                yield Import(target, lazy, node.lineno)
        lazy = lazy or isinstance(node, Function | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            yield from walk(child, lazy)

    def targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            dotted = [alias.name.split(".") for alias in node.names]
            yield from (".".join(parts[1:]) for parts in dotted if parts[0] == PACKAGE)
            return
        base = package[: len(package) - node.level + 1] if node.level else []
        parts = [*base, *(node.module.split(".") if node.module else [])]
        if parts[:1] == [PACKAGE]:
            # `from recollect.policy import rank` is the module policy.rank, if there is one, else a name of policy.
            for alias in node.names:
                submodule = ".".join([*parts[1:], alias.name])
                yield submodule if submodule in known else ".".join(parts[1:])

    return walk(module.tree, False)


def imports(modules: Modules) -> Iterator[tuple[Module, Import]]:
    known = {module.name for module in modules}
    return ((module, found) for module in modules for found in own_imports(module, known))


def length(function: Function) -> int:
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function, clean=False) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def every_module_has_a_layer(modules: Modules) -> Complaints:
    for module in modules:
        if module.layer not in LAYERS:
            yield f"{module.path} belongs to no layer"


def imports_follow_the_layers(modules: Modules) -> Complaints:
    for module, found in imports(modules):
        target = found.target.split(".")[0] or "__init__"
        if target != module.layer and target not in LAYERS.get(module.layer, set()):
            yield f"{module.path}:{found.line} imports {target}; {module.layer} may not"


def the_parts_of_the_engine_do_not_know_the_whole(modules: Modules) -> Complaints:
    for module, found in imports(modules):
        if module.layer == "engine" and module.name != "engine" and found.target == "engine":
            yield f"{module.path}:{found.line} imports engine/__init__.py; take what it needs as an argument"


def own_code_is_imported_at_the_top(modules: Modules) -> Complaints:
    for module, found in imports(modules):
        if found.lazy and not LAZY_EDGES.fullmatch(module.path):
            yield f"{module.path}:{found.line} imports {found.target or PACKAGE} inside a function"


def imports_make_no_cycle(modules: Modules) -> Complaints:
    graph: dict[str, set[str]] = {module.name: set() for module in modules}
    for module, found in imports(modules):
        if not found.lazy and found.target in graph:
            graph[module.name].add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        yield " imports ".join(name or PACKAGE for name in reversed(error.args[1]))


def functions_stay_short(modules: Modules) -> Complaints:
    lengths = {}
    for module in modules:
        for function in module.functions():
            place = f"{module.path}:{function.name}"
            lengths[place, function.lineno] = length(function)
            if length(function) > MAX_FUNCTION_LINES and place not in LONG_FUNCTIONS:
                yield f"{place} has {length(function)} lines; {MAX_FUNCTION_LINES} is the most"
    ranked = sorted(lengths.values())
    if ranked and (p90 := ranked[len(ranked) * 9 // 10]) > MAX_FUNCTION_LINES_P90:
        yield f"a tenth of all functions have {p90} lines or more; {MAX_FUNCTION_LINES_P90} is the most"


def modules_stay_small(modules: Modules) -> Complaints:
    for module in modules:
        if (lines := module.source.count("\n")) > MAX_MODULE_LINES:
            yield f"{module.path} has {lines} lines; {MAX_MODULE_LINES} is the most"


def modules_hide_more_than_they_show(modules: Modules) -> Complaints:
    for module in modules:
        public = [
            node.name
            for node in module.tree.body
            if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_")
        ]
        if len(public) > MAX_PUBLIC_NAMES and module.path not in VOCABULARIES:
            yield f"{module.path} shows {len(public)} names; {MAX_PUBLIC_NAMES} is the most: {', '.join(public)}"


def every_parameter_has_a_type(modules: Modules) -> Complaints:
    for module in modules:
        methods = {
            function
            for node in module.nodes()
            if isinstance(node, ast.ClassDef)
            for function in node.body
            if isinstance(function, Function) and "staticmethod" not in map(ast.unparse, function.decorator_list)
        }
        for function in module.functions():
            given = function.args
            named = [*given.posonlyargs, *given.args][function in methods :]
            for parameter in [*named, given.vararg, *given.kwonlyargs, given.kwarg]:
                if parameter is not None and parameter.annotation is None:
                    yield f"{module.path}:{function.lineno} {function.name}({parameter.arg}) has no type"


def broad_excepts_stay_at_the_edges(modules: Modules) -> Complaints:
    def broad(caught: ast.expr | None) -> bool:
        if isinstance(caught, ast.Tuple):
            return any(map(broad, caught.elts))
        return caught is None or ast.unparse(caught) in {"Exception", "BaseException"}

    def raises_again(handler: ast.ExceptHandler) -> bool:
        return isinstance(last := handler.body[-1], ast.Raise) and last.exc is None

    for module in modules:
        if module.path in BROAD_EXCEPT_EDGES:
            continue
        for node in module.nodes():
            if isinstance(node, ast.ExceptHandler) and broad(node.type) and not raises_again(node):
                yield f"{module.path}:{node.lineno} catches everything; catch what you can name"
            elif (
                isinstance(node, ast.Call)
                and ast.unparse(node.func).endswith("suppress")
                and any(map(broad, node.args))
            ):
                yield f"{module.path}:{node.lineno} suppresses everything; suppress what you can name"


def the_core_is_pure(modules: Modules) -> Complaints:
    """No clock, chance, input or output: they are passed in as values."""
    for module in modules:
        if module.layer not in PURE:
            continue
        for line, name in module.imported():
            if name in IMPURE_MODULES:
                yield f"{module.path}:{line} imports {name}"
        for node in module.nodes():
            if isinstance(node, ast.Call) and IMPURE_CALLS.fullmatch(call := ast.unparse(node.func)):
                yield f"{module.path}:{node.lineno} calls {call}"


def only_the_store_knows_sql(modules: Modules) -> Complaints:
    for module in modules:
        if module.layer == "store":
            continue
        for line, name in module.imported():
            if name in DATABASES:
                yield f"{module.path}:{line} imports {name}"
        prose = {node.value for node in module.nodes() if isinstance(node, ast.Expr)}  # docstrings may talk about it
        for node in module.nodes():
            text = node.value if isinstance(node, ast.Constant) and node not in prose else None
            if isinstance(text, str) and SQL.match(text):
                yield f"{module.path}: holds SQL, {text.strip()[:40]!r}"


def names_end_in_a_word_that_says_something(modules: Modules) -> Complaints:
    for module in modules:
        if module.name.split(".")[-1].split("_")[-1] in EMPTY_WORDS:
            yield f"{module.path} has an empty last word"
        for node in module.nodes():
            if isinstance(node, ast.ClassDef) and re.split(r"(?=[A-Z])|_", node.name)[-1].lower() in EMPTY_WORDS:
                yield f"{module.path}:{node.lineno} {node.name} has an empty last word"


def mocks_are_rare(modules: Modules) -> Complaints:
    tests = [function for module in modules for function in module.functions() if function.name.startswith("test")]
    mocks = [
        f"{module.path}:{node.lineno}"
        for module in modules
        for node in module.nodes()
        if isinstance(node, ast.Call) and MOCKS.fullmatch(ast.unparse(node.func))
    ]
    if len(mocks) > MAX_MOCKS_PER_TEST * len(tests):
        yield f"{len(mocks)} mocks in {len(tests)} tests; {MAX_MOCKS_PER_TEST} each is the most: {', '.join(mocks)}"


Rule = Callable[[Modules], Complaints]
RULES: list[Rule] = [
    every_module_has_a_layer,
    imports_follow_the_layers,
    the_parts_of_the_engine_do_not_know_the_whole,
    own_code_is_imported_at_the_top,
    imports_make_no_cycle,
    functions_stay_short,
    modules_stay_small,
    modules_hide_more_than_they_show,
    every_parameter_has_a_type,
    broad_excepts_stay_at_the_edges,
    the_core_is_pure,
    only_the_store_knows_sql,
    names_end_in_a_word_that_says_something,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_obeys(rule: Rule) -> None:
    """No rule has a complaint about the package."""
    modules = load(SOURCE)
    assert modules, f"no source under {SOURCE}"
    complaints = list(dict.fromkeys(rule(modules)))
    assert not complaints, "\n" + "\n".join(complaints)


def test_the_tests_obey() -> None:
    """Tests go through the public door with the real store; a mock is a rare exception."""
    complaints = list(mocks_are_rare(load(TESTS)))
    assert not complaints, "\n" + "\n".join(complaints)


LONG = "def f():\n" + "    pass\n" * MAX_FUNCTION_LINES


@pytest.mark.parametrize(
    "rule, package, complaint",
    [
        (every_module_has_a_layer, {"misc.py": ""}, "misc.py belongs to no layer"),
        (
            imports_follow_the_layers,
            {"policy/rank.py": "from recollect import store", "store.py": ""},
            "policy may not",
        ),
        (
            imports_follow_the_layers,
            {"policy/rank.py": "from ..store.sqlite import a"},
            "policy/rank.py:1 imports store",
        ),
        (imports_follow_the_layers, {"model.py": "import recollect.errors"}, "model may not"),
        (imports_follow_the_layers, {"surfaces/mcp.py": "from recollect import open"}, "imports __init__"),
        (
            the_parts_of_the_engine_do_not_know_the_whole,
            {"engine/write.py": "from . import Recollect"},
            "imports engine/",
        ),
        (
            own_code_is_imported_at_the_top,
            {"engine/a.py": "def f():\n  from recollect.store import x"},
            "inside a",
        ),
        (
            imports_make_no_cycle,
            {"policy/a.py": "from . import b", "policy/b.py": "from . import a"},
            "a imports policy",
        ),
        (functions_stay_short, {"codec.py": LONG}, "codec.py:f has 61 lines"),
        (functions_stay_short, {"codec.py": "\n".join([LONG] * 2)}, "a tenth of all functions"),
        (modules_stay_small, {"codec.py": "\n" * (MAX_MODULE_LINES + 1)}, "has 901 lines"),
        (modules_hide_more_than_they_show, {"codec.py": "".join(f"def f{n}(): ...\n" for n in range(13))}, "shows 13"),
        (every_parameter_has_a_type, {"codec.py": "class A:\n  def f(self, *, x): ..."}, "f(x) has no type"),
        (broad_excepts_stay_at_the_edges, {"codec.py": "try: ...\nexcept (OSError, Exception): ..."}, "codec.py:2"),
        (broad_excepts_stay_at_the_edges, {"codec.py": "try: ...\nexcept: ..."}, "catches everything"),
        (broad_excepts_stay_at_the_edges, {"codec.py": "with suppress(Exception): ..."}, "suppresses everything"),
        (the_core_is_pure, {"policy/decay.py": "from time import monotonic"}, "imports time"),
        (the_core_is_pure, {"policy/decay.py": "t = datetime.now(UTC)"}, "calls datetime.now"),
        (only_the_store_knows_sql, {"engine/recall.py": "import apsw"}, "imports apsw"),
        (only_the_store_knows_sql, {"engine/recall.py": 'q = "SELECT id FROM memory"'}, "holds SQL"),
        (names_end_in_a_word_that_says_something, {"codec.py": "class StoreManager: ..."}, "StoreManager"),
        (names_end_in_a_word_that_says_something, {"engine/text_utils.py": ""}, "engine/text_utils.py"),
        (mocks_are_rare, {"test_a.py": "def test_a(): mock.patch('x')"}, "1 mocks in 1 tests"),
    ],
)
def test_each_rule_sees_what_it_forbids(rule: Rule, package: dict[str, str], complaint: str) -> None:
    """A package that breaks a rule is told so, with the place."""
    complaints = list(rule([Module(path, source) for path, source in package.items()]))
    assert any(complaint in found for found in complaints), complaints


@pytest.mark.parametrize(
    "rule, package",
    [
        (imports_follow_the_layers, {"policy/rank.py": "if TYPE_CHECKING:\n  from recollect.store import Store"}),
        (imports_follow_the_layers, {"engine/write.py": "from recollect.store import Store\nfrom .recall import x"}),
        (the_parts_of_the_engine_do_not_know_the_whole, {"engine/a.py": "from . import b", "engine/b.py": ""}),
        (own_code_is_imported_at_the_top, {"surfaces/cli/show.py": "def f():\n  from recollect.engine import x"}),
        (imports_make_no_cycle, {"policy/__init__.py": "from .a import x", "policy/a.py": "from ..model import y"}),
        (imports_make_no_cycle, {"engine/a.py": "from . import b", "engine/b.py": "def f():\n  from . import a"}),
        (every_parameter_has_a_type, {"codec.py": "class A:\n  def f(self, x: int) -> None: ..."}),
        (broad_excepts_stay_at_the_edges, {"codec.py": "try: ...\nexcept BaseException:\n  undo()\n  raise"}),
        (only_the_store_knows_sql, {"engine/recall.py": '"""SELECT a FROM b is what the store does."""'}),
        (only_the_store_knows_sql, {"store/read.py": 'import apsw\nq = "SELECT a FROM b"'}),
        (the_core_is_pure, {"engine/clock.py": "import time"}),
    ],
)
def test_each_rule_leaves_the_rest_alone(rule: Rule, package: dict[str, str]) -> None:
    """What the rules allow earns no complaint."""
    known = [Module(path, source) for path, source in package.items()]
    assert list(rule(known)) == []
