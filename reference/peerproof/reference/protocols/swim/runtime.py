"""SWIM for those who run its nodes: names of nodes, and a payload made of keys."""

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
    """The name of a SWIM node that was given none: the same address has the same name everywhere."""
    return str(uuid5(NAMESPACE_URL, f"swim://{address}"))


def _address_config(self_id: NodeId, seeds: Iterable[NodeId]) -> Mapping[str, Plain]:
    places = ((seed, *host_and_port(seed)) for seed in seeds)
    return {
        "uuid": swim_uuid(self_id),
        "seeds": [{"uuid": swim_uuid(seed), "host": host, "port": port} for seed, host, port in places],
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
