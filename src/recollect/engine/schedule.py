"""Schedules: what is done by itself, and when: at times, when nobody needs the machine, when there is no more room.

Each job has a lock and a record in the home. The lock goes with the process that holds it, however that ends, so two
never run the same job and none is blocked by the dead. The record says up to when times have been seen to, so a machine
that was off catches up once, however much it missed. A job that begins is written down as begun: whoever finds it so,
with nobody holding the lock, knows that it was killed half-way, and runs it again with what it had noted last. What a
job does must therefore be safe to do again: what changes memories is a plan or a transaction, and files are replaced
whole, so half of either is none.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ..codec import canonical, decode, encode
from ..config import Settings
from ..disk import private_folder, write_private
from ..errors import InvalidInput, RecollectError
from ..policy.cron import Cron, parse_cron
from ..policy.patience import MOST_TRIES
from .governor import Governor

REST = timedelta(hours=1)
"""How long a job that made room is left alone, even if there is none again."""
_AHEAD = timedelta(days=1)
"""A record further in the future than this was written by a clock that was wrong."""

Why: TypeAlias = Literal["schedule", "idle", "capacity", "resumed"]
Outcome: TypeAlias = Literal["done", "failed", "elsewhere", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Something that is done by itself."""

    name: str
    work: Callable[[Run], None]
    """What is done. It may fail with a `RecollectError` or `OSError`; then it waits for its next time."""
    cron: Cron | None = None
    idle: timedelta | None = None
    """Done once nothing was asked for so long, if anything was since the last time."""
    full: Callable[[], bool] | None = None
    """Done when this says that there is no more room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is known of the runs of a job."""

    covered: datetime
    """Times up to here are seen to."""
    began: datetime | None = None
    """When the run began that is under way, or was killed."""
    tries: int = 0
    """How often that run was begun."""
    reached: str = ""
    """What it noted last."""
    ended: datetime | None = None
    outcome: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What became of a job that was due."""

    name: str
    why: Why
    outcome: Outcome
    detail: str = ""


class Run:
    """One run of a job, as the job sees it."""

    def __init__(self, why: Why, reached: str, note: Callable[[str], None]) -> None:
        self.why = why
        self.reached = reached
        """What the run before noted last, if it was killed; "" for one that begins anew."""
        self._note = note

    def note(self, reached: str) -> None:
        """Write down how far it is, for whoever takes over should this process be killed."""
        self.reached = reached
        self._note(reached)


class Schedule:
    """The jobs of one home, and when they are due."""

    def __init__(
        self, jobs: Sequence[Job], folder: Path, clock: Callable[[], datetime], governor: Governor | None = None
    ) -> None:
        """Locks and records lie in `folder`. Where there is a governor, each run asks it first."""
        self._jobs = {job.name: job for job in jobs}
        self._folder = folder
        self._clock = clock
        self._governor = governor
        self._used: datetime | None = None
        self._fires: dict[str, tuple[datetime, datetime]] = {}

    def used(self) -> None:
        """Somebody needs the memory now."""
        self._used = self._clock()

    def due(self, now: datetime) -> tuple[tuple[str, Why], ...]:
        """The jobs to be run now, and why. Writes nothing; those under way elsewhere are among them."""
        found = ((name, self._why(job, self.record(name), now)) for name, job in self._jobs.items())
        return tuple((name, why) for name, why in found if why is not None)

    def next(self, now: datetime) -> datetime | None:
        """When the next job is due by its schedule; None where none has one."""
        fires = [
            self._fire(job, record.covered if (record := self.record(name)) else now)
            for name, job in self._jobs.items()
            if job.cron
        ]
        return min((max(each, now) for each in fires if each), default=None)

    def run_due(self, now: datetime) -> tuple[Ran, ...]:
        """Run the jobs that are due, one after another, each alone among all processes.

        A job without a record begins with one: what was before the first start was not missed.
        """
        ran: list[Ran | None] = []
        for name, job in self._jobs.items():
            why = self._why(job, self.record(name), now)
            try:
                if why is not None:
                    ran.append(self._run(job, why, now))
                elif not self._sound(name, now):
                    self._begin_with(name, now)
            except (RecollectError, OSError) as error:  # the folder cannot be written, so nobody else can be kept off
                ran.append(Ran(name=name, why=why or "schedule", outcome="failed", detail=str(error)))
        return tuple(each for each in ran if each is not None)

    def record(self, name: str) -> Record | None:
        """What is known of the runs of a job; None where nothing is."""
        try:
            return decode(Record, json.loads((self._folder / f"{name}.json").read_bytes()))
        except (OSError, ValueError, RecursionError, InvalidInput):
            return None

    def _why(self, job: Job, record: Record | None, now: datetime) -> Why | None:
        if record is None:
            return None
        if record.began is not None and record.tries < MOST_TRIES:
            return "resumed"
        fire = self._fire(job, record.covered)
        if fire is not None and fire <= now:
            return "schedule"
        if job.idle is not None and self._used is not None and record.covered < self._used <= now - job.idle:
            return "idle"
        if job.full is not None and now - record.covered >= REST and job.full():
            return "capacity"
        return None

    def _fire(self, job: Job, covered: datetime) -> datetime | None:
        """When its schedule fires after what is seen to; worked out once, because it is asked all the time."""
        if job.cron is None:
            return None
        known = self._fires.get(job.name)
        if known is None or known[0] != covered:
            known = self._fires[job.name] = (covered, job.cron.next(covered))
        return known[1]

    def _sound(self, name: str, now: datetime) -> bool:
        record = self.record(name)
        return record is not None and record.covered <= now + _AHEAD

    def _begin_with(self, name: str, now: datetime) -> None:
        """Write down that times count from now on."""
        with self._locked(name) as alone:
            if alone and not self._sound(name, now):
                self._write(name, Record(covered=now))

    def _run(self, job: Job, why: Why, now: datetime) -> Ran | None:
        with self._locked(job.name) as alone:
            if not alone:
                return Ran(name=job.name, why=why, outcome="elsewhere")
            record = self.record(job.name)
            again = self._why(job, record, now)
            if record is None or again is None:
                return None  # somebody else has done it since
            if self._governor is None:
                return self._worked(job, record, again, now)
            decision = self._governor.allowed(job.name, calls=0)
            if not decision:
                return Ran(name=job.name, why=again, outcome="refused", detail=decision.reason)
            with self._governor.at_work(decision):
                ran = self._worked(job, record, again, now)
            (self._governor.worked if ran.outcome == "done" else self._governor.failed)(job.name)
            return ran

    def _worked(self, job: Job, record: Record, why: Why, now: datetime) -> Ran:
        resumed = why == "resumed"
        begun = replace(
            record,
            began=now,
            tries=record.tries + 1 if resumed else 1,
            reached=record.reached if resumed else "",
            covered=max(record.covered, now),
        )
        self._write(job.name, begun)
        run = Run(why, begun.reached, lambda reached: self._write(job.name, replace(begun, reached=reached)))
        outcome: Outcome = "done"
        detail = ""
        try:
            job.work(run)
        except (RecollectError, OSError) as error:
            outcome, detail = "failed", str(error)
        ended = Record(covered=begun.covered, ended=self._clock(), outcome=f"{outcome} {detail[:200]}".strip())
        self._write(job.name, ended)
        return Ran(name=job.name, why=why, outcome=outcome, detail=detail)

    def _write(self, name: str, record: Record) -> None:
        write_private(self._folder / f"{name}.json", [canonical(encode(record)), "\n"])

    @contextmanager
    def _locked(self, name: str) -> Iterator[bool]:
        """Hold the lock of a job, if nobody else does; whether it is held."""
        path = private_folder(self._folder) / f"{name}.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True
        finally:
            os.close(descriptor)


def planned(
    settings: Settings,
    zone: tzinfo,
    works: Mapping[str, Callable[[Run], None]],
    full: Mapping[str, Callable[[], bool]] | None = None,
) -> tuple[Job, ...]:
    """The jobs that the settings name times for, out of garden, pruning, retention and backup, with what they do."""
    times = {
        "garden": ("garden.schedule", settings.garden.schedule),
        "pruning": ("prune.schedule", settings.prune.schedule),
        "retention": ("session.schedule", settings.session.schedule),
        "backup": ("backup.schedule", settings.backup.schedule),
    }
    idle = settings.garden.idle
    return tuple(
        Job(
            name=name,
            work=work,
            cron=parse_cron(times[name][1] or "", zone=zone, name=times[name][0]) if times[name][1] else None,
            idle=timedelta(minutes=idle) if name == "garden" and idle is not None else None,
            full=(full or {}).get(name),
        )
        for name, work in works.items()
    )


def time_zone(name: str | None, env: Mapping[str, str], *, local: Path = Path("/etc/localtime")) -> tzinfo:
    """The zone of this name; else that of the environment (`TZ`), else that of the machine, else UTC."""
    chosen = name or env.get("TZ", "").removeprefix(":")
    if chosen:
        try:
            return ZoneInfo(chosen)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            if name:
                raise InvalidInput("governor.zone", f"{name!r} is no time zone that this machine knows") from error
    try:
        with local.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (OSError, ValueError):
        return UTC
