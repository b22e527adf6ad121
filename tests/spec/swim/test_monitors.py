"""Rules for messages alone: what nodes really say keeps to them, and each of them is broken by something."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec.core import Duration, NodeId
from peerproof.spec.swim import (
    CONFIG,
    MESSAGE,
    Ack,
    AntiEntropy,
    Config,
    Dead,
    Incarnation,
    IndirectAck,
    IndirectPing,
    Joining,
    Member,
    Message,
    Normal,
    Payload,
    Ping,
    Probe,
    ProbeAck,
    Suspicious,
    Uuid,
    Vector,
)
from peerproof.spec.swim.model import monitors
from peerproof.spec.swim.model.monitors import RULES, monitor
from peerproof.spec.traces.observed import Seen
from peerproof.spec.traces.trace import parse

A, B, C, D = (Uuid(f"00000000-0000-0000-0000-00000000000{name}") for name in "abcd")
HERE, THERE = NodeId("a:1"), NodeId("b:1")


def ping(*vectors: Vector, tx: int = 1, sender: Uuid = A, target: Uuid = B) -> Ping:
    return Ping(sender, Incarnation(0, tx), target, vectors)


def ack(of: int, *vectors: Vector, tx: int = 1, sender: Uuid = A, target: Uuid = B) -> Ack:
    return Ack(sender, Incarnation(0, tx), target, of, vectors)


def listing(*nodes: Uuid, tagged: bool = True) -> AntiEntropy:
    return AntiEntropy(tuple(Member("h", 1, node, 0, 5) for node in nodes), tagged)


def got(message: Message, peer: NodeId = THERE) -> Seen:
    return Seen(False, peer, message, len(MESSAGE.encode(message)))


def said(message: Message, peer: NodeId = THERE) -> Seen:
    return Seen(True, peer, message, len(MESSAGE.encode(message)))


def broken(*seen: Seen, **config: Any) -> list[str]:
    """The names of the rules that a node breaks."""
    watch = monitor(HERE, Config(A, **config))
    return [violation.rule.name for each in seen for violation in watch.see(each)]


@pytest.mark.parametrize(
    "faults",
    [Faults(), Faults(loss=0.3), Faults(duplication=0.3), Faults(reordering=0.3, most_delay=Duration(400))],
    ids=["none", "loss", "duplication", "reordering"],
)
@pytest.mark.parametrize("config", [{}, {"emit_incarnation": True, "ae_size": 5}, {"max_datagram": 512}], ids=str)
def test_what_nodes_say_breaks_no_rule(faults: Faults, config: dict[str, Any]) -> None:
    lines: list[str] = []
    plan = Campaign(RUNTIMES["swim"], config, 6, 30, "m", 6, faults, crashes=((1, 8),), restarts=((1, 20),))
    campaign.run(plan, lines.append)
    watches: dict[str, monitors.SwimMonitor] = {}
    seen = 0
    for line in map(parse, lines):
        if line.kind == "start":
            watches.setdefault(line.node, monitor(NodeId(line.node), CONFIG.value(line.args)))
        messages = [got(MESSAGE.value(line.args), NodeId(line.peer or ""))] if line.kind == "recv" else []
        sends = [effect["send"] for effect in line.effects if "send" in effect]
        messages += [said(MESSAGE.value(send["message"]), NodeId(send["to"])) for send in sends]
        for message in messages:
            seen += 1
            assert list(watches[line.node].see(message)) == []

    assert seen > 500


ASKED = got(ping(sender=B, target=A, tx=7))
ANSWERED = said(ack(7))
WANTED = got(ping(IndirectPing(C, "h", 1), sender=B, target=A))
CAME = got(ack(3, sender=C, target=A, tx=9), NodeId("c:1"))
PASSED = said(ping(IndirectAck(C, Incarnation(0, 9))))

BREACHES = {
    "WithinLimit": [said(ping(Payload('{"a":"' + "x" * 500 + '"}')))],
    "CounterGrows": [said(ping(tx=5)), said(ping(tx=4))],
    "OneNumber": [said(ping(tx=5)), said(ping(tx=5, target=C))],
    "AckOfPing": [ASKED, ANSWERED, said(ack(6, tx=2))],
    "AckOfOwnPing": [got(ping(sender=B, target=C, tx=7)), ANSWERED],
    "ProbeAckOfProbe": [
        got(Probe(B, Incarnation(0, 3))),
        said(ProbeAck(A, Incarnation(0, 1), 3)),
        said(ProbeAck(A, Incarnation(0, 2), 4)),
    ],
    "PastIsTold": [ASKED, said(ack(7, Dead(B, Incarnation(0, 7))))],
    "AckCarries": [ASKED, said(ack(7, Payload("{}")))],
    "MembersAreOthers": [said(ping(listing(C, B)))],
    "FewMembers": [said(ping(listing(C, D, Uuid(C.replace("c", "e")))))],
    "OneEventOfNode": [said(ping(Normal(C), Suspicious(C)))],
    "IntroducesAlone": [said(ping(Joining(A, Incarnation(0, 1), "h", 1), listing(C)))],
    "UntaggedIsWelcome": [said(ping(listing(C, tagged=False)))],
    "RelayIsAnother": [said(ping(IndirectPing(B, "h", 1)))],
    "IndirectAckOfAck": [WANTED, CAME, PASSED, said(ping(IndirectAck(D, Incarnation(0, 9)), tx=2))],
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_rule_is_broken(name: str) -> None:
    config = {"max_datagram": 512} if name == "WithinLimit" else {}

    assert broken(*BREACHES[name], **config) == [name]


def test_each_rule_is_broken_by_something() -> None:
    assert set(BREACHES) == {rule.name for rule in RULES}


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param([said(ack(7))], id="an answer to what was said before the capture began"),
        pytest.param([PASSED], id="an indirect ack that was asked for before the capture began"),
        pytest.param([ASKED, ANSWERED, ASKED, said(ack(7, tx=2))], id="a ping that comes twice"),
        pytest.param([ASKED, ANSWERED, ANSWERED], id="a capture that has a datagram twice"),
        pytest.param([ASKED, said(ack(7, Dead(B, Incarnation(0, 8))))], id="a ping from the past"),
        pytest.param([said(ping(tx=5)), said(Ping(A, Incarnation(1, 1), B))], id="a restart"),
        pytest.param([said(ping(tx=5)), said(ping(sender=D))], id="another node at the same address"),
        pytest.param(
            [ASKED, said(ack(7, Joining(B, Incarnation(0, 7), "h", 1), listing(C, tagged=False)))], id="the welcome of a joiner"
        ),
    ],
)
def test_this_breaks_no_rule(seen: list[Seen]) -> None:
    assert broken(*seen) == []


def test_a_number_that_went_back_is_told_once() -> None:
    assert broken(said(ping(tx=9)), said(ping(tx=2)), said(ping(tx=3))) == ["CounterGrows"]


def test_the_memory_of_what_is_passed_on_is_bounded() -> None:
    watch = monitor(HERE, Config(A))
    for number in range(monitors.RELAYED + 10):
        list(watch.see(got(ack(1, sender=B, target=A, tx=number))))

    assert len(watch._acked) == monitors.RELAYED
