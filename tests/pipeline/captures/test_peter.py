"""Captures of rings of Peter: Wendy's connections with messages of trees on some of them; what is wrong in one is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types
import pytest
from tests.pipeline.captures.test_wendy import ingested, judged
from tests.pipeline.clusters import simulated
from tests.pipeline.rings import TIMEOUT, Arrival, RingRecording, arrivals, frames, record_trees
from tests.pipeline.stages.test_planted import traced

from peerproof.pipeline.storage.batches import table_files
from peerproof.pipeline.storage.tables import TRACES
from peerproof.spec.peter import MESSAGE, Message, NotifyMessage, PublishMessage, UnsubscribeMessage
from peerproof.spec.peter.model.monitors import RULES
from peerproof.spec.peter.tree import MOST_HOPS

CHURN: dict[str, Any] = {"apart": 2, "churn": 0.04}


def ring(**plan: Any) -> list[Arrival]:
    """What arrives in a simulated ring of seven nodes."""
    return arrivals(simulated(7, 60, "r", "peter", config={"heartbeat": 30_000}, topics=3, **plan), MESSAGE)


@pytest.fixture(scope="module")
def calm() -> list[Arrival]:
    return ring()


@pytest.fixture(scope="module")
def churning() -> list[Arrival]:
    return ring(**CHURN)


def said(arrival: Arrival) -> Message:
    """What it says."""
    return MESSAGE.decode(arrival.payload)


def test_each_message_of_a_tree_is_known_by_its_name_and_its_sender(churning: list[Arrival], tmp_path: Path) -> None:
    done, aside = ingested(tmp_path, frames(churning), protocol="peter")

    assert aside == []
    assert done.counts["messages"] == done.counts["acknowledgements"] == len(churning)
    rows = [row for file in table_files(tmp_path / "out", TRACES) for row in pq.read_table(file).to_pylist()]
    assert {"subscribe", "unsubscribe", "publish", "notify", "node_announcement"} <= {row["msg_type"] for row in rows}
    sent = sorted((row["node"], row["peer"], row["payload"]) for row in rows if row["kind"] == "send")
    assert sent == sorted((arrival.source, arrival.target, arrival.payload.rstrip()) for arrival in churning)


@pytest.mark.parametrize("plan", ["calm", "churning"])
def test_a_ring_is_accepted_by_its_messages(plan: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    connections: list[Arrival] = request.getfixturevalue(plan)

    violations, verdicts = judged(tmp_path, frames(connections), protocol="peter")

    assert violations == []
    assert {(row["way"], row["verdict"]) for row in verdicts} == {("monitor", "accepted")}
    assert sum(row["judged"] for row in verdicts) == 2 * len(connections) > 600


def changed(message: Any, **header: Any) -> Message:
    other: Message = replace(message, header=replace(message.header, **header))
    return other


def passed_on_as_it_came(connections: list[Arrival]) -> list[Arrival]:
    """A node sends the copy on that it has got, as if its parent had sent it. [PD-04]"""
    for number, arrival in enumerate(connections):
        message = said(arrival)
        if isinstance(message, NotifyMessage) and message.header.hop > 1:
            parent = next(
                other
                for a in connections[:number]
                if a.target == arrival.source and isinstance(other := said(a), NotifyMessage | PublishMessage)
            )
            forged = arrival._replace(payload=MESSAGE.encode(changed(message, sender=parent.header.sender)))
            return [*connections[:number], forged, *connections[number + 1 :]]
    raise AssertionError("no message fits")


def counted_twice(connections: list[Arrival]) -> list[Arrival]:
    """A copy counts two hops more than the event that came."""
    number = next(n for n, a in enumerate(connections) if isinstance(said(a), NotifyMessage) and said(a).header.hop > 0)
    hop = said(connections[number]).header.hop
    forged = connections[number]._replace(payload=MESSAGE.encode(changed(said(connections[number]), hop=hop + 1)))
    return [*connections[:number], forged, *connections[number + 1 :]]


def without_end(connections: list[Arrival]) -> list[Arrival]:
    """A copy is copied that 255 nodes have received."""
    number = max(n for n, a in enumerate(connections) if isinstance(said(a), NotifyMessage))
    forged = connections[number]._replace(payload=MESSAGE.encode(changed(said(connections[number]), hop=MOST_HOPS)))
    return [*connections[:number], forged, *connections[number + 1 :]]


def sent_back(connections: list[Arrival]) -> list[Arrival]:
    """A child sends the copy back to the parent that it came from."""
    number, arrival = next((n, a) for n, a in enumerate(connections) if isinstance(said(a), NotifyMessage))
    message = said(arrival)
    child = next(said(a).header.sender for a in connections[:number] if a.source == arrival.target and not said(a).header.hop)
    back = MESSAGE.encode(changed(message, sender=child, hop=message.header.hop + 1))
    return [*connections[: number + 1], Arrival(arrival.time, arrival.target, arrival.source, back), *connections[number + 1 :]]


def unsubscribed_twice(connections: list[Arrival]) -> list[Arrival]:
    """A child unsubscribes where it has already unsubscribed."""
    number = next(n for n, a in enumerate(connections) if isinstance(said(a), UnsubscribeMessage))
    return [*connections[: number + 1], connections[number], *connections[number + 1 :]]


FAULTS = [
    (passed_on_as_it_came, "LastHop", "PA-08"),
    (counted_twice, "CopyHopsCounted", "PA-25"),
    (without_end, "CopiesEnd", "PA-25"),
    (sent_back, "NotBack", "PA-26"),
    (unsubscribed_twice, "UnsubscribedOnce", "PA-10"),
]


@pytest.mark.parametrize(("change", "name", "clause"), FAULTS, ids=[row[1] for row in FAULTS])
def test_a_fault_in_a_capture_is_found(
    change: Callable[[list[Arrival]], list[Arrival]], name: str, clause: str, churning: list[Arrival], tmp_path: Path
) -> None:
    violations, verdicts = judged(tmp_path, frames(change(churning)), protocol="peter")

    named = [row for row in violations if row["property"] == name]
    (severity,) = {"differs" if rule.is_decision else "violates" for rule in RULES if rule.name == name}
    assert {(row["severity"], clause in row["clause"].split(", ")) for row in named} == {(severity, True)}
    faulty = {row["node"] for row in violations}
    assert {row["verdict"] for row in verdicts if row["node"] not in faulty} == {"accepted"}


# Real nodes.


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> RingRecording:
    return record_trees(tmp_path_factory.mktemp("nodes"))


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

    violations, verdicts = judged(tmp_path, recording.packets, protocol="peter", network_timeout=TIMEOUT)

    assert violations == []
    assert {row["node"] for row in verdicts} == {f"127.0.0.1:{port}" for port in recording.ports}
    assert {(row["way"], row["verdict"]) for row in verdicts} == {("monitor", "accepted")}
