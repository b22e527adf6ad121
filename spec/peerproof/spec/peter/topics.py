"""
Topics, and what a node keeps of each: whether it is subscribed itself, its children, and its parent.

A topic that nobody wants, neither this node nor a child, leaves no trace. [PA-04]
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from peerproof.spec.core import NodeId, Table
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.wendy import Config, Id, Node, id_of_bytes, id_text
from peerproof.spec.wendy.ids import ID_BYTES
from peerproof.spec.wendy.state import address_of

#: Children of a node, of all its topics together. [PA-29]
MOST_CHILDREN: Final = 2**16


class Row(NamedTuple):
    """What a node keeps of one topic. [PA-04, PA-09]"""

    is_local: bool = False  #: whether the node itself is subscribed
    children: Table[Id, Node] = Table()
    parent: Node | None = None  #: whom it has asked for the events; none at the meeting point

    @property
    def is_wanted(self) -> bool:
        """Whether this node, or a child, wants the topic's events. [PA-04]"""
        return self.is_local or len(self.children) > 0


@dataclass(frozen=True)
class State:
    """What Peter adds to a node of Wendy."""

    self_id: NodeId
    config: Config  #: the node's, as Wendy has it
    topics: Table[Id, Row] = field(default_factory=Table)  #: those that are wanted; at first none [PA-11, PA-21]
    has_left: bool = False

    def row(self, topic: Id) -> Row:
        """What is kept of a topic; of one that nobody wants, nothing."""
        row: Row = self.topics.get(topic, Row())
        return row

    def with_row(self, topic: Id, row: Row) -> State:
        """The node that keeps this of a topic."""
        topics = self.topics.put({topic: row}) if row.is_wanted else self.topics.without((topic,))
        return replace(self, topics=topics)

    def children(self) -> int:
        """How many children there are, of all topics together. [PA-29]"""
        return sum(len(row.children) for row in self.topics.values())


def id_of_topic(topic: str) -> Id:
    """The id of a topic: the first 16 bytes of its text. Raises NotEnabled if there are fewer. [P-03…P-05, PA-01…PA-03]"""
    try:
        octets = topic.encode()
    except UnicodeEncodeError:
        raise NotEnabled("bad_value", f"a topic is a text that can be written in UTF-8, not {topic!a}") from None
    if len(octets) < ID_BYTES:
        raise NotEnabled("short_topic", f"a topic has at least {ID_BYTES} bytes, {topic!a} only {len(octets)}")
    return id_of_bytes(octets)


def is_reachable(state: State, node: Node) -> bool:
    """Whether something can be sent to a node, and it is not this one. [PA-30]"""
    return node.id != state.config.id and address_of(state.config, node) not in (None, state.self_id)


def plain_topics(state: State) -> Plain:
    """The topics that are wanted, as plain data."""
    return {
        id_text(topic): {
            "local": row.is_local,
            "children": [id_text(child) for child in row.children],
            "parent": None if row.parent is None else id_text(row.parent.id),
        }
        for topic, row in state.topics.items()
    }
