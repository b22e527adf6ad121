"""Mistakes about two topics, two nodes at one address, ids that look alike, and what happens between two others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unicodedata import normalize

from tests.conformance.mistakes.peter import Wrong
from tests.support.variant import Variants, around, remembering, sending, with_effects, with_header

from peerproof.reference.divergences.peter import (
    DEPARTED,
    FANNED_OUT,
    ON_MESSAGE,
    ON_SUBSCRIBE_MESSAGE,
    ON_UNSUBSCRIBE_MESSAGE,
    Id,
    Next,
    Node,
    Rule,
    own_node,
    sent_to,
)
from peerproof.spec import wendy
from peerproof.spec.core import Asked, Notify, Pick, Received, Send, Sent, Step
from peerproof.spec.peter import messages, overlay, tree
from peerproof.spec.peter.messages import NOTIFY, PUBLISH, UNSUBSCRIBE, Publish, Rerouted, lift_message
from peerproof.spec.peter.topics import Row, State
from peerproof.spec.stack import Request, Seek
from peerproof.spec.wendy import Stage
from peerproof.spec.wendy.state import address_of

wrong = Variants(__name__, Wrong)
Measure = Callable[[Id], Any]
ON_NOTIFY: Rule = tree.on_notify
ON_PUBLISH: Rule = tree.on_publish
ON_SENT: Rule = tree.on_sent
ON_SUBSCRIBE: Rule = tree.on_subscribe
ON_UNSUBSCRIBE: Rule = tree.on_unsubscribe
MEMBERS: Callable[..., Any] = overlay._members


def lower_half(name: Id) -> int:
    """The last 64 bits of an id."""
    return name & (2**64 - 1)


def upper_half(name: Id) -> int:
    """The first 64 bits of an id."""
    return name >> 64


def waiting_without(*passed_over: type[Any]) -> dict[str, Any]:
    """What is replaced to pass something over until the node has announced itself."""

    def step(right: Any, state: Any, event: Any, pick: Pick) -> Any:
        is_waiting = state.lower.stage in (Stage.JOINING, Stage.WAITING)
        what = event.message if isinstance(event, Received) else event.command if isinstance(event, Asked) else None
        return Step(state) if is_waiting and isinstance(what, passed_over) else right(state, event, pick)

    return around("step", step)


def _event_of(notice: Any) -> Any:
    message = lift_message(notice.message) if isinstance(notice, wendy.Forwarding) else None
    return message if isinstance(message, messages.PublishMessage) else None


@wrong("tree.on_notice", "publish-while-it-waits")
def EndsWithoutAParent(right: Any, state: State, notice: Any, seek: Seek) -> Any:
    """Takes itself for the meeting point of a topic as long as it has no parent. [P-24]"""
    event = _event_of(notice)
    is_root = event is not None and event.header.key in state.topics and state.row(event.header.key).parent is None
    return ON_MESSAGE(state, event, seek) if is_root else right(state, notice, seek)


@wrong("tree.on_notice", "the-parent-stays-though-the-next-hop-is-another")
def PublishesUpTheTree(right: Any, state: State, notice: Any, seek: Seek) -> Any:
    """Sends events to its parent, also if another node is the next hop. [P-24, PA-27]"""
    event = _event_of(notice)
    parent = state.row(event.header.key).parent if event is not None else None
    if parent is None:
        return right(state, notice, seek)
    return Step(state, (Request(wendy.SendTo(parent, event.header.key, event.value, PUBLISH, event.header.hop)),))


@wrong("overlay.Underlay.step", "the-parent-stays-though-the-next-hop-is-another a-parent-in-no-table")
def AllAreNew(right: Any, underlay: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Has the next hop for a new one whenever a table has changed. [P-19, PA-27]"""
    after, told = right(underlay, state, event, pick)
    rerouted = Notify(Rerouted(frozenset().union(*MEMBERS(after))))
    return Step(after, tuple(rerouted if isinstance(e, Notify) and isinstance(e.notice, Rerouted) else e for e in told))


def _alone_at_the_top(step: Next, seek: Seek) -> Next:
    state, effects = step
    for topic, row in state.topics.items():
        if row.parent is not None and seek(topic) is None:
            effects += tree.tree_message(row.parent, topic, UNSUBSCRIBE)
            state = state.with_row(topic, row._replace(parent=None))
    return Step(state, effects)


@wrong("tree.on_node_joined", "the-parent-stays-though-the-next-hop-is-another a-parent-in-no-table")
def ParentsAreNextHops(right: Any, state: State, node: Node, seek: Seek) -> Any:
    """Asks a parent that has announced itself again only if it is the next hop. [PA-12]"""
    effects: tuple[Any, ...] = ()
    for topic, row in state.topics.items():
        there = seek(topic)
        if there is not None and there.id == node.id:
            alone = replace(state, topics=type(state.topics)({topic: row}))
            step = right(alone, node, seek)
            state, effects = state.with_row(topic, step.state.row(topic)), effects + step.effects
    return Step(state, effects)


def _but_for(kind: type[Any]) -> Rule:
    return lambda state, sent, seek: Step(state) if isinstance(sent.message, kind) else ON_SENT(state, sent, seek)


@wrong("tree.on_sent", "a-copy-that-fails-at-a-parent")
def CopiesFailAtChildren(right: Any, state: State, sent: Any, seek: Seek) -> Any:
    """Keeps a parent for which a copy did not arrive as a child of another topic. [PA-28]"""
    if sent.took is not None or not isinstance(sent.message, messages.NotifyMessage):
        return right(state, sent, seek)
    parents = [row.parent for row in state.topics.values()]
    return DEPARTED(state, lambda node: address_of(state.config, node) == sent.to and node not in parents, seek)


def _failed_at(is_there: Callable[[State, Node, str], bool]) -> Rule:
    def on_sent(state: State, sent: Any, seek: Seek) -> Next:
        if sent.took is not None or not isinstance(sent.message, messages.Own):
            return Step(state)
        return DEPARTED(state, lambda node: is_there(state, node, sent.to), seek)

    return on_sent


@wrong("tree.on_sent", "children-at-one-address")
def OneDepartsFromAnAddress(right: Any, state: State, sent: Any, seek: Seek) -> Any:
    """Has one node gone from an address where there are two. [PA-28]"""
    if sent.took is not None or not isinstance(sent.message, messages.Own):
        return Step(state)
    nodes = [node for row in state.topics.values() for node in (*row.children.values(), row.parent) if node is not None]
    first = next((node.id for node in nodes if address_of(state.config, node) == sent.to), None)
    return DEPARTED(state, lambda node: node.id == first, seek)


@wrong("tree.on_notice", "one-of-two-at-an-address-leaves")
def ExitsByAddress(right: Any, state: State, notice: Any, seek: Seek) -> Any:
    """Has all nodes at an address gone when one of them leaves. [PA-14]"""
    if not isinstance(notice, wendy.NodeExited):
        return right(state, notice, seek)
    where = address_of(state.config, notice.node)
    return tree.after(notice, DEPARTED(state, lambda node: address_of(state.config, node) == where, seek))


def _others_at(state: State, topic: Id, child: Node) -> State:
    row, where = state.row(topic), address_of(state.config, child)
    others = [name for name, node in row.children.items() if name != child.id and address_of(state.config, node) == where]
    return state.with_row(topic, row._replace(children=row.children.without(others))) if others else state


@wrong.after("step", "parent-leaves-while-it-is-asked")
def AsksTheNextToo(step: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Sends a SUBSCRIBE that did not arrive to the parent that has been asked instead already. [PA-28]"""
    if not (isinstance(event, Sent) and event.took is None and isinstance(event.message, messages.SubscribeMessage)):
        return step
    parent = state.upper.row(event.message.header.key).parent
    where = address_of(state.config, parent) if parent is not None else None
    return step if where in (None, event.to) else with_effects(step, Send(where, event.message))


def _copied_if(is_from_above: Callable[[State, Row, Node], bool]) -> Rule:
    def on_notify(state: State, copy: Any) -> Next:
        header = copy.header
        row = state.row(header.key)
        if is_from_above(state, row, header.sender):
            state = state.with_row(header.key, row._replace(parent=header.sender))
        elif row.parent is not None and row.parent.id == header.sender.id:
            state = state.with_row(header.key, row._replace(parent=None))
        return Step(state.with_row(header.key, row), ON_NOTIFY(state, copy).effects)

    return on_notify


def _parents_by(measure: Measure) -> Rule:
    return _copied_if(lambda _, row, sender: row.parent is not None and measure(row.parent.id) == measure(sender.id))


def _adopted(state: State, copy: Any) -> Next:
    step = ON_NOTIFY(state, copy)
    row = state.row(copy.header.key)
    return Step(state.with_row(copy.header.key, row._replace(parent=copy.header.sender)), step.effects)


@wrong("tree.on_notice", "own-publish-comes-back")
def DropsItsOwn(right: Any, state: State, notice: Any, seek: Seek) -> Any:
    """Passes over an event of its own that has come back to it. [PA-17]"""
    message = lift_message(notice.message) if isinstance(notice, wendy.Delivered) else None
    is_back = isinstance(message, messages.PublishMessage) and message.header.hop > 0
    is_own = is_back and message is not None and message.header.sender.id == own_node(state).id
    return Step(state) if is_own else right(state, notice, seek)


@wrong(remembering, "the-same-event-published-twice")
def PublishesOnce(seen: dict[Any, Any], right: Any, *given: Any) -> Any:
    """Sends the same event on once. [PA-18]"""
    step = right(*given)
    events = [e for e in step.effects if isinstance(e, Send) and isinstance(e.message, messages.PublishMessage)]
    kept = tuple(effect for effect in step.effects if effect not in events or effect not in seen)
    seen.update(dict.fromkeys(events))
    return step._replace(effects=kept)


def _topics_by(measure: Measure) -> dict[str, Any]:
    """What is replaced for topics that are equal in this to be one."""

    def found(state: State, topic: Id) -> Id:
        alike = [known for known in state.topics if measure(known) == measure(topic)]
        return topic if topic in state.topics or not alike else alike[0]

    return {
        "tree.on_subscribe": lambda state, topic, seek: ON_SUBSCRIBE(state, found(state, topic), seek),
        "tree.on_unsubscribe": lambda state, topic, seek: ON_UNSUBSCRIBE(state, found(state, topic), seek),
        "tree.on_subscribe_message": lambda state, topic, child, seek: ON_SUBSCRIBE_MESSAGE(
            state, found(state, topic), child, seek
        ),
        "tree.on_unsubscribe_message": lambda state, topic, child, seek: ON_UNSUBSCRIBE_MESSAGE(
            state, found(state, topic), child, seek
        ),
        "tree.fan_out": lambda state, topic, value, hop, source=None: FANNED_OUT(state, found(state, topic), value, hop, source),
    }


def _children_by(measure: Measure) -> dict[str, Any]:
    """What is replaced for children that are equal in this to be one."""

    def found(state: State, topic: Id, child: Node) -> Node:
        return next((node for name, node in state.row(topic).children.items() if measure(name) == measure(child.id)), child)

    return {
        "tree.on_subscribe_message": lambda state, topic, child, seek: ON_SUBSCRIBE_MESSAGE(
            state, topic, found(state, topic, child), seek
        ),
        "tree.on_unsubscribe_message": lambda state, topic, child, seek: ON_UNSUBSCRIBE_MESSAGE(
            state, topic, found(state, topic, child), seek
        ),
    }


def _in_order_of(measure: Measure) -> dict[str, Any]:
    """What is replaced for topics and children to come in this order."""

    def fan_out(state: State, topic: Id, value: bytes, hop: int, source: Id | None = None) -> Next:
        step = FANNED_OUT(state, topic, value, hop, source)
        copies = [effect for effect in step.effects if sent_to(effect, NOTIFY)]
        told = [effect for effect in step.effects if isinstance(effect, Notify)]
        return Step(step.state, (*told, *sorted(copies, key=lambda effect: measure(effect.command.node.id))))

    def on_departure(state: State, is_gone: Any, seek: Seek) -> Next:
        step = DEPARTED(state, is_gone, seek)
        return Step(step.state, tuple(sorted(step.effects, key=lambda effect: measure(effect.command.key))))

    return {"tree.fan_out": fan_out, "tree.on_departure": on_departure}


def _leaving_first(step: Next) -> Next:
    return Step(step.state, tuple(sorted(step.effects, key=lambda effect: not sent_to(effect, UNSUBSCRIBE))))


def _with_values(change: Callable[[bytes], bytes]) -> dict[str, Any]:
    """What is replaced for events to be changed wherever they are sent or told."""
    return {
        "tree.on_publish": lambda state, topic, value: ON_PUBLISH(state, topic, change(value)),
        "tree.fan_out": lambda state, topic, value, hop, source=None: FANNED_OUT(state, topic, change(value), hop, source),
    }


@wrong(_with_values, "event-of-a-letter-in-two-signs")
def EventsInOneForm(value: bytes) -> bytes:
    """Puts a letter and its accent together where an event is text. [PA-24]"""
    try:
        return normalize("NFC", value.decode()).encode()
    except UnicodeDecodeError:
        return value


def with_headers(change: Callable[[wendy.Header], wendy.Header]) -> dict[str, Any]:
    """What is replaced to send other headers with the messages of the tree."""
    return sending(messages.Own, lambda message, _: replace(message, header=change(message.header)))


def without_credentials(kind: type[Any]) -> dict[str, Any]:
    """What is replaced to leave the credentials out of messages of a kind."""
    return sending(kind, lambda message, _: with_header(message, credentials=None))


wrong |= {
    # Sends a SUBSCRIBE with the versions from before its tables changed. [P-01]
    "SubscribesWithOldVersions: subscribe-with-the-versions-of-the-moment": sending(
        messages.SubscribeMessage, lambda message, state: with_header(message, versions=state.lower.versions)
    ),
    # Puts its own id in the place of the key zero. [P-07]
    "ZeroIsNoKey: topic-zero": sending(
        messages.Own,
        lambda message, state: message if message.header.key else with_header(message, key=state.config.id),
    ),
    # Takes no children until it has announced itself. [P-09]
    "SubscribedLater: tree-messages-while-it-waits": waiting_without(messages.SubscribeMessage),
    # Keeps its children until it has announced itself. [P-21]
    "UnsubscribedLater: tree-messages-while-it-waits": waiting_without(messages.UnsubscribeMessage),
    # Takes no copies until it has announced itself. [P-26]
    "CopiesLater: tree-messages-while-it-waits": waiting_without(messages.NotifyMessage),
    # Notices no exit until it has announced itself. [P-14]
    "DepartsLater: tree-messages-while-it-waits": waiting_without(wendy.NodeExit),
    # Sends no events on until it has announced itself. [P-24]
    "PassesOnLater: publish-while-it-waits": waiting_without(messages.PublishMessage),
    # Publishes nothing until it has announced itself. [P-24]
    "PublishesLater: publish-while-it-waits": waiting_without(Publish),
    # Leaves the region of senders out. [PA-08, PA-16]
    "SendersWithoutARegion: whole-senders-in-tree-messages publish-passes-by-as-it-is": with_headers(
        lambda header: replace(header, sender=header.sender._replace(region=""))
    ),
    # Puts the local host of senders in the place of the global one. [PA-08, PA-16]
    "SendersWithOneHost: whole-senders-in-tree-messages publish-passes-by-as-it-is": with_headers(
        lambda header: replace(header, sender=header.sender._replace(global_ip=header.sender.local_ip))
    ),
    # Leaves the credentials out of an UNSUBSCRIBE. [P-01]
    "UnsubscribesWithoutCredentials: whole-senders-in-tree-messages": without_credentials(messages.UnsubscribeMessage),
    # Leaves the credentials out of a NOTIFY. [P-01]
    "CopiesWithoutCredentials: whole-senders-in-tree-messages": without_credentials(messages.NotifyMessage),
    # Leaves the credentials out of a PUBLISH, its own or one that passes by. [P-01, PA-16]
    "PublishesWithoutCredentials: whole-senders-in-tree-messages publish-passes-by-as-it-is": without_credentials(
        messages.PublishMessage
    ),
    # Looks for a next hop only if its tables have a new node. [PA-27]
    "LooksWhenOneIsNew: a-next-hop-after-a-departure": around(
        "tree.on_rerouted", lambda right, state, seek, new: Step(state) if new == frozenset() else right(state, seek, new)
    ),
    # Unsubscribes from its parent when its tables make it the meeting point. [PA-27]
    "LeavesItsParentAtTheTop: the-meeting-point-keeps-its-parent": around(
        "tree.on_rerouted", lambda right, state, seek, new: _alone_at_the_top(right(state, seek, new), seek)
    ),
    # Unsubscribes from its parent as the meeting point when another node joins. [PA-13]
    "LeavesItsParentAtAJoin: the-meeting-point-keeps-its-parent": around(
        "tree.on_node_joined", lambda right, state, node, seek: _alone_at_the_top(right(state, node, seek), seek)
    ),
    # Copies no event as the meeting point if it has a parent. [P-25]
    "RootsHaveNoParent: the-meeting-point-keeps-its-parent": around(
        "tree.on_message",
        lambda right, state, message, seek: (
            Step(state)
            if isinstance(message, messages.PublishMessage) and state.row(message.header.key).parent is not None
            else right(state, message, seek)
        ),
    ),
    # Takes no departure from an UNSUBSCRIBE that does not arrive, unless Wendy does. [PA-28]
    "UnsubscribesIntoTheVoid: a-parent-in-no-table": {"tree.on_sent": _but_for(messages.UnsubscribeMessage)},
    # Has all nodes at a host gone with one of its ports. [PA-28]
    "HostsDepart: a-copy-that-fails-at-a-port": {
        "tree.on_sent": _failed_at(
            lambda state, node, to: str(address_of(state.config, node)).rpartition(":")[0] == to.rpartition(":")[0]
        )
    },
    # Has a node gone by that one of its hosts to which it is not sent. [PA-28]
    "EitherHostDeparts: a-copy-that-fails-at-a-port": {
        "tree.on_sent": _failed_at(lambda _, node, to: to in (f"{node.local_ip}:{node.port}", f"{node.global_ip}:{node.port}"))
    },
    # Puts a child in the place of another one at the same address. [P-10, PA-08]
    "OneChildAtAnAddress: children-at-one-address one-of-two-at-an-address-leaves": around(
        "tree.on_subscribe_message",
        lambda right, state, topic, child, seek: right(_others_at(state, topic, child), topic, child, seek),
    ),
    # Removes all children at the address of the one that unsubscribes. [P-21]
    "UnsubscribesByAddress: children-at-one-address": around(
        "tree.on_unsubscribe_message",
        lambda right, state, topic, child, seek: right(_others_at(state, topic, child), topic, child, seek),
    ),
    # Copies on what comes from the parent of another topic. [PA-34]
    "AnyParentCopies: copy-from-the-parent-of-another-topic": {
        "tree.on_notify": _copied_if(
            lambda state, _, sender: any(row.parent is not None and row.parent.id == sender.id for row in state.topics.values())
        )
    },
    # Knows its parent by the address instead of the id. [PA-34]
    "ParentsByAddress: the-parent-is-known-by-its-id": {
        "tree.on_notify": _copied_if(
            lambda state, row, sender: (
                row.parent is not None and address_of(state.config, row.parent) == address_of(state.config, sender)
            )
        )
    },
    # Knows its parent by the id and the address. [PA-34]
    "ParentsWithTheirAddress: the-parent-is-known-by-its-id senders-without-an-address": {
        "tree.on_notify": _copied_if(lambda _, row, sender: row.parent == sender)
    },
    # Knows its parent by the upper half of the id. [PA-34]
    "ParentsByTheUpperHalf: copy-from-one-that-is-nearly-the-parent": {"tree.on_notify": _parents_by(upper_half)},
    # Knows its parent by the id as a double. [PA-34]
    "ParentsByDoubles: copy-from-one-that-is-nearly-the-parent": {"tree.on_notify": _parents_by(float)},
    # Takes the sender of a copy for its parent from then on. [PA-09]
    "AdoptsParents: copies-make-no-parent": {"tree.on_notify": _adopted},
    # Takes the sender of a copy for its parent if it has none. [PA-09]
    "AdoptsAParent: copies-make-no-parent": around(
        "tree.on_notify",
        lambda right, state, copy: _adopted(state, copy) if state.row(copy.header.key).parent is None else right(state, copy),
    ),
    # Passes over what comes from a node without an address. [P-21, P-25, PA-34]
    "NeedsAddresses: senders-without-an-address": around(
        "tree.on_message",
        lambda right, state, message, seek: (
            Step(state) if address_of(state.config, message.header.sender) is None else right(state, message, seek)
        ),
    ),
    # Tells topics apart by the lower halves of their ids. [PA-01]
    "TopicsByTheLowerHalf: topics-that-differ-in-one-byte": _topics_by(lower_half),
    # Tells topics apart by the upper halves of their ids. [PA-01]
    "TopicsByTheUpperHalf: topics-that-differ-in-one-byte": _topics_by(upper_half),
    # Tells topics apart by their ids as doubles. [PA-01]
    "TopicsByDoubles: topics-that-differ-in-one-byte": _topics_by(float),
    # Tells children apart by the upper halves of their ids. [P-10, P-21]
    "ChildrenByTheUpperHalf: children-that-differ-in-one-digit": _children_by(upper_half),
    # Tells children apart by their ids as doubles. [P-10, P-21]
    "ChildrenByDoubles: children-that-differ-in-one-digit": _children_by(float),
    # Has ids in order as signed numbers. [PA-33]
    "OrdersSigned: topics-in-the-order-of-all-their-digits copies-in-the-order-of-all-digits": _in_order_of(
        lambda name: name - (name >> 127 << 128)
    ),
    # Has ids in order as two signed halves. [PA-33]
    "OrdersSignedHalves: topics-in-the-order-of-all-their-digits copies-in-the-order-of-all-digits": _in_order_of(
        lambda name: (upper_half(name), lower_half(name) - (lower_half(name) >> 63 << 64))
    ),
    # Has ids in order by their lower halves. [PA-33]
    "OrdersByTheLowerHalf: topics-in-the-order-of-all-their-digits copies-in-the-order-of-all-digits": _in_order_of(lower_half),
    # Has ids in order as doubles, of equal ones the last first. [PA-33]
    "OrdersDoubles: topics-in-the-order-of-all-their-digits copies-in-the-order-of-all-digits": _in_order_of(
        lambda name: (float(name), -name)
    ),
    # Sends all UNSUBSCRIBEs before all SUBSCRIBEs. [PA-33]
    "UnsubscribesFirst: parent-of-one-and-child-of-another-topic-leaves measured-on-the-way-of-two-topics": around(
        "tree.on_departure", lambda right, state, is_gone, seek: _leaving_first(right(state, is_gone, seek))
    )
    | around("tree.on_rerouted", lambda right, state, seek, new: _leaving_first(right(state, seek, new))),
    # Takes the id zero for that of no topic. [P-03, PA-01]
    "ZeroIsNoTopic: topic-zero": around(
        "tree.update_row", lambda right, state, topic, row, seek: right(state, topic, row, seek) if topic else Step(state)
    ),
    # Takes the id zero for that of no child. [P-09]
    "ZeroIsNoChild: topic-zero": around(
        "tree.on_subscribe_message",
        lambda right, state, topic, child, seek: right(state, topic, child, seek) if child.id else Step(state),
    ),
    # Takes the id zero for that of no parent. [PA-34]
    "ZeroIsNoParent: topic-zero": {
        "tree.on_notify": _copied_if(lambda _, row, sender: bool(row.parent and row.parent.id == sender.id != 0))
    },
    # Has the node with the id zero for its parent if it has none. [PA-34]
    "NoParentIsZero: copy-from-the-node-zero-at-the-meeting-point": {
        "tree.on_notify": _copied_if(lambda _, row, sender: (row.parent.id if row.parent is not None else 0) == sender.id)
    },
    # Makes text of events, and bytes of that. [PA-24]
    "EventsAreText: event-of-bytes-that-are-no-text": _with_values(lambda value: value.decode(errors="replace").encode()),
    # Leaves blanks at the ends of events out. [PA-24]
    "EventsWithoutBlanks: event-of-bytes-that-are-no-text": _with_values(bytes.strip),
    # Has events end at a zero byte when it copies them. [PA-24]
    "EventsEndAtZero: event-of-bytes-that-are-no-text": around(
        "tree.fan_out",
        lambda right, state, topic, value, hop, source=None: right(state, topic, value.partition(b"\0")[0], hop, source),
    ),
    # Copies the first 65535 bytes of an event. [PA-24]
    "ShortEvents: event-of-seventy-thousand-bytes": _with_values(lambda value: value[:65535]),
}
__getattr__ = wrong.find
