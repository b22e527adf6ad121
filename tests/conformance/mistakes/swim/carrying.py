"""Mistakes about what travels in a datagram, and how much of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.swim import Wrong
from tests.conformance.mistakes.swim.queue import DATAGRAM, MEMBERS, ROOM

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


class NoEventsInAcks(Wrong):
    """Has news in pings only."""

    caught_by: ClassVar = ("leave-by-itself-is-told-with-acks", "relay-reports-no-other-ack")
    instead: ClassVar = datagrams(lambda right, is_ping: right if is_ping else right._replace(events=False))


class NoEventsInPings(Wrong):
    """Has news in acks only."""

    caught_by: ClassVar = ("left-by-itself-still-answers", "leave-by-itself")
    instead: ClassVar = datagrams(lambda right, is_ping: right._replace(events=False) if is_ping else right)


class NoMembersInAcks(Wrong):
    """Has anti-entropy in pings only."""

    caught_by: ClassVar = ("ack-carries-anti-entropy", "anti-entropy-of-one-of-two")
    instead: ClassVar = datagrams(lambda right, is_ping: right if is_ping else right._replace(members=False))


class PayloadInAcks(Wrong):
    """Has the payload in acks too."""

    caught_by: ClassVar = ("payload-goes-with-pings", "relay-pings-a-live-node-as-usual")
    instead: ClassVar = datagrams(lambda right, _: right._replace(payload=right.events))


class NoPayloadSent(Wrong):
    """Never sends its payload."""

    caught_by: ClassVar = ("payload-changed", "payload-that-does-not-fit")
    instead: ClassVar = datagrams(lambda right, _: right._replace(payload=False))


class EverythingEverywhere(Wrong):
    """Puts all that it has into every datagram."""

    caught_by: ClassVar = ("join-first-request-is-welcomed", "unknown-sender-asks-nobody-else")
    instead: ClassVar = datagrams(lambda _right, is_ping: Carries(events=True, members=True, payload=is_ping))


class AlwaysTagged(Wrong):
    """Writes anti-entropy with its keyword in the first answer too."""

    caught_by: ClassVar = ("join-first-answer-has-untagged-anti-entropy", "join-second-answer-has-events-and-anti-entropy")
    instead: ClassVar = datagrams(lambda right, _: right._replace(tagged=True))


class NeverTagged(Wrong):
    """Writes anti-entropy without its keyword everywhere."""

    caught_by: ClassVar = ("ack-carries-anti-entropy", "anti-entropy-of-one-of-two")
    instead: ClassVar = datagrams(lambda right, _: right._replace(tagged=False))


class EventsInTheFirstAnswer(Wrong):
    """Puts the queue into the first answer to a joiner too."""

    caught_by: ClassVar = ("join-first-request-is-welcomed", "first-answer-holds-no-events")
    instead: ClassVar = {"gossip.WELCOME": Carries(events=True, members=True, tagged=False)}


class NoMembersInTheFirstAnswer(Wrong):
    """Tells a joiner of nobody but itself."""

    caught_by: ClassVar = ("join-first-answer-has-untagged-anti-entropy", "join-second-answer-has-events-and-anti-entropy")
    instead: ClassVar = {"gossip.WELCOME": Carries()}


class EmptyPayloadIsSent(Wrong):
    """Sends its payload also if it is empty."""

    caught_by: ClassVar = ("relay-reports-no-other-ack", "fanout-of-2")
    instead: ClassVar = {"gossip.EMPTY_PAYLOAD": ""}


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


class MembersWithTheReceiver(Wrong):
    """Tells nodes of themselves."""

    caught_by: ClassVar = ("anti-entropy-of-nobody-is-left-out", "ack-carries-anti-entropy")
    instead: ClassVar = members(lambda state, _: state.live)


class MembersThatAreNormal(Wrong):
    """Tells of normal nodes only."""

    caught_by: ClassVar = ("anti-entropy-with-the-suspicious", "anti-entropy-as-far-as-it-fits")
    instead: ClassVar = members(
        lambda state, receiver: [n for n in state.live if n != receiver and state.rows[n].status is Status.NORMAL]
    )


class AllMembers(Wrong):
    """Tells of all nodes, however many are configured."""

    caught_by: ClassVar = ("anti-entropy-of-one-of-two", "anti-entropy-has-two-rows-unless-configured")
    instead: ClassVar = members(lambda state, receiver: [n for n in state.live if n != receiver], lambda size: 99 if size else 0)


class OneMember(Wrong):
    """Tells of one node, however many are configured."""

    caught_by: ClassVar = ("anti-entropy-has-two-rows-unless-configured", "anti-entropy-of-all-there-are")
    instead: ClassVar = members(lambda state, receiver: [n for n in state.live if n != receiver], lambda size: min(size, 1))


class MembersAllOrNothing(Wrong):
    """Leaves anti-entropy out if not all of it fits."""

    caught_by: ClassVar = ("anti-entropy-as-far-as-it-fits",)
    instead: ClassVar = members(lambda state, receiver: [n for n in state.live if n != receiver])


def _members_sorted(state: State, receiver: Uuid, pick: Pick, *, tagged: bool, room: Any) -> AntiEntropy | None:
    told = MEMBERS(state, receiver, pick, tagged=tagged, room=room)
    return told and replace(told, members=tuple(sorted(told.members, key=lambda member: member.uuid)))


class MembersSorted(Wrong):
    """Puts anti-entropy into the order of ids."""

    caught_by: ClassVar = ("anti-entropy-in-the-order-picked",)
    instead: ClassVar = {"gossip._members": _members_sorted}


class EmptyAntiEntropy(Wrong):
    """Sends anti-entropy of nobody."""

    caught_by: ClassVar = ("anti-entropy-of-nobody-is-left-out", "anti-entropy-that-does-not-fit-at-all")
    instead: ClassVar = {
        "gossip._members": lambda state, receiver, pick, *, tagged, room: (
            MEMBERS(state, receiver, pick, tagged=tagged, room=room) or AntiEntropy((), tagged) if state.config.ae_size else None
        )
    }


def limited(limit: Callable[[int], int]) -> dict[str, Any]:
    """What is replaced for another limit."""
    return {"gossip.Room": lambda message, most: ROOM(message, limit(most))}


class LimitIsExclusive(Wrong):
    """Stays below the limit."""

    caught_by: ClassVar = ("datagram-of-exactly-the-limit",)
    instead: ClassVar = limited(lambda most: most - 1)


class NoLimit(Wrong):
    """Makes datagrams of any size."""

    caught_by: ClassVar = ("anti-entropy-that-does-not-fit-at-all", "datagram-one-beyond-the-limit")
    instead: ClassVar = limited(lambda _: 2**20)


class LimitCountsVectorsOnly(Wrong):
    """Forgets the header when it counts the bytes."""

    caught_by: ClassVar = ("datagram-one-beyond-the-limit", "events-end-at-the-first-that-does-not-fit")
    instead: ClassVar = limited(lambda most: most + 59)


def _small_events_overtake(state: State, receiver: Uuid, said: list[Vector], room: Any) -> tuple[State, list[Vector]]:
    told: list[Vector] = []
    queue: list[Queued] = []
    for entry in state.queue:
        after, one = EVENTS(replace(state, queue=(entry,)), receiver, said, room)
        told += one
        queue += after.queue
    return replace(state, queue=tuple(queue)), told


class SmallEventsOvertake(Wrong):
    """Sends whatever event still fits."""

    caught_by: ClassVar = ("events-end-at-the-first-that-does-not-fit",)
    instead: ClassVar = {"gossip._events": _small_events_overtake}
