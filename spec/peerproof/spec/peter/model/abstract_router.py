"""
An abstract router below Peter in bounded models: it may choose any next hop that makes progress.

It knows some nodes, its view, and for each topic the order of all nodes by their distance. A node that joins or leaves notifies
the nodes that it knows; a node that crashes does not; a message that does not arrive also shows that a node has gone. There
are no tables; a node learns of other nodes only where an application makes a third one introduce them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from peerproof.spec import wendy
from peerproof.spec.core import Asked, Expired, NodeId, Notify, Pick, Received, Send, Sent, Step, replace
from peerproof.spec.peter.messages import Rerouted
from peerproof.spec.peter.properties import has_way, is_busy
from peerproof.spec.wendy.ids import Id, Ring
from peerproof.spec.wendy.state import Config, address, host_and_port

HOST: Final = "n"

#: Node 0's id. The ids of topics, which are texts such as `topic at node 01`, lie between it and node 1's.
_FIRST: Final = int.from_bytes(b"topic at node 0\0", "big")
_ROOM: Final = 256


@dataclass(frozen=True)
class Order(Ring):
    """Ids whose distance to a topic is given by a list, the closest first."""

    closest: tuple[tuple[Id, tuple[Id, ...]], ...] = ()  #: for each topic

    def rank(self, node: Id, key: Id) -> int:
        """See `Ring.rank`."""
        return dict(self.closest)[key].index(node)


@dataclass(frozen=True)
class Known:
    """The state of a node's router."""

    self_id: NodeId
    config: Config  #: its ring is an `Order`
    view: frozenset[Id] = frozenset()  #: the nodes that it knows
    asking: frozenset[Id] = frozenset()  #: the nodes with a heartbeat under way

    @property
    def id(self) -> Id:
        """The node's id."""
        return self.config.id

    @property
    def known(self) -> frozenset[Id]:
        """See `view`."""
        return self.view


@has_way.register
def _(lower: Known, topic: Id) -> bool:
    rank = lower.config.ring.rank
    return any(rank(node, topic) < rank(lower.id, topic) for node in lower.view)


@is_busy.register
def _(_: Known) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Beat:
    """The next heartbeat to a node is due."""

    node: Id


@dataclass(frozen=True)
class Router:
    """An `Overlay` for `stack.Stack`."""

    knows: Mapping[Id, frozenset[Id]] = field(default_factory=dict)  #: the nodes that a joining node knows
    #: Node and topic -> its candidates, whatever their distance.
    astray: Mapping[tuple[Id, Id], frozenset[Id]] = field(default_factory=dict)
    is_closest: bool = False  #: whether the next hop is the closest candidate, instead of any candidate

    def initial(self, self_id: NodeId, config: Config) -> Step[Any, Any]:
        """See `Overlay`."""
        return Step(Known(self_id, config), ())

    def step(self, state: Known, event: Any, pick: Pick) -> Step[Known, Any]:
        """See `Overlay`."""
        match event:
            case Received(_, _, message):
                return self._on_message(state, message)
            case Sent(_, to, message, None):
                return self._on_failure(state, id_at(to), message)
            case Sent(_, to, message, _):
                is_answer = isinstance(message, wendy.Heartbeat)
                return Step(replace(state, asking=state.asking - {id_at(to)}) if is_answer else state)
            case Expired(_, Beat(node)):
                return Step(replace(state, asking=state.asking | {node}), (Send(addr(node), wendy.Heartbeat(header(state))),))
            case Asked(_, command):
                return self._on_command(state, command, pick)
        raise ValueError(f"nothing of a router: {event!r}")

    def next_hop(self, state: Known, key: Id, pick: Pick) -> wendy.Node | None:
        """See `Overlay`. Returns any candidate, or the closest."""
        among = self.candidates(state, key)
        if not among:
            return None
        (hop,) = among[:1] if self.is_closest else pick("hop", among)
        return node_of(hop)

    def candidates(self, state: Known, key: Id) -> list[Id]:
        """Returns the nodes of the view to which a message with this key may go, the closest first."""
        ring, own = state.config.ring, state.id
        closer = [node for node in state.view if ring.rank(node, key) < ring.rank(own, key)]
        astray = self.astray.get((own, key))
        return sorted(closer if astray is None else state.view & astray, key=lambda node: ring.rank(node, key))

    def _on_message(self, state: Known, message: Any) -> Step[Known, Any]:
        match message:
            case wendy.Application(about, _, _):
                return self._route_message(state, replace(message, header=replace(about, hop=about.hop + 1)))
            case wendy.NodeAnnouncement(about):
                after, effects = _add_node(state, about.sender.id)
                return Step(after, (Notify(wendy.NodeJoined(about.sender)), *effects))
            case wendy.NodeRace(_, wendy.Tables(_, _, (node,))):
                return _add_node(state, node.id)
            case wendy.NodeExit(about):
                return _remove_node(state, about.sender.id)
        return Step(state)

    def _on_failure(self, state: Known, to: Id, message: Any) -> Step[Known, Any]:
        if isinstance(message, wendy.Heartbeat):
            state = replace(state, asking=state.asking - {to})
        state, effects = _remove_node(state, to)
        if isinstance(message, wendy.Application):
            state, more = self._route_message(state, message)
            effects += more
        return Step(state, effects)

    def _route_message(self, state: Known, message: wendy.Application) -> Step[Known, Any]:
        """Asks the protocol on top; messages of the tree end here, whatever it answers."""
        among = self.candidates(state, message.header.key)
        return Step(state, (Notify(wendy.Forwarding(message, node_of(among[0])) if among else wendy.Delivered(message)),))

    def _on_command(self, state: Known, command: Any, pick: Pick) -> Step[Known, Any]:
        match command:
            case wendy.Join():
                state = replace(state, view=self.knows.get(state.id, frozenset()))
                news = wendy.NodeAnnouncement(header(state), wendy.Tables())
                return Step(state, (*[Send(addr(node), news) for node in sorted(state.view)], Notify(wendy.Joined())))
            case wendy.Leave():
                return Step(state, tuple([Send(addr(node), wendy.NodeExit(header(state))) for node in sorted(state.view)]))
            case wendy.Route(key, value, purpose):
                return self._route_message(state, wendy.Application(header(state, key), purpose, value))
            case wendy.Forward(message):
                hop = self.next_hop(state, message.header.key, pick)
                return Step(state, (Send(addr(hop.id), message) if hop else Notify(wendy.Delivered(message)),))
            case wendy.SendTo(node, key, value, purpose, hop):
                about = replace(header(state, key), hop=hop)
                return Step(state, (Send(addr(node.id), wendy.Application(about, purpose, value)),))
        raise ValueError(f"nothing that a router does: {command!r}")


def introduce(state: Known, to: Id, node: Id) -> Send[wendy.NodeRace]:
    """Returns a message by which this node introduces one node to another; in Wendy, any table does that."""
    return Send(addr(to), wendy.NodeRace(header(state), wendy.Tables(neighborhood_set=(node_of(node),))))


def _add_node(state: Known, node: Id) -> Step[Known, Any]:
    """Adds a node to the view; if it is new, routes may have changed."""
    if node == state.id or node in state.view:
        return Step(state)
    return Step(replace(state, view=state.view | {node}), (Notify(Rerouted(frozenset({node}))),))


def _remove_node(state: Known, node: Id) -> Step[Known, Any]:
    if node not in state.view:
        return Step(state)
    return Step(replace(state, view=state.view - {node}), (Notify(wendy.NodeExited(node_of(node))),))


def header(state: Known, key: Id | None = None) -> wendy.Header:
    """Returns the header of the node's own messages."""
    return wendy.Header(node_of(state.id), state.id if key is None else key)


def node_id(number: int) -> Id:
    """Returns a node's id, from its number."""
    return Id(_FIRST + _ROOM * number)


def number_of(node: Id) -> int:
    """Returns a node's number, from its id."""
    return (node - _FIRST) // _ROOM


def node_of(node: Id) -> wendy.Node:
    """Returns a node, from its id; node 2 is at `n:3`."""
    return wendy.Node(node, HOST, HOST, number_of(node) + 1)


def addr(node: Id) -> NodeId:
    """Returns the address of a node."""
    return address(HOST, number_of(node) + 1)


def id_at(where: NodeId) -> Id:
    """Returns the id of the node at an address."""
    return node_id(host_and_port(where)[1] - 1)


def topic_text(topic: int, near: int = 0) -> str:
    """Returns the text of a topic whose id is just above that of node `near`; both numbers have one digit."""
    return f"topic at node {near}{topic}"


def topic_number(topic: Id) -> int:
    """Returns the number of a topic, from its id."""
    return topic % _ROOM - ord("0")
