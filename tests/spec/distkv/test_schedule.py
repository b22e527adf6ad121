"""When things are due, with a clock of four seconds."""

from __future__ import annotations

import pytest

from peerproof.spec.core import Duration
from peerproof.spec.distkv.messages import RecoveryStep
from peerproof.spec.distkv.schedule import (
    first_message,
    late_ping,
    ping,
    recovery,
)

CLOCK = Duration(4000)


@pytest.mark.parametrize("step", [RecoveryStep.TICKS, RecoveryStep.KNOWN])
def test_others_take_over_after_half_the_clock_a_quarter_and_so_on(step: RecoveryStep) -> None:
    """[D-125, D-126, DA-06, DC-70]"""
    assert [recovery(CLOCK, step, position) for position in range(4)] == [0, 2000, 3000, 3500]


def test_the_second_step_waits_for_half_a_clock_first() -> None:
    """[D-115, DA-07, DC-71]"""
    assert [recovery(CLOCK, RecoveryStep.MISSING, position) for position in range(4)] == [2000, 3000, 3500, 3750]


@pytest.mark.parametrize("step", RecoveryStep)
def test_nobody_waits_as_long_as_the_one_behind_it_or_a_whole_clock(step: RecoveryStep) -> None:
    waits = [recovery(CLOCK, step, position) for position in range(11)]

    assert waits == sorted(set(waits))
    assert waits[-1] < CLOCK


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7])
def test_the_last_of_the_chain_pings_first_and_the_head_last(length: int) -> None:
    """[D-72…D-74, DA-38, DC-72]"""
    moments = [ping(CLOCK, position, length) for position in range(length)]

    assert moments[0] == 2 * CLOCK
    assert all(moment >= CLOCK for moment in moments)
    assert moments == sorted(set(moments), reverse=True)


def test_moments_are_rounded_down() -> None:
    """[DA-62]"""
    odd = Duration(9)

    assert first_message(odd) == (4, 9)
    assert late_ping(odd) == (22, 27)
    assert [ping(odd, position, 4) for position in range(4)] == [18, 15, 13, 11]
    assert [recovery(odd, RecoveryStep.TICKS, position) for position in range(4)] == [0, 4, 6, 7]
    assert [recovery(odd, RecoveryStep.MISSING, position) for position in range(4)] == [4, 6, 7, 8]
