"""Real nodes and their real traffic validate clean; what is planted in either is found, and called by its name."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.clusters import Row, ingested, judged, traced
from tests.pipeline.recorded import Packet, Recording, record, write_capture

from peerproof.spec.scuttlebutt import Delta, DeltaEntry, DigestEntry, DigestRequest

pytestmark = pytest.mark.slow

Lines = list[str]


@pytest.fixture(scope="module")
def recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("nodes"), getattr(request, "param", "scuttlebutt"))


def captured(folder: Path, packets: list[Packet], recording: Recording, cut: int = 0) -> tuple[list[Row], list[Row]]:
    """What is found in a capture with these packets."""
    folder.mkdir(exist_ok=True)
    path = folder / "loopback.pcap"
    write_capture(path, packets)
    if cut:
        path.write_bytes(path.read_bytes()[:-cut])
    ingested(folder / "out", [path], "pcap", protocol=packets[0].protocol, ports=recording.ports)
    return judged(folder / "out")


OF_BOTH = pytest.mark.parametrize("recording", ["scuttlebutt", "swim"], indirect=True)


@OF_BOTH
def test_the_traces_of_real_nodes_are_accepted(recording: Recording, tmp_path: Path) -> None:
    violations, verdicts = traced(tmp_path, [list(lines) for lines in recording.traces])

    assert violations == []
    assert [(row["way"], row["verdict"]) for row in verdicts] == [("replay", "accepted")] * 3 + [("cluster", "accepted")]
    assert sum(row["judged"] for row in verdicts[:3]) == sum(map(len, recording.traces)) == verdicts[3]["judged"]


@pytest.mark.minute
@pytest.mark.parametrize("protocol", ["scuttlebutt", "swim"])
def test_a_minute_of_real_nodes_is_accepted_as_traces_and_as_a_capture(protocol: str, tmp_path: Path) -> None:
    recording = record(tmp_path, protocol, seconds=60, interval=200)

    for violations, verdicts in (
        traced(tmp_path / "traced", [list(lines) for lines in recording.traces]),
        captured(tmp_path / "captured", list(recording.packets), recording),
    ):
        assert violations == []
        assert {row["verdict"] for row in verdicts} == {"accepted"}


@OF_BOTH
def test_the_capture_of_real_nodes_is_accepted(recording: Recording, tmp_path: Path) -> None:
    violations, verdicts = captured(tmp_path, list(recording.packets), recording)

    assert violations == []
    assert [(row["way"], row["verdict"]) for row in verdicts] == [("monitor", "accepted")] * 3
    assert sum(row["judged"] for row in verdicts) == 2 * len(recording.packets) > LEAST_PACKETS


LEAST_PACKETS = 100


# Faults in a trace. Each function takes the lines of one node, plants its fault, and says at which event.


def changed(lines: Lines, fits: Callable[[Row], bool], change: Callable[[Row], None]) -> int:
    """Change a line of the second half that fits; its number."""
    for number in range(len(lines) // 2, len(lines)):
        line = json.loads(lines[number])
        if fits(line):
            change(line)
            lines[number] = json.dumps(line, separators=(",", ":"))
            return number
    raise AssertionError("no line fits")


def sent(line: Row, kind: str) -> list[Row]:
    """The messages of this type that a line says were sent."""
    messages = (effect["send"]["message"] for effect in line["effects"] if "send" in effect)
    return [message for message in messages if message["type"] == kind]


def plant_a_version_that_jumps_back(lines: Lines) -> int:
    def change(line: Row) -> None:
        (own,) = (entry for entry in sent(line, "digest_request")[0]["entries"] if entry["addr"] == line["node"])
        own["version"] = "1"

    return changed(lines, lambda line: bool(sent(line, "digest_request")), change)


def plant_a_delta_out_of_order(lines: Lines) -> int:
    def fits(line: Row) -> bool:
        return any(len({entry["addr"] for entry in delta["entries"]}) < len(delta["entries"]) for delta in sent(line, "delta"))

    def change(line: Row) -> None:
        for delta in sent(line, "delta"):
            delta["entries"].reverse()

    return changed_anywhere(lines, fits, change)


def changed_anywhere(lines: Lines, fits: Callable[[Row], bool], change: Callable[[Row], None]) -> int:
    """As `changed`, but of all lines."""
    padded = [*lines[1:], *lines[1:]]
    number = changed(padded, fits, change) - len(lines) + 1
    lines[1 + number] = padded[len(lines) - 1 + number]
    return 1 + number


def plant_a_datagram_over_the_limit(lines: Lines) -> int:
    def change(line: Row) -> None:
        (delta,) = sent(line, "delta")
        delta["entries"] = [{"addr": line["node"], "key": f"{n}", "value": "x" * 200, "version": f"{n}"} for n in range(1, 9)]

    return changed(lines, lambda line: len(sent(line, "delta")) == 1, change)


def plant_a_wrong_state_digest(lines: Lines) -> int:
    return changed(lines, bool, lambda line: line.update(state="0123456789abcdef"))


def plant_a_swapped_line(lines: Lines) -> int:
    number = len(lines) // 2
    lines[number], lines[number + 1] = lines[number + 1], lines[number]
    return number + 1


def plant_a_clock_that_jumps_back(lines: Lines) -> int:
    return changed_anywhere(lines, lambda line: line["kind"] == "api" and line["seq"] > 10, lambda line: line.update(t_us=0))


def plant_a_clock_that_jumps_ahead(lines: Lines) -> int:
    for number in range(len(lines) // 2, len(lines)):
        line = json.loads(lines[number])
        lines[number] = json.dumps({**line, "t_us": line["t_us"] + 3_600_000_000}, separators=(",", ":"))
    return next(number for number in range(len(lines) // 2, len(lines)) if json.loads(lines[number])["kind"] == "timer")


IN_TRACES = [
    (plant_a_version_that_jumps_back, "violates", "OwnVersionGrows", "B-07"),
    (plant_a_delta_out_of_order, "violates", "DeltaPrefix", "B-30"),
    (plant_a_datagram_over_the_limit, "violates", "DeltaBounded", "B-26"),
    (plant_a_wrong_state_digest, "violates", "StateDigest", None),
    (plant_a_swapped_line, "log", "SwappedLine", None),
    (plant_a_clock_that_jumps_back, "log", "ClockJumps", None),
    (plant_a_clock_that_jumps_ahead, "log", "ClockJumps", None),
]


@pytest.mark.parametrize(("plant", "severity", "name", "clause"), IN_TRACES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_fault_in_a_trace_is_found(
    plant: Callable[[Lines], int], severity: str, name: str, clause: str | None, recording: Recording, tmp_path: Path
) -> None:
    """At its event, as what it is; all else is accepted."""
    traces = [list(lines) for lines in recording.traces]
    seq = plant(traces[1])

    violations, verdicts = traced(tmp_path, traces)

    (found,) = (row for row in violations if name in (row["property"] or "").split(", "))
    assert (found["severity"], found["seq"]) == (severity, seq)
    assert clause is None or clause in found["clause"].split(", ")
    assert sorted({line["seq"] for line in json.loads(found["context"])}) == list(range(seq - 5, seq + 3))
    faulty = {row["node"] for row in violations}
    assert {row["verdict"] for row in verdicts if row["node"] and row["node"] not in faulty} == {"accepted"}
    assert severity != "violates" or {row["verdict"] for row in verdicts if row["node"] in faulty} == {"rejected"}


def test_a_trace_that_ends_early_is_found(recording: Recording, tmp_path: Path) -> None:
    """Within a line, by the line; and at whatever place, because others received what it does not say that it sent."""
    traces = [list(lines) for lines in recording.traces]
    kept = len(traces[0]) // 2
    traces[0] = [*traces[0][:kept], traces[0][kept][:99]]
    file = tmp_path / "node0.jsonl"

    violations, _ = traced(tmp_path, traces)

    assert file.read_text("utf-8").count("\n") == kept + 1
    names = {row["property"]: row for row in violations}
    assert names.keys() == {"not_json", "NeverSent"}
    assert f"node0.jsonl:{kept + 1}" in names["not_json"]["message"]
    assert json.loads(traces[0][0])["node"] in names["NeverSent"]["message"]


def test_the_command_of_a_violation_shows_it_again(recording: Recording, tmp_path: Path) -> None:
    traces = [list(lines) for lines in recording.traces]
    plant_a_wrong_state_digest(traces[2])
    violations, _ = traced(tmp_path, traces)
    (found,) = (row for row in violations if row["property"] == "StateDigest")
    program, *arguments = shlex.split(found["replay"])
    assert program == "peerproof"

    done = subprocess.run(
        [sys.executable, "-m", "peerproof.cli.main", *arguments], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert done.returncode == 1, done.stderr
    assert "VIOLATES StateDigest" in done.stdout
    assert f"event {found['seq']}" in done.stdout
    assert '"0123456789abcdef"' in done.stdout


# Faults in a capture. Each takes the packets and plants its fault.


def planted(packets: list[Packet], fits: Callable[[Any, Packet], bool], change: Callable[[Any, Packet], Packet]) -> None:
    """Change the last packet that fits: what comes before it has shown what it should be like."""
    for number in reversed(range(len(packets))):
        if fits(packets[number].message, packets[number]):
            packets[number] = change(packets[number].message, packets[number])
            return
    raise AssertionError("no packet fits")


def capture_a_version_that_jumps_back(packets: list[Packet]) -> None:
    """In a request with what others said before; of what has come since the message before, a restart could tell as well."""
    requests = [(number, packet) for number, packet in enumerate(packets) if isinstance(packet.message, DigestRequest)]
    own = {number: dict(packet.message.entries).get(f"127.0.0.1:{packet.source}", 0) for number, packet in requests}

    def has_heard_nothing(number: int) -> bool:
        source = packets[number].source
        return next(one.source == source for one in reversed(packets[:number]) if source in (one.source, one.target))

    at, packet = max(
        (number, packet)
        for number, packet in requests
        if any(one.source == packet.source and before < number and own[before] > 1 for before, one in requests)
        and has_heard_nothing(number)
    )
    changed = {**dict(packet.message.entries), f"127.0.0.1:{packet.source}": 1}
    packets[at] = packet.saying(DigestRequest(tuple(DigestEntry(*entry) for entry in changed.items())))


def capture_a_delta_out_of_order(packets: list[Packet]) -> None:
    def fits(message: Any, _: Packet) -> bool:
        return isinstance(message, Delta) and len({e.addr for e in message.entries}) < len(message.entries)

    planted(packets, fits, lambda message, packet: packet.saying(Delta(message.entries[::-1])))


def capture_a_datagram_over_the_limit(packets: list[Packet]) -> None:
    def change(_: Any, packet: Packet) -> Packet:
        own: Any = f"127.0.0.1:{packet.source}"
        return packet.saying(Delta(tuple(DeltaEntry(own, f"{n}", "x" * 200, n) for n in range(1, 9))))

    planted(packets, lambda message, _: isinstance(message, Delta), change)


def capture_a_foreign_protocol(packets: list[Packet]) -> None:
    packet = packets[len(packets) // 2]
    packets.insert(
        len(packets) // 2, replace(packet, payload=b"\x9a\x3f\x01\x00\x00\x01" + bytes(6) + b"\x07example\x00\x00\x01\x00\x01")
    )


def capture_a_clock_that_jumps(packets: list[Packet]) -> None:
    middle = len(packets) // 2
    packets[middle:] = [replace(packet, time=packet.time - 3600) for packet in packets[middle:]]


def capture_a_number_that_jumps_back(packets: list[Packet]) -> None:
    at, ping = last(packets, "Ping")
    packets[at] = packets[at].saying(replace(ping, incarnation=ping.incarnation._replace(tx=2)))


def capture_an_ack_of_no_ping(packets: list[Packet]) -> None:
    at, ack = last(packets, "Ack")
    packets[at] = packets[at].saying(replace(ack, target_tx=10**6))


def last(packets: list[Packet], kind: str) -> tuple[int, Any]:
    """The last packet of this type, and what it says."""
    return max((number, packet.message) for number, packet in enumerate(packets) if type(packet.message).__name__ == kind)


IN_CAPTURES = [
    ("scuttlebutt", capture_a_version_that_jumps_back, "violates", "OwnVersionGrows", "B-07"),
    ("scuttlebutt", capture_a_delta_out_of_order, "violates", "DeltaOrder", "B-30"),
    ("scuttlebutt", capture_a_datagram_over_the_limit, "violates", "WithinLimit", "B-26"),
    ("scuttlebutt", capture_a_foreign_protocol, "log", "not_a_message", None),
    ("scuttlebutt", capture_a_clock_that_jumps, "log", "ClockJumps", None),
    ("swim", capture_a_number_that_jumps_back, "violates", "CounterGrows", "S-14"),
    ("swim", capture_an_ack_of_no_ping, "violates", "AckOfPing", None),
]


@pytest.mark.parametrize(
    ("recording", "plant", "severity", "name", "clause"),
    IN_CAPTURES,
    ids=lambda value: getattr(value, "__name__", ""),
    indirect=["recording"],
)
def test_a_fault_in_a_capture_is_found(
    plant: Callable[[list[Packet]], None], severity: str, name: str, clause: str | None, recording: Recording, tmp_path: Path
) -> None:
    packets = list(recording.packets)
    plant(packets)

    violations, _ = captured(tmp_path, packets, recording)

    named = [row for row in violations if row["property"] == name]
    assert named
    assert {row["severity"] for row in named} == {severity}
    assert clause is None or all(clause in row["clause"].split(", ") for row in named)
    if severity == "violates":
        (port,) = {after.source for before, after in zip(recording.packets, packets, strict=True) if before != after}
        assert {row["node"] for row in named} == {f"127.0.0.1:{port}"}


def test_a_capture_that_ends_early_is_found(recording: Recording, tmp_path: Path) -> None:
    violations, _ = captured(tmp_path, list(recording.packets), recording, cut=7)

    assert [(row["severity"], row["property"]) for row in violations] == [("log", "truncated_file")]
