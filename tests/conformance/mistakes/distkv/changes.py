"""Mistakes about what a node changes itself, and about its counters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, around

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import NodeId, Pick, Received, Send, Step, Table
from peerproof.spec.distkv import changes, outgoing
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import Info, Ping, Update
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.state import State
from peerproof.spec.distkv.ticks import latest
from peerproof.spec.errors import NotEnabled

wrong = Variants(__name__, Wrong)
CHANGE = changes.change
ORIGINATE = outgoing.originate


@wrong("transitions.on_change", "the-last-tick the-last-tock")
def BeginsAnew(right: Any, state: State, path: Any, value: Any) -> Any:
    """Goes on with the tick 1 after the last."""
    try:
        return right(state, path, value)
    except NotEnabled as refusal:
        if refusal.reason != "exhausted":
            raise
        return right(replace(state, ticks=state.ticks.put({state.self_id: 0}), tock=min(state.tock, TICK_MAX - 1)), path, value)


@wrong("step", "tock-of-a-message-received tock-of-a-ping tock-of-a-ping-received tock-of-an-info-received")
def CountsItsOwnOnly(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Does not look at the tocks that it receives."""
    after, effects = right(state, event, pick)
    if not isinstance(event, Received) or any(isinstance(effect, Send) for effect in effects):
        return Step(after, effects)
    return Step(replace(after, tock=state.tock), effects)


def _repeating(right: Any, state: State, make: Any) -> Any:
    message, (after, effects) = right(state, lambda _: make(state.tock))
    return message, Step(replace(after, tock=state.tock), effects)


def _with_new_tocks(state: State, updates: Any) -> Next:
    taken: Next = Step(state)
    for update in updates:
        taken = outgoing.then(taken, lambda now, update=update: ORIGINATE(now, lambda tock: replace(update, tock=tock))[1])  # type: ignore[misc]  # bound at once
    return taken


def _learns(without: Any) -> dict[str, Any]:
    """What is replaced to learn no ticks from a part of messages."""
    return around("transitions.ticks_in", lambda right, message: right(without(message)))


def _only_head(message: Any) -> Any:
    return replace(message, chain=Chain((message.chain.head,), cut=True))


@wrong("step", "tick-of-its-own-is-continued restart-without-data-in-a-network had-lost-its-data tick-learnt-before-the-download")
def CountsItsChangesOnly(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Takes no tick of its own from others."""
    own = state.own_tick
    after, effects = right(state, event, pick)
    if not any(isinstance(effect, Send) and isinstance(effect.message, Update) for effect in effects):
        after = replace(after, ticks=after.ticks.put({state.self_id: own}) if own else after.ticks.without([state.self_id]))
    return Step(after, effects)


wrong |= {
    # Learns no ticks from pings.
    "LearnsNotFromPings: ticks-from-a-ping ticks-from-the-chain-of-a-ping a-gap-that-a-ping-shows": _learns(
        lambda message: replace(message, chain=Chain((Element(NodeId("z"), None),))) if isinstance(message, Ping) else message
    ),
    # Learns no ticks from what stands behind the head.
    "LearnsFromHeadsOnly: ticks-from-the-chain-of-an-update ticks-from-the-chain-of-a-ping ticks-from-the-prev-of-an-info "
    "tick-of-its-own-from-another-chain": _learns(_only_head),
    # Lets clients change something in any phase.
    "TakesChangesBeforeItIsReady: passive-nodes-refuse-changes old-nodes-refuse-changes had-lost-its-data": {
        "transitions.on_change": CHANGE
    },
    # Raises its tock for changes only.
    "PingsWithoutCounting: new-node first-node tock-of-a-ping": around("election.originate", _repeating),
    # Does not raise its tock for an info.
    "TellsWithoutCounting: tock-of-an-info greets-again-later two-nodes-that-were-apart": around("outgoing.originate", _repeating)
    | {"election.originate": ORIGINATE},
    # Gives what it sends again a new tock.
    "SendsAgainWithANewTock: answers-with-an-update sent-again-with-its-own-tock old-data-is-sent-again": {
        "recovery.send_again": _with_new_tocks,
        "startup.send_again": _with_new_tocks,
    },
    # Does not take over ticks.
    "LearnsNotFromTicks: ticks-from-ticks ticks-from-ticks-of-a-new-node ticks-of-others restart-without-data": _learns(
        lambda message: replace(message, ticks=Table()) if isinstance(message, Info) else message
    ),
    # Takes what is missing for ticks that exist.
    "LearnsFromQuestions: ticks-not-from-missing answers-nothing-unknown": around(
        "transitions.ticks_in",
        lambda right, message: iter(
            [*right(message), *((n, r.ends[-1] - 1) for n, r in getattr(message, "missing", {}).items())]
        ),
    ),
    # Takes the tick received last, also if it is lower.
    "TakesTicksAsTheyCome: ticks-that-jump-back ticks-that-jump-back-in-a-ping ticks-of-others": {
        "transitions.latest": lambda ticks, heard: ticks.put(heard)
    },
    # Leaves nodes with the tick 0 out of ticks.
    "KeepsNoZeros: tick-zero-of-a-new-node head-greets-at-once": {
        "transitions.latest": lambda ticks, heard: latest(ticks, {node: tick for node, tick in heard.items() if tick})
    },
    # Shows its tick although it is empty.
    "ShowsItsTick: learns-its-tick-and-shows-zero ticks-without-entries before-it-participates restart-without-data": {
        "state.State.message_tick": property(lambda state: state.own_tick)
    },
}
__getattr__ = wrong.find
