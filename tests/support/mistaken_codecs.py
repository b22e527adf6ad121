"""Codecs of Scuttlebutt that are wrong on purpose: for who looks for mistakes of the specification's own decoders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from peerproof.spec import scuttlebutt
from peerproof.spec.forms.packing import Codec

RIGHT: Final = scuttlebutt.MESSAGE


def _with(decode: Callable[[bytes], Any]) -> Codec[Any]:
    return replace(RIGHT, decode=decode)


def _reading_past_the_end(data: bytes) -> Any:
    if data[:1] == b"\x03" and len(data) > 1 and data[1] == 0:
        _ = data[2]  # the key's size, which nobody has seen to be there
    return RIGHT.decode(data)


def _behind_a_letter(data: bytes) -> Any:
    message = RIGHT.decode(data)
    for entry in message.entries:
        if entry.addr[:1] == "~":
            raise KeyError(entry.addr)
    return message


def _losing_a_bit(data: bytes) -> Any:
    message: Any = RIGHT.decode(data)
    return replace(message, entries=tuple(entry._replace(version=entry.version & ~(1 << 60)) for entry in message.entries))


def _again_for_each_byte(data: bytes) -> Any:
    for start in range(len(data)):
        for _ in range(start):
            pass
    return RIGHT.decode(data)


def _for_ever(data: bytes) -> Any:
    while len(data) > 1:
        pass
    return RIGHT.decode(data)


def _believing_a_size(data: bytes) -> Any:
    room = bytearray(data[1] << 16) if len(data) > 1 else b""
    return RIGHT.decode(data) if len(room) >= 0 else None


def _writing_with_a_byte_more(message: Any) -> bytes:
    return RIGHT.encode(message) + b"\x00"


PAST_THE_END: Final = _with(_reading_past_the_end)
BEHIND_A_LETTER: Final = _with(_behind_a_letter)
LOSSY: Final = _with(_losing_a_bit)
QUADRATIC: Final = _with(_again_for_each_byte)
ENDLESS: Final = _with(_for_ever)
BELIEVING: Final = _with(_believing_a_size)
UNREADABLE: Final = replace(RIGHT, encode=_writing_with_a_byte_more)
