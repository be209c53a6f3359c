"""What a user states in a turn to a coding agent: corrections, decisions, standing instructions, things to remember.

What is found here is kept unasked and counts as the user's word. So a sentence is taken only where the user says it
themselves (no quote, log, diff or machine-written block, nothing reported), where it holds beyond the task at hand (a
request is no rule), and where it makes sense to somebody who has not seen the conversation. Most turns state nothing.
English is what it understands.

A turn is read in its shadow, a text of the same length in small letters in which machine text is blank and quotes are
filled in, so whatever is found in the shadow can be cut out of the turn as it was typed. Sentences are bounded before
anything is looked for in them: no text, however long or odd, takes more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..model import Finding, Kind

LONGEST = 300
"""Characters of a sentence. A longer one is no rule that somebody would want to read again."""

_TYPED = 4_000
"""Characters of prose. Nobody types more in one turn, so of a longer one only what stands around the paste counts."""
_AROUND = 600
_BRIEF = 240
"""Characters of a turn that says one thing."""


def statements(turn: str) -> tuple[Finding, ...]:
    """What a turn of the user's states, in order, each once, with its kind and in the user's own words.

    Words that only tie a sentence to the conversation ("no,", "ok so", "remember that") are left out.
    """
    found: dict[str, Finding] = {}
    corrected = False
    for sentence in _sentences(turn):
        if len(sentence.shadow) > LONGEST:
            corrected = False
            continue
        said = _said(sentence, corrected=corrected)
        kind = _kind(said) if said.words and not sentence.asks else None
        if kind is not None:
            found.setdefault(said.text.casefold(), Finding(content=said.text, kind=kind, stated=True))
        corrected = said.corrects and not said.words  # "That's wrong. The port is 9090."
    return tuple(found.values())


def _any(phrases: str) -> str:
    """A pattern for any of the phrases, which commas separate."""
    return f"(?:{'|'.join(phrase.strip() for phrase in phrases.split(','))})"


# --- From a turn to sentences ----------------------------------------------------------------------------------------


class _Sentence(NamedTuple):
    shadow: str
    text: str
    """As it was typed; as long as its shadow."""
    asks: bool
    alone: bool
    """It opens a turn that says little else and asks for nothing, so it is no detail of a request."""
    ruled: bool
    """It is an item under "Rules for this repo:" or the like."""


_FILL = "ǂ"
_SMALL = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_SHADOW = _SMALL | {
    ord(sign): plain for signs, plain in (("’‘", "'"), ("“”", '"'), ("\t\r\xa0", " ")) for sign in signs
}
_EMPHASIS = re.compile(
    r"(?m:^) {0,8}\*\*[^*\n]{1,80}\*\*:? {0,8}(?m:$)|(?<![\w/*])\*\*(?=[^\s*])([^*\n]{1,200})\*\*(?![\w/*])"
)
"""Emphasis, or a line that is all of it and so a heading."""

_NOT_THEIRS = re.compile(
    r"\s*(?:/[a-z][\w:-]*(?:\s|$)|you are (?:an?|the|now)\b|your (?:task|job|role|goal) is\b|act as\b|\[request "
    r"|this session is being continued|caveat: the messages below|base directory for |\[system|\[image"
    r"|(?:\w+(?::\w+)? )?hook (?:feedback|additional context|success|blocking error|stopped)|stop hook|contents of /"
    r"|called the \w+ tool|result of calling|another (?:language model|agent)"
    r"|(?:here is|the following is) (?:a|the) summary"
    r"|(?:conversation|session) summary|summary of (?:the|our|this|previous)|please continue the conversation from"
    r"|this is the gemini cli|(?:the user|user) (?:opened|selected|is viewing)|todos have been modified"
    r"|note: \S+ was (?:read|modified))"
)
"""How commands begin, and prompts, notices and summaries that a program wrote or that are written for a machine."""

_CUT_SHORT = re.compile(
    r"<(?:system-reminder|recollect|project_memory|command-\w+|local-command-\w+|task-notification|environment_context"
    r"|user_instructions|instructions|teammate-message|skill|tool_\w+|function_\w+|summary|state_snapshot"
    r"|[\w-]{0,40}hook)(?![a-z])[^<>\n]{0,300}>"
)
"""What opens a machine's words. Where nothing closes it, they go on to the end."""

_TAG = re.compile(r"<(/?)([a-z][a-z0-9_:-]{0,60})(?:\s[^<>\n]{0,300})?>")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_HEADING = re.compile(r"#{1,6} +\S|\s*(?:\*\*|__)[^*_\n]{1,80}(?:\*\*|__):?\s*$")
_DIFF = re.compile(r"diff --git |@@ |\+\+\+ |--- [ab]/")
_LEVEL = _any("info, warn, warning, error, debug, trace, fatal, critical")
_KEYWORD = _any("import, const, var, def, class, function, return, public, private, export, package, select, insert")
_MACHINE = re.compile(
    r"\s*(?:"
    r"[>|$%❯➜│├└⎿●✗✘✓⏺]|\S+@\S+[:~ ].*[$#] "  # quotes, tables, shells
    r"|\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[t ][0-9]|\[?[0-9]{2}:[0-9]{2}:[0-9]{2}|\[[0-9. ]+\]"  # logs
    rf"|\[?{_LEVEL}\b[\]:|(]|npm err|error\[|\w+:[0-9]+:"
    r"|[\w.]*(?:error|exception|warning): |traceback|file \"|at \S+(?: \(|:[0-9])|caused by:"  # stack traces
    r"|diff --git |index [0-9a-f]{7}|@@ |\+\+\+ |--- |commit [0-9a-f]{7}"
    rf"|{_KEYWORD}\b[^.]*[;{{}}()=]\s*$|from \S+ import |let \w+ ?[:=]"  # code
    r"|\"[\w-]+\":|[\w.\[\]]+ ?[:+]?= ?\S|[\w.]+\(.*\)\s*$|[^\w\s]+\s*$|.*[;{}]\s*$|.*(?:=>|\$\{|&&|\|\||</)"
    r")"
)
"""How a line begins, or what is in it, that was pasted."""
_REMARK = re.compile(r"(?:\s{2,20}|\t)(?:#|//|/\*|--|<!--|\"{3}|'{3})(?!\w)|//|/\*|<!--|\"{3}")
"""How a comment in code begins."""
_STARTS_CODE = re.compile(rf"\s{{4,40}}(?:async )?{_KEYWORD}\b|\t\s{{0,20}}(?:async )?{_KEYWORD}\b")
_INDENTED = re.compile(r"(?: {4}|\t)(?!\s{0,20}(?:[-*+•–]|[0-9]{1,2}[.)])\s)")
"""How a line of code begins, in a turn that has some."""

_QUOTE = re.compile(r"`[^`\n]{1,200}`|\"[^\"\n]{1,200}\"|(?<!\w)'[^'\n]{1,200}'(?!\w)")
_WRAP = re.compile(r"\n(?<=[^\n]{60}\n)(?<![.!?:;\s]\n)(?=[a-z(])")
_BULLET = re.compile(r"\s{0,20}(?:[-*+•–]|[0-9]{1,2}[.)])\s+")
_END = re.compile(r"[.!?…]{1,8}[\"')\]]{0,4}(?=\s|$)")
_SHORTENED = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|approx|cf|resp|incl|fig|mr|mrs|dr|ca|eq|ver|aka|[a-z])\.$")
_WORD = re.compile(r"[a-z']+")
_RULES = re.compile(
    r"\b(?:from now on|going forward|keep in mind|remember)\b"
    r"|\b(?:our|my|project|repo|team|house|general) (?:\w+ )?(?:rules|conventions|guidelines|preferences)\b"
    r"|\b(?:rules|conventions|guidelines|standards) (?:for|in|of) (?:this|our|the) (?:repo|project|code|team)"
)

_IMPERATIVE = frozenset(
    "use prefer avoid keep follow write run edit modify touch add include put name call commit push format "
    "lint test document answer respond reply explain ask show check verify update create make ensure start "
    "end log return import install pin bump rebase squash merge sign tag read look search consult confirm "
    "wait do treat assume think plan stick wrap place store save send give provide list mention state cite "
    "reference link remove delete leave skip ignore omit limit restrict favor favour choose pick default go "
    "be set mark prefix append quote indent sort group split separate validate handle mock stub cover review "
    "refactor simplify speak talk generate regenerate rebuild restart reload deploy build compile open close "
    "print track note record report describe summarize summarise notify tell let fix implement change move "
    "rename apply focus work continue try copy clean find replace convert bring play stop always never don't "
    "dont no".split()
)


def _sentences(turn: str) -> Iterator[_Sentence]:
    turn = _EMPHASIS.sub(lambda found: found[1] or found[0], turn)
    shadow = turn.translate(_SHADOW)
    if _NOT_THEIRS.match(shadow):
        return
    shadow = _around_paste(_without_machine_lines(_blank(shadow, _tagged(shadow))))
    shadow = _QUOTE.sub(lambda quote: _FILL * len(quote[0]), _WRAP.sub(" ", shadow))
    parts = list(_parts(shadow))
    brief = len(shadow) - shadow.count("\n") <= _BRIEF
    asked = any(_first_word(shadow[part]) in _IMPERATIVE for part, _ in parts[1:])
    for part, ruled in parts:
        alone = brief and not asked and part == parts[0][0]
        yield _Sentence(shadow[part], turn[part], "?" in shadow[part][-4:], alone, ruled)


def _parts(shadow: str) -> Iterator[tuple[slice, bool]]:
    """Where each sentence stands, and whether it is an item in a list of rules. Items of what is asked for are none."""
    under: str | None = None
    for start, line in _lines(shadow):
        bullet = _BULLET.match(line)
        if not bullet:
            under = line if line.rstrip().endswith(":") else None
        ruled = bullet is not None and under is not None and bool(_RULES.search(under[:LONGEST]))
        if bullet and under is not None and not ruled:
            continue
        for begin, end in _split(line, bullet.end() if bullet else 0):
            yield slice(start + begin, start + end), ruled


def _first_word(words: str) -> str:
    found = _WORD.search(words)
    return found[0] if found else ""


def _lines(shadow: str) -> Iterator[tuple[int, str]]:
    """Every line that is not blank, with the place it starts at."""
    start = 0
    for line in shadow.split("\n"):
        if line and not line.isspace():
            yield start, line
        start += len(line) + 1


def _blank(shadow: str, spans: Iterable[tuple[int, int]]) -> str:
    """The shadow with line ends in place of what lies in the spans, which may overlap."""
    kept: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end > at:
            kept += (shadow[at : max(at, start)], "\n" * (end - max(at, start)))
            at = end
    return "".join([*kept, shadow[at:]])


def _tagged(shadow: str) -> Iterator[tuple[int, int]]:
    """What lies between a tag and its closing one, tags included; after a machine's that nothing closes, the rest."""
    opened: dict[str, list[int]] = {}
    for tag in _TAG.finditer(shadow):
        closing, name = tag.groups()
        if not closing:
            opened.setdefault(name, []).append(tag.start())
        elif opened.get(name):
            yield opened[name].pop(), tag.end()
    open_still = (start for starts in opened.values() for start in starts if _CUT_SHORT.match(shadow, start))
    if (first := min(open_still, default=-1)) >= 0:
        yield first, len(shadow)


def _without_machine_lines(shadow: str) -> str:
    """Fenced blocks, pasted lines, and everything from the first heading on, which makes it a document, blanked."""
    diff = any(_DIFF.match(line) for _, line in _lines(shadow))
    indented = (line[:LONGEST] for _, line in _lines(shadow) if _INDENTED.match(line))
    code = any(_MACHINE.match(line) or _STARTS_CODE.match(line) for line in indented)
    fenced = False
    spans: list[tuple[int, int]] = []
    for start, line in _lines(shadow):
        fence = bool(_FENCE.match(line))
        if not fenced and not fence and _HEADING.match(line[:LONGEST]):
            spans.append((start, len(shadow)))
            break
        pasted = _MACHINE.match(line[:LONGEST]) or _REMARK.match(line) or (code and _INDENTED.match(line))
        if fence or fenced or pasted or (diff and line[0] in "+- "):
            spans.append((start, start + len(line)))
        fenced ^= fence
    return _blank(shadow, spans)


def _around_paste(shadow: str) -> str:
    """Of a turn that is too long to have been typed, the first and the last paragraph; others as they are."""
    if len(shadow) - shadow.count("\n") <= _TYPED:
        return shadow
    first = shadow.find("\n\n", len(shadow) - len(shadow.lstrip()))
    last = shadow.rfind("\n\n", 0, len(shadow.rstrip()))
    begin = first if 0 <= first <= _AROUND else 0
    end = last if last >= 0 and len(shadow.rstrip()) - last <= _AROUND else len(shadow)
    return _blank(shadow, [(begin, max(begin, end))])


def _split(line: str, begin: int) -> Iterator[tuple[int, int]]:
    """Where the sentences of a line begin and end."""
    for mark in _END.finditer(line, begin):
        after = line[mark.end() : mark.end() + 2].strip()
        if mark[0] == "." and after and _SHORTENED.search(line[max(begin, mark.end() - 9) : mark.end()]):
            continue
        yield begin, mark.end()
        begin = mark.end()
    if line[begin:].strip():
        yield begin, len(line)


# --- From a sentence to what it says ---------------------------------------------------------------------------------


class _Said(NamedTuple):
    words: str
    """The shadow of what is said, one space between words, without what leads in."""
    main: str
    """The words from the main clause on: no "from now on", "when you add a test", "make sure to" before it."""
    text: str
    corrects: bool
    notes: bool
    alone: bool
    ruled: bool


_WRONG = _any("wrong, incorrect, false, a mistake, not right, not true, not correct, not the case")
_FILLER = _any(
    "ok, okay, so, and, but, also, btw, by the way, well, hey, hi, please, pls, plz, yes, yeah, yep, yup, sure,"
    "thanks, thank you, thx, great, cool, perfect, nice, good, alright, hmm+, oh, ah, claude, important,"
    "one more thing, sorry, another thing, wait, hold on, again, as i said, like i said,"
    "i(?:'ve)? (?:already )?(?:said|told you)(?: already)?(?: to| that)?,"
    "(?:(?:the|my|our) )?(?:rule|policy)(?: is| #?[0-9])?(?=:), just, remember to"
)
_NOTE = _any(
    "remember, keep in mind, bear in mind, note, be aware, take note, don't forget, for the record,"
    "for future reference, for your information, fyi"
)
_LEAD_IN = re.compile(
    r"\s*(?:"
    r"(?P<corrects>(?:no+(?=\s*[,.:;!—–]|\s+-\s|\s+(?:we|the|our|actually|never|always|use|don't|let's)\b)|nope|nah"
    r"|actually|correction|i meant|not quite|you(?:'re| are) (?:wrong|mistaken)"
    rf"|(?:that(?:'s| is|s) (?:just |simply )?)?{_WRONG})\b"
    r"[\s,.:;!—–-]*)"
    rf"|(?P<notes>{_NOTE}(?:\s*[:,—–]\s*|\s+-\s+|\s+that\s+|\s+(?=(?:we|we're|our|all|every|i|i'm)\b)|(?<=fyi)\s+))"
    rf"|{_FILLER}(?![\w'-])[\s,.:;!—–-]*"
    r"|[^\w\s'/.@~]+"
    r")"
)
_TAIL = re.compile(
    r"(?:[\s,]*(?<!\w)(?:then|please|pls|plz|thanks|thank you|thx|okay|ok|btw|by the way))?[\s.!,;:)…*_-]*$"
)
_AIM = re.compile(
    r"\s*(?:we(?:'ll| will|'re| are) [^,;]*(?P<aim> for (?:this|that))|(?:let's|lets) [^,;]*(?P<other> instead))$"
)

_PLACE = _any("repo, repository, project, codebase, code base, monorepo, workspace, team, company, org")
_HERE = rf"(?:in|for|on|across) (?:this|our|the) (?:whole |entire )?{_PLACE}\b"
_AHEAD = _any(
    "from now on(?:wards?)?, from here on(?: out)?, going forwards?, in (?:the )?future, henceforth, as a rule,"
    "at all times"
)
_TIMES = _any("whenever, every time, each time, any ?time")
_EVENT = _any(
    "commit, push, change, edit, pr, pull request, merge, task, session, feature, release, deploy, deployment,"
    "refactor, migration, message, answer, response, reply"
)
_BEFORE_MAIN = re.compile(
    rf"(?:(?:{_AHEAD}|{_HERE}|by default|in general|generally)[,:]? (?:-+ )?"
    rf"|(?:when|{_TIMES}|before|after|if|for|on|in|with|while|during|once)\b(?!,)[^,;:]{{2,120}}?"
    r"(?:[,;:] |(?= always | never ) )"
    r"|(?:please|always make sure|make sure|be sure|ensure|remember|try)(?: that)?(?: you| we| to)? (?=always |never )"
    r"|(?:you|we) (?:should|must|need to|have to) (?=always |never )|i(?:'d| would)? (?:want|need|like|expect) you to "
    rf"|(?:before|after|on) (?:every|each|any) (?:single )?{_EVENT}[,:]? "
    r"|(?:then|please|pls|just|also|only) )"
)


def _said(sentence: _Sentence, *, corrected: bool) -> _Said:
    """What a sentence says, without what only leads in to it or rounds it off."""
    begin, corrects, notes = 0, corrected, sentence.ruled
    while lead := _LEAD_IN.match(sentence.shadow, begin):
        corrects = corrects or lead["corrects"] is not None
        notes = notes or lead["notes"] is not None
        begin = lead.end()
    tail = _TAIL.search(sentence.shadow, begin)
    end = tail.start() if tail else len(sentence.shadow)
    if aim := _AIM.match(sentence.shadow[begin:end]):
        end = begin + aim.start(aim.lastgroup or 0)
    words = " ".join(sentence.shadow[begin:end].split())
    at = 0
    while before := _BEFORE_MAIN.match(words, at):
        at = before.end()
    text = " ".join(sentence.text[begin:end].split())
    return _Said(words, words[at:], text, corrects, notes, sentence.alone, sentence.ruled)


# --- Sentences that state nothing for later --------------------------------------------------------------------------

_ASKING = re.compile(
    _any(
        "should, can, could, would, will, do(?! not\\b), does, did, is, are, was, were, what, why, how, which, where,"
        "who, have, has, may, shall, isn't, aren't, doesn't, didn't, won't, wouldn't, don't (?:you|we|i),"
        "any (?:idea|chance)"
    )
    + r"\b"
)
_UNSURE = _any(
    "maybe, perhaps, might, not sure, i guess, i wonder, wondering, what if, suppose, imagine, assuming, could be,"
    "would be, i think, i believe, i feel, probably, possibly, seems?, apparently, supposedly, if we,"
    "should (?:we|i|it), lol, haha, kidding"
)
_PASSING = _any(
    "yet, for now, right now, this time, this once, just once, today, tonight, tomorrow, at the moment,"
    "for the moment, meanwhile, in the meantime, temporarily, for testing, for the time being, next time, next week,"
    "deadline, eod, asap, (?<!from )now"
)
_NOT_SETTLED = re.compile(rf"\b(?:{_UNSURE}|{_PASSING})\b")
_REPORTED = re.compile(
    r"(?<![\w'])(?!(?:i|we|to|and|or|not|don't|never|always|please|just|explicitly|clearly)\b)"
    r"(?!you (?:say|tell|mention|state|suggest)\b)[\w'-]+ "
    r"(?:says?|said|tells?|told|claim(?:s|ed)?|recommend(?:s|ed)?|suggest(?:s|ed)?|state[sd]?|mention(?:s|ed)?|warns?"
    r"|complain(?:s|ed)?|advises?|insists?)\b|\baccording to\b|\bas per\b"
)

_MATTER = _any(
    "option, approach, plan, step, phase, task, issue, ticket, question, point, item, number, choice, variant,"
    "solution, part, idea, alternative, stage, milestone"
)
_WORK_OF_YOURS = _any(
    "plan, suggestions?, proposal, approach, answer, changes?, summary, last, previous, first, second,"
    "recommendations?, idea, version, solution, implementation, fix, code, design, edits?, list, question, analysis,"
    "work"
)
_IN_SIGHT = _any(
    "above, below, the following, previous, previously, earlier, latter, former, attached, screenshots?, pasted,"
    "mentioned, discussed, these, those, the user,"
    "the (?:other|first|second|third|last|next|same|rest|current|existing|new|old),"
    "the (?:two|three|latest|remaining),"
    "(?:the|each|every|another|other|new|old|first|second|last|right|left|same) ones?"
)
_AFTER_THAT = _any(
    "again, instead, way, one, thing, file, function, method, line, part, test, class, approach, too, here, anymore,"
    "either, then, much, often, for, in, on, at, to, with, like, as, when, before, after, and, or, but, because, since"
)
_BEFORE_THAT = _any(
    "do, doing, use, using, like, about, with, for, of, than, change, fix, want, need, try, call, delete, remove, run"
)
_POINTING = re.compile(
    rf"\bthis\b(?! (?:whole |entire )?{_PLACE}\b)|\b{_IN_SIGHT}\b|:$|#[0-9]|\byour {_WORK_OF_YOURS}\b"
    r"|\b(?:as well|too)$|\bthough\b"
    rf"|\bthat(?:'s)?(?=[.,;:!)]|$| {_AFTER_THAT}\b)|\b{_BEFORE_THAT} that\b"
    rf"|\b{_MATTER} ?#?(?:[0-9]+|[a-e]|one|two|three)\b"
)
_SUBJECT = re.compile(r"(?:it|its|it's|that|that's|they|they're|them|he|she|there|there's|here|such|both|same)\b")
_PRONOUN = re.compile(r"\b(?:it|its|it's|itself|them|they|they're|their|theirs|him|her|there)\b")
_EMPTY = frozenset(
    "a an the and or but nor so if in on at of to for with from by as is are be was were been being do does "
    "did done don't dont not no never ever always please just only also too very i we you me us my our your "
    "it its it's this that these those them they their he she him her there here then than when whenever "
    "before after while until unless because since must should may can could would will shall need have has "
    "had let's lets make sure want like know get got go going now future every each all any some time times "
    "again anymore thing things stuff something anything everything nothing way one ones yes ok okay instead "
    "prefer decided use using stop i'd i'm we're we'll i've we've under circumstances about into out up down "
    "off over more most much many other same".split()
)


def _kind(said: _Said) -> Kind | None:
    """What kind of statement it is, or None where it states nothing that is worth keeping."""
    words = said.words
    if _ASKING.match(words) or _NOT_SETTLED.search(words) or _REPORTED.search(words) or _leans_on_conversation(words):
        return None
    for rule in (_forbids, _prefers, _decides, _describes_custom, _puts_right, _is_noted):
        kind = rule(said)
        if kind is not None:
            return kind
    return None


def _leans_on_conversation(words: str) -> bool:
    """Whether somebody who has not seen the conversation would ask what is meant."""
    if _SUBJECT.match(words) or _POINTING.search(words) or not _telling(words):
        return True
    pronoun = _PRONOUN.search(words)
    return pronoun is not None and _telling(words[: pronoun.start()]) < 2


def _telling(words: str) -> int:
    """How many of the words carry meaning by themselves."""
    spoken = (word.strip(",.;:!()\"'") for word in words.split())
    return sum(len(word) > 1 and not word.isdecimal() and word not in _EMPTY for word in spoken)


# --- What makes a statement ------------------------------------------------------------------------------------------

_DETERMINED = re.compile(
    _any(
        "the, a, an, my, your, our, his, its, some, one, two, three, both, all, only, just, it, them, me, us, what,"
        "whatever, something, anything, too, so, very, not, lots, getting, everything, more, another, each other, as,"
        "is, for, and, or, with, without, in, on, at, from, to, if, like, even, yes, no, plan, mode, [a-z], [0-9.]+$"
    )
    + r"(?![\w-])"
)
_STATE = re.compile(
    r"\b"
    + _any(
        "still, broken, missing, fail(?:s|ed|ing)?, errors?, bugs?, weird, empty, blank, gone, crash(?:es|ed)?,"
        "not working, stuck, doesn't, does not, didn't, did not, isn't, is not, aren't, wasn't, can't, cannot,"
        "couldn't, works, working, happening, wrong, same, slow, looks?, supposed, nothing, anymore, already, just,"
        "done, fixed, finished, ready, should, needs? to, left, until"
    )
    + r"\b"
)
_BEFORE_EYES = re.compile(
    "the "
    + _any(
        "file, function, method, class, test, page, script, component, endpoint, route, query, table, model, request,"
        "button, image, output, response, code, branch, pr, task, bug, issue, feature, change, flag, option, setting,"
        "value, line, variable, form, list, error, problem"
    )
    + r" (?:is|was|has|lives|needs|comes|goes|uses|requires|returns|expects|takes)\b"
)
_ABOUT_NOW = re.compile(
    r"(?:i|i'm|i've|i'll|i'd|you|you're|you've)\b(?! (?:use|work|live|own|run|prefer|host|deploy|maintain|on)\b)"
)
_STANDING = re.compile(
    rf"\b{_AHEAD}\b|\b{_TIMES} (?:you(?!'re| are| need| want| like)|we|i (?:ask|say|tell|request))\b"
    r"|^(?:in general|generally)\b|\bfor (?:all|any|every) (?:new|future)\b"
    r"|\b(?:before|after|on|with|at the (?:end|start) of) (?:every|each|any) (?:single )?"
    + _EVENT
    + r"\b|\bwithout (?:asking|telling|(?:my )?(?:permission|approval|consent))\b"
)
_HABITUAL = re.compile(
    rf"\b(?:for|in) (?:all|every|each|any|new)\b|\beverywhere\b|\bby default\b|\b{_HERE}|\bthroughout\b"
)
_ASKED_ALONG = re.compile(
    "(?:, |; | - | so | and )"
    + _any(
        "fix, change, unify, reduce, drop, remove, delete, add, make, update, use, move, rename, replace, switch,"
        "revert, adjust, split, merge, extract, refactor, write, read, run, check, look, do, leave, keep, put, please,"
        "can you"
    )
    + r"\b"
)
_USING = re.compile(r"\b(?:use|using)\b")


def _bare(named: str) -> bool:
    """Whether a thing is named without an article or the like: a name, a kind of things, and no one thing at hand."""
    return not _DETERMINED.match(named)


def _full(main: str) -> bool:
    """Whether a rule says enough to be one, and is none for what a program shows."""
    return not _SHOWN.match(main) and _telling(main) >= (1 if _USING.search(main) else 2)


def _at_hand(words: str) -> bool:
    """Whether it tells how things stand, asks for something, or is about a thing that both have before their eyes."""
    if _STATE.search(words) or _ASKED_ALONG.search(words):
        return True
    return bool(_ABOUT_NOW.match(words) or _BEFORE_EYES.match(words))


# What is never to be done.

_NO_VERB = _any(
    "a, an, the, in, on, at, of, to, for, with, from, this, that, it, there, so, too, very, quite, as, same, right,"
    "wrong, true, false, null, mind, been, had, was, were, is, are, got, get, see, saw, seen, happen, fail, crash,"
    "appear, seem, look, work, feel, know, knew, hear, want, need, like, went, made, came, did, said, told, ran,"
    "thought, once, again, really, available, present, visible, possible, good, great, nice, happy, glad, fun, ready,"
    "up, down, out"
)
_VERB = (
    rf"(?!{_NO_VERB}\b)(?!\w+(?:ed|ing)\b(?<!\bneed)(?<!\bfeed)(?<!\bembed)(?<!\bseed)(?<!\bproceed)(?<!\bbring)(?<!\bping))"
    r"(?!\w+[a-z]s\b(?<!ss)(?<!\bfocus)(?<!\balias)(?<!\bbias))[a-z]"
)
_NEVER = re.compile(rf"(?:never(?:,? ever)?|(?:don't|dont|do not) ever|under no circumstances(?: should you)?) {_VERB}")
_ALWAYS = re.compile(rf"always {_VERB}")
_SHOWN = re.compile(
    r"(?:always|never) (?:show|display|hide|render|redirect|enable|disable|scroll|submit)\b(?! (?:me|us)\b)"
)
"""What a program is to do on its screen: part of a request, and no rule for whoever writes it."""
_OF_WORK = (
    r"(?:(?:unit|integration|commit|code|variable|function|file|class|branch|pull|log) )?"
    + _any(
        "tests, commits, messages, comments, code, functions, methods, classes, modules, migrations, prs, requests,"
        "branches, docs, docstrings, names, imports, scripts, secrets, dependencies"
    )
    + " (?:should|must)"
)
_OUGHT = re.compile(rf"{_OF_WORK} always ")
_OUGHT_NOT = re.compile(rf"{_OF_WORK} never |(?:you|we) (?:must|may) not (?!have\b|be\b)[a-z]")

_DONT = re.compile(r"(?:don't|dont|do not|avoid|stop|no more|no) ")
_HABIT = _any("use, using, prefer, avoid, follow, stick, favou?r")
_DONT_HABIT = re.compile(rf"(?:don't|dont|do not|stop) {_HABIT}\b|avoid ")
_LEAVE_OUT = re.compile(
    "(?:don't|dont|do not) "
    + _any(
        "use, add, create, write, put, commit, push, import, mock, insert, include, generate, mention, suggest,"
        "hardcode, wrap, append, leave, amend, touch, edit, modify, reformat, invent, say"
    )
    + " (?:to |in |into )?(?P<object>.+)|stop "
    + _any(
        "adding, using, creating, writing, putting, committing, pushing, importing, mocking, inserting, including,"
        "generating, mentioning, suggesting, hardcoding, wrapping, appending, leaving, amending, reformatting,"
        "inventing, saying"
    )
    + " (?P<gerund>.+)"
)
_CLASS_OF_THINGS = re.compile(
    r"^(?:any )?(?:the (?=(?:[a-z-]+ ){1,2}(?:files|folders|directories|modules|scripts)\b))?"
)
_OPEN_ENDED = re.compile(
    r"(?:code|files|file|anything|changes|tests|test|tools|tool|stuff|things|more|new|time|agents)\b|\S*(?:/|\w\.\w)"
)
_CONDITION = re.compile(r"\b(?:just|only|but|until|unless|first|rather|let me|i will|i'll)\b|;")

_PRACTICE = _any(
    "use, write, commit, push, merge, squash, rebase, deploy, release, tag, ship, store, log, mock, pin, name, format,"
    "lint, document, prefer, import, put, keep, follow, support, target, host, version"
)
_CUSTOM_NOT = re.compile(rf"we (?:(?:don't|dont|do not) (?:ever )?|never ){_PRACTICE} (?P<object>.+)")


def _forbids(said: _Said) -> Kind | None:
    main = said.main
    if _NEVER.match(main) or _OUGHT_NOT.match(main):
        return Kind.NEGATIVE if _full(main) else None
    holds = said.ruled or bool(_STANDING.search(said.words))
    if (holds and _DONT.match(main)) or (_HABITUAL.search(said.words) and _DONT_HABIT.match(main)):
        return Kind.NEGATIVE
    custom = _CUSTOM_NOT.match(main)
    if custom and _bare(custom["object"]) and not _STATE.search(custom["object"]):
        return Kind.CORRECTION if said.corrects else Kind.NEGATIVE
    return Kind.NEGATIVE if _leaves_out(said) else None


def _leaves_out(said: _Said) -> bool:
    """Whether it says to leave out a kind of things ("stop adding comments"), with nothing that ties it to a task."""
    left_out = _LEAVE_OUT.fullmatch(said.main)
    if left_out is None or _CONDITION.search(said.main) or not (said.alone or left_out["gerund"]):
        return False
    named = _CLASS_OF_THINGS.sub("", left_out["object"] or left_out["gerund"])
    return _bare(named) and not _OPEN_ENDED.match(named)


# How the user wants things done.

_PREFER = re.compile(
    r"(?:i|we) (?:really |strongly |much |generally |usually |always )?prefer (?!it\b|the\b|your\b|to (?:see|have)\b)"
    r"|my preference is "
)
_PREFER_THIS = re.compile(rf"prefer (?!the\b|your\b|not\b|{_FILL})\S+ \S")
"""A wish where it is all that is said, and a detail of a request among others."""
_DISLIKE = re.compile(
    r"i (?:really |absolutely )?(?:hate|dislike|don't like|do not like|can't stand|detest) "
    r"(?!(?:the|it|how|what|when|where|your|to|a|an|my|having to|doing|all|not)\b)"
)
_CUSTOM_ALWAYS = re.compile(rf"we always {_PRACTICE} ")
_WISH = re.compile(
    r"i(?:'d| would)? (?:want|like|expect|need) (?!to\b|you\b)"
    r"|(?!(?:it|they|i|you)\b)[\w'-]+(?: [\w'-]+){0,5} (?:should|must) "
    r"|let's |lets |we(?:'re| are) using |we(?:'ll| will) use "
)
_AS_HABIT = re.compile(rf"{_HABIT} (?:to |using |with )?(?P<object>.+)")
_CONTRASTED = re.compile(r"use (?P<object>[^,]+), (?:never|not) \S+(?: \S+)?")
_ERRAND = re.compile(r"\bto [a-z]+|\b(?:and|then) (?:then|see|let|check|fix|add|make|update|run|move|test|start|do)\b")
_VALUE = re.compile(rf"[0-9/_@{_FILL}]|\w\.\w|\w-\w")


def _prefers(said: _Said) -> Kind | None:
    main = said.main
    if _ALWAYS.match(main) or _OUGHT.match(main):
        return Kind.PREFERENCE if _full(main) else None
    if _PREFER.match(main) or _DISLIKE.match(main) or _CUSTOM_ALWAYS.match(main):
        return Kind.PREFERENCE
    if _PREFER_THIS.match(main) and (said.alone or _HABITUAL.search(said.words)):
        return Kind.PREFERENCE
    imperative = _first_word(main) in _IMPERATIVE
    if (said.ruled and imperative) or (_STANDING.search(said.words) and (imperative or _WISH.match(main))):
        return Kind.PREFERENCE
    habit = _AS_HABIT.match(main)
    if habit and _HABITUAL.search(said.words) and _bare(habit["object"]) and not _ERRAND.search(main):
        return Kind.PREFERENCE
    contrast = _CONTRASTED.fullmatch(main)
    if contrast and said.alone and _bare(contrast["object"]) and not _VALUE.search(main):
        return Kind.CORRECTION if said.corrects else Kind.PREFERENCE
    return None


# What was decided.

_CHOICE = re.compile(
    r"(?:let's|lets|let us|we'll|we will|we(?:'re| are) (?:going to|gonna)|we shall) (?:all )?"
    + _any(
        "go with, go for, use, stick with, stick to, settle on, adopt, switch to, move to, migrate to,"
        "standardi[sz]e on, drop, keep using, only use"
    )
    + " (?P<object>.+)"
    r"|we(?:'re| are) (?:going with|dropping|adopting|moving to|switching to|standardi[sz]ing on) (?P<going>.+)"
)
_DECIDED = re.compile(
    r"(?:we|i|the team|team)(?:'ve| have)? (?:all |just |finally |already )?"
    + _any("decided (?:\\w+ )?(?:to|on|that|against|not to), agreed (?:to|on|that), settled on, opted (?:for|to)")
    + " (?P<object>.+)|(?:the )?decision(?: is (?:to|that)|:) (?P<said>.+)"
)


_TOOL = re.compile(r"(?:sub-?)?agents?\b|(?:git|grep|curl|opus|sonnet|haiku|mcp|web ?search|claude)\b|.* -{1,2}[a-z]")
"""What a piece of work is done with, and gone with it."""


def _decides(said: _Said) -> Kind | None:
    decided = _DECIDED.match(said.main)
    if decided:
        settled = _telling(decided["object"] or decided["said"]) and not _ASKED_ALONG.search(said.main)
        return Kind.DECISION if settled else None
    choice = _CHOICE.match(said.main)
    if choice is None:
        return None
    chosen = choice["object"] or choice["going"]
    if _STATE.search(chosen) or _ERRAND.search(chosen) or _TOOL.match(chosen):
        return None
    named = _bare(chosen) or _HABITUAL.search(said.words) or _STANDING.search(said.words)
    return Kind.DECISION if named else None


# How things are.

_CUSTOM = re.compile(
    rf"(?:we|our team|the team) (?:only |mostly |generally |usually |exclusively )?{_PRACTICE} "
    r"(?:(?:from|to|on|in|with|via|by) )?(?P<object>.+)"
    r"|(?:our|the) (?:convention|policy|standard|practice)(?: here)? is (?:to |that )?(?P<rule>.+)"
    rf"|(?:this|our|the) {_PLACE} (?:only )?(?:uses|targets|supports|follows|requires) (?P<uses>.+)"
)
_CONTRAST = re.compile(r", not (?:a |an |the )?\S+(?: \S+){0,3}$|\b(?:instead of|rather than)\b|\bnot \S+ but \S+")
_BUT = re.compile(r"\bbut\b")
_FACT = re.compile(
    r"(?!(?:i|you|we|if|when|because)\b)(?:[\w'./@-]+ ){1,6}?"
    + _any(
        "is, are, lives?, runs?, goes, go, belongs?, comes?, uses?, points?, listens?, means, stands, requires?,"
        "expects?, has, have"
    )
    + r" \S"
)
_HERE_FIRST = re.compile(_HERE)


def _describes_custom(said: _Said) -> Kind | None:
    custom = _CUSTOM.match(said.main)
    if custom is None or _at_hand(said.main):
        return None
    named = custom["object"] or custom["rule"] or custom["uses"]
    if not (_bare(named) or _HABITUAL.search(said.words)) or _BUT.search(named):
        return None
    return Kind.CORRECTION if said.corrects or _CONTRAST.search(named) else Kind.FACT


def _puts_right(said: _Said) -> Kind | None:
    """A correction that says how it is: with a value or a name in it, or what it is not."""
    if not said.corrects or not _FACT.match(said.words) or _at_hand(said.words):
        return None
    return Kind.CORRECTION if _VALUE.search(said.words) or _CONTRAST.search(said.words) else None


def _is_noted(said: _Said) -> Kind | None:
    """What is to be remembered, or said of the project, unless it is how things stand now or something to do."""
    about_here = _HERE_FIRST.match(said.words) and (_FACT.match(said.main) or said.main.startswith("we have "))
    if not (said.notes or about_here) or _at_hand(said.words) or _telling(said.words) < 2:
        return None
    return None if _first_word(said.main) in _IMPERATIVE else Kind.FACT
