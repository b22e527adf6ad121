"""
Three real nodes on loopback, their traces, and a capture of their traffic.

The capture is that of a packet socket where the machine allows one, and else what the nodes say to have received.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import gt
from pathlib import Path
from typing import Any

from tests.pipeline.frames import datagram, write_frames
from tests.reference.conftest import Talking, launching
from tests.support.waiting import PATIENCE, until

from peerproof.reference.protocols.registry import RUNTIMES

#: Lines that each node has written when they are stopped.
LINES = 100

_HEADERS = 14 + 20 + 8  # Ethernet, IP without options, UDP
_SO_TIMESTAMP = 29  # of Linux, whose kernel says when a packet came, however late it is read
_SO_RCVBUFFORCE = 33
_SOL_PACKET, _PACKET_STATISTICS = 263, 6
_ROOM = 2**25  # bytes for frames that are not read yet: on a busy machine seconds of traffic


@dataclass(frozen=True)
class Packet:
    """A datagram on the wire."""

    time: float
    source: int
    target: int
    payload: bytes
    protocol: str = "scuttlebutt"

    def saying(self, message: Any) -> Packet:
        """The same with another message."""
        return replace(self, payload=self._codec.encode(message))

    @property
    def message(self) -> Any:
        """What it says."""
        return self._codec.decode(self.payload)

    @property
    def _codec(self) -> Any:
        return RUNTIMES[self.protocol].specification().MESSAGE


@dataclass(frozen=True)
class Recording:
    """The traces of three nodes, line by line, and the capture."""

    traces: tuple[tuple[str, ...], ...]
    packets: tuple[Packet, ...]
    ports: tuple[int, ...]


class RunningNode(Talking):
    """A node in a process of its own that writes a trace, and what it has said."""

    def __init__(self, protocol: str, trace: Path, *options: str) -> None:
        self.told: list[dict[str, Any]] = []
        command = [sys.executable, "-m", "peerproof.cli.main", "node", "start", protocol, "--bind", "127.0.0.1:0", "--json"]
        super().__init__(*command, "--run", "loopback", "--trace", str(trace), *options)
        until(lambda: bool(self.told), "its first line")
        self.addr: str = self.told[0]["node"]

    def take(self, line: Any) -> None:
        """It has said this."""
        self.told.append(line)

    def count(self, what: str) -> int:
        """How often it has told something."""
        return sum(what in line for line in self.told)


#: Starts nodes that do not outlive the block.
running = contextmanager(partial(launching, RunningNode))


@contextmanager
def nodes(folder: Path, protocol: str = "scuttlebutt", interval: int = 20) -> Iterator[list[RunningNode]]:
    """Three running nodes, that write traces into a folder."""
    with running() as launch:
        started: list[RunningNode] = []
        for number in range(3):
            options = ["--interval", str(interval), *(part for key in "abc" for part in ("--set", f"{key}={number}"))]
            options += ["--peer", started[0].addr] if started else []
            started.append(launch(protocol, folder / f"node{number}.jsonl", *options))
        yield started


def read_traces(files: Sequence[Path]) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]:
    """The lines of each node's trace, and the ports of the nodes."""
    traces = tuple(tuple(file.read_text("utf-8").splitlines()) for file in files)
    return traces, tuple(int(json.loads(lines[0])["node"].rpartition(":")[2]) for lines in traces)


def record(folder: Path, protocol: str = "scuttlebutt", seconds: float = 0, interval: int = 20) -> Recording:
    """Run the nodes for so long at least, and until each has something to tell."""
    files = [folder / f"node{number}.jsonl" for number in range(3)]
    with sniffing() as frames, nodes(folder, protocol, interval) as started:
        begun = time.monotonic()
        until(lambda: all(lines_in(file) > LINES // 2 for file in files), "begun by all nodes")
        enough = [lines_in(file) + LINES for file in files]
        until(lambda: goes_on(started) and all(map(gt, map(lines_in, files), enough)), "more")
        until(lambda: time.monotonic() - begun >= seconds, "at its end", PATIENCE + seconds)
        end_all(started)
    traces, ports = read_traces(files)
    found = _packets(frames, ports) if frames is not None else _received(traces, protocol)
    packets = tuple(replace(packet, protocol=protocol) for packet in found)
    return Recording(traces, packets, ports)


def lines_in(file: Path) -> int:
    """How many there are."""
    return file.read_bytes().count(b"\n")


def goes_on(started: list[RunningNode]) -> bool:
    """Have each node set some pairs, so that what they say is new to the end, and deltas have several."""
    for node in started:
        now = time.monotonic_ns()
        node.write(f"set d={now}\nset e={now}")
    return True


@contextmanager
def sniffing() -> Iterator[list[tuple[float, bytes]] | None]:
    """What passes the loopback meanwhile; None where that is not allowed."""
    with ExitStack() as stack:
        try:
            sniffer = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3)))
            sniffer.bind(("lo", 0))
            sniffer.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMP, 1)
            with suppress(PermissionError):  # of a machine that allows the socket and not this
                sniffer.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _ROOM)
        except (AttributeError, OSError):
            yield None
            return
        sniffer.settimeout(0.1)
        frames: list[tuple[float, bytes]] = []
        ended: list[float] = []

        def listen() -> None:
            """Until the end, and what came before it and is read later."""
            at = 0.0
            while not ended or at < ended[0]:
                try:
                    frame, [(_, _, when)], _, address = sniffer.recvmsg(2**16, 64)
                except TimeoutError:
                    if ended:
                        return
                    continue
                seconds, microseconds = struct.unpack("ll", when[:16])
                at = seconds + microseconds / 1e6
                if address[2] != socket.PACKET_OUTGOING:  # on loopback each comes twice
                    frames.append((at, frame))

        listener = threading.Thread(target=listen)
        listener.start()
        try:
            yield frames
        finally:
            ended.append(time.time())
            listener.join()
            _, dropped = struct.unpack("II", sniffer.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, 8))
            assert dropped == 0, f"the kernel dropped {dropped} frames: the capture is not whole"


def end_all(started: Sequence[RunningNode]) -> None:
    """All end at once, and well."""
    for node in started:
        node.process.terminate()
    assert {node.over() for node in started} == {0}


def _packets(frames: list[tuple[float, bytes]], ports: tuple[int, ...]) -> Iterator[Packet]:
    for when, frame in frames:
        if frame[12:14] == b"\x08\x00" and frame[23] == socket.IPPROTO_UDP and len(frame) >= _HEADERS:
            source, target = (int.from_bytes(frame[at : at + 2], "big") for at in (34, 36))
            if source in ports and target in ports:
                yield Packet(when, source, target, frame[_HEADERS:])


def _received(traces: tuple[tuple[str, ...], ...], protocol: str) -> Iterator[Packet]:
    """The datagrams that the nodes have received, one node after the other, as their clocks are their own."""
    codec = RUNTIMES[protocol].specification().MESSAGE
    for lines in traces:
        for line in map(json.loads, lines):
            if line["kind"] == "recv":
                source, target = (int(line[name].rpartition(":")[2]) for name in ("peer", "node"))
                yield Packet(line["t_us"] / 1e6, source, target, codec.encode(codec.value(line["args"])))


def write_capture(path: Path, packets: list[Packet]) -> None:
    """A pcap file."""
    host = "127.0.0.1"
    frames = ((packet.time, datagram((host, packet.source), (host, packet.target), packet.payload)) for packet in packets)
    write_frames(path, frames)
