"""
What a node knows of everybody's ticks: which was the last, which changes it has seen, which it has not. [D-09, D-21, D-58]

Tables of nodes hold no row for a node of whom there is nothing to say. [DA-25]
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
    """The greater tick of each node, whoever it is; a node that was restarted learns its own so. [D-66, D-114, DA-45, DA-46]"""
    return ticks.put({node: tick for node, tick in heard.items() if tick > ticks.get(node, -1)})


def with_elements(sets: TickSets, elements: Iterable[Element]) -> TickSets:
    """The sets with these elements' ticks. Elements that have none add nothing. [D-58]"""
    rows: dict[NodeId, Ranges] = {}
    for node, tick in elements:
        if tick is not None:
            rows[node] = (rows.get(node) or sets.get(node, NONE)).with_tick(tick)
    return sets.put(rows)


def union(sets: TickSets, others: Mapping[NodeId, Ranges]) -> TickSets:
    """What is in one or the other, node by node."""
    return sets.put({node: sets.get(node, NONE).union(ranges) for node, ranges in others.items() if not ranges.is_empty()})


def difference(sets: Mapping[NodeId, Ranges], others: Mapping[NodeId, Ranges]) -> TickSets:
    """What is in the first and not in the other, node by node."""
    return _not_empty({node: ranges.difference(others.get(node, NONE)) for node, ranges in sets.items()})


def intersection(sets: Mapping[NodeId, Ranges], others: Mapping[NodeId, Ranges]) -> TickSets:
    """What is in both, node by node."""
    return _not_empty({node: ranges.intersection(others.get(node, NONE)) for node, ranges in sets.items()})


def missing_sets(ticks: Ticks, known: TickSets) -> TickSets:
    """Which changes of anybody are not known, if these are their ticks. [D-21, D-67]"""
    return _not_empty({node: missing(tick, known.get(node, NONE)) for node, tick in ticks.items()})


def _not_empty(sets: Mapping[NodeId, Ranges]) -> TickSets:
    return Table({node: ranges for node, ranges in sets.items() if not ranges.is_empty()})
