"""The plain data of a whole Peter node, for tools that read or build a state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from peerproof.spec.core import NodeId, replace
from peerproof.spec.forms.answers import FLAG, Answer, Keyed, Members
from peerproof.spec.forms.form import Flag, ListOf, Optional, Plain, members, misfit
from peerproof.spec.forms.state_form import StatesOf, rows_by, rows_of
from peerproof.spec.peter.topics import MOST_CHILDREN, Row, State, is_reachable
from peerproof.spec.stack import Stacked
from peerproof.spec.wendy import STATE as WENDY
from peerproof.spec.wendy import Stage
from peerproof.spec.wendy.forms import ID, NODE
from peerproof.spec.wendy.snapshot import ANSWERS as WENDY_ANSWERS
from peerproof.spec.wendy.state import Config

TOPICS: Final = rows_of(
    Row, "topic", ID, is_local=Flag(), children=rows_by(NODE, lambda node: node.id), parent=Optional(NODE)
)  # [PA-04]


class StateForm:
    """The plain data of a state: a node of Wendy, and its topics."""

    forms: Final = {"wendy": WENDY, "topics": TOPICS}

    def plain(self, state: Stacked[Any, State]) -> Plain:
        """Returns the plain data of a state."""
        return {"wendy": WENDY.plain(state.lower), "topics": TOPICS.plain(state.upper.topics)}

    def value(self, plain: Plain, self_id: NodeId, config: Config) -> Stacked[Any, State]:
        """Returns the state of the node with this name from plain data. Raises MalformedMessage for an impossible state."""
        config = replace(config, is_consulted=True)
        plain = {"wendy": {}, "topics": [], **plain} if isinstance(plain, Mapping) else plain
        lower, topics = members({"wendy": StatesOf(WENDY, self_id, config), "topics": TOPICS}, (), plain, "").values()
        upper = State(self_id, config, topics, has_left=lower.stage is Stage.LEFT)
        if (problem := find_inconsistency(upper)) is not None:
            raise misfit("topics", problem, plain["topics"])
        if not all(is_reachable(upper, node) for node in lower.known.values()):
            raise misfit("wendy", "tables of nodes with addresses of their own", plain["wendy"])  # parents need one
        return Stacked(lower, upper)


def find_inconsistency(state: State) -> str | None:
    """Returns the condition that a node's topics violate; None if they are consistent. [PA-04, PA-29, PA-30]"""
    if any(not row.is_wanted for row in state.topics.values()):
        return "only topics that the node or a child wants"
    others = [node for row in state.topics.values() for node in (*row.children.values(), row.parent) if node is not None]
    if not all(is_reachable(state, node) for node in others):
        return "children and parents with addresses of their own, none of them the node itself"
    return f"at most {MOST_CHILDREN} children" if state.children() > MOST_CHILDREN else None


STATE: Final[Any] = StateForm()


#: The shapes of answers to queries.
ANSWERS: Final = {
    **{name: answer for name, answer in WENDY_ANSWERS.items() if name != "state"},
    "topics": Answer(
        "For each topic that is wanted, by its id: whether by the node itself, the ids of its children, its parent's id or null.",
        Keyed(ID, Members(local=FLAG, children=ListOf(ID), parent=Optional(ID))),
    ),
    "state": Answer("All that `load` takes: a state of Wendy, and the topics.", STATE),
}
