"""Sessions: what an agent lives through, kept as it happens and turned into memories at the end.

The transcript is the truth. What lies beside it follows from it: passages to search, findings, what was promoted. So
whatever is killed at whatever moment, `Sessions.recover` reads the transcript and does what is left, nothing twice.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, cast

from ..codec import conform, decode, digest, encode
from ..errors import InvalidInput, KeyReused, MemoryOff, NotFound, RecollectError
from ..formats.transcript import Listed, Mark, Role
from ..formats.transcript import Turn as Turn
from ..judge import Extract, Summarise
from ..model import Condition, Corpus, Define, Draft, File, Finding, Json, Kind, Op, Origin, Passage, Source
from ..policy.deeds import Said
from ..policy.extract import findings
from ..policy.identity import fingerprint
from ..policy.marks import own_words
from ..policy.tokens import estimate_tokens
from ..store import Store
from . import gaps, promotion, write
from .events import Compact, Flush
from .parts import Parts
from .promotion import Promoted
from .transcripts import Transcripts

SORT = "session"
"""The sort of definition that a session's own memory is kept under: its findings, and how far it was read."""
IDLE = timedelta(hours=1)
"""A session that nobody has added to for so long is taken to have ended."""
WINDOW = 400
"""From how many turns findings are made at a time when they are weighed."""
GLANCE = 6
"""How many turns that were read before a checkpoint looks at again. Whoever appends waits for it, so they are few."""
_SPOKEN = frozenset({Role.USER, Role.ASSISTANT, Role.SUMMARY})
_FILED_AT_ONCE = 200
_PASSAGE = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMemory:
    """What a session remembers of itself between two calls."""

    through: int = 0
    """Up to which turn findings were made."""
    findings: tuple[Finding, ...] = ()
    promoted: tuple[str, ...] = ()
    """The fingerprints of findings that were weighed already, whether they were promoted or not."""
    weighed: int = 0
    """Up to which turn findings were weighed."""
    ended: bool = False
    """Somebody said that it has ended; the rest is done at the next chance, unless it has gone on since."""
    ended_after: int = 0
    """After how many turns that was said."""
    filed: int = -1
    """How many of its turns can be searched, counted when all of them could that are to be; -1: never."""
    parent: str | None = None
    shared: int = 0
    """How many of its turns are the parent's. What was found in them was found there, and counts once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What compacting a session came to, in turns and tokens of what an agent reads of it."""

    summary: Turn | None
    turns_before: int
    turns_after: int
    tokens_before: int
    tokens_after: int
    promoted: tuple[Promoted, ...] = ()
    """What was saved from it first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalised:
    """What ending a session came to."""

    session: str
    findings: int = 0
    promoted: tuple[Promoted, ...] = ()
    summary: str = ""
    gaps: int = 0
    """Gaps of this session that are still open."""
    pending: bool = False
    """Only noted that it has ended; `recover` does the rest."""


class Session:
    """One session, being lived through."""

    def __init__(
        self, parts: Parts, transcripts: Transcripts, name: str, *, agent: str = "", host: str = "", root: str = ""
    ) -> None:
        self.id = name
        self._parts = parts
        self._transcripts = transcripts
        self._agent = agent
        self._host = host
        self._root = root

    # --- Living ----------------------------------------------------------------------------------------------------

    def append(
        self,
        role: Role | str,
        content: str,
        *,
        name: str = "",
        input: Json = None,
        at: datetime | None = None,
        ref: str = "",
        injected: bool = False,
    ) -> Turn:
        """Add a turn. When this returns it survives a crash, and can be searched."""
        turn = Turn(
            role=_role(role),
            content=content,
            name=name,
            input=input,
            timestamp=at or self._parts.clock(),
            agent=self._agent,
            host=self._host,
            ref=ref,
            injected=injected,
        )
        return self.extend([turn])[0]

    def extend(self, turns: Iterable[Turn]) -> list[Turn]:
        """Add several turns at once."""
        self._parts.switch.require_on()
        written = self._transcripts.append(self.id, turns, now=self._parts.clock())
        _file(self._store, self.id, written, self._parts)
        every = self._parts.settings.session.checkpoint_every
        if written and written[-1].seq // every != (written[0].seq - 1) // every:
            # Whoever speaks need not wait for it. If it is never done, the next one reads from where the last one was.
            self._parts.later(f"checkpoint {self.id}", self.checkpoint)
        return written

    def turns(self, *, start: int = 0) -> list[Turn]:
        """The whole history, from its beginning in the session it was forked from."""
        return [turn for turn in self._transcripts.read(self.id, start=start) if turn.mark is None]

    def view(self) -> list[Turn]:
        """What an agent reads of it: the latest summary for what it stands for, and every turn since."""
        return compacted_view(self.turns())

    @property
    def tokens(self) -> int:
        """About how many tokens an agent spends on reading it."""
        return _tokens(self.view())

    @property
    def memory(self) -> SessionMemory:
        """What it remembers of itself."""
        return session_memory(self._store, self.id) or self._begun()

    # --- Remembering -----------------------------------------------------------------------------------------------

    def checkpoint(self) -> SessionMemory:
        """Make findings of what was said since the last time, and save them."""
        self._parts.switch.require_on()
        with _one_at_a_time():
            return self._read_on(self.memory, again=GLANCE)

    def flush(self) -> tuple[Promoted, ...]:
        """Weigh the findings that were not weighed yet, and make memories of those that enough speaks for."""
        self._parts.switch.require_on()
        if not self._parts.settings.promotion.auto:
            return ()
        read = self._judged()  # outside of the lock: whoever reads may take its time
        with _one_at_a_time():
            there = self._read_well(self.memory)
            known = {fingerprint(each.content) for each in there.findings}
            more = tuple(each for each in read if fingerprint(each.content) not in known)
            there = replace(there, findings=(*there.findings, *more))
            fresh = [each for each in there.findings if fingerprint(each.content) not in there.promoted]
            done: tuple[Promoted, ...] = ()
            for where, found in self._by_session(there, fresh).items():
                done += promotion.promote_findings(
                    self._parts, found, session=where, agent=self._agent, host=self._host or None
                )
            weighed = (*there.promoted, *(fingerprint(each.content) for each in fresh))
            self._save(replace(there, promoted=tuple(dict.fromkeys(weighed)), weighed=there.through))
        self._parts.oversight.events.tell(Flush(session_id=self.id))
        return done

    def compact(self, *, force: bool = False) -> Compacted:
        """Let a summary stand for all but the latest turns, once the session is long enough; or now, if forced.

        What is worth keeping is saved first. Nothing is removed: `turns` still gives every word.
        """
        told = self._parts.settings
        before = self.view()
        tokens = _tokens(before)
        promoted: tuple[Promoted, ...] = ()
        if told.flush.enabled and (force or tokens >= min(told.flush.threshold, told.compaction.threshold)):
            promoted = self.flush()
        keep = told.compaction.keep_recent
        older = before[: max(0, len(before) - keep)]
        covered = [turn for turn in older if turn.role is not Role.SUMMARY]
        spoken = any(turn.role in _SPOKEN for turn in older)
        if (tokens < told.compaction.threshold and not force) or not (spoken and covered):
            return Compacted(
                summary=None,
                turns_before=len(before),
                turns_after=len(before),
                tokens_before=tokens,
                tokens_after=tokens,
                promoted=promoted,
            )
        text = self._summary(older) or f"{len(older)} turns in which nothing was settled"
        summary = Turn(
            role=Role.SUMMARY,
            content=text,
            timestamp=self._parts.clock(),
            agent=self._agent,
            host=self._host,
            covers=(covered[0].id, covered[-1].id),
        )
        self._keep_summary(text, f"before turn {covered[-1].seq + 1}")
        (written,) = self.extend([summary])
        after = self.view()
        left = _tokens(after)
        self._parts.oversight.events.tell(Compact(session_id=self.id, before=tokens, after=left))
        return Compacted(
            summary=written,
            turns_before=len(before),
            turns_after=len(after),
            tokens_before=tokens,
            tokens_after=left,
            promoted=promoted,
        )

    def fork(self, name: str, *, at: int | None = None) -> Session:
        """Begin another session that shares this one's past and remembers what it found; both can go on."""
        self.checkpoint()
        self._transcripts.fork(self.id, name, at=at, now=self._parts.clock())
        child = Session(self._parts, self._transcripts, name, agent=self._agent, host=self._host, root=self._root)
        there = self.memory
        upto = there.through if at is None else min(at, there.through)
        kept = tuple(each for each in there.findings if each.message is None or each.message <= upto)
        child._save(
            SessionMemory(
                through=upto,
                findings=kept,
                promoted=there.promoted,
                weighed=min(upto, there.weighed),
                parent=self.id,
                shared=upto,
            )
        )
        return child

    def finalise(self, *, fast: bool = False) -> Finalised:
        """End the session: weigh what was found, store what it came to, look at what it did not know.

        `fast` only notes that it has ended, for a host that is about to go; the next start does the rest.
        """
        self._parts.switch.require_on()
        if fast:
            self._end()
            return Finalised(session=self.id, pending=True)
        promoted = self.flush()
        there = self.memory
        text = self._summary(self.turns()) if self._parts.settings.promotion.auto else ""
        open_gaps = gaps.review(self._parts, self.id)  # before the summary, which would answer every question
        if text:
            self._keep_summary(text, f"after {there.through} turns")
        filed = reindex(self._parts, self._transcripts, self.id)
        self._transcripts.mark(self.id, Mark.FINALISED, now=self._parts.clock())
        self._end(filed)
        return Finalised(session=self.id, findings=len(there.findings), promoted=promoted, summary=text, gaps=open_gaps)

    def _end(self, filed: int | None = None) -> None:
        """Note that it has ended, and how many of its turns are filed if that is known."""
        turns = 0
        with suppress(NotFound):  # somebody may end what never began
            turns = self._transcripts.tail(self.id).seq
        with _one_at_a_time():
            there = self.memory
            known = there.filed if filed is None else filed
            ended = replace(there, ended=True, ended_after=turns, filed=known)
            if ended != there:
                self._save(ended)

    # --- Inside ----------------------------------------------------------------------------------------------------

    @property
    def _store(self) -> Store:
        return self._parts.project()

    def _begun(self) -> SessionMemory:
        """What a session remembers that never saved anything: a fork that was interrupted knows its parent."""
        with suppress(NotFound):
            fork = self._transcripts.fork_of(self.id)
            if fork is not None:
                return SessionMemory(parent=fork[0], shared=fork[1])
        return SessionMemory()

    def _read_on(self, there: SessionMemory, *, again: int) -> SessionMemory:
        """Make findings of the turns that were not read yet, reading so many before them `again`, and save them."""
        start = max(0, there.through - again)
        turns = [turn for turn in self.turns(start=start) if turn.role is not Role.SUMMARY]
        last = turns[-1].seq if turns else 0
        if last <= there.through:
            return there
        known = {fingerprint(each.content): each for each in there.findings}
        for end in (*range(start + WINDOW, last, WINDOW - again), last):
            window = [_said(turn) for turn in turns if end - WINDOW < turn.seq <= end]
            for each in findings(window, root=self._root):
                known.setdefault(fingerprint(each.content), each)
        found = sorted(known.values(), key=lambda each: each.message or 0)
        return self._save(replace(there, through=last, findings=tuple(found)))

    def _read_well(self, there: SessionMemory) -> SessionMemory:
        """Read all that was not weighed yet once more, and from further back than a checkpoint does.

        What belongs together may lie far apart: what is found now takes the place of what checkpoints found.
        """
        again = WINDOW // 2
        kept = tuple(
            each
            for each in there.findings
            if (each.message or 0) <= there.weighed - again or fingerprint(each.content) in there.promoted
        )
        return self._read_on(replace(there, through=there.weighed, findings=kept), again=again)

    def _by_session(self, there: SessionMemory, found: Iterable[Finding]) -> dict[str, list[Finding]]:
        """Findings by the session they were made in, without those that it has made a memory of.

        Whoever weighed them before may have been killed before it could note so. A memory that was superseded or
        forgotten since must not come back.
        """
        by: dict[str, list[Finding]] = {}
        past = self._past(there)
        for each in found:
            said = (name for name, shared in reversed(past) if 0 < (each.message or 0) <= shared)
            by.setdefault(next(said, self.id), []).append(each)
        for name, some in by.items():
            prints = tuple({fingerprint(each.content) for each in some})
            of = (Condition("session_id", Op.EQ, name), Condition("fingerprint", Op.IN, prints))
            made = {fingerprint(memory.content) for memory in self._store.query(of, limit=None)}
            by[name] = [each for each in some if fingerprint(each.content) not in made]
        return by

    def _past(self, there: SessionMemory) -> list[tuple[str, int]]:
        """The sessions it was forked from, the nearest first, each with how many of its turns are this one's."""
        past: list[tuple[str, int]] = []
        shared = there.shared
        while there.parent is not None and there.parent not in (self.id, *(name for name, _ in past)):
            shared = min(shared, there.shared)
            past.append((there.parent, shared))
            there = Session(self._parts, self._transcripts, there.parent).memory
        return past

    def _save(self, memory: SessionMemory) -> SessionMemory:
        change = Define(sort=SORT, name=self.id, value=encode(memory))
        self._store.apply([change], actor=self._parts.actor, now=self._parts.clock())
        return memory

    def _judged(self) -> tuple[Finding, ...]:
        """What somebody who reads finds in the turns that were not weighed yet; rules find theirs anyway.

        Only the user states things for good, and a judge is not the user.
        """
        oversight = self._parts.oversight
        if not oversight.reads:
            return ()
        turns = self.turns(start=self.memory.weighed)[-WINDOW:]
        found = oversight.judge.ask(Extract(turns=tuple(_said(turn) for turn in turns), root=self._root))
        return tuple(replace(each, stated=False) for each in found)

    def _summary(self, turns: Sequence[Turn]) -> str:
        """What turns came to, by the judge if there is one and it answers, and by rules otherwise."""
        said = tuple(_said(turn) for turn in turns)
        return self._parts.oversight.judge.ask(Summarise(turns=said, root=self._root))

    def _keep_summary(self, text: str, when: str) -> None:
        """Store what the session came to as a memory; a second time it is the same memory."""
        draft = Draft(
            content=text[: self._parts.limits.content],
            kind=Kind.SUMMARY,
            source=Source.EXTRACTION,
            session_id=self.id,
            agent=self._agent or None,
            host=self._host or None,
            reason=f"the summary of session {self.id} {when}"[:_REASON],
        )
        if not self._parts.settings.promotion.auto:
            return
        try:
            write.remember(self._parts, [draft], key=digest("summary", self.id, when), origin=Origin.EXTRACTED)
        except KeyReused:  # it was summarised before, in other words
            return


_REASON = 500


def _one_at_a_time() -> AbstractContextManager[object]:
    """Held by the one thread that reads, changes and saves what sessions remember; the others would undo it."""
    return _saving


def _in_child() -> None:
    global _saving
    _saving = threading.RLock()  # whoever held it is not in here


_saving = threading.RLock()
os.register_at_fork(after_in_child=_in_child)


class Sessions:
    """All sessions of a project."""

    def __init__(self, parts: Parts, transcripts: Transcripts, *, root: str = "") -> None:
        self._parts = parts
        self.transcripts = transcripts
        self._root = root

    def open(self, name: str, *, agent: str = "", host: str = "") -> Session:
        """A session by its name, which is there from its first turn on."""
        if not conform(str, name, "session").strip():
            raise InvalidInput("session", "needs a name")
        return Session(self._parts, self.transcripts, name, agent=agent, host=host, root=self._root)

    def list(self) -> tuple[Listed, ...]:
        """Every session, the latest first."""
        return tuple(sorted(self.transcripts.sessions(), key=lambda each: (each.updated, each.id), reverse=True))

    def listed(self, name: str) -> Listed:
        """What the index says of a session."""
        return self.transcripts.listed(name)

    def recover(self, *, idle: timedelta = IDLE) -> tuple[Finalised, ...]:
        """Finish what a crash or a hurry left: records half written, turns not indexed, sessions not finalised.

        A session that cannot be finished keeps no other from it, and after some tries is left alone.
        """
        done: list[Finalised] = []
        failures: list[RecollectError] = []
        parking = self._parts.oversight.parking
        remembered = {each.name: each.value for each in self._parts.project().definitions(SORT)}
        for each in self.list():
            item = f"session {each.id} of {self._parts.project().url}"
            if each.archived or self._settled(each, remembered.get(each.id)) or parking.parked(item):
                continue
            try:
                done += self._recovered(each, idle)
            except MemoryOff:
                raise
            except RecollectError as error:
                failures.append(error)
                parking.failed(item, str(error))
        if failures and not done:
            raise failures[0]
        return tuple(done)

    def _recovered(self, listed: Listed, idle: timedelta) -> tuple[Finalised, ...]:
        now = self._parts.clock()
        self.transcripts.repair(listed.id, now=now)
        filed = reindex(self._parts, self.transcripts, listed.id)
        session = self.open(listed.id, agent=listed.agent, host=listed.host)
        there = session.memory
        if listed.finalised >= listed.turns:
            session._end(filed)
        elif now - listed.updated >= idle or (there.ended and there.ended_after >= listed.turns):
            return (session.finalise(),)
        return ()

    def _settled(self, listed: Listed, remembered: Json) -> bool:
        """Whether nothing can be left to do for a session, without reading it or all that it remembers."""
        if listed.finalised < listed.turns or not self.transcripts.unchanged(listed):
            return False
        # What is filed may be gone though the session is not: another backup, another store.
        filed = remembered.get("filed") if isinstance(remembered, Mapping) else None
        return filed == len(self._parts.project().positions(Corpus.SESSIONS, listed.id))

    def archive(self) -> tuple[str, ...]:
        """Compress sessions that were not used for longer than the settings say. Search still finds them."""
        days = self._parts.settings.session.retention_days
        return tuple(self.transcripts.archive(self._parts.clock() - timedelta(days=days))) if days else ()


def compacted_view(turns: Sequence[Turn]) -> list[Turn]:
    """The latest summary, and the turns that it does not stand for."""
    latest = next((turn for turn in reversed(turns) if turn.role is Role.SUMMARY and turn.covers), None)
    if latest is None or latest.covers is None:
        return list(turns)
    # A tool's result has the id of its call: the range ends with the last record of that id.
    last = max((turn.seq for turn in turns if turn.id == latest.covers[1]), default=0)
    return [latest, *(turn for turn in turns if turn.seq > last and turn.role is not Role.SUMMARY)]


def session_memory(store: Store, name: str) -> SessionMemory | None:
    """What a session remembers of itself; None if it never did."""
    found = store.definitions(SORT, name=name)
    return decode(SessionMemory, found[0].value) if found else None


def reindex(parts: Parts, transcripts: Transcripts, name: str) -> int:
    """File the turns of a session's own that are not filed yet. Returns how many are filed then."""
    store = parts.project()
    fork = transcripts.fork_of(name)
    own = [turn for turn in transcripts.read(name, start=fork[1] if fork else 0) if turn.mark is None]
    there = store.positions(Corpus.SESSIONS, name)
    missing = [turn for turn in own if turn.seq not in there]
    return len(there) + sum(
        _file(store, name, missing[start : start + _FILED_AT_ONCE], parts)
        for start in range(0, len(missing), _FILED_AT_ONCE)
    )


def _file(store: Store, name: str, turns: Sequence[Turn], parts: Parts) -> int:
    """Index those of the turns that are searched; how many they are."""
    passages = tuple(
        Passage(
            corpus=Corpus.SESSIONS,
            document=name,
            position=turn.seq,
            text=text[:_PASSAGE],
            label=turn.role.value,
            at=turn.timestamp,
            payload=cast(Json, {"id": turn.id}),
        )
        for turn in turns
        if turn.role in _SPOKEN and not turn.injected and (text := own_words(turn.content or "").strip())
    )
    if passages:
        store.apply([File(passages=passages)], actor=parts.actor, now=parts.clock())
        parts.wake()
    return len(passages)


def _said(turn: Turn) -> Said:
    return Said(
        role=_HEARD.get(turn.role, "assistant"),
        text=turn.content or "",
        name=turn.name,
        input=turn.input,
        injected=turn.injected or turn.role is Role.SYSTEM,
        position=turn.seq,
    )


_HEARD: dict[Role, Literal["user", "assistant", "tool_call", "tool_result"]] = {
    Role.USER: "user",
    Role.TOOL_CALL: "tool_call",
    Role.TOOL_RESULT: "tool_result",
}


def _tokens(turns: Iterable[Turn]) -> int:
    return sum(
        estimate_tokens(turn.content or "") + (estimate_tokens(str(turn.input)) if turn.input is not None else 0)
        for turn in turns
    )


def _role(role: Role | str) -> Role:
    try:
        return Role(role)
    except ValueError as error:
        raise InvalidInput("role", f"{role!r} is not one of {', '.join(Role)}") from error
