"""
Inputs for fuzzing Peter: the nodes of Wendy, and topics with ids next to theirs, so that each node may be the meeting point.

Half of the commands are about topics, and half of the forged messages are of trees. Messages between the same two nodes keep
their order. [PA-19]
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from peerproof.conformance.fuzz.inputs import wendy
from peerproof.conformance.fuzz.inputs.inputs import Inputs
from peerproof.conformance.fuzz.strategies import Named, values
from peerproof.spec import peter
from peerproof.spec.core import NodeId
from peerproof.spec.peter import id_of_topic
from peerproof.spec.wendy import Header, Join
from peerproof.spec.wendy.messages import MOST_HOPS

#: The first ones are ids of nodes, the others are between nodes.
TOPICS: Final = ("p" * 16, "p" * 15 + "q, and more", "pppp" + "~" * 12, "~" * 40, "é" * 9)
SHORT: Final = ("", "fifteen letters")


_A: Final = id_of_topic(TOPICS[0])

#: The positions of the nodes of a run: two adjacent, one near, one opposite, two at 0.
PLACES: Final = dict(zip("abcdef", (_A, _A + 1, _A + (1 << 84), _A + (1 << 127), 0, 2**128 - 1), strict=True))

#: Commands of applications; frequent ones come more than once.
ASKED: Final = 8 * ("subscribe",) + 6 * ("unsubscribe",) + 5 * ("publish",) + 5 * ("join",) + ("route", "leave")


def _field_strategies(nodes: tuple[NodeId, ...]) -> Named:
    """Like Wendy's, but keys are mostly those of topics, and credentials are never wrong."""
    named = wendy.field_strategies(nodes, PLACES)
    keys = st.sampled_from([id_of_topic(topic) for topic in (*TOPICS[:1] * 5, *TOPICS)])
    hops = st.sampled_from([0, 1, 2, 254, 255, MOST_HOPS])
    about = st.builds(lambda header, key, hop: Header(header.sender, key, header.versions, hop=hop), named["header"], keys, hops)
    return {
        **named,
        "header": about | named["header"],
        "topic": st.sampled_from([*TOPICS[:1] * 9, *TOPICS, *SHORT]),
        "value": st.binary(max_size=4),
    }


def _commands(nodes: tuple[NodeId, ...]) -> SearchStrategy[Any]:
    """Draws mostly commands about topics; `leave` is rare, because a node that has left does nothing any more."""
    named = _field_strategies(nodes)
    drawn = {name: values(record, named) for name, record in peter.COMMAND.cases.items()}
    return st.sampled_from(ASKED).flatmap(drawn.__getitem__)


def _opening(nodes: tuple[NodeId, ...]) -> list[tuple[NodeId, Any]]:
    """All nodes join through the first."""
    return [(addr, Join(nodes[0])) for addr in nodes[1:]]


INPUTS: Final = Inputs(
    spec=peter,
    configs=partial(wendy.configs, places=PLACES),
    named=_field_strategies,
    commands=_commands,
    spans=wendy.INPUTS.spans,
    malformed=wendy.INPUTS.malformed,
    opening=_opening,
    is_in_order=True,
)
