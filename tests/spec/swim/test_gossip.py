"""The queue of events, to how many they go, and what fits into a datagram."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.swim import MESSAGE, AntiEntropy, Payload, Ping, State, Uuid, Vector
from peerproof.spec.swim.gossip import enqueue, fanout
from peerproof.spec.swim.messages import COUNTER_MAX, ClusterEventVector, Incarnation
from peerproof.spec.swim.state import Queued

from .nodes import B, C, D, E, data, member, members, messages, node, ping, quantum, queue, received, row, said

FANOUT = {0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 5: 3, 8: 3, 9: 4, 16: 4, 17: 5, 1024: 10, 1025: 11}


@pytest.mark.parametrize(("nodes", "expected"), FANOUT.items())
def test_sc_37_the_fanout_is_log2_rounded_up(nodes: int, expected: int) -> None:
    assert fanout(nodes) == expected


@given(st.integers(2, 2**70))
def test_the_fanout_is_the_least_power_of_two_that_is_enough(nodes: int) -> None:
    assert 2 ** (fanout(nodes) - 1) < nodes <= 2 ** fanout(nodes)


def news(message: object) -> list[Vector]:
    """The events in a message."""
    return [v for v in getattr(message, "vectors", ()) if not isinstance(v, (AntiEntropy, Payload))]


def four(*events: str, **config: int) -> State:
    """A with four live neighbours, and these events in its queue."""
    rows = dict.fromkeys((B, C, D, E), "normal 1 1")
    return node(rows, config, queue=tuple(Queued(said(text), frozenset()) for text in events))


def test_sc_38_an_event_is_carried_to_fanout_nodes_and_then_no_more() -> None:
    state = four("dead E 1 1")  # five nodes: fanout 3

    first = quantum(state)
    second = quantum(first.state)

    assert [news(message) for message in messages(first)] == [[said("dead E 1 1")]] * 3
    assert first.state.queue == ()
    assert [news(message) for message in messages(second)] == [[]]


def test_the_node_that_an_event_is_about_gets_it_and_is_not_counted() -> None:
    state = four("suspicious B 1 1")

    first = quantum(state)  # to B, C and D

    assert [news(message) for message in messages(first)] == [[said("suspicious B 1 1")]] * 3
    (entry,) = first.state.queue
    assert entry.recipients == {B, C, D}
    second = quantum(first.state)  # to E
    assert [news(message) for message in messages(second)] == [[said("suspicious B 1 1")]]
    assert second.state.queue == ()


def test_an_event_is_not_sent_to_the_same_node_twice() -> None:
    state = node({B: "normal 1 1"}, queue=(Queued(said("normal B"), frozenset()),))

    first = quantum(state)
    second = quantum(first.state)

    assert [news(message) for message in messages(first)] == [[said("normal B")]]
    assert [news(message) for message in messages(second)] == [[]]


def test_events_go_out_in_the_order_of_the_queue_then_anti_entropy_then_the_payload() -> None:
    state = replace(four("dead E 1 1", "normal D", "suspicious C", ae_size=1), payload=data(k=1))

    message = messages(quantum(state))[0]

    kinds = [type(vector).__name__ for vector in message.vectors]
    assert kinds == ["Dead", "Normal", "Suspicious", "AntiEntropy", "Payload"]


def test_acks_carry_the_queue_too_and_no_payload() -> None:
    state = replace(four("dead E 1 1", ae_size=1), payload=data(k=1))

    (answer,) = messages(received(state, ping(B, 1, 1)))

    assert [type(v).__name__ for v in answer.vectors] == ["Dead", "AntiEntropy"]


def test_a_newer_state_replaces_the_older_goes_to_the_end_and_has_been_sent_to_nobody() -> None:
    state = node(queue=(Queued(said("normal C"), frozenset({B})), Queued(said("normal D"), frozenset({B}))))

    after = enqueue(state, said("dead C"))

    assert after.queue == (Queued(said("normal D"), frozenset({B})), Queued(said("dead C"), frozenset()))


def test_sc_32_five_events_about_a_node_leave_one_in_the_queue() -> None:
    state = node({B: "normal 1 1", C: "joining 1 1"})
    told = [said(text) for text in ("normal C", "suspicious C", "dead C 1 1", "joining C 2 1", "normal C 2 2")]

    after = received(state, ping(B, 1, 1, *told)).state

    assert queue(after) == [said("normal C")]
    assert after.rows[C].incarnation == Incarnation(2, 2)


def test_with_emit_incarnation_events_say_what_they_are_about() -> None:
    state = node({B: "normal 1 1", C: "normal 1 7"}, {"emit_incarnation": True})

    after = received(state, ping(B, 1, 1, said("suspicious C"))).state

    assert queue(after) == [said("suspicious C 1 7")]


def test_what_does_not_change_status_or_restart_is_not_queued() -> None:
    state = node({B: "normal 1 1", C: "normal 1 7"})

    after = received(state, ping(B, 1, 2, said("normal C"), members(member(C, 1, 8), member(D, 1, 1)))).state

    assert queue(after) == []  # nor the row of D, which anti-entropy has made [SA-49]
    assert set(after.rows) == {B, C, D}


def fullest(limit: int) -> State:
    """A node with more to say than fits."""
    others = [Uuid(f"00000000-0000-4000-8000-{number:012}") for number in range(60)]
    rows = {other: row(B, "normal 1 1") for other in others} | {B: row(B, "normal 1 1")}
    events = tuple(Queued(replace_node(said("dead C 1 1"), other), frozenset()) for other in others)
    return node(rows, {"max_datagram": limit, "ae_size": 5}, queue=events, payload=data(k="v" * 100))


def replace_node(vector: ClusterEventVector, other: Uuid) -> ClusterEventVector:
    """The same of another node."""
    return replace(vector, node=other)


@pytest.mark.parametrize("limit", [512, 513, 700, 1432])
def test_what_does_not_fit_stays_queued_as_if_the_datagram_had_never_been(limit: int) -> None:
    state = fullest(limit)

    taken = quantum(state)

    for message in messages(taken):
        assert isinstance(message, Ping)
        assert len(MESSAGE.encode(message)) <= limit
        carried = news(message)
        (missing, *_) = [entry.event for entry in state.queue if entry.event not in carried]
        assert carried == [entry.event for entry in state.queue][: len(carried)]  # it ends at the first that does not fit
        assert len(MESSAGE.encode(replace(message, vectors=(*carried, missing)))) > limit
    first = messages(taken)[0]
    for entry in taken.state.queue:
        assert (first.target in entry.recipients) == (entry.event in news(first))


def test_maps_of_anti_entropy_are_left_out_from_the_end_and_a_payload_as_a_whole() -> None:
    rows = {other: row(other, "normal 1 1") for other in (B, C, D, E)}
    long = {other: replace(known, host=f"{other[0] * 200}") for other, known in rows.items()}
    state = node(long, {"max_datagram": 512, "ae_size": 3}, payload=data(k="v" * 300))

    (message, *_) = messages(quantum(state))

    assert isinstance(message, Ping)
    (part,) = [v for v in message.vectors if isinstance(v, AntiEntropy)]
    assert [m.uuid for m in part.members] == [C]
    assert (
        len(MESSAGE.encode(replace(message, vectors=(members(part.members[0], member(D, 1, 1)._replace(host="4" * 200)),)))) > 512
    )
    assert not [v for v in message.vectors if isinstance(v, Payload)]


def test_sa_28_anti_entropy_is_of_live_rows_without_the_receiver() -> None:
    rows = {B: "normal 1 1", C: "suspicious 1 2", D: "dead 1 3", E: "leave 1 4"}

    (answer,) = messages(received(node(rows, {"ae_size": 9}), ping(B, 1, 1)))

    assert answer.vectors[-1:] == (members(member(C, 1, 2)),)


def test_sa_50_who_is_no_live_row_gets_the_ack_alone() -> None:
    for known in ("leave 1 1", None):
        rows = {C: "normal 1 1", **({B: known} if known else {})}
        state = node(rows, {"ae_size": 2}, queue=(Queued(said("dead D"), frozenset()),))
        (answer,) = messages(received(state, ping(B, 1, 1)))
        assert answer.vectors == ()


def test_the_first_datagram_of_a_life_bears_1_and_each_one_more() -> None:
    state = replace(node({B: "normal 1 1", C: "normal 1 1"}), incarnation=Incarnation(1, 0))

    sent = messages(quantum(state))

    assert [message.incarnation for message in sent] == [Incarnation(1, 1), Incarnation(1, 2)]


def test_at_the_end_of_tx_a_node_goes_on_in_the_next_life() -> None:
    rows = {B: row(B, "normal 1 1", unanswered=(5,)), C: row(C, "normal 1 1")}
    state = replace(node(rows), incarnation=Incarnation(1, COUNTER_MAX - 1))

    taken = quantum(state)

    assert [message.incarnation for message in messages(taken)] == [Incarnation(1, COUNTER_MAX), Incarnation(2, 1)]
    assert taken.state.rows[B].unanswered == ()  # of the life before
    assert taken.state.rows[C].unanswered == (1,)


def test_with_both_counters_at_the_end_nothing_is_sent_and_nobody_is_blamed_for_it() -> None:
    rows = {B: row(B, "normal 1 1"), C: row(C, "suspicious 1 1", indirect_misses=1)}
    state = replace(node(rows), incarnation=Incarnation(COUNTER_MAX, COUNTER_MAX), queue=(Queued(said("normal B"), frozenset()),))
    before = state

    for _ in range(6):
        taken = quantum(state)
        assert messages(taken) == []
        state = taken.state

    assert state.rows == before.rows
    assert state.queue == before.queue
    assert not state.isolated
    assert messages(received(state, ping(B, 1, 2))) == []
