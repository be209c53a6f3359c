"""Sessions whose processes are killed: whatever was acknowledged is there once, and recovery does the rest, once.

`RECOLLECT_KILLS` says how many processes are killed in all; a few by default.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import recollect
from recollect import InvalidInput, Kind, Recollect
from recollect.engine.mirror import Taken
from recollect.engine.session import Session
from recollect.formats.memory_md import parsed
from recollect.formats.transcript import Role, Turn
from recollect.policy.identity import fingerprint

KILLS = int(os.environ.get("RECOLLECT_KILLS", "15"))
AT_ONCE = timedelta(0)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DECISION = "We decided to use PostgreSQL for billing because SQLite locks under concurrent writers."
SETTINGS: dict[str, object] = {"compaction.keep_recent": 4, "session.checkpoint_every": 5}
EVERY_STATUS = ["candidate", "confirmed", "pinned", "superseded", "archived", "forgotten", "quarantined"]

NURSERY = """
import os, sys, tempfile
from hashlib import sha256
from pathlib import Path
import recollect

SETTINGS = {"compaction.keep_recent": 4, "session.checkpoint_every": 5}
WORDS = "amber birch cedar delta ember fjord grove heron inlet juniper kelp lotus maple nectar onyx poppy".split()


def ack(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())


def said(child, number):
    # A rule of its own now and then, a line that takes several pages, and idle words.
    mark = f"<{child}.{number}>"
    name = f"{WORDS[child % 16]}-{WORDS[number % 16]}-{child * 1000 + number}"
    if number % 4 == 0:
        return f"We always deploy {name} from the main branch. {mark}"
    if number % 4 == 1:
        return f"Going on with {name}, as was said. {mark} " + "word " * (2_000 if number % 16 == 1 else number % 60)
    return f"The {name} invoices are next. {mark}"


def speak(session, child, number):
    turn = session.append("assistant" if number % 4 else "user", said(child, number))
    ack("turn", session.id, turn.seq, f"<{child}.{number}>")


def appending(memory, child):
    for number in range(100_000):
        speak(memory.session("s"), child, number)


def compacting(memory, child):
    session = memory.session("s")
    for number in range(100_000):
        speak(session, child, number)
        if number % 4 == 3:
            session.compact(force=True)
            ack("compacted")


def finalising(memory, child):
    for number in range(100_000):
        session = memory.session(f"s{number // 6 % 3}")
        speak(session, child, number)
        if number % 3 == 2:
            session.finalise(fast=number % 6 == 5)
            ack("finalised")


def forking(memory, child):
    session = memory.session("s")
    for number in range(100_000):
        speak(session, child, number)
        if number % 4 == 3:
            session = session.fork(f"f{child}-{number}")
            ack("forked", session.id)
        if number % 12 == 11:
            session.finalise()
            session = memory.session("s")


def edited(path, child, number):
    text = path.read_text() + f"\\n- Somebody wrote about {said(child, 4 * number)}\\n"
    if number % 3 == 2:
        text = text.replace("Somebody wrote", "Somebody tells", 1)
    data = text.encode()
    ack("editing", sha256(data).hexdigest())
    aside = path.with_name("editor.tmp")
    aside.write_bytes(data)
    aside.chmod(0o600)
    os.utime(aside, (1, 1))  # long enough ago that nobody waits for it to be written whole
    os.replace(aside, path)
    ack("edited", f"<{child}.{4 * number}>")


def mirroring(memory, child):
    mirror = memory.files.mirror
    for number in range(1, 100_000):
        memory.remember(f"The {WORDS[number % 16]} service of {child * 1000 + number} speaks <kept.{child}.{number}>")
        ack("remembered", f"<kept.{child}.{number}>")
        if mirror.path.exists() and number % 2:
            edited(mirror.path, child, number)
        taken = mirror.take_edits()
        assert not taken.problems and not taken.waiting, taken
        mirror.write()
        ack("mirrored", sha256(mirror.path.read_bytes()).hexdigest())


def live(order):
    operation, child, project, home = order.split()
    with recollect.open(project, home=home, settings=SETTINGS) as memory:
        memory.count()
        ack("open")
        globals()[operation](memory, int(child))


with tempfile.TemporaryDirectory() as folder:  # so that nothing is left to load in the ones that are killed
    with recollect.open(store=f"{folder}/memory.db", home=folder, background=False) as memory:
        memory.remember("Nothing")
        memory.recall("nothing")
while True:
    order = sys.stdin.readline()
    if not order:
        break
    pid = os.fork()
    if not pid:
        try:
            live(order)
        finally:
            os._exit(1)
    ack("born", pid)
    _, status = os.waitpid(pid, 0)
    ack("gone", -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
"""
OPERATIONS = {"appending": 20, "compacting": 15, "finalising": 15, "forking": 20, "mirroring": 12}
"""What is interrupted, and at most how many calls it acknowledges before."""
A_WHILE = 0.03
"""Within so many seconds after the last of them it is killed; most calls take less, some more."""
ROUND = 8
"""So many are killed in one home, which goes on from where the last left it."""


@dataclass
class Ledger:
    """What processes have acknowledged in one home."""

    turns: dict[str, list[str]] = field(default_factory=dict)
    remembered: list[str] = field(default_factory=list)
    forks: list[str] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    """What MEMORY.md may hold: what was written last, and the edits since."""

    def note(self, kind: str, *words: str) -> None:
        match kind:
            case "turn":
                self.turns.setdefault(words[0], []).append(words[2])
            case "remembered" | "edited":
                self.remembered.append(words[0])
            case "forked":
                self.forks.append(words[0])
            case "editing":
                self.files.add(words[0])
            case "mirrored":
                self.files = {words[0]}


@dataclass
class Nursery:
    """Where processes come from that are going to be killed; it has loaded already what they need."""

    process: subprocess.Popen[str]
    born: int = 0

    def kill_one(self, operation: str, folder: Path, ledger: Ledger, chance: random.Random) -> int:
        """Let a process work for a while and kill it. Returns how often it acknowledged something."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.born += 1
        print(operation, self.born, folder / "project", folder / "home", file=self.process.stdin, flush=True)
        acknowledged, pid, most = -1, 0, chance.randrange(OPERATIONS[operation])
        for line in self.process.stdout:
            kind, *words = line.split()
            if kind == "born":
                pid = int(words[0])
                continue
            if kind == "gone":
                assert int(words[0]) == -signal.SIGKILL, "a process failed before it was killed"
                return acknowledged
            acknowledged += 1  # that it is open is the first
            ledger.note(kind, *words)
            if acknowledged == most:
                time.sleep(chance.uniform(0, A_WHILE))
                os.kill(pid, signal.SIGKILL)
        raise AssertionError("the nursery is gone")


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    command = [sys.executable, "-c", NURSERY]
    world = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=world) as process:
        yield Nursery(process)
        process.terminate()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """Where the homes lie: in memory where that can be, for a kill takes a process and not the disk."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as name:
        yield Path(name)


# --- what must be so after a kill -------------------------------------------------------------------------------------


def reopened(folder: Path) -> Recollect:
    return recollect.open(folder / "project", home=folder / "home", settings=SETTINGS, background=False)


def marks(session: Session, upto: int = sys.maxsize) -> list[str]:
    """The marks of what was said up to a turn, as often as they are there. Summaries repeat what was said."""
    spoken = (turn.content or "" for turn in session.turns() if turn.role is not Role.SUMMARY and turn.seq <= upto)
    return [found[0] for text in spoken if (found := re.search(r"<[0-9]+\.[0-9]+>", text))]


def faults_of_turns(session: Session, acknowledged: list[str]) -> list[str]:
    """What is wrong with a transcript, given what was acknowledged of it in that order."""
    turns, there, wanted = session.turns(), marks(session), set(acknowledged)
    found = [f"{mark} is there twice" for mark, count in Counter(there).items() if count > 1]
    found += [f"{mark} was lost" for mark in acknowledged if mark not in set(there)]
    if not found and [mark for mark in there if mark in wanted] != acknowledged:
        found.append("turns are not in their order")
    if [turn.seq for turn in turns] != list(range(1, len(turns) + 1)):
        found.append("turns are not numbered from one")
    return found


def faults_of_view(session: Session) -> list[str]:
    """A summary stands for the turns before it that it says, no turn goes missing, and none is summarised twice."""
    turns = session.turns()
    summaries = [turn for turn in turns if turn.role is Role.SUMMARY and turn.covers]
    places = {turn.id: turn.seq for turn in turns}
    ends = [places[turn.covers[1]] for turn in summaries if turn.covers]
    after = ends[-1] if ends else 0
    spoken = [turn.seq for turn in turns if turn.role is not Role.SUMMARY and turn.seq > after]
    shown = [turn.seq for turn in session.view() if turn.role is not Role.SUMMARY]
    found = [] if spoken == shown else ["turns are missing from what an agent reads"]
    return found + ([] if ends == sorted(set(ends)) else ["turns were summarised twice"])


def state(memory: Recollect) -> object:
    """Everything that a second recovery could change."""
    assert memory.identity
    folder = memory.identity.folder / "sessions"
    files = {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    return files, every_memory(memory), [memory.session(each.id).memory for each in memory.sessions.list()]


def every_memory(memory: Recollect) -> tuple[recollect.Memory, ...]:
    return memory.list({"status": EVERY_STATUS}, limit=100_000)


def check_recovered(memory: Recollect, ledger: Ledger) -> None:
    """Recover, and look whether all that was acknowledged is there, nothing twice, and all of it sound."""
    sessions = memory.sessions
    sessions.recover(idle=AT_ONCE)
    before = state(memory)
    assert memory.sessions.recover(idle=AT_ONCE) == ()
    assert state(memory) == before
    for name in {each.id for each in sessions.list()} | ledger.turns.keys():
        session = memory.session(name)
        assert sessions.transcripts.verify(name) == (), name
        assert faults_of_view(session) == [], name
        found = session.memory.findings
        assert len({fingerprint(each.content) for each in found}) == len(found)
        assert session.memory.through == session.memory.weighed
    for name, acknowledged in ledger.turns.items():
        fork = sessions.transcripts.fork_of(name)
        shared = marks(memory.session(fork[0]), fork[1]) if fork else []
        assert faults_of_turns(memory.session(name), shared + acknowledged) == [], name
    check_memories(memory, ledger)
    assert {each.id for each in sessions.list()} >= set(ledger.forks)
    assert [check.detail for check in memory.doctor() if not check.ok] == []
    assert (memory.verify_audit(), memory.notes) == ((), ())


def check_memories(memory: Recollect, ledger: Ledger) -> None:
    """No two say the same, whatever became of them, and what sessions stated has become memories."""
    kept = every_memory(memory)
    texts = Counter(fingerprint(each.content) for each in kept)
    assert [each.content for each in kept if texts[fingerprint(each.content)] > 1] == []
    there = " ".join(each.content for each in kept)
    assert [mark for mark in ledger.remembered if mark not in there] == []
    for name in ledger.turns:
        for turn in memory.session(name).turns():
            rule = re.match(r"We always deploy \S+ from the main branch", turn.content or "")
            assert rule is None or turn.role is not Role.USER or rule[0] in there


def check_mirror(memory: Recollect, ledger: Ledger) -> None:
    """MEMORY.md is whole, the one before or the one after; brought together once, there is nothing more to take."""
    mirror = memory.files.mirror
    found = mirror.path.read_bytes() if mirror.path.exists() else b""
    taken = mirror.take_edits()
    assert (taken.problems, taken.waiting, taken.conflicts, taken.removed) == ((), (), (), ())
    mirror.write()
    if not every_memory(memory):  # killed before anything was kept: nothing to show
        assert not mirror.path.exists()
        return
    after = mirror.path.read_bytes()
    assert parsed(after.decode()).problems == ()
    new = sha256(after).hexdigest()
    assert not found or sha256(found).hexdigest() in ledger.files | {new}
    ledger.files = {new}
    before = every_memory(memory)
    assert (mirror.take_edits(), mirror.write()) == (Taken(), False)
    assert (every_memory(memory), mirror.path.read_bytes()) == (before, after)


@pytest.mark.row("B2", "append-only")
@pytest.mark.row("B7", "recoverable")
@pytest.mark.row("B8")
@pytest.mark.row("P1", "recovery")
@pytest.mark.row("P5", "background", "at-once")
@pytest.mark.row("B3", "agent-writes", "person-edits")
@pytest.mark.row("B14", "append-only", "logged")
@pytest.mark.timeout(max(120, 3 * KILLS))
@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_kill_loses_or_doubles_anything(operation: str, nursery: Nursery, place: Path) -> None:
    """Killed at any moment of what sessions do, everything acknowledged is there, once and in order."""
    chance = random.Random(operation)
    acknowledged = 0
    ledger = Ledger()
    for kill in range(max(1, KILLS // len(OPERATIONS))):
        folder = place / str(kill // ROUND)
        if not folder.exists():
            (folder / "project").mkdir(parents=True)
            ledger = Ledger()
        acknowledged += nursery.kill_one(operation, folder, ledger, chance)
        with reopened(folder) as memory:
            if operation == "mirroring":
                check_mirror(memory, ledger)
            check_recovered(memory, ledger)
    print(f"{operation}: {kill + 1} killed, {acknowledged} calls acknowledged")
    assert acknowledged > kill


# --- moments that chance seldom meets ---------------------------------------------------------------------------------


@pytest.fixture
def memory(place: Path) -> Iterator[Recollect]:
    (place / "project").mkdir()
    with reopened(place) as opened:
        yield opened


def transcript_of(memory: Recollect, name: str) -> Path:
    assert memory.identity
    return memory.identity.folder / "sessions" / f"{name}.jsonl"


@pytest.mark.parametrize(
    "change, fault",
    [
        (lambda lines: [lines[0], *lines[2:]], "<1.1> was lost"),
        (lambda lines: [*lines, lines[-1]], "<1.5> is there twice"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "turns are not in their order"),
    ],
    ids=["removed", "doubled", "swapped"],
)
def test_a_transcript_that_lost_something_is_noticed(
    memory: Recollect, change: Callable[[list[str]], list[str]], fault: str
) -> None:
    """What the checks above would say of a transcript with a line less, one more, or two that changed places."""
    session = memory.session("s")
    said = [f"<1.{number}>" for number in range(6)]
    for mark in said:
        session.append("user", f"Go on {mark}")
    assert faults_of_turns(session, said) == []
    path = transcript_of(memory, "s")
    path.write_text("".join(change(path.read_text().splitlines(keepends=True))))
    assert fault in faults_of_turns(session, said)
    assert memory.sessions.transcripts.verify("s") != ()
    with pytest.raises(AssertionError):
        check_recovered(memory, Ledger(turns={"s": said}))


def test_half_a_mirror_is_noticed(memory: Recollect) -> None:
    """What the checks above would say of a MEMORY.md that was not written whole."""
    for number in range(20):
        memory.remember(f"The heron service of {number} speaks <kept.1.{number}>")
    mirror = memory.files.mirror
    mirror.write()
    whole = mirror.path.read_bytes()
    ledger = Ledger(files={sha256(whole).hexdigest()})
    check_mirror(memory, ledger)
    mirror.path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(AssertionError):
        check_mirror(memory, ledger)


@pytest.mark.row("P1", "recovery")
def test_what_was_superseded_does_not_come_back_when_findings_are_weighed_again(memory: Recollect) -> None:
    """Killed after the memories were made and before that was noted: the older of two does not supersede the newer."""
    session = memory.session("s")
    session.append("user", "Remember that the staging database is db1.")
    session.append("user", "Correction: remember that the staging database is db2.")
    memory.promote_findings(session.checkpoint().findings, session="s")
    before = {each.content: each.status for each in every_memory(memory)}
    assert sorted(before.values()) == ["confirmed", "superseded"]
    memory.sessions.recover(idle=AT_ONCE)
    made = [each for each in every_memory(memory) if each.kind is not Kind.SUMMARY]
    assert {each.content: each.status for each in made} == before
    assert len(made) == len(before)
    assert memory.conflicts() == ()


@pytest.mark.row("B7", "summary", "keeps-recent")
def test_compacting_again_takes_no_turn_away(memory: Recollect) -> None:
    """Killed after the summary was written, somebody asks again: there is nothing to compact."""
    session = memory.session("s")
    for number in range(12):
        session.append("user", f"Go on with the invoices <1.{number}>")
    assert session.compact(force=True).summary is not None
    before = session.view()
    again = session.compact(force=True)
    assert (again.summary, again.turns_after, session.view()) == (None, len(before), before)
    assert faults_of_view(session) == []


@pytest.mark.row("P1", "checkpoint")
def test_findings_are_made_of_every_turn_however_many_come_at_once(memory: Recollect) -> None:
    """More than are read at a time, with something worth keeping at both ends and in between."""
    rules = {
        1: "We always deploy from the main branch on Tuesdays.",
        700: "Never commit to the release branch directly.",
        1_400: "Remember that the staging database is db1.",
    }
    idle = (Turn(role=Role.USER, content=f"Go on with {number}.", timestamp=NOON) for number in range(1, 1_401))
    turns = [replace(turn, content=rules.get(number, turn.content)) for number, turn in enumerate(idle, start=1)]
    session = memory.session("s")
    session.extend(turns)
    assert [each.message for each in session.memory.findings] == list(rules)
    session.finalise()
    assert [each.message for each in session.memory.findings] == list(rules)


@pytest.mark.row("P1", "recovery")
def test_a_fork_that_was_interrupted_counts_nothing_twice(memory: Recollect) -> None:
    """Killed before the fork could note what it shares: what was said once was still heard in one session."""
    session = memory.session("s")
    session.append("assistant", DECISION)
    session.append("user", "Good.")
    memory.sessions.transcripts.fork("s", "f", now=NOON)
    memory.sessions.transcripts.fork("f", "g", now=NOON)
    assert (memory.session("f").memory.parent, memory.session("f").memory.shared) == ("s", 2)
    for name in ("f", "g"):
        memory.session(name).append("user", "Thanks.")
    judged = [each.judged for name in ("g", "f", "s") for each in memory.session(name).finalise().promoted]
    assert judged == [judged[0]] * 3
    other = memory.session("another")
    other.append("assistant", DECISION)
    [promoted] = other.finalise().promoted
    assert promoted.judged != judged[0]


def test_a_fork_that_was_torn_can_be_made_again(memory: Recollect) -> None:
    """What never was a whole record is set aside."""
    session = memory.session("s")
    session.append("user", "Go on.")
    transcript_of(memory, "f").write_bytes(b'{"id":"fork_000001","role":"sys')
    assert [turn.content for turn in session.fork("f").turns()] == ["Go on."]
    assert memory.sessions.transcripts.verify("f") == ()
    with pytest.raises(InvalidInput, match="is there already"):
        session.fork("f")
