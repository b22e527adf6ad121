"""The failure detector: integers that agree with the formula to the millisecond."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerproof.spec.core import Duration, Expired, Instant, NodeId, Pick, Received
from peerproof.spec.scuttlebutt import Config, Delta, Detector, DigestEntry, DigestRequest, Round, initial, step
from peerproof.spec.scuttlebutt.arrival import ONE_BY_LN_10, ArrivalWindow, open_window, phi_exceeds, record_arrival


def window(*intervals: int, last: int = 0) -> ArrivalWindow:
    """A window with these intervals."""
    return ArrivalWindow(Instant(last), tuple(map(Duration, intervals)))


def phi_by_the_formula(silence: int, intervals: tuple[int, ...]) -> Decimal:
    """The formula itself, -log10(e^(-t/m)) = t / (m ln 10), to 50 digits; m is at least one millisecond."""
    with localcontext() as context:
        context.prec = 50
        mean = max(Decimal(1), Decimal(sum(intervals)) / len(intervals))
        return -(-Decimal(silence) / mean).exp().log10() if silence < 1000 * mean else silence / (mean * Decimal(10).ln())


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


# (threshold in thousandths, intervals, the last millisecond of silence at which phi is not above it)
BOUNDARIES = [
    (8000, (1000,), 18_420),  # 8 * 1000 * ln 10 = 18,420.68…
    (5000, (1000,), 11_512),  # 11,512.92…
    (8000, (2000,), 36_841),  # 36,841.36…
    (1000, (1,), 2),  # 2.30…
    (8000, (1000, 2000), 27_631),  # 27,631.02…
    (8000, (1000, 1001), 18_429),  # 18,429.89…
    (8000, (0, 0, 3000), 18_420),
    (8000, (0,), 18),  # a mean below the clock's grain counts as one millisecond
    (8000, (0, 0, 0, 1), 18),
    (8000, (1, 1, 1), 18),
    (1, (1000,), 2),  # 0.001 * 1000 * ln 10
    (0, (1000,), 0),
    (0, (1,), 0),
    (8000, (1000,) * 100, 18_420),
    (12_345, (987, 1013, 650, 2), 18_846),
]


@pytest.mark.parametrize(("thousandths", "intervals", "quiet"), BOUNDARIES)
def test_phi_is_above_the_threshold_from_the_exact_millisecond_on(
    thousandths: int, intervals: tuple[int, ...], quiet: int
) -> None:
    assert last_quiet(thousandths, intervals) == quiet

    assert not phi_exceeds(window(*intervals), Instant(quiet), thousandths)
    assert phi_exceeds(window(*intervals), Instant(quiet + 1), thousandths)
    assert phi_by_the_formula(quiet, intervals) * 1000 <= thousandths < phi_by_the_formula(quiet + 1, intervals) * 1000


@given(st.integers(0, 20_000), st.lists(st.integers(0, 60_000), min_size=1, max_size=20).map(tuple))
def test_phi_agrees_with_the_formula_to_the_millisecond(thousandths: int, intervals: tuple[int, ...]) -> None:
    quiet = last_quiet(thousandths, intervals)

    assert not phi_exceeds(window(*intervals), Instant(quiet), thousandths)
    assert phi_exceeds(window(*intervals), Instant(quiet + 1), thousandths)


def test_silence_counts_from_the_last_sign_of_life() -> None:
    late = window(1000, last=50_000)

    assert not phi_exceeds(late, Instant(68_420), 8000)
    assert phi_exceeds(late, Instant(68_421), 8000)


def test_a_clock_set_back_makes_no_silence() -> None:
    assert not phi_exceeds(window(1000, last=50_000), Instant(0), 0)


def test_a_new_peer_is_expected_within_the_bootstrap_interval() -> None:
    assert open_window(Instant(7), Detector(bootstrap=Duration(500))) == window(500, last=7)


# (intervals so far, last, now, size of the window, intervals afterwards)
HEARD = [
    ((2000,), 100, 1100, 100, (2000, 1000)),
    ((2000,), 100, 100, 100, (2000, 0)),
    ((2000,), 100, 101, 100, (2000, 1)),
    ((2000, 5), 0, 7, 3, (2000, 5, 7)),
    ((2000, 5, 7), 7, 16, 3, (5, 7, 9)),
    ((2000,), 0, 9, 1, (9,)),
    ((2000,), 0, 9, 2, (2000, 9)),
    ((2000,), 100, 50, 100, (2000, 0)),  # the clock was set back
    ((1, 2, 3, 4), 0, 5, 2, (4, 5)),
]


@pytest.mark.parametrize(("before", "last", "now", "size", "after"), HEARD)
def test_a_sign_of_life_adds_an_interval_and_the_oldest_goes(
    before: tuple[int, ...], last: int, now: int, size: int, after: tuple[int, ...]
) -> None:
    assert record_arrival(window(*before, last=last), Instant(now), Detector(window=size)) == window(*after, last=now)


def kinds_of(value: Any) -> set[type]:
    """The classes of everything inside a state."""
    parts: list[Any] = []
    if is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, (tuple, list, set, frozenset)):
        parts = list(value)
    return {type(value)}.union(*(kinds_of(part) for part in parts))


def test_a_state_holds_no_floats(first: Pick) -> None:
    state = initial(NodeId("b:1"), Config(seeds=(NodeId("c:1"),))).state
    for event in (
        Received(Instant(3), NodeId("a:1"), DigestRequest((DigestEntry(NodeId("a:1"), 1), DigestEntry(NodeId("d:1"), 0)))),
        Expired(Instant(1000), Round()),
        Received(Instant(1007), NodeId("a:1"), Delta(())),
        Expired(Instant(100_000), Round()),
    ):
        state = step(state, event, first).state

    assert float not in kinds_of(state)
    assert {int, str, tuple, Detector, ArrivalWindow} <= kinds_of(state)
    assert kinds_of((1.5,)) == {tuple, float}
