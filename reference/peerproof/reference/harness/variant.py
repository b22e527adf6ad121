"""
The reference with other definitions in the place of some of its own: what an implementation does that differs in just that.

A variant takes a text in another way, or is wrong on purpose. It is judged like any other implementation, in process:
`peerproof run --impl py:my_package.variants:Mine`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

from peerproof.reference.harness.harness import Harness
from peerproof.reference.runtime.protocol import Runtime
from peerproof.spec.core import NodeId, Pick, Step
from peerproof.spec.forms.form import Plain
from peerproof.spec.forms.packing import Codec
from peerproof.spec.overrides import Overrides, overriding
from peerproof.spec.protocols import PROTOCOLS


class Variant(Harness):
    """The reference of one protocol with something else in the place of some of its functions."""

    #: The name of the protocol.
    protocol: ClassVar[str]

    #: Overrides that are in force while this variant does something; their places are given below the protocol's package.
    instead: ClassVar[Overrides] = {}

    #: Queries with other answers.
    queries: ClassVar[Mapping[str, Callable[..., Plain]]] = {}

    @classmethod
    def specification(cls) -> ModuleType:
        """The package of the protocol."""
        found: Any = PROTOCOLS[cls.protocol].specification.load()
        return found  # type: ignore[no-any-return]  # a specification is a package

    def initial(self, self_id: NodeId, config: Any) -> Step[Any, Any]:
        """A fresh node."""
        first: Step[Any, Any] = self.specification().initial(self_id, config)
        return first

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """What the node does about an event."""
        step: Step[Any, Any] = self.specification().step(state, event, pick)
        return step

    def encode(self, message: Any) -> bytes:
        """A message as bytes."""
        return bytes(self.specification().MESSAGE.encode(message))

    def decode(self, data: bytes) -> Any:
        """Bytes as a message. Raises MalformedMessage."""
        return self.specification().MESSAGE.decode(data)

    def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
        """The reply to a request. Raises RuntimeError where the reference reports an internal error: programs die there."""
        reply = super().handle(request, choose)
        if reply.get("error", {}).get("code") == "internal":
            raise RuntimeError(reply["error"]["message"])
        return reply

    @cached_property
    def overriding(self) -> overriding:
        """The context in which the overrides of this variant are in force."""
        package = self.specification().__name__
        return overriding(
            {name if name.startswith("peerproof.") else f"{package}.{name}": other for name, other in self.instead.items()}
        )

    def run_overridden(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function that is called with the overrides in force."""
        with self.overriding:
            return function(*arguments)

    def _protocol(self, request: dict[str, Any]) -> Runtime:
        right = super()._protocol(request)
        if right.name != self.protocol:
            return right
        return _VariantRuntime(**{field.name: getattr(right, field.name) for field in fields(right)}, variant=self)


@dataclass(frozen=True, slots=True)
class _VariantRuntime(Runtime):
    variant: Variant | None = None

    def specification(self) -> Any:
        variant = self.variant
        assert variant is not None
        right = variant.specification()
        return SimpleNamespace(
            **{
                **vars(right),
                "initial": lambda *arguments: variant.run_overridden(variant.initial, *arguments),
                "step": lambda *arguments: variant.run_overridden(variant.step, *arguments),
                "MESSAGE": Codec(
                    right.MESSAGE.form,
                    lambda message: variant.run_overridden(variant.encode, message),
                    lambda data: variant.run_overridden(variant.decode, data),
                ),
                "QUERIES": {**right.QUERIES, **variant.queries},
            }
        )
