"""`AsyncRecollect`: the same memory for asynchronous programs. Every call runs the one synchronous core in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from .engine import Recollect

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _threaded(
    method: Callable[Concatenate[Recollect, _P], _R],
) -> Callable[Concatenate[AsyncRecollect, _P], Coroutine[Any, Any, _R]]:
    """The method with its own signature and documentation, awaited instead of waited for."""

    async def run(self: AsyncRecollect, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await asyncio.to_thread(method, self.memory, *args, **kwargs)

    update_wrapper(run, method)
    return run


class AsyncRecollect:
    """A `Recollect` whose calls are awaited.

    async with AsyncRecollect(recollect.open()) as memory:
        await memory.remember("…")
    """

    def __init__(self, memory: Recollect) -> None:
        self.memory = memory

    audit = _threaded(Recollect.audit)
    backup = _threaded(Recollect.backup)
    clusters = _threaded(Recollect.clusters)
    count = _threaded(Recollect.count)
    demote = _threaded(Recollect.demote)
    doctor = _threaded(Recollect.doctor)
    export_file = _threaded(Recollect.export_file)
    feedback = _threaded(Recollect.feedback)
    forget = _threaded(Recollect.forget)
    get = _threaded(Recollect.get)
    history = _threaded(Recollect.history)
    import_lines = _threaded(Recollect.import_lines)
    link = _threaded(Recollect.link)
    links = _threaded(Recollect.links)
    list = _threaded(Recollect.list)
    members = _threaded(Recollect.members)
    pin = _threaded(Recollect.pin)
    recall = _threaded(Recollect.recall)
    reinforce = _threaded(Recollect.reinforce)
    remember = _threaded(Recollect.remember)
    remember_many = _threaded(Recollect.remember_many)
    restore = _threaded(Recollect.restore)
    restore_backup = _threaded(Recollect.restore_backup)
    salvage = _threaded(Recollect.salvage)
    search = _threaded(Recollect.search)
    status = _threaded(Recollect.status)
    tag = _threaded(Recollect.tag)
    tags = _threaded(Recollect.tags)
    turn_off = _threaded(Recollect.turn_off)
    turn_on = _threaded(Recollect.turn_on)
    unlink = _threaded(Recollect.unlink)
    unpin = _threaded(Recollect.unpin)
    untag = _threaded(Recollect.untag)
    update = _threaded(Recollect.update)
    verify_audit = _threaded(Recollect.verify_audit)
    close = _threaded(Recollect.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
