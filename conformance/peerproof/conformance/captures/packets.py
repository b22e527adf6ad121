"""
From a captured frame to the UDP or TCP packet in it: only headers are parsed, without copies.

Supports the link types that occur in practice (Ethernet, also with stacked VLAN tags, raw IP, Linux cooked in both versions, the
loopbacks of the BSDs), IPv4 with options, and IPv6 with extension headers. `dissect` never guesses: a frame is a packet of UDP or
TCP, or a `BadPacket` with the reason, or an `OtherProtocol`. Checksums are not verified, because where the network card computes
them, a frame captured on the sending machine has none yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from socket import AF_INET6, inet_ntop
from struct import Struct
from typing import Final, NamedTuple

from peerproof.conformance.captures.refusals import Unreadable

TCP: Final = 6
UDP: Final = 17

UDP_HEADER: Final = 8

#: Maximum number of flows in the cache; more than a cluster has, and a port scan does not fill the memory.
MAX_FLOWS: Final = 2**16


class BadPacket(Unreadable):
    """A frame that is damaged, cut or fragmented."""


class OtherProtocol(Exception):
    """A frame that carries neither UDP nor TCP; the message names its protocol."""


class Packet(NamedTuple):
    """The place of a UDP or TCP packet in a frame: `data[start:end]`, header included."""

    transport: int  #: `UDP` or `TCP`
    flow: bytes  #: source address, target address, source port, target port, as on the wire
    start: int
    end: int


class Flow(NamedTuple):
    """The addresses and ports of sender and receiver."""

    source: str
    target: str
    source_port: int
    target_port: int


class Segment(NamedTuple):
    """A TCP segment: the sequence number of its first byte, its flags, and its bytes."""

    number: int
    syn: bool
    ends: bool  #: FIN or RST: no data follows
    data: bytes


#: Creating a named tuple from a tuple of its fields costs half as much as its own constructor.
_packet: Final = partial(tuple.__new__, Packet)

ETHERNET, NULL, LOOP, COOKED, COOKED2 = 1, 0, 108, 113, 276
_TYPE_AT: Final = {ETHERNET: (12, 14), COOKED: (14, 16), COOKED2: (0, 20)}  # offsets of the payload's type and of the payload
_RAW: Final = frozenset({12, 14, 101, 228, 229})  # some systems use 12 and 14 instead of 101

_IPV4, _IPV6 = 0x0800, 0x86DD
_VLAN: Final = frozenset({0x8100, 0x88A8, 0x9100})
_ETHERTYPE_LEAST: Final = 0x0600  # smaller values are the length of an IEEE 802.3 frame
_ETHERTYPES: Final = {0x0806: "ARP", 0x8035: "RARP", 0x8847: "MPLS", 0x8863: "PPPoE", 0x8864: "PPPoE", 0x88CC: "LLDP"}
_TRANSPORTS: Final = {1: "ICMP", 2: "IGMP", 47: "GRE", 50: "ESP", 58: "ICMPv6", 89: "OSPF", 103: "PIM", 112: "VRRP", 132: "SCTP"}

#: Address family of a loopback frame -> EtherType. The number of IPv6 differs between systems.
_FAMILIES: Final[Mapping[int, int]] = {2: _IPV4, 10: _IPV6, 23: _IPV6, 24: _IPV6, 28: _IPV6, 30: _IPV6}

_FRAGMENT, _AUTHENTICATION = 44, 51
_EXTENSIONS: Final = frozenset({0, 43, _FRAGMENT, _AUTHENTICATION, 60, 135, 139, 140})
_IN_PIECES: Final = 0x3FFF  # of the fragment field of IPv4: more fragments follow, or not the first
_IN_PIECES6: Final = 0xFFF9
_IPV6_HEADER: Final = 40
_IPV4_LEAST: Final = 20
_TCP_LEAST: Final = 20
_FIN, _SYN, _RST = 1, 2, 4

#: Parses Ethernet, IPv4 without options and UDP at once: nearly every datagram.
_common: Final = Struct(">12xHBxHxxHxBxx12xHxx").unpack_from
_COMMON_SIZE: Final = 42
_COMMON_IP: Final = 14

_u16: Final = Struct(">H").unpack_from
_ipv4: Final = Struct(">BxHxxHxB").unpack_from
_ipv6: Final = Struct(">4xHB").unpack_from
_tcp: Final = Struct(">4xI4xBB").unpack_from
_ports: Final = Struct(">HH").unpack


def dissect(link: int, data: bytes, wire_length: int) -> Packet:
    """Returns the packet in a frame that had `wire_length` bytes on the wire. Raises BadPacket, OtherProtocol."""
    if link == ETHERNET and len(data) >= _COMMON_SIZE:
        ethertype, version, total, pieces, transport, length = _common(data)
        if (
            ethertype == _IPV4
            and version == 0x45  # noqa: PLR2004  # version 4, five words: no options
            and transport == UDP
            and not pieces & _IN_PIECES
            and UDP_HEADER <= length <= total - _IPV4_LEAST
            and _COMMON_IP + total <= len(data)
        ):
            return _packet((UDP, data[26:38], 34, 34 + length))
    try:
        kind, at = _link(link, data)
        return _internet4(data, at) if kind == _IPV4 else _internet6(data, at)
    except (IndexError, _Cut) as cut:
        if len(data) < wire_length:
            detail = f"only {len(data)} of {wire_length} bytes were captured: capture with tcpdump -s 0"
            raise BadPacket("truncated_packet", detail) from None
        raise BadPacket("bad_length", str(cut) if isinstance(cut, _Cut) else "ends within a header") from None


def flow_of(key: bytes) -> Flow:
    """Decodes `Packet.flow` to addresses as nodes are named, `127.0.0.1:8119` or `[::1]:8119`."""
    half = (len(key) - 4) // 2
    ports = _ports(key[-4:])
    return Flow(f"{_address(key[:half])}:{ports[0]}", f"{_address(key[half : 2 * half])}:{ports[1]}", *ports)


def segment_of(data: bytes, packet: Packet) -> Segment:
    """Returns the segment in a TCP packet. Raises BadPacket."""
    if packet.end - packet.start < _TCP_LEAST:
        raise BadPacket("bad_length", f"{packet.end - packet.start} bytes are too short for a TCP header")
    number, words, flags = _tcp(data, packet.start)
    begin = packet.start + (words >> 4) * 4
    if not packet.start + _TCP_LEAST <= begin <= packet.end:
        raise BadPacket("bad_length", f"a TCP header of {(words >> 4) * 4} bytes in a segment of {packet.end - packet.start}")
    return Segment(number, bool(flags & _SYN), bool(flags & (_FIN | _RST)), data[begin : packet.end])


class _Cut(Exception):
    """The frame ends before the end given by its lengths."""


def _address(raw: bytes) -> str:
    return "{}.{}.{}.{}".format(*raw) if len(raw) == 4 else f"[{inet_ntop(AF_INET6, raw)}]"  # noqa: PLR2004  # IPv4


def _link(link: int, data: bytes) -> tuple[int, int]:
    """Returns the EtherType of the IP version in a frame, and the offset of the IP header."""
    if link in _RAW:
        return {4: _IPV4, 6: _IPV6}.get(data[0] >> 4) or _bad_version(data[0]), 0
    if link in (NULL, LOOP):
        if len(data) < 4:  # noqa: PLR2004  # the family
            raise _Cut("ends within the link header")
        family = int.from_bytes(data[:4], "big")
        if link == NULL and family > 0xFFFF:  # noqa: PLR2004  # written in the other byte order
            family = int.from_bytes(data[:4], "little")
        if family not in _FAMILIES:
            raise OtherProtocol(f"address family {family}")
        return _FAMILIES[family], 4
    if link not in _TYPE_AT:
        raise BadPacket("unknown_link", f"frames of link type {link} are not read")
    return _skip_vlan_tags(data, *_TYPE_AT[link])


def _skip_vlan_tags(data: bytes, kind_at: int, at: int) -> tuple[int, int]:
    """Skips VLAN tags, each an identifier and the type of what follows."""
    kind = _u16_at(data, kind_at)
    while kind in _VLAN:
        kind = _u16_at(data, at + 2)
        at += 4
    if kind in (_IPV4, _IPV6):
        return kind, at
    if kind < _ETHERTYPE_LEAST:
        raise OtherProtocol("IEEE 802.3")
    raise OtherProtocol(_ETHERTYPES.get(kind, f"EtherType {kind:#06x}"))


def _u16_at(data: bytes, at: int) -> int:
    if at + 2 > len(data):
        raise _Cut("ends within the link header")
    number: int = _u16(data, at)[0]
    return number


def _bad_version(first: int) -> int:
    raise BadPacket("bad_header", f"IP version {first >> 4}")


def _internet4(data: bytes, at: int) -> Packet:
    if at + _IPV4_LEAST > len(data):
        raise _Cut("ends within the IPv4 header")
    version, total, pieces, transport = _ipv4(data, at)
    if version >> 4 != 4:  # noqa: PLR2004
        _bad_version(version)
    header = (version & 15) * 4
    if header < _IPV4_LEAST or total < header:
        raise BadPacket("bad_length", f"an IPv4 header of {header} bytes in a packet of {total}")
    if pieces & _IN_PIECES:
        raise BadPacket("fragment", f"a fragment from byte {(pieces & 0x1FFF) * 8}: fragments are not reassembled")
    return _transport(data, transport, data[at + 12 : at + 20], at + header, at + total)


def _internet6(data: bytes, at: int) -> Packet:
    if at + _IPV6_HEADER > len(data):
        raise _Cut("ends within the IPv6 header")
    if data[at] >> 4 != 6:  # noqa: PLR2004
        _bad_version(data[at])
    length, following = _ipv6(data, at)
    addresses = data[at + 8 : at + 40]
    at += _IPV6_HEADER
    end = at + length
    while following in _EXTENSIONS:
        if at + 8 > end:
            raise BadPacket("bad_length", f"IPv6 extension header {following} in the last {end - at} bytes of the packet")
        kind, following, size = following, data[at], data[at + 1]
        if kind == _FRAGMENT:
            pieces = _u16_at(data, at + 2)
            if pieces & _IN_PIECES6:
                detail = f"a fragment from byte {pieces & 0xFFF8}: fragments are not reassembled"
                raise BadPacket("fragment", detail)
            at += 8
        else:
            at += (size + 2) * 4 if kind == _AUTHENTICATION else (size + 1) * 8
    if at > end:
        raise BadPacket("bad_length", "the IPv6 extension headers are longer than the packet")
    return _transport(data, following, addresses, at, end)


def _transport(data: bytes, transport: int, addresses: bytes, start: int, end: int) -> Packet:
    if transport not in (UDP, TCP):
        raise OtherProtocol(_TRANSPORTS.get(transport, f"IP protocol {transport}"))
    if end > len(data):
        raise _Cut(f"says that it ends at byte {end} of {len(data)}")
    if end - start < UDP_HEADER:
        raise BadPacket("bad_length", f"{end - start} bytes are too short for a {'UDP' if transport == UDP else 'TCP'} header")
    if transport == UDP:
        length = _u16_at(data, start + 4)
        if not UDP_HEADER <= length <= end - start:
            raise BadPacket("bad_length", f"a UDP datagram of {length} bytes in {end - start}")
        end = start + length  # the rest is padding, which receivers drop
    return Packet(transport, addresses + data[start : start + 4], start, end)
