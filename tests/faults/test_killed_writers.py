"""Processes that are killed while they write take nothing with them that was acknowledged."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import recollect

WRITER = """
import os, sys
import recollect

project, home, name, ledger = sys.argv[1:]
book = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
settings = {"consolidate.mode": "off"}  # what is measured here is the store
with recollect.open(project, home=home, actor=name, settings=settings) as memory:
    number = 0
    while True:
        stored = memory.remember(f"writer {name} of process {os.getpid()} says {number}", key=f"{os.getpid()}-{number}")
        if number % 3 == 0:
            memory.reinforce(stored.ref)
        if number % 5 == 0:
            memory.update(stored.ref, f"writer {name} of process {os.getpid()} corrects {number}")
        os.write(book, f"{stored.memory.uid}\\n".encode())
        number += 1
"""
SECONDS = 6.0
WRITERS = 3


def test_no_kill_loses_what_was_acknowledged(tmp_path: Path) -> None:
    """Three writers, killed at random and started again: every acknowledged memory is there, and all is sound."""
    (tmp_path / "project").mkdir()
    chance = random.Random(3)

    def start(number: int) -> subprocess.Popen[bytes]:
        places = (tmp_path / "project", tmp_path / "home", number, tmp_path / f"ledger-{number}")
        return subprocess.Popen([sys.executable, "-c", WRITER, *map(str, places)])

    running = [start(number) for number in range(WRITERS)]
    kills = 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        # Long enough for most to have begun writing; what moment of it they are in is up to chance.
        time.sleep(chance.uniform(0.1, 0.4))
        unlucky = chance.randrange(WRITERS)
        running[unlucky].kill()
        assert running[unlucky].wait() < 0, "a writer failed before it was killed"
        running[unlucky] = start(unlucky)
        kills += 1
    for each in running:
        each.kill()
        each.wait()
    acknowledged = [uid for book in tmp_path.glob("ledger-*") for uid in book.read_text().split()]
    with recollect.open(tmp_path / "project", home=tmp_path / "home") as memory:
        there = {each.uid for each in memory.list(limit=1_000_000)}
        assert [uid for uid in acknowledged if uid not in there] == []
        assert [check.detail for check in memory.doctor() if not check.ok] == []
        assert memory.notes == ()
    assert kills >= 10
    assert len(acknowledged) > 50
