"""Mistakes about what a node says to who misses changes, and how it asks itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.mistakes.distkv import Wrong

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


class AnswersWithWhatItKnows(Wrong):
    """Names in known also what its updates have told."""

    caught_by: ClassVar = ("answers-with-an-update", "answers-with-both", "answers-in-order")
    instead: ClassVar = answering(lambda found, _, missing: found._replace(known=missing))


class AnswersWithAllThatItKnows(Wrong):
    """Names in known all that it has ever seen."""

    caught_by: ClassVar = ("answers-with-known", "answered-in-part", "answers-everybody")
    instead: ClassVar = answering(lambda found, stored, _: found._replace(known=stored.known))


class AnswersWithAllSuperseded(Wrong):
    """Names in known all that is superseded."""

    caught_by: ClassVar = ("answers-with-known", "answers-everybody", "answers-with-an-update")
    instead: ClassVar = answering(lambda found, stored, _: found._replace(known=stored.superseded()))


class AnswersWithUpdatesOnly(Wrong):
    """Says nothing of what is superseded."""

    caught_by: ClassVar = ("answers-with-known", "answers-with-both", "a-split-with-many-changes")
    instead: ClassVar = answering(lambda found, _stored, _missing: found._replace(known=Table()))


class AnswersWithHeads(Wrong):
    """Sends an update only if its head is missing."""

    caught_by: ClassVar = ("answers-with-the-whole-chain", "answers-with-the-end-of-a-chain", "answers-with-a-long-chain")
    instead: ClassVar = answering(
        lambda found, _, missing: found._replace(
            updates=tuple(u for u in found.updates if (r := missing.get(u.chain.head.node)) and r.has(u.chain.head.tick))
        )
    )


class AnswersWithoutDeletions(Wrong):
    """Does not send what was deleted."""

    caught_by: ClassVar = ("answers-with-a-deletion", "answers-in-order")
    instead: ClassVar = answering(
        lambda found, stored, _: found._replace(updates=tuple(u for u in found.updates if not stored.rows[u.path].is_deleted))
    )


class AnswersByPath(Wrong):
    """Sends updates in the order of their paths."""

    caught_by: ClassVar = ("answers-in-order", "answers-with-both")
    instead: ClassVar = answering(
        lambda found, _stored, _missing: found._replace(updates=tuple(sorted(found.updates, key=lambda u: u.path)))
    )


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


class KnownComesFirst(Wrong):
    """Names what is superseded before it sends updates."""

    caught_by: ClassVar = ("answers-with-both", "answers-in-order", "the-other-of-the-two-answers")
    instead: ClassVar = {"recovery.on_known_due": _known_first}


class AnswersOnTheChainOnly(Wrong):
    """Answers nothing off the chain."""

    caught_by: ClassVar = ("answers-off-the-chain", "answers-off-a-longer-chain")
    instead: ClassVar = {
        "recovery._on_missing": lambda state, info: (
            Step(state) if state.last is None or state.position(state.last.chain) is None else ON_MISSING(state, info)
        )
    }


class AnswersTheChainOnly(Wrong):
    """Answers nobody who is not on its chain."""

    caught_by: ClassVar = ("answers-everybody",)
    instead: ClassVar = {
        "recovery._on_missing": lambda state, info: (
            ON_MISSING(state, info) if state.last and state.last.chain.position(info.chain.head.node) is not None else Step(state)
        )
    }


class AnswersByTheNewChain(Wrong):
    """Goes by its position on the chain of last, also in a recovery."""

    caught_by: ClassVar = ("answers-in-a-recovery",)
    instead: ClassVar = {
        "recovery._on_missing": lambda state, info: _in_its_recovery(state, ON_MISSING(replace(state, recovery=None), info))
    }


def _in_its_recovery(before: State, step: Next) -> Next:
    return Step(replace(step.state, recovery=before.recovery), step.effects)


class AnswersBeforeItIsReady(Wrong):
    """Answers although it has no data."""

    caught_by: ClassVar = ("old-nodes-answer-nothing", "passive-nodes-answer-nothing")
    instead: ClassVar = {
        "recovery._on_missing": lambda state, info: _in_its_phase(state, ON_MISSING(replace(state, phase=Phase.READY), info))
    }


def _in_its_phase(before: State, step: Next) -> Next:
    return Step(replace(step.state, phase=before.phase), step.effects)


class AnswersInAnyCase(Wrong):
    """Answers also what others have answered meanwhile."""

    caught_by: ClassVar = ("answered-by-an-update", "answered-by-known", "answered-in-part", "answered-whole")
    instead: ClassVar = {"recovery.without_wanted": lambda state, _: state}


class LooksAtHeadsOfUpdates(Wrong):
    """Takes only the head of an update for answered."""

    caught_by: ClassVar = ("answered-by-an-update-on-its-chain",)
    instead: ClassVar = {
        "changes.with_elements": lambda sets, elements: recovery.union(sets, _ticks_of(elements[:1]))  # type: ignore[attr-defined]  # it is there
    }


def _ticks_of(elements: Any) -> Any:
    from peerproof.spec.distkv.ticks import with_elements

    return with_elements(Table(), elements)


class AnsweredByAnything(Wrong):
    """Answers nothing any more once somebody has answered something."""

    caught_by: ClassVar = ("answered-in-part", "answered-by-known", "answered-by-an-update")
    instead: ClassVar = {"recovery.without_wanted": lambda state, said: WITHOUT_WANTED(state, state.wanted) if said else state}


class AnswersLaterAndLater(Wrong):
    """Begins to wait anew with each question."""

    caught_by: ClassVar = ("asked-by-two",)
    instead: ClassVar = {
        "recovery._on_missing": lambda state, info: ON_MISSING(replace(state, timers=state.timers - {STEP_3}), info)
    }


class AnswersTheLast(Wrong):
    """Forgets what was asked for when it is asked again."""

    caught_by: ClassVar = ("asked-by-two",)
    instead: ClassVar = {
        "recovery._on_missing": lambda state, info: (
            ON_MISSING(replace(state, wanted=Table()), info) if state.participates else Step(state)
        )
    }


def _keeping_what_was_wanted(state: State) -> Next:
    after, effects = ON_KNOWN_DUE(state)
    return Step(replace(after, wanted=state.wanted), effects)


class AnswersAgain(Wrong):
    """Does not forget what it has answered."""

    caught_by: ClassVar = ("asked-later",)
    instead: ClassVar = {"transitions.on_known_due": _keeping_what_was_wanted}


class MissingFirst(Wrong):
    """Looks at what is missing before it looks at what is known."""

    caught_by: ClassVar = ("known-before-missing",)
    instead: ClassVar = {
        "transitions.on_info": lambda state, info: then(
            ON_INFO(state, replace(info, known=Table())),
            lambda now: ON_INFO(now, replace(info, missing=Table(), ticks=Table(), reason=None)),
        )
    }


class LastOfAllReasons(Wrong):
    """Looks at ticks before it looks at the reason."""

    caught_by: ClassVar = ("reason-with-what-is-missing",)
    instead: ClassVar = {
        "transitions.on_info": lambda state, info: then(
            ON_INFO(state, replace(info, reason=None)),
            lambda now: ON_INFO(now, replace(info, ticks=Table(), known=Table(), missing=Table())),
        )
    }


# How a node asks.


def repaired(look: Callable[[State, Pick], Next]) -> dict[str, Any]:
    """What is replaced to look otherwise for what is missing."""
    return {"transitions.look_for_repair": look}


def _not_allowed(state: State, ask: Callable[[State], Next]) -> Next:
    return ask(replace(state, timers=state.timers - {RepairAllowed()}))


class AsksAllTheTime(Wrong):
    """Asks as often as something is missing."""

    caught_by: ClassVar = ("not-again-for-ten-clocks", "asked-in-a-recovery-and-not-again")
    instead: ClassVar = repaired(lambda state, pick: _not_allowed(state, lambda now: LOOK_FOR_REPAIR(now, pick)))


class AsksOnceInTwentyClocks(Wrong):
    """Asks half as often as it may."""

    caught_by: ClassVar = ("not-again-for-ten-clocks", "asked-in-a-recovery-and-not-again")
    instead: ClassVar = {"schedule.repair_allowed": lambda clock: 20 * clock}


class RecoveriesDoNotCount(Wrong):
    """Asks again after a recovery as if it had not asked in it."""

    caught_by: ClassVar = ("asked-in-a-recovery-and-not-again",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without that timer."""
        step = super().step(state, event, pick)
        return then(step, lambda now: cancel_timer(now, RepairAllowed())) if step.state.recovery is not None else step


class AsksInARecovery(Wrong):
    """Asks by chance in a recovery, too."""

    caught_by: ClassVar = ("no-repair-in-a-recovery", "a-split-stops-it")
    instead: ClassVar = repaired(
        lambda state, pick: _in_its_recovery(state, LOOK_FOR_REPAIR(replace(state, recovery=None), pick))
    )


class AsksWithoutData(Wrong):
    """Asks although it has no data."""

    caught_by: ClassVar = ("passive-nodes-ask-nothing", "restart-without-data")
    instead: ClassVar = repaired(
        lambda state, pick: _in_its_phase(state, LOOK_FOR_REPAIR(replace(state, phase=Phase.READY), pick))
    )


class AsksAfterHalfAClock(Wrong):
    """Asks between half a clock and one."""

    caught_by: ClassVar = ("asks-after-5555-milliseconds", "asks-after-8000-milliseconds", "missing-anew-is-drawn-anew")
    instead: ClassVar = {"schedule.repair": lambda clock: Window(clock // 2, clock)}


class AsksImmediately(Wrong):
    """Asks as soon as something is missing."""

    caught_by: ClassVar = ("what-arrives-is-not-asked-for", "nothing-left-nothing-asked", "asks-after-4000-milliseconds")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """At once."""
        step = super().step(state, event, pick)
        if RepairDue() in step.state.timers and RepairDue() not in state.timers:
            return then(step, lambda now: ASK_FOR(now, now.missing), lambda now: cancel_timer(now, RepairDue()))
        return step


class AsksLater(Wrong):
    """Begins to wait anew when more is missing."""

    caught_by: ClassVar = ("more-is-missing",)
    instead: ClassVar = repaired(
        lambda state, pick: LOOK_FOR_REPAIR(
            replace(state, timers=state.timers - {RepairDue()}) if len(state.missing) > 1 else state, pick
        )
    )


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


class KeepsAsking(Wrong):
    """Does not stop the timer when nothing is missing any more."""

    caught_by: ClassVar = ("missing-anew-is-drawn-anew",)
    instead: ClassVar = repaired(
        lambda state, pick: LOOK_FOR_REPAIR(state, pick) if state.misses or RepairDue() not in state.timers else Step(state)
    )


class AsksForOthersOnly(Wrong):
    """Does not ask for changes of its own name."""

    caught_by: ClassVar = ("a-tick-of-its-own-is-missing", "had-lost-its-data", "settling-nodes-recover-too")
    instead: ClassVar = {
        "recovery.ask_for": lambda state, missing: ASK_FOR(state, missing.without([state.self_id])),
    }


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
