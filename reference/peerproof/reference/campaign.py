"""
A campaign: one simulation from a plan that a person can say in a line, and what came of it.

The plan is data and the result follows from it, so that a campaign can be run again anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any

from peerproof.reference.connected import Figures
from peerproof.reference.network import Faults
from peerproof.reference.protocols import Protocol
from peerproof.reference.recorder import Recorder
from peerproof.reference.schedule import Application, Overlay, Schedule
from peerproof.reference.simulator import Checker, Connections, Simulation, Violation
from peerproof.spec.core import Instant, NodeId
from peerproof.spec.properties import Property
from peerproof.spec.wire import Plain


@dataclass(frozen=True, slots=True)
class Campaign:
    """The plan. Raises ValueError if it makes no sense."""

    protocol: Protocol
    config: Mapping[str, Plain]  #: of every node, but for the seeds
    nodes: int
    rounds: int
    seed: str
    updates: int = 5  #: pairs that each node sets in the first half
    faults: Faults = field(default_factory=Faults)
    partition: tuple[int, int] | None = None  #: in two halves, from one round to another
    crashes: tuple[tuple[int, int], ...] = ()  #: node, round
    restarts: tuple[tuple[int, int], ...] = ()  #: node, round
    apart: int = 0  #: rounds between the starts of two nodes; 0: all start within the first round
    churn: float = 0.0  #: the chance, in each round of the second half, that a node but the first crashes, to come back later
    keys: int = 3  #: different ones that nodes set
    topics: int = 4  #: of a protocol with topics: how many there are
    subscriptions: int = 2  #: and to how many of them each node subscribes
    check_every: int | None = None  #: steps between two looks at the whole cluster; None: nothing is checked

    def __post_init__(self) -> None:
        for node, moment in (*self.crashes, *self.restarts):
            if moment < 1:
                raise ValueError(f"node {node} starts within round 0 and can crash or restart from round 1 on")
            if node >= self.nodes:
                raise ValueError(f"there is no node {node}: the last of {self.nodes} nodes is {self.nodes - 1}")
        if self.apart < 0:
            raise ValueError(f"nodes start 0 rounds apart or more, not {self.apart}")
        if not 0 <= self.churn <= 1:
            raise ValueError(f"churn is a chance from 0 to 1, not {self.churn}")
        if not 0 <= self.subscriptions <= self.topics:
            raise ValueError(f"a node subscribes to some of {self.topics} topics, not to {self.subscriptions}")
        if self.protocol.is_connected and (self.faults.loss or self.faults.duplication):
            raise ValueError(f"{self.protocol.name} speaks over connections, where nothing is lost or delivered twice")
        self.node_config(0)

    def node_id(self, number: int) -> NodeId:
        """A node's address."""
        return NodeId(f"n{number}:1")

    def node_config(self, number: int) -> Any:
        """A node's configuration: all but the first have the first for a seed."""
        return self.protocol.configured(self.config, self.node_id(number), [self.node_id(0)] if number else [])

    def topic(self, place: int) -> str:
        """The text of one of the topics, from 0 on. They begin differently, or all would have one meeting point."""
        random = Random(f"{self.seed}/topic/{place}").random
        return "".join(chr(33 + int(random() * 94)) for _ in range(4)) + f" topic {place:05}"

    def period(self) -> int:
        """Milliseconds from one round to the next."""
        period: int = getattr(self.node_config(0), self.protocol.period)
        return period


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it. `reached` and `never_seen` are empty if nothing was checked."""

    steps: int
    sent: int
    lost: int
    cut_off: int
    duplicated: int
    checked: bool
    violations: tuple[Violation, ...]
    never_seen: tuple[str, ...]  #: `sometimes` properties that did not occur
    reached: Mapping[str, int | None]  #: `eventually` properties: the round since which they hold, None if they do not
    figures: Figures | None = None  #: what else is measured of the protocol

    def plain(self) -> Plain:
        """As plain data."""
        shown = {**asdict(replace(self, figures=None)), "violations": [violation._asdict() for violation in self.violations]}
        del shown["figures"]
        return {**shown, "figures": self.figures.plain()} if self.figures else shown

    def text(self) -> str:
        """For people."""
        lines = [
            f"{self.steps} steps, {self.sent} datagrams sent: {self.lost} lost, {self.cut_off} stopped by a partition,"
            f" {self.duplicated} delivered twice"
        ]
        if self.figures and not (self.lost or self.duplicated):
            lines = [f"{self.steps} steps, {self.sent} messages sent, {self.cut_off} stopped by a partition"]
        lines += self.figures.text() if self.figures else ()
        for name, since in self.reached.items():
            lines.append(f"{name}: " + (f"since round {since}" if since is not None else "not reached"))
        lines += [
            f"VIOLATED {name}: {about}; first at {at} ms, after a step of {node}" for name, about, node, at in self.violations
        ]
        if self.never_seen:
            lines.append(f"never seen, so that the run says little: {', '.join(self.never_seen)}")
        if self.checked and not self.violations:
            lines.append("no property is violated")
        return "\n".join(lines)


def run_id(campaign: Campaign) -> str:
    """What a campaign's trace calls its run."""
    return f"seed-{campaign.seed}"


def run(campaign: Campaign, record: Callable[[str], None] | None = None, recorder: Recorder | None = None) -> Result:
    """Run a campaign; `record` gets the trace, line by line, or a recorder of one's own does."""
    specification = campaign.protocol.specification()
    if record:
        recorder = Recorder(specification, run_id(campaign), record)
    connected = campaign.protocol.connected()
    connections = Connections(connected.timeout(campaign.node_config(0)), connected.has_left) if connected else None
    simulation = Simulation(specification, campaign.seed, campaign.faults, recorder=recorder, connections=connections)
    application = _application(campaign.protocol, simulation)
    checker = Checker(simulation, campaign.check_every) if campaign.check_every else None
    Schedule(campaign, simulation, application)
    goals = [p for p in specification.PROPERTIES if p.when == "eventually" and p.of == "cluster"]
    since: dict[str, int | None] = {p.name: None for p in goals}
    for number in range(1, campaign.rounds + 1):
        simulation.run(Instant(number * campaign.period()))
        if checker:
            _note(goals, simulation, number, since)
    network = simulation.network
    return Result(
        steps=simulation.steps,
        sent=network.sent,
        lost=network.lost,
        cut_off=network.cut_off,
        duplicated=network.duplicated,
        checked=checker is not None,
        violations=tuple(checker.violations.values()) if checker else (),
        never_seen=tuple(checker.never_seen()) if checker else (),
        reached=since if checker else {},
        figures=application.figures if application else None,
    )


def _application(protocol: Protocol, simulation: Simulation) -> Application | None:
    if connected := protocol.connected():
        return Overlay(connected, simulation)
    store = protocol.store()
    application: Application | None = store.Store(simulation) if store else None
    return application


def _note(goals: list[Property], simulation: Simulation, number: int, since: dict[str, int | None]) -> None:
    cluster = simulation.cluster()
    for goal in goals:
        if not cluster.nodes or not goal.holds(cluster):
            since[goal.name] = None
        elif since[goal.name] is None:
            since[goal.name] = number
