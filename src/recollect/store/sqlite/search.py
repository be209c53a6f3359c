"""Search by words: FTS5's BM25 over the rarest words of a question, within a budget of index entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import apsw

from ...model import Memory, Where, WordMatch, WordSearch, WordStatistics
from ...policy.query import affordable, match_expression
from .filters import where_sql
from .index import read_size
from .rows import SELECTED, Value, from_row


def search_words(
    connection: apsw.Connection, words: tuple[str, ...], *, where: Where, limit: int, postings: int
) -> WordSearch:
    """The best matches by BM25. See `Store.search`."""
    holding = _holding(connection, words)
    memories, total = read_size(connection)
    statistics = WordStatistics(memories=memories, words=total, holding=holding)
    kept, skipped = affordable(holding, postings)
    if not kept:
        return WordSearch(matches=(), statistics=statistics)
    floor = _floor(connection, holding[kept[0]], postings, memories)
    condition, values = where_sql(where)
    # Rank first over the index and what the filter needs, then fetch whole rows for the few that are left.
    rows = connection.execute(
        f"""
        WITH best AS MATERIALIZED (
            SELECT words.rowid AS id, bm25(words) AS relevance
            FROM words JOIN memories m ON m.id = words.rowid
            WHERE words MATCH ? AND words.rowid > ? AND {condition}
            ORDER BY relevance LIMIT ?
        )
        SELECT {SELECTED}, w.content || ' ' || w.tags || ' ' || w.files || ' ' || w.source || ' ' || w.kind
        FROM best JOIN memories m ON m.id = best.id JOIN words w ON w.rowid = best.id ORDER BY best.relevance
        """,
        [match_expression(kept), floor, *values, limit],
    )
    # Words too frequent to look for still count in what the others found.
    matches = tuple(_match(from_row(row), holding, row[-1].split()) for row in rows)
    return WordSearch(matches=matches, statistics=statistics, skipped=skipped)


def _match(memory: Memory, asked: Mapping[str, int], held: list[str]) -> WordMatch:
    return WordMatch(memory=memory, counts=Counter(word for word in held if word in asked), length=len(held))


def _holding(connection: apsw.Connection, words: tuple[str, ...]) -> dict[str, int]:
    """How many memories hold each word; words that none holds are left out."""
    if not words:
        return {}
    marks = ", ".join("?" * len(words))
    bound: list[Value] = list(words)
    return {
        str(word): int(count)
        for word, count in connection.execute(f"SELECT word, memories FROM terms WHERE word IN ({marks})", bound)
    }


_SPARSE = 4


def _floor(connection: apsw.Connection, rarest: int, postings: int, memories: int) -> int:
    """The id above which to search. Above 0 only when even the rarest word is in more memories than may be read."""
    if rarest <= postings:
        return 0
    newest = int(connection.execute("SELECT coalesce(max(id), 0) FROM memories").get)
    # Ids follow one another, unless some came from elsewhere with far higher ones; then all are searched.
    return newest - newest * postings // rarest if newest < _SPARSE * memories else 0
