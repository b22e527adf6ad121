"""Mistakes in the queue of events: how many nodes are told an event, which ones, and which event is news."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.swim import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.swim import CLAIMED, EVENTS, FANOUT
from peerproof.spec.core import NodeId, Pick, Received, Send, Step
from peerproof.spec.swim import gossip, transitions
from peerproof.spec.swim.messages import Ack, ClusterEventVector, Dead, Ping, Uuid, Vector
from peerproof.spec.swim.state import Queued, State
from peerproof.spec.swim.table import Claim, event

DATAGRAM = gossip.datagram
QUEUED = gossip.enqueue
ROOM = gossip.Room  # type: ignore[attr-defined]  # the name that is replaced there
WITH_MEMBER = transitions.with_member


def _tells_twice(state: State, receiver: Uuid, said: list[Vector], room: Any) -> tuple[State, list[Vector]]:
    again = Uuid(f"again {sum(len(entry.recipients) for entry in state.queue)}")
    return EVENTS(state, again, said, room) if receiver else (state, [])


def _tells_not_the_subject(state: State, receiver: Uuid, said: list[Vector], room: Any) -> tuple[State, list[Vector]]:
    mine = tuple(entry for entry in state.queue if entry.event.node == receiver)
    others = replace(state, queue=tuple(entry for entry in state.queue if entry.event.node != receiver))
    after, told = EVENTS(others, receiver, said, room)
    return replace(after, queue=(*mine, *after.queue)), told


class TellsNotTheTeller(Wrong):
    """Tells nobody what that one has just told it."""

    caught_by: ClassVar = ("joining-about-another-gets-an-ordinary-answer", "ack-carries-anti-entropy")

    def step(self, state: State, event: Any, pick: Pick) -> Step[Any, Any]:
        """Takes the events out of the answer."""
        step = super().step(state, event, pick)
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


def _newer_keeps_its_recipients(state: State, said: ClusterEventVector) -> State:
    had = next((entry.recipients for entry in state.queue if entry.event.node == said.node), frozenset[Uuid]())
    after = QUEUED(state, said)
    return replace(after, queue=(*after.queue[:-1], Queued(said, had)))


def _newest_first(state: State, said: ClusterEventVector) -> State:
    after = QUEUED(state, said)
    return replace(after, queue=(after.queue[-1], *after.queue[:-1]))


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


def _anti_entropy_is_news(state: State, claim: Claim) -> State:
    after = WITH_MEMBER(state, claim)
    new = claim.node in after.rows and claim.node not in state.rows
    return QUEUED(after, event(claim.node, after.rows[claim.node], emit_incarnation=False)) if new else after


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "FanoutRoundedDown": (
            "Rounds the logarithm down.",
            {"gossip.fanout": lambda nodes: nodes.bit_length() - 1 if nodes > 1 else 0},
            "isolation-ends-with-an-ack isolation-ends-with-the-first-message",
        ),
        "FanoutOfOthers": (
            "Takes the logarithm of the number of the others.",
            {"gossip.fanout": lambda nodes: max(1, FANOUT(nodes - 1)) if nodes > 1 else 0},
            "isolation-ends-with-an-ack isolation-ends-with-the-first-message",
        ),
        "EventsOnce": (
            "Tells an event one node.",
            {"gossip.fanout": lambda _: 1, "rounds.fanout": FANOUT},
            "relay-pings-a-live-node-as-usual leave-by-itself-of-three",
        ),
        "TellsTwice": (
            "Counts datagrams, not nodes: whoever asks is told again until enough datagrams are out.",
            {"gossip._events": _tells_twice},
            "anti-entropy-at-the-incarnation-known datagram-one-beyond-the-limit",
        ),
        "TellsNotTheSubject": (
            "Tells a node nothing of itself.",
            {"gossip._events": _tells_not_the_subject},
            "joining-node-that-restarts-is-normal payload-of-the-new-life",
        ),
        "NewerKeepsItsRecipients": (
            "Takes those who got the older event about a node for having got the newer.",
            {"gossip.enqueue": _newer_keeps_its_recipients},
            "what-is-queued-does-not-count anti-entropy-brings-the-dead-back",
        ),
        "NewestFirst": (
            "Sends the event first that came last.",
            {"gossip.enqueue": _newest_first},
            "datagram-of-exactly-the-limit datagram-one-beyond-the-limit",
        ),
        "EachTxIsNews": (
            "Queues an event for every change of a row.",
            {f"{module}.apply_claim": _news for module in ("transitions", "detector", "commands")},
            "last-message-of-all tx-at-its-end ack-carries-anti-entropy",
        ),
        "RestartIsNoNews": (
            "Queues changes of status only.",
            {f"{module}.apply_claim": _restart_is_no_news for module in ("transitions", "detector", "commands")},
            "payload-of-the-new-life payload-is-stale-after-a-restart",
        ),
        "AntiEntropyIsNews": (
            "Queues the rows that anti-entropy makes.",
            {"transitions.with_member": _anti_entropy_is_news},
            "anti-entropy-that-is-new-is-not-passed-on anti-entropy-of-many",
        ),
        "JoiningIsNoNews": (
            "Does not tell others of who is joining.",
            {"transitions.enqueue": lambda state, _: state},
            "joining-about-another-gets-an-ordinary-answer anti-entropy-that-does-not-fit-at-all",
        ),
        "IncarnationsAlways": (
            "Sends all events with an incarnation.",
            {
                f"{module}.event": lambda node, row, **_: event(node, row, emit_incarnation=True)
                for module in ("gossip", "transitions")
            },
            "join-second-request-makes-normal join-second-request-again",
        ),
    },
)
__getattr__ = MISTAKES.find
