"""Joining: two exchanges, whatever is lost, and who is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerproof.spec.core import NodeId
from peerproof.spec.errors import NotEnabled
from peerproof.spec.swim import AddNode, Config, Exchange, Joining, Normal, Seed, State, initial

from .nodes import (
    HOST,
    A,
    B,
    C,
    asked,
    messages,
    node,
    place,
    port,
    quantum,
    row,
)


def joiner(**config: object) -> State:
    """B, whose seed is A."""
    usual = {"seeds": (Seed(A, HOST, port(A)),), "ae_size": 2, "restart_counter": 1}
    return initial(place(B), Config(B, **{**usual, **config})).state  # type: ignore[arg-type]  # a configuration's members


@pytest.mark.parametrize("exchange", [Exchange.FIRST, Exchange.SECOND])
def test_a_request_is_repeated_until_its_answer_comes_and_holds_nothing_else(exchange: Exchange) -> None:
    b = joiner()
    b = replace(b, rows=b.rows.put({A: replace(b.rows[A], exchange=exchange), C: row(C, "normal 1 1")}), payload='{"k":1}')

    for _ in range(3):
        taken = quantum(b)
        (request,) = [m for m in messages(taken) if m.target == A]
        expected = Joining(B, request.incarnation, HOST, port(B)) if exchange is Exchange.FIRST else Normal(B)
        assert request.vectors == (expected,)
        b = taken.state


def test_of_a_known_node_add_node_changes_the_address_only_and_the_own_id_is_an_error() -> None:
    state = node({B: row(B, "dead 1 7", misses=2)})

    after = asked(state, AddNode(B, "10.0.0.9", 9)).state

    assert after.rows[B] == replace(state.rows[B], host="10.0.0.9", port=9)
    with pytest.raises(NotEnabled):
        asked(state, AddNode(A, "10.0.0.9", 9))


@pytest.mark.parametrize("self_id", ["", "b", "b:", ":1", "b:0", "b:65536", "b:x", "b:١", f"{'x' * 256}:1", "\udcff:1"])
def test_a_node_needs_an_address_that_others_can_send_to(self_id: str) -> None:
    with pytest.raises(NotEnabled):
        initial(NodeId(self_id), Config(B))
