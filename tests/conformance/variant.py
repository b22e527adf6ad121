"""
Implementations that are wrong on purpose: the reference with something else in the place of some of its functions.

Each can be judged like any other: `peerproof run --impl py:tests.conformance.wrong:BD02`. What a variant is caught by stands
beside it, and `test_wrong.py` holds it to that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from peerproof.reference.harness import variant
from peerproof.spec.core import Received, Step


class Variant(variant.Variant):
    """The reference of one protocol with a mistake."""

    #: The vectors made for this mistake, by the last part of their ids; those of a divergence have its flag.
    caught_by: ClassVar[tuple[str, ...]] = ()


def received(event: Any, kind: type[Any]) -> bool:
    """Whether the event is a message of this kind."""
    return isinstance(event, Received) and isinstance(event.message, kind)


def without_effects(step: Step[Any, Any], unwanted: Callable[[Any], bool]) -> Step[Any, Any]:
    """A step that leaves some effects out."""
    return step._replace(effects=tuple(effect for effect in step.effects if not unwanted(effect)))
