"""Words of like meaning: which are found, and what holds of any words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect.embed
from recollect.embed.kin import Kinship
from recollect.errors import EmbedderUnavailable
from recollect.policy.stem import stem

FOLDER = Path(recollect.embed.__file__).parent / "static"
KIN, AGAIN = Kinship(), Kinship()
WORDS = sorted(
    {
        stem(word)
        for word in (
            "animal automobile bakery bicycle boat branch bread brother car cat child coffee computer credential dance "
            "database deploy doctor dog engine evening flight garden hospital hotel house invoice journey kitten "
            "lawyer lunch machine meeting money morning mother music nurse password payment pet piano picture puppy "
            "rain recipe release river salary school secret server ship sister snow song soup student teacher train "
            "travel tree truck vehicle violin water weather wedding week winter"
        ).split()
    }
)
UNKNOWN = ["qqzxv", "", "étude", "##ing", "[CLS]", "x"]

some = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12, unique=True)


def everything(asked: list[str], others: list[str]) -> dict[str, dict[str, float]]:
    """How close each of the others is to each that is asked, with no bound."""
    found = KIN.close(asked, others, least=-2, most=len(others))
    return {word: dict(close) for word, close in found.items()}


@pytest.mark.parametrize(
    "asked, first",
    [("pets", "dog"), ("dogs", "pet"), ("car", "automobile"), ("password", "credential"), ("song", "music")],
)
def test_a_word_of_like_meaning_comes_first(asked: str, first: str) -> None:
    """Though it shares no stem with the one that is asked."""
    found = KIN.close([stem(asked)], WORDS, least=0.3, most=3)
    assert next(iter(found[stem(asked)])) == stem(first)


def test_a_word_of_another_meaning_is_not_close() -> None:
    """A dog is no invoice."""
    assert not KIN.close(["dog"], ["invoic", "password", "piano"], least=0.3, most=3)["dog"]


@given(some, some)
def test_a_word_is_never_close_to_itself(asked: list[str], others: list[str]) -> None:
    """It needs no other to be found."""
    assert all(word not in close for word, close in everything(asked, others).items())


@given(some, some, st.floats(-1, 1, width=32))
def test_what_is_found_is_close_enough_and_nothing_is_missed(asked: list[str], others: list[str], least: float) -> None:
    """The least cosine is a bound, and the only one while there is room."""
    found = KIN.close(asked, others, least=least, most=len(others))
    for word, close in everything(asked, others).items():
        assert dict(found[word]) == {other: near for other, near in close.items() if near >= least}


@given(some, some, st.integers(0, 12))
def test_no_more_are_found_than_asked_for_and_those_are_the_closest(
    asked: list[str], others: list[str], most: int
) -> None:
    """Closest first."""
    others = list(dict.fromkeys([*others, *asked]))
    found = KIN.close(asked, others, least=-2, most=most)
    for word, close in everything(asked, others).items():
        assert list(close.values()) == sorted(close.values(), reverse=True)
        assert list(found[word].items()) == list(close.items())[:most]


@pytest.mark.parametrize("most", [0, 1, 2])
def test_the_limit_holds_where_the_word_itself_is_not_among_the_others(most: int) -> None:
    """Which is the usual case."""
    assert len(KIN.close(["dog"], ["cat", "pet", "puppi"], least=-2, most=most)["dog"]) == most


@given(some, some)
def test_words_that_are_not_known_change_nothing(asked: list[str], others: list[str]) -> None:
    """Wherever they stand, and they are close to nothing themselves."""
    among = KIN.close([*UNKNOWN, *asked], [*others, *UNKNOWN], least=-2, most=50)
    assert among == everything(asked, others)
    assert KIN.close(UNKNOWN, WORDS, least=-2, most=50) == {}
    assert KIN.close(WORDS, UNKNOWN, least=-2, most=50) == {}


@given(some, some)
def test_the_same_is_found_again_in_whatever_order(asked: list[str], others: list[str]) -> None:
    """By another reader of the table, too."""
    found = everything(asked, others)
    again = AGAIN.close(asked[::-1], others[::-1], least=-2, most=len(others))
    assert again.keys() == found.keys()
    for word, close in found.items():
        assert dict(again[word]) == pytest.approx(close, abs=1e-6)


@given(some, some)
def test_two_words_are_as_close_either_way(asked: list[str], others: list[str]) -> None:
    """Symmetric, and a cosine."""
    there, back = everything(asked, others), everything(others, asked)
    for word, close in there.items():
        for other, near in close.items():
            assert near == pytest.approx(back[other][word], abs=1e-6)
            assert -1.00001 <= near <= 1.00001


@pytest.mark.parametrize("name", ["table.npy", "stems.txt"])
def test_a_missing_file_is_told(tmp_path: Path, name: str) -> None:
    """As the model says it, never as words that are close to nothing."""
    for path in FOLDER.iterdir():
        if path.name != name:
            (tmp_path / path.name).symlink_to(path)
    with pytest.raises(EmbedderUnavailable, match="cannot be read"):
        Kinship(tmp_path)
