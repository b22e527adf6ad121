"""Other readings of DistKV's document: on the wire, for changes, for pings, at the start, and after a split."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from peerproof.conformance.readings.protocols.distkv import changes, pings, recovery, starting, wire
from peerproof.conformance.readings.reading import Reading

READINGS: Final[tuple[Reading, ...]] = (
    *wire.READINGS,
    *changes.READINGS,
    *pings.READINGS,
    *starting.READINGS,
    *recovery.READINGS,
)

#: Why a decision has one reasonable reading only, and the decisions of which that is so.
SETTLED: Final[Mapping[str, str]] = {
    "to do otherwise contradicts a sentence that it quotes, or the clause that it names": (
        "DA-02 DA-11 DA-13 DA-15 DA-20 DA-22 DA-28 DA-31 DA-32 DA-34 DA-37 DA-46 DA-48 DA-52 DA-89"
    ),
    "no message shows it": "DA-23 DA-55 DA-56 DA-57 DA-58 DA-59 DA-61 DA-81 DA-88 DA-93",
    "it says in order what several clauses and decisions demand together": "DA-67 DA-76 DA-77 DA-84",
}
