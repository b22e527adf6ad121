"""Mistakes about what a node changes itself, and about its counters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import EVERYBODY, Asked, NodeId, Notify, Pick, Received, Send, Step, Table
from peerproof.spec.distkv import changes, outgoing, snapshot, transitions
from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.messages import DeleteValue, Fault, FaultKind, Info, Ping, SetValue, Update
from peerproof.spec.distkv.ranges import TICK_MAX
from peerproof.spec.distkv.state import State
from peerproof.spec.distkv.ticks import Ticks, latest
from peerproof.spec.errors import NotEnabled

CHANGE = changes.change
IS_NAMESAKE = transitions.is_of_namesake
ON_CHANGE = changes.on_change
ORIGINATE = outgoing.originate
TICKS_IN = transitions.ticks_in


class SkipsEqualValues(Wrong):
    """Does nothing if the value is there already."""

    caught_by: ClassVar = ("sets-the-same-value", "deletes-twice")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Or nothing."""
        after, effects = super().step(state, event, pick)
        if isinstance(event, Asked) and isinstance(event.command, (SetValue, DeleteValue)):
            before, now = (which.entries.rows.get(event.command.path) for which in (state, after))
            if before is not None and before.value == now.value:
                return Step(state)
        return Step(after, effects)


class SkipsDeletionsOfNothing(Wrong):
    """Does not delete what is not there."""

    caught_by: ClassVar = ("deletes-what-is-not-there",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Or nothing."""
        command = event.command if isinstance(event, Asked) else None
        if isinstance(command, DeleteValue) and command.path not in state.entries.rows:
            return Step(state)
        return super().step(state, event, pick)


class SendsAnything(Wrong):
    """Takes changes of any size."""

    caught_by: ClassVar = ("too-large", "too-large-as-configured", "too-large-by-its-chain")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With a limit that nothing reaches."""
        if not isinstance(event, Asked):
            return super().step(state, event, pick)
        roomy = replace(state, config=replace(state.config, max_payload=10**9))
        after, effects = super().step(roomy, event, pick)
        return Step(replace(after, config=state.config), effects)


class SpendsATickOnARefusal(Wrong):
    """Raises its tick before it sees that a change is too large."""

    caught_by: ClassVar = ("too-large",)
    spent: ClassVar[set[Any]] = set()

    def initial(self, self_id: Any, config: Any) -> Next:
        """Nothing yet."""
        self.spent.clear()
        return super().initial(self_id, config)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With the tick that was spent."""
        if self.spent:
            self.spent.clear()
            state = replace(state, ticks=state.ticks.put({state.self_id: state.own_tick + 1}), tock=state.tock + 1)
        try:
            return super().step(state, event, pick)
        except NotEnabled as refusal:
            self.spent.update(["it"] if refusal.reason == "too_large" else [])
            raise


class FitsOneByteLess(Wrong):
    """Refuses what just fits."""

    caught_by: ClassVar = ("as-large-as-can-be", "too-large-as-configured")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With a limit below."""
        if not (isinstance(event, Asked) and isinstance(event.command, SetValue)):
            return super().step(state, event, pick)
        shown = replace(state.config, ping_length=1, max_payload=state.config.max_payload - 1)
        after, effects = super().step(replace(state, config=shown), event, pick)
        return Step(replace(after, config=state.config), effects)


def _beyond_the_last(state: State, path: Any, value: Any) -> Next:
    try:
        return ON_CHANGE(state, path, value)
    except NotEnabled as refusal:
        if refusal.reason != "exhausted":
            raise
        return ON_CHANGE(
            replace(state, ticks=state.ticks.put({state.self_id: 0}), tock=min(state.tock, TICK_MAX - 1)), path, value
        )


class SilentWhenExhausted(Wrong):
    """Says nothing when no tock is left."""

    caught_by: ClassVar = ("after-the-last-tock",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without that fault."""
        after, effects = super().step(state, event, pick)
        unwanted = Notify(Fault(FaultKind.EXHAUSTED))
        return Step(after, tuple(effect for effect in effects if effect != unwanted))


class CountsItsOwnOnly(Wrong):
    """Does not look at the tocks that it receives."""

    caught_by: ClassVar = ("tock-of-a-message-received", "tock-of-a-ping", "tock-of-a-ping-received", "tock-of-an-info-received")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With its own tock."""
        after, effects = super().step(state, event, pick)
        if not isinstance(event, Received) or any(isinstance(effect, Send) for effect in effects):
            return Step(after, effects)
        return Step(replace(after, tock=state.tock), effects)


class TakesTheLastTock(Wrong):
    """Goes on from the tock received last, also if it is lower."""

    caught_by: ClassVar = ("tock-that-is-lower",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With that tock."""
        if isinstance(event, Received):
            state = replace(state, tock=event.message.tock)
        return super().step(state, event, pick)


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


class HidesItsTick(Wrong):
    """Shows the tick zero until it is ready."""

    caught_by: ClassVar = ("old-data-is-sent-again", "restart-with-data", "settling-nodes-recover-too")
    instead: ClassVar = {
        "state.State.message_tick": property(lambda state: state.own_tick if state.phase is snapshot.Phase.READY else 0)  # type: ignore[attr-defined]  # it is there
    }


class TellsOneNode(Wrong):
    """Sends its changes to one node."""

    caught_by: ClassVar = ("sets-a-value", "first-node")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """To the first that it knows."""
        after, effects = super().step(state, event, pick)
        to = next(iter(after.ticks.without([state.self_id])), NodeId("n2"))
        return Step(
            after, tuple(Send(to, e.message) if isinstance(e, Send) and isinstance(e.message, Update) else e for e in effects)
        )


class SendsItTwice(Wrong):
    """Sends each change twice."""

    caught_by: ClassVar = ("sets-three-values",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Each change once more."""
        after, effects = super().step(state, event, pick)
        again = [e for e in effects if isinstance(e, Send) and e.to == EVERYBODY and isinstance(e.message, Update)]
        return Step(after, (*effects, *again))


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
        "LearnsNotFromReasons": (
            "Learns no ticks from reasons.",
            _learns(lambda message: replace(message, reason=None) if isinstance(message, Info) else message),
            "ticks-from-a-reason",
        ),
        "LearnsNotFromKnown": (
            "Learns no ticks from what is known.",
            _learns(lambda message: replace(message, known=Table()) if isinstance(message, Info) else message),
            "ticks-from-known known-beyond-the-last",
        ),
        "LearnsNotFromTicks": (
            "Does not take over ticks.",
            _learns(lambda message: replace(message, ticks=Table()) if isinstance(message, Info) else message),
            "ticks-from-ticks ticks-from-ticks-of-a-new-node ticks-of-others restart-without-data",
        ),
        "LearnsNotFromSenders": (
            "Learns no tick from who sends an update again.",
            _learns(lambda message: replace(message, sender=None) if isinstance(message, Update) else message),
            "ticks-from-the-sender-of-an-update-again",
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
