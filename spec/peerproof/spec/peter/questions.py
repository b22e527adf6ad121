"""
What the models ask of a world, and claims that must fail; by their names in TLA+.

A `Never...` is false of every run in which something interesting happens. It must fail, or the properties that speak of
that would hold of nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from peerproof.spec.liveness import Ending
from peerproof.spec.peter.properties import (
    Tree,
    all_trees,
    children_and_parents_agree,
    in_tree_iff_wanted,
    no_orphan,
    one_parent,
    one_root,
    present,
    rows_right,
    trees_at_rest,
)
from peerproof.spec.peter.router import topic_number
from peerproof.spec.peter.variants import Varied
from peerproof.spec.properties import Cluster

Question = Callable[[Varied, Cluster], bool]


def at_rest(holds: Callable[[Tree], bool]) -> Question:
    """It holds of all trees that are at rest."""

    def asked(_: Varied, cluster: Cluster) -> bool:
        return bool(tuple(cluster.in_flight)) or all(map(holds, trees_at_rest(cluster)))

    return asked


def published(model: Varied, cluster: Cluster) -> set[tuple[int, int]]:
    """The topics and events that have been published."""
    return {
        (topic, event)
        for state in cluster.nodes.values()
        for what, topic, event in model.todo[state.id][: len(model.todo[state.id]) - len(state.todo)]
        if what == "publish"
    }


def deliveries(cluster: Cluster, topic: int, event: int) -> Iterator[tuple[bool, int]]:
    """Of each node that is there, whether it is subscribed, and how often it has got an event."""
    for state in present(cluster).values():
        is_local = any(row.is_local for key, row in state.upper.topics.items() if topic_number(key) == topic)
        yield is_local, state.got.get((topic, event), 0)


def exactly_once(model: Varied, cluster: Cluster) -> bool:
    """With nothing under way, each event has come to each subscriber once, and to nobody else. [PI-07, PX-04, PX-05]"""
    return bool(tuple(cluster.in_flight)) or all(
        times == is_local for what in published(model, cluster) for is_local, times in deliveries(cluster, *what)
    )


#: Names in TLA+ -> what holds of a world of a model, or should not.
QUESTIONS: Final[Mapping[str, Question]] = {
    "RowsRight": lambda _, cluster: all(map(rows_right, cluster.nodes.values())),
    "ChildrenAndParentsAgree": at_rest(children_and_parents_agree),
    "OneRoot": at_rest(one_root),
    "InTreeIffWanted": at_rest(in_tree_iff_wanted),
    "NoOrphan": at_rest(no_orphan),
    "OneParent": at_rest(one_parent),
    "ExactlyOnce": exactly_once,
}


def eventually_tree(_: Varied) -> Iterator[Ending]:
    """There is a tree of each topic, for good. [PL-01]"""
    yield Ending("EventuallyTree", "trees are right for good", ("PL-01",), all_trees, frozenset())


def eventually_delivered(model: Varied) -> Iterator[Ending]:
    """Every event that was published has come to every subscriber. [PL-02]"""
    yield Ending(
        "EventuallyDelivered", "every subscriber gets every event", ("PL-02",), partial(_is_delivered, model), frozenset()
    )


def _is_delivered(model: Varied, cluster: Cluster) -> bool:
    got = (delivery for what in published(model, cluster) for delivery in deliveries(cluster, *what))
    return all(times > 0 for is_local, times in got if is_local)


#: Names of temporal properties in TLA+ -> what must come of every fair run of a model.
ENDINGS: Final[Mapping[str, Callable[[Varied], Iterator[Ending]]]] = {
    "EventuallyTree": eventually_tree,
    "EventuallyDelivered": eventually_delivered,
}
