"""Other readings of Peter's document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from peerproof.conformance.readings.protocols.wendy import rank_above_first
from peerproof.conformance.readings.reading import Reading
from peerproof.spec.core import Notify, Step
from peerproof.spec.peter.messages import (
    PUBLISH,
    SUBSCRIBE,
    UNSUBSCRIBE,
    NotifyMessage,
    Own,
    PublishMessage,
    Rerouted,
    TreeEffect,
    lift_message,
)
from peerproof.spec.peter.topics import Row, State, id_of_topic, is_reachable
from peerproof.spec.peter.tree import (
    Next,
    fan_out,
    on_command,
    on_departure,
    on_message,
    on_node_joined,
    on_notice,
    on_notify,
    on_rerouted,
    on_subscribe_message,
    on_unsubscribe_message,
    subscribe_to_parent,
    tree_message,
    update_row,
)
from peerproof.spec.stack import Request, Seek
from peerproof.spec.wendy import Delivered, Forward, Forwarding, Id, Leave, Node, Route, SendTo
from peerproof.spec.wendy.ids import ID_BYTES


def _pad_topic(topic: str) -> Id:
    octets = topic.encode(errors="replace")
    return id_of_topic(topic) if len(octets) >= ID_BYTES else id_of_topic(topic + "\0" * (ID_BYTES - len(octets)))


def _accept_any_purpose(state: State, command: Any, seek: Seek) -> Next:
    return Step(state, (Request(command),)) if isinstance(command, Route) else on_command(state, command, seek)


def _take_leave(state: State, command: Any, seek: Seek) -> Next:
    if not isinstance(command, Leave):
        return on_command(state, command, seek)
    farewells: tuple[TreeEffect, ...] = ()
    for topic, row in state.topics.items():
        farewells += tree_message(row.parent, topic, UNSUBSCRIBE)
    after = on_command(state, command, seek)
    return after._replace(effects=(*farewells, *after.effects))


def _in_another_order(right: Callable[..., Next]) -> Callable[..., Next]:
    """Returns the same step with messages about topics, and to children, in another order."""

    def change(*arguments: Any, **options: Any) -> Next:
        after = right(*arguments, **options)
        groups: dict[Any, list[TreeEffect]] = {}
        others: list[TreeEffect] = []
        for effect in after.effects:
            command = effect.command if isinstance(effect, Request) else None
            if not isinstance(command, SendTo):
                others.append(effect)
                continue
            says_so = command.purpose in (SUBSCRIBE, UNSUBSCRIBE)
            groups.setdefault(command.key if says_so else command.node.id, []).append(effect)
        return after._replace(effects=(*others, *(send for group in reversed(groups.values()) for send in group)))

    return change


def _subscribe_for_first_child(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    row, after = state.row(topic), on_subscribe_message(state, topic, child, seek)
    if not row.is_local or row.children or not after.state.row(topic).children:
        return after
    return after._replace(effects=(*after.effects, *tree_message(row.parent, topic, SUBSCRIBE)))


def _pass_unsubscribe_on(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    if topic in state.topics:
        return on_unsubscribe_message(state, topic, child, seek)
    return Step(state, tree_message(seek(topic), topic, UNSUBSCRIBE))


def _route_unsubscribe(state: State, topic: Id, row: Row, seek: Seek) -> Next:
    if topic in state.topics and not row.is_wanted and row != state.row(topic):
        return Step(state.with_row(topic, row), tree_message(seek(topic), topic, UNSUBSCRIBE))
    return update_row(state, topic, row, seek)


def _unsubscribe_at_joined(state: State, node: Node, seek: Seek) -> Next:
    after = on_node_joined(state, node, seek)
    return after._replace(effects=tuple(_to(one, node) if _is_unsubscribe(one) else one for one in after.effects))


def _is_unsubscribe(effect: TreeEffect) -> bool:
    return isinstance(effect, Request) and isinstance(effect.command, SendTo) and effect.command.purpose == UNSUBSCRIBE


def _to(effect: Any, node: Node) -> TreeEffect:
    return Request(replace(effect.command, node=node))


def _say_both(state: State, node: Node, seek: Seek) -> Next:
    effects: tuple[TreeEffect, ...] = ()
    for topic, row in state.topics.items():
        there = seek(topic)
        if there is not None and there.id == node.id:
            former = there if row.parent is not None and row.parent.id == there.id else row.parent
            effects += (*tree_message(former, topic, UNSUBSCRIBE), *tree_message(there, topic, SUBSCRIBE))
            state = state.with_row(topic, row._replace(parent=there))
    return Step(state, effects)


def _say_nothing(state: State, node: Node, seek: Seek) -> Next:
    known = [topic for topic, row in state.topics.items() if row.parent is not None and row.parent.id == node.id]
    after = on_node_joined(state, node, seek)
    effects = (one for one in after.effects if not (isinstance(one, Request) and getattr(one.command, "key", None) in known))
    return after._replace(effects=tuple(effects))


def _keep_children(state: State, is_gone: Callable[[Node], bool], seek: Seek) -> Next:
    effects: tuple[TreeEffect, ...] = ()
    for topic, row in state.topics.items():
        if row.parent is not None and is_gone(row.parent):
            state, more = subscribe_to_parent(state, topic, row._replace(parent=None), seek)
            effects += more
    return Step(state, effects)


def _publish_to_others(state: State, message: Own, seek: Seek) -> Next:
    after = on_message(state, message, seek)
    if not isinstance(message, PublishMessage) or message.header.sender.id != state.config.id:
        return after
    return after._replace(effects=tuple(effect for effect in after.effects if not isinstance(effect, Notify)))


def _take_own_copies(state: State, message: Own, seek: Seek) -> Next:
    return on_notify(state, message) if isinstance(message, NotifyMessage) else on_message(state, message, seek)


def _count_anew(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    after = fan_out(state, topic, value, hop, source)
    return after._replace(effects=tuple(_with_hop(effect, 0) for effect in after.effects))


def _with_hop(effect: Any, hop: int) -> Any:
    is_copy = isinstance(effect, Request) and isinstance(effect.command, SendTo)
    return Request(replace(effect.command, hop=hop)) if is_copy else effect


def _copy_to_source(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    row = state.row(topic)
    is_from_above = row.parent is not None and row.parent.id == source
    return fan_out(state, topic, value, hop) if is_from_above else fan_out(state, topic, value, hop, source)


def _copy_from_anybody(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    after = fan_out(state, topic, value, hop)
    back = [one for one in after.effects if isinstance(one, Request) and _receiver(one.command) == source]
    return after if source is None else after._replace(effects=tuple(one for one in after.effects if one not in back))


def _receiver(command: Any) -> Id | None:
    return command.node.id if isinstance(command, SendTo) else None


def _copy_to_reachable(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    row = state.row(topic)
    lost = [child for child, node in row.children.items() if not is_reachable(state, node)]
    known = replace(state, topics=state.topics.put({topic: row._replace(children=row.children.without(lost))}))
    return fan_out(known, topic, value, hop, source)._replace(state=state)


def _look_when_joined(state: State, notice: Any, seek: Seek) -> Next:
    return Step(state) if isinstance(notice, Rerouted) else on_notice(state, notice, seek)


def _copy_as_published(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    after = fan_out(state, topic, value, hop, source)
    return after._replace(effects=tuple(_with_purpose(effect, PUBLISH) for effect in after.effects))


def _with_purpose(effect: Any, purpose: int) -> Any:
    is_copy = isinstance(effect, Request) and isinstance(effect.command, SendTo)
    return Request(replace(effect.command, purpose=purpose)) if is_copy else effect


def _take_publish_from_parent(state: State, notice: Any, seek: Seek) -> Next:
    message = lift_message(notice.message) if isinstance(notice, Delivered | Forwarding) else None
    if isinstance(message, NotifyMessage):
        passed_on = (Request(Forward(notice.message)),) if isinstance(notice, Forwarding) else ()
        return Step(state, (Notify(notice), *passed_on))
    if isinstance(message, PublishMessage):
        header = message.header
        parent = state.row(header.key).parent
        if parent is not None and parent.id == header.sender.id:
            return fan_out(state, header.key, message.value, header.hop, header.sender.id)
    return on_notice(state, notice, seek)


def _refuse_unwanted(state: State, copy: NotifyMessage) -> Next:
    header = copy.header
    return (
        on_notify(state, copy)
        if header.key in state.topics
        else Step(state, tree_message(header.sender, header.key, UNSUBSCRIBE))
    )


READINGS: Final = (
    Reading(
        clause="PA-02",
        name="padded",
        text="A short topic is filled up with zero bytes.",
        instead={"topics.id_of_topic": _pad_topic},
    ),
    Reading(
        clause="PA-05",
        name="to-the-letter",
        text="A subscribed node that gets its first child sends another SUBSCRIBE.",
        instead={"tree.on_subscribe_message": _subscribe_for_first_child},
    ),
    Reading(
        clause="PA-07",
        name="passed-on",
        text="A node that has no children, and is not subscribed, passes an UNSUBSCRIBE on.",
        instead={"tree.on_unsubscribe_message": _pass_unsubscribe_on},
    ),
    Reading(
        clause="PA-10",
        name="routed",
        text="An UNSUBSCRIBE goes to the next hop, wherever the SUBSCRIBE has gone.",
        instead={"tree.update_row": _route_unsubscribe, "tree.on_node_joined": _unsubscribe_at_joined},
    ),
    Reading(
        clause="PA-12",
        name="both",
        text="A parent that joins again, and is the next hop, is sent an UNSUBSCRIBE and a SUBSCRIBE, like any other.",
        instead={"tree.on_node_joined": _say_both},
    ),
    Reading(
        clause="PA-12",
        name="nothing",
        text="A parent that joins again is sent nothing, because the tree is as it should be.",
        instead={"tree.on_node_joined": _say_nothing},
    ),
    Reading(
        clause="PA-14",
        name="parents-only",
        text="A departed node stays among the children.",
        instead={"tree.on_departure": _keep_children},
    ),
    Reading(
        clause="PA-15",
        name="one-purpose",
        text="A copy is the published message itself; a node that gets it from its parent handles it as a copy.",
        instead={"tree.fan_out": _copy_as_published, "tree.on_notice": _take_publish_from_parent},
    ),
    Reading(
        clause="PA-17",
        name="of-others-only",
        text="A meeting point does not report its own events to its application.",
        instead={"tree.on_message": _publish_to_others},
    ),
    Reading(
        clause="PA-18",
        name="unspecified",
        text="The document does not say how an unwanted copy is handled: it may be answered with an UNSUBSCRIBE.",
        instead={"tree.on_notify": _refuse_unwanted},
        is_open=True,
    ),
    Reading(
        clause="PA-20",
        name="above",
        text="Of two nodes that are equally far from a topic's id, the one above it is the meeting point.",
        instead={"peerproof.spec.wendy.ids.Ring.rank": rank_above_first},
    ),
    Reading(
        clause="PA-25",
        name="no-limit",
        text="Copies are sent on however many nodes have received the event.",
        instead={"tree.MOST_HOPS": 2**31},
    ),
    Reading(
        clause="PA-25",
        name="counts-anew",
        text="A copy begins to count its hops anew.",
        instead={"tree.fan_out": _count_anew},
    ),
    Reading(
        clause="PA-26",
        name="to-every-child",
        text="A copy goes to every child, to the one that it came from as well.",
        instead={"tree.fan_out": _copy_to_source},
    ),
    Reading(
        clause="PA-27",
        name="when-joined-only",
        text="Topics without a parent are checked when the node has joined, and never again.",
        instead={"tree.on_notice": _look_when_joined},
    ),
    Reading(
        clause="PA-27",
        name="keeps-its-parent",
        text="Only topics without a parent are checked; a parent is left only for a node that is announced as joined.",
        instead={"tree.on_rerouted": lambda state, seek, _: on_rerouted(state, seek, frozenset())},
    ),
    Reading(
        clause="PA-27",
        name="announcements-only",
        text="Topics are checked when another node has joined, and not when the node itself has.",
        instead={"tree.on_rerouted": lambda state, *_: Step(state)},
    ),
    Reading(
        clause="PA-28",
        name="wendy-only",
        text="A message that did not arrive says nothing; departures are those that Wendy reports.",
        instead={"tree.on_sent": lambda state, *_: Step(state)},
    ),
    Reading(
        clause="PA-29",
        name="no-limit",
        text="There is no end to the children that are kept.",
        instead={"tree.MOST_CHILDREN": 2**31},
    ),
    Reading(
        clause="PA-30",
        name="unspecified",
        text="The document does not say how a child is handled that cannot be reached.",
        instead={"topics.is_reachable": lambda *_: True, "tree.fan_out": _copy_to_reachable},
        is_open=True,
    ),
    Reading(
        clause="PA-30",
        name="own-copies",
        text="A copy that names the node itself as its Sender is taken as that of any other.",
        instead={"tree.on_message": _take_own_copies},
    ),
    Reading(
        clause="PA-31",
        name="any-purpose",
        text="The application may route with Peter's purposes, too.",
        instead={"tree.on_command": _accept_any_purpose},
    ),
    Reading(
        clause="PA-32",
        name="farewell",
        text="A node that leaves unsubscribes first.",
        instead={"tree.on_command": _take_leave},
    ),
    Reading(
        clause="PA-33",
        name="any-order",
        text="Topics, and the children of one, come in any order.",
        instead={
            "tree.fan_out": _in_another_order(fan_out),
            "tree.on_departure": _in_another_order(on_departure),
            "tree.on_node_joined": _in_another_order(on_node_joined),
            "tree.on_rerouted": _in_another_order(on_rerouted),
        },
        is_open=True,
    ),
    Reading(
        clause="PA-34",
        name="from-anybody",
        text="A copy is sent on whichever node it comes from.",
        instead={"tree.fan_out": _copy_from_anybody},
    ),
)

#: Reasons why a decision has only one reasonable reading -> the decisions.
SETTLED: Final[Mapping[str, str]] = {
    "to do otherwise contradicts P-27": "PA-04 PA-16 PA-19 PA-21",
    "to do otherwise contradicts P-10": "PA-06",
    "to do otherwise contradicts P-09 or P-11": "PA-08 PA-09",
    "to do otherwise contradicts P-18 or P-19": "PA-13",
    "to do otherwise contradicts P-07 or P-15": "PA-22",
    "PA-27 demands the same of topics without a parent": "PA-11",
    "it is how topics and messages are written, and an adapter can translate it": "PA-01 PA-03 PA-24",
    "it may be done, or not, and is not tested": "PA-23",
}
