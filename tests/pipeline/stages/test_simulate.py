"""The stage simulate: what a grid says, and that the same arguments give the same rows, however they are made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types
import pytest
from tests.pipeline.conftest import ran

from peerproof.cli.main import main
from peerproof.conformance.traces.events import Event, line_of
from peerproof.pipeline.spark.execution import Engine, execute
from peerproof.pipeline.spark.session import Settings
from peerproof.pipeline.stages import grid
from peerproof.pipeline.stages import simulate as stage
from peerproof.pipeline.stages.grid import DEFAULTS, BadGrid, campaign, read
from peerproof.pipeline.stages.simulate import simulation
from peerproof.pipeline.storage import sorting
from peerproof.pipeline.storage.arrow_rows import events
from peerproof.pipeline.storage.batches import successes, table_files
from peerproof.pipeline.storage.sorting import ByNode
from peerproof.pipeline.storage.tables import RUNS, TRACES
from peerproof.reference.protocols.registry import RUNTIMES
from peerproof.spec import scuttlebutt
from peerproof.spec.traces.trace import parse

GRID = "nodes: [2, 3]\nrounds: 6\nloss: [0, 0.2]\n"


def simulated(place: Path, runs: int = 4, points: str = GRID, spark: Any = None) -> dict[str, Any]:
    """The tables' rows and digests."""
    with Engine(Settings(master="none"), spark=spark) as engine:
        told = execute(engine, place, simulation("scuttlebutt", read(points), runs, "0")).success.told
    tables: dict[str, Any] = {name: (table["rows"], table["digest"]) for name, table in told["tables"].items()}
    return tables


def rows_of(place: Path) -> list[Event]:
    """All events of a place, as its files have them."""
    batches = (batch for file in table_files(place, TRACES) for batch in pq.ParquetFile(file).iter_batches())
    return [event for batch in batches for event in events(batch)]


def test_a_grid_is_every_combination_in_its_order() -> None:
    points = read("nodes: [2, 3]\nconfig: {interval: [500, 1000], detector: null}\nloss: 0.5\n")

    assert [(point["nodes"], point["config"]["interval"]) for point in points] == [(2, 500), (2, 1000), (3, 500), (3, 1000)]
    assert all(point["loss"] == 0.5 and point["config"]["detector"] is None for point in points)
    assert read("") == [dict(DEFAULTS)]


def test_a_list_in_a_list_is_one_value() -> None:
    points = read("config: {cluster_events: [[dead, suspicious], [dead]]}\n")

    assert [point["config"]["cluster_events"] for point in points] == [["dead", "suspicious"], ["dead"]]


def test_a_point_is_a_campaign() -> None:
    (point,) = read("nodes: 4\ndelay: 5-9\npartition: 2-3\ncrash: 1@2  3@4\nrestart: 1@5\n")

    plan = campaign(RUNTIMES["scuttlebutt"], point, "s")

    assert (plan.faults.least_delay, plan.faults.most_delay, plan.partition) == (5, 9, (2, 3))
    assert (plan.crashes, plan.restarts) == (((1, 2), (3, 4)), ((1, 5),))


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ("lost: 1", "no parameter 'lost' (did you mean 'loss'?); there are nodes,"),
        ("nodes: 0", "nodes: expected a number, at least 1, found 0"),
        ("nodes: true", "nodes: expected a number"),
        ("loss: 1.5", "loss: expected a chance from 0 to 1, found 1.5"),
        ("loss: .nan", "loss: expected a chance"),
        ("delay: 10", "delay: expected milliseconds, as in 1-10, found 10"),
        ("crash: 2", "crash: expected a node and a round, as in 2@10, found 2"),
        ("config: 3", "config: expected a mapping, found 3"),
        ("- 1", "expected a mapping with some of nodes,"),
        ("nodes: [", "not YAML:"),
        ("delay: 10-1", "10-1: the second number must not be less than the first"),
        ("crash: 7@1", "no node 7"),
        ("config: {intervall: 1}", "intervall"),
        ("config: {interval: 0}", "interval"),
        ("nodes: [2, 3]", "1 runs cannot cover all 2 configurations of the grid: give --runs 2"),
    ],
)
def test_a_grid_that_cannot_be_tried_is_refused_in_words(points: str, said: str) -> None:
    with pytest.raises(BadGrid) as refused:
        simulation("scuttlebutt", read(points), 1, "0")

    assert said in str(refused.value)


def test_too_many_combinations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "MOST_POINTS", 5)

    with pytest.raises(BadGrid, match="more than 5 combinations"):
        read("nodes: [1, 2, 3]\nrounds: [1, 2]")


def test_a_run_is_what_the_command_simulate_writes(tmp_path: Path) -> None:
    simulated(tmp_path / "out", runs=2, points="nodes: 3\nrounds: 8\nloss: 0.2\n")
    options = ["--nodes", "3", "--rounds", "8", "--loss", "0.2", "--seed", "0-000001"]
    assert main(["node", "simulate", "scuttlebutt", *options, "--trace", str(tmp_path / "trace.jsonl")]) == 0
    written = [parse(line) for line in (tmp_path / "trace.jsonl").read_text(encoding="utf-8").splitlines()]

    rows = [event for event in rows_of(tmp_path / "out") if event.run_id == "seed-0-000001"]

    assert [line_of(row) for row in rows] == sorted(written, key=lambda line: (line.node, line.seq))
    for row in rows:
        if row.kind == "recv":
            message = scuttlebutt.MESSAGE.value(json.loads(row.args or ""))
            assert row.bytes == len(scuttlebutt.MESSAGE.encode(message))
        else:
            assert row.bytes is None


def test_rows_are_sorted_and_runs_tell_of_them(tmp_path: Path) -> None:
    simulated(tmp_path)

    rows = rows_of(tmp_path)
    keys = [(row.run_id, row.node, row.seq) for row in rows]
    assert keys == sorted(set(keys))
    runs = [row for file in table_files(tmp_path, RUNS) for row in pq.read_table(file).to_pylist()]
    assert [run["run_id"] for run in runs] == [f"seed-0-00000{number}" for number in range(4)]
    assert [json.loads(run["config_json"])["loss"] for run in runs] == [0.0, 0.2, 0.0, 0.2]
    assert sum(run["n_events"] for run in runs) == len(rows)
    assert [run["n_nodes"] for run in runs] == [2, 2, 3, 3]
    assert {run["kind"] for run in runs} == {"simulated"}


def test_the_same_rows_come_of_units_cut_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulated(tmp_path / "one")
    monkeypatch.setattr(stage, "UNIT", 1)

    assert simulated(tmp_path / "many") == whole
    assert (successes(tmp_path / "one")[0].told["units"], successes(tmp_path / "many")[0].told["units"]) == (1, 4)
    assert successes(tmp_path / "one")[0].batch_id == successes(tmp_path / "many")[0].batch_id


def test_a_run_that_exceeds_memory_gives_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = simulated(tmp_path / "held")
    monkeypatch.setattr(sorting.ByNode.__init__, "__defaults__", (7,))

    assert simulated(tmp_path / "spilled") == held
    assert rows_of(tmp_path / "spilled") == rows_of(tmp_path / "held")
    assert max(row_groups(tmp_path / "held")) > 14 >= max(row_groups(tmp_path / "spilled"))


def row_groups(place: Path) -> list[int]:
    """How many rows each row group has."""
    metadata = [pq.read_metadata(file) for file in table_files(place, TRACES)]
    return [data.row_group(number).num_rows for data in metadata for number in range(data.num_row_groups)]


def test_what_was_spilled_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    event = Event("r", "p", "i", "n", 0, 0, "start", *[None] * 9)

    with ByNode(kept=2) as by_node:
        for number in range(5):
            by_node.add(event._replace(seq=number))
        assert len(list(tmp_path.rglob("*.arrow"))) == 2
        assert [row.seq for batch in by_node.batches() for row in events(batch)] == [0, 1, 2, 3, 4]

    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_hash_seed_changes_no_byte(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(GRID, encoding="utf-8")
    written = []
    for seed in ("1", "2"):
        out = tmp_path / seed
        options: list[str | Path] = ["--runs", "4", "--grid", tmp_path / "grid.yaml", "--output", out, "--master", "none"]
        done = ran(["simulate", "scuttlebutt", *options], {"PYTHONHASHSEED": seed})
        assert done.returncode == 0, done.stderr
        written.append({path.name: path.read_bytes() for path in table_files(out, TRACES) + table_files(out, RUNS)})

    assert written[0] == written[1]


@pytest.mark.slow
def test_spark_gives_the_same_rows(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "UNIT", 1)

    assert simulated(tmp_path / "spark", spark=spark) == simulated(tmp_path / "one")
