"""Labelled prompts through the real engine: whether memory speaks up when it helps, and is silent when it does not.

A file has a line for each memory and for each prompt:

    {"memory": "m1", "content": "We use pnpm here, never npm", "kind": "correction", "tags": [], "files": []}
    {"prompt": "p1", "text": "install the dependencies", "gold": ["m1"], "sort": "task", "files": [], "previous": ""}

`gold` are the memories that would help with the prompt; with none, nothing should be said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeAlias, cast

from ..codec import EPOCH, decode
from ..engine import Recollect
from ..errors import BadFile, InvalidInput
from ..model import Anchor, Draft, Json, Kind, Tier

BUILT_IN = Path(__file__).with_name("inject")
"""The sets that come with Recollect: one that rules were tuned on, one that nobody who wrote them had seen."""

_Opener: TypeAlias = Callable[[Callable[[], datetime]], AbstractContextManager[Recollect]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What somebody types, and the memories that would help with it."""

    id: str
    text: str
    gold: tuple[str, ...] = ()
    sort: str = ""
    files: tuple[str, ...] = ()
    previous: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSet:
    """Memories, and prompts that are put to them."""

    name: str
    memories: Mapping[str, Draft]
    prompts: tuple[Prompt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """How well memory spoke up. A share of nothing is 1."""

    name: str
    memories: int
    prompts: int
    precision: float
    """Of what was given, how much helps."""
    silence: float
    """Of the prompts that nothing helps with, how many were left alone."""
    coverage: float
    """Of the prompts that something helps with, how many were given any of it."""
    given: int
    """How many memories were given in all."""
    tokens: float
    """How many tokens a prompt cost on average."""
    sorts: Mapping[str, float]
    """By sort of prompt, how many were served right: given something that helps, or left alone."""


def load_prompts(path: Path) -> PromptSet:
    """Read a file of memories and prompts. What is wrong with it is said with its line."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # text may hold other ends of lines
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(str(path), f"cannot be read ({error})") from error
    memories: dict[str, Draft] = {}
    prompts: dict[str, Prompt] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            _take(cast(Json, json.loads(line)), memories, prompts)
        except (ValueError, RecursionError, InvalidInput) as error:
            raise BadFile(where, f"is neither a memory nor a prompt ({error})") from error
    missing = {name for prompt in prompts.values() for name in prompt.gold} - memories.keys()
    if missing or not prompts:
        raise BadFile(str(path), f"knows no memory {min(missing)!r}" if missing else "holds no prompt")
    return PromptSet(name=path.stem, memories=memories, prompts=tuple(prompts.values()))


def _take(line: Json, memories: dict[str, Draft], prompts: dict[str, Prompt]) -> None:
    if not isinstance(line, dict) or not isinstance(line.get("memory") or line.get("prompt"), str):
        raise InvalidInput("line", "names neither a memory nor a prompt")
    if "prompt" in line:
        name = str(line["prompt"])
        told = {key: value for key, value in line.items() if key in ("text", "gold", "sort", "files", "previous")}
        prompt = decode(Prompt, {"id": name, **told})
        if prompts.setdefault(name, prompt) is not prompt:
            raise InvalidInput("prompt", f"{name!r} is there twice")
        return
    name = str(line["memory"])
    files = decode(tuple[str, ...], line.get("files") or [])
    draft = Draft(
        content=_said(line.get("content", line.get("text"))),
        kind=decode(Kind, line.get("kind", "fact")),
        tags=decode(tuple[str, ...], line.get("tags") or []),
        anchors=tuple(Anchor(path=path) for path in files),
    )
    if memories.setdefault(name, draft) is not draft:
        raise InvalidInput("memory", f"{name!r} is there twice")


def _said(content: Json) -> str:
    said = decode(str, content)
    if not said.strip():
        raise InvalidInput("content", "is empty")
    return said


def speak(
    tested: PromptSet, opener: _Opener, *, progress: Callable[[int, int], None] = lambda done, total: None
) -> Spoken:
    """Remember everything, put every prompt as if it were the first of its session, and count."""
    given: list[tuple[Prompt, list[frozenset[str]]]] = []
    tokens = 0
    with opener(lambda: EPOCH) as memory:
        kept = memory.remember_many(list(tested.memories.values()))
        names: dict[str, frozenset[str]] = {}  # several, where memories say the same and became one
        for each, name in zip(kept, tested.memories, strict=True):
            names[each.memory.ref] = names.get(each.memory.ref, frozenset()) | {name}
        memory.embed_pending()
        for done, prompt in enumerate(tested.prompts, start=1):
            context = memory.context(prompt.text, files=prompt.files, previous=prompt.previous)
            items = [item for item in context.recollection if item.tier is not Tier.PINNED]
            given.append((prompt, [names[item.ref] for item in items]))
            tokens += context.recollection.tokens
            progress(done, len(tested.prompts))
    return _counted(tested, given, tokens)


def _counted(tested: PromptSet, given: Sequence[tuple[Prompt, list[frozenset[str]]]], tokens: int) -> Spoken:
    helps = [(prompt, [not names.isdisjoint(prompt.gold) for names in told]) for prompt, told in given]
    right = [(prompt, any(marks) if prompt.gold else not marks) for prompt, marks in helps]
    every = [mark for _, marks in helps for mark in marks]
    return Spoken(
        name=tested.name,
        memories=len(tested.memories),
        prompts=len(given),
        precision=_share(every),
        silence=_share(well for prompt, well in right if not prompt.gold),
        coverage=_share(well for prompt, well in right if prompt.gold),
        given=len(every),
        tokens=tokens / len(given),
        sorts={
            sort: _share(well for prompt, well in right if prompt.sort == sort)
            for sort in dict.fromkeys(prompt.sort for prompt, _ in given)
        },
    )


def _share(marks: Iterator[bool] | Sequence[bool]) -> float:
    found = list(marks)
    return sum(found) / len(found) if found else 1.0
