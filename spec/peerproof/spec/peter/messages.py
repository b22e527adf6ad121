"""
The messages, commands and notices of Peter.

Peter's messages are application messages of Wendy with purposes of their own; the topic's id is the key of each. The topic's
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
    """The sender asks to become a child of the receiver in the tree of the topic. [P-07…P-12, PA-08]"""

    header: Header


@dataclass(frozen=True, slots=True)
class UnsubscribeMessage:
    """The sender asks to be no longer a child. [P-20…P-22]"""

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
    """Subscribes to the events of a topic from now on. [P-06]"""

    topic: str


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Ends a subscription. [P-20]"""

    topic: str


@dataclass(frozen=True, slots=True)
class Publish:
    """Sends an event to all subscribers of a topic. [P-24]"""

    topic: str
    value: bytes


Command: TypeAlias = Subscribe | Unsubscribe | Publish | wendy.Join | wendy.Leave | wendy.Route


@dataclass(frozen=True, slots=True)
class Update:
    """An event was published on a topic to which this node is subscribed. [P-06, P-27]"""

    topic: Id
    value: bytes


Notice: TypeAlias = Update | wendy.Notice
Timer: TypeAlias = wendy.Timer


@dataclass(frozen=True, slots=True)
class Rerouted:
    """The routing tables have changed: the next hop of a message may differ now. [PA-27]"""

    new: frozenset[Id] = frozenset()  #: nodes that were added to one of the tables


#: Events and effects of the tree. [P-01]
TreeEvent: TypeAlias = Told[wendy.Notice | Rerouted] | Asked[Command] | Sent[Message]
TreeEffect: TypeAlias = Request[wendy.Command] | Notify[Notice]

#: Events and effects of a whole node.
Event: TypeAlias = Received[Message] | Sent[Message] | Expired[Timer] | Asked[Command]
Effect: TypeAlias = Send[Message] | SetTimer[Timer] | CancelTimer[Timer] | Notify[Notice]


def lower_message(message: Message) -> wendy.Message:
    """Returns a message in Wendy's form. [PA-24]"""
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
    """Returns a message of Wendy in Peter's form: those with Peter's purposes are Peter's. [PA-24]"""
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


def is_of_message(notice: wendy.Notice | Rerouted) -> bool:
    """Whether a notice says where a message goes next; a node that it did not reach has departed before. [PA-28]"""
    return isinstance(notice, wendy.Delivered | wendy.Forwarding)
