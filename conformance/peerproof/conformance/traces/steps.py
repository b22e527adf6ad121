"""
The steps of a run's nodes, taken by the specification with the recorded choices, and an order of them.

In that order each message is received after it was sent. Of the nodes that can be next, the one whose own clock is earliest is
taken. Over connections, and for broadcasts, a receiver does not record the sender, so its step waits until some node sends the
message. Over connections a message is also confirmed after it was received.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from peerproof.conformance.traces.events import Ref, text_of
from peerproof.spec.core import EVERYBODY, SERF, TCP, Asked, Expired, Instant, NodeId, Received, Sent, Specification, Step
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.bounded import BoundedDict
from peerproof.spec.forms.json_text import remembering
from peerproof.spec.properties import Taken
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.observed import Senders
from peerproof.spec.traces.trace import LINE, Script, WrongAnswer, parse_sent

_MICROSECONDS: Final = 1000
_PICKS: Final = LINE.forms["picks"]


#: The sender of a message over a connection or of a broadcast, where the log does not record it.
ANYBODY: Final = NodeId("")

#: Matches a `sent` event as it is usually written.
_SENT: Final = re.compile(r'\{"took":(null|\d{1,15}),"message":(\{.*\})\}').fullmatch


def senders_of(specification: Specification) -> Callable[[], Senders] | None:
    """Returns the class that tracks the senders of messages on connections; None where each message names its sender."""
    reference = PROTOCOLS[specification.NAME].senders
    made: Callable[[], Senders] | None = reference.load().Senders if reference else None
    return made


class Address(NamedTuple):
    """The identity of a message. Two messages collide with probability 2^-64. A broadcast is one message."""

    sender: NodeId
    to: NodeId
    key: int


class Stepped(NamedTuple):
    """A step."""

    name: NodeId
    ref: Ref
    state: Any
    effects: tuple[Any, ...]
    taken: Taken | None  #: None for a start
    received: Address | None
    failed: NodeId | None = None  #: the receiver of a message that did not arrive


#: Decodes the JSON text of a message and returns it with its hash. Raises MalformedMessage.
Messages: TypeAlias = Callable[[str], tuple[Any, int]]


def messages_of(specification: Specification) -> Messages:
    """Returns a decoder of messages that caches some of the messages that repeat."""

    def decoded(text: str) -> tuple[Any, int]:
        message = specification.MESSAGE.value(json.loads(text))
        return message, hash(message)

    return remembering(decoded)


class NodeSteps:
    """
    The steps of one node. `head` is its next event, `message` the message received in it and `maker` the sender; `confirmed` is
    the message of its own whose arrival is confirmed in it. Each is None if there is none.
    """

    def __init__(self, specification: Specification, events: Iterator[Ref], messages: Messages, *, leaves: bool) -> None:
        """`leaves` is True if the state of the node after these events is not known."""
        self.head: Ref | None = None
        self.now = 0  #: microseconds on the node's clock, at the next event
        self.message: Address | None = None
        self.maker = ANYBODY
        self.confirmed: Address | None = None
        self.is_lost = False
        self.name = NodeId("")
        self._specification: Final = specification
        self._events: Final = events
        self._leaves: Final = leaves
        self._message: Final = messages
        self._is_anybodys: Final = specification.TRANSPORT in (TCP, SERF)
        self._is_everybodys: Final = specification.TRANSPORT == SERF
        self._senders: Callable[[], Senders] | None = senders_of(specification)
        self._event: Any = None
        self._state: Any = None
        self._advance()

    def step(self) -> Stepped | None:
        """Takes the next step. Returns None if the node's state is not known any more; it takes no further steps then."""
        ref, event, received = self.head, self._event, self.message
        assert ref is not None
        before = self._state
        try:
            step, taken = self._take_step(ref, event)
        except (MalformedMessage, WrongAnswer, NotEnabled, ValueError):
            self.leave()
            return None
        failed = event.to if isinstance(event, Sent) and event.took is None else None
        self._state = step.state
        self._advance()
        of_step = Taken(before, event, step.state, step.effects) if taken else None
        return Stepped(self.name, ref, step.state, step.effects, of_step, received, failed)

    def leave(self) -> None:
        """Takes no further steps, because the node's state is not known any more."""
        self.is_lost, self.head, self.message, self.confirmed = True, None, None, None

    def _take_step(self, ref: Ref, event: Any) -> Any:
        if event is None:
            return self._specification.initial(self.name, self._specification.CONFIG.value(_json(ref, "args"))), False
        pick = Script(_PICKS.value(_json(ref, "picks")))
        refused = ref.rows.is_set("refused") and ref.rows.column("refused")[ref.at] is not None
        try:
            step = self._specification.step(self._state, event, pick)
        except NotEnabled:
            if not refused:
                raise
            return Step(self._state), True
        pick.finish()
        return step, True

    def _advance(self) -> None:
        self.head, self._event, self.message, self.confirmed = next(self._events, None), None, None, None
        if self.head is None:
            self.is_lost = self._leaves
            return
        rows, at = self.head
        self.name = NodeId(text_of(rows.node))
        self.now = rows.times[at]
        now, kind = Instant(self.now // _MICROSECONDS), rows.kinds[at]
        specification = self._specification
        try:
            if kind == "recv":
                message, key = self._message(rows.column("args")[at] or "null")
                self._event = Received(now, NodeId(rows.peers[at] or ""), message)
                sender = self._event.sender
                self.maker = self._senders().sender(message, sender, self.name) if self._senders else sender
                to = EVERYBODY if self._is_everybodys else self.name
                self.message = Address(ANYBODY if self._is_anybodys else self.maker, to, key)
            elif kind == "sent":
                self._parse_sent(now, NodeId(rows.peers[at] or ""), rows.column("args")[at] or "null")
            elif kind == "timer":
                self._event = Expired(now, specification.TIMER.value(_json(self.head, "args")))
            elif kind == "api":
                self._event = Asked(now, specification.COMMAND.value(_json(self.head, "args")))
        except MalformedMessage:
            self.is_lost, self.head = True, None

    def _parse_sent(self, now: Instant, to: NodeId, args: str) -> None:
        """Parses the delivery outcome of a message as the next event. Raises MalformedMessage."""
        if found := _SENT(args):
            message, key = self._message(found[2])
            self._event = Sent(now, to, message, None if found[1] == "null" else int(found[1]))
        else:
            self._event = parse_sent(self._specification, now, to, json.loads(args))
            key = hash(self._event.message)
        if self._event.took is not None:
            self.confirmed = Address(ANYBODY, to, key)


def _json(ref: Ref, name: str) -> Any:
    return json.loads(ref.rows.column(name)[ref.at] or "null")


#: Number of sent messages that are remembered for each pair of sender and receiver.
SENT: Final = 2**12


class Mail:
    """The messages that were sent. It forgets the oldest ones, and then knows that it does not know."""

    def __init__(self) -> None:
        self._sent: dict[tuple[NodeId, NodeId], BoundedDict[int, None]] = {}
        self._news: list[Address] = []

    def news(self) -> list[Address]:
        """Returns the messages added as news since the last call."""
        news, self._news = self._news, []
        return news

    def add(self, address: Address, *, is_news: bool = False) -> None:
        """Adds a message that was sent; `is_news` if `news` is to return it."""
        if is_news:
            self._news.append(address)
        known = self._sent.setdefault(address[:2], BoundedDict(SENT))
        if address.key not in known:
            known[address.key] = None

    def was_sent(self, address: Address) -> bool:
        """Returns True if the message was sent and is not forgotten."""
        return address.key in self._sent.get(address[:2], ())

    def forgets(self, address: Address) -> bool:
        """Returns True if messages between these two nodes may have been forgotten."""
        return len(self._sent.get(address[:2], ())) >= SENT


#: Called when a node receives a message that the other node did not send before, or gets a confirmation of a message that the
#: other node did not receive; the last argument is True if the other node's log is present and complete.
Unsent: TypeAlias = Callable[[NodeSteps, NodeId, bool], None]


Key = TypeVar("Key")


class Order:
    """Yields the indices of nodes, in an order in which they may have taken their steps."""

    def __init__(self, nodes: Sequence[NodeSteps], mail: Mail, unsent: Unsent) -> None:
        self._nodes: Final = nodes
        self._mail: Final = mail
        self._unsent: Final = unsent
        self._numbers: dict[NodeId, int] = {}
        self._ready: list[tuple[int, int]] = []  #: a heap of times and indices
        self._waiting: dict[int, list[int]] = {}  #: sender -> the nodes that wait for a message from it

    def __iter__(self) -> Iterator[int]:
        self._numbers = {node.name: number for number, node in enumerate(self._nodes)}
        for number in range(len(self._nodes)):
            self._put(number)
        while self._ready or self._waiting:
            if not self._ready:
                self._break_the_circle()
            _, number = heappop(self._ready)
            yield number
            self._put(number)
            for other in self._waiting.pop(number, ()):
                self._put(other)

    def _put(self, number: int) -> None:
        """Marks the next step of a node as ready, or as waiting for a message to be sent."""
        node = self._nodes[number]
        if node.head is None:
            return
        message = node.message
        if message is not None and not self._mail.was_sent(message):
            sender = self._numbers.get(message.sender)
            if sender is not None and sender != number and self._nodes[sender].head is not None:
                self._waiting.setdefault(sender, []).append(number)
                return
            has_log = sender is not None and not self._nodes[sender].is_lost and not self._mail.forgets(message)
            self._unsent(node, message.sender, has_log)
        heappush(self._ready, (node.now, number))

    def _break_the_circle(self) -> None:
        """Lets the earliest node continue where all wait for each other, because their logs are faulty."""
        number, _ = _take_earliest(self._nodes, self._waiting)
        node = self._nodes[number]
        assert node.message is not None
        self._unsent(node, node.message.sender, not self._mail.forgets(node.message))
        heappush(self._ready, (node.now, number))


class ConnectedOrder:
    """Like `Order`, over connections or for broadcasts."""

    def __init__(self, nodes: Sequence[NodeSteps], sent: Mail, arrived: Mail, unsent: Unsent) -> None:
        self._nodes: Final = nodes
        self._sent: Final = sent
        self._arrived: Final = arrived
        self._unsent: Final = unsent
        self._ready: list[tuple[int, int]] = []  #: a heap of times and indices
        self._waiting: dict[tuple[bool, Address], list[int]] = {}  #: (True to arrive, False to be sent; message) -> nodes

    def __iter__(self) -> Iterator[int]:
        for number in range(len(self._nodes)):
            self._put(number)
        while self._ready or self._waiting:
            if not self._ready:
                self._go_on()
            _, number = heappop(self._ready)
            yield number
            for arrives, mail in ((False, self._sent), (True, self._arrived)):
                for address in mail.news():
                    for other in self._waiting.pop((arrives, address), ()):
                        self._put(other)
            self._put(number)

    def _put(self, number: int) -> None:
        node = self._nodes[number]
        if node.head is None:
            return
        awaited = self._dependency(node)
        if awaited is None:
            heappush(self._ready, (node.now, number))
        else:
            self._waiting.setdefault(awaited, []).append(number)

    def _dependency(self, node: NodeSteps) -> tuple[bool, Address] | None:
        """Returns the message that must come before the node's next step, with True if it has to arrive; None if it came."""
        if node.message is not None and not self._sent.was_sent(node.message):
            return False, node.message
        if node.confirmed is not None and not self._arrived.was_sent(node.confirmed):
            return True, node.confirmed
        return None

    def _go_on(self) -> None:
        """Lets the earliest node continue where no log has the awaited messages."""
        number, (arrives, address) = _take_earliest(self._nodes, self._waiting)
        node = self._nodes[number]
        other = address.to if arrives else node.maker
        mail = self._arrived if arrives else self._sent
        whole = any(each.name == other and not each.is_lost for each in self._nodes)
        self._unsent(node, other, not arrives and whole and not mail.forgets(address))
        heappush(self._ready, (node.now, number))


def _take_earliest(nodes: Sequence[NodeSteps], waiting: dict[Key, list[int]]) -> tuple[int, Key]:
    """Removes the waiting node with the earliest clock, and returns it with the key that it waited for."""
    _, number, key = min(
        ((nodes[number].now, number, key) for key, numbers in waiting.items() for number in numbers), key=itemgetter(0, 1)
    )
    waiting[key].remove(number)
    if not waiting[key]:
        del waiting[key]
    return number, key
