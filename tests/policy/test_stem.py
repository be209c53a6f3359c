"""Endings of English words do not stand in the way of finding them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.policy.stem import stem
from recollect.testing import temp_recollect

# From Porter's paper, where each rule has its examples, and from what people ask memories about.
PAIRS = {
    "caresses": "caress", "ponies": "poni", "ties": "ti", "caress": "caress", "cats": "cat", "feed": "feed",
    "agreed": "agre", "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing",
    "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop", "tanned": "tan",
    "falling": "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail", "filing": "file", "happy": "happi",
    "sky": "sky", "relational": "relat", "conditional": "condit", "rational": "ration", "valenci": "valenc",
    "digitizer": "digit", "conformabli": "conform", "radicalli": "radic", "differentli": "differ", "vileli": "vile",
    "analogousli": "analog", "vietnamization": "vietnam", "predication": "predic", "operator": "oper",
    "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope", "callousness": "callous",
    "formaliti": "formal", "sensitiviti": "sensit", "sensibiliti": "sensibl", "triplicate": "triplic",
    "formative": "form", "formalize": "formal", "electriciti": "electr", "electrical": "electr", "hopeful": "hope",
    "goodness": "good", "revival": "reviv", "allowance": "allow", "inference": "infer", "airliner": "airlin",
    "gyroscopic": "gyroscop", "adjustable": "adjust", "defensible": "defens", "irritant": "irrit",
    "replacement": "replac", "adjustment": "adjust", "dependent": "depend", "adoption": "adopt",
    "communism": "commun", "activate": "activ", "homologous": "homolog", "effective": "effect", "bowdlerize": "bowdler",
    "probate": "probat", "rate": "rate", "cease": "ceas", "controll": "control", "roll": "roll", "yes": "ye",
}  # fmt: skip


@pytest.mark.parametrize("word, stemmed", PAIRS.items())
def test_an_ending_is_taken_off_as_the_algorithm_says(word: str, stemmed: str) -> None:
    """Each rule does what its author shows."""
    assert stem(word) == stemmed


@pytest.mark.parametrize("word", ["", "a", "is", "Deploys", "user2", "déployés", "数据", "g12", "x" * 64])
def test_what_is_no_plain_english_word_stays_as_it_is(word: str) -> None:
    """Identifiers, numbers and other scripts have no English endings."""
    assert stem(word) == word


@given(st.text(alphabet=st.characters(min_codepoint=97, max_codepoint=122), max_size=30))
def test_a_stem_is_never_longer_than_its_word_and_never_empty(word: str) -> None:
    """But for the e that mends what is left of a form, which replaces at least two letters."""
    assert len(stem(word)) <= len(word)
    assert bool(stem(word)) == bool(word)


@pytest.mark.parametrize("question", ["deploy", "deploys", "deployed", "deploying", "DEPLOYS", "how do we deploy?"])
def test_any_form_of_a_word_finds_the_others(question: str) -> None:
    """The reason names the word as it was asked."""
    with temp_recollect() as memory:
        memory.remember("Deploys go out from main.")
        memory.remember("The parser is slow.")
        (hit,) = memory.recall(question)
        assert hit.memory.content == "Deploys go out from main."
        assert hit.why[0].detail == question.strip("?").split()[-1].lower()
