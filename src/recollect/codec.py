"""Values to JSON and back, losslessly; times to integers and back.

A field that has its default value is left out, so that a value written today keeps its hash when a later version adds
fields. What comes in from outside is checked: anything that is not the value it should be raises `InvalidInput`.
"""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from typing import Any, TypeVar, cast

from .errors import InvalidInput, InvalidText
from .model import Json

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
HASH_PREFIX = "b2:"
"""Names the hash function in every stored hash, so that a later one can live beside it."""

T = TypeVar("T")


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970 in UTC, exactly."""
    return (moment - EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The moment `to_micros` was given."""
    return EPOCH + micros * _MICROSECOND


def to_iso(moment: datetime) -> str:
    """A moment as people and programs read it, in UTC to the microsecond."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def from_iso(text: str, field: str = "time") -> datetime:
    """The moment that an ISO 8601 text names. Without an offset it is taken as UTC."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(field, f"{text!r} is not a date or time") from error


def canonical(value: Json) -> str:
    """The one JSON text for a value: sorted keys, no spaces, no NaN. Equal values give equal texts."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(*parts: str) -> str:
    """A tagged 256-bit hash of texts; where one ends and the next begins is part of what is hashed."""
    state = blake2b(digest_size=32)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return HASH_PREFIX + state.hexdigest()


def encode(value: object, *, complete: bool = False) -> Json:
    """The JSON form of a value of `model`. A `complete` one also spells out fields that have their default value."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return to_iso(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {
            name: encode(held, complete=complete)
            for name, default in _defaults(type(value))
            if (held := getattr(value, name)) != default or default is MISSING or complete
        }
    if isinstance(value, tuple | list):
        return [encode(item, complete=complete) for item in value]
    if isinstance(value, Mapping):
        return {str(key): encode(item, complete=complete) for key, item in value.items()}
    raise TypeError(f"not a value of the model: {type(value).__name__}")


def decode(kind: type[T], data: Json, path: str = "") -> T:
    """The value of class `kind` that `encode` made `data` from. `path` names it in errors."""
    return cast(T, _decoder(cast(Any, kind))(data, path or kind.__name__.lower()))


def conform(kind: type[T], value: object, path: str = "") -> T:
    """A value of class `kind` whose every field is of its type, from one that a caller made by hand.

    Words become the members they name and lists become tuples; anything else that does not fit raises `InvalidInput`.
    """
    return cast(T, _checker(cast(Any, kind))(value, path or kind.__name__.lower()))


_Checker = Callable[[object, str], object]


@cache
def _checker(kind: Any) -> _Checker:
    if is_dataclass(kind):
        return _dataclass_checker(cast(type, kind))
    supertype = getattr(kind, "__supertype__", None)
    if supertype is not None:
        return _checker(supertype)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _optional_checker(_checker(next(each for each in args if each is not type(None))))
    if origin is tuple:
        return _tuple_checker(args)
    if kind is datetime:
        return _check_moment
    decode_plain = _decoder(kind)
    return lambda value, path: decode_plain(cast(Json, value), path)


def _dataclass_checker(kind: type) -> _Checker:
    hints = typing.get_type_hints(kind)
    parts = [(each.name, _checker(hints[each.name])) for each in fields(kind) if not _any_json(hints[each.name])]

    def check_dataclass(value: object, path: str) -> object:
        if not isinstance(value, kind):
            raise InvalidInput(path, f"expected a {kind.__name__}, not {type(value).__name__}")
        changed: dict[str, object] = {}
        for name, check in parts:
            held = getattr(value, name)
            checked = check(held, name)
            if checked is not held:
                changed[name] = checked
        return replace(cast(Any, value), **changed) if changed else value

    return check_dataclass


def _optional_checker(check: _Checker) -> _Checker:
    return lambda value, path: None if value is None else check(value, path)


def _tuple_checker(args: tuple[Any, ...]) -> _Checker:
    endless = len(args) == 2 and args[1] is Ellipsis
    checks = [_checker(each) for each in args if each is not Ellipsis]

    def check_tuple(value: object, path: str) -> object:
        if not isinstance(value, tuple | list):
            raise InvalidInput(path, "expected a list")
        if not endless and len(value) != len(checks):
            raise InvalidInput(path, f"expected {len(checks)} items")
        checked = tuple(checks[0 if endless else n](item, path) for n, item in enumerate(value))
        return value if checked == value else checked

    return check_tuple


def _check_moment(value: object, path: str) -> object:
    if not isinstance(value, datetime):
        raise InvalidInput(path, f"expected a time, not {type(value).__name__}")
    if value.tzinfo is None:
        raise InvalidInput(path, "needs a time zone")
    return value


@cache
def _defaults(kind: type) -> tuple[tuple[str, object], ...]:
    return tuple((each.name, each.default) for each in fields(kind))


_Decoder = Callable[[Json, str], object]


@cache
def _decoder(kind: Any) -> _Decoder:
    """Build the decoder for a type once; the closed set of shapes that `model` uses."""
    if is_dataclass(kind):
        return _dataclass_decoder(cast(type, kind))
    supertype = getattr(kind, "__supertype__", None)
    if supertype is not None:
        return _decoder(supertype)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _union_decoder(args)
    if origin is tuple:
        return _tuple_decoder(args)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _enum_decoder(kind)
    return _SCALARS[kind]


def _dataclass_decoder(kind: type) -> _Decoder:
    hints = typing.get_type_hints(kind)
    parts: dict[str, tuple[Field[object], _Decoder]] = {
        each.name: (each, _plain_json if _any_json(hints[each.name]) else _decoder(hints[each.name]))
        for each in fields(kind)
    }

    def decode_dataclass(data: Json, path: str) -> object:
        if not isinstance(data, Mapping):
            raise InvalidInput(path, "expected an object")
        unknown = [name for name in data if name not in parts]
        if unknown:
            raise InvalidInput(path, f"unknown field {unknown[0]!r}")
        values = {name: parts[name][1](item, f"{path}.{name}") for name, item in data.items()}
        for name, (each, _) in parts.items():
            if name not in values and each.default is MISSING:
                raise InvalidInput(path, f"{name} is missing")
        return kind(**values)

    return decode_dataclass


def _any_json(hint: Any) -> bool:
    """Whether a field holds any JSON; the recursive alias cannot be taken apart like the others."""
    return any(typing.get_origin(each) is Mapping for each in typing.get_args(hint))


def _plain_json(data: Json, path: str) -> object:
    return data


def _union_decoder(args: tuple[Any, ...]) -> _Decoder:
    decoders = [_decoder(each) for each in args if each is not type(None)]
    optional = type(None) in args

    def decode_union(data: Json, path: str) -> object:
        if data is None and optional:
            return None
        problem: InvalidInput | None = None
        for each in decoders:
            try:
                return each(data, path)
            except InvalidInput as error:
                problem = error
        raise problem or InvalidInput(path, "nothing can stand here")

    return decode_union


def _tuple_decoder(args: tuple[Any, ...]) -> _Decoder:
    endless = len(args) == 2 and args[1] is Ellipsis
    decoders = [_decoder(each) for each in args if each is not Ellipsis]

    def decode_tuple(data: Json, path: str) -> object:
        if not isinstance(data, list):
            raise InvalidInput(path, "expected a list")
        if not endless and len(data) != len(decoders):
            raise InvalidInput(path, f"expected {len(decoders)} items")
        return tuple(decoders[0 if endless else n](item, f"{path}[{n}]") for n, item in enumerate(data))

    return decode_tuple


def _enum_decoder(kind: type[StrEnum]) -> _Decoder:
    def decode_enum(data: Json, path: str) -> object:
        if isinstance(data, kind):
            return data
        try:
            return kind(cast(str, data))
        except ValueError as error:
            raise InvalidInput(path, f"{data!r} is not one of {', '.join(kind)}") from error

    return decode_enum


def _text(data: Json, path: str) -> object:
    if not isinstance(data, str):
        raise InvalidText(path, f"expected text, not {type(data).__name__}")
    return data


def _whole(data: Json, path: str) -> object:
    if not isinstance(data, int) or isinstance(data, bool) or abs(data) >= 2**63:
        raise InvalidInput(path, "expected a whole number of at most 63 bits")
    return data


def _number(data: Json, path: str) -> object:
    if not isinstance(data, int | float) or isinstance(data, bool) or abs(data) >= 2**63 or math.isnan(data):
        raise InvalidInput(path, "expected an ordinary number")
    return float(data) + 0.0  # a store keeps no negative zero


def _flag(data: Json, path: str) -> object:
    if not isinstance(data, bool):
        raise InvalidInput(path, "expected true or false")
    return data


def _moment(data: Json, path: str) -> object:
    return from_iso(cast(str, _text(data, path)), path)


_SCALARS: dict[type, _Decoder] = {str: _text, int: _whole, float: _number, bool: _flag, datetime: _moment}
