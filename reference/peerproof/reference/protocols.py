"""
The registry: which protocols there are, and what a node, a simulation or a harness must know of each.

The rest they take from the specification, which lies in `peerproof.spec.<name>`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from random import Random
from typing import Any, Final, cast

from peerproof.reference.connected import Connected
from peerproof.spec.core import NodeId, Pick, Specification
from peerproof.spec.wire import Plain


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol, as those see it who run its nodes. Names are those of the plain forms."""

    name: str
    transport: str  #: what carries its messages
    period: str  #: the member of the configuration with the time from one round to the next
    shown: tuple[str, ...]  #: the queries whose answers a running node prints; the first lists what it knows of others
    placed: Callable[[NodeId, Iterable[NodeId]], Mapping[str, Plain]]  #: own address, seeds -> members of the configuration
    assigned: Callable[[Any, str, str], Plain]  #: state, key, value -> the command that sets a key to a value
    begun: Callable[[Any, Pick], Any] = lambda config, _: config  #: the configuration of a node that begins, and picks with this
    restarted: Callable[[Any, Any], Any] = lambda config, _: config  #: that of one that comes back with what it kept of a state
    key: Callable[[Any, NodeId, int], str] = lambda plan, _, update: f"k{update % plan.keys}"  #: that a simulated node sets next
    subscribes: bool = False  #: whether nodes subscribe to topics, on which events are published
    is_connected: bool = False  #: whether it has a module `peerproof.reference.<name>` that is a `connected.Connected`

    def specification(self) -> Specification:
        """The protocol itself."""
        return cast("Specification", import_module(f"peerproof.spec.{self.name}"))

    def connected(self) -> Connected | None:
        """What there is besides the specification of a protocol over connections."""
        return cast("Connected", import_module(f"peerproof.reference.{self.name}")) if self.is_connected else None

    def store(self) -> Any:
        """The module with what there is besides the specification of a protocol whose messages go to everybody."""
        return import_module(f"peerproof.reference.{self.name}") if self.transport == "serf" else None

    def configured(self, plain: Mapping[str, Plain], self_id: NodeId, seeds: Iterable[NodeId]) -> Any:
        """The configuration of a node at this address that is to ask these first. Raises ValueError as `configuration` does."""
        return configuration(self, {**self.placed(self_id, seeds), **plain})

    def assign(self, state: Any, key: str, value: str) -> Any:
        """The command by which a node in this state sets a key to a value. Raises MalformedMessage if there is none."""
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


def swim_uuid(address: NodeId) -> str:
    """The name of a SWIM node that was given none: the same address has the same name everywhere."""
    from uuid import NAMESPACE_URL, uuid5

    return str(uuid5(NAMESPACE_URL, f"swim://{address}"))


def _wendy_placed(self_id: NodeId, seeds: Iterable[NodeId]) -> Mapping[str, Plain]:
    from peerproof.reference.wendy import placed

    return placed(self_id, seeds)


def _wendy_assigned(state: Any, key: str, value: str) -> Plain:
    from peerproof.reference.wendy import assigned

    return assigned(state, key, value)


def _peter_assigned(state: Any, key: str, value: str) -> Plain:
    from peerproof.reference.peter import assigned

    return assigned(state, key, value)


def _swim_placed(self_id: NodeId, seeds: Iterable[NodeId]) -> Mapping[str, Plain]:
    from peerproof.spec.swim.state import host_and_port

    places = ((seed, *host_and_port(seed)) for seed in seeds)
    return {
        "uuid": swim_uuid(self_id),
        "seeds": [{"uuid": swim_uuid(seed), "host": host, "port": port} for seed, host, port in places],
    }


def _swim_assigned(state: Any, key: str, value: str) -> Plain:
    import json

    from peerproof.spec.swim.transit import escaped

    return {"type": "set_payload", "uuid": state.uuid, "data": {**json.loads(state.payload), escaped(key): escaped(value)}}


def _distkv_begun(config: Any, pick: Pick) -> Any:
    from peerproof.spec.distkv.schedule import first_message

    first, last = first_message(config.clock)
    (start,) = pick("start.moment", range(first, last + 1))
    return replace(config, start=start)


def _distkv_restarted(config: Any, state: Any) -> Any:
    from peerproof.spec.distkv import stored_of

    return replace(config, stored=stored_of(state))


#: Protocols by name.
PROTOCOLS: Final[Mapping[str, Protocol]] = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "scuttlebutt",
            transport="udp",
            period="interval",
            shown=("view", "status"),
            placed=lambda _, seeds: {"seeds": list(seeds)},
            assigned=lambda _, key, value: {"type": "update_local", "key": key, "value": value},
        ),
        Protocol(
            "swim",
            transport="udp",
            period="interval",
            shown=("nodes", "own"),
            placed=_swim_placed,
            assigned=_swim_assigned,
            restarted=lambda config, _: replace(config, restart_counter=config.restart_counter + 1),
        ),
        Protocol(
            "wendy",
            transport="tcp",
            period="network_timeout",
            shown=("own", "leaf_set", "neighborhood_set", "routing_table"),
            placed=_wendy_placed,
            assigned=_wendy_assigned,
            key=lambda plan, node, update: f"{plan.seed}/{node}/{update}",
            is_connected=True,
        ),
        Protocol(
            "peter",
            transport="tcp",
            period="network_timeout",
            shown=("own", "leaf_set", "neighborhood_set", "routing_table", "topics"),
            placed=_wendy_placed,
            assigned=_peter_assigned,
            key=lambda plan, node, update: plan.topic(int(plan.topics * Random(f"{plan.seed}/{node}/{update}").random())),
            subscribes=True,
            is_connected=True,
        ),
        Protocol(
            "distkv",
            transport="serf",
            period="clock",
            shown=("dump", "own"),
            placed=lambda _, seeds: {} if list(seeds) else {"root": "root"},
            assigned=lambda _, key, value: {"type": "set_value", "path": [key], "value": value},
            begun=_distkv_begun,
            restarted=_distkv_restarted,
        ),
    )
}


def configuration(protocol: Protocol, plain: Plain) -> Any:
    """The configuration that plain data shows. Raises ValueError, of which MalformedMessage is one kind."""
    return protocol.specification().CONFIG.value(plain)
