"""
The trees of subscriptions: how Peter handles Wendy's notices and its application's commands.

For each topic there is a tree with the meeting point, the node closest to the topic's id, as its root. A node wants a topic if
it is subscribed itself or has children. It subscribes at its next hop when it begins to want the topic, and unsubscribes when it
no longer wants it. [PA-04]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, assert_never

from peerproof.spec import wendy
from peerproof.spec.core import Asked, NodeId, Notify, Sent, Step, replace
from peerproof.spec.errors import NotEnabled
from peerproof.spec.peter.messages import (
    NOTIFY,
    PUBLISH,
    SUBSCRIBE,
    UNSUBSCRIBE,
    Command,
    Message,
    NotifyMessage,
    Own,
    Publish,
    PublishMessage,
    Rerouted,
    Subscribe,
    SubscribeMessage,
    TreeEffect,
    TreeEvent,
    Unsubscribe,
    UnsubscribeMessage,
    Update,
    lift_message,
)
from peerproof.spec.peter.topics import MOST_CHILDREN, Row, State, id_of_topic, is_reachable
from peerproof.spec.stack import Request, Seek, Told
from peerproof.spec.wendy import (
    Delivered,
    Forward,
    Forwarding,
    Id,
    Join,
    Joined,
    JoinFailed,
    Leave,
    Node,
    NodeExited,
    NodeJoined,
    Route,
    SendTo,
)
from peerproof.spec.wendy.state import Config, address_of

Next: TypeAlias = Step[State, TreeEffect]

#: A copy that this many nodes have received is not copied again. [PA-25]
MOST_HOPS: Final = 255


def initial(self_id: NodeId, config: Config) -> State:
    """Returns a node without subscriptions."""
    return State(self_id, config)


def step(state: State, event: TreeEvent, seek: Seek) -> Next:
    """Dispatches one event to its handler. Raises NotEnabled."""
    if state.has_left:
        return on_nothing(state, event)
    match event:
        case Asked(_, command):
            return on_command(state, command, seek)
        case Told(_, notice):
            return on_notice(state, notice, seek)
        case Sent():
            return on_sent(state, event, seek)
        case _:
            assert_never(event)


def on_nothing(state: State, event: TreeEvent) -> Next:
    """Handles an event at a node that has left: commands are refused, all else is ignored. [PA-32]"""
    if isinstance(event, Asked):
        raise NotEnabled("left", "a node that has left does nothing any more")
    return Step(state)


def on_command(state: State, command: Command, seek: Seek) -> Next:
    """Handles a command of the application. Raises NotEnabled."""
    match command:
        case Subscribe(topic):
            return on_subscribe(state, id_of_topic(topic), seek)
        case Unsubscribe(topic):
            return on_unsubscribe(state, id_of_topic(topic), seek)
        case Publish(topic, value):
            return on_publish(state, id_of_topic(topic), value)
        case Route(_, _, purpose):
            if SUBSCRIBE <= purpose <= NOTIFY:
                raise NotEnabled("reserved", f"the purposes {SUBSCRIBE} to {NOTIFY} are Peter's own")
            return Step(state, (Request(command),))
        case Join():
            return Step(state, (Request(command),))
        case Leave():
            return Step(replace(state, has_left=True), (Request(command),))
        case _:
            assert_never(command)


def on_notice(state: State, notice: wendy.Notice | Rerouted, seek: Seek) -> Next:
    """Handles Wendy's notices: nodes that join or go, and messages that pass through this node. [P-01, PA-36]"""
    match notice:
        case Delivered(application):
            message = lift_message(application)
            return on_message(state, message, seek) if isinstance(message, Own) else Step(state, (Notify(notice),))
        case Forwarding(application):
            message = lift_message(application)
            if isinstance(message, PublishMessage):
                return Step(state, (Request(Forward(application)),))  # [P-24, PA-16]
            if isinstance(message, Own):
                return on_message(state, message, seek)
            return Step(state, (Notify(notice), Request(Forward(application))))  # [PA-31]
        case NodeJoined(node):
            return after(notice, on_node_joined(state, node, seek))
        case NodeExited(node):
            return after(notice, on_departure(state, lambda other: other.id == node.id, seek))
        case Joined():
            return after(notice, on_rerouted(state, seek, None))
        case Rerouted(new):
            return on_rerouted(state, seek, new)
        case JoinFailed():
            return Step(state, (Notify(notice),))
        case _:
            assert_never(notice)


def after(notice: wendy.Notice, taken: Next) -> Next:
    """Returns a step, followed by the same notice for the application."""
    return Step(taken.state, (Notify(notice), *taken.effects))


def on_message(state: State, message: Own, seek: Seek) -> Next:
    """
    Handles a message that ends here: one of the tree, or a publish message at the meeting point. [P-08, P-13]

    A tree message of this node itself came back because it could not be sent; `on_sent` has handled that. [PA-28, PA-30]
    """
    sender, topic = message.header.sender, message.header.key
    match message:
        case PublishMessage(header, value):
            return fan_out(state, topic, value, header.hop)
        case _ if sender.id == state.config.id:
            return Step(state)
        case SubscribeMessage():
            return on_subscribe_message(state, topic, sender, seek)
        case UnsubscribeMessage():
            return on_unsubscribe_message(state, topic, sender, seek)
        case NotifyMessage():
            return on_notify(state, message)
        case _:
            assert_never(message)


def on_subscribe(state: State, topic: Id, seek: Seek) -> Next:
    """The application subscribes to a topic. [P-06, P-07, PA-04]"""
    return update_row(state, topic, state.row(topic)._replace(is_local=True), seek)


def on_unsubscribe(state: State, topic: Id, seek: Seek) -> Next:
    """The application unsubscribes from a topic. [P-20, PA-04]"""
    return update_row(state, topic, state.row(topic)._replace(is_local=False), seek)


def on_publish(state: State, topic: Id, value: bytes) -> Next:
    """The application publishes an event for all subscribers: it goes to the meeting point. [P-24, P-28]"""
    return Step(state, (Request(Route(topic, value, PUBLISH)),))


def on_notify(state: State, copy: NotifyMessage) -> Next:
    """Handles a copy of an event that comes down the tree. [P-26, PA-15, PA-17, PA-18, PA-26, PA-34]"""
    header = copy.header
    return fan_out(state, header.key, copy.value, header.hop, source=header.sender.id)


def on_sent(state: State, sent: Sent[Message], seek: Seek) -> Next:
    """Treats the node at an address as gone if a message of Peter's did not arrive there, known to Wendy or not. [PA-28]"""
    if sent.took is not None or not isinstance(sent.message, Own):
        return Step(state)
    return on_departure(state, lambda node: address_of(state.config, node) == sent.to, seek)


def on_subscribe_message(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    """Adds the previous hop as a child, the parent as well. [P-09…P-12, PA-05, PA-06, PA-23, PA-29, PA-30]"""
    row = state.row(topic)
    if not is_reachable(state, child) or (child.id not in row.children and state.children() >= MOST_CHILDREN):
        return Step(state)
    return update_row(state, topic, row._replace(children=row.children.put({child.id: child})), seek)


def on_unsubscribe_message(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    """Removes the previous hop from the children, if it is one. [P-21…P-23, PA-07]"""
    row = state.row(topic)
    return update_row(state, topic, row._replace(children=row.children.without((child.id,))), seek)


def update_row(state: State, topic: Id, row: Row, seek: Seek) -> Next:
    """
    Returns the node with another row for a topic; it notifies others only if that changes whether it wants the topic. [PA-04]

    When it begins to want it, it subscribes at its next hop, its new parent; when it ends, it unsubscribes from its parent.
    """
    if row == state.row(topic):
        return Step(state)
    was_wanted = topic in state.topics
    if row.is_wanted and not was_wanted:
        return subscribe_to_parent(state, topic, row, seek)
    effects = tree_message(row.parent, topic, UNSUBSCRIBE) if was_wanted and not row.is_wanted else ()
    return Step(state.with_row(topic, row), effects)


def subscribe_to_parent(state: State, topic: Id, row: Row, seek: Seek) -> Next:
    """Subscribes at the next hop, which becomes the parent; the meeting point has none. [P-11…P-13, PA-09]"""
    parent = seek(topic)
    return Step(state.with_row(topic, row._replace(parent=parent)), tree_message(parent, topic, SUBSCRIBE))


def tree_message(to: Node | None, topic: Id, purpose: int) -> tuple[TreeEffect, ...]:
    """Returns a message of this node to its parent, if it has one; messages must stay in order. [PA-08, PA-10, PA-19]"""
    return () if to is None else (Request(SendTo(to, topic, b"", purpose)),)


def fan_out(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    """
    Delivers an event here, if this node is subscribed, and copies it to each child but the one that it came from.

    `source` is the sender of a copy; a copy that does not come from the parent is not copied on. `hop` is the number of nodes
    that have received the event, which is large only if the event goes in a circle.
    [P-25, P-26, PA-17, PA-18, PA-25, PA-26, PA-34]
    """
    row = state.row(topic)
    effects: tuple[TreeEffect, ...] = (Notify(Update(topic, value)),) if row.is_local else ()
    is_from_above = source is None or (row.parent is not None and row.parent.id == source)
    if is_from_above and hop < MOST_HOPS:
        children = [node for node in row.children.values() if node.id != source]
        effects += tuple([Request(SendTo(node, topic, value, NOTIFY, hop)) for node in children])
    return Step(state, effects)


def on_node_joined(state: State, node: Node, seek: Seek) -> Next:
    """A node has joined: if it is the next hop for a topic now, it becomes the parent. [P-17…P-19, PA-10…PA-13, PA-33]"""
    effects: tuple[TreeEffect, ...] = ()
    for topic, row in state.topics.items():
        if row.parent is not None and row.parent.id == node.id:
            effects += tree_message(node, topic, SUBSCRIBE)  # it may have restarted without its state [PA-12]
            state = state.with_row(topic, row._replace(parent=node))  # perhaps at another address
            continue
        there = seek(topic)
        if there is not None and there.id == node.id:
            effects += (*tree_message(row.parent, topic, UNSUBSCRIBE), *tree_message(there, topic, SUBSCRIBE))
            state = state.with_row(topic, row._replace(parent=there))
    return Step(state, effects)


def on_rerouted(state: State, seek: Seek, new: frozenset[Id] | None) -> Next:
    """
    This node has joined, or has learnt of others: for topics that it wants it may be the meeting point no more. [PA-27]

    Nor may its parent be the next hop any more, if one of the `new` nodes is; None: this node has joined, and all are new.
    """
    effects: tuple[TreeEffect, ...] = ()
    for topic, row in state.topics.items():
        there = seek(topic)
        if there is None or (row.parent is not None and (there.id == row.parent.id or (new is not None and there.id not in new))):
            continue
        effects += (*tree_message(row.parent, topic, UNSUBSCRIBE), *tree_message(there, topic, SUBSCRIBE))
        state = state.with_row(topic, row._replace(parent=there))
    return Step(state, effects)


def on_departure(state: State, is_gone: Callable[[Node], bool], seek: Seek) -> Next:
    """
    Nodes have gone: they are removed as children, and a node that has lost its parent subscribes at the next hop.

    [P-14…P-16, PA-14, PA-22, PA-28, PA-33]
    """
    effects: tuple[TreeEffect, ...] = ()
    for topic, row in state.topics.items():
        children = [child for child, node in row.children.items() if is_gone(node)]
        is_orphaned = row.parent is not None and is_gone(row.parent)
        if not children and not is_orphaned:
            continue
        row = Row(row.is_local, row.children.without(children), None if is_orphaned else row.parent)  # noqa: PLW2901  # the same, later
        state, more = (
            subscribe_to_parent(state, topic, row, seek) if is_orphaned and row.is_wanted else update_row(state, topic, row, seek)
        )
        effects += more
    return Step(state, effects)
