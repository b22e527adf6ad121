"""Other readings of DistKV's document for pings: their kinds, which of two wins, and when the next one is due."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from peerproof.conformance.readings.reading import Readings
from peerproof.spec.core import Duration, Pick, Received
from peerproof.spec.distkv import schedule
from peerproof.spec.distkv.chains import Chain, Claim, Element, agree, is_authoritative, with_ping
from peerproof.spec.distkv.election import _moment, decide, on_ping, seek_download
from peerproof.spec.distkv.messages import InitialPingDue, Ping, PingDue, RecoveryStep
from peerproof.spec.distkv.outgoing import Next, cancel_timer, then
from peerproof.spec.distkv.pings import Kind, kind_of, winner
from peerproof.spec.distkv.schedule import Window
from peerproof.spec.distkv.schedule import ping as ping_after
from peerproof.spec.distkv.state import State, is_startup

Right = Callable[..., Next]
READINGS: Final = Readings()


@READINGS.register("DA-33", "chains-alone", "pings.kind_of")
def _kind_by_chains(ping: Ping, last: Ping | None, _: int | None) -> Kind:
    """The chain alone decides the kind of a ping, even if its tock was heard before."""
    return kind_of(ping, last, None)


@READINGS.register("DA-36", "tock-first", "chains.Claim.beats")
def _tock_first(mine: Claim, other: Claim) -> bool:
    """The higher tock wins also where a ping has no tick, which counts as the lowest."""
    if mine.tock != other.tock:
        return mine.tock > other.tock
    one, another = (-1 if claim.head.tick is None else claim.head.tick for claim in (mine, other))
    return one > another if one != another else mine.head.node < other.head.node


@READINGS.register("DA-38", "another-moment", "schedule.ping", is_open=True)
def _other_moment(clock: Duration, position: int, length: int) -> Duration:
    """A node on the chain pings at another moment of the second clock."""
    return Duration(ping_after(clock, position, length) - clock // (2 * length))


READINGS.add(
    "DA-39",
    "another-chance",
    "Off the chain a node pings early once in as many times as there are nodes.",
    instead={"schedule.early_odds": lambda nodes: nodes},
    is_open=True,
)


@READINGS.register("DA-40", "rounded-down", "chains.zero_may_ping")
def _half_rounded_down(chain: Chain) -> bool:
    """The first half of a chain with an odd number of elements is the smaller one."""
    half = len(chain.elements) // 2
    return is_authoritative(Chain(chain.elements[:half])) or not is_authoritative(Chain(chain.elements[half:]))


def _ping_beside_length(chain: Chain, element: Element, most: int) -> Chain:
    return with_ping(chain, element, most + 1)


def _accept_beside_length(state: State, ping: Ping, pick: Pick) -> Next:
    last = Ping(ping.chain.within(state.config.ping_length + 1), ping.tock)
    taken = cancel_timer(replace(state, last=last), InitialPingDue())
    return then(taken, seek_download, lambda now: decide(now, pick))


READINGS.add(
    "DA-41",
    "not-counted",
    "The sender's own element does not count for the length of a ping's chain.",
    instead={"chains.with_ping": _ping_beside_length, "election.accept": _accept_beside_length},
)


def _up_ping(clock: Duration, position: int, length: int) -> Duration:
    return Duration(-(-(2 * length - position) * clock // length))


def _up_recovery(clock: Duration, step: RecoveryStep, position: int) -> Duration:
    return Duration(clock - (clock >> (position + 1 if step is RecoveryStep.MISSING else position)))


def _up_late_ping(clock: Duration) -> Window:
    return Window(Duration(-(-5 * clock // 2)), Duration(schedule.SILENCE * clock))


READINGS.add(
    "DA-62",
    "rounded-up",
    "Parts of a millisecond are rounded up.",
    instead={"schedule.ping": _up_ping, "schedule.recovery": _up_recovery, "schedule.late_ping": _up_late_ping},
)


@READINGS.register("DA-65", "last-to-arrive", "pings.winner")
def _last_to_arrive(ping: Ping, last: Ping) -> Ping:
    """Of two start-up pings the one that arrives last is the last one seen."""
    return ping if is_startup(ping) and is_startup(last) else winner(ping, last)


@READINGS.register("DA-66", "no-haste", "election._moment")
def _without_haste(state: State, chain: Chain, pick: Pick) -> Duration:
    """A node with data that is off a chain of nodes without data pings no earlier than others off the chain."""
    if state.position(chain) is None and state.message_tick and not is_authoritative(chain):
        return _moment(state, Chain((*chain.elements, Element(chain.head.node, 1))), pick)
    return _moment(state, chain, pick)


@READINGS.register("DA-69", "next-first", "pings.kind_of")
def _next_before_collision(ping: Ping, last: Ping | None, tock: int | None) -> Kind:
    """A ping that both follows the last one and collides with it follows it."""
    found = kind_of(ping, last, tock)
    return Kind.NEXT if found is Kind.COLLISION and last is not None and agree(ping.chain.prev, last.chain) else found


@READINGS.register("DA-09", "silent", "election.decide")
def _stay_silent(state: State, pick: Pick) -> Next:
    """A node that may not ping waits until it hears a ping behind which it may."""
    after = decide(state, pick)
    is_silenced = InitialPingDue() in after.state.timers and PingDue() not in after.state.timers
    last = state.last
    waits = last is None or (is_startup(last) and last.chain.head.node == state.self_id)
    return (
        cancel_timer(replace(state, timers=state.timers - {PingDue()}), InitialPingDue()) if is_silenced and not waits else after
    )


@READINGS.register("DA-91", "as-others", "step", is_open=True)
def _treat_own_past_as_others(right: Right, state: State, event: Any, pick: Pick) -> Next:
    """An own start-up ping from a former life is one like others."""
    after = right(state, event, pick)
    ping = event.message if isinstance(event, Received) else None
    if not isinstance(ping, Ping) or not is_startup(ping) or ping.chain.head.node != state.self_id:
        return after
    is_past = not state.participates and ping.tock > state.tock
    return then(after, lambda now: on_ping(now, ping, pick)) if is_past else after
