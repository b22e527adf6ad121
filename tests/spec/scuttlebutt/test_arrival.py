"""The failure detector: integers that agree with the formula to the millisecond."""

from __future__ import annotations

from decimal import Decimal, localcontext

from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.core import Duration, Instant
from peerproof.spec.scuttlebutt.arrival import ONE_BY_LN_10, ArrivalWindow, phi_exceeds


def window(*intervals: int, last: int = 0) -> ArrivalWindow:
    """A window with these intervals."""
    return ArrivalWindow(Instant(last), tuple(map(Duration, intervals)))


def last_quiet(thousandths: int, intervals: tuple[int, ...]) -> int:
    """The longest silence in milliseconds at which phi is not above the threshold, by the formula."""
    with localcontext() as context:
        context.prec = 50
        mean = max(Decimal(1), Decimal(sum(intervals)) / len(intervals))
        return int(Decimal(thousandths) / 1000 * mean * Decimal(10).ln())


def test_the_fraction_is_one_by_the_natural_logarithm_of_ten() -> None:
    numerator, denominator = ONE_BY_LN_10
    with localcontext() as context:
        context.prec = 50
        assert (numerator, denominator) == (round(10**13 / Decimal(10).ln()), 10**13)


@given(st.integers(0, 20_000), st.lists(st.integers(0, 60_000), min_size=1, max_size=20).map(tuple))
def test_phi_agrees_with_the_formula_to_the_millisecond(thousandths: int, intervals: tuple[int, ...]) -> None:
    quiet = last_quiet(thousandths, intervals)

    assert not phi_exceeds(window(*intervals), Instant(quiet), thousandths)
    assert phi_exceeds(window(*intervals), Instant(quiet + 1), thousandths)
