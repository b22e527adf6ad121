"""Mistakes about who tells a newcomer what there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, around

from peerproof.reference.divergences.distkv import Next
from peerproof.spec.core import Pick, Step
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.messages import GreetingDue, Ping
from peerproof.spec.distkv.outgoing import cancel_timer, then
from peerproof.spec.distkv.state import Phase, State

wrong = Variants(__name__, Wrong)


def _as_it_was(before: State, step: Next) -> Next:
    return Step(replace(step.state, phase=before.phase), step.effects)


@wrong("transitions.on_ping", "greets-what-is-stale")
def GreetsNobodyAgain(right: Any, state: State, ping: Any, pick: Pick) -> Any:
    """Does not answer a start-up ping that is stale."""
    tock = state.heard.get(ping.chain.head.node)
    return Step(state) if tock is not None and ping.tock <= tock else right(state, ping, pick)


# -- greetings in a recovery -------------------------------------------------------------------------------------------


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
    # Greets although it has no data.
    "GreetsBeforeItIsReady: passive-nodes-answer-nothing old-nodes-answer-nothing": around(
        "election.greet", lambda right, state, chain: _as_it_was(state, right(replace(state, phase=Phase.READY), chain))
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
