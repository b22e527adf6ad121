"""
The part of MessagePack that the protocols here need: one value at a time, each written in its shortest form.

Decoded values are None, bools, integers, floats, strings, bytes, tuples for arrays, lists of pairs for maps (in the order in
which they were written, so that a duplicate key is visible), and `Extension`. Decoding is total: all bytes give a value or
MalformedMessage, in time linear in the actual number of bytes, whatever lengths the headers state.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

from peerproof.spec.errors import MalformedMessage, NotEnabled

#: The maximum nesting depth of arrays and maps.
DEPTH_MAX: Final = 64

S63, U64 = 2**63, 2**64

#: Cache size for the bytes of strings: the number of strings, and their maximum length in characters.
REMEMBERED: Final = 4096
SHORT: Final = 64


class Extension(NamedTuple):
    """A value of a MessagePack extension type, which applications define."""

    code: int
    data: bytes


def unpack(data: bytes) -> Any:
    """Decodes bytes that are exactly one value. Raises MalformedMessage."""
    value, end = read(data, 0)
    if end != len(data):
        raise MalformedMessage("trailing", end, f"{len(data) - end} bytes follow the value")
    return value


def read(data: bytes, at: int) -> tuple[Any, int]:
    """Decodes the value at this offset; returns it and the offset of its end. Raises MalformedMessage."""
    try:
        value, end = _read(data, at, 0)
    except (IndexError, struct.error):
        end = len(data) + 1
    except UnicodeDecodeError as error:
        raise MalformedMessage("bad_value", at, f"a string is not UTF-8: {error.reason}") from None
    if end > len(data):
        raise MalformedMessage("truncated", len(data), "the bytes end within a value")
    return value, end


def _read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    """As `read`; missing bytes cause IndexError, struct.error, or an end beyond the last byte."""
    head = data[at]
    at += 1
    if head < 0x80:  # noqa: PLR2004  # the ranges of MessagePack's first byte, as its specification lists them
        return head, at
    if 0xA0 <= head < 0xC0:  # noqa: PLR2004
        end = at + head - 0xA0
        return data[at:end].decode() if end <= len(data) else "", end
    if head < 0x90:  # noqa: PLR2004
        return _map(data, at, head - 0x80, depth)
    if head < 0xA0:  # noqa: PLR2004
        return _array(data, at, head - 0x90, depth)
    if head >= 0xE0:  # noqa: PLR2004
        return head - 0x100, at
    found = _READ.get(head)
    if found is None:
        raise MalformedMessage("bad_type", at - 1, "no value of MessagePack begins with c1")
    return found(data, at, depth)


def _array(data: bytes, at: int, length: int, depth: int) -> tuple[Any, int]:
    if depth >= DEPTH_MAX:
        raise _too_deep(at)
    depth += 1
    items = []
    for _ in range(length):
        item: Any = data[at]
        if item < 0x80:  # noqa: PLR2004  # the most frequent items, without a call for each
            at += 1
        else:
            item, at = _read(data, at, depth)
        items.append(item)
    return tuple(items), at


def _map(data: bytes, at: int, length: int, depth: int) -> tuple[Any, int]:
    if depth >= DEPTH_MAX:
        raise _too_deep(at)
    depth += 1
    pairs = []
    for _ in range(length):
        key, at = _read(data, at, depth)
        value: Any = data[at]
        if value < 0x80:  # noqa: PLR2004
            at += 1
        else:
            value, at = _read(data, at, depth)
        pairs.append((key, value))
    return pairs, at


def _too_deep(at: int) -> MalformedMessage:
    return MalformedMessage("too_large", at - 1, f"arrays and maps nest deeper than {DEPTH_MAX}")


_Read = Callable[[bytes, int, int], tuple[Any, int]]


def _constant(value: bool | None) -> _Read:
    return lambda _data, at, _depth: (value, at)


def _number(form: str) -> _Read:
    layout = struct.Struct(form)
    return lambda data, at, _depth: (layout.unpack_from(data, at)[0], at + layout.size)


def _string(data: bytes, at: int, size: int) -> tuple[Any, int]:
    end = at + size
    return data[at:end].decode() if end <= len(data) else "", end


def _bytes(data: bytes, at: int, size: int) -> tuple[Any, int]:
    return data[at : at + size], at + size


def _extension(data: bytes, at: int, size: int) -> tuple[Any, int]:
    (code,) = _i8.unpack_from(data, at)
    return Extension(code, data[at + 1 : at + 1 + size]), at + 1 + size


def _length_reader(form: str, read_rest: Callable[[bytes, int, int], tuple[Any, int]]) -> _Read:
    layout = struct.Struct(form)
    return lambda data, at, _depth: read_rest(data, at + layout.size, layout.unpack_from(data, at)[0])


def _count_reader(form: str, read_rest: Callable[[bytes, int, int, int], tuple[Any, int]]) -> _Read:
    layout = struct.Struct(form)
    return lambda data, at, depth: read_rest(data, at + layout.size, layout.unpack_from(data, at)[0], depth)


def _fixext_reader(size: int) -> _Read:
    return lambda data, at, _depth: _extension(data, at, size)


_i8 = struct.Struct(">b")
_u8, _u16, _u32, _double = (struct.Struct(form) for form in (">B", ">H", ">I", ">d"))

#: First byte -> reader of the rest; `_read` handles the other first bytes. c1 is never used.
_READ: Final[Mapping[int, _Read]] = {
    0xC0: _constant(None),
    0xC2: _constant(value=False),
    0xC3: _constant(value=True),
    **{0xC4 + place: _length_reader(form, _bytes) for place, form in enumerate((">B", ">H", ">I"))},
    **{0xC7 + place: _length_reader(form, _extension) for place, form in enumerate((">B", ">H", ">I"))},
    **{0xCA + place: _number(form) for place, form in enumerate((">f", ">d", ">B", ">H", ">I", ">Q", ">b", ">h", ">i", ">q"))},
    **{0xD4 + place: _fixext_reader(2**place) for place in range(5)},
    **{0xD9 + place: _length_reader(form, _string) for place, form in enumerate((">B", ">H", ">I"))},
    **{0xDC + place: _count_reader(form, _array) for place, form in enumerate((">H", ">I"))},
    **{0xDE + place: _count_reader(form, _map) for place, form in enumerate((">H", ">I"))},
}


def array_header(length: int) -> bytes:
    """Returns the header of an array of `length` items."""
    return bytes((0x90 | length,)) if length < 16 else _wide(0xDC, length, _u16, _u32)  # noqa: PLR2004  # fixarray


def map_header(length: int) -> bytes:
    """Returns the header of a map of `length` entries."""
    return bytes((0x80 | length,)) if length < 16 else _wide(0xDE, length, _u16, _u32)  # noqa: PLR2004  # fixmap


def string_header(size: int) -> bytes:
    """Returns the header of a string of `size` bytes."""
    return bytes((0xA0 | size,)) if size < 32 else _wide(0xD9, size, _u8, _u16, _u32)  # noqa: PLR2004  # fixstr


def older_string(data: bytes) -> bytes:
    """Encodes bytes as a string of the old MessagePack, which had no bytes type; some programs decode nothing else."""
    return (bytes((0xA0 | len(data),)) if len(data) < 32 else _wide(0xDA, len(data), _u16, _u32)) + data  # noqa: PLR2004


def _wide(first: int, length: int, *layouts: struct.Struct) -> bytes:
    """Returns the header with the narrowest of these layouts that holds the length; their first bytes are consecutive."""
    for place, layout in enumerate(layouts):
        if length < 1 << 8 * layout.size:
            return bytes((first + place,)) + layout.pack(length)
    raise NotEnabled("too_large", f"MessagePack counts to 2^32-1, not to {length}")


def string_bytes(text: str) -> bytes:
    """Returns a string with its header. Raises NotEnabled for a string that is not valid Unicode."""
    return _short_string_bytes(text) if len(text) <= SHORT else _string_bytes(text)


def _string_bytes(text: str) -> bytes:
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise NotEnabled("bad_value", f"{text!a} is not the text of any UTF-8") from None
    return string_header(len(raw)) + raw


_short_string_bytes = lru_cache(REMEMBERED)(_string_bytes)


def integer_bytes(value: int) -> bytes:
    """Returns an integer in its shortest form. Raises NotEnabled for one of more than 64 bits."""
    if 0 <= value < len(_SMALL):
        return _SMALL[value]
    for least, most, head, form in _INTEGERS:
        if least <= value <= most:
            return head + form.pack(value)
    raise NotEnabled("too_large", f"{value} has more than 64 bits")


_SMALL: Final = tuple(bytes((value,)) for value in range(2**7))

_INTEGERS: Final = tuple(
    (least, most, head, struct.Struct(form))
    for least, most, head, form in (
        (2**7, 2**8 - 1, b"\xcc", ">B"),
        (2**8, 2**16 - 1, b"\xcd", ">H"),
        (2**16, 2**32 - 1, b"\xce", ">I"),
        (2**32, 2**64 - 1, b"\xcf", ">Q"),
        (-(2**5), -1, b"", ">b"),
        (-(2**7), -(2**5) - 1, b"\xd0", ">b"),
        (-(2**15), -(2**7) - 1, b"\xd1", ">h"),
        (-(2**31), -(2**15) - 1, b"\xd2", ">i"),
        (-(2**63), -(2**31) - 1, b"\xd3", ">q"),
    )
)


def float_bytes(value: float) -> bytes:
    """Returns a float in 64 bits; all NaNs have the same bytes."""
    return b"\xcb" + _double.pack(value if value == value else _NAN)  # noqa: PLR0124  # only a NaN differs from itself


_NAN: Final = float("nan")


def pack(value: Any) -> bytes:
    """
    Encodes a value of the types that `read` returns: equal values have equal bytes, different ones different bytes.

    Keys of maps are in the order of their bytes. Raises NotEnabled for a duplicate key, for nesting that is too deep for `read`,
    and for any other type.
    """
    return _pack(value, 0)


def _pack(value: Any, depth: int) -> bytes:
    write = _WRITE.get(type(value))
    if write is not None:
        return write(value)
    if depth >= DEPTH_MAX:
        raise NotEnabled("too_large", f"arrays and maps nest deeper than {DEPTH_MAX}")
    if type(value) is tuple:
        return b"".join([array_header(len(value)), *[_pack(item, depth + 1) for item in value]])
    if type(value) is not list:
        raise NotEnabled("bad_type", f"MessagePack has nothing for {value!r}")
    entries = sorted([(_pack(key, depth + 1), _pack(item, depth + 1)) for key, item in value], key=_first)
    if any(one[0] == other[0] for one, other in pairwise(entries)):
        raise NotEnabled("bad_value", "a key stands twice in a map")
    return b"".join([map_header(len(entries)), *[part for entry in entries for part in entry]])


def _first(entry: tuple[bytes, bytes]) -> bytes:
    return entry[0]


def _bytes_bytes(value: bytes) -> bytes:
    return _wide(0xC4, len(value), _u8, _u16, _u32) + value


def _extension_bytes(value: Extension) -> bytes:
    size = len(value.data)
    power = size.bit_length() - 1
    header = bytes((0xD4 + power,)) if size in (1, 2, 4, 8, 16) else _wide(0xC7, size, _u8, _u16, _u32)
    return header + _i8.pack(value.code) + value.data


#: Encoders of values that contain no others.
_WRITE: Final[Mapping[type[Any], Callable[[Any], bytes]]] = {
    str: string_bytes,
    int: integer_bytes,
    float: float_bytes,
    bytes: _bytes_bytes,
    Extension: _extension_bytes,
    type(None): lambda _: b"\xc0",
    bool: lambda value: b"\xc3" if value else b"\xc2",
}
