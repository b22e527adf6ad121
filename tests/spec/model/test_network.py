"""Messages under way: a set, or in order for each pair of nodes, and the same worlds whichever way they are looked at."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.peter_nodes import CHAIN

from peerproof.conformance.models.counterexamples import values
from peerproof.conformance.models.graph_comparison import Worlds
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.explorer import explore
from peerproof.spec.model.in_flight import Network, queue_value
from peerproof.spec.peter.model.bounded import Model

#: Of four messages, the numbers 0 and 2 go between the same two nodes, and the others too.
PAIRS = [7, 3, 7, 3]


def test_set_is_sorted_and_has_nothing_twice() -> None:
    network = Network(PAIRS, is_ordered=False)

    assert network.with_messages((1, 3), (2, 3, 0)) == network.arrange([3, 1, 2, 3, 0]) == (0, 1, 2, 3)
    assert list(network.queues((0, 1))) == [(0,), (1,)]
    assert all(network.is_first((0, 1, 2, 3), index) for index in range(4))


def test_queues_keep_what_is_sent_and_its_order() -> None:
    network = Network(PAIRS, is_ordered=True)

    net = network.with_messages((3, 2), (0, 1, 3, 2))

    assert net == (3, 1, 3, 2, 0, 2)
    assert network.with_messages(net, ()) == net
    assert list(network.queues(net)) == [(3, 1, 3), (2, 0, 2)]
    assert [network.is_first(net, index) for index in range(6)] == [True, False, False, True, False, False]


def test_queue_is_shown_as_sender_receiver_and_contents() -> None:
    assert queue_value([(1, 2, "a", 0), (1, 2, "b", 3)]) == (1, 2, (("a", 0), ("b", 3)))


def explored(**changes: Any) -> Exploration:
    return explore(Model(CHAIN | {"Todo": [[1, 1, "subscribe", 1, 0], [1, 2, "unsubscribe", 1, 0]]} | changes), digest=True)


def after(found: Exploration, *labels: str) -> Any:
    world = found.system.initial()
    for label in labels:
        world = next(target for name, target in found.system.moves(world) if name == label)
    return world


def test_only_the_first_of_a_pair_arrives() -> None:
    ordered, unordered = explored(), explored(Fifo=False)

    world = after(ordered, "Command", "Command")
    assert ordered.system.net_value(world[4:]) == {(1, 2, (("subscribe", 1, 0, 0), ("unsubscribe", 1, 0, 0)))}
    assert [label for label, _ in ordered.system.moves(world)] == ["Receive"]
    world = after(unordered, "Command", "Command")
    assert unordered.system.net_value(world[4:]) == {(1, 2, "subscribe", 1, 0, 0), (1, 2, "unsubscribe", 1, 0, 0)}
    assert [label for label, _ in unordered.system.moves(world)] == ["Receive"] * 2


def test_same_message_may_be_under_way_twice_only_with_order() -> None:
    twice = {"Todo": [[1, 1, "publish", 1, 1], [1, 2, "publish", 1, 1]]}
    assert len(after(explored(**twice), "Command", "Command")[4:]) == 2
    assert len(after(explored(**twice, Fifo=False), "Command", "Command")[4:]) == 1


@pytest.mark.parametrize("net", [frozenset({(1, 2)}), frozenset({(1, 2, ())}), frozenset({(1, 2, "subscribe", 1, 0, 0)}), ()])
def test_net_that_has_no_queues_is_refused(net: Any) -> None:
    found = explored()

    with pytest.raises(ValueError, match="net"):
        Worlds(found).find({**values(found.system, found.system.initial()), "net": net})


def test_message_that_nobody_has_seen_makes_an_unknown_world() -> None:
    found = explored()
    known = values(found.system, after(found, "Command"))

    assert Worlds(found).find({**known, "net": frozenset({(1, 2, (("publish", 1, 9, 0),))})})[0] is None
