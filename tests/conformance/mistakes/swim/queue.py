"""Mistakes in the queue of events and in what travels in a datagram: how many nodes are told, which events, and how much."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import Variants, after, around

from peerproof.reference.divergences.swim import CLAIMED, FANOUT
from peerproof.spec.core import NodeId, Pick, Received, Send
from peerproof.spec.swim import gossip
from peerproof.spec.swim.gossip import Carries
from peerproof.spec.swim.messages import Ack, ClusterEventVector, Dead, Ping, Uuid, Vector
from peerproof.spec.swim.state import Queued, State
from peerproof.spec.swim.table import Claim, event

wrong = Variants(__name__, Wrong)
QUEUED = gossip.enqueue


@wrong("gossip._events", "anti-entropy-at-the-incarnation-known datagram-one-beyond-the-limit")
def TellsTwice(right: Any, state: State, receiver: Uuid, said: list[Vector], room: Any) -> Any:
    """Counts datagrams, not nodes: whoever asks is told again until enough datagrams are out."""
    again = Uuid(f"again {sum(len(entry.recipients) for entry in state.queue)}")
    return right(state, again, said, room) if receiver else (state, [])


@wrong("gossip._events", "joining-node-that-restarts-is-normal payload-of-the-new-life")
def TellsNotTheSubject(right: Any, state: State, receiver: Uuid, said: list[Vector], room: Any) -> Any:
    """Tells a node nothing of itself."""
    mine = tuple(entry for entry in state.queue if entry.event.node == receiver)
    others = replace(state, queue=tuple(entry for entry in state.queue if entry.event.node != receiver))
    after, told = right(others, receiver, said, room)
    return replace(after, queue=(*mine, *after.queue)), told


@wrong.after("step", "joining-about-another-gets-an-ordinary-answer ack-carries-anti-entropy")
def TellsNotTheTeller(step: Any, state: State, event: Any, pick: Pick) -> Any:
    """Tells nobody what that one has just told it."""
    if not isinstance(event, Received) or not isinstance(event.message, Ping):
        return step
    heard = {type(v): v.node for v in event.message.vectors if hasattr(v, "node") and v.node != event.message.sender}
    return step._replace(effects=tuple(_without(effect, event.sender, heard) for effect in step.effects))


def _without(effect: Any, receiver: NodeId, heard: dict[type[Any], Uuid]) -> Any:
    if not isinstance(effect, Send) or effect.to != receiver or not isinstance(effect.message, Ack):
        return effect
    if any(isinstance(v, Dead) and v.node == effect.message.target for v in effect.message.vectors):
        return effect
    kept = tuple(v for v in effect.message.vectors if heard.get(type(v)) != getattr(v, "node", None))
    return replace(effect, message=replace(effect.message, vectors=kept))


@wrong("gossip.enqueue", "what-is-queued-does-not-count anti-entropy-brings-the-dead-back")
def NewerKeepsItsRecipients(right: Any, state: State, said: ClusterEventVector) -> Any:
    """Takes those who got the older event about a node for having got the newer."""
    had = next((entry.recipients for entry in state.queue if entry.event.node == said.node), frozenset[Uuid]())
    after = right(state, said)
    return replace(after, queue=(*after.queue[:-1], Queued(said, had)))


def _news(state: State, claim: Claim) -> State:
    after = CLAIMED(state, claim)
    row = after.rows[claim.node]
    if row is state.rows[claim.node]:
        return after
    return QUEUED(after, event(claim.node, row, emit_incarnation=after.config.emit_incarnation))


def _restart_is_no_news(state: State, claim: Claim) -> State:
    after = CLAIMED(state, claim)
    same = after.rows[claim.node].status is state.rows[claim.node].status
    return replace(after, queue=state.queue) if same else after


@wrong.after("transitions.with_member", "anti-entropy-that-is-new-is-not-passed-on anti-entropy-of-many")
def AntiEntropyIsNews(after: Any, state: State, claim: Claim) -> Any:
    """Queues the rows that anti-entropy makes."""
    new = claim.node in after.rows and claim.node not in state.rows
    return QUEUED(after, event(claim.node, after.rows[claim.node], emit_incarnation=False)) if new else after


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
    # Sends the event first that came last.
    "NewestFirst: datagram-of-exactly-the-limit datagram-one-beyond-the-limit": after(
        "gossip.enqueue", lambda after, *_: replace(after, queue=(after.queue[-1], *after.queue[:-1]))
    ),
    # Rounds the logarithm down.
    "FanoutRoundedDown: isolation-ends-with-an-ack isolation-ends-with-the-first-message": {
        "gossip.fanout": lambda nodes: nodes.bit_length() - 1 if nodes > 1 else 0
    },
    # Takes the logarithm of the number of the others.
    "FanoutOfOthers: isolation-ends-with-an-ack isolation-ends-with-the-first-message": around(
        "gossip.fanout", lambda right, nodes: max(1, right(nodes - 1)) if nodes > 1 else 0
    ),
    # Tells an event one node.
    "EventsOnce: relay-pings-a-live-node-as-usual leave-by-itself-of-three": {
        "gossip.fanout": lambda _: 1,
        "rounds.fanout": FANOUT,
    },
    # Queues an event for every change of a row.
    "EachTxIsNews: last-message-of-all tx-at-its-end ack-carries-anti-entropy": {
        f"{module}.apply_claim": _news for module in ("transitions", "detector", "commands")
    },
    # Queues changes of status only.
    "RestartIsNoNews: payload-of-the-new-life payload-is-stale-after-a-restart": {
        f"{module}.apply_claim": _restart_is_no_news for module in ("transitions", "detector", "commands")
    },
    # Does not tell others of who is joining.
    "JoiningIsNoNews: joining-about-another-gets-an-ordinary-answer anti-entropy-that-does-not-fit-at-all": {
        "transitions.enqueue": lambda state, _: state
    },
    # Sends all events with an incarnation.
    "IncarnationsAlways: join-second-request-makes-normal join-second-request-again": {
        f"{module}.event": lambda node, row, **_: event(node, row, emit_incarnation=True) for module in ("gossip", "transitions")
    },
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
