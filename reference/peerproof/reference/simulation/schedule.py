"""What happens in a campaign and is not the protocol's doing: starts, what applications want, crashes, restarts, partitions."""

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

#: Rounds after which a node has joined, and after which one that has crashed comes back.
JOINING: Final = 3
AWAY: Final = 3


class Application(Protocol):
    """What is on top of all nodes of a protocol, and is not the protocol's doing."""

    @property
    def figures(self) -> Figures:
        """What is measured."""

    def begin(self, node: NodeId) -> None:
        """A node has just started."""

    def moment(self, drawn: int, begin: int, period: int, half: int) -> int:
        """When a node that began then is asked for something; what was drawn is a moment of the first half of the run."""


class Overlay:
    """The applications on top of the nodes of an overlay: they join, and try again if their contact cannot be reached."""

    def __init__(self, connected: Connected, simulation: Simulation) -> None:
        self.figures: Final = connected.figures(simulation)
        self._connected: Final = connected
        self._simulation: Final = simulation
        simulation.notified = self._handle_notice

    def moment(self, drawn: int, begin: int, period: int, half: int) -> int:
        """When a node is asked: when the ring has come about, and the node had the time to join."""
        return max(half + drawn, begin + JOINING * period)

    def begin(self, node: NodeId) -> None:
        """Join by the node that has been running for the longest time; the first of all is a ring by itself."""
        if contact := next((other for other in self._simulation.states() if other != node), None):
            self._simulation.ask(node, self._connected.joining(contact))

    def _handle_notice(self, node: NodeId, notice: Any) -> None:
        self.figures.notify(node, notice)
        if self._connected.is_alone(notice):
            self._simulation.at(self._simulation.now, partial(self.begin, node))


class Schedule:
    """Puts all of it before a simulation. What each part draws from chance does not depend on the others."""

    def __init__(self, campaign: Campaign, simulation: Simulation, application: Application | None) -> None:
        self._campaign: Final = campaign
        self._simulation: Final = simulation
        self._application: Final = application
        self._figures: Final[Figures | None] = application.figures if application else None
        self._period: Final = campaign.period()
        self._half: Final = campaign.period() * campaign.rounds // 2
        self._ids: Final = [campaign.node_id(number) for number in range(campaign.nodes)]
        self._starts = 0
        self._wanted: Final[dict[NodeId, list[str]]] = {}  #: topics that a node's application is subscribed to
        random = Random(f"{campaign.seed}/schedule").random
        subscribing = Random(f"{campaign.seed}/subscriptions").random
        for number, node in enumerate(self._ids):
            begin = number * campaign.apart * self._period if campaign.apart else int(random() * self._period)
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
        """The application of a node that has just started joins, and wants what it wanted before."""
        if self._application:
            self._application.begin(node)
        for topic in self._wanted.get(node, ()):
            self._ask(node, {"type": "subscribe", "topic": topic})

    def _come_back(self, node: NodeId) -> None:
        if not self._simulation.life(node):
            self._restart(node)

    def _assign(self, node: NodeId, update: int) -> None:
        state = self._simulation.states().get(node)
        if state is None:  # on top of a crashed node there is no application
            return
        campaign = self._campaign
        key = campaign.protocol.key(campaign, node, update)
        value = f"{node}/{update}" if campaign.protocol.subscribes else f"v{update}"  # events are told apart by their values
        with suppress(NotEnabled):  # a configuration may allow no pair at all; the trace says that it was refused
            self._simulation.ask(node, campaign.protocol.assign(state, key, value))
            if self._figures:
                self._figures.record_route()

    def _subscriptions(self, node: NodeId, begin: int, random: Any) -> None:
        """Some before the node has joined, some after, all before anything is published."""
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
        """The application of a node gives up the topic that it has had for the longest time, and takes another."""
        wanted, topic = self._wanted.get(node, []), self._campaign.topic(place)
        if wanted and topic not in wanted and self._simulation.life(node):
            self._ask(node, {"type": "unsubscribe", "topic": wanted.pop(0)})
            self._want(node, topic)

    def _ask(self, node: NodeId, command: Any) -> None:
        with suppress(NotEnabled):
            self._simulation.ask(node, self._campaign.protocol.specification().COMMAND.value(command))
