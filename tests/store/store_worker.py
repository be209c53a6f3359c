"""A process that uses a store, for tests of many at once: `python store_worker.py WHAT PATH ...`.

It says "ready" and waits for a line before it begins, so that all begin together, and ends with one line of JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import apsw

from recollect.errors import RecollectError
from recollect.model import Add, Corpus, File, Memory, Passage, Signals, Uid, Unfile
from recollect.policy.identity import content_hash, fingerprint
from recollect.store import Options, Store, open_store
from recollect.store.sqlite import SqliteStore

SHARED = 50
"""How many texts all writers try to store."""


def add(store: Store, content: str) -> Memory:
    """Store one memory and return it as stored."""
    now = datetime.now(UTC)
    fresh = Memory(
        uid=Uid(str(uuid.uuid4())),
        content=content,
        created_at=now,
        updated_at=now,
        fingerprint=fingerprint(content),
        content_hash=content_hash(content),
    )
    [outcome] = store.apply([Add(memory=fresh, on_duplicate=Signals(access=1))], actor="worker", now=now).outcomes
    assert outcome.memory is not None
    return outcome.memory


def await_start() -> None:
    """Say that all is prepared, and wait to be told to begin."""
    print("ready", flush=True)
    sys.stdin.readline()


def flat_out(seconds: float, step: Callable[[int], None], errors: tuple[type[Exception], ...]) -> None:
    """Do one thing after the other for a time; then tell how often, what went wrong, and the longest wait."""
    failed: Counter[str] = Counter()
    done = 0
    longest = 0.0
    start = now = time.monotonic()
    while now - start < seconds:
        try:
            step(done + failed.total())
            done += 1
        except errors as error:
            failed[type(error).__name__] += 1
        longest = max(longest, time.monotonic() - now)
        now = time.monotonic()
    print(json.dumps({"done": done, "errors": failed, "longest": longest, "seconds": now - start}), flush=True)


def write(path: str, name: str, ledger: str, seconds: str) -> None:
    """Store memories of its own and the shared ones by turns; enter each uid in the ledger once it is acknowledged."""
    await_start()
    store = open_store(path)
    book = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def step(n: int) -> None:
        shared = n % 2 == 1 and n // 2 < SHARED
        stored = add(store, f"shared text {n // 2}" if shared else f"writer {name} says {n}")
        os.write(book, f"{stored.uid}\n".encode())

    flat_out(float(seconds), step, (RecollectError,))
    store.close()


def file_passages(path: str, name: str, seconds: str) -> None:
    """File passages of its own document and, by turns, of one that all write; now and then drop the end of its own."""
    await_start()
    store = open_store(path)

    def step(n: int) -> None:
        document = "shared" if n % 2 else name
        passage = Passage(corpus=Corpus.SESSIONS, document=document, position=n // 2, text=f"said {n} by {name}")
        change = Unfile(corpus=Corpus.SESSIONS, document=name, start=n // 2 - 3) if n % 10 == 8 else None
        store.apply([File(passages=(passage,)), *([change] if change else [])], actor=name, now=datetime.now(UTC))

    flat_out(float(seconds), step, (RecollectError,))
    store.close()


def converse(path: str) -> None:
    """Keep a store open; file each line it is sent as a passage, or, of a question, say what it finds."""
    store = open_store(path)
    print("ready", flush=True)
    for position, line in enumerate(sys.stdin):
        text = line.strip()
        if text.endswith("?"):
            found = store.find((text.removesuffix("?"),), corpus=Corpus.SESSIONS, limit=99, postings=9_999)
            entries = store.entries(found.items, corpus=Corpus.SESSIONS, around=1)
            print(json.dumps(sorted(each.of.text for each in entries if isinstance(each.of, Passage))), flush=True)
        else:
            passage = Passage(corpus=Corpus.SESSIONS, document="worker", position=10 * position, text=text)
            store.apply([File(passages=(passage,))], actor="worker", now=datetime.now(UTC))
            print("filed", flush=True)


def control(path: str, seconds: str) -> None:
    """What everybody writes first: a deferred transaction that reads and then inserts, with a busy timeout."""
    connection = apsw.Connection(path)
    connection.set_busy_timeout(5_000)
    for pragma in ("journal_mode = wal", "synchronous = full"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("CREATE TABLE IF NOT EXISTS rows (content TEXT)")
    await_start()

    def step(n: int) -> None:
        try:
            connection.execute("BEGIN")
            seen = connection.execute("SELECT count(*) FROM rows").get
            connection.execute("INSERT INTO rows VALUES (?)", (f"{os.getpid()} says {n} after {seen}",))
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    flat_out(float(seconds), step, (apsw.Error,))


def open_in_turn(name: str) -> None:
    """Open the store of each line it is sent, store one memory, close it, and say how that went."""
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            store = open_store(line.strip())
            add(store, f"from {name}")
            store.close()
            print("stored", flush=True)
        except RecollectError as error:
            print(repr(error), flush=True)


def hold(path: str) -> None:
    """Stop in the middle of a write, with the lock in hand, until it is sent a line."""
    store = cast(SqliteStore, open_store(path))

    def before_commit(connection: apsw.Connection) -> None:
        await_start()

    store._before_commit = before_commit  # type: ignore[method-assign]
    print(add(store, "the slow one").uid, flush=True)
    store.close()


def open_twice(path: str) -> None:
    """Open the store a second time while it is open; when told, store some more, say their uids, wait for the end."""
    store = open_store(path)
    add(store, "before the second opening")
    second = open_store(path)
    await_start()
    for n in range(5):
        print(add(store if n % 2 else second, f"afterwards {n}").uid, flush=True)
    signal.pause()


def fork(path: str, ledger: str, rounds: str) -> None:
    """Fork with an open store. Both sides write; the parent closes; the child goes on and closes last."""
    store = open_store(path)
    add(store, "before the fork")
    assert store.count() == 1
    from_child, to_parent = os.pipe()
    from_parent, to_child = os.pipe()
    child = os.fork()
    book = os.open(f"{ledger}-{'parent' if child else 'child'}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write_some(name: str) -> None:
        for n in range(int(rounds)):
            os.write(book, f"{add(store, f'{name} {n}').uid}\n".encode())

    if child == 0:
        signal.alarm(60)  # it must not outlive the test, whatever becomes of its parent
        write_some("child beside the parent")
        os.write(to_parent, b".")
        os.read(from_parent, 1)
        write_some("child after the parent")
        assert store.count() == 1 + 3 * int(rounds)
        store.close()
        os._exit(0)
    write_some("parent")
    os.read(from_child, 1)
    store.close()
    os.write(to_child, b".")
    assert os.waitpid(child, 0)[1] == 0, "the child failed"


def fork_while_waiting(path: str, holder: str) -> None:
    """Fork while a thread waits for the lock; the child lives on and does nothing. Then let the holder go and write."""
    import threading

    store = open_store(path, Options(lock_timeout=20.0))
    store.count()
    waiting = threading.Thread(target=add, args=(store, "had to wait"))
    waiting.start()
    while not any(thread.name == "recollect-lock" for thread in threading.enumerate()):
        time.sleep(0.01)
    time.sleep(0.1)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # it must not outlive the test, whatever becomes of its parent
        for stream in (0, 1, 2):
            os.close(stream)
        signal.pause()
    try:
        Path(holder).write_text("go\n")
        waiting.join()
        impatient = open_store(path, Options(lock_timeout=2.0))
        add(impatient, "right after")
        print("stored", flush=True)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


WORK: dict[str, Callable[..., None]] = {
    "write": write,
    "file": file_passages,
    "converse": converse,
    "control": control,
    "open": open_in_turn,
    "hold": hold,
    "open-twice": open_twice,
    "fork": fork,
    "fork-while-waiting": fork_while_waiting,
}

if __name__ == "__main__":
    WORK[sys.argv[1]](*sys.argv[2:])
