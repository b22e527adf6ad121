"""The plan of a simulation: the data that determines its result, on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from peerproof.reference.runtime.protocol import Runtime
from peerproof.reference.simulation.faulty_network import Faults
from peerproof.spec.core import NodeId, Specification
from peerproof.spec.forms.form import Plain


@dataclass(frozen=True, slots=True)
class Campaign:
    """The plan of a simulation. Raises ValueError if it is inconsistent."""

    protocol: Runtime
    config: Mapping[str, Plain]  #: of every node, without the seeds
    nodes: int
    rounds: int
    seed: str
    updates: int = 5  #: pairs that each node sets in the first half of the run
    faults: Faults = field(default_factory=Faults)
    partition: tuple[int, int] | None = None  #: into two halves: first and last round
    crashes: tuple[tuple[int, int], ...] = ()  #: node, round
    restarts: tuple[tuple[int, int], ...] = ()  #: node, round; a node that runs then crashes first
    apart: int = 0  #: rounds between the starts of two nodes; 0: all start within the first round
    churn: float = 0.0  #: probability per round of the second half that a node crashes; not of the first node
    keys: int = 3  #: number of keys that nodes set
    topics: int = 4  #: number of topics, of a protocol with topics
    subscriptions: int = 2  #: number of topics to which each node subscribes
    check_every: int | None = None  #: steps between two checks of the whole cluster; None: nothing is checked
    variants: Mapping[int, Specification] = field(default_factory=dict)  #: what some nodes run instead of the specification

    def __post_init__(self) -> None:
        moments = (*self.crashes, *self.restarts)
        for node in (*(node for node, _ in moments), *self.variants):
            if node >= self.nodes:
                raise ValueError(f"no node {node}: the last of {self.nodes} nodes is {self.nodes - 1}")
        for node, moment in moments:
            start = node * self.apart
            if moment < (least := max(1, start)):
                raise ValueError(f"node {node} cannot crash or restart before round {least}, because it starts in round {start}")
            if moment > self.rounds:
                raise ValueError(f"node {node} cannot crash or restart in round {moment}: the last round is {self.rounds}")
        for node, moment in self.crashes:
            since = max((at for other, at in self.crashes if other == node and at < moment), default=None)
            if since is not None and not any(other == node and since <= at < moment for other, at in self.restarts):
                raise ValueError(f"node {node} cannot crash in round {moment}: it is down since round {since}, without a restart")
        if self.partition and self.partition[0] > self.rounds:
            raise ValueError(f"no partition can begin in round {self.partition[0]}: the last round is {self.rounds}")
        if self.apart < 0:
            raise ValueError(f"apart must be at least 0, not {self.apart}")
        if not 0 <= self.churn <= 1:
            raise ValueError(f"churn must be from 0 to 1, not {self.churn}")
        if not 0 <= self.subscriptions <= self.topics:
            raise ValueError(f"a node cannot subscribe to {self.subscriptions} of {self.topics} topics")
        if self.protocol.is_connected and (self.faults.loss or self.faults.duplication):
            raise ValueError(f"{self.protocol.name} uses connections, where nothing is lost or duplicated")
        self.node_config(0)

    def node_id(self, number: int) -> NodeId:
        """Returns a node's address."""
        return NodeId(f"n{number}:1")

    def node_config(self, number: int) -> Any:
        """Returns a node's configuration. The first node is the seed of all others."""
        return self.protocol.build_config(self.config, self.node_id(number), [self.node_id(0)] if number else [])

    def topic(self, place: int) -> str:
        """Returns the text of a topic, numbered from 0. Topics begin differently, or all would have the same meeting point."""
        random = Random(f"{self.seed}/topic/{place}").random
        return "".join(chr(33 + int(random() * 94)) for _ in range(4)) + f" topic {place:05}"

    def period(self) -> int:
        """Returns the length of a round in milliseconds."""
        period: int = getattr(self.node_config(0), self.protocol.period)
        return period


def run_id(campaign: Campaign) -> str:
    """Returns the name of a campaign's run in its trace."""
    return f"seed-{campaign.seed}"
