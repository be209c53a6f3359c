"""Vectors of memories and passages: kept in the store, and searched in memory.

The rows of the store are what holds. In memory a process has what it has read of them, in the order in which they were
written, and before each search it reads what came since. It only proposes: the store is asked which of the rows found
are still there and pass the filter, and how close those are. So a vector that was replaced or deleted is not found,
whoever did it, and a file beside the store (`side_file`) cannot put a wrong answer there.

What a process has is right for one epoch. Deleting vectors for good begins a new one: everybody then lets go of what he
has in memory, and of what lies beside the store.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import threading
import weakref
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import apsw

from ...codec import from_micros
from ...errors import InvalidInput, StoreError
from ...model import Corpus, Near, Passage, Unembedded
from .connect import Connections
from .index import read_size
from .rows import Value, all_rows, first_row
from .side_file import (
    Content,
    Label,
    discard,
    discard_others,
    discard_side_files,
    read_side_file,
    side_file,
    write_side_file,
)
from .sketch import Exact, Overwritten, Room, Rows, Search, Segment, Sketched, decoded, encoded, squares_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contract import Floats
    from .sketch import Integers

EXACT = 20_000
"""Up to so many vectors are all compared as they are, in a millisecond or two; of more, first the sketches."""

Filter: TypeAlias = tuple[str, Sequence[Value]]
"""A condition over the rows of a corpus, which are named `m`, and the values to bind to it."""
EVERYTHING: Filter = ("1", ())


# --- Within a transaction ---------------------------------------------------------------------------------------------


def drop_item_vectors(
    connection: apsw.Connection, corpus: Corpus, items: Collection[int], *, erased: bool = False
) -> None:
    """Delete the vectors of items whose text has changed or that are forgotten or gone.

    Where nothing may be left of the texts (`erased`), a new epoch begins; after the transaction, `Vectors.discard`
    removes what lies beside the store.
    """
    listed = json.dumps(list(items))
    where = "corpus = ? AND item_id IN (SELECT value FROM json_each(?))"
    counts = _all_rows(
        connection, f"SELECT model_id, count(*) FROM vectors WHERE {where} GROUP BY 1", corpus.value, listed
    )
    if counts:
        connection.execute(f"DELETE FROM vectors WHERE {where}", (corpus.value, listed))
        for model_id, count in counts:
            _count(connection, model_id, corpus, -count)
        _want(connection, corpus, items)
    if erased:
        begin_epoch(connection)


def begin_epoch(connection: apsw.Connection) -> None:
    """Have every process let go of the vectors it has read. Due whenever rows may be gone, or be others, for good."""
    _put(connection, _EPOCH, secrets.token_hex(16))


def rebuild_vectors(connection: apsw.Connection) -> None:
    """Delete the vectors that belong to nothing, and count the others anew. A vector itself only a model can make."""
    stray = [seq for seq, _ in _strays(connection)]
    connection.execute("DELETE FROM vectors WHERE seq IN (SELECT value FROM json_each(?))", (json.dumps(stray),))
    connection.execute("DELETE FROM models WHERE id NOT IN (SELECT model_id FROM vectors)")
    connection.execute("DELETE FROM meta WHERE key GLOB 'vectors:*' OR key GLOB 'vectors_wanted:*'")
    for model_id, corpus, count in _all_rows(connection, _COUNTED):
        _put(connection, _counter(model_id, corpus), str(count))
    begin_epoch(connection)


def vector_faults(connection: apsw.Connection) -> Iterator[str]:
    """What `rebuild_vectors` would put right."""
    for seq, fault in _strays(connection):
        yield f"vector {seq} {fault}"
    counted = {_counter(model, corpus): str(count) for model, corpus, count in _all_rows(connection, _COUNTED)}
    told = _all_rows(connection, "SELECT key, value FROM meta WHERE key GLOB 'vectors:*' AND value <> '0'")
    if dict(told) != counted:
        yield "the count of vectors is wrong"


def _strays(connection: apsw.Connection) -> Iterator[tuple[int, str]]:
    """Vectors that no text has, and what is wrong with each."""
    for seq, known, there, fits in connection.execute(
        "SELECT v.seq, o.id IS NOT NULL AND o.name NOT GLOB ?1 AND length(v.vector) = o.dimension + 4,"
        " m.id IS NOT NULL OR p.id IS NOT NULL, v.content_hash = coalesce(m.content_hash, p.content_hash)"
        " FROM vectors v LEFT JOIN models o ON o.id = v.model_id"
        " LEFT JOIN memories m ON v.corpus = 'memory' AND m.id = v.item_id AND m.status <> 'forgotten'"
        " LEFT JOIN passages p ON v.corpus <> 'memory' AND p.id = v.item_id AND p.corpus = v.corpus",
        (_LEAVING + "*",),
    ):
        if not there:
            yield seq, "belongs to a text that is forgotten or gone"
        elif not fits:
            yield seq, "belongs to an earlier text"
        elif not known:
            yield seq, "is of no model"


_EPOCH = "vectors_epoch"
_COUNTED = "SELECT model_id, corpus, count(*) FROM vectors GROUP BY 1, 2"
_LEAVING = "~leaving:"
"""How the name of a model begins whose vectors are being deleted."""
_WANTED = 200
"""How many items that lost their vector are remembered."""


def _all_rows(connection: apsw.Connection, sql: str, *values: Value) -> list[Any]:
    """The rows of a query. It is run to its end: a cursor left open would hold its connection to that moment."""
    return connection.execute(sql, values).fetchall()


def _counter(model_id: int, corpus: str) -> str:
    return f"vectors:{model_id}:{corpus}"


def _put(connection: apsw.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, value))


def _meta(connection: apsw.Connection, key: str) -> str:
    row = first_row(connection, "SELECT value FROM meta WHERE key = ?", key)
    return str(row[0]) if row else ""


def _count(connection: apsw.Connection, model_id: int, corpus: Corpus, change: int) -> None:
    key = _counter(model_id, corpus)
    _put(connection, key, str(int(_meta(connection, key) or 0) + change))


def _want(connection: apsw.Connection, corpus: Corpus, items: Collection[int]) -> None:
    """Remember where a vector is missing now, so that it is found without looking everywhere. A hint, no more."""
    key = f"vectors_wanted:{corpus}"
    wanted = dict.fromkeys([*_meta(connection, key).split(), *map(str, items)])
    _put(connection, key, " ".join(list(wanted)[-_WANTED:]))


# --- Searching --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Model:
    """A model as a connection sees it, and where its vectors of a corpus stand."""

    id: int
    name: str
    dimension: int
    corpus: Corpus
    epoch: str
    through: int
    """The last number that any vector was given."""
    count: int

    @property
    def label(self) -> Label:
        return Label(epoch=self.epoch, model=self.name, corpus=self.corpus, dimension=self.dimension)


@dataclass(frozen=True, slots=True)
class _State:
    """What a process has in memory of a model and corpus. The last segment is the one that grows."""

    epoch: str
    seen: int
    segments: tuple[Segment, ...]
    surplus: int
    """How many more rows these are than there are vectors: those that were replaced or deleted since."""

    @property
    def rows(self) -> int:
        return sum(len(segment.rows) for segment in self.segments)


@dataclass(slots=True)
class _Held:
    lock: threading.Lock = field(default_factory=threading.Lock)
    state: _State | None = None


class Vectors:
    """The vectors of one store, for all threads of a process. `path` is the store's file, if it has one; more than
    `exact` vectors are searched by their sketches.

    Every method takes the connection to work on, in a transaction: `keep` and `forget` one that writes, the others one
    that reads. See `Store` for what they do.
    """

    def __init__(self, connections: Connections, path: Path | None, *, exact: int = EXACT) -> None:
        self._connections = connections
        self._path = path
        self._exact = exact
        self._held: dict[tuple[Corpus, int], _Held] = {}
        self._complete: dict[tuple[Corpus, str], tuple[str, int]] = {}
        """By corpus and model, an epoch and the item before which none lacked a vector when that was last looked at."""
        _OPEN.add(self)

    # --- Writing

    def keep(
        self,
        connection: apsw.Connection,
        model: str,
        texts: Sequence[tuple[int, str]],
        vectors: Floats,
        *,
        corpus: Corpus,
    ) -> int:
        """See `Store.keep_vectors`. All vectors of a model have the same number of dimensions."""
        given = _checked(vectors, len(texts))
        if not texts:
            return 0
        model_id = _known_model(connection, model, given.shape[1])
        present = _hashes(connection, corpus, [item for item, _ in texts])
        blobs = encoded(given)
        # Of an item that is given twice, the last counts.
        kept = {item: blob for (item, said), blob in zip(texts, blobs, strict=True) if present.get(item) == said}
        if not kept:
            return 0
        if not _meta(connection, _EPOCH):
            begin_epoch(connection)
        replaced = connection.execute(
            "SELECT count(*) FROM vectors WHERE corpus = ? AND model_id = ?"
            " AND item_id IN (SELECT value FROM json_each(?))",
            (corpus.value, model_id, json.dumps(list(kept))),
        ).get
        connection.executemany(
            "INSERT OR REPLACE INTO vectors (model_id, corpus, item_id, content_hash, vector) VALUES (?, ?, ?, ?, ?)",
            [(model_id, corpus.value, item, present[item], blob) for item, blob in kept.items()],
        )
        _count(connection, model_id, corpus, len(kept) - int(replaced))
        return len(kept)

    def forget(self, connection: apsw.Connection, model: str, *, at_once: int = 20_000) -> bool:
        """Delete some vectors of a model; whether there are more. It is unknown from the first time on.

        To be called, each time in a transaction of its own, until there are none; and then `discard`.
        """
        row = first_row(connection, "SELECT id FROM models WHERE name = ?", model)
        if row is not None:
            connection.execute("UPDATE models SET name = ? WHERE id = ?", (f"{_LEAVING}{row[0]}", row[0]))
            begin_epoch(connection)
        for (model_id,) in _all_rows(connection, "SELECT id FROM models WHERE name GLOB ?", _LEAVING + "*"):
            connection.execute(
                "DELETE FROM vectors WHERE seq IN (SELECT seq FROM vectors NOT INDEXED WHERE model_id = ? LIMIT ?)",
                (model_id, at_once),
            )
            if connection.changes() >= at_once:
                return True
            connection.execute("DELETE FROM models WHERE id = ?", (model_id,))
            connection.execute("DELETE FROM meta WHERE key GLOB ?", (_counter(model_id, "*"),))
        return False

    # --- Reading

    def nearest(
        self,
        connection: apsw.Connection,
        vector: Floats,
        *,
        model: str,
        corpus: Corpus,
        condition: Filter = EVERYTHING,
        limit: int,
    ) -> tuple[Near, ...]:
        """See `Store.nearest`. The filter is what `where_sql` or `passage_where_sql` makes of the conditions."""
        known = _model(connection, model, corpus)
        query = _direction(vector)
        if known is None or query is None or limit < 1:
            return ()
        _expect(known, query)
        wanted = _Wanted(connection, known, condition, limit)
        try:
            seqs = wanted.found(Search(self._segments(connection, known), query, known.through))
        except Overwritten:
            self._let_go(known)
            seqs = wanted.found(Search(self._segments(connection, known, trusting=False), query, known.through))
        rows = _all_rows(
            connection,
            "SELECT item_id, vector FROM vectors WHERE seq IN (SELECT value FROM json_each(?))",
            json.dumps(seqs),
        )
        near = [Near(item=item, cosine=cosine) for item, cosine in _cosines(rows, query).items()]
        return tuple(sorted(near, key=lambda each: (-each.cosine, each.item)))

    def similarities(
        self, connection: apsw.Connection, vector: Floats, items: Sequence[int], *, model: str, corpus: Corpus
    ) -> dict[int, float]:
        """See `Store.similarities`."""
        known = _model(connection, model, corpus)
        if known is None:
            return {}
        rows = _stored(connection, known, items)
        query = _direction(vector)
        if query is None:
            return dict.fromkeys((item for item, _ in rows), 0.0)
        _expect(known, query)
        return _cosines(rows, query)

    def vectors(
        self, connection: apsw.Connection, model: str, *, corpus: Corpus, items: Sequence[int] | None = None
    ) -> tuple[list[int], Floats]:
        """See `Store.vectors`."""
        import numpy as np

        known = _model(connection, model, corpus)
        if known is None:
            return [], np.zeros((0, 0), dtype=np.float32)
        rows = _stored(connection, known, items)
        scales, codes = decoded([blob for _, blob in rows], known.dimension)
        return [item for item, _ in rows], codes * scales[:, None]

    def embedded(self, connection: apsw.Connection, *, corpus: Corpus) -> dict[str, int]:
        """See `Store.embedded`."""
        rows = all_rows(
            connection,
            "SELECT o.name, CAST(c.value AS INTEGER) FROM models o"
            " JOIN meta c ON c.key = 'vectors:' || o.id || ':' || ? WHERE o.name NOT GLOB ? ORDER BY 1",
            (corpus.value, _LEAVING + "*"),
        )
        return {str(name): int(count) for name, count in rows if count}

    def unembedded(
        self, connection: apsw.Connection, model: str, *, corpus: Corpus, limit: int
    ) -> tuple[Unembedded, ...]:
        """See `Store.unembedded`. Costs next to nothing when nothing is missing, and little when what is missing is new
        or has just changed."""
        known = _model(connection, model, corpus)
        missing = read_size(connection, corpus)[0] - (known.count if known else 0)
        if not missing or limit < 1:
            return ()
        lacking = _Lacking(connection, corpus, known.id if known else 0)
        if 0 < missing <= min(limit, _WANTED):
            # What is found in the likely places is all there is, if it is as many as are missing.
            likely = lacking.likely(missing)
            if len(likely) == missing:
                return likely
        epoch, start = self._complete.get((corpus, model), ("", 0))
        if known is None or epoch != known.epoch:
            start = 0
        changed = [each for each in lacking.noted() if each.item < start]
        found = lacking.between(start, None, limit)
        if found:
            # Below the first there is none, but for those that lose theirs from now on.
            self._complete[corpus, model] = (known.epoch if known else "", found[0].item)
        if start and len(changed) + len(found) < limit:
            changed = lacking.between(0, start, limit)
        return tuple([*changed, *found][:limit])

    # --- What is in memory

    def discard(self) -> None:
        """After vectors were deleted for good: let go of all that is in memory and beside the store."""
        # The files first: what is read again after this must not come from them.
        if self._path is not None:
            discard_side_files(self._path)
        self._held.clear()

    def close(self) -> None:
        """Let go of what is in memory."""
        self._held.clear()

    def begin_in_child(self) -> None:
        """After a fork: a thread that held a lock is not there any more. What had been read is as good as before."""
        for held in self._held.values():
            held.lock = threading.Lock()

    def _let_go(self, known: _Model) -> None:
        """The same for one model and corpus."""
        if self._path is not None:
            discard(side_file(self._path, known.corpus, known.id))
        self._held.pop((known.corpus, known.id), None)

    def _segments(self, connection: apsw.Connection, known: _Model, *, trusting: bool = True) -> tuple[Segment, ...]:
        """All that the connection can see of a model's vectors, and maybe more."""
        held = self._held.setdefault((known.corpus, known.id), _Held())
        with held.lock:
            state = held.state
            if state is None or state.epoch != known.epoch:
                state = self._loaded(connection, known, trusting=trusting)
            if known.through > state.seen:
                rows = _read_rows(connection, known, state.seen)
                state = _extended(state, rows, known.through, self._exact)
            # One who sees an older moment than what is in memory cannot say what is no longer needed.
            if known.through == state.seen and _unwieldy(state, known, self._exact):
                state = self._settled(connection, state, known, writing=trusting)
            held.state = state
            return state.segments

    def _loaded(self, connection: apsw.Connection, known: _Model, *, trusting: bool) -> _State:
        """What lies beside the store, if that is what the store holds; otherwise what the store holds."""
        if self._path is not None:
            discard_others(self._path, known.epoch)
            path = side_file(self._path, known.corpus, known.id)
            content = read_side_file(path, known.label) if trusting else None
            if content is not None and content.seen <= known.through and _vouched(connection, known, content.sketched):
                return _State(known.epoch, content.seen, (content.sketched,), content.surplus)
        return self._arranged(_read_rows(connection, known, 0), known, writing=trusting)

    def _settled(self, connection: apsw.Connection, state: _State, known: _Model, *, writing: bool) -> _State:
        """One segment of all the rows that are still there."""
        there = _live(connection, known)
        room = Room(known.dimension, min(len(there), state.rows))
        for segment in state.segments:
            for start in range(0, len(segment.rows), _ROWS_AT_ONCE):
                some = segment.rows.chosen(slice(start, start + _ROWS_AT_ONCE))
                room.add(some.chosen(_among(some.seqs, there)))
        return self._arranged(room.rows, known, writing=writing)

    def _arranged(self, rows: Rows, known: _Model, *, writing: bool) -> _State:
        """Rows ready to be searched; many of them in a file beside the store, if there is one."""
        surplus = len(rows) - known.count
        if len(rows) > self._exact:
            content = Content(Sketched.made(rows), known.through, surplus)
            if writing and self._path is not None:
                content = self._published(content, known, side_file(self._path, known.corpus, known.id))
            return _State(known.epoch, known.through, (content.sketched,), surplus)
        if self._path is not None:
            discard(side_file(self._path, known.corpus, known.id))
        return _State(known.epoch, known.through, (Exact.made(rows),), surplus)

    def _published(self, content: Content, known: _Model, path: Path) -> Content:
        """The same, mapped from a file; as it is, if no file can be written."""
        try:
            write_side_file(path, known.label, content)
            with self._connections.fresh() as connection:
                current = _meta(connection, _EPOCH) == known.epoch
        except (OSError, StoreError):
            current = False
        if current:
            return read_side_file(path, known.label) or content
        # Whoever begins an epoch discards the files after that; this one came later, or cannot be known to have not.
        discard(path)
        return content


def _model(connection: apsw.Connection, name: str, corpus: Corpus) -> _Model | None:
    row = first_row(
        connection,
        "SELECT o.id, o.dimension, coalesce((SELECT value FROM meta WHERE key = ?1), ''),"
        " coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'vectors'), 0),"
        " coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'vectors:' || o.id || ':' || ?2), 0)"
        " FROM models o WHERE o.name = ?3",
        *(_EPOCH, corpus.value, name),
    )
    return None if row is None else _Model(row[0], name, row[1], corpus, *row[2:])


def _known_model(connection: apsw.Connection, name: str, dimension: int) -> int:
    """The id of a model, which is made known if it is not."""
    row = first_row(connection, "SELECT id, dimension FROM models WHERE name = ?", name)
    if row is None:
        connection.execute("INSERT INTO models (name, dimension) VALUES (?, ?)", (name, dimension))
        return connection.last_insert_rowid()
    if row[1] != dimension:
        raise InvalidInput("vectors", f"have {dimension} dimensions where those of {name} have {row[1]}")
    return int(row[0])


def _hashes(connection: apsw.Connection, corpus: Corpus, items: Sequence[int]) -> dict[int, str]:
    """The present content hashes of those items that need a vector."""
    condition, values = _embeddable(corpus)
    rows = all_rows(
        connection,
        f"SELECT m.id, m.content_hash FROM {_table(corpus)} m"
        f" WHERE m.id IN (SELECT value FROM json_each(?)) AND {condition}",
        (json.dumps(list(items)), *values),
    )
    return {int(item): str(said) for item, said in rows}


def _table(corpus: Corpus) -> str:
    return "memories" if corpus is Corpus.MEMORY else "passages"


def _embeddable(corpus: Corpus) -> Filter:
    """Which rows of the table are items of the corpus."""
    # With the plus, no index is used for it: the ids are the better way to so few rows.
    return ("m.status <> 'forgotten'", ()) if corpus is Corpus.MEMORY else ("+m.corpus = ?", (corpus.value,))


# --- Rows of vectors


def _stored(connection: apsw.Connection, known: _Model, items: Sequence[int] | None) -> list[tuple[int, bytes]]:
    """Items and their vectors as they are stored: of some, or of all."""
    listed = "" if items is None else "AND item_id IN (SELECT value FROM json_each(?))"
    return _all_rows(
        connection,
        "SELECT item_id, vector FROM vectors WHERE corpus = ? AND model_id = ? AND length(vector) = ?"
        f" {listed} ORDER BY item_id",
        *(known.corpus.value, known.id, known.dimension + _SCALE),
        *(() if items is None else (json.dumps(list(items)),)),
    )


def _read_rows(connection: apsw.Connection, known: _Model, after: int) -> Rows:
    """The vectors that were written after one."""
    beyond = known.through - after
    # The way along the table reads the vectors of other models and corpora as well.
    way = "INDEXED BY vectors_item" if _APART * known.count < beyond else "NOT INDEXED"
    cursor = connection.execute(
        f"SELECT seq, item_id, vector FROM vectors {way}"
        " WHERE seq > ? AND corpus = ? AND model_id = ? AND length(vector) = ? ORDER BY seq",
        (after, known.corpus.value, known.id, known.dimension + _SCALE),
    )
    room = Room(known.dimension, max(0, min(known.count, beyond)))
    while some := list(islice(cursor, _ROWS_AT_ONCE)):
        seqs, items, blobs = zip(*some, strict=True)
        room.add(Rows.of(seqs, items, blobs, known.dimension))
    return room.rows


def _live(connection: apsw.Connection, known: _Model) -> Integers:
    """The numbers of all vectors that are there, ascending."""
    import numpy as np

    rows = all_rows(
        connection,
        "SELECT seq FROM vectors INDEXED BY vectors_item WHERE corpus = ? AND model_id = ?",
        (known.corpus.value, known.id),
    )
    return np.sort(np.fromiter((seq for (seq,) in rows), dtype=np.int64))


def _among(some: Integers, all_of_them: Integers) -> NDArray[np.bool_]:
    """Which numbers are among others, which ascend."""
    import numpy as np

    places = np.searchsorted(all_of_them, some)
    among = places < len(all_of_them)
    among[among] = all_of_them[places[among]] == some[among]
    return among


def _vouched(connection: apsw.Connection, known: _Model, sketched: Sketched) -> bool:
    """Whether rows agree with the store, as far as some of them show: one at least is there, and none is different."""
    import numpy as np

    rows = sketched.rows
    places = np.unique(np.linspace(0, len(rows) - 1, _SAMPLED).astype(np.int64))
    held = {int(rows.seqs[at]): (int(rows.items[at]), rows.codes[at].tobytes()) for at in places}
    stored = _all_rows(
        connection,
        "SELECT seq, item_id, substr(vector, ?) FROM vectors"
        " WHERE seq IN (SELECT value FROM json_each(?)) AND corpus = ? AND model_id = ?",
        *(_SCALE + 1, json.dumps(list(held)), known.corpus.value, known.id),
    )
    return bool(stored) and all(held[seq] == (item, codes) for seq, item, codes in stored)


def _extended(state: _State, rows: Rows, through: int, exact: int) -> _State:
    """With rows that were written since."""
    *others, last = state.segments
    if len(rows) == 0:
        segments = state.segments
    elif isinstance(last, Exact) and len(last.rows) + len(rows) <= exact:
        segments = (*others, last.extended(rows))
    else:
        sealed = Sketched.made(last.rows) if isinstance(last, Exact) and len(last.rows) else last
        segments = (*others, sealed, Exact.made(rows) if len(rows) <= exact else Sketched.made(rows))
    return _State(state.epoch, through, segments, state.surplus)


def _unwieldy(state: _State, known: _Model, exact: int) -> bool:
    """Whether it pays to arrange everything anew."""
    if state.rows - known.count - state.surplus > max(_TOLERATED, state.rows // 10):
        return True
    first = state.segments[0]
    if isinstance(first, Exact):
        return state.rows > exact
    return state.rows - len(first.rows) > max(exact // 2, len(first.rows) // 10)


_SCALE = 4
"""The bytes of a vector before its codes."""
_APART = 4
"""One vector of so many: from here on, finding each by its item is faster than reading all."""
_SAMPLED = 17
"""How many rows of a file are compared with the store before it is used."""
_TOLERATED = 1_000
"""So many rows that are no longer there do not disturb a search."""
_ROWS_AT_ONCE = 8_192


# --- Asking


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A search: how many of a model's vectors, and of those which."""

    connection: apsw.Connection
    known: _Model
    condition: Filter
    limit: int

    def found(self, search: Search) -> list[int]:
        """The numbers of the closest vectors that are there and pass, closest first.

        The closest are found first and then asked about. The rarer those are that pass, the more have to be asked
        about. Where the store can name all that pass for less than that costs, those are compared instead.
        """
        passing: dict[int, bool] = {}
        depth = _FIRST + self.limit + self.limit // 4
        while True:
            best = search.best(depth)
            seqs: list[int] = best.seqs.tolist()
            fresh = [place for place, seq in enumerate(seqs) if seq not in passing]
            there = self._passing(best.items[fresh].tolist())
            passing |= {seqs[place]: seqs[place] in there for place in fresh}
            winners = [seq for seq in seqs if passing[seq]]
            if len(winners) >= self.limit or depth >= len(search):
                return winners[: self.limit]
            share = (len(winners) + 1) / (len(seqs) + 2)
            depth = min(len(search), max(2 * depth, math.ceil(1.5 * self.limit / share)))
            affordable = int((depth * _ASKED - self._looking()) / _LISTED)
            if affordable > 0 and len(every := self._all_passing(affordable + 1)) <= affordable:
                return [int(seq) for seq in search.among(every, self.limit).seqs]

    def _passing(self, items: list[int]) -> set[int]:
        """The numbers of the vectors that some items have, of those that pass."""
        source, values = self._source("json_each(?) j CROSS JOIN {table} m ON m.id = j.value")
        rows = self.connection.execute(f"SELECT v.seq {source}", (json.dumps(items), *values))
        return {seq for (seq,) in rows}

    def _all_passing(self, limit: int) -> Integers:
        """The numbers of the vectors whose items pass, ascending, as far as there are no more than so many."""
        import numpy as np

        source, values = self._source("{table} m")
        rows = self.connection.execute(f"SELECT v.seq {source} LIMIT ?", (*values, limit))
        return np.sort(np.fromiter((seq for (seq,) in rows), dtype=np.int64))

    def _source(self, items: str) -> Filter:
        """Where to select from: the items that pass and then the vector of each, in this order."""
        corpus = self.known.corpus
        embeddable, which = _embeddable(corpus)
        condition, values = self.condition
        return (
            f"FROM {items.format(table=_table(corpus))}"
            " CROSS JOIN vectors v ON v.item_id = m.id AND v.corpus = ? AND v.model_id = ?"
            f" WHERE {embeddable} AND ({condition})",
            (corpus.value, self.known.id, *which, *values),
        )

    def _looking(self) -> float:
        """How long the store looks for all that pass, in microseconds: not at all with an index, or at every item."""
        source, values = self._source("{table} m")
        plan = first_row(self.connection, f"EXPLAIN QUERY PLAN SELECT v.seq {source}", *values)
        way = str(plan[3]) if plan else ""
        if way.startswith("SEARCH m") and "(corpus=?)" not in way:
            return 0.0
        return read_size(self.connection, self.known.corpus)[0] * _LOOKED_AT


_FIRST = 64
"""How many more are asked about at first than are wanted, beside a quarter of these."""
_ASKED = 8.0
_LOOKED_AT = 0.4
_LISTED = 2.0
"""Microseconds: to find one item by its sketch and ask about it, to look at one in passing, to take one that passes."""


@dataclass(frozen=True, slots=True)
class _Lacking:
    """The items of a corpus that have no vector of a model."""

    connection: apsw.Connection
    corpus: Corpus
    model_id: int

    def between(self, first: int, end: int | None, limit: int) -> list[Unembedded]:
        """The first of them, from one id to before another."""
        which = "m.id >= :first AND m.id < :end ORDER BY m.id LIMIT :limit"
        return self._selected(which, first=first, end=_NO_END if end is None else end, limit=limit)

    def noted(self) -> list[Unembedded]:
        """Those of whose vector it was noted that it was deleted."""
        items = ",".join(_meta(self.connection, f"vectors_wanted:{self.corpus}").split())
        return self._selected("m.id IN (SELECT value FROM json_each(:items)) ORDER BY m.id", items=f"[{items}]")

    def likely(self, count: int) -> tuple[Unembedded, ...]:
        """Those that were noted; and if these are not `count`, as many of those among the newest items."""
        found = {each.item: each for each in self.noted()}
        if len(found) != count:
            newest = self._selected(
                f"m.id > (SELECT max(id) FROM {_table(self.corpus)}) - :newest ORDER BY m.id DESC LIMIT :limit",
                newest=_NEWEST,
                limit=count,
            )
            found |= {each.item: each for each in newest}
        return tuple(found[item] for item in sorted(found))

    def _selected(self, which: str, **values: Value) -> list[Unembedded]:
        if self.corpus is Corpus.MEMORY:
            source = "m.content FROM memories m WHERE m.status <> 'forgotten'"
        else:
            source = "m.text, m.document, m.position, m.label, m.at FROM passages m WHERE +m.corpus = :corpus"
        rows = self.connection.execute(
            f"SELECT m.id, m.content_hash, {source} AND NOT EXISTS (SELECT 1 FROM vectors v"
            f" WHERE v.corpus = :corpus AND v.item_id = m.id AND v.model_id = :model) AND {which}",
            {"corpus": self.corpus.value, "model": self.model_id, **values},
        )
        return [Unembedded(item=row[0], content_hash=row[1], text=self._text(*row[2:])) for row in rows]

    def _text(self, text: str, document: str = "", position: int = 0, label: str = "", at: int | None = None) -> str:
        if self.corpus is Corpus.MEMORY:
            return text
        when = None if at is None else from_micros(at)
        passage = Passage(corpus=self.corpus, document=document, position=position, label=label, text=text, at=when)
        return passage.reading


_NEWEST = 2_000
"""Among so many of the last items, what has just been stored is looked for."""
_NO_END = 2**63 - 1


# --- Numbers


def _checked(vectors: Floats, count: int) -> Floats:
    """Vectors that can be kept: a row for each text, of numbers."""
    import numpy as np

    given = np.asarray(vectors, dtype=np.float32)
    if given.ndim != 2 or len(given) != count or (count and not given.shape[1]):
        raise InvalidInput("vectors", f"must be one row for each of {count} texts, not {given.shape}")
    if not np.isfinite(given).all():
        raise InvalidInput("vectors", "must be finite numbers")
    return given


def _direction(vector: Floats) -> Floats | None:
    """A vector of length 1 that points the same way; None of a zero one, which points nowhere."""
    import numpy as np

    [given] = _checked(np.asarray(vector)[None, ...], 1)
    length = float(np.linalg.norm(given.astype(np.float64)))
    return (given / length).astype(np.float32) if length > 0 else None


def _expect(known: _Model, query: Floats) -> None:
    if len(query) != known.dimension:
        raise InvalidInput("vector", f"has {len(query)} dimensions where those of {known.name} have {known.dimension}")


def _cosines(rows: Sequence[tuple[int, bytes]], query: Floats) -> dict[int, float]:
    """How close stored vectors are to a query, by their item."""
    import numpy as np

    codes = decoded([blob for _, blob in rows], len(query))[1]
    lengths = np.sqrt(squares_of(codes))
    cosines = np.vecdot(codes.astype(np.float32), query) / np.where(lengths > 0, lengths, 1)
    return {item: float(cosine) for (item, _), cosine in zip(rows, np.clip(cosines, -1, 1), strict=True)}


_OPEN: weakref.WeakSet[Vectors] = weakref.WeakSet()


def _in_child() -> None:
    for each in list(_OPEN):
        each.begin_in_child()


os.register_at_fork(after_in_child=_in_child)
