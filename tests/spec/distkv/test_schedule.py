"""When things are due, with a clock that is not divided evenly; that later ones wait longer is proved."""

from __future__ import annotations

from peerproof.spec.core import Duration
from peerproof.spec.distkv.messages import RecoveryStep
from peerproof.spec.distkv.schedule import first_message, late_ping, ping, recovery

ODD = Duration(9)


def test_moments_are_rounded_down() -> None:
    """[DA-62]"""
    assert first_message(ODD) == (4, 9)
    assert late_ping(ODD) == (22, 27)
    assert [ping(ODD, position, 4) for position in range(4)] == [18, 15, 13, 11]
    assert [recovery(ODD, RecoveryStep.TICKS, position) for position in range(4)] == [0, 4, 6, 7]
    assert [recovery(ODD, RecoveryStep.MISSING, position) for position in range(4)] == [4, 6, 7, 8]
