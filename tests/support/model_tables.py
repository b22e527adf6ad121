"""The tables made from state graphs, and the vectors in them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.catching import suite

from peerproof.conformance.suite import locations
from peerproof.conformance.vectors.model_table import Table, table_of
from peerproof.conformance.vectors.suite import Vector


def kept(name: str, protocol: str = "scuttlebutt") -> Path:
    """The file of a configuration's table."""
    return locations.vectors_root() / protocol / "model" / f"{name}.json"


def table(name: str, protocol: str = "scuttlebutt") -> Table:
    """The table of a configuration."""
    return table_of(json.loads(kept(name, protocol).read_bytes()))


def of(name: str, kind: str = "", protocol: str = "scuttlebutt") -> list[Vector]:
    """The vectors in it, all or those of a kind: step, refusal, path."""
    return [vector for vector in suite().vectors if vector.id.startswith(f"{protocol}/model/{name}-{kind}")]
