"""
How fast the codec of Wendy is: against msgspec and making the objects, and against itself with twice as much.

    python tests/benchmarks/wendy_codec.py

Each comparison runs both sides in turn in this process and prints the ratio of their CPU times, the median of several
rounds, and says where one misses its target. The other side reads both layers of JSON with msgspec, which is written in C, and
makes the same message of it in the plainest way, without a look at types, lengths, ranges and depth.
"""

from __future__ import annotations

from base64 import b64decode
from functools import partial
from random import Random
from typing import Any

import msgspec
from _ratios import ROUNDS, Comparison, refuse, show

from peerproof.spec.wendy import (
    MESSAGE,
    Entry,
    Header,
    Heartbeat,
    Id,
    LeafSet,
    Message,
    Node,
    NodeAnnouncement,
    Ring,
    StateData,
    Tables,
    Versions,
)

RING = Ring()


def node_of(number: int) -> Node:
    """A node with an address as they are in practice."""
    own = Random(number).getrandbits(128)
    return Node(Id(own), f"10.26.{number // 250}.{number % 250}", "203.0.113.7", 8080, "eu")


def header(number: int = 0) -> Header:
    """What a message of this node begins with."""
    sender = node_of(number)
    return Header(sender, sender.id, Versions(41, 32, 57))


def tables(nodes: int) -> Tables:
    """What a node of a ring of so many knows: in the routing table as many as find a cell, in the others as many as fit."""
    own, others = node_of(0), [node_of(number) for number in range(1, nodes)]
    cells = {RING.cell(own.id, node.id): node for node in others}
    right = tuple(sorted(others, key=lambda node: RING.clockwise(own.id, node.id)))
    leaves = LeafSet(right[::-1][:16], right[:16])
    return Tables(tuple(Entry(*cell, node) for cell, node in sorted(cells.items())), leaves, tuple(others[:32]))


def decode_by_msgspec(data: bytes) -> Message:
    """The same message, if it is one."""
    raw = msgspec.json.decode(data)
    versions = Versions(raw["RTVersion"], raw["LSVersion"], raw["NSVersion"])
    head = Header(made_node(raw["Sender"]), Id(int(raw["Key"], 16)), versions, octets(raw["Credentials"]), raw["Hop"])
    if raw["Purpose"] == 2:
        return Heartbeat(head)
    value = msgspec.json.decode(octets(raw["Value"]) or b"{}")
    found = Tables(
        tuple(
            Entry(row, column, made_node(node))
            for row, places in enumerate(value["rt"])
            for column, node in enumerate(places)
            if node is not None
        )
        if "rt" in value
        else None,
        LeafSet(*(made_nodes(side) for side in value["ls"])) if "ls" in value else None,
        made_nodes(value["ns"]) if "ns" in value else None,
    )
    return NodeAnnouncement(head, found) if raw["Purpose"] == 7 else StateData(head, found, value.get("eol", False))


def made_node(raw: dict[str, Any]) -> Node:
    """A node."""
    return Node(Id(int(raw["ID"], 16)), raw["LocalIP"], raw["GlobalIP"], raw["Port"], raw["Region"])


def made_nodes(raw: list[Any]) -> tuple[Node, ...]:
    """The places of a table that are taken."""
    return tuple(made_node(node) for node in raw if node is not None)


def octets(raw: str | None) -> bytes | None:
    """Bytes in base64."""
    return None if raw is None else b64decode(raw)


def hostile(size: int) -> bytes:
    """Arrays within arrays."""
    return b'{"Purpose":' + b"[" * size


def main() -> None:
    """Prints a line per comparison."""
    messages: dict[str, tuple[Message, int]] = {
        "heartbeat": (Heartbeat(header()), 500),
        "leaf set": (StateData(header(), Tables(leaf_set=tables(10_000).leaf_set), destination=True), 100),
        "tables of 20": (NodeAnnouncement(header(), tables(20)), 50),
        "tables of 10,000": (NodeAnnouncement(header(), tables(10_000)), 30),
    }
    comparisons = []
    for name, (message, times) in messages.items():
        data = MESSAGE.encode(message)
        assert decode_by_msgspec(data) == message == MESSAGE.decode(data)
        decode = partial(MESSAGE.decode, data), partial(decode_by_msgspec, data)
        comparisons.append(
            Comparison(f"decode {name} ({len(data)} bytes): peerproof / msgspec and objects", *decode, times, most=2.0)
        )
    for name, (message, times) in messages.items():
        data = MESSAGE.encode(message)
        both = partial(MESSAGE.encode, message), partial(MESSAGE.decode, data)
        comparisons.append(Comparison(f"encode {name} / decode it", *both, times))
    ours = partial(refuse, MESSAGE.decode, hostile(200_000)), partial(refuse, MESSAGE.decode, hostile(100_000))
    print(f"CPU time, median of {ROUNDS} rounds")
    show(*comparisons, Comparison("refuse twice as much / once", *ours, 10, most=2.5))


if __name__ == "__main__":
    main()
