"""Traces of simulated rings, watched by the monitor of a protocol: as a capture has them, and as each node says them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from peerproof.spec.core import NodeId, Specification
from peerproof.spec.traces.observed import Seen
from peerproof.spec.traces.trace import Line


def arrivals(specification: Specification, trace: list[Line]) -> Iterator[tuple[str, str, Any, int]]:
    """What a capture of the whole ring has: each message, from whom to whom, when it arrives."""
    for line in trace:
        if line.kind == "recv":
            yield line.peer or "", line.node, specification.MESSAGE.value(line.args), line.t_us


def complaints_on_the_wire(specification: Specification, monitor: Any, config: Any, trace: list[Line]) -> list[Any]:
    """What monitors of all nodes say, where all of it is seen as it arrives; they have this configuration."""
    watching: dict[str, Any] = {}
    complaints: list[Any] = []
    for source, target, message, at in arrivals(specification, trace):
        for node, seen in (
            (source, Seen(True, NodeId(target), message, 0, at)),
            (target, Seen(False, NodeId(source), message, 0, at)),
        ):
            watch = watching.setdefault(node, monitor(NodeId(node), config))
            complaints += watch.see(seen)
    return complaints


def complaints_inside(specification: Specification, monitor: Any, trace: list[Line]) -> list[Any]:
    """What they say, where each node says in its order what it has sent."""
    watching: dict[str, Any] = {}
    complaints: list[Any] = []
    for line in trace:
        if line.kind == "start":
            watching[line.node] = monitor(NodeId(line.node), specification.CONFIG.value(line.args))
        read = specification.MESSAGE.value
        messages = [Seen(False, NodeId(line.peer or ""), read(line.args), 0)] if line.kind == "recv" else []
        sends = [effect["send"] for effect in line.effects if "send" in effect]
        messages += [Seen(True, NodeId(send["to"]), read(send["message"]), 0) for send in sends]
        for seen in messages:
            complaints += watching[line.node].see(seen)
    return complaints
