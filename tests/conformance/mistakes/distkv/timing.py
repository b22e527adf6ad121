"""Mistakes about when a node pings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.support.variant import Variants, after, around, with_values

from peerproof.reference.divergences.distkv import DECIDE, PING_TIME
from peerproof.spec.core import Pick, Received, SetTimer, Step
from peerproof.spec.distkv import chains
from peerproof.spec.distkv.chains import Chain, is_authoritative
from peerproof.spec.distkv.messages import Ping, PingDue
from peerproof.spec.distkv.outgoing import then
from peerproof.spec.distkv.schedule import Window
from peerproof.spec.distkv.state import is_startup

wrong = Variants(__name__, Wrong)
MAY_PING = chains.zero_may_ping


def timed(when: Callable[..., Any]) -> dict[str, Any]:
    """What is replaced for nodes on a chain to ping at other moments."""
    return {"schedule.ping": when}


@wrong("step", "counted-from-the-accepted-ping a-length-of-three")
def CountsTheChainItself(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Divides a clock by the elements of the chain, not by the length."""
    after, effects = right(state, event, pick)
    if after.last is None or after.position(after.last.chain) is None:
        return Step(after, effects)
    count, place, clock = len(after.last.chain.elements), after.position(after.last.chain), after.config.clock
    later = (2 * count - place) * clock // count
    return Step(
        after, tuple(SetTimer(e.timer, later) if isinstance(e, SetTimer) and e.timer == PingDue() else e for e in effects)
    )


@wrong("step", "not-from-one-that-loses")
def DelayedByLosers(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Counts from a ping that it has not accepted."""
    step = right(state, event, pick)
    is_ping = isinstance(getattr(event, "message", None), Ping) and event.message.tock > (
        state.heard.get(event.message.chain.head.node) or -1
    )
    if is_ping and step.state.last is state.last and not is_startup(event.message) and PingDue() in state.timers:
        return then(step, lambda now: DECIDE(now, pick))
    return step


@wrong("step", "not-from-an-update not-from-a-stale-one when-a-start-up-ping-comes")
def DelayedByAnything(right: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Counts from the last message."""
    step = right(state, event, pick)
    if isinstance(event, Received) and step.state.last is state.last and PingDue() in state.timers:
        return then(step, lambda now: DECIDE(now, pick))
    return step


@wrong("election.with_ping", "at-the-position-1 second-ping-in-a-row stands-twice")
def StandsOnce(right: Any, chain: Chain, me: Any, most: int) -> Any:
    """Removes its old elements when it pings."""
    others = Chain(tuple(element for element in chain.elements if element.node != me.node), chain.cut)
    return right(others, me, most)


# type: ignore[no-any-return]  # it does


def halving(may: Callable[[Chain], bool]) -> dict[str, Any]:
    """What is replaced to have another rule for the tick zero."""
    return {"election.zero_may_ping": may}


@wrong(halving, "zero-after-0-5-0 zero-after-0-0-5-0-0")
def HalvesDown(chain: Chain) -> bool:
    """Takes the smaller half of a chain for the first."""
    half = len(chain.elements) // 2
    return is_authoritative(Chain(chain.elements[:half])) or not is_authoritative(Chain(chain.elements[half:]))


wrong |= {
    # Goes on from the ping before its own.
    "ForgetsItsOwnPing: the-own-ping-counts-as-accepted second-ping-in-a-row": after(
        "transitions.on_ping_due", lambda step, state, *_: with_values(step, last=state.last)
    ),
    # Counts positions from the other end.
    "HeadPingsFirst: at-the-position-1 at-the-position-3 second-ping-in-a-row": timed(
        lambda clock, place, length: PING_TIME(clock, length - 1 - place, length)
    ),
    # Rounds moments up.
    "RoundsUp: a-length-of-three an-odd-clock": timed(lambda clock, place, length: -(-(2 * length - place) * clock // length)),
    # Looks for itself from the end of a chain.
    "GoesByItsOldestElement: stands-twice second-ping-in-a-row": {
        "state.State.position": lambda state, chain: (
            None
            if chain is None
            else next((at for at, element in reversed(list(enumerate(chain.elements))) if element.node == state.self_id), None)
        )
    },
    # Writes a chain of pings that was cut as if it ended there.
    "CutsPingsWithoutASign: at-the-position-3 a-length-of-three": around(
        "election.with_ping", lambda right, chain, me, most: Chain(right(chain, me, most).elements, chain.cut)
    ),
    # Pings from two clocks on, off the chain.
    "WaitsForTwoClocks: new-node-follows-after-12000-milliseconds off-the-chain-it-asks-in-the-end": around(
        "schedule.late_ping", lambda right, clock: Window(2 * clock, right(clock).first)
    ),
    # Does not count the last moment of a window.
    "LeavesEndsOut: new-node-follows-after-12000-milliseconds asks-after-8000-milliseconds": {
        "schedule.pick_moment": lambda pick, why, window: pick(why, range(window.first, window.last))[0]
    },
    # Pings with the tick zero behind anybody.
    "PingsInAnyCase: zero-behind-data zero-after-0-0-5-0 zero-after-0-0-0-5 zero-after-0-5 ready-node-with-the-tick-zero": halving(
        lambda _: True
    ),
    # Does not ping behind a chain of zeros.
    "WaitsForData: zero-after-0-0-0-0 zero-after-0-0 two-new-nodes-the-higher-name start-up-ping-before-the-own": halving(
        lambda chain: MAY_PING(chain) and is_authoritative(chain)
    ),
    # Does not ping unless the head has data, or nobody.
    "WaitsForAHead: zero-after-0-5-0-0 zero-after-0-5-0": halving(
        lambda chain: bool(chain.head.tick) or not is_authoritative(chain)
    ),
    # Repeats its start-up ping after two clocks.
    "StartsOnceInTwoClocks: new-node first-node own-start-up-ping-waits zero-behind-data": {
        "schedule.silence": lambda clock: 2 * clock
    },
}
__getattr__ = wrong.find
