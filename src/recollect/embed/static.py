"""The built-in model: a table with a row for each piece of a word, and a text is the sum of its rows.

The table was distilled from all-MiniLM-L6-v2 by scripts/build_static.py, which says how; `static/NOTICE` says from
where and under which licence. It needs numpy and nothing else, is read from the disk as it is used, and takes some tens
of microseconds a sentence. What it cannot see is the order of words.
"""

from __future__ import annotations

import threading
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import EmbedderUnavailable
from .wordpiece import WordPiece

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

STATIC_MODEL: Final = "static-1"
STATIC_DIMENSION: Final = 256

LOADING = threading.Lock()
"""One thread at a time reads tables: the parser that numpy reads their headers with fails when threads meet in it."""
_FOLDER = Path(__file__).with_name("static")
_FILES = ("table.npy", "scales.npy", "vocab.txt")
_MOST_TOKENS = 8_192  # of one text
_TOKENS_AT_ONCE = 4_096  # rows that, as floats, still fit in a processor's cache


def static_size() -> int:
    """How many bytes the model takes on the disk."""
    return sum((_FOLDER / name).stat().st_size for name in _FILES)


class StaticEmbedder:
    """`Embedder` over the table that comes with Recollect. It reads the first 8,192 tokens of a text."""

    model: Final = STATIC_MODEL
    dimension: Final = STATIC_DIMENSION
    local: Final = True

    def __init__(self, folder: Path = _FOLDER) -> None:
        """Map the table. Raises EmbedderUnavailable when its files are missing or are not what they should be."""
        import numpy as np

        try:
            # The plain array over the mapped file: the class that numpy maps files with is slow to index.
            with LOADING:
                self._table = np.asarray(np.load(folder / "table.npy", mmap_mode="r", allow_pickle=False))
                self._scales = np.load(folder / "scales.npy", allow_pickle=False)
            self._pieces = WordPiece.read(folder / "vocab.txt")
        except (OSError, ValueError) as error:
            raise _broken(f"cannot be read ({error})") from error
        rows = len(self._pieces)
        found = (self._table.shape, self._table.dtype, self._scales.shape, self._scales.dtype)
        if found != ((rows, STATIC_DIMENSION), np.dtype(np.int8), (rows,), np.dtype(np.float32)):
            raise _broken("does not fit together")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row for each text, of length 1, or 0 where no word is known."""
        import numpy as np

        vectors = np.zeros((len(texts), STATIC_DIMENSION), dtype=np.float32)
        for places, tokens in self._portions(texts):
            starts = [0, *accumulate(map(len, tokens[:-1]))]
            numbers = np.fromiter((number for each in tokens for number in each), dtype=np.intp)
            rows = self._table[numbers].astype(np.float32)
            rows *= self._scales[numbers, None]
            # Adds the rows of each text one after the other, so that a text comes out the same whatever is beside it.
            vectors[places] = np.add.reduceat(rows, starts, axis=0)
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        vectors /= np.where(lengths > 0, lengths, 1)[:, None]
        return vectors

    def _portions(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Texts that have any words, by their places and tokens, as many at a time as are worked on together."""
        places: list[int] = []
        tokens: list[list[int]] = []
        count = 0
        for place, text in enumerate(texts):
            found = self._pieces.tokens(text, limit=_MOST_TOKENS)
            if not found:
                continue
            places.append(place)
            tokens.append(found)
            count += len(found)
            if count >= _TOKENS_AT_ONCE:
                yield places, tokens
                places, tokens, count = [], [], 0
        if places:
            yield places, tokens


def _broken(problem: str) -> EmbedderUnavailable:
    return EmbedderUnavailable("static", f"its table {problem}", hint="Install Recollect again.")
