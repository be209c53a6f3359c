"""Everything Recollect raises on purpose.

    RecollectError
    ├── InvalidInput            a value that cannot be taken as it is
    │   ├── InvalidText         not storable text: empty, NUL, a lone surrogate, not UTF-8
    │   ├── TooLarge            over a limit, which it names
    │   └── InvalidFilter       a filter, order or limit that means nothing
    ├── ConfigError             a setting that does not exist or a value it cannot take
    ├── NotFound                no such memory, link, version or project
    ├── Refused                 understood, and not done
    │   ├── AccessDenied        the role of an agent does not let it
    │   ├── MemoryOff           memory is switched off here
    │   ├── TooMuchLost         a plan would retire more memories than one may
    │   ├── StaleVersion        somebody else changed it since you read it
    │   ├── KeyReused           an idempotency key came back with a different request
    │   └── DuplicateMemory     another live memory already says exactly this
    ├── ProjectError            which project this folder is cannot be settled
    ├── EmbedderUnavailable     an embedding model that is not there, is damaged or does not answer
    ├── BadFile                 a file that is not what it should be (import, restore)
    ├── StoreError              the store could not do it; nothing was half done
    │   ├── StoreBusy           the write lock was not had in time
    │   ├── StoreInUse          a store for one process is open in another
    │   ├── StoreFull           no room on the disk
    │   ├── StoreReadOnly       the file or folder cannot be written
    │   ├── StoreDamaged        its content does not hold together
    │   └── StoreTooNew         written by a newer Recollect; left untouched
    └── Unsupported             this platform or engine cannot run Recollect

Every error carries its facts as attributes and a `hint`: what a person can do about it, or "".
"""

from __future__ import annotations


class RecollectError(Exception):
    """Root of the tree. `str(error)` says what happened, `error.hint` what to do about it."""

    hint: str = ""


class InvalidInput(RecollectError):
    """A value that cannot be taken as it is."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class InvalidText(InvalidInput):
    """Text that cannot be stored and read back faithfully."""


class TooLarge(InvalidInput):
    """More than a limit allows; nothing was cut off and nothing was stored."""

    def __init__(self, field: str, size: int, limit: int, *, unit: str = "characters", setting: str = "") -> None:
        super().__init__(field, f"{size:,} {unit} where at most {limit:,} are allowed")
        self.size = size
        self.limit = limit
        self.setting = setting
        if setting:
            self.hint = f"Split it, or raise the setting {setting}."


class InvalidFilter(InvalidInput):
    """A filter, order or limit that means nothing to the store."""


class ConfigError(RecollectError):
    """A setting that does not exist, or a value it cannot take. `nearest` is the likely right one."""

    def __init__(self, key: str, problem: str, *, where: str, nearest: str | None = None) -> None:
        super().__init__(f"{key} ({where}): {problem}")
        self.key = key
        self.where = where
        self.nearest = nearest
        self.hint = f"Did you mean {nearest}?" if nearest else "`recollect config` lists every setting."


class NotFound(RecollectError):
    """Nothing by that reference, here."""

    def __init__(self, what: str, ref: str) -> None:
        super().__init__(f"no {what} {ref!r} here" if ref else f"no {what} here")
        self.what = what
        self.ref = ref


class Refused(RecollectError):
    """Understood, and not done."""


class AccessDenied(Refused):
    """What an agent's role does not let it do."""

    hint = "A person, or an agent in the role admin, can do it."

    def __init__(self, role: str, right: str, space: str) -> None:
        super().__init__(f"an agent in the role {role} may not {right} the {space} memory")
        self.role = role
        self.right = right
        self.space = space


class MemoryOff(Refused):
    """Memory is switched off, for one project or everywhere."""

    hint = "`recollect on` switches it on again."

    def __init__(self, where: str) -> None:
        super().__init__(f"memory is switched off {where}")
        self.where = where


class TooMuchLost(Refused):
    """A plan would retire more memories than one plan may."""

    hint = "Look at it with `recollect garden show`; refuse steps of it, or allow more with --allow-loss."

    def __init__(self, plan: int, retires: int, live: int, limit: float) -> None:
        super().__init__(
            f"plan {plan} would retire {retires:,} of {live:,} live memories, more than the {limit:.0%} allowed"
        )
        self.plan = plan
        self.retires = retires
        self.live = live


class StaleVersion(Refused):
    """The memory changed since the caller read it; the caller's edit was not applied."""

    hint = "Read it again and repeat the edit."

    def __init__(self, ref: str, expected: int, actual: int) -> None:
        super().__init__(f"memory {ref!r} is at version {actual}, not {expected}")
        self.ref = ref
        self.expected = expected
        self.actual = actual


class KeyReused(Refused):
    """The idempotency key belongs to another request. A retry must repeat the same one."""

    hint = "Use a new key for a new request."

    def __init__(self, key: str) -> None:
        super().__init__(f"idempotency key {key!r} was used for a different request")
        self.key = key


class DuplicateMemory(Refused):
    """The change would leave two live memories with the same words."""

    def __init__(self, ref: str, existing: str) -> None:
        super().__init__(f"memory {existing!r} already says exactly what {ref!r} would say")
        self.ref = ref
        self.existing = existing
        self.hint = f"Keep {existing}, or change its words first."


class ProjectError(RecollectError):
    """The project of a folder cannot be settled."""

    def __init__(self, problem: str, *, hint: str = "") -> None:
        super().__init__(problem)
        self.hint = hint


class EmbedderUnavailable(RecollectError):
    """An embedding model that is not there, is damaged or does not answer. `model` is its name in the settings."""

    def __init__(self, model: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"embedding model {model!r}: {problem}")
        self.model = model
        self.problem = problem
        self.hint = hint


class BadFile(RecollectError):
    """A file that is not what it should be. `line` counts from 1; 0 is the file as a whole."""

    def __init__(self, path: str, problem: str, *, line: int = 0, hint: str = "") -> None:
        super().__init__(f"{path}{f', line {line}' if line else ''}: {problem}")
        self.path = path
        self.line = line
        self.problem = problem
        self.hint = hint


class StoreError(RecollectError):
    """The store could not do it. Whatever it was about was not half done."""

    def __init__(self, path: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem
        if hint:
            self.hint = hint


class StoreBusy(StoreError):
    """Another process held the write lock for the whole time allowed."""

    hint = "Try again; if it stays, a process holding the store may be stopped or hung."


class StoreInUse(StoreError):
    """The store belongs to one process at a time, and another has it open."""

    hint = "Close it there, or use a SQLite store, which many processes can share."


class StoreFull(StoreError):
    """There is no room left. What was acknowledged before is safe."""

    hint = "Free some space and repeat the command."


class StoreReadOnly(StoreError):
    """The file or its folder cannot be written by this user."""

    hint = "Check the owner and mode of the file and its folder."


class StoreDamaged(StoreError):
    """The content of the store does not hold together."""

    hint = "`recollect doctor` says what is wrong; `recollect restore` brings back a backup."


class StoreTooNew(StoreError):
    """A newer Recollect wrote this store. It was left exactly as it is."""

    hint = "Upgrade Recollect to use it."

    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(path, f"has schema {found}; this Recollect knows {known}")
        self.found = found
        self.known = known


class Unsupported(RecollectError):
    """This platform, Python or SQLite engine cannot run Recollect."""
