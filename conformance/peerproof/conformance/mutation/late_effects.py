"""Delays an effect until the next timer: the wrapper of a mutated `step`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from peerproof.spec.core import Expired, Pick, Step

#: The attribute with the content of each kind of effect.
ABOUT: Final = {"Send": "message", "Notify": "notice", "SetTimer": "timer"}


def late(effect: str, about: str) -> Callable[[Callable[..., Step[Any, Any]]], Callable[..., Step[Any, Any]]]:
    """
    Wraps a `step` so that effects of one kind and content wait until the node's next timer.

    Waiting effects belong to the node's current state; they are dropped when the node is loaded or started again.
    """

    def wrap(step: Callable[..., Step[Any, Any]]) -> Callable[..., Step[Any, Any]]:
        waiting: dict[int, tuple[Any, tuple[Any, ...]]] = {}  # by identity of a state, which is kept so that the id stays unique

        @wraps(step)
        def changed(state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
            after, effects = step(state, event, pick)
            _, held = waiting.pop(id(state), (None, ()))
            new = tuple(one for one in effects if _is(one, effect, about))
            now = tuple(one for one in effects if not _is(one, effect, about))
            if isinstance(event, Expired):
                now, held = now + held, ()
            if held + new:
                waiting[id(after)] = after, held + new
            return Step(after, now)

        return changed

    return wrap


def _is(one: Any, effect: str, about: str) -> bool:
    return type(one).__name__ == effect and type(getattr(one, ABOUT[effect])).__name__ == about
