"""What must hold of every node and every network of them, at any moment. [DI-01…DI-18]"""

from __future__ import annotations

from typing import Final

from peerproof.spec.properties import Property

PROPERTIES: Final[tuple[Property, ...]] = ()
