"""Markdown as people write it: which blocks a text is made of, and how its words are read."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.formats.markdown import Block, bare_lines, folded, inline, label, read, sentences


def outline(block: Block) -> object:
    """A block as a short value: its sort and what it holds."""
    match block.sort:
        case "heading":
            return ("h", block.level, block.text)
        case "code":
            return ("code", block.language, block.text)
        case "table":
            return ("table", *block.rows)
        case "list":
            items = [
                (item.task, item.text, *map(outline, item.blocks))
                if item.task
                else (item.text, *map(outline, item.blocks))
                for item in block.items
            ]
            return ("ol" if block.ordered else "ul", *items)
        case _:
            return block.text


BLOCKS = [
    ("# One\n\ntext", [("h", 1, "One"), "text"]),
    ("One\n===\nTwo\n---\ntext", [("h", 1, "One"), ("h", 2, "Two"), "text"]),
    ("## Closed ##\n#hashtag\n#", [("h", 2, "Closed"), "#hashtag"]),
    ("a\nb\n\nc", ["a b", "c"]),
    ("One sentence.\nAnother one.", ["One sentence.\nAnother one."]),
    ("Use Tabs\nRun Tests\nWrite Docs", ["Use Tabs\nRun Tests\nWrite Docs"]),
    ("A long one that\nGoes on", ["A long one that Goes on"]),
    ("**Docs**: here\n**Source**: there", ["**Docs**: here\n**Source**: there"]),
    ("a\n\n---\n\n* * *\n\nb", ["a", "b"]),
    ("- a\n- b", [("ul", ("a",), ("b",))]),
    ("* a\n  goes on\n\n* b", [("ul", ("a goes on",), ("b",))]),
    ("- a\nlazy line\n- b", [("ul", ("a lazy line",), ("b",))]),
    ("- a\n  - b\n    - c\n- d", [("ul", ("a", ("ul", ("b", ("ul", ("c",))))), ("d",))]),
    ("- a\n\n  second\n- b", [("ul", ("a", "second"), ("b",))]),
    ("1. a\n2. b\n3. c\n10. d", [("ol", ("a",), ("b",), ("c",), ("d",))]),
    ("1. a\n  - x\n2. b", [("ol", ("a", ("ul", ("x",))), ("b",))]),
    ("- a\n1. b", [("ul", ("a",)), ("ol", ("b",))]),
    ("intro:\n- a\n- b", ["intro:", ("ul", ("a",), ("b",))]),
    ("numbers such as\n1999. That was a year", ["numbers such as 1999. That was a year"]),
    ("baseline\n+ the rest of the line", ["baseline + the rest of the line"]),
    ("- [ ] a\n- [x] b", [("ul", ("To do", "a"), ("Done", "b"))]),
    ("```py\nx = 1\n```", [("code", "py", "x = 1")]),
    ("~~~\n```\n~~~", [("code", "", "```")]),
    ("```\nnever closed", [("code", "", "never closed")]),
    ("- a\n  ```sh\n  make\n  ```\n- b", [("ul", ("a", ("code", "sh", "make")), ("b",))]),
    ("1. a\n```sh\nmake\n```\n2. b", [("ol", ("a", ("code", "sh", "make")), ("b",))]),
    ("- a\n```\nx\n```\n- b", [("ul", ("a",)), ("code", "", "x"), ("ul", ("b",))]),
    ("> quoted\n> more\n\nout", ["quoted more", "out"]),
    ("> [!WARNING]\n> it burns", ["Warning: it burns"]),
    ("> [!NOTE]\n> by the way", ["by the way"]),
    ("> # not a heading", ["not a heading"]),
    ("a | b\n--|--\n1 | 2", [("table", ("a", "b"), ("1", "2"))]),
    ("|a|b|\n|:-:|---|\n|`x|y`|z \\| w|\n||d|", [("table", ("a", "b"), ("`x|y`", "z | w"), ("", "d"))]),
    ("text\n|a|\n|-|\n|1|", ["text", ("table", ("a",), ("1",))]),
    ("a <!-- gone --> b\n<!-- and\nthis -->\nc", ["a  b", "c"]),
    ("`<!--` stays\n<!-- as does this", ["`<!--` stays <!-- as does this"]),
    ("```\n<!-- code -->\n```", [("code", "", "<!-- code -->")]),
    ("<claude-mem-context>\nmachine text\n</claude-mem-context>\nmine", ["mine"]),
    ("<rules>\nmine\n</rules>", ["mine"]),
    ("\tindented by a tab", ["indented by a tab"]),
    ("", []),
]


@pytest.mark.parametrize("text, blocks", BLOCKS)
def test_a_text_is_read_as_blocks(text: str, blocks: list[object]) -> None:
    """As CommonMark has it, but for what people mean when they write otherwise."""
    assert [outline(block) for block in read(text)[1]] == blocks


@pytest.mark.parametrize("text", [text for text, _ in BLOCKS])
def test_line_endings_and_marks_of_order_do_not_matter(text: str) -> None:
    """A file from Windows says what the same file from elsewhere says."""
    assert read("\ufeff" + text.replace("\n", "\r\n")) == read(text)


FRONT = [
    ("---\nname: tabs\ndescription: 'Use them'\n---\nbody", {"name": "tabs", "description": "Use them"}),
    ("---\nmetadata:\n  type: user\n---\nbody", {"metadata": "", "type": "user"}),
    ("---\nglobs:\n  - a.ts\n  - b.ts\n---\nbody", {"globs": "a.ts, b.ts"}),
    ("---\ndescription: >\n  in two\n  lines\n---\nbody", {"description": "in two, lines"}),
    ("---\nNot front matter, but a rule.\n---\nbody", {}),
    ("---\nname: never closed", {}),
    ("body", {}),
]


@pytest.mark.parametrize("text, front", FRONT)
def test_front_matter_is_read_where_there_is_some(text: str, front: dict[str, str]) -> None:
    """Two rules at the top of a file are no front matter by themselves."""
    assert dict(read(text)[0]) == front


def test_blocks_know_their_lines() -> None:
    """Counted in the file, front matter, comments and all."""
    text = "---\na: b\n---\n<!-- one\ntwo -->\n# H\n\np\n\n- i\n  - j\n"
    blocks = read(text)[1]
    assert [block.line for block in blocks] == [6, 8, 10]
    assert blocks[2].items[0].line == 10
    assert blocks[2].items[0].blocks[0].items[0].line == 11


INLINE = [
    ("**bold** and *thin* and ***both***", "bold and thin and both"),
    ("__Bold words__ and _thin_", "Bold words and thin"),
    ("__init__ and snake_case_name and 2 * 3 * 4", "__init__ and snake_case_name and 2 * 3 * 4"),
    ("核心是**网关**。", "核心是网关。"),
    ("`**code**` stays, ``a ` b`` too", "`**code**` stays, ``a ` b`` too"),
    ('[text](http://x.y/z_(w)) and [`code`](a.md "title")', "text and `code`"),
    ("![alt](i.png) [![ci](a.svg)](b) ![](c.png)", "alt"),
    ("[a][1] and [[note]] and [[note|called so]]", "a and note and called so"),
    ("<https://a.b> <kbd>X</kbd><br/>next <package>", "https://a.b X next <package>"),
    (r"\*stars\* &amp; signs", "*stars* & signs"),
    ("`arr[0](x)` is code", "`arr[0](x)` is code"),
    ("  many\n  spaces ", "many spaces"),
    ("*unclosed and **this", "*unclosed and **this"),
]


@pytest.mark.parametrize("text, words", INLINE)
def test_text_is_read_without_its_marks(text: str, words: str) -> None:
    """What a person sees, with code as it was typed."""
    assert inline(text) == words


@pytest.mark.parametrize(
    "text, name, signed",
    [
        ("**Why:** because", "Why:", True),
        ("**Port** (local): 8080", "Port (local)", True),
        ("⚠ **Careful** — hot", "Careful", True),
        ("__Note__ - x", "Note", True),
        ("**bold** words", "bold", False),
    ],
)
def test_a_text_may_begin_with_a_label(text: str, name: str, signed: bool) -> None:
    """Bold words, set off by a colon or a dash or not."""
    found = label(text)
    assert found is not None
    assert (found.text, found.signed) == (name, signed)
    assert label(f"no {'x' * 20} {text}") is None


SENTENCES = [
    ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    ("Use e.g. tabs. Not v1.2 though.", ["Use e.g. tabs.", "Not v1.2 though."]),
    ("Run `a. B` first. Then (see x.) stop.", ["Run `a. B` first.", "Then (see x.) stop."]),
    ("它不是机器人。它是桥梁！好", ["它不是机器人。", "它是桥梁！", "好"]),
    ("so on etc. and more. Done.", ["so on etc. and more.", "Done."]),
    ("", []),
]


@pytest.mark.parametrize("text, found", SENTENCES)
def test_sentences_end_where_they_end(text: str, found: list[str]) -> None:
    """Not after short forms, in numbers or in code."""
    assert list(sentences(text)) == found


@given(st.text(alphabet="ab .!?,;`。\n", max_size=200))
def test_sentences_lose_nothing(text: str) -> None:
    """Whatever is not white space is in one of them, in order."""
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@given(st.text(alphabet="ab ,;—", max_size=300), st.integers(10, 80))
def test_a_folded_text_fits_and_loses_nothing(text: str, most: int) -> None:
    """Every part is short enough, and together they are the text."""
    parts = list(folded(text, most))
    assert all(0 < len(part) <= most for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


MARKS = st.sampled_from(
    (
        *("# ", "## ", "- ", "  - ", "1. ", "> ", "```", "~~~", "|", "|-|-|", "**", "*", "_", "`", "[", "](", ")"),
        *("<!--", "-->", "---", "\n", "\n\n", "    ", "\t", "a", "b c", "word.", "：", "中文", "[ ] ", "<br>", "&amp;"),
        *("\\", "\ue000", "\x00"),
    )
)


@given(st.lists(MARKS, max_size=60).map("".join))
def test_no_text_is_too_odd_to_read(text: str) -> None:
    """Whatever the marks, its blocks are in the order of its lines, and none says what is not there."""
    _, blocks = read(text)
    numbers = [block.line for block in blocks]
    assert numbers == sorted(numbers)
    assert all(1 <= number <= text.count("\n") + 1 for number in numbers)
    letters = set(text) | set(" \n")
    for block in blocks:
        assert set(block.text) <= letters | set("Warning:")
    assert set("".join(line for line, _ in bare_lines(text))) <= letters
    assert len(inline(text)) <= len(text) + 1


def test_the_bare_lines_of_a_file_are_those_that_say_something() -> None:
    """Without headings, rules, fences and marks; cells by themselves; code told apart."""
    text = "# H\n- [ ] a\n> b\n\n|c|d|\n|-|-|\n\n```\n# e\n```\nT\n===\n---\nf"
    assert [line for line in bare_lines(text) if line[0].strip()] == [
        ("a", False),
        ("b", False),
        ("c", False),
        ("d", False),
        ("# e", True),
        ("f", False),
    ]


HOSTILE = {
    "stars": "**a ",
    "brackets": "[a](",
    "open": "[",
    "ticks": "` ",
    "quotes": ">",
    "comments": "<!-- a --> ",
    "opened comments": "<!--\n",
    "rules": "- ",
    "spaces": " ",
    "cells": "| ",
    "tags": "<a ",
    "fences": "```\n",
    "dots": ". ",
}


@pytest.mark.parametrize("repeated", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_takes_no_longer_than_it_is(repeated: str) -> None:
    """Eight times the text takes about eight times as long, not sixty-four times."""
    short, long = 5_000 // len(repeated), 40_000 // len(repeated)

    def seconds(times: int) -> float:
        best = 10.0
        for _ in range(3):
            began = process_time()
            read(f"---{repeated * times}x")
            inline(repeated * times + "x")
            list(bare_lines(f"# {repeated * times}x\n-{repeated * times}|"))
            best = min(best, process_time() - began)
        return best

    assert seconds(long) < 0.05 + 30 * seconds(short)
