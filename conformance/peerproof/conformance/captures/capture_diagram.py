"""A capture as a message graph: an arrow for each message, at the time of the frame that it ends in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from peerproof.conformance.captures.pcap import frames
from peerproof.conformance.captures.refusals import Refusal
from peerproof.conformance.captures.tcp_streams import framing_of
from peerproof.conformance.captures.traffic import Traffic
from peerproof.conformance.diagrams.compact import select_renderer
from peerproof.conformance.diagrams.message_graph import Arrow, Excerpt, MessageGraph, Timed
from peerproof.conformance.suite.source import Source
from peerproof.spec.core import Specification

_MS = 1000


@dataclass
class Drawn:
    """The diagram, and counts of the packets that are not in it."""

    graph: MessageGraph
    messages: int  #: in the whole capture
    refused: Counter[str] = field(default_factory=Counter)  #: reason -> packets, or parts of streams
    left_out: Counter[str] = field(default_factory=Counter)  #: transport, or other protocol -> packets of other ports


def capture_graph(
    path: Path, specification: Specification, ports: Collection[int], excerpt: Excerpt, *, is_full: bool = False
) -> Drawn:
    """Draws the messages of a protocol in a capture; without ports, all traffic counts. Raises NoCapture and OSError."""
    render = select_renderer(specification.NAME, is_full=is_full)
    refused: Counter[str] = Counter()
    count = 0

    def set_aside(refusal: Refusal) -> None:
        refused[refusal.reason] += 1

    traffic = Traffic(specification, ports, set_aside, framing_of(specification))

    def timed(source: Source) -> Iterator[Timed]:
        nonlocal count
        read = frames(source, set_aside)
        first = next(read, None)
        for message in traffic.messages(chain([first], read) if first else ()):
            count += 1
            at = (message.t_us - (first.t_us if first else 0)) // _MS
            plain = specification.MESSAGE.plain(specification.MESSAGE.decode(message.payload))
            yield Timed(at, Arrow(message.source, message.target, f"{at} ms: {render('recv', plain)}"))

    with Source(path) as source:
        graph = excerpt.graph(timed(source))
    return Drawn(graph, count, refused, traffic.left_out)
