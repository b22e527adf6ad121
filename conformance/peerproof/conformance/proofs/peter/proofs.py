"""
Proofs about Peter: ids of topics, when a node announces its interest, and that parents form no cycle.

Topics are texts of any length, rows have any number of children. Only one topic and one child are tracked; a node has any others
besides. The code asks of a set of children only whether there are any, and whether that child is one of them, so a number and a
bool describe it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from peerproof.conformance.proofs import smt
from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.peter import any_cluster
from peerproof.conformance.proofs.proof import Evaluated, ProofTable, Stated, Twin
from peerproof.conformance.proofs.terms import choice, same_row, truth
from peerproof.spec.core import Asked, Instant, NodeId, Sent, Step
from peerproof.spec.errors import NotEnabled
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.peter import Subscribe, SubscribeMessage, Unsubscribe, id_of_topic, topics, tree
from peerproof.spec.peter.messages import SUBSCRIBE, UNSUBSCRIBE, Rerouted
from peerproof.spec.peter.topics import MOST_CHILDREN, Row, State
from peerproof.spec.stack import Request, Told
from peerproof.spec.wendy import Application, Config, Delivered, Header, Id, Node, NodeExited, NodeJoined, SendTo, ids
from peerproof.spec.wendy.ids import ID_BYTES

BYTE: Final = smt.BitVecSort(8)

TEXT: Final = "weather/london/today"
TOPIC: Final = id_of_topic(TEXT)

#: The node, a child, a parent, and another node.
OWN, CHILD, PARENT, OTHER = (Node(Id(number), f"n{number}", f"n{number}", 1) for number in (1, 2, 3, 4))


class AnyTopic:
    """A text of any number of bytes, like `str`."""

    def __init__(self, path: Path, name: str) -> None:
        self.length = path.integer(f"bytes of {name}")
        self._byte = smt.Function(name, smt.IntSort(), BYTE)

    def encode(self) -> AnyTopic:
        """Returns the bytes; only they are known."""
        return self

    def __getitem__(self, part: slice) -> list[Term]:
        """Returns the first bytes; the code has checked that there are enough."""
        return [self.at(index) for index in range(part.stop)]

    def at(self, index: int) -> Term:
        """Returns one byte."""
        return self._byte(index)


class _Int:
    """`int` of bytes on terms."""

    @staticmethod
    def from_bytes(octets: list[Term], order: str) -> Term:
        """Like `int`."""
        return smt.Concat(*(octets if order == "big" else octets[::-1]))


#: Replacements for names that topics and ids look up.
NAMES: Final[Mapping[str, Any]] = {"len": lambda text: text.length, "int": _Int}


def id_on_terms(topic: Any) -> Term:
    """Returns the id of a topic, by the running code. Raises NotEnabled."""
    with overriding(names_in(topics, **NAMES) | names_in(ids, **NAMES)):
        return topics.id_of_topic(topic)


class Children:
    """Any number of children; `CHILD` may be one of them, at its known address or at another one."""

    def __init__(self, path: Path, count: Term, is_child: Term, *, is_moved: bool = False) -> None:
        self._path = path
        self.count = count
        self.is_child = is_child
        self.is_moved = is_moved

    def __len__(self) -> int:
        """Returns 1 if there are any children; the code needs no more."""
        return 1 if self.count > 0 else 0

    def __contains__(self, child: Id) -> bool:
        return child == CHILD.id and bool(self.is_child)

    def __eq__(self, other: object) -> bool:
        its = cast("Children", other)
        return self.is_moved == its.is_moved and bool(smt.And(self.count == its.count, self.is_child == its.is_child))

    __hash__ = None  # type: ignore[assignment]  # lookups by identity would be wrong

    def put(self, rows: Mapping[Id, Node]) -> Children:
        """Adds `CHILD`, at its known address or another one."""
        assert rows.keys() == {CHILD.id}, "only CHILD comes and goes"
        count = self.count + smt.If(self.is_child, 0, 1)
        return Children(
            self._path, count, smt.BoolVal(val=True), is_moved=bool(self._path.any_of("it has moved", smt.BoolSort()))
        )

    def without(self, children: Any) -> Children:
        """Removes `CHILD` if it is named."""
        if CHILD.id not in children:
            return self
        return Children(self._path, self.count - smt.If(self.is_child, 1, 0), smt.BoolVal(val=False))

    def items(self) -> Iterator[tuple[Id, Node]]:
        """Yields `CHILD` if it is one; the others are never the ones looked for."""
        if CHILD.id in self:
            yield CHILD.id, CHILD

    def values(self) -> Iterator[Node]:
        """Yields the nodes of `items`."""
        return (node for _, node in self.items())


class Topics:
    """A table of topics: one tracked topic with a row or none, and others that may have reached the limit of children."""

    def __init__(self, path: Path, row: Row | None) -> None:
        self._path = path
        self.row = row

    def __contains__(self, topic: Id) -> bool:
        return self.row is not None

    def get(self, topic: Id, default: Row) -> Row:  # noqa: ARG002  # there is only one topic
        """Like `Table`."""
        return default if self.row is None else self.row

    def put(self, rows: Mapping[Id, Row]) -> Topics:
        """Like `Table`."""
        return Topics(self._path, rows[TOPIC])

    def without(self, topics: Any) -> Topics:  # noqa: ARG002  # there is only one topic
        """Like `Table`."""
        return Topics(self._path, None)

    def items(self) -> Iterator[tuple[Id, Row]]:
        """Like `Table`; the tracked topic stands for all."""
        if self.row is not None:
            yield TOPIC, self.row

    def values(self) -> Iterator[Row]:
        """Yields a row with the number of children that counts for the limit."""
        is_full = bool(self._path.any_of("there are too many children", smt.BoolSort()))
        yield Row(children=cast("Any", range(MOST_CHILDREN if is_full else 0)))


def any_node(path: Path) -> State:
    """Returns a node with any row of the topic, which it keeps if and only if it is interested."""
    count, is_child = path.integer("children"), path.any_of("one of them is a certain child", smt.BoolSort())
    path.know(smt.Implies(is_child, count > 0))
    parent = (None, PARENT, CHILD)[choice(path, "parent", 3)]
    row = Row(path.any_of("is subscribed", smt.BoolSort()), cast("Any", Children(path, count, is_child)), parent)
    topics = Topics(path, row if row.is_wanted else None)
    return State(NodeId("n1:1"), Config(OWN.id), cast("Any", topics))


def any_event(path: Path, *, up_to: int | None = None) -> Any:
    """Returns any event of a tree: first commands and the child's messages, then joins, then departures."""
    now = Instant(0)
    about = Header(CHILD, TOPIC, hop=1)
    events = (
        Asked(now, Subscribe(TEXT)),
        Asked(now, Unsubscribe(TEXT)),
        Told(now, Delivered(Application(about, SUBSCRIBE, b""))),
        Told(now, Delivered(Application(about, UNSUBSCRIBE, b""))),
        Told(now, NodeJoined(OTHER)),
        Told(now, Rerouted()),
        Told(now, NodeExited(CHILD)),
        Told(now, NodeExited(PARENT)),
        Sent(now, NodeId("n2:1"), SubscribeMessage(Header(OWN, TOPIC)), None),
    )[:up_to]
    return events[choice(path, "what happens", len(events))]


def any_hop(path: Path) -> Node | None:
    """Returns any next hop; None at the meeting point."""
    return (None, PARENT, OTHER)[choice(path, "next hop", 3)]


def subscription_messages(effects: tuple[Any, ...]) -> list[tuple[Node, int]]:
    """Returns the receivers of SUBSCRIBE and UNSUBSCRIBE messages, with the purpose of each."""
    commands = [effect.command for effect in effects if isinstance(effect, Request)]
    return [(command.node, command.purpose) for command in commands if isinstance(command, SendTo)]


#: Replacements for functions of `tree`, for twins.
Instead = Mapping[str, Callable[..., Any]]
NOTHING: Final[Instead] = MappingProxyType({})

#: Number of bytes of a topic that the document mentions. [P-04, P-05]
SPOKEN_OF: Final = 32

TOPICS: Final = Evaluated(("peter.topics.id_of_topic", "wendy.ids.id_of_bytes"), tuple(NAMES))

PROOFS: Final = ProofTable()


# -- ids of topics ----------------------------------------------------------------------------------------------------


def any_id(path: Path, topic: AnyTopic) -> Term:
    """Returns the id of a topic that is long enough."""
    path.assume(topic.length >= ID_BYTES)
    return id_on_terms(topic)


def equal(one: AnyTopic, other: AnyTopic, start: int, end: int) -> Term:
    """States that two topics have the same bytes from one place up to another."""
    return smt.And(*(one.at(place) == other.at(place) for place in range(start, end)))


@PROOFS.add("PZ-01 P-03 PA-01 PA-03", TOPICS, Twin("one byte more", {"end": ID_BYTES + 1}))
def ids_are_equal_as_far_as_topics_are(path: Path, *, end: int = ID_BYTES) -> None:
    """Two topics have the same id if and only if their first 16 bytes are equal, however long they are."""
    one, other = AnyTopic(path, "one"), AnyTopic(path, "other")

    path.claim("exactly then", (any_id(path, one) == any_id(path, other)) == equal(one, other, 0, end))


@PROOFS.add("PZ-01 PA-02", TOPICS, Twin("15 bytes are enough", {"least": ID_BYTES - 1}))
def only_short_topics_are_refused(path: Path, *, least: int = ID_BYTES) -> None:
    """A topic has no id if and only if it has fewer than 16 bytes."""
    topic = AnyTopic(path, "topic")
    try:
        id_on_terms(topic)
    except NotEnabled:
        path.claim("it is short", topic.length < least)
    else:
        path.claim("it is long enough", topic.length >= least)


@PROOFS.add(
    "PZ-02 P-04 P-05 PA-01", TOPICS, Twin("topics with the same id are equal in their first 32 bytes", {"converse": True})
)
def topics_that_begin_alike_are_one(path: Path, *, converse: bool = False) -> None:
    """Topics that are equal in their first 32 bytes have the same id, whatever follows."""
    one, other = AnyTopic(path, "one"), AnyTopic(path, "other")
    same = any_id(path, one) == any_id(path, other)
    alike = equal(one, other, 0, SPOKEN_OF)

    path.claim("the same id", smt.Implies(same, alike) if converse else smt.Implies(alike, same))


# -- interest in a topic ----------------------------------------------------------------------------------------------


def is_interested(path: Path, state: State, event: Any) -> Term:
    """States that a node must be interested after a command, or a message of a child."""
    kept = state.topics.get(TOPIC, Row())
    local, children, is_child = kept.is_local, *_count_children(kept.children)
    is_full = path.any_of("there are too many children", smt.BoolSort())
    match event:
        case Asked(_, command):
            return smt.Or(smt.BoolVal(isinstance(command, Subscribe)), children > 0)
        case Told(_, notice):
            more = smt.If(smt.Or(is_child, is_full), 0, 1) if notice.message.purpose == SUBSCRIBE else smt.If(is_child, -1, 0)
            return smt.Or(local, children + more > 0)
    raise ValueError(event)


def _count_children(children: Any) -> tuple[Term, Term]:
    """Returns the number of children, and whether the tracked one is among them."""
    if hasattr(children, "count"):
        return children.count, children.is_child
    return smt.IntVal(len(children)), smt.BoolVal(CHILD.id in children)


def children_alone(state: State, topic: Id, row: Row, seek: Any) -> Any:
    """The literal rule: only whether there are children counts (PX-01)."""
    had, has = len(state.row(topic).children) > 0, len(row.children) > 0
    if has and not had:
        return tree.subscribe_to_parent(state, topic, row, seek)
    return Step(state.with_row(topic, row), tree.tree_message(row.parent, topic, UNSUBSCRIBE) if had and not has else ())


@PROOFS.add(
    "PZ-03 PA-04 PA-05 PA-06 PA-07 P-10 P-11 P-22 P-23",
    "peter.tree.step",
    Twin("children alone count (PX-01)", {"instead": {"update_row": children_alone}}),
)
def interest_is_told_exactly_when_it_changes(path: Path, *, instead: Instead = NOTHING) -> None:
    """
    For any number of children: a node sends a SUBSCRIBE exactly when it becomes interested, to its next hop, and an UNSUBSCRIBE
    exactly when it ceases to be, to its parent, unless there is none; and it keeps a row exactly while it is interested.
    """
    state, hop, event = any_node(path), any_hop(path), any_event(path, up_to=4)
    was, parent = TOPIC in state.topics, state.row(TOPIC).parent

    with overriding(names_in(tree, **instead)):
        after, effects = tree.step(state, event, lambda _: hop)
    is_now = TOPIC in after.topics
    path.claim("a row while interested", truth(is_now) == is_interested(path, state, event))
    asked = [(hop, SUBSCRIBE)] if is_now and not was and hop else []
    unsubscribes = [(parent, UNSUBSCRIBE)] if was and not is_now and parent else []
    path.claim("announced when it changes", truth(subscription_messages(effects) == asked + unsubscribes))
    path.claim("a parent that was asked", truth(not is_now or after.row(TOPIC).parent == (parent if was else hop)))


def asks_for_each(state: State, topic: Id, child: Node, seek: Any) -> Any:
    """Sends another SUBSCRIBE upward for each child (PD-03)."""
    row = state.row(topic)
    return tree.subscribe_to_parent(state, topic, row._replace(children=row.children.put({child.id: child})), seek)


@PROOFS.add(
    "PZ-04 PI-08",
    "peter.tree.step",
    Twin("another SUBSCRIBE for each child (PD-03)", {"instead": {"on_subscribe_message": asks_for_each}}),
)
def what_is_said_alternates(path: Path, *, instead: Instead = NOTHING) -> None:
    """
    The messages of a node about a topic alternate between SUBSCRIBE and UNSUBSCRIBE, however many children come and go.

    The step: if the node has a parent exactly while SUBSCRIBE was its last message, then that stays so, and its messages
    alternate. Departures and parents that come back are not covered: there a SUBSCRIBE follows without an UNSUBSCRIBE.
    """
    state, hop, event = any_node(path), any_hop(path), any_event(path, up_to=6)
    balance = state.row(TOPIC).parent is not None

    with overriding(names_in(tree, **instead)):
        after, effects = tree.step(state, event, lambda _: hop)
    for _, purpose in subscription_messages(effects):
        path.claim("alternating", truth(balance == (purpose == UNSUBSCRIBE)))
        balance = purpose == SUBSCRIBE
    path.claim("a parent while asked", truth(balance == (after.row(TOPIC).parent is not None)))


# -- parents ----------------------------------------------------------------------------------------------------------


@PROOFS.add("PZ-05 PI-03 PA-09 WZ-24", "peter.tree.step", Twin("next hops may be as close", {"as_close": True}))
def parents_make_no_circle(path: Path, *, as_close: bool = False) -> None:
    """
    If every next hop is closer by some measure, parents form no cycle, for any number of nodes.

    The step: a node reached from another one by n parents is closer by n at least; so its own parent is closer by n+1, whatever
    happens. No node is closer than itself.
    """
    state, hop, event = any_node(path), any_hop(path), any_event(path)
    measure = {node.id: path.integer(f"measure of {node.local_ip}") for node in (OWN, CHILD, PARENT, OTHER)}
    start, parents = path.integer("measure at the start"), path.integer("parents so far")
    own = measure[OWN.id]
    path.assume(own + parents <= start)
    for closer in (state.row(TOPIC).parent, hop):
        if closer is not None:
            path.assume(measure[closer.id] <= own if as_close else measure[closer.id] < own)

    parent = tree.step(state, event, lambda _: hop).state.row(TOPIC).parent
    path.claim("there is a next one", truth(parent is None or parent.id in measure))
    if parent is not None:
        path.claim("closer by one more", measure[parent.id] + parents + 1 <= start)
        path.claim("not where it began", measure[parent.id] != start)


# -- numbers ----------------------------------------------------------------------------------------------------------


class Said(NamedTuple):
    """A message of a child: whether it wants events, and the number of the message."""

    number: Term
    wants: Term


def the_latest(one: Said, other: Said) -> Said:
    """Returns the message with the larger number."""
    return Said(*(smt.If(one.number >= other.number, mine, its) for mine, its in zip(one, other, strict=True)))


def the_last(one: Said, other: Said) -> Said:  # noqa: ARG001  # ignored
    """Returns the message that arrives last (PX-02)."""
    return other


@PROOFS.add(
    "PZ-06 PA-19 PX-02",
    Stated("the wire has no place for numbers, connections keep messages in order instead [PA-19]"),
    Twin("what arrives last counts", {"merged": the_last}),
)
def numbered_messages_may_come_in_any_order(path: Path, *, merged: Callable[[Said, Said], Said] = the_latest) -> None:
    """
    If the messages of a child were numbered and only the latest counted, the result would not depend on their order of arrival.

    For any three: order, groups and repetitions make no difference, and none is later than the one that is left.
    """
    wants = smt.Function("wants", smt.IntSort(), smt.BoolSort())
    a, b, c = (Said(number, wants(number)) for number in (path.integer(name) for name in "abc"))

    path.claim("in any order", same_row(merged(a, b), merged(b, a)))
    path.claim("in any groups", same_row(merged(merged(a, b), c), merged(a, merged(b, c))))
    path.claim("more than once", same_row(merged(a, a), a))
    path.claim("none is later", smt.And(merged(a, b).number >= a.number, merged(a, b).number >= b.number))


PROOFS.extend(any_cluster.PROOFS)
