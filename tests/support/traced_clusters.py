"""Small clusters that write traces: with the seed go their size, their configuration, their faults and their commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

from tests.support.watched import recorded

from peerproof.reference.protocols.swim.runtime import RUNTIME, swim_uuid
from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec import swim
from peerproof.spec.core import Instant, NodeId
from peerproof.spec.errors import NotEnabled


def _scuttlebutt(seed: str) -> list[str]:
    random = Random(seed)
    config, nodes = {"max_payload": random.choice([30, 40, 70, 1400])}, random.choice([2, 3, 5])
    faults = Faults(loss=random.choice([0, 0.3]), duplication=0.1, reordering=0.1)
    crashes = ((1, 5),) if random.random() < 0.5 else ()
    restarts = ((1, 12),) if random.random() < 0.5 else ()
    return recorded("scuttlebutt", seed, nodes, 16, 5, config, faults=faults, crashes=crashes, restarts=restarts)


def _swim(seed: str) -> list[str]:
    """A node crashes and comes back, another leaves or is removed, and applications want all that they may want."""
    random, lines, period = Random(seed), list[str](), 300
    config = {
        "ae_size": random.choice([1, 2, 3]),
        "max_datagram": random.choice([512, 1432]),
        "emit_incarnation": False,
        "cluster_events": ["joining", "normal", "suspicious", "dead", "leave", "incarnation"],
    }
    faults = Faults(loss=random.choice([0.1, 0.3]), duplication=0.1, reordering=0.1)
    simulation = Simulation(swim, f"{seed}", faults, recorder=Recorder(swim, f"swim {seed}", lines.append))
    ids = [NodeId(f"n{number}:1") for number in range(random.choice([3, 4, 5]))]
    for number, node in enumerate(ids):
        begin = partial(simulation.start, node, RUNTIME.build_config(config, node, ids[:1] if number else []))
        simulation.at(Instant(int(random.random() * period)), begin)
    for number, node in enumerate(ids[:3]):
        simulation.at(Instant((number + 1) * period), partial(_ask, simulation, node, _payload(node, "v0")))
    for round_number in range(4, 18):
        node, other = random.sample([*ids, NodeId("n9:1")], 2)
        command = random.choice(_COMMANDS)(node, other)
        simulation.at(Instant(int((round_number + random.random()) * period)), partial(_ask, simulation, node, command))
    simulation.at(Instant(5 * period), partial(simulation.crash, ids[1]))
    simulation.at(Instant(15 * period), partial(simulation.restart, ids[1], RUNTIME.restarted))
    simulation.at(Instant(18 * period), partial(_ask, simulation, ids[2], swim.LeaveNode(swim.Uuid(swim_uuid(ids[2])))))
    simulation.run(Instant(22 * period))
    return lines


def _payload(node: NodeId, value: str) -> Any:
    return swim.SetPayload(swim.Uuid(swim_uuid(node)), f'{{"k0":"{value}"}}')


#: What an application wants of a node and another one.
_COMMANDS: list[Callable[[NodeId, NodeId], Any]] = [
    lambda _, other: swim.AddNode(swim.Uuid(swim_uuid(other)), other.partition(":")[0], 1),
    lambda _, other: swim.LeaveNode(swim.Uuid(swim_uuid(other))),
    lambda _, other: swim.RemoveNode(swim.Uuid(swim_uuid(other))),
    lambda _, other: swim.ProbeNode(other.partition(":")[0], 1),
    lambda _, other: swim.OnNodeEvent(swim.Uuid(swim_uuid(other)), swim.EventType.SUSPICIOUS),
    lambda _, other: swim.OnNodeEvent(swim.Uuid(swim_uuid(other)), swim.EventType.NORMAL),
    lambda node, _: _payload(node, "v1"),
    lambda _, other: _payload(other, "v2"),
    lambda node, _: swim.RemoveNode(swim.Uuid(swim_uuid(node))),
    lambda node, _: swim.AddNode(swim.Uuid(swim_uuid(node)), "n8", 1),
]


def _ask(simulation: Simulation, node: NodeId, command: Any) -> None:
    with suppress(NotEnabled):
        simulation.ask(node, command)


#: By protocol: the lines of a cluster, from a seed.
CLUSTERS: Mapping[str, Callable[[str], list[str]]] = {"scuttlebutt": _scuttlebutt, "swim": _swim}
