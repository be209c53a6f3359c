"""Working memory: the messages of one agent's loop, kept within bounds.

Old results of tools lose their content and whole old exchanges leave, so that what is sent to the model stays valid: a
call stays with its result, the system message and the last word of the user stay. Messages are those that agents send:

    {"role": "user" | "assistant" | "system" | "developer" | "tool", "content": text or list of blocks}

Calls and results are blocks (`tool_use`, `tool_result`) or fields and messages (`tool_calls`; role `tool`). What was
handed in is left as it is: the transcript of a session is another thing, and complete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import InvalidInput
from .tokens import estimate_tokens

_Message: TypeAlias = Mapping[str, Any]
_Step: TypeAlias = range
"""Positions of messages that stay or leave together."""

_FRAME = 4
"""Tokens that a message takes besides what it says."""

_MEDIA = {"audio", "document", "file", "image", "image_url", "input_audio", "input_file", "input_image"}
_MEDIUM = 1_500
"""About what a picture or a page takes, however many characters it is written with."""

_EMPTIED = re.compile(r"\[result dropped: [\d,]+ tokens\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """Messages that can be sent, and what it took to get there."""

    messages: list[dict[str, Any]]
    """Copies: whatever is done to them, what was handed in does not change."""
    tokens_before: int
    tokens_after: int
    """Over the bound only where nothing is left that may go."""
    dropped: int
    """How many messages left."""
    emptied: int
    """How many results of tools among the messages are without their content, now or since an earlier time."""


def fit(messages: Sequence[_Message], *, keep_results: int = 5, bound: int | None = None) -> Working:
    """The messages with the content of the last few tool results only, and within a bound of tokens.

    An older result says how much was dropped instead. If that is not enough, whole exchanges leave, oldest first, each
    from a user's message up to the next; then the steps since the user's last message, each an answer or calls with
    their results. System messages, the user's last message and calls that still wait for their result never leave. So
    calls and results that were paired before are paired after.
    """
    if keep_results < 0:
        raise InvalidInput("keep_results", f"{keep_results!r} is less than none")
    if bound is not None and bound < 0:
        raise InvalidInput("bound", f"{bound!r} tokens are less than none")
    for at, message in enumerate(messages):
        _check(message, f"messages[{at}]")
    kept = _emptied(messages, keep_results)
    costs = [_cost(message) for message in kept]
    after = sum(costs)
    gone: set[int] = set()
    limit = after if bound is None else bound
    for group in _groups(messages):
        if after <= limit:
            break
        gone.update(group)
        after -= sum(costs[at] for at in group)
    return Working(
        messages=[deepcopy(dict(message)) for at, message in enumerate(kept) if at not in gone],
        tokens_before=sum(map(_cost, messages)),
        tokens_after=after,
        dropped=len(gone),
        emptied=sum(
            _is_emptied(result) for at, message in enumerate(kept) if at not in gone for result in _results(message)
        ),
    )


def _check(message: object, field: str) -> None:
    """Refuse what is no message: whatever is not understood could hide a call or a result."""
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise InvalidInput(field, "is no message: a plain dictionary with a role")
    content, calls = message.get("content"), message.get("tool_calls")
    if not isinstance(content, str | list | tuple | None):
        raise InvalidInput(f"{field}.content", "is neither text nor a list of blocks")
    if not isinstance(calls, list | tuple | None):
        raise InvalidInput(f"{field}.tool_calls", "is no list of calls")
    if not all(isinstance(one, Mapping) for one in (*_blocks(message), *_calls(message))):
        raise InvalidInput(field, "has blocks or calls that are no plain dictionaries")


# --- Calls and results ----------------------------------------------------------------------------------------------


def _blocks(holder: _Message) -> Sequence[_Message]:
    content = holder.get("content")
    return content if isinstance(content, list | tuple) else ()


def _calls(message: _Message) -> Sequence[_Message]:
    return message.get("tool_calls") or ()


def _results(message: _Message) -> list[_Message]:
    """What holds the results in a message: some of its blocks, or the message itself."""
    blocks = [block for block in _blocks(message) if block.get("type") == "tool_result"]
    return blocks or ([message] if message["role"] == "tool" else [])


def _answered(message: _Message) -> list[str]:
    """The calls that a message has results of, by their names; "" is one without a name."""
    return [str(result.get("tool_use_id") or result.get("tool_call_id") or "") for result in _results(message)]


def _called(message: _Message) -> list[str]:
    blocks = [block for block in _blocks(message) if block.get("type") == "tool_use"]
    return [str(call.get("id") or "") for call in (*blocks, *_calls(message))]


def _emptied(messages: Sequence[_Message], keep: int) -> list[_Message]:
    """The messages, with only the last few results in full."""
    old = max(0, sum(len(_results(message)) for message in messages) - keep)
    kept: list[_Message] = []
    for message in messages:
        aged = _results(message)[:old]
        old -= len(aged)
        if not aged:
            kept.append(message)
        elif aged[0] is message:
            kept.append(_without_content(message))
        else:
            blocks = [
                _without_content(block) if any(block is one for one in aged) else block for block in _blocks(message)
            ]
            kept.append({**message, "content": blocks})
    return kept


def _without_content(result: _Message) -> _Message:
    if not result.get("content") or _is_emptied(result):
        return result
    return {**result, "content": f"[result dropped: {_content_cost(result):,} tokens]"}


def _is_emptied(result: _Message) -> bool:
    content = result.get("content")
    return isinstance(content, str) and _EMPTIED.fullmatch(content) is not None


# --- What may leave, and in which order -----------------------------------------------------------------------------


def _groups(messages: Sequence[_Message]) -> list[list[int]]:
    """The positions of messages that leave together, first those that leave first."""
    steps = _steps(messages)
    held = _held(messages, steps)
    opening = max((at for at, message in enumerate(messages) if _opens(message)), default=-1)
    exchanges: list[list[int]] = [[]]
    recent: list[list[int]] = []
    for step in steps:
        if _opens(messages[step.start]):
            exchanges.append([])
        if not held.isdisjoint(step):
            continue
        if step.start < opening:
            exchanges[-1] += step
        else:
            recent.append(list(step))
    return [group for group in (*exchanges, *recent) if group]


def _steps(messages: Sequence[_Message]) -> list[_Step]:
    """The messages, cut wherever that parts no call from its result.

    A result belongs to the last call of its name before it: some hosts use a name again.
    """
    ends = list(range(len(messages)))
    callers: dict[str, int] = {}
    for at, message in enumerate(messages):
        for name in _answered(message):
            if name in callers:
                ends[callers[name]] = at
        callers |= dict.fromkeys(_called(message), at)
    steps = []
    start = end = 0
    for at, reach in enumerate(ends):
        end = max(end, reach)
        if at == end:
            steps.append(range(start, at + 1))
            start = end = at + 1
    return steps


def _opens(message: _Message) -> bool:
    """Whether a user says something of their own, so that an exchange begins."""
    return message["role"] == "user" and not _results(message)


def _held(messages: Sequence[_Message], steps: Sequence[_Step]) -> set[int]:
    """The positions of messages that never leave."""
    held = {at for at, message in enumerate(messages) if message["role"] in ("system", "developer")}
    said = [at for at, message in enumerate(messages) if message["role"] == "user" and _says_something(message)]
    held.update(said[-1:])
    held.update([at for at in said if _opens(messages[at])][-1:])
    for step in steps[-1:]:
        waiting = {name for at in step for name in _called(messages[at])}
        if waiting.difference(name for at in step for name in _answered(messages[at])):
            held.update(step)
    return held


def _says_something(message: _Message) -> bool:
    """Whether there is more in a message than results of tools."""
    return len(_results(message)) < len(_blocks(message)) or not _blocks(message)


# --- Tokens ---------------------------------------------------------------------------------------------------------


def _cost(message: _Message) -> int:
    """About how many tokens a message takes."""
    return _FRAME + _content_cost(message) + sum(map(_call_cost, _calls(message)))


def _content_cost(holder: _Message) -> int:
    content = holder.get("content")
    if isinstance(content, str):
        return estimate_tokens(content)
    return sum(map(_block_cost, _blocks(holder)))


def _block_cost(block: _Message) -> int:
    match block.get("type"):
        case "text":
            return estimate_tokens(str(block.get("text", "")))
        case "tool_use":
            return estimate_tokens(f"{block.get('name', '')} {_written(block.get('input'))}")
        case "tool_result":
            return _content_cost(block)
        case str(kind) if kind in _MEDIA and not _is_plain(block):
            return _MEDIUM
        case _:
            return estimate_tokens(_written(block))


def _is_plain(block: _Message) -> bool:
    """Whether a document is written in words and not as an encoded file."""
    source = block.get("source")
    return isinstance(source, Mapping) and source.get("type") in ("text", "content")


def _call_cost(call: _Message) -> int:
    asked = call.get("function")
    return estimate_tokens(
        f"{asked.get('name', '')} {_written(asked.get('arguments'))}" if isinstance(asked, Mapping) else _written(call)
    )


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
