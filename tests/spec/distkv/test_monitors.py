"""Rules for messages alone: what nodes really say keeps to them, and each of them is broken by something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.spec.distkv.samples import chain, ping, sets, ticks, update

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec import distkv
from peerproof.spec.core import EVERYBODY, Duration, NodeId
from peerproof.spec.distkv import Config, Info, Message
from peerproof.spec.distkv.model import monitors
from peerproof.spec.distkv.model.monitors import RULES, monitor
from peerproof.spec.traces.observed import RuleViolation, Seen
from peerproof.spec.traces.trace import Line, parse

CLOCK = 1_000_000  #: microseconds


def said(message: Message, at: float | None = 0) -> Seen:
    """The node n says this to everybody, after so many clocks."""
    return Seen(True, EVERYBODY, message, 0, None if at is None else int(at * CLOCK))


def got(message: Message, at: float | None = 0) -> Seen:
    return Seen(False, NodeId("somebody"), message, 0, None if at is None else int(at * CLOCK))


def info(of: str = "n1", tock: int = 1, **members: Any) -> Info:
    return Info(chain(f"{of} …"), tock, **members)


def broken(*seen: Seen, **config: Any) -> list[str]:
    """The names of the rules that a node breaks."""
    watch = monitor(NodeId("n"), Config(**{"clock": 1000, **config}))
    return [violation.rule.name for each in seen for violation in watch.see(each)]


BREACHES = {
    "WithinLimit": [said(update("n1", "x" * 500))],
    "ChainsBounded": [said(ping("n1 b1 a1 b1 a1"))],
    "OwnName": [said(ping("n1", 1)), said(ping("m1", 2))],
    "TockRises": [said(ping("n1", 5)), said(info(tock=5))],
    "TicksHaveNoGaps": [said(ping("n1", 1)), said(update("n2", tock=2)), said(update("n4", tock=3))],
    "TickShown": [said(ping("n1", 1)), said(update("n2", tock=2)), said(info("n1", 3))],
    "SentAsItWas": [got(update("a1", "x", 5)), said(update("a1", "x", 6))],
    "BasedOnPing": [got(ping("a1", 1)), said(ping("n1 a1", 2), 2), said(ping("n1 a1", 3), 3)],
    "ZeroIsSilent": [said(ping("n0", 1)), got(ping("z0 y0 a5", 2)), said(ping("n0 z0 y0 a5", 3), 2)],
    "TicksGrow": [said(info(tock=1, ticks=ticks(a=3, n=1))), said(info(tock=2, ticks=ticks(a=2, n=1)))],
    "KnownWasAsked": [got(info("a1", missing=sets(b=(1,)))), said(info(tock=3, known=sets(b=(1, 2))), 3)],
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_rule_is_broken(name: str) -> None:
    assert broken(*BREACHES[name]) == [name]


def test_each_rule_is_broken_by_something() -> None:
    assert set(BREACHES) == {rule.name for rule in RULES}


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param([got(ping("a1", 9)), said(ping("n1", 5), 0.9)], id="a message that waits"),
        pytest.param([said(ping("n1", 9)), said(ping("n0", 2))], id="a node that has lost its data"),
        pytest.param([said(ping("n0", 9)), got(ping("a1", 3)), said(ping("n0 a1", 4), 2)], id="one that had no tick either"),
        pytest.param(
            [
                said(ping("n1", 1)),
                said(update("n2", "x", 2)),
                said(ping("n0", 1)),
                said(ping("n1", 2)),
                said(update("n2", "y", 3)),
            ],
            id="a tick that is given again, because nobody knew it",
        ),
        pytest.param(
            [said(ping("n1", 1)), said(update("n2", tock=2)), got(ping("a1 n5", 1)), said(ping("n5", 3))],
            id="a tick of its own that it has learnt of",
        ),
        pytest.param([said(ping("n3", 1)), said(update("n3 a1", tock=1)), said(update("n1", tock=1))], id="old changes"),
        pytest.param([got(update("a1 b1 c1", 5)), said(update("a1 b1 …", 5))], id="a chain that was cut to be kept"),
        pytest.param([got(update("a1", 5)), got(update("a1", 6)), said(update("a1", 6))], id="a change of which there are two"),
        pytest.param([said(ping("n1 a1", 1)), said(ping("n1 n1 a1", 2))], id="a ping before the log began"),
        pytest.param([said(ping("n1", 1)), got(ping("a1 n1", 2)), said(ping("n1 a1 n1", 3), 3)], id="a ping that is next"),
        pytest.param(
            [said(ping("n1", 1)), got(ping("a1 n1", 2), 2), said(ping("n1 n1", 3), 2.5), said(ping("n1 a1 n1", 4), 4)],
            id="a ping that waits while the node pings",
        ),
        pytest.param([said(ping("n0", 1)), got(ping("z0 a5 b5", 2)), said(ping("n0 z0 a5 …", 3), 2)], id="a chain that is long"),
        pytest.param([said(info(tock=1, known=sets(b=(1,))), 2)], id="an answer to what came before the log began"),
        pytest.param([said(info(tock=1, ticks=ticks(a=3))), said(info(tock=2, ticks=ticks(b=1)))], id="ticks in two messages"),
    ],
)
def test_this_breaks_no_rule(seen: list[Seen]) -> None:
    assert broken(*seen, ping_length=3 if "…" in str(seen) else 4) == []


def test_without_times_messages_are_in_the_order_of_being_sent() -> None:
    assert broken(got(ping("a1", 9), None), said(ping("n1", 5), None)) == ["TockRises"]
    assert broken(said(info(tock=1, known=sets(b=(1,))), None)) == ["KnownWasAsked"]


def lines(seed: str, **plan: Any) -> list[Line]:
    """The trace of a cluster."""
    written: list[str] = []
    campaign.run(Campaign(RUNTIMES["distkv"], {"clock": 400}, 5, 80, seed, 5, **plan), written.append)
    return [parse(line) for line in written]


def complaints(trace: list[Line], *, with_starts: bool) -> Iterator[RuleViolation]:
    """What monitors of all nodes say, with times; they are told of starts, or one watches a node in all its lives."""
    watching: dict[str, Any] = {}
    read = distkv.MESSAGE.value
    for line in trace:
        if line.kind == "start" and (with_starts or line.node not in watching):
            watching[line.node] = monitor(NodeId(line.node), distkv.CONFIG.value(line.args))
        messages = [(False, line.args)] if line.kind == "recv" else []
        messages += [(True, effect["send"]["message"]) for effect in line.effects if "send" in effect]
        for is_sent, plain in messages:
            yield from watching[line.node].see(Seen(is_sent, EVERYBODY, read(plain), 0, line.t_us))


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param({}, id="nothing goes wrong"),
        pytest.param({"partition": (20, 40)}, id="a split"),
        pytest.param({"faults": Faults(loss=0.1, duplication=0.1)}, id="losses"),
        pytest.param({"crashes": ((2, 20), (3, 25)), "restarts": ((2, 30), (3, 60))}, id="restarts"),
    ],
)
@pytest.mark.parametrize("with_starts", [True, False])
def test_what_nodes_say_breaks_no_rule(plan: dict[str, Any], with_starts: bool) -> None:
    trace = lines("m", **plan)

    assert sum("send" in effect for line in trace for effect in line.effects) > 60
    assert list(complaints(trace, with_starts=with_starts)) == []


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CHANGES", "WAITING", "PINGS", "RANGES"):
        monkeypatch.setattr(monitors, name, 10)
    watch = monitor(NodeId("n"), Config(clock=Duration(1000)))
    for number in range(1, 50):
        for seen in (got(update(f"a{number}")), got(ping(f"a{number}", number)), got(info("a1", missing=sets(b=(2 * number,))))):
            assert list(watch.see(seen)) == []

    kept = watch._life.waiting, watch._changes, watch._life.pings
    assert [len(each) for each in kept] == [10] * 3
    assert len(watch._asked[NodeId("b")].begins) <= 10
    assert list(watch.see(said(info(tock=99, known=sets(b=(2, 48, 98))), 5))) == []
