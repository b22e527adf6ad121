"""Specifications with something changed: how models have other definitions than the protocol itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeAlias

#: A protocol's `step`.
Taking: TypeAlias = Callable[[Any, Any, Any], Any]
Change: TypeAlias = Callable[[Taking], Taking]


def replacing(module: ModuleType, **definitions: Any) -> Change:
    """The change of taking each step with other definitions in a module."""

    @contextmanager
    def replaced() -> Iterator[None]:
        originals = {name: getattr(module, name) for name in definitions}
        vars(module).update(definitions)
        try:
            yield
        finally:
            vars(module).update(originals)

    def change(step: Taking) -> Taking:
        def changed(state: Any, event: Any, pick: Any) -> Any:
            with replaced():
                return step(state, event, pick)

        return changed

    return change
