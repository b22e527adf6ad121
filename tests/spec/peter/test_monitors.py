"""Rules for messages alone: what nodes really say keeps to them, and each of those of trees is broken by something."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spec.watched import arrivals, complaints_inside, complaints_on_the_wire
from tests.spec.wendy.nodes import h, peer, place

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec import peter
from peerproof.spec.core import NodeId
from peerproof.spec.peter import MESSAGE, Config, Message, NotifyMessage, PublishMessage, SubscribeMessage, UnsubscribeMessage
from peerproof.spec.peter.model import monitors
from peerproof.spec.peter.model.monitors import RULES, monitor
from peerproof.spec.peter.senders import Senders
from peerproof.spec.peter.tree import MOST_HOPS
from peerproof.spec.traces.observed import Seen
from peerproof.spec.traces.trace import Line, parse
from peerproof.spec.wendy import Header, Heartbeat, Versions
from peerproof.spec.wendy.model.monitors import RULES as WENDY_RULES

SECOND = 1_000_000
TOPIC = h("33")
BEAT = Heartbeat(Header(peer("40"), h("40"), Versions(1, 1, 1)))


def header(of: str = "40", hop: int = 0) -> Header:
    return Header(peer(of), TOPIC, Versions(1, 1, 1), hop=hop)


def said(message: Message, at: float | None = 0, to: str = "70") -> Seen:
    """The node with id 40 says this to another, at this second."""
    return Seen(True, place(to), message, len(MESSAGE.encode(message)), None if at is None else int(at * SECOND))


def got(message: Message, at: float | None = 0, of: str = "70") -> Seen:
    return Seen(False, place(of), message, len(MESSAGE.encode(message)), None if at is None else int(at * SECOND))


def broken(*seen: Seen, **config: Any) -> list[str]:
    """The names of the rules that a node breaks."""
    watch = monitor(place("40"), Config(h("40"), **config))
    return [violation.rule.name for each in seen for violation in watch.see(each)]


def sub(of: str = "40") -> SubscribeMessage:
    return SubscribeMessage(header(of))


def unsub(of: str = "40") -> UnsubscribeMessage:
    return UnsubscribeMessage(header(of))


def event(hop: int, of: str = "20", value: bytes = b"x") -> PublishMessage:
    return PublishMessage(header(of, hop), value)


def copy(hop: int, of: str = "40", value: bytes = b"x") -> NotifyMessage:
    return NotifyMessage(header(of, hop), value)


BREACHES = {
    "LastHop": [said(BEAT), said(copy(1, "70"), to="80")],
    "UnsubscribedOnce": [said(unsub()), said(unsub(), 1)],
    "ToChildren": [got(sub("70")), got(unsub("70"), 1), said(copy(0), 62)],
    "NotBack": [got(copy(1, "70")), said(copy(2))],
    "CopyHopsCounted": [got(event(1)), said(copy(3))],
    "CopiesEnd": [said(copy(MOST_HOPS))],
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_rule_is_broken(name: str) -> None:
    assert broken(*BREACHES[name]) == [name]


def test_each_rule_of_trees_is_broken_by_something() -> None:
    assert set(BREACHES) == {rule.name for rule in RULES} - {rule.name for rule in WENDY_RULES}


def test_what_wendy_promises_is_held_to_also_here() -> None:
    """Also of events on their way, although an application is asked about each."""
    before, after = (Heartbeat(Header(peer("40"), h("40"), Versions(n, n, n))) for n in (9, 5))
    assert broken(said(before), said(after, 11)) == ["VersionsGrow"]
    assert broken(said(before), said(sub("70"), to="80")) == ["OneSender", "LastHop"]
    assert broken(got(event(0)), said(event(2)), is_consulted=True) == ["HopsCounted"]


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param([said(BEAT), said(event(1), to="80")], id="an event that is passed on"),
        pytest.param([said(unsub()), said(sub()), said(unsub())], id="a change of mind"),
        pytest.param([said(unsub()), said(unsub(), to="80")], id="another parent"),
        pytest.param([said(sub()), said(sub())], id="a parent that has come again"),
        pytest.param([got(unsub("70"), 1), said(copy(0), 60)], id="a copy that waited"),
        pytest.param([got(unsub("70")), got(sub("70"), 1), said(copy(0), 99)], id="a child that came back"),
        pytest.param([got(event(0)), said(copy(1)), said(copy(1), to="80")], id="a meeting point"),
        pytest.param([got(copy(1, "70")), got(copy(1, "80"), of="80"), said(copy(2))], id="two parents"),
        pytest.param([got(copy(1, "70")), got(event(1)), said(copy(2))], id="an event that came both ways"),
        pytest.param([got(event(0)), said(copy(0))], id="an event of the node's own that is alike"),
        pytest.param([said(copy(7))], id="an event that came before the capture began"),
        pytest.param([said(copy(MOST_HOPS - 1))], id="the last copy"),
    ],
)
def test_this_breaks_no_rule(seen: list[Seen]) -> None:
    assert broken(*seen) == []


def test_without_times_messages_are_in_the_order_of_being_sent() -> None:
    assert broken(got(sub("70"), None), got(unsub("70"), None), said(copy(0), None)) == ["ToChildren"]


def lines(**plan: Any) -> list[Line]:
    """The trace of a ring."""
    written: list[str] = []
    plan = {"topics": 3, "config": {"heartbeat": 20_000}, **plan}
    campaign.run(Campaign(RUNTIMES["peter"], plan.pop("config"), 7, 50, "m", 6, **plan), written.append)
    return [parse(line) for line in written]


CHURN: dict[str, Any] = {"apart": 2, "churn": 0.05}


@pytest.mark.parametrize("plan", [{}, CHURN, {"partition": (20, 35)}], ids=["all at once", "churn", "partition"])
def test_what_nodes_say_breaks_no_rule(plan: dict[str, Any]) -> None:
    """Neither where all of it is seen as it arrives, nor where each node says in its order what it has sent."""
    trace = lines(**plan)
    assert 2 * sum(isinstance(message, NotifyMessage) for _, _, message, _ in arrivals(peter, trace)) > 100
    assert complaints_on_the_wire(peter, monitor, Config(h("0")), trace) == []
    assert complaints_inside(peter, monitor, trace) == []


def test_who_has_sent_a_message_is_told_by_messages() -> None:
    """Whatever the port that it comes from; also who passes on an event that another has published."""
    senders = Senders()
    found = [
        (source, senders.sender(message, NodeId(f"{source.rpartition(':')[0]}:55555"), NodeId(target)))
        for source, target, message, _ in arrivals(peter, lines(**CHURN))
    ]

    assert [said for _, said in found] == [source for source, _ in found]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitors, "RELATIONS", 20)
    monkeypatch.setattr(monitors, "EVENTS", 10)
    watch = monitor(place("40"), Config(h("40")))
    for number in range(50):
        other = f"{number:02x}8"
        for seen in (said(sub(), to=other), got(sub(other), of=other), got(event(0, value=bytes([number])))):
            assert list(watch.see(seen)) == []

    assert (len(watch._asked), len(watch._children), len(watch._came)) == (20, 20, 10)
