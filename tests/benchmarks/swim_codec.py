"""
How fast the codec of SWIM is: against transit-python2, and against itself with twice as much.

    python tests/benchmarks/swim_codec.py

Each comparison runs both sides in turn in this process and prints the ratio of their CPU times, the median of several
rounds, and says where one misses its target. transit-python2 makes generic values of the bytes, or bytes of these; we make
checked messages. What `msgpack`, which is written in C, takes of it is printed too, and what Python takes to make the objects:
there is little left to gain between the two.
"""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import msgpack
from _ratios import ROUNDS, Comparison, refuse, show
from transit.reader import Reader  # type: ignore[import-untyped]  # it has no types
from transit.writer import Writer  # type: ignore[import-untyped]

from peerproof.spec.swim import (
    MESSAGE,
    AntiEntropy,
    Incarnation,
    Joining,
    Member,
    Normal,
    Payload,
    Ping,
    Suspicious,
    Uuid,
    Vector,
)

A, B, C, D = (
    Uuid(f"{digit * 8}-{digit * 4}-4{digit * 3}-{variant}{digit * 3}-{digit * 12}")
    for digit, variant in zip("1234", "889a", strict=True)
)


def sample() -> Ping:
    """One of each that a ping holds: 374 bytes, W7 in the table of samples."""
    members = (Member("127.0.0.1", 5003, C, 1, 2), Member("127.0.0.1", 5004, D, 5, 8))
    vectors: tuple[Vector, ...] = (
        Normal(C),
        Joining(D, Incarnation(5, 8), "127.0.0.1", 5004),
        Suspicious(C),
        AntiEntropy(members),
        Payload('{"~:some":"~:data"}'),
    )
    return Ping(A, Incarnation(1, 70000), B, vectors)


def full(events: int) -> Ping:
    """A ping with so many events about different nodes, and as many nodes in anti-entropy."""
    nodes = [Uuid(f"{number:08x}-0000-4000-8000-{number * 7919:012x}") for number in range(events)]
    members = tuple(Member("127.0.0.1", 5000, node, 1, number) for number, node in enumerate(nodes))
    return Ping(A, Incarnation(1, 1), B, (*map(Normal, nodes), AntiEntropy(members)))


def read_by_other(data: bytes) -> Any:
    """What transit-python2 makes of bytes."""
    return Reader("msgpack").read(io.BytesIO(data))


def written_by_other(value: Any) -> bytes:
    """The bytes that transit-python2 makes of a value."""
    out = io.BytesIO()
    Writer(out, "msgpack").write(value)
    return out.getvalue()


def hostile(size: int) -> bytes:
    """Arrays within arrays, each of which promises more than there is."""
    return (b"\xdc" + min(size, 0xFFFF).to_bytes(2)) * (size // 3)


def main() -> None:
    """Prints a line per comparison."""
    message = sample()
    data, value = MESSAGE.encode(message), read_by_other(MESSAGE.encode(message))
    assert len(data) == 374
    assert written_by_other(value) == data
    assert MESSAGE.decode(data) == message
    once, twice = full(400), full(800)
    once_data, twice_data = MESSAGE.encode(once), MESSAGE.encode(twice)
    ours, theirs = partial(MESSAGE.decode, data), partial(read_by_other, data)
    written, encode, decode = partial(written_by_other, value), partial(partial, MESSAGE.encode), partial(partial, MESSAGE.decode)
    refused = partial(partial, refuse, MESSAGE.decode)
    print(f"datagram: {len(data)} bytes; CPU time, median of {ROUNDS} rounds")
    show(
        Comparison("decode W7: transit-python2 / peerproof", theirs, ours, 300, least=10.0),
        Comparison("encode W7: transit-python2 / peerproof", written, encode(message), 300, least=5.0),
        Comparison("decode W7: peerproof / msgpack alone", ours, partial(msgpack.unpackb, data, use_list=False), 300),
        Comparison("decode W7: peerproof / making the message", ours, sample, 300),
        Comparison("decode twice as much / once", decode(twice_data), decode(once_data), 10, most=2.5),
        Comparison("encode twice as much / once", encode(twice), encode(once), 10, most=2.5),
        Comparison("refuse twice as much / once", refused(hostile(60_000)), refused(hostile(30_000)), 300, most=2.5),
    )


if __name__ == "__main__":
    main()
