"""The run-time description of Wendy: ids of nodes, console commands and output, and measurements of a ring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, ClassVar, Final

from peerproof.reference.runtime.protocol import Connected, Runtime
from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec import wendy
from peerproof.spec.core import Expired, NodeId, Send
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain, Tagged
from peerproof.spec.properties import Taken
from peerproof.spec.wendy import framing, messages
from peerproof.spec.wendy.forms import ID, MESSAGE_FORM
from peerproof.spec.wendy.ids import ID_BYTES, REAL, Id, id_text
from peerproof.spec.wendy.state import Stage, State, address_of
from peerproof.spec.wendy.transitions import is_admitted

TEXTS: Final = {
    "id": "position on the ring, 32 hexadecimal digits (default: the first 16 bytes of the SHA-256 of the address, HOST:PORT)",
    "region": "region of the node; nodes of other regions use its global IP",
    "global_ip": "IP address for nodes of other regions (default: the host of its address)",
    "credentials": "credentials that every message must carry, as hexadecimal digits",
}
TYPED: Final = {"route": "route KEY payload"}

#: Messages that are not counted as costs of joining; repairs are not, because no join causes one.
NOT_JOINING: Final = ("application", "heartbeat", "node_exit", "node_repair")


def digest(text: str) -> str:
    """Returns the id of a text: the first 16 bytes of its SHA-256."""
    return sha256(text.encode(errors="surrogateescape")).digest()[:ID_BYTES].hex()


def address_config(self_id: NodeId, _: Iterable[NodeId]) -> Mapping[str, Plain]:
    """Returns the default id of a node, which is derived from its address."""
    return {"id": digest(self_id)}


def assignment(_: Any, key: str, value: str) -> Plain:
    """Returns the command that routes a value to the key, if that is an id, or else to the id of the key's text."""
    try:
        ID.value(key)
    except MalformedMessage:
        key = digest(key)
    payload = value.encode(errors="surrogateescape").hex()
    return {"type": "route", "key": key, "value": payload, "purpose": messages.LEAST_APPLICATION}


def has_left(state: State) -> bool:
    """Whether a node has left on command."""
    return state.stage is Stage.LEFT


def render_notice(notice: Any) -> Mapping[str, Plain] | None:
    """Renders deliveries, and nodes that join and exit."""
    match notice:
        case messages.Delivered(messages.Application(header, purpose, value)):
            text = None if value is None else value.decode(errors="replace")
            shown = {"key": id_text(header.key), "payload": text, "from": id_text(header.sender.id), "hops": header.hop}
            return {"delivered": {**shown, "purpose": purpose, "value": None if value is None else value.hex()}}
        case messages.Joined():
            return {"joined": True}
        case messages.JoinFailed(contact):
            return {"join_failed": contact}
        case messages.NodeJoined(node):
            return {"node_joined": id_text(node.id)}
        case messages.NodeExited(node):
            return {"node_exited": id_text(node.id)}
    return None


def readable(state: State) -> Mapping[str, Plain]:
    """Returns the own data, and the tables with addresses and with columns as hexadecimal digits, for a reader."""
    own: Any = wendy.QUERIES["own"](state)
    stage = "alone, as it started the ring" if state.stage is Stage.ALONE and state.known else own["stage"]
    cells = sorted(state.routing_table.items())
    return {
        "own": {**own, "stage": stage},
        "neighborhood_set": [_node(state, node) for node in state.neighborhood_set],
        "routing_table": [{"row": row, "column": f"{column:x}", **_node(state, node)} for (row, column), node in cells],
    }


def _node(state: State, node: messages.Node) -> Mapping[str, Plain]:
    return {"address": address_of(state.config, node) or "none", "id": id_text(node.id)}


def parse_command(_: str, rest: str) -> messages.Route:
    """Parses `route KEY payload`: the key is 32 hexadecimal digits, the payload the rest of the line."""
    key, _, payload = rest.partition(" ")
    return messages.Route(ID.value(key, "KEY"), payload.encode(errors="surrogateescape"))


class Figures:
    """
    Measurements of routing and of the cost of joining. [W-37, W-60]

    A delivery is right if the node that delivers is, of the nodes that run and have joined at that instant, closest to the key.
    """

    not_joining: ClassVar[tuple[str, ...]] = NOT_JOINING
    messages: ClassVar[Tagged] = MESSAGE_FORM

    def __init__(self, simulation: Simulation) -> None:
        self.sent: Counter[str] = Counter()  #: by type; "measurement": heartbeats that measure a new node
        self.joined = 0
        self.asked = 0
        self.hops: Counter[int] = Counter()  #: deliveries by number of hops
        self.wrong = 0
        self.unready = 0  #: of the wrong ones, those at a node that had not joined
        self._simulation: Final = simulation
        self._names: Final = {record.kind: name for name, record in self.messages.cases.items()}  #: of messages, by class
        simulation.observers.append(self.observe)

    @staticmethod
    def of_wendy(state: Any) -> State:
        """Returns Wendy's part of a node's state."""
        whole: State = state
        return whole

    def record_route(self) -> None:
        """See `protocol.Figures`."""
        self.asked += 1

    def notify(self, node: NodeId, notice: Any) -> None:
        """See `protocol.Figures`."""
        if isinstance(notice, messages.Joined):
            self.joined += 1
        elif isinstance(notice, messages.Delivered):
            self.record_arrival(node, notice.message.header.key, notice.message.header.hop)

    def record_arrival(self, node: NodeId, key: Id, hops: int) -> None:
        """Records the delivery of a message."""
        states = {other: self.of_wendy(state) for other, state in self._simulation.states().items()}
        self.hops[hops] += 1
        if owner(states.values(), key) != states[node].id:
            self.wrong += 1
            self.unready += not is_member(states[node])

    def plain(self) -> Mapping[str, Plain]:
        """See `protocol.Figures`."""
        delivered = self.hops.total()
        joining = sum(count for name, count in self.sent.items() if name not in self.not_joining)
        ring = [state for state in map(self.of_wendy, self._simulation.states().values()) if is_member(state)]
        return {
            "routed": self.asked,
            "delivered": delivered,
            "wrong": self.wrong,
            "wrong_unready": self.unready,
            "hops": {str(hops): count for hops, count in sorted(self.hops.items())},
            "mean_hops": sum(hops * count for hops, count in self.hops.items()) / delivered if delivered else None,
            "joined": self.joined,
            "messages": dict(sorted(self.sent.items())),
            "messages_per_join": joining / self.joined if self.joined else None,
            "routing_table": _mean(len(state.routing_table) for state in ring),
            "leaf_set": _mean(sum(map(len, state.leaf_set)) for state in ring),
            "neighborhood_set": _mean(len(state.neighborhood_set) for state in ring),
        }

    def text(self) -> Iterator[str]:
        """See `protocol.Figures`."""
        found = self.plain()
        hops = "" if found["mean_hops"] is None else f" after {found['mean_hops']:.2f} hops on average"
        unready = f", {self.unready} of them at a node that had not joined" if self.unready else ""
        yield f"{self.asked} messages routed, {found['delivered']} delivered{hops}, {self.wrong} at the wrong node{unready}"
        per_join = "" if found["messages_per_join"] is None else f", {found['messages_per_join']:.1f} messages each"
        yield f"{self.joined} joined{per_join}"
        yield ", ".join(f"{name} {count}" for name, count in self.sent.items())
        sizes = (f"{name.replace('_', ' ')} {found[name]:.1f}" for name in ("routing_table", "leaf_set", "neighborhood_set"))
        yield f"nodes in the tables, on average: {', '.join(sizes)}"

    def observe(self, _: NodeId, taken: Taken) -> None:
        """Counts the messages of a step."""
        is_due = isinstance(taken.event, Expired) and isinstance(taken.event.timer, messages.HeartbeatDue)
        for effect in taken.effects:
            if isinstance(effect, Send):
                is_new = isinstance(effect.message, messages.Heartbeat) and not is_due
                self.sent["measurement" if is_new else self._names[type(effect.message)]] += 1


def is_member(state: State) -> bool:
    """Whether a node is a member of the ring: it has joined, or is alone, as the first node is."""
    return state.stage in (Stage.JOINED, Stage.ALONE)


def owner(states: Iterable[State], key: Id) -> Id | None:
    """Returns the id, of the nodes that have joined, that is closest to a key. [W-37]"""
    return min((state.id for state in states if is_member(state)), key=lambda node: REAL.rank(node, key), default=None)


def _mean(numbers: Iterable[int]) -> float:
    listed = list(numbers)
    return sum(listed) / len(listed) if listed else 0.0


CONNECTED: Final = Connected(
    framing=framing,
    typed=TYPED,
    timeout=lambda config: config.network_timeout,
    admits=is_admitted,
    has_left=has_left,
    joining=messages.Join,
    is_alone=lambda notice: isinstance(notice, messages.JoinFailed),
    render_notice=render_notice,
    parse_command=parse_command,
    readable=readable,
    figures=Figures,
)

RUNTIME: Final = Runtime(
    "wendy",
    transport="tcp",
    period="network_timeout",
    shown=("own", "leaf_set", "neighborhood_set", "routing_table"),
    own_name="id",
    placed=address_config,
    texts=TEXTS,
    assigned=assignment,
    set_text="Sends the value to the node closest to the hash of the key",
    key=lambda plan, node, update: f"{plan.seed}/{node}/{update}",
    connected=CONNECTED,
)
