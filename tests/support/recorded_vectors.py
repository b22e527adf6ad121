"""Traces of what an implementation does while vectors are run against it, as text: of the reference, or of one that is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.support.catching import failed

from peerproof.conformance.vectors.suite import Vector
from peerproof.reference.harness.node_handle import Handle
from peerproof.reference.runtime.driver import Driver
from peerproof.reference.runtime.recorder import Recorder
from peerproof.spec.protocols import PROTOCOLS


def recorded_vectors(protocol: str, implementation: str, vectors: Iterable[Vector], run: str) -> list[str]:
    """
    The trace of all nodes that are started. Each has a run of its own, whose name begins so.

    Vectors that load a state are left out, because a trace begins with a start.
    """
    lines: list[str] = []
    recorders: dict[Handle, Recorder] = {}

    def driver(specification: Any, node: Any, environment: Handle, pick: Any) -> Driver:
        name = f"{run} {len(recorders)}"
        recorder = recorders.setdefault(environment, Recorder(PROTOCOLS[protocol].specification.load(), name, lines.append))
        return Driver(specification, node, environment, pick, recorder=recorder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("peerproof.reference.harness.node_handle.Driver", driver)
        failed(implementation, [vector for vector in vectors if "state.load" not in vector.needs])
    return lines
