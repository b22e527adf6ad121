"""
Checks of the models besides `properties`: expected counterexamples, and the same after a repair; by their TLA+ names.

On an ordered network only the first message from one node to another can arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from peerproof.spec.core import NodeId
from peerproof.spec.model.liveness import Ending
from peerproof.spec.model.questions import Endings, OfArrivals, Question, never_node, of_nodes, one_ending
from peerproof.spec.peter.messages import NotifyMessage, SubscribeMessage, UnsubscribeMessage
from peerproof.spec.peter.model.abstract_router import topic_number
from peerproof.spec.peter.model.bounded import Model, ModelNode
from peerproof.spec.peter.properties import Tree, all_trees, no_orphan, one_parent, present, trees, trees_at_rest
from peerproof.spec.peter.topics import Row
from peerproof.spec.properties import Cluster, InFlight
from peerproof.spec.wendy.messages import NodeAnnouncement


class Arrival(NamedTuple):
    """A message that could arrive now."""

    sender: ModelNode
    to: ModelNode
    message: Any

    @property
    def row(self) -> Row:
        """The receiver's row for the topic of a message of Peter's."""
        return self.to.upper.row(self.message.header.key)


def arriving(model: Model, cluster: Cluster, *kinds: type) -> Iterator[Arrival]:
    """Yields the messages of these kinds that could arrive, whether or not their receivers run."""
    firsts: dict[tuple[NodeId, NodeId], InFlight] = {}
    for sent in cluster.in_flight:
        firsts.setdefault((sent.sender, sent.to), sent)
    for sender, to, message in firsts.values() if model.faults.ordered else cluster.in_flight:
        if isinstance(message, kinds):
            yield Arrival(cluster.nodes[sender], cluster.nodes[to], message)


def on_way(cluster: Cluster, kind: type) -> set[tuple[NodeId, NodeId]]:
    """Returns sender and receiver of each message of this kind under way."""
    return {(sender, to) for sender, to, message in cluster.in_flight if isinstance(message, kind)}


def is_still(cluster: Cluster) -> bool:
    """No message is under way."""
    return not tuple(cluster.in_flight)


def is_settled(cluster: Cluster) -> bool:
    """No message is under way, and no node knows one that has gone."""
    states = present(cluster)
    return is_still(cluster) and all(state.lower.view <= states.keys() for state in states.values())


def when_quiet(holds: Callable[[Tree], bool]) -> Question:
    """Holds of all trees while no message is under way, no departure is undetected, and routes lead to the meeting point."""
    return lambda _, cluster: not is_still(cluster) or all(map(holds, trees_at_rest(cluster)))


def when_settled(holds: Callable[[Tree], bool]) -> Question:
    """Holds of all trees while no message is under way and no departure is undetected, wherever routes lead."""
    return lambda _, cluster: not is_settled(cluster) or all(holds(tree) for tree, _ in trees(present(cluster)))


def one_way(tree: Tree) -> bool:
    """An event from the meeting point would come exactly once to each subscriber, and to no node twice. [PI-07, PX-04]"""
    copies = dict.fromkeys(tree.nodes, 0)
    ahead = [tree.owner]
    for _ in range(len(tree.nodes) + 1):  # unless there is a circle
        for node in ahead:
            copies[node] += 1
        ahead = [child for node in ahead for child in tree.children(node) if child != tree.owner]
    subscribers = {node for node, row in tree.rows.items() if row.is_local}
    return all(times == 1 if node in subscribers else times <= 1 for node, times in copies.items())


def acyclic(_: Model, cluster: Cluster) -> bool:
    """No node is its own ancestor. [PX-03]"""
    parents = {
        (topic, state.id): (topic, row.parent.id)
        for state in cluster.nodes.values()
        for topic, row in state.upper.topics.items()
        if row.parent is not None
    }
    return not any(_is_above(parents, start) for start in parents)


def _is_above(parents: Mapping[Any, Any], start: Any) -> bool:
    at = start
    for _ in parents:
        at = parents.get(at)
        if at == start:
            return True
    return False


def publications(model: Model, cluster: Cluster) -> set[tuple[int, int]]:
    """Returns the published topics and events."""
    things = ((model.todo[state.id], len(state.todo)) for state in cluster.nodes.values())
    return {(topic, event) for todo, left in things for what, topic, event in todo[: len(todo) - left] if what == "publish"}


def is_local(state: ModelNode, topic: int) -> bool:
    """Whether a node is subscribed to a topic."""
    return any(row.is_local for key, row in state.upper.topics.items() if topic_number(key) == topic)


def nothing_lost(model: Model, cluster: Cluster) -> bool:
    """A node that was subscribed at first and still is has received all published events. [PX-05]"""
    first = {state.id: state for _, state in model.nodes}
    return not is_settled(cluster) or all(
        state.got.get((topic, event), 0) > 0
        for topic, event in publications(model, cluster)
        for node, state in present(cluster).items()
        if is_local(first[node], topic) and is_local(state, topic)
    )


def never_row(is_it: Callable[[Row], bool]) -> Question:
    """No row satisfies the predicate."""
    return never_node(lambda state: any(map(is_it, state.upper.topics.values())))


def never_moved(_: Model, cluster: Cluster) -> bool:
    """No node changes from one parent to another."""
    left, come = on_way(cluster, UnsubscribeMessage), on_way(cluster, SubscribeMessage)
    return not any(node == other and old != new for node, old in left for other, new in come)


def never_as_it_joins(_: Model, cluster: Cluster) -> bool:
    """No node subscribes in the step in which it joins."""
    return not on_way(cluster, NodeAnnouncement) & on_way(cluster, SubscribeMessage)


def never_arriving(is_it: Callable[[Model, Arrival], bool], *kinds: type) -> Question:
    """No arriving message satisfies the predicate."""
    return OfArrivals(lambda model, cluster: not any(is_it(model, arrival) for arrival in arriving(model, cluster, *kinds)))


def _is_cut(model: Model, arrival: Arrival) -> bool:
    hop: int = arrival.message.header.hop + 1
    return arrival.to.up and hop >= model.most_hops and not set(arrival.row.children) <= {arrival.sender.id}


def never_ghost(_: Model, cluster: Cluster) -> bool:
    """No node has a child that has gone, when no message is under way and no node knows one that has gone."""
    states = present(cluster)
    rows = (row for state in states.values() for row in state.upper.topics.values())
    return not is_settled(cluster) or all(row.children.keys() <= states.keys() for row in rows)


QUESTIONS: Final[Mapping[str, Question]] = {
    "Acyclic": acyclic,
    "NoOrphan": when_quiet(no_orphan),
    "NoOrphanAnywhere": when_settled(no_orphan),
    "OneParent": when_settled(one_parent),
    "OneWay": when_quiet(one_way),
    "NothingLost": nothing_lost,
    "NothingTwice": of_nodes(lambda state: all(times == 1 for times in state.got.values())),  # no event comes twice [PX-05]
    "NeverForOthers": never_row(lambda row: not row.is_local),
    "NeverSibling": never_row(lambda row: len(row.children) > 1),
    "NeverMoved": never_moved,
    "NeverDropped": never_arriving(lambda _, a: a.to.up and not a.row.is_wanted, NotifyMessage),
    "NeverCut": never_arriving(_is_cut, NotifyMessage),
    "NeverFromChild": never_arriving(lambda _, a: a.sender.id in a.row.children, NotifyMessage),
    "NeverAsItJoins": never_as_it_joins,
    "NeverUnknown": never_arriving(
        lambda _, a: a.sender.up and not a.to.up and a.to.id not in a.sender.lower.view,
        SubscribeMessage,
        UnsubscribeMessage,
        NotifyMessage,
    ),
    "NeverKnownBefore": never_arriving(lambda _, a: a.to.up and a.sender.id in a.to.lower.view, NodeAnnouncement),
    "NeverGhost": never_ghost,
}


def eventually_delivered(model: Model) -> Iterator[Ending]:
    """Every event is published, and reaches all subscribers. [PL-02]"""
    yield Ending("EventuallyDelivered", "every subscriber gets every event", ("PL-02",), partial(_has_come, model), frozenset())


def _has_come(model: Model, cluster: Cluster) -> bool:
    events = {(topic, event) for todo in model.todo.values() for what, topic, event in todo if what == "publish"}
    return events <= publications(model, cluster) and all(
        state.got.get((topic, event), 0) > 0
        for topic, event in events
        for state in present(cluster).values()
        if is_local(state, topic)
    )


ENDINGS: Final[Mapping[str, Endings]] = {
    "EventuallyTree": one_ending(Ending("EventuallyTree", "trees are right for good", ("PL-01",), all_trees, frozenset())),
    "EventuallyDelivered": eventually_delivered,
}
