"""The loop of an agent: one call for each of its four stages, and the message that hands context on to a skill.

    intake    what the user says: kept as a turn, learned from, and what there is to do
    context   what to tell the model: what memory gives for the prompt, and the messages within their bound
    execute   a call of a tool and its result
    persist   what the agent answers: kept as a turn, found in, flushed and compacted once it is long enough

Each call does what its parts do when they are called by hand, and nothing else; so a session can be driven by either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..codec import conform
from ..errors import InvalidInput, NotFound
from ..formats.transcript import Role
from ..model import LIVE, Condition, Json, Kind, Op
from ..policy.marks import own_words
from ..policy.tasks import SETTLED, Task
from ..policy.tokens import estimate_tokens
from ..policy.working import Working, fit
from ..policy.written import Caps, Style
from . import promotion
from .context import Context, Contexts, Situation
from .parts import Parts
from .promotion import Promoted
from .session import Compacted, Session, SessionMemory, Turn, compacted_view
from .tasks import Tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """What came of what the user said."""

    turn: Turn
    learned: tuple[Promoted, ...] = ()
    """What it states for good, and whether that was kept."""
    tasks: tuple[Task, ...] = ()
    """What there is to do, in the order in which it can be worked on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What to tell the model."""

    given: Context
    """What memory has for the prompt; false where it has nothing that would help."""
    working: Working
    """The messages, within their bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Persisted:
    """What came of what the agent answered."""

    turn: Turn
    memory: SessionMemory
    """What the session remembers of itself now."""
    compacted: Compacted
    """How long it is to read, and what was saved and shortened if that was too long."""


class Loop:
    """One agent's loop over a session."""

    def __init__(
        self,
        parts: Parts,
        session: Session,
        contexts: Contexts,
        tasks: Tasks,
        *,
        agent: str = "",
        host: str = "",
        project: str = "",
    ) -> None:
        self.session = session
        self._parts = parts
        self._contexts = contexts
        self._tasks = tasks
        self._agent = agent
        self._host = host
        self._project = project

    # --- The four stages -------------------------------------------------------------------------------------------

    def intake(self, message: str) -> Intake:
        """Take in what the user says. Give it only the user's own words: they are trusted as such."""
        turn = self.session.append(Role.USER, message)
        learned = promotion.learn(
            self._parts,
            own_words(message),
            session=self.session.id,
            agent=self._agent,
            host=self._host or None,
            message=turn.seq,
        )
        open_tasks = tuple(task for task in self._tasks.list() if task.status not in SETTLED)
        return Intake(turn=turn, learned=learned, tasks=open_tasks)

    def context(
        self,
        *,
        messages: Sequence[Mapping[str, Any]] | None = None,
        bound: int | None = None,
        files: Iterable[str] = (),
        task: str = "",
        remaining: int | None = None,
    ) -> Prepared:
        """What to tell the model now. The transcript stays as it is, and so do the messages that are handed in.

        `messages` are those of the loop so far; without any, they are made from the session. They are kept within
        `bound` tokens, the threshold of compaction unless another is named. What memory gives is for the last thing
        the user said, and at the beginning of a session what holds in any case is given too.
        """
        turns: list[Turn] = []
        with suppress(NotFound):  # it begins with its first turn
            turns = self.session.turns()
        said = [turn for turn in turns if turn.role in (Role.USER, Role.ASSISTANT) and not turn.injected]
        asked = max((place for place, turn in enumerate(said) if turn.role is Role.USER), default=-1)
        situation = Situation(
            prompt=(said[asked].content or "") if asked >= 0 else "",
            previous=(said[asked - 1].content or "") if asked >= 1 else "",
            files=tuple(files),
            session=self.session.id,
            task=task,
            agent=self._agent,
            host=self._host,
            remaining=remaining,
            start=asked == 0,
        )
        told = self._parts.settings
        working = fit(
            _messages(compacted_view(turns)) if messages is None else messages,
            keep_results=told.working.tool_results,
            bound=told.compaction.threshold if bound is None else bound,
        )
        return Prepared(given=self._contexts.give(situation), working=working)

    def execute(self, name: str, input: Json, result: Json) -> tuple[Turn, Turn]:
        """Record that a tool was called and what it answered; a result that is no text is kept as JSON."""
        call = self.session.append(Role.TOOL_CALL, "", name=name, input=input)
        answer = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        return call, self.session.append(Role.TOOL_RESULT, answer, name=name, ref=call.id)

    def persist(self, reply: str) -> Persisted:
        """Keep what the agent answers, save what was found so far, and shorten what has grown too long to read."""
        turn = self.session.append(Role.ASSISTANT, reply)
        self.session.checkpoint()
        compacted = self.session.compact()
        return Persisted(turn=turn, memory=self.session.memory, compacted=compacted)

    # --- Handing on ------------------------------------------------------------------------------------------------

    def handover(self, to: str, action: str, *, about: str, tokens: int = 500) -> dict[str, Json]:
        """The message that asks a skill to do something and gives it all the memory it gets: so many tokens of it.

        It holds what is known about `about` and where the project stands, without what nobody vouches for and without
        what belongs to a session or task. A skill reaches nothing else.
        """
        for field, text in (("to", to), ("action", action), ("about", about)):
            if not conform(str, text, field).strip():
                raise InvalidInput(field, "is empty")
        self._parts.switch.require_on()
        standing = self._standing(tokens // 4)
        situation = Situation(prompt=about, agent=to)
        left = Caps(tokens=max(0, tokens - estimate_tokens(standing)))
        given = self._contexts.give(situation, style=Style.TEXT, caps=left)
        context: Json = {"memory_snippet": given.text, "project_context": standing}
        return {
            "from": self._agent or self._parts.actor,
            "to": to,
            "type": "request",
            "payload": {"action": action, "context": context},
        }

    def _standing(self, tokens: int) -> str:
        """The project's name, and as many lines of what its last session came to as there is room for."""
        where = (
            Condition("kind", Op.EQ, Kind.SUMMARY.value),
            Condition("status", Op.IN, tuple(sorted(LIVE))),
            Condition("owner", Op.EQ, ""),
            Condition("trust", Op.GTE, self._parts.settings.recall.least_trust),
        )
        latest = self._parts.project().query(where, limit=1)
        text = self._project
        for line in latest[0].content.splitlines() if latest else ():
            longer = f"{text}: {line}" if text == self._project and text else f"{text}\n{line}".strip()
            if estimate_tokens(longer) > tokens:
                break
            text = longer
        return text


def _messages(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    """The turns of a session as messages: calls and results as blocks, those of one step in one message."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        if turn.injected:
            continue
        content = turn.content or ""
        match turn.role:
            case Role.TOOL_CALL:
                block = {"type": "tool_use", "id": turn.id, "name": turn.name, "input": turn.input}
                _extend(messages, "assistant", block)
            case Role.TOOL_RESULT:
                _extend(messages, "user", {"type": "tool_result", "tool_use_id": turn.id, "content": content})
            case Role.SUMMARY:
                messages.append({"role": "system", "content": content})
            case _:
                messages.append({"role": turn.role.value, "content": content})
    return messages


def _extend(messages: list[dict[str, Any]], role: str, block: dict[str, Any]) -> None:
    last = messages[-1] if messages else {}
    if last.get("role") == role and isinstance(last["content"], list) and last["content"][0]["type"] == block["type"]:
        last["content"].append(block)
    else:
        messages.append({"role": role, "content": [block]})
