"""MEMORY.md as a real file: written, edited by whatever means, taken back; killed, fought over, broken."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import ConfigError, Kind, LinkKind, Memory, Origin, Procedure, Recollect, Scope, Status, TooLarge
from recollect.config import Settings
from recollect.engine.mirror import ACTOR, Mirror, Taken
from recollect.engine.project import Project
from recollect.formats.memory_md import parsed
from recollect.model import Mark, MemoryId
from recollect.policy.identity import canonical_text
from recollect.policy.mirror import SECTIONS, contents
from recollect.testing import FixedClock

START = datetime(2026, 2, 1, 9, tzinfo=UTC)
TEXTS = (
    "The scheduler uses UTC",
    "Invoices are rendered by the billing worker",
    "Coffee is served in the kitchen",
    "Tests run against a real database",
    "The cache is keyed by tenant",
    "Logs are kept for thirty days",
)
NOTHING = Taken()


class Desk:
    """A memory, its mirror, and somebody who edits it."""

    def __init__(self, memory: Recollect, mirror: Mirror) -> None:
        self.memory = memory
        self.mirror = mirror

    @property
    def text(self) -> str:
        return self.mirror.path.read_text(encoding="utf-8")

    def save(self, text: str | bytes) -> None:
        """Save the file in place, some while ago: nobody is at it any more."""
        self.mirror.path.write_bytes(text if isinstance(text, bytes) else text.encode())
        past = time.time() - 10
        os.utime(self.mirror.path, (past, past))

    def edit(self, old: str, new: str) -> None:
        assert old in self.text
        self.save(self.text.replace(old, new))

    def said(self) -> dict[str, str]:
        """What every live memory says, by its reference."""
        return {memory.ref: memory.content for memory in self.memory.list(limit=1_000)}


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Recollect]:
    (tmp_path / "project").mkdir()
    place = tmp_path / "project"
    with recollect.open(place, home=tmp_path / "home", clock=clock, actor="ada", background=False) as opened:
        yield opened


def mirror_of(memory: Recollect, **settings: object) -> Mirror:
    """The mirror of an open memory, with other settings of its own."""
    assert memory.identity is not None
    parts = memory._parts
    chosen = replace(parts.settings, mirror=Settings.Mirror(**settings))  # type: ignore[arg-type]
    return Mirror.of(replace(parts, settings=chosen), memory.identity)


@pytest.fixture
def desk(memory: Recollect) -> Desk:
    for text in TEXTS:
        memory.remember(text)
    found = Desk(memory, mirror_of(memory))
    assert found.mirror.write()
    return found


# --- Writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("B3", "agent-writes")
@pytest.mark.row("B13", "readable-files")
def test_the_file_lies_beside_the_store_and_shows_what_is_remembered(memory: Recollect) -> None:
    """It is in the project's folder under the home, only its owner can read it, and it grows with memory."""
    memory.remember("Chose SQLite over PostgreSQL", kind="decision")
    mirror = mirror_of(memory)
    assert mirror.write()
    assert memory.identity is not None
    assert mirror.path == memory.identity.folder / "MEMORY.md"
    assert "- 2026-02-01: Chose SQLite over PostgreSQL <!-- 1 -->" in mirror.path.read_text()
    for name in ("MEMORY.md", ".MEMORY.md.base"):
        assert (memory.identity.folder / name).stat().st_mode & 0o777 == 0o600


def test_a_file_that_would_say_the_same_is_not_touched(desk: Desk) -> None:
    """Nothing to write leaves the file and its time as they are."""
    desk.save(desk.text)
    before = desk.mirror.path.stat()
    assert not desk.mirror.write()
    assert desk.mirror.take_edits() == NOTHING
    desk.memory.recall("scheduler")
    assert not desk.mirror.write()
    after = desk.mirror.path.stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


def test_only_what_is_live_and_of_the_project_for_good_is_shown(memory: Recollect) -> None:
    """Session, task and global memories, and what has left recall or is withheld, are not."""
    memory.remember("Shown")
    memory.remember("Of a session", scope="session", session="s")
    memory.remember("Of a task", scope="task", task="t")
    memory.remember("Of everybody", scope="global")
    memory.forget(memory.remember("Forgotten").ref)
    memory.archive(memory.remember("Archived").ref)
    withheld = memory.remember("Withheld").memory
    memory._parts.project().apply([Mark(id=withheld.id, status=Status.QUARANTINED)], actor="x", now=START)
    mirror = mirror_of(memory)
    mirror.write()
    assert [entry.text for entry in parsed(mirror.path.read_text()).entries] == ["Shown"]


@pytest.mark.row("B3", "limit")
def test_what_does_not_fit_is_counted_and_stays_remembered(memory: Recollect) -> None:
    """A file within its limit says how many it leaves out; reading it back takes none of them for removed."""
    memory.remember_many([f"Fact number {at:04} of very many" for at in range(500)])
    memory.pin(500)
    desk = Desk(memory, mirror_of(memory, limit=2_000))
    desk.mirror.write()
    shown = parsed(desk.text).entries
    assert len(desk.text) <= 2_000
    assert shown[0].id == 500
    assert f"*{500 - len(shown)} more memories did not fit here" in desk.text
    desk.edit(shown[1].text, "Changed")
    assert desk.mirror.take_edits().changed == (str(shown[1].id),)
    assert len(desk.said()) == 500


@pytest.mark.row("B3", "limit")
def test_the_limit_is_fifty_thousand_characters(memory: Recollect) -> None:
    """Unless the settings say otherwise, the file holds at most what the document allows."""
    memory.remember_many([f"{at:04} {'long text ' * 60}" for at in range(200)])
    mirror = mirror_of(memory)
    mirror.write()
    assert 48_000 < len(mirror.path.read_text()) <= 50_000


def test_many_short_memories_fill_the_file(memory: Recollect) -> None:
    """However short they are, the file is filled with as many as fit."""
    memory.remember_many([f"{at}" for at in range(1_000)])
    mirror = mirror_of(memory, limit=10_000)
    mirror.write()
    text = mirror.path.read_text()
    assert 9_900 < len(text) <= 10_000
    assert f"*{1_000 - len(parsed(text).entries)} more memories" in text


def test_a_limit_without_room_for_anything_is_said(memory: Recollect) -> None:
    """It is a setting that is wrong, and it is named."""
    memory.remember("The scheduler uses UTC")
    with pytest.raises(TooLarge, match="mirror") as refused:
        mirror_of(memory, limit=20).write()
    assert "mirror.limit" in refused.value.hint


# --- Edits come back --------------------------------------------------------------------------------------------------


@pytest.mark.row("B3", "person-edits")
def test_changed_added_moved_and_removed_lines_come_back(desk: Desk) -> None:
    """Each edit is a change of the memory that it is about, by the file and no other, and the file shows it."""
    desk.memory.remember("Use tabs", kind="pattern")
    desk.mirror.write()
    text = desk.text.replace("The scheduler uses UTC", "The scheduler uses local time")
    text = text.replace("- Coffee is served in the kitchen <!-- 3 -->\n", "")
    text = text.replace("- Logs are kept for thirty days <!-- 6 -->\n", "")
    text = text.replace("## Conventions\n", "## Conventions\n\n- Logs are kept for thirty days <!-- 6 -->\n")
    desk.save(text.replace("## Project", "## Never\n\n- Push to main on Fridays\n\n## Project"))
    taken = desk.mirror.take_edits()
    assert taken == Taken(changed=("1",), added=("8",), removed=("3",), moved=("6",))
    assert desk.said()["1"] == "The scheduler uses local time"
    added = desk.memory.get(8)
    assert (added.content, added.kind, added.origin, added.trust) == (
        "Push to main on Fridays",
        Kind.NEGATIVE,
        Origin.OBSERVED,
        0.8,
    )
    assert desk.memory.get(3).status is Status.FORGOTTEN
    assert desk.memory.get(6).kind is Kind.PATTERN
    actors = {entry.actor for entry in desk.memory._parts.project().audit(newest_first=True, limit=4)}
    assert actors == {ACTOR}
    assert "- Push to main on Fridays <!-- 8 -->" in desk.text
    assert desk.mirror.take_edits() == NOTHING
    assert desk.memory.restore(3).content == TEXTS[2]


def test_a_caller_that_knows_who_edited_says_so(desk: Desk) -> None:
    """What a person wrote is trusted as a person is."""
    desk.save(desk.text + "\n- Never deploy on Fridays\n")
    (ref,) = desk.mirror.take_edits(origin=Origin.USER_STATED).added
    assert (desk.memory.get(ref).origin, desk.memory.get(ref).trust) == (Origin.USER_STATED, 1.0)


def test_history_keeps_what_a_line_said_before(desk: Desk) -> None:
    """A change in the file is a version like any other, and says where it came from."""
    desk.edit("The scheduler uses UTC", "The scheduler uses TAI")
    desk.mirror.take_edits()
    memory = desk.memory.get(1)
    assert [version.memory.content for version in desk.memory.history(1)] == ["The scheduler uses UTC"]
    assert memory.provenance[-1].reason == "edited in MEMORY.md"


def test_steps_pins_days_and_own_headings_come_back(memory: Recollect) -> None:
    """Everything that the file shows of a memory can be changed in it."""
    steps = ("Raise the version", "Tag it")
    memory.remember("Release", kind="procedure", procedure=Procedure(name="Release", steps=steps))
    memory.remember("Chose SQLite", kind="decision")
    memory.remember("Deploys need the VPN")
    desk = Desk(memory, mirror_of(memory))
    desk.mirror.write()
    text = desk.text.replace("2. Tag it", "2. Tag it\n  3. Push it").replace("2026-02-01: Chose", "2025-12-24: Chose")
    text = text.replace("- Deploys need the VPN <!-- 3 -->\n", "")
    text = f"---\ntags: memory\n---\n# What we know{text.removeprefix('# Memory')}"
    desk.save(
        f"{text}\n## Deployment\n\n- Deploys need the VPN <!-- 3 -->\n- Blue before green\n\n## Pinned\n- Be kind\n"
    )
    assert desk.mirror.take_edits() == Taken(changed=("2", "1"), moved=("3",), added=("4", "5"))
    procedure = memory.get(1).procedure
    assert procedure is not None
    assert procedure.steps == (*steps, "Push it")
    assert memory.get(2).valid_from == datetime(2025, 12, 24, tzinfo=UTC)
    assert memory.get(3).tags == memory.get(4).tags == ("deployment",)
    assert memory.get(5).status is Status.PINNED
    assert desk.text.startswith("---\ntags: memory\n---\n\n# What we know\n")
    assert desk.text.endswith("## Deployment\n\n- Deploys need the VPN <!-- 3 -->\n- Blue before green <!-- 4 -->\n")
    desk.mirror.path.unlink()
    assert desk.mirror.write()
    assert "# What we know" in desk.text, "the layout outlives the file"


def test_secrets_in_the_file_are_not_stored_and_leave_it(desk: Desk) -> None:
    """What somebody types into the file is redacted like any other writing, headings and front matter too."""
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    desk.save(f"---\nkey: {key}\n---\n{desk.text}\n- The token is {key}\n\n## Token {key}\n\n- Keep it\n")
    taken = desk.mirror.take_edits()
    assert len(taken.added) == 2
    assert taken.problems == ()
    assert key not in desk.text
    home = desk.memory.home
    assert home is not None
    assert [path for path in home.rglob("*") if path.is_file() and key.encode() in path.read_bytes()] == []


def rename(path: Path, text: str) -> None:
    """As vim and most others save: another file takes the place of the old one."""
    other = path.with_name("MEMORY.md~")
    other.write_text(text, encoding="utf-8")
    os.replace(other, path)


def in_place(path: Path, text: str) -> None:
    """As nano and echo save."""
    path.write_text(text, encoding="utf-8")


EDITORS: dict[str, tuple[Callable[[Path, str], None], Callable[[str], str]]] = {
    "in place": (in_place, lambda text: text),
    "by renaming": (rename, lambda text: text),
    "with carriage returns": (in_place, lambda text: text.replace("\n", "\r\n")),
    "without a newline at the end": (in_place, lambda text: text.rstrip("\n")),
    "with a byte order mark": (in_place, lambda text: "\ufeff" + text),
    "without comments": (rename, lambda text: re.sub(r" *<!--.*?-->", "", text)),
    "in another order": (rename, lambda text: "\n## ".join(["", *reversed(text.split("\n## ")[1:])])),
}


@pytest.mark.row("B3", "person-edits")
@pytest.mark.parametrize("editor", EDITORS)
def test_however_an_editor_saves_only_the_edit_counts(desk: Desk, editor: str) -> None:
    """Line ends, lost markers and another order of sections change nothing but what was changed."""
    desk.memory.remember("Use tabs", kind="pattern")
    desk.mirror.write()
    save, does = EDITORS[editor]
    before = desk.said()
    save(desk.mirror.path, does(desk.text))
    assert desk.mirror.take_edits() == NOTHING
    save(desk.mirror.path, does(desk.text.replace("The scheduler uses UTC", "The scheduler uses GMT")))
    assert desk.mirror.take_edits() == Taken(changed=("1",))
    assert desk.said() == before | {"1": "The scheduler uses GMT"}
    assert b"\r\n" in desk.mirror.path.read_bytes() or editor != "with carriage returns"


# --- Two at once ------------------------------------------------------------------------------------------------------


@pytest.mark.row("B3", "person-edits")
def test_two_edits_of_one_line_are_a_conflict_and_none_is_lost(desk: Desk) -> None:
    """What memory says stays, what the file says is stored beside it, and somebody may settle which holds."""
    desk.edit("The scheduler uses UTC", "The scheduler uses TAI")
    desk.memory.update(1, "The scheduler uses GMT")
    assert desk.mirror.take_edits() == Taken(conflicts=(("1", "7"),))
    assert (desk.said()["1"], desk.said()["7"]) == ("The scheduler uses GMT", "The scheduler uses TAI")
    assert [(each.older.ref, each.newer.ref) for each in desk.memory.conflicts()] == [("1", "7")]
    (link,) = desk.memory.links(7)
    assert (link.kind, link.made_by) == (LinkKind.CONTRADICTS, ACTOR)
    assert "The scheduler uses GMT <!-- 1 -->" in desk.text
    assert "The scheduler uses TAI <!-- 7 -->" in desk.text


def test_a_line_removed_in_the_file_and_changed_in_memory_stays(desk: Desk) -> None:
    """Nobody meant to remove what it says by now."""
    desk.edit("- The scheduler uses UTC <!-- 1 -->\n", "")
    desk.memory.update(1, "The scheduler uses GMT")
    assert desk.mirror.take_edits() == Taken(kept=("1",))
    assert "The scheduler uses GMT <!-- 1 -->" in desk.text


def test_what_memory_changed_meanwhile_is_not_undone_by_a_stale_file(desk: Desk) -> None:
    """An edit of one line takes none of the other lines back to what they were."""
    desk.memory.update(2, "Invoices are rendered by nobody")
    desk.memory.forget(3)
    desk.memory.remember("Brand new")
    desk.edit("The scheduler uses UTC", "The scheduler uses TAI")
    assert desk.mirror.take_edits() == Taken(changed=("1",))
    assert desk.said()["2"] == "Invoices are rendered by nobody"
    assert "3" not in desk.said()
    assert "Brand new" in desk.text


def test_what_is_in_the_file_is_never_written_over(desk: Desk) -> None:
    """Edits come first: a file that holds some is not written until they are taken."""
    desk.edit("The scheduler uses UTC", "The scheduler uses TAI")
    desk.memory.remember("Brand new")
    assert not desk.mirror.write()
    assert "TAI" in desk.text
    assert desk.mirror.take_edits().changed == ("1",)
    assert "Brand new" in desk.text


def test_a_line_brought_back_is_the_same_memory(desk: Desk) -> None:
    """Undone in the editor after it was taken, a removal is undone in memory."""
    before = desk.text
    desk.edit("- The scheduler uses UTC <!-- 1 -->\n", "")
    assert desk.mirror.take_edits() == Taken(removed=("1",))
    desk.save(before)
    assert desk.mirror.take_edits() == Taken(restored=("1",))
    assert desk.text == before
    assert desk.said()["1"] == TEXTS[0]


def test_a_line_added_forgotten_and_added_again_is_remembered_again(desk: Desk) -> None:
    """That a request was seen before is no reason not to do it when it is meant."""
    before = desk.text
    for ref in ("7", "8"):
        desk.save(before + "\n- Ask Ada\n")
        assert desk.mirror.take_edits() == Taken(added=(ref,))
        desk.memory.forget(ref)
        assert desk.mirror.write()
        assert desk.text == before


def test_many_threads_take_an_edit_once(desk: Desk) -> None:
    """Whoever comes first takes it; the others find nothing to do."""
    desk.save(desk.text.replace("uses UTC", "uses TAI") + "\n- Ask Ada\n- Ask Bob\n")
    taken: list[Taken] = []
    threads = [threading.Thread(target=lambda: taken.append(desk.mirror.take_edits())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, taken)) == sorted(map(str, [Taken(changed=("1",), added=("7", "8")), *[NOTHING] * 5]))
    assert desk.memory.get(7).reinforcements == ()


# --- Outdated copies --------------------------------------------------------------------------------------------------


@pytest.mark.row("B3", "person-edits")
@pytest.mark.parametrize("path", [None, "MEMORY.md"], ids=["under the home", "in the repository"])
def test_a_copy_from_before_takes_nothing_away_that_came_since(memory: Recollect, path: str | None) -> None:
    """Saved over a newer file, it changes and removes what its own lines say, and nothing else."""
    for text in TEXTS:
        memory.remember(text)
    desk = Desk(memory, mirror_of(memory, path=path))
    desk.mirror.write()
    outdated = desk.text
    for at in range(4):
        memory.remember(f"Said meanwhile, number {at} of {at * 7919}")
        desk.mirror.write()
    memory.update(2, "Invoices are rendered by the day worker")
    memory.update(4, "Tests run against a copy")
    memory.forget(6)
    desk.mirror.write()
    desk.save(without(outdated, "3").replace("uses UTC", "uses TAI").replace("a real database", "nothing"))
    later = () if path is None else ("7", "8", "9", "10")
    assert desk.mirror.take_edits() == Taken(changed=("1",), removed=("3",), conflicts=(("4", "11"),), later=later), (
        "only a file without a name leaves a doubt"
    )
    said = desk.said()
    assert (said["1"], said["2"]) == ("The scheduler uses TAI", "Invoices are rendered by the day worker")
    assert (said["4"], said["11"]) == ("Tests run against a copy", "Tests run against nothing")
    assert {*said} == {"1", "2", "4", "5", "7", "8", "9", "10", "11"}
    assert {str(entry.id) for entry in parsed(desk.text).entries} == {*said}
    assert desk.mirror.take_edits() == NOTHING


def test_the_line_that_came_last_can_be_removed(desk: Desk) -> None:
    """A file without it is what was there before to the letter, but for the name of the version."""
    desk.memory.remember("Said last")
    desk.mirror.write()
    desk.save(without(desk.text, "7"))
    assert desk.mirror.take_edits() == Taken(removed=("7",))


def test_a_copy_too_old_to_be_known_takes_nothing_away(desk: Desk) -> None:
    """Lines that say what memory once said are no edits, others are kept beside it, and none is taken for removed."""
    outdated = desk.text
    desk.memory.update(1, "The scheduler uses GMT")
    desk.memory.update(2, "Invoices are rendered by the day worker")
    desk.memory.forget(4)
    for at in range(10):
        desk.memory.remember(f"Said meanwhile, number {at} of {at * 7919}")
        desk.mirror.write()
    before = desk.said()
    desk.save(without(outdated, "3").replace("billing worker", "night worker") + "\n- Ask Ada\n")
    taken = desk.mirror.take_edits()
    assert (taken.added, taken.conflicts) == (("18",), (("2", "17"),))
    assert set(taken.later) == {"3", *(str(number) for number in range(7, 17))}
    assert taken == Taken(added=taken.added, conflicts=taken.conflicts, later=taken.later)
    assert desk.said() == before | {"17": "Invoices are rendered by the night worker", "18": "Ask Ada"}


def test_a_name_that_was_stripped_leaves_the_likeliest_version(desk: Desk) -> None:
    """An editor that drops comments costs certainty: what came since stays, and that is told."""
    outdated = re.sub(r" *<!--.*?-->", "", desk.text)
    desk.memory.remember("Said meanwhile")
    desk.mirror.write()
    desk.save(outdated.replace("uses UTC", "uses TAI"))
    assert desk.mirror.take_edits() == Taken(changed=("1",), later=("7",))
    assert desk.said()["7"] == "Said meanwhile"


def test_what_was_erased_is_not_kept_in_what_was_written_before(desk: Desk) -> None:
    """The past of the file knows no words, and stays small."""
    for at in range(20):
        desk.memory.update(1, f"The scheduler uses clock {at}")
        desk.mirror.write()
    folder = desk.mirror.path.parent
    past = folder / ".MEMORY.md.past"
    assert past.stat().st_mode & 0o777 == 0o600
    assert past.stat().st_size < 2_000
    assert "scheduler" not in past.read_text()


# --- Asking first -----------------------------------------------------------------------------------------------------


def without(text: str, *refs: str) -> str:
    return "".join(
        line for line in text.splitlines(keepends=True) if not any(f"<!-- {ref} -->" in line for ref in refs)
    )


def test_more_than_a_fifth_gone_waits_for_a_yes(desk: Desk) -> None:
    """Other edits are taken at once; the file stays as it is until somebody says that they are meant to be gone."""
    gone = ("1", "2", "3", "4")
    desk.save(without(desk.text, *gone) + "\n- Ask Ada\n")
    edited = desk.text
    assert desk.mirror.take_edits() == Taken(added=("7",), waiting=gone)
    assert desk.mirror.take_edits() == Taken(waiting=gone)
    assert not desk.mirror.write()
    assert desk.text == edited
    assert len(desk.said()) == 7
    assert desk.mirror.take_edits(confirmed=True) == Taken(removed=gone)
    assert set(desk.said()) == {"5", "6", "7"}
    assert desk.memory.restore(1).active


def test_a_no_brings_the_lines_back(desk: Desk) -> None:
    """Refused, the removal is undone in the file, and the other edits stand."""
    desk.save(without(desk.text, "1", "2", "3", "4") + "\n- Ask Ada\n")
    assert desk.mirror.bring_back() == Taken(added=("7",))
    assert [entry.id for entry in parsed(desk.text).entries] == [1, 2, 3, 4, 5, 6, 7]
    assert desk.mirror.take_edits() == NOTHING


def test_a_file_that_is_missing_is_written_anew(desk: Desk) -> None:
    """No file is not an empty file."""
    before = desk.text
    desk.mirror.path.unlink()
    assert desk.mirror.take_edits() == NOTHING
    assert desk.text == before
    assert len(desk.said()) == 6


def test_a_file_from_elsewhere_waits_for_a_yes(memory: Recollect) -> None:
    """What lies there before the first writing, with or without marks of another store, is not taken unasked."""
    memory.remember("Ours")
    for mark in ("", "<!-- recollect 0123abcd: … -->\n"):
        mirror = mirror_of(memory, path=f"NOTES{len(mark)}.md")
        text = f"# Notes\n{mark}\n- Theirs {len(mark)} <!-- 1 -->\n"
        mirror.path.write_text(text)
        taken = mirror.take_edits()
        assert "was not written here" in taken.problems[0]
        assert not mirror.write()
        assert mirror.path.read_text() == text
        taken = mirror.take_edits(confirmed=True)
        assert len(taken.added) + len(taken.conflicts) == 1
        assert f"Theirs {len(mark)}" in {each.content for each in memory.list()}
        assert memory.get(1).content == "Ours"


def test_a_file_of_another_store_takes_nothing_away(desk: Desk) -> None:
    """Pulled from somebody who has another memory, it adds what is new, and its ids are not ours."""
    theirs = re.sub(r"<!-- recollect [\w-]+:", "<!-- recollect 0123abcd:", without(desk.text, "2", "3", "4", "5"))
    desk.save(
        theirs.replace("<!-- 6 -->", "<!-- 1 -->").replace("UTC <!-- 1 -->", "UTC <!-- 6 -->") + "- New <!-- 4 -->\n"
    )
    assert desk.mirror.take_edits() == Taken(added=("7",))
    assert desk.said() == {str(at): text for at, text in enumerate((*TEXTS, "New"), start=1)}


# --- Files that cannot be read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data, problem",
    [
        (b"# Memory\n\n- caf\xe9 <!-- 1 -->\n", "line 3: is not UTF-8 text"),
        (b"- a\n<<<<<<< HEAD\n- b\n=======\n- c\n>>>>>>> x\n", "a merge was not finished"),
        (b"- a\n\n```\n- b\n", "a block of code begins here and never ends"),
        (b"- a\x00b\n", "NUL"),
        (b"", "is empty"),
        (b"\n  \n", "is empty"),
        (b"- fine\n- " + b"long " * 2_000 + b"\n", "line 2: content: 9,999 characters where at most 8,000"),
        (b"- x\n" * 600_000, "ordinary size"),
    ],
    ids=["latin-1", "unmerged", "open-block", "binary", "empty", "blank", "too-long", "too-large"],
)
def test_a_file_that_cannot_be_read_is_left_as_it_is(desk: Desk, data: bytes, problem: str) -> None:
    """It is told why, the file is not touched, and memory goes on as before."""
    desk.save(data)
    before = desk.mirror.path.stat()
    taken = desk.mirror.take_edits()
    assert problem in taken.problems[0]
    assert taken == Taken(problems=taken.problems)
    desk.memory.remember("Goes on")
    with pytest.raises(recollect.BadFile) if problem == "ordinary size" else pytest.MonkeyPatch.context():
        assert not desk.mirror.write()
    assert desk.mirror.path.read_bytes() == data
    assert desk.mirror.path.stat().st_mtime_ns == before.st_mtime_ns
    assert len(desk.said()) == 7


def test_what_is_no_file_is_left_alone(desk: Desk) -> None:
    """A folder or a pipe where the file should be is neither read nor replaced."""
    desk.mirror.path.unlink()
    desk.mirror.path.mkdir()
    assert "not an ordinary file" in desk.mirror.take_edits().problems[0]
    desk.mirror.path.rmdir()
    os.mkfifo(desk.mirror.path)
    assert "not an ordinary file" in desk.mirror.take_edits().problems[0]
    assert desk.mirror.path.is_fifo()


def test_while_memory_is_off_the_file_rests(desk: Desk) -> None:
    """Nothing is captured from it and nothing written to it."""
    desk.edit("uses UTC", "uses TAI")
    desk.memory.turn_off()
    assert "switched off" in desk.mirror.take_edits().problems[0]
    assert not desk.mirror.write()
    desk.memory.turn_on()
    assert desk.mirror.take_edits().changed == ("1",)


def test_a_file_that_cannot_be_written_is_told_and_memory_has_the_edits(desk: Desk) -> None:
    """What was taken was taken, whether the file can be written anew or not."""
    desk.save(desk.text + "\n- Ask Ada\n")
    in_the_way = desk.mirror.path.with_name(f".MEMORY.md.{os.getpid()}.tmp")
    in_the_way.mkdir()
    taken = desk.mirror.take_edits()
    assert taken.added == ("7",)
    assert "cannot be written" in taken.problems[0]
    desk.memory.forget(7)
    in_the_way.rmdir()
    assert desk.mirror.take_edits().added == ("8",), "a line that is in the file and forgotten meanwhile is said again"
    assert "Ask Ada <!-- 8 -->" in desk.text


# --- In the repository ------------------------------------------------------------------------------------------------


def test_a_file_in_the_repository_keeps_its_place_and_mode(memory: Recollect, tmp_path: Path) -> None:
    """It lies where the setting says, links inside the root are followed, and others may still read it."""
    mirror = mirror_of(memory, path="docs/MEMORY.md")
    memory.remember(TEXTS[0])
    assert mirror.write()
    assert mirror.path == tmp_path / "project" / "docs" / "MEMORY.md"
    mirror.path.chmod(0o644)
    memory.remember(TEXTS[1])
    assert mirror.write()
    assert mirror.path.stat().st_mode & 0o777 == 0o644
    link = tmp_path / "project" / "LINK.md"
    link.symlink_to(mirror.path)
    linked = mirror_of(memory, path="LINK.md")
    assert linked.take_edits(confirmed=True) == NOTHING
    memory.remember(TEXTS[2])
    assert linked.write()
    assert link.is_symlink()
    assert TEXTS[2] in mirror.path.read_text()


@pytest.mark.parametrize("path", ["../MEMORY.md", "/etc/passwd", "docs/../../MEMORY.md"])
def test_a_path_out_of_the_root_is_refused(memory: Recollect, path: str) -> None:
    """A setting cannot place the file outside of the project."""
    with pytest.raises(ConfigError, match=r"mirror\.path"):
        mirror_of(memory, path=path)


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_link_out_of_the_root_is_not_followed(memory: Recollect, tmp_path: Path, linked: str) -> None:
    """A repository cannot have another file read or overwritten by linking to it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "MEMORY.md").write_text("- private\n")
    here = tmp_path / "project" / "docs"
    if linked == "folder":
        here.symlink_to(outside)
    else:
        here.mkdir()
        (here / "MEMORY.md").symlink_to(outside / "MEMORY.md")
    mirror = mirror_of(memory, path="docs/MEMORY.md")
    taken = mirror.take_edits(confirmed=True)
    assert "leads out of" in taken.problems[0]
    with pytest.raises(recollect.BadFile, match="leads out of"):
        mirror.write()
    assert (outside / "MEMORY.md").read_text() == "- private\n"
    assert memory.list() == ()


def test_worktrees_have_a_file_each(memory: Recollect, tmp_path: Path) -> None:
    """One memory, two working trees: what one file does not show yet is not taken for removed from it."""
    assert memory.identity is not None
    other = tmp_path / "worktree"
    other.mkdir()
    one = mirror_of(memory, path="MEMORY.md")
    parts = replace(memory._parts, settings=replace(memory.settings, mirror=Settings.Mirror(path="MEMORY.md")))
    two = Mirror.of(parts, Project(id=memory.identity.id, name="p", folder=memory.identity.folder, root=other))
    memory.remember("First")
    assert one.write()
    assert two.write()
    memory.remember("Second")
    assert one.write()
    assert two.take_edits() == NOTHING
    assert two.write()
    assert {each.content for each in memory.list()} == {"First", "Second"}
    assert two.path.read_text() == one.path.read_text()


# --- Killed -----------------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
import recollect
from recollect.engine import mirror as module

project, home, fatal = sys.argv[1], sys.argv[2], int(sys.argv[3])
write, calls = module.write_private, []

def dying(path, chunks):
    calls.append(path)
    if len(calls) == fatal:
        os.kill(os.getpid(), signal.SIGKILL)
    write(path, chunks)
    if -len(calls) == fatal:
        os.kill(os.getpid(), signal.SIGKILL)

module.write_private = dying
with recollect.open(project, home=home, background=False) as memory:
    module.Mirror.of(memory._parts, memory.identity).take_edits()
"""


@pytest.mark.parametrize("fatal", [1, 2, 3, -3])
@pytest.mark.parametrize("then", ["as it is", "edited again"])
def test_a_kill_between_taking_and_writing_changes_nothing_twice(
    desk: Desk, tmp_path: Path, fatal: int, then: str
) -> None:
    """Killed before, while or after the file is written, the next call finishes it: each edit is done once."""
    text = without(desk.text, "6").replace("uses UTC", "uses TAI").replace("billing worker", "night worker")
    desk.save(text + "\n- Ask Ada\n")
    desk.memory.update(2, "Invoices are rendered by the day worker")
    places = (str(tmp_path / "project"), str(tmp_path / "home"), str(fatal))
    died = subprocess.run([sys.executable, "-c", KILLED, *places], check=False)
    assert died.returncode == -signal.SIGKILL
    state = {memory.uid: memory.version for memory in desk.memory.list(limit=100)}
    if then == "edited again":
        desk.edit("Coffee is served", "Tea is served")
    taken = desk.mirror.take_edits()
    assert taken == (Taken(changed=("3",)) if then == "edited again" else NOTHING)
    assert set(desk.said().values()) == {
        "The scheduler uses TAI",
        "Invoices are rendered by the day worker",
        "Invoices are rendered by the night worker",
        f"{'Tea' if then == 'edited again' else 'Coffee'} is served in the kitchen",
        *TEXTS[3:5],
        "Ask Ada",
    }
    after = {memory.uid: memory.version for memory in desk.memory.list(limit=100) if memory.ref != "3"}
    assert after.items() <= state.items()
    assert desk.memory.get(6).status is Status.FORGOTTEN
    assert len(parsed(desk.text).entries) == 7
    assert desk.mirror.take_edits() == NOTHING


# --- Watching ---------------------------------------------------------------------------------------------------------


class Watched:
    """A mirror that is being watched."""

    def __init__(self, desk: Desk, interval: float) -> None:
        self.told: list[Taken] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=lambda: desk.mirror.watch(self._stop, interval=interval, told=self.told.append)
        )

    def __enter__(self) -> Watched:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)
        assert not self._thread.is_alive()


def within(seconds: float, holds: Callable[[], bool]) -> float:
    """How long it took until something held."""
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < seconds, "not in time"
        time.sleep(0.02)
    return time.monotonic() - begun


@pytest.mark.row("B3", "person-edits")
def test_the_watcher_notices_an_edit_within_five_seconds(desk: Desk) -> None:
    """At its usual pace, an edit is in memory and a memory in the file before anybody waits for it."""
    with Watched(desk, 2.0) as watched:
        time.sleep(0.3)
        desk.mirror.path.write_text(desk.text.replace("uses UTC", "uses TAI"))
        within(5, lambda: desk.said()["1"] == "The scheduler uses TAI")
        desk.memory.remember("Brand new")
        within(5, lambda: "Brand new" in desk.text)
    assert watched.told == [Taken(changed=("1",))]


def test_the_watcher_waits_while_somebody_is_saving(desk: Desk) -> None:
    """A file that is being written piece by piece is read when it is whole."""
    text = desk.text + "\n- The end\n"
    with Watched(desk, 0.05) as watched:
        time.sleep(0.3)
        with desk.mirror.path.open("w") as file:
            for at in range(0, len(text), 100):
                file.write(text[at : at + 100])
                file.flush()
                time.sleep(0.05)
        within(5, lambda: "The end" in desk.said().values())
    assert watched.told == [Taken(added=("7",))]
    assert len(desk.said()) == 7


def test_the_watcher_goes_on_after_trouble(desk: Desk) -> None:
    """A file that cannot be read is told of once; once it can be, it is read. A file that is deleted comes back."""
    with Watched(desk, 0.05) as watched:
        time.sleep(0.3)
        desk.mirror.path.write_bytes(b"- caf\xe9\n")
        within(5, lambda: len(watched.told) == 1)
        assert "not UTF-8" in watched.told[0].problems[0]
        time.sleep(0.5)
        desk.mirror.path.unlink()
        within(5, desk.mirror.path.exists)
        time.sleep(0.2)
        desk.mirror.path.write_text(desk.text + "\n- After all\n")
        within(5, lambda: "After all" in desk.said().values())
    assert len(watched.told) == 2


# --- Whatever somebody does -------------------------------------------------------------------------------------------

lines = st.sampled_from(
    [
        *("- A new line", "plain words", "  further words", "", "## Key Decisions", "## Own heading", "### 2026-01-05"),
        *("- 2026-01-03: decided then", "1. step", "- Release\n  1. one\n  2. two", "> quoted", "* starred", "---"),
        *(
            "<!-- a comment -->",
            "- one <!-- 2 --> two <!-- 3 -->",
            "- stray <!-- 99 -->",
            "# Another title",
            "## Never",
        ),
        *("## Pinned", "- with &#32; and &amp;#32;", "\t- tabbed", "```\nfenced\n```", "- The scheduler uses gmt"),
    ]
)
operations = st.tuples(
    st.sampled_from(["delete", "copy", "swap", "insert", "replace", "append", "unmark", "cut", "shout", "join"]),
    st.integers(0, 400),
    st.integers(0, 400),
    lines,
)


def edited(text: str, steps: list[tuple[str, int, int, str]]) -> str:
    """A text after somebody was at it."""
    found = text.split("\n")
    for what, here, there, line in steps:
        one, two = here % len(found), there % len(found)
        match what:
            case "delete":
                del found[one]
            case "copy":
                found.insert(two, found[one])
            case "swap":
                found[one], found[two] = found[two], found[one]
            case "insert":
                found.insert(one, line)
            case "replace":
                found[one] = line
            case "append":
                found[one] += " more"
            case "unmark":
                found[one] = re.sub(r" <!-- \d+ -->", "", found[one])
            case "cut":
                found[one] = found[one][: there % 20]
            case "shout":
                found[one] = found[one].replace("uses", "USES")
            case "join":
                found[one : one + 2] = [" ".join(found[one : one + 2])]
        found = found or [""]
    return "\n".join(found)


def fill(memory: Recollect) -> None:
    memory.remember("Chose SQLite over PostgreSQL", kind="decision")
    for text in TEXTS:
        memory.remember(text)
    memory.remember("Two\nlines and\n\n- a list", kind="pattern")
    steps = ("Raise the version", "Tag it")
    memory.remember("Release", kind="procedure", procedure=Procedure(name="Release", steps=steps))
    memory.remember("What a session came to", kind="summary")
    memory.pin(3)


def kept_texts(memory: Recollect) -> str:
    """Everything that the store can still tell: what memories say and said, whatever became of them."""
    store = memory._parts.project()
    told: list[str] = []
    for each in store.query(limit=None):
        for state in (each, *(version.memory for version in store.history(each.id))):
            told += [state.content, *(state.procedure.steps if state.procedure else ()), *state.tags]
            told += [str(state.valid_from or state.created_at)[:10]]
    return "\n".join(told)


def words(text: str) -> set[str]:
    """The words of a text, without markers, references, numbers of steps and headings that are days."""
    ours = r"<!-- recollect .*?-->|<!-- *\d+ *-->|&#\d+;|&amp;|^ *\d+[.)]|^#+ \d{4}-\d\d-\d\d$"
    plain = re.sub(ours, " ", text, flags=re.MULTILINE)
    return set(re.findall(r"[\w]*[^\W_][\w]*", plain))


@pytest.mark.row("B3", "person-edits")
@given(
    steps=st.lists(operations, max_size=8), elsewhere=st.lists(st.integers(0, 30), max_size=3), seed=st.integers(0, 9)
)
def test_no_edit_of_the_file_or_of_memory_is_ever_lost(
    steps: list[tuple[str, int, int, str]], elsewhere: list[int], seed: int
) -> None:
    """Whatever is done to the file while memory changes too: no word is lost, and a second look finds nothing."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        with recollect.open(store="memory:", home=place / "home", clock=FixedClock(START), background=False) as memory:
            fill(memory)
            desk = Desk(memory, Mirror(memory._parts, place / "p" / "MEMORY.md", folder=place / "p"))
            desk.mirror.write()
            text = edited(desk.text, steps)
            desk.save(text)
            meddle(memory, elsewhere, random.Random(seed))
            before = {each.id: each for each in memory.list(limit=100)}
            taken = desk.mirror.take_edits(confirmed=True)
            assert not taken.problems or not text.strip() or "block of code" in taken.problems[0]
            known = words(kept_texts(memory)) | words(desk.text) | words(" ".join(SECTIONS))
            assert words(text) - known == set()
            for number, each in before.items():
                now = memory.get(number)
                assert now.status in (Status.CONFIRMED, Status.PINNED, Status.FORGOTTEN, Status.SUPERSEDED)
                assert each.content in {now.content, *(version.memory.content for version in memory.history(number))}
            if not taken.problems:
                desk.mirror.write()
                assert desk.mirror.take_edits() == NOTHING
                assert not desk.mirror.write()


def meddle(memory: Recollect, numbers: list[int], chance: random.Random) -> None:
    """Change memory while somebody edits the file."""
    for number in numbers:
        ref = 1 + number % 10
        if not memory.get(ref).active:
            continue
        match chance.choice(["update", "forget", "remember", "pin"]):
            case "update":
                memory.update(ref, f"Updated {number} {chance.random()}")
            case "forget":
                memory.forget(ref)
            case "remember":
                memory.remember(f"Remembered {number} {chance.random()}")
            case "pin":
                memory.pin(ref)


@given(steps=st.lists(operations, max_size=8))
def test_after_its_edits_are_taken_the_file_says_what_it_said(steps: list[tuple[str, int, int, str]]) -> None:
    """While nobody else changes memory, the file that is written anew has the entries that somebody saved."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        with recollect.open(store="memory:", home=place / "home", clock=FixedClock(START), background=False) as memory:
            fill(memory)
            desk = Desk(memory, Mirror(memory._parts, place / "p" / "MEMORY.md", folder=place / "p"))
            desk.mirror.write()
            text = edited(desk.text, steps)
            desk.save(text)
            if desk.mirror.take_edits(confirmed=True).problems:
                return
            assert said(desk.text) == said(text)


def said(text: str) -> set[str]:
    """What the entries of a text say, however they are dated or spelled, and whatever their steps are."""
    texts = (min(contents(entry), key=len) for entry in parsed(text).entries)
    return {canonical_text(re.sub(r"^\d{4}-\d\d-\d\d: ", "", text)) for text in texts}


def test_memories_named_by_the_file_that_are_not_shown_in_it_are_left_alone(memory: Recollect) -> None:
    """An id in the file cannot reach a memory of a session."""
    secret: Memory = memory.remember("Of a session", scope=Scope.SESSION, session="s").memory
    memory.remember("Of the project")
    desk = Desk(memory, mirror_of(memory))
    desk.mirror.write()
    desk.save(desk.text + f"\n- Overwritten <!-- {secret.id} -->\n")
    assert desk.mirror.take_edits() == Taken(added=("3",))
    assert memory._parts.project().get(MemoryId(secret.id)) == secret
