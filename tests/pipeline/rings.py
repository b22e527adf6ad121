"""
Rings of Wendy and Peter, and captures of their traffic: simulated ones, and four real nodes on loopback, with their traces.

The traffic of real nodes comes from a packet socket, where the machine allows one. It cannot be made up from what the nodes say
to have received: their clocks are their own, and what overtakes what matters.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple, TypeAlias

from tests.pipeline.clusters import simulated
from tests.pipeline.recorded import PATIENCE, Process, sniffing, start, until

from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT

#: Where a simulated node n0 is, n1, and so on; all listen at port 1.
NETWORK = "10.0.0."

#: Bytes of a segment, as on an Ethernet.
SEGMENT = 1448

SYN, FIN, ACK = 2, 1, 16


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


def segment(source: tuple[str, int], target: tuple[str, int], number: int, flags: int, data: bytes = b"") -> bytes:
    """A frame of Ethernet, IPv4 and TCP."""
    tcp = struct.pack(">HHIIBBHHH", source[1], target[1], number, 0, 0x50, flags, 2**15, 0, 0) + data
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0)
    return bytes(12) + b"\x08\x00" + head + socket.inet_aton(source[0]) + socket.inet_aton(target[0]) + tcp


def write_frames(path: Path, packets: Iterable[tuple[float, bytes]]) -> Path:
    """A pcap file."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 2**18, 1))
        for time, data in packets:
            microseconds = round(time * 1e6)
            file.write(struct.pack("<IIII", *divmod(microseconds, 1_000_000), len(data), len(data)) + data)
    return path


@dataclass(frozen=True)
class RingRecording:
    """Traces of four nodes, line by line, and packets of their traffic."""

    traces: tuple[tuple[str, ...], ...]
    packets: tuple[tuple[float, bytes], ...] | None  #: None where no packet socket is allowed
    ports: tuple[int, ...]


#: Milliseconds.
TIMEOUT, HEARTBEAT = 1000, 1500

#: Running nodes, and what each has told.
Nodes: TypeAlias = list[tuple[Process, list[dict[str, Any]]]]


def record_ring(folder: Path) -> RingRecording:
    """A ring comes about, messages are routed, and one node says that it leaves."""

    def act(nodes: Nodes) -> None:
        for number, (process, _) in enumerate(nodes):
            _type(process, *(f"route {digit}{number}{'0' * 30} hello" for digit in "0123456789abcdef"))
        until(lambda: told_of("delivered", nodes) == 16 * len(nodes), "all is delivered")

    return recorded(folder, "wendy", act)


def record_trees(folder: Path) -> RingRecording:
    """A ring comes about, nodes subscribe, publish and change their minds, and one says that it leaves."""
    topics = "topic number one", "Topic number two", "~topic number three"

    def act(nodes: Nodes) -> None:
        for process, _ in nodes:
            _type(process, *(f'subscribe "{topic}"' for topic in topics))
        for round_ in range(100):  # until all trees are whole
            before = told_of("update", nodes)
            _type(nodes[round_ % 4][0], *(f'publish "{topic}" {round_}' for topic in topics))
            sleep(0.2)
            if told_of("update", nodes) - before == 12:  # four nodes, three topics
                break
        _type(nodes[0][0], f'unsubscribe "{topics[0]}"')
        before = told_of("update", nodes)
        for process, _ in nodes:
            _type(process, f'publish "{topics[2]}" to all')
        until(lambda: told_of("update", nodes) >= before + 16, "all is told")

    return recorded(folder, "peter", act)


def told_of(what: str, nodes: Nodes) -> int:
    """How often the nodes have told something."""
    return sum(what in line for _, told in nodes for line in told)


def recorded(folder: Path, protocol: str, act: Callable[[Nodes], None]) -> RingRecording:
    """A ring comes about, something is done, and one node says that it leaves."""
    files = [folder / f"node{number}.jsonl" for number in range(4)]
    with sniffing() as captured, ExitStack() as stack:
        first = ""
        nodes: Nodes = []
        for file in files:
            process, told, address = _node(stack, protocol, file, first)
            first = first or address
            nodes.append((process, told))
        until(lambda: all(any("joined" in line for line in told) for _, told in nodes[1:]), "all have joined")
        act(nodes)
        _type(nodes[3][0], "leave")
        until(lambda: all(any("node_exited" in line for line in told) for _, told in nodes[:3]), "one has left")
        assert nodes[3][0].wait(PATIENCE) == 0  # it ends by itself
        for process, _ in nodes[:3]:
            process.terminate()
        for process, _ in nodes[:3]:
            assert process.wait(PATIENCE) == 0
    traces = tuple(tuple(file.read_text("utf-8").splitlines()) for file in files)
    ports = tuple(int(json.loads(lines[0])["node"].rpartition(":")[2]) for lines in traces)
    packets = None if captured is None else tuple(packet for packet in captured if _is_of(packet[1], ports))
    return RingRecording(traces, packets, ports)


def _node(stack: ExitStack, protocol: str, file: Path, contact: str) -> tuple[Process, list[dict[str, Any]], str]:
    """A running node, what it tells from now on, and its address."""
    options = ["--network-timeout", str(TIMEOUT), "--heartbeat", str(HEARTBEAT), *(("--peer", contact) if contact else ())]
    process, address = start(stack, protocol, file, *options)
    told: list[dict[str, Any]] = []
    lines: Any = process.stdout
    threading.Thread(target=lambda: told.extend(map(json.loads, lines)), daemon=True).start()
    return process, told, address


def _type(process: Process, *lines: str) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()


def _is_of(frame: bytes, ports: Sequence[int]) -> bool:
    """Whether this is a packet of TCP, of one of these ports."""
    is_tcp = frame[12:14] == b"\x08\x00" and frame[23] == socket.IPPROTO_TCP
    begin = 14 + (frame[14] & 15) * 4 if is_tcp else 0
    return is_tcp and any(port in ports for port in struct.unpack(">HH", frame[begin : begin + 4]))
