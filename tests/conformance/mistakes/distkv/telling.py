"""Mistakes about the steps of a recovery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import BEGIN, Next
from peerproof.spec.core import Notify, Pick, Received, Step, Table
from peerproof.spec.distkv import recovery as recovering
from peerproof.spec.distkv import schedule
from peerproof.spec.distkv.chains import Chain, agree
from peerproof.spec.distkv.messages import Info, RecoveryDue, RecoveryOver, RecoveryStep, SplitHealed, Timer
from peerproof.spec.distkv.outgoing import send_info, set_timer, then
from peerproof.spec.distkv.state import Phase, Recovery, State

NEXT_IS_MISSING = recovering._next_is_missing
ON_TICKS = recovering._on_ticks
ON_TICKS_DUE = recovering.on_ticks_due
RECOVERY = schedule.recovery

STEP_1, STEP_2 = RecoveryDue(RecoveryStep.TICKS), RecoveryDue(RecoveryStep.MISSING)


def delayed(when: Callable[..., Any]) -> dict[str, Any]:
    """What is replaced to take the steps at other moments."""
    return {"schedule.recovery": when}


def saying(change: Callable[[Chain | None, Chain | None], tuple[Chain | None, Chain | None]]) -> dict[str, Any]:
    """What is replaced for infos to answer other chains, or give other reasons."""
    return {
        "recovery.send_info": lambda state, what, rows, prev=None, reason=None: send_info(
            state, what, rows, *change(prev, reason)
        )
    }


class EndsWhereItAnswersNothing(Wrong):
    """Writes the chain of an info that answers nothing as if it ended."""

    caught_by: ClassVar = ("info-with-ticks", "the-other-of-the-two", "answers-with-known")

    def encode(self, message: Any) -> bytes:
        """With a prev that is Null."""
        if isinstance(message, Info) and len(message.chain.elements) == 1:
            message = replace(message, chain=Chain(message.chain.elements))
        return super().encode(message)


def _with_reason(state: State) -> Next:
    recovery = state.recovery
    return ON_TICKS_DUE(state if recovery is None else replace(state, recovery=recovery._replace(lost=True)))


def _other_chain(state: State) -> Next:
    recovery = state.recovery
    if recovery is None or not recovery.lost:
        return ON_TICKS_DUE(state)
    return recovering.tell_ticks(state, recovery.ping, recovery.ping)


class BeginsAgain(Wrong):
    """Begins another recovery in the middle of one."""

    caught_by: ClassVar = ("another-split-meanwhile", "reason-twice")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As if there was none."""
        if isinstance(event, Received) and state.recovery is not None:
            step = super().step(replace(state, recovery=None), event, pick)
            return step if step.state.recovery is not None else super().step(state, event, pick)
        return super().step(state, event, pick)


class EndsAfterTwoClocks(Wrong):
    """Ends a recovery after two clocks."""

    caught_by: ClassVar = ("over-after-three-clocks", "another-split-meanwhile")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With a shorter time."""
        after, effects = super().step(state, event, pick)
        clock = after.config.clock
        return Step(
            after,
            tuple(
                type(e)(e.timer, 2 * clock) if getattr(e, "timer", None) == RecoveryOver() and hasattr(e, "after") else e
                for e in effects
            ),
        )


class TellsNobodyOfSplits(Wrong):
    """Does not say that a split has healed."""

    caught_by: ClassVar = ("split-won", "split-lost", "two-nodes-that-were-apart", "reason-begins-a-recovery")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without that."""
        after, effects = super().step(state, event, pick)
        return Step(after, tuple(effect for effect in effects if effect != Notify(SplitHealed())))


class AnybodySilences(Wrong):
    """Does not look at who says something."""

    caught_by: ClassVar = (
        "not-silenced-by-the-other-side",
        "not-silenced-by-who-is-on-no-chain",
        "missing-although-the-other-side-asked",
    )

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As if all were of one side."""
        message = getattr(event, "message", None)
        recovery = state.recovery
        if isinstance(message, Info) and recovery is not None and message.chain.head.node != state.self_id:
            state = replace(state, recovery=recovery._replace(side=recovery.side | {message.chain.head.node}))
        return super().step(state, event, pick)


class NobodySilences(Wrong):
    """Sends its ticks although an earlier node has."""

    caught_by: ClassVar = ("silenced-by-an-earlier-node", "silenced-on-the-side-that-won", "side-of-all")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As if nobody was of its side."""
        recovery = state.recovery
        if isinstance(event, Received) and recovery is not None:
            state = replace(state, recovery=recovery._replace(side=frozenset()))
        return super().step(state, event, pick)


class SilencedWithoutAReason(Wrong):
    """Is silenced by ticks without the reason that is needed."""

    caught_by: ClassVar = ("not-silenced-without-the-reason",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As if none was needed."""
        recovery = state.recovery
        if not (isinstance(event, Received) and recovery is not None and recovery.lost):
            return super().step(state, event, pick)
        after, effects = super().step(replace(state, recovery=recovery._replace(lost=False)), event, pick)
        now = after.recovery
        return Step(after if now is None else replace(after, recovery=now._replace(lost=True)), effects)


def _unless_new(before: State, step: Next) -> Next:
    if STEP_2 in before.timers or STEP_2 not in step.state.timers:
        return step
    return Step(
        replace(step.state, timers=step.state.timers - {STEP_2}),
        tuple(e for e in step.effects if getattr(e, "timer", None) != STEP_2),
    )


class AsksForEverything(Wrong):
    """Asks also for what others of its side have asked for."""

    caught_by: ClassVar = ("missing-without-what-is-covered", "missing-all-covered")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With nothing covered."""
        after, effects = super().step(state, event, pick)
        recovery: Recovery | None = after.recovery
        return Step(after if recovery is None else replace(after, recovery=recovery._replace(covered=Table())), effects)


class OffTheChainItSpeaks(Wrong):
    """Takes the steps of a recovery although it is off its chain."""

    caught_by: ClassVar = ("off-the-chain-it-waits", "reason-off-the-chain")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Last of all."""
        step = super().step(state, event, pick)
        recovery = step.state.recovery
        if state.recovery is None and recovery is not None and step.state.position(recovery.mine) is None:
            return then(step, lambda now: set_timer(now, STEP_1, now.config.clock))
        return step


class SettlesFirst(Wrong):
    """Does not recover before it is ready."""

    caught_by: ClassVar = ("settling-nodes-recover-too",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """As if it was passive."""
        after, effects = super().step(state, event, pick)
        if after.phase is not Phase.SETTLING or after.recovery is None:
            return Step(after, effects)
        timers: frozenset[Timer] = after.timers - {STEP_1, STEP_2, RecoveryOver()}
        return Step(replace(after, recovery=None, timers=timers), tuple(e for e in effects if not _is_of_recovery(e)))


def _is_of_recovery(effect: Any) -> bool:
    return effect == Notify(SplitHealed()) or getattr(effect, "timer", None) in (STEP_1, STEP_2, RecoveryOver())


class TellsWithoutASplit(Wrong):
    """Answers ticks with its own, whenever it sees some that are below."""

    caught_by: ClassVar = ("ticks-without-a-recovery", "greeted-by-another-with-less")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Answers."""
        step = super().step(state, event, pick)
        message = getattr(event, "message", None)
        if isinstance(message, Info) and message.ticks and state.recovery is None and state.participates:
            return then(step, lambda now: send_info(now, "ticks", now.ticks))
        return step


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "StepsOfAQuarter": (
            "Waits for a quarter of a clock for each position.",
            delayed(lambda clock, step, place: RECOVERY(clock, step, 0) + place * clock // 4),
            "greets-at-the-position-1 ticks-at-the-position-2-when-lost answers-at-the-position-1",
        ),
        "StepsOfHalfAClock": (
            "Waits for half a clock for each position.",
            delayed(lambda clock, step, place: RECOVERY(clock, step, 0) + place * clock // 2),
            "greets-at-the-position-2 ticks-at-the-position-3-when-won answers-at-the-position-3",
        ),
        "AsksAtOnce": (
            "Does not wait before it asks for what it misses, if it is first.",
            delayed(lambda clock, _step, place: RECOVERY(clock, RecoveryStep.TICKS, place)),
            "two-nodes-that-were-apart missing-at-the-position-1 missing-after-the-own-ticks",
        ),
        "EverybodyAtOnce": (
            "Takes every step at once, wherever it stands.",
            delayed(lambda clock, step, _place: RECOVERY(clock, step, 0)),
            "greets-at-the-position-1 ticks-at-the-position-1-when-lost silenced-by-an-earlier-node",
        ),
        "AnswersTheHead": (
            "Gives the newest element of the chain that an info answers.",
            saying(lambda prev, reason: (prev and prev.within(1), reason)),
            "two-nodes-that-were-apart ticks-at-the-position-1-when-lost ticks-at-the-position-1-when-won",
        ),
        "AnswersBehind": (
            "Gives what stands behind the ping that an info answers.",
            saying(lambda prev, reason: (prev and prev.prev, reason)),
            "two-nodes-that-were-apart ticks-of-the-head-when-lost head-greets-at-once",
        ),
        "GivesReasonsAlways": (
            "Gives its chain as the reason, whichever side it is on.",
            {"recovery.on_ticks_due": _with_reason},
            "ticks-at-the-position-1-when-won the-other-of-the-two reason-begins-a-recovery ticks-of-the-head-when-won",
        ),
        "GivesTheWrongReason": (
            "Gives the chain that won as the reason.",
            {"recovery.on_ticks_due": _other_chain},
            "two-nodes-that-were-apart ticks-at-the-position-1-when-lost ticks-of-the-head-when-lost",
        ),
        "LooksAtNoReason": (
            "Does not begin because of a reason.",
            {"recovery._on_reason": lambda state, _: Step(state)},
            "the-other-of-the-two reason-begins-a-recovery reason-without-ticks reason-off-the-chain",
        ),
        "BeginsForItsOwnChain": (
            "Begins because of any reason.",
            {
                "recovery._on_reason": lambda state, reason: (
                    BEGIN(state, state.last.chain, reason, lost=False, is_reason=True) if state.last else Step(state)
                )
            },
            "reason-that-is-the-own-chain reason-that-is-the-own-chain-up-to-the-cut",
        ),
        "AnswersTheReason": (
            "Answers the reason as if it was a ping.",
            {
                "recovery._on_reason": lambda state, reason: (
                    Step(state)
                    if state.last is None or agree(state.last.chain, reason)
                    else BEGIN(state, state.last.chain, reason, lost=False, is_reason=False)
                )
            },
            "the-other-of-the-two reason-begins-a-recovery reason-without-ticks",
        ),
        "RecoversForEver": (
            "Does not end a recovery.",
            {"transitions.on_recovery_over": Step},
            "over-after-three-clocks another-split-later off-the-chain-it-asks-in-the-end",
        ),
        "EndsWithoutAWord": (
            "Leaves the timers of a recovery that is over running.",
            {"transitions.on_recovery_over": lambda state: Step(replace(state, recovery=None))},
            "over-before-what-is-missing",
        ),
        "RecoversIfItLost": (
            "Begins only on the side that lost.",
            {
                "election.begin": lambda state, mine, other, *, lost, is_reason: (
                    BEGIN(state, mine, other, lost=lost, is_reason=is_reason) if lost else Step(state)
                )
            },
            "split-lost ticks-at-the-position-1-when-won",
        ),
        "RecoversOnTheNewChain": (
            "Goes by its position on the chain that it has accepted.",
            {
                "election.begin": lambda state, _mine, other, *, lost, is_reason: BEGIN(
                    state, state.last.chain, other, lost=lost, is_reason=is_reason
                )
            },
            "ticks-at-the-position-1-when-lost ticks-of-the-head-when-lost two-nodes-that-were-apart",
        ),
        "EverybodyIsOfItsSide": (
            "Takes everybody on its chain from before for its side.",
            {"recovery.side_of": lambda mine, _: frozenset(node for node, _ in mine.elements)},
            "side-without-who-stands-behind side-where-the-other-is-longer side-up-to-the-cut",
        ),
        "HeadIsTheSide": (
            "Takes the head alone for its side.",
            {"recovery.side_of": lambda mine, _: frozenset([mine.head.node])},
            "silenced-by-a-later-node side-of-all side-where-the-other-is-shorter",
        ),
        "AsksLaterAndLater": (
            "Begins to wait anew with each ticks message.",
            {"recovery._next_is_missing": lambda state: NEXT_IS_MISSING(replace(state, timers=state.timers - {STEP_2}))},
            "missing-counts-from-the-first",
        ),
        "AsksAfterItsOwnTicks": (
            "Counts from its own ticks message only.",
            {"recovery._on_ticks": lambda state, info: _unless_new(state, ON_TICKS(state, info))},
            "missing-at-the-position-1 missing-at-the-position-3",
        ),
    },
)
__getattr__ = MISTAKES.find
