"""Framing of messages on TCP, the same as Wendy's. [P-01, WA-64]"""

from __future__ import annotations

from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT, Confirmation, Inbound

__all__ = ["ACKNOWLEDGEMENT", "Confirmation", "Inbound"]
