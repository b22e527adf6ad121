"""Captures of rings of Wendy: one message on each connection, and its acknowledgement; what is wrong in one is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types
import pytest
from tests.pipeline.rings import (
    TIMEOUT,
    Arrival,
    RingRecording,
    frames,
    record_ring,
    ring,
    segment,
    write_frames,
)
from tests.pipeline.stages.test_planted import traced

from peerproof.cli.main import main
from peerproof.conformance.captures.tcp_streams import connections_of
from peerproof.pipeline.ingest.inputs import inputs
from peerproof.pipeline.spark.execution import Engine
from peerproof.pipeline.spark.session import Settings
from peerproof.pipeline.stages.ingest import Ingested, Reading
from peerproof.pipeline.stages.ingest import execute as ingest
from peerproof.pipeline.stages.validate import Validation, execute
from peerproof.pipeline.storage.batches import table_files
from peerproof.pipeline.storage.tables import QUARANTINE, TRACES, VERDICTS, VIOLATIONS
from peerproof.spec import swim, wendy
from peerproof.spec.wendy import Application, Heartbeat, Message, NodeAnnouncement, NodeRace, StateData, Versions
from peerproof.spec.wendy.framing import ACKNOWLEDGEMENT
from peerproof.spec.wendy.model.monitors import RULES

Row = dict[str, Any]
Packets = Iterable[tuple[float, bytes]]

CHURN: dict[str, Any] = {"apart": 2, "crashes": ((2, 25),), "restarts": ((2, 32),)}


def ingested(folder: Path, packets: Packets, ports: tuple[int, ...] = (), protocol: str = "wendy") -> tuple[Ingested, list[Row]]:
    """What became of a capture, and the rows of `quarantine`."""
    folder.mkdir(exist_ok=True)
    path = write_frames(folder / "ring.pcap", packets)
    with Engine(Settings(master="none")) as engine:
        reading = Reading(inputs([str(path)], "pcap"), "pcap", protocol=protocol, ports=ports)
        done = ingest(engine, folder / "out", reading, lambda _: None)
    return done, [row for file in table_files(folder / "out", QUARANTINE) for row in pq.read_table(file).to_pylist()]


def judged(folder: Path, packets: Packets, protocol: str = "wendy", **config: Any) -> tuple[list[Row], list[Row]]:
    """Rows of `violations` and of `verdicts`."""
    ingested(folder, packets, protocol=protocol)
    with Engine(Settings(master="none")) as engine:
        execute(engine, folder / "out", Validation(folder / "out", config=config), lambda _: None)
    violations, verdicts = (
        [row for file in table_files(folder / "out", table) for row in pq.read_table(file).to_pylist()]
        for table in (VIOLATIONS, VERDICTS)
    )
    return violations, verdicts


@pytest.fixture(scope="module")
def calm() -> list[Arrival]:
    return ring()


@pytest.fixture(scope="module")
def churning() -> list[Arrival]:
    return ring(**CHURN)


def test_each_connection_is_a_message_and_its_acknowledgement(churning: list[Arrival], tmp_path: Path) -> None:
    """Of two rows each: of the node that has sent it, which no port says, and of the one that it arrives at."""
    packets = list(frames(churning))

    done, aside = ingested(tmp_path, packets)

    assert aside == []
    assert done.counts["messages"] == done.counts["acknowledgements"] == len(churning)
    assert done.counts["segments"] == len(packets)
    rows = [row for file in table_files(tmp_path / "out", TRACES) for row in pq.read_table(file).to_pylist()]
    sent = sorted((row["node"], row["peer"], row["payload"]) for row in rows if row["kind"] == "send")
    assert sent == sorted((arrival.source, arrival.target, arrival.payload.rstrip()) for arrival in churning)
    assert {row["node"] for row in rows} == {f"10.0.0.{number}:1" for number in range(1, 8)}


@pytest.mark.parametrize("plan", ["calm", "churning"])
def test_a_ring_is_accepted_by_its_messages(plan: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    connections: list[Arrival] = request.getfixturevalue(plan)

    violations, verdicts = judged(tmp_path, frames(connections))

    assert violations == []
    assert {(row["way"], row["verdict"]) for row in verdicts} == {("monitor", "accepted")}
    assert sum(row["judged"] for row in verdicts) == 2 * len(connections) > 600


def test_what_is_lost_or_strange_is_set_aside_and_the_rest_is_read(calm: list[Arrival], tmp_path: Path) -> None:
    whole = list(frames(calm))
    long = next(arrival for arrival in calm if len(arrival.payload) > 5000)
    torn = list(frames([long]))
    del torn[4]
    client, server = ("10.0.0.9", 9), ("10.0.0.1", 1)
    strange = [
        segment(client, server, 7, 16, b"GET / HTTP/1.1\r\n\r\n"),
        segment((client[0], 10), server, 7, 16, b'{"Purpose": 2'),
        segment(server, (client[0], 11), 7, 17, ACKNOWLEDGEMENT[:9]),
        segment((client[0], 12), server, 7, 16, ACKNOWLEDGEMENT + b"no more"),
    ]
    last = whole[-1][0]

    done, aside = ingested(tmp_path, [*whole, *((last, frame) for _, frame in torn), *((last, frame) for frame in strange)])

    reasons = sorted(row["reason_code"] for row in aside)
    assert reasons == ["not_a_message", "stream_gap", "unfinished_frame", "unfinished_frame"]
    assert done.counts["messages"] == len(calm)
    assert done.counts["acknowledgements"] == len(calm) + 2


def test_messages_cut_into_bytes_are_read() -> None:
    connections = connections_of(wendy)
    assert connections is not None
    message = wendy.MESSAGE.encode(Heartbeat(wendy.Header(wendy.Node(wendy.Id(1), "h", "h", 1), wendy.Id(1))))
    for data in (message + b"\nmore", b" \n" + message):
        direction, unread, found = connections.framing(), bytearray(), []
        for byte in data:
            unread.append(byte)
            messages, taken = direction.read(unread)
            del unread[:taken]
            found += messages
        assert (found, bytes(unread)) == ([message.rstrip()], b"")

    assert connections_of(swim) is None


def test_udp_is_nothing_of_wendy(tmp_path: Path) -> None:
    packet = bytearray(segment(("10.0.0.1", 1), ("10.0.0.2", 1), 1, 16))
    packet[23] = 17
    packet[38:40] = (20).to_bytes(2, "big")

    _, (row,) = ingested(tmp_path, [(0, bytes(packet))])

    assert (row["reason_code"], row["detail"]) == (
        "other_protocol",
        "UDP, which wendy does not use, from 10.0.0.1:1 to 10.0.0.2:1",
    )


# Faults in a capture. Each function changes the last message that fits, or leaves it out.


Change = Callable[[Any], Message | None]


def planted(connections: Sequence[Arrival], fits: Callable[[Any], bool], change: Change) -> list[Arrival]:
    """The connections with a fault, in a message whose sender has said before which versions it has; or without such messages."""
    found = list(connections)
    for number in reversed(range(len(found))):
        message = found[number].message
        if fits(message) and said_before(connections, number):
            changed = change(message)
            if changed is None:
                return [a for a in found if a[1:3] != found[number][1:3] or not fits(a.message)]
            found[number] = found[number].saying(changed)
            return found
    raise AssertionError("no message fits")


def said_before(connections: Sequence[Arrival], number: int) -> bool:
    """Whether the sender of a message with whole tables has sent a leaf set of the same versions before."""
    this = connections[number]
    return not isinstance(this.message, NodeRace) or any(
        other.source == this.source
        and other.message.header.versions == this.message.header.versions
        and isinstance(other.message, (StateData, NodeRace))
        and other.message.tables.leaf_set is not None
        for other in connections[:number]
    )


def is_welcome(message: Message) -> bool:
    """Whether this answers a join of somebody who says more later."""
    return isinstance(message, StateData) and message.tables.routing_table is not None and message.destination


def versions_go_back(message: Any) -> Message:
    changed: Message = replace(message, header=replace(message.header, versions=Versions(2, 2, 2)))
    return changed


def another_leaf_set(message: Any) -> Message:
    left, right = message.tables.leaf_set
    changed: Message = replace(message, tables=message.tables._replace(leaf_set=wendy.LeafSet(left[1:], right[1:])))
    return changed


def no_leaf_set(message: Any) -> Message:
    changed: Message = replace(message, tables=message.tables._replace(leaf_set=None))
    return changed


def no_tables(message: Any) -> Message:
    changed: Message = replace(message, tables=wendy.Tables())
    return changed


def versions_of_nobody(message: Any) -> Message:
    changed: Message = replace(message, header=replace(message.header, versions=Versions(99, 99, 99)))
    return changed


def of_kind(kind: type) -> Callable[[Any], bool]:
    return lambda message: isinstance(message, kind)


IN_CAPTURES = [
    (of_kind(Heartbeat), versions_go_back, "VersionsGrow", "WA-39"),
    (of_kind(NodeRace), another_leaf_set, "VersionsNameTables", "WA-42"),
    (is_welcome, no_leaf_set, "MarkWithLeafSet", "WA-61"),
    (is_welcome, lambda _: None, "JoinAnswered", "W-48"),
    (of_kind(NodeRace), no_tables, "RaceOfNewer", "W-64"),
    (of_kind(NodeRace), lambda _: None, "RaceIsTold", "W-64"),
    (of_kind(NodeAnnouncement), versions_of_nobody, "VersionsWereTold", "W-61"),
    (of_kind(NodeAnnouncement), no_leaf_set, "AnnouncesTables", "W-60"),
]


@pytest.mark.parametrize(("fits", "change", "name", "clause"), IN_CAPTURES, ids=[row[2] for row in IN_CAPTURES])
def test_a_fault_in_a_capture_is_found(
    fits: Callable[[Any], bool],
    change: Change,
    name: str,
    clause: str,
    churning: list[Arrival],
    tmp_path: Path,
) -> None:
    violations, verdicts = judged(tmp_path, frames(planted(churning, fits, change)))

    named = [row for row in violations if row["property"] == name]
    assert named
    (severity,) = {"differs" if rule.is_decision else "violates" for rule in RULES if rule.name == name}
    assert {(row["severity"], clause in row["clause"].split(", ")) for row in named} == {(severity, True)}
    faulty = {row["node"] for row in violations}
    assert {row["verdict"] for row in verdicts if row["node"] not in faulty} == {"accepted"}


def test_an_announcement_before_the_wait_is_over_is_found(calm: list[Arrival], tmp_path: Path) -> None:
    first = next(arrival for arrival in calm if isinstance(arrival.message, NodeAnnouncement))
    early = [a for a in calm if a.source == first.source and a.time == first.time and isinstance(a.message, NodeAnnouncement)]
    connections = sorted(a._replace(time=a.time - 1) if a in early else a for a in calm)

    violations, _ = judged(tmp_path, frames(connections))

    assert ("AnnouncedInTime", first.source) in {(row["property"], row["node"]) for row in violations}


def test_a_message_that_counts_hops_twice_is_found(calm: list[Arrival], tmp_path: Path) -> None:
    def passed_on(message: Any) -> bool:
        return isinstance(message, Application) and message.header.hop > 0

    def counted_more(message: Any) -> Message:
        changed: Message = replace(message, header=replace(message.header, hop=message.header.hop + 2))
        return changed

    violations, _ = judged(tmp_path, frames(planted(calm, passed_on, counted_more)))

    assert {row["property"] for row in violations} == {"HopsCounted"}


# Real nodes.


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> RingRecording:
    return record_ring(tmp_path_factory.mktemp("nodes"))


@pytest.mark.slow
def test_traces_of_real_nodes_are_accepted(recording: RingRecording, tmp_path: Path) -> None:
    """Also all together, although those who receive do not know from which node, and each has its own clock."""
    violations, verdicts = traced(tmp_path, [list(lines) for lines in recording.traces])

    assert violations == []
    assert [(row["way"], row["verdict"]) for row in verdicts] == [("replay", "accepted")] * 4 + [("cluster", "accepted")]
    assert verdicts[4]["judged"] == sum(map(len, recording.traces))


@pytest.mark.slow
def test_the_capture_of_real_nodes_is_accepted(recording: RingRecording, tmp_path: Path) -> None:
    if recording.packets is None:
        pytest.skip("this machine allows no packet socket, so that there is no capture")

    violations, verdicts = judged(tmp_path, recording.packets, network_timeout=TIMEOUT)

    assert violations == []
    assert {row["node"] for row in verdicts} == {f"127.0.0.1:{port}" for port in recording.ports}
    assert {(row["way"], row["verdict"]) for row in verdicts} == {("monitor", "accepted")}
    received = sum('"kind":"recv"' in line for lines in recording.traces for line in lines)
    assert sum(row["judged"] for row in verdicts) >= 2 * received  # in the end, some arrive at who is not there to read them


def test_the_command_counts_acknowledgements(calm: list[Arrival], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_frames(tmp_path / "ring.pcap", frames(calm[:5]))
    arguments = ["--format", "pcap", "--protocol", "wendy", "--port", "1", "--out", str(tmp_path / "out"), "--master", "none"]

    assert main(["pipeline", "ingest", str(path), *arguments]) == 0

    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("5 packets in = 5 messages + 0 quarantined + 0 left out; a TCP stream counts by its messages")
    assert second == "5 acknowledgements"
