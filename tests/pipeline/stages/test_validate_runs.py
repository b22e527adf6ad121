"""The nodes of a run together, instant by instant; and the command."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from tests.pipeline.clusters import judged, lots, place_of, recorded, rows, simulated, validated

from peerproof.cli.main import main
from peerproof.conformance.traces.events import Event
from peerproof.conformance.traces.findings import violation_text
from peerproof.pipeline.judging.again import findings
from peerproof.pipeline.spark.execution import Engine
from peerproof.pipeline.spark.execution import execute as run_stage
from peerproof.pipeline.spark.session import Settings
from peerproof.pipeline.stages.grid import read
from peerproof.pipeline.stages.simulate import simulation
from peerproof.pipeline.stages.validate import Validation
from peerproof.pipeline.storage.batches import Refused, successes
from peerproof.pipeline.storage.tables import VIOLATIONS
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec import scuttlebutt
from peerproof.spec.core import NodeId
from peerproof.spec.properties import Cluster, Property


def test_a_property_that_does_not_hold_of_the_cluster_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of nodes that do what the specification says it is one that the specification does not have: here, an invented one."""

    def holds(cluster: Cluster) -> bool:
        return max((state.store[node].version for node, state in cluster.nodes.items()), default=0) < 3

    invented = Property("Invented", "nobody gets to version 3", ("B-07",), "cluster", holds)
    monkeypatch.setattr(scuttlebutt, "PROPERTIES", (*scuttlebutt.PROPERTIES, invented))
    lines = simulated(nodes=3)

    violations, verdicts = validated(place_of(tmp_path, lots(lines)))

    (row,) = violations
    assert (row["property"], row["severity"], row["node"], row["clause"]) == ("Invented", "violates", "", "B-07")
    updates: Counter[str] = Counter()
    for first in lines:
        updates[first.node] += first.kind == "api"
        if updates[first.node] == 3:  # the version of a node after one of its updates
            break
    assert row["seq"] == first.seq
    assert f"event {first.seq} of {first.node}" in row["message"]
    assert row["replay"].endswith("--run seed-v --complete")
    assert verdicts[""]["verdict"] == "rejected"
    assert {verdicts[f"n{n}:1"]["verdict"] for n in range(3)} == {"accepted"}


def test_what_comes_from_nodes_without_a_log_ends_the_look_at_the_cluster(tmp_path: Path) -> None:
    """They were told different values of one version by somebody else: who is wrong, nobody can say."""
    stranger, owner = NodeId("stranger:1"), NodeId("n0:1")
    digest = scuttlebutt.DigestRequest((scuttlebutt.DigestEntry(owner, 1),))
    deltas = [scuttlebutt.Delta((scuttlebutt.DeltaEntry(owner, "k", value, 1),)) for value in ("red", "green")]
    nodes = [recorded("r", f"n{n}:1", [(stranger, digest), (stranger, deltas[n - 1])]) for n in (1, 2)]

    violations, verdicts = validated(place_of(tmp_path, nodes))

    assert violations == []
    assert verdicts[""]["verdict"] == "undetermined"
    assert "which receives from stranger:1 a message that no log contains" in verdicts[""]["remark"]


def test_a_node_leaves_the_cluster_where_it_diverges(tmp_path: Path) -> None:
    lines = simulated(nodes=3)
    nodes = lots(lines)
    nodes[0][40] = nodes[0][40]._replace(state_hash="0" * 16)

    violations, verdicts = validated(place_of(tmp_path, nodes))

    assert [(row["property"], row["node"]) for row in violations] == [("StateDigest", "n0:1")]
    assert verdicts[""]["verdict"] == "undetermined"
    remark = "receives from n0:1 a message that it may have sent after event 40, from which its state is not known"
    assert remark in verdicts[""]["remark"]
    assert verdicts[""]["judged"] == len(lines) - len(nodes[0]) + 40


def forge_message(events: list[Event]) -> Event:
    """Changes a value in a message that a node receives; returns the event as it was."""
    deltas = ((at, event) for at, event in enumerate(events) if (event.kind, event.msg_type) == ("recv", "delta"))
    at, event = next((at, event) for at, event in deltas if '"value"' in (event.args or ""))
    args = json.loads(event.args or "")
    args["entries"][-1]["value"] = "another"
    events[at] = event._replace(args=json.dumps(args, separators=(",", ":")))
    return event


@pytest.mark.parametrize("is_cut", [False, True], ids=["the sender's log is whole", "it ends before"])
def test_a_message_that_no_node_has_sent_is_a_fault_of_the_log(is_cut: bool, tmp_path: Path) -> None:
    """What the node did then shows nothing; without the sender's log nothing is known of the message."""
    nodes = lots(simulated(nodes=3))
    event = forge_message(nodes[1])
    if is_cut:
        nodes = [[each for each in node if each.node != event.peer or each.t_us < event.t_us] for node in nodes]

    violations, verdicts = validated(place_of(tmp_path, nodes))

    found = [(row["severity"], row["property"]) for row in violations if row["node"] in ("", "n1:1")]
    severity = "violates" if is_cut else "undetermined"
    assert found == [("log", "NeverSent"), (severity, "Effects")]
    assert verdicts["n1:1"]["verdict"] == ("rejected" if is_cut else "undetermined")
    options = Validation(tmp_path, complete=True)
    ((again, rows_again),) = findings(options, "seed-v", "n1:1")
    assert (again.verdict, rows_again[0][VIOLATIONS.schema.names.index("severity")]) == (verdicts["n1:1"]["verdict"], severity)


def test_a_message_that_no_node_has_sent_is_no_excuse_in_another_run(tmp_path: Path) -> None:
    nodes = lots(simulated(nodes=3))
    forge_message(nodes[1])
    alone = [event._replace(run_id="without the others") for event in nodes[1]]

    _, verdicts = judged(place_of(tmp_path, [*nodes, alone]))

    found = {row["run_id"]: row["verdict"] for row in verdicts if row["node"] == "n1:1"}
    assert found == {"seed-v": "undetermined", "without the others": "rejected"}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", RUNTIMES)
def test_simulations_of_every_protocol_are_accepted(protocol: str, tmp_path: Path) -> None:
    """
    Also what nodes did about messages that did not arrive, and after a restart.

    In SWIM an object's members are packed in their order, which the table must keep.
    """
    loss = 0 if RUNTIMES[protocol].is_connected else 0.1
    grid = f"nodes: 4\nrounds: 20\nupdates: 3\nloss: {loss}\ncrash: [null, 2@9]\nrestart: [null, 2@12]\n"
    with Engine(Settings(master="none")) as engine:
        run_stage(engine, tmp_path, simulation(protocol, read(grid), 4, "v"))

    violations, verdicts = judged(tmp_path)

    assert violations == []
    assert {row["verdict"] for row in verdicts if row["way"] == "replay"} == {"accepted"}
    assert {row["verdict"] for row in verdicts if row["way"] == "cluster"} <= {"accepted", "undetermined"}
    assert {row["way"] for row in verdicts} == {"replay", "cluster"}


@pytest.mark.parametrize(("nodes", "every"), [(1, 1), (2, 0)], ids=["one node", "no looks at the cluster"])
def test_there_may_be_no_verdict_on_a_cluster(nodes: int, every: int, tmp_path: Path) -> None:
    _, verdicts = validated(place_of(tmp_path, lots(simulated(nodes=nodes))), every=every)

    assert set(verdicts) == {f"n{number}:1" for number in range(nodes)}


def test_the_command_ends_with_what_it_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = lots(simulated(nodes=2))
    good = place_of(tmp_path / "good", nodes)
    nodes[1][9] = nodes[1][9]._replace(state_hash="0" * 16)
    bad = place_of(tmp_path / "bad", nodes)

    assert main(["pipeline", "validate", "--in", str(good), "--output", str(good), "--master", "none"]) == 0
    shown = capsys.readouterr().out
    assert "nodes: 2 accepted, 0 rejected, 0 undetermined\nchecked: 2 nodes by replay\n" in shown
    assert "runs, all nodes of each together: 1 accepted" in shown
    assert main(["pipeline", "validate", "--in", str(bad), "--output", str(bad), "--master", "none", "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["counts"]["nodes rejected"] == told["counts"]["violations violates"] == 1
    (found,) = told["violations"]
    assert (found["severity"], found["node"], found["seq"], found["actual"]) == ("violates", "n1:1", 9, "0" * 16)
    assert (found["property"], told["further_violations"]) == ("StateDigest", 0)
    assert main(["pipeline", "validate", "--in", str(bad), "--run", "seed-v", "--node", "n1:1", "--format", "json"]) == 1
    (shown,) = map(json.loads, capsys.readouterr().out.splitlines())
    ((again, context),) = ((row, row.pop("context")) for row in shown["violations"])
    assert again == found
    assert [line["seq"] for line in context] == list(range(4, 12))
    monkeypatch.setattr("peerproof.cli.pipeline.validate.MOST_PLAIN", 0)
    assert main(["pipeline", "validate", "--in", str(bad), "--output", str(bad), "--master", "none", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["violations"], told["further_violations"]) == ([], 1)
    assert main(["pipeline", "validate", "--in", str(bad), "--run", "seed-v", "--node", "n0:1"]) == 0
    assert main(["pipeline", "validate", "--in", str(good), "--run", "seed-v"]) == 0
    assert "the cluster in run seed-v: accepted" in capsys.readouterr().out
    assert main(["pipeline", "validate", "--in", str(bad), "--run", "other"]) == 4


def test_the_command_of_a_finding_shows_it_alone_and_the_report_says_why_the_rest_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = lots(simulated(nodes=2))
    bad, late = nodes[0], nodes[1]
    bad[9] = bad[9]._replace(state_hash="0" * 16)
    place = place_of(tmp_path, [bad, late[1:]])

    assert main(["pipeline", "validate", "--in", str(place), "--output", str(place), "--master", "none"]) == 1
    text = capsys.readouterr().out
    reasons = {"before the first start in the log": len(late) - 1, "after a divergence, up to the next start": len(bad) - 10}
    ordered = sorted(reasons.items(), key=lambda item: -item[1])
    shown = [line for line in text.splitlines() if line.startswith("not checked: ")]
    assert shown == [f"not checked: {events:,} events {reason}" for reason, events in ordered]
    finding = text[text.index("VIOLATES") :].partition("\nLOG ")[0]
    assert f'  actual    "{"0" * 16}"\n' in finding
    again = shlex.split(finding.partition("  again: peerproof ")[2].splitlines()[0])
    assert again[-2:] == ["--event", "9"]

    assert main(again) == 1
    alone = capsys.readouterr().out
    assert alone.count("VIOLATES") == 1
    assert "again: " not in alone
    assert main([*again, "--json"]) == 1
    after = "after a divergence, up to the next start"
    assert json.loads(capsys.readouterr().out)["verdict"]["unchecked"] == {after: reasons[after]}
    assert main([*again[:-1], "8"]) == 4
    assert "nothing is found at event 8 of node n0:1" in capsys.readouterr().err


def test_of_several_outcomes_the_closest_is_shown() -> None:
    def outcome(*numbers: int) -> dict[str, object]:
        return {"messages": [{"send": {"to": "a:1", "message": {"numbers": list(numbers)}}}]}

    row = dict.fromkeys(VIOLATIONS.schema.names) | {"severity": "violates", "node": "b:1", "message": "wrong"}
    row |= {"expected": json.dumps([outcome(7, 8, 9), outcome(1, 2, 3)]), "actual": json.dumps(outcome(1, 2, 4))}

    assert violation_text(row).splitlines()[1] == (
        '  expected  {"messages":[{"send":{"to":"a:1","message":{"numbers":[1,2,3]}}}]} (the closest of 2 outcomes)'
    )


@pytest.mark.parametrize(("missing", "said"), [(0, 0), (1, 2), (5, 3)])
def test_the_command_says_why_a_verdict_is_undetermined(
    missing: int, said: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Logs that begin after the start, whose cluster is not looked at either; of many, a few are named."""
    nodes = lots(simulated(nodes=5))
    place = place_of(tmp_path, [*(log[1:] for log in nodes[:missing]), *nodes[missing:]])

    main(["pipeline", "validate", "--in", str(place), "--output", str(place), "--master", "none"])

    shown = capsys.readouterr().out
    assert shown.count("\nUNDETERMINED ") == said
    assert ("\nand " in shown) == (missing > 3)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--in", "x"],
        ["--in", "x", "--node", "n", "--output", "y"],
        ["--in", "x", "--run", "r", "--output", "y"],
        ["--in", "x", "--run", "r", "--event", "3"],
        ["--follow", "x", "--in", "y"],
        ["--follow", ".", "--event", "0"],
        ["--follow", ".", "--node", "n"],
        ["--follow", ".", "--config", '{"nonsense": 1}'],
        ["--in", "x", "--output", "y", "--config", '{"nonsense": 1}'],
    ],
)
def test_a_contradiction_is_told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "validate", *arguments]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_place_without_events_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no committed batch with events"):
        validated(tmp_path)


def test_a_fault_of_the_log_is_said_beside_the_verdict_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line.json() for line in simulated(nodes=1)]
    lines[3], lines[4] = lines[4], lines[3]
    Path("n0.jsonl").write_text("".join(f"{line}\n" for line in lines), "utf-8")

    assert main(["pipeline", "run", "n0.jsonl", "--output", "out", "--master", "none"]) == 1

    shown = capsys.readouterr().out
    assert re.search(r"LOG SwappedLine: node n0:1, event (3, n0\.jsonl:5|4, n0\.jsonl:4): ", shown)
    assert "accepted, but the log has faults; the report: out/report.html" in shown
    assert "exit 1: " in shown
    assert "digest" not in shown


def test_what_was_set_aside_is_told_with_its_number(tmp_path: Path) -> None:
    good = [line.json() for line in simulated(nodes=1)]
    file = tmp_path / "n0.jsonl"
    file.write_text("".join(f"{line}\n" for line in [*good, *["no line"] * 12]), "utf-8")
    place = tmp_path / "out"

    assert main(["pipeline", "ingest", str(file), "--output", str(place), "--master", "none"]) == 0
    assert main(["pipeline", "validate", "--in", str(place), "--output", str(place), "--master", "none"]) == 1

    found = rows(place, VIOLATIONS)
    assert {(row["severity"], row["property"], row["src_file"]) for row in found} == {("log", "not_json", str(file))}
    assert len(found) == 11
    assert found[-1]["message"] == "2 more of this file"
    assert len(successes(place)) == 2
