"""Mistakes in what is believed of other nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.swim import CLAIMED, MERGED, ON_VECTOR
from peerproof.spec.core import Pick, Received, Step
from peerproof.spec.swim import table, transitions
from peerproof.spec.swim.gossip import with_row
from peerproof.spec.swim.messages import Ack, Dead, Incarnation, Normal, Payload, Ping, Suspicious, Vector
from peerproof.spec.swim.state import Row, State, Status
from peerproof.spec.swim.table import Claim

APPLIED = transitions.apply_message
OF_SENDER = transitions.of_sender  # type: ignore[attr-defined]  # the name that is replaced there
WITH_MEMBER = transitions.with_member


def merging(accepts: Callable[[Row, Claim], bool]) -> dict[str, Any]:
    """What is replaced for a merge that takes less."""
    return {"gossip.merge": lambda row, claim: MERGED(row, claim) if accepts(row, claim) else row}


def keyed(key: Callable[[Status, Incarnation], Any]) -> dict[str, Any]:
    """What is replaced for another order of claims."""
    return {"table.key": key}


def _overwritten(state: State, message: Ping | Ack, vector: Vector) -> State:
    if isinstance(vector, (Normal, Suspicious, Dead)) and vector.incarnation is None and vector.node in state.rows:
        row = state.rows[vector.node]
        return with_row(state, vector.node, replace(row, status=table.GIVES[type(vector)]))
    return ON_VECTOR(state, message, vector)


def headers(status: Callable[[Row, Incarnation], Status]) -> dict[str, Any]:
    """What is replaced for another meaning of headers."""
    return {
        "transitions.of_sender": lambda state, node, said: OF_SENDER(state, node, said)._replace(
            status=status(state.rows[node], said)
        )
    }


def _header_too(state: State, message: Ping | Ack) -> State:
    if message.sender in state.rows:
        state = CLAIMED(state, OF_SENDER(state, message.sender, message.incarnation))
    return APPLIED(state, message)


def _backwards(state: State, message: Ping | Ack) -> State:
    return APPLIED(state, replace(message, vectors=message.vectors[::-1]))


def _header_comes_last(state: State, message: Ping | Ack) -> State:
    if message.sender not in state.rows:
        return APPLIED(state, message)
    for vector in message.vectors:
        state = ON_VECTOR(state, message, vector)
    return APPLIED(state, replace(message, vectors=tuple(v for v in message.vectors if isinstance(v, Payload))))


class TakesAddressesFromDatagrams(Wrong):
    """Sends pings to where the last datagram came from."""

    caught_by: ClassVar = ("node-info", "answer-goes-to-where-the-ping-came-from")

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Changes the row."""
        step = super().step(state, event, pick)
        sender = getattr(event.message, "sender", None) if isinstance(event, Received) else None
        if sender is None or sender not in step.state.rows:
            return step
        host, _, port = event.sender.rpartition(":")
        row = replace(step.state.rows[sender], host=host, port=int(port))
        return step._replace(state=with_row(step.state, sender, row))


def _stranger_applied(state: State, message: Ping | Ack) -> State:
    if message.sender not in state.rows and message.sender != state.uuid:
        state = with_row(state, message.sender, Row("", 0, Status.NORMAL, message.incarnation))
    return APPLIED(state, message)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "LeaveIsForEver": (
            "Lets nothing bring back who has left.",
            merging(lambda row, _: row.status is not Status.LEAVE),
            "late-ack-of-a-node-that-left dead-sender-gets-an-ack-alone",
        ),
        "LeaveNeedsItsTx": (
            "Ignores a leave that is not newer.",
            merging(lambda row, claim: claim.status is not Status.LEAVE or claim.incarnation >= row.incarnation),
            "leave-of-the-past leave-of-its-own-sender",
        ),
        "DeathIsFinal": (
            "Lets nothing but a restart bring a dead node back.",
            merging(lambda row, claim: row.status is not Status.DEAD or claim.incarnation.restart > row.incarnation.restart),
            "dead-node-comes-back-by-an-ack anti-entropy-brings-the-dead-back",
        ),
        "TheBetterCounts": (
            "At one incarnation believes the better of two claims.",
            keyed(lambda status, said: (said.restart, status is Status.LEAVE, said.tx, -table.RANK[status])),
            "ack-of-an-unknown-sender late-ack-of-a-dead-node",
        ),
        "TheFirstCounts": (
            "At one incarnation believes what came first.",
            keyed(lambda status, said: (said.restart, status is Status.LEAVE, said.tx)),
            "ack-of-an-unknown-sender ack-for-another-is-ignored",
        ),
        "OverwritesWithoutIncarnation": (
            "Believes whatever comes without an incarnation.",
            {"transitions.with_vector": _overwritten},
            "normal-does-not-clear-suspicion not-subscribed",
        ),
        "NeedsAnIncarnation": (
            "Believes nothing that comes without an incarnation.",
            {
                "transitions.with_vector": lambda state, message, vector: (
                    state
                    if isinstance(vector, (Normal, Suspicious, Dead)) and not vector.incarnation
                    else ON_VECTOR(state, message, vector)
                )
            },
            "ack-of-an-unknown-sender ack-for-another-is-ignored",
        ),
        "HeaderEndsJoining": (
            "Takes every header for a sign that its sender is normal.",
            headers(lambda row, _: Status.LEAVE if row.status is Status.LEAVE else Status.NORMAL),
            "joining-stays-until-the-second-request nested-64-deep",
        ),
        "HeaderKeepsJoining": (
            "Leaves who is joining joining, over restarts too.",
            headers(lambda row, _: row.status if row.status in (Status.JOINING, Status.LEAVE) else Status.NORMAL),
            "joiner-learns-from-the-first-answer joining-node-that-restarts-is-normal",
        ),
        "HeaderKeepsStatus": (
            "Takes a header for news of tx, not of status.",
            headers(lambda row, _: row.status),
            "joiner-learns-from-the-first-answer dead-node-comes-back-by-an-ack",
        ),
        "HeaderAndJoining": (
            "Merges the header of a message with a joining too.",
            {"transitions.apply_message": _header_too},
            "joining-older-than-its-header joining-at-the-known-restart-counter",
        ),
        "VectorsBackwards": (
            "Applies the last vector first.",
            {"transitions.apply_message": _backwards},
            "told-dead-twice sizes",
        ),
        "HeaderComesLast": (
            "Applies the vectors first and the header then.",
            {"transitions.apply_message": _header_comes_last},
            "joining-older-than-its-header event-about-its-own-sender",
        ),
        "KeepsAddresses": (
            "Does not take over the address of a node that it knows.",
            {"gossip.merge": lambda row, claim: MERGED(row, claim._replace(place=None))},
            "anti-entropy-that-is-newer joining-after-a-restart",
        ),
        "TakesAnyAddress": (
            "Takes over an address from whatever comes.",
            {
                "gossip.merge": lambda row, claim: (
                    replace(MERGED(row, claim), host=claim.place[0], port=claim.place[1]) if claim.place else MERGED(row, claim)
                )
            },
            "joining-of-the-past-changes-no-address",
        ),
        "StrangersGetRows": (
            "Makes a row of whoever sends a message.",
            {"transitions.apply_message": _stranger_applied},
            "reject-empty-datagram reject-huge-array",
        ),
    },
)
__getattr__ = MISTAKES.find
