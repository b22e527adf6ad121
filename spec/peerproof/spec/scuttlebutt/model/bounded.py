"""The bounded model of Scuttlebutt: the meaning of a model's constants for its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from peerproof.spec import scuttlebutt
from peerproof.spec.core import Asked, Expired, NodeId, Specification
from peerproof.spec.errors import NotEnabled
from peerproof.spec.model.bounded import NOW, Taking
from peerproof.spec.model.bounded import Model as Bounded
from peerproof.spec.scuttlebutt.codec import MESSAGE
from peerproof.spec.scuttlebutt.messages import DigestEntry, Event, Round, UpdateLocal
from peerproof.spec.scuttlebutt.state import Config, State
from peerproof.spec.scuttlebutt.transitions import initial, on_update_local


class Changed:
    """The specification with another `step`."""

    def __init__(self, step: Taking) -> None:
        self.step = step

    def __getattr__(self, name: str) -> Any:
        return getattr(scuttlebutt, name)


class Model(Bounded):
    """
    A few nodes, as defined by the constants of a configuration; `tla/scuttlebutt/constants.json` has some.

    The nodes have no failure detector, since no time passes: a round may begin at any moment. Node 1 has the address `1`. A
    key of `BigKey` is `BigKeySize` letters longer, which makes its entries larger by as many bytes.
    """

    def __init__(self, constants: Mapping[str, Any]) -> None:
        super().__init__(constants)
        self.spec: Specification = cast("Specification", Changed(self.vary(scuttlebutt.step)))
        self.max_version: int = constants["MaxVersion"]
        self.keys = tuple(key * (1 + constants["BigKeySize"] * (key in constants["BigKey"])) for key in constants["Key"])
        self.values = tuple(constants["Value"])
        seeds = tuple(self.address(node) for node in constants["Seeds"])
        payloads = {n: constants["RoomyPayload" if n in constants["Roomy"] else "MaxPayload"] for n in constants["Node"]}
        self.nodes: tuple[tuple[NodeId, Any], ...] = tuple(
            (self.address(node), initial(self.address(node), Config(seeds=seeds, max_payload=payload, detector=None)).state)
            for node, payload in payloads.items()
        )

    def offers(self, state: State) -> Iterator[tuple[str, Event]]:
        """Yields an update of each key to each value, while the version may grow and if the pair fits; and a round."""
        if state.store[state.self_id].version < self.max_version:
            for key in self.keys:
                for value in self.values:
                    try:
                        on_update_local(state, key, value)
                    except NotEnabled:
                        continue
                    yield "Update", Asked(NOW, UpdateLocal(key, value))
        yield "Round", Expired(NOW, Round())

    def restart(self, state: State) -> State:
        """Returns a new node: no state is kept on disk. [BX-03, BX-04]"""
        return initial(state.self_id, state.config).state

    def variables(self, state: State) -> Mapping[str, Any]:
        """Returns the store as a function of nodes."""
        store = {
            int(addr): {
                "version": peer.version,
                "pairs": frozenset((key[0], value, version) for key, (value, version) in peer.pairs.items()),
            }
            for addr, peer in state.store.items()
        }
        return {"store": store}

    def content_value(self, message: Any) -> tuple[Any, ...]:
        """Returns `<<type, entries>>`, an entry being `<<addr, version>>` or `<<addr, key, value, version>>`."""
        entries = tuple(
            (int(entry.addr), entry.version)
            if isinstance(entry, DigestEntry)
            else (int(entry.addr), entry.key[0], entry.value, entry.version)
            for entry in message.entries
        )
        return MESSAGE.form.names[type(message)], entries
