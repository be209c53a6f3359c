"""What a session of a coding agent leaves worth keeping: findings in nine categories, by rules.

A user's turns speak through `stated`, the agent's messages through `told`, and what it did through `deeds`. Here they
become findings with files and tags, each once. Whatever Recollect injected is neither read nor found again where
somebody repeats it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..model import Finding, Kind
from .deeds import Deeds, FileChange, Said, Step
from .identity import canonical_text, fingerprint
from .marks import injected_words, own_words
from .prose import cut, passages, without_details
from .stated import statements
from .told import LONGEST, finding, minor, names_something, proposes, told

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
    return tuple(_once(found, _known_before(turns)))


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
        return f"{'Created' if change.made else 'Changed'} `{change.path}`: {words}."
    place = f"`{folder}/`" if folder else "the top folder"
    parts = (
        f"`{change.path.rpartition('/')[2]}`{' (new)' if change.made else ''}: {words}"
        for change, words in what.items()
    )
    return f"Changes in {place} — {'; '.join(parts)}."


def _changed(change: FileChange) -> str:
    """What became of a file, in words; "" where nothing tells."""
    parts = []
    if change.added:
        parts.append(("defines " if change.made else "added ") + _listed(change.added))
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
    """The items of a closing message that tell what was done, without their details."""
    items = [
        each for each in passages(text) if each.item and not each.text.endswith(":") and not proposes(each.heading)
    ]
    items = [each for each in items if _WRAPPED_UP.match(each.text)]
    top = min((each.depth for each in items), default=0)
    return _telling(without_details(_WRAPPED_UP.sub("", each.text, count=1)) for each in items if each.depth == top)


def _telling(items: Iterable[str]) -> list[str]:
    """Those of the items that say something; none where there are too few, or none of them names anything."""
    telling = [each[:1].upper() + each[1:] for each in items if len(each.split()) >= 3 and not _says_little(each)][:8]
    if len(telling) < 2 or not any(map(names_something, telling)):
        return []
    return [cut(each, _LONGEST_ITEM) for each in telling]


def _says_little(item: str) -> bool:
    return bool(_VAGUE.search(item) or _BOOKKEEPING.search(item)) or minor(item)


def _left(text: str, plan: Iterable[Step]) -> list[str]:
    """What is left to do, by the agent's plan and by its closing message."""
    planned = [step.text for step in plan if not step.done and not _ROUTINE.match(step.text)]
    listed = [each for each in passages(text) if each.item and _REMAINING.match(each.heading.lower())]
    return [*_telling(planned), *_telling(each.text.rstrip(" .:") for each in listed)][:6]


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
