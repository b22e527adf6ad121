"""Mistakes about who tells a newcomer what there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import ON_PING, Next
from peerproof.spec.core import Pick, Step
from peerproof.spec.distkv import recovery
from peerproof.spec.distkv.chains import Chain
from peerproof.spec.distkv.messages import GreetingDue, Info, Ping
from peerproof.spec.distkv.outgoing import cancel_timer, set_timer, then
from peerproof.spec.distkv.state import Phase, State

BEGIN = recovery.begin
GREET = recovery.greet
NEXT_IS_MISSING = recovery._next_is_missing
ON_GREETING_DUE = recovery.on_greeting_due
ON_RECOVERY_OVER = recovery.on_recovery_over
ON_TICKS = recovery._on_ticks
ON_TICKS_DUE = recovery.on_ticks_due
SAYS_IT_ALL = recovery._says_it_all
TELL_TICKS = recovery.tell_ticks


def _as_it_was(before: State, step: Next) -> Next:
    return Step(replace(step.state, phase=before.phase), step.effects)


def _only_fresh(state: State, ping: Any, pick: Pick) -> Next:
    tock = state.heard.get(ping.chain.head.node)
    return Step(state) if tock is not None and ping.tock <= tock else ON_PING(state, ping, pick)


class GreetsInAnyCase(Wrong):
    """Greets although another has."""

    caught_by: ClassVar = ("greeted-by-another", "greeted-by-another-with-more", "greeted-by-anybody")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Without that cancellation."""
        after, effects = super().step(state, event, pick)
        kept = tuple(e for e in effects if getattr(e, "timer", None) != GreetingDue() or hasattr(e, "after"))
        if len(kept) == len(effects):
            return Step(after, effects)
        return Step(replace(after, timers=after.timers | {GreetingDue()}, newcomer=state.newcomer), kept)


# -- greetings in a recovery -------------------------------------------------------------------------------------------


def greet_no_more(state: State) -> Next:
    """The newcomer is taken for answered."""
    return cancel_timer(replace(state, newcomer=None), GreetingDue())


def silence_one(state: State, info: Info) -> Next:
    """Ticks that silence a greeting, and nothing else."""
    if GreetingDue() not in state.timers or not SAYS_IT_ALL(info.ticks, state.ticks):
        return ON_TICKS(state, info)
    return then(greet_no_more(state), NEXT_IS_MISSING)


def silenced_by_its_side(state: State, info: Info) -> Next:
    """Ticks of another side silence no greeting."""
    is_other = state.recovery is not None and info.chain.head.node not in state.recovery.side
    return NEXT_IS_MISSING(state) if is_other and GreetingDue() in state.timers else ON_TICKS(state, info)


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
        "LeavesItToTheHead": (
            "Leaves greetings to the head of the chain.",
            {
                "election.greet": lambda state, chain: (
                    GREET(state, chain) if state.last and state.position(state.last.chain) == 0 else Step(state)
                )
            },
            "greets-at-the-position-1 greets-at-the-position-3 greeted-by-another-with-less",
        ),
        "GreetsOffTheChain": (
            "Greets although it is off the chain.",
            {
                "election.greet": lambda state, chain: (
                    set_timer(replace(state, newcomer=chain), GreetingDue(), state.config.clock)
                    if state.participates and state.last and state.position(state.last.chain) is None
                    else GREET(state, chain)
                ),
            },
            "off-the-chain-greets-nobody",
        ),
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
        "SilencedByAnyTicks": (
            "Takes any ticks for all that it could say.",
            {"recovery._says_it_all": lambda _ticks, _mine: True},
            "greeted-by-another-with-less greeted-by-another-that-knows-less-nodes not-silenced-by-less",
        ),
        "LooksAtSharedNodes": (
            "Compares ticks of nodes only that are in both.",
            {"recovery._says_it_all": lambda ticks, mine: all(ticks.get(node, tick) >= tick for node, tick in mine.items())},
            "greeted-by-another-that-knows-less-nodes not-silenced-by-less-nodes",
        ),
        "WantsZeros": (
            "Wants to see a node with the tick 0 in the ticks of another.",
            {"recovery._says_it_all": lambda ticks, mine: SAYS_IT_ALL(ticks, mine) and set(mine) <= set(ticks)},
            "greeted-by-another-that-leaves-zeros-out",
        ),
        "TakesGreetingsForStepOne": (
            "Does not send its ticks in a recovery once it has greeted. [DA-76]",
            {
                "recovery.on_greeting_due": lambda state: then(
                    ON_GREETING_DUE(state), lambda now: cancel_timer(now, recovery.STEP_1)
                )
            },
            "ticks-after-its-own-greeting",
        ),
        "TakesStepOneForGreetings": (
            "Does not greet once it has sent its ticks in a recovery. [DA-68]",
            {"recovery.on_ticks_due": lambda state: then(ON_TICKS_DUE(state), greet_no_more)},
            "greets-after-its-own-ticks",
        ),
        "SilencedOneByOne": (
            "Sends its ticks in a recovery although they are said, if that has silenced a greeting. [DA-68, DA-76]",
            {"recovery._on_ticks": silence_one},
            "ticks-that-silence-both",
        ),
        "SilencedByItsSide": (
            "Greets in a recovery although another side's node has. [DA-68]",
            {"recovery._on_ticks": silenced_by_its_side},
            "ticks-that-silence-the-greeting-only",
        ),
        "GivesNewcomersTheReason": (
            "Adds its reason to greetings as well. [DA-68, DA-76]",
            {
                "recovery.tell_ticks": lambda state, prev, reason: TELL_TICKS(
                    state, prev, state.recovery.mine if state.recovery is not None and state.recovery.lost else reason
                )
            },
            "ticks-after-its-own-greeting",
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
