"""The run-time description of Peter: that of Wendy, with topics in console and output, and measurements of the trees."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, ClassVar, Final, NamedTuple

from peerproof.reference.protocols.wendy import runtime as wendy
from peerproof.reference.runtime.protocol import Runtime
from peerproof.reference.simulation.simulator import Simulation
from peerproof.spec.core import Asked, NodeId, Received, Send, Sent
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain, Tagged
from peerproof.spec.peter import NotifyMessage, Publish, PublishMessage, State, Subscribe, Unsubscribe, Update, id_of_topic
from peerproof.spec.peter.forms import MESSAGE_FORM
from peerproof.spec.peter.tree import MOST_HOPS
from peerproof.spec.properties import Taken
from peerproof.spec.wendy import Id, Leave, id_text
from peerproof.spec.wendy import State as WendyState
from peerproof.spec.wendy.transitions import is_admitted

_TOPICS: Final = {"subscribe": "subscribe TOPIC", "unsubscribe": "unsubscribe TOPIC", "publish": "publish TOPIC text"}
TYPED: Final = wendy.TYPED | _TOPICS


def assignment(_: Any, key: str, value: str) -> Plain:
    """Returns the command that publishes a value; the key is the topic."""
    return {"type": "publish", "topic": key, "value": value.encode(errors="surrogateescape").hex()}


def remark(message: Any) -> str | None:
    """Returns a warning for a copy that goes in circles, because the nodes' routes disagree. [PA-25, PX-03]"""
    if isinstance(message, NotifyMessage) and message.header.hop + 1 >= MOST_HOPS:
        header = message.header
        about = f"topic {id_text(header.key)}, last of {header.sender.global_ip}:{header.sender.port}"
        return f"a copy of an event has passed {MOST_HOPS} nodes ({about}) and is dropped: the tree has a cycle"
    return None


def render_notice(notice: Any) -> Mapping[str, Plain] | None:
    """Renders an event, and the notices of Wendy."""
    match notice:
        case Update(topic, value):
            shown = {"topic": id_text(topic), "begins": topic_text(topic), "payload": value.decode(errors="replace")}
            return {"update": {**shown, "value": value.hex()}}
    return wendy.render_notice(notice)


def topic_text(topic: Id) -> str:
    """Returns the beginning of a topic's text: the 16 bytes that identify the topic. [PA-01, PA-03]"""
    return int(topic).to_bytes(16, "big").decode(errors="replace")


def parse_command(name: str, rest: str) -> Any:
    """
    Parses `subscribe TOPIC`, `unsubscribe TOPIC`, `publish TOPIC text`, and Wendy's commands.

    A topic is a word, or is quoted with `"`; the text is the rest of the line.
    """
    if name in wendy.TYPED:
        return wendy.parse_command(name, rest)
    topic, text = _topic_and_rest(rest)
    if name == "publish":
        return Publish(topic, text.encode(errors="surrogateescape"))
    if text:
        hint = 'quote a topic with blanks: "two words"'
        raise MalformedMessage("bad_value", 0, f"{name} takes only a topic; {hint}")
    return Subscribe(topic) if name == "subscribe" else Unsubscribe(topic)


def _topic_and_rest(line: str) -> tuple[str, str]:
    if not line.startswith('"'):
        topic, _, rest = line.partition(" ")
        return topic, rest
    topic, mark, rest = line[1:].partition('"')
    if not mark or rest[:1].strip():
        raise MalformedMessage("bad_value", 0, "a quoted topic needs a closing quotation mark, followed by a blank")
    return topic, rest[1:]


class Subscription(NamedTuple):
    """A subscription of a node."""

    since: int  #: milliseconds
    life: int  #: the number of the node's start


@dataclass
class Event:
    """A published event."""

    at: int | None = None  #: when it was published; None until that is observed: a delivery in the same step comes first
    due: dict[NodeId, Subscription] = field(default_factory=dict)  #: the nodes that must receive it
    got: Counter[NodeId] = field(default_factory=Counter)  #: deliveries by node


class Found(NamedTuple):
    """Numbers of deliveries."""

    due: int  #: to nodes that ran and were subscribed all the time
    lost: int  #: of the due ones
    lost_new: int  #: of the lost ones, those of young subscriptions
    duplicates: int  #: to any node


class Deliveries:
    """Tracks subscriptions and deliveries. Events are identified by topic and value."""

    def __init__(self, life: Callable[[NodeId], int]) -> None:
        """`life` returns how often a node has been started; 0 if it does not run."""
        self.updates = 0
        self._life: Final = life
        self._subscribed: Final[dict[Any, dict[NodeId, Subscription]]] = defaultdict(dict)  #: by topic
        self._events: Final[dict[tuple[Any, bytes], Event]] = defaultdict(Event)

    @property
    def subscriptions(self) -> int:
        """The number of subscriptions of running nodes."""
        return sum(self._life(node) == its.life for nodes in self._subscribed.values() for node, its in nodes.items())

    @property
    def event_count(self) -> int:
        """The number of events."""
        return len(self._events)

    def subscribe(self, node: NodeId, topic: Any, now: int) -> None:
        """Records the subscription of a node, if it is new."""
        life, nodes = self._life(node), self._subscribed[topic]
        if node not in nodes or nodes[node].life != life:
            nodes[node] = Subscription(now, life)

    def unsubscribe(self, node: NodeId, topic: Any) -> None:
        """Removes the subscription of a node."""
        self._subscribed[topic].pop(node, None)

    def leave(self, node: NodeId) -> None:
        """Removes all subscriptions of a node."""
        for nodes in self._subscribed.values():
            nodes.pop(node, None)

    def publish(self, topic: Any, value: bytes, now: int) -> None:
        """Records a published event."""
        event = self._events[topic, value]
        event.at = now
        event.due = {node: its for node, its in self._subscribed[topic].items() if its.life == self._life(node)}

    def update(self, node: NodeId, topic: Any, value: bytes) -> None:
        """Records the delivery of an event to a node."""
        self.updates += 1
        self._events[topic, value].got[node] += 1

    def tally(self, until: int, settled: int) -> Found:
        """Counts the deliveries of events published before `until`. A subscription is young for `settled` ms."""
        due = lost = new = duplicates = 0
        for (topic, _), event in self._events.items():
            duplicates += event.got.total() - len(event.got)
            if event.at is None or event.at >= until:
                continue
            for node, its in event.due.items():
                if self._subscribed[topic].get(node) != its or self._life(node) != its.life:
                    continue
                due += 1
                if not event.got[node]:
                    lost += 1
                    new += event.at - its.since < settled
        return Found(due, lost, new, duplicates)


class Figures(wendy.Figures):
    """
    Measurements of the routes of events to the meeting points and down the trees. [P-24…P-27]

    A routed message is an event on its way to the meeting point. An event is due to a node that has been subscribed since it was
    published, without a crash; events of the last network timeout are not counted. Depth is the number of nodes from a subscriber
    up to the meeting point, at the end of the run. The stress of a link, from one node to another, is the number of messages with
    events on it.
    """

    not_joining: ClassVar = (*wendy.NOT_JOINING, "subscribe", "unsubscribe", "publish", "notify")
    messages: ClassVar[Tagged] = MESSAGE_FORM

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.deliveries: Final = Deliveries(simulation.life)
        self.links: Final[Counter[tuple[NodeId, NodeId]]] = Counter()
        self._timeout = 0

    @staticmethod
    def of_wendy(state: State) -> WendyState:
        """See `wendy.Figures`."""
        return state.lower

    def notify(self, node: NodeId, notice: Any) -> None:
        """See `protocol.Figures`."""
        super().notify(node, notice)
        if isinstance(notice, Update):
            self.deliveries.update(node, notice.topic, notice.value)

    def observe(self, node: NodeId, taken: Taken) -> None:
        """See `wendy.Figures`."""
        super().observe(node, taken)
        self._timeout = taken.after.lower.config.network_timeout
        match taken.event:
            case Asked(now, Subscribe(topic)):
                self.deliveries.subscribe(node, id_of_topic(topic), now)
            case Asked(_, Unsubscribe(topic)):
                self.deliveries.unsubscribe(node, id_of_topic(topic))
            case Asked(now, Publish(topic, value)):
                self.deliveries.publish(id_of_topic(topic), value, now)
            case Asked(_, Leave()):
                self.deliveries.leave(node)
        is_on_its_way = False
        for effect in taken.effects:
            if isinstance(effect, Send) and isinstance(effect.message, (PublishMessage, NotifyMessage)):
                self.links[node, effect.to] += 1
                is_on_its_way |= isinstance(effect.message, PublishMessage)
        if not is_on_its_way and (event := _to_route(taken.event)):
            self.record_arrival(node, *event)

    def plain(self) -> Mapping[str, Plain]:
        """See `protocol.Figures`."""
        return {
            **super().plain(),
            "subscriptions": self.deliveries.subscriptions,
            "published": self.deliveries.event_count,
            "updates": self.deliveries.updates,
            **self._tally()._asdict(),
            **self._trees(),
            "link_stress": _spread(self.links.values()),
        }

    def text(self) -> Iterator[str]:
        """See `protocol.Figures`."""
        yield from super().text()
        found, shown = self._tally(), self.plain()
        young = f", {found.lost_new} of them of subscriptions younger than a network timeout" if found.lost_new else ""
        yield (
            f"{shown['published']} events, {shown['subscriptions']} subscriptions at the end: {shown['updates']} delivered;"
            f" of {found.due} that were due {found.lost} lost{young}; {found.duplicates} twice"
        )
        for name in ("tree_depth", "fan_out", "link_stress"):
            mean, most = shown[name]["mean"], shown[name]["most"]
            yield f"{name.replace('_', ' ')}: {mean:.2f} on average, at most {most}"
        if shown["detached"]:
            yield f"{shown['detached']} subscriptions are in no tree that leads to the meeting point"

    def _tally(self) -> Found:
        return self.deliveries.tally(self._simulation.now - self._timeout, self._timeout)

    def _trees(self) -> Mapping[str, Plain]:
        """Measures the current trees."""
        states: dict[Id, State] = {state.lower.id: state for state in self._simulation.states().values()}
        depths: list[int] = []
        fan_outs: list[int] = []
        detached = 0
        for state in states.values():
            for topic, row in state.upper.topics.items():
                if row.children:
                    fan_outs.append(len(row.children))
                if row.is_local:
                    depth = depth_of(states, state.lower.id, topic)
                    detached += depth is None
                    depths += [] if depth is None else [depth]
        return {"tree_depth": _spread(depths), "fan_out": _spread(fan_outs), "detached": detached}


def depth_of(states: Mapping[Id, State], node: Id, topic: Id) -> int | None:
    """Returns the number of a node's ancestors in the tree of a topic; None if they do not lead to a root. [P-12]"""
    depth = 0
    while (parent := states[node].upper.row(topic).parent) is not None:
        depth += 1
        if parent.id not in states or node not in states[parent.id].upper.row(topic).children or depth > len(states):
            return None
        node = parent.id
    return depth


def _to_route(event: Any) -> tuple[Id, int] | None:
    """Returns topic and hop count of a published event that is routed from here; None for other steps."""
    match event:
        case Asked(_, Publish(topic, _)):
            return id_of_topic(topic), 0
        case Received(_, _, PublishMessage(header)):
            return header.key, header.hop + 1
        case Sent(_, _, PublishMessage(header), None):
            return header.key, header.hop
    return None


def _spread(numbers: Iterable[int]) -> dict[str, float]:
    listed = list(numbers)
    return {"mean": sum(listed) / len(listed) if listed else 0.0, "most": max(listed, default=0)}


CONNECTED: Final = replace(
    wendy.CONNECTED,
    typed=TYPED,
    admits=lambda state, message: is_admitted(state.lower, message),
    has_left=lambda state: wendy.has_left(state.lower),
    render_notice=render_notice,
    parse_command=parse_command,
    readable=lambda state: wendy.readable(state.lower),
    figures=Figures,
    remark=remark,
)

RUNTIME: Final = Runtime(
    "peter",
    transport="tcp",
    period="network_timeout",
    shown=("own", "leaf_set", "neighborhood_set", "routing_table", "topics"),
    own_name="id",
    placed=wendy.address_config,
    texts=wendy.TEXTS,
    assigned=assignment,
    set_text="Publishes the value on a topic: the key",
    key=lambda plan, node, update: plan.topic(int(plan.topics * Random(f"{plan.seed}/{node}/{update}").random())),
    subscribes=True,
    connected=CONNECTED,
)
