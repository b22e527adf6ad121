"""
Observation of a node from outside: the messages that it sends and receives.

A `Monitor` takes these messages in order and reports violations. It knows neither states nor random choices, so it finds less
than a replay, but a capture is enough for it. A protocol provides one as `monitor(node, config)` in its module `monitors`.

A capture shows the messages on the wire where it was taken, and may lack some. So a violation of a rule that needs all messages,
in the order of sending, is one only if the observer knows that it has them (`Rule.needs_all`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import Plain
from peerproof.spec.properties import is_decision


class Seen(NamedTuple):
    """A message from or to the observed node."""

    sent: bool  #: by the node; if False, received by it
    peer: NodeId  #: the receiver or the sender
    message: Any
    size: int  #: bytes on the wire
    at: int | None = None  #: microseconds, when its last byte was seen; None if messages are in the order of sending


@dataclass(frozen=True, slots=True)
class Rule:
    """
    A rule about messages alone, with all clauses that it needs.

    A rule that needs a decision of this project is no rule of the document: a node that breaks it reads the document another way.
    """

    name: str
    about: str
    clauses: tuple[str, ...]
    needs_all: bool = False  #: a message that was not observed, or observed out of order, can look like a violation

    @property
    def is_decision(self) -> bool:
        """
        Whether the document's words alone do not imply the rule.

        >>> Rule("Order", "…", ("B-30",)).is_decision, Rule("Ties", "…", ("B-28", "BA-12")).is_decision
        (False, True)
        """
        return any(map(is_decision, self.clauses))


def rules_in(names: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Returns the rules among the names of a module, in order."""
    return tuple(value for value in names.values() if isinstance(value, Rule))


class RuleViolation(NamedTuple):
    """A rule that a message violates."""

    rule: Rule
    expected: Plain
    actual: Plain


class Monitor(Protocol):
    """
    An observer of one node.

    A monitor that recognises restarts counts the lives of the node in `lives`, which is 1 until it has seen a restart.
    """

    def see(self, seen: Seen) -> Iterable[RuleViolation]:
        """Takes the next message and returns the violations. Memory must stay bounded for any number of messages."""


class Senders(Protocol):
    """
    The senders of messages that do not follow from their connections, which may come from any port.

    A protocol provides one as `Senders()` in its module `senders`; without it, the source of the connection is the sender.
    """

    def sender(self, message: Any, source: NodeId, target: NodeId) -> NodeId:
        """Returns the sender of a message from `source` to `target`. It must be called for all messages in order."""
