"""What a judge can be asked, and what it answers. All of it is values; a question knows the type of its answer.

A judge chooses among the ids it was given, or returns text. It writes nothing: whoever asked decides what becomes of an
answer, and text of a judge is stored like any other, with the origin inferred or extracted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from ..model import Finding
from ..policy.deeds import Said

A = TypeVar("A")


class Relation(StrEnum):
    """What one memory is to another."""

    SAME = "same"
    SUPERSEDES = "supersedes"
    """It tells what holds now, and the other one no longer does."""
    CONTRADICTS = "contradicts"
    RELATED = "related"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that is asked about, by whatever id whoever asks knows it under."""

    id: str
    text: str
    kind: str = ""
    relevance: float = field(default=1.0, repr=False)
    """How sure the search that found it is of it, from 0 to 1. Rules go by it; a model is not told, so its answer is
    the same for another number, and the text of a question, by which answers are remembered, leaves it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """That one memory is something to another. What supersedes is `one`."""

    one: str
    other: str
    relation: Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """Which candidates help, in the order they were given, and what some of them are to each other."""

    ids: tuple[str, ...] = ()
    links: tuple[Linked, ...] = ()


class Question(Generic[A]):
    """A question whose answer is an `A`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify(Question[Verified]):
    """Which of these help with this prompt? Rules say: those that the search is at least so sure of."""

    prompt: str
    candidates: tuple[Candidate, ...]
    least: float = field(default=0.0, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract(Question[tuple[Finding, ...]]):
    """What does a session leave worth keeping? Files under `root` are told by their path from there."""

    turns: tuple[Said, ...]
    root: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Relate(Question[tuple[Linked, ...]]):
    """What is a new memory to each of those that are there? To most it is nothing."""

    new: Candidate
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise(Question[str]):
    """What did a session come to, in at most so many characters? "" where nothing happened in it."""

    turns: tuple[Said, ...]
    most: int = 1_200
    root: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank(Question[tuple[str, ...]]):
    """In which order do these answer the query best? Each of the candidates is in the answer once."""

    query: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InferTags(Question[tuple[str, ...]]):
    """Which tags suit a text? `known` are those in use, which are better than new ones."""

    text: str
    known: tuple[str, ...] = ()
    most: int = 5


class Judge(Protocol):
    """Answers questions. Any number of threads may ask one at a time."""

    @property
    def name(self) -> str:
        """What to write beside what it decided."""

    def ask(self, question: Question[A]) -> A:
        """The answer. It never raises, and it is late by no more than its deadline."""
