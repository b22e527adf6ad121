"""`peerproof pipeline simulate` with a unit for each run, so that there are many moments to be killed at."""

from __future__ import annotations

import sys

from peerproof.cli.main import main
from peerproof.conformance.pipeline import simulate

if __name__ == "__main__":
    simulate.UNIT = 1  # type: ignore[misc]  # a constant elsewhere
    sys.exit(main(["pipeline", "simulate", *sys.argv[1:]]))
