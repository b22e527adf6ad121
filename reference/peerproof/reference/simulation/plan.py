"""The plan of a simulation: data that a person can say in a line, from which the result follows on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from peerproof.reference.runtime.protocol import Runtime
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import Plain


@dataclass(frozen=True, slots=True)
class Campaign:
    """The plan. Raises ValueError if it makes no sense."""

    protocol: Runtime
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
        return self.protocol.build_config(self.config, self.node_id(number), [self.node_id(0)] if number else [])

    def topic(self, place: int) -> str:
        """The text of one of the topics, from 0 on. They begin differently, or all would have one meeting point."""
        random = Random(f"{self.seed}/topic/{place}").random
        return "".join(chr(33 + int(random() * 94)) for _ in range(4)) + f" topic {place:05}"

    def period(self) -> int:
        """Milliseconds from one round to the next."""
        period: int = getattr(self.node_config(0), self.protocol.period)
        return period


def run_id(campaign: Campaign) -> str:
    """What a campaign's trace calls its run."""
    return f"seed-{campaign.seed}"
