"""The bounded world of Scuttlebutt: what the constants of a model mean for the nodes that run in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from peerproof.spec import scuttlebutt
from peerproof.spec.core import Asked, Expired, NodeId, Specification
from peerproof.spec.errors import NotEnabled
from peerproof.spec.properties import InFlight
from peerproof.spec.scuttlebutt.codec import MESSAGE
from peerproof.spec.scuttlebutt.messages import DigestEntry, Event, Round, UpdateLocal
from peerproof.spec.scuttlebutt.state import Config, State
from peerproof.spec.scuttlebutt.transitions import initial, on_update_local
from peerproof.spec.world import NOW, Faults


class Model:
    """
    A few nodes, as the constants of a configuration say; `tla/scuttlebutt/constants.json` has some.

    The nodes have no failure detector, since no time passes: a round may begin at any moment. Node 1 has the address `1`. A
    key of `BigKey` is written `BigKeySize` letters longer, so that its entries are larger by so much.
    """

    spec: Specification = scuttlebutt
    node_variables: tuple[str, ...] = ("store",)

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self.max_version: int = constants["MaxVersion"]
        self.keys = tuple(key * (1 + constants["BigKeySize"] * (key in constants["BigKey"])) for key in constants["Key"])
        self.values = tuple(constants["Value"])
        self.faults = Faults(
            in_flight=constants["MaxNet"],
            loss=constants["Loss"],
            duplication=constants["Duplication"],
            restarts=constants["MaxRestarts"],
            restarting=frozenset(_addr(node) for node in constants["Restarting"]),
        )
        self.names: tuple[int, ...] = tuple(constants["Node"])
        seeds = tuple(_addr(node) for node in constants["Seeds"])
        payloads = {n: constants["RoomyPayload" if n in constants["Roomy"] else "MaxPayload"] for n in constants["Node"]}
        self.nodes: tuple[tuple[NodeId, Any], ...] = tuple(
            (_addr(node), initial(_addr(node), Config(seeds=seeds, max_payload=payload, detector=None)).state)
            for node, payload in payloads.items()
        )

    def offers(self, state: State) -> Iterator[tuple[str, Event]]:
        """An update of each key to each value, while the version may grow and if the pair fits; and a round."""
        if state.store[state.self_id].version < self.max_version:
            for key in self.keys:
                for value in self.values:
                    try:
                        on_update_local(state, key, value)
                    except NotEnabled:
                        continue
                    yield "Update", Asked(NOW, UpdateLocal(key, value))
        yield "Round", Expired(NOW, Round())

    def restarted(self, state: State) -> State:
        """As new: nothing is kept on disk. [BX-03, BX-04]"""
        return initial(state.self_id, state.config).state

    def seen(self, state: State) -> State:
        """All of it."""
        return state

    def noticed(self, _: State, event: Event) -> Event:
        """All of it."""
        return event

    def node_values(self, state: State) -> tuple[Any, ...]:
        """The store as a function of nodes."""
        store = {
            int(addr): {
                "version": peer.version,
                "pairs": frozenset((key[0], value, version) for key, (value, version) in peer.pairs.items()),
            }
            for addr, peer in state.store.items()
        }
        return (store,)

    def message_value(self, message: InFlight) -> Any:
        """`<<from, to, type, entries>>`, an entry being `<<addr, version>>` or `<<addr, key, value, version>>`."""
        sender, to, content = message
        entries = tuple(
            (int(entry.addr), entry.version)
            if isinstance(entry, DigestEntry)
            else (int(entry.addr), entry.key[0], entry.value, entry.version)
            for entry in content.entries
        )
        return int(sender), int(to), MESSAGE.form.names[type(content)], entries


def _addr(node: int) -> NodeId:
    return NodeId(str(node))
