"""
What models ask of a world: questions about its nodes, its messages, and what comes of the messages that arrive.

A protocol's module `questions` has them by their names in TLA+: `QUESTIONS`, and `ENDINGS` for temporal properties. A `Never...`
is false of every run in which something interesting happens. It must fail, or the properties that speak of that hold of nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from peerproof.spec.core import Received, Sent, outcomes
from peerproof.spec.model.bounded import NOW, Model
from peerproof.spec.model.liveness import Ending
from peerproof.spec.properties import Cluster, InFlight

#: Whether something holds of a world of a model: of a `Cluster`, or of a `Watched` one.
Question: TypeAlias = Callable[[Any, Any], bool]

#: What must come of every fair run of a model.
Endings: TypeAlias = Callable[[Any], Iterable[Ending]]


class Arrival(NamedTuple):
    """A message that would arrive now, and what that would make of its receiver; over a connection, also of its sender."""

    sender: Any  #: the state
    message: Any
    before: Any  #: the state of the node that it makes something of
    after: Any


def arriving(model: Model, cluster: Cluster) -> Iterator[InFlight]:
    """The messages on their way to nodes that are there."""
    return (sent for sent in cluster.in_flight if model.is_there(cluster.nodes[sent.to]))


def arrivals(model: Model, cluster: Cluster) -> Iterator[Arrival]:
    """All that can come of these messages, each on its own: at its receiver, and at its sender where that is told."""
    for sent in arriving(model, cluster):
        sender, to, message = sent
        events: list[tuple[Any, Any]] = [(cluster.nodes[to], Received(NOW, sender, message))]
        if model.faults.connections:
            events.append((cluster.nodes[sender], Sent(NOW, to, message, model.took(sent))))
        for state, event in events:
            for _, taken in outcomes(partial(model.spec.step, state, event)):
                yield Arrival(cluster.nodes[sender], message, state, taken.state)


def of_cluster(holds: Callable[[Cluster], bool]) -> Question:
    """It holds of all nodes together."""
    return lambda _, cluster: holds(cluster)


def of_nodes(holds: Callable[[Any], bool]) -> Question:
    """It holds of every node."""
    return lambda _, cluster: all(map(holds, cluster.nodes.values()))


def never_node(is_it: Callable[[Any], bool]) -> Question:
    """No node is like this."""
    return lambda _, cluster: not any(map(is_it, cluster.nodes.values()))


def never_message(is_it: Callable[[Any], bool]) -> Question:
    """No message under way is like this."""
    return lambda _, cluster: not any(is_it(message) for _, _, message in cluster.in_flight)


def never_arrival(is_it: Callable[[Arrival], bool]) -> Question:
    """Nothing like this comes of a message that arrives."""
    return lambda model, cluster: not any(map(is_it, arrivals(model, cluster)))


def one_ending(ending: Ending) -> Endings:
    """The same of every model."""
    return lambda _: (ending,)
