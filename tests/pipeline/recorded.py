"""
Three real nodes on loopback, their traces, and a capture of their traffic.

The capture is that of a packet socket where the machine allows one, and else what the nodes say to have received; scapy writes
the file in both cases.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from operator import gt
from pathlib import Path
from typing import Any, TypeAlias

from peerproof.reference.protocols.registry import RUNTIMES

Process: TypeAlias = "subprocess.Popen[str]"

#: Seconds for processes to start and talk.
PATIENCE = 300.0

#: Lines that each node has written when they are stopped.
LINES = 100

_HEADERS = 14 + 20 + 8  # Ethernet, IP without options, UDP


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
    is_captured: bool  #: by a packet socket


@contextmanager
def nodes(folder: Path, protocol: str = "scuttlebutt", count: int = 3, interval: int = 20) -> Iterator[list[Process]]:
    """Running nodes, that write traces into a folder."""
    with ExitStack() as stack:
        started: list[Process] = []
        first = ""
        for number in range(count):
            options = ["--interval", str(interval), *(part for key in "abc" for part in ("--set", f"{key}={number}"))]
            options += ["--peer", first] if first else []
            process, address = start(stack, protocol, folder / f"node{number}.jsonl", *options)
            first = first or address
            started.append(process)
            assert process.stdout is not None
            threading.Thread(target=process.stdout.read, daemon=True).start()
        yield started


def start(stack: ExitStack, protocol: str, trace: Path, *options: str) -> tuple[Process, str]:
    """A running node, which has printed its first line, and its address."""
    command = [sys.executable, "-m", "peerproof.cli.main", "node", "start", protocol, "--bind", "127.0.0.1:0", "--json"]
    command += ["--run", "loopback", "--trace", str(trace), *options]
    process = stack.enter_context(subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True))
    stack.callback(process.kill)
    assert process.stdout is not None
    said = process.stdout.readline()
    assert said, process.communicate()[1]
    return process, json.loads(said)["node"]


def until(condition: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
    """Wait for something. Fails if it takes too long."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"not within {patience} s: {what}"
        time.sleep(0.05)


def record(folder: Path, protocol: str = "scuttlebutt", seconds: float = 0, interval: int = 20) -> Recording:
    """Run the nodes for so long at least, and until each has something to tell."""
    files = [folder / f"node{number}.jsonl" for number in range(3)]
    with sniffing() as frames, nodes(folder, protocol, interval=interval) as processes:
        begun = time.monotonic()
        until(lambda: all(lines_in(file) > LINES // 2 for file in files), "the first lines of all nodes")
        enough = [lines_in(file) + LINES for file in files]
        until(lambda: goes_on(processes) and all(map(gt, map(lines_in, files), enough)), "more")
        until(lambda: time.monotonic() - begun >= seconds, "its end", PATIENCE + seconds)
        for process in processes:
            process.terminate()
        for process in processes:
            assert process.wait(PATIENCE) == 0
    traces = tuple(tuple(file.read_text("utf-8").splitlines()) for file in files)
    ports = tuple(int(json.loads(lines[0])["node"].rpartition(":")[2]) for lines in traces)
    found = _packets(frames, ports) if frames is not None else _received(traces, protocol)
    packets = tuple(replace(packet, protocol=protocol) for packet in found)
    return Recording(traces, packets, ports, frames is not None)


def lines_in(file: Path) -> int:
    """How many there are."""
    return file.read_bytes().count(b"\n")


def goes_on(processes: list[Process]) -> bool:
    """Have each node set some pairs, so that what they say is new to the end, and deltas have several."""
    for process in processes:
        assert process.stdin is not None
        now = time.monotonic_ns()
        process.stdin.write(f"set d={now}\nset e={now}\n")
        process.stdin.flush()
    return True


@contextmanager
def sniffing() -> Iterator[list[tuple[float, bytes]] | None]:
    """What passes the loopback meanwhile; None where that is not allowed."""
    with ExitStack() as stack:
        try:
            sniffer = stack.enter_context(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3)))
            sniffer.bind(("lo", 0))
        except (AttributeError, OSError):
            yield None
            return
        sniffer.settimeout(0.1)
        frames: list[tuple[float, bytes]] = []
        over = threading.Event()

        def listen() -> None:
            while not over.is_set():
                with suppress(TimeoutError):
                    frame, address = sniffer.recvfrom(2**16)
                    if address[2] != socket.PACKET_OUTGOING:  # on loopback each comes twice
                        frames.append((time.time(), frame))

        listener = threading.Thread(target=listen)
        listener.start()
        try:
            yield frames
        finally:
            over.set()
            listener.join()


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
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether
    from scapy.utils import RawPcapWriter

    with RawPcapWriter(str(path), linktype=1) as writer:
        writer.write_header(None)
        for packet in packets:
            frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="127.0.0.1", dst="127.0.0.1")
            data = bytes(frame / UDP(sport=packet.source, dport=packet.target) / packet.payload)
            microseconds = round(packet.time * 1e6)
            writer.write_packet(data, sec=microseconds // 1_000_000, usec=microseconds % 1_000_000)
