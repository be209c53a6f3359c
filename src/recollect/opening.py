"""`open`: from a folder to the memory of its project. Here, and in the surfaces, settings are read; nowhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import cast

from .config import Settings, home_folder, load
from .disk import private_folder
from .embed import Embedder, open_embedder
from .engine import Recollect
from .engine.asked import choice
from .engine.project import Project, Registered, resolve
from .engine.rerank import Reranker
from .engine.transfer import Imported, Progress
from .judge import Allowed, Judge, Spent, open_judge
from .model import Origin
from .policy.access import Role
from .store import Bound, Options, Store, open_store


def utc_now() -> datetime:
    """The clock that everything uses unless it is given another."""
    return datetime.now(UTC)


def open(
    project: str | Path = ".",
    *,
    store: str | Store | None = None,
    settings: Settings | Mapping[str, object] | None = None,
    clock: Callable[[], datetime] | None = None,
    home: str | Path | None = None,
    actor: str = "library",
    origin: Origin = Origin.OBSERVED,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    background: bool = True,
    role: Role | str = Role.ADMIN,
) -> Recollect:
    """Open the memory of the project that a folder belongs to.

    `store` uses another store instead of the project's own: `memory:`, `json:PATH`, the path of a SQLite file, or an
    open `Store`, which closes with the memory. `settings` overrides single settings by their keys, as in
    `{"write.content_limit": 500}`, or replaces them all. `actor` is who the audit names, `origin` where what is
    remembered came from; both belong to the program, not to what it stores. `embedder` gives meaning its vectors
    instead of the model that the settings name; `reranker` may put what was ranked in another order before results are
    selected from it. With `background`, a thread makes vectors that are missing. `role` is what the agent that
    will use it is: an `admin`, a `project` agent, which only proposes what should hold everywhere, or a `skill`, which
    reaches no memory but what it is handed.
    """
    reach = choice(Role, role, "role")
    folder = Path(home).expanduser().absolute() if home is not None else home_folder(os.environ, sys.platform)
    chosen = settings if isinstance(settings, Settings) else load(folder, env=os.environ, overrides=settings).settings
    now = clock or utc_now
    if reach is Role.SKILL:
        return _outside(chosen, now, actor, origin)
    identity = None if store is not None else _identify(Path(project), folder, chosen, now())
    given = open_store(store, _options(chosen, None)) if isinstance(store, str) else store
    return Recollect(
        project=lambda: _kept_in(identity.folder, chosen) if given is None and identity else cast(Store, given),
        shared=lambda: _shared_store(store, folder, chosen),
        settings=chosen,
        clock=now,
        actor=actor,
        origin=origin,
        identity=identity,
        home=folder,
        embedder=None if chosen.recall.search == "fts5" else _embedder(embedder, chosen, folder),
        other_embedder=lambda model: _known_model(model, folder),
        reranker=reranker,
        background=background,
        role=reach,
        judge=None if chosen.judge.kind == "rules" else partial(_judge, chosen),
    )


def _outside(settings: Settings, clock: Callable[[], datetime], actor: str, origin: Origin) -> Recollect:
    """What a skill holds: the same calls, with no project, no home and no store behind them."""
    return Recollect(
        project=lambda: open_store("memory:"),
        shared=lambda: open_store("memory:"),
        settings=settings,
        clock=clock,
        actor=actor,
        origin=origin,
        role=Role.SKILL,
    )


def _embedder(given: Embedder | None, settings: Settings, home: Path) -> Callable[[], Embedder]:
    if given is not None:
        return lambda: given
    embed = settings.embed
    return lambda: open_embedder(
        embed.model,
        folder=home / "models",
        url=embed.url,
        remote=embed.remote,
        key=os.environ.get(embed.key_env),
        timeout=embed.timeout,
    )


def _judge(settings: Settings, allowed: Allowed, spent: Spent) -> Judge:
    told = settings.judge
    return open_judge(
        told.kind,
        env=os.environ,
        url=told.url,
        model=told.model,
        key_env=told.key_env,
        timeout=told.timeout,
        host=told.host,
        command=told.command,
        max_tokens=told.max_tokens,
        allowed=allowed,
        spent=spent,
    )


def _known_model(model: str, home: Path) -> Embedder | None:
    """The local model that made vectors, by the name the vectors know it under."""
    for name in ("static", "minilm"):
        if model.startswith(f"{name}-"):
            opened = open_embedder(name, folder=home / "models")
            return opened if opened.model == model else None
    return None


def _identify(folder: Path, home: Path, settings: Settings, now: datetime) -> Project:
    return resolve(folder, home=private_folder(home), now=now, join=settings.project.join == "auto")


def _shared_store(store: str | Store | None, home: Path, settings: Settings) -> Store:
    if store == "memory:":
        return open_store("memory:", _options(settings, None))
    return _kept_in(private_folder(home) / "global", settings)


def _kept_in(folder: Path, settings: Settings) -> Store:
    options = _options(settings, folder / "backups")
    if settings.store.format == "json":
        return open_store(f"json:{folder / 'memory.json'}", options)
    return open_store(str(folder / "memory.db"), options)


def _options(settings: Settings, backups: Path | None) -> Options:
    return Options(
        lock_timeout=settings.store.lock_timeout,
        busy_timeout=settings.store.busy_timeout,
        audit=Bound(max_entries=settings.audit.max_events, trim_to=settings.audit.trim_to),
        backups=backups,
    )


def merge(memory: Recollect, other: Registered, *, progress: Progress) -> Imported:
    """Take everything that another project remembers into an open memory. Doing it again changes nothing."""
    source = Recollect(
        project=lambda: _kept_in(other.folder, memory.settings),
        shared=lambda: open_store("memory:"),
        settings=memory.settings,
        clock=utc_now,
        home=memory.home,
    )
    with source:
        lines = (line.encode() for line in source.export_lines())
        return memory.import_lines(lines, name=other.name, progress=progress)
