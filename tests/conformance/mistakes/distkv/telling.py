"""Mistakes about the steps of a recovery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import BEGIN, Next
from peerproof.spec.core import Pick, Step
from peerproof.spec.distkv import recovery as recovering
from peerproof.spec.distkv import schedule
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.messages import Info, RecoveryDue, RecoveryStep
from peerproof.spec.distkv.outgoing import send_info, then
from peerproof.spec.distkv.state import State

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


def _with_reason(state: State) -> Next:
    recovery = state.recovery
    return ON_TICKS_DUE(state if recovery is None else replace(state, recovery=recovery._replace(lost=True)))


def _other_chain(state: State) -> Next:
    recovery = state.recovery
    if recovery is None or not recovery.lost:
        return ON_TICKS_DUE(state)
    return recovering.tell_ticks(state, recovery.ping, recovery.ping)


def _unless_new(before: State, step: Next) -> Next:
    if STEP_2 in before.timers or STEP_2 not in step.state.timers:
        return step
    return Step(
        replace(step.state, timers=step.state.timers - {STEP_2}),
        tuple(e for e in step.effects if getattr(e, "timer", None) != STEP_2),
    )


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
        "AsksAfterItsOwnTicks": (
            "Counts from its own ticks message only.",
            {"recovery._on_ticks": lambda state, info: _unless_new(state, ON_TICKS(state, info))},
            "missing-at-the-position-1 missing-at-the-position-3",
        ),
    },
)
__getattr__ = MISTAKES.find
