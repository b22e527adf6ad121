"""What a node, a simulation or a harness must know of a protocol besides its specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from peerproof.reference.runtime.connected import Connected
from peerproof.spec.core import NodeId, Pick, Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS


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
        return [
            "codec",
            "exchange",
            *(f"api.{name}" for name in specification.COMMAND.cases),
            *(f"observe.{name}" for name in specification.QUERIES),
            "events",
            "restart",
            "state.load",
            *(("sent", "stream") if self.is_connected else ()),
        ]


def configuration(protocol: Runtime, plain: Plain) -> Any:
    """The configuration that plain data shows. Raises ValueError, of which MalformedMessage is one kind."""
    return protocol.specification().CONFIG.value(plain)
