"""Other readings of Peter's document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from peerproof.conformance.readings.protocols.wendy import READINGS as OF_WENDY
from peerproof.conformance.readings.protocols.wendy import rank_above_first
from peerproof.conformance.readings.reading import Reading, Readings
from peerproof.spec import wendy
from peerproof.spec.core import Notify, Step
from peerproof.spec.overrides import Overrides
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
    on_subscribe,
    on_subscribe_message,
    on_unsubscribe_message,
    subscribe_to_parent,
    tree_message,
    update_row,
)
from peerproof.spec.stack import Request, Seek
from peerproof.spec.wendy import Delivered, Forward, Forwarding, Id, Joined, Leave, Node, Route, SendTo, Stage
from peerproof.spec.wendy.ids import ID_BYTES

READINGS: Final = Readings()


@READINGS.register("PA-02", "padded", "topics.id_of_topic")
def _pad_topic(topic: str) -> Id:
    """A short topic is filled up with zero bytes."""
    octets = topic.encode(errors="replace")
    return id_of_topic(topic) if len(octets) >= ID_BYTES else id_of_topic(topic + "\0" * (ID_BYTES - len(octets)))


@READINGS.register("PA-04", "each-subscribe", "tree.on_subscribe")
def _send_each_subscribe(state: State, topic: Id, seek: Seek) -> Next:
    """A node that is interested already sends another SUBSCRIBE to its parent when its application subscribes."""
    after = on_subscribe(state, topic, seek)
    return after._replace(effects=tree_message(state.row(topic).parent, topic, SUBSCRIBE)) if topic in state.topics else after


@READINGS.register("PA-05", "to-the-letter", "tree.on_subscribe_message")
def _subscribe_for_first_child(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    """A subscribed node that gets its first child sends another SUBSCRIBE."""
    row, after = state.row(topic), on_subscribe_message(state, topic, child, seek)
    if not row.is_local or row.children or not after.state.row(topic).children:
        return after
    return after._replace(effects=(*after.effects, *tree_message(row.parent, topic, SUBSCRIBE)))


@READINGS.register("PA-07", "passed-on", "tree.on_unsubscribe_message")
def _pass_unsubscribe_on(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    """A node that has no children, and is not subscribed, passes an UNSUBSCRIBE on."""
    if topic in state.topics:
        return on_unsubscribe_message(state, topic, child, seek)
    return Step(state, tree_message(seek(topic), topic, UNSUBSCRIBE))


def _route_unsubscribe(state: State, topic: Id, row: Row, seek: Seek) -> Next:
    if topic in state.topics and not row.is_wanted and row != state.row(topic):
        return Step(state.with_row(topic, row), tree_message(seek(topic), topic, UNSUBSCRIBE))
    return update_row(state, topic, row, seek)


def _is_unsubscribe(effect: TreeEffect) -> bool:
    return isinstance(effect, Request) and isinstance(effect.command, SendTo) and effect.command.purpose == UNSUBSCRIBE


def _to(effect: Any, node: Node) -> TreeEffect:
    return Request(replace(effect.command, node=node))


def _unsubscribe_at_joined(state: State, node: Node, seek: Seek) -> Next:
    after = on_node_joined(state, node, seek)
    return after._replace(effects=tuple(_to(one, node) if _is_unsubscribe(one) else one for one in after.effects))


READINGS.add(
    "PA-10",
    "routed",
    "An UNSUBSCRIBE goes to the next hop, wherever the SUBSCRIBE has gone.",
    instead={"tree.update_row": _route_unsubscribe, "tree.on_node_joined": _unsubscribe_at_joined},
)


@READINGS.register("PA-10", "without-parent", "tree.on_node_joined")
def _unsubscribe_without_parent(state: State, node: Node, seek: Seek) -> Next:
    """A meeting point that is none any more sends the new one an UNSUBSCRIBE, too, before it subscribes there."""
    after = on_node_joined(state, node, seek)
    effects: list[TreeEffect] = []
    for effect in after.effects:
        command: Any = effect.command if isinstance(effect, Request) else None
        if command is not None and state.row(command.key).parent is None:
            effects += tree_message(node, command.key, UNSUBSCRIBE)
        effects.append(effect)
    return after._replace(effects=tuple(effects))


@READINGS.register("PA-12", "both", "tree.on_node_joined")
def _say_both(state: State, node: Node, seek: Seek) -> Next:
    """A parent that joins again, and is the next hop, is sent an UNSUBSCRIBE and a SUBSCRIBE, like any other."""
    effects: tuple[TreeEffect, ...] = ()
    for topic, row in state.topics.items():
        there = seek(topic)
        if there is not None and there.id == node.id:
            former = there if row.parent is not None and row.parent.id == there.id else row.parent
            effects += (*tree_message(former, topic, UNSUBSCRIBE), *tree_message(there, topic, SUBSCRIBE))
            state = state.with_row(topic, row._replace(parent=there))
    return Step(state, effects)


@READINGS.register("PA-12", "nothing", "tree.on_node_joined")
def _say_nothing(state: State, node: Node, seek: Seek) -> Next:
    """A parent that joins again is sent nothing, because the tree is as it should be."""
    known = [topic for topic, row in state.topics.items() if row.parent is not None and row.parent.id == node.id]
    after = on_node_joined(state, node, seek)
    effects = (one for one in after.effects if not (isinstance(one, Request) and getattr(one.command, "key", None) in known))
    return after._replace(effects=tuple(effects))


@READINGS.register("PA-14", "parents-only", "tree.on_departure")
def _keep_children(state: State, is_gone: Callable[[Node], bool], seek: Seek) -> Next:
    """A departed node stays among the children."""
    effects: tuple[TreeEffect, ...] = ()
    for topic, row in state.topics.items():
        if row.parent is not None and is_gone(row.parent):
            state, more = subscribe_to_parent(state, topic, row._replace(parent=None), seek)
            effects += more
    return Step(state, effects)


def _with_purpose(effect: Any, purpose: int) -> Any:
    is_copy = isinstance(effect, Request) and isinstance(effect.command, SendTo)
    return Request(replace(effect.command, purpose=purpose)) if is_copy else effect


def _copy_as_published(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    after = fan_out(state, topic, value, hop, source)
    return after._replace(effects=tuple(_with_purpose(effect, PUBLISH) for effect in after.effects))


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


READINGS.add(
    "PA-15",
    "one-purpose",
    "A copy is the published message itself; a node that gets it from its parent handles it as a copy.",
    instead={"tree.fan_out": _copy_as_published, "tree.on_notice": _take_publish_from_parent},
)


@READINGS.register("PA-17", "of-others-only", "tree.on_message")
def _publish_to_others(state: State, message: Own, seek: Seek) -> Next:
    """A meeting point does not report its own events to its application."""
    after = on_message(state, message, seek)
    if not isinstance(message, PublishMessage) or message.header.sender.id != state.config.id:
        return after
    return after._replace(effects=tuple(effect for effect in after.effects if not isinstance(effect, Notify)))


@READINGS.register("PA-18", "unspecified", "tree.on_notify", is_open=True)
def _refuse_unwanted(state: State, copy: NotifyMessage) -> Next:
    """The document does not say how an unwanted copy is handled: it may be answered with an UNSUBSCRIBE."""
    header = copy.header
    return (
        on_notify(state, copy)
        if header.key in state.topics
        else Step(state, tree_message(header.sender, header.key, UNSUBSCRIBE))
    )


READINGS.add(
    "PA-20",
    "above",
    "Of two nodes that are equally far from a topic's id, the one above it is the meeting point.",
    instead={"peerproof.spec.wendy.ids.Ring.rank": rank_above_first},
)


@READINGS.register("PA-23", "no-parent", "tree.on_subscribe_message")
def _take_no_child_for_parent(state: State, topic: Id, child: Node, seek: Seek) -> Next:
    """A parent that subscribes becomes a child, and is the parent no more."""
    parent, after = state.row(topic).parent, on_subscribe_message(state, topic, child, seek)
    if parent is None or parent.id != child.id:
        return after
    return after._replace(state=after.state.with_row(topic, after.state.row(topic)._replace(parent=None)))


READINGS.add(
    "PA-25", "no-limit", "Copies are sent on however many nodes have received the event.", instead={"tree.MOST_HOPS": 2**31}
)


def _with_hop(effect: Any, hop: int) -> Any:
    is_copy = isinstance(effect, Request) and isinstance(effect.command, SendTo)
    return Request(replace(effect.command, hop=hop)) if is_copy else effect


@READINGS.register("PA-25", "counts-anew", "tree.fan_out")
def _count_anew(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    """A copy begins to count its hops anew."""
    after = fan_out(state, topic, value, hop, source)
    return after._replace(effects=tuple(_with_hop(effect, 0) for effect in after.effects))


@READINGS.register("PA-26", "to-every-child", "tree.fan_out")
def _copy_to_source(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    """A copy goes to every child, to the one that it came from as well."""
    row = state.row(topic)
    is_from_above = row.parent is not None and row.parent.id == source
    return fan_out(state, topic, value, hop) if is_from_above else fan_out(state, topic, value, hop, source)


@READINGS.register("PA-27", "when-joined-only", "tree.on_notice")
def _look_when_joined(state: State, notice: Any, seek: Seek) -> Next:
    """Topics without a parent are checked when the node has joined, and never again."""
    return Step(state) if isinstance(notice, Rerouted) else on_notice(state, notice, seek)


READINGS.add(
    "PA-27",
    "keeps-its-parent",
    "Only topics without a parent are checked; a parent is left only for a node that is announced as joined.",
    instead={"tree.on_rerouted": lambda state, seek, _: on_rerouted(state, seek, frozenset())},
)
READINGS.add(
    "PA-27",
    "announcements-only",
    "Topics are checked when another node has joined, and not when the node itself has.",
    instead={"tree.on_rerouted": lambda state, *_: Step(state)},
)
READINGS.add(
    "PA-28",
    "wendy-only",
    "A message that did not arrive says nothing; departures are those that Wendy reports.",
    instead={"tree.on_sent": lambda state, *_: Step(state)},
)
READINGS.add("PA-29", "no-limit", "There is no end to the children that are kept.", instead={"tree.MOST_CHILDREN": 2**31})


def _copy_to_reachable(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    row = state.row(topic)
    lost = [child for child, node in row.children.items() if not is_reachable(state, node)]
    known = replace(state, topics=state.topics.put({topic: row._replace(children=row.children.without(lost))}))
    return fan_out(known, topic, value, hop, source)._replace(state=state)


READINGS.add(
    "PA-30",
    "unspecified",
    "The document does not say how a child is handled that cannot be reached.",
    instead={"topics.is_reachable": lambda *_: True, "tree.fan_out": _copy_to_reachable},
    is_open=True,
)


@READINGS.register("PA-30", "own-copies", "tree.on_message")
def _take_own_copies(state: State, message: Own, seek: Seek) -> Next:
    """A copy that names the node itself as its Sender is taken as that of any other."""
    return on_notify(state, message) if isinstance(message, NotifyMessage) else on_message(state, message, seek)


@READINGS.register("PA-31", "any-purpose", "tree.on_command")
def _accept_any_purpose(state: State, command: Any, seek: Seek) -> Next:
    """The application may route with Peter's purposes, too."""
    return Step(state, (Request(command),)) if isinstance(command, Route) else on_command(state, command, seek)


READINGS.add(
    "PA-31",
    "untold",
    "The application is not told where its messages go.",
    step=next(one.step for one in OF_WENDY if one.clause == "WA-58"),
)


@READINGS.register("PA-32", "farewell", "tree.on_command")
def _take_leave(state: State, command: Any, seek: Seek) -> Next:
    """A node that leaves unsubscribes first."""
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


READINGS.add(
    "PA-33",
    "any-order",
    "Topics, and the children of one, come in any order.",
    instead={
        "tree.fan_out": _in_another_order(fan_out),
        "tree.on_departure": _in_another_order(on_departure),
        "tree.on_node_joined": _in_another_order(on_node_joined),
        "tree.on_rerouted": _in_another_order(on_rerouted),
    },
    is_open=True,
)


def _receiver(command: Any) -> Id | None:
    return command.node.id if isinstance(command, SendTo) else None


@READINGS.register("PA-34", "from-anybody", "tree.fan_out")
def _copy_from_anybody(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
    """A copy is sent on whichever node it comes from."""
    after = fan_out(state, topic, value, hop)
    back = [one for one in after.effects if isinstance(one, Request) and _receiver(one.command) == source]
    return after if source is None else after._replace(effects=tuple(one for one in after.effects if one not in back))


#: Other readings of Wendy's document that change what a node of Peter does.
_BELOW: Final = (
    ("WA-04", "lower"),
    ("WA-08", "steps-alone"),
    ("WA-11", "closest"),
    ("WA-11", "last"),
    ("WA-18", "tried-again"),
    ("WA-20", "all-wait"),
    ("WA-20", "everywhere-at-once"),
    ("WA-24", "leaves-otherwise"),
    ("WA-24", "without-heartbeats"),
    ("WA-28", "the-other-side"),
    ("WA-33", "dropped"),
    ("WA-34", "applications"),
    ("WA-43", "taken-in"),
    ("WA-46", "not-yet"),
    ("WA-47", "joiner-is-met"),
    ("WA-56", "counted-again"),
    ("WA-56", "joins-only"),
    ("WA-57", "state-requests"),
    ("WA-69", "one-by-one"),
    ("WA-72", "every-announcer"),
    ("WA-74", "one-table-each"),
)


def _lift(reading: Reading) -> Overrides:
    """Returns what a reading of Wendy's document replaces, for Wendy below Peter."""
    package = wendy.__name__
    whole = {name: partial(change, getattr(wendy, name)) for name in ("step", "initial") if (change := getattr(reading, name))}
    return {f"{package}.{place}": function for place, function in {**reading.instead, **whole}.items()}


for _one in OF_WENDY:
    if (_one.clause, _one.name) in _BELOW:
        READINGS.add("PA-35", f"{_one.clause}-{_one.name}".lower(), _one.text, instead=_lift(_one), is_open=_one.is_open)
    if _one.clause == "WA-72" and _one.name.startswith("without-"):
        READINGS.add("PA-36", _one.name, _one.text, step=_one.step)


@READINGS.register("PA-36", "joined-with-leaf-set", "step")
def _join_with_the_leaf_set(right: Callable[..., Any], state: Any, event: Any, pick: Any) -> Any:
    """The node reports that it has joined when the leaf set of the destination has arrived."""
    after = right(state, event, pick)
    others = tuple(effect for effect in after.effects if not (isinstance(effect, Notify) and effect.notice == Joined()))
    has_leaf_set = (state.lower.stage, after.state.lower.stage) == (Stage.JOINING, Stage.WAITING)
    return after._replace(effects=(*others, Notify(Joined())) if has_leaf_set else others)


#: Reasons why a decision has only one reasonable reading -> the decisions.
SETTLED: Final[Mapping[str, str]] = {
    "to do otherwise contradicts P-27": "PA-16 PA-19 PA-21",
    "to do otherwise contradicts P-10": "PA-06",
    "to do otherwise contradicts P-09 or P-11": "PA-08 PA-09",
    "to do otherwise contradicts P-18 or P-19": "PA-13",
    "to do otherwise contradicts P-07 or P-15": "PA-22",
    "PA-27 demands the same of topics without a parent": "PA-11",
    "it is how topics and messages are written, and an adapter can translate it": "PA-01 PA-03 PA-24",
}
