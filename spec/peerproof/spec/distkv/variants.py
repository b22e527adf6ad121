"""
DistKV with something changed: readings that are wrong, and what mends them.

Each stands beside the specification and not in it. The names are those of the definitions by which the TLA+ models replace a
definition of their own; the two are written independently.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from peerproof.spec.changed import Change, Taking
from peerproof.spec.core import Pick, Step
from peerproof.spec.distkv.transitions import step as taken
from peerproof.spec.distkv.world import Model


class Varied(Model):
    """A world of nodes that are changed in some respects."""

    changes: ClassVar[tuple[Change, ...]] = ()

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self._taking: Taking = taken
        for change in self.changes:
            self._taking = change(self._taking)
        super().__init__(constants)

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """What DistKV does, changed."""
        after: Step[Any, Any] = self._taking(state, event, pick)
        return after


#: What TLA+ definitions are replaced by -> the model that has the same done to it.
VARIANTS: Final[Mapping[frozenset[str], type[Varied]]] = {
    frozenset(): Varied,
}

#: TLA+ next-state relations and specifications -> the monitor that watches the same runs, of which none needs one.
BEHAVIOURS: Final[Mapping[str, None]] = {"Next": None, "FairSpec": None}

#: Those whose runs need not be as fair as `peerproof.spec.liveness` takes them to be.
UNFAIR: Final[frozenset[str]] = frozenset()
