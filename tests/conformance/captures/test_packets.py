"""From frames to UDP and TCP: what scapy builds is read as it was built, and whatever else comes has a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, PadN
from scapy.layers.l2 import ARP, CookedLinux, CookedLinuxV2, Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

from peerproof.conformance.captures.packets import (
    COOKED,
    COOKED2,
    ETHERNET,
    LOOP,
    NULL,
    BadPacket,
    OtherProtocol,
    dissect,
    flow_of,
    segment_of,
)
from peerproof.conformance.captures.packets import TCP as TCP_NUMBER
from peerproof.conformance.captures.packets import UDP as UDP_NUMBER
from peerproof.conformance.captures.refusals import REASONS

RAW_IP = 101

addresses4 = st.binary(min_size=4, max_size=4).map(lambda raw: ".".join(map(str, raw)))
addresses6 = st.sampled_from(["::1", "fe80::1:2", "2001:db8::ff00:42:8329", "::ffff:10.0.0.1"])
ports = st.integers(20_000, 65_535)  # below them, scapy takes payloads apart
payloads = st.binary(max_size=80)


@dataclass
class Built:
    """A frame that scapy made, and what is in it."""

    link: int
    data: bytes
    transport: int
    source: str
    target: str
    payload: bytes


@st.composite
def internets(draw: st.DrawFn, inner: Any) -> Any:
    """A header of IP, with options or extensions, around a transport."""
    if draw(st.booleans()):
        options = draw(st.sampled_from([[], [IPOption(b"\x01\x01\x01\x01")], [IPOption(b"\x94\x04\x00\x00")]]))
        return IP(src=draw(addresses4), dst=draw(addresses4), options=options, flags=draw(st.sampled_from(["", "DF"]))) / inner
    header: Any = IPv6(src=draw(addresses6), dst=draw(addresses6))
    if draw(st.booleans()):
        header /= IPv6ExtHdrHopByHop(options=[PadN(optdata=bytes(4))])
    if draw(st.booleans()):
        header /= IPv6ExtHdrRouting(addresses=["2001:db8::1"])
    if draw(st.booleans()):
        header /= IPv6ExtHdrFragment(offset=0, m=0, id=7)  # the only one: a whole packet
    if draw(st.booleans()):
        header /= IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(12))])
    return header / inner


@st.composite
def frames(draw: st.DrawFn) -> Built:
    """A frame of any link type that is read."""
    payload, source, target = draw(payloads), draw(ports), draw(ports)
    transport = draw(st.sampled_from([UDP_NUMBER, TCP_NUMBER]))
    options = draw(st.sampled_from([[], [("MSS", 1460)], [("NOP", None), ("NOP", None), ("Timestamp", (1, 2))]]))
    header = UDP(sport=source, dport=target) if transport == UDP_NUMBER else TCP(sport=source, dport=target, options=options)
    packet = draw(internets(header / Raw(payload)))
    link = draw(st.sampled_from([ETHERNET, RAW_IP, COOKED, COOKED2, NULL, LOOP]))
    kind = 0x0800 if IP in packet else 0x86DD
    if link == ETHERNET:
        tags = draw(st.sampled_from([(), (Dot1Q,), (Dot1AD, Dot1Q)]))
        whole: Any = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        for tag in tags:
            whole /= tag(vlan=9)
        data = bytes(whole / packet) + draw(st.sampled_from([b"", bytes(20)]))  # short frames are padded
    elif link == COOKED:
        data = bytes(CookedLinux(proto=kind) / packet)
    elif link == COOKED2:
        data = bytes(CookedLinuxV2(proto=kind) / packet)
    elif link in (NULL, LOOP):
        family = 2 if IP in packet else draw(st.sampled_from([10, 24, 28, 30]))
        order = "big" if link == LOOP else draw(st.sampled_from(["big", "little"]))
        data = family.to_bytes(4, order) + bytes(packet)  # type: ignore[arg-type]  # hypothesis says str
    else:
        data = bytes(packet)
    ip = packet[IP] if IP in packet else packet[IPv6]
    return Built(link, data, transport, named(ip.src, source), named(ip.dst, target), payload)


def named(host: str, port: int) -> str:
    """As nodes are called."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@pytest.mark.slow
@given(frames())
def test_packets_are_what_scapy_put_into_them(built: Built) -> None:
    """Transport, addresses, ports and payload, whatever is around them."""
    packet = dissect(built.link, built.data, len(built.data))
    flow = flow_of(packet.flow)

    assert (packet.transport, flow.source, flow.target) == (built.transport, built.source, built.target)
    assert [flow.source_port, flow.target_port] == [int(name.rpartition(":")[2]) for name in (built.source, built.target)]
    if packet.transport == UDP_NUMBER:
        assert built.data[packet.start + 8 : packet.end] == built.payload
    else:
        assert segment_of(built.data, packet).data == built.payload


@given(frames(), st.data())
def test_cut_frame_is_never_read_as_whole(built: Built, data: st.DataObject) -> None:
    """What is cut off is said to be, unless it was only padding."""
    packet = dissect(built.link, built.data, len(built.data))
    size = data.draw(st.integers(0, packet.end - 1))

    with pytest.raises(BadPacket) as bad:
        dissect(built.link, built.data[:size], len(built.data))

    assert bad.value.reason == "truncated_packet"
    assert f"{size} of {len(built.data)} bytes" in bad.value.detail


@pytest.mark.slow
@given(frames(), st.data())
@settings(max_examples=300)
def test_damaged_frame_has_a_reason(built: Built, data: st.DataObject) -> None:
    """Whatever bytes are changed: a packet within the frame, or one of the known reasons."""
    raw = bytearray(built.data)
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), min_size=1, max_size=4)):
        raw[at] = data.draw(st.integers(0, 255))

    assert_total(built.link, bytes(raw))


@given(st.sampled_from([0, 1, 12, 14, 101, 108, 113, 228, 229, 276, 147]), st.binary(max_size=120))
def test_any_bytes_have_a_reason(link: int, data: bytes) -> None:
    """No exception but the two that say why."""
    assert_total(link, data)


def assert_total(link: int, data: bytes) -> None:
    """Reads a frame, and finds nothing outside of it."""
    reason = "bad_length"
    try:
        packet = dissect(link, data, len(data))
        assert 0 <= packet.start <= packet.end <= len(data)
        assert flow_of(packet.flow).source
        if packet.transport == TCP_NUMBER:
            segment_of(data, packet)
    except BadPacket as bad:
        reason = bad.reason
    except OtherProtocol:
        reason = "other_protocol"
    assert reason in REASONS


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (Ether() / IP(flags="MF") / UDP() / Raw(b"abc"), "fragment"),
        (Ether() / IP(frag=100) / Raw(b"abcdefgh"), "fragment"),
        (Ether() / IPv6() / IPv6ExtHdrFragment(offset=0, m=1) / UDP() / Raw(b"abc"), "fragment"),
        (Ether() / IP(version=5) / UDP(), "bad_header"),
        (Ether() / IP(ihl=4) / UDP(), "bad_length"),
        (Ether() / IP(len=19) / UDP(), "bad_length"),
        (Ether() / IP(len=2000) / UDP() / Raw(b"abc"), "bad_length"),
        (Ether() / IP() / UDP(len=7) / Raw(b"abc"), "bad_length"),
        (Ether() / IP() / UDP(len=100) / Raw(b"abc"), "bad_length"),
        (Ether() / IPv6(plen=4) / UDP() / Raw(b"abc"), "bad_length"),
        (Ether() / IPv6(plen=3, nh=0) / Raw(b"abc"), "bad_length"),
    ],
)
def test_contradiction_is_named(frame: Any, reason: str) -> None:
    """A fragment, a length or version that cannot be."""
    data = bytes(frame)

    with pytest.raises(BadPacket) as bad:
        dissect(ETHERNET, data, len(data))

    assert bad.value.reason == reason


@pytest.mark.parametrize(
    ("link", "frame", "what"),
    [
        (ETHERNET, Ether() / ARP(), "ARP"),
        (ETHERNET, Ether() / IP() / ICMP(), "ICMP"),
        (ETHERNET, Ether() / IP(proto=132) / Raw(bytes(20)), "SCTP"),
        (ETHERNET, Ether(type=0x1234) / Raw(bytes(50)), "EtherType 0x1234"),
        (NULL, Raw(b"\x00\x00\x00\x63abcd"), "address family 99"),
    ],
)
def test_other_protocol_is_named(link: int, frame: Any, what: str) -> None:
    """A whole frame of something else is not damaged."""
    data = bytes(frame)

    with pytest.raises(OtherProtocol, match=what):
        dissect(link, data, len(data))


def test_unknown_link_type_is_named() -> None:
    """Bluetooth, say."""
    with pytest.raises(BadPacket, match="unknown_link: frames of link type 187 are not read"):
        dissect(187, bytes(60), 60)


def test_damaged_tcp_header_is_named() -> None:
    """A header that is longer than its segment."""
    data = bytes(Ether() / IP() / TCP(dataofs=15))
    packet = dissect(ETHERNET, data, len(data))

    with pytest.raises(BadPacket, match="bad_length: a TCP header of 60 bytes in a segment of 20"):
        segment_of(data, packet)
