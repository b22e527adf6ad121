"""DistKV: a replicated store without a master, whose nodes tell each other every change. [D-01, D-57]"""

from __future__ import annotations

from typing import Final

from peerproof.spec.distkv.codec import MESSAGE
from peerproof.spec.distkv.forms import COMMAND, NOTICE, TIMER
from peerproof.spec.properties import Property

NAME: Final = "distkv"

PROPERTIES: Final[tuple[Property, ...]] = ()

__all__ = ["COMMAND", "MESSAGE", "NAME", "NOTICE", "PROPERTIES", "TIMER"]
