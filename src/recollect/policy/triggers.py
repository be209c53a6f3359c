r"""When a memory comes up by itself: patterns, looked for in what somebody is doing.

Three forms that people write, and one that procedures have:

    force push                    words as they stand, whole ones, with any white space between them
    *.pem   glob:config/**        a path, written as in a .gitignore file
    re:push\s+(-f|--force)\b      a regular expression, also written /push\s+-f/, or /push/i for any case
    words:deploy to production    the words that tell, in any form and order, close together

Words and paths are compared without case, regular expressions as they are written. Those are RE2's, which take time in
proportion to the text whatever the pattern; for that they cannot look around or refer back.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import re2  # type: ignore[import-untyped]

from ..errors import InvalidInput, InvalidText, TooLarge
from ..model import MemoryId, Procedure
from .query import index_words, query_words, telling_words
from .stem import stem

TRIGGER_LENGTH = 300
"""Most characters in a pattern, its prefix not counted."""
FOUND_LENGTH = 120
"""Most characters of a text that is told as what matched."""

_PHRASE, _GLOB, _REGEX, _WORDS = "", "glob:", "re:", "words:"
_SLASHED = re.compile(r"/(?P<body>(?:[^/\\]|\\.)+)/(?P<any_case>i?)", re.DOTALL)
_PATH_GLOB = re.compile(r"[\w.\-/*?\[\]{},@+~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A memory that comes up, its pattern that matched, and the text it matched, on one line."""

    memory: MemoryId
    pattern: str
    found: str


def checked_trigger(text: str) -> str:
    """A pattern in the spelling it is stored in, or a refusal that says what is wrong with it.

    What would match almost any text is refused too: it says nothing about when the memory matters.
    """
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidText("triggers", "a pattern holds a lone surrogate, which is no character")
    form, body = _read(_plain(text).lstrip())
    if form != _REGEX:
        body = " ".join(body.split())
    if not body:
        raise InvalidInput("triggers", "a pattern is empty")
    if len(body) > TRIGGER_LENGTH:
        raise TooLarge("triggers", len(body), TRIGGER_LENGTH)
    _CHECKS[form](body)
    return form + body


def procedure_trigger(procedure: Procedure) -> str:
    """The pattern that brings a procedure up; "" where it has no trigger.

    A trigger is a phrase such as "deploy to production". One that is a path or a regular expression stays as it is.
    """
    text = procedure.trigger.strip()
    return text if not text or _read(text)[0] else _WORDS + text


def _read(text: str) -> tuple[str, str]:
    """The form of a pattern and what it looks for."""
    for form in (_GLOB, _REGEX, _WORDS):
        if text.startswith(form):
            return form, text.removeprefix(form)
    text = text.rstrip()
    slashed = _SLASHED.fullmatch(text)
    if slashed:
        return _REGEX, ("(?i)" if slashed["any_case"] else "") + slashed["body"]
    # An asterisk and a name alone make no path: "char*" and "**kwargs" are code.
    path = "/" in text or "." in text or not any(map(str.isalnum, text))
    return (_GLOB if path and "*" in text and _PATH_GLOB.fullmatch(text) else _PHRASE), text


def _plain(text: str) -> str:
    """A text in which equal characters are written equally, and every character is one."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


def _shown(body: str) -> str:
    short = body if len(body) <= 60 else f"{body[:59]}…"
    return f"'{short}'" if short.isprintable() else repr(short)  # the plain form leaves backslashes as they are


# --- What may be stored ----------------------------------------------------------------------------------------------


def _check_phrase(body: str) -> None:
    tokens = _TOKEN.findall(body)
    signs = [token for token in tokens if not _is_word(token)]
    if len(tokens) == len(signs) == 1 or not (signs or any(map(_tells, tokens))):
        raise InvalidInput("triggers", f"{_shown(body)} stands in almost any text; say more")


def _check_words(body: str) -> None:
    if not any(map(_tells, _words(body))):
        raise InvalidInput("triggers", f"{_shown(body)} has no word that says what it is about")


def _check_glob(body: str) -> None:
    if body.startswith("!"):
        raise InvalidInput("triggers", f"{_shown(body)} says what not to match; write the paths to match")
    if not any(map(str.isalnum, _GLOB_CLASS.sub("", body))):
        raise InvalidInput("triggers", f"{_shown(body)} matches almost any path; name a part of it")
    try:
        _compiled(_glob_regex(body))
    except re2.error as error:
        raise InvalidInput("triggers", f"{_shown(body)} is no pattern for paths: {_reason(error)}") from error


def _check_regex(body: str) -> None:
    try:
        expression = _compiled(body)
    except re2.error as error:
        raise InvalidInput("triggers", f"{_shown(body)} cannot be used: {_reason(error)}") from error
    if expression.programsize > _LARGEST_PROGRAM:
        raise InvalidInput("triggers", f"{_shown(body)} cannot be used: it repeats too much")
    if all(expression.search(text) for text in _ANY_TEXTS) or expression.search(""):
        raise InvalidInput("triggers", f"{_shown(body)} matches almost any text; say more")


_CHECKS = {_PHRASE: _check_phrase, _WORDS: _check_words, _GLOB: _check_glob, _REGEX: _check_regex}
_ANY_TEXTS = ("go on", "Fix it 42", "why so slow?", "run my jobs")
"""Ordinary texts with no letter in common; what matches all of them matches anything."""
_LARGEST_PROGRAM = 1_000
"""Most steps that an expression may be made of; `.{100}` has some 800."""
_OPTIONS = re2.Options()
_OPTIONS.log_errors = False  # an expression that is wrong is told to whoever wrote it, not to the terminal
_OPTIONS.max_mem = 1 << 20


def _compiled(expression: str) -> Any:
    return re2.compile(expression, _OPTIONS)


def _reason(error: Exception) -> str:
    """What RE2 says about an expression, in words for whoever wrote it."""
    (told,) = error.args
    said: str = told.decode("utf-8", "replace") if isinstance(told, bytes) else told
    problem, _, where = said.partition(": ")
    if problem == "invalid perl operator" and where.startswith(("(?=", "(?!", "(?<=", "(?<!")):
        return f"looking ahead or behind, {where}…), is not supported"
    if (problem == "invalid escape sequence" and where[1:].isdigit()) or where == "(?P":
        return "referring back to a group is not supported"
    if problem == "invalid repetition size" or problem.startswith("pattern too large"):
        return "it repeats too much"
    return said


# --- Words as they stand ---------------------------------------------------------------------------------------------

# Scripts written without spaces show no ends of words, so each of their characters is one.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[^\W{_UNSPACED}]+|[^\s]")
"""A word, or one sign."""


def _is_word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"


def _tells(word: str) -> bool:
    return word.casefold() in telling_words((word.casefold(), "…"))  # beside another, a function word is left out


@dataclass(slots=True)
class _Step:
    """A place on the way through a phrase: the patterns that end here, and what may follow."""

    patterns: list[str] = field(default_factory=list)
    then: dict[str, _Step] = field(default_factory=dict)


class _Phrases:
    """Phrases by their first word, then by their second, so that a text is walked through once for all of them."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._start = _Step()
        for pattern in patterns:
            step, end = self._start, 0
            for token in _TOKEN.finditer(pattern):
                step = step.then.setdefault(_joined(token, end), _Step())
                end = token.end()
            step.patterns.append(pattern)

    def found(self, text: str) -> Iterator[tuple[str, str]]:
        """Each pattern that occurs, with the text it is found as, the first first."""
        if not self._start.then:
            return
        tokens = list(_TOKEN.finditer(text))
        for number, token in enumerate(tokens):
            step = self._start.then.get(token.group().casefold())
            after = number + 1
            while step is not None:
                for pattern in step.patterns:
                    yield pattern, text[token.start() : tokens[after - 1].end()]
                if after == len(tokens):
                    break
                step = step.then.get(_joined(tokens[after], tokens[after - 1].end()))
                after += 1


def _joined(token: re.Match[str], end: int) -> str:
    """A token as it follows another one that ends there: white space between them counts, how much does not."""
    word = token.group().casefold()
    return word if token.start() == end else f" {word}"


# --- Words that tell -------------------------------------------------------------------------------------------------

_BETWEEN = 8
"""How many other words may stand between those of a phrase: about as many as one sentence has."""
_JOINTS = re.compile(r"[\s_\-]+")
_PLAIN_WORD = re.compile(r"[a-z]{1,64}")  # most are; they need no taking apart


@dataclass(frozen=True, slots=True)
class _Bag:
    """The stems of a phrase, in any order, and within how many words they must occur."""

    pattern: str
    stems: frozenset[str]
    reach: int


class _Bags:
    """Phrases by that stem of theirs which the fewest others have."""

    def __init__(self, patterns: Iterable[str]) -> None:
        bags = [_bag(pattern) for pattern in patterns]
        counts = Counter(each for bag in bags for each in bag.stems)
        self._by_rarest: defaultdict[str, list[_Bag]] = defaultdict(list)
        for bag in bags:
            self._by_rarest[min(bag.stems, key=lambda each: (counts[each], each))].append(bag)

    def found(self, text: str) -> Iterator[tuple[str, str]]:
        """Each pattern whose words occur together, with the words as they are found."""
        if not self._by_rarest:
            return
        words = index_words(text)
        places: defaultdict[str, list[int]] = defaultdict(list)
        for place, word in enumerate(words):
            places[stem(word)].append(place)
        for rarest in places.keys() & self._by_rarest.keys():
            for bag in self._by_rarest[rarest]:
                together = _together(bag, places)
                if together:
                    yield bag.pattern, " … ".join(words[place] for place in together)


def _bag(pattern: str) -> _Bag:
    body = pattern.removeprefix(_WORDS)
    telling = telling_words(_words(body))
    return _Bag(pattern, frozenset(map(stem, telling)), len(index_words(body)) + _BETWEEN)


def _words(phrase: str) -> tuple[str, ...]:
    """The words of a phrase. Those that are joined count singly; parts of an identifier do not stand for it."""
    words: list[str] = []
    for piece in _JOINTS.split(phrase):
        found = (piece,) if _PLAIN_WORD.fullmatch(piece) else query_words(piece)
        words += found[:1]
        words += (word for word in found[1:] if word not in found[0])
    return tuple(words)


def _together(bag: _Bag, places: Mapping[str, Sequence[int]]) -> list[int]:
    """Where all words of a phrase first occur within its reach of each other; nothing where they never do."""
    if not places.keys() >= bag.stems:
        return []
    last: dict[str, int] = {}
    for place, found in sorted((place, each) for each in bag.stems for place in places[each]):
        last[found] = place
        if len(last) == len(bag.stems) and place - min(last.values()) < bag.reach:
            return sorted(last.values())
    return []


# --- Paths and regular expressions -----------------------------------------------------------------------------------

_PATH = re.compile(r"[\w.\-/~@+%]+")
_GLOB_CLASS = re.compile(r"\[(?P<but>[!^]?)(?P<of>[^\[\]/\\^]+)\]")
_GLOB_PART = re.compile(
    rf"(?P<folders>(?<![^/])\*\*/)|(?P<below>(?<=/)\*\*\Z)|(?P<some>\*+)|(?P<one>\?)|(?P<class>{_GLOB_CLASS.pattern})"
    r"|(?P<choice>\{[^{}]*,[^{}]*\})|(?P<run>[^*?\[{\\]+)|\\?(?P<sign>.)",
    re.DOTALL,
)


def _glob_regex(glob: str) -> str:
    """The regular expression of a path pattern.

    It matches from any folder on, because paths come absolute and relative; one that begins with / matches from the
    start. One that ends in / matches what is in that folder. Beyond .gitignore, {a,b} is either.
    """
    for here in ("./", "~/"):
        glob = glob.removeprefix(here)
    start = "/?" if glob.startswith("/") else "(?:.*/)?"
    end = "/.+" if glob.endswith("/") else ""
    return rf"(?is)\A{start}{_glob_parts(glob.strip('/'))}{end}\z"


def _glob_parts(glob: str) -> str:
    return "".join(map(_glob_part, _GLOB_PART.finditer(glob)))


def _glob_part(part: re.Match[str]) -> str:
    match part.lastgroup:
        case "folders":
            return "(?:.*/)?"
        case "below":
            return ".+"
        case "some":
            return "[^/]*"
        case "one":
            return "[^/]"
        case "class":
            return f"[^/{part['of']}]" if part["but"] else f"[{part['of']}]"
        case "choice":
            return f"(?:{'|'.join(map(_glob_parts, part.group()[1:-1].split(',')))})"
    return re.escape(part["run"] or part["sign"])


def _paths(context: str, files: Iterable[str]) -> Iterator[str]:
    """The given paths, and what looks like one in a text: it holds a slash or a dot, not only at its end."""
    yield from files
    for token in _PATH.findall(context):
        path = token.rstrip(".")
        if "/" in path or "." in path:
            yield path


class _Expressions:
    """Many regular expressions at once: only those whose fixed letters occur in a text are tried on it."""

    def __init__(self, expressions: Mapping[str, str]) -> None:
        self._filters = list(_filters(list(expressions.items())))

    def found(self, text: str) -> Iterator[tuple[str, str]]:
        """Each pattern that matches, with the text it matches first."""
        for patterns, expressions in self._filters:
            for number in expressions.Match(text) or ():
                yield patterns[number], expressions.re(number).search(text).group()


def _filters(expressions: list[tuple[str, str]]) -> Iterator[tuple[list[str], Any]]:
    """Filters for all expressions, each with their patterns: one, or more where their letters are too many for one."""
    if not expressions:
        return
    combined = re2.Filter()
    for _, expression in expressions:
        combined.Add(expression, _OPTIONS)
    try:
        combined.Compile()
    except re2.error:
        half = len(expressions) // 2  # never of one alone, whose length is limited
        yield from _filters(expressions[:half])
        yield from _filters(expressions[half:])
    else:
        yield [pattern for pattern, _ in expressions], combined


# --- All of them -----------------------------------------------------------------------------------------------------


class Matcher:
    """The patterns of many memories, made ready to be looked for together."""

    def __init__(self, owners: Mapping[str, Mapping[MemoryId, str]]) -> None:
        """`owners`: checked patterns, each with the memories that have it and how they spell it."""
        self._owners = owners
        forms: dict[str, dict[str, str]] = {form: {} for form in _CHECKS}
        for pattern in owners:
            form, body = _read(pattern)
            forms[form][pattern] = _glob_regex(body) if form == _GLOB else body
        self._phrases = _Phrases(forms[_PHRASE])
        self._bags = _Bags(forms[_WORDS])
        self._globs = _Expressions(forms[_GLOB])
        self._regexes = _Expressions(forms[_REGEX])

    @classmethod
    def of(cls, memories: Iterable[tuple[MemoryId, tuple[str, ...]]]) -> Matcher:
        """The matcher for memories with their patterns. A pattern that could not be stored today matches nothing."""
        checked: dict[str, str] = {}
        owners: defaultdict[str, dict[MemoryId, str]] = defaultdict(dict)
        for memory, patterns in memories:
            for pattern in patterns:
                if pattern not in checked:
                    try:
                        checked[pattern] = checked_trigger(pattern)
                    except InvalidInput:
                        checked[pattern] = ""
                if checked[pattern]:
                    owners[checked[pattern]].setdefault(memory, pattern)
        return cls(owners)

    def matches(self, context: str, files: Iterable[str] = ()) -> tuple[Match, ...]:
        """The memories that come up for a text and the files it is about, in their order.

        Each is told once, with the pattern that matched the longest text. Words as they stand and regular expressions
        are looked for in the text and in each path; words that tell, in the text; globs, among the paths and whatever
        looks like one in the text.
        """
        context, files = _plain(context), [_plain(file) for file in files]
        found: dict[str, str] = dict(self._bags.found(context))
        for text in (context, *files):
            for looked_for in (self._phrases, self._regexes):
                for pattern, what in looked_for.found(text):
                    found.setdefault(pattern, what)
        for path in dict.fromkeys(_paths(context, files)):
            for pattern, what in self._globs.found(path):
                found.setdefault(pattern, what)
        return self._told(found)

    def _told(self, found: Mapping[str, str]) -> tuple[Match, ...]:
        best: dict[MemoryId, tuple[int, str, str]] = {}
        for pattern, what in found.items():
            for memory, spelled in self._owners[pattern].items():
                best[memory] = max(best.get(memory, (-1, "", "")), (len(what), spelled, what))
        return tuple(
            Match(memory=memory, pattern=spelled, found=_one_line(what))
            for memory, (_, spelled, what) in sorted(best.items())
        )


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= FOUND_LENGTH else f"{line[: FOUND_LENGTH - 1]}…"
