"""
The values of entries: all data that MessagePack can carry. [D-37]

A value is stored as its canonical bytes, which can be compared and hashed, differ for 1, 1.0 and true, and are sent unchanged.
Plain data is the same as JSON where JSON has the type; the rest is an object with one member: `{"$bin": "ff"}` are bytes,
`{"$int": "…"}` is an integer that JSON parsers would round, `{"$float": "1.0"}` a float that they would take for an integer or
reject, `{"$ext": [7, "ff"]}` an extension, and `{"$map": [[key, value], …]}` a map whose keys are not all strings, or
begin with a dollar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, Final, NewType

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.forms.messagepack import DEPTH_MAX, S63, U64, Extension, pack, unpack

#: The canonical MessagePack of a value.
Value = NewType("Value", bytes)

#: The value of a deleted entry. [D-59]
NULL: Final = Value(b"\xc0")

#: JSON parsers round integers beyond this.
_EXACT: Final = 2**53

#: An integer of at most 64 bits has no more than twenty digits.
_INTEGER: Final = re.compile(r"-?[0-9]{1,20}")

#: The nesting depth that is left for a value inside the message's map.
_DEPTH: Final = DEPTH_MAX - 1


def value_of(raw: Any) -> Value:
    """Returns the value from the result of `messagepack.read`. Raises MalformedMessage for a duplicate key in a map."""
    try:
        return Value(pack(raw))
    except NotEnabled as error:
        raise MalformedMessage(error.reason, 0, str(error)) from None


def plain_of(value: Value) -> Plain:
    """Returns the plain data of a value."""
    return plain_of_raw(unpack(value))


def plain_of_raw(raw: Any) -> Plain:
    """Returns the plain data from the result of `messagepack.read`."""
    show = _PLAIN.get(type(raw))
    return raw if show is None else show(raw)


def _plain_float(number: float) -> Plain:
    return number if isfinite(number) and not number.is_integer() else {"$float": repr(number)}


def _plain_map(pairs: list[tuple[Any, Any]]) -> Plain:
    if all(type(key) is str and key[:1] != "$" for key, _ in pairs):
        return {key: plain_of_raw(item) for key, item in pairs}
    return {"$map": [[plain_of_raw(key), plain_of_raw(item)] for key, item in pairs]}


#: The plain data of values that JSON does not have, or has in another form.
_PLAIN: Final[Mapping[type[Any], Callable[[Any], Plain]]] = {
    int: lambda number: number if -_EXACT <= number <= _EXACT else {"$int": str(number)},
    float: _plain_float,
    bytes: lambda data: {"$bin": data.hex()},
    Extension: lambda extension: {"$ext": [extension.code, extension.data.hex()]},
    tuple: lambda items: [plain_of_raw(item) for item in items],
    list: _plain_map,
}


def value_of_plain(plain: Plain) -> Value:
    """Returns the value from plain data. Raises NotEnabled for invalid data."""
    return Value(pack(raw_of_plain(plain, 0)))


def raw_of_plain(plain: Plain, depth: int) -> Any:
    """Returns plain data in the types of `messagepack.read`. Raises NotEnabled."""
    if plain is None or isinstance(plain, (bool, int, str)):
        return _within_64_bits(plain) if type(plain) is int else plain
    if isinstance(plain, float):
        return plain
    if depth >= _DEPTH:
        raise NotEnabled("too_large", f"arrays and maps nest deeper than {_DEPTH} in a value")
    if isinstance(plain, list):
        return tuple([raw_of_plain(item, depth + 1) for item in plain])
    if isinstance(plain, Mapping) and all(isinstance(key, str) for key in plain):
        if any(key[:1] == "$" for key in plain):
            return _special(plain, depth)
        return [(key, raw_of_plain(item, depth + 1)) for key, item in plain.items()]
    raise _no_value(plain)


def _special(plain: Mapping[str, Any], depth: int) -> Any:
    match dict(plain):
        case {"$bin": str(digits), **rest} if not rest:
            return _octets(digits)
        case {"$int": str(digits), **rest} if not rest and _INTEGER.fullmatch(digits) is not None:
            return _within_64_bits(int(digits))
        case {"$float": str(digits), **rest} if not rest:
            try:
                return float(digits)
            except ValueError:
                raise _no_value(plain) from None
        case {"$ext": [int(code), str(digits)], **rest} if not rest and -128 <= code < 128:  # noqa: PLR2004  # a signed byte
            return Extension(code, _octets(digits))
        case {"$map": list(pairs), **rest} if not rest and all(isinstance(one, list) and len(one) == 2 for one in pairs):  # noqa: PLR2004
            return [(raw_of_plain(key, depth + 1), raw_of_plain(item, depth + 1)) for key, item in pairs]
    raise _no_value(plain)


def _octets(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise NotEnabled("bad_value", f"{digits!r} is no hex") from None


def _within_64_bits(number: int) -> int:
    if not -S63 <= number < U64:
        raise NotEnabled("bad_value", f"{number} has more than 64 bits")
    return number


def _no_value(plain: Plain) -> NotEnabled:
    return NotEnabled("bad_value", f"{plain!r} shows no value")
