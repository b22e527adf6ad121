"""
Packing of declared forms into bytes.

`binary` makes the codec of a protocol whose datagrams are a type byte followed by the fields: an unsigned 64-bit integer is
eight bytes, most significant first; a text is one byte of length and its bytes; a list extends to the end of the datagram.
Decoding is total: every byte string gives a message or raises MalformedMessage, in time and memory linear in its length.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.form import U64, Form, ListOf, Plain, Record, Tagged, Text, encode_string, octets

M = TypeVar("M")

Pack = Callable[[Any, bytearray], None]
Unpack = Callable[[bytes, int], tuple[Any, int]]
Size = Callable[[Any], int]


@dataclass(frozen=True)
class Codec(Generic[M]):
    """The conversions of a protocol's messages between values, bytes and plain data."""

    form: Tagged
    encode: Callable[[M], bytes]  #: raises NotEnabled for a message that the format cannot hold
    decode: Callable[[bytes], M]  #: raises MalformedMessage
    declared: Codec[M] | None = None  #: the same without its shortcuts, if it has some

    @property
    def careful(self) -> Codec[M]:
        """The codec without shortcuts, which is the specification."""
        return self.declared or self

    def plain(self, message: M) -> Plain:
        """Returns the message as plain data, as vectors and traces show it."""
        return self.form.plain(message)

    def value(self, plain: Plain) -> M:
        """Returns the message of plain data. Raises MalformedMessage."""
        message: M = self.form.value(plain)
        return message


def binary(form: Tagged) -> Codec[Any]:
    """
    Returns the codec of datagrams that begin with a type byte.

    Raises TypeError for a declaration whose bytes could not be decoded: a list followed by another field, a list of items without
    bytes, a string whose size needs more than a byte, a type that is more than a byte or stands for two messages.
    """
    if not set(form.tags.values()) <= set(range(_BYTE_MAX + 1)) or len(set(form.tags.values())) < len(form.tags):
        raise TypeError(f"each message needs a type byte of its own, not {dict(form.tags)}")
    packs = {record.kind: (form.tags[name], _pack(record)) for name, record in form.cases.items()}
    unpacks = {form.tags[name]: _unpack(record, last=True) for name, record in form.cases.items()}

    def encode(message: Any) -> bytes:
        tag, pack = packs[type(message)]
        out = bytearray((tag,))
        pack(message, out)
        return bytes(out)

    def decode(data: bytes) -> Any:
        if not data:
            raise MalformedMessage("truncated", 0, "an empty datagram has no message type")
        unpack = unpacks.get(data[0])
        if unpack is None:
            raise MalformedMessage("bad_type", 0, f"{data[0]} is no message type; there are {', '.join(map(str, unpacks))}")
        message, end = unpack(data, 1)
        if end != len(data):
            raise MalformedMessage("trailing", end, f"{len(data) - end} bytes follow the message")
        return message

    return Codec(form, encode, decode)


def size(form: Form) -> Size:
    """Returns a function that computes the number of bytes of a value of this form."""
    if isinstance(form, U64):
        return lambda _: 8
    if isinstance(form, Text):
        return lambda value: 1 + (len(value) if value.isascii() else len(octets(value)))
    if isinstance(form, Record):
        texts = [name for name, part in form.forms.items() if isinstance(part, Text)]
        integers = sum(isinstance(part, U64) for part in form.forms.values())
        records = [(name, size(part)) for name, part in form.forms.items() if not isinstance(part, (Text, U64))]
        fixed = len(texts) + _u64.size * integers

        def record_size(value: Any) -> int:
            total = fixed
            for name in texts:  # inlined: this runs for every entry of every message
                string = getattr(value, name)
                total += len(string) if string.isascii() else len(octets(string))
            for name, part in records:
                total += part(getattr(value, name))
            return total

        return record_size
    raise TypeError(f"{form} has no fixed place in a datagram")


_BYTE_MAX: Final = 255

_u64 = struct.Struct(">Q")


def _pack(form: Form) -> Pack:
    if isinstance(form, U64):
        return _pack_u64
    if isinstance(form, Text):
        return _pack_text(form)
    if isinstance(form, ListOf):
        pack_item = _pack(form.form)

        def pack_list(value: Any, out: bytearray) -> None:
            for item in value:
                pack_item(item, out)

        return pack_list
    if isinstance(form, Record):
        parts = [(name, _pack(part)) for name, part in form.forms.items()]

        def pack_record(value: Any, out: bytearray) -> None:
            for name, pack in parts:
                pack(getattr(value, name), out)

        return pack_record
    raise TypeError(f"{form} has no binary packing")


def _pack_u64(value: Any, out: bytearray) -> None:
    try:
        out.extend(_u64.pack(value))
    except struct.error:
        raise NotEnabled("bad_value", f"{value!r} is no unsigned integer of 64 bits") from None


def _pack_text(form: Text) -> Pack:
    def pack_text(value: Any, out: bytearray) -> None:
        raw = encode_string("string", value, form.most)
        out.append(len(raw))
        out.extend(raw)

    return pack_text


def _unpack(form: Form, *, last: bool) -> Unpack:
    if isinstance(form, U64):
        return _unpack_u64
    if isinstance(form, Text) and form.most <= _BYTE_MAX:
        return _unpack_text if form.most == _BYTE_MAX else _unpack_bounded_text(form.most)
    if isinstance(form, ListOf) and last and _takes_bytes(form.form):
        return _unpack_list(_unpack(form.form, last=False))
    if isinstance(form, Record):
        lasts = [last and name == list(form.forms)[-1] for name in form.forms]
        return _unpack_record(form.kind, [_unpack(part, last=at) for part, at in zip(form.forms.values(), lasts, strict=True)])
    raise TypeError(f"{form} could not be read back from bytes")


def _takes_bytes(form: Form) -> bool:
    return not isinstance(form, Record) or any(_takes_bytes(part) for part in form.forms.values())


def _unpack_u64(data: bytes, at: int) -> tuple[Any, int]:
    try:
        return _u64.unpack_from(data, at)[0], at + _u64.size
    except struct.error:
        raise MalformedMessage("truncated", at, f"need {_u64.size} bytes, have {len(data) - at}") from None


def _unpack_text(data: bytes, at: int) -> tuple[Any, int]:
    try:
        start = at + 1
        end = start + data[at]
    except IndexError:
        raise MalformedMessage("truncated", at, "need the size of a string, have nothing") from None
    if end > len(data):
        raise MalformedMessage("truncated", start, f"need {data[at]} bytes, have {len(data) - start}")
    return str(data[start:end], "utf-8", "surrogateescape"), end


def _unpack_bounded_text(most: int) -> Unpack:
    def unpack_text(data: bytes, at: int) -> tuple[Any, int]:
        string, end = _unpack_text(data, at)
        if data[at] > most:
            raise MalformedMessage("bad_length", at, f"a string takes at most {most} bytes here, not {data[at]}")
        return string, end

    return unpack_text


def _unpack_list(unpack_item: Unpack) -> Unpack:
    def unpack_list(data: bytes, at: int) -> tuple[Any, int]:
        items = []
        while at < len(data):
            item, at = unpack_item(data, at)
            items.append(item)
        return tuple(items), at

    return unpack_list


def _unpack_record(kind: type[Any], unpacks: list[Unpack]) -> Unpack:
    # Making a named tuple from all its fields at once costs half of its own constructor.
    make = partial(tuple.__new__, kind) if issubclass(kind, tuple) else lambda fields: kind(*fields)

    def unpack_record(data: bytes, at: int) -> tuple[Any, int]:
        fields = []
        for unpack in unpacks:
            field, at = unpack(data, at)
            fields.append(field)
        return make(fields), at

    return unpack_record
