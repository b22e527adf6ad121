"""What nodes tell each other: orders, limits, merges, as tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from peerproof.spec.core import NodeId, Table
from peerproof.spec.scuttlebutt import Config, Delta, DeltaEntry, DigestEntry, DigestRequest, Message, Peer, State, Versioned
from peerproof.spec.scuttlebutt.codec import MESSAGE
from peerproof.spec.scuttlebutt.reconcile import (
    delta,
    digest,
    lacking_here,
    merge,
    most_outdated_first,
    newer_pairs,
    version_of,
)

Node = Callable[..., State]
LARGE = 1400
BYTE_FF = "\udcff"  # no UTF-8; a surrogate escape


def asked(*entries: tuple[str, int]) -> tuple[DigestEntry, ...]:
    """Entries of a digest."""
    return tuple(DigestEntry(NodeId(addr), version) for addr, version in entries)


def bytes_of(message: Message) -> int:
    """How large a datagram is."""
    return len(MESSAGE.encode(message))


def test_an_unknown_peer_has_version_0(node: Node) -> None:
    state = node("b:1", {"c:1": {"k": ("v", 3)}})

    assert [version_of(state, NodeId(addr)) for addr in ("b:1", "c:1", "d:1")] == [0, 3, 0]


# BC-16, BC-17: (order, max_payload, addresses in the digest); an entry of n1:1 takes 13 bytes, of longaddress:99 23
DIGESTS = [
    (["n2:2", "n1:1", "n3:3"], 1, []),
    (["n2:2", "n1:1", "n3:3"], 13, []),
    (["n2:2", "n1:1", "n3:3"], 14, ["n2:2"]),
    (["n2:2", "n1:1", "n3:3"], 26, ["n2:2"]),
    (["n2:2", "n1:1", "n3:3"], 27, ["n2:2", "n1:1"]),
    (["n2:2", "n1:1", "n3:3"], 39, ["n2:2", "n1:1"]),
    (["n2:2", "n1:1", "n3:3"], 40, ["n2:2", "n1:1", "n3:3"]),
    (["n1:1", "longaddress:99", "n2:2"], 30, ["n1:1"]),  # n2:2 would fit, but adding has stopped
    (["n1:1", "n2:2", "longaddress:99"], 30, ["n1:1", "n2:2"]),
    (["longaddress:99", "n1:1"], 23, []),
    (["longaddress:99", "n1:1"], 24, ["longaddress:99"]),
    ([], LARGE, []),
]


@pytest.mark.parametrize(("order", "limit", "expected"), DIGESTS)
def test_a_digest_has_the_peers_in_the_order_given_as_many_as_fit(
    order: list[str], limit: int, expected: list[str], node: Node
) -> None:
    others = {"n2:2": {"k": ("v", 3)}, "n3:3": {}, "longaddress:99": {}}
    state = node("n1:1", others, Config(max_payload=limit))

    entries = digest(state, [NodeId(addr) for addr in order])

    assert entries == asked(*((addr, 3 if addr == "n2:2" else 0) for addr in expected))
    assert bytes_of(DigestRequest(entries)) <= limit


# (digest, max_payload, the digest response); b:1 knows itself at 2, c:1 at 3, d:1 at 4
LACKING = [
    ([("c:1", 5), ("d:1", 4)], LARGE, [("c:1", 3)]),
    ([("c:1", 4)], LARGE, [("c:1", 3)]),
    ([("c:1", 3)], LARGE, []),
    ([("c:1", 2)], LARGE, []),
    ([("d:1", 9), ("c:1", 9)], LARGE, [("d:1", 4), ("c:1", 3)]),  # in the order received
    ([("x:1", 1)], LARGE, [("x:1", 0)]),
    ([("x:1", 0)], LARGE, []),
    ([("b:1", 99)], LARGE, []),  # about the node itself nothing is lacking
    ([("b:1", 99), ("c:1", 4)], LARGE, [("c:1", 3)]),
    ([("c:1", 4), ("c:1", 5)], LARGE, [("c:1", 3), ("c:1", 3)]),  # each entry counts
    ([], LARGE, []),
    ([("c:1", 9), ("d:1", 9)], 12, []),
    ([("c:1", 9), ("d:1", 9)], 13, [("c:1", 3)]),
    ([("c:1", 9), ("d:1", 9)], 24, [("c:1", 3)]),
    ([("c:1", 9), ("d:1", 9)], 25, [("c:1", 3), ("d:1", 4)]),
    ([("longer:1", 9), ("d:1", 9)], 13, []),  # d:1 would fit, but adding has stopped
]


@pytest.mark.parametrize(("entries", "limit", "expected"), LACKING)
def test_a_digest_response_has_what_is_lacking_here_as_much_as_fits(
    entries: list[tuple[str, int]], limit: int, expected: list[tuple[str, int]], node: Node
) -> None:
    store = {"b:1": {"x": ("3", 2)}, "c:1": {"t": ("x", 3)}, "d:1": {"t": ("x", 4)}}
    state = node("b:1", store, Config(max_payload=limit))

    assert lacking_here(state, asked(*entries)) == asked(*expected)


# (digest, peers, most outdated first); p1 is known at 2, p2 at 9, p3 at 5
OUTDATED = [
    ([("p1", 0), ("p2", 4), ("p3", 0)], ["p2", "p3", "p1"]),  # by 2, 5 and 5: the tie by address
    ([("p3", 0), ("p2", 4), ("p1", 0)], ["p2", "p3", "p1"]),
    ([("p1", 0), ("p2", 5), ("p3", 0)], ["p3", "p2", "p1"]),
    ([("p1", 2), ("p2", 9), ("p3", 6)], []),
    ([("p1", 1), ("x", 0), ("b:1", 0)], ["p1"]),
    ([("p2", 0), ("p2", 8)], ["p2", "p2"]),
    ([], []),
]


@pytest.mark.parametrize(("entries", "expected"), OUTDATED)
def test_peers_come_by_how_far_the_sender_is_behind(entries: list[tuple[str, int]], expected: list[str], node: Node) -> None:
    state = node("b:1", {"p1": {"k1": ("v", 1), "k2": ("v", 2)}, "p2": {"k": ("v", 9)}, "p3": {"k": ("v", 5)}})

    assert [entry.addr for entry in most_outdated_first(state, asked(*entries))] == expected


def test_ties_between_peers_are_broken_by_the_bytes_of_the_address(node: Node) -> None:
    # As code points, the byte FF (a surrogate escape, U+DCFF) comes before U+FFFD; as bytes, EF BF BD comes before FF.
    state = node("b:1", {BYTE_FF: {"k": ("v", 1)}, "\ufffd": {"k": ("v", 1)}, "é": {"k": ("v", 1)}, "z": {"k": ("v", 1)}})

    ordered = most_outdated_first(state, asked((BYTE_FF, 0), ("z", 0), ("\ufffd", 0), ("é", 0)))

    assert [entry.addr for entry in ordered] == ["z", "é", "\ufffd", BYTE_FF]


# (version, keys above it)
NEWER = [
    (0, ["d", "a", "b", "\ufffd", BYTE_FF]),
    (1, ["a", "b", "\ufffd", BYTE_FF]),
    (2, ["b", "\ufffd", BYTE_FF]),
    (3, []),
    (9, []),
]


@pytest.mark.parametrize(("version", "expected"), NEWER)
def test_pairs_come_oldest_first_and_equal_versions_by_the_bytes_of_the_key(version: int, expected: list[str]) -> None:
    pairs = {BYTE_FF: 3, "\ufffd": 3, "b": 3, "a": 2, "d": 1, "never": 0}
    peer = Peer(Table({key: Versioned("v", at) for key, at in pairs.items()}), 3)

    assert [pair.key for pair in newer_pairs(NodeId("p"), peer, version)] == expected


STORE = {
    "p1": {"k1": ("v", 1), "k2": ("v", 2)},
    "p2": {"k": ("v", 9)},
    "p3": {"k": ("v", 5)},
}
TWO_FIVE_FIVE = [("p1", 0), ("p2", 4), ("p3", 0)]
#: An entry of p2 or p3 takes 15 bytes, of p1 16 (BC-27, BC-28).
DELTAS = [
    (TWO_FIVE_FIVE, LARGE, ["p2.k", "p3.k", "p1.k1", "p1.k2"]),
    (TWO_FIVE_FIVE, 15, []),
    (TWO_FIVE_FIVE, 16, ["p2.k"]),
    (TWO_FIVE_FIVE, 30, ["p2.k"]),
    (TWO_FIVE_FIVE, 31, ["p2.k", "p3.k"]),
    (TWO_FIVE_FIVE, 46, ["p2.k", "p3.k"]),
    (TWO_FIVE_FIVE, 47, ["p2.k", "p3.k", "p1.k1"]),
    (TWO_FIVE_FIVE, 62, ["p2.k", "p3.k", "p1.k1"]),
    (TWO_FIVE_FIVE, 63, ["p2.k", "p3.k", "p1.k1", "p1.k2"]),
    ([("p1", 1)], LARGE, ["p1.k2"]),
    ([("p1", 2)], LARGE, []),
    ([("p1", 3)], LARGE, []),
    ([("p1", 0), ("p1", 1)], LARGE, ["p1.k1", "p1.k2", "p1.k2"]),
    ([("x", 0)], LARGE, []),
    ([], LARGE, []),
    ([("b:1", 0)], LARGE, []),
]


@pytest.mark.parametrize(("entries", "limit", "expected"), DELTAS)
def test_a_delta_has_what_the_sender_lacks_as_much_as_fits(
    entries: list[tuple[str, int]], limit: int, expected: list[str], node: Node
) -> None:
    state = node("b:1", STORE, Config(max_payload=limit))

    pairs = delta(state, asked(*entries))

    assert [f"{pair.addr}.{pair.key}" for pair in pairs] == expected
    assert bytes_of(Delta(pairs)) <= limit


def test_a_delta_stops_at_the_first_pair_that_does_not_fit_even_if_a_later_one_would(node: Node) -> None:
    store = {"p1": {"k": ("v" * 20, 9)}, "p2": {"k": ("v" * 40, 8)}, "p3": {"k": ("v", 7)}}
    state = node("b:1", store, Config(max_payload=60))

    pairs = delta(state, asked(("p1", 0), ("p2", 0), ("p3", 0)))

    assert [pair.addr for pair in pairs] == ["p1"]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (73, ["c.1", "c.2", "c.3", "d.1"]),
        (72, ["c.1", "c.2", "c.3"]),
        (60, ["c.1", "c.2", "c.3"]),
        (59, ["c.1", "c.2"]),
        (46, ["c.1"]),
        (34, ["c.1"]),  # alone c.2 would fit, so this is a full message like any other
        (33, ["c.1", "d.1"]),
        (27, ["c.1", "d.1"]),
        (26, ["c.1"]),
        (13, []),
    ],
)
def test_a_pair_above_every_datagram_ends_its_own_peer_only(limit: int, expected: list[str], node: Node) -> None:
    # c.2 takes 33 bytes, the others 13; c is the more outdated one.
    store = {"c": {"1": ("", 7), "2": ("x" * 20, 8), "3": ("", 9)}, "d": {"1": ("", 1)}}
    state = node("b:1", store, Config(max_payload=limit))

    pairs = delta(state, asked(("c", 0), ("d", 0)))

    assert [f"{pair.addr}.{pair.key}" for pair in pairs] == expected


def pair(key: str, version: int, value: str = "v") -> DeltaEntry:
    """A pair of p."""
    return DeltaEntry(NodeId("p"), key, value, version)


# name: (pairs that come, the record's version and pairs afterwards, the news among them); p knows foo@10
MERGES: dict[str, tuple[list[DeltaEntry], tuple[int, dict[str, Any]], list[int]]] = {
    "nothing": ([], (10, {}), []),
    "older": ([pair("foo", 5, "older")], (10, {}), []),
    "equal, with another value": ([pair("foo", 10, "other")], (10, {}), []),
    "newer": ([pair("foo", 11, "newer")], (11, {"foo": ("newer", 11)}), [0]),
    "an unseen key below the peer's version": ([pair("boo", 7)], (10, {"boo": ("v", 7)}), [0]),
    "an unseen key at the peer's version": ([pair("boo", 10)], (10, {"boo": ("v", 10)}), [0]),
    "an unseen key above the peer's version": ([pair("boo", 12)], (12, {"boo": ("v", 12)}), [0]),
    "version 0": ([pair("zero", 0)], (10, {}), []),
    "version 1": ([pair("one", 1)], (10, {"one": ("v", 1)}), [0]),
    "the same twice": ([pair("boo", 12), pair("boo", 12)], (12, {"boo": ("v", 12)}), [0]),
    "one key twice, upwards": ([pair("boo", 12, "a"), pair("boo", 13, "b")], (13, {"boo": ("b", 13)}), [0, 1]),
    "one key twice, downwards": ([pair("boo", 13, "b"), pair("boo", 12, "a")], (13, {"boo": ("b", 13)}), [0]),
    "downwards": ([pair("a", 20), pair("b", 15)], (20, {"a": ("v", 20), "b": ("v", 15)}), [0, 1]),
    "news among stale ones": ([pair("foo", 1), pair("a", 20), pair("zero", 0)], (20, {"a": ("v", 20)}), [1]),
}


@pytest.mark.parametrize("name", MERGES)
def test_a_pair_is_news_if_it_is_above_the_version_of_its_own_key(name: str) -> None:
    pairs, (version, changes), news = MERGES[name]
    before = Peer(Table({"foo": Versioned("v", 10)}), 10)

    after, found = merge(before, pairs)

    assert after.version == version
    assert dict(after.pairs) == {"foo": ("v", 10), **changes}
    assert found == tuple(pairs[index] for index in news)
    assert (after is before) == (not news)
