"""What a session came to, in the words of those who took part in it.

The summary says what was asked for, what was decided, how the user put the agent right, what was resolved, where the
work stands, which files changed and what is open. It is put together from findings, in the order of what somebody who
takes up the work would miss first; the opening sentences of a session say little of what became of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..model import Finding, Kind
from .deeds import Deeds, Said
from .extract import findings
from .marks import own_words

_MOST_OF_A_SORT = 4
_MOST_FILES = 10
_LONGEST_LINE = 220
_LONGEST_REQUEST = 4_000

_SECTIONS: tuple[tuple[str, frozenset[Kind]], ...] = (
    ("Decided", frozenset({Kind.DECISION})),
    ("Corrected", frozenset({Kind.CORRECTION, Kind.NEGATIVE, Kind.PREFERENCE})),
    ("Resolved", frozenset({Kind.ERROR})),
)
_LEARNED = ("Learned", frozenset({Kind.WARNING, Kind.DISCOVERY, Kind.PATTERN, Kind.ARCHITECTURE, Kind.FACT}))


def summarised(turns: Sequence[Said], *, most: int = 1200, root: str = "") -> str:
    """What a session came to, in at most so many characters; "" where nothing happened in it.

    Files are told by their path from `root`, as in `findings`.
    """
    heard = [turn for turn in turns if not turn.injected]
    found = findings(turns, root=root)
    files = [change.path for change in Deeds(heard, root).changes]
    came_of_it = [*_sections(found, *_SECTIONS), *_open(heard), *_standing(found), *_files(files)]
    came_of_it += _sections(found, _LEARNED)
    request = _request(heard)
    if not came_of_it:
        came_of_it = [*_answer(request, heard)]
    if not came_of_it:
        return ""
    return _fitted([f"Asked: {_line(request)}"] if request else [], came_of_it, most)


def _fitted(first: Iterable[str], lines: Iterable[str], most: int) -> str:
    """As many of the lines as there is room for, in their order."""
    kept: list[str] = []
    room = most
    for line in (*first, *lines):
        if len(line) <= room:
            kept.append(line)
            room -= len(line) + 1
    return "\n".join(kept)


def _line(text: str) -> str:
    """A text in one line, cut between words where it is long."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_LINE else text[: _LONGEST_LINE - 1].rpartition(" ")[0].rstrip(" ,;:") + "…"


# --- What came of it -------------------------------------------------------------------------------------------------


def _sections(found: Sequence[Finding], *sections: tuple[str, frozenset[Kind]]) -> Iterator[str]:
    """A few findings of each sort, in their order: what the user said rather than the agent, and late ones."""
    for label, kinds in sections:
        of_sort = [each for each in found if each.kind in kinds]
        chosen = sorted(of_sort, key=lambda each: (not each.stated, -(each.message or 0)))[:_MOST_OF_A_SORT]
        yield from (f"{label}: {_line(each.content)}" for each in of_sort if each in chosen)


def _standing(found: Sequence[Finding]) -> Iterator[str]:
    """Where the work stands: what was done for the last requests, and what is left."""
    for each in [each for each in found if each.kind is Kind.TASK_PROGRESS][-_MOST_OF_A_SORT:]:
        done, left, remaining = each.content.partition("Remaining: ")
        if done.strip():
            yield _line(done)
        if left:
            yield _line(left + remaining)


def _files(paths: Sequence[str]) -> Iterator[str]:
    if paths:
        more = f" and {len(paths) - _MOST_FILES} more" if len(paths) > _MOST_FILES else ""
        yield f"Files: {', '.join(paths[:_MOST_FILES])}{more}"


_QUESTION = re.compile(r"(?<![^\s*>#-])[A-Z][a-z']*,? [^.!?=<>{}\n]{12,300}\?(?=\s|$)")
_POLITE = re.compile(
    r"\b(?:anything else|any (?:other|further)|like me to (?:explain|elaborate|continue|help)|let me know|happy to"
    r"|look good|does (?:this|that) (?:help|work|make sense|answer)|how can i help|what would you like|questions)\b",
    re.IGNORECASE,
)


def _open(heard: Sequence[Said]) -> Iterator[str]:
    """The question that the session ends with: the agent's last one, or the user's if nothing answers it."""
    last = next((turn for turn in reversed(heard) if turn.role in {"user", "assistant"} and turn.text.strip()), None)
    if last is None:
        return
    asked = [each.strip(" -*>#") for each in _QUESTION.findall(_prose(last.text)[-_LONGEST_REQUEST:])]
    asked = [each for each in asked if not _POLITE.search(each)]
    answered = any(turn.role == "tool_call" and turn.position > last.position for turn in heard)
    if asked and not (last.role == "user" and answered) and not _is_whole_session(last, heard):
        yield f"Open: {_line(asked[-1])}"


def _is_whole_session(last: Said, heard: Sequence[Said]) -> bool:
    """Whether nothing but this turn was said."""
    return all(turn is last or not turn.text.strip() for turn in heard)


# --- What was asked for ----------------------------------------------------------------------------------------------

_FENCED = re.compile(r"^```[^\n]*\n(?:(?!```)[^\n]*\n){0,500}(?:```|\Z)", re.MULTILINE)
_PASTED = re.compile(
    r"^[ \t]{0,40}(?:</?[a-zA-Z][\w:-]{0,60}[^>\n]{0,200}>|[>|$%{\[]|\S{1,200}:\d|(?:at|File) \S)[^\n]*$"
    r"|^[^\n]*\":[^\n]*$",
    re.MULTILINE,
)
_NOT_ASKED = re.compile(
    r"\s*(?:/[a-z][\w:-]*(?:\s|$)|caveat:|this session is being continued|\[request |# agents\.md|<)", re.IGNORECASE
)
_GREETING = re.compile(
    r"(?:(?:hi|hey|hello|ok|okay|so|thanks|thank you|great|amazing|perfect|please|claude|codex|gemini|there)\b"
    r"[\s,.!:-]{0,8}){1,6}",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\?$|\b(?:please|can you|could you|would you|i(?:'d| would) like|i want|i need|let's|we need to|help me)\b"
    r"|^(?:add|fix|make|create|implement|update|remove|write|change|refactor|explain|find|check|show|move|rename|build|run"
    r"|use|work on|continue with|review|investigate|set up|port|migrate|replace|support|read|analy[sz]e|look|test|debug"
    r"|improve|delete|merge|split|convert|deploy|document|design|generate|install|configure|optimi[sz]e|rewrite)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?!\s|$)[^.!?\n]*)*(?:[.!?]+|\n|$)")
_WORD = re.compile(r"[a-z][a-z0-9_]{2,}")


def _prose(text: str) -> str:
    """What somebody wrote themselves: without code, quotes, and blocks that a machine wrote."""
    return _PASTED.sub("", _FENCED.sub("\n", own_words(text)[: 4 * _LONGEST_REQUEST]))


def _request(heard: Sequence[Said]) -> str:
    """The first sentence that asks for something, or else the first that says anything; "" where nobody does."""
    said = ""
    for turn in heard:
        if turn.role != "user" or _NOT_ASKED.match(turn.text):
            continue
        for sentence in _sentences(_prose(turn.text)[:_LONGEST_REQUEST]):
            telling = len(_WORD.findall(sentence.lower())) >= 3
            if telling and _ASKS.search(sentence):
                return sentence
            said = said or (sentence if telling else "")
        if said:
            return said
    return ""


def _sentences(text: str) -> Iterator[str]:
    for found in _SENTENCE.finditer(text):
        sentence = found[0].strip(" -*#>\\\n\t")
        greeting = _GREETING.match(sentence)
        sentence = sentence[greeting.end() :] if greeting else sentence
        if sentence:
            yield sentence[:1].upper() + sentence[1:]


# --- What it came to, where nothing was found ------------------------------------------------------------------------

_CHATTER = re.compile(
    r"\b(?:i'll|i will|let me|let's|i'd be|happy to|sure|you're|i need to|we need to|going to|next)\b", re.IGNORECASE
)
_REPORTS = re.compile(
    r"\b(?:i|we)(?:'ve| have)? (?:now |also |successfully |just ){0,3}(?:[a-z]+ed|wrote|made|built|found)\b"
    r"|\b(?:is|are|were|was) [a-z]+ed\b",
    re.IGNORECASE,
)
_LAST_MESSAGES = 6


def _answer(request: str, heard: Sequence[Said]) -> Iterator[str]:
    """What the last messages say that is closest to what was asked, or reports what was done."""
    wanted = frozenset(_WORD.findall(request.lower()))
    messages = [turn for turn in heard if turn.role == "assistant" and turn.text.strip()][-_LAST_MESSAGES:]
    best, most = "", 0
    for turn in messages if wanted else ():
        for sentence in _sentences(_prose(turn.text)[:_LONGEST_REQUEST]):
            words = _WORD.findall(sentence.lower())
            weight = len(wanted.intersection(words)) + 2 * bool(_REPORTS.search(sentence))
            plain = not _CHATTER.search(sentence) and not sentence.endswith(("?", ":"))
            if plain and weight >= max(most, 1) and 4 <= len(words) <= 60:
                best, most = sentence, weight
    if best:
        yield f"Came to: {_line(best)}"
