"""
What the statements about Peter need on Z3 terms: texts of any length, and rows with any number of children.

Only one topic and one child are looked at; a node has any others besides. Of a set of children the code asks whether there are
any, and whether that child is one of them, so that a number and a truth are all there is to know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import z3  # type: ignore[import-untyped]  # it has no types

from peerproof.conformance.proofs.paths import Path, Term
from peerproof.conformance.proofs.terms import choice
from peerproof.spec.core import Asked, Instant, NodeId, Sent
from peerproof.spec.overrides import names_in, overriding
from peerproof.spec.peter import Subscribe, SubscribeMessage, Unsubscribe, id_of_topic, topics
from peerproof.spec.peter.messages import SUBSCRIBE, UNSUBSCRIBE, Rerouted
from peerproof.spec.peter.topics import MOST_CHILDREN, Row, State
from peerproof.spec.stack import Request, Told
from peerproof.spec.wendy import Application, Config, Delivered, Header, Id, Node, NodeExited, NodeJoined, SendTo, ids

BYTE: Final = z3.BitVecSort(8)

TEXT: Final = "weather/london/today"
TOPIC: Final = id_of_topic(TEXT)

#: The node, a child, a parent, and another node.
OWN, CHILD, PARENT, OTHER = (Node(Id(number), f"n{number}", f"n{number}", 1) for number in (1, 2, 3, 4))


class AnyTopic:
    """A text of any number of bytes, as of `str`."""

    def __init__(self, path: Path, name: str) -> None:
        self.length = path.integer(f"bytes of {name}")
        self._byte = z3.Function(name, z3.IntSort(), BYTE)

    def encode(self) -> AnyTopic:
        """Its bytes, which are all that is known of it."""
        return self

    def __getitem__(self, part: slice) -> list[Term]:
        """The first so many; if there are so many, the code has seen to that."""
        return [self.at(index) for index in range(part.stop)]

    def at(self, index: int) -> Term:
        """One of its bytes."""
        return self._byte(index)


class _Int:
    """`int` of bytes on terms."""

    @staticmethod
    def from_bytes(octets: list[Term], order: str) -> Term:
        """As of `int`."""
        return z3.Concat(*(octets if order == "big" else octets[::-1]))


#: What the names that topics and ids look up mean on terms.
NAMES: Final[Mapping[str, Any]] = {"len": lambda text: text.length, "int": _Int}


def id_on_terms(topic: Any) -> Term:
    """The id of a topic, by the running code. Raises NotEnabled."""
    with overriding(names_in(topics, **NAMES) | names_in(ids, **NAMES)):
        return topics.id_of_topic(topic)


class Children:
    """Any number of children, one of whom may be `CHILD`, at the address at which it is known or at another."""

    def __init__(self, path: Path, count: Term, is_child: Term, *, is_moved: bool = False) -> None:
        self._path = path
        self.count = count
        self.is_child = is_child
        self.is_moved = is_moved

    def __len__(self) -> int:
        """Nobody asks for more than whether there are any."""
        return 1 if self.count > 0 else 0

    def __contains__(self, child: Id) -> bool:
        return child == CHILD.id and bool(self.is_child)

    def __eq__(self, other: object) -> bool:
        its = cast("Children", other)
        return self.is_moved == its.is_moved and bool(z3.And(self.count == its.count, self.is_child == its.is_child))

    __hash__ = None  # type: ignore[assignment]  # nothing may look it up by its identity

    def put(self, rows: Mapping[Id, Node]) -> Children:
        """With `CHILD`, where it was or elsewhere."""
        assert rows.keys() == {CHILD.id}, "it is the only one that comes and goes"
        count = self.count + z3.If(self.is_child, 0, 1)
        return Children(self._path, count, z3.BoolVal(val=True), is_moved=bool(self._path.any_of("it has moved", z3.BoolSort())))

    def without(self, children: Any) -> Children:
        """Without `CHILD`, if it is named."""
        if CHILD.id not in children:
            return self
        return Children(self._path, self.count - z3.If(self.is_child, 1, 0), z3.BoolVal(val=False))

    def items(self) -> Iterator[tuple[Id, Node]]:
        """`CHILD`, if it is one; of the others nobody is the one that is looked for."""
        if CHILD.id in self:
            yield CHILD.id, CHILD

    def values(self) -> Iterator[Node]:
        """The nodes of these."""
        return (node for _, node in self.items())


class Topics:
    """What is kept of topics: of one, a row or nothing; of others, so many children that no more may come, or fewer."""

    def __init__(self, path: Path, row: Row | None) -> None:
        self._path = path
        self.row = row

    def __contains__(self, topic: Id) -> bool:
        return self.row is not None

    def get(self, topic: Id, default: Row) -> Row:  # noqa: ARG002  # there is one
        """As of `Table`."""
        return default if self.row is None else self.row

    def put(self, rows: Mapping[Id, Row]) -> Topics:
        """As of `Table`."""
        return Topics(self._path, rows[TOPIC])

    def without(self, topics: Any) -> Topics:  # noqa: ARG002  # there is one
        """As of `Table`."""
        return Topics(self._path, None)

    def items(self) -> Iterator[tuple[Id, Row]]:
        """As of `Table`; other topics are as good as this one."""
        if self.row is not None:
            yield TOPIC, self.row

    def values(self) -> Iterator[Row]:
        """What children are counted in."""
        is_full = bool(self._path.any_of("there are too many children", z3.BoolSort()))
        yield Row(children=cast("Any", range(MOST_CHILDREN if is_full else 0)))


def any_node(path: Path) -> State:
    """A node with any row of the topic, which it keeps exactly if it is interested."""
    count, is_child = path.integer("children"), path.any_of("one of them is a certain child", z3.BoolSort())
    path.know(z3.Implies(is_child, count > 0))
    parent = (None, PARENT, CHILD)[choice(path, "parent", 3)]
    row = Row(path.any_of("is subscribed", z3.BoolSort()), cast("Any", Children(path, count, is_child)), parent)
    topics = Topics(path, row if row.is_wanted else None)
    return State(NodeId("n1:1"), Config(OWN.id), cast("Any", topics))


def any_event(path: Path, *, up_to: int | None = None) -> Any:
    """Something that happens to a tree: what the application and the child want first, then who comes, then who goes."""
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
    """Where routing leads; nowhere at the meeting point."""
    return (None, PARENT, OTHER)[choice(path, "next hop", 3)]


def subscription_messages(effects: tuple[Any, ...]) -> list[tuple[Node, int]]:
    """The SUBSCRIBEs and UNSUBSCRIBEs that are sent, and to whom."""
    commands = [effect.command for effect in effects if isinstance(effect, Request)]
    return [(command.node, command.purpose) for command in commands if isinstance(command, SendTo)]
