"""Files along their structure: where they fall apart, that nothing is lost, and what a scan of code sees."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.policy.chunks import LEAST, MOST, Chunk, Sort, chunks, declared, headings, lines_of, sort_of, spans

WORDS = "Every reader takes a connection from the pool and never waits for a writer. "


def labels(text: str, path: str) -> list[tuple[str, int, int]]:
    return [(each.label, each.first, each.last) for each in chunks(text, path=path)]


def spoken(found: tuple[Chunk, ...]) -> list[str]:
    """The lines of chunks that are not blank."""
    return [line for each in found for line in each.text.split("\n") if line.strip()]


# Seams


@pytest.mark.row("B6", "chunks")
def test_a_document_falls_apart_at_its_headings() -> None:
    """Each piece carries the headings above it; what looks like one in fenced code is none."""
    text = (
        f"# Guide\n\n{WORDS * 3}\n\n## Install\n\n{WORDS * 3}\n\n```sh\n# no heading\n```\n\n"
        f"### On a Mac\n\n{WORDS * 3}\n\n## Use\n\n{WORDS * 3}\n"
    )
    assert labels(text, "guide.md") == [
        ("Guide", 1, 3),
        ("Guide > Install", 5, 11),
        ("Guide > Install > On a Mac", 13, 15),
        ("Guide > Use", 17, 19),
    ]


def test_every_sort_of_document_has_its_headings() -> None:
    """Markdown with lines under its headings, reStructuredText and AsciiDoc."""
    under = "Guide\n=====\n\ntext\n\nUse\n---\n\ntext\n"
    assert [(each.depth, each.title) for each in headings(lines_of(under), Sort.MARKDOWN)] == [(1, "Guide"), (2, "Use")]
    over = "*****\nGuide\n*****\n\nUse\n===\n\nMore\n----\n\nRest\n====\n"
    assert [(each.line, each.depth, each.title) for each in headings(lines_of(over), Sort.RST)] == [
        (0, 1, "Guide"),
        (4, 2, "Use"),
        (7, 3, "More"),
        (10, 2, "Rest"),
    ]
    marked = "= Guide\n\n== Use\n\n----\n== no heading\n----\n"
    assert [each.title for each in headings(lines_of(marked), Sort.ASCIIDOC)] == ["Guide", "Use"]


def test_what_programs_read_at_the_top_is_no_heading() -> None:
    """The line that ends it underlines nothing."""
    text = "---\ntitle: Guide\nstatus: open\n---\n\n# Guide\n"
    assert [each.title for each in headings(lines_of(text), Sort.MARKDOWN)] == ["Guide"]


def body(lines: int) -> str:
    return "\n".join(f"    value_{number} = compute(value_{number}, 'a long argument')" for number in range(lines))


@pytest.mark.row("B6", "chunks")
def test_code_falls_apart_at_what_it_declares() -> None:
    """A function is a piece, with its decorator and the comment above it; a long class is one for each method."""
    text = (
        '"""What this module is for, in a sentence or two that say enough to stand alone here."""\n\n'
        f"import os\n\n# Why it is cached.\n@cache\ndef first() -> None:\n{body(5)}\n\n\n"
        f"class Thing:\n    def one(self) -> None:\n{body(12)}\n\n    def two(self) -> None:\n{body(12)}\n"
    )
    found = chunks(text, path="a.py")
    assert [each.label for each in found] == ["first", "Thing", "Thing.two"]
    assert found[0].text.startswith('"""What')
    assert "@cache" in found[0].text
    assert [each.text.lstrip().split("(")[0] for each in found[1:]] == ["class Thing:\n    def one", "def two"]


@pytest.mark.parametrize(
    "path, text, expected",
    [
        ("a.go", "func (s *Store) Get(key string) error {\n{}\n}\n\nfunc Put() {\n{}\n}\n", ["Get", "Put"]),
        ("a.rs", "pub fn get<'a>(x: &'a str) {\n{}\n}\n\nimpl Store {\n{}\n}\n", ["get", "Store"]),
        ("a.ts", "export const a = () => {\n{}\n};\n\nexport class B {\n{}\n}\n", ["a", "B"]),
        ("A.java", "public class A {\n{}\n}\n\ninterface B {\n{}\n}\n", ["A", "B"]),
        ("a.c", "static int\nadd(int a) {\n{}\n}\n\nvoid take(char *b)\n{\n{}\n}\n", ["add", "take"]),
        ("a.rb", "module A\n{}\nend\n\ndef self.b\n{}\nend\n", ["A", "self.b"]),
        ("a.sh", "get() {\n{}\n}\n\nfunction put {\n{}\n}\n", ["get", "put"]),
        ("a.sql", "CREATE TABLE IF NOT EXISTS a (\n{}\n);\n\ncreate view b as\n{}\n;\n", ["a", "b"]),
        ("a.toml", "[a.b]\n{}\n\n[[c]]\n{}\n", ["a.b", "c"]),
        ("a.yaml", "on:\n{}\njobs:\n{}\n", ["on", "jobs"]),
        ("Makefile", "all: x\n{}\n\nx:\n{}\n", ["all", "x"]),
    ],
)
def test_every_sort_of_code_and_configuration_has_its_names(path: str, text: str, expected: list[str]) -> None:
    """What is declared at the top names the pieces."""
    filled = text.replace("{}", "\n".join(f"    long_value_{number} aaaaaaaaaaaaaaaaaaaaaaaaa" for number in range(8)))
    assert [each.label for each in chunks(filled, path=path)] == expected


def test_a_string_of_many_lines_is_not_taken_for_code() -> None:
    """A line that begins like a function inside a text begins nothing."""
    text = f'TEXT = """\n{body(3)}\n\ndef no_function():\n{body(3)}\n"""\n\ndef function():\n{body(6)}\n'
    assert [each.label for each in chunks(text, path="a.py")] == ["", "function"]


# Sizes


def test_what_is_long_is_cut_at_blank_lines() -> None:
    """Paragraphs stay whole where they can."""
    text = "\n\n".join(f"{number} {WORDS * 4}" for number in range(12))
    found = chunks(text, path="a.txt")
    assert len(found) > 3
    assert all(LEAST <= len(each.text) <= MOST for each in found)
    assert all(each.text.split(" ", 1)[0].isdigit() for each in found)


def test_what_is_short_joins_the_next() -> None:
    """A heading without a text is no piece of its own; headings with little under them share one."""
    run = "Run it. " * 10
    text = f"# Guide\n\n## Install\n\n{run}\n\n## Use\n\nUse it.\n\n## Rest\n\n{WORDS * 15}\n"
    assert labels(text, "a.md") == [("Guide", 1, 9), ("Guide > Rest", 11, 13)]


def test_a_line_that_is_too_long_stands_alone() -> None:
    """Lines are never cut."""
    text = f"short\n\n{'x' * 3_000}\n\nshort"
    assert [len(each.text) for each in chunks(text, path="a.txt")] == [5, 3_000, 5]


LINES = st.lists(
    st.sampled_from(
        [
            *("", "", "   ", "# One", "## Two", "Title", "=====", "---", "```", "~~~py", "== A", "text of a line."),
            *(
                "def f():",
                "    return 1",
                "class A:",
                "    def g(self):",
                "        pass",
                '"""',
                "'''",
                "/*",
                "*/",
                "// c",
            ),
            *(
                "}",
                "func (a) B() {",
                "[part]",
                "key: 1",
                "  sub: 2",
                "`",
                '"',
                "'",
                "\\",
                "\tx",
                "-- c",
                "x" * 700,
                "y" * 90,
            ),
        ]
    ),
    max_size=80,
)
PATHS = st.sampled_from(
    "a.md a.rst a.adoc a.txt a.py a.go a.rs a.ts a.sql a.sh a.rb a.toml a.yaml a.json a.zzz Makefile".split()
)


@pytest.mark.row("B6", "chunks")
@given(lines=LINES, path=PATHS, end=st.sampled_from(["\n", "\r\n", "\r"]))
def test_nothing_is_lost_and_nothing_is_there_twice(lines: list[str], path: str, end: str) -> None:
    """Every line that is not blank is in one chunk, in order, and each chunk says truly which lines it has."""
    text = end.join(lines)
    found = chunks(text, path=path)
    every = lines_of(text)
    assert spoken(found) == [line for line in every if line.strip()]
    assert all("\n".join(every[each.first - 1 : each.last]) == each.text for each in found)
    assert all(len(each.text) <= MOST or "\n" not in each.text for each in found)
    assert all(before.last < after.first for before, after in pairwise(found))


@given(text=st.text(max_size=400), path=PATHS)
def test_any_text_can_be_taken_apart(text: str, path: str) -> None:
    """Whatever characters it holds."""
    assert spoken(chunks(text, path=path)) == [line for line in lines_of(text) if line.strip()]


# Scanning


@pytest.mark.parametrize(
    "path, text, expected",
    [
        ("a.py", 'x = \'# no\' # yes\ny = """\n# no\n"""', ["# yes"]),
        (
            "a.ts",
            "const u = 'http://x'; // yes\nconst t = `\n// no\n`; /* also\nthis */",
            ["// yes", "/* also\nthis */"],
        ),
        ("a.rs", "fn f<'a>(x: &'a str) {} // yes\nlet c = '\"'; // too", ["// yes", "// too"]),
        ("a.sh", 'echo "$#" "# no" # yes', ["# yes"]),
        ("a.sql", "select '-- no' -- yes", ["-- yes"]),
        ("a.yaml", "a: b#no\nc: '# no' # yes", ["# yes"]),
        ("a.ini", "; yes\na = b ; no", ["; yes"]),
        ("a.json", '{"a": "# no"}', []),
        ("a.c", "int a; /* never closed", ["/* never closed"]),
    ],
)
def test_comments_are_told_from_strings(path: str, text: str, expected: list[str]) -> None:
    """In every language, and where something is never closed."""
    assert [text[each.start : each.end] for each in spans(text, path=path) if each.comment] == expected


@pytest.mark.parametrize(
    "line", ["print(value)", "foo.bar(1, 2)", "return f(x)", "if (a) {", "import (", "x = f(", "# def f"]
)
def test_what_is_used_is_not_declared(line: str) -> None:
    """A call has no name of its own."""
    assert declared(line) is None


@pytest.mark.parametrize(
    "path, sort",
    [
        ("docs/a.MD", Sort.MARKDOWN),
        ("README", Sort.PLAIN),
        ("Dockerfile", Sort.CONFIG),
        ("a.tsx", Sort.CODE),
        ("notes", Sort.OTHER),
        (".gitignore", Sort.OTHER),
    ],
)
def test_a_name_tells_the_sort(path: str, sort: Sort) -> None:
    """By its ending, or as a whole."""
    assert sort_of(path) is sort


@pytest.mark.parametrize(
    "piece", ["/*", '"', "`\\", "'", '"""', "def f(", "# a\n", "\n", "class A:\n\n", "[", "a(a(a("]
)
@pytest.mark.parametrize("path", ["a.py", "a.ts", "a.rs", "a.md", "a.toml"])
def test_hostile_text_costs_no_more_than_its_length(piece: str, path: str) -> None:
    """Nothing that repeats, and is never closed, is looked at again and again."""
    begun = time.process_time()
    chunks(piece * (300_000 // len(piece)), path=path)
    assert time.process_time() - begun < 5
