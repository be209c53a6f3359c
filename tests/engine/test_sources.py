"""The files of a project in a real repository: read, left out, followed through changes, and found again."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import InvalidInput, Recollect
from recollect.engine import sources
from recollect.engine.sources import Extracted, listed_items
from recollect.errors import MemoryOff, ProjectError
from recollect.model import Define
from recollect.testing import FixedClock, HashEmbedder

SECRET = "ghp_" + "9aB3xK7mQ2wE5rT8yU1iO4pA6sD0fGhJkLzX"
GUIDE = "# Guide\n\nThe server must hold at most 500 connections.\n\n- [ ] write the second part\n"
CODE = 'class Walk:\n    """A walk over the links of a graph."""\n\n    # TODO(ada): stop at circles\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a document and some code."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    write(folder, "docs/guide.md", GUIDE)
    write(folder, "src/walk.py", CODE)
    return folder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with recollect.open(store=str(tmp_path / "memory.db"), clock=FixedClock(), background=False) as opened:
        yield opened


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def write(root: Path, path: str, text: str | bytes) -> Path:
    """A file that was last changed long enough ago for its time to be relied on."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    past = time.time_ns() - 3_600 * 10**9 - len(text)
    os.utime(file, ns=(past, past))
    return file


def extract(memory: Recollect, root: Path, **options: Any) -> Extracted:
    options.setdefault("progress", lambda done, total: None)
    return sources.extract(memory._parts, root, **options)


def items(memory: Recollect) -> list[tuple[str, int, str, str]]:
    """What is known of files: where, what sort, and its title."""
    return [(each.file, each.item.line, each.item.type.value, each.item.title) for each in listed_items(memory._parts)]


def documents(memory: Recollect, query: str, corpus: str = "sources") -> set[str]:
    """The files in which a word is found."""
    return {each.passage.document for each in memory.search_passages(query, corpus=corpus, limit=100, profile="words")}


def whole_store(memory: Recollect, tmp_path: Path) -> bytes:
    """Every byte that is on disk."""
    memory.close()
    return b"".join(path.read_bytes() for path in tmp_path.glob("memory*") if path.is_file())


# Reading


@pytest.mark.row("B4", "entities", "claims", "tasks", "citations")
@pytest.mark.row("B10", "items", "sources")
def test_what_files_say_is_found(memory: Recollect, root: Path) -> None:
    """As items with file and line, and as chunks with the lines they have."""
    told = extract(memory, root)
    assert (told.files, told.read, told.unchanged, told.items, told.chunks) == (2, 2, 0, 4, 2)
    assert items(memory) == [
        ("docs/guide.md", 3, "claim", "The server must hold at most 500 connections"),
        ("docs/guide.md", 5, "task", "write the second part"),
        ("src/walk.py", 2, "entity", "Walk"),
        ("src/walk.py", 4, "task", "stop at circles"),
    ]
    best = memory.search_passages("how many connections", corpus="items")[0].passage
    assert (best.document, best.label) == ("docs/guide.md", "claim The server must hold at most 500 connections")
    assert isinstance(best.payload, dict)
    assert best.payload.keys() == {"id", "type", "title", "line", "confidence"}
    best = memory.search_passages("walk over a graph", corpus="sources")[0].passage
    assert (best.document, best.label, best.payload) == ("src/walk.py", "Walk", {"first": 1, "last": 4})


@pytest.mark.row("B6", "full-text", "vectors")
def test_sources_are_found_by_words_and_by_vectors(tmp_path: Path, root: Path) -> None:
    """Each alone leads to them."""
    with recollect.open(
        store=str(tmp_path / "memory.db"), clock=FixedClock(), background=False, embedder=HashEmbedder()
    ) as memory:
        extract(memory, root)
        memory.embed_pending()
        for profile in ("words", "vectors"):
            assert memory.search_passages("links of a graph", corpus="sources", profile=profile)[
                0
            ].passage.document == ("src/walk.py")


def test_only_what_is_asked_for_is_made(memory: Recollect, root: Path) -> None:
    """Items or chunks; what was made before is kept up to date from then on."""
    assert (extract(memory, root, what={"items"}).items, documents(memory, "graph")) == (4, set())
    added = extract(memory, root, what={"sources"})
    assert (added.read, added.chunks, documents(memory, "graph")) == (2, 2, {"src/walk.py"})
    write(root, "src/walk.py", CODE.replace("graph", "forest"))
    changed = extract(memory, root, what={"items"})
    assert (changed.read, documents(memory, "graph"), documents(memory, "forest")) == (1, set(), {"src/walk.py"})


def test_only_the_paths_that_are_asked_for_are_read(memory: Recollect, root: Path) -> None:
    """A file or a folder, by its path in the tree or on the machine; others stay as they are."""
    assert extract(memory, root, paths=["docs"]).files == 1
    assert extract(memory, root, paths=[str(root / "src" / "walk.py")]).read == 1
    (root / "docs" / "guide.md").unlink()
    assert extract(memory, root, paths=["src"]).expired == 0
    assert extract(memory, root, paths=["."]).expired == 1


def test_what_cannot_be_meant_is_refused(memory: Recollect, root: Path) -> None:
    """Paths outside, nothing to make, no folder; and nothing expires for it."""
    extract(memory, root)
    for options in ({"paths": ["../other"]}, {"paths": ["/etc"]}, {"paths": "docs"}, {"what": ()}, {"what": "items"}):
        with pytest.raises(InvalidInput):
            extract(memory, root, **options)
    with pytest.raises(ProjectError):
        extract(memory, root / "missing")
    assert len(items(memory)) == 4


def test_nothing_is_read_while_memory_is_off(tmp_path: Path, root: Path) -> None:
    """As with everything that writes."""
    with recollect.open(root, home=tmp_path / "home", background=False) as memory:
        memory.turn_off()
        with pytest.raises(MemoryOff):
            extract(memory, root)


def test_progress_is_told(memory: Recollect, root: Path) -> None:
    """File by file, out of all."""
    told: list[tuple[int, int]] = []
    extract(memory, root, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


def test_a_folder_without_git_is_read_as_well(memory: Recollect, tmp_path: Path) -> None:
    """And its ignore files count."""
    folder = tmp_path / "plain"
    write(folder, "guide.md", GUIDE)
    write(folder, "private/notes.md", GUIDE)
    write(folder, ".gitignore", "private/\n")
    told = extract(memory, folder)
    assert {file for file, *_ in items(memory)} == {"guide.md"}
    assert ("private/notes.md", "is ignored by .gitignore") in told.skipped


# Left out


@pytest.mark.row("J26", "ignored-files")
def test_ignored_files_are_never_read(memory: Recollect, tmp_path: Path, root: Path) -> None:
    """Whichever ignore file names them, tracked or not, in any folder; not a word of them is stored."""
    write(root, "build/out.md", "The wombat must never be told.\n")
    write(root, "hidden.md", "The wombat must never be told.\n")
    write(root, "plans/secret.md", "The wombat must never be told.\n")
    write(root, "plans/open.md", "The plan must be known to all.\n")
    write(root, "forced.md", "The wombat must never be told.\n")
    git(root, "add", "forced.md")
    write(root, ".gitignore", "build/\nforced.md\n")
    write(root, ".recollectignore", "hidden.md\n")
    write(root, "plans/.secretsignore", "*\n!open.md\n")
    told = extract(memory, root)
    assert {file for file, *_ in items(memory)} == {"docs/guide.md", "src/walk.py", "plans/open.md"}
    assert dict(told.skipped) == {
        "forced.md": "is ignored by .gitignore",
        "hidden.md": "is ignored by .recollectignore",
        "plans/.secretsignore": "is ignored by .secretsignore",
        "plans/secret.md": "is ignored by .secretsignore",
    }
    assert b"wombat" not in whole_store(memory, tmp_path)


@pytest.mark.row("J26", "ignored-files")
def test_ignore_files_above_the_folder_count(memory: Recollect, root: Path) -> None:
    """Where a part of a repository is read, all of the repository's rules hold for it."""
    write(root, ".secretsignore", "docs/private*\n")
    write(root, "docs/private.md", GUIDE)
    assert extract(memory, root / "docs").skipped == (("private.md", "is ignored by .secretsignore"),)
    assert {file for file, *_ in items(memory)} == {"guide.md"}


def test_a_line_that_is_no_pattern_is_told(memory: Recollect, root: Path) -> None:
    """The others still count."""
    write(root, ".recollectignore", "[z-a]\ndocs/\n")
    told = extract(memory, root)
    assert told.notes == (".recollectignore, line 1: is no pattern, so it ignores nothing",)
    assert {file for file, *_ in items(memory)} == {"src/walk.py"}


@pytest.mark.row("J26", "secrets", "ignored-files")
def test_secrets_reach_the_disk_in_no_way(memory: Recollect, tmp_path: Path, root: Path) -> None:
    """Not from files that are there for them, nor from others, nor in a name; and lines keep their numbers."""
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7bq0zV3kFJ9x\n" * 6 + "-----END RSA PRIVATE KEY-----\n"
    write(root, ".env", f"TOKEN={SECRET}\n")
    write(root, "deploy.key", key)
    write(root, "config/secrets.yaml", f"token: {SECRET}\n")
    write(root, "src/client.py", f'KEY = """\n{key}"""\n# TODO: rotate {SECRET} soon\n')
    write(root, f"docs/{SECRET}.md", GUIDE)
    told = extract(memory, root, folder=tmp_path / "project")
    assert [each for each in items(memory) if each[0] == "src/client.py"] == [
        ("src/client.py", 11, "task", "rotate [redacted:github-token] soon")
    ]
    assert documents(memory, "redacted private key") == {"src/client.py"}
    reasons = {why for _, why in told.skipped}
    assert reasons == {"may hold secrets", "has a name that holds what is never stored"}
    mirror = (tmp_path / "project" / "items.json").read_bytes()
    assert SECRET.encode() not in mirror
    stored = whole_store(memory, tmp_path)
    assert SECRET.encode() not in stored
    assert b"MIIEowIBAAKCAQEA7bq0zV3kFJ9x" not in stored


@pytest.mark.parametrize(
    "path, content, why",
    [
        ("a.md", b"\x00\x01\x02", "is binary"),
        ("a.md", "naïve".encode("latin-1"), "is not UTF-8"),
        ("a.md", b"x" * 1_000_001, "is larger than 1 MB"),
        ("a.go", b"// Code generated by protoc. DO NOT EDIT.\n", "is made by a program"),
        ("poetry.lock", b"a\n", "is a lock file"),
        ("vendor/a.go", b"a\n", "is not this project's own"),
    ],
)
def test_what_is_not_read_is_told_with_the_reason(
    memory: Recollect, root: Path, path: str, content: bytes, why: str
) -> None:
    """And the rest is read."""
    write(root, path, content)
    told = extract(memory, root)
    assert told.skipped == ((path, why),)
    assert told.read == 2


def test_links_lead_nowhere(memory: Recollect, tmp_path: Path, root: Path) -> None:
    """Neither to files outside nor to others inside."""
    outside = write(tmp_path, "outside.md", "The wombat must never be told.\n")
    (root / "link.md").symlink_to(outside)
    (root / "folder").symlink_to(tmp_path)
    told = extract(memory, root)
    assert {path for path, _ in told.skipped} == {"link.md", "folder"}
    assert documents(memory, "wombat") == set()


# Again


@pytest.mark.row("B4", "replaced")
def test_reading_again_replaces(memory: Recollect, root: Path) -> None:
    """What a file says no longer is gone, what it still says has the same id, and others are not read."""
    extract(memory, root)
    before = {each.item.title: each.item.id for each in listed_items(memory._parts)}
    write(root, "docs/guide.md", "# Guide\n\nHello there.\n\n- [ ] write the second part\n- [ ] and the third\n")
    told = extract(memory, root)
    assert (told.read, told.unchanged, told.items) == (1, 1, 2)
    after = {each.item.title: each.item.id for each in listed_items(memory._parts)}
    assert after.keys() == {"write the second part", "and the third", "Walk", "stop at circles"}
    assert all(after[title] == before[title] for title in after.keys() & before.keys())
    assert documents(memory, "connections", "items") == documents(memory, "connections") == set()


@pytest.mark.row("B6", "metadata", "deduplication")
def test_what_is_as_it_was_costs_nothing(memory: Recollect, root: Path) -> None:
    """Neither reading nor writing: size and time are enough, or else the hash of the content."""
    extract(memory, root)
    store = memory._parts.project()
    head = store.audit_head()
    again = extract(memory, root)
    assert (again.read, again.unchanged, store.audit_head()) == (0, 2, head)
    # That it is not read shows where another text of the same size and time goes unnoticed.
    file = root / "docs" / "guide.md"
    state = file.stat()
    file.write_text(GUIDE.replace("500", "900"))
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert extract(memory, root).unchanged == 2
    write(root, "docs/guide.md", GUIDE)
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns - 10**9))
    assert (extract(memory, root).read, store.audit_head() != head) == (0, True)


def test_what_has_just_changed_may_change_unseen(memory: Recollect, root: Path) -> None:
    """So the time of a file that is younger than the clock's step is not relied on."""
    file = root / "docs" / "guide.md"
    now = time.time_ns()
    os.utime(file, ns=(now, now))
    extract(memory, root)
    file.write_text(GUIDE.replace("500", "900"))
    os.utime(file, ns=(now, now))
    assert extract(memory, root).read == 1
    assert any("900" in title for *_, title in items(memory))


@pytest.mark.row("B4", "expired")
def test_what_deleted_files_said_expires(memory: Recollect, root: Path) -> None:
    """As items and as chunks; and a file that comes back is read again."""
    extract(memory, root)
    (root / "docs" / "guide.md").unlink()
    assert extract(memory, root).expired == 1
    assert {file for file, *_ in items(memory)} == {"src/walk.py"}
    assert documents(memory, "connections") == documents(memory, "connections", "items") == set()
    assert extract(memory, root).expired == 0
    write(root, "docs/guide.md", GUIDE)
    assert extract(memory, root).read == 1
    assert documents(memory, "connections") == {"docs/guide.md"}


@pytest.mark.row("B4", "expired")
@pytest.mark.row("J26", "ignored-files")
def test_what_is_ignored_from_now_on_expires(memory: Recollect, root: Path) -> None:
    """Or grows too large, or turns out to be made by a program."""
    write(root, "a.py", "# TODO: a first thing\n")
    write(root, "b.py", "# TODO: a second thing\n")
    extract(memory, root)
    write(root, ".secretsignore", "docs/\n")
    write(root, "a.py", "# @generated\n# TODO: a first thing\n")
    write(root, "b.py", "# TODO: a second thing\n" + "# x\n" * 300_000)
    told = extract(memory, root)
    assert told.expired == 3
    assert {file for file, *_ in items(memory)} == {"src/walk.py"}
    assert documents(memory, "connections first second thing") == set()


def test_a_file_that_moves_takes_what_it_says_along(memory: Recollect, root: Path) -> None:
    """Under its new name; nothing is left under the old one."""
    git(root, "add", "-A")
    extract(memory, root)
    (root / "manual").mkdir()
    git(root, "mv", "docs/guide.md", "manual/guide.md")
    told = extract(memory, root)
    assert (told.read, told.expired, told.skipped) == (1, 1, ())
    assert documents(memory, "connections") == documents(memory, "connections", "items") == {"manual/guide.md"}


@pytest.mark.row("B6", "deduplication")
def test_what_says_the_same_is_stored_once(memory: Recollect, root: Path) -> None:
    """Under one of its names; when that goes, or says something else, under the other."""
    write(root, "docs/copy.md", GUIDE)
    told = extract(memory, root)
    assert told.skipped == (("docs/guide.md", "says the same as docs/copy.md"),)
    assert documents(memory, "connections") == documents(memory, "connections", "items") == {"docs/copy.md"}
    again = extract(memory, root)
    assert (again.read, again.unchanged, again.skipped) == (0, 2, told.skipped)
    write(root, "docs/copy.md", "# Other\n\nSomething else.\n")
    assert extract(memory, root).skipped == ()
    assert documents(memory, "connections") == {"docs/guide.md"}
    write(root, "docs/copy.md", GUIDE)
    assert extract(memory, root).skipped == (("docs/copy.md", "says the same as docs/guide.md"),)
    assert documents(memory, "connections") == {"docs/guide.md"}
    (root / "docs" / "guide.md").unlink()
    told = extract(memory, root)
    assert (told.read, told.expired, documents(memory, "connections")) == (1, 1, {"docs/copy.md"})


def test_notes_without_their_passages_are_not_relied_on(memory: Recollect, root: Path) -> None:
    """As after an import: then every file is read again, and nothing is missing."""
    extract(memory, root)
    memory.unfile("sources", "src/walk.py")
    told = extract(memory, root)
    assert (told.read, documents(memory, "graph")) == (2, {"src/walk.py"})
    assert extract(memory, root).read == 0


def test_notes_that_say_nothing_are_not_relied_on(memory: Recollect, root: Path) -> None:
    """The file is read as if for the first time."""
    extract(memory, root)
    for value in ({"hash": 1}, "x", {"hash": "a", "size": 1, "mtime": 1, "rules": 1, "at": "yesterday"}):
        change = Define(sort=sources.SORT, name="src/walk.py", value=value)  # type: ignore[arg-type]
        memory._parts.project().apply([change], actor="test", now=memory._parts.clock())
        assert extract(memory, root).read == 1


KILLED = """
import os, signal, sys
from pathlib import Path
import recollect
from recollect.engine import sources

with recollect.open(store=sys.argv[1], background=False) as memory:
    store, left = memory._parts.project(), int(sys.argv[3])
    apply = store.apply

    def counted(changes, **options):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return apply(changes, **options)

    store.apply = counted
    sources.extract(memory._parts, Path(sys.argv[2]), progress=lambda done, total: None)
"""


def long_code(count: int, word: str) -> str:
    return "\n".join(f"# TODO: see to {word} {number} of many\nvalue_{number} = {number}\n" for number in range(count))


@pytest.mark.parametrize("known", [False, True], ids=["new", "changed"])
@pytest.mark.parametrize("killed_at", [1, 2, 3])
def test_being_killed_leaves_nothing_that_is_half_true(tmp_path: Path, root: Path, killed_at: int, known: bool) -> None:
    """Before any step: what is noted as read is there, and the next time completes the rest."""
    store = str(tmp_path / "memory.db")
    if known:
        write(root, "src/long.py", long_code(350, "wombat"))
        with recollect.open(store=store, background=False) as memory:
            extract(memory, root)
    write(root, "src/long.py", long_code(300, "thing"))
    ended = subprocess.run([sys.executable, "-c", KILLED, store, str(root), str(killed_at)], timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL
    with (
        recollect.open(store=store, background=False) as memory,
        recollect.open(store="memory:", background=False) as fresh,
    ):
        noted = [each.value for each in memory._parts.project().definitions(sources.SORT)]
        finished = sum(1 for value in noted if isinstance(value, dict) and value["rules"] == sources.RULES)
        told = extract(memory, root)
        assert told.unchanged == finished - (1 if known and killed_at == 1 else 0)
        extract(fresh, root)
        assert items(memory) == items(fresh)
        assert [title for file, *_, title in items(memory) if "long" in file][-1] == "see to thing 299 of many"
        totals = [each._parts.project().totals()["passage"] for each in (memory, fresh)]
        assert totals[0] == totals[1]
        assert documents(memory, "wombat") == set()


def test_two_at_once_do_no_harm(tmp_path: Path, root: Path) -> None:
    """What another process let go of meanwhile is simply gone."""
    store = str(tmp_path / "memory.db")
    with recollect.open(store=store, background=False) as one, recollect.open(store=store, background=False) as two:
        extract(one, root)
        (root / "docs" / "guide.md").unlink()

        def meanwhile(done: int, total: int) -> None:
            extract(two, root)

        assert extract(one, root, progress=meanwhile).expired == 1
        assert {file for file, *_ in items(one)} == {"src/walk.py"}


# items.json


@pytest.mark.row("B4", "citations", "replaced")
def test_items_are_mirrored_in_a_file(memory: Recollect, tmp_path: Path, root: Path) -> None:
    """In the shape that is known, for its owner alone, and written only when something has changed."""
    folder = tmp_path / "project"
    extract(memory, root, folder=folder)
    file = folder / "items.json"
    told = json.loads(file.read_text())
    assert [(each["sourceFile"], each["lineNumber"], each["title"]) for each in told] == [
        (path, line, title) for path, line, _, title in items(memory)
    ]
    assert list(told[0]) == [
        *("id", "type", "title", "content", "sourceFile", "lineNumber", "confidence", "extractedAt"),
    ]
    assert told[0]["extractedAt"] == "2026-01-01T00:00:00Z"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.stat().st_ino
    extract(memory, root, folder=folder)
    assert file.stat().st_ino == before
    (root / "docs" / "guide.md").unlink()
    assert extract(memory, root, folder=folder).notes == ()
    assert {each["sourceFile"] for each in json.loads(file.read_text())} == {"src/walk.py"}


def test_an_edited_file_is_set_aside_and_not_read(memory: Recollect, tmp_path: Path, root: Path) -> None:
    """Each time under another name, with a note; what it says is not taken over."""
    folder = tmp_path / "project"
    extract(memory, root, folder=folder)
    good = (folder / "items.json").read_text()
    for edited in ("[]\n", "no json at all\n"):
        (folder / "items.json").write_text(edited)
        [note] = extract(memory, root, folder=folder).notes
        assert "items.json.edited-20260101T000000Z" in note
        assert (folder / "items.json").read_text() == good
    kept = sorted(path.name for path in folder.glob("items.json.edited-*"))
    assert kept == ["items.json.edited-20260101T000000Z", "items.json.edited-20260101T000000Z-2"]
    assert (folder / kept[0]).read_text() == "[]\n"
    assert len(items(memory)) == 4


def test_a_file_that_is_gone_is_written_again(memory: Recollect, tmp_path: Path, root: Path) -> None:
    """Without a note, as there is nothing of anybody's in it; so after being cut off between its two steps."""
    folder = tmp_path / "project"
    extract(memory, root, folder=folder)
    good = (folder / "items.json").read_text()
    (folder / "items.json").unlink()
    assert extract(memory, root, folder=folder).notes == ()
    assert (folder / "items.json").read_text() == good
    write(root, "src/walk.py", CODE + "    # TODO: one thing more\n")
    extract(memory, root, folder=folder)
    (folder / "items.json").write_text(good)  # as if it had been cut off before it was replaced
    assert extract(memory, root, folder=folder).notes == ()
    assert "one thing more" in (folder / "items.json").read_text()


def test_what_others_file_is_no_item(memory: Recollect, tmp_path: Path, root: Path) -> None:
    """A passage that did not come from a file is left alone and is not mirrored."""
    memory.file_passages([recollect.Passage(corpus=recollect.Corpus.ITEMS, document="mine", position=0, text="wombat")])
    extract(memory, root, folder=tmp_path / "project")
    assert documents(memory, "wombat", "items") == {"mine"}
    assert "wombat" not in (tmp_path / "project" / "items.json").read_text()


# Many


def test_a_thousand_files_take_little_time(memory: Recollect, root: Path) -> None:
    """And next to none when they are as they were."""
    for number in range(1_000):
        write(
            root, f"many/{number % 20}/file{number}.md", f"# File {number}\n\nFile {number} must have {number} parts.\n"
        )
    begun = time.process_time()
    assert extract(memory, root).read == 1_002
    first = time.process_time() - begun
    begun = time.process_time()
    assert extract(memory, root).unchanged == 1_002
    again = time.process_time() - begun
    assert first < 20
    assert again < 2
    assert documents(memory, "file 777", "items") >= {"many/17/file777.md"}
