"""Mistakes about who tells a newcomer what there is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from tests.conformance.wrong_distkv import ON_PING, Next, Wrong

from peerproof.spec.core import Pick, Step
from peerproof.spec.distkv import recovery
from peerproof.spec.distkv.messages import GreetingDue
from peerproof.spec.distkv.outgoing import set_timer
from peerproof.spec.distkv.state import Phase, State

GREET = recovery.greet
SAYS_IT_ALL = recovery._says_it_all


class LeavesItToTheHead(Wrong):
    """Leaves greetings to the head of the chain."""

    caught_by: ClassVar = ("greets-at-the-position-1", "greets-at-the-position-3", "greeted-by-another-with-less")
    instead: ClassVar = {
        "election.greet": lambda state, chain: (
            GREET(state, chain) if state.last and state.position(state.last.chain) == 0 else Step(state)
        )
    }


class GreetsOffTheChain(Wrong):
    """Greets although it is off the chain."""

    caught_by: ClassVar = ("off-the-chain-greets-nobody",)
    instead: ClassVar = {
        "election.greet": lambda state, chain: (
            set_timer(replace(state, newcomer=chain), GreetingDue(), state.config.clock)
            if state.participates and state.last and state.position(state.last.chain) is None
            else GREET(state, chain)
        ),
    }


def _as_it_was(before: State, step: Next) -> Next:
    return Step(replace(step.state, phase=before.phase), step.effects)


class GreetsBeforeItIsReady(Wrong):
    """Greets although it has no data."""

    caught_by: ClassVar = ("passive-nodes-answer-nothing", "old-nodes-answer-nothing")
    instead: ClassVar = {
        "election.greet": lambda state, chain: _as_it_was(state, GREET(replace(state, phase=Phase.READY), chain))
    }


class GreetsTheFirst(Wrong):
    """Answers the older of two newcomers."""

    caught_by: ClassVar = ("greets-the-newer",)
    instead: ClassVar = {
        "election.greet": lambda state, chain: Step(state) if GreetingDue() in state.timers else GREET(state, chain)
    }


class GreetsLaterAndLater(Wrong):
    """Begins to wait anew with each start-up ping."""

    caught_by: ClassVar = ("greeting-does-not-restart", "greets-the-newer")
    instead: ClassVar = {
        "election.greet": lambda state, chain: GREET(replace(state, timers=state.timers - {GreetingDue()}), chain)
    }


def _only_fresh(state: State, ping: Any, pick: Pick) -> Next:
    tock = state.heard.get(ping.chain.head.node)
    return Step(state) if tock is not None and ping.tock <= tock else ON_PING(state, ping, pick)


class GreetsNobodyAgain(Wrong):
    """Does not answer a start-up ping that is stale."""

    caught_by: ClassVar = ("greets-what-is-stale",)
    instead: ClassVar = {"transitions.on_ping": _only_fresh}


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


class SilencedByAnyTicks(Wrong):
    """Takes any ticks for all that it could say."""

    caught_by: ClassVar = ("greeted-by-another-with-less", "greeted-by-another-that-knows-less-nodes", "not-silenced-by-less")
    instead: ClassVar = {"recovery._says_it_all": lambda _ticks, _mine: True}


class LooksAtSharedNodes(Wrong):
    """Compares ticks of nodes only that are in both."""

    caught_by: ClassVar = ("greeted-by-another-that-knows-less-nodes", "not-silenced-by-less-nodes")
    instead: ClassVar = {
        "recovery._says_it_all": lambda ticks, mine: all(ticks.get(node, tick) >= tick for node, tick in mine.items())
    }


class WantsZeros(Wrong):
    """Wants to see a node with the tick 0 in the ticks of another."""

    caught_by: ClassVar = ("greeted-by-another-that-leaves-zeros-out",)
    instead: ClassVar = {"recovery._says_it_all": lambda ticks, mine: SAYS_IT_ALL(ticks, mine) and set(mine) <= set(ticks)}
