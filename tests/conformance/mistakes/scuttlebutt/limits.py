"""Mistakes at the ends of what can be configured, and in what holds where nothing is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import Variants, around

from peerproof.spec.core import Duration, Instant
from peerproof.spec.scuttlebutt.arrival import ONE_BY_LN_10, THOUSANDTHS, ArrivalWindow, Detector

wrong = Variants(__name__, Wrong)


@wrong("transitions.phi_exceeds", "threshold-of-0-without-a-silence threshold-that-is-reached")
def AtTheThreshold(right: Any, window: ArrivalWindow, now: Instant, thousandths: int) -> Any:
    """Takes a phi that reaches a threshold for one above it."""
    total = max(sum(window.intervals), len(window.intervals))
    numerator, denominator = ONE_BY_LN_10
    return (now - window.last) * len(window.intervals) * numerator * THOUSANDTHS >= thousandths * total * denominator


@wrong("transitions.record_arrival", "interval-of-nothing-counts-in-the-mean")
def IntervalOfAMillisecond(right: Any, window: ArrivalWindow, now: Instant, detector: Detector) -> Any:
    """Takes no interval below a millisecond."""
    interval = Duration(max(1, now - window.last))
    return ArrivalWindow(now, (*window.intervals, interval)[-detector.window :])


wrong |= {
    # Fills Ethernet's frames unless it is told otherwise, and takes 1400 for that.
    "MoreByDefault: delta-of-1401-bytes-by-default": around(
        "initial",
        lambda right, self_id, config: right(
            self_id, replace(config, max_payload=1472) if config.max_payload == 1400 else config
        ),
    ),
    # Takes 1/ln 10 to nine digits, which is more than it is.
    "NineDigits: phi-to-thirteen-digits-below": {"arrival.ONE_BY_LN_10": (434_294_482, 1_000_000_000)},
    # Takes 1/ln 10 to ten digits, which is less than it is.
    "TenDigits: phi-to-thirteen-digits-above": {"arrival.ONE_BY_LN_10": (4_342_944_819, 10_000_000_000)},
}
__getattr__ = wrong.find
