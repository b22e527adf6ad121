"""The steps of one node, one after the other, as the specification takes them with the recorded answers of chance."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.conformance.traces.events import text_of
from peerproof.conformance.traces.rows import Ref
from peerproof.spec.core import EVERYBODY, SERF, TCP, Asked, Expired, Instant, NodeId, Received, Sent, Specification, Step
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.forms.json_text import remembering
from peerproof.spec.properties import Taken
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.observed import Senders
from peerproof.spec.traces.trace import LINE, Script, WrongAnswer, parse_sent

_MICROSECONDS: Final = 1000
_PICKS: Final = LINE.forms["picks"]


#: Who has sent a message over a connection, or to everybody, which say nothing of that.
ANYBODY: Final = NodeId("")

#: A `sent` event as it is mostly written.
_SENT: Final = re.compile(r'\{"took":(null|\d{1,15}),"message":(\{.*\})\}').fullmatch


def senders_of(specification: Specification) -> Callable[[], Senders] | None:
    """What follows who has sent a message that was seen on a connection; None where each message says so."""
    reference = PROTOCOLS[specification.NAME].senders
    made: Callable[[], Senders] | None = reference.load().Senders if reference else None
    return made


class Address(NamedTuple):
    """Which message this is: others have another hash, but for one in 2^64. What goes to everybody is one message."""

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
    failed: NodeId | None = None  #: to whom a message has not arrived


#: The message in a JSON text, and its hash. Raises MalformedMessage.
Messages: TypeAlias = Callable[[str], tuple[Any, int]]


def messages_of(specification: Specification) -> Messages:
    """Decodes messages; of those that come again, it remembers some."""

    def decoded(text: str) -> tuple[Any, int]:
        message = specification.MESSAGE.value(json.loads(text))
        return message, hash(message)

    return remembering(decoded)


class NodeSteps:
    """
    One node. `head` is its next event; `message` what it receives then, which `maker` has made; `confirmed` what of its own has
    arrived by then. None if there is none.
    """

    def __init__(self, specification: Specification, events: Iterator[Ref], messages: Messages, *, leaves: bool) -> None:
        """`leaves`: what it knows after these events is not known."""
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
        """Takes the next step; None if its state is not known any more, and then it takes no other."""
        ref, event, received = self.head, self._event, self.message
        assert ref is not None
        before = self._state
        try:
            step, taken = self._take_step(ref, event)
        except (MalformedMessage, WrongAnswer, NotEnabled, ValueError):
            self.is_lost, self.head, self.message, self.confirmed = True, None, None, None
            return None
        failed = event.to if isinstance(event, Sent) and event.took is None else None
        self._state = step.state
        self._advance()
        of_step = Taken(before, event, step.state, step.effects) if taken else None
        return Stepped(self.name, ref, step.state, step.effects, of_step, received, failed)

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
                self.maker = self._sender_of(self._event)
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
        """The next event is what has become of a message. Raises MalformedMessage."""
        if found := _SENT(args):
            message, key = self._message(found[2])
            self._event = Sent(now, to, message, None if found[1] == "null" else int(found[1]))
        else:
            self._event = parse_sent(self._specification, now, to, json.loads(args))
            key = hash(self._event.message)
        if self._event.took is not None:
            self.confirmed = Address(ANYBODY, to, key)

    def _sender_of(self, event: Received[Any]) -> NodeId:
        return self._senders().sender(event.message, event.sender, self.name) if self._senders else event.sender


def _json(ref: Ref, name: str) -> Any:
    return json.loads(ref.rows.column(name)[ref.at] or "null")
