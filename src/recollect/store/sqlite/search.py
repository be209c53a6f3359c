"""Search by words: FTS5's BM25 over the rarest words of a question, within a budget of index entries."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import apsw

from ...codec import from_micros
from ...errors import StoreDamaged
from ...model import Corpus, Entry, Op, Passage, Where, WordSearch, WordStatistics
from ...policy.query import affordable, edits_allowed, match_expression
from .filters import passage_where_sql, where_sql
from .index import WordIndex, index_of, read_size
from .rows import SELECTED, UNREADABLE, Value, all_rows, from_row


def find_items(
    connection: apsw.Connection,
    stems: tuple[str, ...],
    *,
    corpus: Corpus,
    where: Where,
    limit: int,
    postings: int,
) -> WordSearch:
    """The best items by BM25. See `Store.find`."""
    index = index_of(corpus)
    holding = _holding(connection, stems, corpus)
    kept, skipped = affordable(holding, postings)
    if not kept:
        filter_sql(corpus, where)  # a filter that means nothing is refused, whether anything is found or not
        return WordSearch()
    expression = match_expression(kept)
    few = _named(connection, index, where, postings)
    if few is not None:
        return WordSearch(items=tuple(_best_among(connection, index, expression, few, limit)), skipped=skipped)
    floor = _floor(connection, index, kept[0], postings) if holding[kept[0]] > postings else 0
    items = _best_items(connection, index, expression, floor, where, limit)
    return WordSearch(items=tuple(items), skipped=skipped, newest_only=floor > 0)


def read_statistics(connection: apsw.Connection, stems: Collection[str], corpus: Corpus) -> WordStatistics:
    """What BM25 needs to know of a corpus."""
    texts, words = read_size(connection, corpus)
    return WordStatistics(texts=texts, words=words, holding=_holding(connection, stems, corpus))


def _best_items(
    connection: apsw.Connection, index: WordIndex, expression: str, floor: int, where: Where, limit: int
) -> list[int]:
    """The ids of the best matches that pass the filter.

    Looking at every match's row to filter it costs several times as much as ranking them. So the best by words alone
    are taken first, a few more than are wanted; only if the filter leaves too few of them is it asked of all.
    """
    table = index.table
    wanted = _MORE * limit if where else limit
    ranked = _ids(
        connection,
        f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid > ? ORDER BY {index.score} LIMIT ?",
        (expression, floor, wanted),
    )
    if not where:
        return ranked
    passing = set(_passing(connection, index, ranked, where))
    items = [number for number in ranked if number in passing]
    if len(items) < limit and len(ranked) == wanted:
        condition, values = filter_sql(index.corpus, where)
        items = _ids(
            connection,
            f"SELECT {table}.rowid FROM {table} JOIN {index.rows} ON m.id = {table}.rowid"
            f" WHERE {table} MATCH ? AND {table}.rowid > ? AND {condition} ORDER BY {index.score} LIMIT ?",
            (expression, floor, *values, limit),
        )
    return items[:limit]


_MORE = 2


def _named(connection: apsw.Connection, index: WordIndex, where: Where, most: int) -> list[int] | None:
    """All that pass a filter that names their document; None of other filters, and of many.

    An index leads to them, so that they are found among any number of others, however frequent the words are.
    """
    if not any(condition.field == "document" and condition.op is Op.EQ for condition in where):
        return None
    condition, values = filter_sql(index.corpus, where)
    few = _ids(connection, f"SELECT m.id FROM {index.rows} WHERE {condition} LIMIT ?", (*values, most + 1))
    return few if len(few) <= most else None


def _best_among(
    connection: apsw.Connection, index: WordIndex, expression: str, items: Sequence[int], limit: int
) -> list[int]:
    """The ids of the best matches among some items."""
    # The `+` has the matches looked up among the items, each as it is read, and not the other way round.
    return _ids(
        connection,
        f"SELECT rowid FROM {index.table} WHERE {index.table} MATCH ?"
        f" AND +rowid IN (SELECT value FROM json_each(?)) ORDER BY {index.score} LIMIT ?",
        (expression, json.dumps(items), limit),
    )


def _ids(connection: apsw.Connection, sql: str, bindings: Sequence[Value]) -> list[int]:
    return [number for (number,) in connection.execute(sql, bindings)]


def filter_sql(corpus: Corpus, where: Where) -> tuple[str, list[Value]]:
    """The conditions as an expression over the rows of a corpus, named `m`, and the values to bind to it."""
    return where_sql(where) if corpus is Corpus.MEMORY else passage_where_sql(corpus, where)


def _passing(connection: apsw.Connection, index: WordIndex, items: Sequence[int], where: Where) -> list[int]:
    condition, values = filter_sql(index.corpus, where)
    return _ids(
        connection,
        f"SELECT m.id FROM {index.rows} NOT INDEXED WHERE m.id IN (SELECT value FROM json_each(?)) AND {condition}",
        (json.dumps(items), *values),
    )


def read_entries(
    connection: apsw.Connection, items: Sequence[int], *, corpus: Corpus, where: Where, around: int, payloads: bool
) -> tuple[Entry, ...]:
    """The items that pass, with their words. See `Store.entries`."""
    listed = json.dumps(list(items))
    condition, values = filter_sql(corpus, where)
    if corpus is Corpus.MEMORY:
        rows = all_rows(
            connection,
            f"SELECT {SELECTED}, w.content, w.tags, w.files, w.source, w.kind"
            " FROM memories m NOT INDEXED JOIN words w ON w.rowid = m.id"
            f" WHERE m.id IN (SELECT value FROM json_each(?)) AND {condition}",
            [listed, *values],
        )
        return tuple(Entry(of=from_row(row), fields=row[-5:]) for row in rows)
    rows = all_rows(
        connection,
        "WITH chosen AS (SELECT m.* FROM passages m NOT INDEXED"
        f" WHERE m.id IN (SELECT value FROM json_each(?)) AND {condition})"
        f" SELECT p.id, p.corpus, p.document, p.position, p.label, p.text, p.at, {'p.payload' if payloads else 'NULL'},"
        f" w.content, w.label, w.moment, w.document FROM passages p JOIN {index_of(corpus).table} w ON w.rowid = p.id"
        " WHERE p.id IN (SELECT n.id FROM chosen c JOIN passages n ON n.corpus = c.corpus"
        " AND n.document = c.document AND n.position BETWEEN c.position - ? AND c.position + ?)",
        [listed, *values, around, around],
    )
    return tuple(Entry(of=_passage(row), fields=row[-4:]) for row in rows)


def read_texts(
    connection: apsw.Connection, items: Sequence[int], *, corpus: Corpus, where: Where
) -> dict[int, tuple[str, ...]]:
    """The words of the items that pass, field by field. See `Store.texts`."""
    index = index_of(corpus)
    condition, values = filter_sql(corpus, where)
    rows = all_rows(
        connection,
        f"SELECT m.id, {', '.join(f'w.{name}' for name in index.fields)}"
        f" FROM {index.rows} NOT INDEXED JOIN {index.table} w ON w.rowid = m.id"
        f" WHERE m.id IN (SELECT value FROM json_each(?)) AND {condition}",
        [json.dumps(list(items)), *values],
    )
    return {row[0]: row[1:] for row in rows}


def _passage(row: Sequence[Any]) -> Passage:
    number, corpus, document, position, label, text, at, payload = row[:8]
    try:
        return Passage(
            id=number,
            corpus=_BESIDE[corpus],
            document=document,
            position=position,
            label=label,
            text=text,
            at=None if at is None else from_micros(at),
            payload=None if payload is None else json.loads(payload),
        )
    except UNREADABLE as error:
        raise StoreDamaged(f"passage {number}", f"its row cannot be read ({error})") from error


_BESIDE = {corpus.value: corpus for corpus in Corpus if corpus is not Corpus.MEMORY}


def read_passages(connection: apsw.Connection) -> Iterator[Passage]:
    """Every passage of every corpus."""
    for row in connection.execute(
        "SELECT id, corpus, document, position, label, text, at, payload FROM passages ORDER BY id"
    ):
        yield _passage(row)


def _holding(connection: apsw.Connection, stems: Collection[str], corpus: Corpus) -> dict[str, int]:
    """How many items hold each stem; those that none holds are left out."""
    source, values = _terms_sql(corpus)
    rows = all_rows(
        connection,
        f"SELECT t.word, t.held FROM ({source}) t WHERE t.word IN (SELECT value FROM json_each(?))",
        [*values, json.dumps(list(stems))],
    )
    return {str(each): int(count) for each, count in rows}


def _terms_sql(corpus: Corpus) -> tuple[str, list[Value]]:
    if corpus is Corpus.MEMORY:
        return "SELECT word, memories AS held FROM terms", []
    return "SELECT word, passages AS held FROM passage_terms WHERE corpus = ?", [corpus.value]


def read_vocabulary(connection: apsw.Connection, corpus: Corpus, limit: int) -> dict[str, int]:
    """The most frequent stems."""
    source, values = _terms_sql(corpus)
    rows = all_rows(connection, f"SELECT word, held FROM ({source}) ORDER BY held DESC, word LIMIT ?", [*values, limit])
    return {str(each): int(count) for each, count in rows}


def read_spellings(
    connection: apsw.Connection, stem: str, *, corpus: Corpus, limit: int
) -> tuple[dict[str, int], dict[str, int]]:
    """Stems that begin with this one, and, where nothing holds it, stems spelled almost like it."""
    source, values = _terms_sql(corpus)
    longer = all_rows(
        connection,
        f"SELECT t.word, t.held FROM ({source}) t WHERE t.word > ? AND t.word < ? ORDER BY t.held DESC, t.word LIMIT ?",
        [*values, stem, stem + _LAST, limit],
    )
    begun = {str(each): int(count) for each, count in longer}
    if begun or _holding(connection, (stem,), corpus):
        return begun, {}
    return {}, _almost(connection, stem, corpus, limit)


_LAST = "\U0010ffff"


def _almost(connection: apsw.Connection, stem: str, corpus: Corpus, limit: int) -> dict[str, int]:
    """Stems that a few slips of the finger away, beginning with the same letter: the one place people rarely slip."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    allowed = edits_allowed(stem)
    if not allowed:
        return {}
    source, values = _terms_sql(corpus)
    rows = all_rows(
        connection,
        f"SELECT t.word, t.held FROM ({source}) t WHERE t.word >= ? AND t.word < ? AND length(t.word) BETWEEN ? AND ?",
        [*values, stem[0], stem[0] + _LAST, len(stem) - allowed, len(stem) + allowed],
    )
    held = {str(each): int(count) for each, count in rows}
    close = process.extract(stem, list(held), scorer=OSA.distance, score_cutoff=allowed, limit=limit)
    return {word: held[word] for word, _, _ in close}


def _floor(connection: apsw.Connection, index: WordIndex, word: str, postings: int) -> int:
    """The id above which so many of the newest items that hold a word are. To count entries is much less work than to
    score them.
    """
    older = _ids(
        connection,
        f"SELECT rowid FROM {index.table} WHERE {index.table} MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
        (match_expression((word,)), postings),
    )
    return older[0] if older else 0
