"""
A node's data about the ticks of all nodes: the last ticks, and the known and missing changes. [D-09, D-21, D-58]

Tables by node have no rows for nodes without data. [DA-25]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from peerproof.spec.core import NodeId, Table
from peerproof.spec.distkv.chains import Element
from peerproof.spec.distkv.ranges import NONE, Ranges, missing

#: The last tick of each node. [D-65]
Ticks: TypeAlias = Table[NodeId, int]

#: Sets of ticks by node. [D-62, D-67]
TickSets: TypeAlias = Table[NodeId, Ranges]


def latest(ticks: Ticks, heard: Mapping[NodeId, int]) -> Ticks:
    """Returns the greater tick of each node; a restarted node learns its own tick in this way. [D-66, D-114, DA-45, DA-46]"""
    return ticks.put({node: tick for node, tick in heard.items() if tick > ticks.get(node, -1)})


def with_elements(sets: TickSets, elements: Iterable[Element]) -> TickSets:
    """Returns the sets with these elements' ticks. Elements without a tick add nothing. [D-58]"""
    rows: dict[NodeId, Ranges] = {}
    for node, tick in elements:
        if tick is not None:
            rows[node] = (rows.get(node) or sets.get(node, NONE)).with_tick(tick)
    return sets.put(rows)


def union(sets: TickSets, others: Mapping[NodeId, Ranges]) -> TickSets:
    """Returns the union, node by node."""
    return sets.put({node: sets.get(node, NONE).union(ranges) for node, ranges in others.items() if not ranges.is_empty()})


def difference(sets: Mapping[NodeId, Ranges], others: Mapping[NodeId, Ranges]) -> TickSets:
    """Returns the elements of the first that are not in the other, node by node."""
    return _not_empty({node: ranges.difference(others.get(node, NONE)) for node, ranges in sets.items()})


def intersection(sets: Mapping[NodeId, Ranges], others: Mapping[NodeId, Ranges]) -> TickSets:
    """Returns the intersection, node by node."""
    return _not_empty({node: ranges.intersection(others.get(node, NONE)) for node, ranges in sets.items()})


def missing_sets(ticks: Ticks, known: TickSets) -> TickSets:
    """Returns the unknown changes of all nodes with these ticks. [D-21, D-67]"""
    return _not_empty({node: missing(tick, known.get(node, NONE)) for node, tick in ticks.items()})


def _not_empty(sets: Mapping[NodeId, Ranges]) -> TickSets:
    return Table({node: ranges for node, ranges in sets.items() if not ranges.is_empty()})
