"""What somebody wants right now, from what they typed: the words to look memories up by.

A prompt is not a question. It may carry a stack trace of a hundred lines, a pasted file, or nothing but "yes, do that";
it may be a thank-you. What is looked for is the present intent: what the prompt says in prose, the error that it
quotes, the files and names in play, and the last turn where the prompt only points back at it. Not the whole context.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .query import query_words, telling_words

PROSE = 1_200
"""How many characters of prose are looked at: the first and the last of a longer prompt."""
QUOTED = 400
"""How many characters of what is quoted: errors, not the frames that led there."""
_LINE = 200
"""How many characters of a line that is quoted."""
BACK = 500
"""How many characters of the turn before, its end: that is where it asks and proposes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What is looked for."""

    query: str = ""
    """The words to look for; "" where there is nothing to look for."""
    files: tuple[str, ...] = ()
    """Files in play, those that the prompt names among them."""
    points_back: bool = False
    """The prompt says nothing by itself; the turn before it says what it is about."""

    @property
    def idle(self) -> bool:
        """Whether there is nothing that memory could help with."""
        return not self.query


def intent(prompt: str, *, files: Iterable[str] = (), previous: str = "") -> Intent:
    """What a prompt wants. `previous` is the turn that it answers, `files` are those being worked on."""
    prose, quoted = _parted(prompt)
    own = _clipped(prose, PROSE)
    named = tuple(dict.fromkeys([*files, *_named_files(prompt)]))
    telling = own_words_of(own)
    if not telling and not quoted:
        if not _answers(prompt) or not previous.strip():
            return Intent(files=named)
        before = _parted(previous)[0].strip()[-BACK:]
        return Intent(query=f"{own}\n{before}".strip() if own_words_of(before) else "", files=named, points_back=True)
    if len(telling) <= _FEW and not quoted and previous.strip() and _POINTS.search(own):
        before = _parted(previous)[0].strip()[-BACK:]
        return Intent(query=f"{own}\n{before}", files=named, points_back=True)
    return Intent(query=f"{own}\n{quoted}".strip(), files=named)


_FEW = 3
"""A prompt of so few telling words may be pointing back."""

_POINTS = re.compile(
    r"\b(?:it|that|this|these|those|them|same|again|one|ones|both|either|there|so|above|first|second|third|last|latter|"
    r"former|rest|others?|yes|yeah|yep|ok|okay|sure|no|nope)\b",
    re.IGNORECASE,
)

_PLEASANTRIES = frozenset(
    """
    hi hello hey thanks thank thx ty cheers please great good nice cool awesome perfect excellent amazing wonderful
    lovely brilliant morning afternoon evening night bye goodbye later welcome ok okay okey yes yeah yep yup no nope nah
    sure fine right correct exactly agreed alright lgtm done go ahead continue proceed next carry keep going resume
    start stop wait hold moment sec second minute again retry try sorry oops hmm hm huh wow lol haha well so now then
    just really very much lot appreciate appreciated job work works worked working looks look looking sounds sound
    makes make sense got get it that this these those them one ones first third last both either latter former other
    others another same thing things stuff way bit do does did doing done doit let lets us you your me my mine i we our
    am is are was be been want wanted need like think guess maybe perhaps also too tell me say said help hand can could
    would should will shall may might joke weather today tomorrow yesterday day week time name who what when where why
    how are u r pls plz idk btw fyi imo tbh everything anything nothing something all none any some ship explain
    elaborate more less not a b c
    """.split()
)
"""Words that say nothing of what a prompt is about when there are no others beside them."""
_NUMBER = re.compile(r"[\d.,]+")


def own_words_of(text: str) -> tuple[str, ...]:
    """The words of a prompt that say what it is about; numbers alone do not."""
    words = query_words(text)
    telling = telling_words(words) if words else ()
    return tuple(word for word in telling if word not in _PLEASANTRIES and not _NUMBER.fullmatch(word))


_ANSWER = re.compile(
    r"^\W*(?:yes|yeah|yep|yup|ok|okay|sure|do|go|continue|proceed|carry|keep|next|right|correct|exactly|agreed|alright|"
    r"lgtm|fine|please|no|nope|not|the|option|try|again|retry|same|both|either|neither|that|this|it|them|let|lets|"
    r"sounds|looks|make|ship|[a-c1-9]\b)",
    re.IGNORECASE,
)
_PARTING = re.compile(r"\b(?:thanks|thank you|thx|cheers|bye|good ?night|hello|hi|hey)\b", re.IGNORECASE)


def _answers(prompt: str) -> bool:
    """Whether a prompt without words of its own answers the turn before it, rather than being polite."""
    return bool(_ANSWER.match(prompt)) and not _PARTING.match(prompt.strip())


# --- Prose and what is quoted ---------------------------------------------------------------------------------------

_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")
_FRAME = re.compile(
    r"^\s*(?:at\s+\S|File \"|#\d+\s+\S|\d{1,6}\s*[|:]\s|[-+]{1,3}\s{0,2}[a/b]/|@@ |[|│]\s|\^+\s*$|~+\^|"
    r"Traceback \(most|goroutine \d|\.\.\. \d+ more|from\s+\S+:\d+:in\b|stack backtrace)"
)
_LOGGED = re.compile(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d[T ]|\[?\d\d:\d\d:\d\d|\[?(?:DEBUG|INFO|TRACE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b|"
    r"[$%>]\s+\S|npm (?:ERR|error|warn)|E\s{2,}\S)"
)
_ERROR = re.compile(
    r"(?:\b[A-Za-z_][\w.]{0,60}(?:Error|Exception|Failure|Panic|Warning)\b|\berror\b|\bfailed\b|\bfatal\b|\bpanicked\b|"
    r"\bcannot\b|\bdenied\b|\brefused\b|\btimed? ?out\b|\bE[A-Z]{4,}\b)",
    re.IGNORECASE,
)


def _parted(text: str) -> tuple[str, str]:
    """The prose of a text, and what matters of all it quotes: the lines that name an error."""
    prose: list[str] = []
    quoted: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif fence or line.startswith(">") or _FRAME.match(line) or _LOGGED.match(line) or _is_code(line):
            quoted.append(line)
        else:
            prose.append(line)
    return "\n".join(prose).strip(), "\n".join(_errors(quoted))


_CODE = re.compile(
    r"[{};]\s*$|^\s*(?:def|class|func|fn|const|let|var|import|from|return|if|for|while|public|private)\b"
)
_INDENT = re.compile(r"^(?: {4}|\t)")


def _is_code(line: str) -> bool:
    """Whether a line without a fence is code: it is indented, or reads like it."""
    return bool((_INDENT.match(line) and _CODE.search(line)) or line.rstrip().endswith(("{", "};", ");")))


def _errors(lines: Iterable[str]) -> Iterator[str]:
    """The lines that name an error, each once; the last ones say most, as the frames lead up to them."""
    named = list(dict.fromkeys(line for each in lines if _ERROR.search(line := each.strip()[:_LINE])))
    kept, room = [], QUOTED
    for line in reversed(named):
        if len(line) > room:
            break
        kept.append(line)
        room -= len(line)
    yield from reversed(kept)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}\n{text[-most // 2 :]}"


_FILE = re.compile(r"(?<![\w/.@:])((?:\.{0,2}/)?(?:[\w@.-]+/)*[\w@-][\w@.-]*\.[A-Za-z][A-Za-z0-9]{0,5})(?![\w/])")
_MOST_FILES = 20


def _named_files(prompt: str) -> Iterator[str]:
    """Paths that a prompt mentions."""
    for count, found in enumerate(_FILE.finditer(prompt[: 4 * PROSE])):
        if count >= _MOST_FILES:
            return
        path = found[1].removeprefix("./")
        if "/" in path or path.rsplit(".", 1)[1] in _ENDINGS:
            yield path


_ENDINGS = frozenset(
    "py ts tsx js jsx mjs cjs go rs rb java kt kts swift c h cc cpp hpp cs php sql sh bash zsh toml yaml yml json md "
    "mdx html css scss vue svelte tf hcl proto graphql lock xml gradle ini cfg conf env ipynb ex exs erl hs scala clj "
    "lua r dart zig nix".split()
)
