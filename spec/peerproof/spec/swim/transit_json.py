"""
The verbose JSON form of Transit: payloads as text. [S-23, SA-66]

Each map has exactly one text, the one that a receiver of the map stores. So texts can be compared.
"""

from __future__ import annotations

import json
from json.encoder import encode_basestring
from typing import Any, Final

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.messagepack import S63
from peerproof.spec.swim.transit import DEPTH_MAX, UUID_TAG, Pairs, Reader, is_tagged, tagged, uuid_text

#: The nesting depth of a payload's map, which is inside a vector inside the message. [SA-65]
PAYLOAD_DEPTH: Final = 2

#: JSON parsers round integers from here on. [SA-66]
EXACT: Final = 2**53


def render_json(value: Any, depth: int = PAYLOAD_DEPTH) -> str:
    """
    Returns a value of `transit.Reader` as JSON text.

    Raises MalformedMessage for a duplicate key in a map, and for nesting that is too deep to be encoded. [SA-65, SA-66]
    """
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if kind is int:
        return str(value) if -EXACT < value < EXACT else f'"{_large(value)}"'
    if kind is Pairs:
        return _object(value, depth)
    if kind is list:
        inside = _deeper(depth)
        return f"[{','.join([render_json(item, inside) for item in value])}]"
    if kind is float:
        if abs(value) < EXACT and value.is_integer():
            return str(int(value))
        return json.dumps(value) if abs(value) < _INFINITY else f'"{_no_number(value)}"'
    return "null" if value is None else "true" if value else "false"


_INFINITY: Final = float("inf")


def _deeper(depth: int) -> int:
    if depth >= DEPTH_MAX:
        raise MalformedMessage("too_large", 0, f"arrays and maps nest deeper than {DEPTH_MAX}")
    return depth + 1


def _object(pairs: Pairs, depth: int) -> str:
    inside = _deeper(depth)
    entries = {_key(key): render_json(item, inside) for key, item in pairs}
    if len(entries) < len(pairs):
        raise MalformedMessage("bad_value", 0, "a key stands twice in a map")
    return f"{{{','.join([f'{encode_basestring(key)}:{item}' for key, item in entries.items()])}}}"


def _key(key: Any) -> str:
    """Keys of objects are texts: other scalars take the notation of Transit's ground forms."""
    if type(key) is str:
        return key
    if key is None:
        return "~_"
    if type(key) is bool:
        return "~?t" if key else "~?f"
    if type(key) is float:
        if abs(key) < EXACT and key.is_integer():
            return f"~i{int(key)}"
        return f"~d{key!r}" if abs(key) < _INFINITY else _no_number(key)
    return f"~i{key}" if -S63 <= key < S63 else f"~n{key}"


def _large(value: int) -> str:
    return f"~{'i' if -S63 <= value < S63 else 'n'}{value}"


def _no_number(value: float) -> str:
    return "~zINF" if value == _INFINITY else "~z-INF" if value == -_INFINITY else "~zNaN"


def concise(plain: Any) -> Any:
    """Returns the value of plain data in the verbose form, as a receiver decodes it. Raises NotEnabled."""
    try:
        return _concise(plain, PAYLOAD_DEPTH)
    except MalformedMessage as error:  # a text that is not in Transit's notation
        raise NotEnabled("bad_value", error.detail) from None


def _concise(plain: Any, depth: int) -> Any:
    if isinstance(plain, str):
        return _read(plain)
    if type(plain) is int and abs(plain) >= EXACT:  # an integer would be a string; some JSON writers omit the point of floats
        plain = float(str(plain))  # infinite, where float(plain) would raise
    if isinstance(plain, (bool, int)) or plain is None:
        return plain
    if isinstance(plain, float):
        return plain if abs(plain) < _INFINITY else _no_number(plain)
    if depth >= DEPTH_MAX:
        raise NotEnabled("too_large", f"arrays and maps nest deeper than {DEPTH_MAX - PAYLOAD_DEPTH} in a payload")
    if isinstance(plain, list):
        return _untag_list([_concise(item, depth + 1) for item in plain])
    if isinstance(plain, dict) and all(isinstance(key, str) for key in plain):
        return _untag_map(Pairs((_key(_read(key)), _concise(item, depth + 1)) for key, item in plain.items()))
    raise NotEnabled("bad_value", f"{plain!r} is no JSON")


def _read(text: str) -> Any:
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise NotEnabled("bad_value", f"{text!a} is not the text of any UTF-8")
    return Reader().text(text)


def _untag_list(items: list[Any]) -> Any:
    """An array of a tag and its value is a tagged value."""
    pairs = Pairs([(items[0], items[1])]) if len(items) == 2 else None  # noqa: PLR2004
    return _untag_map(pairs) if pairs and is_tagged(pairs) else items


def _untag_map(pairs: Pairs) -> Any:
    if not is_tagged(pairs):
        return pairs
    tag, value = pairs[0]
    return _uuid(value) if tag == UUID_TAG else tagged(tag, value)


def _uuid(halves: Any) -> str:
    if type(halves) is not list or len(halves) != 2 or any(type(half) is not int for half in halves):  # noqa: PLR2004
        raise NotEnabled("bad_value", f"{halves!r} are not the two halves of a uuid")
    return f"~u{uuid_text(*halves)}"


def canonical(plain: Any) -> str:
    """Returns the text of a map that is plain data in the verbose form. Raises NotEnabled."""
    value = concise(plain)
    if type(value) is not Pairs or is_tagged(value):
        raise NotEnabled("bad_value", f"{plain!r} is no map whose keys are keywords, strings or other scalars")
    try:
        return render_json(value)
    except MalformedMessage as error:
        raise NotEnabled("bad_value", error.detail) from None
