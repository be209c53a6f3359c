r"""Secrets and personal data out of text, before it is hashed, logged, embedded or stored.

`redact` is the whole surface. It looks for three sorts of thing, in this order:

1. **known shapes** — tokens that carry their issuer's mark (`_TOKENS`) and values that the words around them give away
   (`_PHRASES`: headers, URLs, assignments, passwords in prose);
2. **personal data** — e-mail addresses, and numbers with a check digit or a telling shape;
3. **high entropy** — single tokens over 20 characters and 4.0 bits a character that have no word structure.

Where two known shapes overlap, their union is masked under the name of the more specific one; the later sorts never
touch what an earlier one claimed.

Every rule is tried only where a fixed *anchor* stands, so ordinary text costs little more than substring searches, and
every pattern is either bounded or possessive, so hostile text costs linear time. Not here: reading files, ignore lists,
or deciding what becomes of a text with findings.
"""

from __future__ import annotations

import math
import re
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


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern tried wherever one of its anchors stands; its group `value`, or all of it, is the secret."""

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    accept: Callable[[re.Match[str]], bool] | None = None
    back: int = 0  # the match begins this many characters before the anchor


def _scan(text: str) -> list[Finding]:
    """The findings of one pass over `text`, in order; none touches a placeholder."""
    taken = bytearray(len(text))
    for found in _compiled(_PLACEHOLDER).finditer(text) if "[redacted:" in text else ():
        _take(taken, *found.span())
    long = [chunk for chunk in text.split() if len(chunk) > 15]
    shaped = [found for found in _shaped(text, long) if taken.find(1, found.start, found.end) < 0]
    findings = _united(shaped)
    for finding in findings:
        _take(taken, finding.start, finding.end)
    for finder in (_emails(text), _numbers(text), _random_tokens(text, long)):
        for finding in finder:
            if taken.find(1, finding.start, finding.end) < 0:
                _take(taken, finding.start, finding.end)
                findings.append(finding)
    findings.sort(key=lambda finding: finding.start)
    return findings


_PLACEHOLDER = r"\[redacted:[a-z][a-z-]{1,39}\]"


def _take(taken: bytearray, start: int, end: int) -> None:
    taken[start:end] = b"\1" * (end - start)


def _shaped(text: str, long: list[str]) -> Iterator[Finding]:
    """What the rule tables find, most specific rule first; spans may overlap."""
    haystack = "\n".join(long)
    for rule in _TOKENS:
        for anchor in rule.anchors:
            if anchor in haystack:
                yield from _at(anchor, rule, text, text)
    folded = _folded(text)
    for rule in _PHRASES:
        for anchor in rule.anchors:
            if anchor in folded:
                yield from _at(anchor, rule, text, folded)


def _at(anchor: str, rule: _Rule, text: str, haystack: str) -> Iterator[Finding]:
    match = _compiled(rule.pattern).match
    at = haystack.find(anchor)
    while at >= 0:
        resume = at + 1
        found = match(text, at - rule.back) if at >= rule.back else None
        if found is not None and (rule.accept is None or rule.accept(found)):
            start, end = found.span("value" if "value" in found.re.groupindex else 0)
            resume = max(resume, end)
            yield Finding(rule.kind, start, end)
        at = haystack.find(anchor, resume)


def _united(found: list[Finding]) -> list[Finding]:
    """Overlapping findings as their union; the one that came first names it."""
    rank = {id(finding): place for place, finding in enumerate(found)}
    united: list[tuple[int, Finding]] = []
    for finding in sorted(found, key=lambda each: (each.start, each.end)):
        place = rank[id(finding)]
        if united and finding.start < united[-1][1].end:
            other_place, other = united[-1]
            kind = other.kind if other_place < place else finding.kind
            both = Finding(kind, other.start, max(other.end, finding.end))
            united[-1] = min(other_place, place), both
        else:
            united.append((place, finding))
    return [finding for _, finding in united]


def _folded(text: str) -> str:
    """`text` in lower case, every character at its place (the capital dotted I alone would grow)."""
    return text.replace("\u0130", "I").lower()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# --- does a value look like a secret? ---------------------------------------------------------------------------------

# Which letters commonly follow which in words and identifiers: nine in ten pairs of real text, one in three of random.
_FOLLOWERS = {
    "a": "bcdfgiklmnprstuvwxyz",
    "b": "abeijlorsuy",
    "c": "acehiklorstuy",
    "d": "adegilorsuy",
    "e": "abcdefgilmnopqrstuvwxy",
    "f": "aefiloru",
    "g": "aeghilnorsu",
    "h": "aeiortuy",
    "i": "abcdefgklmnoprstvxz",
    "j": "aeous",
    "k": "aeinsy",
    "l": "adefiklmopstuvy",
    "m": "abeimnopsuy",
    "n": "acdefgijklnostuvy",
    "o": "abcdefgiklmnoprstuvwxy",
    "p": "aehiloprstuy",
    "q": "u",
    "r": "abcdefgiklmnoprstuvy",
    "s": "acehiklmnopqstuwy",
    "t": "acehilmoprstuwyx",
    "u": "abcdefgilmnprst",
    "v": "aeio",
    "w": "aehinors",
    "x": "aceipty",
    "y": "aeilmnopst",
    "z": "aeioz",
}


@cache
def _natural_pairs() -> frozenset[str]:
    """Pairs of characters with which words, numbers, alphabets and runs of one character are written."""
    pairs = {first + second for first, seconds in _FOLLOWERS.items() for second in seconds}
    letters = "abcdefghijklmnopqrstuvwxyz"
    pairs |= {letter * 2 for letter in letters} | {first + second for first, second in zip(letters, letters[1:])}
    digits = {first + second for first in "0123456789" for second in "0123456789"}
    return frozenset(pairs | {pair.upper() for pair in pairs} | {pair.capitalize() for pair in pairs} | digits)


def _wordiness(token: str) -> float:
    """The share of neighbouring characters in `token` that belong together: about 0.8 in names, 0.2 in random ones.

    Short pieces say nothing and do not count; neither does the step from one camelCase word to the next. A piece that
    is all hexadecimal counts as natural: digests and ids are not what the entropy rule is after.
    """
    natural = total = 0
    pairs = _natural_pairs()
    for piece in _compiled(r"[A-Za-z0-9]{5,}+").findall(token):
        if _compiled(r"[0-9a-f]+|[0-9A-F]+").fullmatch(piece):
            natural += len(piece)
            total += len(piece)
            continue
        steps = [pair for pair in map(str.__add__, piece, piece[1:]) if not (pair[0].islower() and pair[1].isupper())]
        natural += sum(pair in pairs for pair in steps)
        total += len(steps)
    return natural / total if total else 1.0


def _entropy(token: str) -> float:
    """Shannon entropy of `token`'s characters, in bits per character."""
    size = len(token)
    return math.log2(size) - sum(count * math.log2(count) for count in Counter(token).values()) / size


def _is_random(token: str, *, least: int = 21, bits: float = 4.0) -> bool:
    """At least `least` characters of two classes or more, over `bits` of entropy, and not made of words."""
    if len(token) < least:
        return False
    digits = any(char.isdigit() for char in token)
    cases = token.lower() != token and token.upper() != token
    if not (cases or (digits and token.lower() != token.upper())) or _entropy(token) <= bits:
        return False
    return _wordiness(token) < (0.5 if digits else 0.4)


_TEMPLATE = (
    r"(?i:[<$%{\[*#@!]|\.{2}|…|-|x{3}|\\|"
    r"(?:your|my|our|the|an?|some|any|this|that|example|sample|dummy|fake|mock|placeholder|redacted|masked|hidden|change"
    r"|changeme|replace|replaceme|insert|enter|todo|tbd|none|null|nil|undefined|unset|empty|default|true|false|yes|no"
    r"|str|string|int|number|bool|boolean|optional|required|required|env|process|os|self|this|config|settings|args"
    r"|password|passwd|passphrase|pass|pwd|pw|secret|token|apikey|api|key|user|username)(?:[^A-Za-z0-9]|\Z))"
)


def _is_template(value: str) -> bool:
    """Whether `value` stands for a secret instead of being one: `<token>`, `${TOKEN}`, `your-key-here`, `xxxx`."""
    return len(set(value)) < 4 or _compiled(_TEMPLATE).match(value) is not None


# A name in code: an environment variable, a dotted attribute, a path.
_NAME = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+|[~.]?/\S*|[A-Za-z][a-z]*://\S*"


def _is_mixed(value: str) -> bool:
    """Letters and digits together in a way that words with a number (`v2`, `oauth2`, `db-credentials-3`) are not."""
    if value.isalpha() or not any(char.isdigit() for char in value) or not any(char.isalpha() for char in value):
        return False
    pieces = [piece for piece in _compiled(r"[^A-Za-z0-9]++").split(value) if piece]
    plain = _compiled(r"[A-Za-z]+|[0-9]+|[A-Za-z]{1,10}[0-9]{1,3}").fullmatch
    return len(value) >= 8 if len(pieces) == 1 else not all(plain(piece) for piece in pieces)


def _is_key(value: str) -> bool:
    """Whether `value`, said to be a key, token or secret, looks like one and not like the name of one."""
    if len(value) < 8 or _is_template(value) or _compiled(_NAME).fullmatch(value):
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
    return _varied(found) and (_is_mixed(body) or _wordiness(body) < 0.5)


def _token(kind: str, prefixes: str, body: str, accept: Callable[[re.Match[str]], bool] = _varied) -> _Rule:
    anchors = tuple(prefixes.split())
    return _Rule(kind, anchors, f"{_LEFT}(?:{'|'.join(map(re.escape, anchors))})(?P<body>{body})", accept)


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
    _token("slack-token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xoxc- xoxd- xoxe.", r"[A-Za-z0-9.%-]{10,}+", _unspoken),
    _token("slack-token", "xapp-", r"[A-Za-z0-9-]{20,}+", _unspoken),
    _token("stripe-key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", rf"{_ALNUM}{{10,}}+"),
    _token("webhook-secret", "whsec_", r"[A-Za-z0-9+/]{20,}+={0,2}"),
    _token("npm-token", "npm_", rf"{_ALNUM}{{30,}}+"),
    _token("pypi-token", "pypi-", rf"{_URLSAFE}{{40,}}+", _unspoken),
    _token("huggingface-token", "hf_ api_org_", rf"{_ALNUM}{{30,}}+"),
    _token("sendgrid-key", "SG.", rf"{_URLSAFE}{{16,}}+\.{_URLSAFE}{{16,}}+"),
    _token("twilio-key", "SK AC", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _token("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"{_ALNUM}{{32,}}+"),
    _Rule(
        "jwt",
        ("eyJ",),
        rf"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))eyJ{_URLSAFE}{{8,}}+\.{_URLSAFE}{{8,}}+(?:\.{_URLSAFE}*+){{0,3}}(?<!\.)",
    ),
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
    _token("square-token", "sq0atp- sq0csp- EAAA", rf"{_URLSAFE}{{22,}}+", _unspoken),
    _token("atlassian-token", "ATATT3 ATCTT3", r"[A-Za-z0-9_=-]{40,}+"),
    _token("newrelic-key", "NRAK- NRII- NRJS-", rf"{_URLSAFE}{{19,}}+"),
    _token("postman-key", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    _token("grafana-token", "glsa_ glc_", r"[A-Za-z0-9+/_]{32,}+={0,2}"),
    _token("sentry-token", "sntrys_ sntryu_", r"[A-Za-z0-9+/_=]{40,}+"),
    _token("planetscale-token", "pscale_tkn_ pscale_oauth_ pscale_pw_", r"[\w=.-]{30,}+(?<!\.)"),
    _token("dynatrace-token", "dt0c01. dt0s01.", rf"{_ALNUM}{{24}}\.{_ALNUM}{{60,}}+"),
    _token("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa.", r"[A-Za-z0-9._-]{40,}+(?<!\.)"),
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
    _token("huawei-or-alibaba-key", "LTAI", rf"{_ALNUM}{{16,24}}(?!{_ALNUM})", _unspoken),
    _token("password-hash", "$2a$ $2b$ $2y$", r"[0-9]{2}\$[./A-Za-z0-9]{53}"),
    _token("password-hash", "$argon2id$ $argon2i$ $argon2d$ $5$ $6$ $y$", r"[./A-Za-z0-9=,$+-]{30,}+"),
)


# --- values that the words around them give away ----------------------------------------------------------------------

_PRIVATE_KEY = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?P<body>[^-]*+(?:-(?!----)[^-]*+)*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    # Cut off before its end: header lines, whole base64 lines, and what is left of the last one.
    r"|(?:\s|\\[nr])*+(?:[A-Z][A-Za-z-]{2,30}: [^\n]{0,200}\n\s*+){0,6}"
    r"[A-Za-z0-9+/=]{16,}+(?:(?:\s|\\[nr])++[A-Za-z0-9+/=]{32,}+)*+(?:(?:\s|\\[nr])++[A-Za-z0-9+/=]++(?=\W*\Z))?+)"
)


def _has_key_material(found: re.Match[str]) -> bool:
    """A PEM block with something in it, not prose that mentions its first and last line."""
    return _compiled(r"[A-Za-z0-9+/=]{12}|\A\s*\n").search(found["body"]) is not None


def _is_credential(found: re.Match[str]) -> bool:
    """A value after `Bearer` or `Basic` that is no word of a sentence."""
    value = found["value"]
    return _is_key(value) or (len(value) > 7 and (value.endswith("=") or _wordiness(value) < 0.45))


def _is_password_in_url(found: re.Match[str]) -> bool:
    return not _compiled(r"[<$%{\[*]|x{3,}\Z").match(found["value"])


def _is_random_user(found: re.Match[str]) -> bool:
    return _is_mixed(found["value"]) or _is_random(found["value"], bits=3.5)


def _is_parameter(found: re.Match[str]) -> bool:
    """A query parameter's value: a short name is believed only when the value is plainly random."""
    value = found["value"]
    if found["sure"]:
        return len(value) > 5 and not _is_template(value) and (_is_key(value) or not value.isalpha())
    return len(value) > 15 and _is_key(value) and _wordiness(value) < 0.5


def _is_aws_secret(found: re.Match[str]) -> bool:
    return _is_random(found["value"])


def _is_plain_argument(found: re.Match[str]) -> bool:
    return not _is_template(found["value"])


# What may follow the word in a key's name without making it the name of something else (`token_count`).
_TAIL = (
    r"(?:[_-]?(?i:[0-9]{1,3}|prod|production|dev|development|stag(?:e|ing)|test|live|local|main|old|new|current|value"
    r"|string|str|raw|base|b64|base64|plain|text|default))?"
)
_ASSIGN = r"(?:\\?[\"'`])?\]?[ \t]{0,4}(?::[ \t]*[A-Za-z_][\w.\[\]|]{0,30}[ \t]*(?==))?(?:=>|:=|={1,3}|:|：|>)[ \t]{0,8}"
_BARE = r"[^\s\"'`,;<>(){}\[\]|\\&，。；、]"
_QUOTE = r"(?P<quote>\\?[\"'`]|\*\*)?"
# A `(` or `[` after a bare value makes it code; the last alternative keeps `&` in passwords and out of query strings.
_VALUE = (
    rf"{_QUOTE}(?P<value>(?(quote)[^\"'`\\\n]{{1,512}}|{_BARE}{{1,512}}+(?:&(?!\w{{1,40}}=){_BARE}{{1,512}}+){{0,4}}(?![(\[{{])))"
)
