"""The governor: one budget for all processes, breakers, parked items, and recall that does less while it is slow."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect.config import Settings, load
from recollect.engine.governor import SMALL, Governor, Ledger, Parking, Slo
from recollect.policy.budgets import Decision
from recollect.policy.patience import MOST_TRIES, OPENS, PAUSE
from recollect.testing import FixedClock

WORKER = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from recollect.config import load
from recollect.engine.governor import Governor, Ledger

folder, wanted = Path(sys.argv[1]), int(sys.argv[2])
settings = load(folder, env={}, overrides={"governor.calls_hour": 60, "governor.tokens_hour": 4_000}).settings
governor = Governor(settings, lambda: datetime(2026, 1, 1, 12, tzinfo=UTC), Ledger(folder / "run"))
print("ready", flush=True)
sys.stdin.readline()
for number in range(wanted):
    decision = governor.allowed("judge", tokens=100)
    if not decision:
        print("no", decision.reason, flush=True)
        break
    print("yes", flush=True)
    if number % 2:
        governor.spent(decision, calls=1, sent=40, received=10)
    else:
        governor.spent(decision, calls=1, sent=90, received=10)
"""


def settings_with(**given: object) -> Settings:
    """The settings, with some of the governor's set."""
    overrides = {f"governor.{name}": value for name, value in given.items()}
    return load(Path("not-there"), env={}, overrides=overrides).settings


def governed(clock: FixedClock, ledger: Ledger | None = None, **given: object) -> Governor:
    """A governor with some settings of its own."""
    return Governor(settings_with(**given), clock, ledger or Ledger(None))


@pytest.fixture
def clock() -> FixedClock:
    """A clock that stands at noon."""
    return FixedClock(datetime(2026, 1, 1, 12, tzinfo=UTC))


def written(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file of a folder with its time and inode: whoever writes one changes it."""
    return {path.name: (path.stat().st_mtime_ns, path.stat().st_ino) for path in folder.iterdir()}


@pytest.mark.row("X3", "tokens", "calls")
def test_many_processes_share_one_budget(tmp_path: Path) -> None:
    """Four at once, one of them killed on the way: no more was allowed than the budget holds, and all of it was."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), "1000"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for worker in started:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in started:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    first = started[0].stdout
    assert first is not None
    said = [first.readline() for _ in range(3)]
    started[0].send_signal(signal.SIGKILL)
    outputs = ["".join(said) + started[0].communicate()[0], *(worker.communicate()[0] for worker in started[1:])]
    allowed = sum(output.count("yes\n") for output in outputs)
    assert [worker.returncode for worker in started] == [-signal.SIGKILL, 0, 0, 0]
    assert all("no background work has used up its" in output for output in outputs[1:])
    # Half of them use 100 tokens and half 50: 4,000 are spent before 60 calls are, but for what the killed one held.
    assert 40 <= allowed <= 54
    clock = FixedClock(datetime(2026, 1, 1, 12, 30, tzinfo=UTC))
    spend = governed(clock, Ledger(tmp_path / "run"), calls_hour=60, tokens_hour=4_000).spend()
    shown = {(line.measure, line.spell): line for line in spend.lines}
    assert 3_900 < shown["tokens", "hour"].spent <= 4_000
    assert allowed - 1 <= shown["calls", "hour"].spent <= allowed + 1


@pytest.mark.row("X3", "degrades")
def test_a_budget_that_is_spent_says_so_and_comes_back(clock: FixedClock, tmp_path: Path) -> None:
    """Over restarts too; the next hour is a new one, until the day is spent."""
    ledger = Ledger(tmp_path / "run")
    for hour, yes in ((12, 2), (13, 2), (14, 1)):
        clock.now = datetime(2026, 1, 1, hour, tzinfo=UTC)
        governor = governed(clock, Ledger(tmp_path / "run"), calls_hour=2, calls_day=5)
        decisions = [governor.allowed("judge") for _ in range(4)]
        assert [bool(each) for each in decisions] == [True] * yes + [False] * (4 - yes)
        assert "rules do the work" in decisions[-1].reason
    notes = governed(clock, ledger, calls_hour=2, calls_day=5).spend().notes
    assert notes == ("the budget of calls for this day is spent; rules do the work until 00:00 UTC",)


@pytest.mark.row("X3", "spend")
def test_spend_is_shown_by_budget_and_by_kind(clock: FixedClock) -> None:
    """In tokens, calls and money at the prices of the settings."""
    governor = governed(clock, price_in=3.0, price_out=15.0, money_day=1.0)
    decision = governor.allowed("judge", tokens=10_000)
    assert decision
    shown = {(line.measure, line.spell): line.spent for line in governor.spend().lines}
    assert shown["money", "day"] == 0.15, "as much as it can cost is set aside"
    governor.spent(decision, calls=1, sent=6_000, received=1_000)
    spend = governor.spend()
    shown = {(line.measure, line.spell): line.spent for line in spend.lines}
    assert (shown["money", "hour"], shown["tokens", "hour"], shown["calls", "hour"]) == (0.033, 7_000, 1)
    assert [(kind, cost.tokens, cost.money) for kind, cost in spend.kinds] == [("judge", 7_000, 33_000)]
    assert not governor.allowed("judge", tokens=100_000), "that could cost 1.50"


@pytest.mark.row("X3", "cpu")
def test_work_that_took_its_share_of_the_processor_waits(clock: FixedClock) -> None:
    """All kinds of it, until time has made it good."""
    governor = governed(clock, cpu_share=0.1)
    decision = governor.allowed("garden", calls=0)
    governor.spent(decision, cpu=9.0)
    refused = governor.allowed("embed", calls=0)
    assert "10% of a processor" in refused.reason
    assert refused.until is not None
    clock.now = refused.until
    assert governor.allowed("embed", calls=0)


def test_time_is_measured_where_work_is_done(clock: FixedClock) -> None:
    """The block's own seconds are accounted for, and its calls, even when it fails."""
    governor = governed(clock, cpu_share=0.001)
    decision = governor.allowed("garden", tokens=50)
    with pytest.raises(KeyError), governor.at_work(decision) as meter:  # noqa: PT012 what was counted is what is tested
        meter.calls, meter.sent = 1, 20
        sum(number * number for number in range(6_000_000))
        raise KeyError("broken")
    shown = {(line.measure, line.spell): line.spent for line in governor.spend().lines}
    assert shown["tokens", "hour"] == 20
    assert shown["wall", "hour"] >= shown["cpu", "minute"] > 0.06
    assert not governor.allowed("garden", calls=0)


@pytest.mark.row("X3", "queue")
def test_a_full_queue_takes_nothing_more(clock: FixedClock) -> None:
    """And says how full it is."""
    governor = governed(clock, queue=3)
    assert governor.room("context", 2)
    refused = governor.room("context", 3)
    assert not refused
    assert refused.reason == "3 pieces of work wait already, and 3 is the most; this one is left out"


def test_nothing_is_written_while_nothing_is_done(clock: FixedClock, tmp_path: Path) -> None:
    """Asking for free work, small pieces of it, work that went well and looking at the spend leave the file alone."""
    folder = tmp_path / "run"
    governor = governed(clock, Ledger(folder))
    governor.spent(governor.allowed("judge", tokens=10), calls=1, sent=5)
    before = written(folder)
    for _ in range(50):
        clock.move(seconds=60)
        decision = governor.allowed("embed", calls=0)
        governor.spent(decision, cpu=SMALL / 1_000, wall=SMALL / 1_000)
        governor.worked("embed")
        governor.spend()
        Parking(clock, Ledger(folder)).parked("b2:1")
    assert written(folder) == before
    governor.spent(governor.allowed("embed", calls=0), cpu=SMALL)
    assert written(folder) != before
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.iterdir())} == {0}, "only the owner can read it"


def test_small_times_add_up(clock: FixedClock) -> None:
    """What is gathered before it is written is not lost."""
    governor = governed(clock, cpu_share=1)
    for _ in range(100):
        governor.spent(governor.allowed("embed", calls=0), cpu=SMALL / 10, wall=SMALL / 10)
    shown = {(line.measure, line.spell): line.spent for line in governor.spend().lines}
    assert shown["wall", "hour"] == pytest.approx(SMALL * 10, abs=SMALL)


def test_a_breaker_opens_for_all_and_one_probes_later(clock: FixedClock, tmp_path: Path) -> None:
    """What fails here is left alone there too; other kinds go on; a probe that works closes it."""
    here, there = (governed(clock, Ledger(tmp_path / "run")) for _ in range(2))
    for _ in range(OPENS):
        assert here.allowed("judge")
        here.failed("judge")
    refused = there.allowed("judge")
    assert refused.until == clock.now + PAUSE
    assert refused.reason == "judge failed 5 times in a row and is left alone for a while; rules do the work"
    assert there.spend().notes == (refused.reason,)
    assert there.allowed("embed")
    clock.move(seconds=PAUSE.total_seconds())
    assert here.allowed("judge")
    assert not there.allowed("judge"), "one probe at a time"
    here.worked("judge")
    assert there.allowed("judge")
    assert there.spend().breakers == ()


def test_a_waiting_breaker_costs_no_budget(clock: FixedClock) -> None:
    """What may not begin sets nothing aside."""
    governor = governed(clock)
    for _ in range(OPENS):
        governor.failed("judge")
    for _ in range(10):
        assert not governor.allowed("judge", tokens=100)
    assert all(line.spent == 0 for line in governor.spend().lines)


def test_a_poisoned_item_is_parked_after_five_tries(clock: FixedClock, tmp_path: Path) -> None:
    """It is listed with its reason, for every process, until it is released."""
    parking = Parking(clock, Ledger(tmp_path / "run"))
    for count in range(1, MOST_TRIES + 1):
        assert not parking.parked("b2:poison")
        assert parking.failed("b2:poison", "not UTF-8").count == count
    parking.failed("b2:other")
    elsewhere = Parking(clock, Ledger(tmp_path / "run"))
    assert elsewhere.parked("b2:poison")
    assert not elsewhere.parked("b2:other")
    assert [(each.item, each.count, each.why) for each in elsewhere.listed()] == [("b2:poison", 5, "not UTF-8")]
    assert governed(clock, Ledger(tmp_path / "run")).spend().parked == elsewhere.listed()
    assert elsewhere.released("b2:poison")
    assert not elsewhere.released("b2:poison")
    assert not parking.parked("b2:poison")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"hour": 3}', '{"later": {}}', "\0" * 40, '{"cpu": 1e999}'])
def test_a_damaged_book_is_no_leave_to_spend(clock: FixedClock, tmp_path: Path, text: str) -> None:
    """What was spent is not known: this hour counts as spent, and the next begins a new book."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "governor.json").write_text(text)
    governor = governed(clock, Ledger(folder))
    assert governor.spend().notes
    assert not governor.allowed("judge")
    clock.move(hours=1)
    assert governed(clock, Ledger(folder)).allowed("judge")


def test_a_file_in_the_way_of_the_folder_lets_nothing_begin(clock: FixedClock, tmp_path: Path) -> None:
    """And nothing is raised at whoever asks, accounts or looks."""
    (tmp_path / "run").write_text("")
    governor = governed(clock, Ledger(tmp_path / "run"))
    decision = governor.allowed("judge", tokens=5)
    assert "cannot be written down, so rules do it" in decision.reason
    governor.spent(decision, calls=1, sent=5)
    governor.failed("judge")
    governor.worked("judge")
    assert governor.spend().lines


def test_threads_share_one_budget(clock: FixedClock) -> None:
    """Within one process, and without a folder."""
    governor = governed(clock, calls_hour=50)
    yes: list[Decision] = []

    def ask() -> None:
        yes.extend(decision for _ in range(30) if (decision := governor.allowed("judge")))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(yes) == 50


# Recalls that are slow


@pytest.mark.row("P10", "degrades", "recovers", "few-samples", "window")
def test_slow_recalls_do_less_until_they_are_healthy_again() -> None:
    """From 15 and 500 to 5 and 100 and back, judged by the last hundred and by no fewer than five."""
    slo = Slo(Settings())
    for _ in range(4):
        slo.timed(1_000)
    assert (slo.degraded, slo.limits()) == (False, (15, 500))
    slo.timed(1_000)
    assert (slo.degraded, slo.limits()) == (True, (5, 100))
    for _ in range(94):
        slo.timed(250)
    assert slo.p95 == 1_000
    slo.timed(250)
    assert slo.p95 == 250, "five in a hundred may be slow"
    assert slo.degraded, "between the thresholds it stays as it is"
    for _ in range(95):
        slo.timed(199)
    assert (slo.degraded, slo.limits()) == (False, (15, 500))


@pytest.mark.row("P10", "window")
def test_only_the_latest_recalls_count() -> None:
    """What is longer ago than the window has no say."""
    slo = Slo(Settings())
    for milliseconds in (*[5_000] * 300, *[10] * 100):
        slo.timed(milliseconds)
    assert slo.p95 == 10
    assert not slo.degraded


def test_doing_less_is_never_doing_more() -> None:
    """Where the settings ask for less than that, it stays at what they ask."""
    given = {"recall.top_k": 3, "recall.candidates": 50}
    slo = Slo(load(Path("not-there"), env={}, overrides=given).settings)
    for _ in range(5):
        slo.timed(1_000)
    assert (slo.degraded, slo.limits()) == (True, (3, 50))


def test_a_decision_is_what_it_says() -> None:
    """It can be asked like a yes or a no."""
    assert Decision(kind="judge", yes=True)
    assert not Decision(kind="judge", yes=False, until=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=1))
