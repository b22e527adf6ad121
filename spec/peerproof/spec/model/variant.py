"""Variants of bounded models: models whose nodes take other steps than the protocol does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

from peerproof.spec.core import Step
from peerproof.spec.overrides import Overrides, overridden

#: A protocol's `step`.
Taking: TypeAlias = Callable[[Any, Any, Any], Step[Any, Any]]

#: Makes another step of a step.
Change: TypeAlias = Callable[[Taking], Taking]


class Variant:
    """What a variant of a bounded model does differently; to be mixed into a model."""

    #: Other definitions while a step is taken.
    overrides: ClassVar[Overrides] = {}

    #: What is done around each step, the innermost first.
    changes: ClassVar[tuple[Change, ...]] = ()

    def vary(self, step: Taking) -> Taking:
        """The step with these overrides and changes."""
        step = overridden(step, self.overrides)
        for change in self.changes:
            step = change(step)
        return step
