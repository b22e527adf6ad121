"""
Transit over MessagePack, as far as SWIM needs it: values and bytes. [SA-44, SA-61…SA-65]

Read values are what JSON has, with every text in Transit's own writing: `~:normal` is a keyword, `~u1111…` a uuid, `~~a` the
string `~a`; a vector is a list, a map a `Pairs`. The cache is resolved, tagged uuids and lists have become texts and
lists, `~i` has become an integer. What is written takes the same values.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

import msgpack

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.wire import octets

#: Arrays and maps nest so deep at most. [SA-65]
DEPTH_MAX: Final = 64

#: A text of so many characters can be cached; the cache holds so many. [SA-62]
CACHEABLE, CACHE_MAX, CODE_BASE, CODE_FIRST = 4, 1936, 44, 48

UUID_TAG, LIST_TAG, CMAP_TAG = "~#u", "~#list", "~#cmap"

#: What may follow a `~`: escapes, and the ground forms of Transit. [SA-64]
GROUND: Final = frozenset("~^`:$#uinfdzrbtmc?_")

U64: Final = 2**64


class Pairs(list[tuple[Any, Any]]):
    """A map: its entries in the order in which they were written, so that a cache can be followed and written again."""


def unpacked(data: bytes) -> Any:
    """The MessagePack value of a whole datagram, its maps as `Pairs`. Raises MalformedMessage."""
    if not data:
        raise MalformedMessage("truncated", 0, "an empty datagram is no message")
    unpacker = msgpack.Unpacker(
        raw=False, strict_map_key=False, object_pairs_hook=Pairs, ext_hook=_no_extension, max_buffer_size=len(data)
    )
    unpacker.feed(data)
    try:
        value = unpacker.unpack()
    except msgpack.OutOfData:
        raise MalformedMessage("truncated", len(data), "the datagram ends within a value") from None
    except UnicodeDecodeError as error:
        raise MalformedMessage("bad_value", unpacker.tell(), f"a string is not UTF-8: {error.reason}") from None
    except msgpack.StackError:
        raise MalformedMessage("too_large", 0, f"arrays and maps nest deeper than {DEPTH_MAX}") from None
    except (ValueError, msgpack.FormatError, TypeError, OverflowError) as error:
        # A header that promises more than a datagram can hold is refused at once by the library.
        reason = "truncated" if "exceeds max" in str(error) else "bad_type"
        raise MalformedMessage(reason, unpacker.tell(), f"no MessagePack: {error}") from None
    if (end := unpacker.tell()) != len(data):
        raise MalformedMessage("trailing", end, f"{len(data) - end} bytes follow the message")
    return value


def _no_extension(code: int, _: bytes) -> Any:
    raise ValueError(f"extension type {code}")


class Reader:
    """Resolves the Transit values of one datagram, in the order in which they were written."""

    def __init__(self) -> None:
        self._cache: list[str] = []

    def value(self, raw: Any, depth: int = 0) -> Any:
        """One value. Raises MalformedMessage."""
        kind = type(raw)
        if kind is str:
            return self.text(raw) if raw[:1] in _SPECIAL else raw
        if kind is int or raw is None or kind is bool or kind is float:
            return raw
        if depth >= DEPTH_MAX:
            raise MalformedMessage("too_large", 0, f"arrays and maps nest deeper than {DEPTH_MAX}")
        if kind is list:
            return self._array(raw, depth + 1)
        if kind is Pairs:
            return self._map(raw, depth + 1)
        raise MalformedMessage("bad_type", 0, f"a value of type {kind.__name__} is no Transit")

    def text(self, raw: str, *, is_key: bool = False) -> Any:
        """A string, its cache code resolved, its form checked; an integer for `~i` and `~n`."""
        if raw[:1] == "^" and raw != "^ ":
            raw = self._cached(raw)
        elif len(raw) >= CACHEABLE and (is_key or raw[:2] in _CACHED):
            if len(self._cache) == CACHE_MAX:
                self._cache.clear()
            self._cache.append(raw)
        if raw[:1] == "~":
            return _ground(raw)
        if raw[:1] in ("^", "`"):
            raise MalformedMessage("bad_value", 0, f"{raw!r} is a string that should be escaped")
        return raw

    def _cached(self, code: str) -> str:
        digits = [ord(c) - CODE_FIRST for c in code[1:]]
        index = digits[0] if len(digits) == 1 else digits[0] * CODE_BASE + digits[1] if len(digits) == 2 else -1  # noqa: PLR2004
        if not all(0 <= digit < CODE_BASE for digit in digits) or not 0 <= index < len(self._cache):
            raise MalformedMessage("bad_value", 0, f"{code!r} stands for nothing that came before")
        return self._cache[index]

    def _array(self, raw: list[Any], depth: int) -> Any:
        value = self.value
        if len(raw) != 2 or type(raw[0]) is not str:  # noqa: PLR2004  # a tag and what it tags
            return [value(item, depth) for item in raw]
        tag, tagged = raw
        if tag == UUID_TAG:
            return _uuid(tagged)
        tag = value(tag)
        tagged = value(tagged, depth)
        return tagged if tag == LIST_TAG and type(tagged) is list else [tag, tagged]

    def _map(self, raw: Pairs, depth: int) -> Any:
        entries = Pairs()
        for key, value in raw:
            read = self.text(key, is_key=True) if type(key) is str else self.value(key, depth)
            entries.append((read, self.value(value, depth)))
        if len(entries) == 1 and entries[0][0] == UUID_TAG:
            return _uuid(entries[0][1])
        return entries


_SPECIAL: Final = ("~", "^", "`")
_CACHED: Final = ("~:", "~$", "~#")


def _ground(text: str) -> Any:
    form, rest = text[1:2], text[2:]
    if form not in GROUND or not form:
        raise MalformedMessage("bad_value", 0, f"{text!r} is no form of Transit")
    if form in "in":
        digits = rest[1:] if rest[:1] == "-" else rest
        if not (digits.isascii() and digits.isdigit()):
            raise MalformedMessage("bad_value", 0, f"{text!r} is no integer")
        return int(rest) if len(rest) < 20 else text  # noqa: PLR2004  # beyond 64 bits it stays as it is written
    if form == "u":
        try:
            return f"~u{UUID(rest)}"
        except ValueError:
            raise MalformedMessage("bad_value", 0, f"{text!r} is no uuid") from None
    return text


def _uuid(halves: Any) -> str:
    """The text of a uuid, from its two halves, signed or not. [SA-63]"""
    if type(halves) is list and len(halves) == 2:  # noqa: PLR2004
        high, low = halves
        if type(high) is int and type(low) is int and -(U64 // 2) <= high < U64 and -(U64 // 2) <= low < U64:
            digits = f"{(high % U64) << 64 | low % U64:032x}"
            return f"~u{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
    raise MalformedMessage("bad_value", 0, f"{halves!r} are not the two halves of a uuid")


class Writer:
    """Writes values in the canonical form of Transit over MessagePack. [SA-61, SA-62]"""

    def __init__(self) -> None:
        self.out = bytearray()
        self._cache: dict[str, str] = {}

    def value(self, value: Any) -> None:
        """One value, as `Reader` gives it."""
        kind = type(value)
        if kind is str:
            if value[:2] == "~u":
                self.uuid(value[2:])
            else:
                self.text(value)
        elif kind is int:
            self.integer(value)
        elif kind is list:
            self.array(len(value))
            for item in value:
                self.value(item)
        elif kind is Pairs:
            self.map(len(value))
            for key, item in value:
                self.text(key, is_key=True)
                self.value(item)
        else:
            self.out += (
                b"\xc0" if value is None else b"\xcb" + _double.pack(value) if kind is float else b"\xc3" if value else b"\xc2"
            )

    def array(self, length: int) -> None:
        """The header of an array of so many values."""
        self._header(length, 0x90, 15, b"\xdc", b"\xdd")

    def map(self, length: int) -> None:
        """The header of a map of so many entries."""
        self._header(length, 0x80, 15, b"\xde", b"\xdf")

    def text(self, text: str, *, is_key: bool = False) -> None:
        """A string in Transit's own writing, or its code if it is in the cache."""
        if len(text) >= CACHEABLE and (is_key or text[:2] in _CACHED):
            code = self._cache.get(text)
            if code is not None:
                text = code
            else:
                if len(self._cache) == CACHE_MAX:
                    self._cache.clear()
                self._cache[text] = cache_code(len(self._cache))
        self._string(octets(text))

    def uuid(self, uuid: str) -> None:
        """A uuid as an element."""
        raw = bytes.fromhex(uuid.replace("-", ""))
        self.out += b"\x92\xa3~#u\x92"
        for half in (raw[:8], raw[8:]):
            if _LARGE <= half < _NEGATIVE:  # both forms of 64 bits, the common case, are the bytes themselves
                self.out += b"\xcf" + half
            elif _NEGATIVE <= half < _SMALL_NEGATIVE:
                self.out += b"\xd3" + half
            else:
                self.integer(int.from_bytes(half, signed=True))

    def integer(self, value: int) -> None:
        """An integer in its shortest form; one of more than 64 bits as `~n`."""
        for least, most, head, form in _INTEGERS:
            if least <= value <= most:
                self.out += head + form.pack(value)
                return
        self._string(f"~n{value}".encode())

    def mark(self) -> tuple[int, dict[str, str]]:
        """Where the writer stands, for `back_to`."""
        return len(self.out), dict(self._cache)

    def back_to(self, mark: tuple[int, dict[str, str]]) -> None:
        """Forgets what was written since."""
        del self.out[mark[0] :]
        self._cache = mark[1]

    def _string(self, raw: bytes) -> None:
        if len(raw) < 32:  # noqa: PLR2004  # fixstr
            self.out.append(0xA0 | len(raw))
        elif len(raw) < 2**8:
            self.out += bytes((0xD9, len(raw)))
        else:
            self.out += b"\xda" + _u16.pack(len(raw)) if len(raw) < 2**16 else b"\xdb" + _u32.pack(len(raw))
        self.out += raw

    def _header(self, length: int, short: int, most: int, two: bytes, four: bytes) -> None:
        if length <= most:
            self.out.append(short | length)
        else:
            self.out += two + _u16.pack(length) if length < 2**16 else four + _u32.pack(length)


#: Halves of uuids whose shortest integer takes eight bytes: from the first to the second, and from the second to the third.
_LARGE, _NEGATIVE, _SMALL_NEGATIVE = bytes.fromhex("0000000100000000"), b"\x80" + bytes(7), bytes.fromhex("ffffffff80000000")

_u16, _u32, _double = struct.Struct(">H"), struct.Struct(">I"), struct.Struct(">d")

_CONSTANTS: Final = {None: b"\xc0", False: b"\xc2", True: b"\xc3"}

_INTEGERS: Final = tuple(
    (least, most, head, struct.Struct(form))
    for least, most, head, form in (
        (0, 2**7 - 1, b"", ">B"),
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


def cache_code(index: int) -> str:
    """How the cache's entry of an index is written. [SA-62, SZ-08]"""
    if index < CODE_BASE:
        return f"^{chr(CODE_FIRST + index)}"
    return f"^{chr(CODE_FIRST + index // CODE_BASE)}{chr(CODE_FIRST + index % CODE_BASE)}"


def escaped(string: str) -> str:
    """A string in Transit's own writing. [SA-61, SZ-09]"""
    return f"~{string}" if string[:1] in _SPECIAL and string else string


def unescaped(text: str) -> str | None:
    """The string that a text of Transit writes; None if it writes something else."""
    if text[:1] != "~":
        return text
    return text[1:] if text[1:2] in _SPECIAL and len(text) > 1 else None


def verbose(value: Any, fail: Callable[[str], Exception]) -> Any:
    """A read value as plain data, in the verbose JSON form of Transit: maps are objects. Raises what `fail` makes."""
    if type(value) is float and (value != value or value in (_INFINITY, -_INFINITY)):  # noqa: PLR0124  # not a number
        return "~zNaN" if value != value else "~zINF" if value > 0 else "~z-INF"  # noqa: PLR0124
    if type(value) is int and abs(value) >= 2**53:
        return f"~{'i' if -(2**63) <= value < 2**63 else 'n'}{value}"
    if type(value) is list:
        return [verbose(item, fail) for item in value]
    if type(value) is not Pairs:
        return value
    if any(isinstance(key, (list, Pairs)) for key, _ in value):
        return [CMAP_TAG, [verbose(part, fail) for entry in value for part in entry]]
    entries = {_key(key): verbose(item, fail) for key, item in value}
    if len(entries) < len(value):
        raise fail("a key stands twice in a map")
    return entries


_INFINITY: Final = float("inf")


def _key(key: Any) -> str:
    if type(key) is str:
        return key
    shown = (
        "?t"
        if key is True
        else "?f"
        if key is False
        else "_"
        if key is None
        else f"d{key!r}"
        if type(key) is float
        else f"i{key}"
    )
    return f"~{shown}"


def concise(plain: Any, depth: int = 0) -> Any:
    """Plain data in the verbose form of Transit as a value to write. Raises NotEnabled for what is none."""
    if depth > DEPTH_MAX:
        raise NotEnabled("too_large", f"arrays and maps nest deeper than {DEPTH_MAX}")
    if isinstance(plain, str):
        return _checked(plain)
    if isinstance(plain, (bool, float, int)) or plain is None:
        return plain
    if isinstance(plain, list):
        return [concise(item, depth + 1) for item in plain]
    if isinstance(plain, dict) and all(isinstance(key, str) for key in plain):
        return Pairs((str(_checked(key, is_key=True)), concise(item, depth + 1)) for key, item in plain.items())
    raise NotEnabled("bad_value", f"{plain!r} is no JSON")


def _checked(text: str, *, is_key: bool = False) -> Any:
    try:
        read = Reader().text(text)
    except MalformedMessage as error:
        raise NotEnabled("bad_value", error.detail) from None
    return text if is_key or type(read) is not int else read


def canonical_json(plain: Any) -> str:
    """Plain data as text, without blanks, in its own order."""
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
