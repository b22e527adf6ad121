"""
When a node of a captured Scuttlebutt cluster takes others for down: its deltas, through the detector of the specification.

  python -m tests.pipeline.silences CAPTURE PORT …      the nodes at these ports, about all others

A delta is the only sign of life [BA-23]. The window of a peer opens when a digest has named it, and anew when the node restarts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from peerproof.conformance.captures.pcap import frames
from peerproof.conformance.captures.traffic import Message, Traffic
from peerproof.conformance.suite.source import Source
from peerproof.spec import scuttlebutt
from peerproof.spec.core import Duration, Instant, NodeId
from peerproof.spec.protocols import PROTOCOLS
from peerproof.spec.scuttlebutt.arrival import ArrivalWindow, Detector, open_window, phi_exceeds, record_arrival
from peerproof.spec.scuttlebutt.model.monitors import ScuttlebuttMonitor
from peerproof.spec.traces.observed import Seen

DETECTOR = Detector()
LIMIT = 512

#: Milliseconds between two looks at a status.
LOOK = 100


class Silence(NamedTuple):
    """One node about another, from the first message of the capture to the last."""

    node: str
    peer: str
    deltas: int
    down: tuple[tuple[float, float], ...]  #: from when to when it is taken for down, in seconds


class Watch:
    """What one node knows of when it has heard the others."""

    def __init__(self, node: NodeId) -> None:
        self.node = node
        self.monitor = ScuttlebuttMonitor(node, scuttlebutt.Config(max_payload=LIMIT))
        self.windows: dict[NodeId, ArrivalWindow] = {}
        self.deltas: dict[NodeId, int] = {}
        self.down: dict[NodeId, list[Instant]] = {}  #: when it was found to be down

    def look(self, now: Instant) -> None:
        """The status of each peer."""
        for peer, window in self.windows.items():
            if phi_exceeds(window, now, DETECTOR.down):
                self.down.setdefault(peer, []).append(now)

    def take(self, seen: Seen, now: Instant) -> None:
        """The next message from or to the node."""
        lives = self.monitor.lives
        list(self.monitor.see(seen))
        if self.monitor.lives > lives:
            self.windows = {}
        if seen.sent:
            return
        if isinstance(seen.message, scuttlebutt.Delta):
            self.deltas[seen.peer] = self.deltas.get(seen.peer, 0) + 1
            if seen.peer in self.windows:
                self.windows[seen.peer] = record_arrival(self.windows[seen.peer], now, DETECTOR)
            return
        for entry in seen.message.entries:
            if entry.addr != self.node:
                self.windows.setdefault(entry.addr, open_window(now, DETECTOR))


def silences(path: Path, ports: tuple[int, ...]) -> Iterator[Silence]:
    """What the nodes at these ports find out about all others."""
    watches = {node: Watch(node) for node in (NodeId(f"127.0.0.1:{port}") for port in ports)}
    begun: int | None = None
    looked = 0
    for message in _messages(path):
        begun = message.t_us if begun is None else begun
        now = Instant((message.t_us - begun) // 1000)
        while looked < now:
            looked += LOOK
            for watch in watches.values():
                watch.look(Instant(looked))
        decoded = scuttlebutt.MESSAGE.decode(message.payload)
        for node, peer, sent in ((message.source, message.target, True), (message.target, message.source, False)):
            if watch_of := watches.get(NodeId(node)):
                watch_of.take(Seen(sent, NodeId(peer), decoded, len(message.payload)), now)
    for watch in watches.values():
        for peer in sorted(watch.windows):
            yield Silence(watch.node, peer, watch.deltas.get(peer, 0), _spans(watch.down.get(peer, [])))


def _messages(path: Path) -> Iterator[Message]:
    with Source(path) as source:
        traffic = Traffic(PROTOCOLS["scuttlebutt"].specification.load(), (), lambda _: None)
        yield from traffic.messages(frames(source, lambda _: None))


def _spans(looks: list[Instant]) -> tuple[tuple[float, float], ...]:
    spans: list[list[int]] = []
    for at in looks:
        if spans and at - spans[-1][1] <= Duration(LOOK):
            spans[-1][1] = at
        else:
            spans.append([at, at])
    return tuple((begin / 1000, end / 1000) for begin, end in spans)


def main() -> None:
    """Prints a line for each."""
    path, *ports = sys.argv[1:]
    for one in silences(Path(path), tuple(map(int, ports))):
        down = ", ".join(f"{begin:.0f} to {end:.0f} s" for begin, end in one.down)
        print(f"{one.node} about {one.peer}: {one.deltas:3} deltas; down {down or 'never'}")


if __name__ == "__main__":
    main()
