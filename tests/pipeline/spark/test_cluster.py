"""A real standalone cluster: the same rows as in one process, with the package that the driver sends, whoever dies."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline import clusters
from tests.pipeline.cluster import CONF, Cluster, standalone
from tests.pipeline.conftest import ran
from tests.pipeline.disturbed import PATIENCE, assert_as_undisturbed, ended, killed_after, victim

from peerproof.pipeline.storage.tables import METRICS, RUNS, SUMMARIES, TRACES, VERDICTS, VIOLATIONS, Table

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One for all tests; the last of them kills a worker of it."""
    with standalone(tmp_path_factory.mktemp("cluster")) as running:
        yield running


WHERE = """
import sys
from pathlib import Path
from peerproof.pipeline.storage.batches import Plan, Unit
from peerproof.pipeline.spark.execution import Engine, Work, execute
from peerproof.pipeline.spark.session import Settings
from peerproof.pipeline.storage.tables import METRICS

def where(unit, output):
    import os, peerproof.spec.core, peerproof.pipeline.spark.work as work
    files = (peerproof.spec.core.__file__, work.__file__)
    output.write(METRICS, METRICS.batch([("r", "p", file, None, str(os.getppid()), 0.0, "s") for file in files]))

master, place, *conf = sys.argv[1:]
with Engine(Settings(master, conf=[tuple(pair.split("=")) for pair in conf])) as engine:
    work = Work(Plan("where", (), {}, (), {}), [Unit(number, {"number": number}) for number in range(6)], where, (METRICS,))
    execute(engine, Path(place), work)
"""


def test_executors_run_the_package_that_the_driver_sends(cluster: Cluster, tmp_path: Path) -> None:
    conf = [f"{name}={value}" for name, value in CONF.items()]
    subprocess.run([sys.executable, "-c", WHERE, cluster.url, str(tmp_path), *conf], check=True, timeout=PATIENCE)

    files = [row["metric"] for row in clusters.rows(tmp_path, METRICS)]
    assert len(files) == 12
    assert all("peerproof.zip/peerproof/" in name for name in files)


def rows(place: Path, table: Table) -> list[tuple[Any, ...]]:
    """The rows of a table but for what differs from one execution to the next, sorted."""
    found = ([row[name] for name in table.digest_columns] for row in clusters.rows(place, table))
    return sorted(map(tuple, found), key=repr)


def test_all_stages_on_a_cluster_give_the_rows_of_one_process(cluster: Cluster, tmp_path: Path) -> None:
    grid = tmp_path / "grid.yaml"
    grid.write_text("nodes: [3, 5]\nrounds: 12\nloss: [0, 0.2]\n", encoding="utf-8")
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


def test_a_cluster_gives_the_same_rows_also_when_a_worker_dies(
    cluster: Cluster, tmp_path: Path, undisturbed: tuple[str, str]
) -> None:
    """The worker dies once a unit is finished; what it had begun is done by the other."""
    place = tmp_path / "out"

    with victim(place, *cluster.options()) as process:
        killed_after(cluster.workers[0], place, 1)
        _, said = process.communicate(timeout=PATIENCE)

    assert (process.returncode, said) == (0, said)
    assert_as_undisturbed(place, undisturbed)
    assert ended(place) == 0
