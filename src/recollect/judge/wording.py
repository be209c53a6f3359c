"""From a question to what a model is told: instructions from a versioned file, and the material, fenced.

The material is one JSON object between two marks with a number that is made up for this request. Every text in it has
lost its secrets and whatever passes for a mark, so nothing in it can end the fence. Memories have numbers of their own
there, from 1; ids stay here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from string import Template
from typing import Any

from ..model import Kind
from ..policy.deeds import Said
from ..policy.marks import begin_mark, defused, end_mark, own_words
from ..policy.redact import redact
from .asking import Candidate, Extract, InferTags, Question, Relate, Relation, Rerank, Summarise, Verify
from .model import Request

MOST_CANDIDATES = 40
"""Of how many memories a model is told at a time; the others are as if it had not chosen them."""
MOST_FINDINGS = 12
MOST_TAGS = 16
KINDS = tuple(
    kind.value
    for kind in (
        *(Kind.FACT, Kind.PREFERENCE, Kind.PROCEDURE, Kind.CORRECTION, Kind.NEGATIVE, Kind.DECISION),
        *(Kind.ARCHITECTURE, Kind.PATTERN, Kind.WARNING, Kind.DISCOVERY, Kind.ERROR),
    )
)
"""The kinds a model may find."""

_LONGEST_MEMORY = 1_000
_LONGEST_ASKED = 4_000
_LONGEST_TURN = 3_000
_LONGEST_DEED = 400
_LONGEST_SESSION = 48_000
_MOST_KNOWN = 200
_VERSION = 1


@dataclass(frozen=True, slots=True)
class _Wording:
    """How one sort of question is put."""

    prompt: str
    material: Callable[[Any, Callable[[str], str]], Mapping[str, object] | None]
    schema: Mapping[str, object]
    facts: Callable[[Any], Mapping[str, str]]


def worded(question: Question[Any], *, nonce: str, most_tokens: int) -> Request | None:
    """The request that puts a question to a model; None where there is nothing to ask."""
    wording = _WORDINGS[type(question)]

    def quoted(text: str) -> str:
        return defused(redact(_storable(text)).text, nonce)

    material = wording.material(question, quoted)
    if material is None:
        return None
    begin, end = begin_mark(nonce), end_mark(nonce)
    instructions = prompt(wording.prompt).safe_substitute(wording.facts(question), begin=begin, end=end)
    return Request(
        task=wording.prompt,
        instructions=instructions.strip(),
        material=f"{begin}\n{json.dumps(material, ensure_ascii=False, separators=(',', ':'))}\n{end}",
        schema=wording.schema,
        most_tokens=most_tokens,
    )


@cache
def prompt(name: str, version: int = _VERSION) -> Template:
    """The instructions of that name, as they lie beside this module."""
    from importlib.resources import files  # only where a model is asked

    path = files(__package__).joinpath("prompts", f"{name}.v{version}.md")
    return Template(path.read_text(encoding="utf-8"))


def _storable(text: str) -> str:
    """Without lone surrogates, which are no characters and no JSON for others."""
    return text.encode("utf-8", "replace").decode("utf-8")


# --- The material ----------------------------------------------------------------------------------------------------

_Quote = Callable[[str], str]


def _memories(candidates: Sequence[Candidate], quote: _Quote) -> list[dict[str, object]]:
    return [
        {"n": n, **({"kind": quote(each.kind)} if each.kind else {}), "text": quote(each.text[:_LONGEST_MEMORY])}
        for n, each in enumerate(candidates[:MOST_CANDIDATES], 1)
    ]


def _to_verify(question: Verify, quote: _Quote) -> dict[str, object] | None:
    if not question.candidates:
        return None
    request = quote(own_words(question.prompt)[:_LONGEST_ASKED])
    return {"request": request, "memories": _memories(question.candidates, quote)}


def _to_relate(question: Relate, quote: _Quote) -> dict[str, object] | None:
    if not question.candidates:
        return None
    return {"new": quote(question.new.text[:_LONGEST_ASKED]), "memories": _memories(question.candidates, quote)}


def _to_rerank(question: Rerank, quote: _Quote) -> dict[str, object] | None:
    if len(question.candidates) < 2:
        return None
    return {"query": quote(question.query[:_LONGEST_ASKED]), "memories": _memories(question.candidates, quote)}


def _to_tag(question: InferTags, quote: _Quote) -> dict[str, object] | None:
    if not question.text.strip() or question.most < 1:
        return None
    known = [quote(tag) for tag in question.known[:_MOST_KNOWN]]
    return {"text": quote(question.text[:_LONGEST_ASKED]), "known": known}


def _to_read(question: Extract | Summarise, quote: _Quote) -> dict[str, object] | None:
    turns = [_turn(turn, quote) for turn in heard(question.turns)]
    return {"turns": turns} if turns else None


def heard(turns: Iterable[Said]) -> list[Said]:
    """The latest turns of a session that were said by somebody, as many as a model is told of."""
    kept: list[Said] = []
    room = _LONGEST_SESSION
    for turn in reversed([turn for turn in turns if not turn.injected]):
        length = len(_spoken(turn))
        if length > room:
            break
        if length:
            kept.append(turn)
            room -= length
    return kept[::-1]


def _turn(turn: Said, quote: _Quote) -> dict[str, object]:
    return {"n": turn.position, "by": turn.role, "text": quote(_spoken(turn))}


def _spoken(turn: Said) -> str:
    """What is told of a turn: its own words, both ends of a long one, and little of what a tool was given or gave."""
    if turn.role == "tool_call":
        return f"{turn.name} {json.dumps(turn.input, ensure_ascii=False, default=str)[:_LONGEST_DEED]}".strip()
    text = own_words(turn.text).strip()
    most = _LONGEST_DEED if turn.role == "tool_result" else _LONGEST_TURN
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


# --- The shape of answers --------------------------------------------------------------------------------------------

_RELATIONS = {"type": "string", "enum": [each.value for each in Relation]}
_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


def _object(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _list(items: object) -> dict[str, object]:
    return {"type": "array", "items": items}


def _no_facts(_question: object) -> Mapping[str, str]:
    return {}


def _most(question: Summarise | InferTags) -> Mapping[str, str]:
    return {"most": str(question.most if isinstance(question, Summarise) else min(question.most, MOST_TAGS))}


def _kinds(_question: Extract) -> Mapping[str, str]:
    return {"most": str(MOST_FINDINGS), "kinds": "|".join(KINDS)}


_WORDINGS: Mapping[type[Question[Any]], _Wording] = {
    Verify: _Wording(
        "verify",
        _to_verify,
        _object(relevant=_list(_NUMBER), links=_list(_object(one=_NUMBER, other=_NUMBER, relation=_RELATIONS))),
        _no_facts,
    ),
    Relate: _Wording(
        "relate", _to_relate, _object(relations=_list(_object(memory=_NUMBER, relation=_RELATIONS))), _no_facts
    ),
    Extract: _Wording(
        "extract",
        _to_read,
        _object(
            memories=_list(
                _object(text=_TEXT, kind={"type": "string", "enum": [*KINDS]}, tags=_list(_TEXT), **{"from": _NUMBER})
            )
        ),
        _kinds,
    ),
    Summarise: _Wording("summarise", _to_read, _object(summary=_TEXT), _most),
    Rerank: _Wording("rerank", _to_rerank, _object(order=_list(_NUMBER)), _no_facts),
    InferTags: _Wording("tags", _to_tag, _object(tags=_list(_TEXT)), _most),
}
