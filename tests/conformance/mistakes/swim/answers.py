"""Mistakes in answering joiners, strangers and the past, and in what a node does that is told of its own death."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.swim import Wrong
from tests.conformance.mistakes.swim.introductions import ANSWER, answering
from tests.support.variant import variants

from peerproof.spec.core import NodeId, Pick, Received, Send, Step
from peerproof.spec.swim import gossip
from peerproof.spec.swim.gossip import Carries, ack_of, datagram
from peerproof.spec.swim.messages import Joining, Normal, Ping
from peerproof.spec.swim.state import State, Status
from peerproof.spec.swim.transitions import Sends


def _welcomes_normal(state: State, ping: Ping, to: NodeId, pick: Pick) -> tuple[State, Sends]:
    row = state.rows.get(ping.sender)
    asks = any(isinstance(v, Joining) and v.node == ping.sender for v in ping.vectors)
    if row is None or row.status is not Status.NORMAL or not asks:
        return ANSWER(state, ping, to, pick)
    said = (Joining(ping.sender, row.incarnation, row.host, row.port),)
    state, message = datagram(state, (ping.sender, to), ack_of(state, ping), said, gossip.WELCOME, pick)
    return state, () if message is None else (Send(to, message),)


class AnswersToTheRow(Wrong):
    """Sends an ack to the address in the row."""

    caught_by: ClassVar = ("answer-goes-to-where-the-ping-came-from",)

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Changes where it came from."""
        if isinstance(event, Received) and isinstance(event.message, Ping) and event.message.sender in state.rows:
            row = state.rows[event.message.sender]
            event = replace(event, sender=NodeId(f"{row.host}:{row.port}"))
        return super().step(state, event, pick)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "NoNormalAnswer": (
            "Does not tell a joiner that it is normal, but for what is in the queue.",
            answering(lambda _, ping: replace(ping, vectors=tuple(v for v in ping.vectors if not isinstance(v, Normal)))),
            "join-second-request-again events-are-not-lost-on-nobody",
        ),
        "WelcomesWhoIsJoining": (
            "Welcomes whoever is joining, whether it asks or not.",
            answering(
                lambda state, ping: (
                    replace(ping, vectors=(*ping.vectors, Joining(ping.sender, ping.incarnation, "h", 1)))
                    if ping.sender in state.rows and state.rows[ping.sender].status is Status.JOINING
                    else ping
                )
            ),
            "joining-stays-until-the-second-request nested-64-deep",
        ),
        "WelcomesWhoIsNormal": (
            "Welcomes whoever asks, also if its joining is old.",
            {"transitions.answer": _welcomes_normal},
            "joining-older-than-its-header",
        ),
        "StrangersGetEverything": (
            "Answers everybody alike.",
            {"gossip.BARE": Carries(events=True, members=True)},
            "unknown-sender-asks-nobody-else unknown-sender-is-told-nothing",
        ),
    },
)
__getattr__ = MISTAKES.find
