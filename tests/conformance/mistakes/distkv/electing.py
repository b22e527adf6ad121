"""Mistakes about pings: which are accepted, when a node pings, and about names that are its own or nearly the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.distkv import Wrong
from tests.conformance.mistakes.distkv.limits import BEATS, Beats, winner_by
from tests.support.variant import Variants, around, keeping

from peerproof.reference.divergences.distkv import DECIDE, PING_TIME
from peerproof.spec.core import Pick, Received, SetTimer, Step
from peerproof.spec.distkv import chains, pings
from peerproof.spec.distkv.chains import Chain, Element, is_authoritative
from peerproof.spec.distkv.messages import Message, Ping, PingDue, Update
from peerproof.spec.distkv.outgoing import then
from peerproof.spec.distkv.pings import Kind
from peerproof.spec.distkv.schedule import Window
from peerproof.spec.distkv.state import State, is_startup

wrong = Variants(__name__, Wrong)
AGREE = chains.agree
KIND_OF = pings.kind_of
WINNER = pings.winner
MAY_PING = chains.zero_may_ping
Key = Callable[[str], Any]


def judging(kind_of: Callable[..., Kind]) -> dict[str, Any]:
    """What is replaced to take pings for something else."""
    return {"election.kind_of": kind_of}


@wrong(judging, "both-next-and-collision")
def FollowsFirst(ping: Ping, last: Ping | None, tock: int | None) -> Kind:
    """Asks whether a ping is next before it asks whether it collides."""
    found = KIND_OF(ping, last, tock)
    return Kind.NEXT if found is Kind.COLLISION and last is not None and AGREE(ping.chain.prev, last.chain) else found


def _names(chain: Chain) -> Chain:
    return Chain(tuple(element._replace(tick=0) for element in chain.elements), chain.cut)


def winning(better: Callable[[Ping, Ping], bool]) -> dict[str, Any]:
    """What is replaced to have other winners."""
    return {"election.winner": lambda ping, last: ping if better(ping, last) else last}


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


@wrong.after("step", "not-from-one-that-loses")
def DelayedByLosers(step: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Counts from a ping that it has not accepted."""
    is_ping = isinstance(getattr(event, "message", None), Ping) and event.message.tock > (
        state.heard.get(event.message.chain.head.node) or -1
    )
    if is_ping and step.state.last is state.last and not is_startup(event.message) and PingDue() in state.timers:
        return then(step, lambda now: DECIDE(now, pick))
    return step


@wrong.after("step", "not-from-an-update not-from-a-stale-one when-a-start-up-ping-comes")
def DelayedByAnything(step: Any, state: Any, event: Any, pick: Pick) -> Any:
    """Counts from the last message."""
    if isinstance(event, Received) and step.state.last is state.last and PingDue() in state.timers:
        return then(step, lambda now: DECIDE(now, pick))
    return step


@wrong("election.with_ping", "at-the-position-1 second-ping-in-a-row stands-twice")
def StandsOnce(right: Any, chain: Chain, me: Any, most: int) -> Any:
    """Removes its old elements when it pings."""
    others = Chain(tuple(element for element in chain.elements if element.node != me.node), chain.cut)
    return right(others, me, most)


def halving(may: Callable[[Chain], bool]) -> dict[str, Any]:
    """What is replaced to have another rule for the tick zero."""
    return {"election.zero_may_ping": may}


@wrong(halving, "zero-after-0-5-0 zero-after-0-0-5-0-0")
def HalvesDown(chain: Chain) -> bool:
    """Takes the smaller half of a chain for the first."""
    half = len(chain.elements) // 2
    return is_authoritative(Chain(chain.elements[:half])) or not is_authoritative(Chain(chain.elements[half:]))


def taking_for_own(like: Callable[[str], str]) -> dict[str, Any]:
    """What is replaced to compare only this of a name with the own one."""

    def on_message(right: Any, state: State, message: Message, pick: Pick) -> Any:
        head, *behind = message.chain.elements
        if like(head.node) == like(state.self_id) and not isinstance(message, Update):
            message = replace(message, chain=Chain((Element(state.self_id, head.tick), *behind), message.chain.cut))
        return right(state, message, pick)

    return around("transitions.on_message", on_message)


def by_name(key: Key) -> Beats:
    """The order by names of which this is compared, where tocks and ticks are equal."""
    return lambda one, other: (
        key(one.head.node) < key(other.head.node)
        if (one.tock, one.head.tick) == (other.tock, other.head.tick)
        else BEATS(one, other)
    )


wrong |= {
    # Does not look at what it has heard from a sender.
    "KnowsNoStalePings: stale-and-like-the-next stale-and-like-a-split heard-of-a-start-up-ping": judging(
        lambda ping, last, _: KIND_OF(ping, last, None)
    ),
    # Takes a start-up ping for a split.
    "SeesASplitInEachStart: start-up-ping-changes-nothing start-up-ping-with-a-tick": judging(
        lambda ping, last, tock: Kind.SPLIT if (kind := KIND_OF(ping, last, tock)) is Kind.INITIAL else kind
    ),
    # Takes a ping of another chain for one that collides.
    "SeesNoSplits: split-won split-lost two-nodes-that-were-apart ends-where-the-other-goes-on": judging(
        lambda ping, last, tock: Kind.COLLISION if (kind := KIND_OF(ping, last, tock)) is Kind.SPLIT else kind
    ),
    # Compares the nodes of chains, and not their ticks.
    "ComparesNames: split-by-another-tick differs-before-the-cut": around(
        "chains.agree", lambda right, chain, other: right(_names(chain), _names(other))
    ),
    # Takes the ping that comes later.
    "LaterArrivalWins: collision-lost collision-by-tick-lost collision-by-name-lost split-lost the-own-ping-wins": winning(
        lambda _ping, _last: True
    ),
    # Keeps the ping that it has.
    "EarlierArrivalWins: collision-by-tock collision-by-tick collision-by-name split-won the-own-ping-loses": winning(
        lambda _ping, _last: False
    ),
    # Goes by the tick first.
    "HigherTickWins: collision-by-tock collision-lost": winning(
        lambda ping, last: ((ping.chain.head.tick or 0), ping.tock) > ((last.chain.head.tick or 0), last.tock)
    ),
    # Lets the tick 0 lose against any other.
    "ZeroLoses: collision-with-the-tick-zero a-new-node-pings-over-the-first": winning(
        lambda ping, last: (
            WINNER(ping, last) is ping if bool(ping.chain.head.tick) == bool(last.chain.head.tick) else bool(ping.chain.head.tick)
        )
    ),
    # Goes on from the ping before its own.
    "ForgetsItsOwnPing: the-own-ping-counts-as-accepted second-ping-in-a-row": keeping("transitions.on_ping_due", "last"),
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
    "PingsInAnyCase: zero-behind-data zero-after-0-0-5-0 zero-after-0-0-0-5 zero-after-0-5 "
    "ready-node-with-the-tick-zero": halving(lambda _: True),
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
    # Takes a node for itself whose name differs in capitals. [DA-54]
    "TakesCapitalsForItself: names-like-its-own": taking_for_own(str.lower),
    # Takes a node for itself whose name differs in blanks. [DA-54]
    "TakesBlanksForItself: names-like-its-own": taking_for_own(str.strip),
    # Compares names of who pings by units of 16 bits. [D-82, DA-35]
    "HalfLettersOfPings: collision-by-many-names": {"election.winner": winner_by(by_name(lambda name: name.encode("utf-16-be")))},
}
__getattr__ = wrong.find
