"""Nodes of trees as the tests write them: by the first digits of their ids, as Wendy's tests do; what routing says is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.spec.wendy.nodes import NOW, h, peer, peers, place

from peerproof.spec.core import Asked, Notify, Sent, Step, Table
from peerproof.spec.peter import (
    NotifyMessage,
    PublishMessage,
    Row,
    SubscribeMessage,
    UnsubscribeMessage,
    Update,
    id_of_topic,
    tree,
)
from peerproof.spec.peter.messages import NOTIFY, PUBLISH, lower_message
from peerproof.spec.peter.topics import State
from peerproof.spec.stack import Request, Seek, Told
from peerproof.spec.wendy import Config, Delivered, Forwarding, Header, Id, Route, SendTo, Versions

TEXT, OTHER = "weather/london/today", "weather/paris/today"
T, U = id_of_topic(TEXT), id_of_topic(OTHER)

KINDS = {17: "SUBSCRIBE", 18: "UNSUBSCRIBE", 19: "PUBLISH", 20: "NOTIFY"}
TOPICS = {T: "", U: " of U"}


def row(local: bool = False, ch: str = "", par: str = "") -> Row:
    """What is kept of a topic: `row(True, "a0 b0", par="c0")`."""
    return Row(local, Table({one.id: one for one in peers(ch)}), peer(par) if par else None)


def tree_of(rows: Mapping[Id, Row] | None = None, own: str = "b0", **config: Any) -> State:
    """A node that keeps this; its id is b0… unless said otherwise."""
    return State(place(own), Config(h(own), is_consulted=True, **config), Table(rows or {}))


def b(local: bool = False, ch: str = "", par: str = "") -> State:
    """Node b0, which keeps this of the topic T; nothing, if it is not interested."""
    kept = row(local, ch, par)
    return tree_of({T: kept} if kept.is_wanted else {})


def to(everywhere: str = "", **hops: str) -> Seek:
    """Where routing leads: `to("c0")` for all topics, `to(t="c0", u="d0")` for T and U, `to()` if this is the meeting point."""
    leads = {T: hops.get("t", everywhere), U: hops.get("u", everywhere)}
    return lambda key: peer(leads[key]) if leads[key] else None


def asked(state: State, command: Any, seek: Seek) -> Step[State, Any]:
    """The application wants something."""
    return tree.step(state, Asked(NOW, command), seek)


def told(state: State, notice: Any, seek: Seek) -> Step[State, Any]:
    """Wendy tells something."""
    return tree.step(state, Told(NOW, notice), seek)


def failed(state: State, where: str, message: Any, seek: Seek) -> Step[State, Any]:
    """A message did not arrive."""
    return tree.step(state, Sent(NOW, place(where), message, None), seek)


def arrived(state: State, message: Any, seek: Seek) -> Step[State, Any]:
    """A message is received; Wendy says that it is at its destination, or not yet."""
    application: Any = lower_message(message)
    hop = seek(message.header.key)
    return told(state, Delivered(application) if hop is None else Forwarding(application, hop), seek)


def about(sender: str, topic: Id, hop: int) -> Header:
    """What a message of this sender begins with."""
    return Header(peer(sender), topic, Versions(), hop=hop)


def subscribe(sender: str, topic: Id = T) -> SubscribeMessage:
    """A SUBSCRIBE as it is received."""
    return SubscribeMessage(about(sender, topic, 1))


def unsubscribe(sender: str, topic: Id = T) -> UnsubscribeMessage:
    """An UNSUBSCRIBE as it is received."""
    return UnsubscribeMessage(about(sender, topic, 1))


def publish(sender: str, value: bytes = b"rain", hop: int = 2, topic: Id = T) -> PublishMessage:
    """A PUBLISH as it is received."""
    return PublishMessage(about(sender, topic, hop), value)


def notify(sender: str, value: bytes = b"rain", hop: int = 2, topic: Id = T) -> NotifyMessage:
    """A NOTIFY as it is received."""
    return NotifyMessage(about(sender, topic, hop), value)


def said(effects: tuple[Any, ...]) -> list[str]:
    """The effects in words: `c0 SUBSCRIBE`, `a0 NOTIFY rain 3`, `update rain`; of the topic U they say so."""
    return [_in_words(effect) for effect in effects]


def _in_words(effect: Any) -> str:
    match effect:
        case Request(SendTo(node, key, value, purpose, hop)):
            event = f" {(value or b'').decode()} {hop}" if purpose == NOTIFY else ""
            return f"{node.local_ip[1:]} {KINDS[purpose]}{TOPICS[key]}{event}"
        case Request(Route(key, value, purpose)) if purpose == PUBLISH:
            return f"{KINDS[purpose]}{TOPICS[key]} {(value or b'').decode()}"
        case Notify(Update(key, value)):
            return f"update{TOPICS[key]} {(value or b'').decode()}"
    raise ValueError(effect)
