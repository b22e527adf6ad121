"""Mistakes about who tells a newcomer what there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import ON_PING, Next
from peerproof.spec.core import Pick, Step
from peerproof.spec.distkv import recovery
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.messages import GreetingDue, Ping
from peerproof.spec.distkv.outgoing import cancel_timer, then
from peerproof.spec.distkv.state import Phase, State

BEGIN = recovery.begin
GREET = recovery.greet
ON_RECOVERY_OVER = recovery.on_recovery_over
ON_TICKS_DUE = recovery.on_ticks_due


def _as_it_was(before: State, step: Next) -> Next:
    return Step(replace(step.state, phase=before.phase), step.effects)


def _only_fresh(state: State, ping: Any, pick: Pick) -> Next:
    tock = state.heard.get(ping.chain.head.node)
    return Step(state) if tock is not None and ping.tock <= tock else ON_PING(state, ping, pick)


# -- greetings in a recovery -------------------------------------------------------------------------------------------


def greet_no_more(state: State) -> Next:
    """The newcomer is taken for answered."""
    return cancel_timer(replace(state, newcomer=None), GreetingDue())


def greet_by_mine(state: State, newcomer: Chain) -> Next:
    """In a recovery by the chain from before."""
    if state.recovery is None or state.last is None:
        return GREET(state, newcomer)
    after, effects = GREET(replace(state, last=Ping(state.recovery.mine, state.last.tock)), newcomer)
    return Step(replace(after, last=state.last), effects)


def begin_anew(state: State, mine: Chain, other: Chain, *, lost: bool, is_reason: bool) -> Next:
    """A recovery that begins is the end of greetings."""
    begun = BEGIN(state, mine, other, lost=lost, is_reason=is_reason)
    return begun if state.recovery is not None else then(begun, greet_no_more)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "GreetsBeforeItIsReady": (
            "Greets although it has no data.",
            {"election.greet": lambda state, chain: _as_it_was(state, GREET(replace(state, phase=Phase.READY), chain))},
            "passive-nodes-answer-nothing old-nodes-answer-nothing",
        ),
        "GreetsTheFirst": (
            "Answers the older of two newcomers.",
            {"election.greet": lambda state, chain: Step(state) if GreetingDue() in state.timers else GREET(state, chain)},
            "greets-the-newer",
        ),
        "GreetsLaterAndLater": (
            "Begins to wait anew with each start-up ping.",
            {"election.greet": lambda state, chain: GREET(replace(state, timers=state.timers - {GreetingDue()}), chain)},
            "greeting-does-not-restart greets-the-newer",
        ),
        "GreetsNobodyAgain": (
            "Does not answer a start-up ping that is stale.",
            {"transitions.on_ping": _only_fresh},
            "greets-what-is-stale",
        ),
        "TakesStepOneForGreetings": (
            "Does not greet once it has sent its ticks in a recovery. [DA-68]",
            {"recovery.on_ticks_due": lambda state: then(ON_TICKS_DUE(state), greet_no_more)},
            "greets-after-its-own-ticks",
        ),
        "GreetsNobodyInARecovery": (
            "Answers no start-up ping in a recovery. [DA-68]",
            {"election.greet": lambda state, chain: Step(state) if state.recovery is not None else GREET(state, chain)},
            "greets-after-its-own-ticks",
        ),
        "GreetsWhenReady": (
            "Answers no start-up ping before it is ready, although it takes part. [DA-59, DA-68]",
            {"election.greet": lambda state, chain: GREET(state, chain) if state.phase is Phase.READY else Step(state)},
            "settling-nodes-greet",
        ),
        "GreetsByTheChainFromBefore": (
            "Goes by the chain from before in a recovery. [DA-68]",
            {"election.greet": greet_by_mine},
            "greets-not-by-the-chain-from-before",
        ),
        "EndsGreetings": (
            "Does not greet any more when a recovery is over. [DA-68, DA-74]",
            {"transitions.on_recovery_over": lambda state: then(ON_RECOVERY_OVER(state), greet_no_more)},
            "over-before-a-greeting",
        ),
        "BeginsWithoutGreetings": (
            "Does not greet any more when a recovery begins. [DA-68, DA-74]",
            {"recovery.begin": begin_anew},
            "ticks-after-its-own-greeting",
        ),
    },
)
__getattr__ = MISTAKES.find
