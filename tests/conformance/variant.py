"""
Implementations that are wrong on purpose: the reference with something else in the place of some of its functions.

Each can be judged like any other: `peerproof run --impl py:tests.conformance.mistakes.scuttlebutt.packing:NewestFirst`. What a
variant is caught by stands beside it, and `test_wrong.py` holds it to that.
"""

from __future__ import annotations

from typing import ClassVar

from peerproof.reference.divergences.divergence import received, without_effects
from peerproof.reference.harness import variant

__all__ = ["Variant", "received", "without_effects"]


class Variant(variant.Variant):
    """The reference of one protocol with a mistake."""

    #: The vectors made for this mistake, by the last part of their ids; those of a divergence have its flag.
    caught_by: ClassVar[tuple[str, ...]] = ()
