"""
What holds in every run of Peter, and what should be seen to happen in some; PI- and PL- names are those of `spec/peter.md`.

The properties are of nodes on Wendy, and of nodes on another router that has `known`, the nodes that a node knows, and registers
its own `has_way` and `is_busy`: the abstract router of the bounded models does. What speaks of a tree at rest says something only
where nothing is under way, nobody knows anybody who is not there, and every node but the meeting point has a way to go.
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
    """What the nodes that are there keep of one topic."""

    nodes: Collection[Id]  #: all that are there
    owner: Id  #: the meeting point: the closest of them
    rows: Mapping[Id, Row]  #: of those who want the topic

    def children(self, node: Id) -> list[Id]:
        """The children of a node, as far as they are there."""
        return [child for child in self.rows[node].children if child in self.nodes] if node in self.rows else []

    def reachable_nodes(self) -> set[Id]:
        """The nodes that events from the meeting point come to."""
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
    """Whether the node knows another one that is nearer to the meeting point of a topic, as Wendy answers it."""
    return next_hop(lower, topic) is not None


@singledispatch
def is_busy(lower: Any) -> bool:
    """Whether the node is about to do something by itself, as Wendy answers it."""
    return properties.is_busy(lower)


def present(cluster: Cluster) -> dict[Id, Any]:
    """The nodes that run and have not left."""
    states = cluster.nodes.values()
    return {state.lower.id: state for state in states if getattr(state, "up", True) and not state.upper.has_left}


def trees_at_rest(cluster: Cluster) -> Iterator[Tree]:
    """The trees in which nothing changes any more by itself."""
    if not properties.has_only_heartbeats(cluster):
        return
    states = present(cluster)
    if any(is_busy(state.lower) or not states.keys() >= set(state.lower.known) for state in states.values()):
        return
    for tree, topic in trees(states):
        if all(has_way(state.lower, topic) for node, state in states.items() if node != tree.owner):
            yield tree


def trees(states: Mapping[Id, Any]) -> Iterator[tuple[Tree, Id]]:
    """What there is of the trees of all topics that somebody wants, each with its topic."""
    for topic in dict.fromkeys(topic for state in states.values() for topic in state.upper.topics):
        ring = next(iter(states.values())).lower.config.ring
        owner = min(states, key=lambda node: ring.rank(node, topic))
        rows = {node: state.upper.topics[topic] for node, state in states.items() if topic in state.upper.topics}
        yield Tree(states.keys(), owner, rows), topic


def children_and_parents_agree(tree: Tree) -> bool:
    """Whoever has a parent is its child, and the other way round. [PI-02]"""
    children = {(node, child) for node in tree.rows for child in tree.children(node)}
    return children == {(row.parent.id, node) for node, row in tree.rows.items() if row.parent is not None}


def one_root(tree: Tree) -> bool:
    """Parents lead from everywhere to the meeting point, which has none. [PI-03]"""
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
    """Those who want events are those whom they reach. [PI-04]"""
    return tree.reachable_nodes() == tree.rows.keys()


def no_orphan(tree: Tree) -> bool:
    """Every subscriber is reached. [PI-05]"""
    return {node for node, row in tree.rows.items() if row.is_local} <= tree.reachable_nodes()


def one_parent(tree: Tree) -> bool:
    """Nobody is the child of two, nor the meeting point anybody's. [PI-06]"""
    children = [child for node in tree.rows for child in tree.children(node)]
    return len(set(children)) == len(children) and tree.owner not in children


def is_tree(tree: Tree) -> bool:
    """All of the above, which is what there should be in the end. [PL-01]"""
    return all(holds(tree) for holds in (children_and_parents_agree, one_root, in_tree_iff_wanted, no_orphan, one_parent))


def rows_right(state: Stacked[Any, Any]) -> bool:
    """Only what is wanted is kept, and no node is its own child or parent."""
    return find_inconsistency(state.upper) is None


def requests_alternate(taken: Taken) -> bool:
    """
    A node asks nobody for a topic whose parent it has and keeps, and tells nobody else than that that it wants it no more.

    So what it sends of a topic alternates, but for parents that have departed, or have just said that they have come. A
    parent is whom it asked last. [PI-08, PA-12]
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
    """What concerns one topic changes nothing of another. [PI-09]"""
    touched = _topics_affected(taken)
    match taken.event:
        case Received(_, _, message) if isinstance(message, Own):
            return touched <= {message.header.key}
        case Asked() if taken.before.lower is taken.after.lower:  # nobody has come or gone by it
            return len(touched) <= 1
    return True


def delivered_to_subscribers(taken: Taken) -> bool:
    """Nobody is told an event of a topic that it is not subscribed to, nor twice at once, nor copies it to whom it came from."""
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
    """The node's own messages that say what it wants, and whom it sends them to."""
    sends = ((effect.to, effect.message) for effect in taken.effects if isinstance(effect, Send))
    return [(to, message) for to, message in sends if isinstance(message, (SubscribeMessage, UnsubscribeMessage))]


def _topics_affected(taken: Taken) -> set[Id]:
    """The topics of which something has changed, or something is sent."""
    touched = {message.header.key for _, message in _own_requests(taken)}
    before, after = taken.before.upper.topics, taken.after.upper.topics
    if before is not after:
        touched |= {topic for topic in {*before, *after} if before.get(topic) != after.get(topic)}
    return touched


def _come(taken: Taken) -> Mapping[NodeId | None, Id]:
    """Who has just said that it has come, by where it is."""
    notices = [effect.notice for effect in taken.effects if isinstance(effect, Notify)]
    come = [notice.node for notice in notices if isinstance(notice, NodeJoined)]
    return {address_of(taken.after.upper.config, node): node.id for node in come}


def all_trees(cluster: Cluster) -> bool:
    """Of every topic there is a tree. [PL-01]"""
    return all(is_tree(tree) for tree, _ in trees(present(cluster)))


def subscribes(taken: Taken) -> bool:
    """Somebody asks another for events."""
    return any(isinstance(message, SubscribeMessage) for _, message in _own_requests(taken))


def unsubscribes(taken: Taken) -> bool:
    """Somebody tells another that it wants them no more."""
    return any(isinstance(message, UnsubscribeMessage) for _, message in _own_requests(taken))


def copies(taken: Taken) -> bool:
    """Somebody copies an event to a child."""
    return any(isinstance(effect, Send) and isinstance(effect.message, NotifyMessage) for effect in taken.effects)


def changes_parent(taken: Taken) -> bool:
    """Somebody turns from one parent to another, because somebody has come or gone."""
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
    _at_rest("TreeOfInterested", "at rest those who want a topic are its tree", ("PI-04",), in_tree_iff_wanted),
    _at_rest("NoOrphan", "at rest every subscriber is reached", ("PI-05", "P-27"), no_orphan),
    _at_rest("OneParent", "at rest nobody has two parents", ("PI-06",), one_parent),
    Property(
        "DeliveredToSubscribers", "events are for subscribers", ("PI-07", "P-28", "PA-26"), "step", delivered_to_subscribers
    ),
    Property("Alternate", "who asks is no child already", ("PI-08", "PA-04"), "step", requests_alternate),
    Property("Independent", "topics do not meet", ("PI-09",), "step", topics_independent),
    Property("EventuallyTree", "each topic has one tree", ("PL-01",), "cluster", all_trees, "eventually"),
    Property("SomebodySubscribes", "somebody asks for events", ("P-11",), "step", subscribes, "sometimes"),
    Property("SomebodyUnsubscribes", "somebody does not want them any more", ("P-22",), "step", unsubscribes, "sometimes"),
    Property("SomebodyCopies", "an event goes down a tree", ("P-25", "P-26"), "step", copies, "sometimes"),
    Property("SomebodyTurns", "somebody gets another parent", ("P-15", "P-18"), "step", changes_parent, "sometimes"),
)
