"""What a session of a coding agent leaves worth keeping: findings in nine categories, by rules.

A user's turns speak through `stated`, the agent's messages through `told`, and what it did through `deeds`. Here they
become findings with files and tags, each once. Whatever Recollect injected is neither read nor found again where
somebody repeats it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from ..model import Finding, Kind
from .deeds import Deeds, FileChange, Said, Step
from .identity import canonical_text, fingerprint
from .marks import injected_words, own_words
from .prose import Passage, cut, passages, without_details
from .stated import statements
from .told import LONGEST, anchored, finding, minor, names_something, planned, proposes, subject, told

__all__ = ["LONGEST", "Said", "findings"]


def findings(turns: Sequence[Said], *, root: str = "") -> tuple[Finding, ...]:
    """What a session leaves worth keeping, in the order it came up, nothing twice.

    Files under `root`, the folder of the project, are told by their path from there. Without it the folder that all
    files of the session lie in is taken for it.
    """
    heard = [turn for turn in turns if not turn.injected]
    deeds = Deeds(heard, root)
    found: list[Finding] = []
    for turn in heard:
        said: Iterable[Finding] = ()
        if turn.role == "user":
            said = statements(own_words(turn.text))
        elif turn.role == "assistant":
            said = told(own_words(turn.text))
        found += (_placed(each, turn.position, deeds) for each in said)
    found += (*_answers(deeds), *_mended(deeds), *_file_changes(deeds), *_progress(heard, deeds))
    found.sort(key=lambda each: each.message or 0)
    return tuple(_once(_standing(found, heard), _known_before(turns)))


# --- What the agent did ----------------------------------------------------------------------------------------------

_ABOUT_WORK = re.compile(
    r"\b(?:proceed|continue|ready|commit|push|next|start|approve|happy|look good|merge|stop)\b", re.IGNORECASE
)


def _answers(deeds: Deeds) -> Iterator[Finding]:
    """What the user chose when the agent asked."""
    for position, question, answer in deeds.answers:
        if not _ABOUT_WORK.search(question):
            yield _placed(finding(Kind.DECISION, f"{question} {answer}", 0.9), position, deeds)


def _mended(deeds: Deeds) -> Iterator[Finding]:
    """Commands that fail here, and what to do instead."""
    for each in deeds.mended:
        how = f"`{each.remedy}` works" if each.instead else f"run `{each.remedy}` first"
        content = f"`{each.command}` fails with “{each.error}”; {how}."
        yield _placed(finding(Kind.ERROR, content, 0.8, resolves=True), each.position, deeds)


_MOST_NAMES = 6
_MOST_FOLDERS = 6
_OF_A_TEST = re.compile(r"(?:^|[/_.-])(?:tests?|specs?)(?:[/_.-])", re.IGNORECASE)


def _file_changes(deeds: Deeds) -> Iterator[Finding]:
    """One finding for each folder in which files were changed, those with the most edits."""
    folders: dict[str, list[FileChange]] = {}
    for change in deeds.changes:
        folders.setdefault(change.path.rpartition("/")[0], []).append(change)
    busiest = sorted(folders.items(), key=lambda each: -sum(change.edits for change in each[1]))
    for folder, changes in busiest[:_MOST_FOLDERS]:
        if what := {change: words for change in changes if (words := _changed(change))}:
            files = tuple(change.path for change in what)[:_MOST_FILES]
            content = cut(_changes_in(folder, what), LONGEST)
            position = min(change.position for change in what)
            made = Finding(content=content, kind=Kind.FILE_CHANGE, confidence=0.9, files=files, message=position)
            yield replace(made, tags=_tags(content, files))


def _changes_in(folder: str, what: dict[FileChange, str]) -> str:
    if len(what) == 1:
        ((change, words),) = what.items()
        return f"{_BECAME[_state(change)]} `{change.path}`: {words}."
    place = f"`{folder}/`" if folder else "the top folder"
    parts = (f"`{change.path.rpartition('/')[2]}`{_AMONG[_state(change)]}: {words}" for change, words in what.items())
    return f"Changes in {place} — {'; '.join(parts)}."


_BECAME = {"made": "Created", "rewritten": "Rewrote", "edited": "Changed"}
_AMONG = {"made": " (new)", "rewritten": " (rewritten)", "edited": ""}


def _state(change: FileChange) -> Literal["made", "rewritten", "edited"]:
    return "made" if change.made else "rewritten" if change.rewritten and not change.aim else "edited"


def _changed(change: FileChange) -> str:
    """What became of a file, in words; "" where nothing tells."""
    if change.rewritten and change.aim:
        return change.aim
    parts = []
    if change.added:
        parts.append(("added " if _state(change) == "edited" else "defines ") + _listed(change.added))
    if change.removed:
        parts.append("removed " + _listed(change.removed))
    if change.tests > 1 or (change.tests and change.made):
        parts.append(f"{change.tests} tests" if change.tests > 1 else "a test")
    return ", ".join(parts) or ("" if _OF_A_TEST.search(change.path) else change.aim)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"


# --- Where the work stands -------------------------------------------------------------------------------------------

_LONGEST_ITEM = 140
_MOST_ITEMS = 8
_AROUND_ITEMS = 10
_FEW = 4
"""One item in so many names something, at least."""
_LACKING = re.compile(
    r"\bthe (?:[a-z-]+ )?(?:`[^`]{1,60}` )?(?:function|method|class|file|table|block|signature|statement|loop|parameter"
    r"|argument|variable|component|button|modal|form|page|query|dictionary|assignments?|headers|cells)\b(?! `)(?! in )"
)
"""What is a piece of something that is not named."""
_ROUTINE = re.compile(
    r"(?:run|re-?run|execute|verify|check|test|lint|format|review|examine|read|explore|investigate|understand|look"
    r"|analy[sz]e|commit|push|find|search|identify|debug|plan|confirm|ensure|make sure|validate|clean|summar|research"
    r"|study|gather|all )",
    re.IGNORECASE,
)
_WRAPPED_UP = re.compile(
    r"(?:(?:we|i)(?:'ve| have)? (?:also |successfully )?)?(?=(?:added|created|updated|fixed|removed|renamed|merged"
    r"|extracted|replaced|implemented|moved|refactored|rewrote|rewritten|simplified|changed|deleted|exposed|introduced"
    r"|extended|split|upgraded|migrated|integrated|switched|built|wired|converted|configured|documented|modified"
    r"|consolidated|applied|enabled|disabled|made|wrote|set up|dropped|restored|deployed|published|released|bumped"
    r"|installed|registered)\b)",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:better|improved?|improving|readab\w+|consisten\w+|comprehensive|detailed|clean\w*|maintainab\w+|ux|experience"
    r"|proper(?:ly)?|various|necessary|all (?:the )?(?:issues|errors|tests)|complete|robust|specific|helpful"
    r"|failing)\b",
    re.IGNORECASE,
)
_BOOKKEEPING = re.compile(
    r"\b(?:TODO|CHANGELOG|README|LOG|PROGRESS)\b|^[Uu]pdated to\b|\b(?:the|this) file$|\b[Ss]ections?\b|\b[Ii]mports?\b"
    r"|\byour\b|\b(?:documentation|release notes)\b"
    r"|^(?:[Uu]pdated|[Mm]odified|[Cc]hanged|[Cc]reated|[Aa]dded) "
    r"(?:`[^`]{1,80}`(?: \([^)]{1,40}\))?(?:,? and |, |…)?)+$"
)
_REMAINING = re.compile(
    r"(?:what(?:'s| is) )?(?:remaining|still|left|outstanding|not (?:yet )?(?:done|implemented)|to ?do|follow-?ups?"
    r"|open (?:items|work|tasks)|next steps?)(?: (?:work|items?|tasks?|steps?|open|to do|issues?))?$"
)


def _progress(heard: Sequence[Said], deeds: Deeds) -> Iterator[Finding]:
    """Where each request stood when the agent was through with it: what it did, and at the end what was left."""
    requests = _requests(heard)
    for begin, end, last in requests:
        plan = next((steps for position, steps in reversed(deeds.plans) if begin <= position < end), ())
        text = own_words(last.text) if last else ""
        done = _done(text) or _telling(step.text for step in plan if step.done and not _ROUTINE.match(step.text))
        left = _left(text, plan) if end == requests[-1][1] else []
        if done or left:
            content = f"Done: {'; '.join(done)}." if done else ""
            content += f" Remaining: {'; '.join(left)}." if left else ""
            yield _placed(finding(Kind.TASK_PROGRESS, content, 0.8), last.position if last else begin, deeds)


def _requests(heard: Sequence[Said]) -> list[tuple[int, int, Said | None]]:
    """For each request where it begins, where the next one does, and the message the agent ended it with, if any."""
    found: list[tuple[int, int, Said | None]] = []
    begin, last = 0, None
    for turn in heard:
        if turn.role == "user" and turn.text.strip():
            found.append((begin, turn.position, last))
            begin, last = turn.position, None
        elif turn.role == "assistant" and turn.text.strip():
            last = turn
        elif turn.role == "tool_call":
            last = None
    return [*found, (begin, heard[-1].position + 1 if heard else 0, last)]


def _done(text: str) -> list[str]:
    """The items of a closing message that tell what was done, without their details, each under what it is about."""
    groups: dict[str, list[str]] = {}
    for each in passages(text):
        if not _tells_deed(each):
            continue
        about = subject(each)
        if _BOOKKEEPING.search(about):
            if each.parent:
                continue
            about = ""
        item = without_details(_WRAPPED_UP.sub("", each.text, count=1))
        wanting = not about and (_LACKING.search(item) or each.parent) and not anchored(item)
        if not wanting and not _says_little(item):
            groups.setdefault(about, []).append(item)
    items = [(about, item) for about, listed in groups.items() for item in listed if len(item.split()) >= 3]
    named = sum(anchored(f"{about} {item}") for about, item in items)
    if len(items) < 2 or _FEW * named < len(items):
        return []
    counts = range(min(len(items), _MOST_ITEMS), 0, -1)
    shown = (_grouped(items[:count]) for count in counts)
    return next((each for each in shown if sum(len(item) + 2 for item in each) <= LONGEST - _AROUND_ITEMS), [])


def _tells_deed(passage: Passage) -> bool:
    """Whether an item tells of something that was done, and is none of the details of another that does."""
    if not passage.item or passage.text.endswith(":") or not _WRAPPED_UP.match(passage.text):
        return False
    detail = _WRAPPED_UP.match(passage.parent) and not passage.parent.endswith(":")
    return not detail and not proposes(passage.heading) and not planned(passage)


def _grouped(items: Iterable[tuple[str, str]]) -> list[str]:
    """What was done, in order; items about one thing are put together after it."""
    groups: dict[str, list[str]] = {}
    for about, item in items:
        groups.setdefault(about, []).append(cut(item, _LONGEST_ITEM))
    told = []
    for about, listed in groups.items():
        if about:
            told.append(f"{about} ({'; '.join(each[:1].lower() + each[1:] for each in listed)})")
        else:
            told += (each[:1].upper() + each[1:] for each in listed)
    return told


def _telling(items: Iterable[str]) -> list[str]:
    """Those of the items that say something; none where there are too few, or none of them names anything."""
    telling = [each[:1].upper() + each[1:] for each in items if len(each.split()) >= 3 and not _says_little(each)]
    if len(telling) < 2 or not any(map(names_something, telling)):
        return []
    return [cut(each, _LONGEST_ITEM) for each in telling[:_MOST_ITEMS]]


def _says_little(item: str) -> bool:
    return bool(_VAGUE.search(item) or _BOOKKEEPING.search(item)) or minor(item)


def _left(text: str, plan: Iterable[Step]) -> list[str]:
    """What is left to do, by the agent's plan and by its closing message."""
    planned = [step.text for step in plan if not step.done and not _ROUTINE.match(step.text)]
    listed = [each for each in passages(text) if each.item and _REMAINING.match(each.heading.lower())]
    return [*_telling(planned), *_telling(each.text.rstrip(" .:") for each in listed)][:6]


# --- What was taken back ---------------------------------------------------------------------------------------------

_TAKES_BACK = re.compile(
    r"(?:^|[.!?\n]\s{0,4})(?:(?:no|ok|okay|actually|wait|sorry|please|can you|could you|let's|then|now)[,. ]+){0,3}"
    r"(?:/(?:undo|revert|rewind)\b|never ?mind\b|scratch that|forget (?:that|it|about (?:that|it))\b"
    r"|(?:undo|revert|roll ?back|take back|back out)\b(?:[.!]?\s*$| (?:that|this|it|those|these|everything)\b"
    r"|(?: all| to)?(?: of)?(?: the| your| my)?(?: (?:last|previous|latest|original|old))?"
    r" (?:changes?|commits?|edits?|steps?|one|thing|versions?|fix|updates?|attempt)\b))",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"\s*/[a-z][\w:-]*\s*$")
_STAYS_WITH = re.compile(
    r"\b(?:keep using|continue (?:using|with)|stick (?:with|to)|stay with|(?:go|going|switch|change) back to|use|using)"
    r"\s+(?:the\s+|a\s+)?([\w.-]{2,40})",
    re.IGNORECASE,
)
_CONTRASTED = re.compile(r"(.{2,160}?)\b(?:instead of|rather than|in favou?r of)\s+([^,;.(]{2,80})", re.IGNORECASE)
_CONTENT_WORD = re.compile(r"[a-z_][a-z0-9_]{2,}")
_NO_CONTENT = frozenset(
    "the and for with use used using let all any new own now its our your this that from into when doing being "
    "updated changed moved switched replaced made method function file more just self".split()
)
_ONE_TURN = 500
"""Characters of a turn that takes something back; what is longer was written for something else."""


def _standing(found: Sequence[Finding], heard: Sequence[Said]) -> list[Finding]:
    """The findings that were not taken back later: by an undo, in so many words, or by the opposite choice."""
    gone = _undone(heard)
    kept = [each for each in found if not any(begin <= (each.message or 0) < end for begin, end in gone)]
    asked = [(turn.position, own_words(turn.text)) for turn in heard if turn.role == "user"]
    return [each for each in kept if not _overruled(each, kept, asked)]


def _undone(heard: Sequence[Said]) -> list[tuple[int, int]]:
    """From where to where the session was taken back, request by request; each undo takes back one that still stood."""
    requests: list[int] = []
    gone = []
    for turn in heard:
        if turn.role != "user" or not turn.text.strip():
            continue
        words = own_words(turn.text)[:_ONE_TURN]
        if len(turn.text) <= _ONE_TURN and _TAKES_BACK.search(words):
            if requests:
                gone.append((requests.pop(), turn.position))
        elif not _COMMAND.match(words):
            requests.append(turn.position)
    return gone


def _overruled(one: Finding, found: Iterable[Finding], asked: Iterable[tuple[int, str]]) -> bool:
    """Whether what a finding was chosen against was chosen later, by a finding or by the user."""
    contrast = _CONTRASTED.match(one.content)
    if contrast is None or (one.kind is not Kind.DECISION and not one.stated):
        return False
    at, (chosen, against) = one.message or 0, map(_words, contrast.groups())
    for position, text in asked:
        if position > at and any(against & _words(name) for name in _STAYS_WITH.findall(text[: _ONE_TURN * 8])):
            return True
    later = (each for each in found if each.kind is Kind.DECISION and (each.message or 0) > at)
    others = (other for each in later if (other := _CONTRASTED.match(each.content)))
    return any(against & _words(other[1]) and chosen & _words(other[2]) for other in others)


def _words(text: str) -> set[str]:
    return set(_CONTENT_WORD.findall(text.lower())) - _NO_CONTENT


# --- Files and tags --------------------------------------------------------------------------------------------------

_MOST_FILES = 12
_MOST_TAGS = 5
_FILE_NAME = re.compile(r"(?<![\w/.@-])(?:[\w@.-]{1,80}/){0,12}[\w@-][\w.@-]{0,80}\.[A-Za-z]{1,6}(?![\w/-])")
_WORD = re.compile(r"[a-z][a-z0-9]+")
_TOOLS = frozenset(
    "pytest unittest jest vitest mocha playwright cypress mypy pyright ruff eslint prettier black biome tsc webpack "
    "vite docker kubernetes terraform ansible git github gitlab npm pnpm yarn uv pip poetry cargo gradle maven cmake "
    "postgres postgresql sqlite mysql redis mongodb kafka graphql grpc react vue svelte angular nextjs django flask "
    "fastapi rails laravel phoenix liveview express tailwind css html jinja2 markdown json yaml toml oauth jwt cors "
    "websocket asyncio pydantic sqlalchemy prisma alembic celery nginx aws gcp azure s3 linux macos windows python "
    "javascript typescript rust java kotlin swift ruby elixir php dialyzer credo openai anthropic".split()
)
_LANGUAGES = dict(
    pair.split(":")
    for pair in "py:python pyi:python js:javascript jsx:javascript ts:typescript tsx:typescript rs:rust go:go rb:ruby "
    "ex:elixir exs:elixir java:java kt:kotlin swift:swift css:css scss:css html:html md:docs sql:sql sh:shell "
    "tf:terraform yml:yaml yaml:yaml toml:toml php:php cs:csharp cpp:cpp c:c vue:vue svelte:svelte".split()
)


def _placed(found: Finding, position: int, deeds: Deeds) -> Finding:
    """A finding with the message it is from, and the files and tags that its words bring up."""
    content = found.content.replace(f"{deeds.root}/", "") if deeds.root else found.content
    names = [name[0] for name in _FILE_NAME.finditer(content)]
    paths = (deeds.told(name) if "/" in name else deeds.files.get(name, "") for name in names)
    files = tuple(dict.fromkeys(path for path in paths if path))[:_MOST_FILES]
    return replace(found, content=content, message=position, files=files, tags=_tags(content, files))


def _tags(content: str, files: Iterable[str]) -> tuple[str, ...]:
    endings = (path.rpartition(".")[2].lower() for path in files)
    languages = (_LANGUAGES[ending] for ending in endings if ending in _LANGUAGES)
    tools = (word for word in _WORD.findall(content.lower()) if word in _TOOLS)
    return tuple(dict.fromkeys((*tools, *languages)))[:_MOST_TAGS]


# --- Each once -------------------------------------------------------------------------------------------------------

_LATELY = 40
_CODE = re.compile(r"`[^`]{1,200}`")
_MEMORY_TOOL = re.compile(r"recollect|memory_(?:query|search|context|recall)", re.IGNORECASE)


def _known_before(turns: Iterable[Said]) -> str:
    """What Recollect put into a session, by itself or when it was asked."""
    texts = []
    for turn in turns:
        answered = turn.role == "tool_result" and _MEMORY_TOOL.search(turn.name)
        texts.append(turn.text if turn.injected or answered else injected_words(turn.text))
    return canonical_text("\n".join(text for text in texts if text.strip()))


def _once(found: Iterable[Finding], known_before: str) -> Iterator[Finding]:
    """Each finding the first time it turns up, unless it was known before."""
    prints: set[str] = set()
    lately: dict[Kind, list[Finding]] = {}
    for each in found:
        said = fingerprint(each.content)
        of_kind = lately.setdefault(each.kind, [])
        repeats = said in prints or canonical_text(each.content).rstrip(".") in known_before
        if not repeats and not any(_alike(each, other) for other in of_kind[-_LATELY:]):
            prints.add(said)
            of_kind.append(each)
            yield each


def _alike(one: Finding, other: Finding) -> bool:
    """Whether two findings say much the same of the same things. What a user states is taken by the letter."""
    if one.stated or other.stated or set(_CODE.findall(one.content)) != set(_CODE.findall(other.content)):
        return False
    words, others = (set(_WORD.findall(each.content.lower())) for each in (one, other))
    same = len(words & others)
    return same >= 0.8 * min(len(words), len(others)) and same >= 0.6 * max(len(words), len(others))
