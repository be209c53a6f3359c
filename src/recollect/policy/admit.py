"""What may enter: text that can be stored faithfully, within limits, without secrets, and stamped as it comes in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ..codec import canonical, conform, encode, to_iso
from ..errors import InvalidInput, InvalidText, TooLarge
from ..model import (
    Anchor,
    Draft,
    Edit,
    Json,
    Memory,
    Origin,
    Procedure,
    Provenance,
    Scope,
    Status,
    Uid,
)
from .evolve import check_validity
from .identity import content_hash, fingerprint, spelled_tag
from .kinds import KINDS, TRUST
from .redact import redact
from .seasons import season_name
from .suspicion import suspicion
from .tokens import estimate_tokens
from .triggers import checked_trigger, procedure_trigger

NAME_LIMIT = 256
"""Most characters in a session id, an agent's name and the like."""
SNIPPET_LIMIT = 1_000
LIST_LIMIT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one memory may hold."""

    content: int = 8_000
    tags: int = 32
    tag_length: int = 64
    paths: int = 64
    path_length: int = 1_024
    payload: int = 65_536


def check_text(field: str, text: object, limit: int, *, setting: str = "", empty: bool = False) -> str:
    """The text itself, if it can be stored and read back unchanged and is not over the limit."""
    if not isinstance(text, str):
        raise InvalidText(field, f"expected text, not {type(text).__name__}")
    if len(text) > limit:
        raise TooLarge(field, len(text), limit, setting=setting)
    if "\x00" in text:
        raise InvalidText(field, "holds a NUL character")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidText(field, f"holds a lone surrogate at position {error.start}") from error
    if not empty and not text.strip():
        raise InvalidText(field, "is empty")
    return text


def clean_text(field: str, text: object, limit: int, *, empty: bool = False) -> str:
    """A text as it is stored: faithful, within its limit, without secrets."""
    return redact(check_text(field, text, limit, empty=empty)).text


def clean_tag(tag: str, limit: int) -> str:
    """A tag as it is stored: without its leading #, in lower case, words joined by hyphens."""
    # Redacted as it came: in lower case a key may not look like one any more.
    given = redact(check_text("tag", tag, limit, setting="write.tag_length")).text
    name = spelled_tag(given)
    if not name:
        raise InvalidText("tag", "is empty")
    if "," in name or not name.isprintable():
        raise InvalidText("tag", f"{name!r} holds a comma or a character that cannot be shown")
    return name


def clean_tags(tags: tuple[str, ...], limits: Limits) -> tuple[str, ...]:
    """Tags as they are stored, each once, in the order given."""
    if len(tags) > limits.tags:
        raise TooLarge("tags", len(tags), limits.tags, unit="tags", setting="write.tags_limit")
    return tuple(dict.fromkeys(clean_tag(tag, limits.tag_length) for tag in tags))


def share(field: str, value: object) -> float:
    """A number from 0 to 1."""
    # Neither NaN nor a number too large for a float is between the two.
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise InvalidInput(field, "is not a number from 0 to 1")
    return float(value) + 0.0  # there is no negative zero in a store


def admit(draft: Draft, limits: Limits) -> Draft:
    """The draft as it may be stored: checked, its tags and paths cleaned, every text of it redacted."""
    draft = conform(Draft, draft, "memory")
    _check_owner(draft.scope, draft.session_id, draft.task_id)
    check_validity(draft.valid_from, draft.valid_to)
    return replace(
        draft,
        content=_content(draft.content, limits),
        tags=clean_tags(draft.tags, limits),
        anchors=_anchors(draft.anchors, limits),
        importance=None if draft.importance is None else share("importance", draft.importance),
        confidence=share("confidence", draft.confidence),
        message_range=_message_range(draft.message_range),
        triggers=_triggers(draft.triggers),
        procedure=_procedure(draft.procedure),
        payload=_payload(draft.payload, limits.payload),
        snippet=clean_text("snippet", draft.snippet, SNIPPET_LIMIT, empty=True),
        reason=clean_text("reason", draft.reason, SNIPPET_LIMIT, empty=True),
        **_names(draft),
    )


def _names(draft: Draft) -> dict[str, Any]:
    names = ("session_id", "task_id", "narrative_id", "agent", "host", "stage")
    return {"season": _season(draft.season), **{name: _name(name, getattr(draft, name)) for name in names}}


def admit_edit(edit: Edit, limits: Limits) -> Edit:
    """The edit as it may be stored, by the same rules as a new memory."""
    edit = conform(Edit, edit, "edit")
    for name in edit.clear:
        if name not in CLEARABLE:
            raise InvalidInput("clear", f"{name!r} cannot be emptied")
        if getattr(edit, name) is not None:
            raise InvalidInput("clear", f"{name} cannot be emptied and given at once")
    return replace(
        edit,
        content=None if edit.content is None else _content(edit.content, limits),
        importance=None if edit.importance is None else share("importance", edit.importance),
        tags=None if edit.tags is None else clean_tags(edit.tags, limits),
        anchors=None if edit.anchors is None else _anchors(edit.anchors, limits),
        triggers=None if edit.triggers is None else _triggers(edit.triggers),
        procedure=_procedure(edit.procedure),
        season=_season(edit.season),
    )


CLEARABLE = frozenset({"procedure", "season", "valid_from", "valid_to"})
"""Fields that an edit may empty; lists are emptied by giving an empty one."""


def compose(draft: Draft, *, uid: Uid, origin: Origin, now: datetime) -> Memory:
    """The memory that an admitted draft becomes, stamped with where and when it came in.

    What nobody vouches for and gives orders to a model is quarantined, and its provenance says why.
    """
    doubt = next(filter(None, (suspicion(text, origin) for text in _read_out(draft))), "")
    reason = f"quarantined: it {doubt}" if doubt else draft.reason
    step = Provenance(origin=origin, at=now, session_id=draft.session_id, snippet=draft.snippet, reason=reason)
    importance = KINDS[draft.kind].importance if draft.importance is None else draft.importance
    carried = {name: getattr(draft, name) for name in _CARRIED}
    return Memory(
        uid=uid,
        status=Status.QUARANTINED if doubt else Status.CONFIRMED,
        importance=importance,
        trust=TRUST[origin],
        created_at=now,
        updated_at=now,
        confirmed_at=now,
        origin=origin,
        provenance=(step,),
        fingerprint=fingerprint(draft.content),
        content_hash=content_hash(draft.content),
        token_cost=estimate_tokens(draft.content),
        **carried,
    )


def _read_out(draft: Draft) -> Iterator[str]:
    """Every text of a draft that a model may be given to read."""
    yield draft.content
    if draft.procedure is not None:
        told = draft.procedure
        yield from (told.name, told.trigger, *told.steps, *told.prerequisites, *told.warnings)


_CARRIED = (
    *("content", "kind", "scope", "tags", "anchors", "confidence", "source", "session_id", "task_id"),
    *("narrative_id", "message_range", "agent", "host", "triggers", "procedure", "season", "stage"),
    *("valid_from", "valid_to", "payload"),
)


def adopted(memory: Memory, *, limits: Limits, now: datetime) -> Memory:
    """A memory from a file that nobody vouches for.

    Its words come in by the same door as any others. What it claims about itself stays readable as provenance; it is
    trusted as far as an import is, at most, and has yet to prove itself.
    """
    check_uid(memory.uid)
    carried = {name: getattr(memory, name) for name in _CARRIED}
    draft = admit(Draft(**carried, importance=memory.importance), limits)
    fresh = compose(draft, uid=memory.uid, origin=Origin.IMPORTED, now=now)
    doubt = f"; {fresh.provenance[0].reason}" if fresh.status is Status.QUARANTINED else ""
    claims = (
        f"claims origin {memory.origin}, trust {memory.trust:g}, status {memory.status}, "
        f"created {to_iso(memory.created_at)}, score {memory.score:+d}{doubt}"
    )
    step = Provenance(origin=Origin.IMPORTED, at=now, session_id=draft.session_id, reason=claims)
    return replace(
        fresh,
        status=Status.QUARANTINED if doubt and memory.active else _ADOPTED_STATUS.get(memory.status, memory.status),
        trust=max(0.0, min(memory.trust, TRUST[Origin.IMPORTED])),
        provenance=(step,),
    )


def check_uid(uid: str) -> None:
    """Refuse what cannot be the uid of a memory."""
    if not _UID.fullmatch(uid):
        raise InvalidInput("uid", f"{uid[:64]!r} is not a uid")


_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ADOPTED_STATUS = {Status.CONFIRMED: Status.CANDIDATE, Status.PINNED: Status.CANDIDATE}


def check_stored(memory: Memory) -> Memory:
    """A memory from a file of our own, as it is, if it is one that this door could have let in."""
    held = conform(Memory, memory)
    check_uid(held.uid)
    if held.id < 0 or held.version < 1:
        raise InvalidInput("uid", f"{held.uid[:64]!r} with id {held.id} and version {held.version} was never stored")
    for name in ("importance", "confidence", "trust"):
        share(name, getattr(held, name))
    _check_owner(held.scope, held.session_id, held.task_id)
    check_validity(held.valid_from, held.valid_to)
    try:
        state = canonical(encode(held))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("payload", "is not plain JSON of ordinary size") from error
    check_text("memory", state, len(state))
    check_text("content", held.content, len(held.content))
    if "\\u0000" in state or held.fingerprint != fingerprint(held.content):
        raise InvalidInput("content", f"memory {held.uid} is not the text its hash was made from")
    if held.content_hash != content_hash(held.content):
        raise InvalidInput("content", f"memory {held.uid} is not the text its hash was made from")
    return held


def _check_owner(scope: Scope, session_id: str | None, task_id: str | None) -> None:
    if scope is Scope.SESSION and not session_id:
        raise InvalidInput("session_id", "a session memory needs the session it belongs to")
    if scope is Scope.TASK and not task_id:
        raise InvalidInput("task_id", "a task memory needs the task it belongs to")


def _content(text: str, limits: Limits) -> str:
    return redact(check_text("content", text, limits.content, setting="write.content_limit")).text


def _name(field: str, name: str | None) -> str | None:
    return None if name is None else clean_text(field, name, NAME_LIMIT)


def _season(name: str | None) -> str | None:
    # Redacted as it came, like a tag; then in the one spelling under which seasons are defined.
    return None if name is None else season_name(clean_text("season", name, NAME_LIMIT))


def _texts(field: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    if len(texts) > LIST_LIMIT:
        raise TooLarge(field, len(texts), LIST_LIMIT, unit="entries")
    return tuple(clean_text(field, text, SNIPPET_LIMIT) for text in texts)


def _triggers(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(checked_trigger, _texts("triggers", patterns))))


def _anchors(anchors: tuple[Anchor, ...], limits: Limits) -> tuple[Anchor, ...]:
    if len(anchors) > limits.paths:
        raise TooLarge("files", len(anchors), limits.paths, unit="paths", setting="write.paths_limit")
    return tuple(
        Anchor(
            path=clean_text("path", anchor.path, limits.path_length),
            symbol=_name("symbol", anchor.symbol),
            content_hash=_name("content_hash", anchor.content_hash),
        )
        for anchor in anchors
    )


def _procedure(procedure: Procedure | None) -> Procedure | None:
    if procedure is None:
        return None
    trigger = clean_text("procedure.trigger", procedure.trigger, SNIPPET_LIMIT, empty=True).strip()
    if trigger:
        checked_trigger(procedure_trigger(replace(procedure, trigger=trigger)))
    return Procedure(
        name=clean_text("procedure.name", procedure.name, NAME_LIMIT),
        trigger=trigger,
        steps=_texts("procedure.steps", procedure.steps),
        prerequisites=_texts("procedure.prerequisites", procedure.prerequisites),
        warnings=_texts("procedure.warnings", procedure.warnings),
    )


def _message_range(span: tuple[int, int] | None) -> tuple[int, int] | None:
    if span is not None and not (0 <= span[0] <= span[1] < 2**31):
        raise InvalidInput("message_range", f"{span!r} is not a first and a last message")
    return span


def _payload(payload: Json, limit: int) -> Json:
    try:
        _check_depth(payload, PAYLOAD_DEPTH)
        size = len(canonical(payload))
        if size > limit:
            raise TooLarge("payload", size, limit, setting="write.payload_limit")
        return _map_texts(payload, lambda text: clean_text("payload", text, size, empty=True))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput("payload", "is not plain JSON of ordinary size") from error


PAYLOAD_DEPTH = 50
"""How deeply a payload may be nested; far more than anybody means, far less than a program's stack."""


def _check_depth(value: Json, left: int) -> None:
    if isinstance(value, Mapping | list | tuple):
        if not left:
            raise InvalidInput("payload", f"is nested more than {PAYLOAD_DEPTH} deep")
        for item in value.values() if isinstance(value, Mapping) else value:
            _check_depth(item, left - 1)


def _map_texts(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(key): _map_texts(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_map_texts(item, change) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        raise InvalidInput("payload", "holds a number of more than 63 bits")
    return value
