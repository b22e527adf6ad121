"""Captures made for tests: files byte by byte, frames of Ethernet, and traffic of Scuttlebutt as scapy writes it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from peerproof.spec.core import NodeId
from peerproof.spec.scuttlebutt import MESSAGE, Delta, DigestEntry, DigestRequest

#: The frames of a file, if a test names no others.
FRAMES = [b"\x01" * 60, b"", b"\x02" * 61, b"\x03" * 1514]


def pcap(order: str = "<", magic: int = 0xA1B2C3D4, link: int = 1, data: Sequence[bytes] = FRAMES) -> bytes:
    """A pcap file."""
    parts = [struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65_535, link)]
    parts += [struct.pack(order + "IIII", 7, number, len(frame), len(frame) + 1) + frame for number, frame in enumerate(data)]
    return b"".join(parts)


def block(order: str, kind: int, body: bytes) -> bytes:
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", 12 + len(body))
    return struct.pack(order + "I", kind) + size + body + size


def section(order: str = "<") -> bytes:
    """The beginning of a section."""
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str = "<", link: int = 1, options: bytes = b"") -> bytes:
    """The description of one."""
    return block(order, 1, struct.pack(order + "HHI", link, 0, 0) + options)


def enhanced(time: int, data: bytes, order: str = "<", number: int = 0, options: bytes = b"") -> bytes:
    """A packet of an interface."""
    head = struct.pack(order + "IIIII", number, time >> 32, time & 0xFFFFFFFF, len(data), len(data))
    return block(order, 6, head + data + bytes(-len(data) % 4) + options)


def written(path: Path, data: bytes) -> Path:
    """A file with these bytes."""
    path.write_bytes(data)
    return path


def ethernet(transport: int, header: bytes, source: int = 1, target: int = 2) -> bytes:
    """A frame of IPv4."""
    addresses = bytes((10, 0, 0, source, 10, 0, 0, target))
    return (
        bytes(12) + b"\x08\x00" + struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(header), 0, 0, 64, transport, 0) + addresses + header
    )


def udp(data: bytes, port: int = 8119) -> bytes:
    """A frame with a datagram."""
    return ethernet(17, struct.pack(">HHHH", 8119, port, 8 + len(data), 0) + data)


def tcp(number: int, data: bytes, flags: int = 16) -> bytes:
    """A frame with a segment."""
    return ethernet(6, struct.pack(">HHIIBBHHH", 8119, 8119, number, 0, 0x50, flags, 0, 0, 0) + data)


#: Two datagrams of Scuttlebutt.
REQUEST = MESSAGE.encode(DigestRequest((DigestEntry(NodeId("10.0.0.1:8119"), 3),)))
EMPTY = MESSAGE.encode(Delta(()))

#: Two nodes.
A, B = "127.0.0.1:40001", "127.0.0.1:40002"


def address(name: str) -> bytes:
    """As it is in messages."""
    return bytes([len(name)]) + name.encode()


def entry(name: str, version: int) -> bytes:
    """Of a digest."""
    return address(name) + version.to_bytes(8, "big")


#: A whole round: sender, receiver, message.
ROUND = (
    (A, B, b"\x01" + entry(A, 1)),
    (B, A, b"\x03"),
    (B, A, b"\x02" + entry(A, 0)),
    (A, B, b"\x03" + address(A) + b"\x01k\x01v" + (1).to_bytes(8, "big")),
)


def pair(name: str, key: str, version: int) -> bytes:
    """Of a delta."""
    return address(name) + address(key) + address("v") + version.to_bytes(8, "big")


def capture(path: Path, *datagrams: tuple[str, str, bytes]) -> Path:
    """A file with these, a tenth of a second apart."""
    from scapy.layers.inet import IP, UDP
    from scapy.layers.l2 import Ether
    from scapy.utils import wrpcapng

    packets = []
    for number, (source, target, data) in enumerate(datagrams):
        (host, port), (to, at) = (name.split(":") for name in (source, target))
        ethernet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        packet = ethernet / IP(src=host, dst=to) / UDP(sport=int(port), dport=int(at)) / data
        packet.time = 1_000 + number / 10
        packets.append(packet)
    wrpcapng(str(path), packets)
    return path
