"""Judging a whole capture by the messages in it, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path

from peerproof.conformance.captures.passive import Passive, check_messages
from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS


class CaptureVerdict(Enum):
    """What the messages of a capture say of the nodes in it."""

    ACCEPTED = "accepted"  #: no message contradicts the rules
    REJECTED = "rejected"  #: a node sent what it must not
    EMPTY = "empty"  #: it holds no message of the protocol


class BadConfiguration(ValueError):
    """No node of the protocol can be configured so."""


def check_capture(
    path: Path, protocol: str, ports: Sequence[int] = (), config: Mapping[str, Plain] | None = None
) -> tuple[Passive, CaptureVerdict]:
    """
    Reads a capture, pcap or pcapng, to its end, and checks the messages of each node against the protocol's rules.

    `ports` are the only ports whose packets count (default: all). `config` is the configuration of all nodes in plain form, as
    far as it is not the default. Raises BadConfiguration, NoCapture if the file is no capture, OSError.
    """
    config = config or {}
    try:
        PROTOCOLS[protocol].runtime.load().build_config(config, NodeId("127.0.0.1:1"), [])
    except ValueError as error:
        raise BadConfiguration(str(getattr(error, "detail", None) or error)) from None
    passive = check_messages(path, protocol, ports, config)
    if not passive.messages:
        return passive, CaptureVerdict.EMPTY
    return passive, CaptureVerdict.REJECTED if passive.counts["rejected"] else CaptureVerdict.ACCEPTED
