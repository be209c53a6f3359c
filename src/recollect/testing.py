"""Fakes for programs that use Recollect: a clock that stands still, and a memory that leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from .engine import Recollect
from .opening import open as open_memory


class FixedClock:
    """A clock that shows the time it was set to until it is moved."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, **amount: float) -> None:
        """Move on by days, hours, seconds … as `timedelta` takes them; back if they are negative."""
        self.now += timedelta(**amount)


@contextmanager
def temp_recollect(
    *, clock: FixedClock | None = None, settings: Mapping[str, object] | None = None
) -> Iterator[Recollect]:
    """A memory in a home and a project of its own, both gone when the block ends."""
    with TemporaryDirectory(prefix="recollect-") as folder:
        project = Path(folder) / "project"
        project.mkdir()
        with open_memory(project, home=Path(folder) / "home", clock=clock, settings=settings) as memory:
            yield memory
