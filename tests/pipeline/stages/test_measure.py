"""The stage measure: sums that can be taken another way, the same rows however they are made, and after kills."""

from __future__ import annotations

import csv
import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.clusters import rows
from tests.pipeline.conftest import ran

from peerproof.cli.main import main
from peerproof.pipeline.measures.node_figures import SIGHTINGS
from peerproof.pipeline.spark.execution import Engine, execute
from peerproof.pipeline.spark.session import Settings
from peerproof.pipeline.stages import measure as stage
from peerproof.pipeline.stages.grid import read
from peerproof.pipeline.stages.simulate import simulation
from peerproof.pipeline.storage.batches import Refused, successes, table_files
from peerproof.pipeline.storage.failpoints import VARIABLE
from peerproof.pipeline.storage.tables import METRICS, SUMMARIES, TRACES, Column, Type
from peerproof.spec import scuttlebutt

ONE_PROCESS = Settings(master="none")

GRID = "nodes: [2, 4]\nrounds: 8\nloss: [0, 0.2]\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four simulated runs, measured."""
    out = tmp_path_factory.mktemp("measured") / "out"
    with Engine(ONE_PROCESS) as engine:
        execute(engine, out, simulation("scuttlebutt", read(GRID), 4, "0"))
    measured(out)
    return out


def measured(out: Path, to: Path | None = None) -> dict[str, str]:
    """Measure; the digests."""
    with Engine(ONE_PROCESS) as engine:
        success = stage.execute(engine, to or out, stage.sources(out, shared_clock=False), lambda _: None).success
    return {table.name: success.digest(table) for table in (METRICS, SUMMARIES)}


def test_sums_are_those_of_the_traces_and_every_update_has_a_coverage(place: Path) -> None:
    """Of each run and node: what was sent and received, counted in another way."""
    expected: Counter[tuple[str, str, str]] = Counter()
    for row in rows(place, TRACES):
        sent = [effect["send"] for effect in json.loads(row["effects"]) if "send" in effect]
        key = row["run_id"], row["node"]
        expected[*key, "messages_sent"] += len(sent)
        expected[*key, "bytes_sent"] += sum(
            len(scuttlebutt.MESSAGE.encode(scuttlebutt.MESSAGE.value(e["message"]))) for e in sent
        )
        expected[*key, "messages_received"] += row["kind"] == "recv"
        expected[*key, "bytes_received"] += row["bytes"] or 0

    found: Counter[tuple[str, str, str]] = Counter()
    for row in rows(place, METRICS):
        if (row["run_id"], row["node"], row["metric"]) in expected:
            found[row["run_id"], row["node"], row["metric"]] += int(row["value"])

    assert found == expected
    assert found.total() > 0
    updates = sum(row["kind"] == "api" and row["refused"] is None for row in rows(place, TRACES))
    assert updates == sum(row["metric"] == "coverage" for row in rows(place, METRICS))


def test_summaries_are_of_each_configuration(place: Path) -> None:
    summaries = rows(place, SUMMARIES)

    configurations = {(config["nodes"], config["loss"]) for row in summaries for config in [json.loads(row["config_json"])]}
    assert configurations == {(2, 0.0), (2, 0.2), (4, 0.0), (4, 0.2)}
    assert sum(row["count"] for row in summaries) == len(rows(place, METRICS))
    assert all(row["least"] <= row["p50"] <= row["p90"] <= row["p99"] <= row["most"] for row in summaries)
    assert all(row["least"] <= row["mean"] <= row["most"] for row in summaries)


@pytest.mark.parametrize(("name", "table"), [("metrics.csv", METRICS), ("summaries.csv", SUMMARIES)])
def test_the_csv_files_hold_the_same_rows(place: Path, name: str, table: Any) -> None:
    (folder,) = place.glob("measure-*")
    with (folder / name).open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))

    def value(column: Column, text: str) -> Any:
        return None if text == "" and column.nullable else float(text) if column.type is not Type.TEXT else text

    assert [{column.name: value(column, row[column.name]) for column in table.columns} for row in found] == rows(place, table)


def test_the_same_rows_come_of_groups_spread_otherwise(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "TOGETHER", 20)
    before = successes(place)
    (whole,) = [success for success in before if success.told["stage"] == "measure"]

    assert measured(place, tmp_path) == {table.name: whole.digest(table) for table in (METRICS, SUMMARIES)}
    assert successes(tmp_path)[0].told["units"] > whole.told["units"]


def test_what_was_measured_is_not_measured_again_and_other_arguments_are_refused(place: Path) -> None:
    """The clocks of simulated nodes agree in any case; a batch of logs beside them would make it another measure."""
    with Engine(ONE_PROCESS) as engine:
        (source,) = stage.sources(place, shared_clock=False)
        assert stage.execute(engine, place, [source], lambda _: None).done is None
        with pytest.raises(Refused, match="shared_clock"):
            stage.execute(engine, place, [source._replace(shared_clock=False)], lambda _: None)

    (folder,) = place.glob("measure-*")
    assert not (folder / SIGHTINGS.name).exists()


@pytest.mark.kill
@pytest.mark.parametrize("failpoint", ["unit-before-rename:1", "unit-renamed:2", "before-commit:1", "after-commit:1"])
def test_after_a_kill_the_same_rows_are_there(place: Path, tmp_path: Path, failpoint: str) -> None:
    arguments: list[str | Path] = ["measure", "--in", place, "--output", tmp_path / "out", "--master", "none", "--quiet"]
    passed = tmp_path / "passed"
    passed.mkdir()

    assert ran(arguments, {VARIABLE: f"{failpoint}:{passed}"}).returncode == -signal.SIGKILL
    assert main(["pipeline", *map(str, arguments)]) == 0

    (whole,) = [success for success in successes(place) if success.told["stage"] == "measure"]
    (again,) = successes(tmp_path / "out")
    assert [again.digest(table) for table in (METRICS, SUMMARIES)] == [whole.digest(table) for table in (METRICS, SUMMARIES)]
    assert (again.folder / "metrics.csv").read_bytes() == (whole.folder / "metrics.csv").read_bytes()


def test_a_folder_without_events_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "measure", "--in", str(tmp_path)]) == 4
    assert f"no events in {tmp_path}: run simulate or ingest with --output {tmp_path} first" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.spark
def test_a_dataframe_of_traces_gives_the_rows_of_the_stage(spark: Any, place: Path) -> None:
    traces = spark.read.schema(TRACES.ddl).parquet(*map(str, table_files(place, TRACES)))

    found = [tuple(row) for row in stage.measure_traces(traces, shared_clock=True).collect()]

    def order(row: tuple[Any, ...]) -> list[str]:
        return [repr(part) for part in row]

    expected = [tuple(row.values()) for row in rows(place, METRICS)]
    assert sorted(found, key=order) == sorted(expected, key=order)
