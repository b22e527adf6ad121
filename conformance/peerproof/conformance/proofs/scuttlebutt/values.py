"""The values of counterexamples about Scuttlebutt: nodes have addresses, and a store the records that were looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from peerproof.conformance.proofs import values
from peerproof.conformance.proofs.scuttlebutt.any_cluster import Pairs, Store
from peerproof.conformance.proofs.scuttlebutt.terms import rows
from peerproof.conformance.proofs.terms import copy_rows, term_of
from peerproof.spec.core import NodeId, Table
from peerproof.spec.scuttlebutt.state import Peer, State, Versioned


class Values(values.Values):
    """The values of one counterexample."""

    node_type = "NodeId"
    cluster: Mapping[str, tuple[str, ...]] = {
        "key of": ("NodeId", "", ""),
        "value of": ("NodeId", "", ""),
        "top of": ("NodeId", ""),
        "last of": ("NodeId", "", ""),
        "known by": ("NodeId", "NodeId", ""),
    }

    def tables(self) -> Mapping[type[Any], values.OfTable]:
        """Returns how tables on terms become values."""
        return {Store: lambda store, _: self._store(store)}

    def scalars(self) -> Mapping[str, Callable[[int], Any]]:
        """Returns the names of nodes."""
        return {"NodeId": self._address}

    def _address(self, number: int) -> NodeId:
        return NodeId(self.named(number, lambda rank: f"n{rank}:1"))

    def _store(self, store: Store) -> Table[NodeId, Peer]:
        found: dict[NodeId, Peer] = {}
        for owner in store.owners:
            if self.truth(store.has(owner)):
                record = store.record(owner)
                table = rows(record)
                pairs = {
                    self.text(key): Versioned(self.text(table.row(key).value), self.number(table.row(key).version))
                    for key in store.keys
                    if self.truth(table.has(key))
                }
                found[self._address(self.number(owner))] = Peer(Table(pairs), self.number(record.version))
        return Table(found)

    # -- values to terms --------------------------------------------------------------------------------------------

    def lifted_field(self, name: str, after: Any, before: Any, own: State) -> Any:
        """Returns a field of a state that has changed, as terms."""
        if name != "store":
            return super().lifted_field(name, after, before, own)
        store: Any = own.store
        for addr, peer in after.items():
            if before.get(addr) != peer:
                node = self.lifted(addr)
                was = rows(store.record(term_of(node))) if addr in before else None
                store = store.put({node: self._record(peer, was)})
        return store

    def _record(self, peer: Peer, was: Any = None) -> Peer:
        """Returns a record as terms; of keys that are not among the values, what it was."""
        pairs = {self.lifted(key): self.lifted(pair) for key, pair in peer.pairs.items()}
        table: Any = rows(Peer(Table())) if was is None else copy_rows(was)
        table = table.put(pairs)
        return Peer(Pairs(table.has, table.row), self.lifted_number(peer.version))  # type: ignore[arg-type]
