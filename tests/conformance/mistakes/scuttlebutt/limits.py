"""Mistakes at the ends of what can be configured, and in what holds where nothing is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Final

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import variants

from peerproof.spec.core import Duration, Instant, NodeId
from peerproof.spec.scuttlebutt.arrival import ONE_BY_LN_10, THOUSANDTHS, ArrivalWindow, Detector
from peerproof.spec.scuttlebutt.transitions import Next


def _reaches(window: ArrivalWindow, now: Instant, thousandths: int) -> bool:
    total = max(sum(window.intervals), len(window.intervals))
    numerator, denominator = ONE_BY_LN_10
    return (now - window.last) * len(window.intervals) * numerator * THOUSANDTHS >= thousandths * total * denominator


def _heard_later(window: ArrivalWindow, now: Instant, detector: Detector) -> ArrivalWindow:
    interval = Duration(max(1, now - window.last))
    return ArrivalWindow(now, (*window.intervals, interval)[-detector.window :])


class MoreByDefault(Wrong):
    """Fills Ethernet's frames unless it is told otherwise, and takes 1400 for that."""

    caught_by: ClassVar = ("delta-of-1401-bytes-by-default",)

    def initial(self, self_id: NodeId, config: Any) -> Next:
        """Has another default."""
        return super().initial(self_id, replace(config, max_payload=1472) if config.max_payload == 1400 else config)


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "NineDigits": (
            "Takes 1/ln 10 to nine digits, which is more than it is.",
            {"arrival.ONE_BY_LN_10": (434_294_482, 1_000_000_000)},
            "phi-to-thirteen-digits-below",
        ),
        "TenDigits": (
            "Takes 1/ln 10 to ten digits, which is less than it is.",
            {"arrival.ONE_BY_LN_10": (4_342_944_819, 10_000_000_000)},
            "phi-to-thirteen-digits-above",
        ),
        "AtTheThreshold": (
            "Takes a phi that reaches a threshold for one above it.",
            {"transitions.phi_exceeds": _reaches},
            "threshold-of-0-without-a-silence threshold-that-is-reached",
        ),
        "IntervalOfAMillisecond": (
            "Takes no interval below a millisecond.",
            {"transitions.record_arrival": _heard_later},
            "interval-of-nothing-counts-in-the-mean",
        ),
    },
)
__getattr__ = MISTAKES.find
