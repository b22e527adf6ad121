"""A campaign: one simulation from its plan, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

from peerproof.reference.runtime.protocol import Figures
from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.simulation.plan import Campaign, run_id
from peerproof.reference.simulation.schedule import Application, Overlay, Schedule
from peerproof.reference.simulation.simulator import Checker, Connections, Failure, Simulation, Violation
from peerproof.reference.simulation.timeline import Timeline
from peerproof.spec.core import Instant
from peerproof.spec.forms.form import Plain
from peerproof.spec.properties import Property


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a campaign. `reached` and `never_seen` are empty if nothing was checked."""

    steps: int
    sent: int
    lost: int
    cut_off: int
    duplicated: int
    checked: bool
    violations: tuple[Violation, ...]
    never_seen: tuple[str, ...]  #: `sometimes` properties that did not occur
    reached: Mapping[str, int | None]  #: `eventually` properties: the round since which they hold; None: they do not
    figures: Figures | None = None  #: measurements of the protocol
    failures: tuple[Failure, ...] = ()  #: crashes of nodes with a divergence, by themselves

    def plain(self) -> Plain:
        """Returns the result as plain data."""
        shown = {**asdict(replace(self, figures=None)), "violations": [violation._asdict() for violation in self.violations]}
        shown["failures"] = [failure._asdict() for failure in self.failures]
        del shown["figures"]
        return {**shown, "figures": self.figures.plain()} if self.figures else shown

    def text(self) -> str:
        """Returns the result as text."""
        lines = [
            f"{self.steps} steps, {self.sent} datagrams sent: {self.lost} lost, {self.cut_off} stopped by a partition,"
            f" {self.duplicated} delivered twice"
        ]
        if self.figures and not (self.lost or self.duplicated):
            lines = [f"{self.steps} steps, {self.sent} messages sent, {self.cut_off} stopped by a partition"]
        lines += self.figures.text() if self.figures else ()
        lines += [f"{node} crashed by itself at {at} ms: {reason}" for node, at, reason in self.failures]
        lines += [f"{name}: since round {since}" for name, since in self.reached.items() if since is not None]
        missing = [name for name, since in self.reached.items() if since is None]
        later = "more --rounds may reach it, if anything can still change"
        lines += [f"{name}: does not hold at the end; {later}" for name in missing]
        lines += [
            f"VIOLATED {name}: {about}; first at {at} ms, after a step of {node}" for name, about, node, at in self.violations
        ]
        if self.never_seen:
            lines.append(f"never reached, so that the run covers little: {', '.join(self.never_seen)}")
        if self.checked and not self.violations:
            lines.append("no property is violated" + (f", but not all hold at the end: {', '.join(missing)}" if missing else ""))
        return "\n".join(lines)


def run(
    campaign: Campaign,
    record: Callable[[str], None] | None = None,
    recorder: Recorder | None = None,
    watch: Callable[[str], None] | None = None,
) -> Result:
    """Runs a campaign. The trace goes to `record`, line by line, or to `recorder`; the timeline goes to `watch`."""
    specification = campaign.protocol.specification()
    if record:
        recorder = Recorder(specification, run_id(campaign), record)
    connected = campaign.protocol.connected
    connections = Connections(connected.timeout(campaign.node_config(0)), connected.has_left) if connected else None
    variants = {campaign.node_id(number): other for number, other in campaign.variants.items()}
    simulation = Simulation(
        specification, campaign.seed, campaign.faults, recorder=recorder, connections=connections, variants=variants
    )
    application: Application | None = Overlay(connected, simulation) if connected else None
    if store := campaign.protocol.store:
        application = store.Store(simulation)
    if watch:
        Timeline(simulation, campaign.protocol, watch)
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
        failures=tuple(simulation.failures),
    )


def _note(goals: list[Property], simulation: Simulation, number: int, since: dict[str, int | None]) -> None:
    cluster = simulation.cluster()
    for goal in goals:
        if not cluster.nodes or not goal.holds(cluster):
            since[goal.name] = None
        elif since[goal.name] is None:
            since[goal.name] = number
