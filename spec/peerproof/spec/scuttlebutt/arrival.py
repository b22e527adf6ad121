"""
The phi accrual failure detector: a suspicion level computed from the time since the last sign of life.

The document names the hooks (a delta is a sign of life, some nodes become critical, each node's status is up or down) and
leaves the detector open. This is the one of Hayashibara, Defago, Yared and Katayama, "The phi accrual failure detector"
(SRDS 2004), with the exponential distribution that Cassandra uses: the probability that a live node stays silent for t
milliseconds, when its signs of life come every m on average, is e^(-t/m); phi is -log10 of that, t / (m ln 10).

Phi is compared in integers, so that a state holds no floats and every machine agrees. [BA-23, BA-28, BA-29]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from peerproof.spec.core import Duration, Instant

#: 1 / ln 10 = 0.43429448190325…, as a fraction; its error is below 1 in 10^13.
ONE_BY_LN_10: Final = (4_342_944_819_033, 10_000_000_000_000)

DEFAULT_BOOTSTRAP: Final = Duration(2000)

#: Thresholds are in thousandths of phi.
THOUSANDTHS: Final = 1000


@dataclass(frozen=True, slots=True)
class Detector:
    """The configuration of the failure detector."""

    window: int = 100  #: intervals remembered per peer
    bootstrap: Duration = DEFAULT_BOOTSTRAP  #: the assumed first interval of every window
    critical: int = 5000  #: phi, in thousandths, above which a peer is critical and gets a digest
    down: int = 8000  #: phi, in thousandths, above which a peer is down

    def __post_init__(self) -> None:
        if self.window < 1 or self.bootstrap < 1 or self.critical < 0 or self.down < 0:
            raise ValueError(f"window and bootstrap must be at least 1, the thresholds not negative: {self}")


@dataclass(frozen=True, slots=True)
class ArrivalWindow:
    """The time of a peer's last sign of life, and the last intervals between its signs of life, oldest first."""

    last: Instant
    intervals: tuple[Duration, ...]


def open_window(now: Instant, detector: Detector) -> ArrivalWindow:
    """Returns the window of a new peer: its silence counts from now. [BA-29]"""
    return ArrivalWindow(now, (detector.bootstrap,))


def record_arrival(window: ArrivalWindow, now: Instant, detector: Detector) -> ArrivalWindow:
    """Returns the window after a sign of life. If the clock was set back, the interval counts as 0."""
    interval = Duration(max(0, now - window.last))
    return ArrivalWindow(now, (*window.intervals, interval)[-detector.window :])


def phi_exceeds(window: ArrivalWindow, now: Instant, thousandths: int) -> bool:
    """
    Whether phi is above a threshold, computed exactly as t * n / (sum * ln 10) > threshold / 1000, without division.

    The mean interval counts as at least one millisecond, the clock's grain.
    """
    silence = max(0, now - window.last)
    total = max(sum(window.intervals), len(window.intervals))
    numerator, denominator = ONE_BY_LN_10
    return silence * len(window.intervals) * numerator * THOUSANDTHS > thousandths * total * denominator
