"""What the vectors take of the state graphs of several protocols, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from peerproof.conformance.models.edge_coverage import coverage
from peerproof.conformance.vectors.suite import Suite


def report_edges(suite: Suite, protocol: str | None = None, on_begin: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """
    Walks the state graphs of a protocol, or of all that have vectors, which takes minutes; returns JSON data.

    `on_begin` gets the name of each protocol. Raises KeyError if the suite has no vectors of the protocol.
    """
    protocols = sorted({vector.protocol for vector in suite.vectors})
    if protocol is not None and protocol not in protocols:
        raise KeyError(protocol)
    found: dict[str, Any] = {}
    for name in [protocol] if protocol else protocols:
        on_begin(name)
        found[name] = [asdict(one) for one in coverage(name, suite.vectors)]
    return {"vectors": {"version": suite.version, "digest": suite.digest}, "protocols": found}
