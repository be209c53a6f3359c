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

    archive = _threaded(Recollect.archive)
    audit = _threaded(Recollect.audit)
    backup = _threaded(Recollect.backup)
    cluster = _threaded(Recollect.cluster)
    cluster_of = _threaded(Recollect.cluster_of)
    clusters = _threaded(Recollect.clusters)
    confirm = _threaded(Recollect.confirm)
    conflicts = _threaded(Recollect.conflicts)
    context = _threaded(Recollect.context)
    count = _threaded(Recollect.count)
    demote = _threaded(Recollect.demote)
    doctor = _threaded(Recollect.doctor)
    embed_pending = _threaded(Recollect.embed_pending)
    export_file = _threaded(Recollect.export_file)
    feedback = _threaded(Recollect.feedback)
    file_passages = _threaded(Recollect.file_passages)
    forget = _threaded(Recollect.forget)
    gaps = _threaded(Recollect.gaps)
    get = _threaded(Recollect.get)
    graph = _threaded(Recollect.graph)
    history = _threaded(Recollect.history)
    import_lines = _threaded(Recollect.import_lines)
    learn = _threaded(Recollect.learn)
    lineage = _threaded(Recollect.lineage)
    link = _threaded(Recollect.link)
    links = _threaded(Recollect.links)
    list = _threaded(Recollect.list)
    members = _threaded(Recollect.members)
    note_gap = _threaded(Recollect.note_gap)
    pin = _threaded(Recollect.pin)
    promote = _threaded(Recollect.promote)
    promote_findings = _threaded(Recollect.promote_findings)
    recall = _threaded(Recollect.recall)
    reinforce = _threaded(Recollect.reinforce)
    remember = _threaded(Recollect.remember)
    remember_many = _threaded(Recollect.remember_many)
    reopen = _threaded(Recollect.reopen)
    resolve = _threaded(Recollect.resolve)
    restore = _threaded(Recollect.restore)
    restore_backup = _threaded(Recollect.restore_backup)
    review = _threaded(Recollect.review)
    salvage = _threaded(Recollect.salvage)
    search = _threaded(Recollect.search)
    search_passages = _threaded(Recollect.search_passages)
    similar = _threaded(Recollect.similar)
    status = _threaded(Recollect.status)
    tag = _threaded(Recollect.tag)
    tags = _threaded(Recollect.tags)
    tend = _threaded(Recollect.tend)
    triggered = _threaded(Recollect.triggered)
    turn_off = _threaded(Recollect.turn_off)
    turn_on = _threaded(Recollect.turn_on)
    unfile = _threaded(Recollect.unfile)
    unlink = _threaded(Recollect.unlink)
    unpin = _threaded(Recollect.unpin)
    untag = _threaded(Recollect.untag)
    update = _threaded(Recollect.update)
    verify_audit = _threaded(Recollect.verify_audit)
    why_not = _threaded(Recollect.why_not)
    close = _threaded(Recollect.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
