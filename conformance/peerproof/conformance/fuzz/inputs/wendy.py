"""
Inputs for fuzzing Wendy.

There are few nodes on a large ring, some adjacent and some far apart; a stranger that others may mention; leaf sets with room for
one or two nodes on a side, so that some node is left out; and versions at their maximum.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from peerproof.conformance.fuzz.inputs.inputs import GONE, STRANGER, Inputs
from peerproof.conformance.fuzz.strategies import Named, values
from peerproof.spec import wendy
from peerproof.spec.core import NodeId
from peerproof.spec.wendy import Config, Entry, Header, Id, LeafSet, Mask, Node, Tables, Versions
from peerproof.spec.wendy.messages import MOST_HOPS, MOST_VERSION
from peerproof.spec.wendy.state import host_and_port

#: The positions of the nodes of a run: two adjacent, one that shares ten digits with these, one opposite, two at 0.
PLACES: Final[Mapping[str, int]] = dict(
    zip("abcdef", (1 << 124, (1 << 124) + 1, (1 << 124) + (1 << 84), (1 << 127) + (1 << 124), 0, 2**128 - 1), strict=True)
)

_COUNTERS: Final = st.sampled_from([0, 0, 1, 1, 2, 3, 5, 8, MOST_VERSION - 1, MOST_VERSION])
_VERSIONS: Final = st.builds(Versions, _COUNTERS, _COUNTERS, _COUNTERS)
_HOPS: Final = st.sampled_from([0, 0, 1, 2, MOST_HOPS - 1, MOST_HOPS])
_PLACES_OF_TABLES: Final = st.lists(st.integers(0, 3), max_size=2, unique=True).map(lambda places: tuple(sorted(places)))
_MASKS: Final = st.builds(Mask, st.booleans(), st.booleans(), st.booleans(), _PLACES_OF_TABLES, _PLACES_OF_TABLES)
_VALUES: Final = st.none() | st.binary(max_size=4)


def node_of(addr: NodeId, places: Mapping[str, int] = PLACES) -> Node:
    """Returns the node of a run with this address."""
    host, port = host_and_port(addr)
    return Node(Id(places[addr[0]]), host, host, port)


def configs(nodes: tuple[NodeId, ...], places: Mapping[str, int] = PLACES) -> SearchStrategy[tuple[Any, ...]]:
    """Draws configurations of nodes at these positions."""
    drawn = {
        "network_timeout": st.just(10),
        "heartbeat": st.sampled_from([300_000, 0]),
        "is_consulted": st.sampled_from([False, False, True]),
        "leaf_set_side": st.sampled_from([16, 1, 2]),
        "neighborhood_set": st.sampled_from([32, 1, 2]),
    }
    return st.tuples(*(st.builds(Config, id=st.just(node_of(addr, places).id), **drawn) for addr in nodes))


def field_strategies(nodes: tuple[NodeId, ...], places: Mapping[str, int] = PLACES) -> Named:
    """Returns strategies for fields of messages and commands, with nodes at these positions and some unreachable ones."""
    known = [node_of(addr, places) for addr in (*nodes, STRANGER)]
    odd = [
        known[0]._replace(local_ip="g", global_ip="g"),  # another address
        known[-1]._replace(local_ip="", global_ip="", port=0),  # no address
        known[-1]._replace(region="eu", global_ip="h"),  # another region
    ]
    nodes_drawn = st.sampled_from([*known, *known, *known, *odd])
    ids = st.sampled_from([node.id for node in known]) | st.integers(0, 2**128 - 1).map(Id)
    some = st.lists(nodes_drawn, max_size=4).map(tuple)
    cells = st.dictionaries(st.tuples(st.integers(0, 31), st.integers(0, 15)), nodes_drawn, max_size=4)
    return {
        "addr": st.sampled_from((*nodes, STRANGER)),
        "contact": st.sampled_from((*nodes, *nodes, STRANGER)),
        "header": st.builds(Header, nodes_drawn, ids, _VERSIONS, _VALUES, _HOPS),
        "tables": st.builds(
            Tables,
            st.none() | cells.map(lambda cells: tuple(Entry(*cell, cells[cell]) for cell in sorted(cells))),
            st.none() | st.builds(LeafSet, some, some),
            st.none() | some,
        ),
        "node": nodes_drawn,
        "mask": _MASKS,
        "key": ids,
        "value": _VALUES,
    }


def _commands(nodes: tuple[NodeId, ...]) -> SearchStrategy[Any]:
    """Draws mostly joins and messages: a node that has left does nothing any more."""
    fields = field_strategies(nodes)
    join, route = (values(wendy.COMMAND.cases[name], fields) for name in ("join", "route"))
    return st.one_of(join, join, join, route, route, values(wendy.COMMAND, fields))


INPUTS: Final = Inputs(
    spec=wendy,
    configs=configs,
    named=field_strategies,
    commands=_commands,
    spans=(20, 1, 10, 300_000, 3_600_000),
    malformed=("WA-63", "WA-66"),
    survives={"StoredVersionsReal": frozenset({GONE})},
    withheld=frozenset({"QuietOneOwner"}),  # not in skewed rings, which small leaf sets make likely [WX-07]
)
