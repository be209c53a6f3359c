"""What two memories are to each other: the same in other words, a change of mind, a contradiction, or simply two.

Two texts are taken apart into what they are about: words (by their stems), names, numbers, and whether they deny. What
one has and the other has not decides. No closeness of meaning alone makes two memories one: "port 8080" and "port
9090" are as close as texts can be. Wherever it is not plain what is meant, two memories are two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import TypeAlias

from ..model import Kind, Memory, Origin, Status
from .aliases import DEFAULT_ALIASES
from .query import telling_words
from .stem import stem

Alike: TypeAlias = Callable[[str, str], bool]
"""Whether two stems mean nearly the same."""


class Said(StrEnum):
    """What a newer text says beside an older one."""

    SAME = "same"
    CHANGED = "changed"
    """The same thing, with another value, and that the old one no longer holds."""
    OTHER = "other"
    """The same thing with another value, without a word about the old one."""
    OPPOSED = "opposed"
    """The opposite."""
    APART = "apart"


class Verdict(StrEnum):
    """What is to happen to a new memory beside one that is there."""

    NEW = "new"
    SAME = "same"
    SUPERSEDES = "supersedes"
    CONTRADICTS = "contradicts"


@dataclass(frozen=True, slots=True)
class _Token:
    """One word of a text: its stem, what sort it is, the word before it as it stands there, and its place."""

    stem: str
    sort: str
    """`word`, `name` (a name, an identifier, code, a day), or `number`."""
    after: str
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A text taken apart."""

    text: str
    tokens: tuple[_Token, ...]
    denies: bool
    """Whether it says not to, or that something is not so."""
    changes: frozenset[str]
    """The words in it that tell of a change."""
    stems: frozenset[str]
    """What it is about."""

    def of_sort(self, sort: str) -> frozenset[str]:
        """Its names, or its numbers."""
        return frozenset(token.stem for token in self.tokens if token.sort == sort)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """When a new memory is the same as one that is there, and when it may take its place."""

    same_cover: float = 0.8
    """What share of what each says the other must say too."""
    same_cosine: float = 0.65
    """How close in meaning they must be at the least, where that is known."""
    same_cosine_usual: float = 0.7
    """The closer they are beyond this, the less need be said in the same words; and the other way round."""
    supersede: bool = True
    """Whether anything is superseded without asking."""
    settled: timedelta = timedelta(hours=24)
    """How long an older memory must have stood for a plain other value to be a change and not a disagreement."""


def verdict(said: Said, older: Memory, newer: Memory, *, now: datetime, rule: Consolidation) -> Verdict:
    """What is to happen to a new memory, from what it says beside one that is there, and from who says it.

    It takes the other's place only if it is a correction or plainly newer, and is trusted as far; what is pinned gives
    way to nobody unasked. That something has changed, the user is believed at once, and others once the older one has
    stood for a while. Otherwise both are kept, as a contradiction for somebody to resolve.
    """
    if said is Said.APART or older.season != newer.season or _apart_in_time(older, newer):
        return Verdict.NEW
    if said is Said.SAME:
        return Verdict.SAME if _nothing_lost(older, newer) else Verdict.NEW
    if not rule.supersede or older.status is Status.PINNED or newer.trust < older.trust:
        return Verdict.CONTRADICTS
    if newer.kind is Kind.CORRECTION or newer.origin is Origin.USER_CORRECTED:
        return Verdict.SUPERSEDES
    stood = now - (older.confirmed_at or older.created_at) >= rule.settled
    if said is Said.CHANGED and (stood or newer.origin is Origin.USER_STATED):
        return Verdict.SUPERSEDES
    return Verdict.SUPERSEDES if said is Said.OTHER and stood and older.kind not in _EVENTS else Verdict.CONTRADICTS


_EVENTS = frozenset({Kind.DISCOVERY, Kind.ERROR, Kind.FILE_CHANGE, Kind.TASK_PROGRESS, Kind.SUMMARY})
"""What was found or happened once is not made untrue by what is found later."""


def _apart_in_time(older: Memory, newer: Memory) -> bool:
    """Whether one holds only after the other does not any more, so that both are right."""
    if (older.valid_from, older.valid_to) == (newer.valid_from, newer.valid_to):
        return False
    return any(
        one.valid_to is not None and other.valid_from is not None and one.valid_to <= other.valid_from
        for one, other in ((older, newer), (newer, older))
    )


def _nothing_lost(older: Memory, newer: Memory) -> bool:
    """Whether everything that the newer one carries besides its text is in the older one too."""
    return (
        newer.payload in (None, older.payload)
        and newer.procedure in (None, older.procedure)
        and set(newer.triggers) <= set(older.triggers)
        and (newer.valid_from, newer.valid_to) == (older.valid_from, older.valid_to)
    )


# --- Taking a text apart --------------------------------------------------------------------------------------------

_PIECE = re.compile(
    r"`(?P<code>[^`\n]{1,200})`"
    r"|(?P<address>[a-z][a-z0-9+.\-]*://[^\s,;)]+)"
    r"|(?P<path>(?:[\w.\-]{1,100}|[~@])?(?:/[\w.\-~@*]{1,100})+/?|[\w.\-]{1,100}/)"
    r"|(?P<ident>\w*(?:[a-z][A-Z]|[A-Za-z]_[A-Za-z]|[A-Za-z]\.[A-Za-z_]\w)[\w.]*)"
    r"|(?P<number>\d+(?:\.\d+)?e-?\d+|\d[\d.,:\-/]*\d|\d)(?P<unit>[a-zA-Z%]{0,6})"
    r"|(?P<word>[^\W\d_]+(?:['’\-][^\W\d_]+)*(?:\d+[^\W_]*)?)"
)
_NEGATIONS = frozenset(
    "not no never nor none neither without cannot don't doesn't didn't isn't aren't wasn't weren't won't shouldn't "
    "mustn't can't couldn't wouldn't needn't hasn't haven't avoid forbid forbidden prohibited stop disable disabled "
    "against refuse banned ban false off nobody".split()
)
_FILLER = frozenset(
    "please note always every each just simply really also too only still use used using uses must should shall "
    "need needs have has had get gets let make sure our my your the this that these those there here we i you they it "
    "via per so then than of in on at to for from with by as or and but if when where while because since due so be is "
    "are was were been being do does did done will would can could may might about around roughly approximately "
    "currently now today correction correct decision decided decide chose chosen go goes gone going went own already "
    "yes ok okay e.g i.e etc any anymore instead rather allow allowed enable enabled both all time "
    "prefer prefers preferred want wants like likes run runs running lives live kept keep keeps name named called "
    "longer again said says stored located placed put puts found sits takes take lasts hits goes comes kept using "
    "based way where able whole entire simply".split()
)
_DAYS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july august "
    "september october november december daily weekly monthly hourly yearly nightly".split()
)
_NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "hundred": "100", "thousand": "1000"}
_UNITS = {"s": "second", "sec": "second", "secs": "second", "ms": "millisecond", "min": "minute", "mins": "minute"}
_UNITS |= {"h": "hour", "hr": "hour", "hrs": "hour", "d": "day", "req": "request", "reqs": "request"}
_SHORT = {
    "prod": "production",
    "stg": "staging",
    "k8s": "kubernetes",
    "postgres": "postgresql",
    "pg": "postgresql",
    "pr": "pull request",
    "prs": "pull request",
    "mr": "merge request",
    "svc": "service",
    "repo": "repository",
    "repos": "repository",
    "ie": "internet explorer",
    "dlq": "dead letter queue",
    "vs": "visual studio",
    "ram": "memory",
    "max": "maximum",
    "sept": "september",
    **{short: same[0] for short, same in DEFAULT_ALIASES.items() if same and len(short) < len(same[0])},
}
_CHANGES = re.compile(
    r"\b(?:now|nowadays|no longer|any ?more|instead|from now on|from here on|these days|actually|correction|wrong|"
    r"took over|takes over|turns out|slipped|"
    r"(?:switch|mov|migrat|replac|chang|renam|dropp|bump|upgrad|downgrad|rais|lower|reduc|increas|retir|deprecat|"
    r"revert|supersed|remov|stopp|convert|rewrit|renew|cancel|cancell|archiv|decommission|delet|relocat|lift|cut)"
    r"(?:e|es|ed|ing|ten|s)?)\b",
    re.IGNORECASE,
)


def claim_of(text: str) -> Claim:
    """A text taken apart into what it is about."""
    tokens: list[_Token] = []
    denies = False
    before = ""
    starts = True
    for place, piece in enumerate(_PIECE.finditer(text[:_LONGEST])):
        kind = "number" if piece["number"] else piece.lastgroup
        raw = piece[0].strip("`")
        if kind == "word":
            low = raw.lower().replace("’", "'")
            denies = denies or low in _NEGATIONS
            named = (raw[0].isupper() and not starts) or (raw.isupper() and len(raw) > 1)
            tokens += _words(low, before, place, named=named)
        elif kind == "number":
            tokens += _number(piece["number"], piece["unit"] or "", before, place)
        elif kind == "address":
            tokens.append(_Token(raw.lower().rstrip("./"), "name", before, place))
        else:
            tokens += _code(raw, before, place)
        before = f"{before.rpartition(' ')[2]} {raw.lower()}".strip()
        starts = text[piece.end() : piece.end() + 1] in (".", "!", "?", ":", ";", "\n")
    changes = frozenset(found[0].lower() for found in _CHANGES.finditer(text[:_LONGEST]))
    stems = frozenset(token.stem for token in tokens)
    return Claim(text=text, tokens=tuple(tokens), denies=denies, changes=changes, stems=stems)


_LONGEST = 4_000
"""So much of a text is looked at. What is longer is no single claim."""


def _words(low: str, before: str, place: int, *, named: bool) -> list[_Token]:
    found = []
    if low in _UNITS and before.rpartition(" ")[2][:1].isdigit():
        return [_Token(stem(_UNITS[low]), "word", before, place)]
    for word in re.sub(r"^([a-z]{2,})(\d+)$", r"\1 \2", low).replace("-", " ").split():
        for part in _SHORT.get(word, word).split():
            bare = part.removesuffix("'s").replace("'", "")
            if part in _NUMBER_WORDS or part.isdigit():
                found.append(_Token(_plain(_NUMBER_WORDS.get(part, part)), "number", before, place))
            elif part in _DAYS:
                found.append(_Token(part, "name", before, place))
            elif part not in _FILLER and part not in _NEGATIONS and bare in telling_words((bare, "…")):
                found.append(_Token(stem(bare), "name" if named else "word", before, place))
    return found


def _number(text: str, unit: str, before: str, place: int) -> list[_Token]:
    plain, unit = text.replace(",", ""), unit.lower()
    if unit == "k":
        plain, unit = f"{plain}000", ""
    found = [_Token(_plain(plain), "number", before, place)]
    if unit == "x":  # as in 4096x4096
        return found
    if unit and unit not in ("st", "nd", "rd", "th"):
        found.append(_Token(stem(_UNITS.get(unit, unit)), "word", plain, place))
    return found


def _plain(number: str) -> str:
    return number.lstrip("0") or "0" if not number.startswith("0.") else number


def _code(text: str, before: str, place: int) -> list[_Token]:
    """Code, an identifier or a path, by its parts; words in it are the words they are elsewhere."""
    found = []
    for part in re.split(r"[\s/]+|&&", text):
        bare = part.strip(".,;:()'\"~-").lower()
        if not bare or bare in _FILLER:
            continue
        if bare.isdigit():
            found.append(_Token(_plain(bare), "number", before, place))
        else:
            found.append(_Token(stem(_SHORT.get(bare, bare)) if bare.isalpha() else bare, "name", before, place))
    return found


# --- Setting two side by side ---------------------------------------------------------------------------------------

_OLD_BEFORE = re.compile(
    r"\b(?:instead of|no longer|replaced|replaces|dropped|drops|removed|retired|rejected|moved from|switched from|"
    r"migrated from|abandoned|deprecated|stopped using|over from)\s"
)
_OLD_AFTER = re.compile(
    r"\s(?:(?:is|are|was|were|has been|have been|isn't|aren't) )(?:now )?"
    r"(?:removed|deleted|archived|decommissioned|dropped|gone|retired|switched off|wrong|deprecated|replaced|"
    r"cancelled|canceled|abandoned|used any ?more|not used any ?more|out of date|no longer used)\b"
    r"|\s(?:left the|moved to)\b"
)
_UP_TO = re.compile(r"[,;:.!?()](?:\s|$)|\s(?:with|in|for|by|to|on|at|as|and|because|since|after|when|from|is|was)\s")
_FROM = re.compile(r"\b(?:moved|switched|migrated|changed) (?:over )?from (\S+)", re.IGNORECASE)
_ADDS = re.compile(r"\b(?:too|also|as well|additionally|in addition|another|both|except|unless)\b", re.IGNORECASE)
_CONTRAST = re.compile(r"\b(?:over|instead of|rather than|not|before|after|until|from|than)\b", re.IGNORECASE)
_GUARDS = re.compile(
    r"\b(?:only|unless|if|except|some|none|more|fewer|less|may|might|old|new|first|last|until|while|during|other|"
    r"another|either|partly|half|twice|once|up to)\b"
    r"|[$€£¥<>≤≥±%]|[+\-](?=\d)",
    re.IGNORECASE,
)
_DIRECTED = re.compile(
    r"\b(?:calls|reports to|depends on|inherits from|extends|wraps|imports|blocks|owns|reviews)\b|->|→|\binto\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:](?=\s)|[.!?](?=\s|$)|\b(?:since|because|as of|so that|unless)\b", re.IGNORECASE)
_IS = frozenset("is are was were be = : use uses using used to of".split())
_AT = frozenset("on in at with by via through as from under".split())
_PLACED = frozenset(
    "runs run running hosted deployed lives live stored kept built written managed served based located distributed "
    "formatted tested searched published rendered handled owned maintained defined configured listens listening is are "
    "documented billed rebuilt restarted leaves starts held scheduled".split()
)
_BEFORE_NUMBERS = _AT | frozenset(
    "is are for after before every until within port limit timeout size ttl budget rate minimum maximum targets target "
    "takes took lasts lasted than about to".split()
)
"""What stands before a number that is a value, as against one that names a thing: bug 1234, line 40, HTTP 429."""
_SEVERAL = frozenset(
    stem(word)
    for word in "support need require prefer want like write wrote fix add remove include provide handle meet have "
    "depend contain ask own cause cover review accept hold publish exist announce export allow install learn take "
    "send serve offer".split()
)
_QUALIFIERS = re.compile(
    r"\b(?:least|most|before|after|minimum|max(?:imum)?|soft|hard|first|last|default|per \w+|on average|total|read|"
    r"write|connect|idle)\b|(?<!\d)(?<!\d )\bmin\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|came|took|happened|went|gave|got|failed|reached|showed|ran|started|found|measured)\b", re.IGNORECASE
)
_OPPOSITES = frozenset(
    frozenset(map(stem, pair.split("/")))
    for pair in "low/high before/after minimum/maximum first/last input/output pass/fail up/down left/right true/false "
    "open/closed public/private sync/async old/new client/server read/write request/response enabled/disabled "
    "primary/replica primary/secondary development/production staging/production upload/download start/stop begin/end "
    "small/large internal/external required/optional manual/automatic frontend/backend odd/even ascending/descending "
    "more/less early/late inside/outside push/pull encode/decode source/target mobile/web red/green safe/unsafe "
    "possible/impossible allowed/forbidden present/absent success/failure show/hide lock/unlock increase/decrease "
    "accept/reject grant/revoke attach/detach import/export load/unload create/delete add/remove open/close "
    "login/logout install/uninstall subscribe/unsubscribe encrypt/decrypt compress/decompress enable/disable "
    "horizontal/vertical parent/child buyer/seller sender/receiver producer/consumer local/remote legacy/new "
    "always/sometimes".split()
) | frozenset(
    frozenset((one, other))
    for units in (
        "second minut hour dai week month year millisecond microsecond nanosecond",
        "byte kb mb gb tb kib mib gib bit",
        "meter metr kilomet centimet millimet mile inch foot",
    )
    for one in units.split()
    for other in units.split()
)
"""What is never the same, however alike in meaning: opposites, and units of one measure."""
_STATES = frozenset(
    frozenset(map(stem, pair.split("/")))
    for pair in "low/high pass/fail true/false open/closed public/private sync/async enabled/disabled red/green "
    "required/optional manual/automatic ascending/descending safe/unsafe possible/impossible present/absent".split()
)
"""Opposites that say in what state a thing is; the others may just as well tell one thing from another."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """Two claims side by side: what both are about, and what only one is."""

    older: Claim
    newer: Claim
    shared: frozenset[str]
    only_older: tuple[_Token, ...]
    only_newer: tuple[_Token, ...]

    @property
    def older_cover(self) -> float:
        """What share of the older one the newer one has too."""
        return _cover(self.older, self.only_older)

    @property
    def newer_cover(self) -> float:
        """What share of the newer one the older one has too."""
        return _cover(self.newer, self.only_newer)

    @property
    def told(self) -> bool:
        """Whether the newer one speaks of a change that the older one does not speak of."""
        return bool(self.newer.changes) and not self.older.changes


def said(older: Claim, newer: Claim, *, alike: Alike, cosine: float | None, rule: Consolidation) -> Said:
    """What the newer text says beside the older one."""
    both = len(older.stems & newer.stems)
    if both * _FEWEST < min(len(older.stems), len(newer.stems)) or not both:
        return Said.APART  # most pairs, and words of like meaning would not change it
    sides = _beside(older, newer, alike)
    if _same(sides, cosine, rule):
        return Said.SAME
    if _ADDS.search(newer.text) or _from_elsewhere(sides):
        return Said.APART
    if _tells_of_change(sides):
        return Said.CHANGED
    if _other_value(sides):
        plain = Said.OPPOSED if _PAST.search(older.text) else Said.OTHER
        return Said.CHANGED if sides.told else plain
    if _opposed(sides, alike):
        return Said.CHANGED if sides.told else Said.OPPOSED
    return Said.APART


_FEWEST = 4
"""So many times as many stems as both have, the shorter of two texts that are compared has at most."""


def _beside(older: Claim, newer: Claim, alike: Alike) -> _Sides:
    mine, yours = older.stems, newer.stems
    shared = set(mine & yours)
    some = {token.stem for token in older.tokens if token.sort == "word"} - yours
    others = {token.stem for token in newer.tokens if token.sort == "word"} - mine
    few = max(len(some), len(others)) <= _MOST_KIN
    kin = {
        (one, other)
        for one in (some if few else ())
        for other in others
        if frozenset((one, other)) not in _OPPOSITES and (_spelled_alike(one, other) or alike(one, other))
    }
    matched = {one for one, _ in kin} | {other for _, other in kin} | shared
    return _Sides(
        older,
        newer,
        frozenset(shared | {one for one, _ in kin}),
        tuple(_distinct(token for token in older.tokens if token.stem not in matched)),
        tuple(_distinct(token for token in newer.tokens if token.stem not in matched)),
    )


_MOST_KIN = 12
"""Texts of which more words than this differ say different things, whichever of them are alike."""


def _spelled_alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and long.startswith(short)


def _same(sides: _Sides, cosine: float | None, rule: Consolidation) -> bool:
    older, newer = sides.older, sides.newer
    if older.denies != newer.denies or older.of_sort("number") != newer.of_sort("number") or sides.told:
        return False
    if (sides.only_newer and not _adds_nothing(sides)) or max(len(older.text), len(newer.text)) > _LONGEST:
        return False
    if _contrasted(older) != _contrasted(newer) or _guarded(older) != _guarded(newer):
        return False
    if _directed(older) != _directed(newer):
        return False
    cover = min(sides.older_cover, sides.newer_cover)
    if cosine is None:
        return cover >= rule.same_cover
    return cosine >= rule.same_cosine and cover + cosine >= rule.same_cover + rule.same_cosine_usual


def _adds_nothing(sides: _Sides) -> bool:
    """Whether what only the newer one has can be but a way of putting it: one plain word that says no more of which
    thing is meant, beside nothing that only the older one has."""
    if sides.only_older or len(sides.only_newer) > 1 or sides.only_newer[0].sort != "word":
        return False
    place = sides.only_newer[0].place
    return not any(token.place == place + 1 for token in sides.newer.tokens)


def _guarded(claim: Claim) -> frozenset[str]:
    """The small words and signs that change what a text says without being about anything."""
    return _qualified(claim) | frozenset(found[0].lower() for found in _GUARDS.finditer(claim.text[:_LONGEST]))


def _directed(claim: Claim) -> frozenset[tuple[str, ...]]:
    """Who does something to whom: "parser calls lexer" is not "lexer calls parser"."""
    text = claim.text[:_LONGEST]
    found = []
    for each in _DIRECTED.finditer(text):
        before = claim_of(text[max(0, each.start() - _NEAR) : each.start()]).tokens[-1:]
        after = claim_of(text[each.end() : each.end() + _NEAR]).tokens[:1]
        found.append((stem(each[0].lower()), *(token.stem for token in (*before, *after))))
    return frozenset(found)


def _contrasted(claim: Claim) -> frozenset[str]:
    """What a text sets something against: "over Y", "before Y", "not Y"."""
    text = claim.text[:_LONGEST]
    found = ((each[0], claim_of(text[each.end() : each.end() + _NEAR]).tokens[:1]) for each in _CONTRAST.finditer(text))
    return frozenset(f"{word.lower()} {token.stem}" for word, tokens in found for token in tokens)


_NEAR = 40


def _from_elsewhere(sides: _Sides) -> bool:
    """Whether the newer one tells of a change from something that the older one does not speak of."""
    found = _FROM.search(sides.newer.text)
    return found is not None and not (claim_of(found[1]).stems & sides.older.stems)


def _tells_of_change(sides: _Sides) -> bool:
    """Whether the newer text says of something in the older one that it holds no longer."""
    values = [token for token in _distinct(sides.older.tokens) if token.stem in sides.shared and _telling(token)]
    if len(values) < _VALUES or sides.older_cover < _ABOUT_IT or sides.older.changes:
        return False
    return _says_what_is_old(sides) or (sides.told and _another_number(sides))


_VALUES = 2
_ABOUT_IT = 0.5


def _says_what_is_old(sides: _Sides) -> bool:
    """Whether the newer text names something of the older one as gone: "instead of X", "X was removed"."""
    text = " ".join(sides.newer.text.lower().replace("`", "").split())
    for found in _OLD_BEFORE.finditer(text):
        tokens = claim_of(_UP_TO.split(text[found.end() :], maxsplit=1)[0]).tokens
        if tokens and all(token.stem in sides.older.stems for token in tokens):
            return True
    for found in _OLD_AFTER.finditer(text):
        tokens = claim_of(_UP_TO.split(text[: found.start()])[-1]).tokens
        if tokens and all(token.stem in sides.older.stems for token in tokens):
            return True
    return False


def _another_number(sides: _Sides) -> bool:
    """Whether both measure, and of the rest each says hardly anything that the other does not."""
    old, new = sides.older.of_sort("number"), sides.newer.of_sort("number")
    if not (old - new) or not (new - old):
        return False
    alone = [token for token in sides.only_older if token.sort != "number"]
    named = any(token.sort == "name" for token in (*alone, *sides.only_newer))
    return len(alone) <= 1 and not named


def _telling(token: _Token) -> bool:
    return token.sort != "word" or len(token.stem) > _SHORTEST


_SHORTEST = 3


def _other_value(sides: _Sides) -> bool:
    """Whether both say the same of the same, except for one value."""
    if sides.older.denies != sides.newer.denies or len(sides.shared) < _SUBJECT:
        return False
    if any(token.stem in _SEVERAL for token in sides.older.tokens if token.stem in sides.shared):
        return False
    if _qualified(sides.older) != _qualified(sides.newer):
        return False
    old, new = sides.only_older, tuple(token for token in sides.only_newer if not _CHANGES.match(token.stem))
    if not old or not new or not _together(old) or not _together(new) or max(len(old), len(new)) > _LONGEST_VALUE:
        return False
    if (_measures(old) or _measures(new)) and not (len(old) == len(new) == _measures(old) == _measures(new) == 1):
        return False
    return len(sides.shared) >= len(old) and _is_value(old[0], sides.older) and _is_value(new[0], sides.newer)


def _qualified(claim: Claim) -> frozenset[str]:
    return frozenset(found[0].lower() for found in _QUALIFIERS.finditer(claim.text))


_SUBJECT = 2
_LONGEST_VALUE = 3


def _together(tokens: Sequence[_Token]) -> bool:
    """Whether tokens stand beside each other, so that they are one value and not two."""
    return all(later.place - earlier.place <= 1 for earlier, later in pairwise(tokens))


def _measures(value: Sequence[_Token]) -> int:
    return sum(token.sort == "number" for token in value)


def _is_value(token: _Token, claim: Claim) -> bool:
    """Whether a token stands where the one value of something does: "is X", "uses X", "hosted on X", "port 80"."""
    if claim.tokens[0].place == token.place:
        return False
    verb, _, word = token.after.rpartition(" ")
    if word in _IS or _colon_before(token, claim):
        return True
    if token.sort == "number":
        return word in _BEFORE_NUMBERS
    return word in _AT and verb in _PLACED


def _colon_before(token: _Token, claim: Claim) -> bool:
    return f"{token.after.rpartition(' ')[2]}:" in claim.text.lower()


def _opposed(sides: _Sides, alike: Alike) -> bool:
    """Whether one says to do, or that it is so, what the other says not to."""
    if _other_state(sides):
        return True
    if not sides.older.denies and not sides.newer.denies:
        return False
    main = _beside(_main(sides.older), _main(sides.newer), alike)
    if main.older.denies == main.newer.denies or (main.only_older and main.only_newer):
        return False
    return len(main.shared) >= _SUBJECT and min(main.older_cover, main.newer_cover) >= _OPPOSED_COVER


def _main(claim: Claim) -> Claim:
    """The first clause that says anything, without its reasons."""
    parts = (claim_of(part) for part in _CLAUSE.split(claim.text))
    return next((part for part in parts if len(part.tokens) >= _SUBJECT), claim)


def _other_state(sides: _Sides) -> bool:
    """Whether they differ in nothing but the state that they say a thing is in."""
    if len(sides.only_older) != 1 or len(sides.only_newer) != 1 or sides.older.denies != sides.newer.denies:
        return False
    pair = frozenset((sides.only_older[0].stem, sides.only_newer[0].stem))
    return pair in _STATES and len(sides.shared) >= _SUBJECT


_OPPOSED_COVER = 0.6


def _cover(side: Claim, only: tuple[_Token, ...]) -> float:
    """What share of a side the other side has too; names and numbers count double."""
    whole = sum(_worth(token) for token in _distinct(side.tokens))
    return 1 - sum(_worth(token) for token in only) / whole if whole else 0.0


def _worth(token: _Token) -> float:
    return 1.0 if token.sort == "word" else 2.0


def _distinct(tokens: Iterable[_Token]) -> list[_Token]:
    found: dict[str, _Token] = {}
    for token in tokens:
        found.setdefault(token.stem, token)
    return list(found.values())
