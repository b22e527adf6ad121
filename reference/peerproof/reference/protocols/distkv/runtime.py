"""The run-time description of DistKV: start and restart of nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from peerproof.reference.protocols.distkv import simulation
from peerproof.reference.runtime.protocol import Runtime
from peerproof.spec.core import Pick
from peerproof.spec.distkv import stored_of
from peerproof.spec.distkv.schedule import first_message


def _start_distkv(config: Any, pick: Pick) -> Any:
    first, last = first_message(config.clock)
    (start,) = pick("start.moment", range(first, last + 1))
    return replace(config, start=start)


RUNTIME: Final = Runtime(
    "distkv",
    transport="serf",
    period="clock",
    shown=("dump", "own"),
    passing=("tick", "tock", "last"),
    placed=lambda _, seeds: {} if list(seeds) else {"root": "root"},
    assigned=lambda _, key, value: {"type": "set_value", "path": [key], "value": value},
    begun=_start_distkv,
    restarted=lambda config, state: replace(config, stored=stored_of(state)),
    store=simulation,
)
