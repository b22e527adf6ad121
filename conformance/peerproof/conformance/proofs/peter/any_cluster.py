"""
What holds in every cluster of Peter: whatever the number of nodes, topics, children, messages, losses and orders.

An invariant of one node's trees and of one message is kept by every path of `tree.step`, for every event that satisfies it. The
rest of the cluster is in functions that only grow: what was published on each topic, and which nodes have wanted it.
`composition` shows why this is enough.

Of Wendy, on which Peter stands, this takes for granted that it carries messages as it got them: the key, the purpose, the value
and the sender of a message that arrives are those with which a node sent it. Where a message goes, and when, may be anything.

A node has any number of topics, each with any number of children. Where the code goes through its topics, it gets any one of
them: each turn looks at the row of its own topic and changes no other, so what one turn keeps, all keep. Where it goes through
children, it gets any one, and any two where two copies are compared. Nodes, topics and values are numbers that only have to
differ; the value 0 is the empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.composition import composition
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.proof import ANY_CLUSTER, Evaluated, ProofTable, Twin
from peerproof.conformance.proofs.terms import Number, choice, term_of, truth
from peerproof.spec.core import Asked, Duration, Instant, NodeId, Notify, Sent, Step, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.peter import tree
from peerproof.spec.peter.messages import (
    NOTIFY,
    PUBLISH,
    SUBSCRIBE,
    UNSUBSCRIBE,
    Publish,
    Rerouted,
    Subscribe,
    SubscribeMessage,
    Unsubscribe,
    Update,
)
from peerproof.spec.peter.topics import MOST_CHILDREN, Row, State
from peerproof.spec.stack import Request, Told
from peerproof.spec.wendy import (
    Application,
    Config,
    Delivered,
    Forward,
    Forwarding,
    Header,
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
from peerproof.spec.wendy.ids import Ring

PROOFS: Final = ProofTable()

#: No replacements.
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})

_INT, _BOOL = smt.IntSort(), smt.BoolSort()
_NOW: Final = Instant(0)
_EMPTY: Final = smt.IntVal(0)

#: A purpose that is not Peter's.
_OTHER: Final = SUBSCRIBE - 1

#: What may happen to a node, without and with a message of another one.
_ALONE: Final = (
    *("subscribe", "unsubscribe", "publish", "route", "join", "leave"),
    *("node joined", "node exited", "rerouted", "joined", "join failed", "arrived", "lost"),
)
_WITH_MESSAGE: Final = "delivered", "forwarding"


def node_of(term: Term) -> Node:
    """Returns the node with this id."""
    found: Any = Number(term)
    return Node(found, "", "", 0)


@dataclass(frozen=True)
class Cluster:
    """What the rest of the cluster has: functions that only grow."""

    published: Callable[[Term, Term], Term]  #: topic, value -> whether it was published on it
    wanted: Callable[[Term, Term], Term]  #: node, topic -> whether the node, or a child of it, has wanted the topic


def any_cluster() -> Cluster:
    """Returns any cluster."""
    return Cluster(smt.Function("was published", _INT, _INT, _BOOL), smt.Function("has wanted", _INT, _INT, _BOOL))


class Children:
    """The children of a node for one topic: any number of them. Going through them gives those of `window`."""

    def __init__(self, path: Path, has: Callable[[Term], Term], window: tuple[Term, ...], same: Term = None) -> None:
        self._path = path
        self.has = has
        self._window = window
        self._same = same  #: whether these are the children as they were before the change that made them

    def __contains__(self, child: Any) -> bool:
        return bool(self.has(term_of(child)))

    def __len__(self) -> int:
        """Returns 1 if there are any children; the code needs no more."""
        return 1 if bool(smt.Bool(self._path.fresh("there are children"))) else 0

    def __eq__(self, other: object) -> bool:
        return self is other or (self._same is not None and bool(self._same))

    __hash__ = None  # type: ignore[assignment]  # lookups by identity would be wrong

    def put(self, nodes: Mapping[Any, Node]) -> Children:
        """Like `Table`, for one node; one that is a child already may have moved."""
        ((child, _),) = nodes.items()
        is_same = smt.And(self.has(child.term), smt.Bool(self._path.fresh("it has not moved")))
        return Children(self._path, lambda c: smt.Or(c == child.term, self.has(c)), self._window, is_same)

    def without(self, children: Any) -> Children:
        """Like `Table`."""
        gone = [term_of(child) for child in children]
        is_same = smt.Not(smt.Or(*map(self.has, gone)))
        return Children(self._path, lambda c: smt.And(self.has(c), *(c != one for one in gone)), self._window, is_same)

    def items(self) -> Iterator[tuple[Any, Node]]:
        """Like `Table`, for the nodes of the window that are children."""
        for child in self._window:
            if self.has(child):
                found = node_of(child)
                yield found.id, found

    def values(self) -> Iterator[Node]:
        """Like `Table`."""
        return (node for _, node in self.items())


class Topics:
    """The topics of a node: any number of them. Going through them gives `members`."""

    def __init__(
        self,
        path: Path,
        has: Callable[[Term], Term],
        is_local: Callable[[Term], Term],
        is_child: Callable[[Term, Term], Term],
        parent: Callable[[Term], Term],
        members: tuple[Term, ...],
        window: tuple[Term, ...],
    ) -> None:
        self._path = path
        self.has = has
        self.is_local = is_local  #: topic -> whether the application is subscribed
        self.is_child = is_child  #: topic, node
        self.parent = parent  #: topic -> the parent; below 0: none
        self.members = members
        self.window = window
        self.about: list[tuple[Term, Term]] = []  #: topics and nodes of which it is known what holds
        self._rows: dict[int, Row] = {}  #: that were asked for, so that a row is the same each time

    def __contains__(self, topic: Any) -> bool:
        return bool(self.has(topic.term))

    def get(self, topic: Any, _: Row) -> Row:
        """Like `Table`; a topic without a row has no children."""
        number = topic.term.id
        if number not in self._rows:
            is_there, at = topic in self, topic.term
            has = (lambda child: self.is_child(at, child)) if is_there else (lambda _: smt.BoolVal(False))
            children: Any = Children(self._path, has, self.window)
            parent = node_of(self.parent(at)) if is_there and self.parent(at) >= 0 else None
            self._rows[number] = Row(self.is_local(at) if is_there else False, children, parent)
        return self._rows[number]

    def put(self, rows: Mapping[Any, Row]) -> Topics:
        """Like `Table`, for one topic."""
        ((topic, row),) = rows.items()
        at, children = topic.term, cast("Children", row.children)
        parent = smt.IntVal(-1) if row.parent is None else term_of(row.parent.id)
        local = row.is_local if smt.is_expr(row.is_local) else smt.BoolVal(row.is_local)
        return self._with(
            lambda t: smt.Or(t == at, self.has(t)),
            lambda t: smt.If(t == at, local, self.is_local(t)),
            lambda t, c: smt.If(t == at, children.has(c), self.is_child(t, c)),
            lambda t: smt.If(t == at, parent, self.parent(t)),
        )

    def without(self, topics: Any) -> Topics:
        """Like `Table`, for one topic."""
        (topic,) = topics
        return self._with(lambda t: smt.And(self.has(t), t != topic.term), self.is_local, self.is_child, self.parent)

    def _with(self, has: Any, is_local: Any, is_child: Any, parent: Any) -> Topics:
        return Topics(self._path, has, is_local, is_child, parent, self.members, self.window)

    def items(self) -> Iterator[tuple[Any, Row]]:
        """Like `Table`, for the members."""
        for topic in map(Number, self.members):
            if topic in self:
                yield topic, self.get(topic, Row())

    def values(self) -> Iterator[Row]:
        """Yields a row with any number of children, for their limit."""
        is_full = bool(smt.Bool(self._path.fresh("there are too many children")))
        few_or_many: Any = range(MOST_CHILDREN if is_full else 0)
        yield Row(children=few_or_many)


class Message(NamedTuple):
    """A message of the tree, or of an application."""

    sender: Term
    topic: Term
    purpose: Term
    value: Term
    to: Term | None = None  #: None: wherever Wendy routes it

    @property
    def is_copy(self) -> bool:
        """Whether it is a copy of an event, from a parent to a child."""
        return self.to is not None and bool(smt.is_true(smt.simplify(self.purpose == NOTIFY)))


def is_sound(cluster: Cluster, message: Message) -> Term:
    """States what holds of a message under way."""
    sender, topic, purpose, value, _ = message
    is_event = smt.Or(purpose == PUBLISH, purpose == NOTIFY)
    return smt.And(
        smt.Implies(is_event, cluster.published(topic, value)),
        smt.Implies(purpose == SUBSCRIBE, cluster.wanted(sender, topic)),
    )


def invariant(cluster: Cluster, state: State, subscribed: Callable[[Term], Term], topic: Term, child: Term) -> dict[str, Term]:
    """Returns what holds of a node, of any topic and any other node; `subscribed` is what its application has asked for."""
    topics: Any = state.topics
    own = term_of(state.config.id)
    is_local, is_child = topics.is_local(topic), topics.is_child(topic, child)
    return {
        "it is subscribed exactly if its application is": smt.And(topics.has(topic), is_local) == subscribed(topic),
        "it has wanted its topics": smt.Implies(topics.has(topic), cluster.wanted(own, topic)),
        "its children have wanted the topic": smt.Implies(smt.And(topics.has(topic), is_child), cluster.wanted(child, topic)),
    }


# -- steps ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Taken:
    """A step of any node of any cluster."""

    cluster: Cluster  #: after the step
    before: State
    state: State
    subscribed: Callable[[Term], Term]  #: after the step
    sent: list[Message]
    delivered: list[tuple[Term, Term]]  #: topic and value of each event for the application
    event: Message | None  #: the message with which the step was taken
    topic: Term  #: any topic, and any other node
    other: Term


def any_state(path: Path, window: int = 1) -> State:
    """Returns any node; going through children gives this many of them."""
    node = path.integer("node", 0, Ring().size - 1)
    children = tuple(path.integer(f"child {number}") for number in range(1, window + 1))
    path.know(smt.Distinct(*children))
    table: Any = Topics(
        path,
        smt.Function("has topic", _INT, _BOOL),
        smt.Function("is subscribed to", _INT, _BOOL),
        smt.Function("has child", _INT, _INT, _BOOL),
        smt.Function("parent", _INT, _INT),
        (path.integer("one of its topics"),),
        children,
    )
    own: Any = Number(node)
    return State(NodeId("any"), Config(own), table, bool(path.any_of("it has left", _BOOL)))


def any_event(path: Path, kind: str, topic: Term, value: Term) -> tuple[Any, Message | None]:
    """Returns any event of a kind, about a topic and a value; and the message that it brings, if it does."""
    about, name, content = node_of(path.integer("another node")), Number(topic), Number(value)
    if kind in _WITH_MESSAGE:
        purpose = (SUBSCRIBE, UNSUBSCRIBE, PUBLISH, NOTIFY, _OTHER)[choice(path, "purpose", 5)]
        header: Any = Header(about, name, hop=path.integer("hop"))  # type: ignore[arg-type]
        application: Any = Application(header, purpose, content)  # type: ignore[arg-type]
        notice = Delivered(application) if kind == "delivered" else Forwarding(application, about)
        return Told(_NOW, notice), Message(term_of(about.id), topic, smt.IntVal(purpose), value)
    new: Any = frozenset([Number(path.integer("a node in the tables"))])
    address: Any = Number(path.integer("address"))
    own = SubscribeMessage(Header(about, name))  # type: ignore[arg-type]  # a number stands for an id
    events: dict[str, Any] = {
        "subscribe": Asked(_NOW, Subscribe(name)),  # type: ignore[arg-type]
        "unsubscribe": Asked(_NOW, Unsubscribe(name)),  # type: ignore[arg-type]
        "publish": Asked(_NOW, Publish(name, content)),  # type: ignore[arg-type]
        "route": Asked(_NOW, Route(name, content, path.integer("purpose of the application"))),  # type: ignore[arg-type]
        "join": Asked(_NOW, Join(NodeId("any"))),
        "leave": Asked(_NOW, Leave()),
        "node joined": Told(_NOW, NodeJoined(about)),
        "node exited": Told(_NOW, NodeExited(about)),
        "rerouted": Told(_NOW, Rerouted(new)),
        "joined": Told(_NOW, Joined()),
        "join failed": Told(_NOW, JoinFailed(NodeId("any"))),
        "arrived": Sent(_NOW, address, own, Duration(1)),
        "lost": Sent(_NOW, address, own, None),
    }
    return events[kind], None


def take_step(path: Path, state: State, event: Any) -> Step[State, Any]:
    """Takes a step with the running code; next hops, addresses and what can be reached are any."""
    next_hop, has_hop = smt.Function("next hop", _INT, _INT), smt.Function("has a next hop", _INT, _BOOL)
    address = smt.Function("address of", _INT, _INT)

    def seek(topic: Any) -> Node | None:
        return node_of(next_hop(topic.term)) if has_hop(topic.term) else None

    replaced = {
        "id_of_topic": lambda topic: topic,
        "is_reachable": lambda *_: bool(smt.Bool(path.fresh("it can be reached"))),
        "address_of": lambda _, node: Number(address(node.id.term)),
    }
    with path.on_terms(overriding(names_in(tree, **replaced))):
        taken: Step[State, Any] = path.run(tree.step, state, event, seek)
        return taken


def any_step(
    path: Path, instead: Mapping[str, Any], kinds: Sequence[str] = (*_ALONE, *_WITH_MESSAGE), *, window: int = 1
) -> Taken | None:
    """Takes any step of any node; None if it refuses the event. `instead` replaces functions of `tree`."""
    cluster, state = any_cluster(), any_state(path, window)
    own, table = term_of(state.config.id), cast("Topics", state.topics)
    topic, value, other = path.integer("topic"), path.integer("value"), path.integer("any node")
    kind = kinds[choice(path, "what happens", len(kinds))]
    event, message = any_event(path, kind, topic, value)
    at = path.integer("any topic")
    subscribed = smt.Function("the application is subscribed", _INT, _BOOL)
    sender = own if message is None else message.sender
    for one in (at, topic, *table.members):
        for child in (other, sender, *table.window):
            table.about.append((one, child))
            path.know(*invariant(cluster, state, subscribed, one, child).values())
    if message is not None:
        path.know(is_sound(cluster, message))
    try:
        with overriding(names_in(tree, **instead)):
            found = take_step(path, state, event)
    except NotEnabled:
        return None
    begins = smt.Or(kind == "subscribe", smt.BoolVal(message is not None and found.state is not state))
    grown = Cluster(
        lambda t, v: smt.Or(cluster.published(t, v), smt.And(kind == "publish", t == topic, v == value)),
        lambda n, t: smt.Or(cluster.wanted(n, t), smt.And(begins, n == own, t == topic)),
    )
    asked = {"subscribe": True, "unsubscribe": False}.get(kind)
    subscribes = subscribed if asked is None else lambda t: smt.If(t == topic, asked, subscribed(t))
    return Taken(grown, state, found.state, subscribes, [*sendings(own, found)], [*tellings(found)], message, at, other)


def sendings(own: Term, step: Step[State, Any]) -> Iterator[Message]:
    """Yields the messages that a step sends."""
    for effect in step.effects:
        match effect:
            case Request(SendTo(node, key, value, purpose)):
                yield Message(own, term_of(key), smt.IntVal(purpose), number_of(value), term_of(node.id))
            case Request(Route(key, value, purpose)):
                yield Message(own, term_of(key), term_of(purpose), number_of(value))
            case Request(Forward(Application(header, purpose, value))):
                yield Message(term_of(header.sender.id), term_of(header.key), smt.IntVal(purpose), number_of(value))


def tellings(step: Step[State, Any]) -> Iterator[tuple[Term, Term]]:
    """Yields the topic and the value of each event that a step tells the application."""
    for effect in step.effects:
        if isinstance(effect, Notify) and isinstance(effect.notice, Update):
            yield term_of(effect.notice.topic), number_of(effect.notice.value)


def number_of(value: Any) -> Term:
    """Returns the number that stands for a value."""
    return term_of(value) if isinstance(value, Number) else _EMPTY


_STEP: Final = Evaluated(("peter.tree.step",), ("id_of_topic", "is_reachable", "address_of", "Table"))

_ON_COMMAND: Final = tree.on_command
_FAN_OUT: Final = tree.fan_out


def unreserved(state: State, command: Any, seek: Any) -> Any:
    """An application may send messages with any purpose."""
    return Step(state, (Request(command),)) if isinstance(command, Route) else _ON_COMMAND(state, command, seek)


@PROOFS.add(
    "PZ-07 P-24 P-25 P-26 PA-24",
    _STEP,
    Twin("applications may send messages with Peter's purposes", {"instead": {"on_command": unreserved}}),
    scope=ANY_CLUSTER,
)
def nothing_is_delivered_that_was_not_published(path: Path, *, instead: Mapping[str, Any] = NOTHING) -> None:
    """Every event that an application gets, and every event in a message, was published on that topic."""
    taken = any_step(path, instead)
    if taken is None:
        return
    for topic, value in taken.delivered:
        path.claim("an event that is delivered was published", taken.cluster.published(topic, value))
    for message in taken.sent:
        is_event = smt.Or(message.purpose == PUBLISH, message.purpose == NOTIFY)
        path.claim(
            "an event that is sent was published", smt.Implies(is_event, taken.cluster.published(message.topic, message.value))
        )


def telling_relays(state: State, topic: Any, value: Any, hop: Any, source: Any = None) -> Any:
    """Every node in the tree tells its application of an event."""
    row = state.row(topic)
    return _FAN_OUT(state.with_row(topic, row._replace(is_local=True)) if row.is_wanted else state, topic, value, hop, source)


@PROOFS.add(
    "PZ-08 P-06 P-20 PA-04 PI-01",
    _STEP,
    Twin("a node that only relays a topic tells its application of events", {"instead": {"fan_out": telling_relays}}),
    scope=ANY_CLUSTER,
)
def only_subscribers_get_events(path: Path, *, instead: Mapping[str, Any] = NOTHING) -> None:
    """
    An application gets events of the topics alone to which it is subscribed, and a node keeps only topics that it has wanted.

    It begins to want one for its application, or for a child that has wanted it. So every branch of a tree has grown from a
    subscriber.
    """
    taken = any_step(path, instead)
    if taken is None:
        return
    for topic, _ in taken.delivered:
        path.claim("a node to which an event is delivered is subscribed", taken.subscribed(topic))
    for name, holds in invariant(taken.cluster, taken.state, taken.subscribed, taken.topic, taken.other).items():
        path.claim(name, holds)
    for message in taken.sent:
        path.claim("who asks has wanted the topic", is_sound(taken.cluster, message))


@dataclass(frozen=True)
class Copies:
    """The copies of one event in a tree at rest: functions of a node."""

    topic: Term
    value: Term
    parent: Callable[[Term], Term]  #: its parent in the tree; below 0: it is the meeting point
    given: Callable[[Term], Term]  #: whether a copy has been sent to it
    came: Callable[[Term], Term]  #: whether the event has come to it
    copied: Callable[[Term], Term]  #: whether it has copied the event
    delivered: Callable[[Term], Term]  #: whether its application has got it

    def is_about(self, topic: Term, value: Term) -> Term:
        """States that a message is about this event."""
        return smt.And(topic == self.topic, value == self.value)

    def invariant(self, node: Term) -> dict[str, Term]:
        """Returns what holds of any node."""
        from_parent = smt.And(self.parent(node) >= 0, self.copied(self.parent(node)))
        return {
            "what was copied has come": smt.Implies(self.copied(node), self.came(node)),
            "what was delivered has come": smt.Implies(self.delivered(node), self.came(node)),
            "a copy is from the parent": smt.Implies(self.given(node), from_parent),
        }

    def after(self, node: Term, taken: Taken) -> Copies:
        """Returns the copies after a step of a node."""
        message = taken.event
        came = message is not None and self.is_about(message.topic, message.value)
        given = [(one.to, self.is_about(one.topic, one.value)) for one in taken.sent if one.is_copy]
        delivered = smt.Or(*(self.is_about(*one) for one in taken.delivered))
        return Copies(
            self.topic,
            self.value,
            self.parent,
            lambda n: smt.Or(self.given(n), *(smt.And(n == to, is_it) for to, is_it in given)),
            lambda n: smt.Or(self.came(n), smt.And(n == node, came)),
            lambda n: smt.Or(self.copied(n), smt.And(n == node, smt.Or(*(is_it for _, is_it in given)))),
            lambda n: smt.Or(self.delivered(n), smt.And(n == node, delivered)),
        )


def any_copies(path: Path) -> Copies:
    """Returns the copies of any event, at any time."""
    functions = (smt.Function(name, _INT, _BOOL) for name in ("was sent a copy", "event came to", "has copied", "was delivered"))
    return Copies(
        path.integer("topic of the event"), path.integer("the event"), smt.Function("parent of", _INT, _INT), *functions
    )


@PROOFS.add(
    "PZ-09 P-25 P-26 PA-15 PA-18 PA-34 PI-02 PI-07 PX-04",
    _STEP,
    Twin("a node may be the child of two (PX-04)", {"mutual": False}),
    scope=ANY_CLUSTER,
)
def a_subscriber_gets_an_event_once(path: Path, *, mutual: bool = True) -> None:
    """
    In a tree at rest, at most one copy of an event is sent to a node, and its application gets it at most once.

    At rest, parents and children agree (PI-02) and nothing changes them. The event reaches the meeting point once, and no message
    arrives twice: Wendy and its connections see to both.
    """
    copies = any_copies(path)
    taken = any_step(path, NOTHING, ("publish", "route", *_WITH_MESSAGE), window=2)
    if taken is None:
        return
    state, node, message = taken.before, term_of(taken.before.config.id), taken.event
    topics: Any = state.topics
    nodes = [node, taken.other, *topics.window]
    path.know(smt.Implies(topics.has(copies.topic), topics.parent(copies.topic) == copies.parent(node)))
    for other in nodes:
        path.know(*copies.invariant(other).values(), *copies.invariant(copies.parent(other)).values())
        if mutual:
            is_child = smt.And(topics.has(copies.topic), topics.is_child(copies.topic, other))
            path.know(smt.Implies(is_child, copies.parent(other) == node))
    if message is not None:
        is_event, is_copy = message.purpose == PUBLISH, message.purpose == NOTIFY
        from_parent = smt.And(message.sender == copies.parent(node), copies.given(node))
        comes = smt.If(is_copy, from_parent, copies.parent(node) < 0)
        is_it = smt.And(copies.is_about(message.topic, message.value), smt.Or(is_event, is_copy))
        path.know(message.purpose != SUBSCRIBE, message.purpose != UNSUBSCRIBE)
        path.know(smt.Implies(is_it, smt.And(comes, smt.Not(copies.came(node)))))

    after = copies.after(node, taken)
    delivered = [copies.is_about(*one) for one in taken.delivered]
    path.claim("delivered once in a step", truth(len(delivered) <= 1))
    path.claim("not delivered again", smt.Implies(smt.Or(*delivered), smt.Not(copies.delivered(node))))
    sent = [one for one in taken.sent if one.is_copy]
    for place, one in enumerate(sent):
        is_it = copies.is_about(one.topic, one.value)
        path.claim("no copy was sent to it before", smt.Implies(is_it, smt.Not(copies.given(one.to))))
        path.claim("a copy is from the parent", smt.Implies(is_it, copies.parent(one.to) == node))
        path.claim("one copy each", smt.Distinct(one.to, *(other.to for other in sent[:place])))
    for name, holds in after.invariant(taken.other).items():
        path.claim(name, holds)


def keeping_children(self_id: NodeId, config: Config) -> State:
    """A node that starts with a topic and a child that it has had before."""
    topic, child = Id(1), Node(Id(2), "n2", "n2", 1)
    return State(self_id, config, Table({topic: Row(children=Table({child.id: child}))}))


@PROOFS.add(
    "PZ-10 P-06 PA-11 PA-21",
    Evaluated(("peter.tree.initial",)),
    Twin("a node keeps its children from before", {"instead": {"initial": keeping_children}}),
    scope=ANY_CLUSTER,
)
def a_new_node_and_others_keep_what_holds(path: Path, *, instead: Mapping[str, Any] | None = None) -> None:
    """A node without topics satisfies the invariants; they keep holding while others publish, and begin to want topics."""
    cluster, node, other = any_cluster(), path.integer("node", 0, Ring().size - 1), path.integer("any node")
    topic, value = path.integer("topic"), path.integer("value")
    own: Any = Number(node)
    with overriding(names_in(tree, **(instead or {}))):
        new = path.run(tree.initial, NodeId("any"), Config(own))
    none = smt.BoolVal(False)
    topics, nodes = (
        [term_of(one) for one in some] for some in (new.topics, [c for row in new.topics.values() for c in row.children])
    )
    table: Any = Topics(
        path,
        lambda t: smt.Or(none, *(t == one for one in topics)),
        lambda _: none,
        lambda _, n: smt.Or(none, *(n == one for one in nodes)),
        lambda _: smt.IntVal(-1),
        (),
        (),
    )
    for name, holds in invariant(cluster, replace(new, topics=table), lambda _: none, topic, other).items():
        path.claim(name, holds)
    path.claim("it has no topics", truth(not topics))

    message = Message(path.integer("sender"), topic, path.integer("purpose"), value)
    state, subscribed = any_state(path), smt.Function("the application is subscribed", _INT, _BOOL)
    path.know(is_sound(cluster, message), *invariant(cluster, state, subscribed, topic, other).values())
    who, what, which = path.integer("another node"), path.integer("its topic"), path.integer("its event")
    grown = Cluster(
        lambda t, v: smt.Or(cluster.published(t, v), smt.And(t == what, v == which)),
        lambda n, t: smt.Or(cluster.wanted(n, t), smt.And(n == who, t == what)),
    )
    path.claim("a message under way", is_sound(grown, message))
    for name, holds in invariant(grown, state, subscribed, topic, other).items():
        path.claim(name, holds)


PROOFS.append(composition("PZ-11", "PI-01 PI-07"))
