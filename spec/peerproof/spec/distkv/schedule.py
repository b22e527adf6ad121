"""
Delays, in whole milliseconds from the event that starts them, rounded down. [D-72…D-78, D-94, D-97, D-115, D-120, DA-62]

All are multiples of the clock. A window includes its first and last moment; a random choice selects the moment in it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from peerproof.spec.core import Duration, Pick
from peerproof.spec.distkv.messages import RecoveryStep


class Window(NamedTuple):
    """A period of time, including its last moment."""

    first: Duration
    last: Duration


def pick_moment(pick: Pick, why: str, window: Window) -> Duration:
    """Chooses a moment of a window at random. [DA-62]"""
    (moment,) = pick(why, range(window.first, window.last + 1))
    return Duration(moment)


#: Number of clocks in which there is one ping. [D-78]
SILENCE: Final = 3

#: Number of clocks in which there is one request for missing changes. [D-120]
REPAIR: Final = 10


def first_message(clock: Duration) -> Window:
    """Returns the window for a new node's first message. [D-94]"""
    return Window(Duration(clock // 2), clock)


def silence(clock: Duration) -> Duration:
    """Returns the delay until a new node repeats its ping, old data is accepted, a recovery ends. [D-97, DA-51, DA-67, DA-74]"""
    return Duration(SILENCE * clock)


def ping(clock: Duration, position: int, length: int) -> Duration:
    """
    Returns the delay of the ping of the node at this position in the chain. [D-72…D-74, DA-37, DA-38]

    The head pings at the end of the window, the others the earlier the further back they are; the last of a full chain is first.
    """
    return Duration((2 * length - position) * clock // length)


def early_ping(clock: Duration) -> Duration:
    """Returns the delay of an early ping, by a node that is not in the chain and is selected at random. [D-75]"""
    return clock


def early_odds(nodes: int) -> int:
    """Returns n, where a node outside of the chain pings early with probability 1/n; `nodes` counts all known nodes. [DA-39]"""
    return 10 * nodes


def late_ping(clock: Duration) -> Window:
    """Returns the window for a ping if no other node has pinged before. [D-77]"""
    return Window(Duration(5 * clock // 2), Duration(SILENCE * clock))


def recovery(clock: Duration, step: RecoveryStep, position: int) -> Duration:
    """
    Returns how long the node at this position of its side's chain waits for others to take a step of the recovery.

    After the ping, the ticks message and the missing message respectively: 0, 1/2, 3/4, 7/8 of a clock; and for the second step
    1/2, 3/4, 7/8, 15/16. [D-115, D-125, D-126, DA-06, DA-07]
    """
    halvings = position + 1 if step is RecoveryStep.MISSING else position
    return Duration(clock + (-clock >> halvings))  # a shift rounds down, also below zero


def repair(clock: Duration) -> Window:
    """Returns the window for a request for missing changes, if it is allowed. [D-119, DA-79]"""
    return Window(clock, Duration(2 * clock))


def repair_allowed(clock: Duration) -> Duration:
    """Returns the minimum time between two such requests. [D-120, DA-79]"""
    return Duration(REPAIR * clock)
