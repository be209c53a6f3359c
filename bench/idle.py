"""Measure what an open memory costs while nobody uses it: seconds of processor, and bytes written.

    python bench/idle.py [--seconds 60] [--count 1000]

Everything runs that runs by itself: the background thread, the governor's ledger, events with a subscriber, and the
schedule, looked at once a second. After some use it is left alone, and then the counters of the system are read
(`/proc/self/io`: what was written at all, and what of it went to a disk). Allowed are 0.3 s of processor in 60 s, and
no byte.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from corpus import Corpus

import recollect
from recollect import Draft
from recollect.config import Settings
from recollect.engine.events import Event, Events, Search
from recollect.engine.governor import Governor, Ledger, Parking, Slo
from recollect.engine.schedule import Run, Schedule, planned

ALLOWED_CPU = 0.3 / 60


def written() -> tuple[int, int]:
    """Bytes this process has written so far: by any call, and to a disk."""
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines())
    return int(counters["wchar"]), int(counters["write_bytes"])


def used() -> float:
    """Seconds of processor this process has used so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def clock() -> datetime:
    """The time."""
    return datetime.now(UTC)


def nothing(run: Run) -> None:
    """No job is due in a minute; if one is, it costs nothing."""


def measure(home: Path, seconds: float, count: int) -> bool:
    """Use a memory, leave it alone, and say what that cost; whether it was within what is allowed."""
    heard: list[Event] = []
    settings = Settings()
    ledger = Ledger(home / "run")
    governor, parking, slo = Governor(settings, clock, ledger), Parking(clock, ledger), Slo(settings)
    works = dict.fromkeys(("garden", "pruning", "retention", "backup"), nothing)
    schedule = Schedule(planned(settings, UTC, works), home / "run" / "jobs", clock, governor)
    events = Events()
    events.subscribe(heard.append)
    (home / "project").mkdir()
    with recollect.open(home / "project", home=home, background=True) as memory:
        memory.remember_many([Draft(content=text) for text in Corpus().memories(count)])
        for query in ("deploy", "tests of the parser", "which port"):
            began = time.perf_counter()
            found = memory.recall(query)
            slo.timed((time.perf_counter() - began) * 1_000)
            events.tell(Search(query=query, results=tuple(hit.memory.uid for hit in found.hits)))
        governor.spent(governor.allowed("embed", tokens=100), calls=1, sent=100)
        parking.failed("b2:some", "why")
        schedule.run_due(clock())
        schedule.used()
        memory.embed_pending()
        time.sleep(10)  # what was begun ends
        bytes_before, cpu_before = written(), used()
        for _ in range(round(seconds)):
            time.sleep(1)
            schedule.run_due(clock())
            governor.allowed("garden", calls=0)
        cpu, after = used() - cpu_before, written()
    calls, disk = after[0] - bytes_before[0], after[1] - bytes_before[1]
    events.close()
    print(f"idle for {seconds:g} s with {count:,} memories, {len(heard)} events heard, p95 {slo.p95:.0f} ms")
    print(f"processor: {cpu:.3f} s ({cpu / seconds * 60:.3f} s in 60 s; 0.3 allowed)")
    print(f"written:   {calls:,} bytes by any call, {disk:,} to a disk; 0 allowed")
    return cpu <= ALLOWED_CPU * seconds and calls == disk == 0


def main() -> int:
    """Measure, and fail where more is used than is allowed."""
    parser = argparse.ArgumentParser(description="Measure an idle memory.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recollect-idle-") as folder:
        return 0 if measure(Path(folder), options.seconds, options.count) else 1


if __name__ == "__main__":
    raise SystemExit(main())
