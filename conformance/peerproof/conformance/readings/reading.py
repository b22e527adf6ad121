"""
What a document may also mean: for a decision, the other readings that a reasonable person can take.

A reading is a variant of the reference that takes it. Whatever a vector expects otherwise than such a variant does it expects
because of the decision, not because of the document's words. A `should` clause has a reading, too: an implementation without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from peerproof.conformance.adapter.adapter import AdapterUnavailable
from peerproof.conformance.adapter.messages import Hello
from peerproof.conformance.runner.result import Result
from peerproof.spec.forms.form import Plain
from peerproof.spec.overrides import Overrides
from peerproof.spec.protocols import PROTOCOLS, Reference

#: What a reading is made of: the reference with other definitions.
_VARIANT: Final[Reference[Any]] = Reference("peerproof.reference.harness.variant:Variant")

Change = Callable[..., Any]

#: What a reading changes by a function that is called with the right one.
CHANGES: Final = ("step", "initial", "encode", "decode")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """
    Another reading of what a decision settles, or what is left of a protocol without a clause that says should or may.

    Each change is called with what it changes: `step(right, state, event, pick)`, `initial(right, self_id, config)`,
    `encode(right, message)`, `decode(right, data)`; `right` does what the specification does, with `instead` in force. A
    function of `instead` calls what it stands for by a name that its own module has imported.
    """

    clause: str  #: the decision, or the clause that is left out
    name: str  #: what an implementation calls it in its hello, `member: readings`
    text: str  #: what an implementation does that takes it, in a sentence
    instead: Overrides = field(default_factory=lambda: MappingProxyType({}))  #: places below the protocol's package
    step: Change | None = None
    initial: Change | None = None
    encode: Change | None = None
    decode: Change | None = None
    queries: Mapping[str, Callable[..., Plain]] = field(default_factory=lambda: MappingProxyType({}))
    is_open: bool = False  #: one of many: the document is silent, so that whatever an implementation does there is as good
    ends: bool = False  #: the same, and an implementation may even come to an end

    def variant(self, protocol: str) -> Any:
        """An implementation of the protocol that takes this reading, for the adapter protocol: it has `handle`."""
        return combine(protocol, [self])


def combine(protocol: str, readings: list[Reading]) -> Any:
    """An implementation that takes several readings at once; of two that change the same the later one comes first."""
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


def check_claims(hello: Hello) -> None:
    """Raises AdapterUnavailable if an implementation says that it takes a reading which is not described."""
    for decision, name in hello.readings.items():
        known = [one.name for protocol in PROTOCOLS for one in readings_of(protocol) if one.clause == decision]
        if name not in known:
            there_are = f"described are {', '.join(known)}" if known else "no other reading of it is described"
            raise AdapterUnavailable(f"at hello it says that it takes {decision} as {name!r}; {there_are}")


def unseen_claims(hello: Hello, results: Iterable[Result]) -> Iterator[str]:
    """What is wrong with the readings that an implementation says it takes: no case shows it, though some could have."""
    tried = [result for result in results if result.status not in ("skipped", "undetermined")]
    for decision, name in hello.readings.items():
        cited = sum(decision in result.clauses for result in tried)
        if cited and not any(f"{decision}: {name}" in result.branches for result in tried):
            yield f"hello says that {decision} is taken as {name!r}, but none of {cited} cases that cite it shows that"


def readings_of(protocol: str) -> tuple[Reading, ...]:
    """
    The other readings of a protocol's document that are described.

    >>> readings_of("scuttlebutt")[0].clause
    'BA-02'
    """
    reference = PROTOCOLS[protocol].readings
    return reference.load() if reference else ()


def settled_by(protocol: str) -> Mapping[str, str]:
    """
    The decisions of a protocol that have one reasonable reading only, each with the reason.

    >>> settled_by("peter")["PA-06"]
    'to do otherwise contradicts P-10'
    """
    reference = PROTOCOLS[protocol].settled
    return {decision: why for why, decisions in reference.load().items() for decision in decisions.split()} if reference else {}
