"""Named properties: what holds always, sometimes, or in the end; of one node, of one step, or of a whole cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from peerproof.spec.core import NodeId


class InFlight(NamedTuple):
    """A message that was sent and may still arrive."""

    sender: NodeId
    to: NodeId
    message: Any


class Cluster(NamedTuple):
    """Everything at one instant: the nodes, and what is under way between them."""

    nodes: Mapping[NodeId, Any]
    in_flight: Iterable[InFlight] = ()


class Taken(NamedTuple):
    """One step that a node took."""

    before: Any  #: the state
    event: Any
    after: Any  #: the state
    effects: tuple[Any, ...]


@dataclass(frozen=True)
class Property:
    """
    Something that can be said of a protocol's runs, by name.

    `always` holds of every instant; `sometimes` of at least one, which shows that an `always` beside it is not empty;
    `eventually` of the end of every fair run. `of` says what `holds` is given: a node's state, a `Taken` or a `Cluster`.
    """

    name: str
    about: str
    clauses: tuple[str, ...]
    of: Literal["node", "step", "cluster"]
    holds: Callable[[Any], bool]
    when: Literal["always", "sometimes", "eventually"] = "always"


def find_violations(properties: Iterable[Property], of: str, subject: object) -> list[Property]:
    """The `always` properties of this kind that do not hold of the subject."""
    return [p for p in properties if p.when == "always" and p.of == of and not p.holds(subject)]
