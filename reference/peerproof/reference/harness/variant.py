"""
Variants: the reference with some definitions replaced, as an implementation that differs in only these.

A variant reads a clause in another way, or is wrong on purpose. It is checked like any other implementation, in process:
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
    """The reference of one protocol with some functions replaced."""

    #: The name of the protocol.
    protocol: ClassVar[str]

    #: Overrides in force while this variant handles a request: name, full or within the protocol's package -> replacement.
    instead: ClassVar[Overrides] = {}

    #: Replaced queries, by name.
    queries: ClassVar[Mapping[str, Callable[..., Plain]]] = {}

    @classmethod
    def specification(cls) -> ModuleType:
        """Returns the package of the protocol."""
        found: Any = PROTOCOLS[cls.protocol].specification.load()
        return found  # type: ignore[no-any-return]  # a specification is a package

    def initial(self, self_id: NodeId, config: Any) -> Step[Any, Any]:
        """Returns the first step of a fresh node."""
        first: Step[Any, Any] = self.specification().initial(self_id, config)
        return first

    def step(self, state: Any, event: Any, pick: Pick) -> Step[Any, Any]:
        """Returns the node's step for an event."""
        step: Step[Any, Any] = self.specification().step(state, event, pick)
        return step

    def encode(self, message: Any) -> bytes:
        """Encodes a message."""
        return bytes(self.specification().MESSAGE.encode(message))

    def decode(self, data: bytes) -> Any:
        """Decodes a message. Raises MalformedMessage."""
        return self.specification().MESSAGE.decode(data)

    def handle(self, request: dict[str, Any], choose: Callable[[dict[str, Any]], list[int]]) -> dict[str, Any]:
        """Returns the reply to a request. Raises RuntimeError for an internal error, as a program would crash there."""
        reply = super().handle(request, choose)
        if reply.get("error", {}).get("code") == "internal":
            raise RuntimeError(reply["error"]["message"])
        return reply

    @cached_property
    def overriding(self) -> overriding:
        """A context manager that puts the overrides of this variant in force."""
        package = self.specification().__name__
        return overriding(
            {name if name.startswith("peerproof.") else f"{package}.{name}": other for name, other in self.instead.items()}
        )

    def run_overridden(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls a function with the overrides in force and returns its result."""
        with self.overriding:
            return function(*arguments)

    def overridden_specification(self) -> Any:
        """Returns the protocol's package with the functions of this variant, during which its overrides are in force."""
        right = self.specification()
        functions = {
            "initial": lambda *arguments: self.run_overridden(self.initial, *arguments),
            "step": lambda *arguments: self.run_overridden(self.step, *arguments),
            "MESSAGE": Codec(
                right.MESSAGE.form,
                lambda message: self.run_overridden(self.encode, message),
                lambda data: self.run_overridden(self.decode, data),
            ),
            "QUERIES": {**right.QUERIES, **self.queries},
        }
        return SimpleNamespace(**{**vars(right), **functions})

    def _protocol(self, request: dict[str, Any]) -> Runtime:
        right = super()._protocol(request)
        if right.name != self.protocol:
            return right
        return _VariantRuntime(**{field.name: getattr(right, field.name) for field in fields(right)}, variant=self)


@dataclass(frozen=True, slots=True)
class _VariantRuntime(Runtime):
    variant: Variant | None = None

    def specification(self) -> Any:
        assert self.variant is not None
        return self.variant.overridden_specification()
