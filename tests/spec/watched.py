"""Traces of simulations, watched by the monitors of their protocol: as each node has them, or as they arrive on the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec.core import EVERYBODY, NodeId, Specification
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.observed import Seen
from peerproof.spec.traces.trace import Line, parse


def simulated(protocol: str, seed: str, nodes: int, rounds: int, updates: int, config: Any = None, **plan: Any) -> list[Line]:
    """The trace of some nodes, of whom applications want so much."""
    lines: list[str] = []
    faults = plan.pop("faults", Faults())
    campaign.run(Campaign(RUNTIMES[protocol], config or {}, nodes, rounds, seed, updates, faults, **plan), lines.append)
    return [parse(line) for line in lines]


def watched(protocol: str, trace: list[Line], *, with_starts: bool, with_times: bool) -> tuple[list[Any], dict[str, Any], int]:
    """
    What monitors say that see each node from where it is, the monitors, and how many messages they have seen.

    Without starts one monitor watches a node in all its lives, and is not told that there are several.
    """
    specification, monitors = PROTOCOLS[protocol].specification.load(), PROTOCOLS[protocol].monitors
    assert monitors is not None
    message, watching = specification.MESSAGE, dict[str, Any]()
    complaints, count = list[Any](), 0
    for line in trace:
        if line.kind == "start" and (with_starts or line.node not in watching):
            watching[line.node] = monitors.load().monitor(NodeId(line.node), specification.CONFIG.value(line.args))
        seen = [(False, line.peer or "", line.args)] if line.kind == "recv" else []
        seen += [(True, effect["send"]["to"], effect["send"]["message"]) for effect in line.effects if "send" in effect]
        for is_sent, peer, plain in seen:
            value = message.value(plain)
            size = len(message.encode(value)) if specification.TRANSPORT == "udp" else 0
            at = line.t_us if with_times else None
            to = EVERYBODY if specification.TRANSPORT == "serf" else NodeId(peer)
            complaints += watching[line.node].see(Seen(is_sent, to, value, size, at))
            count += 1
    return complaints, watching, count


def arrivals(specification: Specification, trace: list[Line]) -> Iterator[tuple[str, str, Any, int]]:
    """What a capture of the whole ring has: each message, from whom to whom, when it arrives."""
    for line in trace:
        if line.kind == "recv":
            yield line.peer or "", line.node, specification.MESSAGE.value(line.args), line.t_us


def complaints_on_the_wire(protocol: str, config: Any, trace: list[Line]) -> list[Any]:
    """What monitors of all nodes say, where all of it is seen as it arrives; they have this configuration."""
    monitors = PROTOCOLS[protocol].monitors
    assert monitors is not None
    watching: dict[str, Any] = {}
    complaints: list[Any] = []
    for source, target, message, at in arrivals(PROTOCOLS[protocol].specification.load(), trace):
        for node, seen in (
            (source, Seen(True, NodeId(target), message, 0, at)),
            (target, Seen(False, NodeId(source), message, 0, at)),
        ):
            if node not in watching:
                watching[node] = monitors.load().monitor(NodeId(node), config)
            complaints += watching[node].see(seen)
    return complaints


def mismatched_senders(protocol: str, trace: list[Line]) -> list[tuple[str, str]]:
    """Who has sent a message and who is said to have, where that differs, whatever the port that messages come from."""
    senders = PROTOCOLS[protocol].senders
    assert senders is not None
    told = senders.load().Senders()
    return [
        (source, said)
        for source, target, message, _ in arrivals(PROTOCOLS[protocol].specification.load(), trace)
        if (said := told.sender(message, NodeId(f"{source.rpartition(':')[0]}:55555"), NodeId(target))) != source
    ]
