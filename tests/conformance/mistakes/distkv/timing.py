"""Mistakes about when a node pings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import variants

from peerproof.reference.divergences.distkv import DECIDE, PING_TIME, WITH_PING, Next
from peerproof.spec.core import Pick, Received, SetTimer, Step
from peerproof.spec.distkv import chains, election, schedule
from peerproof.spec.distkv.chains import Chain, is_authoritative
from peerproof.spec.distkv.messages import Ping, PingDue
from peerproof.spec.distkv.outgoing import then
from peerproof.spec.distkv.schedule import Window
from peerproof.spec.distkv.state import State, is_startup

LATE_PING = schedule.late_ping
MAY_PING = chains.zero_may_ping
ON_PING_DUE = election.on_ping_due


def timed(when: Callable[..., Any]) -> dict[str, Any]:
    """What is replaced for nodes on a chain to ping at other moments."""
    return {"schedule.ping": when}


class CountsTheChainItself(Wrong):
    """Divides a clock by the elements of the chain, not by the length."""

    caught_by: ClassVar = ("counted-from-the-accepted-ping", "a-length-of-three")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """With other moments."""
        after, effects = super().step(state, event, pick)
        if after.last is None or after.position(after.last.chain) is None:
            return Step(after, effects)
        count, place, clock = len(after.last.chain.elements), after.position(after.last.chain), after.config.clock
        later = (2 * count - place) * clock // count
        return Step(
            after, tuple(SetTimer(e.timer, later) if isinstance(e, SetTimer) and e.timer == PingDue() else e for e in effects)
        )


class DelayedByLosers(Wrong):
    """Counts from a ping that it has not accepted."""

    caught_by: ClassVar = ("not-from-one-that-loses",)

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Begins anew."""
        step = super().step(state, event, pick)
        is_ping = isinstance(getattr(event, "message", None), Ping) and event.message.tock > (
            state.heard.get(event.message.chain.head.node) or -1
        )
        if is_ping and step.state.last is state.last and not is_startup(event.message) and PingDue() in state.timers:
            return then(step, lambda now: DECIDE(now, pick))
        return step


class DelayedByAnything(Wrong):
    """Counts from the last message."""

    caught_by: ClassVar = ("not-from-an-update", "not-from-a-stale-one", "when-a-start-up-ping-comes")

    def step(self, state: Any, event: Any, pick: Pick) -> Next:
        """Begins anew."""
        step = super().step(state, event, pick)
        if isinstance(event, Received) and step.state.last is state.last and PingDue() in state.timers:
            return then(step, lambda now: DECIDE(now, pick))
        return step


def _behind_the_one_before(state: State, pick: Pick) -> Next:
    after, effects = ON_PING_DUE(state, pick)
    return Step(replace(after, last=state.last), effects)


def _once(chain: Chain, me: Any, most: int) -> Chain:
    others = Chain(tuple(element for element in chain.elements if element.node != me.node), chain.cut)
    return WITH_PING(others, me, most)  # type: ignore[no-any-return]  # it does


def halving(may: Callable[[Chain], bool]) -> dict[str, Any]:
    """What is replaced to have another rule for the tick zero."""
    return {"election.zero_may_ping": may}


def _smaller_half(chain: Chain) -> bool:
    half = len(chain.elements) // 2
    return is_authoritative(Chain(chain.elements[:half])) or not is_authoritative(Chain(chain.elements[half:]))


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "HeadPingsFirst": (
            "Counts positions from the other end.",
            timed(lambda clock, place, length: PING_TIME(clock, length - 1 - place, length)),
            "at-the-position-1 at-the-position-3 second-ping-in-a-row",
        ),
        "RoundsUp": (
            "Rounds moments up.",
            timed(lambda clock, place, length: -(-(2 * length - place) * clock // length)),
            "a-length-of-three an-odd-clock",
        ),
        "GoesByItsOldestElement": (
            "Looks for itself from the end of a chain.",
            {
                "state.State.position": lambda state, chain: (
                    None
                    if chain is None
                    else next(
                        (at for at, element in reversed(list(enumerate(chain.elements))) if element.node == state.self_id), None
                    )
                )
            },
            "stands-twice second-ping-in-a-row",
        ),
        "ForgetsItsOwnPing": (
            "Goes on from the ping before its own.",
            {
                "transitions.on_ping_due": _behind_the_one_before,
            },
            "the-own-ping-counts-as-accepted second-ping-in-a-row",
        ),
        "CutsPingsWithoutASign": (
            "Writes a chain of pings that was cut as if it ended there.",
            {"election.with_ping": lambda chain, me, most: Chain(WITH_PING(chain, me, most).elements, chain.cut)},
            "at-the-position-3 a-length-of-three",
        ),
        "StandsOnce": (
            "Removes its old elements when it pings.",
            {"election.with_ping": _once},
            "at-the-position-1 second-ping-in-a-row stands-twice",
        ),
        "WaitsForTwoClocks": (
            "Pings from two clocks on, off the chain.",
            {"schedule.late_ping": lambda clock: Window(2 * clock, LATE_PING(clock).first)},
            "new-node-follows-after-12000-milliseconds off-the-chain-it-asks-in-the-end",
        ),
        "LeavesEndsOut": (
            "Does not count the last moment of a window.",
            {"schedule.pick_moment": lambda pick, why, window: pick(why, range(window.first, window.last))[0]},
            "new-node-follows-after-12000-milliseconds asks-after-8000-milliseconds",
        ),
        "HalvesDown": (
            "Takes the smaller half of a chain for the first.",
            halving(_smaller_half),
            "zero-after-0-5-0 zero-after-0-0-5-0-0",
        ),
        "PingsInAnyCase": (
            "Pings with the tick zero behind anybody.",
            halving(lambda _: True),
            "zero-behind-data zero-after-0-0-5-0 zero-after-0-0-0-5 zero-after-0-5 ready-node-with-the-tick-zero",
        ),
        "WaitsForData": (
            "Does not ping behind a chain of zeros.",
            halving(lambda chain: MAY_PING(chain) and is_authoritative(chain)),
            "zero-after-0-0-0-0 zero-after-0-0 two-new-nodes-the-higher-name start-up-ping-before-the-own",
        ),
        "WaitsForAHead": (
            "Does not ping unless the head has data, or nobody.",
            halving(lambda chain: bool(chain.head.tick) or not is_authoritative(chain)),
            "zero-after-0-5-0-0 zero-after-0-5-0",
        ),
        "StartsOnceInTwoClocks": (
            "Repeats its start-up ping after two clocks.",
            {"schedule.silence": lambda clock: 2 * clock},
            "new-node first-node own-start-up-ping-waits zero-behind-data",
        ),
    },
)
__getattr__ = MISTAKES.find
