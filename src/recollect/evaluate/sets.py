"""Labelled sets: what is to be known, the questions about it, and for each question what answers it.

A benchmark is read and checked as a whole before anything is done with it; what is wrong with it is said with the file
and, where it has lines, the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ..codec import decode
from ..errors import BadFile, InvalidInput
from ..model import Anchor, Corpus, Draft, Kind, Passage
from ..policy.admit import Limits, admit, check_text

UNDATED = datetime(2026, 1, 1, tzinfo=UTC)
"""When a set that names no dates takes place; always the same, so that its figures are."""
TEXT_LIMIT = 1_000_000
ID_LIMIT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question and the ids of the items that answer it; without any, it is one that nothing here answers."""

    id: str
    text: str
    gold: tuple[str, ...]
    category: str = ""
    asked: datetime | None = None
    """When it is asked; None is after everything was told."""
    stale: tuple[str, ...] = ()
    """Items that did answer it, until the gold replaced them."""
    apart: bool = False
    """Scored by itself and never in the figures of the whole."""

    @property
    def counted(self) -> bool:
        """Whether it takes part in the figures of the whole."""
        return bool(self.gold) and not self.apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An item that is remembered, and when."""

    id: str
    draft: Draft
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """An item that is a passage of a document."""

    id: str
    passage: Passage


Items: TypeAlias = tuple[Told, ...] | tuple[Filed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Items that are kept in one store, and the questions that are put to it."""

    name: str
    items: Items
    questions: tuple[Question, ...]

    @property
    def corpus(self) -> Corpus:
        """Where its items are searched for."""
        first = next(iter(self.items), None)
        return first.passage.corpus if isinstance(first, Filed) else Corpus.MEMORY

    @property
    def newest(self) -> datetime:
        """When the last of its items came."""
        dates = (item.at if isinstance(item, Told) else item.passage.at for item in self.items)
        return max((date for date in dates if date), default=UNDATED)

    @property
    def documents(self) -> dict[str, str]:
        """Which document each item is a part of; a memory is none's."""
        return {item.id: item.passage.document for item in self.items if isinstance(item, Filed)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """Collections whose questions are averaged over."""

    name: str
    collections: tuple[Collection, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions of all collections."""
        return tuple(question for collection in self.collections for question in collection.questions)


def spread(benchmark: Benchmark, most: int) -> Benchmark:
    """At most so many questions of each sort (counted, apart, without an answer), taken evenly from all over the set.

    Collections that nothing is left to ask of are left out.
    """
    sorts: dict[tuple[bool, bool], list[int]] = {}
    for number, question in enumerate(benchmark.questions):
        sorts.setdefault((question.counted, question.apart), []).append(number)
    kept = {
        numbers[step * len(numbers) // most] if len(numbers) > most else numbers[step]
        for numbers in sorts.values()
        for step in range(min(most, len(numbers)))
    }
    places = iter(range(len(benchmark.questions)))
    thinned = (
        replace(each, questions=tuple(question for question in each.questions if next(places) in kept))
        for each in benchmark.collections
    )
    return replace(benchmark, collections=tuple(each for each in thinned if each.questions))


# --- LoCoMo --------------------------------------------------------------------------------------------------------

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_APART = "adversarial"
_SESSION = re.compile(r"session_(\d+)")


def load_locomo(path: Path) -> Benchmark:
    """Long conversations: a JSON list, each of them a collection whose items are its turns."""
    data = _parsed(_read(path), path)
    if not isinstance(data, list):
        raise BadFile(str(path), "is not a list of conversations")
    collections = []
    for number, each in enumerate(data, start=1):
        try:
            collections.append(_conversation(each, number))
        except InvalidInput as error:
            raise BadFile(str(path), f"conversation {number}: {error}") from error
    return _asking(Benchmark(name=path.name, collections=tuple(collections)), path)


def _conversation(data: object, number: int) -> Collection:
    name = _field(data, "sample_id", str, "conversation", default=str(number))
    sessions = _field(data, "conversation", dict, "conversation")
    numbered = sorted((int(found[1]), key) for key in sessions if (found := _SESSION.fullmatch(key)))
    turns = tuple(turn for _, key in numbered for turn in _turns(sessions, key))
    known = {turn.id for turn in turns}
    asked = enumerate(_field(data, "qa", list, "conversation"), start=1)
    questions = (_locomo_question(each, f"{name}:{place}", known) for place, each in asked)
    return Collection(name=name, items=turns, questions=tuple(each for each in questions if each.gold))


def _turns(sessions: dict[str, object], key: str) -> Iterator[Filed]:
    at = _spoken(_field(sessions, f"{key}_date_time", str, key), key)
    for position, turn in enumerate(_field(sessions, key, list, key)):
        where = f"{key}, turn {position + 1}"
        caption = _field(turn, "blip_caption", str, where, default="")
        said = _field(turn, "text", str, where)
        text = f"{said} [{caption}]".strip() if caption else said
        if not text.strip():
            continue  # nothing that could be found
        passage = Passage(
            corpus=Corpus.SESSIONS,
            document=key,
            position=position,
            text=check_text(where, text, TEXT_LIMIT),
            label=_field(turn, "speaker", str, where),
            at=at,
        )
        yield Filed(id=_field(turn, "dia_id", str, where), passage=passage)


def _spoken(text: str, where: str) -> datetime:
    try:
        return datetime.strptime(text.strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError as error:
        raise InvalidInput(f"{where}_date_time", f"{text!r} is not a time such as 1:56 pm on 8 May, 2023") from error


def _locomo_question(data: object, name: str, known: set[str]) -> Question:
    where = f"question {name}"
    evidence = _field(data, "evidence", list, where, default=[])
    named = (part for each in evidence if isinstance(each, str) for part in re.split(r"[;\s]+", each))
    number = _field(data, "category", int, where)
    if number not in CATEGORIES:
        raise InvalidInput(where, f"category {number!r} is not one of 1 to 5")
    return Question(
        id=name,
        text=check_text(where, _field(data, "question", str, where), TEXT_LIMIT),
        gold=tuple(dict.fromkeys(part for part in named if part in known)),
        category=CATEGORIES[number],
        apart=CATEGORIES[number] == _APART,
    )


# --- Lines of memories and questions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _MemoryLine:
    memory: str
    text: str
    kind: Kind = Kind.FACT
    date: datetime | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuestionLine:
    question: str
    text: str
    gold: tuple[str, ...]
    category: str = ""
    asked: datetime | None = None
    stale: tuple[str, ...] = ()


def load_jsonl(path: Path) -> Benchmark:
    """Memories and questions about them, a line each; every `*.jsonl` of a folder is a collection."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise BadFile(str(path), "holds no file that ends in .jsonl")
    collections = tuple(_told(file) for file in files)
    return _asking(Benchmark(name=path.name, collections=collections), path)


def _told(path: Path) -> Collection:
    memories: dict[str, _MemoryLine] = {}
    questions: dict[str, _QuestionLine] = {}
    places: dict[str, int] = {}
    for number, data in _lines(path):
        with _placed(path, number):
            match "memory" in data, "question" in data:
                case True, False:
                    memory = _decoded(_MemoryLine, data)
                    admit(_draft(memory), Limits(content=TEXT_LIMIT))  # now, while the line is known
                    _add(memories, memory.memory, memory)
                case False, True:
                    asked = _decoded(_QuestionLine, data)
                    check_text("text", asked.text, TEXT_LIMIT)
                    _add(questions, asked.question, asked)
                    places[asked.question] = number
                case _:
                    raise InvalidInput("line", "is not either a memory or a question")
    for name, line in questions.items():
        for each in (*line.gold, *line.stale):
            if each not in memories:
                raise BadFile(str(path), f"{each!r} is no memory of this file", line=places[name])
    first = min((line.date for line in memories.values() if line.date), default=UNDATED)
    return Collection(
        name=path.stem,
        items=tuple(Told(id=name, draft=_draft(line), at=line.date or first) for name, line in memories.items()),
        questions=tuple(_question(line) for line in questions.values()),
    )


def _draft(line: _MemoryLine) -> Draft:
    anchors = tuple(Anchor(path=file) for file in line.files)
    return Draft(content=line.text, kind=line.kind, tags=line.tags, anchors=anchors)


def _question(line: _QuestionLine) -> Question:
    return Question(
        id=line.question,
        text=line.text,
        gold=tuple(dict.fromkeys(line.gold)),
        category=line.category,
        asked=line.asked,
        stale=tuple(dict.fromkeys(line.stale)),
    )


# --- BEIR ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _DocumentLine:
    _id: str
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _QueryLine:
    _id: str
    text: str


def load_beir(path: Path) -> Benchmark:
    """A folder as BEIR publishes its sets: `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`."""
    documents = _identified(path / "corpus.jsonl", _DocumentLine)
    queries = _identified(path / "queries.jsonl", _QueryLine)
    gold = _judgements(path / "qrels" / "test.tsv", queries, documents)
    collection = Collection(
        name=path.name,
        items=tuple(_source(each) for each in documents.values() if (each.text + each.title).strip()),
        questions=tuple(
            Question(id=each, text=queries[each].text, gold=tuple(answers)) for each, answers in gold.items()
        ),
    )
    return _asking(Benchmark(name=path.name, collections=(collection,)), path)


_Identified = TypeVar("_Identified", _DocumentLine, _QueryLine)


def _identified(path: Path, kind: type[_Identified]) -> dict[str, _Identified]:
    held: dict[str, _Identified] = {}
    for number, data in _lines(path):
        with _placed(path, number):
            line = _decoded(kind, data)
            check_text("text", line.text, TEXT_LIMIT, empty=kind is _DocumentLine)
            _add(held, line._id, line)
    return held


def _source(line: _DocumentLine) -> Filed:
    text, label = (line.text, line.title) if line.text.strip() else (line.title, "")
    return Filed(
        id=line._id, passage=Passage(corpus=Corpus.SOURCES, document=line._id, position=0, text=text, label=label)
    )


def _judgements(
    path: Path, queries: Mapping[str, _QueryLine], documents: Mapping[str, _DocumentLine]
) -> dict[str, dict[str, None]]:
    gold: dict[str, dict[str, None]] = {}
    for number, line in enumerate(_read(path).split("\n"), start=1):
        columns = line.split("\t")
        if not line.strip() or (number == 1 and columns[-1].strip() == "score"):
            continue
        if len(columns) != 3 or not re.fullmatch(r"-?\d{1,9}", columns[2].strip()):
            raise BadFile(str(path), "is not a query, a document and a whole number, with tabs between", line=number)
        query, document, score = columns
        for name, known in ((query, queries), (document, documents)):
            if name not in known:
                what = "query" if known is queries else "document"
                raise BadFile(str(path), f"there is no {what} {name!r}", line=number)
        if int(score) > 0:
            gold.setdefault(query, {})[document] = None
    return gold


# --- Reading and checking ------------------------------------------------------------------------------------------

LOADERS: Mapping[str, Callable[[Path], Benchmark]] = {"locomo": load_locomo, "jsonl": load_jsonl, "beir": load_beir}
"""The forms a set can have, and what reads each."""

_Line = TypeVar("_Line")
_Held = TypeVar("_Held")


@contextmanager
def _placed(path: Path, number: int) -> Iterator[None]:
    """Say of what is wrong inside on which line of which file it stands."""
    try:
        yield
    except InvalidInput as error:
        raise BadFile(str(path), str(error), line=number) from error


def _decoded(kind: type[_Line], data: Mapping[str, Any]) -> _Line:
    """A line as a value; fields that mean nothing here are passed over."""
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    return decode(kind, {name: value for name, value in data.items() if name in known}, "line")


def _add(held: dict[str, _Held], name: str, value: _Held) -> None:
    check_text("id", name, ID_LIMIT)
    if name in held:
        raise InvalidInput("id", f"{name!r} was there before")
    held[name] = value


def _asking(benchmark: Benchmark, path: Path) -> Benchmark:
    if not any(question.counted for question in benchmark.questions):
        raise BadFile(str(path), "has no question that something in it answers")
    return replace(benchmark, collections=tuple(each for each in benchmark.collections if each.questions))


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadFile(str(path), f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise BadFile(str(path), f"is not UTF-8 at byte {error.start}") from error


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(_read(path).split("\n"), start=1):
        if line.strip():
            data = _parsed(line, path, line=number)
            if not isinstance(data, dict):
                raise BadFile(str(path), "is not an object", line=number)
            yield number, data


def _parsed(text: str, path: Path, *, line: int = 0) -> object:
    try:
        parsed: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadFile(str(path), f"is not JSON ({error.msg})", line=line or error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise BadFile(str(path), f"is not JSON ({error})", line=line) from error
    return parsed


_Kind = TypeVar("_Kind")


def _field(data: object, name: str, kind: type[_Kind], where: str, *, default: _Kind | None = None) -> _Kind:
    """A field of an object that came from JSON, which must be of its type."""
    if not isinstance(data, dict):
        raise InvalidInput(where, "is not an object")
    value = data.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, kind) or isinstance(value, bool):
        words = {str: "text", int: "a whole number", list: "a list", dict: "an object"}
        raise InvalidInput(where, f"{name} is missing or not {words[kind]}")
    return value
