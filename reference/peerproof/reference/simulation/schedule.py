"""The schedule of a campaign: starts, commands of applications, crashes, restarts and partitions."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from random import Random
from typing import Any, Final, Protocol

from peerproof.reference.runtime.driver import random_pick
from peerproof.reference.runtime.protocol import Connected, Figures
from peerproof.reference.simulation.plan import Campaign
from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec.core import Instant, NodeId
from peerproof.spec.errors import NotEnabled

#: Rounds until a node has joined, and until a crashed node restarts.
JOINING: Final = 3
AWAY: Final = 3


class Application(Protocol):
    """The applications on top of all nodes of a protocol."""

    @property
    def figures(self) -> Figures:
        """The measurements."""

    def begin(self, node: NodeId) -> None:
        """Called when a node has started."""

    def moment(self, drawn: int, begin: int, period: int, half: int) -> int:
        """
        Returns when to give a command to a node that starts at `begin`.

        `drawn`: a random time in the first half of the run, which has `half` milliseconds; `period`: length of a round.
        """


class Overlay:
    """The applications on top of an overlay's nodes: they join, and try again if their contact is unreachable."""

    def __init__(self, connected: Connected, simulation: Simulation) -> None:
        self.figures: Final = connected.figures(simulation)
        self._connected: Final = connected
        self._simulation: Final = simulation
        simulation.notified = self._handle_notice

    def moment(self, drawn: int, begin: int, period: int, half: int) -> int:
        """See `Application`: in the second half of the run, after the node had time to join."""
        return max(half + drawn, begin + JOINING * period)

    def begin(self, node: NodeId) -> None:
        """Joins through the node that has been running for the longest time; the first node stays alone."""
        if contact := next((other for other in self._simulation.states() if other != node), None):
            self._simulation.ask(node, self._connected.joining(contact))

    def _handle_notice(self, node: NodeId, notice: Any) -> None:
        self.figures.notify(node, notice)
        if self._connected.is_alone(notice):
            self._simulation.at(self._simulation.now, partial(self.begin, node))


class Schedule:
    """Schedules a campaign's events in a simulation; the same campaign gives the same events."""

    def __init__(self, campaign: Campaign, simulation: Simulation, application: Application | None) -> None:
        self._campaign: Final = campaign
        self._simulation: Final = simulation
        self._application: Final = application
        self._figures: Final[Figures | None] = application.figures if application else None
        self._period: Final = campaign.period()
        self._half: Final = campaign.period() * campaign.rounds // 2
        self._ids: Final = [campaign.node_id(number) for number in range(campaign.nodes)]
        self._starts = 0
        self._begins: Final[dict[NodeId, int]] = {}  #: when each node is first started
        self._wanted: Final[dict[NodeId, list[str]]] = {}  #: subscribed topics of a node's application, oldest first
        random = Random(f"{campaign.seed}/schedule").random
        subscribing = Random(f"{campaign.seed}/subscriptions").random
        for number, node in enumerate(self._ids):
            begin = number * campaign.apart * self._period if campaign.apart else int(random() * self._period)
            self._begins[node] = begin
            simulation.at(Instant(begin), partial(self._start, number))
            for update in range(campaign.updates if campaign.protocol.assigned else 0):
                moment = int(random() * self._half)
                if application:
                    moment = application.moment(moment, begin, self._period, self._half)
                simulation.at(Instant(max(begin, moment)), partial(self._assign, node, update))
            if campaign.protocol.subscribes:
                self._subscriptions(node, begin, subscribing)
        self._crashes()

    def _crashes(self) -> None:
        campaign, simulation, period, ids = self._campaign, self._simulation, self._period, self._ids
        for number, moment in campaign.crashes:
            simulation.at(Instant(moment * period), partial(simulation.crash, ids[number]))
        for number, moment in campaign.restarts:
            simulation.at(Instant(moment * period), partial(self._restart, ids[number]))
        if campaign.partition:
            first, last = campaign.partition
            simulation.at(Instant(first * period), partial(simulation.network.cut, [ids[: len(ids) // 2], ids[len(ids) // 2 :]]))
            simulation.at(Instant(last * period), simulation.network.heal)
        if campaign.churn:
            random = Random(f"{campaign.seed}/churn").random
            for number in range(campaign.rounds // 2, campaign.rounds):
                for node in ids[1:]:
                    happens, moment, other = random() < campaign.churn, int((number + random()) * period), random()
                    if happens:
                        simulation.at(Instant(moment), partial(simulation.crash, node))
                        simulation.at(Instant(moment + AWAY * period), partial(self._come_back, node))
                    elif campaign.protocol.subscribes and other < campaign.churn:
                        simulation.at(Instant(moment), partial(self._change, node, int(random() * campaign.topics)))

    def _start(self, number: int) -> None:
        node = self._ids[number]
        self._simulation.start(node, self._start_config(node, self._campaign.node_config(number)))
        self._begin(node)

    def _restart(self, node: NodeId) -> None:
        restarted = self._campaign.protocol.restarted
        self._simulation.restart(node, lambda config, state: self._start_config(node, restarted(config, state)))
        self._begin(node)

    def _start_config(self, node: NodeId, config: Any) -> Any:
        self._starts += 1
        return self._campaign.protocol.begun(config, random_pick(f"{self._campaign.seed}/start/{self._starts}/{node}"))

    def _begin(self, node: NodeId) -> None:
        """Has the application of a started node join, and restore its subscriptions."""
        if self._application:
            self._application.begin(node)
        for topic in self._wanted.get(node, ()):
            self._ask(node, {"type": "subscribe", "topic": topic})

    def _come_back(self, node: NodeId) -> None:
        if not self._simulation.life(node) and self._simulation.now >= self._begins[node]:
            self._restart(node)

    def _assign(self, node: NodeId, update: int) -> None:
        state = self._simulation.states().get(node)
        if state is None:  # a crashed node has no application
            return
        campaign = self._campaign
        key = campaign.protocol.key(campaign, node, update)
        value = f"{node}/{update}" if campaign.protocol.subscribes else f"v{update}"  # events are identified by their values
        with suppress(NotEnabled):  # a configuration may allow no pairs; the trace records the refusal
            self._simulation.ask(node, campaign.protocol.assign(state, key, value))
            if self._figures:
                self._figures.record_route()

    def _subscriptions(self, node: NodeId, begin: int, random: Any) -> None:
        """Schedules subscriptions before and after the node has joined, all before the first event is published."""
        campaign = self._campaign
        within = min(max(self._half - begin, 0), JOINING * self._period)
        places = sorted(range(campaign.topics), key=lambda _: random())[: campaign.subscriptions]
        for place in places:
            moment = Instant(begin + int(random() * within))
            self._simulation.at(moment, partial(self._want, node, campaign.topic(place)))

    def _want(self, node: NodeId, topic: str) -> None:
        self._wanted.setdefault(node, []).append(topic)
        self._ask(node, {"type": "subscribe", "topic": topic})

    def _change(self, node: NodeId, place: int) -> None:
        """Replaces the oldest subscription of a node's application."""
        wanted, topic = self._wanted.get(node, []), self._campaign.topic(place)
        if wanted and topic not in wanted and self._simulation.life(node):
            self._ask(node, {"type": "unsubscribe", "topic": wanted.pop(0)})
            self._want(node, topic)

    def _ask(self, node: NodeId, command: Any) -> None:
        with suppress(NotEnabled):
            self._simulation.ask(node, self._campaign.protocol.specification().COMMAND.value(command))
