"""What was acknowledged is there: after the power went, and whatever the disk refuses."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import apsw
import pytest
from fault_disks import Disk, Step, after_a_power_cut

from recollect.errors import RecollectError
from recollect.model import Add, Change, Draft, Edit, Mark, MemoryId, Origin, Revise, Signals, Status, Uid
from recollect.policy.admit import compose
from recollect.store import Store, open_store
from recollect.store.sqlite import connect

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CUTS = 150


@contextmanager
def disk(told: Callable[[Step], None]) -> Iterator[None]:
    """Let SQLite use a disk of ours for a while."""
    ours = Disk(told)
    try:
        yield
    finally:
        ours.unregister()


def addition(number: int) -> Add:
    draft = Draft(content=f"note {number} " + "lorem " * (number % 50), tags=("a", f"t{number % 7}"))
    memory = compose(draft, uid=Uid(str(UUID(int=number))), origin=Origin.OBSERVED, now=NOW)
    return Add(memory=memory, on_duplicate=Signals(access=1))


def apply(store: Store, *changes: Change) -> None:
    store.apply(changes, actor="test", now=NOW)


def write_a_while(path: Path, acknowledged: Callable[[int], None]) -> None:
    """Add, change and forget, with a log so short that it is copied back again and again."""
    store = open_store(str(path))
    with store._connections.exclusive() as writer:  # type: ignore[attr-defined]
        writer.pragma("wal_autocheckpoint", 60)
    for number in range(1, 80):
        apply(store, addition(number))
        if number % 4 == 0:
            apply(store, Mark(id=MemoryId(number - 1), status=Status.FORGOTTEN))
        if number % 5 == 0:
            apply(store, Revise(id=MemoryId(number), edit=Edit(content=f"changed {number}")))
        acknowledged(number)
    store.close()


def lost_in_cuts(folder: Path) -> tuple[int, list[str]]:
    """In how many of the simulated power cuts an acknowledged memory was lost, and what was unsound afterwards."""
    steps: list[Step] = []
    with disk(steps.append):
        write_a_while(folder / "store.db", lambda number: steps.append(Step("acknowledged", at=number)))
    first = next(at for at, step in enumerate(steps) if step.what == "acknowledged")
    chance = random.Random(1)
    lost, unsound = 0, []
    for cut in range(CUTS):
        end = chance.randrange(first + 1, len(steps) + 1)
        after_a_power_cut(steps[:end], folder / f"cut-{cut}", chance)
        store = open_store(str(folder / f"cut-{cut}" / "store.db"))
        lost += store.count() < max(step.at for step in steps[:end] if step.what == "acknowledged")
        unsound += [check.detail for check in store.check() if not check.ok]
        store.close()
    return lost, unsound


def test_no_power_cut_loses_what_was_acknowledged(tmp_path: Path) -> None:
    """Whenever the power goes, everything acknowledged is there and everything holds together."""
    assert lost_in_cuts(tmp_path) == (0, [])


def test_the_cuts_would_find_a_store_that_does_not_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With synchronous = NORMAL, as many stores have it, acknowledged writes are lost: the test above has teeth."""
    careless = tuple(pragma.replace("synchronous = FULL", "synchronous = NORMAL") for pragma in connect._PRAGMAS)
    monkeypatch.setattr(connect, "_PRAGMAS", careless)
    lost, _ = lost_in_cuts(tmp_path)
    assert lost > CUTS // 10


ACTIONS: dict[str, Callable[[Store, Path], None]] = {
    "add": lambda store, _: apply(store, addition(10), addition(11)),
    "update": lambda store, _: apply(store, Revise(id=MemoryId(1), edit=Edit(content="new text"))),
    "forget": lambda store, _: apply(store, Mark(id=MemoryId(1), status=Status.FORGOTTEN)),
    "rebuild": lambda store, _: store.rebuild(),
    "backup": lambda store, folder: store.backup(folder / "kept" / "backup.db"),
}


@pytest.mark.parametrize("error", [apsw.IOError, apsw.FullError], ids=["error", "full"])
@pytest.mark.parametrize("action", ACTIONS)
def test_whatever_the_disk_refuses_the_store_stays_whole(tmp_path: Path, action: str, error: type[apsw.Error]) -> None:
    """Failing at each write, sync and truncation in turn: told every time, nothing lost, nothing half done."""
    for point in range(1, 1_000):
        folder = tmp_path / str(point)
        reached = fails_at(folder, ACTIONS[action], point, error)
        store = open_store(str(folder / "store.db"))
        assert all(store.by_uid(Uid(str(UUID(int=number)))) for number in (1, 2, 3)), point
        assert [check.detail for check in store.check() if not check.ok] == [], point
        store.close()
        if not reached:
            assert point > 10
            return


def fails_at(folder: Path, action: Callable[[Store, Path], None], point: int, error: type[apsw.Error]) -> bool:
    """Do something on a disk that fails once, at the given step; whether it got that far."""
    steps = 0
    armed = False

    def told(step: Step) -> None:
        nonlocal steps
        if armed and step.what != "delete":
            steps += 1
            if steps == point:
                raise error("the disk refuses")

    with disk(told):
        store = open_store(str(folder / "store.db"))
        apply(store, addition(1), addition(2), addition(3))
        before = store.count()
        armed, failed = True, False
        try:
            action(store, folder)
        except RecollectError:
            failed = True
        armed = False
        assert not failed or store.count() == before
        assert not failed or not (folder / "kept" / "backup.db").exists()
        store.close()
    return steps >= point
