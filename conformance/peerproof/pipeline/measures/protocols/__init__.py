"""
What is measured of each protocol besides messages and bytes.

The module `measures/<protocol>.py` has a class `Observer`. One is made for each node of each run and sees that node's events
in their order, as plain data; what it reports is put together with what other nodes' observers report (`spreading`):

- `Made`: this node has made news, such as a version of its own data. News of a node has levels, from 1 without gaps.
- `Reached`: this node has learnt somebody's news up to a level, from a peer.
- `Judged`: this node now takes somebody for up, suspected, down or left.

Of an overlay, in which messages find their way by keys:

- `Membership`: this node now is, or is not, one of those to whom keys belong.
- `Routed`, `Delivered`: a message was given to this node to be routed, or has come to its destination here. Whether that is the
  right one, the module's function `closest(key, names)` says: which of the members a key belongs to.
- `Unreached`: a message to somebody's address did not arrive.

Of a protocol with topics, in which events are published (`trees`):

- `Subscribed`: this node now wants, or does not want, the events of a topic.
- `Published`, `FannedOut`, `Updated`: an event of a topic was given to this node to be published; is copied from here on; was
  delivered to this node's subscriber. Events are told apart by their topics and values.

And `Measured` is a figure of this node alone.
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
    sent_to: tuple[str, ...] = ()  #: whom each message was sent to


class Made(NamedTuple):
    """This node's own news, up to a level."""

    level: int


class Reached(NamedTuple):
    """Somebody's news, from the first level that is new here to the last."""

    subject: str
    low: int
    high: int
    via: str | None  #: the peer that told it


class Judged(NamedTuple):
    """What this node now takes somebody for: one of the constants above."""

    subject: str
    status: str


class Membership(NamedTuple):
    """Whether keys can belong to this node, from now on."""

    is_member: bool


class Routed(NamedTuple):
    """A message was given to this node, to be routed."""

    message: str  #: what makes it out
    key: str


class Delivered(NamedTuple):
    """A message has come to its destination, which is this node."""

    message: str
    key: str


class Unreached(NamedTuple):
    """A message to this address did not arrive."""

    address: str


class Subscribed(NamedTuple):
    """Whether this node wants the events of a topic, from now on."""

    topic: str
    is_subscribed: bool


class Published(NamedTuple):
    """An event was given to this node, to be published."""

    topic: str
    event: str


class FannedOut(NamedTuple):
    """An event has come to the root of its topic's tree, which is this node."""

    topic: str
    event: str
    hops: int  #: how many nodes have received it


class Updated(NamedTuple):
    """An event was delivered to this node's subscriber."""

    topic: str
    event: str
    hops: int  #: how many nodes have received it, or a copy of it, one after the other


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
    """Watches one node. Whatever it cannot make sense of raises KeyError, TypeError or ValueError, and counts as unreadable."""

    detects = False  #: whether this node judges others at all, as it is configured

    def __init__(self, node: str) -> None:
        self.name = node  #: what other nodes' reports call this node; at first, its address
        self.known: dict[str, int] = {}  #: up to which level the node has somebody's news

    @abstractmethod
    def observe(self, event: Seen) -> Iterator[Report]:
        """What an event shows."""

    def finish(self) -> Iterator[Report]:
        """What is left to be said when there are no more events of this life."""
        return iter(())

    def reach(self, subject: str, level: int, via: str | None) -> Iterator[Report]:
        """The node learns somebody's news up to a level."""
        known = self.known.get(subject, 0)
        if level > known:
            self.known[subject] = level
            yield Reached(subject, known + 1, level, via)


def name_of(plain: Any) -> str:
    """A node's name in plain form as a text column holds it. Raises MalformedMessage, a ValueError."""
    return column_text(TEXT.value(plain))


def observer(protocol: str, node: str) -> Observer | None:
    """An observer for a node; None if nothing but messages and bytes is measured of its protocol."""
    module = _module(protocol)
    return module.Observer(node) if module else None


def closest_of(protocol: str) -> Callable[[str, Iterable[str]], str | None]:
    """Says which of these names a key belongs to, of a protocol that routes."""
    closest: Callable[[str, Iterable[str]], str | None] = _module(protocol).closest
    return closest


def _module(protocol: str) -> Any:
    reference = PROTOCOLS[protocol].measures if protocol in PROTOCOLS else None
    return reference.load() if reference else None
