"""Export and import: lossless for what this home signed, careful with everything else."""

from __future__ import annotations

import json
import random
import shutil
import stat
import string
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recollect
from recollect import (
    Anchor,
    BadFile,
    Draft,
    Imported,
    Kind,
    Origin,
    Procedure,
    Recollect,
    RecollectError,
    Scope,
    Status,
)
from recollect.testing import FixedClock

START = datetime(2026, 1, 1, tzinfo=UTC)
TOKEN = "ghp_" + "".join(random.Random(13).choices(string.ascii_letters + string.digits, k=36))

Lines = list[bytes]


@contextmanager
def opened(folder: Path, *, home: str = "home", clock: FixedClock | None = None, **given_: Any) -> Iterator[Recollect]:
    """A memory below a folder; another home has another key."""
    (folder / "project").mkdir(exist_ok=True)
    with recollect.open(folder / "project", home=folder / home, clock=clock or FixedClock(START), **given_) as memory:
        yield memory


def fill(memory: Recollect, clock: FixedClock) -> None:
    """Memories of every sort, with a past, links and verdicts."""
    memory.remember(
        "Warm the cache after each deploy",
        kind="procedure",
        tags=["cache", "deploy"],
        files=[Anchor(path="src/cache.py", symbol="warm", content_hash="b2:aa")],
        procedure=Procedure(name="warm", trigger="deploy", steps=("a", "b"), prerequisites=("c",), warnings=("d",)),
        payload={"ticket": 42, "ratio": 0.1, "list": [None, True, "x"]},
        session="s1",
        message_range=(1, 2),
        triggers=["warm.*"],
        season="release",
        valid_from=START,
        snippet="a talk",
        reason="said twice",
    )
    clock.move(seconds=1)
    memory.update(1, "Warm the cache after each deploy, twice")
    memory.remember("Deploys go out from main", kind="decision")
    memory.remember("数据库 in Café, with a \u2028 line and \x07 bell")
    memory.remember("only for a session", scope="session", session="s1")
    memory.remember("only for a task", scope="task", task="t1")
    memory.remember("Old way to deploy")
    memory.remember("Nobody needs this")
    clock.move(seconds=1)
    memory.remember("Deploys go out from main", session="s2")
    memory.link(1, 2, weight=0.25)
    memory.link(2, 6, kind="supersedes")
    memory.link(3, 7, kind="contradicts")
    memory.reinforce(2)
    memory.feedback(2, helpful=True, note="it was")
    memory.feedback(2, helpful=False)
    memory.pin(3)
    memory.forget(7)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


@pytest.fixture
def lines(tmp_path: Path, clock: FixedClock) -> Lines:
    """An export of a full memory of the home."""
    with opened(tmp_path, clock=clock) as memory:
        fill(memory, clock)
        return [line.encode() for line in memory.export_lines()]


@pytest.fixture
def target(tmp_path: Path, lines: Lines, clock: FixedClock) -> Iterator[Recollect]:
    """An empty memory of the same home, which knows the key."""
    with opened(tmp_path, clock=clock, store="memory:") as memory:
        yield memory


@pytest.fixture
def stranger(tmp_path: Path, clock: FixedClock) -> Iterator[Recollect]:
    """An empty memory of another home, which does not."""
    with opened(tmp_path, home="elsewhere", clock=clock) as memory:
        yield memory


def exported(memory: Recollect, **given_: Any) -> Lines:
    """An export without its last line, which tells of the audit."""
    return [line.encode() for line in memory.export_lines(**given_)][:-1]


def changed(lines: Lines, record: str, **values: Any) -> Lines:
    """The lines with other values in the first record of a sort."""
    number = next(number for number, line in enumerate(lines) if json.loads(line)["record"] == record)
    spoiled = json.dumps({**json.loads(lines[number]), **values}).encode() + b"\n"
    return [*lines[:number], spoiled, *lines[number + 1 :]]


def origin_of_a_link(lines: Lines) -> str:
    """The uid at which the first link begins."""
    return str(next(each["from"] for each in map(json.loads, lines) if each["record"] == "link"))


# What this home signed


@pytest.mark.row("X11", "round-trip")
@pytest.mark.row("K10")
@pytest.mark.row("J24", "export", "import")
def test_what_this_home_signed_comes_back_equal(target: Recollect, lines: Lines) -> None:
    """Memories with their ids, stamps and signals, every earlier version, links and verdicts."""
    done = target.import_lines(lines)
    assert done == Imported(added=7, links=3, signed=True)
    assert exported(target) == lines[:-1]
    assert target.verify_audit() == ()
    assert all(check.ok for check in target.doctor())


def test_importing_again_changes_nothing(target: Recollect, lines: Lines) -> None:
    """As often as one likes."""
    target.import_lines(lines)
    before = exported(target), target.audit(limit=None)
    for _ in range(2):
        assert target.import_lines(lines) == Imported(unchanged=7, signed=True)
    assert (exported(target), target.audit(limit=None)) == before


@pytest.mark.row("J24", "import")
def test_what_was_imported_can_be_used(target: Recollect, lines: Lines) -> None:
    """It is found, linked, and goes on with the next free number."""
    target.import_lines(lines)
    target.seasons.define("release", on=True)
    assert target.recall("warm cache")[0].memory.ref == "1"
    assert [hit.memory.ref for hit in target.recall("数据库")] == ["3"]
    assert not target.recall("needs")
    assert len(target.history(1)) == 1
    assert target.remember("the next one").ref == "8"


def test_an_import_joins_what_is_there(target: Recollect, lines: Lines) -> None:
    """Ids that are taken change, uids do not, and words that are there already are not doubled."""
    target.remember_many(["first here", "Deploys GO out from main"])
    done = target.import_lines(lines)
    assert (done.added, done.duplicates, done.signed) == (6, 1, True)
    assert target.get(1).content == "first here"
    everything = {"status": list(Status)}
    assert target.count(everything) == 8
    assert target.import_lines(lines).added == 0
    assert target.count(everything) == 8


def test_a_later_change_is_not_undone_by_an_older_export(target: Recollect, lines: Lines, clock: FixedClock) -> None:
    """The newer state stays."""
    target.import_lines(lines)
    clock.move(days=1)
    target.update(2, "Deploys go out from a release branch")
    done = target.import_lines(lines)
    assert (done.unchanged, done.updated) == (7, 0)
    assert target.get(2).content == "Deploys go out from a release branch"


def test_a_newer_export_brings_an_older_memory_up_to_date(tmp_path: Path, clock: FixedClock) -> None:
    """What was there becomes an earlier version."""
    with opened(tmp_path, clock=clock) as memory:
        memory.remember("Deploys go out from main")
        old = [line.encode() for line in memory.export_lines()]
        clock.move(days=1)
        memory.update(1, "Deploys go out on Mondays")
        new = [line.encode() for line in memory.export_lines()]
    with opened(tmp_path, clock=clock, store="memory:") as copy:
        copy.import_lines(old)
        assert copy.import_lines(new) == Imported(updated=1, signed=True)
        assert copy.get(1).content == "Deploys go out on Mondays"
        assert [version.memory.content for version in copy.history(1)] == ["Deploys go out from main"]


def test_no_count_of_an_import_is_negative(tmp_path: Path, clock: FixedClock) -> None:
    """Also when what a file updates would say what another memory says by now."""
    with opened(tmp_path, clock=clock) as memory:
        memory.remember("Deploys go out from main")
        old = [line.encode() for line in memory.export_lines()]
        clock.move(days=1)
        memory.update(1, "Deploys go out on Mondays")
        new = [line.encode() for line in memory.export_lines()]
    with opened(tmp_path, clock=clock, store="memory:") as copy:
        copy.import_lines(old)
        copy.remember("Deploys go out on Mondays")
        done = copy.import_lines(new)
        assert (done.added, done.updated, done.duplicates) == (0, 0, 1)


def test_more_than_a_page_is_exported_and_imported(tmp_path: Path) -> None:
    """Thousands, and whoever waits is told how far it is."""
    with opened(tmp_path, home="one") as memory:
        memory.remember_many([f"note number {number}" for number in range(1_203)])
        told: list[tuple[int, int]] = []
        lines = [line.encode() for line in memory.export_lines(progress=lambda *step: told.append(step))]
        assert (told[0], told[-1]) == ((1, 1_203), (1_203, 1_203))
    with opened(tmp_path, home="two") as other:
        told.clear()
        assert other.import_lines(lines, progress=lambda *step: told.append(step)).added == 1_203
        assert told[-1] == (1_203, 1_203)
        assert other.count() == 1_203


def test_an_export_shows_one_moment(tmp_path: Path) -> None:
    """What is written while it runs is not in it, and its counts are right."""
    with opened(tmp_path) as memory:
        memory.remember_many([f"note number {number}" for number in range(600)])
        running = memory.export_lines()
        first = next(running)
        with opened(tmp_path) as other:
            other.remember("written meanwhile")
        rest = list(running)
        assert json.loads(first)["counts"]["memory"] == 600 == sum('"record": "memory"' in line for line in rest)


# What it did not sign


def test_what_nobody_vouches_for_comes_in_as_candidates(stranger: Recollect, lines: Lines) -> None:
    """Trusted as an import at most, its past not taken, its claims readable."""
    done = stranger.import_lines(lines)
    assert (done.added, done.signed, done.links) == (7, False, 3)
    assert done.dropped == sum(json.loads(line)["record"] in ("version", "feedback") for line in lines)
    for memory in stranger.list({}, limit=100):
        assert memory.origin is Origin.IMPORTED
        assert memory.trust <= 0.6
        assert memory.status not in (Status.CONFIRMED, Status.PINNED)
        assert (memory.score, memory.created_at) == (0, stranger.audit()[0].at)
        [step] = memory.provenance
        assert step.reason.startswith("claims origin observed, trust 0.8, status ")
        assert stranger.history(memory.ref) == ()


@pytest.mark.row("P4", "recallable")
def test_a_candidate_can_be_recalled(stranger: Recollect, lines: Lines) -> None:
    """It has yet to prove itself, and is found meanwhile."""
    stranger.import_lines(lines)
    stranger.seasons.define("release", on=True)
    hit = stranger.recall("warm cache")[0]
    assert (hit.memory.status, hit.memory.content) == (Status.CANDIDATE, "Warm the cache after each deploy, twice")


def test_an_unsigned_import_done_again_changes_nothing(stranger: Recollect, lines: Lines, clock: FixedClock) -> None:
    """Though its stamps would differ."""
    stranger.import_lines(lines)
    before = exported(stranger)
    clock.move(days=1)
    done = stranger.import_lines(lines)
    assert (done.unchanged, done.added, done.updated, done.links) == (7, 0, 0, 0)
    assert exported(stranger) == before


def test_a_changed_byte_makes_a_file_unsigned(target: Recollect, lines: Lines) -> None:
    """Also when only a word of one memory was changed."""
    done = target.import_lines([line.replace(b"from main", b"from hell") for line in lines])
    assert not done.signed
    [hit] = target.recall("hell")
    assert (hit.memory.origin, hit.memory.status) == (Origin.IMPORTED, Status.CANDIDATE)


def test_no_flipped_bit_gets_past_the_signature(target: Recollect, lines: Lines) -> None:
    """What comes in as signed is exactly what was exported."""
    data, chance = b"".join(lines), random.Random(17)
    for _ in range(150):
        damaged = bytearray(data)
        position = chance.randrange(len(data))
        damaged[position] ^= 1 << chance.randrange(8)
        try:
            done = target.import_lines(bytes(damaged).splitlines(keepends=True), dry_run=True)
        except BadFile:
            continue
        assert not done.signed or position > len(data) - len(lines[-1])


def test_an_unsigned_file_does_not_overwrite_what_is_trusted_more(
    target: Recollect, lines: Lines, clock: FixedClock
) -> None:
    """Knowing a uid is not enough to change a memory, or to bring back a forgotten one."""
    target.import_lines(lines)
    before = exported(target)
    clock.move(days=1)
    poisoned = [
        line.replace(b"Deploys go", b"Secrets go").replace(b'"status": "forgotten"', b'"status": "confirmed"')
        for line in lines
    ]
    done = target.import_lines(poisoned)
    assert (done.signed, done.added, done.updated) == (False, 0, 0)
    assert exported(target) == before


def test_secrets_in_an_unsigned_file_are_left_out(tmp_path: Path, stranger: Recollect, lines: Lines) -> None:
    """No file of the home holds them afterwards."""
    planted = [
        line.replace(b"a talk", TOKEN.encode()).replace(b"from main", b"with " + TOKEN.encode()) for line in lines
    ]
    planted = changed(planted, "memory", tags=[TOKEN], payload={TOKEN: [TOKEN]}, session_id=TOKEN, triggers=[TOKEN])
    stranger.import_lines(planted)
    stranger.close()
    held = b"".join(path.read_bytes() for path in (tmp_path / "elsewhere").rglob("*") if path.is_file())
    assert b"redacted" in held
    assert TOKEN.lower().encode() not in held.lower()


def test_a_file_can_be_trusted_by_hand(stranger: Recollect, lines: Lines) -> None:
    """Then it is taken at its word, past and all."""
    done = stranger.import_lines(lines, trusted=True)
    assert done == Imported(added=7, links=3, signed=False)
    assert exported(stranger) == lines[:-1]
    assert stranger.import_lines(lines, trusted=True) == Imported(unchanged=7)


def test_a_key_that_moved_along_vouches_in_the_new_home(tmp_path: Path, lines: Lines) -> None:
    """Copying the key to another machine makes its exports one's own."""
    (tmp_path / "moved").mkdir()
    shutil.copy(tmp_path / "home" / "key", tmp_path / "moved" / "key")
    with opened(tmp_path, home="moved") as memory:
        assert memory.import_lines(lines).signed
        assert exported(memory) == lines[:-1]


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 33])
def test_a_key_that_is_none_is_refused_before_anything_is_done(tmp_path: Path, lines: Lines, key: bytes) -> None:
    """With what to do about it."""
    (tmp_path / "home" / "key").write_bytes(key)
    with opened(tmp_path) as memory:
        before = memory.audit(limit=None)
        for act in (lambda: list(memory.export_lines()), lambda: memory.import_lines(lines)):
            with pytest.raises(BadFile) as caught:
                act()
            assert caught.value.hint
        assert memory.audit(limit=None) == before


# Looking first


@pytest.mark.parametrize("trusted", [False, True])
def test_a_dry_run_says_what_would_be_done_and_does_nothing(stranger: Recollect, lines: Lines, trusted: bool) -> None:
    """The same numbers as doing it."""
    stranger.remember("Deploys go out from main")
    before = exported(stranger), stranger.audit(limit=None)
    told = stranger.import_lines(lines, trusted=trusted, dry_run=True)
    assert (exported(stranger), stranger.audit(limit=None)) == before
    assert stranger.import_lines(lines, trusted=trusted) == told


# Other spaces


def test_memories_of_a_project_can_become_global(target: Recollect, lines: Lines) -> None:
    """All of them, whatever their scope was; references say so."""
    done = target.import_lines(lines, space="global")
    assert (done.added, done.signed) == (7, True)
    assert target.count({}) == 0
    assert {memory.scope for memory in target.list({}, space="global", limit=100)} == {Scope.GLOBAL}
    assert target.get("g2").content == "Deploys go out from main"
    assert target.import_lines(lines, space="global").unchanged == 7
    back = [line.encode() for line in target.export_lines(space="global")]
    assert json.loads(back[0])["space"] == "global"
    assert target.import_lines(back).added == 7
    assert {memory.scope for memory in target.list({}, limit=100)} == {Scope.PROJECT}


# Files that are not sound


HOSTILE: dict[str, Callable[[Lines], Lines]] = {
    "nothing": lambda lines: [],
    "garbage": lambda lines: [b"\x00\xff\x17garbage\n"],
    "another file": lambda lines: [b'{"type": "object"}\n'],
    "no header": lambda lines: lines[1:],
    "a newer version": lambda lines: changed(lines, "header", version=2),
    "counts of text": lambda lines: changed(lines, "header", counts={"memory": "many"}),
    "wrong counts": lambda lines: changed(lines, "header", counts={"memory": 6}),
    "cut in a line": lambda lines: [*lines[:4], lines[4][:50]],
    "garbage in the middle": lambda lines: [*lines[:4], b"{{{\n", *lines[4:]],
    "a deep line": lambda lines: [*lines[:4], b"[" * 200_000 + b"\n", *lines[4:]],
    "not a number": lambda lines: [line.replace(b'"importance": 0.5', b'"importance": NaN') for line in lines],
    "beyond numbers": lambda lines: [line.replace(b'"importance": 0.5', b'"importance": 1e999') for line in lines],
    "payload beyond numbers": lambda lines: [line.replace(b'"ratio": 0.1', b'"ratio": 1e999') for line in lines],
    "an unknown field": lambda lines: changed(lines, "memory", stranger=1),
    "an unknown record": lambda lines: [line.replace(b'"record": "memory"', b'"record": "stranger"') for line in lines],
    "an unknown status": lambda lines: changed(lines, "memory", status="crowned"),
    "a surrogate in a tag": lambda lines: changed(lines, "memory", tags=["\ud800"]),
    "a surrogate in a session": lambda lines: changed(lines, "memory", session_id="\ud800"),
    "a NUL in a tag": lambda lines: changed(lines, "memory", tags=["a\x00"]),
    "a uid that is none": lambda lines: changed(lines, "memory", uid="../../x"),
    "an importance beyond one": lambda lines: changed(lines, "memory", importance=7),
    "a session memory of nobody": lambda lines: changed(lines, "memory", scope="session", session_id=None),
    "a heavy link": lambda lines: changed(lines, "link", weight=2),
    "an endless link": lambda lines: changed(lines, "link", weight=10**400),
    "a link to itself": lambda lines: changed(lines, "link", to=origin_of_a_link(lines)),
    "a link to a tag": lambda lines: changed(lines, "link", kind="has-tag"),
    "a link to a surrogate": lambda lines: changed(lines, "link", to="\ud800"),
    "a head of text": lambda lines: changed(lines, "audit_head", seq="x"),
    "a head beyond numbers": lambda lines: [*lines[:-1], lines[-1].replace(b'"seq": ', b'"x": 1e999, "seq": ')],
}  # fmt: skip
PARSED = {
    "garbage in the middle",
    "a deep line",
    "cut in a line",
    "an unknown field",
    "an unknown record",
    "a heavy link",
}


@pytest.mark.parametrize("trusted", [False, True], ids=["import", "trusted"])
@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_not_sound_is_refused_and_nothing_of_it_is_stored(
    stranger: Recollect, lines: Lines, name: str, trusted: bool
) -> None:
    """As a bad file, by its name, with the line where that can be told."""
    stranger.remember("there before")
    before = exported(stranger), stranger.audit(limit=None)
    with pytest.raises(BadFile) as caught:
        stranger.import_lines(HOSTILE[name](lines), name="notes.jsonl", trusted=trusted)
    assert caught.value.path == "notes.jsonl"
    assert caught.value.line or name not in PARSED
    assert (exported(stranger), stranger.audit(limit=None)) == before


def test_a_file_that_was_cut_off_is_refused_wherever_it_was_cut(stranger: Recollect, lines: Lines) -> None:
    """Its header says how much there should be; only the last line, the signature, may be missing."""
    for kept in range(len(lines) - 1):
        with pytest.raises(BadFile):
            stranger.import_lines(lines[:kept])
    assert stranger.count({}) == 0
    assert stranger.import_lines(lines[:-1]).signed is False


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_damage_is_an_import_or_a_bad_file(stranger: Recollect, lines: Lines, data: st.DataObject) -> None:
    """Any value in any field of any record, trusted or not; what comes in can be exported and is sound."""
    number = data.draw(st.integers(0, len(lines) - 1))
    held = json.loads(lines[number])
    value: st.SearchStrategy[Any] = (
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just([]) | st.just({})
    )
    spoiled = {**held, data.draw(st.sampled_from(sorted(held))): data.draw(value)}
    damaged = [*lines[:number], json.dumps(spoiled).encode(), *lines[number + 1 :]]
    before = exported(stranger)
    with recollect.open(store="memory:", home=stranger.home) as fresh:
        try:
            fresh.import_lines(damaged, trusted=data.draw(st.booleans()))
        except BadFile:
            assert fresh.count({}) == 0
        assert len(exported(fresh)) >= 1
        assert fresh.verify_audit() == ()
    assert exported(stranger) == before


@pytest.mark.parametrize("trusted", [False, True], ids=["import", "trusted"])
def test_a_zero_below_zero_is_zero(stranger: Recollect, lines: Lines, trusted: bool) -> None:
    """What a file writes as -0.0 is not what a store gives back, so it does not come in as that."""
    written = changed(lines, "memory", importance=-0.0, confidence=-0.0, trust=-0.0)
    stranger.import_lines(changed(written, "link", weight=-0.0), trusted=trusted)
    assert [check for check in stranger.doctor() if not check.ok] == []


@pytest.mark.parametrize("given_", [["text"], "text", b"bytes", None, 5, [None]], ids=repr)
def test_what_is_no_lines_of_bytes_is_refused_in_the_words_of_the_product(stranger: Recollect, given_: Any) -> None:
    """A text, one text, or nothing at all."""
    with pytest.raises(RecollectError):
        stranger.import_lines(given_)


def test_an_export_can_be_handed_straight_to_an_import(target: Recollect, stranger: Recollect, lines: Lines) -> None:
    """What the one gives, the other takes."""
    target.import_lines(lines)
    assert stranger.import_lines(target.export_lines()).added == 7


# Any memory


plain = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=30).filter(str.strip)
drafts = st.builds(
    Draft,
    content=plain,
    kind=st.sampled_from(Kind),
    scope=st.sampled_from([Scope.PROJECT, Scope.SESSION, Scope.TASK]),
    tags=st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8), max_size=3).map(tuple),
    importance=st.none() | st.floats(0, 1),
    confidence=st.floats(0, 1),
    session_id=plain,
    task_id=plain,
    message_range=st.none() | st.tuples(st.integers(0, 9), st.integers(9, 99)),
    payload=st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(-1e300, 1e300) | plain,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3),
        max_leaves=5,
    ),
    snippet=plain,
    valid_to=st.none() | st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)


@pytest.mark.row("X11", "round-trip")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(drafts, min_size=1, max_size=6), st.integers(0, 5))
def test_any_memory_survives_export_and_import(tmp_path: Path, drawn: list[Draft], changes: int) -> None:
    """Equal to the last bit, however often it goes round."""
    with (
        recollect.open(store="memory:", home=tmp_path / "home") as one,
        recollect.open(store="memory:", home=tmp_path / "home") as two,
    ):
        stored = one.remember_many(drawn)
        for number in range(changes):
            one.reinforce(stored[number % len(stored)].ref)
            one.feedback(stored[0].ref, helpful=bool(number % 2))
        lines = [line.encode() for line in one.export_lines()]
        assert two.import_lines(lines).signed
        assert exported(two) == lines[:-1]
        assert two.list({}, limit=100) == one.list({}, limit=100)


# The file


def test_an_export_file_is_private_and_appears_whole(tmp_path: Path, lines: Lines) -> None:
    """Readable by its owner alone; one that cannot be finished leaves what was there."""
    with opened(tmp_path) as memory:
        path = memory.export_file(tmp_path / "memories.jsonl")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_bytes().splitlines(keepends=True)[:-1] == lines[:-1]
        path.write_text("keep me")

        def give_up(done: int, total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            memory.export_file(path, progress=give_up)
        assert path.read_text() == "keep me"
        assert sorted(each.name for each in tmp_path.iterdir()) == ["home", "memories.jsonl", "project"]


@pytest.mark.parametrize("place", ["", "nowhere/memories.jsonl", "project", "home/key/x"])
def test_an_export_that_cannot_be_written_is_a_bad_file(tmp_path: Path, lines: Lines, place: str) -> None:
    """Named, and nothing is left lying about."""
    with opened(tmp_path) as memory, pytest.raises(RecollectError) as caught:
        memory.export_file(tmp_path / place if place else "")
    assert isinstance(caught.value, BadFile)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["home", "project"]


def test_aliases_and_seasons_travel_with_a_signed_export(tmp_path: Path, clock: FixedClock) -> None:
    """Doing it again changes nothing; a file that this home did not sign steers nothing."""
    with opened(tmp_path, clock=clock) as memory:
        memory.aliases.define("gw", "gateway")
        memory.seasons.define("release", on=True)
        exported_lines = [line.encode() for line in memory.export_lines()]
    with opened(tmp_path, clock=clock, store="memory:") as memory:
        assert memory.import_lines(exported_lines).definitions == 2
        assert memory.import_lines(exported_lines).definitions == 0
        memory.remember("The gateway answers on port 9000")
        assert said_of(memory, "gw port") == ["The gateway answers on port 9000"]
    with opened(tmp_path, home="elsewhere", clock=clock) as memory:
        done = memory.import_lines(exported_lines)
        assert (done.definitions, done.dropped) == (0, 2)
        assert not memory.aliases.list()


def said_of(memory: Recollect, question: str) -> list[str]:
    return [hit.memory.content for hit in memory.recall(question)]
