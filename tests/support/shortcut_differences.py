"""
Differences between a codec with shortcuts and the declared one: in values, bytes, or the class, offset and text of a refusal.

    python -m tests.support.shortcut_differences --inputs 1000000 --seed 1

Inputs are made from the bytes of codec vectors: by random mutations, with items of one message in another, and with numbers in
another form, which may be equal to Python, like 1.0 or true in place of 1.
"""

from __future__ import annotations

import struct
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from peerproof.conformance.fuzz.bytes.byte_mutation import mutate
from peerproof.conformance.fuzz.bytes.seeds import LONGEST, seeds_of
from peerproof.conformance.vectors.suite import load
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.messagepack import read
from peerproof.spec.forms.packing import Codec
from peerproof.spec.protocols import PROTOCOLS

PROTOCOLS_WITH_SHORTCUTS = ("swim", "distkv")


def codec_of(protocol: str) -> Codec[Any]:
    """The codec with shortcuts."""
    codec: Codec[Any] = PROTOCOLS[protocol].specification.load().MESSAGE
    return codec


def outcome(function: Callable[[Any], Any], given: Any) -> Any:
    """The result, to the type of each number in it, or the error in all its parts."""
    try:
        result = function(given)
    except MalformedMessage as error:
        return type(error), error.reason, error.offset, error.detail, str(error)
    except NotEnabled as error:
        return type(error), error.reason, str(error)
    return result, repr(result)


def difference(codec: Codec[Any], data: bytes) -> str:
    """What differs for these bytes, and for the message in them; an empty text if nothing does."""
    shown, expected = outcome(codec.decode, data), outcome(codec.careful.decode, data)
    if shown != expected:
        return f"{data.hex()} is decoded to {shown}, not to {expected}"
    return "" if isinstance(expected[0], type) else difference_of_message(codec, expected[0])


def described(codec: Codec[Any], data: bytes) -> str:
    """What these bytes are: the type of a message, or the class of a refusal."""
    first, second, *_ = outcome(codec.decode, data)
    return str(second) if isinstance(first, type) else type(first).__name__


def difference_of_message(codec: Codec[Any], message: Any) -> str:
    """What differs in the bytes of a message; an empty text if nothing does."""
    shown, expected = outcome(codec.encode, message), outcome(codec.careful.encode, message)
    return f"{message} is encoded as {shown}, not as {expected}" if shown != expected else ""


def respelled(rng: Random, data: bytes) -> bytes:
    """The bytes with one number, or what looks like one, in another form: longer, as a float, or as a boolean."""
    places = [at for at, byte in enumerate(data) if byte < 0x80 or byte in (0xCF, 0xD3)]
    if not places:
        return data
    at = rng.choice(places)
    wide = data[at] >= 0x80
    if wide and at + 9 > len(data):
        return data
    number = struct.unpack_from(">q" if data[at] == 0xD3 else ">Q", data, at + 1)[0] if wide else data[at]
    forms = [
        b"\xcb" + struct.pack(">d", number),
        b"\xca" + struct.pack(">f", number),
        b"\xd3" + struct.pack(">q", number % 2**63),
    ]
    forms += [b"\xcc" + bytes((number % 256,)), b"\xc3", b"\xc2"]
    return data[:at] + rng.choice(forms) + data[at + (9 if wide else 1) :]


def exchanged(rng: Random, data: bytes, other: bytes) -> bytes:
    """The bytes with one item of MessagePack, or what looks like one, in place of another."""
    spans = []
    for source in (data, other):
        at = rng.randrange(len(source) + 1)
        try:
            spans.append((at, read(source, at)[1]))
        except MalformedMessage:
            return data
    (start, end), (begin, stop) = spans
    return data[:start] + other[begin:stop] + data[end:]


def inputs(protocol: str, seed: int) -> Iterator[bytes]:
    """Endless inputs, about as many messages as malformed ones."""
    rng, codec = Random(f"{protocol} {seed}"), codec_of(protocol).careful
    known = seeds_of(load(protocol=protocol), protocol).data
    legal = [data for data in known if not isinstance(outcome(codec.decode, data)[0], type)]
    while True:
        data = rng.choice(legal)
        way = rng.randrange(4)
        if way == 0:
            data = mutate(rng, known, LONGEST)
        elif way == 1:
            data = exchanged(rng, data, rng.choice(legal))
        yield respelled(rng, data) if rng.randrange(2) else data


def main() -> None:
    """Compares as many inputs as asked for, and prints how many took a shortcut."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("protocols", nargs="*", default=PROTOCOLS_WITH_SHORTCUTS, help="protocols (default all with shortcuts)")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="number of inputs of each protocol (default 1000000)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    options = parser.parse_args()
    for protocol in options.protocols:
        codec, counted = codec_of(protocol), Counter[str]()
        for _, data in zip(range(options.inputs), inputs(protocol, options.seed), strict=False):
            if found := difference(codec, data):
                raise SystemExit(f"{protocol}: {found}")
            counted[described(codec, data)] += 1
        print(protocol, f"{options.inputs:,} inputs without a difference:", dict(counted))


if __name__ == "__main__":
    main()
