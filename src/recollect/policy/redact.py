r"""Secrets and personal data out of text, before it is hashed, logged, embedded or stored.

`redact` is the whole surface. It looks for three sorts of thing, in this order:

1. **known shapes** — tokens that carry their issuer's mark (`_TOKENS`) and values that the words around them give away
   (`_PHRASES`: headers, URLs, assignments, passwords in prose);
2. **personal data** — e-mail addresses, and numbers with a check digit or a telling shape;
3. **high entropy** — single tokens over 20 characters and 4.0 bits a character that have no word structure.

Where two known shapes overlap, their union is masked under the name of the more specific one; the later sorts never
touch what an earlier one claimed.

Every rule is tried only where a fixed *anchor* stands, so ordinary text costs little more than substring searches. In
every pattern a repetition is bounded, possessive, or such that giving back what it took leads nowhere, so hostile text
costs linear time. Possessive quantifiers stand on single characters and classes alone: Python before 3.11.5 gets them
wrong on groups (gh-106052). Not here: reading files, ignore lists, or deciding what becomes of a text with findings.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

__all__ = ["Finding", "Redaction", "redact"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Where something was masked in the original text, and what sort of thing it was; never the thing itself."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redaction:
    """A text with every finding replaced by `[redacted:kind]`; the findings are in order and never overlap."""

    text: str
    findings: tuple[Finding, ...]


def redact(text: str) -> Redaction:
    """Mask every secret and every piece of personal data in `text`.

    Idempotent: redacting the result finds nothing. A text without findings comes back as the same object.
    """
    findings: list[Finding] = []
    masked = text
    for _ in range(_PASSES):
        fresh = _scan(masked)
        if not fresh:
            return Redaction(masked, tuple(findings))
        findings = _in_original(findings, fresh)
        masked = _mask(text, findings)
    # Masking gives the text beside it new neighbours, which can complete another pattern. Real text settles in two
    # passes; one that is still yielding was built to, and is not worth the risk of keeping any of it.
    return Redaction(f"[redacted:{findings[0].kind}]", (Finding(findings[0].kind, 0, len(text)),))


_PASSES = 6


def _mask(text: str, findings: Iterable[Finding]) -> str:
    parts: list[str] = []
    done = 0
    for finding in findings:
        parts += text[done : finding.start], f"[redacted:{finding.kind}]"
        done = finding.end
    parts.append(text[done:])
    return "".join(parts)


def _in_original(known: list[Finding], fresh: list[Finding]) -> list[Finding]:
    """`known` (spans of the original) joined by `fresh` (spans of the text in which `known` is masked)."""
    joined: list[Finding] = []
    shift = 0
    older = iter(known)
    pending = next(older, None)
    for finding in fresh:
        while pending is not None and pending.start - shift <= finding.start:
            joined.append(pending)
            shift += (pending.end - pending.start) - len(f"[redacted:{pending.kind}]")
            pending = next(older, None)
        joined.append(Finding(finding.kind, finding.start + shift, finding.end + shift))
    if pending is not None:
        joined += [pending, *older]
    return joined


# --- scanning ---------------------------------------------------------------------------------------------------------


_Test = Callable[[re.Match[str]], bool]


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern tried wherever one of its anchors stands; its group `value`, or all of it, is the secret."""

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    accept: _Test | None = None
    back: int = 0  # the match begins this many characters before the anchor


def _scan(text: str) -> list[Finding]:
    """The findings of one pass over `text`, in order; none touches a placeholder."""
    if len(text) < 15 and _compiled(_SHORT_NAME).fullmatch(text):
        return []
    shaped = _phrases(text)
    others = _numbers(text)
    if "@" in text:
        others = [*_emails(text), *others]
    long = [chunk for chunk in text.split() if len(chunk) > 17]
    if long:
        shaped += _tokens(text, "\n".join(long))
        others += _random_tokens(text, long)
    return _apart(text, shaped, others) if shaped or others else []


def _apart(text: str, shaped: list[Finding], others: list[Finding]) -> list[Finding]:
    """`shaped` where they overlap united, and those of `others` that touch none before them."""
    taken = bytearray(len(text))
    for found in _compiled(_PLACEHOLDER).finditer(text) if "[redacted:" in text else ():
        _take(taken, *found.span())
    findings = _united(finding for finding in shaped if taken.find(1, finding.start, finding.end) < 0)
    for finding in findings:
        _take(taken, finding.start, finding.end)
    for finding in others:
        if taken.find(1, finding.start, finding.end) < 0:
            _take(taken, finding.start, finding.end)
            findings.append(finding)
    findings.sort(key=lambda finding: finding.start)
    return findings


# A tag or a file name: what every rule asks for is a sign that is not here, or more characters.
_SHORT_NAME = r"[A-Za-z0-9_./-]*+"
_PLACEHOLDER = r"\[redacted:[a-z][a-z-]{1,39}\]"


def _take(taken: bytearray, start: int, end: int) -> None:
    taken[start:end] = b"\1" * (end - start)


def _tokens(text: str, haystack: str) -> list[Finding]:
    """What the rules of `_TOKENS` find in `text`, whose long words are `haystack`; spans may overlap."""
    found: list[Finding] = []
    for anchor, rules in _standing(_TOKENS_BY_SIGN, haystack):
        for rule in rules:
            found += _at(anchor, rule, text, text)
    return found


def _phrases(text: str) -> list[Finding]:
    """What the rules of `_PHRASES` find; spans may overlap."""
    found: list[Finding] = []
    folded = _folded(text)
    standing = _standing(_PHRASES_BY_SIGN, folded)
    for anchor, rules in standing:
        for rule in rules:
            found += _at(anchor, rule, text, folded)
    if standing:  # what a value is called holds an anchor
        found += _said_before(text, folded)
    return found


def _at(anchor: str, rule: _Rule, text: str, haystack: str) -> Iterator[Finding]:
    """What `rule` finds where `anchor` stands in `haystack`, which is `text` or its folded form."""
    match, group = _matcher(rule.pattern)
    at = haystack.find(anchor, rule.back)
    while at >= 0:
        resume = at + 1
        found = match(text, at - rule.back)
        if found is not None:
            start, end = found.span(group)
            accepted = rule.accept is None or rule.accept(found)
            if accepted:
                yield Finding(rule.kind, start, end)
            # Looking into one run from every anchor inside it would take quadratic time.
            if accepted or " " not in text[start:end]:
                resume = max(resume, end)
        at = haystack.find(anchor, resume)


def _united(found: Iterable[Finding]) -> list[Finding]:
    """Overlapping findings as their union, under the name of the most specific."""
    united: list[Finding] = []
    for finding in sorted(found, key=lambda each: each.start):
        if united and finding.start < united[-1].end:
            other = united[-1]
            kind = min(other.kind, finding.kind, key=_RANKS.__getitem__)
            united[-1] = Finding(kind, other.start, max(other.end, finding.end))
        else:
            united.append(finding)
    return united


_Anchored = tuple[str, list[_Rule]]  # an anchor, and the rules to try where it stands


def _by_sign(rules: Iterable[_Rule]) -> dict[str, list[_Anchored]]:
    """Each anchor once, under a sign that it holds; most texts lack most signs, and so need not be searched for most
    anchors."""
    by_anchor: dict[str, list[_Rule]] = {}
    for rule in rules:
        for anchor in rule.anchors:
            by_anchor.setdefault(anchor, []).append(rule)
    by_sign: dict[str, list[_Anchored]] = {}
    for anchor, tried in by_anchor.items():
        sign = next((sign for sign in '$~?&="/:._- ' if sign in anchor), "")  # the rare ones first
        by_sign.setdefault(sign, []).append((anchor, tried))
    return by_sign


def _standing(by_sign: dict[str, list[_Anchored]], haystack: str) -> list[_Anchored]:
    return [each for sign, group in by_sign.items() if sign in haystack for each in group if each[0] in haystack]


def _folded(text: str) -> str:
    """`text` in lower case, every character at its place (the capital dotted I alone would grow)."""
    return text.replace("\u0130", "I").lower()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _matcher(pattern: str) -> tuple[Callable[[str, int], re.Match[str] | None], int]:
    """How to match `pattern` at a place, and which of its groups is the secret."""
    compiled = _compiled(pattern)
    return compiled.match, compiled.groupindex.get("value", 0)


# --- does a value look like a secret? ---------------------------------------------------------------------------------

# Which letters commonly follow which in words and identifiers: nine in ten pairs of real text, four in ten of random.
_FOLLOWERS = (
    "abcdgiklmnprstuvwxy baeijlorsuy cacehiklmorstu dadeilorsu eabcdefgilmnopqrstvwxy faefilorstu gaehilnorsu haeiot "
    "iabcdefglmnoprstvxz jaeosu keisa ladeilostuy mabeimopsu nacdefgiklnopstuvy obcdfgiklmnoprstuvw paeiloprstuy qu "
    "racdefgiklmnoprstuy sacehiklmopstuy tacdefhilmoprstuy uabcefilmnprstx vaeio waeinor xeipt yelpst zeo"
)


@cache
def _natural_pairs() -> frozenset[str]:
    """Pairs of characters with which words, numbers, alphabets and runs of one character are written."""
    pairs = {row[0] + follower for row in _FOLLOWERS.split() for follower in row[1:]}
    pairs |= {letter * 2 for letter in string.ascii_lowercase}
    pairs |= set(map(str.__add__, string.ascii_lowercase, string.ascii_lowercase[1:]))
    digits = {first + second for first in string.digits for second in string.digits}
    return frozenset(pairs | {pair.upper() for pair in pairs} | {pair.capitalize() for pair in pairs} | digits)


def _is_wordy(token: str) -> bool:
    """Whether `token` is built of words and numbers, as names are; one in a thousand real names is not, nor is one in
    a hundred random tokens."""
    if _compiled(r"[A-Z0-9]{1,12}(?:_[A-Z0-9]{1,12}){2,}").fullmatch(token):
        return True  # a constant, whatever it abbreviates
    return _fluency(token) >= 0.65 or _word_share(token) >= 0.55


def _fluency(token: str) -> float:
    """The share of neighbouring characters that belong together: about 0.8 in names, 0.35 in random tokens.

    Short pieces say nothing and do not count; neither does the step from one camelCase word to the next. A piece that
    is all hexadecimal counts as fluent: digests and ids are not what the entropy rule is after.
    """
    fluent = total = 0
    pairs = _natural_pairs()
    for piece in _compiled(r"[A-Za-z0-9]{5,}+").findall(token):
        steps = [pair for pair in map(str.__add__, piece, piece[1:]) if not (pair[0].islower() and pair[1].isupper())]
        total += len(steps)
        fluent += len(steps) if _compiled(_PLAIN_PIECE).fullmatch(piece) else sum(pair in pairs for pair in steps)
    return fluent / total if total else 1.0


def _word_share(token: str) -> float:
    """The share of characters that lie in words of three letters or more, or in numbers of two digits or more."""
    in_words = total = 0
    pairs = _natural_pairs()
    for piece in _compiled(r"[A-Za-z0-9]{4,}+").findall(token):
        total += len(piece)
        if _compiled(_PLAIN_PIECE).fullmatch(piece):
            in_words += len(piece)
            continue
        for part in _compiled(r"[A-Z]?[a-z]{2,}+|[A-Z]{3,}(?![a-z])|[0-9]{2,}+").findall(piece):
            if sum(map(pairs.__contains__, map(str.__add__, part, part[1:]))) >= 0.7 * (len(part) - 1):
                in_words += len(part)
    return in_words / total if total else 1.0


# Pieces that are natural as they are: hexadecimal ones, and tags like cp311 and cu121.
_PLAIN_PIECE = r"[0-9a-f]+|[0-9A-F]+|[A-Za-z]{1,4}[0-9]{1,4}"


def _entropy(token: str) -> float:
    """Shannon entropy of `token`'s characters, in bits per character."""
    size = len(token)
    return math.log2(size) - sum(count * math.log2(count) for count in Counter(token).values()) / size


def _is_random(token: str, *, least: int = 21, bits: float = 4.0) -> bool:
    """At least `least` characters of two classes or more, over `bits` of entropy, and not made of words."""
    if len(token) < least or not _is_diverse(token) or _entropy(token) <= bits:
        return False
    return (_has_digit(token) or _is_jumbled(token, every=8)) and not _is_wordy(token)


def _is_diverse(value: str) -> bool:
    """Characters of two classes or more: digits, small letters, capitals."""
    return (value != value.upper()) + (value != value.lower()) + _has_digit(value) > 1


def _is_jumbled(value: str, *, every: int) -> bool:
    """A capital after a small letter more often than once in `every` characters; camelCase has them more rarely."""
    return len(_compiled(r"[a-z][A-Z]").findall(value)) >= max(2, len(value) // every)


def _has_digit(value: str) -> bool:
    return not _DIGITS.isdisjoint(value)


_DIGITS = frozenset("0123456789")


_VARIABLE = r"[<{\[*\\]|\$(?:[({]|\w+\Z)|%(?:\(|[a-z]\Z|\w+%)"
_TEMPLATE = (
    rf"(?i:{_VARIABLE}|[!@#][a-z]+\Z|…|--?[a-z]|x{{3}}"
    r"|(?:your|my|our|the|an?|some|any|this|that|example|sample|test|dummy|fake|mock|placeholder|redacted|masked|hidden"
    r"|change|changeme|replace|replaceme|insert|enter|todo|tbd|none|null|nil|undefined|unset|empty|default|true|false"
    r"|yes|no|str|string|bytes|int|number|bool|boolean|optional|required|env|process|os|self|config|settings|args"
    r"|password|passwd|passphrase|pass|pwd|pw|secret|token|apikey|api|key|user|username)(?:[^a-z0-9]|\Z))"
)


def _is_template(value: str) -> bool:
    """Whether `value` stands for a secret instead of being one: `<token>`, `${TOKEN}`, `your-key-here`, `xxxx`."""
    return len(set(value)) < 3 or _compiled(_TEMPLATE).match(value) is not None


# A name in code: an environment variable, a dotted attribute, a path.
_NAME = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+|[~.]?/\S*|[A-Za-z][a-z]*://\S*"


def _is_mixed(value: str) -> bool:
    """Letters and digits together in a way that words with a number (`v2`, `oauth2`, `db-credentials-3`) are not."""
    if not _has_digit(value) or value.upper() == value.lower():
        return False
    pieces = [piece for piece in _compiled(r"[^A-Za-z0-9]++").split(value) if piece]
    plain = _compiled(r"[A-Za-z]+|[0-9]+|[A-Za-z]{1,10}[0-9]{1,3}").fullmatch
    return len(value) >= 8 if len(pieces) == 1 else not all(plain(piece) for piece in pieces)


def _is_key(value: str) -> bool:
    """Whether `value`, said to be a key, token or secret, looks like one and not like the name of one."""
    if len(value) < 8 or not _is_diverse(value) or _is_template(value) or _compiled(_NAME).fullmatch(value):
        return False
    return _is_mixed(value) or _is_random(value, least=12, bits=3.0)


# --- tokens that carry their issuer's mark ----------------------------------------------------------------------------

# A token begins where no word runs into it; "\n" in escaped text is no word.
_LEFT = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_ALNUM = r"[A-Za-z0-9]"
_URLSAFE = r"[A-Za-z0-9_-]"
_HEX = r"[0-9a-fA-F]"


def _varied(found: re.Match[str]) -> bool:
    """Not `ghp_xxxxxxxx`."""
    return len(set(found[0])) > 9


def _unspoken(found: re.Match[str]) -> bool:
    """Not `sk-your-key-goes-here` or `sk-fading-circle-container`: words with separators."""
    body = found["body"]
    return _varied(found) and (_is_mixed(body) or not _is_wordy(body))


def _token(kind: str, prefixes: str, body: str, accept: _Test = _varied) -> _Rule:
    anchors = tuple(prefixes.split())
    return _Rule(kind, anchors, f"{_LEFT}(?:{'|'.join(map(re.escape, anchors))})(?P<body>{body})", accept)


_JWT = rf"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))eyJ{_URLSAFE}{{8,}}+\.{_URLSAFE}{{8,}}+(?:\.{_URLSAFE}*+){{0,3}}(?<!\.)"

_TOKENS = (
    _token("aws-access-key", "AKIA ASIA ABIA ACCA A3T", r"[A-Z0-9]{16,17}(?![A-Za-z0-9])"),
    _token("aws-bedrock-key", "ABSK bedrock-api-key-", r"[A-Za-z0-9+/]{60,}+={0,2}"),
    _token("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_ALNUM}{{16,}}+"),
    _token("github-token", "github_pat_", r"\w{22,}+"),
    _token(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- GR1348941",
        rf"{_URLSAFE}{{20,}}+(?:\.{_ALNUM}{{2,}}+){{0,2}}",
        _unspoken,
    ),
    _token("anthropic-key", "sk-ant-", rf"{_URLSAFE}{{16,}}+", _unspoken),
    _token("openrouter-key", "sk-or-", rf"{_URLSAFE}{{20,}}+", _unspoken),
    _token("openai-key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{_URLSAFE}{{16,}}+", _unspoken),
    _token("openai-key", "sk-", rf"{_ALNUM}{{18,}}+(?:{_URLSAFE}*+)", _unspoken),
    _token("google-api-key", "AIza", rf"{_URLSAFE}{{30,}}+"),
    _token("google-oauth-token", "ya29. GOCSPX- 1//0", rf"{_URLSAFE}{{20,}}+(?:\.{_URLSAFE}++){{0,3}}"),
    _token("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe.", r"[A-Za-z0-9.%-]{10,}+", _unspoken),
    _token("slack-token", "xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9-]{10,}+", _unspoken),
    _token("stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", rf"{_ALNUM}{{10,}}+"),
    _token("webhook-secret", "whsec_", r"[A-Za-z0-9+/]{20,}+={0,2}"),
    _token("npm-token", "npm_", rf"{_ALNUM}{{30,}}+"),
    _token("pypi-token", "pypi-", rf"{_URLSAFE}{{40,}}+", _unspoken),
    _token("huggingface-token", "hf_ api_org_", rf"{_ALNUM}{{30,}}+"),
    _token("sendgrid-key", "SG.", rf"{_URLSAFE}{{16,}}+\.{_URLSAFE}{{16,}}+"),
    _token("twilio-key", "SK AC", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"{_ALNUM}{{32,}}+"),
    _Rule("jwt", ("eyJ",), _JWT),
    _token("groq-key", "gsk_", rf"{_ALNUM}{{30,}}+"),
    _token("xai-key", "xai-", rf"{_ALNUM}{{40,}}+"),
    _token("perplexity-key", "pplx-", rf"{_ALNUM}{{30,}}+"),
    _token("replicate-token", "r8_", rf"{_ALNUM}{{30,}}+"),
    _token("notion-token", "ntn_ secret_", rf"{_ALNUM}{{40,}}+"),
    _token("linear-key", "lin_api_ lin_oauth_", rf"{_ALNUM}{{32,}}+"),
    _token("figma-token", "figd_", rf"{_URLSAFE}{{30,}}+", _unspoken),
    _token("docker-token", "dckr_pat_ dckr_oat_", rf"{_URLSAFE}{{20,}}+"),
    _token("supabase-token", "sbp_ sb_secret_", rf"{_URLSAFE}{{20,}}+", _unspoken),
    _token("databricks-token", "dapi", rf"{_HEX}{{32}}(?:-[0-9])?(?!{_ALNUM})"),
    _token("shopify-token", "shpat_ shpca_ shppa_ shpss_", rf"{_HEX}{{32,}}+"),
    _token("square-token", "sq0atp- sq0csp-", rf"{_URLSAFE}{{22,}}+", _unspoken),
    _token("atlassian-token", "ATATT3 ATCTT3", r"[A-Za-z0-9_=-]{40,}+"),
    _token("newrelic-key", "NRAK- NRII- NRJS-", rf"{_URLSAFE}{{19,}}+"),
    _token("postman-key", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    _token("grafana-token", "glsa_ glc_", r"[A-Za-z0-9+/_]{32,}+={0,2}"),
    _token("sentry-token", "sntrys_ sntryu_", r"[A-Za-z0-9+/_=]{40,}+"),
    _token("planetscale-token", "pscale_tkn_ pscale_oauth_ pscale_pw_", r"[\w=-]{30,}+"),
    _token("dynatrace-token", "dt0c01. dt0s01.", rf"{_ALNUM}{{24}}\.{_ALNUM}{{60,}}+"),
    _token("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa.", rf"(?:[a-z0-9_-]{{1,35}}\.)?{_ALNUM}{{40,}}+"),
    _token("vault-token", "hvs. hvb. hvr.", rf"{_URLSAFE}{{24,}}+"),
    _token("tailscale-key", "tskey-", rf"{_URLSAFE}{{20,}}+", _unspoken),
    _token("pulumi-token", "pul-", rf"{_HEX}{{40}}(?!{_ALNUM})"),
    _token("rubygems-key", "rubygems_", rf"{_HEX}{{48}}"),
    _token("brevo-key", "xkeysib- xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _token("mailgun-key", "key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _Rule("mailchimp-key", ("-us",), r"(?<![A-Za-z0-9])[0-9a-f]{32}-us[0-9]{1,2}(?![0-9])", _varied, back=32),
    _Rule("azure-secret", ("Q~",), r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", _varied, back=4),
    _Rule("terraform-token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}+", _varied, back=14),
    _token("age-key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}+"),
    _token("onepassword-token", "ops_eyJ", r"[A-Za-z0-9+/_-]{40,}+={0,3}"),
    _token("alibaba-key", "LTAI", rf"{_ALNUM}{{16,24}}(?!{_ALNUM})", _unspoken),
    _token("password-hash", "$2a$ $2b$ $2y$", r"[0-9]{2}\$[./A-Za-z0-9]{53}"),
    _token("password-hash", "$argon2id$ $argon2i$ $argon2d$ $5$ $6$ $y$", r"[./A-Za-z0-9=,$+-]{30,}+"),
)


# --- values that the words around them give away ----------------------------------------------------------------------

_TO_DASHES = r"[^-]*+(?:-{1,4}+(?!-)[^-]*+)*"  # as far as the next five dashes
_BREAKS = r"\s*+(?:\\[nr]\s*+)*"  # white space, escaped or not
_PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?P<body>{_TO_DASHES}-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"
    # Cut off before its end: header lines, whole base64 lines, and what is left of the last one.
    rf"|{_BREAKS}(?:[A-Z][A-Za-z-]{{2,30}}: [^\n]{{0,200}}\n\s*+){{0,6}}[A-Za-z0-9+/=]{{12,}}+"
    rf"(?:(?:\s|\\[nr]){_BREAKS}[A-Za-z0-9+/=]{{32,}}+)*"
    rf"(?:(?:\s|\\[nr]){_BREAKS}[A-Za-z0-9+/=]++(?=\W*\Z))?)"
)


def _has_key_material(found: re.Match[str]) -> bool:
    """A PEM block with something in it, not prose that mentions its first and last line."""
    return _compiled(r"[A-Za-z0-9+/=]{12}|\A\s*\n").search(found["body"]) is not None


def _is_credential(value: str) -> bool:
    """A value after `Bearer` or `Basic` that is no word of a sentence."""
    return _is_key(value) or (len(value) > 7 and (value.endswith("=") or not _is_wordy(value)))


def _is_literal(value: str) -> bool:
    """No variable. A URL is masked even when its password is `password`: nothing is lost by it."""
    return not _compiled(rf"{_VARIABLE}|x{{3,}}\Z").match(value)


def _is_parameter(found: re.Match[str]) -> bool:
    """A query parameter's value: a short name is believed only when the value is plainly random."""
    value = found["value"]
    if found["sure"] and not _is_template(value):
        return _is_key(value) or (_has_digit(value) and not _compiled(_TERM).fullmatch(value))
    return len(value) > 15 and _is_key(value) and not _is_wordy(value)


def _value(test: Callable[[str], bool]) -> _Test:
    return lambda found: test(found["value"])


# What may follow the word in a key's name without making it the name of something else (`token_count`).
_TAIL = (
    r"(?:[_-]?(?i:[0-9]{1,3}|prod|production|dev|development|stag(?:e|ing)|test|live|local|main|old|new|current|value"
    r"|string|str|raw|base|b64|base64|plain|text|default))?"
)
_ASSIGN = (
    r"(?:\\?[\"'`]\]?)?(?:\s\([^()\n]{1,30}\))?[ \t]{0,4}(?::[ \t]*[A-Za-z_][\w.\[\]|]{0,30}[ \t]*(?==))?"
    r"(?P<sep>=>|:=|={1,3}|:|：|(?<=\w)>)[ \t]{0,8}"
)
# "the password for staging was changed to …", or, without a verb, "with password …". The last word of "changed from …
# to …" is reached in the second pass.
_VERB = (
    r"(?P<sep>(?:\s(?:for|to|of|on|in|at|used)\s[^\n.:;=?!]{1,40}?(?=[\s'’:→–—是为為は-]))?(?:\s\([^()\n]{1,30}\))?"
    r"(?:(?:\s(?:is|was|are|to|ist|lautet|est|es|(?:should|must|will) be|has been)|['’]s)(?:\s(?:now|still|just|always"
    r"|currently|temporarily|simply|actually|also|set|changed|reset|rotated|updated|equal|to|from"
    r"|from \[redacted:password\] to)){0,3}:?\s|\s?:\s|\s?(?:→|->|–|—)\s?|是|为|為|は)|\s)[ \t]{0,2}"
)
# A value is quoted, or ends before punctuation and at letters beyond Latin; `&` belongs to passwords, but not before
# the next query parameter. Nothing may follow it: a pattern that fails after a long run is tried again inside it.
_CORE = r"[!#$%+\-/-9=@-Z^_a-z~\u00a1-\u00ff]"
_VALUE = (
    r"(?P<quote>\\?[\"'`]|\*\*)?(?P<value>(?(quote)(?!(?P=quote))[^\\\n]+?(?=(?P=quote)|[\\\n]|\Z)"
    rf"|{_CORE}++(?:(?:[.:?*…]++|&(?!\w{{1,40}}=)){_CORE}++)*))"
)
_PASSWORD = (
    r"(?P<key>(?i:pass(?:words?|wd|phrase|code|wort)?|pwd?|contraseña|kennwort|mot de passe|пароль|senha)"
    r"|密码|密碼|口令|パスワード|비밀번호)"
)
_PASSWORD_ANCHORS = (
    *("pass", "pw", "contraseña", "kennwort", "mot de passe", "пароль", "senha"),
    *("密码", "密碼", "口令", "パスワード", "비밀번호"),
)
_SECRET = r"(?P<key>(?i:secret|token|key))"
_SECRET_ANCHORS = ("secret", "token", "key")

# Words before "key" that make it a secret one; a primary, cache or public key is none.
_KEY_STEMS = (
    *("api", "access", "secret", "private", "auth", "client", "encryption", "signing", "master", "account", "shared"),
    *("service", "session", "license", "licence", "webhook", "deploy", "admin", "app", "consumer", "subscription"),
    *("storage", "jwt", "aes", "hmac", "cipher", "root", "bot"),
)

# What before "token" makes it a cursor or a handle, and before "secret" a part of a resource name.
_HARMLESS_STEMS = (
    *("progress", "page", "next", "continuation", "cancel", "cancellation", "sync", "public", "publickey", "primary"),
    ":",
)

# Words that follow "the password is" or "password:" without being one.
_REMARKS = (
    r"(?i:authentication|below|blank|changed|column|confidential|correct|default|different|disabled|empty|enabled|encrypt"
    r"(?:ed|ion)|environment|expired|field|file|generated|hash(?:ed)?|hidden|here|incorrect|input|interactive|invalid|key"
    r"(?:chain|ring)|kept|known|length|long|managed|mandatory|masked|mismatch|missing|needed|none|null|oauth|only|optional"
    r"|plain|plaintext|private|prompt(?:ed)?|protected|provided|random|redacted|required|reset|rotated|same|saved|secret"
    r"|sensitive|sent|short|stdin|stored|string|strong|text|unchanged|unique|unknown|unset|used|valid|validation|vault"
    r"|verified|weak|wrong)"
)
# Names of algorithms, encodings and protocols, and numbers with a unit, are mixed without being secret.
_TERM = (
    r"(?i:(?:sha|md|aes|rsa|argon|base|utf|pbkdf|hmac|hs|rs|es|ed|ec|oauth|tls|ssl|ipv|http|blake|crc|des|rc|ntlmv|bcrypt"
    r"|scrypt|iso|rfc|web|s3|k8s|[pvx](?=[0-9]))-?[0-9]{0,5}[a-z]{0,4}(?:[-_/.][a-z]{0,12}[0-9]{0,4}){0,3}"
    r"|[0-9]+(?:st|nd|rd|th|x|k|[-+][a-z]*)|[0-9]{1,2}fa|[0-9]+-(?:[0-9]+|[a-z]+)(?:-[a-z]+)*)"
)


def _is_assigned_secret(found: re.Match[str]) -> bool:
    """A key, token or secret that is set, or said, to a value."""
    key, value = found["key"], found["value"]
    word = key == "SECRET" and found["sep"] == "=" and len(value) > 7 and value.isalpha() and value.islower()
    if " " in value or not (word or _is_key(value)):
        return False
    stem = found.string[max(0, found.start("key") - 14) : found.start("key")].lower().rstrip(" _-.")
    if _compiled(_TERM).fullmatch(value) or _is_code(found) or stem.endswith(_HARMLESS_STEMS):
        return False
    if key.lower() == "key" and not stem.endswith(_KEY_STEMS):
        return _is_random(value, least=16, bits=3.0)
    if found["sep"].isspace():  # "token abc…", with nothing between them that says so
        return len(value) > 11 and (not _is_wordy(value) or (len(value) > 31 and _is_mixed(value)))
    return not word or not _is_template(value)


def _is_password(found: re.Match[str]) -> bool:
    """A password that is set, or said, to a value; `the password is stored in vault` says something else."""
    value, separator = found["value"], found["sep"].strip()
    if not 3 < len(value) < 200 or _is_template(value) or _is_name(value) or _compiled(_TERM).fullmatch(value):
        return False
    if not _is_word_start(found) or _is_code(found) or _compiled(_REMARKS).fullmatch(value):
        return False
    if " " in value:
        return found["key"].lower() == "passphrase" and separator in {":", "="}
    if _is_odd(value):
        return True
    if value.isdigit():
        return bool(separator) and not found.string.startswith(" ", found.end())
    return _is_plain_password(found, value, separator)


def _is_word_start(found: re.Match[str]) -> bool:
    """Not the end of `bypass` or `compass`."""
    start = found.start("key")
    before = found.string[start - 1 : start]
    return not before.islower() or not before.isascii() or not found["key"][0].islower() or len(found["key"]) > 4


def _is_code(found: re.Match[str]) -> bool:
    """A call, an index, an annotation; or the user name of a URL, whose password has a rule that keeps the host."""
    start, end = found.start("key"), found.end()
    if _compiled(r"://[^\s/@]*+\Z").search(found.string[max(0, start - 40) : start]):
        return True
    if found["quote"]:
        return False
    camel = _compiled(r"[A-Z][A-Z0-9]*[a-z]+(?:[A-Z0-9]+[a-z]+)+").fullmatch(found["value"])
    if camel and _is_wordy(camel[0]) and not _is_jumbled(camel[0], every=4):
        return True
    return found.string[end : end + 1] in {"(", "[", "{"}


def _is_name(value: str) -> bool:
    if _compiled(_NAME).fullmatch(value):
        return True
    return "_" in value and _compiled(r"(?i:[a-z_]*(?:pass|pwd|secret|hash|token)[a-z_]*)").fullmatch(value) is not None


def _is_odd(value: str) -> bool:
    """Letters with digits or signs among them, or letters in no natural order: no word of a sentence."""
    if not any(char.isalpha() for char in value):
        return False
    if _has_digit(value) or any(char in "!@#$%^&+=~" for char in value[:-1]):
        return True
    if value.count("-") > 2 or _is_jumbled(value, every=5):
        return True
    return value.isascii() and len(value) > 7 and _fluency(value) < 0.4


def _is_plain_password(found: re.Match[str], value: str, separator: str) -> bool:
    """A word of plain letters is a password when quoted, in an environment file, or alone after the colon."""
    if not value.isascii() or not value.isalnum():
        return False
    if found["quote"]:
        return separator.endswith("=") or value.islower()
    if separator == "=":
        return found["key"].isupper()
    rest = found.string[found.end() : found.end() + 2]
    return separator in {":", "：", ">"} and value.islower() and (not rest.strip() or rest[0] in "\n,;<")


def _is_spoken_password(found: re.Match[str]) -> bool:
    """As `_is_password`; without a verb, only after words that announce one ("log in with password …")."""
    if found["key"].lower() == "pass":  # as a word it is a verb
        return False
    if found["sep"].isspace():
        before = found.string[max(0, found.start("key") - 16) : found.start("key")].lower()
        announced = before.endswith(("with ", "with the ", "using ", "use ", "and ", "--", ", ", "/ ", *_OWNERS))
        if not (announced or (_is_mixed(found["value"]) and len(found["value"]) > 7)) or found["value"].isdigit():
            return False
    return _is_password(found)


_OWNERS = ("db ", "database ", "root ", "admin ", "wifi ", "sudo ")


def _said_before(text: str, folded: str) -> Iterator[Finding]:
    """Values that come before what they are called: `use … as the password`."""
    called = _compiled(
        r" (?:as|is) (?:the |my |its |an? )?(?:\w{1,12} )?(?:(password|passphrase)|api key|token|secret)\b"
    )
    for found in called.finditer(folded):
        begin = max(0, found.start() - 80)
        said = _compiled(rf"(?:\A|[\s\"'`*])(?P<value>(?:{_CORE}|&){{4,64}})[\"'`*]*\Z").search(
            text[begin : found.start()]
        )
        if said is not None and (_is_pair_password(said) if found[1] else _is_key(said["value"])):
            start, end = said.span("value")
            yield Finding("password" if found[1] else "secret", begin + start, begin + end)


def _is_pair_password(found: re.Match[str]) -> bool:
    value = found["value"]
    return len(value) > 3 and _is_odd(value) and not (_is_template(value) or _is_name(value))


_URL_PASSWORD = (
    r"(?<=[A-Za-z0-9+.-])://[^\s:/@\"'`<>?#]{0,128}+:(?![0-9]{1,5}[/?#])(?P<value>[^\s\"'`<>/]{1,256})@(?=[\w\[$<{%.-])"
)
_URL_USER = r"(?<=[A-Za-z])://(?P<value>[A-Za-z0-9_-]{20,256}+)(?::x-oauth-basic)?@"
_PARAMETER = (
    r"[?&](?:amp;)?(?i:[\w.-]{0,30}?(?P<sure>token|secret|password|passwd|pwd|sig|signature|api[_-]?key)"
    r"|[\w.-]{0,30}?(?:key|auth|code|credential|session|sid|jwt))=(?P<value>[^\s&#\"'`<>()\[\]]{6,}+)"
)
_BEARER = r"(?i:bearer) {1,4}(?P<value>[A-Za-z0-9_~+/=-]{4,}+(?:\.[A-Za-z0-9_~+/=-]++)*)"
_HEADER = (
    r"(?i:authorization)[\"']?\s?[:=]\s?[\"']?(?:[A-Za-z]{3,12}\s)?(?P<value>[A-Za-z0-9_~+/=-]{8,}+"
    r"(?:\.[A-Za-z0-9_~+/=-]++)*)"
)
_AWS_SECRET = r"(?i:aws|secret)[^\n]{0,60}?(?<![A-Za-z0-9/+])(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
_CURL_USER = r"(?i:curl)(?:\s[^\n]{0,200}?)?\s(?:-u|--user)[ =]?[\"']?[^\s:\"'$]{1,64}:(?P<value>[^\s\"'$]{1,128})"
_LOGIN = r"(?i:docker login|redis-cli)(?:\s[^\n]{0,80}?)?\s-[pa][ =]?(?P<value>[^\s\"'$-][^\s\"'$]{3,128})"
_PAIR = (
    r"(?i:credentials?|creds|log ?in|sign in)\s?(?:\s(?:are|is|with|as|using)|:|=)\s?[\"'`]?[\w.@-]{2,40}+[\"'`]?"
    rf"(?:\s?:\s?|\s/\s|[\"'`]\s?/\s?[\"'`])[\"'`]?(?P<value>(?:{_CORE}|&){{4,64}})"
)
_SSN = r"(?i:ssn|social sec)[^\n]{0,40}?(?<![\w.-])(?P<value>(?!000|666)[0-8][0-9]{2}-[0-9]{2}-[0-9]{4})(?![\w-])"
_PIN = r"(?:PIN|(?i:pin code|passcode))(?: is|:| =| was|(?<=code))\s(?P<value>[0-9]{4,8})(?![\w.-])"

_PHRASES = (
    _Rule("private-key", ("-----begin ",), _PRIVATE_KEY, _has_key_material),
    _Rule("slack-webhook", ("hooks.slack.com/",), r"(?i:hooks.slack.com)/[a-z]{5,12}/(?P<value>[A-Za-z0-9/_-]{20,}+)"),
    _Rule("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/(?P<value>[0-9]{8,}+/[A-Za-z0-9_-]{20,}+)"),
    _Rule("teams-webhook", (".office.com/webhookb2/",), r".office.com/webhookb2/(?P<value>[A-Za-z0-9@/_-]{36,}+)"),
    _Rule("authorization", ("bearer ",), _BEARER, _value(_is_credential)),
    _Rule("authorization", ("basic ",), r"(?i:basic) {1,4}(?P<value>[A-Za-z0-9+/]{8,}+={0,2})", _value(_is_credential)),
    _Rule("authorization", ("authorization",), _HEADER, _value(_is_credential)),
    _Rule("authorization", ('"auth": "', "_auth="), r"\W?_?auth\W{1,4}(?P<value>[\w+/]{8,}+={1,2})"),
    _Rule("url-password", ("://",), _URL_PASSWORD, _value(_is_literal)),
    _Rule("url-token", ("://",), _URL_USER, _value(_is_key)),
    _Rule("url-token", ("?", "&"), _PARAMETER, _is_parameter),
    _Rule("aws-secret-key", ("aws", "secret"), _AWS_SECRET, _value(_is_random)),
    _Rule("command-password", ("curl ",), _CURL_USER, _value(_is_literal)),
    _Rule("command-password", ("docker login ", "redis-cli "), _LOGIN, _value(_is_literal)),
    _Rule("command-password", ("sshpass ",), r"(?i:sshpass)\s+-p\s?[\"']?(?P<value>[^\s\"'$]{3,128})"),
    _Rule("command-password", ("mysql",), r"(?i:mysql\w{0,8})\s[^\n]{0,80}?\s-p(?P<value>[^\s\"'$-][^\s\"'$]{3,128})"),
    _Rule("password", _PASSWORD_ANCHORS, _PASSWORD + _TAIL + _ASSIGN + _VALUE, _is_password),
    _Rule("password", _PASSWORD_ANCHORS, _PASSWORD + _VERB + _VALUE, _is_spoken_password),
    _Rule("password", ("credential", "creds", "login", "log in", "sign in"), _PAIR, _is_pair_password),
    _Rule("pin", ("pin ", "pin:", "passcode"), _PIN),
    _Rule("social-security-number", ("ssn", "social sec"), _SSN),
    _Rule("secret", _SECRET_ANCHORS, _SECRET + _TAIL + _ASSIGN + _VALUE, _is_assigned_secret),
    _Rule("secret", _SECRET_ANCHORS, _SECRET + _VERB + _VALUE, _is_assigned_secret),
)

_TOKENS_BY_SIGN = _by_sign(_TOKENS)
_PHRASES_BY_SIGN = _by_sign(_PHRASES)
# The tables run from the most specific kind to the most general.
_RANKS = {kind: place for place, kind in enumerate(dict.fromkeys(rule.kind for rule in (*_TOKENS, *_PHRASES)))}


# --- personal data ----------------------------------------------------------------------------------------------------

_LOCAL_CHARS = string.ascii_letters + string.digits + "._%+-"
_DOMAIN = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61})\.){1,8}(?P<top>[A-Za-z]{2,24})(?![A-Za-z0-9(])"
# Accounts of machines, and addresses nobody reads.
_NOBODY = (
    r"(?i:your.*|git|hg|svn|root|ubuntu|ec2-user|centos|debian|vagrant|deploy|www-data"
    r"|(?:[\w.+-]*[.+-])?(?:no|do-?not)[._-]?reply)"
)
# Domains set aside for examples, and those that only name algorithms.
_RESERVED = (
    r"(?i:(?:.*\.)?(?:example\.(?:com|org|net)|example|test|invalid|localhost|local|your[\w-]*\.[a-z]+)"
    r"|users\.noreply\.github\.com|openssh\.com|libssh\.org)"
)
# Endings that make `name@2x.png` and `getty@tty1.service` files and units.
_NO_TOP = (
    r"(?i:png|jpe?g|gif|webp|svg|avif|ico|css|[mc]?js|tsx?|jsx|json|ya?ml|toml|txt|html|tgz|zip|whl|gz|service|socket"
    r"|target|timer|mount|slice|scope)"
)


def _emails(text: str) -> Iterator[Finding]:
    at = text.find("@")
    while at >= 0:
        head = text[max(0, at - 65) : at]
        local = head[len(head.rstrip(_LOCAL_CHARS)) :].lstrip(".%+-")
        domain = _compiled(_DOMAIN).match(text, at + 1) if 0 < len(local) < 65 else None
        if domain is not None and _is_personal(local, domain) and not _is_login(text, at - len(local)):
            yield Finding("email", at - len(local), domain.end())
        at = text.find("@", at + 1)


def _is_personal(local: str, domain: re.Match[str]) -> bool:
    """An address a person may read, not a file, a unit, a version or a remote."""
    if _compiled(_NO_TOP).fullmatch(domain["top"]) or _compiled(_NOBODY).fullmatch(local):
        return False
    if _compiled(r":[~/]").match(domain.string, domain.end()) or _compiled(r"v?[0-9]+\.[0-9]").match(domain[0]):
        return False
    return not _compiled(_RESERVED).fullmatch(domain[0])


def _is_login(text: str, start: int) -> bool:
    """`ssh -p 22 user@host`: an account on a machine."""
    command = _compiled(r"\b(?:ssh|scp|sftp|rsync|mosh|ssh-copy-id)\s[^\n]{0,60}\Z")
    return command.search(text[max(0, start - 72) : start]) is not None


# Patterns start with a digit or a sign, which lets the search skip everything else; the look-behind comes second.
_MANY_DIGITS = r"[0-9](?=[0-9 -]{7})(?:(?: ?[0-9]){9}|(?:-?[0-9]){14}|[0-9]{7,11}:)"
_TELEGRAM = r"[0-9](?<![0-9].)[0-9]{7,11}:[A-Za-z0-9_-]{34,}+"
_CARD = (
    r"[2-6](?<![\w.+-].)(?:[0-9]{14,15}|[0-9]{3}(?P<gap>[ -])[0-9]{4}(?P=gap)[0-9]{4}(?P=gap)[0-9]{4}"
    r"|[0-9]{3}(?P<rift>[ -])[0-9]{6}(?P=rift)[0-9]{5})(?!\w|[.-][0-9])"
)
_CARD_ISSUERS = (
    r"4[0-9]{15}|5[1-5][0-9]{14}|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}|3[47][0-9]{13}"
    r"|6(?:011|5[0-9]{2}|4[4-9][0-9]|2[0-9]{2})[0-9]{12}|35(?:2[89]|[3-8][0-9])[0-9]{12}"
)
_PHONE = r"\+(?<![\w+.)\]].)(?![0-9]{4}-[0-9]{2}-)[1-9](?:[ /-]?\(?[0-9]{1,4}\)?){2,8}(?!\w|\.[0-9])"
_IBAN = r"[A-Z](?<![A-Za-z0-9].)[A-Z][0-9]{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"


def _numbers(text: str) -> list[Finding]:
    rules = _LONG_NUMBERS if _compiled(_MANY_DIGITS).search(text) else ()
    if "+" in text:
        rules = *rules, ("phone-number", _PHONE, _is_phone)
    found: list[Finding] = []
    for kind, pattern, accept in rules:
        found += [Finding(kind, *each.span()) for each in _compiled(pattern).finditer(text) if accept(each)]
    return found


def _is_bot_token(found: re.Match[str]) -> bool:
    return len(set(found[0])) > 15


def _is_card(found: re.Match[str]) -> bool:
    digits = re.sub(r"[ -]", "", found[0])
    if not _compiled(_CARD_ISSUERS).fullmatch(digits):
        return False
    doubled = [int(digit) * 2 for digit in digits[-2::-2]]
    return (sum(int(digit) for digit in digits[::-2]) + sum(value // 10 + value % 10 for value in doubled)) % 10 == 0


def _is_phone(found: re.Match[str]) -> bool:
    """An international number: the right count of digits, and grouped or long enough not to be a sum."""
    digits = sum(char.isdigit() for char in found[0])
    grouped = any(char in " -(/" for char in found[0])
    return 9 < digits < 16 if grouped else 10 < digits < 14


def _is_iban(found: re.Match[str]) -> bool:
    code = found[0].replace(" ", "")
    return 15 <= len(code) <= 34 and int("".join(str(int(char, 36)) for char in code[4:] + code[:4])) % 97 == 1


_LONG_NUMBERS: tuple[tuple[str, str, _Test], ...] = (
    ("telegram-token", _TELEGRAM, _is_bot_token),
    ("iban", _IBAN, _is_iban),
    ("payment-card", _CARD, _is_card),
)


# --- high entropy -----------------------------------------------------------------------------------------------------

# Public though random: digests, public keys, object ids of well-known services, ULIDs, content addresses.
_PUBLIC = (
    r"(?:sha(?:1|224|256|384|512)|md5|h1)[-_:].*|/nix/store/.*|AAAA[BCEGI][23n][A-Za-z0-9+/]*={0,2}|Qm\w{44}"
    r"|01[0-9A-HJKMNP-TV-Z]{24}"
    r"|(?:srvtoolu|toolu|msg|req|call|resp|run|thread|asst|chatcmpl|cus|pi|pm|price|prod|sub|evt|ch|acct|batch|fc|rs|org"
    r"|proj|file|step|item|vs|ses|prt|cs_test|cs_live|pk_test|pk_live)[_-].*"
)
_PUBLIC_LABEL = (
    r"(?i:integrity|content-?hash|checksum|digest|fingerprint|etag|nonce|public[ _-]?key|sha-?(?:1|256|384|512)|h1|md5)"
    r"[\"'`]?\s?[:=]?\s?[\"'`]?\Z|(?i:id\\?[\"'`]?\s?:|(?<!sess)(?<!session)(?<!session_)id\s?=)\s?\\?[\"'`]?\Z|;base64,\Z"
)
_PUBLIC_BLOCK = rf"-----BEGIN (?![A-Z0-9 ]{{0,40}}PRIVATE)[A-Z0-9 ]{{3,40}}-----{_TO_DASHES}-----END"


def _random_tokens(text: str, long: list[str]) -> Iterator[Finding]:
    public = bytearray(len(text))
    for found in _compiled(_PUBLIC_BLOCK).finditer(text) if "-----BEGIN " in text else ():
        _take(public, *found.span())
    at = 0
    for chunk in long:
        start = text.find(chunk, at)
        at = start + len(chunk)
        if len(chunk) < 21 or public[start] or not _is_diverse(chunk):
            continue
        for found in _compiled(r"[A-Za-z0-9+/_-]{21,}+={0,2}").finditer(text, start, at):
            for begin, end in _random_parts(found):
                if not _is_public(text, begin, end):
                    yield Finding("high-entropy", begin, end)


def _random_parts(found: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The token if it is random as a whole, or else those parts of a path that are."""
    if _is_random(found[0].rstrip("=")):
        yield found.span()
    elif "/" in found[0]:
        for part in _compiled(r"[^/]{21,}+").finditer(found.string, *found.span()):
            if _is_random(part[0].rstrip("=")):
                yield part.span()


def _is_public(text: str, start: int, end: int) -> bool:
    """Known to be public by its own shape, by its label, or as a part of an address."""
    if _compiled(_PUBLIC).fullmatch(text, start, end) or _compiled(_PUBLIC_LABEL).search(
        text[max(0, start - 40) : start]
    ):
        return True
    run = _compiled(r"[\s\"'`<>,;|]").split(text[max(0, start - 600) : start])[-1]
    return _compiled(r"://|[a-z0-9]\.[a-z]{2,6}/").search(run) is not None
