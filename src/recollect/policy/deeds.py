"""What an agent did in a session, read from its tool calls: files it changed, its plan, commands that failed at first.

Calls are known by the shape of their input rather than by the name of the tool, so the tools of Claude Code, Codex,
Gemini CLI, OpenCode and their relatives read alike. Files that were only in passing (in a temporary folder, outside the
project, removed again) are left out.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

from ..model import Json

_MOST = 20_000
"""Characters of an edit, a command or a result that are looked at."""
_OPEN_CALLS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One record of a session's transcript, whichever agent wrote it."""

    role: Literal["user", "assistant", "tool_call", "tool_result"]
    text: str = ""
    name: str = ""
    """Of the tool."""
    input: Json = None
    """What the tool was called with."""
    injected: bool = False
    """Put there by Recollect or by the host, and said by nobody."""
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call, what the agent said right before it, and what came back."""

    position: int
    name: str
    input: Json
    lead: str
    result: str = ""
    failed: bool = False
    answered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What became of one file over a session."""

    path: str
    """From the folder of the project, where it lies in there."""
    position: int
    """Where it was first changed or last written as a whole, or where that was said which alone tells of it."""
    edits: int
    made: bool
    rewritten: bool = False
    """It was there and was written anew as a whole, and nothing tells what had been in it."""
    added: tuple[str, ...] = ()
    """Names that are defined in it now and were not before; all of them where it was made or rewritten."""
    removed: tuple[str, ...] = ()
    tests: int = 0
    """How many tests were added."""
    aim: str = ""
    """What the agent said it was about to do to it, as an imperative."""


class Step(NamedTuple):
    """An item of the agent's own plan."""

    text: str
    done: bool


class Mended(NamedTuple):
    """A command that failed for want of something around it, and what made it work."""

    position: int
    command: str
    error: str
    remedy: str
    instead: bool
    """The remedy was run in its place; otherwise before it was run again."""


class Deeds:
    """What the agent did, from the turns that were said by somebody."""

    def __init__(self, turns: Sequence[Said], root: str = "") -> None:
        self.calls = tuple(_calls(turns))
        self._given = root.replace("\\", "/").rstrip("/")

    @cached_property
    def root(self) -> str:
        """The folder of the project, "" if nothing tells."""
        return self._given or _common_folder(path for call in self.calls for path in _paths_of(call))

    @cached_property
    def files(self) -> dict[str, str]:
        """The files that the agent looked at or changed, by their names; those of one name are left out."""
        known: dict[str, str] = {}
        for call in self.calls:
            for path in _paths_of(call):
                told = self.told(path)
                if told and known.setdefault(_base(told), told) != told:
                    known[_base(told)] = ""
        return {name: path for name, path in known.items() if path}

    def told(self, path: str) -> str:
        """A path as it is told: from the folder of the project; "" for one outside it."""
        path = path.replace("\\", "/").removeprefix("./").rstrip("/")
        if self.root and path.startswith(self.root + "/"):
            path = path[len(self.root) + 1 :]
        outside = path.startswith(("/", "~", "../")) or path[1:2] == ":"
        return "" if outside or not path or len(path) > 200 or not path.isprintable() else path

    @cached_property
    def changes(self) -> tuple[FileChange, ...]:
        """The files that were changed and stayed, in the order they were first touched."""
        kept: dict[str, _Changed] = {}
        seen: dict[str, _Seen] = {}
        moved: list[str] = []
        for call in self.calls:
            edits = [(path, edit) for edit in _edits(call) if (path := self.told(edit.path))]
            if call.failed or (edits and _REFUSED.search(_first_line(call.result))):
                continue
            for path, edit in edits:
                before = seen.get(path)
                there = before or _WAS_THERE.search(call.result[:400]) or _came_along(path, moved, call.result)
                kept.setdefault(path, _Changed(path, call.position, edit.made and not there, before))
                kept[path].take(edit, call)
            if not edits and (read := self.told(_text(call.input, *_PATH_FIELDS))):
                seen[read] = _read(call, read, seen.get(read))
            for source, place in _moved_files(call):
                moved.append(f"{self.told(place)}/")
                kept = _renamed(kept, self.told(source), self.told(place))
            for gone in _removed_files(call):
                kept = {path: each for path, each in kept.items() if not _same_file(path, gone)}
        return tuple(each.told() for each in kept.values() if not _PASSING.search(each.path))

    @cached_property
    def plans(self) -> tuple[tuple[int, tuple[Step, ...]], ...]:
        """Each state of the agent's plan that it wrote down, with its position."""
        return tuple(_plans(self.calls))

    @cached_property
    def answers(self) -> tuple[tuple[int, str, str], ...]:
        """Questions that the agent put to the user through a tool, with the answers."""
        return tuple(
            (call.position, question, answer)
            for call in self.calls
            if "question" in call.name.lower() and not call.failed
            for question, answer in _ANSWERED.findall(call.result[:_MOST])
        )

    @cached_property
    def mended(self) -> tuple[Mended, ...]:
        """Commands that failed for want of something around them, and then worked."""
        return tuple(_mended([(call, command) for call in self.calls if (command := _command(call))]))


# --- Calls and their results -----------------------------------------------------------------------------------------

_FAILED = re.compile(
    r"\s*(?:<tool_use_error>|error[:\s]|exit code:? [1-9]|(?:process )?exited with code [1-9]|traceback|\[request inter"
    r"|the user doesn't want|string to replace not found|file has not been read|permission to use|bash: |sh: |zsh: "
    r"|fatal: |npm err|file (?:not found|does not exist)|(?:could|can) ?not (?:read|open|find) )",
    re.IGNORECASE,
)
_EXIT_CODE = re.compile(r"(?:exit[ _]code\"?:?|exited with code|exit status) *[1-9]", re.IGNORECASE)
_ANSWERED = re.compile(r'"([^"\n]{8,300})" ?= ?"([^"\n]{1,300})"')


def _calls(turns: Sequence[Said]) -> Iterator[Call]:
    """Every call with its result, in the order of the calls. A result belongs to the first open call of its tool."""
    made: list[Call] = []
    waiting: deque[int] = deque(maxlen=_OPEN_CALLS)
    lead = ""
    for turn in turns:
        if turn.role == "tool_call":
            waiting.append(len(made))
            made.append(Call(position=turn.position, name=turn.name, input=turn.input, lead=lead))
        elif turn.role == "tool_result":
            lead = ""
            at = next((at for at in waiting if not turn.name or made[at].name == turn.name), None)
            if at is not None:
                waiting.remove(at)
                made[at] = _answered(made[at], turn.text)
        else:
            lead = turn.text[-_MOST:] if turn.role == "assistant" and turn.text.strip() else lead
    yield from made


def _answered(call: Call, result: str) -> Call:
    head, tail = result[:_MOST], result[-400:]
    failed = bool(_FAILED.match(head) or _EXIT_CODE.search(head[:400]) or _EXIT_CODE.search(tail))
    return replace(call, result=result, failed=failed, answered=True)


def _text(call_input: Json, *names: str) -> str:
    """The first of the fields that holds text; "" if none does."""
    if isinstance(call_input, Mapping):
        for name in names:
            held = call_input.get(name)
            if isinstance(held, str) and held:
                return held
    return ""


_PATH_FIELDS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file")


def _paths_of(call: Call) -> Iterator[str]:
    path = _text(call.input, *_PATH_FIELDS)
    if path and len(path) < 400 and "." in _base(path) and not _ELSEWHERE.search(path):
        yield path
    for edit in _patched(call):
        yield edit.path


_ELSEWHERE = re.compile(r"^(?:/private)?/(?:tmp|var)/|/memories/|/\.(?:claude|codex|gemini)/|^[a-z]:.*\\temp\\", re.I)


def _base(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


_INNER = frozenset("src lib test tests spec app docs scripts internal pkg cmd bin".split())


def _common_folder(paths: Iterable[str]) -> str:
    """The folder that all of the absolute paths lie in; one that is part of a project is left for the one above it."""
    common: list[str] | None = None
    for path in paths:
        folders = path.replace("\\", "/").split("/")[:-1]
        if path.startswith("/") or path[1:2] == ":":
            common = folders if common is None else _shared(common, folders)
    while common and common[-1] in _INNER:
        common.pop()
    return "/".join(common) if common and len(common) > 2 else ""


def _shared(one: list[str], other: list[str]) -> list[str]:
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return one[:same]


# --- Edits -----------------------------------------------------------------------------------------------------------


class _Edit(NamedTuple):
    path: str
    before: str
    after: str
    made: bool


_BEFORE = ("old_string", "oldString", "old_str", "oldText", "old_text")
_AFTER = ("new_string", "newString", "new_str", "newText", "new_text")
_WHOLE = ("content", "file_text", "new_source", "contents")


def _edits(call: Call) -> Iterator[_Edit]:
    """What a call changes: one edit or several of a file, a whole file, or a patch."""
    path = _text(call.input, *_PATH_FIELDS)
    if path and "memory" not in call.name.lower():
        several = call.input.get("edits") if isinstance(call.input, Mapping) else None
        for edit in several if isinstance(several, list) else [call.input]:
            before, after = _text(edit, *_BEFORE), _text(edit, *_AFTER)
            if before or after:
                yield _Edit(path, before[:_MOST], after[:_MOST], made=False)
        if whole := _text(call.input, *_WHOLE):
            yield _Edit(path, "", whole[: 4 * _MOST], made=True)
    yield from _patched(call)


_PATCH = re.compile(r"^\*\*\* (Add|Update|Delete|Move to)(?: File)?: (.{1,300}?)\s*$")


def _patched(call: Call) -> Iterator[_Edit]:
    """The edits of a patch in the form that Codex and OpenCode write."""
    text = call.input if isinstance(call.input, str) else _text(call.input, "input", "patch", "patchText", "command")
    text = (text or _shell_text(call.input))[: 4 * _MOST]
    if "*** Begin Patch" not in text:
        return
    text = text if "\n*** " in text else text.replace("\\n", "\n")  # within a string of a program
    path, made = "", False
    before: list[str] = []
    after: list[str] = []
    for line in [*text.split("\n"), "*** Update File: -"]:
        if found := _PATCH.match(line):
            if path and (before or after):
                yield _Edit(path, "\n".join(before), "\n".join(after), made)
            path, made = ("" if found[1] == "Delete" else found[2]), found[1] == "Add"
            before, after = [], []
        elif line.startswith("+"):
            after.append(line[1:])
        elif line.startswith("-"):
            before.append(line[1:])


_REMOVE = re.compile(
    r"(?:^|[;&|]\s{0,4})(?:rm|git rm|del|unlink|git restore(?! --staged)|git checkout(?: \S{1,60})? --)"
    r"\s+([^;&|\n]{1,400})"
)
_MOVE = re.compile(r"(?:^|[;&|]\s{0,4})(?:git mv|mv|move|ren)\s+([^;&|\n]{1,400})")


def _removed_files(call: Call) -> Iterator[str]:
    """Files that a command removes, or puts back to what they were."""
    for found in _REMOVE.finditer(_command(call)):
        yield from (word.strip("'\"") for word in found[1].split() if not word.startswith("-"))


def _moved_files(call: Call) -> Iterator[tuple[str, str]]:
    """The files and folders that a command moves, and where they lie then."""
    for found in _MOVE.finditer(_command(call)):
        words = [word.strip("'\"") for word in found[1].split() if not word.startswith("-")]
        sources, target = words[:-1], words[-1] if words else ""
        into = len(sources) > 1 or ("." in _base("".join(sources)) and "." not in _base(target))
        for source in sources:
            yield source, f"{target.rstrip('/')}/{_base(source)}" if into or target.endswith("/") else target


def _came_along(path: str, moved: Iterable[str], result: str) -> bool:
    """Whether a file lay in what was moved, and a tool does not say that it is new."""
    return f"{path}/".startswith(tuple(moved)) and not _IS_NEW.search(result[:200])


def _renamed(kept: dict[str, _Changed], source: str, place: str) -> dict[str, _Changed]:
    """The changed files by their paths after one of them, or the folder of some, was moved."""
    if not source or not place:
        return kept
    for each in kept.values():
        if f"{each.path}/".startswith(f"{source}/"):
            each.path = place + each.path[len(source) :]
    return {each.path: each for each in kept.values()}


def _first_line(result: str) -> str:
    """Where a tool says what it did; what follows may be the file."""
    return result[:400].lstrip().partition("\n")[0]


def _same_file(path: str, gone: str) -> bool:
    gone = gone.removeprefix("./")
    return path == gone or path.endswith("/" + gone) or (gone.endswith("/" + path) and gone.startswith("/"))


_REFUSED = re.compile(
    r"fail(?:ed|ure)? to (?:edit|apply|write|replace|find)|\b(?:0|no) (?:occurrences|matches|replacements|changes)\b"
    r"|\bnot found in\b|string not found|(?:could|did) not (?:find|apply|match)|hunk .{1,40} failed|^\s*\{\"error\""
    r"|no such file|rejected by|cancell?ed by|aborted",
    re.IGNORECASE,
)
"""How a tool says that it did not change a file."""
_WAS_THERE = re.compile(r"has been (?:updated|modified|overwritten)|overwrote|updated successfully", re.IGNORECASE)
_IS_NEW = re.compile(r"\b(?:created|new file)\b", re.IGNORECASE)
_LINE_NUMBER = re.compile(r"^ {0,8}\d{1,6}(?:→|\t|\|)", re.MULTILINE)
_PASSING = re.compile(
    r"(?:^|/)(?:tmp|temp|scratch|\.git|node_modules|dist|build|__pycache__)/|(?:^|/)(?:tmp|temp|debug|scratch)[_.-]"
    r"|\.(?:log|lock|tmp|bak|out|jsonl)$|(?:^|/)\.[a-z]+/plans/"
)

_MODIFIERS = (
    "export default pub public private protected internal static async abstract final override sealed open suspend "
    "inline unsafe declare partial virtual data"
)
_DEFINED = re.compile(
    rf"^([ \t]{{0,8}})(?:(?:{'|'.join(_MODIFIERS.split())}|pub\(\w{{1,20}}\))[ \t]+){{0,5}}"
    r"(?:(const|let|type)|def|defp|defmacro|defmodule|class|function\*?|fn|func|func \([^)\n]{1,60}\)|fun|interface"
    r"|struct|enum|trait|protocol|module|record|namespace|CREATE TABLE|CREATE TABLE IF NOT EXISTS)"
    r"[ \t]+([A-Za-z_$][\w$.]{1,60}[?!]?)(?=[\s(<:={\[;,]|$)",
    re.MULTILINE,
)
_CODE = frozenset(
    "py pyi js jsx ts tsx mjs cjs rb rs go java kt kts scala swift c h cc cpp hpp cs php ex exs erl clj lua dart vue "
    "svelte sql sh bash ps1 zig nim jl r".split()
)
_TITLED = re.compile(r"^#{1,4} {1,3}(\S.{2,60}?)\s*#*$", re.MULTILINE)
_COMMON_TITLE = re.compile(
    r"(?:added|changed|fixed|removed|technical|deprecated|security|unreleased|\[|v?\d)", re.IGNORECASE
)
_FENCED = re.compile(r"^```[^\n]*\n(?:(?!```)[^\n]*\n){0,200}```", re.MULTILINE)
_SELECTED = re.compile(r"^[ \t]{0,8}([.#][a-zA-Z][\w-]{2,40})[^{;\n]{0,80}\{", re.MULTILINE)
_TESTED = re.compile(
    r"^[ \t]{0,12}(?:(?:async )?def test_\w+|func Test\w+|(?:it|test)\(?[ (][\"'`]|#\[test\])", re.MULTILINE
)
_OF_A_TEST = re.compile(r"test_|Test|setUp|tearDown|__\w+__$|_$|main$")


def _names(path: str, text: str) -> tuple[str, ...]:
    """What a piece of a file defines: functions and types of code, headings of a document, selectors of a sheet."""
    ending = path.rpartition(".")[2].lower()
    if ending in {"md", "mdx"}:
        titles = (title.replace("`", "") for title in _TITLED.findall(_FENCED.sub("", text)))
        return tuple(dict.fromkeys(title for title in titles if not _COMMON_TITLE.match(title)))
    if ending in {"css", "scss", "less"}:
        return tuple(dict.fromkeys(_SELECTED.findall(text)))
    if ending not in _CODE:
        return ()
    found = (each for each in _DEFINED.finditer(text) if not (each[2] and each[1]))
    return tuple(dict.fromkeys(each[3] for each in found if not _OF_A_TEST.match(each[3])))


class _Seen(NamedTuple):
    """What a file was seen to define before it was changed."""

    names: tuple[str, ...]
    tests: int
    whole: bool
    """All of it was seen."""


_PIECE = frozenset("offset limit start_line end_line startLine endLine view_range line_range".split())


def _read(call: Call, path: str, before: _Seen | None) -> _Seen:
    """What is known of a file once a call has shown it, or a piece of it."""
    text = _LINE_NUMBER.sub("", call.result[: 4 * _MOST])
    piece = isinstance(call.input, Mapping) and not _PIECE.isdisjoint(call.input)
    whole = not piece and len(call.result) <= 4 * _MOST and bool(text.strip())
    names = dict.fromkeys((*(before.names if before else ()), *_names(path, text)))
    return _Seen(tuple(names), len(_TESTED.findall(text)), whole or (before is not None and before.whole))


@dataclass(slots=True)
class _Changed:
    """A file while its edits are gathered."""

    path: str
    position: int
    made: bool
    seen: _Seen | None
    edits: int = 0
    rewritten: bool = False
    original: dict[str, None] = field(default_factory=dict)
    """Names that an edit found there."""
    present: dict[str, None] = field(default_factory=dict)
    """Names that an edit left there."""
    tests: int = 0
    aims: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    """What was said before each edit that was not put back."""

    def take(self, edit: _Edit, call: Call) -> None:
        self.edits += 1
        if edit.made:
            self.position = call.position
            self._overwrite(edit.after)
        else:
            self._edit(edit)
        if self.aims.pop((edit.after, edit.before), None) is None:
            new = edit.made and self.made
            self.aims[edit.before, edit.after] = _aim(call.lead, _base(self.path), new=new), call.position

    def _edit(self, edit: _Edit) -> None:
        for name in _names(self.path, edit.before):
            if name in self.present:
                del self.present[name]
            else:
                self.original[name] = None
        self.present |= dict.fromkeys(_names(self.path, edit.after))
        self.tests += self._tests_in(edit.after) - self._tests_in(edit.before)

    def _overwrite(self, text: str) -> None:
        names = _names(self.path, text)
        known = self.seen if self.seen and self.seen.whole else None
        self.rewritten |= not self.made and known is None
        if known:
            self.original = dict.fromkeys(name for name in known.names if name not in names)
        elif self.rewritten:
            self.original = {}
        self.present = dict.fromkeys(names)
        self.tests = self._tests_in(text) - (known.tests if known else 0)

    def _tests_in(self, text: str) -> int:
        return len(_TESTED.findall(text)) if _base(self.path).rpartition(".")[2] in _CODE else 0

    def told(self) -> FileChange:
        known = self.seen.names if self.seen and not self.rewritten else ()
        added = tuple(name for name in self.present if name not in self.original and name not in known)
        removed = tuple(name for name in self.original if name not in self.present)
        tests = 0 if self.rewritten else max(0, self.tests)
        aims = [*self.aims.values()][: 1 if self.made else None]
        aim, position = max(aims, key=lambda each: len(each[0]), default=("", self.position))
        by_aim = aim and (self.rewritten or not (added or removed or tests))
        return FileChange(
            path=self.path,
            position=position if by_aim else self.position,
            edits=self.edits,
            made=self.made,
            rewritten=self.rewritten,
            added=added,
            removed=removed,
            tests=tests,
            aim=aim,
        )


_BEFORE_AIM = re.compile(
    r"(?:now|next|first|then|finally|also|great|perfect|excellent|good|ok|okay|so|and|let's|let me|i'll|i will"
    r"|i need to|i should|i also need to|i can|we need to|need to|time to|go ahead and|start by|quickly|just|to)"
    r"[,:!.]? +",
    re.IGNORECASE,
)
_CHANGING = re.compile(
    r"(?:add|update|fix|remove|rename|merge|extract|replace|implement|handle|support|move|refactor|rewrite|simplify"
    r"|convert|wire|pass|use|make|switch|change|drop|delete|expose|introduce|extend|improve|rework|split|style|set"
    r"|configure|document|register|bump|parse|render|store|validate|escape|cache|create|write)\b ",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:this|that|it|them|these|those|its|above|below|same|both|too|issues?|problems?|errors?|properly|actual"
    r"|actually|again|correct|correctly|remaining|rest|everything|exact|way|following|you|your|failing|i|similarly"
    r"|warnings?|accordingly|requested|also|they|they're|appropriate|contradictory|proper|necessary|implementation"
    r"|assertions?|expectations?|first|in parallel|(?:task|step|phase|part|option|issue|point) #?\d+|here|now|instead"
    r"|missing|tests?|everywhere|comments?|import|imports)\b",
    re.IGNORECASE,
)


_AND = re.compile(rf",? (?:and|then)(?: then)? (?={_CHANGING.pattern})", re.IGNORECASE)
_OTHER_FILE = re.compile(r"[\w-]+\.[a-z]{1,5}\b|\b(?:Makefile|Dockerfile|README)\b")


def _aim(lead: str, name: str, *, new: bool) -> str:
    """What the last line said before an edit of a file announces, as an imperative.

    "" where it does not say by itself, or says it of another file.
    """
    line = lead.strip().rpartition("\n")[2].strip()[-400:]
    text = re.split(r"(?<=[.!?]) ", line)[-1].rstrip(" :.") if line.endswith((":", ".")) else ""
    while found := _BEFORE_AIM.match(text):
        text = text[found.end() :]
    parts = _AND.split(text)
    text = next((part for part in parts if name in part), text if len(parts) == 1 else "")
    if not new and (others := _OTHER_FILE.findall(text)) and name not in others:
        return ""
    if not _CHANGING.match(text) or _VAGUE.search(text) or not 4 <= len(text.split()) <= 30:
        return ""
    return text.replace("**", "")


# --- The plan --------------------------------------------------------------------------------------------------------

_LISTS = ("todos", "plan", "items", "tasks")
_ITEM_TEXT = ("content", "step", "description", "text", "title", "task", "subject")


def _steps(call_input: Json) -> tuple[Step, ...]:
    """The items of a plan that a call writes down: `todos` of Claude Code, Gemini and OpenCode, `plan` of Codex."""
    if not isinstance(call_input, Mapping):
        return ()
    for name in _LISTS:
        listed = call_input.get(name)
        if isinstance(listed, list) and listed:
            steps = [(_text(item, *_ITEM_TEXT), _text(item, "status")) for item in listed[:100]]
            if all(text and status for text, status in steps):
                return tuple(Step(_in_short(text), status in _DONE) for text, status in steps)
    return ()


def _in_short(text: str) -> str:
    return " ".join(text[:2_000].split())[:200]


def _plans(calls: Iterable[Call]) -> Iterator[tuple[int, tuple[Step, ...]]]:
    """States of the plan: written down as a whole, or item by item with a number for each."""
    items: dict[str, Step] = {}
    for call in calls:
        if steps := _steps(call.input):
            yield call.position, steps
        elif "task" in call.name.lower():
            if subject := _text(call.input, "subject"):
                number = _NUMBERED.search(call.result[:400])
                items[number[1] if number else str(len(items) + 1)] = Step(_in_short(subject), False)
                yield call.position, tuple(items.values())
            elif (number_of := _text(call.input, "taskId")) in items and (status := _text(call.input, "status")):
                items[number_of] = items[number_of]._replace(done=status in _DONE)
                yield call.position, tuple(items.values())


_NUMBERED = re.compile(r"#(\d{1,6})")
_DONE = frozenset({"completed", "complete", "done"})


# --- Commands --------------------------------------------------------------------------------------------------------


def _shell_text(call_input: Json) -> str:
    """The command of a call, also where it is told as a list of words."""
    if isinstance(call_input, Mapping):
        held = call_input.get("command", call_input.get("cmd", call_input.get("script")))
        if isinstance(held, str):
            return held
        if isinstance(held, list):
            return " ".join(word for word in held if isinstance(word, str))
    return ""


def _command(call: Call) -> str:
    return _shell_text(call.input)[:_MOST] if not _text(call.input, *_PATH_FIELDS) else ""


_WANT = re.compile(
    r"(?:\w*Error: )?No module named ['\"][\w.]{1,60}['\"]|[\w./-]{1,40}: command not found"
    r"|command not found: [\w./-]{1,40}|Cannot find module '[^'\n]{1,80}'|externally-managed-environment"
    r"|Missing script: [^\n]{1,60}"
    r"|(?:unknown|unrecognized|no such|invalid) (?:option|arguments?|command|flag)s?:? [^\n]{1,60}"
    r"|error: unexpected argument [^\n]{1,60}|No rule to make target [^\n]{1,60}|Unsupported engine[^\n]{0,80}"
    r"|(?:requires|required) (?:Python|Node|python|node)[^\n]{1,60}|EACCES[^\n]{0,80}|[Pp]ermission denied[^\n]{0,60}"
    r"|Could not find a version that satisfies[^\n]{0,80}|peer dep[^\n]{0,80}|ENOENT[^\n]{0,80}",
    re.IGNORECASE,
)
_WANTING = (
    *("no module", "not found", "cannot find", "externally-managed", "missing script", "unknown ", "unrecognized "),
    *("no such ", "invalid ", "unexpected argument", "no rule to", "unsupported", "require", "eacces", "denied"),
    *("could not find", "peer dep", "enoent"),
)
"""One of these stands in whatever the pattern finds; most results have none."""
_RUNNER = re.compile(
    r"(?:uv run|poetry run|pipenv run|pdm run|hatch run|rye run|npx|bunx|pnpm(?: exec| run| dlx)?|yarn(?: run)?"
    r"|npm(?: run)?|bundle exec|sudo|time|python3?(?:\.\d+)? -m|(?:\./|[\w./~-]{0,80}/)(?:bin|Scripts)/|mise exec --"
    r"|nix develop -c) *"
)
_PRELUDE = re.compile(r"\s{0,20}(?:(?:cd|source|export) [^;&|\n]{1,200}(?:&&|;)|[A-Z_]{1,60}=\S{1,200} )\s{0,20}")
_AFTER_COMMAND = re.compile(r"\s+(?:\||2>|>|&&|<<)|;|&&")
_SETS_UP = re.compile(
    r"(?:uv (?:sync|pip install|add)|pip3? install|python3? -m pip install|poetry (?:install|add)|npm (?:i|ci|install)"
    r"|pnpm (?:i|install|add)|yarn(?: install| add)?|bundle install|mix deps\.get|cargo install"
    r"|go mod (?:tidy|download)"
    r"|brew install|apt(?:-get)? install|chmod|corepack|nvm use|make (?:install|setup|deps|bootstrap))\b"
)
_ABSENT = re.compile(r"No module|not found|Cannot find module", re.IGNORECASE)
_SEVERAL = re.compile(r"\n|&&|;|\|\|")
_MODULE = re.compile(r"(?:module named|find module) ['\"]([\w./@-]{1,80})")
_WHOLE_PROJECT = re.compile(
    r"(?:sync|ci|install|get|tidy|download|setup|deps|bootstrap)\s*$|^chmod|install (?:-e|--editable|-r)\b|nvm use"
    r"|corepack"
)
_NEAR = 8


def _mended(commands: Sequence[tuple[Call, str]]) -> Iterator[Mended]:
    for at, (call, command) in enumerate(commands):
        want = _want(call)
        first = _without_prelude(command)
        core = _core(first)
        if want is None or not core or _SEVERAL.search(first.strip()[:200]) or _SETS_UP.match(first):
            continue
        setup = ""
        for later, other in commands[at + 1 : at + 1 + _NEAR]:
            run = _without_prelude(other)
            worked = later.answered and not later.failed and not _want(later)
            if _SETS_UP.match(run) and not later.failed:
                setup = _short(run) if _brings(run, want[0]) else setup
            elif _core(run) == core and worked:
                told, remedy = _short(first), _short(run)
                if _ABSENT.search(want[0]):
                    told, remedy = _to_program(told, core), _to_program(remedy, core)
                if (instead := remedy != told) or setup:
                    error = " ".join(want[0].split())
                    yield Mended(call.position, told, error, remedy if instead else setup, instead)
                break


def _brings(setup: str, want: str) -> bool:
    """Whether setting up something is what was wanting: the module that was not found, or all that a project needs."""
    module = _MODULE.search(want)
    named = module is not None and module[1].split(".")[0].replace("_", "-").lower() in setup.replace("_", "-").lower()
    return named or bool(_WHOLE_PROJECT.search(setup))


def _want(call: Call) -> re.Match[str] | None:
    """What a result says is wanting."""
    head = call.result[:_MOST]
    small = head.lower()
    return _WANT.search(head) if any(word in small for word in _WANTING) else None


def _without_prelude(command: str) -> str:
    """A command without what is set up for it in front of it: folders, environments, variables."""
    at = 0
    while found := _PRELUDE.match(command, at):
        at = found.end()
    return command[at:].lstrip()


def _core(command: str) -> str:
    """The program that a command comes down to, without what runs it: `pytest` of `uv run pytest -q`."""
    while found := _RUNNER.match(command):
        command = command[found.end() :]
    return command.split(maxsplit=1)[0] if command.strip() else ""


def _to_program(command: str, core: str) -> str:
    """A command up to the program that it comes down to."""
    return command[: command.find(core) + len(core)]


def _short(command: str) -> str:
    """A command without what its output goes through, and without the rest of a long one."""
    cut = _AFTER_COMMAND.search(command)
    command = " ".join((command[: cut.start()] if cut else command).split())
    return command if len(command) <= 80 else command[:80].rpartition(" ")[0]
