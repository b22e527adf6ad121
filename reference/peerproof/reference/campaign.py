"""
A campaign: one simulation from a plan that a person can say in a line, and what came of it.

The plan is data and the result follows from it, so that a campaign can be run again anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from random import Random
from typing import Any

from peerproof.reference.network import Faults
from peerproof.reference.protocols import Protocol
from peerproof.reference.recorder import Recorder
from peerproof.reference.simulator import Checker, Simulation, Violation
from peerproof.spec.core import Instant, NodeId
from peerproof.spec.errors import NotEnabled
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
    check_every: int | None = None  #: steps between two looks at the whole cluster; None: nothing is checked

    def __post_init__(self) -> None:
        for node, moment in (*self.crashes, *self.restarts):
            if moment < 1:
                raise ValueError(f"node {node} starts within round 0 and can crash or restart from round 1 on")
            if node >= self.nodes:
                raise ValueError(f"there is no node {node}: the last of {self.nodes} nodes is {self.nodes - 1}")
        self.node_config(0)

    def node_id(self, number: int) -> NodeId:
        """A node's address."""
        return NodeId(f"n{number}:1")

    def node_config(self, number: int) -> Any:
        """A node's configuration: all but the first have the first for a seed."""
        return self.protocol.configured(self.config, self.node_id(number), [self.node_id(0)] if number else [])

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

    def plain(self) -> Plain:
        """As plain data."""
        return {**asdict(self), "violations": [violation._asdict() for violation in self.violations]}

    def text(self) -> str:
        """For people."""
        lines = [
            f"{self.steps} steps, {self.sent} datagrams sent: {self.lost} lost, {self.cut_off} stopped by a partition,"
            f" {self.duplicated} delivered twice"
        ]
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
    simulation = Simulation(specification, campaign.seed, campaign.faults, recorder=recorder)
    checker = Checker(simulation, campaign.check_every) if campaign.check_every else None
    _schedule(campaign, simulation)
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
    )


def _note(goals: list[Property], simulation: Simulation, number: int, since: dict[str, int | None]) -> None:
    cluster = simulation.cluster()
    for goal in goals:
        if not cluster.nodes or not goal.holds(cluster):
            since[goal.name] = None
        elif since[goal.name] is None:
            since[goal.name] = number


def _assign(campaign: Campaign, simulation: Simulation, node: NodeId, update: int) -> None:
    state = simulation.states().get(node)
    if state is not None:  # on top of a crashed node there is no application
        with suppress(NotEnabled):  # a configuration may allow no pair at all; the trace says that it was refused
            simulation.ask(node, campaign.protocol.assign(state, f"k{update % 3}", f"v{update}"))


def _schedule(campaign: Campaign, simulation: Simulation) -> None:
    """Everything that is not the protocol's doing: starts, updates, crashes, restarts, the partition."""
    random = Random(f"{campaign.seed}/schedule").random
    period, half = campaign.period(), campaign.period() * campaign.rounds // 2
    ids = [campaign.node_id(number) for number in range(campaign.nodes)]
    for number, node in enumerate(ids):
        begin = int(random() * period)
        simulation.at(Instant(begin), partial(simulation.start, node, campaign.node_config(number)))
        for update in range(campaign.updates):
            simulation.at(Instant(max(begin, int(random() * half))), partial(_assign, campaign, simulation, node, update))
    for number, moment in campaign.crashes:
        simulation.at(Instant(moment * period), partial(simulation.crash, ids[number]))
    for number, moment in campaign.restarts:
        simulation.at(Instant(moment * period), partial(simulation.restart, ids[number], campaign.protocol.restarted))
    if campaign.partition:
        first, last = campaign.partition
        simulation.at(Instant(first * period), partial(simulation.network.cut, [ids[: len(ids) // 2], ids[len(ids) // 2 :]]))
        simulation.at(Instant(last * period), simulation.network.heal)
