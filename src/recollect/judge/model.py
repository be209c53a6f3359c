"""What a language model is to a judge: one request in, one text out, within so many seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from ..errors import RecollectError

Reason = Literal[
    "late",
    "unreachable",
    "refused",
    "failed",
    "broken",
    "large",
    "empty",
    "malformed",
    "hostile",
    "denied",
    "resting",
    "crowded",
]
"""Why an answer is not a model's: it took too long; nobody was there; it did not want to; it had trouble of its own; it
broke off; it said far too much; nothing; nothing that can be read; something it was not given to say. Or it was not
even asked: nobody allowed it; it failed so often that it is left in peace; too many are asking it already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request. Only `instructions` come from Recollect; `material` is quoted, fenced, and nobody vouches for it."""

    task: str
    instructions: str
    material: str
    schema: Mapping[str, object]
    """The JSON schema of the answer, for models that can be held to one."""
    most_tokens: int
    """How long the answer may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said, and what it cost. None where it does not say."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    calls: int = 1


class ModelFailed(RecollectError):
    """No usable answer came. `retry_after` is how many seconds it asks to be left in peace; 0 where it does not say."""

    def __init__(self, reason: Reason, problem: str, *, retry_after: float = 0.0, calls: int = 1) -> None:
        super().__init__(problem)
        self.reason = reason
        self.problem = problem
        self.retry_after = retry_after
        self.calls = calls


class Model(Protocol):
    """A model that can be spoken to. Any number of threads may do so at a time."""

    @property
    def name(self) -> str:
        """What to write beside what it decided."""

    def reply(self, request: Request, *, seconds: float) -> Reply:
        """Its answer as it gave it, to be checked by whoever asked. Raises ModelFailed, and nothing else."""
