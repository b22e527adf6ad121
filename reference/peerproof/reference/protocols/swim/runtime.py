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
    return {"uuid": swim_uuid(self_id), "seeds": [_seed(text) for text in seeds]}


def _seed(text: str) -> Plain:
    """Returns the seed in HOST:PORT, which has the default name of its address, or in UUID@HOST:PORT."""
    name, _, address = text.rpartition("@")
    host, port = host_and_port(NodeId(address))
    return {"uuid": name or swim_uuid(NodeId(address)), "host": host, "port": port}


def _assignment(state: Any, key: str, value: str) -> Plain:
    return {"type": "set_payload", "uuid": state.uuid, "data": {**json.loads(state.payload), escape(key): escape(value)}}


RUNTIME: Final = Runtime(
    "swim",
    transport="udp",
    period="interval",
    shown=("nodes", "own"),
    passing=("tx",),
    own_name="uuid",
    placed=_address_config,
    texts={
        "uuid": "name of the node (default: the UUID of version 5 of swim://HOST:PORT, its address, in the namespace of URLs)"
    },
    names_seeds=True,
    assigned=_assignment,
    set_text="Sets a key in the node's own data",
    restarted=lambda config, _: replace(config, restart_counter=config.restart_counter + 1),
)
