"""MEMORY.md as text: any memory survives the way there and back, and any text can be read."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from recollect import Kind, Memory, Procedure, Status, TooLarge
from recollect.formats.memory_md import PLAIN, Layout, Parsed, parsed, written
from recollect.model import MemoryId, Uid
from recollect.policy.mirror import SECTIONS, Entry, Version, entry_of

NOW = datetime(2026, 2, 1, 9, tzinfo=UTC)
ROOMY = 10_000_000


def made(content: str, *, number: int = 1, kind: Kind = Kind.FACT, **given: object) -> Memory:
    plain = Memory(
        id=MemoryId(number),
        uid=Uid(f"00000000-0000-4000-8000-{number:012}"),
        content=content,
        kind=kind,
        created_at=NOW,
        updated_at=NOW,
    )
    return replace(plain, **given)  # type: ignore[arg-type]


def text_of(*memories: Memory, limit: int = ROOMY, **given: object) -> str:
    return written(memories, limit=limit, **given)  # type: ignore[arg-type]


def bare(result: Parsed) -> list[Entry]:
    """The entries of a file without the lines they stand on, by id."""
    assert result.problems == ()
    return sorted((replace(entry, line=0) for entry in result.entries), key=lambda entry: entry.id or 0)


nasty = st.text(
    st.sampled_from("ab #-*+>`~\\<!&;\t\n\r\x00\x0b\x85\u00a0\u200b\u200d\u2028\ufeff|1.)\u3000é") | st.characters(),
    max_size=30,
)
pieces = st.sampled_from(
    [
        *(
            "- ",
            "# ",
            "## Key Decisions",
            "<!-- 7 -->",
            "<!--",
            "-->",
            "&#32;",
            "&amp;#32;",
            "&amp;",
            "1. one",
            "2. two",
        ),
        *("---", "```", "~~~", "<<<<<<< HEAD", "=======", ">>>>>>> theirs", "2026-01-01: ", "\n", "\n\n", "  ", "\r\n"),
        *("<!-- recollect: x -->", "*3 more memories did not fit here*", "word", "[ ] ", "* ", "\\"),
    ]
)
texts = (nasty | st.lists(pieces, max_size=8).map("".join)).filter(lambda text: text.strip())
days = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
procedures = st.builds(Procedure, name=st.just("How"), steps=st.lists(texts, min_size=1, max_size=3).map(tuple))
memories = st.lists(
    st.builds(
        made,
        texts,
        kind=st.sampled_from(Kind),
        status=st.sampled_from([Status.CANDIDATE, Status.CONFIRMED, Status.PINNED]),
        importance=st.floats(0, 1),
        tags=st.sampled_from([(), ("deployment",), ("team-2", "deployment")]),
        created_at=days,
        valid_from=st.none() | days,
        procedure=st.none() | procedures,
    ),
    max_size=6,
).map(lambda found: [replace(memory, id=MemoryId(at)) for at, memory in enumerate(found, start=1)])
layouts = st.builds(
    Layout,
    front=st.sampled_from([(), ("---", "tags: memory", "---")]),
    title=st.sampled_from(["Memory", "", "What we know"]),
    own=st.sampled_from([(), ("Deployment",), ("Team 2", "Deployment"), ("Nobody's",)]),
    mark=st.sampled_from(["", "3f2a9c01"]),
)


# --- There and back ---------------------------------------------------------------------------------------------------


@pytest.mark.row("B3", "sections")
@given(memories=memories, layout=layouts, newline=st.sampled_from(["\n", "\r\n"]))
def test_every_memory_comes_back_as_it_was(memories: list[Memory], layout: Layout, newline: str) -> None:
    """Whatever a memory says, the file that shows it gives back its text, section, day and id, and the layout."""
    text = written(memories, limit=ROOMY, layout=layout, newline=newline)
    result = parsed(text)
    assert bare(result) == [entry_of(memory, layout.own) for memory in memories]
    assert result.layout == layout
    assert "\r" not in text.replace(newline, "")


EDITORS: dict[str, Callable[[str], str]] = {
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "carriage returns only": lambda text: text.replace("\n", "\r"),
    "byte order mark": lambda text: "\ufeff" + text,
    "no newline at the end": lambda text: text.rstrip("\n"),
    "no spaces at line ends": lambda text: "\n".join(line.rstrip() for line in text.split("\n")),
    "spaces at line ends": lambda text: text.replace("\n", "  \n"),
    "empty lines between entries": lambda text: text.replace("\n- ", "\n\n- "),
    "no empty lines around headings": lambda text: re.sub(r"\n\n(#|- )", r"\n\1", text),
    "other bullets": lambda text: text.replace("\n- ", "\n* "),
    "tight markers": lambda text: re.sub(r"<!-- (\d+) -->", r"<!--\1-->", text),
}


@pytest.mark.parametrize("editor", EDITORS)
@given(memories=memories)
def test_what_editors_do_on_saving_changes_nothing(editor: str, memories: list[Memory]) -> None:
    """Line ends, white space at the end of lines, empty lines and bullets are no edits."""
    saved = EDITORS[editor](written(memories, limit=ROOMY))
    assert bare(parsed(saved)) == [entry_of(memory) for memory in memories]


@given(memories=memories, layout=layouts)
def test_markers_that_were_stripped_leave_the_texts(memories: list[Memory], layout: Layout) -> None:
    """An editor that drops comments costs the ids and nothing else, but for lines without a single letter or digit."""
    wordy = [memory for memory in memories if re.search(r"[^\W_]", memory.content.split("\n")[0])]
    text = re.sub(r" ?<!-- [0-9]+ -->", "", written(wordy, limit=ROOMY, layout=layout))
    assert [entry.id for entry in parsed(text).entries] == [None] * len(wordy)
    said = sorted(entry.text for entry in parsed(text).entries)
    assert said == sorted(entry_of(memory, layout.own).text for memory in wordy)


@pytest.mark.parametrize(
    "content, lines",
    [
        ("Uses VSCode", ["- Uses VSCode <!-- 1 -->"]),
        ("Two\nlines", ["- Two <!-- 1 -->", "  lines"]),
        ("A list:\n- one\n- two", ["- A list: <!-- 1 -->", "  - one", "  - two"]),
        ("Far\n\napart", ["- Far <!-- 1 -->", "", "  apart"]),
        ("# 1 rule", [r"- \# 1 rule <!-- 1 -->"]),
        (r"\# 1 rule", [r"- \\# 1 rule <!-- 1 -->"]),
        ("#1 rule", ["- #1 rule <!-- 1 -->"]),
        ("- a\n- b", [r"- \- a <!-- 1 -->", "  - b"]),
        ("1. one\n2. two", [r"- 1\. one <!-- 1 -->", "  2. two"]),
        ("1.5 litres", ["- 1.5 litres <!-- 1 -->"]),
        ("> said so\n> twice", [r"- \> said so <!-- 1 -->", "  > twice"]),
        ("-v is verbose", ["- -v is verbose <!-- 1 -->"]),
        ("Title\n=====\nand\n# more", ["- Title <!-- 1 -->", r"  \=====", "  and", r"  \# more"]),
        ("a\n---\nb", ["- a <!-- 1 -->", r"  \---", "  b"]),
        ("a\n- # b\n1. # c", ["- a <!-- 1 -->", r"  - \# b", r"  1. \# c"]),
        ("Run\n```sh\n# as root\nmake\n```", ["- Run <!-- 1 -->", "  ```sh", "  # as root", "  make", "  ```"]),
        ("Run\n```sh\n# as root", ["- Run <!-- 1 -->", r"  \```sh", r"  \# as root"]),
        ("Ends in a space ", ["- Ends in a space&#32; <!-- 1 -->"]),
        ("  begins so", ["- &#32; begins so <!-- 1 -->"]),
        ("Line\n", ["- Line&#10; <!-- 1 -->"]),
        ("CR\r\nLF", ["- CR&#13; <!-- 1 -->", "  LF"]),
        ("zero\u200bwidth", ["- zero&#8203;width <!-- 1 -->"]),
        ("a <!-- note -->", ["- a &#60;!-- note --> <!-- 1 -->"]),
        ("&#32; is a space", ["- &amp;#32; is a space <!-- 1 -->"]),
        ("salt & pepper &amp; so on", ["- salt & pepper &amp; so on <!-- 1 -->"]),
        ("می‌خواهم 👩‍💻", ["- می‌خواهم 👩‍💻 <!-- 1 -->"]),
    ],
)
def test_texts_are_written_as_plainly_as_they_can_be(content: str, lines: list[str]) -> None:
    """Only what an editor or Markdown would spoil looks different in the file."""
    text = text_of(made(content))
    assert text.split("\n")[text.split("\n").index("## Project Context") + 2 : -1] == lines
    assert [entry.text for entry in parsed(text).entries] == [content]


@pytest.mark.row("B13", "obsidian")
@given(memories=memories, layout=layouts)
def test_the_file_has_no_headings_but_its_own(memories: list[Memory], layout: Layout) -> None:
    """Whatever texts begin with or hold, Markdown sees sections and one entry for each memory."""
    text = written(memories, limit=ROOMY, layout=replace(layout, front=()))
    tokens = MarkdownIt("commonmark").parse(text)
    headings = [token for token in tokens if token.type == "heading_open"]
    assert [token.level for token in headings] == [0] * len(headings)
    assert len(headings) == len(re.findall(r"^#+ ", text, re.MULTILINE))
    assert sum(token.type == "list_item_open" and token.level == 1 for token in tokens) == len(memories)
    assert {token.type for token in tokens if not token.level} <= {
        *("heading_open", "inline", "heading_close", "html_block", "bullet_list_open", "bullet_list_close"),
    }


@given(memories=memories, layout=layouts)
def test_a_version_is_told_by_what_it_shows(memories: list[Memory], layout: Layout) -> None:
    """The name that a file carries is that of its entries, and costs no more room than it takes."""
    layout = replace(layout, mark="3f2a9c01")
    text = written(memories, limit=ROOMY, layout=layout, named=True)
    result = parsed(text)
    assert result.version == Version.of(result.entries).name
    assert result.layout == layout
    assert text.replace(f"-{result.version}:", ":") == written(memories, limit=ROOMY, layout=layout)
    assert written(memories, limit=len(text), layout=layout, named=True) == text


# --- Sections, order, diffs -------------------------------------------------------------------------------------------


@pytest.mark.row("B3", "sections")
@pytest.mark.row("B14", "readable")
@pytest.mark.row("B13", "obsidian")
def test_the_file_reads_like_notes_that_a_person_keeps() -> None:
    """Sections by kind, decisions with their day, steps by number, summaries by day; nothing empty is shown."""
    release = Procedure(name="Release", steps=("Raise the version", "Tag it\nand push"))
    text = text_of(
        made("Never push to main", number=9, kind=Kind.NEGATIVE, status=Status.PINNED),
        made("API uses Fastify, not Express", number=5, kind=Kind.DECISION, created_at=NOW + timedelta(days=2)),
        made("Chose SQLite over PostgreSQL", number=2, kind=Kind.DECISION),
        made("Prefers concise responses", number=3, kind=Kind.PREFERENCE),
        made("Release", number=4, kind=Kind.PROCEDURE, procedure=release),
        made("Decided on four stages", number=7, kind=Kind.SUMMARY, valid_from=NOW + timedelta(days=4)),
        made("Main languages: TypeScript, React", number=1),
    )
    head, body = text.split("\n\n", 1)
    assert head == "# Memory"
    assert body.split("\n\n", 1)[1] == (
        "## Pinned\n\n- Never push to main <!-- 9 -->\n\n"
        "## Key Decisions\n\n"
        "- 2026-02-01: Chose SQLite over PostgreSQL <!-- 2 -->\n"
        "- 2026-02-03: API uses Fastify, not Express <!-- 5 -->\n\n"
        "## User Preferences\n\n- Prefers concise responses <!-- 3 -->\n\n"
        "## How To\n\n- Release <!-- 4 -->\n  1. Raise the version\n  2. Tag it\n     and push\n\n"
        "## Project Context\n\n- Main languages: TypeScript, React <!-- 1 -->\n\n"
        "## Session Summaries\n\n### 2026-02-05\n\n- Decided on four stages <!-- 7 -->\n"
    )


def test_what_all_projects_share_is_not_called_after_one() -> None:
    """The heading is another one, which is read as the same section; the size is counted with it."""
    memory = made("Works from Bornholm", number=1)
    text = written([memory], limit=1_000, layout=replace(PLAIN, shared=True))
    assert "## Context\n" in text
    assert "Project" not in text
    assert bare(parsed(text)) == [entry_of(memory)]
    assert written([memory], limit=len(text), layout=replace(PLAIN, shared=True)) == text


def test_every_kind_has_a_section() -> None:
    """No memory is without a place in the file."""
    shown = {entry_of(made("x", kind=kind)).section for kind in Kind}
    assert shown == set(SECTIONS) - {"Pinned"}


@given(memories=memories, layout=layouts, at=st.integers(0, 5))
def test_a_memory_more_is_a_few_lines_more(memories: list[Memory], layout: Layout, at: int) -> None:
    """Without one of the memories the file is the same but for its lines and the headings that it stood alone under."""
    if not memories:
        return
    one = memories[at % len(memories)]
    whole = written(memories, limit=ROOMY, layout=layout).split("\n")
    rest = iter(written([each for each in memories if each is not one], limit=ROOMY, layout=layout).split("\n"))
    expected = next(rest, None)
    extra = []
    for line in whole:
        if line == expected:
            expected = next(rest, None)
        else:
            extra.append(line)
    assert expected is None, "a line of the smaller file is not in the larger one, or not in this order"
    assert len(extra) <= len(entry_of(one).text.split("\n")) + 5


# --- The limit --------------------------------------------------------------------------------------------------------


@pytest.mark.row("B3", "limit")
@given(memories=memories, layout=layouts, limit=st.integers(1, 900), unseen=st.sampled_from([0, 0, 1, 1_234]))
def test_the_file_is_within_its_limit(memories: list[Memory], layout: Layout, limit: int, unseen: int) -> None:
    """It never holds more than it may, says how many it leaves out, and leaves out none that would fit."""
    everything = written(memories, limit=ROOMY, layout=layout)
    nothing = written([], limit=ROOMY, unseen=len(memories) + unseen, layout=layout)
    if limit < len(nothing) and (unseen or limit < len(everything)):
        with pytest.raises(TooLarge, match="mirror") as refused:
            written(memories, limit=limit, unseen=unseen, layout=layout)
        assert refused.value.setting == "mirror.limit"
        return
    text = written(memories, limit=limit, unseen=unseen, layout=layout)
    shown = {entry.id for entry in parsed(text).entries}
    assert len(text) <= limit
    missing = [memory for memory in memories if memory.id not in shown]
    left_out = len(missing) + unseen
    told = re.search(
        r"^\*([0-9,]+) more memor(?:y|ies) did not fit here; `recollect list` shows all\.\*\n\Z", text, re.M
    )
    assert (int(told[1].replace(",", "")) if told else 0) == left_out
    kept = [memory for memory in memories if memory.id in shown]
    for memory in missing:
        # A digit or a letter of the last line may be all the room there was.
        assert len(written([*kept, memory], limit=ROOMY, unseen=left_out, layout=layout)) > limit - 3


def test_pinned_and_important_memories_are_shown_first() -> None:
    """Who is in is decided by importance, the order of those who are by their ids."""
    many = [made(f"Fact number {at:03} of many", number=at, importance=0.2) for at in range(1, 101)]
    many[97] = replace(many[97], status=Status.PINNED)
    many[50] = replace(many[50], importance=0.9)
    text = text_of(*many, limit=600)
    shown = [entry.id for entry in parsed(text).entries]
    newest = [at for at in range(100, 0, -1) if at not in (98, 51)][: len(shown) - 2]
    assert shown == [98, *sorted([51, *newest])]
    assert len(newest) > 5
    assert f"*{100 - len(shown)} more memories did not fit here" in text


def test_a_text_too_long_for_the_file_keeps_no_other_out() -> None:
    """What does not fit is left out, however important; what is smaller takes the room."""
    text = text_of(made("long " * 500, importance=1.0), made("Short", number=2, importance=0.1), limit=400)
    assert [entry.text for entry in parsed(text).entries] == ["Short"]
    assert "*1 more memory did not fit here" in text


# --- Reading what people write ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, entries",
    [
        ("- a\n* b\n+ c", ["a", "b", "c"]),
        ("Just a line", ["Just a line"]),
        ("Two\nlines\n\nand one", ["Two\nlines", "and one"]),
        ("Intro:\n- a\n- b", ["Intro:", "a", "b"]),
        ("- a\ngoes on", ["a\ngoes on"]),
        ("- a\n\nis over", ["a", "is over"]),
        ("- a\n  - b\n\t- c", ["a\n- b\n- c"]),
        ("- a\n\n  b", ["a\n\nb"]),
        ("1. one\n2. two", ["1. one\n2. two"]),
        ("> quoted\n> text", ["> quoted\n> text"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |\n|---|---|\n| 1 | 2 |"]),
        ("```\n- code\n# no heading\n\nmore\n```", ["```\n- code\n# no heading\n\nmore\n```"]),
        ("Run:\n```sh\nmake\n```", ["Run:\n```sh\nmake\n```"]),
        ("- a\n```\ncode\n```", ["a", "```\ncode\n```"]),
        ("#hashtag is no heading", ["#hashtag is no heading"]),
        ("## !!!", ["## !!!"]),
        ("##\n- a", ["a"]),
        ("***\n- a\n---", ["a"]),
        ("<!-- a note -->", ["<!-- a note -->"]),
        ("-\n- \n- a", ["a"]),
        ("- [ ] to do", ["[ ] to do"]),
        ("", []),
    ],
)
def test_whatever_people_write_is_an_entry(text: str, entries: list[str]) -> None:
    """Bullets and paragraphs are entries; what Markdown reads as part of them is part of them."""
    assert [entry.text for entry in parsed(text).entries] == entries


@pytest.mark.parametrize(
    "text, ids, entries",
    [
        pytest.param("- one <!-- 1 --> and two <!-- 2 -->", [1], ["one and two"], id="joined"),
        pytest.param("- a long line\n  wrapped <!-- 1 -->", [1], ["a long line\nwrapped"], id="wrapped"),
        pytest.param("- a long line\n  <!-- 1 -->", [1], ["a long line"], id="marker-wrapped"),
        pytest.param("- a long line\n<!-- 1 -->", [1], ["a long line"], id="marker-below"),
        pytest.param("- a <!-- 1 -->\n  - b <!-- 2 -->\n    c", [1, 2], ["a", "b\nc"], id="nested"),
        pytest.param("- <!-- 1 --> a", [1], ["a"], id="in-front"),
        pytest.param("- <!-- 1 -->\n- b <!-- 2 -->", [2], ["b"], id="emptied"),
        pytest.param("- a <!-- 0 -->", [None], ["a"], id="no-id"),
        pytest.param("a <!-- 1 -->", [1], ["a"], id="bullet-removed"),
        pytest.param("- a <!-- 1234567890123456789 -->", [None], ["a <!-- 1234567890123456789 -->"], id="too-long"),
    ],
)
def test_ids_are_found_wherever_an_edit_left_them(text: str, ids: list[int | None], entries: list[str]) -> None:
    """A marker names the entry that it stands in, and is never part of its text."""
    found = parsed(text).entries
    assert [entry.id for entry in found] == ids
    assert [entry.text for entry in found] == entries


@pytest.mark.parametrize(
    "text, place",
    [
        ("- a", ("", "", None)),
        ("# Key Decisions\n- a", ("Key Decisions", "", None)),
        ("## key decisions:\n- a", ("Key Decisions", "", None)),
        ("### Decisions ###\n- a", ("Key Decisions", "", None)),
        ("## Facts\n- a", ("Project Context", "", None)),
        ("## Key Decisions\n- 2026-02-03: a", ("Key Decisions", "", date(2026, 2, 3))),
        ("## Session Summaries\n### 2026-02-05\n- a", ("Session Summaries", "", date(2026, 2, 5))),
        ("# T\n# Deployment\n- a", ("", "Deployment", None)),
        ("## Architecture\n### Databases\n- a", ("Architecture", "Databases", None)),
        ("## Architecture\n## Databases\n- a", ("", "Databases", None)),
        ("## Databases\n- x\n## Never\n- a", ("Never", "", None)),
        ("## Team 2\n- x\n## Never\n- y\n## team-2\n- a", ("", "Team 2", None)),
    ],
)
def test_headings_say_where_an_entry_belongs(text: str, place: tuple[str, str, date | None]) -> None:
    """Known sections by their names, at any level; other headings are somebody's own; days are days."""
    last = parsed(text).entries[-1]
    assert (last.section, last.own, last.day) == place
    assert last.text == "a"


@pytest.mark.parametrize(
    "line, text, day",
    [
        ("2026-02-30: no such day", "2026-02-30: no such day", None),
        ("2026-02-03:no space", "2026-02-03:no space", None),
        ("2026-02-03: 2026-02-04: twice", "2026-02-04: twice", date(2026, 2, 3)),
        ("2026-02-03: ", "2026-02-03:", None),
    ],
)
def test_only_a_day_before_a_text_is_a_day(line: str, text: str, day: date | None) -> None:
    """What merely looks like a date stays part of the text."""
    entry = parsed(f"## Key Decisions\n- {line}").entries[0]
    assert (entry.text, entry.day) == (text, day)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("- a\n<<<<<<< HEAD\n- b\n=======\n- c\n>>>>>>> x\n", "line 2: a merge was not finished"),
        ("- a\n||||||| base\n", "line 2: a merge was not finished"),
        ("- a\x00b", "NUL"),
        ("- a\n\n```\nnever closed\n- b <!-- 2 -->\n", "line 3: a block of code begins here and never ends"),
    ],
)
def test_a_file_that_is_not_whole_is_not_read(text: str, problem: str) -> None:
    """A merge that is not finished, a block that never ends and binary data give a problem and no entries."""
    result = parsed(text)
    assert problem in result.problems[0]
    assert result.entries == ()


@given(text=st.text() | st.lists(pieces | st.sampled_from(["a", "b <!-- 3 -->", "\n- "]), max_size=30).map("".join))
def test_no_word_of_any_text_is_dropped(text: str) -> None:
    """Whatever a file holds, every word is in an entry or in what stays of the layout, and nothing is raised."""
    result = parsed(text)
    if result.problems:
        return
    layout = result.layout
    days = (str(entry.day) for entry in result.entries if entry.day)
    kept = " ".join((*(entry.text for entry in result.entries), *layout.front, layout.title, *layout.own, *days))
    known = {*re.findall(r"\w+", kept), *re.findall(r"\w+", " ".join(SECTIONS))}
    ours = re.compile(r"<!-- recollect(?: [0-9a-f]{4,16})?: .*-->|\*?[0-9,]+ more memor(?:y|ies) did not fit here\b.*")
    lines = (line for line in re.split(r"\r\n|\r|\n", text) if not ours.fullmatch(line.rstrip()))
    plain = re.sub(r"<!--[ \t]*\d+[ \t]*-->|&#\d+;|&(?:amp;)+|\b2026-01-01\b", " ", "\n".join(lines))
    assert {word for word in re.findall(r"\w+", plain) if word.strip("_")} <= known | {"amp"}


@given(text=st.text() | st.lists(pieces | st.sampled_from(["## Own", "\n- x"]), max_size=20).map("".join))
def test_what_stays_of_a_layout_stays_for_good(text: str) -> None:
    """A layout that was read once and written is read the same again."""
    result = parsed(text)
    again = parsed(written([], limit=ROOMY, layout=result.layout))
    assert again.problems == ()
    assert again.layout == result.layout
    assert again.entries == ()
