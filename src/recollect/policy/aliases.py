"""Words that mean the same, so that a question for "db" finds what was noted about the database.

Three sources: a table of common software terms, a map that people keep by hand, and the names of a project itself.
`alias_map` unites them and `expand` applies them to a question. A term is one word or a few, in the spelling that
`policy.query` looks words up in, joined by single spaces.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice, pairwise
from math import ceil
from types import MappingProxyType

from .query import query_words, telling_words
from .stem import stem

MOST_ALIASES = 12
"""Most other terms that one term stands for, and most words that one word of a question is widened by."""


def _groups(table: str) -> Mapping[str, tuple[str, ...]]:
    """A table of lines "term: same, same" as a mapping."""
    lines = (line.partition(":") for line in table.strip().splitlines())
    return MappingProxyType({term.strip(): tuple(map(str.strip, same.split(","))) for term, _, same in lines})


# Only what means the same wherever software is talked about. Left out, for what they also mean: go (golang), cd, es,
# res, sec, tf; and "settings", whose stem is that of "set".
DEFAULT_ALIASES = _groups(
    """
    a11y: accessibility
    acl: access control list
    addr: address
    admin: administrator
    api: endpoint
    app: application
    arg: argument
    async: asynchronous
    attr: attribute
    auth: authentication, authn, login
    authz: authorization, authorisation, auth
    avg: average
    aws: amazon web services
    backend: back end
    behavior: behaviour
    bool: boolean
    btn: button
    cert: certificate
    char: character
    ci: continuous integration
    cli: command line, commandline
    cmd: command
    col: column
    color: colour
    config: configuration, cfg, conf
    conn: connection
    const: constant
    cpp: cplusplus
    creds: credentials
    ctx: context
    db: database
    deps: dependencies
    desc: description
    dev: development
    dir: directory, folder
    docs: documentation
    env: environment
    err: error
    exec: execution
    fk: foreign key
    fn: function, func
    frontend: front end
    fs: filesystem, file system
    gh: github
    gql: graphql
    guid: uuid
    i18n: internationalization, internationalisation
    id: identifier
    idx: index
    img: image
    impl: implementation
    info: information
    init: initialization, initialisation
    int: integer
    js: javascript
    jwt: json web token
    k8s: kubernetes, kube
    l10n: localization, localisation
    lang: language
    lib: library
    llm: language model
    max: maximum
    mem: memory
    mfa: multifactor, 2fa
    min: minimum
    ml: machine learning
    mongo: mongodb
    msg: message
    nav: navigation
    num: number
    o11y: observability
    obj: object
    org: organization, organisation
    os: operating system
    param: parameter
    perf: performance
    pg: postgres, postgresql, psql
    pk: primary key
    pkg: package
    pr: pull request, merge request
    pref: preference
    prev: previous
    proc: process
    prod: production
    prop: property
    pwd: password, passwd
    py: python
    qa: quality assurance
    ref: reference
    regex: regexp, regular expression
    repo: repository
    req: request
    resp: response
    rpc: remote procedure call
    spec: specification
    sso: single sign on
    stats: statistics
    str: string
    svc: service
    sync: synchronization, synchronisation
    tbl: table
    timezone: tz, time zone
    tls: ssl
    tmp: temporary, temp
    ts: typescript
    ui: user interface
    uri: url
    ux: user experience
    val: value
    var: variable
    ver: version
    vm: virtual machine
    vuln: vulnerability
    yml: yaml
    """
)
"""Groups of terms that mean the same, each under its shortest."""


def alias_map(*maps: Mapping[str, Iterable[str]]) -> Mapping[str, tuple[str, ...]]:
    """All groups of all maps, readable from every term: if db stands for database, database stands for db.

    A group is a key and its values, and each of them stands for all others; groups that share a term stay apart, so
    that "auth" can be authentication and authorization without making these the same. Earlier maps come first, and
    where a term has its full number of aliases, later ones are left out on both sides.
    """
    found: dict[str, dict[str, None]] = {}
    for groups in maps:
        for key, values in groups.items():
            group = dict.fromkeys(term for term in map(_spelled, (key, *values)) if term)
            for term, other in combinations(islice(group, MOST_ALIASES + 1), 2):
                if set(map(stem, term.split())) == set(map(stem, other.split())):  # one finds the other as it is
                    continue
                one, two = found.setdefault(term, {}), found.setdefault(other, {})
                if other in one or (len(one) < MOST_ALIASES and len(two) < MOST_ALIASES):
                    one[other] = two[term] = None
    return MappingProxyType({term: tuple(others) for term, others in found.items() if others})


def expand(words: tuple[str, ...], aliases: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """For the words of a question, the words that mean the same and were not asked for; words without any are left out.

    Endings do not matter: "databases" finds db. A term of several words counts where all of them were asked, and gives
    those of its words that say something.
    """
    asked: defaultdict[str, list[str]] = defaultdict(list)
    for word in words:
        asked[stem(word)].append(word)
    found: dict[str, dict[str, None]] = {word: {} for word in words}
    for term, others in aliases.items():
        named = [[word for word in asked.get(stem(part), ()) if _alike(word, part)] for part in _telling(term)]
        if not named or not all(named):
            continue
        same = dict.fromkeys(word for other in others for word in _telling(other) if stem(word) not in asked)
        for word in (word for fitting in named for word in fitting):
            found[word].update(same)
    return {word: tuple(same)[:MOST_ALIASES] for word, same in found.items() if same}


def _spelled(text: str) -> str:
    """A term in its one spelling: "K8s" is k8s, "merge-request" is two words, "parseHTTP" is one."""
    words: list[str] = []
    for piece in re.split(r"[\s_\-]+", text):
        found = query_words(piece)
        words += found[:1]
        words += (word for word in found[1:] if word not in found[0])  # parts of an identifier do not stand for it
    return " ".join(words)


def _alike(word: str, other: str) -> bool:
    """Whether two words of one stem are forms of one word: "author" is none of "authorization"."""
    return 3 * min(len(word), len(other)) >= 2 * max(len(word), len(other))


def _telling(term: str) -> tuple[str, ...]:
    words = tuple(term.split())
    return words if len(words) == 1 else tuple(word for word in words if _tells(word))


def _tells(word: str) -> bool:
    return word in telling_words((word, "…"))  # beside another that tells, a function word is left out


# --- From a project's own names --------------------------------------------------------------------------------------

_MOST_FITS = 3
_SHORTEST = 3
_LONGEST_SHORT_FORM = 6
_MOST_PARTS = 6
_MOST_BONES = 8
_COVERAGE = 0.6
"""How many of a word's consonants a short form keeps at least: ctx keeps three of the five of context."""
_NAME = re.compile(r"[A-Za-z0-9_\-]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_VOWELS = frozenset("aeiouy")
# What makes another word of a word, and no long form of it.
_DERIVED = re.compile(
    r"able|ible|ability|ings?|est|en|ened|ening|ers?|ors?|ions?|ives?|ual|ures?|ity|ities|ish|isms?|ists?|ages?|ous|ally|"
    r"als?|i[sz](?:e|ed|es|er|ers|ing|ation)|at(?:e|ed|es|or|ors|ion|ions|ive)|[ae]n(?:ce|cy|ts?)"
)
_OWN_NAMES = frozenset(
    "css cpp dns ftp gcc gpg jpg npm php png rfc rpc sdk sql ssh ssl svg tcp tls ttl vpn xml".split()
)
"""Initials that everybody knows, and that stand for nothing else in any project."""


def generated_aliases(names: Iterable[str], *, limit: int = 200) -> dict[str, tuple[str, ...]]:
    """What a project's identifiers, file names and tags say about its own abbreviations, as input for `alias_map`.

    The key is the long form, the values are short ones: the initials of a name of three parts or more (`ore` for
    `OrderRoutingEngine`), a part that begins another or is made of its consonants (`auth`, `cfg`), and a word that is
    written in two elsewhere (`webhook`, `web_hook`). A short form that fits more than three long ones is left out. Of
    more than `limit` pairs, those stay whose short form occurs by itself, then those of the most frequent names. The
    order of the names does not matter.
    """
    seen = Counter(parts for name in names for parts in _named_parts(name))
    parts: Counter[str] = Counter()
    for split, count in seen.items():
        for part in split:
            parts[part] += count
    long_forms: defaultdict[str, dict[str, int]] = defaultdict(dict)  # of a short form, each with how often it occurs
    for short, long in (*_shortened(parts), *_joined(seen, parts)):
        long_forms[short][long] = parts[long] or 1
    for short, long, count in _initials(seen):
        long_forms[short][long] = count
    ranked = sorted(
        (short not in parts, -count, long, short)
        for short, forms in long_forms.items()
        if len(forms) <= _MOST_FITS and short not in _OWN_NAMES and _tells(short)
        for long, count in forms.items()
    )
    found: defaultdict[str, list[str]] = defaultdict(list)
    for _, _, long, short in ranked[: max(0, limit)]:
        found[long].append(short)
    return {long: tuple(sorted(found[long])[:MOST_ALIASES]) for long in sorted(found)}


def _named_parts(name: str) -> Iterator[tuple[str, ...]]:
    """The parts of each name in a path or dotted name: `src/orderRouting.py` gives src, order and routing, py."""
    for match in _NAME.finditer(name):
        parts = tuple(part.lower() for part in _PART.findall(match.group()))
        if parts:
            yield parts


def _shortened(parts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Parts that are short for another part. Of the forms of one long word the shortest stands for all."""
    by_stem: dict[str, str] = {}
    for part in sorted(part for part in parts if part.isalpha()):
        by_stem[stem(part)] = min(by_stem.get(stem(part), part), part, key=len)
    words = sorted(by_stem.values())
    shorts = [word for word in words if _SHORTEST <= len(word) <= _LONGEST_SHORT_FORM]
    for short in shorts:
        yield from ((short, long) for long in _begun_by(short, words) if long[len(short) :] not in parts)
    yield from _sounding_alike(words, frozenset(shorts))


def _begun_by(short: str, words: list[str]) -> list[str]:
    """The words that a short form is cut off from, if it is one and they are few.

    People cut before a vowel and after a consonant: auth(entication), param(eter). What is cut elsewhere is mostly a
    word of its own: work(shop), data(base), add(ress).
    """
    first, after = bisect_left(words, short), bisect_left(words, short + "{")  # "{" comes right after "z"
    begun = [word for word in words[first:after] if len(word) > len(short) + 2]
    if len(begun) > _MOST_FITS or short[-1] in _VOWELS:
        return []
    endings = ((word, word[len(short) :]) for word in begun)
    return [word for word, ending in endings if ending[0] in _VOWELS and not _DERIVED.fullmatch(ending)]


def _sounding_alike(words: Iterable[str], shorts: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Short forms that are most of a word's consonants, with the words that come nearest: msg for message."""
    fits: defaultdict[str, defaultdict[float, list[str]]] = defaultdict(lambda: defaultdict(list))
    for word in words:
        consonants = "".join(letter for letter in word if letter not in _VOWELS)
        bones = word[0] + "".join(letter for before, letter in pairwise(consonants) if letter != before)
        if word[0] in _VOWELS or not _SHORTEST <= len(bones) <= _MOST_BONES:
            continue
        for size in range(max(_SHORTEST, ceil(_COVERAGE * len(bones))), min(len(bones), len(word) - 2) + 1):
            for kept in {bones[0] + "".join(rest) for rest in combinations(bones[1:], size - 1)} & shorts:
                fits[kept][size / len(bones)].append(word)
    for short, words_by_share in fits.items():
        yield from ((short, word) for word in words_by_share[max(words_by_share)])


def _joined(names: Iterable[tuple[str, ...]], parts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Words that are also written as two."""
    for split in names:
        for first, second in pairwise(split):
            if len(first) > 1 and len(second) > 1 and (first + second).isalpha() and first + second in parts:
                yield first + second, f"{first} {second}"


def _initials(names: Mapping[tuple[str, ...], int]) -> Iterator[tuple[str, str, int]]:
    """The initials of long names, with how often the name occurs; not of `is_word_start`, which names no thing."""
    for split, count in names.items():
        thing = _tells(split[0]) and _tells(split[-1]) and all(len(part) > 1 and part.isalpha() for part in split)
        if thing and 3 <= len(split) <= _MOST_PARTS:
            yield "".join(part[0] for part in split), " ".join(split), count
