"""
What a protocol over connections brings besides its specification, for those who run its nodes.

Over a connection each message is confirmed, or fails; so whoever runs a node must know how long to wait, whom to answer, and when
the node has gone of its own will. A protocol of this kind is an overlay: its nodes join it, and an application on top is told
what arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Connected:
    """A protocol over connections: `peerproof.reference.protocols.wendy.runtime.CONNECTED` is one."""

    framing: Framing
    texts: Mapping[str, str]  #: members of the configuration that a node is given as texts, and what they are
    typed: Mapping[str, str]  #: commands that are not typed member by member, and how they are
    timeout: Callable[[Any], Duration]  #: configuration -> how long a message may take until it has failed
    admits: Callable[[Any, Any], bool]  #: state, message -> whether the node confirms the message, and takes it in
    has_left: Callable[[Any], bool]  #: state -> whether the node has gone of its own will, so that it cannot be reached any more
    joining: Callable[[NodeId], Any]  #: contact -> the command to join by it
    is_alone: Callable[[Any], bool]  #: notice -> whether the contact could not be reached, and another may be tried
    render_notice: Callable[[Any], Mapping[str, Plain] | None]  #: notice -> what a running node prints of it; None for nothing
    parse_command: Callable[[str, str], Any]  #: one of `typed`, what follows it -> the command. Raises MalformedMessage.
    figures: Callable[[Any], Figures]  #: simulation -> what is to be measured in it
    #: Message that a node takes in -> what is strange about it, so that somebody should look at it; None for nothing.
    remark: Callable[[Any], str | None] = lambda _: None
