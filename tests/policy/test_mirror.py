"""What edits of the mirror mean: each case by itself, and what holds for all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Kind, Memory, Procedure, Status
from recollect.model import UNSAVED, MemoryId, Uid
from recollect.policy.identity import content_hash, fingerprint
from recollect.policy.mirror import (
    PINNED,
    Adopt,
    Amend,
    Entry,
    Merge,
    Reconciliation,
    Restore,
    Version,
    contents,
    edited_version,
    entry_of,
    own_tag,
    reconciled,
)

NOW = datetime(2026, 2, 1, 9, tzinfo=UTC)
DAY = date(2026, 2, 1)
TEXTS = (
    "The scheduler uses UTC",
    "Invoices are rendered by the billing worker",
    "Coffee is served in the kitchen",
    "Tests run against a real database",
    "Chose SQLite over PostgreSQL",
)


def made(number: int, content: str, **given: object) -> Memory:
    plain = Memory(
        id=MemoryId(number),
        uid=Uid(f"00000000-0000-4000-8000-{number:012}"),
        content=content,
        created_at=NOW,
        updated_at=NOW,
    )
    memory = replace(plain, **given)  # type: ignore[arg-type]
    return replace(memory, fingerprint=fingerprint(memory.content), content_hash=content_hash(memory.content))


def facts(*texts: str) -> list[Memory]:
    return [made(number, text) for number, text in enumerate(texts, start=1)]


def shown(memories: Sequence[Memory]) -> list[Entry]:
    return [entry_of(memory) for memory in memories]


def one(result: Reconciliation) -> object:
    """The one edit that there is."""
    assert result.removals == ()
    assert result.kept == ()
    assert len(result.edits) == 1
    return result.edits[0]


NOTHING = Reconciliation()


# --- Changed ----------------------------------------------------------------------------------------------------------


def test_a_changed_line_revises_its_memory() -> None:
    """Another text under the same id is another text of the same memory."""
    ours = facts(*TEXTS)
    base = shown(ours)
    theirs = [replace(base[0], text="The scheduler uses local time", line=7), *base[1:]]
    edit = one(reconciled(base, theirs, ours))
    assert isinstance(edit, Amend)
    assert (edit.memory, edit.line, edit.edit.content) == (ours[0], 7, "The scheduler uses local time")
    assert edit.rewritten
    assert not edit.moved


def test_a_line_rewritten_from_the_ground_up_is_still_its_memory() -> None:
    """The id tells, however little the texts have in common."""
    ours = facts(*TEXTS)
    base = shown(ours)
    edit = one(reconciled(base, [replace(base[0], text="Entirely else"), *base[1:]], ours))
    assert isinstance(edit, Amend)
    assert edit.memory == ours[0]


def test_nothing_follows_from_nothing() -> None:
    """A file that says what was written, in any order, is no edit."""
    ours = facts(*TEXTS)
    base = shown(ours)
    assert reconciled(base, base, ours) == NOTHING
    assert reconciled(base, base[::-1], ours) == NOTHING


def test_what_only_memory_changed_stays_changed() -> None:
    """A line that still says what was written does not undo what memory says since."""
    before = facts(*TEXTS)
    base = shown(before)
    ours = [made(1, "The scheduler uses local time"), *before[1:]]
    assert reconciled(base, base, ours) == NOTHING


def test_two_edits_of_one_line_are_both_kept() -> None:
    """Memory keeps its own words; those of the file come in beside them, as a contradiction."""
    before = facts(*TEXTS)
    base = shown(before)
    ours = [made(1, "The scheduler uses local time"), *before[1:]]
    edit = one(reconciled(base, [replace(base[0], text="The scheduler uses TAI"), *base[1:]], ours))
    assert isinstance(edit, Adopt)
    assert (edit.draft.content, edit.against) == ("The scheduler uses TAI", ours[0])


def test_the_same_edit_on_both_sides_is_one() -> None:
    """Where file and memory were changed to the same words, nothing is left to do."""
    before = facts(*TEXTS)
    base = shown(before)
    ours = [made(1, "The scheduler uses TAI"), *before[1:]]
    assert reconciled(base, [replace(base[0], text="The scheduler uses TAI"), *base[1:]], ours) == NOTHING


@pytest.mark.parametrize("status", [Status.FORGOTTEN, Status.ARCHIVED, Status.SUPERSEDED, Status.QUARANTINED, None])
def test_a_changed_line_of_a_memory_that_left_is_a_new_memory(status: Status | None) -> None:
    """What left recall does not come back, nor do words that somebody wrote into its line get lost."""
    before = facts(*TEXTS)
    base = shown(before)
    ours = [*([replace(before[0], status=status)] if status else []), *before[1:]]
    edit = one(reconciled(base, [replace(base[0], text="The scheduler uses TAI"), *base[1:]], ours))
    assert isinstance(edit, Adopt)
    assert (edit.draft.content, edit.against) == ("The scheduler uses TAI", None)
    assert reconciled(base, base, ours) == NOTHING


def test_a_line_that_now_says_what_another_says_gives_way_to_it() -> None:
    """Two memories never say the same; the one that was there stays."""
    ours = facts(*TEXTS)
    base = shown(ours)
    edit = one(reconciled(base, [replace(base[0], text=TEXTS[1].upper()), *base[1:]], ours))
    assert edit == Merge(memory=ours[0], line=0, into=ours[1])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_one_line_gives_up_another_may_say(order: tuple[int, int]) -> None:
    """Whichever stands first in the file, the one that gives up its words is changed first."""
    ours = facts("first thing", "second thing")
    base = shown(ours)
    theirs = [replace(base[0], text="zeroth"), replace(base[1], text="FIRST thing")]
    edits = reconciled(base, [theirs[at] for at in order], ours).edits
    assert [(edit.memory.id, edit.edit.content) for edit in edits if isinstance(edit, Amend)] == [
        (1, "zeroth"),
        (2, "FIRST thing"),
    ]


def test_lines_that_changed_places_in_other_letters_are_left_alone() -> None:
    """Each says what the other said; the words are all there, and neither may be said twice in between."""
    ours = facts("first", "second")
    base = shown(ours)
    assert reconciled(base, [replace(base[0], text="SECOND"), replace(base[1], text="FIRST")], ours) == NOTHING


@pytest.mark.parametrize(
    "text, content, steps",
    [
        ("Release\n1. Raise the version\n2. Tag it\n3. Push it", None, ("Raise the version", "Tag it", "Push it")),
        ("Release\n1. Tag it", None, ("Tag it",)),
        ("Release\n1. Raise the version\n1. Tag it", None, None),
        ("Release\n1. Raise the version\n3. Tag it\n   and push", None, ("Raise the version", "Tag it\nand push")),
        ("Release\n1) Raise\n2) Tag", None, ("Raise", "Tag")),
        ("Release", None, ()),
        ("Ship it\n1. Raise the version\n2. Tag it", "Ship it", ("Raise the version", "Tag it")),
        ("1. Raise the version\n2. Tag it", "1. Raise the version\n2. Tag it", ()),
        ("Release\n1. Raise the version\nby hand\n2. Tag it", "Release\n1. Raise the version\nby hand", ("Tag it",)),
    ],
)
def test_steps_are_changed_by_number(text: str, content: str | None, steps: tuple[str, ...] | None) -> None:
    """The numbered lines below a procedure are its steps; whatever stands above them is its text."""
    procedure = Procedure(name="Release", trigger="release", steps=("Raise the version", "Tag it"))
    ours = [made(1, "Release", kind=Kind.PROCEDURE, procedure=procedure)]
    base = shown(ours)
    result = reconciled(base, [replace(base[0], text=text)], ours)
    if steps is None:  # the same steps, counted otherwise
        assert result == NOTHING
        return
    edit = one(result)
    assert isinstance(edit, Amend)
    assert edit.edit.content == content
    changed = edit.edit.procedure or procedure
    assert changed.steps == steps
    assert changed.trigger == "release"
    assert changed.name == ("Ship it" if content == "Ship it" else changed.name)


# --- New --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entry, kind",
    [
        (Entry(text="x"), Kind.FACT),
        (Entry(text="x", section="Key Decisions"), Kind.DECISION),
        (Entry(text="x", section="Never"), Kind.NEGATIVE),
        (Entry(text="x", section="Conventions"), Kind.PATTERN),
        (Entry(text="x", section="Lessons"), Kind.ERROR),
        (Entry(text="x", section="Progress"), Kind.TASK_PROGRESS),
        (Entry(text="x", section=PINNED), Kind.FACT),
        (Entry(text="x", own="Deployment"), Kind.FACT),
        (Entry(text="x", section="Architecture", own="Databases"), Kind.ARCHITECTURE),
    ],
)
def test_a_new_line_is_a_memory_of_the_kind_of_its_section(entry: Entry, kind: Kind) -> None:
    """Where somebody writes a line says what sort of knowledge it is."""
    edit = one(reconciled([], [entry], []))
    assert isinstance(edit, Adopt)
    assert edit.draft.kind is kind
    assert edit.pinned == (entry.section == PINNED)
    assert edit.draft.tags == ((own_tag(entry.own),) if entry.own else ())


def test_a_day_before_a_new_line_is_when_it_holds_from() -> None:
    """A decision that is written down later keeps the day it was made on."""
    edit = one(reconciled([], [Entry(text="Use Fastify", section="Key Decisions", day=DAY)], []))
    assert isinstance(edit, Adopt)
    assert edit.draft.valid_from == datetime(2026, 2, 1, tzinfo=UTC)


def test_a_new_how_to_has_its_steps() -> None:
    """A line with numbered lines below it, written among procedures, is a procedure."""
    edit = one(reconciled([], [Entry(text="Release\n1. Raise\n2. Tag", section="How To")], []))
    assert isinstance(edit, Adopt)
    assert edit.draft.content == "Release"
    assert edit.draft.procedure == Procedure(name="Release", steps=("Raise", "Tag"))


def test_steps_of_somebody_elses_are_not_lost_to_a_text_that_is_there() -> None:
    """Where a memory with other steps has the same text already, the whole line becomes a text of its own."""
    procedure = Procedure(name="Release", steps=("Raise", "Tag"))
    ours = [made(1, "Release", kind=Kind.PROCEDURE, procedure=procedure)]
    base = shown(ours)
    line = Entry(text="Release\n1. Ask Ada", section="How To")
    edit = one(reconciled(base, [*base, line, line], ours))
    assert isinstance(edit, Adopt)
    assert (edit.draft.content, edit.draft.procedure) == ("Release\n1. Ask Ada", None)
    assert reconciled(base, [*base, replace(base[0], id=None)], ours) == NOTHING


def test_two_edits_of_the_steps_are_both_kept() -> None:
    """What the file says of the steps comes in beside what memory says by now."""
    first, second = (Procedure(name="Release", steps=steps) for steps in (("Raise", "Tag"), ("Raise", "Push")))
    base = shown([made(1, "Release", kind=Kind.PROCEDURE, procedure=first)])
    ours = [made(1, "Release", kind=Kind.PROCEDURE, procedure=second)]
    edit = one(reconciled(base, [replace(base[0], text="Release\n1. Raise\n2. Ship")], ours))
    assert isinstance(edit, Adopt)
    assert (edit.draft.content, edit.against) == ("Release\n1. Raise\n2. Ship", ours[0])


def test_steps_that_were_changed_are_kept_where_a_line_gives_way() -> None:
    """A memory that now has the text of another leaves with the steps that its line had."""
    ours = [
        made(1, "Release", kind=Kind.PROCEDURE, procedure=Procedure(name="x", steps=("Raise",))),
        made(2, "Ship it"),
    ]
    base = shown(ours)
    amend, merge = reconciled(base, [replace(base[0], text="SHIP IT\n1. Push"), base[1]], ours).edits
    assert isinstance(amend, Amend)
    assert (amend.edit.content, amend.edit.procedure) == (None, Procedure(name="x", steps=("Push",)))
    assert merge == Merge(memory=ours[0], line=0, into=ours[1])


def test_a_new_line_that_is_remembered_already_is_nothing_new() -> None:
    """Neither a line that was left out for want of room nor one that is written twice becomes a second memory."""
    ours = facts(*TEXTS)
    base = shown(ours[:2])
    again = Entry(text=TEXTS[3])
    assert reconciled(base, [*base, again, replace(again, text=TEXTS[3].lower())], ours) == NOTHING
    twice = [Entry(text="New"), Entry(text="new", line=9)]
    assert isinstance(one(reconciled(base, [*base, *twice], ours)), Adopt)


def test_a_copied_line_that_was_changed_is_new() -> None:
    """Of two lines with one id, the one that says what was written is the memory, the other is new."""
    ours = facts(*TEXTS)
    base = shown(ours)
    edit = one(reconciled(base, [replace(base[0], text="The scheduler uses UTC or TAI"), *base], ours))
    assert isinstance(edit, Adopt)
    assert (edit.draft.content, edit.against) == ("The scheduler uses UTC or TAI", None)


def test_of_two_changed_lines_with_one_id_the_closer_is_the_memory() -> None:
    """A line that was copied, both copies changed: one revises, one is new, none is lost."""
    ours = facts(*TEXTS)
    base = shown(ours)
    far, near = replace(base[0], text="Else"), replace(base[0], text="The scheduler uses GMT")
    for theirs in ([far, near, *base[1:]], [near, far, *base[1:]]):
        edits = {type(edit): edit for edit in reconciled(base, theirs, ours).edits}
        amend, adopt = edits[Amend], edits[Adopt]
        assert isinstance(amend, Amend)
        assert isinstance(adopt, Adopt)
        assert (amend.edit.content, adopt.draft.content) == ("The scheduler uses GMT", "Else")


# --- Moved ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before, there, kind, status, tagged, untagged",
    [
        ({}, {"section": "Key Decisions"}, Kind.DECISION, None, (), ()),
        ({}, {"section": PINNED}, None, Status.PINNED, (), ()),
        ({"status": Status.PINNED}, {"section": "Project Context"}, None, Status.CONFIRMED, (), ()),
        ({"status": Status.PINNED}, {"section": "Never"}, Kind.NEGATIVE, Status.CONFIRMED, (), ()),
        ({}, {"section": "", "own": "Deployment"}, None, None, ("deployment",), ()),
        ({"tags": ("deployment",)}, {"section": "Project Context"}, None, None, (), ("deployment",)),
        ({"tags": ("deployment",)}, {"section": "Never"}, Kind.NEGATIVE, None, (), ("deployment",)),
        ({"tags": ("deployment",)}, {"section": "", "own": "Team"}, None, None, ("team",), ("deployment",)),
        ({"tags": ("deployment",)}, {"section": PINNED}, None, Status.PINNED, (), ("deployment",)),
    ],
)
def test_a_moved_line_is_what_its_section_says(
    before: dict[str, object],
    there: dict[str, str],
    kind: Kind | None,
    status: Status | None,
    tagged: tuple[str, ...],
    untagged: tuple[str, ...],
) -> None:
    """Another section is another kind, the pinned one pins, a heading of somebody's own is a tag."""
    ours = [made(1, TEXTS[0], **before)]
    base = [entry_of(ours[0], ["Deployment", "Team"])]
    theirs = [replace(base[0], **{"own": "", **there})]  # type: ignore[arg-type]
    edit = one(reconciled(base, theirs, ours))
    assert isinstance(edit, Amend)
    assert edit.moved
    assert not edit.rewritten
    assert (edit.edit.kind, edit.status, edit.tagged, edit.untagged) == (kind, status, tagged, untagged)


@pytest.mark.parametrize(
    "kind, there",
    [(Kind.FILE_CHANGE, "Progress"), (Kind.FACT, "")],
    ids=["another kind of the same section", "above all sections"],
)
def test_some_moves_mean_nothing(kind: Kind, there: str) -> None:
    """A section that shows the kind already changes nothing, nor does a place that is no section."""
    ours = [made(1, TEXTS[0], kind=kind, status=Status.PINNED if there == "Progress" else Status.CONFIRMED)]
    base = shown(ours)
    result = reconciled(base, [replace(base[0], section=there)], ours)
    if not there:
        assert result == NOTHING
    else:
        edit = one(result)
        assert isinstance(edit, Amend)
        assert (edit.edit.kind, edit.status) == (None, Status.CONFIRMED)


def test_a_decision_moved_with_its_day_says_the_same() -> None:
    """The day in front is how the section shows it, and not part of what it says."""
    ours = [made(1, "Chose SQLite", kind=Kind.DECISION)]
    base = shown(ours)
    theirs = [replace(base[0], section="Project Context", text="2026-02-01: Chose SQLite", day=None)]
    edit = one(reconciled(base, theirs, ours))
    assert isinstance(edit, Amend)
    assert (edit.edit.content, edit.edit.kind) == (None, Kind.FACT)


@pytest.mark.parametrize(
    "valid_to, valid_from",
    [(None, datetime(2026, 3, 4, tzinfo=UTC)), (datetime(2026, 2, 9, tzinfo=UTC), None)],
)
def test_another_day_is_another_time_it_holds_from(valid_to: datetime | None, valid_from: datetime | None) -> None:
    """The day before a decision can be put right, but not to one after it has ended."""
    ours = [made(1, "Chose SQLite", kind=Kind.DECISION, valid_to=valid_to)]
    base = shown(ours)
    result = reconciled(base, [replace(base[0], day=date(2026, 3, 4))], ours)
    if valid_from is None:
        assert result == NOTHING
    else:
        edit = one(result)
        assert isinstance(edit, Amend)
        assert edit.edit.valid_from == valid_from
        assert edit.rewritten
    assert reconciled(base, [replace(base[0], day=None)], ours) == NOTHING


def test_a_line_moved_in_the_file_and_changed_in_memory_is_both() -> None:
    """A move and a change of words do not stand in each other's way."""
    before = facts(*TEXTS)
    base = shown(before)
    ours = [made(1, "The scheduler uses TAI"), *before[1:]]
    edit = one(reconciled(base, [replace(base[0], section="Warnings"), *base[1:]], ours))
    assert isinstance(edit, Amend)
    assert (edit.edit.kind, edit.edit.content) == (Kind.WARNING, None)


# --- Removed ----------------------------------------------------------------------------------------------------------


def test_a_line_that_is_gone_is_to_be_forgotten() -> None:
    """Taking a line out says that it no longer holds."""
    ours = facts(*TEXTS)
    base = shown(ours)
    assert reconciled(base, base[1:], ours) == Reconciliation(removals=(ours[0],))


def test_what_memory_changed_is_not_removed() -> None:
    """Whoever took the line out had not read what it says by now."""
    before = facts(*TEXTS)
    base = shown(before)
    ours = [made(1, "The scheduler uses TAI"), *before[1:]]
    assert reconciled(base, base[1:], ours) == Reconciliation(kept=(ours[0],))


@pytest.mark.row("B3", "limit")
def test_what_was_left_out_of_the_file_is_not_removed() -> None:
    """Only what was written can be missing."""
    ours = facts(*TEXTS)
    base = shown(ours[:2])
    assert reconciled(base, base, ours) == NOTHING
    assert reconciled([], [], ours) == NOTHING


@pytest.mark.parametrize(
    "entries, gone, asks",
    [(15, 3, False), (4, 3, False), (20, 4, False), (21, 4, False), (19, 4, True), (4, 4, True), (100, 21, True)],
)
def test_more_than_a_fifth_gone_at_once_asks(entries: int, gone: int, asks: bool) -> None:
    """Up to three lines, or a fifth, go unasked."""
    ours = facts(*(f"{at} {at * 7919} {at * 104729}" for at in range(entries)))
    base = shown(ours)
    result = reconciled(base, base[gone:], ours)
    assert (len(result.removals), result.asks) == (gone, asks)


def test_a_line_that_somebody_brought_back_is_restored() -> None:
    """Undone in the editor, a removal is undone in memory: the same memory, not a new one."""
    ours = [replace(made(1, TEXTS[0]), status=Status.FORGOTTEN), made(2, TEXTS[1])]
    base = shown(ours[1:])
    assert one(reconciled(base, [entry_of(ours[0]), *base], ours)) == Restore(memory=ours[0], line=0)


@pytest.mark.parametrize("status", [Status.QUARANTINED, Status.CONFIRMED])
def test_only_what_left_recall_is_restored(status: Status) -> None:
    """What is withheld stays so until somebody reviews it; what is live is there already."""
    ours = [replace(made(1, TEXTS[0]), status=status)]
    edits = reconciled([], [entry_of(ours[0])], ours).edits
    assert not any(isinstance(edit, Restore) for edit in edits)


# --- Which line is which ----------------------------------------------------------------------------------------------


def test_lost_ids_are_recovered_by_what_lines_say() -> None:
    """A file without a single marker is read as if it had them all."""
    ours = facts(*TEXTS)
    base = shown(ours)
    assert reconciled(base, [replace(entry, id=None) for entry in base[::-1]], ours) == NOTHING


def test_a_lost_id_is_recovered_by_a_text_that_is_close() -> None:
    """A changed line without a marker is the one that it is most like."""
    ours = facts(*TEXTS)
    base = shown(ours)
    edit = one(reconciled(base, [Entry(text="The scheduler uses GMT"), *base[1:]], ours))
    assert isinstance(edit, Amend)
    assert (edit.memory, edit.edit.content) == (ours[0], "The scheduler uses GMT")


@pytest.mark.parametrize(
    "lost, written_texts",
    [
        (["Port 8080 is for the API"], ["Port 8081 is for the API", "Port 8082 is for the API"]),
        (["Port 8080 is for the API", "Port 8083 is for the API"], ["Port 8081 is for the API"]),
    ],
    ids=["one like two", "two like one"],
)
def test_what_is_close_to_several_is_new(lost: list[str], written_texts: list[str]) -> None:
    """Where it is not plain which memory a line was, it becomes one of its own."""
    ours = facts(*written_texts, *TEXTS)
    base = shown(ours)
    theirs = [*(Entry(text=text) for text in lost), *base[len(written_texts) :]]
    result = reconciled(base, theirs, ours)
    assert [type(edit) for edit in result.edits] == [Adopt] * len(lost)
    assert result.removals == tuple(ours[: len(written_texts)])


def test_swapped_ids_are_not_believed() -> None:
    """Two lines that changed places without their markers are still the same two memories."""
    ours = facts(*TEXTS)
    base = shown(ours)
    swapped = [replace(base[0], text=base[1].text), replace(base[1], text=base[0].text), *base[2:]]
    assert reconciled(base, swapped, ours) == NOTHING


def test_ids_of_another_store_mean_nothing() -> None:
    """In a file that was written elsewhere only texts tell, and what it lacks is not removed."""
    ours = facts(*TEXTS)
    base = shown(ours)
    theirs = [replace(base[0], id=MemoryId(2)), Entry(id=MemoryId(3), text="Their own finding")]
    edit = one(reconciled(base, theirs, ours, known=False))
    assert isinstance(edit, Adopt)
    assert (edit.draft.content, edit.against) == ("Their own finding", None)


def test_a_line_without_what_was_written_stands_beside_its_memory() -> None:
    """Where it is not known who changed a line, both are kept."""
    ours = facts(TEXTS[0])
    edit = one(reconciled([], [Entry(id=MemoryId(1), text="The scheduler uses TAI")], ours))
    assert isinstance(edit, Adopt)
    assert edit.against == ours[0]


# --- Which version was edited -----------------------------------------------------------------------------------------


def version(*texts: str) -> Version:
    return Version.of(shown(facts(*texts)))


@pytest.mark.parametrize(
    "texts, edited",
    [
        (("a", "b", "c"), 0),
        (("a", "b"), 1),
        (("a", "b", "new"), 1),
        (("a", "x"), 2),
        (("a", "b", "c", "new"), 0),
        (("else",), 2),
        ((), 2),
    ],
)
def test_without_a_name_the_least_difference_tells(texts: tuple[str, ...], edited: int) -> None:
    """The file is taken for an edit of the version that it is most like."""
    versions = [version("a", "b", "c"), version("a", "b"), version("a")]
    assert edited_version(versions, shown(facts(*texts))) == versions[edited]
    assert edited_version(versions, [Entry(text=text) for text in texts]) == versions[edited], "also without ids"


def test_of_versions_that_are_as_like_the_newest_is_taken() -> None:
    """Where neither texts nor places tell, what is newer is likelier; where places tell, they do."""
    there = Version.of([replace(entry, section="Never") for entry in shown(facts("a"))])
    versions = [version("a"), there, version("b")]
    assert edited_version(versions, []) == versions[0]
    assert edited_version(versions, [Entry(text="a", section="Never")]) == there


def test_a_name_tells_whatever_the_file_is_like() -> None:
    """A line that was removed is not the line that an older version lacks; an unknown name is no version at all."""
    versions = [version("a", "b"), version("a")]
    only_a = shown(facts("a"))
    assert edited_version(versions, only_a, versions[0].name) == versions[0]
    assert edited_version(versions, only_a, versions[1].name) == versions[1]
    assert edited_version(versions, only_a, "00000000") is None
    assert edited_version([], only_a) is None


def test_going_back_to_a_version_brings_back_what_the_file_removed() -> None:
    """Undone in the editor, a removal is undone; what memory itself forgot meanwhile stays forgotten."""
    memories = facts(*TEXTS)
    before = replace(Version.of(shown(memories)), taken_out=frozenset({MemoryId(1)}))
    after = Version.of(shown(memories[2:]))
    found = edited_version([after, before], shown(memories), before.name)
    assert found is not None
    ours = [replace(memory, status=Status.FORGOTTEN) for memory in memories[:2]] + memories[2:]
    result = reconciled(found.entries(TEXTS), shown(memories), ours)
    assert one(result) == Restore(memory=ours[0], line=0)
    assert edited_version([after, before], shown(memories)[:-1], before.name) == before


def test_what_a_version_lacks_is_what_came_later() -> None:
    """Neither what it shows itself, nor what the file says under any id, has come and is missing."""
    older, newer = version("a", "b"), version("a", "b", "c", "d", "e")
    theirs = [*shown(facts("a")), Entry(text="d"), Entry(id=MemoryId(5), text="changed")]
    assert older.lacks(newer, theirs) == (3,)


def test_a_version_without_the_words_shows_less() -> None:
    """What nobody can say any more, because it was erased, is not part of it."""
    assert version("a", "b").entries(["b", "c"]) == (shown(facts("a", "b"))[1],)


@pytest.mark.parametrize(
    "title, tag",
    [
        ("Deployment", "deployment"),
        ("How we  Work!", "how-we-work"),
        ("!!!", ""),
        ("Größe", "grösse"),
        ("a" * 90, "a" * 64),
    ],
)
def test_a_heading_is_a_tag(title: str, tag: str) -> None:
    """A heading of somebody's own becomes a tag that any memory may carry."""
    assert own_tag(title) == tag


# --- Whatever the edits are -------------------------------------------------------------------------------------------

words = st.sampled_from(["alpha", "beta", "gamma", "delta 1", "delta 2", "The port is 80", "The port is 81", *TEXTS])
sections = st.sampled_from(["", "Key Decisions", "Never", "Project Context", PINNED])
entries = st.builds(
    Entry,
    id=st.none() | st.integers(1, 8).map(MemoryId),
    section=sections,
    text=words,
    own=st.sampled_from(["", "", "Own"]),
)
statuses = st.sampled_from([Status.CONFIRMED] * 4 + [Status.PINNED, Status.FORGOTTEN, Status.SUPERSEDED])


@st.composite
def stores(draw: st.DrawFn) -> tuple[list[Memory], list[Entry]]:
    """Memories as they are now, and the entries that were written of what they were before."""
    texts = draw(st.lists(words, unique_by=fingerprint, max_size=6))
    before = facts(*texts)
    now = draw(st.lists(words, min_size=len(texts), max_size=len(texts)))
    kept = draw(st.lists(st.sampled_from(["same", "same", "new"]), min_size=len(texts), max_size=len(texts)))
    ours: list[Memory] = []
    taken: set[str] = set()
    for memory, text, how in zip(before, now, kept, strict=True):
        after = memory if how == "same" else made(memory.id, text)
        status = draw(statuses) if after.fingerprint not in taken else Status.FORGOTTEN
        taken |= {after.fingerprint} if status in (Status.CONFIRMED, Status.PINNED) else set()
        ours.append(replace(after, status=status))
    return ours, shown(before)


def carried_out(ours: Sequence[Memory], result: Reconciliation) -> dict[str, Memory]:
    """The live memories after the edits, by their words; fails where two would say the same."""
    live = {memory.id: memory for memory in ours if memory.active}
    for edit in result.edits:
        if isinstance(edit, Amend):
            content = edit.edit.content or edit.memory.content
            live[edit.memory.id] = replace(edit.memory, content=content, fingerprint=fingerprint(content))
        elif isinstance(edit, Merge):
            del live[edit.memory.id]
        elif isinstance(edit, Restore):
            live[edit.memory.id] = replace(edit.memory, status=Status.CONFIRMED)
        else:
            live[MemoryId(100 + len(live))] = made(100 + len(live), edit.draft.content)
        assert max(Counter(memory.fingerprint for memory in live.values()).values()) == 1
    for memory in result.removals:
        del live[memory.id]
    return {memory.fingerprint: memory for memory in live.values()}


@given(store=stores(), theirs=st.lists(entries, max_size=8), known=st.booleans())
def test_no_word_of_either_side_is_lost(
    store: tuple[list[Memory], list[Entry]], theirs: list[Entry], known: bool
) -> None:
    """Every line of the file is live afterwards, unless it only repeats what memory has let go of since it was written.

    What was live and is not shown in the file stays, and no memory leaves but by a line that is gone or says otherwise.
    """
    ours, base = store
    result = reconciled(base, theirs, ours, known=known)
    after = carried_out(ours, result)
    says = {memory.id: memory.fingerprint for memory in ours if memory.active}
    let_go = {words for entry in base if says.get(entry.id or UNSAVED) != (words := fingerprint(entry.text))}
    for entry in theirs:
        assert fingerprint(entry.text) in after or fingerprint(entry.text) in let_go
    written_ids = {entry.id for entry in base}
    for memory in ours:
        if memory.active and memory.id not in written_ids:
            assert after[memory.fingerprint].id == memory.id
    if not known:
        assert result.removals == ()


@given(store=stores(), theirs=st.lists(entries, max_size=8))
def test_edits_that_were_carried_out_are_none_any_more(
    store: tuple[list[Memory], list[Entry]], theirs: list[Entry]
) -> None:
    """Reading the same file again, before it was written anew, adds and restores nothing a second time."""
    ours, base = store
    result = reconciled(base, theirs, ours)
    live = carried_out(ours, result)
    left = [
        replace(memory, status=Status.FORGOTTEN) for memory in ours if memory.id not in {m.id for m in live.values()}
    ]
    again = reconciled(base, theirs, [*live.values(), *left])
    assert not [edit for edit in again.edits if isinstance(edit, Adopt | Restore)]


@given(
    content=st.text(min_size=1).filter(lambda text: text.strip()),
    steps=st.lists(st.text(min_size=1).filter(lambda text: text.strip()), min_size=1, max_size=4),
)
def test_steps_come_back_as_they_were(content: str, steps: list[str]) -> None:
    """Whatever the text and the steps of a procedure are, a change to one step changes nothing else."""
    procedure = Procedure(name="How", steps=tuple(steps))
    ours = [made(1, content, kind=Kind.PROCEDURE, procedure=procedure)]
    wanted = [made(1, content, kind=Kind.PROCEDURE, procedure=replace(procedure, steps=(*steps, "One more")))]
    edit = one(reconciled(shown(ours), shown(wanted), ours))
    assert isinstance(edit, Amend)
    assert (edit.edit.content, edit.edit.procedure) == (None, wanted[0].procedure)


@given(text=st.text())
def test_the_text_of_a_line_is_among_what_may_be_remembered_of_it(text: str) -> None:
    """Whatever a line is taken for, it can be looked up by."""
    entry = Entry(text=text, section="How To")
    for edit in reconciled([], [entry], []).edits:
        assert isinstance(edit, Adopt)
        assert edit.draft.content in contents(entry)


# --- Whatever has happened since --------------------------------------------------------------------------------------


def saying(number: int) -> str:
    """A text that is like no other."""
    return fingerprint(f"text {number}")


@dataclass
class Past:
    """A store, and the versions of the file that were written as it changed, each with its entries."""

    memories: dict[int, Memory] = field(default_factory=dict)
    written: list[tuple[Version, list[Entry]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def fresh(self) -> str:
        self.texts.append(saying(len(self.texts)))
        return self.texts[-1]

    def change(self, how: str, at: int) -> None:
        live = [memory for memory in self.memories.values() if memory.active]
        if how == "add" or not live:
            number = len(self.memories) + 1
            self.memories[number] = made(number, self.fresh())
            return
        memory = live[at % len(live)]
        match how:
            case "change":
                memory = made(memory.id, self.fresh(), status=memory.status, kind=memory.kind)
            case "forget":
                memory = replace(memory, status=Status.FORGOTTEN)
            case "pin":
                memory = replace(memory, status=Status.PINNED)
            case "move":
                memory = replace(memory, kind=Kind.WARNING)
        self.memories[memory.id] = memory

    def write(self) -> None:
        entries = shown([memory for memory in self.memories.values() if memory.active])
        self.written.insert(0, (Version.of(entries), entries))

    @property
    def versions(self) -> list[Version]:
        return [version for version, _ in self.written]


changes = st.tuples(st.sampled_from(["add", "add", "change", "forget", "pin", "move"]), st.integers(0, 50))


@st.composite
def pasts(draw: st.DrawFn) -> Past:
    past = Past()
    for step in draw(st.lists(st.lists(changes, max_size=5), min_size=1, max_size=8)):
        for how, at in step:
            past.change(how, at)
        past.write()
    for how, at in draw(st.lists(changes, max_size=3)):  # not written yet
        past.change(how, at)
    return past


edits = st.tuples(st.sampled_from(["remove", "remove", "change", "new", "shift"]), st.integers(0, 50))


@dataclass
class Saved:
    """What somebody made of a version."""

    entries: list[Entry]
    removed: set[int] = field(default_factory=set)
    changed: dict[int, str] = field(default_factory=dict)
    new: list[str] = field(default_factory=list)


def saved(past: Past, opened: Sequence[Entry], steps: Sequence[tuple[str, int]]) -> Saved:
    found = Saved([*opened])
    for how, at in steps:
        here = at % len(found.entries) if found.entries else 0
        if how == "new" or not found.entries:
            found.new.append(past.fresh())
            found.entries.insert(here, Entry(text=found.new[-1]))
        elif found.entries[here].id is None:
            continue
        elif how == "remove":
            found.removed.add(found.entries.pop(here).id or 0)
        elif how == "change":
            found.entries[here] = replace(found.entries[here], text=past.fresh())
            found.changed[found.entries[here].id or 0] = found.entries[here].text
        else:
            found.entries.append(found.entries.pop(here))
    found.changed = {number: text for number, text in found.changed.items() if number not in found.removed}
    return found


@pytest.mark.row("B3", "person-edits")
@given(past=pasts(), which=st.integers(0, 7), steps=st.lists(edits, max_size=6))
def test_an_edit_of_any_version_removes_what_it_removed_and_nothing_else(
    past: Past, which: int, steps: list[tuple[str, int]]
) -> None:
    """However memory has changed since somebody opened the file: what they took out goes, unless it changed meanwhile.

    All else stays, what they wrote is said, and where memory had changed the same line both are.
    """
    version, opened = past.written[which % len(past.written)]
    theirs = saved(past, opened, steps)
    ours = [*past.memories.values()]
    found = edited_version(past.versions, theirs.entries, version.name)
    assert found is not None
    result = reconciled(found.entries(past.texts), theirs.entries, ours)
    was = {entry.id: entry.text for entry in opened}
    meant = {number for number in theirs.removed if past.memories[number].active}
    same = {number for number in meant if past.memories[number].content == was[MemoryId(number)]}
    assert {memory.id for memory in result.removals} == same
    assert {memory.id for memory in result.kept} == meant - same
    after = carried_out(ours, result)
    for text in (*theirs.changed.values(), *theirs.new):
        assert fingerprint(text) in after
    for memory in ours:
        if memory.active and memory.id not in same:
            replaced = theirs.changed.get(memory.id) if memory.content == was.get(memory.id) else None
            assert fingerprint(replaced or memory.content) in after


@given(past=pasts(), which=st.integers(0, 7), steps=st.lists(edits, max_size=6))
def test_without_a_name_nothing_is_removed_that_the_likeliest_version_does_not_show(
    past: Past, which: int, steps: list[tuple[str, int]]
) -> None:
    """A version that was saved as it was is no edit; of any other, what came after the likeliest version stays."""
    _, opened = past.written[which % len(past.written)]
    theirs = saved(past, opened, steps)
    found = edited_version(past.versions, theirs.entries)
    assert found is not None
    result = reconciled(found.entries(past.texts), theirs.entries, past.memories.values())
    assert {memory.id for memory in result.removals} <= found.lines.keys()
    if not (theirs.removed or theirs.changed or theirs.new):
        assert result == NOTHING
