"""No monitor accuses a node that has restarted: what it has forgotten is no fault, and nothing on the wire says why."""

from __future__ import annotations

from typing import Any

import pytest

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec.core import NodeId
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.observed import Seen
from peerproof.spec.traces.trace import Line, parse

#: Node 2 is away for five rounds, node 1 is back at once.
RESTARTS: dict[str, Any] = {"crashes": ((2, 15), (1, 22)), "restarts": ((2, 20), (1, 22))}


def simulated(protocol: str, seed: str, faults: Faults) -> list[Line]:
    lines: list[str] = []
    campaign.run(Campaign(RUNTIMES[protocol], {}, 5, 40, seed, 8, faults, **RESTARTS), lines.append)
    return [parse(line) for line in lines]


def watched(protocol: str, trace: list[Line]) -> tuple[list[Any], dict[str, Any]]:
    """What monitors say that are not told of starts, where each node is seen from where it is; and the monitors."""
    specification, monitors = PROTOCOLS[protocol].specification.load(), PROTOCOLS[protocol].monitors
    assert monitors is not None
    message = specification.MESSAGE
    watching: dict[str, Any] = {}
    complaints: list[Any] = []
    for line in trace:
        if line.kind == "start" and line.node not in watching:
            watching[line.node] = monitors.load().monitor(NodeId(line.node), specification.CONFIG.value(line.args))
        seen = [(False, line.peer or "", line.args)] if line.kind == "recv" else []
        seen += [(True, effect["send"]["to"], effect["send"]["message"]) for effect in line.effects if "send" in effect]
        for sent, peer, plain in seen:
            value = message.value(plain)
            size = len(message.encode(value)) if specification.TRANSPORT == "udp" else 0
            complaints += watching[line.node].see(Seen(sent, NodeId(peer), value, size, line.t_us))
    return complaints, watching


CASES = [
    pytest.param(protocol, Faults(loss=loss), id=f"{protocol}, loss {loss}")
    for protocol in PROTOCOLS
    for loss in ((0.0,) if RUNTIMES[protocol].is_connected else (0.0, 0.1))
]


@pytest.mark.parametrize(("protocol", "faults"), CASES)
@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_a_restart_is_no_fault(protocol: str, seed: str, faults: Faults) -> None:
    trace = simulated(protocol, seed, faults)

    complaints, watching = watched(protocol, trace)

    assert complaints == []
    assert sum(line.kind == "start" for line in trace) > len(watching)


def test_restarts_of_scuttlebutt_are_counted() -> None:
    for seed in "abc":
        _, watching = watched("scuttlebutt", simulated("scuttlebutt", seed, Faults()))

        assert [watching[node].lives for node in sorted(watching)] == [1, 2, 2, 1, 1]
