"""Mistakes about what travels in a datagram, and how much of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants, around

from peerproof.spec.core import Pick
from peerproof.spec.swim.gossip import Carries
from peerproof.spec.swim.messages import Ping
from peerproof.spec.swim.state import State

wrong = Variants(__name__, Wrong)


def datagrams(carries: Callable[[Carries, bool], Carries]) -> dict[str, Any]:
    """What is replaced for datagrams that carry something else: what is right, and whether it is a ping."""

    def datagram(right: Any, state: State, to: Any, header: Any, first: Any, after: Carries, pick: Pick) -> Any:
        is_ping = isinstance(header(state.incarnation, ()), Ping)
        return right(state, to, header, first, carries(after, is_ping), pick)

    return around("gossip.datagram", datagram)


def limited(limit: Callable[[int], int]) -> dict[str, Any]:
    """What is replaced for another limit."""
    return around("gossip.Room", lambda right, message, most: right(message, limit(most)))


wrong |= {
    # Has news in pings only.
    "NoEventsInAcks: leave-by-itself-is-told-with-acks relay-reports-no-other-ack": datagrams(
        lambda right, is_ping: right if is_ping else right._replace(events=False)
    ),
    # Has news in acks only.
    "NoEventsInPings: left-by-itself-still-answers leave-by-itself": datagrams(
        lambda right, is_ping: right._replace(events=False) if is_ping else right
    ),
    # Puts all that it has into every datagram.
    "EverythingEverywhere: join-first-request-is-welcomed unknown-sender-asks-nobody-else": datagrams(
        lambda _right, is_ping: Carries(events=True, members=True, payload=is_ping)
    ),
    # Puts the queue into the first answer to a joiner too.
    "EventsInTheFirstAnswer: join-first-request-is-welcomed first-answer-holds-no-events": {
        "gossip.WELCOME": Carries(events=True, members=True, tagged=False)
    },
    # Tells a joiner of nobody but itself.
    "NoMembersInTheFirstAnswer: join-first-answer-has-untagged-anti-entropy join-second-answer-has-events-and-anti-entropy": {
        "gossip.WELCOME": Carries()
    },
    # Sends its payload also if it is empty.
    "EmptyPayloadIsSent: relay-reports-no-other-ack fanout-of-2": {"gossip.EMPTY_PAYLOAD": ""},
    # Stays below the limit.
    "LimitIsExclusive: datagram-of-exactly-the-limit": limited(lambda most: most - 1),
    # Makes datagrams of any size.
    "NoLimit: anti-entropy-that-does-not-fit-at-all datagram-one-beyond-the-limit": limited(lambda _: 2**20),
    # Forgets the header when it counts the bytes.
    "LimitCountsVectorsOnly: datagram-one-beyond-the-limit events-end-at-the-first-that-does-not-fit": limited(
        lambda most: most + 59
    ),
}
__getattr__ = wrong.find
