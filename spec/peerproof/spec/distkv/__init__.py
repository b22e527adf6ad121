"""
DistKV: a replicated store without a master, whose nodes send every change to all others. [D-01, D-57]

`initial`, `step` and `MESSAGE` are the protocol; read `transitions.py` first, with `spec/distkv.md` beside it.
"""

from __future__ import annotations  # noqa: I001  # several names of one module on a line

from collections.abc import Callable, Mapping
from typing import Final

from peerproof.spec.distkv.chains import Chain, Element
from peerproof.spec.distkv.forms import COMMAND, NOTICE, TIMER
from peerproof.spec.distkv.messages import (
    Command, Contradiction, DeleteValue, Effect, EntryChanged, Event, Fault, FaultKind, FoundingDue, GreetingDue, Info,
    InitialPingDue, Loaded, LoadFailed, Message, NeedsDownload, Notice, OldDataDue, Ping, PingDue, Ready, RecoveryDue,
    RecoveryOver, RecoveryStep, RepairAllowed, RepairDue, SetValue, SplitHealed, Timer, Update,
)  # fmt: skip
from peerproof.spec.distkv.properties import PROPERTIES
from peerproof.spec.distkv.shortcut import MESSAGE
from peerproof.spec.distkv.snapshot import CONFIG, STATE, disk_contents, download, dump, own, value_at
from peerproof.spec.distkv.state import Config, Phase, Recovery, State, Stored, download_of, stored_of
from peerproof.spec.distkv.transitions import initial, step
from peerproof.spec.forms.form import Plain

NAME: Final = "distkv"

#: The transport of its messages: a network that delivers each of them to all nodes.
TRANSPORT: Final = "serf"

#: Queries of a state, which do not change the node.
QUERIES: Final[Mapping[str, Callable[..., Plain]]] = {
    "get": value_at,
    "dump": dump,
    "own": own,
    "download": download,
    "stored": disk_contents,
    "state": STATE.plain,
}

__all__ = [
    "COMMAND", "CONFIG", "MESSAGE", "NAME", "NOTICE", "PROPERTIES", "QUERIES", "STATE", "TIMER", "TRANSPORT", "Chain", "Command",
    "Config", "Contradiction", "DeleteValue", "Effect", "Element", "EntryChanged", "Event", "Fault", "FaultKind", "FoundingDue",
    "GreetingDue", "Info", "InitialPingDue", "LoadFailed", "Loaded", "Message", "NeedsDownload", "Notice", "OldDataDue", "Phase",
    "Ping", "PingDue", "Ready", "Recovery", "RecoveryDue", "RecoveryOver", "RecoveryStep", "RepairAllowed", "RepairDue",
    "SetValue", "SplitHealed", "State", "Stored", "Timer", "Update", "download_of", "initial", "step", "stored_of",
]  # fmt: skip
