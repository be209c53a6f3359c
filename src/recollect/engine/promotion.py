"""Promotion: findings of a session to memories, and memories from task to project to global, only when asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..codec import HASH_PREFIX, digest
from ..errors import AccessDenied, InvalidInput, Refused
from ..model import (
    Add,
    Anchor,
    Draft,
    Finding,
    Kind,
    LinkKind,
    Mark,
    Memory,
    Notice,
    Origin,
    Provenance,
    Relation,
    Scope,
    Signals,
    Source,
    Status,
    Uid,
    Vouch,
)
from ..policy.access import PROPOSED, Role
from ..policy.admit import admit, check_text
from ..policy.identity import fingerprint
from ..policy.kinds import TRUST
from ..policy.promote import Judged, Seen, judged
from ..policy.stated import statements
from ..store import Store
from . import write
from .consolidate import consolidated
from .parts import Parts, Ref, new_uid, space_of
from .write import Remembered

_NAME_LIMIT = 256
_WIDER = {Scope.TASK: 0, Scope.SESSION: 0, Scope.PROJECT: 1, Scope.GLOBAL: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """What became of a finding: whether it was promoted and why, and the memory it is now, if it is one."""

    finding: Finding
    judged: Judged
    remembered: Remembered | None = None


def learn(
    parts: Parts, turn: str, *, session: str, agent: str, host: str | None, message: int | None
) -> tuple[Promoted, ...]:
    """Keep what the user states in a turn of their own: corrections, decisions, standing instructions."""
    found = tuple(replace(each, message=message) for each in statements(turn))
    return promote_findings(parts, found, session=session, agent=agent, host=host)


def promote_findings(
    parts: Parts, findings: Sequence[Finding], *, session: str, agent: str, host: str | None
) -> tuple[Promoted, ...]:
    """Note findings of a session, and make memories of those that enough speaks for."""
    parts.switch.require_on()
    told = parts.settings.promotion
    check_text("session", session, _NAME_LIMIT)
    if not findings or not told.auto:
        return ()
    drafts = [_draft(parts, each, session, agent, host) for each in findings]
    clean = [replace(each, content=draft.content) for each, draft in zip(findings, drafts, strict=True)]
    store = parts.project()
    prints = tuple(fingerprint(each.content) for each in clean)
    notice = Notice(fingerprints=prints, session_id=drafts[0].session_id or "", agent=drafts[0].agent or "")
    store.apply([notice], actor=parts.actor, now=parts.clock())
    seen = store.seen(prints)
    done = []
    for finding, known in zip(clean, prints, strict=True):
        sessions, agents = seen[known]
        verdict = judged(finding, Seen(sessions=sessions, agents=max(1, agents)), preset=told.preset, mode=told.mode)
        made = _remember(parts, finding, verdict, session, agent, host) if verdict.promote else None
        done.append(Promoted(finding=finding, judged=verdict, remembered=made))
    return tuple(done)


def _remember(
    parts: Parts, finding: Finding, verdict: Judged, session: str, agent: str, host: str | None
) -> Remembered:
    draft = _draft(parts, finding, session, agent, host)
    origin = Origin.EXTRACTED
    if finding.stated:
        origin = Origin.USER_CORRECTED if finding.kind is Kind.CORRECTION else Origin.USER_STATED
    reason = f"promoted: {verdict.reason}"[:_REASON]
    return write.remember(parts, [replace(draft, reason=reason)], key=None, status=verdict.status, origin=origin)[0]


_REASON = 500


def _draft(parts: Parts, finding: Finding, session: str, agent: str, host: str | None) -> Draft:
    draft = Draft(
        content=finding.content,
        kind=finding.kind,
        importance=finding.importance,
        confidence=1.0 if finding.stated else finding.confidence,
        tags=finding.tags,
        anchors=tuple(Anchor(path=path) for path in finding.files),
        source=Source.CONVERSATION if finding.stated else Source.EXTRACTION,
        session_id=session,
        agent=agent or None,
        host=host,
        message_range=None if finding.message is None else (finding.message, finding.message),
    )
    return admit(draft, parts.limits)


def promote(parts: Parts, ref: Ref, to: Scope, *, confirmed: bool) -> Memory:
    """Let a memory hold more widely: from a task or session in its project, from a project everywhere.

    It is copied and the copy takes its place, so that nothing is lost whatever happens in between. Everywhere is
    every project of this user, so that must be `confirmed`.
    """
    store, memory = parts.find(ref)
    if not memory.active:
        raise InvalidInput("status", f"memory {memory.ref} is {memory.status}; restore it before promoting it")
    if to not in (Scope.PROJECT, Scope.GLOBAL) or _WIDER[to] <= _WIDER[memory.scope]:
        raise InvalidInput("to", f"a memory of scope {memory.scope} cannot be promoted to {to}")
    if to is Scope.GLOBAL and not confirmed:
        raise Refused(f"memory {memory.ref} would be known in every project; that has to be confirmed")
    if to is Scope.PROJECT:
        return _within_project(parts, store, memory)
    return _to_global(parts, store, memory)


def _within_project(parts: Parts, store: Store, memory: Memory) -> Memory:
    now = parts.clock()
    wider = _copied(parts, memory, Scope.PROJECT, new_uid(now))
    taken = Relation(kind=LinkKind.SUPERSEDES, target=memory.id, content_hash=memory.content_hash)
    outcome = store.apply([_added(parts, wider, taken)], actor=parts.actor, now=now).outcomes[0]
    assert outcome.memory is not None
    if outcome.action == "reinforce":  # the project knows it already
        gone = Mark(id=memory.id, status=Status.SUPERSEDED, superseded_by=outcome.memory.uid)
        store.apply([gone], actor=parts.actor, now=now)
    return outcome.memory


def _to_global(parts: Parts, store: Store, memory: Memory) -> Memory:
    """First the copy, then the mark. Killed between the two, the same call goes on: the copy is known by its uid."""
    uid = _derived_uid(memory)
    everywhere = parts.shared()
    there = everywhere.by_uid(uid)
    if there is None or not there.active:
        add = _added(parts, _copied(parts, memory, Scope.GLOBAL, uid if there is None else new_uid(parts.clock())))
        found = consolidated(parts, everywhere, [add])
        there = everywhere.apply(found, actor=parts.actor, now=parts.clock()).outcomes[0].memory
        assert there is not None
    gone = Mark(id=memory.id, status=Status.SUPERSEDED, superseded_by=there.uid)
    store.apply([gone], actor=parts.actor, now=parts.clock())
    return there


def _added(parts: Parts, memory: Memory, *relations: Relation) -> Add:
    gained = Signals(importance=parts.settings.write.duplicate_importance, access=1)
    return Add(memory=memory, on_duplicate=gained, relations=relations)


def _copied(parts: Parts, memory: Memory, scope: Scope, uid: Uid) -> Memory:
    """The memory as it is in a wider scope: trusted as far as it was, with where it came from."""
    now = parts.clock()
    step = Provenance(
        origin=memory.origin,
        at=now,
        session_id=memory.session_id,
        reason=f"promoted from {memory.scope} {memory.ref} by {parts.actor}",
    )
    return replace(
        memory,
        uid=uid,
        version=1,
        scope=scope,
        tags=memory.tags if scope is not Scope.GLOBAL else tuple(tag for tag in memory.tags if tag != PROPOSED),
        task_id=None if scope is Scope.GLOBAL else memory.task_id,
        created_at=now,
        updated_at=now,
        status=memory.status if memory.status is Status.PINNED else Status.CONFIRMED,
        provenance=(*memory.provenance, step),
    )


def _derived_uid(memory: Memory) -> Uid:
    """The uid of a memory's copy in the global space; the same for the same words, so that it is copied once."""
    digits = digest("global", memory.uid, memory.content_hash).removeprefix(HASH_PREFIX)[:32]
    return Uid("-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])))


def confirm(parts: Parts, ref: Ref) -> Memory:
    """Vouch for a memory: a candidate or quarantined one is confirmed, and it is trusted as the one who vouches is.

    Trust rises only if the one who vouches is trusted more, as the person at the keyboard is.
    """
    store, memory = parts.find(ref)
    if memory.status is Status.QUARANTINED and parts.role is not Role.ADMIN:
        raise AccessDenied(parts.role, "release from quarantine", space_of(memory.scope))
    if not memory.active and memory.status is not Status.QUARANTINED:
        raise InvalidInput("status", f"memory {memory.ref} is {memory.status}; restore it first")
    step = Provenance(origin=parts.origin, at=parts.clock(), reason=f"confirmed by {parts.actor}")
    changes: list[Vouch | Mark] = [Vouch(id=memory.id, trust=max(memory.trust, TRUST[parts.origin]), provenance=step)]
    if memory.status in (Status.CANDIDATE, Status.QUARANTINED):
        changes.append(Mark(id=memory.id, status=Status.CONFIRMED))
    after = store.apply(changes, actor=parts.actor, now=parts.clock()).outcomes[-1].memory
    assert after is not None
    return after
