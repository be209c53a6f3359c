"""Words of like meaning: which of the words that are there come close to the words that were asked for.

Reads the built-in table, whichever model makes the vectors: a row of it is the meaning of one word. `static/stems.txt`
gives the stem of each row's word, because stored text is known by its stems.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EmbedderUnavailable
from .static import LOADING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FOLDER = Path(__file__).with_name("static")


class Kinship:
    """How close words are in meaning. Knows whole words of the built-in vocabulary by their stems, and no others."""

    def __init__(self, folder: Path = _FOLDER) -> None:
        """Map the table. Raises EmbedderUnavailable when its files are missing or are not what they should be."""
        import numpy as np

        try:
            with LOADING:
                self._table = np.asarray(np.load(folder / "table.npy", mmap_mode="r", allow_pickle=False))
            stems = (folder / "stems.txt").read_text(encoding="utf-8").split("\n")
        except (OSError, ValueError) as error:
            raise EmbedderUnavailable("static", f"its table cannot be read ({error})") from error
        # The vocabulary is in the order of frequency, so the first word of a stem is the one people mean.
        self._rows: dict[str, int] = {}
        for row, stem in enumerate(stems[: len(self._table)]):
            if stem:
                self._rows.setdefault(stem, row)

    def close(
        self, asked: Collection[str], others: Collection[str], *, least: float, most: int
    ) -> dict[str, Mapping[str, float]]:
        """For each asked stem the others that come close, with how close (a cosine), closest first."""
        import numpy as np

        known = [stem for stem in asked if stem in self._rows]
        there = [stem for stem in others if stem in self._rows]
        if not known or not there:
            return {}
        some, those = self._read(known), self._read(there)
        # Not a matrix product: for so few numbers, waking the threads of a linear algebra library costs far more.
        near = np.einsum("ij,kj->ik", some[0], those[0]) / (some[1][:, None] * those[1])
        found: dict[str, Mapping[str, float]] = {}
        for stem, row in zip(known, near, strict=True):
            near_enough = np.flatnonzero(row >= least)
            ordered = near_enough[np.argsort(-row[near_enough], kind="stable")]
            best = [at for at in ordered if there[at] != stem][:most]
            found[stem] = {there[at]: float(row[at]) for at in best}
        return found

    def _read(self, stems: list[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The rows of stems, and how long each is."""
        import numpy as np

        vectors = self._table[[self._rows[stem] for stem in stems]].astype(np.float32)
        return vectors, np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), 1e-9)
