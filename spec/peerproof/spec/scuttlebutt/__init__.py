"""
Scuttlebutt: anti-entropy gossip of versioned key-value pairs.

`initial`, `step` and `MESSAGE` are the protocol; read `transitions.py` first, with `spec/scuttlebutt.md` beside it.
"""

from __future__ import annotations  # noqa: I001  # several names of one module on a line

from collections.abc import Callable, Mapping
from typing import Final

from peerproof.spec.forms.form import Plain
from peerproof.spec.scuttlebutt.arrival import Detector
from peerproof.spec.scuttlebutt.codec import COMMAND, CONFIG, MESSAGE, NOTICE, TIMER
from peerproof.spec.scuttlebutt.messages import (
    Command, Delta, DeltaEntry, DigestEntry, DigestRequest, DigestResponse, Down, Effect, Event, Heartbeat, Join, Message, Notice,
    Round, Timer, Up, Update, UpdateLocal,
)  # fmt: skip
from peerproof.spec.scuttlebutt.properties import PROPERTIES
from peerproof.spec.scuttlebutt.snapshot import STATE
from peerproof.spec.scuttlebutt.state import Config, Liveness, Peer, State, Status, Versioned, peers, status, view
from peerproof.spec.scuttlebutt.transitions import Next, initial, step

NAME: Final = "scuttlebutt"

#: The transport of its messages.
TRANSPORT: Final = "udp"

#: Queries of a state, which do not change the node.
QUERIES: Final[Mapping[str, Callable[[State], Plain]]] = {"peers": peers, "view": view, "status": status, "state": STATE.plain}

__all__ = [
    "COMMAND", "CONFIG", "MESSAGE", "NAME", "NOTICE", "PROPERTIES", "QUERIES", "STATE", "TIMER", "TRANSPORT", "Command", "Config",
    "Delta", "DeltaEntry", "Detector", "DigestEntry", "DigestRequest", "DigestResponse", "Down", "Effect", "Event", "Heartbeat",
    "Join", "Liveness", "Message", "Next", "Notice", "Peer", "Round", "State", "Status", "Timer", "Up", "Update", "UpdateLocal",
    "Versioned", "initial", "step",
]  # fmt: skip
