"""What a protocol brings so that it can be fuzzed; the rest comes from its declared forms."""

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

#: The faults that can break a promise for the rest of a run: a restart with what a node keeps, one with nothing though it
#: should keep something, and a legal message that nobody sent.
RESTART, FORGETTING, FORGERY = "restart", "forgetting", "forgery"

#: Over connections, the fault that a node may have been taken for gone: it crashed, or a message to it was not confirmed.
GONE = "gone"


#: The address of a node that others may have heard of, and that is in no run.
STRANGER: Final = NodeId("f:1")


def seeds_before(seeds: Sequence[T], stranger: T) -> list[SearchStrategy[tuple[T, ...]]]:
    """For each node the one before it as its seed, so that all can come to know each other; or any others."""
    others = st.lists(st.sampled_from([*seeds, stranger]), max_size=3).map(tuple)
    return [st.just(tuple(seeds[place - 1 : place])) | others for place in range(len(seeds))]


@dataclass(frozen=True)
class Inputs:
    """Where the inputs of a run are drawn from. Nodes are called by their addresses."""

    spec: Specification
    configs: Callable[[tuple[NodeId, ...]], SearchStrategy[tuple[Any, ...]]]  #: a configuration for each of the nodes
    spans: tuple[int, ...]  #: milliseconds that may pass at once; first the usual period of a node
    malformed: tuple[str, ...]  #: the clauses about what is no message
    named: Callable[[tuple[NodeId, ...]], Named] = lambda _: {}  #: for fields of forged messages, by name
    #: What an application may ask for, also what is refused.
    commands: Callable[[tuple[NodeId, ...]], SearchStrategy[Any]] = lambda _: st.nothing()
    survives: Mapping[str, frozenset[str]] = field(default_factory=dict)  #: property -> faults that it is promised despite
    kept: Callable[[Any], Mapping[str, Plain]] | None = None  #: state -> members of the configuration of the node's next life
    #: What applications ask for, one after the other and in calm, so that the nodes are one cluster; half of the runs begin so.
    opening: Callable[[tuple[NodeId, ...]], Iterable[tuple[NodeId, Any]]] | None = None
    #: What an application does about what a node tells it: the command that follows, made of the states of all nodes in reach.
    fetched: Callable[[Any, Mapping[NodeId, Any]], Any] | None = None
    lies: Callable[[Any, Any], bool] | None = None  #: state, command -> whether it makes up what another node has said
    is_in_order: bool = False  #: no message overtakes another one between the same two nodes
    telling: bool = False  #: two steps that an event can lead to are the same if their effects are: the effects tell the state

    withheld: frozenset[str] = frozenset()  #: properties that not every cluster has, even if nothing goes wrong

    def is_promised(self, promise: Property, faults: frozenset[str]) -> bool:
        """
        Whether a property must hold in a run in which these faults have happened.

        What is said of one node, or of one step, must hold whatever others do, unless the protocol says despite which faults;
        what is said of a cluster, while all its members are what they say they are, unless the protocol says more.
        """
        if promise.name in self.withheld:
            return False
        is_always = promise.of != "cluster" and promise.name not in self.survives
        return is_always or faults <= self.survives.get(promise.name, frozenset())


def inputs_of(protocol: str) -> Inputs:
    """What a protocol has brought. Raises NoInputs."""
    if protocol not in protocols():
        raise NoInputs(f"no protocol {protocol!r} can be fuzzed; there are {', '.join(protocols())}")
    return cast("Inputs", PROTOCOLS[protocol].inputs.load())


def protocols() -> list[str]:
    """The protocols that can be fuzzed."""
    return sorted(PROTOCOLS)
