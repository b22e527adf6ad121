"""
What monitors see: messages as tests write them, and traces of simulations.

Traces are watched as each node has them, or as they arrive on the wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.simulation import campaign
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.reference.simulation.plan import Campaign
from peerproof.spec.core import EVERYBODY, NodeId, Specification
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.observed import Seen
from peerproof.spec.traces.trace import Line, parse


def monitor_of(protocol: str, node: NodeId, config: Any) -> Any:
    """A monitor of one node."""
    monitors = PROTOCOLS[protocol].monitors
    assert monitors is not None
    return monitors.load().monitor(node, config)


def seen(protocol: str, is_sent: bool, peer: NodeId, message: Any, at: int | None = None) -> Seen:
    """A message that a monitor sees."""
    specification: Specification = PROTOCOLS[protocol].specification.load()
    size = len(specification.MESSAGE.encode(message)) if specification.TRANSPORT == "udp" else 0
    return Seen(is_sent, peer, message, size, at)


@dataclass(frozen=True)
class Watched:
    """How the tables of a protocol write what one node says and gets."""

    protocol: str
    node: NodeId
    config: Callable[..., Any]  #: of these settings
    other: str  #: with whom it talks, unless somebody else is named
    place: Callable[[str], NodeId] = NodeId  #: where somebody is
    unit: int = 1_000_000  #: of times, in microseconds

    def said(self, message: Any, at: float | None = 0, to: str = "") -> Seen:
        """The node says this, at this time; without one, messages are in the order of being sent."""
        return seen(self.protocol, True, self.place(to or self.other), message, None if at is None else int(at * self.unit))

    def got(self, message: Any, at: float | None = 0, of: str = "") -> Seen:
        """The node gets this."""
        return self.said(message, at, of)._replace(sent=False)

    def monitor(self, **settings: Any) -> Any:
        """The monitor of the node."""
        return monitor_of(self.protocol, self.node, self.config(**settings))

    def broken(self, *messages: Seen, **settings: Any) -> list[str]:
        """The names of the rules that the node breaks."""
        watch = self.monitor(**settings)
        return [violation.rule.name for each in messages for violation in watch.see(each)]


def recorded(protocol: str, seed: str, nodes: int, rounds: int, updates: int, config: Any = None, **plan: Any) -> list[str]:
    """The trace of some nodes, of whom applications want so much, as text."""
    lines: list[str] = []
    faults = plan.pop("faults", Faults())
    campaign.run(Campaign(RUNTIMES[protocol], config or {}, nodes, rounds, seed, updates, faults, **plan), lines.append)
    return lines


def simulated(protocol: str, seed: str, nodes: int, rounds: int, updates: int, config: Any = None, **plan: Any) -> list[Line]:
    """The same as lines."""
    return [parse(line) for line in recorded(protocol, seed, nodes, rounds, updates, config, **plan)]


def watched(protocol: str, trace: list[Line], *, with_starts: bool, with_times: bool) -> tuple[list[Any], dict[str, Any], int]:
    """
    What monitors say that see each node from where it is, the monitors, and how many messages they have seen.

    Without starts one monitor watches a node in all its lives, and is not told that there are several.
    """
    specification, watching = PROTOCOLS[protocol].specification.load(), dict[str, Any]()
    complaints, count = list[Any](), 0
    for line in trace:
        if line.kind == "start" and (with_starts or line.node not in watching):
            watching[line.node] = monitor_of(protocol, NodeId(line.node), specification.CONFIG.value(line.args))
        messages = [(False, line.peer or "", line.args)] if line.kind == "recv" else []
        messages += [(True, effect["send"]["to"], effect["send"]["message"]) for effect in line.effects if "send" in effect]
        for is_sent, peer, plain in messages:
            to = EVERYBODY if specification.TRANSPORT == "serf" else NodeId(peer)
            value = specification.MESSAGE.value(plain)
            complaints += watching[line.node].see(seen(protocol, is_sent, to, value, line.t_us if with_times else None))
            count += 1
    return complaints, watching, count


def arrivals(specification: Specification, trace: list[Line]) -> Iterator[tuple[str, str, Any, int]]:
    """What a capture of the whole ring has: each message, from whom to whom, when it arrives."""
    for line in trace:
        if line.kind == "recv":
            yield line.peer or "", line.node, specification.MESSAGE.value(line.args), line.t_us


def complaints_on_the_wire(protocol: str, config: Any, trace: list[Line]) -> list[Any]:
    """What monitors of all nodes say, where all of it is seen as it arrives; they have this configuration."""
    watching: dict[str, Any] = {}
    complaints: list[Any] = []
    for source, target, message, at in arrivals(PROTOCOLS[protocol].specification.load(), trace):
        for node, is_sent, peer in ((source, True, target), (target, False, source)):
            if node not in watching:
                watching[node] = monitor_of(protocol, NodeId(node), config)
            complaints += watching[node].see(seen(protocol, is_sent, NodeId(peer), message, at))
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
