"""The inputs that a protocol needs for fuzzing, beyond those derived from its declared forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from peerproof.conformance.fuzz.search_settings import NoInputs
from peerproof.conformance.fuzz.strategies import Named
from peerproof.spec.core import NodeId, Specification
from peerproof.spec.forms.form import Plain
from peerproof.spec.properties import Property
from peerproof.spec.protocols import PROTOCOLS

T = TypeVar("T")

#: Faults that can break a property for the rest of a run: a restart with the kept data, a restart that has lost it, and a legal
#: message that no node sent.
RESTART, FORGETTING, FORGERY = "restart", "forgetting", "forgery"

#: Over connections, the fault that a node may count as gone: it crashed, or a message to it was not confirmed.
GONE = "gone"


#: The address of a node that others may have heard of, and that is in no run.
STRANGER: Final = NodeId("f:1")


def seeds_before(seeds: Sequence[T], stranger: T) -> list[SearchStrategy[tuple[T, ...]]]:
    """Draws the seeds of each node: the node before it, so that all can come to know each other, or any others."""
    others = st.lists(st.sampled_from([*seeds, stranger]), max_size=3).map(tuple)
    return [st.just(tuple(seeds[place - 1 : place])) | others for place in range(len(seeds))]


@dataclass(frozen=True)
class Inputs:
    """The strategies for the inputs of a run. Nodes are named by their addresses."""

    spec: Specification
    configs: Callable[[tuple[NodeId, ...]], SearchStrategy[tuple[Any, ...]]]  #: a configuration for each of the nodes
    spans: tuple[int, ...]  #: milliseconds that may pass at once; first the usual period of a node
    malformed: tuple[str, ...]  #: the clauses about malformed messages
    named: Callable[[tuple[NodeId, ...]], Named] = lambda _: {}  #: strategies for fields of forged messages, by name
    #: Commands of applications, including those that are refused.
    commands: Callable[[tuple[NodeId, ...]], SearchStrategy[Any]] = lambda _: st.nothing()
    survives: Mapping[str, frozenset[str]] = field(default_factory=dict)  #: property -> faults that do not break it
    kept: Callable[[Any], Mapping[str, Plain]] | None = None  #: state -> members of the configuration of the node's next life
    #: Commands, one after the other with calm between them, that make the nodes one cluster; half of the runs begin with them.
    opening: Callable[[tuple[NodeId, ...]], Iterable[tuple[NodeId, Any]]] | None = None
    #: Notice of a node, states of all reachable nodes -> the command with which the application answers.
    fetched: Callable[[Any, Mapping[NodeId, Any]], Any] | None = None
    lies: Callable[[Any, Any], bool] | None = None  #: state, command -> the command forges data of another node
    is_in_order: bool = False  #: messages between the same two nodes keep their order
    telling: bool = False  #: the effects of a step determine the state after it

    withheld: frozenset[str] = frozenset()  #: properties that do not hold in every cluster, even without faults

    def is_promised(self, promise: Property, faults: frozenset[str]) -> bool:
        """
        Returns True if a property must hold in a run with these faults.

        A property of a node or a step holds whatever other nodes do, unless the protocol lists the faults that it survives. A
        property of a cluster holds as long as there are no faults, unless the protocol lists some.
        """
        if promise.name in self.withheld:
            return False
        is_always = promise.of != "cluster" and promise.name not in self.survives
        return is_always or faults <= self.survives.get(promise.name, frozenset())


def inputs_of(protocol: str) -> Inputs:
    """Returns the inputs of a protocol. Raises NoInputs."""
    if protocol not in protocols():
        raise NoInputs(f"no protocol {protocol!r} can be fuzzed; there are {', '.join(protocols())}")
    return cast("Inputs", PROTOCOLS[protocol].inputs.load())


def protocols() -> list[str]:
    """Returns the protocols that can be fuzzed."""
    return sorted(PROTOCOLS)
