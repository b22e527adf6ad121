"""Transit over MessagePack written once more, in the plainest way, with each rule where it can be broken."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants

from peerproof.spec import swim
from peerproof.spec.forms.form import octets

wrong = Variants(__name__, Wrong)
ESCAPED = ("~", "^", "`")
MEMBER = ("host", "port", "uuid", "restart_counter", "tx_counter")


class Pairs(list[tuple[Any, Any]]):
    """A map."""


class Keyword(str):
    """A keyword, tag or other text of Transit's own writing."""


def values(message: Any) -> list[Any]:
    """A message as Transit values."""
    plain = swim.MESSAGE.plain(message)
    return [list(_elements(plain)), *(list(_elements(vector)) for vector in plain.get("vectors", ()))]


def _elements(plain: dict[str, Any]) -> Iterator[Any]:
    if plain["type"] != "anti_entropy" or plain["tagged"]:
        yield Keyword(f"~:{plain['type'].replace('_', '-')}")
    for name, value in plain.items():
        match name, value:
            case ("sender" | "target" | "node", str()):
                yield UUID(value)
            case "incarnation", {"restart": restart, "tx": tx}:
                yield int(restart)
                yield int(tx)
            case "members", list():
                yield from (
                    Pairs((Keyword(f"~:{k.replace('_', '-')}"), _of_member(k, member[k])) for k in MEMBER) for member in value
                )
            case "data", dict():
                yield _of_json(value)
            case (("target_tx" | "probe_tx" | "host" | "port"), _):
                yield int(value) if name.endswith("tx") else value


def _of_member(name: str, value: Any) -> Any:
    return UUID(value) if name == "uuid" else int(value) if name.endswith("counter") else value


def _of_json(value: Any) -> Any:
    match value:
        case dict():
            return Pairs((_of_text(key), _of_json(item)) for key, item in value.items())
        case list():
            return [_of_json(item) for item in value]
        case str():
            return _of_text(value)
    return value


def _of_text(text: str) -> Any:
    if text[:2] in ("~i", "~n"):
        return int(text[2:])
    if text[:2] == "~u":
        return UUID(text[2:])
    return text[1:] if text[:2] in ("~~", "~^", "~`") else Keyword(text) if text[:1] == "~" else text


class Writer:
    """Writes values; a mistake is a method replaced."""

    cacheable = 4
    cache_most = 1936

    def __init__(self) -> None:
        self.out = bytearray()
        self.cache: dict[str, int] = {}

    def value(self, value: Any, *, is_key: bool = False) -> None:
        """One value."""
        match value:
            case Keyword():
                self.text(value, cached=is_key or value[:2] in ("~:", "~$", "~#"))
            case str():
                self.text(self.escaped(value), cached=is_key)
            case UUID():
                self.uuid(value, is_key=is_key)
            case bool() | None:
                self.out += {True: b"\xc3", False: b"\xc2", None: b"\xc0"}[value]
            case int():
                self.integer(value)
            case Pairs() if len(value) == 1 and isinstance(value[0][0], Keyword) and value[0][0][:2] == "~#":
                self.value([*value[0]])
            case Pairs():
                self.header(len(value), 0x80, 0xDE)
                for key, item in self.entries(value):
                    self.value(key, is_key=True)
                    self.value(item)
            case list():
                self.header(len(value), 0x90, 0xDC)
                for item in value:
                    self.value(item)
            case _:
                self.out += b"\xcb" + struct.pack(">d", value)

    def entries(self, pairs: Pairs) -> list[tuple[Any, Any]]:
        """The entries of a map in the order in which they are written."""
        return pairs

    def escaped(self, text: str) -> str:
        """A plain string in Transit's writing."""
        return f"~{text}" if text[:1] in ESCAPED and text else text

    def uuid(self, uuid: UUID, *, is_key: bool) -> None:
        """A uuid as an element or as a key."""
        if is_key:
            self.text(f"~u{uuid}", cached=True)
            return
        self.out += b"\x92\xa3~#u\x92"
        for half in (uuid.int >> 64, uuid.int & 2**64 - 1):
            self.half(half)

    def half(self, half: int) -> None:
        """Half a uuid."""
        self.integer(half if half < 2**63 else half - 2**64)

    def integer(self, value: int) -> None:
        """The shortest form that holds it."""
        if 0 <= value < 128 or -32 <= value < 0:
            self.out += struct.pack(">b", value)
            return
        forms = (
            (("B", 0xCC), ("H", 0xCD), ("I", 0xCE), ("Q", 0xCF))
            if value >= 0
            else (("b", 0xD0), ("h", 0xD1), ("i", 0xD2), ("q", 0xD3))
        )
        for form, head in forms:
            try:
                self.out += bytes((head,)) + struct.pack(f">{form}", value)
            except struct.error:
                continue
            return

    def text(self, text: str, *, cached: bool) -> None:
        """A text, or its code."""
        if cached and len(text) >= self.cacheable:
            if text in self.cache:
                text = self.code(self.cache[text])
            else:
                if len(self.cache) == self.cache_most:
                    self.cache.clear()
                self.cache[text] = len(self.cache)
        self.string(octets(text), text)

    def code(self, index: int) -> str:
        """The code of an entry of the cache."""
        return f"^{chr(48 + index)}" if index < 44 else f"^{chr(48 + index // 44)}{chr(48 + index % 44)}"

    def string(self, raw: bytes, text: str) -> None:  # noqa: ARG002  # for those who count letters
        """A string with its header."""
        self.sized(len(raw))
        self.out += raw

    def sized(self, size: int) -> None:
        """The header of a string."""
        if size < 32:
            self.out.append(0xA0 | size)
        else:
            self.out += bytes((0xD9, size)) if size < 256 else b"\xda" + struct.pack(">H", size)

    def header(self, length: int, short: int, long: int) -> None:
        """The header of an array or a map."""
        self.out += bytes((short | length,)) if length < 16 else bytes((long,)) + struct.pack(">H", length)


def written(message: Any, writer: type[Writer]) -> bytes:
    """The bytes of a message."""
    made = writer()
    made.value(values(message))
    return bytes(made.out)


__getattr__ = wrong.find
