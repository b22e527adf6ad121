"""SWIM as a relation: a log without answers of chance is explained, in clusters whose rounds have more orders than fit."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from tests.support.explained import explain_line, observed
from tests.support.watched import simulated

from peerproof.reference.simulation.faulty_network import Faults
from peerproof.spec import swim
from peerproof.spec.core import Expired, Instant, NodeId, Send, Table
from peerproof.spec.swim import Config, Incarnation, Ping, Quantum, Row, State, Status, Uuid
from peerproof.spec.swim.relation import narrow, unfold
from peerproof.spec.traces.relation import Bounds, Observed, Opinion, Relation
from peerproof.spec.traces.trace import Line, event_of


def lines_of(nodes: int, **plan: Any) -> list[Line]:
    """What the second node did."""
    return [line for line in simulated("swim", "r", nodes, 25, 3, faults=Faults(loss=0.1), **plan) if line.node == "n1:1"]


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "way"), [(3, "messages"), (12, "messages"), (12, "effects"), (5, "state")])
def test_what_a_node_did_is_explained_without_its_answers(nodes: int, way: str) -> None:
    """Also after a crash, with payloads, and with datagrams that are too small for all that they should carry."""
    relation = Relation(swim, narrow, Bounds(), unfold)
    for line in lines_of(nodes, crashes=((1, 8), (2, 10)), restarts=((1, 14),), config={"ae_size": 4, "max_datagram": 512}):
        assert explain_line(swim, relation, line, way).opinion is Opinion.ACCEPTED
        assert len(relation.states) <= 256
    assert relation.bound_hit == ""


@pytest.mark.slow
def test_a_log_that_says_the_state_now_and_then_is_explained() -> None:
    """What was one state for many orders is taken apart."""
    relation = Relation(swim, narrow, Bounds(), unfold)
    for number, line in enumerate(lines_of(7)):
        assert explain_line(swim, relation, line, "state" if number % 5 == 0 else "messages").opinion is Opinion.ACCEPTED


@pytest.mark.slow
def test_whoever_is_pinged_twice_in_a_round_is_found() -> None:
    """A quantum that pings again whom the quantum before it has pinged, though the round has others left."""
    lines = lines_of(7)
    relation = Relation(swim, narrow, Bounds(), unfold)
    before: list[Uuid] = []
    for line in lines:
        sends = observed(swim, line, "messages").sends or ()
        pinged = [send.message.target for send in sends if line.kind == "timer" and isinstance(send.message, Ping)]
        if relation.states and before and len(relation.states[0].vector) >= len(pinged) > 0:
            victim = relation.states[0].rows[before[0]]
            wrong = replace(sends[0].message, target=before[0])
            sends = (Send(NodeId(f"{victim.host}:{victim.port}"), wrong), *sends[1:])
            assert relation.take(event_of(swim, line), Observed(sends=sends)).opinion is Opinion.REJECTED
            return
        assert explain_line(swim, relation, line, "messages").opinion is Opinion.ACCEPTED
        before = pinged or before
    raise AssertionError("there is no such quantum")


def knowing(count: int) -> State:
    """A node that knows so many others."""
    state = swim.initial(NodeId("n:1"), Config(Uuid("00000000-0000-0000-0000-000000000000"))).state
    rows = {Uuid(f"00000000-0000-0000-0000-{n:012}"): Row("h", n, Status.NORMAL, Incarnation(0, n)) for n in range(1, count + 1)}
    return replace(state, rows=Table(rows))


def orders(states: tuple[State, ...], steps: int) -> set[tuple[Uuid, ...]]:
    """In which orders a round can ping, by the specification."""
    found: set[tuple[Uuid, ...]] = set()
    for state in states:
        for order in permutations(state.rows):
            after, pinged = state, []
            for _ in range(steps):
                step = swim.step(after, Expired(Instant(0), Quantum()), lambda *_, order=order: order)
                after = step.state
                sends = (effect.message for effect in step.effects if isinstance(effect, Send))
                pinged += [message.target for message in sends if isinstance(message, Ping)]
            found.add(tuple(pinged))
    return found


@pytest.mark.slow
def test_exactly_the_orders_of_a_round_are_explained() -> None:
    """With four others, of which three are pinged at first: all 24, and no other sequence of four."""
    state = replace(knowing(4), config=replace(knowing(4).config, ae_size=0))
    expected = orders((state,), 2)
    assert len(expected) == 24

    for sequence in permutations([*state.rows] * 2, 4):
        if len(set(sequence)) < 3:
            continue
        relation = Relation(swim, narrow, Bounds(), unfold)
        relation.states = (state,)
        opinions = []
        for part, first in ((sequence[:3], 1), (sequence[3:], 4)):
            pings = (Ping(state.uuid, Incarnation(0, first + n), target) for n, target in enumerate(part))
            sends = tuple(Send(NodeId(f"h:{state.rows[ping.target].port}"), ping) for ping in pings)
            opinions.append(relation.take(Expired(Instant(0), Quantum()), Observed(sends=sends)).opinion)
        assert (opinions == [Opinion.ACCEPTED] * 2) is (sequence in expected)


@pytest.mark.slow
def test_where_no_message_was_seen_a_bound_is_hit_and_no_verdict_given() -> None:
    relation = Relation(swim, narrow, Bounds(states=50), unfold)
    relation.states = (knowing(9),)

    relation.take(Expired(Instant(0), Quantum()), Observed())
    stranger = Uuid("00000000-0000-0000-0000-0000000000ff")
    seen_then = Observed(sends=(Send(NodeId("x:1"), Ping(stranger, Incarnation(0, 1), stranger)),))
    judgement = relation.take(Expired(Instant(0), Quantum()), seen_then)

    assert judgement.opinion is Opinion.UNDETERMINED
    assert "50 possible states" in judgement.why
