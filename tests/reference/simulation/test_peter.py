"""Rings of Peter nodes in virtual time: what is lost or doubled, with and without churn, and how it is counted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.reference.simulation.campaigns import figures, simulated

from peerproof.reference.protocols.peter.runtime import Deliveries, Figures, Found, depth_of
from peerproof.reference.protocols.wendy.runtime import digest
from peerproof.reference.simulation.campaign import Result
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.simulator import Connections, Simulation
from peerproof.spec import peter, wendy
from peerproof.spec.core import Duration, Instant, NodeId, Table
from peerproof.spec.peter import Publish, Row, State, Subscribe, Unsubscribe, id_of_topic
from peerproof.spec.stack import Stacked
from peerproof.spec.traces.replay import replay
from peerproof.spec.wendy import Config, Heartbeat, Id, Join, Leave, Node, id_of_text

A, B, C = NodeId("a:1"), NodeId("b:1"), NodeId("c:1")
TOPIC = "what is said here"


def campaign(nodes: int = 10, rounds: int = 40, **plan: Any) -> tuple[Result, list[str]]:
    return simulated("peter", nodes, rounds, "p", **{"updates": 10, "topics": 5, **plan})


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan", [{}, {"apart": 2, "rounds": 60}, {"faults": Faults(reordering=0.2)}], ids=["at once", "apart", "late"]
)
def test_as_long_as_nobody_goes_each_event_is_delivered_once(plan: dict[str, Any]) -> None:
    result, lines = campaign(**plan, check_every=50)

    found = figures(result)
    assert result.violations == ()
    assert (found["joined"], found["subscriptions"]) == (9, 20)
    assert found["routed"] == found["delivered"] == found["published"] == 100
    assert (found["wrong"], found["lost"], found["duplicates"], found["detached"]) == (0, 0, 0, 0)
    assert found["updates"] >= found["due"] > 300
    assert 0.5 < found["tree_depth"]["mean"] <= found["tree_depth"]["most"] <= 4
    assert 1 <= found["fan_out"]["mean"] <= found["fan_out"]["most"] <= 9
    assert found["messages"]["notify"] >= found["updates"] - 100
    assert sum(found["messages"][name] for name in ("publish", "notify")) > found["link_stress"]["most"] >= 10
    assert json.dumps(result.plain())
    assert replay(lines, peter)
    assert "0 lost; 0 twice" in result.text()


@pytest.mark.slow
def test_under_churn_losses_are_counted() -> None:
    result, lines = campaign(9, 30, churn=0.08, config={"heartbeat": 20_000})

    found = figures(result)
    assert found["joined"] > 6
    assert found["messages"]["unsubscribe"] > 0
    assert 0 < found["lost"] < found["due"] / 3
    assert replay(lines, peter)


def ring(count: int = 3, faults: Faults | None = None) -> tuple[Simulation, Figures]:
    """Nodes that have joined, without heartbeats."""
    simulation = Simulation(peter, "s", faults, connections=Connections(Duration(1_000), lambda _: False))
    found = Figures(simulation)
    simulation.notified = found.notify
    for node in (A, B, C)[:count]:
        simulation.start(node, Config(id_of_text(digest(node)), network_timeout=Duration(1_000), heartbeat=Duration(0)))
        if node != A:
            simulation.ask(node, Join(A))
        simulation.run(Instant(simulation.now + 10_000))
    return simulation, found


def test_who_has_not_been_subscribed_all_the_time_or_has_crashed_or_left_has_lost_nothing() -> None:
    simulation, found = ring()
    for node in (A, B, C):
        simulation.ask(node, Subscribe(TOPIC))
    simulation.run(Instant(simulation.now + 5_000))
    simulation.ask(B, Unsubscribe(TOPIC))
    simulation.crash(C)
    simulation.ask(A, Publish(TOPIC, b"1"))
    simulation.ask(B, Subscribe(TOPIC))
    simulation.run(Instant(simulation.now + 5_000))

    assert dict(found.plain())["due"] == 1
    assert dict(found.plain())["lost"] == 0
    assert found.deliveries.subscriptions == 2
    simulation.ask(A, Leave())
    assert found.deliveries.subscriptions == 1


def test_an_event_that_is_published_while_a_subscription_is_young_may_be_lost() -> None:
    simulation, found = ring(faults=Faults(least_delay=Duration(100), most_delay=Duration(100)))
    root = min((A, B, C), key=lambda node: wendy.Ring().rank(id_of_text(digest(node)), id_of_topic(TOPIC)))
    other = next(node for node in (A, B, C) if node != root)
    simulation.ask(other, Subscribe(TOPIC))
    simulation.ask(root, Publish(TOPIC, b"1"))
    simulation.run(Instant(simulation.now + 5_000))

    shown = dict(found.plain())
    assert (shown["due"], shown["lost"], shown["lost_new"]) == (1, 1, 1)
    assert "1 lost, 1 of them of subscriptions younger than a network timeout" in "\n".join(found.text())


def test_deliveries_are_counted_by_what_is_known_of_nodes() -> None:
    lives = {A: 1, B: 1, C: 1}
    kept = Deliveries(lambda node: lives.get(node, 0))
    for node in (A, B, C):
        kept.subscribe(node, "t", 0)
    kept.subscribe(A, "t", 5)  # which changes nothing
    kept.update(A, "t", b"1")  # before it is seen where from
    kept.publish("t", b"1", 10)
    kept.publish("t", b"2", 90)
    for _ in range(3):
        kept.update(B, "t", b"1")

    assert kept.tally(until=50, settled=0) == Found(due=3, lost=1, lost_new=0, duplicates=2)
    assert kept.tally(until=50, settled=11) == Found(due=3, lost=1, lost_new=1, duplicates=2)
    lives[C] = 2
    assert kept.tally(until=50, settled=0).lost == 0
    assert (kept.subscriptions, kept.event_count, kept.updates) == (2, 2, 4)
    kept.subscribe(C, "t", 60)
    kept.leave(B)
    assert kept.subscriptions == 2
    assert kept.tally(until=50, settled=0) == Found(due=1, lost=0, lost_new=0, duplicates=2)


def test_depth_is_that_of_a_tree_whose_parents_and_children_agree() -> None:
    topic = id_of_topic(TOPIC)
    nodes = {number: Node(Id(number), "h", "h", number) for number in range(1, 6)}
    rows = {
        1: Row(True, Table({Id(2): nodes[2]})),
        2: Row(False, Table({Id(3): nodes[3]}), nodes[1]),
        3: Row(True, parent=nodes[2]),
        4: Row(True, parent=nodes[1]),  # who knows nothing of it
        5: Row(True, parent=nodes[2]._replace(id=Id(9))),
    }
    config = Config(Id(1))
    upper = peter.initial(A, config).state.upper
    states: dict[Id, State] = {}
    for number, row in rows.items():
        tree = replace(upper, topics=Table({topic: row}))
        states[Id(number)] = Stacked(wendy.State(A, config), tree)

    assert [depth_of(states, Id(number), topic) for number in rows] == [0, 1, 2, None, None]
    circle = Row(True, Table({Id(1): nodes[1], Id(2): nodes[2]}), nodes[1])
    states[Id(1)] = Stacked(wendy.State(A, config), replace(upper, topics=Table({topic: circle})))
    assert depth_of(states, Id(3), topic) is None


def test_over_connections_one_message_of_a_pair_does_not_overtake_another() -> None:
    """Those that are held back hold up what comes behind them. [PA-19]"""
    simulation, _ = ring(2, Faults(reordering=0.3))
    arrived: list[tuple[NodeId, Any]] = []
    simulation.observers.append(lambda node, taken: arrived.append((node, taken.event)))
    origin = simulation._places[A]
    sent = [Heartbeat(wendy.Header(Node(Id(1), "h", "h", 1), Id(number))) for number in range(200)]
    for message in sent:
        origin.send(B, message)
        simulation.run(Instant(simulation.now + 3))
    simulation.run(Instant(simulation.now + 5_000))

    received = [event.message for node, event in arrived if node == B and hasattr(event, "sender")]
    assert [message for message in received if message in sent] == sent
    took = [event.took for node, event in arrived if node == A and hasattr(event, "took")]
    assert max(filter(None, took)) > 100_000
