"""`peerproof pipeline simulate` with a unit for each run, so that there are many moments to be killed at."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from peerproof.cli.main import main
from peerproof.pipeline.stages import simulate


@contextmanager
def steady() -> Iterator[None]:
    """Sources that change between two executions are not what these tests are about."""
    with patch.multiple(simulate, UNIT=1, spec_version=lambda _: "1", code_digest=lambda _: "1"):
        yield


if __name__ == "__main__":
    with steady():
        sys.exit(main(["pipeline", "simulate", *sys.argv[1:]]))
