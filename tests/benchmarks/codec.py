"""
How fast the declared codec is: against `construct`, and against a loop written by hand for this one format.

    python tests/benchmarks/codec.py

Each comparison runs both sides in turn in this process and prints the ratio of their CPU times, the median of several
rounds, and says where one misses its target. The hand-written loop makes the same values and raises the same errors, so
that it is what the declaration replaces and not a shortcut.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

import construct  # type: ignore[import-untyped]  # it has no types
from _ratios import ROUNDS, Comparison, show

from peerproof.spec.core import NodeId
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.scuttlebutt import MESSAGE, Delta, DeltaEntry, DigestEntry, DigestRequest, DigestResponse

DATAGRAM = 1400

_string = construct.Prefixed(construct.Byte, construct.GreedyBytes)
_digest = construct.GreedyRange(construct.Struct("addr" / _string, "version" / construct.Int64ub))
_delta = construct.GreedyRange(
    construct.Struct("addr" / _string, "key" / _string, "value" / _string, "version" / construct.Int64ub)
)
CONSTRUCT = construct.Struct(
    "type" / construct.Byte,
    "entries" / construct.Switch(construct.this.type, {1: _digest, 2: _digest, 3: _delta}),
    construct.Terminated,
)

_version = struct.Struct(">Q")


def decode_by_hand(data: bytes) -> DigestRequest | DigestResponse | Delta:
    """What a careful programmer writes for this format alone: one loop, nothing shared, nothing general."""
    if not data:
        raise MalformedMessage("truncated", 0, "an empty datagram has no message type")
    kind = data[0]
    if kind not in (1, 2, 3):
        raise MalformedMessage("bad_type", 0, f"{kind} is no message type; there are 1, 2, 3")
    strings = 3 if kind == 3 else 1  # entries of a delta have three
    end = len(data)
    at = 1
    entries: list[Any] = []
    while at < end:
        fields: list[Any] = []
        for _ in range(strings):
            if at >= end:
                raise MalformedMessage("truncated", at, "need the size of a string, have nothing")
            start = at + 1
            at = start + data[at]
            if at > end:
                raise MalformedMessage("truncated", start, f"need {at - start} bytes, have {end - start}")
            fields.append(data[start:at].decode("utf-8", "surrogateescape"))
        if at + 8 > end:
            raise MalformedMessage("truncated", at, f"need 8 bytes, have {end - at}")
        fields.append(_version.unpack_from(data, at)[0])
        at += 8
        entries.append(DeltaEntry(*fields) if kind == 3 else DigestEntry(*fields))
    if kind == 1:
        return DigestRequest(tuple(entries))
    return DigestResponse(tuple(entries)) if kind == 2 else Delta(tuple(entries))


def encode_by_hand(message: DigestRequest) -> bytes:
    """The same for the way out, of a digest request."""
    out = bytearray(b"\x01")
    for addr, version in message.entries:
        raw = addr.encode("utf-8", "surrogateescape")
        if len(raw) > 255:
            raise ValueError(f"a string of {len(raw)} bytes")
        out.append(len(raw))
        out += raw
        out += _version.pack(version)
    return bytes(out)


def full_digest(size: int) -> DigestRequest:
    """As many entries as fit, with addresses as they are in practice: IPv4 and port."""
    entry = 1 + len("10.26.104.64:8119") + 8
    addrs = (f"10.26.{100 + i // 90}.{10 + i % 90}:8119" for i in range((size - 1) // entry))
    return DigestRequest(tuple(DigestEntry(NodeId(addr), 2**40 + i) for i, addr in enumerate(addrs)))


def full_delta(size: int) -> Delta:
    """As many pairs as fit, each a dozen bytes and an address."""
    entry = 1 + len("10.26.104.64:8119") + 1 + len("status.00") + 1 + len("active") + 8
    return Delta(
        tuple(
            DeltaEntry(NodeId("10.26.104.64:8119"), f"status.{i % 100:02}", "active", i + 1) for i in range((size - 1) // entry)
        )
    )


def main() -> None:
    """Prints a line per comparison."""
    digest, delta = full_digest(DATAGRAM), full_delta(DATAGRAM)
    digest_bytes, delta_bytes = MESSAGE.encode(digest), MESSAGE.encode(delta)
    parsed = CONSTRUCT.parse(digest_bytes)
    assert decode_by_hand(digest_bytes) == digest == MESSAGE.decode(digest_bytes)
    assert decode_by_hand(delta_bytes) == delta == MESSAGE.decode(delta_bytes)
    assert encode_by_hand(digest) == digest_bytes == CONSTRUCT.build(parsed)
    twice, once = MESSAGE.encode(full_digest(2 * 30_000)), MESSAGE.encode(full_digest(30_000))

    parse, declared, by_hand = (partial(partial, decode) for decode in (CONSTRUCT.parse, MESSAGE.decode, decode_by_hand))
    encoded = partial(MESSAGE.encode, digest)
    comparisons = [
        Comparison("decode digest: construct / peerproof", parse(digest_bytes), declared(digest_bytes), 60, 5.0, None),
        Comparison("decode delta:  construct / peerproof", parse(delta_bytes), declared(delta_bytes), 60, 5.0, None),
        Comparison("encode digest: construct / peerproof", partial(CONSTRUCT.build, parsed), encoded, 60, 5.0, None),
        Comparison("decode digest: peerproof / by hand", declared(digest_bytes), by_hand(digest_bytes), 500, None, 3.0),
        Comparison("decode delta:  peerproof / by hand", declared(delta_bytes), by_hand(delta_bytes), 500, None, 3.0),
        Comparison("encode digest: peerproof / by hand", encoded, partial(encode_by_hand, digest), 500, None, 3.0),
        Comparison("decode 60 kB / decode 30 kB", declared(twice), declared(once), 20, None, 2.5),
    ]
    print(f"datagram: {len(digest_bytes)} bytes, {len(digest.entries)} entries; CPU time, median of {ROUNDS} rounds")
    show(*comparisons)


if __name__ == "__main__":
    main()
