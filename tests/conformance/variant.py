"""
Implementations that are wrong on purpose: the reference with something else in the place of some of its functions.

Each can be judged like any other: `peerproof run --impl py:tests.conformance.wrong:BD02`. What a variant is caught by stands
beside it, and `test_wrong.py` holds it to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

from peerproof.reference.harness.harness import Harness
from peerproof.reference.runtime.protocol import Runtime
from peerproof.spec.core import NodeId, Pick, Received, Step
from peerproof.spec.forms.form import Plain
from peerproof.spec.forms.packing import Codec
from peerproof.spec.overrides import Overrides, overriding


class Variant(Harness):
    """The reference of one protocol with something else in the place of some of its functions."""

    #: The name of the protocol.
    protocol: ClassVar[str]

    #: Overrides that are in force while this variant does something; their places are given below the protocol's package.
    instead: ClassVar[Overrides] = {}

    #: Queries with other answers.
    queries: ClassVar[Mapping[str, Callable[..., Plain]]] = {}

    #: The vectors made for this mistake, by the last part of their ids; those of a divergence have its flag.
    caught_by: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def specification(cls) -> ModuleType:
        """The package of the protocol."""
        return import_module(f"peerproof.spec.{cls.protocol}")

    def initial(self, self_id: NodeId, config: Any) -> Step[Any, Any]:
        """A fresh node."""
        first: Step[Any, Any] = self._transitions().initial(self_id, config)
        return first

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """What the node does about an event."""
        step: Step[Any, Any] = self._transitions().step(state, event, pick)
        return step

    def encode(self, message: Any) -> bytes:
        """A message as bytes."""
        return bytes(self.specification().MESSAGE.encode(message))

    def decode(self, data: bytes) -> Any:
        """Bytes as a message."""
        return self.specification().MESSAGE.decode(data)

    def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
        """The reply to a request. A program with this mistake would die where the reference reports an internal error."""
        reply = super().handle(request, choose)
        if reply.get("error", {}).get("code") == "internal":
            raise RuntimeError(reply["error"]["message"])
        return reply

    @cached_property
    def overriding(self) -> overriding:
        """The context in which the overrides of this variant are in force."""
        return overriding({f"peerproof.spec.{self.protocol}.{name}": other for name, other in self.instead.items()})

    def run_overridden(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function that is called with the overrides in force."""
        with self.overriding:
            return function(*arguments)

    def _transitions(self) -> Any:
        return import_module(f"peerproof.spec.{self.protocol}.transitions")

    def _protocol(self, request: dict[str, Any]) -> Runtime:
        right = super()._protocol(request)
        if right.name != self.protocol:
            return right
        return _WrongProtocol(**{field.name: getattr(right, field.name) for field in fields(right)}, wrong=self)


@dataclass(frozen=True, slots=True)
class _WrongProtocol(Runtime):
    wrong: Variant | None = None

    def specification(self) -> Any:
        wrong = self.wrong
        assert wrong is not None
        right = wrong.specification()
        return SimpleNamespace(
            **{
                **vars(right),
                "initial": lambda *arguments: wrong.run_overridden(wrong.initial, *arguments),
                "step": lambda *arguments: wrong.run_overridden(wrong.step, *arguments),
                "MESSAGE": Codec(right.MESSAGE.form, wrong.encode, wrong.decode),
                "QUERIES": {**right.QUERIES, **wrong.queries},
            }
        )


def received(event: Any, kind: type[Any]) -> bool:
    """Whether the event is a message of this kind."""
    return isinstance(event, Received) and isinstance(event.message, kind)


def without_effects(step: Step[Any, Any], unwanted: Callable[[Any], bool]) -> Step[Any, Any]:
    """A step that leaves some effects out."""
    return step._replace(effects=tuple(effect for effect in step.effects if not unwanted(effect)))
