"""From what a model said to an answer, or to the reason why it is none. Pure, and total over every text.

A model may chat around its answer, and nothing else. It has chosen among what it was given, or the whole answer is
dropped: one id out of nowhere says that somebody else is speaking through it. Text that it returns is bounded,
printable and without marks; a finding speaks of no number and no code that the session did not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from ..model import Finding, Kind, Origin
from ..policy.deeds import Said
from ..policy.identity import spelled_tag
from ..policy.marks import defused
from ..policy.suspicion import suspicion
from .asking import (
    A,
    Candidate,
    Extract,
    InferTags,
    Linked,
    Question,
    Relate,
    Relation,
    Rerank,
    Summarise,
    Verified,
    Verify,
)
from .model import ModelFailed
from .wording import KINDS, MOST_CANDIDATES, MOST_FINDINGS, MOST_TAGS, heard

_LONGEST_ANSWER = 100_000
_LONGEST_FINDING = 600
_SHORTEST_FINDING = 12
_CONFIDENCE = 0.7
_MOST_STARTS = 64
_MOST_LINKS = 60
_DIGITS = 6

_Object = Mapping[str, object]


def read(question: Question[A], text: str, *, nonce: str) -> A:
    """The answer that a text is. Raises ModelFailed where it is none: empty, malformed or hostile."""
    key, reader = _READERS[type(question)]
    if not text.strip():
        raise ModelFailed("empty", "it said nothing")
    return cast(A, reader(question, found_object(text, key), nonce))


# --- Finding the answer in what was said -----------------------------------------------------------------------------

_THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


def found_object(text: str, key: str) -> _Object:
    """The one JSON object with that key in a text. Raises ModelFailed if there is none, or two that differ."""
    found: list[dict[str, object]] = []
    said = text[:_LONGEST_ANSWER]
    thought = _THOUGHT.match(said)  # only where it comes first: further on, somebody's text may be quoted
    for each in _objects(said[thought.end() :] if thought else said):
        if key in each and each not in found:
            found.append(each)
    if len(found) != 1:
        raise _malformed("two answers" if found else "no answer")
    return found[0]


def _objects(text: str) -> Iterator[dict[str, object]]:
    """The JSON objects in a text that lie in no other."""
    decoder = json.JSONDecoder(parse_constant=_no_number)
    at = text.find("{")
    for _ in range(_MOST_STARTS):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
            yield value
        except (ValueError, RecursionError):
            end = at + 1
        at = text.find("{", end)


def _no_number(name: str) -> None:
    raise ValueError(name)


def _malformed(problem: str) -> ModelFailed:
    return ModelFailed("malformed", problem)


def _hostile(problem: str) -> ModelFailed:
    return ModelFailed("hostile", problem)


# --- One reader a question -------------------------------------------------------------------------------------------


def _verified(question: Verify, answer: _Object, _nonce: str) -> Verified:
    given = _numbered(question.candidates)
    chosen = [_choice(each, given) for each in _list(answer["relevant"], len(given))]
    links = [_link(each, given) for each in _list(answer.get("links") or [], _MOST_LINKS)]
    wanted = {each.id for each in chosen}
    ids = tuple(dict.fromkeys(each.id for each in question.candidates if each.id in wanted))
    return Verified(ids=ids, links=_once(links))


def _related(question: Relate, answer: _Object, _nonce: str) -> tuple[Linked, ...]:
    given = _numbered(question.candidates)
    links = []
    for each in _list(answer["relations"], 2 * len(given)):
        entry = _object(each)
        other = _choice(entry.get("memory"), given)
        if (relation := _relation(entry.get("relation"))) is not None and other.id != question.new.id:
            links.append(Linked(one=question.new.id, other=other.id, relation=relation))
    if len({each.other for each in links}) < len(set(links)):
        raise _malformed("two relations of one memory")
    return tuple(dict.fromkeys(links))


def _ordered(question: Rerank, answer: _Object, _nonce: str) -> tuple[str, ...]:
    given = _numbered(question.candidates)
    order = [_choice(each, given).id for each in _list(answer["order"], len(given))]
    if not order:
        raise ModelFailed("empty", "it ordered nothing")
    return tuple(dict.fromkeys([*order, *(each.id for each in question.candidates)]))


def _extracted(question: Extract, answer: _Object, nonce: str) -> tuple[Finding, ...]:
    turns = heard(question.turns)
    there = _letters("\n".join(_whole(turn) for turn in turns))
    found: dict[str, Finding] = {}
    for each in _list(answer["memories"], 4 * MOST_FINDINGS):
        entry = _object(each)
        position = _number(entry.get("from"))
        if position not in {turn.position for turn in turns}:
            raise _hostile("a turn that was not given")
        kind = entry.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            raise _malformed("a kind that there is not")
        content = _text(entry.get("text"), nonce)
        if not _SHORTEST_FINDING <= len(content) <= _LONGEST_FINDING or not _borne_out(content, there):
            continue
        found.setdefault(
            content.casefold(),
            Finding(
                content=content,
                kind=Kind(kind),
                confidence=_CONFIDENCE,
                tags=_tags(entry.get("tags") or []),
                message=position,
            ),
        )
    return tuple(found.values())[:MOST_FINDINGS]


def _summary(question: Summarise, answer: _Object, nonce: str) -> str:
    text = _text(answer["summary"], nonce)
    if not text:
        raise ModelFailed("empty", "it summed nothing up")
    if len(text) <= question.most:
        return text
    return text[: max(0, question.most - 1)].rpartition(" ")[0].rstrip(" ,;:") + "…" if question.most else ""


def _inferred_tags(question: InferTags, answer: _Object, _nonce: str) -> tuple[str, ...]:
    return _tags(answer["tags"])[: question.most]


_READERS: Mapping[type[Question[Any]], tuple[str, Callable[[Any, _Object, str], object]]] = {
    Verify: ("relevant", _verified),
    Relate: ("relations", _related),
    Rerank: ("order", _ordered),
    Extract: ("memories", _extracted),
    Summarise: ("summary", _summary),
    InferTags: ("tags", _inferred_tags),
}


# --- Parts of answers ------------------------------------------------------------------------------------------------


def _numbered(candidates: Sequence[Candidate]) -> dict[int, Candidate]:
    return dict(enumerate(candidates[:MOST_CANDIDATES], 1))


def _list(value: object, most: int) -> list[object]:
    if not isinstance(value, list) or len(value) > most:
        raise _malformed("no list, or one that is too long")
    return value


def _object(value: object) -> _Object:
    if not isinstance(value, dict):
        raise _malformed("an entry that is no object")
    return value


def _number(value: object) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        return int(value)  # small models write numbers as texts
    if type(value) is not int:
        raise _malformed("a number that is none")
    return value


def _choice(value: object, given: Mapping[int, Candidate]) -> Candidate:
    number = _number(value)
    if number not in given:
        raise _hostile("a memory that was not given")
    return given[number]


def _relation(value: object) -> Relation | None:
    if value in (None, "none", "unrelated"):
        return None
    if value not in {each.value for each in Relation}:
        raise _malformed("a relation that there is not")
    return Relation(value)


def _link(value: object, given: Mapping[int, Candidate]) -> Linked | None:
    entry = _object(value)
    one, other = (_choice(entry.get(end), given) for end in ("one", "other"))
    relation = _relation(entry.get("relation"))
    return None if relation is None or one.id == other.id else Linked(one=one.id, other=other.id, relation=relation)


def _once(links: Iterable[Linked | None]) -> tuple[Linked, ...]:
    """Each pair once. A model that says two things of one pair says nothing of it."""
    by: dict[frozenset[str], set[Linked]] = {}
    for each in links:
        if each is not None:
            by.setdefault(frozenset((each.one, each.other)), set()).add(each)
    return tuple(next(iter(said)) for said in by.values() if len(said) == 1)


_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def _text(value: object, nonce: str) -> str:
    """A text that may be kept: what nobody sees is out of it, and nothing in it passes for a mark."""
    if not isinstance(value, str):
        raise _malformed("a text that is none")
    lines = (" ".join(line.split()) for line in _UNSEEN.sub("", value).splitlines())
    text = defused("\n".join(filter(None, lines)), nonce)
    if why := suspicion(text, Origin.EXTRACTED):
        raise _hostile(f"a text that {why}")
    return text


_TAG = re.compile(r"[^\W_](?:[\w.+#/-]{0,62}[\w+#])?")


def _tags(value: object) -> tuple[str, ...]:
    spelled = (spelled_tag(each) for each in _list(value, 2 * MOST_TAGS) if isinstance(each, str))
    return tuple(dict.fromkeys(tag for tag in spelled if _TAG.fullmatch(tag)))[:MOST_TAGS]


_TOLD = re.compile(r"`([^`\n]{1,200})`|(\d[\d.,:]*\d|\d)")


def _borne_out(content: str, there: str) -> bool:
    """Whether every piece of code and every number in a finding is in what it was found in."""
    return all(_letters(found[1] or found[2]) in there for found in _TOLD.finditer(content))


def _letters(text: str) -> str:
    return " ".join(text.casefold().split())


def _whole(turn: Said) -> str:
    return f"{turn.text} {json.dumps(turn.input, ensure_ascii=False, default=str) if turn.input is not None else ''}"
