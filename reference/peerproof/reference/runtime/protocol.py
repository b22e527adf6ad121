"""
What a node, a simulation or a harness must know of a protocol besides its specification.

Over a connection each message is confirmed, or fails; so whoever runs a node must know how long to wait, whom to answer, and when
the node has gone of its own will. A protocol of this kind is an overlay: its nodes join it, and an application on top is told
what arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from peerproof.spec.connections import Framing
from peerproof.spec.core import Duration, NodeId, Pick, Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS


class Figures(Protocol):
    """What is measured in a simulation besides the protocol's properties."""

    def record_route(self) -> None:
        """Some node has been asked to send a message to a key."""

    def notify(self, node: NodeId, notice: Any) -> None:
        """A node has told its application something."""

    def plain(self) -> Mapping[str, Plain]:
        """The figures."""

    def text(self) -> Iterable[str]:
        """Lines for people."""


@dataclass(frozen=True, slots=True)
class Connected:
    """A protocol over connections: `peerproof.reference.protocols.wendy.runtime.CONNECTED` is one."""

    framing: Framing
    texts: Mapping[str, str]  #: members of the configuration that a node is given as texts, and what they are
    typed: Mapping[str, str]  #: commands that are not typed member by member, and how they are
    timeout: Callable[[Any], Duration]  #: configuration -> how long a message may take until it has failed
    admits: Callable[[Any, Any], bool]  #: state, message -> whether the node confirms the message, and takes it in
    has_left: Callable[[Any], bool]  #: state -> whether the node has gone of its own will, so that it cannot be reached any more
    joining: Callable[[NodeId], Any]  #: contact -> the command to join by it
    is_alone: Callable[[Any], bool]  #: notice -> whether the contact could not be reached, and another may be tried
    render_notice: Callable[[Any], Mapping[str, Plain] | None]  #: notice -> what a running node prints of it; None for nothing
    parse_command: Callable[[str, str], Any]  #: one of `typed`, what follows it -> the command. Raises MalformedMessage.
    figures: Callable[[Any], Figures]  #: simulation -> what is to be measured in it
    #: Message that a node takes in -> what is strange about it, so that somebody should look at it; None for nothing.
    remark: Callable[[Any], str | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Runtime:
    """A protocol, as those see it who run its nodes. Names are those of the plain forms."""

    name: str
    transport: str  #: what carries its messages
    period: str  #: the member of the configuration with the time from one round to the next
    shown: tuple[str, ...]  #: the queries whose answers a running node prints; the first lists what it knows of others
    placed: Callable[[NodeId, Iterable[NodeId]], Mapping[str, Plain]]  #: own address, seeds -> members of the configuration
    #: State, key, value -> the command that sets a key to a value; None if an application cannot set anything.
    assigned: Callable[[Any, str, str], Plain] | None = None
    begun: Callable[[Any, Pick], Any] = lambda config, _: config  #: the configuration of a node that begins, and picks with this
    restarted: Callable[[Any, Any], Any] = lambda config, _: config  #: that of one that comes back with what it kept of a state
    key: Callable[[Any, NodeId, int], str] = lambda plan, _, update: f"k{update % plan.keys}"  #: that a simulated node sets next
    subscribes: bool = False  #: whether nodes subscribe to topics, on which events are published
    connected: Connected | None = None  #: what a protocol over connections brings
    store: Any = None  #: what a protocol brings whose messages go to every node: a module as `protocols.distkv.simulation`

    def specification(self) -> Specification:
        """The protocol itself."""
        return PROTOCOLS[self.name].specification.load()

    @property
    def is_connected(self) -> bool:
        """Whether each message has a connection of its own, and is confirmed."""
        return self.connected is not None

    def build_config(self, plain: Mapping[str, Plain], self_id: NodeId, seeds: Iterable[NodeId]) -> Any:
        """The configuration of a node at this address that is to ask these first. Raises ValueError as `configuration` does."""
        return configuration(self, {**self.placed(self_id, seeds), **plain})

    def assign(self, state: Any, key: str, value: str) -> Any:
        """The command by which a node in this state sets a key to a value. Raises MalformedMessage if there is none."""
        if self.assigned is None:
            raise MalformedMessage("other", 0, f"a node of {self.name} has nothing that can be set")
        return self.specification().COMMAND.value(self.assigned(state, key, value))

    def capabilities(self) -> list[str]:
        """What a harness can do with it, in the words of the adapter protocol."""
        specification = self.specification()
        calls = [f"api.{name}" for name in specification.COMMAND.cases]
        queries = [f"observe.{name}" for name in specification.QUERIES]
        outcomes = ["sent", "stream"] if self.is_connected else []
        sizes = ["config.sizes"] if PROTOCOLS[self.name].sizes else []
        return ["codec", "exchange", *calls, *queries, "events", "restart", "state.load", *outcomes, *sizes]

    def events(self) -> list[str]:
        """The kinds of events that a harness tells, in the words of the adapter protocol."""
        return [*self.specification().NOTICE.cases, "malformed"]


def configuration(protocol: Runtime, plain: Plain) -> Any:
    """The configuration that plain data shows. Raises ValueError, of which MalformedMessage is one kind."""
    return protocol.specification().CONFIG.value(plain)
