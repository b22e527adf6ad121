"""Mistakes about what a node says to who misses changes, and how it asks itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import ASK_FOR, ON_MISSING, Next
from peerproof.spec.core import Pick, Received, Send, SetTimer, Step, Table
from peerproof.spec.distkv import entries, recovery
from peerproof.spec.distkv.entries import Answer
from peerproof.spec.distkv.messages import Info, RecoveryDue, RecoveryStep, RepairAllowed, RepairDue
from peerproof.spec.distkv.outgoing import cancel_timer, send_info, then
from peerproof.spec.distkv.schedule import Window
from peerproof.spec.distkv.state import Phase, State
from peerproof.spec.distkv.ticks import union

ANSWER = entries.answer
LOOK_FOR_REPAIR = recovery.look_for_repair
ON_INFO = recovery.on_info
ON_KNOWN_DUE = recovery.on_known_due
WITHOUT_WANTED = recovery.without_wanted

STEP_3 = RecoveryDue(RecoveryStep.KNOWN)


def answering(change: Callable[[Answer, Any, Any], Answer]) -> dict[str, Any]:
    """What is replaced to answer something else."""
    return {"recovery.answer": lambda stored, missing: change(ANSWER(stored, missing), stored, missing)}


class AnswersWithTheUnknown(Wrong):
    """Names in known also what it has never seen."""

    caught_by: ClassVar = ("answers-what-it-knows-of-it", "answers-nothing-unknown")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As if it was superseded."""
        message = getattr(event, "message", None)
        if isinstance(message, Info) and state.participates and message.chain.head.node != state.self_id:
            state = replace(state, entries=state.entries.mark_superseded(message.missing))
        return super().step(state, event, pick)


def _known_first(state: State) -> Next:
    _, known, _ = ANSWER(state.entries, state.wanted)
    first = send_info(state, "known", known) if known else Step(state)
    after, effects = ON_KNOWN_DUE(first.state)
    return Step(after, (*first.effects, *(e for e in effects if not (isinstance(e, Send) and isinstance(e.message, Info)))))


def _in_its_recovery(before: State, step: Next) -> Next:
    return Step(replace(step.state, recovery=before.recovery), step.effects)


def _in_its_phase(before: State, step: Next) -> Next:
    return Step(replace(step.state, phase=before.phase), step.effects)


class LooksAtHeadsOfUpdates(Wrong):
    """Takes only the head of an update for answered."""

    caught_by: ClassVar = ("answered-by-an-update-on-its-chain",)
    instead: ClassVar = {
        "changes.with_elements": lambda sets, elements: recovery.union(sets, _ticks_of(elements[:1]))  # type: ignore[attr-defined]  # it is there
    }


def _ticks_of(elements: Any) -> Any:
    from peerproof.spec.distkv.ticks import with_elements

    return with_elements(Table(), elements)


def _keeping_what_was_wanted(state: State) -> Next:
    after, effects = ON_KNOWN_DUE(state)
    return Step(replace(after, wanted=state.wanted), effects)


# How a node asks.


def repaired(look: Callable[[State, Pick], Next]) -> dict[str, Any]:
    """What is replaced to look otherwise for what is missing."""
    return {"transitions.look_for_repair": look}


def _not_allowed(state: State, ask: Callable[[State], Next]) -> Next:
    return ask(replace(state, timers=state.timers - {RepairAllowed()}))


class RecoveriesDoNotCount(Wrong):
    """Asks again after a recovery as if it had not asked in it."""

    caught_by: ClassVar = ("asked-in-a-recovery-and-not-again",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without that timer."""
        step = super().step(state, event, pick)
        return then(step, lambda now: cancel_timer(now, RepairAllowed())) if step.state.recovery is not None else step


class AsksImmediately(Wrong):
    """Asks as soon as something is missing."""

    caught_by: ClassVar = ("what-arrives-is-not-asked-for", "nothing-left-nothing-asked", "asks-after-4000-milliseconds")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """At once."""
        step = super().step(state, event, pick)
        if RepairDue() in step.state.timers and RepairDue() not in state.timers:
            return then(step, lambda now: ASK_FOR(now, now.missing), lambda now: cancel_timer(now, RepairDue()))
        return step


class AsksForWhatItMissedThen(Wrong):
    """Asks for what was missing when it began to wait."""

    caught_by: ClassVar = ("more-is-missing", "what-arrives-is-not-asked-for")
    then: ClassVar[dict[str, Any]] = {}

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With what it remembers."""
        after, effects = super().step(state, event, pick)
        if any(isinstance(effect, SetTimer) and effect.timer == RepairDue() for effect in effects):
            self.then[after.self_id] = after.missing
        remembered = self.then.get(after.self_id, Table())
        return Step(after, tuple(_asking_for(effect, remembered) for effect in effects))


def _asking_for(effect: Any, missing: Any) -> Any:
    if isinstance(effect, Send) and isinstance(effect.message, Info) and effect.message.missing:
        return Send(effect.to, replace(effect.message, missing=missing))
    return effect


class TakesQuestionsForKnowledge(Wrong):
    """Believes that a question names what its sender knows."""

    caught_by: ClassVar = ("answered-by-its-own-known", "known-of-what-is-missing", "asked-by-two")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As known."""
        message = getattr(event, "message", None)
        if isinstance(event, Received) and isinstance(message, Info) and message.missing:
            event = Received(
                event.now, event.sender, replace(message, known=union(message.known, message.missing), missing=Table())
            )
        return super().step(state, event, pick)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "AnswersWithWhatItKnows": (
            "Names in known also what its updates have told.",
            answering(lambda found, _, missing: found._replace(known=missing)),
            "answers-with-an-update answers-with-both answers-in-order",
        ),
        "AnswersWithAllThatItKnows": (
            "Names in known all that it has ever seen.",
            answering(lambda found, stored, _: found._replace(known=stored.known)),
            "answers-with-known answered-in-part answers-everybody",
        ),
        "AnswersWithAllSuperseded": (
            "Names in known all that is superseded.",
            answering(lambda found, stored, _: found._replace(known=stored.superseded())),
            "answers-with-known answers-everybody answers-with-an-update",
        ),
        "AnswersWithUpdatesOnly": (
            "Says nothing of what is superseded.",
            answering(lambda found, _stored, _missing: found._replace(known=Table())),
            "answers-with-known answers-with-both a-split-with-many-changes",
        ),
        "AnswersWithHeads": (
            "Sends an update only if its head is missing.",
            answering(
                lambda found, _, missing: found._replace(
                    updates=tuple(u for u in found.updates if (r := missing.get(u.chain.head.node)) and r.has(u.chain.head.tick))
                )
            ),
            "answers-with-the-whole-chain answers-with-the-end-of-a-chain answers-with-a-long-chain",
        ),
        "AnswersWithoutDeletions": (
            "Does not send what was deleted.",
            answering(
                lambda found, stored, _: found._replace(
                    updates=tuple(u for u in found.updates if not stored.rows[u.path].is_deleted)
                )
            ),
            "answers-with-a-deletion answers-in-order",
        ),
        "AnswersByPath": (
            "Sends updates in the order of their paths.",
            answering(
                lambda found, _stored, _missing: found._replace(updates=tuple(sorted(found.updates, key=lambda u: u.path)))
            ),
            "answers-in-order answers-with-both",
        ),
        "KnownComesFirst": (
            "Names what is superseded before it sends updates.",
            {"recovery.on_known_due": _known_first},
            "answers-with-both answers-in-order the-other-of-the-two-answers",
        ),
        "AnswersOnTheChainOnly": (
            "Answers nothing off the chain.",
            {
                "recovery._on_missing": lambda state, info: (
                    Step(state) if state.last is None or state.position(state.last.chain) is None else ON_MISSING(state, info)
                )
            },
            "answers-off-the-chain answers-off-a-longer-chain",
        ),
        "AnswersTheChainOnly": (
            "Answers nobody who is not on its chain.",
            {
                "recovery._on_missing": lambda state, info: (
                    ON_MISSING(state, info)
                    if state.last and state.last.chain.position(info.chain.head.node) is not None
                    else Step(state)
                )
            },
            "answers-everybody",
        ),
        "AnswersByTheNewChain": (
            "Goes by its position on the chain of last, also in a recovery.",
            {
                "recovery._on_missing": lambda state, info: _in_its_recovery(
                    state, ON_MISSING(replace(state, recovery=None), info)
                )
            },
            "answers-in-a-recovery",
        ),
        "AnswersBeforeItIsReady": (
            "Answers although it has no data.",
            {
                "recovery._on_missing": lambda state, info: _in_its_phase(
                    state, ON_MISSING(replace(state, phase=Phase.READY), info)
                )
            },
            "old-nodes-answer-nothing passive-nodes-answer-nothing",
        ),
        "AnswersInAnyCase": (
            "Answers also what others have answered meanwhile.",
            {"recovery.without_wanted": lambda state, _: state},
            "answered-by-an-update answered-by-known answered-in-part answered-whole",
        ),
        "AnsweredByAnything": (
            "Answers nothing any more once somebody has answered something.",
            {"recovery.without_wanted": lambda state, said: WITHOUT_WANTED(state, state.wanted) if said else state},
            "answered-in-part answered-by-known answered-by-an-update",
        ),
        "AnswersLaterAndLater": (
            "Begins to wait anew with each question.",
            {"recovery._on_missing": lambda state, info: ON_MISSING(replace(state, timers=state.timers - {STEP_3}), info)},
            "asked-by-two",
        ),
        "AnswersTheLast": (
            "Forgets what was asked for when it is asked again.",
            {
                "recovery._on_missing": lambda state, info: (
                    ON_MISSING(replace(state, wanted=Table()), info) if state.participates else Step(state)
                )
            },
            "asked-by-two",
        ),
        "AnswersAgain": (
            "Does not forget what it has answered.",
            {"transitions.on_known_due": _keeping_what_was_wanted},
            "asked-later",
        ),
        "MissingFirst": (
            "Looks at what is missing before it looks at what is known.",
            {
                "transitions.on_info": lambda state, info: then(
                    ON_INFO(state, replace(info, known=Table())),
                    lambda now: ON_INFO(now, replace(info, missing=Table(), ticks=Table(), reason=None)),
                )
            },
            "known-before-missing",
        ),
        "LastOfAllReasons": (
            "Looks at ticks before it looks at the reason.",
            {
                "transitions.on_info": lambda state, info: then(
                    ON_INFO(state, replace(info, reason=None)),
                    lambda now: ON_INFO(now, replace(info, ticks=Table(), known=Table(), missing=Table())),
                )
            },
            "reason-with-what-is-missing",
        ),
        "AsksAllTheTime": (
            "Asks as often as something is missing.",
            repaired(lambda state, pick: _not_allowed(state, lambda now: LOOK_FOR_REPAIR(now, pick))),
            "not-again-for-ten-clocks asked-in-a-recovery-and-not-again",
        ),
        "AsksOnceInTwentyClocks": (
            "Asks half as often as it may.",
            {"schedule.repair_allowed": lambda clock: 20 * clock},
            "not-again-for-ten-clocks asked-in-a-recovery-and-not-again",
        ),
        "AsksInARecovery": (
            "Asks by chance in a recovery, too.",
            repaired(lambda state, pick: _in_its_recovery(state, LOOK_FOR_REPAIR(replace(state, recovery=None), pick))),
            "no-repair-in-a-recovery a-split-stops-it",
        ),
        "AsksWithoutData": (
            "Asks although it has no data.",
            repaired(lambda state, pick: _in_its_phase(state, LOOK_FOR_REPAIR(replace(state, phase=Phase.READY), pick))),
            "passive-nodes-ask-nothing restart-without-data",
        ),
        "AsksAfterHalfAClock": (
            "Asks between half a clock and one.",
            {"schedule.repair": lambda clock: Window(clock // 2, clock)},
            "asks-after-5555-milliseconds asks-after-8000-milliseconds missing-anew-is-drawn-anew",
        ),
        "AsksLater": (
            "Begins to wait anew when more is missing.",
            repaired(
                lambda state, pick: LOOK_FOR_REPAIR(
                    replace(state, timers=state.timers - {RepairDue()}) if len(state.missing) > 1 else state, pick
                )
            ),
            "more-is-missing",
        ),
        "KeepsAsking": (
            "Does not stop the timer when nothing is missing any more.",
            repaired(
                lambda state, pick: (
                    LOOK_FOR_REPAIR(state, pick) if state.misses or RepairDue() not in state.timers else Step(state)
                )
            ),
            "missing-anew-is-drawn-anew",
        ),
        "AsksForOthersOnly": (
            "Does not ask for changes of its own name.",
            {
                "recovery.ask_for": lambda state, missing: ASK_FOR(state, missing.without([state.self_id])),
            },
            "a-tick-of-its-own-is-missing had-lost-its-data settling-nodes-recover-too",
        ),
    },
)
__getattr__ = MISTAKES.find
