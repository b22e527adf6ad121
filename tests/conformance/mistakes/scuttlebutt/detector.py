"""Mistakes in what is a sign of life, how suspicion grows, and what the application is told of it."""

from __future__ import annotations

from typing import Any

from tests.conformance.mistakes.scuttlebutt import Wrong
from tests.support.variant import Variants, received

from peerproof.spec.core import Instant, Pick
from peerproof.spec.scuttlebutt import arrival, transitions
from peerproof.spec.scuttlebutt.arrival import ArrivalWindow
from peerproof.spec.scuttlebutt.messages import Delta, DigestEntry
from peerproof.spec.scuttlebutt.state import State

wrong = Variants(__name__, Wrong)
_LEARNED = transitions.add_peers


@wrong("step", "heartbeat-of-a-stranger delta-from-an-unknown-source")
def StrangersBecomePeers(right: Any, state: State, event: Any, pick: Pick) -> Any:
    """Stores who sends a delta."""
    if received(event, Delta):
        state = _LEARNED(state, event.now, [DigestEntry(event.sender, 0)])[0]
    return right(state, event, pick)


# Suspicion


# Status


# Round trips


wrong |= {
    # Has no interval to judge a peer by that was never heard, and so never does.
    "NoBootstrap: critical-by-default-above down-by-default-above": {
        "transitions.open_window": lambda now, _: ArrivalWindow(now, ())
    },
    # Counts the silence of a peer that was never heard from its own start.
    "SilenceSinceTheStart: silence-counts-from-when-a-peer-is-stored-below": {
        "transitions.open_window": lambda _, detector: ArrivalWindow(Instant(0), (detector.bootstrap,))
    },
    # Takes the binary logarithm where the decimal one is meant.
    "LogarithmOf2: phi-of-1-below phi-of-12345-thousandths-below down-at-phi-of-1-below": {
        "arrival.ONE_BY_LN_10": (14_426_950_408_889, 10_000_000_000_000)
    },
    # Takes 0.434 for 1/ln 10.
    "RoundsTheFactor: critical-by-default-above down-by-default-above phi-of-12345-thousandths-above": {
        "arrival.ONE_BY_LN_10": (434, 1000)
    },
    # Rounds thresholds to whole phi.
    "WholeThresholds: phi-of-a-thousandth-below phi-of-12345-thousandths-below": {
        "transitions.phi_exceeds": lambda window, now, thousandths: arrival.phi_exceeds(window, now, thousandths // 1000 * 1000)
    },
}
__getattr__ = wrong.find
