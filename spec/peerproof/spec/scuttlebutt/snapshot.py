"""The plain data of a whole Scuttlebutt node, for tools that read or build a state; the shapes of queries; unsettled members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from peerproof.spec.core import Duration, Instant, NodeId, Table
from peerproof.spec.forms import state_form
from peerproof.spec.forms.answers import Answer, Members
from peerproof.spec.forms.form import Integer, ListOf, OneOf, Optional, Plain, Record, misfit
from peerproof.spec.forms.state_form import table_of
from peerproof.spec.scuttlebutt.arrival import ArrivalWindow
from peerproof.spec.scuttlebutt.state import KNOWN_PEER, STRING, KnownPeer, Liveness, Peer, State, Status, Versioned, known_peer


@dataclass(frozen=True, slots=True)
class Watched:
    """The failure detector's data about a peer, in plain data."""

    addr: NodeId
    status: Status
    last: Instant
    intervals: tuple[Duration, ...]
    digest_sent: Instant | None = None


class StateForm(state_form.StateForm):
    """The plain data of a state: `{"store": […], "liveness": […]}`, a member for each peer; liveness only if it is not empty."""

    def plain(self, state: State) -> Plain:
        """The plain data of a state."""
        shown = super().plain(state)
        return shown if state.liveness else {"store": shown["store"]}

    def check(self, state: State, plain: Plain) -> None:
        """Refuses a store without the node's own record."""
        if state.self_id not in state.store:
            raise misfit("store", f"the node's own record, {state.self_id!a}", plain["store"])


def _peer(known: KnownPeer) -> tuple[NodeId, Peer]:
    return known.addr, Peer(Table({pair.key: Versioned(pair.value, pair.version) for pair in known.pairs}), known.version)


def _to_watched(addr: NodeId, known: Liveness) -> Watched:
    return Watched(addr, known.status, known.window.last, known.window.intervals, known.digest_sent)


def _liveness(peer: Watched) -> tuple[NodeId, Liveness]:
    return peer.addr, Liveness(ArrivalWindow(peer.last, peer.intervals), peer.status, peer.digest_sent)


_MILLISECONDS: Final = Integer()
_WATCHED: Final = Record(
    Watched,
    addr=STRING,
    status=OneOf(Status),
    last=_MILLISECONDS,
    intervals=ListOf(_MILLISECONDS),
    digest_sent=Optional(_MILLISECONDS),
)

STATE: Final = StateForm(
    State,
    store=table_of(KNOWN_PEER, known_peer, _peer, expected="each peer once"),
    liveness=table_of(_WATCHED, _to_watched, _liveness, expected="each peer once"),
)


#: The shapes of answers to queries.
ANSWERS: Final = {
    "peers": Answer("All known addresses, the node's own among them, in any order.", ListOf(STRING)),
    "view": Answer("The whole store: its peers by address, the pairs of each by key.", ListOf(KNOWN_PEER)),
    "status": Answer(
        "The other peers by address; without a failure detector all are up.",
        ListOf(Members(addr=STRING, status=OneOf(Status))),
    ),
    "state": Answer("All that `load` takes; `liveness` is left out if it is empty.", STATE),
}


def unsettled(config: Any, kind: str) -> frozenset[str]:
    """Returns the members of an event of this kind that are free for a node with this configuration. [BA-30]"""
    return frozenset({"round_trip"}) if kind == "heartbeat" and config.detector is None else frozenset()
