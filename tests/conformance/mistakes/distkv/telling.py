"""Mistakes about the steps of a recovery, and about who tells a newcomer what there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, around, with_values

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import Pick, Step
from peerproof.spec.distkv import recovery as recovering
from peerproof.spec.distkv import schedule
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.messages import GreetingDue, Info, Ping, RecoveryDue, RecoveryStep
from peerproof.spec.distkv.outgoing import cancel_timer, send_info, then
from peerproof.spec.distkv.state import Phase, State

wrong = Variants(__name__, Wrong)
RECOVERY = schedule.recovery
STEP_2 = RecoveryDue(RecoveryStep.MISSING)


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


@wrong(
    "recovery.on_ticks_due",
    "ticks-at-the-position-1-when-won the-other-of-the-two reason-begins-a-recovery ticks-of-the-head-when-won",
)
def GivesReasonsAlways(right: Any, state: State) -> Any:
    """Gives its chain as the reason, whichever side it is on."""
    recovery = state.recovery
    return right(state if recovery is None else replace(state, recovery=recovery._replace(lost=True)))


@wrong("recovery.on_ticks_due", "two-nodes-that-were-apart ticks-at-the-position-1-when-lost ticks-of-the-head-when-lost")
def GivesTheWrongReason(right: Any, state: State) -> Any:
    """Gives the chain that won as the reason."""
    recovery = state.recovery
    if recovery is None or not recovery.lost:
        return right(state)
    return recovering.tell_ticks(state, recovery.ping, recovery.ping)


def _unless_new(before: State, step: Next) -> Next:
    if STEP_2 in before.timers or STEP_2 not in step.state.timers:
        return step
    return Step(
        replace(step.state, timers=step.state.timers - {STEP_2}),
        tuple(e for e in step.effects if getattr(e, "timer", None) != STEP_2),
    )


@wrong.after("step", "ticks-without-a-recovery greeted-by-another-with-less")
def TellsWithoutASplit(step: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Answers ticks with its own, whenever it sees some that are below."""
    message = getattr(event, "message", None)
    if isinstance(message, Info) and message.ticks and state.recovery is None and state.participates:
        return then(step, lambda now: send_info(now, "ticks", now.ticks))
    return step


@wrong("transitions.on_ping", "greets-what-is-stale")
def GreetsNobodyAgain(right: Any, state: State, ping: Any, pick: Pick) -> Any:
    """Does not answer a start-up ping that is stale."""
    tock = state.heard.get(ping.chain.head.node)
    return Step(state) if tock is not None and ping.tock <= tock else right(state, ping, pick)


def greet_no_more(state: State) -> Next:
    """The newcomer is taken for answered."""
    return cancel_timer(replace(state, newcomer=None), GreetingDue())


@wrong("election.greet", "greets-not-by-the-chain-from-before")
def GreetsByTheChainFromBefore(right: Any, state: State, newcomer: Chain) -> Any:
    """Goes by the chain from before in a recovery. [DA-68]"""
    if state.recovery is None or state.last is None:
        return right(state, newcomer)
    after, effects = right(replace(state, last=Ping(state.recovery.mine, state.last.tock)), newcomer)
    return Step(replace(after, last=state.last), effects)


@wrong("recovery.begin", "ticks-after-its-own-greeting")
def BeginsWithoutGreetings(right: Any, state: State, mine: Chain, other: Chain, *, lost: bool, is_reason: bool) -> Any:
    """Does not greet any more when a recovery begins. [DA-68, DA-74]"""
    begun = right(state, mine, other, lost=lost, is_reason=is_reason)
    return begun if state.recovery is not None else then(begun, greet_no_more)


wrong |= {
    # Waits for a quarter of a clock for each position.
    "StepsOfAQuarter: greets-at-the-position-1 ticks-at-the-position-2-when-lost answers-at-the-position-1": delayed(
        lambda clock, step, place: RECOVERY(clock, step, 0) + place * clock // 4
    ),
    # Waits for half a clock for each position.
    "StepsOfHalfAClock: greets-at-the-position-2 ticks-at-the-position-3-when-won answers-at-the-position-3": delayed(
        lambda clock, step, place: RECOVERY(clock, step, 0) + place * clock // 2
    ),
    # Takes every step at once, wherever it stands.
    "EverybodyAtOnce: greets-at-the-position-1 ticks-at-the-position-1-when-lost silenced-by-an-earlier-node": delayed(
        lambda clock, step, _place: RECOVERY(clock, step, 0)
    ),
    # Gives the newest element of the chain that an info answers.
    "AnswersTheHead: two-nodes-that-were-apart ticks-at-the-position-1-when-lost ticks-at-the-position-1-when-won": saying(
        lambda prev, reason: (prev and prev.within(1), reason)
    ),
    # Gives what stands behind the ping that an info answers.
    "AnswersBehind: two-nodes-that-were-apart ticks-of-the-head-when-lost head-greets-at-once": saying(
        lambda prev, reason: (prev and prev.prev, reason)
    ),
    # Does not end a recovery.
    "RecoversForEver: over-after-three-clocks another-split-later off-the-chain-it-asks-in-the-end": {
        "transitions.on_recovery_over": Step
    },
    # Begins only on the side that lost.
    "RecoversIfItLost: split-lost ticks-at-the-position-1-when-won": around(
        "election.begin",
        lambda right, state, mine, other, *, lost, is_reason: (
            right(state, mine, other, lost=lost, is_reason=is_reason) if lost else Step(state)
        ),
    ),
    # Goes by its position on the chain that it has accepted.
    "RecoversOnTheNewChain: ticks-at-the-position-1-when-lost ticks-of-the-head-when-lost two-nodes-that-were-apart": around(
        "election.begin",
        lambda right, state, _mine, other, *, lost, is_reason: right(
            state, state.last.chain, other, lost=lost, is_reason=is_reason
        ),
    ),
    # Takes everybody on its chain from before for its side.
    "EverybodyIsOfItsSide: side-without-who-stands-behind side-where-the-other-is-longer side-up-to-the-cut": {
        "recovery.side_of": lambda mine, _: frozenset(node for node, _ in mine.elements)
    },
    # Takes the head alone for its side.
    "HeadIsTheSide: silenced-by-a-later-node side-of-all side-where-the-other-is-shorter": {
        "recovery.side_of": lambda mine, _: frozenset([mine.head.node])
    },
    # Counts from its own ticks message only.
    "AsksAfterItsOwnTicks: missing-at-the-position-1 missing-at-the-position-3": around(
        "recovery._on_ticks", lambda right, state, info: _unless_new(state, right(state, info))
    ),
    # Greets although it has no data.
    "GreetsBeforeItIsReady: passive-nodes-answer-nothing old-nodes-answer-nothing": around(
        "election.greet",
        lambda right, state, chain: with_values(right(replace(state, phase=Phase.READY), chain), phase=state.phase),
    ),
    # Answers the older of two newcomers.
    "GreetsTheFirst: greets-the-newer": around(
        "election.greet", lambda right, state, chain: Step(state) if GreetingDue() in state.timers else right(state, chain)
    ),
    # Begins to wait anew with each start-up ping.
    "GreetsLaterAndLater: greeting-does-not-restart greets-the-newer": around(
        "election.greet", lambda right, state, chain: right(replace(state, timers=state.timers - {GreetingDue()}), chain)
    ),
    # Does not greet once it has sent its ticks in a recovery. [DA-68]
    "TakesStepOneForGreetings: greets-after-its-own-ticks": around(
        "recovery.on_ticks_due", lambda right, state: then(right(state), greet_no_more)
    ),
    # Answers no start-up ping in a recovery. [DA-68]
    "GreetsNobodyInARecovery: greets-after-its-own-ticks": around(
        "election.greet", lambda right, state, chain: Step(state) if state.recovery is not None else right(state, chain)
    ),
    # Answers no start-up ping before it is ready, although it takes part. [DA-59, DA-68]
    "GreetsWhenReady: settling-nodes-greet": around(
        "election.greet", lambda right, state, chain: right(state, chain) if state.phase is Phase.READY else Step(state)
    ),
    # Does not greet any more when a recovery is over. [DA-68, DA-74]
    "EndsGreetings: over-before-a-greeting": around(
        "transitions.on_recovery_over", lambda right, state: then(right(state), greet_no_more)
    ),
}
__getattr__ = wrong.find
