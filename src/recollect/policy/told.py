"""What an agent's message tells: sentences that say something about the code or the work that is worth keeping.

A finding names what it is about and makes sense to somebody who has not seen the session. Plans, chatter, praise,
guesses and proposals are none, nor is what only tells how the work of the moment goes. In doubt nothing is found: a
wrong memory costs more than one that is missed. English is what it understands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..model import Finding, Kind
from .prose import Passage, Sentence, cut, first_clause, passages, sentences

LONGEST = 500
"""Characters of a finding."""

_LONGEST_SENTENCE = 420
_SHORTEST = 35
_LONG_ITEM = 60


def told(message: str) -> Iterator[Finding]:
    """What a message tells: errors and what resolved them, what the parts of the code are for, and single sentences."""
    said = [*passages(message)]
    used: set[int] = set()
    for at, cause, fix in _resolutions(said):
        used |= {at, at + 1}
        yield finding(Kind.ERROR, f"{cause if cause.endswith('.') else cause + '.'} Fix: {fix}", 0.8, resolves=True)
    asks, announced = _ASKS_LEAVE.search(message) is not None, _announced(said)
    if _PROPOSAL.search(message):
        return
    yield from _parts(said)
    yield from _described(said)
    for at, passage in enumerate(said):
        label, rest = _labelled(passage)
        if at in used or _proposed(passage) or (passage.item and not label and _LABEL.match(rest)):
            continue  # what stands under a label of its own says little without what is above it
        parts = [*map(_after_colon, sentences(rest))]
        for sentence, following in zip(parts, [*parts[1:], Sentence("", "")], strict=True):
            kind = _kind(sentence, label or passage.heading.lower())
            if (used and kind is Kind.ERROR) or (
                asks and (kind is Kind.DECISION or _ROOT_CAUSE.search(sentence.shadow))
            ):
                continue
            if kind and not _passing(kind, sentence, following, passage, announced):
                content = _in_full(kind, sentence, following, passage)
                if content:
                    yield finding(kind, content, 0.7 if label else 0.6, resolves=kind is Kind.ERROR)


def _in_full(kind: Kind, sentence: Sentence, following: Sentence, passage: Passage) -> str:
    """What is kept of a sentence, with what it says little without; "" where that is wanting.

    A choice is told with the item above it, what was wrong with what put it right, and what is general with the details
    that follow it.
    """
    begin, end = _core(sentence.shadow)
    content = sentence.text[begin:end]
    if kind is Kind.DECISION and passage.parent:
        above = subject(passage)
        return f"{above}: {content[:1].lower()}{content[1:]}" if above else content if anchored(content) else ""
    if kind is Kind.ERROR and _CAUSE.match(sentence.shadow, _lead(sentence.shadow)):
        at = _lead(following.shadow)
        fixed = _PUT_RIGHT.match(following.shadow, at) and not _HEDGED.search(following.shadow)
        return f"{content} Fix: {following.text[at:]}" if fixed else ""
    details = _GOES_ON.match(following.shadow) and not _HEDGED.search(following.shadow)
    if details and len(_RUN_OF_CODE.findall(following.shadow)) > len(_RUN_OF_CODE.findall(sentence.shadow)):
        return f"{content} {following.text}"
    return content


def finding(kind: Kind, content: str, confidence: float, *, resolves: bool = False) -> Finding:
    """A finding in one line that is not too long and begins like a sentence."""
    content = cut(" ".join(content.split()).rstrip(" :;,-–—"), LONGEST)
    return Finding(content=content[:1].upper() + content[1:], kind=kind, confidence=confidence, resolves=resolves)


def names_something(text: str) -> bool:
    """Whether a text names something that can be looked up: code, a file, a flag, a thing with a version."""
    return _NAME.search(text) is not None


def minor(text: str) -> bool:
    """Whether a text is about what is put in order in passing, and decides nothing."""
    return _IN_PASSING.search(text) is not None


def anchored(text: str) -> bool:
    """Whether a text names something that can be found without knowing what it is a piece of."""
    return names_something(_PIECE.sub("", text)) or _WORDING.search(text) is not None


def subject(passage: Passage) -> str:
    """What an item is about by the item or the heading above it; "" where none tells."""
    above = passage.parent or (passage.heading if names_something(passage.heading) else "")
    said = [*sentences(above)]
    label = _LEADS_IN.sub("", _AGENT_DID.sub("", said[-1].text if said else "")).strip(" :,.")
    short = len(label) <= _LONGEST_LABEL and label.count("`") % 2 == 0
    tells = short and not _FOREIGN.search(label) and not _SAYS_NOTHING.fullmatch(label)
    return label[:1].upper() + label[1:] if tells else ""


def planned(passage: Passage) -> bool:
    """Whether a passage stands under something that is planned, to be done or only ticked off."""
    return any(
        _TICKED.search(each) or (_PLANNED.search(each.lower()) and not _HAS_DONE.search(each)) for each in passage.above
    )


def proposes(heading: str) -> bool:
    """Whether what stands under a heading is praised or proposed, and not told."""
    return _PROPOSING.search(heading.lower()) is not None


def _any(phrases: str) -> str:
    """A pattern for any of the phrases, which commas separate."""
    return f"(?:{'|'.join(phrase.strip() for phrase in phrases.split(','))})"


_PROPOSING = re.compile(
    r"\b"
    + _any(
        "ensures?, benefits?, advantages?, what you get, why this, why it, improvements, highlights, results?, pros,"
        "cons, next steps?, options?, alternatives?, recommend\\w*, suggest\\w*, propos\\w+, plan, ideas?, questions?,"
        "could, would, approach(?:es)?, scenario, example, what it does"
    )
    + r"\b"
)

_VERBS = _any(
    "remove, delete, add, change, do, build, create, fix, update, implement, move, clean, refactor, rename, check,"
    "test, review, write, modify, migrate, replace, drop, consider, improve, address, complete, keep, merge, rewrite"
)
_PLANNED = re.compile(
    r"\b"
    + _any(
        "plans?, planned, roadmap, proposals?, proposed, next steps?, future, options?, alternatives?, recommend\\w*,"
        "suggest\\w*, ideas?, could, would, (?:new|remaining|pending|open) tasks,"
        f"tasks? added, to (?:be )?{_VERBS}\\w*, goals?, requirements?, need to, needs? \\w+ing"
    )
    + r"\b"
)
_TICKED = re.compile(r"\b(?:marked|ticked|checked) (?:off|as|done|complete)", re.IGNORECASE)
_HAS_DONE = re.compile(
    r"\b(?:summary of|changes (?:and|made)|i|i've|we|we've|have been|has been|completed|implemented|done|made|fixed)\b",
    re.IGNORECASE,
)
_LONGEST_LABEL = 90
_AGENT_DID = re.compile(r"(?:i|we)(?:'ve| have)? (?:also |successfully |now )?(?=\w+ed\b|made|wrote)", re.IGNORECASE)
_LEADS_IN = re.compile(
    r"^(?:(?:phase|step|task|part) \d{1,2}\W{1,3}|(?:for|in|within|on|under) (?:the )?)"
    r"|,? (?:i|we|i've|we've|i have|we have|(?:with|by|to do) the following|as follows|by|to)\s*:?$",
    re.IGNORECASE,
)
_PIECE = re.compile(
    r"(?:`[^`\n]*[=;:][^`\n]*`|`[a-z]{1,10}`(?= (?:block|statement|clause|loop|branch|call|keyword))|`[^`\n]{1,60}`)"
    r"(?:(?:,| and| or) `[^`\n]{1,60}`){0,4}(?= (?:param\w*|arguments?|args?|fields?|variables?|propert\w+|attributes?"
    r"|keys?|values?|blocks?|statements?|clauses?|loops?|branch\w*|assignments?|dict\w*|lists?|lines?|cells?|calls?)\b)"
    r"|`[^`\n]{0,80}(?:[=;]|: )[^`\n]{0,80}`"
)
"""Code that is a piece of something else."""
_WORDING = re.compile(r"[\"“][^\"“”\n]{3,60}[\"”]")
_SAYS_NOTHING = re.compile(
    r"(?:(?:here|these|this|are|is|a|an|the|of|and|in|to|i|we|what|i've|we've|made|did|done|was|were|have|has|been|key|main"
    r"|major|minor|new|other|additional|several|some|few|two|three|four|five|all|following|summary|overview|details|changes?"
    r"|improvements?|updates?|fix(?:es)?|fixed|features?|tasks?|completed|changed|implementation|accomplished|work|added"
    r"|successfully|now|for|you|your)\b\W*)+",
    re.IGNORECASE,
)
"""A heading that tells nothing of what stands under it."""

_ABOUT_CODE = frozenset({Kind.ARCHITECTURE, Kind.DISCOVERY, Kind.WARNING, Kind.PATTERN})
_SETS_ABOUT = re.compile(
    r"(?:so |now |then |but )?"
    + _any("let me, let's, i'll, i will, i'm going to, (?:(?:i|we) )?(?:also )?needs? to, i should, time to, going to")
    + r"(?: (?:now|also|just|first|quickly))? "
    + _any(
        "fix, rewrite, add, use, update, change, replace, remove, adjust, correct, make, set, switch, move, handle,"
        "drop, rename, refactor, modify, patch, import, create, write, restore, revert, install, skip, apply, simplify,"
        "ensure, convert, reformat, initiali[sz]e, address, resolve, clean, delete, extend, rework, unify, merge, wrap"
    )
    + r"\b"
)
_LINTED = re.compile(
    r"\b(?:lint\w*|type[- ]check\w*|mypy|pyright|ruff|eslint|flake8|pylint|clippy|dialyzer|credo|tsc)\b.{0,60}"
    r"\b(?:complain\w*|reports?|reported|found|flag\w*|errors?|warnings?|issues?|says)\b"
)
_GOES_ON = re.compile(r"(?:most|some|only|each|both|they|it)\b")
_PUT_RIGHT = re.compile(
    r"by \w+ing\b|(?:the )?fix (?:is|was)\b|(?:(?:i|we)(?:'ve| have)? )?(?:now |also )?"
    + _any("added, changed, replaced, updated, removed, moved, made, switched, fixed, rewrote, renamed, wrapped, set")
    + r"\b|ǂ+ now |(?:it|that|they) now "
)
_PROPOSAL = re.compile(
    r"\bproposal\b|\bproposed (?:\w+ )?(?:changes?|plan|solution|design|approach|architecture|structure|fix)\b"
    r"|\bimplementation plan\b",
    re.IGNORECASE,
)
_TELLS_WHEN = re.compile(
    r"\b"
    + _any(
        "only, never, always, not, n't, even, unless, instead, without, silently, when, whenever, if, because, before,"
        "after, by default, while, but, until, rather, otherwise, so that, first, regardless, which, no"
    )
    + r"\b|n't\b"
)
_NESTED = 3
_CODE = re.compile(r"`[^`\n]{2,120}`")


def _announced(said: Sequence[Passage]) -> frozenset[str]:
    """The names of code that a message says it is about to change."""
    about = (part for passage in said for part in sentences(passage.text) if _SETS_ABOUT.search(part.shadow))
    return frozenset(name for part in about for name in _CODE.findall(part.text))


def _passing(kind: Kind, sentence: Sentence, following: Sentence, passage: Passage, announced: frozenset[str]) -> bool:
    """Whether a sentence about the code is about to be outdated, or is a step of an account and no fact by itself."""
    if kind not in _ABOUT_CODE:
        return False
    linted = _LINTED.search(passage.text.lower()) or _LINTED.search(passage.heading.lower())
    if linted or _SETS_ABOUT.match(following.shadow) or announced.intersection(_CODE.findall(sentence.text)):
        return True
    step = passage.item and kind in {Kind.ARCHITECTURE, Kind.DISCOVERY}
    return step and (
        passage.depth >= _NESTED or len(sentence.text) < _LONG_ITEM or not _TELLS_WHEN.search(sentence.shadow)
    )


# --- Where a sentence begins -----------------------------------------------------------------------------------------

_LEAD_IN = re.compile(
    _any(
        "ok, okay, so, and, but, also, however, additionally, furthermore, moreover, ah, oh, wait, hmm, interesting,"
        "yes, right, good, great, perfect, excellent, actually, indeed, in fact, basically, essentially, overall,"
        "as a result, therefore, thus, meanwhile, finally, first, second, specifically, in short, in other words,"
        "interestingly, importantly, unfortunately, fortunately, worth noting, it's worth noting that,"
        "one thing to note is that, looking at ǂ+, good news, for context, currently, by the way, now i see that,"
        "i (?:can )?(?:now )?see(?: now)? (?:that|from ǂ+ that), i notice(?:d)?(?: that)?, now i understand"
    )
    + r"[\s,.:;!—–-]+"
)
_FOUND = re.compile(
    r"(?:now )?(?:i|we) (?:now )?know that |(?:i|we)(?:'ve| have)? (?:just )?"
    + _any("found, discovered, learned, confirmed, verified, realized, identified, determined, figured")
    + r"(?: out)? that |(?:i )?found (?:it|the (?:root )?(?:issue|bug|problem|cause|culprit))(?:: | [—–-] )"
    r"|(?:as )?(?:it )?turns out(?: that|,)? "
    r"|(?:the )?(?:key |main |important )?(?:finding|discovery|insight|takeaway|lesson)(?: here)?(?: is(?: that)?|:) "
)
_NOTED = re.compile(
    r"(?:important(?:ly)?:? |(?:please )?note(?: that|:)? |be aware that |keep in mind that |caution:? |warning:? )"
)
_CAUSE = re.compile(
    r"(?:the )?(?:root |real |actual |underlying |main )?(?:cause|issue|problem|bug|culprit|reason)"
    r"(?: (?:of|for|behind|with) [^,.:]{2,60})? was(?: that|:)? "
)
"""How an agent tells what had been wrong."""
_ROOT_CAUSE = re.compile(r"(?:the )?(?:root|underlying) cause(?: (?:of|for|behind) [^,.:]{2,60})? is(?: that|:)? ")
_AGENT = re.compile(r"(?:i'll|i will|i've|i have|i|we'll|we will|we've|we have|we) ")
_OFFER = re.compile(r"[;,—–-]{1,3} (?:if you|let me know|say so|tell me|happy to|want me)\b")


def _lead(shadow: str) -> int:
    """Where what is said begins, after words that only lead in to it."""
    at = 0
    while found := _LEAD_IN.match(shadow, at) or _FOUND.match(shadow, at) or _NOTED.match(shadow, at):
        at = found.end()
    agent = _AGENT.match(shadow, at)
    if agent and any(verb.match(shadow, agent.end()) for verb in (_CHOSE, _CHOOSE, _FIXED)):
        at = agent.end()
    return at


def _core(shadow: str) -> tuple[int, int]:
    """Where what is worth keeping of a sentence begins and ends."""
    at = _lead(shadow)
    cause = _CAUSE.match(shadow, at) or _ROOT_CAUSE.match(shadow, at)
    offer = _OFFER.search(shadow, at)
    return (cause.end() if cause else at), (offer.start() if offer else len(shadow))


_COLON = re.compile(r": (?=ǂ|the ǂ|there |it turns out)")


def _after_colon(sentence: Sentence) -> Sentence:
    """What follows a colon, where it is a sentence of its own that names what it is about."""
    colon = _COLON.search(sentence.shadow, 12)
    at = colon.end() if colon else 0
    return Sentence(sentence.text[at:], sentence.shadow[at:])


# --- Sentences that say nothing for later ----------------------------------------------------------------------------

_HEDGED = re.compile(
    r"\b"
    + _any(
        "might, maybe, perhaps, probably, likely, unlikely, a possible, seems?, seemed, appears?, appeared, looks like,"
        "possibly, could be, could have, i think, i believe, i guess, i suspect, presumably, not sure, unclear, unsure,"
        "should be fine, should work, would be, would have, supposedly, apparently, somehow, if needed, optionally,"
        "could add, we could, you could, i could, may be, may have, may need, potential, potentially, assuming,"
        "wondering, let's, let me, i'll, i will, we'll, i'm going to, going to, i need to, we need to, need to,"
        "i should, we should, i want to, want me to, would you, shall i, should i, next step, for now, tbd, todo,"
        "typically, usually, normally, in general"
    )
    + r"\b|\?"
)
_UNSURE = re.compile(
    r"\b"
    + _any(
        "no (?:major )?changes?, will be removed, to be (?:added|removed), should, could, might, maybe, probably,"
        "seems, appears, likely, you, your, todo, tbd, deprecated, obsolete, not yet"
    )
    + r"\b|\?"
)
_POINTING = re.compile(
    r"\blines? [0-9~]|(?<!^if )\bif ǂ+ is[^,]*$"
    r"|\b(?:this|these|those)\b(?! (?:project|repo|repository|codebase|code base|package|app|application|library)\b)"
    r"|\b"
    + _any(
        "above, below, the following, follows:, earlier, previous, previously, aforementioned, as shown, as seen,"
        "as mentioned, as requested, as expected, as you, you, your, you're, you've, user wants?, user asked,"
        "user reported, user mentioned, the user's?, here's, here is, here are, the output, the screenshot, the image,"
        "my, i, i'm, i've, we've, our changes?, the latter, the former, the same (?:way|issue|thing|approach|problem),"
        "sample, test file, test data, debug, the summary, accordingly, both of them, step [0-9], option [0-9a-c],"
        "phase [0-9], task [0-9], issue [0-9#], (?:for|in|of|with|on|at|to|from|by) that"
    )
    + r"\b(?!-)"
)
"""Words that lean on the session."""
_OF_THE_MOMENT = re.compile(
    r"\b"
    + _any(
        "still, already, again, so far, at this point, yet, pre-existing, just, originally, anymore, at all, them,"
        "example, the same, old"
    )
    + r"\b(?!-)"
)
_SUBJECT = re.compile(
    _any(
        "it, its, it's, that, that's, they, they're, them, he, she, there, there's, here, such, both, same, which,"
        "what, then, one, another, each, either, neither, no, not, all good, all done, everything, nothing, something,"
        "when, where, why, how, because, since, while, although, if so, otherwise, instead, to, for, with, by, in, on,"
        "at, from, after, before, once, only, even, other, others, another, some, most"
    )
    + r"\b"
)
_THING = _any(
    "issues?, problems?, errors?, bugs?, fix(?:es)?, changes?, solution, tests?, test suite, functions?, methods?,"
    "code, files?, class(?:es)?, output, implementation, current \\w+, existing \\w+, new \\w+, old \\w+, first,"
    "second, third, last, next, original \\w+, actual \\w+, only \\w+, other \\w+, remaining, rest, results?, logic,"
    "script, component, module, page, query, command, hook, feature, template, model, check, task, work, code quality,"
    "build, type checker, linter, assertion, failing \\w+, two, three, four, data, content, text, messages?, user,"
    "approach, key, main, most, best, simplest, table, list, field, value, variable, error message, refactoring,"
    "improvements?, updates?, design, styling, setup, features?, combination, ui, app, system"
)
_VAGUE_SUBJECT = re.compile(rf"(?:the |a |an |all |our |your )?{_THING}\b(?! ǂ)")
_PROGRESS = re.compile(
    r"\b"
    + _any(
        "now, successfully, is working, are working, works? (?:correctly|perfectly|great|fine|well|as), passing,"
        "tests? pass\\w*, (?:all|suite|checks?|build)(?: \\w+)? pass\\w*, compiles?, completed?, is done, are done,"
        "is ready, (?:has|have)(?: \\w+)? been, was, were, had, didn't, did not, wasn't, weren't, fails?, failed,"
        "failing, is missing, are missing, (?:doesn't|does not|don't) (?:exist|validate|check|handle|work),"
        "unused, undefined, is wrong, is incorrect, is broken, not being, isn't being, is not working, isn't working,"
        "needs? to be, but (?:we|we're|our|the|is|it|it's|should|being), so (?:the|it|we|they|that|no), should,"
        "causing, trying to, redundant, obsolete, being used, problematic, too (?:many|much|complex|long), exceed\\w*,"
        "incorrectly, correctly, properly, addressed, (?:have|has|is|are) valid, all exist,"
        "is the (?:idiomatic|standard|usual|right|correct|common) (?:pattern|way|approach)"
    )
    + r"\b"
)
"""How the work goes, and what was wrong before it was put right."""
_PRAISE = re.compile(
    r"\b"
    + _any(
        "ensures?, ensuring, improv\\w+, better, cleaner, much, excellent, comprehensive, seamless\\w*, smooth\\w*,"
        "robust, professional, maintainab\\w+, readab\\w+, incredibl\\w+, powerful, blazing\\w*, elegant\\w*"
    )
    + r"\b"
)
_IN_PASSING = re.compile(
    r"\b"
    + _any(
        "assertions?, expectations?, docstrings?, comments?, unused, linter, lint, linting, typos?, formatting,"
        "indeed, changelog, line lengths?, type (?:hints?|annotations?), quotes, commas?, whitespace,"
        "test (?:files?|cases?|setup|data), mocks?, (?:the|this|these|failing|broken|existing|both|all) tests?"
    )
    + r"\b|^\w+ed (?:existing |the |all ){0,3}(?:tests?|imports?)\b"
    r"|\b(?:todo|changelog|readme|log|progress|cleanup|license)\.(?:md|txt)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"`[^`\n]*[A-Za-z][^`\n]+`|\b[a-z0-9]+_[a-z0-9_]+\b|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z0-9]+[A-Z]\w+\b|\b\w+\(\)"
    r"|(?<![\w/])[\w-]+/[\w./-]+\b|--[a-z][\w-]+|\b[A-Z]{1,8}[0-9_][A-Z0-9_]+\b|\b[A-Z][\w.+-]*\s?v?\d[\w.]*"
    r"|\b[\w-]+\.(?:py|js|ts|tsx|jsx|rs|go|rb|exs?|java|kt|css|html|json|ya?ml|toml|md|sql|sh|c|h)\b"
)
_FOREIGN = re.compile(r"[\u0370-\u1fff\u2e80-\ud7ff\uf900-\ufaff]")
"""Letters that no English is written with."""
_PROPER = re.compile(r"(?<=[\w,)] )[A-Z][A-Za-z0-9.+#]{2,}\b")


_LEADS_ON = re.compile(
    r"\b(?:several|various|multiple|different|a number of|a few|many|two|three|four) (?:[a-z-]+ ){0,2}[a-z]+s[.:]?$"
)
"""How a sentence ends whose matter is in what follows it."""


def _stands_alone(shadow: str) -> bool:
    """Whether somebody who has not seen the session would know what is meant."""
    leans = _SUBJECT.match(shadow) or _VAGUE_SUBJECT.match(shadow) or _POINTING.search(shadow)
    return not leans and not _LEADS_ON.search(shadow)


# --- Labels and headings ---------------------------------------------------------------------------------------------

_EXCLAIMED = re.compile(r"(?:fixed|done|found it|got it|confirmed|yes|perfect|great|ok)[.!] +", re.IGNORECASE)
_LABEL = re.compile(r"([A-Za-z][\w '’/&()-]{1,38}?)(?::| [-–—])\s+(?=\S)")
_HEADED = re.compile(rf"{_LABEL.pattern}|\(?[0-9a-z]\) ")
"""How a piece of a list begins that was run together, and no sentence."""
_OF_CAUSE = re.compile(
    r"(?:the )?(?:root |real |actual |underlying )?"
    + _any("causes?, problem, issue, bug, what (?:was|went) wrong, why it (?:failed|broke)")
    + r"(?: was| identified| found)?$"
)
_OF_FIX = re.compile(
    r"(?:the )?(?:fix|solution|resolution|workaround|how (?:i|it was) fixed(?: it)?)(?: applied)?$|fixed$"
)
_OF_DECISION = re.compile(
    r"(?:(?:key|design|technical|architectur\w+|main) ){0,2}(?:decisions?|choices?)(?: made)?$|decided$|chose$"
)
_OF_WARNING = re.compile(
    r"(?:(?:important|one|a|key) ){0,2}(?:notes?|caveats?|warnings?|gotchas?|(?:known )?limitations?|heads[- ]up"
    r"|pitfalls?|important|thing to note)$"
)
_OF_PATTERN = re.compile(
    r"(?:(?:key|existing|code|naming|project|codebase|common) ){0,2}(?:conventions?|patterns?|idioms?)"
    r"(?: (?:found|used|to follow|in use|observed))?$"
)
_OF_ARCHITECTURE = re.compile(
    r"(?:(?:current|overall|system|high-level|key) ){0,2}(?:architecture|data flow|how it works|control flow"
    r"|request flow|module structure|responsibilities|components|layers|pipeline)(?: overview)?$"
)
_OF_DISCOVERY = re.compile(
    r"(?:(?:key|main|important) ){0,2}(?:findings?|insights?|discover(?:y|ies)|observations?|takeaways?|learnings?)$"
)
_KNOWN = (_OF_CAUSE, _OF_FIX, _OF_DECISION, _OF_WARNING, _OF_PATTERN, _OF_ARCHITECTURE, _OF_DISCOVERY)


def _labelled(passage: Passage) -> tuple[str, str]:
    """The label a passage begins with, in small letters, and the rest; no label where it has none of those known."""
    text = _EXCLAIMED.sub("", passage.text)
    found = _LABEL.match(text)
    label = found[1].lower().replace("’", "'") if found else ""
    if found and any(known.match(label) for known in _KNOWN):
        return label, text[found.end() :]
    return "", text


# --- Errors that were resolved ---------------------------------------------------------------------------------------

_FIXED = re.compile(r"(?:fixed|resolved|solved|corrected) (?=.{12})")
_OF_TESTS = re.compile(r"(?:(?:the|both|all|these|some|two|three) )?(?:\w+ )?tests? (?!runner|suite|database|env)")
_WAS_WRONG = re.compile(r"\b(?:was|were|wasn't|weren't|didn't|did not) ")
_TO_DO = re.compile(
    _any(
        "use, update, add, change, replace, remove, move, make, set, switch, fix, create, rename, wrap, pass, call,"
        "check, skip, convert, ensure, install, run, revert, refactor, extract, split, handle, return, import, store,"
        "drop, delete, validate, either, need, needs, consider, the (?:fix|issue|problem|solution), try, should"
    )
    + r"\b",
    re.IGNORECASE,
)
_IS_DONE = re.compile(
    r"\b(?:fixed|done|applied|resolved|implemented|tests? (?:now )?pass|passing|committed)\b", re.IGNORECASE
)
_ASKS_LEAVE = re.compile(
    r"\b(?:ready to proceed|want me to|would you like|shall i|should i|do you want|proposed|proposal|which (?:option"
    r"|approach)|let me know (?:if|which|whether))\b",
    re.IGNORECASE,
)
_DID = re.compile(r"(?:i |we )?(?:added|changed|replaced|updated|removed|moved|made|switched|now|fixed)\b")


def _resolutions(said: Sequence[Passage]) -> Iterator[tuple[int, str, str]]:
    """What was wrong and how it was put right, where a message tells both, one after the other.

    A fix in the imperative is one where the message says that it was made, and asks for no leave to make it.
    """
    whole = "\n".join(passage.text for passage in said)
    done = _IS_DONE.search(whole) is not None and _ASKS_LEAVE.search(whole) is None
    for at, (one, other) in enumerate(zip(said, [*said, Passage("")][1:], strict=True)):
        cause, fix = _wrong(one), _right(other)
        parts = [*sentences(cause)]
        if len(parts) > 1 and _DID.match(parts[-1].shadow):
            cause, fix = " ".join(part.text for part in parts[:-1]), parts[-1].text
        if cause and fix.endswith(":"):
            fix = f"{fix} {', '.join(_list_after(said[at + 2 :]))}" if at + 2 < len(said) else ""
        if cause and fix and not _garbled(cause) and not (_TO_DO.match(fix) and not done):
            yield at, cause, fix


def _list_after(said: Sequence[Passage]) -> Iterator[str]:
    """The next passage, and those that are items of one list with it."""
    for at, passage in enumerate(said[:6]):
        if at and not (passage.item and passage.depth == said[0].depth and said[0].item):
            return
        yield passage.text.rstrip(" .")


def _garbled(text: str) -> bool:
    """Whether a name is told apart from itself."""
    names = _CODE.findall(text)
    return len(names) > len(set(names)) and " instead" in text and len(set(names)) < 3


def _wrong(passage: Passage) -> str:
    """What a passage says was wrong; "" where it is about something else or leaves it open."""
    label, rest = _labelled(passage)
    first = next(sentences(rest), None)
    if first is None:
        return ""
    at = _lead(first.shadow)
    labelled = _OF_CAUSE.match(label or passage.heading.lower())
    if not labelled and not (_FOUND.search(first.shadow[:at]) and _WAS_WRONG.search(first.shadow)):
        return ""
    cause = rest[at:]
    unclear = cause.endswith(":") or len(cause) < _SHORTEST or _HEDGED.search(first.shadow, at)
    return "" if unclear or _SUBJECT.match(first.shadow, at) or _OF_TESTS.match(first.shadow, at) else cause


def _right(passage: Passage) -> str:
    """What a passage says put it right; "" where it does not."""
    label, rest = _labelled(passage)
    first = next(sentences(rest), None)
    if first is None or _OF_CAUSE.match(label):
        return ""
    at = _lead(first.shadow)
    labelled = _OF_FIX.match(label or passage.heading.lower())
    return rest[at:] if labelled or (not label and _FIXED.match(first.shadow, at)) else ""


# --- What the parts are for ------------------------------------------------------------------------------------------

_PART_NOUN = _any("module, class, function, component, service, hook, file, engine, layer, view, worker, store")
_PART = re.compile(
    r"(`[^`\n]{2,80}`|[A-Z][a-z0-9]+[A-Z]\w{2,60}|(?:[\w@.-]{1,60}/){1,8}[\w.@-]{1,60}\.[a-z]{1,5})"
    rf"(?: {_PART_NOUN})?(?: \([^)\n]{{1,40}}\))?"
    r"(?::| [-–—]) (?=[A-Za-z])(.{12,200})"
)
_HAS_PURPOSE = re.compile(
    r"`?(?:(?:[\w@.-]{1,60}/){0,12}[\w.@-]{1,80}(?:\.[a-z]{1,5}|/)|[A-Z]\w*[a-z][A-Z]\w*|\w{3,}\([^)`]{0,60}\))`?$"
)
"""A file, a folder, a type or a function."""
_CHANGE = re.compile(
    r"(?:add|creat|updat|fix|remov|renam|merg|extract|replac|implement|handl|mov|refactor|rewr|simplif|chang|delet"
    r"|expos|introduc|extend|improv|split|new|enhanc|test(?:s|ing)?\b|contains? \d|mark|modif|adjust|convert|clean|now"
    r"|document|read\b|not\b|this\b|major\b|minor\b|various\b|\w+ed\b|set\b|use\b|when\b|if\b|skip|needs?\b|same\b"
    r"|make\b|pass(?:es)?\b|in the\b|call\b|drop|switch|wir|also\b|still\b|already\b|\d)",
    re.IGNORECASE,
)
_DOES = re.compile(
    _any(
        "loads, calls, returns, maps, creates, validates, uses, removes, extracts, converts, pushes, handles, stores,"
        "reads, writes, parses, renders, wraps, exposes, provides, generates, builds, sends, emits, registers,"
        "supports, accepts, takes, requires, checks, filters, sets, computes, delegates, implements, inherits, extends,"
        "contains, tracks, manages, runs, starts, listens, polls, retries, caches, logs, raises, throws, skips,"
        "ignores, falls back, merges, sorts, groups, splits, defines, reports, strips, resolves, matches, dispatches,"
        "queries, fetches, holds, keeps, needs, expects, looks, shows, works, makes, adds, updates, replaces, prevents,"
        "allows, lets, avoids, catches, detects, formats, applies, includes, is, are, has, means, operates, applies"
    )
    + r"\b",
    re.IGNORECASE,
)
_IS_PART = re.compile(
    rf"(?:the )?(?:`[^`\n]{{3,80}}`|[A-Z]\w*[a-z][A-Z]\w+|\w+_\w+)(?:\(\))?(?: {_PART_NOUN}){{0,2}}"
    r"(?: \([^)\n]{1,120}\))?$"
)
_ASIDE = re.compile(r"\s*\((?:lines?|L)?\s*[\d,– -]+(?: lines)?\)|^[\d.]+\s+")


def _parts(said: Sequence[Passage]) -> Iterator[Finding]:
    """Items one after the other that say what each part of the code is for, as one finding.

    One among them that tells a change or leaves something open makes all of them a list of changes.
    """
    run: list[str] = []
    spoilt, depth, whole = False, 0, ""
    for passage in [*said, Passage("")]:
        if (run or spoilt) and passage.item and passage.depth > depth:
            continue
        part = _PART.match(passage.text) if passage.item and not _of_changes(passage) else None
        if part and _HAS_PURPOSE.match(part[1]):
            spoilt |= bool(_CHANGE.match(part[2]) or _UNSURE.search(part[2].lower()) or _FOREIGN.search(part[2]))
            run.append(f"{part[1]}: {first_clause(_ASIDE.sub('', part[2]))}")
            depth, whole = passage.depth, _ASIDE.sub("", passage.heading)
            continue
        if not spoilt and len(run) >= 2 and 2 * sum(len(each.split()) >= 5 for each in run) >= len(run):
            of = f"{whole}: " if _IS_PART.match(whole) and not any("." in each.split(":")[0] for each in run) else ""
            yield finding(Kind.ARCHITECTURE, of + "; ".join(run), 0.7)
        run, spoilt = [], False


_OF_CHANGES = re.compile(
    r"\b(?:modified|changed|changes|updated|updates|fix|fixes|fixed|edits?|edited|removed|deleted|touched|reviewed|verified"
    r"|failures?|failing|tests?|to (?:be )?(?:built|build|add|change|do)|needs?|missing|state|commands?|git log)\b"
)


def _of_changes(passage: Passage) -> bool:
    """Whether what stands under a heading is about the work, and not about what there is."""
    above = f"{passage.section}\n{passage.heading}".lower()
    return _proposed(passage) or _OF_CHANGES.search(above) is not None


def _proposed(passage: Passage) -> bool:
    return proposes(passage.heading) or proposes(passage.section) or planned(passage)


def _described(said: Sequence[Passage]) -> Iterator[Finding]:
    """Items under the name of a part of the code that say what it does, as one finding."""
    under: dict[str, list[str]] = {}
    for passage in said:
        headings = (_ASIDE.sub("", each) for each in (passage.heading, passage.section))
        subject = next((each for each in headings if _IS_PART.match(each)), "")
        if passage.item and subject and _DOES.match(passage.text) and not _proposed(passage):
            what = first_clause(_ASIDE.sub("", passage.text))
            if not any(doubt.search(what.lower()) for doubt in (_UNSURE, _PROGRESS, _PRAISE)):
                under.setdefault(subject, []).append(what[:1].lower() + what[1:])
    for subject, does in under.items():
        if len(does) >= 2:
            yield finding(Kind.ARCHITECTURE, f"{subject.rstrip(' :')}: {'; '.join(does)}", 0.7)


# --- What makes a sentence a finding ---------------------------------------------------------------------------------

_CHOSE = re.compile(
    _any(
        "used, using, went with, gone with, chose, decided (?:to|on|against|not to), opted (?:for|to), kept, switched,"
        "replaced, changed, renamed, merged, dropped, avoided, stored, put, made, stuck with, settled on, picked,"
        "preferred, deliberately, intentionally, deferred, limited, disabled, pinned, moved, split, skipped, removed,"
        "left, refactored, rewrote, migrated, converted, implemented, added, modified, updated, maintained, preserved"
    )
    + r"\b"
)
_CHOOSE = re.compile(r"(?:use|go with|keep|store|put|make|avoid|stick with|prefer|skip|leave)\b")
"""A choice where "I'll" stands before it; advice where it does not."""
_REASON = re.compile(
    r"\b(?:because(?! of)|since(?! (?:it's |it is |they're |they are )?(?:no longer|unused))|so that|instead of"
    r"|rather than|so (?:it|they|the|we|that|users?|ǂ+) |in favou?r of|to avoid|to prevent|to preserve|which avoids"
    r"|as opposed to|due to|to (?:follow|match|comply))"
)
_WEAKLY = re.compile(
    _any("added, updated, modified, implemented, changed, made, put, refactored, rewrote, converted, moved, split")
    + r"\b"
)
"""What is done all the time, and a choice only where something else was not chosen."""
_RATHER = re.compile(r"\b(?:because(?! of)|since|instead of|rather than|in favou?r of|as opposed to)\b")
_AN_EDIT = re.compile(
    r"\w+ (?:the )?(?:ǂ+|[a-z-]+)(?: (?:method|function|call|test|class|variable|import|check|query))? "
    r".*ǂ (?:instead of|rather than) (?:the )?ǂ|.*\bwhen \w+ing\b"
)
"""One name of the code put for another."""
_NO_CHOICE = re.compile(
    r"\b(?:since|because|as|so) (?:it|they|that|this)(?:'s|'re| is| are| was| were) (?:an? |the )?(?:already |still )?"
    + _any("valid, correct, right, fine, needed, used, useful, necessary, relevant, important, required, good, ok\\w*")
    + r"\b|\balready\b|\b(?:fail(?:s|ed)|broke|didn't|errors? out)\b|\bfor (?:better|improved|more|cleaner|easier)\b"
)
"""Where something stays because nothing speaks against it, or is tried because something else did not work."""
_OF_AGENT = re.compile(
    r"(?:use|used|using|go with|went with) (?:the )?`?"
    + _any("write_file, read_file, cat, sed, awk, grep, rg, find, curl, git, edit, replace, apply_patch, heredoc")
    + r"\b|(?:use|keep|leave|put|make|skip) .{1,80} to (?:append|check|run|find|see|verify|read|edit|inspect|look)\b",
    re.IGNORECASE,
)
"""What the agent does its work with."""
_ON_PURPOSE = re.compile(
    r"\b(?:deliberately|intentionally|by design|on purpose)\b.*"
    r"\b(?:rather than|instead of|so that|because|to avoid|to keep)\b"
)
_MENDED = re.compile(
    r"(?:fixed|resolved|corrected|worked around|solved) (?!by|with|via|it|that|in|this|all)\b.{8,200}?"
    r" (?:by (?:\w+ing|ǂ)|so that |because |rather than |instead of )"
)
_NO_ERROR = re.compile(r"\w+ (?:the )?ǂ+(?: (?:script|file|module|page|code|component|tests?))? by\b|.*\bproblematic\b")
"""A file was put right, and nothing says what was wrong with it."""
_RISK = re.compile(
    r"\bmust (?:not|never|always)\b"
    r"|\bmust (?:be|match|have|come|run|use|include|call|stay|remain|exist)\b.*"
    r"\b(?:otherwise|or else|because|since|before|after|unless|to avoid|or (?:the|it|ǂ+))\b"
    r"|\b(?:will|would|can) (?:silently |also )?"
    r"(?:break|fail|crash|hang|corrupt|deadlock|leak|overwrite|be lost|be ignored)\b"
    r"|\b(?:won't|doesn't|does not|cannot|can't|will not) work (?:if|when|with|without|unless|on|in|because)\b"
    r"|\bonly works? (?:if|when|with|in|on)\b|\b(?:be careful|careful:|beware|watch out)\b"
    r"|^(?:never|don't|do not|avoid) (?:use|call|edit|run|commit|import|rely|mutate|modify|pass)(?:ing)?\b"
    r"|\b(?:breaks|crashes|fails|hangs) (?:if|when|unless|on)\b"
    r"|\bis not (?:thread-safe|supported|available|compatible)\b"
)
_CAUTIONS = re.compile(
    r"\b"
    + _any(
        "must, never, cannot, only, unless, otherwise, before, careful\\w*, break\\w*, fails?, lost, los(?:es|ing),"
        "overwrit\\w+, requires?, needs?, without, manual\\w*, ignor\\w+, silently, crash\\w*, race, leaks?,"
        "deprecated, not, limit\\w*, slow\\w*, no longer, drops?, times? out, differs?, different, conflict\\w*"
    )
    + r"\b|n't\b"
)
_OVER = re.compile(r"\b(?:now|successfully|has been|have been|was|were|all tests|added|passing)\b")
_CUSTOM = re.compile(
    r"(?:the |this )?(?:codebase|code base|project|repo|repository|app|tests(?: here)?"
    r"|(?:existing|other) (?:code|tests|components|modules|handlers|services|routes|pages))"
    r"(?: in [^,.]{2,40})? (?:consistently |already |mostly |all )?"
    r"(?:uses?|follows?|relies|stores?|keeps?|names?|puts?|wraps?|expects?|has a|have a|separates?)\b"
    r"|all (?:other |the |existing |new )?(?:[\w-]+ ){0,3}"
    r"(?:use|follow|live|inherit|extend|have|go|return|take|implement|share"
    r"|are (?:named|stored|defined|registered|wrapped|written|placed|prefixed|generated))\b"
    r"|(?:the )?(?:naming |project |code |existing )?convention (?:is|here|for|used)\b|by convention\b"
    r"|[^.]{5,80}\b(?:throughout|across) the (?:codebase|project|repo)\b"
)
_HABITUAL = re.compile(
    r"\b"
    + _any(
        "all(?! (?:two|three|four|five|six|[0-9]+)\\b), every, each, consistently, throughout, across, always, never,"
        "instead of, rather than, conventions?, named, prefix\\w*, suffix\\w*, everywhere, for (?:\\w+ ){0, 2}\\w+ing,"
        "starts? with, ends? with, pattern, via, only"
    )
    + r"\b"
)
"""What makes a custom of what is told: it holds for many things, or excludes others."""
_WHAT = _any(
    "module, class, function, component, service, hook, file, template, package, table, endpoint, method, script,"
    "command, struct, trait, library, layer, macro, field, flag, option, parameter, attribute, type, model,"
    "middleware, plugin, route, handler, job, worker, view, store, context, api, helper, schema, column, config,"
    "tests?, directory, folders?, files, models, hooks, components, modules, functions, classes, methods, fields,"
    "decorator, property, interface, protocol, engine, client, server, provider, adapter, parser, renderer, argument"
)
_ASKED = _any(
    "explain, show, describe, how, why, what, see, check, run, make, let, ensure, verify, find, look, read, write,"
    "(?:the )?[a-z]+ shows"
)
_NAMED = (
    rf"(?!{_ASKED}\b)(?:the (?:[a-z-]+ ){{1,3}}in |(?:the |each |every |an? )?(?:[a-z][a-z-]+ ){{0,2}}?)ǂ+(?:'s \w+)?"
    rf"(?:(?:,| and| or) ǂ+){{0,3}}(?: \([^)]{{1,60}}\))?(?: {_WHAT})?,? "
    r"(?:(?:only|also|then|always|never|[a-z]{3,12}ly) )?"
)
"""A sentence that begins with a name, up to its verb."""
_OF_PARTS = re.compile(
    r"[a-z][a-z -]{2,40} (?:flows?|goes|go|pass|passes|is routed|are routed) (?:through|from|via|to) ǂ|"
    + _NAMED
    + _any(
        "handles, manages, loads, calls, delegates, depends on, wraps, extends, inherits, implements, exposes,"
        "orchestrates, coordinates, is responsible for, lives in, sits, contains, holds, stores, reads, writes, sends,"
        "emits, publishes, subscribes, dispatches, routes, renders, parses, converts, maps, transforms, acts as,"
        "serves as, provides, maintains, tracks, consumes, produces, owns, imports, registers, is an?, is the,"
        "communicates, connects, flows, defines, is built (?:on|with|from), initializes, gathers, points, references,"
        "resolves, merges, belongs, opens, closes, looks up, queues, schedules, collects, combines,"
        "is (?:defined|located|implemented|registered|configured|stored|used|called|invoked|generated|created|mounted"
        "|loaded|populated|computed|derived|rendered|injected|run|served|compiled)"
        " (?:in|by|from|at|via|through|on|with|for|as|when)"
    )
    + r"\b"
)
_OF_FACT = re.compile(
    _NAMED
    + _any(
        "returns, expects, requires, takes, accepts, creates, generates, auto-generates, defaults to, raises, throws,"
        "ignores, skips, filters, strips, doesn't, does not, don't, cannot, can't, uses, treats, escapes, validates,"
        "supports, includes, has, have, sets, checks, runs, fires, triggers, knows, says, allows,"
        "is (?:only|not|never|always|gitignored|tracked|optional|required|deprecated|read-only|case-sensitive),"
        "is (?:read|written|parsed|loaded|called|evaluated) (?:before|after|only|once), counts, follows, rewrites,"
        "overwrites, awaits, truncates, determines, tries, waits, falls back, blocks, wins, matches, sorts, adds,"
        "removes, applies, relies, makes, keeps, gets, overrides, means, comes"
    )
    + r"\b"
)
_HAS_VERB = re.compile(
    r"\b"
    + _any("is, are, uses?, follows?, lives?, goes, go, has, have, returns?, starts, ends, takes?, must, belongs?")
    + r"\b"
)
_PAST = re.compile(r"\b[a-z]{3,}ed (?:on|in|to|by|the|an?|for|with)\b(?<!\bneed to)")
_RUN_OF_CODE = re.compile(r"ǂ+")
_OF_A_THING = re.compile(
    r"(?:the |an? )?(?:ǂ+ )"
    + _any("argument, parameter, param, field, variable, option, property, column, attribute, value, key, entry, test")
    + r"\b|(?:the )?(?:test|entry|line|row|call|error) ǂ"
)
"""A thing inside of another, which somebody who was not there would ask for."""
_IS_SORT_OF = re.compile(r"ǂ is (?:an?|the) ")
_PART_OF_SYSTEM = re.compile(
    r"\b"
    + _any(
        "modules?, services?, frontends?, backends?, workers?, layers?, clients?, servers?, databases?, queues?,"
        "pipelines?, gateways?, processes, plugins?, packages?, brokers?, cache, entry points?, singletons?,"
        "wrappers? (?:around|for)"
    )
    + r"\b"
)
_DID_SO = re.compile(r"[a-z]+ed\b")


def _kind(sentence: Sentence, label: str) -> Kind | None:
    """What kind of finding a sentence is under a label or heading, or None where it is none."""
    begin, end = _lead(sentence.shadow), _core(sentence.shadow)[1]
    led, shadow, text = sentence.shadow[:begin], sentence.shadow[begin:end], sentence.text[begin:end]
    if not _SHORTEST <= len(shadow) <= _LONGEST_SENTENCE or shadow.endswith(":") or _HEDGED.search(shadow):
        return None
    if text.count("`") % 2 or "```" in text or _FOREIGN.search(text) or _DOES.match(shadow) or _HEADED.match(text):
        return None
    chosen = bool(_CHOSE.match(shadow) or (_CHOOSE.match(shadow) and _AGENT.search(led)))
    if not (names_something(text) or (chosen and _PROPER.search(text))):
        return None
    leaning = _POINTING.search(shadow) is not None
    if _MENDED.match(shadow) or _CAUSE.match(shadow):
        named = not leaning and not minor(text) and not _NO_ERROR.match(shadow)
        return Kind.ERROR if named and _tells_wrong(shadow) else None
    labelled = _OF_DECISION.match(label) and not _PROGRESS.search(shadow)
    if chosen or labelled:
        settled = labelled or _chooses(shadow, text)
        return Kind.DECISION if settled and not leaning and not minor(text) else None
    return None if leaning else _about_code(shadow, led, label)


def _chooses(shadow: str, text: str) -> bool:
    """Whether something of the project was chosen for a reason or against something else, and not merely edited."""
    weakly = _WEAKLY.match(shadow)
    if _NO_CHOICE.search(shadow) or _OF_AGENT.match(text) or (weakly and _AN_EDIT.match(shadow)):
        return False
    return (_RATHER if weakly else _REASON).search(shadow) is not None


def _tells_wrong(shadow: str) -> bool:
    """Whether a sentence that tells what had been wrong says it to somebody who was not there."""
    cause = _CAUSE.match(shadow)
    wrong = shadow[cause.end() :] if cause else ""
    return cause is None or (len(wrong) >= _SHORTEST and not wrong.startswith("we ") and _stands_alone(wrong))


def _about_code(shadow: str, led: str, label: str) -> Kind | None:
    """What kind of finding a sentence is that tells how the code is, or None."""
    if root := _ROOT_CAUSE.match(shadow):  # what is wrong, until it is put right
        return Kind.DISCOVERY if _stands_alone(shadow[root.end() :]) else None
    passing = _OF_THE_MOMENT.search(shadow) or _DID_SO.match(shadow) or _CHOOSE.match(shadow)
    progress = _PROGRESS.search(shadow) or _PRAISE.search(shadow)
    if passing or (not progress and _CUSTOM.match(shadow)):
        return None if passing else Kind.PATTERN if _HABITUAL.search(shadow) else None
    if not _stands_alone(shadow):
        return None
    if _ON_PURPOSE.search(shadow):
        return Kind.DECISION
    noted = (_OF_WARNING.match(label) or _NOTED.search(led)) and _CAUTIONS.search(shadow)
    if (noted or _RISK.search(shadow)) and not _OVER.search(shadow):
        return Kind.WARNING
    return None if progress else _described_kind(shadow, led, label)


def _relates(shadow: str) -> bool:
    """Whether a sentence tells what one part of the code is to another."""
    return len(_RUN_OF_CODE.findall(shadow)) > 1 and not _IS_SORT_OF.search(shadow)


def _described_kind(shadow: str, led: str, label: str) -> Kind | None:
    if _OF_PATTERN.match(label):
        custom = _HABITUAL.search(shadow) and _HAS_VERB.search(shadow) and not _PAST.search(shadow)
        return Kind.PATTERN if custom else None
    if _OF_PARTS.match(shadow):
        part = _PART_OF_SYSTEM.search(shadow)
        return Kind.ARCHITECTURE if part or _relates(shadow) else None
    if _OF_ARCHITECTURE.match(label) and _OF_FACT.match(shadow):
        return Kind.ARCHITECTURE
    if _OF_CAUSE.match(label) or (_OF_A_THING.match(shadow) and len(_RUN_OF_CODE.findall(shadow)) < 2):
        return None
    found = _OF_DISCOVERY.match(label) or _FOUND.search(led) or _OF_FACT.match(shadow)
    return Kind.DISCOVERY if found else None
