"""The bounded world of Scuttlebutt: its size, its faults, and the shortest way to what should not be."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.spec.model.explorer import explore
from peerproof.spec.properties import Cluster, Property
from peerproof.spec.scuttlebutt import PROPERTIES
from peerproof.spec.scuttlebutt.model.bounded import Model
from peerproof.spec.scuttlebutt.properties import views_equal

TINY: dict[str, Any] = {
    "Node": [1, 2],
    "Key": ["a"],
    "Value": ["x"],
    "Seeds": [1],
    "MaxVersion": 1,
    "MaxPayload": 100,
    "Roomy": [],
    "RoomyPayload": 100,
    "BigKey": [],
    "BigKeySize": 0,
    "MaxRestarts": 0,
    "Restarting": [],
    "MaxNet": 1,
    "Loss": False,
    "Duplication": False,
}
MORE = {"Key": ["a", "b"], "MaxVersion": 2, "Loss": True, "Duplication": True}


@pytest.mark.parametrize(
    ("changes", "worlds", "edges"),
    [
        (MORE | {"MaxPayload": 29}, 4_482, 16_285),
        (MORE | {"MaxPayload": 15, "MaxRestarts": 1, "Restarting": [1, 2]}, 32_706, 147_683),
    ],
)
def test_explored_graph_has_the_size_that_tlc_found(changes: dict[str, Any], worlds: int, edges: int) -> None:
    explored = explore(Model(TINY | changes))

    assert (worlds, edges) == (len(explored.depths), sum(explored.edges.values()))


def test_every_property_holds_without_restarts() -> None:
    explored = explore(Model(TINY | MORE | {"MaxPayload": 29}), PROPERTIES)

    assert explored.counterexample is None


def test_restart_of_an_owner_breaks_what_the_documents_claim() -> None:
    """BX-03: a node that starts anew is behind what the others know of it."""
    owner_dominates = [p for p in PROPERTIES if p.name == "OwnerDominates"]
    explored = explore(Model(TINY | MORE | {"MaxRestarts": 1, "Restarting": [1, 2]}), owner_dominates)

    assert explored.counterexample is not None
    labels = {label for label, _ in explored.counterexample.path}
    assert labels == {"Update", "Round", "Receive", "Restart"}


def test_counterexample_is_a_shortest_one() -> None:
    """Views that agree, and are not empty, take an update, a round of each node, and what follows from them."""

    def differ(cluster: Cluster) -> bool:
        return not views_equal(cluster) or all(state.store[state.self_id].version == 0 for state in cluster.nodes.values())

    never = Property("NeverAgreed", "views differ", (), "cluster", differ)
    explored = explore(Model(TINY), [never])

    assert explored.counterexample is not None
    path = explored.counterexample.path
    assert len(path) == explored.depths[path[-1].target] == max(explored.depths.values())


def test_same_world_is_reached_whatever_else_is_known() -> None:
    once, again = explore(Model(TINY | MORE)), explore(Model(TINY | MORE))

    assert list(once.depths.items()) == list(again.depths.items())
    assert once.edges == again.edges


def test_bounds_are_guards() -> None:
    model = Model(TINY | MORE)
    explored = explore(model)

    for world in explored.depths:
        cluster = explored.system.cluster(world)
        assert len(tuple(cluster.in_flight)) <= model.faults.in_flight
        assert all(state.store[state.self_id].version <= model.max_version for state in cluster.nodes.values())
