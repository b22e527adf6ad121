"""Simulate, validate, measure on a real standalone cluster of two workers: the rows of one process, row for row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it ships no types
import pytest
from tests.pipeline.cluster import Cluster, standalone
from tests.pipeline.conftest import ran

from peerproof.pipeline.storage.batches import table_files
from peerproof.pipeline.storage.tables import METRICS, RUNS, SUMMARIES, TRACES, VERDICTS, VIOLATIONS, Table

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.cluster]

GRID = "nodes: [3, 5]\nrounds: 12\nloss: [0, 0.2]\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One master, two workers."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def rows(place: Path, table: Table) -> list[tuple[Any, ...]]:
    """The rows of a table but for what differs from one execution to the next, sorted."""
    columns = table.digest_columns
    found = [pq.read_table(file, columns=columns, partitioning=None) for file in table_files(place, table)]
    return sorted((tuple(row.values()) for part in found for row in part.to_pylist()), key=repr)


def test_a_cluster_gives_the_rows_of_one_process(cluster: Cluster, tmp_path: Path) -> None:
    grid = tmp_path / "grid.yaml"
    grid.write_text(GRID, encoding="utf-8")
    # A unit has about 2,000 rounds of nodes: so many runs make several of each stage.
    campaign: list[str | Path] = ["run", "--simulate", "scuttlebutt", "--runs", "120", "--grid", grid, "--format", "json"]

    there = ran([*campaign, "--output", tmp_path / "there", *cluster.options()])
    here = ran([*campaign, "--output", tmp_path / "here", "--master", "none"])

    assert (there.returncode, here.returncode) == (0, 0), there.stderr + here.stderr
    told = json.loads(there.stdout)
    assert told["spark_start_s"] > 0
    assert told["simulate"]["units"] > 1
    assert told["report"]["verdict"] == "accepted"
    for table in (TRACES, RUNS, VERDICTS, VIOLATIONS, METRICS, SUMMARIES):
        assert rows(tmp_path / "there", table) == rows(tmp_path / "here", table), table.name
    assert len(rows(tmp_path / "there", METRICS)) > 1000
