"""
Implementations that are wrong on purpose: the reference with something else in the place of some of its functions.

Each can be judged like any other: `peerproof run --impl py:tests.conformance.mistakes.scuttlebutt.packing:NewestFirst`. What a
variant is caught by stands beside it, and `test_wrong.py` holds it to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from peerproof.reference.divergences.divergence import received, without_effects
from peerproof.reference.harness import variant
from peerproof.spec.overrides import Overrides

__all__ = ["Table", "Variant", "received", "variants", "without_effects"]


class Variant(variant.Variant):
    """The reference of one protocol with a mistake."""

    #: The vectors made for this mistake, by the last part of their ids; those of a divergence have its flag.
    caught_by: ClassVar[tuple[str, ...]] = ()


class Table(dict[str, type[Variant]]):
    """Variants by their names."""

    def find(self, name: str) -> type[Variant]:
        """The `__getattr__` of a module with a table, so that `--impl py:MODULE:NAME` finds each. Raises AttributeError."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def variants(module: str, base: type[Variant], rows: Mapping[str, tuple[str, Overrides, str]]) -> Table:
    """Variants in rows: what each does, what is in the place of what, and the vectors, with blanks between, that catch it."""
    found = Table()
    for name, (does, instead, vectors) in rows.items():
        members = {"__module__": module, "__doc__": does, "instead": instead, "caught_by": (*vectors.split(),)}
        found[name] = type(name, (base,), members)
    return found
