"""
What a protocol over connections brings besides its specification, for those who run its nodes.

Over a connection each message is confirmed, or fails; so whoever runs a node must know how long to wait, whom to answer, and when
the node has gone of its own will. A protocol of this kind is an overlay: its nodes join it, and an application on top is told
what arrives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from peerproof.spec.connections import Framing
from peerproof.spec.core import Duration, NodeId
from peerproof.spec.forms.form import Plain


class Figures(Protocol):
    """What is measured in a simulation besides the protocol's properties."""

    def record_route(self) -> None:
        """Some node has been asked to send a message to a key."""

    def notify(self, node: NodeId, notice: Any) -> None:
        """A node has told its application something."""

    def plain(self) -> Mapping[str, Plain]:
        """The figures."""

    def text(self) -> Iterable[str]:
        """Lines for people."""


class Connected(Protocol):
    """A protocol over connections: `peerproof.reference.protocols.wendy.overlay` is one."""

    FRAMING: Framing
    TEXTS: Mapping[str, str]  #: members of the configuration that a node is given as texts, and what they are
    TYPED: Mapping[str, str]  #: commands that are not typed member by member, and how they are

    def timeout(self, config: Any) -> Duration:
        """How long a message may take until it has failed."""

    def admits(self, state: Any, message: Any) -> bool:
        """Whether a node in this state confirms a message, and takes it in."""

    def remark(self, message: Any) -> str | None:
        """What is strange about a message that a node takes in, so that somebody should look at it; None for nothing."""

    def has_left(self, state: Any) -> bool:
        """Whether a node has gone of its own will, so that it cannot be reached any more."""

    def joining(self, contact: NodeId) -> Any:
        """The command to join by a contact."""

    def is_alone(self, notice: Any) -> bool:
        """Whether this is told when the contact could not be reached, and another may be tried."""

    def render_notice(self, notice: Any) -> Mapping[str, Plain] | None:
        """What a running node prints of a notice; None for nothing."""

    def parse_command(self, name: str, rest: str) -> Any:
        """One of `TYPED`, with what is typed after it. Raises MalformedMessage."""

    def Figures(self, simulation: Any) -> Figures:  # noqa: N802  # a class
        """What is to be measured in a simulation."""
