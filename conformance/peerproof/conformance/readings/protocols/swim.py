"""What the document of SWIM may also mean."""

from __future__ import annotations

from typing import Final

from peerproof.conformance.readings.reading import Reading

READINGS: Final[tuple[Reading, ...]] = ()
