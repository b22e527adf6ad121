"""
Other readings of a document: for a decision, the alternatives that a reasonable reader can choose.

A reading is a variant of the reference. Where a vector differs from such a variant, its expectation depends on the decision, not
on the document's words. A `should` clause has a reading, too: an implementation without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

from peerproof.spec.forms.form import Plain
from peerproof.spec.overrides import Overrides
from peerproof.spec.protocols import PROTOCOLS, Reference

#: The base class of readings: the reference with other definitions.
_VARIANT: Final[Reference[Any]] = Reference("peerproof.reference.harness.variant:Variant")

Change = Callable[..., Any]

_Function = TypeVar("_Function", bound=Change)

#: The parts that a reading can change with a function; it is called with the original one.
CHANGES: Final = ("step", "initial", "encode", "decode")


@dataclass(frozen=True)
class Reading:
    """
    Another reading of something that a decision settles, or the protocol without a clause that says should or may.

    Each change is called with the original: `step(right, state, event, pick)`, `initial(right, self_id, config)`, `encode(right,
    message)`, `decode(right, data)`; `right` is the specification's function, with `instead` in force. A function of `instead`
    calls the one that it replaces by a name that its own module has imported.
    """

    clause: str  #: the decision, or the clause that is left out
    name: str  #: its name in an implementation's hello, in the member `readings`
    text: str  #: the behaviour of an implementation with this reading, in a sentence
    _: KW_ONLY
    instead: Overrides = field(default_factory=lambda: MappingProxyType({}))  #: names below the protocol's package
    step: Change | None = None
    initial: Change | None = None
    encode: Change | None = None
    decode: Change | None = None
    queries: Mapping[str, Callable[..., Plain]] = field(default_factory=lambda: MappingProxyType({}))
    is_open: bool = False  #: one of many: the document is silent, so any behaviour there is equally right
    says_the_same: bool = False  #: it changes parts of messages that mean nothing; no other reading is tried together with it
    ends: bool = False  #: like `is_open`, and an implementation may even come to an end

    @property
    def is_definite(self) -> bool:
        """Returns True if it leads to one behaviour."""
        return not (self.is_open or self.ends)

    def variant(self, protocol: str) -> Any:
        """Returns an implementation of the protocol with this reading; it has `handle`, for the adapter protocol."""
        return combine(protocol, [self])


class Readings(list[Reading]):
    """The other readings of a protocol's document."""

    def add(self, clause: str, name: str, text: str, **parts: Any) -> None:
        """Adds a reading; `parts` are the keyword arguments of `Reading`."""
        self.append(Reading(clause, name, text, **parts))

    def register(self, clause: str, name: str, place: str, **flags: bool) -> Callable[[_Function], _Function]:
        """
        Adds a reading that is one function, described by the first paragraph of its docstring.

        `place` is what it replaces: a name below the protocol's package, or one of `CHANGES`.
        """

        def add(function: _Function) -> _Function:
            text = " ".join((function.__doc__ or "").split("\n\n")[0].split())
            parts: dict[str, Any] = {place: function} if place in CHANGES else {"instead": {place: function}}
            self.add(clause, name, text, **parts, **flags)
            return function

        return add


def combine(protocol: str, readings: list[Reading]) -> Any:
    """Returns an implementation with several readings at once; of two that change the same part the later one is called first."""
    base = _VARIANT.load()
    members: dict[str, Any] = {"protocol": protocol, "instead": {}, "queries": {}}
    for reading in readings:
        members["instead"] |= reading.instead
        members["queries"] |= reading.queries
    made = type("Base", (base,), members)
    for reading in readings:
        changes = {name: getattr(reading, name) for name in CHANGES}
        made = type(reading.name, (made,), {name: _method(made, name, change) for name, change in changes.items() if change})
    return made()


def _method(base: type[Any], name: str, change: Change) -> Any:
    def method(self: Any, *arguments: Any) -> Any:
        return change(lambda *others: getattr(base, name)(self, *others), *arguments)

    return method


def readings_of(protocol: str) -> Sequence[Reading]:
    """
    Returns the described other readings of a protocol's document.

    >>> readings_of("scuttlebutt")[0].clause
    'BA-02'
    """
    reference = PROTOCOLS[protocol].readings
    return reference.load() if reference else ()


def settled_by(protocol: str) -> Mapping[str, str]:
    """
    Returns the decisions of a protocol that have only one reasonable reading, each with the reason.

    >>> settled_by("peter")["PA-06"]
    'to do otherwise contradicts P-10'
    """
    reference = PROTOCOLS[protocol].settled
    return {decision: why for why, decisions in reference.load().items() for decision in decisions.split()} if reference else {}
