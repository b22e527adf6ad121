"""How long a run of the fuzzer is: the same numbers for the tests and for `peerproof fuzz`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Profile(NamedTuple):
    """How much is tried."""

    runs: int
    steps: int  #: of each run, at most


PROFILES: Final[Mapping[str, Profile]] = {
    "quick": Profile(runs=60, steps=25),
    "ci": Profile(runs=500, steps=50),
    "soak": Profile(runs=20_000, steps=100),
}

#: The same for inputs of a decoder.
INPUTS: Final[Mapping[str, int]] = {"quick": 20_000, "ci": 500_000, "soak": 20_000_000}
