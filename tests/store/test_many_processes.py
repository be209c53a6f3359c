"""Many processes and threads on one store: nothing lost, nothing twice, no lock error, and everybody gets a turn."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from store_kit import SQLITE, add, answer, apply, contents, faults, file, filed, passage, said
from store_worker import SHARED

from recollect.errors import RecollectError, StoreBusy
from recollect.model import Corpus, Uid, Unfile
from recollect.policy.query import parse_where
from recollect.store import Options, Store

WORKER = Path(__file__).with_name("store_worker.py")
WRITERS = 8
SECONDS = 4.0
Worker = subprocess.Popen[str]


@contextmanager
def workers(*commands: list[object]) -> Iterator[list[Worker]]:
    """Processes that have started and wait for their signal; whatever is left of them is ended."""
    started = [
        subprocess.Popen(
            [sys.executable, str(WORKER), *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    try:
        yield started
    finally:
        for worker in started:
            worker.kill()
            worker.communicate()


def line(worker: Worker) -> str:
    """The next line a worker says; what it complains of, if it says nothing more."""
    assert worker.stdout is not None
    said = worker.stdout.readline()
    if not said:
        assert worker.stderr is not None
        pytest.fail(worker.stderr.read() or "the worker ended without a word")
    return said.strip()


def tell(worker: Worker, text: str = "go") -> None:
    """Send a worker a line."""
    assert worker.stdin is not None
    worker.stdin.write(f"{text}\n")
    worker.stdin.flush()


def race(commands: list[list[object]]) -> list[dict[str, Any]]:
    """Let all begin together, and return what each has to tell in the end."""
    with workers(*commands) as started:
        for worker in started:
            assert line(worker) == "ready"
        for worker in started:
            tell(worker)
        told = [json.loads(line(worker)) for worker in started]
        for worker in started:
            assert worker.wait(timeout=30) == 0
    return told


def shares(told: list[dict[str, Any]]) -> tuple[float, float]:
    """The slowest writer's part of the mean, and how many writes a second there were in all."""
    done = [each["done"] for each in told]
    mean = sum(done) / len(done)
    return (min(done) / mean if mean else 0.0), sum(each["done"] / each["seconds"] for each in told)


def errors(told: list[dict[str, Any]]) -> Counter[str]:
    """All that went wrong, counted by name."""
    return sum((Counter(each["errors"]) for each in told), Counter())


def acknowledged(*ledgers: Path) -> list[Uid]:
    """The uids that writers were told are stored."""
    return [Uid(uid) for ledger in ledgers for uid in ledger.read_text().split()]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store that is there already."""
    opened = SQLITE.open(tmp_path)
    yield opened
    opened.close()


@pytest.mark.row("X8", "no-lost-write", "no-lock-error", "no-duplicate", "fairness")
def test_eight_writers_flat_out_lose_nothing_and_share_fairly(tmp_path: Path) -> None:
    """Every acknowledged write is there, nobody sees a lock error, and the slowest does at least half of the mean."""
    path = tmp_path / "memory.db"
    ledgers = [tmp_path / f"ledger-{n}" for n in range(WRITERS)]
    told = race([["write", path, n, ledger, SECONDS] for n, ledger in enumerate(ledgers)])
    share, rate = shares(told)
    longest = max(each["longest"] for each in told)
    print(
        f"slowest/mean {share:.2f}, {rate:.0f} writes/s, longest wait {longest:.2f} s, each {[t['done'] for t in told]}"
    )
    assert errors(told) == Counter()
    store = SQLITE.open(tmp_path)
    uids = acknowledged(*ledgers)
    assert len(uids) == sum(each["done"] for each in told)
    stored = Counter(memory.uid for memory in store.query(limit=None))
    assert set(uids) == set(stored)
    assert set(stored.values()) == {1}
    texts = Counter(contents(store.query(limit=None)))
    assert max(texts.values()) == 1
    tried_by_all = min(SHARED, min(each["done"] for each in told) // 2)
    assert tried_by_all >= 5, "too slow to have met"
    assert all(texts[f"shared text {n}"] == 1 for n in range(tried_by_all))
    assert len(store.audit()) == len(uids)
    assert store.verify_audit() == ()
    assert faults(store) == []
    store.close()
    assert share >= 0.5


@pytest.mark.row("X8", "no-lock-error", "no-lost-write")
def test_passages_of_one_process_are_found_by_another(store: Store) -> None:
    """What is filed, filed anew or unfiled on one side is at once so on the other, where the store was open before."""
    with workers(["converse", store.url]) as [other]:
        assert line(other) == "ready"
        tell(other, "zeppelin?")
        assert json.loads(line(other)) == []
        file(store, passage("zeppelin here"), passage("next to it", position=1), passage("far away", position=5))
        tell(other, "zeppelin?")
        assert json.loads(line(other)) == ["next to it", "zeppelin here"]
        tell(other, "zeppelin there")
        assert line(other) == "filed"
        asked = answer(store, "zeppelins", corpus=Corpus.SESSIONS)
        assert sorted(said(asked.passages)) == ["zeppelin here", "zeppelin there"]
        assert asked.statistics.holding == {"zeppelin": 2}
        file(store, passage("a balloon"))
        tell(other, "zeppelin?")
        assert json.loads(line(other)) == ["zeppelin there"]
        apply(store, Unfile(corpus=Corpus.SESSIONS, document="worker"))
        tell(other, "zeppelin?")
        assert json.loads(line(other)) == []
        tell(other, "balloon?")
        assert json.loads(line(other)) == ["a balloon", "next to it"]
    assert faults(store) == []


@pytest.mark.row("X8", "no-lock-error", "no-lost-write")
def test_many_may_file_passages_at_once(tmp_path: Path, store: Store) -> None:
    """Every document ends up whole, the one that all write is there once, and every count is right."""
    told = race([["file", store.url, f"writer{n}", SECONDS / 2] for n in range(4)])
    assert errors(told) == Counter()
    stored = filed(store, at_most=100_000)
    places = Counter((each.document, each.position) for each in stored)
    assert set(places.values()) == {1}
    most = max(each["done"] for each in told)
    assert {position for document, position in places if document == "shared"} == set(range(most // 2))
    for n, each in enumerate(told):
        left: set[int] = set()
        for step in range(0, each["done"], 2):
            left.add(step // 2)
            if step % 10 == 8:
                left -= set(range(step // 2 - 3, step))
        assert {position for document, position in places if document == f"writer{n}"} == left
        found = answer(store, f"writer{n}", corpus=Corpus.SESSIONS, limit=99_999, postings=99_999).passages
        assert {one.position for one in found if one.document == f"writer{n}"} == left
    assert store.totals()["passage"] == len(stored)
    assert faults(store) == []


@pytest.mark.row("X8", "no-lock-error", "fairness")
def test_the_usual_way_to_write_fails_the_same_criteria(tmp_path: Path) -> None:
    """The criteria have teeth: deferred transactions with a busy timeout see lock errors or starve somebody."""
    told = race([["control", tmp_path / "control.db", SECONDS / 2] for _ in range(WRITERS)])
    share, rate = shares(told)
    failed = errors(told)
    print(f"control: slowest/mean {share:.2f}, {rate:.0f} writes/s, lock errors {dict(failed)}")
    assert failed["BusyError"] > 0 or share < 0.5


@pytest.mark.row("X8", "no-lock-error")
def test_a_new_store_may_be_opened_by_many_at_once(tmp_path: Path) -> None:
    """Whoever comes first makes it, and nobody notices."""
    with workers(*(["open", n] for n in range(6))) as started:
        for worker in started:
            assert line(worker) == "ready"
        for number in range(12):
            folder = tmp_path / f"space-{number}"
            for worker in started:
                tell(worker, SQLITE.url(folder))
            assert [line(worker) for worker in started] == ["stored"] * len(started)
            store = SQLITE.open(folder)
            assert store.count() == len(started)
            assert faults(store) == []
            store.close()


@pytest.mark.row("X8", "no-lock-error")
def test_a_store_can_be_read_checked_and_backed_up_while_others_write(tmp_path: Path, store: Store) -> None:
    """Reading sees no lock error, every check holds, and every backup is whole."""
    ledgers = [tmp_path / f"ledger-{n}" for n in range(3)]
    commands: list[list[object]] = [["write", store.url, n, ledger, 2.0] for n, ledger in enumerate(ledgers)]
    rounds = 0
    with workers(*commands) as started:
        for worker in started:
            assert line(worker) == "ready"
        for worker in started:
            tell(worker)
        while any(worker.poll() is None for worker in started):
            with store.snapshot():
                assert store.count() == len(store.query(limit=None)) == store.totals()["audit"] - reinforced(store)
            assert faults(store) == []
            store.backup(tmp_path / "backup.db")
            rounds += 1
        assert errors([json.loads(line(worker)) for worker in started]) == Counter()
    assert rounds > 1
    copy = SQLITE.open(tmp_path / "copy")
    copy.restore(tmp_path / "backup.db")
    assert faults(copy) == []
    copy.close()
    assert {memory.uid for memory in store.query(limit=None)} == set(acknowledged(*ledgers))


def reinforced(store: Store) -> int:
    """How often somebody stored what was there already."""
    return sum(entry.action == "reinforce" for entry in store.audit())


@pytest.mark.row("X8", "no-lost-write")
def test_a_process_may_open_a_store_twice(tmp_path: Path) -> None:
    """Opening it again lets go of none of the locks it has, so that another's closing takes nothing away from it."""
    path = tmp_path / "memory.db"
    with workers(["open-twice", path], ["open", "another"]) as [twice, other]:
        assert line(twice) == "ready"
        assert line(other) == "ready"
        tell(other, str(path))
        assert line(other) == "stored"
        tell(twice)
        uids = {Uid(line(twice)) for _ in range(5)}
        seen = SQLITE.open(tmp_path)
        assert uids <= {memory.uid for memory in seen.query(limit=None)}
        twice.kill()
        twice.wait()
        seen.close()
    store = SQLITE.open(tmp_path)
    assert uids <= {memory.uid for memory in store.query(limit=None)}
    assert store.count() == 7
    assert faults(store) == []
    store.close()


@pytest.mark.row("X8", "no-lost-write", "no-lock-error", "no-duplicate")
def test_sixteen_threads_share_one_store(store: Store) -> None:
    """Threads of one process write and read side by side."""
    failures: list[BaseException] = []
    begin = threading.Barrier(16)

    def work(number: int) -> None:
        try:
            begin.wait()
            for n in range(12):
                add(store, f"thread {number} says {n}")
                add(store, f"all say {n}")
                assert store.count(parse_where({"content": f"thread {number} says {n}"})) == 1
                with store.snapshot():
                    assert len(store.query(limit=None)) == store.count()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store.count() == 16 * 12 + 12
    assert len(store.audit()) == 2 * 16 * 12
    assert faults(store) == []


@pytest.mark.row("X8", "no-lost-write")
def test_both_sides_of_a_fork_may_write(tmp_path: Path) -> None:
    """Parent and child use the store that was open; when the parent closes it, the child's writes are safe."""
    with workers(["fork", tmp_path / "memory.db", tmp_path / "ledger", 30]) as [worker]:
        _, complaint = worker.communicate(timeout=60)
    assert worker.returncode == 0, complaint
    store = SQLITE.open(tmp_path)
    uids = acknowledged(tmp_path / "ledger-parent", tmp_path / "ledger-child")
    assert len(uids) == 90
    assert set(uids) <= {memory.uid for memory in store.query(limit=None)}
    assert store.count() == 91
    assert faults(store) == []
    store.close()


@pytest.mark.row("X8", "no-lock-error")
def test_a_child_that_was_forked_while_somebody_waited_keeps_no_lock(tmp_path: Path, store: Store) -> None:
    """What the child inherited of a lock that was being waited for does not hold up the others."""
    signal_file = tmp_path / "signal"
    with workers(["hold", store.url]) as [holder]:
        assert line(holder) == "ready"
        with workers(["fork-while-waiting", store.url, signal_file]) as [forking]:
            while not signal_file.exists():
                assert forking.poll() is None, forking.communicate()
                time.sleep(0.01)
            tell(holder)
            line(holder)
            assert line(forking) == "stored"
            assert forking.wait(timeout=30) == 0
    assert sorted(contents(store.query())) == ["had to wait", "right after", "the slow one"]


@pytest.mark.row("X8", "no-lock-error")
def test_a_writer_that_stands_still_is_reported_within_the_timeout(tmp_path: Path, store: Store) -> None:
    """While a stopped process holds the lock, others are told in time; reading goes on; then everything goes on."""
    with workers(["hold", store.url]) as [holder]:
        assert line(holder) == "ready"
        holder.send_signal(signal.SIGSTOP)
        impatient = SQLITE.open(tmp_path, Options(lock_timeout=1.0))
        assert impatient.count() == 0
        start = time.monotonic()
        with pytest.raises(StoreBusy):
            add(impatient, "cannot wait")
        assert 0.9 <= time.monotonic() - start < 3
        holder.send_signal(signal.SIGCONT)
        tell(holder)
        slow = Uid(line(holder))
        assert impatient.by_uid(slow) is not None
        add(impatient, "could wait")
        assert sorted(contents(impatient.query())) == ["could wait", "the slow one"]
        impatient.close()


@pytest.mark.row("X8", "no-lock-error", "no-lost-write")
def test_a_writer_that_dies_with_the_lock_holds_nobody_up(store: Store) -> None:
    """A process killed in the middle of a write leaves neither its half of it nor its lock."""
    add(store, "before")
    with workers(["hold", store.url]) as [holder]:
        assert line(holder) == "ready"
        holder.kill()
        holder.wait()
        start = time.monotonic()
        add(store, "after")
        assert time.monotonic() - start < 2
    assert sorted(contents(store.query())) == ["after", "before"]
    assert faults(store) == []


@pytest.mark.row("X8", "no-lost-write")
@pytest.mark.parametrize("wait", [0.1, 0.25, 0.4])
def test_writers_killed_at_any_moment_lose_nothing_acknowledged(tmp_path: Path, store: Store, wait: float) -> None:
    """Whatever they were doing, what they had been told is stored is stored, and the store is sound."""
    ledgers = [tmp_path / f"ledger-{n}" for n in range(3)]
    commands: list[list[object]] = [["write", store.url, n, ledger, 30] for n, ledger in enumerate(ledgers)]
    with workers(*commands) as started:
        for worker in started:
            assert line(worker) == "ready"
        for worker in started:
            tell(worker)
        while not all(ledger.exists() and ledger.stat().st_size for ledger in ledgers):
            time.sleep(0.01)
        time.sleep(wait)
        for worker in started:
            worker.kill()
        for worker in started:
            worker.wait()
    uids = acknowledged(*ledgers)
    assert uids
    assert set(uids) <= {memory.uid for memory in store.query(limit=None)}
    assert faults(store) == []
    add(store, "afterwards")


def test_errors_of_the_store_are_the_only_ones_a_writer_counts() -> None:
    """A lock error would be counted: it is one of the product's errors."""
    assert issubclass(StoreBusy, RecollectError)
