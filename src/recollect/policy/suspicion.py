"""Text that tries to give orders to a model: what nobody vouches for and reads like this is kept apart.

A tool's output, a web page or somebody else's export may carry sentences meant for the agent that reads them. Such a
memory is not dropped, since it may be a false alarm: it is quarantined, listed for review, and released by a word. This
is asked only of origins that nobody vouches for, so it may be wrong about a quotation now and then and not about the
user's own rules.
"""

from __future__ import annotations

import re

from ..model import Origin
from .identity import canonical_text

UNVOUCHED = frozenset({Origin.TOOL_OUTPUT, Origin.IMPORTED, Origin.EXTRACTED, Origin.INFERRED})
"""Where text comes from that no user said and no agent stated as its own."""

_OTHERS = (
    r"(?:(?:all|any|every|the|your|my|these|those|of|previous|prior|above|earlier|preceding|other)\s+){0,4}"
)
_ORDERS = (
    r"(?:instructions?|directions?|directives?|rules?|guidelines?|prompts?|context|commands?|constraints?|training)"
)
_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "tells a model to set its instructions aside",
        re.compile(
            rf"\b(?:ignore|disregard|forget|override|bypass|discard|do\s+not\s+follow|stop\s+following)\s+{_OTHERS}"
            rf"(?:(?:system|safety|developer)\s+)?{_ORDERS}\b"
        ),
    ),
    (
        "speaks as the system, or as somebody else in the conversation",
        re.compile(
            r"(?:^|\n)\s*(?:system|developer|assistant|human|user)\s*(?:prompt|message)?\s*:\s|<\|?(?:im_start|im_end|"
            r"system|endoftext)\|?>|\[/?(?:inst|system)\]|<</?sys>>|<(?:system-reminder|system)\b"
        ),
    ),
    (
        "gives a model a new part to play",
        re.compile(
            r"\byou\s+are\s+(?:now|no\s+longer)\s+(?:an?|the|in|bound|restricted)\b|\bact\s+as\s+(?:if\s+you|an?\s+un|dan\b)"
            r"|\b(?:enter|enable|switch\s+to)\s+(?:developer|god|debug|jailbreak|dan)\s+mode\b"
            r"|\bnew\s+(?:system\s+)?(?:instructions?|prompt|persona)\s*:"
        ),
    ),
    (
        "asks a model to hide something from the user",
        re.compile(
            r"\b(?:do\s+not|don't|never|without)\s+(?:tell|telling|mention|mentioning|inform|informing|reveal|revealing|"
            r"show|showing|ask|asking|notify|notifying|alert|alerting)\s+(?:this\s+(?:to\s+)?|it\s+to\s+|anything\s+to\s+)?"
            r"(?:the\s+)?(?:user|human|developer|operator|owner)\b|\bsecretly\b|\bsilently\s+(?:send|upload|run|exfiltrate)"
        ),
    ),
    (
        "asks a model to send secrets or data away",
        re.compile(
            r"\b(?:send|post|upload|forward|exfiltrate|leak|transmit|email|e-mail|copy|include|append|print|reveal|share)\b"
            r"[^.\n]{0,80}\b(?:api\s+keys?|tokens?|passwords?|secrets?|credentials?|private\s+keys?|ssh\s+keys?|cookies|"
            r"environment\s+variables|env\s+vars?|\.env\b|system\s+prompt|conversation\s+history|chat\s+history|"
            r"contents?\s+of\s+(?:the\s+)?(?:memory|\.ssh|/etc))[^.\n]{0,80}"
            r"\b(?:to|at|into|in)\s+(?:https?://|ftp://|www\.|\S+@\S+\.\S+|every|each|all|any|the\s+(?:url|answer|response|"
            r"reply|attacker|following)|this\s+(?:url|address|server|endpoint|webhook)|an?\s+(?:external|remote))"
        ),
    ),
    (
        "asks a model to run something fetched from elsewhere",
        re.compile(
            r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n|;]{0,200}(?:\||;|&&)\s*(?:sudo\s+)?(?:ba|z|da)?sh\b"
            r"|\beval\s*\(\s*(?:atob|base64|fetch|requests\.get)|\bbase64\s+(?:-d|--decode)\b[^\n]{0,60}\|\s*(?:ba|z)?sh\b"
        ),
    ),
    (
        "tells a model what to do with every answer or tool",
        re.compile(
            r"\b(?:in|at\s+the\s+(?:end|start|beginning)\s+of|before|after|with)\s+(?:every|each|all|any)\s+(?:future\s+)?"
            r"(?:answers?|responses?|repl(?:y|ies)|messages?|tool\s+calls?|requests?|conversations?|sessions?)\b[^.\n]{0,60}"
            r"\b(?:you\s+must|always|call|invoke|include|append|add|insert|recommend|mention|visit|fetch|open)\b"
            r"|\b(?:always|must)\s+(?:call|invoke|use)\s+(?:the\s+)?\w+\s+tool\s+(?:first|before)\b"
        ),
    ),
)
_UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]")
_LONGEST = 8_000


def suspicion(text: str, origin: Origin) -> str:
    """Why a text of an origin is to be kept apart; "" if there is nothing against it."""
    if origin not in UNVOUCHED:
        return ""
    hidden = len(_UNSEEN.findall(text))
    plain = canonical_text(_UNSEEN.sub("", text[:_LONGEST])).lower()
    raw = _UNSEEN.sub("", text[:_LONGEST]).lower()
    for reason, sign in _SIGNS:
        if sign.search(plain) or sign.search(raw):
            return reason
    return "hides characters that nobody sees" if hidden > _FEW else ""


_FEW = 8
"""So many unseen characters may come from copying."""
