"""
Mistakes that implementations of DistKV make, one at a time; `tests/support/variant.py` says how it is done.

`peerproof run --impl py:tests.conformance.mistakes.distkv.store:TocksFirst` shows what it looks like to have made one.
"""

from __future__ import annotations

from tests.support.variant import Variant


class Wrong(Variant):
    """The reference of DistKV with a mistake."""

    protocol = "distkv"
