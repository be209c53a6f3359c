"""Text becomes the tokens that the models were trained on."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect.embed
from recollect.embed.wordpiece import LONGEST_TEXT, UNKNOWN, WordPiece

VOCABULARY = Path(recollect.embed.__file__).parent / "static" / "vocab.txt"
PIECES = WordPiece.read(VOCABULARY)


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("", []),
        (" ", []),
        ("Deploys go out from main.", [21296, 2015, 2175, 2041, 2013, 2364, 1012]),
        (
            "unaffable EMBEDDINGS, re-embedded!",
            [14477, 20961, 3468, 7861, 8270, 4667, 2015, 1010, 2128, 1011, 11157, 999],
        ),
        ("crème brûlée", [13675, 21382, 7987, 9307, 2063]),
        ("don't  stop\tnow\r\nor ever", [2123, 1005, 1056, 2644, 2085, 2030, 2412]),
        ("東京 is 大きい", [1879, 1755, 2003, 1810, 1652, 30173]),
        ("ΣΊΣΥΦΟΣ ΣΑΣ", [1173, 18199, 29733, 29735, 29736, 29730, 29733, 1173, 14608, 29733]),
        ("İstanbul ﬁne ½", [9960, 1984, 2638, 1092]),
        ("a\x00b\x07c\u200bd\ufeffe", [5925, 3207]),
        ("x" * 101 + " y", [UNKNOWN, 1061]),
        ("😀 smile 🤦🏽\u200d♂️", [UNKNOWN, 2868, UNKNOWN]),
        (
            "foo_bar(baz)=>'qux'; C++",
            [29379, 1035, 3347, 1006, 8670, 2480, 1007, 1027, 1028, 1005, 24209, 2595, 1005, 1025, 1039, 1009, 1009],
        ),
        ("Ünïcödé — “quotes” … end", [27260, 1517, 1523, 16614, 1524, 1529, 2203]),
        ("\u2028new\xa0line\u3000wide", [2047, 2240, 2898]),
        ("한국어", [1469, 30006, 30021, 29991, 30014, 30020, 29999, 30008]),
    ],
)
def test_text_is_read_as_the_published_tokenizer_reads_it(text: str, tokens: list[int]) -> None:
    """These are its answers."""
    assert PIECES.tokens(text) == tokens


@given(st.text(st.characters(max_codepoint=0x52F, exclude_categories=["Cs", "Cn"])))
def test_it_agrees_with_the_published_tokenizer(text: str) -> None:
    """On any text in Latin, Greek or Cyrillic; later scripts changed with each edition of Unicode."""
    tokenizers = pytest.importorskip("tokenizers", reason="the other tokenizer is not installed")
    other = tokenizers.Tokenizer(tokenizers.models.WordPiece.from_file(str(VOCABULARY), unk_token="[UNK]"))
    other.normalizer = tokenizers.normalizers.BertNormalizer()
    other.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    assert PIECES.tokens(text) == other.encode(text, add_special_tokens=False).ids


@given(st.text(st.characters()), st.integers(1, 20))
def test_any_text_has_tokens_up_to_the_limit(text: str, limit: int) -> None:
    """Lone surrogates and all, and asking for fewer gives the first of them."""
    tokens = PIECES.tokens(text)
    assert all(0 <= token < len(PIECES) for token in tokens)
    assert PIECES.tokens(text, limit=limit) == tokens[:limit]


def test_more_words_than_are_remembered_are_read_alike() -> None:
    """What is remembered about words is let go of in between, and nobody can tell."""
    pieces = WordPiece.read(VOCABULARY)
    before = pieces.tokens("re-embedded")
    for number in range(40_000):
        pieces.tokens(f"w{number}")
    assert pieces.tokens("re-embedded") == before


def test_text_that_spells_a_special_token_is_text() -> None:
    """Nobody can write the mark that ends a text into the middle of one."""
    assert PIECES.tokens("[SEP]") == [1031, 19802, 1033]


def test_endless_text_is_cut() -> None:
    """What is beyond the bound is not even looked at."""
    assert PIECES.tokens("a " * LONGEST_TEXT) == PIECES.tokens("a") * (LONGEST_TEXT // 2)
