"""
The run-time description of a protocol: what a node, a simulation or a harness needs besides its specification.

Over a connection each message is confirmed, or fails. So the runtime has to know the timeout, which messages to confirm, and when
the node has left. A protocol over connections is an overlay: its nodes join it, and it delivers messages to an application.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from peerproof.spec.connections import Framing
from peerproof.spec.core import Duration, NodeId, Pick, Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS


class Figures(Protocol):
    """Measurements of a simulation, besides the protocol's properties."""

    def record_route(self) -> None:
        """Counts a command to send a message to a key."""

    def notify(self, node: NodeId, notice: Any) -> None:
        """Handles a notice of a node to its application."""

    def plain(self) -> Mapping[str, Plain]:
        """Returns the figures as plain data."""

    def text(self) -> Iterable[str]:
        """Returns the figures as lines of text."""


@dataclass(frozen=True, slots=True)
class Connected:
    """A protocol over connections: `peerproof.reference.protocols.wendy.runtime.CONNECTED` is one."""

    framing: Framing
    typed: Mapping[str, str]  #: console commands with a syntax of their own -> usage
    timeout: Callable[[Any], Duration]  #: configuration -> how long to wait for the confirmation of a message
    admits: Callable[[Any, Any], bool]  #: state, message -> whether the node confirms and processes the message
    has_left: Callable[[Any], bool]  #: state -> whether the node has left on command, so that it is unreachable
    joining: Callable[[NodeId], Any]  #: contact -> the command to join through it
    is_alone: Callable[[Any], bool]  #: notice -> whether the contact is unreachable, and another may be tried
    render_notice: Callable[[Any], Mapping[str, Plain] | None]  #: notice -> the members that a running node prints; None: no line
    parse_command: Callable[[str, str], Any]  #: name of one of `typed`, rest of the line -> command. Raises MalformedMessage.
    #: State -> answers with words and addresses for a reader, instead of those of the queries of the same names.
    readable: Callable[[Any], Mapping[str, Plain]]
    figures: Callable[[Any], Figures]  #: simulation -> its measurements
    #: Received message -> a warning for the operator; None: no warning.
    remark: Callable[[Any], str | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Runtime:
    """The run-time description of a protocol. Names are those of the plain forms."""

    name: str
    transport: str  #: "udp", "tcp" or "serf"
    period: str  #: the member of the configuration that is the length of a round
    shown: tuple[str, ...]  #: the queries whose answers a running node prints; the first one lists the peers
    passing: tuple[str, ...] = field(default=(), kw_only=True)  #: members of these answers that change with every datagram
    #: The member of the answer `own` by which the other nodes know a node; None: they know it by its address.
    own_name: str | None = field(default=None, kw_only=True)
    placed: Callable[[NodeId, Iterable[NodeId]], Mapping[str, Plain]]  #: own address, seeds -> members of the configuration
    #: State, key, value -> the command that sets a key to a value; None: there is no such command.
    assigned: Callable[[Any, str, str], Plain] | None = None
    set_text: str = "Sets a key to a value"  #: what that command does, for the help of a running node
    begun: Callable[[Any, Pick], Any] = lambda config, _: config  #: configuration, pick -> configuration at the first start
    restarted: Callable[[Any, Any], Any] = lambda config, _: config  #: configuration, last state -> configuration at a restart
    key: Callable[[Any, NodeId, int], str] = lambda plan, _, update: f"k{update % plan.keys}"  #: the key to set
    texts: Mapping[str, str] = field(default_factory=dict)  #: configuration members that are given as texts -> help text
    names_seeds: bool = False  #: whether a seed may be NAME@HOST:PORT, where its name is not that of its address
    subscribes: bool = False  #: whether nodes subscribe to topics, on which events are published
    connected: Connected | None = None  #: only of a protocol over connections
    store: Any = None  #: only of a protocol that broadcasts its messages: a module such as `protocols.distkv.simulation`

    def specification(self) -> Specification:
        """Loads the specification."""
        return PROTOCOLS[self.name].specification.load()

    @property
    def is_connected(self) -> bool:
        """Whether each message is sent over its own connection and confirmed."""
        return self.connected is not None

    def build_config(self, plain: Mapping[str, Plain], self_id: NodeId, seeds: Iterable[NodeId]) -> Any:
        """Returns the configuration of a node with this address and these seeds. Raises ValueError as `configuration` does."""
        return configuration(self, {**self.placed(self_id, seeds), **plain})

    def assign(self, state: Any, key: str, value: str) -> Any:
        """Returns the command that sets a key to a value in this state. Raises MalformedMessage if there is none."""
        if self.assigned is None:
            raise MalformedMessage("other", 0, f"nodes of {self.name} have no keys to set")
        return self.specification().COMMAND.value(self.assigned(state, key, value))

    def capabilities(self) -> list[str]:
        """Returns the capabilities of a harness for this protocol, with their names in the adapter protocol."""
        specification = self.specification()
        calls = [f"api.{name}" for name in specification.COMMAND.cases]
        queries = [f"observe.{name}" for name in specification.QUERIES]
        outcomes = ["sent", "stream"] if self.is_connected else []
        sizes = ["config.sizes"] if PROTOCOLS[self.name].sizes else []
        return ["codec", "exchange", *calls, *queries, "events", "restart", "state.load", *outcomes, *sizes]

    def events(self) -> list[str]:
        """Returns the events that a harness reports, with their names in the adapter protocol."""
        return [*self.specification().NOTICE.cases, "malformed"]


def configuration(protocol: Runtime, plain: Plain) -> Any:
    """Parses a configuration from plain data. Raises ValueError, of which MalformedMessage is a subclass."""
    return protocol.specification().CONFIG.value(plain)
