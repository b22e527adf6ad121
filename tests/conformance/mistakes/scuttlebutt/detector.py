"""Mistakes in what is a sign of life, how suspicion grows, and what the application is told of it."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import received, variants

from peerproof.spec.core import Instant, Pick
from peerproof.spec.scuttlebutt import arrival, transitions
from peerproof.spec.scuttlebutt.arrival import ArrivalWindow
from peerproof.spec.scuttlebutt.messages import Delta, DigestEntry
from peerproof.spec.scuttlebutt.state import State
from peerproof.spec.scuttlebutt.transitions import Next

_LEARNED = transitions.add_peers


class StrangersBecomePeers(Wrong):
    """Stores who sends a delta."""

    caught_by: ClassVar = ("heartbeat-of-a-stranger", "delta-from-an-unknown-source")

    def step(self, state: State, event: Any, pick: Pick) -> Next:
        """Stores the sender first."""
        if received(event, Delta):
            state = _LEARNED(state, event.now, [DigestEntry(event.sender, 0)])[0]
        return super().step(state, event, pick)


# Suspicion


# Status


# Round trips


MISTAKES: Final = variants(
    __name__,
    Wrong,
    {
        "NoBootstrap": (
            "Has no interval to judge a peer by that was never heard, and so never does.",
            {"transitions.open_window": lambda now, _: ArrivalWindow(now, ())},
            "critical-by-default-above down-by-default-above",
        ),
        "SilenceSinceTheStart": (
            "Counts the silence of a peer that was never heard from its own start.",
            {"transitions.open_window": lambda _, detector: ArrivalWindow(Instant(0), (detector.bootstrap,))},
            "silence-counts-from-when-a-peer-is-stored-below",
        ),
        "LogarithmOf2": (
            "Takes the binary logarithm where the decimal one is meant.",
            {"arrival.ONE_BY_LN_10": (14_426_950_408_889, 10_000_000_000_000)},
            "phi-of-1-below phi-of-12345-thousandths-below down-at-phi-of-1-below",
        ),
        "RoundsTheFactor": (
            "Takes 0.434 for 1/ln 10.",
            {"arrival.ONE_BY_LN_10": (434, 1000)},
            "critical-by-default-above down-by-default-above phi-of-12345-thousandths-above",
        ),
        "WholeThresholds": (
            "Rounds thresholds to whole phi.",
            {
                "transitions.phi_exceeds": lambda window, now, thousandths: arrival.phi_exceeds(
                    window, now, thousandths // 1000 * 1000
                )
            },
            "phi-of-a-thousandth-below phi-of-12345-thousandths-below",
        ),
    },
)
__getattr__ = MISTAKES.find
