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
from collections.abc import Callable
from functools import partial
from statistics import median
from time import process_time
from typing import Any

import msgpack
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

ROUNDS = 9

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


def cpu(work: Callable[[], Any], times: int) -> float:
    """Seconds of CPU for one call."""
    start = process_time()
    for _ in range(times):
        work()
    return (process_time() - start) / times


def ratio(numerator: Callable[[], Any], denominator: Callable[[], Any], times: int) -> tuple[float, float]:
    """How many times the denominator's CPU time the numerator takes, and the seconds of the denominator: medians."""
    rounds = [(cpu(numerator, times), cpu(denominator, times)) for _ in range(ROUNDS)]
    return median(top / bottom for top, bottom in rounds), median(bottom for _, bottom in rounds)


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
    comparisons: list[tuple[str, Callable[[], Any], Callable[[], Any], int, float | None, float | None]] = [
        # what, numerator, denominator, calls a round, target (at least or at most)
        ("decode W7: transit-python2 / peerproof", theirs, ours, 300, 10.0, None),
        (
            "encode W7: transit-python2 / peerproof",
            partial(written_by_other, value),
            partial(MESSAGE.encode, message),
            300,
            5.0,
            None,
        ),
        ("decode W7: peerproof / msgpack alone", ours, partial(msgpack.unpackb, data, use_list=False), 300, None, None),
        ("decode W7: peerproof / making the message", ours, sample, 300, None, None),
        ("decode twice as much / once", partial(MESSAGE.decode, twice_data), partial(MESSAGE.decode, once_data), 10, None, 2.5),
        ("encode twice as much / once", partial(MESSAGE.encode, twice), partial(MESSAGE.encode, once), 10, None, 2.5),
        ("refuse twice as much / once", partial(refused, hostile(60_000)), partial(refused, hostile(30_000)), 300, None, 2.5),
    ]
    print(f"datagram: {len(data)} bytes; CPU time, median of {ROUNDS} rounds")
    for what, numerator, denominator, times, least, most in comparisons:
        found, seconds = ratio(numerator, denominator, times)
        fine = (least is None or found >= least) and (most is None or found <= most)
        target = "no target" if least is most is None else f"target at least {least}" if least else f"target at most {most}"
        judged = "" if least is most is None else "ok" if fine else "MISSED"
        print(f"{what:42} {found:7.2f}  ({target}; 1 = {seconds * 1e6:.1f} µs)  {judged}".rstrip())


def refused(data: bytes) -> None:
    """A datagram that is no message."""
    try:
        MESSAGE.decode(data)
    except ValueError:
        return
    raise AssertionError("this is a message")


if __name__ == "__main__":
    main()
