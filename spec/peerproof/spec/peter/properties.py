"""
Properties of every run of Peter, and reachability checks; PI- and PL- names are those of `spec/peter.md`.

The properties are of nodes on Wendy, and of nodes on another router that has `known`, the nodes that a node knows, and registers
its own `has_way` and `is_busy`: the abstract router of the bounded models does. Properties of a tree at rest apply only where
no message is under way, no node knows one that is not running, and every node but the meeting point has a next hop.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import singledispatch
from typing import Any, Final, NamedTuple

from peerproof.spec.core import Asked, NodeId, Notify, Received, Send
from peerproof.spec.peter.messages import NotifyMessage, Own, SubscribeMessage, UnsubscribeMessage, Update
from peerproof.spec.peter.snapshot import find_inconsistency
from peerproof.spec.peter.topics import Row
from peerproof.spec.properties import Cluster, Property, Taken
from peerproof.spec.stack import Stacked
from peerproof.spec.wendy import Id, properties
from peerproof.spec.wendy.messages import NodeJoined
from peerproof.spec.wendy.routing import next_hop
from peerproof.spec.wendy.state import address_of


class Tree(NamedTuple):
    """The data of all running nodes about one topic."""

    nodes: Collection[Id]  #: all running nodes
    owner: Id  #: the meeting point: the node closest to the topic
    rows: Mapping[Id, Row]  #: of the nodes that want the topic

    def children(self, node: Id) -> list[Id]:
        """Returns the running children of a node."""
        return [child for child in self.rows[node].children if child in self.nodes] if node in self.rows else []

    def reachable_nodes(self) -> set[Id]:
        """Returns the nodes that events from the meeting point reach."""
        found: set[Id] = set()
        ahead = [self.owner] if self.owner in self.rows else []
        while ahead:
            node = ahead.pop()
            if node not in found:
                found.add(node)
                ahead += self.children(node)
        return found


@singledispatch
def has_way(lower: Any, topic: Id) -> bool:
    """Whether the node knows another one closer to the topic's meeting point, by Wendy's routing."""
    return next_hop(lower, topic) is not None


@singledispatch
def is_busy(lower: Any) -> bool:
    """Whether the node will act by itself, by Wendy's state."""
    return properties.is_busy(lower)


def present(cluster: Cluster) -> dict[Id, Any]:
    """Returns the nodes that run and have not left."""
    states = cluster.nodes.values()
    return {state.lower.id: state for state in states if getattr(state, "up", True) and not state.upper.has_left}


def trees_at_rest(cluster: Cluster) -> Iterator[Tree]:
    """Yields the trees in which nothing changes any more by itself."""
    if not properties.has_only_heartbeats(cluster):
        return
    states = present(cluster)
    if any(is_busy(state.lower) or not states.keys() >= set(state.lower.known) for state in states.values()):
        return
    for tree, topic in trees(states):
        if all(has_way(state.lower, topic) for node, state in states.items() if node != tree.owner):
            yield tree


def trees(states: Mapping[Id, Any]) -> Iterator[tuple[Tree, Id]]:
    """Yields the tree of each wanted topic, with the topic."""
    for topic in dict.fromkeys(topic for state in states.values() for topic in state.upper.topics):
        ring = next(iter(states.values())).lower.config.ring
        owner = min(states, key=lambda node: ring.rank(node, topic))
        rows = {node: state.upper.topics[topic] for node, state in states.items() if topic in state.upper.topics}
        yield Tree(states.keys(), owner, rows), topic


def children_and_parents_agree(tree: Tree) -> bool:
    """Each node with a parent is a child of it, and each child has it as its parent. [PI-02]"""
    children = {(node, child) for node in tree.rows for child in tree.children(node)}
    return children == {(row.parent.id, node) for node, row in tree.rows.items() if row.parent is not None}


def one_root(tree: Tree) -> bool:
    """Parents lead from every node to the meeting point, which has none. [PI-03]"""
    for start in tree.rows:
        node, seen = start, {start}
        while (parent := tree.rows[node].parent) is not None:
            node = parent.id
            if node in seen or node not in tree.rows:
                return False
            seen.add(node)
        if node != tree.owner:
            return False
    return True


def in_tree_iff_wanted(tree: Tree) -> bool:
    """The nodes that want events are the nodes that events reach. [PI-04]"""
    return tree.reachable_nodes() == tree.rows.keys()


def no_orphan(tree: Tree) -> bool:
    """Every subscriber is reached by events. [PI-05]"""
    return {node for node, row in tree.rows.items() if row.is_local} <= tree.reachable_nodes()


def one_parent(tree: Tree) -> bool:
    """No node is the child of two, and the meeting point is no child. [PI-06]"""
    children = [child for node in tree.rows for child in tree.children(node)]
    return len(set(children)) == len(children) and tree.owner not in children


def is_tree(tree: Tree) -> bool:
    """All properties above; eventually they hold. [PL-01]"""
    return all(holds(tree) for holds in (children_and_parents_agree, one_root, in_tree_iff_wanted, no_orphan, one_parent))


def rows_right(state: Stacked[Any, Any]) -> bool:
    """Only wanted topics are kept, and no node is its own child or parent."""
    return find_inconsistency(state.upper) is None


def requests_alternate(taken: Taken) -> bool:
    """
    A node subscribes to a topic only if it does not keep its present parent, and unsubscribes only from its parent.

    So its requests for a topic alternate, except to parents that have departed, or have just announced that they have joined. A
    parent is the node that it subscribed to last. [PI-08, PA-12]
    """
    before, after = taken.before.upper, taken.after.upper
    sends, come = _own_requests(taken), _come(taken)
    for topic in _topics_affected(taken):
        old, new = before.row(topic).parent, after.row(topic).parent
        is_gone = old is not None and old.id not in taken.after.lower.known
        is_back = old is not None and old.id in come.values()
        asked = old and address_of(before.config, old)
        for to, message in sends:
            if message.header.key != topic:
                continue
            if isinstance(message, SubscribeMessage) and (asked is None or is_gone or (is_back and to in come)):
                asked, is_gone = to, False
            elif isinstance(message, UnsubscribeMessage) and to == asked:
                asked = None
            else:
                return False
        if (new and address_of(after.config, new)) not in (asked, None if is_gone else asked):
            return False
    return True


def topics_independent(taken: Taken) -> bool:
    """An event about one topic changes no other topic. [PI-09]"""
    touched = _topics_affected(taken)
    match taken.event:
        case Received(_, _, message) if isinstance(message, Own):
            return touched <= {message.header.key}
        case Asked() if taken.before.lower is taken.after.lower:  # no node has joined or gone by it
            return len(touched) <= 1
    return True


def delivered_to_subscribers(taken: Taken) -> bool:
    """A node delivers only events of its subscriptions, each once, and sends no copy back to its source."""
    updates = [e.notice.topic for e in taken.effects if isinstance(e, Notify) and isinstance(e.notice, Update)]
    source = taken.event.sender if isinstance(taken.event, Received) and isinstance(taken.event.message, NotifyMessage) else None
    copied = [e.to for e in taken.effects if isinstance(e, Send) and isinstance(e.message, NotifyMessage)]
    return (
        all(taken.before.upper.row(topic).is_local for topic in updates)
        and len(updates) <= 1
        and len(set(copied)) == len(copied)
        and source not in copied
    )


def _own_requests(taken: Taken) -> list[tuple[NodeId, SubscribeMessage | UnsubscribeMessage]]:
    """Returns the node's own subscribe and unsubscribe messages, with their receivers."""
    sends = ((effect.to, effect.message) for effect in taken.effects if isinstance(effect, Send))
    return [(to, message) for to, message in sends if isinstance(message, (SubscribeMessage, UnsubscribeMessage))]


def _topics_affected(taken: Taken) -> set[Id]:
    """Returns the topics that have changed, or whose messages are sent."""
    touched = {message.header.key for _, message in _own_requests(taken)}
    before, after = taken.before.upper.topics, taken.after.upper.topics
    if before is not after:
        touched |= {topic for topic in {*before, *after} if before.get(topic) != after.get(topic)}
    return touched


def _come(taken: Taken) -> Mapping[NodeId | None, Id]:
    """Returns the nodes that have just announced that they have joined, by address."""
    notices = [effect.notice for effect in taken.effects if isinstance(effect, Notify)]
    come = [notice.node for notice in notices if isinstance(notice, NodeJoined)]
    return {address_of(taken.after.upper.config, node): node.id for node in come}


def all_trees(cluster: Cluster) -> bool:
    """Each topic has a proper tree. [PL-01]"""
    return all(is_tree(tree) for tree, _ in trees(present(cluster)))


def subscribes(taken: Taken) -> bool:
    """A node subscribes at another one."""
    return any(isinstance(message, SubscribeMessage) for _, message in _own_requests(taken))


def unsubscribes(taken: Taken) -> bool:
    """A node unsubscribes from another one."""
    return any(isinstance(message, UnsubscribeMessage) for _, message in _own_requests(taken))


def copies(taken: Taken) -> bool:
    """A node copies an event to a child."""
    return any(isinstance(effect, Send) and isinstance(effect.message, NotifyMessage) for effect in taken.effects)


def changes_parent(taken: Taken) -> bool:
    """A node changes its parent because a node has joined or gone."""
    before, after = taken.before.upper.topics, taken.after.upper.topics
    if before is after:
        return False
    both = [(before[topic].parent, after[topic].parent) for topic in after if topic in before]
    return any(old is not None and new is not None and old.id != new.id for old, new in both)


def _at_rest(name: str, about: str, clauses: tuple[str, ...], holds: Any) -> Property:
    return Property(name, about, clauses, "cluster", lambda cluster: all(map(holds, trees_at_rest(cluster))))


PROPERTIES: Final = (
    Property("RowsRight", "topics are kept while they are wanted", ("PI-01", "PA-04"), "node", rows_right),
    _at_rest("Mutual", "at rest parents know their children", ("PI-02",), children_and_parents_agree),
    _at_rest("OneRoot", "at rest parents lead to the meeting point", ("PI-03", "P-12"), one_root),
    _at_rest("TreeOfInterested", "at rest the nodes that want a topic are its tree", ("PI-04",), in_tree_iff_wanted),
    _at_rest("NoOrphan", "at rest every subscriber is reached", ("PI-05", "P-27"), no_orphan),
    _at_rest("OneParent", "at rest no node has two parents", ("PI-06",), one_parent),
    Property(
        "DeliveredToSubscribers", "events are for subscribers", ("PI-07", "P-28", "PA-26"), "step", delivered_to_subscribers
    ),
    Property("Alternate", "a node that subscribes is no child already", ("PI-08", "PA-04"), "step", requests_alternate),
    Property("Independent", "topics are independent", ("PI-09",), "step", topics_independent),
    Property("EventuallyTree", "each topic has one tree", ("PL-01",), "cluster", all_trees, "eventually"),
    Property("SomebodySubscribes", "a node subscribes at another one", ("P-11",), "step", subscribes, "sometimes"),
    Property("SomebodyUnsubscribes", "a node unsubscribes from another one", ("P-22",), "step", unsubscribes, "sometimes"),
    Property("SomebodyCopies", "an event goes down a tree", ("P-25", "P-26"), "step", copies, "sometimes"),
    Property("SomebodyTurns", "a node changes its parent", ("P-15", "P-18"), "step", changes_parent, "sometimes"),
)
