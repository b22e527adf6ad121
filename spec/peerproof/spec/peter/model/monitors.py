"""
Rules about Peter's messages alone: those of Wendy's messages, and those of the trees.

Each message has a connection of its own. Those from one node to another are observed in the order in which they were sent
[PA-19]; those of others may come in between, so that a received message counts as earlier than a sent one only if they are at
least `PATIENCE` network timeouts apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from peerproof.spec import peter
from peerproof.spec.core import NodeId, replace
from peerproof.spec.forms.bounded import BoundedDict
from peerproof.spec.peter.messages import Own, lower_message
from peerproof.spec.peter.tree import MOST_HOPS
from peerproof.spec.traces.observed import Rule, RuleViolation, Seen, rules_in
from peerproof.spec.wendy.ids import Id, id_text
from peerproof.spec.wendy.messages import Application, NodeJoin
from peerproof.spec.wendy.model.monitors import RULES as WENDY_RULES
from peerproof.spec.wendy.model.monitors import WendyMonitor
from peerproof.spec.wendy.state import Config

LAST_HOP: Final = Rule("LastHop", "messages of the tree name their sender", ("PA-08", "P-09"))
UNSUBSCRIBED_ONCE: Final = Rule(
    "UnsubscribedOnce",
    "a node that has unsubscribed subscribes before it unsubscribes again",
    ("PA-04", "PA-10", "PI-08"),
    needs_all=True,
)
TO_CHILDREN: Final = Rule("ToChildren", "copies of events go to children", ("P-21", "P-25", "P-26"), needs_all=True)
NOT_BACK: Final = Rule("NotBack", "no copy goes to the node that it came from", ("PA-26",), needs_all=True)
COPY_HOPS: Final = Rule(
    "CopyHopsCounted", "a copy counts one hop more than the event that came", ("PA-25", "WA-56"), needs_all=True
)
BOUNDED: Final = Rule("CopiesEnd", f"a copy that {MOST_HOPS} nodes have received is not copied", ("PA-25",))

#: All rules, including Wendy's.
RULES: Final = (*WENDY_RULES, *rules_in(globals()))

#: The network timeouts that a message may take, from being queued at its sender to its arrival.
PATIENCE: Final = 6

#: The number of relations to other nodes, and of events, to remember.
RELATIONS: Final = 4096
EVENTS: Final = 4096

_MICROSECONDS: Final = 1000


class Said(NamedTuple):
    """The last request of one node to another about a topic."""

    is_subscribed: bool
    at: int | None


class PeterMonitor:
    """Observes a node; of the configuration, the network timeout and the sizes matter."""

    def __init__(self, node: NodeId, config: Config) -> None:
        self._wendy: Final = WendyMonitor(node, replace(config, is_consulted=False))
        self._lives = 1
        self._patience: Final = PATIENCE * config.network_timeout * _MICROSECONDS
        self._own: Id | None = None
        #: Topic, parent -> whether the node is subscribed there.
        self._asked: Final = BoundedDict[tuple[Id, NodeId], bool](RELATIONS)
        self._children: Final = BoundedDict[tuple[Id, NodeId], Said](RELATIONS)
        #: Sources of an event, by hops; None: not down a tree.
        self._came: Final = BoundedDict[tuple[Id, bytes], dict[int, set[NodeId | None]]](EVENTS)

    @property
    def lives(self) -> int:
        """See `Monitor`."""
        return self._lives

    def see(self, seen: Seen) -> Iterator[RuleViolation]:
        """The next message."""
        message: peter.Message = seen.message
        yield from self._wendy.see(seen._replace(message=lower_message(message)))
        if self._lives != self._wendy.lives:
            self._lives = self._wendy.lives
            self._asked.clear()
            self._children.clear()
        if not isinstance(message, Own):
            if seen.sent and not isinstance(message, (NodeJoin, Application)):  # which may be forwarded
                self._own = lower_message(message).header.sender.id
        elif seen.sent:
            yield from self._check_sent(seen, message)
        else:
            self._record_received(seen, message)

    def _record_received(self, seen: Seen, message: Own) -> None:
        topic = message.header.key
        match message:
            case peter.SubscribeMessage() | peter.UnsubscribeMessage():
                said = Said(isinstance(message, peter.SubscribeMessage), seen.at)
                self._children[topic, seen.peer] = said
            case peter.PublishMessage(header, value) | peter.NotifyMessage(header, value):
                came = self._came.get((topic, value), {})
                came.setdefault(header.hop, set()).add(seen.peer if isinstance(message, peter.NotifyMessage) else None)
                self._came[topic, value] = came

    def _check_sent(self, seen: Seen, message: Own) -> Iterator[RuleViolation]:
        header, topic = message.header, message.header.key
        if isinstance(message, peter.PublishMessage):
            return
        if self._own not in (None, header.sender.id):
            yield RuleViolation(LAST_HOP, id_text(self._own or header.sender.id), id_text(header.sender.id))
        if isinstance(message, peter.NotifyMessage):
            yield from self._copies(seen, message)
            return
        is_subscribe = isinstance(message, peter.SubscribeMessage)
        if not is_subscribe and self._asked.get((topic, seen.peer)) is False:
            yield RuleViolation(UNSUBSCRIBED_ONCE, "subscribe", {"unsubscribe": id_text(topic), "to": seen.peer})
        self._asked[topic, seen.peer] = is_subscribe

    def _copies(self, seen: Seen, copy: peter.NotifyMessage) -> Iterator[RuleViolation]:
        topic, hop = copy.header.key, copy.header.hop
        if hop >= MOST_HOPS:
            yield RuleViolation(BOUNDED, {"less than": MOST_HOPS}, hop)
        child = self._children.get((topic, seen.peer))
        if child and not child.is_subscribed and self._is_later(seen.at, child.at):
            yield RuleViolation(TO_CHILDREN, None, {"topic": id_text(topic), "to": seen.peer})
        came = self._came.get((topic, copy.value))
        if not came or hop == 0:  # it may precede the observation, or be the node's own
            return
        if hop - 1 not in came:
            yield RuleViolation(COPY_HOPS, {"one more than": sorted(came)}, hop)
        elif came[hop - 1] == {seen.peer}:
            yield RuleViolation(NOT_BACK, None, {"topic": id_text(topic), "to": seen.peer})

    def _is_later(self, at: int | None, other: int | None) -> bool:
        """Whether a message was certainly sent after another one was received."""
        return at is None or other is None or at > other + self._patience


monitor: Final = PeterMonitor
