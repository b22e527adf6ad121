"""What breaks the rules for messages alone, and what does not: tables of `tests/spec/test_monitors.py`; and memory."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.support.watched import Watched

from peerproof.spec import swim
from peerproof.spec.core import NodeId
from peerproof.spec.swim import Dead, Incarnation, IndirectAck, IndirectPing, Joining, Payload, Ping, ProbeAck, Uuid, Vector
from peerproof.spec.swim.model import monitors

A, B, C, D = (Uuid(f"00000000-0000-0000-0000-00000000000{name}") for name in "abcd")
NODE = Watched("swim", NodeId("a:1"), partial(swim.Config, A), "b:1")
said, got = NODE.said, NODE.got


def ping(*vectors: Vector, tx: int = 1, sender: Uuid = A, target: Uuid = B) -> Ping:
    return Ping(sender, Incarnation(0, tx), target, vectors)


def ack(of: int, *vectors: Vector, tx: int = 1, sender: Uuid = A, target: Uuid = B) -> swim.Ack:
    return swim.Ack(sender, Incarnation(0, tx), target, of, vectors)


def listing(*nodes: Uuid, tagged: bool = True) -> swim.AntiEntropy:
    return swim.AntiEntropy(tuple(swim.Member("h", 1, node, 0, 5) for node in nodes), tagged)


ASKED = got(ping(sender=B, target=A, tx=7))
ANSWERED = said(ack(7))
WANTED = got(ping(IndirectPing(C, "h", 1), sender=B, target=A))
CAME = got(ack(3, sender=C, target=A, tx=9), of="c:1")
PASSED = said(ping(IndirectAck(C, Incarnation(0, 9))))

BREACHES = {
    "WithinLimit": [said(ping(Payload('{"a":"' + "x" * 500 + '"}')))],
    "CounterGrows": [said(ping(tx=9)), said(ping(tx=2)), said(ping(tx=3))],  # which is told once
    "OneNumber": [said(ping(tx=5)), said(ping(tx=5, target=C))],
    "AckOfPing": [ASKED, ANSWERED, said(ack(6, tx=2))],
    "AckOfOwnPing": [got(ping(sender=B, target=C, tx=7)), ANSWERED],
    "ProbeAckOfProbe": [
        got(swim.Probe(B, Incarnation(0, 3))),
        said(ProbeAck(A, Incarnation(0, 1), 3)),
        said(ProbeAck(A, Incarnation(0, 2), 4)),
    ],
    "PastIsTold": [ASKED, said(ack(7, Dead(B, Incarnation(0, 7))))],
    "AckCarries": [ASKED, said(ack(7, Payload("{}")))],
    "MembersAreOthers": [said(ping(listing(C, B)))],
    "FewMembers": [said(ping(listing(C, D, Uuid(C.replace("c", "e")))))],
    "OneEventOfNode": [said(ping(swim.Normal(C), swim.Suspicious(C)))],
    "IntroducesAlone": [said(ping(Joining(A, Incarnation(0, 1), "h", 1), listing(C)))],
    "UntaggedIsWelcome": [said(ping(listing(C, tagged=False)))],
    "RelayIsAnother": [said(ping(IndirectPing(B, "h", 1)))],
    "IndirectAckOfAck": [WANTED, CAME, PASSED, said(ping(IndirectAck(D, Incarnation(0, 9)), tx=2))],
}
SETTINGS: dict[str, Any] = {"WithinLimit": {"max_datagram": 512}}
MORE: dict[str, Any] = {}

FINE = {
    "an answer to what was said before the capture began": [said(ack(7))],
    "an indirect ack that was asked for before the capture began": [PASSED],
    "a ping that comes twice": [ASKED, ANSWERED, ASKED, said(ack(7, tx=2))],
    "a capture that has a datagram twice": [ASKED, ANSWERED, ANSWERED],
    "a ping from the past": [ASKED, said(ack(7, Dead(B, Incarnation(0, 8))))],
    "a restart": [said(ping(tx=5)), said(Ping(A, Incarnation(1, 1), B))],
    "another node at the same address": [said(ping(tx=5)), said(ping(sender=D))],
    "the welcome of a joiner": [ASKED, said(ack(7, Joining(B, Incarnation(0, 7), "h", 1), listing(C, tagged=False)))],
}


def test_the_memory_of_what_is_passed_on_is_bounded() -> None:
    watch = NODE.monitor()
    for number in range(monitors.RELAYED + 10):
        list(watch.see(got(ack(1, sender=B, target=A, tx=number))))

    assert len(watch._acked) == monitors.RELAYED
