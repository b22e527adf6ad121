"""Named properties that hold always, sometimes, or eventually: of one node, one step, or a whole cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from peerproof.spec.core import NodeId

_DECISION: Final = re.compile(r"[A-Z]A-\d+").fullmatch


def is_decision(clause: str) -> bool:
    """
    Whether this is the id of a decision of this project, not of a clause of the document.

    >>> is_decision("BA-12"), is_decision("B-12")
    (True, False)
    """
    return _DECISION(clause) is not None


class InFlight(NamedTuple):
    """A message that was sent and may still arrive."""

    sender: NodeId
    to: NodeId
    message: Any


class Cluster(NamedTuple):
    """A snapshot of all nodes and the messages under way between them."""

    nodes: Mapping[NodeId, Any]
    in_flight: Iterable[InFlight] = ()


class Taken(NamedTuple):
    """One step of a node."""

    before: Any  #: the state
    event: Any
    after: Any  #: the state
    effects: tuple[Any, ...]


@dataclass(frozen=True)
class Property:
    """
    A named statement about the runs of a protocol.

    `always` holds at every instant; `sometimes` at one instant at least, which shows that a related `always` is not vacuous;
    `eventually` at the end of every fair run. `of` is the kind of `holds`'s argument: a node's state, a `Taken` or a `Cluster`.
    """

    name: str
    about: str
    clauses: tuple[str, ...]
    of: Literal["node", "step", "cluster"]
    holds: Callable[[Any], bool]
    when: Literal["always", "sometimes", "eventually"] = "always"
    #: It compares the state after a step with its effects, and says nothing of the effects of a node whose state is not known.
    joins_both: bool = False


def find_violations(properties: Iterable[Property], of: str, subject: object) -> list[Property]:
    """Returns the `always` properties of this kind that do not hold of the subject."""
    return [p for p in properties if p.when == "always" and p.of == of and not p.holds(subject)]
