"""Who may reach what. An agent has a role; the role says which spaces it reads and writes, and there is no way around.

| role | reads | writes |
|---|---|---|
| admin | everything | everything |
| project | its project and the global memory | its project; for everywhere it proposes, and a person decides |
| skill | nothing but what it is handed | nothing |
"""

from __future__ import annotations

from enum import StrEnum

from ..errors import AccessDenied


class Role(StrEnum):
    """What an agent is."""

    ADMIN = "admin"
    PROJECT = "project"
    SKILL = "skill"


class Right(StrEnum):
    """What it may do with a space."""

    READ = "read"
    WRITE = "write"


_EVERYTHING = frozenset(Right)
_RIGHTS: dict[Role, dict[str, frozenset[Right]]] = {
    Role.ADMIN: {"project": _EVERYTHING, "global": _EVERYTHING},
    Role.PROJECT: {"project": _EVERYTHING, "global": frozenset({Right.READ})},
    Role.SKILL: {},
}

PROPOSED = "proposed-global"
"""The tag of a memory that an agent would have hold everywhere, and of which a person has yet to decide."""


def may(role: Role, right: Right, space: str) -> bool:
    """Whether a role has a right in a space."""
    return right in _RIGHTS[role].get(space, frozenset())


def require(role: Role, right: Right, space: str) -> None:
    """Raise AccessDenied unless a role has a right in a space."""
    if not may(role, right, space):
        raise AccessDenied(role, right, space)
