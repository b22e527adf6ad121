"""
Transit over MessagePack, as far as SWIM needs it: values and bytes. [SA-44, SA-61…SA-65]

Read values are what JSON has, with every text in Transit's own writing: `~:normal` is a keyword, `~u1111…` a uuid, `~~a` the
string `~a`; a vector is a list, a map a `Pairs`, and so is a tagged value, with its tag as the only key. The cache is resolved,
tagged uuids and lists have become texts and lists, and texts for null, booleans, integers and floats have become these. What is
written takes the same values. *Raw* values are those of MessagePack: arrays are tuples, maps lists of pairs.

Names of nodes, and of their hosts, come again in every datagram; what becomes of them is remembered, for as many as a cluster
has and no more.
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

#: Arrays and maps nest so deep at most. [SA-65]
DEPTH_MAX: Final = 64

#: A text of so many characters can be cached; the cache holds so many. [SA-62]
CACHEABLE, CACHE_MAX, CODE_BASE, CODE_FIRST = 4, 1936, 44, 48

UUID_TAG, LIST_TAG, CMAP_TAG = "~#u", "~#list", "~#cmap"

#: What may follow a `~`: escapes, and the ground forms of Transit. [SA-64]
GROUND: Final = frozenset("~^`:$#uinfdzrbtmc?_")

#: What is no larger can promise no more than can be borne.
SMALL: Final = 1024

_SPECIAL: Final = ("~", "^", "`")
_CACHED: Final = ("~:", "~$", "~#")
_FLOAT: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)
_CONSTANTS: Final = {"~_": None, "~?t": True, "~?f": False}
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


class Pairs(list[tuple[Any, Any]]):
    """A map: its entries in the order in which they were written, so that a cache can be followed and written again."""


def tagged(tag: str, value: Any) -> Any:
    """A value with its tag; a list is what is in it. [SA-63, SA-66]"""
    return value if tag == LIST_TAG and type(value) is list else Pairs([(tag, value)])


def is_tagged(value: Any) -> bool:
    """Whether this is a value with its tag."""
    return type(value) is Pairs and len(value) == 1 and type(value[0][0]) is str and value[0][0][:2] == "~#"


def cache_code(index: int) -> str:
    """How the cache's entry of an index is written. [SA-62, SZ-08]"""
    if index < CODE_BASE:
        return f"^{chr(CODE_FIRST + index)}"
    return f"^{chr(CODE_FIRST + index // CODE_BASE)}{chr(CODE_FIRST + index % CODE_BASE)}"


CODES: Final = tuple(map(cache_code, range(CACHE_MAX)))


def unpack(data: bytes) -> Any:
    """The raw value of a whole datagram. Raises MalformedMessage."""
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
        # A header that promises more than there is of the datagram is refused at once by the library.
        short = "incomplete" in str(error) or "exceeds max" in str(error)
        if short:
            raise MalformedMessage("truncated", len(data), "the datagram ends within a value") from None
        raise MalformedMessage("bad_type", 0, f"no MessagePack: {error}") from None


def _look_through(data: bytes) -> None:
    """
    Makes sure that all is there that headers promise, before there is room made for it.

    A datagram of 64 kB can hold a thousand arrays within each other that each promise 64,000 elements.
    """
    unpacker = msgpack.Unpacker(max_buffer_size=len(data))
    unpacker.feed(data)
    unpacker.skip()


def _no_extension(code: int, _: bytes) -> Any:
    raise ValueError(f"extension type {code}")


class Reader:
    """Resolves the raw values of one datagram, which must be read in the order in which they were written."""

    def __init__(self) -> None:
        self._codes: dict[str, Any] = {}

    def value(self, raw: Any, depth: int = 0) -> Any:
        """One value. Raises MalformedMessage."""
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
        """The key of an entry of a map."""
        if type(raw) is not str:
            return self.value(raw, depth)
        return self.keyword(raw) if raw[:2] == "~:" else self._codes.get(raw) or self.text(raw, is_key=True)

    def keyword(self, raw: str) -> Any:
        """A string where a keyword is expected, which it need not be."""
        if raw[:2] != "~:" or len(raw) < CACHEABLE:
            return self._codes.get(raw) or self.text(raw)
        self.remember(raw)
        return raw

    def text(self, raw: str, *, is_key: bool = False) -> Any:
        """A string, its cache code resolved, its form checked; or the null, boolean, integer or float that it writes."""
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
        """Puts what a string stands for that can be cached into the cache. [SA-62]"""
        codes = self._codes
        if len(codes) == CACHE_MAX:
            codes.clear()
        codes[CODES[len(codes)]] = value

    def uuid(self, raw: Any) -> str:
        """A uuid, in any of its forms, as text. [SA-63]"""
        if type(raw) is tuple and len(raw) == 2 and raw[0] == UUID_TAG:  # noqa: PLR2004  # a tag and what it tags
            return _uuid(raw[1])
        value = self.value(raw, DEPTH_MAX - 1)  # of its forms only one nests at all
        if type(value) is str and value[:2] == "~u":
            return value[2:]
        raise MalformedMessage("bad_value", 0, f"{brief(value)} is no uuid")

    def _array(self, raw: tuple[Any, ...], depth: int) -> Any:
        value = self.value
        if len(raw) != 2 or type(raw[0]) is not str:  # noqa: PLR2004  # a tag and what it tags
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
        return number if -S63 <= number < U64 else text  # beyond 64 bits it stays as it is written
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
    """The text of a uuid, from its two halves, signed or not. [SA-63]"""
    if type(halves) is tuple and len(halves) == 2:  # noqa: PLR2004
        high, low = halves
        if type(high) is int and type(low) is int:  # and neither float nor bool, which would be equal to some integers
            return uuid_text(high, low)
    raise MalformedMessage("bad_value", 0, f"{brief(halves)} are not the two halves of a uuid")


@lru_cache(REMEMBERED)
def uuid_text(high: int, low: int) -> str:
    """A uuid in its canonical text, from its two halves. Raises MalformedMessage. [SZ-08]"""
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
        """One value, as `Reader` gives it."""
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
        """The header of an array of so many values."""
        self.out += array_header(length)

    def map(self, length: int) -> None:
        """The header of a map of so many entries."""
        self.out += map_header(length)

    def text(self, text: str, *, is_key: bool = False) -> None:
        """A string in Transit's own writing, or its code if it is in the cache."""
        if len(text) >= CACHEABLE and (is_key or text[:2] in _CACHED):
            self.write_cacheable(text)
        else:
            self.out += string_bytes(text)

    def write_cacheable(self, text: str) -> None:
        """A string that can be cached."""
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
        """Where the writer stands, for `back_to`."""
        return len(self.out), dict(self._cache)

    def back_to(self, mark: tuple[int, dict[str, bytes]]) -> None:
        """Forgets what was written since."""
        del self.out[mark[0] :]
        self._cache = mark[1]


@lru_cache(REMEMBERED)
def uuid_bytes(uuid: str) -> bytes:
    """A uuid as an element: both halves as signed integers, with their tag."""
    raw = bytes.fromhex(uuid.replace("-", ""))
    return b"\x92\xa3~#u\x92" + b"".join(integer_bytes(int.from_bytes(half, signed=True)) for half in (raw[:8], raw[8:]))


CODE_BYTES: Final = tuple(map(string_bytes, CODES))


def escape(string: str) -> str:
    """A string in Transit's own writing. [SA-61, SZ-09]"""
    return f"~{string}" if string[:1] in _SPECIAL and string else string


def unescape(text: str) -> str | None:
    """The string that a text of Transit writes; None if it writes something else."""
    if text[:1] != "~":
        return text
    return text[1:] if text[1:2] in _SPECIAL and len(text) > 1 else None
