"""
Topics, and a node's data about each: whether it is subscribed itself, its children, and its parent.

A topic that neither this node nor a child wants is not stored. [PA-04]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from peerproof.spec.core import NodeId, Table, replace
from peerproof.spec.errors import NotEnabled
from peerproof.spec.forms.form import Plain
from peerproof.spec.wendy import Config, Id, Node, id_of_bytes, id_text
from peerproof.spec.wendy.ids import ID_BYTES
from peerproof.spec.wendy.state import address_of

#: The maximum number of children of a node, for all its topics together. [PA-29]
MOST_CHILDREN: Final = 2**16


class Row(NamedTuple):
    """A node's data about one topic. [PA-04, PA-09]"""

    is_local: bool = False  #: whether the node itself is subscribed
    children: Table[Id, Node] = Table()
    parent: Node | None = None  #: the node that it has asked for the events; None at the meeting point

    @property
    def is_wanted(self) -> bool:
        """Whether this node, or a child, wants the topic's events. [PA-04]"""
        return self.is_local or len(self.children) > 0


@dataclass(frozen=True)
class State:
    """Peter's part of a node's state."""

    self_id: NodeId
    config: Config  #: of the node, the same as Wendy's
    topics: Table[Id, Row] = field(default_factory=Table)  #: the wanted topics; at first none [PA-11, PA-21]
    has_left: bool = False

    def row(self, topic: Id) -> Row:
        """Returns the row of a topic; an empty one if the topic is not wanted."""
        row: Row = self.topics.get(topic, Row())
        return row

    def with_row(self, topic: Id, row: Row) -> State:
        """Returns the node with this row of a topic."""
        topics = self.topics.put({topic: row}) if row.is_wanted else self.topics.without((topic,))
        return replace(self, topics=topics)

    def children(self) -> int:
        """Returns the number of children of all topics together. [PA-29]"""
        return sum(len(row.children) for row in self.topics.values())


def id_of_topic(topic: str) -> Id:
    """
    Returns the id of a topic: the first 16 bytes of its text.

    Raises NotEnabled for a shorter text. [P-03…P-05, PA-01…PA-03]
    """
    try:
        octets = topic.encode()
    except UnicodeEncodeError:
        raise NotEnabled("bad_value", f"a topic is a text that can be written in UTF-8, not {topic!a}") from None
    if len(octets) < ID_BYTES:
        raise NotEnabled("short_topic", f"a topic has at least {ID_BYTES} bytes, {topic!a} only {len(octets)}")
    return id_of_bytes(octets)


def is_reachable(state: State, node: Node) -> bool:
    """Whether a node has an address, and is not this one. [PA-30]"""
    return node.id != state.config.id and address_of(state.config, node) not in (None, state.self_id)


def plain_topics(state: State) -> Plain:
    """Returns the wanted topics as plain data."""
    return {
        id_text(topic): {
            "local": row.is_local,
            "children": [id_text(child) for child in row.children],
            "parent": None if row.parent is None else id_text(row.parent.id),
        }
        for topic, row in state.topics.items()
    }
