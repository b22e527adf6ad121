"""
The failure detector: it evaluates a round when the round closes.

Time is counted in rounds. A pinged node that did not answer has missed once; two misses in a row make it suspicious. Other nodes
ping a suspicious node on this node's behalf, twice, before this node declares it dead.
"""

from __future__ import annotations

from typing import Final

from peerproof.spec.core import Pick, Send, replace
from peerproof.spec.swim.gossip import apply_claim, request, with_row
from peerproof.spec.swim.messages import IndirectPing, Message, Uuid
from peerproof.spec.swim.state import Row, State, Status
from peerproof.spec.swim.table import Claim

#: The misses until a node is suspicious, and the indirect misses until it is dead. [S-04, S-06]
MISSES: Final = 2

#: The minimum of unanswered pings in a round for this node to consider itself isolated. [SA-07]
SILENT_FOR_ISOLATION: Final = 2


def close_round(state: State, pick: Pick) -> tuple[State, tuple[Send[Message], ...]]:
    """
    Returns the node after a round, and the indirect pings that it sends. [SA-53]

    If several nodes were pinged and none was heard, the fault is at this node, and no other node gets a miss. [S-08, SA-07]
    """
    state = replace(state, relays=tuple(relay._replace(fresh=False) for relay in state.relays if relay.fresh))
    if len(state.pinged) >= SILENT_FOR_ISOLATION and not state.heard:
        return replace(state, isolated=True), ()
    for node, row in state.rows.items():
        state = settle_row(state, node, row)
    return _indirect_pings(state, pick)


def settle_row(state: State, node: Uuid, row: Row) -> State:
    """Returns the node after the evaluation of one row: one more miss, or none. [S-04, S-06, S-07, SA-02, SA-03]"""
    has_missed = row.is_live and node in state.pinged and node not in state.answered
    if has_missed:
        row = replace(row, misses=min(row.misses + 1, MISSES))
        state = with_row(state, node, row)
    if row.status is not Status.SUSPICIOUS:
        to_suspect = has_missed and row.misses >= MISSES
        return apply_claim(state, Claim(node, Status.SUSPICIOUS, row.incarnation)) if to_suspect else state
    if not row.indirect_asked:
        return state
    row = replace(row, indirect_misses=row.indirect_misses + 1, indirect_asked=False)
    state = with_row(state, node, row)
    to_bury = row.indirect_misses >= MISSES
    return apply_claim(state, Claim(node, Status.DEAD, row.incarnation)) if to_bury else state


def _indirect_pings(state: State, pick: Pick) -> tuple[State, tuple[Send[Message], ...]]:
    """Returns a ping for each suspicious node, through a live node that is not suspicious. [S-05, SA-03, SA-08, SA-54]"""
    sends: list[Send[Message]] = []
    for node, row in state.rows.items():
        if row.status is not Status.SUSPICIOUS:
            continue
        relays = [n for n, other in state.rows.items() if other.is_live and other.status is not Status.SUSPICIOUS]
        if not relays:
            continue
        (relay,) = pick("indirect.relay", relays)
        asking = with_row(state, node, replace(row, indirect_asked=True))
        asking, sent = request(asking, Uuid(str(relay)), pick, (IndirectPing(node, row.host, row.port),))
        state = asking if sent else state  # nothing is sent once the counters are exhausted [SA-47]
        sends += sent
    return state, tuple(sends)
