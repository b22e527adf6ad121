"""
The part of Transit over MessagePack that SWIM needs: values and bytes. [SA-44, SA-61…SA-65]

Decoded values are those of JSON, with all texts in Transit's notation: `~:normal` is a keyword, `~u1111…` a uuid, `~~a` the
string `~a`; a vector is a list, a map a `Pairs`, and so is a tagged value, with its tag as the only key. Cache codes are
resolved; tagged uuids and lists are texts and lists; texts of null, booleans, integers and floats are these values. Encoding
takes the same values. *Raw* values are those of MessagePack: arrays are tuples, maps lists of pairs.

Names of nodes and hosts occur in every datagram; their results are cached, up to the number of nodes in a cluster.
"""

from __future__ import annotations

import re
from functools import lru_cache
from reprlib import repr as brief
from typing import Any, Final

import msgpack

from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.messagepack import (
    REMEMBERED,
    S63,
    U64,
    array_header,
    float_bytes,
    integer_bytes,
    map_header,
    string_bytes,
)

#: The maximum nesting depth of arrays and maps. [SA-65]
DEPTH_MAX: Final = 64

#: The minimum length of a cacheable text, in characters, and the size of the cache. [SA-62]
CACHEABLE, CACHE_MAX, CODE_BASE, CODE_FIRST = 4, 1936, 44, 48

UUID_TAG, LIST_TAG, CMAP_TAG = "~#u", "~#list", "~#cmap"

#: The characters after a `~`: escapes, and the ground forms of Transit. [SA-64]
GROUND: Final = frozenset("~^`:$#uinfdzrbtmc?_")

#: Data of at most this size is decoded without `_look_through`: its headers cannot promise too much.
SMALL: Final = 1024

_SPECIAL: Final = ("~", "^", "`")
_CACHED: Final = ("~:", "~$", "~#")
_FLOAT: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)
_CONSTANTS: Final = {"~_": None, "~?t": True, "~?f": False}
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


class Pairs(list[tuple[Any, Any]]):
    """A map: its entries in their written order, which the cache depends on."""


def tagged(tag: str, value: Any) -> Any:
    """Returns a value with its tag; for a list, its content. [SA-63, SA-66]"""
    return value if tag == LIST_TAG and type(value) is list else Pairs([(tag, value)])


def is_tagged(value: Any) -> bool:
    """Whether this is a tagged value."""
    return type(value) is Pairs and len(value) == 1 and type(value[0][0]) is str and value[0][0][:2] == "~#"


def cache_code(index: int) -> str:
    """Returns the code of the cache entry with this index. [SA-62, SZ-08]"""
    if index < CODE_BASE:
        return f"^{chr(CODE_FIRST + index)}"
    return f"^{chr(CODE_FIRST + index // CODE_BASE)}{chr(CODE_FIRST + index % CODE_BASE)}"


CODES: Final = tuple(map(cache_code, range(CACHE_MAX)))


def unpack(data: bytes) -> Any:
    """Decodes a whole datagram to its raw value. Raises MalformedMessage."""
    if not data:
        raise MalformedMessage("truncated", 0, "an empty datagram is no message")
    try:
        if len(data) > SMALL:
            _look_through(data)
        return msgpack.unpackb(
            data, use_list=False, strict_map_key=False, object_pairs_hook=list, ext_hook=_no_extension, raw=False
        )
    except msgpack.ExtraData as error:
        raise MalformedMessage("trailing", len(data) - len(error.extra), f"{len(error.extra)} bytes follow the message") from None
    except UnicodeDecodeError as error:
        raise MalformedMessage("bad_value", 0, f"a string is not UTF-8: {error.reason}") from None
    except msgpack.OutOfData:
        raise MalformedMessage("truncated", len(data), "the datagram ends within a value") from None
    except msgpack.StackError:
        raise MalformedMessage("too_large", 0, f"arrays and maps nest deeper than {DEPTH_MAX}") from None
    except (ValueError, TypeError, OverflowError) as error:  # msgpack.FormatError is a ValueError
        # The library refuses at once a header that promises more than the whole datagram.
        short = "incomplete" in str(error) or "exceeds max" in str(error)
        if short:
            raise MalformedMessage("truncated", len(data), "the datagram ends within a value") from None
        raise MalformedMessage("bad_type", 0, f"no MessagePack: {error}") from None


def _look_through(data: bytes) -> None:
    """
    Checks that all promised elements are present, before memory is allocated for them.

    A datagram of 64 kB can hold a thousand nested arrays that each promise 64,000 elements.
    """
    unpacker = msgpack.Unpacker(max_buffer_size=len(data))
    unpacker.feed(data)
    unpacker.skip()


def _no_extension(code: int, _: bytes) -> Any:
    raise ValueError(f"extension type {code}")


class Reader:
    """Resolves the raw values of one datagram, which must be read in their written order."""

    def __init__(self) -> None:
        self._codes: dict[str, Any] = {}

    def value(self, raw: Any, depth: int = 0) -> Any:
        """Resolves one value. Raises MalformedMessage."""
        kind = type(raw)
        if kind is str:
            return self.text(raw) if raw[:1] in _SPECIAL else raw
        if kind is int or raw is None or kind is bool or kind is float:
            return raw
        if depth >= DEPTH_MAX:
            raise MalformedMessage("too_large", 0, f"arrays and maps nest deeper than {DEPTH_MAX}")
        if kind is tuple:
            return self._array(raw, depth + 1)
        if kind is list:
            return self._map(raw, depth + 1)
        raise MalformedMessage("bad_type", 0, f"a value of type {kind.__name__} is no Transit")

    def key(self, raw: Any, depth: int) -> Any:
        """Resolves the key of a map's entry."""
        if type(raw) is not str:
            return self.value(raw, depth)
        return self.keyword(raw) if raw[:2] == "~:" else self._codes.get(raw) or self.text(raw, is_key=True)

    def keyword(self, raw: str) -> Any:
        """Resolves a string at the position of a keyword, which it need not be."""
        if raw[:2] != "~:" or len(raw) < CACHEABLE:
            return self._codes.get(raw) or self.text(raw)
        self.remember(raw)
        return raw

    def text(self, raw: str, *, is_key: bool = False) -> Any:
        """Resolves and checks a string; returns the text, or the null, boolean, integer or float that it denotes."""
        first = raw[:1]
        if first == "^":
            found = self._codes.get(raw)
            if found is None:
                raise MalformedMessage("bad_value", 0, f"{raw!r} stands for nothing that came before")
            return found
        if first == "`":
            raise MalformedMessage("bad_value", 0, f"{raw!r} is a string that should be escaped")
        value = _ground(raw) if first == "~" and raw[1:2] != ":" else raw
        if len(raw) >= CACHEABLE and (is_key or raw[:2] in _CACHED):
            self.remember(value)
        return value

    def remember(self, value: Any) -> None:
        """Adds the value of a cacheable string to the cache. [SA-62]"""
        codes = self._codes
        if len(codes) == CACHE_MAX:
            codes.clear()
        codes[CODES[len(codes)]] = value

    def uuid(self, raw: Any) -> str:
        """Returns a uuid, in any of its forms, as text. [SA-63]"""
        if type(raw) is tuple and len(raw) == 2 and raw[0] == UUID_TAG:  # noqa: PLR2004  # a tag and its value
            return _uuid(raw[1])
        value = self.value(raw, DEPTH_MAX - 1)  # only one of its forms has nested values
        if type(value) is str and value[:2] == "~u":
            return value[2:]
        raise MalformedMessage("bad_value", 0, f"{brief(value)} is no uuid")

    def _array(self, raw: tuple[Any, ...], depth: int) -> Any:
        value = self.value
        if len(raw) != 2 or type(raw[0]) is not str:  # noqa: PLR2004  # a tag and its value
            return [value(item, depth) for item in raw]
        tag, item = raw
        if tag == UUID_TAG:
            return f"~u{_uuid(item)}"
        tag, item = value(tag), value(item, depth)
        return tagged(tag, item) if type(tag) is str and tag[:2] == "~#" else [tag, item]

    def _map(self, raw: list[tuple[Any, Any]], depth: int) -> Any:
        if len(raw) == 1 and raw[0][0] == UUID_TAG:
            return f"~u{_uuid(raw[0][1])}"
        pairs = Pairs([(self.key(key, depth), self.value(value, depth)) for key, value in raw])
        if any(isinstance(key, list) for key, _ in pairs):
            return tagged(CMAP_TAG, [part for pair in pairs for part in pair])
        return tagged(*pairs[0]) if is_tagged(pairs) else pairs


def _ground(text: str) -> Any:
    form, rest = text[1:2], text[2:]
    if form not in GROUND or not form:
        raise MalformedMessage("bad_value", 0, f"{text!r} is no form of Transit")
    if form in "in":
        digits = rest[1:] if rest[:1] == "-" else rest
        if not (digits.isascii() and digits.isdigit()):
            raise MalformedMessage("bad_value", 0, f"{text!r} is no integer")
        number = int(rest) if len(digits) <= len(str(U64)) else U64
        return number if -S63 <= number < U64 else text  # beyond 64 bits it stays a text
    if form in "_?":
        if text not in _CONSTANTS:
            raise MalformedMessage("bad_value", 0, f"{text!r} is neither null nor a boolean")
        return _CONSTANTS[text]
    if form == "d":
        if _FLOAT.fullmatch(rest) is None:
            raise MalformedMessage("bad_value", 0, f"{text!r} is no float")
        return float(rest)
    if form == "u":
        if _UUID.fullmatch(rest) is None:
            raise MalformedMessage("bad_value", 0, f"{text!r} is no uuid")
        return text.lower()
    return text


def _uuid(halves: Any) -> str:
    """Returns the text of a uuid from its two halves, signed or not. [SA-63]"""
    if type(halves) is tuple and len(halves) == 2:  # noqa: PLR2004
        high, low = halves
        if type(high) is int and type(low) is int:  # a float or bool could be equal to an integer
            return uuid_text(high, low)
    raise MalformedMessage("bad_value", 0, f"{brief(halves)} are not the two halves of a uuid")


@lru_cache(REMEMBERED)
def uuid_text(high: int, low: int) -> str:
    """Returns the canonical text of a uuid from its two halves. Raises MalformedMessage. [SZ-08]"""
    if not (-S63 <= high < U64 and -S63 <= low < U64):
        raise MalformedMessage("bad_value", 0, f"{(high, low)!r} are not the two halves of a uuid")
    digits = f"{(high % U64) << 64 | low % U64:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def is_uuid(text: str) -> bool:
    """Whether this is a uuid as text, in small or capital letters."""
    return _UUID.fullmatch(text) is not None


class Writer:
    """Writes values in the canonical form of Transit over MessagePack. [SA-61, SA-62]"""

    def __init__(self) -> None:
        self.out = bytearray()
        self._cache: dict[str, bytes] = {}

    def value(self, value: Any) -> None:
        """Writes one value, as `Reader` returns it."""
        kind = type(value)
        if kind is str:
            if value[:2] == "~u":
                self.out += uuid_bytes(value[2:])
            else:
                self.text(value)
        elif kind is int:
            self.out += integer_bytes(value) if -S63 <= value < U64 else string_bytes(f"~n{value}")
        elif kind is list:
            self.array(len(value))
            for item in value:
                self.value(item)
        elif is_tagged(value):
            self.array(2)
            self.text(value[0][0])
            self.value(value[0][1])
        elif kind is Pairs:
            self.map(len(value))
            for key, item in value:
                self.text(key, is_key=True)
                self.value(item)
        elif kind is float:
            self.out += float_bytes(value)
        else:
            self.out += b"\xc0" if value is None else b"\xc3" if value else b"\xc2"

    def array(self, length: int) -> None:
        """Writes the header of an array of this length."""
        self.out += array_header(length)

    def map(self, length: int) -> None:
        """Writes the header of a map with this number of entries."""
        self.out += map_header(length)

    def text(self, text: str, *, is_key: bool = False) -> None:
        """Writes a string in Transit's notation, or its code if it is in the cache."""
        if len(text) >= CACHEABLE and (is_key or text[:2] in _CACHED):
            self.write_cacheable(text)
        else:
            self.out += string_bytes(text)

    def write_cacheable(self, text: str) -> None:
        """Writes a cacheable string."""
        cache = self._cache
        code = cache.get(text)
        if code is not None:
            self.out += code
            return
        if len(cache) == CACHE_MAX:
            cache.clear()
        cache[text] = CODE_BYTES[len(cache)]
        self.out += string_bytes(text)

    def mark(self) -> tuple[int, dict[str, bytes]]:
        """Returns the writer's position, for `back_to`."""
        return len(self.out), dict(self._cache)

    def back_to(self, mark: tuple[int, dict[str, bytes]]) -> None:
        """Discards everything written since the mark."""
        del self.out[mark[0] :]
        self._cache = mark[1]


@lru_cache(REMEMBERED)
def uuid_bytes(uuid: str) -> bytes:
    """Returns a uuid as an element: a tag with both halves as signed integers."""
    raw = bytes.fromhex(uuid.replace("-", ""))
    return b"\x92\xa3~#u\x92" + b"".join(integer_bytes(int.from_bytes(half, signed=True)) for half in (raw[:8], raw[8:]))


CODE_BYTES: Final = tuple(map(string_bytes, CODES))


def escape(string: str) -> str:
    """Returns a string in Transit's notation. [SA-61, SZ-09]"""
    return f"~{string}" if string[:1] in _SPECIAL and string else string


def unescape(text: str) -> str | None:
    """Returns the string that a text in Transit's notation denotes; None if it denotes another type."""
    if text[:1] != "~":
        return text
    return text[1:] if text[1:2] in _SPECIAL and len(text) > 1 else None
