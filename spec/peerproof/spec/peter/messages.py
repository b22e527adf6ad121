"""
What Peter nodes say to each other, what is asked of them, and what they tell.

Peter's messages are application messages of Wendy with purposes of their own, all with the topic's id as their key. The topic's
text is never sent. [P-01, P-03]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from peerproof.spec import wendy
from peerproof.spec.core import Asked, CancelTimer, Expired, Notify, Received, Send, Sent, SetTimer
from peerproof.spec.stack import Request, Told
from peerproof.spec.wendy.ids import Id
from peerproof.spec.wendy.messages import Application, Header

SUBSCRIBE: Final = 17
UNSUBSCRIBE: Final = 18
PUBLISH: Final = 19
NOTIFY: Final = 20


@dataclass(frozen=True, slots=True)
class SubscribeMessage:
    """The sender wants to be a child of the receiver in the tree of the topic. [P-07…P-12, PA-08]"""

    header: Header


@dataclass(frozen=True, slots=True)
class UnsubscribeMessage:
    """The sender does not want to be a child any more. [P-20…P-22]"""

    header: Header


@dataclass(frozen=True, slots=True)
class PublishMessage:
    """An event on its way from the sender to the meeting point of the topic. [P-24]"""

    header: Header
    value: bytes


@dataclass(frozen=True, slots=True)
class NotifyMessage:
    """A copy of an event on its way down the tree, from a parent to a child. [P-25, P-26, PA-15]"""

    header: Header
    value: bytes


Own: TypeAlias = SubscribeMessage | UnsubscribeMessage | PublishMessage | NotifyMessage
Message: TypeAlias = wendy.Message | Own


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Wants what is published on a topic from now on. [P-06]"""

    topic: str


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Does not want it any more. [P-20]"""

    topic: str


@dataclass(frozen=True, slots=True)
class Publish:
    """Sends an event to everybody who is subscribed to a topic. [P-24]"""

    topic: str
    value: bytes


Command: TypeAlias = Subscribe | Unsubscribe | Publish | wendy.Join | wendy.Leave | wendy.Route


@dataclass(frozen=True, slots=True)
class Update:
    """Somebody has published an event on a topic to which this node is subscribed. [P-06, P-27]"""

    topic: Id
    value: bytes


Notice: TypeAlias = Update | wendy.Notice
Timer: TypeAlias = wendy.Timer


@dataclass(frozen=True, slots=True)
class Rerouted:
    """The tables that decide the way have changed: a message that had arrived may now have to go further. [PA-27]"""

    new: frozenset[Id] = frozenset()  #: who is in one of them, and was not in it before


#: What happens to the tree, and what it wants. [P-01]
TreeEvent: TypeAlias = Told[wendy.Notice | Rerouted] | Asked[Command] | Sent[Message]
TreeEffect: TypeAlias = Request[wendy.Command] | Notify[Notice]

#: What happens to a whole node, and what it wants.
Event: TypeAlias = Received[Message] | Sent[Message] | Expired[Timer] | Asked[Command]
Effect: TypeAlias = Send[Message] | SetTimer[Timer] | CancelTimer[Timer] | Notify[Notice]


def lower_message(message: Message) -> wendy.Message:
    """A message as Wendy has it. [PA-24]"""
    match message:
        case SubscribeMessage(header):
            return Application(header, SUBSCRIBE, b"")
        case UnsubscribeMessage(header):
            return Application(header, UNSUBSCRIBE, b"")
        case PublishMessage(header, value):
            return Application(header, PUBLISH, value)
        case NotifyMessage(header, value):
            return Application(header, NOTIFY, value)
        case _:
            return message


def lift_message(message: wendy.Message) -> Message:
    """A message of Wendy as Peter names it: those with Peter's purposes are Peter's. [PA-24]"""
    if not isinstance(message, Application):
        return message
    header, purpose, value = message.header, message.purpose, message.value or b""
    if purpose == SUBSCRIBE:
        return SubscribeMessage(header)
    if purpose == UNSUBSCRIBE:
        return UnsubscribeMessage(header)
    if purpose == PUBLISH:
        return PublishMessage(header, value)
    return NotifyMessage(header, value) if purpose == NOTIFY else message
