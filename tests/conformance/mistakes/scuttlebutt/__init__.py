"""
Mistakes that implementations of Scuttlebutt make, one at a time; `tests/support/variant.py` says how it is done.

`peerproof run --impl py:tests.conformance.mistakes.scuttlebutt.packing:NewestFirst` shows what it looks like to have made one.
"""

from __future__ import annotations

from tests.support.variant import Variant


class Wrong(Variant):
    """The reference of Scuttlebutt with a mistake."""

    protocol = "scuttlebutt"
