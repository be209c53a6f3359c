"""Schedules: what is due, once and by one process only, and what becomes of a job that was killed half-way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

import recollect
from recollect import InvalidInput, Refused
from recollect.config import load
from recollect.engine.governor import Governor, Ledger
from recollect.engine.schedule import REST, Job, Ran, Run, Schedule, planned, time_zone
from recollect.errors import StoreFull
from recollect.policy.cron import parse_cron
from recollect.policy.patience import MOST_TRIES
from recollect.testing import FixedClock

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
NIGHTLY = parse_cron("0 4 * * *")

WORKER = """
import os, sys, time
from datetime import UTC, datetime
from pathlib import Path
from recollect.engine.schedule import Job, Schedule
from recollect.policy.cron import parse_cron

folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
now = datetime(2026, 1, 2, 12, tzinfo=UTC)

def work(run):
    with (folder / "log").open("a") as log:
        log.write(f"{os.getpid()} begins after {run.reached!r}\\n")
    (folder / "half").write_text("half")
    run.note("page 3")
    print("working", flush=True)
    time.sleep(seconds)
    (folder / "half").rename(folder / "whole")
    with (folder / "log").open("a") as log:
        log.write(f"{os.getpid()} ends\\n")

job = Job(name="backup", work=work, cron=parse_cron("0 4 * * *"))
print("ready", flush=True)
sys.stdin.readline()
for ran in Schedule([job], folder / "run", lambda: now).run_due(now):
    print(ran.why, ran.outcome, flush=True)
"""

DEADLY = """
import os, sys
from datetime import datetime
from pathlib import Path
from recollect.engine.schedule import Job, Schedule
from recollect.policy.cron import parse_cron

now = datetime.fromisoformat(sys.argv[2])
job = Job(name="backup", work=lambda run: os.kill(os.getpid(), 9), cron=parse_cron("0 4 * * *"))
Schedule([job], Path(sys.argv[1]) / "run", lambda: now).run_due(now)
"""


@pytest.fixture
def clock() -> FixedClock:
    """A clock that stands at noon."""
    return FixedClock(START)


def counted(done: list[str]) -> Callable[[Run], None]:
    """Work that notes why it was done."""
    return lambda run: done.append(run.why)


def started(folder: Path, *seconds: float) -> list[subprocess.Popen[str]]:
    """Workers that wait for their signal to run what is due."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder), str(each)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for each in seconds
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    return workers


def go(worker: subprocess.Popen[str]) -> None:
    """Let a worker begin."""
    assert worker.stdin is not None
    worker.stdin.write("go\n")
    worker.stdin.flush()


def begun(folder: Path) -> None:
    """A record from yesterday noon, so that the run of this night is due."""
    job = Job(name="backup", work=lambda run: None, cron=NIGHTLY)
    Schedule([job], folder / "run", lambda: START).run_due(START)


def test_a_job_runs_at_its_time_and_not_before(clock: FixedClock, tmp_path: Path) -> None:
    """From the first start on; and once for each time."""
    done: list[str] = []
    schedule = Schedule([Job(name="pruning", work=counted(done), cron=NIGHTLY)], tmp_path / "run", clock)
    assert schedule.run_due(clock.now) == ()
    assert schedule.next(clock.now) == datetime(2026, 1, 2, 4, tzinfo=UTC)
    clock.now = datetime(2026, 1, 2, 3, 59, 59, tzinfo=UTC)
    assert schedule.due(clock.now) == ()
    clock.move(seconds=1)
    assert schedule.due(clock.now) == (("pruning", "schedule"),)
    assert schedule.run_due(clock.now) == (Ran(name="pruning", why="schedule", outcome="done"),)
    assert schedule.run_due(clock.now) == ()
    record = schedule.record("pruning")
    assert record is not None
    assert (record.began, record.ended, record.outcome) == (None, clock.now, "done")


def test_missed_runs_are_caught_up_once(clock: FixedClock, tmp_path: Path) -> None:
    """A machine that was off for ten days does it once, after a restart too."""
    done: list[str] = []
    job = Job(name="pruning", work=counted(done), cron=NIGHTLY)
    Schedule([job], tmp_path / "run", clock).run_due(clock.now)
    clock.move(days=10)
    for _ in range(3):
        Schedule([job], tmp_path / "run", clock).run_due(clock.now)
    assert done == ["schedule"]
    clock.move(days=1)
    Schedule([job], tmp_path / "run", clock).run_due(clock.now)
    assert len(done) == 2


def test_looking_writes_nothing(clock: FixedClock, tmp_path: Path) -> None:
    """Neither asking what is due nor running nothing touches a file."""
    folder = tmp_path / "run"
    job = Job(name="pruning", work=lambda run: None, cron=NIGHTLY, idle=timedelta(minutes=30), full=lambda: False)
    schedule = Schedule([job], folder, clock)
    assert schedule.due(clock.now) == ()
    assert not folder.exists()
    schedule.run_due(clock.now)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    for _ in range(100):
        clock.move(minutes=9)
        schedule.due(clock.now)
        schedule.next(clock.now)
        schedule.run_due(clock.now)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert {path.stat().st_mode & 0o077 for path in (folder, *before)} == {0}


@pytest.mark.row("J25", "on-schedule", "on-idle", "on-capacity")
def test_the_garden_runs_on_schedule_when_idle_and_when_full(clock: FixedClock, tmp_path: Path) -> None:
    """Once for each stretch of quiet, and when there is no room, at most once an hour."""
    done: list[str] = []
    room = [True]
    settings = load(tmp_path, env={}, overrides={"garden.schedule": "0 4 * * 0", "garden.idle": 30}).settings
    jobs = planned(settings, UTC, {"garden": counted(done)}, {"garden": lambda: not room[0]})
    schedule = Schedule(jobs, tmp_path / "run", clock)
    schedule.run_due(clock.now)
    clock.move(minutes=1)
    schedule.used()
    clock.move(minutes=29)
    assert schedule.run_due(clock.now) == ()
    for _ in range(5):
        clock.move(minutes=5)
        schedule.run_due(clock.now)
    assert done == ["idle"], "nothing was used since, so there is nothing new to do"
    room[0] = False
    clock.move(seconds=REST.total_seconds())
    for _ in range(3):
        schedule.run_due(clock.now)
    assert done == ["idle", "capacity"]
    room[0] = True
    clock.now = datetime(2026, 1, 4, 4, tzinfo=UTC)  # a Sunday
    schedule.run_due(clock.now)
    assert done == ["idle", "capacity", "schedule"]


@pytest.mark.row("K8", "schedule")
def test_the_settings_say_when_each_job_is_done(tmp_path: Path) -> None:
    """Pruning by the schedule it has, in the zone that was chosen; what has no time is done at none."""
    settings = load(tmp_path, env={}, overrides={"prune.schedule": "30 3 * * *", "session.schedule": ""}).settings
    works = {name: counted([]) for name in ("garden", "pruning", "retention", "backup")}
    jobs = {job.name: job for job in planned(settings, ZoneInfo("Europe/Berlin"), works)}
    assert jobs["pruning"].cron is not None
    assert jobs["pruning"].cron.next(START) == datetime(2026, 1, 2, 2, 30, tzinfo=UTC)
    assert [name for name, job in jobs.items() if job.cron is None] == ["retention", "backup"]
    assert [name for name, job in jobs.items() if job.idle is not None] == ["garden"]
    odd = load(tmp_path, env={}, overrides={"backup.schedule": "99 3 * * *"}).settings
    with pytest.raises(InvalidInput, match=r"backup\.schedule: the minute 99"):
        planned(odd, UTC, works)


def test_two_processes_never_run_the_same_job_together(tmp_path: Path) -> None:
    """Of four that find it due at once, one does it; the others leave it to that one."""
    begun(tmp_path)
    workers = started(tmp_path, 0.5, 0.5, 0.5, 0.5)
    for worker in workers:
        go(worker)
    said = [worker.communicate()[0].split("\n") for worker in workers]
    log = (tmp_path / "log").read_text().splitlines()
    assert len(log) == 2, log
    assert sum("schedule done" in lines for lines in said) == 1
    others = [line for lines in said if "schedule done" not in lines for line in lines if line]
    assert set(others) <= {"schedule elsewhere", "resumed elsewhere"}


def test_a_job_that_was_killed_half_way_is_taken_up_by_another(tmp_path: Path) -> None:
    """It is due at once, is told how far the dead one was, and what is left is whole."""
    begun(tmp_path)
    first, second = started(tmp_path, 60, 0)
    go(first)
    assert first.stdout is not None
    assert first.stdout.readline() == "working\n"
    clock = FixedClock(datetime(2026, 1, 2, 12, tzinfo=UTC))
    here = Schedule([Job(name="backup", work=lambda run: None, cron=NIGHTLY)], tmp_path / "run", clock)
    assert [ran.outcome for ran in here.run_due(clock.now)] == ["elsewhere"], "it is under way"
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert not (tmp_path / "whole").exists()
    go(second)
    assert second.communicate()[0] == "working\nresumed done\n"
    assert (tmp_path / "whole").read_text() == "half"
    log = (tmp_path / "log").read_text().splitlines()
    assert [line.partition(" ")[2] for line in log] == ["begins after ''", "begins after 'page 3'", "ends"]
    assert here.run_due(clock.now) == ()


def test_a_job_that_kills_every_process_is_not_begun_for_ever(clock: FixedClock, tmp_path: Path) -> None:
    """After five times it waits for its next time."""
    begun(tmp_path)

    def ends_with(now: datetime) -> int:
        return subprocess.run([sys.executable, "-c", DEADLY, str(tmp_path), now.isoformat()], check=False).returncode

    now = START + timedelta(days=1)
    codes = [ends_with(now) for _ in range(MOST_TRIES + 2)]
    assert codes == [-signal.SIGKILL] * MOST_TRIES + [0, 0]
    assert ends_with(now + timedelta(days=1)) == -signal.SIGKILL


def test_a_job_that_fails_waits_for_its_next_time(clock: FixedClock, tmp_path: Path) -> None:
    """What went wrong is told and kept, and the jobs after it run."""
    done: list[str] = []

    def fail(run: Run) -> None:
        raise StoreFull("memory.db", "has no room left")

    jobs = [Job(name="backup", work=fail, cron=NIGHTLY), Job(name="pruning", work=counted(done), cron=NIGHTLY)]
    schedule = Schedule(jobs, tmp_path / "run", clock)
    schedule.run_due(clock.now)
    clock.move(days=1)
    first, second = schedule.run_due(clock.now)
    assert (first.outcome, first.detail) == ("failed", "memory.db: has no room left")
    assert second.outcome == "done"
    assert schedule.run_due(clock.now) == ()
    record = schedule.record("backup")
    assert record is not None
    assert record.outcome == "failed memory.db: has no room left"
    clock.move(days=1)
    assert [name for name, _ in schedule.due(clock.now)] == ["backup", "pruning"]


def test_a_run_that_breaks_is_taken_up_again(clock: FixedClock, tmp_path: Path) -> None:
    """A fault nobody foresaw is raised, and counts as killed."""
    reached: list[str] = []

    def work(run: Run) -> None:
        reached.append(run.reached)
        if len(reached) == 1:
            run.note("half")
            raise ZeroDivisionError

    schedule = Schedule([Job(name="backup", work=work, cron=NIGHTLY)], tmp_path / "run", clock)
    schedule.run_due(clock.now)
    clock.move(days=1)
    with pytest.raises(ZeroDivisionError):
        schedule.run_due(clock.now)
    assert schedule.run_due(clock.now) == (Ran(name="backup", why="resumed", outcome="done"),)
    assert reached == ["", "half"]


def test_every_run_asks_the_governor_first(clock: FixedClock, tmp_path: Path) -> None:
    """Where it says no the job stays due, and is done once it says yes."""
    done: list[str] = []
    settings = load(tmp_path, env={}, overrides={"governor.wall_hour": 10.0}).settings
    governor = Governor(settings, clock, Ledger(tmp_path / "run"))
    schedule = Schedule([Job(name="backup", work=counted(done), cron=NIGHTLY)], tmp_path / "jobs", clock, governor)
    schedule.run_due(clock.now)
    clock.move(days=1)
    governor.spent(governor.allowed("garden", calls=0), wall=11.0)
    (refused,) = schedule.run_due(clock.now)
    assert refused.outcome == "refused"
    assert "used up its seconds at work for this hour" in refused.detail
    assert done == []
    clock.move(hours=1)
    assert [ran.outcome for ran in schedule.run_due(clock.now)] == ["done"]


@pytest.mark.parametrize("text", ["", "{", '{"covered": "yesterday"}', '{"covered": "2099-01-01T00:00:00Z"}'])
def test_a_record_that_makes_no_sense_begins_anew(clock: FixedClock, tmp_path: Path, text: str) -> None:
    """Nothing runs because of it, and nothing is kept from running for ever."""
    done: list[str] = []
    (tmp_path / "backup.json").write_text(text)
    schedule = Schedule([Job(name="backup", work=counted(done), cron=NIGHTLY)], tmp_path, clock)
    assert schedule.run_due(clock.now) == ()
    clock.move(days=1)
    schedule.run_due(clock.now)
    assert done == ["schedule"]


def test_a_folder_that_cannot_be_had_runs_nothing(clock: FixedClock, tmp_path: Path) -> None:
    """Without a lock nobody else could be kept off; it is told and not raised."""
    (tmp_path / "run").write_text("")
    schedule = Schedule([Job(name="backup", work=lambda run: None, cron=NIGHTLY)], tmp_path / "run", clock)
    (ran,) = schedule.run_due(clock.now)
    assert ran.outcome == "failed"
    assert "is a file where a folder should be" in ran.detail


def test_the_zone_is_the_one_that_is_named(tmp_path: Path) -> None:
    """By the settings, else by TZ, else by the machine, else UTC."""
    berlin = Path("/usr/share/zoneinfo/Europe/Berlin")
    summer = datetime(2026, 7, 1, tzinfo=UTC)
    assert time_zone("Asia/Tokyo", {"TZ": "Europe/Paris"}) == ZoneInfo("Asia/Tokyo")
    assert time_zone(None, {"TZ": ":Europe/Paris"}) == ZoneInfo("Europe/Paris")
    assert time_zone(None, {}, local=tmp_path / "none") is UTC
    assert time_zone(None, {"TZ": "Nowhere/Land"}, local=tmp_path / "none") is UTC
    if berlin.exists():
        os.symlink(berlin, tmp_path / "localtime")
        assert summer.astimezone(time_zone(None, {}, local=tmp_path / "localtime")).hour == 2
    with pytest.raises(InvalidInput, match="is no time zone"):
        time_zone("Nowhere/Land", {})


# --- The chores of a project -----------------------------------------------------------------------------------------


@pytest.mark.row("J25", "on-schedule")
def test_the_chores_of_a_project_are_done_at_their_time(tmp_path: Path) -> None:
    """Each once, however long nobody looked: the garden, room, old sessions, a backup."""
    (tmp_path / "project").mkdir()
    clock = FixedClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    settings = {"backup.schedule": "0 3 * * *", "governor.zone": "UTC"}
    with recollect.open(
        tmp_path / "project", home=tmp_path / "home", clock=clock, settings=settings, background=False
    ) as memory:
        memory.remember("Deploys go out from main")
        memory.session("crashed").append("user", "No, use pnpm, never npm, in this repository.")
        assert memory.schedule.run_due(clock()) == ()
        clock.move(days=40)
        ran = {each.name: each.outcome for each in memory.schedule.run_due(clock())}
        assert ran == dict.fromkeys(("garden", "pruning", "retention", "backup"), "done")
        assert memory.schedule.run_due(clock()) == ()
        assert memory.sessions.listed("crashed").archived
        assert any("pnpm" in each.content for each in memory.list({}))
        [space] = [each for each in memory.status().spaces if each.name == "project"]
        assert space.backups == 1
        memory.turn_off()
        with pytest.raises(Refused):
            _ = memory.schedule


@pytest.mark.row("J25", "on-idle", "on-capacity")
def test_chores_are_due_when_it_is_quiet_and_when_there_is_no_room(tmp_path: Path) -> None:
    """Quiet after it was used; full by the limit that the settings set."""
    (tmp_path / "project").mkdir()
    clock = FixedClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    settings = {"garden.idle": 10.0, "garden.schedule": None, "capacity.soft_limit": 3, "governor.zone": "UTC"}
    with recollect.open(
        tmp_path / "project", home=tmp_path / "home", clock=clock, settings=settings, background=False
    ) as memory:
        schedule = memory.schedule
        schedule.run_due(clock())
        clock.move(hours=2)
        assert schedule.due(clock()) == ()
        for number in range(5):
            memory.remember(f"Fact number {number} about something of its own, {'abcde'[number] * 7}")
        assert ("pruning", "capacity") in schedule.due(clock())
        assert ("pruning", "done") in [(each.name, each.outcome) for each in schedule.run_due(clock())]
        memory.recall("Fact number 4")
        until = time.monotonic() + 10
        while time.monotonic() < until and ("garden", "idle") not in schedule.due(clock() + timedelta(minutes=11)):
            time.sleep(0.02)
        assert schedule.due(clock()) == ()
        assert schedule.due(clock() + timedelta(minutes=11)) == (("garden", "idle"),)
