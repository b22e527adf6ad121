"""
Measurements of each protocol besides messages and bytes.

The module `measures/<protocol>.py` has a class `Observer`. An instance observes the events of one node of one run in order, as
plain data; its reports are combined with those of other nodes' observers (`spreading`):

- `Made`: this node has made news, such as a version of its own data. News of a node has levels, from 1 without gaps.
- `Reached`: this node has learnt another node's news up to a level, from a peer.
- `Judged`: this node now takes another node for up, suspected, down or left.

Of an overlay, in which messages are routed by keys:

- `Membership`: keys can, or cannot, belong to this node from now on.
- `Routed`, `Delivered`: a message was given to this node to be routed, or was delivered here. The module's function
  `closest(key, names)` returns the member to which a key belongs.
- `Unreached`: a message to an address did not arrive.

Of a protocol with topics, in which events are published (`trees`):

- `Subscribed`: this node is, or is not, subscribed to a topic from now on.
- `Published`, `FannedOut`, `Updated`: an event of a topic was given to this node to be published; is copied from here on; was
  delivered to this node's subscriber. Events are identified by topic and value.

`Measured` is a figure of this node alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from peerproof.conformance.traces.events import column_text
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.traces.trace import TEXT

UP: Final = "up"
SUSPECTED: Final = "suspected"
DOWN: Final = "down"
LEFT: Final = "left"


class Seen(NamedTuple):
    """One event of a node, as plain data."""

    kind: str  #: start, recv, sent, timer or api
    peer: str | None
    args: Any
    sent: tuple[Any, ...]  #: messages
    notices: tuple[Any, ...]
    refused: bool
    t_us: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0
    sent_to: tuple[str, ...] = ()  #: receiver of each message


class Made(NamedTuple):
    """This node's own news, up to a level."""

    level: int


class Reached(NamedTuple):
    """Another node's news, from the first level that is new here to the last."""

    subject: str
    low: int
    high: int
    via: str | None  #: the peer that sent it


class Judged(NamedTuple):
    """The status that this node now assigns to another one: one of the constants above."""

    subject: str
    status: str


class Membership(NamedTuple):
    """Whether keys can belong to this node, from now on."""

    is_member: bool


class Routed(NamedTuple):
    """A message was given to this node, to be routed."""

    message: str  #: identifies the message
    key: str


class Delivered(NamedTuple):
    """A message was delivered at this node."""

    message: str
    key: str


class Unreached(NamedTuple):
    """A message to this address did not arrive."""

    address: str


class Subscribed(NamedTuple):
    """Whether this node is subscribed to a topic, from now on."""

    topic: str
    is_subscribed: bool


class Published(NamedTuple):
    """An event was given to this node, to be published."""

    topic: str
    event: str


class FannedOut(NamedTuple):
    """An event has arrived at this node, the root of its topic's tree."""

    topic: str
    event: str
    hops: int  #: how many nodes have received it


class Updated(NamedTuple):
    """An event was delivered to this node's subscriber."""

    topic: str
    event: str
    hops: int  #: how many nodes have received it, or a copy of it, in a chain


class Measured(NamedTuple):
    """A figure of this node alone."""

    metric: str
    value: float


Report: TypeAlias = (
    Made
    | Reached
    | Judged
    | Membership
    | Routed
    | Delivered
    | Unreached
    | Subscribed
    | Published
    | FannedOut
    | Updated
    | Measured
)


class Observer(ABC):
    """Observes one node. An event that raises KeyError, TypeError or ValueError counts as unreadable."""

    detects = False  #: whether this node has a failure detector, by its configuration

    def __init__(self, node: str) -> None:
        self.name = node  #: this node's name in the reports of others; initially its address
        self.known: dict[str, int] = {}  #: node -> last known level of its news

    @abstractmethod
    def observe(self, event: Seen) -> Iterator[Report]:
        """Yields the reports of an event."""

    def finish(self) -> Iterator[Report]:
        """Yields the last reports of a life."""
        return iter(())

    def reach(self, subject: str, level: int, via: str | None) -> Iterator[Report]:
        """Yields a report if a level of another node's news is new."""
        known = self.known.get(subject, 0)
        if level > known:
            self.known[subject] = level
            yield Reached(subject, known + 1, level, via)


def name_of(plain: Any) -> str:
    """Converts a node's name in plain form to the text of a column. Raises MalformedMessage, a ValueError."""
    return column_text(TEXT.value(plain))


def observer(protocol: str, node: str) -> Observer | None:
    """Creates an observer for a node; None if only messages and bytes are measured of its protocol."""
    module = _module(protocol)
    return module.Observer(node) if module else None


def closest_of(protocol: str) -> Callable[[str, Iterable[str]], str | None]:
    """Returns a routing protocol's function from a key and names to the name to which the key belongs."""
    closest: Callable[[str, Iterable[str]], str | None] = _module(protocol).closest
    return closest


def _module(protocol: str) -> Any:
    reference = PROTOCOLS[protocol].measures if protocol in PROTOCOLS else None
    return reference.load() if reference else None
