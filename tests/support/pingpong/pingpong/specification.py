"""Ping-pong: each node counts how often its peer has answered. The clauses are in `pingpong.md`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from peerproof.spec.core import Duration, Expired, NodeId, Pick, Received, Send, SetTimer, Step
from peerproof.spec.forms.form import U64, Integer, ListOf, Record, Tagged, Text
from peerproof.spec.forms.packing import binary
from peerproof.spec.forms.state_form import StateForm
from peerproof.spec.properties import Cluster, Property, Taken

DEFAULT_INTERVAL = Duration(1000)


@dataclass(frozen=True)
class Ping:
    """Asks for a pong."""

    number: int


@dataclass(frozen=True)
class Pong:
    """The answer to the ping of this number."""

    number: int


@dataclass(frozen=True)
class Round:
    """Time for a ping."""


@dataclass(frozen=True)
class Config:
    """How a node is configured."""

    peers: tuple[NodeId, ...] = ()
    interval: Duration = DEFAULT_INTERVAL


@dataclass(frozen=True)
class State:
    """A node, and the points that it has."""

    self_id: NodeId
    config: Config
    points: int = 0


def initial(self_id: NodeId, config: Config) -> Step[State, Any]:
    """A node without points, whose first round comes after one interval. [PP-01]"""
    return Step(State(self_id, config), (SetTimer(Round(), config.interval),))


def step(state: State, event: Any, _: Pick) -> Step[State, Any]:
    """What the node does about one event."""
    match event:
        case Received(_, sender, Ping(number)):
            return on_ping(state, sender, number)
        case Received(_, _, Pong(number)):
            return on_pong(state, number)
        case Expired():
            return on_round(state)
    raise ValueError(event)


def on_round(state: State) -> Step[State, Any]:
    """Pings all peers, also again. [PP-01]"""
    pings = (Send(peer, Ping(state.points + 1)) for peer in state.config.peers)
    return Step(state, (*pings, SetTimer(Round(), state.config.interval)))


def on_ping(state: State, sender: NodeId, number: int) -> Step[State, Any]:
    """Answers. [PP-02]"""
    return Step(state, (Send(sender, Pong(number)),))


def on_pong(state: State, number: int) -> Step[State, Any]:
    """Scores, if this is the answer that is awaited. [PP-03]"""
    return Step(replace(state, points=number) if number == state.points + 1 else state)


def counts_by_one(taken: Taken) -> bool:
    """No step takes points away, or adds more than one."""
    return taken.after.points - taken.before.points in (0, 1)


def nobody_ahead(cluster: Cluster) -> bool:
    """No ping is beyond the next point of its sender."""
    points: dict[NodeId, int] = {node: state.points for node, state in cluster.nodes.items()}
    return not any(isinstance(m, Ping) and m.number > points.get(sender, m.number) + 1 for sender, _, m in cluster.in_flight)


NAME, TRANSPORT = "pingpong", "udp"
MESSAGE = binary(Tagged(ping=(1, Record(Ping, number=U64())), pong=(2, Record(Pong, number=U64()))))  # [PP-04]
CONFIG = Record(Config, peers=ListOf(Text(255)), interval=Integer(1))
TIMER = Tagged(round=(0, Record(Round)))
COMMAND = Tagged()
NOTICE = Tagged()
STATE = StateForm(State, points=U64())
QUERIES: Mapping[str, Callable[[State], Any]] = {"state": STATE.plain}
COUNTS_BY_ONE = Property("CountsByOne", "points come one by one", ("PP-03",), "step", counts_by_one)
NOBODY_AHEAD = Property("NobodyAhead", "no ping is beyond the next point", ("PP-01",), "cluster", nobody_ahead)
PROPERTIES = (COUNTS_BY_ONE, NOBODY_AHEAD)
