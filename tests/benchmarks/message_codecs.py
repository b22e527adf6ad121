"""
How fast messages are read and written, beside other libraries, and beside twice as much of the same.

    python tests/benchmarks/message_codecs.py

Each comparison runs both sides in turn in this process and prints the ratio of their CPU times, the median of several rounds, and
says where one misses its target. Scuttlebutt is compared with `construct` and with a loop written by hand for this one format;
SWIM with transit-python2, which makes generic values of the bytes, or bytes of these; Wendy with msgspec, which reads both layers
of JSON, and the plainest way to make the message of it, without a look at types, lengths, ranges and depth; DistKV with msgpack.
msgspec and msgpack are written in C; we make checked messages, in Python. DistKV's sets of ticks are compared with sets of
integers: they take as long whatever is in their ranges, which here have 100 ticks each on average.
"""

from __future__ import annotations

import io
import struct
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

import construct  # type: ignore[import-untyped]  # it has no types
import msgpack
import msgspec
from _ratios import ROUNDS, Comparison, refuse, show
from transit.reader import Reader  # type: ignore[import-untyped]  # it has no types
from transit.writer import Writer  # type: ignore[import-untyped]

from peerproof.spec import distkv, scuttlebutt, swim, wendy
from peerproof.spec.core import NodeId
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.codec import payload
from peerproof.spec.distkv.messages import Update
from peerproof.spec.distkv.paths import path_of
from peerproof.spec.distkv.ranges import Ranges
from peerproof.spec.distkv.values import value_of_plain
from peerproof.spec.errors import MalformedMessage

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


def decode_by_hand(data: bytes) -> scuttlebutt.DigestRequest | scuttlebutt.DigestResponse | scuttlebutt.Delta:
    """
    What a careful programmer writes for this format alone: one loop, nothing shared, nothing general.

    It makes the same values and raises the same errors, so that it is what the declaration replaces and not a shortcut.
    """
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
        entries.append(scuttlebutt.DeltaEntry(*fields) if kind == 3 else scuttlebutt.DigestEntry(*fields))
    if kind == 1:
        return scuttlebutt.DigestRequest(tuple(entries))
    return scuttlebutt.DigestResponse(tuple(entries)) if kind == 2 else scuttlebutt.Delta(tuple(entries))


def encode_by_hand(message: scuttlebutt.DigestRequest) -> bytes:
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


def full_digest(size: int) -> scuttlebutt.DigestRequest:
    """As many entries as fit, with addresses as they are in practice: IPv4 and port."""
    entry = 1 + len("10.26.104.64:8119") + 8
    addrs = (f"10.26.{100 + i // 90}.{10 + i % 90}:8119" for i in range((size - 1) // entry))
    return scuttlebutt.DigestRequest(tuple(scuttlebutt.DigestEntry(NodeId(addr), 2**40 + i) for i, addr in enumerate(addrs)))


def full_delta(size: int) -> scuttlebutt.Delta:
    """As many pairs as fit, each a dozen bytes and an address."""
    entry = 1 + len("10.26.104.64:8119") + 1 + len("status.00") + 1 + len("active") + 8
    pairs = ((f"status.{i % 100:02}", "active", i + 1) for i in range((size - 1) // entry))
    return scuttlebutt.Delta(tuple(scuttlebutt.DeltaEntry(NodeId("10.26.104.64:8119"), *pair) for pair in pairs))


def of_scuttlebutt() -> Iterator[Comparison]:
    """Datagrams of 1400 bytes."""
    codec = scuttlebutt.MESSAGE
    for name, message in (("digest", full_digest(1400)), ("delta", full_delta(1400))):
        data = codec.encode(message)
        assert decode_by_hand(data) == message == codec.decode(data)
        parse, declared, by_hand = (partial(decode, data) for decode in (CONSTRUCT.parse, codec.decode, decode_by_hand))
        yield Comparison(f"Scuttlebutt, decode {name}: construct / peerproof", parse, declared, 60, least=5.0)
        yield Comparison(f"Scuttlebutt, decode {name}: peerproof / by hand", declared, by_hand, 500, most=3.0)
    digest = full_digest(1400)
    parsed = CONSTRUCT.parse(codec.encode(digest))
    assert encode_by_hand(digest) == codec.encode(digest) == CONSTRUCT.build(parsed)
    build, encode, by_hand = partial(CONSTRUCT.build, parsed), partial(codec.encode, digest), partial(encode_by_hand, digest)
    yield Comparison("Scuttlebutt, encode digest: construct / peerproof", build, encode, 60, least=5.0)
    yield Comparison("Scuttlebutt, encode digest: peerproof / by hand", encode, by_hand, 500, most=3.0)
    twice, once = (partial(codec.decode, codec.encode(full_digest(size))) for size in (60_000, 30_000))
    yield Comparison("Scuttlebutt, decode 60 kB / decode 30 kB", twice, once, 20, most=2.5)


A, B, C, D = (
    swim.Uuid(f"{digit * 8}-{digit * 4}-4{digit * 3}-{variant}{digit * 3}-{digit * 12}")
    for digit, variant in zip("1234", "889a", strict=True)
)


def ping_of_each_kind() -> swim.Ping:
    """One of each that a ping holds: 374 bytes, W7 in the table of samples."""
    members = (swim.Member("127.0.0.1", 5003, C, 1, 2), swim.Member("127.0.0.1", 5004, D, 5, 8))
    vectors: tuple[swim.Vector, ...] = (
        swim.Normal(C),
        swim.Joining(D, swim.Incarnation(5, 8), "127.0.0.1", 5004),
        swim.Suspicious(C),
        swim.AntiEntropy(members),
        swim.Payload('{"~:some":"~:data"}'),
    )
    return swim.Ping(A, swim.Incarnation(1, 70000), B, vectors)


def ping(events: int) -> swim.Ping:
    """A ping with so many events about different nodes, and as many nodes in anti-entropy."""
    nodes = [swim.Uuid(f"{number:08x}-0000-4000-8000-{number * 7919:012x}") for number in range(events)]
    members = tuple(swim.Member("127.0.0.1", 5000, node, 1, number) for number, node in enumerate(nodes))
    return swim.Ping(A, swim.Incarnation(1, 1), B, (*map(swim.Normal, nodes), swim.AntiEntropy(members)))


def read_by_other(data: bytes) -> Any:
    """What transit-python2 makes of bytes."""
    return Reader("msgpack").read(io.BytesIO(data))


def written_by_other(value: Any) -> bytes:
    """The bytes that transit-python2 makes of a value."""
    out = io.BytesIO()
    Writer(out, "msgpack").write(value)
    return out.getvalue()


def of_swim() -> Iterator[Comparison]:
    """W7 in the table of samples, and longer ones. Little is left to gain between `msgpack` and making the message."""
    codec, message = swim.MESSAGE, ping_of_each_kind()
    data = codec.encode(message)
    value = read_by_other(data)
    assert len(data) == 374
    assert written_by_other(value) == data
    assert codec.decode(data) == message
    ours, theirs = partial(codec.decode, data), partial(read_by_other, data)
    unpack = partial(msgpack.unpackb, data, use_list=False)
    yield Comparison("SWIM, decode W7: transit-python2 / peerproof", theirs, ours, 300, least=10.0)
    both = partial(written_by_other, value), partial(codec.encode, message)
    yield Comparison("SWIM, encode W7: transit-python2 / peerproof", *both, 300, least=10.0)
    yield Comparison("SWIM, decode W7: peerproof / msgpack alone", ours, unpack, 300)
    yield Comparison("SWIM, decode W7: peerproof / making the message", ours, ping_of_each_kind, 300)
    twice, once = ping(800), ping(400)
    decodings = partial(codec.decode, codec.encode(twice)), partial(codec.decode, codec.encode(once))
    yield Comparison("SWIM, decode twice as much / once", *decodings, 10, most=2.5)
    yield Comparison("SWIM, encode twice as much / once", partial(codec.encode, twice), partial(codec.encode, once), 10, most=2.5)
    # Arrays within arrays, each of which promises more than there is.
    twice_hostile, once_hostile = ((b"\xdc" + min(size, 0xFFFF).to_bytes(2)) * (size // 3) for size in (60_000, 30_000))
    refusals = partial(refuse, codec.decode, twice_hostile), partial(refuse, codec.decode, once_hostile)
    yield Comparison("SWIM, refuse twice as much / once", *refusals, 300, most=2.5)


RING = wendy.Ring()


def node_of(number: int) -> wendy.Node:
    """A node with an address as they are in practice."""
    own = Random(number).getrandbits(128)
    return wendy.Node(wendy.Id(own), f"10.26.{number // 250}.{number % 250}", "203.0.113.7", 8080, "eu")


def header(number: int = 0) -> wendy.Header:
    """What a message of this node begins with."""
    sender = node_of(number)
    return wendy.Header(sender, sender.id, wendy.Versions(41, 32, 57))


def tables(nodes: int) -> wendy.Tables:
    """What a node of a ring of so many knows: in the routing table as many as find a cell, in the others as many as fit."""
    own, others = node_of(0), [node_of(number) for number in range(1, nodes)]
    cells = {RING.cell(own.id, node.id): node for node in others}
    right = tuple(sorted(others, key=lambda node: RING.clockwise(own.id, node.id)))
    leaves = wendy.LeafSet(right[::-1][:16], right[:16])
    return wendy.Tables(tuple(wendy.Entry(*cell, node) for cell, node in sorted(cells.items())), leaves, tuple(others[:32]))


def decode_by_msgspec(data: bytes) -> wendy.Message:
    """The same message, if it is one."""
    raw = msgspec.json.decode(data)
    versions = wendy.Versions(raw["RTVersion"], raw["LSVersion"], raw["NSVersion"])
    head = wendy.Header(made_node(raw["Sender"]), wendy.Id(int(raw["Key"], 16)), versions, octets(raw["Credentials"]), raw["Hop"])
    if raw["Purpose"] == 2:
        return wendy.Heartbeat(head)
    value = msgspec.json.decode(octets(raw["Value"]) or b"{}")
    found = wendy.Tables(
        tuple(
            wendy.Entry(row, column, made_node(node))
            for row, places in enumerate(value["rt"])
            for column, node in enumerate(places)
            if node is not None
        )
        if "rt" in value
        else None,
        wendy.LeafSet(*(made_nodes(side) for side in value["ls"])) if "ls" in value else None,
        made_nodes(value["ns"]) if "ns" in value else None,
    )
    return wendy.NodeAnnouncement(head, found) if raw["Purpose"] == 7 else wendy.StateData(head, found, value.get("eol", False))


def made_node(raw: dict[str, Any]) -> wendy.Node:
    """A node."""
    return wendy.Node(wendy.Id(int(raw["ID"], 16)), raw["LocalIP"], raw["GlobalIP"], raw["Port"], raw["Region"])


def made_nodes(raw: list[Any]) -> tuple[wendy.Node, ...]:
    """The places of a table that are taken."""
    return tuple(made_node(node) for node in raw if node is not None)


def octets(raw: str | None) -> bytes | None:
    """Bytes in base64."""
    return None if raw is None else b64decode(raw)


def of_wendy() -> Iterator[Comparison]:
    """Messages of several sizes."""
    codec = wendy.MESSAGE
    messages: dict[str, tuple[wendy.Message, int]] = {
        "heartbeat": (wendy.Heartbeat(header()), 500),
        "leaf set": (wendy.StateData(header(), wendy.Tables(leaf_set=tables(10_000).leaf_set), destination=True), 100),
        "tables of 20": (wendy.NodeAnnouncement(header(), tables(20)), 50),
        "tables of 10,000": (wendy.NodeAnnouncement(header(), tables(10_000)), 30),
    }
    for name, (message, times) in messages.items():
        data = codec.encode(message)
        assert decode_by_msgspec(data) == message == codec.decode(data)
        ours, theirs = partial(codec.decode, data), partial(decode_by_msgspec, data)
        yield Comparison(f"Wendy, decode {name} ({len(data)} bytes): peerproof / msgspec", ours, theirs, times, most=2.0)
        yield Comparison(f"Wendy, encode {name} / decode it", partial(codec.encode, message), ours, times)
    twice, once = (b'{"Purpose":' + b"[" * size for size in (200_000, 100_000))
    refusals = partial(refuse, codec.decode, twice), partial(refuse, codec.decode, once)
    yield Comparison("Wendy, refuse twice as much / once", *refusals, 10, most=2.5)


def update_of_the_page(*more: int) -> Update:
    """The update of 76 bytes on the page; with more, its value is another one."""
    chain = Chain((Element(NodeId("n2"), 1), Element(NodeId("n1"), 3)))
    return Update(chain, path_of(["a", "b"]), value_of_plain([1, 2.5, None, True, *more]), 22)


def drawn(count: int, seed: int) -> Ranges:
    """So many ranges, and gaps as long as they."""
    random, at, begins, ends = Random(seed), 0, [], []
    for _ in range(count):
        begins.append(at + random.randint(1, 199))
        at = begins[-1] + random.randint(1, 199)
        ends.append(at)
    return Ranges(tuple(begins), tuple(ends))


def read_all(decode: Callable[[bytes], Any], messages: Sequence[bytes]) -> None:
    """Decodes one message after the other."""
    for data in messages:
        decode(data)


def of_distkv() -> Iterator[Comparison]:
    """An update of 76 bytes, and sets of 20,000 and of 100,000 ranges."""
    message = update_of_the_page()
    codec = distkv.MESSAGE
    data, content = codec.encode(message), payload(message)
    assert len(content) == 76
    unpack, pack = partial(msgpack.unpackb, content, use_list=False), partial(msgpack.packb, msgpack.unpackb(content))
    yield Comparison("DistKV, decode: peerproof / msgpack alone", partial(codec.decode, data), unpack, 2000, most=3.0)
    yield Comparison("DistKV, encode: peerproof / msgpack alone", partial(codec.encode, message), pack, 2000, most=3.0)
    updates = [update_of_the_page(number) for number in range(10_000)]  # more values than are remembered
    reading = partial(read_all, codec.decode, [codec.encode(update) for update in updates])
    unpacking = partial(read_all, partial(msgpack.unpackb, use_list=False), [payload(update) for update in updates])
    yield Comparison("DistKV, decode, values never seen: peerproof / msgpack alone", reading, unpacking, 1)
    ours, others = (drawn(20_000, seed) for seed in (1, 2))
    our_set, other_set = set(ours.ticks()), set(others.ticks())
    assert set(ours.difference(others).ticks()) == our_set - other_set
    once, twice = [[drawn(count, seed) for seed in (1, 2)] for count in (100_000, 200_000)]
    for name in ("union", "difference"):
        by_set, by_ranges = partial(getattr(our_set, name), other_set), partial(getattr(ours, name), others)
        of_twice, of_once = (partial(getattr(one, name), other) for one, other in (twice, once))
        yield Comparison(f"DistKV, {name}: set / ranges", by_set, by_ranges, 1, least=10.0)
        yield Comparison(f"DistKV, {name} of twice as many / once", of_twice, of_once, 1, most=2.5)


def main() -> None:
    """Prints a line per comparison."""
    print(f"CPU time, median of {ROUNDS} rounds")
    for comparisons in (of_scuttlebutt, of_swim, of_wendy, of_distkv):  # one after the other: what is in memory slows Python down
        show(*comparisons())


if __name__ == "__main__":
    main()
