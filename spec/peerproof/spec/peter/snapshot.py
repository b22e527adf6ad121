"""How a whole Peter node looks as plain data, for those who look into one or put one together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from peerproof.spec.core import NodeId, Table
from peerproof.spec.peter.topics import MOST_CHILDREN, Row, State, is_reachable
from peerproof.spec.stack import Stacked
from peerproof.spec.wendy import Id, Node, Stage
from peerproof.spec.wendy.forms import ID, NODE
from peerproof.spec.wendy.snapshot import SNAPSHOT as WENDY
from peerproof.spec.wendy.snapshot import STATE as WENDY_STATE
from peerproof.spec.wendy.snapshot import Snapshot as WendySnapshot
from peerproof.spec.wendy.state import Config
from peerproof.spec.wire import Flag, ListOf, Maybe, Plain, Record, misfit


class TopicOf(NamedTuple):
    """What a node keeps of a topic. [PA-04]"""

    topic: Id
    is_local: bool
    children: tuple[Node, ...]
    parent: Node | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A node but for its name and configuration; what is left out is as in a node that has just started."""

    wendy: WendySnapshot = field(default_factory=WendySnapshot)
    topics: tuple[TopicOf, ...] = ()


TOPICS: Final = ListOf(Record(TopicOf, topic=ID, is_local=Flag(), children=ListOf(NODE), parent=Maybe(NODE)))
SNAPSHOT: Final = Record(Snapshot, wendy=WENDY, topics=TOPICS)


class StateForm:
    """How a state looks as plain data: the members of `Snapshot`."""

    record: Final = SNAPSHOT

    def plain(self, state: Stacked[Any, State]) -> Plain:
        """The plain data of a state."""
        rows = [
            TopicOf(topic, row.is_local, tuple(row.children.values()), row.parent) for topic, row in state.upper.topics.items()
        ]
        return {"wendy": WENDY_STATE.plain(state.lower), "topics": TOPICS.plain(rows)}

    def value(self, plain: Plain, self_id: NodeId, config: Config) -> Stacked[Any, State]:
        """The state that plain data shows, of the node with this name. Raises MalformedMessage for what no node can be."""
        shown: Snapshot = SNAPSHOT.value(plain)
        config = replace(config, is_consulted=True)
        lower = WENDY_STATE.value(plain.get("wendy", {}), self_id, config)
        rows = {
            topic: Row(is_local, Table({node.id: node for node in children}), parent)
            for topic, is_local, children, parent in shown.topics
        }
        upper = State(self_id, config, Table(rows), has_left=lower.stage is Stage.LEFT)
        if (problem := misplaced(upper)) is not None:
            raise misfit("topics", problem, plain["topics"])
        if not all(is_reachable(upper, node) for node in lower.known.values()):
            raise misfit("wendy", "tables of nodes with addresses of their own", plain["wendy"])  # else no parent could be asked
        return Stacked(lower, upper)


def misplaced(state: State) -> str | None:
    """What is wrong with a node's topics, as what should be; None if nothing is. [PA-04, PA-29, PA-30]"""
    if any(not row.is_wanted for row in state.topics.values()):
        return "only topics that the node or a child wants"
    others = [node for row in state.topics.values() for node in (*row.children.values(), row.parent) if node is not None]
    if not all(is_reachable(state, node) for node in others):
        return "children and parents with addresses of their own, none of them the node itself"
    return f"at most {MOST_CHILDREN} children" if state.children() > MOST_CHILDREN else None


STATE: Final[Any] = StateForm()
