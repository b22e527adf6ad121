"""What the document of Peter may also mean."""

from __future__ import annotations

from typing import Final

from peerproof.conformance.readings.reading import Reading

READINGS: Final[tuple[Reading, ...]] = ()
