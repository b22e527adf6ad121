"""
Mistakes that implementations of SWIM make, one at a time; `tests/support/variant.py` says how it is done.

`peerproof run --impl py:tests.conformance.mistakes.swim.transit:UuidsAsStrings` shows what it looks like to have made one.
"""

from __future__ import annotations

from tests.support.variant import Variant


class Wrong(Variant):
    """The reference of SWIM with a mistake."""

    protocol = "swim"
