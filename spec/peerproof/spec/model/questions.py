"""
Checks that models apply to a world: predicates of its nodes, its messages, and the results of messages that arrive.

A protocol's module `questions` has them by their TLA+ names: `QUESTIONS`, and `ENDINGS` for temporal properties. A `Never...`
is a reachability check: it must fail in some run, or the invariants about that situation are vacuous.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from peerproof.spec.core import Received, Sent, outcomes
from peerproof.spec.model.bounded import NOW, Model
from peerproof.spec.model.liveness import Ending
from peerproof.spec.properties import Cluster, InFlight

#: A predicate of a model's world: of a `Cluster`, or of a `Watched` one.
Question: TypeAlias = Callable[[Any, Any], bool]

#: The temporal properties of a model's fair runs.
Endings: TypeAlias = Callable[[Any], Iterable[Ending]]


@dataclass(frozen=True)
class OfArrivals:
    """
    A question about what messages under way would do if they arrived now.

    The answer is known one step before it shows: in the world that has the message still under way.
    """

    holds: Question
    is_it: Callable[[Arrival], bool] | None = None  #: whether this arrival violates it, if one arrival alone decides

    def __call__(self, model: Any, cluster: Any) -> bool:
        """Whether it holds in a world."""
        return self.holds(model, cluster)


class Arrival(NamedTuple):
    """A message that could arrive now and its effect on its receiver, or, over a connection, on its sender."""

    sender: Any  #: the state
    message: Any
    before: Any  #: the state of the node that it affects
    after: Any


def arriving(model: Model, cluster: Cluster) -> Iterator[InFlight]:
    """Yields the messages under way to nodes that are running."""
    return (sent for sent in cluster.in_flight if model.is_there(cluster.nodes[sent.to]))


def arrivals(model: Model, cluster: Cluster) -> Iterator[Arrival]:
    """Yields every possible result of each message: at its receiver, and at its sender where that learns the outcome."""
    for sent in arriving(model, cluster):
        sender, to, message = sent
        events: list[tuple[Any, Any]] = [(cluster.nodes[to], Received(NOW, sender, message))]
        if model.faults.connections:
            events.append((cluster.nodes[sender], Sent(NOW, to, message, model.took(sent))))
        for state, event in events:
            for _, taken in outcomes(partial(model.spec.step, state, event)):
                yield Arrival(cluster.nodes[sender], message, state, taken.state)


def of_cluster(holds: Callable[[Cluster], bool]) -> Question:
    """Holds of all nodes together."""
    return lambda _, cluster: holds(cluster)


def of_nodes(holds: Callable[[Any], bool]) -> Question:
    """Holds of every node."""
    return lambda _, cluster: all(map(holds, cluster.nodes.values()))


def never_node(is_it: Callable[[Any], bool]) -> Question:
    """Holds if no node satisfies the predicate."""
    return lambda _, cluster: not any(map(is_it, cluster.nodes.values()))


def never_message(is_it: Callable[[Any], bool]) -> Question:
    """Holds if no message under way satisfies the predicate."""
    return lambda _, cluster: not any(is_it(message) for _, _, message in cluster.in_flight)


def never_arrival(is_it: Callable[[Arrival], bool]) -> Question:
    """Holds if no arrival of a message satisfies the predicate."""
    return OfArrivals(lambda model, cluster: not any(map(is_it, arrivals(model, cluster))), is_it)


def one_ending(ending: Ending) -> Endings:
    """Returns the same ending for every model."""
    return lambda _: (ending,)
