"""Mistakes in answering joiners, strangers and the past, and in what a node does that is told of its own death."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.swim import Wrong
from tests.conformance.mistakes.swim.introductions import answering
from tests.support.variant import Variants

from peerproof.spec.core import NodeId, Pick, Received, Send
from peerproof.spec.swim import gossip
from peerproof.spec.swim.gossip import Carries, ack_of, datagram
from peerproof.spec.swim.messages import Joining, Normal, Ping
from peerproof.spec.swim.state import State, Status

wrong = Variants(__name__, Wrong)


@wrong("transitions.answer", "joining-older-than-its-header")
def WelcomesWhoIsNormal(right: Any, state: State, ping: Ping, to: NodeId, pick: Pick) -> Any:
    """Welcomes whoever asks, also if its joining is old."""
    row = state.rows.get(ping.sender)
    asks = any(isinstance(v, Joining) and v.node == ping.sender for v in ping.vectors)
    if row is None or row.status is not Status.NORMAL or not asks:
        return right(state, ping, to, pick)
    said = (Joining(ping.sender, row.incarnation, row.host, row.port),)
    state, message = datagram(state, (ping.sender, to), ack_of(state, ping), said, gossip.WELCOME, pick)
    return state, () if message is None else (Send(to, message),)


@wrong("step", "answer-goes-to-where-the-ping-came-from")
def AnswersToTheRow(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Sends an ack to the address in the row."""
    if isinstance(event, Received) and isinstance(event.message, Ping) and event.message.sender in state.rows:
        row = state.rows[event.message.sender]
        event = replace(event, sender=NodeId(f"{row.host}:{row.port}"))
    return right(state, event, pick)


wrong |= {
    # Does not tell a joiner that it is normal, but for what is in the queue.
    "NoNormalAnswer: join-second-request-again events-are-not-lost-on-nobody": answering(
        lambda _, ping: replace(ping, vectors=tuple(v for v in ping.vectors if not isinstance(v, Normal)))
    ),
    # Welcomes whoever is joining, whether it asks or not.
    "WelcomesWhoIsJoining: joining-stays-until-the-second-request nested-64-deep": answering(
        lambda state, ping: (
            replace(ping, vectors=(*ping.vectors, Joining(ping.sender, ping.incarnation, "h", 1)))
            if ping.sender in state.rows and state.rows[ping.sender].status is Status.JOINING
            else ping
        )
    ),
    # Answers everybody alike.
    "StrangersGetEverything: unknown-sender-asks-nobody-else unknown-sender-is-told-nothing": {
        "gossip.BARE": Carries(events=True, members=True)
    },
}
__getattr__ = wrong.find
