"""The check of one node, repeated: the same as the batch says, without the other nodes where they decide nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.pipeline.clusters import Row, lots, place_of, simulated, validated

from peerproof.cli.main import main
from peerproof.conformance.traces.events import Event
from peerproof.pipeline.judging import again
from peerproof.pipeline.stages.validate import Validation
from peerproof.pipeline.storage.tables import VERDICTS, VIOLATIONS
from peerproof.reference.protocols.registry import RUNTIMES


def repeated(place: Path, node: str) -> tuple[list[Row], Row]:
    """Rows of `violations` and the row of `verdicts`, of the check of one node."""
    ((verdict, found),) = again.findings(Validation(place, complete=True), "seed-v", node)
    return [dict(zip(VIOLATIONS.schema.names, row, strict=True)) for row in found], dict(
        zip(VERDICTS.schema.names, verdict, strict=True)
    )


def receipts(events: list[Event]) -> Iterator[int]:
    """The places of the receipts of the second half."""
    return (at for at in range(len(events) // 2, len(events)) if events[at].kind == "recv")


@pytest.mark.parametrize("protocol", RUNTIMES)
def test_a_divergence_at_a_message_that_was_sent_needs_no_other_nodes(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = lots(simulated(protocol=protocol))
    at = next(receipts(nodes[1]))
    nodes[1][at] = nodes[1][at]._replace(state_hash="0" * 16)
    violations, verdicts = validated(place_of(tmp_path, nodes))
    monkeypatch.delattr(again, "_check_together")

    found, verdict = repeated(tmp_path, "n1:1")

    assert found == [row for row in violations if row["node"] == "n1:1"]
    assert [row["severity"] for row in found] == ["violates"]
    assert verdict == verdicts["n1:1"]


@pytest.mark.parametrize("cut", [1.0, 0.4], ids=["the sender's log is whole", "it ends before"])
@pytest.mark.parametrize("protocol", ["scuttlebutt", "swim", "wendy"])
def test_a_divergence_at_a_message_that_was_not_sent_is_as_in_the_batch(protocol: str, cut: float, tmp_path: Path) -> None:
    nodes = lots(simulated(protocol=protocol))
    forged = receive_another_message(nodes[1])
    nodes = [node if node is nodes[1] else node[: int(len(node) * cut)] for node in nodes]
    violations, verdicts = validated(place_of(tmp_path, nodes))

    found, verdict = repeated(tmp_path, "n1:1")

    assert [row["seq"] for row in found] == [forged]
    assert found == [row for row in violations if row["node"] == "n1:1"]
    assert verdict == verdicts["n1:1"]


def receive_another_message(events: list[Event]) -> int:
    """Lets a node receive, instead of a message, an earlier one of another kind; returns the place."""
    kinds = [event.msg_type if event.kind == "recv" else None for event in events]
    at, other = next((at, kinds.index(kind)) for at in receipts(events) for kind in kinds[:at] if kind not in (None, kinds[at]))
    events[at] = events[at]._replace(args=events[other].args, msg_type=kinds[other])
    return at


def test_the_command_shows_its_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peerproof.cli.ticker.LOG_SECONDS", 0.0)
    nodes = lots(simulated())
    place = place_of(tmp_path, nodes)

    assert main(["pipeline", "validate", "--in", str(place), "--run", "seed-v"]) == 0

    events = sum(map(len, nodes))
    shown = capsys.readouterr().err.splitlines()
    assert f"{events:,} of {events:,} events: nodes" in shown
    assert f"{events:,} of {events:,} events: all nodes together" in shown
