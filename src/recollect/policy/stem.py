"""English words without their endings, so that a question for "deploy" finds "deploys", "deployed" and "deploying".

Porter's algorithm of 1980, which FTS5 and most search engines know. It is written out here because the words are
counted here too: index, counts and questions must agree on every stem, whatever engine keeps them.
"""

from __future__ import annotations

import re
from functools import lru_cache

_VOWELS = "[aeiouy][aeiou]*"
_CONSONANTS = "[^aeiou][^aeiouy]*"
_MEASURE_1 = re.compile(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}")
_MEASURE_1_ONLY = re.compile(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}(?:{_VOWELS})?$")
_MEASURE_2 = re.compile(f"^(?:{_CONSONANTS})?{_VOWELS}{_CONSONANTS}{_VOWELS}{_CONSONANTS}")
_HAS_VOWEL = re.compile(f"^(?:{_CONSONANTS})?[aeiouy]")
_SHORT = re.compile("^[^aeiou][^aeiouy]*[aeiouy][^aeiouwxy]$")
_DOUBLED = re.compile(r"([^aeiouylsz])\1$")

_LONG_ENDINGS = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
    "logi": "log",
}  # fmt: skip
_MIDDLE_ENDINGS = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_LAST_ENDINGS = (
    *("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize"),
    *("al", "er", "ic", "ou"),
)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The word without its English ending. Short words, and any but plain ASCII letters, stay as they are."""
    if len(word) < 3 or not (word.isascii() and word.isalpha() and word.islower()):
        return word
    # A y that is a consonant is told apart by being a capital until the end.
    marked = "Y" + word[1:] if word[0] == "y" else word
    for step in (_plural, _past, _y_to_i, _long, _middle, _last, _final):
        marked = step(marked)
    return marked.lower()


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _MEASURE_1.match(word[:-3]) else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _HAS_VOWEL.match(word[: -len(ending)]):
            return _mended(word[: -len(ending)])
    return word


def _mended(base: str) -> str:
    """What is left of a past or progressive form, made a word again: hopp → hop, fil → file."""
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _DOUBLED.search(base):
        return base[:-1]
    return base + "e" if _SHORT.match(base) else base


def _y_to_i(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and _HAS_VOWEL.match(word[:-1]) else word


def _long(word: str) -> str:
    return _replaced(word, _LONG_ENDINGS)


def _middle(word: str) -> str:
    return _replaced(word, _MIDDLE_ENDINGS)


def _replaced(word: str, endings: dict[str, str]) -> str:
    for length in range(7, 2, -1):
        shorter = endings.get(word[-length:])
        if shorter is not None:
            base = word[:-length]
            return base + shorter if _MEASURE_1.match(base) else word
    return word


def _last(word: str) -> str:
    for ending in _LAST_ENDINGS:
        if word.endswith(ending):
            base = word[: -len(ending)]
            return base if _MEASURE_2.match(base) else word
    if word.endswith(("sion", "tion")) and _MEASURE_2.match(word[:-3]):
        return word[:-3]
    return word


def _final(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        if _MEASURE_2.match(base) or (_MEASURE_1_ONLY.match(base) and not _SHORT.match(base)):
            word = base
    return word[:-1] if word.endswith("ll") and _MEASURE_2.match(word) else word
