"""The one place where roles are enforced: between an agent and the stores it is handed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import cast

from ..model import Change, Receipt
from ..policy.access import Right, Role, may, require
from ..store import Store


def guarded(store: Store, role: Role, space: str) -> Store:
    """A store as a role may use it. Raises AccessDenied if it may not so much as read it.

    What reading leaves behind by itself (habits, vectors) is no knowledge, and anybody who reads may leave it.
    """
    require(role, Right.READ, space)
    return store if may(role, Right.WRITE, space) else cast(Store, _Reading(store, role, space))


class _Reading:
    """A store whose content stands: every way to change it is refused, everything else is the store's own."""

    def __init__(self, store: Store, role: Role, space: str) -> None:
        self._store = store
        self._role = role
        self._space = space

    def apply(self, changes: Iterable[Change], *, actor: str, now: datetime, key: str | None = None) -> Receipt:
        """Refused: there is one door, and it is closed to this role."""
        require(self._role, Right.WRITE, self._space)
        return self._store.apply(changes, actor=actor, now=now, key=key)

    def restore(self, path: Path) -> None:
        """Refused, as it puts other content in the place of what is there."""
        require(self._role, Right.WRITE, self._space)
        self._store.restore(path)

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)
