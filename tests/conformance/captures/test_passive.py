"""Captures judged in one process: what contradicts the rules is found, and nobody is blamed for what was not captured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import Capture
from tests.support.captures import ROUND, A, B, capture, entry, pair
from tests.support.light_install import run_without_extras

from peerproof.cli.main import main
from peerproof.conformance.captures.passive import LOT
from peerproof.spec import swim

#: A says less of itself than before, as if it had restarted.
BACK = (A, B, b"\x01" + entry(A, 0))


#: A sends its pairs in the wrong order.
WRONG = (A, B, b"\x03" + pair(A, "l", 2) + pair(A, "k", 1))

#: A asks B for pairs of A, which only a decision forbids.
OWN = ((B, A, b"\x01" + entry(A, 2)), (A, B, b"\x03"), (A, B, b"\x02" + entry(A, 1)))


def judged(path: Path, out: Path, *arguments: str, protocol: str = "scuttlebutt") -> tuple[int, dict[str, Any]]:
    """The exit code, and the report."""
    report = out / "report.json"
    code = main(["run", "--pcap", str(path), protocol, "--format", "json", "--output", str(report), *arguments])
    return code, json.loads(report.read_text())


def test_a_round_contradicts_nothing(tmp_path: Path) -> None:
    code, report = judged(capture(tmp_path / "c.pcapng", *ROUND), tmp_path)

    assert code == 0
    assert [(node["node"], node["verdict"], node["judged"]) for node in report["nodes"]] == [
        (A, "accepted", 4),
        (B, "accepted", 4),
    ]
    assert (report["packets"], report["messages"], report["set_aside"]) == (4, 4, {})


def test_the_node_whose_message_contradicts_a_rule_is_rejected_and_no_other(tmp_path: Path) -> None:
    code, report = judged(capture(tmp_path / "c.pcapng", *ROUND, WRONG), tmp_path)
    first, second = report["nodes"]

    assert code == 1
    assert (first["verdict"], second["verdict"]) == ("rejected", "accepted")
    assert first["clauses"] == ["B-30"]
    assert first["first"]["property"] == "DeltaOrder"
    assert first["first"]["seq"] == 4


def test_a_capture_of_another_protocol_is_answered_with_its_ports(tmp_path: Path, capsys: Capture) -> None:
    path = capture(tmp_path / "c.pcapng", (A, B, b"?"))

    assert main(["run", "--pcap", str(path), "scuttlebutt"]) == 4

    out, err = capsys.readouterr()
    assert "0 nodes" not in out
    assert "has no message of scuttlebutt; the packets had the ports " in err
    assert all(address.rpartition(":")[2] in err for address in (A, B))


ONE, OTHER = (swim.Uuid(f"00000000-0000-0000-0000-00000000000{name}") for name in "ab")

#: Four pings of A and B's acks; the third ping is not in the capture.
LACKS_A_PING = [
    (source, target, swim.MESSAGE.encode(message))
    for number in range(1, 5)
    for source, target, message in (
        (A, B, swim.Ping(ONE, swim.Incarnation(0, number), OTHER)),
        (B, A, swim.Ack(OTHER, swim.Incarnation(0, number), ONE, number)),
    )
    if (source, number) != (A, 3)
]


@pytest.mark.parametrize(
    ("options", "code", "verdict", "severity"),
    [([], 0, "undetermined", "undetermined"), (["--complete"], 1, "rejected", "violates")],
)
def test_what_a_missing_packet_explains_is_a_fault_only_if_none_is_missing(
    options: list[str], code: int, verdict: str, severity: str, tmp_path: Path
) -> None:
    path = capture(tmp_path / "c.pcapng", *LACKS_A_PING)
    found, report = judged(path, tmp_path, *options, protocol="swim")

    assert found == code
    assert [node["verdict"] for node in report["nodes"]] == ["accepted", verdict]
    assert [(row["severity"], row["property"]) for row in report["nodes"][1]["findings"]] == [(severity, "AckOfPing")]


def test_a_node_that_has_restarted_is_not_accused(tmp_path: Path) -> None:
    code, report = judged(capture(tmp_path / "c.pcapng", *ROUND, BACK, *ROUND), tmp_path)
    first, second = report["nodes"]

    assert (code, first["verdict"], second["verdict"]) == (0, "accepted", "accepted")
    assert first["remark"] == "event 4 begins another life of the node, which has lost its state"
    assert "remark" not in second


def test_no_finding_of_a_rule_hides_another_rule(tmp_path: Path) -> None:
    """However often the first one comes; of each the number is told, and memory holds the first few only."""
    _, report = judged(capture(tmp_path / "c.pcapng", *ROUND, *OWN * 50, WRONG), tmp_path)
    findings = [(found["severity"], found["property"], found["times"]) for found in report["nodes"][0]["findings"]]

    assert findings == [("violates", "DeltaOrder", 1), ("differs", "ResponseNotOfOneself", 50)]


@pytest.mark.parametrize(
    ("decisions", "code", "verdict", "differs"),
    [("report", 0, "differs", ["BA-16"]), ("strict", 1, "differs", ["BA-16"]), ("ignore", 0, "accepted", [])],
)
def test_what_only_a_decision_demands_differs(
    decisions: str, code: int, verdict: str, differs: list[str], tmp_path: Path
) -> None:
    path = capture(tmp_path / "c.pcapng", *ROUND, *OWN)
    ended, report = judged(path, tmp_path, "--decisions", decisions)
    node = report["nodes"][0]

    assert (ended, node["verdict"], node["clauses"], node["differs"]) == (code, verdict, [], differs)


def test_what_is_no_message_is_set_aside_and_counted(tmp_path: Path, capsys: Capture) -> None:
    path = capture(tmp_path / "c.pcapng", *ROUND, (A, B, b"\x09"))

    assert main(["run", "--pcap", str(path), "scuttlebutt"]) == 0
    told = capsys.readouterr().out
    assert "set aside: 1 not_a_message" in told
    assert "packet 5" in told
    assert "2 nodes: 2 accepted" in told


def test_a_capture_without_messages_judges_nobody(tmp_path: Path) -> None:
    code, report = judged(capture(tmp_path / "c.pcapng", *ROUND), tmp_path, "--port", "9")

    assert code == 4
    assert (report["nodes"], report["left_out"]) == ([], 4)


@pytest.mark.slow
@pytest.mark.parametrize("more", [0, 10])
def test_at_least_as_many_messages_as_are_judged_at_once(more: int, tmp_path: Path) -> None:
    many = [(A, B, b"\x01" + entry(A, version)) for version in range(1, LOT + more)]
    code, report = judged(capture(tmp_path / "c.pcapng", *many, WRONG), tmp_path)

    assert code == 1
    assert [node["judged"] for node in report["nodes"]] == [LOT + more] * 2


def test_a_limit_of_the_configuration_is_held(tmp_path: Path) -> None:
    long = (A, B, b"\x01" + entry(A, 1) + entry(B, 0))
    path = capture(tmp_path / "c.pcapng", long)

    assert judged(path, tmp_path)[0] == 0
    assert judged(path, tmp_path, "--config", '{"max_payload": 30}')[0] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--pcap", __file__, "scuttlebutt"], "neither pcap nor pcapng"),
        (["--pcap", "nowhere.pcap", "scuttlebutt"], "cannot read nowhere.pcap"),
        (["--pcap", __file__], "--pcap needs the protocol of the capture"),
        (["--pcap", __file__, "scuttlebutt", "--format", "junit"], "has the formats text and json"),
        (["--pcap", __file__, "scuttlebutt", "-k", "digest"], "--select cannot be combined with --pcap"),
        (["--pcap", __file__, "scuttlebutt", "--config", "[]"], "expected an object"),
        (["--pcap", __file__, "scuttlebutt", "--config", '{"no": 1}'], "--config"),
    ],
)
def test_what_cannot_be_judged_is_refused(arguments: list[str], said: str, capsys: Capture) -> None:
    assert main(["run", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_capture_is_judged_without_the_packages_of_any_extra(tmp_path: Path) -> None:
    path = capture(tmp_path / "c.pcapng", *ROUND, WRONG)

    done = run_without_extras("run", "--pcap", str(path), "scuttlebutt")

    assert (done.returncode, done.stderr) == (1, "")
    assert "VIOLATES DeltaOrder [B-30]" in done.stdout
    assert "2 nodes: 1 accepted, 1 rejected" in done.stdout
