"""Text that tries to give orders to a model: what nobody vouches for and reads like this is kept apart.

A tool's output, a web page or somebody else's export may carry sentences meant for the agent that reads them. Such a
memory is not dropped, since it may be a false alarm: it is quarantined, listed for review, and released by a word. This
is asked only of origins that nobody vouches for, so it may be wrong about a quotation now and then and not about the
user's own rules.

Rules for an agent are what a memory is for, so an order alone is no sign. A sign is a few wordings that follow each
other in one sentence: what is to be done, with what, and to what end ("send", "password", "to https://…"). Each wording
is looked for once in the whole text, so the time it takes grows with the text and no faster.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ..model import Origin

UNVOUCHED = frozenset({Origin.TOOL_OUTPUT, Origin.IMPORTED, Origin.EXTRACTED, Origin.INFERRED})
"""Where text comes from that no user said and no agent stated as its own."""


def suspicion(text: str, origin: Origin) -> str:
    """Why a text of an origin is to be kept apart; "" if there is nothing against it."""
    if origin not in UNVOUCHED:
        return ""
    if len(_UNSEEN.findall(text)) > _FEW_UNSEEN:
        return "hides characters that nobody sees"
    seen = unicodedata.normalize("NFKC", _FORMATTING.sub("", text)).casefold().translate(_LOOKALIKES)
    for reason, shape in _SHAPES:
        if shape.search(seen):
            return reason
    plain = _plain(seen)
    ends = [end.start() for end in _SENTENCE_END.finditer(plain)]
    return next((sign.reason for sign in _SIGNS if _shows(sign, plain, ends)), "")


@dataclass(frozen=True, slots=True)
class _Sign:
    """Wordings that, one after the other in one sentence, speak against a text."""

    reason: str
    wordings: tuple[re.Pattern[str], ...]


def _shows(sign: _Sign, text: str, ends: Sequence[int]) -> bool:
    first, *others = sign.wordings
    reached = [found.end() for found in first.finditer(text) if not _denied(text, found.start())]
    for wording in others:
        if not reached:
            return False
        reached = [found.end() for found in wording.finditer(text) if _follows(found.start(), reached, ends)]
    return bool(reached)


def _follows(start: int, reached: Sequence[int], ends: Sequence[int]) -> bool:
    """Whether what came before ends close ahead of this, in the same sentence."""
    place = bisect_right(reached, start) - 1
    if place < 0 or start - reached[place] > _CLOSE:
        return False
    return bisect_left(ends, reached[place]) == bisect_left(ends, start)


def _denied(text: str, start: int) -> bool:
    """Whether what begins here is just what the text says not to do."""
    return _DENIAL.search(text, max(0, start - _DENIAL_LENGTH), start) is not None


def _plain(seen: str) -> str:
    """The words of a text as they are read: without emphasis, hyphens and line breaks, sentences apart."""
    joined = _LETTERS_APART.sub(lambda found: _BETWEEN_LETTERS.sub("", found[0]), seen)
    apart = _NEW_ENTRY.sub(". ", _EMPHASIS.sub("", joined))
    return " ".join(_HYPHEN.sub(" ", apart).split())


_CLOSE = 120
"""How many characters may lie between two wordings of one sign."""
_FEW_UNSEEN = 8
"""So many unseen characters may come from copying."""
# Joiners, which Persian and emoji need, and marks of direction, which Hebrew and Arabic need, are seen by their effect.
_UNSEEN = re.compile("[\u200b\u2060-\u2064\u202a-\u202e\ufeff\U000e0000-\U000e007f]")
_FORMATTING = re.compile(
    "[\u00ad\u0334-\u0338\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
# Cyrillic and Greek letters that look like Latin ones. Words that are really Cyrillic or Greek come to nothing by it.
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u03bf\u03b1\u03b9\u03bd\u2019",
    "aeopcyxijsdhqoaiv'",
)
_LETTERS_APART = re.compile(r"(?<!\w)(?:[a-z][ .\-]){2,400}[a-z](?!\w)")
_BETWEEN_LETTERS = re.compile(r"[ .\-]")
_EMPHASIS = re.compile(r"[*`~\"]|(?<!\w)_+|_+(?!\w)")
_HYPHEN = re.compile(r"(?<=[a-z])-(?=[a-z])")
_NEW_ENTRY = re.compile(r"\n\s{0,8}(?:\n|[-+\u2022]\s|\d{1,3}[.)]\s|#|\|)")
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_DENIAL_LENGTH = 24
_DENIAL = re.compile(r"\b(?:never|not|cannot|don't|doesn't|won't|shouldn't|mustn't|avoid|no)\b(?: \w+){0,2} $")


# --- Shapes: what is written as only a program or a conversation writes it --------------------------------------------

_SPEAKS = "speaks as the system, or as somebody else in the conversation"
_RUNS = "asks a model to run something fetched from elsewhere"
_SENDS = "asks a model to send secrets or data away"
_BURIES = "asks a model to decode what it says"
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        _SPEAKS,
        re.compile(
            r"<\|?(?:im_start|im_end|system|endoftext|start_header_id|eot_id)\|>|\[/?inst\]|<</?sys>>|"
            r"</?(?:system|system[-_](?:reminder|prompt|message))>|<(?:antml:)?(?:function_calls|invoke name=|"
            r"tool_use)\b|"
            r"\[(?:system|developer|admin) (?:message|note|prompt|override|notice|update)\b|"
            r"\bsystem (?:override|directive)\s?[:!]"
        ),
    ),
    (
        _SPEAKS,
        re.compile(
            r"(?:^|\n)[ \t>*+-]{0,8}(?:###[ \t]{0,8})?system[ \t]{0,8}:[^\n]{0,200}\b(?:you|your|assistant|model)\b"
        ),
    ),
    (
        _SPEAKS,
        re.compile(r"(?:^|\n)[ \t>*+-]{0,8}###[ \t]{0,8}(?:system|instruction|response|human|assistant)[ \t]{0,8}:"),
    ),
    (_SPEAKS, re.compile(r"(?:^|\n)[ \t>*+-]{0,8}(?:human|user|system): [^\n]{1,400}\n{1,3}[ \t]{0,8}assistant: ")),
    (
        _SPEAKS,
        re.compile(
            r"\"(?:tool_calls?|function_call|tool_use)\"\s?:[^\n]{0,80}\"(?:shell|bash|exec|terminal|run_command)\""
        ),
    ),
    (
        _RUNS,
        re.compile(
            r"\beval\s?\(\s?(?:atob|base64|fetch|requests\.get)|\bbase64 (?:-d|--decode)\b[^\n>]{0,60}\|"
            r"\s?(?:ba|z)?sh\b"
        ),
    ),
    (_RUNS, re.compile(r"\bexec\s?\([^\n]{0,100}\b(?:urlopen|urllib|requests\.get)\b")),
    (
        _RUNS,
        re.compile(
            r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n|;]{0,120}\b(?:http://(?!localhost|127\.)|https?://\d)"
            r"[^\n|;]{0,200}(?:\||;|&&)\s?(?:sudo )?(?:ba|z|da)?sh\b"
        ),
    ),
    (
        _SENDS,
        re.compile(
            r"(?:/etc/(?:passwd|shadow)|\bid_rsa\b|\.ssh/|\.aws/|\.env\b|\.pem\b)[^\n]{0,160}"
            r"\bcurl\b[^\n]{0,40} (?:-f|-d|-t|--data\S{0,12}|--form|--upload-file)\b[^\n]{0,80}https?://"
        ),
    ),
    # A run of such characters is tried from its beginning only, however long it is.
    (_BURIES, re.compile(r"(?<![a-z0-9+/])[a-z0-9+/]{40,4000}={0,2}(?![a-z0-9+/])[^\n]{0,40}\bdecode\b")),
    (_BURIES, re.compile(r"\bdecode\b[^\n]{0,60}[a-z0-9+/]{40}")),
    (_SENDS, re.compile(r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,300}[?&]\w{1,30}=[<{\[)]")),
)


# --- Signs: wordings that follow each other ---------------------------------------------------------------------------

_ASIDE = "tells a model to set its instructions aside"
_PART = "gives a model a new part to play"
_HIDES = "asks a model to hide something from the user"
_STANDING = "tells a model what to do with every answer or tool"
_ADDRESSES = "addresses whichever model reads it"
_RECORDS = "asks a model to remember trust or leave that nobody gave"

_RULES = (
    r"(?:instructions?|directions?|directives?|rules?|guidelines?|prompts?|commands?|constraints?|training|context|"
    r"polic(?:y|ies)|restrictions?|safeguards?|filters?|programming|guidance)"
)
_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|original|initial|existing|system|safety|developer|your|all|any|every)"
)
_FILLER = r"(?:(?:the|of|these|those|my|other|and|that|which|its) )"
_MODEL = r"(?:ai|a\.i\.|llm|language model|assistants?|agents?|chatbot|claude|chatgpt|gpt|gemini|copilot)"
_USER = r"(?:user|human|person|operator|owner)"
_SECRETS = (
    r"(?:api keys?|tokens?|passwords?|secrets?|credentials?|private keys?|ssh keys?|cookies|environment variables|"
    r"env vars?|\.env\b|\.ssh\b|id_rsa|\.aws\b|/etc/(?:passwd|shadow)|system prompt|(?:conversation|"
    r"chat) (?:history|log)|"
    r"contents? of (?:the )?(?:memory|conversation))"
)
_STRONG_SECRETS = (
    r"(?:api keys|passwords?|secrets|credentials|private keys?|ssh keys?|environment variables|system prompt|"
    r"contents? of (?:the )?memory|(?:conversation|chat) history)"
)
_SEND = r"(?:send|post|upload|forward|exfiltrate|leak|transmit|e ?mail|copy|append|share|submit|deliver|report)"
_AWAY = (
    r"(?:https?://|ftp://|www\.|\S{1,64}@\S{1,64}\.\w|\d{1,3}\.\d{1,3}\.\d{1,3}\.\d|attacker|"
    r"th(?:is|e following) (?:image )?(?:url|address|server|endpoint|webhook|site)|an? (?:external|"
    r"remote) (?:server|site|url))"
)
_SHOW = r"(?:include|append|print|reveal|put|output|paste|insert|add|repeat|write)"
_ANSWER = r"(?:answers?|responses?|repl(?:y|ies)|outputs?|messages?|conversations?|chats?)"
_MUST = r"(?:must|should|shall|may now|can now|will now|has to|have to|is required to|are required to)"


def _signs(reason: str, *chains: tuple[str, ...]) -> tuple[_Sign, ...]:
    return tuple(_Sign(reason, tuple(re.compile(rf"(?<!\w){wording}") for wording in chain)) for chain in chains)


_SIGNS: tuple[_Sign, ...] = (
    *_signs(
        _ASIDE,
        (
            r"(?:ignore|disregard|forget|override|bypass|discard|abandon|(?:stop|quit) (?:following|obeying)|"
            r"(?:do not|don't|never|no longer|stop) (?:follow|obey|comply with|adhere to|listen to)) "
            rf"{_FILLER}{{0,3}}{_EARLIER}(?: (?:{_EARLIER}|the|of|these|those|\w+)){{0,2}} {_RULES}\b"
            # A rule about what others write is what an agent should have.
            r"(?! (?:in|from|embedded|found|inside|within|contained|hidden)\b(?! (?:your|the system)))",
        ),
        (
            rf"(?:ignore|disregard|forget|override) {_FILLER}{{0,2}}{_RULES} (?:above|before this|"
            rf"given (?:above|before|earlier))\b",
        ),
        (
            r"(?:ignore|disregard|forget) (?:about )?(?:everything|anything|all|what(?:ever)?)"
            r"(?: (?:of|that|the|is|was|it|came|comes|i|you|we|they|anyone|anybody|developers?|users?|has|have|"
            r"had|were|been|"
            r"ever|you've|you're)){0,6} (?:above|before|told|said|instructed|learned|previously|so far)\b",
        ),
        (
            rf"{_EARLIER}(?: \w+){{0,2}} {_RULES}\b",
            r"(?:no longer (?:apply|applies|valid|hold|holds|count|in force)|(?:are|is|be|"
            r"been) (?:now )?(?:void|cancell?ed|"
            r"superseded|revoked|overridden|suspended|lifted|null)|do(?:es)? not apply (?:to you|any ?more|here|now))",
        ),
        (
            r"(?:ignore|disregard|override|bypass) (?:\w+ ){0,2}(?:(?:safety|security) (?:protocols?|checks?|"
            r"measures|constraints?|protections?|mechanisms?)|user confirmation)\b",
        ),
        (
            rf"(?:supersedes?|overrides?|replaces?) (?:all |any )?(?:of )?(?:prior|previous|earlier|"
            rf"your) (?:\w+ )?{_RULES}\b",
        ),
        (r"(?:administrator|developer|operator|owner)s? (?:told|instructed|ordered) you to (?:comply|obey|ignore)\b",),
        (r"you (?:do not|don't|no longer) (?:have|need) to (?:follow|obey|comply|respect|observe)\b", rf"{_RULES}\b"),
        (
            rf"(?:turn off|switch off|disable|deactivate|drop|remove|ignore) your (?:\w+ )?(?:{_RULES}|"
            rf"guardrails?|limits)\b",
        ),
    ),
    *_signs(
        _SPEAKS,
        (
            r"(?:notice|message|instructions?|directive|announcement) from (?:anthropic|openai|google|microsoft|"
            r"your (?:developers?|"
            r"creators?|makers?|operators?))\b",
        ),
    ),
    *_signs(
        _PART,
        (
            r"you are now (?:(?:an?|the|in|my) )?(?:\w+ )?(?:ai|dan|unrestricted|unfiltered|unlimited|"
            r"uncensored|jailbroken|"
            r"evil|free (?:of|from)|hacker|chatbot|assistant|model|persona|root)\b",
        ),
        (
            r"you are no longer (?:claude|chatgpt|gpt|gemini|copilot|an? (?:ai|assistant|model|language)|bound|"
            r"restricted|"
            r"limited by|subject to)\b",
        ),
        (
            r"(?:pretend|imagine|act|behave|respond|roleplay|role play|play the (?:part|role)|"
            r"assume the (?:role|identity))\b",
            r"(?:(?:no|without|any|free of|free from) (?:\w+ )?(?:rules|restrictions|limits|limitations|filters|"
            r"guidelines|"
            r"ethics)|unrestricted|unfiltered|uncensored|never refuses?|hacker|jailbroken|dan\b|evil\b)",
        ),
        (
            r"(?:enter|enable|activate|switch (?:in)?to|go into) (?:\w+ )?(?:god|jailbreak|dan|unrestricted|"
            r"unfiltered) mode\b",
        ),
        (r"your new (?:instructions?|role|identity|persona|rules|objective|goal|mission|system prompt)\b",),
        (r"new (?:system )?(?:instructions|system prompt)\s?: ",),
    ),
    *_signs(
        _HIDES,
        (
            rf"(?:do not|don't|never|must not|should not) (?:ever )?(?:tell|inform) (?:the |your |any )?{_USER}\b"
            r"(?! (?:to|unless|until|before|if|when|which|how)\b)",
        ),
        (
            rf"(?:do not|don't|never|must not|should not) (?:ever )?(?:mention|reveal|show|disclose|admit|say) "
            rf"(?:(?:this|it|that|anything|any of this) )?to (?:the |your )?{_USER}\b(?! (?:unless|until|whether)\b)",
        ),
        (rf"(?:do not|don't|never) let (?:the |your )?{_USER} (?:know|find out|notice|see this)\b",),
        (
            rf"(?:the |your )?{_USER} (?:must|should|may|can|need) (?:not|never) (?:find out|be told|"
            rf"be informed|be aware|know about this)\b",
        ),
        (
            r"(?:hide|conceal|keep) (?:this|that|it|these|the (?:instructions?|message|fact|prompt))(?: \w+){0,4} "
            rf"from (?:the |your )?{_USER}\b",
        ),
        (
            r"(?:secretly|covertly|quietly|silently) (?:add|send|insert|upload|run|execute|install|change|"
            r"delete|copy|record|"
            r"include|push|commit|exfiltrate|forward|transmit|approve)\b",
        ),
        (
            r"(?:make|do|push|commit|change|delete|run|send|upload|apply|install|merge|add|remove|proceed|continue|"
            r"execute|deploy)\b",
            rf"without (?:asking|telling|informing|notifying|alerting) (?:the |your )?{_USER}\b",
        ),
        (
            r"(?:must|execute|run|install|send|transfer|delete|push|deploy)\b",
            r"without (?:the )?user(?:'s)? (?:confirmation|approval|consent|permission|knowledge)\b",
        ),
        (
            rf"without (?:asking|telling|informing|notifying|alerting) (?:the |your )?{_USER}, ?(?:make|do|push|"
            rf"commit|change|"
            r"delete|run|send|apply|install|merge|add|remove|execute|deploy)\b",
        ),
    ),
    *_signs(
        _SENDS,
        (rf"{_SEND}\b", rf"{_SECRETS}", rf"{_AWAY}"),
        (rf"{_SECRETS}", rf"(?:and|then) (?:{_SEND}|fetch|put)\b", rf"{_AWAY}"),
        (
            rf"{_SEND}\b",
            r"(?:all|every|the user's|any) (?:\w+ ){0,2}(?:data|files?|contacts?|messages?|documents?|records?)\b",
            rf"{_AWAY}",
        ),
        (r"exfiltrate\b", rf"{_SECRETS}"),
        (
            rf"{_SEND}\b",
            rf"{_AWAY}",
            r"(?:do not|don't|never|without) (?:mention|mentioning|say|saying|tell|telling|report) (?:it|this|"
            r"that|any)",
        ),
        (
            r"(?:conversation|chat|what the user (?:said|typed|wrote)|user's messages)\b",
            r"(?:fetch|visit|open|load|request|send|post|append)\b",
            r"https?://",
        ),
        (rf"{_SHOW}\b", rf"{_SECRETS}", rf"(?:in|into|to|with|at the end of) your (?:next |final |first )?{_ANSWER}\b"),
        (
            rf"{_SHOW}\b",
            rf"{_STRONG_SECRETS}",
            rf"(?:in|into|to|with|at the end of) (?:every|each|all|any|the next) (?:future )?{_ANSWER}\b",
        ),
        (
            rf"{_SECRETS}",
            rf"(?:and|then) (?:{_SHOW}|show)\b",
            rf"(?:in|into|to|with) your (?:next |final |first )?{_ANSWER}\b",
        ),
        (
            r"(?:print|reveal|repeat|output|show|display|leak|recite|disclose|tell me|give me) (?:me )?(?:your|"
            r"the hidden|the secret)"
            r" (?:\w+ ){0,2}(?:prompt|instructions)\b",
        ),
        (r"repeat (?:everything|all|the (?:text|words)|every word) (?:of the )?(?:text )?(?:above|before)\b",),
    ),
    *_signs(
        _RUNS,
        (rf"(?:the |all |an |any |every )?{_MODEL} {_MUST}\b", r"(?:curl|wget)\b", r"\| ?(?:sudo )?(?:ba|z|da)?sh\b"),
        (r"(?:when(?:ever)?|if|as soon as|once|next time|every time) (?:the |a |any )?user\b", r"rm -rf?\b"),
        (
            r"rm -rf? (?:/|~|\$home|\.git|\*)",
            r"(?:when(?:ever)?|if|as soon as|once|next time|every time) (?:the |a |any )?user\b",
        ),
    ),
    *_signs(
        _ADDRESSES,
        (
            rf"(?:if you are|attention|note to|note for|dear|hey|hello) (?:an? |the |any |all |"
            rf"this )?(?:\w+ )?{_MODEL}\b",
            r"(?:execute|delete|ignore|disregard|obey|permission|authori[sz]|approve|exfiltrate|send|"
            r"the following (?:command|order))",
        ),
        (
            rf"{_MODEL}(?: \w+){{0,2}} (?:reading|processing|viewing|summari[sz]ing|parsing) this\b",
            r"(?:execute|delete|ignore|disregard|obey|approve|send|upload|reveal|download|push)\b",
        ),
        (
            rf"(?:the |all |any |every )?{_MODEL} {_MUST}\b",
            r"(?:approve (?:all|every|any)|read any file|skip (?:the )?(?:code )?review|never refuse|obey|"
            r"ignore (?:the )?(?:user|reviewer))",
        ),
    ),
    *_signs(
        _STANDING,
        (
            r"(?:(?:when(?:ever)?|if|every time|each time|next time|as soon as|once) (?:the |a |any |"
            r"your )?(?:user|human|anyone|"
            r"anybody|somebody|someone|people) (?:next |ever |then )?(?:asks?|says?|mentions?|types?|wants?|"
            r"requests?|thanks?|"
            r"inquires?)|(?:if|when) (?:you are )?asked)\b",
            r"(?:instead (?:output|say|write|answer|reply|print|do)|say that|claim that|insist|recommend|"
            r"promote|nothing else|"
            r"output the word|(?:invoke|call|use|run) (?:the )?\w{0,20}(?:delete|remove|wipe|drop|transfer|pay|"
            r"send|upload|exfil)|"
            r"(?:fetch|visit|load|request) https?://)",
        ),
        (r"always (?:recommend|cite|promote|endorse|praise|advertise)\b",),
        (
            rf"(?:in|at the (?:end|start|beginning) of|before|after|with) (?:every|each|all|"
            rf"any) (?:of your )?(?:future )?{_ANSWER}\b",
            r"(?:https?://|links? to|mention that|recommend|promote|visit|contents of|hidden|tracking|advert|"
            r"sponsor|promo)",
        ),
        (
            r"you must (?:always |first )?(?:call|invoke|use|run) (?:the )?[\w.]{1,40} tool\b",
            r"before (?:answering|responding|replying)\b",
        ),
        (
            r"before (?:answering|responding|replying)\b",
            r"you must (?:always |first )?(?:call|invoke|use|run) (?:the )?[\w.]{1,40} tool\b",
        ),
        (
            r"(?:approve|accept|merge|authori[sz]e|grant) (?:all|every|any|each) (?:\w+ )?(?:requests?|changes?|"
            r"commands?|payments?|"
            r"transfers?|actions?|pull requests?)\b",
            r"(?:without (?:\w+ )?(?:review|asking|confirmation|question)|from now on|no matter)",
        ),
    ),
    *_signs(
        _RECORDS,
        (
            r"(?:remember|save|store|add|update|write|commit|record|memori[sz]e)\b",
            r"(?:(?:to|in|into) (?:your |the )?(?:long term |persistent |permanent )?memory|"
            r"your (?:long term )?memory|permanently|forever)\b",
            r"(?:trusted|authori[sz]ed|approved|permission|confirmation|skip|no (?:\w+ ){1,2}(?:is|"
            r"are) (?:needed|required)|"
            r"treat (?:it|this) as)",
        ),
        (
            r"(?:remember|note|memori[sz]e|treat|consider|always)\b",
            r"(?:trusted|authoritative|verified|reliable) (?:\w+ )?(?:source|website|site|domain|vendor|"
            r"authority|provider|index|"
            r"registry|mirror)s?\b",
        ),
        (
            r"(?:the |your )?(?:user|owner|operator|admin|administrator|human)s?(?: of this \w+)? (?:has |have |"
            r"had )?(?:already )?"
            r"(?:approve[ds]?|authori[sz]e[ds]?|grant(?:ed|s)?|consented|gives? you|gave you|given you)\b",
            r"(?:all|every|any|full|unlimited|root) (?:\w+ )?(?:commands?|permissions?|access|payments?|"
            r"transfers?|actions?|"
            r"operations?|requests?)\b",
        ),
        (
            r"(?:the |your )?(?:user|owner|operator|admin|administrator)s? (?:wants|prefers|allows|likes|said|"
            r"says|agreed)\b",
            r"without (?:asking (?:for )?)?(?:\w+ )?(?:confirmation|permission|approval)\b",
        ),
        (
            rf"{_MODEL} (?:has|have|is given|are given) (?:\w+ )?permission\b",
            r"without (?:asking|confirmation|approval|review)\b",
        ),
    ),
)
