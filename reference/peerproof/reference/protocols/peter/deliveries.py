"""Who should have got which event of a topic, and who has got it how often."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from peerproof.spec.core import NodeId


class Subscription(NamedTuple):
    """Since when a node is subscribed, and in which of its lives."""

    since: int
    life: int


@dataclass
class Event:
    """What was published."""

    at: int | None = None  #: None if it was delivered before that was seen, in the same step
    due: dict[NodeId, Subscription] = field(default_factory=dict)  #: to whom
    got: Counter[NodeId] = field(default_factory=Counter)


class Found(NamedTuple):
    """Numbers of deliveries."""

    due: int  #: to nodes that were subscribed all the time, and up
    lost: int  #: of them
    lost_new: int  #: of the lost ones, those of subscriptions that were still young
    duplicates: int  #: to anybody


class Deliveries:
    """Events are told apart by their topics and values."""

    def __init__(self, life: Callable[[NodeId], int]) -> None:
        """`life` says how often a node has been started; 0 if it does not run."""
        self.updates = 0
        self._life: Final = life
        self._subscribed: Final[dict[Any, dict[NodeId, Subscription]]] = defaultdict(dict)  #: by topic
        self._events: Final[dict[tuple[Any, bytes], Event]] = defaultdict(Event)

    @property
    def subscriptions(self) -> int:
        """How many there are, of nodes that run."""
        return sum(self._life(node) == its.life for nodes in self._subscribed.values() for node, its in nodes.items())

    @property
    def event_count(self) -> int:
        """How many events there are."""
        return len(self._events)

    def subscribe(self, node: NodeId, topic: Any, now: int) -> None:
        """A node is subscribed from now on, if it was not."""
        life, nodes = self._life(node), self._subscribed[topic]
        if node not in nodes or nodes[node].life != life:
            nodes[node] = Subscription(now, life)

    def unsubscribe(self, node: NodeId, topic: Any) -> None:
        """It is not any more."""
        self._subscribed[topic].pop(node, None)

    def leave(self, node: NodeId) -> None:
        """A node wants nothing any more."""
        for nodes in self._subscribed.values():
            nodes.pop(node, None)

    def publish(self, topic: Any, value: bytes, now: int) -> None:
        """Somebody has published an event."""
        event = self._events[topic, value]
        event.at = now
        event.due = {node: its for node, its in self._subscribed[topic].items() if its.life == self._life(node)}

    def update(self, node: NodeId, topic: Any, value: bytes) -> None:
        """A node has got an event."""
        self.updates += 1
        self._events[topic, value].got[node] += 1

    def tally(self, until: int, settled: int) -> Found:
        """Of events published before `until`; a subscription is young for `settled` ms, in which the next nodes hear of it."""
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
