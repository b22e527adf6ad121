"""Small worlds of DistKV in few words."""

from __future__ import annotations

from typing import Any

from peerproof.spec.distkv.model.variants import VARIANTS
from peerproof.spec.distkv.properties import PROPERTIES
from peerproof.spec.model.bounded import World
from peerproof.spec.model.exploration import Exploration
from peerproof.spec.model.explorer import explore
from peerproof.spec.model.run_monitor import Monitored

#: Two nodes that are ready and empty, of whom nothing happens by itself.
PAIR: dict[str, Any] = {
    "Node": [1, 2],
    "Path": [1],
    "MaxChange": 3,
    "MaxPing": 4,
    "Starting": [[1, "ready"], [2, "ready"]],
    "Had": [],
    "Gone": [],
    "Shown": [],
    "Last": [],
    "Tock": [],
    "Heard": [],
    "UnderWay": [],
    "Todo": [],
    "Firing": [],
    "Loss": False,
    "Restarting": [],
    "Forgetful": [],
    "MaxRestarts": 0,
    "MaxTock": 9,
    "MaxNet": 9,
}

#: The same, three.
TRIO = PAIR | {"Node": [1, 2, 3], "Starting": [[1, "ready"], [2, "ready"], [3, "ready"]]}


def starting(*how: str) -> list[list[Any]]:
    """How each node starts, in order."""
    return [[node, one] for node, one in enumerate(how, 1)]


def todo(**things: list[list[Any]]) -> list[list[Any]]:
    """What the nodes have to do, by name: `todo(n1=[["set", 1, 1]])`."""
    return [[int(node[1:]), index, *thing] for node, all_of_it in things.items() for index, thing in enumerate(all_of_it, 1)]


def firing(**timers: str) -> list[list[Any]]:
    """Which timers of which nodes may expire: `firing(n1="ping known")`."""
    return [[int(node[1:]), timer] for node, names in timers.items() for timer in names.split()]


def explored(constants: dict[str, Any], *replaced: str, without: str = "") -> Exploration:
    """The whole graph, in which all properties hold, but for some that need not."""
    properties = [p for p in PROPERTIES if p.name not in without.split()]
    found = explore(VARIANTS[frozenset(replaced)](constants), properties, digest=True)
    assert found.counterexample is None, found.counterexample
    return found


def shown(found: Exploration, world: World) -> tuple[dict[str, tuple[Any, ...]], frozenset[Any]]:
    """The nodes' values by variable, and the messages under way."""
    assert not isinstance(found.system, Monitored)
    system = found.system
    nodes = zip(*(system.model.node_values(state) for state in system.cluster(world).nodes.values()), strict=True)
    return dict(zip(system.model.node_variables, nodes, strict=True)), system.net_value(world[len(system.places) + 1 :])


def run(found: Exploration, *labels: str) -> tuple[dict[str, tuple[Any, ...]], frozenset[Any]]:
    """What is at the end of the first way with these labels."""
    world = found.system.initial()
    for label in labels:
        world = next(target for name, target in found.system.moves(world) if name == label)
    return shown(found, world)


def ends(found: Exploration) -> list[dict[str, tuple[Any, ...]]]:
    """The nodes' values in the worlds where nothing happens any more."""
    return [shown(found, world)[0] for world in found.depths if not list(found.system.moves(world))]
