"""Frames of Ethernet with IPv4, and files of them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from pathlib import Path

SYN, FIN, ACK = 2, 1, 16

Place = tuple[str, int]  #: host and port


def datagram(source: Place, target: Place, data: bytes) -> bytes:
    """A frame with UDP."""
    udp = struct.pack(">HHHH", source[1], target[1], 8 + len(data), 0) + data
    return _frame(socket.IPPROTO_UDP, source, target, udp)


def segment(source: Place, target: Place, number: int, flags: int, data: bytes = b"") -> bytes:
    """A frame with TCP."""
    tcp = struct.pack(">HHIIBBHHH", source[1], target[1], number, 0, 0x50, flags, 2**15, 0, 0) + data
    return _frame(socket.IPPROTO_TCP, source, target, tcp)


def _frame(protocol: int, source: Place, target: Place, content: bytes) -> bytes:
    addresses = socket.inet_aton(source[0]) + socket.inet_aton(target[0])
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), 0, 0, 64, protocol, 0)
    return bytes(12) + b"\x08\x00" + ip + addresses + content


def write_frames(path: Path, frames: Iterable[tuple[float, bytes]]) -> Path:
    """A pcap file of frames and their times in seconds."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 2**18, 1))
        for time, data in frames:
            microseconds = round(time * 1e6)
            file.write(struct.pack("<IIII", *divmod(microseconds, 1_000_000), len(data), len(data)) + data)
    return path
