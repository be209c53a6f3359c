"""The asynchronous memory: the same names, the same signatures, the same core."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

import recollect
from recollect import AsyncRecollect, InvalidInput, NotFound, Recollect, Status
from recollect.model import Finding

SYNCHRONOUS = {
    *(
        "export_lines",
        "home",
        "identity",
        "items",
        "loop",
        "plans",
        "agent",
        "events",
        "schedule",
        "aliases",
        "seasons",
        "files",
        "narratives",
        "notes",
        "session",
        "sessions",
        "settings",
        "tasks",
        "tier",
    ),
}
"""Properties, a session, a loop and a tier, which have calls of their own, and the generator, which `export_file`
stands in for; all are reached through `memory`."""


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_every_call_has_its_awaited_form() -> None:
    """None is missing and none is made up."""
    assert public(AsyncRecollect) == public(Recollect) - SYNCHRONOUS


@pytest.mark.parametrize("name", sorted(public(AsyncRecollect) & public(Recollect)))
def test_an_awaited_call_has_the_signature_and_the_words_of_the_plain_one(name: str) -> None:
    """So one documentation holds for both."""
    plain, awaited = getattr(Recollect, name), getattr(AsyncRecollect, name)
    assert inspect.signature(awaited) == inspect.signature(plain)
    assert awaited.__doc__ == plain.__doc__
    assert awaited.__name__ == name
    assert inspect.iscoroutinefunction(awaited)


@pytest.mark.parametrize("store", [None, "memory:", "json"], ids=str)
def test_many_calls_at_once_lose_nothing(tmp_path: Path, store: str | None) -> None:
    """Twenty memories are stored while others are read; all are there, each once, and the audit is sound."""
    place = f"json:{tmp_path / 'memory.json'}" if store == "json" else store

    async def live() -> None:
        opened = recollect.open(tmp_path, home=tmp_path / "home", store=place)
        async with AsyncRecollect(opened) as memory:
            stored = await asyncio.gather(*(memory.remember(f"deploy of service {number}") for number in range(20)))
            assert sorted(done.memory.id for done in stored) == list(range(1, 21))
            found, again, total = await asyncio.gather(
                memory.recall("deploy", limit=50), memory.remember("deploy of service 3"), memory.count()
            )
            assert (len(found), again.duplicate, total) == (20, True, 20)
            assert await memory.verify_audit() == ()
            await memory.forget(1)
            assert await memory.count() == 19
            assert (await memory.get(2)).content in {done.memory.content for done in stored}

    asyncio.run(live())


def test_the_life_of_a_memory_can_be_awaited(tmp_path: Path) -> None:
    """Learning, tending, deciding and undoing, many at once: each is done once."""
    lesson = Finding(content="The vault seals itself after an hour of use.", importance=0.9, resolves=True)

    async def live() -> None:
        opened = recollect.open(tmp_path, home=tmp_path / "home", background=False)
        async with AsyncRecollect(opened) as memory:
            await asyncio.gather(
                *(memory.learn(f"Never deploy service {name} by hand.", session=name) for name in ("one", "two")),
                *(memory.promote_findings([lesson], session=name) for name in ("one", "two")),
            )
            inbox = await memory.review()
            assert [each.content for each in inbox.candidates] == [lesson.content]
            assert (await memory.count(), (await memory.tend()).plan) == (3, None)
            confirmed = await memory.confirm(inbox.candidates[0].ref)
            assert confirmed.status is Status.CONFIRMED
            await memory.update(confirmed.ref, triggers=["open the vault"])
            spoken, waiting = await asyncio.gather(memory.triggered("open the vault"), memory.conflicts())
            assert ([each.memory.ref for each in spoken], waiting) == ([confirmed.ref], ())
            assert (await memory.archive(confirmed.ref)).status is Status.ARCHIVED
            assert await memory.verify_audit() == ()

    asyncio.run(live())


def test_errors_come_through(tmp_path: Path) -> None:
    """The same ones, at the await."""

    async def live() -> None:
        async with AsyncRecollect(recollect.open(store="memory:", home=tmp_path)) as memory:
            with pytest.raises(InvalidInput):
                await memory.remember("")
            with pytest.raises(NotFound):
                await memory.get(1)

    asyncio.run(live())


def test_other_work_goes_on_while_memory_works(tmp_path: Path) -> None:
    """The event loop is never held up: it turns while a long export is written."""

    async def live() -> None:
        async with AsyncRecollect(recollect.open(store="memory:", home=tmp_path / "home")) as memory:
            await memory.remember_many([f"note number {number}" for number in range(1_500)])
            writing = asyncio.ensure_future(memory.export_file(tmp_path / "memories.jsonl"))
            turns = 0
            while not writing.done():
                turns += 1
                await asyncio.sleep(0)
            assert (await writing).stat().st_size > 100_000
            assert turns > 10

    asyncio.run(live())


def test_leaving_the_block_closes_the_memory(tmp_path: Path) -> None:
    """Also when it is left by an error."""
    opened = recollect.open(tmp_path, home=tmp_path / "home")

    async def live() -> None:
        async with AsyncRecollect(opened) as memory:
            await memory.remember("a deploy")
            raise KeyError

    with pytest.raises(KeyError):
        asyncio.run(live())
    with pytest.raises(recollect.RecollectError):
        opened.count()
