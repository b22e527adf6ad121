"""Captures as files: pcap and pcapng, whole, cut and damaged. What scapy writes is read, and nothing gets lost."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scapy.utils import PcapNgWriter, RawPcapNgReader, RawPcapReader, RawPcapWriter
from tests.support.captures import FRAMES, block, enhanced, interface, pcap, section, written

from peerproof.conformance.captures.pcap import Frame, NoCapture, frames
from peerproof.conformance.captures.refusals import Refusal
from peerproof.conformance.suite.source import Source


def read(path: Path) -> tuple[list[Frame], list[Refusal]]:
    """Everything in a file."""
    refused: list[Refusal] = []
    with Source(path) as source:
        return list(frames(source, refused.append)), refused


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "times"), [(0xA1B2C3D4, [0, 1, 2, 3]), (0xA1B23C4D, [0, 0, 0, 0])])
def test_pcap_is_read_in_both_orders_and_precisions(tmp_path: Path, order: str, magic: int, times: list[int]) -> None:
    """Times are microseconds, those in nanoseconds are rounded down."""
    found, refused = read(written(tmp_path / "a.pcap", pcap(order, magic, link=276)))

    assert refused == []
    assert [frame.data for frame in found] == FRAMES
    assert [frame.t_us - 7_000_000 for frame in found] == times
    assert [(frame.number, frame.link, frame.wire_length - len(frame.data)) for frame in found] == [
        (number, 276, 1) for number in (1, 2, 3, 4)
    ]
    assert [frame.offset for frame in found] == [24, 100, 116, 193]


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 999_999), st.binary(max_size=200)), max_size=20),
    st.booleans(),
    st.sampled_from(["<", ">"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pcap_of_scapy_is_read_as_scapy_reads_it(
    tmp_path: Path, packets: list[tuple[int, int, bytes]], nano: bool, order: str
) -> None:
    """Data, times and lengths."""
    path = tmp_path / "scapy.pcap"
    with RawPcapWriter(str(path), linktype=113, endianness=order, nano=nano) as writer:
        writer.write_header(None)
        for seconds, fraction, data in packets:
            writer.write_packet(data, sec=seconds, usec=fraction, wirelen=len(data) + 3)

    found, refused = read(path)
    theirs = list(RawPcapReader(str(path)))

    assert refused == []
    assert [frame.data for frame in found] == [data for data, _ in theirs]
    assert [frame.wire_length for frame in found] == [about.wirelen for _, about in theirs]
    assert [frame.t_us for frame in found] == [
        about.sec * 10**6 + (about.usec // 1000 if nano else about.usec) for _, about in theirs
    ]


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 2**31), st.binary(min_size=14, max_size=200)), min_size=1, max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pcapng_of_scapy_is_read_as_scapy_reads_it(tmp_path: Path, packets: list[tuple[int, bytes]]) -> None:
    """With the options that it writes."""
    from scapy.layers.l2 import Ether

    path = tmp_path / "scapy.pcapng"
    with PcapNgWriter(str(path)) as writer:
        for seconds, data in packets:
            packet = Ether(data)
            packet.time, packet.comments, packet.sniffed_on = seconds, [b"a comment"], "eth0"
            writer.write(packet)

    found, refused = read(path)
    theirs: list[Any] = list(RawPcapNgReader(str(path)))

    assert refused == []
    assert [(frame.data, frame.link) for frame in found] == [(data, about.linktype) for data, about in theirs]
    assert [frame.t_us for frame in found] == [
        ((about.tshigh << 32) + about.tslow) * 10**6 // about.tsresol for _, about in theirs
    ]


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_has_sections_with_interfaces_of_their_own(tmp_path: Path, order: str) -> None:
    """Resolution, offset and link type belong to the interface, the byte order to the section."""
    nano = struct.pack(order + "HH", 9, 1) + b"\x09" + bytes(3)
    binary = struct.pack(order + "HH", 9, 1) + b"\x8a" + bytes(3)  # 2^-10
    later = struct.pack(order + "HHq", 14, 8, 100) + bytes(4)
    other = "<" if order == ">" else ">"
    data = b"".join(
        (
            section(order),
            interface(order, 1, nano),
            interface(order, 276, binary + later),
            enhanced(5_000_001_999, b"abc", order),
            block(order, 5, bytes(12)),  # statistics: no packet
            enhanced(2048, b"de", order, number=1, options=struct.pack(order + "HH", 1, 5) + b"hello" + bytes(3)),
            block(order, 2, struct.pack(order + "HHIIII", 1, 9, 0, 1024, 1, 7) + b"f"),
            section(other),
            interface(other, 113),
            enhanced(2**33 + 1, b"g", other),
        )
    )

    found, refused = read(written(tmp_path / "a.pcapng", data))

    assert refused == []
    assert [(frame.number, frame.t_us, frame.link, frame.data, frame.wire_length) for frame in found] == [
        (1, 5_000_001, 1, b"abc", 3),
        (2, 102_000_000, 276, b"de", 2),
        (3, 101_000_000, 276, b"f", 7),
        (4, 2**33 + 1, 113, b"g", 1),
    ]
    assert data[found[0].offset :].startswith(struct.pack(order + "I", 6))


def test_packets_that_cannot_be_read_do_not_hide_the_next(tmp_path: Path) -> None:
    """Each is set aside with its place and number."""
    simple = block("<", 3, struct.pack("<I", 4) + b"abcd")
    too_long = block("<", 6, struct.pack("<IIIII", 0, 0, 0, 100, 100) + b"abcd")
    late = enhanced(2**63, b"late")
    data = [
        section(),
        interface(),
        enhanced(1, b"a", number=3),
        simple,
        too_long,
        late,
        block("<", 6, b"1234"),
        enhanced(2, b"b"),
    ]

    found, refused = read(written(tmp_path / "a.pcapng", b"".join(data)))

    assert [(frame.number, frame.data) for frame in found] == [(6, b"b")]
    assert [(refusal.number, refusal.reason) for refusal in refused] == [
        (1, "unknown_interface"),
        (2, "no_time"),
        (3, "bad_length"),
        (4, "no_time"),
        (5, "bad_length"),
    ]
    assert [refusal.offset for refusal in refused] == [sum(map(len, data[:number])) for number in range(2, 7)]
    assert refused[1].raw == simple


def test_interface_that_cannot_be_read_still_counts(tmp_path: Path) -> None:
    """Or the packets of the next would be taken for its own."""
    broken = block("<", 1, b"\x01\x00")
    data = section() + broken + interface(link=113) + enhanced(1, b"a", number=1) + enhanced(2, b"b", number=0)

    found, refused = read(written(tmp_path / "a.pcapng", data))

    assert [(frame.link, frame.data) for frame in found] == [(113, b"a")]
    assert [(refusal.number, refusal.reason) for refusal in refused] == [(None, "bad_length"), (2, "unknown_interface")]


@pytest.mark.parametrize(
    "whole", [pcap(data=FRAMES[:3]), section() + interface() + b"".join(enhanced(1, data) for data in FRAMES[:3])]
)
def test_cut_file_gives_what_it_has_and_says_so(tmp_path: Path, whole: bytes) -> None:
    """At every byte: the whole packets before it, and one row for the rest, which is where they end."""
    every, _ = read(written(tmp_path / "whole", whole))
    begin = every[0].offset
    ends = [frame.offset for frame in every[1:]] + [len(whole)]
    for size in range(4, len(whole)):
        found, refused = read(written(tmp_path / "cut", whole[:size]))
        complete = sum(end <= size for end in ends)

        assert found == every[:complete]
        if size in (begin, *ends):
            assert refused == []
        elif size > begin:
            assert [(refusal.reason, refusal.offset) for refusal in refused] == [("truncated_file", every[complete].offset)]
            assert refused[0].raw == whole[every[complete].offset : size][:4096]
        else:
            assert [refusal.reason for refusal in refused] in ([], ["truncated_file"])


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(pcap() + struct.pack("<IIII", 1, 2, 2**31, 60) + bytes(5000), id="length-of-a-packet"),
        pytest.param(section() + interface() + enhanced(1, b"a") + struct.pack("<II", 6, 13) + bytes(5000), id="odd-block"),
        pytest.param(section() + interface() + struct.pack("<II", 6, 2**31) + bytes(5000), id="huge-block"),
        pytest.param(section() + interface() + enhanced(1, b"a")[:-4] + bytes(5004), id="two-sizes"),
        pytest.param(section() + struct.pack("<IIII", 0x0A0D0D0A, 28, 0, 0) + bytes(5000), id="order-of-a-section"),
    ],
)
def test_damage_ends_the_reading_and_says_how_much_is_not_read(tmp_path: Path, damage: bytes) -> None:
    """Behind a wrong length nothing can be found again; 4096 bytes of it are kept."""
    found, refused = read(written(tmp_path / "damaged", damage))

    assert all(frame.data in (*FRAMES, b"a") for frame in found)
    assert [refusal.reason for refusal in refused] == ["damaged_file"]
    assert f"{len(damage) - refused[0].offset} bytes are not read" in refused[0].detail
    assert refused[0].raw == damage[refused[0].offset :][:4096]


def test_compressed_capture_is_read(tmp_path: Path) -> None:
    """Also one that ends early: the packets before, and one row."""
    packed = gzip.compress(pcap(data=[bytes(number) for number in range(200)]))

    whole, refused = read(written(tmp_path / "a.pcap.gz", packed))
    some, refused_of_cut = read(written(tmp_path / "cut.pcap.gz", packed[:-40]))

    assert (len(whole), refused) == (200, [])
    assert some == whole[: len(some)]
    assert {refusal.reason for refusal in refused_of_cut} == {"truncated_file"}


@given(st.binary(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_after_the_beginning_are_frames_or_set_aside(tmp_path: Path, data: bytes) -> None:
    """No exception, and what is left over is told."""
    for beginning in (pcap(data=[]), section() + interface()):
        found, refused = read(written(tmp_path / "any", beginning + data))

        assert found or refused or not data or beginning.startswith(b"\n")


@pytest.mark.parametrize("data", [b"", b"abc", b'{"a": 1}', bytes(100), b"\xa1\xb2\xcd\x34" + bytes(20)])
def test_other_file_is_no_capture(tmp_path: Path, data: bytes) -> None:
    """It is named, and how it begins."""
    with pytest.raises(NoCapture, match="is neither pcap nor pcapng: it begins with"):
        read(written(tmp_path / "other", data))
