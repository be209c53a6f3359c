"""Migration: files of agents become memories once, only what is new, and exactly that can be taken back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

import recollect
from recollect import Kind, Memory, MemoryOff, NotFound, Origin, Recollect, Scope, Source, Status
from recollect.engine.migrate import (
    MOST_BYTES,
    Migrated,
    known_files,
    migrate,
    migrations,
    unmigrate,
    user_files,
)
from recollect.engine.parts import SpaceName
from recollect.policy.kinds import TRUST
from recollect.testing import FixedClock

START = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "AKIA" + "IOSFODNN7" + "QXMPLWZ"
"""Looks like an access key; in two pieces, so that nobody takes this file for a leak."""

RULES = """# CLAUDE.md

This file provides guidance to Claude Code (claude.ai/code) when working with code in this repository.

## Testing
- Run `make test` before every commit
- Never mock the database in tests

## Storage
We chose Postgres over MySQL because of its JSON support.
"""
CONTENTS = [
    "Run `make test` before every commit",
    "Never mock the database in tests",
    "We chose Postgres over MySQL because of its JSON support.",
]


class Opener(Protocol):
    """Opens the memory of the project."""

    def __call__(self, **settings: object) -> Recollect: ...


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def opened(root: Path, tmp_path: Path, clock: FixedClock) -> Iterator[Opener]:
    with ExitStack() as memories:

        def open_one(**settings: object) -> Recollect:
            told = {key.replace("__", "."): value for key, value in settings.items()}
            home = tmp_path / "home"
            return memories.enter_context(
                recollect.open(root, home=home, clock=clock, settings=told, origin=Origin.USER_STATED, background=False)
            )

        yield open_one


@pytest.fixture
def memory(opened: Opener) -> Recollect:
    return opened()


@pytest.fixture
def rules(root: Path) -> Path:
    return written(root / "CLAUDE.md", RULES)


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def quiet(done: int, total: int) -> None:
    """Nobody looks."""


def migrated(
    memory: Recollect, *paths: Path, root: Path | None = None, space: SpaceName = "project", dry_run: bool = False
) -> Migrated:
    """What comes of migrating files into a memory."""
    return migrate(memory._parts, paths, space=space, root=root, dry_run=dry_run, progress=quiet)


def state(memory: Recollect, *, space: SpaceName = "project") -> Sequence[Memory]:
    """Every memory, whatever its status, as it is stored."""
    return memory._parts.store(space).query(limit=None)


def contents(memory: Recollect) -> list[str]:
    """What is live, in the order it was stored in."""
    return [each.content for each in sorted(memory.list(limit=1_000), key=lambda each: each.id)]


# --- Coming in ------------------------------------------------------------------------------------------------------


@pytest.mark.row("K9", "main-file", "source")
def test_a_file_becomes_memories_that_say_where_they_came_from(memory: Recollect, root: Path, rules: Path) -> None:
    """Each confirmed, trusted as an import is, with the file and the line, and no path of the machine."""
    done = migrated(memory, rules, root=root)
    assert (done.files, done.pieces, done.added, done.known, done.skipped) == (1, 3, 3, 0, ())
    assert contents(memory) == CONTENTS
    run, never, chose = sorted(state(memory), key=lambda each: each.id)
    assert (run.kind, never.kind, chose.kind) == (Kind.PROCEDURE, Kind.NEGATIVE, Kind.DECISION)
    for stored, line in ((run, 6), (never, 7), (chose, 10)):
        assert (stored.source, stored.origin, stored.trust) == (
            Source.MIGRATION,
            Origin.IMPORTED,
            TRUST[Origin.IMPORTED],
        )
        assert (stored.status, stored.scope) == (Status.CONFIRMED, Scope.PROJECT)
        assert stored.provenance[0].reason == f"from CLAUDE.md, line {line}"
        assert str(root) not in repr(stored)
    assert (run.tags, run.provenance[0].snippet) == (("testing",), "Testing")


@pytest.mark.row("K9", "folder")
def test_a_folder_of_notes_is_taken_file_by_file(memory: Recollect, root: Path) -> None:
    """All the Markdown below it, and nothing else."""
    written(root / "memory" / "2026-01-01.md", "- The staging server is called heron\n")
    written(root / "memory" / "topics" / "ports.md", "- The database listens on port 5433\n")
    written(root / "memory" / "notes.txt", "- This is no Markdown at all\n")
    done = migrated(memory, root / "memory", root=root)
    assert (done.files, done.added) == (2, 2)
    reasons = {each.provenance[0].reason for each in state(memory)}
    assert reasons == {"from memory/2026-01-01.md, line 1", "from memory/topics/ports.md, line 1"}


def test_steps_keep_their_order_as_a_procedure(memory: Recollect, root: Path) -> None:
    """One memory for all of them."""
    path = written(root / "AGENTS.md", "## Releasing\n1. Run the whole suite\n2. Push the tag\n")
    migrated(memory, path, root=root)
    [stored] = state(memory)
    assert stored.kind is Kind.PROCEDURE
    assert stored.procedure is not None
    assert (stored.procedure.name, stored.procedure.steps) == ("Releasing", ("Run the whole suite", "Push the tag"))


def test_pieces_are_tied_to_files_of_the_project_that_they_name(memory: Recollect, root: Path, tmp_path: Path) -> None:
    """Whether named from the root or from the folder of the file; never to what lies elsewhere or nowhere."""
    written(root / "src" / "cache.py", "")
    written(root / "packages" / "web" / "src" / "app.ts", "")
    written(tmp_path / "outside.py", "")
    text = (
        "- The cache in `src/cache.py` is keyed by tenant\n"
        "- The app in `src/app.ts` is what starts first\n"
        "- Both `src/gone.py` and `../../../outside.py` are not for us\n"
    )
    migrated(memory, written(root / "packages" / "web" / "CLAUDE.md", text), root=root)
    files = [each.files for each in sorted(state(memory), key=lambda each: each.id)]
    assert files == [("src/cache.py",), ("packages/web/src/app.ts",), ()]


def test_what_was_migrated_outlives_its_file(memory: Recollect, root: Path) -> None:
    """A file is often deleted once it is migrated; the garden finds nothing wrong with that."""
    path = written(root / "MEMORY.md", RULES)
    migrated(memory, path, root=root)
    path.unlink()
    assert memory.plans.make() is None
    assert len(contents(memory)) == 3


def test_secrets_stay_in_the_file(memory: Recollect, root: Path) -> None:
    """Neither stored nor shown before."""
    path = written(root / "CLAUDE.md", f"- The bucket is read with the key {SECRET} everywhere\n")
    dry = migrated(memory, path, root=root, dry_run=True)
    migrated(memory, path, root=root)
    assert SECRET not in repr(dry)
    assert SECRET not in repr(state(memory))
    assert "[redacted:" in contents(memory)[0]


def test_a_users_own_files_go_to_the_global_space_when_asked(memory: Recollect, tmp_path: Path, root: Path) -> None:
    """As preferences of theirs, tied to no file of a project."""
    written(root / "src" / "a.py", "")
    path = written(tmp_path / "user" / ".claude" / "CLAUDE.md", "- Always format `src/a.py` and the like with ruff\n")
    migrated(memory, path, root=root, space="global")
    [stored] = state(memory, space="global")
    assert (stored.scope, stored.kind, stored.anchors) == (Scope.GLOBAL, Kind.PREFERENCE, ())
    assert stored.provenance[0].reason == "from CLAUDE.md, line 1"
    assert state(memory) == ()


def test_nothing_is_longer_than_may_be_stored(opened: Opener, root: Path) -> None:
    """However low the limit is."""
    memory = opened(write__content_limit=120, write__tags_limit=1, write__batch_limit=2)
    prose = " ".join(f"A sentence of some words that is number {number}." for number in range(40))
    done = migrated(memory, written(root / "CLAUDE.md", f"## One Two\n{prose}\n"), root=root)
    assert done.skipped == ()
    assert done.added == done.pieces > 5
    assert all(len(each.content) <= 120 and each.tags == ("one",) for each in state(memory))


# --- What cannot be taken -------------------------------------------------------------------------------------------


def test_files_that_cannot_be_taken_are_skipped_with_the_reason(memory: Recollect, root: Path, rules: Path) -> None:
    """None of them keeps the others from coming in."""
    (root / "large.md").write_bytes(b"a" * (MOST_BYTES + 1))
    (root / "binary.md").write_bytes(b"\x89PNG\x00\x01")
    (root / "latin.md").write_bytes("Café".encode("latin-1"))
    os.mkfifo(root / "pipe.md")
    names = ("large.md", "binary.md", "latin.md", "pipe.md", "missing.md")
    done = migrated(memory, *(root / name for name in names), rules, root=root)
    assert done.skipped == (
        "large.md: is larger than 2,097,152 bytes",
        "binary.md: is not text",
        "latin.md: is not UTF-8 text",
        "pipe.md: is not a file",
        "missing.md: cannot be read (No such file or directory)",
    )
    assert (done.files, done.added) == (1, 3)


@pytest.mark.parametrize(
    "content",
    [
        "- The server is called Café".encode("utf-8-sig"),
        "- The server is called Café".encode("utf-16"),
        "- The server is called Café\r\n".encode(),
    ],
    ids=["mark", "wide", "windows"],
)
def test_text_is_read_however_it_is_written(memory: Recollect, root: Path, content: bytes) -> None:
    """With a mark of byte order, in two bytes a character, with other line endings."""
    (root / "CLAUDE.md").write_bytes(content)
    migrated(memory, root / "CLAUDE.md", root=root)
    assert contents(memory) == ["The server is called Café"]


def test_no_name_of_a_file_is_too_odd(memory: Recollect, root: Path, tmp_path: Path) -> None:
    """Nor does one from outside the project tell more than its name."""
    odd = written(root / "a\nb\udcff.md", "- The staging server is called heron\n")
    outside = written(tmp_path / "elsewhere" / "notes.md", "- The database listens on port 5433\n")
    done = migrated(memory, odd, outside, root=root)
    assert done.skipped == ()
    reasons = sorted(each.provenance[0].reason for each in state(memory))
    assert reasons == ["from a?b?.md, line 1", "from notes.md, line 1"]


def test_nothing_comes_in_while_memory_is_off(memory: Recollect, root: Path, rules: Path) -> None:
    """What would come in can still be seen."""
    memory.turn_off()
    with pytest.raises(MemoryOff):
        migrated(memory, rules, root=root)
    assert migrated(memory, rules, root=root, dry_run=True).added == 3
    memory.turn_on()
    assert contents(memory) == []


# --- Dry runs and second runs ---------------------------------------------------------------------------------------


def test_a_dry_run_tells_what_would_be_and_does_nothing(memory: Recollect, root: Path, rules: Path) -> None:
    """The same as is done then."""
    before = memory.audit()
    dry = migrated(memory, rules, root=root, dry_run=True)
    assert (dry.migration, dry.added, dry.known) == ("", 3, 0)
    assert [draft.content for draft in dry.drafts] == CONTENTS
    assert (memory.audit(), state(memory)) == (before, ())
    done = migrated(memory, rules, root=root)
    assert [draft.content for draft in done.drafts] == CONTENTS == contents(memory)


def test_progress_is_told_to_the_end(memory: Recollect, root: Path, rules: Path) -> None:
    """Of what is new."""
    told: list[tuple[int, int]] = []
    migrate(
        memory._parts,
        [rules],
        space="project",
        root=root,
        dry_run=False,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(3, 3)]


def test_a_second_run_adds_and_strengthens_nothing(
    memory: Recollect, root: Path, rules: Path, clock: FixedClock
) -> None:
    """Not a version, not a breadcrumb, not an entry in the audit."""
    migrated(memory, rules, root=root)
    before, told = state(memory), memory.audit(limit=None)
    clock.move(days=3)
    again = migrated(memory, rules, root=root)
    assert (again.migration, again.added, again.known, again.drafts) == ("", 0, 3, ())
    assert (state(memory), memory.audit(limit=None)) == (before, told)


def test_only_what_is_new_in_a_file_is_added_later(memory: Recollect, root: Path, rules: Path) -> None:
    """The rest is known, wherever it stands now."""
    migrated(memory, rules, root=root)
    rules.write_text(f"- The staging server is called heron\n\n{RULES}", encoding="utf-8")
    again = migrated(memory, rules, root=root)
    assert (again.added, again.known) == (1, 3)
    assert contents(memory) == [*CONTENTS, "The staging server is called heron"]


def test_what_two_files_say_is_added_once(memory: Recollect, root: Path, rules: Path) -> None:
    """AGENTS.md is often a copy of CLAUDE.md."""
    done = migrated(memory, rules, written(root / "AGENTS.md", RULES), root=root)
    assert (done.files, done.pieces, done.added, done.known) == (2, 6, 3, 3)


def test_what_was_known_before_is_left_as_it_is(memory: Recollect, root: Path, rules: Path) -> None:
    """Even what somebody stated in the same words: it is neither strengthened nor superseded."""
    memory.remember(CONTENTS[0].upper(), tags=["mine"])
    memory.remember("Never mock the database in unit tests at all")
    before = state(memory)
    done = migrated(memory, rules, root=root)
    assert (done.added, done.known) == (2, 1)
    assert [each for each in state(memory) if each.source is not Source.MIGRATION] == list(before)


@pytest.mark.parametrize("away", ["forget", "archive", "update"])
def test_what_somebody_took_away_does_not_come_back(memory: Recollect, root: Path, rules: Path, away: str) -> None:
    """A second run is no reason to bring back what was not wanted; what was reworded counts as another memory."""
    migrated(memory, rules, root=root)
    [never] = [each for each in state(memory) if each.kind is Kind.NEGATIVE]
    match away:
        case "forget":
            memory.forget(never.id)
        case "archive":
            newer = memory.remember("Fake the database in tests only where it is remote")
            memory.link(newer.ref, never.ref, kind="supersedes")
        case _:
            memory.update(never.id, "Never mock the database anywhere")
    again = migrated(memory, rules, root=root)
    assert again.added == (1 if away == "update" else 0)


# --- Taking back ----------------------------------------------------------------------------------------------------


def test_a_migration_can_be_taken_back(memory: Recollect, root: Path, rules: Path) -> None:
    """Exactly what it added is forgotten, and restorable; what was there before is as it was."""
    memory.remember("The staging server is called heron")
    before = state(memory)
    done = migrated(memory, rules, root=root)
    assert unmigrate(memory._parts, done.migration, space="project") == 3
    assert contents(memory) == ["The staging server is called heron"]
    assert [each for each in state(memory) if each.source is not Source.MIGRATION] == list(before)
    assert {each.status for each in state(memory) if each.source is Source.MIGRATION} == {Status.FORGOTTEN}
    assert unmigrate(memory._parts, done.migration, space="project") == 0


def test_each_migration_is_taken_back_by_itself(memory: Recollect, root: Path, rules: Path, clock: FixedClock) -> None:
    """They are listed, newest first, with what is left of them."""
    one = migrated(memory, rules, root=root)
    clock.move(seconds=1)
    two = migrated(memory, written(root / "GEMINI.md", "- The staging server is called heron\n"), root=root)
    parts = memory._parts
    assert list(migrations(parts, space="project").items()) == [(two.migration, 1), (one.migration, 3)]
    assert migrations(parts, space="global") == {}
    assert unmigrate(parts, one.migration, space="project") == 3
    assert contents(memory) == ["The staging server is called heron"]
    assert list(migrations(parts, space="project")) == [two.migration]


def test_what_somebody_changed_since_is_not_taken_back(memory: Recollect, root: Path, rules: Path) -> None:
    """Edited, pinned, tagged, found helpful or said again: it is theirs now. Having been recalled does not count."""
    done = migrated(memory, rules, root=root)
    run, never, chose = sorted(state(memory), key=lambda each: each.id)
    memory.pin(run.ref)
    memory.feedback(never.ref, helpful=True)
    memory.recall("Postgres JSON")
    memory._parts.habits.write()
    assert unmigrate(memory._parts, done.migration, space="project") == 1
    assert contents(memory) == [run.content, never.content]
    assert memory.get(chose.ref).status is Status.FORGOTTEN


def test_taking_back_can_be_undone(memory: Recollect, root: Path, rules: Path) -> None:
    """By undoing the plan it was done by."""
    done = migrated(memory, rules, root=root)
    before = state(memory)
    unmigrate(memory._parts, done.migration, space="project")
    memory.plans.undo()
    assert state(memory) == before
    assert migrated(memory, rules, root=root).added == 0


def test_what_was_taken_back_may_come_again(memory: Recollect, root: Path, rules: Path) -> None:
    """Unlike what somebody forgot one by one."""
    done = migrated(memory, rules, root=root)
    first = min(state(memory), key=lambda each: each.id)
    memory.forget(first.ref)
    unmigrate(memory._parts, done.migration, space="project")
    again = migrated(memory, rules, root=root)
    assert (again.added, again.known) == (2, 1)
    assert contents(memory) == CONTENTS[1:]
    assert again.migration != done.migration


def test_no_migration_of_that_name(memory: Recollect) -> None:
    """Is told so."""
    with pytest.raises(NotFound):
        unmigrate(memory._parts, "0123456789ab-cdef", space="project")


@pytest.mark.parametrize("store", ["memory:", "{}/memory.db", "json:{}/memory.json"])
def test_every_store_is_migrated_into_and_back_alike(root: Path, rules: Path, store: str, clock: FixedClock) -> None:
    """Also one that was opened by itself and has no project."""
    with recollect.open(store=store.format(root), clock=clock, background=False) as memory:
        done = migrated(memory, rules)
        assert (done.added, migrated(memory, rules).added) == (3, 0)
        assert migrations(memory._parts, space="project") == {done.migration: 3}
        assert unmigrate(memory._parts, done.migration, space="project") == 3
        assert migrated(memory, rules).added == 3


# --- Where such files are -------------------------------------------------------------------------------------------

IN_PROJECT = (
    *("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/api/naming.md", ".claude/memory/topic.md"),
    *("AGENTS.md", "GEMINI.md", "MEMORY.md", "memory/2026-01-01.md", "CONVENTIONS.md", ".cursorrules"),
    *(".cursor/rules/ts.mdc", ".github/copilot-instructions.md", ".windsurfrules", ".clinerules"),
)
OTHERS = (
    "README.md",
    "src/CLAUDE.py",
    "docs/guide.md",
    ".claude/settings.json",
    "memory/notes.txt",
    ".cursor/mcp.json",
)


@pytest.mark.row("K9", "main-file", "folder")
def test_the_files_of_agents_are_found_where_agents_keep_them(tmp_path: Path, root: Path) -> None:
    """In the project, and what Claude Code keeps about it in the home; nothing else."""
    for name in (*IN_PROJECT, *OTHERS):
        written(root / name, "- x\n")
    home = tmp_path / "user"
    slug = "".join(sign if sign.isalnum() and sign.isascii() else "-" for sign in str(root.resolve()))
    kept = [written(home / ".claude/projects" / slug / "memory" / name, "x") for name in ("MEMORY.md", "tabs.md")]
    written(home / ".claude/projects/-other/memory/MEMORY.md", "x")
    written(home / ".claude/CLAUDE.md", "x")
    found = known_files(root, home)
    assert [path.relative_to(root).as_posix() for path in found if path.is_relative_to(root)] == list(IN_PROJECT)
    assert [path for path in found if not path.is_relative_to(root)] == kept


def test_rules_may_lie_in_folders_too(tmp_path: Path, root: Path) -> None:
    """As Cline, Windsurf and Copilot have them."""
    names = (".github/instructions/ts.instructions.md", ".windsurf/rules/style.md", ".clinerules/one.md")
    for name in names:
        written(root / name, "- x\n")
    assert [path.relative_to(root).as_posix() for path in known_files(root, tmp_path)] == list(names)


def test_links_are_not_followed_out_of_the_project(tmp_path: Path, root: Path) -> None:
    """Nor is a file found twice because another name leads to it; a link that leads nowhere is none."""
    outside = written(tmp_path / "outside" / "secret.md", "- x\n")
    rules = written(root / "AGENTS.md", "- x\n")
    (root / "CLAUDE.md").symlink_to(rules)
    (root / "GEMINI.md").symlink_to(outside)
    (root / "memory").symlink_to(outside.parent)
    (root / "MEMORY.md").symlink_to(root / "nowhere.md")
    (root / ".cursorrules").symlink_to(root / ".cursorrules")
    assert known_files(root, tmp_path / "user") == [root / "CLAUDE.md"]


def test_no_file_is_no_trouble(tmp_path: Path, root: Path) -> None:
    """Neither is a folder that is not there."""
    assert known_files(root, tmp_path / "nowhere") == []
    assert known_files(root / "nowhere", tmp_path) == []
    assert user_files(tmp_path / "nowhere") == []


def test_the_files_of_a_user_are_found(tmp_path: Path) -> None:
    """Those that hold for all of their projects."""
    names = (".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md", ".config/opencode/AGENTS.md")
    for name in (*names, ".claude/projects/-p/memory/MEMORY.md"):
        written(tmp_path / name, "- x\n")
    assert [path.relative_to(tmp_path).as_posix() for path in user_files(tmp_path)] == list(names)
