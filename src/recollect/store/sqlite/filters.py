"""Conditions to SQL. Every value is bound; every name comes from the closed list of fields."""

from __future__ import annotations

import json
from datetime import datetime

from ...codec import to_micros
from ...errors import InvalidFilter
from ...model import Condition, Corpus, Op, Order, Scalar, Where
from ...policy.query import FIELDS, LISTS
from .rows import Value

_COMPARISONS = {Op.EQ: "IS", Op.NE: "IS NOT", Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
_TABLES = {"tags": ("memory_tags", "tag"), "files": ("memory_files", "path")}


def where_sql(where: Where) -> tuple[str, list[Value]]:
    """The conditions as an expression over `memories m`, and the values to bind to it."""
    if not where:
        return "1", []
    clauses: list[str] = []
    values: list[Value] = []
    for condition in where:
        clause, bound = _list_sql(condition) if condition.field in LISTS else _plain_sql(condition)
        clauses.append(clause)
        values += bound
    return " AND ".join(clauses), values


PASSAGE_FILTERS = ("document", "label", "at", "position")
"""What passages can be filtered by."""


def passage_where_sql(corpus: Corpus, where: Where) -> tuple[str, list[Value]]:
    """The conditions as an expression over `passages m`, of one corpus, and the values to bind to it."""
    clauses, values = ["m.corpus = ?"], [_bound(corpus.value)]
    for condition in where:
        column = next((f"m.{name}" for name in PASSAGE_FILTERS if name == condition.field), None)
        if column is None:
            raise InvalidFilter(condition.field, f"passages are filtered by {', '.join(PASSAGE_FILTERS)}")
        clause, bound = _compared(column, condition)
        clauses.append(clause)
        values += bound
    return " AND ".join(clauses), values


def order_sql(order: Order) -> str:
    """The order as SQL; equals come in the order of their ids, so that pages never overlap."""
    direction = "DESC" if order.newest_first else "ASC"
    return f"m.{_column(order.field)} {direction}, m.id {direction}"


def tallied_sql(field: str) -> tuple[str, str]:
    """What to count over and by: `memories m`, with the table of the field's values where it holds several."""
    if field in LISTS:
        table, column = _TABLES[field]
        return f"memories m JOIN {table} e ON e.memory_id = m.id", f"e.{column}"
    return "memories m", f"m.{_column(field)}"


def _column(field: str) -> str:
    # The name goes into the statement itself, so it is taken from the list and not from the caller.
    for name in FIELDS:
        if name == field:
            return name
    raise InvalidFilter(field, f"memories are filtered by {', '.join(FIELDS)}")


def _plain_sql(condition: Condition) -> tuple[str, list[Value]]:
    return _compared(f"m.{_column(condition.field)}", condition)


def _compared(column: str, condition: Condition) -> tuple[str, list[Value]]:
    if condition.op is Op.IN:
        return _among(column, condition.value)
    # Not `IS`, where that is the same: an index without the rows that hold nothing serves `=` alone.
    known = condition.op is Op.EQ and condition.value is not None
    return f"{column} {'=' if known else _COMPARISONS[condition.op]} ?", [_bound(condition.value)]


def _list_sql(condition: Condition) -> tuple[str, list[Value]]:
    table, column = _TABLES[condition.field]
    exists = f"EXISTS (SELECT 1 FROM {table} e WHERE e.memory_id = m.id AND "
    if condition.op is Op.IN:
        inner, values = _among(f"e.{column}", condition.value)
        return f"{exists}{inner})", values
    if condition.op is Op.NE:
        return f"NOT {exists}e.{column} = ?)", [_bound(condition.value)]
    return f"{exists}e.{column} {_COMPARISONS[condition.op]} ?)", [_bound(condition.value)]


def _among(column: str, value: Scalar | tuple[Scalar, ...]) -> tuple[str, list[Value]]:
    options = [_bound(each) for each in (value if isinstance(value, tuple) else (value,))]
    some = [each for each in options if each is not None]
    # One bound value however long the list is; SQLite allows only so many.
    clause = f"{column} IN (SELECT value FROM json_each(?))"
    return (f"({clause} OR {column} IS NULL)" if len(some) < len(options) else clause), [json.dumps(some)]


def _bound(value: Scalar | tuple[Scalar, ...]) -> Value:
    if isinstance(value, datetime):
        return to_micros(value)
    assert not isinstance(value, tuple)
    return value
