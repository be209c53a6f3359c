"""Recollect: local-first, long-term memory for AI agents.

    import recollect

    with recollect.open() as memory:
        memory.remember("Deploys go out from main, never from a branch.", kind="decision")
        for hit in memory.recall("where do deploys come from?"):
            print(hit)

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .version import __version__ as __version__

if TYPE_CHECKING:
    from .aio import AsyncRecollect as AsyncRecollect
    from .config import Settings as Settings
    from .embed import Embedder as Embedder
    from .engine import Recollect as Recollect
    from .engine.acting import Triggered as Triggered
    from .engine.conflicts import Conflict as Conflict
    from .engine.context import Context as Context
    from .engine.context import Situation as Situation
    from .engine.lineage import Lineage as Lineage
    from .engine.maintain import Overview as Overview
    from .engine.plans import Carried as Carried
    from .engine.promotion import Promoted as Promoted
    from .engine.rerank import Reranker as Reranker
    from .engine.review import Inbox as Inbox
    from .engine.tending import Tended as Tended
    from .engine.transfer import Imported as Imported
    from .engine.write import Remembered as Remembered
    from .errors import AccessDenied as AccessDenied
    from .errors import BadFile as BadFile
    from .errors import ConfigError as ConfigError
    from .errors import DuplicateMemory as DuplicateMemory
    from .errors import EmbedderUnavailable as EmbedderUnavailable
    from .errors import InvalidFilter as InvalidFilter
    from .errors import InvalidInput as InvalidInput
    from .errors import InvalidText as InvalidText
    from .errors import KeyReused as KeyReused
    from .errors import MemoryOff as MemoryOff
    from .errors import NotFound as NotFound
    from .errors import ProjectError as ProjectError
    from .errors import RecollectError as RecollectError
    from .errors import Refused as Refused
    from .errors import StaleVersion as StaleVersion
    from .errors import StoreBusy as StoreBusy
    from .errors import StoreDamaged as StoreDamaged
    from .errors import StoreError as StoreError
    from .errors import StoreFull as StoreFull
    from .errors import StoreInUse as StoreInUse
    from .errors import StoreReadOnly as StoreReadOnly
    from .errors import StoreTooNew as StoreTooNew
    from .errors import TooLarge as TooLarge
    from .errors import TooMuchLost as TooMuchLost
    from .errors import Unsupported as Unsupported
    from .model import Absence as Absence
    from .model import Anchor as Anchor
    from .model import Corpus as Corpus
    from .model import Draft as Draft
    from .model import Excerpt as Excerpt
    from .model import Excerpts as Excerpts
    from .model import Finding as Finding
    from .model import Hit as Hit
    from .model import Kind as Kind
    from .model import Link as Link
    from .model import LinkKind as LinkKind
    from .model import Memory as Memory
    from .model import Origin as Origin
    from .model import Passage as Passage
    from .model import Plan as Plan
    from .model import Procedure as Procedure
    from .model import Provenance as Provenance
    from .model import Recall as Recall
    from .model import Recollected as Recollected
    from .model import Recollection as Recollection
    from .model import Scope as Scope
    from .model import Source as Source
    from .model import Status as Status
    from .model import Version as Version
    from .model import Why as Why
    from .opening import open as open
    from .policy.access import Role as Role
    from .policy.described import Described as Described
    from .policy.written import Style as Style

_HOMES = {
    "config": ("Settings",),
    "engine": ("Recollect",),
    "aio": ("AsyncRecollect",),
    "embed": ("Embedder",),
    "engine.acting": ("Triggered",),
    "engine.conflicts": ("Conflict",),
    "engine.context": ("Context", "Situation"),
    "engine.lineage": ("Lineage",),
    "engine.maintain": ("Overview",),
    "engine.plans": ("Carried",),
    "engine.promotion": ("Promoted",),
    "engine.rerank": ("Reranker",),
    "engine.review": ("Inbox",),
    "engine.tending": ("Tended",),
    "engine.transfer": ("Imported",),
    "engine.write": ("Remembered",),
    "errors": (
        *(
            "AccessDenied",
            "BadFile",
            "ConfigError",
            "DuplicateMemory",
            "EmbedderUnavailable",
            "InvalidFilter",
            "InvalidInput",
        ),
        *("InvalidText", "KeyReused", "MemoryOff", "NotFound", "ProjectError", "RecollectError", "Refused"),
        *("StaleVersion", "StoreBusy", "StoreDamaged", "StoreError", "StoreFull", "StoreInUse", "StoreReadOnly"),
        *("StoreTooNew", "TooLarge", "TooMuchLost", "Unsupported"),
    ),
    "model": (
        *("Absence", "Anchor", "Corpus", "Draft", "Excerpt", "Excerpts", "Finding", "Hit", "Kind", "Link", "LinkKind"),
        *("Memory", "Origin", "Passage", "Plan", "Procedure", "Provenance", "Recall", "Recollected"),
        *("Recollection", "Scope", "Source", "Status", "Version", "Why"),
    ),
    "opening": ("open",),
    "policy.access": ("Role",),
    "policy.described": ("Described",),
    "policy.written": ("Style",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _HOME_OF[name] not in ("errors", "model"):
        from .support import require_platform

        require_platform()
    value: object = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
