"""
How fast DistKV's messages are read and written, beside the library `msgpack` alone, and sets of ticks, beside sets of integers.

    python tests/benchmarks/distkv_codec.py

Each comparison runs both sides in turn in this process and prints the ratio of their CPU times, the median of several rounds,
and says where one misses its target. The library is written in C and makes generic values of the bytes; we make checked messages,
in Python. Sets of ticks take as long whatever is in their ranges, which here have 100 ticks each on average.
"""

from __future__ import annotations

from functools import partial
from random import Random

import msgpack
from _ratios import ROUNDS, Comparison, show

from peerproof.spec.core import NodeId
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.codec import MESSAGE, payload
from peerproof.spec.distkv.messages import Update
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.ranges import Ranges
from peerproof.spec.distkv.values import value_of_plain

RANGES = 20_000
MANY = 100_000


def sample() -> Update:
    """The update of 76 bytes on the page."""
    chain = Chain((Element(NodeId("n2"), 1), Element(NodeId("n1"), 3)))
    return Update(chain, path_of(["a", "b"]), value_of_plain([1, 2.5, None, True]), 22)


def drawn(count: int, seed: int) -> Ranges:
    """So many ranges, and gaps as long as they."""
    random, at, begins, ends = Random(seed), 0, [], []
    for _ in range(count):
        begins.append(at + random.randint(1, 199))
        at = begins[-1] + random.randint(1, 199)
        ends.append(at)
    return Ranges(tuple(begins), tuple(ends))


def main() -> None:
    """Prints a line per comparison."""
    message = sample()
    data, content = MESSAGE.encode(message), payload(message)
    assert len(content) == 76
    value = msgpack.unpackb(content)
    ours, others = (drawn(RANGES, seed) for seed in (1, 2))
    our_set, other_set = set(ours.ticks()), set(others.ticks())
    assert set(ours.difference(others).ticks()) == our_set - other_set
    once, twice = [[drawn(count, seed) for seed in (1, 2)] for count in (MANY, 2 * MANY)]
    read, write = partial(MESSAGE.decode, data), partial(MESSAGE.encode, message)
    comparisons = [
        Comparison("decode: peerproof / msgpack alone", read, partial(msgpack.unpackb, content, use_list=False), 2000, None, 2.0),
        Comparison("encode: peerproof / msgpack alone", write, partial(msgpack.packb, value), 2000, None, 2.0),
    ]
    for name in ("union", "difference"):
        by_set, by_ranges = partial(getattr(our_set, name), other_set), partial(getattr(ours, name), others)
        of_twice, of_once = (partial(getattr(one, name), other) for one, other in (twice, once))
        comparisons += [
            Comparison(f"{name}: set / ranges", by_set, by_ranges, 1, least=10.0),
            Comparison(f"{name} of twice as many / once", of_twice, of_once, 1, most=2.5),
        ]
    print(f"an update of {len(content)} bytes; {RANGES} ranges, {MANY} once; CPU time, median of {ROUNDS} rounds")
    show(*comparisons)


if __name__ == "__main__":
    main()
