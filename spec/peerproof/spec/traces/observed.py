"""
What can be seen of a node from outside: the messages that it sends and receives.

A `Monitor` is told of them in their order and says what cannot be. It knows no state and no answer of chance, so it finds less
than a replay, but it needs no more than a capture. A protocol brings one, as `monitor(node, config)` in its module `monitors`.

A capture shows what was on the wire where it was taken. What was lost there, or came there in another order than it was sent in,
looks like a fault of the node; so take it where the node is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import Plain

#: The id of a decision of ours, as BA-16; B-16 is the document's.
_DECISION: Final = re.compile(r"[A-Z]A-\d+")


class Seen(NamedTuple):
    """A message on its way from or to the node that is watched."""

    sent: bool  #: by the node; else it was received
    peer: NodeId  #: to whom, or from whom
    message: Any
    size: int  #: bytes on the wire
    at: int | None = None  #: microseconds, when the last of it was seen; None if messages are in the order of being sent


@dataclass(frozen=True, slots=True)
class Rule:
    """
    Something that must hold of the messages alone, and all clauses that it needs.

    A rule that needs a decision of ours is no rule of the document: who breaks it reads the document in another way.
    """

    name: str
    about: str
    clauses: tuple[str, ...]

    @property
    def is_decision(self) -> bool:
        """
        Whether the document's words alone do not demand it.

        >>> Rule("Order", "…", ("B-30",)).is_decision, Rule("Ties", "…", ("B-28", "BA-12")).is_decision
        (False, True)
        """
        return any(_DECISION.fullmatch(clause) for clause in self.clauses)


def rules_in(names: Mapping[str, Any]) -> tuple[Rule, ...]:
    """The rules among the names of a module, in their order."""
    return tuple(value for value in names.values() if isinstance(value, Rule))


class RuleViolation(NamedTuple):
    """What a message contradicts."""

    rule: Rule
    expected: Plain
    actual: Plain


class Monitor(Protocol):
    """
    Watches one node.

    One that recognises restarts counts the lives of the node in `lives`, which is 1 as long as it has seen none.
    """

    def see(self, seen: Seen) -> Iterable[RuleViolation]:
        """The next message. Memory must stay bounded, however many there are."""
        ...


class Senders(Protocol):
    """
    Says who has sent a message, where that does not follow from its connection, which may come from any port.

    A protocol brings one as `Senders()` in its module `senders`; without it, the connection says who.
    """

    def sender(self, message: Any, source: NodeId, target: NodeId) -> NodeId:
        """Who has sent a message that came from `source` to `target`. Messages are asked about in their order."""
        ...
