"""Rounds: who is pinged when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from peerproof.spec.core import Send, SetTimer
from peerproof.spec.swim import LeaveNode, Quantum, RemoveNode, Uuid

from .nodes import A, B, C, D, E, asked, messages, node, ping, place, quantum, queue, received, row, said, sent


def order(*nodes: Uuid) -> Any:
    """Chance that shuffles so."""

    def pick(why: str, among: Iterable[Any], some: int = 1) -> tuple[Any, ...]:
        options = sorted(among)
        return tuple(n for n in nodes if n in options) if why == "round.order" else tuple(options[:some])

    return pick


def pinged(taken: Any) -> list[Uuid]:
    """Who is pinged in a step."""
    return [message.target for message in messages(taken)]


def test_sc_39_a_round_goes_through_the_shuffled_vector_and_the_next_one_through_another() -> None:
    state = node({B: "normal 1 1", C: "normal 1 1", D: "normal 1 1"})  # four nodes: fanout 2
    quanta = []
    for vector in ((C, B, D), (), (D, C, B), ()):
        taken = quantum(state, order(*vector))
        state = taken.state
        quanta.append(pinged(taken))

    assert quanta == [[C, B], [D], [D, C], [B]]


@pytest.mark.parametrize("others", [1, 2, 3, 4, 5, 8, 9, 20])
def test_in_a_round_everybody_is_pinged_exactly_once(others: int) -> None:
    uuids = [Uuid(f"{number:08}-0000-4000-8000-000000000000") for number in range(others)]
    state = node({uuid: row(B, "normal 1 1") for uuid in uuids})
    random = Random(others)

    def pick(why: str, among: Collection[Any], some: int = 1) -> tuple[Any, ...]:
        return tuple(random.sample(sorted(among), min(some, len(among))))

    for _ in range(3):
        counts: Counter[Uuid] = Counter()
        while len(counts) < others or state.vector:
            taken = quantum(state, pick)
            counts.update(pinged(taken))
            state = taken.state
            state = replace(state, heard=True, answered=state.pinged)  # nobody is suspected
        assert set(counts.values()) == {1}
        assert len(counts) == others


def test_suspicious_nodes_are_pinged_and_dead_ones_and_those_that_have_left_are_not() -> None:
    state = node({B: "joining 1 1", C: "suspicious 1 1", D: "dead 1 1", E: "leave 1 1"})

    assert pinged(quantum(state))[-2:] == [B, C]  # before them an indirect ping for C, through B
    assert D not in pinged(quantum(state))
    assert E not in pinged(quantum(state))


def test_the_last_quantum_of_a_round_is_not_filled_up() -> None:
    state = replace(node({B: "normal 1 1", C: "normal 1 1", D: "normal 1 1"}), vector=(D,), pinged=frozenset({B, C}))

    assert pinged(quantum(state)) == [D]


def test_who_is_not_live_any_more_is_dropped_and_an_empty_vector_begins_a_round_in_the_same_quantum() -> None:
    state = replace(node({B: "normal 1 1", C: "dead 1 1", D: "leave 1 1"}), vector=(C, D, E), pinged=frozenset({B}), heard=True)

    taken = quantum(state)

    assert pinged(taken) == [B]
    assert taken.state.vector == ()


def test_who_becomes_live_during_a_round_waits_for_the_next() -> None:
    state = node({B: "normal 1 1", C: "normal 1 1", D: "normal 1 1"})
    state = quantum(state, order(B, C, D)).state

    state = received(state, ping(E, 1, 1, said("joining E 1 1"))).state

    assert pinged(quantum(state)) == [D]
    assert E in quantum(quantum(state).state).state.vector + tuple(pinged(quantum(quantum(state).state)))


def test_every_quantum_sets_the_next_one_whatever_there_is_to_do() -> None:
    for state in (node(), node({B: "normal 1 1"}), replace(node({B: "normal 1 1"}), left=True)):
        assert quantum(state).effects[-1:] == (SetTimer(Quantum(), state.config.interval),)


def test_alone_a_node_pings_nobody() -> None:
    assert messages(quantum(node())) == []


def test_sa_59_who_has_left_pings_until_that_is_told_and_then_only_acknowledges() -> None:
    state = replace(node({B: "normal 1 1"}), payload='{"k":1}')
    state = asked(state, LeaveNode(A)).state

    first = quantum(state)
    assert [message.vectors for message in messages(first)] == [(said("leave A 1 10"),)]  # and no payload
    assert queue(first.state) == []
    second = quantum(first.state)
    assert messages(second) == []
    (answer,) = messages(received(second.state, ping(B, 1, 2)))
    assert answer.target == B


def test_who_was_removed_is_not_pinged() -> None:
    state = quantum(node({B: "normal 1 1", C: "normal 1 1", D: "normal 1 1"}), order(B, C, D)).state

    state = asked(state, RemoveNode(D)).state

    assert D not in pinged(quantum(state))


def test_pings_go_to_the_address_in_the_row_and_acks_to_where_the_ping_came_from() -> None:
    state = node({B: replace(row(B, "normal 1 1"), host="::1", port=7)})

    assert [to for to, _ in sent(quantum(state))] == ["[::1]:7"]
    taken = received(state, ping(B, 1, 2), sender=place(E))
    assert [e.to for e in taken.effects if isinstance(e, Send)] == [place(E)]
