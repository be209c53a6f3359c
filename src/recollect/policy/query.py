"""From what somebody typed to what a store can look up: words, and filters.

Words come out the same for stored text and for questions, so a word that was stored is a word that is found. Nothing a
model or a person writes can break a query or steer it: what leaves `query_words` is letters, digits and marks only,
and `match_expression` quotes each word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, assert_never

from ..codec import from_iso
from ..errors import InvalidFilter, InvalidInput
from ..model import Condition, Kind, Memory, Op, Order, Origin, Scalar, Scope, Source, Status, Where
from .identity import spelled_tag

WORD_LENGTH = 64
"""Longer runs are cut here, in stored text and in questions alike."""
QUERY_WORDS = 64
"""Most words looked up for one question."""

_URL = re.compile(r"\b[a-z][a-z0-9+.\-]{1,20}://\S*|\bwww\.\S+", re.IGNORECASE)
# Scripts written without spaces: Thai to Khmer, Japanese, Chinese, and Korean, whose words take endings.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and points that Python's \w leaves out, without which Hindi, Arabic and Hebrew words fall apart.
_MARKS = "\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_LETTER = rf"(?:[^\W_{_UNSPACED}]|[{_MARKS}])"
_CHUNK = re.compile(rf"(?P<run>[{_UNSPACED}]+)|(?P<word>{_LETTER}+(?:[_\-]+{_LETTER}+)*)")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_JOINTS = re.compile(r"[_\-]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
# Names that are nothing but punctuation to a tokeniser, and are what people ask about.
_SPELLED = (
    (re.compile(r"(?<!\w)[cC]\+\+"), " cplusplus "),
    (re.compile(r"(?<!\w)[cC]#"), " csharp "),
    (re.compile(r"(?<!\w)[fF]#"), " fsharp "),
    (re.compile(r"(?<!\w)\.(?:NET|Net|net)\b"), " dotnet "),
)


def index_words(text: str) -> list[str]:
    """Every word under which a text can be found, repetitions included.

    An identifier gives itself and its parts: `parseHTTPResponse` is found by `response`, `user_id` by `userid`, and
    `auth/middleware.py` by `middleware`. Scripts without spaces give characters and pairs of them.
    """
    found: list[str] = []
    for chunk in _chunks(text):
        run = chunk["run"]
        if run:
            found += run
            found += (run[at : at + 2] for at in range(len(run) - 1))
        else:
            found += _parts(chunk["word"])
    return found


def query_words(text: str) -> tuple[str, ...]:
    """The words to look up for a question, each once, in its order.

    The six steps: addresses are dropped, hyphens split, other punctuation is dropped, single characters are dropped
    (unless nothing else is left, or the script writes words so); quoting and joining is `match_expression`'s part.
    """
    found: dict[str, None] = {}
    single: dict[str, None] = {}
    for chunk in _chunks(_URL.sub(" ", text)):
        run = chunk["run"]
        if run:
            found.update(dict.fromkeys(run[at : at + 2] for at in range(max(1, len(run) - 1))))
            continue
        for word in _parts(chunk["word"]):
            (found if len(word) > 1 else single)[word] = None
    return tuple(found or single)[:QUERY_WORDS]


def telling_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a question that say what it is about; all of them where none does.

    In a young store every word is rare, so rarity alone cannot tell "database" from "which".
    """
    return tuple(word for word in words if word not in _FUNCTION_WORDS) or words


_FUNCTION_WORDS = frozenset(
    [
        "a",
        "about",
        "after",
        "again",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "aren",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "both",
        "but",
        "by",
        "can",
        "cannot",
        "could",
        "did",
        "didn",
        "do",
        "does",
        "doesn",
        "doing",
        "don",
        "during",
        "each",
        "either",
        "else",
        "ever",
        "every",
        "few",
        "for",
        "from",
        "further",
        "get",
        "gets",
        "got",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "how",
        "however",
        "i",
        "if",
        "in",
        "into",
        "is",
        "isn",
        "it",
        "its",
        "itself",
        "just",
        "let",
        "ll",
        "may",
        "me",
        "might",
        "mine",
        "more",
        "most",
        "must",
        "my",
        "myself",
        "no",
        "nor",
        "not",
        "of",
        "off",
        "on",
        "once",
        "one",
        "only",
        "or",
        "other",
        "our",
        "ours",
        "out",
        "over",
        "own",
        "please",
        "re",
        "really",
        "s",
        "same",
        "shall",
        "she",
        "should",
        "so",
        "some",
        "such",
        "t",
        "than",
        "that",
        "the",
        "their",
        "theirs",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "upon",
        "us",
        "ve",
        "very",
        "was",
        "wasn",
        "we",
        "were",
        "what",
        "when",
        "where",
        "whether",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "within",
        "without",
        "won",
        "would",
        "wouldn",
        "you",
        "your",
        "yours",
    ]
)


def match_expression(words: tuple[str, ...]) -> str:
    """The full-text query for any of the words, each quoted so that it is a word and never an operator."""
    return " OR ".join('"' + word.replace('"', '""') + '"' for word in words)


def affordable(counts: Mapping[str, int], budget: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which words to look up and which to leave out, given in how many memories each occurs.

    The rarest come first and say most; frequent ones are left out once all together would touch more than `budget`
    index entries. The rarest word is always looked up.
    """
    kept: list[str] = []
    skipped: list[str] = []
    spent = 0
    for word, count in sorted(counts.items(), key=lambda item: (item[1], item[0])):
        if kept and spent + count > budget:
            skipped.append(word)
        else:
            kept.append(word)
            spent += count
    return tuple(kept), tuple(skipped)


FUZZY = 0.2
"""What share of its letters a word may be misspelled in."""


def edits_allowed(stem: str) -> int:
    """How many slips (a letter wrong, missing, added, or two swapped) still count as the same word."""
    return min(2, round(FUZZY * len(stem))) if stem.isalpha() else 0


def _chunks(text: str) -> Iterator[re.Match[str]]:
    for pattern, spelled in _SPELLED:
        text = pattern.sub(spelled, text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))
    return _CHUNK.finditer(text)


def _parts(compound: str) -> list[str]:
    """A word as written, and what it is made of: `user_id` gives user, id, userid."""
    if compound.isalpha() and compound.islower():  # most words; they have no parts
        return [compound.casefold()[:WORD_LENGTH]]
    atoms = _JOINTS.split(compound)
    found = []
    for atom in atoms:
        found.append(atom.casefold()[:WORD_LENGTH])
        pieces = _CAMEL.findall(atom) if atom.isascii() else ()
        if len(pieces) > 1:
            found += [piece.lower()[:WORD_LENGTH] for piece in pieces if len(piece) > 1]
    if len(atoms) > 1:
        found.append("".join(atoms).casefold()[:WORD_LENGTH])
    return found


# --- Filters -------------------------------------------------------------------------------------------------------

LISTS = frozenset({"tags", "files"})
"""Fields that hold several values; a filter asks whether any of them fits."""

FIELDS: dict[str, type] = {
    **dict.fromkeys(("uid", "content", "fingerprint", "session_id", "task_id", "narrative_id", "agent"), str),
    **dict.fromkeys(("host", "season", "stage", "superseded_by", "owner", "tags", "files"), str),
    **dict.fromkeys(("id", "version", "strength", "score", "access_count", "token_cost"), int),
    **dict.fromkeys(("importance", "confidence", "trust"), float),
    **dict.fromkeys(("created_at", "updated_at", "accessed_at", "last_hit_at", "confirmed_at"), datetime),
    **dict.fromkeys(("valid_from", "valid_to"), datetime),
    "kind": Kind,
    "scope": Scope,
    "status": Status,
    "origin": Origin,
    "source": Source,
}
"""What can be filtered and ordered by, and the type of each."""


def parse_where(filters: Mapping[str, object]) -> Where:
    """Conditions from filters as callers write them.

    `{"kind": "decision"}` is equality, `{"tags": ["auth", "db"]}` membership, `{"importance": {"$gte": 0.7}}` one or
    more of the operators $eq $ne $gt $gte $lt $lte $in.
    """
    return tuple(
        condition for field, wanted in filters.items() for condition in _field_conditions(_known_field(field), wanted)
    )


def parse_order(order_by: object) -> Order:
    """An order as callers write it: a field's name for highest or newest first, `-name` for the reverse."""
    if not isinstance(order_by, str):
        raise InvalidFilter("order_by", f"{order_by!r} is not the name of a field")
    name = order_by.removeprefix("-")
    field = "created_at" if name == "timestamp" else _known_field(name)
    if field in LISTS:
        raise InvalidFilter("order_by", f"{field} holds several values and gives no order")
    return Order(field=field, newest_first=not order_by.startswith("-"))


def parse_limit(limit: object, *, most: int = 1_000_000) -> int:
    """A limit that a store can take. More than there can be is no error."""
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
        raise InvalidFilter("limit", f"{limit!r} is not a number of results")
    return min(limit, most)


def holds(memory: Memory, where: Where) -> bool:
    """Whether a memory passes every condition, as a store would judge it."""
    return all(_passes(getattr(memory, condition.field), condition) for condition in where)


def _passes(value: object, condition: Condition) -> bool:
    if condition.field in LISTS:
        assert isinstance(value, tuple)
        if condition.op is Op.NE:
            return condition.value not in value
        return any(_compare(each, condition) for each in value)
    return _compare(value, condition)


def _compare(value: Any, condition: Condition) -> bool:
    wanted: Any = condition.value
    match condition.op:
        case Op.EQ:
            return bool(value == wanted)
        case Op.NE:
            return bool(value != wanted)
        case Op.IN:
            return value in (wanted if isinstance(wanted, tuple) else (wanted,))
    if value is None or wanted is None:
        return False
    match condition.op:
        case Op.GT:
            return bool(value > wanted)
        case Op.GTE:
            return bool(value >= wanted)
        case Op.LT:
            return bool(value < wanted)
        case Op.LTE:
            return bool(value <= wanted)
    assert_never(condition.op)


def _known_field(field: object) -> str:
    if not isinstance(field, str) or field not in FIELDS:
        raise InvalidFilter(str(field)[:64], f"cannot be filtered by; there are {', '.join(sorted(FIELDS))}")
    return field


def _field_conditions(field: str, wanted: object) -> Iterator[Condition]:
    if isinstance(wanted, Mapping):
        for name, value in wanted.items():
            try:
                op = Op(name)
            except ValueError as error:
                raise InvalidFilter(field, f"{name!r} is not one of {', '.join(Op)}") from error
            yield Condition(field, op, _values(field, value) if op is Op.IN else _value(field, value))
    elif isinstance(wanted, list | tuple | set | frozenset):
        yield Condition(field, Op.IN, _values(field, wanted))
    else:
        yield Condition(field, Op.EQ, _value(field, wanted))


def _values(field: str, values: object) -> tuple[Scalar, ...]:
    if not isinstance(values, list | tuple | set | frozenset):
        raise InvalidFilter(field, "$in needs a list")
    if len(values) > 10_000:
        raise InvalidFilter(field, "more than 10,000 values in a list")
    return tuple(_value(field, value) for value in values)


def _value(field: str, value: object) -> Scalar:
    """The value in the field's own type, or a refusal that says what the field takes."""
    kind = FIELDS[field]
    if value is None:
        return None
    if kind is datetime:
        return _moment(field, value)
    if kind is str and isinstance(value, str):
        return _storable(field, spelled_tag(value) if field == "tags" else value)
    if issubclass(kind, str) and isinstance(value, str):
        try:
            return str(kind(value))
        except ValueError as error:
            raise InvalidFilter(field, f"{value!r} is not one of {', '.join(kind)}") from error  # type: ignore[arg-type]
    if kind in (int, float) and isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) < 2**63:  # NaN is not less either
            raise InvalidFilter(field, "is compared with a number out of range")
        return value
    raise InvalidFilter(field, f"{value!r} is not {_TYPE_WORDS.get(kind, 'a text')}")


_TYPE_WORDS: dict[type, str] = {int: "a number", float: "a number", datetime: "a time"}


def _storable(field: str, value: str) -> str:
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidFilter(field, "holds a NUL or a lone surrogate")
    return value


def _moment(field: str, value: object) -> datetime:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidFilter(field, "a time needs a time zone")
        return value
    try:
        return from_iso(str(value), field)
    except InvalidInput as error:
        raise InvalidFilter(field, error.problem) from error
