"""Real nodes and their real traffic validate clean; what is planted in either is found, and called by its name."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.pipeline.clusters import Row, ingested, judged, traced
from tests.pipeline.recorded import Packet, Recording, record, write_capture

from peerproof.cli.main import main
from peerproof.conformance.traces.findings import violation_text
from peerproof.spec.scuttlebutt import Delta
from peerproof.spec.swim import Ping

pytestmark = pytest.mark.slow

Lines = list[str]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Recording]:
    """Records the nodes of a protocol, once."""
    return cache(lambda protocol: record(tmp_path_factory.mktemp("nodes"), protocol))


@pytest.fixture
def recording(request: pytest.FixtureRequest, recordings: Callable[[str], Recording]) -> Recording:
    return recordings(getattr(request, "param", "scuttlebutt"))


def captured(folder: Path, packets: list[Packet], recording: Recording) -> tuple[list[Row], list[Row]]:
    """What is found in a capture with these packets."""
    folder.mkdir(exist_ok=True)
    path = folder / "loopback.pcap"
    write_capture(path, packets)
    ingested(folder / "out", [path], "pcap", protocol=packets[0].protocol, ports=recording.ports)
    return judged(folder / "out")


OF_BOTH = pytest.mark.parametrize("recording", ["scuttlebutt", "swim"], indirect=True)


@OF_BOTH
def test_traces_and_captures_of_real_nodes_are_accepted(recording: Recording, tmp_path: Path) -> None:
    violations, verdicts = traced(tmp_path / "traced", [list(lines) for lines in recording.traces])

    assert violations == []
    assert [(row["way"], row["verdict"]) for row in verdicts] == [("replay", "accepted")] * 3 + [("cluster", "accepted")]
    assert sum(row["judged"] for row in verdicts[:3]) == sum(map(len, recording.traces)) == verdicts[3]["judged"]

    violations, verdicts = captured(tmp_path / "captured", list(recording.packets), recording)

    assert violations == []
    assert [(row["way"], row["verdict"]) for row in verdicts] == [("monitor", "accepted")] * 3
    assert sum(row["judged"] for row in verdicts) == 2 * len(recording.packets) > 100


@pytest.mark.minute
@pytest.mark.waits
@pytest.mark.parametrize("protocol", ["scuttlebutt", "swim"])
def test_a_minute_of_real_nodes_is_accepted_as_traces_and_as_a_capture(protocol: str, tmp_path: Path) -> None:
    recording = record(tmp_path, protocol, seconds=60, interval=200)

    for violations, verdicts in (
        traced(tmp_path / "traced", [list(lines) for lines in recording.traces]),
        captured(tmp_path / "captured", list(recording.packets), recording),
    ):
        assert violations == []
        assert {row["verdict"] for row in verdicts} == {"accepted"}


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


def plant_a_wrong_state_digest(lines: Lines) -> int:
    return changed(lines, bool, lambda line: line.update(state="0123456789abcdef"))


def plant_a_clock_that_jumps_back(lines: Lines) -> int:
    return changed(lines, lambda line: line["kind"] == "api", lambda line: line.update(t_us=0))


IN_TRACES = [
    (plant_a_version_that_jumps_back, "violates", "OwnVersionGrows", "B-07"),
    (plant_a_wrong_state_digest, "violates", "StateDigest", None),
    (plant_a_clock_that_jumps_back, "log", "ClockJumps", None),
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
    assert violation_text(names["not_json"]).count("node0.jsonl") == 1
    assert json.loads(traces[0][0])["node"] in names["NeverSent"]["message"]


def test_the_command_of_a_violation_shows_it_again(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = [list(lines) for lines in recording.traces]
    plant_a_wrong_state_digest(traces[2])
    violations, _ = traced(tmp_path, traces)
    (found,) = (row for row in violations if row["property"] == "StateDigest")
    program, *arguments = shlex.split(found["replay"])
    assert program == "peerproof"

    monkeypatch.chdir(tmp_path)

    assert main(arguments) == 1

    shown = capsys.readouterr().out
    assert "VIOLATES StateDigest" in shown
    assert f"event {found['seq']}" in shown
    assert '"0123456789abcdef"' in shown


# Faults in a capture. Each takes the packets and plants its fault.


def capture_a_delta_out_of_order(packets: list[Packet]) -> None:
    at, delta = max(
        (number, packet.message)
        for number, packet in enumerate(packets)
        if isinstance(packet.message, Delta)
        and len({entry.addr for entry in packet.message.entries}) < len(packet.message.entries)
    )
    packets[at] = packets[at].saying(Delta(delta.entries[::-1]))


def capture_a_clock_that_jumps(packets: list[Packet]) -> None:
    middle = len(packets) // 2
    packets[middle:] = [replace(packet, time=packet.time - 3600) for packet in packets[middle:]]


def capture_a_number_that_jumps_back(packets: list[Packet]) -> None:
    at, ping = max((number, packet.message) for number, packet in enumerate(packets) if isinstance(packet.message, Ping))
    packets[at] = packets[at].saying(replace(ping, incarnation=ping.incarnation._replace(tx=2)))


IN_CAPTURES = [
    ("scuttlebutt", capture_a_delta_out_of_order, "violates", "DeltaOrder", "B-30"),
    ("scuttlebutt", capture_a_clock_that_jumps, "log", "ClockJumps", None),
    ("swim", capture_a_number_that_jumps_back, "violates", "CounterGrows", "S-14"),
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
