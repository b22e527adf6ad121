"""
Makes the example traces again, byte for byte: python conformance/examples/make.py [FOLDER]

Simulated clusters, a file each. In the first three, nodes are the reference's. In the last, nodes answer a digest with the newest
pairs first (BX-05 in spec/scuttlebutt.md), so that a delta that is cut leaves gaps: that must be found.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, cast

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.reference.runtime.protocol import Runtime
from peerproof.reference.runtime.recorder import Recorder
from peerproof.reference.simulation.campaign import run
from peerproof.reference.simulation.plan import Campaign, run_id
from peerproof.spec import scuttlebutt
from peerproof.spec.core import Specification
from peerproof.spec.scuttlebutt.model.bounded import Changed
from peerproof.spec.scuttlebutt.model.variants import answering_with, newest_first
from peerproof.spec.traces.trace import Line


class NewestFirst(Runtime):
    """Scuttlebutt, but for the order of pairs in a delta."""

    def specification(self) -> Specification:
        """The protocol with another step."""
        return cast("Specification", Changed(partial(answering_with(newest_first), scuttlebutt.step)))


class Named(Recorder):
    """Names another implementation in each line."""

    def keep(self, line: Line) -> None:
        """Writes the line."""
        super().keep(replace(line, impl="newest-first"))


_SCUTTLEBUTT: Final = RUNTIMES["scuttlebutt"]
_WRONG: Final = NewestFirst(**{name: getattr(_SCUTTLEBUTT, name) for name in _SCUTTLEBUTT.__slots__})

_CRASHES: Final = {"cluster_events": ["suspicious", "dead"]}

#: File -> the campaign that it is the trace of.
CAMPAIGNS: Final = {
    "scuttlebutt.jsonl": Campaign(_SCUTTLEBUTT, {}, nodes=3, rounds=12, seed="scuttlebutt", updates=3),
    "swim-crash.jsonl": Campaign(RUNTIMES["swim"], _CRASHES, nodes=3, rounds=14, seed="swim", updates=1, crashes=((2, 6),)),
    "wendy-crash.jsonl": Campaign(
        RUNTIMES["wendy"], {"heartbeat": 30_000}, nodes=4, rounds=18, seed="wendy", updates=4, apart=2, crashes=((2, 12),)
    ),
    "scuttlebutt-newest-first.jsonl": Campaign(_WRONG, {"max_payload": 48}, nodes=3, rounds=8, seed="newest-first"),
}


def make(folder: Path) -> None:
    """Writes the files."""
    for name, campaign in CAMPAIGNS.items():
        with (folder / name).open("w", encoding="utf-8", newline="\n") as file:
            recorder = Named if campaign.protocol is _WRONG else Recorder
            run(campaign, recorder=recorder(campaign.protocol.specification(), run_id(campaign), partial(print, file=file)))


if __name__ == "__main__":
    make(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent))
