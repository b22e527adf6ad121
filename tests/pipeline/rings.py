"""
Rings of Wendy and Peter, and captures of their traffic: simulated ones, and four real nodes on loopback, with their traces.

The traffic of real nodes comes from a packet socket, where the machine allows one. It cannot be made up from what the nodes say
to have received: their clocks are their own, and what overtakes what matters.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple, TypeAlias

from tests.pipeline.clusters import simulated
from tests.pipeline.frames import ACK, FIN, SYN, segment
from tests.pipeline.recorded import RunningNode, end_all, read_traces, running, sniffing
from tests.support.waiting import until

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT

#: Where a simulated node n0 is, n1, and so on; all listen at port 1.
NETWORK = "10.0.0."

#: Bytes of a segment, as on an Ethernet.
SEGMENT = 1448


def codec_of(protocol: str) -> Any:
    return RUNTIMES[protocol].specification().MESSAGE


class Arrival(NamedTuple):
    """A message that arrives over a connection of its own."""

    time: float
    source: str  #: address of the node that sends it, which is not that of its connection
    target: str
    payload: bytes
    protocol: str

    @property
    def message(self) -> Any:
        """What it says."""
        return codec_of(self.protocol).decode(self.payload)

    def saying(self, message: Any) -> Arrival:
        """The same with another message."""
        return self._replace(payload=codec_of(self.protocol).encode(message))


def located(node: str) -> str:
    """The address of a simulated node, which says of itself only a host's name."""
    return f"{NETWORK}{int(node[1:].partition(':')[0]) + 1}:1"


def ring(protocol: str, **plan: Any) -> Iterator[Arrival]:
    """What arrives in a simulated ring of seven nodes, in its order."""
    codec = codec_of(protocol)
    for line in simulated(7, 60, "r", protocol, config={"heartbeat": 30_000}, **plan):
        if line.kind == "recv":
            payload = codec.encode(codec.value(line.args))
            yield Arrival(line.t_us / 1e6, located(line.peer or ""), located(line.node), payload, protocol)


def frames(connections: Sequence[Arrival]) -> Iterator[tuple[float, bytes]]:
    """The packets of these connections, each from another port; the last of a message has its time."""
    for number, arrival in enumerate(connections):
        client = arrival.source.rpartition(":")[0], 20_000 + number % 40_000
        server = arrival.target.rpartition(":")[0], int(arrival.target.rpartition(":")[2])
        at = arrival.time
        yield at, segment(client, server, 99, SYN)
        yield at, segment(server, client, 499, SYN | ACK)
        sent = arrival.payload
        for begin in range(0, len(sent), SEGMENT):
            yield at, segment(client, server, 100 + begin, ACK, sent[begin : begin + SEGMENT])
        yield at, segment(server, client, 500, ACK, ACKNOWLEDGEMENT)
        yield at, segment(server, client, 500 + len(ACKNOWLEDGEMENT), FIN | ACK)
        yield at, segment(client, server, 100 + len(sent), FIN | ACK)


@dataclass(frozen=True)
class RingRecording:
    """Traces of four nodes, line by line, and packets of their traffic."""

    traces: tuple[tuple[str, ...], ...]
    packets: tuple[tuple[float, bytes], ...] | None  #: None where no packet socket is allowed
    ports: tuple[int, ...]


#: Milliseconds.
TIMEOUT, HEARTBEAT = 1000, 1500

Nodes: TypeAlias = list[RunningNode]


def record_ring(folder: Path) -> RingRecording:
    """A ring comes about, messages are routed, and one node says that it leaves."""

    def act(nodes: Nodes) -> None:
        for number, node in enumerate(nodes):
            for digit in "0123456789abcdef":
                node.write(f"route {digit}{number}{'0' * 30} hello")
        until(lambda: told_of("delivered", nodes) == 16 * len(nodes), "all delivered")

    return recorded(folder, "wendy", act)


def record_trees(folder: Path) -> RingRecording:
    """A ring comes about, nodes subscribe, publish and change their minds, and one says that it leaves."""
    topics = "topic number one", "Topic number two", "~topic number three"

    def act(nodes: Nodes) -> None:
        for node in nodes:
            for topic in topics:
                node.write(f'subscribe "{topic}"')
        for round_ in range(100):  # until all trees are whole
            before = told_of("update", nodes)
            for topic in topics:
                nodes[round_ % 4].write(f'publish "{topic}" {round_}')
            sleep(0.2)
            if told_of("update", nodes) - before == 12:  # four nodes, three topics
                break
        nodes[0].write(f'unsubscribe "{topics[0]}"')
        before = told_of("update", nodes)
        for node in nodes:
            node.write(f'publish "{topics[2]}" to all')
        until(lambda: told_of("update", nodes) >= before + 16, "all told")

    return recorded(folder, "peter", act)


def told_of(what: str, nodes: Nodes) -> int:
    """How often the nodes have told something."""
    return sum(node.count(what) for node in nodes)


def recorded(folder: Path, protocol: str, act: Callable[[Nodes], None]) -> RingRecording:
    """A ring comes about, something is done, and one node says that it leaves."""
    files = [folder / f"node{number}.jsonl" for number in range(4)]
    options = ["--network-timeout", str(TIMEOUT), "--heartbeat", str(HEARTBEAT)]
    with sniffing() as captured, running() as launch:
        nodes = [launch(protocol, files[0], *options)]
        nodes += [launch(protocol, file, *options, "--peer", nodes[0].addr) for file in files[1:]]
        until(lambda: all(node.count("joined") for node in nodes[1:]), "all joined")
        act(nodes)
        nodes[3].write("leave")
        until(lambda: all(node.count("node_exited") for node in nodes[:3]), "one left")
        assert nodes[3].over() == 0  # it ends by itself
        end_all(nodes[:3])
    traces, ports = read_traces(files)
    packets = None if captured is None else tuple(packet for packet in captured if _is_of(packet[1], ports))
    return RingRecording(traces, packets, ports)


def _is_of(frame: bytes, ports: Sequence[int]) -> bool:
    """Whether this is a packet of TCP, of one of these ports."""
    is_tcp = frame[12:14] == b"\x08\x00" and frame[23] == socket.IPPROTO_TCP
    begin = 14 + (frame[14] & 15) * 4 if is_tcp else 0
    return is_tcp and any(port in ports for port in struct.unpack(">HH", frame[begin : begin + 4]))
