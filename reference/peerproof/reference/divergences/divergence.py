"""
Divergences: variants of the reference that each reproduce one difference of an original implementation.

Each is checked like any other implementation: `peerproof run --impl divergence:BD-02`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from peerproof.reference.harness.variant import Variant
from peerproof.spec.core import Received, Step


class Divergence(Variant):
    """The reference of one protocol only, with one difference of an original implementation."""

    def __init__(self) -> None:
        super().__init__((self.protocol,))
        self.implementation = f"divergence {_id_of(type(self))}"

    @classmethod
    def instead_of(cls, place: str) -> Callable[[Callable[..., Any]], type[Divergence]]:
        """Makes a divergence of a function that is called instead of the one at a place: with its name and its docstring."""

        def make(function: Callable[..., Any]) -> type[Divergence]:
            members = {"__module__": function.__module__, "__doc__": function.__doc__, "instead": {place: function}}
            return type(function.__name__, (cls,), members)

        return make


def by_id(base: type[Divergence]) -> Mapping[str, type[Divergence]]:
    """Returns the subclasses of a base in its own module, by their ids: `BD02` is `BD-02`."""
    return {_id_of(one): one for one in base.__subclasses__() if one.__module__ == base.__module__}


def _id_of(divergence: type[Divergence]) -> str:
    return f"{divergence.__name__[:2]}-{divergence.__name__[2:]}"


def received(event: Any, kind: type[Any]) -> bool:
    """Whether the event is a message of this kind."""
    return isinstance(event, Received) and isinstance(event.message, kind)


def without_effects(step: Step[Any, Any], unwanted: Callable[[Any], bool]) -> Step[Any, Any]:
    """Returns the step without some effects."""
    return step._replace(effects=tuple(effect for effect in step.effects if not unwanted(effect)))
