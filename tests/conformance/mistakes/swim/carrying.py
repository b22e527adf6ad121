"""Mistakes about what travels in a datagram, and how much of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tests.conformance.mistakes.swim import Wrong
from tests.conformance.mistakes.swim.queue import DATAGRAM, ROOM
from tests.support.variant import variants

from peerproof.spec.core import Pick
from peerproof.spec.swim.gossip import Carries
from peerproof.spec.swim.messages import Ping
from peerproof.spec.swim.state import State


def datagrams(carries: Callable[[Carries, bool], Carries]) -> dict[str, Any]:
    """What is replaced for datagrams that carry something else: what is right, and whether it is a ping."""

    def datagram(state: State, to: Any, header: Any, first: Any, right: Carries, pick: Pick) -> Any:
        is_ping = isinstance(header(state.incarnation, ()), Ping)
        return DATAGRAM(state, to, header, first, carries(right, is_ping), pick)

    return {"gossip.datagram": datagram}


def limited(limit: Callable[[int], int]) -> dict[str, Any]:
    """What is replaced for another limit."""
    return {"gossip.Room": lambda message, most: ROOM(message, limit(most))}


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "NoEventsInAcks": (
            "Has news in pings only.",
            datagrams(lambda right, is_ping: right if is_ping else right._replace(events=False)),
            "leave-by-itself-is-told-with-acks relay-reports-no-other-ack",
        ),
        "NoEventsInPings": (
            "Has news in acks only.",
            datagrams(lambda right, is_ping: right._replace(events=False) if is_ping else right),
            "left-by-itself-still-answers leave-by-itself",
        ),
        "EverythingEverywhere": (
            "Puts all that it has into every datagram.",
            datagrams(lambda _right, is_ping: Carries(events=True, members=True, payload=is_ping)),
            "join-first-request-is-welcomed unknown-sender-asks-nobody-else",
        ),
        "EventsInTheFirstAnswer": (
            "Puts the queue into the first answer to a joiner too.",
            {"gossip.WELCOME": Carries(events=True, members=True, tagged=False)},
            "join-first-request-is-welcomed first-answer-holds-no-events",
        ),
        "NoMembersInTheFirstAnswer": (
            "Tells a joiner of nobody but itself.",
            {"gossip.WELCOME": Carries()},
            "join-first-answer-has-untagged-anti-entropy join-second-answer-has-events-and-anti-entropy",
        ),
        "EmptyPayloadIsSent": (
            "Sends its payload also if it is empty.",
            {"gossip.EMPTY_PAYLOAD": ""},
            "relay-reports-no-other-ack fanout-of-2",
        ),
        "LimitIsExclusive": ("Stays below the limit.", limited(lambda most: most - 1), "datagram-of-exactly-the-limit"),
        "NoLimit": (
            "Makes datagrams of any size.",
            limited(lambda _: 2**20),
            "anti-entropy-that-does-not-fit-at-all datagram-one-beyond-the-limit",
        ),
        "LimitCountsVectorsOnly": (
            "Forgets the header when it counts the bytes.",
            limited(lambda most: most + 59),
            "datagram-one-beyond-the-limit events-end-at-the-first-that-does-not-fit",
        ),
    },
)
__getattr__ = MISTAKES.find
