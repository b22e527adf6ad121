"""What breaks each property: a table of `tests/spec/test_properties.py`; and what happens beside one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peerproof.spec import scuttlebutt
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Send, Table
from peerproof.spec.properties import Cluster, InFlight, Taken
from peerproof.spec.scuttlebutt import PROPERTIES, Config, Delta, DigestRequest, DigestResponse, Message, Peer, State, Versioned

NAMED = {prop.name: prop for prop in PROPERTIES}
A, B, P = (NodeId(f"{name}:1") for name in "abp")
K1, K2, K3 = (scuttlebutt.DeltaEntry(P, f"k{version}", "v", version) for version in (1, 2, 3))
TICK = Expired(Instant(1), scuttlebutt.Round())


def record(version: int | None = None, value: str = "v", **pairs: int) -> Peer:
    """Pairs with these versions, and the version of the peer, if it is not the greatest of these."""
    rows = Table({key: Versioned(value, pair) for key, pair in pairs.items()})
    return Peer(rows, max(pairs.values(), default=0) if version is None else version)


def node(name: str, config: Config | None = None, **records: Peer) -> State:
    """`node("b", p=ALL)`: b:1, which knows this of p:1."""
    known = {NodeId(f"{owner}:1"): peer for owner, peer in records.items()}
    return State(NodeId(f"{name}:1"), config or Config(), Table({NodeId(f"{name}:1"): Peer()} | known))


def cluster(*states: State, to_b: Message | None = None, to_a: Message | None = None) -> Cluster:
    """These nodes, and what is under way from p:1."""
    under_way = [InFlight(P, to, message) for to, message in ((B, to_b), (A, to_a)) if message]
    return Cluster({state.self_id: state for state in states}, under_way)


def answered(before: State, message: Message, *answers: Message, after: State | None = None) -> Taken:
    """A step that answers a message from a:1 with these."""
    return Taken(before, Received(Instant(1), A, message), after or before, tuple(Send(A, answer) for answer in answers))


def request(*entries: tuple[NodeId, int]) -> DigestRequest:
    return DigestRequest(tuple(scuttlebutt.DigestEntry(*entry) for entry in entries))


ALL = record(k1=1, k2=2, k3=3)
OWNER, KNOWING, ALONE = node("p", p=ALL), node("b", p=ALL), node("b")
SMALL = node("b", Config(max_payload=12))

BAD: dict[str, Mapping[str, Any]] = {
    "VersionIsMax": {
        "above its pairs": node("b", p=record(4, k1=1, k2=2, k3=3)),
        "below its pairs": node("b", p=record(2, k1=1, k2=2, k3=3)),
        "without pairs": node("b", p=record(1)),
    },
    "OwnerDominates": {"ahead": cluster(node("p", p=record(k1=1)), KNOWING)},
    "NoGap": {
        "a key is missing below": cluster(OWNER, node("b", p=record(k1=1, k3=3))),
        "a key is missing at the version": cluster(OWNER, node("b", p=record(2, k1=1))),
        "a key is older": cluster(node("p", p=record(k1=2, k3=3)), node("b", p=record(k1=1, k3=3))),
    },
    "SameVersionSameValue": {"another value": cluster(node("a", p=record(k=1)), node("b", p=record(value="w", k=1)))},
    "Monotone": {
        "a peer's version": answered(KNOWING, Delta(()), after=node("b", p=record(2, k1=1, k2=2, k3=3))),
        "a pair's version": answered(KNOWING, Delta(()), after=node("b", p=record(k1=1, k2=1, k3=3))),
        "a peer forgotten": answered(node("b", p=Peer()), Delta(()), after=ALONE),
        "a pair forgotten": answered(KNOWING, Delta(()), after=node("b", p=record(k1=1, k3=3))),
    },
    "InFlight": {
        "a hole before the first pair": cluster(OWNER, node("b", p=record(k1=1)), to_b=Delta((K3,))),
        "a hole": cluster(OWNER, to_b=Delta((K1, K3))),
        "another value": cluster(OWNER, to_b=Delta((K1, K2._replace(value="w"), K3))),
        "a hole behind good messages": cluster(OWNER, to_b=Delta((K1, K2)), to_a=Delta((K1, K3))),
    },
    "DeltaPrefix": {
        "newest first": answered(KNOWING, request((P, 0)), Delta((K3,))),
        "a hole": answered(KNOWING, request((P, 0)), Delta((K1, K3))),
        "what is known": answered(KNOWING, request((P, 1)), Delta((K1, K2))),
        "out of order": answered(KNOWING, DigestResponse(request((P, 0)).entries), Delta((K2, K1))),
        "a hole, one peer twice in the digest": answered(KNOWING, request((P, 0), (P, 2)), Delta((K1, K3, K3))),
        "a hole before the first pair, one peer twice": answered(KNOWING, request((P, 1), (P, 0)), Delta((K3,))),
        "once too often": answered(KNOWING, request((P, 1), (P, 2)), Delta((K2, K3, K3, K3))),
        "not asked for": answered(KNOWING, request((A, 0)), Delta((K1,))),
        "another value": answered(KNOWING, request((P, 0)), Delta((K1._replace(value="w"),))),
    },
    "DeltaBounded": {
        "above the limit": answered(SMALL, Delta(()), request((A, 1))),
        "the second of two": answered(SMALL, Delta(()), Delta(()), request((A, 1))),
    },
    "NoDigestLoop": {
        "a response to a response": answered(ALONE, DigestResponse(()), Delta(()), DigestResponse(())),
        "a request to a response": answered(ALONE, DigestResponse(()), DigestRequest(())),
    },
    "OwnUntouched": {
        "a message": answered(ALONE, Delta(()), after=node("b", b=record(k=1))),
        "a timer": Taken(ALONE, TICK, node("b", b=record(k=1)), ()),
    },
    "AlwaysADelta": {
        "only a response": answered(ALONE, DigestRequest(()), DigestResponse(())),
        "nothing": answered(ALONE, DigestResponse(())),
        "two": answered(ALONE, DigestRequest(()), Delta(()), Delta(())),
        "to somebody else": Taken(ALONE, Received(Instant(1), A, DigestRequest(())), ALONE, (Send(P, Delta(())),)),
    },
    "DeltaIsNews": {
        "nothing": answered(ALONE, Delta(())),
        "what is known": answered(KNOWING, Delta((K1,))),
        "a digest": answered(ALONE, request((A, 0)), after=node("b", a=Peer())),
    },
    "DeltaIsStale": {
        "nothing": answered(ALONE, Delta(())),
        "news": answered(node("b", p=Peer()), Delta((K1,)), after=node("b", p=record(k1=1))),
        "a digest": answered(ALONE, request((A, 0))),
    },
    "ViewsEqual": {
        "a peer unknown": cluster(node("a"), node("b", a=Peer())),
        "a version behind": cluster(node("a", b=Peer()), node("b", a=Peer(), b=ALL)),
        "the third differs": cluster(node("a", p=ALL, b=Peer()), node("b", a=Peer(), p=ALL), node("p", p=ALL, a=Peer())),
    },
}


def test_what_happens_beside_a_property_does_not_break_it() -> None:
    """What the nodes of a run do not do: a delta that answers nothing, and what an application does to its own record."""
    assert NAMED["DeltaPrefix"].holds(Taken(ALONE, TICK, ALONE, (Send(A, Delta((K3,))),)))
    assert NAMED["OwnUntouched"].holds(
        Taken(ALONE, Asked(Instant(1), scuttlebutt.UpdateLocal("k", "v")), node("b", b=record(k=1)), ())
    )
