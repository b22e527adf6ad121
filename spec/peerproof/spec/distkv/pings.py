"""The classification of pings by the last accepted one. [D-71, D-84…D-87, D-98, DA-31…DA-33]"""

from __future__ import annotations

from enum import Enum

from peerproof.spec.distkv.chains import Chain, Claim, agree
from peerproof.spec.distkv.messages import Ping


class Kind(Enum):
    """The five kinds of pings. [DA-31]"""

    NEXT = "next"  #: it follows the last ping
    STALE = "stale"  #: its sender has sent it before another one that is known
    COLLISION = "collision"  #: it follows the ping before the last one, as the last one does
    INITIAL = "initial"  #: its sender is new
    SPLIT = "split"  #: it is from another chain, so there was a split


def kind_of(ping: Ping, last: Ping | None, tock: int | None) -> Kind:
    """
    Classifies a ping by the last accepted one; `tock` is the last known tock of the ping's sender. [DA-31]

    Old pings are detected first: in a quiet network chains repeat, and an old ping can look like the next one [DA-33]. So can one
    that collides; a ping that looks like both must have a tock that proves that it follows [DX-20]. For a node without a last
    ping, any ping is the next one [D-100].
    """
    if tock is not None and ping.tock <= tock:
        return Kind.STALE
    if last is None:
        return Kind.NEXT
    if agree(ping.chain.prev, last.chain.prev):
        return Kind.COLLISION
    if agree(ping.chain.prev, last.chain):
        return Kind.NEXT
    return Kind.INITIAL if ping.chain.prev == Chain() else Kind.SPLIT


def winner(ping: Ping, last: Ping) -> Ping:
    """Returns which of two concurrent pings is the basis of the next cycle. [D-80…D-83, D-90]"""
    return ping if Claim(ping.tock, ping.chain.head).beats(Claim(last.tock, last.chain.head)) else last
