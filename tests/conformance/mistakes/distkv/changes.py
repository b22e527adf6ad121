"""Mistakes about what a node changes itself, and about its counters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import Pick, Received, Send, Step, Table
from peerproof.spec.distkv import changes, outgoing, transitions
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import Info, Ping, Update
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.state import State
from peerproof.spec.distkv.ticks import Ticks, latest
from peerproof.spec.errors import NotEnabled

CHANGE = changes.change
ON_CHANGE = changes.on_change
ORIGINATE = outgoing.originate
TICKS_IN = transitions.ticks_in


def _beyond_the_last(state: State, path: Any, value: Any) -> Next:
    try:
        return ON_CHANGE(state, path, value)
    except NotEnabled as refusal:
        if refusal.reason != "exhausted":
            raise
        return ON_CHANGE(
            replace(state, ticks=state.ticks.put({state.self_id: 0}), tock=min(state.tock, TICK_MAX - 1)), path, value
        )


class CountsItsOwnOnly(Wrong):
    """Does not look at the tocks that it receives."""

    caught_by: ClassVar = ("tock-of-a-message-received", "tock-of-a-ping", "tock-of-a-ping-received", "tock-of-an-info-received")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With its own tock."""
        after, effects = super().step(state, event, pick)
        if not isinstance(event, Received) or any(isinstance(effect, Send) for effect in effects):
            return Step(after, effects)
        return Step(replace(after, tock=state.tock), effects)


def _repeating(state: State, make: Any) -> Any:
    message, (after, effects) = ORIGINATE(state, lambda _: make(state.tock))
    return message, Step(replace(after, tock=state.tock), effects)


def _with_new_tocks(state: State, updates: Any) -> Next:
    taken: Next = Step(state)
    for update in updates:
        taken = outgoing.then(taken, lambda now, update=update: ORIGINATE(now, lambda tock: replace(update, tock=tock))[1])  # type: ignore[misc]  # bound at once
    return taken


def _learns(without: Any) -> dict[str, Any]:
    """What is replaced to learn no ticks from a part of messages."""
    return {"transitions.ticks_in": lambda message: TICKS_IN(without(message))}


def _only_head(message: Any) -> Any:
    return replace(message, chain=Chain((message.chain.head,), cut=True))


class LearnsFromHeadsOnly(Wrong):
    """Learns no ticks from what stands behind the head."""

    caught_by: ClassVar = (
        *("ticks-from-the-chain-of-an-update", "ticks-from-the-chain-of-a-ping", "ticks-from-the-prev-of-an-info"),
        "tick-of-its-own-from-another-chain",
    )
    instead: ClassVar = _learns(_only_head)


class LearnsNotFromPings(Wrong):
    """Learns no ticks from pings."""

    caught_by: ClassVar = ("ticks-from-a-ping", "ticks-from-the-chain-of-a-ping", "a-gap-that-a-ping-shows")
    instead: ClassVar = _learns(
        lambda message: replace(message, chain=Chain((Element("z", None),))) if isinstance(message, Ping) else message  # type: ignore[arg-type]  # a name
    )


def _as_they_come(ticks: Ticks, heard: Any) -> Ticks:
    return ticks.put(heard)


class CountsItsChangesOnly(Wrong):
    """Takes no tick of its own from others."""

    caught_by: ClassVar = (
        *(
            "tick-of-its-own-is-continued",
            "restart-without-data-in-a-network",
            "had-lost-its-data",
            "tick-learnt-before-the-download",
        ),
    )

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With its own."""
        own = state.own_tick
        after, effects = super().step(state, event, pick)
        if not any(isinstance(effect, Send) and isinstance(effect.message, Update) for effect in effects):
            after = replace(after, ticks=after.ticks.put({state.self_id: own}) if own else after.ticks.without([state.self_id]))
        return Step(after, effects)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "TakesChangesBeforeItIsReady": (
            "Lets clients change something in any phase.",
            {"transitions.on_change": CHANGE},
            "passive-nodes-refuse-changes old-nodes-refuse-changes had-lost-its-data",
        ),
        "TakesChangesAboutTheSystem": (
            "Lets clients change what is about the system itself.",
            {"changes.is_meta": lambda _: False},
            "about-the-system",
        ),
        "BeginsAnew": (
            "Goes on with the tick 1 after the last.",
            {"transitions.on_change": _beyond_the_last},
            "the-last-tick the-last-tock",
        ),
        "PingsWithoutCounting": (
            "Raises its tock for changes only.",
            {"election.originate": _repeating},
            "new-node first-node tock-of-a-ping",
        ),
        "TellsWithoutCounting": (
            "Does not raise its tock for an info.",
            {"outgoing.originate": _repeating, "election.originate": ORIGINATE},
            "tock-of-an-info greets-again-later two-nodes-that-were-apart",
        ),
        "SendsAgainWithANewTock": (
            "Gives what it sends again a new tock.",
            {"recovery.send_again": _with_new_tocks, "startup.send_again": _with_new_tocks},
            "answers-with-an-update sent-again-with-its-own-tock old-data-is-sent-again",
        ),
        "LearnsNotFromTicks": (
            "Does not take over ticks.",
            _learns(lambda message: replace(message, ticks=Table()) if isinstance(message, Info) else message),
            "ticks-from-ticks ticks-from-ticks-of-a-new-node ticks-of-others restart-without-data",
        ),
        "LearnsFromQuestions": (
            "Takes what is missing for ticks that exist.",
            {
                "transitions.ticks_in": lambda message: iter(
                    [*TICKS_IN(message), *((n, r.ends[-1] - 1) for n, r in getattr(message, "missing", {}).items())]
                )
            },
            "ticks-not-from-missing answers-nothing-unknown",
        ),
        "TakesTicksAsTheyCome": (
            "Takes the tick received last, also if it is lower.",
            {"transitions.latest": _as_they_come},
            "ticks-that-jump-back ticks-that-jump-back-in-a-ping ticks-of-others",
        ),
        "KeepsNoZeros": (
            "Leaves nodes with the tick 0 out of ticks.",
            {"transitions.latest": lambda ticks, heard: latest(ticks, {node: tick for node, tick in heard.items() if tick})},
            "tick-zero-of-a-new-node head-greets-at-once",
        ),
        "ShowsItsTick": (
            "Shows its tick although it is empty.",
            {"state.State.message_tick": property(lambda state: state.own_tick)},
            "learns-its-tick-and-shows-zero ticks-without-entries before-it-participates restart-without-data",
        ),
    },
)
__getattr__ = MISTAKES.find
