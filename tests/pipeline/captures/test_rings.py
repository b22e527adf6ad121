"""Captures of rings of Wendy and Peter: a message on each connection, and its acknowledgement; what is wrong is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.pipeline.clusters import Row, ingested, judged, rows, traced
from tests.pipeline.frames import segment, write_frames
from tests.pipeline.rings import TIMEOUT, Arrival, RingRecording, frames, record_ring, record_trees, ring
from tests.support.tools import leave_out

from peerproof.cli.main import main
from peerproof.conformance.captures.tcp_streams import connections_of
from peerproof.pipeline.stages.ingest import Ingested
from peerproof.pipeline.storage.tables import QUARANTINE, TRACES
from peerproof.spec import swim, wendy
from peerproof.spec.peter import NotifyMessage, UnsubscribeMessage
from peerproof.spec.peter.model import monitors as of_peter
from peerproof.spec.wendy import Heartbeat, NodeAnnouncement, StateData, Versions
from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT
from peerproof.spec.wendy.model import monitors as of_wendy

Packets = Iterable[tuple[float, bytes]]
Connections = Sequence[Arrival]

RULES = {"wendy": of_wendy.RULES, "peter": of_peter.RULES}

#: In some rings nodes come and go.
PLANS: dict[str, tuple[str, dict[str, Any]]] = {
    "calm wendy": ("wendy", {}),
    "wendy": ("wendy", {"apart": 2, "crashes": ((2, 25),), "restarts": ((2, 32),)}),
    "calm peter": ("peter", {"topics": 3}),
    "peter": ("peter", {"topics": 3, "apart": 2, "churn": 0.04}),
}


@cache
def connections(name: str) -> Connections:
    """What arrives in one of these rings."""
    protocol, plan = PLANS[name]
    return tuple(ring(protocol, **plan))


def read(
    folder: Path, packets: Packets, protocol: str = "wendy", ports: tuple[int, ...] = ()
) -> tuple[Ingested, list[Row], list[Row]]:
    """What becomes of a capture, and the rows of `traces` and of `quarantine`."""
    path = write_frames(folder / "ring.pcap", packets)
    done = ingested(folder / "out", [path], "pcap", protocol=protocol, ports=ports)
    return done, rows(folder / "out", TRACES), rows(folder / "out", QUARANTINE)


def found(folder: Path, packets: Packets, protocol: str, **config: Any) -> tuple[list[Row], list[Row]]:
    """Rows of `violations` and of `verdicts`."""
    read(folder, packets, protocol)
    return judged(folder / "out", config=config)


KINDS = {"wendy": {"node_announcement", "state_data"}, "peter": {"subscribe", "unsubscribe", "publish", "notify"}}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_each_connection_is_a_message_and_its_acknowledgement_and_all_are_accepted(name: str, tmp_path: Path) -> None:
    """Of two rows each: of the node that has sent it, which no port says, and of the one that it arrives at."""
    protocol, _ = PLANS[name]
    arrivals = connections(name)
    packets = list(frames(arrivals))

    done, traces, aside = read(tmp_path, packets, protocol)
    violations, verdicts = judged(tmp_path / "out")

    assert aside == []
    assert done.counts["messages"] == done.counts["acknowledgements"] == len(arrivals)
    assert done.counts["segments"] == len(packets)
    sent = sorted((row["node"], row["peer"], row["payload"]) for row in traces if row["kind"] == "send")
    assert sent == sorted((arrival.source, arrival.target, arrival.payload.rstrip()) for arrival in arrivals)
    assert {row["node"] for row in traces} == {f"10.0.0.{number}:1" for number in range(1, 8)}
    assert {row["msg_type"] for row in traces} >= KINDS[protocol]
    assert violations == []
    assert {(row["way"], row["verdict"]) for row in verdicts} == {("monitor", "accepted")}
    assert sum(row["judged"] for row in verdicts) == 2 * len(arrivals) > 600


def test_what_is_lost_or_strange_is_set_aside_and_the_rest_is_read(tmp_path: Path) -> None:
    calm = connections("calm wendy")
    whole = list(frames(calm))
    torn = list(frames([next(arrival for arrival in calm if len(arrival.payload) > 5000)]))
    del torn[4]
    client, server = ("10.0.0.9", 9), ("10.0.0.1", 1)
    strange = [
        segment(client, server, 7, 16, b"GET / HTTP/1.1\r\n\r\n"),
        segment((client[0], 10), server, 7, 16, b'{"Purpose": 2'),
        segment(server, (client[0], 11), 7, 17, ACKNOWLEDGEMENT[:9]),
        segment((client[0], 12), server, 7, 16, ACKNOWLEDGEMENT + b"no more"),
    ]
    last = whole[-1][0]

    done, _, aside = read(tmp_path, [*whole, *((last, frame) for _, frame in torn), *((last, frame) for frame in strange)])

    reasons = sorted(row["reason_code"] for row in aside)
    assert reasons == ["not_a_message", "stream_gap", "unfinished_frame", "unfinished_frame"]
    assert done.counts["messages"] == len(calm)
    assert done.counts["acknowledgements"] == len(calm) + 2


def test_messages_cut_into_bytes_are_read() -> None:
    streams = connections_of(wendy)
    assert streams is not None
    message = wendy.MESSAGE.encode(Heartbeat(wendy.Header(wendy.Node(wendy.Id(1), "h", "h", 1), wendy.Id(1))))
    for data in (message + b"\nmore", b" \n" + message):
        direction, unread, whole = streams.framing(), bytearray(), []
        for byte in data:
            unread.append(byte)
            messages, taken = direction.read(unread)
            del unread[:taken]
            whole += messages
        assert (whole, bytes(unread)) == ([message.rstrip()], b"")

    assert connections_of(swim) is None


def test_udp_is_nothing_of_wendy(tmp_path: Path) -> None:
    packet = bytearray(segment(("10.0.0.1", 1), ("10.0.0.2", 1), 1, 16))
    packet[23] = 17
    packet[38:40] = (20).to_bytes(2, "big")

    _, _, (row,) = read(tmp_path, [(0, bytes(packet))])

    assert row["reason_code"] == "other_protocol"
    assert row["detail"] == "UDP, which wendy does not use, from 10.0.0.1:1 to 10.0.0.2:1"


def test_the_command_counts_acknowledgements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_frames(tmp_path / "ring.pcap", frames(connections("calm wendy")[:5]))
    arguments = ["--input-format", "pcap", "--protocol", "wendy", "--port", "1", "--master", "none", "--output"]

    assert main(["pipeline", "ingest", str(path), *arguments, str(tmp_path / "out")]) == 0

    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("5 packets in = 5 messages + 0 quarantined + 0 left out; a TCP stream counts by its messages")
    assert second == "5 acknowledgements"


# Faults in a capture, one of each kind of rule: the others are shown by hand-made messages in `tests/spec`.


def with_change(connections: Connections, number: int, message: Any) -> Connections:
    return [*connections[:number], connections[number].saying(message), *connections[number + 1 :]]


def with_header(message: Any, **members: Any) -> Any:
    return replace(message, header=replace(message.header, **members))


def versions_go_back(connections: Connections) -> Connections:
    number = max(number for number, arrival in enumerate(connections) if isinstance(arrival.message, Heartbeat))
    return with_change(connections, number, with_header(connections[number].message, versions=Versions(2, 2, 2)))


def is_welcome(message: Any) -> bool:
    """Whether this answers a join of somebody who says more later."""
    return isinstance(message, StateData) and message.tables.routing_table is not None and message.destination


def without_welcomes(connections: Connections) -> Connections:
    """Of the last node that was welcomed."""
    welcomed = [arrival[1:3] for arrival in connections if is_welcome(arrival.message)]
    return [arrival for arrival in connections if arrival[1:3] != welcomed[-1] or not is_welcome(arrival.message)]


def announced_a_second_early(connections: Connections) -> Connections:
    """An announcement before the wait is over."""
    first = next(arrival for arrival in connections if isinstance(arrival.message, NodeAnnouncement))
    early = [a for a in connections if a[:2] == first[:2] and isinstance(a.message, NodeAnnouncement)]
    return sorted(a._replace(time=a.time - 1) if a in early else a for a in connections)


def sent_back(connections: Connections) -> Connections:
    """A child sends the copy back to the parent that it came from."""
    number = next(n for n, arrival in enumerate(connections) if isinstance(arrival.message, NotifyMessage))
    arrival, message = connections[number], connections[number].message
    own = (a.message.header for a in connections[:number] if a.source == arrival.target)
    child = next(header.sender for header in own if not header.hop)
    back = arrival._replace(source=arrival.target, target=arrival.source)
    back = back.saying(with_header(message, sender=child, hop=message.header.hop + 1))
    return [*connections[: number + 1], back, *connections[number + 1 :]]


def unsubscribed_twice(connections: Connections) -> Connections:
    """A child unsubscribes where it has already unsubscribed."""
    number = next(n for n, arrival in enumerate(connections) if isinstance(arrival.message, UnsubscribeMessage))
    return [*connections[: number + 1], connections[number], *connections[number + 1 :]]


class Fault(NamedTuple):
    """What is planted in which ring, and the rule and clause that it is named by."""

    name: str
    clause: str
    ring: str
    plant: Callable[[Connections], Connections]


FAULTS = [
    Fault("VersionsGrow", "WA-39", "wendy", versions_go_back),
    Fault("JoinAnswered", "W-48", "wendy", without_welcomes),
    Fault("AnnouncedInTime", "W-58", "calm wendy", announced_a_second_early),
    Fault("NotBack", "PA-26", "peter", sent_back),
    Fault("UnsubscribedOnce", "PA-10", "peter", unsubscribed_twice),
]


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_in_a_capture_is_found(fault: Fault, tmp_path: Path) -> None:
    protocol, _ = PLANS[fault.ring]

    violations, verdicts = found(tmp_path, frames(fault.plant(connections(fault.ring))), protocol)

    named = [row for row in violations if row["property"] == fault.name]
    (severity,) = {"differs" if rule.is_decision else "violates" for rule in RULES[protocol] if rule.name == fault.name}
    assert {(row["severity"], fault.clause in row["clause"].split(", ")) for row in named} == {(severity, True)}
    faulty = {row["node"] for row in violations}
    assert {row["verdict"] for row in verdicts if row["node"] not in faulty} == {"accepted"}


# Real nodes.


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "record"), [("wendy", record_ring), ("peter", record_trees)])
def test_traces_and_captures_of_real_nodes_are_accepted(
    protocol: str, record: Callable[[Path], RingRecording], tmp_path: Path
) -> None:
    """
    Traces also all together, although those who receive do not know from which node, and each has its own clock.

    In the end, some messages of the capture arrive at who is not there to read them.
    """
    recording = record(tmp_path)

    violations, verdicts = traced(tmp_path / "traced", [list(lines) for lines in recording.traces])

    assert violations == []
    assert [(row["way"], row["verdict"]) for row in verdicts] == [("replay", "accepted")] * 4 + [("cluster", "accepted")]
    assert verdicts[4]["judged"] == sum(map(len, recording.traces))
    if recording.packets is None:
        leave_out("this machine allows no packet socket, so that there is no capture")

    violations, verdicts = found(tmp_path, recording.packets, protocol, network_timeout=TIMEOUT)

    assert violations == []
    assert {row["node"] for row in verdicts} == {f"127.0.0.1:{port}" for port in recording.ports}
    assert {(row["way"], row["verdict"]) for row in verdicts} == {("monitor", "accepted")}
    received = sum('"kind":"recv"' in line for lines in recording.traces for line in lines)
    assert sum(row["judged"] for row in verdicts) >= 2 * received
