"""
Implementations that are wrong on purpose: the reference with something else in the place of some of its functions.

A module of mistakes has a table, `wrong = Variants(__name__, Wrong)`, of short rows, and of functions, whose docstrings say what
is wrong about them:

    @wrong("transitions.on_ack", "vector-that-it-fails another-one")
    def AcksTwice(right, state, ack): return right(right(state, ack), ack)

    wrong |= {
        # What is wrong about it.
        "AcksLess: vector-that-it-fails another-one": around("transitions.on_ack", lambda right, state, ack: ...),
        # What is wrong about it.
        "DropsAcks: vector-that-it-fails another-one": {"transitions.on_ack": lambda state, ack: state},
    }

`right` is what stands at the place. What is replaced again and again has a function here, which takes the change:
`reading(change)` in a row, `@wrong(reading, "vectors")` before a function.

Each can be judged like any other: `peerproof run --impl py:tests.conformance.mistakes.scuttlebutt.packing:NewestFirst`. It must
fail the vectors that it names; `test_wrong.py` holds it to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pkgutil import resolve_name
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import msgpack

from peerproof.reference.divergences.divergence import received, without_effects
from peerproof.reference.harness import variant
from peerproof.spec.core import Received, Send, Step
from peerproof.spec.errors import MalformedMessage, NotEnabled
from peerproof.spec.overrides import Overrides

__all__ = ["Variant", "Variants", "after", "around", "configured", "despite", "forbidding", "hearing", "is_sent", "keeping"]
__all__ += ["mending", "passing_over", "reading", "received", "refusing", "remembering", "sending", "silent"]
__all__ += ["with_effects", "with_header", "with_messages", "with_values", "without_effects"]

Function: TypeAlias = Callable[..., Any]


class _Around(NamedTuple):
    function: Function


def around(place: str, function: Function) -> dict[str, Any]:
    """
    What is replaced to have the function called at a place, with what stands there as its first argument.

    The place is the dotted name of something in the protocol's package, or a method of the variant: `step`, `decode`.
    An answer to a query stands without it, as `{"queries.status": ...}`.
    """
    return {place: _Around(function)}


def after(place: str, function: Function) -> dict[str, Any]:
    """What is replaced to make something else of what comes from a place: the function is given that, and what that came of."""
    return around(place, lambda right, *given, **named: function(right(*given, **named), *given, **named))


def with_values(step: Step[Any, Any], **values: Any) -> Step[Any, Any]:
    """A step to a state with other values."""
    return step._replace(state=replace(step.state, **values))


def with_effects(step: Step[Any, Any], *effects: Any) -> Step[Any, Any]:
    """A step with more effects."""
    return step._replace(effects=(*step.effects, *effects))


def is_sent(effect: Any, *kinds: type[Any]) -> bool:
    """Whether an effect sends a message of one of these kinds."""
    return isinstance(effect, Send) and isinstance(effect.message, kinds)


def with_messages(step: Step[Any, Any], kind: Any, change: Function) -> Step[Any, Any]:
    """A step that sends other messages in the place of those of a kind; None for one that it does not send."""
    effects = list[Any]()
    for effect in step.effects:
        message = change(effect.message) if is_sent(effect, kind) else None
        effects += [effect] if not is_sent(effect, kind) else [] if message is None else [replace(effect, message=message)]
    return step._replace(effects=tuple(effects))


def with_header(message: Any, **values: Any) -> Any:
    """A message with other values in its header."""
    return replace(message, header=replace(message.header, **values))


def keeping(place: str, *names: str) -> dict[str, Any]:
    """What is replaced to leave parts of the state as they are."""
    return after(place, lambda step, state, *_: with_values(step, **{name: getattr(state, name) for name in names}))


def sending(kind: Any, change: Function) -> dict[str, Any]:
    """What is replaced to send other messages in the place of those of a kind, from each and the state; None for none."""
    return after("step", lambda step, state, *_: with_messages(step, kind, lambda message: change(message, state)))


def passing_over(is_nothing: Function) -> dict[str, Any]:
    """What is replaced to do nothing about some events, from the state and the event."""
    return around(
        "step", lambda right, state, event, pick: Step(state) if is_nothing(state, event) else right(state, event, pick)
    )


def reading(change: Function) -> dict[str, Any]:
    """What is replaced to make something else of each message that is read."""
    return after("decode", lambda message, _: change(message))


def refusing(is_refused: Function) -> dict[str, Any]:
    """What is replaced to refuse some of what is legal, from the message and its bytes."""

    def decode(right: Function, data: bytes) -> Any:
        message = right(data)
        if is_refused(message, data):
            raise MalformedMessage("bad_value", 0, "refused")
        return message

    return around("decode", decode)


def mending(mended: Function) -> dict[str, Any]:
    """What is replaced to read other bytes in the place of malformed ones; what cannot be mended stays malformed."""

    def decode(right: Function, data: bytes) -> Any:
        try:
            return right(data)
        except MalformedMessage as error:
            try:
                other = mended(data)
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError, msgpack.UnpackException):
                raise error from None
            return right(other)

    return around("decode", decode)


def despite(function: Function) -> dict[str, Any]:
    """What is replaced to do something else where bytes are malformed, from those and the error."""

    def decode(right: Function, data: bytes) -> Any:
        try:
            return right(data)
        except MalformedMessage as error:
            return function(data, error)

    return around("decode", decode)


def silent(is_unwanted: Function) -> dict[str, Any]:
    """What is replaced to leave some effects out of all steps."""
    return after("step", lambda step, *_: without_effects(step, is_unwanted))


def hearing(kind: Any, change: Function) -> dict[str, Any]:
    """What is replaced to take messages of a kind for other ones, from the message and the state; None is passed over."""

    def step(right: Function, state: Any, event: Any, pick: Any) -> Any:
        if isinstance(event, Received) and isinstance(event.message, kind):
            message = change(event.message, state)
            if message is None:
                return Step(state)
            event = replace(event, message=message)
        return right(state, event, pick)

    return around("step", step)


def forbidding(place: str, is_forbidden: Function) -> dict[str, Any]:
    """What is replaced to refuse more of what is asked at a place, from what that is given."""

    def refuse(right: Function, *given: Any) -> Any:
        if is_forbidden(*given):
            raise NotEnabled("bad_value", "not that")
        return right(*given)

    return around(place, refuse)


def remembering(function: Function) -> dict[str, Any]:
    """
    What is replaced to remember over steps what no node keeps, until a node begins.

    The function is given what is remembered, a dictionary, then what is right, and what that is given.
    """
    memory = dict[Any, Any]()

    def initial(right: Function, *given: Any) -> Any:
        memory.clear()
        return right(*given)

    return around("initial", initial) | around("step", lambda right, *given: function(memory, right, *given))


def configured(**change: Function) -> dict[str, Any]:
    """What is replaced to begin with other values in the configuration, each from what it should be."""

    def initial(right: Function, self_id: Any, config: Any) -> Any:
        return right(self_id, replace(config, **{name: other(getattr(config, name)) for name, other in change.items()}))

    return around("initial", initial)


class Variant(variant.Variant):
    """The reference of one protocol with a mistake."""

    #: The vectors made for this mistake, by the last part of their ids; those of a divergence have its flag.
    caught_by: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Looks for what stands at the places of `around`."""
        instead = dict[str, Any]()
        for place, other in cls.instead.items():
            if place.startswith("queries."):
                cls.queries = {**cls.queries, place.removeprefix("queries."): other}
            elif not isinstance(other, _Around):
                instead[place] = other
            elif "." in place:
                whole = place if place.startswith("peerproof.") else f"{cls.specification().__name__}.{place}"
                instead[place] = _given_right(other.function, resolve_name(whole))
            else:
                setattr(cls, place, _method(other.function, getattr(cls, place)))
        cls.instead = instead


def _given_right(function: Function, right: Any) -> Function:
    return lambda *arguments, **named: function(right, *arguments, **named)  # no partial function, as it may become a method


def _method(function: Function, right: Function) -> Function:
    return lambda self, *arguments: function(partial(right, self), *arguments)


class Variants:
    """The variants of a module, by their names."""

    def __init__(self, module: str, base: type[Variant]) -> None:
        self.variants: dict[str, type[Variant]] = {}
        self._module = module
        self._base = base

    def __call__(self, where: str | Callable[[Function], Overrides], vectors: str = "") -> Callable[[Function], type[Variant]]:
        """Makes a variant of a function: called around what is at a place, or with what another function replaces to call it."""

        def add(function: Function) -> type[Variant]:
            instead = around(where, function) if isinstance(where, str) else where(function)
            return self._add(function.__name__, instead, vectors, function.__doc__)

        return add

    def after(self, place: str, vectors: str) -> Callable[[Function], type[Variant]]:
        """Makes a variant of a function that makes something else of what comes from a place."""
        return self(partial(after, place), vectors)

    def __ior__(self, rows: Mapping[str, Overrides]) -> Self:
        """Adds variants in rows: `Name: vector vector`, and what is in the place of what."""
        for key, instead in rows.items():
            name, _, vectors = key.partition(": ")
            self._add(name, instead, vectors)
        return self

    def find(self, name: str) -> type[Variant]:
        """The `__getattr__` of the module, so that `--impl py:MODULE:NAME` finds each. Raises AttributeError."""
        try:
            return self.variants[name]
        except KeyError:
            raise AttributeError(name) from None

    def _add(self, name: str, instead: Overrides, vectors: str, does: str | None = None) -> type[Variant]:
        assert name not in self.variants, name
        members = {"__module__": self._module, "__doc__": does, "instead": instead, "caught_by": (*vectors.split(),)}
        self.variants[name] = type(name, (self._base,), members)
        return self.variants[name]
