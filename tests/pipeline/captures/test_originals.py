"""
Captures of clusters of the original implementations and of our nodes: the originals are told apart, by the clauses that they
violate or the decisions that they differ from, and ours are accepted, also after a restart.

The captures lie beside the repository, in ../shared/data/captures. Without them the tests here are skipped, with that reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from tests.pipeline.clusters import ingested, judged
from tests.pipeline.silences import silences

from peerproof.conformance.captures import CaptureVerdict, check_capture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAPTURES = Path(__file__).parents[4] / "shared/data/captures"

pytestmark = pytest.mark.skipif(
    not CAPTURES.is_dir(), reason=f"the captures of the originals are not in {CAPTURES}: nothing is shown of them here"
)


class Expected(NamedTuple):
    """What is found of the nodes of a capture: by port, the names of the rules that violate, and of those that differ."""

    protocol: str
    config: Mapping[str, Any]
    originals: Mapping[int, tuple[set[str], set[str]]]
    ours: tuple[int, ...]
    restarted: tuple[int, ...] = ()


BUT_OURS = {"ResponseNotOfOneself", "ResponseIsOwn"}  # decisions that every original reads in another way
RESPONSES = {"ResponseAfterDelta", "ResponseIsBehind"}
LISTS = {*RESPONSES, "ListsKnown"}
SIDES = {"LeftLeavesFirst"}
NOTHING: set[str] = set()

SMALL = {"max_payload": 512}
SLOW = {"network_timeout": 2000}

EXPECTED = {
    "scuttlebutt-bd63606-mixed": Expected(
        "scuttlebutt",
        SMALL,
        {7101: (RESPONSES, BUT_OURS), 7102: (RESPONSES, {*BUT_OURS, "ResponseInOrder"}), 7103: (RESPONSES, BUT_OURS)},
        (7201, 7202, 7203),
        (7102, 7202),
    ),
    "scuttlebutt-c3d0bba-mixed": Expected(
        "scuttlebutt",
        SMALL,
        {7101: (LISTS, BUT_OURS), 7102: (LISTS, {*BUT_OURS, "ResponseInOrder"}), 7103: (LISTS, BUT_OURS)},
        (7201, 7202, 7203),
        (7102, 7202),
    ),
    "scuttlebutt-bd63606-oversize-and-kill": Expected(
        "scuttlebutt", SMALL, {7601: ({*RESPONSES, "WithinLimit"}, BUT_OURS), 7602: ({"ResponseAfterDelta"}, BUT_OURS)}, ()
    ),
    "wendy-mixed-original-first": Expected("wendy", SLOW, {7301: ({"NobodyTwice"}, SIDES), 7303: (NOTHING, SIDES)}, (7302, 7304)),
    "wendy-mixed-ours-first": Expected(
        "wendy", SLOW, {7302: ({"NobodyTwice"}, SIDES), 7304: ({"NobodyTwice"}, SIDES)}, (7301, 7303)
    ),
    "wendy-original-storm": Expected(
        "wendy",
        {"network_timeout": 1000},
        {
            7501: (NOTHING, SIDES),
            7502: (NOTHING, SIDES),
            7503: ({"NobodyTwice"}, SIDES),
            7504: ({"VersionsAreKept"}, SIDES),
        },
        (),
    ),
}


def path_of(name: str) -> Path:
    return CAPTURES / f"{name}.pcap.gz"


def test_every_capture_is_in_the_table() -> None:
    assert {path.name.removesuffix(".pcap.gz") for path in CAPTURES.glob("*.pcap.gz")} == set(EXPECTED)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_originals_are_found_and_our_nodes_are_accepted(name: str) -> None:
    expected = EXPECTED[name]
    passive, verdict = check_capture(path_of(name), expected.protocol, (), expected.config, is_complete=True)
    nodes = {int(node.verdict.node.rpartition(":")[2]): node for node in passive.nodes}

    assert verdict is CaptureVerdict.REJECTED
    assert set(nodes) == {*expected.originals, *expected.ours}
    for port, wanted in expected.originals.items():
        rules = nodes[port].rules
        found = tuple({rule.rule for rule in rules if rule.severity == severity} for severity in ("violates", "differs"))
        assert (port, found) == (port, wanted)
        assert (port, nodes[port].verdict.verdict) == (port, "rejected" if wanted[0] else "differs")
    assert {port: (nodes[port].verdict.verdict, nodes[port].rules) for port in expected.ours} == {
        port: ("accepted", []) for port in expected.ours
    }
    assert tuple(sorted(port for port, node in nodes.items() if node.verdict.remark)) == expected.restarted


def in_one_process(name: str) -> tuple[dict[str, str], Counter[tuple[str, ...]]]:
    """The verdict of each node, and how often it breaks each rule."""
    expected = EXPECTED[name]
    passive, _ = check_capture(path_of(name), expected.protocol, (), expected.config, is_complete=True)
    counts: Counter[tuple[str, ...]] = Counter()
    for node in passive.nodes:
        for rule in node.rules:
            counts[node.verdict.node, rule.severity, str(rule.rule), rule.clauses] += rule.times
    return {node.verdict.node: node.verdict.verdict for node in passive.nodes}, counts


def by_the_pipeline(name: str, out: Path, spark: SparkSession | None = None) -> tuple[dict[str, str], Counter[tuple[str, ...]]]:
    """The same from the tables of `validate`; what was no message is of no node."""
    expected = EXPECTED[name]
    ingested(out, [path_of(name)], "pcap", protocol=expected.protocol, spark=spark)
    violations, verdicts = judged(out, config=dict(expected.config), spark=spark)
    counts: Counter[tuple[str, ...]] = Counter()
    for row in violations:
        if row["node"]:
            counts[row["node"], row["severity"], row["property"], row["clause"] or ""] += row["times"]
    return {row["node"]: row["verdict"] for row in verdicts if row["node"]}, counts


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_the_pipeline_finds_the_same(name: str, tmp_path: Path) -> None:
    assert by_the_pipeline(name, tmp_path) == in_one_process(name)


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("name", ["scuttlebutt-bd63606-oversize-and-kill", "wendy-mixed-original-first"])
def test_spark_finds_the_same(name: str, spark: SparkSession, tmp_path: Path) -> None:
    assert by_the_pipeline(name, tmp_path, spark) == in_one_process(name)


def test_statuses_follow_from_the_deltas_that_originals_do_not_send() -> None:
    """As docs/explanation/mixed-clusters.md says; 7102 is dead from 39 to 54 s, 7202 from 69 to 84."""
    found = {(one.node[-4:], one.peer[-4:]): one for one in silences(path_of("scuttlebutt-bd63606-mixed"), (7201, 7202, 7203))}
    of_originals = [one.deltas for (_, peer), one in found.items() if peer[:2] == "71"]
    of_ours = [one.deltas for (_, peer), one in found.items() if peer[:2] == "72"]

    assert max(of_originals) <= 7
    assert min(of_ours) >= 38
    assert all(not one.down for (_, peer), one in found.items() if peer[:2] == "72")
    assert [[round(at) for at in span] for span in found["7202", "7103"].down] == [[38, 83]]  # alive all the time
    assert (found["7201", "7102"].down, found["7203", "7102"].down) == ((), ())
