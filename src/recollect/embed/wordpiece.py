"""Text to the token numbers of BERT's uncased vocabulary, as the models were trained to read it.

The same steps as the tokenizer that all-MiniLM-L6-v2 is published with (tests hold one against the other), without its
package, which would bring a dozen others along. One thing differs on purpose: text that spells a special token, such as
"[SEP]", is read as text.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

UNKNOWN = 100  # "[UNK]"
FIRST, LAST = 101, 102  # "[CLS]" and "[SEP]"
LONGEST_TEXT = 65_536  # characters; a bound on the work, far beyond what the models make use of

_LONGEST_WORD = 100  # a longer one is unknown as a whole
_REMEMBERED = 32_768  # words whose pieces are kept
_ASCII_WORD = re.compile(r"[0-9a-z]+|[!-/:-@\[-`{-~]")
_ASCII_CONTROLS = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n\r"}
_IDEOGRAPHS = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F)),
    *((0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


class WordPiece:
    """A vocabulary, and the greedy way of cutting words into its pieces."""

    def __init__(self, pieces: list[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        self._longest = max(map(len, pieces))
        self._remembered: dict[str, tuple[int, ...]] = {}

    @classmethod
    def read(cls, path: Path) -> WordPiece:
        """The vocabulary in a file, a piece a line, numbered from 0."""
        return cls(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))

    def __len__(self) -> int:
        return len(self._numbers)

    def tokens(self, text: str, *, limit: int = LONGEST_TEXT) -> list[int]:
        """The numbers of the first `limit` pieces of a text; a word that cannot be cut is one UNKNOWN."""
        remembered = self._remembered
        found: list[int] = []
        for word in words(text[:LONGEST_TEXT]):
            pieces = remembered.get(word)
            found += self._learn(word) if pieces is None else pieces
            if len(found) >= limit:
                return found[:limit]
        return found

    def _learn(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return (UNKNOWN,)
        pieces = self._cut(word)
        if len(self._remembered) >= _REMEMBERED:
            self._remembered.clear()
        self._remembered[word] = pieces
        return pieces

    def _cut(self, word: str) -> tuple[int, ...]:
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                number = self._numbers.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (UNKNOWN,)
            pieces.append(number)
            start, prefix = end, "##"
        return tuple(pieces)


def words(text: str) -> list[str]:
    """The words of a text: lower case, without accents, each mark of punctuation and each ideograph by itself."""
    if text.isascii():
        return _ASCII_WORD.findall(text.translate(_ASCII_CONTROLS).lower())
    return unicodedata.normalize("NFD", text.translate(_CLEAN)).translate(_PLAIN).split()


class _Clean(dict[int, str]):
    """What each character of the raw text becomes, found out once: controls go, spaces are one kind."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in "\t\n\r" or unicodedata.category(character).startswith("Z"):
            clean = " "
        elif unicodedata.category(character) in ("Cc", "Cf", "Co", "Cs") or character == "\ufffd":
            clean = ""
        elif any(first <= code <= last for first, last in _IDEOGRAPHS):
            clean = f" {character} "
        else:
            clean = character
        self[code] = clean
        return clean


class _Plain(dict[int, str]):
    """What each character becomes once accents stand by themselves: they go, capitals and punctuation are settled."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Mn":
            plain = ""
        elif category.startswith("P") or (character.isascii() and character.isprintable() and not character.isalnum()):
            plain = f" {character} "
        else:
            plain = character.lower()  # one at a time: no rule about the letters around it, such as final sigma's
        self[code] = plain
        return plain


_CLEAN = _Clean()
_PLAIN = _Plain()
