"""
The registry: which protocols there are, and what a node, a simulation or a harness must know of each.

The rest they take from the specification, which lies in `peerproof.spec.<name>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, cast

from peerproof.spec.core import Specification
from peerproof.spec.wire import Plain


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol, as those see it who run its nodes. Names are those of the plain forms."""

    name: str
    transport: str  #: what carries its messages
    seeds: str  #: the member of the configuration with the addresses to ask first
    period: str  #: the member of the configuration with the time from one round to the next
    assignment: str  #: the command that sets a key to a value; its members are `key` and `value`

    def specification(self) -> Specification:
        """The protocol itself."""
        return cast("Specification", import_module(f"peerproof.spec.{self.name}"))

    def assign(self, key: str, value: str) -> Any:
        """The command that sets a key to a value. Raises MalformedMessage if there is none."""
        return self.specification().COMMAND.value({"type": self.assignment, "key": key, "value": value})

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
        ]


#: Protocols by name.
PROTOCOLS: Final[Mapping[str, Protocol]] = {
    protocol.name: protocol
    for protocol in (Protocol("scuttlebutt", transport="udp", seeds="seeds", period="interval", assignment="update_local"),)
}


def configuration(protocol: Protocol, plain: Plain) -> Any:
    """The configuration that plain data shows. Raises ValueError, of which MalformedMessage is one kind."""
    return protocol.specification().CONFIG.value(plain)
