"""
When things are due, in whole milliseconds after what they wait for, rounded down. [D-72…D-78, D-94, D-97, D-115, D-120, DA-62]

All of it is in units of the clock. A window is from its first moment to its last; which moment it is in between is chance.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from peerproof.spec.core import Duration, Pick
from peerproof.spec.distkv.messages import RecoveryStep


class Window(NamedTuple):
    """A stretch of time, its last moment included."""

    first: Duration
    last: Duration


def pick_moment(pick: Pick, why: str, window: Window) -> Duration:
    """A moment of a window, by chance. [DA-62]"""
    (moment,) = pick(why, range(window.first, window.last + 1))
    return Duration(moment)


#: In so many clocks there is a ping. [D-78]
SILENCE: Final = 3

#: There is one request for what is missing in so many clocks. [D-120]
REPAIR: Final = 10


def first_message(clock: Duration) -> Window:
    """When a new node sends its first message. [D-94]"""
    return Window(Duration(clock // 2), clock)


def silence(clock: Duration) -> Duration:
    """When a new node repeats its ping, an old one has heard nobody, a recovery is over. [D-97, DA-51, DA-67, DA-74]"""
    return Duration(SILENCE * clock)


def ping(clock: Duration, position: int, length: int) -> Duration:
    """
    When the node at this position in the chain pings, after the accepted ping. [D-72…D-74, DA-37, DA-38]

    The head at the end of the window, the others the earlier the further back they are; the last of a full chain comes first.
    """
    return Duration((2 * length - position) * clock // length)


def early_ping(clock: Duration) -> Duration:
    """When a node that is not in the chain pings, if chance has it so. [D-75]"""
    return clock


def early_odds(nodes: int) -> int:
    """One in how many times a node pings early that is not in the chain, when so many are known, itself among them. [DA-39]"""
    return 10 * nodes


def late_ping(clock: Duration) -> Window:
    """When a node pings if nobody has pinged before it. [D-77]"""
    return Window(Duration(5 * clock // 2), Duration(SILENCE * clock))


def recovery(clock: Duration, step: RecoveryStep, position: int) -> Duration:
    """
    How long the node at this position of its side's chain waits for others to take a step of the recovery.

    After the ping, the ticks message and the missing message respectively: 0, 1/2, 3/4, 7/8 of a clock; and for the second step
    1/2, 3/4, 7/8, 15/16. [D-115, D-125, D-126, DA-06, DA-07]
    """
    halvings = position + 1 if step is RecoveryStep.MISSING else position
    return Duration(clock + (-clock >> halvings))  # a shift rounds down, also below zero


def repair(clock: Duration) -> Window:
    """When a node asks for what it misses, if that is allowed. [D-119, DA-79]"""
    return Window(clock, Duration(2 * clock))


def repair_allowed(clock: Duration) -> Duration:
    """For how long a node does not ask again. [D-120, DA-79]"""
    return Duration(REPAIR * clock)
