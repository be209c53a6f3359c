"""Vectors in memory, and the search for those that point the same way as a question.

Few are compared as they are. Of many, a sketch of one bit for each dimension is looked at
first: on which side of the centre of all vectors it lies. Sketches that differ in few bits belong to vectors that are
close; so the whole set is passed over at eight dimensions a byte, and only the best of it is compared as it is.

Products are taken row by row with `vecdot`: it is as fast as a product of matrices in one thread, and that is what it
stays in, where the other would wake threads that wait for each other when the processors have something else to do.

Rows are only ever added at the end, in the order of their number (`seq`). What a row belongs to may have been replaced
or deleted since; whoever searches asks the database which of the rows found are still there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contract import Floats

    Integers: TypeAlias = NDArray[np.int64]
    Codes: TypeAlias = NDArray[np.int8]
    Bits: TypeAlias = NDArray[np.uint64]

CANDIDATES = 4_000
"""How many of the best by their sketches are compared as they are, even for one that is wanted."""
_PER_PLACE = 32
"""How many more of them for each place in the ranking that has to be right."""
_SHARE = 128
"""At least one row of so many is looked at closer: among more rows, more of them have a sketch that deceives."""
_SKETCHES_AT_ONCE = 16_384
_ROWS_AT_ONCE = 4_096
"""Rows worked on together: as floats they still fit into a processor's cache."""
_COMPARED_AT_ONCE = 512
_MEASURED = 20_000
"""How many rows are enough to know the centre of all."""
_CLOSE_ENOUGH = 1e-5


class Overwritten(Exception):
    """A row is not what it was when it was written."""


# --- Vectors as bytes -------------------------------------------------------------------------------------------------


def encoded(vectors: Floats) -> list[bytes]:
    """Each vector as it is stored: a scale, and a whole number from -127 to 127 for each dimension."""
    import numpy as np

    peaks = np.abs(vectors).max(axis=1, initial=0.0)
    records = np.zeros(len(vectors), dtype=_record(vectors.shape[1]))
    records["scale"] = peaks / np.float32(127)
    # A vector so short that it has no scale is as good as none.
    scales = records["scale"].astype(np.float64)
    present = scales > 0
    records["codes"][present] = np.rint(vectors[present] / scales[present, None])
    size, raw = records.itemsize, records.tobytes()
    return [raw[start : start + size] for start in range(0, len(raw), size)]


def decoded(blobs: Sequence[bytes], dimension: int) -> tuple[Floats, Codes]:
    """The scales and codes of stored vectors."""
    import numpy as np

    records = np.frombuffer(b"".join(blobs), dtype=_record(dimension))
    return records["scale"], records["codes"]


def squares_of(codes: Codes) -> Floats:
    """The squared length of each row of codes."""
    import numpy as np

    squares = np.empty(len(codes), dtype=np.float32)
    for start in range(0, len(codes), _ROWS_AT_ONCE):
        part = codes[start : start + _ROWS_AT_ONCE].astype(np.float32)
        squares[start : start + _ROWS_AT_ONCE] = np.vecdot(part, part)
    return squares


def _record(dimension: int) -> np.dtype[Any]:
    import numpy as np

    return np.dtype([("scale", "<f4"), ("codes", "i1", (dimension,))])


# --- Rows -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors with their numbers, which ascend, and the items they belong to. None of them is zero."""

    seqs: Integers
    items: Integers
    squares: Floats
    codes: Codes

    def __len__(self) -> int:
        return len(self.seqs)

    def chosen(self, which: slice | NDArray[np.bool_]) -> Rows:
        """Some of the rows."""
        return Rows(self.seqs[which], self.items[which], self.squares[which], self.codes[which])

    @staticmethod
    def of(seqs: Sequence[int], items: Sequence[int], blobs: Sequence[bytes], dimension: int) -> Rows:
        """Rows as they are stored, without those that are zero."""
        import numpy as np

        codes = decoded(blobs, dimension)[1]
        rows = Rows(np.array(seqs, dtype=np.int64), np.array(items, dtype=np.int64), squares_of(codes), codes)
        present = rows.squares > 0
        return rows if present.all() else rows.chosen(present)


class Room:
    """Space for rows, some of it not yet taken. A view of what is taken stays as it is when more is added behind it."""

    def __init__(self, dimension: int, capacity: int) -> None:
        import numpy as np

        self.dimension = dimension
        self.taken = 0
        self._seqs = np.empty(capacity, dtype=np.int64)
        self._items = np.empty(capacity, dtype=np.int64)
        self._squares = np.empty(capacity, dtype=np.float32)
        self._codes = np.empty((capacity, dimension), dtype=np.int8)

    def add(self, rows: Rows) -> None:
        """Put rows behind those that are there, in a larger space if need be."""
        end = self.taken + len(rows)
        if end > len(self._seqs):
            larger = Room(self.dimension, max(_SPARE, 2 * end))
            larger.add(self.rows)
            self._seqs, self._items = larger._seqs, larger._items
            self._squares, self._codes = larger._squares, larger._codes
        self._seqs[self.taken : end] = rows.seqs
        self._items[self.taken : end] = rows.items
        self._squares[self.taken : end] = rows.squares
        self._codes[self.taken : end] = rows.codes
        self.taken = end

    @property
    def rows(self) -> Rows:
        """What is taken."""
        everything = Rows(self._seqs, self._items, self._squares, self._codes)
        return everything.chosen(slice(0, self.taken))


_SPARE = 256


# --- Two ways to search -----------------------------------------------------------------------------------------------


class Exact:
    """Rows that are compared as they are. `extended` gives a longer one and leaves this one as it is."""

    def __init__(self, room: Room, directions: Floats) -> None:
        self.rows = room.rows
        self._room = room
        self._directions = directions

    @staticmethod
    def made(rows: Rows) -> Exact:
        """A copy of rows that can be extended."""
        dimension = rows.codes.shape[1]
        return Exact(Room(dimension, 0), _floats(0, dimension)).extended(rows)

    def extended(self, rows: Rows) -> Exact:
        """With further rows behind these. The space is shared, as long as nobody else has gone on from here."""
        held, end = len(self.rows), len(self.rows) + len(rows)
        room, directions = self._room, self._directions
        if room.taken != held or end > len(directions):
            capacity = max(_SPARE, 2 * end)
            room, directions = Room(room.dimension, capacity), _floats(capacity, room.dimension)
            room.add(self.rows)
            directions[:held] = self._directions[:held]
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows.chosen(slice(start, start + _ROWS_AT_ONCE))
            directions[room.taken : room.taken + len(part)] = _directions(part)
            room.add(part)
        return Exact(room, directions)

    def asked(self, query: Floats, through: int) -> Scores:
        """How close the rows up to a number are to a query."""
        import numpy as np

        count = int(np.searchsorted(self.rows.seqs, through, side="right"))
        return _ExactScores(np.vecdot(self._directions[:count], query))


class Sketched:
    """Rows that are searched by their sketches first.

    `checked` rows lie in a file; what is read of them is compared with what is known of them, because a file can be
    damaged, or be overwritten while it is in use.
    """

    def __init__(self, rows: Rows, centre: Floats, sketches: Bits, *, checked: bool = False) -> None:
        self.rows = rows
        self.centre = centre
        self.sketches = sketches
        """One line for each 64 dimensions, with a word for each row."""
        self._checked = checked

    @staticmethod
    def made(rows: Rows) -> Sketched:
        """Sketches of rows, of which there is at least one."""
        import numpy as np

        step = max(1, len(rows) // _MEASURED)
        centre = _directions(rows.chosen(slice(0, None, step))).mean(axis=0)
        sketches = np.empty((-(-len(centre) // 64), len(rows)), dtype=np.uint64)
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows.chosen(slice(start, start + _ROWS_AT_ONCE))
            sketches[:, start : start + len(part)] = _bits(_directions(part), centre)
        return Sketched(rows, centre, sketches)

    def asked(self, query: Floats, through: int) -> Scores:
        """How close the rows up to a number are to a query."""
        import numpy as np

        count = int(np.searchsorted(self.rows.seqs, through, side="right"))
        bits = _bits(query[None, :], self.centre)[:, 0]
        return _SketchScores(
            self.rows.chosen(slice(0, count)), query, _distances(self.sketches[:, :count], bits), self._checked
        )


Segment: TypeAlias = Exact | Sketched


class _ExactScores:
    def __init__(self, cosines: Floats) -> None:
        self._cosines = cosines

    def __len__(self) -> int:
        return len(self._cosines)

    def best(self, depth: int) -> tuple[NDArray[np.intp], Floats]:
        """The places of the rows that come first, in no order, and how close they are."""
        import numpy as np

        if depth < len(self._cosines):
            places = np.argpartition(self._cosines, len(self._cosines) - depth)[-depth:]
        else:
            places = np.arange(len(self._cosines))
        return places, self._cosines[places]

    def cosines(self, places: NDArray[np.intp]) -> Floats:
        return self._cosines[places]


class _SketchScores:
    def __init__(self, rows: Rows, query: Floats, distances: NDArray[np.uint16], checked: bool) -> None:
        self._rows = rows
        self._query = query
        self._distances = distances
        self._checked = checked

    def __len__(self) -> int:
        return len(self._rows)

    def best(self, depth: int) -> tuple[NDArray[np.intp], Floats]:
        """The places of the rows that come first, in no order, and how close they are."""
        import numpy as np

        places = _lowest(self._distances, max(CANDIDATES + _PER_PLACE * depth, len(self) // _SHARE))
        cosines = self.cosines(places)
        if depth < len(places):
            first = np.argpartition(cosines, len(cosines) - depth)[-depth:]
            places, cosines = places[first], cosines[first]
        return places, cosines

    def cosines(self, places: NDArray[np.intp]) -> Floats:
        import numpy as np

        found = np.empty(len(places), dtype=np.float32)
        # Small pieces in the same space: memory that is asked for and given back each time costs more than the sums.
        space = _floats(min(len(places), _COMPARED_AT_ONCE), len(self._query))
        for start in range(0, len(places), _COMPARED_AT_ONCE):
            some = places[start : start + _COMPARED_AT_ONCE]
            codes, squares = space[: len(some)], self._rows.squares[some]
            codes[:] = self._rows.codes[some]
            if self._checked:
                _compare(codes, squares)
            found[start : start + len(some)] = np.vecdot(codes, self._query) / np.sqrt(squares)
        return found


Scores: TypeAlias = _ExactScores | _SketchScores


def _compare(codes: Floats, squares: Floats) -> None:
    """The length of a row stands apart from it and was verified; a row that has another length was overwritten."""
    import numpy as np

    off = np.abs(np.vecdot(codes, codes) - squares) > _CLOSE_ENOUGH * squares
    if off.any() or not (squares > 0).all():
        raise Overwritten


@dataclass(frozen=True, slots=True)
class Found:
    """Rows with how close they are, closest first."""

    seqs: Integers
    items: Integers
    cosines: Floats


class Search:
    """One question to some segments, as they were when the store had given out numbers up to `through`."""

    def __init__(self, segments: Sequence[Segment], query: Floats, through: int) -> None:
        self._asked = [(segment.rows, segment.asked(query, through)) for segment in segments]

    def __len__(self) -> int:
        return sum(len(scores) for _, scores in self._asked)

    def best(self, depth: int) -> Found:
        """The rows that come first."""
        return _ranked([(rows, *scores.best(depth)) for rows, scores in self._asked], depth)

    def among(self, seqs: Integers, depth: int) -> Found:
        """The rows that come first of those with these numbers, which ascend."""
        import numpy as np

        parts = []
        for rows, scores in self._asked:
            numbers = rows.seqs[: len(scores)]
            places = np.searchsorted(numbers, seqs)
            there = places < len(numbers)
            there[there] = numbers[places[there]] == seqs[there]
            parts.append((rows, places[there], scores.cosines(places[there])))
        return _ranked(parts, depth)


def _ranked(parts: Sequence[tuple[Rows, NDArray[np.intp], Floats]], depth: int) -> Found:
    import numpy as np

    cosines = np.concatenate([found for _, _, found in parts])
    order = np.argsort(-cosines, kind="stable")[:depth]
    seqs = np.concatenate([rows.seqs[places] for rows, places, _ in parts])[order]
    items = np.concatenate([rows.items[places] for rows, places, _ in parts])[order]
    return Found(seqs, items, cosines[order])


def _floats(rows: int, dimension: int) -> Floats:
    import numpy as np

    return np.empty((rows, dimension), dtype=np.float32)


def _directions(rows: Rows) -> Floats:
    """The rows as vectors of length 1."""
    import numpy as np

    directions = rows.codes.astype(np.float32)
    directions /= np.sqrt(rows.squares)[:, None]
    return directions


def _bits(directions: Floats, centre: Floats) -> Bits:
    """A column for each direction: on which side of the centre it lies, 64 dimensions to a word."""
    import numpy as np

    packed = np.packbits(directions > centre, axis=1)
    short = -packed.shape[1] % 8
    if short:
        packed = np.pad(packed, ((0, 0), (0, short)))
    return packed.view(np.uint64).T


def _distances(sketches: Bits, bits: Bits) -> NDArray[np.uint16]:
    """In how many dimensions each sketch differs from another one."""
    import numpy as np

    count = sketches.shape[1]
    distances = np.empty(count, dtype=np.uint16)
    differing = np.empty(min(count, _SKETCHES_AT_ONCE), dtype=np.uint64)
    ones = np.empty(len(differing), dtype=np.uint8)
    for start in range(0, count, _SKETCHES_AT_ONCE):
        part = distances[start : start + _SKETCHES_AT_ONCE]
        some, number = differing[: len(part)], ones[: len(part)]
        part[:] = 0
        for line, word in zip(sketches, bits, strict=True):
            np.bitwise_xor(line[start : start + len(part)], word, out=some)
            np.bitwise_count(some, out=number)
            np.add(part, number, out=part)
    return distances


def _lowest(distances: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """The places of so many of the lowest distances, or some more, up to twice as many; they ascend."""
    import numpy as np

    if count >= len(distances):
        return np.arange(len(distances))
    edge = int(np.searchsorted(np.cumsum(np.bincount(distances)), count))
    places = np.flatnonzero(distances <= edge)
    if len(places) <= 2 * count:
        return places
    # Very many are equal, as when the same text is there again and again.
    sure = np.flatnonzero(distances < edge)
    return np.sort(np.concatenate([sure, np.flatnonzero(distances == edge)[: count - len(sure)]]))
