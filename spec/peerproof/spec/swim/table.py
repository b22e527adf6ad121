"""
The table of neighbours, and the claims that change it.

Every statement about a node is a *claim*: a header, an event, an entry of anti-entropy, a result of the failure detector. A claim
has a key, and replaces the row exactly if its key is greater: merging takes the maximum of a total order, so neither the order of
claims nor their number matters. [SA-13]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from peerproof.spec.core import replace
from peerproof.spec.swim.messages import (
    ClusterEventVector,
    Dead,
    EventType,
    Incarnation,
    Joining,
    Leave,
    Normal,
    Suspicious,
    Uuid,
)
from peerproof.spec.swim.state import Row, State, Status

Key = tuple[int, bool, int, int]

#: At the same incarnation the worse status wins. [SA-13]
RANK: Final[Mapping[Status, int]] = {
    Status.JOINING: 0,
    Status.NORMAL: 1,
    Status.SUSPICIOUS: 2,
    Status.DEAD: 3,
    Status.LEAVE: 0,
}

#: The status that each event gives to its node.
GIVES: Final[Mapping[type[ClusterEventVector], Status]] = {
    Joining: Status.JOINING,
    Normal: Status.NORMAL,
    Suspicious: Status.SUSPICIOUS,
    Dead: Status.DEAD,
    Leave: Status.LEAVE,
}


class Claim(NamedTuple):
    """A statement about a node: its status at an incarnation, and optionally its address."""

    node: Uuid
    status: Status
    incarnation: Incarnation
    place: tuple[str, int] | None = None  #: host and port


def key(status: Status, incarnation: Incarnation) -> Key:
    """Returns the key that decides between two claims about a node: restart, left, tx, rank. [SA-13]"""
    return incarnation.restart, status is Status.LEAVE, incarnation.tx, RANK[status]


def merge(row: Row, claim: Claim) -> Row:
    """
    Returns the row after a claim; the same row unless the claim's key is greater. [SA-11, SA-13, SA-56]

    A new restart counter makes the payload stale [S-47, SA-34]. A larger incarnation answers the pending indirect
    ping [SA-03]; a node that becomes normal starts without misses [SA-02].
    """
    if key(claim.status, claim.incarnation) <= key(row.status, row.incarnation):
        return row
    host, port = claim.place or (row.host, row.port)
    changed = replace(row, host=host, port=port, status=claim.status, incarnation=claim.incarnation)
    if claim.incarnation.restart > row.incarnation.restart:
        changed = replace(changed, payload=None)
    if claim.incarnation > row.incarnation:
        changed = replace(changed, indirect_misses=0, indirect_asked=False)
    well = (Status.JOINING, Status.NORMAL)
    if claim.status in well and row.status not in well:
        changed = replace(changed, misses=0)
    return changed


def event(node: Uuid, row: Row, *, emit_incarnation: bool) -> ClusterEventVector:
    """Returns the event that announces a row. [SA-12]"""
    said = row.incarnation if emit_incarnation else None
    match row.status:
        case Status.JOINING:
            return Joining(node, row.incarnation, row.host, row.port)
        case Status.NORMAL:
            return Normal(node, said)
        case Status.SUSPICIOUS:
            return Suspicious(node, said)
        case Status.DEAD:
            return Dead(node, said)
        case Status.LEAVE:
            return Leave(node, row.incarnation)


def of_sender(state: State, node: Uuid, incarnation: Incarnation) -> Claim:
    """Returns the claim of a header about its sender, which must have a row. [SA-14, SA-15]"""
    row = state.rows[node]
    keeps = row.status in (Status.JOINING, Status.LEAVE) and row.incarnation.restart == incarnation.restart
    return Claim(node, row.status if keeps else Status.NORMAL, incarnation)


def changes(before: State, after: State) -> list[tuple[Uuid, EventType]]:
    """Returns the events of rows between two states, for subscribers. [SA-06, SA-40]"""
    if before.rows is after.rows:
        return []
    happened: list[tuple[Uuid, EventType]] = []
    for node, row in after.rows.items():
        known = before.rows.get(node)
        if known is row:
            continue
        if known is None or known.status is not row.status:
            happened.append((node, EventType(row.status.value)))
        if known is not None and known.incarnation.restart != row.incarnation.restart:
            happened.append((node, EventType.INCARNATION))
    gone = [node for node, row in before.rows.items() if node not in after.rows and row.status is not Status.LEAVE]
    return happened + [(node, EventType.LEAVE) for node in gone]  # a removed node has left first [SA-36]
