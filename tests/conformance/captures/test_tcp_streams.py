"""TCP streams: whatever order, overlap and repetition segments come in, the messages are those that were sent."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.captures import EMPTY, REQUEST, tcp, udp

from peerproof.conformance.captures.packets import Segment
from peerproof.conformance.captures.pcap import Frame
from peerproof.conformance.captures.refusals import Refusal
from peerproof.conformance.captures.tcp_streams import MAX_STREAMS, MAX_WAITING, Streams
from peerproof.conformance.captures.traffic import Message, Traffic
from peerproof.spec import scuttlebutt
from peerproof.spec.errors import MalformedMessage

FLOW = bytes(12)

#: Number, and perhaps data, and whether the segment opens the stream or ends it.
Segments = tuple[Any, ...]


class Sized:
    """Messages with a byte of length in front; 255 begins none."""

    def read(self, unread: bytearray) -> tuple[list[bytes], int]:
        """See `Framing`."""
        messages, at = [], 0
        while at < len(unread):
            if unread[at] == 255:
                raise MalformedMessage("bad_length", at, "255 begins no message")
            if at + 1 + unread[at] > len(unread):
                break
            messages.append(bytes(unread[at + 1 : at + 1 + unread[at]]))
            at += 1 + unread[at]
        return messages, at

    def tear(self) -> None:
        """Behind a gap another message begins."""


def frame(number: int = 1) -> Frame:
    """Where a segment was captured."""
    return Frame(number * 100, number, number, 1, b"", 0)


class Captured:
    """Streams, and what came of them."""

    def __init__(self) -> None:
        self.refused: list[Refusal] = []
        self.messages: list[bytes] = []
        self.count = 0
        self.streams = Streams(Sized, self.refused.append)

    def add(self, number: int, data: bytes = b"", *, syn: bool = False, ends: bool = False, flow: bytes = FLOW) -> None:
        """One segment."""
        self.count += 1
        self.messages += self.streams.add(flow, Segment(number % 2**32, syn, ends, data), frame(self.count))

    def end(self) -> list[str]:
        """The end of the capture; why things were set aside."""
        self.messages += [message for _, message in self.streams.end(frame(self.count))]
        return [refusal.reason for refusal in self.refused]


@given(
    st.lists(st.binary(max_size=40), min_size=1, max_size=12),
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.integers(0, 2**32),
)
def test_messages_survive_every_order_of_segments(messages: list[bytes], first: int, size: int, seed: int) -> None:
    """Out of order, twice, overlapping, over the end of the numbers: each message once, in its order."""
    random = Random(seed)
    stream = b"".join(bytes([len(message)]) + message for message in messages)
    pieces = [(at, stream[at : at + size + random.randrange(3)]) for at in range(0, len(stream), size)]
    pieces += random.sample(pieces, random.randrange(len(pieces) + 1))
    random.shuffle(pieces)
    captured = Captured()

    captured.add(first, syn=True)
    for at, data in pieces:
        captured.add(first + 1 + at, data)
    captured.add(first + 1 + len(stream), ends=True)

    assert captured.messages == messages
    assert captured.end() == []


SYN: Segments = (0, b"", "syn")

#: Segments in the order in which they were captured, the messages in them, and what is set aside at the end of the capture.
STREAMS: dict[str, tuple[list[Segments], list[bytes], list[str]]] = {
    "without a beginning, it is read from the first segment on": ([(77, b"\x02ab"), (80, b"\x01c")], [b"ab", b"c"], []),
    "acknowledgements open none": ([(1,), (50, b"\x01a")], [b"a"], []),
    "closed within a message": ([SYN, (1, b"\x01a\x09bc", "ends")], [b"a"], ["unfinished_frame"]),
    "none of the protocol is set aside once, and passed over up to its end": (
        [SYN, (1, b"\xffhello"), (7, b"\x01a"), (5000, b"", "syn"), (5001, b"\x01b")],
        [b"b"],
        ["not_a_message"],
    ),
    "a last segment that is sent again is no new one": ([SYN, (1, b"\x01a", "ends"), (1, b"\x01a", "ends")], [b"a"], []),
    "a gap is given up at the end; what is behind it is read": ([SYN, (1, b"\x05ab"), (7, b"\x01c")], [b"c"], ["stream_gap"]),
    "a gap is given up where the ports are used again; what is behind it is read": (
        [SYN, (1, b"\x05ab"), (7, b"\x01c"), (5000, b"", "syn"), (5001, b"\x01d")],
        [b"c", b"d"],
        ["stream_gap"],
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_messages_of_a_stream(name: str) -> None:
    segments, messages, reasons = STREAMS[name]
    captured = Captured()

    for number, data, *flags in ((segment if len(segment) > 1 else (*segment, b"")) for segment in segments):
        captured.add(number, data, syn="syn" in flags, ends="ends" in flags)

    assert captured.end() == reasons
    assert captured.messages == messages


def test_torn_message_is_set_aside_where_it_begins() -> None:
    captured = Captured()

    captured.add(0, syn=True)
    captured.add(1, b"\x05ab")
    captured.add(7, b"\x01c")
    assert captured.messages == []

    assert captured.end() == ["stream_gap"]
    assert (captured.refused[0].offset, captured.refused[0].raw) == (200, b"\x05ab")
    assert "3 bytes of the stream were not captured" in captured.refused[0].detail


def test_gap_is_given_up_when_much_has_come_behind_it() -> None:
    """Memory does not grow without end."""
    captured = Captured()
    message = b"\xc8" + bytes(200)

    captured.add(0, syn=True)
    for number in range(MAX_WAITING // len(message) + 2):
        captured.add(100 + number * len(message), message)

    assert [refusal.reason for refusal in captured.refused] == ["stream_gap"]
    assert len(captured.messages) == MAX_WAITING // len(message) + 2


def test_bytes_behind_a_gap_count_once_though_they_come_again_with_more() -> None:
    captured = Captured()
    message = bytes([127]) + bytes(127)
    behind = message * (MAX_WAITING // len(message))

    captured.add(0, syn=True)
    captured.add(3, behind[:-1])
    captured.add(3, behind)
    captured.add(1, b"\x01a")

    assert captured.end() == []
    assert captured.messages == [b"a", *[message[1:]] * (MAX_WAITING // len(message))]


def test_oldest_stream_makes_room() -> None:
    """A scan of all ports does not fill the memory; what was unfinished is set aside."""
    captured = Captured()
    for number in range(MAX_STREAMS + 1):
        captured.add(1, b"\x05a", flow=struct.pack(">Q", number))

    assert [refusal.offset for refusal in captured.refused] == [100]


def seen(frames: Iterable[bytes], traffic: Traffic) -> list[Message]:
    """The messages in frames."""
    return list(traffic.messages(Frame(i, i + 1, i * 10, 1, data, len(data)) for i, data in enumerate(frames)))


def test_datagrams_are_messages_of_who_sent_them() -> None:
    """Their nodes are named as sockets are."""
    refused: list[Refusal] = []

    found = seen([udp(REQUEST), udp(EMPTY)], Traffic(scuttlebutt, (), refused.append))

    assert found == [
        Message(0, "10.0.0.1:8119", "10.0.0.2:8119", "digest_request", REQUEST, 0),
        Message(10, "10.0.0.1:8119", "10.0.0.2:8119", "delta", EMPTY, 1),
    ]
    assert refused == []


@pytest.mark.parametrize(
    ("data", "reason", "detail"),
    [
        (udp(b"\x09abc"), "not_a_message", "bad_type: 9 is no message type"),
        (udp(b""), "not_a_message", "truncated: "),
        (udp(REQUEST[:-1]), "not_a_message", "truncated at byte"),
        (tcp(1, b"abc"), "other_protocol", "TCP, which scuttlebutt does not use, from 10.0.0.1:8119 to 10.0.0.2:8119"),
        (bytes(12) + b"\x08\x06" + bytes(28), "other_protocol", "ARP"),
        (udp(REQUEST)[:-1], "bad_length", "says that it ends"),
    ],
)
def test_what_is_no_message_is_set_aside_with_the_reason(data: bytes, reason: str, detail: str) -> None:
    """The codec's reason, or what else it is; the next packet is read."""
    refused: list[Refusal] = []
    traffic = Traffic(scuttlebutt, (), refused.append)

    found = seen([data, udp(EMPTY)], traffic)

    assert [message.payload for message in found] == [EMPTY]
    assert [(refusal.reason, refusal.number) for refusal in refused] == [(reason, 1)]
    assert detail in refused[0].detail
    assert (traffic.packets, traffic.refused) == (2, 1)


def test_other_ports_are_left_out_and_counted_if_ports_are_given() -> None:
    """A port on either side will do; what cannot be known to be of another port is not left out."""
    refused: list[Refusal] = []
    traffic = Traffic(scuttlebutt, (8119,), refused.append)
    other = udp(b"dns")[:34] + struct.pack(">HH", 53, 54) + udp(b"dns")[38:]

    found = seen([udp(EMPTY, 9), other, bytes(12) + b"\x08\x06" + bytes(28), udp(EMPTY)[:30], udp(b"\x09")], traffic)

    assert len(found) == 1
    assert traffic.left_out == {"UDP": 1, "ARP": 1}
    assert [refusal.reason for refusal in refused] == ["bad_length", "not_a_message"]
    assert traffic.packets == 1 + traffic.refused + traffic.left_out.total()


def test_messages_in_tcp_are_read_by_the_framing() -> None:
    """Each has the time and place of the packet that it ends in."""
    refused: list[Refusal] = []
    traffic = Traffic(scuttlebutt, (), refused.append, Sized)
    stream = bytes([len(REQUEST)]) + REQUEST + b"\x01\x09" + bytes([len(EMPTY)]) + EMPTY

    found = seen(
        [tcp(0, b"", 2), tcp(1, stream[:5]), tcp(1, stream[:5]), tcp(6, stream[5:]), tcp(1 + len(stream), b"", 1)], traffic
    )

    assert [(message.msg_type, message.t_us) for message in found] == [("digest_request", 30), ("delta", 30)]
    assert [(refusal.reason, refusal.number, refusal.raw) for refusal in refused] == [("not_a_message", 4, b"\x09")]
    assert (traffic.packets, traffic.segments, traffic.framed, traffic.pieces) == (5, 5, 2, 1)
