"""Search by words: FTS5's BM25 over the rarest words of a question, within a budget of index entries."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import apsw

from ...model import Memory, Where, WordMatch, WordSearch, WordStatistics
from ...policy.query import affordable, match_expression
from ...policy.stem import stem
from .filters import where_sql
from .index import read_size
from .rows import SELECTED, from_row


def search_words(
    connection: apsw.Connection, words: tuple[str, ...], *, where: Where, limit: int, postings: int
) -> WordSearch:
    """The best matches by BM25. See `Store.search`."""
    asked = {stem(word): word for word in reversed(words)}
    holding = _holding(connection, asked)
    memories, total = read_size(connection)
    statistics = WordStatistics(
        memories=memories, words=total, holding={asked[each]: count for each, count in holding.items()}
    )
    kept, skipped = affordable(holding, postings)
    if not kept:
        return WordSearch(matches=(), statistics=statistics)
    floor = _floor(connection, holding[kept[0]], postings, memories)
    # Words too frequent to look for still count in what the others found.
    matches = tuple(
        _match(from_row(row), asked, row[-1].split())
        for row in _best_rows(connection, match_expression(kept), floor, where, limit)
    )
    left_out = tuple(asked[each] for each in skipped)
    return WordSearch(matches=matches, statistics=statistics, skipped=left_out, newest_only=floor > 0)


def _best_rows(
    connection: apsw.Connection, expression: str, floor: int, where: Where, limit: int
) -> list[tuple[Any, ...]]:
    """The rows of the best matches that pass the filter.

    Looking at every match's row to filter it costs several times as much as ranking them. So the best by words alone
    are taken first, a few more than are wanted; only if the filter leaves too few of them is it asked of all.
    """
    some = connection.execute(
        "SELECT rowid, bm25(words) AS relevance FROM words WHERE words MATCH ? AND rowid > ?"
        " ORDER BY relevance LIMIT ?",
        (expression, floor, _MORE * limit),
    ).fetchall()
    rows = _passing(connection, some, where)
    if len(rows) < limit and len(some) == _MORE * limit:
        condition, values = where_sql(where)
        every = connection.execute(
            "SELECT words.rowid, bm25(words) AS relevance FROM words JOIN memories m ON m.id = words.rowid"
            f" WHERE words MATCH ? AND words.rowid > ? AND {condition} ORDER BY relevance LIMIT ?",
            [expression, floor, *values, limit],
        ).fetchall()
        rows = _passing(connection, every, where)
    return rows[:limit]


_MORE = 2


def _passing(connection: apsw.Connection, ranked: list[tuple[Any, ...]], where: Where) -> list[tuple[Any, ...]]:
    """The rows of ranked ids that pass the filter, each with the words it is indexed under, in the same order."""
    place = {number: at for at, (number, _) in enumerate(ranked)}
    condition, values = where_sql(where)
    rows = connection.execute(
        f"SELECT {SELECTED}, w.content || ' ' || w.tags || ' ' || w.files || ' ' || w.source || ' ' || w.kind"
        " FROM memories m JOIN words w ON w.rowid = m.id"
        f" WHERE m.id IN (SELECT value FROM json_each(?)) AND {condition}",
        [json.dumps(list(place)), *values],
    ).fetchall()
    return sorted(rows, key=lambda row: place[row[0]])


def _match(memory: Memory, asked: Mapping[str, str], held: list[str]) -> WordMatch:
    counts = Counter(asked[each] for each in held if each in asked)
    return WordMatch(memory=memory, counts=counts, length=len(held))


def _holding(connection: apsw.Connection, stems: Iterable[str]) -> dict[str, int]:
    """How many memories hold each stem; those that none holds are left out."""
    rows = connection.execute(
        "SELECT word, memories FROM terms WHERE word IN (SELECT value FROM json_each(?))", (json.dumps(list(stems)),)
    )
    return {str(each): int(count) for each, count in rows}


_SPARSE = 4


def _floor(connection: apsw.Connection, rarest: int, postings: int, memories: int) -> int:
    """The id above which to search. Above 0 only when even the rarest word is in more memories than may be read."""
    if rarest <= postings:
        return 0
    newest = int(connection.execute("SELECT coalesce(max(id), 0) FROM memories").get)
    # Ids follow one another, unless some came from elsewhere with far higher ones; then all are searched.
    return newest - newest * postings // rarest if newest < _SPARSE * memories else 0
