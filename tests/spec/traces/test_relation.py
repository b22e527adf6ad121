"""A specification as a relation: what some outcome explains is accepted, what none does is not, and a bound is no verdict."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.support.explained import explain_line
from tests.support.watched import simulated

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.spec import scuttlebutt
from peerproof.spec.core import Asked, Expired, Instant, NodeId, Received, Send, Table, outcomes
from peerproof.spec.scuttlebutt import Config, Delta, DeltaEntry, DigestEntry, DigestRequest, Peer, Round, State, UpdateLocal
from peerproof.spec.scuttlebutt.relation import narrow
from peerproof.spec.traces.relation import Bounds, Judgement, Observed, Opinion, Question, Relation

A, B, C, D = (NodeId(f"{name}:1") for name in "abcd")
NOW = Instant(1000)
PROTOCOL = RUNTIMES["scuttlebutt"]


def knowing(*others: NodeId, max_payload: int = 1400) -> State:
    """A node at a:1 that knows these."""
    state = scuttlebutt.initial(A, Config(detector=None, max_payload=max_payload)).state
    return replace(state, store=Table({**state.store, **dict.fromkeys(others, Peer())}))


def relation_of(*states: State, bounds: Bounds | None = None) -> Relation:
    """The relation of a node that is in one of these."""
    relation = Relation(scuttlebutt, narrow, bounds)
    relation.states = states
    return relation


@pytest.mark.parametrize("way", ["state", "messages"])
@pytest.mark.parametrize("seed", ["1", "2"])
def test_what_the_specification_did_is_explained_without_its_answers_of_chance(seed: str, way: str) -> None:
    relations: dict[str, Relation] = {}
    judged = 0
    for line in simulated("scuttlebutt", seed, 5, 12, 3, faults=Faults(loss=0.1)):
        relation = relations.setdefault(line.node, Relation(scuttlebutt, narrow))
        judged += 1
        assert explain_line(scuttlebutt, relation, line, way).opinion is Opinion.ACCEPTED, line
        assert relation.bound_hit == ""

    assert judged > 100
    assert len(relations) == 5


def test_a_message_that_no_choice_leads_to_is_rejected_with_what_was_allowed() -> None:
    state = knowing(B, C)
    wrong = (Send(D, DigestRequest((DigestEntry(A, 0),))),)

    judgement = relation_of(state).take(Expired(NOW, Round()), Observed(sends=wrong))

    assert judgement.opinion is Opinion.REJECTED
    assert {allowed["messages"][0]["send"]["to"] for allowed in judgement.allowed} == {B, C}


def after_a_round_unseen(bounds: Bounds | None = None) -> Relation:
    """A node that three others have told of themselves, after a round whose messages nobody saw."""
    relation = relation_of(scuttlebutt.initial(A, Config()).state, bounds=bounds)
    relation.take(Received(NOW, B, DigestRequest(tuple(DigestEntry(addr, 0) for addr in (B, C, D)))), Observed())
    assert relation.take(Expired(Instant(2000), Round()), Observed()).opinion is Opinion.ACCEPTED
    return relation


def answer_seen(relation: Relation, peer: NodeId, round_trip: int) -> Judgement:
    """What is said of an answer to the message of that round."""
    heartbeat = {"notify": {"type": "heartbeat", "peer": peer, "round_trip": round_trip}}
    return relation.take(Received(Instant(2050), peer, Delta(())), Observed(effects=(heartbeat,)))


def test_all_states_that_the_node_can_be_in_are_carried() -> None:
    """Any of three peers may have got the digest; a fourth event tells which."""
    relation = after_a_round_unseen()
    assert len(relation.states) == 3

    assert answer_seen(relation, C, 50).opinion is Opinion.ACCEPTED
    assert len(relation.states) == 1


def test_too_many_possible_states_are_no_verdict_when_nothing_is_left() -> None:
    relation = after_a_round_unseen(Bounds(states=2))
    assert len(relation.states) == 2

    judgement = answer_seen(relation, D, 51)

    assert judgement.opinion is Opinion.UNDETERMINED
    assert judgement.why == "more than 2 possible states"
    assert relation.start(A, Config(), Observed(state="of another node")).opinion is Opinion.REJECTED  # a fresh start is certain


def test_too_many_represented_states_are_no_verdict_when_nothing_is_left() -> None:
    relation = Relation(scuttlebutt, narrow, Bounds(states=2), lambda *_: map(knowing, (B, C, D)))
    relation.states = (knowing(B),)
    relation.take(Expired(NOW, Round()), Observed())

    judgement = relation.keep(lambda state: D in state.store)

    assert judgement.opinion is Opinion.UNDETERMINED
    assert judgement.why == "more than 2 possible states"


@pytest.mark.parametrize(
    ("event", "seen"),
    [
        (Asked(NOW, UpdateLocal("k", "v")), Observed(refused="too_large")),
        (Expired(NOW, Round()), Observed(effects=({"send": {"to": B, "message": {"type": "nonsense"}}},))),
    ],
    ids=["refused without a reason", "an unreadable effect"],
)
def test_what_cannot_be_is_rejected_and_not_raised(event: Any, seen: Observed) -> None:
    assert relation_of(knowing(B)).take(event, seen).opinion is Opinion.REJECTED


@pytest.mark.parametrize(
    ("seen", "opinion"),
    [
        (Observed(refused="entry does not fit"), Opinion.ACCEPTED),
        (Observed(sends=()), Opinion.ACCEPTED),
        (Observed(sends=(Send(B, Delta(())),)), Opinion.REJECTED),
        (Observed(effects=()), Opinion.REJECTED),
    ],
    ids=["in other words", "without a word", "something was sent", "all effects are known"],
)
def test_a_refusal_may_have_other_words_or_none(seen: Observed, opinion: Opinion) -> None:
    """No document says how a node refuses; but a trace of all effects says that it did."""
    event = Asked(NOW, UpdateLocal("k", "v" * 10_000))

    assert relation_of(knowing(B)).take(event, seen).opinion is opinion


def test_too_many_ways_for_chance_to_fall_are_no_verdict_when_none_was_right() -> None:
    """Without knowing which orders are alike, there are 3 * 4! of them."""
    relation = Relation(scuttlebutt, None, Bounds(tries=10))
    relation.states = (knowing(B, C, D),)

    judgement = relation.take(Expired(NOW, Round()), Observed(sends=()))

    assert judgement.opinion is Opinion.UNDETERMINED
    assert judgement.why == "more than 10 combinations of random choices"


@pytest.mark.parametrize("max_payload", [1400, 40, 22, 12])
def test_the_orders_that_stand_for_others_lead_to_all_that_the_others_lead_to(max_payload: int) -> None:
    """For whatever message some order leads to, the narrowed answers lead to the same steps as all orders do."""
    long = NodeId("a-long-address:1")
    state = knowing(B, C, long, max_payload=max_payload)
    event = Expired(NOW, Round())
    everything = [outcome.step for outcome in outcomes(partial(scuttlebutt.step, state, event))]
    assert len(everything) == 3 * 24

    for step in everything:
        sends = tuple(effect for effect in step.effects if isinstance(effect, Send))
        relation = relation_of(state)
        judgement = relation.take(event, Observed(sends=sends))
        agreeing = {other.state for other in everything if [e for e in other.effects if isinstance(e, Send)] == list(sends)}
        assert judgement.opinion is Opinion.ACCEPTED
        assert set(relation.states) == agreeing


def test_other_questions_are_not_narrowed() -> None:
    assert narrow(Question("round.partner", (B, C), 1, None, (), None)) is None


def test_what_is_known_of_the_state_excludes_the_others() -> None:
    one, other = knowing(B), knowing(C)
    relation = relation_of(one, other)

    assert relation.keep(lambda state: B in state.store).opinion is Opinion.ACCEPTED
    assert relation.states == (one,)
    assert relation.keep(lambda state: D in state.store).opinion is Opinion.REJECTED


def test_a_delta_changes_the_only_state() -> None:
    relation = relation_of(knowing(B))

    relation.take(Received(NOW, B, Delta((DeltaEntry(B, "k", "v", 1),))), Observed())

    (state,) = relation.states
    assert state.store[B].version == 1
