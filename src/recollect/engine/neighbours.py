"""Which vectors lie close together, among all of them, without comparing every number of every pair.

The vectors are turned so that their first numbers hold most of what tells them apart. How close two are by those alone
finds the pairs that are then computed in full; a margin makes up for what is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..store.contract import Floats

    Places = NDArray[np.intp]

HEAD = 64
"""How many numbers of each vector are looked at first."""
MARGIN = 0.06
"""How much less close two may be by those than they must be in full."""
MOST_IN_FULL = 32
"""For how many pairs a row, at least, the full product is computed. Where more are close, only the closest count."""
_BLOCK = 128


class Pair(NamedTuple):
    """Two rows, the earlier first, and how close they are."""

    one: int
    other: int
    cosine: float


def close_pairs(
    rows: Floats, *, least: float, most: int, progress: Callable[[int, int], None] = lambda done, total: None
) -> Iterator[Pair]:
    """The pairs of rows (of length 1) that are at least so close; for each row the `most` closest of those after it."""
    import numpy as np

    head = _head(rows)
    in_full = max(MOST_IN_FULL, 2 * most)
    enough = least - (MARGIN if head.shape[1] < rows.shape[1] else _ROUNDING)
    for start in range(0, len(rows), _BLOCK):
        near = head[start : start + _BLOCK] @ head[start:].T
        near[np.tril_indices(len(near))] = _EARLIER  # only the first square of a block holds pairs seen before
        close = near >= enough
        for row in np.flatnonzero(np.count_nonzero(close, axis=1) > in_full):
            crowd = np.flatnonzero(close[row])
            close[row, crowd[np.argpartition(-near[row, crowd], in_full)[in_full:]]] = False
        ones, others = np.nonzero(close)
        ones, others = ones + start, others + start
        cosines = np.einsum("ij,ij->i", rows[ones], rows[others])
        yield from _best(ones, others, cosines, least, most)
        progress(min(start + _BLOCK, len(rows)), len(rows))


_ROUNDING = 1e-5
_EARLIER = -2.0
"""Below any cosine: a pair that was seen already, or a row and itself."""


def _best(ones: Places, others: Places, close: Floats, least: float, most: int) -> Iterator[Pair]:
    import numpy as np

    enough = np.flatnonzero(close >= least)
    order = enough[np.lexsort((others[enough], -close[enough], ones[enough]))]
    row, count = -1, 0
    for at in order.tolist():
        one = int(ones[at])
        row, count = (one, count + 1) if one == row else (one, 1)
        if count <= most:
            yield Pair(one, int(others[at]), float(close[at]))


def _head(rows: Floats) -> Floats:
    """The rows along the axes on which they differ most, and of length 1 again."""
    import numpy as np

    if rows.shape[1] <= HEAD:
        return rows
    _, axes = np.linalg.eigh((rows.T @ rows).astype(np.float64))
    head = rows @ np.ascontiguousarray(axes[:, ::-1][:, :HEAD]).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", head, head))
    head /= np.where(lengths > 0, lengths, 1)[:, None]
    return np.ascontiguousarray(head)


def ordinary(rows: Floats) -> float:
    """How close two rows may be without that meaning anything: four deviations above the mean of all pairs."""
    import numpy as np

    if len(rows) < _FEW:
        return 0.0
    pairs = len(rows) * (len(rows) - 1)
    total, products = rows.sum(axis=0), rows.T @ rows
    mean = (float(total @ total) - len(rows)) / pairs
    square = (float(np.square(products).sum()) - len(rows)) / pairs
    return float(mean + 4 * max(0.0, square - mean * mean) ** 0.5)


_FEW = 200
