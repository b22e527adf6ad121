"""Captures of rings of Wendy and Peter: a message on each connection, and its acknowledgement; what is wrong is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.pipeline.clusters import Row, ingested, judged, rows, traced
from tests.pipeline.rings import TIMEOUT, Arrival, RingRecording, frames, record_ring, record_trees, ring, segment, write_frames
from tests.support.tools import leave_out

from peerproof.cli.main import main
from peerproof.conformance.captures.tcp_streams import connections_of
from peerproof.pipeline.stages.ingest import Ingested
from peerproof.pipeline.storage.tables import QUARANTINE, TRACES
from peerproof.spec import swim, wendy
from peerproof.spec.peter import NotifyMessage, PublishMessage, UnsubscribeMessage
from peerproof.spec.peter.model import monitors as of_peter
from peerproof.spec.peter.tree import MOST_HOPS
from peerproof.spec.wendy import Application, Heartbeat, NodeAnnouncement, NodeRace, StateData, Versions
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "kinds"),
    [("wendy", {"node_announcement", "state_data"}), ("peter", {"subscribe", "unsubscribe", "publish", "notify"})],
)
def test_each_connection_is_a_message_and_its_acknowledgement(protocol: str, kinds: set[str], tmp_path: Path) -> None:
    """Of two rows each: of the node that has sent it, which no port says, and of the one that it arrives at."""
    packets = list(frames(connections(protocol)))

    done, traces, aside = read(tmp_path, packets, protocol)

    assert aside == []
    assert done.counts["messages"] == done.counts["acknowledgements"] == len(connections(protocol))
    assert done.counts["segments"] == len(packets)
    sent = sorted((row["node"], row["peer"], row["payload"]) for row in traces if row["kind"] == "send")
    assert sent == sorted((arrival.source, arrival.target, arrival.payload.rstrip()) for arrival in connections(protocol))
    assert {row["node"] for row in traces} == {f"10.0.0.{number}:1" for number in range(1, 8)}
    assert kinds <= {row["msg_type"] for row in traces}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_a_ring_is_accepted_by_its_messages(name: str, tmp_path: Path) -> None:
    violations, verdicts = found(tmp_path, frames(connections(name)), PLANS[name][0])

    assert violations == []
    assert {(row["way"], row["verdict"]) for row in verdicts} == {("monitor", "accepted")}
    assert sum(row["judged"] for row in verdicts) == 2 * len(connections(name)) > 600


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
    arguments = [
        "--input-format",
        "pcap",
        "--protocol",
        "wendy",
        "--port",
        "1",
        "--output",
        str(tmp_path / "out"),
        "--master",
        "none",
    ]

    assert main(["pipeline", "ingest", str(path), *arguments]) == 0

    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("5 packets in = 5 messages + 0 quarantined + 0 left out; a TCP stream counts by its messages")
    assert second == "5 acknowledgements"


# Faults in a capture. Each function makes connections with a fault of connections without.


def planted(fits: Callable[[Any], bool], change: Callable[[Any], Any], connections: Connections) -> Connections:
    """In the last message that fits, whose sender has said before which versions it has; or without such messages."""
    for number in reversed(range(len(connections))):
        arrival = connections[number]
        if fits(arrival.message) and said_before(connections, number):
            changed = change(arrival.message)
            if changed is None:
                return [a for a in connections if a[1:3] != arrival[1:3] or not fits(a.message)]
            return with_change(connections, number, changed)
    raise AssertionError("no message fits")


def with_change(connections: Connections, number: int, message: Any) -> Connections:
    return [*connections[:number], connections[number].saying(message), *connections[number + 1 :]]


def said_before(connections: Connections, number: int) -> bool:
    """Whether the sender of a message with whole tables has sent a leaf set of the same versions before."""
    this = connections[number]
    return not isinstance(this.message, NodeRace) or any(
        other.source == this.source
        and other.message.header.versions == this.message.header.versions
        and isinstance(other.message, (StateData, NodeRace))
        and other.message.tables.leaf_set is not None
        for other in connections[:number]
    )


def with_header(message: Any, **members: Any) -> Any:
    return replace(message, header=replace(message.header, **members))


def of_kind(kind: type) -> Callable[[Any], bool]:
    return lambda message: isinstance(message, kind)


def is_welcome(message: Any) -> bool:
    """Whether this answers a join of somebody who says more later."""
    return isinstance(message, StateData) and message.tables.routing_table is not None and message.destination


def is_passed_on(message: Any) -> bool:
    return isinstance(message, Application) and message.header.hop > 0


def versions_go_back(message: Any) -> Any:
    return with_header(message, versions=Versions(2, 2, 2))


def versions_of_nobody(message: Any) -> Any:
    return with_header(message, versions=Versions(99, 99, 99))


def another_leaf_set(message: Any) -> Any:
    left, right = message.tables.leaf_set
    return replace(message, tables=message.tables._replace(leaf_set=wendy.LeafSet(left[1:], right[1:])))


def no_leaf_set(message: Any) -> Any:
    return replace(message, tables=message.tables._replace(leaf_set=None))


def no_tables(message: Any) -> Any:
    return replace(message, tables=wendy.Tables())


def left_out(_: Any) -> None:
    return None


def counts_two_hops_more(message: Any) -> Any:
    return with_header(message, hop=message.header.hop + 2)


def announced_a_second_early(connections: Connections) -> Connections:
    """An announcement before the wait is over."""
    first = next(arrival for arrival in connections if isinstance(arrival.message, NodeAnnouncement))
    early = [a for a in connections if a[:2] == first[:2] and isinstance(a.message, NodeAnnouncement)]
    return sorted(a._replace(time=a.time - 1) if a in early else a for a in connections)


def passed_on_as_it_came(connections: Connections) -> Connections:
    """A node sends the copy on that it has got, as if its parent had sent it. [PD-04]"""
    for number, arrival in enumerate(connections):
        message = arrival.message
        if isinstance(message, NotifyMessage) and message.header.hop > 1:
            came = (a.message for a in connections[:number] if a.target == arrival.source)
            parent = next(other for other in came if isinstance(other, NotifyMessage | PublishMessage))
            return with_change(connections, number, with_header(message, sender=parent.header.sender))
    raise AssertionError("no message fits")


def copies_of(connections: Connections) -> list[int]:
    return [number for number, arrival in enumerate(connections) if isinstance(arrival.message, NotifyMessage)]


def counted_twice(connections: Connections) -> Connections:
    """A copy counts two hops more than the event that came."""
    number = next(n for n in copies_of(connections) if connections[n].message.header.hop > 0)
    message = connections[number].message
    return with_change(connections, number, with_header(message, hop=message.header.hop + 1))


def without_end(connections: Connections) -> Connections:
    """A copy is copied that 255 nodes have received."""
    number = copies_of(connections)[-1]
    return with_change(connections, number, with_header(connections[number].message, hop=MOST_HOPS))


def sent_back(connections: Connections) -> Connections:
    """A child sends the copy back to the parent that it came from."""
    number = copies_of(connections)[0]
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
    Fault("VersionsGrow", "WA-39", "wendy", partial(planted, of_kind(Heartbeat), versions_go_back)),
    Fault("VersionsNameTables", "WA-42", "wendy", partial(planted, of_kind(NodeRace), another_leaf_set)),
    Fault("MarkWithLeafSet", "WA-61", "wendy", partial(planted, is_welcome, no_leaf_set)),
    Fault("JoinAnswered", "W-48", "wendy", partial(planted, is_welcome, left_out)),
    Fault("RaceOfNewer", "W-64", "wendy", partial(planted, of_kind(NodeRace), no_tables)),
    Fault("RaceIsTold", "W-64", "wendy", partial(planted, of_kind(NodeRace), left_out)),
    Fault("VersionsWereTold", "W-61", "wendy", partial(planted, of_kind(NodeAnnouncement), versions_of_nobody)),
    Fault("AnnouncesTables", "W-60", "wendy", partial(planted, of_kind(NodeAnnouncement), no_leaf_set)),
    Fault("AnnouncedInTime", "W-58", "calm wendy", announced_a_second_early),
    Fault("HopsCounted", "WA-56", "calm wendy", partial(planted, is_passed_on, counts_two_hops_more)),
    Fault("LastHop", "PA-08", "peter", passed_on_as_it_came),
    Fault("CopyHopsCounted", "PA-25", "peter", counted_twice),
    Fault("CopiesEnd", "PA-25", "peter", without_end),
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


@pytest.fixture(scope="module")
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RingRecording:
    record = {"wendy": record_ring, "peter": record_trees}[request.param]
    return record(tmp_path_factory.mktemp("nodes"))


@pytest.mark.slow
@pytest.mark.parametrize("recording", ["wendy", "peter"], indirect=True)
def test_traces_of_real_nodes_are_accepted(recording: RingRecording, tmp_path: Path) -> None:
    """Also all together, although those who receive do not know from which node, and each has its own clock."""
    violations, verdicts = traced(tmp_path, [list(lines) for lines in recording.traces])

    assert violations == []
    assert [(row["way"], row["verdict"]) for row in verdicts] == [("replay", "accepted")] * 4 + [("cluster", "accepted")]
    assert verdicts[4]["judged"] == sum(map(len, recording.traces))


@pytest.mark.slow
@pytest.mark.parametrize(("recording", "protocol"), [("wendy", "wendy"), ("peter", "peter")], indirect=["recording"])
def test_the_capture_of_real_nodes_is_accepted(recording: RingRecording, protocol: str, tmp_path: Path) -> None:
    """In the end, some messages arrive at who is not there to read them."""
    if recording.packets is None:
        leave_out("this machine allows no packet socket, so that there is no capture")

    violations, verdicts = found(tmp_path, recording.packets, protocol, network_timeout=TIMEOUT)

    assert violations == []
    assert {row["node"] for row in verdicts} == {f"127.0.0.1:{port}" for port in recording.ports}
    assert {(row["way"], row["verdict"]) for row in verdicts} == {("monitor", "accepted")}
    received = sum('"kind":"recv"' in line for lines in recording.traces for line in lines)
    assert sum(row["judged"] for row in verdicts) >= 2 * received
