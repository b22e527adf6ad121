"""Mistakes about what travels in a datagram, and how much of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.swim import Wrong
from tests.conformance.mistakes.swim.queue import DATAGRAM, MEMBERS, ROOM
from tests.support.variant import variants

from peerproof.reference.divergences.swim import EVENTS
from peerproof.spec.core import Pick, Send, Step
from peerproof.spec.swim.gossip import Carries
from peerproof.spec.swim.messages import Ack, AntiEntropy, Member, Ping, Uuid, Vector
from peerproof.spec.swim.state import Queued, State, Status


def datagrams(carries: Callable[[Carries, bool], Carries]) -> dict[str, Any]:
    """What is replaced for datagrams that carry something else: what is right, and whether it is a ping."""

    def datagram(state: State, to: Any, header: Any, first: Any, right: Carries, pick: Pick) -> Any:
        is_ping = isinstance(header(state.incarnation, ()), Ping)
        return DATAGRAM(state, to, header, first, carries(right, is_ping), pick)

    return {"gossip.datagram": datagram}


def reordered(order: Callable[[Vector], int]) -> Any:
    """A step whose messages have their vectors in another order."""

    def step(self: Any, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        right = Wrong.step(self, state, event, pick)
        return right._replace(
            effects=tuple(
                replace(e, message=replace(e.message, vectors=tuple(sorted(e.message.vectors, key=order))))
                if isinstance(e, Send) and isinstance(e.message, (Ping, Ack))
                else e
                for e in right.effects
            )
        )

    return step


class MembersFirst(Wrong):
    """Puts anti-entropy in front of the events."""

    caught_by: ClassVar = ("join-first-answer-has-untagged-anti-entropy", "join-second-answer-has-events-and-anti-entropy")
    step = reordered(lambda vector: not isinstance(vector, AntiEntropy))


class PayloadFirst(Wrong):
    """Puts the payload in front of everything else."""

    caught_by: ClassVar = ("relay-pings-a-live-node-as-usual", "relay-reports-with-its-news")
    step = reordered(lambda vector: type(vector).__name__ != "Payload")


def members(among: Callable[[State, Uuid], Sequence[Uuid]], most: Callable[[int], int] = lambda size: size) -> dict[str, Any]:
    """What is replaced for anti-entropy of others, or of more."""

    def picked(state: State, receiver: Uuid, pick: Pick, *, tagged: bool, room: Any) -> AntiEntropy | None:
        nodes = among(state, receiver)
        if not nodes or not most(state.config.ae_size):
            return None
        chosen = [Uuid(str(node)) for node in pick("anti-entropy", nodes, most(state.config.ae_size))]
        rows = [(node, state.rows[node]) for node in chosen]
        told = AntiEntropy(tuple(Member(row.host, row.port, node, *row.incarnation) for node, row in rows), tagged)
        return told if room.takes(told) else None

    return {"gossip._members": picked}


def _members_sorted(state: State, receiver: Uuid, pick: Pick, *, tagged: bool, room: Any) -> AntiEntropy | None:
    told = MEMBERS(state, receiver, pick, tagged=tagged, room=room)
    return told and replace(told, members=tuple(sorted(told.members, key=lambda member: member.uuid)))


def limited(limit: Callable[[int], int]) -> dict[str, Any]:
    """What is replaced for another limit."""
    return {"gossip.Room": lambda message, most: ROOM(message, limit(most))}


def _small_events_overtake(state: State, receiver: Uuid, said: list[Vector], room: Any) -> tuple[State, list[Vector]]:
    told: list[Vector] = []
    queue: list[Queued] = []
    for entry in state.queue:
        after, one = EVENTS(replace(state, queue=(entry,)), receiver, said, room)
        told += one
        queue += after.queue
    return replace(state, queue=tuple(queue)), told


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
        "NoMembersInAcks": (
            "Has anti-entropy in pings only.",
            datagrams(lambda right, is_ping: right if is_ping else right._replace(members=False)),
            "ack-carries-anti-entropy anti-entropy-of-one-of-two",
        ),
        "PayloadInAcks": (
            "Has the payload in acks too.",
            datagrams(lambda right, _: right._replace(payload=right.events)),
            "payload-goes-with-pings relay-pings-a-live-node-as-usual",
        ),
        "NoPayloadSent": (
            "Never sends its payload.",
            datagrams(lambda right, _: right._replace(payload=False)),
            "payload-changed payload-that-does-not-fit",
        ),
        "EverythingEverywhere": (
            "Puts all that it has into every datagram.",
            datagrams(lambda _right, is_ping: Carries(events=True, members=True, payload=is_ping)),
            "join-first-request-is-welcomed unknown-sender-asks-nobody-else",
        ),
        "AlwaysTagged": (
            "Writes anti-entropy with its keyword in the first answer too.",
            datagrams(lambda right, _: right._replace(tagged=True)),
            "join-first-answer-has-untagged-anti-entropy join-second-answer-has-events-and-anti-entropy",
        ),
        "NeverTagged": (
            "Writes anti-entropy without its keyword everywhere.",
            datagrams(lambda right, _: right._replace(tagged=False)),
            "ack-carries-anti-entropy anti-entropy-of-one-of-two",
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
        "MembersWithTheReceiver": (
            "Tells nodes of themselves.",
            members(lambda state, _: state.live),
            "anti-entropy-of-nobody-is-left-out ack-carries-anti-entropy",
        ),
        "MembersThatAreNormal": (
            "Tells of normal nodes only.",
            members(lambda state, receiver: [n for n in state.live if n != receiver and state.rows[n].status is Status.NORMAL]),
            "anti-entropy-with-the-suspicious anti-entropy-as-far-as-it-fits",
        ),
        "AllMembers": (
            "Tells of all nodes, however many are configured.",
            members(lambda state, receiver: [n for n in state.live if n != receiver], lambda size: 99 if size else 0),
            "anti-entropy-of-one-of-two anti-entropy-has-two-rows-unless-configured",
        ),
        "OneMember": (
            "Tells of one node, however many are configured.",
            members(lambda state, receiver: [n for n in state.live if n != receiver], lambda size: min(size, 1)),
            "anti-entropy-has-two-rows-unless-configured anti-entropy-of-all-there-are",
        ),
        "MembersAllOrNothing": (
            "Leaves anti-entropy out if not all of it fits.",
            members(lambda state, receiver: [n for n in state.live if n != receiver]),
            "anti-entropy-as-far-as-it-fits",
        ),
        "MembersSorted": (
            "Puts anti-entropy into the order of ids.",
            {"gossip._members": _members_sorted},
            "anti-entropy-in-the-order-picked",
        ),
        "EmptyAntiEntropy": (
            "Sends anti-entropy of nobody.",
            {
                "gossip._members": lambda state, receiver, pick, *, tagged, room: (
                    MEMBERS(state, receiver, pick, tagged=tagged, room=room) or AntiEntropy((), tagged)
                    if state.config.ae_size
                    else None
                )
            },
            "anti-entropy-of-nobody-is-left-out anti-entropy-that-does-not-fit-at-all",
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
        "SmallEventsOvertake": (
            "Sends whatever event still fits.",
            {"gossip._events": _small_events_overtake},
            "events-end-at-the-first-that-does-not-fit",
        ),
    },
)
__getattr__ = MISTAKES.find
