"""Checks of the models besides `properties`: expected counterexamples, and the same after a repair; by their TLA+ names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from peerproof.spec import wendy
from peerproof.spec.model.liveness import Ending
from peerproof.spec.model.questions import (
    Arrival,
    Endings,
    OfArrivals,
    Question,
    arrivals,
    arriving,
    never_arrival,
    never_message,
    never_node,
)
from peerproof.spec.properties import Cluster
from peerproof.spec.wendy import routing
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.model.bounded import Model, ModelNode
from peerproof.spec.wendy.properties import has_only_heartbeats, is_busy, nearest
from peerproof.spec.wendy.routing import next_hop
from peerproof.spec.wendy.state import Stage


def present(cluster: Cluster) -> dict[Id, ModelNode]:
    """Returns the running nodes that have not left."""
    return {state.id: state for state in cluster.nodes.values() if state.up and state.stage is not Stage.LEFT}


def ring_of(model: Model, cluster: Cluster) -> dict[Id, ModelNode]:
    """Returns those of them that are in the ring: they have joined, or they began it."""
    beginners = {state.id for _, state in model.nodes if not any(kind == "join" for kind, _ in state.todo)}
    states = present(cluster)
    return {node: state for node, state in states.items() if state.stage is Stage.JOINED or node in beginners}


def keys(cluster: Cluster) -> list[Id]:
    """Returns all keys."""
    ring: Ring = next(iter(cluster.nodes.values())).config.ring
    return [Id(key) for key in range(ring.size)]


def closest(states: Mapping[Id, ModelNode], key: Id) -> Id:
    """Returns the closest of these nodes to a key."""
    ring = next(iter(states.values())).config.ring
    return min(states, key=lambda node: ring.rank(node, key))


def owners(states: Mapping[Id, ModelNode], key: Id) -> list[Id]:
    """Returns the nodes that know no closer one."""
    return [node for node, state in states.items() if _owns(state, key)]


def _owns(state: ModelNode, key: Id) -> bool:
    return routing.closest(state, key, tuple(node for side in state.leaf_set for node in side)) is None


def at_most_one_owner(model: Model, cluster: Cluster) -> bool:
    """No two nodes of the ring own a key. [WX-01]"""
    states = ring_of(model, cluster)
    return all(len(owners(states, key)) <= 1 for key in keys(cluster))


def owner_is_closest(model: Model, cluster: Cluster) -> bool:
    """The owner of a key is the closest node of the ring to it. [WX-02]"""
    states = ring_of(model, cluster)
    return all(owner == closest(states, key) for key in keys(cluster) for owner in owners(states, key))


def is_at_rest(cluster: Cluster) -> bool:
    """Only heartbeats are under way, no node is joining, and no node waits for anything."""
    return has_only_heartbeats(cluster) and not any(map(is_busy, present(cluster).values()))


def nobody_has_gone(cluster: Cluster) -> bool:
    """All nodes run, and no node considers another one departed."""
    states = present(cluster)
    return len(states) == len(cluster.nodes) and not any(state.departed for state in states.values())


def quiet_neighbours(model: Model, cluster: Cluster) -> bool:
    """At rest each leaf set has the same members as if all nodes were known. [WX-04]"""
    return not (is_at_rest(cluster) and nobody_has_gone(cluster)) or _has_whole_leaf_sets(model, cluster)


def _has_whole_leaf_sets(model: Model, cluster: Cluster) -> bool:
    states = ring_of(model, cluster)
    return all(nearest(state, set(states)) <= leaves(state) for state in states.values())


def leaves(state: ModelNode) -> set[Id]:
    """Returns the ids in a leaf set."""
    return {node.id for side in state.leaf_set for node in side}


def quiet_owners(model: Model, cluster: Cluster) -> bool:
    """At rest each key has one owner, the closest. [mends WX-01, WX-02]"""
    states = ring_of(model, cluster)
    if not (is_at_rest(cluster) and nobody_has_gone(cluster)) or not states:
        return True
    return all(owners(states, key) == [closest(states, key)] for key in keys(cluster))


def _deliveries(model: Model, cluster: Cluster) -> Iterator[tuple[ModelNode, Id]]:
    """Yields the nodes that would deliver a message now, pending or arriving, with its key."""
    for state in present(cluster).values():
        yield from ((state, Id(key)) for kind, key in state.todo if kind == "route" and next_hop(state, Id(key)) is None)
    for _, to, message in arriving(model, cluster):
        if isinstance(message, wendy.Application) and next_hop(cluster.nodes[to], message.header.key) is None:
            yield cluster.nodes[to], message.header.key


@OfArrivals
def joiners_deliver_theirs(model: Model, cluster: Cluster) -> bool:
    """A joining node would deliver no message that is closer to a node of the ring. [WX-03]"""
    return all(
        closest(ring_of(model, cluster) | {state.id: state}, key) == state.id
        for state, key in _deliveries(model, cluster)
        if state.stage in (Stage.JOINING, Stage.WAITING)
    )


@OfArrivals
def allowed_deliver_theirs(model: Model, cluster: Cluster) -> bool:
    """At rest, the same holds of nodes that have joined. [mends WX-03]"""
    return not is_at_rest(cluster) or all(
        closest(ring_of(model, cluster), key) == state.id
        for state, key in _deliveries(model, cluster)
        if state.stage is Stage.JOINED
    )


@OfArrivals
def gone_stays_away(model: Model, cluster: Cluster) -> bool:
    """No message adds a node that is not running any more. [WX-09]"""
    here = set(present(cluster))
    return all(set(arrival.after.known) <= here | set(arrival.before.known) for arrival in arrivals(model, cluster))


def all_have_noticed(cluster: Cluster) -> bool:
    """The cluster is at rest, and no node knows one that is not running."""
    states = present(cluster)
    return is_at_rest(cluster) and all(set(state.known) <= set(states) for state in states.values())


def repaired_leaf_sets(model: Model, cluster: Cluster) -> bool:
    """When all departures are detected, leaf sets are complete again. [WX-10]"""
    return not all_have_noticed(cluster) or _has_whole_leaf_sets(model, cluster)


def every_key_owned(model: Model, cluster: Cluster) -> bool:
    """Each key is owned by a node of the ring. [WX-11]"""
    states = ring_of(model, cluster)
    return not states or all(owners(states, key) for key in keys(cluster))


def every_key_owned_at_rest(model: Model, cluster: Cluster) -> bool:
    """Each key is owned when all departures are detected. [mends WX-11]"""
    return not all_have_noticed(cluster) or every_key_owned(model, cluster)


def joiners_known(model: Model, cluster: Cluster) -> bool:
    """At rest, when all departures are detected, the neighbours of a joiner know it. [WX-12]"""
    if not all_have_noticed(cluster):
        return True
    states = ring_of(model, cluster)
    joined = {state.id for _, state in model.nodes if any(kind == "join" for kind, _ in state.todo)} & set(states)
    return all(nearest(state, set(states)) & joined <= leaves(state) for state in states.values())


def versions_cease(_: Model, cluster: Cluster) -> bool:
    """A routing table changes once for each other node, at most. [WX-13]"""
    return all(state.versions.routing_table < len(cluster.nodes) for state in cluster.nodes.values())


def _is_late_destination(message: wendy.Message) -> bool:
    """A node is the destination of a join that it has forwarded: its answer has only the leaf set."""
    return isinstance(message, wendy.StateData) and message.destination and message.tables.routing_table is None


def _is_back(arrival: Arrival) -> bool:
    """A departed node announces itself."""
    return isinstance(arrival.message, wendy.NodeAnnouncement) and arrival.after.departed < arrival.before.departed


def _is_replaced(arrival: Arrival) -> bool:
    """In some cell a node replaces another."""
    before, after = arrival.before.routing_table, arrival.after.routing_table
    return any(cell in after and after[cell].id != node.id for cell, node in before.items())


QUESTIONS: Final[Mapping[str, Question]] = {
    "AtMostOneOwner": at_most_one_owner,
    "OwnerIsClosest": owner_is_closest,
    "QuietOwners": quiet_owners,
    "QuietNeighbours": quiet_neighbours,
    "JoinersDeliverTheirs": joiners_deliver_theirs,
    "AllowedDeliverTheirs": allowed_deliver_theirs,
    "GoneStaysAway": gone_stays_away,
    "RepairedLeafSets": repaired_leaf_sets,
    "EveryKeyOwned": every_key_owned,
    "EveryKeyOwnedAtRest": every_key_owned_at_rest,
    "JoinersKnown": joiners_known,
    "VersionsCease": versions_cease,
    "NeverWarned": never_message(lambda message: isinstance(message, wendy.NodeRace)),
    "NeverRepaired": never_message(lambda message: isinstance(message, wendy.NodeRepair)),
    "NeverForwarded": never_message(lambda message: isinstance(message, wendy.NodeJoin) and message.header.hop > 0),
    "NeverLateDestination": never_message(_is_late_destination),
    "NeverMeasured": never_node(lambda state: bool(state.measured)),
    "NeverSecondRow": never_node(lambda state: any(repair.row > row for (row, _), repair in state.repairs.items())),
    "NeverAwaitsScore": never_node(lambda state: any(not repair.waiting for repair in state.repairs.values())),
    "NeverWaits": never_node(lambda state: state.is_warned),
    "NeverBack": never_arrival(_is_back),
    "NeverReplaced": never_arrival(_is_replaced),
    "NeverCrowded": never_node(lambda state: bool(state.known.keys() - {node.id for node in state.neighborhood_set})),
    "NeverBeyondLeaves": never_node(lambda state: not set(state.known) <= leaves(state)),
}


def all_joined(model: Model) -> Iterator[Ending]:
    """All running nodes that want to join have joined for good, and no message is under way. [WL-01]"""

    def goal(cluster: Cluster) -> bool:
        states = present(cluster)
        return not tuple(cluster.in_flight) and set(ring_of(model, cluster)) == set(states)

    yield Ending("AllJoined", "all nodes join, and messages cease", ("WL-01",), goal, frozenset())


def refilled(_: Model) -> Iterator[Ending]:
    """A cell that is empty because its node has gone is filled again, if there is a node that fits. [WL-02]"""

    def goal(cluster: Cluster) -> bool:
        states = present(cluster)
        return all(
            state.config.ring.cell(node, other) in state.routing_table
            for node, state in states.items()
            for other in states
            if other != node
        )

    def since(cluster: Cluster) -> bool:
        return any(state.departed for state in present(cluster).values())

    yield Ending("Refilled", "a lost cell is filled", ("WL-02",), goal, frozenset(), since=since)


ENDINGS: Final[Mapping[str, Endings]] = {"AllJoined": all_joined, "Refilled": refilled}
