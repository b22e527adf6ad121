"""The run-time description of SWIM: names of nodes, and keys in the payload."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from peerproof.reference.runtime.protocol import Runtime
from peerproof.spec.core import NodeId
from peerproof.spec.forms.form import Plain
from peerproof.spec.swim.state import host_and_port
from peerproof.spec.swim.transit import escape


def swim_uuid(address: NodeId) -> str:
    """Returns the default name of a SWIM node, which depends only on its address."""
    return str(uuid5(NAMESPACE_URL, f"swim://{address}"))


def _address_config(self_id: NodeId, seeds: Iterable[NodeId]) -> Mapping[str, Plain]:
    endpoints = ((seed, *host_and_port(seed)) for seed in seeds)
    return {
        "uuid": swim_uuid(self_id),
        "seeds": [{"uuid": swim_uuid(seed), "host": host, "port": port} for seed, host, port in endpoints],
    }


def _assignment(state: Any, key: str, value: str) -> Plain:
    return {"type": "set_payload", "uuid": state.uuid, "data": {**json.loads(state.payload), escape(key): escape(value)}}


RUNTIME: Final = Runtime(
    "swim",
    transport="udp",
    period="interval",
    shown=("nodes", "own"),
    placed=_address_config,
    assigned=_assignment,
    restarted=lambda config, _: replace(config, restart_counter=config.restart_counter + 1),
)
