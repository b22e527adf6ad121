"""
From the frames of a capture to messages of a protocol, with sender, receiver and time.

Each packet is one of four: a message (UDP), a segment that may end messages (TCP), set aside, or left out because it does not
belong to the requested ports. Packets that are left out are counted.

The sender of a message is the source address of its packet, unless the protocol defines it otherwise (`spec.observed.Senders`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from peerproof.conformance.captures import packets
from peerproof.conformance.captures.pcap import Frame
from peerproof.conformance.captures.refusals import RAW, Refusal, SetAside
from peerproof.conformance.captures.tcp_streams import Framing, Streams
from peerproof.conformance.traces.events import column_text
from peerproof.conformance.traces.steps import senders_of
from peerproof.spec.core import NodeId, Specification
from peerproof.spec.errors import MalformedMessage
from peerproof.spec.traces.observed import Senders


class Message(NamedTuple):
    """One message on the wire."""

    t_us: int
    source: str
    target: str
    msg_type: str
    payload: bytes
    offset: int  #: of the frame that the message ends in


class Traffic:
    """Reads the messages of one capture."""

    def __init__(
        self,
        specification: Specification,
        ports: Iterable[int],
        set_aside: SetAside,
        framing: Callable[[], Framing] | None = None,
    ) -> None:
        """Reads all traffic if `ports` is empty, and TCP only with `framing`, called for each direction of a connection."""
        self.packets = 0
        self.refused = 0  #: packets that were set aside
        self.left_out: Counter[str] = Counter()  #: packets of other ports and other protocols, if ports were given
        self.segments = 0  #: packets of TCP, including empty ones
        self.framed = 0  #: messages in TCP
        self.ports: Counter[int] = Counter()  #: ports of UDP and TCP -> flows
        self.pieces = 0  #: parts of TCP streams that were set aside
        self._decode = specification.MESSAGE.decode
        self._names = specification.MESSAGE.form.names
        self._protocol = specification.NAME
        self._ports = frozenset(ports)
        self._set_aside = set_aside
        self._is_udp = specification.TRANSPORT == "udp"
        senders: Callable[[], Senders] | None = senders_of(specification)
        self._senders = senders() if senders else None
        self._streams = Streams(framing, self._piece) if framing else None
        self._flows: dict[bytes, packets.Flow | None] = {}

    def messages(self, frames: Iterable[Frame]) -> Iterator[Message]:
        """Yields the messages, in the order of the frames in which they end."""
        flows, decode, names = self._flows, self._decode, self._names
        dissect, udp, header = packets.dissect, packets.UDP, packets.UDP_HEADER
        make = partial(tuple.__new__, Message)  # its own constructor takes twice as long
        frame = None
        for frame in frames:
            offset, _, t_us, link, data, wire_length = frame
            self.packets += 1
            try:
                packet = dissect(link, data, wire_length)
            except (packets.BadPacket, packets.OtherProtocol) as error:
                self._not_ours(frame, error)
                continue
            transport, key, start, end = packet
            flow = flows.get(key) or self._flow(key)
            if flow is None:
                self.left_out["UDP" if transport == udp else "TCP"] += 1
            elif transport == udp and not self._is_udp:
                self._refuse(frame, "other_protocol", f"UDP, which {self._protocol} does not use, {_between(flow)}")
            elif transport == udp:
                payload = data[start + header : end]
                try:
                    name = names[type(decode(payload))]
                except MalformedMessage as error:
                    self._refuse(frame, "not_a_message", _no_message(flow, payload, error), payload)
                else:
                    yield make((t_us, flow[0], flow[1], name, payload, offset))
            elif self._streams:
                yield from self._segment(self._streams, frame, packet, flow)
            else:
                self._refuse(frame, "other_protocol", f"TCP, which {self._protocol} does not use, {_between(flow)}")
        if frame and self._streams:
            for key, data in self._streams.end(frame):
                yield from self._decode_message(frame, packets.flow_of(key), data)

    def _flow(self, key: bytes) -> packets.Flow | None:
        if key in self._flows:  # None: left out
            return self._flows[key]
        flow: packets.Flow | None = packets.flow_of(key)
        if flow and len(self.ports) < packets.MAX_FLOWS:
            self.ports.update({flow.source_port, flow.target_port})
        if flow and self._ports and not self._ports & {flow.source_port, flow.target_port}:
            flow = None
        if len(self._flows) >= packets.MAX_FLOWS:
            self._flows.clear()
        self._flows[key] = flow
        return flow

    def _segment(self, streams: Streams, frame: Frame, packet: packets.Packet, flow: packets.Flow) -> Iterator[Message]:
        try:
            segment = packets.segment_of(frame.data, packet)
        except packets.BadPacket as bad:
            self._refuse(frame, bad.reason, bad.detail)
            return
        self.segments += 1
        for data in streams.add(packet.flow, segment, frame):
            yield from self._decode_message(frame, flow, data)

    def _decode_message(self, frame: Frame, flow: packets.Flow, data: bytes) -> Iterator[Message]:
        try:
            message = self._decode(data)
        except MalformedMessage as error:
            detail = _no_message(flow, data, error)
            self._piece(Refusal(frame.offset, frame.number, "not_a_message", detail, data[:RAW]))
            return
        self.framed += 1
        source = flow.source
        if self._senders:
            source = column_text(self._senders.sender(message, NodeId(source), NodeId(flow.target)))
        yield Message(frame.t_us, source, flow.target, self._names[type(message)], data, frame.offset)

    def _not_ours(self, frame: Frame, error: packets.BadPacket | packets.OtherProtocol) -> None:
        if isinstance(error, packets.BadPacket):
            self._refuse(frame, error.reason, error.detail)
        elif self._ports:
            self.left_out[str(error)] += 1
        else:
            self._refuse(frame, "other_protocol", str(error))

    def _refuse(self, frame: Frame, reason: str, detail: str, raw: bytes | None = None) -> None:
        self.refused += 1
        self._set_aside(Refusal(frame.offset, frame.number, reason, detail, (frame.data if raw is None else raw)[:RAW]))

    def _piece(self, refusal: Refusal) -> None:
        self.pieces += 1
        self._set_aside(refusal)


def _no_message(flow: packets.Flow, data: bytes, error: MalformedMessage) -> str:
    place = f" at byte {error.offset}" if error.offset else ""
    return f"{error.reason}{place}: {error.detail}; {len(data)} bytes {_between(flow)}"


def _between(flow: packets.Flow) -> str:
    return f"from {flow.source} to {flow.target}"
